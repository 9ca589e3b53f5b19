//! The blocks behind each block that an access misses, or uses for the first time (tagged prefetching: Smith,
//! "Cache Memories", Computing Surveys 14(3), 1982, Section 2.1).
//!
//! ```text
//!   trained by block b:    b   b+1 ... b+distance   ...   b+distance+degree-1
//!                                      └──────── asked for ────────┘
//! ```

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MOST_AHEAD, out_of_range};

/// The parameters of a next-line prefetcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Blocks that it asks for each time, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub degree: u32,
    /// How many blocks ahead the first of them is, 1 to 256: 1 is the next one.
    #[schemars(range(min = 1, max = 256))]
    pub distance: u32,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let numbers = [("prefetcher.degree", self.degree), ("prefetcher.distance", self.distance)];
        numbers.into_iter().filter_map(|(key, number)| out_of_range(key, number, MOST_AHEAD)).collect()
    }
}

/// A next-line prefetcher: it remembers nothing.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub struct NextLine {
    degree: u64,
    distance: u64,
}

impl NextLine {
    pub(super) fn new(config: &Config) -> Self {
        NextLine { degree: config.degree.into(), distance: config.distance.into() }
    }

    pub(super) fn train(&mut self, block: u64, page: &Range<u64>, ask: &mut impl FnMut(u64)) {
        let first = block + self.distance;
        (first..(first + self.degree).min(page.end)).for_each(ask);
    }

    pub(super) fn config_identity(&self) -> [u64; 3] {
        [self.degree, self.distance, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(degree: u32, distance: u32, block: u64) -> Vec<u64> {
        let mut all = Vec::new();
        let config = Config { degree, distance };
        assert_eq!(config.problems(), []);
        NextLine::new(&config).train(block, &(64..128), &mut |block| all.push(block));
        all
    }

    #[test]
    fn the_blocks_from_its_distance_on_are_asked_for_up_to_the_end_of_the_page() {
        assert_eq!(asked(1, 1, 70), [71]);
        assert_eq!(asked(3, 2, 70), [72, 73, 74]);
        assert_eq!(asked(3, 2, 125), [127]);
        assert_eq!(asked(3, 2, 126), Vec::<u64>::new());
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let problems = Config { degree: 0, distance: 257 }.problems();
        let expected = [
            ("prefetcher.degree", "0 is not from 1 to 256"),
            ("prefetcher.distance", "257 is not from 1 to 256"),
        ];
        assert_eq!(problems, expected.map(|(key, message)| (key, message.to_owned())));
    }
}
