//! The partitions that one thread simulates: all of them, or its share.
//!
//! A group holds the locks of its partitions while it simulates them, so that
//! no thread takes a lock for a window. What several windows need of a partition
//! lies beside the locks, in lists that are short to go through.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::tiers::Members;
use super::window::{Covered, Departures, Flags, Stretch, Summary, Window};
use crate::archive::{Archive, Archived, Damage};
use crate::partition::{Envelope, Outbox, Partition, Status};
use crate::time::Time;

/// A partition with its outbox; aligned so that partitions of different threads
/// share no cache line, nor two that the host fetches as a pair.
#[repr(align(128))]
pub(super) struct Slot<P: Partition> {
    pub partition: P,
    outbox: Outbox<P::Payload>,
    /// Host time that sampled windows took, in nanoseconds: what balances threads.
    pub work: u64,
}

/// All partitions, each behind a lock that its thread holds.
pub(super) type Slots<P> = [Mutex<Slot<P>>];

impl<P: Partition> Slot<P> {
    pub fn new(index: usize, partition: P) -> Self {
        Slot { partition, outbox: Outbox::new(index), work: 0 }
    }
}

impl<P: Partition + Archived> Archived for Slot<P> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Slot { partition, outbox, work: _ } = self;
        outbox.archive(archive)?;
        partition.archive(archive)
    }
}

/// Where a partition is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadPosition {
    /// By which thread.
    pub thread: usize,
    /// At which position of its group.
    pub position: usize,
}

/// The partitions of one thread.
pub(super) struct Group<'a, P: Partition> {
    thread: usize,
    /// How many of all partitions are of the first tier.
    first_tier: usize,
    members: Vec<MutexGuard<'a, Slot<P>>>,
    /// Each member's `next_time`, or never.
    next_times: Vec<Time>,
    /// Each member's `earliest_departure`: a few cache lines tell who is due.
    departures: Vec<Time>,
    finished: Vec<bool>,
    /// How many members are of the first tier: they come first.
    first_members: usize,
    /// How many of each tier have not finished.
    unfinished: [usize; 2],
    stopped: bool,
    /// How far the member has come that was first in the last window.
    reached: Time,
    /// When the first of what was sent in the last window arrives.
    first_arrival: Time,
    /// The number of each member among all partitions.
    numbers: Vec<u32>,
    /// Whether the last window took the members from the last one to the first: each window
    /// begins where the one before has ended, with what the host's caches still hold.
    is_backwards: bool,
    /// What members have sent in this window.
    mail: Vec<Envelope<P::Payload>>,
    /// The places of all partitions.
    places: Vec<ThreadPosition>,
}

impl<'a, P: Partition> Group<'a, P> {
    /// The group of a thread, still without members; so many of all partitions are of
    /// the first tier.
    pub fn new(thread: usize, first_tier: usize) -> Self {
        Group {
            thread,
            first_tier,
            members: Vec::new(),
            next_times: Vec::new(),
            departures: Vec::new(),
            finished: Vec::new(),
            first_members: 0,
            unfinished: [0; 2],
            stopped: false,
            reached: Time::ZERO,
            first_arrival: Time::NEVER,
            numbers: Vec::new(),
            is_backwards: true,
            mail: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Takes those partitions whose places are with the thread.
    pub fn take(&mut self, slots: &'a Slots<P>, places: &[ThreadPosition]) {
        self.places.clear();
        self.places.extend_from_slice(places);
        let own = places.iter().zip(slots).filter(|(place, _)| place.thread == self.thread);
        self.members.clear();
        self.members.extend(own.map(|(_, slot)| slot.lock().expect("no thread has panicked")));
        let numbers = (0..).zip(places).filter(|(_, place)| place.thread == self.thread);
        self.numbers.clear();
        self.numbers.extend(numbers.map(|(number, _)| number));
        let first = places.iter().take(self.first_tier);
        self.first_members = first.filter(|place| place.thread == self.thread).count();
        self.refresh();
    }

    /// Takes all partitions.
    pub fn take_all(&mut self, slots: &'a Slots<P>) {
        let thread = self.thread;
        let places: Vec<ThreadPosition> =
            (0..slots.len()).map(|position| ThreadPosition { thread, position }).collect();
        self.take(slots, &places);
    }

    /// Gives its partitions back.
    pub fn release(&mut self) {
        self.members.clear();
    }

    /// Looks at all members again: they may have been changed.
    pub fn refresh(&mut self) {
        self.next_times.clear();
        self.next_times.extend(self.members.iter().map(|slot| due(&slot.partition)));
        self.departures.clear();
        self.departures.extend(self.members.iter().map(|slot| slot.partition.earliest_departure()));
        self.finished.clear();
        let finished =
            |slot: &MutexGuard<'_, Slot<P>>| matches!(slot.partition.status(), Status::Finished { .. });
        self.finished.extend(self.members.iter().map(finished));
        let (first, second) = self.finished.split_at(self.first_members);
        self.unfinished = [first, second].map(|tier| tier.iter().filter(|&&finished| !finished).count());
        self.stopped = false;
    }

    /// Whether it is the only partition: nothing arrives that it does not send itself.
    pub fn is_alone(&self) -> bool {
        self.places.len() == 1
    }

    /// Its partitions.
    pub fn members(&self) -> impl Iterator<Item = &P> {
        self.members.iter().map(|slot| &slot.partition)
    }

    /// Its partitions, to be changed; [`refresh`](Self::refresh) afterwards.
    pub fn slots(&mut self) -> impl Iterator<Item = &mut Slot<P>> {
        self.members.iter_mut().map(|slot| &mut **slot)
    }

    /// The earliest instant at which any of them would do something.
    pub fn earliest(&self) -> Time {
        self.summary().earliest()
    }

    /// What there is to do next, and what its partitions have come to.
    pub fn summary(&self) -> Summary {
        let (first, second) = self.next_times.split_at(self.first_members);
        let earliest = [earliest(first), earliest(second)];
        let departures = Departures::of(&self.departures[..self.first_members], &self.numbers);
        let flags = Flags {
            finished: self.unfinished == [0; 2],
            has_finished: self.unfinished[0] < self.first_members,
            stopped: self.stopped,
        };
        let unfinished = match flags.has_finished {
            false => earliest[0].min(earliest[1]),
            true => {
                let unfinished =
                    self.next_times.iter().zip(&self.finished).filter(|(_, finished)| !**finished);
                unfinished.map(|(&next, _)| next).min().unwrap_or(Time::NEVER)
            }
        };
        // What was sent may be for one that has not finished, wherever that is.
        let unfinished = unfinished.min(self.first_arrival);
        Summary { earliest, unfinished, departures, reached: self.reached, flags }
    }

    /// The positions of these members.
    fn positions(&self, members: Members) -> Range<usize> {
        match members {
            Members::All => 0..self.members.len(),
            Members::First => 0..self.first_members,
            Members::Second => self.first_members..self.members.len(),
        }
    }

    /// The tier of a partition.
    fn tier(&self, partition: usize) -> usize {
        usize::from(partition >= self.first_tier)
    }

    /// Simulates a window. What members send to each other is delivered; the
    /// rest goes to `post`, with the thread of its destination. The host time that
    /// each member takes is counted as its work if the window is `sampled`.
    pub fn simulate(
        &mut self,
        window: &Window,
        sampled: bool,
        mut post: impl FnMut(usize, Envelope<P::Payload>),
    ) {
        let positions = self.positions(window.members);
        self.is_backwards = !self.is_backwards;
        (self.reached, self.first_arrival) = (Time::ZERO, Time::NEVER);
        match self.is_backwards {
            false => positions.for_each(|position| self.advance_if_due(position, window, sampled)),
            true => positions.rev().for_each(|position| self.advance_if_due(position, window, sampled)),
        }
        if self.mail.is_empty() {
            return;
        }
        let mut mail = std::mem::take(&mut self.mail);
        for envelope in mail.drain(..) {
            self.first_arrival = self.first_arrival.min(envelope.arrival);
            match self.place(&envelope, window) {
                ThreadPosition { thread, position } if thread == self.thread => {
                    self.deliver_at(position, envelope)
                }
                ThreadPosition { thread, .. } => post(thread, envelope),
            }
        }
        self.mail = mail;
    }

    /// Simulates a stretch; it has all partitions.
    pub fn simulate_stretch(&mut self, stretch: &Stretch) -> Option<Covered> {
        stretch.simulate(|window| {
            self.simulate(window, false, |_, _| unreachable!("all partitions are here"));
            Some(self.summary())
        })
    }

    /// Delivers what another thread's partition has sent.
    pub fn deliver(&mut self, envelope: Envelope<P::Payload>) {
        self.deliver_at(self.places[envelope.destination].position, envelope);
    }

    fn deliver_at(&mut self, position: usize, envelope: Envelope<P::Payload>) {
        let arrival = envelope.arrival;
        let partition = &mut self.members[position].partition;
        let departure = partition.departure_after(&envelope);
        partition.deliver(envelope);
        self.next_times[position] = self.next_times[position].min(arrival);
        self.departures[position] = self.departures[position].min(departure);
    }

    fn place(&self, envelope: &Envelope<P::Payload>, window: &Window) -> ThreadPosition {
        let (source, destination, count) = (envelope.source, envelope.destination, self.places.len());
        assert!(destination < count, "partition {source} sends to {destination}, but there are only {count}");
        assert!(
            envelope.arrival >= window.first_arrivals[self.tier(destination)],
            "partition {source} sends to {destination} for {}, sooner than its tier can hear of it",
            envelope.arrival
        );
        self.places[destination]
    }

    #[inline(always)]
    fn advance_if_due(&mut self, position: usize, window: &Window, sampled: bool) {
        let due = if window.is_complete { &self.next_times } else { &self.departures };
        if due[position] < window.end {
            self.advance(position, window, sampled);
        }
    }

    fn advance(&mut self, position: usize, window: &Window, sampled: bool) {
        let begin = sampled.then(Instant::now);
        let slot = &mut *self.members[position];
        let departure = self.departures[position];
        let first = window.first.filter(|first| first.departure == departure);
        let (mut end, answer_time) = match first {
            Some(first) => (first.end, Some(window.latency)),
            None => (window.end, None),
        };
        if self.finished[position] {
            end = end.min(window.finished_end);
            if self.next_times[position] >= end {
                return;
            }
        }
        slot.outbox.begin(end, answer_time, departure.saturating_add(window.latency));
        slot.partition.expect_inspection(window.ahead_until.max(end));
        slot.partition.advance(&mut slot.outbox);
        let end = slot.outbox.until();
        slot.outbox.move_to(&mut self.mail);
        let (next, status) = (due(&slot.partition), slot.partition.status());
        if let Some(begin) = begin {
            slot.work += begin.elapsed().as_nanos() as u64;
        }
        let stopped = matches!(status, Status::Stopped { .. });
        let finished = matches!(status, Status::Finished { .. });
        assert!(next >= end || finished, "a partition left work for {next} when it advanced to {end}");
        if first.is_some() {
            // One that finishes may leave the rest of its window.
            self.reached = end.min(next);
        }
        self.next_times[position] = next;
        self.departures[position] = slot.partition.earliest_departure();
        self.stopped |= stopped;
        if std::mem::replace(&mut self.finished[position], finished) != finished {
            let unfinished = &mut self.unfinished[usize::from(position >= self.first_members)];
            *unfinished = if finished { *unfinished - 1 } else { *unfinished + 1 };
        }
    }
}

/// The earliest of some instants.
#[inline(always)]
fn earliest(times: &[Time]) -> Time {
    times.iter().fold(Time::NEVER, |least, &time| if time < least { time } else { least })
}

/// When a partition would do something by itself, as an instant.
fn due<P: Partition>(partition: &P) -> Time {
    partition.next_time().unwrap_or(Time::NEVER)
}
