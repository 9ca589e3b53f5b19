//! A processor: registers, clock, and the loop around the threaded handlers.

mod ahead;
mod archive;
mod interrupts;
mod state;

use std::sync::Arc;

use narthex_kernel::{Category, Duration, Time};
use narthex_memory::Port;
use narthex_memory::processor_memory::WaitReason;

use crate::access_control::AccessControl;
use crate::code::{Code, CodeView};
use crate::config::Config;
use crate::execute::{Core, Exit, Expected, NO_LINE, Table, Window, fetch};
use crate::extensions::{UNDECODED, kind_of};
use crate::float::HostRounds;
use crate::follow::{Follower, jumps};
use crate::operation::{ALL_IN_ONE_LINE, Cursor};
use crate::reorder::Stall;
use crate::stop::Stop;
use crate::timing::Timing;
use crate::traps::TrapRegisters;

/// A RISC-V processor in user mode, with timing `T`: [`Functional`] or
/// [`InOrder`].
///
/// It runs until it stops, and the owner deals with the reason; see [`Stop`].
///
/// ```
/// use narthex_cores::{Code, Config, FlatMemory, Functional, Processor, Stop, assemble};
/// use narthex_kernel::Time;
///
/// let code = assemble::assemble(0x1000, "addi a0, zero, 42\n ecall").unwrap();
/// let mut processor = Processor::<Functional>::new(&Config::simple(), Code::new(0x1000, &code).into());
/// processor.set_pc(0x1000);
/// let stop = processor.run(&mut FlatMemory::new(), Time::NEVER);
/// assert_eq!((stop, processor.x(10)), (Stop::SystemCall, 42));
/// ```
///
/// [`Functional`]: crate::Functional
/// [`InOrder`]: crate::InOrder
pub struct Processor<T> {
    pub(crate) core: Box<Core<T>>,
    /// The next instruction is executed even at the horizon.
    must_execute: bool,
}

impl<T: Timing> Processor<T> {
    /// A processor at time zero, all registers zero.
    ///
    /// The configuration is valid; see [`Config::validate`].
    pub fn new(config: &Config, code: Arc<Code>) -> Self {
        debug_assert_eq!(config.validate(), Ok(()));
        let timing = T::new(config);
        let clock = config.clock.clock();
        let mut core = Core {
            registers: [0; 256],
            until: 0,
            outside_until: 0,
            window: Window::none(),
            host_rounds: [HostRounds::No; 256],
            host_fuses: [HostRounds::No; 256],
            clock,
            slots: clock.divided_by(timing.width()),
            timing,
            fcsr: 0,
            trap: TrapRegisters::default(),
            has_interrupts: false,
            pc: 0,
            t: 0,
            count: 0,
            entering: true,
            fetched_line: NO_LINE,
            line_mask: code.line_bytes() - 1,
            has_lines: code.line_bytes() < ALL_IN_ONE_LINE,
            exit: Exit::Continue,
            fault: None,
            code: CodeView::new(code),
            clock_stands: false,
            counter_reads: 0,
            late: None,
            filling: None,
            started: None,
            expected: Default::default(),
            loads_under_way: 0,
        };
        core.set_fcsr(0);
        Processor { core: Box::new(core), must_execute: false }
    }

    /// From now on `rdcycle` and `rdtime` read 0: for a model checker, whose
    /// states have no time, so that no program can tell them apart by it.
    pub fn stop_clock(&mut self) {
        self.core.clock_stands = true;
    }

    /// The same with these costs of access tags; without, the least possible.
    pub fn with_access_control(mut self, costs: &AccessControl) -> Self {
        debug_assert_eq!(costs.problems(), Vec::new());
        self.core.timing.set_access_control(costs);
        self
    }

    /// The same with interrupts, whose handlers begin this many cycles after the
    /// processor stops for them; without, it knows neither their registers nor `wfi`.
    pub fn with_interrupts(mut self, cycles: u64) -> Self {
        self.core.has_interrupts = true;
        self.core.timing.set_interrupt_cycles(cycles);
        self
    }

    /// Executes instructions up to the local time `until`. No access to memory
    /// is made at that time or later, except the one that the processor was
    /// resumed for. Instructions that only compute may go beyond it, up to the
    /// next taken branch; [`Functional`](crate::Functional) looks at the time
    /// only there. An interrupt is taken at the first such place behind the instant
    /// at which its line is asserted.
    #[inline(always)]
    pub fn run<P: Port>(&mut self, port: &mut P, until: Time) -> Stop {
        self.set_horizon(until);
        self.run_to_stop(port, &mut ())
    }

    /// The same, but what only concerns its caches goes on up to `hits_until`: no access that
    /// misses them, or is uncached, is made at `until` or later, no system call and no fault. It
    /// stops before such an instruction as at a horizon.
    #[inline(always)]
    pub fn run_ahead<P: Port>(&mut self, port: &mut P, until: Time, hits_until: Time) -> Stop {
        self.set_horizon(until);
        if hits_until > until {
            self.core.until = self.core.slots.number_at_or_after(hits_until);
        }
        self.run_on(port)
    }

    /// Goes on behind a stop, up to where the last run was to go.
    #[inline(always)]
    pub fn run_on<P: Port>(&mut self, port: &mut P) -> Stop {
        let stop = self.run_to_stop(port, &mut ());
        let Core { t, until, outside_until, .. } = *self.core;
        let is_ahead = t >= outside_until && until > outside_until;
        if stop == Stop::Fault && is_ahead { Stop::Horizon } else { stop }
    }

    /// The same, told to a follower; instruction by instruction, which takes the host longer.
    /// What comes of it is the same.
    #[inline(never)]
    pub fn run_followed<P: Port, F: Follower>(
        &mut self,
        port: &mut P,
        until: Time,
        follower: &mut F,
    ) -> Stop {
        self.set_horizon(until);
        self.run_to_stop(port, follower)
    }

    /// No access is made at `until` or later.
    #[inline(always)]
    fn set_horizon(&mut self, until: Time) {
        self.core.until = self.core.slots.number_at_or_after(until);
        self.core.outside_until = self.core.until;
    }

    #[inline(always)]
    fn run_to_stop<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) -> Stop {
        self.begin(port);
        if self.must_execute {
            self.must_execute = false;
            let pc = self.core.pc;
            self.execute_resumed(port, follower);
            if let Some(stop) = self.stop(port, follower) {
                return stop;
            }
            if self.pauses(pc, follower) {
                return Stop::Horizon;
            }
        }
        if self.core.trap.is_due()
            && let Some(stop) = self.take_interrupt_at_boundary(port, follower)
        {
            return stop;
        }
        while self.core.t < self.core.until {
            let pc = self.core.pc;
            self.execute(port, follower);
            if let Some(stop) = self.stop(port, follower) {
                return stop;
            }
            if self.pauses(pc, follower) {
                return Stop::Horizon;
            }
        }
        Stop::Horizon
    }

    /// Whether a follower wants a pause where the processor has come to from `pc`.
    #[inline(always)]
    fn pauses<F: Follower>(&self, pc: u64, follower: &mut F) -> bool {
        F::LISTENS && self.core.pc != pc && follower.pauses_at(self.core.pc)
    }

    /// Executes one instruction; nothing if it executed without a stop.
    pub fn step<P: Port>(&mut self, port: &mut P) -> Option<Stop> {
        self.must_execute = false;
        self.begin(port);
        let retired = self.retired();
        loop {
            self.step_regardless(port, &mut ());
            if let Some(stop) = self.stop(port, &mut ()) {
                return Some(stop);
            }
            // Leaving a block of code, or an access that is refused, retires nothing.
            if self.retired() != retired {
                return None;
            }
        }
    }

    /// Executes one instruction, if it is one that [`Processor::run`] would execute
    /// before `until`; nothing if it executed without a stop.
    pub fn step_before<P: Port>(&mut self, port: &mut P, until: Time) -> Option<Stop> {
        self.set_horizon(until);
        self.begin(port);
        match std::mem::take(&mut self.must_execute) {
            true => self.step_regardless(port, &mut ()),
            false if self.core.t >= self.core.until => return Some(Stop::Horizon),
            false => self.thread(port, &Table::PAUSE),
        }
        self.stop(port, &mut ())
    }

    /// Whether the next run executes an instruction whatever the time: one that
    /// has waited.
    pub fn is_resumed(&self) -> bool {
        self.must_execute
    }

    /// Says when the access that the processor waits for can be made: its local
    /// time moves to the first cycle that begins at `time` or later. The next
    /// run executes the waiting instruction in any case.
    pub fn resume_at(&mut self, time: Time) {
        self.pass_until(time);
        self.must_execute = true;
    }

    /// A load under way is over, in this miss register, with this value: the register for
    /// which it is has it at `time`.
    pub fn deliver(&mut self, miss_register: u8, value: u64, time: Time) {
        let slot = self.core.slot_at(time);
        let core = &mut *self.core;
        if let Some(window) = core.timing.window() {
            window.value_came();
        }
        let expected = core.expected[usize::from(miss_register)].take();
        let Some(Expected { rd, extension }) = expected else {
            // Lookahead has asked for the block, and no load for its value.
            if let Some(window) = core.timing.window() {
                window.block_came(miss_register, slot);
            }
            return;
        };
        core.loads_under_way -= 1;
        core.registers[rd as usize] = extension.extend(value);
        core.timing.arrive(rd, slot, miss_register);
    }

    /// The access at which it has stopped waits for this, and is executed again.
    pub fn waits_for(&mut self, reason: WaitReason) {
        if !T::OVERLAPS {
            return;
        }
        let (kind, now) = (kind_of(enter(&mut self.core).get().code), self.core.t);
        if let Some(window) = self.core.timing.window() {
            window.wait_for(Stall::of(reason, kind), now);
        }
    }

    /// The block of a miss register comes from there.
    pub fn block_comes_from(&mut self, miss_register: u8, stall: Stall) {
        if let Some(window) = self.core.timing.window() {
            window.block_comes_from(miss_register, stall);
        }
    }

    /// The time until `now` in which no instruction left the window, by its cause ([`Stall`]); none without a
    /// window. If it has no thread, what is not known to belong elsewhere is the system's.
    pub fn stalls(&mut self, now: Time, has_thread: bool) -> Option<[Duration; Stall::COUNT]> {
        let slots = self.core.slots;
        let now = slots.number_at_or_after(now);
        let stalls = self.core.timing.window()?.stalls(now, has_thread);
        Some(std::array::from_fn(|cause| slots.cycles(stalls[cause])))
    }

    /// The port of the cache below the first level is busy until `time`: what is asked of it before
    /// begins then.
    pub fn occupy_second_level(&mut self, time: Time) {
        let slot = self.core.slot_at(time);
        self.core.timing.occupy_below(slot);
    }

    /// Lets local time pass without an instruction, to the first cycle that begins at
    /// `time` or later.
    pub fn pass_until(&mut self, time: Time) {
        let slot = self.core.slot_at(time);
        if slot > self.core.t {
            self.core.timing.skip(self.core.t, slot);
            self.core.t = slot;
        }
    }

    /// Others may have changed caches and code since the last run.
    fn begin<P: Port>(&mut self, port: &mut P) {
        self.core.fetched_line = NO_LINE;
        if self.core.code.begins(port.code_removals()) {
            self.core.window = Window::none();
            self.core.entering = true;
        }
    }

    /// The instruction that has waited, whatever the time, and perhaps those behind it.
    fn execute_resumed<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) {
        // Nearly always there is time for it, and for more than it.
        if self.core.t < self.core.until && !self.core.trap.is_due() {
            let retired = self.retired();
            self.execute(port, follower);
            if !matches!(self.core.exit, Exit::Stop(Stop::Horizon)) || self.retired() != retired {
                return;
            }
        }
        self.step_regardless(port, follower);
    }

    /// One instruction, whatever the time.
    fn step_regardless<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) {
        let horizon = self.core.replace_horizon(u64::MAX);
        match F::LISTENS {
            true => self.execute_told(port, follower),
            false => self.thread(port, &Table::PAUSE),
        }
        (self.core.until, self.core.outside_until) = horizon;
    }

    /// Instructions up to a stop, or up to the end of a block of code; one, if it is told to
    /// a follower.
    fn execute<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) {
        if F::LISTENS {
            return self.execute_told(port, follower);
        }
        // Without optimisation the handlers' last calls are no jumps.
        let table = match self.core.expects() {
            _ if cfg!(narthex_trampoline) => &Table::PAUSE,
            true => &Table::CAREFUL,
            false => &Table::FULL,
        };
        self.thread(port, table);
    }

    /// One instruction, told to a follower before, and what it jumped to behind it.
    fn execute_told<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) {
        let (at, pc) = (self.now(), self.core.pc);
        follower.executes(at, pc);
        let mut operation = enter(&mut self.core).get();
        self.thread(port, &Table::PAUSE);
        let next = self.core.pc;
        if next == pc {
            return;
        }
        if operation.code == UNDECODED
            && let Some(decoded) = self.core.code.decoded(pc)
        {
            operation = decoded;
        }
        let (stack, result) = (self.x(2), self.x(10));
        for jump in jumps(operation, pc, next).into_iter().flatten() {
            follower.jumped(jump, next, stack, result);
        }
    }

    /// Executes the instruction at the program counter, then by `next`. Why it has ended is
    /// the core's exit: handing it on would cost more than a short run.
    fn thread<P: Port>(&mut self, port: &mut P, next: &Table<P, T>) {
        let core = &mut *self.core;
        let cursor = enter(core);
        let mut turn = core.timing.dispatch(core.t);
        if core.entering && T::TIMED && !core.begins_line(core.pc) {
            let pc = core.pc;
            if !port.fetch_hit(pc) {
                match fetch(core, port, pc, turn) {
                    Some(t) => (turn, core.t) = (t, core.timing.settle(t)),
                    None => return,
                }
            }
            core.fetched(pc);
        }
        core.entering = false;
        if core.expects() && core.is_not_ready(cursor.get()) {
            return;
        }
        let count = core.count;
        Table::FULL.call(cursor.get().code, core, cursor, port, turn, count, next);
    }

    /// [`Processor::look_ahead`] of cores with a window; others stop.
    #[inline(always)]
    fn look_ahead_with<P: Port>(&mut self, port: &mut P) -> Option<Stop> {
        if T::OVERLAPS { self.look_ahead(port) } else { Some(Stop::NotReady) }
    }

    /// What the owner has to know, if anything: a fault that the program handles
    /// is none of its business.
    #[inline(always)]
    fn stop<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) -> Option<Stop> {
        match self.core.exit {
            Exit::Continue => None,
            Exit::Later => self.look_ahead_with(port),
            Exit::Stop(Stop::NotReady) if T::OVERLAPS => self.look_ahead_with(port),
            Exit::Enabled => self.take_interrupt(port, follower),
            Exit::Stop(Stop::Fault) => self.take_fault(port, follower),
            Exit::Stop(stop) => Some(stop),
        }
    }
}

/// The operation at the program counter, in a window on its block.
fn enter<T: Timing>(core: &mut Core<T>) -> Cursor {
    if let Some(cursor) = core.window.at(core.pc) {
        return cursor;
    }
    core.window = Window::on(core.code.block(core.pc));
    core.window.at(core.pc).expect("the block that was looked up has the address")
}
