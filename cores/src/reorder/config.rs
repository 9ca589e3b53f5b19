//! What a machine's file says about a processor's reorder window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most instructions that a window holds.
pub const MOST_ENTRIES: u64 = 512;

/// The most loads, and the most stores, of a window.
pub const MOST_QUEUED: u64 = 256;

/// The most entries of a predictor.
const MOST_PREDICTOR_ENTRIES: u64 = 1 << 16;

/// A reorder window: with it, instructions begin when their operands are ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Instructions that are in the processor at a time, up to 512, and no fewer than issue_width: the next
    /// one waits until the oldest one is complete.
    #[schemars(range(min = 1, max = 512))]
    pub entries: u64,
    /// Loads among them, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub load_queue: u64,
    /// Stores among them, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub store_queue: u64,
    /// Cycles from the end of a mispredicted branch to the first instruction of the right path.
    #[schemars(range(min = 0, max = 1000))]
    pub mispredict_cycles: u64,
    /// Whether a load from a device's register waits until all earlier instructions are complete. Later
    /// ones wait for its value in any case.
    pub mmio_loads_serialise: bool,
    /// What predicts branches.
    pub predictor: PredictorConfig,
}

/// How the direction of a branch is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PredictorKind {
    /// A counter of two bits for each branch, found by its address (Smith, ISCA 1981).
    Bimodal,
    /// The same, found by its address and the directions of the last branches (McFarling, DEC WRL
    /// TN-36, 1993).
    Gshare,
}

/// A branch predictor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PredictorConfig {
    /// "bimodal" or "gshare".
    pub kind: PredictorKind,
    /// Counters, and targets of jumps to registers: a power of two up to 65536.
    #[schemars(range(min = 2, max = 65536))]
    pub entries: u64,
}

impl Config {
    /// The first rule that it breaks with this issue width and this number of miss registers: the key
    /// within the processor's table, its value, and what is allowed.
    pub fn problem(&self, issue_width: u64, misses: u64) -> Option<(&'static str, u64, String)> {
        let queue = |key, value| {
            (!(1..=MOST_QUEUED).contains(&value)).then(|| (key, value, format!("1 to {MOST_QUEUED}")))
        };
        if !(issue_width..=MOST_ENTRIES).contains(&self.entries) {
            let allowed = format!("{issue_width} (the issue_width) to {MOST_ENTRIES}");
            return Some(("window.entries", self.entries, allowed));
        }
        if misses < 2 {
            return Some(("misses", misses, "2 to 32 with a window, whose loads overlap".into()));
        }
        let counters = self.predictor.entries;
        if !counters.is_power_of_two() || !(2..=MOST_PREDICTOR_ENTRIES).contains(&counters) {
            let allowed = format!("powers of two from 2 to {MOST_PREDICTOR_ENTRIES}");
            return Some(("window.predictor.entries", counters, allowed));
        }
        if self.mispredict_cycles > 1_000 {
            return Some(("window.mispredict_cycles", self.mispredict_cycles, "0 to 1000".into()));
        }
        queue("window.load_queue", self.load_queue).or_else(|| queue("window.store_queue", self.store_queue))
    }
}
