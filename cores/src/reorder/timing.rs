//! The window as a [`Timing`].

use narthex_memory::port::LowerLevelLatency;

use super::scoreboard::{STORES, Scoreboard};
use super::{CoreConfig, NEVER, Place, Predictor, ReorderWindow, Stall};
use crate::access_control::AccessControl;
use crate::execute::Stores;
use crate::operation::SINK;
use crate::timing::{Class, Jump, Timing, Unit, latencies};

impl Timing for ReorderWindow {
    const TIMED: bool = true;
    const OVERLAPS: bool = true;

    /// # Panics
    /// If the configuration has no window.
    fn new(config: &CoreConfig) -> Self {
        let width = config.issue_width;
        let own = config.window.as_ref().expect("the core has a window");
        let mut board = Scoreboard::new(own, width);
        ReorderWindow {
            cycle_mask: !(width - 1),
            latency_slots: latencies(config).map(|cycles| cycles * width),
            tag_change_slots: width,
            trap_slots: width,
            taken_slots: config.branch_taken_cycles * width,
            mispredict_slots: own.mispredict_cycles * width,
            entries: own.entries,
            mmio_loads_serialise: own.mmio_loads_serialise,
            saved: Box::new(board.save()),
            place: Box::new(Place::new(board.save())),
            board,
            predictor: Predictor::new(&own.predictor),
            began: 0,
            wake: NEVER,
            awaits_load: false,
            looks_ahead: false,
            stores_ahead: Stores::default(),
        }
    }

    #[inline(always)]
    fn window(&mut self) -> Option<&mut ReorderWindow> {
        Some(self)
    }

    fn width(&self) -> u64 {
        !self.cycle_mask + 1
    }

    #[inline(always)]
    fn ready(&self, t: u64, register: u8) -> u64 {
        t.max(self.board.ready[register as usize])
    }

    /// Only the divider is ever short.
    #[inline(always)]
    fn free(&self, t: u64, unit: Unit) -> u64 {
        if unit == Unit::Divider { t.max(self.board.divider) } else { t }
    }

    #[inline(always)]
    fn occupy(&mut self, unit: Unit, at: u64, class: Class) {
        let board = &mut self.board;
        match unit {
            Unit::Divider => board.divider = (at & self.cycle_mask) + self.latency_slots[class as usize],
            Unit::Memory => board.loads.take(board.next),
            Unit::Branch | Unit::Below => {}
        }
    }

    #[inline(always)]
    fn occupy_with_store(&mut self, _: u64) {
        let board = &mut self.board;
        board.stores.take(board.next);
    }

    fn occupy_with_tag_change(&mut self, at: u64) {
        self.board.result = self.cycle_start(at) + self.tag_change_slots;
    }

    /// A miss register is taken until its former block has come.
    fn come_late(&mut self, register: u8, at: u64, late: LowerLevelLatency) {
        let former = late.register.map_or(0, |own| self.board.blocks[usize::from(own)]);
        let there = self.cycle_start(at.max(former)) + u64::from(late.cycles) * self.width();
        if let Some(own) = late.register {
            self.board.blocks[usize::from(own)] = there;
            self.block_comes_from(own, Stall::SecondLevel);
        }
        let stall = if register == SINK { Stall::Store } else { Stall::SecondLevel };
        self.board.stalls.mark(self.board.next, stall);
        self.come_at(register, there);
    }

    fn come_filling(&mut self, register: u8, at: u64, miss_register: u8) -> bool {
        let there = self.board.blocks[usize::from(miss_register)];
        if there <= at {
            return false;
        }
        let stall = self.board.stalls.of_blocks[usize::from(miss_register)];
        self.board.stalls.mark(self.board.next, stall);
        self.come_at(register, there);
        true
    }

    fn expect(&mut self, register: u8) {
        self.board.ready[register as usize] = NEVER;
    }

    fn is_expected(&self, register: u8) -> bool {
        self.board.ready[register as usize] == NEVER
    }

    fn arrive(&mut self, register: u8, at: u64, miss_register: u8) {
        let own = usize::from(miss_register);
        let ready = at + self.latency_slots[Class::Load as usize];
        let board = &mut self.board;
        board.ready[register as usize] = ready;
        board.blocks[own] = at;
        let load = board.loads_under_way[own];
        board.completed[Scoreboard::place(load)] = ready;
        board.stalls.mark(load, board.stalls.of_blocks[own]);
    }

    fn fetch_late(&mut self, t: u64, late: LowerLevelLatency) -> u64 {
        self.board.stalls.mark(self.board.next, Stall::Fetch);
        self.cycle_start(t) + u64::from(late.cycles) * self.width()
    }

    fn occupy_below(&mut self, _: u64) {}

    fn trap(&self, at: u64) -> u64 {
        self.cycle_start(at) + self.trap_slots
    }

    /// A core with a window has no interrupts.
    fn interrupt(&self, at: u64) -> u64 {
        at
    }

    fn set_interrupt_cycles(&mut self, _: u64) {}

    fn set_access_control(&mut self, costs: &AccessControl) {
        self.tag_change_slots = costs.tag_change_cycles * self.width();
        self.trap_slots = costs.fault_cycles * self.width();
    }

    #[inline(always)]
    fn produce(&mut self, register: u8, at: u64, class: Class) {
        let ready = self.cycle_start(at) + self.latency_slots[class as usize];
        self.board.ready[register as usize] = ready;
        self.board.result = ready;
    }

    #[inline(always)]
    fn load_turn(&mut self, t: u64) -> u64 {
        let board = &mut self.board;
        board.leave(board.loads.to_leave());
        t.max(board.frontier)
    }

    #[inline(always)]
    fn store_turn(&mut self, t: u64) -> u64 {
        let board = &mut self.board;
        board.leave(board.stores.to_leave());
        t.max(board.frontier)
    }

    #[inline(always)]
    fn made_at(t: u64, _: u64) -> u64 {
        t
    }

    #[inline(always)]
    fn next(&mut self, t: u64, at: u64) -> u64 {
        self.dispatch_next(t, at)
    }

    #[inline(always)]
    fn fall_through(&mut self, t: u64, at: u64, pc: u64) -> u64 {
        self.resolve(t, at, pc, false)
    }

    #[inline(always)]
    fn redirect(&mut self, t: u64, at: u64, jump: Jump) -> u64 {
        match jump {
            Jump::Branch { pc } => self.resolve(t, at, pc, true),
            Jump::Direct => self.follow(t, at, true, true),
            Jump::Register { pc, target } => {
                let is_right = self.predictor.target(pc) == target;
                if !self.looks_ahead {
                    self.predictor.learn_target(pc, target);
                }
                self.follow(t, at, true, is_right)
            }
        }
    }

    #[inline(always)]
    fn forwarded_at(&self, at: u64, address: u64) -> u64 {
        let word = address >> 3;
        let (stored, there) = self.board.stored[word as usize % STORES];
        if stored == word { at.max(there) } else { at }
    }

    #[inline(always)]
    fn note_store(&mut self, at: u64, address: u64) {
        let word = address >> 3;
        self.board.stored[word as usize % STORES] = (word, self.cycle_start(at) + self.width());
    }

    #[inline(always)]
    fn dispatch(&mut self, _: u64) -> u64 {
        self.awaits_load = false;
        if self.board.is_full {
            self.board.dispatch = self.admit(self.board.dispatch);
        }
        self.board.dispatch
    }

    #[inline(always)]
    fn settle(&mut self, t: u64) -> u64 {
        self.board.dispatch = t;
        self.board.floor = self.board.floor.max(t);
        self.board.floor
    }

    #[inline(always)]
    fn retire(count: u64) -> u64 {
        count + 1
    }

    fn retired(&self, _: u64, count: u64) -> u64 {
        count
    }

    /// While the core waited for a load under way, its dispatch clock went on.
    fn skip(&mut self, _: u64, to: u64) {
        self.board.floor = to;
        if !std::mem::take(&mut self.awaits_load) {
            self.board.dispatch = to;
            self.board.stalls.mark_until(self.board.next, Stall::System, to);
        }
    }
}

impl ReorderWindow {
    /// The result of a load comes as that of one that hits at `there`.
    fn come_at(&mut self, register: u8, there: u64) {
        let ready = there + self.latency_slots[Class::Load as usize];
        self.board.ready[register as usize] = ready;
        self.board.result = ready;
    }
}
