//! A processor that is alone with its bus makes its exchanges with memory by itself.
//!
//! While it runs, nothing happens at its node up to an instant that the node knows. A miss that
//! is an [`Exchange`](super::Exchange) is then over before anything else, or at least nobody can
//! notice that it is not: the processor need not stop for it. It makes the exchange where it
//! would stop, lets the time pass, and repeats its access. What the node has to know of that
//! is collected here, until the processor stops for something else. One that is answered early
//! is the last of these, because it ends behind all that the processor may do then.

use narthex_kernel::{Duration, Time};

use super::ProcessorPort;
use crate::interconnects::MemoryId;
use crate::interconnects::snooping_bus::SnoopingBus;
use crate::transaction::AgentId;

/// What an exchange of a processor takes that may be alone with its bus.
#[derive(Clone, Copy, Debug)]
pub struct Exchanges {
    /// The processor's place on the bus.
    pub agent: AgentId,
    /// The memory whose bytes its port has, and the time of each access to that.
    pub memory: (MemoryId, Duration),
    /// What the processor adds to a miss.
    pub own_part: Duration,
    /// Whether a block is counted where it comes from, and cannot be exchanged.
    pub is_counted: fn(u64) -> bool,
}

/// The bus of a processor that is alone with it, and what came of that.
#[derive(Debug)]
pub struct Alone<'a> {
    /// The bus.
    pub bus: &'a mut SnoopingBus,
    /// What its exchanges take.
    pub exchanges: &'a Exchanges,
    /// Nothing else happens before.
    pub free_until: Time,
    /// The processor may have an answer early before.
    pub early_until: Time,
    /// The time of all misses.
    pub missed: Duration,
    /// How many steps of the bus it took.
    pub steps: u64,
}

impl ProcessorPort<'_> {
    /// Makes the exchange for which the processor waits now, if it is alone with its bus
    /// and needs no more: when it goes on.
    #[inline(always)]
    pub(super) fn exchange_alone(&mut self, now: impl FnOnce() -> Time) -> Option<Time> {
        let alone = self.alone.as_mut()?;
        let exchange = self.own.exchange()?;
        let &Exchanges { agent, memory, own_part, is_counted } = alone.exchanges;
        if is_counted(exchange.fetched) {
            return None;
        }
        let now = now();
        let crossing = alone.bus.crossing_of(now, agent, &exchange, memory)?;
        let is_early = crossing.end >= alone.free_until;
        if is_early && (crossing.between >= alone.free_until || crossing.end >= alone.early_until) {
            return None;
        }
        alone.steps += alone.bus.cross(now, &exchange, &crossing);
        if is_early {
            alone.bus.answer_early(agent, crossing.end);
        }
        let over = crossing.end + own_part;
        alone.missed += over - now;
        self.own.make_exchange(&exchange, self.memory);
        Some(over)
    }
}
