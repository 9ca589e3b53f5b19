//! Looking out for wait loops where a processor stops: at the end of a window,
//! at a marker, at an access that waits.
//!
//! It is looked at again and again whether the processor is where it was at an
//! earlier stop, with the same registers. A program at work is so by accident
//! only; one that waits is after a few turns at most. Which stop to compare
//! with changes from time to time, as in Brent's search for a cycle, because
//! the former ones may have been before the loop.

use narthex_cores::{InOrder, Processor};

/// Registers in which two turns may differ if the program reads a counter.
const MOST_GROWING: usize = 4;
/// Stops for which one place is looked for, by turns: in short loops the place
/// is soon found, and long ones come round.
const STOPS: [u32; 2] = [8, 32];
/// Instructions after a watch in vain before the next one.
const SHORTEST_PENALTY: u64 = 1 << 9;
const LONGEST_PENALTY: u64 = 1 << 20;
/// A sleep is worth while if it has saved more instructions.
const WORTH_WHILE: u64 = 128;

/// What may be a turn of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// Instructions between two stops at the same place.
    pub instructions: u64,
    /// It loads from device registers.
    pub takes_bus: bool,
}

/// Where a processor has stopped, and when to watch what follows.
#[derive(Debug)]
pub(super) struct Lookout {
    pc: u64,
    registers: [u64; 64],
    retired: u64,
    counter_reads: u64,
    uncached_loads: u64,
    stops_left: u32,
    is_long: bool,
    /// Instructions retired before which nothing is watched.
    not_before: u64,
    penalty: u64,
}

impl Default for Lookout {
    fn default() -> Self {
        Lookout {
            pc: u64::MAX,
            registers: [0; 64],
            retired: 0,
            counter_reads: 0,
            uncached_loads: 0,
            stops_left: STOPS[0],
            is_long: false,
            not_before: 0,
            penalty: SHORTEST_PENALTY,
        }
    }
}

impl Lookout {
    /// The processor has stopped, after so many loads from device registers. What
    /// it may be turning in, if it seems to wait.
    pub fn look(&mut self, processor: &Processor<InOrder>, uncached_loads: u64) -> Option<Seen> {
        if processor.pc() == self.pc && processor.retired() >= self.not_before && self.is_same(processor) {
            let instructions = processor.retired() - self.retired;
            return Some(Seen { instructions, takes_bus: uncached_loads != self.uncached_loads });
        }
        self.stops_left -= 1;
        if self.stops_left == 0 {
            self.is_long = !self.is_long;
            self.stops_left = STOPS[usize::from(self.is_long)];
            self.pc = processor.pc();
            self.registers = *processor.registers();
            self.retired = processor.retired();
            self.counter_reads = processor.counter_reads();
            self.uncached_loads = uncached_loads;
        }
        None
    }

    fn is_same(&self, processor: &Processor<InOrder>) -> bool {
        let registers = processor.registers();
        let growing = if processor.counter_reads() == self.counter_reads { 0 } else { MOST_GROWING };
        let differing = self.registers.iter().zip(registers).filter(|(old, new)| old != new);
        differing.take(growing + 1).count() <= growing
    }

    /// What was watched was no turn: the next one is watched later, and later each
    /// time.
    pub fn in_vain(&mut self, retired: u64) {
        self.not_before = retired + self.penalty;
        self.penalty = (2 * self.penalty).min(LONGEST_PENALTY);
    }

    /// A turn was found, and so many instructions were computed. If these are
    /// few, because the node has much to do, watching cost more than it saved.
    pub fn saved(&mut self, instructions: u64, retired: u64) {
        self.penalty = SHORTEST_PENALTY;
        if instructions < WORTH_WHILE {
            self.not_before = retired + SHORTEST_PENALTY;
        }
    }
}
