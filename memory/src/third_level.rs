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

mod config;
pub mod ddio;

use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use serde::{Deserialize, Serialize};

use crate::memory_array::MemoryArrays;
use crate::memory_uses::{MemoryPart, UseLog};
use crate::transaction::AgentId;
pub use config::{Config, Fill, Replacement};
use ddio::{Agents, Ddio};

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

/// Bytes of the host that a line takes.
const LINE_BYTES: u64 = size_of::<Line>() as u64;

/// Bytes of the host that a set takes beside its lines.
const SET_BYTES: u64 = size_of::<Vec<Line>>() as u64;

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
    /// Whether it had the block that was read last.
    pub last_was_hit: bool,
    /// For observers.
    pub(crate) uses: UseLog,
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
            last_was_hit: false,
            uses: UseLog::default(),
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
        self.last_was_hit = is_here;
        self.uses.note(MemoryPart::LastLevel, now, now + self.access_time);
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
        self.uses.note(MemoryPart::LastLevel, now, now + self.access_time);
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
        let ThirdLevel {
            sets,
            ways,
            block_bytes: _,
            access_time: _,
            fill: _,
            random,
            ddio,
            last_was_hit: _,
            uses: _,
            statistics,
        } = self;
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
mod tests;
