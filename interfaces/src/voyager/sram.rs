//! The two dual-ported SRAM banks: bytes that the host's bus reaches by one port, and the
//! service processor and the units by the other. No cache that holds a line of them is told
//! of a change: software flushes what it wrote, and drops what it will read again.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::registers::BANK_B;

/// Both banks, bank B from [`BANK_B`] on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sram {
    banks: [Vec<u8>; 2],
    /// How often they were written: stands for the bytes where states are told apart.
    changes: u64,
}

/// Two states of one run differ where it was written between them.
impl Hash for Sram {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.changes.hash(state);
    }
}

impl Sram {
    /// Banks of so many bytes, all zero.
    pub fn new(bytes: [u64; 2]) -> Self {
        Sram { banks: bytes.map(|bytes| vec![0; bytes as usize]), changes: 0 }
    }

    /// Whether there are such bytes.
    pub fn has(&self, address: u64, length: u64) -> bool {
        let bank = usize::from(address & BANK_B != 0);
        address < 2 * BANK_B && (address % BANK_B) + length <= self.banks[bank].len() as u64
    }

    /// The bytes at an address; they are there.
    pub fn bytes(&self, address: u64, length: u64) -> &[u8] {
        let start = (address % BANK_B) as usize;
        &self.banks[usize::from(address & BANK_B != 0)][start..start + length as usize]
    }

    /// Replaces bytes; they are there.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let start = (address % BANK_B) as usize;
        self.banks[usize::from(address & BANK_B != 0)][start..start + bytes.len()].copy_from_slice(bytes);
        self.changes += 1;
    }

    /// The doubleword at an address; it is there.
    pub fn word(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.bytes(address, 8).try_into().expect("eight bytes"))
    }

    /// Replaces a doubleword.
    pub fn set_word(&mut self, address: u64, value: u64) {
        self.write(address, &value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_bank_and_ends_with_it() {
        let mut sram = Sram::new([64, 32]);
        sram.set_word(56, 1);
        sram.set_word(BANK_B + 24, 2);
        assert_eq!((sram.word(56), sram.word(BANK_B + 24), sram.word(24)), (1, 2, 0));
        let there = |address, length| sram.has(address, length);
        assert!(there(56, 8) && there(BANK_B + 24, 8));
        assert!(!there(57, 8) && !there(BANK_B + 25, 8) && !there(2 * BANK_B, 1) && !there(u64::MAX, 1));
    }
}
