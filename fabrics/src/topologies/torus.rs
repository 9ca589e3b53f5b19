//! A torus of one or more dimensions, a node at each switch: a mesh whose rows are rings in every
//! dimension. A parcel goes the shorter way around the ring of each dimension in their
//! order; from opposite sides half of the switches go one way, half the other.
//!
//! **Lanes.** A ring of buffers that wait for each other is a circle. So a parcel
//! that has still to pass the end of its ring is in lane 0, all others are in lane 1
//! (Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection
//! Networks", 1987). With one lane the check of routes finds the circle and prints it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::{Grid, Way};

/// Switches in a grid of one or more dimensions whose rows are rings, a node at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Switches in each dimension: `[8, 8]`, or `[4, 4, 4]`.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1, max = 256)))]
    pub dimensions: Vec<u32>,
}

impl Grid for Config {
    fn dimensions(&self) -> &[u32] {
        &self.dimensions
    }

    fn neighbour(&self, length: u32, place: u32, is_up: bool) -> Option<u32> {
        Some((place + if is_up { 1 } else { length - 1 }) % length)
    }

    fn lanes(&self) -> u8 {
        2
    }

    #[inline]
    fn way(&self, length: u32, from: u32, to: u32) -> Way {
        let up = (to + length - from) % length;
        let is_up = match up.cmp(&(length - up)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => from.is_multiple_of(2),
            std::cmp::Ordering::Greater => false,
        };
        let passes_end = if is_up { to < from } else { to > from };
        Way { is_up, lane: u8::from(!passes_end) }
    }

    fn is_opposite(&self, length: u32, from: u32, to: u32) -> bool {
        2 * from.abs_diff(to) == length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::NodeId;
    use crate::topologies::path;

    #[test]
    fn a_parcel_takes_the_shorter_way_around() {
        let torus = Config { dimensions: vec![8, 8] };
        assert_eq!(path(&torus, NodeId(1), NodeId(7)), [1, 0, 7]);
        assert_eq!(path(&torus, NodeId(8), NodeId(48)), [8, 0, 56, 48]);
    }

    #[test]
    fn from_opposite_sides_half_of_the_switches_go_up_and_half_down() {
        let torus = Config { dimensions: vec![4, 1] };
        let first = |from: u16| path(&torus, NodeId(from), NodeId((from + 2) % 4))[1];
        assert_eq!([0, 1, 2, 3].map(first), [1, 0, 3, 2]);
    }

    #[test]
    fn a_parcel_changes_its_lane_where_it_passes_the_end_of_its_ring() {
        let torus = Config { dimensions: vec![8] };
        let way = |from, to| {
            let Way { is_up, lane } = torus.way(8, from, to);
            (is_up, lane)
        };
        assert_eq!([way(6, 1), way(7, 1), way(0, 1)], [(true, 0), (true, 0), (true, 1)]);
        assert_eq!([way(1, 6), way(5, 3)], [(false, 0), (false, 1)]);
    }

    #[test]
    fn a_parcel_of_three_dimensions_takes_the_shorter_way_in_each() {
        let torus = Config { dimensions: vec![4, 4, 4] };
        assert_eq!(path(&torus, NodeId(0), NodeId(3 + 4 + 16 * 3)), [0, 3, 7, 55]);
    }
}
