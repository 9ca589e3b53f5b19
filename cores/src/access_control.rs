//! What access tags cost a processor. The trap itself is in [`crate::traps`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest value that is believed: more is a typing error.
const MOST_CYCLES: u64 = 1_000;

/// What access tags cost a processor, in its own cycles. An access that its tag
/// allows costs nothing more than it does without tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessControl {
    /// From an access that a tag refuses to the first instruction of the handler.
    pub fault_cycles: u64,
    /// For how long the change of a tag occupies the memory port.
    pub tag_change_cycles: u64,
}

impl AccessControl {
    /// The least that is possible: one cycle each.
    pub fn simple() -> Self {
        AccessControl { fault_cycles: 1, tag_change_cycles: 1 }
    }

    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        [("fault_cycles", self.fault_cycles), ("tag_change_cycles", self.tag_change_cycles)]
            .into_iter()
            .filter(|(_, cycles)| !(1..=MOST_CYCLES).contains(cycles))
            .map(|(key, cycles)| (key, format!("{cycles} is not from 1 to {MOST_CYCLES}")))
            .collect()
    }
}
