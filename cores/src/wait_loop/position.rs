//! Where a processor is: all that decides what it does next, and when.

use narthex_kernel::Time;

use crate::operation::SINK;
use crate::processor::Processor;
use crate::timing::InOrder;
use crate::traps::TrapRegisters;

/// A processor's state. Two that are alike go on alike, if their registers do.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub pc: u64,
    pub registers: [u64; SINK as usize],
    pub t: u64,
    pub now: Time,
    pub retired: u64,
    fcsr: u32,
    trap: TrapRegisters,
    /// For how many slots from now results and units are still under way.
    pending: [u64; InOrder::PENDING],
    /// The place of the next slot in the pattern of the clock's edges.
    phase: u64,
}

impl Position {
    /// Where the processor is now.
    pub fn of(processor: &Processor<InOrder>) -> Self {
        let core = &processor.core;
        Position {
            pc: core.pc,
            registers: *processor.registers(),
            t: core.t,
            now: processor.now(),
            retired: core.count,
            fcsr: core.fcsr,
            trap: core.trap.clone(),
            pending: core.timing.pending(core.t),
            phase: core.t % processor.slots_in_pattern(),
        }
    }

    /// Whether everything but time and registers is the same.
    pub fn is_like(&self, other: &Position) -> bool {
        (self.pc, self.fcsr, self.phase) == (other.pc, other.fcsr, other.phase)
            && self.trap == other.trap
            && self.pending == other.pending
    }
}
