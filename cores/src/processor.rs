//! A processor: registers, clock, and the loop around the threaded handlers.

use std::sync::Arc;

use narthex_kernel::{Archive, Archived, Clock, Damage, Time};
use narthex_memory::Port;

use crate::access_control::AccessControl;
use crate::code::{Code, CodeView};
use crate::config::Config;
use crate::execute::{Core, Exit, Expected, NO_LINE, Table, Window, fetch};
use crate::extensions::UNDECODED;
use crate::float::HostRounds;
use crate::follow::{Follower, Jump, jumps};
use crate::operation::{ALL_IN_ONE_LINE, Cursor, FLOAT_REGISTERS, Operation, SINK};
use crate::stop::{Fault, FaultKind, Stop};
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
            self.execute_resumed(port, follower);
            if let Some(stop) = self.stop(port, follower) {
                return stop;
            }
        }
        if self.core.trap.is_due()
            && let Some(stop) = self.take_interrupt_at_boundary(port, follower)
        {
            return stop;
        }
        while self.core.t < self.core.until {
            self.execute(port, follower);
            if let Some(stop) = self.stop(port, follower) {
                return stop;
            }
        }
        Stop::Horizon
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
        let expected = core.expected[usize::from(miss_register)].take();
        let Some(Expected { rd, extension }) = expected else { return };
        core.loads_under_way -= 1;
        core.registers[rd as usize] = extension.extend(value);
        core.timing.arrive(rd, slot, miss_register);
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

    /// Others may have changed caches and code since the last run.
    fn begin<P: Port>(&mut self, port: &mut P) {
        self.core.fetched_line = NO_LINE;
        if self.core.code.begins(port.code_version(), port.code_removals()) {
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
        let stack = self.x(2);
        for jump in jumps(operation, pc, next).into_iter().flatten() {
            follower.jumped(jump, next, stack);
        }
    }

    /// Executes the instruction at the program counter, then by `next`. Why it has ended is
    /// the core's exit: handing it on would cost more than a short run.
    fn thread<P: Port>(&mut self, port: &mut P, next: &Table<P, T>) {
        let core = &mut *self.core;
        let cursor = enter(core);
        if core.entering && T::TIMED && !core.begins_line(core.pc) {
            let pc = core.pc;
            if !port.fetch_hit(pc) {
                match fetch(core, port, pc, core.t) {
                    Some(t) => core.t = t,
                    None => return,
                }
            }
            core.fetched(pc);
        }
        core.entering = false;
        if core.expects() && core.is_not_ready(cursor.get()) {
            return;
        }
        let (t, count) = (core.t, core.count);
        Table::FULL.call(cursor.get().code, core, cursor, port, t, count, next);
    }

    /// Executes up to the next place at which the processor looks at the time, and
    /// takes an interrupt there. Where it has stopped before does not matter: it may
    /// have done so between two instructions in a row that only compute.
    #[cold]
    fn take_interrupt_at_boundary<P: Port, F: Follower>(
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
    fn take_interrupt<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) -> Option<Stop> {
        let core = &mut *self.core;
        match core.trap.take_interrupt(core.pc) {
            Ok(()) => {
                core.t = core.timing.interrupt(core.t);
                self.enter_handler(follower);
                None
            }
            Err(line) => {
                let (kind, pc) = (FaultKind::Interrupt(line), core.pc);
                Some(self.explain(Fault { kind, pc, address: pc, bits: 0 }, port))
            }
        }
    }

    /// What the owner has to know, if anything: a fault that the program handles
    /// is none of its business.
    #[inline(always)]
    fn stop<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) -> Option<Stop> {
        match self.core.exit {
            Exit::Continue => None,
            Exit::Enabled => self.take_interrupt(port, follower),
            Exit::Stop(Stop::Fault) => self.take_fault(port, follower),
            Exit::Stop(stop) => Some(stop),
        }
    }

    /// The program's handler takes a fault, if it has one for it.
    #[cold]
    #[inline(never)]
    fn take_fault<P: Port, F: Follower>(&mut self, port: &mut P, follower: &mut F) -> Option<Stop> {
        match self.core.trap.take(self.fault(), self.core.pc) {
            Ok(()) => {
                self.core.t = self.core.timing.trap(self.core.t);
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

    /// A trap was taken: its handler is next.
    fn enter_handler<F: Follower>(&mut self, follower: &mut F) {
        let handler = self.core.trap.utvec;
        self.set_pc(handler);
        if F::LISTENS {
            follower.jumped(Jump::Trap(self.core.trap.uepc), self.core.pc, self.x(2));
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
    }

    /// The integer register x0 to x31.
    pub fn x(&self, number: usize) -> u64 {
        assert!(number < 32, "there is no register x{number}");
        self.core.registers[number]
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

    /// Sets rounding mode and exception flags.
    pub fn set_fcsr(&mut self, fcsr: u32) {
        self.core.set_fcsr(fcsr);
    }
}

/// Between two runs. What a run sets up for itself, and what points into code,
/// is forgotten, on the side that saves as well: both go on alike.
impl<T: Timing + Archived> Archived for Processor<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Processor { core, must_execute } = self;
        archive.value(must_execute)?;
        core.archive(archive)
    }
}

impl<T: Timing + Archived> Archived for Core<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Core {
            registers,
            until: _,
            outside_until: _,
            window,
            host_rounds: _,
            host_fuses: _,
            timing,
            fcsr,
            trap,
            has_interrupts: _,
            pc,
            t,
            count,
            entering,
            fetched_line,
            line_mask: _,
            has_lines: _,
            exit,
            fault: _,
            code,
            clock: _,
            slots: _,
            clock_stands: _,
            counter_reads: _,
            late: _,
            filling: _,
            started: _,
            expected,
            loads_under_way,
        } = self;
        archive.each(registers)?;
        timing.archive(archive)?;
        archive.value(fcsr)?;
        archive.value(trap)?;
        [pc, t, count].into_iter().try_for_each(|word| archive.value(word))?;
        archive.value(entering)?;
        code.archive(archive)?;
        archive.value(expected)?;
        *loads_under_way = expected.iter().flatten().count();
        (*window, *fetched_line, *exit) = (Window::none(), NO_LINE, Exit::Continue);
        let fcsr = *fcsr;
        self.set_fcsr(fcsr);
        Ok(())
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
