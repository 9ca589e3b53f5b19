//! The bytes behind a state: cheap to copy, and equal only when they are equal.
//!
//! States share the memory that the program has left when it reached its first
//! access to the interface; each holds the words that are different by now. A
//! word that gets its old value back is forgotten, so the same contents are
//! always the same words.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use narthex_cores::linux::{GuestMemory, Protection};
use narthex_memory::BlockData;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::port::AccessFault;

const WORD_BYTES: u64 = 8;

/// Memory as the difference from a shared beginning.
#[derive(Clone, Debug, Default)]
pub struct Words {
    base: Rc<MainMemory>,
    changed: BTreeMap<u64, u64>,
}

impl Words {
    /// Memory that begins as `base`.
    pub fn over(base: MainMemory) -> Self {
        Words { base: Rc::new(base), changed: BTreeMap::new() }
    }

    /// Makes the present contents the beginning that states share.
    pub fn freeze(self) -> Self {
        let mut base = (*self.base).clone();
        for (address, word) in self.changed {
            base.write(address, &word.to_le_bytes());
        }
        Words::over(base)
    }

    /// The words that are not as they were, by address.
    pub fn changed(&self) -> &BTreeMap<u64, u64> {
        &self.changed
    }

    /// Forgets what was changed in a range that is not read any more.
    pub fn forget(&mut self, range: Range<u64>) {
        while let Some((&address, _)) = self.changed.range(range.clone()).next() {
            self.changed.remove(&address);
        }
    }

    fn base_word(&self, address: u64) -> u64 {
        let mut bytes = [0; WORD_BYTES as usize];
        self.base.read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn word(&self, address: u64) -> u64 {
        self.changed.get(&address).copied().unwrap_or_else(|| self.base_word(address))
    }

    fn set_word(&mut self, address: u64, word: u64) {
        if word == self.base_word(address) {
            self.changed.remove(&address);
        } else {
            self.changed.insert(address, word);
        }
    }

    /// The value of `size` bytes (at most eight) at `address`.
    pub fn load(&self, address: u64, size: usize) -> u64 {
        let shift = address % WORD_BYTES * 8;
        let first = address - address % WORD_BYTES;
        let mut value = self.word(first) >> shift;
        if shift + size as u64 * 8 > 64 {
            value |= self.word(first.wrapping_add(WORD_BYTES)) << (64 - shift);
        }
        value & mask(size)
    }

    /// Replaces `size` bytes (at most eight) at `address`.
    pub fn store(&mut self, address: u64, size: usize, value: u64) {
        let shift = address % WORD_BYTES * 8;
        let first = address - address % WORD_BYTES;
        let (value, mask) = (value & mask(size), mask(size));
        self.set_word(first, self.word(first) & !(mask << shift) | value << shift);
        if shift + size as u64 * 8 > 64 {
            let next = first.wrapping_add(WORD_BYTES);
            let rest = 64 - shift;
            self.set_word(next, self.word(next) & !(mask >> rest) | value >> rest);
        }
    }

    /// Fills `bytes` from `address`.
    pub fn read_bytes(&self, address: u64, bytes: &mut [u8]) {
        for (at, chunk) in (address..).step_by(8).zip(bytes.chunks_mut(8)) {
            let word = self.load(at, chunk.len()).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// Replaces the bytes at `address`.
    pub fn write_bytes(&mut self, address: u64, bytes: &[u8]) {
        for (at, chunk) in (address..).step_by(8).zip(bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.store(at, chunk.len(), u64::from_le_bytes(word));
        }
    }

    /// The block of `length` bytes at `address`.
    pub fn read_block(&self, address: u64, length: usize) -> BlockData {
        let mut block = BlockData::zeroed(length);
        self.read_bytes(address, &mut block);
        block
    }
}

/// As many low bits as `size` bytes have.
fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

/// For the loader and the system calls of the program's start. Every page is
/// there; what a program may not touch is the simulator's business, not the
/// checker's.
impl GuestMemory for Words {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), AccessFault> {
        self.read_bytes(address, bytes);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault> {
        self.write_bytes(address, bytes);
        Ok(())
    }

    fn map(&mut self, _address: u64, _length: u64, _protection: Protection) {}

    fn unmap(&mut self, address: u64, length: u64) {
        self.forget(address..address + length);
    }

    fn forget_code(&mut self, _everywhere: bool) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn accesses_of_any_size_and_alignment_are_those_of_plain_memory(
            accesses in proptest::collection::vec((0u64..64, 0usize..4, any::<u64>(), any::<bool>()), 1..100),
            frozen_after in 0usize..100,
        ) {
            let (mut words, mut plain) = (Words::default(), [0u8; 80]);
            for (count, &(address, size, value, stores)) in accesses.iter().enumerate() {
                if count == frozen_after {
                    words = words.freeze();
                }
                let size = 1 << size;
                let bytes = &mut plain[address as usize..][..size];
                if stores {
                    words.store(0x1000 + address, size, value);
                    bytes.copy_from_slice(&value.to_le_bytes()[..size]);
                }
                let mut expected = [0; 8];
                expected[..size].copy_from_slice(bytes);
                prop_assert_eq!(words.load(0x1000 + address, size), u64::from_le_bytes(expected));
            }
        }
    }

    #[test]
    fn a_word_that_gets_its_old_value_back_is_forgotten() {
        let mut words = Words::default();
        words.store(0x1000, 8, 7);
        let mut words = words.freeze();
        words.store(0x1002, 1, 1);
        assert_eq!(words.changed().len(), 1);
        words.store(0x1002, 1, 0);
        assert!(words.changed().is_empty());
        assert_eq!(words.load(0x1000, 8), 7);
    }
}
