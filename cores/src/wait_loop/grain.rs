//! What a turn is made of, so that each one lasts as long as the first.

use narthex_kernel::{Clock, Duration};

/// The time after which the edges of several clocks are where they were, to the
/// picosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// A turn takes a multiple of it.
    pub duration: Duration,
    /// After this many passes of a loop it is reached, whatever cycles a pass takes: one,
    /// where the periods of all clocks are whole numbers of picoseconds.
    pub passes: u64,
}

impl Grain {
    /// That of a processor's clock and of the clocks of what takes part in its loop.
    pub fn of(clocks: impl Iterator<Item = Clock>) -> Self {
        let none = Grain { duration: Duration::from_ps(1), passes: 1 };
        clocks.fold(none, |grain, clock| {
            let duration = least_common_multiple(grain.duration.as_ps(), clock.pattern().as_ps());
            let passes = least_common_multiple(grain.passes, clock.pattern_cycles());
            Grain { duration: Duration::from_ps(duration), passes }
        })
    }
}

/// The largest number there is, where that is less.
fn least_common_multiple(first: u64, second: u64) -> u64 {
    let (mut divisor, mut rest) = (first, second);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    first.saturating_mul(second / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_meet_at_the_least_common_multiple_of_their_patterns() {
        let meet = |clocks: &[&str]| {
            let clocks =
                clocks.iter().map(|clock| clock.parse::<narthex_kernel::Frequency>().unwrap().clock());
            let Grain { duration, passes } = Grain::of(clocks);
            (duration.as_ps(), passes)
        };
        assert_eq!(meet(&["250MHz", "100MHz"]), (20_000, 1));
        assert_eq!(meet(&["140MHz", "35MHz"]), (200_000, 7));
        assert_eq!(meet(&["3GHz", "66MHz"]), (500_000, 33));
        assert_eq!(meet(&["66.666667MHz", "999.999999MHz"]).0, 1_000_000_000_000);
    }
}
