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
//! **Slices.** Where the memory's controllers are the homes of a directory, a block's slice is
//! at its home: neighbouring blocks are in different slices. A slice has a power of two of sets, and the number of
//! slices is free, as are the 20 ways of 15 MiB in six slices.
//!
//! **Filling.** Blocks come when they are read from the memory, or only when a second level gives them
//! up ([`Fill`]). One that is written comes here and goes no further.
//!
//! **Time.** A block that is here takes `access_time`. One that is not takes that and then
//! the memory's. A dirty block that is replaced goes to the memory behind the read that replaces it,
//! through a buffer: it delays no one but the next access of the memory.
//!
//! **Devices' writes** may be limited to some ways: [`ddio`].

pub mod ddio;

use narthex_kernel::quantity::Bytes;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory_array::MemoryArrays;
use crate::transaction::AgentId;
use ddio::{Agents, Ddio};

/// The most lines in a set.
const MOST_WAYS: u32 = 32;

/// When a block comes into the cache that a processor reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// When it is read from the memory.
    #[default]
    Reads,
    /// When a second level that had it to itself gives it up, changed or not. Second levels hand such
    /// blocks down then.
    Victims,
}

/// Which block of a full set leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one that was not used for the longest time.
    #[default]
    LeastRecentlyUsed,
    /// Any, as drawn by a generator of the cache.
    Random,
}

/// The parameters of a third-level cache. Its blocks are the node's coherence blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes that the cache holds: each slice has a power of two of sets, two or more.
    pub size: Bytes,
    /// Lines in a set, 1 (direct-mapped) to 32.
    #[schemars(range(min = 1, max = 32))]
    pub associativity: u32,
    /// Slices among which blocks are divided in turn, 1 to 128; one if nothing is said. On a directory
    /// there is one at each place of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 128))]
    pub slices: Option<u32>,
    /// Time from the address to the block's first bytes, beyond the bus's own cycles.
    pub access_time: Duration,
    /// Whether blocks come with "reads" of the memory, as where nothing is said, or as the "victims" of
    /// second levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Which block leaves a full set: "least-recently-used", as where nothing is said, or "random".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The ways that devices' writes may take, where not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ddio: Option<ddio::Config>,
}

impl Config {
    /// The rules that the parameters break with blocks of this size, as (key, what is
    /// wrong) pairs.
    pub fn problems(&self, block: Bytes) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let (ways, slices) = (self.associativity, self.slices.unwrap_or(1));
        if !(1..=MOST_WAYS).contains(&ways) {
            problems.push(("associativity", format!("{ways} is not from 1 to {MOST_WAYS}")));
        }
        if !(1..=128).contains(&slices) {
            problems.push(("slices", format!("{slices} is not from 1 to 128")));
        }
        if problems.is_empty() {
            problems.extend(self.size_problem(block).map(|message| ("size", message)));
        }
        if self.access_time.is_zero() {
            problems.push(("access_time", "0ps is not allowed; expected a time such as 30ns".into()));
        }
        problems.extend(self.ddio.iter().flat_map(|ddio| ddio.problems(ways)));
        problems
    }

    /// What is wrong with the size.
    fn size_problem(&self, block: Bytes) -> Option<String> {
        let (size, slices) = (self.size.as_u64(), self.slices.unwrap_or(1));
        let sets_of_one = block.as_u64() * u64::from(self.associativity) * u64::from(slices);
        let sets = size / sets_of_one;
        if size.is_multiple_of(sets_of_one) && sets.is_power_of_two() && sets > 1 && size <= 1 << 30 {
            return None;
        }
        let of = |sets: u64| Bytes::new(sets * sets_of_one);
        let below = 1 << sets.clamp(2, (1 << 30) / sets_of_one).ilog2();
        Some(format!(
            "{} does not give {slices} slice(s) of {} ways of {block} a power of two of sets, two or more, up to \
             1GiB; the nearest are {} and {}",
            self.size,
            self.associativity,
            of(below),
            of(2 * below)
        ))
    }

    /// Whether second levels hand down what they give up unchanged.
    pub fn takes_victims(&self) -> bool {
        self.fill == Some(Fill::Victims)
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
    /// Its place in the set, whatever was used last.
    way: u8,
}

/// A third-level cache.
#[derive(Clone, Debug)]
pub struct ThirdLevel {
    /// The lines of each set that hold a block, the most recently used one first.
    sets: Vec<Vec<Line>>,
    ways: usize,
    block_bytes: u64,
    access_time: Duration,
    fill: Fill,
    /// The state of the generator, where blocks leave at random.
    random: Option<u64>,
    ddio: Option<Ddio>,
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
            fill: config.fill.unwrap_or_default(),
            random: (config.replacement == Some(Replacement::Random)).then_some(1),
            ddio: None,
            statistics: Statistics::default(),
        }
    }

    /// The same with the writes of these agents limited to some ways.
    pub fn with_ddio(self, config: &ddio::Config, requesters: Agents) -> Self {
        ThirdLevel { ddio: Some(Ddio::new(config, requesters)), ..self }
    }

    /// What devices did, where their writes are limited.
    pub fn ddio_statistics(&self) -> Option<&ddio::Statistics> {
        self.ddio.as_ref().map(|ddio| &ddio.statistics)
    }

    /// Whether second levels hand down blocks that they have not changed.
    pub fn takes_victims(&self) -> bool {
        self.fill == Fill::Victims
    }

    /// A block is read at `now` by an agent, and this memory is its home: how long it takes.
    pub fn read(&mut self, now: Time, address: u64, by: AgentId, memory: &mut MemoryArrays) -> Duration {
        let block = address / self.block_bytes;
        let is_here = self.touch(block, false);
        let ddio = self.ddio.as_mut().filter(|ddio| ddio.requesters.has(by));
        let is_of_device = ddio.is_some();
        match (ddio, is_here) {
            (Some(ddio), true) => ddio.statistics.read_hits.increment(),
            (Some(ddio), false) => ddio.note_memory(self.block_bytes),
            _ => {}
        }
        if is_here {
            self.statistics.hits.increment();
            return self.access_time;
        }
        self.statistics.misses.increment();
        let end = memory.read(now + self.access_time, address);
        if self.fill == Fill::Reads
            && !is_of_device
            && let Some(dirty) = self.take_in(block, false, self.ways)
        {
            memory.write(end, dirty);
        }
        end - now
    }

    /// A block is written at `now` by an agent: how long it takes. Whether the memory's bytes are older.
    pub fn write(
        &mut self,
        now: Time,
        (address, is_newer): (u64, bool),
        by: AgentId,
        memory: &mut MemoryArrays,
    ) -> Duration {
        let block = address / self.block_bytes;
        self.statistics.written.increment();
        let is_here = self.touch(block, is_newer);
        if self.ddio.as_ref().is_some_and(|ddio| ddio.requesters.has(by)) {
            return self.write_of_device(now, (address, is_here), memory);
        }
        if !is_here && let Some(dirty) = self.take_in(block, is_newer, self.ways) {
            memory.write(now + self.access_time, dirty);
        }
        self.access_time
    }

    fn write_of_device(
        &mut self,
        now: Time,
        (address, is_here): (u64, bool),
        memory: &mut MemoryArrays,
    ) -> Duration {
        let ways = self.ddio.as_ref().map_or(0, |ddio| ddio.ways);
        let begin = now + self.access_time;
        let is_taken = !is_here && ways > 0;
        let dirty = is_taken.then(|| self.take_in(address / self.block_bytes, true, ways)).flatten();
        let Some(ddio) = &mut self.ddio else { unreachable!("a device's write is told apart") };
        ddio.statistics.hits.add(is_here.into());
        ddio.statistics.allocations.add(is_taken.into());
        ddio.statistics.evictions.add(dirty.is_some().into());
        let written = if is_here || is_taken { dirty } else { Some(address) };
        let Some(written) = written else { return self.access_time };
        ddio.note_memory(self.block_bytes);
        let end = memory.write(begin, written);
        if dirty.is_some() { self.access_time } else { end - now }
    }

    /// The addresses of its blocks and whether they are dirty, the least recently used of each set first.
    pub fn blocks_by_age(&self) -> impl Iterator<Item = (u64, bool)> {
        let by_age = (0..self.ways).rev();
        let lines = by_age.flat_map(|place| self.sets.iter().filter_map(move |set| set.get(place)));
        lines.map(|line| (line.block * self.block_bytes, line.is_dirty))
    }

    /// Uses a block without time and without counting it.
    pub fn use_functionally(&mut self, address: u64, is_written: bool) {
        let block = address / self.block_bytes;
        let comes = is_written || self.fill == Fill::Reads;
        if !self.touch(block, is_written) && comes {
            let counted = self.statistics.clone();
            self.take_in(block, is_written, self.ways);
            self.statistics = counted;
        }
    }

    fn set_of(&mut self, block: u64) -> &mut Vec<Line> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(block % sets) as usize]
    }

    /// Makes a block the most recently used one of its set, if it is here; whether it is.
    fn touch(&mut self, block: u64, is_written: bool) -> bool {
        let set = self.set_of(block);
        let Some(place) = set.iter().position(|line| line.block == block) else { return false };
        set[..=place].rotate_right(1);
        set[0].is_dirty |= is_written;
        true
    }

    /// Takes in a block that is not here, into one of the first ways: the address of a dirty one whose
    /// place it takes. Processors' blocks come into the last free ways first.
    fn take_in(&mut self, block: u64, is_dirty: bool, first_ways: usize) -> Option<u64> {
        let ways = self.ways;
        let drawn = self.random.as_mut().map(|state| {
            // The multiplier and the increment of D. E. Knuth's MMIX.
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((*state >> 33) % first_ways as u64) as u8
        });
        let set = self.set_of(block);
        let is_free = |way: &u8| set.iter().all(|line| line.way != *way);
        let free = if set.len() < ways { (0..first_ways as u8).rev().find(is_free) } else { None };
        let victim = match free {
            Some(_) => None,
            None => {
                let leaves =
                    |line: &Line| drawn.map_or(usize::from(line.way) < first_ways, |way| line.way == way);
                set.iter().rposition(leaves).map(|place| set.remove(place))
            }
        };
        let way = free.or(victim.map(|line| line.way)).expect("there is a way");
        set.reserve_exact(ways - set.len());
        set.insert(0, Line { block, is_dirty, way });
        let dirty = victim.filter(|line| line.is_dirty)?;
        self.statistics.written_back.increment();
        Some(dirty.block * self.block_bytes)
    }
}

impl Archived for ThirdLevel {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let ThirdLevel { sets, ways, block_bytes: _, access_time: _, fill: _, random, ddio, statistics } =
            self;
        let count = sets.len();
        archive.value(sets)?;
        let fits = sets.len() == count && sets.iter().all(|set| set.len() <= *ways);
        archive.ensure(fits, "a third-level cache is another one than the machine's")?;
        let is_random = random.is_some();
        archive.value(random)?;
        archive.ensure(
            random.is_some() == is_random,
            "a third-level cache replaces otherwise than the machine's",
        )?;
        archive.value(statistics)?;
        ddio.as_mut().map_or(Ok(()), |ddio| archive.value(&mut ddio.statistics))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_array::MemoryArray;

    fn memory() -> MemoryArrays {
        let access_time = Duration::from_ns(120);
        MemoryArrays::new(MemoryArray::Fixed { access_time, taken_until: Time::ZERO }, None)
    }

    /// Two sets of two blocks of 64 bytes, in 30 ns.
    fn small() -> ThirdLevel {
        let config = of(256, 2);
        assert_eq!(config.problems(Bytes::new(64)), []);
        ThirdLevel::new(&config, 64)
    }

    fn of(bytes: u64, associativity: u32) -> Config {
        let (size, access_time) = (Bytes::new(bytes), Duration::from_ns(30));
        Config { size, associativity, slices: None, access_time, fill: None, replacement: None, ddio: None }
    }

    const PROCESSOR: AgentId = AgentId(0);
    const DEVICE: AgentId = AgentId(200);

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Duration::from_ns(nanoseconds)
    }

    fn nanoseconds(time: Duration) -> u64 {
        time.as_ps() / 1_000
    }

    #[test]
    fn a_block_takes_the_memorys_time_once_and_then_the_caches() {
        let (mut cache, mut memory) = (small(), memory());
        let mut read = |now, address| nanoseconds(cache.read(at(now), address, PROCESSOR, &mut memory));
        assert_eq!([read(0, 0x1000), read(200, 0x1020), read(300, 0x1040)], [150, 30, 150]);
        assert_eq!((cache.statistics.hits.get(), cache.statistics.misses.get()), (1, 2));
    }

    #[test]
    fn the_least_recently_used_block_of_a_set_is_replaced() {
        let (mut cache, mut memory) = (small(), memory());
        // All in set 0, which has two lines.
        for (step, address) in [0x0, 0x80, 0x0, 0x100].into_iter().enumerate() {
            cache.read(at(1_000 * step as u64), address, PROCESSOR, &mut memory);
        }
        let mut read = |cache: &mut ThirdLevel, address| {
            nanoseconds(cache.read(at(9_000), address, PROCESSOR, &mut memory))
        };
        assert_eq!(read(&mut cache, 0x0), 30, "it was used again");
        assert_eq!(read(&mut cache, 0x80), 150);
    }

    #[test]
    fn a_dirty_block_goes_to_the_memory_behind_the_read_that_replaces_it() {
        let (mut cache, mut memory) = (small(), memory());
        assert_eq!(nanoseconds(cache.write(at(0), (0x0, true), PROCESSOR, &mut memory)), 30);
        cache.write(at(100), (0x80, true), PROCESSOR, &mut memory);
        assert_eq!(nanoseconds(cache.read(at(1_000), 0x100, PROCESSOR, &mut memory)), 150, "not its own");
        // The memory is taken until 1000 + 30 + 120 + 120.
        assert_eq!(nanoseconds(cache.read(at(1_200), 0x40, PROCESSOR, &mut memory)), 70 + 120);
        assert_eq!(cache.statistics.written_back.get(), 1);
        assert_eq!(
            nanoseconds(cache.read(at(1_201), 0x100, PROCESSOR, &mut memory)),
            30,
            "a hit waits for nothing"
        );
    }

    #[test]
    fn its_lines_take_the_memory_that_was_estimated() {
        for ways in [1, 2, 16] {
            let config = of(64 * 1024, ways);
            let (mut cache, mut memory) = (ThirdLevel::new(&config, 64), memory());
            for address in (0..64 * 1024).step_by(64) {
                cache.read(at(0), address, PROCESSOR, &mut memory);
            }
            let lines: usize = cache.sets.iter().map(|set| set.capacity() * size_of::<Line>()).sum();
            let taken = lines + cache.sets.len() * size_of::<Vec<Line>>();
            assert_eq!(config.host_bytes(Bytes::new(64)), taken as u64, "{ways} ways");
        }
    }

    #[test]
    fn parts_of_real_sizes_have_slices_with_a_power_of_two_of_sets() {
        let problems = |size: u64, associativity, slices| {
            Config { slices: Some(slices), ..of(size, associativity) }.problems(Bytes::new(64))
        };
        const MIB: u64 = 1 << 20;
        assert_eq!(problems(15 * MIB, 20, 6), [], "Xeon E5-2630");
        assert_eq!(problems(75 * MIB / 2, 15, 20), [], "37.5 MiB");
        assert_eq!(problems(60 * MIB, 15, 32), [], "Xeon Platinum 8462Y+");
        let (key, message) = problems(15 * MIB, 20, 1).remove(0);
        assert_eq!(key, "size");
        assert!(message.ends_with("the nearest are 10MiB and 20MiB"), "{message}");
    }

    #[test]
    fn with_random_replacement_a_cycle_of_more_blocks_than_ways_hits_at_times() {
        let hits = |replacement| {
            let config = Config { replacement: Some(replacement), ..of(64 * 32, 16) };
            let (mut cache, mut memory) = (ThirdLevel::new(&config, 64), memory());
            // 20 blocks of one set of 16 ways, again and again.
            for block in (0..100).flat_map(|_| (0..20).map(|number| number * 128)) {
                cache.read(at(0), block, PROCESSOR, &mut memory);
            }
            cache.statistics.hits.get()
        };
        assert_eq!(hits(Replacement::LeastRecentlyUsed), 0);
        // Of a cycle r times as long as the ways, m miss where m = 1 - exp(-r m): 37 % of 2,000.
        let random = hits(Replacement::Random);
        assert!((1_100..1_400).contains(&random), "{random} hits");
    }

    #[test]
    fn what_a_second_level_gives_up_comes_here_and_what_it_reads_does_not() {
        let config = Config { fill: Some(Fill::Victims), ..of(256, 2) };
        let (mut cache, mut memory) = (ThirdLevel::new(&config, 64), memory());
        let mut read =
            |cache: &mut ThirdLevel, now| nanoseconds(cache.read(at(now), 0x1000, PROCESSOR, &mut memory));
        assert_eq!([read(&mut cache, 0), read(&mut cache, 1_000)], [150, 150]);
        let mut other = self::memory();
        cache.write(at(2_000), (0x1000, false), PROCESSOR, &mut other);
        assert_eq!(read(&mut cache, 3_000), 30);
        assert_eq!(cache.blocks_by_age().collect::<Vec<_>>(), [(0x1000, false)], "the memory has its bytes");
    }

    /// Two sets of four ways, of which devices have `ways`.
    fn with_ddio(ways: u32) -> ThirdLevel {
        let ddio = ddio::Config { ways, requesters: vec!["pcie".into()] };
        ThirdLevel::new(&of(512, 4), 64).with_ddio(&ddio, [DEVICE].into_iter().collect())
    }

    #[test]
    fn devices_push_each_others_blocks_out_of_their_ways_and_no_others() {
        let (mut cache, mut memory) = (with_ddio(1), memory());
        for address in [0x0, 0x80, 0x100] {
            cache.read(at(0), address, PROCESSOR, &mut memory);
        }
        let mut write = |cache: &mut ThirdLevel, now, address| {
            nanoseconds(cache.write(at(now), (address, true), DEVICE, &mut memory))
        };
        assert_eq!(write(&mut cache, 1_000, 0x80), 30, "a hit, in a processor's way");
        assert_eq!([write(&mut cache, 2_000, 0x200), write(&mut cache, 3_000, 0x280)], [30, 30]);
        let blocks: Vec<_> = cache.blocks_by_age().collect();
        assert_eq!(blocks, [(0x0, false), (0x100, false), (0x80, true), (0x280, true)]);
        let counted = cache.ddio_statistics().expect("it has ways for devices");
        let counts = [&counted.hits, &counted.allocations, &counted.evictions, &counted.memory_bytes];
        assert_eq!(counts.map(|count| count.get()), [1, 2, 1, 64]);
        // The memory takes the evicted block until 3000 + 30 + 120.
        let read = cache.read(at(3_050), 0x300, PROCESSOR, &mut memory);
        assert_eq!(nanoseconds(read), 100 + 120, "behind the evicted block");
    }

    #[test]
    fn what_a_device_reads_stays_where_it_is() {
        let (mut cache, mut memory) = (with_ddio(2), memory());
        let mut read =
            |cache: &mut ThirdLevel, now, by| nanoseconds(cache.read(at(now), 0x40, by, &mut memory));
        assert_eq!([read(&mut cache, 0, DEVICE), read(&mut cache, 500, DEVICE)], [150, 150]);
        assert_eq!([read(&mut cache, 1_000, PROCESSOR), read(&mut cache, 1_500, DEVICE)], [150, 30]);
        let counted = cache.ddio_statistics().expect("it has ways for devices");
        assert_eq!((counted.read_hits.get(), counted.memory_bytes.get()), (1, 128));
    }

    #[test]
    fn with_no_ways_a_devices_block_goes_to_the_memory() {
        let (mut cache, mut memory) = (with_ddio(0), memory());
        assert_eq!(nanoseconds(cache.write(at(0), (0x40, true), DEVICE, &mut memory)), 30 + 120);
        assert_eq!(cache.blocks_by_age().count(), 0);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let ddio = ddio::Config { ways: 34, requesters: vec![] };
        let config = Config {
            associativity: 33,
            slices: Some(0),
            access_time: Duration::ZERO,
            ddio: Some(ddio),
            ..of(192, 1)
        };
        let keys: Vec<_> = config.problems(Bytes::new(64)).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["associativity", "slices", "access_time", "ddio.ways", "ddio.requesters"]);
    }
}
