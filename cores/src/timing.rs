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
//! [`Functional`] leaves all that out: each instruction takes one slot. In a core with a
//! [`ReorderWindow`](crate::ReorderWindow) an instruction has its *turn* in order, and issues when its operands
//! are there.

use narthex_kernel::{Archive, Archived, Damage};
use narthex_memory::port::LowerLevelLatency;
use narthex_memory::processor_memory::misses::MOST_MISSES;
use serde::{Deserialize, Serialize};

use crate::access_control::AccessControl;
use crate::config::Config;
use crate::operation::SINK;
use crate::reorder::{NEVER, ReorderWindow};

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

/// What sends a program elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// The branch at this address.
    Branch {
        /// Its address.
        pc: u64,
    },
    /// A jump to an address that is in the instruction, or a return.
    Direct,
    /// Another jump to an address in a register.
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

    /// The value of `register` is on its way, and nobody knows when it comes.
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

    /// The slot at which an access is made that has its turn at `t` and may issue at `at`.
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

    /// The first slot, not before `at`, of a load from `address` that hits, by what stores to it.
    #[inline(always)]
    fn depend(&self, at: u64, _address: u64) -> u64 {
        at
    }

    /// A store to `address` has issued at `at`.
    #[inline(always)]
    fn note_store(&mut self, _at: u64, _address: u64) {}

    /// The turn of the next instruction of a processor that has come to `t`.
    #[inline(always)]
    fn dispatch(&mut self, t: u64) -> u64 {
        t
    }

    /// Where a processor has come whose next instruction has its turn at `t`.
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

/// An in-order processor as its [`Config`] says.
#[derive(Clone, Debug)]
pub struct InOrder {
    /// Clears a slot's place in its cycle.
    cycle_mask: u64,
    /// Latencies in slots, by [`Class`].
    latency_slots: [u64; 8],
    /// For how many slots a store occupies the memory port.
    store_slots: u64,
    /// For how many slots the change of a tag occupies the memory port.
    tag_change_slots: u64,
    /// From the start of a refused access's cycle to its handler's first slot.
    trap_slots: u64,
    /// From the start of the cycle in which the processor stops for an interrupt to
    /// its handler's first slot.
    interrupt_slots: u64,
    /// From the start of a taken branch's cycle to its target's first slot.
    redirect_slots: u64,
    /// When each [`Unit`] is free.
    free: [u64; UNITS],
    /// When each register of the file is ready.
    ready: [u64; 256],
    /// When the block of each miss register is there.
    blocks: [u64; MOST_MISSES],
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

/// What is busy until when; the rest is the processor's configuration.
impl Archived for InOrder {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let InOrder {
            cycle_mask: _,
            latency_slots: _,
            store_slots: _,
            tag_change_slots: _,
            trap_slots: _,
            interrupt_slots: _,
            redirect_slots: _,
            free,
            ready,
            blocks,
        } = self;
        archive.each(free)?;
        archive.each(blocks)?;
        archive.each(ready)
    }
}

impl InOrder {
    /// Registers and units that can be busy.
    pub(crate) const PENDING: usize = SINK as usize + UNITS + MOST_MISSES;

    /// For how many slots after `t` each register and unit is still busy.
    pub(crate) fn pending(&self, t: u64) -> [u64; Self::PENDING] {
        let (registers, units) = (&self.ready[..SINK as usize], &self.free);
        let mut busy =
            registers.iter().chain(units).chain(&self.blocks).map(|&until| until.saturating_sub(t));
        std::array::from_fn(|_| busy.next().expect("as many as there are"))
    }

    /// What is under way at `t` ends this many slots later.
    pub(crate) fn shift(&mut self, t: u64, slots: u64) {
        let busy = self.ready.iter_mut().chain(&mut self.free).chain(&mut self.blocks);
        busy.filter(|until| **until > t).for_each(|until| *until += slots);
    }

    #[inline(always)]
    fn cycle_start(&self, slot: u64) -> u64 {
        slot & self.cycle_mask
    }

    /// When an access that goes below the first level at `at` is over there.
    #[inline(always)]
    fn time_below(&mut self, at: u64, late: LowerLevelLatency) -> u64 {
        let start = self.cycle_start(at).max(self.free[Unit::Below as usize]);
        let slots = |cycles: u32| u64::from(cycles) * self.width();
        let (there, free) = (start + slots(late.cycles), start + slots(late.port_cycles));
        self.free[Unit::Below as usize] = free;
        there
    }
}

impl Timing for InOrder {
    const TIMED: bool = true;

    fn new(config: &Config) -> Self {
        let width = config.issue_width;
        InOrder {
            cycle_mask: !(width - 1),
            latency_slots: latencies(config).map(|cycles| cycles * width),
            store_slots: config.store_cycles * width,
            tag_change_slots: width,
            trap_slots: width,
            interrupt_slots: width,
            redirect_slots: (1 + config.branch_taken_cycles) * width,
            free: [0; UNITS],
            ready: [0; 256],
            blocks: [0; MOST_MISSES],
        }
    }

    fn width(&self) -> u64 {
        !self.cycle_mask + 1
    }

    #[inline(always)]
    fn ready(&self, t: u64, register: u8) -> u64 {
        t.max(self.ready[register as usize])
    }

    #[inline(always)]
    fn free(&self, t: u64, unit: Unit) -> u64 {
        t.max(self.free[unit as usize])
    }

    #[inline(always)]
    fn occupy(&mut self, unit: Unit, at: u64, class: Class) {
        let slots = match unit {
            Unit::Memory | Unit::Branch | Unit::Below => self.latency_slots[Class::Integer as usize],
            Unit::Divider => self.latency_slots[class as usize],
        };
        self.free[unit as usize] = self.cycle_start(at) + slots;
    }

    #[inline(always)]
    fn occupy_with_store(&mut self, at: u64) {
        self.free[Unit::Memory as usize] = self.cycle_start(at) + self.store_slots;
    }

    fn occupy_with_tag_change(&mut self, at: u64) {
        self.free[Unit::Memory as usize] = self.cycle_start(at) + self.tag_change_slots;
    }

    #[inline(always)]
    fn come_late(&mut self, register: u8, at: u64, late: LowerLevelLatency) {
        // A miss register is taken until its former block has come.
        let former = late.register.map_or(0, |own| self.blocks[usize::from(own)]);
        let there = self.time_below(at.max(former), late);
        self.ready[register as usize] = there + self.latency_slots[Class::Load as usize];
        let free = match late.register {
            None => there,
            Some(own) => {
                self.blocks[usize::from(own)] = there;
                former
            }
        };
        let memory = &mut self.free[Unit::Memory as usize];
        *memory = free.max(*memory);
    }

    fn come_filling(&mut self, register: u8, at: u64, miss_register: u8) -> bool {
        let there = self.blocks[usize::from(miss_register)];
        if there <= at {
            return false;
        }
        self.ready[register as usize] = there + self.latency_slots[Class::Load as usize];
        true
    }

    fn expect(&mut self, register: u8) {
        self.ready[register as usize] = NEVER;
    }

    fn is_expected(&self, register: u8) -> bool {
        self.ready[register as usize] == NEVER
    }

    fn arrive(&mut self, register: u8, at: u64, miss_register: u8) {
        self.ready[register as usize] = at + self.latency_slots[Class::Load as usize];
        self.blocks[usize::from(miss_register)] = at;
    }

    fn fetch_late(&mut self, t: u64, late: LowerLevelLatency) -> u64 {
        self.time_below(t, late)
    }

    fn occupy_below(&mut self, until: u64) {
        let free = &mut self.free[Unit::Below as usize];
        *free = until.max(*free);
    }

    fn trap(&self, at: u64) -> u64 {
        self.cycle_start(at) + self.trap_slots
    }

    fn interrupt(&self, at: u64) -> u64 {
        self.cycle_start(at) + self.interrupt_slots
    }

    fn set_interrupt_cycles(&mut self, cycles: u64) {
        self.interrupt_slots = cycles * self.width();
    }

    fn set_access_control(&mut self, costs: &AccessControl) {
        self.tag_change_slots = costs.tag_change_cycles * self.width();
        self.trap_slots = costs.fault_cycles * self.width();
    }

    #[inline(always)]
    fn produce(&mut self, register: u8, at: u64, class: Class) {
        let ready = self.cycle_start(at) + self.latency_slots[class as usize];
        self.ready[register as usize] = ready;
    }

    #[inline(always)]
    fn redirect(&mut self, _: u64, at: u64, _: Jump) -> u64 {
        self.cycle_start(at) + self.redirect_slots
    }

    #[inline(always)]
    fn retire(count: u64) -> u64 {
        count + 1
    }

    fn retired(&self, _: u64, count: u64) -> u64 {
        count
    }

    fn skip(&mut self, _: u64, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_below_the_first_level_waits_for_whatever_else_has_its_port() {
        let mut timing = InOrder::new(&Config::simple());
        let late = LowerLevelLatency { cycles: 6, port_cycles: 1, register: None };
        timing.occupy_below(20);
        assert_eq!(timing.fetch_late(10, late), 20 + 6);
        assert_eq!(timing.fetch_late(30, late), 30 + 6, "it is free again");
        timing.occupy_below(5);
        assert_eq!(timing.fetch_late(31, late), 31 + 6, "what is over changes nothing");
    }
}
