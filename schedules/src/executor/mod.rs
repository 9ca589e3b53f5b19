//! The fitted executor: LogGOPS, an event at a time.
//!
//! A rank has processors and interfaces, and each does one thing at a time, in the order in which
//! things become ready.
//!
//! ```text
//! sender's interface     |·········· g(k) ··········|
//! sender's processor     ███ o_s(k) ███ over
//!                                       ╲ L(k)
//! receiver's interface                   |·········· g(k) ··········|
//! receiver's processor                   ███ o_r(k) ███ handled
//! ```
//!
//! - A **calculation** engages its processor.
//! - A **send** waits for its interface, then for its processor, is engaged for o_s(k), and is over:
//!   unless the message has more than S bytes. Such a sender waits until the message has met its
//!   receive, and then for the latency of an answer (rendezvous).
//! - A **message** arrives L(k) later, waits for the receiver's interface and processor of the same
//!   numbers, and engages that for o_r(k), whether or not its receive is posted: an interface is
//!   polled for all that comes. Then the oldest posted receive with its peer and tag is over, or
//!   the message is kept.
//! - A **receive** is posted when it is ready, and takes the oldest kept message that fits.
//!
//! LogGOPSim differs in two points: it gives a processor that waits for its interface to something
//! else, and it looks again at everything that waits whenever a resource is free, which takes time
//! with the square of what waits. Here a place in line is given once.
//!
//! A run allocates when it begins, and where queues grow; never for an event.

mod lists;
#[cfg(test)]
mod tests;
pub(crate) mod watch;
pub(crate) mod wire;

use crate::Problem;
use crate::blocked;
use crate::parameters::{CostTable, Parameters};
use crate::queue::Queue;
use crate::schedule::{ANY, Kind, Schedule};

use lists::{List, Lists, Waiting};
use watch::Watch;
use wire::{Event, Events, Message, Straight, What, Wire};

/// How many events lie between two looks at the observer.
const LOOK_EVERY: u64 = 1 << 18;
/// In `waits_for`: the operation is over.
pub(crate) const OVER: u32 = u32::MAX;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When each rank was through, in picoseconds.
    pub finish_ps: Vec<u64>,
    /// How many events there were.
    pub events: u64,
}

impl Outcome {
    /// When the last rank was.
    pub fn makespan_ps(&self) -> u64 {
        self.finish_ps.iter().copied().max().unwrap_or(0)
    }
}

#[derive(Clone, Copy, Default)]
struct Rank {
    posted: List,
    kept: List,
    finish_ps: u64,
}

/// Executes a schedule. `observer` is told how many operations are over and the simulated time; false
/// ends the run.
///
/// # Errors
/// If ranks wait for each other or for messages that nobody sends, time has no end, or the observer
/// has ended the run.
pub fn execute(
    schedule: &Schedule,
    parameters: &Parameters,
    observer: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Outcome, Problem> {
    execute_over(schedule, parameters, Straight, &mut (), observer)
}

/// The same with a wire of its own, and with one who looks on.
///
/// # Errors
/// As [`execute`].
pub(crate) fn execute_over(
    schedule: &Schedule,
    parameters: &Parameters,
    wire: impl Wire,
    watch: &mut impl Watch,
    observer: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Outcome, Problem> {
    let mut state = State::new(schedule);
    let mut executor = Executor::new(schedule, parameters, wire, watch, &mut state);
    (0..schedule.ranks()).for_each(|rank| executor.begin_rank(rank, 0));
    while let Some((now, event)) = executor.state.events.pop() {
        executor.take(now, event);
        let State { taken, over, .. } = *executor.state;
        if taken.is_multiple_of(LOOK_EVERY) && !observer(over, now) {
            return Err(Problem::new("interrupted"));
        }
    }
    if state.over < schedule.operations() {
        return Err(blocked::explain(schedule, &state.waits_for));
    }
    let finish_ps: Vec<u64> = state.ranks.iter().map(|rank| rank.finish_ps).collect();
    if finish_ps.contains(&u64::MAX) {
        return Err(Problem::new("the schedule takes more than 213 days, which is beyond the clock"));
    }
    Ok(Outcome { finish_ps, events: state.taken })
}

/// What has become of a schedule so far.
pub(crate) struct State {
    pub events: Events,
    pub taken: u64,
    /// How many operations are over.
    pub over: u64,
    waits_for: Vec<u32>,
    ranks: Vec<Rank>,
    /// When each processor, and each interface in either direction, is free.
    cpu_free: Vec<u64>,
    sends_free: Vec<u64>,
    receives_free: Vec<u64>,
    lists: Lists,
    ready: Vec<(u32, u32)>,
}

impl State {
    /// Nothing has happened.
    pub fn new(schedule: &Schedule) -> Self {
        let ranks = schedule.ranks() as usize;
        let nics = ranks * usize::from(schedule.nics());
        let mut state = State {
            events: Queue::default(),
            taken: 0,
            over: 0,
            waits_for: Vec::with_capacity(schedule.operations() as usize),
            ranks: vec![Rank::default(); ranks],
            cpu_free: vec![0; ranks * usize::from(schedule.cpus())],
            sends_free: vec![0; nics],
            receives_free: vec![0; nics],
            lists: Lists::default(),
            ready: Vec::new(),
        };
        state.repeat(schedule);
        state
    }

    /// The schedule begins again.
    pub fn repeat(&mut self, schedule: &Schedule) {
        self.over = 0;
        self.waits_for.clear();
        (0..schedule.ranks()).for_each(|rank| self.waits_for.extend(schedule.shape(rank).waits_for()));
    }

    /// When a rank's last operation was over.
    pub fn finish_ps(&self, rank: u32) -> u64 {
        self.ranks[rank as usize].finish_ps
    }
}

/// Lets a schedule's state go on.
pub(crate) struct Executor<'a, W, S> {
    schedule: &'a Schedule,
    parameters: &'a Parameters,
    costs: CostTable<'a>,
    pub wire: W,
    watch: &'a mut S,
    pub state: &'a mut State,
}

impl<'a, W: Wire, S: Watch> Executor<'a, W, S> {
    pub fn new(
        schedule: &'a Schedule,
        parameters: &'a Parameters,
        wire: W,
        watch: &'a mut S,
        state: &'a mut State,
    ) -> Self {
        Executor { schedule, parameters, costs: CostTable::new(parameters), wire, watch, state }
    }

    /// A rank begins: what waits for nothing is ready.
    pub fn begin_rank(&mut self, rank: u32, now: u64) {
        for (operation, &waits) in (0..).zip(self.schedule.shape(rank).waits_for()) {
            if waits == 0 {
                self.make_ready(rank, operation);
            }
        }
        self.run_ready(now);
    }

    /// Lets the event happen that is next.
    pub fn take(&mut self, now: u64, event: Event) {
        self.state.taken += 1;
        let Event { rank, operation, sender, what } = event;
        match what {
            What::Over => self.end(rank, operation, now),
            What::Started => self.start(rank, operation),
            What::Launched => self.engage_sender(rank, operation, now),
            What::Arrived => self.accept(event, now),
            What::Accepted => self.engage_receiver(event, now),
            What::Handled => self.handle(rank, sender, operation, now),
            What::Wire => return self.wire.take(now, event, &mut self.state.events),
        }
        if !self.state.ready.is_empty() {
            self.run_ready(now);
        }
    }

    #[inline]
    fn nic(&self, rank: u32, nic: u8) -> usize {
        rank as usize * usize::from(self.schedule.nics()) + usize::from(nic)
    }

    /// Engages a processor from `now` on, or when it is free; returns when it begins and ends.
    #[inline]
    fn engage(&mut self, rank: u32, cpu: u8, now: u64, for_ps: u64) -> (u64, u64) {
        let free =
            &mut self.state.cpu_free[rank as usize * usize::from(self.schedule.cpus()) + usize::from(cpu)];
        let begin = now.max(*free);
        *free = begin.saturating_add(for_ps);
        (begin, *free)
    }

    fn push(&mut self, time: u64, rank: u32, operation: u32, what: What) {
        self.state.events.push(time, Event { rank, operation, sender: rank, what });
    }

    #[inline]
    fn make_ready(&mut self, rank: u32, operation: u32) {
        self.state.ready.push((rank, operation));
    }

    /// Begins what has become ready, which may make further operations ready.
    fn run_ready(&mut self, now: u64) {
        let mut index = 0;
        while index < self.state.ready.len() {
            let (rank, operation) = self.state.ready[index];
            self.begin(rank, operation, now);
            index += 1;
        }
        self.state.ready.clear();
    }

    fn begin(&mut self, rank: u32, operation: u32, now: u64) {
        let own = *self.schedule.operation(rank, operation);
        match own.kind {
            Kind::Calculate => {
                let for_ps = (own.size as f64 * self.parameters.calculation_scale * 1e3).round() as u64;
                let (begin, end) = self.engage(rank, own.cpu, now, for_ps);
                self.watch.engaged(rank, operation, begin, end);
                self.tell_start(rank, operation, now, begin);
                self.push(end, rank, operation, What::Over);
            }
            Kind::Send => {
                let nic = self.nic(rank, own.nic);
                let begin = now.max(self.state.sends_free[nic]);
                self.state.sends_free[nic] = begin.saturating_add(self.costs.of(own.size).gap);
                if begin > now {
                    self.push(begin, rank, operation, What::Launched);
                } else {
                    self.engage_sender(rank, operation, now);
                }
            }
            Kind::Receive => {
                self.watch.posted(rank, operation, now);
                self.tell_start(rank, operation, now, now);
                self.post(rank, operation, now);
            }
        }
    }

    /// Lets what waits for an operation's start know when it is.
    #[inline]
    fn tell_start(&mut self, rank: u32, operation: u32, now: u64, begin: u64) {
        if self.schedule.shape(rank).start_dependants(operation).is_empty() {
            return;
        }
        if begin > now {
            self.push(begin, rank, operation, What::Started);
        } else {
            self.start(rank, operation);
        }
    }

    fn start(&mut self, rank: u32, operation: u32) {
        let schedule = self.schedule;
        self.trigger(rank, schedule.shape(rank).start_dependants(operation));
    }

    #[inline]
    fn trigger(&mut self, rank: u32, dependants: &[u32]) {
        let first = self.schedule.first(rank);
        for &dependant in dependants {
            let left = &mut self.state.waits_for[first + dependant as usize];
            *left -= 1;
            if *left == 0 {
                self.make_ready(rank, dependant);
            }
        }
    }

    fn end(&mut self, rank: u32, operation: u32, now: u64) {
        let schedule = self.schedule;
        self.state.over += 1;
        self.watch.over(rank, operation, now);
        self.state.waits_for[schedule.first(rank) + operation as usize] = OVER;
        self.state.ranks[rank as usize].finish_ps = now;
        self.trigger(rank, schedule.shape(rank).dependants(operation));
    }

    fn engage_sender(&mut self, rank: u32, operation: u32, now: u64) {
        let own = *self.schedule.operation(rank, operation);
        let costs = self.costs.of(own.size);
        let (begin, end) = self.engage(rank, own.cpu, now, costs.send);
        if begin > now {
            let nic = self.nic(rank, own.nic);
            let free = begin.saturating_add(costs.gap);
            self.state.sends_free[nic] = self.state.sends_free[nic].max(free);
        }
        self.watch.engaged(rank, operation, begin, end);
        self.tell_start(rank, operation, now, begin);
        let receiver = self.schedule.peer(rank, operation);
        let message = Message { sender: rank, operation, receiver, bytes: own.size };
        let is_sent = self.wire.send(message, (begin, end), costs.latency, &mut self.state.events);
        if is_sent && own.size <= self.parameters.eager_bytes {
            self.push(end, rank, operation, What::Over);
        }
    }

    fn accept(&mut self, event: Event, now: u64) {
        let sent = *self.schedule.operation(event.sender, event.operation);
        let nic = self.nic(event.rank, sent.nic);
        let begin = now.max(self.state.receives_free[nic]);
        self.state.receives_free[nic] = begin.saturating_add(self.costs.of(sent.size).gap);
        if begin > now {
            self.state.events.push(begin, Event { what: What::Accepted, ..event });
        } else {
            self.engage_receiver(event, now);
        }
    }

    fn engage_receiver(&mut self, event: Event, now: u64) {
        let sent = *self.schedule.operation(event.sender, event.operation);
        let for_ps = self.costs.of(sent.size).receive;
        let (begin, end) = self.engage(event.rank, sent.cpu, now, for_ps);
        self.watch.handled(event.sender, event.operation, begin, end);
        self.wire.engaged(event, end);
        self.state.events.push(end, Event { what: What::Handled, ..event });
    }

    fn handle(&mut self, rank: u32, sender: u32, sent: u32, now: u64) {
        let tag = self.schedule.operation(sender, sent).tag;
        let fits = |posted: &Waiting| {
            (posted.peer == sender || posted.peer == ANY) && (posted.tag == tag || posted.tag == ANY)
        };
        let mut list = self.state.ranks[rank as usize].posted;
        let found = self.state.lists.remove(&mut list, fits);
        self.state.ranks[rank as usize].posted = list;
        match found {
            Some(posted) => self.meet(rank, posted.operation, sender, sent, now),
            None => {
                let mut list = self.state.ranks[rank as usize].kept;
                self.state.lists.append(&mut list, Waiting::new(sender, tag, sent));
                self.state.ranks[rank as usize].kept = list;
            }
        }
    }

    fn post(&mut self, rank: u32, operation: u32, now: u64) {
        let (tag, peer) = (self.schedule.operation(rank, operation).tag, self.schedule.peer(rank, operation));
        let fits = |kept: &Waiting| (peer == kept.peer || peer == ANY) && (tag == kept.tag || tag == ANY);
        let mut list = self.state.ranks[rank as usize].kept;
        let found = self.state.lists.remove(&mut list, fits);
        self.state.ranks[rank as usize].kept = list;
        match found {
            Some(kept) => self.meet(rank, operation, kept.peer, kept.operation, now),
            None => {
                let mut list = self.state.ranks[rank as usize].posted;
                self.state.lists.append(&mut list, Waiting::new(peer, tag, operation));
                self.state.ranks[rank as usize].posted = list;
            }
        }
    }

    /// A message and its receive have met.
    fn meet(&mut self, rank: u32, receive: u32, sender: u32, sent: u32, now: u64) {
        if self.schedule.operation(sender, sent).size > self.parameters.eager_bytes {
            let answer = now.saturating_add(self.parameters.latency.engaged_ps(1));
            self.push(answer, sender, sent, What::Over);
        }
        self.end(rank, receive, now);
    }
}
