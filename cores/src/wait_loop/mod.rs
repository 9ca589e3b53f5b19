//! Wait loops: one turn is observed, the others are computed.
//!
//! A program that waits executes the same instructions again and again until
//! another agent changes something. An [`Observation`] watches a processor, one
//! instruction at a time, from a program counter until it comes back there:
//!
//! ```text
//!   start ── instructions ──► start ── the same ──► start ── the same ──► ...
//!     registers R               R + G                 R + 2G
//!     time      t               t + D                 t + 2D
//! ```
//!
//! The turn is a [`Turn`] if the second start is the first one again, but for
//! the time, and for registers that *grow*: by the same amount in each turn. Most
//! grow by zero. Those that are made from the cycle counter grow by the cycles
//! of the turn, a counter of turns by one. Then every further turn does the
//! same, because an instruction does what registers, memory and the processor's
//! relative time tell it, and all of those are the same again:
//!
//! - **memory**: every load and store hits the most recently used line of its
//!   set, so that no cache changes, and every word that was stored to has its old
//!   value at the end. A load that waits for a device is the owner's affair.
//! - **time**: what lies in the future of the pipeline (results, units) does so
//!   by the same distance. Times that have come are all equal. Where the clock's
//!   period is no whole number of picoseconds, a turn is as many passes of the loop as
//!   take one, so that all turns last equally long.
//! - **growing registers** ([`growth`]) take part in additions, subtractions and
//!   comparisons only. A comparison says for how many turns it goes on to come
//!   out the same, which limits the number of turns that may be computed.
//!
//! Everything else (atomics, system calls, stores of growing values) ends the
//! observation without a turn.

mod effect;
mod grain;
mod growth;
mod position;

use std::ops::Range;

use narthex_kernel::{Duration, Time};
use narthex_memory::Port;

use crate::processor::Processor;
use crate::stop::Stop;
use crate::timing::{InOrder, Timing};
use effect::Effect;
pub use grain::Grain;
use growth::Growth;
use position::Position;

/// Bytes of the smallest block that a cache has.
const GRANULE_BYTES: u64 = 16;

/// A turn of a wait loop, as every further one will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    period: Period,
    growth: Growth,
    /// How many more turns are like it.
    limit: u64,
    duration: Duration,
}

impl Turn {
    /// How long it takes.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Instructions that it retires.
    pub fn instructions(&self) -> u64 {
        self.period.instructions
    }

    /// How many more turns are like it; `u64::MAX` where nothing changes by itself.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether any register changes from turn to turn.
    pub fn grows(&self) -> bool {
        self.growth != Growth::NONE
    }
}

/// What becomes longer with each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period {
    slots: u64,
    instructions: u64,
}

/// What an observation has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The processor is on its way.
    Open,
    /// It has come by, and was not the same: the observation begins again here.
    Anew,
    /// It is back where the observation began, and this is what it did.
    Turned(Box<Turn>),
    /// No turn can be known; the processor goes on as ever.
    Futile,
}

/// Watches a processor until it is back where it was.
#[derive(Clone, Debug)]
pub struct Observation {
    start: Position,
    /// How registers are assumed to grow from turn to turn.
    assumed: Growth,
    /// How long a turn is assumed to take; none before the first arrival.
    period: Option<Period>,
    /// How much the counters then grow in a turn, where that is the same in each.
    counters: Option<[Option<u64>; 3]>,
    /// How the present values of registers grow from turn to turn.
    growth: Growth,
    /// Words that were stored to, with what they held at the start.
    stored: Vec<(u64, u64)>,
    /// Where it has loaded, stored and fetched since the start, rounded down to
    /// [`GRANULE_BYTES`].
    used: Vec<u64>,
    /// How many turns all comparisons come out the same.
    limit: u64,
    /// A counter was read, so that the period matters.
    counted: bool,
    /// The load at the program counter waits for its value.
    waits: bool,
    /// Arrivals at the start's program counter since the start, and after how
    /// many a new start is made (Brent's search for a cycle).
    arrivals: u64,
    patience: u64,
    steps_left: u64,
    grain: Grain,
}

impl Observation {
    /// Observes from where the processor is, for `most` instructions at most. A
    /// turn is made of whole grains.
    pub fn new(processor: &Processor<InOrder>, most: u64, grain: Grain) -> Self {
        Observation {
            start: Position::of(processor),
            assumed: Growth::NONE,
            period: None,
            counters: None,
            growth: Growth::NONE,
            stored: Vec::new(),
            used: Vec::new(),
            limit: u64::MAX,
            counted: false,
            waits: false,
            arrivals: 0,
            patience: grain.passes,
            steps_left: most,
            grain,
        }
    }

    /// Executes one instruction, if it is one before `until`, as
    /// [`Processor::run`] would. The stop is to be dealt with before the verdict.
    pub fn step<P: Port>(
        &mut self,
        processor: &mut Processor<InOrder>,
        port: &mut P,
        until: Time,
    ) -> (Option<Stop>, Verdict) {
        let Some(effect) = self.foresee(processor, port) else { return (None, self.doubt(processor)) };
        let retired = processor.retired();
        let stop = processor.step_before(port, until);
        let executed = processor.retired() != retired;
        if executed {
            let misses = effect.misses && !std::mem::take(&mut self.waits);
            self.steps_left = self.steps_left.saturating_sub(1);
            if misses || self.steps_left == 0 {
                return (stop, Verdict::Futile);
            }
            effect.apply(&mut self.growth);
        }
        let verdict = match stop {
            Some(Stop::Wait) => {
                self.waits = true;
                Verdict::Open
            }
            Some(Stop::SystemCall | Stop::Fault) => Verdict::Futile,
            _ if !executed && !matches!(stop, Some(Stop::Marker(_))) => Verdict::Open,
            _ if processor.pc() == self.start.pc => self.arrive(processor, port),
            _ => Verdict::Open,
        };
        (stop, verdict)
    }

    /// The addresses that it has used since the start; a block has one of them if any
    /// of it was used.
    pub fn used(&self) -> impl Iterator<Item = u64> {
        self.used.iter().copied()
    }

    /// Whether it has used anything of a block since the start.
    pub fn has_used(&self, block: &Range<u64>) -> bool {
        self.used.iter().any(|address| block.contains(address))
    }

    fn use_at(&mut self, address: u64) {
        let granule = address & !(GRANULE_BYTES - 1);
        if !self.used.contains(&granule) {
            self.used.push(granule);
        }
    }

    /// Where the start is now that the processor has come by again: the same, or
    /// here.
    ///
    /// A program counter may be passed several times in a turn. So the start
    /// stays for one grain's arrivals, then for two, four, ...; what has changed since
    /// the old start is how registers are assumed to grow from the new one.
    fn arrive<P: Port>(&mut self, processor: &Processor<InOrder>, port: &mut P) -> Verdict {
        let here = Position::of(processor);
        let period = Period { slots: here.t - self.start.t, instructions: here.retired - self.start.retired };
        let duration = processor.now() - self.start.now;
        let grown = Growth::between(&self.start.registers, &here.registers);
        let same = here.is_like(&self.start)
            && (!self.counted || self.period == Some(period))
            && [grown, self.growth] == [self.assumed; 2]
            && duration.as_ps().is_multiple_of(self.grain.duration.as_ps())
            && self.stored.iter().all(|&(word, value)| port.load_hit::<8>(word) == Some(value));
        if same {
            return Verdict::Turned(Box::new(Turn { period, growth: grown, limit: self.limit, duration }));
        }
        self.arrivals += 1;
        if self.arrivals < self.patience {
            return Verdict::Open;
        }
        self.start_anew(processor);
        (self.assumed, self.growth) = (grown, grown);
        self.period = Some(period);
        self.counters = Some(processor.counters_in(period, duration));
        Verdict::Anew
    }

    /// A growing register has come where none may, and perhaps none does: what
    /// differed may have been two places of one turn.
    fn doubt(&mut self, processor: &Processor<InOrder>) -> Verdict {
        if self.assumed == Growth::NONE {
            return Verdict::Futile;
        }
        self.start_anew(processor);
        Verdict::Anew
    }

    fn start_anew(&mut self, processor: &Processor<InOrder>) {
        let patience = 2 * self.patience;
        *self = Observation { patience, ..Observation::new(processor, self.steps_left, self.grain) };
    }

    /// What the next instruction will do; none if a turn with it cannot be known.
    fn foresee<P: Port>(&mut self, processor: &mut Processor<InOrder>, port: &mut P) -> Option<Effect> {
        let pc = processor.pc();
        let fetches = port.fetch_hit(pc) && port.fetch_hit(pc.wrapping_add(2));
        if !fetches {
            return None;
        }
        self.use_at(pc);
        self.use_at(pc.wrapping_add(2));
        let operation = processor.next_operation();
        effect::foresee(self, &operation, processor.registers(), port)
    }
}

impl Processor<InOrder> {
    /// Executes `times` more turns, of which there are no more than
    /// [`Turn::limit`]. The processor is where the turn was observed to end.
    pub fn repeat(&mut self, turn: &Turn, times: u64) {
        debug_assert!(times <= turn.limit);
        let slots = turn.period.slots * times;
        let core = &mut *self.core;
        core.timing.shift(core.t, slots);
        core.t += slots;
        core.count += turn.period.instructions * times;
        turn.growth.apply(&mut core.registers, times);
    }

    /// What the counters of cycles, nanoseconds and instructions grow by in a
    /// turn; none where that depends on when it begins.
    fn counters_in(&self, period: Period, duration: Duration) -> [Option<u64>; 3] {
        let whole = |amount: u64, unit: u64| amount.is_multiple_of(unit).then(|| amount / unit);
        let cycles = whole(period.slots, self.core.timing.width());
        [cycles, whole(duration.as_ps(), 1_000), Some(period.instructions)]
    }
}

#[cfg(test)]
mod tests;
