//! What a node foresees: how long nothing leaves it, whatever its programs do.
//!
//! A frame leaves a node when something has come from the network, when an instant comes for
//! which a device or the flow control waits, or when a device has heard of something on
//! its interconnects and its engine has prepared a packet. Of these, what comes and what is waited
//! for are events. What a program does takes longer to leave: its access has to be granted an
//! interconnect and to cross it, a device that has seen a block being written has to read
//! it, and the engine needs its time ([`Device::reaction`]). A device that knows of nothing to send
//! mostly needs an access to one of its registers first ([`Trigger`]): then no other transaction
//! makes a frame leave. An acknowledgement that comes makes one leave only if a packet awaits room.
//!
//! ```text
//!   processor  ─── executes ───┤ access │ ... granted ... crosses │
//!   device                                                        │ engine │
//!   network                                                                └─ frame leaves
//!              now ◄────────────────── at least ──────────────────────────►
//! ```
//!
//! So far the other nodes may go on without this one, and it without them
//! ([`narthex_kernel::Partition::earliest_departure`]).
//!
//! **Running ahead.** The end of a window is where something may come from the network. A
//! processor notices of that what its devices do on its interconnects, and before they do, they
//! need their time ([`Device::time_to_interconnect`]). Up to then nobody changes what its caches
//! hold, and nobody else asks for the bus: it executes what hits them, and exchanges blocks with
//! memory, ahead of the window. It accesses a register if the device says that nothing from the network
//! can change what comes of that ([`Device::independent_of_arrivals`]). What others may notice, or what depends on
//! the network, waits for the next window: other accesses, system calls and faults.
//!
//! ```text
//!   processor  ─── executes ───────────────┤ hits, and exchanges with memory │
//!   network                       may come ┤
//!   device                                 └─ time to interconnect ──────────┤ snoops
//!                                      window ends
//! ```
//!
//! So a processor at work is called less often, and since it is further on, other nodes too may
//! go further. A device that promised too much is found when it is granted an interconnect.
//!
//! [`Device::independent_of_arrivals`]: narthex_interfaces::Device::independent_of_arrivals
//! [`Device::time_to_interconnect`]: narthex_interfaces::Device::time_to_interconnect
//! [`Device::reaction`]: narthex_interfaces::Device::reaction

use std::cell::Cell;

use narthex_fabrics::Frame;
use narthex_interfaces::Device;
use narthex_interfaces::half::{TimeToSend, Trigger};
use narthex_kernel::partition::Partition;
use narthex_kernel::{Duration, Time};
use narthex_memory::interconnects::Interconnect;

use super::{Event, Node};

/// From the instant at which a processor executes an access to the first one at which a device
/// may prepare a packet because of it, at least, by what makes the device send.
#[derive(Clone, Copy, Debug)]
struct NoticeDelay([Duration; 3]);

impl NoticeDelay {
    /// In a node of these devices and interconnects.
    fn new(devices: &[Box<dyn Device>], interconnects: &[Interconnect]) -> Self {
        let shortest = |time: fn(&Interconnect) -> Duration| interconnects.iter().map(time).min();
        let crossing = shortest(Interconnect::shortest_access).unwrap_or_default();
        let access = devices.iter().map(|device| device.shortest_access_time()).min();
        let access = crossing + access.unwrap_or_default();
        let mut ports = devices.iter().flat_map(|device| device.ports());
        if !ports.any(|port| port.is_coherent || !port.homes.is_empty()) {
            return NoticeDelay([access; 3]);
        }
        // A device sees transactions on blocks as soon as they are granted.
        let own = shortest(Interconnect::shortest_block_transaction).unwrap_or_default();
        NoticeDelay([access, access.min(own * 2), Duration::ZERO])
    }

    /// Where this makes them send.
    #[inline]
    fn by(self, cause: Trigger) -> Duration {
        self.0[cause as usize]
    }
}

/// What the devices of a node promise until one of them is called, as far as they have been asked.
#[derive(Debug, Default)]
pub(super) struct DeviceLookahead {
    /// How soon a frame leaves because of what they hear; none if at any time.
    time_to_send: Cell<Option<Option<TimeToSend>>>,
    /// How soon they use an interconnect because of what comes from the network.
    time_to_interconnect: Cell<Option<Duration>>,
}

impl DeviceLookahead {
    /// A device was called.
    #[inline]
    pub fn forget(&self) {
        self.time_to_send.set(None);
        self.time_to_interconnect.set(None);
    }

    /// A device was called while the processor runs.
    #[inline]
    pub fn forget_time_to_send(&self) {
        self.time_to_send.set(None);
    }

    /// Whether a device that was called keeps what the node relies on until the processor stops.
    #[inline]
    pub fn are_kept_by(&self, device: &dyn Device) -> bool {
        self.time_to_interconnect.get().is_none_or(|promised| device.time_to_interconnect() >= promised)
    }
}

/// What a node knows of its devices, of how soon they notice and send anything.
#[derive(Debug)]
pub(super) struct SendLookahead {
    /// It may foresee for longer than its next step that nothing leaves it.
    foresees: bool,
    /// Its only processor may execute ahead of what the network brings.
    runs_ahead: bool,
    /// How long its devices notice nothing of what a processor executes.
    notice_delay: NoticeDelay,
    /// What its devices promise.
    pub of_devices: DeviceLookahead,
}

impl SendLookahead {
    /// Of a node of these devices and interconnects. It foresees nothing of a chip; and only a processor
    /// that is alone, and not interrupted, may execute ahead.
    pub fn new(
        devices: &[Box<dyn Device>],
        interconnects: &[Interconnect],
        (is_chip, is_alone): (bool, bool),
    ) -> Self {
        SendLookahead {
            foresees: !is_chip && devices.iter().all(|device| device.time_to_send().is_some()),
            runs_ahead: !is_chip && is_alone,
            notice_delay: NoticeDelay::new(devices, interconnects),
            of_devices: DeviceLookahead::default(),
        }
    }

    /// From now on it relies on no promise of a device.
    pub fn foresee_nothing(&mut self) {
        (self.foresees, self.runs_ahead) = (false, false);
    }
}

/// The furthest that a processor's hits go ahead: a window of a program that turns in its caches has
/// an end, and where another node stops the run, this one is not much further.
const FURTHEST_AHEAD: Duration = Duration::from_ns(1_000);

impl Node {
    /// Unless something comes from the network, no frame leaves before this instant.
    pub(super) fn foreseen_departure(&self) -> Time {
        let is_endless = self.instant.is_endless();
        let Some(time_to_send) = self.foreseen_reaction().filter(|_| !is_endless) else {
            return self.next_time().unwrap_or(Time::NEVER);
        };
        let programs = match &*self.processors {
            [unit] => unit.next_time(),
            several => several.iter().map(|unit| unit.next_time()).min().unwrap_or(Time::NEVER),
        };
        let noticed = self.noticed_after(programs, time_to_send);
        if self.events.next_instant() >= noticed {
            return noticed;
        }
        let departure = |(at, event): (Time, &Event)| match event {
            Event::Interconnect(..) | Event::BlockMoved(_) => self.heard_after(at, time_to_send),
            &Event::Timer(device, port) if self.devices[device].sends_nothing(port) => {
                self.heard_after(at, time_to_send)
            }
            Event::Frame(Frame::Acknowledgement { .. }, _) if !time_to_send.awaits_room => {
                self.noticed_after(at, time_to_send)
            }
            _ => at,
        };
        self.events.iter().map(departure).fold(noticed, Time::min)
    }

    /// No frame leaves before this instant because of one that arrives. Where no packet of a device
    /// awaits room, an acknowledgement concerns programs alone.
    #[inline]
    pub(super) fn departure_after_frame(&self, arrival: Time, frame: &Frame) -> Time {
        match frame {
            Frame::Acknowledgement { .. } => match self.foreseen_reaction() {
                Some(time_to_send) if !time_to_send.awaits_room => self.noticed_after(arrival, time_to_send),
                _ => arrival,
            },
            _ => arrival,
        }
    }

    /// No frame leaves before this instant because of what programs do from `from` on.
    #[inline]
    fn noticed_after(&self, from: Time, TimeToSend { time, cause, .. }: TimeToSend) -> Time {
        from.saturating_add(self.send_lookahead.notice_delay.by(cause)).saturating_add(time)
    }

    /// No frame leaves before this instant because of what devices hear or carry out at `at`.
    #[inline]
    fn heard_after(&self, at: Time, time_to_send: TimeToSend) -> Time {
        if time_to_send.cause == Trigger::Access && !self.may_be_accessing_registers() {
            return self.noticed_after(at, time_to_send);
        }
        at.saturating_add(time_to_send.time)
    }

    /// Whether an access to a register may be under way. A bridge may have one for which no
    /// processor waits.
    fn may_be_accessing_registers(&self) -> bool {
        self.interconnects.iter().any(Interconnect::posts_accesses)
            || self.processors.iter().any(|unit| unit.memory.may_be_accessing_registers())
    }

    /// How soon a frame leaves because of what its devices hear; none if it does not foresee that.
    #[inline]
    fn foreseen_reaction(&self) -> Option<TimeToSend> {
        self.send_lookahead.foresees.then(|| self.time_to_send()).flatten()
    }

    /// Up to when a processor's hits may be executed that goes up to `until`.
    #[inline]
    pub(super) fn hits_until(&self, until: Time) -> Time {
        if !self.send_lookahead.runs_ahead || until < self.horizons.until {
            return until;
        }
        // What takes no time on the network may arrive at the last instant before `until`.
        let arrival = Time::from_ps(until.as_ps().saturating_sub(1));
        let ahead = arrival.saturating_add(self.time_to_interconnect());
        ahead.min(self.events.next_instant()).min(self.horizons.early_until).max(until)
    }

    /// How soon its devices use an interconnect because of what comes from the network, as they are.
    #[inline]
    fn time_to_interconnect(&self) -> Duration {
        let DeviceLookahead { time_to_interconnect, .. } = &self.send_lookahead.of_devices;
        time_to_interconnect.get().unwrap_or_else(|| {
            let times = self.devices.iter().map(|device| device.time_to_interconnect());
            let time = times.fold(FURTHEST_AHEAD, Duration::min);
            time_to_interconnect.set(Some(time));
            time
        })
    }

    /// How soon a frame leaves because of what its devices hear on its interconnects; none if
    /// frames may leave at any instruction of a program.
    #[inline]
    fn time_to_send(&self) -> Option<TimeToSend> {
        let all = self.send_lookahead.of_devices.time_to_send.get().unwrap_or_else(|| {
            let devices = self.devices.iter().map(|device| device.time_to_send());
            let mut all =
                devices.reduce(|one, other| Some(one?.and(other?))).unwrap_or(Some(TimeToSend::NONE));
            // A flow control that holds packets back lets them go when it hears of others.
            all.iter_mut().for_each(|all| all.awaits_room |= self.network.sends_when_acknowledged());
            self.send_lookahead.of_devices.time_to_send.set(Some(all));
            all
        })?;
        // What a receiving device carries out on an interconnect lets it take a packet.
        let takes = TimeToSend { time: Duration::ZERO, cause: Trigger::BlockToRead, awaits_room: false };
        Some(if self.network.answers_when_taken() { all.and(takes) } else { all })
    }
}
