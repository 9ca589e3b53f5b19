//! Whether a network under load is in a steady state, so that latency means something.
//!
//! What a source makes and its link does not take waits there: its backlog. In a steady
//! state backlogs come and go, and the mean latency does not depend on when it is
//! measured; a network that cannot carry a load has backlogs that grow for ever. A
//! backlog is a sum of random numbers: of *n* packets that are made at random instants, about
//! the root of *n* more or fewer come than are expected. So a backlog grows if in both
//! halves of a window it has become larger by several times that. All sources
//! together are looked at, and each alone: mostly a few saturate first.
//!
//! | verdict | the backlogs | the mean latencies |
//! | --- | --- | --- |
//! | steady | none has grown by what chance does not explain | of the quarters are within 5 % of their middle, and that of the window is within 5 % of the one before |
//! | saturated | one has grown in all quarters, by 2 % of what was made or more; in the last window, by what chance does not explain | |
//! | not steady yet | else | else |
//!
//! One window alone does not show a steady state: long queues are rare, and four quarters
//! without one agree.

use super::source::Quarter;
use super::windows::QUARTERS;

/// A backlog that has grown by more standard deviations than this in each half has not by
/// chance: twice in a row, one of a million does.
const DEVIATIONS: u64 = 3;
/// By more of them in a window than this it may be that it grows.
const DEVIATIONS_OF_DOUBT: u64 = 2;
/// The share of what is made by which a backlog grows that needs no longer window, as its
/// reciprocal.
const CLEAR_SHARE: u64 = 50;
/// The most by which mean latencies may differ in a steady state, as a share of the mean: half
/// of the range of the quarters', and two windows'.
const MOST_DIFFERENCE: f64 = 0.05;

/// What a window shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Latency does not depend on when it is measured.
    Steady,
    /// A longer window may tell.
    NotSteady,
    /// What is offered is more than what is carried.
    Saturated,
}

/// What became of a backlog in a window: of one source, or of all.
#[derive(Clone, Copy, Default, Debug)]
pub struct Backlog {
    /// Packets that waited at its begin and at the end of each quarter.
    waiting: [u64; QUARTERS + 1],
    /// Packets that were made in each quarter.
    made: [u64; QUARTERS],
}

impl Backlog {
    /// That of a source; `before` is the last quarter before the window.
    pub fn of(waiting_before: u64, quarters: &[Quarter]) -> Self {
        let mut backlog = Backlog::default();
        backlog.waiting[0] = waiting_before;
        for (place, quarter) in quarters.iter().enumerate() {
            backlog.waiting[place + 1] = quarter.waiting_at_end;
            backlog.made[place] = quarter.made;
        }
        backlog
    }

    /// Adds another source's.
    pub fn add(&mut self, other: &Backlog) {
        self.waiting.iter_mut().zip(other.waiting).for_each(|(own, more)| *own += more);
        self.made.iter_mut().zip(other.made).for_each(|(own, more)| *own += more);
    }

    /// By how much it has grown in some quarters, and what was made in them.
    fn growth(&self, quarters: std::ops::Range<usize>) -> (u64, u64) {
        let growth = self.waiting[quarters.end].saturating_sub(self.waiting[quarters.start]);
        (growth, self.made[quarters].iter().sum())
    }

    /// Whether it has grown by more than chance explains.
    pub fn grows(&self) -> bool {
        [0..2, 2..QUARTERS].into_iter().all(|half| is_beyond(self.growth(half), DEVIATIONS))
    }

    /// Whether it has grown so steadily, and by so much, that it will go on.
    pub fn clearly_grows(&self) -> bool {
        let grows_in = |quarter: usize| {
            let (growth, made) = self.growth(quarter..quarter + 1);
            growth > 0 && growth * CLEAR_SHARE >= made
        };
        self.grows() && (0..QUARTERS).all(grows_in)
    }

    /// Whether it may be that it grows.
    fn is_in_doubt(&self) -> bool {
        is_beyond(self.growth(0..QUARTERS), DEVIATIONS_OF_DOUBT)
    }
}

/// Whether a growth is larger than chance makes it, in standard deviations of what was made.
fn is_beyond((growth, made): (u64, u64), deviations: u64) -> bool {
    u128::from(growth).pow(2) > u128::from(deviations.pow(2)) * u128::from(made)
}

/// Half of the range of the quarters' mean latencies, as a share of the mean of all. None
/// where a quarter has no packet.
pub fn spread(quarters: &[Option<f64>; QUARTERS], mean: f64) -> Option<f64> {
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for quarter in quarters {
        let latency = (*quarter)?;
        range = (range.0.min(latency), range.1.max(latency));
    }
    Some((range.1 - range.0) / 2.0 / mean)
}

/// By how much the mean latency differs from that of the window before, as a share of it.
pub fn drift(before: Option<f64>, mean: Option<f64>) -> Option<f64> {
    let (before, mean) = (before?, mean?);
    Some((mean - before).abs() / mean)
}

/// What a window shows. Latencies have a spread and a drift if all of its packets, and of the
/// one before, have arrived.
pub fn verdict(sources: &[Backlog], differences: [Option<f64>; 2], is_last: bool) -> Verdict {
    let mut all = Backlog::default();
    sources.iter().for_each(|source| all.add(source));
    let mut each = sources.iter().chain([&all]);
    let is_saturated = match is_last {
        true => each.any(Backlog::grows),
        false => each.any(Backlog::clearly_grows),
    };
    if is_saturated {
        return Verdict::Saturated;
    }
    let is_in_doubt = sources.iter().chain([&all]).any(Backlog::is_in_doubt);
    let agree = |difference: Option<f64>| difference.is_some_and(|share| share <= MOST_DIFFERENCE);
    if !is_in_doubt && differences.into_iter().all(agree) { Verdict::Steady } else { Verdict::NotSteady }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies that show nothing else than a steady state.
    const AGREE: [Option<f64>; 2] = [Some(0.01); 2];

    fn backlog(waiting: [u64; QUARTERS + 1], made: u64) -> Backlog {
        Backlog { waiting, made: [made; QUARTERS] }
    }

    #[test]
    fn a_window_is_steady_that_agrees_with_itself_and_with_the_one_before() {
        let rests = [backlog([7, 9, 5, 8, 6], 100)];
        let of = |differences| verdict(&rests, differences, false);
        assert_eq!(of([Some(0.05), Some(0.05)]), Verdict::Steady);
        for differences in
            [[Some(0.06), Some(0.0)], [Some(0.0), Some(0.06)], [None, Some(0.0)], [Some(0.0), None]]
        {
            assert_eq!(of(differences), Verdict::NotSteady);
        }
        assert_eq!(drift(Some(110.0), Some(100.0)), Some(0.1));
        assert_eq!(drift(None, Some(100.0)), None);
    }

    #[test]
    fn a_backlog_that_grows_in_each_quarter_by_more_than_chance_is_saturated() {
        // 30 of 100 made in a quarter wait, which is 60 in a half: 3 times the root of 200 is 42.
        let grows = backlog([0, 30, 60, 90, 120], 100);
        let rests = backlog([7, 9, 5, 8, 6], 100);
        assert_eq!(verdict(&[rests, grows], AGREE, false), Verdict::Saturated);
        assert_eq!(verdict(&[rests, rests], AGREE, false), Verdict::Steady);
        assert_eq!(verdict(&[rests, rests], [None, None], true), Verdict::NotSteady);
    }

    #[test]
    fn many_sources_together_show_what_none_shows_alone() {
        let grows_by_3_percent = backlog([0, 3, 6, 9, 12], 100);
        assert_eq!(verdict(&[grows_by_3_percent; 10], AGREE, false), Verdict::Steady);
        assert_eq!(verdict(&[grows_by_3_percent; 60], AGREE, false), Verdict::Saturated);
    }

    #[test]
    fn what_grows_slowly_is_left_to_longer_windows() {
        // 1 % of what is made, beyond 3 deviations in each half.
        let grows = backlog([0, 1_000, 2_000, 3_000, 4_000], 100_000);
        assert_eq!(verdict(&[grows], AGREE, false), Verdict::NotSteady);
        assert_eq!(verdict(&[grows], AGREE, true), Verdict::Saturated);
        let falls_back = backlog([0, 2_000, 4_000, 3_000, 2_100], 100_000);
        assert_eq!(verdict(&[falls_back], AGREE, true), Verdict::NotSteady);
    }
}
