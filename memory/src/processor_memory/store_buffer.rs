//! What a machine's file says about a processor's uncached stores, and about blocks that it
//! flushes.

use crate::traffic::WithoutEffect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to a store that goes to an uncached page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UncachedStores {
    /// The processor waits until the store has reached its device.
    Blocking,
    /// The store waits in the store buffer while the processor goes on.
    Posted,
}

/// What happens to a dirty block that an instruction sends home (`cbo.flush`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlushedBlocks {
    /// The processor waits until the block has reached its home.
    #[default]
    Blocking,
    /// The block waits with the posted stores, in their order, while the processor goes on.
    Posted,
}

impl FlushedBlocks {
    fn are_waited_for(&self) -> bool {
        *self == FlushedBlocks::Blocking
    }
}

/// The parameters of a processor's store buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreBufferConfig {
    /// Whether uncached stores are "blocking" or "posted".
    pub uncached_stores: UncachedStores,
    /// Stores that the buffer holds, 1 to 64; not used where stores block.
    #[schemars(range(min = 1, max = 64))]
    pub entries: u32,
    /// Whether blocks that a program flushes are "blocking", as they are if this is missing, or
    /// "posted", which needs posted stores.
    #[serde(default, skip_serializing_if = "FlushedBlocks::are_waited_for")]
    pub flushed_blocks: FlushedBlocks,
}

impl StoreBufferConfig {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if !(1..=64).contains(&self.entries) {
            problems.push(("entries", format!("{} is not from 1 to 64", self.entries)));
        }
        let are_posted = self.flushed_blocks == FlushedBlocks::Posted;
        if are_posted && self.uncached_stores == UncachedStores::Blocking {
            let problem = "\"posted\" blocks wait with posted stores, and uncached_stores is \"blocking\"; \
                           expected \"blocking\", or uncached_stores \"posted\"";
            problems.push(("flushed_blocks", problem.into()));
        }
        problems
    }

    /// The parameters that change nothing, as (key, why) pairs.
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        match self.uncached_stores {
            UncachedStores::Posted => Vec::new(),
            UncachedStores::Blocking => {
                let why = "uncached stores block the processor (store_buffer.uncached_stores)";
                vec![("entries".into(), why.into())]
            }
        }
    }
}
