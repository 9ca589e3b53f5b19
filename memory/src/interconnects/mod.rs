//! Interconnects: what carries transactions between the agents of a node.
//!
//! ```text
//!   agents:  processors' memories    ports of devices    bridges
//!                  │                      │                 │
//!            ──────┴──────────────────────┴─────────────────┴──── interconnect
//!                                 │
//!                             memories (homes of addresses; they never ask)
//! ```
//!
//! An *agent* ([`crate::agent::Agent`]) asks for an interconnect, issues a transaction when it is granted,
//! snoops those of others, answers those on blocks whose home it is, and gets the
//! response at the end. An *interconnect* decides who is granted, who snoops, who
//! answers, and how long that takes. Neither holds the other: what holds both, a
//! [`InterconnectHost`], hands agents out to the rules of the interconnect. A node of a
//! run is a composition; so are the node that the model checker explores, whose
//! clock is a free choice, and the one of the conformance suite, whose clock
//! stands still. All of them therefore run the rules that are written here, once.
//!
//! What happens at an interconnect is a [`Step`] at an instant, which the rules
//! ask their composition to schedule. The rules are functions of the composition
//! rather than methods of the interconnect, because a step may concern a second
//! interconnect: a bridge holds two buses at once.
//!
//! **A new interconnect is one file in this folder**: a type of the file's name that implements
//! [`InterconnectModel`], and the `Keys` of its table in a machine's file, which implement [`InterconnectKind`]. The
//! build script finds it and adds it to [`Interconnect`] and [`Part`]. Nothing else names a kind.
//! `docs/add-an-interconnect.md` goes through one.

mod accesses;
mod address_map;
mod bridge_agent;
mod carrying;
#[macro_use]
mod dispatch;
mod host;
mod link_packets;
mod model;
mod part;
mod ports;
mod refusals;

use std::hash::Hash;
use std::hash::Hasher;
use std::ops::Range;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Clock, Damage, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::bridge::Bridge;
use crate::directory::Carried;
use crate::transaction::{AccessReply, AgentId, Response, SnoopReply, Transaction, TransactionTag};

pub use address_map::{AddressMap, Home, Overlap};
pub use bridge_agent::BridgeAgent;
pub use host::{InterconnectHost, Observation, Supplier};
pub use link_packets::LinkPacket;
pub use model::{InterconnectModel, Numbers, Words};
pub use part::{Above, Admits, Broken, InterconnectKind, MachineFile, Plan, Site};
pub use ports::{AgentPort, AgentPorts};
pub use refusals::{Refusal, Refused};

pub use carrying::Answer;
pub(crate) use carrying::{
    CarriedTransaction, Snooped, access, at_home, block_transaction, complete, snarf, snoop,
};
pub use directory::Tiles;

include!(concat!(env!("OUT_DIR"), "/interconnects.rs"));

/// What reports call a node's first bus.
pub const MEMORY_BUS: &str = "memory bus";

/// The number of an interconnect in its composition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct InterconnectId(pub u8);

/// The number of a memory in its composition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MemoryId(pub u8);

/// What can happen at an interconnect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Step {
    /// It is granted to an agent.
    Grant,
    /// The transaction on it is over.
    Release,
    /// The address of a read has come to its bridge.
    Address,
    /// A cache answers what it was forwarded while it held the block.
    Forward,
}

/// What reports call an interconnect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names {
    /// Itself: "memory bus".
    pub name: &'static str,
    /// In front of the names of its statistics: "io_"; empty for a node's first one.
    pub prefix: &'static str,
}

found!();

#[cfg(test)]
mod tests;
