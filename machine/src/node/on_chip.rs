//! The network on chip of a node whose caches a directory keeps coherent: what carries the
//! messages between its tiles, memory controllers and devices.
//!
//! A message that leaves later than it is decided on (its home looks something up, its memory
//! takes its time) is an event then: links are reserved in the order in which messages leave.
//!
//! **Lookahead.** What leaves a place, and what comes to a memory's home, reaches no processor
//! sooner than a message takes. So such events have a queue of their own, and processors go on
//! for that long past the next one of them. What a processor does by itself reaches another
//! one by a request, a look-up and a forward at the soonest: for so long no processor waits
//! for the others. A system call sees and changes memory at once, so it has its effect
//! when all processors have come that far: it takes no less than that.

use narthex_cores::Stop;
use narthex_fabrics::on_chip::OnChip;
use narthex_interfaces::Device;
use narthex_interfaces::half::RegisterFault;
use narthex_interfaces::on_chip::{End, FirstLevel, Packet};
use narthex_kernel::partition::Envelope;
use narthex_kernel::{Archive, Archived, Category, Damage, Duration, EventQueue, Time};
use narthex_memory::Response;
use narthex_memory::directory::{Carried, Endpoint, HomeId, MOST_HOLDERS};
use narthex_memory::interconnects::directory::Directory;
use narthex_memory::interconnects::{self, Home, InterconnectId};
use serde::{Deserialize, Serialize};

use super::execution::Turn;
use super::interconnect_host::PortPlace;
use super::{Event, Node, NodeProcessor, after, probe};

/// What happens on a network on chip, and that no processor hears of at once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ChipEvent {
    /// A message leaves from one place for another.
    Leaves(Endpoint, Endpoint, Carried),
    /// A message is at the home of a memory.
    IsAtHome(HomeId, Carried),
    /// A packet of a device leaves.
    PacketLeaves(u8, Packet),
}

/// The network on chip, and who is where on it.
pub struct NodeOnChip {
    /// The directory whose messages it carries.
    on: InterconnectId,
    network: OnChip,
    /// The place of each agent.
    agents: Vec<u16>,
    /// The homes.
    homes: Vec<HomePlace>,
    /// The interface's own place.
    gateway: u16,
    /// Bytes in a coherence block.
    block_bytes: usize,
    /// No message takes less.
    message_time: Duration,
    /// What one processor does reaches no other one sooner.
    lookahead: Duration,
    events: EventQueue<ChipEvent>,
    /// Messages to processors and devices so far: their order among equals.
    sent: u64,
}

/// What messages come from, for their order among the events of an instant: they come before
/// what processors ask for then, whenever the host has let them ask for it.
const MESSAGES: usize = 1 << 20;

/// Where a home is, and what.
#[derive(Clone, Copy, Debug)]
pub struct HomePlace {
    /// Its place.
    pub at: u16,
    /// A memory or a device.
    pub part: Home,
}

impl NodeOnChip {
    /// The network of a directory whose homes look messages up in `lookup_time`, with the
    /// places of its agents and homes.
    pub fn new(
        on: InterconnectId,
        network: OnChip,
        (agents, homes, gateway): (Vec<u16>, Vec<HomePlace>, u16),
        block_bytes: usize,
        lookup_time: Duration,
    ) -> Self {
        let message_time = network.lookahead();
        let lookahead = message_time * 2 + lookup_time;
        let events = EventQueue::new();
        NodeOnChip {
            on,
            network,
            agents,
            homes,
            gateway,
            block_bytes,
            message_time,
            lookahead,
            events,
            sent: 0,
        }
    }

    /// What one of these processors does reaches no other one sooner, if there are several
    /// and all of them are on the directory alone: neither by its messages nor by the packets
    /// of these devices.
    pub(super) fn lookahead_of<'a>(
        &self,
        processors: &[NodeProcessor],
        devices: impl Iterator<Item = &'a dyn Device>,
    ) -> Option<Duration> {
        let is_tile = |unit: &NodeProcessor| unit.ports.caches.0 == self.on && unit.ports.private.is_none();
        let by_packets = devices.filter_map(Device::reaches_first_levels_in);
        let soonest = by_packets.map(|time| self.message_time + time).fold(self.lookahead, Ord::min);
        ((2..=MOST_HOLDERS).contains(&processors.len()) && processors.iter().all(is_tile)).then_some(soonest)
    }

    /// The socket of a processor's place.
    pub fn socket_of_processor(&self, index: usize) -> usize {
        self.network.socket_of(self.agents[index])
    }

    /// What carries its messages.
    pub fn network(&self) -> &OnChip {
        &self.network
    }

    /// When something happens next on it; never, if nothing does.
    #[inline]
    pub(super) fn next_instant(&self) -> Time {
        self.events.next_instant()
    }

    /// No processor hears of anything that is due here sooner.
    #[inline]
    pub(super) fn reaches_processors_at(&self) -> Time {
        self.next_instant().saturating_add(self.message_time)
    }

    /// Events that have happened on it.
    pub(super) fn taken(&self) -> u64 {
        self.events.taken()
    }

    /// The next happening, if it comes before `until` and not after `other`.
    #[inline]
    pub(super) fn pop_before(&mut self, until: Time, other: Time) -> Option<(Time, ChipEvent)> {
        if other < self.next_instant() { None } else { self.events.pop_before(until) }
    }

    fn place(&self, place: Endpoint) -> u16 {
        match place {
            Endpoint::Requester(agent) => self.agents[usize::from(agent.0)],
            Endpoint::Home(home) => self.homes[usize::from(home.0)].at,
        }
    }

    /// The place of an end of a device's packet, whose first port is this agent.
    fn place_of(&self, first_port: usize, end: End) -> u16 {
        let is_memory = |home: &&HomePlace| matches!(home.part, Home::Memory(_));
        match end {
            End::Tile(port) => self.agents[first_port + usize::from(port)],
            End::Controller(own) => {
                let controller = self.homes.iter().filter(is_memory).nth(own.into());
                controller.expect("a device knows how many controllers there are").at
            }
            End::Gateway => self.gateway,
        }
    }
}

impl Archived for NodeOnChip {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let NodeOnChip {
            on: _,
            network,
            agents: _,
            homes: _,
            gateway: _,
            block_bytes: _,
            message_time: _,
            lookahead: _,
            events,
            sent,
        } = self;
        network.archive(archive)?;
        archive.value(sent)?;
        events.archive(archive)
    }
}

impl Node {
    /// A message of the directory leaves at `at`.
    pub(super) fn carry_message(&mut self, at: Time, (from, to): (Endpoint, Endpoint), carried: Carried) {
        if at <= self.instant.now() {
            return self.message_leaves(at, (from, to), carried);
        }
        let own = self.on_chip.as_mut().expect("a directory has a network on chip");
        own.events.schedule(at, ChipEvent::Leaves(from, to, carried));
    }

    fn message_leaves(&mut self, now: Time, (from, to): (Endpoint, Endpoint), carried: Carried) {
        let Node { on_chip, events, .. } = self;
        let own = on_chip.as_mut().expect("a directory has a network on chip");
        let body = &carried.message.body;
        let places = (own.place(from), own.place(to));
        let (lane, data_bytes) = (body.lane().index(), body.data_bytes(own.block_bytes));
        let arrival = own.network.send(now, places, lane, data_bytes);
        let is_observed = self.probe.is_attached();
        match to {
            Endpoint::Home(home) if matches!(own.homes[usize::from(home.0)].part, Home::Memory(_)) => {
                own.events.schedule(arrival, ChipEvent::IsAtHome(home, carried));
            }
            _ => {
                let sequence = own.sent;
                own.sent += 1;
                let envelope =
                    Envelope { arrival, source: MESSAGES, sequence, destination: 0, payload: carried };
                events.receive(envelope, |carried| Event::Message(to, carried));
            }
        }
        if is_observed {
            self.show_message(now, [places.0, places.1], &carried, false);
        }
    }

    /// Tells the probe of a message of a directory.
    #[cold]
    fn show_message(&mut self, now: Time, places: [u16; 2], carried: &Carried, is_there: bool) {
        let on = self.on_chip.as_ref().expect("a directory has a network on chip").on;
        let (bus, message) = (self.interconnects[usize::from(on.0)].name(), &carried.message);
        let (agent, address) = (self.identify(message.requester), message.block);
        let (lane, name) = (message.body.lane(), message.body.name());
        self.probe.report(now, || {
            probe::Event::Message(probe::Message { bus, agent, address, lane, name, places, is_there })
        });
    }

    /// Something happens on the network on chip.
    pub(super) fn happen_on_chip(&mut self, now: Time, happening: ChipEvent) {
        self.instant.count(now);
        self.stop_watching_buses();
        match happening {
            ChipEvent::Leaves(from, to, carried) => self.message_leaves(now, (from, to), carried),
            ChipEvent::IsAtHome(home, carried) => self.message_arrives(now, Endpoint::Home(home), carried),
            ChipEvent::PacketLeaves(device, packet) => self.packet_leaves(now, device, packet),
        }
    }

    /// A packet of a device leaves.
    fn packet_leaves(&mut self, now: Time, device: u8, packet: Packet) {
        if packet.is_progress() {
            self.note_progress(now);
        }
        let Node { on_chip, events, processors, first_ports, .. } = self;
        let own = on_chip.as_mut().expect("packets need a network on chip");
        let first_port = processors.len() + first_ports[usize::from(device)];
        let Packet { from, to, lane, data_bytes, content, settles_after } = packet;
        let places = (own.place_of(first_port, from), own.place_of(first_port, to));
        let arrival = own.network.send_packet(now, places, lane.into(), data_bytes.into()) + settles_after;
        let sequence = own.sent;
        own.sent += 1;
        let envelope = Envelope { arrival, source: MESSAGES, sequence, destination: 0, payload: content };
        events.receive(envelope, |content| Event::Packet(device, to, content));
        if self.probe.is_attached() {
            self.show_packet(now, device, (packet, sequence), (places, false));
            self.show_packet(arrival, device, (packet, sequence), (places, true));
        }
    }

    /// Tells the probe of a packet of a device.
    #[cold]
    fn show_packet(
        &mut self,
        at: Time,
        device: u8,
        (packet, number): (Packet, u64),
        (places, is_there): ((u16, u16), bool),
    ) {
        let End::Tile(tile) = packet.from else { return };
        let device = usize::from(device);
        let first = self.first_ports[device];
        let to = if let End::Tile(tile) = packet.to { Some(first + usize::from(tile)) } else { None };
        let (port, bytes) = (first + usize::from(tile), packet.data_bytes);
        let name = self.devices[device].packet_name(packet.content);
        self.probe.report(at, || {
            let places = [places.0, places.1];
            probe::Event::Packet(probe::Packet { number, port, to, name, places, bytes, is_there })
        });
    }

    /// A packet of a device has come to its end.
    pub(super) fn packet_arrives(&mut self, now: Time, device: u8, to: End, content: u32) {
        let port = if let End::Tile(port) = to { port.into() } else { 0 };
        let place = self.port_of(device.into(), port);
        self.with_port(now, place, |device, context| device.packet(to, context, content));
    }

    /// Carries out what a device asks for that has a part in each tile, or holds accesses.
    #[cold]
    pub(super) fn carry_out_on_chip(&mut self, now: Time, device: usize) {
        let mut effects = std::mem::take(&mut self.device_requests.on_chip);
        for (after, packet) in effects.packets.drain(..) {
            let own = self.on_chip.as_mut().expect("a device that sends packets is on a directory");
            own.events.schedule(now + after, ChipEvent::PacketLeaves(device as u8, packet));
        }
        for (port, value, after) in effects.answers.drain(..) {
            let PortPlace { agent, on, .. } = self.port_of(device, port.into());
            let access = self.held.release(agent).expect("a port answers an access that it holds");
            let response = Response { value, ..Response::default() };
            interconnects::answer(self, now + after, on, access, response);
        }
        for block in effects.resumed.drain(..) {
            let on = self.on_chip.as_ref().expect("a home holds requests on a directory").on;
            Directory::resume(self, now, on, block);
        }
        for (tile, line, change) in effects.first_level.drain(..) {
            self.change_first_level(now, tile.into(), line, &change);
        }
        for (tile, time) in effects.busy_ports.drain(..) {
            self.occupy_second_level(now, tile.into(), now + time);
        }
        for (port, RegisterFault(problem)) in effects.faults.drain(..) {
            self.fail_on(now, port.into(), &problem);
        }
        self.device_requests.on_chip = effects;
    }

    /// The first level of a tile takes or loses a line of its scratchpad. A wait loop that it is
    /// in is another one then.
    fn change_first_level(&mut self, now: Time, tile: usize, line: u64, change: &FirstLevel) {
        match *change {
            FirstLevel::Takes(ref bytes) => {
                self.stop_watching(tile);
                self.processors[tile].memory.take_scratchpad_line(line, bytes);
            }
            FirstLevel::Loses(bytes) if self.processors[tile].memory.has_scratchpad_line(line, bytes) => {
                self.disturb(now, tile);
                self.processors[tile].memory.drop_scratchpad_line(line, bytes);
            }
            FirstLevel::Loses(_) => {}
        }
    }

    /// The port of a tile's second level is busy until then, beside its processor's accesses.
    fn occupy_second_level(&mut self, now: Time, tile: usize, until: Time) {
        self.disturb(now, tile);
        self.processors[tile].processor.occupy_second_level(until);
    }

    /// A message of the directory is at its place.
    pub(super) fn message_arrives(&mut self, now: Time, to: Endpoint, carried: Carried) {
        let own = self.on_chip.as_ref().expect("a directory has a network on chip");
        let (on, place) = (own.on, own.place(to));
        if self.probe.is_attached() {
            self.show_message(now, [place, place], &carried, true);
        }
        Directory::arrive(self, now, on, to, carried);
    }

    /// Lets each processor of a chip that has anything to do before `limit` execute, until one has
    /// stopped for something else; none if none has.
    #[inline(never)]
    pub(super) fn run_tiles(&mut self, limit: Time, lookahead: Duration) -> Option<Stop> {
        let mut active = self.processors.active(limit).map(|(index, _)| index);
        let first_two = (active.next(), active.next());
        drop(active);
        match first_two {
            (None, _) => return None,
            (Some(index), None) => self.run_tile(index, limit),
            _ => self.run_several_tiles(limit, lookahead),
        }
        Some(Stop::Horizon)
    }

    /// Lets the only processor execute that has anything to do before `limit`. The others hear of what it
    /// does by events.
    fn run_tile(&mut self, index: usize, limit: Time) {
        while self.processors[index].is_active(limit) {
            // What it has asked for is an event, too.
            let event = limit.min(self.bound(self.events.next_instant()));
            if !matches!(self.run_processor(index, event), Stop::Horizon) || self.sleepers.are_any() {
                return;
            }
        }
    }

    /// Lets several execute up to the instant at which the slowest of them could reach another one, again and
    /// again.
    fn run_several_tiles(&mut self, limit: Time, lookahead: Duration) {
        let mut turns = self.take_turns(limit);
        let mut goes_on = true;
        while goes_on && let Some(slowest) = turns.iter().map(|turn| turn.now).min() {
            let horizon = limit.min(after(slowest.saturating_add(lookahead)));
            turns.retain_mut(|turn| {
                let index = turn.index;
                if self.processors[index].is_active(horizon) {
                    // What one has asked for is the next one's event, too.
                    let event = horizon.min(self.bound(self.events.next_instant()));
                    goes_on &= matches!(self.run_processor(index, event), Stop::Horizon);
                }
                Turn::of(index, &self.processors[index], limit).map(|next| *turn = next).is_some()
            });
            goes_on &= !self.sleepers.are_any();
        }
        self.turns = turns;
    }

    /// What happens next on the network on chip, if no other event is before it.
    #[inline]
    pub(super) fn pop_on_chip(&mut self, until: Time) -> Option<(Time, ChipEvent)> {
        let other = self.events.next_instant();
        self.on_chip.as_mut()?.pop_before(until, other)
    }

    /// When the node's next event is; never, if there is none.
    #[inline]
    pub(super) fn next_event(&self) -> Time {
        let next = self.events.next_instant();
        match &self.on_chip {
            None => next,
            Some(own) => next.min(own.next_instant()),
        }
    }

    /// Up to when processors may go on, if the node stops at `stop`, or later for a call.
    #[inline(always)]
    pub(super) fn limit(&self, stop: Time, call: Option<(Time, usize)>, until: Time) -> Time {
        let stop = match &self.on_chip {
            None => stop,
            Some(own) => {
                let event = self.events.next_instant();
                let call = call.map_or(Time::NEVER, |(at, _)| at);
                event.min(call).min(own.reaches_processors_at())
            }
        };
        if stop < until { self.bound(stop) } else { until }
    }
}
