//! The bytes that are under way between requesters and homes.
//!
//! Messages name them by a [`Slot`], so that what is carried stays small, and so that
//! system calls and debuggers find the newest bytes of a block wherever they are.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::transaction::BlockData;

/// Where the bytes of a message are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Slot(u16);

#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Block {
    address: u64,
    data: BlockData,
    /// No cache has newer ones, nor memory other ones.
    is_newest: bool,
}

/// Blocks that are under way.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Blocks {
    slots: Vec<Option<Block>>,
    free: Vec<Slot>,
}

impl Blocks {
    /// Keeps the bytes of a block; whether no others are newer.
    pub fn keep(&mut self, address: u64, data: BlockData, is_newest: bool) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            Slot(u16::try_from(self.slots.len() - 1).expect("fewer blocks are under way"))
        });
        self.slots[usize::from(slot.0)] = Some(Block { address, data, is_newest });
        slot
    }

    /// The bytes in a slot.
    pub fn get(&self, slot: Slot) -> &BlockData {
        &self.slots[usize::from(slot.0)].as_ref().expect("the slot has bytes").data
    }

    /// Takes the bytes out of a slot.
    pub fn take(&mut self, slot: Slot) -> BlockData {
        self.free.push(slot);
        self.slots[usize::from(slot.0)].take().expect("the slot has bytes").data
    }

    /// Others have newer bytes, or memory has these, too.
    pub fn outdate(&mut self, slot: Slot) {
        if let Some(block) = &mut self.slots[usize::from(slot.0)] {
            block.is_newest = false;
        }
    }

    /// Whether no bytes are under way.
    pub fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    /// The newest bytes of a block, if they are under way.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        let mut blocks = self.slots.iter().flatten();
        blocks.find(|block| block.address == address && block.is_newest).map(|block| &*block.data)
    }

    /// The bytes of blocks in this range are zeros from now on.
    pub fn discard(&mut self, range: &Range<u64>) {
        for block in self.slots.iter_mut().flatten().filter(|block| range.contains(&block.address)) {
            block.data.fill(0);
        }
    }

    /// Replaces bytes of a block wherever it is under way.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        for block in self.slots.iter_mut().flatten() {
            let offset = address.wrapping_sub(block.address) as usize;
            if let Some(target) = block.data.get_mut(offset..offset.wrapping_add(bytes.len())) {
                target.copy_from_slice(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_bytes_of_a_block_are_found_and_all_of_it_are_changed() {
        let mut blocks = Blocks::default();
        let old = blocks.keep(0x40, BlockData::from_bytes(&[1; 16]), true);
        let new = blocks.keep(0x40, BlockData::from_bytes(&[2; 16]), true);
        blocks.outdate(old);
        assert_eq!(blocks.peek(0x40), Some(&[2; 16][..]));
        assert_eq!(blocks.peek(0x50), None);
        blocks.poke(0x4f, &[9]);
        blocks.poke(0x50, &[7]);
        assert_eq!([old, new].map(|slot| (blocks.get(slot)[14], blocks.get(slot)[15])), [(1, 9), (2, 9)]);
        blocks.take(old);
        assert!(!blocks.is_empty());
        assert_eq!(blocks.keep(0x80, BlockData::zeroed(16), false), old, "a slot is used again");
        [old, new].into_iter().for_each(|slot| drop(blocks.take(slot)));
        assert!(blocks.is_empty());
    }
}
