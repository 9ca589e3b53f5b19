//! Digests of states, where a state is to be told from others without being kept:
//! by the model checkers, and in wait loops.
//!
//! A digest has 128 bits in two lanes that mix differently. It is no
//! cryptographic hash; no one chooses states to collide. With the digests of n
//! states spread like random numbers, two different ones agree with a
//! probability of about n²/2¹²⁹: for ten million states 1.5·10⁻²⁵.

use std::hash::{Hash, Hasher};

use crate::Time;

const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];

/// Computes a digest of what it is fed.
///
/// Once it knows the present ([`Digest::at`]), instants are told from other numbers (they alone are
/// hashed as 128 bits, see [`Time`]) and replaced by what matters of them: whether they have come,
/// and if not, which of the awaited ones they are. Before that they are numbers.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    lanes: [u64; 2],
    now: Option<Time>,
    awaited: Vec<Time>,
}

impl Digest {
    /// Looks at the instants that follow from `now` on, waiting for `awaited`.
    pub fn at(&mut self, now: Time, awaited: &[Time]) {
        self.now = Some(now);
        self.awaited.clear();
        self.awaited.extend_from_slice(awaited);
    }

    /// The digest of a state of which it does not matter when something is due.
    pub fn of(state: &impl Hash) -> u128 {
        let mut digest = Digest::default();
        digest.at(Time::ZERO, &[]);
        state.hash(&mut digest);
        digest.value()
    }

    /// The digest of everything so far.
    pub fn value(&self) -> u128 {
        let [low, high] = self.lanes.map(mixed);
        u128::from(high) << 64 | u128::from(low)
    }

    /// 0: it has come; n: the n-th awaited instant; else: one that is not awaited.
    fn rank(&self, now: Time, time: Time) -> u64 {
        if time <= now {
            return 0;
        }
        self.awaited.iter().position(|&at| at == time).map_or(u64::MAX, |place| place as u64 + 1)
    }
}

/// The finishing steps of splitmix64: every bit of the result depends on all.
fn mixed(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.value() as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.write_u64(u64::from_le_bytes(word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        for (lane, multiplier) in self.lanes.iter_mut().zip(MULTIPLIERS) {
            let sum = (lane.rotate_left(23) ^ word).wrapping_add(multiplier);
            *lane = sum.wrapping_mul(multiplier) ^ sum >> 29;
        }
    }

    fn write_u128(&mut self, number: u128) {
        let number = number as u64;
        self.write_u64(self.now.map_or(number, |now| self.rank(now, Time::from_ps(number))));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    fn digest(now: u64, awaited: &[u64], state: impl Hash) -> u128 {
        let mut digest = Digest::default();
        let awaited: Vec<Time> = awaited.iter().copied().map(Time::from_ps).collect();
        digest.at(Time::from_ps(now), &awaited);
        state.hash(&mut digest);
        digest.value()
    }

    #[test]
    fn states_that_differ_have_different_digests() {
        let states: Vec<u128> = (0..100_000u64).map(|n| digest(0, &[], (n, n % 7))).collect();
        let distinct: std::collections::HashSet<_> = states.iter().collect();
        assert_eq!(distinct.len(), states.len());
    }

    #[test]
    fn an_instant_counts_by_whether_it_has_come_and_by_its_order() {
        let at = |ps| Some(Time::from_ps(ps));
        assert_eq!(digest(10, &[], at(3)), digest(20, &[], at(20)), "both have come");
        assert_eq!(digest(10, &[30, 40], at(40)), digest(11, &[31, 41], at(41)), "both are second");
        assert_ne!(digest(10, &[30, 40], at(40)), digest(10, &[30, 40], at(30)));
        assert_ne!(digest(10, &[30], at(30)), digest(30, &[], at(30)));
    }
}
