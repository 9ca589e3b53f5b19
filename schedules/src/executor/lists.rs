//! What waits in a rank for its other side: receives for messages, messages for receives.
//!
//! The entries of all lists lie in one array, and those that are free are a list themselves: a list
//! of its own for each rank would be two allocations for each of a hundred thousand.

/// No entry.
const NONE: u32 = u32::MAX;

/// A posted receive, or a kept message, in a list of its rank.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    next: u32,
    pub peer: u32,
    pub tag: u32,
    pub operation: u32,
}

#[derive(Clone, Copy)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        List { first: NONE, last: NONE }
    }
}

/// The entries of all ranks' lists.
pub(super) struct Lists {
    entries: Vec<Waiting>,
    free: u32,
}

impl Default for Lists {
    fn default() -> Self {
        Lists { entries: Vec::new(), free: NONE }
    }
}

impl Waiting {
    /// What waits for this peer and this tag, or has them.
    pub fn new(peer: u32, tag: u32, operation: u32) -> Self {
        Waiting { next: NONE, peer, tag, operation }
    }
}

impl Lists {
    /// Puts an entry at a list's end.
    pub fn append(&mut self, list: &mut List, entry: Waiting) {
        let place = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let place = self.free;
            self.free = self.entries[place as usize].next;
            self.entries[place as usize] = entry;
            place
        };
        if list.first == NONE {
            list.first = place;
        } else {
            self.entries[list.last as usize].next = place;
        }
        list.last = place;
    }

    /// Takes the first that fits out of a list.
    #[inline]
    pub fn remove(&mut self, list: &mut List, fits: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        let (mut before, mut place) = (NONE, list.first);
        while place != NONE {
            let entry = self.entries[place as usize];
            if fits(&entry) {
                if before == NONE {
                    list.first = entry.next;
                } else {
                    self.entries[before as usize].next = entry.next;
                }
                if list.last == place {
                    list.last = before;
                }
                self.entries[place as usize].next = self.free;
                self.free = place;
                return Some(entry);
            }
            (before, place) = (place, entry.next);
        }
        None
    }
}
