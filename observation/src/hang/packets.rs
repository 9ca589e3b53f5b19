//! Where the packets are that one process has sent to another and that are not
//! acknowledged: an account that adds up.

use narthex_fabrics::flow_control::Limit;
use narthex_fabrics::{FrameKind, NodeId, Rank};
use narthex_machine::node::stuck::StuckNode;

/// The unacknowledged packets from one process to another, by where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// All of them.
    pub all: u32,
    /// They came back and wait at the sender to be sent again.
    pub returned: u32,
    /// They are on their way.
    pub forth: u32,
    /// They are on their way back.
    pub back: u32,
    /// They have arrived, and their acknowledgements are on their way.
    pub acknowledged: u32,
    /// They have arrived, and will be acknowledged when they are taken.
    pub untaken: u32,
    /// They were lost.
    pub lost: u32,
    /// They have arrived, and their acknowledgements were lost.
    pub unacknowledged: u32,
    /// They are sent again until they are acknowledged, wherever they are.
    pub repeated: u32,
}

impl Account {
    /// The packets from `source` to `destination`.
    pub fn of(nodes: &[StuckNode], source: Rank, destination: Rank) -> Self {
        let placement = nodes[0].flow.placement;
        let flow = |rank| &nodes[usize::from(placement.node(rank).0)].flow;
        let sent = flow(source)
            .outstanding
            .iter()
            .find(|one| (one.source, one.destination) == (source, destination));
        let Some(sent) = sent else { return Account::default() };
        if let Limit::Kept(_) = flow(source).limit {
            return Account { all: sent.packets, repeated: sent.packets, ..Account::default() };
        }
        let frames = |kind| {
            let held = nodes.iter().flat_map(|node| node.held.iter().map(|held| &held.frame));
            let all = nodes.iter().flat_map(|node| &node.under_way).chain(held);
            all.filter(|frame| (frame.kind, frame.source, frame.destination) == (kind, source, destination))
                .count() as u32
        };
        // Return to sender acknowledges what arrives, a window what is taken.
        let arrived = flow(destination).arrived.iter();
        let untaken = match flow(destination).limit {
            Limit::Buffers(_) | Limit::Kept(_) | Limit::None => 0,
            Limit::Window(_) => arrived
                .filter(|one| (one.source, one.destination) == (source, destination))
                .map(|one| one.packets)
                .sum(),
        };
        let mut account = Account {
            all: sent.packets,
            returned: sent.returned,
            forth: frames(FrameKind::Packet),
            back: frames(FrameKind::ReturnedPacket),
            acknowledged: frames(FrameKind::Acknowledgement),
            untaken,
            ..Account::default()
        };
        let missing = account.all.saturating_sub(account.known());
        account.lost = missing.min(lost_packets(nodes, source, destination));
        account.unacknowledged = missing - account.lost;
        account
    }

    fn known(&self) -> u32 {
        let Account { returned, forth, back, acknowledged, untaken, .. } = self;
        returned + forth + back + acknowledged + untaken
    }

    /// Packets that are sent, come back, and are sent again.
    pub fn refused(&self) -> u32 {
        self.returned + self.forth + self.back
    }

    /// Packets that have not come to their destination.
    pub fn not_come(&self) -> u32 {
        self.refused() + self.lost + self.repeated
    }
}

/// Packets from one process's node to the other's that were lost, on their way or
/// on their way back.
fn lost_packets(nodes: &[StuckNode], source: Rank, destination: Rank) -> u32 {
    let placement = nodes[0].flow.placement;
    let [from, to] = [source, destination].map(|rank| placement.node(rank));
    let between = |from: NodeId, to: NodeId| {
        let lost = nodes[usize::from(from.0)].lost.iter();
        lost.filter(|lost| lost.to() == to && lost.has_packet()).count() as u32
    };
    if from == to { between(from, to) } else { between(from, to) + between(to, from) }
}
