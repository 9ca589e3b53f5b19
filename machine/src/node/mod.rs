//! A node: processors, interconnects, memories, devices and a network port, wired.
//!
//! ```text
//!   NodeProcessor ── ProcessorMemory ─┐
//!   NodeProcessor ── ProcessorMemory ─┼── interconnect ──┬── memory
//!                                     │                  │
//!   device: seat ─────────────────────┤                  └── home blocks of the device
//!           seat ─────────────────────┘
//!           ...                 (on this interconnect or on another one)
//!                 └── NetworkPort ── frames from and to other nodes
//! ```
//!
//! A node is lists of these parts; which there are and what sits where comes from
//! the machine's file ([`crate::compose`]). A processor runs a thread of one process
//! ([`process`]). All the rest is the node's, and its processes share it.
//!
//! Components never call each other: this is the one place that carries one's
//! output to the next, for the interconnects as a [`Composition`]. It is a
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
//! [`Composition`]: interconnects::Composition

mod archive;
mod barrier;
mod channel;
mod composition;
pub mod counts;
mod device_calls;
mod devices;
mod endless;
mod execution;
mod following;
mod foresight;
mod interrupts;
pub(crate) mod memory;
mod on_chip;
pub mod probe;
mod process;
mod processor;
mod program;
pub mod refused;
mod regions;
mod registers;
mod report;
mod requests;
pub mod stuck;
mod threads;
mod unwinding;
mod waiting;
mod work;

use std::collections::VecDeque;

use narthex_fabrics::flow_control::Arrival;
use narthex_fabrics::port::Attempt;
use narthex_fabrics::terminal::Terminal;
use narthex_fabrics::{Credit, Frame, Mail, NetworkPort, NodeId, Phase, Sending};
use narthex_interfaces::Device;
use narthex_interfaces::half::RegisterFault;
use narthex_interfaces::on_chip::{self as on_chip_effects, End};
use narthex_interfaces::registers::Addresses;
use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::{Duration, EventQueue, Time};
use narthex_memory::AgentId;
use narthex_memory::directory::{Carried, Place};
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::{self, Interconnect, InterconnectId, MemoryId, Step};
use narthex_memory::pages::PageKind;
use narthex_memory::processor_memory::{Exchanges, misses};

use crate::activity::{Activity, Marker, Occupation};
use crate::config::operating_system;
use composition::SeatPlace;
use probe::ProbePort;
use processor::State;

use serde::{Deserialize, Serialize};

pub use composition::Agent;
pub use interrupts::Lines;
pub use on_chip::{HomePlace, NodeOnChip};
pub use process::{Ended, Output, Personality, Process, Report};
pub use processor::{NodeProcessor, ProcessorSeats};
pub use regions::Region;
pub use report::AgentNames;

/// What can happen at a node: a step of one of its parts.
#[derive(Debug, Serialize, Deserialize)]
enum Event {
    /// A step of an interconnect.
    Interconnect(InterconnectId, Step),
    /// The block that a processor moves has reached the pins.
    BlockMoved(usize),
    /// A seat of a device asked to be called.
    Timer(usize, usize),
    /// A frame arrives from the network, sent in this phase.
    Frame(Frame, Phase),
    /// The flow control asked to be called.
    Retry,
    /// A packet that the node has refused comes again.
    Attempt(Attempt),
    /// The time is over for which a processor's thread sleeps, if it is that sleep
    /// still.
    SleepOver(usize, u64),
    /// Devices assert these interrupt lines of a processor from now on.
    Lines(usize, u64),
    /// Packets have come to or gone from the network port's relay.
    Relayed,
    /// The next parcel arrives from the node's switch.
    Parcel,
    /// There is room behind the node's link to its switch.
    Credit(Credit),
    /// The node's link to its switch is free.
    LinkFree,
    /// There is room for sending that there was not before.
    Room,
    /// A message of the directory is at a processor or device.
    Message(Place, Carried),
    /// A packet of a device on the network on chip has come to its end.
    Packet(u8, End, u32),
}

/// One node of the machine.
pub struct Node {
    id: NodeId,
    events: EventQueue<Event>,
    processors: Vec<NodeProcessor>,
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
    /// The network interface, and what else there is.
    devices: Vec<Box<dyn Device>>,
    /// The seats of all devices, which follow the processors among the agents.
    seats: Vec<SeatPlace>,
    /// The place of each device's first seat among them.
    first_seats: Vec<usize>,
    /// The interrupt lines of each processor that has any.
    lines: Vec<Lines>,
    network: NetworkPort,
    /// What the processes wrote, in order, until it is taken.
    pub output: VecDeque<Output>,
    /// What leaves for other partitions, until the outbox takes it.
    departures: Vec<Sending<Frame>>,
    /// How many frames it has sent to itself: their order among equals.
    sent_to_itself: u64,
    timers: Vec<Time>,
    faults: Vec<RegisterFault>,
    /// What devices with a part in each tile ask for.
    effects: on_chip_effects::Effects,
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
    /// How far it goes now.
    until: Time,
    /// An answer to what it sends may come before, so long after it has arrived.
    answer_time: Option<Duration>,
    /// Steps before this instant may be taken without one, where nothing else happens.
    free_until: Time,
    /// A processor may have the answer to a transaction early that is over before this instant.
    early_until: Time,
    /// Its state is looked at when everything before this instant has happened.
    inspection: Time,
    /// It may foresee for longer than its next step that nothing leaves it.
    foresees: bool,
    /// How long its devices notice nothing of what a processor executes.
    unnoticed: foresight::Unnoticed,
    /// What its devices promise.
    promises: foresight::Promises,
    /// Its only processor may execute ahead of what the network brings.
    runs_ahead: bool,
    /// The access to a register behind which, or before which, it has stopped.
    unfinished: Option<registers::Unfinished>,
    /// The processor has executed hits that are made before this instant.
    ran_until: Time,
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
    /// What observes it.
    probe: ProbePort,
}

/// What a node is made of.
pub struct Parts {
    /// Its number.
    pub id: NodeId,
    /// Its processors. Their numbers are those of their agents.
    pub processors: Vec<NodeProcessor>,
    /// What runs on them.
    pub processes: Vec<Process>,
    /// Its interconnects, by their numbers.
    pub interconnects: Vec<Interconnect>,
    /// Its memories, by their numbers.
    pub memories: Vec<HomeMemory>,
    /// For each device the memory of which it has a port of its own, if any.
    pub local_memories: Vec<Option<MemoryId>>,
    /// Its devices, and on which interconnect each of their seats is. The network
    /// interface comes first. Their agents follow the processors'.
    pub devices: Vec<(Box<dyn Device>, Vec<InterconnectId>)>,
    /// What system calls take.
    pub operating_system: operating_system::Config,
    /// Which devices assert which interrupt lines of its processors.
    pub lines: Vec<Lines>,
    /// Its network on chip, where it has a directory.
    pub on_chip: Option<Box<NodeOnChip>>,
    /// Its end of the fabric.
    pub network: NetworkPort,
}

impl Node {
    /// A node at time zero, its processes about to execute their first instruction.
    pub fn new(parts: Parts) -> Self {
        let Parts { mut processors, processes, .. } = parts;
        for (index, unit) in processors.iter_mut().enumerate() {
            let on = [Some(unit.seats.caches.0), unit.seats.private].into_iter().flatten();
            unit.grant_clocks = on.map(|on| parts.interconnects[usize::from(on.0)].clock()).collect();
            // Without caches it has uncached accesses alone, which nobody snoops.
            if unit.memory.page_kind() == PageKind::Local && unit.seats.private.is_none() {
                unit.unnoticed = parts.interconnects[usize::from(unit.seats.caches.0.0)].shortest_access();
            }
            if processes[unit.process].processors.start != index {
                unit.leave_vacant();
            }
        }
        if let ([unit], None) = (&mut processors[..], &parts.on_chip) {
            // A device with a memory of its own, or interrupts, is the node's to call.
            let accesses_registers =
                parts.lines.is_empty() && parts.local_memories.iter().all(Option::is_none);
            unit.exchanges = exchanges_of(unit, &parts.interconnects, &parts.memories, accesses_registers);
        }
        let devices = || parts.devices.iter().map(|(device, _)| &**device);
        let tiles_lookahead = parts.on_chip.as_ref().and_then(|own| own.lookahead_of(&processors, devices()));
        let (mut seats, mut first_seats) = (Vec::new(), Vec::new());
        for (device, (own, on)) in parts.devices.iter().enumerate() {
            first_seats.push(seats.len());
            for (seat, (own, &on)) in own.seats().iter().zip(on).enumerate() {
                let agent = AgentId((processors.len() + seats.len()) as u8);
                let (process, is_engine) = (own.process, own.is_engine);
                seats.push(SeatPlace { agent, on, device, seat, process, is_engine });
            }
        }
        let devices: Vec<_> = parts.devices.into_iter().map(|(device, _)| device).collect();
        let foresees = parts.on_chip.is_none() && devices.iter().all(|device| device.reaction().is_some());
        let unnoticed = foresight::Unnoticed::new(&devices, &parts.interconnects);
        let runs_ahead = processors.len() == 1 && parts.on_chip.is_none() && parts.lines.is_empty();
        Node {
            id: parts.id,
            events: EventQueue::new(),
            processors,
            processes,
            interconnects: parts.interconnects,
            on_chip: parts.on_chip,
            tiles_lookahead,
            memories: parts.memories,
            local_memories: parts.local_memories,
            devices,
            seats,
            first_seats,
            lines: parts.lines,
            network: parts.network,
            operating_system: parts.operating_system,
            output: VecDeque::new(),
            departures: Vec::new(),
            sent_to_itself: 0,
            timers: Vec::new(),
            faults: Vec::new(),
            effects: on_chip_effects::Effects::default(),
            statistics: counts::Statistics::default(),
            progress: 0,
            progressed_at: Time::ZERO,
            executes_wait_loops: false,
            schedules_steps: false,
            until: Time::ZERO,
            answer_time: None,
            free_until: Time::ZERO,
            early_until: Time::ZERO,
            inspection: Time::ZERO,
            foresees,
            unnoticed,
            promises: foresight::Promises::default(),
            runs_ahead,
            unfinished: None,
            ran_until: Time::ZERO,
            sleepers: waiting::Sleepers::NONE,
            may_watch_bus: false,
            callers: 0,
            skipped_instructions: 0,
            instant: endless::Instant::default(),
            requests: requests::Requests::default(),
            probe: ProbePort::default(),
        }
    }

    /// Loads of a processor that were under way have their values at `at`; if it needs
    /// one of them, it goes on then. Says whether there were any.
    #[inline]
    fn deliver_loads(&mut self, index: usize, at: Time) -> bool {
        self.processors[index].memory.has_miss_registers() && self.deliver_arrivals(index, at)
    }

    #[inline(never)]
    fn deliver_arrivals(&mut self, index: usize, at: Time) -> bool {
        let NodeProcessor { processor, memory, state, .. } = &mut self.processors[index];
        let mut any = false;
        while let Some(misses::Arrival { register, value }) = memory.next_arrival() {
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
        self.processors[index].ledger.switch(at, (activity, occupation));
        if self.probe.is_attached() {
            self.report_booking(index, at, (activity, occupation));
        }
    }

    #[cold]
    #[inline(never)]
    fn report_booking(&mut self, index: usize, at: Time, (activity, occupation): (Activity, Occupation)) {
        self.probe.report(at, || probe::Event::Booking { processor: index, activity, occupation });
    }

    fn mark(&mut self, index: usize, hint: u16) {
        let unit = &mut self.processors[index];
        let now = unit.processor.now();
        let marker = match unit.activities.book(&mut unit.ledger, now, hint) {
            Ok(Some(marker)) => marker,
            Ok(None) => return,
            Err(problem) => return self.fail(index, problem),
        };
        if self.probe.is_attached() {
            let activity = unit.activities.current();
            self.report_booking(index, now, (activity, Occupation::Execute));
            if let Marker::Enter(activity) = marker {
                self.probe.report(now, || probe::Event::Entered { processor: index, activity });
            }
        }
    }

    #[inline]
    fn handle(&mut self, now: Time, event: Event) {
        self.instant.count(now);
        self.requests.forget();
        self.check_watched_event(&event);
        let edge = self.probe.edge(&event);
        match event {
            Event::Interconnect(on, step) => interconnects::happen(self, now, on, step),
            Event::Message(to, carried) => self.message_arrives(now, to, carried),
            rarer => self.handle_rarer(now, rarer),
        }
        self.probe.show(now, edge, &self.devices, &self.network);
    }

    /// Out of line, so that the steps of interconnects need none of its locals.
    #[inline(never)]
    fn handle_rarer(&mut self, now: Time, event: Event) {
        match event {
            Event::Interconnect(..) | Event::Message(..) => {
                unreachable!("the steps of interconnects are handled at once")
            }
            Event::Timer(device, seat) => self.timer(now, device, seat),
            Event::Packet(device, to, content) => self.packet_arrives(now, device, to, content),
            Event::BlockMoved(index) => {
                self.processors[index].memory.end_block_move();
                self.ask_for_processor(index, now);
            }
            Event::Lines(index, lines) => self.assert_lines(now, index, lines),
            Event::Relayed => self.announce_relayed(now),
            Event::Frame(frame, phase) => self.frame(now, frame, phase),
            Event::Attempt(attempt) => {
                let arrival = self.network.attempt(attempt);
                self.arrived(now, arrival);
            }
            Event::Parcel => {
                let Node { network, departures, .. } = self;
                let frame = network.receive(now, &mut |sending| departures.push(sending));
                self.frame(now, frame, Phase::Own);
            }
            Event::Credit(credit) => {
                self.network.credit(credit);
                self.depart(now);
            }
            Event::LinkFree => self.depart(now),
            Event::Room => self.offer_room(now),
            Event::Retry => {
                self.network.retry(now);
                self.depart(now);
                self.network.end_step();
            }
            Event::SleepOver(index, sleep) => self.end_sleep(now, index, sleep),
        }
    }

    fn frame(&mut self, now: Time, frame: Frame, phase: Phase) {
        let summary = self.probe.is_attached().then(|| frame.summary());
        let arrival = self.network.arrive(now, frame, phase);
        if let Some(summary) = summary {
            self.probe.report(now, || probe::Event::Arrival(summary, arrival.packet.is_some()));
        }
        self.arrived(now, arrival);
    }

    /// What has arrived from the network has its effects.
    fn arrived(&mut self, now: Time, arrival: Arrival) {
        if let Some(process) = arrival.packet {
            self.got_further(now);
            self.announce_packet(now, process);
        }
        if arrival.room {
            self.offer_room(now);
        }
        self.depart(now);
        self.network.end_step();
    }

    /// A message was delivered, or a program called the system.
    fn got_further(&mut self, now: Time) {
        self.progress += 1;
        self.progressed_at = self.progressed_at.max(now);
    }

    /// Sends off the frames that leave after a step.
    #[inline]
    fn depart(&mut self, now: Time) {
        // After most steps nothing leaves.
        if self.network.has_departures() {
            self.send_off(now);
        }
    }

    #[inline(never)]
    fn send_off(&mut self, now: Time) {
        let Node { id, events, sent_to_itself, departures, probe, network, until, answer_time, .. } = self;
        let show = |frame: &Frame, destination| {
            probe.report(now, || probe::Event::Departure(frame.summary(), destination));
        };
        let node = usize::from(id.0);
        let send = |(arrival, destination, mail): Sending<Frame>| match mail {
            Mail::Direct(frame, phase) if destination == node => {
                let sequence = frame.order(phase, *sent_to_itself);
                *sent_to_itself += 1;
                let envelope = Envelope { arrival, source: node, sequence, destination, payload: frame };
                events.receive(envelope, |frame| Event::Frame(frame, phase));
            }
            mail => {
                if let Some(answer_time) = answer_time {
                    *until = arrival.saturating_add(*answer_time).min(*until);
                }
                departures.push((arrival, destination, mail));
            }
        };
        let calls = network.departures(now, show, send);
        self.free_until = self.free_until.min(self.until);
        if let Some(at) = calls.retry_at {
            self.events.schedule(at, Event::Retry);
        }
        if let Some(at) = calls.depart_at {
            self.events.schedule(at, Event::LinkFree);
        }
        if calls.room {
            self.events.schedule(now, Event::Room);
        }
        if let Some(attempt) = calls.attempt {
            self.receive(attempt.at, attempt.place, Event::Attempt(attempt));
        }
        if self.network.take_relay_news() {
            self.events.schedule(now, Event::Relayed);
        }
    }

    /// Its end of a network of switches, if that is what it is on.
    pub fn terminal(&self) -> Option<&Terminal<Frame>> {
        self.network.terminal()
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
    pub(super) fn programs(&self) -> usize {
        self.processes.iter().filter(|process| process.personality == Personality::Linux).count()
    }

    /// The first failure in time among the node's processes: whose, and when.
    pub fn failure(&self) -> Option<(usize, Time, &Ended)> {
        let failures = self.processes.iter().enumerate();
        let failures =
            failures.filter_map(|(index, process)| process.failure().map(|(at, ended)| (index, at, ended)));
        failures.min_by_key(|&(_, at, _)| at)
    }
}

/// What exchanges and accesses to registers of the only processor of a node take, if it may be alone
/// with its bus.
fn exchanges_of(
    unit: &NodeProcessor,
    interconnects: &[Interconnect],
    memories: &[HomeMemory],
    accesses_registers: bool,
) -> Option<Exchanges> {
    let ProcessorSeats { caches: (on, _), private: None, memory } = unit.seats else { return None };
    let Interconnect::SnoopingBus(bus) = &interconnects[usize::from(on.0)] else { return None };
    let time = memories[usize::from(memory.0)].fixed_time()?;
    bus.answers_early().then_some(Exchanges {
        agent: AgentId(0),
        memory: (memory, bus.cycles_of(time)),
        own_part: unit.blocking_access_time + unit.look_up_time,
        register_part: accesses_registers.then_some(unit.blocking_access_time),
        shortest_access: interconnects[usize::from(on.0)].shortest_access(),
        is_counted: Addresses::carries_messages,
    })
}

/// The first instant after this one.
fn after(time: Time) -> Time {
    time.saturating_add(Duration::from_ps(1))
}

impl Partition for Node {
    type Payload = Mail<Frame>;

    fn next_time(&self) -> Option<Time> {
        let events = match self.on_chip {
            None => self.events.next_instant(),
            Some(_) => self.next_event_time().unwrap_or(Time::NEVER),
        };
        let next = match &self.processors[..] {
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
        self.inspection = at;
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
                    | Event::Lines(..)
                    | Event::SleepOver(..)
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
        self.progress
    }
}
