//! What differs between links that let devices cache: a [`Dialect`].
//!
//! What the two ends do is the same for all of them ([`Link`](super::Link)). A dialect says what messages are called
//! and how many units they take of the wires, whether bytes have messages of their own, and whether messages need
//! credits. [`super`] has that of CXL, [`coherent_link`](super::super::coherent_link) that of an inter-socket protocol.

use std::fmt::Debug;
use std::hash::Hash;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Category, Duration};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::messages::{Message, Opcode, Way};
use super::part::Flit;
use super::{Interconnect, Link};
use crate::kind::Kind;

/// The names, sizes and parameters of a kind of link.
pub trait Dialect: Copy + Debug + 'static {
    /// What a machine's file calls the kind.
    const KIND: &'static str;

    /// Whether bytes that are written have messages of their own: the host pulls those of a write and a write-back,
    /// and those that answer a snoop of a home go before the answer. Otherwise they are in the message that they
    /// belong to, and a write-back is over for the device when it leaves.
    const PULLS: bool;

    /// Messages by name.
    type Name: Category + Debug;

    /// What a link counts.
    type Statistics: LinkStatistics<Name = Self::Name>;

    /// The keys of a machine's file.
    type Keys: Clone + Debug;

    /// Wires, buffers and credits of such a link.
    fn limits(keys: &Self::Keys) -> Limits;

    /// The name of a message.
    fn name(message: &Message) -> Self::Name;

    /// The name of the message that a transaction becomes first.
    fn name_of_request(opcode: Opcode, kind: Kind) -> Self::Name;

    /// The same for people.
    fn text(name: Self::Name) -> &'static str;

    /// The units of the wires that a message takes: slots, or words.
    fn units(message: &Message, block_bytes: u32) -> u32;

    /// The link, if an interconnect is one of this kind.
    fn link(interconnect: &mut Interconnect) -> Option<&mut Link<Self>>;
}

/// What counts messages.
pub trait LinkStatistics:
    StatisticSet + Default + Clone + Debug + Hash + Serialize + DeserializeOwned + 'static
{
    /// Messages by name.
    type Name: Category;

    /// A message takes the wires.
    fn carry(&mut self, way: Way, name: Self::Name, taken: Taken);

    /// A message has waited for them.
    fn wait(&mut self, way: Way, time: Duration);

    /// A snoop waits in the host's port.
    fn keep(&mut self);
}

/// What a message takes of the wires.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Slots, or words.
    pub units: u32,
    /// Bytes of data.
    pub payload: u64,
    /// Bytes besides data.
    pub overhead: u64,
    /// Time.
    pub time: Duration,
}

/// What a link's parameters come to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub(in super::super) line: Line,
    /// Requests of the device under way.
    pub requests: u32,
    /// Stores to registers for which the device's end has buffers.
    pub stores: u32,
    /// Buffers at either end for requests, forwards and responses; none if there are always some.
    pub credits: Option<[u32; 3]>,
}

/// The wires of a link.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Line {
    /// The time of a byte in picoseconds, as a fraction.
    pub byte: (u64, u64),
    pub flit: Flit,
    /// From the end of a message on the wires until the other end works on it.
    pub latency: Duration,
    /// From when a buffer is free at one end until the other one knows.
    pub credit_latency: Duration,
}
