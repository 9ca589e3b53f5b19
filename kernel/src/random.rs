//! Seeded random numbers: one stream per component.
//!
//! A single generator shared by all components would tie their results
//! together: one more draw in node 3 would change node 5. So each component
//! has a [`Stream`] of its own, named after it, and the run's seed is the only
//! other input. The generator is ChaCha with eight rounds, whose output is
//! specified and the same on every machine; the seed is its key and the name
//! selects one of its 2^64 independent streams. What is derived from its
//! output is computed here with integers only, so no library's next version
//! can change a result.
//!
//! ```
//! use narthex_kernel::random::Stream;
//!
//! let mut arbiter = Stream::new(42, "node 3/arbiter");
//! assert!(arbiter.below(6) < 6);
//! assert_eq!(Stream::new(42, "node 3/arbiter").next_u64(), 18_300_444_630_108_835_214);
//! ```

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::archive::{Archive, Archived, Damage};

/// A component's random numbers.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of the component `name` in a run with this seed.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(fingerprint(name));
        Stream(generator)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `bound - 1`, each equally likely.
    ///
    /// # Panics
    /// If `bound` is zero: there is no such number.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        // The high half of bits * bound, as in Lemire, "Fast random integer
        // generation in an interval" (2019); the few low halves that would
        // make some numbers likelier than others are drawn again.
        let unfair = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= unfair {
                return (product >> 64) as u64;
            }
        }
    }
}

/// Its place; seed and name are those that it was made with.
impl Archived for Stream {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let mut position = self.0.get_word_pos();
        archive.value(&mut position)?;
        self.0.set_word_pos(position);
        Ok(())
    }
}

/// FNV-1a, 64 bits: stable, and good enough to tell names apart.
fn fingerprint(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned_for_ever() {
        // Computed with an independent implementation of ChaCha8, of which the
        // key is the seed and the nonce the name's fingerprint.
        let mut stream = Stream::new(42, "node 3/arbiter");
        let drawn: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, [18300444630108835214, 11538391084668447336, 9025858189630770765]);
        let small: Vec<u64> = (0..10).map(|_| stream.below(10)).collect();
        assert_eq!(small, [6, 1, 7, 5, 2, 8, 4, 5, 8, 2]);
    }

    #[test]
    fn the_fingerprint_is_the_published_one() {
        // Test vectors of draft-eastlake-fnv, appendix C.
        assert_eq!(fingerprint(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fingerprint("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn another_seed_or_another_name_is_another_stream() {
        let first = |seed, name| Stream::new(seed, name).next_u64();
        assert_ne!(first(1, "node 0"), first(2, "node 0"));
        assert_ne!(first(1, "node 0"), first(1, "node 1"));
    }

    #[test]
    fn every_number_below_the_bound_is_about_as_likely() {
        let mut stream = Stream::new(7, "dice");
        let mut counts = [0u32; 6];
        (0..60_000).for_each(|_| counts[stream.below(6) as usize] += 1);
        // The standard deviation is 91; five of them are one in a million.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 455), "{counts:?}");
    }
}
