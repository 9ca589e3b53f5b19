//! A HyperX: switches at the places of a grid, each linked to all others of its row in every
//! dimension (Ahn, Binkert, Davis, McLaren and Schreiber, "HyperX: Topology, Routing, and
//! Packaging of Efficient Large-Scale Networks", 2009). One dimension is a full mesh, two are a
//! flattened butterfly, and dimensions of two switches are a hypercube.
//!
//! A parcel goes through the dimensions in their order, one link in each in which its place
//! differs from its destination's. No link of a dimension follows one of a later dimension, so one
//! lane is enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::{name_in, problems_of};
use super::{Broken, Hop, Peer, Topology};
use crate::packet::NodeId;

/// Switches in a grid, each linked to all others of its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Switches in each dimension: `[4, 4]`, or `[2, 2, 2]`.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1, max = 256)))]
    pub dimensions: Vec<u32>,
    /// Nodes at a switch.
    #[schemars(range(min = 1, max = 64))]
    pub nodes_per_switch: u32,
}

impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        let mut problems = problems_of(&self.dimensions);
        problems.extend(super::within("nodes_per_switch", self.nodes_per_switch, 1, 64));
        let places = self.dimensions.iter().map(|&length| u64::from(length)).product::<u64>()
            * u64::from(self.nodes_per_switch);
        if problems.is_empty() && places > super::MOST_SWITCHES {
            let most = super::MOST_SWITCHES;
            let message =
                format!("{} gives {places} places; there are at most {most}", self.nodes_per_switch);
            problems.push(("nodes_per_switch", message));
        }
        problems
    }

    fn size_key(&self) -> &'static str {
        "dimensions"
    }

    fn places(&self) -> u64 {
        u64::from(self.switches()) * u64::from(self.nodes_per_switch)
    }

    fn switches(&self) -> u32 {
        self.dimensions.iter().product()
    }

    fn ports(&self) -> u16 {
        (self.nodes_per_switch + self.dimensions.iter().map(|length| length - 1).sum::<u32>()) as u16
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        let node = u32::from(node.0);
        (node / self.nodes_per_switch, (node % self.nodes_per_switch) as u16)
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        let port = u32::from(port);
        if port < self.nodes_per_switch {
            return Peer::Node(NodeId((switch * self.nodes_per_switch + port) as u16));
        }
        let (mut first, mut stride) = (self.nodes_per_switch, 1);
        for &length in &self.dimensions {
            if port < first + length - 1 {
                let own = switch / stride % length;
                let other = other_of(own, port - first);
                let switch = switch - own * stride + other * stride;
                return Peer::Switch { switch, port: (first + index_of(other, own)) as u16 };
            }
            (first, stride) = (first + length - 1, stride * length);
        }
        Peer::Nothing
    }

    fn link_kinds(&self) -> Vec<String> {
        super::kinds_of_dimensions(self.dimensions.len())
    }

    fn link_kind(&self, _switch: u32, port: u16) -> u8 {
        let mut first = self.nodes_per_switch;
        let ends = self.dimensions.iter().map(|length| {
            first += length - 1;
            first
        });
        match u32::from(port) < self.nodes_per_switch {
            true => 0,
            false => 1 + ends.take_while(|&end| end <= u32::from(port)).count() as u8,
        }
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, _pick: u32) -> Hop {
        let node = u32::from(destination.0);
        let (mut from, mut to) = (switch, node / self.nodes_per_switch);
        let mut first = self.nodes_per_switch;
        for &length in &self.dimensions {
            let (own, its) = (from % length, to % length);
            if own != its {
                return Hop { port: (first + index_of(own, its)) as u16, lane: 0 };
            }
            (from, to, first) = (from / length, to / length, first + length - 1);
        }
        Hop { port: (node % self.nodes_per_switch) as u16, lane: 0 }
    }

    fn knows_nearer(&self) -> bool {
        true
    }

    fn nearer(&self, switch: u32, destination: NodeId, take: &mut impl FnMut(u16)) {
        let (mut from, mut to) = (switch, u32::from(destination.0) / self.nodes_per_switch);
        let mut first = self.nodes_per_switch;
        for &length in &self.dimensions {
            let (own, its) = (from % length, to % length);
            if own != its {
                take((first + index_of(own, its)) as u16);
            }
            (from, to, first) = (from / length, to / length, first + length - 1);
        }
    }

    fn name(&self, switch: u32) -> String {
        name_in(&self.dimensions, switch)
    }
}

/// The place of another switch among a switch's ports of a dimension.
#[inline]
fn index_of(own: u32, other: u32) -> u32 {
    if other < own { other } else { other - 1 }
}

/// The switch behind a port of a dimension, by the port's place among them.
fn other_of(own: u32, index: u32) -> u32 {
    if index < own { index } else { index + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies::path;

    #[test]
    fn a_parcel_takes_one_link_in_each_dimension_that_differs() {
        let hyperx = Config { dimensions: vec![4, 3], nodes_per_switch: 2 };
        assert_eq!(path(&hyperx, NodeId(0), NodeId(23)), [0, 3, 11]);
        assert_eq!(path(&hyperx, NodeId(2), NodeId(18)), [1, 9]);
        assert_eq!((hyperx.ports(), hyperx.places(), hyperx.name(11)), (7, 24, "switch (3, 2)".to_owned()));
    }

    #[test]
    fn more_nodes_than_a_network_numbers_are_refused() {
        let hyperx = Config { dimensions: vec![64, 64], nodes_per_switch: 64 };
        let message = "64 gives 262144 places; there are at most 65536";
        assert_eq!(hyperx.problems(), [("nodes_per_switch", message.to_owned())]);
    }
}
