//! What switches carry: parcels of any owner.
//!
//! A switch looks at a parcel's label and never at its cargo: a frame of the network
//! interfaces, or a request or a reply of a generator of traffic. Messages of a directory
//! are no cargo: the network on chip carries them ([`crate::on_chip`]).

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::packet::{Frame, NodeId};

/// Something on its way through switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel<C> {
    /// The node that it comes from.
    pub source: NodeId,
    /// The node that it goes to.
    pub destination: NodeId,
    /// The node to whose switch it goes now: its destination, or another one on a detour.
    pub towards: NodeId,
    /// All the bytes that a link carries for it.
    pub bytes: u32,
    /// Its priority; a larger number goes first. Each has lanes of its own.
    pub priority: u8,
    /// Which of its priority's groups of lanes it uses, if links have several.
    pub group: u8,
    /// The lane in which it is, or in which it comes to the next buffer.
    pub lane: u8,
    /// A switch has met congestion on its way.
    pub is_marked: bool,
    /// The room that it needs behind its next link is kept for it.
    pub has_room: bool,
    /// When its owner handed it over: its age.
    pub handed_over: Time,
    /// Random bits that choose between routes of equal length.
    pub choice: u64,
    /// What it carries.
    pub cargo: C,
}

impl<C> Parcel<C> {
    /// A number below `alternatives` that is drawn anew at each switch.
    #[inline]
    pub(crate) fn pick(&mut self, alternatives: u32) -> u32 {
        // Knuth's linear congruential generator (MMIX): its high bits are good ones.
        self.choice =
            self.choice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.choice >> 32) * u64::from(alternatives)) >> 32) as u32
    }
}

/// What a node was at when it sent a frame. Frames of one node that arrive at the same instant
/// arrive in this order, so that one that keeps a refused packet knows what its next attempt
/// comes before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Something arrived from the network: acknowledgements, and what there is room for then.
    Arrival,
    /// A packet that came back was to be sent again.
    Retry,
    /// All else.
    #[default]
    Own,
}

/// What partitions of a machine send to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mail<C> {
    /// A cargo that arrives over a network without switches.
    Direct(C, Phase),
    /// A parcel comes to a port.
    Parcel {
        /// The port of the receiver.
        port: u16,
        /// The parcel, in the lane that it names.
        parcel: Parcel<C>,
    },
    /// There is room again in the buffer behind a port, or none.
    Credit(Credit),
    /// A switch tells the next one what waits in it.
    Told(Told),
}

/// What waits for an output of the switch at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The port of the switch that is told.
    pub port: u16,
    /// The output of the one that tells.
    pub output: u16,
    /// Bytes that wait for it, there and behind its link.
    pub bytes: u32,
}

/// Room in the buffer at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credit {
    /// The port of the sender, which learns of it.
    pub port: u16,
    /// The lane.
    pub lane: u8,
    /// How many bytes more; to a sender that counts none, all that it may use from now on.
    pub bytes: u32,
}

/// Something for another partition: when it arrives, where, and what it is.
pub type Sending<C> = (Time, usize, Mail<C>);

impl Phase {
    /// The place, among the frames from one node that arrive at the same instant, of one that
    /// was sent in this phase and has this number among the others of the phase.
    #[inline]
    pub fn order(self, number: u64) -> u64 {
        (self as u64) << 38 | number
    }
}

impl Frame {
    /// Its place among the frames from one node that arrive at the same instant, if it was
    /// sent in this phase after so many others: packets that are sent again are in the order
    /// of their sequence numbers, all others in that in which they were sent.
    #[inline]
    pub fn order(&self, phase: Phase, sent_before: u64) -> u64 {
        match (phase, self) {
            (Phase::Retry, Frame::Data(packet)) => phase.order(packet.sequence),
            _ => phase.order(sent_before),
        }
    }
}
