//! Waiting nodes: wait loops are computed instead of executed.
//!
//! A node whose only processor turns in a wait loop does the same in every turn,
//! until a frame arrives or something that the node itself has scheduled
//! happens. So the node watches one turn closely ([`watch`]), and if the node
//! is the same at both its ends, it goes to sleep: it says that it has nothing to
//! do before its next event. When that is due, [`Node::catch_up`] computes the
//! turns that have passed by then, and the processor executes the rest of the
//! last one as ever:
//!
//! ```text
//!   executed  │ watched │ computed: time, instructions, statistics, ledger │ executed
//!   ──────────┼────turn─┼─turn─┼─turn─┼─turn─┼─turn─┼─turn─┼─turn─┼─ ─ ─ ─ ┼──────► event
//! ```
//!
//! **Why this is exact.** What a node does next follows from its state. The
//! processor's part is compared by [`narthex_cores::wait_loop`]. A turn that
//! loads from device registers also takes the bus: no other agent may use it then,
//! no half of the interface may be called otherwise, the turn takes whole cycles
//! of every bus, and at both ends the buses are idle, and interface and
//! bridge are in the same state ([`rest`]). An instant for which a device waits
//! is an event of the node, which no computed turn reaches. Then the second
//! turn is the first one again, only later, and what counters have grown by in
//! the first they grow by in each.
//!
//! **Which loops to watch** is a guess ([`loop_detector`]): a processor that stops twice
//! at the same place with the same registers. A wrong guess costs host time only.
//!
//! Where several processors of a node run, or a probe is attached, all is
//! executed.

mod loop_detector;
mod rest;
mod watch;

use narthex_cores::wait_loop::Turn;
use narthex_kernel::ledger::LedgerTurn;
use narthex_kernel::{Duration, Time};

use super::processor::State;
use super::{Event, Node};
use loop_detector::LoopDetector;
use watch::Watch;

/// Registers that count the time move on, which shows progress: a loop
/// that compares time sleeps no longer than this at once.
const LONGEST_SLEEP: Duration = Duration::from_ns(10_000);

/// What a node knows about its wait loop.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Everything is executed.
    pub disabled: bool,
    detector: LoopDetector,
    stage: Stage,
    skipped_instructions: u64,
}

#[derive(Debug, Default)]
enum Stage {
    /// The processor executes, and is looked at where it stops.
    #[default]
    Executing,
    /// One turn is watched.
    Watching(Box<Watch>),
    /// All further turns are known.
    Asleep(Box<Sleep>),
}

/// A wait loop with known turns, at the beginning of one.
#[derive(Debug)]
struct Sleep {
    /// Whose it is.
    index: usize,
    turn: Turn,
    ledger: LedgerTurn,
    /// What each sum of the node's statistics grows by in a turn; empty if no
    /// device takes part, because then none does.
    sums: Vec<u64>,
}

impl Waiting {
    /// Whether the next instructions are watched.
    pub fn is_watching(&self) -> bool {
        matches!(self.stage, Stage::Watching(_))
    }

    /// Whether turns are known that have not been computed yet.
    pub fn is_asleep(&self) -> bool {
        matches!(self.stage, Stage::Asleep(_))
    }

    /// Instructions that were computed instead of executed.
    pub fn skipped_instructions(&self) -> u64 {
        self.skipped_instructions
    }
}

impl Node {
    /// Everything is executed from now on, wait loops too.
    pub fn execute_wait_loops(&mut self) {
        self.waiting.disabled = true;
    }

    /// Instructions that were computed instead of executed.
    pub fn skipped_instructions(&self) -> u64 {
        self.waiting.skipped_instructions()
    }

    /// An event happens. While a turn is watched, only a bus's may be part of it,
    /// if it loads from a device.
    pub(super) fn check_watched_event(&mut self, event: &Event) {
        if let Stage::Watching(watch) = &self.waiting.stage
            && !(watch.takes_bus && matches!(event, Event::Interconnect(..)))
        {
            self.stop_watching();
        }
    }

    /// Brings a node that sleeps up to `now`, less than a turn before it, and
    /// wakes it. Nothing else has happened there since it fell asleep.
    pub fn catch_up(&mut self, now: Time) {
        let Stage::Asleep(sleep) = std::mem::take(&mut self.waiting.stage) else { return };
        let Sleep { index, turn, ledger, sums } = *sleep;
        let unit = &mut self.processors[index];
        let waited = now.saturating_since(unit.processor.now());
        let turns = (waited.as_ps() / turn.duration().as_ps()).min(turn.limit());
        unit.processor.repeat(&turn, turns);
        unit.ledger.repeat(&ledger, turns);
        if !sums.is_empty() {
            let mut growth = sums.iter();
            self.sums(&mut |sum| *sum += turns * growth.next().expect("one for each sum"));
        }
        let instructions = turns * turn.instructions();
        self.waiting.skipped_instructions += instructions;
        let retired = self.processors[index].processor.retired();
        self.waiting.detector.saved(turns, turn.instructions(), retired);
    }

    /// Brings the node to `now`, the end of a window, as if everything had been
    /// executed, and forgets which loops it has watched: so it is archived.
    pub fn rest_at(&mut self, now: Time) {
        self.catch_up(now);
        let disabled = std::mem::replace(&mut self.waiting.disabled, true);
        self.work(now);
        self.waiting.disabled = disabled;
        self.waiting.stage = Stage::Executing;
        self.waiting.detector.forget();
    }

    /// When a sleeping node does something by itself, but for its events; none if
    /// it is not asleep.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        let Stage::Asleep(sleep) = &self.waiting.stage else { return None };
        let turn = &sleep.turn;
        let all = Duration::from_ps(turn.duration().as_ps().saturating_mul(turn.limit()));
        let longest = if turn.grows() { LONGEST_SLEEP.max(turn.duration()) } else { Duration::MAX };
        Some(self.processors[sleep.index].processor.now().saturating_add(all.min(longest)))
    }

    /// The only processor that has not ended its program, nor waits for an interrupt;
    /// none if there are more.
    fn only_processor(&self) -> Option<usize> {
        let mut running = (0..self.processors.len())
            .filter(|&index| !matches!(self.processors[index].state, State::Exited | State::Idle));
        running.next().filter(|_| running.next().is_none())
    }
}
