//! What the agents of a node do for the rules of its interconnects.
//!
//! ```text
//!   ProcessorAgent   a processor's memory; the processor waits, and goes on
//!   PortAgent        a port of a device; what the device asks for is carried out
//!   MemoryAgent      a memory
//! ```
//!
//! Each is a number and its node, which it is lent for a call: what an agent does may wake a
//! processor, ask for an interconnect or set a timer.

use narthex_interfaces::registers::Addresses;
use narthex_kernel::{Duration, Time};
use narthex_memory::agent::Agent;
use narthex_memory::interconnects::{InterconnectId, MemoryId, Refusal};
use narthex_memory::processor_memory::{DirectFill, Traffic, WaitReason};
use narthex_memory::{AccessReply, AgentId, BlockData, HomeReply, Kind, Response, SnoopReply, Transaction};

use super::interconnect_host::PortPlace;
use super::{Node, NodeProcessor, State};
use crate::activity::Resource;

/// The memory of a processor.
pub struct ProcessorAgent<'a> {
    pub(super) node: &'a mut Node,
    /// Its place among the processors.
    pub(super) index: usize,
}

/// A port of a device.
pub struct PortAgent<'a> {
    pub(super) node: &'a mut Node,
    /// Its place among all ports.
    pub(super) number: usize,
}

/// A memory.
pub struct MemoryAgent<'a> {
    pub(super) node: &'a mut Node,
    pub(super) memory: MemoryId,
}

impl ProcessorAgent<'_> {
    #[inline(always)]
    fn unit(&self) -> &NodeProcessor {
        &self.node.processors[self.index]
    }

    #[inline(always)]
    fn unit_mut(&mut self) -> &mut NodeProcessor {
        self.node.processors.keeping_turn(self.index)
    }

    /// Another agent's transaction on a block is seen in a wait loop, too.
    #[inline]
    fn see(&mut self, now: Time, transaction: &Transaction) {
        if self.unit().waiting.is_at_it() {
            self.node.see_snoop(now, self.index, transaction.address);
        }
    }

    /// The processor goes on if its access needs the interconnect no longer, because its cache has
    /// snarfed the block.
    fn wake_if_served(&mut self, now: Time) {
        let unit = self.unit();
        if unit.state == State::Waiting && unit.memory.wait_reason().is_none() {
            self.node.wake(self.index, now);
            self.node.ask_for_processor(self.index, now);
        }
    }

    /// What the processor adds to an access for which it has waited, and why it has. A store
    /// buffer that has drained brings it nothing, and its own path is no bus.
    fn own_part(&self, on: InterconnectId, waited: Option<WaitReason>) -> Duration {
        let unit = self.unit();
        let is_private = unit.ports.traffic(on) == Traffic::Uncached;
        match waited {
            Some(WaitReason::StoreBuffer) => Duration::ZERO,
            _ if is_private => Duration::ZERO,
            Some(WaitReason::DataMiss | WaitReason::InstructionMiss) => {
                unit.blocking_access_time + unit.look_up_time
            }
            _ => unit.blocking_access_time,
        }
    }
}

impl Agent for ProcessorAgent<'_> {
    #[inline]
    fn wants(&self, on: InterconnectId) -> bool {
        let unit = self.unit();
        unit.memory.wants(unit.ports.traffic(on))
    }

    fn issue(&mut self, now: Time, on: InterconnectId) -> Option<Transaction> {
        let Node { processors, interconnects, .. } = &mut *self.node;
        let unit = processors.keeping_turn(self.index);
        let transaction = unit.memory.issue(unit.ports.traffic(on));
        if let Some(issued) = &transaction {
            unit.answerer = match interconnects[usize::from(on.0)].asks_homes() {
                _ if issued.kind.is_uncached() => Resource::Interface,
                true => Resource::Home,
                // Until a supplier of bytes is known.
                false => Resource::Permission,
            };
            unit.awaits_another(now);
        }
        let is_served = self.unit_mut().memory.has_been_served();
        if self.node.deliver_loads(self.index, now) || transaction.is_none() || is_served {
            self.wake_if_served(now);
        }
        transaction
    }

    fn complete(&mut self, now: Time, on: InterconnectId, transaction: &Transaction, response: &Response) {
        let unit = self.unit_mut();
        let waited = unit.memory.wait_reason();
        let waits_since = unit.processor.now();
        if unit.memory.complete(transaction, response) && unit.state == State::Waiting {
            // A tile runs ahead of the device in it: a posted store may have been over before the
            // processor found the store buffer full, and then it has not waited.
            let is_in_time = now < waits_since;
            let over = if is_in_time { waits_since } else { now + self.own_part(on, waited) };
            self.node.wake(self.index, over);
        }
        let unit = self.unit_mut();
        unit.awaits_another(now);
        let NodeProcessor { blocking_access_time, look_up_time, .. } = *unit;
        self.node.deliver_loads(self.index, now + blocking_access_time + look_up_time);
        self.node.ask_for_processor(self.index, now);
    }

    fn refuse(&mut self, now: Time, transaction: &Transaction) -> Option<Refusal> {
        self.see(now, transaction);
        self.unit_mut().memory.push(transaction).map(Refusal::Push)
    }

    fn refused(&mut self, transaction: &Transaction) -> bool {
        let unit = self.unit_mut();
        unit.is_answered_by(Resource::Retry);
        let is_over = unit.memory.refused(transaction);
        if !unit.memory.has_issued() {
            // As in a checkpoint: what answers the next attempt is not known.
            unit.answerer = Resource::Permission;
        }
        is_over
    }

    fn snoop(&mut self, now: Time, transaction: &Transaction) -> SnoopReply {
        self.see(now, transaction);
        self.unit_mut().memory.snoop(transaction)
    }

    fn snarf(&mut self, transaction: &Transaction) -> bool {
        let unit = self.unit();
        if unit.waiting.is_at_it() && unit.memory.snarfs() {
            // It changes which line of a set was used last.
            self.node.disturb(self.node.instant.now(), self.index);
        }
        self.unit_mut().memory.snarf(transaction)
    }

    /// Blocks of the interface are counted where they come from.
    #[inline(always)]
    fn exchange(&self) -> Option<(DirectFill, (MemoryId, Duration))> {
        let unit = self.unit();
        let exchange = unit.memory.exchange()?;
        let memory = unit.ports.memory;
        let time = self.node.memories[usize::from(memory.0)].fixed_time()?;
        (!Addresses::carries_messages(exchange.fetched)).then_some((exchange, (memory, time)))
    }

    #[inline(always)]
    fn make_direct_fill(
        &mut self,
        (granted, now): (Time, Time),
        on: InterconnectId,
        memory: MemoryId,
        exchange: &DirectFill,
    ) {
        let over = now + self.own_part(on, Some(WaitReason::DataMiss));
        let Node { processors, memories, .. } = &mut *self.node;
        let unit = &mut processors[self.index];
        unit.awaits_from(granted, Resource::Memory);
        unit.memory.make_direct_fill(exchange, &mut memories[usize::from(memory.0)].bytes);
        self.node.wake(self.index, over);
    }

    #[inline(always)]
    fn register_access(&self) -> Option<Transaction> {
        self.unit().memory.register_access()
    }

    #[inline(always)]
    fn make_register_access(
        &mut self,
        (granted, now): (Time, Time),
        on: InterconnectId,
        device: AgentId,
        transaction: &Transaction,
    ) {
        self.unit_mut().awaits_from(granted, Resource::Interface);
        let mut response = Response::default();
        let place = self.node.port(device).expect("registers are a device's");
        self.node.access_register(now, place, transaction, &mut response);
        let unit = self.unit_mut();
        unit.memory.end_register_access(&response);
        if unit.state == State::Waiting {
            let over = now + self.own_part(on, Some(WaitReason::Uncached));
            self.node.wake(self.index, over);
        }
    }
}

impl PortAgent<'_> {
    #[inline(always)]
    fn place(&self) -> PortPlace {
        self.node.ports[self.number]
    }
}

impl Agent for PortAgent<'_> {
    #[inline]
    fn wants(&self, _on: InterconnectId) -> bool {
        let place = &self.node.ports[self.number];
        self.node.devices[place.device].wants(place.port)
    }

    fn issue(&mut self, now: Time, on: InterconnectId) -> Option<Transaction> {
        let place = self.place();
        let node = &mut *self.node;
        assert!(
            now >= node.horizons.ran_until,
            "{} is granted an interconnect at {now} because of what came from the network, and the \
             processor has executed up to {}: a device's time_to_interconnect is too long",
            node.devices[place.device].part(place.port),
            node.horizons.ran_until,
        );
        let since = node.interconnects[usize::from(on.0)].granted_since();
        node.statistics.waited_for_bus.add(since.map_or(Duration::ZERO, |since| now.saturating_since(since)));
        let mut transaction =
            node.with_port(now, place, |device, context| device.issue(place.port, context))?;
        if place.is_engine {
            // An engine is built before its place among the agents is known.
            transaction.agent = place.agent;
        } else if let Some(problem) = node.refusal(place, &transaction) {
            node.fail_at(now, place.process.into(), &problem);
            return None;
        }
        Some(transaction)
    }

    fn complete(&mut self, now: Time, _on: InterconnectId, transaction: &Transaction, response: &Response) {
        let place = self.place();
        self.node.with_port(now, place, |device, context| {
            device.complete(place.port, context, transaction, response);
        });
    }

    fn refuse(&mut self, now: Time, transaction: &Transaction) -> Option<Refusal> {
        let place = self.place();
        self.node.with_port(now, place, |device, context| device.refuse(place.port, context, transaction))
    }

    fn snoop(&mut self, now: Time, transaction: &Transaction) -> SnoopReply {
        let place = self.place();
        self.node.with_port(now, place, |device, context| device.snoop(place.port, context, transaction))
    }

    fn home(&mut self, now: Time, transaction: &Transaction) -> HomeReply {
        let place = self.place();
        self.node.with_port(now, place, |device, context| device.home(place.port, context, transaction))
    }

    fn access_time(&mut self, _now: Time, kind: Kind) -> Duration {
        let place = self.place();
        self.node.devices[place.device].access_time(place.port, kind)
    }

    fn access(&mut self, now: Time, transaction: &Transaction, response: &mut Response) -> AccessReply {
        self.node.access_register(now, self.place(), transaction, response)
    }
}

/// It answers, and never asks.
impl Agent for MemoryAgent<'_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        false
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        None
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, _: &Response) {
        unreachable!("a memory has issued nothing: {transaction:?}")
    }

    #[inline(always)]
    fn home(&mut self, now: Time, transaction: &Transaction) -> HomeReply {
        let reply = self.node.memories[usize::from(self.memory.0)].answer(now, transaction);
        if self.node.probe.is_attached() {
            self.node.report_uses(self.memory);
        }
        reply
    }

    fn write(&mut self, address: u64, data: &BlockData) {
        self.node.memories[usize::from(self.memory.0)].bytes.write(address, data);
    }

    fn access_time(&mut self, now: Time, _kind: Kind) -> Duration {
        self.node.memories[usize::from(self.memory.0)].time(now)
    }

    fn access(&mut self, _now: Time, transaction: &Transaction, response: &mut Response) -> AccessReply {
        // A loop that reads it is executed: others write it without a word to this bus.
        self.node.stop_watching_buses();
        self.node.memories[usize::from(self.memory.0)].access(transaction, response);
        AccessReply::Done
    }
}
