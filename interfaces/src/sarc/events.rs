//! Event responses: what accesses to event-sensitive lines do (Sections 3.2 and 3.3).
//!
//! ```text
//!   access ──► role ──► bytes and tag change ──► Effect: a command, a notification, a reader served
//! ```
//!
//! Accesses come one after the other, whoever makes them: the own processor, or a packet. All of
//! an access happens at once.
//!
//! | role | tag |
//! | --- | --- |
//! | command buffer | a bit for each word that was stored; [`QUEUED`]: the job list has no room for it yet |
//! | counter | its value |
//! | queues | items that have left and come, each modulo twice their number; [`REQUESTS`]: what it holds are requests |
//!
//! The paper's words have 32 bits, these 64: a line has eight of them, and a command of the
//! prototype's four stores still takes four. A request that waits in a queue takes one word: where
//! the item is to go, and its acknowledgement, or which processor waits.

use serde::{Deserialize, Serialize};

use super::lines::{LineState, Lines};
use super::registers::{LINE_BYTES, LINE_WORDS, Role, SPACE, command, counter, operation, queue};

/// Tag of a command buffer: complete, and waiting for the job list.
pub const QUEUED: u64 = 1 << 8;
/// Tag of a multiple-reader queue: it holds requests.
pub const REQUESTS: u64 = 1 << 32;

/// Why the hardware refuses an access, in words behind the line's name.
pub type Problem = String;

/// Who is to get what is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Reader {
    /// The processor of a tile of a chip, which waits.
    Processor(u16, u16),
    /// Memory at an address, and the address to which it is acknowledged (0: none).
    Memory(u64, u64),
}

impl Reader {
    /// As it stands in a queue: one word.
    fn packed(self) -> Option<u64> {
        let place = |address: u64| match address {
            0 => Some(0),
            _ => SPACE.contains(&address).then(|| (address - SPACE.start) / 8 + 1),
        };
        match self {
            Reader::Processor(chip, tile) => Some(1 << 63 | u64::from(chip) << 16 | u64::from(tile)),
            Reader::Memory(to, acknowledge) if to % 8 == 0 && acknowledge % 8 == 0 => {
                Some(place(to)? << 31 | place(acknowledge)?)
            }
            Reader::Memory(..) => None,
        }
    }

    fn unpacked(word: u64) -> Self {
        let address = |place: u64| if place == 0 { 0 } else { SPACE.start + (place - 1) * 8 };
        match word >> 63 {
            1 => Reader::Processor((word >> 16) as u16, word as u16),
            _ => Reader::Memory(address(word >> 31), address(word & 0x7fff_ffff)),
        }
    }
}

/// Words that go together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Item {
    /// How many.
    pub count: u8,
    /// The first of these.
    pub words: [u64; LINE_WORDS],
}

impl Item {
    /// Up to eight words.
    pub fn of(words: &[u64]) -> Self {
        let mut item = Item { count: words.len() as u8, ..Item::default() };
        item.words[..words.len()].copy_from_slice(words);
        item
    }

    /// Them.
    pub fn as_slice(&self) -> &[u64] {
        &self.words[..self.count.into()]
    }
}

/// What an access leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// The command in this line is complete.
    Launch(usize),
    /// A word is to be sent to an address, without an acknowledgement.
    Notify(u64, u64),
    /// A reader that has waited gets an item.
    Deliver(Reader, Item),
}

/// What a load or a read gets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Found {
    /// These words.
    Words(Item),
    /// Bytes of the scratchpad.
    Bytes,
    /// It waits for an item.
    Later,
}

fn one(word: u64) -> Found {
    Found::Words(Item::of(&[word]))
}

/// The shape of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    words: u64,
    items: u64,
}

impl Shape {
    fn of(word: u64) -> Result<Self, Problem> {
        let shape = Shape { words: word & 0xffff, items: word >> queue::ITEMS_SHIFT };
        let Shape { words, items } = shape;
        if !words.is_power_of_two() || words > LINE_WORDS as u64 {
            return Err(format!("an item of {words} words is not allowed; expected 1, 2, 4 or {LINE_WORDS}"));
        }
        if !items.is_power_of_two() || items > queue::MOST_ITEMS {
            let most = queue::MOST_ITEMS;
            return Err(format!("{items} items are not allowed; expected a power of two up to {most}"));
        }
        Ok(shape)
    }

    fn lines(self) -> usize {
        (self.words * self.items).div_ceil(LINE_WORDS as u64) as usize
    }
}

/// Head and tail, as a queue's tag has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pointers {
    head: u64,
    tail: u64,
    has_requests: bool,
}

impl Pointers {
    fn of(tag: u64) -> Self {
        Pointers { head: tag & 0xffff, tail: tag >> 16 & 0xffff, has_requests: tag & REQUESTS != 0 }
    }

    fn tag(self) -> u64 {
        self.head | self.tail << 16 | if self.has_requests { REQUESTS } else { 0 }
    }

    fn used(self, shape: Shape) -> u64 {
        self.tail.wrapping_sub(self.head) & (2 * shape.items - 1)
    }
}

/// Bits of the words that a command needs, by its first word.
fn needed(first: u64) -> u64 {
    match first & 0xff {
        operation::MESSAGE => (1 << (command::DATA as u64 + (first >> 8).div_ceil(8)).min(8)) - 1,
        _ => 0b1111,
    }
}

impl Lines {
    /// The name of a line in messages.
    fn role_name(&self, line: usize) -> &'static str {
        self.state(line).role.name()
    }

    /// Whether an access of so many bytes can be made there: in scratchpad anywhere, in a line that
    /// is sensitive to events whole words of it.
    fn check(&self, offset: u64, length: usize) -> Result<(), Problem> {
        let lines = offset / LINE_BYTES..=(offset + length as u64 - 1) / LINE_BYTES;
        let role = self.state(*lines.start() as usize).role;
        match role {
            Role::Scratchpad => {
                let other = lines.map(|line| line as usize).find(|&line| self.state(line).role != role);
                other.map_or(Ok(()), |line| {
                    Err(format!("an access of {length} bytes reaches into a {}", self.role_name(line)))
                })
            }
            Role::Cache => Err("the cache has the line: nobody has allocated it as scratchpad".into()),
            _ if lines.start() != lines.end() || !offset.is_multiple_of(8) || !length.is_multiple_of(8) => {
                Err(format!("an access of {length} bytes to a {}, which has words of 8 bytes", role.name()))
            }
            _ => Ok(()),
        }
    }

    /// Bytes are written, by a store or a packet.
    ///
    /// # Errors
    /// Why the hardware refuses it.
    pub fn write(&mut self, offset: u64, bytes: &[u8], effects: &mut Vec<Effect>) -> Result<(), Problem> {
        self.check(offset, bytes.len())?;
        let (line, word) = ((offset / LINE_BYTES) as usize, (offset % LINE_BYTES / 8) as usize);
        let role = self.state(line).role;
        if role == Role::Scratchpad {
            self.bytes_mut(offset, bytes.len()).copy_from_slice(bytes);
            return Ok(());
        }
        let value = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let mut item = Item { count: (bytes.len() / 8) as u8, ..Item::default() };
        item.words.iter_mut().zip(bytes.chunks_exact(8)).for_each(|(word, bytes)| *word = value(bytes));
        if word == queue::ENQUEUE && matches!(role, Role::SingleReaderQueue | Role::MultipleReaderQueue) {
            return self.enqueue(line, item, effects);
        }
        for (word, &value) in (word..).zip(item.as_slice()) {
            match role {
                Role::CommandBuffer => self.store_command(line, word, value, effects)?,
                Role::Counter => self.store_counter(line, word, value, effects)?,
                _ => self.store_descriptor(line, word, value)?,
            }
        }
        Ok(())
    }

    /// Words are read, by a load or a packet; what is bytes of the scratchpad the caller takes from
    /// there.
    ///
    /// # Errors
    /// Why the hardware refuses it.
    pub fn read(&mut self, offset: u64, length: usize, reader: Reader) -> Result<Found, Problem> {
        self.check(offset, length)?;
        let (line, word) = ((offset / LINE_BYTES) as usize, (offset % LINE_BYTES / 8) as usize);
        let &LineState { role, tag, .. } = self.state(line);
        match (role, word) {
            (Role::Scratchpad, _) => Ok(Found::Bytes),
            (Role::CommandBuffer, command::OPERATION) => Ok(one(u64::from(tag != 0))),
            (Role::Counter, counter::VALUE) => Ok(one(tag)),
            (Role::SingleReaderQueue, queue::ENQUEUE) => {
                Err("its first word is where items are written; they are read behind it".into())
            }
            (Role::SingleReaderQueue, queue::TAIL) => Ok(one(Pointers::of(tag).tail)),
            (Role::SingleReaderQueue, queue::HEAD) => Ok(one(Pointers::of(tag).head)),
            (Role::MultipleReaderQueue, queue::ENQUEUE) => self.dequeue(line, reader),
            (Role::MultipleReaderQueue, queue::TAIL) => {
                let pointers = Pointers::of(tag);
                let used = pointers.used(self.shape(line)?) as i64;
                Ok(one(if pointers.has_requests { -used } else { used } as u64))
            }
            _ => {
                let words: Vec<u64> = (word..word + length / 8).map(|word| self.word(line, word)).collect();
                Ok(Found::Words(Item::of(&words)))
            }
        }
    }

    /// A store marks a line: what it is from now on. Its tag is clear then.
    ///
    /// # Errors
    /// Why the hardware refuses it.
    pub fn mark(&mut self, line: usize, value: u64) -> Result<(), Problem> {
        if self.state(line).owner.is_none() {
            return Err(
                "the cache has the line, which may be newer than memory: it has no role before it is \
                        allocated"
                    .into(),
            );
        }
        let role = Role::of(value & 0xff).ok_or_else(|| format!("there is no role {}", value & 0xff))?;
        if role == Role::Cache {
            return Err("a line goes back to the cache by the system (FREE)".into());
        }
        let before = *self.state(line);
        *self.state_mut(line) = LineState { role, tag: 0, ..before };
        let checked = match role {
            Role::Counter => {
                (0..4).try_for_each(|own| check_notified(self.word(line, counter::NOTIFICATIONS + own)))
            }
            Role::SingleReaderQueue | Role::MultipleReaderQueue if self.word(line, queue::SHAPE) != 0 => {
                self.check_shape(line, self.word(line, queue::SHAPE))
            }
            _ => Ok(()),
        };
        if checked.is_err() {
            *self.state_mut(line) = before;
        }
        checked
    }

    /// The tag of a line that was swapped out is written again.
    ///
    /// # Errors
    /// Why the hardware refuses it.
    pub fn set_tag(&mut self, line: usize, tag: u64) -> Result<(), Problem> {
        if self.state(line).owner.is_none() {
            return Err("the cache has the line, and its tag".into());
        }
        self.state_mut(line).tag = tag;
        Ok(())
    }

    /// The command in a buffer has gone to the job list, or waits for it.
    pub fn command_taken(&mut self, line: usize, waits: bool) {
        self.state_mut(line).tag = if waits { QUEUED } else { 0 };
    }

    fn store_command(
        &mut self,
        line: usize,
        word: usize,
        value: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Problem> {
        let tag = self.state(line).tag;
        if tag & QUEUED != 0 {
            return Err(format!("word {word} is stored while its command waits for the job list"));
        }
        if tag & 1 << word != 0 {
            return Err(format!(
                "word {word} is stored twice for one command (Section 3.3: \"all transfer arguments are written to \
                 a command buffer exactly once\")"
            ));
        }
        self.set_word(line, word, value);
        let tag = tag | 1 << word;
        self.state_mut(line).tag = tag;
        let first = self.word(line, command::OPERATION);
        if tag & 1 != 0 {
            check_command(first)?;
            if tag & needed(first) == needed(first) {
                self.state_mut(line).tag = 0;
                effects.push(Effect::Launch(line));
            }
        }
        Ok(())
    }

    fn store_counter(
        &mut self,
        line: usize,
        word: usize,
        value: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Problem> {
        if word != counter::VALUE {
            if word >= counter::NOTIFICATIONS {
                check_notified(value)?;
            }
            self.set_word(line, word, value);
            return Ok(());
        }
        let sum = self.state(line).tag.wrapping_add(value);
        self.state_mut(line).tag = sum;
        if sum != 0 {
            return Ok(());
        }
        self.state_mut(line).tag = self.word(line, counter::RESET);
        let word = self.word(line, counter::WORD);
        let addresses = (0..4).map(|own| self.word(line, counter::NOTIFICATIONS + own));
        effects.extend(addresses.filter(|&to| to != 0).map(|to| Effect::Notify(to, word)));
        Ok(())
    }

    /// A word of a queue's descriptor.
    fn store_descriptor(&mut self, line: usize, word: usize, value: u64) -> Result<(), Problem> {
        let &LineState { role, tag, .. } = self.state(line);
        match word {
            queue::SHAPE => self.check_shape(line, value)?,
            queue::HEAD if role == Role::SingleReaderQueue => {
                let (shape, pointers) = (self.shape(line)?, Pointers::of(tag));
                let moved = Pointers { head: value, ..pointers };
                if value >= 2 * shape.items || moved.used(shape) > pointers.used(shape) {
                    let Pointers { head, tail, .. } = pointers;
                    return Err(format!("its head cannot go from {head} to {value}: its tail is {tail}"));
                }
                self.state_mut(line).tag = moved.tag();
                return Ok(());
            }
            queue::TAIL => return Err("its tail is the hardware's".into()),
            _ => {}
        }
        self.set_word(line, word, value);
        Ok(())
    }

    fn shape(&self, line: usize) -> Result<Shape, Problem> {
        Shape::of(self.word(line, queue::SHAPE)).map_err(|problem| format!("it has no shape: {problem}"))
    }

    /// The items of a queue are in scratchpad lines of its owner.
    fn check_shape(&self, line: usize, value: u64) -> Result<(), Problem> {
        let shape = Shape::of(value)?;
        let owner = self.state(line).owner;
        let body = line + 1..line + 1 + shape.lines();
        let is_its = |line: usize| {
            line < self.count()
                && self.state(line).owner == owner
                && self.state(line).role == Role::Scratchpad
        };
        match body.clone().find(|&line| !is_its(line)) {
            None => Ok(()),
            Some(other) => Err(format!(
                "its {} items of {} words take the lines {} to {}, and line {other} is no scratchpad line of its \
                 owner",
                shape.items,
                shape.words,
                body.start,
                body.end - 1
            )),
        }
    }

    /// Where an item's words begin: the first line behind the descriptor has item 0.
    fn place(line: usize, shape: Shape, pointer: u64) -> (usize, usize) {
        let word = (pointer & (shape.items - 1)) * shape.words;
        (line + 1 + word as usize / LINE_WORDS, word as usize % LINE_WORDS)
    }

    fn put(&mut self, line: usize, shape: Shape, pointer: u64, words: &[u64]) {
        let (line, first) = Self::place(line, shape, pointer);
        words.iter().enumerate().for_each(|(own, &word)| self.set_word(line, first + own, word));
    }

    fn get(&self, line: usize, shape: Shape, pointer: u64) -> Item {
        let (line, first) = Self::place(line, shape, pointer);
        let mut item = Item { count: shape.words as u8, ..Item::default() };
        (0..shape.words as usize).for_each(|own| item.words[own] = self.word(line, first + own));
        item
    }

    /// Whether a queue has no room for one more item or request.
    pub fn is_full(&self, line: usize) -> bool {
        let shape = self.shape(line);
        shape.is_ok_and(|shape| Pointers::of(self.state(line).tag).used(shape) == shape.items)
    }

    fn advance(shape: Shape, pointer: u64) -> u64 {
        (pointer + 1) & (2 * shape.items - 1)
    }

    /// An item comes: to a reader that waits, or behind the others.
    fn enqueue(&mut self, line: usize, item: Item, effects: &mut Vec<Effect>) -> Result<(), Problem> {
        let (shape, mut pointers) = (self.shape(line)?, Pointers::of(self.state(line).tag));
        if u64::from(item.count) > shape.words {
            let (count, words) = (item.count, shape.words);
            return Err(format!("a write of {count} words, and its items have {words}"));
        }
        let used = pointers.used(shape);
        if pointers.has_requests && used > 0 {
            let reader = Reader::unpacked(self.get(line, shape, pointers.head).words[0]);
            pointers.head = Self::advance(shape, pointers.head);
            self.state_mut(line).tag = pointers.tag();
            effects.push(Effect::Deliver(reader, Item { count: shape.words as u8, ..item }));
            return Ok(());
        }
        if used == shape.items {
            return Err(format!("it is full: {used} items wait in it, and nothing would hold one more"));
        }
        let mut words = [0; LINE_WORDS];
        words[..item.count.into()].copy_from_slice(item.as_slice());
        self.put(line, shape, pointers.tail, &words[..shape.words as usize]);
        let tail = Self::advance(shape, pointers.tail);
        self.state_mut(line).tag = Pointers { tail, has_requests: false, ..pointers }.tag();
        Ok(())
    }

    /// A reader comes: it gets the oldest item, or waits.
    fn dequeue(&mut self, line: usize, reader: Reader) -> Result<Found, Problem> {
        let (shape, mut pointers) = (self.shape(line)?, Pointers::of(self.state(line).tag));
        let used = pointers.used(shape);
        if !pointers.has_requests && used > 0 {
            let item = self.get(line, shape, pointers.head);
            pointers.head = Self::advance(shape, pointers.head);
            self.state_mut(line).tag = pointers.tag();
            return Ok(Found::Words(item));
        }
        if used == shape.items {
            return Err(format!("it is full: {used} readers wait, and nothing would hold one more"));
        }
        let Some(word) = reader.packed() else {
            return Err("an item is read to whole words".into());
        };
        self.put(line, shape, pointers.tail, &[word]);
        let tail = Self::advance(shape, pointers.tail);
        self.state_mut(line).tag = Pointers { tail, has_requests: true, ..pointers }.tag();
        Ok(Found::Later)
    }
}

/// Refuses a command's first word.
fn check_command(first: u64) -> Result<(), Problem> {
    let (number, bytes) = (first & 0xff, first >> 8);
    let (name, least, most) = match number {
        operation::COPY => ("COPY", 1, command::MOST_BYTES),
        operation::MESSAGE => ("MESSAGE", 8, command::MOST_WORDS as u64 * 8),
        operation::STORE => ("STORE", 8, 8),
        operation::READ => ("READ", 1, LINE_BYTES),
        _ => return Err(format!("there is no operation {number}; there are COPY, MESSAGE, STORE and READ")),
    };
    if !(least..=most).contains(&bytes) || (number == operation::MESSAGE && bytes % 8 != 0) {
        return Err(format!("{name} of {bytes} bytes is not allowed; expected {least} to {most}"));
    }
    Ok(())
}

/// Refuses the address of a notification.
fn check_notified(address: u64) -> Result<(), Problem> {
    match address == 0 || SPACE.contains(&address) && address.is_multiple_of(8) {
        true => Ok(()),
        false => Err(format!("nothing is at {address:#x} that could be told when it comes to zero")),
    }
}
