//! The packet, the networks that carry it, and the flow control between a
//! network and an interface.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`packet`] | packets and the frames of the flow control |
//! | [`networks`] | how a frame gets to its node; one network a file |
//! | [`parcel`] | what switches carry, of any owner |
//! | [`link`], [`switch`], [`terminal`] | the parts of a network in which parcels meet |
//! | [`backpressure`] | what keeps a sender from filling the buffer behind its link; one kind a file |
//! | [`topologies`] | its wiring and routes; one topology a file |
//! | [`routes`] | the check that nothing waits in a circle |
//! | [`on_chip`] | messages between the places of one node |
//! | [`latencies`] | how long packets took, with percentiles |
//! | [`intervals`] | amounts in intervals of one length |
//! | [`load`] | a network alone, under synthetic traffic |
//! | [`flow_control`] | which packets may be in flight; one scheme a file |
//! | [`congestion`] | how fast a sender goes where the network is congested; one kind a file |
//! | [`faults`] | frames that are lost on purpose |
//! | [`port`] | both, as an interface sees them |
//! | [`message_sizes`] | how large the messages are that it sends |
//!
//! A fabric carries what it is given: a destination decides where it goes, and the
//! rest of it is only counted.
//!
//! Six words for what is on its way, from the inside to the outside:
//!
//! | word | what it is | where |
//! | --- | --- | --- |
//! | packet | one network message of a program: a header and its payload | [`packet::Packet`] |
//! | frame | what the flow controls of two nodes exchange: a packet, an acknowledgement, or a packet on its way back | [`packet::Frame`] |
//! | cargo | what a parcel carries, at which no switch looks: a frame, or a request or reply of a generator of traffic | a type parameter of [`parcel`] |
//! | parcel | a cargo with the label that switches read: where it goes, its bytes, its lane | [`parcel::Parcel`] |
//! | mail | what one part of a network tells another: a parcel, room in a buffer, or, without switches, the cargo alone | [`parcel::Mail`] |
//! | envelope | a mail on its way from one partition of the simulator to another; no part of the machine | [`narthex_kernel::partition::Envelope`] |

pub mod backpressure;
pub mod congestion;
pub mod faults;
pub mod flow_control;
pub mod intervals;
mod job;
pub mod latencies;
pub mod link;
pub mod load;
pub mod message_sizes;
pub mod networks;
pub mod on_chip;
pub mod packet;
pub mod parcel;
pub mod port;
pub mod routes;
pub mod switch;
pub mod terminal;
pub mod topologies;

pub use job::Job;
pub use message_sizes::MessageSizes;
pub use packet::{Frame, FrameKind, FrameSummary, Header, NodeId, Notice, Packet, Placement, Rank};
pub use parcel::{Credit, Mail, Parcel, Phase, Sending};
pub use port::{NetworkPort, ProcessPort, Relay};
