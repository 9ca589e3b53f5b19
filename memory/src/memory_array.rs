//! What keeps a memory's blocks: an array that takes the same time for each, or DRAM.

use narthex_kernel::{Archive, Archived, Damage, Duration, Time};

use crate::dram::Dram;

/// What keeps a memory's blocks, one access after the other where they take the same time.
#[derive(Clone, Debug)]
pub enum MemoryArray {
    /// Each access takes the same time, and the next one waits for its end.
    Fixed {
        /// From the address to the block's first bytes.
        access_time: Duration,
        /// The end of the last access.
        taken_until: Time,
    },
    /// See [`crate::dram`].
    Dram {
        /// What the controller adds to each access.
        access_time: Duration,
        /// The channels behind it.
        dram: Dram,
    },
}

impl MemoryArray {
    /// A block is wanted at `now`: when its first bytes are there.
    pub fn read(&mut self, now: Time, address: u64) -> Time {
        match self {
            MemoryArray::Fixed { access_time, taken_until } => {
                *taken_until = now.max(*taken_until) + *access_time;
                *taken_until
            }
            MemoryArray::Dram { access_time, dram } => dram.read(now + *access_time, address),
        }
    }

    /// A block comes to be written at `now`: when the memory has taken it.
    pub fn write(&mut self, now: Time, address: u64) -> Time {
        match self {
            MemoryArray::Fixed { .. } => self.read(now, address),
            MemoryArray::Dram { access_time, dram } => dram.write(now + *access_time, address),
        }
    }

    /// The DRAM, if it is one.
    pub fn dram(&self) -> Option<&Dram> {
        match self {
            MemoryArray::Fixed { .. } => None,
            MemoryArray::Dram { dram, .. } => Some(dram),
        }
    }
}

impl Archived for MemoryArray {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        match self {
            MemoryArray::Fixed { access_time: _, taken_until } => archive.value(taken_until),
            MemoryArray::Dram { access_time: _, dram } => dram.archive(archive),
        }
    }
}
