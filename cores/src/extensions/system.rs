//! Environment calls, returns from user-level traps (extension N), waiting for
//! interrupts, fences (Zifencei too) and Narthex's ledger markers.

use narthex_memory::Port;

use crate::execute::{Context, Core, Exit, NO_LINE, Window, horizon, instructions};
use crate::operation::{Operation, SINK};
use crate::stop::{FaultKind, Stop};
use crate::timing::{Jump, Timing};

instructions! {
    "marker" "imm[11:0] 00000 010 00000 0010011" => |c| c.marker();
    "ecall" "000000000000 00000 000 00000 1110011" => |c| c.environment_call();
    "ebreak" "000000000001 00000 000 00000 1110011" => |c| c.breakpoint();
    "uret" "000000000010 00000 000 00000 1110011" => |c| c.return_from_trap();
    "wfi" "000100000101 00000 000 00000 1110011" => |c| c.wait_for_interrupt();
    "fence" "------------ ----- 000 ----- 0001111" => |c| c.fence();
    "fence.i" "------------ ----- 001 ----- 0001111" => |c| c.fence_instructions();
}

impl<P: Port, T: Timing, const LENGTH: usize> Context<'_, P, T, LENGTH> {
    /// A mark for the ledger takes no time and is not counted.
    #[inline(always)]
    fn marker(self) {
        let Operation { immediate, .. } = self.cursor.get();
        let (t, count) = (self.t, self.count);
        if t >= self.core.until {
            return horizon(self.core, self.cursor, self.port, t, count, self.table);
        }
        self.stop_behind(Stop::Marker(immediate as u16 & 0xfff), t, count);
    }

    #[inline(always)]
    fn environment_call(mut self) {
        if !self.is_alone() {
            return self.await_others();
        }
        let (t, count) = (self.t, self.count);
        if t >= self.core.outside_until {
            return horizon(self.core, self.cursor, self.port, t, count, self.table);
        }
        // The system sees all registers.
        if T::TIMED && self.core.expects() {
            self.core.exit = Exit::Stop(Stop::NotReady);
            return self.stop_here(t);
        }
        if T::TIMED && !drain_stores_through(self.core, self.port) {
            return self.stop_here(t);
        }
        self.stop_behind(Stop::SystemCall, t + 1, T::retire(count));
    }

    /// Returns from the handler of a trap, as a jump does.
    #[inline(always)]
    fn return_from_trap(mut self) {
        let at = self.issue_jump(SINK, 0);
        let target = self.core.trap.leave();
        let was_mapped = std::mem::take(&mut self.core.trap.was_mapped);
        self.core.map_network(was_mapped);
        if self.core.trap.is_due() {
            let t = self.core.timing.redirect(self.t, at, Jump::Direct);
            self.core.t = self.core.timing.settle(t);
            self.core.count = T::retire(self.count);
            self.core.pc = target;
            self.core.exit = Exit::Enabled;
            return;
        }
        self.go_to(at, Jump::Direct, target);
    }

    /// Stops until a line is asserted that is enabled; whether interrupts are does
    /// not matter.
    #[inline(always)]
    fn wait_for_interrupt(mut self) {
        if !self.is_alone() {
            return self.await_others();
        }
        let (t, count) = (self.t, self.count);
        if !self.core.has_interrupts {
            return self.illegal(t);
        }
        if t >= self.core.outside_until {
            return horizon(self.core, self.cursor, self.port, t, count, self.table);
        }
        if self.core.trap.has_awaited() {
            return self.retire(t);
        }
        // The processor may take the interrupt right behind.
        self.core.entering = true;
        self.stop_behind(Stop::WaitForInterrupt, t + 1, T::retire(count));
    }

    #[inline(always)]
    fn breakpoint(self) {
        let (t, pc) = (self.t, self.core.pc_of(self.cursor));
        self.core.fault(FaultKind::Breakpoint, pc);
        self.stop_here(t);
    }

    #[inline(always)]
    fn fence(mut self) {
        if !self.is_alone() {
            return self.await_others();
        }
        let t = self.t;
        if t >= self.core.outside_until {
            return horizon(self.core, self.cursor, self.port, t, self.count, self.table);
        }
        if !fence_through(self.core, self.port) {
            return self.stop_here(t);
        }
        self.retire(t);
    }

    /// Decoded code is gone afterwards, whichever processor wrote to it, so the
    /// processor looks up where it goes on.
    #[inline(always)]
    fn fence_instructions(mut self) {
        if !self.is_alone() {
            return self.await_others();
        }
        let t = self.t;
        if t >= self.core.outside_until {
            return horizon(self.core, self.cursor, self.port, t, self.count, self.table);
        }
        if !fence_instructions_through(self.core, self.port) {
            return self.stop_here(t);
        }
        self.core.save(self.cursor, t + 1, T::retire(self.count));
        self.core.pc = self.core.pc.wrapping_add(LENGTH as u64);
        self.core.entering = true;
        self.core.exit = Exit::Continue;
        self.core.code.forget();
        self.core.window = Window::none();
        self.core.fetched_line = NO_LINE;
    }
}

#[inline(never)]
fn drain_stores_through<P: Port, T: Timing>(core: &mut Core<T>, port: &mut P) -> bool {
    let outcome = port.drain_stores();
    core.settle(outcome, FaultKind::Store, 0).is_some()
}

#[inline(never)]
fn fence_through<P: Port, T: Timing>(core: &mut Core<T>, port: &mut P) -> bool {
    let outcome = port.fence();
    core.settle(outcome, FaultKind::Store, 0).is_some()
}

#[inline(never)]
fn fence_instructions_through<P: Port, T: Timing>(core: &mut Core<T>, port: &mut P) -> bool {
    let outcome = port.fence_instructions();
    core.settle(outcome, FaultKind::Store, 0).is_some()
}
