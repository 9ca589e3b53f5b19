//! A node reduced to what an interface sees: a coherent cache, main memory, the
//! drivers' steps, and a bus on which each transaction happens at once.

mod cachable_register;
mod uncached;

use std::ops::Range;

use narthex_fabrics::networks::ideal;
use narthex_fabrics::{
    Frame, Header, NetworkPort, NodeId, PacketFormat, Placement, Rank, flow_control, networks,
};
use narthex_interfaces::fifo::{DMA_BUSY, RECEIVE, RECEIVE_WINDOW, SEND};
use narthex_interfaces::interface::{Interface, Node as Surroundings};
use narthex_interfaces::models::MODELS;
use narthex_interfaces::programming;
use narthex_interfaces::registers::*;
use narthex_interfaces::side::{Context, Layout};
use narthex_interfaces::{Attachment, Name};
use narthex_kernel::{Duration, Time};
use narthex_memory::cache::Cache;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::protocols::{self, Access, Protocol, Request};
use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction};
use serde_json::{Map, json};

const PACKET_BYTES: u64 = 256;
const BLOCK_BYTES: u64 = 64;
const PROCESSOR: AgentId = AgentId(0);

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
    pub setting: Option<(&'static str, &'static str)>,
    /// Which process of its node has it to itself; those before it do nothing.
    pub process: u8,
}

impl Variant {
    pub fn plain(name: &'static str) -> Self {
        Variant { name, attachment: Attachment::MemoryBus, setting: None, process: 0 }
    }

    /// Whether its node can have this flow control.
    pub fn goes_with(self, flow: &flow_control::Config) -> bool {
        flow.problems_for(u32::from(self.process) + 1).is_empty()
    }
}

/// The library's side of a cachable queue: index, sense, stale copy.
struct Pointer {
    index: u64,
    sense: u64,
}

impl Pointer {
    fn word(&self) -> u64 {
        self.index | self.sense << 32
    }

    fn advance(&mut self, entries: u64) {
        self.index += 1;
        if self.index == entries {
            self.index = 0;
            self.sense ^= 1;
        }
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
    main: MainMemory,
    interface: Interface,
    network: NetworkPort,
    layouts: [Layout; 2],
    drivers: [&'static str; 2],
    timers: Vec<Time>,
    frames: Vec<(Time, NodeId, Frame)>,
    retry: Option<Time>,
    tail: Pointer,
    shadow_head: u64,
    head: Pointer,
    dma: uncached::Dma,
    /// What is left of a message that is sent through registers in parts.
    sending: Vec<u8>,
    /// What has come of a message that is received so.
    receiving: Vec<u8>,
}

fn protocol() -> &'static Protocol {
    protocols::by_name("MOESI").unwrap()
}

fn first_pointer() -> Pointer {
    Pointer { index: 0, sense: 1 }
}

impl Node {
    pub fn new(interface: Variant, flow: &flow_control::Config, number: u16) -> Self {
        let process = interface.process;
        let mut sections = Map::new();
        for model in MODELS {
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
            processes: process + 1,
            first_agent: AgentId(1),
            attachment: interface.attachment,
            protocol: protocol(),
            block_bytes: BLOCK_BYTES,
            packet_bytes: PACKET_BYTES,
        };
        let name: Name = interface.name.parse().unwrap();
        let built = Interface::build(name, &surroundings).unwrap();
        let layouts = built.layouts(process);
        let mut main = MainMemory::default();
        for &(address, word) in layouts.iter().flat_map(|layout| &layout.initial_words) {
            main.write(address, &word.to_le_bytes());
        }
        let placement = Placement { nodes: 2, processes: process + 1 };
        let format = PacketFormat { packet_bytes: PACKET_BYTES, header_bytes: 8 };
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(40) });
        Node {
            attachment: interface.attachment,
            now: Time::ZERO,
            number,
            process,
            addresses: Addresses::of_process(process),
            placement,
            // Small, so that queue entries fall out of it now and then.
            cache: Cache::with_geometry(protocol(), 128, 1, BLOCK_BYTES as usize),
            main,
            interface: built,
            network: NetworkPort::new(
                NodeId(number),
                placement,
                flow.build(placement),
                network.build(),
                format,
            ),
            layouts,
            drivers: [name.send, name.receive].map(|half| half.model.programming.driver.name),
            timers: Vec::new(),
            frames: Vec::new(),
            retry: None,
            tail: first_pointer(),
            shadow_head: first_pointer().word(),
            head: first_pointer(),
            dma: uncached::Dma::default(),
            sending: Vec::new(),
            receiving: Vec::new(),
        }
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.timers.is_empty()
            && self.frames.is_empty()
            && self.retry.is_none()
            && self.sending.is_empty()
            && self.interface.sides.iter().all(|side| !side.wants_bus())
    }

    /// The state of interface and flow control.
    pub fn describe(&self) -> String {
        format!("node {}: {:?}; {:?}", self.number, self.interface, self.network)
    }

    /// The same process's rank on a node.
    fn rank(&self, node: u16) -> Rank {
        self.placement.rank(NodeId(node), self.process)
    }

    /// The halves of the process, by their place in the interface.
    fn own_sides(&self) -> Range<usize> {
        Interface::send_half(self.process)..Interface::receive_half(self.process) + 1
    }

    /// Sends to a node unless the interface has no room.
    pub fn try_send(&mut self, destination: u16, message: &Message) -> bool {
        let header = u64::from(self.rank(destination).0)
            | (message.payload.len() as u64) << 16
            | u64::from(message.handler) << 24;
        match self.drivers[0] {
            "fifo" => self.fifo_send(header, &message.payload),
            "cachable_queue" => self.queue_send(header, &message.payload),
            "block_buffer" => self.block_buffer_send(header, &message.payload),
            "user_level_dma" => self.dma_send(header, &message.payload),
            _ => self.register_send(header, &message.payload),
        }
    }

    /// Receives unless there is nothing.
    pub fn try_receive(&mut self) -> Option<Message> {
        let (header, payload) = match self.drivers[1] {
            "fifo" => self.fifo_receive()?,
            "cachable_queue" => self.queue_receive()?,
            "block_buffer" => self.block_buffer_receive()?,
            "user_level_dma" => self.dma_receive()?,
            _ => self.register_receive()?,
        };
        assert_eq!(header.peer(), self.rank(1 - self.number), "the header shows the source");
        Some(Message { handler: (header.0 >> 24) as u8, payload })
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
        self.go_on_sending();
        let side = self.own_sides().start + half;
        if !self.interface.sides[side].wants_bus() {
            return false;
        }
        if let Some(transaction) = self.with_side(side, |side, context| side.issue(context)) {
            self.assert_declared(half..half + 1, transaction.kind);
            let response = self.carry_out(&transaction);
            self.with_side(side, |side, context| side.complete(context, &transaction, &response));
        }
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
                receiver.network.arrive(at, frame);
                for side in receiver.own_sides() {
                    receiver.with_side(side, |side, context| side.network(context));
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
                node.with_side(side, |side, context| side.timer(context));
            }
        }
    }

    fn queue_send(&mut self, header: u64, payload: &[u8]) -> bool {
        let full = |tail: &Pointer, head: u64| tail.word() ^ head == 1 << 32;
        if full(&self.tail, self.shadow_head) {
            self.shadow_head = self.load(self.addresses.send_head());
            if full(&self.tail, self.shadow_head) {
                return false;
            }
        }
        let entry = self.addresses.send_queue() + self.tail.index * PACKET_BYTES;
        self.store(entry, header);
        for (place, chunk) in payload.chunks(8).enumerate() {
            self.store(entry + 8 + 8 * place as u64, word(chunk));
        }
        self.tail.advance(self.layouts[0].entries);
        if self.fact(0, "message_ready") == 1 {
            self.store(self.addresses.send_tail(), self.tail.word());
        } else {
            self.register_store(MESSAGE_READY, 1);
        }
        true
    }

    fn queue_receive(&mut self) -> Option<(Header, Vec<u8>)> {
        let entry = self.addresses.receive_queue() + self.head.index * PACKET_BYTES;
        let header = Header(self.load(entry));
        if u64::from(header.sense()) != self.head.sense {
            return None;
        }
        let count = header.payload_bytes().div_ceil(8);
        let words: Vec<u64> = (0..count).map(|place| self.load(entry + 8 + 8 * place as u64)).collect();
        self.head.advance(self.layouts[1].entries);
        self.store(self.addresses.receive_head(), self.head.word());
        Some((header, bytes(&words, header.payload_bytes())))
    }

    fn load(&mut self, address: u64) -> u64 {
        self.acquire(address, Access::Load);
        let mut bytes = [0; 8];
        self.cache.read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn store(&mut self, address: u64, value: u64) {
        self.acquire(address, Access::Store);
        self.cache.write(address, &value.to_le_bytes());
    }

    fn acquire(&mut self, address: u64, access: Access) {
        let Err(request) = self.cache.access(address, access) else { return };
        let block = self.cache.block_of(address);
        if let Some(victim) = self.cache.victim_for(block) {
            self.evict_block(victim.block);
        }
        let kind = match request {
            Request::Read => Kind::Read,
            Request::ReadExclusive => Kind::ReadExclusive,
            Request::Upgrade => Kind::Upgrade,
            Request::WriteBack => unreachable!(),
        };
        let response = self.carry_out(&Transaction::block(PROCESSOR, kind, block));
        self.cache.fill(block, request, response.shared, response.data.as_ref());
        self.cache.access(address, access).expect("the block was fetched");
    }

    fn evict_block(&mut self, block: u64) {
        let dirty = self.cache.state(block).is_dirty();
        if let (Some(data), true) = (self.cache.remove(block), dirty) {
            self.carry_out(&Transaction::carrying(PROCESSOR, Kind::WriteBack, block, data));
        }
    }

    /// A block transaction from its snoops to its data, at one instant.
    fn carry_out(&mut self, transaction: &Transaction) -> Response {
        let (mut shared, mut supplied): (bool, Option<BlockData>) = (false, None);
        let mut replies = Vec::new();
        if transaction.agent != PROCESSOR {
            self.check_home(transaction);
            let snoop = transaction.kind.snoop().expect("a block transaction");
            replies.push(self.cache.snoop(snoop, transaction.address));
        }
        for side in self.own_sides() {
            if transaction.agent != AgentId(side as u8 + 1) {
                replies.push(self.with_side(side, |side, context| side.snoop(context, transaction)));
            }
        }
        for reply in replies {
            shared |= reply.shares;
            assert!(supplied.is_none() || reply.supplies.is_none(), "two owners");
            supplied = supplied.or(reply.supplies);
        }
        let data = supplied.or_else(|| self.home(transaction));
        Response { data, value: 0, shared }
    }

    /// A device behind an I/O bus caches nothing but its own blocks.
    fn check_home(&self, transaction: &Transaction) {
        let moves_only = matches!(transaction.kind, Kind::ReadOnce | Kind::WriteBlock);
        if self.attachment == Attachment::IoBus && !moves_only {
            let address = transaction.address;
            assert!(self.interface.home_of(address).is_some(), "{address:#x} is main memory's");
        }
    }

    fn home(&mut self, transaction: &Transaction) -> Option<BlockData> {
        if let Some(side) = self.interface.home_of(transaction.address) {
            return self.with_side(side, |side, context| side.home(context, transaction)).data;
        }
        if let Some(data) = &transaction.data {
            self.main.write(transaction.address, data);
        }
        transaction
            .kind
            .fetches_block()
            .then(|| self.main.read_block(transaction.address, BLOCK_BYTES as usize))
    }

    fn fact(&self, half: usize, name: &str) -> u64 {
        let (_, value) = self.layouts[half].facts.iter().find(|(fact, _)| fact.name == name).unwrap();
        *value
    }

    /// What these halves' layouts say of their transactions is whole.
    fn assert_declared(&self, halves: Range<usize>, kind: Kind) {
        let declared = self.layouts[halves].iter().any(|layout| layout.transactions.contains(&kind));
        assert!(declared, "a {kind:?} is not among the transactions of the half's layout");
    }

    fn register_load(&mut self, offset: u64) -> u64 {
        self.assert_declared(0..2, Kind::UncachedLoad);
        self.with_interface(|interface, context| interface.load(context, offset)).unwrap()
    }

    fn register_store(&mut self, offset: u64, value: u64) {
        self.assert_declared(0..2, Kind::UncachedStore);
        self.with_interface(|interface, context| interface.store(context, offset, value)).unwrap();
    }

    fn with_side<R>(
        &mut self,
        side: usize,
        call: impl FnOnce(&mut dyn narthex_interfaces::Side, &mut Context<'_>) -> R,
    ) -> R {
        self.with_interface(|interface, context| call(&mut *interface.sides[side], context))
    }

    fn with_interface<R>(&mut self, call: impl FnOnce(&mut Interface, &mut Context<'_>) -> R) -> R {
        let mut faults = Vec::new();
        let Node { now, process, interface, network, timers, .. } = self;
        let network = network.of_process(*process);
        let mut context = Context { now: *now, network, timers, faults: &mut faults };
        let result = call(interface, &mut context);
        assert!(faults.is_empty(), "{faults:?}");
        let retry = self.network.departures(self.now, |departure| self.frames.push(departure));
        self.retry = self.retry.or(retry);
        result
    }
}

/// The offset of the register with this name.
fn register(name: &str) -> u64 {
    programming::registers().iter().find(|register| register.0 == name).unwrap().1
}

fn word(chunk: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(bytes)
}

fn bytes(words: &[u64], length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}
