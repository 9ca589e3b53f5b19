//! Networks: how long a frame takes from one node to another. One file each.
//!
//! A network is asked at injection when the frame arrives, so it belongs to the
//! sending node and shares nothing with the others. A network in which packets
//! meet (a crossbar, a fat tree) has partitions of its own between the nodes
//! and answers here with the time to the first of them.

pub mod ideal;

use narthex_kernel::{Archived, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::{Frame, NodeId};

/// The network of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Config {
    /// Every frame takes the same time, and none meets another.
    Ideal(ideal::Config),
}

impl Config {
    /// The network's end at one node.
    pub fn build(&self) -> Box<dyn Network> {
        match self {
            Config::Ideal(config) => Box::new(ideal::Ideal::new(config)),
        }
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
