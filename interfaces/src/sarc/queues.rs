//! Queues in scratchpad: a descriptor, and the lines of its items behind it (Section 3.3).
//!
//! ```text
//!   descriptor: enqueue, tail, head, shape | item 0, item 1, ...
//! ```
//!
//! Head and tail are in the descriptor's tag, each modulo twice the number of items: so a full
//! queue is told from an empty one. A queue with several readers holds items or requests, never
//! both: an item that comes while requests wait goes to the oldest of them.

use super::events::{Effect, Found, Item, Problem, REQUESTS, Reader};
use super::lines::{LineState, Lines};
use super::registers::{LINE_WORDS, Role, queue};
use super::rules::Rule;

/// The shape of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
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

/// What the words of a line are that is a queue's for items, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordsOfQueue {
    /// The line.
    pub line: usize,
    /// Requests of readers that wait.
    pub requests: u8,
    /// Nothing that counts; the others are words of items.
    pub free: u8,
}

/// Head and tail, as a queue's tag has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointers {
    pub head: u64,
    pub tail: u64,
    pub has_requests: bool,
}

impl Pointers {
    pub fn of(tag: u64) -> Self {
        Pointers { head: tag & 0xffff, tail: tag >> 16 & 0xffff, has_requests: tag & REQUESTS != 0 }
    }

    fn tag(self) -> u64 {
        self.head | self.tail << 16 | if self.has_requests { REQUESTS } else { 0 }
    }

    pub fn used(self, shape: Shape) -> u64 {
        self.tail.wrapping_sub(self.head) & (2 * shape.items - 1)
    }
}

impl Lines {
    /// A word of a queue's descriptor.
    pub(super) fn store_descriptor(&mut self, line: usize, word: usize, value: u64) -> Result<(), Problem> {
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

    pub(super) fn shape(&self, line: usize) -> Result<Shape, Problem> {
        Shape::of(self.word(line, queue::SHAPE)).map_err(|problem| format!("it has no shape: {problem}"))
    }

    /// The items of a queue are in scratchpad lines of its owner.
    pub(super) fn check_shape(&self, line: usize, value: u64) -> Result<(), Problem> {
        let shape = Shape::of(value)?;
        let owner = &self.state(line).owner;
        let body = line + 1..line + 1 + shape.lines();
        let is_its = |line: usize| {
            line < self.count()
                && self.state(line).owner == *owner
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

    /// What the words are that a queue has for items.
    pub(super) fn words_of_queue(&self, line: usize) -> Vec<WordsOfQueue> {
        let Ok(shape) = self.shape(line) else { return Vec::new() };
        let pointers = Pointers::of(self.state(line).tag);
        let used = pointers.used(shape);
        let mut words: Vec<WordsOfQueue> = Vec::new();
        for own in 0..shape.items {
            let (line, first) = Self::place(line, shape, pointers.head + own);
            let item = (((1_u16 << shape.words) - 1) << first) as u8;
            let (requests, free) = match (own < used, pointers.has_requests) {
                (true, true) => (1 << first, item & !(1 << first)),
                (true, false) => (0, 0),
                (false, _) => (0, item),
            };
            match words.iter_mut().find(|other| other.line == line) {
                Some(other) => (other.requests, other.free) = (other.requests | requests, other.free | free),
                None => words.push(WordsOfQueue { line, requests, free }),
            }
        }
        words
    }

    fn advance(&self, shape: Shape, pointer: u64) -> u64 {
        let rounds = if self.lacks(Rule::CountingTwiceRound) { 1 } else { 2 };
        (pointer + 1) & (rounds * shape.items - 1)
    }

    /// An item comes: to a reader that waits, or behind the others.
    pub(super) fn enqueue(
        &mut self,
        line: usize,
        item: Item,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Problem> {
        let (shape, mut pointers) = (self.shape(line)?, Pointers::of(self.state(line).tag));
        if u64::from(item.count) > shape.words {
            let (count, words) = (item.count, shape.words);
            return Err(format!("a write of {count} words, and its items have {words}"));
        }
        let used = pointers.used(shape);
        if pointers.has_requests && used > 0 && !self.lacks(Rule::Matching) {
            let reader = Reader::unpacked(self.get(line, shape, pointers.head).words[0]);
            pointers.head = self.advance(shape, pointers.head);
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
        let tail = self.advance(shape, pointers.tail);
        self.state_mut(line).tag = Pointers { tail, has_requests: false, ..pointers }.tag();
        Ok(())
    }

    /// A reader comes: it gets the oldest item, or waits.
    pub(super) fn dequeue(&mut self, line: usize, reader: Reader) -> Result<Found, Problem> {
        let (shape, mut pointers) = (self.shape(line)?, Pointers::of(self.state(line).tag));
        let used = pointers.used(shape);
        if !pointers.has_requests && used > 0 {
            let item = self.get(line, shape, pointers.head);
            pointers.head = self.advance(shape, pointers.head);
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
        let tail = self.advance(shape, pointers.tail);
        self.state_mut(line).tag = Pointers { tail, has_requests: true, ..pointers }.tag();
        Ok(Found::Later)
    }
}
