//! Interrupts and faults of a processor: where they are taken, and by whom.

use narthex_memory::Port;

use super::Processor;
use crate::execute::Exit;
use crate::follow::{Follower, Jump};
use crate::stop::{Fault, FaultKind, Stop};
use crate::timing::Timing;

impl<T: Timing> Processor<T> {
    /// Devices assert these interrupt lines now, by bit, and no others.
    pub fn assert_lines(&mut self, lines: u64) {
        self.core.trap.assert_lines(lines);
    }

    /// The interrupt lines that devices assert.
    pub fn asserted_lines(&self) -> u64 {
        self.core.trap.asserted_lines()
    }

    /// Whether a line is asserted that ends waiting (`wfi`).
    pub fn has_awaited_interrupt(&self) -> bool {
        self.core.trap.has_awaited()
    }

    /// Executes up to the next place at which the processor looks at the time, and
    /// takes an interrupt there. Where it has stopped before does not matter: it may
    /// have done so between two instructions in a row that only compute.
    #[cold]
    pub(super) fn take_interrupt_at_boundary<P: Port, F: Follower>(
        &mut self,
        port: &mut P,
        follower: &mut F,
    ) -> Option<Stop> {
        let horizon = self.core.replace_horizon(self.core.t);
        let mut stop = None;
        while self.core.trap.is_due() && stop.is_none() {
            match self.core.entering {
                true => self.core.exit = Exit::Enabled,
                false => self.execute(port, follower),
            }
            stop = match self.core.exit {
                Exit::Stop(Stop::Horizon) => self.take_interrupt(port, follower),
                _ => self.stop(port, follower),
            };
        }
        (self.core.until, self.core.outside_until) = horizon;
        stop
    }

    /// Takes the interrupt that is due before the next instruction.
    #[cold]
    pub(super) fn take_interrupt<P: Port, F: Follower>(
        &mut self,
        port: &mut P,
        follower: &mut F,
    ) -> Option<Stop> {
        let core = &mut *self.core;
        match core.trap.take_interrupt(core.pc) {
            Ok(()) => {
                let handler = core.timing.interrupt(core.t);
                core.t = core.timing.settle(handler);
                self.enter_handler(follower);
                None
            }
            Err(line) => {
                let (kind, pc) = (FaultKind::Interrupt(line), core.pc);
                Some(self.explain(Fault { kind, pc, address: pc, bits: 0 }, port))
            }
        }
    }

    /// The program's handler takes a fault, if it has one for it.
    #[cold]
    #[inline(never)]
    pub(super) fn take_fault<P: Port, F: Follower>(
        &mut self,
        port: &mut P,
        follower: &mut F,
    ) -> Option<Stop> {
        match self.core.trap.take(self.fault(), self.core.pc) {
            Ok(()) => {
                self.core.fault = None;
                let handler = self.core.timing.trap(self.core.t);
                self.core.t = self.core.timing.settle(handler);
                self.enter_handler(follower);
                None
            }
            Err(fault) => Some(self.explain(fault, port)),
        }
    }

    /// Why the instruction cannot be executed for which it has stopped.
    ///
    /// # Panics
    /// If it has not stopped for a [`Stop::Fault`].
    pub fn fault(&self) -> Fault {
        self.core.fault.expect("it has stopped for a fault")
    }

    /// The same; none if it has not stopped for one.
    pub fn has_faulted(&self) -> Option<Fault> {
        self.core.fault
    }

    /// The system has dealt with a fault: the processor goes on at its program counter.
    pub fn forget_fault(&mut self) {
        self.core.fault = None;
    }

    /// A trap was taken: its handler is next.
    fn enter_handler<F: Follower>(&mut self, follower: &mut F) {
        let handler = self.core.trap.utvec;
        self.core.trap.was_mapped = self.core.code.is_mapped();
        self.core.map_network(false);
        self.set_pc(handler);
        if F::LISTENS {
            let (stack, result) = (self.x(2), self.x(10));
            follower.jumped(Jump::Trap(self.core.trap.uepc), self.core.pc, stack, result);
        }
    }

    /// Adds to a fault where it happened.
    fn explain<P: Port>(&mut self, Fault { kind, address, .. }: Fault, port: &mut P) -> Stop {
        let pc = self.core.pc;
        let bits = port.code(pc).unwrap_or(0);
        let bits = if bits & 3 == 3 { bits } else { bits & 0xffff };
        self.core.fault = Some(Fault { kind, pc, address, bits });
        Stop::Fault
    }
}
