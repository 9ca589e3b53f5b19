//! The node as a composition: how the rules of its interconnects reach its
//! processors, devices and memories.

use narthex_interfaces::registers::Addresses;
use narthex_kernel::{Duration, Place, Time};
use narthex_memory::directory::{self, Carried};
use narthex_memory::interconnects::{
    self, Composition, Interconnect, InterconnectId, MemoryId, Observation, Refusal, Step, Supplier,
};
use narthex_memory::processor_memory::{Exchange, Traffic, WaitReason};
use narthex_memory::{AgentId, BlockData, HomeReply, Kind, Response, SnoopReply, Transaction};

use super::{Event, Node, NodeProcessor, State};
use crate::activity::Resource;

/// An agent of the node's interconnects, by what it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Agent {
    /// A processor.
    Processor(usize),
    /// A seat of a device, by its place among all seats: those of the network
    /// interface come first, of which each even one sends.
    Seat(usize),
}

/// The seat of an agent that is a device's.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeatPlace {
    /// Its number among the agents.
    pub agent: AgentId,
    /// Where it is.
    pub on: InterconnectId,
    /// Which device it belongs to, and its number there.
    pub device: usize,
    pub seat: usize,
    /// The process that uses it.
    pub process: u8,
    /// It is the port of an engine.
    pub is_engine: bool,
}

impl Node {
    /// The number of a processor among the agents.
    pub(super) fn agent_of_processor(&self, index: usize) -> AgentId {
        AgentId(index as u8)
    }

    /// The seat with this number among the agents; none if that is a processor.
    #[inline]
    pub(super) fn seat(&self, agent: AgentId) -> Option<SeatPlace> {
        usize::from(agent.0).checked_sub(self.processors.len()).map(|place| self.seats[place])
    }

    /// The place among all seats of a seat of a device.
    pub(super) fn seat_of(&self, device: usize, seat: usize) -> SeatPlace {
        self.seats[self.first_seats[device] + seat]
    }

    /// The agent with this number.
    pub(super) fn agent(&self, agent: AgentId) -> Agent {
        let number = usize::from(agent.0);
        number.checked_sub(self.processors.len()).map_or(Agent::Processor(number), Agent::Seat)
    }

    /// Asks for the interconnects that a processor's memory needs.
    #[inline(always)]
    pub(super) fn ask_for_processor(&mut self, index: usize, now: Time) {
        let agent = self.agent_of_processor(index);
        let NodeProcessor { seats, memory, .. } = &self.processors[index];
        let (caches, traffic) = seats.caches;
        let path = seats.private.filter(|_| memory.wants(Traffic::Uncached));
        if memory.wants(traffic) {
            interconnects::request(self, now, caches, agent);
        }
        if let Some(path) = path {
            interconnects::request(self, now, path, agent);
        }
    }

    /// The same for a processor that has just stopped. Where it needs one interconnect and
    /// nothing else happens meanwhile, its transactions are carried at once.
    #[inline(always)]
    pub(super) fn ask_at_stop(&mut self, index: usize, now: Time) {
        let NodeProcessor { seats, memory, .. } = &self.processors[index];
        let (caches, traffic) = seats.caches;
        if now >= self.horizons.free_until || seats.private.is_some() {
            self.ask_for_processor(index, now);
        } else if memory.wants(traffic) {
            interconnects::request_alone(self, now, caches, self.agent_of_processor(index));
        }
    }

    /// A processor goes on whose access needs the interconnect no longer, because
    /// its cache has snarfed the block.
    fn wake_if_served(&mut self, index: usize, now: Time) {
        let processor = &self.processors[index];
        if processor.state == State::Waiting && processor.memory.wait_reason().is_none() {
            self.wake(index, now);
            self.ask_for_processor(index, now);
        }
    }

    /// A processor's transaction on a block is answered by this supplier. On a directory it waits for
    /// the home, which finds out who that is.
    #[inline]
    fn note_supplier(&mut self, index: usize, supplier: Supplier) {
        let resource = match supplier {
            Supplier::Memory(_) => Resource::Memory,
            Supplier::Agent(agent) if self.seat(agent).is_some() => Resource::Interface,
            Supplier::Agent(_) => Resource::Cache,
        };
        let unit = &mut self.processors[index];
        if unit.answerer == Resource::Permission {
            unit.is_answered_by(resource);
        }
    }

    /// What the processor adds to an access for which it has waited, and why it has. A
    /// store buffer that has drained brings it nothing, and its own path is no bus.
    fn processors_part(&self, index: usize, on: InterconnectId, waited: Option<WaitReason>) -> Duration {
        let processor = &self.processors[index];
        let is_private = processor.seats.traffic(on) == Traffic::Uncached;
        match waited {
            Some(WaitReason::StoreBuffer) => Duration::ZERO,
            _ if is_private => Duration::ZERO,
            Some(WaitReason::DataMiss | WaitReason::InstructionMiss) => {
                processor.blocking_access_time + processor.look_up_time
            }
            _ => processor.blocking_access_time,
        }
    }
}

impl Composition for Node {
    #[inline]
    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        &mut self.interconnects[usize::from(on.0)]
    }

    fn schedule(&mut self, at: Time, on: InterconnectId, step: Step) {
        if let (Step::Grant, Some(request)) = (step, self.requests.asking()) {
            return self.schedule_grant(request, at, on);
        }
        self.events.schedule(at, Event::Interconnect(on, step));
    }

    /// Not while an observer is told of events, nor while a turn is watched.
    #[inline]
    fn comes_next(&self, now: Time) -> bool {
        let is_woken = |unit: &NodeProcessor| unit.state == State::Woken;
        let is_watched = || self.processors.iter().any(|unit| unit.waiting.is_watching_bus());
        let may_be_watched = self.may_watch_bus && is_watched();
        !self.schedules_steps
            && !self.probe.is_attached()
            && !may_be_watched
            && self.events.next_time().is_none_or(|next| next > now)
            && !self.processors.iter().any(is_woken)
    }

    /// Not while a turn is watched, nor before a processor that executes or may wake.
    #[inline]
    fn is_free_before(&self, at: Time) -> bool {
        let bound = self.bound(at);
        at < self.horizons.free_until
            && at < self.events.next_instant()
            && !self.may_watch_bus
            && self.callers == 0
            && !self.sleepers.may_be_due(at)
            && !self.processors.iter().any(|unit| unit.is_active(bound))
    }

    /// It is the only processor, and no turn is watched.
    #[inline]
    fn may_answer_early(&self, agent: AgentId, at: Time) -> bool {
        at < self.horizons.early_until
            && !self.is_shared()
            && !self.may_watch_bus
            && self.processors.get(usize::from(agent.0)).is_some_and(|unit| unit.memory.has_nothing_behind())
    }

    #[inline]
    fn keep_place(&mut self) -> Place {
        self.events.keep_place()
    }

    fn schedule_in(&mut self, place: Place, at: Time, on: InterconnectId, step: Step) {
        self.events.schedule_in(place, at, Event::Interconnect(on, step));
    }

    #[inline]
    fn has_passed(&self, at: Time, place: Place) -> bool {
        self.events.has_passed(at, place)
    }

    #[inline]
    fn pass(&mut self, at: Time) {
        self.instant.count(at);
        self.events.pass(1);
    }

    #[inline]
    fn wants(&self, agent: AgentId, on: InterconnectId) -> bool {
        if let Some(processor) = self.processors.get(usize::from(agent.0)) {
            return processor.memory.wants(processor.seats.traffic(on));
        }
        let place = &self.seats[usize::from(agent.0) - self.processors.len()];
        self.devices[place.device].wants(place.seat)
    }

    fn issue(&mut self, now: Time, agent: AgentId, on: InterconnectId) -> Option<Transaction> {
        let Some(place) = self.seat(agent) else {
            let index = usize::from(agent.0);
            let processor = &mut self.processors[index];
            let transaction = processor.memory.issue(processor.seats.traffic(on));
            if let Some(issued) = &transaction {
                processor.answerer = match self.interconnects[usize::from(on.0)] {
                    _ if issued.kind.is_uncached() => Resource::Interface,
                    Interconnect::Directory(_) => Resource::Home,
                    // Until a supplier of bytes is known.
                    _ => Resource::Permission,
                };
                processor.awaits_another(now);
            }
            if self.deliver_loads(index, now) || transaction.is_none() {
                self.wake_if_served(index, now);
            }
            return transaction;
        };
        assert!(
            now >= self.horizons.ran_until,
            "{} is granted an interconnect at {now} because of what came from the network, and the \
             processor has executed up to {}: a device's time_to_interconnect is too long",
            self.devices[place.device].part(place.seat),
            self.horizons.ran_until,
        );
        let since = self.interconnects[usize::from(on.0)].granted_since();
        self.statistics.waited_for_bus.add(since.map_or(Duration::ZERO, |since| now.saturating_since(since)));
        let mut transaction =
            self.with_seat(now, place, |device, context| device.issue(place.seat, context))?;
        if place.is_engine {
            // An engine is built before its place among the agents is known.
            transaction.agent = agent;
        } else if let Some(problem) = self.refusal(place, &transaction) {
            self.fail_at(now, place.process.into(), &problem);
            return None;
        }
        Some(transaction)
    }

    fn refuse(&mut self, now: Time, agent: AgentId, transaction: &Transaction) -> Option<Refusal> {
        match self.seat(agent) {
            None => {
                let index = usize::from(agent.0);
                if self.processors[index].waiting.is_at_it() {
                    self.see_snoop(now, index, transaction.address);
                }
                self.processors[index].memory.push(transaction).map(Refusal::Push)
            }
            Some(place) => {
                self.with_seat(now, place, |device, context| device.refuse(place.seat, context, transaction))
            }
        }
    }

    fn refused(&mut self, agent: AgentId, transaction: &Transaction) -> bool {
        let processor = self.processors.get_mut(usize::from(agent.0));
        processor.is_some_and(|processor| {
            processor.is_answered_by(Resource::Retry);
            processor.memory.refused(transaction)
        })
    }

    fn snoop(&mut self, now: Time, agent: AgentId, transaction: &Transaction) -> SnoopReply {
        match self.seat(agent) {
            None => {
                let index = usize::from(agent.0);
                if self.processors[index].waiting.is_at_it() {
                    self.see_snoop(now, index, transaction.address);
                }
                self.processors[index].memory.snoop(transaction)
            }
            Some(place) => {
                self.with_seat(now, place, |device, context| device.snoop(place.seat, context, transaction))
            }
        }
    }

    fn home(&mut self, now: Time, agent: AgentId, transaction: &Transaction) -> HomeReply {
        let place = self.seat(agent).expect("a device is the home");
        self.with_seat(now, place, |device, context| device.home(place.seat, context, transaction))
    }

    #[inline(always)]
    fn memory(&mut self, now: Time, memory: MemoryId, transaction: &Transaction) -> HomeReply {
        self.memories[usize::from(memory.0)].answer(now, transaction)
    }

    fn memory_access_time(&mut self, now: Time, memory: MemoryId) -> Duration {
        self.memories[usize::from(memory.0)].time(now)
    }

    fn access_memory(&mut self, memory: MemoryId, transaction: &Transaction, response: &mut Response) {
        // A loop that reads it is executed: others write it without a word to this bus.
        self.stop_watching_buses();
        self.memories[usize::from(memory.0)].access(transaction, response);
    }

    /// Blocks of the interface are counted where they come from.
    #[inline(always)]
    fn exchange(&self, agent: AgentId) -> Option<(Exchange, (MemoryId, Duration))> {
        let unit = self.processors.get(usize::from(agent.0))?;
        let exchange = unit.memory.exchange()?;
        let memory = unit.seats.memory;
        let time = self.memories[usize::from(memory.0)].fixed_time()?;
        (!Addresses::carries_messages(exchange.fetched)).then_some((exchange, (memory, time)))
    }

    #[inline(always)]
    fn make_exchange(
        &mut self,
        (granted, now): (Time, Time),
        on: InterconnectId,
        agent: AgentId,
        memory: MemoryId,
        exchange: &Exchange,
    ) {
        let index = usize::from(agent.0);
        let over = now + self.processors_part(index, on, Some(WaitReason::DataMiss));
        let memory = &mut self.memories[usize::from(memory.0)].bytes;
        self.processors[index].awaits_from(granted, Resource::Memory);
        self.processors[index].memory.make_exchange(exchange, memory);
        self.wake(index, over);
    }

    #[inline(always)]
    fn register_access(&self, agent: AgentId) -> Option<Transaction> {
        self.processors.get(usize::from(agent.0))?.memory.register_access()
    }

    #[inline(always)]
    fn make_register_access(
        &mut self,
        (granted, now): (Time, Time),
        on: InterconnectId,
        device: AgentId,
        transaction: &Transaction,
    ) {
        let index = usize::from(transaction.agent.0);
        self.processors[index].awaits_from(granted, Resource::Interface);
        let mut response = Response::default();
        self.access(now, device, transaction, &mut response);
        self.processors[index].memory.end_register_access(&response);
        if self.processors[index].state == State::Waiting {
            let over = now + self.processors_part(index, on, Some(WaitReason::Uncached));
            self.wake(index, over);
        }
    }

    fn write_memory(&mut self, memory: MemoryId, address: u64, data: &BlockData) {
        self.memories[usize::from(memory.0)].bytes.write(address, data);
    }

    fn access_time(&self, agent: AgentId, kind: Kind) -> Duration {
        let place = self.seat(agent).expect("registers are a device's");
        self.devices[place.device].access_time(place.seat, kind)
    }

    fn access(&mut self, now: Time, agent: AgentId, transaction: &Transaction, response: &mut Response) {
        let place = self.seat(agent).expect("registers are a device's");
        self.access_register(now, place, transaction, response);
    }

    fn access_tile(
        &mut self,
        now: Time,
        agent: AgentId,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Option<Duration> {
        let place = self.seat(agent).expect("a device has a part in each tile");
        self.asked.on_chip.is_later = false;
        self.access_register(now, place, transaction, response);
        let is_later = std::mem::take(&mut self.asked.on_chip.is_later);
        (!is_later).then(|| self.devices[place.device].access_time(place.seat, transaction.kind))
    }

    fn carry(
        &mut self,
        at: Time,
        _on: InterconnectId,
        from: directory::Place,
        to: directory::Place,
        carried: Carried,
    ) {
        self.carry_message(at, (from, to), carried);
    }

    fn snarf(&mut self, agent: AgentId, transaction: &Transaction) -> bool {
        let index = usize::from(agent.0);
        if self.processors[index].waiting.is_at_it() && self.processors[index].memory.snarfs() {
            // It changes which line of a set was used last.
            self.disturb(self.instant.now(), index);
        }
        self.processors[index].memory.snarf(transaction)
    }

    fn complete(
        &mut self,
        now: Time,
        agent: AgentId,
        on: InterconnectId,
        transaction: &Transaction,
        response: &Response,
    ) {
        if let Some(place) = self.seat(agent) {
            return self.with_seat(now, place, |device, context| {
                device.complete(place.seat, context, transaction, response);
            });
        }
        let index = usize::from(agent.0);
        let processor = &mut self.processors[index];
        let waited = processor.memory.wait_reason();
        let waits_since = processor.processor.now();
        if processor.memory.complete(transaction, response) && processor.state == State::Waiting {
            // A tile runs ahead of the device in it: a posted store may have been over before the
            // processor found the store buffer full, and then it has not waited.
            let is_in_time = now < waits_since;
            let over = if is_in_time { waits_since } else { now + self.processors_part(index, on, waited) };
            self.wake(index, over);
        }
        self.processors[index].awaits_another(now);
        let NodeProcessor { blocking_access_time, look_up_time, .. } = self.processors[index];
        self.deliver_loads(index, now + blocking_access_time + look_up_time);
        self.ask_for_processor(index, now);
    }

    /// Notes what answers a processor's transaction, and counts where a block of the interface came from.
    fn supplied(&mut self, transaction: &Transaction, supplier: Option<Supplier>) {
        if let Some(supplier) = supplier
            && self.seat(transaction.agent).is_none()
        {
            self.note_supplier(usize::from(transaction.agent.0), supplier);
        }
        if Addresses::carries_messages(transaction.address)
            && self.seat(transaction.agent).is_none()
            && transaction.kind.fetches_block()
        {
            match supplier {
                Some(Supplier::Memory(_)) => self.statistics.from_memory.increment(),
                Some(Supplier::Agent(agent)) if self.seat(agent).is_some() => {
                    self.statistics.from_interface.increment();
                }
                Some(Supplier::Agent(_)) | None => {}
            }
        }
    }

    fn is_observed(&self) -> bool {
        self.probe.is_attached()
    }

    #[inline]
    fn observe(&mut self, at: Time, on: InterconnectId, seen: Observation<'_>) {
        if let Observation::GrantedInVain(agent) = seen {
            self.note_vain_grant(at, on, agent);
        } else if self.probe.is_attached() {
            self.report_observation(at, on, seen);
        }
    }
}
