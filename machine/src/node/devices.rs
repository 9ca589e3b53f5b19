//! The devices in their node: what calls them, and what they see.
//!
//! A port of a device belongs to one process. Of the network port it has that
//! process's view, what it finds wrong ends that process, and as master of an
//! interconnect it reaches what that process may use.

use narthex_fabrics::port::ProcessPort;
use narthex_interfaces::Device;
use narthex_interfaces::half::{Context, RegisterFault};
use narthex_interfaces::on_chip::Effects;
use narthex_kernel::Time;
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::{self, MemoryId};
use narthex_memory::interrupt::Interrupt;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::pages::{PageKind, PageTable};
use narthex_memory::{AccessReply, AgentId, Kind, Response, Transaction};

use super::interconnect_host::PortPlace;
use super::{Event, Node, probe};

/// What devices that were called have asked for, until their node carries it out.
#[derive(Debug, Default)]
pub(super) struct DeviceRequests {
    /// Instants at which they are to be called.
    pub timers: Vec<Time>,
    /// What a program did wrong.
    pub faults: Vec<RegisterFault>,
    /// What those with a part in each tile ask for.
    pub on_chip: Effects,
}

impl DeviceRequests {
    /// What a device sees that is called at `now`, with its process's end of the network and the
    /// bytes of its local memory.
    #[inline]
    pub fn context<'a>(
        &'a mut self,
        now: Time,
        network: ProcessPort<'a>,
        local_memory: Option<&'a mut MainMemory>,
    ) -> Context<'a> {
        let DeviceRequests { timers, faults, on_chip } = self;
        Context { now, network, local_memory, timers, faults, on_chip }
    }

    /// Whether they have asked for nothing; faults aside, which end the program.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        self.timers.is_empty() && self.on_chip.is_empty()
    }
}

impl Node {
    /// An instant that a port asked for has come.
    pub(super) fn timer(&mut self, now: Time, device: usize, port: usize) {
        let number = self.first_ports[device] + port;
        self.probe.report(now, || probe::Event::Timer(number));
        let place = self.port_of(device, port);
        self.with_port(now, place, |device, context| device.timer(port, context));
    }

    /// Lets the processes use the room that there is for sending. The one that
    /// sent last comes last, so that none can keep the others from their turn.
    pub(super) fn offer_room(&mut self, now: Time) {
        let (last, processes) = (self.network.last_sender(), self.programs() as u8);
        for step in 1..=processes {
            self.announce(now, (last + step) % processes, |device, process| device.sender(process));
        }
    }

    /// A packet has arrived for a process.
    pub(super) fn announce_packet(&mut self, now: Time, process: u8) {
        self.announce(now, process, |device, process| device.receiver(process));
    }

    /// Packets have come to or gone from the relay: there is room, or something waits.
    pub(super) fn announce_relayed(&mut self, now: Time) {
        self.offer_room(now);
        (0..self.programs() as u8).for_each(|process| self.announce_packet(now, process));
    }

    /// Tells the ports that a process's packets concern that there is news from
    /// the network.
    fn announce(&mut self, now: Time, process: u8, port: impl Fn(&dyn Device, u8) -> Option<usize>) {
        for device in 0..self.devices.len() {
            if let Some(port) = port(&*self.devices[device], process) {
                let place = self.port_of(device, port);
                self.with_port(now, place, |device, context| device.network(port, context));
            }
        }
    }

    /// Calls a device for one of its ports and carries out what it wants.
    pub(super) fn with_port<R>(
        &mut self,
        now: Time,
        place: PortPlace,
        call: impl FnOnce(&mut dyn Device, &mut Context<'_>) -> R,
    ) -> R {
        self.stop_watching_buses();
        let Node { devices, network, device_requests, memories, local_memories, .. } = self;
        let local_memory = bytes_of(memories, local_memories[place.device]);
        let mut context = device_requests.context(now, network.of_process(place.process), local_memory);
        let result = call(&mut *devices[place.device], &mut context);
        self.carry_out_for_port(now, place);
        result
    }

    /// Carries out what a device asked for when one of its ports was called.
    pub(super) fn carry_out_for_port(&mut self, now: Time, place: PortPlace) {
        self.send_lookahead.of_devices.forget();
        // Mostly it asks for nothing.
        if !self.device_requests.timers.is_empty() {
            for at in self.device_requests.timers.drain(..) {
                self.events.schedule(at, Event::Timer(place.device, place.port));
            }
        }
        self.depart(now);
        self.look_at_lines(now, place.device);
        if self.devices[place.device].wants(place.port) {
            interconnects::request(self, now, place.on, place.agent);
        }
        if place.is_engine {
            self.ask_beside(now, place);
        }
        if !self.device_requests.on_chip.is_empty() {
            self.carry_out_on_chip(now, place.device);
        }
        self.report_fault(now, place.process);
    }

    /// Carries out a processor's access to a register at its end, when its data
    /// has crossed.
    pub(super) fn access_register(
        &mut self,
        now: Time,
        place: PortPlace,
        transaction: &Transaction,
        response: &mut Response,
    ) -> AccessReply {
        let PortPlace { device, port, process, .. } = place;
        let Node { devices, network, device_requests, memories, local_memories, .. } = self;
        let local_memory = bytes_of(memories, local_memories[device]);
        let mut context = device_requests.context(now, network.of_process(process), local_memory);
        let accessed = devices[device].access(port, &mut context, transaction, response);
        if accessed == Ok(AccessReply::Held) {
            self.held.hold(place.agent, transaction);
        }
        let reply = *accessed.as_ref().unwrap_or(&AccessReply::Done);
        self.carry_out_access(now, place, accessed, transaction.agent);
        reply
    }

    /// Carries out what a device asked for when a processor accessed a register.
    pub(super) fn carry_out_access(
        &mut self,
        now: Time,
        place: PortPlace,
        accessed: Result<AccessReply, RegisterFault>,
        processor: AgentId,
    ) {
        let PortPlace { device, port, process, .. } = place;
        self.send_lookahead.of_devices.forget();
        if !self.device_requests.timers.is_empty() {
            // Which port asked for the instant is not known here: all of them are called.
            let beside = self.devices[device].ports_beside(port);
            for at in self.device_requests.timers.drain(..) {
                self.events.extend(beside.clone().map(|port| (at, Event::Timer(device, port))));
            }
        }
        self.look_at_lines(now, device);
        self.depart(now);
        self.ask_beside(now, place);
        if !self.device_requests.on_chip.is_empty() {
            self.carry_out_on_chip(now, device);
        }
        self.report_fault(now, process);
        if let Err(fault) = accessed {
            self.fail_on(now, processor.0.into(), &fault.0);
        }
    }

    /// Asks for the interconnects of all ports beside one.
    #[inline]
    fn ask_beside(&mut self, now: Time, place: PortPlace) {
        for port in self.devices[place.device].ports_beside(place.port) {
            if self.devices[place.device].wants(port) {
                let PortPlace { on, agent, .. } = self.port_of(place.device, port);
                interconnects::request(self, now, on, agent);
            }
        }
    }

    /// What a process's part of a device found wrong ends that process.
    #[inline]
    fn report_fault(&mut self, now: Time, process: u8) {
        if !self.device_requests.faults.is_empty() {
            self.report_last_fault(now, process);
        }
    }

    #[cold]
    fn report_last_fault(&mut self, now: Time, process: u8) {
        let fault = self.device_requests.faults.pop().expect("there is one");
        self.device_requests.faults.clear();
        self.fail_at(now, process.into(), &fault.0);
    }

    /// Why a transaction of a device is refused: as master of an interconnect it
    /// reaches what its process may use, cachable memory that may be written if it
    /// is changed.
    pub(super) fn refusal(&self, place: PortPlace, transaction: &Transaction) -> Option<String> {
        if transaction.kind == Kind::UncachedStore && Interrupt::at(transaction.address).is_some() {
            return None;
        }
        let process = &self.processes[usize::from(place.process)];
        let pages = &process.pages;
        let reads = matches!(transaction.kind, Kind::Read | Kind::ReadOnce);
        let address =
            self.processors[process.processors.start].memory.translation().to_process(transaction.address);
        let check = if reads { PageTable::check_load } else { PageTable::check_store };
        let page = address.and_then(|address| check(pages, address).ok());
        if page.is_some_and(|page| page.kind == PageKind::Cachable) {
            return None;
        }
        let verb = if reads { "read" } else { "write" };
        let reason = self.interconnects[usize::from(place.on.0)].unowned();
        Some(format!(
            "the network interface cannot {verb} the block at {:#x} for this program, which may not {verb} \
             it as cachable memory itself ({reason})",
            transaction.address
        ))
    }
}

/// The bytes of a device's local memory, if it has one.
fn bytes_of(memories: &mut [HomeMemory], memory: Option<MemoryId>) -> Option<&mut MainMemory> {
    memory.map(|memory| &mut memories[usize::from(memory.0)].bytes)
}
