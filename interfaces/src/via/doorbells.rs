//! Doorbells: a FIFO of what programs stored to their pages of doorbells.
//!
//! A doorbell belongs to a VI of the node and to a process, whose page it is in. That the
//! VI is the process's own is for the firmware to check, which knows who owns it. A full
//! FIFO refuses the store, so that it is tried again and none is lost.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::registers::{DOORBELL_WAITS, NOTHING};

/// Bytes of a VI's doorbells, the one to send first.
const STRIDE: u64 = 16;

/// A doorbell that has been rung.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Doorbell {
    /// In whose page it is.
    pub process: u8,
    /// The VI.
    pub vi: u32,
    /// Whether it is the receive queue's.
    pub is_receive: bool,
    /// What was stored: a descriptor's address.
    pub value: u64,
}

impl Doorbell {
    /// A store of `value` at this offset in a process's page.
    ///
    /// # Errors
    /// If no doorbell is there.
    pub fn at(process: u8, offset: u64, value: u64) -> Result<Self, String> {
        if !offset.is_multiple_of(8) {
            return Err(format!("no doorbell is at offset {offset:#x}; each has eight bytes"));
        }
        let (vi, is_receive) = ((offset / STRIDE) as u32, !offset.is_multiple_of(STRIDE));
        Ok(Doorbell { process, vi, is_receive, value })
    }

    /// As firmware loads it.
    fn source(self) -> u64 {
        u64::from(self.process) << 32 | u64::from(self.vi) << 1 | u64::from(self.is_receive)
    }
}

/// The doorbells that wait for the firmware.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Doorbells {
    waiting: VecDeque<Doorbell>,
    limit: usize,
}

impl Doorbells {
    /// A FIFO for so many.
    pub fn new(limit: u32) -> Self {
        Doorbells { waiting: VecDeque::new(), limit: limit as usize }
    }

    /// Whether it takes no more.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= self.limit
    }

    /// How many wait, and how many may.
    pub fn used(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.limit as u64)
    }

    /// One rings; the FIFO is not full.
    pub fn ring(&mut self, doorbell: Doorbell) {
        self.waiting.push_back(doorbell);
    }

    /// Whose the oldest one is.
    pub fn source(&self) -> u64 {
        self.waiting.front().map_or(NOTHING, |oldest| oldest.source())
    }

    /// The value of the oldest one, which is gone then.
    pub fn take(&mut self) -> Option<u64> {
        self.waiting.pop_front().map(|oldest| oldest.value)
    }

    /// Its bit of STATUS.
    pub fn status(&self) -> u64 {
        if self.waiting.is_empty() { 0 } else { DOORBELL_WAITS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doorbell_tells_its_process_its_vi_and_its_queue() {
        let mut doorbells = Doorbells::new(2);
        assert_eq!((doorbells.status(), doorbells.source()), (0, NOTHING));
        doorbells.ring(Doorbell::at(1, 3 * 16 + 8, 0x4000).expect("a doorbell"));
        doorbells.ring(Doorbell::at(0, 2 * 16, 0x5000).expect("a doorbell"));
        assert!(doorbells.is_full());
        assert_eq!((doorbells.status(), doorbells.source()), (DOORBELL_WAITS, 1 << 32 | 3 << 1 | 1));
        assert_eq!(doorbells.take(), Some(0x4000));
        assert_eq!((doorbells.source(), doorbells.take(), doorbells.take()), (2 << 1, Some(0x5000), None));
    }

    #[test]
    fn between_doorbells_there_is_none() {
        assert!(Doorbell::at(0, 4, 1).unwrap_err().contains("offset 0x4"));
    }
}
