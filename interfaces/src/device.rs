//! What a device is to its node: ports on interconnects, registers, and ways to
//! and from the network.
//!
//! ```text
//!                   ┌────────── device ──────────┐
//!   interconnect ───┤ port 0                     │
//!   interconnect ───┤ port 1      registers      ├─── network port
//!        ...        │ ...         engines        │
//!                   └────────────────────────────┘
//! ```
//!
//! A *port* is a place on one interconnect, from which the device issues
//! transactions and on which it snoops and answers those of others. The machine's
//! file says on which interconnect each port is. A pair of halves for each process
//! of the node, an [`Interface`], is one kind of device: each half has a port. A
//! device that joins two buses has a port on each.
//!
//! | verb | when |
//! | --- | --- |
//! | [`access`](Device::access) | a processor accesses a register |
//! | [`snoop`](Device::snoop) | another agent's transaction on a block passes by |
//! | [`home`](Device::home) | a block whose home a port is has to be read or written |
//! | [`wants`](Device::wants), [`issue`](Device::issue), [`complete`](Device::complete) | it moves blocks itself |
//! | [`network`](Device::network) | a packet has arrived, or there is room to send |
//! | [`timer`](Device::timer) | an instant that it asked for has come |
//! | [`packet`](Device::packet) | a packet between its ports on a network on chip has come |
//! | [`call`](Device::call) | a program calls it through the operating system |
//!
//! A device never calls the interconnect, a processor or another device. What others
//! want to know of it stands apart, in its [`DeviceDescription`].

use std::ops::Range;

use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archived, Duration, Time};
use narthex_memory::interconnects::Refusal;
use narthex_memory::{AccessReply, HomeReply, Kind, Response, SnoopReply, Transaction};

use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DevicePort, Engine, Layout};
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::{Context, RegisterAccess, RegisterFault, TimeToSend};
use crate::interface::Interface;
use crate::on_chip::End;
use crate::queue::QueueState;
use crate::registers::Addresses;
use narthex_memory::main_memory::PAGE_BYTES;

/// A device of a node: the verbs of its hardware.
pub trait Device: DeviceDescription + Archived + Send {
    /// The time that an uncached access takes beyond the interconnect's own cycles.
    fn access_time(&self, port: usize, kind: Kind) -> Duration;

    /// No access that may make the device send takes less beyond the interconnect's own cycles.
    fn shortest_access_time(&self) -> Duration {
        Duration::ZERO
    }

    /// A processor accesses a register of the port; an answer is put into `response`. A port that
    /// [may hold accesses](DevicePort::holds) may answer one later, in another verb
    /// ([`Effects::answers`](crate::on_chip::Effects::answers)), the oldest first.
    ///
    /// # Errors
    /// Why the access is refused.
    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault>;

    /// Whether an access was refused because no answer to it ever came: then the run says how all
    /// stands, as one that hangs does.
    fn is_silent(&self) -> bool {
        false
    }

    /// Whether an access to a register of the port that is over at `context.now` does the same
    /// whatever comes from the network at `from` or later, and the device asks for nothing because
    /// of it: then the processor may make it before that has come. Nothing else happens meanwhile.
    fn independent_of_arrivals(
        &self,
        _port: usize,
        _context: &Context<'_>,
        _transaction: &Transaction,
        _from: Time,
    ) -> bool {
        false
    }

    /// Whether the port refuses a transaction, before any agent acts on it: another
    /// agent's on a block that concerns the port, or an access to its registers. Asked
    /// where the port may refuse; see [`Refusal`].
    fn refuse(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        _transaction: &Transaction,
    ) -> Option<Refusal> {
        None
    }

    /// Another agent's transaction on a block passes by.
    fn snoop(&mut self, _port: usize, _context: &mut Context<'_>, _transaction: &Transaction) -> SnoopReply {
        SnoopReply::default()
    }

    /// A transaction on a block whose home the port is, and that no cache supplied.
    fn home(&mut self, _port: usize, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        unreachable!("this device is the home of no block, and was asked for {:#x}", transaction.address)
    }

    /// Whether the port wants to issue a transaction.
    fn wants(&self, _port: usize) -> bool {
        false
    }

    /// The port is granted its interconnect: what it issues, if still anything.
    fn issue(&mut self, _port: usize, _context: &mut Context<'_>) -> Option<Transaction> {
        None
    }

    /// The transaction that the port issued is over.
    fn complete(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        _transaction: &Transaction,
        _response: &Response,
    ) {
    }

    /// A packet has arrived, or the flow control has room that it had not before.
    fn network(&mut self, _port: usize, _context: &mut Context<'_>) {}

    /// An instant that the port asked for has come.
    fn timer(&mut self, _port: usize, _context: &mut Context<'_>) {}

    /// How long the device sends nothing because of what it hears on an interconnect, as it is
    /// now. Calls at instants that it has asked for, and from the network, do not count. None if
    /// packets may also leave at any other instant: when a program calls the device.
    fn time_to_send(&self) -> Option<TimeToSend> {
        None
    }

    /// Whether no packet ever leaves because a port is called for itself: for what has arrived, for
    /// an instant, or for a transaction.
    fn sends_nothing(&self, _port: usize) -> bool {
        false
    }

    /// How long the device uses no interconnect, and asserts no line, because of what comes from
    /// the network, as it is now. What it does because of anything else does not count.
    fn time_to_interconnect(&self) -> Duration {
        Duration::ZERO
    }

    /// A packet of the device has come to its end, and has settled there. Its `content` is what
    /// the device gave it.
    fn packet(&mut self, _to: End, _context: &mut Context<'_>, content: u32) {
        unreachable!("this device sends no packets on chip, and {content} came")
    }

    /// The least time, beside the network's own, from a tile's access until what it sends
    /// changes the first level of another tile; none if it never does.
    fn reaches_first_levels_in(&self) -> Option<Duration>;

    /// A program calls the device through the operating system; the port is its process's
    /// first. What the program's call returns.
    ///
    /// # Errors
    /// The error that it returns instead.
    fn call(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        _call: &DeviceCall,
        _system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        Err(CallError::UnknownRequest)
    }
}

impl std::fmt::Debug for dyn Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ports: Vec<String> = (0..self.ports().len()).map(|port| self.queue(port).to_string()).collect();
        f.write_str(&ports.join("; "))
    }
}

/// A pair of halves for each process is a device whose ports are the halves. A
/// process's registers are behind the port of its send half.
impl Device for Interface {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, kind: Kind) -> Duration {
        match kind {
            Kind::BlockStore => self.block_store_time,
            Kind::BlockLoad => self.block_load_time,
            _ => self.register_time,
        }
    }

    fn shortest_access_time(&self) -> Duration {
        // An interface without such blocks refuses to move one.
        let blocks =
            if self.moves_blocks { self.block_store_time.min(self.block_load_time) } else { Duration::MAX };
        self.register_time.min(blocks)
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let registers = Addresses::of_process(self.share.process_of(port)).register_page();
        let offset = transaction.address - registers;
        let moves_block = matches!(transaction.kind, Kind::BlockLoad | Kind::BlockStore);
        let size = transaction.size;
        let takes = || transaction.kind == Kind::UncachedStore && self.takes(port, offset, size);
        if size != 8 && !moves_block && !takes() {
            return Err(RegisterFault(format!(
                "an access of {size} bytes to register {offset:#x}; registers have 8"
            )));
        }
        match (transaction.kind, &transaction.data) {
            (Kind::UncachedLoad, _) => response.value = self.load(port, context, offset)?,
            (Kind::BlockLoad, _) => response.data = Some(self.load_block(port, context, offset)?),
            (Kind::BlockStore, Some(block)) => self.store_block(port, context, offset, block)?,
            _ => self.store(port, context, (offset, transaction.value))?,
        }
        Ok(AccessReply::Done)
    }

    /// Both halves say so that have the register.
    fn independent_of_arrivals(
        &self,
        port: usize,
        context: &Context<'_>,
        transaction: &Transaction,
        from: Time,
    ) -> bool {
        let &Transaction { address, kind, value, size, .. } = transaction;
        let offset = address - Addresses::of_process(self.share.process_of(port)).register_page();
        let access = RegisterAccess { offset, kind, value };
        let halves = &self.halves[self.ports_beside(port)];
        let mut settled =
            halves.iter().filter_map(|half| half.independent_of_arrivals(context, access, from));
        size == 8 && settled.next().is_some_and(|first| first && settled.all(|other| other))
    }

    /// A half refuses nothing but dirty blocks, and those only where the bus carries no
    /// data from cache to cache.
    fn refuse(
        &mut self,
        port: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
    ) -> Option<Refusal> {
        self.halves[port].push(transaction).map(Refusal::Push)
    }

    fn snoop(&mut self, port: usize, context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        self.halves[port].snoop(context, transaction)
    }

    fn home(&mut self, port: usize, context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.halves[port].home(context, transaction)
    }

    fn wants(&self, port: usize) -> bool {
        self.halves[port].wants_bus()
    }

    fn issue(&mut self, port: usize, context: &mut Context<'_>) -> Option<Transaction> {
        self.halves[port].issue(context)
    }

    fn complete(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &Response,
    ) {
        self.halves[port].complete(context, transaction, response);
    }

    fn network(&mut self, port: usize, context: &mut Context<'_>) {
        self.halves[port].network(context);
    }

    fn timer(&mut self, port: usize, context: &mut Context<'_>) {
        self.halves[port].timer(context);
    }

    fn time_to_send(&self) -> Option<TimeToSend> {
        Some(self.halves.iter().fold(TimeToSend::NONE, |all, half| all.and(half.time_to_send())))
    }

    fn sends_nothing(&self, port: usize) -> bool {
        self.halves[port].time_to_send() == TimeToSend::NONE
    }

    fn time_to_interconnect(&self) -> Duration {
        let times = self.halves.iter().map(|half| half.time_to_interconnect());
        times.fold(Duration::MAX, Duration::min)
    }
}

impl DeviceDescription for Interface {
    fn ports(&self) -> Vec<DevicePort> {
        let concern = self.concern();
        let port = |(number, half): (usize, &dyn crate::InterfaceHalf)| {
            let process = self.share.process_of(number);
            let is_sender = number.is_multiple_of(2);
            let registers = Addresses::of_process(process).register_page();
            let Layout { home, holds, snoops_all, lines, .. } = half.layout();
            let concern = if snoops_all { 0..u64::MAX } else { concern.clone() };
            DevicePort {
                process,
                name: format!("the {} of process {process}'s interface", self.part(number)),
                registers: Vec::from_iter(is_sender.then_some(registers..registers + PAGE_BYTES)),
                homes: home,
                holds,
                lines_to_program: lines,
                is_coherent: !concern.is_empty(),
                concern,
                ..DevicePort::default()
            }
        };
        self.halves.iter().map(|half| &**half).enumerate().map(port).collect()
    }

    fn asserted_lines(&self, port: usize) -> u64 {
        self.halves[port].asserted_lines()
    }

    fn part(&self, port: usize) -> &'static str {
        if port.is_multiple_of(2) { "send half" } else { "receive half" }
    }

    fn ports_beside(&self, port: usize) -> Range<usize> {
        let first = port - port % 2;
        first..first + 2
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        self.sender(process).map(|send| send + 1)
    }

    fn sender(&self, process: u8) -> Option<usize> {
        self.share.serves(process).then(|| self.share.send_half(process))
    }

    fn layouts(&self, process: u8) -> Vec<Layout> {
        Interface::layouts(self, process).into()
    }

    fn name_of(&self, address: u64, block_bytes: u64) -> Option<AddressName> {
        self.address_names(block_bytes).name_of(address)
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.halves.iter().find_map(|half| half.peek(address))
    }

    fn hash_state(&self, port: usize, digest: &mut Digest) {
        self.halves[port].hash_state(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        self.halves.iter().map(|half| half.statistics()).collect()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        self.halves.iter_mut().map(|half| half.statistics_mut()).collect()
    }

    fn queue(&self, port: usize) -> QueueState {
        self.halves[port].queue()
    }

    fn engine(&self, port: usize, now: Time) -> Option<Engine> {
        self.halves[port].engine(now)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::interface::tests::build_for;

    /// The interface of a node with two processes, as its node sees it.
    fn device(name: &str) -> Interface {
        build_for(name, 2)
    }

    #[test]
    fn each_half_of_each_process_has_a_port_and_the_send_half_the_registers() {
        let device = device("CNI4");
        let ports = device.ports();
        let names: Vec<&str> = ports.iter().map(|port| &*port.name).collect();
        assert_eq!(
            names,
            [
                "the send half of process 0's interface",
                "the receive half of process 0's interface",
                "the send half of process 1's interface",
                "the receive half of process 1's interface",
            ]
        );
        let processes: Vec<u8> = ports.iter().map(|port| port.process).collect();
        assert_eq!(processes, [0, 0, 1, 1]);
        let page = Addresses::of_process(1).register_page();
        let registers: Vec<_> = ports.iter().map(|port| port.registers.len()).collect();
        assert_eq!(registers, [1, 0, 1, 0]);
        assert_eq!(ports[2].registers[0], page..page + 4096);
        for (port, description) in ports.iter().enumerate() {
            let process = description.process;
            assert_eq!(description.homes, device.layouts(process)[port % 2].home);
            assert!(description.homes.iter().all(|home| description.concern.contains(&home.start)));
            assert!(description.is_coherent);
        }
        assert_eq!([0, 1].map(|process| device.sender(process)), [Some(0), Some(2)]);
        assert_eq!([0, 1].map(|process| device.receiver(process)), [Some(1), Some(3)]);
        assert_eq!([0, 1, 2, 3].map(|port| device.ports_beside(port)), [0..2, 0..2, 2..4, 2..4]);
    }

    #[test]
    fn an_interface_without_cachable_memory_takes_no_part_in_coherence() {
        let fifo = device("NI2w");
        assert!(fifo.ports().iter().all(|port| !port.is_coherent && port.homes.is_empty()));
        assert_eq!(fifo.peek(fifo.ports()[0].registers[0].start), None);
    }

    #[test]
    fn a_device_tells_observers_what_its_halves_tell() {
        let mut device = device("CNI4");
        let home = device.ports()[3].homes[0].start;
        assert_eq!(device.peek(home), device.halves[3].peek(home));
        assert!(device.peek(home).is_some_and(|block| block.len() == 64));
        assert_eq!(device.peek(0), None);
        let process_0 = device.ports()[1].homes[0].start;
        assert!(device.name_of(process_0, 64).is_some());
        assert_eq!(device.name_of(0, 64), None);
        assert_eq!(device.queue(1).to_string(), device.halves[1].queue().to_string());
        assert!(device.queue(1).to_string().contains("receive registers"));
        assert_eq!(device.engine(1, Time::ZERO), device.halves[1].engine(Time::ZERO));
        assert!(device.engine(1, Time::ZERO).is_some_and(|engine| engine.doing.is_none()));
        let of_halves: Vec<_> = device.halves.iter().map(|half| half.statistics().descriptions()).collect();
        assert_eq!(of_halves.len(), 4);
        let statistics = device.statistics().into_iter().map(|set| set.descriptions());
        assert!(statistics.eq(of_halves.iter().copied()));
        let statistics = device.statistics_mut().into_iter().map(|set| set.descriptions());
        assert!(statistics.eq(of_halves));
    }

    #[test]
    fn the_state_of_a_port_is_told_apart() {
        let device = device("CNI4");
        let digest = |port| {
            let mut digest = Digest::default();
            device.hash_state(port, &mut digest);
            digest.value()
        };
        assert_eq!(digest(0), digest(0));
        assert_ne!(digest(0), digest(1));
        assert_ne!(digest(0), digest(2));
    }

    #[test]
    fn an_access_takes_as_long_as_the_slower_half_lets_it() {
        let device = device("NI16w+Blkbuf");
        let of = |delay: fn(&dyn crate::InterfaceHalf) -> Duration| {
            device.halves.iter().map(|half| delay(&**half)).max().expect("there are four")
        };
        let register = of(|half| half.register_delay());
        let (store, load) = (of(|half| half.block_store_delay()), of(|half| half.block_load_delay()));
        assert!(register != store && store != load && load != register);
        assert_eq!(device.access_time(0, Kind::UncachedLoad), register);
        assert_eq!(device.access_time(0, Kind::UncachedStore), register);
        assert_eq!(device.access_time(0, Kind::BlockStore), store);
        assert_eq!(device.access_time(0, Kind::BlockLoad), load);
    }
}
