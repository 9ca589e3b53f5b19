//! Threaded execution: each handler ends in a call of the next one.
//!
//! An instruction's handler is a function that reads its operands, does its
//! work and then calls the handler of the next operation. That call is the last
//! thing it does, so that the optimiser makes a jump of it: the interpreter
//! has no loop, and the host's branch predictor sees one indirect jump for each
//! instruction instead of one for all. What every instruction needs travels in
//! six arguments, which stay in registers:
//!
//! | argument | |
//! | --- | --- |
//! | `core` | registers, scoreboard, everything else |
//! | `cursor` | the operation that is executed |
//! | `port` | the memory below |
//! | `t` | the first slot in which the instruction may issue |
//! | `count` | instructions retired |
//! | `table` | the handlers |
//!
//! Inside a handler they are a [`Context`], whose methods are what instructions
//! are made of; each consumes the context and ends in the jump. There are four
//! tables. The full one executes. In the pausing one every entry comes back to the
//! caller, so that a handler called with it executes *one* instruction. The careful one
//! stands in for the full one while loads are under way: every entry looks whether the
//! instruction needs a value that is not there, so that no handler has to. One that looks
//! ahead executes without effect; see `ahead`.
//!
//! `core` holds the state, `context` the fast parts of instructions, `slow` the
//! rare ones. Rules for handlers, without which the last call is no jump: nothing that
//! needs to be dropped, no reference to a local variable given away. Rare cases
//! are `cold` functions that take the same arguments, and they use helpers that
//! are not inlined for everything bigger.

mod ahead;
mod context;
mod core;
mod slow;

use narthex_memory::Port;

use crate::decode::{ENTERS_LINE, SHORT};
use crate::extensions;
use crate::operation::Cursor;
use crate::timing::Timing;

pub(crate) use self::ahead::{AheadPort, Stores, pass};
pub(crate) use self::context::{Boxed, Context, Signed, Unsigned};
pub(crate) use self::core::{Core, Exit, Expected, NO_LINE, Window};
use self::slow::{careful, enter_line, pause};
pub(crate) use self::slow::{fetch, horizon};

/// Executes one operation and all that follow, up to a stop.
pub(crate) type Handler<P, T> = fn(&mut Core<T>, Cursor, &mut P, u64, u64, &Table<P, T>);

/// Entries of a table: 256 handlers, for two lengths, entering a line or not.
const ENTRIES: usize = 1024;

/// A handler for each code of an operation.
pub(crate) struct Table<P, T> {
    handlers: [Handler<P, T>; ENTRIES],
}

impl<P: Port, T: Timing> Table<P, T> {
    /// Executes the program.
    pub const FULL: Self = Self::full();
    /// Executes the program while loads are under way.
    pub const CAREFUL: Self = Table { handlers: [careful::<P, T>; ENTRIES] };
    /// Comes back instead of executing the next instruction.
    pub const PAUSE: Self = Table { handlers: [pause::<P, T>; ENTRIES] };
    /// Stops there as at the horizon.
    pub const HORIZON: Self = Table { handlers: [horizon::<P, T>; ENTRIES] };

    const fn full() -> Self {
        let mut handlers = extensions::handlers::<P, T>();
        let mut code = ENTERS_LINE as usize;
        while code < ENTRIES {
            handlers[code] = match T::TIMED {
                true => enter_line::<P, T>,
                false => handlers[code - ENTERS_LINE as usize],
            };
            code += 1;
        }
        Table { handlers }
    }

    /// Executes `cursor`'s operation with this table.
    #[inline(always)]
    pub fn dispatch(&self, core: &mut Core<T>, cursor: Cursor, port: &mut P, t: u64, count: u64) {
        debug_assert!(core.holds(cursor), "a cursor left its block");
        let code = cursor.get().code;
        self.call(code, core, cursor, port, t, count, self);
    }

    /// Executes `cursor`'s operation by the handler for `code`; those after it
    /// by `next`.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    pub fn call(
        &self,
        code: u16,
        core: &mut Core<T>,
        cursor: Cursor,
        port: &mut P,
        t: u64,
        count: u64,
        next: &Table<P, T>,
    ) {
        debug_assert!((code as usize) < ENTRIES);
        // SAFETY: codes are made by the decoder alone: a number below 256 plus
        // at most SHORT (256) and ENTERS_LINE (512), so less than ENTRIES.
        let handler = unsafe { *self.handlers.get_unchecked(code as usize) };
        handler(core, cursor, port, t, count, next)
    }
}

/// The empty table that extensions fill: everything is illegal, in both lengths.
pub(crate) const fn empty_table<P: Port, T: Timing>() -> [Handler<P, T>; ENTRIES] {
    [extensions::illegal::<P, T>; ENTRIES]
}

/// Puts the handlers of an extension, each for both lengths, from `number` on.
pub(crate) const fn place<P, T, const N: usize>(
    handlers: &mut [Handler<P, T>; ENTRIES],
    number: usize,
    extension: &[[Handler<P, T>; 2]; N],
) -> usize {
    let mut index = 0;
    while index < N {
        handlers[number + index] = extension[index][0];
        handlers[number + index + SHORT as usize] = extension[index][1];
        index += 1;
    }
    assert!(number + N <= SHORT as usize, "too many instructions for the table");
    number + N
}

/// Declares the instructions of an extension: name, encoding (see
/// [`instruction`](crate::instruction)) and what happens, in terms of a
/// [`Context`].
macro_rules! instructions {
    ($($name:literal $pattern:literal => |$context:ident| $body:expr;)*) => {
        /// Names and encodings.
        pub(crate) const PATTERNS: &[(&str, &str)] = &[$(($name, $pattern)),*];

        /// The handlers, each for both lengths.
        pub(crate) const fn handlers<P: narthex_memory::Port, T: $crate::timing::Timing>()
        -> [[$crate::execute::Handler<P, T>; 2]; PATTERNS.len()] {
            [$({
                fn handler<
                    P: narthex_memory::Port,
                    T: $crate::timing::Timing,
                    const LENGTH: usize,
                >(
                    core: &mut $crate::execute::Core<T>,
                    cursor: $crate::operation::Cursor,
                    port: &mut P,
                    t: u64,
                    count: u64,
                    table: &$crate::execute::Table<P, T>,
                ) {
                    #[allow(unused_mut)]
                    let mut $context = $crate::execute::Context::<P, T, LENGTH> {
                        core, cursor, port, t, count, table,
                    };
                    $body
                }
                [handler::<P, T, 4>, handler::<P, T, 2>]
            }),*]
        }
    };
}
pub(crate) use instructions;
