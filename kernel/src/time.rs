//! Instants, durations and clocks, all in whole picoseconds.
//!
//! A `u64` of picoseconds lasts 213 days of simulated time. A clock's period need
//! not be a whole number of them: a [`Clock`] knows its frequency exactly, and the
//! instant of an edge is the edge's exact time rounded down. So no clock drifts, and
//! clocks of 140 MHz and 35 MHz have each fourth edge in common:
//!
//! ```text
//!   edge of 140 MHz       0      1      2      3      4      5
//!   exact, in ps          0  7142.9 14285.7 21428.6 28571.4 35714.3
//!   its instant           0   7142  14285  21428  28571  35714
//!   edge of 35 MHz        0                          1
//! ```
//!
//! Instants and durations are different types, so that adding two instants does not
//! compile.

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

/// A clock: its edges are at whole multiples of its period, each rounded down to a
/// picosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Clock {
    /// The least whole number of picoseconds that is a whole number of cycles.
    picoseconds: u64,
    /// That number of cycles: 1 where the period itself is whole.
    cycles: u64,
}

crate::checked_when_read!(Clock);

impl Clock {
    /// A clock with this period.
    ///
    /// # Panics
    /// If the period is zero: configuration refuses that before a clock is made.
    pub fn with_period(period: Duration) -> Self {
        assert!(!period.is_zero(), "a clock needs a period");
        Clock { picoseconds: period.0, cycles: 1 }
    }

    /// A clock that has `cycles` cycles in `time`.
    ///
    /// # Panics
    /// If one of them is zero.
    pub fn with_cycles_in(cycles: u64, time: Duration) -> Self {
        let clock = Clock { picoseconds: time.0, cycles };
        assert!(clock.is_sound(), "a clock needs a period");
        let divisor = greatest_common_divisor(time.0, cycles);
        Clock { picoseconds: time.0 / divisor, cycles: cycles / divisor }
    }

    /// The clock of the parts into which each cycle of this one is divided.
    pub fn divided_by(self, parts: u64) -> Self {
        Clock::with_cycles_in(self.cycles * parts, Duration(self.picoseconds))
    }

    fn is_sound(&self) -> bool {
        self.picoseconds != 0 && self.cycles != 0
    }

    /// The shortest time after which its edges are where they were, to the
    /// picosecond: the period where that is whole.
    pub const fn pattern(self) -> Duration {
        Duration(self.picoseconds)
    }

    /// The cycles in its [`Clock::pattern`].
    pub const fn pattern_cycles(self) -> u64 {
        self.cycles
    }

    /// How long `count` cycles take from edge 0 on, in whole picoseconds: from another
    /// edge it may be one more. The edge that ends them is [`Clock::after`].
    #[inline]
    pub fn cycles(self, count: u64) -> Duration {
        Duration(self.edge(count).0)
    }

    /// The edge with this number; the one at the start of the run is number 0.
    #[inline]
    pub fn edge(self, number: u64) -> Time {
        if self.cycles == 1 {
            return Time(number * self.picoseconds);
        }
        // For days, the product is a word of the host.
        match number.checked_mul(self.picoseconds) {
            Some(product) => Time(product / self.cycles),
            None => self.late_edge(number),
        }
    }

    /// The number of the first edge at or after `time`.
    #[inline]
    pub fn number_at_or_after(self, time: Time) -> u64 {
        if self.cycles == 1 {
            return time.0.div_ceil(self.picoseconds);
        }
        // Rounding an edge down to its instant takes it below no whole number.
        match time.0.checked_mul(self.cycles) {
            Some(product) => product.div_ceil(self.picoseconds),
            None => self.late_number_at_or_after(time),
        }
    }

    #[cold]
    fn late_edge(self, number: u64) -> Time {
        let picoseconds = u128::from(number) * u128::from(self.picoseconds) / u128::from(self.cycles);
        Time(u64::try_from(picoseconds).unwrap_or(u64::MAX))
    }

    #[cold]
    fn late_number_at_or_after(self, time: Time) -> u64 {
        let number = (u128::from(time.0) * u128::from(self.cycles)).div_ceil(self.picoseconds.into());
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    /// The first edge at or after `time`.
    #[inline(always)]
    pub fn edge_at_or_after(self, time: Time) -> Time {
        match self.cycles {
            1 => Time(time.0.next_multiple_of(self.picoseconds)),
            _ => self.fractional_edge_at_or_after(time),
        }
    }

    /// The same where the period is no whole number of picoseconds.
    #[inline(never)]
    fn fractional_edge_at_or_after(self, time: Time) -> Time {
        self.edge(self.number_at_or_after(time))
    }

    /// The instant `count` cycles after `time`: an edge, if `time` is one.
    #[inline(always)]
    pub fn after(self, time: Time, count: u64) -> Time {
        match self.cycles {
            1 => time + Duration(count * self.picoseconds),
            _ => self.after_fractions(time, count),
        }
    }

    /// The same where the period is no whole number of picoseconds.
    #[inline(never)]
    fn after_fractions(self, time: Time, count: u64) -> Time {
        let number = self.number_at_or_after(time);
        if self.edge(number) == time { self.edge(number + count) } else { time + self.cycles(count) }
    }

    /// The least number of cycles that are as long as `time`.
    #[inline]
    pub fn cycles_that_cover(self, time: Duration) -> u64 {
        self.number_at_or_after(Time(time.0))
    }

    /// How many whole cycles are in `time`, which may begin at any edge.
    pub fn whole_cycles_in(self, time: Duration) -> u64 {
        self.number_at_or_after(Time(time.0 + 1)) - 1
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
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

    /// The published clocks of a processor and of its bus.
    fn fast_and_slow() -> [Clock; 2] {
        ["140MHz", "35MHz"].map(|text| text.parse::<crate::Frequency>().expect("a frequency").clock())
    }

    #[test]
    fn a_clock_of_140_mhz_has_each_fourth_edge_at_an_edge_of_35_mhz() {
        let [fast, slow] = fast_and_slow();
        for number in [0, 1, 2, 3, 7, 1_000_000_007] {
            assert_eq!(fast.edge(4 * number), slow.edge(number));
            assert_eq!(slow.edge_at_or_after(fast.edge(4 * number)), slow.edge(number));
        }
        assert_eq!([1, 2, 7].map(|number| fast.edge(number)), [7_142, 14_285, 50_000].map(Time::from_ps));
        assert_eq!((fast.pattern(), fast.pattern_cycles()), (Duration::from_ns(50), 7));
        assert_eq!(fast.divided_by(2).edge(14), Time::from_ps(50_000), "two slots a cycle");
    }

    #[test]
    fn cycles_that_begin_at_an_edge_end_at_one() {
        let [fast, slow] = fast_and_slow();
        for clock in [fast, slow, Clock::with_period(Duration::from_ns(4))] {
            for number in 0..20 {
                let edge = clock.edge(number);
                assert_eq!(clock.number_at_or_after(edge), number);
                assert_eq!(clock.after(edge, 3), clock.edge(number + 3));
                assert_eq!(clock.whole_cycles_in(clock.edge(number + 3) - edge), 3);
            }
        }
        assert_eq!(fast.after(Time::from_ps(1), 1), Time::from_ps(7_143), "not from an edge");
        assert_eq!([0, 7_142, 7_143].map(|ps| fast.cycles_that_cover(Duration::from_ps(ps))), [0, 1, 2]);
    }

    #[test]
    fn a_clock_runs_until_the_end_of_time() {
        let [fast, _] = fast_and_slow();
        assert_eq!(fast.edge(u64::MAX), Time::NEVER);
        assert!(fast.edge(fast.number_at_or_after(Time::NEVER) - 1) < Time::NEVER);
        assert_eq!(fast.divided_by(1 << 20).number_at_or_after(Time::NEVER), u64::MAX);
    }

    #[test]
    fn edges_are_where_they_are_also_where_products_exceed_a_word() {
        for clock in fast_and_slow().map(|clock| clock.divided_by(3)) {
            let last = u64::MAX / clock.picoseconds.max(clock.cycles);
            for number in [0, 1, 20, 21, last - 1, last, last + 1, last + 2] {
                let edge = clock.edge(number);
                assert_eq!(edge, clock.late_edge(number));
                let next = Time::from_ps(edge.as_ps() + 1);
                for time in [edge, next] {
                    assert_eq!(clock.number_at_or_after(time), clock.late_number_at_or_after(time));
                }
                assert_eq!((clock.number_at_or_after(edge), clock.edge_at_or_after(edge)), (number, edge));
            }
        }
    }

    #[test]
    fn a_clock_that_stands_is_not_read() {
        let read = |mut parts: (u64, u64)| {
            let bytes = Archive::save(&mut parts).expect("plain data");
            Archive::restore(&bytes, &mut Clock::with_period(Duration::from_ns(1))).is_ok()
        };
        assert_eq!([(0, 1), (1, 0), (1, 1)].map(read), [false, false, true]);
    }

    #[test]
    fn times_print_in_the_unit_that_fits() {
        assert_eq!(Time::from_ps(999).to_string(), "999ps");
        assert_eq!(Duration::from_ns(1_290).to_string(), "1.29us");
        assert_eq!(Time::NEVER.to_string(), "18446744.073709551615s");
    }
}
