//! RTL in the place of a FIFO interface ([`crate::fifo`]): the registers of its model, the packets
//! that it sends and receives, and in between whatever the design does.
//!
//! ```text
//!   processor ─── register_* ──┐            ┌── send_* ────► assembled packet ─► flow control
//!                              ├── design ──┤
//!                 clock, quiet ┘            └── receive_* ◄─ packets in the flow control's buffers
//! ```
//!
//! **Time.** Rising edge `n` of the design's clock is at its own instant. What a call sets at an
//! instant is seen by the first edge behind it; an edge at that instant has happened before. While
//! the design is not `quiet` the device asks for the instant of each edge; while it is, edges are
//! counted and not simulated, and nothing is asked for.
//!
//! **Registers.** A register access lasts what the interconnect and the machine's file say
//! (`register_access_time` of the model), and the design sees it at the end of that. It is carried out
//! in the edges that follow at once, ahead of the node's time: one if the design answers in the same
//! cycle. It may take no more cycles than `register_access_time` has, or else the program would not
//! have waited for what it loads. In cycles ahead of time no packet leaves and no buffer becomes free:
//! the last word of a packet is not taken, and what `receive_done` tells is kept until then.
//!
//! **The network.** Words of a packet are collected; with the last one, which is taken only if the
//! flow control has room at its destination, the packet is sent. What has arrived is offered word by
//! word, the packets behind the first one too, while their buffers stay occupied until
//! `receive_done`.
//!
//! **The bus.** A design with a bus port ([`super::bus`]) also issues transactions, from the seats of
//! its process.
//!
//! The model that it replaces says all that does not depend on what is in it: seats, addresses,
//! names, the time of an access.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Clock, Damage, Duration, Time};
use narthex_memory::interconnects::Refusal;
use narthex_memory::{AccessReply, Kind, Response, SnoopReply, Transaction};

use super::Hardware;
use super::bus::{BusPort, TRANSACTIONS};
use super::ports::{BusPorts, Ports};
use super::simulation::Simulation;
use crate::address_names::AddressName;
use crate::attachment::Attachment;
use crate::description::{DeviceDescription, DeviceSeat, Engine, Layout};
use crate::device::Device;
use crate::half::{Context, Reaction, RegisterFault};
use crate::interface::Interface;
use crate::queue::QueueState;
use crate::registers::Addresses;

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
struct Unit {
    simulation: Simulation,
    ports: Ports,
    /// Its bus port, if it has one.
    bus: Option<BusPort>,
    /// The edge that is simulated next.
    next: u64,
    /// Instants that were asked for and have not come.
    awaited: BTreeSet<Time>,
    /// Words of the packet that is being sent.
    sending: Vec<u64>,
    /// Place among what has arrived of the packet that is offered, and its words that were taken.
    offered: (usize, usize),
    /// Buffers that became free ahead of time.
    done_ahead: usize,
    /// An access was not answered.
    is_silent: bool,
    statistics: Statistics,
}

/// The device; see the module's description.
pub struct RtlFifo {
    model: Interface,
    name: String,
    clock: Clock,
    payload_limit: usize,
    /// The cycles in which an access has to be answered.
    longest_answer: u64,
    units: Vec<Unit>,
}

impl RtlFifo {
    /// The hardware in the place of its model, for packets of `packet_bytes`; `scope` is what waves
    /// call its node.
    ///
    /// # Errors
    /// If the design has not the ports of a FIFO, its clock is slower than register accesses, or it has
    /// a bus port and is where no device caches memory.
    pub fn new(
        model: Interface,
        hardware: &Hardware,
        packet_bytes: u64,
        scope: &str,
    ) -> Result<Self, String> {
        let Hardware { name, clock, .. } = hardware;
        let clock = clock.ok_or_else(|| format!("hardware {name}: it states no clock"))?;
        let longest_answer = cycles_of_access(clock, model.register_time).ok_or_else(|| {
            format!(
                "hardware {}: its clock has a period of {}, longer than a register access, which takes {} beyond the \
                 interconnect (register_access_time of the machine's [interfaces]): no access could be answered in it",
                name,
                clock.cycles(1),
                model.register_time
            )
        })?;
        let processes = model.halves.len() / 2;
        let units = (0..processes)
            .map(|process| Unit::new(hardware, &model, process, &format!("{scope} process_{process}")))
            .collect::<Result<_, _>>()?;
        let payload_limit = packet_bytes as usize - Header::BYTES;
        Ok(RtlFifo { model, name: name.clone(), clock, payload_limit, longest_answer, units })
    }

    /// Writes how the signals of the first process's hardware change into a VCD file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record(&mut self, file: &std::path::Path) -> std::io::Result<()> {
        self.units[0].simulation.record(file)
    }

    /// Whether the design has a bus port.
    pub fn has_bus_port(&self) -> bool {
        self.units.iter().any(|unit| unit.bus.is_some())
    }

    /// The design sees what its bus port has got.
    fn see_reply(&mut self, seat: usize, context: &mut Context<'_>) {
        let (unit, clock, _) = self.unit(seat);
        unit.offer(context, false);
        unit.await_edge(context, clock);
    }

    fn unit(&mut self, seat: usize) -> (&mut Unit, Clock, usize) {
        (&mut self.units[seat / 2], self.clock, self.payload_limit)
    }
}

impl Unit {
    fn new(hardware: &Hardware, model: &Interface, process: usize, scope: &str) -> Result<Self, String> {
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
        let bus = bus.map(|ports| BusPort::new(ports, place, Interface::send_half(process as u8)));
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

    fn is_quiet(&self) -> bool {
        self.simulation.is_set(self.ports.quiet)
    }

    /// All edges up to the present have happened; then the design sees what there is now.
    fn catch_up(&mut self, context: &mut Context<'_>, clock: Clock, payload_limit: usize, seat: usize) {
        self.free(context);
        while clock.edge(self.next) <= context.now {
            if self.is_quiet() {
                self.next = clock.number_at_or_after(context.now + Duration::from_ps(1));
                break;
            }
            self.cycle(context, clock, payload_limit, false);
        }
        if let Some(bus) = &mut self.bus {
            bus.advance(context.now, seat);
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
    fn offer(&mut self, context: &Context<'_>, is_ahead: bool) {
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
    fn cycle(&mut self, context: &mut Context<'_>, clock: Clock, payload_limit: usize, is_ahead: bool) {
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
    fn await_edge(&mut self, context: &mut Context<'_>, clock: Clock) {
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
fn cycles_of_access(clock: Clock, access: Duration) -> Option<u64> {
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

impl Device for RtlFifo {
    fn access_time(&self, seat: usize, kind: Kind) -> Duration {
        self.model.access_time(seat, kind)
    }

    fn shortest_access_time(&self) -> Duration {
        self.model.shortest_access_time()
    }

    fn access(
        &mut self,
        seat: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let &Transaction { address, kind, value, size, .. } = transaction;
        let offset = address - Addresses::of_process(Interface::process_of(seat)).register_page();
        if size != 8 || !kind.is_uncached() {
            let problem = format!("an access of {size} bytes to register {offset:#x}; registers have 8");
            return Err(RegisterFault(problem));
        }
        let longest = self.longest_answer;
        let is_store = kind != Kind::UncachedLoad;
        let what = |name: &str, told: &str| {
            let access = if is_store { "store to" } else { "load from" };
            RegisterFault(format!("a {access} register {offset:#x} of the hardware {name}: {told}"))
        };
        let name = self.name.clone();
        let (unit, clock, payload_limit) = self.unit(seat);
        unit.catch_up(context, clock, payload_limit, seat);
        let Unit { simulation, ports, .. } = unit;
        simulation.set(ports.register_valid, 1);
        simulation.set(ports.register_write, is_store.into());
        simulation.set(ports.register_address, offset);
        simulation.set(ports.register_write_data, if is_store { value } else { 0 });
        unit.offer(context, true);
        let mut cycles = 1;
        while !unit.simulation.is_set(unit.ports.register_ready) {
            if cycles == longest {
                let told = format!(
                    "its port register_ready stayed 0 for {cycles} cycles, which are all that register_access_time \
                     of the machine's [interfaces] has"
                );
                unit.is_silent = true;
                return Err(what(&name, &told));
            }
            cycles += 1;
            unit.cycle(context, clock, payload_limit, true);
            unit.offer(context, true);
        }
        response.value = unit.simulation.get(unit.ports.register_read_data);
        let is_refused = unit.simulation.is_set(unit.ports.register_fault);
        unit.cycle(context, clock, payload_limit, true);
        unit.simulation.set(unit.ports.register_valid, 0);
        unit.offer(context, false);
        unit.statistics.accesses.increment();
        unit.await_edge(context, clock);
        match is_refused {
            false => Ok(AccessReply::Done),
            true => Err(what(&name, "its port register_fault is 1")),
        }
    }

    fn is_silent(&self) -> bool {
        self.units.iter().any(|unit| unit.is_silent)
    }

    fn network(&mut self, seat: usize, context: &mut Context<'_>) {
        let (unit, clock, payload_limit) = self.unit(seat);
        unit.catch_up(context, clock, payload_limit, seat);
        unit.await_edge(context, clock);
    }

    fn timer(&mut self, seat: usize, context: &mut Context<'_>) {
        self.network(seat, context);
    }

    fn refuse(
        &mut self,
        seat: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
    ) -> Option<Refusal> {
        self.units[seat / 2].bus.as_mut()?.push(seat, transaction).map(Refusal::Push)
    }

    fn snoop(&mut self, seat: usize, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        let bus = self.units[seat / 2].bus.as_mut();
        bus.map_or_else(SnoopReply::default, |bus| bus.snoop(seat, transaction))
    }

    fn wants(&self, seat: usize) -> bool {
        self.units[seat / 2].bus.as_ref().is_some_and(|bus| bus.wants(seat))
    }

    fn issue(&mut self, seat: usize, context: &mut Context<'_>) -> Option<Transaction> {
        let bus = self.units[seat / 2].bus.as_mut().filter(|bus| bus.wants(seat))?;
        let issued = bus.issue();
        if issued.is_none() {
            self.see_reply(seat, context);
        }
        issued
    }

    /// Edges up to now have happened without its reply.
    fn complete(
        &mut self,
        seat: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &Response,
    ) {
        self.network(seat, context);
        let bus = self.units[seat / 2].bus.as_mut().expect("it has issued a transaction");
        bus.complete(transaction, response);
        self.see_reply(seat, context);
    }

    fn reaction(&self) -> Option<Reaction> {
        Some(Reaction::AT_ONCE)
    }

    /// Without a bus port it is no master; with one it may ask for anything that it receives.
    fn time_to_interconnect(&self) -> Duration {
        if self.has_bus_port() { Duration::ZERO } else { Duration::MAX }
    }
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

impl Archived for RtlFifo {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let RtlFifo { model: _, name: _, clock: _, payload_limit: _, longest_answer: _, units } = self;
        archive.each(units)
    }
}

impl DeviceDescription for RtlFifo {
    /// A bus port may hold a copy of any block.
    fn seats(&self) -> Vec<DeviceSeat> {
        let mut seats = self.model.seats();
        if self.has_bus_port() {
            for seat in &mut seats {
                (seat.is_coherent, seat.concern) = (true, 0..u64::MAX);
            }
        }
        seats
    }

    fn part(&self, seat: usize) -> &'static str {
        self.model.part(seat)
    }

    fn seats_beside(&self, seat: usize) -> Range<usize> {
        self.model.seats_beside(seat)
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        self.model.receiver(process)
    }

    fn sender(&self, process: u8) -> Option<usize> {
        self.model.sender(process)
    }

    fn layouts(&self, process: u8) -> Vec<Layout> {
        let mut layouts = DeviceDescription::layouts(&self.model, process);
        if self.has_bus_port() {
            for layout in &mut layouts {
                layout.transactions.extend(TRANSACTIONS);
                layout.snoops_all = true;
            }
        }
        layouts
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.units.iter().find_map(|unit| unit.bus.as_ref()?.peek(address))
    }

    fn name_of(&self, address: u64, block_bytes: u64) -> Option<AddressName> {
        self.model.name_of(address, block_bytes)
    }

    fn hash_state(&self, seat: usize, mut hasher: &mut dyn Hasher) {
        let Unit { simulation, bus, sending, offered, done_ahead, .. } = &self.units[seat / 2];
        (simulation.state(), sending, offered, done_ahead).hash(&mut hasher);
        if let Some(bus) = bus {
            bus.hash(hasher);
        }
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        self.units.iter().map(|unit| &unit.statistics as &dyn StatisticSet).collect()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        self.units.iter_mut().map(|unit| &mut unit.statistics as &mut dyn StatisticSet).collect()
    }

    fn queue(&self, seat: usize) -> QueueState {
        let Unit { simulation, ports, bus, sending, offered, .. } = &self.units[seat / 2];
        let bit = |port| u8::from(simulation.is_set(port));
        let quiet = bit(ports.quiet);
        if seat != Interface::send_half(Interface::process_of(seat)) {
            let (packets, words) = offered;
            let note = format!(
                "the hardware {} has taken {packets} of the packets that wait and {words} words of the next one \
                 (its ports: receive_ready={}, receive_done={}, quiet={quiet})",
                self.name,
                bit(ports.receive_ready),
                bit(ports.receive_done),
            );
            return QueueState::of("receive side", *packets as u64, None).with_note(note);
        }
        let is_held = simulation.is_set(ports.send_valid) && simulation.is_set(ports.send_last);
        let request = bus.as_ref().map(BusPort::describe).filter(|request| !request.is_empty());
        let request = request.map_or_else(String::new, |request| format!("; {request}"));
        let first = sending.first().copied();
        let header = Header(first.unwrap_or_else(|| simulation.get(ports.send_data)));
        let note = format!(
            "the hardware {} has handed over {} words of a packet (its ports: register_valid={}, register_ready={}, \
             send_valid={}, send_last={}, quiet={quiet}){request}",
            self.name,
            sending.len(),
            u8::from(simulation.input_is_set(ports.register_valid)),
            bit(ports.register_ready),
            bit(ports.send_valid),
            bit(ports.send_last),
        );
        QueueState::of("send side", u64::from(is_held), None)
            .in_front_of_the_network()
            .held_for(is_held.then(|| header.peer()))
            .with_note(note)
    }

    fn engine(&self, seat: usize, _now: Time) -> Option<Engine> {
        let unit = &self.units[seat / 2];
        Some(Engine { doing: (!unit.is_quiet()).then_some("works"), messages: 0 })
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
