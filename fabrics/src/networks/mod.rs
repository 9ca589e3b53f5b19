//! Networks: how long a frame takes from one node to another. One file each; the
//! build script finds them.
//!
//! A network is asked at injection when the frame arrives, so it belongs to the
//! sending node and shares nothing with the others. A network in which packets
//! meet (a crossbar, a fat tree) has partitions of its own between the nodes
//! and answers here with the time to the first of them.

use narthex_kernel::{Archived, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::{Frame, NodeId};

include!(concat!(env!("OUT_DIR"), "/networks.rs"));

/// The parameters of a kind of network.
trait Parameters {
    /// The network's end at one node.
    fn build(&self) -> Box<dyn Network>;
}

impl Config {
    /// The network's end at one node.
    pub fn build(&self) -> Box<dyn Network> {
        self.chosen().build()
    }
}

/// A network as one node sees it.
pub trait Network: Archived + Send {
    /// No frame arrives sooner than this after its injection: the lookahead of
    /// the simulation.
    fn smallest_latency(&self) -> Duration;

    /// When a frame whose last byte is injected at `now` arrives.
    fn arrival(&mut self, now: Time, destination: NodeId, frame: &Frame) -> Time;
}
