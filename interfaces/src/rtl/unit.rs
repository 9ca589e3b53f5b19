//! The hardware of one process in a FIFO interface's place: its clock edges, and what its ports for
//! the network and the bus see in them. [`super::fifo`] tells what time they keep.

use std::collections::BTreeSet;

use narthex_fabrics::Header;
use narthex_kernel::{Archive, Archived, Clock, Damage, Duration, Time};

use super::Hardware;
use super::bus::BusPort;
use super::ports::{BusPorts, Ports};
use super::simulation::Simulation;
use crate::attachment::Attachment;
use crate::half::{Context, RegisterFault};
use crate::interface::Interface;
use crate::share::Share;

/// Edges for which the design is reset.
const RESET_CYCLES: u64 = 4;

narthex_kernel::statistics! {
    /// What the hardware did.
    pub struct Statistics {
        cycles: Counter, "hardware_cycles", "cycles", "clock cycles of the hardware that were simulated: it was not quiet in them";
        accesses: Counter, "hardware_register_accesses", "accesses", "register accesses that the hardware answered";
        sent: Counter, "hardware_packets_sent", "packets", "packets that the hardware sent";
        received: Counter, "hardware_packets_received", "packets", "packets whose buffers the hardware freed";
        requests: Counter, "hardware_bus_requests", "requests", "requests of the hardware's bus port";
    }
}

/// The hardware of one process.
pub(super) struct Unit {
    pub(super) simulation: Simulation,
    pub(super) ports: Ports,
    /// Its bus port, if it has one.
    pub(super) bus: Option<BusPort>,
    /// The edge that is simulated next.
    pub(super) next: u64,
    /// Instants that were asked for and have not come.
    pub(super) awaited: BTreeSet<Time>,
    /// Words of the packet that is being sent.
    pub(super) sending: Vec<u64>,
    /// Place among what has arrived of the packet that is offered, and its words that were taken.
    pub(super) offered: (usize, usize),
    /// Buffers that became free ahead of time.
    pub(super) done_ahead: usize,
    /// An access was not answered.
    pub(super) is_silent: bool,
    pub(super) statistics: Statistics,
}

impl Unit {
    pub(super) fn new(
        hardware: &Hardware,
        model: &Interface,
        process: usize,
        scope: &str,
    ) -> Result<Self, String> {
        let mut simulation = hardware.design.instance(scope);
        let refused = |problem: &dyn std::fmt::Display| format!("hardware {}: {problem}", hardware.name);
        let ports = Ports::of(&mut simulation).map_err(|problem| refused(&problem))?;
        let bus = BusPorts::of(&mut simulation).map_err(|problem| refused(&problem))?;
        let place = model.place;
        if bus.is_some() && place.attachment != Attachment::MemoryBus {
            return Err(refused(&format!(
                "it has a bus port, and cannot be on {}: of a block that it writes in part it holds a copy, which \
                 none but a device on memory-bus may",
                place.attachment
            )));
        }
        let bus = bus.map(|ports| BusPort::new(ports, place, Share::WHOLE.send_half(process as u8)));
        simulation.set(ports.reset, 1);
        (0..RESET_CYCLES).for_each(|_| simulation.tick(ports.clock));
        simulation.set(ports.reset, 0);
        simulation.settle();
        Ok(Unit {
            simulation,
            ports,
            bus,
            next: 1,
            awaited: BTreeSet::new(),
            sending: Vec::new(),
            offered: (0, 0),
            done_ahead: 0,
            is_silent: false,
            statistics: Statistics::default(),
        })
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.simulation.is_set(self.ports.quiet)
    }

    /// All edges up to the present have happened; then the design sees what there is now.
    pub(super) fn catch_up(
        &mut self,
        context: &mut Context<'_>,
        clock: Clock,
        payload_limit: usize,
        port: usize,
    ) {
        self.free(context);
        while clock.edge(self.next) <= context.now {
            if self.is_quiet() {
                self.next = clock.number_at_or_after(context.now + Duration::from_ps(1));
                break;
            }
            self.cycle(context, clock, payload_limit, false);
        }
        if let Some(bus) = &mut self.bus {
            bus.advance(context.now, port);
        }
        self.offer(context, false);
    }

    /// Gives back the buffers that became free in cycles ahead of time.
    fn free(&mut self, context: &mut Context<'_>) {
        for _ in 0..std::mem::take(&mut self.done_ahead) {
            self.free_one(context);
        }
    }

    fn free_one(&mut self, context: &mut Context<'_>) {
        if self.offered.0 == 0 {
            let problem = "the hardware's receive_done tells of a packet that it has not taken as a whole";
            context.faults.push(RegisterFault(problem.into()));
            return;
        }
        context.network.take();
        self.offered.0 -= 1;
        self.statistics.received.increment();
    }

    /// Sets the inputs of the network's side, and lets the outputs follow.
    pub(super) fn offer(&mut self, context: &Context<'_>, is_ahead: bool) {
        let Unit { simulation, ports, bus, offered: (place, taken), .. } = self;
        let word = context.network.at(*place).map(|packet| word_of(packet.header, &packet.payload, *taken));
        simulation.set(ports.receive_valid, word.is_some().into());
        let (data, is_last) = word.unwrap_or_default();
        simulation.set(ports.receive_data, data);
        simulation.set(ports.receive_last, is_last.into());
        simulation.set(ports.send_room, context.network.has_room().into());
        simulation.set(ports.send_ready, 0);
        if let Some(bus) = bus {
            bus.offer(simulation);
        }
        simulation.settle();
        if simulation.is_set(ports.send_valid) && self.takes_word(context, is_ahead) {
            self.simulation.set(self.ports.send_ready, 1);
            self.simulation.settle();
        }
    }

    /// Whether the word at the send port is taken.
    fn takes_word(&self, context: &Context<'_>, is_ahead: bool) -> bool {
        if !self.simulation.is_set(self.ports.send_last) {
            return true;
        }
        let first = || self.simulation.get(self.ports.send_data);
        let header = Header(self.sending.first().copied().unwrap_or_else(first));
        // A header that nothing can be sent to is taken, and refused.
        !is_ahead
            && (context.network.can_send(header.peer()) || context.network.check(header.peer()).is_err())
    }

    /// One cycle: the words that move in it, and its rising edge.
    pub(super) fn cycle(
        &mut self,
        context: &mut Context<'_>,
        clock: Clock,
        payload_limit: usize,
        is_ahead: bool,
    ) {
        self.offer(context, is_ahead);
        let Unit { simulation, ports, .. } = self;
        let is_sent = simulation.is_set(ports.send_valid) && simulation.input_is_set(ports.send_ready);
        let sent = is_sent.then(|| (simulation.get(ports.send_data), simulation.is_set(ports.send_last)));
        let is_received =
            simulation.input_is_set(ports.receive_valid) && simulation.is_set(ports.receive_ready);
        let is_last = simulation.input_is_set(ports.receive_last);
        let is_done = simulation.is_set(ports.receive_done);
        if let Some(bus) = &mut self.bus {
            match bus.cycle(&self.simulation, clock.edge(self.next)) {
                Ok(true) => self.statistics.requests.increment(),
                Ok(false) => {}
                Err(fault) => context.faults.push(fault),
            }
        }
        self.edge(clock);
        self.statistics.cycles.increment();
        if let Some((word, is_last)) = sent {
            self.send(context, word, is_last, payload_limit);
        }
        if is_received {
            let (place, taken) = self.offered;
            self.offered = if is_last { (place + 1, 0) } else { (place, taken + 1) };
        }
        match (is_done, is_ahead) {
            (true, true) => self.done_ahead += 1,
            (true, false) => self.free_one(context),
            (false, _) => {}
        }
    }

    /// The rising edge that is next, and the falling one behind it.
    fn edge(&mut self, clock: Clock) {
        let Unit { simulation, ports, next, .. } = self;
        let at = clock.edge(*next).as_ps();
        *next += 1;
        if !simulation.is_recorded() {
            return simulation.tick(ports.clock);
        }
        let half = clock.cycles(1).as_ps() / 2;
        // A recording that cannot be written ends; the run goes on.
        let recorded = simulation
            .sample(at - half / 2)
            .and_then(|()| {
                simulation.rise(ports.clock);
                simulation.sample(at)
            })
            .and_then(|()| {
                simulation.fall(ports.clock);
                simulation.sample(at + half)
            });
        if recorded.is_err() {
            simulation.end_record();
            simulation.fall(ports.clock);
        }
    }

    /// A word has come out of the send port; with the last one the packet goes.
    fn send(&mut self, context: &mut Context<'_>, word: u64, is_last: bool, payload_limit: usize) {
        if self.sending.is_empty()
            && let Err(fault) = context.check(Header(word), payload_limit)
        {
            return context.faults.push(fault);
        }
        self.sending.push(word);
        if !is_last {
            return;
        }
        let header = Header(self.sending[0]);
        let words = 1 + header.payload_bytes().div_ceil(8);
        if self.sending.len() != words {
            let found = self.sending.len();
            let problem = format!(
                "the hardware's send_last ends a packet behind {found} doublewords; its header says {words}"
            );
            return context.faults.push(RegisterFault(problem));
        }
        let bytes = self.sending[1..].iter().flat_map(|word| word.to_le_bytes());
        let payload = bytes.take(header.payload_bytes()).collect();
        self.sending.clear();
        context.network.send(header, payload);
        self.statistics.sent.increment();
    }

    /// Asks for the next edge if there is anything to do, and for that of a request ahead of time.
    pub(super) fn await_edge(&mut self, context: &mut Context<'_>, clock: Clock) {
        self.awaited.retain(|&at| at > context.now);
        let works = !self.is_quiet() || self.done_ahead > 0;
        let edge = works.then(|| clock.edge(self.next));
        let request = self.bus.as_ref().and_then(BusPort::asks_at);
        for at in edge.into_iter().chain(request) {
            if self.awaited.insert(at) {
                context.timers.push(at);
            }
        }
    }
}

/// The whole cycles in which an access has to be answered that takes this time; none if there is not one.
pub(super) fn cycles_of_access(clock: Clock, access: Duration) -> Option<u64> {
    let first_behind = clock.number_at_or_after(Time::ZERO + access + Duration::from_ps(1));
    first_behind.checked_sub(1).filter(|&cycles| cycles > 0)
}

/// A doubleword of a packet, the header first, and whether it is the last one.
fn word_of(header: Header, payload: &[u8], place: usize) -> (u64, bool) {
    let is_last = place == payload.len().div_ceil(8);
    let Some(begin) = place.checked_sub(1) else { return (header.0, is_last) };
    let mut bytes = [0; 8];
    let rest = &payload[(begin * 8).min(payload.len())..];
    let length = rest.len().min(8);
    bytes[..length].copy_from_slice(&rest[..length]);
    (u64::from_le_bytes(bytes), is_last)
}

impl Archived for Unit {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Unit {
            simulation,
            ports: _,
            bus,
            next,
            awaited,
            sending,
            offered,
            done_ahead,
            is_silent,
            statistics,
        } = self;
        let mut state = simulation.state();
        archive.value(&mut state)?;
        archive.ensure(simulation.restore(&state), "the hardware's state is another design's")?;
        if let Some(bus) = bus {
            bus.archive(archive)?;
        }
        archive.value(next)?;
        archive.value(awaited)?;
        archive.value(sending)?;
        archive.value(offered)?;
        archive.value(done_ahead)?;
        archive.value(is_silent)?;
        archive.value(statistics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_answered_in_the_whole_cycles_that_it_has() {
        let clock = Clock::with_period(Duration::from_ns(4));
        let cycles = |ns| cycles_of_access(clock, Duration::from_ns(ns));
        assert_eq!([3, 4, 7, 60].map(cycles), [None, Some(1), Some(1), Some(15)]);
        assert_eq!(cycles_of_access(clock, Duration::ZERO), None);
    }

    #[test]
    fn a_packet_is_offered_header_first_and_its_end_is_padded() {
        let payload = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(word_of(Header(7), &payload, 0), (7, false));
        assert_eq!(word_of(Header(7), &payload, 1), (0x0807_0605_0403_0201, false));
        assert_eq!(word_of(Header(7), &payload, 2), (9, true));
        assert_eq!(word_of(Header(7), &[], 0), (7, true));
    }
}
