//! Packets of the interface and messages of the directory on one network on chip whose buffers
//! have ends: each lane takes one message in each direction.
//!
//! ```text
//!   coherence    request ──► forward ──► data ──► done
//!   interface    read ─────► write ────► acknowledgement
//! ```
//!
//! A place takes a message only when there is room for what that leads to; what a response
//! leads to, its transaction keeps. The lanes are those of the simulator's messages.

use std::fmt;

use narthex_interfaces::sarc::events::Reader;
use narthex_interfaces::sarc::messages::{self, Cause, Payload};
use narthex_kernel::Category;
use narthex_kernel::digest::Digest;
use narthex_memory::Kind;
use narthex_memory::directory;

use super::RESULT;
use crate::explore::{System, Violation, Witness};

/// Transactions and reads that each of the two places begins.
const BEGUN: u8 = 2;
const LANES: usize = 3;

/// What is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sent {
    Request,
    Forward,
    Data,
    Done,
    Read,
    Write,
    Acknowledgement,
}

impl Sent {
    /// What it leads to, and whether that is sent at once.
    fn follows(self) -> Option<Sent> {
        match self {
            Sent::Request => Some(Sent::Forward),
            Sent::Forward => Some(Sent::Data),
            Sent::Data => Some(Sent::Done),
            Sent::Read => Some(Sent::Write),
            Sent::Write => Some(Sent::Acknowledgement),
            Sent::Done | Sent::Acknowledgement => None,
        }
    }

    /// Its lane, as the simulator has it.
    fn lane(self) -> usize {
        let of_directory = |body: directory::Body<()>| body.lane().index();
        let of_interface = |body: messages::Body| usize::from(body.lane());
        match self {
            Sent::Request => of_directory(directory::Body::Request { kind: Kind::Read, data: None }),
            Sent::Forward => of_directory(directory::Body::Forward { kind: Kind::Read, acknowledgements: 0 }),
            Sent::Data => {
                of_directory(directory::Body::Data { data: (), shared: false, acknowledgements: 0 })
            }
            Sent::Done => of_directory(directory::Body::Done),
            Sent::Read => of_interface(messages::Body::Read { from: 0, bytes: 64, to: Reader::Memory(0, 0) }),
            Sent::Write => {
                let (bytes, cause) = (Payload::of(&[]), Cause::Transfer);
                of_interface(messages::Body::Write { to: 0, acknowledge: 0, bytes, cause })
            }
            Sent::Acknowledgement => of_interface(messages::Body::Acknowledgement { to: 0, bytes: 0 }),
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Sent::Request => "request",
            Sent::Forward => "forwarded request",
            Sent::Data => "block",
            Sent::Done => "word that it is done",
            Sent::Read => "read",
            Sent::Write => "write",
            Sent::Acknowledgement => "acknowledgement",
        })
    }
}

/// What can be left out of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Each kind of message has its lane.
    Lanes,
    /// A response is taken at any time: what follows it is kept.
    TakingResponses,
}

impl Rule {
    /// All of them, by the names that users write.
    pub const ALL: [(Rule, &'static str); 2] =
        [(Rule::Lanes, "three-lanes"), (Rule::TakingResponses, "taking-responses")];
}

/// A state of both places and the network between them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    /// By the place from which it comes, and by lane.
    under_way: [[Option<Sent>; LANES]; 2],
    /// Transactions and reads that a place has begun.
    begun: [[u8; 2]; 2],
    /// Words that a place has still to say that it is done.
    kept: [u8; 2],
    /// Of each place, those that are over.
    over: [u8; 2],
}

/// Something that can happen at a place.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Begin(usize, Sent),
    /// It takes what has come in a lane.
    Take(usize, usize),
    /// It says that it is done.
    Say(usize),
}

impl fmt::Display for Event {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Begin(place, sent) => write!(to, "place {place} sends its {sent}"),
            Event::Take(place, lane) => write!(to, "place {place} takes what has come in lane {lane}"),
            Event::Say(place) => write!(to, "place {place} says that it is done"),
        }
    }
}

/// The network, without a rule.
#[derive(Clone, Debug)]
pub struct Network {
    pub without: Option<Rule>,
}

impl Network {
    fn lane(&self, sent: Sent) -> usize {
        if self.without == Some(Rule::Lanes) { 0 } else { sent.lane() }
    }

    fn has_room(&self, state: &State, from: usize, sent: Sent) -> bool {
        state.under_way[from][self.lane(sent)].is_none()
    }

    fn send(&self, state: &mut State, from: usize, sent: Sent) {
        state.under_way[from][self.lane(sent)] = Some(sent);
    }

    /// What a place sends at once when it takes a message.
    fn at_once(&self, taken: Sent) -> Option<Sent> {
        let is_kept = taken == Sent::Data && self.without != Some(Rule::TakingResponses);
        taken.follows().filter(|_| !is_kept)
    }

    fn happen(&self, state: &mut State, event: Event) {
        match event {
            Event::Begin(place, sent) => {
                state.begun[place][usize::from(sent == Sent::Read)] += 1;
                self.send(state, place, sent);
            }
            Event::Take(place, lane) => {
                let Some(taken) = state.under_way[1 - place][lane].take() else { return };
                match self.at_once(taken) {
                    Some(next) => self.send(state, place, next),
                    None if taken == Sent::Data => state.kept[place] += 1,
                    None => state.over[place] += 1,
                }
            }
            Event::Say(place) => {
                state.kept[place] -= 1;
                self.send(state, place, Sent::Done);
            }
        }
    }
}

impl System for Network {
    type State = State;
    type Event = Event;

    fn start(&mut self) -> Result<State, Violation> {
        Ok(State::default())
    }

    fn events(&self, state: &State) -> Vec<Event> {
        let mut events = Vec::new();
        for place in 0..2 {
            for sent in [Sent::Request, Sent::Read] {
                let is_left = state.begun[place][usize::from(sent == Sent::Read)] < BEGUN;
                if is_left && self.has_room(state, place, sent) {
                    events.push(Event::Begin(place, sent));
                }
            }
            for lane in 0..LANES {
                let comes = state.under_way[1 - place][lane];
                if comes.is_some_and(|taken| {
                    self.at_once(taken).is_none_or(|next| self.has_room(state, place, next))
                }) {
                    events.push(Event::Take(place, lane));
                }
            }
            if state.kept[place] > 0 && self.has_room(state, place, Sent::Done) {
                events.push(Event::Say(place));
            }
        }
        events
    }

    fn next(&mut self, state: &State, event: Event, story: Option<&mut String>) -> Result<State, Violation> {
        let (mut state, mut witness) = (state.clone(), Witness::new(story));
        witness.say(|| event.to_string());
        self.happen(&mut state, event);
        let most = 2 * 2 * BEGUN;
        witness
            .expect(state.over.iter().sum::<u8>() <= most, RESULT, || format!("{:?} are over", state.over));
        witness.verdict(state)
    }

    fn digest(&self, state: &State) -> u128 {
        Digest::of(state)
    }

    fn is_final(&self, state: &State) -> bool {
        state.over.iter().sum::<u8>() == 2 * 2 * BEGUN
    }

    fn progress(&self, state: &State) -> u64 {
        state.over.iter().map(|&over| u64::from(over)).sum()
    }

    fn describe(&self, state: &State) -> String {
        let lanes = state.under_way.iter().enumerate().flat_map(|(place, lanes)| {
            lanes.iter().flatten().map(move |sent| format!("{sent} from place {place}"))
        });
        let lanes: Vec<String> = lanes.collect();
        format!("under way: {}", if lanes.is_empty() { "nothing".into() } else { lanes.join(", ") })
    }
}
