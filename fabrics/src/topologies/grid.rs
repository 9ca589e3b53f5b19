//! What a mesh and a torus have in common: switches at the places of a grid of any number of
//! dimensions, a node at each, and links to the two neighbours in each dimension.
//!
//! Switches are counted along the first dimension, then along the second, and so on. Port 0 is the
//! node's; ports 1 and 2 lead to the next and to the previous switch of the first dimension, ports 3
//! and 4 to those of the second. A parcel goes through the dimensions in their order
//! (dimension-order routing; Dally and Towles, Principles and Practices of Interconnection
//! Networks, Section 8.4).

use super::{Broken, Hop, Peer, Topology};
use crate::packet::NodeId;

/// The port of a switch's node.
const NODE: u16 = 0;

/// Dimensions of the largest grid.
const MOST_DIMENSIONS: usize = 8;

/// Which way a parcel goes in a dimension, and in which lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Way {
    /// Whether it goes to the next switch, not to the previous one.
    pub is_up: bool,
    /// The lane, among those that the grid needs.
    pub lane: u8,
}

/// A topology whose switches stand in a grid.
pub(super) trait Grid {
    /// How many switches it has in each dimension.
    fn dimensions(&self) -> &[u32];

    /// The neighbour of a switch in a dimension of this length.
    fn neighbour(&self, length: u32, place: u32, is_up: bool) -> Option<u32>;

    /// The way from one place of a dimension of this length to another.
    fn way(&self, length: u32, from: u32, to: u32) -> Way;

    /// Whether the other way is as short.
    fn is_opposite(&self, _length: u32, _from: u32, _to: u32) -> bool {
        false
    }

    /// Lanes that the routes need so that no parcels wait for each other in a circle.
    fn lanes(&self) -> u8 {
        1
    }
}

/// What is wrong with the lengths of dimensions.
pub(super) fn problems_of(dimensions: &[u32]) -> Vec<Broken> {
    let wrong = |message| vec![("dimensions", message)];
    if dimensions.is_empty() || dimensions.len() > MOST_DIMENSIONS {
        return wrong(format!("{} dimensions are not from 1 to {MOST_DIMENSIONS}", dimensions.len()));
    }
    let problems: Vec<Broken> =
        dimensions.iter().filter_map(|&length| super::within("dimensions", length, 1, 256)).collect();
    let switches: u64 = dimensions.iter().map(|&length| u64::from(length)).product();
    if problems.is_empty() && switches > super::MOST_SWITCHES {
        let most = super::MOST_SWITCHES;
        return wrong(format!("{dimensions:?} are {switches} switches, and a network has at most {most}"));
    }
    problems
}

/// What a switch of a grid is called: "switch (1, 0)".
pub(super) fn name_in(dimensions: &[u32], switch: u32) -> String {
    let mut rest = switch;
    let places: Vec<String> = dimensions
        .iter()
        .map(|length| {
            let place = rest % length;
            rest /= length;
            place.to_string()
        })
        .collect();
    format!("switch ({})", places.join(", "))
}

impl<G: Grid> Topology for G {
    fn problems(&self) -> Vec<Broken> {
        problems_of(self.dimensions())
    }

    fn size_key(&self) -> &'static str {
        "dimensions"
    }

    fn places(&self) -> u64 {
        self.switches().into()
    }

    fn switches(&self) -> u32 {
        self.dimensions().iter().product()
    }

    fn ports(&self) -> u16 {
        1 + 2 * self.dimensions().len() as u16
    }

    fn grid(&self) -> Option<&[u32]> {
        Some(self.dimensions())
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        (node.0.into(), NODE)
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        if port == NODE {
            return Peer::Node(NodeId(switch as u16));
        }
        let (dimension, is_up) = (usize::from(port - 1) / 2, !port.is_multiple_of(2));
        let (before, rest) = self.dimensions().split_at(dimension);
        let (stride, length) = (before.iter().product::<u32>(), rest[0]);
        let place = switch / stride % length;
        self.neighbour(length, place, is_up).map_or(Peer::Nothing, |other| Peer::Switch {
            switch: switch - place * stride + other * stride,
            port: if is_up { port + 1 } else { port - 1 },
        })
    }

    fn link_kinds(&self) -> Vec<String> {
        super::kinds_of_dimensions(self.dimensions().len())
    }

    fn link_kind(&self, _switch: u32, port: u16) -> u8 {
        port.div_ceil(2) as u8
    }

    fn route_lanes(&self) -> u8 {
        self.lanes()
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, _pick: u32) -> Hop {
        let (mut from, mut to) = (switch, u32::from(destination.0));
        for (dimension, &length) in self.dimensions().iter().enumerate() {
            let (place, its) = (from % length, to % length);
            if place != its {
                let Way { is_up, lane } = self.way(length, place, its);
                return Hop { port: 2 * dimension as u16 + if is_up { 1 } else { 2 }, lane };
            }
            (from, to) = (from / length, to / length);
        }
        Hop { port: NODE, lane: 0 }
    }

    fn knows_nearer(&self) -> bool {
        true
    }

    fn nearer(&self, switch: u32, destination: NodeId, take: &mut impl FnMut(u16)) {
        let (mut from, mut to) = (switch, u32::from(destination.0));
        for (dimension, &length) in self.dimensions().iter().enumerate() {
            let (place, its) = (from % length, to % length);
            if place != its {
                let port = |is_up| 2 * dimension as u16 + if is_up { 1 } else { 2 };
                let Way { is_up, .. } = self.way(length, place, its);
                take(port(is_up));
                if self.is_opposite(length, place, its) {
                    take(port(!is_up));
                }
            }
            (from, to) = (from / length, to / length);
        }
    }

    fn name(&self, switch: u32) -> String {
        name_in(self.dimensions(), switch)
    }
}
