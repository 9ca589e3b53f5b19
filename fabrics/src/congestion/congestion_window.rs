//! A window of packets that grows with acknowledgements and shrinks with marks and losses, after DCTCP
//! (Alizadeh, Greenberg, Maltz, Padhye, Patel, Prabhakar, Sengupta and Sridharan, "Data Center TCP
//! (DCTCP)", SIGCOMM 2010, Section 3.3) and TCP (RFC 5681, Section 3.1, congestion avoidance).
//!
//! Each acknowledgement adds one packet over the window, so the window grows by a packet a round trip.
//! At the end of each round trip alpha becomes (1 - g) alpha + g F, where F is the share of its packets
//! that were marked; if any was, the window shrinks by alpha / 2. A loss halves it.
//! *Not modelled*: slow start; a sender begins with `first` packets.
//!
//! The paper's g is 1/16. Without marks (`network.switches.marking`) it is TCP's window alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Echo, Parameters, Sender, WHOLE, at_least_1};

/// A window that grows with acknowledgements and shrinks with marks and losses (DCTCP, TCP).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Packets without acknowledgement with which a sender begins.
    #[schemars(range(min = 1))]
    pub first: u32,
    /// One over g, the weight of the newest in alpha.
    #[schemars(range(min = 1))]
    pub inverse_weight: u32,
}

impl Parameters for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let counts = [("first", self.first), ("inverse_weight", self.inverse_weight)];
        counts.into_iter().filter_map(|(key, value)| at_least_1(key, value)).collect()
    }

    fn echo(&self) -> Echo {
        Echo::EachPacket
    }

    fn sender(&self) -> Sender {
        let window = u64::from(self.first) * WHOLE;
        Sender::Window(Window {
            inverse_weight: self.inverse_weight.into(),
            window,
            alpha: WHOLE,
            left: self.first.into(),
            acknowledged: 0,
            marked: 0,
        })
    }
}

/// The window towards a destination.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Window {
    inverse_weight: u64,
    /// In parts of [`WHOLE`] of a packet.
    window: u64,
    /// In parts of [`WHOLE`].
    alpha: u64,
    /// Acknowledgements until the end of this round trip.
    left: u64,
    /// Packets of it that were acknowledged, and those with a mark.
    acknowledged: u64,
    marked: u64,
}

impl Window {
    /// Whole packets of it.
    pub(super) fn packets(&self) -> u64 {
        self.window / WHOLE
    }

    fn shrink(&mut self, share: u64) {
        self.window = (self.window - self.window * share / WHOLE).max(WHOLE);
    }

    pub(super) fn is_acknowledged(&mut self, packets: u64, is_marked: bool) {
        self.acknowledged += packets;
        self.marked += if is_marked { packets } else { 0 };
        self.window += packets * WHOLE / self.packets();
        self.left = self.left.saturating_sub(packets);
        if self.left == 0 {
            self.end_round_trip();
        }
    }

    fn end_round_trip(&mut self) {
        let share = self.marked * WHOLE / self.acknowledged.max(1);
        self.alpha = self.alpha - self.alpha / self.inverse_weight + share / self.inverse_weight;
        if self.marked > 0 {
            self.shrink(self.alpha / 2);
        }
        (self.left, self.acknowledged, self.marked) = (self.packets(), 0, 0);
    }

    pub(super) fn has_lost(&mut self) {
        self.shrink(WHOLE / 2);
        (self.left, self.acknowledged, self.marked) = (self.packets(), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(first: u32) -> Window {
        let config = Config { first, inverse_weight: 16 };
        assert_eq!((config.problems(), config.echo()), (vec![], Echo::EachPacket));
        let Sender::Window(window) = config.sender() else { panic!("it is a window") };
        window
    }

    #[test]
    fn a_window_grows_by_a_packet_a_round_trip_and_halves_with_a_loss() {
        let mut window = window(4);
        (0..4).for_each(|_| window.is_acknowledged(1, false));
        assert_eq!(window.packets(), 5);
        window.has_lost();
        assert_eq!(window.window, 5 * WHOLE / 2);
        (0..8).for_each(|_| window.has_lost());
        assert_eq!(window.packets(), 1, "never less than a packet");
    }

    #[test]
    fn marks_shrink_a_window_by_half_of_the_share_that_was_seen() {
        let mut window = window(4);
        (0..3).for_each(|_| window.is_acknowledged(1, false));
        window.is_acknowledged(1, true);
        // 15/16 of 1, and a quarter of a sixteenth; the window was 5 packets.
        let alpha = WHOLE - WHOLE / 16 + WHOLE / 4 / 16;
        assert_eq!((window.alpha, window.window), (alpha, 5 * WHOLE - 5 * WHOLE * (alpha / 2) / WHOLE));
    }
}
