//! What a device is to its node: seats on interconnects, registers, and ways to
//! and from the network.
//!
//! ```text
//!                   ┌────────── device ──────────┐
//!   interconnect ───┤ seat 0                     │
//!   interconnect ───┤ seat 1      registers      ├─── network port
//!        ...        │ ...         engines        │
//!                   └────────────────────────────┘
//! ```
//!
//! A *seat* is a place on one interconnect, from which the device issues
//! transactions and on which it snoops and answers those of others. The machine's
//! file says on which interconnect each seat is. A pair of halves for each process
//! of the node, an [`Interface`], is one kind of device: each half has a seat. A
//! device that joins two buses has a seat on each.
//!
//! | verb | when |
//! | --- | --- |
//! | [`access`](Device::access) | a processor accesses a register |
//! | [`snoop`](Device::snoop) | another agent's transaction on a block passes by |
//! | [`home`](Device::home) | a block whose home a seat is has to be read or written |
//! | [`wants`](Device::wants), [`issue`](Device::issue), [`complete`](Device::complete) | it moves blocks itself |
//! | [`network`](Device::network) | a packet has arrived, or there is room to send |
//! | [`timer`](Device::timer) | an instant that it asked for has come |
//!
//! A device never calls the interconnect, a processor or another device. What others
//! want to know of it stands apart, in its [`DeviceDescription`].

use std::hash::Hasher;
use std::ops::Range;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archived, Duration, Time};
use narthex_memory::{HomeReply, Kind, Response, SnoopReply, Transaction};

use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DeviceSeat, Engine, Layout};
use crate::half::{Context, RegisterFault};
use crate::interface::Interface;
use crate::queue::QueueState;
use crate::registers::Addresses;
use narthex_memory::main_memory::PAGE_BYTES;

/// A device of a node: the verbs of its hardware.
pub trait Device: DeviceDescription + Archived + Send {
    /// The time that an uncached access takes beyond the interconnect's own cycles.
    fn access_time(&self, seat: usize, kind: Kind) -> Duration;

    /// A processor accesses a register of the seat; an answer is put into `response`.
    ///
    /// # Errors
    /// Why the access is refused.
    fn access(
        &mut self,
        seat: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), RegisterFault>;

    /// Another agent's transaction on a block passes by.
    fn snoop(&mut self, _seat: usize, _context: &mut Context<'_>, _transaction: &Transaction) -> SnoopReply {
        SnoopReply::default()
    }

    /// A transaction on a block whose home the seat is, and that no cache supplied.
    fn home(&mut self, _seat: usize, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        unreachable!("this device is the home of no block, and was asked for {:#x}", transaction.address)
    }

    /// Whether the seat wants to issue a transaction.
    fn wants(&self, _seat: usize) -> bool {
        false
    }

    /// The seat is granted its interconnect: what it issues, if still anything.
    fn issue(&mut self, _seat: usize, _context: &mut Context<'_>) -> Option<Transaction> {
        None
    }

    /// The transaction that the seat issued is over.
    fn complete(
        &mut self,
        _seat: usize,
        _context: &mut Context<'_>,
        _transaction: &Transaction,
        _response: &Response,
    ) {
    }

    /// A packet has arrived, or the flow control has room that it had not before.
    fn network(&mut self, _seat: usize, _context: &mut Context<'_>) {}

    /// An instant that the seat asked for has come.
    fn timer(&mut self, _seat: usize, _context: &mut Context<'_>) {}
}

impl std::fmt::Debug for dyn Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seats: Vec<String> = (0..self.seats().len()).map(|seat| self.queue(seat).to_string()).collect();
        f.write_str(&seats.join("; "))
    }
}

/// A pair of halves for each process is a device whose seats are the halves. A
/// process's registers are behind the seat of its send half.
impl Device for Interface {
    fn access_time(&self, _seat: usize, kind: Kind) -> Duration {
        Interface::access_time(self, kind)
    }

    fn access(
        &mut self,
        seat: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), RegisterFault> {
        let registers = Addresses::of_process(Interface::process_of(seat)).register_page();
        let offset = transaction.address - registers;
        let moves_block = matches!(transaction.kind, Kind::BlockLoad | Kind::BlockStore);
        if transaction.size != 8 && !moves_block {
            let size = transaction.size;
            return Err(RegisterFault(format!(
                "an access of {size} bytes to register {offset:#x}; registers have 8"
            )));
        }
        match (transaction.kind, &transaction.data) {
            (Kind::UncachedLoad, _) => self.load(context, offset).map(|value| response.value = value),
            (Kind::BlockLoad, _) => self.load_block(context, offset).map(|block| response.data = Some(block)),
            (Kind::BlockStore, Some(block)) => self.store_block(context, offset, block),
            _ => self.store(context, offset, transaction.value),
        }
    }

    fn snoop(&mut self, seat: usize, context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        self.halves[seat].snoop(context, transaction)
    }

    fn home(&mut self, seat: usize, context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.halves[seat].home(context, transaction)
    }

    fn wants(&self, seat: usize) -> bool {
        self.halves[seat].wants_bus()
    }

    fn issue(&mut self, seat: usize, context: &mut Context<'_>) -> Option<Transaction> {
        self.halves[seat].issue(context)
    }

    fn complete(
        &mut self,
        seat: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &Response,
    ) {
        self.halves[seat].complete(context, transaction, response);
    }

    fn network(&mut self, seat: usize, context: &mut Context<'_>) {
        self.halves[seat].network(context);
    }

    fn timer(&mut self, seat: usize, context: &mut Context<'_>) {
        self.halves[seat].timer(context);
    }
}

impl DeviceDescription for Interface {
    fn seats(&self) -> Vec<DeviceSeat> {
        let concern = self.concern();
        let seat = |(number, half): (usize, &dyn crate::InterfaceHalf)| {
            let process = Interface::process_of(number);
            let is_sender = number == Interface::send_half(process);
            let registers = Addresses::of_process(process).register_page();
            let Layout { home, snoops_all, .. } = half.layout();
            let concern = if snoops_all { 0..u64::MAX } else { concern.clone() };
            let direction = if is_sender { "send" } else { "receive" };
            DeviceSeat {
                process,
                name: format!("the {direction} half of process {process}'s interface"),
                registers: Vec::from_iter(is_sender.then_some(registers..registers + PAGE_BYTES)),
                homes: home,
                is_coherent: !concern.is_empty(),
                concern,
            }
        };
        self.halves.iter().map(|half| &**half).enumerate().map(seat).collect()
    }

    fn seats_beside(&self, seat: usize) -> Range<usize> {
        let first = Interface::send_half(Interface::process_of(seat));
        first..first + 2
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        Some(Interface::receive_half(process))
    }

    fn sender(&self, process: u8) -> Option<usize> {
        Some(Interface::send_half(process))
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

    fn hash_state(&self, seat: usize, hasher: &mut dyn Hasher) {
        self.halves[seat].hash_state(hasher);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        self.halves.iter().map(|half| half.statistics()).collect()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        self.halves.iter_mut().map(|half| half.statistics_mut()).collect()
    }

    fn queue(&self, seat: usize) -> QueueState {
        self.halves[seat].queue()
    }

    fn engine(&self, seat: usize, now: Time) -> Option<Engine> {
        self.halves[seat].engine(now)
    }
}
