//! The front of a cache: what a hit looks at.
//!
//! Each set has a row with the tag of its most recently used line, once where it may be
//! read and once where it may be written without a transaction. A hit is one compare
//! with it, exact for every replacement order, because the line that hits is already the
//! most recent. Whatever the row does not answer (other ways, the silent step from
//! exclusive to modified, misses) goes the slow way and may change the row.
//!
//! Where the bytes of a hit are, the address alone says, so that the host fetches them while it
//! still waits for the row: the data has a part for each way, and the bytes of each set's most
//! recent line are in the first part. A line that becomes the most recent changes places with
//! the one that was ([`Recency`]); this costs the slow way some fifty instructions of the host, and
//! a fill half of that.
//!
//! ```text
//!   data    | set 0 | set 1 | set 2 | set 3 | set 0 | set 1 | set 2 | set 3 |
//!             the most recent line of each    the other line of each
//! ```
//!
//! Every load and store of a program comes here, so a row and its bytes are found without a
//! check of bounds. What makes that safe is looked at again when a cache is read from an archive
//! (`cache/soundness.rs`):
//!
//! - There is a row for each set, and an address leads to the row of its set ([`RowPlaces`]).
//! - An answer of a row is the address of a block of its set, or what is none ([`no_answer`]): it has
//!   no bit of those that say where in its block an aligned access is not; so one that hits is aligned.
//! - The mask of places is one less than the bytes of the first part, a power of two.

use serde::{Deserialize, Serialize};

use super::{Cache, Line};
use crate::access_tags::Tag;
use crate::protocols::State;
use crate::transaction::copy_block;

/// What a set answers: the block of its most recently used line, once where it may be
/// read and once where it may be written; [`no_answer`] if it may not.
pub(super) type Row = [u64; 2];

/// What no access to a set compares equal with. Most sets have no block at address zero, and a table of
/// zeros takes the host no memory before it is used.
pub(super) const fn no_answer(set: usize) -> u64 {
    if set == 0 { NO_BLOCK } else { 0 }
}

/// A bit that no access compares: blocks have at least 16 bytes, and no access has more than eight.
const NO_BLOCK: u64 = 8;

/// The rows of this many sets that answer nothing.
pub(super) fn silent_rows(sets: usize) -> Box<[Row]> {
    let mut rows = vec![[0; 2]; sets];
    rows[0] = [no_answer(0); 2];
    rows.into()
}

/// What else is kept of a set of several ways, in words of four bits a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Recency {
    /// Its ways from most to least recently used.
    pub order: u64,
    /// For each way which part of the data has its bytes: the first one for the most recent.
    pub parts: u64,
}

impl Recency {
    /// Of a set that nothing has used.
    pub fn new(ways: usize) -> Self {
        let order = (0..ways as u64).fold(0, |order, way| order | way << (4 * way));
        Recency { order, parts: order }
    }

    /// The way at this place of the order.
    #[inline(always)]
    pub fn way(self, place: usize) -> usize {
        (self.order >> (4 * place) & 15) as usize
    }

    /// Which part of the data has the bytes of a way.
    #[inline(always)]
    pub fn part(self, way: usize) -> usize {
        (self.parts >> (4 * way) & 15) as usize
    }

    /// After this way has been used, whose bytes have changed places with those of the first.
    #[inline(always)]
    fn after(self, way: usize) -> Recency {
        let part = self.part(way) as u64;
        let parts = self.parts ^ part << (4 * way) ^ part << (4 * self.way(0));
        Recency { order: moved_to_front(self.order, way as u64), parts }
    }
}

/// How addresses lead to the rows of their sets: by a product, because a shift by what a block's
/// size says would take the host more instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct RowPlaces {
    /// The bits of an address that say which set is its.
    pub set_bits: u64,
    /// What they are multiplied by, for the distance of the row in bytes above [`SCALE_BITS`].
    scale: u64,
}

/// Bits below a distance that was multiplied.
const SCALE_BITS: u32 = 32;

impl RowPlaces {
    /// The most rows that there can be.
    pub const MOST: usize = 1 << 26;

    /// Those of this many sets of blocks, powers of two both.
    pub fn new(sets: usize, block_bytes: usize) -> Self {
        debug_assert!(sets <= Self::MOST);
        let set_bits = ((sets as u64).wrapping_sub(1)) << block_bytes.trailing_zeros();
        RowPlaces {
            set_bits,
            scale: ((size_of::<Row>() as u64) << SCALE_BITS) >> block_bytes.trailing_zeros(),
        }
    }

    /// How far the row of the set of `address` is from the first one, in bytes.
    #[inline(always)]
    fn distance(self, address: u64) -> usize {
        (((address & self.set_bits) * self.scale) >> SCALE_BITS) as usize
    }
}

impl Cache {
    /// The value at `address` if its line is the most recent of its set and
    /// readable, and the access is aligned.
    #[inline(always)]
    pub fn load_hit<const SIZE: usize>(&self, address: u64) -> Option<u64> {
        let place = self.front_bytes::<SIZE>(address, 0)?;
        let mut value = [0; 8];
        // SAFETY: the place is in the first part of the data, as all that front_bytes returns.
        value[..SIZE].copy_from_slice(unsafe { self.data.get_unchecked(place..place + SIZE) });
        Some(u64::from_le_bytes(value))
    }

    /// The value that begins at a place of `data`.
    #[inline(always)]
    pub(crate) fn value_at<const SIZE: usize>(&self, place: usize) -> u64 {
        let mut value = [0; 8];
        value[..SIZE].copy_from_slice(&self.data[place..place + SIZE]);
        u64::from_le_bytes(value)
    }

    /// Stores `value` if the line of `address` is the most recent of its set
    /// and modified already, and the access is aligned.
    #[inline(always)]
    pub fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        let Some(place) = self.front_bytes::<SIZE>(address, 1) else {
            return false;
        };
        // SAFETY: the place is in the first part of the data, as all that front_bytes returns.
        let bytes = unsafe { self.data.get_unchecked_mut(place..place + SIZE) };
        bytes.copy_from_slice(&value.to_le_bytes()[..SIZE]);
        true
    }

    /// Replaces the value that begins at a place of `data`.
    #[inline(always)]
    pub(crate) fn set_value_at<const SIZE: usize>(&mut self, place: usize, value: u64) {
        self.data[place..place + SIZE].copy_from_slice(&value.to_le_bytes()[..SIZE]);
    }

    /// Whether the line of `address` is the most recent of its set and readable.
    #[inline(always)]
    pub fn fetch_hit(&self, address: u64) -> bool {
        self.front_bytes::<1>(address, 0).is_some()
    }

    /// The bits of an address that an access of `SIZE` bytes compares with a row: those of its block, and
    /// those that are zero where it is aligned.
    #[inline(always)]
    fn compared_bits<const SIZE: usize>(&self) -> u64 {
        const { assert!(SIZE <= 8) };
        self.compared & !(7 ^ (SIZE as u64 - 1))
    }

    /// Where in `data` the `SIZE` bytes of `address` are, all of them, if the front row says so.
    /// What is compared has the address bits that would make the access misaligned, so
    /// that one compare refuses those too, and all of them are in the first part of the data.
    #[inline(always)]
    pub(super) fn front_bytes<const SIZE: usize>(&self, address: u64, column: usize) -> Option<usize> {
        let distance = self.rows.distance(address);
        debug_assert_eq!(distance, size_of::<Row>() * self.set_of(address));
        debug_assert!(self.set_of(address) < self.front.len());
        // SAFETY: it is the distance of the row of a set, and each set has a row.
        let row = unsafe { &*self.front.as_ptr().byte_add(distance) };
        if row[column] != address & self.compared_bits::<SIZE>() {
            return None;
        }
        let place = (address & self.place_mask) as usize;
        debug_assert!(place.checked_add(SIZE).is_some_and(|end| end <= self.data.len()));
        Some(place)
    }

    /// Writes the front row of the line's set anew if it describes this line,
    /// which holds a block.
    pub(super) fn refresh_front(&mut self, line: Line) {
        let described = (self.block_in(line), self.states[line], self.allowed[line]);
        let set = self.set_of(described.0);
        if self.way_in_order(set, 0) == line - set * self.ways {
            self.write_row(set, line, described);
        }
    }

    /// The front row of a set answers no more for a line with this block.
    #[inline(always)]
    pub(super) fn forget_front(&mut self, set: usize, block: u64) {
        for answer in &mut self.front[set] {
            *answer = if *answer == block { no_answer(set) } else { *answer };
        }
    }

    /// Makes the front row of a set describe a line with this block, in this state, and with
    /// these rights, which is its most recent from now on.
    #[inline(always)]
    pub(super) fn write_row(&mut self, set: usize, line: Line, described: (u64, u8, u8)) {
        if self.ways > 1 {
            self.use_way(set, line - set * self.ways);
        }
        self.front[set] = answers(set, described);
    }

    /// A way of a set is its most recent one from now on, and its bytes are in the first part.
    #[inline(always)]
    fn use_way(&mut self, set: usize, way: usize) {
        if let Some([first, own]) = self.promote(set, way) {
            let (before, from_own) = self.data.split_at_mut(own);
            let first = &mut before[first..first + self.block_bytes];
            swap_blocks(first, &mut from_own[..self.block_bytes]);
        }
    }

    /// The bytes of a line that takes in a whole block, and is the most recent of its set from now on:
    /// those that it had are gone.
    #[inline(always)]
    pub(super) fn bytes_to_fill(&mut self, set: usize, line: Line) -> &mut [u8] {
        if self.ways > 1
            && let Some([first, own]) = self.promote(set, line - set * self.ways)
        {
            let (before, from_own) = self.data.split_at_mut(own);
            copy_block(&mut from_own[..self.block_bytes], &before[first..first + self.block_bytes]);
        }
        let first = self.start_in_part(0, set);
        &mut self.data[first..first + self.block_bytes]
    }

    /// Makes a way the most recent of its set. If it was not, two blocks have to change places, and
    /// the caller sees to that: where the first part has the bytes of the set, and where those of this way are.
    #[inline(always)]
    fn promote(&mut self, set: usize, way: usize) -> Option<[usize; 2]> {
        let recency = self.recency[set];
        if recency.way(0) == way {
            return None;
        }
        self.recency[set] = recency.after(way);
        Some([0, recency.part(way)].map(|part| self.start_in_part(part, set)))
    }

    /// Where the bytes of a set begin in a part of the data.
    #[inline(always)]
    fn start_in_part(&self, part: usize, set: usize) -> usize {
        (part * self.front.len() + set) << self.block_shift
    }

    /// Where the bytes of a line begin.
    #[inline(always)]
    pub(super) fn start_of(&self, line: Line) -> usize {
        if self.ways == 1 {
            return line << self.block_shift;
        }
        let (set, way) = (line / self.ways, line % self.ways);
        self.start_in_part(self.recency[set].part(way), set)
    }
}

/// What loads and stores are answered of a line of a set with this block, in this state, and with
/// these rights.
#[inline(always)]
fn answers(set: usize, (block, state, allowed): (u64, u8, u8)) -> Row {
    let fast_loads = state != State::Invalid as u8 && allowed >= Tag::Read as u8;
    let fast_stores = state == State::Modified as u8 && allowed >= Tag::Write as u8;
    [fast_loads, fast_stores].map(|is_fast| if is_fast { block } else { no_answer(set) })
}

/// DirectFills the bytes of two blocks, by pieces that a register of the host takes: each block has as
/// many bytes as some of them.
#[inline(always)]
fn swap_blocks(one: &mut [u8], other: &mut [u8]) {
    let pieces = one.as_chunks_mut::<16>().0.iter_mut().zip(other.as_chunks_mut::<16>().0);
    pieces.for_each(|(one, other)| std::mem::swap(one, other));
}

/// `order` (four bits an entry, most recent lowest) with `way`, which is in it, moved to
/// the front.
#[inline(always)]
pub(super) fn moved_to_front(order: u64, way: u64) -> u64 {
    const ONES: u64 = 0x1111_1111_1111_1111;
    if order & 15 == way {
        return order;
    }
    // The entry that is equal is zero, and the lowest zero alone borrows for sure.
    let differs = order ^ (way * ONES);
    let zeros = differs.wrapping_sub(ONES) & !differs & (8 * ONES);
    let place = zeros.trailing_zeros() - 3;
    let newer = order & ((1 << place) - 1);
    let older = order & (!15 << place);
    older | newer << 4 | way
}
