//! The state of a processor that handlers change.

use narthex_kernel::{Clock, Time};
use narthex_memory::Port;
use narthex_memory::port::{AccessFault, LowerLevelLatency, Outcome};
use narthex_memory::processor_memory::misses::MOST_MISSES;
use narthex_memory::protocols::Access;
use serde::{Deserialize, Serialize};

use crate::code::{Block, CodeView};
use crate::extensions::{Kind, LEAVE, kind_of};
use crate::float::Flags;
use crate::float::HostRounds;
use crate::float::host::host_fuses;
use crate::network_registers::{IS_MAPPED, NETWORK, WAS_MAPPED};
use crate::operation::{Cursor, Operation, SINK};
use crate::reorder::NEVER;
use crate::stop::{Fault, FaultKind, Stop};
use crate::timing::{Class, Timing, Unit};
use crate::traps::TrapRegisters;

/// What an instruction that is not finished asks of the processor's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Go on at the program counter.
    Continue,
    /// The same, when the access may begin for which the window of a core has stopped.
    Later,
    /// An interrupt that a device asserts has been enabled.
    Enabled,
    /// Tell the owner.
    Stop(Stop),
}

/// No line: nothing is ever fetched from there.
pub(crate) const NO_LINE: u64 = u64::MAX;

/// The addresses of the block that is executed, for register jumps.
///
/// Invariant: `first` is the first operation of a live block with `bytes` bytes
/// of code from the address `base` on, or `bytes` is zero.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    base: u64,
    bytes: u64,
    first: Cursor,
    /// What to add to a cursor's position to get its program counter.
    bias: u64,
}

/// What a processor executes before it has looked up any code.
static NO_CODE: [Operation; 2] = [Operation::bare(LEAVE); 2];

impl Window {
    /// No window: the code is looked up.
    pub fn none() -> Self {
        Window { base: 0, bytes: 0, first: Cursor::at(&NO_CODE), bias: 0 }
    }

    /// The window on a block.
    pub fn on(block: &Block) -> Self {
        let (base, first) = (block.base(), block.first());
        Window { base, bytes: block.bytes(), first, bias: base.wrapping_sub(first.position()) }
    }

    /// The operation at `pc`, if the block has it.
    #[inline(always)]
    pub fn at(&self, pc: u64) -> Option<Cursor> {
        let distance = pc.wrapping_sub(self.base);
        // SAFETY: by the invariant `first` is the first operation of a live
        // block of `bytes` bytes, and `distance` is less.
        (distance < self.bytes).then(|| unsafe { self.first.slot(distance) })
    }
}

// SAFETY: a window points into blocks that belong to the processor or to its
// `Arc<Code>`; they move to another thread together with it, and shared code
// is never written.
unsafe impl Send for Window {}

/// Everything of a processor that handlers change. The timing is last, so that all else is at the
/// same place whatever it is.
#[repr(C)]
pub(crate) struct Core<T> {
    /// The register file; see [`operation`](crate::operation).
    pub registers: [u64; 256],
    /// No access is made at this slot or later.
    pub until: u64,
    /// None that leaves the caches is made at this one or later, and no system call: it is no
    /// later than `until`.
    pub outside_until: u64,
    /// The block that is executed.
    pub window: Window,
    /// For each rounding mode in an instruction, whether the host's arithmetic may be used.
    pub host_rounds: [HostRounds; 256],
    /// The same for fused multiply-add, which not every host has.
    pub host_fuses: [HostRounds; 256],
    /// fcsr: rounding mode and exception flags.
    pub fcsr: u32,
    /// What handlers of refused accesses and of interrupts know.
    pub trap: TrapRegisters,
    /// Whether it has interrupts.
    pub has_interrupts: bool,
    /// Where the next instruction is.
    pub pc: u64,
    /// The first slot in which it may issue.
    pub t: u64,
    /// Instructions retired.
    pub count: u64,
    /// Whether the line of the next instruction must still be fetched.
    pub entering: bool,
    /// The line fetched last in this run: it hits again.
    pub fetched_line: u64,
    /// Bytes in a line, less one: the place of an address in its line.
    pub line_mask: u64,
    /// Whether there is more than one line.
    pub has_lines: bool,
    pub exit: Exit,
    /// The last instruction that could not be executed; apart, so that a stop is small.
    pub fault: Option<Fault>,
    pub code: CodeView,
    /// Its clock.
    pub clock: Clock,
    /// The clock of its slots.
    pub slots: Clock,
    /// Whether programs read 0 from the clock.
    pub clock_stands: bool,
    /// How often the program has read a counter.
    pub counter_reads: u64,
    /// How late the access is that has just finished; none once its instruction has.
    pub late: Option<LowerLevelLatency>,
    /// The miss register in which its block is filling.
    pub filling: Option<u8>,
    /// The miss register of the load that has just begun.
    pub started: Option<u8>,
    /// For each miss register the load that is under way.
    pub expected: [Option<Expected>; MOST_MISSES],
    /// How many those are.
    pub loads_under_way: usize,
    pub timing: T,
}

/// A load that is under way: what becomes of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Expected {
    pub rd: u8,
    pub extension: Extension,
}

/// How a loaded value is extended, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Extension {
    Zeros,
    /// By the sign of a value of so many bytes.
    Sign(u8),
    /// A single in a register is preceded by ones.
    Boxed,
}

impl Extension {
    pub fn extend(self, value: u64) -> u64 {
        match self {
            Extension::Zeros => value,
            Extension::Sign(bytes) => {
                let shift = 64 - 8 * u32::from(bytes);
                ((value << shift) as i64 >> shift) as u64
            }
            Extension::Boxed => value | 0xffff_ffff_0000_0000,
        }
    }
}

impl<T: Timing> Core<T> {
    /// Sets another horizon for all accesses; the one that there was, and that of accesses which
    /// the caches do not answer.
    #[inline(always)]
    pub fn replace_horizon(&mut self, until: u64) -> (u64, u64) {
        let horizon = (self.until, self.outside_until);
        (self.until, self.outside_until) = (until, until);
        horizon
    }

    /// Puts the state that travels in arguments back, and leaves the thread of
    /// handlers for the reason in `exit`.
    #[inline(always)]
    pub fn save(&mut self, cursor: Cursor, t: u64, count: u64) {
        self.pc = self.pc_of(cursor);
        self.t = self.timing.settle(t);
        self.count = count;
    }

    /// The first slot of the first cycle that begins at `time` or later.
    #[inline]
    pub fn slot_at(&self, time: Time) -> u64 {
        self.clock.number_at_or_after(time) * self.timing.width()
    }

    /// Whether `pc` is in the line fetched last.
    #[inline(always)]
    pub fn is_fetched(&self, pc: u64) -> bool {
        pc ^ self.fetched_line <= self.line_mask
    }

    /// Notes that the line of `pc` was fetched.
    #[inline(always)]
    pub fn fetched(&mut self, pc: u64) {
        self.fetched_line = pc & !self.line_mask;
    }

    /// Whether a line begins at `pc`.
    #[inline(always)]
    pub fn begins_line(&self, pc: u64) -> bool {
        pc & self.line_mask == 0
    }

    /// Whether a cursor keeps its invariant: it is at a slot of the block in the
    /// window, or at one of the two that leave it.
    pub fn holds(&self, cursor: Cursor) -> bool {
        let slots = self.window.bytes as usize / 2 + 2;
        let slot_bytes = size_of::<Operation>();
        let behind = cursor.behind(self.window.first);
        behind.is_some_and(|bytes| bytes % slot_bytes == 0 && bytes / slot_bytes < slots)
    }

    #[inline(always)]
    pub fn pc_of(&self, cursor: Cursor) -> u64 {
        cursor.position().wrapping_add(self.window.bias)
    }

    /// The result of an access, or none after noting why there is none.
    pub fn settle<V>(
        &mut self,
        outcome: Outcome<V>,
        kind: fn(AccessFault) -> FaultKind,
        address: u64,
    ) -> Option<V> {
        match outcome {
            Outcome::Done(value) => return Some(value),
            Outcome::Late(value, late) => {
                self.late = LowerLevelLatency::join(self.late, Some(late));
                return Some(value);
            }
            Outcome::Filling(value, register) => {
                self.filling = Some(register);
                return Some(value);
            }
            Outcome::UnderWay(register) => {
                self.started = Some(register);
                self.exit = Exit::Continue;
            }
            Outcome::Wait => self.exit = Exit::Stop(Stop::Wait),
            Outcome::Fault(fault) => self.fault(kind(fault), address),
        }
        None
    }

    /// The access of an instruction that issued at `at` is finished, and its result
    /// went to `register` as that of a hit: it comes later, if it has gone below the
    /// first level.
    #[inline(always)]
    pub fn settle_time<P: Port>(&mut self, port: &mut P, register: u8, at: u64) {
        if self.late.is_some() || self.filling.is_some() {
            self.come_late(port, register, at);
        }
    }

    /// Out of line, so that handlers have no local of it.
    #[cold]
    #[inline(never)]
    fn come_late<P: Port>(&mut self, port: &mut P, register: u8, at: u64) {
        if let Some(late) = self.late.take() {
            self.timing.come_late(register, at, late);
        }
        if let Some(own) = self.filling.take()
            && !self.timing.come_filling(register, at, own)
        {
            port.filled(own);
        }
    }

    /// If the load that issued at `at` is under way in a miss register, its value will be
    /// for `rd`; false if it is not.
    #[inline(never)]
    pub fn begin_load(&mut self, rd: u8, extension: Extension, at: u64) -> bool {
        let Some(miss_register) = self.started.take() else { return false };
        self.timing.occupy(Unit::Memory, at, Class::Load);
        self.expected[usize::from(miss_register)] = Some(Expected { rd, extension });
        self.loads_under_way += 1;
        if let Some(window) = self.timing.window() {
            window.begin_load(miss_register);
        }
        if rd != SINK {
            self.timing.expect(rd);
        }
        true
    }

    /// Whether any load is under way.
    pub fn expects(&self) -> bool {
        self.loads_under_way > 0
    }

    /// Whether an operation needs, or overwrites, a value that is on its way; then the
    /// owner is told.
    pub fn is_not_ready(&mut self, operation: Operation) -> bool {
        let Operation { rd, rs1, rs2, rs3, .. } = operation;
        let not_ready = match T::OVERLAPS {
            true => self.has_no_room(operation) || self.needs_expected(operation),
            false => [rd, rs1, rs2, rs3].iter().any(|&register| self.timing.is_expected(register)),
        };
        if not_ready {
            self.exit = Exit::Stop(Stop::NotReady);
        }
        not_ready
    }

    /// Whether an operation needs a value that is on its way.
    pub fn needs_expected(&self, Operation { rs1, rs2, rs3, .. }: Operation) -> bool {
        [rs1, rs2, rs3].iter().any(|&register| self.timing.is_expected(register))
    }

    /// Whether the window is full, or an operation overwrites a value that is on its way and may yet be
    /// needed: what only computes gives its register another value for certain.
    fn has_no_room(&mut self, operation: Operation) -> bool {
        let (rd, kind) = (operation.rd, kind_of(operation.code));
        if self.timing.window().is_some_and(|window| !window.has_room(kind)) {
            return true;
        }
        if !self.timing.is_expected(rd) || self.needs_expected(operation) {
            return false;
        }
        if kind != Kind::Compute {
            return true;
        }
        let overtaken = self.expected.iter_mut().flatten().filter(|expected| expected.rd == rd);
        overtaken.for_each(|expected| expected.rd = SINK);
        if let Some(window) = self.timing.window() {
            window.forget(rd);
        }
        false
    }

    /// Whether all instructions before the one with its turn at `t` are complete.
    pub fn is_alone(&mut self, t: u64) -> bool {
        self.timing.window().is_none_or(|window| window.drain() <= window.now(t))
    }

    /// An instruction with its turn at `t` waits until it is alone: its turn then.
    #[cold]
    pub fn await_others(&mut self, t: u64) -> u64 {
        let drained = self.timing.window().map_or(t, |window| window.drain());
        if drained == NEVER {
            self.exit = Exit::Stop(Stop::NotReady);
            return t;
        }
        self.exit = Exit::Continue;
        drained
    }

    /// Stops execution in front of an access with its turn at `made` that begins at `at`, if that is
    /// later than now: the dispatch clock then. An access that hits the first level is made now.
    #[inline(never)]
    pub fn put_off<P: Port>(
        &mut self,
        port: &mut P,
        (address, size, access): (u64, usize, Access),
        made: u64,
        at: u64,
    ) -> Option<u64> {
        let window = self.timing.window()?;
        let serialises = window.mmio_loads_serialise() && access == Access::Load;
        if serialises && port.is_uncached(address) && window.drain() > window.now(made) {
            return Some(self.await_others(made));
        }
        if at <= window.now(made) || port.is_at_hand(address, size) {
            return None;
        }
        window.wake_at(at);
        self.exit = Exit::Later;
        Some(made)
    }

    /// Notes a fault; the processor's loop adds where it happened.
    #[cold]
    #[inline(never)]
    pub fn fault(&mut self, kind: FaultKind, address: u64) {
        self.fault = Some(Fault { kind, pc: 0, address, bits: 0 });
        self.exit = Exit::Stop(Stop::Fault);
    }

    /// Sets exception flags.
    #[inline(always)]
    pub fn raise(&mut self, flags: Flags) {
        let fcsr = self.fcsr | flags.bits();
        if fcsr != self.fcsr {
            self.set_fcsr(fcsr);
        }
    }

    /// Whose the network registers are ([`network_registers`](crate::network_registers)).
    pub fn netmap(&self) -> u64 {
        let flags = [(self.code.is_mapped(), IS_MAPPED), (self.trap.was_mapped, WAS_MAPPED)];
        let set: u64 = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
        self.registers[NETWORK as usize] | set
    }

    /// Writes netmap. The window stays, for the place of the instruction that does so; behind it the
    /// processor looks up its code.
    pub fn set_netmap(&mut self, value: u64) {
        self.registers[NETWORK as usize] = value & !(IS_MAPPED | WAS_MAPPED);
        self.trap.was_mapped = value & WAS_MAPPED != 0;
        self.code.set_mapped(value & IS_MAPPED != 0);
    }

    /// Two registers are the network's where the processor goes on, or are not.
    #[inline]
    pub fn map_network(&mut self, is_mapped: bool) {
        if self.code.is_mapped() != is_mapped {
            self.code.set_mapped(is_mapped);
            self.window = Window::none();
        }
    }

    /// Sets rounding mode and flags. Once the inexact flag is set, rounding to
    /// nearest on the host raises nothing new.
    pub fn set_fcsr(&mut self, fcsr: u32) {
        self.fcsr = fcsr & 0xff;
        let inexact_is_known = self.fcsr & Flags::INEXACT.bits() != 0;
        let to_nearest = if inexact_is_known { HostRounds::Freely } else { HostRounds::IfExact };
        self.host_rounds[0] = to_nearest;
        self.host_rounds[7] = if self.fcsr >> 5 == 0 { to_nearest } else { HostRounds::No };
        if host_fuses() {
            self.host_fuses = self.host_rounds;
        }
    }
}
