//! Pause of a lane (priority-based flow control, IEEE 802.1Qbb-2011): a receiver whose lane holds more
//! than one threshold tells its sender to stop that lane, and to go on when it holds no more than
//! another. What is under way meanwhile needs room beyond the threshold: the headroom.
//!
//! ```text
//!   sender ──────── parcels ───────► ▤▤▤▤▤▤│above ░░ headroom ░░│ buffer
//!          ◄── stop, one latency ───        │below
//! ```
//!
//! As with credits nothing is lost, and lanes that are paused can wait for each other in a circle. The
//! check of routes ([`crate::routes`]) is the same. 802.1Qbb pauses for a time that has to be renewed
//! (up to 65,535 quanta of 512 bits); here a pause lasts until its end is told, which is what its
//! implementations do that renew in time.

use narthex_kernel::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Backpressure;

/// The receiver stops the sender of a lane that is nearly full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// A lane that holds more than this is paused.
    pub above: Bytes,
    /// One that holds no more than this goes on.
    pub below: Bytes,
}

/// Packets beyond the threshold that may come beside what links carry: the one that crosses it, the
/// one that begins as the pause arrives, and one that is being stored.
const PACKETS_BEYOND: u64 = 3;

impl Backpressure for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let Config { above, below } = *self;
        let is_wrong = below > above;
        let message = || format!("{below} is more than {above} (above), where the pause begins");
        is_wrong.then(|| ("below", message())).into_iter().collect()
    }

    fn least_buffer(&self, packet_bytes: u64, round_trip_bytes: u64) -> (u64, String) {
        let above = self.above.as_u64();
        let headroom = round_trip_bytes + PACKETS_BEYOND * packet_bytes;
        let told = format!(
            "a lane is paused above {above}B (network.switches.backpressure.above), and {headroom}B more may come until \
             its sender stops: {round_trip_bytes}B in two latencies and delays, and {PACKETS_BEYOND} packets"
        );
        (above + headroom, told)
    }

    #[inline]
    fn stops(&self, held: u32) -> bool {
        u64::from(held) > self.above.as_u64()
    }

    #[inline]
    fn lets_go_on(&self, held: u32) -> bool {
        u64::from(held) <= self.below.as_u64()
    }
}
