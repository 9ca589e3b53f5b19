//! Waiting processors: wait loops are computed instead of executed.
//!
//! A processor that turns in a wait loop does the same in every turn, until
//! something changes that the loop looks at. So the node watches one turn closely
//! ([`watch`]), and if the processor is the same at both its ends, it goes to sleep:
//! it has nothing to do until it is *disturbed*, and keeps no other processor back.
//! Then [`Node::disturb`] computes the turns that have passed by then, and the
//! processor executes the rest of the last one as ever:
//!
//! ```text
//!   executed  │ watched │ computed: time, instructions, statistics, ledger │ executed
//!   ──────────┼────turn─┼─turn─┼─turn─┼─turn─┼─turn─┼─turn─┼─turn─┼─ ─ ─ ─ ┼──────► snoop
//! ```
//!
//! **What disturbs a sleeper.** A loop that looks only at its caches is disturbed by
//! another agent's transaction on a block that it uses, by a snarfed block, by any
//! system call of its node, which may change any memory, and by its time: after the
//! turns that are known, a comparison with a counter comes out otherwise. A loop that
//! loads from device registers takes the bus in each turn, so everything disturbs it:
//! any event, and any other processor that executes.
//!
//! **Why this is exact.** What a processor does next follows from its state, which
//! [`narthex_cores::wait_loop`] compares, and from the blocks that it uses, whose
//! changes disturb it. A turn that takes the bus also needs that no other agent uses
//! it then, that no port of a device is called otherwise, that it takes whole cycles of
//! every bus, and that at both ends the buses are idle, and devices and bridge are in
//! the same state ([`rest`]). An instant for which a device waits is an event of the
//! node, which no computed turn reaches. Then the second turn is the first one again,
//! only later, and what counters have grown by in the first they grow by in each. The
//! others do the same whether it sleeps or executes: see [`super`].
//!
//! **Which loops to watch** is a guess ([`loop_detector`]): a processor that stops twice
//! at the same place with the same registers. A wrong guess costs host time only.
//!
//! While a probe is attached, all is executed.

mod loop_detector;
mod rest;
mod watch;

use narthex_cores::wait_loop::Turn;
use narthex_kernel::ledger::LedgerTurn;
use narthex_kernel::partition::{Partition, Status};
use narthex_kernel::{Duration, Time};
use narthex_memory::interconnects::{self, InterconnectId};

use super::processor::State;
use super::{Event, Node};
pub(super) use loop_detector::Candidate;
use loop_detector::LoopDetector;
use watch::Watch;

/// Registers that count the time move on, which shows progress: a loop
/// that compares time sleeps no longer than this at once.
const LONGEST_SLEEP: Duration = Duration::from_ns(10_000);

/// A processor that executes for longer than this is looked at in between: a wait loop may stop
/// it nowhere else.
pub(super) const LOOK_OUT: Duration = Duration::from_ns(300);

/// What is known about a processor's wait loop.
#[derive(Debug, Default)]
pub(super) struct WaitLoop {
    detector: LoopDetector,
    stage: WaitPhase,
}

#[derive(Debug, Default)]
enum WaitPhase {
    /// The processor executes, and is looked at where it stops.
    #[default]
    Executing,
    /// All further turns are known.
    Asleep(Box<Sleep>),
    /// One turn is watched.
    Watching(Box<Watch>),
    /// Each instruction is told to a probe.
    Followed,
}

/// A wait loop with known turns, at the beginning of one.
#[derive(Debug)]
struct Sleep {
    turn: Turn,
    ledger: LedgerTurn,
    /// The blocks that it uses.
    blocks: Vec<u64>,
    /// It loads from device registers.
    takes_bus: bool,
    /// What each sum of the node's statistics grows by in a turn; empty if no
    /// device takes part, because then none does.
    sums: Vec<u64>,
}

/// How many processors sleep, so that the others need not be looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleepers {
    count: usize,
    /// Those whose turns take the bus.
    on_bus: usize,
    /// None of them does anything by itself sooner.
    first: Time,
}

impl Sleepers {
    /// None sleeps.
    pub const NONE: Sleepers = Sleepers { count: 0, on_bus: 0, first: Time::NEVER };

    /// Another one sleeps until this instant.
    fn fall_asleep(&mut self, until: Time, takes_bus: bool) {
        self.count += 1;
        self.on_bus += usize::from(takes_bus);
        self.first = self.first.min(until);
    }

    fn wake(&mut self, takes_bus: bool) {
        self.count -= 1;
        self.on_bus -= usize::from(takes_bus);
        if self.count == 0 {
            *self = Sleepers::NONE;
        }
    }

    /// Whether any processor sleeps.
    pub fn are_any(&self) -> bool {
        self.count > 0
    }

    /// Whether one of them may have to wake when something happens at `next`.
    #[inline]
    pub fn may_be_due(&self, next: Time) -> bool {
        self.count > 0 && (self.on_bus > 0 || self.first <= next)
    }
}

impl WaitLoop {
    /// Whether the next instructions are executed one by one: watched, or followed.
    #[inline]
    pub fn is_stepping(&self) -> bool {
        matches!(self.stage, WaitPhase::Watching(_) | WaitPhase::Followed)
    }

    /// From now on a probe follows the program, or none does. At a turn, none can.
    pub fn follow(&mut self, follows: bool) {
        if !self.is_at_it() {
            self.stage = if follows { WaitPhase::Followed } else { WaitPhase::Executing };
        }
    }

    /// Whether the next instructions are watched.
    pub fn is_watching(&self) -> bool {
        matches!(self.stage, WaitPhase::Watching(_))
    }

    /// Whether the turn that is watched takes the bus.
    pub fn is_watching_bus(&self) -> bool {
        matches!(&self.stage, WaitPhase::Watching(watch) if watch.takes_bus)
    }

    /// Whether turns are known that have not been computed yet.
    pub fn is_asleep(&self) -> bool {
        matches!(self.stage, WaitPhase::Asleep(_))
    }

    /// Whether the turns that are known take the bus.
    fn is_asleep_on_bus(&self) -> bool {
        matches!(&self.stage, WaitPhase::Asleep(sleep) if sleep.takes_bus)
    }

    /// Whether a turn is watched, or known.
    #[inline]
    pub fn is_at_it(&self) -> bool {
        matches!(self.stage, WaitPhase::Watching(_) | WaitPhase::Asleep(_))
    }

    /// When a sleeping processor, whose time is `now`, does something by itself; none
    /// if it is not asleep.
    #[inline]
    pub fn wakes_at(&self, now: Time) -> Option<Time> {
        let WaitPhase::Asleep(sleep) = &self.stage else { return None };
        let turn = &sleep.turn;
        let all = Duration::from_ps(turn.duration().as_ps().saturating_mul(turn.limit()));
        let longest = if turn.grows() { LONGEST_SLEEP.max(turn.duration()) } else { Duration::MAX };
        Some(now.saturating_add(all.min(longest)))
    }
}

impl Node {
    /// Everything is executed from now on, wait loops too.
    pub fn execute_wait_loops(&mut self) {
        self.executes_wait_loops = true;
    }

    /// Each step of an interconnect is an event from now on, also where nothing else
    /// happens before it, and the node relies on no promise of its devices.
    pub fn schedule_steps(&mut self) {
        self.schedules_steps = true;
        self.send_lookahead.foresee_nothing();
    }

    /// Instructions that were computed instead of executed.
    pub fn skipped_instructions(&self) -> u64 {
        self.skipped_instructions
    }

    /// An event happens. While a turn is watched that loads from a device, only a bus's
    /// may be part of it.
    #[inline]
    pub(super) fn check_watched_event(&mut self, event: &Event) {
        if !matches!(event, Event::Interconnect(..)) {
            self.stop_watching_buses();
        }
    }

    /// Wakes the sleepers that do something before `until`: `next` is when the node
    /// does something next, or `until`.
    #[inline]
    pub(super) fn wake_sleepers(&mut self, next: Time, until: Time) {
        if self.sleepers.may_be_due(next) {
            self.wake_those_due(next, until);
        }
    }

    /// The same where a processor sleeps.
    #[inline(never)]
    fn wake_those_due(&mut self, next: Time, until: Time) {
        let Some(first) = self.first_sleeper() else { return };
        self.sleepers.first = first;
        let due = first.min(next);
        let others_run = self.processors.iter().any(|unit| {
            let is_runnable = matches!(unit.state, State::Running | State::Woken | State::Calling);
            is_runnable && !unit.waiting.is_asleep()
        });
        for index in 0..self.processors.len() {
            let unit = &self.processors[index];
            let is_due =
                unit.waiting.wakes_at(unit.processor.now()).is_some_and(|at| at <= due && at < until);
            let bus_is_due = unit.waiting.is_asleep_on_bus() && (due < until || others_run);
            if is_due || bus_is_due {
                self.catch_up(index, due);
            }
        }
    }

    /// When the first sleeper does something by itself; none if none sleeps.
    fn first_sleeper(&self) -> Option<Time> {
        let wakes_at = |unit: &super::NodeProcessor| unit.waiting.wakes_at(unit.processor.now());
        self.processors.iter().filter_map(wakes_at).min()
    }

    /// Another agent's transaction is on the block at an address of the node. If the
    /// processor's loop uses it, it is disturbed.
    #[cold]
    pub(super) fn see_snoop(&mut self, now: Time, index: usize, address: u64) {
        let unit = &self.processors[index];
        let Some(block) = unit.memory.translation().to_process(address) else { return };
        let uses = match &unit.waiting.stage {
            WaitPhase::Executing | WaitPhase::Followed => false,
            WaitPhase::Watching(watch) => watch.uses(block..block + self.block_bytes()),
            WaitPhase::Asleep(sleep) => sleep.takes_bus || sleep.blocks.contains(&block),
        };
        if uses {
            self.disturb(now, index);
        }
    }

    /// Something happens at `now` that a processor's wait loop may look at: the turns
    /// before it are computed and executed, the next ones executed.
    pub(super) fn disturb(&mut self, now: Time, index: usize) {
        self.stop_watching(index);
        if self.processors[index].waiting.is_asleep() {
            self.catch_up(index, now);
            self.execute_until(index, self.bound(now));
        }
    }

    /// Lets a processor execute the rest of a turn, in which nothing stops it for long.
    fn execute_until(&mut self, index: usize, until: Time) {
        let executes = std::mem::replace(&mut self.executes_wait_loops, true);
        // It may be at the beginning of another agent's transaction.
        self.without_shortcuts(|node| {
            while node.processors[index].is_active(until) {
                node.run_processor(index, until);
            }
        });
        self.executes_wait_loops = executes;
    }

    /// All processors have done what they do up to `now`, of which they have done all
    /// but turns.
    pub(super) fn catch_up_all(&mut self, now: Time) {
        (0..self.processors.len()).for_each(|index| self.disturb(now, index));
    }

    /// Brings a processor that sleeps up to `now`, less than a turn before it, and
    /// wakes it.
    fn catch_up(&mut self, index: usize, now: Time) {
        let unit = &mut self.processors[index];
        if !unit.waiting.is_asleep() {
            return;
        }
        let WaitPhase::Asleep(sleep) = std::mem::take(&mut unit.waiting.stage) else { return };
        let Sleep { turn, ledger, sums, takes_bus, .. } = *sleep;
        self.sleepers.wake(takes_bus);
        let waited = now.saturating_since(unit.processor.now());
        let turns = (waited.as_ps() / turn.duration().as_ps()).min(turn.limit());
        let behind = unit.activities.behind(&unit.ledger, unit.processor.retired());
        if let Some(processor) = unit.processor.in_order_mut() {
            processor.repeat(&turn, turns);
        }
        unit.ledger.repeat(&ledger, turns);
        let instructions = turns * turn.instructions();
        let retired = unit.processor.retired();
        if let Some(behind) = behind {
            unit.activities.go_on(behind, &unit.ledger, retired);
        }
        unit.waiting.detector.saved(turns, turn.instructions(), retired);
        self.skipped_instructions += instructions;
        // It may use the bus from now on.
        self.stop_watching_buses();
        if !sums.is_empty() {
            let mut growth = sums.iter();
            self.sums(&mut |sum| *sum += turns * growth.next().expect("one for each sum"));
        }
    }

    /// Brings the node to `now`, the end of a window, as if everything had been
    /// executed, and forgets which loops it has watched: so it is archived.
    pub fn rest_at(&mut self, now: Time) {
        let executes = std::mem::replace(&mut self.executes_wait_loops, true);
        for index in 0..self.processors.len() {
            self.stop_watching(index);
            self.catch_up(index, now);
        }
        self.expect_inspection(now);
        self.work(now, None);
        self.settle_interconnects(now);
        self.executes_wait_loops = executes;
        self.processors.iter_mut().for_each(|unit| unit.waiting.detector.forget());
    }

    /// Everything before `now` has happened, and the node is looked at: each transaction that is
    /// under way is over by a step.
    pub(super) fn settle_interconnects(&mut self, now: Time) {
        for on in 0..self.interconnects.len() {
            interconnects::settle(self, now, InterconnectId(on as u8));
        }
    }

    /// Executes what is left of the turns up to `reached`, where the run has ended and everything
    /// before has happened, but at a node that has stopped it.
    pub fn end_waiting(&mut self, reached: Time) {
        if !self.sleepers.are_any() || matches!(self.status(), Status::Stopped { .. }) {
            return;
        }
        let executes = std::mem::replace(&mut self.executes_wait_loops, true);
        (0..self.processors.len()).for_each(|index| self.catch_up(index, reached));
        self.work(reached, None);
        self.executes_wait_loops = executes;
    }

    /// Whether no other processor does anything that a loop that takes the bus would
    /// notice.
    fn others_are_quiet(&self, index: usize) -> bool {
        let is_quiet = |unit: &super::NodeProcessor| match unit.state {
            State::Sleeping | State::Vacant | State::Idle | State::Exited => true,
            State::Running => unit.waiting.is_asleep() && !unit.waiting.is_asleep_on_bus(),
            State::Woken | State::Waiting | State::Calling => false,
        };
        self.processors.iter().enumerate().all(|(other, unit)| other == index || is_quiet(unit))
    }
}
