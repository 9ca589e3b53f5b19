//! A processor that is alone with its bus makes its exchanges with memory, and its accesses to
//! registers, by itself.
//!
//! While it runs, nothing happens at its node up to an instant that the node knows. A miss that
//! is an [`DirectFill`](super::DirectFill) is then over before anything else, or at least nobody can
//! notice that it is not: the processor need not stop for it. Its port makes the exchange where
//! it finds the miss, and says when the access is made ([`Port::serve`]). What the node has to know
//! of that is collected here, until the processor stops for something else. One that is answered early
//! is the last of these, because it ends behind all that the processor may do then.
//!
//! An access to a register changes a device as well. What that wants of its node then
//! ([`MmioEffect`]) comes before anything else that the processor does.
//!
//! [`Port::serve`]: crate::port::Port::serve

use narthex_kernel::{Duration, Time};

use super::ProcessorPort;
use super::direct_fill::DirectFill;
use crate::access_tags::Tag;
use crate::interconnects::MemoryId;
use crate::interconnects::snooping_bus::{Crossing, SnoopingBus};
use crate::kind::Kind;
use crate::pages::PageAttributes;
use crate::protocols::Access;
use crate::transaction::{AgentId, Response, Transaction};

/// What exchanges and accesses to registers take of a processor that may be alone with its bus.
#[derive(Clone, Copy, Debug)]
pub struct DirectFills {
    /// The processor's place on the bus.
    pub agent: AgentId,
    /// The memory whose bytes its port has, and the bus's cycles of each access to that.
    pub memory: (MemoryId, u64),
    /// What the processor adds to a miss.
    pub own_part: Duration,
    /// What it adds to an access to a register; none if its port makes no such access.
    pub register_part: Option<Duration>,
    /// No access to a register takes less.
    pub shortest_access: Duration,
    /// Whether a block is counted where it comes from, and cannot be exchanged.
    pub is_counted: fn(u64) -> bool,
}

/// The devices whose registers a processor that is alone with its bus accesses.
pub trait Registers {
    /// What an access takes beyond the bus's own cycles.
    fn access_time(&self, device: AgentId, kind: Kind) -> Duration;

    /// An access for which the bus is granted, and which is over, at these instants; an answer is put into `response`. None, and nothing is done,
    /// if it is made ahead of what may come from the network, and that may change it.
    fn access(
        &mut self,
        granted_and_end: (Time, Time),
        is_ahead: bool,
        device: AgentId,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Option<MmioEffect>;
}

/// What an access to a register has for the node of its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MmioEffect {
    /// Nothing.
    Nothing,
    /// The device wants something of it, before the processor goes on.
    ForNode,
    /// The program ends: the access is not made.
    Refusal,
}

impl std::fmt::Debug for dyn Registers + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("registers")
    }
}

/// For how long a processor waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaitTime {
    /// Until the bus was granted.
    pub granted: Duration,
    /// From then on, until it went on.
    pub answered: Duration,
}

impl WaitTime {
    /// One more wait, by the instants at which it began, the bus was granted, and the processor goes on.
    #[inline(always)]
    pub(super) fn add(&mut self, begin: Time, granted: Time, over: Time) {
        self.granted += granted - begin;
        self.answered += over - granted;
    }
}

/// The bus of a processor that is alone with it, and what came of that.
#[derive(Debug)]
pub struct DirectBus<'a> {
    /// The bus.
    pub bus: &'a mut SnoopingBus,
    /// What its exchanges take.
    pub exchanges: &'a DirectFills,
    /// What answers accesses to registers.
    pub registers: &'a mut dyn Registers,
    /// Nothing else happens before on its bus.
    pub free_until: Time,
    /// Nothing else happens before, and nothing comes from the network.
    pub unchanged_until: Time,
    /// The processor may have an answer early before.
    pub early_until: Time,
    /// The time of all misses.
    pub missed: WaitTime,
    /// The time of all accesses to registers.
    pub accessed: WaitTime,
    /// How many steps of the bus it took.
    pub steps: u64,
}

impl DirectBus<'_> {
    /// The times of an exchange that the processor asks for at `now`, if it can make that by
    /// itself.
    #[inline(always)]
    fn crossing_of(&self, now: impl FnOnce() -> Time, exchange: &DirectFill) -> Option<(Time, Crossing)> {
        let &DirectFills { agent, memory, is_counted, .. } = self.exchanges;
        if is_counted(exchange.fetched) {
            return None;
        }
        let now = now();
        let crossing = self.bus.crossing_of(now, agent, exchange, memory)?;
        let is_made = !self.is_early(&crossing)
            || crossing.between < self.free_until && crossing.end < self.early_until;
        is_made.then_some((now, crossing))
    }

    /// Whether the processor goes on before the bus is free again.
    #[inline(always)]
    fn is_early(&self, crossing: &Crossing) -> bool {
        crossing.end >= self.free_until
    }
}

impl ProcessorPort<'_> {
    /// Makes the exchange for which an access would wait, if the processor is alone with its bus
    /// and needs no more: when it goes on.
    #[inline(never)]
    pub(super) fn serve_alone(
        &mut self,
        page: PageAttributes,
        (address, size, access): (u64, usize, Access),
        now: impl FnOnce() -> Time,
    ) -> Option<Time> {
        let most = self.most_after_exchange(page, address, size, access)?;
        let exchange = self.own.direct_fill_for(address, access)?;
        let alone = self.alone.as_mut()?;
        let (now, crossing) = alone.crossing_of(now, &exchange)?;
        alone.steps += alone.bus.cross(now, &exchange, &crossing);
        let &DirectFills { agent, own_part, .. } = alone.exchanges;
        if alone.is_early(&crossing) {
            alone.bus.answer_early(agent, crossing.end);
        }
        let over = crossing.end + own_part;
        alone.missed.add(now, crossing.granted, over);
        match access {
            Access::Load => self.own.statistics.load_misses.increment(),
            _ => self.own.statistics.store_misses.increment(),
        }
        self.own.exchange_blocks(address, most, &exchange, self.memory);
        Some(over)
    }

    /// Up to what accesses to a block may be fast when it has come for this one; none if the
    /// access is not allowed, or not to one block.
    #[inline(always)]
    fn most_after_exchange(
        &self,
        page: PageAttributes,
        address: u64,
        size: usize,
        access: Access,
    ) -> Option<Tag> {
        if self.own.data.bytes_to_end_of_block(address) < size {
            return None;
        }
        if !self.is_allowed_by_tags(address, size, access) {
            return None;
        }
        match access {
            Access::Load => Some(Tag::Read),
            _ if self.own.is_written_through() => None,
            _ => Some(Self::most_fast(page)),
        }
    }

    /// Whether no access tag forbids an access; one that does is a fault, which is counted.
    #[inline(always)]
    pub(super) fn is_allowed_by_tags(&self, address: u64, size: usize, access: Access) -> bool {
        let needed = if access == Access::Load { Tag::Read } else { Tag::Write };
        self.own.tags().is_none_or(|tags| tags.refusing(address, size as u64, needed).is_none())
    }
}
