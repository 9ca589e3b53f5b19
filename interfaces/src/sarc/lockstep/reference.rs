//! The model of one tile, driven by hand: its time stands still, and its engine makes a packet
//! when it is told to.
//!
//! The chip's other tiles have lines that all processes may use, and do nothing: what leaves the
//! tile ends here, and what comes to it is made up.

use std::cell::RefCell;
use std::rc::Rc;

use narthex_fabrics::networks::{self, ideal};
use narthex_fabrics::{Job, NetworkPort, NodeId, Placement, Rank, flow_control};
use narthex_kernel::{Duration, Time};
use narthex_memory::translation::Translation;
use narthex_memory::{AccessReply, AgentId, Kind, Response, Transaction};

use super::stimuli::{Access, Owned, Stimulus};
use super::{OTHER_PROCESS, Shape};
use crate::device::Device;
use crate::half::{Context, RegisterFault};
use crate::interface::Chip;
use crate::models::sarc::MODEL;
use crate::on_chip::{Effects, End};
use crate::sarc::config::Config;
use crate::sarc::events::REQUESTS;
use crate::sarc::lines::{LineState, Lines};
use crate::sarc::messages::{Message, Origin};
use crate::sarc::queues::WordsOfQueue;
use crate::sarc::registers::{LINE_BYTES, Role};
use crate::sarc::rules::Rule;
use crate::sarc::{Build, Sarc};

/// The instant at which everything happens.
const NOW: Time = Time::from_ps(1);

/// The model of a tile.
#[derive(Clone, Debug)]
pub struct Reference {
    device: Sarc,
    /// It does not change.
    port: Rc<RefCell<NetworkPort>>,
    tile: u16,
    waits: bool,
    /// Packets that left, by lane.
    pub left: [Vec<Message>; 3],
    /// What its processor was answered: a load's value, 0 of a store; none: refused.
    pub answers: Vec<Option<u64>>,
    /// Accesses, packets and jobs that it refused.
    pub refusals: usize,
    /// Why.
    pub problems: Vec<String>,
}

impl Reference {
    /// A tile of such a chip to which nothing has happened.
    pub fn new(shape: &Shape) -> Self {
        Reference::without(shape, None)
    }

    /// The same without a rule.
    pub fn without(shape: &Shape, rule: Option<Rule>) -> Self {
        let mut section = (MODEL.sample)();
        section["job_list"]["entries"] = shape.job_list.into();
        if !shape.combining {
            section["store_combining"] = serde_json::json!({ "kind": "none" });
        }
        let config: Config = serde_json::from_value(section).expect("the model's sample is sound");
        let chip = Chip {
            tiles: shape.tiles,
            tiles_of_process: 1,
            second_level: Some((shape.l2_bytes, shape.ways)),
            controllers: 1,
        };
        let placement = Placement { nodes: 1, processes: shape.tiles as u8 };
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(1) });
        let around =
            networks::NetworkContext { nodes: 1, in_one_partition_from: 1, seed: 0, packet_bytes: 96 };
        let flow = flow_control::Config::None(flow_control::none::Config {}).build(placement);
        let port = NetworkPort::new(NodeId(0), placement, flow, network.build(NodeId(0), &around), 8);
        let mut device = Sarc::new(Build { config, chip, returns_when_full: false });
        if let Some(rule) = rule {
            device = device.without(rule);
        }
        let lines = (shape.l2_bytes / LINE_BYTES) as usize;
        let others = (0..shape.tiles).filter(|&tile| tile != shape.tile);
        others.for_each(|tile| device.give_lines(tile, (0, lines), tile as u8, Some(Job::whole(placement))));
        device.hold_engine(shape.tile);
        Reference {
            device,
            port: Rc::new(RefCell::new(port)),
            tile: shape.tile,
            waits: false,
            left: Default::default(),
            answers: Vec::new(),
            refusals: 0,
            problems: Vec::new(),
        }
    }

    /// What has happened so far is forgotten, and not what it led to.
    pub fn begin(&mut self) {
        self.left.iter_mut().for_each(Vec::clear);
        self.answers.clear();
        self.problems.clear();
        self.refusals = 0;
    }

    fn with_device<R>(&mut self, call: impl FnOnce(&mut Sarc, &mut Context<'_>) -> R) -> R {
        let (mut timers, mut faults, mut effects) = (Vec::new(), Vec::new(), Effects::default());
        let port = Rc::clone(&self.port);
        let mut port = port.borrow_mut();
        let mut context = Context {
            now: NOW,
            network: port.of_process(self.tile as u8),
            local_memory: None,
            timers: &mut timers,
            faults: &mut faults,
            on_chip: &mut effects,
        };
        let result = call(&mut self.device, &mut context);
        for (_, packet) in effects.packets {
            let message = self.device.take_message(packet.content);
            if packet.from == End::Tile(self.tile) {
                self.left[usize::from(packet.lane)].push(message);
            }
        }
        let own = effects.answers.into_iter().filter(|&(tile, ..)| tile == self.tile);
        for (_, value, _) in own {
            self.answers.push(Some(value));
            self.waits = false;
        }
        effects.faults.into_iter().for_each(|(_, fault)| self.refuse(fault));
        result
    }

    fn refuse(&mut self, RegisterFault(problem): RegisterFault) {
        self.refusals += 1;
        self.problems.push(problem);
    }

    /// Something happens to the tile.
    pub fn happen(&mut self, stimulus: &Stimulus) {
        match stimulus {
            Stimulus::Access(access) => self.access(access),
            Stimulus::Arrives(message) => {
                let tile = self.tile;
                self.with_device(|device, context| device.bring(context, tile, *message));
            }
            &Stimulus::Give { first, lines, owned } => {
                let job = Job::whole(Placement { nodes: 1, processes: self.device.tiles() as u8 });
                let number = if owned == Owned::ByAnother { OTHER_PROCESS } else { self.tile as u8 };
                let job = (owned == Owned::ByAll).then_some(job);
                self.device.give_lines(self.tile, (first, lines), number, job);
            }
            &Stimulus::TakeBack { first, lines } => self.device.take_lines_back(self.tile, first, lines),
        }
    }

    fn access(&mut self, access: &Access) {
        let &Access { is_load, address, size, value } = access;
        let kind = if is_load { Kind::UncachedLoad } else { Kind::UncachedStore };
        let node_address = u64::from(self.tile) * Translation::SPACE_BYTES + address;
        let transaction = Transaction::uncached(AgentId(self.tile as u8), kind, node_address, size, value);
        let mut response = Response::default();
        let tile = usize::from(self.tile);
        let done =
            self.with_device(|device, context| device.access(tile, context, &transaction, &mut response));
        match done {
            Err(fault) => {
                self.refuse(fault);
                self.answers.push(None);
            }
            Ok(AccessReply::Held) => self.waits = true,
            Ok(AccessReply::Done) => self.answers.push(Some(if is_load { response.value } else { 0 })),
        }
    }

    /// Its engine makes packets of all jobs that it has.
    pub fn make_packets(&mut self) {
        let tile = self.tile;
        while self.device.jobs(tile) > 0 {
            self.with_device(|device, context| device.make_packet(context, tile));
        }
    }

    /// Stores in the combining buffer have waited long enough.
    pub fn end_combining(&mut self) {
        let tile = self.tile;
        self.with_device(|device, context| device.end_combining(context, tile));
    }

    /// Everything that it has to do happens.
    pub fn rest(&mut self) {
        self.end_combining();
        self.make_packets();
    }

    /// Whether stores wait in the combining buffer.
    pub fn combines(&self) -> bool {
        self.device.combines(self.tile)
    }

    /// Its remote stores that have not arrived.
    pub fn stores_under_way(&self) -> u32 {
        self.device.stores_under_way(self.tile)
    }

    /// Whether its processor waits for an answer.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Whether readers wait at a queue.
    pub fn has_requests(&self, line: usize) -> bool {
        self.lines().state(line).tag & REQUESTS != 0
    }

    /// Its lines.
    pub fn lines(&self) -> &Lines {
        self.device.lines(self.tile)
    }

    /// The two words of a line's state, and its bytes; none of a line of the cache.
    pub fn line(&self, line: usize) -> ([u64; 2], &[u8]) {
        let lines = self.lines();
        let state = [0, 1].map(|word| lines.state_word(line, word));
        let bytes = match lines.state(line).owner {
            Some(_) => lines.bytes(line as u64 * LINE_BYTES, LINE_BYTES as usize),
            None => &[],
        };
        (state, bytes)
    }

    /// What the words of lines are that queues of several readers have for items.
    pub fn words_of_queues(&self) -> Vec<WordsOfQueue> {
        let lines = self.lines();
        let is_queue = |&line: &usize| lines.state(line).role == Role::MultipleReaderQueue;
        (0..lines.count()).filter(is_queue).flat_map(|line| lines.words_of_queue(line)).collect()
    }

    /// Replaces all of a line.
    pub fn set_line(&mut self, line: usize, bytes: &[u8], state: LineState) {
        self.device.restore_line(self.tile, line, bytes, state);
    }

    /// Who begins what a tile does.
    pub fn origin(tile: u16) -> Origin {
        Origin { process: Rank(tile), chip: 0, tile }
    }
}
