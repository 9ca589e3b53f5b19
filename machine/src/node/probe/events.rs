//! What a node tells those who observe it, by kind: transactions, refusals, messages, packets, frames.

use narthex_fabrics::{FrameSummary, NodeId};
use narthex_kernel::Time;
use narthex_memory::Kind;
use narthex_memory::directory::Lane;
use narthex_memory::interconnects::LinkPacket;
use narthex_memory::memory_uses::MemoryUse;

use super::super::interconnect_host::Agent;
use crate::activity::{Activity, Occupation};

/// Who delivered a block's bytes, or takes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supplier {
    /// A cache, or a half of the interface from its own memory.
    Agent(Agent),
    /// Main memory.
    MainMemory,
}

/// A transaction that crossed the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Which bus.
    pub bus: &'static str,
    /// Others may be on it at the same time, as on a directory.
    pub overlaps: bool,
    /// When the bus was granted.
    pub granted: Time,
    /// When it was free again.
    pub released: Time,
    /// Bus cycles in between.
    pub cycles: u64,
    /// Who issued it.
    pub agent: Agent,
    /// What it did.
    pub kind: Kind,
    /// The address of its block or register.
    pub address: u64,
    /// Who delivered the bytes, where bytes moved.
    pub supplier: Option<Supplier>,
    /// A processor's prefetcher has asked for the block, and no access of its program.
    pub is_prefetch: bool,
    /// The message that it became, on a link whose messages have names of their own.
    pub message: Option<&'static str>,
}

impl Crossing {
    /// The name of what it did: that of its kind, but for prefetches.
    pub fn name(&self) -> &'static str {
        if self.is_prefetch { "prefetch" } else { self.kind.name() }
    }

    /// What its agent did to `place`, in words.
    pub fn in_words(&self, place: &str) -> String {
        match self.message {
            _ if self.is_prefetch => format!("prefetches {place}"),
            Some(message) => format!("{} ({message})", self.kind.in_words(place)),
            None => self.kind.in_words(place),
        }
    }
}

/// A bus that is taken, for how long is not known yet: a [`Crossing`] that began
/// then tells, or an [`Event::Released`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Which bus.
    pub bus: &'static str,
    /// Others may have one at the same time, as on a directory.
    pub overlaps: bool,
    /// Who has it.
    pub agent: Agent,
    /// What it wants to do, and the address.
    pub kind: Kind,
    /// The message that it becomes, on a link whose messages have names of their own.
    pub message: Option<&'static str>,
    /// The address of its block or register.
    pub address: u64,
}

/// A transaction that an agent has refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// When it had the bus, and what it would have done.
    pub crossing: Crossing,
    /// Who refused it.
    pub by: Agent,
}

/// A message of a transaction on a directory: it leaves a place for another, or is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Which interconnect.
    pub bus: &'static str,
    /// Whose transaction it belongs to.
    pub agent: Agent,
    /// The address of the transaction's block or register.
    pub address: u64,
    /// Its lane.
    pub lane: Lane,
    /// What it says.
    pub name: &'static str,
    /// The places on the network on chip from which and to which it goes.
    pub places: [u16; 2],
    /// It is at its place.
    pub is_there: bool,
}

/// A packet between the tiles of a device: it leaves, or is at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Its number on the network on chip.
    pub number: u64,
    /// The port that it leaves.
    pub port: usize,
    /// The port to which it goes; none if that is not in a tile.
    pub to: Option<usize>,
    /// What it is.
    pub name: &'static str,
    /// The places on the network on chip from which and to which it goes.
    pub places: [u16; 2],
    /// Bytes that it carries behind the network's header.
    pub bytes: u16,
    /// It is at its end.
    pub is_there: bool,
}

/// A packet or message on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnLink {
    /// Which interconnect.
    pub bus: &'static str,
    /// What takes its wires, from the instant of the event on.
    pub packet: LinkPacket,
}

/// Begin and end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// Its bus is granted.
    Granted,
    /// Its bus is free again.
    Released,
}

/// Something that happened at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A transaction crosses the bus, from the instant of the event on.
    Crossing(Crossing),
    /// From here on a processor's time belongs to other categories.
    Booking {
        /// The processor.
        processor: usize,
        /// What its program is doing.
        activity: Activity,
        /// What it is doing meanwhile.
        occupation: Occupation,
    },
    /// A program says that an activity begins inside the present one.
    Entered {
        /// The processor.
        processor: usize,
        /// What its program is doing.
        activity: Activity,
    },
    /// A frame leaves for a node.
    Departure(FrameSummary, NodeId),
    /// A frame has arrived; whether it is a packet that found a buffer.
    Arrival(FrameSummary, bool),
    /// An instant that a port of a device asked for has come. The ports of the network
    /// interface have the first numbers.
    Timer(usize),
    /// A bus is taken, for how long is not known yet.
    Held(Hold),
    /// A transaction has a bus and is not carried, because an agent refuses it.
    Refused(Refused),
    /// A bridge keeps that bus for a device.
    Kept(&'static str),
    /// That bus, which was taken or kept, is free again without a transaction.
    Released(&'static str),
    /// A packet takes the wires of a link.
    OnLink(OnLink),
    /// A part of a memory is in use; the event is told when that is known, perhaps later.
    InUse(MemoryUse),
    /// A message of a directory leaves, or is at its place.
    Message(Message),
    /// A packet of a tile's interface leaves it, or is at its end.
    Packet(Packet),
}
