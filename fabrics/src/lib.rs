//! The packet, the networks that carry it, and the flow control between a
//! network and an interface.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`packet`] | packets and the frames of the flow control |
//! | [`networks`] | how long a frame takes; one network a file |
//! | [`flow_control`] | which packets may be in flight; one scheme a file |
//! | [`port`] | both, as an interface sees them |
//!
//! A fabric carries packets of any owner: it reads a header's destination and
//! nothing else.

pub mod flow_control;
pub mod networks;
pub mod packet;
pub mod port;

pub use packet::{Frame, Header, NodeId, Packet, Placement, Rank};
pub use port::{NetworkPort, ProcessPort};
