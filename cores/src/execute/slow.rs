//! The rare parts of instructions, as handlers of their own: they take the same
//! arguments, so that the fast parts end in a jump to them, and they go on with
//! the next instruction when they are done.

use narthex_memory::Port;
use narthex_memory::port::PortResult;
use narthex_memory::protocols::Access;

use super::context::Extend;
use super::{Context, Core, Exit, Table};
use crate::decode::ENTERS_LINE;
use crate::operation::{Cursor, Operation, SINK};
use crate::stop::{FaultKind, Stop};
use crate::timing::{Class, Timing, Unit};

/// Comes back to the processor's loop.
pub(super) fn pause<P, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    _: &mut P,
    t: u64,
    count: u64,
    _: &Table<P, T>,
) {
    core.exit = Exit::Continue;
    core.save(cursor, t, count);
}

/// Executes an instruction while loads are under way, unless it needs their values.
pub(super) fn careful<P: Port, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let operation = cursor.get();
    if core.is_not_ready(operation) {
        return core.save(cursor, t, count);
    }
    Table::FULL.call(operation.code, core, cursor, port, t, count, table)
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
pub(super) fn horizon_at_target<P, T: Timing>(
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
pub(super) fn enter_line<P: Port, T: Timing>(
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
    let line = line_entered(core.pc_of(cursor), core.line_mask);
    let mut t = t;
    if !core.is_fetched(line) {
        if !port.fetch_hit(line) {
            match fetch(core, port, line, t) {
                Some(fetched) => t = fetched,
                None => return core.save(cursor, t, count),
            }
        }
        core.fetched(line);
    }
    let code = cursor.get().code - ENTERS_LINE;
    Table::FULL.call(code, core, cursor, port, t, count, table)
}

/// The line that the instruction at `pc` enters: its own, or the next one if it
/// lies in both.
fn line_entered(pc: u64, line_mask: u64) -> u64 {
    (pc + 2) & !line_mask
}

/// The target of a branch is not in the line fetched last.
#[inline(never)]
pub(super) fn enter_target<P: Port, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let pc = core.pc_of(cursor);
    let mut t = t;
    // The first instruction of a line asks for its line by itself.
    if !core.begins_line(pc) {
        if !port.fetch_hit(pc) {
            match fetch(core, port, pc, t) {
                Some(fetched) => t = fetched,
                None => {
                    core.entering = true;
                    return core.save(cursor, t, count);
                }
            }
        }
        core.fetched(pc);
    }
    table.dispatch(core, cursor, port, t, count)
}

/// Fetches from `address` for an instruction that may issue at `t`: when it may then;
/// none if the fetch has to wait or is not allowed, or would be made behind the horizon.
#[cold]
#[inline(never)]
pub(crate) fn fetch<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    t: u64,
) -> Option<u64> {
    if T::TIMED && t >= core.outside_until {
        core.exit = Exit::Stop(Stop::Horizon);
        return None;
    }
    let outcome = port.fetch(address);
    core.settle(outcome, FaultKind::Fetch, address)?;
    match core.late.take() {
        None => Some(t),
        Some(late) => Some(core.timing.fetch_late(t, late)),
    }
}

/// A load that is no plain hit. `made` is the slot at which it is made.
#[cold]
#[inline(never)]
pub(super) fn load_slowly<P: Port, T: Timing, const LENGTH: usize, const SIZE: usize, E: Extend>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    made: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let Operation { rd, rs1, immediate, .. } = cursor.get();
    let address = core.registers[rs1 as usize].wrapping_add_signed(immediate);
    let at = if T::OVERLAPS { core.timing.forwarded_at(core.timing.ready(made, rs1), address) } else { made };
    if let Some((value, late)) = port.load_late::<SIZE>(address) {
        core.registers[rd as usize] = E::extend::<SIZE>(value);
        core.timing.occupy(Unit::Memory, at, Class::Load);
        core.timing.come_late(rd, at, late);
        return Context::<P, T, LENGTH> { core, cursor, port, t: made, count, table }.retire(at);
    }
    if T::OVERLAPS
        && let Some(t) = core.put_off(port, (address, SIZE, Access::Load), made, at)
    {
        return core.save(cursor, t, count);
    }
    let mut next = table;
    let (at, value) = match serve(core, port, (address, SIZE, Access::Load, 0), at) {
        PortResult::Block(time) => (core.slot_at(time).max(at), port.load_hit::<SIZE>(address)),
        PortResult::Register { over, value, stops } => {
            next = if stops { &Table::HORIZON } else { table };
            (core.slot_at(over).max(at), Some(value))
        }
        PortResult::Refused => return refused(core, cursor, at, count),
        PortResult::No if T::TIMED && made >= core.outside_until => {
            return horizon(core, cursor, port, made, count, table);
        }
        PortResult::No => (at, None),
    };
    let made = T::made_at(made, at);
    let Some(value) = value.or_else(|| load_through(core, port, address, SIZE)) else {
        if !core.begin_load(rd, E::later(SIZE as u8), at) {
            return core.save(cursor, made, count);
        }
        // The processor goes on behind it, and looks at what each instruction needs.
        let t = core.timing.next(made, at);
        return core.save(cursor.advance(LENGTH), t, T::retire(count));
    };
    core.timing.occupy(Unit::Memory, at, Class::Load);
    let context = Context::<P, T, LENGTH> { core, cursor, port, t: made, count, table: next };
    context.finish_access(at, rd, E::extend::<SIZE>(value))
}

/// What its port can do by itself for an access at slot `at` that the caches do not answer.
#[inline(always)]
fn serve<P: Port, T: Timing>(
    core: &Core<T>,
    port: &mut P,
    (address, size, access, value): (u64, usize, Access, u64),
    at: u64,
) -> PortResult {
    if !T::TIMED || T::OVERLAPS {
        return PortResult::No;
    }
    port.serve(address, size, access, value, || core.slots.edge(at))
}

/// Stops before an access that a device has refused.
#[cold]
fn refused<T: Timing>(core: &mut Core<T>, cursor: Cursor, at: u64, count: u64) {
    core.exit = Exit::Stop(Stop::Wait);
    core.save(cursor, at, count);
}

/// The bytes of a value that a store of this size stores.
#[inline(always)]
fn stored(value: u64, size: usize) -> u64 {
    value & (u64::MAX >> (64 - 8 * size))
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

/// A store that is no plain hit. `made` is the slot at which it is made.
#[cold]
#[inline(never)]
pub(super) fn store_slowly<P: Port, T: Timing, const LENGTH: usize, const SIZE: usize>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    made: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let Operation { rs1, rs2, immediate, .. } = cursor.get();
    let address = core.registers[rs1 as usize].wrapping_add_signed(immediate);
    let value = core.registers[rs2 as usize];
    let at = if T::OVERLAPS { core.timing.ready(core.timing.ready(made, rs1), rs2) } else { made };
    if let Some(late) = port.store_late::<SIZE>(address, value) {
        core.timing.occupy_with_store(at);
        core.timing.note_store(at, address);
        core.timing.come_late(SINK, at, late);
        return Context::<P, T, LENGTH> { core, cursor, port, t: made, count, table }.retire(at);
    }
    if T::OVERLAPS
        && let Some(t) = core.put_off(port, (address, SIZE, Access::Store), made, at)
    {
        return core.save(cursor, t, count);
    }
    let mut next = table;
    let (at, is_stored) = match serve(core, port, (address, SIZE, Access::Store, stored(value, SIZE)), at) {
        PortResult::Block(time) => (core.slot_at(time).max(at), port.store_hit::<SIZE>(address, value)),
        PortResult::Register { over, stops, .. } => {
            next = if stops { &Table::HORIZON } else { table };
            (core.slot_at(over).max(at), true)
        }
        PortResult::Refused => return refused(core, cursor, at, count),
        PortResult::No if T::TIMED && made >= core.outside_until => {
            return horizon(core, cursor, port, made, count, table);
        }
        PortResult::No => (at, false),
    };
    let made = T::made_at(made, at);
    if !is_stored && !store_through(core, port, address, SIZE, value) {
        return core.save(cursor, made, count);
    }
    core.timing.occupy_with_store(at);
    core.timing.note_store(at, address);
    core.settle_time(port, SINK, at);
    let context = Context::<P, T, LENGTH> { core, cursor, port, t: made, count, table: next };
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
    let outcome = port.store(address, size, stored(value, size));
    core.settle(outcome, FaultKind::Store, address).is_some()
}
