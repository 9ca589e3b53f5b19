//! Which thread simulates which partitions.
//!
//! The host time of sampled windows tells how much work each partition makes. If
//! the thread with most of it had clearly less by another division, partitions
//! move: the one with most work goes first, each to the thread with least.
//! Otherwise they stay where they are, because their memory is in the caches there.

use crate::simulation::group::Place;

/// Stretches between two looks.
const STRETCHES: u32 = 16;
/// Partitions move if the busiest thread's work shrinks below this part of it.
const MARGIN: f64 = 0.95;

/// The division of the partitions among threads.
#[derive(Debug)]
pub(super) struct Balance {
    threads: usize,
    /// Each partition's thread.
    division: Vec<usize>,
    places: Vec<Place>,
    until_look: u32,
}

impl Balance {
    /// Equal numbers of neighbouring partitions.
    pub fn new(threads: usize, partitions: usize) -> Self {
        let division: Vec<usize> = (0..partitions).map(|index| index * threads / partitions).collect();
        let places = places(&division, threads);
        Balance { threads, division, places, until_look: STRETCHES }
    }

    /// Where each partition is simulated.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Another stretch; tells whether it is time to look at the work.
    pub fn is_due(&mut self) -> bool {
        self.until_look -= 1;
        self.until_look == 0
    }

    /// Divides the partitions anew if that shortens the longest part of this work.
    pub fn divide(&mut self, work: &[u64]) {
        self.until_look = STRETCHES;
        let division = longest_first(work, self.threads);
        let (before, after) =
            (busiest(work, &self.division, self.threads), busiest(work, &division, self.threads));
        if (after as f64) < before as f64 * MARGIN {
            self.places = places(&division, self.threads);
            self.division = division;
        }
    }
}

/// The one with most work first, each to the thread with least; every thread gets one.
fn longest_first(work: &[u64], threads: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by_key(|&partition| (std::cmp::Reverse(work[partition]), partition));
    let mut loads = vec![(0, 0); threads];
    let mut division = vec![0; work.len()];
    for partition in order {
        let least = (0..threads).min_by_key(|&thread| loads[thread]).unwrap_or(0);
        division[partition] = least;
        let (load, members) = loads[least];
        loads[least] = (load + work[partition], members + 1);
    }
    division
}

/// The work of the thread that has most.
fn busiest(work: &[u64], division: &[usize], threads: usize) -> u64 {
    let mut loads = vec![0; threads];
    work.iter().zip(division).for_each(|(work, &thread)| loads[thread] += work);
    loads.into_iter().max().unwrap_or(0)
}

/// The places of partitions whose threads are given.
fn places(division: &[usize], threads: usize) -> Vec<Place> {
    let mut members = vec![0; threads];
    let place = |&thread: &usize| {
        members[thread] += 1;
        Place { thread, position: members[thread] - 1 }
    };
    division.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_work_stays_where_it_is() {
        let mut balance = Balance::new(2, 16);
        let before = balance.division.clone();
        balance.divide(&[10; 16]);
        assert_eq!((before[7], before[8]), (0, 1));
        assert_eq!(balance.division, before);
    }

    #[test]
    fn unequal_work_is_divided_evenly() {
        let work: Vec<u64> = (0..16).map(|index| if index < 4 { 100 } else { 10 }).collect();
        let mut balance = Balance::new(2, 16);
        balance.divide(&work);
        assert_eq!(busiest(&work, &balance.division, 2), 260);
        let positions: Vec<usize> =
            balance.places().iter().filter(|place| place.thread == 1).map(|place| place.position).collect();
        assert!(positions.iter().copied().eq(0..positions.len()));
    }

    #[test]
    fn work_that_nobody_has_measured_is_divided_by_number() {
        assert_eq!(longest_first(&[0; 4], 2), [0, 1, 0, 1]);
    }
}
