//! A processor's second-level cache, below its data and instruction caches.
//!
//! ```text
//!   data cache ─────────┐ block of the data cache
//!                       ├──── second level ──── interconnect
//!   instruction cache ──┘ block of the second level: the coherence block
//! ```
//!
//! **State.** The interconnect sees the second level: the state of a block is kept
//! there, as the protocol's table has it. A block of the data cache is *shared* (it
//! may be read) or *modified* (it may be written, and the second level is modified,
//! too): it has at most the right that the second level has. The step from shared
//! to modified is silent where the second level may be written. Instructions are
//! shared.
//!
//! **Inclusive.** What the caches above hold is here as well. A block that leaves
//! takes theirs with it, and a snoop that finds nothing here goes no further. One
//! that finds a block first takes in what the data cache has written to it.
//!
//! **Non-inclusive.** A block may leave and stay above; its state is then in the
//! data cache alone, under the same table. Both are snooped.
//!
//! **Time.** A hit here costs no event: the access is done at once, and the port says
//! how late its result is ([`LowerLevelLatency`]).
//!
//! **Speed.** The front row of a set answers here for accesses whose pages have been
//! looked at: those take their block without another look ([`SecondLevel::bring_at_once`]).
//! A block that comes in allows none of them, the accesses that follow do.

mod config;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::access_tags::Tag;
use crate::cache::{self, Cache, Geometry};
use crate::port::LowerLevelLatency;
use crate::protocols::{Access, Request, Snoop, State};
use crate::transaction::{BlockData, SnoopReply};

pub use config::{CachePort, Config, Inclusion, Stores};

narthex_kernel::statistics! {
    /// What came to a second-level cache from above, and what left it.
    pub struct Statistics {
        hits: Counter, "second_level_hits", "accesses", "accesses that missed above and that the second level served";
        misses: Counter, "second_level_misses", "accesses", "accesses that missed above and in the second level, or lacked the right to write there";
        stored: Counter, "second_level_stores", "accesses", "stores that the write-through data cache handed down";
        written_back: Counter, "second_level_written_back", "blocks", "dirty blocks of the data cache that left it for the second level";
        collected: Counter, "second_level_collected", "blocks", "dirty blocks of the data cache that a snoop or a replacement took down";
        inclusion_victims: Counter, "second_level_inclusion_victims", "blocks", "blocks that left the caches above because theirs here was replaced";
    }
}

/// What became of an access that the data cache does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obtained {
    /// It does now, and it takes no time.
    AtOnce,
    /// It does now, after the time of the second level.
    Late(LowerLevelLatency),
    /// The interconnect must be asked first.
    Missing,
}

/// A second-level cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SecondLevel {
    pub cache: Cache,
    is_inclusive: bool,
    pub is_written_through: bool,
    /// A block that it gives up goes home unchanged, too, if no other cache may have it.
    pub hands_down: bool,
    pub latency_cycles: u32,
    /// Cycles of its port that an access takes.
    port_cycles: u32,
    /// Lines that wait to be locked.
    pub to_lock: VecDeque<usize>,
    pub statistics: Statistics,
}

impl SecondLevel {
    /// An empty one below a data cache with these parameters.
    pub fn new(config: &Config, data: &cache::Config) -> Self {
        SecondLevel {
            cache: Cache::new(&config.as_cache(data)),
            is_inclusive: config.inclusion == Inclusion::Inclusive,
            is_written_through: config.data_cache_stores == Stores::WriteThrough,
            hands_down: false,
            latency_cycles: config.latency_cycles,
            port_cycles: match config.port {
                CachePort::Pipelined => 1,
                CachePort::OneAtATime => config.latency_cycles,
            },
            to_lock: VecDeque::new(),
            statistics: Statistics::default(),
        }
    }

    /// What of it never changes.
    pub fn config_identity(&self) -> (Geometry, [bool; 4], [u32; 2]) {
        let lines = self.cache.sets() * self.cache.ways();
        // What is read from an archive may not lead out of the cache.
        let is_sound = self.to_lock.iter().all(|&line| line < lines);
        let policies = [self.is_inclusive, self.is_written_through, self.hands_down, is_sound];
        (self.cache.geometry(), policies, [self.latency_cycles, self.port_cycles])
    }

    /// Whether it holds what the caches above do.
    pub fn is_inclusive(&self) -> bool {
        self.is_inclusive
    }

    /// Whether the state of the block of `address` is in the data cache alone.
    pub fn is_only_above(&self, data: &Cache, address: u64) -> bool {
        !self.is_inclusive && data.holds(address) && !self.cache.holds(address)
    }

    /// Whether the processor has the right to make an access; otherwise what to ask
    /// for. The second level's block is in the state that the access leaves it in.
    #[inline]
    pub fn look(&mut self, data: &mut Cache, address: u64, access: Access) -> Result<(), Request> {
        match self.is_only_above(data, address) {
            true => data.access(address, access),
            false => self.cache.access(address, access),
        }
    }

    /// Lets the data cache, which does not allow the access, have the block of
    /// `address`, whose next accesses may be fast up to `most`.
    #[inline]
    pub fn bring(&mut self, data: &mut Cache, address: u64, access: Access, most: Tag) -> Obtained {
        if self.look(data, address, access).is_err() {
            return Obtained::Missing;
        }
        let state = self.state_above(access);
        if data.holds(address) {
            // A block above that is newer stays so.
            if state == State::Modified {
                data.change(address, state);
            }
            return Obtained::AtOnce;
        }
        self.refill(data, address, state, most).map_or(Obtained::Missing, Obtained::Late)
    }

    /// As [`SecondLevel::bring`] for an aligned access, if the most recent block of a set is
    /// asked for, and of an access for which its page need not be looked at again: where its
    /// bytes are in the data cache then. It is counted.
    #[inline(always)]
    pub fn bring_at_once<const SIZE: usize>(
        &mut self,
        data: &mut Cache,
        address: u64,
        access: Access,
    ) -> Option<(usize, LowerLevelLatency)> {
        // The column of the front, what the block is above, and what may be fast there.
        let (column, above) = match access {
            Access::Store if self.is_written_through => return None,
            Access::Store => (1, (State::Modified, Tag::Write)),
            _ => (0, (State::Shared, Tag::Read)),
        };
        let (place, is_dirty) = data.refill_from::<SIZE>(&mut self.cache, address, column, above)?;
        self.statistics.hits.increment();
        self.statistics.written_back.add(is_dirty.into());
        let port_cycles = self.port_cycles << u32::from(is_dirty);
        Some((place, LowerLevelLatency { cycles: self.latency_cycles, port_cycles, register: None }))
    }

    /// Lets the instruction cache, which lacks the block of `address`, have it.
    pub fn bring_instructions(&mut self, data: &mut Cache, first: &mut Cache, address: u64) -> Obtained {
        if self.look(data, address, Access::Load).is_err() {
            return Obtained::Missing;
        }
        self.collect(data, self.cache.block_of(address));
        let block = first.block_of(address);
        let (line, _) = first.line_to_refill(block);
        let own = if self.cache.holds(block) { &self.cache } else { &*data };
        let bytes = own.bytes_at(block, first.block_bytes()).expect("the block is in one of them");
        first.refill(line, block, State::Shared, bytes, Tag::Write);
        Obtained::Late(LowerLevelLatency {
            cycles: self.latency_cycles,
            port_cycles: self.port_cycles,
            register: None,
        })
    }

    /// Counts an access that missed above.
    pub fn count(&mut self, obtained: Obtained) {
        match obtained {
            Obtained::AtOnce => {}
            Obtained::Late(_) => self.statistics.hits.increment(),
            Obtained::Missing => self.statistics.misses.increment(),
        }
    }

    /// The state above of a block that was asked for with this access.
    fn state_above(&self, access: Access) -> State {
        match access {
            Access::Store if !self.is_written_through => State::Modified,
            _ => State::Shared,
        }
    }

    /// Takes the bytes of a store that the data cache hands down, into a block that
    /// may be written.
    pub fn store(&mut self, data: &mut Cache, address: u64, bytes: &[u8]) -> LowerLevelLatency {
        self.statistics.stored.increment();
        self.write(data, address, bytes);
        LowerLevelLatency { cycles: 0, port_cycles: self.port_cycles, register: None }
    }

    /// Replaces bytes here and above.
    pub fn write(&mut self, data: &mut Cache, address: u64, bytes: &[u8]) {
        self.cache.write(address, bytes);
        if data.holds(address) {
            data.write(address, bytes);
        }
    }

    /// Lets the data cache take the block of `address`, which it lacks and which is
    /// here; none if a dirty block has to go home first that is in its place.
    #[inline]
    pub fn refill(
        &mut self,
        data: &mut Cache,
        address: u64,
        state: State,
        most: Tag,
    ) -> Option<LowerLevelLatency> {
        let (line, dirty) = data.line_to_refill(address);
        let mut port_cycles = self.port_cycles;
        if let Some((victim, bytes)) = dirty {
            if self.cache.holds(victim) {
                self.cache.write(victim, bytes);
            } else if !self.take_in(victim, data.state(victim), bytes, self.cache.block_of(address)) {
                return None;
            }
            self.statistics.written_back.increment();
            port_cycles += self.port_cycles;
        }
        let block = data.block_of(address);
        let bytes = self.cache.bytes_at(block, data.block_bytes()).expect("the block is here");
        data.refill(line, block, state, bytes, most);
        Some(LowerLevelLatency { cycles: self.latency_cycles, port_cycles, register: None })
    }

    /// Takes in a dirty block that was above alone, if there is room without a
    /// transaction, and without the loss of the block `kept`.
    fn take_in(&mut self, block: u64, state: State, bytes: &[u8], kept: u64) -> bool {
        if let Some(victim) = self.cache.victim_for(block) {
            if victim.dirty || victim.block == kept {
                return false;
            }
            self.cache.remove(victim.block);
        }
        self.cache.place(block, state, Some(&BlockData::from_bytes(bytes)));
        self.cache.allow(block, Tag::None);
        true
    }

    /// Empties a line for the block of `address`; the block that was there, if its
    /// home has older bytes.
    pub fn make_room(
        &mut self,
        data: &mut Cache,
        instructions: Option<&mut Cache>,
        address: u64,
    ) -> Option<(u64, BlockData)> {
        let victim = self.cache.victim_for(address)?.block;
        self.evict(data, instructions, victim)
    }

    /// A block that is here leaves, as a victim does; see [`SecondLevel::make_room`].
    pub fn evict(
        &mut self,
        data: &mut Cache,
        instructions: Option<&mut Cache>,
        victim: u64,
    ) -> Option<(u64, BlockData)> {
        if self.is_inclusive {
            self.collect(data, victim);
            let lost = self.forget_above(data, instructions, victim);
            self.statistics.inclusion_victims.add(lost);
        } else if data.dirty_bytes(victim).is_some() {
            // The data cache has newer bytes, and answers for them from now on.
            self.cache.remove(victim);
            return None;
        }
        let is_alone = self.hands_down && self.cache.state(victim) == State::Exclusive;
        let unchanged = self.cache.peek(victim).filter(|_| is_alone).map(BlockData::from_bytes);
        Some((victim, self.cache.remove(victim).or(unchanged)?))
    }

    /// A block leaves all caches; its bytes, if its home has older ones.
    pub fn drop_block(
        &mut self,
        data: &mut Cache,
        instructions: Option<&mut Cache>,
        block: u64,
    ) -> Option<BlockData> {
        self.collect(data, block);
        self.forget_above(data, instructions, block);
        self.cache.remove(block)
    }

    /// A block that this processor has alone is equal to its home from now on.
    pub fn clean(&mut self, data: &mut Cache, block: u64) {
        self.collect(data, block);
        for part in self.parts(block, data) {
            data.change(part, State::Shared);
        }
        self.cache.fill_allowing(block, Request::Read, false, None, Tag::None);
    }

    /// Takes in the bytes of a block that are newer above.
    pub fn collect(&mut self, data: &Cache, block: u64) {
        if self.cache.state(block) != State::Modified {
            return;
        }
        for part in self.parts(block, data) {
            if let Some(bytes) = data.dirty_bytes(part) {
                self.cache.write(part, bytes);
                self.statistics.collected.increment();
            }
        }
    }

    /// The blocks of a cache above that lie in one of this cache.
    fn parts(&self, block: u64, first: &Cache) -> impl Iterator<Item = u64> + use<> {
        (block..block + self.cache.block_bytes() as u64).step_by(first.block_bytes())
    }

    /// The caches above lose a block; how many of theirs it was.
    fn forget_above(&self, data: &mut Cache, instructions: Option<&mut Cache>, block: u64) -> u64 {
        let mut lost = 0;
        for first in std::iter::once(data).chain(instructions) {
            for part in self.parts(block, first) {
                lost += u64::from(first.holds(part));
                first.remove(part);
            }
        }
        lost
    }

    /// Answers another agent's transaction on the block at `address`, for all the
    /// processor's caches.
    pub fn snoop(
        &mut self,
        data: &mut Cache,
        instructions: Option<&mut Cache>,
        snoop: Snoop,
        address: u64,
    ) -> SnoopReply {
        if !self.cache.holds(address) {
            if self.is_inclusive {
                return SnoopReply::default();
            }
            let mut reply = data.snoop(snoop, address);
            reply.shares |= instructions.is_some_and(|first| first.snoop(snoop, address).shares);
            return reply;
        }
        self.collect(data, address);
        let reply = self.cache.snoop(snoop, address);
        self.restrict_above(data, instructions, address);
        reply
    }

    /// Refuses another agent's transaction; see [`Cache::push`].
    pub fn push(
        &mut self,
        data: &mut Cache,
        instructions: Option<&mut Cache>,
        snoop: Snoop,
        address: u64,
    ) -> Option<BlockData> {
        if self.is_only_above(data, address) {
            return data.push(snoop, address);
        }
        self.collect(data, address);
        let pushed = self.cache.push(snoop, address);
        self.restrict_above(data, instructions, address);
        pushed
    }

    /// The caches above get the right to a block that is left here.
    fn restrict_above(&self, data: &mut Cache, instructions: Option<&mut Cache>, block: u64) {
        match self.cache.state(block) {
            State::Invalid => {
                self.forget_above(data, instructions, block);
            }
            state if state.is_writable() => {}
            _ => {
                for part in self.parts(block, data) {
                    data.change(part, State::Shared);
                }
            }
        }
    }
}
