//! When instructions issue.
//!
//! Local time is counted in *slots*: a clock cycle divided by the issue width,
//! so that a processor that issues two instructions a cycle has two slots in
//! it. `t` is always the first slot that the next instruction could take. It
//! issues at the latest of
//!
//! - `t` itself: in order, one instruction a slot,
//! - the slots at which its source registers are ready (a scoreboard),
//! - the slot at which the unit that it needs is free: one memory access and
//!   one branch a cycle, one division at a time.
//!
//! A result of latency L is ready at the start of the L-th cycle after the one
//! in which the instruction issued. The width is a power of two, so that the
//! start of a cycle is found by masking.
//!
//! That is [`InOrder`]. [`Functional`] leaves all that out: each instruction takes one slot. In a
//! core with a [`ReorderWindow`] an instruction has its *turn* (it is dispatched) in order, and
//! issues when its operands are ready.

mod in_order;

use narthex_memory::port::LowerLevelLatency;
use serde::{Deserialize, Serialize};

use crate::access_control::AccessControl;
use crate::config::Config;
use crate::reorder::ReorderWindow;
pub use in_order::InOrder;

/// How long a result takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Integer arithmetic, moves and jumps: the next cycle.
    Integer,
    /// Loads that hit, and what atomics return.
    Load,
    /// Integer multiplication.
    Multiply,
    /// Integer division.
    Divide,
    /// Floating-point addition, comparison and conversion.
    FloatAdd,
    /// Floating-point multiplication and fused multiply-add.
    FloatMultiply,
    /// Floating-point division.
    FloatDivide,
    /// Floating-point square root.
    FloatSquareRoot,
}

/// What a processor has only one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The port to the data cache.
    Memory,
    /// The branch unit.
    Branch,
    /// The divider (and square root), not pipelined.
    Divider,
    /// The port of the cache below the first level.
    Below,
}

/// How many units there are.
const UNITS: usize = 4;

/// A change of control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// The branch at this address.
    Branch {
        /// Its address.
        pc: u64,
    },
    /// A jump whose target is always predicted: the instruction names it, or it is a return.
    Direct,
    /// An indirect jump that is no return.
    Register {
        /// Its address.
        pc: u64,
        /// Where it goes.
        target: u64,
    },
}

/// The passing of time in a processor. Three implementations exist; instruction
/// handlers are compiled for each.
pub trait Timing: Send {
    /// Whether time matters: then the instruction cache is asked, and no access
    /// is made at the horizon. Otherwise the horizon is a budget of
    /// instructions, looked at when a branch is taken.
    const TIMED: bool;

    /// Whether an instruction may begin before those in front of it: then it has a
    /// [`window`](Timing::window).
    const OVERLAPS: bool = false;

    /// The window of instructions that overlap, if they do.
    #[inline(always)]
    fn window(&mut self) -> Option<&mut ReorderWindow> {
        None
    }

    /// The clockwork of this processor, at time zero.
    fn new(config: &Config) -> Self;

    /// Slots in a cycle.
    fn width(&self) -> u64;

    /// The first slot, not before `t`, at which `register` is ready.
    fn ready(&self, t: u64, register: u8) -> u64;

    /// The first slot, not before `t`, at which `unit` is free.
    fn free(&self, t: u64, unit: Unit) -> u64;

    /// An instruction that issued at `at` occupies `unit` for the time of a
    /// load (memory), a branch (branch), or `class` (divider).
    fn occupy(&mut self, unit: Unit, at: u64, class: Class);

    /// A store that issued at `at` occupies the memory port.
    fn occupy_with_store(&mut self, at: u64);

    /// The change of an access tag that issued at `at` occupies the memory port.
    fn occupy_with_tag_change(&mut self, at: u64);

    /// An access that issued at `at`, and whose result would have gone to `register`
    /// as that of a hit, is served below the first level. The data cache is taken
    /// until then.
    fn come_late(&mut self, register: u8, at: u64, late: LowerLevelLatency);

    /// The same where the block is on its way to a miss register; false if it has come.
    fn come_filling(&mut self, register: u8, at: u64, miss_register: u8) -> bool;

    /// The value of `register` is on its way, and when it comes is not known.
    fn expect(&mut self, register: u8);

    /// Whether the value of `register` is on its way like that.
    fn is_expected(&self, register: u8) -> bool;

    /// The value of `register` comes as that of a load that hits at `at`, with the block
    /// of a miss register.
    fn arrive(&mut self, register: u8, at: u64, miss_register: u8);

    /// The first slot of an instruction that would have issued at `t`, and whose fetch
    /// is served below the first level.
    fn fetch_late(&mut self, t: u64, late: LowerLevelLatency) -> u64;

    /// The port of the cache below the first level is occupied by another up to `until`.
    fn occupy_below(&mut self, until: u64);

    /// The first slot of the handler of an access that was refused at `at`.
    fn trap(&self, at: u64) -> u64;

    /// The first slot of the handler of an interrupt for which the processor stops at `at`.
    fn interrupt(&self, at: u64) -> u64;

    /// What an interrupt costs from now on.
    fn set_interrupt_cycles(&mut self, cycles: u64);

    /// What access tags cost from now on.
    fn set_access_control(&mut self, costs: &AccessControl);

    /// The result of an instruction that issued at `at` goes to `register`.
    fn produce(&mut self, register: u8, at: u64, class: Class);

    /// The turn of a load that could be at `t`, but for the loads in front of it.
    #[inline(always)]
    fn load_turn(&mut self, t: u64) -> u64 {
        t
    }

    /// The turn of a store that could be at `t`, but for the stores in front of it.
    #[inline(always)]
    fn store_turn(&mut self, t: u64) -> u64 {
        t
    }

    /// The slot at which an access reaches the memory that has its turn at `t` and may issue at `at`.
    #[inline(always)]
    fn made_at(_t: u64, at: u64) -> u64 {
        at
    }

    /// The first slot of the next instruction in line, behind one that had its turn at `t` and
    /// issued at `at`.
    #[inline(always)]
    fn next(&mut self, _t: u64, at: u64) -> u64 {
        at + 1
    }

    /// The same behind a branch that is not taken, at the address `pc`.
    #[inline(always)]
    fn fall_through(&mut self, _t: u64, at: u64, _pc: u64) -> u64 {
        at + 1
    }

    /// The first slot of the target of a jump that had its turn at `t` and issued at `at`.
    fn redirect(&mut self, t: u64, at: u64, jump: Jump) -> u64;

    /// The first slot, not before `at`, at which a load from `address` that hits has the bytes that an
    /// earlier store forwards to it.
    #[inline(always)]
    fn forwarded_at(&self, at: u64, _address: u64) -> u64 {
        at
    }

    /// A store to `address` has issued at `at`.
    #[inline(always)]
    fn note_store(&mut self, _at: u64, _address: u64) {}

    /// The turn of the next instruction of a processor that has reached `t`.
    #[inline(always)]
    fn dispatch(&mut self, t: u64) -> u64 {
        t
    }

    /// The slot that a processor has reached whose next instruction has its turn at `t`.
    #[inline(always)]
    fn settle(&mut self, t: u64) -> u64 {
        t
    }

    /// `count` after one more instruction.
    fn retire(count: u64) -> u64;

    /// Instructions retired, from the running `count` and the time.
    fn retired(&self, t: u64, count: u64) -> u64;

    /// The owner moved the local time from `from` to `to`.
    fn skip(&mut self, from: u64, to: u64);
}

/// No timing: one instruction a slot and a slot a cycle. For pure speed and for
/// comparison with other implementations; the horizon is a budget of
/// instructions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Functional {
    /// Slots in which nothing was retired.
    skipped: u64,
}

impl Timing for Functional {
    const TIMED: bool = false;

    fn new(_: &Config) -> Self {
        Functional { skipped: 0 }
    }

    fn width(&self) -> u64 {
        1
    }

    #[inline(always)]
    fn ready(&self, t: u64, _: u8) -> u64 {
        t
    }

    #[inline(always)]
    fn free(&self, t: u64, _: Unit) -> u64 {
        t
    }

    #[inline(always)]
    fn occupy(&mut self, _: Unit, _: u64, _: Class) {}

    #[inline(always)]
    fn occupy_with_store(&mut self, _: u64) {}

    fn occupy_with_tag_change(&mut self, _: u64) {}

    fn come_late(&mut self, _: u8, _: u64, _: LowerLevelLatency) {}

    fn come_filling(&mut self, _: u8, _: u64, _: u8) -> bool {
        false
    }

    fn expect(&mut self, _: u8) {}

    fn is_expected(&self, _: u8) -> bool {
        false
    }

    fn arrive(&mut self, _: u8, _: u64, _: u8) {}

    fn fetch_late(&mut self, t: u64, _: LowerLevelLatency) -> u64 {
        t
    }

    fn occupy_below(&mut self, _: u64) {}

    /// A refused access retires nothing, so it takes no slot.
    fn trap(&self, at: u64) -> u64 {
        at
    }

    /// Nor does an interrupt.
    fn interrupt(&self, at: u64) -> u64 {
        at
    }

    fn set_interrupt_cycles(&mut self, _: u64) {}

    fn set_access_control(&mut self, _: &AccessControl) {}

    #[inline(always)]
    fn produce(&mut self, _: u8, _: u64, _: Class) {}

    #[inline(always)]
    fn redirect(&mut self, _: u64, at: u64, _: Jump) -> u64 {
        at + 1
    }

    #[inline(always)]
    fn retire(count: u64) -> u64 {
        count
    }

    /// Each slot that was not skipped retired one instruction.
    fn retired(&self, t: u64, _: u64) -> u64 {
        t - self.skipped
    }

    fn skip(&mut self, from: u64, to: u64) {
        self.skipped += to - from;
    }
}

/// Latencies in cycles, by [`Class`].
pub(crate) fn latencies(config: &Config) -> [u64; 8] {
    [
        1,
        config.load_use_cycles,
        config.multiply_cycles,
        config.divide_cycles,
        config.float_add_cycles,
        config.float_multiply_cycles,
        config.float_divide_cycles,
        config.float_square_root_cycles,
    ]
}
