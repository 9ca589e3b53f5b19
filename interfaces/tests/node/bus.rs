//! The node's bus, or directory, on which each transaction happens at once, and the cache that
//! its processor reaches memory through. It is that of the simulator
//! ([`narthex_memory::interconnects`]), with a clock that stands still.

use std::ops::Range;

use narthex_interfaces::{Attachment, Device};
use narthex_kernel::{Bytes, Clock, Duration, Time};
use narthex_memory::agent::{Agent, Either};
use narthex_memory::bus::Bus;
use narthex_memory::directory::{self, Carried, Endpoint};
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::directory::{Directory, Homes};
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::interconnects::{
    self, AddressMap, AgentPort, AgentPorts, Home, Interconnect, InterconnectHost, InterconnectId, MemoryId,
    Names, Step,
};
use narthex_memory::protocols::{Access, Request};
use narthex_memory::{AgentId, HomeReply, Kind, Response, SnoopReply, Transaction};

use super::{BLOCK_BYTES, FIRST_SIDE, Node, PROCESSOR};

const BUS: InterconnectId = InterconnectId(0);

/// A bus with the processor and these halves of an interface on it, or a directory of this protocol.
pub fn bus(interface: &dyn Device, halves: Range<usize>, directory: Option<&str>) -> Interconnect {
    let mut homes = AddressMap::default();
    let mut ports = vec![AgentPort::of_processor(PROCESSOR)];
    for (number, port) in
        interface.ports().into_iter().enumerate().filter(|(number, _)| halves.contains(number))
    {
        let agent = AgentId(FIRST_SIDE.0 + number as u8);
        for home in port.homes {
            homes.add(home, Home::Agent(agent)).expect("an address has one home");
        }
        ports.push(AgentPort::of_device(agent, port.concern));
    }
    let names = Names { name: "memory bus", prefix: "" };
    let clock = Clock::with_period(Duration::from_ns(1));
    let (ports, memory) = (AgentPorts::new(ports), MemoryId(0));
    match directory {
        None => {
            let homes = homes.with_rest(Home::Memory(memory));
            SnoopingBus::new(names, Bus::with_occupancy(clock, |_| 0), ports, homes).into()
        }
        Some(protocol) => {
            let homes = Homes { ranges: homes, interleaved: vec![memory], tiles: None };
            let table = directory::protocols::by_name(protocol).expect("it is built in");
            Directory::new(names, &without_time(), table, ports, homes).into()
        }
    }
}

/// A directory that takes no time.
fn without_time() -> interconnects::directory::Config {
    interconnects::directory::Config {
        clock: "1GHz".parse().expect("a frequency"),
        transactions: 4,
        lookup_time: Duration::ZERO,
        block_time: Duration::ZERO,
        cache_supply_time: Duration::ZERO,
        hold_time: Duration::ZERO,
        interleave: Bytes::new(BLOCK_BYTES),
    }
}

/// The processor with its cache.
pub struct Processor<'a>(&'a mut Node);

impl Agent for Processor<'_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.requested.is_some()
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        self.0.requested.take()
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        let snoop = transaction.kind.snoop().expect("a block transaction");
        self.0.cache.snoop(snoop, transaction.address)
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, response: &Response) {
        match self.0.held.take_if(|(block, _)| *block == transaction.address) {
            Some((block, request)) => self.0.fill(block, request, response),
            None => self.0.answer = Some(response.clone()),
        }
    }
}

/// A half of the interface, whose registers are reached beside the bus.
pub struct Half<'a> {
    node: &'a mut Node,
    side: usize,
}

impl Agent for Half<'_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.node.interface.wants(self.side)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let Half { node, side } = self;
        let transaction = node.with_interface(|device, context| device.issue(*side, context))?;
        let half = *side - node.own_sides().start;
        node.assert_declared(half..half + 1, transaction.kind);
        node.check_home(half, &transaction);
        Some(transaction)
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        let Half { node, side } = self;
        node.with_interface(|device, context| device.snoop(*side, context, transaction))
    }

    fn home(&mut self, _now: Time, transaction: &Transaction) -> HomeReply {
        let Half { node, side } = self;
        node.with_interface(|device, context| device.home(*side, context, transaction))
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, response: &Response) {
        let Half { node, side } = self;
        node.with_interface(|device, context| device.complete(*side, context, transaction, response));
    }
}

impl InterconnectHost for Node {
    type Agent<'a> = Either<Processor<'a>, Half<'a>>;
    type Memory<'a> = &'a mut HomeMemory;

    fn interconnect(&mut self, _on: InterconnectId) -> &mut Interconnect {
        &mut self.bus
    }

    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        match agent {
            PROCESSOR => Either::First(Processor(self)),
            half => Either::Second(Half { node: self, side: usize::from(half.0 - FIRST_SIDE.0) }),
        }
    }

    fn memory(&mut self, _memory: MemoryId) -> &mut HomeMemory {
        &mut self.main
    }

    fn schedule(&mut self, _at: Time, _on: InterconnectId, step: Step) {
        self.steps.push(step);
    }

    fn carry(&mut self, _at: Time, _on: InterconnectId, _from: Endpoint, to: Endpoint, carried: Carried) {
        self.messages.push_back((to, carried));
    }
}

impl Node {
    /// Loads from cachable memory; the access is within a block.
    pub(super) fn load(&mut self, address: u64, size: usize) -> u64 {
        self.load_unless_held(address, size).expect("a home answers at once")
    }

    /// The same; none while the block's home holds it.
    pub(super) fn load_unless_held(&mut self, address: u64, size: usize) -> Option<u64> {
        self.acquire(address, Access::Load).then(|| self.read(address, size))
    }

    fn read(&self, address: u64, size: usize) -> u64 {
        let mut bytes = [0; 8];
        self.cache.read(address, &mut bytes[..size]);
        u64::from_le_bytes(bytes)
    }

    /// Stores to cachable memory; the access is within a block.
    pub(super) fn store(&mut self, address: u64, size: usize, value: u64) {
        assert!(self.acquire(address, Access::Store), "a home answers at once");
        self.cache.write(address, &value.to_le_bytes()[..size]);
    }

    /// Whether the cache has the block for an access; it has not while the home holds it.
    fn acquire(&mut self, address: u64, access: Access) -> bool {
        let Err(request) = self.cache.access(address, access) else { return true };
        let block = self.cache.block_of(address);
        if self.held.is_some_and(|(held, _)| held == block) {
            return false;
        }
        let kind = match request {
            Request::Read => Kind::Read,
            Request::ReadExclusive => Kind::ReadExclusive,
            Request::Upgrade => Kind::Upgrade,
            Request::WriteBack => unreachable!(),
        };
        self.requested = Some(Transaction::block(PROCESSOR, kind, block));
        self.grant(PROCESSOR);
        let Some(response) = self.answer.take() else {
            self.held = Some((block, request));
            return false;
        };
        self.fill(block, request, &response);
        self.cache.access(address, access).expect("the block was fetched");
        true
    }

    /// A block has come; what is in its way leaves.
    fn fill(&mut self, block: u64, request: Request, response: &Response) {
        if let Some(victim) = self.cache.victim_for(block) {
            self.evict_block(victim.block);
        }
        self.cache.fill(block, request, response.shared, response.data.as_ref());
    }

    /// The home of a block goes on with the load that it has held.
    pub(super) fn resume(&mut self, block: u64) {
        let now = self.now;
        Directory::resume(self, now, BUS, block);
        self.settle();
    }

    /// The cache loses a block.
    pub(super) fn evict_block(&mut self, block: u64) {
        let dirty = self.cache.state(block).is_dirty();
        if let (Some(data), true) = (self.cache.remove(block), dirty) {
            self.carry_out(Transaction::carrying(PROCESSOR, Kind::WriteBack, block, data));
        }
    }

    /// A transaction of the processor, from its grant to its answer.
    fn carry_out(&mut self, transaction: Transaction) -> Response {
        self.requested = Some(transaction);
        self.grant(PROCESSOR);
        self.answer.take().expect("the bus answers at once")
    }

    /// An agent has the bus for its next transaction, if it has one.
    pub(super) fn grant(&mut self, agent: AgentId) {
        let now = self.now;
        interconnects::grant_to(self, now, BUS, agent);
        self.settle();
    }

    /// What is due, and all messages, happen.
    fn settle(&mut self) {
        let now = self.now;
        loop {
            if let Some(step) = self.steps.pop() {
                interconnects::happen(self, now, BUS, step);
            } else if let Some((to, carried)) = self.messages.pop_front() {
                Directory::arrive(self, now, BUS, to, carried);
            } else {
                break;
            }
        }
    }

    /// A device behind an I/O bus caches nothing but its own blocks. One that is the home of none and
    /// asks for no right to write keeps nothing of what it reads.
    fn check_home(&self, half: usize, transaction: &Transaction) {
        let layout = &self.layouts[half];
        let keeps_nothing = layout.home.is_empty() && !layout.transactions.contains(&Kind::Upgrade);
        let moves_only = match transaction.kind {
            Kind::ReadOnce | Kind::WriteBlock => true,
            kind => kind == Kind::Read && keeps_nothing,
        };
        if self.attachment == Attachment::IoBus && !moves_only {
            let address = transaction.address;
            let mut homes = self.layouts.iter().flat_map(|layout| &layout.home);
            assert!(homes.any(|home| home.contains(&address)), "{address:#x} is main memory's");
        }
    }

    /// What these halves' layouts say of their transactions is whole.
    pub(super) fn assert_declared(&self, halves: Range<usize>, kind: Kind) {
        let declared = self.layouts[halves].iter().any(|layout| layout.transactions.contains(&kind));
        assert!(declared, "a {kind:?} is not among the transactions of the half's layout");
    }
}
