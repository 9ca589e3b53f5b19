//! The node as a composition: which agents and memories it hands out to the rules of its
//! interconnects, and when their steps happen. What each agent does stands in `agents.rs`.

use narthex_interfaces::registers::Addresses;
use narthex_kernel::{EventPlace, Time};
use narthex_memory::agent::Either;
use narthex_memory::directory::{self, Carried};
use narthex_memory::interconnects::{
    self, BridgeAgent, Interconnect, InterconnectHost, InterconnectId, MemoryId, Observation, Step, Supplier,
};
use narthex_memory::interrupt::Interrupt;
use narthex_memory::processor_memory::Traffic;
use narthex_memory::{AgentId, Transaction};

use super::agents::{MemoryAgent, PortAgent, ProcessorAgent};
use super::{Event, Node, NodeProcessor};
use crate::activity::Resource;

/// An agent of the node's interconnects, by what it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Agent {
    /// A processor.
    Processor(usize),
    /// A port of a device, by its place among all ports: those of the network
    /// interface come first, of which each even one sends.
    Port(usize),
    /// A bridge or a root complex.
    Bridge,
}

/// The port of an agent that is a device's.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortPlace {
    /// Its number among the agents.
    pub agent: AgentId,
    /// Where it is.
    pub on: InterconnectId,
    /// Which device it belongs to, and its number there.
    pub device: usize,
    pub port: usize,
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

    /// The port with this number among the agents; none if that is a processor.
    #[inline]
    pub(super) fn port(&self, agent: AgentId) -> Option<PortPlace> {
        usize::from(agent.0).checked_sub(self.processors.len()).map(|place| self.ports[place])
    }

    /// The place among all ports of a port of a device.
    pub(super) fn port_of(&self, device: usize, port: usize) -> PortPlace {
        self.ports[self.first_ports[device] + port]
    }

    /// What an agent belongs to.
    pub(super) fn identify(&self, agent: AgentId) -> Agent {
        let number = usize::from(agent.0);
        match number.checked_sub(self.processors.len()) {
            None => Agent::Processor(number),
            Some(port) if port < self.ports.len() => Agent::Port(port),
            Some(_) => Agent::Bridge,
        }
    }

    /// Whether an agent is a processor.
    #[inline]
    fn is_processor(&self, agent: AgentId) -> bool {
        usize::from(agent.0) < self.processors.len()
    }

    /// Asks for the interconnects that a processor's memory needs.
    #[inline(always)]
    pub(super) fn ask_for_processor(&mut self, index: usize, now: Time) {
        let agent = self.agent_of_processor(index);
        let NodeProcessor { ports, memory, .. } = &self.processors[index];
        let (caches, traffic) = ports.caches;
        let path = ports.private.filter(|_| memory.wants(Traffic::Uncached));
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
        let NodeProcessor { ports, memory, .. } = &self.processors[index];
        let (caches, traffic) = ports.caches;
        if now >= self.horizons.free_until || ports.private.is_some() {
            self.ask_for_processor(index, now);
        } else if memory.wants(traffic) {
            interconnects::request_alone(self, now, caches, self.agent_of_processor(index));
        }
    }

    /// A processor's transaction on a block is answered by this supplier. On a directory it waits for
    /// the home, which finds out who that is.
    #[inline]
    fn note_supplier(&mut self, index: usize, supplier: Supplier) {
        let resource = match supplier {
            Supplier::Memory(_) => Resource::Memory,
            Supplier::Agent(agent) if self.port(agent).is_some() => Resource::Interface,
            Supplier::Agent(_) => Resource::Cache,
        };
        let unit = self.processors.keeping_turn(index);
        if unit.answerer == Resource::Permission {
            unit.is_answered_by(resource);
        }
    }
}

impl InterconnectHost for Node {
    type Agent<'a> = Either<ProcessorAgent<'a>, Either<PortAgent<'a>, BridgeAgent<'a, Node>>>;
    type Memory<'a> = MemoryAgent<'a>;

    #[inline(always)]
    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        let index = usize::from(agent.0);
        match index.checked_sub(self.processors.len()) {
            None => Either::First(ProcessorAgent { node: self, index }),
            Some(number) if number < self.ports.len() => {
                Either::Second(Either::First(PortAgent { node: self, number }))
            }
            Some(_) => Either::Second(Either::Second(BridgeAgent::new(self, agent))),
        }
    }

    #[inline(always)]
    fn memory(&mut self, memory: MemoryId) -> Self::Memory<'_> {
        MemoryAgent { node: self, memory }
    }

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
        let is_watched = || self.processors.iter().any(|unit| unit.waiting.is_watching_bus());
        let may_be_watched = self.may_watch_bus && is_watched();
        !self.schedules_steps
            && !self.probe.is_attached()
            && !may_be_watched
            && self.events.next_instant() > now
            && !self.processors.are_any_woken()
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
            && !self.processors.are_any_active(bound)
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
    fn keep_place(&mut self) -> EventPlace {
        self.events.keep_place()
    }

    fn schedule_in(&mut self, place: EventPlace, at: Time, on: InterconnectId, step: Step) {
        self.events.schedule_in(place, at, Event::Interconnect(on, step));
    }

    #[inline]
    fn has_passed(&self, at: Time, place: EventPlace) -> bool {
        self.events.has_passed(at, place)
    }

    #[inline]
    fn pass(&mut self, at: Time) {
        self.instant.count(at);
        self.events.pass(1);
    }

    fn carry(
        &mut self,
        at: Time,
        _on: InterconnectId,
        from: directory::Endpoint,
        to: directory::Endpoint,
        carried: Carried,
    ) {
        self.carry_message(at, (from, to), carried);
    }

    fn interrupt(&mut self, at: Time, device: AgentId, message: Interrupt) {
        let process = self.port(device).expect("a device's port interrupts").process;
        self.events.schedule(at, Event::Interrupt(process.into(), message.vector));
    }

    /// Notes what answers a processor's transaction, and counts where a block of the interface came from.
    fn supplied(&mut self, transaction: &Transaction, supplier: Option<Supplier>) {
        if let Some(supplier) = supplier
            && self.is_processor(transaction.agent)
        {
            let index = usize::from(transaction.agent.0);
            self.note_supplier(index, supplier);
            self.note_source(index, transaction, supplier);
        }
        if Addresses::carries_messages(transaction.address)
            && self.is_processor(transaction.agent)
            && transaction.kind.fetches_block()
        {
            match supplier {
                Some(Supplier::Memory(_)) => self.statistics.from_memory.increment(),
                Some(Supplier::Agent(agent)) if self.port(agent).is_some() => {
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
        if let Observation::UnusedGrant(agent) = seen {
            self.note_vain_grant(at, on, agent);
        } else if self.probe.is_attached() {
            self.report_observation(at, on, seen);
        }
    }
}
