//! How a node executes: what happens next, which processor runs and up to when, and what
//! a processor stops for.
//!
//! Processors run ahead to the next event, or to the instant at which anything can come of what
//! the network may bring ([`super::send_lookahead`]), and events happen where none of them has
//! anything to do before. A processor that is alone with its bus needs no event for its
//! transactions: where nothing else happens before they are over, they are carried as soon
//! as it has asked ([`InterconnectHost::is_free_before`]).
//!
//! [`InterconnectHost::is_free_before`]: narthex_memory::interconnects::InterconnectHost::is_free_before

use narthex_cores::Stop;
use narthex_kernel::partition::{Partition, Status};
use narthex_kernel::{Duration, Ledger, Time};
use narthex_memory::processor_memory::{DirectBus, WaitTime};

use super::processor::State;
use super::registers::DeviceRegisters;
use super::waiting::{Candidate, LOOK_OUT};
use super::{Event, Node, NodeProcessor, Occupation, after};
use crate::activity::{Activities, Activity, Resource, Spent};

impl Node {
    /// Does everything that happens before `until`, but for turns of a wait loop
    /// that can be computed later; if answers to what it sends may come before, so long after
    /// that has arrived, no more than up to the first of them.
    pub(super) fn work(&mut self, until: Time, answer_time: Option<Duration>) {
        let schedules_all = self.schedules_steps || self.probe.is_attached() || self.on_chip.is_some();
        self.horizons.begin(until, answer_time, schedules_all);
        // Most nodes have one processor.
        match self.is_shared() || self.on_chip.is_some() {
            true => self.work_of_many(),
            false => self.work_of_one(),
        }
        self.horizons.take_no_shortcuts();
    }

    /// The same for a node with one processor, which calls the system at once.
    fn work_of_one(&mut self) {
        loop {
            let until = self.horizons.until;
            let limit = self.events.next_instant().min(until);
            self.wake_sleepers(limit, until);
            if self.processors[0].is_active(limit) {
                let stop = self.run_processor(0, limit);
                // The run may end soon after a node that finishes: it goes on from there.
                if matches!(stop, Stop::SystemCall) && matches!(self.status(), Status::Finished { .. }) {
                    break;
                }
            } else if limit >= until || !self.handle_next(until) {
                break;
            }
        }
    }

    /// The same for a node with several processors, or a chip.
    fn work_of_many(&mut self) {
        // It never changes.
        let is_chip = self.on_chip.is_some();
        loop {
            let until = self.horizons.until;
            let waiting_call = self.next_call();
            let (next, call) = self.next_stop(waiting_call);
            let limit = match is_chip {
                true => self.limit(next, waiting_call, until),
                false if next < until => self.bound(next),
                false => until,
            };
            self.wake_sleepers(next.min(until), until);
            if let Some(stop) = self.run_next(limit) {
                if matches!(stop, Stop::SystemCall) && matches!(self.status(), Status::Finished { .. }) {
                    break;
                }
            } else if let Some(index) = call.filter(|_| next < until) {
                self.catch_up_all(next);
                self.system_call(index);
                if matches!(self.status(), Status::Finished { .. }) {
                    break;
                }
            } else if let Some((now, happening)) = if is_chip { self.pop_on_chip(until) } else { None } {
                self.happen_on_chip(now, happening);
            } else if self.events.next_instant() >= until || !self.handle_next(until) {
                break;
            }
        }
    }

    /// Lets the next event before `until` happen; false if there is none, and at an instant that
    /// does not end.
    #[inline]
    fn handle_next(&mut self, until: Time) -> bool {
        let Some((now, event)) = self.events.pop_before(until) else { return false };
        self.handle(now, event);
        let is_endless = self.instant.is_endless();
        if is_endless {
            self.stop_at_endless_instant();
        }
        !is_endless
    }

    /// Lets a processor, or each tile of a chip, execute that has anything to do before
    /// `limit`: why the last one has stopped. None if none has.
    #[inline(always)]
    fn run_next(&mut self, limit: Time) -> Option<Stop> {
        if !self.processors.are_any_active(limit) {
            return None;
        }
        match self.tiles_lookahead {
            None => self.run_several(limit),
            Some(lookahead) => self.run_tiles(limit, lookahead),
        }
    }

    /// Lets processors execute by turns, until one has stopped for something else than the
    /// others, or none has anything to do before `limit`.
    fn run_several(&mut self, limit: Time) -> Option<Stop> {
        let mut turns = self.take_turns(limit);
        let mut last = None;
        while let Some((place, horizon)) = slowest_to_run(&mut turns, &self.processors, limit) {
            let index = turns[place].index;
            let stop = self.run_processor(index, horizon);
            last = Some(stop);
            if !matches!(stop, Stop::Horizon) || self.sleepers.are_any() {
                break;
            }
            match Turn::of(index, &self.processors[index], limit) {
                Some(next) => turns[place] = next,
                None => drop(turns.remove(place)),
            }
        }
        self.turns = turns;
        last
    }

    /// The processors that have anything to do before `limit`. Until one stops for something else
    /// than a horizon, or sleeps, it changes nothing of what another one is about to do.
    #[inline(always)]
    pub(super) fn take_turns(&mut self, limit: Time) -> Vec<Turn> {
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        let active = self.processors.active(limit);
        turns.extend(active.map(|(index, unit)| Turn {
            index,
            now: unit.processor.now(),
            others_until: None,
        }));
        turns
    }

    /// Whether an instruction may depend on what several processors do.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.processors.len() > 1
    }

    /// Up to when its processors have made their accesses when an event of this instant
    /// happens.
    #[inline]
    pub(super) fn bound(&self, event: Time) -> Time {
        if self.is_shared() { after(event) } else { event }
    }

    /// The first processor whose thread calls the system, and when.
    #[inline]
    fn next_call(&self) -> Option<(Time, usize)> {
        if self.callers == 0 { None } else { self.first_caller() }
    }

    fn first_caller(&self) -> Option<(Time, usize)> {
        let calling = self.processors.iter().enumerate().filter(|(_, unit)| unit.state == State::Calling);
        calling.map(|(index, unit)| (unit.processor.now(), index)).min()
    }

    /// When the next thing happens that stops all processors: a system call, of this one, or an event.
    #[inline(always)]
    fn next_stop(&self, call: Option<(Time, usize)>) -> (Time, Option<usize>) {
        let event = self.next_event();
        match call {
            Some((call, index)) if event > call => (call, Some(index)),
            _ => (event, None),
        }
    }

    /// Lets a processor execute until `until` or until it needs something: why it
    /// has stopped. A marker books time and stops nothing.
    #[inline(always)]
    pub(super) fn run_processor(&mut self, index: usize, until: Time) -> Stop {
        let ahead_until = self.hits_until(until);
        let mut look_out = LOOK_OUT;
        loop {
            let unit = &mut self.processors[index];
            if unit.waiting.is_stepping() {
                return self.run_stepwise(index, until);
            }
            unit.state = State::Running;
            let look = unit.processor.now() + look_out;
            let horizons = if look < until { (look, look) } else { (until, ahead_until) };
            let Run { stop, seen, steps } = self.run_to(index, horizons, ahead_until);
            if steps > 0 {
                // What misses its caches does not wait.
                look_out = LOOK_OUT * 8;
            }
            if self.unfinished.is_some() {
                self.finish_register_access();
                return stop;
            }
            if let Some(seen) = seen {
                self.watch(index, seen);
                if self.processors[index].is_active(until) {
                    continue;
                }
                return Stop::Horizon;
            }
            self.detect_loop(index, stop);
            match stop {
                Stop::Horizon if look < until && self.processors[index].is_active(until) => continue,
                Stop::Horizon => {}
                Stop::Wait => self.wait(index),
                Stop::Marker(immediate) => {
                    self.mark(index, immediate);
                    if self.processors[index].is_active(ahead_until) {
                        continue;
                    }
                }
                rarer => self.handle_stop(index, rarer),
            }
            return stop;
        }
    }

    /// Lets a processor execute until the first horizon, and what only concerns its caches until the
    /// second. If it is alone with its bus, it has that, and the devices' registers, while it runs.
    #[inline(always)]
    fn run_to(&mut self, index: usize, (until, hits_until): (Time, Time), ahead_until: Time) -> Run {
        let may_be_alone = self.horizons.free_until > Time::ZERO && !self.may_watch_bus;
        let unit = &mut self.processors[index];
        let NodeProcessor { processor, memory, ledger, activities, waiting, process, .. } = unit;
        let main = &mut self.memories[usize::from(unit.ports.memory.0)].bytes;
        let mut port = memory.port(&self.processes[*process].pages, main);
        let mut registers;
        if may_be_alone
            && let Some(exchanges) = &unit.exchanges
            && let Some(bus) = self.interconnects[usize::from(unit.ports.caches.0.0)].as_direct_bus()
        {
            registers = DeviceRegisters {
                devices: &mut self.devices,
                ports: &self.ports,
                network: &mut self.network,
                device_requests: &mut self.device_requests,
                heard_until: self.horizons.until,
                device_lookahead: &self.send_lookahead.of_devices,
                unfinished: &mut self.unfinished,
            };
            let unchanged_until = self.horizons.free_until.min(self.events.next_instant());
            port.alone = Some(DirectBus {
                bus,
                exchanges,
                registers: &mut registers,
                free_until: unchanged_until.max(ahead_until),
                unchanged_until,
                early_until: self.horizons.early_until,
                missed: WaitTime::default(),
                accessed: WaitTime::default(),
                steps: 0,
            });
        }
        let mut stop = processor.run_ahead(&mut port, until, hits_until);
        let mut seen = None;
        // A marker books time, and the processor goes on.
        while let Stop::Marker(hint) = stop
            && may_be_alone
        {
            if let Some(alone) = &mut port.alone {
                book_within(ledger, activities, alone);
            }
            if activities.book(ledger, processor.now(), processor.retired(), hint).is_err() {
                break;
            }
            if !self.executes_wait_loops {
                seen = waiting.seems_to_wait(stop, processor, port.own());
            }
            stop = if seen.is_some() { Stop::Horizon } else { processor.run_on(&mut port) };
        }
        let mut carried = 0;
        if let Some(mut alone @ DirectBus { steps: steps @ 1.., .. }) = port.alone {
            book_within(ledger, activities, &mut alone);
            alone.bus.keep_place(|| self.events.keep_place());
            self.events.pass(steps);
            carried = steps;
        }
        if hits_until > self.horizons.until {
            self.horizons.ran_until = hits_until.min(processor.now());
        }
        Run { stop, seen, steps: carried }
    }

    /// The same instruction by instruction.
    #[inline(never)]
    fn run_stepwise(&mut self, index: usize, until: Time) -> Stop {
        match self.processors[index].waiting.is_watching() {
            true => self.run_watched(index, until),
            false => self.run_followed(index, until),
        }
    }

    /// Gives a processor what it has stopped for.
    #[inline(never)]
    pub(super) fn handle_stop(&mut self, index: usize, stop: Stop) {
        match stop {
            Stop::Horizon => {}
            Stop::Wait => self.wait(index),
            Stop::NotReady => self.wait_for_load(index),
            Stop::SystemCall | Stop::Fault if self.is_shared() => self.call_system(index),
            Stop::SystemCall => self.system_call(index),
            Stop::Marker(immediate) => self.mark(index, immediate),
            Stop::WaitForInterrupt => self.wait_for_interrupt(index),
            Stop::Fault => self.fault(index, &self.processors[index].processor.fault()),
        }
    }

    /// A thread calls the system, or faults: it is answered, or ends its process, when all other
    /// processors have come to that instant.
    fn call_system(&mut self, index: usize) {
        let unit = &mut self.processors[index];
        unit.state = State::Calling;
        self.callers += 1;
        if let Some(lookahead) = self.tiles_lookahead {
            let now = unit.processor.now();
            unit.processor.pass_until(now + lookahead);
            self.book(index, now, Occupation::SystemCall);
        }
    }

    /// A processor's access cannot finish at once.
    fn wait(&mut self, index: usize) {
        let unit = &mut self.processors[index];
        let now = unit.processor.now();
        match unit.memory.wait_reason() {
            // A posted store: the processor goes on at once, but the bus is
            // asked for at the store's own instant.
            None => {
                unit.state = State::Woken;
                if let Some(due) = unit.memory.buffer_due(now) {
                    self.events.schedule(due, Event::BufferDue(index));
                }
            }
            reason => {
                unit.state = State::Waiting;
                if let (Some(reason), true) = (reason, unit.sources.is_some()) {
                    unit.processor.waits_for(reason);
                }
                self.book(index, now, reason.into());
                if let Some(duration) = self.processors[index].memory.block_move() {
                    self.events.schedule(now + duration, Event::BlockMoved(index));
                }
            }
        }
        match self.is_shared() {
            true => self.ask_in_order(index, now),
            false => self.ask_at_stop(index, now),
        }
    }

    /// A processor needs the value of a load that is under way.
    pub(super) fn wait_for_load(&mut self, index: usize) {
        self.processors[index].state = State::Waiting;
        let now = self.processors[index].processor.now();
        self.book(index, now, Occupation::DataMiss);
    }
}

/// How a processor's run has ended.
struct Run {
    stop: Stop,
    /// The loop in which it seems to wait.
    seen: Option<Candidate>,
    /// How many steps of its bus it took by itself.
    steps: u64,
}

/// Books the time of misses and accesses for which a processor that is alone did not stop.
#[inline(always)]
fn book_within(ledger: &mut Ledger<(Activity, Spent)>, activities: &Activities, alone: &mut DirectBus<'_>) {
    let activity = activities.current();
    let mut book = |occupation, answerer, WaitTime { granted, answered }| {
        let wait = |resource| (activity, Spent { occupation, resource: Some(resource) });
        ledger.book_within(wait(Resource::Interconnect), granted);
        ledger.book_within(wait(answerer), answered);
    };
    book(Occupation::DataMiss, Resource::Memory, std::mem::take(&mut alone.missed));
    if alone.accessed.answered > Duration::ZERO {
        book(Occupation::Uncached, Resource::Interface, std::mem::take(&mut alone.accessed));
    }
}

/// A processor that has something to do, among several.
pub(super) struct Turn {
    /// Its place among the processors.
    pub index: usize,
    pub now: Time,
    /// Up to when it lets the others execute, if they have asked.
    others_until: Option<Time>,
}

impl Turn {
    /// That of a processor; none if it has nothing to do before `limit`.
    #[inline(always)]
    pub fn of(index: usize, unit: &NodeProcessor, limit: Time) -> Option<Self> {
        unit.is_active(limit).then(|| Turn { index, now: unit.processor.now(), others_until: None })
    }
}

/// The place of the slowest of these, which runs next, and up to when.
#[inline(always)]
fn slowest_to_run(turns: &mut [Turn], units: &[NodeProcessor], limit: Time) -> Option<(usize, Time)> {
    let mut slowest = 0;
    let mut least = turns.first()?.now;
    let mut horizon = limit;
    for place in 1..turns.len() {
        let now = turns[place].now;
        let other = if now < least { std::mem::replace(&mut slowest, place) } else { place };
        least = least.min(now);
        let Turn { index, others_until, .. } = &mut turns[other];
        horizon = horizon.min(*others_until.get_or_insert_with(|| after(units[*index].earliest_effect())));
    }
    Some((slowest, horizon))
}
