//! Amounts in intervals of one length, from counts that begin with a run.
//!
//! ```text
//!   looks      0 ──────── 1 ──────── 2 ───── end
//!   counted    0          7          9       9
//!   intervals       7          2         0
//! ```
//!
//! Links, queues and flow controls count from a run's begin. At the end of each interval, where all of the
//! machine has come to the same instant, the differences are taken; so nothing is done where a parcel
//! passes, and what comes of it is the same on any number of threads. When there are [`MOST`], each two
//! become one, and all further ones are twice as long.

use narthex_kernel::{Duration, Time};

/// Intervals of a run, at most; an even number.
pub const MOST: usize = 1_000;

/// The intervals of a run.
#[derive(Clone, Debug)]
pub struct Intervals {
    length: Duration,
    /// When the one that is under way began.
    begin: Time,
    count: usize,
}

impl Intervals {
    /// Of this length.
    pub fn new(length: Duration) -> Self {
        Intervals { length, begin: Time::ZERO, count: 0 }
    }

    /// When the interval that is under way ends.
    pub fn next_look(&self) -> Time {
        self.begin.saturating_add(self.length)
    }

    /// How many have ended.
    pub fn count(&self) -> usize {
        self.count
    }

    /// One has ended at `now`, and all has been looked at: whether tracks are to join pairs.
    pub fn end(&mut self, now: Time) -> bool {
        (self.begin, self.count) = (now, self.count + 1);
        let is_full = self.count == MOST;
        if is_full {
            (self.length, self.count) = (self.length * 2, self.count / 2);
        }
        is_full
    }

    /// Whether a run that ends at `end` has an interval that has not.
    pub fn has_rest(&self, end: Time) -> bool {
        end > self.begin || self.count == 0
    }

    /// The length of all but the last.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// The length of each, in a run that ends at `end`.
    pub fn lengths_ps(&self, end: Time) -> Vec<u64> {
        let length_ps = self.length.as_ps();
        let rest = |number| end.as_ps().saturating_sub(number * length_ps);
        (0..self.count as u64).map(|number| rest(number).clamp(1, length_ps)).collect()
    }
}

/// What intervals have of one thing.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// What was counted up to the last look.
    counted: u64,
    amounts: Vec<u64>,
}

impl Track {
    /// So much was counted up to now.
    pub fn count(&mut self, counted: u64) {
        self.amounts.push(counted.saturating_sub(self.counted));
        self.counted = counted;
    }

    /// So much is there now.
    pub fn note(&mut self, amount: u64) {
        self.amounts.push(amount);
    }

    /// Of two intervals that become one, all that was counted.
    pub fn join(&mut self) {
        self.join_by(|pair| pair.iter().sum());
    }

    /// Of two intervals that become one, what is there at the end.
    pub fn join_latest(&mut self) {
        self.join_by(|pair| *pair.last().expect("a chunk has one"));
    }

    fn join_by(&mut self, of: impl Fn(&[u64]) -> u64) {
        self.amounts = self.amounts.chunks(2).map(of).collect();
    }

    /// What each interval has.
    pub fn amounts(&self) -> &[u64] {
        &self.amounts
    }

    /// Whether none has anything.
    pub fn is_empty(&self) -> bool {
        self.amounts.iter().all(|&amount| amount == 0)
    }

    /// What each has over its length, to four digits behind the point.
    pub fn over(&self, lengths: impl Iterator<Item = f64>) -> Vec<f64> {
        let share = |(&amount, length): (&u64, f64)| (amount as f64 / length * 1e4).round() / 1e4;
        self.amounts.iter().zip(lengths).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_intervals_become_one_with_the_sum_of_what_was_counted_and_the_latest_of_what_is_there() {
        let mut counted = Track::default();
        [3, 3, 10, 11].into_iter().for_each(|so_far| counted.count(so_far));
        assert_eq!(counted.amounts, [3, 0, 7, 1]);
        counted.join();
        assert_eq!(counted.amounts, [3, 8]);
        let mut there = Track::default();
        [1, 4, 6, 5].into_iter().for_each(|amount| there.note(amount));
        there.join_latest();
        assert_eq!(there.amounts, [4, 5]);
    }

    #[test]
    fn a_longer_run_has_longer_intervals_of_which_the_last_may_be_short() {
        let mut intervals = Intervals::new(Duration::from_ps(10));
        let joins = (0..MOST).filter(|_| intervals.end(intervals.next_look())).count();
        assert_eq!((joins, intervals.count(), intervals.length()), (1, MOST / 2, Duration::from_ps(20)));
        assert_eq!(intervals.next_look(), Time::from_ps(10_020));
        let end = Time::from_ps(10_013);
        assert!(intervals.has_rest(end) && !intervals.end(end));
        assert_eq!(intervals.lengths_ps(end)[MOST / 2 - 1..], [20, 13]);
    }
}
