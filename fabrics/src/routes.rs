//! The check of routes: whether parcels could wait for each other in a circle.
//!
//! A parcel that waits in the buffer behind one lane needs room behind the next
//! lane of its route. These dependencies of lanes, over all routes to all
//! destinations, are a graph; if it has no circle, the last lane of every chain
//! leads to a node, which takes what arrives, and nothing waits for ever (Dally and
//! Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection
//! Networks", 1987).

use crate::packet::NodeId;
use crate::topologies::{Peer, Topology};

/// A lane of a switch's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// The switch that sends.
    pub switch: u32,
    /// Its port.
    pub port: u16,
    /// The lane, among those of a route.
    pub lane: u8,
}

/// The graph of dependencies.
struct Graph<'a, T> {
    topology: &'a T,
    lanes: u8,
    /// For each channel, those that a parcel in it may need next.
    next: Vec<Vec<u32>>,
}

/// The lanes of which each waits for the next and the last for the first, if
/// routes with this many lanes have such a circle.
pub fn circle<T: Topology>(topology: &T, nodes: u32, lanes: u8) -> Option<Vec<Channel>> {
    let mut graph = Graph {
        topology,
        lanes,
        next: vec![
            Vec::new();
            topology.switches() as usize * usize::from(topology.ports()) * usize::from(lanes)
        ],
    };
    let mut hops = Vec::new();
    for destination in 0..nodes {
        graph.add_routes(NodeId(destination as u16), nodes, &mut hops);
    }
    let circle = graph.circle()?;
    Some(circle.into_iter().map(|number| graph.channel(number)).collect())
}

/// A circle in words: "switch (0, 0) to switch (1, 0), lane 0; ...".
pub fn in_words(topology: &impl Topology, circle: &[Channel]) -> String {
    let link = |channel: &Channel| {
        let from = topology.name(channel.switch);
        let to = match topology.peer(channel.switch, channel.port) {
            Peer::Switch { switch, .. } => topology.name(switch),
            Peer::Node(node) => format!("node {}", node.0),
            Peer::Nothing => "nothing".into(),
        };
        format!("{from} to {to}, lane {}", channel.lane)
    };
    circle.iter().chain(circle.first()).map(link).collect::<Vec<_>>().join("; ")
}

impl<T: Topology> Graph<'_, T> {
    fn number(&self, channel: Channel) -> u32 {
        let port = channel.switch * u32::from(self.topology.ports()) + u32::from(channel.port);
        port * u32::from(self.lanes) + u32::from(channel.lane)
    }

    fn channel(&self, number: u32) -> Channel {
        let (ports, lanes) = (u32::from(self.topology.ports()), u32::from(self.lanes));
        let port = number / lanes;
        Channel { switch: port / ports, port: (port % ports) as u16, lane: (number % lanes) as u8 }
    }

    /// Adds what parcels to a destination do, from whatever node they come.
    fn add_routes(&mut self, destination: NodeId, nodes: u32, hops: &mut Vec<Channel>) {
        let mut is_reached = vec![false; self.topology.switches() as usize];
        let mut reached: Vec<u32> = Vec::new();
        for node in 0..nodes {
            let switch = self.topology.attachment(NodeId(node as u16)).0;
            if !std::mem::replace(&mut is_reached[switch as usize], true) {
                reached.push(switch);
            }
        }
        while let Some(switch) = reached.pop() {
            self.hops(switch, destination, hops);
            for channel in std::mem::take(hops) {
                let Peer::Switch { switch: next, .. } = self.topology.peer(switch, channel.port) else {
                    continue;
                };
                let from = self.number(channel) as usize;
                self.hops(next, destination, hops);
                for &needed in &*hops {
                    let to = self.number(needed);
                    if !self.next[from].contains(&to) {
                        self.next[from].push(to);
                    }
                }
                if !std::mem::replace(&mut is_reached[next as usize], true) {
                    reached.push(next);
                }
            }
        }
    }

    /// What a parcel at a switch may do.
    fn hops(&self, switch: u32, destination: NodeId, hops: &mut Vec<Channel>) {
        hops.clear();
        hops.extend((0..self.topology.alternatives(switch, destination)).map(|pick| {
            let hop = self.topology.route(switch, destination, pick);
            Channel { switch, port: hop.port, lane: hop.lane.min(self.lanes - 1) }
        }));
    }

    /// The first circle that a walk into the depth meets.
    fn circle(&self) -> Option<Vec<u32>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            OnPath,
            Done,
        }
        let mut marks = vec![Mark::New; self.next.len()];
        for start in 0..self.next.len() as u32 {
            if marks[start as usize] != Mark::New {
                continue;
            }
            // The path from the start, each with how many of its followers were tried.
            let mut path: Vec<(u32, usize)> = vec![(start, 0)];
            marks[start as usize] = Mark::OnPath;
            while let Some((here, tried)) = path.last_mut() {
                let Some(&next) = self.next[*here as usize].get(*tried) else {
                    marks[*here as usize] = Mark::Done;
                    path.pop();
                    continue;
                };
                *tried += 1;
                match marks[next as usize] {
                    Mark::New => {
                        marks[next as usize] = Mark::OnPath;
                        path.push((next, 0));
                    }
                    Mark::OnPath => {
                        let on_circle = path.iter().skip_while(|(channel, _)| *channel != next);
                        return Some(on_circle.map(|(channel, _)| *channel).collect());
                    }
                    Mark::Done => {}
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies::{self, Choice, dragonfly, fat_tree, hyperx, mesh, path, torus, wiring};

    #[test]
    fn a_ring_without_dateline_lanes_is_a_circle_that_is_printed() {
        let torus = torus::Config { dimensions: vec![3, 1] };
        let circle = circle(&torus, 3, 1);
        assert_eq!(circle, None, "in a ring of three nobody goes two links the same way");
        let torus = torus::Config { dimensions: vec![5, 1] };
        let found = super::circle(&torus, 5, 1).expect("a ring is a circle");
        assert_eq!(
            in_words(&torus, &found),
            "switch (0, 0) to switch (1, 0), lane 0; switch (1, 0) to switch (2, 0), lane 0; \
             switch (2, 0) to switch (3, 0), lane 0; switch (3, 0) to switch (4, 0), lane 0; \
             switch (4, 0) to switch (0, 0), lane 0; switch (0, 0) to switch (1, 0), lane 0"
        );
        assert_eq!(super::circle(&torus, 5, 2), None);
    }

    #[test]
    fn tori_and_dragonflies_need_their_second_lane_and_other_topologies_do_not() {
        let torus = torus::Config { dimensions: vec![6, 5] };
        assert!(circle(&torus, 30, 1).is_some() && circle(&torus, 30, 2).is_none());
        for (global_links_per_switch, groups) in [(2, 9), (2, 5), (3, 3)] {
            let dragonfly = dragonfly::Config {
                nodes_per_switch: 2,
                switches_per_group: 4,
                global_links_per_switch,
                groups,
            };
            let nodes = dragonfly.places() as u32;
            assert!(circle(&dragonfly, nodes, 1).is_some() && circle(&dragonfly, nodes, 2).is_none());
        }
        assert!(circle(&mesh::Config { dimensions: vec![6, 5] }, 30, 1).is_none());
        assert!(circle(&mesh::Config { dimensions: vec![3, 2, 4] }, 24, 1).is_none());
        let torus = torus::Config { dimensions: vec![5, 3, 5] };
        assert!(circle(&torus, 75, 1).is_some() && circle(&torus, 75, 2).is_none());
        let hyperx = hyperx::Config { dimensions: vec![3, 4], nodes_per_switch: 2 };
        assert!(circle(&hyperx, 24, 1).is_none());
        for ascent in [Choice::Deterministic, Choice::Random] {
            for up in [vec![], vec![2, 1]] {
                assert!(circle(&fat_tree::Config { arity: 3, levels: 3, up, ascent }, 27, 1).is_none());
            }
        }
    }

    #[test]
    fn all_ports_that_bring_a_parcel_nearer_are_known_and_no_others() {
        let grids = [
            topologies::Config::Mesh(mesh::Config { dimensions: vec![3, 2, 3] }),
            topologies::Config::Torus(torus::Config { dimensions: vec![4, 5] }),
            topologies::Config::Hyperx(hyperx::Config { dimensions: vec![3, 4], nodes_per_switch: 2 }),
        ];
        for topology in grids {
            let far = |from: u32, to| {
                let own = (0..topology.places() as u16).map(NodeId);
                let source = own.into_iter().find(|&node| topology.attachment(node).0 == from);
                path(&topology, source.expect("each switch has a node"), to).len()
            };
            for destination in (0..topology.places() as u16).map(NodeId) {
                for switch in 0..topology.switches() {
                    let mut known = Vec::new();
                    topology.nearer(switch, destination, &mut |port| known.push(port));
                    let own = topology.route(switch, destination, 0).port;
                    let is_there = topology.attachment(destination).0 == switch;
                    assert_eq!(known.first(), Some(&own).filter(|_| !is_there), "{topology:?}");
                    let nearer = (0..topology.ports()).filter(|&port| {
                        matches!(topology.peer(switch, port), Peer::Switch { switch: next, .. }
                            if far(next, destination) < far(switch, destination))
                    });
                    known.sort_unstable();
                    assert_eq!(known, nearer.collect::<Vec<_>>(), "{topology:?} {switch} {destination:?}");
                }
            }
        }
    }

    #[test]
    fn no_wiring_needs_a_second_lane() {
        let mut random = narthex_kernel::random::Stream::new(1, "wirings");
        for switches in 2..20 {
            let mut other = || random.below(switches) as u32;
            // A ring, so that all are connected, and as many links between any two.
            let ring = (0..switches as u32).map(|switch| (switch, (switch + 1) % switches as u32));
            let more = (0..switches).map(|_| (other(), other())).filter(|(one, other)| one != other);
            let links: Vec<(u32, u32)> = ring.chain(more).collect();
            let nodes = (0..switches as u32).collect();
            let wiring = wiring::Config::new(nodes, links, Choice::Random);
            assert_eq!(wiring.problems(), []);
            assert!(circle(&wiring, switches as u32, 1).is_none(), "{wiring:?}");
        }
    }
}
