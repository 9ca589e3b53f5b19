//! Two processors that access serviced space, and firmware that answers by the approval
//! registers. For each answer it needs the processors' bus itself.
//!
//! The firmware answers each captured access with the next number, so that an answer tells
//! which capture it is for.

use narthex_interfaces::voyager::space::{Access, Rule, Space};
use narthex_kernel::digest::Digest;
use std::fmt;

use super::ANSWERED_ONCE;
use crate::explore::{System, Violation, Witness};

/// Accesses of each processor.
pub const ACCESSES: u8 = 3;
/// The places that they access in turn; the second processor begins with the second one.
const PLACES: [u64; 2] = [0, 8];

/// What the firmware is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Firmware {
    Polls,
    /// It needs the bus to answer this access.
    NeedsBus(u64),
    Answers(u64),
}

impl fmt::Display for Firmware {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Firmware::Polls => to.write_str("the firmware looks for captured accesses"),
            Firmware::NeedsBus(place) => {
                write!(to, "the firmware needs the bus to answer the access to {place}")
            }
            Firmware::Answers(place) => write!(to, "the firmware is about to answer the access to {place}"),
        }
    }
}

/// A state of processors, bus and firmware.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    space: Space,
    /// Accesses that each processor has made.
    made: [u8; 2],
    /// A processor keeps the bus while its access waits.
    held: Option<usize>,
    firmware: Firmware,
    /// Answers given, by what was captured; and those that an access got.
    given: Vec<u64>,
    got: Vec<u64>,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A processor is granted the bus.
    Grant(usize),
    /// The firmware reads a captured access.
    Capture,
    /// It is granted the bus.
    Move,
    /// It approves.
    Approve,
}

impl fmt::Display for Event {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Grant(processor) => {
                write!(to, "the bus is granted to processor {processor}, which loads from serviced space")
            }
            Event::Capture => to.write_str("the firmware reads a captured access"),
            Event::Move => to.write_str("the firmware is granted the bus, and moves the answer's data"),
            Event::Approve => to.write_str("the firmware writes the answer into an approval register"),
        }
    }
}

/// The system, without a rule.
#[derive(Clone, Debug)]
pub struct Approving {
    /// What is left out.
    pub without: Option<Rule>,
    /// An access keeps the bus until it is answered.
    pub holds_bus: bool,
}

impl Approving {
    fn happen(&self, state: &mut State, event: Event, witness: &mut Witness<'_>) {
        witness.say(|| event.to_string());
        match event {
            Event::Grant(processor) => {
                let place = PLACES[(usize::from(state.made[processor]) + processor) % 2];
                let access = Access { process: 0, offset: place, value: None };
                if state.space.refuses(access) {
                    state.held = self.holds_bus.then_some(processor);
                    return;
                }
                let answer = state.space.carry(access);
                state.held = None;
                state.made[processor] += 1;
                let number = (answer >> 8) as usize;
                let is_known = (1..=state.given.len()).contains(&number);
                let is_own = is_known && state.given[number - 1] == place && answer & 0xff == place;
                let is_new = !state.got.contains(&answer);
                witness.expect(is_own && is_new, ANSWERED_ONCE, || {
                    format!(
                        "the access to {place} gets answer {number}, {}",
                        if is_own { "which was used" } else { "which is for another" }
                    )
                });
                state.got.push(answer);
            }
            Event::Capture => {
                let entry = state.space.take_capture();
                state.firmware = Firmware::NeedsBus(entry >> 32 & 0xff_ffff);
            }
            Event::Move => {
                if let Firmware::NeedsBus(place) = state.firmware {
                    state.firmware = Firmware::Answers(place);
                }
            }
            Event::Approve => {
                let Firmware::Answers(place) = state.firmware else { return };
                state.given.push(place);
                let number = state.given.len() as u64;
                let room = state.space.approve(place, number << 8 | place);
                let made = u64::from(state.made[0] + state.made[1]);
                let waits = number - made.min(number);
                witness.expect(room.is_ok() && waits <= 2, ANSWERED_ONCE, || {
                    format!("{number} answers are given for {made} accesses and the two that may wait")
                });
                state.firmware = Firmware::Polls;
            }
        }
    }
}

impl System for Approving {
    type State = State;
    type Event = Event;

    fn start(&mut self) -> Result<State, Violation> {
        let space = Space::new(4, 4, 0);
        let space = match self.without {
            Some(rule) => space.without(rule),
            None => space,
        };
        Ok(State {
            space,
            made: [0; 2],
            held: None,
            firmware: Firmware::Polls,
            given: Vec::new(),
            got: Vec::new(),
        })
    }

    fn events(&self, state: &State) -> Vec<Event> {
        let mut events = Vec::new();
        for processor in 0..2 {
            let is_free = state.held.is_none_or(|holder| holder == processor);
            if state.made[processor] < ACCESSES && is_free {
                events.push(Event::Grant(processor));
            }
        }
        match state.firmware {
            Firmware::Polls if state.space.has_capture() => events.push(Event::Capture),
            Firmware::NeedsBus(_) if state.held.is_none() => events.push(Event::Move),
            Firmware::Answers(_) => events.push(Event::Approve),
            _ => {}
        }
        events
    }

    fn next(&mut self, state: &State, event: Event, story: Option<&mut String>) -> Result<State, Violation> {
        let (mut state, mut witness) = (state.clone(), Witness::new(story));
        self.happen(&mut state, event, &mut witness);
        witness.verdict(state)
    }

    fn digest(&self, state: &State) -> u128 {
        Digest::of(state)
    }

    /// All accesses are made, and no answer is left.
    fn is_final(&self, state: &State) -> bool {
        state.made == [ACCESSES; 2] && state.given.len() == state.got.len() && !state.space.has_capture()
    }

    fn progress(&self, state: &State) -> u64 {
        state.got.len() as u64
    }

    fn describe(&self, state: &State) -> String {
        let [one, other] = state.made;
        format!("processor 0 has made {one} accesses and processor 1 {other}; {}", state.firmware)
    }
}
