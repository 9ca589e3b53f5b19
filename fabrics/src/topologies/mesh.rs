//! A mesh of two dimensions, a node at each switch. A parcel goes along its row
//! first, then along its column (dimension-order routing; Dally and Towles,
//! Principles and Practices of Interconnection Networks, Section 8.4.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Broken, Hop, Peer, Topology};
use crate::packet::NodeId;

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

/// The port at the other end of a link.
pub(super) fn opposite(port: u16) -> u16 {
    match port {
        EAST => WEST,
        WEST => EAST,
        NORTH => SOUTH,
        _ => NORTH,
    }
}

/// What is wrong with a grid of this size.
pub(super) fn grid_problems(columns: u32, rows: u32) -> Vec<Broken> {
    [("columns", columns), ("rows", rows)]
        .into_iter()
        .filter_map(|(key, value)| super::within(key, value, 1, 256))
        .collect()
}

impl Config {
    fn place(&self, switch: u32) -> (u32, u32) {
        (switch % self.columns, switch / self.columns)
    }
}

impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        grid_problems(self.columns, self.rows)
    }

    fn size_key(&self) -> &'static str {
        "rows"
    }

    fn places(&self) -> u64 {
        u64::from(self.columns) * u64::from(self.rows)
    }

    fn switches(&self) -> u32 {
        self.columns * self.rows
    }

    fn ports(&self) -> u16 {
        5
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        (node.0.into(), NODE)
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        let (column, row) = self.place(switch);
        let other = match port {
            NODE => return Peer::Node(NodeId(switch as u16)),
            EAST if column + 1 < self.columns => switch + 1,
            WEST if column > 0 => switch - 1,
            NORTH if row + 1 < self.rows => switch + self.columns,
            SOUTH if row > 0 => switch - self.columns,
            _ => return Peer::Nothing,
        };
        Peer::Switch { switch: other, port: opposite(port) }
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, _pick: u32) -> Hop {
        let (column, row) = self.place(switch);
        let (to_column, to_row) = self.place(destination.0.into());
        let port = match (column.cmp(&to_column), row.cmp(&to_row)) {
            (std::cmp::Ordering::Less, _) => EAST,
            (std::cmp::Ordering::Greater, _) => WEST,
            (_, std::cmp::Ordering::Less) => NORTH,
            (_, std::cmp::Ordering::Greater) => SOUTH,
            _ => NODE,
        };
        Hop { port, lane: 0 }
    }

    fn name(&self, switch: u32) -> String {
        let (column, row) = self.place(switch);
        format!("switch ({column}, {row})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies::path;

    #[test]
    fn a_parcel_goes_along_its_row_and_then_along_its_column() {
        let mesh = Config { columns: 4, rows: 4 };
        assert_eq!(path(&mesh, NodeId(12), NodeId(2)), [12, 13, 14, 10, 6, 2]);
        assert_eq!(path(&mesh, NodeId(5), NodeId(5)), [5]);
    }
}
