//! The arrays of a tile: what its RTL reads and writes through ports, as the SRAM of a chip.
//!
//! A line's number is way, then set, as its offset in the tile's window has them.

use narthex_fabrics::{Job, Rank};
use serde::{Deserialize, Serialize};

use crate::sarc::lines::{LineState, Owner};
use crate::sarc::registers::{LINE_BYTES, Role, state};

/// Bits of a state: role, valid, dirty, filling, shared, selected, owner.
const SHARED: u64 = 1 << 6;
const SELECTED: u64 = 1 << 7;
const OWNER_SHIFT: u32 = 8;

/// States, tags and bytes of all lines.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct Arrays {
    sets: usize,
    ways: usize,
    states: Vec<u16>,
    tags: Vec<u64>,
    bytes: Vec<u8>,
}

impl Arrays {
    /// All lines are the cache's, which holds nothing.
    pub fn new(l2_bytes: u64, ways: u32) -> Self {
        let lines = (l2_bytes / LINE_BYTES) as usize;
        let ways = ways as usize;
        Arrays {
            sets: lines / ways,
            ways,
            states: vec![0; lines],
            tags: vec![0; lines],
            bytes: vec![0; l2_bytes as usize],
        }
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.states.len()
    }

    /// A word, by its number.
    pub fn word(&self, word: usize) -> u64 {
        u64::from_le_bytes(self.bytes[word * 8..word * 8 + 8].try_into().expect("eight bytes"))
    }

    /// Some bytes of a word are written, those whose bits are set.
    pub fn write_word(&mut self, word: usize, enabled: u64, value: u64) {
        for (own, byte) in value.to_le_bytes().into_iter().enumerate() {
            if enabled >> own & 1 == 1 {
                self.bytes[word * 8 + own] = byte;
            }
        }
    }

    /// States and tags of a set, the first way lowest.
    pub fn set(&self, set: usize, state_bits: usize, states: &mut [u32; 4], tags: &mut [u32]) {
        let mut all = 0_u128;
        for way in 0..self.ways {
            let line = way * self.sets + set;
            all |= u128::from(self.states[line]) << (way * state_bits);
            tags[2 * way] = self.tags[line] as u32;
            tags[2 * way + 1] = (self.tags[line] >> 32) as u32;
        }
        *states = [0, 32, 64, 96].map(|shift| (all >> shift) as u32);
    }

    /// State and tag of a line are written.
    pub fn write_line(&mut self, way: usize, set: usize, state: u64, tag: u64) {
        let line = way * self.sets + set;
        (self.states[line], self.tags[line]) = (state as u16, tag);
    }

    /// The bytes of a line.
    pub fn bytes(&self, line: usize) -> &[u8] {
        &self.bytes[line * LINE_BYTES as usize..][..LINE_BYTES as usize]
    }

    /// The two words of a line's state, as a program sees them.
    pub fn state_words(&self, line: usize) -> [u64; 2] {
        let own = u64::from(self.states[line]);
        if own & 7 == Role::Cache as u64 {
            return [0, 0];
        }
        let shared = if own & SHARED != 0 { state::SHARED } else { 0 };
        let selected = if own & SELECTED != 0 { state::FIRST_LEVEL } else { 0 };
        let owner = own >> OWNER_SHIFT << state::OWNER_SHIFT;
        [own & 7 | state::LOCKED | shared | selected | owner, self.tags[line]]
    }

    /// What a line is.
    pub fn role(&self, line: usize) -> Role {
        Role::of(u64::from(self.states[line]) & 7).unwrap_or_default()
    }

    /// What is known of a line; `job` is that of those who share it.
    pub fn state(&self, line: usize, job: &Job) -> LineState {
        let own = u64::from(self.states[line]);
        let role = self.role(line);
        let number = (own >> OWNER_SHIFT) as u8;
        let shared_with = (own & SHARED != 0).then(|| job.clone());
        let owner = Owner { process: Rank(number.into()), number, shared_with };
        LineState {
            role,
            tag: self.tags[line],
            owner: (role != Role::Cache).then_some(owner),
            is_selected: own & SELECTED != 0,
            is_above: false,
        }
    }

    /// Replaces all that is known of a line, and its bytes.
    pub fn set_line(&mut self, line: usize, bytes: &[u8], state: &LineState) {
        let owner = state.owner.as_ref().map_or(0, |owner| {
            let shared = if owner.shared_with.is_some() { SHARED } else { 0 };
            shared | u64::from(owner.number) << OWNER_SHIFT
        });
        let selected = if state.is_selected { SELECTED } else { 0 };
        self.states[line] = (state.role as u64 | owner | selected) as u16;
        self.tags[line] = state.tag;
        self.bytes[line * LINE_BYTES as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}
