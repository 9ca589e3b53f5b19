//! The lines of a tile that are its scratchpad: bytes, roles, tags, owners.
//!
//! A line is addressed directly: offset = way * bytes of a way + index (Section 3.1, "using only a
//! way number and the address index"). Its tag is free then, and holds what its role needs
//! ([`super::events`]).

use narthex_fabrics::{Job, Rank};
use serde::{Deserialize, Serialize};

use super::registers::{LINE_BYTES, LINE_WORDS, Role, state};
use super::rules::Rule;

/// Who may use a line.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Owner {
    /// The process.
    pub process: Rank,
    /// Its number on its chip.
    pub number: u8,
    /// The job whose other processes may use it, too.
    pub shared_with: Option<Job>,
}

impl Owner {
    /// Whether a process may use what this one owns.
    pub fn lets(&self, process: Rank) -> bool {
        self.process == process || self.shared_with.as_ref().is_some_and(|job| job.rank_of(process).is_some())
    }
}

/// What is known of a line beside its bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct LineState {
    /// What it is.
    pub role: Role,
    /// What its role keeps beside the bytes.
    pub tag: u64,
    /// Who owns it; none if the cache has it.
    pub owner: Option<Owner>,
    /// Its program has selected it for the first level.
    pub is_selected: bool,
    /// The first level may have it.
    pub is_above: bool,
}

/// The lines of a tile.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Lines {
    states: Vec<LineState>,
    /// Bytes of the lines up to the last one that was ever allocated.
    bytes: Vec<u8>,
    /// Those that the first level has to lose.
    changed: Vec<usize>,
    /// A rule to which they do not keep.
    #[serde(skip)]
    without: Option<Rule>,
}

impl Lines {
    /// Lines all of which the cache has.
    pub fn new(l2_bytes: u64) -> Self {
        Lines {
            states: vec![LineState::default(); (l2_bytes / LINE_BYTES) as usize],
            bytes: Vec::new(),
            changed: Vec::new(),
            without: None,
        }
    }

    /// They keep to a rule no longer.
    pub(super) fn leave_out(&mut self, rule: Rule) {
        self.without = Some(rule);
    }

    /// Whether they do not keep to a rule.
    pub(super) fn lacks(&self, rule: Rule) -> bool {
        self.without == Some(rule)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.states.len()
    }

    /// What is known of a line.
    pub fn state(&self, line: usize) -> &LineState {
        &self.states[line]
    }

    pub(super) fn state_mut(&mut self, line: usize) -> &mut LineState {
        &mut self.states[line]
    }

    /// The first of so many lines that follow each other and that the cache has.
    pub fn room_for(&self, lines: usize) -> Option<usize> {
        let mut free = 0;
        for (line, state) in self.states.iter().enumerate() {
            free = if state.owner.is_none() { free + 1 } else { 0 };
            if free == lines {
                return Some(line + 1 - lines);
            }
        }
        None
    }

    /// Makes lines scratchpad of zeros.
    pub fn take(&mut self, first: usize, lines: usize, owner: Owner, is_selected: bool) {
        let end = self.make_room_up_to(first + lines);
        self.bytes[first * LINE_BYTES as usize..end].fill(0);
        let taken =
            LineState { role: Role::Scratchpad, owner: Some(owner), is_selected, ..LineState::default() };
        self.states[first..first + lines].fill(taken);
    }

    /// Has bytes for the lines before this one: how many.
    fn make_room_up_to(&mut self, line: usize) -> usize {
        let end = line * LINE_BYTES as usize;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        end
    }

    /// Lines that were swapped out come back, one of them.
    pub fn restore(&mut self, line: usize, bytes: &[u8], state: LineState) {
        self.make_room_up_to(line + 1);
        self.bytes_mut(line as u64 * LINE_BYTES, bytes.len()).copy_from_slice(bytes);
        self.states[line] = state;
    }

    /// Gives lines back to the cache.
    pub fn give_back(&mut self, first: usize, lines: usize) {
        (first..first + lines).for_each(|line| self.leave_first_level(line));
        self.states[first..first + lines].fill(LineState::default());
    }

    /// Whether the first level may take a line, of which the processor loads; it has the line then.
    pub(super) fn goes_above(&mut self, line: usize) -> bool {
        let state = &mut self.states[line];
        state.is_above = state.is_selected && state.role == Role::Scratchpad;
        state.is_above
    }

    /// A line changes, but by a store of the processor above, which the first level has taken in.
    pub(super) fn leave_first_level(&mut self, line: usize) {
        if std::mem::take(&mut self.states[line].is_above) && !self.lacks(Rule::ClearingTheFirstLevel) {
            self.changed.push(line);
        }
    }

    /// Lines that the first level has to lose.
    pub(super) fn changed(&mut self) -> impl Iterator<Item = usize> + '_ {
        self.changed.drain(..)
    }

    /// The processor above stores to scratchpad, through its first level.
    pub(super) fn store_through(&mut self, offset: u64, bytes: &[u8]) {
        self.bytes[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
    }

    /// Bytes of allocated lines.
    pub fn bytes(&self, offset: u64, length: usize) -> &[u8] {
        &self.bytes[offset as usize..offset as usize + length]
    }

    /// The same, to be changed.
    pub(super) fn bytes_mut(&mut self, offset: u64, length: usize) -> &mut [u8] {
        let lines = offset / LINE_BYTES..=(offset + length as u64 - 1) / LINE_BYTES;
        lines.for_each(|line| self.leave_first_level(line as usize));
        &mut self.bytes[offset as usize..offset as usize + length]
    }

    /// A word of an allocated line.
    pub fn word(&self, line: usize, word: usize) -> u64 {
        let bytes = self.bytes((line * LINE_WORDS + word) as u64 * 8, 8);
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    pub(super) fn set_word(&mut self, line: usize, word: usize, value: u64) {
        self.bytes_mut((line * LINE_WORDS + word) as u64 * 8, 8).copy_from_slice(&value.to_le_bytes());
    }

    /// What a load of a word of a line's state shows.
    pub fn state_word(&self, line: usize, word: u64) -> u64 {
        let &LineState { role, tag, ref owner, is_selected, .. } = &self.states[line];
        if word == 1 {
            return tag;
        }
        let selected = if is_selected { state::FIRST_LEVEL } else { 0 };
        let of_owner = owner.as_ref().map_or(0, |owner| {
            let shared = if owner.shared_with.is_some() { state::SHARED } else { 0 };
            state::LOCKED | shared | selected | u64::from(owner.number) << state::OWNER_SHIFT
        });
        role as u64 | of_owner
    }
}
