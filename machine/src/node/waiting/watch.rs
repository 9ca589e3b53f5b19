//! Watching one turn of a loop: the processor executes as ever, but one
//! instruction at a time, and what happens at the node is noted.

use std::ops::Range;

use narthex_cores::wait_loop::{Observation, Turn, Verdict};
use narthex_cores::{AnyProcessor, Stop};
use narthex_kernel::{Ledger, Time};
use narthex_memory::ProcessorMemory;
use narthex_memory::processor_memory::WaitReason;

use super::loop_detector::Candidate;
use super::rest::Rest;
use super::{Sleep, WaitLoop, WaitPhase};
use crate::activity::{Activities, Activity, Spent};
use crate::node::processor::State;
use crate::node::{Node, NodeProcessor};

/// A turn has this many times the instructions that it seemed to have, at most:
/// it may have to be looked at three times.
const MOST_TURNS: u64 = 4;

/// Where a turn would have more passes of the loop, because of clocks that seldom have
/// an edge at a whole picosecond, nothing is watched: most loops end before.
const MOST_PASSES: u64 = 256;

/// A turn that is watched.
#[derive(Debug)]
pub(super) struct Watch {
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
    ledger: Ledger<(Activity, Spent)>,
    /// Accesses that its second level of caches has served.
    second_level_hits: u64,
    /// None if no device takes part.
    rest: Option<(Rest, Vec<u64>)>,
}

impl Watch {
    /// Whether the turn has used anything in the range.
    pub fn uses(&self, block: Range<u64>) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.observation.has_used(&block))
    }
}

impl WaitLoop {
    /// The loop in which a processor may wait that has stopped so.
    #[inline(always)]
    pub(in crate::node) fn seems_to_wait(
        &mut self,
        stop: Stop,
        processor: &AnyProcessor,
        memory: &ProcessorMemory,
    ) -> Option<Candidate> {
        let is_call = matches!(stop, Stop::SystemCall | Stop::WaitForInterrupt | Stop::Fault);
        // What is under way is over in a later turn. The turns of a core with a window overlap.
        if is_call || processor.in_order().is_none() || memory.has_accesses_under_way() {
            return None;
        }
        // A turn that misses its caches, or posts a store, is no turn of waiting.
        if matches!(stop, Stop::Wait) && memory.wait_reason() != Some(WaitReason::Uncached) {
            return None;
        }
        self.detector.look(stop, processor, memory.statistics.uncached_loads.get())
    }
}

impl Node {
    /// A processor has stopped: if it seems to wait, its next turn is watched.
    #[inline(always)]
    pub(in crate::node) fn detect_loop(&mut self, index: usize, stop: Stop) {
        if self.executes_wait_loops {
            return;
        }
        let NodeProcessor { waiting, processor, memory, .. } = &mut self.processors[index];
        if let Some(seen) = waiting.seems_to_wait(stop, processor, memory) {
            self.watch(index, seen);
        }
    }

    /// The next turn of a processor that seems to wait is watched.
    #[cold]
    pub(in crate::node) fn watch(&mut self, index: usize, Candidate { instructions, takes_bus }: Candidate) {
        if self.probe.is_attached() || self.grain(index, takes_bus).passes > MOST_PASSES {
            return;
        }
        let is_futile = takes_bus && !self.others_are_quiet(index);
        let unit = &mut self.processors[index];
        if is_futile {
            return unit.waiting.detector.in_vain(0, unit.processor.retired());
        }
        let watch = Watch { takes_bus, instructions, steps: 0, begun: None };
        unit.waiting.stage = WaitPhase::Watching(Box::new(watch));
        self.may_watch_bus |= takes_bus;
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
                // Each step of what it waits for is looked at.
                self.without_shortcuts(|node| node.handle_stop(index, stop));
            }
            if waits && !self.waits_as_watched(index) {
                self.stop_watching(index);
            }
            match verdict {
                Verdict::Open => {}
                Verdict::Anew => self.begin(index),
                Verdict::Turned(turn) => self.fall_asleep(index, *turn),
                Verdict::Futile => self.stop_watching(index),
            }
            if stop.is_some() || !self.processors[index].waiting.is_watching() {
                return stop.unwrap_or(Stop::Horizon);
            }
        }
    }

    /// Whether a processor that waits does so for a device's register, in a turn that
    /// takes the bus.
    fn waits_as_watched(&self, index: usize) -> bool {
        let unit = &self.processors[index];
        unit.waiting.is_watching_bus() && unit.memory.wait_reason() == Some(WaitReason::Uncached)
    }

    /// One instruction; the first may have waited, and only then the turn begins.
    fn watched_step(&mut self, index: usize, until: Time) -> (Option<Stop>, Verdict) {
        let unit = &mut self.processors[index];
        unit.state = State::Running;
        let begins = !unit.processor.is_resumed();
        if begins && matches!(&unit.waiting.stage, WaitPhase::Watching(watch) if watch.begun.is_none()) {
            self.begin(index);
        }
        let NodeProcessor { processor, memory, waiting, ports, process, .. } = &mut self.processors[index];
        let WaitPhase::Watching(watch) = &mut waiting.stage else { return (None, Verdict::Open) };
        watch.steps += 1;
        let main = &mut self.memories[usize::from(ports.memory.0)].bytes;
        let mut port = memory.port(&self.processes[*process].pages, main);
        match (&mut watch.begun, processor.in_order_mut()) {
            (Some(begun), Some(processor)) => begun.observation.step(processor, &mut port, until),
            _ => (processor.step_before(&mut port, until), Verdict::Open),
        }
    }

    /// The turn begins here, or begins anew.
    fn begin(&mut self, index: usize) {
        let unit = &mut self.processors[index];
        if unit.waiting.is_watching_bus() && !self.is_quiet(index) {
            return self.stop_watching(index);
        }
        let stage = std::mem::take(&mut self.processors[index].waiting.stage);
        let WaitPhase::Watching(mut watch) = stage else { return };
        let at = self.start(index, watch.takes_bus);
        match &mut watch.begun {
            Some(begun) => begun.at = at,
            None => {
                let grain = self.grain(index, watch.takes_bus);
                let most = MOST_TURNS * grain.passes * watch.instructions;
                let Some(processor) = self.processors[index].processor.in_order() else { return };
                let observation = Observation::new(processor, most, grain);
                watch.begun = Some(Begun { observation, at });
            }
        }
        self.processors[index].waiting.stage = WaitPhase::Watching(watch);
    }

    /// Whether nothing is under way at the node but a processor.
    fn is_quiet(&self, index: usize) -> bool {
        self.is_at_rest(self.processors[index].processor.now()) && self.others_are_quiet(index)
    }

    fn start(&mut self, index: usize, takes_bus: bool) -> Start {
        let rest = takes_bus.then(|| (self.rest(self.processors[index].processor.now()), self.all_sums()));
        let unit = &self.processors[index];
        let second_level_hits = unit.memory.second_level_statistics().map_or(0, |of| of.hits.get());
        let (now, retired) = (unit.processor.now(), unit.processor.retired());
        let activities = unit.activities.without_counts(&unit.ledger, now, retired);
        Start { activities, ledger: unit.ledger.clone(), second_level_hits, rest }
    }

    /// The processor is back where the turn began. If the rest of the node is as
    /// it was there, it sleeps from now on.
    fn fall_asleep(&mut self, index: usize, turn: Turn) {
        let stage = std::mem::take(&mut self.processors[index].waiting.stage);
        let WaitPhase::Watching(watch) = stage else { return };
        let (takes_bus, steps) = (watch.takes_bus, watch.steps);
        let Some(Begun { at, observation }) = watch.begun else { return };
        let end = self.start(index, takes_bus);
        let ledger = end.ledger.turn_since(&at.ledger, turn.duration());
        // What a turn of its caches alone has counted is repeated by nothing: it has to hit the first level.
        let is_counted = takes_bus || end.second_level_hits == at.second_level_hits;
        let is_same = is_counted && end.activities == at.activities && (!takes_bus || self.is_quiet(index));
        let sums = match (at.rest, end.rest) {
            (Some((before, sums)), Some((after, grown))) if before == after => {
                Some(grown.iter().zip(sums).map(|(grown, sum)| grown - sum).collect())
            }
            (None, None) => Some(Vec::new()),
            _ => None,
        };
        let block_bytes = self.block_bytes();
        let unit = &mut self.processors[index];
        unit.waiting.stage = match (ledger, sums) {
            (Some(ledger), Some(sums)) if is_same => {
                let block_of = |address: u64| address - address % block_bytes;
                let mut blocks: Vec<u64> = observation.used().map(block_of).collect();
                blocks.sort_unstable();
                blocks.dedup();
                WaitPhase::Asleep(Box::new(Sleep { turn, ledger, blocks, takes_bus, sums }))
            }
            _ => {
                unit.waiting.detector.in_vain(steps, unit.processor.retired());
                WaitPhase::Executing
            }
        };
        if let Some(until) = unit.waiting.wakes_at(unit.processor.now()) {
            self.sleepers.fall_asleep(until, takes_bus);
        }
    }

    /// What a processor does is no turn.
    pub(in crate::node) fn stop_watching(&mut self, index: usize) {
        let NodeProcessor { waiting, processor, .. } = &mut self.processors[index];
        if let WaitPhase::Watching(watch) = &waiting.stage {
            waiting.detector.in_vain(watch.steps, processor.retired());
            waiting.stage = WaitPhase::Executing;
        }
    }

    /// What happens is no part of a turn that takes the bus.
    #[inline]
    pub(in crate::node) fn stop_watching_buses(&mut self) {
        if std::mem::take(&mut self.may_watch_bus) {
            for index in 0..self.processors.len() {
                if self.processors[index].waiting.is_watching_bus() {
                    self.stop_watching(index);
                }
            }
        }
    }
}
