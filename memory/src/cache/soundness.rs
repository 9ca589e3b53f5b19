//! What a cache that is read from an archive has to be, so that none of its
//! tables leads out of another.

use super::front::{Recency, Row, RowPlaces, no_answer};
use super::{Cache, LOCKED, VALID};
use crate::protocols::State;

/// Ways of a set for whose order a word has room.
const MOST_WAYS: usize = 16;

/// What of a cache never changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    protocol: &'static str,
    lines: usize,
    ways: usize,
    block_bytes: usize,
    snarfs: bool,
}

impl Cache {
    /// What of it never changes.
    pub fn geometry(&self) -> Geometry {
        Geometry {
            protocol: self.protocol.name,
            lines: self.tags.len(),
            ways: self.ways,
            block_bytes: self.block_bytes,
            snarfs: !self.lost.is_empty(),
        }
    }

    /// Whether every table has its length, and every entry a place that exists. A hit relies
    /// on what is said here of rows (`cache/front.rs`).
    pub(super) fn is_sound(&self) -> bool {
        let (lines, ways, block_bytes) = (self.tags.len(), self.ways, self.block_bytes);
        if !(1..=MOST_WAYS).contains(&ways)
            || !lines.is_multiple_of(ways)
            || !block_bytes.is_power_of_two()
            || block_bytes < 16
        {
            return false;
        }
        let sets = lines / ways;
        let masks = (block_bytes.trailing_zeros(), !(block_bytes as u64 - 1) | 7);
        let has_lengths = sets.is_power_of_two()
            && sets <= RowPlaces::MOST
            && masks == (self.block_shift, self.compared)
            && self.rows == RowPlaces::new(sets, block_bytes)
            && self.front.len() == sets
            && self.recency.len() == if ways == 1 { 0 } else { sets }
            && [0, lines].contains(&self.lost.len())
            && [self.states.len(), self.allowed.len()] == [lines; 2]
            && lines.checked_mul(block_bytes) == Some(self.data.len())
            && self.place_mask == (self.data.len() / ways) as u64 - 1;
        let has_all =
            |word: u64| (0..ways).all(|way| (0..ways).any(|place| word >> (4 * place) & 15 == way as u64));
        let is_recency = |recency: &Recency| {
            has_all(recency.order) && has_all(recency.parts) && recency.part(recency.way(0)) == 0
        };
        let is_tag = |(line, &tag): (usize, &u64)| {
            let is_block = || tag == self.tag_of(tag);
            tag == 0 || tag == LOCKED || is_block() && self.lines_of(self.set_of(tag)).contains(&line)
        };
        // Each answer is the block of the most recent line of the set.
        let is_front = |(set, row): (usize, &Row)| {
            let tag = self.tags[set * ways + self.way_in_order(set, 0)];
            row.iter().all(|&answer| answer == no_answer(set) || answer == tag & !VALID && tag & VALID != 0)
        };
        has_lengths
            && self.recency.iter().all(is_recency)
            && (0..sets).all(|set| self.lines_of(set).any(|line| self.tags[line] != LOCKED))
            && self.tags.iter().enumerate().all(is_tag)
            && self.states.iter().all(|&state| (state as usize) < State::ALL.len())
            && self.front.iter().enumerate().all(is_front)
    }
}
