//! Random traffic: mostly what programs that keep to the rules do, sometimes what is refused.
//!
//! The lines of the tile have fixed parts, so that accesses meet: command buffers, counters and
//! queues with few entries, a few lines of scratchpad. What comes next depends on the model as it
//! is: a queue without room is rarely written, the words of a command are stored once each, in any
//! order. Packets that leave for the own tile come back.

mod kinds;

use std::collections::VecDeque;

use narthex_kernel::random::Stream;

use super::Shape;
use super::comparison::{Counts, Difference, Hardware, Lockstep, shrink};
use super::reference::Reference;
use super::stimuli::{Owned, Stimulus};
use crate::sarc::events::Reader;
use crate::sarc::messages::{Body, Cause, Message};
use crate::sarc::registers::{LINE_BYTES, Role, STATE, STATE_BYTES, queue};
use crate::sarc::space::address_of;

const COMMANDS: std::ops::Range<u64> = 0..4;
const COUNTERS: std::ops::Range<u64> = 4..8;
const SCRATCHPAD: std::ops::Range<u64> = 24..64;
/// Where stimuli overlap, what is read by copies is not written meanwhile.
const WRITTEN: std::ops::Range<u64> = 24..44;
const COPIED: std::ops::Range<u64> = 46..64;
/// Lines whose roles change, behind all that the longest copy reaches.
const CHANGING: std::ops::Range<u64> = 90..94;
/// Lines that all may use, then some of the own process, then some of another one.
const PARTS: [(usize, usize, Owned); 3] =
    [(0, 96, Owned::ByAll), (96, 4, Owned::ByItsProcess), (100, 4, Owned::ByAnother)];
/// Queues: line, role, words of an item, items.
const QUEUES: [(u64, Role, u64, u64); 4] = [
    (8, Role::SingleReaderQueue, 1, 4),
    (10, Role::SingleReaderQueue, 8, 4),
    (15, Role::MultipleReaderQueue, 1, 4),
    (17, Role::MultipleReaderQueue, 2, 4),
];

/// Stimuli between two resets: as many as a difference is shrunk from quickly.
const EPISODE: u64 = 2_000;

/// What traffic is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix {
    /// Copies and packets begin and end anywhere, and not at words alone.
    pub unaligned: bool,
    /// Stimuli that happen at once, at most.
    pub at_once: u64,
    /// Of a thousand stimuli so many are what the hardware refuses; only where they happen one by one.
    pub faults: u64,
}

/// Random traffic of so many stimuli, in episodes that each begin anew, as long as it goes on.
///
/// # Errors
/// The first difference, shrunk.
pub fn compare<H: Hardware>(
    shape: Shape,
    hardware: &mut H,
    (mix, seed, events): (Mix, u64, u64),
    goes_on: &mut dyn FnMut(&Counts) -> bool,
) -> Result<Counts, Difference> {
    let mut counts = Counts::default();
    for episode in 0.. {
        if counts.events >= events {
            break;
        }
        let traffic = Traffic::new(seed.wrapping_mul(1_000_003).wrapping_add(episode), shape, mix);
        let length = EPISODE.min(events - counts.events);
        match run_episode(shape, hardware, traffic, length) {
            Ok(more) => counts.add(more),
            Err(difference) => return Err(shrink(shape, hardware, difference)),
        }
        if !goes_on(&counts) {
            break;
        }
    }
    Ok(counts)
}

fn run_episode<H: Hardware>(
    shape: Shape,
    hardware: &mut H,
    mut traffic: Traffic,
    events: u64,
) -> Result<Counts, Difference> {
    let mut both = Lockstep::new(shape, hardware);
    let mut batches = traffic.preparation();
    both.run(&batches)?;
    both.counts = Counts::default();
    while both.counts.events < events {
        batches.push(traffic.batch(&both.model));
        let last = batches.last().expect("one was added");
        if let Err((hardware, model)) = both.batch(last) {
            return Err(Difference { batches, hardware, model });
        }
        both.departed.drain(..).for_each(|message| traffic.left(&message));
    }
    Ok(both.counts)
}

/// A source of stimuli.
#[derive(Debug)]
pub struct Traffic {
    random: Stream,
    mix: Mix,
    shape: Shape,
    /// For each command buffer the words of its next command that are not stored yet.
    commands: [Vec<(u64, u64)>; COMMANDS.end as usize],
    /// Packets that the network on chip has for the tile.
    coming: VecDeque<Message>,
    /// Where the next store would continue the last remote one.
    continues: u64,
    /// Items and requests that this batch brings to each queue.
    brought: [u64; QUEUES.len()],
    /// Lines of which this batch has stored a word that others must not meet.
    touched: u64,
    /// Counters whose values this batch changes.
    counted: u64,
    /// This batch has an access.
    has_access: bool,
}

impl Traffic {
    /// Of such tiles, by a seed.
    pub fn new(seed: u64, shape: Shape, mix: Mix) -> Self {
        Traffic {
            random: Stream::new(seed, "lock-step"),
            mix,
            shape,
            commands: Default::default(),
            coming: VecDeque::new(),
            continues: 0,
            brought: [0; QUEUES.len()],
            touched: 0,
            counted: 0,
            has_access: false,
        }
    }

    /// What makes the lines what they are, a batch each.
    pub fn preparation(&self) -> Vec<Vec<Stimulus>> {
        let mut stimuli: Vec<Stimulus> =
            PARTS.iter().map(|&(first, lines, owned)| Stimulus::Give { first, lines, owned }).collect();
        let roles = [(COMMANDS, Role::CommandBuffer), (COUNTERS, Role::Counter)];
        for (lines, role) in roles {
            stimuli.extend(lines.map(|line| self.marking(line, role)));
        }
        for (line, role, words, items) in QUEUES {
            stimuli.push(self.marking(line, role));
            stimuli.push(Stimulus::store(
                self.word(line, queue::SHAPE),
                8,
                words | items << queue::ITEMS_SHIFT,
            ));
        }
        stimuli.into_iter().map(|stimulus| vec![stimulus]).collect()
    }

    fn marking(&self, line: u64, role: Role) -> Stimulus {
        Stimulus::store(self.state(line), 8, role as u64)
    }

    fn own(&self, line: u64) -> u64 {
        address_of(0, self.shape.tile, line * LINE_BYTES)
    }

    fn word(&self, line: u64, word: usize) -> u64 {
        self.own(line) + word as u64 * 8
    }

    fn state(&self, line: u64) -> u64 {
        address_of(0, self.shape.tile, STATE + line * STATE_BYTES)
    }

    fn one_of(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.random.below(range.end - range.start)
    }

    fn chance(&mut self, of_a_hundred: u64) -> bool {
        self.random.below(100) < of_a_hundred
    }

    fn other_tile(&mut self) -> u16 {
        let other = self.random.below(u64::from(self.shape.tiles) - 1) as u16;
        if other < self.shape.tile { other } else { other + 1 }
    }

    fn elsewhere(&mut self) -> u64 {
        let (tile, line) = (self.other_tile(), self.one_of(SCRATCHPAD));
        address_of(0, tile, line * LINE_BYTES) + 8 * self.random.below(8)
    }

    fn overlaps(&self) -> bool {
        self.mix.at_once > 1
    }

    /// A line of the own scratchpad that is written, or copied.
    fn line_to(&mut self, part: std::ops::Range<u64>) -> u64 {
        if self.overlaps() { self.one_of(part) } else { self.one_of(SCRATCHPAD) }
    }

    /// Bytes of scratchpad, own or elsewhere, at any place that the mix allows.
    fn memory(&mut self, own_of_a_hundred: u64, part: std::ops::Range<u64>) -> u64 {
        let word = if self.chance(own_of_a_hundred) {
            let (line, word) = (self.line_to(part), self.random.below(8));
            self.own(line) + 8 * word
        } else {
            self.elsewhere()
        };
        if self.mix.unaligned && self.chance(50) { word + self.random.below(8) } else { word }
    }

    fn length(&mut self, most: u64) -> u64 {
        let length = 1 + self.random.below(most);
        if self.mix.unaligned { length } else { length.next_multiple_of(8) }
    }

    /// A word that is interesting: small, negative, or anything.
    fn value(&mut self) -> u64 {
        match self.random.below(3) {
            0 => self.random.below(4),
            1 => (1 + self.random.below(4)).wrapping_neg(),
            _ => self.random.next_u64(),
        }
    }

    /// What happens at once next.
    pub fn batch(&mut self, model: &Reference) -> Vec<Stimulus> {
        (self.brought, self.touched, self.counted) = (Default::default(), 0, 0);
        self.has_access = false;
        let count = 1 + self.random.below(self.mix.at_once);
        let mut batch = Vec::new();
        while batch.is_empty() {
            batch = (0..count).filter_map(|_| self.stimulus(model)).collect();
        }
        batch
    }

    /// A packet has left the tile.
    pub fn left(&mut self, message: &Message) {
        let origin = message.origin;
        match message.body {
            Body::Read { to: Reader::Processor(_, tile), .. } if tile == self.shape.tile => {
                let value = self.random.next_u64();
                self.coming.push_back(Message { origin, body: Body::Answer { to: (0, tile), value } });
            }
            Body::Write { cause: Cause::Store, .. } => {
                self.coming.push_back(Message { origin, body: Body::Stored });
            }
            Body::Write { to, .. } | Body::Acknowledgement { to, .. } if self.is_own(to) => {
                self.coming.push_back(*message);
            }
            Body::Read { from, .. } if self.is_own(from) => self.coming.push_back(*message),
            _ => {}
        }
    }

    fn is_own(&self, address: u64) -> bool {
        (self.own(0)..self.own(self.shape.l2_bytes / LINE_BYTES)).contains(&address)
    }
}

/// Makes a stimulus of a kind; none if there can be none now.
type Kind = fn(&mut Traffic, &Reference) -> Option<Stimulus>;
