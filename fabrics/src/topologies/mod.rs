//! Topologies: which links there are, and which of them a parcel takes. One file
//! each; the build script finds them.
//!
//! A topology is a few numbers. What follows from them (the other end of a port,
//! the next port to a destination) is computed where it is asked for: tables of
//! routes would be larger than the rest of a network of thousands of nodes.
//!
//! Routes depend on the switch and the destination alone, and on a random number
//! where several ports are equally near. So what a parcel may do next is known
//! without its past, and [`crate::routes`] can go through all of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::NodeId;

mod grid;
mod up_down;

include!(concat!(env!("OUT_DIR"), "/topologies.rs"));

/// What is at the other end of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// A node.
    Node(NodeId),
    /// This port of this switch.
    Switch {
        /// The switch.
        switch: u32,
        /// Its port.
        port: u16,
    },
    /// Nothing: the port has no link.
    Nothing,
}

/// What a parcel does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hop {
    /// The port through which it leaves.
    pub port: u16,
    /// The lane in which it does, among those that the routes of the topology need.
    pub lane: u8,
}

/// The most switches of a network.
const MOST_SWITCHES: u64 = 65536;

/// What chooses between ports that lead to a destination equally well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The destination: all parcels for a node take one way, and keep their order.
    Deterministic,
    /// Source and destination, as switches do that hash flows: parcels of a flow keep their order.
    ByFlow,
    /// A random number, drawn anew at each switch.
    Random,
    /// The switch: the port for which the fewest bytes wait, in its buffers and behind its link.
    Adaptive,
}

/// The kind of links to nodes.
pub const NODE_LINKS: &str = "node";

/// (key, what is wrong with it).
pub type Broken = (&'static str, String);

/// What is wrong with a count that is out of its range.
fn within(key: &'static str, value: u32, from: u32, to: u32) -> Option<Broken> {
    (!(from..=to).contains(&value)).then(|| (key, format!("{value} is not from {from} to {to}")))
}

/// The kinds of links of a topology with dimensions.
fn kinds_of_dimensions(dimensions: usize) -> Vec<String> {
    let of_dimensions = (0..dimensions).map(|dimension| format!("dimension-{dimension}"));
    std::iter::once(NODE_LINKS.to_owned()).chain(of_dimensions).collect()
}

/// The wiring and the routes of a kind of topology. Ports lead both ways.
pub trait Topology {
    /// The rules that the parameters break.
    fn problems(&self) -> Vec<Broken>;

    /// What the parameters ask for and the topology does not have.
    fn warnings(&self) -> Vec<Broken> {
        Vec::new()
    }

    /// The parameter that is to change for more nodes.
    fn size_key(&self) -> &'static str;

    /// How many nodes can be attached.
    fn places(&self) -> u64;

    /// How many switches there are.
    fn switches(&self) -> u32;

    /// How many ports each has.
    fn ports(&self) -> u16;

    /// The lengths of its dimensions, if a node stands at each place of a grid.
    fn grid(&self) -> Option<&[u32]> {
        None
    }

    /// Into how many groups its nodes are divided, each group's one behind the other.
    fn groups(&self) -> u32 {
        1
    }

    /// Where a node is attached: a switch and its port.
    fn attachment(&self, node: NodeId) -> (u32, u16);

    /// What is at the other end of a port, if all nodes are there.
    fn peer(&self, switch: u32, port: u16) -> Peer;

    /// The kinds of its links, whose width and latency may differ: first that of links to nodes.
    fn link_kinds(&self) -> Vec<String> {
        vec![NODE_LINKS.into(), "switch".into()]
    }

    /// The kind of a port's link, by its place among them.
    fn link_kind(&self, switch: u32, port: u16) -> u8 {
        u8::from(!matches!(self.peer(switch, port), Peer::Node(_)))
    }

    /// Lanes that the routes need so that no parcels wait for each other in a circle.
    fn route_lanes(&self) -> u8 {
        1
    }

    /// How many ports lead to a destination equally well.
    fn alternatives(&self, _switch: u32, _destination: NodeId) -> u32 {
        1
    }

    /// What chooses between such ports.
    fn choice(&self) -> Choice {
        Choice::Deterministic
    }

    /// What a parcel at a switch does next; `pick` is less than the alternatives.
    fn route(&self, switch: u32, destination: NodeId, pick: u32) -> Hop;

    /// Whether it knows the ports that bring a parcel nearer ([`Topology::nearer`]).
    fn knows_nearer(&self) -> bool {
        false
    }

    /// All ports of a switch that bring a parcel nearer to the switch of its destination, first that of
    /// its route; none where it is there.
    fn nearer(&self, _switch: u32, _destination: NodeId, _take: &mut impl FnMut(u16)) {}

    /// What a switch is called in messages.
    fn name(&self, switch: u32) -> String {
        format!("switch {switch}")
    }
}

/// A topology with its kind's file chosen at each call, not by a table of functions.
impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        chosen!(self, config => config.problems())
    }

    fn warnings(&self) -> Vec<Broken> {
        chosen!(self, config => config.warnings())
    }

    fn size_key(&self) -> &'static str {
        chosen!(self, config => config.size_key())
    }

    fn places(&self) -> u64 {
        chosen!(self, config => config.places())
    }

    fn switches(&self) -> u32 {
        chosen!(self, config => config.switches())
    }

    fn ports(&self) -> u16 {
        chosen!(self, config => config.ports())
    }

    fn grid(&self) -> Option<&[u32]> {
        chosen!(self, config => config.grid())
    }

    fn groups(&self) -> u32 {
        chosen!(self, config => config.groups())
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        chosen!(self, config => config.attachment(node))
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        chosen!(self, config => config.peer(switch, port))
    }

    fn link_kinds(&self) -> Vec<String> {
        chosen!(self, config => config.link_kinds())
    }

    fn link_kind(&self, switch: u32, port: u16) -> u8 {
        chosen!(self, config => config.link_kind(switch, port))
    }

    fn route_lanes(&self) -> u8 {
        chosen!(self, config => config.route_lanes())
    }

    #[inline]
    fn alternatives(&self, switch: u32, destination: NodeId) -> u32 {
        chosen!(self, config => config.alternatives(switch, destination))
    }

    fn choice(&self) -> Choice {
        chosen!(self, config => config.choice())
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, pick: u32) -> Hop {
        chosen!(self, config => config.route(switch, destination, pick))
    }

    fn knows_nearer(&self) -> bool {
        chosen!(self, config => config.knows_nearer())
    }

    fn nearer(&self, switch: u32, destination: NodeId, take: &mut impl FnMut(u16)) {
        chosen!(self, config => config.nearer(switch, destination, take))
    }

    fn name(&self, switch: u32) -> String {
        chosen!(self, config => config.name(switch))
    }
}

/// The switches of a parcel's way, with the first alternative everywhere.
pub fn path(topology: &impl Topology, source: NodeId, destination: NodeId) -> Vec<u32> {
    let mut switch = topology.attachment(source).0;
    let mut path = vec![switch];
    while let Peer::Switch { switch: next, .. } =
        topology.peer(switch, topology.route(switch, destination, 0).port)
    {
        assert!(path.len() <= topology.switches() as usize, "a route comes to its end");
        switch = next;
        path.push(switch);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Config> {
        vec![
            Config::Crossbar(crossbar::Config { ports: 5 }),
            Config::Mesh(mesh::Config { dimensions: vec![4, 3] }),
            Config::Torus(torus::Config { dimensions: vec![5, 4] }),
            Config::Mesh(mesh::Config { dimensions: vec![3, 2, 4] }),
            Config::Torus(torus::Config { dimensions: vec![3, 4, 2, 2] }),
            Config::Hyperx(hyperx::Config { dimensions: vec![4, 3], nodes_per_switch: 2 }),
            Config::Wiring(wiring::Config::new(
                vec![0, 3, 3, 4, 2, 5],
                vec![(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 0), (0, 1), (2, 5)],
                Choice::Random,
            )),
            Config::FatTree(fat_tree::Config {
                arity: 3,
                levels: 3,
                up: vec![],
                ascent: Choice::Deterministic,
            }),
            Config::FatTree(fat_tree::Config { arity: 2, levels: 4, up: vec![], ascent: Choice::Random }),
            Config::FatTree(fat_tree::Config { arity: 4, levels: 3, up: vec![3, 1], ascent: Choice::Random }),
            Config::Dragonfly(dragonfly::Config {
                nodes_per_switch: 2,
                switches_per_group: 4,
                global_links_per_switch: 2,
                groups: 9,
            }),
            Config::Dragonfly(dragonfly::Config {
                nodes_per_switch: 1,
                switches_per_group: 3,
                global_links_per_switch: 2,
                groups: 4,
            }),
            Config::Dragonfly(dragonfly::Config {
                nodes_per_switch: 2,
                switches_per_group: 3,
                global_links_per_switch: 3,
                groups: 3,
            }),
        ]
    }

    #[test]
    fn every_link_leads_back_to_where_it_comes_from() {
        for topology in all() {
            assert_eq!(topology.problems(), []);
            let mut nodes = vec![0; topology.places() as usize];
            for (switch, port) in
                (0..topology.switches()).flat_map(|s| (0..topology.ports()).map(move |p| (s, p)))
            {
                match topology.peer(switch, port) {
                    Peer::Node(node) => {
                        assert_eq!(topology.attachment(node), (switch, port), "{topology:?}");
                        nodes[usize::from(node.0)] += 1;
                    }
                    Peer::Switch { switch: other, port: its } => {
                        let back = topology.peer(other, its);
                        assert_eq!(back, Peer::Switch { switch, port }, "{topology:?} {switch}.{port}");
                    }
                    Peer::Nothing => {}
                }
            }
            assert!(nodes.iter().all(|&count| count == 1), "{topology:?}: {nodes:?}");
        }
    }

    #[test]
    fn every_route_ends_at_its_destination_whatever_is_picked() {
        for topology in all() {
            let places = topology.places() as u16;
            let mut draw = 12_345_u32;
            for (source, destination) in (0..places).flat_map(|s| (0..places).map(move |d| (s, d))) {
                let destination = NodeId(destination);
                let mut switch = topology.attachment(NodeId(source)).0;
                for hop in 0.. {
                    assert!(hop < topology.switches() + 1, "{topology:?} {source} to {destination:?}");
                    draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let pick = (draw >> 16) % topology.alternatives(switch, destination);
                    let Hop { port, lane } = topology.route(switch, destination, pick);
                    assert!(lane < topology.route_lanes());
                    match topology.peer(switch, port) {
                        Peer::Switch { switch: next, .. } => switch = next,
                        end => {
                            assert_eq!(end, Peer::Node(destination), "{topology:?} from {source}");
                            break;
                        }
                    }
                }
            }
        }
    }
}
