//! What the bridge says comes next, to the rules of the buses.

#[cfg(doc)]
use super::Bridge;
use crate::transaction::Transaction;

/// How a processor's transaction goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// A write: after its time on the memory bus, [`Bridge::post`].
    Posts,
    /// A write that holds the memory bus until [`Bridge::io_over`] makes room.
    Stalls,
    /// A read: after its address, [`Bridge::read_arrives`].
    Reads,
}

/// How a device's tenure of the I/O bus ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The transaction is refused: the device asks for the I/O bus again.
    Refused,
    /// The write is in the buffer: the device is done.
    Buffered,
    /// The write keeps the I/O bus until [`Bridge::memory_over`] makes room.
    Stalled,
    /// The read is over.
    Read,
}

/// What the bridge does with the memory bus that it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnMemory {
    /// It carries a buffered write or invalidation to the caches and memory.
    Write(Transaction),
    /// A device reads; it has both buses now.
    Read(Transaction),
    /// It keeps the bus for the next transaction of a device.
    Keep,
    /// It needs the bus no more.
    Nothing,
}

/// How the bridge asks for the memory bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Before all others.
    First,
    /// In the order of requests.
    InOrder,
}
