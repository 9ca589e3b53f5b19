//! The I/O bus at work: what crosses the bridge, and when.
//!
//! ```text
//!   a processor reads a device     memory bus ├─ address ─┼┄┄┄┄┄┄┄┄┄┄┼─ answer ─┤
//!                                  I/O bus                ├─ read ───┤
//!   a processor writes to it       memory bus ├─ write ─┤
//!                                  I/O bus              ├─ write ─┤
//!   a device reads a block         memory bus ├─ read ─┤
//!                                  I/O bus    ├─ read ────┤
//!   it makes copies go             memory bus                ├─ invalidate ─┤
//!                                  I/O bus    ├─ invalidate ┤
//! ```
//!
//! [`Bridge`] decides what may cross next, [`Timing`] how long it takes on each
//! bus; here both are carried to the buses, the caches and the devices. A read
//! is seen by all of them at the instant at which it has both buses. What the
//! bridge buffers is seen by the agents of each bus when it is on that bus.

use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use narthex_memory::bridge::{Answerer, Bridge, End, OnMemory, Start, Timing, Turn};
use narthex_memory::bus::Bus;
use narthex_memory::{AgentId, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::interconnect::Answer;
use super::journal::{self, IO_BUS, MEMORY_BUS, Supplier};
use super::{Agent, Event, Node, Underway};

/// The place of the bridge on both buses.
pub const BRIDGE: AgentId = AgentId(u8::MAX);

/// The I/O bus and the bridge to it.
#[derive(Debug)]
pub struct IoBus {
    pub bus: Bus,
    pub bridge: Bridge,
    timing: Timing,
    /// Who has the I/O bus.
    tenure: Option<Tenure>,
    /// Since when somebody has had the memory bus through the bridge.
    memory_since: Time,
}

/// Somebody's turn on the I/O bus.
#[derive(Debug, Serialize, Deserialize)]
struct Tenure {
    underway: Underway,
    since: Time,
    is_bridge: bool,
    /// Its end is scheduled.
    ends: bool,
}

impl IoBus {
    /// An idle I/O bus behind an idle bridge.
    pub fn new(bridge: Bridge, timing: Timing) -> Self {
        let bus = Bus::with_occupancy(timing.clock(), |_| 0);
        IoBus { bus, bridge, timing, tenure: None, memory_since: Time::ZERO }
    }

    /// Whether nobody has the bus at `now`, or waits for it.
    pub fn is_idle_at(&self, now: Time) -> bool {
        self.tenure.is_none() && self.bus.is_idle_at(now)
    }
}

impl Archived for IoBus {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let IoBus { bus, bridge, timing: _, tenure, memory_since } = self;
        archive.value(bus)?;
        archive.value(bridge)?;
        archive.value(tenure)?;
        archive.value(memory_since)
    }
}

impl Node {
    /// The I/O bus of a node whose interface is on it.
    fn io(&mut self) -> &mut IoBus {
        self.io.as_mut().expect("the interface is on the I/O bus")
    }

    /// Whether a transaction is for the devices on the I/O bus.
    pub(super) fn is_for_devices(&self, transaction: &Transaction) -> bool {
        self.io.is_some()
            && (transaction.kind.is_uncached() || self.interface.home_of(transaction.address).is_some())
    }

    /// Asks for both buses in the name of the bridge and of the devices.
    pub(super) fn request_io_bus(&mut self, now: Time) {
        let Some(io) = &mut self.io else { return };
        let granted = match io.bridge.wants_memory() {
            Some(Turn::First) => self.bus.request_first(now, BRIDGE),
            Some(Turn::InOrder) => self.bus.request(now, BRIDGE),
            None => None,
        };
        self.events.extend(granted.map(|at| (at, Event::Grant)));
        let has_bus = io.tenure.as_ref().is_some_and(|tenure| tenure.is_bridge);
        if io.bridge.wants_io() && !has_bus {
            let granted = io.bus.request_first(now, BRIDGE);
            self.events.extend(granted.map(|at| (at, Event::IoGrant)));
        }
        for side in 0..self.interface.sides.len() {
            let agent = AgentId((self.units.len() + side) as u8);
            let asks = io.bridge.has_refused(agent) || self.interface.sides[side].wants_bus();
            if asks && io.bridge.admits_devices() {
                let granted = io.bus.request(now, agent);
                self.events.extend(granted.map(|at| (at, Event::IoGrant)));
            }
        }
    }

    /// A processor's transaction for the devices has the memory bus.
    pub(super) fn start_crossing(&mut self, now: Time, transaction: Transaction) {
        let kind = transaction.kind;
        self.note_hold(MEMORY_BUS, now, &transaction);
        let mut underway = Underway::unanswered(transaction.clone());
        if kind.is_posted() {
            underway.response.shared = self.snoop_units(&transaction).reply.shares;
        }
        self.underway = Some(underway);
        let io = self.io();
        io.memory_since = now;
        let next = match io.bridge.start(transaction) {
            Start::Posts => Some((now + io.timing.posting(kind), Event::Release)),
            Start::Stalls => None,
            Start::Reads => Some((now + io.timing.until_read_crosses(kind), Event::ReadAtBridge)),
        };
        self.events.extend(next);
        self.end_refused(now);
        self.request_io_bus(now);
    }

    /// Ends the turn of a device that waits on the I/O bus and was refused.
    fn end_refused(&mut self, now: Time) {
        let io = self.io();
        let Some(tenure) = io.tenure.as_mut().filter(|tenure| !tenure.ends) else { return };
        if io.bridge.is_refused() {
            tenure.ends = true;
            let addressed = tenure.since + io.timing.refusal(tenure.underway.transaction.kind);
            self.events.schedule(addressed.max(now), Event::IoRelease);
        }
    }

    /// The address of a processor's read has come to the bridge.
    pub(super) fn read_at_bridge(&mut self, now: Time) {
        self.io().bridge.read_arrives();
        self.request_io_bus(now);
    }

    /// A processor's transaction for the devices is over on the memory bus.
    pub(super) fn end_crossing(&mut self, now: Time, underway: &Underway) {
        let transaction = &underway.transaction;
        let io = self.io();
        if transaction.kind.is_posted() {
            io.bridge.post();
        }
        let since = io.memory_since;
        self.bus.carried(transaction.kind, now - since);
        self.note_crossing(MEMORY_BUS, (since, now, self.bus.period()), transaction, None);
        self.answer(now, underway);
        self.request_io_bus(now);
    }

    /// The I/O bus is granted.
    pub(super) fn grant_io_bus(&mut self, now: Time) {
        let io = self.io();
        match io.bus.grant() {
            Some(BRIDGE) => match io.bridge.next_on_io() {
                Some(transaction) => self.start_for_bridge(now, transaction),
                None => self.free_io_bus(now),
            },
            Some(agent) if io.bridge.admits_devices() => self.start_for_device(now, agent),
            _ => self.free_io_bus(now),
        }
        self.request_io_bus(now);
    }

    /// The bridge puts a processor's transaction on the I/O bus.
    fn start_for_bridge(&mut self, now: Time, transaction: Transaction) {
        let unanswered = |delay| Answer { response: Response::default(), delay, supplier: None };
        let Answer { response, delay, supplier } = if transaction.kind.is_uncached() {
            unanswered(self.interface.access_time(transaction.kind))
        } else if transaction.kind.is_posted() {
            unanswered(self.show_devices(now, &transaction))
        } else {
            self.block_transaction(now, &transaction)
        };
        let io = self.io();
        let end = now + io.timing.on_io(transaction.kind, delay);
        self.note_on_io_bus(now, end, &transaction, supplier);
        let underway = Underway { transaction, response };
        self.io().tenure = Some(Tenure { underway, since: now, is_bridge: true, ends: true });
        self.events.schedule(end, Event::IoRelease);
    }

    /// A device puts its transaction on the I/O bus, one that was refused first.
    fn start_for_device(&mut self, now: Time, agent: AgentId) {
        let again = self.io().bridge.take_refused(agent);
        let Some(transaction) = again.or_else(|| self.issue(now, agent)) else {
            self.note_vain_grant(now, IO_BUS, agent);
            self.free_io_bus(now);
            return;
        };
        let kind = transaction.kind;
        self.note_hold(IO_BUS, now, &transaction);
        let io = self.io();
        let end = match (io.bridge.device_starts(transaction.clone()), kind.is_posted()) {
            (false, _) => Some(now + io.timing.refusal(kind)),
            (true, true) => Some(now + io.timing.on_io(kind, Duration::ZERO)),
            // It ends when it has had the memory bus as well.
            (true, false) => None,
        };
        let underway = Underway::unanswered(transaction);
        io.tenure = Some(Tenure { underway, since: now, is_bridge: false, ends: end.is_some() });
        self.events.extend(end.map(|at| (at, Event::IoRelease)));
        self.use_kept_memory_bus(now);
    }

    /// Somebody's turn on the I/O bus is over.
    pub(super) fn release_io_bus(&mut self, now: Time) {
        let tenure = self.io().tenure.take().expect("somebody has the I/O bus");
        if tenure.is_bridge {
            self.end_for_bridge(now, tenure);
        } else if !self.end_for_device(now, tenure) {
            return;
        }
        self.free_io_bus(now);
        self.request_io_bus(now);
    }

    fn end_for_bridge(&mut self, now: Time, tenure: Tenure) {
        let Tenure { mut underway, since, .. } = tenure;
        let kind = underway.transaction.kind;
        self.access_register(now, &mut underway);
        let io = self.io();
        io.bus.carried(kind, now - since);
        let answered = now + io.timing.answer(kind);
        if io.bridge.io_over() {
            let stalled = self.underway.as_ref().expect("a write waits on the memory bus").transaction.kind;
            let crossed = now + self.io().timing.posting(stalled);
            self.events.schedule(crossed, Event::Release);
        }
        if !kind.is_posted() {
            self.underway = Some(underway);
            self.events.schedule(answered, Event::Release);
        }
    }

    /// A device's turn is over; false if the bridge has no room for its write yet.
    fn end_for_device(&mut self, now: Time, tenure: Tenure) -> bool {
        let occupied = now - tenure.since;
        let io = self.io();
        match io.bridge.device_ends() {
            End::Stalled => {
                io.tenure = Some(Tenure { ends: false, ..tenure });
                return false;
            }
            End::Refused => {
                io.bus.held(occupied);
                self.note(now, journal::Event::Released(IO_BUS));
            }
            End::Buffered => {
                let transaction = &tenure.underway.transaction;
                io.bus.carried(transaction.kind, occupied);
                self.note_on_io_bus(tenure.since, now, transaction, None);
                self.show_devices(now, transaction);
                self.answer(now, &tenure.underway);
                self.use_kept_memory_bus(now);
            }
            End::Read => {
                io.bus.carried(tenure.underway.transaction.kind, occupied);
                self.answer(now, &tenure.underway);
            }
        }
        true
    }

    fn free_io_bus(&mut self, now: Time) {
        let granted = self.io().bus.release(now);
        self.events.extend(granted.map(|at| (at, Event::IoGrant)));
    }

    /// Goes on with the memory bus that the bridge has kept for a device.
    fn use_kept_memory_bus(&mut self, now: Time) {
        let io = self.io();
        if io.bridge.keeps_memory() {
            let kept = now - io.memory_since;
            self.bus.held(kept);
            self.note(now, journal::Event::Released(MEMORY_BUS));
            self.grant_to_bridge(now);
        }
    }

    /// The bridge has the memory bus.
    pub(super) fn grant_to_bridge(&mut self, now: Time) {
        let io = self.io();
        io.memory_since = now;
        match io.bridge.next_on_memory() {
            OnMemory::Write(transaction) => self.write_for_device(now, &transaction),
            OnMemory::Read(transaction) => self.read_for_device(now, &transaction),
            OnMemory::Keep => self.note(now, journal::Event::Kept(MEMORY_BUS)),
            OnMemory::Nothing => self.free_bus(now),
        }
        self.request_io_bus(now);
    }

    /// A device's buffered write or invalidation is on the memory bus.
    fn write_for_device(&mut self, now: Time, transaction: &Transaction) {
        self.snoop_units(transaction);
        let delay = match self.is_for_devices(transaction) {
            true => Duration::ZERO,
            false => self.home(now, transaction).1,
        };
        let end = self.bus.occupy(now, transaction.kind, delay);
        self.note_crossing(MEMORY_BUS, (now, end, self.bus.period()), transaction, None);
        self.events.schedule(end, Event::Release);
    }

    /// A device's read has both buses.
    fn read_for_device(&mut self, now: Time, transaction: &Transaction) {
        let answer = self.block_transaction(now, transaction);
        let answerer = match answer.supplier {
            Some(Supplier::Agent(Agent::Side(_))) => Answerer::OnIoBus(answer.delay),
            _ => Answerer::OnMemoryBus(answer.delay),
        };
        let io = self.io();
        let tenure = io.tenure.as_mut().expect("the device has the I/O bus");
        tenure.underway.response = answer.response;
        tenure.ends = true;
        let since = tenure.since;
        let (memory_end, io_end) = io.timing.device_read(transaction.kind, now, since, answerer);
        self.bus.carried(transaction.kind, memory_end - now);
        self.events.schedule(memory_end, Event::Release);
        self.events.schedule(io_end, Event::IoRelease);
        let on_memory_bus = (now, memory_end, self.bus.period());
        self.note_crossing(MEMORY_BUS, on_memory_bus, transaction, answer.supplier);
        self.note_on_io_bus(since, io_end, transaction, answer.supplier);
    }

    /// Enters a transaction on the I/O bus into the journal.
    fn note_on_io_bus(
        &mut self,
        granted: Time,
        released: Time,
        transaction: &Transaction,
        supplier: Option<Supplier>,
    ) {
        let cycle = self.io().timing.io_cycle();
        self.note_crossing(IO_BUS, (granted, released, cycle), transaction, supplier);
    }

    /// The bridge's part on the memory bus is over.
    pub(super) fn release_for_bridge(&mut self, now: Time) {
        let io = self.io();
        if io.bridge.memory_over()
            && let Some(tenure) = io.tenure.as_mut().filter(|tenure| !tenure.ends)
        {
            tenure.ends = true;
            self.events.schedule(now, Event::IoRelease);
        }
        self.request_io_bus(now);
    }
}
