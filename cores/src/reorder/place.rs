//! Where looking ahead goes on.
//!
//! Looking ahead ends at the horizon of its node, at a miss that it begins, at a full window. Then it keeps
//! its place: the instruction at which it ended, and the registers and the account of time as they are
//! there. The next time it goes on from there, as if the processor had not stopped in between:
//!
//! ```text
//!   program:   n ──────────────► p ───────────► p'
//!              the processor     here it has    how far it gets this time
//!              waits             been
//! ```
//!
//! That is right as long as executing the instructions from n to p again would begin the same misses. So the
//! place is given up
//!
//! - when the processor itself has come as far;
//! - when another agent has taken a block from the data cache, whose value may have been used;
//! - when a value has come and looking ahead had left out, for want of a value, an access or the
//!   direction of a branch.
//!
//! An access that may only begin later ends the part that is kept: what is behind it is executed again.

use narthex_kernel::{Archive, Archived, Damage};

use super::config::MOST_ENTRIES;
use super::scoreboard::{SavedScoreboard, Scoreboard};
use crate::operation::FLOAT_REGISTERS;

/// Registers that hold a value: integers and floating point.
pub(crate) const REGISTERS: usize = 2 * FLOAT_REGISTERS as usize;

/// The registers of a processor at an instruction, and where that is.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub registers: [u64; REGISTERS],
    pub pc: u64,
    pub count: u64,
    pub fcsr: u32,
}

/// Where looking ahead goes on.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Whether it may.
    is_kept: bool,
    /// A value has come since it began at the instruction that the processor waits with.
    has_aged: bool,
    /// An access or a branch before it was left out for want of a value.
    depends: bool,
    /// How many blocks had been taken from the data cache.
    taken_blocks: u64,
    pub context: Context,
    board: SavedScoreboard,
}

impl Place {
    pub(super) fn new(board: SavedScoreboard) -> Self {
        let context = Context { registers: [0; REGISTERS], pc: 0, count: 0, fcsr: 0 };
        Place { is_kept: false, has_aged: false, depends: false, taken_blocks: 0, context, board }
    }

    /// It is given up.
    pub(super) fn give_up(&mut self) {
        self.is_kept = false;
    }

    /// A value has come.
    pub(super) fn value_came(&mut self) {
        self.has_aged = true;
        self.is_kept &= !self.depends;
    }

    /// Whether it may lack a value that has come.
    pub(super) fn has_aged(&self) -> bool {
        self.has_aged
    }

    /// Whether looking ahead may go on here, for a processor that has retired `count` instructions.
    pub(super) fn is_ahead_of(&self, board: &Scoreboard, count: u64, taken_blocks: u64) -> bool {
        let ahead = self.board.next().wrapping_sub(board.next);
        self.is_kept
            && self.taken_blocks == taken_blocks
            && (1..=MOST_ENTRIES).contains(&ahead)
            && self.context.count.wrapping_sub(count) == ahead
    }

    /// Looking ahead begins at the instruction that the processor waits with.
    pub(super) fn begin(&mut self, taken_blocks: u64) {
        (self.is_kept, self.has_aged, self.taken_blocks) = (false, false, taken_blocks);
    }

    /// Keeps the account of time here, where looking ahead has left out what `depends` says. The rest of the
    /// place is to be filled in.
    pub(super) fn keep(&mut self, board: &mut Scoreboard, depends: bool) -> &mut Context {
        board.save_to(&mut self.board);
        (self.is_kept, self.depends) = (true, depends);
        &mut self.context
    }

    /// Whether something before it was left out for want of a value.
    pub(super) fn depends(&self) -> bool {
        self.depends
    }

    /// The account of time here.
    pub(super) fn board(&self) -> &SavedScoreboard {
        &self.board
    }
}

impl Archived for Place {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Place { is_kept, has_aged, depends, taken_blocks, context, board } = self;
        [is_kept, has_aged, depends].into_iter().try_for_each(|flag| archive.value(flag))?;
        archive.value(taken_blocks)?;
        archive.each(&mut context.registers)?;
        [&mut context.pc, &mut context.count].into_iter().try_for_each(|word| archive.value(word))?;
        archive.value(&mut context.fcsr)?;
        board.archive(archive)
    }
}
