//! Random traffic: mostly what programs that keep to the rules do, sometimes what is refused.
//!
//! The lines of the tile have fixed parts, so that accesses meet: command buffers, counters and
//! queues with few entries, a few lines of scratchpad. What comes next depends on the model as it
//! is: a queue without room is rarely written, the words of a command are stored once each, in any
//! order. Packets that leave for the own tile come back.

use std::collections::VecDeque;

use narthex_fabrics::Rank;
use narthex_kernel::random::Stream;

use super::comparison::{Counts, Difference, Hardware, Lockstep, shrink};
use super::reference::Reference;
use super::stimuli::{Owned, Stimulus};
use super::{OTHER_PROCESS, Shape};
use crate::sarc::events::Reader;
use crate::sarc::messages::{Body, Cause, Message, Origin, Payload};
use crate::sarc::registers::{
    LINE_BYTES, REGISTERS, Role, STATE, STATE_BYTES, command, counter, operation, queue, register,
};
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

/// The kinds of stimuli, and how often each is tried.
const KINDS: [(u64, Kind); 14] = [
    (14, Traffic::comes),
    (10, Traffic::own_memory),
    (12, Traffic::remote_store),
    (3, Traffic::remote_load),
    (22, Traffic::command_word),
    (10, Traffic::counter),
    (10, Traffic::enqueue),
    (8, Traffic::dequeue),
    (4, Traffic::head),
    (10, Traffic::packet_of_bytes),
    (4, Traffic::acknowledgement),
    (5, Traffic::read),
    (4, Traffic::look),
    (3, Traffic::change_role),
];

impl Traffic {
    fn stimulus(&mut self, model: &Reference) -> Option<Stimulus> {
        if !self.overlaps() && self.random.below(1000) < self.mix.faults {
            return self.refused(model);
        }
        let mut drawn = self.random.below(KINDS.iter().map(|&(weight, _)| weight).sum());
        for (weight, kind) in KINDS {
            if drawn < weight {
                return kind(self, model);
            }
            drawn -= weight;
        }
        unreachable!("it is below the sum of the weights")
    }

    /// The processor's accesses; none if it waits.
    fn access(&mut self, model: &Reference, stimulus: Stimulus, may_wait: bool) -> Option<Stimulus> {
        if model.waits() || self.has_access {
            return None;
        }
        self.has_access = may_wait;
        Some(stimulus)
    }

    fn foreign(&mut self) -> Origin {
        Reference::origin(self.other_tile())
    }

    fn write(&mut self, to: u64, bytes: &[u8]) -> Stimulus {
        let acknowledge = if self.chance(50) { self.elsewhere() } else { 0 };
        let cause = if acknowledge == 0 && self.chance(30) { Cause::Store } else { Cause::Transfer };
        let cause = if bytes.len() == 8 || cause == Cause::Transfer { cause } else { Cause::Transfer };
        let body = Body::Write { to, acknowledge, bytes: Payload::of(bytes), cause };
        Stimulus::Arrives(Message { origin: self.foreign(), body })
    }

    /// A word for a line, by the processor or a packet.
    fn word_for(&mut self, model: &Reference, address: u64, value: u64) -> Option<Stimulus> {
        if self.chance(60) {
            self.access(model, Stimulus::store(address, 8, value), true)
        } else {
            Some(self.write(address, &value.to_le_bytes()))
        }
    }

    fn comes(&mut self, _model: &Reference) -> Option<Stimulus> {
        let next = self.coming.front()?;
        let to = match next.body {
            Body::Write { to, .. } | Body::Acknowledgement { to, .. } if self.is_own(to) => to,
            _ => return self.coming.pop_front().map(Stimulus::Arrives),
        };
        let line = (to - self.own(0)) / LINE_BYTES;
        if COUNTERS.contains(&line) {
            if self.touched >> line & 1 == 1 {
                return None;
            }
            self.counted |= 1 << line;
        }
        self.coming.pop_front().map(Stimulus::Arrives)
    }

    fn own_memory(&mut self, model: &Reference) -> Option<Stimulus> {
        let size = 1 << self.random.below(4);
        let is_load = self.chance(50);
        let line = self.line_to(if is_load { SCRATCHPAD } else { WRITTEN });
        let address = self.own(line) + self.random.below(64) / size * size;
        let value = self.value() & (u64::MAX >> (64 - 8 * size));
        let stimulus = match is_load {
            true => Stimulus::load(address, size as u8),
            false => Stimulus::store(address, size as u8, value),
        };
        self.access(model, stimulus, false)
    }

    fn remote_store(&mut self, model: &Reference) -> Option<Stimulus> {
        let continues = self.continues != 0 && self.chance(70);
        let address = if continues { self.continues } else { self.elsewhere() };
        let size = if self.chance(80) || !address.is_multiple_of(8) { 8 } else { 4 };
        let address = address.next_multiple_of(size);
        self.continues = address + size;
        let value = self.value() & (u64::MAX >> (64 - 8 * size));
        self.access(model, Stimulus::store(address, size as u8, value), false)
    }

    fn remote_load(&mut self, model: &Reference) -> Option<Stimulus> {
        let address = self.elsewhere();
        self.access(model, Stimulus::load(address, 8), true)
    }

    fn command_word(&mut self, model: &Reference) -> Option<Stimulus> {
        let line = self.one_of(COMMANDS);
        if self.touched >> line & 1 == 1 {
            return None;
        }
        if self.commands[line as usize].is_empty() {
            let ([_, tag], _) = model.line(line as usize);
            if tag != 0 {
                return None;
            }
            self.commands[line as usize] = self.command();
        }
        let words = &mut self.commands[line as usize];
        let place = self.random.below(words.len() as u64) as usize;
        let (word, value) = words[place];
        let address = self.word(line, word as usize);
        let stimulus = self.word_for(model, address, value)?;
        self.commands[line as usize].swap_remove(place);
        self.touched |= 1 << line;
        Some(stimulus)
    }

    /// The words of a command that is allowed.
    fn command(&mut self) -> Vec<(u64, u64)> {
        let number =
            [operation::COPY, operation::COPY, operation::MESSAGE, operation::STORE, operation::READ];
        let number = number[self.random.below(5) as usize];
        let acknowledge = match self.random.below(4) {
            0 => 0,
            1 => self.elsewhere(),
            _ => {
                let line = self.one_of(COUNTERS);
                self.own(line)
            }
        };
        let (bytes, words) = match number {
            operation::MESSAGE => {
                let words = 1 + self.random.below(command::MOST_WORDS as u64);
                (8 * words, words)
            }
            operation::STORE => (8, 1),
            operation::READ => (self.length(64), 1),
            _ if self.chance(5) => (self.length(1024), 1),
            _ => (self.length(160), 1),
        };
        let is_data = matches!(number, operation::MESSAGE | operation::STORE);
        let to = self.memory(40, WRITTEN) & if is_data { !7 } else { u64::MAX };
        let bytes = match self.overlaps() && !is_data && self.is_own(to) {
            true => bytes.min(self.own(WRITTEN.end) - to),
            false => bytes,
        };
        let mut stored = vec![(0, number | bytes << 8), (1, to), (2, acknowledge)];
        for word in 0..words {
            let value = if is_data { self.value() } else { self.memory(70, COPIED) };
            stored.push((3 + word, value));
        }
        if number == operation::READ && !self.overlaps() && self.chance(40) {
            // Of a counter or queue of the own tile.
            let line = if self.chance(50) { self.one_of(COUNTERS) } else { QUEUES[2].0 };
            stored[0].1 = number | 8 << 8;
            stored[1].1 &= !7;
            stored[3].1 = self.own(line);
        }
        // All of it is in the scratchpad, whose last line is followed by others that all may use.
        stored
    }

    fn counter(&mut self, model: &Reference) -> Option<Stimulus> {
        let line = self.one_of(COUNTERS);
        let ([_, value], _) = model.line(line as usize);
        let (word, stored) = match self.random.below(10) {
            0..=4 => (counter::VALUE, value.wrapping_neg()),
            5 | 6 => (counter::VALUE, self.value()),
            7 => (counter::RESET + self.random.below(2) as usize, self.value()),
            _ => {
                let word = counter::NOTIFICATIONS + self.random.below(4) as usize;
                (word, if self.chance(40) { 0 } else { self.notified() })
            }
        };
        // Its notification may be made when others are over.
        let (meets, leaves) = match word {
            counter::VALUE => (self.touched, &mut self.counted),
            _ => (self.touched | self.counted, &mut self.touched),
        };
        if meets >> line & 1 == 1 && self.mix.at_once > 1 {
            return None;
        }
        *leaves |= 1 << line;
        let address = self.word(line, word);
        self.word_for(model, address, stored)
    }

    /// Where a counter's word may go: memory, or another counter.
    fn notified(&mut self) -> u64 {
        match self.chance(30) {
            true => {
                let line = self.one_of(COUNTERS);
                self.own(line)
            }
            false => self.memory(50, WRITTEN) & !7,
        }
    }

    fn room(&self, model: &Reference, number: usize) -> u64 {
        let (line, _, _, items) = QUEUES[number];
        let ([_, tag], _) = model.line(line as usize);
        let used = (tag >> 16 & 0xffff).wrapping_sub(tag & 0xffff) & (2 * items - 1);
        (items - used).saturating_sub(self.brought[number])
    }

    fn enqueue(&mut self, model: &Reference) -> Option<Stimulus> {
        let number = self.random.below(QUEUES.len() as u64) as usize;
        let (line, _, words, _) = QUEUES[number];
        if self.room(model, number) == 0 && !model.has_requests(line as usize) {
            return None;
        }
        let stimulus = if words == 1 || self.chance(20) {
            let value = self.value();
            self.word_for(model, self.own(line), value)?
        } else {
            // An item that is shorter than its place is filled with zeros.
            let count = 1 + self.random.below(words);
            let bytes: Vec<u8> = (0..count).flat_map(|_| self.value().to_le_bytes()).collect();
            self.write(self.own(line), &bytes)
        };
        self.brought[number] += 1;
        Some(stimulus)
    }

    fn dequeue(&mut self, model: &Reference) -> Option<Stimulus> {
        let number = 2 + self.random.below(2) as usize;
        let (line, _, words, _) = QUEUES[number];
        if self.room(model, number) == 0 {
            return None;
        }
        let address = self.own(line);
        let stimulus = if self.chance(40) {
            self.access(model, Stimulus::load(address, 8), true)?
        } else {
            let origin = self.foreign();
            let (to, bytes) = match self.chance(40) {
                true => (Reader::Processor(0, origin.tile), 8),
                false => (
                    Reader::Memory(self.elsewhere(), if self.chance(50) { self.elsewhere() } else { 0 }),
                    8 * words,
                ),
            };
            Stimulus::Arrives(Message { origin, body: Body::Read { from: address, bytes: bytes as u32, to } })
        };
        self.brought[number] += 1;
        Some(stimulus)
    }

    /// The reader of a single-reader queue takes some items.
    fn head(&mut self, model: &Reference) -> Option<Stimulus> {
        let number = self.random.below(2) as usize;
        let (line, _, _, items) = QUEUES[number];
        let ([_, tag], _) = model.line(line as usize);
        let (head, tail) = (tag & 0xffff, tag >> 16 & 0xffff);
        let used = tail.wrapping_sub(head) & (2 * items - 1);
        let head = (head + self.random.below(used + 1)) & (2 * items - 1);
        let address = self.word(line, queue::HEAD);
        if self.brought[number] > 0 {
            return None;
        }
        self.brought[number] = items;
        self.access(model, Stimulus::store(address, 8, head), false)
    }

    fn packet_of_bytes(&mut self, _model: &Reference) -> Option<Stimulus> {
        let line = self.line_to(WRITTEN);
        let mut first = self.random.below(64);
        let mut length = 1 + self.random.below(64 - first);
        if !self.mix.unaligned {
            first &= !7;
            length = (64 - first).min(length.next_multiple_of(8));
        }
        let bytes: Vec<u8> = (0..length).map(|_| self.random.next_u64() as u8).collect();
        let to = self.own(line) + first;
        Some(self.write(to, &bytes))
    }

    fn acknowledgement(&mut self, model: &Reference) -> Option<Stimulus> {
        let line = self.one_of(COUNTERS);
        if self.touched >> line & 1 == 1 {
            return None;
        }
        self.counted |= 1 << line;
        let ([_, value], _) = model.line(line as usize);
        let left = value.wrapping_neg();
        let bytes = if (1..=64).contains(&left) { left } else { 1 + self.random.below(64) };
        let (to, origin) = (self.own(line), Reference::origin(self.shape.tile));
        Some(Stimulus::Arrives(Message { origin, body: Body::Acknowledgement { to, bytes } }))
    }

    /// Another tile reads.
    fn read(&mut self, _model: &Reference) -> Option<Stimulus> {
        let origin = self.foreign();
        let line = self.line_to(COPIED);
        let (from, bytes, to) = match self.random.below(4) {
            0 => (self.own(line), 8, Reader::Processor(0, origin.tile)),
            1 => {
                let line = self.one_of(COUNTERS);
                (self.own(line), 8, Reader::Memory(self.elsewhere(), 0))
            }
            _ => {
                let bytes = self.length(150);
                let from = self.own(line)
                    + if self.mix.unaligned { self.random.below(64) } else { 8 * self.random.below(8) };
                let to = if self.mix.unaligned {
                    self.elsewhere() + self.random.below(8)
                } else {
                    self.elsewhere()
                };
                (from, bytes, Reader::Memory(to, if self.chance(50) { self.elsewhere() } else { 0 }))
            }
        };
        Some(Stimulus::Arrives(Message { origin, body: Body::Read { from, bytes: bytes as u32, to } }))
    }

    /// The processor loads what is no memory: states, registers, words of lines.
    fn look(&mut self, model: &Reference) -> Option<Stimulus> {
        // Of a command buffer the model knows sooner than the hardware that it is free.
        let line = self.one_of(if self.overlaps() { COUNTERS.start..110 } else { 0..110 });
        let word = self.random.below(8) as usize;
        let address = match self.random.below(4) {
            0 => self.state(line) + 8 * self.random.below(2),
            1 => {
                REGISTERS + [register::TILE, register::JOBS, register::STORES][self.random.below(3) as usize]
            }
            2 => {
                let line = if self.overlaps() { self.one_of(COUNTERS) } else { self.random.below(8) };
                self.word(line, word)
            }
            _ => {
                let (line, _, _, _) = QUEUES[self.random.below(4) as usize];
                self.word(line, 1 + word % 3)
            }
        };
        // What an engine has still to do depends on when it is asked.
        let asks_engine = address == REGISTERS + register::JOBS || address == REGISTERS + register::STORES;
        if asks_engine && self.overlaps() {
            return None;
        }
        self.access(model, Stimulus::load(address, 8), false)
    }

    fn change_role(&mut self, model: &Reference) -> Option<Stimulus> {
        let line = self.one_of(CHANGING);
        let ([state, _], _) = model.line(line as usize);
        let roles = [Role::Scratchpad, Role::CommandBuffer, Role::Counter, Role::MultipleReaderQueue];
        let (role, word) = (Role::of(state & 0xff), self.random.below(3) as usize);
        let stimulus = if role == Some(Role::Scratchpad) && self.chance(50) {
            Stimulus::store(self.word(line, word), 8, self.value())
        } else if role == Some(Role::Counter) && self.chance(50) {
            Stimulus::store(self.word(line, counter::VALUE), 8, 1 + self.random.below(3))
        } else if self.chance(20) {
            Stimulus::store(self.state(line) + 8, 8, 0)
        } else {
            let role = roles[self.random.below(4) as usize];
            self.marking(line, role)
        };
        // A store may meet another role than the model has now.
        self.access(model, stimulus, self.overlaps())
    }

    /// What the hardware refuses.
    fn refused(&mut self, model: &Reference) -> Option<Stimulus> {
        let cache = self.own(150);
        let value = self.value();
        let stimulus = match self.random.below(12) {
            0 => Stimulus::load(cache, 8),
            1 => Stimulus::store(cache + 8, 8, value),
            2 => Stimulus::load(self.own(101), 8),
            3 => Stimulus::store(self.own(101), 8, value),
            4 => Stimulus::store(self.state(150), 8, Role::Counter as u64),
            5 => Stimulus::store(self.state(70), 8, [0, 6, 9, 255][self.random.below(4) as usize]),
            6 => Stimulus::store(REGISTERS + register::TILE, 8, value),
            7 => Stimulus::load(REGISTERS + 0x100, 8),
            8 => Stimulus::store(self.word(8, queue::TAIL), 8, value),
            9 => Stimulus::load(self.own(8), 8),
            10 => {
                let origin =
                    Origin { process: Rank(OTHER_PROCESS.into()), ..Reference::origin(self.other_tile()) };
                let bytes = Payload::of(&value.to_le_bytes());
                let body = Body::Write { to: self.own(97), acknowledge: 0, bytes, cause: Cause::Transfer };
                return Some(Stimulus::Arrives(Message { origin, body }));
            }
            _ => return Some(self.write(cache, &value.to_le_bytes())),
        };
        self.access(model, stimulus, false)
    }
}
