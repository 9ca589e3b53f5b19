//! Watching one turn of a loop: the processor executes as ever, but one
//! instruction at a time, and what happens at the node is noted.

use narthex_cores::Stop;
use narthex_cores::wait_loop::{Observation, Turn, Verdict};
use narthex_kernel::{Ledger, Time};
use narthex_memory::processor_memory::WaitReason;

use super::loop_detector::Candidate;
use super::rest::Rest;
use super::{Sleep, Stage};
use crate::activity::{Activities, Activity, Occupation};
use crate::node::Node;
use crate::node::processor::State;

/// A turn has this many times the instructions that it seemed to have, at most:
/// it may have to be looked at three times.
const MOST_TURNS: u64 = 4;

/// Where a turn would have more passes of the loop, because of clocks that seldom have
/// an edge at a whole picosecond, nothing is watched: most loops end before.
const MOST_PASSES: u64 = 256;

/// A turn that is watched.
#[derive(Debug)]
pub(super) struct Watch {
    index: usize,
    /// It loads from device registers.
    pub takes_bus: bool,
    /// How many instructions it seems to have.
    instructions: u64,
    /// Instructions that were watched.
    steps: u64,
    /// None before it has begun.
    begun: Option<Begun>,
}

/// The beginning of the turn.
#[derive(Debug)]
struct Begun {
    observation: Observation,
    at: Start,
}

/// The node where the turn begins.
#[derive(Debug)]
struct Start {
    activities: Activities,
    ledger: Ledger<(Activity, Occupation)>,
    /// None if no device takes part.
    rest: Option<(Rest, Vec<u64>)>,
}

impl Node {
    /// A processor has stopped: if it seems to wait, its next turn is watched.
    pub(in crate::node) fn detect_loop(&mut self, index: usize, stop: Stop) {
        if self.waiting.disabled || matches!(stop, Stop::SystemCall | Stop::Fault(_)) {
            return;
        }
        // The detector knows one processor: another one's stops are not turns of its loops.
        if self.processors.len() > 1 && self.only_processor() != Some(index) {
            return;
        }
        let unit = &self.processors[index];
        // A turn that misses its caches, or posts a store, is no turn of waiting.
        if matches!(stop, Stop::Wait) && unit.memory.wait_reason() != Some(WaitReason::Uncached) {
            return;
        }
        let loads = unit.memory.statistics.uncached_loads.get();
        if let Some(seen) = self.waiting.detector.look(stop, &unit.processor, loads) {
            self.watch(index, seen);
        }
    }

    #[cold]
    fn watch(&mut self, index: usize, Candidate { instructions, takes_bus }: Candidate) {
        if !self.probe.is_attached() && self.grain(index, takes_bus).passes <= MOST_PASSES {
            let watch = Watch { index, takes_bus, instructions, steps: 0, begun: None };
            self.waiting.stage = Stage::Watching(Box::new(watch));
        }
    }

    /// Lets the processor that is watched execute until `until` or until it needs
    /// something, as `run_processor` does. Out of line: few instructions are watched,
    /// and what it keeps of them is large.
    #[inline(never)]
    pub(in crate::node) fn run_watched(&mut self, index: usize, until: Time) -> Stop {
        loop {
            let (stop, verdict) = self.watched_step(index, until);
            let waits = stop == Some(Stop::Wait);
            if let Some(stop) = stop {
                self.handle_stop(index, stop);
            }
            if waits && self.processors[index].memory.wait_reason() != Some(WaitReason::Uncached) {
                self.stop_watching();
            }
            match verdict {
                Verdict::Open => {}
                Verdict::Anew => self.begin(index),
                Verdict::Turned(turn) => self.fall_asleep(index, *turn),
                Verdict::Futile => self.stop_watching(),
            }
            if stop.is_some() || !self.waiting.is_watching() {
                return stop.unwrap_or(Stop::Horizon);
            }
        }
    }

    /// One instruction; the first may have waited, and only then the turn begins.
    fn watched_step(&mut self, index: usize, until: Time) -> (Option<Stop>, Verdict) {
        self.processors[index].state = State::Running;
        let begins = !self.processors[index].processor.is_resumed();
        if begins && matches!(&self.waiting.stage, Stage::Watching(watch) if watch.begun.is_none()) {
            self.begin(index);
        }
        let Stage::Watching(watch) = &mut self.waiting.stage else { return (None, Verdict::Open) };
        watch.steps += 1;
        let unit = &mut self.processors[index];
        let main = &self.memories[usize::from(unit.seats.memory.0)].bytes;
        let mut port = unit.memory.port(&self.processes[index].pages, main);
        match &mut watch.begun {
            Some(begun) => begun.observation.step(&mut unit.processor, &mut port, until),
            None => (unit.processor.step_before(&mut port, until), Verdict::Open),
        }
    }

    /// The turn begins here, or begins anew.
    fn begin(&mut self, index: usize) {
        let Stage::Watching(watch) = &self.waiting.stage else { return };
        if watch.takes_bus && !self.is_at_rest(self.processors[index].processor.now()) {
            return self.stop_watching();
        }
        let Stage::Watching(mut watch) = std::mem::take(&mut self.waiting.stage) else { return };
        let at = self.start(index, watch.takes_bus);
        match &mut watch.begun {
            Some(begun) => begun.at = at,
            None => {
                let grain = self.grain(index, watch.takes_bus);
                let most = MOST_TURNS * grain.passes * watch.instructions;
                let observation = Observation::new(&self.processors[index].processor, most, grain);
                watch.begun = Some(Begun { observation, at });
            }
        }
        self.waiting.stage = Stage::Watching(watch);
    }

    fn start(&mut self, index: usize, takes_bus: bool) -> Start {
        let rest = takes_bus.then(|| (self.rest(self.processors[index].processor.now()), self.all_sums()));
        let unit = &self.processors[index];
        Start { activities: unit.activities.clone(), ledger: unit.ledger.clone(), rest }
    }

    /// The processor is back where the turn began. If the rest of the node is as
    /// it was there, it sleeps from now on.
    fn fall_asleep(&mut self, index: usize, turn: Turn) {
        let Stage::Watching(watch) = std::mem::take(&mut self.waiting.stage) else { return };
        let Some(Begun { at, .. }) = watch.begun else { return };
        let end = self.start(index, watch.takes_bus);
        let now = self.processors[index].processor.now();
        let ledger = end.ledger.turn_since(&at.ledger, turn.duration());
        let is_same = end.activities == at.activities && (!watch.takes_bus || self.is_at_rest(now));
        let sums = match (at.rest, end.rest) {
            (Some((before, sums)), Some((after, grown))) if before == after => {
                Some(grown.iter().zip(sums).map(|(grown, sum)| grown - sum).collect())
            }
            (None, None) => Some(Vec::new()),
            _ => None,
        };
        self.waiting.stage = match (ledger, sums) {
            (Some(ledger), Some(sums)) if is_same => {
                Stage::Asleep(Box::new(Sleep { index, turn, ledger, sums }))
            }
            _ => {
                self.waiting.detector.in_vain(watch.steps, self.processors[index].processor.retired());
                Stage::Executing
            }
        };
    }

    /// What happens is no turn.
    pub(in crate::node) fn stop_watching(&mut self) {
        if let Stage::Watching(watch) = std::mem::take(&mut self.waiting.stage) {
            let retired = self.processors[watch.index].processor.retired();
            self.waiting.detector.in_vain(watch.steps, retired);
        }
    }
}
