//! Networks of switches with nodes that do what a test tells them.

mod properties;
mod scenarios;

use std::collections::BTreeMap;

use narthex_kernel::partition::{Envelope, Partition, Status};
use narthex_kernel::simulation::{Ending, Limits, Simulation, Threads};
use narthex_kernel::{Archive, Archived, Bytes, Damage, Duration, Frequency};
use serde::{Deserialize, Serialize};

use super::*;
use crate::backpressure::{self, Backpressure};
use crate::link::{self, Timings};
use crate::packet::NodeId;
use crate::parcel::Sending;
use crate::terminal::Terminal;
use crate::topologies::{self, crossbar, mesh};

/// What a node hands over: when, to whom, how many bytes, with which priority, called what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    at: Time,
    to: u16,
    bytes: u32,
    priority: u8,
    name: u32,
}

/// What arrived: when, from whom, called what.
type Arrived = (Time, u16, u32);

/// A node of a test.
struct TestNode {
    terminal: Terminal<u32>,
    events: EventQueue<NodeEvent>,
    arrived: Vec<Arrived>,
    /// It gives no room back before.
    holds_until: Time,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum NodeEvent {
    HandOver { to: u16, bytes: u32, priority: u8, name: u32 },
    Inject,
    Arrive,
    Credit(Credit),
    Release(Credit),
}

impl TestNode {
    fn handle(&mut self, now: Time, event: NodeEvent, outbox: &mut Outbox<Mail<u32>>) {
        let mut send = |(arrival, partition, mail): Sending<u32>| outbox.send(arrival, partition, mail);
        match event {
            NodeEvent::HandOver { to, bytes, priority, name } => {
                self.terminal.hand_over(now, NodeId(to), bytes, priority, name);
            }
            NodeEvent::Inject => {}
            NodeEvent::Credit(credit) => self.terminal.credit(credit),
            NodeEvent::Release(credit) => send(self.terminal.release(now, credit)),
            NodeEvent::Arrive => {
                let (parcel, credit) = self.terminal.arrive(now);
                self.arrived.push((now, parcel.source.0, parcel.cargo));
                self.events.schedule(now.max(self.holds_until), NodeEvent::Release(credit));
            }
        }
        if let Some(at) = self.terminal.inject(now, &mut send) {
            self.events.schedule(at, NodeEvent::Inject);
        }
    }
}

/// A partition of a test's network.
enum Part {
    Node(Box<TestNode>),
    Switch(Box<Switch<u32>>),
}

impl Partition for Part {
    type Payload = Mail<u32>;

    fn next_time(&self) -> Option<Time> {
        match self {
            Part::Node(node) => node.events.next_time(),
            Part::Switch(switch) => switch.next_time(),
        }
    }

    fn advance(&mut self, outbox: &mut Outbox<Mail<u32>>) {
        match self {
            Part::Node(node) => {
                while let Some((now, event)) = node.events.pop_before(outbox.until()) {
                    node.handle(now, event, outbox);
                }
            }
            Part::Switch(switch) => switch.advance(outbox),
        }
    }

    fn deliver(&mut self, envelope: Envelope<Mail<u32>>) {
        match self {
            Part::Node(node) => node.events.receive(envelope, |mail| match mail {
                Mail::Parcel { parcel, .. } => {
                    node.terminal.expect(parcel);
                    NodeEvent::Arrive
                }
                Mail::Credit(credit) => NodeEvent::Credit(credit),
                Mail::Direct(..) | Mail::Told(..) => unreachable!("it is a node behind switches"),
            }),
            Part::Switch(switch) => switch.deliver(envelope),
        }
    }

    /// Never: the run ends when nothing will happen any more.
    fn status(&self) -> Status {
        Status::Running
    }

    fn progress(&self) -> u64 {
        match self {
            Part::Node(node) => node.arrived.len() as u64,
            Part::Switch(switch) => switch.progress(),
        }
    }
}

impl Archived for Part {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        match self {
            Part::Node(node) => {
                node.terminal.archive(archive)?;
                node.events.archive(archive)?;
                archive.value(&mut node.arrived)
            }
            Part::Switch(switch) => switch.archive(archive),
        }
    }
}

/// A network of four-byte links of 250 MHz, 20 ns long, and switches of 30 ns.
#[derive(Clone, Debug)]
struct Bench {
    topology: topologies::Config,
    nodes: u32,
    lanes: u32,
    priorities: u32,
    kinds: BTreeMap<String, link::Kind>,
    routes: Routes,
    switches: Config,
}

impl Bench {
    fn new(topology: topologies::Config) -> Self {
        let switches = Config {
            switching: Switching::VirtualCutThrough,
            delay: Duration::from_ns(30),
            buffer: Bytes::new(128),
            queues: QueueKind::Single,
            arbitration: Arbitration::RoundRobin,
            input_ways: None,
            output_queues: None,
            backpressure: Default::default(),
            marking: None,
        };
        let nodes = topology.places() as u32;
        Bench {
            topology,
            nodes,
            lanes: 1,
            priorities: 1,
            kinds: BTreeMap::new(),
            routes: Routes::Minimal,
            switches,
        }
    }

    /// A row of switches, a node at each.
    fn row(columns: u32) -> Self {
        Bench::new(topologies::Config::Mesh(mesh::Config { dimensions: vec![columns, 1] }))
    }

    /// One switch.
    fn crossbar(ports: u32) -> Self {
        Bench::new(topologies::Config::Crossbar(crossbar::Config { ports }))
    }

    fn timings(&self) -> Timings {
        let links = link::Config {
            width: Bytes::new(4),
            clock: "250MHz".parse::<Frequency>().expect("a frequency"),
            latency: Duration::from_ns(20),
            lanes: self.lanes,
            kinds: self.kinds.clone(),
        };
        let stores = self.switches.switching == Switching::StoreAndForward;
        Timings::new(&links, &self.topology.link_kinds(), self.switches.delay, stores)
    }

    fn plan(&self) -> Arc<Plan> {
        let lanes_per_priority = (self.lanes / self.priorities) as u8;
        Arc::new(Plan {
            topology: self.topology.clone(),
            nodes: self.nodes,
            timings: self.timings(),
            switches: self.switches.clone(),
            lanes: self.lanes as u8,
            lanes_per_priority,
            route_lanes: self.routes.lanes(self.topology.route_lanes()).min(lanes_per_priority),
            routes: self.routes,
        })
    }

    /// The network with these orders; node `.0` gives no room back before `.1`.
    fn simulation(&self, orders: &[(u16, Order)], holds: Option<(u16, Time)>) -> Simulation<Part> {
        let plan = self.plan();
        let node = |number: u16| {
            let own = orders.iter().filter(|(from, _)| *from == number);
            let mut events = EventQueue::new();
            events.extend(own.map(|&(_, Order { at, to, bytes, priority, name })| {
                (at, NodeEvent::HandOver { to, bytes, priority, name })
            }));
            let holds_until =
                holds.filter(|&(node, _)| node == number).map_or(Time::ZERO, |(_, until)| until);
            let terminal = Terminal::new(NodeId(number), &plan, 7);
            Part::Node(Box::new(TestNode { terminal, events, arrived: Vec::new(), holds_until }))
        };
        let nodes = (0..self.nodes as u16).map(node);
        let switches =
            (0..plan.topology.switches()).map(|number| Part::Switch(Box::new(Switch::new(number, &plan))));
        Simulation::new(nodes.chain(switches).collect(), plan.timings.lookahead(8))
    }

    /// What arrived at each node when nothing happens any more.
    fn run(&self, orders: &[(u16, Order)], holds: Option<(u16, Time)>) -> Vec<Vec<Arrived>> {
        let mut simulation = self.simulation(orders, holds);
        finish(&mut simulation);
        arrived(&mut simulation)
    }
}

fn finish(simulation: &mut Simulation<Part>) {
    let ending = simulation.run(&Limits::default(), &mut |_, _| std::ops::ControlFlow::Continue(()));
    assert!(matches!(ending, Ending::NoProgress(_)), "{ending:?}");
}

fn arrived(simulation: &mut Simulation<Part>) -> Vec<Vec<Arrived>> {
    let nodes = simulation.partitions().filter_map(|part| match part {
        Part::Node(node) => Some(node.arrived.clone()),
        Part::Switch(_) => None,
    });
    nodes.collect()
}

fn at(nanoseconds: u64) -> Time {
    Time::from_ps(nanoseconds * 1_000)
}

/// An order for 64 bytes, 64 ns of a link, of priority 0.
fn order(nanoseconds: u64, to: u16, name: u32) -> Order {
    Order { at: at(nanoseconds), to, bytes: 64, priority: 0, name }
}
