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
//! are made of; each consumes the context and ends in the jump. There are two
//! tables. The full one executes; in the other, every entry comes back to the
//! caller, so that a handler called with it executes *one* instruction.
//!
//! Rules for handlers, without which the last call is no jump: nothing that
//! needs to be dropped, no reference to a local variable given away. Rare cases
//! are `cold` functions that take the same arguments, and they use helpers that
//! are not inlined for everything bigger.

use narthex_memory::Port;
use narthex_memory::port::{AccessFault, Outcome};

use crate::code::CodeView;
use crate::decode::{ENTERS_LINE, SHORT};
use crate::extensions;
use crate::float::Flags;
use crate::float::host::host_fuses;
use crate::operation::{Cursor, FETCH_BLOCK_BYTES, Operation, SINK};
use crate::stop::{Fault, FaultKind, Stop};
use crate::timing::{Class, Timing, Unit};

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
    /// Comes back instead of executing the next instruction.
    pub const PAUSE: Self = Table { handlers: [pause::<P, T>; ENTRIES] };

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

/// What an instruction that is not finished asks of the processor's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Go on at the program counter.
    Continue,
    /// Tell the owner.
    Stop(Stop),
}

/// The addresses of the block that is executed, for register jumps.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub base: u64,
    pub bytes: u64,
    pub first: Cursor,
    /// What to add to a cursor's position to get its program counter.
    pub bias: u64,
}

// SAFETY: a window points into blocks that belong to the processor or to its
// `Arc<Code>`; they move to another thread together with it, and shared code
// is never written.
unsafe impl Send for Window {}

/// Everything of a processor that handlers change.
pub(crate) struct Core<T> {
    /// The register file; see [`operation`](crate::operation).
    pub registers: [u64; 256],
    /// No access is made at this slot or later.
    pub until: u64,
    /// The block that is executed.
    pub window: Window,
    /// For each rounding mode in an instruction, whether the host's arithmetic
    /// may be used without a look at the flags.
    pub host_rounds: [bool; 256],
    /// The same for fused multiply-add, which not every host has.
    pub host_fuses: [bool; 256],
    pub timing: T,
    /// fcsr: rounding mode and exception flags.
    pub fcsr: u32,
    /// Where the next instruction is.
    pub pc: u64,
    /// The first slot in which it may issue.
    pub t: u64,
    /// Instructions retired.
    pub count: u64,
    /// Whether the line of the next instruction must still be fetched.
    pub entering: bool,
    pub exit: Exit,
    pub code: CodeView,
    /// The length of a slot in picoseconds.
    pub slot_ps: u64,
}

impl<T: Timing> Core<T> {
    /// Puts the state that travels in arguments back, and leaves the thread of
    /// handlers for the reason in `exit`.
    #[inline(always)]
    pub fn save(&mut self, cursor: Cursor, t: u64, count: u64) {
        self.pc = self.pc_of(cursor);
        self.t = t;
        self.count = count;
    }

    #[inline(always)]
    pub fn pc_of(&self, cursor: Cursor) -> u64 {
        cursor.position().wrapping_add(self.window.bias)
    }

    /// The result of an access, or none after noting why there is none.
    pub fn settle<V>(
        &mut self,
        outcome: Outcome<V>,
        kind: fn(AccessFault) -> FaultKind,
        address: u64,
    ) -> Option<V> {
        match outcome {
            Outcome::Done(value) => return Some(value),
            Outcome::Wait => self.exit = Exit::Stop(Stop::Wait),
            Outcome::Fault(fault) => self.fault(kind(fault), address),
        }
        None
    }

    /// Notes a fault; the processor's loop adds where it happened.
    #[cold]
    #[inline(never)]
    pub fn fault(&mut self, kind: FaultKind, address: u64) {
        self.exit = Exit::Stop(Stop::Fault(Fault { kind, pc: 0, address, bits: 0 }));
    }

    /// Sets exception flags.
    #[inline(always)]
    pub fn raise(&mut self, flags: Flags) {
        let fcsr = self.fcsr | flags.bits();
        if fcsr != self.fcsr {
            self.set_fcsr(fcsr);
        }
    }

    /// Sets rounding mode and flags. Once the inexact flag is set, rounding to
    /// nearest on the host raises nothing new.
    pub fn set_fcsr(&mut self, fcsr: u32) {
        self.fcsr = fcsr & 0xff;
        let inexact_is_known = self.fcsr & Flags::INEXACT.bits() != 0;
        self.host_rounds[0] = inexact_is_known;
        self.host_rounds[7] = inexact_is_known && self.fcsr >> 5 == 0;
        if host_fuses() {
            self.host_fuses = self.host_rounds;
        }
    }
}

/// How a loaded value is extended to a register.
pub(crate) trait Extend {
    fn extend<const SIZE: usize>(value: u64) -> u64;
}

/// Loads that fill up with zeros.
pub(crate) struct Unsigned;
/// Loads that repeat the sign.
pub(crate) struct Signed;
/// Floating-point loads: a single in a register is preceded by ones.
pub(crate) struct Boxed;

impl Extend for Unsigned {
    #[inline(always)]
    fn extend<const SIZE: usize>(value: u64) -> u64 {
        value
    }
}

impl Extend for Signed {
    #[inline(always)]
    fn extend<const SIZE: usize>(value: u64) -> u64 {
        let shift = 64 - 8 * SIZE as u32;
        ((value << shift) as i64 >> shift) as u64
    }
}

impl Extend for Boxed {
    #[inline(always)]
    fn extend<const SIZE: usize>(value: u64) -> u64 {
        if SIZE == 4 { value | 0xffff_ffff_0000_0000 } else { value }
    }
}

/// An instruction of `LENGTH` bytes in execution.
pub(crate) struct Context<'a, P, T, const LENGTH: usize> {
    pub core: &'a mut Core<T>,
    pub cursor: Cursor,
    pub port: &'a mut P,
    pub t: u64,
    pub count: u64,
    pub table: &'a Table<P, T>,
}

impl<P: Port, T: Timing, const LENGTH: usize> Context<'_, P, T, LENGTH> {
    /// The value of a register.
    #[inline(always)]
    pub fn register(&self, index: u8) -> u64 {
        self.core.registers[index as usize]
    }

    /// When an instruction with two sources may issue.
    #[inline(always)]
    pub fn issue(&self, first: u8, second: u8) -> u64 {
        let timing = &self.core.timing;
        timing.ready(timing.ready(self.t, first), second)
    }

    /// When an instruction with one source may issue.
    #[inline(always)]
    pub fn issue_one(&self, source: u8) -> u64 {
        self.core.timing.ready(self.t, source)
    }

    /// The end of an instruction that writes a register.
    #[inline(always)]
    pub fn finish(self, at: u64, rd: u8, class: Class, value: u64) {
        self.core.registers[rd as usize] = value;
        self.core.timing.produce(rd, at, class);
        self.retire(at);
    }

    /// The end of an instruction: the next one in line is executed.
    #[inline(always)]
    pub fn retire(self, at: u64) {
        let next = self.cursor.advance(LENGTH);
        self.table.dispatch(self.core, next, self.port, at + 1, T::retire(self.count));
    }

    /// rd = f(rs1, rs2)
    #[inline(always)]
    pub fn compute(self, class: Class, f: impl FnOnce(u64, u64) -> u64) {
        let Operation { rd, rs1, rs2, .. } = self.cursor.get();
        let at = self.issue(rs1, rs2);
        let value = f(self.register(rs1), self.register(rs2));
        self.finish(at, rd, class, value);
    }

    /// rd = f(rs1, immediate)
    #[inline(always)]
    pub fn compute_immediate(self, f: impl FnOnce(u64, u64) -> u64) {
        let Operation { rd, rs1, immediate, .. } = self.cursor.get();
        let at = self.issue_one(rs1);
        let value = f(self.register(rs1), immediate as u64);
        self.finish(at, rd, Class::Integer, value);
    }

    /// rd = f(rs1, rs2), on a unit that takes one at a time.
    #[inline(always)]
    pub fn divide(self, f: impl FnOnce(u64, u64) -> u64) {
        let Operation { rd, rs1, rs2, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue(rs1, rs2), Unit::Divider);
        let value = f(self.register(rs1), self.register(rs2));
        self.core.timing.occupy(Unit::Divider, at, Class::Divide);
        self.finish(at, rd, Class::Divide, value);
    }

    /// rd = immediate
    #[inline(always)]
    pub fn constant(self) {
        let Operation { rd, immediate, .. } = self.cursor.get();
        let at = self.t;
        self.finish(at, rd, Class::Integer, immediate as u64);
    }

    /// rd = memory[rs1 + immediate]
    #[inline(always)]
    pub fn load<const SIZE: usize, E: Extend>(self) {
        let Operation { rd, rs1, immediate, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue_one(rs1), Unit::Memory);
        if T::TIMED && at >= self.core.until {
            return horizon(self.core, self.cursor, self.port, at, self.count, self.table);
        }
        let address = self.register(rs1).wrapping_add_signed(immediate);
        match self.port.load_hit::<SIZE>(address) {
            Some(value) => self.loaded::<SIZE, E>(at, rd, value),
            None => load_slowly::<P, T, LENGTH, SIZE, E>(
                self.core,
                self.cursor,
                self.port,
                at,
                self.count,
                self.table,
            ),
        }
    }

    #[inline(always)]
    fn loaded<const SIZE: usize, E: Extend>(self, at: u64, rd: u8, value: u64) {
        self.core.timing.occupy(Unit::Memory, at, Class::Load);
        self.finish(at, rd, Class::Load, E::extend::<SIZE>(value));
    }

    /// memory[rs1 + immediate] = rs2
    #[inline(always)]
    pub fn store<const SIZE: usize>(self) {
        let Operation { rs1, rs2, immediate, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue(rs1, rs2), Unit::Memory);
        if T::TIMED && at >= self.core.until {
            return horizon(self.core, self.cursor, self.port, at, self.count, self.table);
        }
        let address = self.register(rs1).wrapping_add_signed(immediate);
        if self.port.store_hit::<SIZE>(address, self.register(rs2)) {
            self.core.timing.occupy_with_store(at);
            return self.retire(at);
        }
        store_slowly::<P, T, LENGTH, SIZE>(self.core, self.cursor, self.port, at, self.count, self.table)
    }

    /// if condition(rs1, rs2) jump by the immediate
    #[inline(always)]
    pub fn branch(self, condition: impl FnOnce(u64, u64) -> bool) {
        let Operation { rs1, rs2, immediate, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue(rs1, rs2), Unit::Branch);
        self.core.timing.occupy(Unit::Branch, at, Class::Integer);
        if condition(self.register(rs1), self.register(rs2)) {
            let target = self.cursor.jump(immediate);
            return self.redirect(at, target);
        }
        self.retire(at);
    }

    /// rd = address of the next instruction; jump by the immediate
    #[inline(always)]
    pub fn jump(mut self) {
        let Operation { rd, immediate, .. } = self.cursor.get();
        let at = self.issue_jump(rd, 0);
        let target = self.cursor.jump(immediate);
        self.redirect(at, target);
    }

    /// rd = address of the next instruction; jump to rs1 + immediate
    #[inline(always)]
    pub fn jump_to_register(mut self) {
        let Operation { rd, rs1, immediate, .. } = self.cursor.get();
        let target = self.register(rs1).wrapping_add_signed(immediate) & !1;
        let at = self.issue_jump(rd, rs1);
        self.go_to(at, target);
    }

    /// Issues a jump, which writes the link register.
    #[inline(always)]
    pub fn issue_jump(&mut self, rd: u8, source: u8) -> u64 {
        let at = self.core.timing.free(self.issue_one(source), Unit::Branch);
        self.core.timing.occupy(Unit::Branch, at, Class::Integer);
        if rd != SINK {
            let link = self.core.pc_of(self.cursor).wrapping_add(LENGTH as u64);
            self.core.registers[rd as usize] = link;
            self.core.timing.produce(rd, at, Class::Integer);
        }
        at
    }

    /// Goes on at the address `target`, which may be anywhere.
    #[inline(always)]
    pub fn go_to(self, at: u64, target: u64) {
        let window = self.core.window;
        let distance = target.wrapping_sub(window.base);
        if distance < window.bytes {
            return self.redirect(at, window.first.slot(distance));
        }
        self.core.t = self.core.timing.redirect(at);
        self.core.count = T::retire(self.count);
        self.core.pc = target;
        self.core.entering = true;
        self.core.exit = Exit::Continue;
    }

    /// Goes on at `target`, after the time that a taken branch costs.
    #[inline(always)]
    fn redirect(self, at: u64, target: Cursor) {
        let t = self.core.timing.redirect(at);
        let count = T::retire(self.count);
        if t >= self.core.until {
            return horizon_at_target(self.core, target, self.port, t, count, self.table);
        }
        if T::TIMED {
            let pc = self.core.pc_of(target);
            // The first instruction of a line asks for its line by itself.
            if !pc.is_multiple_of(FETCH_BLOCK_BYTES) && !self.port.fetch_hit(pc) {
                return fetch_target(self.core, target, self.port, t, count, self.table);
            }
        }
        self.table.dispatch(self.core, target, self.port, t, count);
    }

    /// Stops; the next run goes on behind this instruction.
    #[inline(always)]
    pub fn stop_behind(self, stop: Stop, t: u64, count: u64) {
        self.core.exit = Exit::Stop(stop);
        self.core.save(self.cursor, t, count);
        self.core.pc = self.core.pc.wrapping_add(LENGTH as u64);
    }

    /// Stops at this instruction, for the reason in `exit`.
    #[inline(always)]
    pub fn stop_here(self, at: u64) {
        self.core.save(self.cursor, at, self.count);
    }
}

/// Comes back to the processor's loop.
fn pause<P, T: Timing>(core: &mut Core<T>, cursor: Cursor, _: &mut P, t: u64, count: u64, _: &Table<P, T>) {
    core.exit = Exit::Continue;
    core.save(cursor, t, count);
}

/// Stops before an access that would be made at the horizon or later.
#[cold]
#[inline(never)]
pub(crate) fn horizon<P, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    _: &mut P,
    t: u64,
    count: u64,
    _: &Table<P, T>,
) {
    core.exit = Exit::Stop(Stop::Horizon);
    core.save(cursor, t, count);
}

/// Stops at the target of a branch, before it is fetched.
#[cold]
#[inline(never)]
fn horizon_at_target<P, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    core.entering = true;
    horizon(core, cursor, port, t, count, table)
}

/// The first instruction that needs a line asks for it.
fn enter_line<P: Port, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    if t >= core.until {
        return horizon(core, cursor, port, t, count, table);
    }
    let line = line_entered(core.pc_of(cursor));
    if !port.fetch_hit(line) && !fetch(core, port, line) {
        return core.save(cursor, t, count);
    }
    let code = cursor.get().code - ENTERS_LINE;
    Table::FULL.call(code, core, cursor, port, t, count, table)
}

/// The line that the instruction at `pc` enters: its own, or the next one if it
/// lies in both.
fn line_entered(pc: u64) -> u64 {
    (pc + 2) & !(FETCH_BLOCK_BYTES - 1)
}

/// The target of a branch is not in the most recently used line.
#[cold]
#[inline(never)]
fn fetch_target<P: Port, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let pc = core.pc_of(cursor);
    if !fetch(core, port, pc) {
        core.entering = true;
        return core.save(cursor, t, count);
    }
    table.dispatch(core, cursor, port, t, count)
}

/// Fetches from `address`; false if that has to wait or is not allowed.
#[cold]
#[inline(never)]
pub(crate) fn fetch<P: Port, T: Timing>(core: &mut Core<T>, port: &mut P, address: u64) -> bool {
    let outcome = port.fetch(address);
    core.settle(outcome, FaultKind::Fetch, address).is_some()
}

/// A load that is no plain hit. `at` is the slot at which it issues.
#[cold]
#[inline(never)]
fn load_slowly<P: Port, T: Timing, const LENGTH: usize, const SIZE: usize, E: Extend>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    at: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let Operation { rd, rs1, immediate, .. } = cursor.get();
    let address = core.registers[rs1 as usize].wrapping_add_signed(immediate);
    let Some(value) = load_through(core, port, address, SIZE) else {
        return core.save(cursor, at, count);
    };
    let context = Context::<P, T, LENGTH> { core, cursor, port, t: at, count, table };
    context.loaded::<SIZE, E>(at, rd, value)
}

#[inline(never)]
fn load_through<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    size: usize,
) -> Option<u64> {
    let outcome = port.load(address, size);
    core.settle(outcome, FaultKind::Load, address)
}

/// A store that is no plain hit. `at` is the slot at which it issues.
#[cold]
#[inline(never)]
fn store_slowly<P: Port, T: Timing, const LENGTH: usize, const SIZE: usize>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    at: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let Operation { rs1, rs2, immediate, .. } = cursor.get();
    let address = core.registers[rs1 as usize].wrapping_add_signed(immediate);
    let value = core.registers[rs2 as usize];
    if !store_through(core, port, address, SIZE, value) {
        return core.save(cursor, at, count);
    }
    core.timing.occupy_with_store(at);
    let context = Context::<P, T, LENGTH> { core, cursor, port, t: at, count, table };
    context.retire(at)
}

#[inline(never)]
fn store_through<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    size: usize,
    value: u64,
) -> bool {
    let outcome = port.store(address, size, value & (u64::MAX >> (64 - 8 * size)));
    core.settle(outcome, FaultKind::Store, address).is_some()
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
