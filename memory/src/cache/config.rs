//! The parameters of a cache, their rules, and what it costs the host.

use narthex_kernel::did_you_mean;
use narthex_kernel::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::front::{Recency, Row};
use crate::prefetchers;
use crate::protocols;
use crate::traffic::{Traffic, WithoutEffect};
use crate::transaction::LARGEST_BLOCK_BYTES;

/// The parameters of a cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of data that the cache holds: a power of two of sets, two or more.
    pub size: Bytes,
    /// Lines in a set, 1 (direct-mapped) to 16.
    #[schemars(range(min = 1, max = 16))]
    pub associativity: u32,
    /// Bytes in a coherence block, 16 to 256; a power of two.
    pub block: Bytes,
    /// The coherence protocol: a table in memory/src/protocols.
    #[schemars(extend("examples" = protocols::names()))]
    pub protocol: String,
    /// Whether it takes in bytes of a block that it has lost when they pass by on
    /// the bus (isca96, Section 5.1.2).
    pub snarfing: bool,
    /// What fetches blocks ahead of the program's accesses, where the cache has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetcher: Option<prefetchers::Config>,
}

impl Config {
    /// Addresses that differ by this fall on the same set: the bytes of one way.
    pub fn colours_bytes(&self) -> u64 {
        self.size.as_u64() / u64::from(self.associativity)
    }

    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let (size, block) = (self.size.as_u64(), self.block.as_u64());
        if !block.is_power_of_two() || !(16..=LARGEST_BLOCK_BYTES as u64).contains(&block) {
            problems.push(("block", format!("{} is not a power of two from 16B to 256B", self.block)));
        }
        let ways = self.associativity;
        let way = block * u64::from(ways);
        if !(1..=16).contains(&ways) {
            problems.push(("associativity", format!("{ways} is not from 1 to 16")));
        } else if block > 0 && (size < 2 * way || size % way != 0 || !(size / way).is_power_of_two())
            || size > 1 << 30
        {
            let message = format!(
                "{} is not a power of two of sets of {ways} blocks, from {} (two sets) to 1GiB",
                self.size,
                Bytes::new(2 * way)
            );
            problems.push(("size", message));
        }
        match protocols::by_name(&self.protocol) {
            None => {
                let (known, hint) = (protocols::names(), did_you_mean(&self.protocol, protocols::names()));
                let known = known.join(", ");
                problems
                    .push(("protocol", format!("'{}' is unknown; there are {known}{hint}", self.protocol)));
            }
            Some(protocol) if self.prefetcher.is_some() && !protocol.is_coherent() => {
                let message = format!(
                    "the protocol {} keeps no block coherent: one that nobody has asked for would be stale when \
                     the program comes to it; expected none, or a coherent protocol",
                    self.protocol
                );
                problems.push(("prefetcher", message));
            }
            Some(_) => {}
        }
        problems.extend(self.prefetcher.iter().flat_map(prefetchers::Config::problems));
        problems
    }

    /// The parameters that change nothing on a bus with this traffic, as (key, why) pairs.
    pub fn without_effect(&self, traffic: &Traffic) -> Vec<WithoutEffect> {
        if traffic.has_other_writers() {
            return Vec::new();
        }
        vec![("snarfing".into(), "nobody else sends blocks home, so none pass by to be taken in".into())]
    }

    /// Memory of the host that the cache takes once every line has held a block.
    pub fn host_bytes(&self) -> u64 {
        let lines = self.size.as_u64() / self.block.as_u64();
        let sets = lines / u64::from(self.associativity);
        let (word, state_and_allowed) = (8, 2);
        let lost = if self.snarfing { word } else { 0 };
        let recency = if self.associativity > 1 { size_of::<Recency>() } else { 0 };
        let of_set = (size_of::<Row>() + recency) as u64;
        let unused = if self.prefetcher.is_some() { size_of::<Option<u64>>() as u64 } else { 0 };
        lines * (self.block.as_u64() + word + state_and_allowed + lost + unused) + sets * of_set
    }
}
