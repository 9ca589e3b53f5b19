//! The bus at work: who is granted, who snoops, who supplies.

use narthex_interfaces::registers::Addresses;
use narthex_kernel::{Duration, Time};
use narthex_memory::processor_memory::{Traffic, WaitReason};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

use super::io_bus::BRIDGE;
use super::journal::{self, Crossing, Hold, MEMORY_BUS, Supplier};
use super::{Event, Node, State, Underway};

/// What comes of a transaction on a block.
pub(super) struct Answer {
    pub response: Response,
    /// The time that whoever answers takes.
    pub delay: Duration,
    /// Who that is, where bytes move.
    pub supplier: Option<Supplier>,
}

/// The joined answers of those who snoop, and who among them supplies.
#[derive(Default)]
pub(super) struct Snooped {
    pub reply: SnoopReply,
    owner: Option<Supplier>,
}

impl Snooped {
    fn join(&mut self, agent: Agent, reply: SnoopReply, transaction: &Transaction) {
        let shares = self.reply.shares | reply.shares;
        if reply.supplies.is_some() {
            debug_assert!(self.owner.is_none(), "two owners of {:#x}", transaction.address);
            self.reply = reply;
            self.owner = Some(Supplier::Agent(agent));
        }
        self.reply.shares = shares;
    }
}

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

    pub(super) fn agent(&self, agent: AgentId) -> Agent {
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

    /// Asks for the interface's bus if this half of it, which has just done
    /// something, needs it.
    pub(super) fn request_for_side(&mut self, now: Time, side: usize) {
        if self.io.is_some() {
            self.request_io_bus(now);
        } else if self.interface.sides[side].wants_bus() {
            self.request(now, self.agent_of_side(side));
        }
    }

    /// What an agent that was granted a bus puts on it.
    pub(super) fn issue(&mut self, now: Time, agent: AgentId) -> Option<Transaction> {
        match self.agent(agent) {
            Agent::Unit(index) => {
                let traffic = self.bus_traffic();
                let transaction = self.units[index].memory.issue(traffic);
                if transaction.is_none() {
                    self.wake_if_served(index, now);
                }
                transaction
            }
            Agent::Side(side) => {
                let transaction = self.with_side(now, side, |side, context| side.issue(context))?;
                if let Some((process, problem)) = self.refusal(&transaction) {
                    self.fail_at(now, process, &problem);
                    return None;
                }
                Some(transaction)
            }
        }
    }

    /// A processor goes on whose access needs the bus no longer, because its
    /// cache has snarfed the block.
    fn wake_if_served(&mut self, index: usize, now: Time) {
        let unit = &self.units[index];
        if unit.state == State::Waiting && unit.memory.wait_reason().is_none() {
            self.wake(index, now);
            self.request_for_unit(index, now);
        }
    }

    /// Bytes have crossed the bus: caches that lost the block may take them.
    fn snarf(&mut self, transaction: &Transaction) {
        for index in 0..self.units.len() {
            if transaction.kind.carries_block() && self.agent_of_unit(index) != transaction.agent {
                self.units[index].memory.snarf(transaction);
            }
        }
    }

    /// The bus is granted: the agent issues, everybody else snoops.
    pub(super) fn grant(&mut self, now: Time) {
        let agent = self.bus.grant();
        if agent == Some(BRIDGE) {
            self.grant_to_bridge(now);
            return;
        }
        let Some(transaction) = agent.and_then(|agent| self.issue(now, agent)) else {
            agent.into_iter().for_each(|agent| self.note_vain_grant(now, MEMORY_BUS, agent));
            self.free_bus(now);
            return;
        };
        if self.is_for_devices(&transaction) {
            self.start_crossing(now, transaction);
            return;
        }
        let Answer { response, delay, supplier } = if transaction.kind.is_uncached() {
            let delay = self.interface.access_time(transaction.kind);
            Answer { response: Response::default(), delay, supplier: None }
        } else {
            self.block_transaction(now, &transaction)
        };
        let end = self.bus.occupy(now, transaction.kind, delay);
        let time = (now, end, self.bus.period());
        self.note_crossing(MEMORY_BUS, time, &transaction, supplier);
        self.underway = Some(Underway { transaction, response });
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
        if self.journal.is_none() {
            return;
        }
        let agent = self.agent(transaction.agent);
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
        self.note(granted, journal::Event::Crossing(crossing));
    }

    /// Enters into the journal that a transaction takes a bus, for how long will be known later.
    pub(super) fn note_hold(&mut self, bus: &'static str, now: Time, transaction: &Transaction) {
        if self.journal.is_none() {
            return;
        }
        let agent = self.agent(transaction.agent);
        let hold = Hold { bus, agent, kind: transaction.kind, address: transaction.address };
        self.note(now, journal::Event::Held(hold));
    }

    /// Lets everybody snoop a block transaction and finds who supplies.
    pub(super) fn block_transaction(&mut self, now: Time, transaction: &Transaction) -> Answer {
        let Snooped { reply: snooped, owner } = self.snoop(now, transaction);
        if let (Some(data), true) = (&snooped.supplies, snooped.updates_home) {
            self.write_home(now, transaction.address, data);
        }
        let (data, delay) = match snooped.supplies {
            Some(data) => (Some(data), snooped.delay),
            None => self.home(now, transaction),
        };
        let moves_block = transaction.kind.fetches_block() || transaction.kind.carries_block();
        let supplier = owner.or_else(|| moves_block.then(|| self.home_supplier(transaction.address)));
        self.count_supply(transaction, supplier);
        Answer { response: Response { data, value: 0, shared: snooped.shares }, delay, supplier }
    }

    /// Counts where a processor's block of the interface came from.
    fn count_supply(&mut self, transaction: &Transaction, supplier: Option<Supplier>) {
        let is_processors = matches!(self.agent(transaction.agent), Agent::Unit(_));
        if is_processors
            && transaction.kind.fetches_block()
            && Addresses::carries_messages(transaction.address)
        {
            match supplier {
                Some(Supplier::MainMemory) => self.statistics.from_memory.increment(),
                Some(Supplier::Agent(Agent::Side(_))) => self.statistics.from_interface.increment(),
                Some(Supplier::Agent(Agent::Unit(_))) | None => {}
            }
        }
    }

    /// The home of an address, as a supplier.
    fn home_supplier(&self, address: u64) -> Supplier {
        self.interface
            .home_of(address)
            .map_or(Supplier::MainMemory, |side| Supplier::Agent(Agent::Side(side)))
    }

    /// Everybody but the issuer snoops; devices on an I/O bus see what is for them.
    fn snoop(&mut self, now: Time, transaction: &Transaction) -> Snooped {
        let mut snooped = self.snoop_units(transaction);
        if self.io.is_none() || self.is_for_devices(transaction) {
            self.snoop_sides(now, transaction, &mut snooped);
        }
        snooped
    }

    /// The processors' caches snoop.
    pub(super) fn snoop_units(&mut self, transaction: &Transaction) -> Snooped {
        let mut snooped = Snooped::default();
        for index in 0..self.units.len() {
            if self.agent_of_unit(index) != transaction.agent {
                let reply = self.units[index].memory.snoop(transaction);
                snooped.join(Agent::Unit(index), reply, transaction);
            }
        }
        snooped
    }

    /// The halves of the interface snoop.
    fn snoop_sides(&mut self, now: Time, transaction: &Transaction, snooped: &mut Snooped) {
        if !self.interface.is_concerned(transaction.address) {
            return;
        }
        for side in 0..self.interface.sides.len() {
            if self.agent_of_side(side) != transaction.agent {
                let reply = self.with_side(now, side, |side, context| side.snoop(context, transaction));
                snooped.join(Agent::Side(side), reply, transaction);
            }
        }
    }

    /// Shows a transaction that asks for no bytes to the devices on their own
    /// bus, and to the home among them; the time that the home takes.
    pub(super) fn show_devices(&mut self, now: Time, transaction: &Transaction) -> Duration {
        self.snoop_sides(now, transaction, &mut Snooped::default());
        match self.is_for_devices(transaction) {
            true => self.home(now, transaction).1,
            false => Duration::ZERO,
        }
    }

    /// The home's part in a transaction that nobody supplied.
    pub(super) fn home(&mut self, now: Time, transaction: &Transaction) -> (Option<BlockData>, Duration) {
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
                let write = Transaction::carrying(agent, Kind::WriteBack, address, data.clone());
                self.with_side(now, side, |side, context| side.home(context, &write));
            }
            None => self.main.write(address, data),
        }
    }

    /// The transaction on the bus is over.
    pub(super) fn release(&mut self, now: Time) {
        match self.underway.take() {
            None => self.release_for_bridge(now),
            Some(underway) if self.is_for_devices(&underway.transaction) => self.end_crossing(now, &underway),
            Some(underway) => self.complete(now, underway),
        }
        self.free_bus(now);
    }

    /// A transaction is over: it has its effect, and its agent gets the answer.
    pub(super) fn complete(&mut self, now: Time, mut underway: Underway) {
        self.access_register(now, &mut underway);
        self.snarf(&underway.transaction);
        self.answer(now, &underway);
    }

    /// The agent of a transaction gets the answer.
    pub(super) fn answer(&mut self, now: Time, underway: &Underway) {
        let Underway { transaction, response } = underway;
        match self.agent(transaction.agent) {
            Agent::Unit(index) => {
                let own_time = self.processors_part(index, transaction);
                let unit = &mut self.units[index];
                if unit.memory.complete(transaction, response) && unit.state == State::Waiting {
                    self.wake(index, now + own_time);
                }
                self.request_for_unit(index, now);
            }
            Agent::Side(side) => {
                self.with_side(now, side, |side, context| side.complete(context, transaction, response));
            }
        }
    }

    /// What the processor adds to an access for which it has waited. A store
    /// buffer that has drained brings it nothing, and its own bus is not a way.
    fn processors_part(&self, index: usize, transaction: &Transaction) -> Duration {
        let waits_for_it = self.units[index].memory.wait_reason() != Some(WaitReason::StoreBuffer);
        let is_private = transaction.kind.is_uncached() && self.private.is_some();
        if waits_for_it && !is_private { self.blocking_access_time } else { Duration::ZERO }
    }

    pub(super) fn free_bus(&mut self, now: Time) {
        if let Some(at) = self.bus.release(now) {
            self.events.schedule(at, Event::Grant);
        }
    }
}
