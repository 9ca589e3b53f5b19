//! Which way a parcel takes, where there are several.
//!
//! Three things choose. The topology knows ports that lead to a destination equally well, and its
//! [`Choice`] picks one at each switch. A network can let each switch choose between all shortest
//! ways. And it can send parcels on detours: the load of a
//! pattern for which the shortest routes all meet is then spread over the whole network (Valiant,
//! "A Scheme for Fast Parallel Communication", 1982; Dally and Towles, Section 9.1).
//!
//! ```text
//!   source ── phase 0: shortest route ──► a random node's switch ── phase 1 ──► destination
//! ```
//!
//! | routes | a parcel goes |
//! | --- | --- |
//! | `minimal` | the shortest way |
//! | `adaptive` | a shortest way: at each switch through the port, of those that bring it nearer, for which the fewest bytes wait |
//! | `valiant` | by the switch of a random node, always |
//! | `ugal` | so where that promises less waiting: its first switch compares, for both ways, the bytes that wait for their first ports, times the switches of the way (Singh, "Load-Balanced Routing in Interconnection Networks", 2005, with what the switch itself knows: UGAL-L) |
//! | `ugal-g` | the same, with what waits for the second link of each way too, as the switch between them has told ([`super::told`]). In a dragonfly these are all global links of the own group (Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", 2008, Section 4.2: UGAL-G) |
//!
//! **Lanes of shortest ways.** Parcels that choose at each switch would wait for each other in a circle.
//! So there is one lane beside those of the topology's own routes, the adaptive one (Duato, "A New
//! Theory of Deadlock-Free Adaptive Routing in Wormhole Networks", 1993; Dally and Towles, Section
//! 14.3). A parcel chooses when its head is there, and takes the adaptive lane of a port only
//! where there is room behind it, which is kept for it from then on: so it waits for the link alone,
//! never for room. Where no port has any, it takes the topology's route, in the lane of that, and waits
//! there as if there were no other lanes. So all waiting for room is for lanes of the topology's
//! routes, in which there is no circle ([`crate::routes`]).
//!
//! **Lanes of detours.** Each phase has the lanes that the topology's routes need. A parcel of phase 0 waits for
//! lanes of both phases, one of phase 1 only for those of its own; where no circle is in one phase,
//! there is none in both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Plan, Switch};
use crate::packet::NodeId;
use crate::parcel::Parcel;
use crate::topologies::{Choice, Hop, Peer, Topology, path};

/// Whether parcels make detours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routes {
    /// They go the shortest way.
    #[default]
    Minimal,
    /// They go the shortest ways, at each switch where fewest bytes wait.
    Adaptive,
    /// They go by the switch of a random node.
    Valiant,
    /// They go so where fewer bytes wait on that way.
    Ugal,
    /// They go so where fewer bytes wait on the first two links of that way.
    UgalG,
}

impl Routes {
    /// Whether parcels may go by the switch of a random node.
    #[inline]
    pub fn makes_detours(self) -> bool {
        matches!(self, Routes::Valiant | Routes::Ugal | Routes::UgalG)
    }

    /// How many shortest ways a parcel goes, one behind the other.
    #[inline]
    fn phases(self) -> u8 {
        if self.makes_detours() { 2 } else { 1 }
    }

    /// Lanes that they need where the topology's routes need this many.
    pub fn lanes(self, of_topology: u8) -> u8 {
        of_topology * self.phases() + u8::from(self == Routes::Adaptive)
    }

    /// Lanes of the topology's routes among this many of its own.
    pub fn lanes_of_topology(self, lanes: u8) -> u8 {
        ((lanes - u8::from(self == Routes::Adaptive)) / self.phases()).max(1)
    }
}

impl Plan {
    /// Whether a parcel's choices need random bits.
    pub(crate) fn is_random(&self) -> bool {
        self.routes.makes_detours()
            || self.topology.choice() == Choice::Random
            || self.switches.marking.is_some()
    }

    /// The node to whose switch a new parcel goes first.
    pub(crate) fn first_towards(&self, (source, destination): (NodeId, NodeId), choice: u64) -> NodeId {
        let is_near = || self.topology.attachment(source).0 == self.topology.attachment(destination).0;
        if !self.routes.makes_detours() || is_near() {
            return destination;
        }
        NodeId((((choice >> 32) * u64::from(self.nodes)) >> 32) as u16)
    }

    /// The lane of a parcel behind a hop.
    #[inline]
    pub(crate) fn lane<C>(&self, parcel: &Parcel<C>, route_lane: u8) -> u8 {
        let phase_lanes = self.route_lanes / self.routes.phases();
        let is_last = parcel.towards == parcel.destination;
        let before = if self.routes.makes_detours() && is_last { phase_lanes } else { 0 };
        let within = parcel.group * self.route_lanes + before + route_lane.min(phase_lanes - 1);
        parcel.priority * self.lanes_per_priority + within
    }
}

impl<C> Switch<C> {
    /// What a parcel does next that has come through this port.
    pub(super) fn next_hop(&mut self, port: u16, parcel: &mut Parcel<C>) -> Hop {
        let Plan { topology, routes, .. } = &*self.plan;
        if *routes == Routes::Adaptive {
            return self.nearer_hop(parcel);
        }
        if *routes != Routes::Minimal && parcel.towards != parcel.destination {
            let is_reached = topology.attachment(parcel.towards).0 == self.number;
            let compares = *routes != Routes::Valiant && self.is_first(port);
            if is_reached || (compares && self.prefers_minimal(parcel)) {
                parcel.towards = parcel.destination;
            }
        }
        let alternatives = topology.alternatives(self.number, parcel.towards);
        let pick = match topology.choice() {
            _ if alternatives == 1 => 0,
            Choice::Deterministic => 0,
            Choice::Random => parcel.pick(alternatives),
            Choice::ByFlow => self.pick_of_flow(parcel, alternatives),
            Choice::Adaptive => self.pick_by_waiting(parcel, alternatives),
        };
        topology.route(self.number, parcel.towards, pick)
    }

    /// Of the ports that bring a parcel nearer and have room in their adaptive lane, the one for which
    /// the fewest bytes wait, the first of several; if none has, the topology's route.
    #[inline(never)]
    fn nearer_hop(&mut self, parcel: &mut Parcel<C>) -> Hop {
        let Plan { topology, route_lanes, .. } = &*self.plan;
        let route_lane = route_lanes - 1;
        let lane = self.plan.lane(parcel, route_lane);
        let mut best: Option<(u64, u16)> = None;
        topology.nearer(self.number, parcel.destination, &mut |port| {
            let waiting = self.waiting_for(port);
            let has_room = self.outputs[usize::from(port)].sender.has_room(lane, parcel.bytes);
            if has_room && best.is_none_or(|(fewest, _)| waiting < fewest) {
                best = Some((waiting, port));
            }
        });
        parcel.has_room = false;
        match best {
            None => topology.route(self.number, parcel.destination, 0),
            Some((_, port)) => {
                self.outputs[usize::from(port)].sender.keep_room(lane, parcel);
                Hop { port, lane: route_lane }
            }
        }
    }

    /// Whether a port leads to a node, so that what comes through it has just begun.
    fn is_first(&self, port: u16) -> bool {
        self.outputs[usize::from(port)].end.is_some_and(|(_, _, is_node)| is_node)
    }

    /// Whether less waits on the shortest way of a parcel than on its detour.
    fn prefers_minimal(&self, parcel: &Parcel<C>) -> bool {
        let topology = &self.plan.topology;
        let (own, destination) = (parcel.source, parcel.destination);
        let waits = |towards| {
            let port = topology.route(self.number, towards, 0).port;
            self.waiting_for(port) + self.waiting_behind(port, (towards, destination))
        };
        let switches = |from, to| path(topology, from, to).len() as u64;
        let minimal = waits(destination) * switches(own, destination);
        let detour = switches(own, parcel.towards) + switches(parcel.towards, destination) - 1;
        minimal <= waits(parcel.towards) * detour
    }

    /// Of ports that lead on equally well, the same one for all parcels between two nodes.
    fn pick_of_flow(&self, parcel: &Parcel<C>, alternatives: u32) -> u32 {
        let flow =
            u64::from(parcel.source.0) << 48 | u64::from(parcel.destination.0) << 32 | u64::from(self.number);
        // Fibonacci hashing: the high bits of a product with 2^64 over the golden ratio.
        let mixed = (flow ^ (flow >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (((mixed >> 32) * u64::from(alternatives)) >> 32) as u32
    }

    /// Of ports that lead on equally well, the one for which the fewest bytes wait; the first of
    /// several.
    fn pick_by_waiting(&self, parcel: &Parcel<C>, alternatives: u32) -> u32 {
        let port = |pick| self.plan.topology.route(self.number, parcel.towards, pick).port;
        (0..alternatives).min_by_key(|&pick| self.waiting_for(port(pick))).unwrap_or(0)
    }

    /// The bytes that wait for the second link of a way, if its switch tells: that behind this port, on
    /// the way towards a node and then to the destination.
    fn waiting_behind(&self, port: u16, (towards, destination): (NodeId, NodeId)) -> u64 {
        let topology = &self.plan.topology;
        let neighbours = self.further.as_ref().and_then(|further| further.neighbours.as_ref());
        let Some(neighbours) = neighbours else { return 0 };
        let Peer::Switch { switch: next, .. } = topology.peer(self.number, port) else { return 0 };
        let is_reached = topology.attachment(towards).0 == next;
        let second = topology.route(next, if is_reached { destination } else { towards }, 0).port;
        neighbours.waiting(port, second)
    }

    /// The bytes that wait for a port: here, and in the buffer behind its link.
    pub(super) fn waiting_for(&self, port: u16) -> u64 {
        let output = &self.outputs[usize::from(port)];
        output.waiting_bytes + output.sender.used_bytes(self.plan.buffer_bytes())
    }
}
