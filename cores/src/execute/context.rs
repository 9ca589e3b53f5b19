//! What instructions are made of: operands, results, accesses, jumps.

use narthex_memory::Port;

use super::core::Extension;
use super::slow::{enter_target, horizon, horizon_at_target, load_slowly, store_slowly};
use super::{Core, Exit, Table};
use crate::operation::{Cursor, Operation, SINK};
use crate::stop::Stop;
use crate::timing::{Class, Jump, Timing, Unit};

/// The register that holds a return address.
const RETURN_ADDRESS: u8 = 1;

/// How a loaded value is extended to a register.
pub(crate) trait Extend {
    fn extend<const SIZE: usize>(value: u64) -> u64;

    /// The same for values of so many bytes that come later.
    fn later(bytes: u8) -> Extension;
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

    fn later(_: u8) -> Extension {
        Extension::Zeros
    }
}

impl Extend for Signed {
    #[inline(always)]
    fn extend<const SIZE: usize>(value: u64) -> u64 {
        let shift = 64 - 8 * SIZE as u32;
        ((value << shift) as i64 >> shift) as u64
    }

    fn later(bytes: u8) -> Extension {
        Extension::Sign(bytes)
    }
}

impl Extend for Boxed {
    #[inline(always)]
    fn extend<const SIZE: usize>(value: u64) -> u64 {
        if SIZE == 4 { value | 0xffff_ffff_0000_0000 } else { value }
    }

    fn later(bytes: u8) -> Extension {
        if bytes == 4 { Extension::Boxed } else { Extension::Zeros }
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

    /// The end of an instruction that writes what an access gave it, which may come
    /// late.
    #[inline(always)]
    pub fn finish_access(self, at: u64, rd: u8, value: u64) {
        self.core.registers[rd as usize] = value;
        self.core.timing.produce(rd, at, Class::Load);
        self.core.settle_time(self.port, rd, at);
        self.retire(at);
    }

    /// The end of an instruction: the next one in line is executed.
    #[inline(always)]
    pub fn retire(self, at: u64) {
        let next = self.cursor.advance(LENGTH);
        let t = self.core.timing.next(self.t, at);
        self.table.dispatch(self.core, next, self.port, t, T::retire(self.count));
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
    pub fn load<const SIZE: usize, E: Extend>(mut self) {
        let Operation { rd, rs1, immediate, .. } = self.cursor.get();
        self.t = self.core.timing.load_turn(self.t);
        let at = self.core.timing.free(self.issue_one(rs1), Unit::Memory);
        let made = T::made_at(self.t, at);
        if T::TIMED && made >= self.core.until {
            return horizon(self.core, self.cursor, self.port, made, self.count, self.table);
        }
        let address = self.register(rs1).wrapping_add_signed(immediate);
        match self.port.load_hit::<SIZE>(address) {
            Some(value) => {
                let at = self.core.timing.forwarded_at(at, address);
                self.loaded::<SIZE, E>(at, rd, value)
            }
            None => load_slowly::<P, T, LENGTH, SIZE, E>(
                self.core,
                self.cursor,
                self.port,
                made,
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
    pub fn store<const SIZE: usize>(mut self) {
        let Operation { rs1, rs2, immediate, .. } = self.cursor.get();
        self.t = self.core.timing.store_turn(self.t);
        let at = self.core.timing.free(self.issue(rs1, rs2), Unit::Memory);
        let made = T::made_at(self.t, at);
        if T::TIMED && made >= self.core.until {
            return horizon(self.core, self.cursor, self.port, made, self.count, self.table);
        }
        let address = self.register(rs1).wrapping_add_signed(immediate);
        if self.port.store_hit::<SIZE>(address, self.register(rs2)) {
            self.core.timing.occupy_with_store(at);
            self.core.timing.note_store(at, address);
            return self.retire(at);
        }
        store_slowly::<P, T, LENGTH, SIZE>(self.core, self.cursor, self.port, made, self.count, self.table)
    }

    /// if condition(rs1, rs2) jump by the immediate
    #[inline(always)]
    pub fn branch(self, condition: impl FnOnce(u64, u64) -> bool) {
        let Operation { rs1, rs2, immediate, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue(rs1, rs2), Unit::Branch);
        self.core.timing.occupy(Unit::Branch, at, Class::Integer);
        if condition(self.register(rs1), self.register(rs2)) {
            let target = self.cursor.jump(immediate);
            let pc = self.core.pc_of(self.cursor);
            return self.redirect(at, Jump::Branch { pc }, target);
        }
        self.fall_through(at);
    }

    /// The end of a branch that is not taken.
    #[inline(always)]
    pub fn fall_through(self, at: u64) {
        let next = self.cursor.advance(LENGTH);
        let pc = self.core.pc_of(self.cursor);
        let t = self.core.timing.fall_through(self.t, at, pc);
        self.table.dispatch(self.core, next, self.port, t, T::retire(self.count));
    }

    /// rd = address of the next instruction; jump by the immediate
    #[inline(always)]
    pub fn jump(mut self) {
        let Operation { rd, immediate, .. } = self.cursor.get();
        let at = self.issue_jump(rd, 0);
        let target = self.cursor.jump(immediate);
        self.redirect(at, Jump::Direct, target);
    }

    /// rd = address of the next instruction; jump to rs1 + immediate
    #[inline(always)]
    pub fn jump_to_register(mut self) {
        let Operation { rd, rs1, immediate, .. } = self.cursor.get();
        let target = self.register(rs1).wrapping_add_signed(immediate) & !1;
        let at = self.issue_jump(rd, rs1);
        let pc = self.core.pc_of(self.cursor);
        let jump = match (rd, rs1) {
            (SINK, RETURN_ADDRESS) => Jump::Direct,
            _ => Jump::Register { pc, target },
        };
        self.go_to(at, jump, target);
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
    pub fn go_to(self, at: u64, jump: Jump, target: u64) {
        if let Some(cursor) = self.core.window.at(target) {
            return self.redirect(at, jump, cursor);
        }
        let t = self.core.timing.redirect(self.t, at, jump);
        self.core.t = self.core.timing.settle(t);
        self.core.count = T::retire(self.count);
        self.core.pc = target;
        self.core.entering = true;
        self.core.exit = Exit::Continue;
    }

    /// Goes on at `target`, after the time that a taken branch costs.
    #[inline(always)]
    fn redirect(self, at: u64, jump: Jump, target: Cursor) {
        let t = self.core.timing.redirect(self.t, at, jump);
        let count = T::retire(self.count);
        if t >= self.core.until {
            return horizon_at_target(self.core, target, self.port, t, count, self.table);
        }
        if T::TIMED && self.core.has_lines && !self.core.is_fetched(self.core.pc_of(target)) {
            return enter_target(self.core, target, self.port, t, count, self.table);
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

    /// Whether no earlier instruction is under way, as serialising instructions need it.
    #[inline(always)]
    pub fn is_alone(&mut self) -> bool {
        !T::OVERLAPS || self.core.is_alone(self.t)
    }

    /// Stops at this instruction until it is alone.
    pub fn await_others(self) {
        let t = self.core.await_others(self.t);
        self.core.save(self.cursor, t, self.count);
    }

    /// Stops at this instruction, for the reason in `exit`.
    #[inline(always)]
    pub fn stop_here(self, at: u64) {
        self.core.save(self.cursor, at, self.count);
    }
}
