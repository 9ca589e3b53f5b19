//! What an observer sees of a memory: when its channels, banks, slices and the links between its sockets are in use.
//!
//! A use is known when it begins, or later: what DRAM writes between two accesses is computed at the second.

use narthex_kernel::Time;

/// A part of a memory that is in use for a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryUse {
    /// The socket whose part it is.
    pub socket: usize,
    /// Which part.
    pub part: MemoryPart,
    /// From when to when.
    pub time: (Time, Time),
}

/// The parts of a memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MemoryPart {
    /// An access of the last level.
    LastLevel,
    /// The data bus of this channel of DRAM.
    Channel(usize),
    /// A bank of DRAM, from the begin of its command to the end of its burst.
    Bank(BankUse),
    /// The links between sockets on the way to this socket's memory.
    ToMemory,
    /// Those on the way from it.
    FromMemory,
}

/// What a bank does for a burst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BankUse {
    /// Its row is open.
    Hit,
    /// It has no row open.
    Activation,
    /// It has another row open.
    Conflict,
    /// It waits for a refresh.
    Refresh,
}

/// Uses of which an observer has not been told yet; none where nothing observes.
#[derive(Clone, Debug, Default)]
pub(crate) struct UseLog(Option<Vec<(MemoryPart, Time, Time)>>);

impl UseLog {
    /// One that is on, or not.
    pub fn switch(&mut self, is_on: bool) {
        self.0 = is_on.then(Vec::new);
    }

    /// A part is in use.
    #[inline]
    pub fn note(&mut self, part: MemoryPart, from: Time, to: Time) {
        if let Some(uses) = &mut self.0 {
            uses.push((part, from, to));
        }
    }

    /// Takes out what was noted, as that of a socket.
    pub fn take(&mut self, socket: usize, all: &mut Vec<MemoryUse>) {
        let uses = self.0.iter_mut().flat_map(std::mem::take);
        all.extend(uses.map(|(part, from, to)| MemoryUse { socket, part, time: (from, to) }));
    }
}
