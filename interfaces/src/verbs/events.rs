//! Events: how a process that does not poll learns of completions.
//!
//! ```text
//!   program     polls ─► arms: so many are taken ─► waits ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄► takes the event ─► polls
//!   interface              │ a completion lies beyond that number              ▲
//!                          └─ and moderation allows it ─► event ─► message ───┘
//! ```
//!
//! A program arms a completion queue by a store to a register, which says how many completions it has taken: mlx5's
//! consumer index. A completion beyond that number, there already or written later, leads to one event, and the queue is
//! no longer armed. So a completion that is written while the store is under way is not missed. A queue that is armed for
//! solicited completions waits for one that its sender asks an event for, or that tells of an error.
//!
//! **The way of an event** is that of mlx5: an entry of an event queue in memory, written behind the completion, and a
//! message behind the entry ([`crate::vectors`]). Hardware has an event queue for each vector, and its kernel sorts what it
//! finds there into the channels of processes. Here each channel of a process has an event queue and a vector of its own,
//! and the library reads the entries.
//!
//! **Arms are numbered**, modulo 4. The driver counts on when it takes an event, as libmlx5 does. An arm with the number
//! of the one that led to the last event was stored before the driver took that event; it is ignored, since the program
//! has still to take the event and polls behind it. So of each completion queue one event at most is in an event
//! queue, which therefore does not overflow.
//!
//! **Moderation** counts from one event of a completion queue to the next ([`Moderation`]).

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::calls::{Done, Words, entries, pin, unpin};
use super::formats::{BASIC_BLOCK, EVENT};
use super::function::{Function, Purpose};
use super::objects::Memory;
use super::packets::ahead;
use crate::device_call::{CallError, OperatingSystem};
use crate::half::{Context, RegisterFault};
use crate::moderation::Moderation;

narthex_kernel::statistics! {
    /// What a process's part of the interface did about events.
    pub struct EventStatistics {
        arms: Counter, "verbs_arms", "stores", "stores that arm completion queues";
        events: Counter, "verbs_events", "events", "events of completion queues, each with a message";
        moderated: Counter, "verbs_events_moderated", "events", "those of them that moderation held back";
        masked: Counter, "verbs_events_masked", "events", "those of them whose message was held back, as its vector was masked";
    }
}

/// A store that arms a completion queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Arm {
    /// Completions that the program has taken, modulo 2^24.
    index: u32,
    /// Only solicited completions count.
    solicited_only: bool,
    /// Events that the driver has taken, modulo 4.
    sequence: u8,
}

impl Arm {
    /// Bit of the upper word: only solicited completions count.
    pub const SOLICITED_ONLY: u32 = 1 << 24;
    /// Where the number of the arm begins in the upper word.
    pub const SEQUENCE_SHIFT: u32 = 28;
    const INDEX: u32 = Self::SOLICITED_ONLY - 1;

    /// The completion queue that a doubleword names, and how it is armed: mlx5's layout.
    pub fn of(word: u64) -> (u32, Self) {
        let upper = (word >> 32) as u32;
        let arm = Arm {
            index: upper & Self::INDEX,
            solicited_only: upper & Self::SOLICITED_ONLY != 0,
            sequence: (upper >> Self::SEQUENCE_SHIFT) as u8 & 3,
        };
        (word as u32, arm)
    }
}

/// What the process is told of a completion queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// The event queue.
    pub event_queue: u32,
    armed: Option<Arm>,
    /// The number of the arm that led to the last event.
    told: Option<u8>,
    /// Completions behind the last solicited one.
    since_solicited: u32,
    /// When moderation allows the next event.
    free_at: Time,
    is_held: bool,
}

impl Notice {
    /// Of a queue that is not armed.
    pub fn new(event_queue: u32) -> Self {
        let (armed, told, free_at) = (None, None, Time::ZERO);
        Notice { event_queue, armed, told, since_solicited: u32::MAX, free_at, is_held: false }
    }

    /// The program arms the queue.
    pub fn arm(&mut self, arm: Arm) {
        if self.told != Some(arm.sequence) {
            self.armed = Some(arm);
        }
    }

    /// A completion is written.
    pub fn completed(&mut self, is_solicited: bool) {
        self.since_solicited = if is_solicited { 0 } else { self.since_solicited.saturating_add(1) };
    }

    /// Completions of which the program wants to be told, if so many have been written.
    fn wanted(&self, produced: u32) -> u64 {
        let Some(arm) = self.armed else { return 0 };
        let beyond = ahead(produced, arm.index).max(0) as u32;
        let past = if arm.solicited_only { self.since_solicited } else { 0 };
        beyond.saturating_sub(past).into()
    }

    /// From when on there may be an event, if so many completions have been written; none if there is nothing to
    /// tell of.
    pub fn due(&self, produced: u32, moderation: Moderation) -> Option<Time> {
        let wanted = self.wanted(produced);
        let at = if wanted >= moderation.packets { Time::ZERO } else { self.free_at };
        (wanted > 0).then_some(at)
    }

    /// The event is written.
    pub fn tell(&mut self, now: Time, moderation: Moderation) {
        self.told = self.armed.take().map(|arm| arm.sequence);
        (self.free_at, self.is_held) = (now + moderation.time, false);
    }
}

/// An event queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct EventQueue {
    /// The ring of events.
    pub ring: Memory,
    /// Events so far.
    produced: u32,
    /// Completion queues whose events go to it.
    pub users: u32,
}

impl EventQueue {
    /// Entries.
    fn entries(&self) -> u32 {
        (self.ring.bytes / EVENT as u64) as u32
    }

    /// The next event, of this completion queue: where it is written, and its bytes. The owner bit is 1 in the first
    /// lap.
    fn next(&mut self, completion_queue: u32) -> (u64, Vec<u8>) {
        let entries = self.entries();
        let offset = u64::from(self.produced % entries) * EVENT as u64;
        let mut bytes = vec![0; EVENT];
        bytes[..4].copy_from_slice(&completion_queue.to_le_bytes());
        bytes[EVENT - 1] = u8::from((self.produced / entries).is_multiple_of(2));
        self.produced = self.produced.wrapping_add(1);
        (self.ring.of_ring(offset, EVENT as u64)[0].address, bytes)
    }
}

impl Function {
    /// A store that arms a completion queue.
    ///
    /// # Errors
    /// If the process has none of this number with events, or has not taken so many completions of it.
    pub fn arm(&mut self, word: u64) -> Result<(), RegisterFault> {
        let (number, arm) = Arm::of(word);
        let found = self.completion_queues.get_mut(number);
        let Some(queue) = found.filter(|queue| queue.notice.is_some()) else {
            return Err(RegisterFault(format!(
                "completion queue {number} is armed, and the process has none of this number with a channel"
            )));
        };
        let (beyond, entries) = (ahead(queue.produced, arm.index), queue.entries());
        if !(0..=entries.cast_signed()).contains(&beyond) {
            return Err(RegisterFault(format!(
                "completion queue {number} is armed with {} completions taken; {} have been written to its {entries} \
                 entries",
                arm.index, queue.produced
            )));
        }
        queue.notice.iter_mut().for_each(|notice| notice.arm(arm));
        self.event_statistics.arms.increment();
        self.noticed.push_back(number);
        Ok(())
    }

    /// Writes events of the completion queues of which there may be something to tell; whether there was.
    pub(super) fn tell_of_completions(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_told = false;
        while let Some(number) = self.noticed.pop_front() {
            let Some(moderation) = self.parameters.moderation else { continue };
            let Some(queue) = self.completion_queues.get_mut(number) else { continue };
            let Some(notice) = &mut queue.notice else { continue };
            match notice.due(queue.produced, moderation) {
                None => {}
                Some(at) if at > context.now => {
                    let was_held = std::mem::replace(&mut notice.is_held, true);
                    self.event_statistics.moderated.add((!was_held).into());
                    self.call_at(context, at);
                }
                Some(_) => {
                    notice.tell(context.now, moderation);
                    let event_queue = notice.event_queue;
                    self.write_event(event_queue, number);
                    has_told = true;
                }
            }
        }
        has_told
    }

    fn write_event(&mut self, event_queue: u32, completion_queue: u32) {
        let Some(queue) = self.event_queues.get_mut(event_queue) else { return };
        let (address, bytes) = queue.next(completion_queue);
        self.dma.write(Some(Purpose::Event(event_queue as u8)), address, bytes);
    }

    /// An event is in memory: its message leaves.
    pub(super) fn has_written_event(&mut self, vector: u8) {
        let is_masked = self.dma.vectors.raise(vector);
        self.event_statistics.events.increment();
        self.event_statistics.masked.add(is_masked.into());
    }

    /// An instant has come at which moderation may allow events.
    pub(super) fn look_at_notices(&mut self) {
        let all = self.completion_queues.all().filter(|(_, queue)| queue.notice.is_some());
        self.noticed.extend(all.map(|(number, _)| number));
    }

    /// Address, logarithm of entries: the event queue, whose number is its vector.
    pub(super) fn create_event_queue(&mut self, words: &mut Words, system: &mut dyn OperatingSystem) -> Done {
        let [address, log, ..] = *words;
        if self.parameters.moderation.is_none() {
            return Err(CallError::UnknownRequest);
        }
        if !address.is_multiple_of(BASIC_BLOCK as u64) {
            return Err(CallError::Invalid);
        }
        let ring = pin(system, address, entries(log)? * EVENT as u64)?;
        let (address, bytes) = (ring.address, ring.bytes);
        match self.event_queues.add(EventQueue { ring, produced: 0, users: 0 }) {
            Some(number) => {
                words[2] = number.into();
                Ok(())
            }
            None => {
                system.unpin(address, bytes)?;
                Err(CallError::NoMemory)
            }
        }
    }

    pub(super) fn destroy_event_queue(&mut self, number: u64, system: &mut dyn OperatingSystem) -> Done {
        let queue = self.event_queues.get(number).ok_or(CallError::Absent)?;
        if queue.users > 0 {
            return Err(CallError::Busy);
        }
        self.check_idle()?;
        let queue = self.event_queues.remove(number).expect("it is there");
        unpin(system, &[queue.ring])
    }

    /// Completion queue, event queue: events of the one go to the other.
    pub(super) fn notify(&mut self, words: &Words) -> Done {
        let [number, event_queue, ..] = *words;
        let events = self.event_queues.get_mut(event_queue).ok_or(CallError::Absent)?;
        let queue = self.completion_queues.get_mut(number).ok_or(CallError::Absent)?;
        if queue.notice.is_some() {
            return Err(CallError::Busy);
        }
        if events.users == events.entries() {
            return Err(CallError::NoMemory);
        }
        events.users += 1;
        queue.notice = Some(Notice::new(event_queue as u32));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};

    use narthex_kernel::Duration;

    use super::*;

    const NONE: Moderation = Moderation { time: Duration::ZERO, packets: u64::MAX };
    /// Completions; the second one is solicited.
    const COMPLETIONS: u32 = 3;

    fn arm(index: u32, sequence: u8, solicited_only: bool) -> Arm {
        Arm { index, sequence, solicited_only }
    }

    /// How driver or interface may be wrong.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    enum Mutant {
        /// None: the driver polls again behind the arm, or does not.
        Right { looks_again: bool },
        /// The driver arms from what is written then, not from what it has taken, and polls again or does not.
        ArmsBehindItsPoll { looks_again: bool },
        /// The interface tells only of completions behind the arm's arrival, whatever that says.
        Edge,
        /// The driver does not count the events that it takes.
        CountsNoEvents,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    enum Driver {
        Polls,
        Arms,
        LooksAgain,
        Waits,
    }

    /// What leaves the interface, in its order.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    enum Written {
        Completion,
        Event,
        Message,
    }

    /// The interface, the driver and what is under way between them.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct World {
        notice: Notice,
        produced: u32,
        leaving: VecDeque<Written>,
        stores: VecDeque<Arm>,
        driver: Driver,
        completions: u32,
        events: u8,
        has_message: bool,
        taken: u32,
        sequence: u8,
        solicited_only: bool,
    }

    impl World {
        fn start(solicited_only: bool) -> Self {
            World {
                notice: Notice::new(0),
                produced: 0,
                leaving: VecDeque::new(),
                stores: VecDeque::new(),
                driver: Driver::Polls,
                completions: 0,
                events: 0,
                has_message: false,
                taken: 0,
                sequence: 0,
                solicited_only,
            }
        }

        /// The driver's next step; none if it sleeps.
        fn driven(mut self, mutant: Mutant) -> Option<World> {
            let looks_again = match mutant {
                Mutant::Right { looks_again } | Mutant::ArmsBehindItsPoll { looks_again } => looks_again,
                _ => false,
            };
            self.driver = match self.driver {
                Driver::Polls if self.taken < self.completions => {
                    self.taken = self.completions;
                    Driver::Polls
                }
                Driver::Polls => Driver::Arms,
                Driver::Arms => {
                    let is_late = matches!(mutant, Mutant::ArmsBehindItsPoll { .. });
                    let index = if is_late { self.completions } else { self.taken };
                    self.stores.push_back(arm(index, self.sequence, self.solicited_only));
                    if looks_again { Driver::LooksAgain } else { Driver::Waits }
                }
                Driver::LooksAgain if self.taken < self.completions => Driver::Polls,
                Driver::LooksAgain => Driver::Waits,
                Driver::Waits if self.events > 0 => {
                    self.events -= 1;
                    self.sequence = (self.sequence + u8::from(mutant != Mutant::CountsNoEvents)) % 4;
                    Driver::Polls
                }
                Driver::Waits if std::mem::take(&mut self.has_message) => Driver::Waits,
                Driver::Waits => return None,
            };
            Some(self)
        }

        fn tell(&mut self) {
            if self.notice.due(self.produced, NONE).is_some() {
                self.notice.tell(Time::ZERO, NONE);
                self.leaving.extend([Written::Event, Written::Message]);
            }
        }

        /// What else may happen.
        fn others(&self, mutant: Mutant) -> Vec<World> {
            let mut next = Vec::new();
            if self.produced < COMPLETIONS {
                let mut world = self.clone();
                world.produced += 1;
                world.notice.completed(world.produced == 2);
                world.leaving.push_back(Written::Completion);
                world.tell();
                next.push(world);
            }
            let mut world = self.clone();
            if let Some(stored) = world.stores.pop_front() {
                let index = if mutant == Mutant::Edge { world.produced } else { stored.index };
                world.notice.arm(Arm { index, ..stored });
                world.tell();
                next.push(world);
            }
            let mut world = self.clone();
            if let Some(written) = world.leaving.pop_front() {
                match written {
                    Written::Completion => world.completions += 1,
                    Written::Event => world.events += 1,
                    Written::Message => world.has_message = true,
                }
                assert!(world.events <= 1, "one event at most is in the event queue");
                next.push(world);
            }
            next
        }

        fn misses(&self) -> bool {
            self.taken < if self.solicited_only { 2 } else { COMPLETIONS }
        }
    }

    /// Whether the program may sleep for ever while there is what it waits for.
    fn loses(mutant: Mutant, solicited_only: bool) -> bool {
        let start = World::start(solicited_only);
        let (mut known, mut open) = (HashSet::from([start.clone()]), vec![start]);
        while let Some(world) = open.pop() {
            let mut next = world.others(mutant);
            next.extend(world.clone().driven(mutant));
            if next.is_empty() && world.misses() {
                return true;
            }
            open.extend(next.into_iter().filter(|next| known.insert(next.clone())));
        }
        assert!(known.len() > 50, "{}", known.len());
        false
    }

    #[test]
    fn a_program_that_arms_with_what_it_has_taken_misses_no_completion_and_one_that_does_otherwise_may() {
        for solicited_only in [false, true] {
            for looks_again in [true, false] {
                assert!(!loses(Mutant::Right { looks_again }, solicited_only));
            }
            assert!(loses(Mutant::ArmsBehindItsPoll { looks_again: false }, solicited_only));
            assert!(!loses(Mutant::ArmsBehindItsPoll { looks_again: true }, false));
            assert!(loses(Mutant::Edge, solicited_only));
        }
        assert!(loses(Mutant::CountsNoEvents, false));
    }

    #[test]
    fn an_event_waits_for_the_time_since_the_last_one_or_for_so_many_completions() {
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let moderation = Moderation { time: Duration::from_ns(20_000), packets: 3 };
        let mut notice = Notice::new(0);
        assert_eq!(notice.due(5, moderation), None, "it is not armed");
        notice.arm(arm(4, 0, false));
        assert_eq!(notice.due(5, moderation), Some(Time::ZERO), "after a pause");
        notice.tell(at(10), moderation);
        notice.arm(arm(4, 0, false));
        assert_eq!(notice.due(9, moderation), None, "the program has not taken the event");
        notice.arm(arm(5, 1, false));
        assert_eq!(
            [5, 6, 7, 8].map(|produced| notice.due(produced, moderation)),
            [None, Some(at(20_010)), Some(at(20_010)), Some(Time::ZERO)]
        );
    }

    #[test]
    fn only_a_solicited_completion_ends_a_wait_for_one() {
        let mut notice = Notice::new(0);
        let mut due = |produced, is_solicited, index| {
            notice.completed(is_solicited);
            notice.arm(arm(index, 0, true));
            notice.due(produced, NONE).is_some()
        };
        assert!(!due(0x100_0001, false, 0));
        assert!(due(0x100_0002, true, 1) && due(0x100_0003, false, 1) && !due(0x100_0004, false, 2));
    }
}
