//! A node reduced to what an interface sees: a processor with a coherent cache,
//! main memory, and a bus on which each transaction happens at once.

mod bus;
mod guest;
mod processor;

use std::collections::VecDeque;
use std::ops::Range;

use narthex_fabrics::networks::ideal;
use narthex_fabrics::{
    Frame, Header, Mail, NetworkPort, NodeId, Phase, Placement, Rank, Sending, flow_control, networks,
};
use narthex_interfaces::description::Layout;
use narthex_interfaces::half::Context;
use narthex_interfaces::information::InformationPage;
use narthex_interfaces::interface::{Chip, Interface, Surroundings};
use narthex_interfaces::models::MODELS;
use narthex_interfaces::on_chip::Effects;
use narthex_interfaces::registers::Addresses;
use narthex_interfaces::rtl::{Hardware, Replaced};
use narthex_interfaces::{Attachment, Device, Hearing, Name, Share};
use narthex_kernel::{Duration, Time};
use narthex_memory::cache::Cache;
use narthex_memory::directory::{Carried, Endpoint};
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::{Interconnect, Step};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::protocols::{self, Protocol, Request};
use narthex_memory::{AgentId, Response, Transaction};
use serde_json::{Map, json};

use guest::{Guest, Order};
pub use processor::LONGEST_PAYLOAD;

const PACKET_BYTES: u64 = 256;
const BLOCK_BYTES: u64 = 64;
const PROCESSOR: AgentId = AgentId(0);
const FIRST_SIDE: AgentId = AgentId(1);

/// A message as the tests compare it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Message {
    pub handler: u8,
    pub payload: Vec<u8>,
}

/// An interface to be tried: its name, where it is attached, and what its
/// section says beyond the sample.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub name: &'static str,
    pub attachment: Attachment,
    /// The protocol of the directory that it is on, in the place of the memory bus.
    pub directory: Option<&'static str>,
    pub setting: Option<(&'static str, &'static str)>,
    /// Which process of its node has it to itself; those before it do nothing.
    pub process: u8,
    /// The hardware that stands in its place.
    pub hardware: Option<&'static Hardware>,
}

impl Variant {
    /// One that holds loads is on a directory, and the processor's registers are a place of their own.
    pub fn plain(name: &'static str) -> Self {
        let attachment = match name.contains("RegisterFile") {
            true => Attachment::Register,
            false => Attachment::MemoryBus,
        };
        let directory = name.contains("PioCoherent").then_some("MESI");
        Variant { name, attachment, directory, setting: None, process: 0, hardware: None }
    }

    /// Whether its node can have this flow control.
    pub fn goes_with(self, flow: &flow_control::Config) -> bool {
        flow.problems_for(u32::from(self.process) + 1).is_empty()
    }
}

pub struct Node {
    attachment: Attachment,
    now: Time,
    number: u16,
    process: u8,
    addresses: Addresses,
    placement: Placement,
    cache: Cache,
    main: HomeMemory,
    bus: Interconnect,
    /// Steps of the bus that are due.
    steps: Vec<Step>,
    /// Messages of the directory, if that is what it has instead of a bus.
    messages: VecDeque<(Endpoint, Carried)>,
    /// What the processor is to issue, and the answer that it has got.
    requested: Option<Transaction>,
    answer: Option<Response>,
    /// The block that a home holds, and what the processor has asked for.
    held: Option<(u64, Request)>,
    interface: Box<dyn Device>,
    network: NetworkPort,
    layouts: [Layout; 2],
    timers: Vec<Time>,
    frames: Vec<(Time, NodeId, Frame)>,
    retry: Option<Time>,
    /// The processor's program; none while it runs.
    guest: Option<Guest>,
    /// The information page, which the program reads.
    information: Vec<u64>,
    /// The processor's block buffers, to send and to receive.
    block_buffers: [Vec<u8>; 2],
    /// What the program is to send.
    sending: Option<Message>,
    /// What the program had stored last before the payload that it receives, and
    /// what behind it.
    before: u64,
    behind: u64,
    /// What the program has sent, and what it has received.
    pub sent: Vec<Message>,
    pub received: Vec<Message>,
}

/// The ports of a process, at which it is told of packets and room.
fn sides_of(interface: &dyn Device, process: u8) -> Range<usize> {
    let ports = (interface.sender(process), interface.receiver(process));
    let (Some(send), Some(receive)) = ports else { panic!("it is on the network") };
    send..receive + 1
}

fn protocol(interface: Variant) -> &'static Protocol {
    protocols::by_name(interface.directory.unwrap_or("MOESI")).unwrap()
}

impl Node {
    pub fn new(interface: Variant, flow: &flow_control::Config, number: u16) -> Self {
        let process = interface.process;
        let mut sections = Map::new();
        for model in MODELS.iter().filter(|model| !model.makes_devices()) {
            let mut section = (model.sample)();
            if let Some(message_ready) = section.get_mut("message_ready").filter(|_| number == 0) {
                *message_ready = json!("cachable-store"); // both ways are tried
            }
            if let Some((key, value)) = interface.setting
                && let Some(own) = section.get_mut(key)
            {
                *own = json!(value);
            }
            sections.insert(model.section.into(), section);
        }
        let surroundings = Surroundings {
            sections: &sections,
            nodes: 2,
            processes: process + 1,
            share: Share::WHOLE,
            first_agent: FIRST_SIDE,
            attachment: interface.attachment,
            overlaps: interface.directory.is_some(),
            merges_writes: false,
            knows_relaxed_ordering: false,
            no_interrupts: Some("this node has none"),
            hearing: if interface.directory.is_some() { Hearing::Held } else { Hearing::All },
            protocol: protocol(interface),
            block_bytes: BLOCK_BYTES,
            packet_bytes: PACKET_BYTES,
            time_without_progress: Duration::from_ns(10_000_000),
            local_memory: None,
            dma_engine: None,
            chip: Chip::ALONE,
        };
        let name: Name = interface.name.parse().unwrap();
        let model = Interface::build(name, &surroundings).unwrap();
        let built: Box<dyn Device> = match interface.hardware {
            None => Box::new(model),
            Some(hardware) => {
                let model = Replaced::Fifo(name, Box::new(model), PACKET_BYTES);
                hardware.in_place_of(model, NodeId(number), None).unwrap()
            }
        };
        let layouts = <[Layout; 2]>::try_from(built.layouts(process)).expect("of two halves");
        let own_sides = sides_of(&*built, process);
        let bus = bus::bus(&*built, own_sides, interface.directory);
        let mut main = MainMemory::default();
        for &(address, word) in layouts.iter().flat_map(|layout| &layout.initial_words) {
            main.write(address, &word.to_le_bytes());
        }
        let placement = Placement { nodes: 2, processes: process + 1 };
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(40) });
        let around =
            networks::NetworkContext { nodes: 2, in_one_partition_from: 2, seed: 0, packet_bytes: 256 };
        let network = network.build(NodeId(number), &around);
        let mut node = Node {
            attachment: interface.attachment,
            now: Time::ZERO,
            number,
            process,
            addresses: Addresses::of_process(process),
            placement,
            // Small, so that queue entries fall out of it now and then.
            cache: Cache::with_geometry(protocol(interface), 128, 1, BLOCK_BYTES as usize),
            main: HomeMemory::new(main, Duration::ZERO, BLOCK_BYTES),
            bus,
            steps: Vec::new(),
            messages: VecDeque::new(),
            requested: None,
            answer: None,
            held: None,
            interface: built,
            network: NetworkPort::new(NodeId(number), placement, flow.build(placement), network, 8),
            layouts,
            timers: Vec::new(),
            frames: Vec::new(),
            retry: None,
            guest: Some(Guest::idle()),
            information: Vec::new(),
            block_buffers: [(); 2].map(|()| vec![0; BLOCK_BYTES as usize]),
            sending: None,
            before: 0,
            behind: 0,
            sent: Vec::new(),
            received: Vec::new(),
        };
        node.start(&name);
        node
    }

    /// Has the program start the drivers of its interface.
    fn start(&mut self, name: &Name) {
        let page = InformationPage::of_interface(name, self.process, &self.layouts).with(&[
            ("node", u64::from(self.number)),
            ("nodes", u64::from(self.placement.nodes)),
            ("packet_bytes", PACKET_BYTES),
            ("header_bytes", Header::BYTES as u64),
            ("payload_bytes", LONGEST_PAYLOAD),
            ("block_bytes", BLOCK_BYTES),
            ("entry_bytes", PACKET_BYTES),
            ("processes", u64::from(self.placement.processes)),
        ]);
        self.information = page.words().to_vec();
        let information_page = self.addresses.information_page();
        self.guest.as_mut().expect("it is not running").give(Order::Start { information_page });
        self.run(u32::MAX);
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.timers.is_empty()
            && self.frames.is_empty()
            && self.retry.is_none()
            && self.sending.is_none()
            && self.own_sides().all(|side| !self.interface.wants(side))
    }

    /// The state of interface and flow control.
    pub fn describe(&self) -> String {
        format!("node {}: {:?}; {:?}", self.number, self.interface, self.network)
    }

    /// What observers see of a half, 0 or 1: what its engine does, and what it holds;
    /// without addresses, which are the compiler's choice.
    pub fn seen(&self, half: usize) -> String {
        let side = self.own_sides().start + half;
        let engine = self.interface.engine(side, self.now).unwrap_or_default();
        let doing = engine.doing.unwrap_or("rests");
        let seen = format!("{doing}, {}; {}", engine.messages, self.interface.queue(side));
        let words = seen.split(' ').map(|word| if word.starts_with("0x") { "ADDRESS" } else { word });
        words.collect::<Vec<_>>().join(" ")
    }

    /// What a half has counted, without what it has not.
    pub fn counted(&self, half: usize) -> String {
        let mut counts = Vec::new();
        let sets = self.interface.statistics();
        sets[self.own_sides().start + half].visit(&mut |statistic, value| {
            counts.push(format!("{} {}", statistic.name, serde_json::to_string(&value.reported()).unwrap()));
        });
        counts.join(", ")
    }

    /// The same process's rank on a node.
    fn rank(&self, node: u16) -> Rank {
        self.placement.rank(NodeId(node), self.process)
    }

    /// The halves of the process, by their place in the interface.
    fn own_sides(&self) -> Range<usize> {
        sides_of(&*self.interface, self.process)
    }

    /// The processor's cache loses a block, as a conflict would have it.
    pub fn evict(&mut self, choice: u8) {
        let queue =
            if choice & 4 == 0 { self.addresses.receive_queue() } else { self.addresses.send_queue() };
        let entry = u64::from(choice) % self.layouts[1].entries.max(1);
        self.evict_block(queue + entry * PACKET_BYTES);
    }

    /// A half of the interface issues the transaction that it wants, if any:
    /// 0 is the send half, 1 the receive half.
    pub fn bus_turn(&mut self, half: usize) -> bool {
        let side = self.own_sides().start + half;
        if !self.interface.wants(side) {
            return false;
        }
        self.grant(AgentId(FIRST_SIDE.0 + side as u8));
        true
    }

    /// The next thing that waits for time happens, at either node.
    pub fn pass_time(nodes: &mut [Node; 2]) {
        let next = |node: &Node| {
            let frames = node.frames.iter().map(|&(at, _, _)| at);
            node.timers.iter().copied().chain(frames).chain(node.retry).min()
        };
        let Some(at) = nodes.iter().filter_map(next).min() else { return };
        for sender in 0..2 {
            nodes[sender].now = at;
            while let Some(place) = nodes[sender].frames.iter().position(|&(due, _, _)| due <= at) {
                let (_, destination, frame) = nodes[sender].frames.remove(place);
                let receiver = &mut nodes[usize::from(destination.0)];
                receiver.now = at;
                receiver.network.arrive(at, frame, Phase::Own);
                for side in receiver.own_sides() {
                    receiver.with_interface(|device, context| device.network(side, context));
                }
            }
        }
        for node in nodes {
            if node.retry.is_some_and(|due| due <= at) {
                node.retry = None;
                node.network.retry(at);
            }
            node.timers.retain(|&due| due > at);
            for side in node.own_sides() {
                node.with_interface(|device, context| device.timer(side, context));
            }
        }
    }

    fn with_interface<R>(&mut self, call: impl FnOnce(&mut dyn Device, &mut Context<'_>) -> R) -> R {
        let mut faults = Vec::new();
        let Node { now, process, interface, network, timers, .. } = self;
        let network = network.of_process(*process);
        let mut effects = Effects::default();
        let mut context = Context {
            now: *now,
            network,
            local_memory: None,
            timers,
            faults: &mut faults,
            on_chip: &mut effects,
        };
        let result = call(&mut **interface, &mut context);
        assert!(faults.is_empty(), "{faults:?}");
        let send = |(arrival, node, mail): Sending<Frame>| match mail {
            Mail::Direct(frame, _) => self.frames.push((arrival, NodeId(node as u16), frame)),
            other => unreachable!("{other:?} over an ideal network"),
        };
        let calls = self.network.departures(self.now, |_, _| {}, send);
        self.retry = self.retry.or(calls.retry_at);
        effects.resumed.into_iter().for_each(|block| self.resume(block));
        result
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(guest) = self.guest.take().filter(|_| !std::thread::panicking()) {
            guest.keep();
        }
    }
}
