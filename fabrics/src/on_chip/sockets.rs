//! Sockets on a network on chip: a mesh that is cut into equal parts along its last dimension. The links that
//! the cut meets are those between sockets.
//!
//! ```text
//!   places 0 to n/2 - 1        places n/2 to n - 1
//!   ┌── mesh of socket 0 ──┐┄┄┌── mesh of socket 1 ──┐      ┄┄ link_time, link_width
//! ```

use narthex_kernel::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::topologies::{self, Peer, Topology};

/// The sockets of a network on chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How many there are, 2 to 8: each has as many of the mesh's last dimension.
    #[schemars(range(min = 2, max = 8))]
    pub count: u32,
    /// Time of a message's head from one socket to the next, the switch included.
    pub link_time: Duration,
    /// Bytes that a link between sockets carries in one cycle of the network; there is one for each of the mesh's
    /// places at the cut.
    pub link_width: Bytes,
}

impl Config {
    /// The rules that the parameters break on a network, as (key, what is wrong) pairs.
    pub(super) fn problems(&self, network: &super::Config) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let Config { count, link_time, link_width } = self;
        let dimension = match &network.topology {
            topologies::Config::Mesh(mesh) => mesh.dimensions.last().copied(),
            _ => None,
        };
        if !(2..=8).contains(count) {
            problems.push(("count", format!("{count} is not from 2 to 8")));
        } else if dimension.is_none_or(|last| last == 0 || last % count != 0) {
            let message = match dimension {
                None => format!("{count} sockets need network_on_chip.topology.kind = \"mesh\""),
                Some(last) => {
                    format!("{count} sockets do not divide the {last} of the mesh's last dimension")
                }
            };
            problems.push(("count", message));
        }
        if *link_time < network.hop_time {
            let least = network.hop_time;
            problems
                .push(("link_time", format!("{link_time} is less than the hop_time of {least} on the chip")));
        }
        if link_width.as_u64() == 0 {
            problems.push(("link_width", "0B would carry nothing; at least 1B is needed".into()));
        }
        if network.packet_routes == super::PacketRoutes::Adaptive {
            problems.push(("count", "sockets need packet_routes = \"fixed\"".into()));
        }
        problems
    }

    /// The socket of a place, of so many.
    pub fn of_place(&self, place: u32, places: u64) -> u8 {
        (u64::from(place) * u64::from(self.count) / places) as u8
    }

    /// Links from one socket to the next.
    pub fn links(&self, network: &super::Config) -> u64 {
        let last = network.topology.grid().and_then(<[u32]>::last).copied().unwrap_or(1);
        network.topology.places() / u64::from(last)
    }
}

narthex_kernel::statistics! {
    /// What crossed the links between sockets.
    pub struct Statistics {
        messages: Counter, "socket_link_messages", "messages", "messages of directories and packets of devices that crossed links between sockets";
        bytes: Counter, "socket_link_bytes", "bytes", "bytes of these, headers included";
    }
}

impl Statistics {
    /// A message of so many bytes crosses.
    #[inline]
    pub(super) fn count(&mut self, bytes: u64) {
        self.messages.increment();
        self.bytes.add(bytes);
    }
}

/// The links between sockets.
#[derive(Debug)]
pub(super) struct Between {
    config: Config,
    places: u64,
    /// Whether a link is one, by its number.
    links: Vec<bool>,
    pub link_time: Duration,
    pub width: u64,
}

impl Between {
    pub fn of(config: &Config, network: &super::Config) -> Self {
        let (topology, places) = (&network.topology, network.topology.places());
        let ports =
            (0..topology.switches()).flat_map(|switch| (0..topology.ports()).map(move |port| (switch, port)));
        let crosses = |(switch, port)| match topology.peer(switch, port) {
            Peer::Switch { switch: other, .. } => {
                config.of_place(switch, places) != config.of_place(other, places)
            }
            Peer::Node(_) | Peer::Nothing => false,
        };
        Between {
            config: config.clone(),
            places,
            links: ports.map(crosses).collect(),
            link_time: config.link_time,
            width: config.link_width.as_u64(),
        }
    }

    /// The socket of a place.
    pub fn socket_of(&self, place: u16) -> usize {
        self.config.of_place(place.into(), self.places).into()
    }

    #[inline]
    pub fn has(&self, link: u16) -> bool {
        self.links[usize::from(link)]
    }
}

#[cfg(test)]
mod tests {
    use narthex_kernel::Time;

    use super::*;
    use crate::on_chip::{OnChip, PacketRoutes};
    use crate::topologies::mesh;

    fn network() -> super::super::Config {
        super::super::Config {
            topology: topologies::Config::Mesh(mesh::Config { dimensions: vec![2, 4] }),
            width: Bytes::new(16),
            clock: "1GHz".parse().unwrap(),
            hop_time: Duration::from_ns(3),
            lanes: 3,
            header: Bytes::new(8),
            packet_routes: PacketRoutes::Fixed,
            sockets: Some(Config { count: 2, link_time: Duration::from_ns(50), link_width: Bytes::new(8) }),
        }
    }

    #[test]
    fn a_message_to_the_other_socket_takes_the_long_and_narrow_link() {
        let network = network();
        assert_eq!(network.problems(3), []);
        let time =
            |from, to, bytes| OnChip::new(&network).send(Time::ZERO, (from, to), 0, bytes).as_ps() / 1_000;
        assert_eq!(time(0, 2, 0), 3 + 3 + 1, "in its socket: a hop and its place");
        // From (1, 1) over the link to (1, 2), and into that place: 72 bytes of 8 a cycle.
        assert_eq!(time(3, 5, 64), 50 + 9 + 3);
        assert_eq!(time(1, 7, 0), 3 + 50 + 3 + 3 + 1);
        let mut mesh = OnChip::new(&network);
        for places in [(0, 2), (3, 5), (1, 7)] {
            mesh.send(Time::ZERO, places, 0, 64);
        }
        let crossed = mesh.socket_statistics().expect("two sockets");
        assert_eq!((crossed.messages.get(), crossed.bytes.get()), (2, 2 * 72));
        let sockets = network.sockets.as_ref().unwrap();
        assert_eq!((sockets.links(&network), sockets.of_place(3, 8), sockets.of_place(4, 8)), (2, 0, 1));
    }

    #[test]
    fn sockets_that_no_mesh_has_are_refused() {
        let problem = |config: Config| config.problems(&network()).remove(0);
        let config = network().sockets.unwrap();
        assert_eq!(
            problem(Config { count: 3, ..config.clone() }).1,
            "3 sockets do not divide the 4 of the mesh's last dimension"
        );
        assert_eq!(problem(Config { link_time: Duration::from_ns(2), ..config }).0, "link_time");
    }
}
