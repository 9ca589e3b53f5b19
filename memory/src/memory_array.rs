//! What keeps a memory's blocks: an array that takes the same time for each, or DRAM; one for each
//! socket of a node.

use narthex_kernel::{Archive, Archived, Damage, Duration, Time};

use crate::dram::Dram;
use crate::memory_uses::UseLog;
use crate::sockets::{Direction, SocketLinks};

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
    fn read(&mut self, now: Time, address: u64) -> Time {
        match self {
            MemoryArray::Fixed { access_time, taken_until } => {
                *taken_until = now.max(*taken_until) + *access_time;
                *taken_until
            }
            MemoryArray::Dram { access_time, dram } => dram.read(now + *access_time, address),
        }
    }

    fn write(&mut self, now: Time, address: u64) -> Time {
        match self {
            MemoryArray::Fixed { .. } => self.read(now, address),
            MemoryArray::Dram { access_time, dram } => dram.write(now + *access_time, address),
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

/// The arrays of a memory.
#[derive(Clone, Debug)]
pub struct MemoryArrays {
    /// One for each socket.
    arrays: Vec<MemoryArray>,
    /// Between the sockets, where there are several.
    links: Option<SocketLinks>,
}

impl MemoryArrays {
    /// One array for each socket, alike.
    pub fn new(array: MemoryArray, links: Option<SocketLinks>) -> Self {
        let count = links.as_ref().map_or(1, |links| links.sockets.count());
        MemoryArrays { arrays: vec![array; count], links }
    }

    /// The socket of a block's slice.
    #[inline]
    pub fn home_socket(&self, address: u64) -> usize {
        self.links.as_ref().map_or(0, |links| links.sockets.of_home(address))
    }

    /// Whether a block's array is at another socket than its slice.
    pub fn is_elsewhere(&self, address: u64) -> bool {
        self.links.as_ref().is_some_and(|links| links.separate(address))
    }

    /// A block is wanted at `now`: when its first bytes are there.
    pub fn read(&mut self, now: Time, address: u64) -> Time {
        let Some(links) = &mut self.links else { return self.arrays[0].read(now, address) };
        let array = &mut self.arrays[links.sockets.of_memory(address)];
        if !links.separate(address) {
            return array.read(now, address);
        }
        let there = array.read(now + links.latency, address);
        links.cross(there, address, Direction::FromMemory)
    }

    /// A block comes to be written at `now`: when the memory has taken it.
    pub fn write(&mut self, now: Time, address: u64) -> Time {
        let Some(links) = &mut self.links else { return self.arrays[0].write(now, address) };
        let array = &mut self.arrays[links.sockets.of_memory(address)];
        if !links.separate(address) {
            return array.write(now, address);
        }
        let there = links.cross(now, address, Direction::ToMemory);
        array.write(there, address)
    }

    /// What an observer sees: the logs of each socket's parts.
    pub(crate) fn logs(&mut self) -> impl Iterator<Item = (usize, &mut UseLog)> {
        let of_links = self.links.iter_mut().flat_map(|links| &mut links.uses).enumerate();
        let of_drams = self.arrays.iter_mut().enumerate().filter_map(|(socket, array)| match array {
            MemoryArray::Fixed { .. } => None,
            MemoryArray::Dram { dram, .. } => Some((socket, &mut dram.uses)),
        });
        of_links.chain(of_drams)
    }

    /// The DRAM of each socket, if it is one.
    pub fn drams(&self) -> impl Iterator<Item = &Dram> {
        self.arrays.iter().filter_map(|array| match array {
            MemoryArray::Fixed { .. } => None,
            MemoryArray::Dram { dram, .. } => Some(dram),
        })
    }
}

impl Archived for MemoryArrays {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        self.arrays.iter_mut().try_for_each(|array| array.archive(archive))?;
        let Some(links) = &mut self.links else { return Ok(()) };
        archive.value(&mut links.taken_until)?;
        let fits = links.taken_until.len() == links.sockets.count();
        archive.ensure(fits, "a memory has other sockets than the machine's")
    }
}
