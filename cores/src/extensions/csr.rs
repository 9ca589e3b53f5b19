//! Zicsr and Zicntr: the registers that user mode may read and write.
//!
//! User mode has the floating-point flags and rounding mode, and three
//! counters: cycles, nanoseconds of simulated time, and retired instructions.

use narthex_memory::Port;

use crate::execute::{Context, Core, instructions};
use crate::operation::Operation;
use crate::stop::FaultKind;
use crate::timing::{Class, Timing};

const FFLAGS: i64 = 0x001;
const FRM: i64 = 0x002;
const FCSR: i64 = 0x003;
const CYCLE: i64 = 0xc00;
const TIME: i64 = 0xc01;
const INSTRET: i64 = 0xc02;

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

#[inline(never)]
fn read<T: Timing>(core: &Core<T>, number: i64, at: u64, count: u64) -> Option<u64> {
    let value = match number {
        FFLAGS => u64::from(core.fcsr & 0x1f),
        FRM => u64::from(core.fcsr >> 5),
        FCSR => u64::from(core.fcsr),
        CYCLE => at / core.timing.width(),
        TIME => at * core.slot_ps / 1_000,
        INSTRET => core.timing.retired(at, count),
        _ => return None,
    };
    Some(value)
}

#[inline(never)]
fn write<T: Timing>(core: &mut Core<T>, number: i64, value: u64) -> Option<()> {
    let value = value as u32;
    match number {
        FFLAGS => core.set_fcsr(core.fcsr & !0x1f | value & 0x1f),
        FRM => core.set_fcsr(core.fcsr & 0x1f | (value & 7) << 5),
        FCSR => core.set_fcsr(value),
        _ => return None,
    }
    Some(())
}

impl<P: Port, T: Timing, const LENGTH: usize> Context<'_, P, T, LENGTH> {
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
    fn exchange(self, writes: bool, f: impl FnOnce(u64) -> u64) {
        let Operation { rd, rs1, immediate, .. } = self.cursor.get();
        let at = self.issue_one(rs1);
        let Some(old) = read(self.core, immediate, at, self.count) else {
            return self.illegal(at);
        };
        if writes && write(self.core, immediate, f(old)).is_none() {
            return self.illegal(at);
        }
        self.finish(at, rd, Class::Integer, old);
    }

    /// Stops here: no instruction of user mode.
    #[inline(always)]
    pub(super) fn illegal(self, at: u64) {
        let pc = self.core.pc_of(self.cursor);
        self.core.fault(FaultKind::IllegalInstruction, pc);
        self.stop_here(at);
    }
}
