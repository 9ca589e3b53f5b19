//! Circles of events that get nothing done: a livelock.
//!
//! An event that completes an access, or a device's transaction, gets something done.
//! One that only refuses, or pushes a block, does not; a circle of such events can go on
//! for ever while every agent is busy.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// Events that got nothing done, between the places of worlds.
pub(super) struct IdleSteps<E>(HashMap<u32, Vec<(u32, E)>>);

impl<E> Default for IdleSteps<E> {
    fn default() -> Self {
        IdleSteps(HashMap::new())
    }
}

impl<E: Copy> IdleSteps<E> {
    /// An event leads from one place to another.
    pub fn add(&mut self, from: u32, to: u32, event: E) {
        self.0.entry(from).or_default().push((to, event));
    }

    /// The first place from which events lead back to it, if there is one, and the
    /// fewest such events. Where nothing is wrong few idle events follow each other, so
    /// the search from each place is short.
    pub fn circle(&self) -> Option<(u32, Vec<E>)> {
        let mut starts: Vec<u32> = self.0.keys().copied().collect();
        starts.sort_unstable();
        starts.into_iter().find_map(|start| Some((start, self.circle_through(start)?)))
    }

    fn circle_through(&self, start: u32) -> Option<Vec<E>> {
        let mut before: HashMap<u32, (u32, E)> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(here) = queue.pop_front() {
            for &(to, event) in self.0.get(&here).into_iter().flatten() {
                if let Entry::Vacant(new) = before.entry(to) {
                    new.insert((here, event));
                    queue.push_back(to);
                }
                if to == start {
                    let mut circle = vec![event];
                    let mut place = here;
                    while place != start {
                        let (from, event) = before[&place];
                        circle.push(event);
                        place = from;
                    }
                    circle.reverse();
                    return Some(circle);
                }
            }
        }
        None
    }
}
