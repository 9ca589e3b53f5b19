//! Sockets: groups of places on a network on chip, each with memory and a part of the last level.
//!
//! ```text
//!   socket 0: tiles, slices ── memory 0          socket 1: tiles, slices ── memory 1
//!                   └────────────── links between sockets ─────────┘
//! ```
//!
//! Which socket a block belongs to follows from its address, so that it has one home and one slice. A
//! process's pages are at the socket of its first processor, where an operating system puts pages that this
//! processor touches first. Two windows of its addresses are elsewhere, so that a program chooses by an address
//! what `numactl` chooses by a policy:
//!
//! | addresses of a process | slices and directory | memory |
//! | --- | --- | --- |
//! | from 64 GiB ([`FAR_MEMORY`]) | its own socket | the next socket |
//! | from 80 GiB ([`OTHER_SOCKET`]) | the next socket | the next socket |
//! | all others | its own socket | its own socket |
//!
//! The first window is memory of another socket that processors of this one use: their last level
//! keeps its blocks, and a miss crosses the links. The second is what threads of the other socket use.
//! The queues of an interface are in the region of the devices, which all processes have in common: they are at the
//! node's first socket, or where the machine's file says ([`Sockets::with_placed`]).
//!
//! A machine that lets each socket's last level keep any block needs a second level of coherence
//! between sockets, which is not here: a block that both sockets use is in one of them.

use std::ops::Range;

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::memory_uses::{MemoryPart, UseLog};
use crate::translation::Translation;

/// Addresses of a process whose blocks are in the memory of the next socket.
pub const FAR_MEMORY: Range<u64> = 64 << 30..80 << 30;

/// Addresses of a process whose blocks are at the next socket with directory, slice and memory.
pub const OTHER_SOCKET: Range<u64> = 80 << 30..96 << 30;

/// The sockets of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sockets {
    count: u8,
    /// The socket of each process's first processor.
    of_processes: Vec<u8>,
    /// Addresses of the node that are at a stated socket, in order; none lies in two of them.
    placed: Vec<(Range<u64>, u8)>,
}

impl Sockets {
    /// So many of them, and that of each process's first processor.
    pub fn new(count: u8, of_processes: Vec<u8>) -> Self {
        Sockets { count, of_processes, placed: Vec::new() }
    }

    /// The same with ranges of the node's addresses that have directory, slice and memory at a stated socket: in
    /// order, and apart from each other.
    pub fn with_placed(self, placed: Vec<(Range<u64>, u8)>) -> Self {
        Sockets { placed, ..self }
    }

    /// The socket of the first processor of a process of the node.
    pub fn of_process(&self, process: u8) -> u8 {
        self.of_processes.get(usize::from(process)).copied().unwrap_or(0)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count.into()
    }

    /// The socket of a block's directory and slice.
    #[inline]
    pub fn of_home(&self, address: u64) -> usize {
        match self.placed(address) {
            Some(socket) => socket,
            None => self.beside(address, OTHER_SOCKET.contains(&Self::within_process(address))),
        }
    }

    /// The socket of its memory.
    #[inline]
    pub fn of_memory(&self, address: u64) -> usize {
        let own = Self::within_process(address);
        match self.placed(address) {
            Some(socket) => socket,
            None => self.beside(address, (FAR_MEMORY.start..OTHER_SOCKET.end).contains(&own)),
        }
    }

    /// The socket that is stated for an address.
    #[inline]
    fn placed(&self, address: u64) -> Option<usize> {
        let behind = self.placed.partition_point(|(range, _)| range.start <= address);
        let (range, socket) = self.placed.get(behind.checked_sub(1)?)?;
        range.contains(&address).then_some(usize::from(*socket))
    }

    fn within_process(address: u64) -> u64 {
        address % Translation::SPACE_BYTES
    }

    /// The socket of the process whose address it is, or the next one.
    fn beside(&self, address: u64, is_next: bool) -> usize {
        let process = (address / Translation::SPACE_BYTES) as usize;
        let own = self.of_processes.get(process).copied().unwrap_or(0) + u8::from(is_next);
        (own % self.count).into()
    }
}

/// The links between the sockets, as misses of a last level in another one's memory cross them. What
/// directories send over the same links ([`crate::interconnects::directory`]) does not wait for these, nor do these
/// for that.
#[derive(Clone, Debug)]
pub struct SocketLinks {
    /// Who is where.
    pub sockets: Sockets,
    /// Time from one socket to the next.
    pub latency: Duration,
    /// Time that a block takes of all links of a direction.
    pub block_time: Duration,
    /// Until when the links to and from each socket's memory are taken.
    pub taken_until: Vec<[Time; 2]>,
    /// For observers, by the socket of the memory.
    pub(crate) uses: Vec<UseLog>,
}

/// In which direction a block crosses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// To the memory.
    ToMemory,
    /// From it.
    FromMemory,
}

impl SocketLinks {
    /// Links that nothing takes yet.
    pub fn new(sockets: Sockets, latency: Duration, block_time: Duration) -> Self {
        let taken_until = vec![[Time::ZERO; 2]; sockets.count()];
        let uses = vec![UseLog::default(); sockets.count()];
        SocketLinks { sockets, latency, block_time, taken_until, uses }
    }

    /// Whether the memory of a block is at another socket than its slice.
    #[inline]
    pub fn separate(&self, address: u64) -> bool {
        self.sockets.of_home(address) != self.sockets.of_memory(address)
    }

    /// A block leaves for the other end at `at`: when it is there.
    pub fn cross(&mut self, at: Time, address: u64, direction: Direction) -> Time {
        let socket = self.sockets.of_memory(address);
        let taken = &mut self.taken_until[socket][direction as usize];
        let start = at.max(*taken);
        *taken = start + self.block_time;
        let part = match direction {
            Direction::ToMemory => MemoryPart::ToMemory,
            Direction::FromMemory => MemoryPart::FromMemory,
        };
        self.uses[socket].note(part, start, *taken);
        start + self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_at_the_socket_of_their_process_but_for_two_windows() {
        let sockets = Sockets::new(2, vec![0, 1]);
        let of = |address| (sockets.of_home(address), sockets.of_memory(address));
        assert_eq!([0x1000, 128 << 30].map(of), [(0, 0), (0, 0)]);
        assert_eq!([FAR_MEMORY.start, OTHER_SOCKET.start].map(of), [(0, 1), (1, 1)]);
        let other = Translation::SPACE_BYTES;
        assert_eq!(
            [other, other + FAR_MEMORY.start, other + OTHER_SOCKET.start].map(of),
            [(1, 1), (1, 0), (0, 0)]
        );
        let placed = sockets.with_placed(vec![(0x1000..0x2000, 1), (0x3000..0x4000, 0)]);
        let homes = [0xfff, 0x1000, 0x1fff, 0x2000, 0x3000, 0x4000].map(|address| placed.of_home(address));
        assert_eq!((homes, placed.of_memory(0x1800)), ([0, 1, 1, 0, 0, 0], 1));
    }

    #[test]
    fn blocks_of_one_direction_follow_each_other() {
        let (latency, block) = (Duration::from_ns(70), Duration::from_ns(2));
        let mut links = SocketLinks::new(Sockets::new(2, vec![0]), latency, block);
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let mut cross = |now, direction| links.cross(at(now), FAR_MEMORY.start, direction);
        assert_eq!([cross(0, Direction::ToMemory), cross(1, Direction::ToMemory)], [at(70), at(72)]);
        assert_eq!(cross(1, Direction::FromMemory), at(71));
    }
}
