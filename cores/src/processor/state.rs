//! What a processor shows of itself between two runs, and what its owner may set.

use narthex_kernel::{Clock, Time};

use super::{Processor, enter};
use crate::execute::Window;
use crate::operation::{FLOAT_REGISTERS, Operation, SINK};
use crate::timing::Timing;

impl<T: Timing> Processor<T> {
    /// The local time: the first instant at which the next instruction may issue.
    pub fn now(&self) -> Time {
        self.core.slots.edge(self.core.t)
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.core.clock
    }

    /// Slots after which cycles begin at the same places between picoseconds.
    pub(crate) fn slots_in_pattern(&self) -> u64 {
        self.core.clock.pattern_cycles() * self.core.timing.width()
    }

    /// Whole clock cycles of local time.
    pub fn cycles(&self) -> u64 {
        self.core.t / self.core.timing.width()
    }

    /// Instructions retired.
    pub fn retired(&self) -> u64 {
        self.core.timing.retired(self.core.t, self.core.count)
    }

    /// Where the next instruction is.
    pub fn pc(&self) -> u64 {
        self.core.pc
    }

    /// Goes on at `pc` (its lowest bit is ignored).
    pub fn set_pc(&mut self, pc: u64) {
        self.core.pc = pc & !1;
        self.core.entering = true;
        if let Some(window) = self.core.timing.window() {
            window.forget_ahead();
        }
    }

    /// The integer register x0 to x31.
    pub fn x(&self, number: usize) -> u64 {
        assert!(number < 32, "there is no register x{number}");
        self.core.registers[number]
    }

    /// Whether registers do not hold yet what loads under way bring.
    pub fn has_loads_under_way(&self) -> bool {
        self.core.expects()
    }

    /// The integer registers, then the floating-point registers.
    pub fn registers(&self) -> &[u64; SINK as usize] {
        self.core.registers.first_chunk().expect("as many registers")
    }

    /// How often the program has read a counter of time or of instructions.
    pub fn counter_reads(&self) -> u64 {
        self.core.counter_reads
    }

    /// The operation at the program counter.
    pub(crate) fn next_operation(&mut self) -> Operation {
        enter(&mut self.core).get()
    }

    /// Sets an integer register; x0 stays zero.
    pub fn set_x(&mut self, number: usize, value: u64) {
        assert!(number < 32, "there is no register x{number}");
        if number != 0 {
            self.core.registers[number] = value;
        }
    }

    /// The bits of the floating-point register f0 to f31.
    pub fn f(&self, number: usize) -> u64 {
        assert!(number < 32, "there is no register f{number}");
        self.core.registers[FLOAT_REGISTERS as usize + number]
    }

    /// Sets the bits of a floating-point register.
    pub fn set_f(&mut self, number: usize, bits: u64) {
        assert!(number < 32, "there is no register f{number}");
        self.core.registers[FLOAT_REGISTERS as usize + number] = bits;
    }

    /// Rounding mode (bits 7 to 5) and exception flags (bits 4 to 0).
    pub fn fcsr(&self) -> u32 {
        self.core.fcsr
    }

    /// Whose x30 and x31 are: the control register netmap.
    pub fn netmap(&self) -> u64 {
        self.core.netmap()
    }

    /// Sets netmap.
    pub fn set_netmap(&mut self, value: u64) {
        self.core.set_netmap(value);
        self.core.window = Window::none();
    }

    /// Sets rounding mode and exception flags.
    pub fn set_fcsr(&mut self, fcsr: u32) {
        self.core.set_fcsr(fcsr);
    }
}
