//! Looking out for wait loops where a processor stops: at a marker, at an access
//! that waits, at the end of a window, and now and then in a long one.
//!
//! A program at work is only by accident where it was before, with the same
//! registers; one that waits is after each turn. So the latest stops are noted,
//! and each new one is compared with them. Of several stops one is enough, because a
//! loop comes by again:
//!
//! ```text
//!   stop            noted: the place, and one register
//!   stop there ──── that register is the same: all registers are kept
//!   stop there ──── all registers are the same: it seems to wait
//! ```
//!
//! Most programs at work change that register before they come by again, so that a look at them
//! writes little memory: in a run of many nodes each finds its own outside of the host's nearest
//! cache. Ends of windows come anywhere in a loop, seldom twice at the same place, and often in a
//! program at work. So one of those is noted at a time, and all its registers are kept at once.

use narthex_cores::{AnyProcessor, Stop};

/// Registers in which two turns may differ if the program reads a counter.
const MOST_GROWING: usize = 4;
/// Stops that are noted; one place is for ends of windows.
const NOTED: usize = 8;
const WINDOW: usize = NOTED - 1;
/// Stops for each that is noted.
const STOPS: u32 = 4;
/// Ends of windows for each that is noted.
const WINDOWS: u32 = 2;
/// After a watch in vain, this many times its instructions pass before the next.
const SHORTEST_PENALTY: u64 = 1 << 4;
const LONGEST_PENALTY: u64 = 1 << 9;
/// The beginning of a watch costs as much as this many instructions in it.
const BEGINNING: u64 = 10;
/// The longest turn that is watched, in instructions.
const LONGEST_TURN: u64 = 1_000;
/// Fewer turns do not pay for having watched one.
const FEWEST_TURNS: u64 = 3;

/// What may be a turn of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) struct Candidate {
    /// Instructions between two stops at the same place.
    pub instructions: u64,
    /// It loads from device registers.
    pub takes_bus: bool,
}

/// Where a processor has stopped, and when to watch what follows.
#[derive(Debug)]
pub(super) struct LoopDetector {
    places: [StopAddress; NOTED],
    changed: [ChangedRegister; NOTED],
    /// Of which of them all registers are kept.
    is_kept: [bool; NOTED],
    /// What is kept of them, as many.
    stops: Box<[StopRecord]>,
    /// Where the next stop is noted.
    next: usize,
    passed: u32,
    windows: u32,
    /// Instructions retired before which nothing is watched.
    not_before: u64,
    penalty: u64,
}

/// A processor that has stopped.
#[derive(Clone, Copy, Debug)]
struct StopRecord {
    registers: [u64; 64],
    retired: u64,
    counter_reads: u64,
    uncached_loads: u64,
}

/// The register that a program at work has most likely changed since a stop. It
/// distinguishes such a program from one that waits without a look at all
/// registers, which are far from the host's first-level cache in each window.
#[derive(Clone, Copy, Debug, Default)]
struct ChangedRegister {
    counter_reads: u64,
    register: usize,
    value: u64,
}

impl Default for LoopDetector {
    fn default() -> Self {
        let nowhere = StopRecord { registers: [0; 64], retired: 0, counter_reads: 0, uncached_loads: 0 };
        LoopDetector::new([nowhere; NOTED].into())
    }
}

impl LoopDetector {
    /// Nothing has stopped yet. What is in `stops` has no meaning.
    fn new(stops: Box<[StopRecord]>) -> Self {
        LoopDetector {
            places: [StopAddress::MAX; NOTED],
            changed: [ChangedRegister::default(); NOTED],
            is_kept: [false; NOTED],
            stops,
            next: 0,
            passed: 0,
            windows: 0,
            not_before: 0,
            penalty: SHORTEST_PENALTY,
        }
    }

    /// Forgets all stops.
    pub fn forget(&mut self) {
        *self = LoopDetector::new(std::mem::take(&mut self.stops));
    }

    /// The processor has stopped, after this many loads from device registers. The
    /// loop in which it may be, if it seems to wait.
    pub fn look(&mut self, stop: Stop, processor: &AnyProcessor, uncached_loads: u64) -> Option<Candidate> {
        if processor.retired() < self.not_before {
            return None;
        }
        let here = stop_address(processor.pc());
        let noted = noted_at(&self.places, here);
        if noted != 0
            && let Some(seen) = self.compare(noted, processor, uncached_loads)
        {
            return Some(seen);
        }
        let place = match stop {
            Stop::Horizon => {
                self.windows += 1;
                if !self.windows.is_multiple_of(WINDOWS) {
                    return None;
                }
                WINDOW
            }
            _ => {
                self.passed += 1;
                if !self.passed.is_multiple_of(STOPS) {
                    return None;
                }
                self.next = (self.next + 1) % WINDOW;
                self.next
            }
        };
        self.places[place] = here;
        self.changed[place] = ChangedRegister::new(processor, self.changed[place].register);
        self.is_kept[place] = place == WINDOW;
        if place == WINDOW {
            self.stops[place] = StopRecord::new(processor, uncached_loads);
        }
        None
    }

    /// Compares the processor with these of the stops, a bit for each: the shortest loop in which it
    /// may be.
    fn compare(
        &mut self,
        mut noted: u32,
        processor: &AnyProcessor,
        uncached_loads: u64,
    ) -> Option<Candidate> {
        let mut shortest: Option<Candidate> = None;
        while noted != 0 {
            let place = noted.trailing_zeros() as usize;
            noted &= noted - 1;
            let changed = &mut self.changed[place];
            if changed.changed(processor) {
                continue;
            }
            let stop = &mut self.stops[place];
            if !std::mem::replace(&mut self.is_kept[place], true) {
                *stop = StopRecord::new(processor, uncached_loads);
                *changed = ChangedRegister::new(processor, changed.register);
            } else if stop.is_like(processor, changed) {
                let instructions = processor.retired() - stop.retired;
                let seen = Candidate { instructions, takes_bus: uncached_loads != stop.uncached_loads };
                if (1..=LONGEST_TURN).contains(&instructions)
                    && shortest.is_none_or(|shortest| instructions < shortest.instructions)
                {
                    shortest = Some(seen);
                }
            }
        }
        shortest
    }

    /// This many instructions were watched in vain. The next are watched later, and
    /// later each time.
    pub fn in_vain(&mut self, watched: u64, retired: u64) {
        self.not_before = retired + self.penalty * (watched + BEGINNING);
        self.penalty = (2 * self.penalty).min(LONGEST_PENALTY);
    }

    /// This many turns were computed after one was watched, each of `instructions`.
    pub fn saved(&mut self, turns: u64, instructions: u64, retired: u64) {
        if turns < FEWEST_TURNS {
            self.in_vain(instructions, retired);
        } else {
            self.penalty = SHORTEST_PENALTY;
        }
    }
}

/// Where a processor has stopped, as far as it distinguishes one place in a program from another.
type StopAddress = u32;

fn stop_address(pc: u64) -> StopAddress {
    (pc >> 1) as StopAddress
}

/// A bit for each of the stops that is at this place. All are compared at once.
#[inline(always)]
fn noted_at(places: &[StopAddress; NOTED], here: StopAddress) -> u32 {
    (0..NOTED).fold(0, |noted, place| noted | u32::from(places[place] == here) << place)
}

impl ChangedRegister {
    fn new(processor: &AnyProcessor, register: usize) -> Self {
        ChangedRegister {
            counter_reads: processor.counter_reads(),
            register,
            value: processor.registers()[register],
        }
    }

    /// Whether the registers are not those of the stop, for certain.
    fn changed(&self, processor: &AnyProcessor) -> bool {
        self.counter_reads == processor.counter_reads() && self.value != processor.registers()[self.register]
    }
}

impl StopRecord {
    fn new(processor: &AnyProcessor, uncached_loads: u64) -> Self {
        StopRecord {
            registers: *processor.registers(),
            retired: processor.retired(),
            counter_reads: processor.counter_reads(),
            uncached_loads,
        }
    }

    /// Whether the processor has the same registers, but for some that may grow
    /// if the program has read a counter. If not, `changed` learns a register.
    fn is_like(&self, processor: &AnyProcessor, changed: &mut ChangedRegister) -> bool {
        let growing = if processor.counter_reads() == self.counter_reads { 0 } else { MOST_GROWING };
        let registers = self.registers.iter().zip(processor.registers()).enumerate();
        let mut differing = registers.filter(|(_, (old, new))| old != new).skip(growing);
        if let Some((register, (&value, _))) = differing.next() {
            *changed = ChangedRegister { register, value, ..*changed };
            return false;
        }
        true
    }
}
