//! Lines that are taken away from caching while the machine runs (sarc, Section 3.1):
//! the bytes of such a line are scratchpad, which its owner keeps.
//!
//! A locked line has a tag that no block has: it is not empty, matches no address, and is
//! passed over where a set gives up its oldest line. A hit does not know of it.

use super::{Cache, Line};

/// The tag of a locked line: neither empty nor valid.
pub(super) const LOCKED: u64 = 4;

/// Lines that a cache cannot do without: a set has to keep one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("scratchpad larger than the ways allow: set {set} has {ways}, and one of them must be left to cache")]
pub struct LastWay {
    /// The set.
    pub set: usize,
    /// How many ways it has.
    pub ways: usize,
}

impl Cache {
    /// How many sets it has.
    pub fn sets(&self) -> usize {
        self.front.len()
    }

    /// Lines in a set.
    pub fn ways(&self) -> usize {
        self.ways
    }

    /// The line at this set and way.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn line_at(&self, (set, way): (usize, usize)) -> Line {
        assert!(set < self.sets() && way < self.ways, "a cache of {} x {} lines", self.sets(), self.ways);
        set * self.ways + way
    }

    /// Whether a line is locked.
    pub fn is_locked(&self, line: (usize, usize)) -> bool {
        self.tags[self.line_at(line)] == LOCKED
    }

    /// The block that a line holds.
    pub(crate) fn block_at(&self, line: Line) -> Option<u64> {
        self.has_block(line).then(|| self.block_in(line))
    }

    /// Whether a line holds a block that is newer than its home.
    pub(crate) fn is_line_dirty(&self, line: Line) -> bool {
        self.line_state(line).is_dirty()
    }

    /// Locks a line that holds no block.
    pub(crate) fn lock(&mut self, line: Line) {
        debug_assert!(!self.has_block(line), "a block was locked away");
        if let Some(lost) = self.lost.get_mut(line) {
            *lost = 0;
        }
        self.tags[line] = LOCKED;
    }

    /// A line is there for blocks again, and empty.
    pub(crate) fn free(&mut self, line: Line) {
        if self.tags[line] == LOCKED {
            self.tags[line] = 0;
        }
    }

    /// Whether each set keeps a line if these are locked, too.
    ///
    /// # Errors
    /// If one does not, the first of them.
    pub(crate) fn may_lock(&self, lines: &[Line]) -> Result<(), LastWay> {
        let is_left = |line: Line| self.tags[line] != LOCKED && !lines.contains(&line);
        let mut sets = lines.iter().map(|line| line / self.ways);
        match sets.find(|&set| !self.lines_of(set).any(is_left)) {
            Some(set) => Err(LastWay { set, ways: self.ways }),
            None => Ok(()),
        }
    }

    pub(super) fn locked(&self) -> impl Iterator<Item = Line> {
        (0..self.tags.len()).filter(|&line| self.tags[line] == LOCKED)
    }

    /// The least recently used way of a set that is not locked.
    #[cold]
    pub(super) fn oldest_unlocked_way(&self, set: usize) -> usize {
        let from_oldest = (0..self.ways).rev().map(|place| self.way_in_order(set, place));
        let mut unlocked = from_oldest.filter(|way| self.tags[set * self.ways + way] != LOCKED);
        unlocked.next().expect("a set keeps a line to cache")
    }
}
