//! What a machine's file says about a processor's uncached stores.

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

/// The parameters of a processor's store buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreBufferConfig {
    /// Whether uncached stores are "blocking" or "posted".
    pub uncached_stores: UncachedStores,
    /// Stores that the buffer holds, 1 to 64; not used where stores block.
    #[schemars(range(min = 1, max = 64))]
    pub entries: u32,
}

impl StoreBufferConfig {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        if (1..=64).contains(&self.entries) {
            return Vec::new();
        }
        vec![("entries", format!("{} is not from 1 to 64", self.entries))]
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
