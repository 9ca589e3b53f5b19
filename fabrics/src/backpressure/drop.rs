//! Drop: a sender does not know what room there is, and a parcel that finds none is lost (tail drop, as
//! Ethernet switches do without IEEE 802.1Qbb). Nothing waits for room, so nothing waits in a circle;
//! a flow control that sends again what was lost has to stand above (`go-back-n`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Backpressure;

/// A parcel that finds no room is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Backpressure for Config {
    fn loses(&self) -> bool {
        true
    }

    #[inline]
    fn admits(&self, held: u32, bytes: u32, buffer: u32) -> bool {
        held + bytes <= buffer
    }
}
