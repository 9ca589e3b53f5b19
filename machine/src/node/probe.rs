//! What a node shows to who observes it: its ports.
//!
//! Everything that crosses from one component to another passes through the node,
//! so the node reports it, and models have no lines for it. What observes a run
//! attaches a [`Probe`] to a node, beside others, and hears of it:
//!
//! ```text
//!   interconnect:  Crossing  granted ──────────► released      Held, Kept, Released
//!                  Refused   granted ──────────► released, and not carried
//!   processor:     Booking   from here on: activity, occupation
//!                  Entered   the program's marker of an activity
//!   link:          OnLink                        a packet takes the wires of PCIe or CXL
//!   memory:        InUse                         a channel, a bank, a slice was in use
//!   directory:     Message                       a message leaves its place, or is at the other
//!   tiles:         Packet                        a packet of a tile's interface leaves it, or is at its end
//!   network:       Departure, Arrival            a frame leaves, a frame is here
//!   device:        Timer                         a port acts by itself
//! ```
//!
//! After each of its events the node also lets the probe look at the interface and
//! the network port ([`Probe::look`]): they change in events and in nothing else.
//!
//! A node without a probe pays one look at an empty list an event and a change of the
//! ledger, nothing an instruction. A probe changes nothing of what comes of a run.

mod events;

use std::any::Any;
use std::fmt::Debug;

use narthex_cores::follow::Jump;
use narthex_fabrics::NetworkPort;
use narthex_kernel::Time;
use narthex_memory::interconnects::{self, InterconnectId, MemoryId, Observation, Step};
use narthex_memory::{Kind, Transaction};

use super::Node;
use super::interfaces::Interfaces;
use crate::activity::{Activity, Occupation, Spent};

pub use events::{Crossing, Edge, Event, Hold, Message, OnLink, Packet, Refused, Supplier};

/// A processor that has paused.
pub struct Paused<'a> {
    /// The instant at which it goes on at the earliest.
    pub at: Time,
    /// Which one of its node.
    pub processor: usize,
    /// Its next instruction.
    pub pc: u64,
    /// Its integer registers.
    pub registers: [u64; 32],
    /// Reads two doublewords of its process's memory, where there is any.
    pub read: &'a mut dyn FnMut(u64) -> Option<[u64; 2]>,
}

/// What observes a node.
pub trait Probe: Any + Debug + Send {
    /// Something happens at the instant `at`. It may be told early or late: a
    /// processor books its time ahead of the node's events, and a [`Crossing`] is told
    /// when its end is known.
    fn record(&mut self, at: Time, event: Event);

    /// An event of the node is over, `edge` if it was the begin or end of a
    /// transaction; `interfaces` and `network` are as it left them.
    fn look(&mut self, _now: Time, _edge: Option<Edge>, _interfaces: Interfaces<'_>, _network: &NetworkPort) {
    }

    /// Whether it is to hear what processors execute, by [`Probe::executes`] and
    /// [`Probe::jumped`]. Asked when it is attached.
    fn follows_programs(&self) -> bool {
        false
    }

    /// A processor executes the instruction at `pc` next, at `at` at the earliest
    /// ([`Follower::executes`](narthex_cores::follow::Follower::executes)).
    fn executes(&mut self, _at: Time, _processor: usize, _pc: u64) {}

    /// A processor has called a function, or returned; its stack pointer and its register a0 there
    /// ([`Follower::jumped`](narthex_cores::follow::Follower::jumped)).
    fn jumped(&mut self, _processor: usize, _jump: Jump, _target: u64, _at: (u64, u64)) {}

    /// Whether a processor is to pause before it executes the instruction at `pc`, to which it has
    /// come, so that [`Probe::paused`] can look at it. Asked of processors whose programs are
    /// followed. What the processor does is the same.
    fn pauses_at(&mut self, _processor: usize, _pc: u64) -> bool {
        false
    }

    /// A processor has paused, for this probe or for another one.
    fn paused(&mut self, _processor: &mut Paused<'_>) {}

    /// A program marks the begin of a region at `at`, or else its end.
    fn region(&mut self, _at: Time, _processor: usize, _name: &str, _begins: bool) {}
}

/// Where probes are attached to their node: all that the node reports passes here.
///
/// What a processor's time belongs to behind an empty poll is known a few instructions later
/// ([`crate::activity`]). Until then it is held, so that probes hear of it once, as the ledger has it.
#[derive(Debug, Default)]
pub(super) struct ProbePort {
    probes: Vec<Box<dyn Probe>>,
    held: Vec<Held>,
}

/// A change of a processor's time that may turn out to belong to polling.
#[derive(Debug)]
struct Held {
    at: Time,
    processor: usize,
    activity: Activity,
    occupation: Occupation,
}

impl ProbePort {
    /// Whether there is a probe.
    #[inline]
    pub fn is_attached(&self) -> bool {
        !self.probes.is_empty()
    }

    /// Tells the probes, if there are any, of an event.
    #[inline]
    pub fn report(&mut self, at: Time, event: impl FnOnce() -> Event) {
        if self.is_attached() {
            tell(&mut self.probes, at, event);
        }
    }

    /// From `at` on a processor's time belongs to other categories, or to polling if it
    /// `may_poll_again` and does.
    pub fn book(
        &mut self,
        processor: usize,
        at: Time,
        (activity, occupation): (Activity, Occupation),
        may_poll_again: bool,
    ) {
        if may_poll_again {
            return self.held.push(Held { at, processor, activity, occupation });
        }
        self.tell_held(processor, false);
        self.report(at, || Event::Booking { processor, activity, occupation });
    }

    /// Tells of the changes that are held of a processor: its own work is polling if it has
    /// `polled_again`.
    pub fn tell_held(&mut self, processor: usize, polled_again: bool) {
        let ProbePort { probes, held } = self;
        held.retain(|&Held { at, processor: of, activity, occupation }| {
            if of != processor {
                return true;
            }
            let is_polling = polled_again && activity == Activity::Application;
            let activity = if is_polling { Activity::Poll } else { activity };
            tell(probes, at, || Event::Booking { processor, activity, occupation });
            false
        });
    }

    /// The probes.
    pub fn all(&mut self) -> &mut [Box<dyn Probe>] {
        &mut self.probes
    }

    /// Lets the probes, if there are any, look at what an event may have changed.
    #[inline]
    pub fn show(&mut self, now: Time, edge: Option<Edge>, interfaces: Interfaces<'_>, network: &NetworkPort) {
        for probe in &mut self.probes {
            probe.look(now, edge, interfaces, network);
        }
    }

    /// Whether a transaction begins or ends with an event, if a probe wants to know.
    #[inline]
    pub fn edge(&self, event: &super::Event) -> Option<Edge> {
        if self.is_attached() { edge(event) } else { None }
    }
}

/// Whether a transaction begins or ends with an event.
#[cold]
fn edge(event: &super::Event) -> Option<Edge> {
    match event {
        super::Event::Interconnect(_, Step::Grant) => Some(Edge::Granted),
        super::Event::Interconnect(_, Step::Release) => Some(Edge::Released),
        _ => None,
    }
}

/// Out of line, because most nodes have no probe.
#[cold]
fn tell(probes: &mut [Box<dyn Probe>], at: Time, event: impl FnOnce() -> Event) {
    let event = event();
    probes.iter_mut().for_each(|probe| probe.record(at, event));
}

impl Node {
    /// Lets the probes look, if there are any.
    #[inline]
    pub(super) fn show(&mut self, now: Time, edge: Option<Edge>) {
        let interfaces = Interfaces(&self.devices[..=self.further_interfaces.len()]);
        self.probe.show(now, edge, interfaces, &self.network);
    }

    /// From now on `probe` observes the node, beside those that do already. One that follows
    /// programs is attached before the node starts, or with [`Node::attach_at`].
    pub fn attach(&mut self, probe: Box<dyn Probe>) {
        self.probe.probes.push(probe);
        self.memories.iter_mut().for_each(|memory| memory.observe(true));
        self.follow_as_probes_want();
    }

    /// The same at the instant `now`, the end of a window; at first the probe is told
    /// what the processors are at and which regions are open, and looks.
    pub fn attach_at(&mut self, now: Time, mut probe: Box<dyn Probe>) {
        self.rest_at(now);
        let regions = self.processes.iter().flat_map(|process| process.regions.iter());
        for region in regions.filter(|region| region.end.is_none()) {
            probe.region(now, region.processor, &region.name, true);
        }
        self.attach(probe);
        for (processor, unit) in self.processors.iter().enumerate() {
            let (activity, Spent { occupation, .. }) = unit.booked();
            let at = now.max(unit.ledger.booked_until());
            let may_poll_again = self.may_poll_again(processor);
            self.probe.book(processor, at, (activity, occupation), may_poll_again);
        }
        self.show(now, None);
    }

    /// Whether a probe is attached.
    pub fn is_observed(&self) -> bool {
        self.probe.is_attached()
    }

    /// The probe that is attached and is a `P`, if there is one.
    pub fn probe<P: Probe>(&mut self) -> Option<&mut P> {
        self.probe.probes.iter_mut().find_map(|probe| {
            let probe: &mut dyn Any = &mut **probe;
            probe.downcast_mut()
        })
    }

    /// Takes the probe off that is a `P`, if there is one, and hands it out.
    pub fn detach<P: Probe>(&mut self) -> Option<P> {
        self.tell_early::<P>();
        let place = self.probe.probes.iter().position(|probe| {
            let probe: &dyn Any = &**probe;
            probe.is::<P>()
        });
        let probe: Box<dyn Any> = self.probe.probes.remove(place?);
        let is_observed = self.probe.is_attached();
        self.memories.iter_mut().for_each(|memory| memory.observe(is_observed));
        self.follow_as_probes_want();
        probe.downcast().ok().map(|probe| *probe)
    }

    /// Probes have heard of everything before this instant, or else before `now`.
    pub fn told_until(&mut self, now: Time) -> Time {
        for processor in 0..self.processors.len() {
            if !self.may_poll_again(processor) {
                self.probe.tell_held(processor, false);
            }
        }
        self.probe.held.iter().map(|held| held.at).min().map_or(now, |first| first.min(now))
    }

    /// Tells the probe that is a `P`, if there is one, what is not sure yet, as the ledger has it:
    /// the program's own work. It is to be detached before it would hear that again.
    pub fn tell_early<P: Probe>(&mut self) {
        let held = std::mem::take(&mut self.probe.held);
        if let Some(probe) = self.probe::<P>() {
            for &Held { at, processor, activity, occupation } in &held {
                probe.record(at, Event::Booking { processor, activity, occupation });
            }
        }
        self.probe.held = held;
    }

    /// Tells the probes which parts of a memory were in use.
    #[cold]
    pub(super) fn report_uses(&mut self, memory: MemoryId) {
        for of_part in self.memories[usize::from(memory.0)].take_uses() {
            self.probe.report(of_part.time.0, || Event::InUse(of_part));
        }
    }

    /// Whether a transaction is that of a processor's prefetcher. One that is refused is none any more.
    fn is_prefetch(&self, transaction: &Transaction) -> bool {
        let unit = self.processors.get(usize::from(transaction.agent.0));
        unit.is_some_and(|unit| transaction.kind == Kind::Read && unit.memory.is_prefetch(transaction.tag))
    }

    /// Tells the probe what was observed at an interconnect.
    #[cold]
    pub(super) fn report_observation(&mut self, at: Time, on: InterconnectId, seen: Observation<'_>) {
        let interconnect = &self.interconnects[usize::from(on.0)];
        let (bus, overlaps) = (interconnect.name(), interconnect.overlaps());
        let clock = interconnect.occupancy_clock();
        let crossing = |(granted, released): (Time, Time), transaction: &Transaction| Crossing {
            bus,
            overlaps,
            granted,
            released,
            cycles: clock.whole_cycles_in(released - granted),
            agent: self.identify(transaction.agent),
            kind: transaction.kind,
            address: transaction.address,
            supplier: None,
            is_prefetch: self.is_prefetch(transaction),
            message: interconnect.message(transaction),
        };
        let (at, event) = match seen {
            Observation::Crossing { time, transaction, supplier } => {
                let supplier = supplier.map(|supplier| match supplier {
                    interconnects::Supplier::Agent(agent) => Supplier::Agent(self.identify(agent)),
                    interconnects::Supplier::Memory(_) => Supplier::MainMemory,
                });
                (time.0, Event::Crossing(Crossing { supplier, ..crossing(time, transaction) }))
            }
            Observation::Refused { time, transaction, by } => {
                let refused = Refused { crossing: crossing(time, transaction), by: self.identify(by) };
                (time.0, Event::Refused(refused))
            }
            Observation::Held(transaction) => {
                let &Transaction { agent, kind, address, .. } = transaction;
                let message = interconnect.message(transaction);
                (at, Event::Held(Hold { bus, overlaps, agent: self.identify(agent), kind, message, address }))
            }
            Observation::Packet(packet) => (at, Event::OnLink(OnLink { bus, packet })),
            Observation::Kept => (at, Event::Kept(bus)),
            Observation::Released => (at, Event::Released(bus)),
            Observation::UnusedGrant(_) => return,
        };
        self.probe.report(at, || event);
    }
}
