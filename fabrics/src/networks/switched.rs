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

use super::{Network, Parameters, Surroundings};
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
        self.topology.route_lanes() * self.routes.phases()
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
                let message = format!(
                    "{lanes} gives each of {priorities} priorities {own} lanes; with detours (network.routes) its routes need \
                     {needed}: those of one shortest way, twice"
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

    fn size_problem(&self, around: &Surroundings) -> Option<(String, String)> {
        let (places, nodes) = (self.topology.places(), around.nodes);
        (places < nodes.into()).then(|| {
            let message =
                format!("leaves room for {places} nodes, and the machine has {nodes} (machine.nodes)");
            (format!("topology.{}", self.topology.size_key()), message)
        })
    }

    fn circle_problem(&self, around: &Surroundings) -> Option<(String, String)> {
        if self.switches.backpressure.loses() {
            // Nothing waits for room.
            return None;
        }
        let lanes = self.plan(around.nodes).route_lanes / self.routes.phases();
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
    fn problems(&self, around: &Surroundings) -> Problems {
        let of_topology = self.topology.problems().into_iter();
        let mut problems: Problems =
            of_topology.map(|(key, message)| (format!("topology.{key}"), message)).collect();
        problems.extend(self.link_problems());
        problems.extend(self.packet_problem(around.packet_bytes, "messages.packet"));
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
        let too_small = |buffer: Bytes| (buffer.as_u64() < bytes).then(|| {
            format!("{buffer} is smaller than a packet of {bytes}B ({because_of}), which must fit")
        });
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
        Some(self.timings(self.switches.switching == Switching::StoreAndForward).hops(Header::BYTES as u32))
    }

    fn build(&self, own: NodeId, around: &Surroundings) -> Box<dyn Network> {
        let plan = Arc::new(self.plan(around.nodes));
        Box::new(Switched { terminal: Terminal::new(own, &plan, around.seed), priorities: self.priorities })
    }

    fn switches(&self, around: &Surroundings) -> Vec<Switch<Frame>> {
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
