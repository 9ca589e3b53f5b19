//! Credits (Kung and Morris, "Credit-Based Flow Control for ATM Networks", 1995; Dally and Towles,
//! Section 13.3): a sender counts the room of each lane behind its link, and waits where there is none.
//! A credit comes back when a parcel has left. Nothing is lost, however small the buffer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Backpressure;

/// The sender counts the room behind its link, and waits where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Backpressure for Config {
    fn counts_room(&self) -> bool {
        true
    }
}
