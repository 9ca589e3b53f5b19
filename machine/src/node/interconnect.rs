//! The bus at work: who is granted, who snoops, who supplies.

use narthex_interfaces::Interface;
use narthex_interfaces::registers::Addresses;
use narthex_interfaces::side::{Context, RegisterFault};
use narthex_kernel::{Duration, Time};
use narthex_memory::processor_memory::Traffic;
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

use super::journal::{self, Crossing, Supplier};
use super::{Event, Node, State, Underway};

/// An agent of the node's bus, by what it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agent {
    /// A processor.
    Unit(usize),
    /// A half of the interface: 0 sends, 1 receives.
    Side(usize),
}

impl Node {
    /// The place of a processor on the bus; the interface's halves follow.
    pub(super) fn agent_of_unit(&self, index: usize) -> AgentId {
        AgentId(index as u8)
    }

    /// The place of a half of the interface on the bus.
    pub(super) fn agent_of_side(&self, side: usize) -> AgentId {
        AgentId((self.units.len() + side) as u8)
    }

    fn agent(&self, agent: AgentId) -> Agent {
        let place = usize::from(agent.0);
        match place.checked_sub(self.units.len()) {
            None => Agent::Unit(place),
            Some(side) => Agent::Side(side),
        }
    }

    /// Asks for the bus in an agent's name.
    pub(super) fn request(&mut self, now: Time, agent: AgentId) {
        if let Some(at) = self.bus.request(now, agent) {
            self.events.schedule(at, Event::Grant);
        }
    }

    /// What the processors' transactions on the memory bus are.
    fn bus_traffic(&self) -> Traffic {
        if self.private.is_some() { Traffic::Blocks } else { Traffic::All }
    }

    /// Asks for the bus if a processor's memory needs it.
    pub(super) fn request_for_unit(&mut self, index: usize, now: Time) {
        if self.units[index].memory.wants(self.bus_traffic()) {
            self.request(now, self.agent_of_unit(index));
        }
        self.request_private_bus(index, now);
    }

    /// The bus is granted: the agent issues, everybody else snoops.
    pub(super) fn grant(&mut self, now: Time) {
        let traffic = self.bus_traffic();
        let transaction = self.bus.grant().and_then(|agent| match self.agent(agent) {
            Agent::Unit(index) => self.units[index].memory.issue(traffic),
            Agent::Side(side) => self.with_side(now, side, |side, context| side.issue(context)),
        });
        let Some(transaction) = transaction else {
            self.free_bus(now);
            return;
        };
        let (underway, delay, supplier) = if transaction.kind.is_uncached() {
            let delay = self.interface.access_time(transaction.kind);
            (Underway::uncached(transaction), delay, None)
        } else {
            let (response, delay, supplier) = self.block_transaction(now, &transaction);
            (Underway { transaction, response }, delay, supplier)
        };
        let end = self.bus.occupy(now, transaction.kind, delay);
        let time = (now, end, self.bus.period());
        self.note_crossing("memory bus", time, &transaction, supplier);
        self.underway = Some(underway);
        self.events.schedule(end, Event::Release);
    }

    /// Enters a transaction into the journal: its bus, granted when, released
    /// when, and the bus's cycle.
    pub(super) fn note_crossing(
        &mut self,
        bus: &'static str,
        (granted, released, cycle): (Time, Time, Duration),
        transaction: &Transaction,
        supplier: Option<Supplier>,
    ) {
        let agent = self.agent(transaction.agent);
        let Some(journal) = &mut self.journal else { return };
        let crossing = Crossing {
            bus,
            granted,
            released,
            cycles: (released - granted).as_ps() / cycle.as_ps(),
            agent,
            kind: transaction.kind,
            address: transaction.address,
            supplier,
            touched: [false; 2],
        };
        journal.record(granted, journal::Event::Crossing(crossing));
    }

    /// Lets everybody snoop a block transaction and finds who supplies.
    fn block_transaction(
        &mut self,
        now: Time,
        transaction: &Transaction,
    ) -> (Response, Duration, Option<Supplier>) {
        let (snooped, owner) = self.snoop(now, transaction);
        if let (Some(data), true) = (snooped.supplies, snooped.updates_home) {
            self.write_home(now, transaction.address, &data);
        }
        let (data, delay) = match snooped.supplies {
            Some(data) => (Some(data), snooped.delay),
            None => self.home(now, transaction),
        };
        let moves_block = transaction.kind.fetches_block() || transaction.kind.carries_block();
        let supplier = owner.or_else(|| moves_block.then(|| self.home_supplier(transaction.address)));
        (Response { data, value: 0, shared: snooped.shares }, delay, supplier)
    }

    /// The home of an address, as a supplier.
    fn home_supplier(&self, address: u64) -> Supplier {
        self.interface
            .home_of(address)
            .map_or(Supplier::MainMemory, |side| Supplier::Agent(Agent::Side(side)))
    }

    /// Everybody but the issuer snoops; the joined answer, and who supplies.
    fn snoop(&mut self, now: Time, transaction: &Transaction) -> (SnoopReply, Option<Supplier>) {
        let (mut joined, mut owner) = (SnoopReply::default(), None);
        let mut join = |agent: Agent, reply: SnoopReply| {
            joined.shares |= reply.shares;
            if reply.supplies.is_some() {
                debug_assert!(joined.supplies.is_none(), "two owners of {:#x}", transaction.address);
                joined = SnoopReply { shares: joined.shares, ..reply };
                owner = Some(Supplier::Agent(agent));
            }
        };
        for index in 0..self.units.len() {
            if self.agent_of_unit(index) != transaction.agent {
                join(Agent::Unit(index), self.units[index].memory.snoop(transaction));
            }
        }
        for side in 0..self.interface.sides.len() {
            if self.agent_of_side(side) != transaction.agent {
                let reply = self.with_side(now, side, |side, context| side.snoop(context, transaction));
                join(Agent::Side(side), reply);
            }
        }
        (joined, owner)
    }

    /// The home's part in a transaction that nobody supplied.
    fn home(&mut self, now: Time, transaction: &Transaction) -> (Option<BlockData>, Duration) {
        if let Some(side) = self.interface.home_of(transaction.address) {
            let reply = self.with_side(now, side, |side, context| side.home(context, transaction));
            return (reply.data, reply.delay);
        }
        if let Some(data) = &transaction.data {
            self.main.write(transaction.address, data);
        }
        let data = transaction
            .kind
            .fetches_block()
            .then(|| self.main.read_block(transaction.address, self.block_bytes as usize));
        let moves_block = data.is_some() || transaction.data.is_some();
        (data, if moves_block { self.memory_access_time } else { Duration::ZERO })
    }

    /// The home takes bytes that a cache supplied to another.
    fn write_home(&mut self, now: Time, address: u64, data: &BlockData) {
        match self.interface.home_of(address) {
            Some(side) => {
                let agent = self.agent_of_side(side);
                let write = Transaction::carrying(agent, Kind::WriteBack, address, *data);
                self.with_side(now, side, |side, context| side.home(context, &write));
            }
            None => self.main.write(address, data),
        }
    }

    /// The transaction on the bus is over.
    pub(super) fn release(&mut self, now: Time) {
        let underway = self.underway.take().expect("a transaction is under way");
        self.complete(now, underway);
        self.free_bus(now);
    }

    /// A transaction is over: its agent gets the answer.
    pub(super) fn complete(&mut self, now: Time, underway: Underway) {
        let Underway { transaction, mut response } = underway;
        if transaction.kind.is_uncached() {
            let process = Addresses::process_at(transaction.address).expect("only registers are uncached");
            if let Err(fault) = self.access_register(now, process, &transaction, &mut response) {
                self.fail_at(now, process.into(), &fault.0);
                return;
            }
        }
        match self.agent(transaction.agent) {
            Agent::Unit(index) => {
                let unit = &mut self.units[index];
                if unit.memory.complete(&transaction, &response) && unit.state == State::Waiting {
                    self.wake(index, now);
                }
                self.request_for_unit(index, now);
            }
            Agent::Side(side) => {
                self.with_side(now, side, |side, context| side.complete(context, &transaction, &response));
            }
        }
    }

    /// Carries out an uncached access at its end, when its data has crossed.
    fn access_register(
        &mut self,
        now: Time,
        process: u8,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), RegisterFault> {
        let offset = transaction.address - Addresses::of_process(process).register_page();
        let moves_block = matches!(transaction.kind, Kind::BlockLoad | Kind::BlockStore);
        if transaction.size != 8 && !moves_block {
            let size = transaction.size;
            return Err(RegisterFault(format!(
                "an access of {size} bytes to register {offset:#x}; registers have 8"
            )));
        }
        let Node { interface, network, timers, faults, .. } = self;
        let mut context = Context { now, network: network.of_process(process), timers, faults };
        let result = match (transaction.kind, &transaction.data) {
            (Kind::UncachedLoad, _) => {
                interface.load(&mut context, offset).map(|value| response.value = value)
            }
            (Kind::BlockLoad, _) => {
                interface.load_block(&mut context, offset).map(|block| response.data = Some(block))
            }
            (Kind::BlockStore, Some(block)) => interface.store_block(&mut context, offset, block),
            _ => interface.store(&mut context, offset, transaction.value),
        };
        // Which half asked for the instant is not known here: both are called.
        for at in self.timers.drain(..) {
            self.events.schedule(at, Event::Timer(Interface::send_half(process)));
            self.events.schedule(at, Event::Timer(Interface::receive_half(process)));
        }
        self.settle(now);
        self.report_fault(now, process);
        result
    }

    fn free_bus(&mut self, now: Time) {
        if let Some(at) = self.bus.release(now) {
            self.events.schedule(at, Event::Grant);
        }
    }
}
