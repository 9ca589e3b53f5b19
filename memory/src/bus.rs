//! A snooping bus with one outstanding transaction.
//!
//! ```text
//!   request(agent) ──► queue ──► grant at a clock edge ──► the agent issues what
//!                        ▲                                  its state needs *now*
//!                        │                                        │
//!                     release ◄── finished ◄── occupancy + the supplier's delay
//! ```
//!
//! An agent asks for the bus, not for a transaction: what it needs is decided
//! when it is granted, because another agent's transaction in between may
//! have taken the block away that it wanted to upgrade, or emptied the line that
//! it wanted to write back. The node issues the transaction, lets all others
//! snoop it at that instant, and tells the bus how long the supplier takes; the
//! requester is served when the bus is released. Since nothing else crosses the
//! bus in between, the snoop at the start and the fill at the end are atomic.
//!
//! Occupancy is in bus cycles a kind of transaction, arbitration included; the
//! machine's file states them. Agents are served in the order of their
//! requests, and by their number where those are equal.

mod occupancy;

use narthex_kernel::{Clock, Duration, Time};
use serde::{Deserialize, Serialize};

use crate::kind::{Kind, transaction_kinds};
use crate::transaction::{AgentId, Transaction};
use occupancy::stated_cycles;
pub use occupancy::{Config, DirtyOwner, ExtraCycles, Phases};

macro_rules! declare_statistics {
    ($(
        $kind:ident, $name:ident, $what:literal, $moves:ident, $snoop:expr,
        $field:ident, $statistic:literal, $counted:literal, $words:literal;
    )*) => {
        narthex_kernel::statistics! {
            /// What crossed a bus.
            pub struct Statistics {
                $($field: Counter, $statistic, "transactions", $counted;)*
                occupied: TimeTotal, "bus_occupied", "ps", "time during which the bus was not free";
                occupied_by_kind: Tally<Kind>, "bus_occupied_by_kind", "ps", "that time by the kind of transaction, without what a bridge held the bus for";
            }
        }

        impl Statistics {
            fn count(&mut self, kind: Kind) {
                match kind {
                    $(Kind::$kind => self.$field.increment(),)*
                }
            }
        }
    };
}

transaction_kinds!(declare_statistics);

/// A bus that carries one transaction at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bus {
    clock: Clock,
    /// Bytes that cross in one data cycle; none if those of a device take no time of their own.
    width: Option<u64>,
    /// Without the data cycles of those that say how many bytes they move.
    occupancy_cycles: [u64; Kind::ALL.len()],
    /// Who waits, since when.
    waiting: Vec<(Time, AgentId)>,
    /// A grant is scheduled or a transaction is under way.
    busy: bool,
    /// When the last transaction was released.
    free_since: Time,
    /// Since when the agent waited that was granted last.
    granted_since: Time,
    /// What crossed so far.
    pub statistics: Statistics,
}

impl Bus {
    /// An idle bus between caches with blocks of `block_bytes`.
    pub fn new(config: &Config, block_bytes: usize) -> Self {
        let cycles = |kind| config.occupancy_cycles(kind, block_bytes);
        Bus { width: Some(config.width.as_u64()), ..Self::with_occupancy(config.clock.clock(), cycles) }
    }

    /// An idle bus on which a transaction takes `cycles`, by its kind.
    pub fn with_occupancy(clock: Clock, cycles: impl Fn(Kind) -> u64) -> Self {
        Bus {
            clock,
            width: None,
            occupancy_cycles: Kind::ALL.map(cycles),
            waiting: Vec::new(),
            busy: false,
            free_since: Time::ZERO,
            granted_since: Time::ZERO,
            statistics: Statistics::default(),
        }
    }

    /// Its clock, at whose edges it is granted.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// No uncached access takes less, from its grant to its end.
    pub fn shortest_access(&self) -> Duration {
        self.shortest_of(Kind::is_uncached)
    }

    /// No transaction on a block takes less, from its grant to its end.
    pub fn shortest_block_transaction(&self) -> Duration {
        self.shortest_of(|kind| !kind.is_uncached())
    }

    /// No transaction of these kinds takes less.
    fn shortest_of(&self, is_meant: impl Fn(Kind) -> bool) -> Duration {
        let kinds = Kind::ALL.into_iter().filter(|&kind| is_meant(kind));
        // The least bytes of a device take a cycle.
        let least = |kind: Kind| u64::from(kind.states_bytes() && self.width.is_some());
        let cycles = kinds.map(|kind| self.occupancy_cycles[kind.index()] + least(kind)).min();
        self.clock.cycles(cycles.unwrap_or(0))
    }

    /// Whether no agent has it at `now`, or waits for it.
    pub fn is_idle_at(&self, now: Time) -> bool {
        !self.busy && self.waiting.is_empty() && self.free_since <= now
    }

    /// `agent` wants to issue a transaction. Returns the instant at which the
    /// node calls [`Bus::grant`], where the bus was idle.
    #[inline(always)]
    pub fn request(&mut self, now: Time, agent: AgentId) -> Option<Time> {
        if self.waiting.iter().any(|&(_, waiting)| waiting == agent) {
            return None;
        }
        self.waiting.push((now, agent));
        self.next_grant(now)
    }

    /// As [`Bus::request`], but before all agents that wait.
    pub fn request_first(&mut self, now: Time, agent: AgentId) -> Option<Time> {
        self.waiting.retain(|&(_, waiting)| waiting != agent);
        self.waiting.push((Time::ZERO, agent));
        self.next_grant(now)
    }

    /// The agent that may issue a transaction now.
    pub fn grant(&mut self) -> Option<AgentId> {
        // Mostly one agent waits.
        let oldest = match self.waiting.len() {
            0 | 1 => 0,
            waiting => (0..waiting).min_by_key(|&place| self.waiting[place])?,
        };
        let last = self.waiting.pop()?;
        let (since, agent) = match self.waiting.get_mut(oldest) {
            Some(oldest) => std::mem::replace(oldest, last),
            None => last,
        };
        self.granted_since = since;
        Some(agent)
    }

    /// Since when the agent had waited that was granted it last.
    pub fn granted_since(&self) -> Time {
        self.granted_since
    }

    /// The agent that was granted the bus last waits again, because its transaction
    /// was refused: in its old place, or behind those that wait at `now`.
    pub fn wait_again(&mut self, now: Time, agent: AgentId, keeps_place: bool) {
        self.waiting.push((if keeps_place { self.granted_since } else { now }, agent));
    }

    /// The granted agent's transaction occupies the bus from now on, `delay`
    /// longer than its own cycles. Returns when [`Bus::release`] is due.
    #[inline(always)]
    pub fn occupy(&mut self, now: Time, transaction: &Transaction, delay: Duration) -> Time {
        let cycles = stated_cycles(transaction, self.width) + self.clock.cycles_that_cover(delay);
        let end = self.end_after(now, transaction.kind, cycles);
        self.carried(transaction.kind, end - now);
        end
    }

    /// When a transaction on a word or a block of a cache is over to which the bus is granted now,
    /// `delay` after its kind's cycles.
    #[inline(always)]
    pub fn end_of(&self, now: Time, kind: Kind, delay: Duration) -> Time {
        self.end_after(now, kind, self.clock.cycles_that_cover(delay))
    }

    /// The same where the delay takes so many cycles.
    #[inline(always)]
    pub fn end_after(&self, now: Time, kind: Kind, delay_cycles: u64) -> Time {
        self.clock.after(now, self.occupancy_cycles[kind.index()] + delay_cycles)
    }

    /// When it would be granted to an agent that asks for it now, if none has it.
    #[inline(always)]
    pub fn grant_if_idle(&self, now: Time) -> Option<Time> {
        let is_idle = !self.busy && self.waiting.is_empty();
        is_idle.then(|| self.clock.edge_at_or_after(now.max(self.free_since)))
    }

    /// An agent that is alone has asked for it at `asked`, and has it until [`Bus::release`].
    #[inline(always)]
    pub fn take(&mut self, asked: Time) {
        (self.busy, self.granted_since) = (true, asked);
    }

    /// An agent that was alone has asked for it at `asked`, for the last time, and it is free
    /// again since `end`.
    #[inline(always)]
    pub fn was_free(&mut self, asked: Time, end: Time) {
        (self.granted_since, self.free_since) = (asked, end);
    }

    /// The agent that has it is answered already, and it is free from `end` on. Whether another
    /// one waits for that.
    pub fn answered_early(&mut self, end: Time) -> bool {
        (self.busy, self.free_since) = (false, end);
        !self.waiting.is_empty()
    }

    /// It is taken until [`Bus::release`].
    pub fn keep_until_released(&mut self) {
        self.busy = true;
    }

    /// Counts a transaction that occupied the bus for so long, where something
    /// else than the bus says how long that is.
    pub fn carried(&mut self, kind: Kind, occupied: Duration) {
        self.statistics.count(kind);
        self.statistics.occupied_by_kind.add(kind, occupied.as_ps());
        self.held(occupied);
    }

    /// The bus was taken for so long without a transaction.
    pub fn held(&mut self, occupied: Duration) {
        self.statistics.occupied.add(occupied);
    }

    /// The transaction is over, or the granted agent needed none after all.
    /// Returns the instant of the next [`Bus::grant`], if an agent waits.
    pub fn release(&mut self, now: Time) -> Option<Time> {
        self.busy = false;
        self.free_since = now;
        self.next_grant(now)
    }

    #[inline]
    fn next_grant(&mut self, now: Time) -> Option<Time> {
        if self.busy || self.waiting.is_empty() {
            return None;
        }
        self.busy = true;
        Some(self.clock.edge_at_or_after(now.max(self.free_since)))
    }
}

#[cfg(test)]
mod tests {
    use narthex_kernel::quantity::Bytes;

    use super::*;

    /// The 1998 study's bus: 250 MHz, 256 bits.
    fn config() -> Config {
        Config {
            clock: "250MHz".parse().unwrap(),
            width: Bytes::new(32),
            arbitration_cycles: 1,
            address_cycles: 1,
            extra_cycles: ExtraCycles {
                read: 0,
                read_exclusive: 0,
                upgrade: 2,
                write_back: 0,
                write_block: 0,
                read_once: 0,
                invalidate: 2,
                uncached_load: 6,
                uncached_store: 6,
                block_load: 0,
                block_store: 3,
            },
            cache_supply_time: Duration::from_ns(12),
            dirty_owner: DirtyOwner::Intervene,
            retry_cycles: None,
        }
    }

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Duration::from_ns(nanoseconds)
    }

    fn block(kind: Kind) -> Transaction {
        Transaction::block(AgentId(0), kind, 0)
    }

    #[test]
    fn a_block_takes_arbitration_address_and_two_data_cycles_plus_its_supplier() {
        let mut bus = Bus::new(&config(), 64);
        assert_eq!(bus.request(at(1), AgentId(0)), Some(at(4)), "at the next edge");
        assert_eq!(bus.grant(), Some(AgentId(0)));
        let end = bus.occupy(at(4), &block(Kind::Read), Duration::from_ns(120));
        assert_eq!(end, at(4 + 16 + 120));
        assert_eq!(bus.release(end), None);
        assert_eq!(bus.statistics.reads.get(), 1);
        assert_eq!(bus.statistics.occupied.get(), Duration::from_ns(136));
        assert_eq!(bus.statistics.occupied_by_kind.get(Kind::Read), 136_000);
    }

    #[test]
    fn an_upgrade_moves_no_data() {
        assert_eq!(config().occupancy_cycles(Kind::Upgrade, 64), 4);
        assert_eq!(config().occupancy_cycles(Kind::Read, 64), 4);
        assert_eq!(config().occupancy_cycles(Kind::UncachedLoad, 64), 9);
    }

    #[test]
    fn bytes_of_a_device_take_as_many_data_cycles_as_there_are_of_them() {
        let cycles = |transaction: &Transaction| {
            let end = Bus::new(&config(), 64).occupy(at(0), transaction, Duration::ZERO);
            (end - at(0)).as_ps() / 4_000
        };
        let stored = |size| {
            let data = crate::BlockData::zeroed(size);
            cycles(&Transaction::carrying(AgentId(0), Kind::BlockStore, 0, data))
        };
        let loaded = |size| cycles(&Transaction::block_load(AgentId(0), 0, size));
        assert_eq!([16, 32, 64, 128, 256].map(loaded), [3, 3, 4, 6, 10], "32 bytes a cycle");
        assert_eq!([16, 32, 64, 128, 256].map(stored), [6, 6, 7, 9, 13], "with 3 extra cycles");
        assert_eq!(Bus::new(&config(), 64).shortest_access(), Duration::from_ns(12));
    }

    #[test]
    fn a_suppliers_delay_is_rounded_up_to_whole_bus_cycles() {
        let mut bus = Bus::new(&config(), 64);
        bus.request(at(0), AgentId(0));
        bus.grant();
        assert_eq!(bus.occupy(at(0), &block(Kind::Read), Duration::from_ns(13)), at(16 + 16));
    }

    #[test]
    fn who_asked_first_is_served_first_and_equals_by_their_number() {
        let mut bus = Bus::new(&config(), 64);
        assert_eq!(bus.request(at(2), AgentId(2)), Some(at(4)));
        assert_eq!(bus.request(at(3), AgentId(1)), None, "a grant is scheduled already");
        assert_eq!(bus.request(at(3), AgentId(0)), None);
        assert_eq!(bus.request(at(4), AgentId(0)), None, "one agent waits once");
        let mut order = Vec::new();
        let mut now = at(4);
        while let Some(agent) = bus.grant() {
            order.push(agent.0);
            now = bus.occupy(now, &block(Kind::Upgrade), Duration::ZERO);
            if let Some(next) = bus.release(now) {
                assert_eq!(next, now, "the next grant follows at once");
            }
        }
        assert_eq!(order, [2, 0, 1]);
        assert_eq!(now, at(4 + 3 * 16));
    }

    #[test]
    fn a_bus_without_address_cycles_is_refused() {
        let broken = Config { address_cycles: 0, width: Bytes::new(48), ..config() };
        let keys: Vec<_> = broken.problems().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["width", "address_cycles"]);
    }

    #[test]
    fn a_bus_whose_owners_refuse_states_what_that_takes() {
        let refusing = Config { dirty_owner: DirtyOwner::RetryAndPush, ..config() };
        let keys = |config: &Config| config.problems().into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(&refusing), ["retry_cycles"]);
        assert_eq!(keys(&Config { retry_cycles: Some(0), ..refusing.clone() }), ["retry_cycles"]);
        assert!(keys(&Config { retry_cycles: Some(3), ..refusing }).is_empty());
    }

    #[test]
    fn an_agent_that_is_refused_keeps_its_place_or_goes_behind_the_others() {
        for (keeps_place, next) in [(true, AgentId(0)), (false, AgentId(1))] {
            let mut bus = Bus::new(&config(), 64);
            bus.request(at(0), AgentId(0));
            bus.request(at(2), AgentId(1));
            assert_eq!(bus.grant(), Some(AgentId(0)));
            bus.wait_again(at(16), AgentId(0), keeps_place);
            assert_eq!(bus.release(at(16)), Some(at(16)));
            assert_eq!(bus.grant(), Some(next));
        }
    }
}
