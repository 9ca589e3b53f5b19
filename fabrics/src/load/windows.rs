//! When is measured: windows, each twice as long as the one before, in quarters.
//!
//! ```text
//!   0 ── warm-up ──►├┼┼┼┤├─┼─┼─┼─┤├───┼───┼───┼───┤ ... patience ──►
//!                   window 0  window 1     window 2
//! ```
//!
//! Quarters are counted through all windows.

use narthex_kernel::{Duration, Time};

/// Quarters of a window.
pub const QUARTERS: usize = 4;

/// The instants between which is measured.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// The end of the warm-up.
    pub begin: Time,
    /// The length of the first one.
    pub first: Duration,
    /// How many there are at most.
    pub count: u32,
}

impl Windows {
    /// When one begins: when the one before ends.
    pub fn begin(&self, window: u32) -> Time {
        self.begin + self.first * ((1 << window) - 1)
    }

    /// How long one lasts.
    pub fn length(&self, window: u32) -> Duration {
        self.first * (1 << window)
    }

    /// When measuring is given up: after the last one, and once more as long for its packets.
    pub fn given_up(&self) -> Time {
        self.begin(self.count + 1)
    }

    /// The quarters of one.
    pub fn quarters(window: u32) -> std::ops::Range<usize> {
        let first = window as usize * QUARTERS;
        first..first + QUARTERS
    }

    /// All quarters.
    pub fn all_quarters(&self) -> usize {
        self.count as usize * QUARTERS
    }

    /// When a quarter begins.
    pub fn quarter_begin(&self, quarter: usize) -> Time {
        let (window, own) = ((quarter / QUARTERS) as u32, (quarter % QUARTERS) as u64);
        self.begin(window) + Duration::from_ps(self.length(window).as_ps() * own / QUARTERS as u64)
    }

    /// The quarter in which an instant is.
    pub fn quarter_at(&self, at: Time) -> Option<usize> {
        if at < self.begin {
            return None;
        }
        let window = ((at - self.begin).as_ps() / self.first.as_ps() + 1).ilog2();
        if window >= self.count {
            return None;
        }
        Self::quarters(window).rev().find(|&quarter| self.quarter_begin(quarter) <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_is_twice_as_long_as_the_one_before() {
        let at = |ps| Time::ZERO + Duration::from_ps(ps);
        let windows = Windows { begin: at(100), first: Duration::from_ps(10), count: 2 };
        let begins: Vec<u64> = (0..=8).map(|quarter| windows.quarter_begin(quarter).as_ps()).collect();
        assert_eq!(begins, [100, 102, 105, 107, 110, 115, 120, 125, 130]);
        let quarters = [99, 100, 101, 102, 109, 110, 129, 130].map(|ps| windows.quarter_at(at(ps)));
        assert_eq!(quarters, [None, Some(0), Some(0), Some(1), Some(3), Some(4), Some(7), None]);
        assert_eq!(windows.given_up(), at(170));
    }
}
