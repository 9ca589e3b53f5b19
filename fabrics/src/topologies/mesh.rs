//! A mesh of one or more dimensions, a node at each switch. Links end at the borders; a parcel goes
//! through the dimensions in their order, and one lane is enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::{Grid, Way};

/// Switches in a grid of one or more dimensions, a node at each.
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
        if is_up { (place + 1 < length).then_some(place + 1) } else { place.checked_sub(1) }
    }

    #[inline]
    fn way(&self, _length: u32, from: u32, to: u32) -> Way {
        Way { is_up: from < to, lane: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::NodeId;
    use crate::topologies::{Topology, path};

    #[test]
    fn a_parcel_goes_along_its_row_and_then_along_its_column() {
        let mesh = Config { dimensions: vec![4, 4] };
        assert_eq!(path(&mesh, NodeId(1), NodeId(11)), [1, 2, 3, 7, 11]);
        assert_eq!(path(&mesh, NodeId(12), NodeId(2)), [12, 13, 14, 10, 6, 2]);
        assert_eq!(path(&mesh, NodeId(5), NodeId(5)), [5]);
    }

    #[test]
    fn a_parcel_of_three_dimensions_goes_through_them_in_their_order() {
        let mesh = Config { dimensions: vec![3, 2, 4] };
        // Place (0, 1, 0) is switch 3, place (2, 0, 3) is switch 20.
        assert_eq!(path(&mesh, NodeId(3), NodeId(20)), [3, 4, 5, 2, 8, 14, 20]);
        assert_eq!((mesh.ports(), mesh.name(20)), (7, "switch (2, 0, 3)".to_owned()));
    }

    #[test]
    fn lengths_that_are_no_grid_are_refused() {
        let problem = |dimensions: Vec<u32>| Config { dimensions }.problems().remove(0).1;
        assert_eq!(problem(vec![]), "0 dimensions are not from 1 to 8");
        assert_eq!(problem(vec![4, 0]), "0 is not from 1 to 256");
        assert_eq!(
            problem(vec![256; 4]),
            "[256, 256, 256, 256] are 4294967296 switches, and a network has at most 65536"
        );
    }
}
