//! A chip without processors: accesses are made by hand, and a network on chip carries packets
//! in the time that a test says.
//!
//! Where the environment names a tile's compiled RTL (NARTHEX_SARC_RTL), a bench that is over repeats
//! what has happened to each tile in lock-step with it: the model's tests are the RTL's, too.

use std::collections::{BTreeMap, HashMap};

use narthex_fabrics::networks::{self, ideal};
use narthex_fabrics::{NetworkPort, NodeId, Placement, flow_control};
use narthex_kernel::{Duration, Time};
use narthex_memory::translation::Translation;
use narthex_memory::{AccessReply, AgentId, Kind, Response, Transaction};
use serde_json::Value;

use crate::device::Device;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::{Context, RegisterFault};
use crate::interface::Chip;
use crate::models::sarc::MODEL;
use crate::on_chip::{Effects, End, FirstLevel, Packet};
use crate::sarc::config::Config;
use crate::sarc::lockstep::hardware::Rtl;
use crate::sarc::lockstep::{Access, Lockstep, Owned, Shape, Stimulus};
use crate::sarc::registers::{Role, STATE, STATE_BYTES, request};
use crate::sarc::rtl::Tile;
use crate::sarc::space::{Area, Space, address_of};
use crate::sarc::{Build, Sarc};

/// A cycle of the sample, in picoseconds.
pub const CYCLE: u64 = 1_000;

/// What the operating system has: memory of words, and the lines that it was asked to lock.
#[derive(Default)]
pub struct System {
    pub words: HashMap<u64, u64>,
    pub locked: Vec<(usize, (usize, usize))>,
}

impl OperatingSystem for System {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        for (own, word) in (address..).step_by(8).zip(bytes.chunks_exact_mut(8)) {
            word.copy_from_slice(&self.words.get(&own).copied().unwrap_or(0).to_le_bytes());
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CallError> {
        for (own, word) in (address..).step_by(8).zip(bytes.chunks_exact(8)) {
            self.words.insert(own, u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        Ok(())
    }

    fn pin(&mut self, _address: u64, _length: u64) -> Result<Vec<u64>, CallError> {
        Err(CallError::NoMemory)
    }

    fn unpin(&mut self, _address: u64, _length: u64) -> Result<(), CallError> {
        Err(CallError::Invalid)
    }

    fn write_kernel(&mut self, _address: u64, _bytes: &[u8]) {}

    fn take_time(&mut self, _time: Duration) {}

    fn lock_lines(&mut self, processor: usize, lines: &[(usize, usize)]) -> Result<(), CallError> {
        self.locked.extend(lines.iter().map(|&line| (processor, line)));
        Ok(())
    }

    fn free_lines(&mut self, processor: usize, lines: &[(usize, usize)]) {
        self.locked.retain(|(own, line)| *own != processor || !lines.contains(line));
    }
}

/// What happens next.
enum Event {
    Arrives(End, u32),
    Timer(usize),
}

/// How long a packet takes that leaves at an instant.
type NetworkTime = dyn FnMut(Time, &Packet) -> Duration;

/// The chip.
pub struct Bench {
    pub device: Sarc,
    port: NetworkPort,
    pub system: System,
    pub now: Time,
    /// By time and order.
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    /// How long a packet takes from place to place that leaves then.
    pub network_time: Box<NetworkTime>,
    /// When and what waiting processors were answered, by tile.
    pub answers: Vec<(u64, u16, u64)>,
    /// What packets left: cycle, from, to, lane, bytes.
    pub sent: Vec<(u64, End, End, u8, u16)>,
    pub faults: Vec<(u16, String)>,
    /// Cycle and tile at which a first level took a line (true) or lost it, and its address.
    pub first_level: Vec<(u64, u16, u64, bool)>,
    processes: u8,
    /// What has happened to the tiles; none if a tile of the RTL's kind knows no such thing: swapped
    /// lines, regions of one's own, DRAM, processes of several tiles.
    happened: Option<Vec<(u16, Stimulus)>>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let (Some(library), Some(happened)) = (std::env::var_os("NARTHEX_SARC_RTL"), self.happened.take())
        else {
            return;
        };
        if std::thread::panicking() {
            return;
        }
        for tile in 0..Shape::SMALL.tiles {
            let shape = Shape { tile, ..Shape::SMALL };
            let own = happened.iter().filter(|(at, _)| *at == tile);
            let batches: Vec<Vec<Stimulus>> = own.map(|&(_, stimulus)| vec![stimulus]).collect();
            let loaded = Tile::load(library.as_ref(), shape.sizes(), tile);
            let mut rtl = Rtl::new(loaded.unwrap_or_else(|problem| panic!("{problem}")), shape);
            let mut both = Lockstep::new(shape, &mut rtl);
            if let Err(difference) = both.run(&batches) {
                panic!("tile {tile}: {difference}");
            }
        }
    }
}

impl Bench {
    /// Four tiles, a process each.
    pub fn new() -> Self {
        Bench::with(&[], 1)
    }

    /// Four tiles of processes of so many, with parameters that differ from the model's sample.
    pub fn with(settings: &[(&str, Value)], tiles_of_process: u16) -> Self {
        Bench::of(settings, tiles_of_process, false)
    }

    /// The same of an interface whose full queues return what comes to them, or not.
    pub fn of(settings: &[(&str, Value)], tiles_of_process: u16, returns_when_full: bool) -> Self {
        let mut section = (MODEL.sample)();
        for (key, value) in settings {
            section[*key] = value.clone();
        }
        let config: Config = serde_json::from_value(section).expect("a sound section");
        let chip = Chip { tiles: 4, tiles_of_process, second_level: Some((1 << 14, 4)), controllers: 2 };
        config.check(&chip, 64).expect("a sound section");
        let processes = (4 / tiles_of_process) as u8;
        let placement = Placement { nodes: 1, processes };
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(100) });
        let around =
            networks::NetworkContext { nodes: 1, in_one_partition_from: 1, seed: 0, packet_bytes: 96 };
        let flow = flow_control::Config::None(flow_control::none::Config {});
        Bench {
            device: Sarc::new(Build { config, chip, returns_when_full }),
            port: NetworkPort::new(
                NodeId(0),
                placement,
                flow.build(placement),
                network.build(NodeId(0), &around),
                8,
            ),
            system: System::default(),
            now: Time::ZERO,
            events: BTreeMap::new(),
            order: 0,
            network_time: Box::new(|_, _| Duration::from_ns(8)),
            answers: Vec::new(),
            sent: Vec::new(),
            faults: Vec::new(),
            first_level: Vec::new(),
            processes,
            happened: (tiles_of_process == 1 && !returns_when_full).then(Vec::new),
        }
    }

    fn process_of(&self, tile: u16) -> u8 {
        (u32::from(tile) * u32::from(self.processes) / 4) as u8
    }

    /// The present cycle.
    pub fn cycle(&self) -> u64 {
        (self.now - Time::ZERO).as_ps() / CYCLE
    }

    fn with_device<R>(
        &mut self,
        tile: u16,
        call: impl FnOnce(&mut Sarc, &mut Context<'_>, &mut System) -> R,
    ) -> R {
        let (mut timers, mut faults, mut effects) = (Vec::new(), Vec::new(), Effects::default());
        let process = self.process_of(tile);
        let mut context = Context {
            now: self.now,
            network: self.port.of_process(process),
            local_memory: None,
            timers: &mut timers,
            faults: &mut faults,
            on_chip: &mut effects,
        };
        let result = call(&mut self.device, &mut context, &mut self.system);
        for (after, packet) in effects.packets {
            let leaves = self.now + after;
            let Packet { from, to, lane, data_bytes, content, settles_after } = packet;
            self.sent.push(((leaves - Time::ZERO).as_ps() / CYCLE, from, to, lane, data_bytes));
            let arrival = leaves + (self.network_time)(leaves, &packet) + settles_after;
            self.schedule(arrival, Event::Arrives(to, content));
        }
        timers.into_iter().for_each(|at| self.schedule(at, Event::Timer(tile.into())));
        for (tile, value, after) in effects.answers {
            let at = (self.now + after - Time::ZERO).as_ps() / CYCLE;
            self.answers.push((at, tile, value));
        }
        for (tile, line, change) in effects.first_level {
            let takes = matches!(change, FirstLevel::Takes(_));
            self.first_level.push((self.cycle(), tile, line, takes));
        }
        self.faults.extend(effects.faults.into_iter().map(|(tile, RegisterFault(problem))| (tile, problem)));
        result
    }

    fn record(&mut self, tile: u16, stimulus: Stimulus) {
        self.happened.iter_mut().for_each(|happened| happened.push((tile, stimulus)));
    }

    /// What the kernel agent has done to lines.
    fn record_call(&mut self, request: u64, words: &[u64; request::WORDS]) {
        let tile = words[0] as u16;
        match request {
            request::ALLOCATE => {
                let first = (words[3] % STATE / 64) as usize;
                let owned = if words[2] & request::SHARED != 0 { Owned::ByAll } else { Owned::ByItsProcess };
                self.record(tile, Stimulus::Give { first, lines: words[1] as usize, owned });
            }
            request::FREE => {
                let tile = ((words[0] - window(0)) / (window(1) - window(0))) as u16;
                let first = (words[0] % STATE / 64) as usize;
                self.record(tile, Stimulus::TakeBack { first, lines: words[1] as usize });
            }
            request::QUERY => {}
            _ => self.happened = None,
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.insert((at, self.order), event);
        self.order += 1;
    }

    fn access(
        &mut self,
        tile: u16,
        kind: Kind,
        address: u64,
        size: u8,
        value: u64,
    ) -> Result<Option<u64>, String> {
        let node_address = u64::from(self.process_of(tile)) * Translation::SPACE_BYTES + address;
        if Space::area_of(address) == Some(Area::Tiles(0)) {
            let is_load = kind == Kind::UncachedLoad;
            self.record(tile, Stimulus::Access(Access { is_load, address, size, value }));
        }
        let transaction = Transaction::uncached(AgentId(tile as u8), kind, node_address, size, value);
        let mut response = Response::default();
        let done = self.with_device(tile, |device, context, _| {
            device.access(tile.into(), context, &transaction, &mut response)
        });
        let value = |reply| (reply == AccessReply::Done).then_some(response.value);
        done.map(value).map_err(|RegisterFault(problem)| problem)
    }

    /// A tile's processor loads a word: none if it waits.
    pub fn try_load(&mut self, tile: u16, address: u64) -> Result<Option<u64>, String> {
        self.access(tile, Kind::UncachedLoad, address, 8, 0)
    }

    /// The same, until it is answered.
    pub fn load(&mut self, tile: u16, address: u64) -> u64 {
        let answers = self.answers.len();
        match self.try_load(tile, address).expect("it is allowed") {
            Some(value) => value,
            None => {
                while self.answers.len() == answers {
                    assert!(self.happen(), "the load is never answered");
                }
                self.answers.pop().expect("there is one").2
            }
        }
    }

    pub fn try_store(&mut self, tile: u16, address: u64, value: u64) -> Result<(), String> {
        self.access(tile, Kind::UncachedStore, address, 8, value).map(|_| ())
    }

    pub fn store(&mut self, tile: u16, address: u64, value: u64) {
        self.try_store(tile, address, value).unwrap_or_else(|problem| panic!("{problem}"));
    }

    pub fn store_words(&mut self, tile: u16, address: u64, words: &[u64]) {
        (address..).step_by(8).zip(words).for_each(|(own, &word)| self.store(tile, own, word));
    }

    /// The next thing happens; false if there is none.
    pub fn happen(&mut self) -> bool {
        let Some(((at, _), event)) = self.events.pop_first() else { return false };
        self.now = at;
        match event {
            Event::Timer(port) => {
                self.with_device(port as u16, |device, context, _| device.timer(port, context));
            }
            Event::Arrives(to, content) => {
                let tile = if let End::Tile(tile) = to { tile } else { 0 };
                if let End::Tile(tile) = to {
                    self.record(tile, Stimulus::Arrives(*self.device.message(content)));
                }
                self.with_device(tile, |device, context, _| device.packet(to, context, content));
            }
        }
        true
    }

    /// Everything happens.
    pub fn rest(&mut self) {
        while self.happen() {}
    }

    /// A process's program calls the kernel agent: the doublewords that it gets.
    pub fn call(
        &mut self,
        tile: u16,
        request: u64,
        words: &[u64],
    ) -> Result<[u64; request::WORDS], CallError> {
        const ARGUMENT: u64 = 0x1000;
        (ARGUMENT..).step_by(8).zip(words).for_each(|(own, &word)| {
            self.system.words.insert(own, word);
        });
        let call = DeviceCall { process: self.process_of(tile), request, argument: ARGUMENT };
        let answer = self
            .with_device(tile, |device, context, system| device.call(tile.into(), context, &call, system));
        answer?;
        let words = std::array::from_fn(|word| {
            self.system.words.get(&(ARGUMENT + word as u64 * 8)).copied().unwrap_or(0)
        });
        self.record_call(request, &words);
        Ok(words)
    }

    /// Lines of a tile, which all processes may use.
    pub fn allocate(&mut self, tile: u16, lines: u64) -> u64 {
        let words = self.call(tile, request::ALLOCATE, &[tile.into(), lines, request::SHARED]);
        words.expect("there is room")[3]
    }

    /// Where the state of a line is.
    pub fn state_of(line: u64) -> u64 {
        let offset = line % (1 << 20);
        line - offset + STATE + offset / 64 * STATE_BYTES
    }

    pub fn mark(&mut self, tile: u16, line: u64, role: Role) {
        self.store(tile, Self::state_of(line), role as u64);
    }

    /// A line of a tile with a role, behind all that it has allocated.
    pub fn line(&mut self, tile: u16, role: Role) -> u64 {
        let line = self.allocate(tile, 1);
        self.mark(tile, line, role);
        line
    }

    /// The bytes of scratchpad or DRAM at an address.
    pub fn bytes(&self, address: u64, length: usize) -> Vec<u8> {
        self.device.peek_bytes(address, length)
    }

    /// Writes bytes there, past everything.
    pub fn set_bytes(&mut self, address: u64, bytes: &[u8]) {
        self.device.poke_bytes(address, bytes);
    }
}

/// The first byte of a tile's window.
pub fn window(tile: u16) -> u64 {
    address_of(0, tile, 0)
}
