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
//! **The bus.** A design with a bus port ([`super::bus`]) also issues transactions, from the ports of
//! its process.
//!
//! The model that it replaces says all that does not depend on what is in it: ports, addresses,
//! names, the time of an access.

use std::hash::Hash;
use std::ops::Range;

use narthex_fabrics::Header;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Clock, Damage, Duration, Time};
use narthex_memory::interconnects::Refusal;
use narthex_memory::{AccessReply, Kind, Response, SnoopReply, Transaction};

use super::Hardware;
use super::bus::{BusPort, TRANSACTIONS};
use super::unit::{Unit, cycles_of_access};
use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DevicePort, Engine, Layout};
use crate::device::Device;
use crate::half::{Context, RegisterFault, TimeToSend};
use crate::interface::Interface;
use crate::queue::QueueState;
use crate::registers::Addresses;
use crate::share::Share;

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
    fn see_reply(&mut self, port: usize, context: &mut Context<'_>) {
        let (unit, clock, _) = self.unit(port);
        unit.offer(context, false);
        unit.await_edge(context, clock);
    }

    fn unit(&mut self, port: usize) -> (&mut Unit, Clock, usize) {
        (&mut self.units[port / 2], self.clock, self.payload_limit)
    }
}

impl Device for RtlFifo {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        self.model.reaches_first_levels_in()
    }

    fn access_time(&self, port: usize, kind: Kind) -> Duration {
        self.model.access_time(port, kind)
    }

    fn shortest_access_time(&self) -> Duration {
        self.model.shortest_access_time()
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let &Transaction { address, kind, value, size, .. } = transaction;
        let offset = address - Addresses::of_process(Share::WHOLE.process_of(port)).register_page();
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
        let (unit, clock, payload_limit) = self.unit(port);
        unit.catch_up(context, clock, payload_limit, port);
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

    fn network(&mut self, port: usize, context: &mut Context<'_>) {
        let (unit, clock, payload_limit) = self.unit(port);
        unit.catch_up(context, clock, payload_limit, port);
        unit.await_edge(context, clock);
    }

    fn timer(&mut self, port: usize, context: &mut Context<'_>) {
        self.network(port, context);
    }

    fn refuse(
        &mut self,
        port: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
    ) -> Option<Refusal> {
        self.units[port / 2].bus.as_mut()?.push(port, transaction).map(Refusal::Push)
    }

    fn snoop(&mut self, port: usize, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        let bus = self.units[port / 2].bus.as_mut();
        bus.map_or_else(SnoopReply::default, |bus| bus.snoop(port, transaction))
    }

    fn wants(&self, port: usize) -> bool {
        self.units[port / 2].bus.as_ref().is_some_and(|bus| bus.wants(port))
    }

    fn issue(&mut self, port: usize, context: &mut Context<'_>) -> Option<Transaction> {
        let bus = self.units[port / 2].bus.as_mut().filter(|bus| bus.wants(port))?;
        let issued = bus.issue();
        if issued.is_none() {
            self.see_reply(port, context);
        }
        issued
    }

    /// Edges up to now have happened without its reply.
    fn complete(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &Response,
    ) {
        self.network(port, context);
        let bus = self.units[port / 2].bus.as_mut().expect("it has issued a transaction");
        bus.complete(transaction, response);
        self.see_reply(port, context);
    }

    fn time_to_send(&self) -> Option<TimeToSend> {
        Some(TimeToSend::AT_ONCE)
    }

    /// Without a bus port it is no master; with one it may ask for anything that it receives.
    fn time_to_interconnect(&self) -> Duration {
        if self.has_bus_port() { Duration::ZERO } else { Duration::MAX }
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
    fn ports(&self) -> Vec<DevicePort> {
        let mut ports = self.model.ports();
        if self.has_bus_port() {
            for port in &mut ports {
                (port.is_coherent, port.concern) = (true, 0..u64::MAX);
            }
        }
        ports
    }

    fn part(&self, port: usize) -> &'static str {
        self.model.part(port)
    }

    fn ports_beside(&self, port: usize) -> Range<usize> {
        self.model.ports_beside(port)
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
                // It may need transactions on blocks that it does not hold: its ports say so.
                layout.snoops_all = false;
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

    fn hash_state(&self, port: usize, digest: &mut Digest) {
        let Unit { simulation, bus, sending, offered, done_ahead, .. } = &self.units[port / 2];
        (simulation.state(), sending, offered, done_ahead).hash(digest);
        if let Some(bus) = bus {
            bus.hash(digest);
        }
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        self.units.iter().map(|unit| &unit.statistics as &dyn StatisticSet).collect()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        self.units.iter_mut().map(|unit| &mut unit.statistics as &mut dyn StatisticSet).collect()
    }

    fn queue(&self, port: usize) -> QueueState {
        let Unit { simulation, ports, bus, sending, offered, .. } = &self.units[port / 2];
        let bit = |port| u8::from(simulation.is_set(port));
        let quiet = bit(ports.quiet);
        if !port.is_multiple_of(2) {
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

    fn engine(&self, port: usize, _now: Time) -> Option<Engine> {
        let unit = &self.units[port / 2];
        Some(Engine { doing: (!unit.is_quiet()).then_some("works"), messages: 0 })
    }
}
