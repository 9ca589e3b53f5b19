//! The parameters of a third-level cache, and which of them do not go together.

use narthex_kernel::Duration;
use narthex_kernel::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ddio;
use crate::transaction::LARGEST_BLOCK_BYTES;

/// The most lines in a set.
const MOST_WAYS: u32 = 32;

/// When a block comes into the cache that a processor reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// When it is read from the memory.
    #[default]
    Reads,
    /// When a second level that had it to itself gives it up, changed or not. Second levels hand such
    /// blocks down then.
    Victims,
}

/// Which block of a full set leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one that was not used for the longest time.
    #[default]
    LeastRecentlyUsed,
    /// Any, as drawn by a generator of the cache.
    Random,
}

/// The parameters of a third-level cache. Its blocks are the node's coherence blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes that the cache holds: each slice has a power of two of sets, two or more.
    pub size: Bytes,
    /// Lines in a set, 1 (direct-mapped) to 32.
    #[schemars(range(min = 1, max = 32))]
    pub associativity: u32,
    /// Slices among which blocks are divided in turn, 1 to 128; one if nothing is said. On a directory
    /// there is one at each place of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 128))]
    pub slices: Option<u32>,
    /// Time from the address to the block's first bytes, beyond the bus's own cycles.
    pub access_time: Duration,
    /// Whether blocks come with "reads" of the memory, as where nothing is said, or as the "victims" of
    /// second levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Which block leaves a full set: "least-recently-used", as where nothing is said, or "random".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The ways that devices' writes may take, where not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ddio: Option<ddio::Config>,
}

impl Config {
    /// The rules that the parameters break with blocks of this size, as (key, what is
    /// wrong) pairs.
    pub fn problems(&self, block: Bytes) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let (ways, slices) = (self.associativity, self.slices.unwrap_or(1));
        if !(1..=MOST_WAYS).contains(&ways) {
            problems.push(("associativity", format!("{ways} is not from 1 to {MOST_WAYS}")));
        }
        if !(1..=128).contains(&slices) {
            problems.push(("slices", format!("{slices} is not from 1 to 128")));
        }
        if problems.is_empty() {
            problems.extend(self.size_problem(block).map(|message| ("size", message)));
        }
        if self.access_time.is_zero() {
            problems.push(("access_time", "0ps is not allowed; expected a time such as 30ns".into()));
        }
        problems.extend(self.ddio.iter().flat_map(|ddio| ddio.problems(ways)));
        problems
    }

    /// What is wrong with the size. A wrong block is told of where it stands.
    fn size_problem(&self, block: Bytes) -> Option<String> {
        const MOST: u64 = 1 << 30;
        let (size, slices) = (self.size.as_u64(), self.slices.unwrap_or(1));
        if !(1..=LARGEST_BLOCK_BYTES as u64).contains(&block.as_u64()) {
            return None;
        }
        let sets_of_one = block.as_u64() * u64::from(self.associativity) * u64::from(slices);
        let sets = size / sets_of_one;
        if size.is_multiple_of(sets_of_one) && sets.is_power_of_two() && sets > 1 && size <= MOST {
            return None;
        }
        let of = |sets: u64| Bytes::new(sets * sets_of_one);
        let below = 1 << sets.clamp(2, MOST / sets_of_one / 2).ilog2();
        Some(format!(
            "{} does not give {slices} slice(s) of {} ways of {block} a power of two of sets, two or more, up to \
             1GiB; the nearest are {} and {}",
            self.size,
            self.associativity,
            of(below),
            of(2 * below)
        ))
    }

    /// Whether second levels hand down what they give up unchanged.
    pub fn takes_victims(&self) -> bool {
        self.fill == Some(Fill::Victims)
    }

    /// Memory of the host that its lines take once each has held a block, of this size.
    pub fn host_bytes(&self, block: Bytes) -> u64 {
        let lines = self.size.as_u64() / block.as_u64();
        let sets = lines / u64::from(self.associativity);
        lines * super::LINE_BYTES + sets * super::SET_BYTES
    }
}
