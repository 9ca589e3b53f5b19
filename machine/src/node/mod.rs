//! A node: processors, interconnects, memories, devices and a network port, wired.
//!
//! ```text
//!   NodeProcessor ── ProcessorMemory ─┐
//!   NodeProcessor ── ProcessorMemory ─┼── interconnect ──┬── memory
//!                                     │                  │
//!   device: port ─────────────────────┤                  └── home blocks of the device
//!           port ─────────────────────┘
//!           ...                 (on this interconnect or on another one)
//!                 └── NetworkPort ── frames from and to other nodes
//! ```
//!
//! A node is lists of these parts; which there are and what sits where comes from
//! the machine's file ([`crate::compose`]). A processor runs a thread of one process
//! ([`process`]). All the rest is the node's, and its processes share it.
//!
//! Components never call each other: this is the one place that carries one's
//! output to the next, for the interconnects as a [`InterconnectHost`]. It is a
//! partition of the simulation with an event queue of its own; nothing in it is
//! shared with other nodes. Frames between its own processes leave through the port
//! and arrive like others, but without the simulation's mail.
//!
//! **Processors run ahead.** A processor executes without events as long as it
//! hits in its caches, up to the instant of the node's next event: until then
//! nothing can happen that it would see.
//!
//! With several processors none passes the first edge at which the interconnect of
//! another could be granted to it, or, where the other one has no caches, the end of an access
//! that begins there. All accesses up to an instant, inclusive, are made
//! before an event of that instant happens, and a system call is answered when all
//! events and accesses up to it are over. So what happens does not depend on the order
//! in which the host runs them, nor on which of them are computed instead
//! ([`waiting`]).
//!
//! On a directory a processor reaches another one by messages only, so all of them go ahead
//! of each other by what these take at least (see `on_chip.rs`).
//!
//! **A transaction** follows the rules of its interconnect
//! ([`narthex_memory::interconnects`]). At its end a processor that waited for it
//! goes on before anything else happens at that instant, so that a block that was
//! fetched is used before it can be taken away again.
//!
//! [`InterconnectHost`]: narthex_memory::interconnects::InterconnectHost

mod agents;
mod archive;
mod assembly;
mod barrier;
mod channel;
pub mod counts;
mod device_calls;
mod devices;
mod endless;
mod events;
mod execution;
mod following;
mod held;
mod horizons;
mod interconnect_host;
mod interfaces;
mod interrupts;
mod jobs;
pub(crate) mod memory;
mod mpi;
mod on_chip;
pub mod probe;
mod process;
mod processor;
mod processors;
mod program;
pub mod refused;
mod regions;
mod registers;
mod report;
mod requests;
mod send_lookahead;
mod stalls;
mod standing;
pub mod stuck;
mod threads;
mod unwinding;
mod waiting;
pub mod warm;
mod warm_caches;
mod work;

use std::collections::VecDeque;

use narthex_fabrics::terminal::Terminal;
use narthex_fabrics::{Frame, Mail, NetworkPort, NodeId, Sending};
use narthex_interfaces::Device;
use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::{Duration, EventQueue, Time};
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::{Interconnect, MemoryId};
use narthex_memory::processor_memory::misses;

use crate::activity::{Activity, Marker, Occupation};
use crate::config::operating_system;
use devices::DeviceRequests;
use events::Event;
use horizons::Horizons;
use interconnect_host::PortPlace;
use probe::ProbePort;
use processor::State;
use processors::Processors;
use send_lookahead::SendLookahead;

pub use assembly::Parts;
pub use interconnect_host::Agent;
pub use interfaces::Interfaces;
pub use interrupts::InterruptLines;
pub use on_chip::{HomePlace, NodeOnChip};
pub use process::{Ended, Output, Personality, Process, Report};
pub use processor::{NodeProcessor, ProcessorPorts};
pub use regions::Region;
pub use report::AgentNames;

/// One node of the machine.
pub struct Node {
    id: NodeId,
    events: EventQueue<Event>,
    processors: Processors,
    /// What runs on each processor.
    pub processes: Vec<Process>,
    interconnects: Vec<Interconnect>,
    /// What carries the messages of its directory.
    on_chip: Option<Box<NodeOnChip>>,
    /// What one of its processors does reaches no other one sooner, if all are on a directory.
    tiles_lookahead: Option<Duration>,
    memories: Vec<HomeMemory>,
    /// The local memory of each device that has one.
    local_memories: Vec<Option<MemoryId>>,
    /// The network interfaces, and what else there is.
    devices: Vec<Box<dyn Device>>,
    /// The names of the network interfaces but the first, which the run chooses.
    further_interfaces: Vec<String>,
    /// The ports of all devices, which follow the processors among the agents.
    ports: Vec<PortPlace>,
    /// The place of each device's first port among them.
    first_ports: Vec<usize>,
    /// The interrupt lines of each processor that has any.
    lines: Vec<InterruptLines>,
    network: NetworkPort,
    /// What the processes wrote, in order, until it is taken.
    pub output: VecDeque<Output>,
    /// What leaves for other partitions, until the outbox takes it.
    departures: Vec<Sending<Frame>>,
    /// How many frames it has sent to itself: their order among equals.
    sent_to_itself: u64,
    /// What devices that were called have asked for.
    device_requests: DeviceRequests,
    /// Accesses to registers that devices hold.
    held: held::HeldAccesses,
    /// Where processors' blocks of the interface came from.
    statistics: counts::Statistics,
    /// System calls and deliveries: what shows that the run gets somewhere.
    progress: u64,
    /// When the last of them was.
    progressed_at: Time,
    /// What system calls take.
    operating_system: operating_system::Config,
    /// Wait loops are executed too.
    executes_wait_loops: bool,
    /// Each step of an interconnect is an event.
    schedules_steps: bool,
    /// How far it goes.
    horizons: Horizons,
    /// What it knows of how soon its devices send anything.
    send_lookahead: SendLookahead,
    /// The access to a register behind which, or before which, it has stopped.
    unfinished: Option<registers::Unfinished>,
    /// How many of its processors sleep in wait loops.
    sleepers: waiting::Sleepers,
    /// Whether a processor may be watched whose turn takes the bus.
    may_watch_bus: bool,
    /// How many of its threads call the system.
    callers: usize,
    /// Instructions that were computed instead of executed.
    skipped_instructions: u64,
    /// What has happened at the present instant.
    instant: endless::Instant,
    /// Which grants several processors have asked for since the last event.
    requests: requests::Requests,
    /// Room for the turns of several processors.
    turns: Vec<execution::Turn>,
    /// Where its programs meet for a warm checkpoint, if they do.
    meeting: Option<Box<warm::Meeting>>,
    /// What observes it.
    probe: ProbePort,
}

impl Node {
    /// Loads of a processor that were under way have their values at `at`; if it needs
    /// one of them, it goes on then. Says whether there were any.
    #[inline]
    fn deliver_loads(&mut self, index: usize, at: Time) -> bool {
        self.processors[index].memory.has_miss_registers() && self.deliver_arrivals(index, at)
    }

    #[inline(never)]
    fn deliver_arrivals(&mut self, index: usize, at: Time) -> bool {
        let NodeProcessor { processor, memory, state, sources, .. } = &mut self.processors[index];
        let mut any = false;
        while let Some(misses::Arrival { register, value }) = memory.next_arrival() {
            if let Some(sources) = sources {
                processor.block_comes_from(register, sources.of(memory.block_of_register(register)));
            }
            processor.deliver(register, value, at);
            any = true;
        }
        if any && *state == State::Waiting && memory.wait_reason().is_none() {
            *state = State::Running;
            processor.pass_until(at);
            let at = processor.now();
            self.book(index, at, Occupation::Execute);
        }
        any
    }

    /// A processor's access is done; it repeats it at `now`.
    #[inline]
    fn wake(&mut self, index: usize, now: Time) {
        let unit = &mut self.processors[index];
        unit.state = State::Woken;
        unit.processor.resume_at(now);
        self.book(index, now, Occupation::Execute);
    }

    /// From `at` on a processor's time belongs to its present activity and to `occupation`.
    #[inline]
    fn book(&mut self, index: usize, at: Time, occupation: Occupation) {
        let activity = self.processors[index].activities.current();
        self.book_as(index, at, (activity, occupation));
    }

    /// From `at` on a processor's time belongs to this activity and occupation.
    #[inline]
    fn book_as(&mut self, index: usize, at: Time, (activity, occupation): (Activity, Occupation)) {
        let unit = self.processors.keeping_turn(index);
        let spent = unit.begins(occupation);
        unit.ledger.switch(at, (activity, spent));
        if self.probe.is_attached() {
            self.report_booking(index, at, (activity, occupation));
        }
    }

    #[cold]
    #[inline(never)]
    fn report_booking(&mut self, index: usize, at: Time, (activity, occupation): (Activity, Occupation)) {
        let may_poll_again = self.may_poll_again(index);
        self.probe.book(index, at, (activity, occupation), may_poll_again);
    }

    /// Whether the time of a processor that passes now may turn out to be polling.
    fn may_poll_again(&self, index: usize) -> bool {
        let unit = &self.processors[index];
        unit.activities.may_poll_again(unit.processor.retired())
    }

    fn mark(&mut self, index: usize, hint: u16) {
        let unit = &mut self.processors[index];
        let (now, retired) = (unit.processor.now(), unit.processor.retired());
        let polls_again = unit.activities.may_poll_again(retired);
        let marker = match unit.activities.book(&mut unit.ledger, now, retired, hint) {
            Ok(Some(marker)) => marker,
            Ok(None) => return,
            Err(problem) => return self.fail(index, problem),
        };
        if self.probe.is_attached() {
            let activity = unit.activities.current();
            self.probe.tell_held(index, polls_again && marker == Marker::Enter(Activity::Poll));
            self.report_booking(index, now, (activity, Occupation::Execute));
            if let Marker::Enter(activity) = marker {
                self.probe.report(now, || probe::Event::Entered { processor: index, activity });
            }
        }
    }

    /// Its end of a network of switches, if that is what it is on.
    pub fn terminal(&self) -> Option<&Terminal<Frame>> {
        self.network.terminal()
    }

    /// What its flow control did.
    pub fn flow_control(&self) -> &narthex_fabrics::flow_control::Statistics {
        self.network.statistics()
    }

    /// Instructions that its processors have retired.
    pub fn retired(&self) -> u64 {
        self.processors.iter().map(|unit| unit.processor.retired()).sum()
    }

    /// Events that have happened here since it was built or restored.
    pub fn events(&self) -> u64 {
        self.events.taken() + self.on_chip.as_ref().map_or(0, |own| own.taken())
    }

    /// How many of its processes run the program; those of firmware follow them.
    pub fn programs(&self) -> usize {
        self.processes.iter().filter(|process| process.personality == Personality::Linux).count()
    }

    /// Whether a device has left an access without an answer for ever.
    pub fn is_silent(&self) -> bool {
        self.devices.iter().any(|device| device.is_silent())
    }

    /// The first failure in time among the node's processes: whose, and when.
    pub fn failure(&self) -> Option<(usize, Time, &Ended)> {
        let failures = self.processes.iter().enumerate();
        let failures =
            failures.filter_map(|(index, process)| process.failure().map(|(at, ended)| (index, at, ended)));
        failures.min_by_key(|&(_, at, _)| at)
    }
}

/// The first instant after this one.
fn after(time: Time) -> Time {
    time.saturating_add(Duration::from_ps(1))
}

impl Partition for Node {
    type Payload = Mail<Frame>;

    fn next_time(&self) -> Option<Time> {
        if self.instant.is_endless() {
            return None;
        }
        let events = self.next_event();
        let next = match &*self.processors {
            [unit] => events.min(unit.next_time()),
            several => several.iter().fold(events, |next, unit| next.min(unit.next_time())),
        };
        (next < Time::NEVER).then_some(next)
    }

    fn earliest_departure(&self) -> Time {
        self.foreseen_departure()
    }

    fn departure_after(&self, envelope: &Envelope<Mail<Frame>>) -> Time {
        match &envelope.payload {
            Mail::Direct(frame, _) => self.departure_after_frame(envelope.arrival, frame),
            _ => envelope.arrival,
        }
    }

    fn expect_inspection(&mut self, at: Time) {
        self.horizons.inspection = at;
    }

    fn advance(&mut self, outbox: &mut Outbox<Mail<Frame>>) {
        self.work(outbox.until(), outbox.answer_time());
        if !self.departures.is_empty() {
            for (arrival, destination, mail) in self.departures.drain(..) {
                outbox.send(arrival, destination, mail);
            }
        }
    }

    fn deliver(&mut self, mut envelope: Envelope<Mail<Frame>>) {
        if let Mail::Direct(frame, phase) = &envelope.payload {
            // Not that of its partition, in which there may be several nodes of a model.
            envelope.source = self.network.sender_of(frame).0.into();
            envelope.sequence = frame.order(*phase, envelope.sequence);
        }
        let Node { events, network, .. } = self;
        events.receive(envelope, |mail| match mail {
            Mail::Direct(frame, phase) => Event::Frame(frame, phase),
            Mail::Parcel { parcel, .. } => {
                network.expect(parcel);
                Event::Parcel
            }
            Mail::Credit(credit) => Event::Credit(credit),
            Mail::Told(_) => unreachable!("switches tell each other"),
        });
    }

    /// Not a processor that turns in a wait loop, nor the bus that it uses.
    fn awaits(&self, now: Time) -> Option<Time> {
        let is_awaited = |event: &Event| {
            matches!(
                event,
                Event::Frame(..)
                    | Event::Retry
                    | Event::Timer(..)
                    | Event::InterruptLines(..)
                    | Event::BufferDue(_)
                    | Event::SleepOver(..)
                    | Event::Interrupt(..)
                    | Event::Start(_)
                    | Event::Stop(_)
                    | Event::Parcel
                    | Event::Credit(_)
                    | Event::LinkFree
                    | Event::Room
            )
        };
        let events = self.events.iter().filter(|(_, event)| is_awaited(event)).map(|(time, _)| time);
        events.chain(self.network.awaits(now)).min()
    }

    fn status(&self) -> Status {
        // Asked after each window: the processes themselves are far away.
        if self.processors.iter().all(|unit| unit.state != State::Exited) {
            return Status::Running;
        }
        if let Some((_, at, _)) = self.failure() {
            return Status::Stopped { at };
        }
        let programs = self.processes.iter().filter(|process| process.personality == Personality::Linux);
        let ends = programs.map(|process| process.ended.as_ref().map(|&(at, _)| at));
        match ends.reduce(|one, other| Some(one?.max(other?))).flatten() {
            Some(at) => Status::Finished { at },
            None => Status::Running,
        }
    }

    /// Deliveries and system calls. A program may work long without either: the
    /// run that finds no progress looks for that ([`crate::run`](mod@crate::run)).
    fn progress(&self) -> u64 {
        let of_devices: u64 = self.devices.iter().filter_map(|device| device.progress()).sum();
        self.progress.wrapping_add(of_devices)
    }
}
