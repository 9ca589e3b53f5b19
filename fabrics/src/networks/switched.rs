//! A network of switches and links, in which frames meet and wait for each other.
//!
//! Its parts are [`crate::topologies`] (which links there are, and the routes),
//! [`crate::link`], [`crate::switch`] and the node's end, [`crate::terminal`]. Here
//! they become a network from a machine's file: what goes together is checked, and
//! a frame becomes a parcel.
//!
//! A frame takes the bytes of its packet, an acknowledgement those of a header. The
//! time of a frame ends with the arrival of its last byte, so a network without load
//! takes as much longer than an ideal one of the same latency as the frame's bytes
//! take on a link.

use std::sync::Arc;

use narthex_kernel::{Archive, Archived, Bytes, Damage, Duration, Time, did_you_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Network, NetworkContext, Parameters};
use crate::backpressure::Backpressure;
use crate::link::{self, Hops, Timings};
use crate::packet::{Frame, Header, NodeId};
use crate::parcel::Sending;
use crate::routes;
use crate::switch::{self, Marking, OutputQueues, Plan, Routes, Switch, Switching};
use crate::terminal::Terminal;
use crate::topologies::{self, Topology};

/// Switches and links, in which frames meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which links there are, and the routes.
    pub topology: topologies::Config,
    /// The links.
    pub links: link::Config,
    /// The switches.
    pub switches: switch::Config,
    /// Which frames go first.
    pub priorities: Priorities,
    /// Whether parcels make detours.
    #[serde(default)]
    pub routes: Routes,
}

/// The priority of each kind of frame: of those that need a link, the one with the
/// largest goes first. Each priority has lanes of its own. Packets that their interface
/// calls urgent have the next priority above other packets, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Priorities {
    /// Of packets.
    #[schemars(range(min = 0, max = 7))]
    pub packets: u32,
    /// Of acknowledgements.
    #[schemars(range(min = 0, max = 7))]
    pub acknowledgements: u32,
    /// Of packets that come back because they found no buffer.
    #[schemars(range(min = 0, max = 7))]
    pub returned_packets: u32,
}

impl Priorities {
    fn all(&self) -> [(&'static str, u32); 3] {
        let Priorities { packets, acknowledgements, returned_packets } = *self;
        [("packets", packets), ("acknowledgements", acknowledgements), ("returned_packets", returned_packets)]
    }

    /// How many priorities there are.
    fn count(&self) -> u32 {
        self.all().iter().map(|&(_, priority)| priority + 1).max().expect("there are kinds of frames")
    }

    fn of(&self, frame: &Frame) -> u8 {
        let priority = match frame {
            Frame::Data(packet) if packet.is_urgent => return self.of_urgent(),
            Frame::Data(_) => self.packets,
            Frame::Acknowledgement { .. } | Frame::Notice { .. } => self.acknowledgements,
            Frame::Returned(_) => self.returned_packets,
        };
        priority as u8
    }

    /// That of urgent packets: the next one above other packets, if there is one.
    fn of_urgent(&self) -> u8 {
        (self.packets + 1).min(self.count() - 1) as u8
    }
}

/// The bytes that a link carries for a frame.
fn bytes_of(frame: &Frame) -> u32 {
    match frame {
        Frame::Data(packet) | Frame::Returned(packet) => (Header::BYTES + packet.payload.len()) as u32,
        Frame::Acknowledgement { .. } | Frame::Notice { .. } => Header::BYTES as u32,
    }
}

type Problems = Vec<(String, String)>;

/// What is wrong with the width and the latency of links.
fn value_problems(table: &str, width: Bytes, latency: Duration) -> Problems {
    let mut problems = Problems::new();
    if width.as_u64() == 0 {
        let message = "0B would carry nothing; at least 1B is needed";
        problems.push((format!("{table}.width"), message.into()));
    }
    if latency.is_zero() {
        let message = "0ps leaves the partitions of the simulation no lookahead; expected a time such as 1ns";
        problems.push((format!("{table}.latency"), message.into()));
    }
    problems
}

impl Config {
    /// Key and reason if packets may be lost, for what sends nothing again: a network without programs.
    pub fn loss_without_repair(&self) -> Option<(&'static str, String)> {
        let message = "\"drop\" loses packets, and a network alone has no flow control that sends them again: run a \
                       program; expected \"credits\" or \"pause\"";
        let key = "network.switches.backpressure.kind";
        self.switches.backpressure.loses().then(|| (key, message.into()))
    }

    /// What the switches of a machine with this many nodes have in common.
    pub fn plan(&self, nodes: u32) -> Plan {
        let stores = self.switches.switching == Switching::StoreAndForward;
        let lanes_per_priority = (self.links.lanes / self.priorities.count()) as u8;
        Plan {
            topology: self.topology.clone(),
            nodes,
            timings: self.timings(stores),
            switches: self.switches.clone(),
            lanes: self.links.lanes as u8,
            lanes_per_priority,
            route_lanes: self.route_lanes().min(lanes_per_priority),
            routes: self.routes,
        }
    }

    /// The lanes of each priority that routes need.
    fn route_lanes(&self) -> u8 {
        self.routes.lanes(self.topology.route_lanes())
    }

    fn timings(&self, stores: bool) -> Timings {
        Timings::new(&self.links, &self.topology.link_kinds(), self.switches.delay, stores)
    }

    fn link_problems(&self) -> Problems {
        let lanes = self.links.lanes;
        let mut problems = self.kind_problems();
        problems.extend(value_problems("links", self.links.width, self.links.latency));
        let known = |&(_, priority): &(&str, u32)| priority > 7;
        if let Some((key, priority)) = self.priorities.all().into_iter().find(known) {
            problems.push((format!("priorities.{key}"), format!("{priority} is not from 0 to 7")));
            return problems;
        }
        let priorities = self.priorities.count();
        if lanes < priorities {
            let message = format!(
                "{lanes} is fewer than the {priorities} priorities (network.priorities), which need a lane each"
            );
            problems.push(("links.lanes".into(), message));
        } else if !lanes.is_multiple_of(priorities) || lanes > 64 {
            let message = format!(
                "{lanes} is not a multiple, up to 64, of the {priorities} priorities (network.priorities)"
            );
            problems.push(("links.lanes".into(), message));
        } else {
            let (own, needed) = (lanes / priorities, u32::from(self.route_lanes()));
            if own < needed && self.routes != Routes::Minimal {
                let (routes, why) = match self.routes {
                    Routes::Adaptive => ("with adaptive routes", "one beside those of the topology's own"),
                    _ => ("with detours", "those of one shortest way, twice"),
                };
                let message = format!(
                    "{lanes} gives each of {priorities} priorities {own} lanes; {routes} (network.routes) its routes need \
                     {needed}: {why}"
                );
                problems.push(("links.lanes".into(), message));
            }
            if own > needed && !own.is_multiple_of(needed) {
                let message = format!(
                    "{lanes} gives each of {priorities} priorities {own} lanes; expected a multiple of the {needed} that its \
                     routes need"
                );
                problems.push(("links.lanes".into(), message));
            }
        }
        problems
    }

    /// Whether switches stop their senders at once, and do not wait until a parcel leaves.
    fn pauses(&self) -> bool {
        let backpressure = &self.switches.backpressure;
        !backpressure.counts_room() && !backpressure.loses()
    }

    /// What is wrong with the routes.
    fn route_problem(&self) -> Option<(String, String)> {
        if self.routes != Routes::Adaptive {
            return None;
        }
        let message = if !self.topology.knows_nearer() {
            "\"adaptive\" needs a mesh, a torus or a hyperx (network.topology.kind); a fat tree has ascent = \"adaptive\" and \
             a wiring choice = \"adaptive\""
        } else if self.pauses() {
            "\"adaptive\" keeps room behind a link for a packet, and with \"pause\" \
             (network.switches.backpressure.kind) no sender knows what room there is; expected \"credits\" or \"drop\""
        } else {
            return None;
        };
        Some(("routes".into(), message.into()))
    }

    /// What is wrong with the switches.
    fn switch_problems(&self) -> Problems {
        let switch::Config { buffer, input_ways, output_queues, backpressure, marking, .. } = &self.switches;
        let mut problems = Problems::new();
        let mut wrong = |key: &str, message: String| problems.push((format!("switches.{key}"), message));
        if buffer.as_u64() > u64::from(u32::MAX / 2) {
            wrong("buffer", format!("{buffer} is more than 2GB"));
        }
        if let Some(ways) = input_ways.filter(|ways| !(1..=64).contains(ways)) {
            wrong("input_ways", format!("{ways} is not from 1 to 64"));
        }
        if let Some(OutputQueues { buffer, speed_up }) = output_queues {
            if buffer.as_u64() > u64::from(u32::MAX / 2) {
                wrong("output_queues.buffer", format!("{buffer} is more than 2GB"));
            }
            if !(1..=16).contains(speed_up) {
                wrong("output_queues.speed_up", format!("{speed_up} is not from 1 to 16"));
            }
        }
        for (key, message) in backpressure.problems() {
            wrong(&format!("backpressure.{key}"), message);
        }
        for (key, message) in marking.iter().flat_map(Marking::problems) {
            wrong(&format!("marking.{key}"), message);
        }
        problems
    }

    /// What is wrong with what links of a kind have of their own.
    fn kind_problems(&self) -> Problems {
        let known = self.topology.link_kinds();
        let mut problems = Problems::new();
        for name in self.links.kinds.keys() {
            let key = format!("links.kinds.{name}");
            if !known.contains(name) {
                let hint = did_you_mean(name, known.iter().map(|known| &**known));
                let known = known.join(", ");
                problems.push((key, format!("the topology has no links of this kind; it has {known}{hint}")));
                continue;
            }
            let (width, latency) = self.links.of_kind(name);
            problems.extend(value_problems(&key, width, latency));
        }
        problems
    }

    fn size_problem(&self, around: &NetworkContext) -> Option<(String, String)> {
        let (places, nodes) = (self.topology.places(), around.nodes);
        (places < nodes.into()).then(|| {
            let message =
                format!("leaves room for {places} nodes, and the machine has {nodes} (machine.nodes)");
            (format!("topology.{}", self.topology.size_key()), message)
        })
    }

    fn circle_problem(&self, around: &NetworkContext) -> Option<(String, String)> {
        if self.switches.backpressure.loses() {
            // Nothing waits for room.
            return None;
        }
        let lanes = self.routes.lanes_of_topology(self.plan(around.nodes).route_lanes);
        let circle = routes::circle(&self.topology, around.nodes, lanes)?;
        let (priorities, needed) = (self.priorities.count(), self.route_lanes());
        let message = format!(
            "{} for {priorities} priorities is too few: packets would wait for each other in a circle; expected at \
             least {}, as the routes need {needed} lanes of each priority. The circle: {}",
            self.links.lanes,
            priorities * u32::from(needed),
            routes::in_words(&self.topology, &circle)
        );
        Some(("links.lanes".into(), message))
    }
}

impl Parameters for Config {
    fn problems(&self, around: &NetworkContext) -> Problems {
        let of_topology = self.topology.problems().into_iter();
        let mut problems: Problems =
            of_topology.map(|(key, message)| (format!("topology.{key}"), message)).collect();
        problems.extend(self.link_problems());
        problems.extend(self.packet_problem(around.packet_bytes, "messages.packet"));
        problems.extend(self.route_problem());
        problems.extend(self.switch_problems());
        if problems.is_empty() {
            problems.extend(self.size_problem(around));
        }
        if problems.is_empty() {
            problems.extend(self.circle_problem(around));
        }
        problems
    }

    fn warnings(&self) -> Problems {
        let of_topology = self.topology.warnings().into_iter();
        of_topology.map(|(key, message)| (format!("topology.{key}"), message)).collect()
    }

    fn packet_problem(&self, bytes: u64, because_of: &str) -> Option<(String, String)> {
        let switch::Config { buffer, output_queues, backpressure, .. } = &self.switches;
        let too_small = |buffer: Bytes| {
            (buffer.as_u64() < bytes).then(|| {
                format!("{buffer} is smaller than a packet of {bytes}B ({because_of}), which must fit")
            })
        };
        if let Some(message) = too_small(*buffer) {
            return Some(("switches.buffer".into(), message));
        }
        if let Some(message) = output_queues.and_then(|queues| too_small(queues.buffer)) {
            return Some(("switches.output_queues.buffer".into(), message));
        }
        let (least, why) = backpressure.least_buffer(bytes, self.timings(false).round_trip_bytes());
        (buffer.as_u64() < least).then(|| {
            let message = format!("{buffer} is too small for packets of {bytes}B ({because_of}); expected at least {least}B: {why}");
            ("switches.buffer".into(), message)
        })
    }

    fn loses(&self) -> bool {
        self.switches.backpressure.loses()
    }

    fn lookahead(&self) -> Duration {
        self.timings(false).lookahead(Header::BYTES as u32)
    }

    fn hops(&self) -> Option<Hops> {
        let timings = self.timings(self.switches.switching == Switching::StoreAndForward);
        let mut hops = timings.hops(Header::BYTES as u32);
        let told = timings.told();
        if self.pauses() || self.routes == Routes::UgalG {
            hops.between_switches = hops.between_switches.min(told);
        }
        if self.pauses() {
            hops.to_node = hops.to_node.min(told);
        }
        Some(hops)
    }

    fn build(&self, own: NodeId, around: &NetworkContext) -> Box<dyn Network> {
        let plan = Arc::new(self.plan(around.nodes));
        Box::new(Switched { terminal: Terminal::new(own, &plan, around.seed), priorities: self.priorities })
    }

    fn switches(&self, around: &NetworkContext) -> Vec<Switch<Frame>> {
        let plan = Arc::new(self.plan(around.nodes));
        (0..plan.topology.switches()).map(|number| Switch::new(number, &plan)).collect()
    }
}

/// One node's end of a network of switches.
struct Switched {
    terminal: Terminal<Frame>,
    priorities: Priorities,
}

impl Network for Switched {
    fn send(&mut self, now: Time, destination: NodeId, frame: Frame) -> Option<Sending<Frame>> {
        self.terminal.hand_over(now, destination, bytes_of(&frame), self.priorities.of(&frame), frame);
        None
    }

    fn has_urgent_room(&self) -> bool {
        self.terminal.has_room_from(self.priorities.of_urgent())
    }

    fn terminal(&self) -> Option<&Terminal<Frame>> {
        Some(&self.terminal)
    }

    fn terminal_mut(&mut self) -> Option<&mut Terminal<Frame>> {
        Some(&mut self.terminal)
    }
}

impl Archived for Switched {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Switched { terminal, priorities: _ } = self;
        terminal.archive(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network of links of 4 ns and switches of 8 ns that store, with these parts.
    fn network(topology: &str, routes: &str, lanes: u32, backpressure: &str) -> Config {
        let text = format!(
            r#"{{"topology": {topology}, "routes": "{routes}",
            "links": {{"width": "4B", "clock": "100MHz", "latency": "4ns", "lanes": {lanes}}},
            "switches": {{"switching": "store-and-forward", "delay": "8ns", "buffer": "2KiB", "queues": "single",
                          "arbitration": "age", "backpressure": {backpressure}}},
            "priorities": {{"packets": 0, "acknowledgements": 0, "returned_packets": 0}}}}"#
        );
        serde_json::from_str(&text).expect("a network")
    }

    const MESH: &str = r#"{"kind": "mesh", "dimensions": [4, 4]}"#;
    const TREE: &str = r#"{"kind": "fat-tree", "arity": 4, "levels": 2, "ascent": "random"}"#;
    const CREDITS: &str = r#"{"kind": "credits"}"#;
    const PAUSE: &str = r#"{"kind": "pause", "above": "256B", "below": "128B"}"#;

    #[test]
    fn adaptive_routes_need_several_shortest_ways_a_lane_and_switches_that_count_room() {
        let around = NetworkContext { nodes: 16, in_one_partition_from: 16, packet_bytes: 256, seed: 1 };
        let problems = |topology, lanes, backpressure| {
            network(topology, "adaptive", lanes, backpressure).problems(&around)
        };
        let only = |problems: Problems, key: &str, says: &str| {
            let [(wrong, message)] = &problems[..] else { panic!("{problems:?}") };
            assert!(wrong == key && message.contains(says), "{wrong}: {message}");
        };
        assert_eq!(problems(MESH, 2, CREDITS), []);
        only(problems(TREE, 2, CREDITS), "routes", "needs a mesh, a torus or a hyperx");
        only(problems(MESH, 2, PAUSE), "routes", "no sender knows what room there is");
        let few =
            "with adaptive routes (network.routes) its routes need 2: one beside those of the topology's own";
        only(problems(MESH, 1, CREDITS), "links.lanes", few);
    }

    #[test]
    fn what_switches_tell_at_once_is_heard_before_a_parcel_has_left() {
        let hops = |routes, backpressure| {
            let hops = network(MESH, routes, 2, backpressure).hops().expect("switches");
            (hops.between_switches, hops.to_node)
        };
        let (told, parcel) = (Duration::from_ns(4 + 8), Duration::from_ns(20));
        assert_eq!(hops("minimal", CREDITS), (told + parcel, told + parcel - Duration::from_ns(8)));
        assert_eq!(hops("minimal", PAUSE), (told, told));
        assert_eq!(hops("ugal-g", CREDITS), (told, told + parcel - Duration::from_ns(8)));
    }
}
