//! The timing of a core that issues its instructions in their order.

use narthex_kernel::{Archive, Archived, Damage};
use narthex_memory::port::LowerLevelLatency;
use narthex_memory::processor_memory::misses::MOST_MISSES;

use super::{Class, Jump, Timing, UNITS, Unit, latencies};
use crate::access_control::AccessControl;
use crate::config::Config;
use crate::operation::SINK;
use crate::reorder::NEVER;

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
