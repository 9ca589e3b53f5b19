//! The partitions of a machine: its nodes, then the switches of its network, or the ranks of a model.

use narthex_fabrics::link::Hops;
use narthex_fabrics::switch::Switch;
use narthex_fabrics::{Frame, Mail, networks};
use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::simulation::{Simulation, Tiers};
use narthex_kernel::{Archive, Archived, Damage, Time};
use narthex_schedules::within::Ranks;

use crate::node::Node;

/// A partition of a machine.
pub enum Part {
    /// A node.
    Node(Box<Node>),
    /// A switch of the network between the nodes.
    Switch(Box<Switch<Frame>>),
    /// Ranks of a model, in the place of nodes.
    Ranks(Box<Ranks>),
}

/// The simulation of these nodes, and of the switches between them or the ranks beside them.
pub fn simulation(
    nodes: Vec<Node>,
    switches: Vec<Switch<Frame>>,
    ranks: Option<Ranks>,
    network: &networks::Config,
) -> Simulation<Part> {
    let first = nodes.len();
    let nodes = nodes.into_iter().map(|node| Part::Node(Box::new(node)));
    let switches = switches.into_iter().map(|switch| Part::Switch(Box::new(switch)));
    let ranks = ranks.map(|ranks| Part::Ranks(Box::new(ranks)));
    let simulation = Simulation::new(nodes.chain(switches).chain(ranks).collect(), network.lookahead());
    match network.hops() {
        Some(Hops { to_switch, between_switches, to_node }) => simulation.with_tiers(Tiers {
            first,
            to_second: to_switch,
            within_second: between_switches,
            to_first: to_node,
        }),
        None => simulation,
    }
}

impl Part {
    /// The node, if it is one.
    pub fn node(&self) -> Option<&Node> {
        match self {
            Part::Node(node) => Some(node),
            Part::Switch(_) | Part::Ranks(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn node_mut(&mut self) -> Option<&mut Node> {
        match self {
            Part::Node(node) => Some(node),
            Part::Switch(_) | Part::Ranks(_) => None,
        }
    }
}

/// The nodes, the switches and the ranks of a machine, when its simulation is over.
pub fn apart(parts: Vec<Part>) -> (Vec<Node>, Vec<Switch<Frame>>, Option<Ranks>) {
    let (mut nodes, mut switches, mut ranks) = (Vec::new(), Vec::new(), None);
    for part in parts {
        match part {
            Part::Node(node) => nodes.push(*node),
            Part::Switch(switch) => switches.push(*switch),
            Part::Ranks(own) => ranks = Some(*own),
        }
    }
    (nodes, switches, ranks)
}

impl Partition for Part {
    type Payload = Mail<Frame>;

    #[inline]
    fn next_time(&self) -> Option<Time> {
        match self {
            Part::Node(node) => node.next_time(),
            Part::Switch(switch) => switch.next_time(),
            Part::Ranks(ranks) => ranks.next_time(),
        }
    }

    #[inline]
    fn earliest_departure(&self) -> Time {
        match self {
            Part::Node(node) => node.earliest_departure(),
            Part::Switch(switch) => switch.earliest_departure(),
            Part::Ranks(ranks) => ranks.earliest_departure(),
        }
    }

    #[inline]
    fn advance(&mut self, outbox: &mut Outbox<Mail<Frame>>) {
        match self {
            Part::Node(node) => node.advance(outbox),
            Part::Switch(switch) => switch.advance(outbox),
            Part::Ranks(ranks) => ranks.advance(outbox),
        }
    }

    #[inline]
    fn departure_after(&self, envelope: &Envelope<Mail<Frame>>) -> Time {
        match self {
            Part::Node(node) => node.departure_after(envelope),
            Part::Switch(switch) => switch.departure_after(envelope),
            Part::Ranks(ranks) => ranks.departure_after(envelope),
        }
    }

    #[inline]
    fn deliver(&mut self, envelope: Envelope<Mail<Frame>>) {
        match self {
            Part::Node(node) => node.deliver(envelope),
            Part::Switch(switch) => switch.deliver(envelope),
            Part::Ranks(ranks) => ranks.deliver(envelope),
        }
    }

    fn expect_inspection(&mut self, at: Time) {
        match self {
            Part::Node(node) => node.expect_inspection(at),
            Part::Switch(switch) => switch.expect_inspection(at),
            Part::Ranks(ranks) => ranks.expect_inspection(at),
        }
    }

    fn awaits(&self, now: Time) -> Option<Time> {
        match self {
            Part::Node(node) => node.awaits(now),
            Part::Switch(switch) => switch.awaits(now),
            Part::Ranks(ranks) => ranks.awaits(now),
        }
    }

    #[inline]
    fn status(&self) -> Status {
        match self {
            Part::Node(node) => node.status(),
            Part::Switch(switch) => switch.status(),
            Part::Ranks(ranks) => ranks.status(),
        }
    }

    #[inline]
    fn progress(&self) -> u64 {
        match self {
            Part::Node(node) => node.progress(),
            Part::Switch(switch) => switch.progress(),
            Part::Ranks(ranks) => ranks.progress(),
        }
    }
}

impl Archived for Part {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        match self {
            Part::Node(node) => node.archive(archive),
            Part::Switch(switch) => switch.archive(archive),
            Part::Ranks(_) => archive.ensure(false, "the ranks of a model have no archive"),
        }
    }
}
