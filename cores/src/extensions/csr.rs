//! Zicsr and Zicntr: the registers that user mode may read and write.
//!
//! User mode has the floating-point flags and rounding mode, the registers of
//! user-level traps ([`crate::traps`]; those of interrupts where it has any), and three counters: cycles,
//! nanoseconds of simulated time, and retired instructions. One register is the
//! simulator's own, in the place that the manual leaves to such: `tag`, 0x800.
//! Written with a block's address and, in the lowest four bits, the number of a
//! tag, it sets the block's access tag; read, it gives the bytes in a block of
//! tagged memory, zero where the process has none. Another is `netmap`, 0x801: whether two registers are
//! the network's ([`crate::network_registers`]).

use narthex_memory::Port;

use crate::execute::{Context, Core, Exit, Window, instructions};
use crate::operation::Operation;
use crate::stop::FaultKind;
use crate::timing::{Class, Timing, Unit};

const FFLAGS: i64 = 0x001;
const FRM: i64 = 0x002;
const FCSR: i64 = 0x003;
const USTATUS: i64 = 0x000;
const UIE: i64 = 0x004;
const UTVEC: i64 = 0x005;
const USCRATCH: i64 = 0x040;
const UEPC: i64 = 0x041;
const UCAUSE: i64 = 0x042;
const UTVAL: i64 = 0x043;
const UIP: i64 = 0x044;
const TAG: i64 = 0x800;
const NETMAP: i64 = 0x801;
const CYCLE: i64 = 0xc00;
const TIME: i64 = 0xc01;
const INSTRET: i64 = 0xc02;

/// The counters: of cycles, of nanoseconds, of retired instructions.
pub(crate) const COUNTERS: [i64; 3] = [CYCLE, TIME, INSTRET];

instructions! {
    "csrrw" "csr rs1 001 rd 1110011" => |c| c.csr(true, |_, operand| operand);
    "csrrs" "csr rs1 010 rd 1110011" => |c| c.csr(false, |old, operand| old | operand);
    "csrrc" "csr rs1 011 rd 1110011" => |c| c.csr(false, |old, operand| old & !operand);
    "csrrwi" "csr zimm[4:0] 101 rd 1110011" => |c| c.csr_immediate(true, |_, operand| operand);
    "csrrsi" "csr zimm[4:0] 110 rd 1110011" =>
        |c| c.csr_immediate(false, |old, operand| old | operand);
    "csrrci" "csr zimm[4:0] 111 rd 1110011" =>
        |c| c.csr_immediate(false, |old, operand| old & !operand);
}

/// The part of what is written to `tag` that is a tag's number; blocks begin at
/// multiples of at least 16.
const TAG_NUMBER: u64 = 15;

#[inline(never)]
fn read<P: Port, T: Timing>(core: &mut Core<T>, port: &P, number: i64, at: u64, count: u64) -> Option<u64> {
    core.counter_reads += u64::from(COUNTERS.contains(&number));
    let value = match number {
        FFLAGS => u64::from(core.fcsr & 0x1f),
        FRM => u64::from(core.fcsr >> 5),
        FCSR => u64::from(core.fcsr),
        USTATUS if core.has_interrupts => core.trap.ustatus(),
        UIE if core.has_interrupts => core.trap.uie(),
        UIP if core.has_interrupts => core.trap.uip(),
        UTVEC => core.trap.utvec,
        USCRATCH => core.trap.uscratch,
        UEPC => core.trap.uepc,
        UCAUSE => core.trap.ucause,
        UTVAL => core.trap.utval,
        TAG => port.tag_block_bytes(),
        NETMAP => core.netmap(),
        CYCLE | TIME if core.clock_stands => 0,
        CYCLE => at / core.timing.width(),
        TIME => core.slots.edge(at).as_ps() / 1_000,
        INSTRET => core.timing.retired(at, count),
        _ => return None,
    };
    Some(value)
}

/// Whether the register can be written so; otherwise the fault is noted.
#[inline(never)]
fn write<P: Port, T: Timing>(core: &mut Core<T>, port: &mut P, number: i64, value: u64, pc: u64) -> bool {
    match number {
        FFLAGS => core.set_fcsr(core.fcsr & !0x1f | value as u32 & 0x1f),
        FRM => core.set_fcsr(core.fcsr & 0x1f | (value as u32 & 7) << 5),
        FCSR => core.set_fcsr(value as u32),
        USTATUS if core.has_interrupts => core.trap.set_ustatus(value),
        UIE if core.has_interrupts => core.trap.set_uie(value),
        // It shows the lines of devices.
        UIP if core.has_interrupts => {}
        // Where instructions can be: at even addresses.
        UTVEC => core.trap.utvec = value & !1,
        USCRATCH => core.trap.uscratch = value,
        UEPC => core.trap.uepc = value & !1,
        UCAUSE => core.trap.ucause = value,
        UTVAL => core.trap.utval = value,
        TAG => {
            let block = value & !TAG_NUMBER;
            if let Err(error) = port.set_tag(block, value & TAG_NUMBER) {
                core.fault(FaultKind::TagChange(error), block);
                return false;
            }
        }
        NETMAP => core.set_netmap(value),
        _ => {
            core.fault(FaultKind::IllegalInstruction, pc);
            return false;
        }
    }
    true
}

impl<'a, P: Port, T: Timing, const LENGTH: usize> Context<'a, P, T, LENGTH> {
    #[inline(always)]
    fn csr(self, always: bool, f: fn(u64, u64) -> u64) {
        let Operation { rs1, .. } = self.cursor.get();
        let operand = self.register(rs1);
        self.exchange(always || rs1 != 0, |old| f(old, operand))
    }

    /// The operand is in the place of rs1.
    #[inline(always)]
    fn csr_immediate(self, always: bool, f: fn(u64, u64) -> u64) {
        let operand = u64::from(self.cursor.get().rs3);
        self.exchange(always || operand != 0, |old| f(old, operand))
    }

    /// rd = csr, then csr = f(csr) if `writes`.
    #[inline(always)]
    fn exchange(mut self, writes: bool, f: impl FnOnce(u64) -> u64) {
        if !self.is_alone() {
            return self.await_others();
        }
        let Operation { rd, rs1, immediate, .. } = self.cursor.get();
        let mut at = self.issue_one(rs1);
        if writes && immediate == TAG {
            at = self.core.timing.free(at, Unit::Memory);
        }
        let Some(old) = read(self.core, self.port, immediate, at, self.count) else {
            return self.illegal(at);
        };
        if writes {
            let pc = self.core.pc_of(self.cursor);
            if !write(self.core, self.port, immediate, f(old), pc) {
                return self.stop_here(at);
            }
            if immediate == TAG {
                self.core.timing.occupy_with_tag_change(at);
            }
            if immediate == NETMAP {
                return self.finish_before_other_code(at, rd, old);
            }
            if matches!(immediate, USTATUS | UIE) && self.core.trap.is_due() {
                return self.finish_before_interrupt(at, rd, old);
            }
        }
        self.finish(at, rd, Class::Integer, old);
    }

    /// The end of an instruction that enables an interrupt which is asserted: the
    /// processor's loop takes it before the next instruction.
    fn finish_before_interrupt(self, at: u64, rd: u8, value: u64) {
        self.leave_behind(at, rd, value).exit = Exit::Enabled;
    }

    /// The end of an instruction that changes how code is decoded: the processor's loop looks it up.
    fn finish_before_other_code(self, at: u64, rd: u8, value: u64) {
        let core = self.leave_behind(at, rd, value);
        (core.window, core.exit) = (Window::none(), Exit::Continue);
    }

    /// Leaves the thread of handlers behind this instruction.
    fn leave_behind(self, at: u64, rd: u8, value: u64) -> &'a mut Core<T> {
        self.core.registers[rd as usize] = value;
        self.core.timing.produce(rd, at, Class::Integer);
        self.core.save(self.cursor, at + 1, T::retire(self.count));
        self.core.pc = self.core.pc.wrapping_add(LENGTH as u64);
        self.core
    }

    /// Stops here: no instruction of user mode.
    #[inline(always)]
    pub(super) fn illegal(self, at: u64) {
        let pc = self.core.pc_of(self.cursor);
        self.core.fault(FaultKind::IllegalInstruction, pc);
        self.stop_here(at);
    }
}
