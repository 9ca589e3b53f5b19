//! A set-associative cache that holds data, kept coherent by a protocol table.
//!
//! The cache does not know who keeps it coherent: it turns accesses into
//! requests ([`Cache::access`]), takes blocks in ([`Cache::fill`]) and answers
//! what it snoops ([`Cache::snoop`]); a bus or a directory does the rest. It
//! serves processors, whose hits must be fast, and network interfaces alike.
//!
//! ```text
//!            front (one row a set)       lines (ways of the set)
//!  address ─► readable │ writable         tag │ state │ bytes
//!             one compare: hit or not     looked at when that fails
//! ```
//!
//! **Front.** A hit is one compare with the row of its set: see `cache/front.rs`.
//!
//! **Snarfing.** A cache that snarfs remembers, beside the tags, which block each
//! empty line lost to another agent's transaction. When bytes of that block pass
//! by on their way to its home, it takes them in again ([`Cache::snarf`]).
//!
//! **Locking.** Single lines can be taken away from caching: see `cache/locking.rs`.
//!
//! A tag is the block's address plus one bit that no block address has, so that
//! freshly zeroed memory is an empty cache and an untouched set costs nothing.

mod config;
mod filling;
mod front;
mod levels;
mod locking;
mod snooping;
mod soundness;

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::access_tags::Tag;
use crate::protocols::{self, Access, AccessAction, Protocol, Request, State};
use crate::transaction::BlockData;

use front::{Recency, Row, RowPlaces, silent_rows};
use locking::LOCKED;

pub use config::Config;
pub use locking::LastWay;
pub use soundness::Geometry;

/// Marks a tag as valid; block addresses are multiples of at least 16.
const VALID: u64 = 8;

/// One line's place in the cache.
pub(crate) type Line = usize;

/// A block that has to leave to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its address.
    pub block: u64,
    /// Its home has older bytes: it must be written back.
    pub dirty: bool,
}

/// What an access asks for that the cache does not allow.
#[derive(Debug)]
pub struct Miss {
    /// What to ask the interconnect for.
    pub request: Request,
    /// The block that has left for it, and its bytes if its home has older ones.
    pub left: Option<(u64, Option<BlockData>)>,
}

/// A coherent cache with data. What a hit looks at comes first, in one line of the host's cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[repr(C, align(64))]
pub struct Cache {
    /// For each set which accesses to its most recent line need nothing else.
    front: Box<[Row]>,
    /// The bytes of all lines: those of the most recent line of each set come first.
    data: Box<[u8]>,
    /// How addresses lead to rows.
    rows: RowPlaces,
    /// The bits of an address that an access of eight bytes compares with a row.
    compared: u64,
    /// The bits of an address that say where its bytes are, if its line is the most recent.
    place_mask: u64,
    /// For each set the order of its ways and where their bytes are, if it has several.
    recency: Vec<Recency>,
    block_shift: u32,
    #[serde(with = "protocols::by_its_name")]
    protocol: &'static Protocol,
    ways: usize,
    block_bytes: usize,
    tags: Vec<u64>,
    /// For each empty line the tag of the block that it lost; none if the cache
    /// does not snarf.
    lost: Vec<u64>,
    states: Vec<u8>,
    /// For each line the most that the front may answer, a [`Tag`].
    allowed: Vec<u8>,
}

narthex_kernel::checked_when_read!(Cache);

/// The lines and their order of replacement; the front follows from them.
impl Hash for Cache {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.lost.hash(hasher);
        self.recency.iter().for_each(|recency| recency.order.hash(hasher));
        for line in self.present() {
            (line, self.tags[line], self.states[line], self.line_bytes(line)).hash(hasher);
        }
        self.locked().for_each(|line| line.hash(hasher));
    }
}

impl Cache {
    /// An empty cache. The parameters have been checked by [`Config::problems`].
    ///
    /// # Panics
    /// If they break a rule.
    pub fn new(config: &Config) -> Self {
        assert!(config.problems().is_empty(), "{:?}", config.problems());
        let protocol = protocols::by_name(&config.protocol).expect("a known protocol");
        let block_bytes = config.block.as_u64() as usize;
        let lines = config.size.as_u64() as usize / block_bytes;
        let mut cache = Self::with_geometry(protocol, lines, config.associativity as usize, block_bytes);
        if config.snarfing {
            cache.lost = vec![0; lines];
        }
        cache
    }

    /// An empty cache of `lines` lines of `block_bytes` in sets of `ways`.
    /// `lines / ways` and `block_bytes` are powers of two.
    pub fn with_geometry(protocol: &'static Protocol, lines: usize, ways: usize, block_bytes: usize) -> Self {
        let sets = lines / ways;
        assert!(sets.is_power_of_two() && sets <= RowPlaces::MOST);
        assert!(block_bytes.is_power_of_two() && block_bytes >= 16);
        let recency = vec![Recency::new(ways); if ways == 1 { 0 } else { sets }];
        Cache {
            protocol,
            ways,
            block_bytes,
            block_shift: block_bytes.trailing_zeros(),
            rows: RowPlaces::new(sets, block_bytes),
            compared: !(block_bytes as u64 - 1) | 7,
            place_mask: (sets * block_bytes) as u64 - 1,
            front: silent_rows(sets),
            recency,
            tags: vec![0; lines],
            lost: Vec::new(),
            states: vec![0; lines],
            allowed: vec![0; lines],
            data: vec![0; lines * block_bytes].into(),
        }
    }

    /// The table that keeps it coherent.
    pub fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    /// Bytes in a block.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Bytes from `address` to the end of its block.
    pub fn bytes_to_end_of_block(&self, address: u64) -> usize {
        self.block_bytes - self.offset_of(address)
    }

    /// Where in its block an address is.
    #[inline(always)]
    fn offset_of(&self, address: u64) -> usize {
        (address - self.block_of(address)) as usize
    }

    /// The address of the block that holds `address`.
    #[inline(always)]
    pub fn block_of(&self, address: u64) -> u64 {
        address & self.compared & !7
    }

    /// The state of the block that holds `address`.
    pub fn state(&self, address: u64) -> State {
        self.find(address).map_or(State::Invalid, |line| self.line_state(line))
    }

    /// Makes an access that the front row did not answer. `Ok`: the line is
    /// there, in the state that the access leaves it in, and the most recent of
    /// its set; `Err`: what to ask the interconnect for.
    pub fn access(&mut self, address: u64, access: Access) -> Result<(), Request> {
        let found = self.find(address);
        let state = found.map_or(State::Invalid, |line| self.line_state(line));
        match self.protocol.access(state, access) {
            AccessAction::Hit(next) => {
                let line = found.expect("a hit needs a line");
                self.states[line] = next as u8;
                self.make_most_recent(line);
                Ok(())
            }
            AccessAction::Ask(request) => Err(request),
            AccessAction::Drop => Ok(()),
        }
    }

    /// Copies the bytes at `address`, which lie in one present block.
    pub fn read(&self, address: u64, bytes: &mut [u8]) {
        let start = self.bytes_of(address);
        bytes.copy_from_slice(&self.data[start..start + bytes.len()]);
    }

    /// Replaces the bytes at `address`, which lie in one present block. The
    /// caller has the right to: this looks at no state.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let start = self.bytes_of(address);
        self.data[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// As [`Cache::access`] for a store of these bytes, which lie in one block; where
    /// the access hits, they are stored, and the next accesses to the block may take
    /// the fast way up to `most`.
    pub fn store(&mut self, address: u64, bytes: &[u8], most: Tag) -> Result<(), Request> {
        let found = self.find(address);
        let state = found.map_or(State::Invalid, |line| self.line_state(line));
        match (self.protocol.access(state, Access::Store), found) {
            (AccessAction::Ask(request), _) => Err(request),
            (AccessAction::Hit(next), Some(line)) => {
                self.states[line] = next as u8;
                self.allowed[line] = most as u8;
                let start = self.start_of(line) + self.offset_of(address);
                self.data[start..start + bytes.len()].copy_from_slice(bytes);
                self.make_most_recent(line);
                Ok(())
            }
            _ => unreachable!("a store hits or asks"),
        }
    }

    /// As [`Cache::write`] and [`Cache::allow`] for the block.
    pub fn write_allowing(&mut self, address: u64, bytes: &[u8], most: Tag) {
        let line = self.find(address).expect("the block is present");
        let start = self.start_of(line) + self.offset_of(address);
        self.data[start..start + bytes.len()].copy_from_slice(bytes);
        self.allowed[line] = most as u8;
        self.refresh_front(line);
    }

    /// The block that holds `address`, if present in any readable state.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        self.find(address).map(|line| self.line_bytes(line))
    }

    /// The addresses of the blocks that the cache holds, in no order.
    pub fn blocks(&self) -> impl Iterator<Item = u64> {
        self.present().map(|line| self.block_in(line))
    }

    /// The same, the least recently used of each set first.
    pub fn blocks_by_age(&self) -> impl Iterator<Item = u64> {
        let sets = 0..self.front.len();
        let places = (0..self.ways).rev().flat_map(move |place| sets.clone().map(move |set| (set, place)));
        let lines = places.map(|(set, place)| set * self.ways + self.way_in_order(set, place));
        lines.filter(|&line| self.has_block(line)).map(|line| self.block_in(line))
    }

    fn present(&self) -> impl Iterator<Item = Line> {
        (0..self.tags.len()).filter(|&line| self.has_block(line))
    }

    fn has_block(&self, line: Line) -> bool {
        self.tags[line] & VALID != 0
    }

    /// Feeds the blocks to `hasher` in the order of their addresses, without
    /// where they are and when they were used. Two caches that agree in this
    /// behave alike as long as no set is full. Of one that snarfs it counts too
    /// which lines have lost which blocks.
    pub fn hash_blocks<H: Hasher>(&self, hasher: &mut H) {
        if !self.lost.is_empty() {
            (&self.lost, &self.tags).hash(hasher);
        }
        let mut lines: Vec<Line> = self.present().collect();
        lines.sort_unstable_by_key(|&line| self.tags[line]);
        for line in lines {
            (self.tags[line], self.states[line], self.line_bytes(line)).hash(hasher);
        }
        self.locked().for_each(|line| line.hash(hasher));
    }

    /// Forgets every block without writing anything back.
    pub fn clear(&mut self) {
        self.front = silent_rows(self.front.len());
        self.tags.iter_mut().filter(|tag| **tag != LOCKED).for_each(|tag| *tag = 0);
        self.lost.fill(0);
        self.states.fill(0);
    }

    /// Empties every line whose block begins in `range`, handing those that are
    /// newer than their home to `write_back`. For changes of the page table:
    /// functional, without time.
    pub fn flush(&mut self, range: std::ops::Range<u64>, mut write_back: impl FnMut(u64, &[u8])) {
        let blocks = range.clone().step_by(self.block_bytes);
        if range.end.saturating_sub(range.start) / (self.block_bytes as u64) < self.tags.len() as u64 {
            for line in blocks.filter_map(|block| self.find(block)).collect::<Vec<_>>() {
                self.flush_line(line, &mut write_back);
            }
            return;
        }
        for line in 0..self.tags.len() {
            if self.has_block(line) && range.contains(&self.block_in(line)) {
                self.flush_line(line, &mut write_back);
            }
        }
    }

    /// Empties a line that holds a block.
    fn flush_line(&mut self, line: Line, write_back: &mut impl FnMut(u64, &[u8])) {
        if self.line_state(line).is_dirty() {
            write_back(self.block_in(line), self.line_bytes(line));
        }
        self.set_state(line, State::Invalid);
    }

    /// Says which accesses to the block of `address`, if it is present, may take
    /// the fast way; the others go the slow one, where they can be noticed
    /// (stores to code) or refused (tagged memory).
    pub fn allow(&mut self, address: u64, most: Tag) {
        if let Some(line) = self.find(address) {
            self.allowed[line] = most as u8;
            self.refresh_front(line);
        }
    }

    /// All stores go the slow way, until one to a block says otherwise.
    pub(crate) fn forbid_fast_stores(&mut self) {
        self.allowed.iter_mut().for_each(|most| *most = (*most).min(Tag::Read as u8));
        self.front.iter_mut().enumerate().for_each(|(set, row)| row[1] = front::no_answer(set));
    }

    #[inline(always)]
    fn set_of(&self, address: u64) -> usize {
        ((address & self.rows.set_bits) >> self.block_shift) as usize
    }

    /// Whether the blocks of two addresses compete for lines.
    pub fn share_a_set(&self, one: u64, other: u64) -> bool {
        self.set_of(one) == self.set_of(other)
    }

    /// A bit for the set of an address. Those of two sets may be the same.
    #[inline]
    pub(crate) fn set_in_word(&self, address: u64) -> u64 {
        1 << (self.set_of(address) as u64 % u64::from(u64::BITS))
    }

    fn lines_of(&self, set: usize) -> std::ops::Range<Line> {
        let first = set * self.ways;
        first..first + self.ways
    }

    fn find(&self, address: u64) -> Option<Line> {
        let tag = self.tag_of(address);
        let lines = self.lines_of(self.set_of(address));
        let way = self.tags[lines.clone()].iter().position(|&own| own == tag)?;
        Some(lines.start + way)
    }

    /// The tag of a line that holds the block of `address`.
    fn tag_of(&self, address: u64) -> u64 {
        self.block_of(address) | VALID
    }

    /// The address of the block that a line holds.
    fn block_in(&self, line: Line) -> u64 {
        self.tags[line] & !VALID
    }

    fn line_state(&self, line: Line) -> State {
        State::from_u8(self.states[line])
    }

    pub(crate) fn line_bytes(&self, line: Line) -> &[u8] {
        let start = self.start_of(line);
        &self.data[start..start + self.block_bytes]
    }

    fn bytes_of(&self, address: u64) -> usize {
        self.place_of(address).expect("the block is present")
    }

    /// The least recently used way of a set that may be replaced.
    #[inline(always)]
    fn oldest_way(&self, set: usize) -> usize {
        let oldest = self.way_in_order(set, self.ways - 1);
        match self.tags[set * self.ways + oldest] {
            LOCKED => self.oldest_unlocked_way(set),
            _ => oldest,
        }
    }

    /// The way at this place of a set's order, from the most recently used.
    #[inline(always)]
    fn way_in_order(&self, set: usize, place: usize) -> usize {
        self.recency.get(set).map_or(0, |recency| recency.way(place))
    }

    fn set_state(&mut self, line: Line, state: State) {
        if state == State::Invalid {
            return self.forget(line);
        }
        self.states[line] = state as u8;
        self.refresh_front(line);
    }

    /// A line that holds a block is empty from now on.
    #[inline]
    fn forget(&mut self, line: Line) {
        let tag = std::mem::take(&mut self.tags[line]);
        self.states[line] = State::Invalid as u8;
        self.forget_front(self.set_of(tag), tag & !VALID);
    }

    fn make_most_recent(&mut self, line: Line) {
        let described = (self.block_in(line), self.states[line], self.allowed[line]);
        self.write_row(self.set_of(described.0), line, described);
    }
}

#[cfg(test)]
mod tests;
