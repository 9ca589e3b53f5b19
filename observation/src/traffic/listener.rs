//! What is heard of one node: packets, for the pairs; and amounts over time.

use std::collections::BTreeMap;

use narthex_fabrics::{FrameKind, FrameSummary, NetworkPort};
use narthex_kernel::Time;
use narthex_machine::activity::Activity;
use narthex_machine::node::Interfaces;
use narthex_machine::node::probe::{Crossing, Edge, Event, OnLink, Probe};
use narthex_memory::memory_uses::{BankUse, MemoryPart, MemoryUse};

use super::series::{Bins, Name, Series};
use crate::trace::Direction;

/// What happened to packets at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A packet leaves.
    Departure(FrameSummary),
    /// A packet is here and has a buffer.
    Arrival(FrameSummary),
    /// From here on so many packets wait for a process.
    Waiting(u8, usize),
}

/// An amount that changes in steps.
#[derive(Debug, Default)]
struct Level {
    since: Time,
    amount: u64,
    bins: Bins,
}

impl Level {
    fn set(&mut self, now: Time, amount: u64) {
        if amount != self.amount {
            self.bins.add(self.since, now, self.amount);
            (self.since, self.amount) = (now.max(self.since), amount);
        }
    }
}

/// A bus: since when it is taken without a transaction that is known.
#[derive(Debug, Default)]
struct Bus {
    taken: Option<Time>,
    bins: Bins,
}

impl Bus {
    fn free(&mut self, now: Time) {
        if let Some(since) = self.taken.take() {
            self.bins.add(since, now, 1);
        }
    }

    fn cross(&mut self, granted: Time, released: Time) {
        self.free(granted);
        self.bins.add(granted, released, 1);
    }
}

/// Hears of a node.
#[derive(Debug, Default)]
pub struct Listener {
    seen: Vec<(Time, Seen)>,
    waiting: Vec<usize>,
    /// A packet has come since the last look: an interface may have taken it in the same event.
    has_come: bool,
    buses: BTreeMap<&'static str, Bus>,
    /// Directions of links.
    links: BTreeMap<(&'static str, Direction), Bins>,
    /// Parts of memories, by socket.
    memories: BTreeMap<(usize, MemoryPart), Bins>,
    /// What each processor is at, and since when.
    processors: Vec<Option<(Activity, Time)>>,
    activities: BTreeMap<Activity, Bins>,
    /// Of the interface's parts, by port.
    messages: Vec<Level>,
    parts: Vec<&'static str>,
    unacknowledged: Level,
    returned: Level,
    untaken: Level,
}

impl Listener {
    /// Takes out what happened to packets before `now`, in the order of time.
    pub fn drain(&mut self, now: Time) -> Vec<(Time, Seen)> {
        let (mut before, after) = self.seen.drain(..).partition::<Vec<_>, _>(|(at, _)| *at < now);
        self.seen = after;
        before.sort_by_key(|(at, _)| *at);
        before
    }

    fn bus(&mut self, name: &'static str) -> &mut Bus {
        self.buses.entry(name).or_default()
    }

    fn cross(&mut self, crossing: &Crossing) {
        // Where others cross at the same time, none takes the bus.
        if !crossing.overlaps {
            self.bus(crossing.bus).cross(crossing.granted, crossing.released);
        }
    }

    fn book(&mut self, at: Time, processor: usize, activity: Option<Activity>) {
        self.processors.resize(self.processors.len().max(processor + 1), None);
        let present = &mut self.processors[processor];
        if let Some((former, since)) = present.take() {
            self.activities.entry(former).or_default().add(since, at, 1);
        }
        *present = activity.map(|activity| (activity, at));
    }

    /// All series, which end at `end`.
    pub fn into_series(mut self, end: Time) -> Series {
        for processor in 0..self.processors.len() {
            self.book(end, processor, None);
        }
        let mut all: BTreeMap<Name, Bins> = BTreeMap::new();
        for (name, mut bus) in self.buses {
            bus.free(end);
            all.insert(("bus", name.to_owned()), bus.bins);
        }
        for ((bus, direction), bins) in self.links {
            all.insert(("link", format!("{bus}, {}", direction.words())), bins);
        }
        let sockets = self.memories.keys().map(|(socket, _)| *socket).max().unwrap_or(0) + 1;
        for ((socket, part), bins) in self.memories {
            all.insert(name_of_part(part, (sockets > 1).then_some(socket)), bins);
        }
        for (activity, bins) in self.activities {
            all.insert(("activity", activity.as_str().to_owned()), bins);
        }
        let mut close = |name: Name, mut level: Level| {
            level.bins.add(level.since, end, level.amount);
            all.entry(name).or_default().join(&level.bins);
        };
        for (part, level) in self.parts.iter().zip(self.messages) {
            close(("messages", (*part).to_owned()), level);
        }
        close(("packets", "not acknowledged".to_owned()), self.unacknowledged);
        close(("packets", "came back".to_owned()), self.returned);
        close(("packets", "wait to be taken".to_owned()), self.untaken);
        Series::of_node(all, self.processors.len())
    }
}

/// What results call a part of a memory, of this socket where there are several.
fn name_of_part(part: MemoryPart, socket: Option<usize>) -> Name {
    let (kind, name) = match part {
        MemoryPart::Channel(number) => ("memory", format!("channel {number}")),
        MemoryPart::ToMemory => ("memory", "links between sockets, to the memory".into()),
        MemoryPart::FromMemory => ("memory", "links between sockets, from the memory".into()),
        MemoryPart::LastLevel => ("accesses", "last level".into()),
        MemoryPart::Bank(BankUse::Hit) => ("accesses", "banks, row open".into()),
        MemoryPart::Bank(BankUse::Activation) => ("accesses", "banks, no row open".into()),
        MemoryPart::Bank(BankUse::Conflict) => ("accesses", "banks, another row open".into()),
        MemoryPart::Bank(BankUse::Refresh) => ("accesses", "banks, waiting for a refresh".into()),
    };
    (kind, socket.map_or(name.clone(), |socket| format!("socket {socket}: {name}")))
}

impl Probe for Listener {
    fn record(&mut self, at: Time, event: Event) {
        match event {
            Event::Crossing(crossing) => self.cross(&crossing),
            Event::Refused(refused) => self.cross(&refused.crossing),
            Event::Held(hold) if !hold.overlaps => {
                let bus = self.bus(hold.bus);
                bus.free(at);
                bus.taken = Some(at);
            }
            Event::OnLink(OnLink { bus, packet }) => {
                let bins = self.links.entry((bus, Direction::of(&packet))).or_default();
                bins.add(packet.wires.0, packet.wires.1, 1);
            }
            Event::InUse(MemoryUse { socket, part, time }) => {
                self.memories.entry((socket, part)).or_default().add(time.0, time.1, 1);
            }
            Event::Kept(name) => {
                self.bus(name).taken.get_or_insert(at);
            }
            Event::Released(name) => self.bus(name).free(at),
            Event::Booking { processor, activity, .. } => self.book(at, processor, Some(activity)),
            Event::Departure(note, _) if note.kind == FrameKind::Packet => {
                self.seen.push((at, Seen::Departure(note)));
            }
            Event::Arrival(note, true) if note.kind == FrameKind::Packet => {
                self.seen.push((at, Seen::Arrival(note)));
                self.has_come = true;
            }
            _ => {}
        }
    }

    fn look(&mut self, now: Time, _: Option<Edge>, interfaces: Interfaces<'_>, network: &NetworkPort) {
        let ports = interfaces.ports();
        if self.parts.len() != ports {
            self.parts = (0..ports).map(|port| interfaces.part(port)).collect();
            self.messages.resize_with(ports, Level::default);
        }
        for (port, level) in self.messages.iter_mut().enumerate() {
            if let Some(engine) = interfaces.engine(port, now) {
                level.set(now, engine.messages);
            }
        }
        let buffers = network.occupancy();
        self.unacknowledged.set(now, buffers.unacknowledged);
        self.returned.set(now, buffers.returned);
        self.untaken.set(now, buffers.waiting);
        let has_come = std::mem::take(&mut self.has_come);
        self.waiting.resize(ports / 2, 0);
        for (process, seen) in self.waiting.iter_mut().enumerate() {
            let waiting = network.waiting(process as u8);
            if std::mem::replace(seen, waiting) != waiting || has_come {
                self.seen.push((now, Seen::Waiting(process as u8, waiting)));
            }
        }
    }
}
