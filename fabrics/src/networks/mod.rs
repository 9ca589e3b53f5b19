//! Networks: how a frame gets from one node to another. One file each; the build
//! script finds them.
//!
//! A network's end belongs to its node and shares nothing with the others. In a
//! network without switches the end knows at injection when a frame arrives. A
//! network in which frames meet has switches, partitions of their own between the
//! nodes ([`crate::switch`]), and an end that hands frames to the first of them
//! ([`crate::terminal`]).

use narthex_kernel::{Archived, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::Hops;
use crate::packet::{Frame, NodeId};
use crate::parcel::Sending;
use crate::switch::Switch;
use crate::terminal::Terminal;

include!(concat!(env!("OUT_DIR"), "/networks.rs"));

/// The machine around a network, as far as the network depends on it.
#[derive(Clone, Copy, Debug)]
pub struct NetworkContext {
    /// How many nodes it connects.
    pub nodes: u32,
    /// Those from here on are in one partition, behind that of the last node before.
    pub in_one_partition_from: u32,
    /// Where random streams start.
    pub seed: u64,
    /// The bytes of the largest frame.
    pub packet_bytes: u64,
}

/// The parameters of a kind of network.
pub(crate) trait Parameters {
    /// The rules that they break on such a machine, as (key, what is wrong) pairs.
    fn problems(&self, _around: &NetworkContext) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What they ask for and the network does not have, as (key, what is not there) pairs.
    fn warnings(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Why it cannot carry packets of this many bytes, which `because_of` makes so large, as a
    /// (key, what is wrong) pair.
    fn packet_problem(&self, _bytes: u64, _because_of: &str) -> Option<(String, String)> {
        None
    }

    /// Whether frames may be lost.
    fn loses(&self) -> bool {
        false
    }

    /// No frame arrives sooner than this after its injection.
    fn lookahead(&self) -> Duration;

    /// How long the ways between nodes and switches take at least, if it has switches.
    fn hops(&self) -> Option<Hops> {
        None
    }

    /// The network's end at a node.
    fn build(&self, own: NodeId, around: &NetworkContext) -> Box<dyn Network>;

    /// Its switches: the partitions that follow the nodes.
    fn switches(&self, _around: &NetworkContext) -> Vec<Switch<Frame>> {
        Vec::new()
    }
}

impl Config {
    /// The rules that the parameters break on such a machine, as (key, what is wrong) pairs.
    pub fn problems(&self, around: &NetworkContext) -> Vec<(String, String)> {
        self.chosen().problems(around)
    }

    /// What they ask for and the network does not have, as (key, what is not there) pairs.
    pub fn warnings(&self) -> Vec<(String, String)> {
        self.chosen().warnings()
    }

    /// Why the network cannot carry packets of this many bytes, which `because_of` makes so
    /// large, as a (key, what is wrong) pair.
    pub fn packet_problem(&self, bytes: u64, because_of: &str) -> Option<(String, String)> {
        self.chosen().packet_problem(bytes, because_of)
    }

    /// Whether frames may be lost.
    pub fn loses(&self) -> bool {
        self.chosen().loses()
    }

    /// The lookahead of the simulation: nothing passes from one partition to another
    /// sooner.
    pub fn lookahead(&self) -> Duration {
        self.chosen().lookahead()
    }

    /// How long the ways between nodes and switches take at least, if it has switches.
    pub fn hops(&self) -> Option<Hops> {
        self.chosen().hops()
    }

    /// The network's end at a node.
    pub fn build(&self, own: NodeId, around: &NetworkContext) -> Box<dyn Network> {
        self.chosen().build(own, around)
    }

    /// Its switches: the partitions that follow the nodes.
    pub fn switches(&self, around: &NetworkContext) -> Vec<Switch<Frame>> {
        self.chosen().switches(around)
    }
}

/// A network as one node sees it.
pub trait Network: Archived + Send {
    /// Takes a frame whose last byte is injected at `now`. If nothing between the nodes
    /// can delay it, says when it arrives, and where.
    fn send(&mut self, now: Time, destination: NodeId, frame: Frame) -> Option<Sending<Frame>>;

    /// The time that each frame takes to another node, whatever others there are; none if
    /// that depends on them, or if it takes no time.
    fn fixed_latency(&self) -> Option<Duration> {
        None
    }

    /// Whether an urgent packet would find room where it waits for the node's link.
    fn has_urgent_room(&self) -> bool {
        true
    }

    /// Its end at the node's switch, if it has switches.
    fn terminal(&self) -> Option<&Terminal<Frame>> {
        None
    }

    /// The same, to be changed.
    fn terminal_mut(&mut self) -> Option<&mut Terminal<Frame>> {
        None
    }
}
