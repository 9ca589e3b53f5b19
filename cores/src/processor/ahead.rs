//! What a core with a window does while an instruction waits; see [`reorder`](crate::reorder).
//!
//! Looking ahead keeps nothing but the misses that it has begun. So it may begin again at any time:
//! after each event of its node, and whenever a value has come.

use narthex_memory::Port;
use narthex_memory::processor_memory::misses::MOST_MISSES;

use super::{Processor, enter};
use crate::execute::{AheadPort, Core, Exit, Expected, Table, Window, pass};
use crate::operation::FLOAT_REGISTERS;
use crate::reorder::NEVER;
use crate::stop::Stop;
use crate::timing::Timing;

/// Registers that hold a value: integers and floating point.
const REGISTERS: usize = 2 * FLOAT_REGISTERS as usize;

/// The state to which it returns.
struct Checkpoint {
    registers: [u64; REGISTERS],
    pc: u64,
    t: u64,
    count: u64,
    fcsr: u32,
    entering: bool,
    fetched_line: u64,
    window: Window,
    expected: [Option<Expected>; MOST_MISSES],
    loads_under_way: usize,
}

impl Checkpoint {
    fn of<T: Timing>(core: &mut Core<T>) -> Option<Self> {
        core.timing.window()?.begin_ahead();
        Some(Checkpoint {
            registers: *core.registers.first_chunk().expect("as many registers"),
            pc: core.pc,
            t: core.t,
            count: core.count,
            fcsr: core.fcsr,
            entering: core.entering,
            fetched_line: core.fetched_line,
            window: core.window,
            expected: core.expected,
            loads_under_way: core.loads_under_way,
        })
    }

    fn restore<T: Timing>(&self, core: &mut Core<T>) {
        if let Some(window) = core.timing.window() {
            window.end_ahead();
        }
        core.registers[..REGISTERS].copy_from_slice(&self.registers);
        (core.pc, core.t, core.count) = (self.pc, self.t, self.count);
        core.entering = self.entering;
        (core.fetched_line, core.window) = (self.fetched_line, self.window);
        (core.expected, core.loads_under_way) = (self.expected, self.loads_under_way);
        (core.fault, core.started, core.late, core.filling) = (None, None, None, None);
        if core.fcsr != self.fcsr {
            core.set_fcsr(self.fcsr);
        }
    }
}

/// Why looking ahead has ended.
enum End {
    /// It has reached the horizon.
    Horizon,
    /// A miss has begun.
    Begun,
    /// No later instruction can be executed.
    Blocked,
}

impl<T: Timing> Processor<T> {
    /// Looks ahead from an instruction that cannot be executed yet. Returns why the processor stops;
    /// none if it goes on.
    #[inline(never)]
    pub(super) fn look_ahead<P: Port>(&mut self, port: &mut P) -> Option<Stop> {
        let core = &mut *self.core;
        let window = core.timing.window()?;
        let (mut wake, buffer) = (window.take_wake(), std::mem::take(&mut window.stores_ahead));
        let checkpoint = Checkpoint::of(core)?;
        let mut port = AheadPort::new(port, buffer);
        let until = core.outside_until;
        let horizon = core.replace_horizon(until.min(wake));
        let end = execute_ahead(core, &mut port, &mut wake);
        (core.until, core.outside_until) = horizon;
        let reached = core.t;
        checkpoint.restore(core);
        let (slot, stop) = match end {
            End::Begun => (reached, Some(Stop::Wait)),
            End::Blocked if wake == NEVER => (reached, Some(Stop::NotReady)),
            End::Blocked | End::Horizon if wake < until => (wake, None),
            End::Blocked | End::Horizon => (until, Some(Stop::Horizon)),
        };
        let window = core.timing.window()?;
        window.stores_ahead = port.into_buffer();
        window.come_to(slot);
        core.t = core.t.max(slot);
        if stop == Some(Stop::NotReady) {
            window.await_load();
        }
        stop
    }
}

/// Executes ahead up to the horizon, or to `wake`: the earliest instant at which an access may begin that
/// could not begin yet.
fn execute_ahead<P: Port, T: Timing>(core: &mut Core<T>, port: &mut AheadPort<'_, P>, wake: &mut u64) -> End {
    loop {
        if core.t >= core.until {
            return End::Horizon;
        }
        core.exit = Exit::Continue;
        let cursor = enter(core);
        let turn = core.timing.dispatch(core.t);
        core.entering = false;
        Table::AHEAD.call(cursor.get().code, core, cursor, port, turn, core.count, &Table::AHEAD);
        match core.exit {
            Exit::Continue => {}
            Exit::Later => {
                let Some(window) = core.timing.window() else { return End::Blocked };
                *wake = window.take_wake().min(*wake);
                core.replace_horizon(core.until.min(*wake));
                let (cursor, turn) = (enter(core), core.timing.dispatch(core.t));
                let Some((next, t)) = pass(core, cursor, port, turn) else { return End::Blocked };
                core.save(next, t, T::retire(core.count));
            }
            Exit::Stop(Stop::Horizon) => return End::Horizon,
            Exit::Stop(Stop::Wait) if port.has_begun => return End::Begun,
            Exit::Stop(_) | Exit::Enabled => return End::Blocked,
        }
    }
}
