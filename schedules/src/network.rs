//! A wire in which messages meet: the network of a machine, with a rank on each node.
//!
//! ```text
//!   o_s ends ─ L less the fit's way ─► packets ─► node's link ─► switches ─► node ─► o_r
//! ```
//!
//! **From the fit** come the overheads, the gap, and the part of the latency that is not the network:
//! L(k) less the time that the last packet of such a message takes from the first node to the second
//! one without load, since these two were measured. If that is below zero, a packet
//! leaves before its sender is through, never before it has begun.
//!
//! **From the network** come the packets' ways: which links, and what they meet there. A message is as many
//! packets as its bytes need; they leave a gap's bytes apart, the last one when the message of the fit does.
//! It has arrived when all of them have. So without load the two nodes of the fit take its time, as long as
//! the gap is not shorter than a link takes for a packet.
//!
//! Flow control, its acknowledgements, and the answer of a rendezvous are not in the network.
//!
//! Switches and the nodes' ends are those of [`narthex_fabrics`]. Instead of the kernel's windows, they
//! have turns among the executor's events, since a rank's next message depends on the last one's arrival:
//! what happens at an instant in one of them happens at one event.

use std::sync::Arc;

use narthex_fabrics::switch::{Plan, Switch};
use narthex_fabrics::terminal::Terminal;
use narthex_fabrics::topologies::Topology;
use narthex_fabrics::{Mail, NodeId};
use narthex_kernel::partition::{Envelope, Outbox, Partition};
use narthex_kernel::{Duration, Time};

use crate::Problem;
use crate::executor::wire::{Event, Events, Message, What, Wire};
use crate::parameters::Parameters;
use crate::schedule::{Kind, Schedule};

/// The network of a machine.
#[derive(Clone, Debug)]
pub struct Carrier {
    /// Its links, switches and routes, with as many nodes as there are ranks.
    pub plan: Arc<Plan>,
    /// Where random streams start.
    pub seed: u64,
    /// The payload of the largest packet.
    pub payload_bytes: u64,
    /// What each packet has besides.
    pub header_bytes: u64,
}

/// A packet of a message.
#[derive(Debug)]
struct Cargo {
    message: Message,
    /// How many the message has.
    packets: u32,
}

/// What is to happen.
enum Pending {
    /// A packet leaves its interface, and so many more will.
    HandOver(Message, u32),
    /// Something comes to a node.
    Mail(usize, Mail<Cargo>),
    /// A node's link is free.
    LinkFree(usize),
    /// A switch has something to do.
    Turn(usize),
}

/// The network while it carries the messages of a schedule.
pub(crate) struct Network<'a> {
    carrier: &'a Carrier,
    schedule: &'a Schedule,
    /// Between the packets of a message, in picoseconds.
    spacing_ps: u64,
    terminals: Vec<Terminal<Cargo>>,
    switches: Vec<Switch<Cargo>>,
    /// Of nodes, then of switches.
    outboxes: Vec<Outbox<Mail<Cargo>>>,
    /// When each switch has its next turn.
    turns: Vec<u64>,
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// Of each send that has several packets: how many have arrived.
    arrived: Vec<u32>,
    /// What a switch or a node has just sent.
    sent: Vec<Envelope<Mail<Cargo>>>,
}

impl<'a> Network<'a> {
    /// The network without messages.
    ///
    /// # Errors
    /// If a message has more packets than can be counted.
    pub fn new(
        carrier: &'a Carrier,
        schedule: &'a Schedule,
        parameters: &Parameters,
    ) -> Result<Self, Problem> {
        let most = carrier.payload_bytes * u64::from(u32::MAX);
        let is_longer = |rank: &u32| {
            let mut sends = schedule.shape(*rank).operations().iter();
            sends.any(|own| own.kind == Kind::Send && own.size > most)
        };
        if let Some(rank) = (0..schedule.ranks()).find(is_longer) {
            return Err(Problem::new(format!(
                "rank {rank} sends a message of more than {most} bytes, which has more packets than the network counts"
            )));
        }
        let Carrier { plan, seed, .. } = carrier;
        let (nodes, switches) = (plan.nodes as usize, plan.topology.switches());
        let outbox = |partition| Outbox::new(partition);
        Ok(Network {
            carrier,
            schedule,
            spacing_ps: (parameters.gap.per_byte_ns * carrier.payload_bytes as f64 * 1e3).max(0.0).round()
                as u64,
            terminals: (0..nodes).map(|node| Terminal::new(NodeId(node as u16), plan, *seed)).collect(),
            switches: (0..switches).map(|number| Switch::new(number, plan)).collect(),
            outboxes: (0..nodes + switches as usize).map(outbox).collect(),
            turns: vec![u64::MAX; switches as usize],
            pending: Vec::new(),
            free: Vec::new(),
            arrived: vec![0; schedule.operations() as usize],
            sent: Vec::new(),
        })
    }

    fn packets(&self, message: &Message) -> u32 {
        message.bytes.div_ceil(self.carrier.payload_bytes).max(1) as u32
    }

    /// What a link carries for a packet, of which so many follow.
    fn packet_bytes(&self, message: &Message, following: u32) -> u32 {
        let before = u64::from(self.packets(message) - 1 - following) * self.carrier.payload_bytes;
        ((message.bytes - before).min(self.carrier.payload_bytes) + self.carrier.header_bytes) as u32
    }

    fn expect(&mut self, at: u64, pending: Pending, events: &mut Events) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.pending.push(None);
            self.pending.len() as u32 - 1
        });
        self.pending[place as usize] = Some(pending);
        events.push(at, Event { rank: 0, operation: place, sender: 0, what: What::Wire });
    }

    fn hand_over(&mut self, now: u64, message: Message, following: u32, events: &mut Events) {
        let (bytes, packets) = (self.packet_bytes(&message, following), self.packets(&message));
        let node = message.sender as usize;
        let destination = NodeId(message.receiver as u16);
        self.terminals[node].hand_over(Time::from_ps(now), destination, bytes, 0, Cargo { message, packets });
        if following > 0 {
            let next = Pending::HandOver(message, following - 1);
            self.expect(now.saturating_add(self.spacing_ps), next, events);
        }
        self.inject(now, node, events);
    }

    fn inject(&mut self, now: u64, node: usize, events: &mut Events) {
        let outbox = &mut self.outboxes[node];
        let mut send = |(arrival, partition, mail)| outbox.send(arrival, partition, mail);
        let free_at = self.terminals[node].inject(Time::from_ps(now), &mut send);
        if let Some(at) = free_at {
            self.expect(at.as_ps(), Pending::LinkFree(node), events);
        }
        self.deliver(node, events);
    }

    /// Something comes to a node: a packet, which it takes at once, or room behind its link.
    fn receive(&mut self, now: u64, node: usize, mail: Mail<Cargo>, events: &mut Events) {
        match mail {
            Mail::Parcel { parcel, .. } => {
                let time = Time::from_ps(now);
                self.terminals[node].expect(parcel);
                let (parcel, credit) = self.terminals[node].arrive(time);
                let (at, partition, mail) = self.terminals[node].release(time, credit);
                self.outboxes[node].send(at, partition, mail);
                self.arrive(now, parcel.cargo, events);
            }
            Mail::Credit(credit) => self.terminals[node].credit(credit),
            _ => unreachable!("a node behind a switch gets parcels and credits"),
        }
        self.inject(now, node, events);
    }

    fn arrive(&mut self, now: u64, Cargo { message, packets }: Cargo, events: &mut Events) {
        let place = self.schedule.first(message.sender) + message.operation as usize;
        self.arrived[place] += 1;
        if self.arrived[place] == packets {
            events.push(now, message.arrived());
        }
    }

    /// Delivers what a partition has sent.
    fn deliver(&mut self, partition: usize, events: &mut Events) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.extend(self.outboxes[partition].drain());
        for envelope in sent.drain(..) {
            let (at, nodes) = (envelope.arrival.as_ps(), self.terminals.len());
            match envelope.destination.checked_sub(nodes) {
                None => self.expect(at, Pending::Mail(envelope.destination, envelope.payload), events),
                Some(switch) => {
                    self.switches[switch].deliver(envelope);
                    self.plan_turn(switch, at, events);
                }
            }
        }
        self.sent = sent;
    }

    fn plan_turn(&mut self, switch: usize, at: u64, events: &mut Events) {
        if at < self.turns[switch] {
            self.turns[switch] = at;
            self.expect(at, Pending::Turn(switch), events);
        }
    }

    /// Does all that happens in a switch at this instant.
    fn turn(&mut self, now: u64, switch: usize, events: &mut Events) {
        if self.turns[switch] != now {
            return;
        }
        self.turns[switch] = u64::MAX;
        let partition = self.terminals.len() + switch;
        let until = Time::from_ps(now) + Duration::from_ps(1);
        let outbox = std::mem::replace(&mut self.outboxes[partition], Outbox::new(partition));
        self.outboxes[partition] = outbox.with_end(until);
        self.switches[switch].advance(&mut self.outboxes[partition]);
        self.deliver(partition, events);
        if let Some(next) = self.switches[switch].next_time() {
            self.plan_turn(switch, next.as_ps(), events);
        }
    }
}

impl Wire for Network<'_> {
    fn send(
        &mut self,
        message: Message,
        (begin, end): (u64, u64),
        latency: i64,
        events: &mut Events,
    ) -> bool {
        let last_bytes = self.packet_bytes(&message, 0);
        let second = NodeId(u16::from(self.terminals.len() > 1));
        let fitted = self.carrier.plan.zero_load(NodeId(0), second, last_bytes).as_ps();
        let rest = latency.saturating_sub_unsigned(fitted);
        let last = end.saturating_add_signed(rest).max(begin);
        let following = self.packets(&message) - 1;
        let first = last.saturating_sub(self.spacing_ps.saturating_mul(u64::from(following))).max(begin);
        self.expect(first, Pending::HandOver(message, following), events);
        true
    }

    fn take(&mut self, now: u64, event: Event, events: &mut Events) {
        let pending = self.pending[event.operation as usize].take();
        self.free.push(event.operation);
        match pending {
            Some(Pending::HandOver(message, following)) => self.hand_over(now, message, following, events),
            Some(Pending::Mail(node, mail)) => self.receive(now, node, mail, events),
            Some(Pending::LinkFree(node)) => self.inject(now, node, events),
            Some(Pending::Turn(switch)) => self.turn(now, switch, events),
            None => unreachable!("an event has something pending"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{execute, execute_over};
    use crate::parameters::Line;
    use crate::text;
    use narthex_fabrics::networks::switched::Config;
    use serde_json::json;

    /// Links of 4 bytes in 10 ns and 4 ns long, switches of 8 ns, packets of 8 + 56 bytes.
    fn carrier(dimensions: &[u32]) -> Carrier {
        let config: Config = serde_json::from_value(json!({
            "topology": { "kind": "mesh", "dimensions": dimensions },
            "links": { "width": "4B", "clock": "100MHz", "latency": "4ns", "lanes": 2 },
            "switches": {
                "switching": "virtual-cut-through", "delay": "8ns", "buffer": "512B", "queues": "single",
                "arbitration": "round-robin",
            },
            "priorities": { "packets": 0, "acknowledgements": 1, "returned_packets": 1 },
        }))
        .unwrap();
        let plan = Arc::new(config.plan(dimensions.iter().product()));
        Carrier { plan, seed: 1, payload_bytes: 56, header_bytes: 8 }
    }

    const PARAMETERS: Parameters = Parameters {
        latency: Line { first_ns: 300.0, per_byte_ns: 1.0 },
        send_overhead: Line { first_ns: 50.0, per_byte_ns: 3.0 },
        receive_overhead: Line { first_ns: 20.0, per_byte_ns: 0.5 },
        gap: Line { first_ns: 60.0, per_byte_ns: 3.0 },
        eager_bytes: u64::MAX,
        calculation_scale: 1.0,
    };

    fn schedule(ranks: &[&str]) -> Schedule {
        let all = ranks.iter().enumerate().map(|(rank, own)| format!("rank {rank} {{\n{own}\n}}\n"));
        text::read(format!("num_ranks {}\n{}", ranks.len(), all.collect::<String>()).as_bytes()).unwrap()
    }

    fn finish_ps(schedule: &Schedule, carrier: &Carrier) -> Vec<u64> {
        let network = Network::new(carrier, schedule, &PARAMETERS).unwrap();
        execute_over(schedule, &PARAMETERS, network, &mut (), &mut |_, _| true).unwrap().finish_ps
    }

    #[test]
    fn the_two_nodes_of_the_fit_take_its_time_and_farther_ones_the_links_and_switches_more() {
        let carrier = carrier(&[4]);
        for bytes in [0, 1, 56, 57, 200, 5_000] {
            let two = schedule(&[&format!("send {bytes}b to 1"), &format!("recv {bytes}b from 0"), "", ""]);
            let fitted = execute(&two, &PARAMETERS, &mut |_, _| true).unwrap().finish_ps;
            assert_eq!(finish_ps(&two, &carrier), fitted, "{bytes} bytes");
        }
        let near = schedule(&["send 8b to 1", "recv 8b from 0", "", ""]);
        let far = schedule(&["send 8b to 3", "", "", "recv 8b from 0"]);
        let [near, far] =
            [&near, &far].map(|schedule| finish_ps(schedule, &carrier).into_iter().max().unwrap());
        assert_eq!(far, near + 2 * 12_000);
    }

    #[test]
    fn messages_that_need_one_link_wait_for_each_other() {
        let carrier = carrier(&[4]);
        // Both go over the link from node 1 to node 2, which takes 160 ns for each; they come there
        // at the same time but for one switch and one link.
        let ranks = ["send 56b to 2", "send 56b to 3", "recv 56b from 0", "recv 56b from 1"];
        let alone = ["send 56b to 2", "", "recv 56b from 0", ""];
        let [both, alone] = [&ranks, &alone].map(|ranks| finish_ps(&schedule(ranks), &carrier));
        assert_eq!(both[2], alone[2] + 160_000 - 12_000);
        let fitted = execute(&schedule(&ranks), &PARAMETERS, &mut |_, _| true).unwrap().finish_ps;
        assert_eq!(fitted[2], fitted[3], "the fitted model has no links");
    }

    #[test]
    fn a_rank_may_send_to_itself() {
        let own = schedule(&["send 8b to 0\nrecv 8b from 0", ""]);
        // The way through one switch is shorter than the fit's by one link and one switch.
        let fitted = execute(&own, &PARAMETERS, &mut |_, _| true).unwrap().finish_ps;
        assert_eq!(finish_ps(&own, &carrier(&[2])), [fitted[0] - 12_000, 0]);
    }
}
