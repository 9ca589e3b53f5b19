//! Prefetchers of a cache level: which blocks to fetch before an access asks for them. One kind a file.
//!
//! ```text
//!   a block that an access misses, or uses for the first time ──► train ──► blocks to ask for
//! ```
//!
//! A prefetcher sees numbers of blocks and says numbers of blocks, none outside of the page of the block that
//! trains it: behind that another page may be of another kind, or missing. When its blocks are asked for, and what
//! becomes of them, stands in `processor_memory/prefetching.rs`.
//!
//! A kind is added by a file with its `Config` and its state, and by a variant of [`Config`] and of [`Prefetcher`].

pub mod next_line;
pub mod stream;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use next_line::NextLine;
use stream::Streams;

/// The parameters of a cache level's prefetcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Config {
    /// The blocks behind each one that trains it.
    NextLine(next_line::Config),
    /// The blocks ahead of accesses that go through memory in one direction.
    Stream(stream::Config),
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        match self {
            Config::NextLine(own) => own.problems(),
            Config::Stream(own) => own.problems(),
        }
    }
}

/// Blocks ahead that a prefetcher asks for at most: those of a page of the smallest blocks.
const MOST_AHEAD: u32 = 256;

/// What is wrong with a number that is to be from 1 to a most.
fn out_of_range(key: &'static str, number: u32, most: u32) -> Option<(&'static str, String)> {
    (!(1..=most).contains(&number)).then(|| (key, format!("{number} is not from 1 to {most}")))
}

/// A prefetcher's state.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub enum Prefetcher {
    /// See [`next_line`].
    NextLine(NextLine),
    /// See [`stream`].
    Stream(Streams),
}

impl Prefetcher {
    /// One that has seen nothing. The parameters have been checked by [`Config::problems`].
    pub fn new(config: &Config) -> Self {
        match config {
            Config::NextLine(own) => Prefetcher::NextLine(NextLine::new(own)),
            Config::Stream(own) => Prefetcher::Stream(Streams::new(own)),
        }
    }

    /// An access misses the block with this number, or uses it for the first time since it was prefetched:
    /// which blocks of its page are to be asked for, the first one first.
    pub fn train(&mut self, block: u64, page: &Range<u64>, ask: &mut impl FnMut(u64)) {
        match self {
            Prefetcher::NextLine(own) => own.train(block, page, ask),
            Prefetcher::Stream(own) => own.train(block, page, ask),
        }
    }

    /// What of it never changes.
    pub fn config_identity(&self) -> [u64; 3] {
        match self {
            Prefetcher::NextLine(own) => own.config_identity(),
            Prefetcher::Stream(own) => own.config_identity(),
        }
    }
}
