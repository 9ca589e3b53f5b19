//! What the kernel agent gives out: numbers with an owner, and memory for lists of frames.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::device_call::CallError;
use crate::registers::KERNEL_MEMORY;
use narthex_memory::main_memory::PAGE_BYTES;

/// An entry of a table with its number.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Owned<T> {
    /// Its number.
    pub number: u64,
    /// Whose it is.
    pub process: u8,
    /// What it is.
    pub own: T,
}

/// Things of processes, by small numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Table<T> {
    first: u64,
    limit: u64,
    entries: BTreeMap<u64, Owned<T>>,
}

impl<T: Clone> Table<T> {
    /// Room for so many, with numbers from 1 on.
    pub fn new(limit: u32) -> Self {
        Table { first: 1, limit: limit.into(), entries: BTreeMap::new() }
    }

    /// Room for so many, with numbers from 0 on.
    pub fn from_zero(limit: u32) -> Self {
        Table { first: 0, ..Table::new(limit) }
    }

    /// How many there can be.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The smallest number that nothing has.
    pub fn free(&self) -> Option<u64> {
        (self.first..self.first + self.limit).find(|number| !self.entries.contains_key(number))
    }

    /// Something of a process gets this number.
    pub fn put(&mut self, number: u64, process: u8, own: T) -> Owned<T> {
        let entry = Owned { number, process, own };
        self.entries.insert(number, entry.clone());
        entry
    }

    /// Something of a process gets a number.
    ///
    /// # Errors
    /// If there are as many as there can be.
    pub fn add(&mut self, process: u8, own: T) -> Result<u64, CallError> {
        let number = self.free().ok_or(CallError::NoMemory)?;
        self.put(number, process, own);
        Ok(number)
    }

    /// What a process has by this number.
    ///
    /// # Errors
    /// If it has nothing.
    pub fn get(&self, process: u8, number: u64) -> Result<&T, CallError> {
        let entry = self.entries.get(&number).filter(|entry| entry.process == process);
        entry.map(|entry| &entry.own).ok_or(CallError::Invalid)
    }

    /// The same, to be changed.
    ///
    /// # Errors
    /// If it has nothing.
    pub fn get_mut(&mut self, process: u8, number: u64) -> Result<&mut T, CallError> {
        let entry = self.entries.get_mut(&number).filter(|entry| entry.process == process);
        entry.map(|entry| &mut entry.own).ok_or(CallError::Invalid)
    }

    /// Takes what a process has by this number.
    ///
    /// # Errors
    /// If it has nothing.
    pub fn remove(&mut self, process: u8, number: u64) -> Result<T, CallError> {
        self.get(process, number)?;
        Ok(self.entries.remove(&number).expect("it is there").own)
    }

    /// Takes everything that a process has.
    pub fn remove_all(&mut self, process: u8) -> Vec<T> {
        let (taken, kept) =
            std::mem::take(&mut self.entries).into_iter().partition(|(_, entry)| entry.process == process);
        self.entries = kept;
        let taken: BTreeMap<u64, Owned<T>> = taken;
        taken.into_values().map(|entry| entry.own).collect()
    }

    /// Everything there is.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.values().map(|entry| &entry.own)
    }
}

/// Memory of the system for lists of frames, in whole pages.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct FrameLists {
    /// Where lists begin, and where they end.
    used: BTreeMap<u64, u64>,
}

impl FrameLists {
    /// Pages of a region at most.
    pub const MOST_PAGES: u64 = 1 << 16;

    /// Room for the frames of so many pages; none if there is none.
    pub fn allocate(&mut self, pages: u64) -> Option<Range<u64>> {
        let bytes = (pages * 8).next_multiple_of(PAGE_BYTES);
        let mut start = KERNEL_MEMORY.start;
        for (&used, &end) in &self.used {
            if used - start >= bytes {
                break;
            }
            start = end;
        }
        let list = start..start + bytes;
        (list.end <= KERNEL_MEMORY.end).then(|| {
            self.used.insert(list.start, list.end);
            list
        })
    }

    /// A list is not used any more.
    pub fn free(&mut self, list: Range<u64>) {
        self.used.remove(&list.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_its_owners_and_the_smallest_free_one() {
        let mut table = Table::new(2);
        assert_eq!([table.add(0, 'a'), table.add(1, 'b')], [Ok(1), Ok(2)]);
        assert_eq!(table.add(0, 'c'), Err(CallError::NoMemory));
        assert_eq!((table.get(0, 1), table.get(0, 2)), (Ok(&'a'), Err(CallError::Invalid)));
        assert_eq!((table.remove(0, 2), table.remove(0, 1)), (Err(CallError::Invalid), Ok('a')));
        assert_eq!(table.add(1, 'd'), Ok(1));
        assert_eq!((table.remove_all(1), table.iter().count()), (vec!['d', 'b'], 0));
    }

    #[test]
    fn a_list_takes_the_first_gap_that_is_large_enough() {
        let mut lists = FrameLists::default();
        let [one, two, three] = [1, 513, 1].map(|pages| lists.allocate(pages).expect("room"));
        assert_eq!((one.end, two.end - two.start, three.start), (two.start, 2 * PAGE_BYTES, two.end));
        lists.free(one.clone());
        assert_eq!(lists.allocate(513).expect("room").start, three.end);
        assert_eq!(lists.allocate(512).expect("room"), one);
        assert_eq!(lists.allocate(1 << 30), None);
    }
}
