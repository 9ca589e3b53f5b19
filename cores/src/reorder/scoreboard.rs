//! The account of time that a window keeps: what its instructions wait for.
//!
//! **Rings of twice the window.** Looking ahead dispatches no more instructions than the window holds: the one
//! at which it begins is not complete, and does not leave. So it writes no entry of the rings that the window has
//! when it begins, and the way back is that of the counts.

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

/// Entries of the ring of a queue.
const QUEUE_RING: usize = 2 * MOST_QUEUED as usize;

/// Entries of the ring of the window.
const WINDOW_RING: usize = 2 * MOST_ENTRIES as usize;

/// Loads, or stores, of the window: which instructions they are.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    entries: u64,
    /// How many there have been.
    count: u64,
    instructions: [u64; QUEUE_RING],
}

impl Queue {
    pub fn new(entries: u64) -> Self {
        Queue { entries, count: 0, instructions: [0; QUEUE_RING] }
    }

    #[inline(always)]
    pub fn place(count: u64) -> usize {
        count as usize & (QUEUE_RING - 1)
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

/// When what is executed is complete.
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
    pub completed: [u64; WINDOW_RING],
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

impl Scoreboard {
    pub fn new(config: &Config, width: u64) -> Self {
        Scoreboard {
            ready: [0; 256],
            divider: 0,
            blocks: [0; MOST_MISSES],
            loads_under_way: [0; MOST_MISSES],
            completed: [0; WINDOW_RING],
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
        number as usize & (WINDOW_RING - 1)
    }

    /// Its instants, counts and places in rings.
    fn words(&mut self) -> [&mut u64; 10] {
        let Scoreboard {
            divider,
            next,
            oldest,
            frontier,
            result,
            loads,
            stores,
            history,
            dispatch,
            floor,
            ..
        } = self;
        let (loads, stores) = (&mut loads.count, &mut stores.count);
        [divider, next, oldest, frontier, result, loads, stores, history, dispatch, floor]
    }

    /// What a return to this state needs: all but the rings, the blocks, which stay on their way, and the account
    /// of stalls.
    pub fn save(&mut self) -> SavedScoreboard {
        let mut saved = SavedScoreboard {
            ready: [0; REGISTERS],
            loads_under_way: [0; MOST_MISSES],
            stored: [(NEVER, 0); STORES],
            words: [0; 10],
            is_under_way: false,
            is_full: false,
        };
        self.save_to(&mut saved);
        saved
    }

    /// The same in place: it is too large to be handed on for each look ahead.
    pub fn save_to(&mut self, saved: &mut SavedScoreboard) {
        let SavedScoreboard { ready, loads_under_way, stored, words, is_under_way, is_full } = saved;
        ready.copy_from_slice(&self.ready[..REGISTERS]);
        loads_under_way.copy_from_slice(&self.loads_under_way);
        stored.copy_from_slice(&self.stored);
        *words = self.words().map(|word| *word);
        (*is_under_way, *is_full) = (self.is_under_way, self.is_full);
    }

    /// Returns to the state that was saved when it began to look ahead.
    pub fn restore(&mut self, saved: &SavedScoreboard) {
        let &SavedScoreboard { ref ready, ref loads_under_way, ref stored, words, is_under_way, is_full } =
            saved;
        self.ready[..REGISTERS].copy_from_slice(ready);
        self.loads_under_way.copy_from_slice(loads_under_way);
        self.stored.copy_from_slice(stored);
        self.words().into_iter().zip(words).for_each(|(word, saved)| *word = saved);
        (self.is_under_way, self.is_full) = (is_under_way, is_full);
    }

    /// Goes on at an instruction ahead of the next one, where this state was saved. The instruction that is next
    /// now is not complete, and what has left the window has left it.
    pub fn go_on_at(&mut self, place: &SavedScoreboard) {
        let Scoreboard { next, oldest, frontier, floor, .. } = *self;
        self.completed[Self::place(next)] = NEVER;
        self.restore(place);
        self.floor = floor;
        if self.oldest < oldest {
            (self.oldest, self.frontier) = (oldest, frontier);
        }
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

/// A scoreboard's state before it looks ahead.
#[derive(Clone, Debug)]
pub(super) struct SavedScoreboard {
    ready: [u64; REGISTERS],
    loads_under_way: [u64; MOST_MISSES],
    stored: [(u64, u64); STORES],
    /// As [`Scoreboard::words`] has them.
    words: [u64; 10],
    is_under_way: bool,
    is_full: bool,
}

impl SavedScoreboard {
    /// The number of the next instruction.
    pub fn next(&self) -> u64 {
        self.words[1]
    }
}

impl Archived for SavedScoreboard {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let SavedScoreboard { ready, loads_under_way, stored, words, is_under_way, is_full } = self;
        archive.each(ready)?;
        archive.each(loads_under_way)?;
        stored.iter_mut().try_for_each(|entry| archive.value(entry))?;
        archive.each(words)?;
        archive.value(is_under_way)?;
        archive.value(is_full)
    }
}

impl Archived for Scoreboard {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        self.words().into_iter().try_for_each(|word| archive.value(word))?;
        let Scoreboard {
            ready,
            blocks,
            loads_under_way,
            completed,
            is_full,
            loads,
            stores,
            stored,
            stalls,
            ..
        } = self;
        archive.each(&mut ready[..REGISTERS])?;
        archive.each(blocks)?;
        archive.each(loads_under_way)?;
        archive.each(completed)?;
        archive.value(is_full)?;
        archive.each(&mut loads.instructions)?;
        archive.each(&mut stores.instructions)?;
        stored.iter_mut().try_for_each(|entry| archive.value(entry))?;
        stalls.archive(archive)
    }
}
