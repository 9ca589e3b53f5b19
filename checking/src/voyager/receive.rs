//! Packets that arrive for a queue of two slots, the receive unit, the miss queue, firmware
//! that lends the queue a physical one and takes it away, a full queue whose packets are diverted,
//! and a program that reads.

use std::collections::VecDeque;
use std::fmt;

use narthex_interfaces::voyager::layout::Direction;
use narthex_interfaces::voyager::queues::{MISS, Queue, QueueFile, Rule, Target};
use narthex_interfaces::voyager::registers::{
    CONTROL, CONTROL_DIVERTS, CONTROL_ENABLED, POINTER_CONSUMER, POINTER_PRODUCER, PRODUCER,
};
use narthex_kernel::digest::Digest;

use super::IN_ORDER;
use super::transmit::{MESSAGES, SLOTS, SWITCHES, file, later, slot};
use crate::explore::{System, Violation, Witness};

const FIRST: u16 = 0xfffe;
const RECEIVE: Direction = Direction::Receive;
const OWN: u8 = 0;
const LENT: usize = 1;

/// Whose the queue is, as the firmware sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// The firmware works on it.
    Own,
    /// The state of a physical queue is set.
    Prepared,
    /// It is mapped; what was on its way to the miss queue is being placed.
    Draining,
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
            Phase::Draining => "its packets in the miss queue are being placed",
            Phase::Lent => "hardware works on the queue",
            Phase::Leaving => "the queue is being taken from hardware",
        })
    }
}

/// A state of packets, unit, firmware and program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    file: QueueFile,
    slots: [u8; SLOTS as usize],
    missed: [u8; SLOTS as usize],
    /// Packets that have come in.
    arrived: u8,
    /// To which queue the unit writes one.
    unit: Option<usize>,
    captures: VecDeque<u16>,
    phase: Phase,
    known: u16,
    consumer: u16,
    shadow: u16,
    switches: u8,
    /// The program's own pointer, and how many messages it has read.
    own: u16,
    read: u8,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The unit finds the next packet's queue, and writes it there.
    Match,
    /// The packet is there.
    Stored,
    /// The program reads a message and stores its pointer.
    Read,
    /// The firmware reads a captured store.
    Capture,
    /// The firmware puts the oldest packet of the miss queue into the queue.
    Place,
    /// The firmware sets a physical queue's state.
    Prepare,
    /// It maps it, not enabled.
    Map,
    /// It enables it.
    Enable,
    /// It takes it away.
    Leave,
    /// The unit has left it.
    Left,
}

impl fmt::Display for Event {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Event::Match => "the unit finds the queue of the next packet, and begins to write it there",
            Event::Stored => "the unit has written the packet",
            Event::Read => "the program reads a message and stores its pointer",
            Event::Capture => "the firmware reads a captured store of the pointer",
            Event::Place => "the firmware moves the oldest packet of the miss queue into the queue",
            Event::Prepare => "the firmware sets up a physical queue",
            Event::Map => "the firmware maps the physical queue, not yet enabled",
            Event::Enable => "the firmware enables the physical queue",
            Event::Leave => "the firmware begins to take the physical queue away",
            Event::Left => "the unit has left the physical queue, which the firmware takes back",
        })
    }
}

/// The system, without a rule.
#[derive(Clone, Debug)]
pub struct Receiving {
    /// What is left out.
    pub without: Option<Rule>,
}

impl State {
    fn start(without: Option<Rule>) -> Self {
        let mut file = file(without);
        let miss = file.queue_mut(RECEIVE, MISS);
        (miss.is_enabled, miss.slots) = (true, SLOTS);
        State {
            file,
            slots: [0; SLOTS as usize],
            missed: [0; SLOTS as usize],
            arrived: 0,
            unit: None,
            captures: VecDeque::new(),
            phase: Phase::Own,
            known: FIRST,
            consumer: FIRST,
            shadow: FIRST,
            switches: 0,
            own: FIRST,
            read: 0,
        }
    }

    fn queue(&self) -> &Queue {
        self.file.queue(RECEIVE, LENT)
    }

    fn miss(&self) -> &Queue {
        self.file.queue(RECEIVE, MISS)
    }

    /// The producer as the program loads it.
    fn seen_producer(&self) -> u16 {
        self.file.load(RECEIVE, OWN, POINTER_PRODUCER).map_or(self.shadow, |word| word as u16)
    }

    /// Whether the firmware can place a packet.
    fn can_place(&self) -> bool {
        let has_room = match self.phase {
            Phase::Own => self.known.wrapping_sub(self.consumer) < SLOTS,
            Phase::Draining => !self.queue().is_full(),
            _ => false,
        };
        self.miss().used() > 0 && has_room
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut add = |may: bool, event: Event| events.extend(may.then_some(event));
        let target = || self.file.clone().target(OWN);
        let waits = self.unit.is_none() && self.arrived < MESSAGES;
        add(waits && target() != Target::Held, Event::Match);
        add(self.unit.is_some(), Event::Stored);
        add(self.seen_producer() != self.own, Event::Read);
        add(!self.captures.is_empty(), Event::Capture);
        add(self.can_place(), Event::Place);
        add(self.phase == Phase::Own && self.switches < SWITCHES, Event::Prepare);
        add(self.phase == Phase::Prepared && self.file.can_map(RECEIVE), Event::Map);
        add(self.phase == Phase::Draining && self.miss().used() == 0, Event::Enable);
        add(matches!(self.phase, Phase::Draining | Phase::Lent), Event::Leave);
        let can_leave = || self.file.clone().take_left(RECEIVE, LENT).is_some();
        add(self.phase == Phase::Leaving && can_leave(), Event::Left);
        events
    }

    fn happen(&mut self, event: Event, witness: &mut Witness<'_>) {
        witness.say(|| event.to_string());
        match event {
            Event::Match => {
                let Target::Queue(queue) = self.file.target(OWN) else { return };
                self.arrived += 1;
                self.file.begin(RECEIVE, queue);
                let producer = self.file.queue(RECEIVE, queue).producer;
                let slots = if queue == MISS { &mut self.missed } else { &mut self.slots };
                slots[slot(producer)] = self.arrived;
                self.unit = Some(queue);
            }
            Event::Stored => {
                let queue = self.unit.take().expect("it has one");
                self.file.received(queue);
            }
            Event::Read => self.read(witness),
            Event::Capture => {
                let pointer = self.captures.pop_front().expect("one was captured");
                match self.phase {
                    Phase::Own => self.consumer = later(self.consumer, pointer),
                    _ => self.file.advance(RECEIVE, LENT, pointer.into()),
                }
            }
            Event::Place => self.place(),
            Event::Prepare => {
                let (producer, consumer) = (self.known, self.consumer);
                let queue = self.file.queue_mut(RECEIVE, LENT);
                (queue.logical, queue.slots) = (OWN, SLOTS);
                (queue.producer, queue.consumer, queue.seen) = (producer, consumer, consumer);
                (self.phase, self.switches) = (Phase::Prepared, self.switches + 1);
            }
            Event::Map => {
                self.file.map(RECEIVE, OWN, LENT);
                self.phase = Phase::Draining;
            }
            Event::Enable => {
                self.file.set_word(RECEIVE, LENT, CONTROL, CONTROL_ENABLED | CONTROL_DIVERTS);
                self.phase = Phase::Lent;
            }
            Event::Leave => {
                self.file.leave(RECEIVE, LENT);
                self.phase = Phase::Leaving;
            }
            Event::Left => {
                let left = self.file.take_left(RECEIVE, LENT).expect("its unit has left it");
                (self.known, self.consumer) = (left.queue.producer, left.queue.consumer);
                (self.shadow, self.phase) = (self.known, Phase::Own);
            }
        }
    }

    fn read(&mut self, witness: &mut Witness<'_>) {
        let message = self.slots[slot(self.own)];
        self.read += 1;
        let expected = self.read;
        witness.expect(message == expected, IN_ORDER, || {
            format!("message {message} is read, and {expected} is next")
        });
        self.own = self.own.wrapping_add(1);
        if !self.file.store(RECEIVE, OWN, POINTER_CONSUMER, self.own.into()) {
            self.captures.push_back(self.own);
        }
    }

    fn place(&mut self) {
        let consumer = self.miss().consumer;
        let message = self.missed[slot(consumer)];
        let at = if self.phase == Phase::Own { self.known } else { self.queue().producer };
        self.slots[slot(at)] = message;
        let next = at.wrapping_add(1);
        match self.phase {
            Phase::Own => (self.known, self.shadow) = (next, next),
            _ => {
                self.file.set_word(RECEIVE, LENT, PRODUCER, next.into());
            }
        }
        self.file.queue_mut(RECEIVE, MISS).consumer = consumer.wrapping_add(1);
    }
}

impl System for Receiving {
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
        state.read == MESSAGES
    }

    fn progress(&self, state: &State) -> u64 {
        state.read.into()
    }

    fn describe(&self, state: &State) -> String {
        format!("{} of {MESSAGES} messages were read; {}", state.read, state.phase)
    }
}
