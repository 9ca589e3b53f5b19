//! The parameters of a network on chip, the rules that they keep, and what a message takes by them.

use narthex_kernel::{Bytes, Clock, Duration, Frequency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sockets;
use crate::topologies::{self, Topology};

/// The ways of devices' packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketRoutes {
    /// Those of the topology, one for each pair of places: packets keep their order.
    #[default]
    Fixed,
    /// Each switch chooses, of the links of a shortest way, the one that is free first.
    Adaptive,
}

/// A network on chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which links there are, and the routes; what it calls a node is a place on the chip.
    pub topology: topologies::Config,
    /// Bytes that a link carries in one cycle.
    pub width: Bytes,
    /// The clock of the links: its product with the width is their bandwidth.
    pub clock: Frequency,
    /// Time of a message's head through a switch and the link behind it.
    pub hop_time: Duration,
    /// Lanes, each with links of its own.
    #[schemars(range(min = 1, max = 8))]
    pub lanes: u32,
    /// Bytes of a message beside the data that it carries.
    pub header: Bytes,
    /// The ways of devices' packets; a directory's messages keep to the topology's own.
    #[serde(default)]
    pub packet_routes: PacketRoutes,
    /// The sockets that its places are in, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<sockets::Config>,
}

/// More places than a node has agents and homes are of no use.
const MOST_PLACES: u64 = 1024;

impl Config {
    /// The rules that the parameters break where messages need this many lanes, as (key, what
    /// is wrong) pairs.
    pub fn problems(&self, lanes_needed: u32) -> Vec<(String, String)> {
        let of_topology = self.topology.problems().into_iter();
        let mut problems: Vec<(String, String)> =
            of_topology.map(|(key, message)| (format!("topology.{key}"), message)).collect();
        if problems.is_empty() && self.topology.places() > MOST_PLACES {
            let message = format!("gives {} places; a chip has up to {MOST_PLACES}", self.topology.places());
            problems.push((format!("topology.{}", self.topology.size_key()), message));
        }
        let mut wrong = |key: &str, message: String| problems.push((key.into(), message));
        if self.width.as_u64() == 0 {
            wrong("width", "0B would carry nothing; at least 1B is needed".into());
        }
        if self.header.as_u64() == 0 {
            wrong(
                "header",
                "0B says nothing: a message has an address and a kind; expected such as 8B".into(),
            );
        }
        if self.hop_time.is_zero() {
            wrong(
                "hop_time",
                "0ps would let messages arrive before they are sent off; expected such as 3ns".into(),
            );
        }
        if !(lanes_needed..=8).contains(&self.lanes) {
            let message = format!("{} is not from {lanes_needed}, which its messages need, to 8", self.lanes);
            wrong("lanes", message);
        }
        let of_sockets = self.sockets.iter().flat_map(|sockets| sockets.problems(self));
        problems.extend(of_sockets.map(|(key, message)| (format!("sockets.{key}"), message)));
        problems
    }

    /// What a message with `data_bytes` takes over this many links that no other message uses.
    pub fn zero_load(&self, links: u64, data_bytes: u64) -> Duration {
        self.hop_time * links + self.serialization(data_bytes)
    }

    fn serialization(&self, data_bytes: u64) -> Duration {
        cycles(self.clock.clock(), self.header.as_u64() + data_bytes, self.width.as_u64())
    }
}

/// What `bytes` take at one `width` a cycle.
#[inline]
pub(super) fn cycles(clock: Clock, bytes: u64, width: u64) -> Duration {
    clock.cycles(bytes.div_ceil(width))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::topologies::mesh;

    /// A mesh with three lanes.
    pub(in super::super) fn config(columns: u32, rows: u32) -> Config {
        Config {
            topology: topologies::Config::Mesh(mesh::Config { dimensions: vec![columns, rows] }),
            width: Bytes::new(16),
            clock: "1GHz".parse().unwrap(),
            hop_time: Duration::from_ns(3),
            lanes: 3,
            header: Bytes::new(8),
            packet_routes: PacketRoutes::Fixed,
            sockets: None,
        }
    }

    #[test]
    fn parameters_that_carry_nothing_or_too_few_lanes_are_refused() {
        let wrong = Config { lanes: 2, width: Bytes::new(0), hop_time: Duration::ZERO, ..config(0, 64) };
        let keys: Vec<String> = wrong.problems(3).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["topology.dimensions", "width", "hop_time", "lanes"]);
        let large = config(64, 64).problems(3);
        assert_eq!(large[0].0, "topology.dimensions");
        assert_eq!(config(4, 4).problems(3), []);
    }
}
