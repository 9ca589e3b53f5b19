//! Caches, coherence protocols, buses and main memory of one node.
//!
//! ```text
//!   processor ── Port ── ProcessorMemory ─┐             ┌─ home: MainMemory
//!                        (caches, stores) │             │
//!   another processor ────────────────────┼──── Bus ────┤
//!                                         │             │
//!   network interface (slave, master, ────┘             └─ home: the interface
//!   snooper)
//! ```
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`port`] | what a processor asks of the memory below it |
//! | [`processor_memory`] | a processor's caches, store buffer and pending access |
//! | [`cache`] | a set-associative cache that holds data |
//! | [`prefetchers`] | which blocks a cache level fetches ahead: one kind a file |
//! | [`protocols`] | coherence protocols, one table a file |
//! | [`kind`] | the kinds of transaction: one table |
//! | [`transaction`] | what crosses the interconnect, and the answers |
//! | [`bus`] | the arbitration of a bus, its occupancy and its counts |
//! | [`bridge`] | what may cross between two buses, and how long it takes |
//! | [`directory`] | coherence without a bus: homes, requesters, tables |
//! | [`agent`] | what sits on an interconnect |
//! | [`interconnects`] | what carries transactions between agents: one kind a file |
//! | [`traffic`] | what can cross a bus, and which parameters therefore change nothing |
//! | [`home_memory`] | a memory on an interconnect |
//! | [`interrupt`] | what a device sends to interrupt a processor |
//! | [`third_level`] | a cache in front of a memory |
//! | [`memory_array`] | what keeps a memory's blocks |
//! | [`memory_uses`] | when its parts are in use, for observers |
//! | [`sockets`] | to which socket an address belongs, and the links between sockets |
//! | [`dram`] | channels, banks and their open rows |
//! | [`main_memory`] | the bytes behind the addresses; pages on touch |
//! | [`pages`] | which addresses exist, and how they may be used |
//! | [`page_frames`] | in which frame each page of a process is |
//! | [`access_tags`] | what a process may do with each block of its tagged memory |
//! | [`translation`] | from a process's addresses to its node's |
//!
//! Nothing here calls a peer: a cache says what it needs, a bus says when, and
//! the node carries the one to the other.

pub mod access_tags;
pub mod agent;
pub mod bridge;
pub mod bus;
pub mod cache;
pub mod directory;
pub mod dram;
pub mod home_memory;
pub mod interconnects;
pub mod interrupt;
pub mod kind;
pub mod main_memory;
pub mod memory_array;
pub mod memory_uses;
pub mod page_frames;
pub mod pages;
pub mod port;
pub mod prefetchers;
pub mod processor_memory;
pub mod protocols;
pub mod sockets;
pub mod third_level;
pub mod traffic;
pub mod transaction;
pub mod translation;

pub use access_tags::{AccessTags, Tag, TagError};
pub use kind::Kind;
pub use port::{AccessFault, Outcome, Port};
pub use processor_memory::{ProcessorMemory, ProcessorPort};
pub use transaction::{
    AccessReply, AgentId, BlockData, HomeReply, Response, SnoopReply, Transaction, TransactionTag,
};
