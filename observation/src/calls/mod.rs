//! Which functions of its program a processor is in, by time: the path of calls from the
//! program's first function to the present one.
//!
//! ```text
//!   Probe::executes(at, pc) ───► CallStack::executes ───► Change: from here on the frames
//!   Probe::jumped(...)      ───► CallStack::jumped                behind `kept` are others
//!   Probe::record(Booking)  ───► CallStack::clear, where a thread ends
//! ```
//!
//! **To use it**, a probe says that it `follows_programs`, keeps a [`CallStack`] for each
//! processor of its node, and hands on what it hears. Then each change of
//! the path has its instant: at `at` the frames from [`Change::kept`] on have been left, and
//! those that [`CallStack::frames`] has from there on have been entered. A frame names its
//! function by a number of the [`CodeMap`], which all processors that run one program share
//! ([`CodeMap::of_nodes`]). The profile of a run is made like this.
//!
//! **Exact.** Nothing is sampled and no stack is read: a call pushes a frame, a
//! return takes it off. What else programs do is found out like this:
//!
//! - *Tail calls*: a processor that is in another function without a call or
//!   return has left the one for the other; the caller stays.
//! - *longjmp and exceptions* return to an address that no call has left. Frames of which the
//!   stack has gone, and those above the function that has the address, are taken off.
//! - *Handlers* of interrupts and of refused accesses are frames of their own, until `uret`.
//! - *Threads* begin with an empty path, in the function that their parent called.
//!
//! What was inlined is no frame here: an address says it ([`SourceMap::frames`]). A program that
//! switches stacks by itself (coroutines) is seen in the function that has switched
//! until it switches back.
//!
//! [`SourceMap::frames`]: narthex_cores::linux::SourceMap::frames

mod code_map;

use std::sync::Arc;

use narthex_cores::follow::Jump;

pub use code_map::{CodeMap, Row};

/// A function that has been called and has not returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Which function, by its number in the code map.
    pub function: u32,
    /// The row of the call, in the code map; that of the function's own first instruction, if
    /// nothing is known to have called it.
    pub call: u32,
    /// It handles a trap.
    pub is_handler: bool,
    return_address: u64,
    /// The stack pointer where it was called.
    stack: u64,
}

impl Frame {
    /// Whether it returns to where the other one does: it is the same, or was called by it at its
    /// end (a tail call).
    pub fn returns_as(&self, other: &Frame) -> bool {
        (self.return_address, self.stack) == (other.return_address, other.stack)
    }
}

/// The processor is at another place than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// So many frames, from the outermost on, are the same as before.
    pub kept: usize,
}

/// The path of calls of a processor.
#[derive(Clone, Debug)]
pub struct CallStack {
    code: Arc<CodeMap>,
    frames: Vec<Frame>,
    row: u32,
    /// Frames that are the same since the last change was told.
    kept: usize,
    /// The path is as it was told last.
    is_told: bool,
}

impl CallStack {
    /// That of a processor whose program has begun nothing.
    pub fn new(code: Arc<CodeMap>) -> Self {
        CallStack { code, frames: Vec::new(), row: CodeMap::NOWHERE, kept: 0, is_told: false }
    }

    /// The functions that it is in, outermost first.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The row of the instruction that is executed, in the code map.
    pub fn row(&self) -> u32 {
        self.row
    }

    /// The code of its program.
    pub fn code(&self) -> &Arc<CodeMap> {
        &self.code
    }

    /// The thread has ended; whatever is executed next begins anew.
    pub fn clear(&mut self) {
        self.frames.clear();
        (self.kept, self.is_told) = (0, false);
        self.row = CodeMap::NOWHERE;
    }

    /// The instruction at `pc` is executed next. If the row or the path is another one than
    /// that of the last instruction, the change.
    #[inline]
    pub fn executes(&mut self, pc: u64) -> Option<Change> {
        let row = self.code.row_at(pc);
        if row == self.row && self.is_told { None } else { Some(self.enter(row)) }
    }

    fn enter(&mut self, row: u32) -> Change {
        let function = self.code.function_of(row);
        let depth = self.frames.len();
        match self.frames.last_mut() {
            None => self.frames.push(Frame {
                function,
                call: row,
                is_handler: false,
                return_address: 0,
                stack: u64::MAX,
            }),
            Some(top) if top.function != function => {
                top.function = function;
                self.kept = self.kept.min(depth - 1);
            }
            Some(_) => {}
        }
        (self.row, self.is_told) = (row, true);
        Change { kept: std::mem::replace(&mut self.kept, self.frames.len()) }
    }

    /// The processor has jumped to `target`, where its stack pointer is `stack`.
    pub fn jumped(&mut self, jump: Jump, target: u64, stack: u64) {
        match jump {
            Jump::Call(return_address) => self.push(target, return_address, stack, false),
            Jump::Trap(return_address) => self.push(target, return_address, stack, true),
            Jump::Return => self.return_to(target, stack),
            Jump::TrapReturn => {
                if let Some(handler) = self.frames.iter().rposition(|frame| frame.is_handler) {
                    self.keep(handler);
                }
            }
        }
    }

    fn push(&mut self, target: u64, return_address: u64, stack: u64, is_handler: bool) {
        let function = self.code.function_of(self.code.row_at(target));
        let call = self.row;
        self.is_told = false;
        self.frames.push(Frame { function, call, is_handler, return_address, stack });
    }

    fn keep(&mut self, frames: usize) {
        self.frames.truncate(frames);
        self.is_told = false;
        self.kept = self.kept.min(frames);
    }

    fn return_to(&mut self, target: u64, stack: u64) {
        // An ordinary return.
        if let Some(top) = self.frames.last()
            && (top.return_address, top.stack) == (target, stack)
        {
            return self.keep(self.frames.len() - 1);
        }
        // Frames whose stack is gone cannot be returned to.
        let live = self.frames.iter().rposition(|frame| frame.stack >= stack).map_or(0, |last| last + 1);
        self.keep(live.max(1));
        if let Some(frame) = self.frames.iter().rposition(|frame| frame.return_address == target) {
            return self.keep(frame.max(1));
        }
        let function = self.code.function_of(self.code.row_at(target));
        if let Some(frame) = self.frames.iter().rposition(|frame| frame.function == function) {
            self.keep(frame + 1);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
