//! Which thread simulates which partitions.
//!
//! The host time of sampled windows tells how much work each partition makes. If
//! the thread with most of it had clearly less by another division, partitions
//! move; otherwise they stay where they are, because their memory is in the caches
//! there. Neighbours stay together where that is as good: they often send most to
//! each other, and what stays on a thread is cheaper. Where it is not, the
//! partition with most work goes first, each to the thread with least.

use crate::simulation::group::ThreadPosition;

/// Stretches between two looks.
const STRETCHES: u32 = 16;
/// At each look, of the work that was seen before so much still counts: what the
/// host does besides then looks like no work of a partition.
const KEPT: f64 = 7.0 / 8.0;
/// Partitions move if the busiest thread's work shrinks below this part of it.
const MARGIN: f64 = 0.95;
/// The same if neighbours are separated.
const SEPARATION_MARGIN: f64 = 0.9;

/// The division of the partitions among threads.
#[derive(Debug)]
pub(super) struct Balance {
    threads: usize,
    /// Each partition's work lately.
    work: Vec<f64>,
    /// Each partition's thread.
    division: Vec<usize>,
    places: Vec<ThreadPosition>,
    until_look: u32,
}

impl Balance {
    /// Equal numbers of neighbouring partitions.
    pub fn new(threads: usize, partitions: usize) -> Self {
        let division: Vec<usize> = (0..partitions).map(|index| index * threads / partitions).collect();
        let places = places(&division, threads);
        Balance { threads, work: vec![0.0; partitions], division, places, until_look: STRETCHES }
    }

    /// Where each partition is simulated.
    pub fn places(&self) -> &[ThreadPosition] {
        &self.places
    }

    /// Another stretch; tells whether it is time to look at the work.
    pub fn is_due(&mut self) -> bool {
        self.until_look -= 1;
        self.until_look == 0
    }

    /// Divides the partitions again if that shortens the longest part of the work,
    /// of which this is new.
    pub fn divide(&mut self, new: &[u64]) {
        self.until_look = STRETCHES;
        self.work.iter_mut().zip(new).for_each(|(work, &new)| *work = *work * KEPT + new as f64);
        let work: Vec<u64> = self.work.iter().map(|&work| work as u64).collect();
        let divisions = [
            (neighbours(&work, self.threads), MARGIN),
            (longest_first(&work, self.threads), SEPARATION_MARGIN),
        ];
        for (division, margin) in divisions {
            let (before, after) =
                (busiest(&work, &self.division, self.threads), busiest(&work, &division, self.threads));
            if (after as f64) < before as f64 * margin {
                self.places = places(&division, self.threads);
                self.division = division;
            }
        }
    }
}

/// Ranges of neighbours, whose longest part is as short as it can be.
fn neighbours(work: &[u64], threads: usize) -> Vec<usize> {
    // What has not been measured counts as well.
    let work: Vec<u64> = work.iter().map(|&work| work.max(1)).collect();
    let (mut too_short, mut long_enough) = (work.iter().max().copied().unwrap_or(1) - 1, work.iter().sum());
    while long_enough - too_short > 1 {
        let length = too_short + (long_enough - too_short) / 2;
        let needed = ranges(&work, length).last().map_or(0, |last| last + 1);
        if needed <= threads {
            long_enough = length;
        } else {
            too_short = length;
        }
    }
    ranges(&work, long_enough)
}

/// Ranges of so much work at most, each as long as it can be.
fn ranges(work: &[u64], longest: u64) -> Vec<usize> {
    let (mut thread, mut load) = (0, 0);
    let place = |&work: &u64| {
        load += work;
        if load > longest {
            (thread, load) = (thread + 1, work);
        }
        thread
    };
    work.iter().map(place).collect()
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
fn places(division: &[usize], threads: usize) -> Vec<ThreadPosition> {
    let mut members = vec![0; threads];
    let place = |&thread: &usize| {
        members[thread] += 1;
        ThreadPosition { thread, position: members[thread] - 1 }
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
    fn neighbours_stay_together_where_that_is_as_good() {
        let work: Vec<u64> = (0..16).map(|index| if index < 8 { 10 } else { 14 }).collect();
        let mut balance = Balance::new(2, 16);
        balance.divide(&work);
        assert_eq!(balance.division, [[0; 9].as_slice(), &[1; 7]].concat());
        assert_eq!(neighbours(&[0; 4], 2), [0, 0, 1, 1]);
        assert_eq!(neighbours(&[5, 1, 1, 1, 1, 1], 3), [0, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn one_interruption_of_the_host_moves_no_partition_and_lasting_work_does() {
        let (mut balance, mut work) = (Balance::new(2, 16), [100; 16]);
        let before = balance.division.clone();
        (0..20).for_each(|_| balance.divide(&work));
        work[3] = 180;
        balance.divide(&work);
        assert_eq!(balance.division, before);
        (0..20).for_each(|_| balance.divide(&work));
        assert_eq!(balance.division, before, "8 against 7 neighbours would be no better");
        work[2] = 180;
        (0..20).for_each(|_| balance.divide(&work));
        assert_eq!(balance.division[7], 1);
    }

    #[test]
    fn work_that_was_not_measured_is_divided_by_number() {
        assert_eq!(longest_first(&[0; 4], 2), [0, 1, 0, 1]);
    }
}
