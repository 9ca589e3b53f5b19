//! Regions: named stretches of time that a program marks.

use std::collections::BTreeMap;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::counts::Counts;

/// A named stretch of time that a program marked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// The processor of the node whose thread marked it.
    pub processor: usize,
    /// When it began.
    pub begin: Time,
    /// What was counted until then.
    before: Counts,
    /// When it ended, and what was counted in it; none if the program ended first.
    pub end: Option<(Time, Counts)>,
}

/// The regions of a process, in the order in which they began.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Regions {
    all: Vec<Region>,
    /// Places of those that have not ended, by processor and name; the last one ends
    /// first.
    open: BTreeMap<(usize, String), Vec<usize>>,
}

impl Regions {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Region> {
        self.all.iter()
    }

    /// One begins now, on this processor.
    pub fn begin(&mut self, processor: usize, name: String, now: Time, before: Counts) {
        self.open.entry((processor, name.clone())).or_default().push(self.all.len());
        self.all.push(Region { name, processor, begin: now, before, end: None });
    }

    /// The program goes on at `now` on a machine that has counted so much: those that are open begin
    /// there.
    pub fn go_on(&mut self, now: Time, counts: &Counts) {
        for place in self.open.values().flatten() {
            if let Some(region) = self.all.get_mut(*place) {
                (region.begin, region.before) = (now, counts.clone());
            }
        }
    }

    /// The last one of this name that is open on the processor ends now; false if none
    /// is.
    pub fn end(&mut self, processor: usize, name: String, now: Time, counts: &Counts) -> bool {
        let key = (processor, name);
        let Some(open) = self.open.get_mut(&key) else { return false };
        let last = open.pop().and_then(|place| self.all.get_mut(place));
        if open.is_empty() {
            self.open.remove(&key);
        }
        let Some(region) = last else { return false };
        region.end = Some((now, counts.since(&region.before)));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_regions_of_one_name_the_last_that_is_open_ends_first() {
        let mut regions = Regions::default();
        for (at, name) in [(1, "outer"), (2, "inner"), (3, "inner")] {
            regions.begin(0, name.into(), Time::from_ps(at), Counts::default());
        }
        for (at, name, is_open) in
            [(4, "inner", true), (5, "outer", true), (6, "inner", true), (7, "inner", false)]
        {
            let is_ended = regions.end(0, name.into(), Time::from_ps(at), &Counts::default());
            assert_eq!(is_ended, is_open, "{name} at {at}");
        }
        assert!(!regions.end(1, "outer".into(), Time::from_ps(8), &Counts::default()), "another thread's");
        let ends: Vec<_> =
            regions.iter().map(|region| region.end.as_ref().map(|end| end.0.as_ps())).collect();
        assert_eq!(ends, [Some(5), Some(6), Some(4)]);
    }
}
