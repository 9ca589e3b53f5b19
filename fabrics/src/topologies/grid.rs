//! What a mesh and a torus have in common: switches in rows and columns, a node at
//! each, and links to the neighbours in the row and in the column.

use super::{Broken, Hop, Peer, Topology};
use crate::packet::NodeId;

/// The port of a switch's node.
pub(super) const NODE: u16 = 0;
/// The port to the next switch of the row.
pub(super) const EAST: u16 = 1;
/// The port to the one before it.
pub(super) const WEST: u16 = 2;
/// The port to the next row.
pub(super) const NORTH: u16 = 3;
/// The port to the row before it.
pub(super) const SOUTH: u16 = 4;

/// A switch's place: its column and its row.
pub(super) type Place = (u32, u32);

/// A topology whose switches stand in a grid.
pub(super) trait Grid {
    /// How many columns and rows it has.
    fn size(&self) -> Place;

    /// The place at the other end of a port that leads to a switch.
    fn neighbour(&self, place: Place, port: u16) -> Option<Place>;

    /// What a parcel does next that is not at its destination's switch.
    fn step(&self, place: Place, destination: Place) -> Hop;

    /// Lanes that the routes need so that no parcels wait for each other in a circle.
    fn lanes(&self) -> u8 {
        1
    }

    /// Where a switch is.
    #[inline]
    fn place(&self, switch: u32) -> Place {
        let (columns, _) = self.size();
        (switch % columns, switch / columns)
    }
}

/// The port at the other end of a link.
fn opposite(port: u16) -> u16 {
    match port {
        EAST => WEST,
        WEST => EAST,
        NORTH => SOUTH,
        _ => NORTH,
    }
}

impl<G: Grid> Topology for G {
    fn problems(&self) -> Vec<Broken> {
        let (columns, rows) = self.size();
        [("columns", columns), ("rows", rows)]
            .into_iter()
            .filter_map(|(key, value)| super::within(key, value, 1, 256))
            .collect()
    }

    fn size_key(&self) -> &'static str {
        "rows"
    }

    fn places(&self) -> u64 {
        let (columns, rows) = self.size();
        u64::from(columns) * u64::from(rows)
    }

    fn switches(&self) -> u32 {
        let (columns, rows) = self.size();
        columns * rows
    }

    fn ports(&self) -> u16 {
        5
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        (node.0.into(), NODE)
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        if port == NODE {
            return Peer::Node(NodeId(switch as u16));
        }
        let (columns, _) = self.size();
        self.neighbour(self.place(switch), port).map_or(Peer::Nothing, |(column, row)| Peer::Switch {
            switch: row * columns + column,
            port: opposite(port),
        })
    }

    fn route_lanes(&self) -> u8 {
        self.lanes()
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, _pick: u32) -> Hop {
        let (place, destination) = (self.place(switch), self.place(destination.0.into()));
        if place == destination { Hop { port: NODE, lane: 0 } } else { self.step(place, destination) }
    }

    fn name(&self, switch: u32) -> String {
        let (column, row) = self.place(switch);
        format!("switch ({column}, {row})")
    }
}
