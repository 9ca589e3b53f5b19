//! The parameters of a directory, and which of them do not go together.

use narthex_kernel::Duration;
use narthex_kernel::quantity::{Bytes, Frequency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The clock at whose edges requesters begin transactions.
    pub clock: Frequency,
    /// Transactions that an agent has under way at most, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub transactions: u32,
    /// Time that a home needs to look a message up; it looks up one at a time.
    pub lookup_time: Duration,
    /// Time for which the memory of a home is taken by a block: from one block to the next.
    pub block_time: Duration,
    /// Time that a cache needs to supply a block to another.
    pub cache_supply_time: Duration,
    /// Time for which a cache keeps a block to itself that it has just got to write it.
    pub hold_time: Duration,
    /// Bytes that follow each other at one of several memories; a multiple of the block.
    pub interleave: Bytes,
}

impl Config {
    /// The rules that the parameters break with blocks of so many bytes, as (key, what is
    /// wrong) pairs.
    pub fn problems(&self, block_bytes: u64) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if !(1..=64).contains(&self.transactions) {
            problems.push(("transactions", format!("{} is not from 1 to 64", self.transactions)));
        }
        let interleave = self.interleave.as_u64();
        if interleave == 0 || !interleave.is_multiple_of(block_bytes) {
            let message = format!("{} is no multiple of the block of {block_bytes}B", self.interleave);
            problems.push(("interleave", message));
        }
        problems
    }
}
