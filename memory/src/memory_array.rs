//! What keeps a memory's blocks: an array that takes the same time for each, or DRAM; one for each
//! socket of a node, and one behind a CXL link.

use narthex_kernel::{Archive, Archived, Damage, Duration, Time};

use crate::dram::Dram;
use crate::interconnects::cxl::expander::Expander;
use crate::memory_uses::UseLog;
use crate::sockets::{Direction, SocketLinks};

/// What keeps a memory's blocks, one access after the other where they take the same time.
#[derive(Clone, Debug)]
pub enum MemoryArray {
    /// Each access takes the same time, whatever else is under way.
    Flat {
        /// From the address to the block's first bytes.
        access_time: Duration,
    },
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
    /// An idle one: DRAM, or one whose accesses all take this time and overlap.
    pub fn flat_or(access_time: Duration, dram: Option<Dram>) -> Self {
        dram.map_or(MemoryArray::Flat { access_time }, |dram| MemoryArray::Dram { access_time, dram })
    }

    /// A block is wanted at `now`: when its first bytes are there.
    pub fn read(&mut self, now: Time, address: u64) -> Time {
        match self {
            MemoryArray::Flat { access_time } => now + *access_time,
            MemoryArray::Fixed { access_time, taken_until } => {
                *taken_until = now.max(*taken_until) + *access_time;
                *taken_until
            }
            MemoryArray::Dram { access_time, dram } => dram.read(now + *access_time, address),
        }
    }

    /// A block comes to be written at `now`: when it has been taken.
    pub fn write(&mut self, now: Time, address: u64) -> Time {
        match self {
            MemoryArray::Flat { .. } | MemoryArray::Fixed { .. } => self.read(now, address),
            MemoryArray::Dram { access_time, dram } => dram.write(now + *access_time, address),
        }
    }

    /// The DRAM, if it is one.
    pub fn dram(&self) -> Option<&Dram> {
        match self {
            MemoryArray::Flat { .. } | MemoryArray::Fixed { .. } => None,
            MemoryArray::Dram { dram, .. } => Some(dram),
        }
    }
}

impl Archived for MemoryArray {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        match self {
            MemoryArray::Flat { access_time: _ } => Ok(()),
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
    /// What is behind a CXL link: none, or one for each socket.
    expanders: Vec<Expander>,
}

impl MemoryArrays {
    /// One array for each socket, alike, and what is behind its CXL link.
    pub fn new(array: MemoryArray, links: Option<SocketLinks>, expander: Option<Expander>) -> Self {
        let count = links.as_ref().map_or(1, |links| links.sockets.count());
        let expanders = expander.into_iter().flat_map(|expander| vec![expander; count]).collect();
        MemoryArrays { arrays: vec![array; count], links, expanders }
    }

    /// What has a block behind a CXL link.
    #[inline]
    fn expander(&mut self, address: u64) -> Option<&mut Expander> {
        if !self.expanders.first()?.has(address) {
            return None;
        }
        let socket = self.home_socket(address);
        self.expanders.get_mut(socket)
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
        if let Some(expander) = self.expander(address) {
            return expander.read(now, address);
        }
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
        if let Some(expander) = self.expander(address) {
            return expander.write(now, address);
        }
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
            MemoryArray::Flat { .. } | MemoryArray::Fixed { .. } => None,
            MemoryArray::Dram { dram, .. } => Some((socket, &mut dram.uses)),
        });
        of_links.chain(of_drams)
    }

    /// The DRAM of each socket, if it is one.
    pub fn drams(&self) -> impl Iterator<Item = &Dram> {
        self.arrays.iter().filter_map(MemoryArray::dram)
    }

    /// What is behind CXL links.
    pub fn expanders(&self) -> impl Iterator<Item = &Expander> {
        self.expanders.iter()
    }
}

impl Archived for MemoryArrays {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        self.arrays.iter_mut().try_for_each(|array| array.archive(archive))?;
        self.expanders.iter_mut().try_for_each(|expander| expander.archive(archive))?;
        let Some(links) = &mut self.links else { return Ok(()) };
        archive.value(&mut links.taken_until)?;
        let fits = links.taken_until.len() == links.sockets.count();
        archive.ensure(fits, "a memory has other sockets than the machine's")
    }
}
