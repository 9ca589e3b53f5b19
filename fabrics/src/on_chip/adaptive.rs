//! Adaptive routes of a network on chip: at each switch a message takes, of the links that bring it
//! nearer to its place, the one that it can take soonest.
//!
//! All ways are shortest ones. What a message waits for is decided when it is sent, in the order
//! in which messages are sent, so the choice is the same on any number of threads; and
//! nothing waits for room, so that nothing waits in a circle. Messages between the same
//! two places may overtake each other.

use crate::packet::NodeId;
use crate::topologies::{self, Peer, Topology};

/// Which links of each switch bring a message nearer to each place.
#[derive(Debug)]
pub(super) struct Nearer {
    places: usize,
    /// The ports, a bit each, by switch and place.
    ports: Vec<u64>,
}

/// A topology of more ports has no choice that a bit each could tell.
const MOST_PORTS: u16 = 64;

impl Nearer {
    /// Those of a topology; none if its switches have more than 64 ports.
    pub fn of(topology: &topologies::Config) -> Option<Self> {
        let (places, switches) = (topology.places() as usize, topology.switches());
        if topology.ports() > MOST_PORTS {
            return None;
        }
        let mut ports = vec![0; switches as usize * places];
        for place in 0..places {
            let distances = distances_to(topology, place as u16);
            for switch in 0..switches {
                let own = &mut ports[switch as usize * places + place];
                for port in 0..topology.ports() {
                    let is_nearer = match topology.peer(switch, port) {
                        Peer::Node(node) => usize::from(node.0) == place,
                        Peer::Switch { switch: next, .. } => {
                            distances[next as usize].saturating_add(1) == distances[switch as usize]
                        }
                        Peer::Nothing => false,
                    };
                    *own |= u64::from(is_nearer) << port;
                }
            }
        }
        Some(Nearer { places, ports })
    }

    /// The ports of a switch that bring a message nearer to a place, in their order.
    #[inline]
    pub fn ports(&self, switch: u32, place: u16) -> impl Iterator<Item = u16> {
        let mut left = self.ports[switch as usize * self.places + usize::from(place)];
        std::iter::from_fn(move || {
            let port = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (port < 64).then_some(port as u16)
        })
    }
}

/// How many links each switch is from the one of a place.
fn distances_to(topology: &topologies::Config, place: u16) -> Vec<u32> {
    let mut distances = vec![u32::MAX; topology.switches() as usize];
    let first = topology.attachment(NodeId(place)).0;
    distances[first as usize] = 0;
    let mut reached = vec![first];
    let mut next = 0;
    while let Some(&switch) = reached.get(next) {
        next += 1;
        for port in 0..topology.ports() {
            if let Peer::Switch { switch: other, .. } = topology.peer(switch, port)
                && distances[other as usize] == u32::MAX
            {
                distances[other as usize] = distances[switch as usize] + 1;
                reached.push(other);
            }
        }
    }
    distances
}
