//! A mesh of two dimensions, a node at each switch. A parcel goes along its row
//! first, then along its column (dimension-order routing; Dally and Towles,
//! Principles and Practices of Interconnection Networks, Section 8.4).

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Hop;
use super::grid::{EAST, Grid, NORTH, Place, SOUTH, WEST};

/// Switches in rows and columns, a node at each.
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

impl Grid for Config {
    fn size(&self) -> Place {
        (self.columns, self.rows)
    }

    fn neighbour(&self, (column, row): Place, port: u16) -> Option<Place> {
        match port {
            EAST if column + 1 < self.columns => Some((column + 1, row)),
            WEST if column > 0 => Some((column - 1, row)),
            NORTH if row + 1 < self.rows => Some((column, row + 1)),
            SOUTH if row > 0 => Some((column, row - 1)),
            _ => None,
        }
    }

    #[inline]
    fn step(&self, (column, row): Place, (to_column, to_row): Place) -> Hop {
        let port = match (column.cmp(&to_column), row < to_row) {
            (Ordering::Less, _) => EAST,
            (Ordering::Greater, _) => WEST,
            (Ordering::Equal, true) => NORTH,
            (Ordering::Equal, false) => SOUTH,
        };
        Hop { port, lane: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::NodeId;
    use crate::topologies::path;

    #[test]
    fn a_parcel_goes_along_its_row_and_then_along_its_column() {
        let mesh = Config { columns: 4, rows: 4 };
        assert_eq!(path(&mesh, NodeId(12), NodeId(2)), [12, 13, 14, 10, 6, 2]);
        assert_eq!(path(&mesh, NodeId(5), NodeId(5)), [5]);
    }
}
