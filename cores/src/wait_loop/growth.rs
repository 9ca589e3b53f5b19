//! How the values of registers grow from turn to turn, and how long comparisons
//! of growing values come out the same.
//!
//! A value grows by a constant, modulo 2^64 as all arithmetic: in turn k it is
//! v + k·g. Sums and differences of such values grow so too. A comparison is a
//! question about the sign of a difference, which changes once at most while
//! neither side wraps around.

use crate::operation::SINK;

/// By how much each register grows in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth([u64; SINK as usize]);

impl Growth {
    /// Nothing changes.
    pub const NONE: Growth = Growth([0; SINK as usize]);

    /// What brings the registers from `before` to `after` in one turn.
    pub fn between(before: &[u64; SINK as usize], after: &[u64; SINK as usize]) -> Self {
        Growth(std::array::from_fn(|register| after[register].wrapping_sub(before[register])))
    }

    /// The growth of a register.
    pub fn of(&self, register: u8) -> u64 {
        self.0[register as usize]
    }

    /// A register has got a value that grows so.
    pub fn set(&mut self, register: u8, growth: u64) {
        if register != 0 && register < SINK {
            self.0[register as usize] = growth;
        }
    }

    /// Lets registers grow for `times` turns.
    pub fn apply(&self, registers: &mut [u64; 256], times: u64) {
        for (register, growth) in registers.iter_mut().zip(self.0) {
            *register = register.wrapping_add(growth.wrapping_mul(times));
        }
    }
}

/// A comparison that decides a branch or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// For equality.
    Equal,
    /// Which of two signed numbers is less.
    Less,
    /// Which of two unsigned numbers is less.
    LessUnsigned,
}

/// A value now, and its growth.
pub(super) type Growing = (u64, u64);

impl Comparison {
    /// For how many more turns it comes out as it does now.
    pub fn turns_alike(self, first: Growing, second: Growing) -> u64 {
        if first.1 == 0 && second.1 == 0 {
            return u64::MAX;
        }
        let (first, second) = (self.line(first), self.line(second));
        let range = self.range();
        let (difference, slope) = (first.0 - second.0, first.1 - second.1);
        let alike = match self {
            Comparison::Equal => turns_until_equal(difference, slope),
            _ => turns_of_sign(difference, slope),
        };
        let inside = |(value, growth): (i128, i128)| turns_inside(value, growth, &range);
        let turns = alike.min(inside(first)).min(inside(second));
        u64::try_from(turns).unwrap_or(u64::MAX)
    }

    /// A growing value as the comparison sees it.
    fn line(self, (value, growth): Growing) -> (i128, i128) {
        let value = match self {
            Comparison::Less => i128::from(value as i64),
            _ => i128::from(value),
        };
        (value, i128::from(growth as i64))
    }

    /// The numbers that it compares.
    fn range(self) -> std::ops::RangeInclusive<i128> {
        match self {
            Comparison::Less => i64::MIN.into()..=i64::MAX.into(),
            _ => 0..=u64::MAX.into(),
        }
    }
}

/// The number of turns after which a value still lies in the range.
fn turns_inside(value: i128, growth: i128, range: &std::ops::RangeInclusive<i128>) -> i128 {
    match growth {
        0 => i128::MAX,
        1.. => (range.end() - value) / growth,
        _ => (value - range.start()) / -growth,
    }
}

/// The number of turns after which a difference is still negative, or still not.
fn turns_of_sign(difference: i128, slope: i128) -> i128 {
    match (difference < 0, slope) {
        (true, 1..) => (-difference - 1) / slope,
        (false, ..0) => difference / -slope,
        _ => i128::MAX,
    }
}

/// The number of turns after which a difference is still zero, or still not.
fn turns_until_equal(difference: i128, slope: i128) -> i128 {
    match (difference, slope) {
        (_, 0) => i128::MAX,
        (0, _) => 0,
        _ if difference % slope == 0 && -difference / slope > 0 => -difference / slope - 1,
        _ => i128::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(comparison: Comparison, first: u64, second: u64) -> bool {
        match comparison {
            Comparison::Equal => first == second,
            Comparison::Less => (first as i64) < second as i64,
            Comparison::LessUnsigned => first < second,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Small numbers around the ends of the range make changes frequent.
        #[test]
        fn a_comparison_comes_out_the_same_for_so_many_turns(
            kind in 0usize..3,
            bases in proptest::array::uniform2(proptest::sample::select(vec![0, 1 << 63, u64::MAX - 20])),
            offsets in proptest::array::uniform2(0u64..40),
            growths in proptest::array::uniform2(-5i64..6),
        ) {
            let comparison = [Comparison::Equal, Comparison::Less, Comparison::LessUnsigned][kind];
            let value = |side: usize, turn: u64| {
                bases[side].wrapping_add(offsets[side]).wrapping_add((growths[side] as u64).wrapping_mul(turn))
            };
            let line = |side| (value(side, 0), growths[side] as u64);
            let turns = comparison.turns_alike(line(0), line(1));
            let now = holds(comparison, value(0, 0), value(1, 0));
            for turn in 1..=turns.min(100) {
                prop_assert_eq!(holds(comparison, value(0, turn), value(1, turn)), now, "turn {}", turn);
            }
        }
    }

    #[test]
    fn a_deadline_is_met_to_the_turn() {
        let comparison = Comparison::LessUnsigned;
        // 100, 110, ... below 1,000: the last one is 990, in turn 89.
        assert_eq!(comparison.turns_alike((100, 10), (1_000, 0)), 89);
        // 995, 985, ... at least 500: the last one is 505, in turn 49.
        assert_eq!(comparison.turns_alike((995, 10u64.wrapping_neg()), (500, 0)), 49);
        // 0, 7, 14, ... is not 70 before turn 10.
        assert_eq!(Comparison::Equal.turns_alike((0, 7), (70, 0)), 9);
        assert_eq!(Comparison::Equal.turns_alike((1, 7), (70, 0)), 2_635_249_153_387_078_802);
    }
}
