//! A message of a device that interrupts a processor.
//!
//! A device on a link has no line to a processor. It stores a word to an address that is no memory: the
//! message says which of its interrupts it is (MSI-X, PCI Express Base Specification 6.0, Section 6.1.4). As
//! any posted write it stays behind what the device wrote before, so a processor that is interrupted
//! finds that in memory. The address stands for those that an operating system programs into a
//! device's table of vectors; each agent's vectors are its own.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::transaction::{AgentId, Transaction};

/// An interrupt of a device, by its number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Interrupt {
    /// Which of the device's vectors, less than [`Interrupt::VECTORS`].
    pub vector: u8,
}

impl Interrupt {
    /// Vectors of a port of a device.
    pub const VECTORS: u8 = 64;

    /// The addresses of the messages: those of interrupts on hosts with x86 processors (Intel 64 and IA-32
    /// Architectures Software Developer's Manual, Volume 3, Section 11.11.1).
    pub const ADDRESSES: Range<u64> = 0xfee0_0000..0xfee0_0000 + 4 * Interrupt::VECTORS as u64;

    /// Bytes of a message.
    pub const BYTES: u8 = 4;

    /// What the port of an agent stores to interrupt a processor.
    pub fn message(self, agent: AgentId) -> Transaction {
        let address = Self::ADDRESSES.start + 4 * u64::from(self.vector);
        Transaction::uncached(agent, Kind::UncachedStore, address, Self::BYTES, self.vector.into())
    }

    /// The interrupt whose messages go to an address.
    pub fn at(address: u64) -> Option<Self> {
        let offset = Self::ADDRESSES.contains(&address).then(|| address - Self::ADDRESSES.start)?;
        Some(Interrupt { vector: (offset / 4) as u8 })
    }

    /// The interrupt that a device's message is.
    pub fn of(message: &Transaction) -> Self {
        Interrupt { vector: message.value as u8 }
    }
}
