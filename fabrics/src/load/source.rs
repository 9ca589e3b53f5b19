//! A node that makes packets at random instants and takes what arrives.

use std::sync::Arc;

use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::random::Stream;
use narthex_kernel::{Clock, Duration, EventQueue, Time};

use super::patterns::Destinations;
use super::steadiness::Backlog;
use super::windows::{QUARTERS, Windows};
use super::{Demand, Load};
use crate::latencies::{Detail, Latencies};
use crate::packet::NodeId;
use crate::parcel::{Credit, Mail, Sending};
use crate::switch::{Plan, Switch};
use crate::terminal::Terminal;

/// What all sources have in common.
#[derive(Debug)]
pub(super) struct Schedule {
    destinations: Destinations,
    nodes: u32,
    packet_bytes: u32,
    cycle: Clock,
    /// In an open loop, each cycle a packet is made if a random number is below this.
    threshold: u64,
    /// The last cycle in which one is.
    last_cycle: u64,
    /// In a closed loop, a node's requests without a reply.
    outstanding: u32,
    /// What a link takes for a packet.
    pub serialization: Duration,
    /// When is measured.
    pub windows: Windows,
}

/// What a source saw in a quarter of a window.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Quarter {
    /// Packets that were made.
    pub made: u64,
    /// Packets that arrived here.
    pub arrived: u64,
    /// Of the packets that were made in it, anywhere, those that have arrived here.
    pub come: u64,
    /// The sum of their latencies.
    pub latency_sum_ps: u64,
    /// Packets that waited for the link at its end.
    pub waiting_at_end: u64,
}

impl Quarter {
    /// Adds what another source saw in it.
    pub fn add(&mut self, other: &Quarter) {
        let Quarter { made, arrived, come, latency_sum_ps, waiting_at_end } = *other;
        self.made += made;
        self.arrived += arrived;
        self.come += come;
        self.latency_sum_ps += latency_sum_ps;
        self.waiting_at_end += waiting_at_end;
    }

    /// The mean latency of the packets that were made in it; none if there were none.
    pub fn mean_latency_ps(&self) -> Option<f64> {
        (self.come > 0).then(|| self.latency_sum_ps as f64 / self.come as f64)
    }
}

impl Schedule {
    pub(super) fn new(load: &Load, plan: &Plan, cycle: Clock, nodes: u32, windows: Windows) -> Self {
        let serialization = plan.timings.of_nodes().serialization(load.packet_bytes);
        let cycles = u128::from(serialization.as_ps() / cycle.cycles(1).as_ps().max(1)).max(1);
        // A probability as a share of 2^64, computed with integers only.
        let (permille, outstanding) = match load.demand {
            Demand::Permille(permille) => (permille, 0),
            Demand::Outstanding(outstanding) => (0, outstanding),
        };
        let threshold = (u128::from(permille) << 64) / (1000 * cycles);
        Schedule {
            destinations: load.pattern.destinations(nodes, &plan.topology),
            nodes,
            packet_bytes: load.packet_bytes,
            cycle,
            outstanding,
            last_cycle: cycle.number_at_or_after(windows.given_up()) - 1,
            threshold: threshold.min(u128::from(u64::MAX)) as u64,
            serialization,
            windows,
        }
    }
}

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cargo {
    /// In a closed loop its receiver answers it.
    Request,
    /// The answer.
    Reply,
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
    pub terminal: Terminal<Cargo>,
    pub events: EventQueue<Event>,
    random: Stream,
    /// The cycle at which the next packet is made.
    next_cycle: u64,
    /// What it saw in each quarter.
    pub quarters: Vec<Quarter>,
    /// Of the packets that were made in each window and arrived here.
    pub latencies: Vec<Latencies>,
    /// Packets that waited for the link when the first window began.
    pub waiting_at_begin: u64,
    /// The quarter that begins next, and when.
    next_quarter: (usize, Time),
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
            quarters: vec![Quarter::default(); schedule.windows.all_quarters()],
            latencies: vec![Latencies::new(Detail::Percentiles); schedule.windows.count as usize],
            waiting_at_begin: 0,
            next_quarter: (0, schedule.windows.begin),
        };
        match schedule.outstanding {
            0 => source.schedule_next(),
            outstanding => {
                let first = Time::ZERO + schedule.cycle.cycles(1);
                (0..outstanding).for_each(|_| source.events.schedule(first, Event::Make));
            }
        }
        source
    }

    pub(super) fn name(&self) -> String {
        format!("node {}", self.own.0)
    }

    /// Packets of a window that were made here less those that arrived here: the sum over
    /// all sources is what is still under way.
    pub(super) fn outstanding(&self, window: u32) -> i64 {
        self.quarters[Windows::quarters(window)].iter().map(|one| one.made as i64 - one.come as i64).sum()
    }

    /// What became of its backlog in a window, which is over.
    pub(super) fn backlog(&self, window: u32) -> Backlog {
        let quarters = Windows::quarters(window);
        let before = quarters.start.checked_sub(1).map(|before| self.quarters[before].waiting_at_end);
        Backlog::of(before.unwrap_or(self.waiting_at_begin), &self.quarters[quarters])
    }

    /// Takes note of its backlog at the begins of quarters up to now.
    pub(super) fn note_backlog(&mut self, now: Time) {
        while now >= self.next_quarter.1 {
            let waiting = self.terminal.waiting().count() as u64;
            let (quarter, _) = self.next_quarter;
            match quarter.checked_sub(1) {
                None => self.waiting_at_begin = waiting,
                Some(before) => self.quarters[before].waiting_at_end = waiting,
            }
            let is_last = quarter == self.quarters.len();
            let at = if is_last { Time::NEVER } else { self.schedule.windows.quarter_begin(quarter + 1) };
            self.next_quarter = (quarter + 1, at);
        }
    }

    fn schedule_next(&mut self) {
        let Schedule { cycle, threshold, last_cycle, .. } = *self.schedule;
        while self.next_cycle < last_cycle {
            self.next_cycle += 1;
            if self.random.next_u64() < threshold {
                let at = Time::ZERO + cycle.cycles(self.next_cycle);
                return self.events.schedule(at, Event::Make);
            }
        }
    }

    fn make_request(&mut self, now: Time) {
        let Schedule { ref destinations, nodes, .. } = *self.schedule;
        let destination = destinations.next(self.own, nodes, &mut self.random);
        self.make(now, destination, Cargo::Request);
    }

    fn make(&mut self, now: Time, destination: NodeId, cargo: Cargo) {
        self.terminal.hand_over(now, destination, self.schedule.packet_bytes, 0, cargo);
        if let Some(quarter) = self.schedule.windows.quarter_at(now) {
            self.quarters[quarter].made += 1;
        }
    }

    fn handle(&mut self, now: Time, event: Event, outbox: &mut Outbox<Mail<Cargo>>) {
        self.note_backlog(now);
        let windows = self.schedule.windows;
        let mut send = |(arrival, partition, mail): Sending<Cargo>| outbox.send(arrival, partition, mail);
        match event {
            Event::Make => {
                self.make_request(now);
                if self.schedule.outstanding == 0 {
                    self.schedule_next();
                }
            }
            Event::LinkFree => {}
            Event::Credit(credit) => self.terminal.credit(credit),
            Event::Arrive => {
                let (parcel, credit) = self.terminal.arrive(now);
                send(self.terminal.release(now, credit));
                if let Some(quarter) = windows.quarter_at(now) {
                    self.quarters[quarter].arrived += 1;
                }
                if let Some(quarter) = windows.quarter_at(parcel.handed_over) {
                    let latency = now - parcel.handed_over;
                    self.quarters[quarter].come += 1;
                    self.quarters[quarter].latency_sum_ps += latency.as_ps();
                    self.latencies[quarter / QUARTERS].record(latency);
                }
                if self.schedule.outstanding > 0 && now < windows.given_up() {
                    match parcel.cargo {
                        Cargo::Request => self.make(now, parcel.source, Cargo::Reply),
                        Cargo::Reply => self.make_request(now),
                    }
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
    Switch(Box<Switch<Cargo>>),
}

impl Partition for Part {
    type Payload = Mail<Cargo>;

    fn next_time(&self) -> Option<Time> {
        match self {
            Part::Source(source) => source.events.next_time(),
            Part::Switch(switch) => switch.next_time(),
        }
    }

    fn advance(&mut self, outbox: &mut Outbox<Mail<Cargo>>) {
        match self {
            Part::Source(source) => {
                while let Some((now, event)) = source.events.pop_before(outbox.until()) {
                    source.handle(now, event, outbox);
                }
            }
            Part::Switch(switch) => switch.advance(outbox),
        }
    }

    fn deliver(&mut self, envelope: Envelope<Mail<Cargo>>) {
        match self {
            Part::Source(source) => source.events.receive(envelope, |mail| match mail {
                Mail::Parcel { parcel, .. } => {
                    source.terminal.expect(parcel);
                    Event::Arrive
                }
                Mail::Credit(credit) => Event::Credit(credit),
                Mail::Direct(..) | Mail::Told(..) => unreachable!("it is a node behind switches"),
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
