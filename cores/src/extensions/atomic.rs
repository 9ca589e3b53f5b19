//! A: load-reserved, store-conditional and atomic memory operations.
//!
//! All are done by the port: it keeps the reservation, and gives an atomic
//! operation the block with permission to write. The processor waits for an atomic,
//! so the acquire bit asks for nothing more; with the release bit it waits before for
//! loads under way and queued stores.

use narthex_memory::Port;

use super::integer::word;
use crate::execute::{Context, Core, horizon, instructions};
use crate::operation::Operation;
use crate::stop::FaultKind;
use crate::timing::{Timing, Unit};

instructions! {
    "lr.w" "00010 order 00000 rs1 010 rd 0101111" => |c| c.atomic::<4>(load_reserved);
    "lr.d" "00010 order 00000 rs1 011 rd 0101111" => |c| c.atomic::<8>(load_reserved);
    "sc.w" "00011 order rs2 rs1 010 rd 0101111" => |c| c.atomic::<4>(store_conditional);
    "sc.d" "00011 order rs2 rs1 011 rd 0101111" => |c| c.atomic::<8>(store_conditional);

    "amoswap.w" "00001 order rs2 rs1 010 rd 0101111" => |c| c.update_word(|_, b| b);
    "amoadd.w" "00000 order rs2 rs1 010 rd 0101111" => |c| c.update_word(u32::wrapping_add);
    "amoxor.w" "00100 order rs2 rs1 010 rd 0101111" => |c| c.update_word(|a, b| a ^ b);
    "amoand.w" "01100 order rs2 rs1 010 rd 0101111" => |c| c.update_word(|a, b| a & b);
    "amoor.w" "01000 order rs2 rs1 010 rd 0101111" => |c| c.update_word(|a, b| a | b);
    "amomin.w" "10000 order rs2 rs1 010 rd 0101111" =>
        |c| c.update_word(|a, b| (a as i32).min(b as i32) as u32);
    "amomax.w" "10100 order rs2 rs1 010 rd 0101111" =>
        |c| c.update_word(|a, b| (a as i32).max(b as i32) as u32);
    "amominu.w" "11000 order rs2 rs1 010 rd 0101111" => |c| c.update_word(u32::min);
    "amomaxu.w" "11100 order rs2 rs1 010 rd 0101111" => |c| c.update_word(u32::max);

    "amoswap.d" "00001 order rs2 rs1 011 rd 0101111" => |c| c.update(|_, b| b);
    "amoadd.d" "00000 order rs2 rs1 011 rd 0101111" => |c| c.update(u64::wrapping_add);
    "amoxor.d" "00100 order rs2 rs1 011 rd 0101111" => |c| c.update(|a, b| a ^ b);
    "amoand.d" "01100 order rs2 rs1 011 rd 0101111" => |c| c.update(|a, b| a & b);
    "amoor.d" "01000 order rs2 rs1 011 rd 0101111" => |c| c.update(|a, b| a | b);
    "amomin.d" "10000 order rs2 rs1 011 rd 0101111" =>
        |c| c.update(|a, b| (a as i64).min(b as i64) as u64);
    "amomax.d" "10100 order rs2 rs1 011 rd 0101111" =>
        |c| c.update(|a, b| (a as i64).max(b as i64) as u64);
    "amominu.d" "11000 order rs2 rs1 011 rd 0101111" => |c| c.update(u64::min);
    "amomaxu.d" "11100 order rs2 rs1 011 rd 0101111" => |c| c.update(u64::max);
}

/// The access of an atomic instruction, given address, size and rs2: what rd
/// gets, or none after noting why there is none.
type Access<P, T> = fn(&mut Core<T>, &mut P, u64, usize, u64) -> Option<u64>;

#[inline(never)]
fn load_reserved<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    size: usize,
    _: u64,
) -> Option<u64> {
    let outcome = port.load_reserved(address, size);
    core.settle(outcome, FaultKind::Load, address)
}

#[inline(never)]
fn store_conditional<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    size: usize,
    value: u64,
) -> Option<u64> {
    let outcome = port.store_conditional(address, size, value & mask(size));
    let stored = core.settle(outcome, FaultKind::Store, address)?;
    Some(u64::from(!stored))
}

#[inline(never)]
fn load_for_update<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    size: usize,
) -> Option<u64> {
    let outcome = port.load_for_update(address, size);
    core.settle(outcome, FaultKind::Store, address)
}

#[inline(never)]
fn store_update<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    size: usize,
    value: u64,
) -> Option<()> {
    let outcome = port.store(address, size, value);
    core.settle(outcome, FaultKind::Store, address)
}

fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

/// The bit of an atomic's order, of `aq` and `rl`, that asks for a release.
const RELEASE: i64 = 1;

#[inline(never)]
fn release_through<P: Port, T: Timing>(core: &mut Core<T>, port: &mut P) -> bool {
    let outcome = port.release();
    core.settle(outcome, FaultKind::Store, 0).is_some()
}

impl<P: Port, T: Timing, const LENGTH: usize> Context<'_, P, T, LENGTH> {
    /// What an atomic with `.rl` has behind it is done; false if it has to wait for that.
    #[inline(always)]
    fn release(&mut self) -> bool {
        let Operation { immediate, .. } = self.cursor.get();
        immediate & RELEASE == 0 || release_through(self.core, self.port)
    }

    /// An instruction with one atomic access to the address in rs1.
    #[inline(always)]
    fn atomic<const SIZE: usize>(mut self, access: Access<P, T>) {
        if !self.is_alone() {
            return self.await_others();
        }
        let Operation { rd, rs1, rs2, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue(rs1, rs2), Unit::Memory);
        if at >= self.core.outside_until {
            return horizon(self.core, self.cursor, self.port, at, self.count, self.table);
        }
        if !self.release() {
            return self.stop_here(at);
        }
        let (address, value) = (self.register(rs1), self.register(rs2));
        let Some(result) = access(self.core, self.port, address, SIZE, value) else {
            return self.stop_here(at);
        };
        self.core.timing.occupy_with_store(at);
        let result = if SIZE == 4 { word(result as u32) } else { result };
        self.finish_access(at, rd, result);
    }

    /// memory[rs1] = f(memory[rs1], rs2), and rd gets what was there.
    #[inline(always)]
    fn update(self, f: fn(u64, u64) -> u64) {
        let Operation { rs2, .. } = self.cursor.get();
        let operand = self.register(rs2);
        self.read_modify_write::<8>(|value| f(value, operand))
    }

    /// The same for words.
    #[inline(always)]
    fn update_word(self, f: fn(u32, u32) -> u32) {
        let Operation { rs2, .. } = self.cursor.get();
        let operand = self.register(rs2) as u32;
        self.read_modify_write::<4>(|value| f(value as u32, operand).into())
    }

    #[inline(always)]
    fn read_modify_write<const SIZE: usize>(mut self, f: impl FnOnce(u64) -> u64) {
        if !self.is_alone() {
            return self.await_others();
        }
        let Operation { rd, rs1, rs2, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue(rs1, rs2), Unit::Memory);
        if at >= self.core.outside_until {
            return horizon(self.core, self.cursor, self.port, at, self.count, self.table);
        }
        if !self.release() {
            return self.stop_here(at);
        }
        let address = self.register(rs1);
        let Some(old) = load_for_update(self.core, self.port, address, SIZE) else {
            return self.stop_here(at);
        };
        if store_update(self.core, self.port, address, SIZE, f(old)).is_none() {
            return self.stop_here(at);
        }
        self.core.timing.occupy_with_store(at);
        let old = if SIZE == 4 { word(old as u32) } else { old };
        self.finish_access(at, rd, old);
    }
}
