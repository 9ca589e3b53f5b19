//! Lines of the second level that are taken away from caching while the machine runs.
//!
//! A line goes when the interconnect is granted, as a victim does: its block leaves all
//! caches of the processor, and if that is newer than its home, its write-back is the
//! transaction of the grant. Lines without such a block go with the same grant. Until then
//! a line is an ordinary one.
//!
//! ```text
//!   lock_lines ──► to lock ──(granted: the block leaves)──► locked ──free_lines──► empty
//! ```

use crate::cache::LastWay;
use crate::transaction::Transaction;

use super::ProcessorMemory;
use super::second_level::SecondLevel;

impl ProcessorMemory {
    /// Takes lines of the second level, by set and way, away from caching: how many blocks
    /// have to be written back for it. The node asks for the interconnect in this agent's
    /// name, and the lines are locked when [`ProcessorMemory::is_locking`] says no more.
    ///
    /// # Errors
    /// If a set would lose its last line; nothing is locked then.
    ///
    /// # Panics
    /// If there is no second level, or no such line.
    pub fn lock_lines(&mut self, lines: &[(usize, usize)]) -> Result<usize, LastWay> {
        self.second_to_lock().lock_lines(lines)
    }

    /// Lines that were locked, or are to be, are there for blocks again, and empty.
    ///
    /// # Panics
    /// If there is no second level, or no such line.
    pub fn free_lines(&mut self, lines: &[(usize, usize)]) {
        self.second_to_lock().free_lines(lines);
    }

    fn second_to_lock(&mut self) -> &mut SecondLevel {
        self.second.as_mut().expect("scratchpad is in a second level")
    }

    /// Whether lines that are to be locked still wait for the interconnect.
    #[inline]
    pub fn is_locking(&self) -> bool {
        self.second.as_ref().is_some_and(|second| !second.to_lock.is_empty())
    }

    /// Whether a line of the second level, by set and way, is locked.
    pub fn is_locked(&self, line: (usize, usize)) -> bool {
        self.second.as_ref().is_some_and(|second| second.cache.is_locked(line))
    }

    /// Sets, ways and bytes of a block of the second level.
    pub fn second_level_geometry(&self) -> Option<[usize; 3]> {
        let cache = &self.second.as_ref()?.cache;
        Some([cache.sets(), cache.ways(), cache.block_bytes()])
    }

    /// Locks the lines that are to be locked, up to one whose block goes home: its
    /// write-back.
    #[inline(never)]
    pub(super) fn lock_next(&mut self) -> Option<Transaction> {
        let second = self.second.as_mut()?;
        while let Some(line) = second.to_lock.pop_front() {
            let block = second.cache.block_at(line);
            let left =
                block.and_then(|block| second.evict(&mut self.data, self.instructions.as_mut(), block));
            second.cache.lock(line);
            if let Some((block, data)) = left {
                self.keep_reservation();
                return Some(self.write_back(block, data));
            }
        }
        self.keep_reservation();
        None
    }
}

impl SecondLevel {
    fn lock_lines(&mut self, places: &[(usize, usize)]) -> Result<usize, LastWay> {
        let mut lines: Vec<usize> = self.to_lock.iter().copied().collect();
        let before = lines.len();
        for &place in places {
            let line = self.cache.line_at(place);
            if !self.cache.is_locked(place) && !lines.contains(&line) {
                lines.push(line);
            }
        }
        self.cache.may_lock(&lines)?;
        let added = &lines[before..];
        let dirty = added.iter().filter(|&&line| self.cache.is_line_dirty(line)).count();
        self.to_lock.extend(added);
        Ok(dirty)
    }

    fn free_lines(&mut self, places: &[(usize, usize)]) {
        for &place in places {
            let line = self.cache.line_at(place);
            self.to_lock.retain(|&waiting| waiting != line);
            self.cache.free(line);
        }
    }
}
