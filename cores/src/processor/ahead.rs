//! What a core with a window does while an instruction waits; see [`reorder`](crate::reorder).
//!
//! Looking ahead has no effect but the misses that it begins. So it may begin again at any time: after each
//! event of its node, and whenever a value has come. Where nothing has changed that it depends on, it goes on
//! where it ended ([`Place`](crate::reorder::Place)).

use narthex_memory::Port;
use narthex_memory::processor_memory::misses::MOST_MISSES;

use super::{Processor, enter};
use crate::execute::{AheadPort, Core, Exit, Expected, NO_LINE, Table, Window, pass};
use crate::reorder::{Context, NEVER, REGISTERS};
use crate::stop::Stop;
use crate::timing::Timing;

/// The state to which it returns.
struct Checkpoint {
    context: Context,
    t: u64,
    entering: bool,
    fetched_line: u64,
    window: Window,
    expected: [Option<Expected>; MOST_MISSES],
    loads_under_way: usize,
}

impl Context {
    fn of<T: Timing>(core: &Core<T>) -> Self {
        let registers = *core.registers.first_chunk().expect("as many registers");
        Context { registers, pc: core.pc, count: core.count, fcsr: core.fcsr }
    }

    /// The core goes on with these registers.
    fn restore<T: Timing>(&self, core: &mut Core<T>) {
        core.registers[..REGISTERS].copy_from_slice(&self.registers);
        (core.pc, core.count) = (self.pc, self.count);
        (core.fault, core.started, core.late, core.filling) = (None, None, None, None);
        if core.fcsr != self.fcsr {
            core.set_fcsr(self.fcsr);
        }
    }
}

impl Checkpoint {
    fn of<T: Timing>(core: &mut Core<T>) -> Option<Self> {
        core.timing.window()?.begin_ahead();
        Some(Checkpoint {
            context: Context::of(core),
            t: core.t,
            entering: core.entering,
            fetched_line: core.fetched_line,
            window: core.window,
            expected: core.expected,
            loads_under_way: core.loads_under_way,
        })
    }

    /// Returns to the instruction that waits.
    fn restore<T: Timing>(&self, core: &mut Core<T>) {
        self.context.restore(core);
        (core.t, core.entering) = (self.t, self.entering);
        (core.fetched_line, core.window) = (self.fetched_line, self.window);
        (core.expected, core.loads_under_way) = (self.expected, self.loads_under_way);
    }
}

/// Why looking ahead has ended.
#[derive(PartialEq)]
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
        let (waits_until, stores) = (window.take_wake(), std::mem::take(&mut window.stores_ahead));
        let checkpoint = Checkpoint::of(core)?;
        let mut port = AheadPort::new(port, stores);
        let until = core.outside_until;
        let horizon = core.replace_horizon(until.min(waits_until));
        let mut wake = waits_until;
        let mut look = Look::go_on(core, &mut port, &checkpoint.context);
        let mut end = look.execute(core, &mut port, &mut wake);
        if end != End::Begun && port.depends && core.timing.window()?.has_aged() {
            // What it left out for want of a value may have it now.
            core.timing.window()?.begin_anew();
            checkpoint.restore(core);
            core.replace_horizon(until.min(waits_until));
            wake = waits_until;
            look = Look::go_on(core, &mut port, &checkpoint.context);
            end = look.execute(core, &mut port, &mut wake);
        }
        look.keep_place(core, &port);
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
        window.end_ahead();
        window.stores_ahead = port.into_stores(look.kept);
        window.come_to(slot);
        core.t = core.t.max(slot);
        if stop == Some(Stop::NotReady) {
            window.await_load();
        }
        stop
    }
}

/// A processor that looks ahead.
struct Look {
    /// Instructions retired before the place that is kept; [`NEVER`] as long as none is.
    kept: u64,
}

impl Look {
    /// Goes on at the place where looking ahead ended; where there is none, with the instruction that waits.
    fn go_on<P: Port, T: Timing>(core: &mut Core<T>, port: &mut AheadPort<'_, P>, waiting: &Context) -> Self {
        let Some(window) = core.timing.window() else { return Look { kept: NEVER } };
        match window.go_on_ahead(waiting.count, port.taken_blocks()) {
            None => port.begin(),
            Some((context, depends)) => {
                port.go_on(waiting.count, depends);
                context.restore(core);
                core.fetched_line = NO_LINE;
                core.t = core.timing.window().map_or(core.t, |window| window.reached());
            }
        }
        Look { kept: NEVER }
    }

    /// Looking ahead will go on here, if it does not at an earlier place.
    fn keep_place<P: Port, T: Timing>(&mut self, core: &mut Core<T>, port: &AheadPort<'_, P>) {
        if self.kept != NEVER {
            return;
        }
        self.kept = core.count;
        let context = Context::of(core);
        if let Some(window) = core.timing.window() {
            *window.keep_place(port.depends) = context;
        }
    }

    /// Executes ahead up to the horizon, or to `wake`: the earliest instant at which an access may begin that
    /// could not begin yet.
    fn execute<P: Port, T: Timing>(
        &mut self,
        core: &mut Core<T>,
        port: &mut AheadPort<'_, P>,
        wake: &mut u64,
    ) -> End {
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
                    self.keep_place(core, port);
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
}
