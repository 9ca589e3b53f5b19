//! The bridge to the I/O bus in every interleaving: a processor that accesses a
//! device again and again, and a device that reads blocks and makes copies go.
//!
//! ```text
//!   processor: stores, loads ──── memory bus ── bridge ── I/O bus ──── device: reads, invalidations
//! ```
//!
//! The bridge is the simulator's own. Whoever asks for a bus may be granted it,
//! except that the bridge comes first where it says so; how long anything takes
//! is a free choice. The paper's fairness is a property of its own: "Fairness is
//! preserved by ensuring that the next I/O bus transaction succeeds" (isca96,
//! Section 4.1). Without it, a processor that is quick enough has the device
//! refused for ever.

use std::hash::Hash;
use std::time::Instant;

use narthex_kernel::digest::Digest;
use narthex_machine::config;
use narthex_memory::bridge::{Bridge, Config, End, OnMemory, Start, Turn};
use narthex_memory::{AgentId, Kind, Transaction};

use crate::explore::{NO_TRAP, System, Violation, explore};
use crate::report::Report;

/// The paper's fairness.
const FAIR: &str = "a device's transaction that was refused is not refused again";
/// Stores reach the device in order, and before later loads.
const IN_ORDER: &str = "accesses of the processor reach the device in their order";
/// Loads do not overtake invalidations.
const SEEN: &str = "a processor that has read the device has seen every invalidation from before";

/// What is proven when every state has been visited.
pub const PROPERTIES: [&str; 4] = [FAIR, IN_ORDER, SEEN, NO_TRAP];

/// Accesses of the processor, and transactions of the device.
const ACCESSES: u64 = 5;
const TRANSACTIONS: u64 = 3;

/// That in words.
pub const TRAFFIC: &str = "5 accesses of a processor and 3 transactions of a device";

/// What the user calls the rule that can be left out.
pub const FAIRNESS: &str = "fairness";

const PROCESSOR: AgentId = AgentId(0);
const DEVICE: AgentId = AgentId(1);
const REGISTER: u64 = 0x1000;
const BLOCK: u64 = 0x2000;

/// Who has the memory bus, and what for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Memory {
    Free,
    /// A store of the processor crosses to the bridge, or waits for room there.
    Store {
        stalled: bool,
    },
    /// The address of a load crosses to the bridge.
    Address,
    /// The load waits for the I/O bus, and crosses it.
    Load,
    /// The answer is on its way; so many invalidations were taken before it.
    Answer {
        taken: u64,
    },
    /// The bridge carries a device's invalidation, or a device's read.
    Bridge {
        writes: bool,
    },
    /// The bridge keeps it for a device.
    Kept,
}

/// Who has the I/O bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Io {
    Free,
    Bridge(Kind),
    Device { kind: Kind, ends: bool },
}

/// A state of both buses.
#[derive(Clone, Hash, Debug)]
pub struct Buses {
    bridge: Bridge,
    memory: Memory,
    io: Io,
    /// The access that the processor asks for.
    asks: Option<Kind>,
    /// Accesses that the processor has begun, and that have reached the device.
    begun: u64,
    reached: u64,
    /// Transactions of the device that are done.
    done: u64,
    /// Invalidations that the bridge has taken, and that have been seen.
    taken: u64,
    seen: u64,
    /// Refusals of the device's transaction so far.
    refusals: u64,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The processor begins an access of this kind.
    Ask(Kind),
    /// The memory bus is granted to the processor.
    Processor,
    /// The memory bus is granted to the bridge.
    Bridge,
    /// What is on the memory bus goes on.
    Memory,
    /// The I/O bus is granted to the bridge.
    IoBridge,
    /// The I/O bus is granted to the device, for a transaction of this kind.
    IoDevice(Kind),
    /// What is on the I/O bus is over.
    IoOver,
}

/// Explores every interleaving at the bridge to an I/O bus. `fair` says whether
/// it has its fairness.
pub fn check(fair: bool) -> Report {
    let started = Instant::now();
    let exploration = explore(&mut CheckedBridge { fair }, usize::MAX, &mut |_| true);
    let what = ("I/O bridge", "room for one transaction each way".into(), TRAFFIC);
    let report = Report::of(what, exploration, &PROPERTIES, started);
    Report { without: (!fair).then(|| FAIRNESS.into()), ..report }
}

/// A bridge to be checked.
pub struct CheckedBridge {
    /// Without it, refusals are forgotten.
    pub fair: bool,
}

/// A bridge with room for one transaction each way, so that it is often full.
fn bridge(fair: bool) -> Bridge {
    let bus = config::load("isca96").expect("a built-in machine").config;
    let io = bus.io_bus.expect("the 1996 machine has an I/O bus");
    let bridge = Bridge::new(&Config { downward_entries: 1, upward_entries: 1, ..io });
    if fair { bridge } else { bridge.unfair() }
}

impl Buses {
    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let is_idle =
            self.asks.is_none() && matches!(self.memory, Memory::Free | Memory::Bridge { .. } | Memory::Kept);
        if is_idle && self.begun < ACCESSES {
            events.extend([Event::Ask(Kind::UncachedStore), Event::Ask(Kind::UncachedLoad)]);
        }
        match (self.memory, self.bridge.wants_memory()) {
            (Memory::Free, Some(Turn::First)) => events.push(Event::Bridge),
            (Memory::Free, turn) => {
                events.extend(self.asks.map(|_| Event::Processor));
                events.extend(turn.map(|_| Event::Bridge));
            }
            (Memory::Store { stalled: true } | Memory::Load | Memory::Kept, _) => {}
            _ => events.push(Event::Memory),
        }
        match self.io {
            Io::Free if self.bridge.wants_io() => events.push(Event::IoBridge),
            Io::Free if self.bridge.has_refused(DEVICE) && self.bridge.admits_devices() => {
                events.push(Event::IoDevice(Kind::ReadOnce));
            }
            Io::Free if self.done < TRANSACTIONS && self.bridge.admits_devices() => {
                events.extend([Event::IoDevice(Kind::ReadOnce), Event::IoDevice(Kind::Invalidate)]);
            }
            Io::Bridge(_) | Io::Device { ends: true, .. } => events.push(Event::IoOver),
            _ => {}
        }
        events
    }

    fn is_over(&self) -> bool {
        self.begun == ACCESSES
            && self.reached == ACCESSES
            && self.done == TRANSACTIONS
            && self.taken == self.seen
            && self.memory == Memory::Free
            && self.io == Io::Free
    }

    fn happen(&mut self, event: Event, say: &mut dyn FnMut(String)) -> Result<(), Violation> {
        match event {
            Event::Ask(kind) => {
                say(format!("the processor asks for the memory bus ({})", kind.name()));
                self.asks = Some(kind);
                self.begun += 1;
            }
            Event::Processor => self.start(say),
            Event::Bridge => self.use_memory(say),
            Event::Memory => return self.advance_memory(say),
            Event::IoBridge => return self.start_for_bridge(say),
            Event::IoDevice(kind) => self.start_for_device(kind, say),
            Event::IoOver => return self.end_io(say),
        }
        Ok(())
    }

    fn start(&mut self, say: &mut dyn FnMut(String)) {
        let kind = self.asks.take().expect("the processor asks");
        let access = Transaction::uncached(PROCESSOR, kind, REGISTER, 8, self.begun);
        self.memory = match self.bridge.start(access) {
            Start::Posts => Memory::Store { stalled: false },
            Start::Stalls => Memory::Store { stalled: true },
            Start::Reads => Memory::Address,
        };
        say(format!("the memory bus is granted to the processor: {} {}", kind.name(), self.begun));
        if let Io::Device { ends, .. } = &mut self.io
            && self.bridge.is_refused()
        {
            say("; the device's transaction is refused".into());
            *ends = true;
        }
    }

    fn use_memory(&mut self, say: &mut dyn FnMut(String)) {
        say("the bridge has the memory bus".into());
        self.memory = match self.bridge.next_on_memory() {
            OnMemory::Write(_) => Memory::Bridge { writes: true },
            OnMemory::Read(_) => {
                if let Io::Device { ends, .. } = &mut self.io {
                    *ends = true;
                }
                Memory::Bridge { writes: false }
            }
            OnMemory::Keep => Memory::Kept,
            OnMemory::Nothing => Memory::Free,
        };
    }

    fn advance_memory(&mut self, say: &mut dyn FnMut(String)) -> Result<(), Violation> {
        match self.memory {
            Memory::Store { .. } => {
                say("the store has crossed the memory bus".into());
                self.bridge.post();
                self.memory = Memory::Free;
            }
            Memory::Address => {
                say("the load's address is at the bridge".into());
                self.bridge.read_arrives();
                self.memory = Memory::Load;
            }
            Memory::Answer { taken } => {
                say("the load is answered".into());
                self.memory = Memory::Free;
                if self.seen < taken {
                    return Err(Violation {
                        property: SEEN,
                        words: "an invalidation is still on its way".into(),
                    });
                }
            }
            Memory::Bridge { writes } => {
                say("the bridge's transaction on the memory bus is over".into());
                self.seen += u64::from(writes);
                if self.bridge.memory_over()
                    && let Io::Device { ends, .. } = &mut self.io
                {
                    *ends = true;
                }
                self.memory = Memory::Free;
            }
            Memory::Free | Memory::Load | Memory::Kept => unreachable!("nothing goes on by itself"),
        }
        Ok(())
    }

    fn start_for_bridge(&mut self, say: &mut dyn FnMut(String)) -> Result<(), Violation> {
        let Some(access) = self.bridge.next_on_io() else { return Ok(()) };
        say(format!("the I/O bus is granted to the bridge: {} {}", access.kind.name(), self.reached + 1));
        self.io = Io::Bridge(access.kind);
        self.reached += 1;
        match access.value == self.reached {
            true => Ok(()),
            false => Err(Violation { property: IN_ORDER, words: format!("it is access {}", access.value) }),
        }
    }

    fn start_for_device(&mut self, kind: Kind, say: &mut dyn FnMut(String)) {
        let again = self.bridge.take_refused(DEVICE);
        let transaction = again.unwrap_or_else(|| Transaction::block(DEVICE, kind, BLOCK));
        say(format!("the I/O bus is granted to the device: {}", transaction.kind.name()));
        let kind = transaction.kind;
        let goes_on = self.bridge.device_starts(transaction);
        if !goes_on {
            say(", which is refused".into());
        }
        self.io = Io::Device { kind, ends: !goes_on || kind.is_posted() };
        self.use_kept(say);
    }

    fn use_kept(&mut self, say: &mut dyn FnMut(String)) {
        if self.memory == Memory::Kept {
            say("; ".into());
            self.use_memory(say);
        }
    }

    fn end_io(&mut self, say: &mut dyn FnMut(String)) -> Result<(), Violation> {
        let tenure = std::mem::replace(&mut self.io, Io::Free);
        match tenure {
            Io::Bridge(kind) => {
                say(format!("{} is over on the I/O bus", kind.name()));
                if self.bridge.io_over() {
                    self.memory = Memory::Store { stalled: false };
                }
                if !kind.is_posted() {
                    self.memory = Memory::Answer { taken: self.taken };
                }
                Ok(())
            }
            Io::Device { kind, .. } => self.end_for_device(kind, say),
            Io::Free => unreachable!("somebody has the I/O bus"),
        }
    }

    fn end_for_device(&mut self, kind: Kind, say: &mut dyn FnMut(String)) -> Result<(), Violation> {
        let end = self.bridge.device_ends();
        say(format!("the device's {} leaves the I/O bus: {end:?}", kind.name()));
        match end {
            End::Stalled => self.io = Io::Device { kind, ends: false },
            End::Refused => {
                self.refusals += 1;
                if self.refusals > 1 {
                    return Err(Violation { property: FAIR, words: "it was refused before".into() });
                }
            }
            End::Buffered | End::Read => {
                self.taken += u64::from(end == End::Buffered);
                self.done += 1;
                self.refusals = 0;
                self.use_kept(say);
            }
        }
        Ok(())
    }
}

impl System for CheckedBridge {
    type State = Buses;
    type Event = Event;

    fn start(&mut self) -> Result<Buses, Violation> {
        Ok(Buses {
            bridge: bridge(self.fair),
            memory: Memory::Free,
            io: Io::Free,
            asks: None,
            begun: 0,
            reached: 0,
            done: 0,
            taken: 0,
            seen: 0,
            refusals: 0,
        })
    }

    fn events(&self, state: &Buses) -> Vec<Event> {
        state.events()
    }

    fn next(&mut self, state: &Buses, event: Event, story: Option<&mut String>) -> Result<Buses, Violation> {
        let mut next = state.clone();
        match story {
            Some(story) => next.happen(event, &mut |words| story.push_str(&words))?,
            None => next.happen(event, &mut |_| {})?,
        }
        Ok(next)
    }

    fn digest(&self, state: &Buses) -> u128 {
        let mut digest = Digest::default();
        state.hash(&mut digest);
        digest.value()
    }

    fn is_final(&self, state: &Buses) -> bool {
        state.is_over()
    }

    fn progress(&self, state: &Buses) -> u64 {
        state.reached + state.done
    }

    fn describe(&self, state: &Buses) -> String {
        format!("{} accesses have reached the device; {}", state.reached, state.bridge.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interleaving_at_the_bridge_is_fair_and_in_order() {
        let found = explore(&mut CheckedBridge { fair: true }, 1_000_000, &mut |_| true);
        assert!(found.complete && found.counter_example.is_none(), "{:#?}", found.counter_example);
        assert!(found.states > 1_000, "{} states", found.states);
    }

    #[test]
    fn without_fairness_a_device_is_refused_again() {
        let found = explore(&mut CheckedBridge { fair: false }, 1_000_000, &mut |_| true);
        let example = found.counter_example.expect("the starvation is found");
        assert_eq!(example.violated, FAIR);
        let refusals = example.steps.iter().filter(|step| step.contains("refused")).count();
        assert!(refusals >= 2, "{:#?}", example.steps);
    }
}
