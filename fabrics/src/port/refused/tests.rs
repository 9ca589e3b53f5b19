//! Attempts that are computed do what frames do, to the instant and in the same order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narthex_kernel::{Duration, Time};
use proptest::prelude::*;

use super::*;
use crate::flow_control::return_to_sender::{Buffers, Config, Retries};
use crate::flow_control::{self, Arrival, Statistics};
use crate::message_sizes::MessageSizes;
use crate::networks::{self, NetworkContext, ideal};
use crate::packet::Header;
use crate::parcel::Mail;
use crate::port::NetworkPort;

const PLACEMENT: Placement = Placement { nodes: 3, processes: 2 };
/// Two ways and the delay make a period of 160 ns.
const LATENCY_NS: u64 = 40;
const RETRY_NS: u64 = 80;

fn at(nanoseconds: u64) -> Time {
    Time::from_ps(nanoseconds * 1_000)
}

/// What a program of the little machine does at an instant.
#[derive(Clone, Copy, Debug)]
enum Action {
    Send {
        from: u16,
        to: u16,
    },
    Take {
        own: u16,
    },
    /// It looks how often its packets have come back.
    Look {
        own: u16,
    },
}

/// What happens at a node.
#[derive(Debug)]
enum NodeEvent {
    Frame(Frame, Phase),
    Attempt(Attempt),
    Retry,
    Act(Action),
}

/// What is next: when, at which node, whether it is the node's own, its place among the
/// others of the instant, and its place in the list.
type Next = Reverse<(Time, usize, bool, ArrivalOrder, usize)>;

/// The nodes' ports and what is to come, in the order of the machine's event queues: what
/// arrives before what is a node's own.
struct World {
    ports: Vec<NetworkPort>,
    queue: BinaryHeap<Next>,
    happenings: Vec<Option<NodeEvent>>,
    /// Which packets were accepted and taken, when, and where a sender got room.
    log: Vec<(Time, usize, String)>,
    frames: u64,
}

impl World {
    fn new(buffers: u32, computes: bool) -> Self {
        let config = Config {
            buffers: Buffers::Count(buffers),
            retry_delay: Duration::from_ns(RETRY_NS),
            retries: Retries::Independent,
        };
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(LATENCY_NS) });
        let around = NetworkContext {
            nodes: PLACEMENT.nodes.into(),
            in_one_partition_from: PLACEMENT.nodes.into(),
            seed: 0,
            packet_bytes: 64,
        };
        let port = |own: u16| {
            let flow = flow_control::Config::ReturnToSender(config.clone()).build(PLACEMENT);
            let mut port =
                NetworkPort::new(NodeId(own), PLACEMENT, flow, network.build(NodeId(own), &around), 8);
            if computes {
                port.compute_attempts();
            }
            port
        };
        let (ports, queue) = ((0..PLACEMENT.nodes).map(port).collect(), BinaryHeap::new());
        World { ports, queue, happenings: Vec::new(), log: Vec::new(), frames: 0 }
    }

    fn arrives(&mut self, time: Time, node: usize, place: ArrivalOrder, happening: NodeEvent) {
        self.insert((time, node, false, place), happening);
    }

    fn happens(&mut self, time: Time, node: usize, happening: NodeEvent) {
        self.insert((time, node, true, (NodeId(0), self.happenings.len() as u64)), happening);
    }

    fn insert(&mut self, (time, node, own, place): (Time, usize, bool, ArrivalOrder), what: NodeEvent) {
        self.queue.push(Reverse((time, node, own, place, self.happenings.len())));
        self.happenings.push(Some(what));
    }

    /// Everything before `until`.
    fn run(&mut self, until: Time) {
        while let Some(&Reverse((now, node, .., place))) = self.queue.peek().filter(|next| next.0.0 < until) {
            self.queue.pop();
            let Some(happening) = self.happenings[place].take() else { continue };
            match happening {
                NodeEvent::Frame(frame, phase) => {
                    let arrival = self.ports[node].arrive(now, frame, phase);
                    self.arrived(now, node, arrival);
                }
                NodeEvent::Attempt(attempt) => {
                    let arrival = self.ports[node].attempt(attempt);
                    self.arrived(now, node, arrival);
                }
                NodeEvent::Retry => self.ports[node].retry(now),
                NodeEvent::Act(action) => self.act(now, node, action),
            }
            self.depart(now, node);
            self.ports[node].end_step();
        }
    }

    /// Some packets are taken as soon as they are there.
    fn arrived(&mut self, now: Time, node: usize, arrival: Arrival) {
        if arrival.room {
            self.log.push((now, node, "room".into()));
        }
        if let Some(process) = arrival.packet {
            self.log.push((now, node, format!("accepted for {process}")));
            let port = self.ports[node].of_process(process);
            if port.front().is_some_and(|packet| packet.sequence % 3 == 2) {
                let own = port.own().0;
                self.act(now, node, Action::Take { own });
            }
        }
    }

    fn act(&mut self, now: Time, node: usize, action: Action) {
        match action {
            Action::Send { from, to } => {
                let mut port = self.ports[node].of_process(PLACEMENT.process(Rank(from)));
                if port.can_send(Rank(to)) {
                    port.send(Header(u64::from(to) | 1 << 61), Vec::new());
                }
            }
            Action::Look { .. } => {
                self.ports[node].count_rounds(now);
                let Statistics { returned, retried, .. } = self.ports[node].statistics();
                self.log.push((
                    now,
                    node,
                    format!("{} came back, {} sent again", returned.get(), retried.get()),
                ));
            }
            Action::Take { own } => {
                let taken = self.ports[node].of_process(PLACEMENT.process(Rank(own))).take();
                if let Some(packet) = taken {
                    self.log.push((now, node, format!("taken {:?}", (packet.source, packet.sequence))));
                }
            }
        }
    }

    fn depart(&mut self, now: Time, node: usize) {
        let mut sent = Vec::new();
        let calls = self.ports[node].departures(now, |_, _| {}, |sending| sent.push(sending));
        for (arrival, destination, mail) in sent {
            let Mail::Direct(frame, phase) = mail else { panic!("{mail:?} over an ideal network") };
            let place = (NodeId(node as u16), frame.order(phase, self.frames));
            self.frames += 1;
            self.arrives(arrival, destination, place, NodeEvent::Frame(frame, phase));
        }
        if let Some(retry) = calls.retry_at {
            self.happens(retry, node, NodeEvent::Retry);
        }
        if let Some(attempt) = calls.attempt {
            self.arrives(attempt.at, node, attempt.place, NodeEvent::Attempt(attempt));
        }
    }

    /// As the machine does when it rests.
    fn disperse(&mut self, now: Time) {
        for receiver in 0..self.ports.len() {
            let packets = self.ports[receiver].disperse(now);
            for packet in packets {
                let sender = self.ports[receiver].sender(&packet);
                self.ports[usize::from(sender.0)].learn_of(now, &packet);
                let order = packet.order();
                let (node, arrival, place, frame, phase) = match packet {
                    RestoredPacket::Returning { arrival, packet } => {
                        let place = (NodeId(receiver as u16), order);
                        (usize::from(sender.0), arrival, place, Frame::Returned(packet), Phase::Arrival)
                    }
                    RestoredPacket::Coming { arrival, packet, .. } => {
                        (receiver, arrival, (sender, order), Frame::Data(packet), Phase::Retry)
                    }
                    RestoredPacket::Waiting { since, packet } => {
                        let sender = usize::from(sender.0);
                        self.ports[sender].wait_to_retry(since, packet);
                        self.depart(now, sender);
                        continue;
                    }
                };
                assert!(arrival >= now);
                self.arrives(arrival, node, place, NodeEvent::Frame(frame, phase));
            }
        }
        let before = Time::from_ps(now.as_ps() - 1);
        self.ports.iter_mut().for_each(|port| port.count_rounds(before));
        for happening in &mut self.happenings {
            happening.take_if(|happening| matches!(happening, NodeEvent::Attempt(_)));
        }
    }

    /// What can be seen when everything before `now` has happened, whether computed or not.
    fn seen(&mut self, now: Time) -> (Vec<(Time, usize, String)>, Vec<String>) {
        self.disperse(now);
        let state = |port: &NetworkPort| {
            let sizes: &MessageSizes = port.message_sizes();
            format!("{} {:?} {:?} {sizes:?}", port.state(), port.state(), port.occupancy())
        };
        (std::mem::take(&mut self.log), self.ports.iter().map(state).collect())
    }
}

fn action() -> impl Strategy<Value = Action> {
    let rank = || 0..PLACEMENT.ranks();
    prop_oneof![
        // Most packets go to node 2, which takes slowly.
        4 => (rank(), 4..6u16).prop_map(|(from, to)| Action::Send { from, to }),
        1 => (rank(), rank()).prop_map(|(from, to)| Action::Send { from, to }),
        3 => rank().prop_map(|own| Action::Take { own }),
        1 => rank().prop_map(|own| Action::Look { own }),
    ]
}

proptest! {
    /// Times are multiples of a quarter of the latency, so that much happens at one instant.
    #[test]
    fn attempts_are_the_same_whether_they_are_computed_or_frames(
        buffers in 2..4u32,
        actions in proptest::collection::vec((0..160u64, action()), 1..120),
        rests in proptest::collection::btree_set(1..180u64, 0..4),
    ) {
        let mut worlds = [false, true].map(|computes| World::new(buffers, computes));
        for world in &mut worlds {
            for &(step, action) in &actions {
                let (Action::Send { from: own, .. } | Action::Take { own } | Action::Look { own }) = action;
                // As a program that looks, when all that comes up to then has happened.
                let late = if matches!(action, Action::Look { .. }) { 5 } else { 0 };
                world.happens(at(10 * step + late), PLACEMENT.node(Rank(own)).0.into(), NodeEvent::Act(action));
            }
        }
        for rest in rests.into_iter().map(|step| at(10 * step)).chain([at(4_000)]) {
            let awaited = worlds.each_mut().map(|world| {
                world.run(rest);
                let computed = world.ports.iter().filter_map(|port| port.awaits(rest)).min();
                let waiting = world.queue.iter().filter(|next| {
                    !matches!(world.happenings[next.0.4], None | Some(NodeEvent::Act(_)))
                });
                waiting.map(|next| next.0.0).chain(computed).min()
            });
            prop_assert_eq!(awaited[0], awaited[1]);
            let [executed, computed] = worlds.each_mut().map(|world| world.seen(rest));
            prop_assert_eq!(executed, computed);
        }
        prop_assert!(worlds[1].frames <= worlds[0].frames);
    }
}

#[test]
fn a_refused_packet_costs_no_frame_until_it_is_accepted() {
    let mut worlds = [false, true].map(|computes| World::new(2, computes));
    for world in &mut worlds {
        world.happens(at(0), 0, NodeEvent::Act(Action::Send { from: 0, to: 4 }));
        world.happens(at(0), 1, NodeEvent::Act(Action::Send { from: 2, to: 4 }));
        // The second finds no buffer at 40, 200 ... 1,000 ns: what arrives comes before the take.
        world.happens(at(1_000), 2, NodeEvent::Act(Action::Take { own: 4 }));
        world.run(at(1_161));
    }
    let [executed, computed] = worlds.each_mut().map(|world| (world.seen(at(1_161)), world.frames));
    assert_eq!(executed.0, computed.0);
    assert_eq!(computed.0.0.last(), Some(&(at(1_160), 2, "accepted for 0".to_owned())));
    assert!(computed.0.1[1].contains("7 packets came back, 7 were sent again"), "{:?}", computed.0.1);
    assert_eq!((executed.1, computed.1), (18, 4));
    for world in &mut worlds {
        world.run(at(2_000));
        let states = world.seen(at(2_000)).1;
        let counts = ["0 packets came back, 0 were sent again", "7 packets came back, 7 were sent again"];
        assert!(states.iter().zip(counts).all(|(state, count)| state.contains(count)), "{states:?}");
    }
}
