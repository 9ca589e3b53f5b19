//! The queue state files: the physical queues with which the units work, and the map from
//! logical queues to them (Section 3).
//!
//! ```text
//!   store of a user ──► logical queue ── map ──┬─ resident: pointer of a physical queue ──► unit
//!                                              └─ not resident: captured for the firmware
//! ```
//!
//! A pointer counts slots modulo 2^16: producer - consumer are in use, and never more than the
//! queue has. A program stores one of its queue's pointers; a value that cannot be, or a store
//! to the other one, sets the queue's error, and the queue stands: the error is its owner's
//! alone.
//!
//! **Lending a physical queue.** The map alone decides who works on a logical queue, so that a
//! switch is one instant for its user. A queue that is taken away ([`QueueFile::leave`]) first
//! stops; the packet that its unit is at is finished; then its pointers are handed out for the
//! shadow words and its map entry goes, both at once. A receive queue that is mapped and not
//! enabled holds its packets in the network: until all older ones, which went to the miss
//! queue, are at their place. One that is full diverts its packets there, so that it holds up
//! no other queue; the firmware takes it away then. A store that was captured before the queue was mapped is
//! forwarded by [`QueueFile::advance`], which never moves a pointer back.

mod queue;

use serde::{Deserialize, Serialize};

use super::layout::Direction;
use super::registers::{
    CONTROL_DIVERTS, CONTROL_ENABLED, CONTROL_URGENT, POINTER_CONSUMER, POINTER_PRODUCER, POINTER_STATUS,
    QUEUE_CLOSED, QUEUE_OPEN, {self as register},
};
pub use queue::Queue;

/// The physical receive queue of the firmware: what no other takes.
pub const MISS: usize = 0;

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// It goes to this physical queue.
    Queue(usize),
    /// It stays in the network.
    Held,
    /// It goes: its queue has an error.
    Dropped,
}

/// A queue that was taken from its logical one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Which physical queue.
    pub physical: usize,
    /// Which way it goes.
    pub direction: Direction,
    /// Its state at that instant.
    pub queue: Queue,
}

/// Something that a model checker leaves out to show that it is needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Rule {
    /// A queue is taken away only when its unit has left it.
    WaitForUnit,
    /// A forwarded pointer never moves back.
    NeverBack,
    /// A mapped receive queue that is not enabled holds its packets.
    HoldWhileDisabled,
    /// A receive queue is mapped while no packet is on its way to the miss queue.
    MapWhenQuiet,
    /// Packets follow the one before them that was diverted.
    FollowDiverted,
    /// A pointer that cannot be is refused.
    CheckPointers,
}

impl Rule {
    /// All of them, by the names that users write.
    pub const ALL: [(Rule, &'static str); 6] = [
        (Rule::WaitForUnit, "waiting-for-the-unit"),
        (Rule::NeverBack, "never-back"),
        (Rule::HoldWhileDisabled, "holding-while-disabled"),
        (Rule::MapWhenQuiet, "mapping-when-quiet"),
        (Rule::FollowDiverted, "following-the-diverted"),
        (Rule::CheckPointers, "checking-pointers"),
    ];
}

/// The physical queues, and the map to them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct QueueFile {
    queues: [Vec<Queue>; 2],
    map: [Vec<Option<u8>>; 2],
    /// At which queues each unit is, by bit.
    busy: [u16; 2],
    left_out: Option<Rule>,
}

impl QueueFile {
    /// So many physical queues of each direction, for so many logical ones.
    pub fn new(physical: u32, logical: u32) -> Self {
        QueueFile {
            queues: [(), ()].map(|()| vec![Queue::default(); physical as usize]),
            map: [(), ()].map(|()| vec![None; logical as usize]),
            busy: [0; 2],
            left_out: None,
        }
    }

    /// The same without a rule.
    pub fn without(self, rule: Rule) -> Self {
        QueueFile { left_out: Some(rule), ..self }
    }

    /// The queues of a direction.
    pub fn of(&self, direction: Direction) -> &[Queue] {
        &self.queues[direction as usize]
    }

    /// A physical queue.
    pub fn queue(&self, direction: Direction, physical: usize) -> &Queue {
        &self.queues[direction as usize][physical]
    }

    /// The same, to be changed.
    pub fn queue_mut(&mut self, direction: Direction, physical: usize) -> &mut Queue {
        &mut self.queues[direction as usize][physical]
    }

    /// Whether nothing is left of what a physical queue was for.
    pub fn is_unused(&self, direction: Direction, physical: usize) -> bool {
        *self.queue(direction, physical) == Queue::default()
    }

    /// The physical queue of a logical one; none if it is not resident.
    pub fn resident(&self, direction: Direction, logical: u8) -> Option<usize> {
        self.map[direction as usize].get(usize::from(logical)).copied().flatten().map(usize::from)
    }

    /// Logical queues of a direction.
    pub fn logical_queues(&self) -> usize {
        self.map[0].len()
    }

    /// A program stores to its pointer window; false if the queue is not resident.
    pub fn store(&mut self, direction: Direction, logical: u8, offset: u64, value: u64) -> bool {
        let Some(physical) = self.resident(direction, logical) else { return false };
        let is_checked = self.left_out != Some(Rule::CheckPointers);
        let queue = self.queue_mut(direction, physical);
        match (direction, is_checked) {
            (_, true) => queue.store(direction, offset, value),
            (Direction::Transmit, false) => queue.producer = value as u16,
            (Direction::Receive, false) => queue.consume(value as u16),
        }
        true
    }

    /// A program loads from its pointer window; none if the queue is not resident.
    pub fn load(&self, direction: Direction, logical: u8, offset: u64) -> Option<u64> {
        let physical = self.resident(direction, logical)?;
        Some(self.queue(direction, physical).load(offset))
    }

    /// Whether a logical queue may be given a physical one now: a packet that is on its way to
    /// the miss queue is not seen there yet, and would be overtaken.
    pub fn can_map(&self, direction: Direction) -> bool {
        direction == Direction::Transmit
            || !self.is_busy(Direction::Receive, MISS)
            || self.left_out == Some(Rule::MapWhenQuiet)
    }

    /// Gives a logical queue a physical one.
    pub fn map(&mut self, direction: Direction, logical: u8, physical: usize) {
        self.map[direction as usize][usize::from(logical)] = Some(physical as u8);
    }

    /// A pointer that a program stored moves forward to `value`, unless it is there or
    /// beyond.
    pub fn advance(&mut self, direction: Direction, physical: usize, value: u64) {
        let may_go_back = self.left_out == Some(Rule::NeverBack);
        let queue = self.queue_mut(direction, physical);
        let own = match direction {
            Direction::Transmit => queue.producer,
            Direction::Receive => queue.consumer,
        };
        let offset = match direction {
            Direction::Transmit => POINTER_PRODUCER,
            Direction::Receive => POINTER_CONSUMER,
        };
        // Ahead is less than half of all pointers ahead.
        let is_behind = u16::try_from(value).is_ok_and(|value| value.wrapping_sub(own) > 1 << 15);
        match (is_behind, may_go_back) {
            (false, _) => queue.store(direction, offset, value),
            (true, false) => {}
            (true, true) => match direction {
                Direction::Transmit => queue.producer = value as u16,
                Direction::Receive => queue.consumer = value as u16,
            },
        }
    }

    /// The next queue behind `last` that has a message, for the transmit unit: of those with
    /// the network's high priority, or of the others.
    pub fn next_to_transmit(&self, last: usize, is_urgent: bool) -> Option<usize> {
        let queues = &self.queues[Direction::Transmit as usize];
        let mut places = (last + 1..queues.len()).chain(0..=last);
        places.find(|&place| {
            let queue = &queues[place];
            queue.is_urgent == is_urgent && queue.is_working() && queue.used() > 0
        })
    }

    /// A unit works on a queue from now on.
    pub fn begin(&mut self, direction: Direction, physical: usize) {
        self.busy[direction as usize] |= 1 << physical;
    }

    /// It has left the queue.
    fn end(&mut self, direction: Direction, physical: usize) {
        self.busy[direction as usize] &= !(1 << physical);
    }

    fn is_busy(&self, direction: Direction, physical: usize) -> bool {
        self.busy[direction as usize] >> physical & 1 != 0
    }

    /// The transmit unit has read the message that it was at.
    pub fn transmitted(&mut self, physical: usize) {
        self.end(Direction::Transmit, physical);
        let queue = self.queue_mut(Direction::Transmit, physical);
        queue.consumer = queue.consumer.wrapping_add(1);
    }

    /// The unit leaves a queue that has an error.
    pub fn fail(&mut self, direction: Direction, physical: usize, error: u64) {
        self.end(direction, physical);
        self.queue_mut(direction, physical).error = error;
    }

    /// Where a packet for the firmware goes now.
    pub fn target_of_firmware(&self) -> Target {
        let miss = self.queue(Direction::Receive, MISS);
        if miss.is_full() || !miss.is_enabled { Target::Held } else { Target::Queue(MISS) }
    }

    /// Where a packet for a logical queue goes now.
    pub fn target(&mut self, logical: u8) -> Target {
        let holds = self.left_out != Some(Rule::HoldWhileDisabled);
        let follows = self.left_out != Some(Rule::FollowDiverted);
        let own = self.resident(Direction::Receive, logical);
        let to_miss = self.target_of_firmware();
        let Some(physical) = own else { return to_miss };
        let queue = self.queue_mut(Direction::Receive, physical);
        if queue.error != QUEUE_OPEN {
            return Target::Dropped;
        }
        if !queue.is_enabled || queue.is_leaving {
            return if holds { Target::Held } else { to_miss };
        }
        match queue.is_full() || queue.has_diverted {
            false => Target::Queue(physical),
            true if queue.diverts => {
                queue.has_diverted |= follows && to_miss != Target::Held;
                to_miss
            }
            true => Target::Held,
        }
    }

    /// The receive unit has written a packet.
    pub fn received(&mut self, physical: usize) {
        self.end(Direction::Receive, physical);
        let queue = self.queue_mut(Direction::Receive, physical);
        queue.producer = queue.producer.wrapping_add(1);
    }

    /// A physical queue is to be taken from its logical one: [`QueueFile::take_left`] hands
    /// it out as soon as its unit has left it.
    pub fn leave(&mut self, direction: Direction, physical: usize) {
        self.queue_mut(direction, physical).is_leaving = true;
    }

    /// The next queue that is to be taken away, and can be.
    pub fn next_left(&mut self) -> Option<Left> {
        let all = Direction::BOTH.map(|direction| (direction, self.of(direction).len()));
        all.into_iter().find_map(|(direction, count)| {
            (0..count).find_map(|physical| self.take_left(direction, physical))
        })
    }

    /// A queue that is taken away now: its map entry is gone.
    pub fn take_left(&mut self, direction: Direction, physical: usize) -> Option<Left> {
        let waits = self.left_out != Some(Rule::WaitForUnit);
        let is_busy = waits && self.is_busy(direction, physical);
        if !self.queue(direction, physical).is_leaving || is_busy {
            return None;
        }
        let queue = *self.queue(direction, physical);
        *self.queue_mut(direction, physical) = Queue::default();
        let entry = &mut self.map[direction as usize][usize::from(queue.logical)];
        if *entry == Some(physical as u8) {
            *entry = None;
        }
        Some(Left { physical, direction, queue })
    }

    /// A word of a physical queue's state.
    pub fn word(&self, direction: Direction, physical: usize, offset: u64) -> Option<u64> {
        let queue = self.queue(direction, physical);
        Some(match offset {
            register::CONTROL => {
                (u64::from(queue.is_enabled) * CONTROL_ENABLED)
                    | (u64::from(queue.diverts) * CONTROL_DIVERTS)
                    | (u64::from(queue.is_urgent) * CONTROL_URGENT)
                    | u64::from(queue.logical) << 8
                    | u64::from(queue.process) << 16
            }
            register::BASE => queue.base | queue.headers << 32,
            register::SLOTS => queue.slots.into(),
            register::PRODUCER => queue.producer.into(),
            register::CONSUMER => queue.consumer.into(),
            register::ERROR => queue.error,
            _ => return None,
        })
    }

    /// Sets such a word; false if there is none.
    pub fn set_word(&mut self, direction: Direction, physical: usize, offset: u64, value: u64) -> bool {
        if offset == register::ADVANCE {
            self.advance(direction, physical, value);
            return true;
        }
        let queue = self.queue_mut(direction, physical);
        match offset {
            register::CONTROL => {
                queue.is_enabled = value & CONTROL_ENABLED != 0;
                queue.diverts = value & CONTROL_DIVERTS != 0;
                queue.is_urgent = value & CONTROL_URGENT != 0;
                queue.has_diverted = false;
                queue.logical = (value >> 8) as u8;
                queue.process = (value >> 16) as u8 & 7;
            }
            register::BASE => (queue.base, queue.headers) = (value & 0xf_ffff, value >> 32 & 0xf_ffff),
            register::SLOTS => queue.slots = value as u16,
            register::PRODUCER => queue.producer = value as u16,
            register::CONSUMER => queue.consume(value as u16),
            register::ERROR => queue.error = value,
            _ => return false,
        }
        true
    }
}

/// What a load of a closed queue's pointer window shows.
pub fn closed(offset: u64) -> u64 {
    if offset == POINTER_STATUS { QUEUE_CLOSED } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voyager::registers::QUEUE_BAD_POINTER;

    const TRANSMIT: Direction = Direction::Transmit;
    const RECEIVE: Direction = Direction::Receive;

    /// Logical queue 5 is in physical queue 1 of both directions, with four slots.
    fn file() -> QueueFile {
        let mut file = QueueFile::new(2, 8);
        for direction in Direction::BOTH {
            *file.queue_mut(direction, 1) =
                Queue { is_enabled: true, logical: 5, slots: 4, base: 0x1000, ..Queue::default() };
            file.map(direction, 5, 1);
        }
        *file.queue_mut(RECEIVE, MISS) = Queue { is_enabled: true, slots: 2, ..Queue::default() };
        file
    }

    fn status(file: &QueueFile, direction: Direction) -> u64 {
        file.load(direction, 5, POINTER_STATUS).expect("it is resident")
    }

    #[test]
    fn a_program_fills_and_frees_slots_around_the_end_of_all_pointers() {
        let mut file = file();
        for (producer, consumer) in [(0, 0), (u16::MAX, u16::MAX), (0x7fff, 0x7fff)] {
            *file.queue_mut(TRANSMIT, 1) =
                Queue { producer, consumer, seen: consumer, ..*file.queue(TRANSMIT, 1) };
            let full = producer.wrapping_add(4);
            assert!(file.store(TRANSMIT, 5, POINTER_PRODUCER, full.into()));
            assert!(file.queue(TRANSMIT, 1).is_full());
            assert_eq!(status(&file, TRANSMIT), QUEUE_OPEN);
            for _ in 0..4 {
                assert_eq!(file.next_to_transmit(0, false), Some(1));
                file.begin(TRANSMIT, 1);
                file.transmitted(1);
            }
            assert_eq!((file.next_to_transmit(0, false), file.queue(TRANSMIT, 1).used()), (None, 0));
        }
    }

    #[test]
    fn a_pointer_that_cannot_be_stops_its_queue_alone() {
        let wrong = [
            (TRANSMIT, 0, 5),
            (TRANSMIT, 0, u64::MAX),
            (TRANSMIT, 0, 1 << 16),
            (TRANSMIT, 8, 0),
            (TRANSMIT, 24, 1),
            (TRANSMIT, 16, 0),
            (RECEIVE, 8, 3),
            (RECEIVE, 8, 0xffff),
            (RECEIVE, 0, 0),
        ];
        for (direction, offset, value) in wrong {
            let mut file = file();
            file.store(TRANSMIT, 5, POINTER_PRODUCER, 1);
            file.received(1);
            file.received(1);
            let other = *file.queue(direction, 0);
            file.store(direction, 5, offset, value);
            assert_eq!(status(&file, direction), QUEUE_BAD_POINTER, "{direction:?} {offset} {value}");
            assert_eq!(*file.queue(direction, 0), other);
            match direction {
                Direction::Transmit => assert_eq!(file.next_to_transmit(0, false), None),
                Direction::Receive => assert_eq!(file.target(5), Target::Dropped),
            }
        }
        let mut file = file();
        file.store(TRANSMIT, 5, POINTER_PRODUCER, 2);
        file.store(TRANSMIT, 5, POINTER_PRODUCER, 1);
        assert_eq!(status(&file, TRANSMIT), QUEUE_BAD_POINTER, "a message cannot be taken back");
    }

    #[test]
    fn a_packet_goes_to_its_queue_or_to_the_miss_queue_or_stays_in_the_network() {
        let mut file = file();
        assert_eq!((file.target(5), file.target(6)), (Target::Queue(1), Target::Queue(MISS)));
        (0..4).for_each(|_| file.received(1));
        assert_eq!(file.target(5), Target::Held, "it is full");
        file.queue_mut(RECEIVE, 1).diverts = true;
        assert_eq!(file.target(5), Target::Queue(MISS));
        file.store(RECEIVE, 5, POINTER_CONSUMER, 4);
        assert_eq!(file.target(5), Target::Queue(MISS), "those behind follow the first one");
        file.set_word(RECEIVE, 1, register::CONTROL, CONTROL_ENABLED | 5 << 8);
        assert_eq!(file.target(5), Target::Queue(1));
        file.set_word(RECEIVE, 1, register::CONTROL, 5 << 8);
        assert_eq!(file.target(5), Target::Held, "older ones are on their way to it");
        (0..2).for_each(|_| file.received(MISS));
        assert_eq!(file.target(6), Target::Held, "the miss queue is full");
    }

    #[test]
    fn a_queue_that_is_taken_away_finishes_its_packet_and_hands_out_its_pointers() {
        let mut file = file();
        file.store(TRANSMIT, 5, POINTER_PRODUCER, 3);
        file.begin(TRANSMIT, 1);
        file.leave(TRANSMIT, 1);
        assert_eq!((file.take_left(TRANSMIT, 1), file.next_to_transmit(0, false)), (None, None));
        assert!(file.store(TRANSMIT, 5, POINTER_PRODUCER, 4), "it is resident still");
        file.transmitted(1);
        let left = file.take_left(TRANSMIT, 1).expect("its unit has left it");
        assert_eq!((left.queue.logical, left.queue.producer, left.queue.consumer), (5, 4, 1));
        assert!(!file.store(TRANSMIT, 5, POINTER_PRODUCER, 4), "the firmware has it");
        assert_eq!((file.load(TRANSMIT, 5, POINTER_PRODUCER), file.take_left(TRANSMIT, 1)), (None, None));
    }

    #[test]
    fn a_forwarded_pointer_never_moves_back() {
        let mut file = file();
        file.store(TRANSMIT, 5, POINTER_PRODUCER, 3);
        file.advance(TRANSMIT, 1, 2);
        assert_eq!((file.queue(TRANSMIT, 1).producer, status(&file, TRANSMIT)), (3, QUEUE_OPEN));
        file.advance(TRANSMIT, 1, 4);
        assert_eq!(file.queue(TRANSMIT, 1).producer, 4);
        file.advance(TRANSMIT, 1, 5);
        assert_eq!(status(&file, TRANSMIT), QUEUE_BAD_POINTER, "it is checked as if it were stored");
    }

    #[test]
    fn words_of_the_state_read_as_they_were_written() {
        let mut file = file();
        for (offset, value) in [
            (register::CONTROL, 0x2_0707),
            (register::BASE, 0x8_1000 << 32 | 0x2000),
            (register::SLOTS, 8),
            (register::PRODUCER, 7),
            (register::CONSUMER, 6),
            (register::ERROR, 2),
        ] {
            assert!(file.set_word(RECEIVE, 1, offset, value));
            assert_eq!(file.word(RECEIVE, 1, offset), Some(value));
        }
        assert!(!file.set_word(RECEIVE, 1, 0x38, 0) && file.word(RECEIVE, 1, register::ADVANCE).is_none());
    }
}
