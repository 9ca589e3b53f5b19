//! Any wiring: switches, the links between them, and the switch of each node, as a file or the
//! machine itself lists them. Routes are up*/down* ([`up_down`]), so nothing waits in a
//! circle, whatever the wiring.
//!
//! A switch's first ports are its nodes', in their order; then come its links, in the order of
//! the list. A link that is listed twice is two links, and the routes share them, as `choice` says.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::up_down::{Port, Tables, distances};
use super::{Broken, Choice, Hop, Peer, Topology};
use crate::packet::NodeId;

/// Switches and links as a list or a file names them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file that lists nodes and links, as JSON or as an edge list; beside `nodes` it only says
    /// where these come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The switch of each node.
    #[serde(default)]
    pub nodes: Vec<u32>,
    /// The switches at the two ends of each link.
    #[serde(default)]
    pub links: Vec<(u32, u32)>,
    /// What each switch is called, if not by its number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// How a parcel chooses between ports that lead to its destination equally well.
    pub choice: Choice,
    /// What follows from the rest, computed where it is first asked for.
    #[serde(skip)]
    derived: OnceLock<Arc<Derived>>,
}

/// What follows from the lists.
#[derive(Debug)]
struct Derived {
    /// For each switch, the nodes at its first ports.
    nodes: Vec<Vec<u16>>,
    /// For each switch, what its other ports lead to, with the port there.
    ends: Vec<Vec<(u32, u16)>>,
    /// Where each node is attached.
    attachments: Vec<(u32, u16)>,
    routes: Tables,
    ports: u16,
}

/// The most switches, whose routes are a table of all pairs.
const MOST_SWITCHES: u32 = 4096;
/// The most ports of a switch.
const MOST_PORTS: usize = 4096;

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        let Config { file: _, nodes, links, names, choice, derived: _ } = self;
        *nodes == other.nodes && *links == other.links && *names == other.names && *choice == other.choice
    }
}

impl Config {
    /// One of these lists.
    pub fn new(nodes: Vec<u32>, links: Vec<(u32, u32)>, choice: Choice) -> Self {
        Config { file: None, nodes, links, names: Vec::new(), choice, derived: OnceLock::new() }
    }

    fn count(&self) -> u32 {
        let ends = self.links.iter().flat_map(|&(one, other)| [one, other]);
        ends.chain(self.nodes.iter().copied()).max().map_or(0, |last| last.saturating_add(1))
    }

    fn derived(&self) -> &Derived {
        self.derived.get_or_init(|| Arc::new(Derived::of(self)))
    }

    /// The switches behind each switch, with the places of the links among its links.
    fn graph(&self) -> Vec<Vec<Port>> {
        let mut graph: Vec<Vec<Port>> = vec![Vec::new(); self.count() as usize];
        for &(one, other) in &self.links {
            for (here, there) in [(one, other), (other, one)] {
                let port = graph[here as usize].len() as u16;
                graph[here as usize].push((port, there));
            }
        }
        graph
    }

    /// What is wrong with the lists themselves.
    fn list_problem(&self) -> Option<Broken> {
        if self.nodes.is_empty() {
            let message = "no node is attached to a switch; expected the switch of each node, or a file";
            return Some(("nodes", message.into()));
        }
        if self.nodes.len() as u64 > super::MOST_SWITCHES {
            return Some(("nodes", format!("{} nodes; a network has at most 65536", self.nodes.len())));
        }
        if self.count() > MOST_SWITCHES {
            let last = self.count() - 1;
            return Some(("links", format!("switch {last} is not below {MOST_SWITCHES}")));
        }
        if let Some(place) = self.links.iter().position(|(one, other)| one == other) {
            let switch = self.called(self.links[place].0);
            return Some(("links", format!("link {place} leads from {switch} to itself")));
        }
        if !self.names.is_empty() && self.names.len() != self.count() as usize {
            let message = format!("{} names for {} switches", self.names.len(), self.count());
            return Some(("names", message));
        }
        None
    }

    /// What is wrong with the graph.
    fn graph_problem(&self) -> Option<Broken> {
        let graph = self.graph();
        let mut ports: Vec<usize> = graph.iter().map(Vec::len).collect();
        self.nodes.iter().for_each(|&switch| ports[switch as usize] += 1);
        if let Some(switch) = ports.iter().position(|&count| count > MOST_PORTS) {
            let (name, count) = (self.called(switch as u32), ports[switch]);
            return Some(("links", format!("{name} has {count} ports; at most {MOST_PORTS} are possible")));
        }
        let first = self.nodes[0];
        let unreached = distances(&graph, first).iter().position(|&distance| distance == u32::MAX)?;
        let (from, to) = (self.called(first), self.called(unreached as u32));
        Some(("links", format!("there is no way from {from} to {to}: the wiring is not connected")))
    }

    fn called(&self, switch: u32) -> String {
        self.names.get(switch as usize).cloned().unwrap_or_else(|| format!("switch {switch}"))
    }
}

impl Derived {
    fn of(config: &Config) -> Self {
        let graph = config.graph();
        let mut nodes: Vec<Vec<u16>> = vec![Vec::new(); graph.len()];
        let mut attachments = Vec::new();
        for (node, &switch) in config.nodes.iter().enumerate() {
            attachments.push((switch, nodes[switch as usize].len() as u16));
            nodes[switch as usize].push(node as u16);
        }
        let mut ends: Vec<Vec<(u32, u16)>> = vec![Vec::new(); graph.len()];
        for &(one, other) in &config.links {
            let port = |at: u32| (nodes[at as usize].len() + ends[at as usize].len()) as u16;
            let (here, there) = (port(one), port(other));
            ends[one as usize].push((other, there));
            ends[other as usize].push((one, here));
        }
        let ports = nodes.iter().zip(&ends).map(|(nodes, ends)| nodes.len() + ends.len());
        let ports = ports.max().unwrap_or(0) as u16;
        Derived { routes: Tables::of(&graph), nodes, ends, attachments, ports }
    }
}

impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        self.list_problem().or_else(|| self.graph_problem()).into_iter().collect()
    }

    fn size_key(&self) -> &'static str {
        "nodes"
    }

    fn places(&self) -> u64 {
        self.nodes.len() as u64
    }

    fn switches(&self) -> u32 {
        self.count()
    }

    fn ports(&self) -> u16 {
        self.derived().ports
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        self.derived().attachments[usize::from(node.0)]
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        let Derived { nodes, ends, .. } = self.derived();
        let (nodes, port) = (&nodes[switch as usize], usize::from(port));
        match nodes.get(port) {
            Some(&node) => Peer::Node(NodeId(node)),
            None => match ends[switch as usize].get(port - nodes.len()) {
                Some(&(switch, port)) => Peer::Switch { switch, port },
                None => Peer::Nothing,
            },
        }
    }

    fn choice(&self) -> Choice {
        self.choice
    }

    #[inline]
    fn alternatives(&self, switch: u32, destination: NodeId) -> u32 {
        if self.choice == Choice::Deterministic {
            return 1;
        }
        let derived = self.derived();
        let (target, _) = derived.attachments[usize::from(destination.0)];
        (derived.routes.ports(switch, target).len() as u32).max(1)
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, pick: u32) -> Hop {
        let derived = self.derived();
        let (target, port) = derived.attachments[usize::from(destination.0)];
        if switch == target {
            return Hop { port, lane: 0 };
        }
        let ports = derived.routes.ports(switch, target);
        let choice = match self.choice {
            Choice::Deterministic => usize::from(destination.0) % ports.len(),
            _ => pick as usize,
        };
        Hop { port: derived.nodes[switch as usize].len() as u16 + ports[choice], lane: 0 }
    }

    fn name(&self, switch: u32) -> String {
        self.called(switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies::path;

    #[test]
    fn a_parcel_goes_through_the_switches_that_are_listed() {
        let line = Config::new(vec![0, 2, 2], vec![(0, 1), (1, 2)], Choice::Deterministic);
        assert_eq!((line.problems(), line.ports()), (vec![], 3));
        assert_eq!(path(&line, NodeId(0), NodeId(2)), [0, 1, 2]);
    }

    #[test]
    fn a_link_that_is_listed_twice_is_shared_by_the_destinations() {
        let pair = Config::new(vec![0, 1, 1], vec![(0, 1), (1, 0)], Choice::Deterministic);
        let ports = [1, 2].map(|node| pair.route(0, NodeId(node), 0).port);
        assert_eq!(ports, [2, 1]);
    }

    #[test]
    fn lists_that_are_no_network_are_refused_with_the_switch() {
        let problem = |nodes, links| Config::new(nodes, links, Choice::Random).problems().remove(0);
        let alone = "there is no way from switch 0 to switch 2: the wiring is not connected".to_owned();
        assert_eq!(problem(vec![0, 3], vec![(0, 1), (2, 3)]), ("links", alone));
        let itself = "link 1 leads from switch 2 to itself".to_owned();
        assert_eq!(problem(vec![0], vec![(0, 1), (2, 2)]), ("links", itself));
        assert_eq!(problem(vec![], vec![(0, 1)]).0, "nodes");
        assert_eq!(problem(vec![0], vec![(0, u32::MAX)]).1, "switch 4294967294 is not below 4096");
    }
}
