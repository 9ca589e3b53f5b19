//! A program that sends by a queue of two slots, the transmit unit, and firmware that lends
//! the queue a physical one and takes it away. Beside it another program stores a wild
//! pointer to a queue of its own.

use std::collections::VecDeque;
use std::fmt;

use narthex_interfaces::voyager::layout::Direction;
use narthex_interfaces::voyager::queues::{QueueFile, Rule};
use narthex_interfaces::voyager::registers::{CONTROL, CONTROL_ENABLED, POINTER_CONSUMER, POINTER_PRODUCER};
use narthex_kernel::digest::Digest;

use super::{IN_ORDER, WITHIN};
use crate::explore::{System, Violation, Witness};

/// Messages that the program sends.
pub const MESSAGES: u8 = 4;
/// Slots of its queue.
pub const SLOTS: u16 = 2;
/// How often the firmware lends it a physical queue.
pub const SWITCHES: u8 = 2;
/// All pointers begin here, so that they come round.
const FIRST: u16 = 0xfffe;
const TRANSMIT: Direction = Direction::Transmit;
/// The logical queue and the physical one that it is lent; those of the other program.
const OWN: u8 = 0;
const LENT: usize = 1;
const OTHER: u8 = 1;
const OTHERS: usize = 2;

/// Whose the queue is, as the firmware sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// The firmware works on it.
    Own,
    /// The state of a physical queue is set.
    Prepared,
    /// Hardware works on it.
    Lent,
    /// It is taken away.
    Leaving,
}

impl fmt::Display for Phase {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Phase::Own => "the firmware works on the queue",
            Phase::Prepared => "a physical queue is set up for it",
            Phase::Lent => "hardware works on the queue",
            Phase::Leaving => "the queue is being taken from hardware",
        })
    }
}

/// A state of program, unit and firmware.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    file: QueueFile,
    slots: [u8; SLOTS as usize],
    /// The program's own pointer, and how many messages it has written.
    producer: u16,
    written: u8,
    wild: bool,
    captures: VecDeque<u16>,
    /// The message that the unit has read.
    unit: Option<u8>,
    /// The one that the firmware has read.
    firmware: Option<u8>,
    phase: Phase,
    known: u16,
    consumer: u16,
    shadow: u16,
    switches: u8,
    /// How many have left.
    left: u8,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The program writes a message and stores its pointer.
    Write,
    /// The other program stores a pointer that cannot be.
    Wild,
    /// The unit reads a message.
    Begin(usize),
    /// It has sent it.
    End,
    /// The firmware reads a captured store.
    Capture,
    /// The firmware reads a message.
    Read,
    /// It has sent it.
    Send,
    /// The firmware sets a physical queue's state.
    Prepare,
    /// It maps and enables it.
    Map,
    /// It takes it away.
    Leave,
    /// The unit has left it.
    Left,
}

impl fmt::Display for Event {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Event::Write => "the program writes a message and stores its pointer",
            Event::Wild => "the other program stores a pointer beyond its queue",
            Event::Begin(OTHERS) => "the unit reads a message of the other program's queue",
            Event::Begin(_) => "the unit reads a message",
            Event::End => "the unit has sent its message",
            Event::Capture => "the firmware reads a captured store of the pointer",
            Event::Read => "the firmware reads a message",
            Event::Send => "the firmware has sent its message",
            Event::Prepare => "the firmware sets up a physical queue",
            Event::Map => "the firmware maps and enables the physical queue",
            Event::Leave => "the firmware begins to take the physical queue away",
            Event::Left => "the unit has left the physical queue, which the firmware takes back",
        })
    }
}

/// The system, without a rule.
#[derive(Clone, Debug)]
pub struct Transmitting {
    /// What is left out.
    pub without: Option<Rule>,
}

/// The slot to which a pointer points.
pub fn slot(pointer: u16) -> usize {
    usize::from(pointer % SLOTS)
}

/// The later of two pointers.
pub fn later(one: u16, other: u16) -> u16 {
    if other.wrapping_sub(one) < 1 << 15 { other } else { one }
}

/// A file of three physical queues for two logical ones.
pub fn file(without: Option<Rule>) -> QueueFile {
    let file = QueueFile::new(3, 2);
    match without {
        Some(rule) => file.without(rule),
        None => file,
    }
}

impl State {
    fn start(without: Option<Rule>) -> Self {
        let mut file = file(without);
        let others = file.queue_mut(TRANSMIT, OTHERS);
        (others.is_enabled, others.logical, others.slots) = (true, OTHER, SLOTS);
        (others.producer, others.consumer) = (FIRST, FIRST);
        file.map(TRANSMIT, OTHER, OTHERS);
        State {
            file,
            slots: [0; SLOTS as usize],
            producer: FIRST,
            written: 0,
            wild: false,
            captures: VecDeque::new(),
            unit: None,
            firmware: None,
            phase: Phase::Own,
            known: FIRST,
            consumer: FIRST,
            shadow: FIRST,
            switches: 0,
            left: 0,
        }
    }

    /// The consumer as the program loads it.
    fn seen_consumer(&self) -> u16 {
        self.file.load(TRANSMIT, OWN, POINTER_CONSUMER).map_or(self.shadow, |word| word as u16)
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut add = |may: bool, event: Event| events.extend(may.then_some(event));
        add(
            self.written < MESSAGES && self.producer.wrapping_sub(self.seen_consumer()) < SLOTS,
            Event::Write,
        );
        add(!self.wild, Event::Wild);
        let next = self.file.next_to_transmit(0, false).filter(|_| self.unit.is_none());
        next.into_iter().for_each(|queue| add(true, Event::Begin(queue)));
        add(self.unit.is_some(), Event::End);
        add(!self.captures.is_empty(), Event::Capture);
        let is_own = self.phase == Phase::Own;
        add(is_own && self.firmware.is_none() && self.known != self.consumer, Event::Read);
        add(self.firmware.is_some(), Event::Send);
        add(is_own && self.firmware.is_none() && self.switches < SWITCHES, Event::Prepare);
        add(self.phase == Phase::Prepared, Event::Map);
        add(self.phase == Phase::Lent, Event::Leave);
        let can_leave = || self.file.clone().take_left(TRANSMIT, LENT).is_some();
        add(self.phase == Phase::Leaving && can_leave(), Event::Left);
        events
    }

    fn happen(&mut self, event: Event, witness: &mut Witness<'_>) {
        witness.say(|| event.to_string());
        match event {
            Event::Write => {
                self.written += 1;
                self.slots[slot(self.producer)] = self.written;
                self.producer = self.producer.wrapping_add(1);
                if !self.file.store(TRANSMIT, OWN, POINTER_PRODUCER, self.producer.into()) {
                    self.captures.push_back(self.producer);
                }
            }
            Event::Wild => {
                self.wild = true;
                self.file.store(TRANSMIT, OTHER, POINTER_PRODUCER, u64::from(FIRST.wrapping_add(SLOTS + 1)));
            }
            Event::Begin(queue) => {
                let own = *self.file.queue(TRANSMIT, queue);
                witness.expect(own.used() <= SLOTS, WITHIN, || {
                    format!("queue {queue} has {} slots in use", own.used())
                });
                self.file.begin(TRANSMIT, queue);
                self.unit = Some(self.slots[slot(own.consumer)]);
            }
            Event::End => {
                let message = self.unit.take().expect("it has read one");
                self.file.transmitted(LENT);
                self.leave(message, witness);
            }
            Event::Capture => {
                let pointer = self.captures.pop_front().expect("one was captured");
                match self.phase {
                    Phase::Own => self.known = later(self.known, pointer),
                    _ => self.file.advance(TRANSMIT, LENT, pointer.into()),
                }
            }
            Event::Read => self.firmware = Some(self.slots[slot(self.consumer)]),
            Event::Send => {
                let message = self.firmware.take().expect("it has read one");
                self.consumer = self.consumer.wrapping_add(1);
                self.shadow = self.consumer;
                self.leave(message, witness);
            }
            Event::Prepare => {
                let queue = self.file.queue_mut(TRANSMIT, LENT);
                (queue.logical, queue.slots) = (OWN, SLOTS);
                (queue.producer, queue.consumer) = (self.known, self.consumer);
                (self.phase, self.switches) = (Phase::Prepared, self.switches + 1);
            }
            Event::Map => {
                self.file.map(TRANSMIT, OWN, LENT);
                self.file.set_word(TRANSMIT, LENT, CONTROL, CONTROL_ENABLED);
                self.phase = Phase::Lent;
            }
            Event::Leave => {
                self.file.leave(TRANSMIT, LENT);
                self.phase = Phase::Leaving;
            }
            Event::Left => {
                let left = self.file.take_left(TRANSMIT, LENT).expect("its unit has left it");
                (self.known, self.consumer) = (left.queue.producer, left.queue.consumer);
                (self.shadow, self.phase) = (self.consumer, Phase::Own);
            }
        }
    }

    /// A message has left.
    fn leave(&mut self, message: u8, witness: &mut Witness<'_>) {
        self.left += 1;
        let expected = self.left;
        witness.expect(message == expected, IN_ORDER, || {
            format!("message {message} leaves, and {expected} is next")
        });
    }
}

impl System for Transmitting {
    type State = State;
    type Event = Event;

    fn start(&mut self) -> Result<State, Violation> {
        Ok(State::start(self.without))
    }

    fn events(&self, state: &State) -> Vec<Event> {
        state.events()
    }

    fn next(&mut self, state: &State, event: Event, story: Option<&mut String>) -> Result<State, Violation> {
        let (mut state, mut witness) = (state.clone(), Witness::new(story));
        state.happen(event, &mut witness);
        witness.verdict(state)
    }

    fn digest(&self, state: &State) -> u128 {
        Digest::of(state)
    }

    fn is_final(&self, state: &State) -> bool {
        state.left == MESSAGES
    }

    fn progress(&self, state: &State) -> u64 {
        state.left.into()
    }

    fn describe(&self, state: &State) -> String {
        format!("{} of {MESSAGES} messages have left; {}", state.left, state.phase)
    }
}
