//! Backpressure: what keeps a sender from filling the buffer behind its link. One file a kind; the
//! build script finds them.
//!
//! ```text
//!   credits   the sender counts the room behind its link, and waits where there is none
//!   pause     the receiver stops the sender of a lane, and lets it go on
//!   drop      nothing: what finds no room is lost, and a transport repairs that
//! ```
//!
//! The links to nodes count credits with each of them: a node takes what comes, or keeps its place.
//! A receiver counts a parcel from the instant at which it may leave the switch until its last byte
//! has left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

include!(concat!(env!("OUT_DIR"), "/backpressure.rs"));

/// What decides whether a parcel may come, on both sides of a link between switches.
pub trait Backpressure {
    /// What is wrong with the parameters, as (key, what is wrong) pairs.
    fn problems(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The smallest buffer of a lane that loses nothing, or takes any packet, and why: where links
    /// carry so many bytes in the time of a signal to the sender and of a parcel back.
    fn least_buffer(&self, packet_bytes: u64, _round_trip_bytes: u64) -> (u64, String) {
        (packet_bytes, String::new())
    }

    /// Whether the sender counts the room behind the link.
    fn counts_room(&self) -> bool {
        false
    }

    /// Whether parcels may be lost. If so, none waits for room.
    fn loses(&self) -> bool {
        false
    }

    /// Whether a parcel of this many bytes is let in, where a lane's buffer holds others.
    fn admits(&self, _held: u32, _bytes: u32, _buffer: u32) -> bool {
        true
    }

    /// Whether a sender is stopped whose lane holds this much.
    fn stops(&self, _held: u32) -> bool {
        false
    }

    /// Whether one that was stopped may go on.
    fn lets_go_on(&self, _held: u32) -> bool {
        true
    }
}

impl Backpressure for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        chosen!(self, config => config.problems())
    }

    fn least_buffer(&self, packet_bytes: u64, round_trip_bytes: u64) -> (u64, String) {
        chosen!(self, config => config.least_buffer(packet_bytes, round_trip_bytes))
    }

    #[inline]
    fn counts_room(&self) -> bool {
        chosen!(self, config => config.counts_room())
    }

    fn loses(&self) -> bool {
        chosen!(self, config => config.loses())
    }

    #[inline]
    fn admits(&self, held: u32, bytes: u32, buffer: u32) -> bool {
        chosen!(self, config => config.admits(held, bytes, buffer))
    }

    #[inline]
    fn stops(&self, held: u32) -> bool {
        chosen!(self, config => config.stops(held))
    }

    #[inline]
    fn lets_go_on(&self, held: u32) -> bool {
        chosen!(self, config => config.lets_go_on(held))
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::Credits(credits::Config {})
    }
}

impl Config {
    /// Whether it is what a machine's file need not say.
    pub fn is_default(&self) -> bool {
        *self == Config::default()
    }
}

#[cfg(test)]
mod tests {
    use narthex_kernel::Bytes;

    use super::*;

    #[test]
    fn a_pause_needs_room_for_what_is_under_way_and_the_others_for_a_packet() {
        let (above, below) = (Bytes::new(1000), Bytes::new(500));
        let pause = Config::Pause(pause::Config { above, below });
        assert_eq!(pause.least_buffer(64, 400).0, 1000 + 400 + 3 * 64);
        for other in [Config::default(), Config::Drop(drop::Config {})] {
            assert_eq!(other.least_buffer(64, 400).0, 64);
        }
    }

    #[test]
    fn a_pause_that_ends_above_its_begin_is_refused() {
        let pause = |above, below| pause::Config { above: Bytes::new(above), below: Bytes::new(below) };
        let message = "600B is more than 500B (above), where the pause begins";
        assert_eq!(pause(500, 600).problems(), [("below", message.to_owned())]);
        assert_eq!(pause(500, 500).problems(), []);
    }
}
