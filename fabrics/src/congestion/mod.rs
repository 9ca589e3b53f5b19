//! Congestion control: how fast, or how far ahead of acknowledgements, a sender of `go-back-n` goes.
//! One file a kind; the build script finds them.
//!
//! Switches mark parcels that meet congestion ([`crate::switch::Marking`]), a receiver tells the sender,
//! and the sender slows down for that destination. Arithmetic is of integers alone, so that a run is the
//! same everywhere.

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

include!(concat!(env!("OUT_DIR"), "/congestion.rs"));

/// Shares are of this.
pub(crate) const WHOLE: u64 = 1 << 16;

/// How a receiver tells a sender of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// With the acknowledgement of each marked packet.
    EachPacket,
    /// With a frame of its own, and no sooner than this after the one before.
    Every(Duration),
}

/// The parameters of a kind of congestion control.
pub trait Parameters {
    /// What is wrong with them, as (key, what is wrong) pairs.
    fn problems(&self) -> Vec<(&'static str, String)>;

    /// How a receiver tells of marks.
    fn echo(&self) -> Echo;

    /// A sender towards a destination that has sent nothing yet.
    fn sender(&self) -> Sender;
}

impl Parameters for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        chosen!(self, config => config.problems())
    }

    fn echo(&self) -> Echo {
        chosen!(self, config => config.echo())
    }

    fn sender(&self) -> Sender {
        chosen!(self, config => config.sender())
    }
}

/// What a sender is held back by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Sender {
    /// A rate.
    Rate(dcqcn::Rate),
    /// A number of packets without acknowledgement.
    Window(congestion_window::Window),
}

impl Sender {
    /// How many packets may be without acknowledgement.
    pub fn window(&self) -> u64 {
        match self {
            Sender::Rate(_) => u64::MAX,
            Sender::Window(window) => window.packets(),
        }
    }

    /// Bytes leave at `now`: when the next may.
    pub fn send(&mut self, now: Time, bytes: u64) -> Time {
        match self {
            Sender::Rate(rate) => rate.send(now, bytes),
            Sender::Window(_) => now,
        }
    }

    /// A receiver tells of congestion, in a frame of its own.
    pub fn is_notified(&mut self, now: Time) {
        if let Sender::Rate(rate) = self {
            rate.cut(now);
        }
    }

    /// Packets were acknowledged, with a mark or without; so many are not.
    pub fn is_acknowledged(&mut self, packets: u64, is_marked: bool) {
        if let Sender::Window(window) = self {
            window.is_acknowledged(packets, is_marked);
        }
    }

    /// A packet was lost.
    pub fn has_lost(&mut self) {
        if let Sender::Window(window) = self {
            window.has_lost();
        }
    }
}

/// What is wrong with a count that may not be 0.
fn at_least_1(key: &'static str, value: u32) -> Option<(&'static str, String)> {
    (value == 0).then(|| (key, "0 is not at least 1".to_owned()))
}
