//! Who sends to whom (Dally and Towles, Section 3.2).
//!
//! A [`Pattern`] is what a user asks for; [`Destinations`] is what it means for a network: a table
//! where each node has one destination, and a random choice where it has several.

use narthex_kernel::random::Stream;
use serde::{Deserialize, Serialize};

use crate::packet::NodeId;
use crate::topologies::{self, Topology};

/// The destinations of nodes' packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each packet goes to any node, itself included, with equal probability.
    Uniform,
    /// The nodes are a square; that in column x and row y sends to column y and row x.
    Transpose,
    /// As uniform, but each tenth packet goes to node 0.
    HotSpot,
    /// Each node sends to the next, the last to the first.
    Neighbour,
    /// The first node sends to the last, the second to the last but one: the complement of a node's
    /// bits, where there are as many nodes as a power of two.
    BitComplement,
    /// Each node sends almost half around the ring of each dimension of a mesh or torus; elsewhere,
    /// around a ring of all nodes.
    Tornado,
    /// Each packet goes to any node of the next group of a dragonfly, over the few links between
    /// the two.
    NextGroup,
    /// Each node sends to the node that is listed in its place.
    Permutation(Vec<u32>),
    /// Row *i* says in what shares node *i* sends to each node.
    Matrix(Vec<Vec<u32>>),
}

/// Of this many packets one goes to the hot spot.
const HOT_ONE_IN: u64 = 10;

/// What a pattern means for a network.
#[derive(Debug)]
pub(super) enum Destinations {
    /// Any node.
    Uniform,
    /// Any node, and each tenth packet node 0.
    HotSpot,
    /// One for each node.
    Fixed(Vec<u16>),
    /// Any node of the next group, by the nodes of a group.
    NextGroup(u32),
    /// For each node, the sums of the shares up to each node.
    Shares(Vec<Vec<u64>>),
}

impl Pattern {
    /// Why it does not go with this network.
    pub(super) fn problems(&self, nodes: u32, topology: &topologies::Config) -> Vec<(&'static str, String)> {
        let problem = match self {
            Pattern::Transpose if nodes.isqrt().pow(2) != nodes => {
                Some(format!("transpose needs a square number of nodes, and there are {nodes}"))
            }
            Pattern::NextGroup if topology.groups() < 2 || topology.places() != u64::from(nodes) => {
                Some(format!(
                    "next-group needs a dragonfly of two groups or more with a node at each place; this network has \
                 {} group(s), and {nodes} nodes at {} places",
                    topology.groups(),
                    topology.places()
                ))
            }
            Pattern::Permutation(to) => permutation_problem(to, nodes),
            Pattern::Matrix(rows) => matrix_problem(rows, nodes),
            _ => None,
        };
        problem.map(|problem| ("pattern", problem)).into_iter().collect()
    }

    /// What it means for a network with which it goes.
    pub(super) fn destinations(&self, nodes: u32, topology: &topologies::Config) -> Destinations {
        let fixed =
            |to: &dyn Fn(u32) -> u32| Destinations::Fixed((0..nodes).map(|own| to(own) as u16).collect());
        match self {
            Pattern::Uniform => Destinations::Uniform,
            Pattern::HotSpot => Destinations::HotSpot,
            Pattern::Transpose => {
                let side = nodes.isqrt();
                fixed(&|own| own % side * side + own / side)
            }
            Pattern::Neighbour => fixed(&|own| (own + 1) % nodes),
            Pattern::BitComplement => fixed(&|own| nodes - 1 - own),
            Pattern::Tornado => {
                let grid = topology.grid().filter(|_| topology.places() == u64::from(nodes));
                fixed(&|own| half_around(own, grid.unwrap_or(&[nodes])))
            }
            Pattern::NextGroup => Destinations::NextGroup(nodes / topology.groups()),
            Pattern::Permutation(to) => fixed(&|own| to[own as usize]),
            Pattern::Matrix(rows) => Destinations::Shares(rows.iter().map(|row| sums(row)).collect()),
        }
    }
}

impl Destinations {
    /// To whom the next packet of a node goes.
    pub fn next(&self, own: NodeId, nodes: u32, random: &mut Stream) -> NodeId {
        let any = |random: &mut Stream| random.below(nodes.into()) as u16;
        NodeId(match self {
            Destinations::Uniform => any(random),
            Destinations::HotSpot if random.below(HOT_ONE_IN) == 0 => 0,
            Destinations::HotSpot => any(random),
            Destinations::Fixed(to) => to[usize::from(own.0)],
            Destinations::NextGroup(size) => {
                let first = (u32::from(own.0) / size + 1) * size % nodes;
                (first + random.below((*size).into()) as u32) as u16
            }
            Destinations::Shares(rows) => {
                let sums = &rows[usize::from(own.0)];
                let drawn = random.below(*sums.last().expect("there are nodes"));
                sums.partition_point(|&sum| sum <= drawn) as u16
            }
        })
    }
}

/// The place almost half around the ring of each dimension.
fn half_around(own: u32, dimensions: &[u32]) -> u32 {
    let (mut rest, mut stride, mut to) = (own, 1, 0);
    for &length in dimensions {
        to += (rest % length + length.div_ceil(2) - 1) % length * stride;
        (rest, stride) = (rest / length, stride * length);
    }
    to
}

fn sums(row: &[u32]) -> Vec<u64> {
    let mut sum = 0;
    let shares = row.iter().map(|&share| {
        sum += u64::from(share);
        sum
    });
    shares.collect()
}

fn permutation_problem(to: &[u32], nodes: u32) -> Option<String> {
    if to.len() != nodes as usize {
        return Some(format!("{} destinations for {nodes} nodes", to.len()));
    }
    let (own, to) = to.iter().enumerate().find(|&(_, &to)| to >= nodes)?;
    Some(format!("node {own} sends to node {to}, and there are {nodes}"))
}

fn matrix_problem(rows: &[Vec<u32>], nodes: u32) -> Option<String> {
    if rows.len() != nodes as usize {
        return Some(format!("{} rows for {nodes} nodes", rows.len()));
    }
    if let Some((own, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != nodes as usize) {
        return Some(format!("row {own} has {} shares for {nodes} nodes", row.len()));
    }
    let own = rows.iter().position(|row| row.iter().all(|&share| share == 0))?;
    Some(format!("node {own} sends to no node: all shares of row {own} are 0"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies::{crossbar, dragonfly, torus};

    fn crossbar() -> topologies::Config {
        topologies::Config::Crossbar(crossbar::Config { ports: 16 })
    }

    /// Where a node of 16 sends its next packet.
    fn to(pattern: &Pattern, node: u16) -> u16 {
        pattern.destinations(16, &crossbar()).next(NodeId(node), 16, &mut Stream::new(1, "test")).0
    }

    #[test]
    fn each_fixed_pattern_sends_where_its_definition_says() {
        assert_eq!([1, 4, 7, 15].map(|node| to(&Pattern::Transpose, node)), [4, 1, 13, 15]);
        assert_eq!([0, 15].map(|node| to(&Pattern::Neighbour, node)), [1, 0]);
        assert_eq!([0, 5].map(|node| to(&Pattern::BitComplement, node)), [15, 10]);
        assert_eq!([0, 12].map(|node| to(&Pattern::Tornado, node)), [7, 3]);
        let rotate = Pattern::Permutation((0..16).map(|node| (node + 3) % 16).collect());
        assert_eq!([0, 15].map(|node| to(&rotate, node)), [3, 2]);
    }

    #[test]
    fn a_tornado_on_a_torus_goes_almost_half_around_in_each_dimension() {
        let torus = topologies::Config::Torus(torus::Config { dimensions: vec![4, 4] });
        let Destinations::Fixed(to) = Pattern::Tornado.destinations(16, &torus) else {
            panic!("each node has one destination")
        };
        assert_eq!((to[0], to[7], to[15]), (5, 8, 0));
    }

    #[test]
    fn random_patterns_send_as_often_as_their_definitions_say() {
        let mut random = Stream::new(1, "test");
        let mut count = |pattern: &Pattern, topology: &topologies::Config, nodes, own, to: u16| {
            let destinations = pattern.destinations(nodes, topology);
            (0..1000).filter(|_| destinations.next(NodeId(own), nodes, &mut random).0 == to).count()
        };
        let hot = count(&Pattern::HotSpot, &crossbar(), 16, 3, 0);
        assert!((110..210).contains(&hot), "{hot} of 1000, expected 100 + 900 / 16");
        let groups = topologies::Config::Dragonfly(dragonfly::Config {
            nodes_per_switch: 1,
            switches_per_group: 2,
            global_links_per_switch: 1,
            groups: 3,
        });
        let next = [4, 5, 0].map(|to| count(&Pattern::NextGroup, &groups, 6, 2, to));
        assert!(next[0].abs_diff(500) < 100 && next[1].abs_diff(500) < 100 && next[2] == 0, "{next:?}");
        let mut rows = vec![vec![1; 16]; 16];
        rows[2] = [vec![0; 13], vec![3, 0, 1]].concat();
        let matrix = Pattern::Matrix(rows);
        let to_each = [12, 13, 14, 15].map(|to| count(&matrix, &crossbar(), 16, 2, to));
        assert!(to_each[1].abs_diff(750) < 100 && to_each[3].abs_diff(250) < 100, "{to_each:?}");
    }

    #[test]
    fn patterns_that_do_not_fit_the_network_are_refused() {
        let problem = |pattern: Pattern, nodes| pattern.problems(nodes, &crossbar()).remove(0).1;
        assert_eq!(
            problem(Pattern::Transpose, 15),
            "transpose needs a square number of nodes, and there are 15"
        );
        assert!(problem(Pattern::NextGroup, 16).starts_with("next-group needs a dragonfly"));
        assert_eq!(problem(Pattern::Permutation(vec![1]), 2), "1 destinations for 2 nodes");
        assert_eq!(problem(Pattern::Permutation(vec![1, 2]), 2), "node 1 sends to node 2, and there are 2");
        assert_eq!(problem(Pattern::Matrix(vec![vec![1], vec![1]]), 2), "row 0 has 1 shares for 2 nodes");
        let none = vec![vec![1, 1], vec![0, 0]];
        assert_eq!(problem(Pattern::Matrix(none), 2), "node 1 sends to no node: all shares of row 1 are 0");
    }
}
