//! How blocks come into a cache, and leave it to make room.

use super::{Cache, Line, Miss, VALID, Victim};
use crate::access_tags::Tag;
use crate::protocols::{Access, AccessAction, Request, State};
use crate::transaction::{BlockData, copy_block};

impl Cache {
    /// The block that must leave before the block of `address` can be filled
    /// in; none if it is present or its set has an empty line.
    pub fn victim_for(&self, address: u64) -> Option<Victim> {
        let line = self.line_to_empty(address)?;
        Some(Victim { block: self.block_in(line), dirty: self.line_state(line).is_dirty() })
    }

    /// Takes out the block that must leave before the block of `address` can be
    /// filled in, if there is one: its address, and its bytes if its home has
    /// older ones.
    pub fn make_room(&mut self, address: u64) -> Option<(u64, Option<BlockData>)> {
        let line = self.line_to_empty(address)?;
        Some((self.block_in(line), self.empty_line(line)))
    }

    /// As [`Cache::access`]; where the block is absent, what is in its place has left, and
    /// comes with what to ask for, as from [`Cache::make_room`].
    pub fn access_or_make_room(&mut self, address: u64, access: Access) -> Result<(), Miss> {
        let Some(line) = self.line_that_lacks(self.set_of(address), self.tag_of(address)) else {
            return self.access(address, access).map_err(|request| Miss { request, left: None });
        };
        let AccessAction::Ask(request) = self.protocol.access(State::Invalid, access) else { return Ok(()) };
        let is_empty = self.tags[line] == 0;
        let left = (!is_empty).then(|| (self.block_in(line), self.empty_line(line)));
        Err(Miss { request, left })
    }

    fn line_to_empty(&self, address: u64) -> Option<Line> {
        if self.find(address).is_some() {
            return None;
        }
        let line = self.replaced_line(address);
        (self.line_state(line) != State::Invalid).then_some(line)
    }

    /// Takes the block of `address` out; its bytes, if its home has older ones.
    pub fn remove(&mut self, address: u64) -> Option<BlockData> {
        let line = self.find(address)?;
        self.empty_line(line)
    }

    /// The block of `address` is here no more, nor its bytes; whether it was.
    pub fn discard(&mut self, address: u64) -> bool {
        let line = self.find(address);
        line.inspect(|&line| self.forget(line)).is_some()
    }

    fn empty_line(&mut self, line: Line) -> Option<BlockData> {
        let is_dirty = self.line_state(line).is_dirty();
        let data = is_dirty.then(|| BlockData::from_bytes(self.line_bytes(line)));
        self.forget(line);
        data
    }

    /// Takes in the block that `request` fetched, or the permission that an
    /// upgrade got. There is room: [`Cache::victim_for`] has been seen to.
    pub fn fill(&mut self, address: u64, request: Request, shared: bool, data: Option<&BlockData>) {
        self.fill_allowing(address, request, shared, data, Tag::Write);
    }

    /// As [`Cache::fill`], but accesses beyond `most` go the slow way; see
    /// [`Cache::allow`].
    pub fn fill_allowing(
        &mut self,
        address: u64,
        request: Request,
        shared: bool,
        data: Option<&BlockData>,
        most: Tag,
    ) {
        let state = self.protocol.fill(request, shared);
        let line = self.line_for(address);
        self.put(line, address, state, data.map(|data| &**data), most);
    }

    /// Puts a block in with a state of the caller's choice: for owners that
    /// produce whole blocks themselves.
    pub fn place(&mut self, address: u64, state: State, data: Option<&BlockData>) {
        let line = self.line_for(address);
        self.put(line, address, state, data.map(|data| &**data), Tag::Write);
    }

    /// The line that has the block of `address`, or an empty one for it.
    fn line_for(&self, address: u64) -> Line {
        let line = self.find(address).unwrap_or_else(|| self.replaced_line(address));
        debug_assert!(
            self.find(address).is_some() || self.line_state(line) == State::Invalid,
            "a block was filled into an occupied line"
        );
        line
    }

    pub(super) fn put(&mut self, line: Line, address: u64, state: State, data: Option<&[u8]>, most: Tag) {
        let set = self.set_of(address);
        if let Some(data) = data {
            copy_block(self.bytes_to_fill(set, line), data);
        }
        self.describe(set, line, self.tag_of(address), state, most);
    }

    /// A line of a set has the block with this tag from now on, and is its most recent.
    #[inline(always)]
    pub(super) fn describe(&mut self, set: usize, line: Line, tag: u64, state: State, most: Tag) {
        if let Some(lost) = self.lost.get_mut(line) {
            *lost = 0;
        }
        self.tags[line] = tag;
        self.states[line] = state as u8;
        self.allowed[line] = most as u8;
        self.write_row(set, line, (tag & !VALID, state as u8, most as u8));
    }

    /// The line that takes in the block of an access which it lacks, what to ask for, and
    /// the dirty block in that line; none if the block is present.
    #[inline(always)]
    pub(crate) fn line_for_miss(&self, address: u64, access: Access) -> Option<(Line, Request, Option<u64>)> {
        let line = self.line_that_lacks(self.set_of(address), self.tag_of(address))?;
        let AccessAction::Ask(request) = self.protocol.access(State::Invalid, access) else { return None };
        Some((line, request, self.line_state(line).is_dirty().then(|| self.block_in(line))))
    }

    /// As [`Cache::fill_allowing`] into a line, whatever that held, of bytes that `read`
    /// writes there; no other cache has them.
    #[inline(always)]
    pub(crate) fn fill_from(
        &mut self,
        line: Line,
        address: u64,
        (request, most): (Request, Tag),
        read: impl FnOnce(&mut [u8]),
    ) {
        let (state, set) = (self.protocol.fill(request, false), self.set_of(address));
        read(self.bytes_to_fill(set, line));
        self.describe(set, line, self.tag_of(address), state, most);
    }

    /// An empty line of the address's set, or its least recently used one.
    pub(super) fn replaced_line(&self, address: u64) -> Line {
        let set = self.set_of(address);
        let lines = self.lines_of(set);
        let empty = self.tags[lines.clone()].iter().position(|&tag| tag == 0);
        lines.start + empty.unwrap_or_else(|| self.oldest_way(set))
    }
}
