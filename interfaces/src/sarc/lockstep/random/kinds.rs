//! The kinds of stimuli that random traffic draws from, and how one of each is made.

use narthex_fabrics::Rank;

use super::{CHANGING, COMMANDS, COPIED, COUNTERS, Kind, QUEUES, SCRATCHPAD, Traffic, WRITTEN};
use crate::sarc::events::Reader;
use crate::sarc::lockstep::OTHER_PROCESS;
use crate::sarc::lockstep::reference::Reference;
use crate::sarc::lockstep::stimuli::Stimulus;
use crate::sarc::messages::{Body, Cause, Message, Origin, Payload};
use crate::sarc::registers::{LINE_BYTES, REGISTERS, Role, command, counter, operation, queue, register};

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
    pub(super) fn stimulus(&mut self, model: &Reference) -> Option<Stimulus> {
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
