//! The account of time that a window keeps: what its instructions wait for.

use std::ops::Range;

use narthex_kernel::{Archive, Archived, Damage};
use narthex_memory::processor_memory::misses::MOST_MISSES;

use super::NEVER;
use super::config::{Config, MOST_ENTRIES, MOST_QUEUED};
use super::stalls::Stalls;
use crate::operation::SINK;

/// Registers that exist.
const REGISTERS: usize = SINK as usize + 1;

/// Words whose last store is remembered, by address.
pub(super) const STORES: usize = 64;

/// Loads, or stores, of the window: which instructions they are.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    entries: u64,
    /// How many there have been.
    count: u64,
    instructions: [u64; MOST_QUEUED as usize],
}

impl Queue {
    pub fn new(entries: u64) -> Self {
        Queue { entries, count: 0, instructions: [0; MOST_QUEUED as usize] }
    }

    #[inline(always)]
    pub fn place(count: u64) -> usize {
        count as usize & (MOST_QUEUED as usize - 1)
    }

    fn copy_from(&mut self, other: &Queue) {
        self.count = other.count;
        let first = other.count.saturating_sub(other.entries);
        copy_ring(&mut self.instructions, &other.instructions, first..other.count);
    }

    /// Instruction `number` takes an entry.
    #[inline(always)]
    pub fn take(&mut self, number: u64) {
        self.instructions[Self::place(self.count)] = number;
        self.count += 1;
    }

    /// All instructions before this number have left the window when the next one takes an entry.
    #[inline(always)]
    pub fn to_leave(&self) -> u64 {
        match self.count < self.entries {
            true => 0,
            false => self.instructions[Self::place(self.count - self.entries)] + 1,
        }
    }
}

/// What is copied when the processor looks ahead.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    /// When each register is ready.
    pub ready: [u64; 256],
    /// When the divider is free.
    pub divider: u64,
    /// When the block of each miss register is there.
    pub blocks: [u64; MOST_MISSES],
    /// The instruction that each miss register is for.
    pub loads_under_way: [u64; MOST_MISSES],
    /// When the instructions of the window are complete.
    pub completed: [u64; MOST_ENTRIES as usize],
    /// The number of the next instruction.
    pub next: u64,
    /// The number of the oldest one in the window.
    pub oldest: u64,
    /// When all that have left were complete.
    pub frontier: u64,
    /// When the result of the instruction that is executed is there.
    pub result: u64,
    /// The instruction that is executed is a load under way.
    pub is_under_way: bool,
    /// The next instruction cannot be dispatched before a load under way is over.
    pub is_full: bool,
    pub loads: Queue,
    pub stores: Queue,
    /// Words that were stored, and when a load may have them.
    pub stored: [(u64, u64); STORES],
    /// Directions of the last branches.
    pub history: u64,
    /// The dispatch clock, between runs.
    pub dispatch: u64,
    /// The instant to which the processor has come.
    pub floor: u64,
    /// Slots of a cycle.
    pub width: u64,
    /// After more slots without an instruction that leaves, the account of stalls is told: those of a cycle, and
    /// never while it looks ahead.
    pub least_stall: u64,
    /// Why nothing retires.
    pub stalls: Stalls,
}

/// Copies the entries with these numbers, no more than all, of a ring with a power of two of them.
fn copy_ring<const N: usize>(to: &mut [u64; N], from: &[u64; N], numbers: Range<u64>) {
    let place = |number: u64| number as usize & (N - 1);
    let (first, behind) = (place(numbers.start), place(numbers.end));
    let ranges = match first < behind || numbers.is_empty() {
        true => [first..behind, 0..0],
        false => [first..N, 0..behind],
    };
    for range in ranges {
        to[range.clone()].copy_from_slice(&from[range]);
    }
}

impl Scoreboard {
    pub fn new(config: &Config, width: u64) -> Self {
        Scoreboard {
            ready: [0; 256],
            divider: 0,
            blocks: [0; MOST_MISSES],
            loads_under_way: [0; MOST_MISSES],
            completed: [0; MOST_ENTRIES as usize],
            next: 0,
            oldest: 0,
            frontier: 0,
            result: 0,
            is_under_way: false,
            is_full: false,
            loads: Queue::new(config.load_queue),
            stores: Queue::new(config.store_queue),
            stored: [(NEVER, 0); STORES],
            history: 0,
            dispatch: 0,
            floor: 0,
            width,
            least_stall: width,
            stalls: Stalls::new(),
        }
    }

    #[inline(always)]
    pub fn place(number: u64) -> usize {
        number as usize & (MOST_ENTRIES as usize - 1)
    }

    /// Becomes like `other`, but for the blocks, the account of stalls, and for what is never read again: of the rings it copies
    /// what is in the window.
    pub fn copy_from(&mut self, other: &Scoreboard) {
        let Scoreboard {
            ready,
            divider,
            blocks: _,
            loads_under_way,
            completed,
            next,
            oldest,
            frontier,
            result,
            is_under_way,
            is_full,
            loads,
            stores,
            stored,
            history,
            dispatch,
            floor,
            width: _,
            least_stall: _,
            stalls: _,
        } = other;
        self.ready[..REGISTERS].copy_from_slice(&ready[..REGISTERS]);
        copy_ring(&mut self.completed, completed, *oldest..*next);
        self.loads.copy_from(loads);
        self.stores.copy_from(stores);
        (self.divider, self.loads_under_way, self.stored) = (*divider, *loads_under_way, *stored);
        (self.next, self.oldest, self.frontier) = (*next, *oldest, *frontier);
        (self.result, self.is_under_way, self.is_full) = (*result, *is_under_way, *is_full);
        (self.history, self.dispatch, self.floor) = (*history, *dispatch, *floor);
    }

    /// All before this instruction leave the window; false if one of them is a load under way.
    #[inline(always)]
    pub fn leave(&mut self, number: u64) -> bool {
        while self.oldest < number {
            let completed = self.completed[Self::place(self.oldest)];
            if completed == NEVER {
                return false;
            }
            if completed > self.frontier + self.least_stall {
                self.stall(completed);
            }
            self.frontier = self.frontier.max(completed);
            self.oldest += 1;
        }
        true
    }

    /// Nothing has left until the last cycle of the oldest instruction.
    #[cold]
    #[inline(never)]
    fn stall(&mut self, completed: u64) {
        self.stalls.book(self.oldest, self.frontier, completed - self.width);
    }

    /// When all instructions are complete; never, if one is a load under way.
    pub fn drain(&mut self) -> u64 {
        if self.leave(self.next) { self.frontier } else { NEVER }
    }
}

impl Archived for Scoreboard {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Scoreboard {
            ready,
            divider,
            blocks,
            loads_under_way,
            completed,
            next,
            oldest,
            frontier,
            result,
            is_under_way: _,
            is_full,
            loads,
            stores,
            stored,
            history,
            dispatch,
            floor,
            width: _,
            least_stall: _,
            stalls,
        } = self;
        archive.each(&mut ready[..REGISTERS])?;
        archive.each(blocks)?;
        archive.each(loads_under_way)?;
        archive.each(completed)?;
        let words = [divider, next, oldest, frontier, result, history, dispatch, floor];
        words.into_iter().try_for_each(|word| archive.value(word))?;
        archive.value(is_full)?;
        for queue in [loads, stores] {
            archive.value(&mut queue.count)?;
            archive.each(&mut queue.instructions)?;
        }
        stored.iter_mut().try_for_each(|entry| archive.value(entry))?;
        stalls.archive(archive)
    }
}
