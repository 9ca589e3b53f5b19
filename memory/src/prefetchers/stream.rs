//! The blocks ahead of accesses that go through memory in one direction.
//!
//! ```text
//!   trained by b, where no stream is near:   a new stream at b, the one used longest ago goes
//!   by b+1 or b-1:                           its direction is known
//!   from then on, by each next block:        up to degree blocks, none further ahead than distance
//!
//!     ──► last ──► ... asked for ... ──► front ──► last + distance
//! ```
//!
//! A stream goes on in the next page of its addresses when an access has gone there.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MOST_AHEAD, out_of_range};

/// Streams that are followed at most.
const MOST_STREAMS: u32 = 64;

/// The parameters of a stream prefetcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Streams that it follows at a time, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub streams: u32,
    /// Blocks that it asks for each time, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub degree: u32,
    /// How many blocks ahead of the accesses it goes, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub distance: u32,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let numbers = [
            ("prefetcher.streams", self.streams, MOST_STREAMS),
            ("prefetcher.degree", self.degree, MOST_AHEAD),
            ("prefetcher.distance", self.distance, MOST_AHEAD),
        ];
        numbers.into_iter().filter_map(|(key, number, most)| out_of_range(key, number, most)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Direction {
    Unknown,
    Up,
    Down,
}

/// A stream: numbers of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Stream {
    /// The block that trained it last.
    last: u64,
    direction: Direction,
    /// The block furthest ahead that was asked for.
    front: u64,
}

impl Stream {
    /// How many blocks ahead of the last one a block is; none if it is not.
    fn ahead(&self, block: u64) -> Option<u64> {
        match self.direction {
            Direction::Up => block.checked_sub(self.last),
            Direction::Down => self.last.checked_sub(block),
            Direction::Unknown => None,
        }
    }

    /// The direction that a block gives it, if it belongs to it.
    fn taken_by(&self, block: u64, distance: u64) -> Option<Direction> {
        match self.direction {
            _ if block == self.last => Some(self.direction),
            Direction::Unknown if block == self.last + 1 => Some(Direction::Up),
            Direction::Unknown if block + 1 == self.last => Some(Direction::Down),
            direction => self.ahead(block).filter(|&ahead| ahead <= distance).map(|_| direction),
        }
    }

    /// A block of its own trains it.
    fn follow(
        &mut self,
        block: u64,
        page: &Range<u64>,
        (degree, distance): (u64, u64),
        ask: &mut impl FnMut(u64),
    ) {
        let asked = self.ahead(self.front).unwrap_or(0).saturating_sub(self.ahead(block).unwrap_or(0));
        self.last = block;
        for ahead in (asked + 1..=distance).take(degree as usize) {
            let next = match self.direction {
                Direction::Up => block.checked_add(ahead),
                Direction::Down => block.checked_sub(ahead),
                Direction::Unknown => None,
            };
            let Some(next) = next.filter(|next| page.contains(next)) else { return };
            self.front = next;
            ask(next);
        }
    }
}

/// A stream prefetcher.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub struct Streams {
    most: u64,
    degree: u64,
    distance: u64,
    /// The one that was trained last comes first.
    streams: Vec<Stream>,
}

impl Streams {
    pub(super) fn new(config: &Config) -> Self {
        let Config { streams, degree, distance } = *config;
        let [most, degree, distance] = [streams, degree, distance].map(u64::from);
        Streams { most, degree, distance, streams: Vec::with_capacity(streams as usize) }
    }

    pub(super) fn train(&mut self, block: u64, page: &Range<u64>, ask: &mut impl FnMut(u64)) {
        let taken = |own: &Stream| own.taken_by(block, self.distance);
        let found = self.streams.iter().enumerate().find_map(|(place, own)| Some((place, taken(own)?)));
        let mut stream = match found {
            Some((place, direction)) => Stream { direction, ..self.streams.remove(place) },
            None => Stream { last: block, direction: Direction::Unknown, front: block },
        };
        if found.is_none() && self.streams.len() as u64 >= self.most {
            self.streams.pop();
        }
        if stream.last != block {
            stream.follow(block, page, (self.degree, self.distance), ask);
        }
        self.streams.insert(0, stream);
    }

    pub(super) fn config_identity(&self) -> [u64; 3] {
        [self.most, self.degree, self.distance]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench(Streams);

    fn bench(streams: u32, degree: u32, distance: u32) -> Bench {
        let config = Config { streams, degree, distance };
        assert_eq!(config.problems(), []);
        Bench(Streams::new(&config))
    }

    impl Bench {
        /// What it asks for, with pages of 64 blocks.
        fn train(&mut self, block: u64) -> Vec<u64> {
            let mut all = Vec::new();
            let page = block / 64 * 64..block / 64 * 64 + 64;
            self.0.train(block, &page, &mut |block| all.push(block));
            all
        }
    }

    #[test]
    fn the_second_block_of_a_row_gives_the_direction_and_each_next_one_asks_for_what_is_new() {
        let mut bench = bench(2, 2, 4);
        assert_eq!(bench.train(70), Vec::<u64>::new());
        assert_eq!(bench.train(70), Vec::<u64>::new(), "the same block says nothing");
        assert_eq!(bench.train(71), [72, 73]);
        assert_eq!(bench.train(72), [74, 75]);
        assert_eq!(bench.train(73), [76, 77]);
        assert_eq!(bench.train(74), [78], "it is as far ahead as it may be");
        assert_eq!(bench.train(77), [79, 80], "blocks were passed over");
        assert_eq!(bench.train(90), Vec::<u64>::new(), "too far: another stream");
    }

    #[test]
    fn a_stream_goes_down_too_and_stops_at_the_begin_of_its_page() {
        let mut bench = bench(1, 8, 3);
        assert_eq!(bench.train(68), Vec::<u64>::new());
        assert_eq!(bench.train(67), [66, 65, 64]);
        assert_eq!(bench.train(65), Vec::<u64>::new(), "63 is in another page");
        assert_eq!(bench.train(63), [62, 61, 60], "where an access has gone by now");
    }

    #[test]
    fn as_many_streams_are_followed_as_stated_and_the_one_used_longest_ago_goes() {
        let mut bench = bench(2, 1, 1);
        for block in [10, 100] {
            assert_eq!(bench.train(block), Vec::<u64>::new());
        }
        assert_eq!((bench.train(11), bench.train(101)), (vec![12], vec![102]));
        assert_eq!(bench.train(40), Vec::<u64>::new(), "a third one takes the place of the first");
        assert_eq!((bench.train(12), bench.train(102)), (vec![], vec![]), "both have gone");
        assert_eq!(bench.train(13), [14]);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let problems = Config { streams: 65, degree: 0, distance: 257 }.problems();
        assert_eq!(
            problems.iter().map(|(key, _)| *key).collect::<Vec<_>>(),
            ["prefetcher.streams", "prefetcher.degree", "prefetcher.distance"]
        );
        assert_eq!(problems[0].1, "65 is not from 1 to 64");
    }
}
