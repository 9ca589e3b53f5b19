//! What a network carries: packets, and the frames of the flow control.

/// A node's place in the machine, from 0 on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u16);

/// One network message: an eight-byte header that the interfaces read, and a
/// payload that they only carry.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Packet {
    /// Who sent it.
    pub source: NodeId,
    /// Who is to get it.
    pub destination: NodeId,
    /// A number that no other packet of the same source has.
    pub sequence: u64,
    /// The header as the sender wrote it.
    pub header: Header,
    /// The bytes behind the header.
    pub payload: Vec<u8>,
}

/// The first doubleword of a packet, as the messaging library lays it out
/// (guest/messaging). An interface looks at the destination and the length; the
/// rest belongs to the library.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Header(pub u64);

impl Header {
    /// Bytes that the header takes.
    pub const BYTES: usize = 8;
    const SENSE: u64 = 1 << 63;

    /// The node at the other end: the destination in a packet that is sent, the
    /// source in one that is received.
    pub fn peer(self) -> NodeId {
        NodeId(self.0 as u16)
    }

    /// Bytes of payload in this packet.
    pub fn payload_bytes(self) -> usize {
        (self.0 >> 16) as usize & 0xff
    }

    /// The message valid bit of a cachable queue's entry (isca96, Section 2.2).
    pub fn sense(self) -> bool {
        self.0 & Self::SENSE != 0
    }

    /// The same header as the node at the other end sees it.
    pub fn with_peer(self, peer: NodeId) -> Header {
        Header(self.0 & !0xffff | u64::from(peer.0))
    }

    /// The same header with the message valid bit replaced.
    pub fn with_sense(self, sense: bool) -> Header {
        Header(self.0 & !Self::SENSE | if sense { Self::SENSE } else { 0 })
    }
}

/// What travels from one node's flow control to another's. Acknowledgements and
/// returned packets have a channel of their own, so that they always get
/// through (hpca98, Section 5.1.2: "a guaranteed path back to the sender").
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// A packet on its way to its destination.
    Data(Packet),
    /// The receiver has taken the packet with this sequence number.
    Acknowledgement {
        /// Who acknowledges.
        from: NodeId,
        /// The packet's sequence number at its source.
        sequence: u64,
    },
    /// A packet that the receiver had no buffer for, on its way back.
    Returned(Packet),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_keeps_what_belongs_to_the_library() {
        let header = Header(0x7fee_ddcc_bbf8_0007);
        assert_eq!(header.peer(), NodeId(7));
        assert_eq!(header.payload_bytes(), 248);
        let seen = header.with_peer(NodeId(3)).with_sense(true);
        assert_eq!(seen.0, 0xffee_ddcc_bbf8_0003);
        assert_eq!(seen.with_sense(false).with_peer(NodeId(7)), header);
    }
}
