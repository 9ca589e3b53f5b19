//! A third-level cache: in front of a memory, shared by all that miss into it.
//!
//! ```text
//!   second levels, devices ──── interconnect ──── third level ──── memory
//!                                                 access_time      access_time
//! ```
//!
//! It is on the memory's side of the interconnect, so a block is in one place here, and
//! nothing here takes part in coherence: what the caches above hold is none of its
//! business, and it is neither inclusive nor exclusive of them. It keeps which blocks it
//! has and which of them the memory lacks; the bytes of both are kept once, with the
//! memory.
//!
//! **Time.** A block that is here takes `access_time`. One that is not takes that and then
//! the memory's. A block that is written comes here and goes no further. A dirty block
//! that is replaced goes to the memory behind the read that replaces it, through a buffer:
//! it delays no one but the next access of the memory.

use narthex_kernel::quantity::Bytes;
use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory_array::MemoryArray;

/// The parameters of a third-level cache. Its blocks are the node's coherence blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes that the cache holds; a power of two.
    pub size: Bytes,
    /// Lines in a set, 1 (direct-mapped) to 16; a power of two. The least recently used
    /// one is replaced.
    #[schemars(extend("enum" = [1, 2, 4, 8, 16]))]
    pub associativity: u32,
    /// Time from the address to the block's first bytes, beyond the bus's own cycles.
    pub access_time: Duration,
}

impl Config {
    /// The rules that the parameters break with blocks of this size, as (key, what is
    /// wrong) pairs.
    pub fn problems(&self, block: Bytes) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let (size, ways) = (self.size.as_u64(), self.associativity);
        if !ways.is_power_of_two() || ways > 16 {
            problems.push(("associativity", format!("{ways} is not 1, 2, 4, 8 or 16")));
        }
        let least = block.as_u64().saturating_mul(u64::from(ways)).saturating_mul(2);
        if !size.is_power_of_two() || size < least || size > 1 << 30 {
            let least = Bytes::new(least);
            problems.push((
                "size",
                format!("{} is not a power of two from {least} (two sets) to 1GiB", self.size),
            ));
        }
        if self.access_time.is_zero() {
            problems.push(("access_time", "0ps is not allowed; expected a time such as 30ns".into()));
        }
        problems
    }

    /// Memory of the host that its lines take once each has held a block, of this size.
    pub fn host_bytes(&self, block: Bytes) -> u64 {
        let lines = self.size.as_u64() / block.as_u64();
        let sets = lines / u64::from(self.associativity);
        lines * size_of::<Line>() as u64 + sets * size_of::<Vec<Line>>() as u64
    }
}

narthex_kernel::statistics! {
    /// What came to a third-level cache, and what left it.
    pub struct Statistics {
        hits: Counter, "third_level_hits", "blocks", "blocks that were read from the third level";
        misses: Counter, "third_level_misses", "blocks", "blocks that were read from the memory behind the third level";
        written: Counter, "third_level_written", "blocks", "blocks that were written into the third level";
        written_back: Counter, "third_level_written_back", "blocks", "dirty blocks that left the third level for its memory";
    }
}

/// A line: the block that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    block: u64,
    is_dirty: bool,
}

/// A third-level cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThirdLevel {
    /// The lines of each set that hold a block, the most recently used one first.
    sets: Vec<Vec<Line>>,
    ways: usize,
    block_bytes: u64,
    access_time: Duration,
    /// What was counted.
    pub statistics: Statistics,
}

impl ThirdLevel {
    /// An empty one, for blocks of this size.
    pub fn new(config: &Config, block_bytes: u64) -> Self {
        let ways = config.associativity as usize;
        let sets = config.size.as_u64() / block_bytes / u64::from(config.associativity);
        ThirdLevel {
            sets: vec![Vec::new(); sets as usize],
            ways,
            block_bytes,
            access_time: config.access_time,
            statistics: Statistics::default(),
        }
    }

    /// What of it never changes: sets, ways, bytes of a block, time.
    pub fn config_identity(&self) -> (usize, usize, u64, Duration) {
        (self.sets.len(), self.ways, self.block_bytes, self.access_time)
    }

    /// A block is read at `now` of which this memory is the home: how long it takes.
    pub fn read(&mut self, now: Time, address: u64, memory: &mut MemoryArray) -> Duration {
        let Brought { was_here, pushed_out } = self.bring(address, false);
        if was_here {
            self.statistics.hits.increment();
            return self.access_time;
        }
        self.statistics.misses.increment();
        let end = memory.read(now + self.access_time, address);
        if let Some(dirty) = pushed_out {
            memory.write(end, dirty);
        }
        end - now
    }

    /// A block is written at `now`: how long it takes.
    pub fn write(&mut self, now: Time, address: u64, memory: &mut MemoryArray) -> Duration {
        self.statistics.written.increment();
        if let Some(dirty) = self.bring(address, true).pushed_out {
            memory.write(now + self.access_time, dirty);
        }
        self.access_time
    }

    /// The addresses of its blocks and whether they are dirty, the least recently used of each set first.
    pub fn blocks_by_age(&self) -> impl Iterator<Item = (u64, bool)> {
        let by_age = (0..self.ways).rev();
        let lines = by_age.flat_map(|place| self.sets.iter().filter_map(move |set| set.get(place)));
        lines.map(|line| (line.block * self.block_bytes, line.is_dirty))
    }

    /// Uses a block without time and without counting it.
    pub fn use_functionally(&mut self, address: u64, is_written: bool) {
        let counted = self.statistics.clone();
        self.bring(address, is_written);
        self.statistics = counted;
    }

    /// Makes the block of an address the most recently used one of its set.
    fn bring(&mut self, address: u64, is_written: bool) -> Brought {
        let block = address / self.block_bytes;
        let sets = self.sets.len() as u64;
        let set = &mut self.sets[(block % sets) as usize];
        if let Some(place) = set.iter().position(|line| line.block == block) {
            set[..=place].rotate_right(1);
            set[0].is_dirty |= is_written;
            return Brought { was_here: true, pushed_out: None };
        }
        let victim = if set.len() == self.ways { set.pop() } else { None };
        set.reserve_exact(self.ways - set.len());
        set.insert(0, Line { block, is_dirty: is_written });
        let dirty = victim.filter(|line| line.is_dirty);
        self.statistics.written_back.add(dirty.is_some().into());
        Brought { was_here: false, pushed_out: dirty.map(|line| line.block * self.block_bytes) }
    }
}

/// What it took to have a block.
struct Brought {
    was_here: bool,
    /// The address of a dirty block that it replaces.
    pushed_out: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> MemoryArray {
        MemoryArray::Fixed { access_time: Duration::from_ns(120), taken_until: Time::ZERO }
    }

    /// Two sets of two blocks of 64 bytes, in 30 ns.
    fn small() -> ThirdLevel {
        let config = Config { size: Bytes::new(256), associativity: 2, access_time: Duration::from_ns(30) };
        assert_eq!(config.problems(Bytes::new(64)), []);
        ThirdLevel::new(&config, 64)
    }

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Duration::from_ns(nanoseconds)
    }

    fn nanoseconds(time: Duration) -> u64 {
        time.as_ps() / 1_000
    }

    #[test]
    fn a_block_takes_the_memorys_time_once_and_then_the_caches() {
        let (mut cache, mut memory) = (small(), memory());
        let mut read = |now, address| nanoseconds(cache.read(at(now), address, &mut memory));
        assert_eq!([read(0, 0x1000), read(200, 0x1020), read(300, 0x1040)], [150, 30, 150]);
        assert_eq!((cache.statistics.hits.get(), cache.statistics.misses.get()), (1, 2));
    }

    #[test]
    fn the_least_recently_used_block_of_a_set_is_replaced() {
        let (mut cache, mut memory) = (small(), memory());
        // All in set 0, which has two lines.
        for (step, address) in [0x0, 0x80, 0x0, 0x100].into_iter().enumerate() {
            cache.read(at(1_000 * step as u64), address, &mut memory);
        }
        let mut read =
            |cache: &mut ThirdLevel, address| nanoseconds(cache.read(at(9_000), address, &mut memory));
        assert_eq!(read(&mut cache, 0x0), 30, "it was used again");
        assert_eq!(read(&mut cache, 0x80), 150);
    }

    #[test]
    fn a_dirty_block_goes_to_the_memory_behind_the_read_that_replaces_it() {
        let (mut cache, mut memory) = (small(), memory());
        assert_eq!(nanoseconds(cache.write(at(0), 0x0, &mut memory)), 30);
        cache.write(at(100), 0x80, &mut memory);
        assert_eq!(nanoseconds(cache.read(at(1_000), 0x100, &mut memory)), 150, "not its own");
        // The memory is taken until 1000 + 30 + 120 + 120.
        assert_eq!(nanoseconds(cache.read(at(1_200), 0x40, &mut memory)), 70 + 120);
        assert_eq!(cache.statistics.written_back.get(), 1);
        assert_eq!(nanoseconds(cache.read(at(1_201), 0x100, &mut memory)), 30, "a hit waits for nothing");
    }

    #[test]
    fn its_lines_take_the_memory_that_was_estimated() {
        for ways in [1, 2, 16] {
            let config = Config {
                size: Bytes::new(64 * 1024),
                associativity: ways,
                access_time: Duration::from_ns(30),
            };
            let (mut cache, mut memory) = (ThirdLevel::new(&config, 64), memory());
            for address in (0..64 * 1024).step_by(64) {
                cache.read(at(0), address, &mut memory);
            }
            let lines: usize = cache.sets.iter().map(|set| set.capacity() * size_of::<Line>()).sum();
            let taken = lines + cache.sets.len() * size_of::<Vec<Line>>();
            assert_eq!(config.host_bytes(Bytes::new(64)), taken as u64, "{ways} ways");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let config = Config { size: Bytes::new(192), associativity: 3, access_time: Duration::ZERO };
        let keys: Vec<_> = config.problems(Bytes::new(64)).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["associativity", "size", "access_time"]);
    }
}
