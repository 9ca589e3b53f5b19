//! A network on chip: what carries short messages between the places of one node.
//!
//! ```text
//!   tile ── switch ──link── switch ──link── switch ── tile, memory controller, device
//!             │               │               │
//! ```
//!
//! Messages of a directory take the topology's own routes, and keep their order. Packets of devices
//! may have adaptive ones ([`adaptive`]) and overtake each other.
//!
//! Topology and routes are those of networks between nodes ([`crate::topologies`]); what
//! they call a node is a *place* here. A message leaves each switch of its way over one
//! link, the last one into its place: so one that stays at its place passes one switch. Each
//! lane has links of its own, so messages of different lanes never meet.
//!
//! **Sockets** ([`sockets`]) divide a mesh into parts whose links between each other are longer and narrower.
//!
//! **Time.** A message's head takes `hop_time` for each of its links, its bytes follow it one
//! width a cycle, and the message is there with its last byte. A link is taken by a message as long as its bytes take. It serves messages in the order in which they were sent, but one that
//! comes to it before the latest one, and is over it by then, does not wait for that.
//!
//! **Why links are reserved.** What a message waits for is decided when it is sent: it
//! reserves each link of its way from the instant on at which its head gets there. So a
//! message is one event of its node however far it goes. A switch
//! ([`crate::switch`]) takes two to three events for each hop, and a miss is four messages of
//! several hops: the tiles of a chip would stand still for most of a run's time. The price is
//! that buffers have no end, that a message may wait for one that was sent before it and
//! comes to their common link after it, and that arbiters do not choose. Nothing waits for
//! room, so nothing waits in a circle.

mod adaptive;
mod config;
mod reserved;
pub mod sockets;

use narthex_kernel::{Archive, Archived, Clock, Damage, Duration, Time, statistics};
use serde::{Deserialize, Serialize};

use adaptive::Nearer;
use config::cycles;
pub use config::{Config, PacketRoutes};
use reserved::Reserved;
use sockets::Between;
pub use sockets::Statistics as SocketStatistics;

use crate::link;
use crate::packet::NodeId;
use crate::topologies::{self, Peer, Topology};

statistics! {
    /// What crossed a network on chip.
    pub struct Statistics {
        latency: Histogram, "on_chip_latency", "ns", "time of a message from one place to another";
        links: Counter, "on_chip_links", "links", "links that messages crossed, the one into their place included";
        overtaken: Counter, "on_chip_overtaken", "packets", "packets of devices that arrived before one that had been sent earlier between the same places in the same lane";
        waited: TimeTotal, "on_chip_waited", "ps", "time that messages waited for links";
    }
}

/// What changes.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// Each link, by number and lane.
    reserved: Vec<Reserved>,
    /// What each link carried, in all lanes.
    uses: Vec<link::Statistics>,
    /// When the last packet arrives, by its two places and lane; empty where none can overtake.
    latest: Vec<Time>,
    statistics: Statistics,
    /// Where there are several sockets.
    between: SocketStatistics,
}

impl State {
    /// A message crosses a link, at which its head is at `head` at the earliest: from when on.
    #[inline(always)]
    fn cross(
        &mut self,
        link: usize,
        (lane, lanes): (usize, usize),
        (head, serialization, bytes): (Time, Duration, u64),
    ) -> Time {
        let start = self.reserved[link * lanes + lane].take(head, serialization);
        let used = &mut self.uses[link];
        used.parcels.increment();
        used.bytes.add(bytes);
        used.busy.add(serialization);
        if start > head {
            used.waited.add(start - head);
            self.statistics.waited.add(start - head);
        }
        start
    }
}

/// A network on chip, with what is under way on it.
#[derive(Debug)]
pub struct OnChip {
    config: Config,
    clock: Clock,
    lanes: usize,
    places: usize,
    /// Where the way from one place to another begins in `ways`, by both places.
    starts: Vec<u32>,
    /// The links of all ways.
    ways: Vec<u16>,
    /// For adaptive routes of packets.
    nearer: Option<Nearer>,
    /// The links between sockets.
    between: Option<Between>,
    state: State,
}

impl OnChip {
    /// One without messages. The parameters have been checked.
    pub fn new(config: &Config) -> Self {
        let topology = &config.topology;
        let places = topology.places() as usize;
        let (mut starts, mut ways) = (vec![0], Vec::new());
        for from in 0..places {
            for to in 0..places {
                way(topology, from as u16, to as u16, |link| ways.push(link));
                starts.push(ways.len() as u32);
            }
        }
        let links = topology.switches() as usize * usize::from(topology.ports());
        let lanes = config.lanes as usize;
        let nearer = match config.packet_routes {
            PacketRoutes::Fixed => None,
            PacketRoutes::Adaptive => Nearer::of(topology),
        };
        let pairs = if nearer.is_some() { places * places * lanes } else { 0 };
        OnChip {
            nearer,
            between: config.sockets.as_ref().map(|sockets| Between::of(sockets, config)),
            clock: config.clock.clock(),
            lanes,
            places,
            starts,
            ways,
            state: State {
                reserved: vec![Reserved::default(); links * lanes],
                uses: vec![link::Statistics::default(); links],
                latest: vec![Time::ZERO; pairs],
                statistics: Statistics::default(),
                between: SocketStatistics::default(),
            },
            config: config.clone(),
        }
    }

    /// Sends a message off at `now`, which is not before that of any other one so far; when it
    /// is at its place.
    #[inline]
    pub fn send(&mut self, now: Time, (from, to): (u16, u16), lane: usize, data_bytes: u64) -> Time {
        let bytes = self.config.header.as_u64() + data_bytes;
        let serialization = cycles(self.clock, bytes, self.config.width.as_u64());
        let way = usize::from(from) * self.places + usize::from(to);
        let way = &self.ways[self.starts[way] as usize..self.starts[way + 1] as usize];
        let (lanes, hop_time) = ((lane, self.lanes), self.config.hop_time);
        let mut head = now;
        for &link in way {
            if let Some(own) = self.between.as_ref().filter(|between| between.has(link)) {
                let serialized = cycles(self.clock, bytes, own.width);
                let crossed = self.state.cross(link.into(), lanes, (head, serialized, bytes));
                self.state.between.count(bytes);
                // Behind a narrow link the bytes have come apart.
                head = crossed + own.link_time + (serialized.max(serialization) - serialization);
            } else {
                head = self.state.cross(link.into(), lanes, (head, serialization, bytes)) + hop_time;
            }
        }
        self.state.statistics.links.add(way.len() as u64);
        let arrival = head + serialization;
        self.state.statistics.latency.record((arrival - now).as_ps() / 1_000);
        arrival
    }

    /// The same for a packet of a device, which may have adaptive routes.
    #[inline]
    pub fn send_packet(&mut self, now: Time, (from, to): (u16, u16), lane: usize, data_bytes: u64) -> Time {
        if self.nearer.is_some() {
            return self.send_adaptively(now, (from, to), lane, data_bytes);
        }
        self.send(now, (from, to), lane, data_bytes)
    }

    fn send_adaptively(&mut self, now: Time, (from, to): (u16, u16), lane: usize, data_bytes: u64) -> Time {
        let OnChip { config, clock, lanes, places, nearer: Some(nearer), state, .. } = self else {
            unreachable!("routes are adaptive")
        };
        let (topology, bytes) = (&config.topology, config.header.as_u64() + data_bytes);
        let serialization = cycles(*clock, bytes, config.width.as_u64());
        let mut switch = topology.attachment(NodeId(from)).0;
        let mut head = now;
        loop {
            let link_of = |port: u16| switch as usize * usize::from(topology.ports()) + usize::from(port);
            let start_of = |port| state.reserved[link_of(port) * *lanes + lane].start(head, serialization);
            let port = nearer.ports(switch, to).min_by_key(|&port| start_of(port));
            let port = port.expect("a link leads nearer to each place");
            head = state.cross(link_of(port), (lane, *lanes), (head, serialization, bytes)) + config.hop_time;
            state.statistics.links.increment();
            match topology.peer(switch, port) {
                Peer::Switch { switch: next, .. } => switch = next,
                Peer::Node(_) | Peer::Nothing => break,
            }
        }
        let arrival = head + serialization;
        let latest = &mut state.latest[(usize::from(from) * *places + usize::from(to)) * *lanes + lane];
        state.statistics.overtaken.add(u64::from(arrival < *latest));
        *latest = arrival.max(*latest);
        state.statistics.latency.record((arrival - now).as_ps() / 1_000);
        arrival
    }

    /// No message arrives sooner than this after it was sent.
    pub fn lookahead(&self) -> Duration {
        self.config.zero_load(1, 0)
    }

    /// How many lanes each of its links has.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The socket of a place.
    pub fn socket_of(&self, place: u16) -> usize {
        self.between.as_ref().map_or(0, |between| between.socket_of(place))
    }

    /// Its statistics.
    pub fn statistics(&self) -> &Statistics {
        &self.state.statistics
    }

    /// Those of its links between sockets, where it has such.
    pub fn socket_statistics(&self) -> Option<&SocketStatistics> {
        self.between.as_ref().map(|_| &self.state.between)
    }

    /// Its links, by the names of their ends, and what each carried.
    pub fn links(&self) -> impl Iterator<Item = (String, String, &link::Statistics)> {
        let topology = &self.config.topology;
        let ports = usize::from(topology.ports());
        self.state.uses.iter().enumerate().filter_map(move |(link, uses)| {
            let (switch, port) = ((link / ports) as u32, (link % ports) as u16);
            let to = match topology.peer(switch, port) {
                Peer::Node(place) => format!("place {}", place.0),
                Peer::Switch { switch, .. } => topology.name(switch),
                Peer::Nothing => return None,
            };
            Some((topology.name(switch), to, uses))
        })
    }
}

/// The links of a way, in its order.
fn way(topology: &topologies::Config, from: u16, to: u16, mut each: impl FnMut(u16)) {
    let destination = NodeId(to);
    let mut switch = topology.attachment(NodeId(from)).0;
    loop {
        let pick = u32::from(from) % topology.alternatives(switch, destination);
        let port = topology.route(switch, destination, pick).port;
        each((switch * u32::from(topology.ports())) as u16 + port);
        match topology.peer(switch, port) {
            Peer::Switch { switch: next, .. } => switch = next,
            Peer::Node(_) | Peer::Nothing => return,
        }
    }
}

impl Archived for OnChip {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let State { reserved, uses, latest, .. } = &self.state;
        let (reserved, uses, latest) = (reserved.len(), uses.len(), latest.len());
        archive.value(&mut self.state)?;
        let fits = self.state.reserved.len() == reserved
            && self.state.uses.len() == uses
            && self.state.latest.len() == latest;
        archive.ensure(fits, "a network on chip has other links than the machine's")
    }
}

#[cfg(test)]
mod tests {
    use super::config::tests::config;
    use super::*;
    use crate::topologies::{mesh, torus};

    fn ns(nanoseconds: u64) -> Time {
        Time::ZERO + Duration::from_ns(nanoseconds)
    }

    #[test]
    fn a_message_takes_a_hop_for_each_switch_and_its_bytes_once() {
        let mut mesh = OnChip::new(&config(4, 4));
        assert_eq!(mesh.send(ns(0), (5, 5), 0, 0), ns(3 + 1), "it stays at its place");
        assert_eq!(mesh.send(ns(10), (0, 15), 0, 0), ns(10 + 7 * 3 + 1));
        assert_eq!(mesh.send(ns(100), (0, 3), 1, 64), ns(100 + 4 * 3 + 5), "72 bytes of 16 a cycle");
        assert_eq!(mesh.lookahead(), Duration::from_ns(4));
        assert_eq!(config(4, 4).zero_load(4, 64), Duration::from_ns(17));
    }

    #[test]
    fn messages_of_a_lane_follow_each_other_on_a_link_and_those_of_two_lanes_do_not() {
        let mut mesh = OnChip::new(&config(4, 1));
        assert_eq!(mesh.send(ns(0), (0, 3), 2, 64), ns(17));
        assert_eq!(
            mesh.send(ns(1), (0, 3), 2, 0),
            ns(18),
            "it waits 4 ns for the first link, and meets nobody then"
        );
        assert_eq!(mesh.send(ns(1), (0, 3), 1, 0), ns(14));
        assert_eq!(mesh.send(ns(2), (3, 0), 2, 0), ns(15), "links lead one way");
        assert_eq!(mesh.statistics().waited.get(), Duration::from_ns(4));
        let (from, to, uses) = mesh.links().max_by_key(|(.., uses)| uses.waited.get()).unwrap();
        assert_eq!((from.as_str(), to.as_str()), ("switch (0, 0)", "switch (1, 0)"));
        assert_eq!((uses.parcels.get(), uses.bytes.get()), (3, 88));
    }

    #[test]
    fn a_message_goes_before_one_that_was_sent_earlier_and_comes_later() {
        let mut mesh = OnChip::new(&config(4, 1));
        assert_eq!(mesh.send(ns(0), (0, 3), 2, 64), ns(17), "it takes its last two links at 6 and 9");
        assert_eq!(mesh.send(ns(1), (2, 3), 2, 0), ns(1 + 2 * 3 + 1));
        assert_eq!(mesh.send(ns(4), (2, 3), 2, 64), ns(4 + 2 * 3 + 5 + 7), "it does not fit in before");
    }

    #[test]
    fn every_topology_carries_messages_between_all_its_places() {
        let torus = Config {
            topology: topologies::Config::Torus(torus::Config { dimensions: vec![4, 4] }),
            ..config(1, 1)
        };
        let mut torus = OnChip::new(&torus);
        assert_eq!(torus.send(ns(0), (0, 15), 0, 0), ns(3 * 3 + 1), "around both ends");
        for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))) {
            let sent = ns(1_000 * (16 * u64::from(from) + u64::from(to) + 1));
            assert!(torus.send(sent, (from, to), 0, 0) <= sent + Duration::from_ns(5 * 3 + 1));
        }
    }

    #[test]
    fn packets_with_adaptive_routes_take_the_link_that_is_free_and_overtake_each_other() {
        let adaptive = Config { packet_routes: PacketRoutes::Adaptive, ..config(2, 3) };
        let mut mesh = OnChip::new(&adaptive);
        assert_eq!(
            mesh.send(ns(0), (1, 5), 1, 312),
            ns(3 * 3 + 20),
            "from 1 to 3 the link is taken until 20"
        );
        assert_eq!(mesh.send_packet(ns(0), (0, 3), 1, 64), ns(20 + 2 * 3 + 5), "it waits at place 1");
        assert_eq!(mesh.send_packet(ns(1), (0, 3), 1, 0), ns(1 + 3 * 3 + 1), "around by place 2");
        assert_eq!(mesh.statistics().overtaken.get(), 1);
        let mut fixed = OnChip::new(&config(2, 3));
        fixed.send(ns(0), (1, 5), 1, 312);
        let first = fixed.send_packet(ns(0), (0, 3), 1, 64);
        assert!(fixed.send_packet(ns(1), (0, 3), 1, 0) > first, "those with fixed ones keep their order");
    }

    #[test]
    fn adaptive_routes_are_shortest_ones() {
        let topologies = [
            topologies::Config::Mesh(mesh::Config { dimensions: vec![4, 4] }),
            topologies::Config::Torus(torus::Config { dimensions: vec![4, 4] }),
        ];
        for topology in topologies {
            let fixed = Config { topology, ..config(1, 1) };
            let adaptive = Config { packet_routes: PacketRoutes::Adaptive, ..fixed.clone() };
            let (mut fixed, mut adaptive) = (OnChip::new(&fixed), OnChip::new(&adaptive));
            for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))) {
                let sent = ns(1_000 * (16 * u64::from(from) + u64::from(to) + 1));
                let arrival = fixed.send_packet(sent, (from, to), 0, 0);
                assert_eq!(adaptive.send_packet(sent, (from, to), 0, 0), arrival, "{from} to {to}");
            }
        }
    }

    #[test]
    fn a_network_on_chip_is_the_same_from_its_archive() {
        let mut mesh = OnChip::new(&config(4, 1));
        mesh.send(ns(0), (0, 3), 2, 64);
        let saved = Archive::save(&mut mesh).unwrap();
        let mut restored = OnChip::new(&config(4, 1));
        Archive::restore(&saved, &mut restored).unwrap();
        assert_eq!(restored.send(ns(1), (0, 3), 2, 0), ns(18));
        assert!(Archive::restore(&saved, &mut OnChip::new(&config(4, 2))).is_err());
    }
}
