//! A node that makes packets at random instants and takes what arrives.

use std::sync::Arc;

use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::random::Stream;
use narthex_kernel::statistics::Histogram;
use narthex_kernel::{Clock, Duration, EventQueue, Time};

use super::{Load, Pattern};
use crate::packet::NodeId;
use crate::parcel::{Credit, Mail, Sending};
use crate::switch::{Plan, Switch};
use crate::terminal::Terminal;

/// What all sources have in common.
#[derive(Debug)]
pub(super) struct Schedule {
    pattern: Pattern,
    nodes: u32,
    packet_bytes: u32,
    cycle: Clock,
    /// Each cycle a packet is made if a random number is below this.
    threshold: u64,
    /// What a link takes for a packet.
    pub serialization: Duration,
    /// When measuring begins, when it ends, and when it is given up.
    pub parts: [Time; 3],
}

impl Schedule {
    pub(super) fn new(load: &Load, plan: &Plan, cycle: Clock, nodes: u32, parts: [Time; 3]) -> Self {
        let serialization = plan.timing.serialization(load.packet_bytes);
        let cycles = u128::from(serialization.as_ps() / cycle.cycles(1).as_ps().max(1)).max(1);
        // A probability as a share of 2^64, computed with integers only.
        let threshold = (u128::from(load.permille) << 64) / (1000 * cycles);
        Schedule {
            pattern: load.pattern,
            nodes,
            packet_bytes: load.packet_bytes,
            cycle,
            threshold: threshold.min(u128::from(u64::MAX)) as u64,
            serialization,
            parts,
        }
    }

    fn is_measured(&self, at: Time) -> bool {
        (self.parts[0]..self.parts[1]).contains(&at)
    }
}

/// What can happen at a source.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Make,
    LinkFree,
    Arrive,
    Credit(Credit),
}

/// A node of a network under load.
pub(super) struct Source {
    own: NodeId,
    schedule: Arc<Schedule>,
    pub terminal: Terminal<()>,
    pub events: EventQueue<Event>,
    random: Stream,
    /// The cycle at which the next packet is made.
    next_cycle: u64,
    /// Measured packets that were made here.
    pub made_while_measured: u64,
    /// Packets that arrived here while it was measured.
    pub arrived_while_measured: u64,
    /// Of measured packets that arrived here.
    pub latency: Histogram,
}

impl Source {
    pub(super) fn new(number: u16, plan: &Arc<Plan>, schedule: &Arc<Schedule>, seed: u64) -> Self {
        let own = NodeId(number);
        let mut source = Source {
            own,
            schedule: schedule.clone(),
            terminal: Terminal::new(own, plan, seed),
            events: EventQueue::new(),
            random: Stream::new(seed, &format!("node {number}/load")),
            next_cycle: 0,
            made_while_measured: 0,
            arrived_while_measured: 0,
            latency: Histogram::default(),
        };
        source.schedule_next();
        source
    }

    pub(super) fn name(&self) -> String {
        format!("node {}", self.own.0)
    }

    /// Measured packets that were made here less those that arrived here: the sum over
    /// all sources is what is still under way.
    pub(super) fn outstanding(&self) -> i64 {
        self.made_while_measured as i64 - self.latency.count() as i64
    }

    fn schedule_next(&mut self) {
        loop {
            self.next_cycle += 1;
            let at = Time::ZERO + self.schedule.cycle.cycles(self.next_cycle);
            if at >= self.schedule.parts[2] {
                return;
            }
            if self.random.next_u64() < self.schedule.threshold {
                return self.events.schedule(at, Event::Make);
            }
        }
    }

    fn handle(&mut self, now: Time, event: Event, outbox: &mut Outbox<Mail<()>>) {
        let mut send = |(arrival, partition, mail): Sending<()>| outbox.send(arrival, partition, mail);
        match event {
            Event::Make => {
                let Schedule { pattern, nodes, packet_bytes, .. } = *self.schedule;
                let destination = pattern.destination(self.own, nodes, &mut self.random);
                self.terminal.hand_over(now, destination, packet_bytes, 0, ());
                self.made_while_measured += u64::from(self.schedule.is_measured(now));
                self.schedule_next();
            }
            Event::LinkFree => {}
            Event::Credit(credit) => self.terminal.credit(credit),
            Event::Arrive => {
                let (parcel, credit) = self.terminal.arrive(now);
                send(self.terminal.release(now, credit));
                self.arrived_while_measured += u64::from(self.schedule.is_measured(now));
                if self.schedule.is_measured(parcel.handed_over) {
                    self.latency.record((now - parcel.handed_over).as_ps());
                }
            }
        }
        if let Some(at) = self.terminal.inject(now, &mut send) {
            self.events.schedule(at, Event::LinkFree);
        }
    }
}

/// A partition of a network under load.
pub(super) enum Part {
    Source(Box<Source>),
    Switch(Box<Switch<()>>),
}

impl Partition for Part {
    type Payload = Mail<()>;

    fn next_time(&self) -> Option<Time> {
        match self {
            Part::Source(source) => source.events.next_time(),
            Part::Switch(switch) => switch.next_time(),
        }
    }

    fn advance(&mut self, outbox: &mut Outbox<Mail<()>>) {
        match self {
            Part::Source(source) => {
                while let Some((now, event)) = source.events.pop_before(outbox.until()) {
                    source.handle(now, event, outbox);
                }
            }
            Part::Switch(switch) => switch.advance(outbox),
        }
    }

    fn deliver(&mut self, envelope: Envelope<Mail<()>>) {
        match self {
            Part::Source(source) => source.events.receive(envelope, |mail| match mail {
                Mail::Parcel { parcel, .. } => {
                    source.terminal.expect(parcel);
                    Event::Arrive
                }
                Mail::Credit(credit) => Event::Credit(credit),
                Mail::Direct(..) => unreachable!("there are switches"),
            }),
            Part::Switch(switch) => switch.deliver(envelope),
        }
    }

    /// A run of sources ends when its time is over.
    fn status(&self) -> Status {
        Status::Running
    }

    fn progress(&self) -> u64 {
        0
    }
}
