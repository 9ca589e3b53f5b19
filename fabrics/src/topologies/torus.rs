//! A torus of two dimensions, a node at each switch: a mesh whose rows and columns
//! are rings. A parcel goes the shorter way around its row, then around its
//! column; from opposite sides half of the switches go one way, half the other.
//!
//! **Lanes.** A ring of buffers that wait for each other is a circle. So a parcel
//! that has still to pass the end of its ring is in lane 0, all others are in lane 1
//! (Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection
//! Networks", 1987). With one lane the check of routes finds the circle and prints it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Hop;
use super::grid::{EAST, Grid, NORTH, Place, SOUTH, WEST};

/// Switches in rows and columns that are rings, a node at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Switches in a row.
    #[schemars(range(min = 1, max = 256))]
    pub columns: u32,
    /// Rows.
    #[schemars(range(min = 1, max = 256))]
    pub rows: u32,
}

/// The way from one place of a ring to another: whether upwards, and the lane.
#[inline]
fn around(length: u32, from: u32, to: u32) -> (bool, u8) {
    let up = (to + length - from) % length;
    let is_up = match up.cmp(&(length - up)) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => from.is_multiple_of(2),
        std::cmp::Ordering::Greater => false,
    };
    let passes_end = if is_up { to < from } else { to > from };
    (is_up, u8::from(!passes_end))
}

impl Grid for Config {
    fn size(&self) -> Place {
        (self.columns, self.rows)
    }

    fn neighbour(&self, (column, row): Place, port: u16) -> Option<Place> {
        let step =
            |place: u32, length: u32, is_up: bool| (place + if is_up { 1 } else { length - 1 }) % length;
        Some(match port {
            EAST | WEST => (step(column, self.columns, port == EAST), row),
            _ => (column, step(row, self.rows, port == NORTH)),
        })
    }

    fn lanes(&self) -> u8 {
        2
    }

    #[inline]
    fn step(&self, (column, row): Place, (to_column, to_row): Place) -> Hop {
        if column != to_column {
            let (is_up, lane) = around(self.columns, column, to_column);
            return Hop { port: if is_up { EAST } else { WEST }, lane };
        }
        let (is_up, lane) = around(self.rows, row, to_row);
        Hop { port: if is_up { NORTH } else { SOUTH }, lane }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::NodeId;
    use crate::topologies::path;

    #[test]
    fn a_parcel_takes_the_shorter_way_around() {
        let torus = Config { columns: 8, rows: 8 };
        assert_eq!(path(&torus, NodeId(1), NodeId(7)), [1, 0, 7]);
        assert_eq!(path(&torus, NodeId(8), NodeId(48)), [8, 0, 56, 48]);
    }

    #[test]
    fn from_opposite_sides_half_of_the_switches_go_up_and_half_down() {
        let torus = Config { columns: 4, rows: 1 };
        let first = |from: u16| path(&torus, NodeId(from), NodeId((from + 2) % 4))[1];
        assert_eq!([0, 1, 2, 3].map(first), [1, 0, 3, 2]);
    }

    #[test]
    fn a_parcel_changes_its_lane_where_it_passes_the_end_of_its_ring() {
        assert_eq!(around(8, 6, 1), (true, 0));
        assert_eq!(around(8, 7, 1), (true, 0));
        assert_eq!(around(8, 0, 1), (true, 1));
        assert_eq!(around(8, 1, 6), (false, 0));
        assert_eq!(around(8, 5, 3), (false, 1));
    }
}
