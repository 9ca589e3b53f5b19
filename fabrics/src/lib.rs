//! The packet, the networks that carry it, and the flow control between a
//! network and an interface.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`packet`] | packets and the frames of the flow control |
//! | [`networks`] | how long a frame takes; one network a file |
//! | [`flow_control`] | which packets may be in flight; one scheme a file |
//! | [`faults`] | frames that are lost on purpose |
//! | [`port`] | both, as an interface sees them |
//! | [`message_sizes`] | how large the messages are that it sends |
//!
//! A fabric carries packets of any owner: a header's destination decides where
//! they go, and the rest of it is only counted.

pub mod faults;
pub mod flow_control;
pub mod message_sizes;
pub mod networks;
pub mod packet;
pub mod port;

pub use message_sizes::MessageSizes;
pub use packet::{Frame, FrameKind, FrameSummary, Header, NodeId, Packet, Placement, Rank};
pub use port::{NetworkPort, ProcessPort, Relay};
