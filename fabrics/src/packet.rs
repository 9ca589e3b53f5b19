//! What a network carries: packets, and the frames of the flow control.

use serde::{Deserialize, Serialize};

/// A node's place in the machine, from 0 on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeId(pub u16);

/// A process of the machine: those of node 0, then those of node 1, and so on.
/// Where each node runs one process, a rank is a node's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Rank(pub u16);

/// Which process runs where: every node runs as many.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Placement {
    /// Nodes in the machine.
    pub nodes: u16,
    /// Processes on each of them.
    pub processes: u8,
}

impl Placement {
    /// Processes in the machine: ranks are less than this.
    pub fn ranks(self) -> u16 {
        self.nodes * u16::from(self.processes)
    }

    /// The rank of a node's process.
    pub fn rank(self, node: NodeId, process: u8) -> Rank {
        Rank(node.0 * u16::from(self.processes) + u16::from(process))
    }

    /// The node on which a process runs.
    pub fn node(self, rank: Rank) -> NodeId {
        NodeId(rank.0 / u16::from(self.processes))
    }

    /// Which of its node's processes it is.
    pub fn process(self, rank: Rank) -> u8 {
        (rank.0 % u16::from(self.processes)) as u8
    }

    /// What a rank is called in messages: nodes are what people think of, as
    /// long as each runs one process.
    pub fn name(self, rank: Rank) -> String {
        let kind = if self.processes == 1 { "node" } else { "rank" };
        format!("{kind} {}", rank.0)
    }
}

/// One network message: an eight-byte header that the interfaces read, and a
/// payload that they only carry.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct Packet {
    /// Who sent it.
    pub source: Rank,
    /// Who is to get it.
    pub destination: Rank,
    /// A number that no other packet of the same node has.
    pub sequence: u64,
    /// It goes before others: with the network's next higher priority, if it has one.
    pub is_urgent: bool,
    /// Its place among the packets from its source to its destination, where flow control counts them.
    pub number: u64,
    /// A switch has met congestion on its way.
    pub is_marked: bool,
    /// The header as its receiver gets it: its peer is the sender, by its rank in their job.
    pub header: Header,
    /// The bytes behind the header.
    pub payload: Vec<u8>,
}

impl Packet {
    /// A packet that nothing on its way has touched yet: its port numbers it.
    pub fn new(source: Rank, destination: Rank, header: Header, payload: Vec<u8>) -> Self {
        let (sequence, number, is_urgent, is_marked) = (0, 0, false, false);
        Packet { source, destination, sequence, is_urgent, number, is_marked, header, payload }
    }
}

/// The first doubleword of a packet, as the messaging library lays it out
/// (guest/messaging). An interface looks at the destination and the length; the
/// rest belongs to the library.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Header(pub u64);

impl Header {
    /// Bytes that the header takes.
    pub const BYTES: usize = 8;
    const LAST: u64 = 1 << 61;
    const SENSE: u64 = 1 << 63;

    /// The header with which these bytes of a message begin.
    ///
    /// # Panics
    /// If there are fewer than eight.
    pub fn of(message: &[u8]) -> Header {
        Header(u64::from_le_bytes(*message.first_chunk().expect("a message has a header")))
    }

    /// The process at the other end: the destination in a packet that is sent,
    /// the source in one that is received.
    pub fn peer(self) -> Rank {
        Rank(self.0 as u16)
    }

    /// Bytes of payload in this packet.
    pub fn payload_bytes(self) -> usize {
        (self.0 >> 16) as usize & 0xff
    }

    /// The handler of the message.
    pub fn handler(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Where the payload belongs in its message.
    pub fn place_bytes(self) -> u64 {
        (self.0 >> 40 & 0x1f_ffff) * 4
    }

    /// Whether this is the last packet of its message.
    pub fn is_last(self) -> bool {
        self.0 & Self::LAST != 0
    }

    /// The message valid bit of a cachable queue's entry (isca96, Section 2.2).
    pub fn sense(self) -> bool {
        self.0 & Self::SENSE != 0
    }

    /// Whether the receiving hardware puts the packets of its message together: the same bit, of which no interface
    /// without cachable queues has another use. The header of the whole message is that of its last packet.
    pub fn is_of_whole_message(self) -> bool {
        self.sense()
    }

    /// Bytes of payload up to the end of this packet.
    pub fn message_bytes(self) -> usize {
        self.place_bytes() as usize + self.payload_bytes()
    }

    /// The header of the packet of a message of this header that carries these bytes of it.
    pub fn of_part(self, place_bytes: usize, payload_bytes: usize, is_last: bool) -> Header {
        let rest = self.0 & !(0x1f_ffff << 40 | 0xff << 16 | Self::LAST);
        let last = if is_last { Self::LAST } else { 0 };
        Header(rest | (place_bytes as u64 / 4) << 40 | (payload_bytes as u64) << 16 | last)
    }

    /// The same header as the process at the other end sees it.
    pub fn with_peer(self, peer: Rank) -> Header {
        Header(self.0 & !0xffff | u64::from(peer.0))
    }

    /// The same header with the message valid bit replaced.
    pub fn with_sense(self, sense: bool) -> Header {
        Header(self.0 & !Self::SENSE | if sense { Self::SENSE } else { 0 })
    }
}

/// What travels from one node's flow control to another's. Acknowledgements and
/// returned packets have a channel of their own, so that they always get
/// through (hpca98, Section 5.1.2: "a guaranteed path back to the sender"). A
/// packet stays in one place on the host while it crosses queues and nodes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Frame {
    /// A packet on its way to its destination.
    Data(Box<Packet>),
    /// The receiver has taken the packet with this sequence number.
    Acknowledgement {
        /// Who acknowledges: the packet's destination.
        from: Rank,
        /// Whose packet it was.
        to: Rank,
        /// The packet's sequence number at its source.
        sequence: u64,
    },
    /// A packet that the receiver had no buffer for, on its way back.
    Returned(Box<Packet>),
    /// One end tells of the packets of one process for another; all but [`Notice::Waits`] are the receiver's.
    Notice {
        /// Who tells.
        from: Rank,
        /// Who is told.
        to: Rank,
        /// The number of the packet that it is about ([`Packet::number`]), or of the first one that is missing.
        next: u64,
        /// What it tells.
        notice: Notice,
    },
}

/// What the ends of a stream of packets tell each other, besides that a packet has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Notice {
    /// The packet that it expects is missing, and others have come.
    Missing,
    /// It has a packet that was marked.
    Marked,
    /// Packets are marked.
    Congestion,
    /// It had no place for the packet, and has kept its header alone.
    Trimmed,
    /// It has a place for the packet, which is to be sent.
    Pull,
    /// A sender tells its receiver: the packet waits for a pull.
    Waits {
        /// How many packets of its message are before it.
        behind: u64,
    },
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// A packet on its way to its destination.
    Packet,
    /// The acknowledgement of one.
    Acknowledgement,
    /// A packet that found no buffer, on its way back.
    ReturnedPacket,
    /// What the ends tell each other of losses, congestion and packets that wait.
    Notice,
}

impl FrameKind {
    /// Every kind.
    pub const ALL: [FrameKind; 4] =
        [FrameKind::Packet, FrameKind::Acknowledgement, FrameKind::ReturnedPacket, FrameKind::Notice];

    /// What it is called in messages and machine files.
    pub const fn name(self) -> &'static str {
        match self {
            FrameKind::Packet => "packet",
            FrameKind::Acknowledgement => "acknowledgement",
            FrameKind::ReturnedPacket => "returned packet",
            FrameKind::Notice => "notice",
        }
    }
}

/// A frame without its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSummary {
    /// What it is.
    pub kind: FrameKind,
    /// Who sent the packet that it carries or acknowledges.
    pub source: Rank,
    /// Who is to get that packet, or has got it.
    pub destination: Rank,
    /// The packet's number at its source's node.
    pub sequence: u64,
    /// Bytes of payload that it carries.
    pub payload_bytes: usize,
    /// Bytes of payload of the message that ends with it, as its header says; none
    /// for another packet, and for an acknowledgement.
    pub message_bytes: Option<u64>,
}

impl Frame {
    /// What it is.
    pub fn kind(&self) -> FrameKind {
        match self {
            Frame::Data(_) => FrameKind::Packet,
            Frame::Acknowledgement { .. } => FrameKind::Acknowledgement,
            Frame::Returned(_) => FrameKind::ReturnedPacket,
            Frame::Notice { .. } => FrameKind::Notice,
        }
    }

    /// Who sent the frame.
    pub fn from(&self) -> Rank {
        match self {
            Frame::Data(packet) => packet.source,
            Frame::Acknowledgement { from, .. } | Frame::Notice { from, .. } => *from,
            Frame::Returned(packet) => packet.destination,
        }
    }

    /// All of it but the bytes.
    pub fn summary(&self) -> FrameSummary {
        let kind = self.kind();
        match self {
            Frame::Data(packet) | Frame::Returned(packet) => {
                let &Packet { source, destination, sequence, header, ref payload, .. } = &**packet;
                let message_bytes =
                    header.is_last().then(|| header.place_bytes() + header.payload_bytes() as u64);
                let payload_bytes = payload.len();
                FrameSummary { kind, source, destination, sequence, payload_bytes, message_bytes }
            }
            &Frame::Notice {
                from: source,
                to: destination,
                next: sequence,
                notice: Notice::Waits { .. },
            }
            | &Frame::Acknowledgement { from: destination, to: source, sequence }
            | &Frame::Notice { from: destination, to: source, next: sequence, .. } => {
                let (payload_bytes, message_bytes) = (0, None);
                FrameSummary { kind, source, destination, sequence, payload_bytes, message_bytes }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_the_processes_of_node_0_first() {
        let placement = Placement { nodes: 4, processes: 3 };
        assert_eq!(placement.ranks(), 12);
        assert_eq!(placement.rank(NodeId(2), 1), Rank(7));
        assert_eq!((placement.node(Rank(7)), placement.process(Rank(7))), (NodeId(2), 1));
    }

    #[test]
    fn a_process_is_named_by_its_node_where_each_node_runs_one() {
        assert_eq!(Placement { nodes: 4, processes: 1 }.name(Rank(3)), "node 3");
        assert_eq!(Placement { nodes: 4, processes: 2 }.name(Rank(3)), "rank 3");
    }

    #[test]
    fn a_header_has_the_layout_of_the_messaging_library() {
        let header = Header::of(&[0x34, 0x12, 0x80, 0x99, 0x88, 0x21, 0x03, 0x30, 0xff]);
        assert_eq!(header, Header(0x3003_2188_9980_1234));
        assert_eq!(
            (header.peer(), header.payload_bytes(), header.place_bytes()),
            (Rank(0x1234), 0x80, 0x10_0321 * 4)
        );
        assert!(header.is_last() && !header.sense());
        let other = Header(1 << 63 | 1 << 62 | 0x0f << 48);
        assert_eq!((other.place_bytes(), other.is_last(), other.sense()), (0xf00 * 4, false, true));
    }

    #[test]
    fn a_header_keeps_what_belongs_to_the_library() {
        let header = Header(0x7fee_ddcc_bbf8_0007);
        assert_eq!(header.peer(), Rank(7));
        assert_eq!(header.payload_bytes(), 248);
        let seen = header.with_peer(Rank(3)).with_sense(true);
        assert_eq!(seen.0, 0xffee_ddcc_bbf8_0003);
        assert_eq!(seen.with_sense(false).with_peer(Rank(7)), header);
    }

    #[test]
    fn a_summary_names_the_ends_of_the_packet_whichever_way_the_frame_goes() {
        let (source, destination) = (Rank(2), Rank(5));
        let packet = Box::new(Packet {
            source,
            destination,
            sequence: 9,
            is_urgent: false,
            number: 0,
            is_marked: false,
            header: Header(5),
            payload: vec![0; 24],
        });
        let summary = |kind, payload_bytes| FrameSummary {
            kind,
            source,
            destination,
            sequence: 9,
            payload_bytes,
            message_bytes: None,
        };
        let acknowledgement = Frame::Acknowledgement { from: destination, to: source, sequence: 9 };
        assert_eq!(Frame::Data(packet.clone()).summary(), summary(FrameKind::Packet, 24));
        assert_eq!(Frame::Returned(packet).summary(), summary(FrameKind::ReturnedPacket, 24));
        assert_eq!(acknowledgement.summary(), summary(FrameKind::Acknowledgement, 0));
        assert_eq!(
            FrameKind::ALL.map(FrameKind::name),
            ["packet", "acknowledgement", "returned packet", "notice"]
        );
    }
}
