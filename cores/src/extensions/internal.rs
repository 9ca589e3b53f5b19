//! Operations that stand for no instruction: what the decoder puts where there
//! is none, none yet, or one that needs more than an operation can say.

use narthex_memory::Port;

use crate::execute::{Context, Core, Exit, Handler, Table};
use crate::operation::{Cursor, Operation};
use crate::stop::FaultKind;
use crate::timing::{Class, Jump, Timing, Unit};

/// The block ends here.
pub(crate) const LEAVE: u16 = 0;
/// Not decoded yet.
pub(crate) const UNDECODED: u16 = 1;
/// No instruction.
pub(crate) const ILLEGAL: u16 = 2;
/// A conditional branch to another block.
pub(crate) const FAR_BRANCH: u16 = 3;
/// A jump to another block.
pub(crate) const FAR_JUMP: u16 = 4;
/// How many there are.
pub(crate) const COUNT: u16 = 5;

pub(super) const fn handlers<P: Port, T: Timing>() -> [[Handler<P, T>; 2]; COUNT as usize] {
    [
        [leave::<P, T>; 2],
        [undecoded::<P, T>; 2],
        [illegal::<P, T>; 2],
        [far_branch::<P, T, 4>, far_branch::<P, T, 2>],
        [far_jump::<P, T, 4>, far_jump::<P, T, 2>],
    ]
}

/// Goes on in another block.
fn leave<P: Port, T: Timing>(
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

/// No instruction of user mode.
pub(crate) fn illegal<P: Port, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    _: &mut P,
    t: u64,
    count: u64,
    _: &Table<P, T>,
) {
    core.save(cursor, t, count);
    core.fault(FaultKind::IllegalInstruction, core.pc);
}

/// Decodes the instruction, then executes it.
#[cold]
fn undecoded<P: Port, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    core.save(cursor, t, count);
    let Some(cursor) = decode_here(core, port) else { return };
    if T::OVERLAPS {
        return table.dispatch(core, cursor, port, t, count);
    }
    if core.is_not_ready(cursor.get()) {
        return;
    }
    let code = cursor.get().code;
    Table::FULL.call(code, core, cursor, port, t, count, table)
}

/// Decodes the instruction at the program counter.
#[inline(never)]
fn decode_here<P: Port, T: Timing>(core: &mut Core<T>, port: &mut P) -> Option<Cursor> {
    let pc = core.pc;
    match port.code(pc) {
        // The second half of a 32-bit instruction is on a page that is missing.
        Ok(bits) if bits & 3 == 3 && port.code(pc.wrapping_add(2)).is_err() => {
            let why = port.code(pc.wrapping_add(2)).err()?;
            core.fault(FaultKind::Fetch(why), pc.wrapping_add(2));
            None
        }
        Ok(bits) => {
            core.code.decode(pc, bits);
            core.window.at(pc)
        }
        Err(why) => {
            core.fault(FaultKind::Fetch(why), pc);
            None
        }
    }
}

/// A conditional branch by its function code; the immediate is its target.
fn far_branch<P: Port, T: Timing, const LENGTH: usize>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let context = Context::<P, T, LENGTH> { core, cursor, port, t, count, table };
    let Operation { rs1, rs2, rm, immediate, .. } = cursor.get();
    let at = context.core.timing.free(context.issue(rs1, rs2), Unit::Branch);
    let (a, b) = (context.register(rs1), context.register(rs2));
    let less = if rm & 2 == 0 { (a as i64) < b as i64 } else { a < b };
    let holds = if rm & 4 == 0 { a == b } else { less };
    context.core.timing.occupy(Unit::Branch, at, Class::Integer);
    // The lowest bit of the function code negates.
    if holds != (rm & 1 == 1) {
        let pc = context.core.pc_of(cursor);
        return context.go_to(at, Jump::Branch { pc }, immediate as u64);
    }
    context.fall_through(at)
}

fn far_jump<P: Port, T: Timing, const LENGTH: usize>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    t: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let mut context = Context::<P, T, LENGTH> { core, cursor, port, t, count, table };
    let Operation { rd, immediate, .. } = cursor.get();
    let at = context.issue_jump(rd, 0);
    context.go_to(at, Jump::Direct, immediate as u64)
}
