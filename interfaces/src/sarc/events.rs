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
use super::queues::Pointers;
use super::registers::{ADDRESSES, LINE_BYTES, LINE_WORDS, Role, SPACE, command, counter, operation, queue};
use super::rules::Rule;

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
    pub(super) fn packed(self) -> Option<u64> {
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

    pub(super) fn unpacked(word: u64) -> Self {
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
    /// A word is to be sent to an address of the tile's process, without an acknowledgement.
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
        self.leave_first_level(line);
        let before = self.state(line).clone();
        let tag = if self.lacks(Rule::ClearingTheTag) { before.tag } else { 0 };
        *self.state_mut(line) = LineState { role, tag, ..before.clone() };
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
        let is_pending = waits && !self.lacks(Rule::PendingWhileQueued);
        self.state_mut(line).tag = if is_pending { QUEUED } else { 0 };
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
            let is_complete = tag & needed(first) == needed(first);
            if is_complete || self.lacks(Rule::LaunchingWhenComplete) {
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
        if !self.lacks(Rule::Resetting) {
            self.state_mut(line).tag = self.word(line, counter::RESET);
        }
        let word = self.word(line, counter::WORD);
        let told = if self.lacks(Rule::NotifyingAll) { 1 } else { 4 };
        let addresses = (0..told).map(|own| self.word(line, counter::NOTIFICATIONS + own));
        effects.extend(addresses.filter(|&to| to != 0).map(|to| Effect::Notify(to, word)));
        Ok(())
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
    match address == 0 || ADDRESSES.contains(&address) && address.is_multiple_of(8) {
        true => Ok(()),
        false => Err(format!("nothing is at {address:#x} that could be told when it comes to zero")),
    }
}
