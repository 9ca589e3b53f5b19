//! The parameters of a second-level cache, and which of them do not go together.

use narthex_kernel::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{cache, prefetchers};

/// How many accesses the cache takes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachePort {
    /// One in each cycle.
    Pipelined,
    /// One: the next begins when it is over.
    OneAtATime,
}

/// What of the caches above the second level holds, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// All of it.
    Inclusive,
    /// What has not been replaced since.
    NonInclusive,
}

/// What the data cache above does with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stores {
    /// It keeps the bytes until its block leaves, and takes in blocks to store to.
    WriteBack,
    /// It hands the bytes down at once, and takes in no block for it.
    WriteThrough,
}

/// The parameters of a second-level cache of data and instructions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes that the cache holds: a power of two of sets, two or more.
    pub size: Bytes,
    /// Lines in a set, 1 (direct-mapped) to 16.
    #[schemars(range(min = 1, max = 16))]
    pub associativity: u32,
    /// Bytes in a block, 16 to 256; a power of two. It is the node's coherence block.
    pub block: Bytes,
    /// Processor cycles from an access that misses above to its bytes, beyond what a
    /// hit above takes.
    #[schemars(range(min = 1, max = 1000))]
    pub latency_cycles: u32,
    /// Whether it takes an access in each cycle ("pipelined") or "one-at-a-time".
    pub port: CachePort,
    /// Whether it is "inclusive" or "non-inclusive" of the caches above.
    pub inclusion: Inclusion,
    /// Whether the data cache above is "write-back" or "write-through".
    pub data_cache_stores: Stores,
    /// What fetches blocks ahead of the program's accesses, where the cache has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetcher: Option<prefetchers::Config>,
}

impl Config {
    /// The rules that the parameters break below these caches, the data cache first,
    /// as (key, what is wrong) pairs.
    pub fn problems(
        &self,
        data: &cache::Config,
        above: &[(&str, &cache::Config)],
    ) -> Vec<(&'static str, String)> {
        let mut problems = self.as_cache(data).problems();
        // Its protocol is the data cache's, which is told of there.
        problems.retain(|(key, _)| *key != "protocol");
        if !(1..=1000).contains(&self.latency_cycles) {
            problems.push(("latency_cycles", format!("{} is not from 1 to 1000", self.latency_cycles)));
        }
        for (name, cache) in above {
            if !self.block.as_u64().is_multiple_of(cache.block.as_u64().max(1)) {
                let message =
                    format!("{} is no multiple of the block of {} ({name}.block)", self.block, cache.block);
                problems.push(("block", message));
            }
            if self.inclusion == Inclusion::Inclusive && self.size < cache.size {
                let message = format!(
                    "{} is smaller than {name}.size, {}, which an inclusive cache holds, too",
                    self.size, cache.size
                );
                problems.push(("size", message));
            }
            if self.inclusion == Inclusion::NonInclusive && self.block != cache.block {
                let message = format!(
                    "\"non-inclusive\" needs one block size, and {name}.block of {} is not {}: a part of a \
                     block that is above alone could not go home; expected \"inclusive\" or equal blocks",
                    cache.block, self.block
                );
                problems.push(("inclusion", message));
            }
        }
        if (self.inclusion, self.data_cache_stores) == (Inclusion::NonInclusive, Stores::WriteThrough) {
            let message =
                "\"write-through\" needs an \"inclusive\" second level, which holds what is stored to";
            problems.push(("data_cache_stores", message.into()));
        }
        if self.inclusion == Inclusion::NonInclusive && self.prefetcher.is_some() {
            let message = "needs an \"inclusive\" second level: below another one a block may be above alone, and \
                           one that nobody has asked for could take its place";
            problems.push(("prefetcher", message.into()));
        }
        problems
    }

    /// The same as a cache of its own, with the protocol of the data cache.
    pub(super) fn as_cache(&self, data: &cache::Config) -> cache::Config {
        cache::Config {
            size: self.size,
            associativity: self.associativity,
            block: self.block,
            protocol: data.protocol.clone(),
            snarfing: data.snarfing,
            prefetcher: self.prefetcher.clone(),
        }
    }

    /// Memory of the host that the cache takes once every line has held a block.
    pub fn host_bytes(&self, data: &cache::Config) -> u64 {
        self.as_cache(data).host_bytes()
    }
}
