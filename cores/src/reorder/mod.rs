//! When the instructions of a core with a reorder window begin.
//!
//! **What it computes.** Instructions are *dispatched* in order, `issue_width` a cycle, into a
//! window. An instruction begins when its operands are ready and is complete after its latency. It
//! leaves the window (it *retires*) when it and all older ones are complete. So instruction n is
//! dispatched no sooner than instruction n - `entries` and all before it are complete. The load queue
//! and the store queue limit the loads and the stores of the window: a load that finds its queue full
//! is dispatched when the oldest load retires, and so are the instructions behind it. A late result
//! delays the instructions that need it, and no others.
//!
//! **How.** The handlers of the in-order core execute the program in its order, and this module keeps
//! account of time:
//!
//! ```text
//!   dispatch clock t   ──► next instruction        at = max(t, operands ready)   (the handlers' `at`)
//!   completed[n]       ──► a ring of the window:   when instruction n is complete, or NEVER
//!   frontier           ──► when all that have retired were complete: t is no less
//! ```
//!
//! So values are exact by construction, and a processor's accesses are made in its program's order.
//!
//! **Looking ahead.** Execution stops at an instruction that needs the value of a load under way, and
//! at a miss that begins later than now. The processor then *looks ahead* (`processor/ahead.rs`): it
//! executes the instructions behind on a copy of its state, leaves out those that depend on the
//! missing value, follows the predicted path as far as the window reaches, and begins the misses that
//! it meets. It discards all of that but the misses, and continues at the same instruction when the
//! value has come (runahead, Dundas and Mudge, ICS 1997). The next time it looks ahead from where it has been, if
//! nothing has changed that matters ([`place`]). The dispatch clock does not stop meanwhile:
//! the instructions in the window *have been* dispatched. So `t` lags behind the `floor`, the instant
//! that the processor has reached, until it has caught up. An access that hits then takes its time in
//! the past; one that still misses begins at the floor.
//!
//! **What it leaves out.**
//!
//! - *Units.* There is one divider. Other units are never short, and the second level's port is
//!   always free.
//! - *Loads.* One that hits reads its value when it is dispatched, not when it begins. Loads behind
//!   an instruction that waits for a value take theirs after it, and only their misses overlap with
//!   it. A block that another processor takes away before its load is reached misses again.
//! - *Miss registers (MSHRs).* One that lookahead takes again forgets when its former block came. Where
//!   lookahead needs more of them than there are, the load of that former block may count as a hit.
//!   Lookahead ends at a load that finds all of them taken by loads under way.
//! - *Blocks that leave.* A load that was executed ahead and hit misses again if its block has left the data cache,
//!   but not before the program gets to it.
//! - *Stores.* One waits for its operands before it asks for a block that is absent. A stored word
//!   goes to a later load of the same eight bytes after a cycle, whatever the sizes are; the last
//!   store of 64 words is remembered.
//! - *Other accesses.* Some take no miss register: a store without a queue for it, an atomic, an
//!   access to a device's register, a fetch, and a load when all registers are taken. Nothing behind
//!   one begins while it is waited for.
//! - *Branches.* Behind a branch whose operand is on its way, lookahead follows the predicted path
//!   alone. It stops at a jump whose target register is on its way, a return too. All other returns
//!   are predicted rightly.
//! - *Serialisation.* Atomics, fences, cache-block operations, system calls and accesses to a CSR have the
//!   window to themselves.

mod config;
mod place;
mod predictor;
mod scoreboard;
mod stalls;
mod timing;

use narthex_kernel::{Archive, Archived, Damage};

use crate::config::Config as CoreConfig;
use crate::execute::Stores;
use crate::extensions::Kind;
use crate::operation::SINK;
use crate::timing::Timing as _;

pub use config::{Config, PredictorConfig, PredictorKind};
pub(crate) use place::{Context, Place, REGISTERS};
use predictor::Predictor;
use scoreboard::{SavedScoreboard, Scoreboard};
pub use stalls::Stall;

/// When a value comes whose arrival is not known yet.
pub(crate) const NEVER: u64 = u64::MAX;

/// A core with a reorder window, as its configuration says.
#[derive(Clone, Debug)]
pub struct ReorderWindow {
    cycle_mask: u64,
    latency_slots: [u64; 8],
    tag_change_slots: u64,
    trap_slots: u64,
    /// What a taken branch costs that was predicted rightly.
    taken_slots: u64,
    mispredict_slots: u64,
    entries: u64,
    mmio_loads_serialise: bool,
    board: Scoreboard,
    /// The state to which it returns after it has looked ahead.
    saved: Box<SavedScoreboard>,
    predictor: Predictor,
    /// When the instruction began that a handler has passed on to a slower one.
    pub(crate) began: u64,
    /// When the instruction may begin at which execution has stopped; [`NEVER`] if that is not known.
    wake: u64,
    /// Execution has stopped for a load under way.
    awaits_load: bool,
    /// The processor looks ahead.
    looks_ahead: bool,
    /// Where looking ahead goes on.
    place: Box<Place>,
    /// The stores that were executed ahead, up to that place.
    pub(crate) stores_ahead: Stores,
}

impl ReorderWindow {
    /// When all instructions before the next one are complete.
    pub(crate) fn drain(&mut self) -> u64 {
        self.board.drain()
    }

    /// The instant to which the processor has come, at this dispatch.
    #[inline(always)]
    pub(crate) fn now(&self, t: u64) -> u64 {
        self.board.floor.max(t)
    }

    /// The processor has come to `slot`.
    pub(crate) fn come_to(&mut self, slot: u64) {
        self.board.floor = self.board.floor.max(slot);
    }

    /// Execution stops at an instruction that may begin at `slot`.
    pub(crate) fn wake_at(&mut self, slot: u64) {
        self.wake = slot;
    }

    /// When the instruction may begin at which execution has stopped; [`NEVER`] if that is not known.
    pub(crate) fn take_wake(&mut self) -> u64 {
        std::mem::replace(&mut self.wake, NEVER)
    }

    /// Execution stops until a load under way is over.
    pub(crate) fn await_load(&mut self) {
        self.awaits_load = true;
    }

    /// Loads of device registers wait until all earlier instructions are complete.
    pub(crate) fn mmio_loads_serialise(&self) -> bool {
        self.mmio_loads_serialise
    }

    /// Whether the window, or its queue, has room for an instruction of this kind before a load under way
    /// is over.
    #[inline(always)]
    pub(crate) fn has_room(&mut self, kind: Kind) -> bool {
        let board = &mut self.board;
        let to_leave = match kind {
            _ if board.is_full => return false,
            Kind::Load => board.loads.to_leave(),
            Kind::Store => board.stores.to_leave(),
            _ => return true,
        };
        board.leave(to_leave)
    }

    /// The load that is executed is under way in this miss register.
    pub(crate) fn begin_load(&mut self, miss_register: u8) {
        self.board.loads_under_way[usize::from(miss_register)] = self.board.next;
        self.board.stalls.mark(self.board.next, Stall::Load);
        self.board.is_under_way = true;
    }

    /// The block of a miss register came at `slot`.
    pub(crate) fn block_came(&mut self, miss_register: u8, slot: u64) {
        self.board.blocks[usize::from(miss_register)] = slot;
    }

    /// A value that was on its way to `register` is not needed any more.
    pub(crate) fn forget(&mut self, register: u8) {
        self.board.ready[usize::from(register)] = 0;
    }

    /// The instruction of this kind that is executed is dispatched; when it is complete is not known.
    #[inline(always)]
    pub(crate) fn pass(&mut self, kind: Kind, t: u64) -> u64 {
        let t = match kind {
            Kind::Load => self.load_turn(t),
            Kind::Store => self.store_turn(t),
            _ => t,
        };
        let board = &mut self.board;
        match kind {
            Kind::Load => board.loads.take(board.next),
            Kind::Store => board.stores.take(board.next),
            _ => {}
        }
        board.is_under_way = true;
        self.dispatch_next(t, t)
    }

    /// As [`ReorderWindow::has_room`], and then [`ReorderWindow::pass`], for a load or what only computes, whose result
    /// `register` is not known: the turn of the next instruction. None without room.
    #[inline(always)]
    pub(crate) fn leave_out(&mut self, register: u8, is_load: bool, mut t: u64) -> Option<u64> {
        let board = &mut self.board;
        if board.is_full {
            return None;
        }
        if is_load {
            if !board.leave(board.loads.to_leave()) {
                return None;
            }
            t = t.max(board.frontier);
            board.loads.take(board.next);
        }
        if register != SINK {
            board.ready[usize::from(register)] = NEVER;
        }
        board.completed[Scoreboard::place(board.next)] = NEVER;
        board.next += 1;
        Some(self.admit(t + 1))
    }

    /// The next instruction waits for this, and is executed again.
    pub(crate) fn wait_for(&mut self, stall: Stall, now: u64) {
        let board = &mut self.board;
        // What it waited for before keeps its time.
        if board.stalls.waits_for_another(board.next, stall) {
            board.close_stalls(now);
        }
        board.stalls.mark(board.next, stall);
    }

    /// The block of a miss register comes from there.
    pub(crate) fn block_comes_from(&mut self, miss_register: u8, stall: Stall) {
        self.board.stalls.of_blocks[usize::from(miss_register)] = stall;
    }

    /// The slots up to `now` in which nothing retired, by cause.
    pub(crate) fn stalls(&mut self, now: u64, has_thread: bool) -> &[u64] {
        if !has_thread {
            self.board.stalls.mark_until(self.board.next, Stall::System, now);
        }
        self.board.close_stalls(now)
    }

    /// Looks ahead from here on.
    pub(crate) fn begin_ahead(&mut self) {
        self.looks_ahead = true;
        self.board.stalls.is_ahead = true;
        self.board.least_stall = NEVER >> 1;
        self.board.save_to(&mut self.saved);
    }

    /// The registers at the place to which it has looked ahead, of a processor that has retired `count` instructions
    /// and lost this many blocks to others, and whether anything before was left out for want of a value; the account
    /// of time goes on there. None if it has to begin here.
    pub(crate) fn go_on_ahead(&mut self, count: u64, taken_blocks: u64) -> Option<(Context, bool)> {
        if !self.place.is_ahead_of(&self.board, count, taken_blocks) {
            self.place.begin(taken_blocks);
            return None;
        }
        self.board.go_on_at(self.place.board());
        Some((self.place.context.clone(), self.place.depends()))
    }

    /// The instant at which the next instruction is dispatched, or to which the processor has come.
    pub(crate) fn reached(&self) -> u64 {
        self.now(self.board.dispatch)
    }

    /// Looking ahead will go on here, behind what was left out as `depends` says. The registers are to be filled in.
    pub(crate) fn keep_place(&mut self, depends: bool) -> &mut Context {
        self.place.keep(&mut self.board, depends)
    }

    /// Whether the place may lack a value that has come.
    pub(crate) fn has_aged(&self) -> bool {
        self.place.has_aged()
    }

    /// Looking ahead begins anew, at the instruction that the processor waits with.
    pub(crate) fn begin_anew(&mut self) {
        self.place.give_up();
        self.board.restore(&self.saved);
    }

    /// The next instruction is not the one behind the last.
    pub(crate) fn forget_ahead(&mut self) {
        self.place.give_up();
    }

    /// A value has come.
    pub(crate) fn value_came(&mut self) {
        self.place.value_came();
    }

    /// Returns to the saved state. The blocks that were asked for remain on their way.
    pub(crate) fn end_ahead(&mut self) {
        self.board.restore(&self.saved);
        self.board.stalls.is_ahead = false;
        self.board.least_stall = self.board.width;
        self.looks_ahead = false;
    }

    /// A branch whose operands are not known: whether it is predicted to be taken.
    #[inline(never)]
    pub(crate) fn guess(&mut self, pc: u64) -> bool {
        let taken = self.predictor.takes(pc, self.board.history);
        self.board.history = self.board.history << 1 | u64::from(taken);
        taken
    }

    #[inline(always)]
    fn cycle_start(&self, slot: u64) -> u64 {
        slot & self.cycle_mask
    }

    /// The instruction dispatched at `t` began at `at`: when the next one is dispatched.
    #[inline(always)]
    fn dispatch_next(&mut self, t: u64, at: u64) -> u64 {
        let width = !self.cycle_mask + 1;
        let completed = match std::mem::take(&mut self.board.is_under_way) {
            true => NEVER,
            false => self.board.result.max(self.cycle_start(at) + width),
        };
        let board = &mut self.board;
        board.completed[Scoreboard::place(board.next)] = completed;
        board.next += 1;
        self.admit(t + 1)
    }

    /// When the next instruction is dispatched that could be at `t`.
    #[inline(always)]
    fn admit(&mut self, t: u64) -> u64 {
        let board = &mut self.board;
        board.is_full = !board.leave((board.next + 1).saturating_sub(self.entries));
        t.max(board.frontier)
    }

    /// The branch at `pc`, dispatched at `t`, began at `at`: when what follows it is dispatched.
    #[inline(always)]
    fn resolve(&mut self, t: u64, at: u64, pc: u64, taken: bool) -> u64 {
        let history = self.board.history;
        let is_right = self.predictor.takes(pc, history) == taken;
        self.board.history = history << 1 | u64::from(taken);
        if !self.looks_ahead {
            self.predictor.learn(pc, history, taken);
        }
        self.follow(t, at, taken, is_right)
    }

    /// The same once it is known whether it was predicted.
    #[inline(always)]
    fn follow(&mut self, t: u64, at: u64, taken: bool, is_right: bool) -> u64 {
        let next = self.dispatch_next(t, at);
        let width = !self.cycle_mask + 1;
        match (is_right, taken && self.taken_slots > 0) {
            (true, false) => next,
            (true, true) => next.max(self.cycle_start(t) + width + self.taken_slots),
            (false, _) => {
                let next = next.max(self.cycle_start(at) + width + self.mispredict_slots);
                self.board.stalls.mark_until(self.board.next, Stall::Mispredict, next);
                next
            }
        }
    }
}

/// What is under way; the rest is the processor's configuration.
impl Archived for ReorderWindow {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        archive.value(&mut self.awaits_load)?;
        self.predictor.archive(archive)?;
        self.board.archive(archive)?;
        self.place.archive(archive)?;
        archive.value(&mut self.stores_ahead)
    }
}
