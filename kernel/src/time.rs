//! Instants, durations and clocks, all in whole picoseconds.
//!
//! A `u64` of picoseconds lasts 213 days of simulated time, and every clock of
//! the published machines (1 GHz, 200 MHz, 250 MHz, 35 MHz rounded) has a
//! period that is close enough to a whole number of them. Instants and
//! durations are different types, so that adding two instants does not compile.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// An instant of simulated time, in picoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Time(u64);

/// An instant is the one thing in a simulator's state that hashes as a number
/// of 128 bits: so a model checker's hasher can tell instants from other
/// numbers, and compare states that differ only in when they are.
impl Hash for Time {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u128(self.0.into());
    }
}

/// A length of simulated time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event; "never" as an instant.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `picoseconds` after the start of the run.
    pub const fn from_ps(picoseconds: u64) -> Self {
        Time(picoseconds)
    }

    /// Picoseconds since the start of the run.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the start of the run, for people.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    pub fn saturating_since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// `self + duration`, or [`Time::NEVER`] where that would overflow.
    pub const fn saturating_add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(duration.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest duration.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A duration of `picoseconds`.
    pub const fn from_ps(picoseconds: u64) -> Self {
        Duration(picoseconds)
    }

    /// A duration of `nanoseconds`.
    pub const fn from_ns(nanoseconds: u64) -> Self {
        Duration(nanoseconds * 1_000)
    }

    /// Whole picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds, for people.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Whether no time passes.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// A clock: edges at whole multiples of its period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Clock {
    period: Duration,
}

crate::checked_when_read!(Clock);

impl Clock {
    /// A clock with this period.
    ///
    /// # Panics
    /// If the period is zero: configuration refuses that before a clock is made.
    pub fn with_period(period: Duration) -> Self {
        assert!(!period.is_zero(), "a clock needs a period");
        Clock { period }
    }

    fn is_sound(&self) -> bool {
        !self.period.is_zero()
    }

    /// The time between two edges.
    pub const fn period(self) -> Duration {
        self.period
    }

    /// How long `count` cycles take.
    pub fn cycles(self, count: u64) -> Duration {
        self.period * count
    }

    /// The first edge at or after `time`.
    pub fn edge_at_or_after(self, time: Time) -> Time {
        Time(time.0.div_ceil(self.period.0) * self.period.0)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, duration: Duration) -> Time {
        Time(self.0 + duration.0)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration.0;
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "{self:?} is before {earlier:?}");
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Duration) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0 * factor)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(durations: I) -> Duration {
        durations.fold(Duration::ZERO, Add::add)
    }
}

/// Writes picoseconds exactly, in the largest unit of which there is at least one.
fn write_picoseconds(picoseconds: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&crate::quantity::in_largest_unit(picoseconds, crate::quantity::TIME_UNITS))
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picoseconds(self.0, f)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picoseconds(self.0, f)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picoseconds(self.0, f)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picoseconds(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;

    #[test]
    fn an_edge_is_never_before_the_time_that_asks_for_it() {
        let bus = Clock::with_period(Duration::from_ns(4));
        assert_eq!(bus.edge_at_or_after(Time::from_ps(0)), Time::from_ps(0));
        assert_eq!(bus.edge_at_or_after(Time::from_ps(1)), Time::from_ps(4_000));
        assert_eq!(bus.edge_at_or_after(Time::from_ps(4_000)), Time::from_ps(4_000));
    }

    #[test]
    fn a_clock_that_stands_is_not_read() {
        let read = |mut period: Duration| {
            let bytes = Archive::save(&mut period).expect("plain data");
            Archive::restore(&bytes, &mut Clock::with_period(Duration::from_ns(1))).is_ok()
        };
        assert_eq!([0, 1].map(|period| read(Duration::from_ps(period))), [false, true]);
    }

    #[test]
    fn times_print_in_the_unit_that_fits() {
        assert_eq!(Time::from_ps(999).to_string(), "999ps");
        assert_eq!(Duration::from_ns(1_290).to_string(), "1.29us");
        assert_eq!(Time::NEVER.to_string(), "18446744.073709551615s");
    }
}
