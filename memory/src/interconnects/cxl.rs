//! A CXL link: devices that cache blocks of the host, and are the home of their own, at one end; its directory at
//! the other.
//!
//! ```text
//!   directory ── port ══ down (H2D): GO, data, snoops, accesses to registers  ══► device ── caches, engines
//!   (requester,       ══ down (M2S): reads, writes of the device's blocks     ══►    └──── memory
//!    home)            ◄══ up (D2H, S2M): requests, data, answers to snoops, BISnp ══
//! ```
//!
//! **CXL.io** carries a processor's loads from registers and stores to them, of 1 byte to a block: a store is
//! posted, a load is answered by a completion. They keep their order. A store is complete for its processor
//! when the device's end has a buffer for it (`stores`).
//!
//! **CXL.cache** makes a device a requester of the host's directory. [`messages`] has the table of what its
//! transactions become. A transaction of several blocks becomes a request for each of them.
//!
//! **Where the requester is.** It could be in the device, so that the link carried the directory's own
//! messages: they may come in any order, so this would be coherent as it stands. But it would be no CXL:
//! the device would count acknowledgements of the host's caches, a home would work on one block until the
//! device's word had crossed the link, and a GO would order nothing. So the requester of the directory is in the
//! host's port ([`host_port`]), with the name of the device's agent, and the link adds what a real port does:
//! GO and data behind each other, snoops behind them, GO_WritePull, write-backs that cross a snoop. There
//! is no second protocol: what a copy or a block on its way home answers comes from the
//! directory's tables ([`crate::directory`]). The model checker runs [`HostPort`] and [`Evictions`] with the
//! home and caches of the host.
//!
//! **A write of a device** (ItoMWr, WrInv) is complete for it with the GO_WritePull: the port owns the block
//! then, and whoever asks for it waits for the data. So a device that writes data, waits for their GO and writes a
//! flag needs nothing else for a processor that sees the flag to see the data.
//!
//! **CXL.mem** makes a device the home of blocks that the host caches: an HDM-DB device, which has its own coherence
//! engine and takes copies back by BISnp (back-invalidation). On the chip such a device contains its blocks' part of
//! the directory. Here that part is split as in a real host and device. What caches of the host have the block, the
//! home in the host's port knows; what the host has as a whole, the device knows. So host's caches pass a
//! changed block on by themselves, and a request crosses only if bytes are missing or the device loses a right
//! ([`Entry::asks_home`](crate::directory::Entry::asks_home)); [`memory_port`] holds it until the answer is here.
//!
//! | the host | M2S | S2M |
//! | --- | --- | --- |
//! | read | MemRdData | Cmp-S, MemData |
//! | read_exclusive; read_once | MemRd | Cmp-E, MemData; Cmp, MemData |
//! | upgrade, invalidate, write_block | MemInv | Cmp-E |
//! | write_back, and the data of a write_block | MemWr | Cmp |
//!
//! | the device, on a block of its own | S2M | M2S |
//! | --- | --- | --- |
//! | read | BISnpData | (MemWr,) BIRspS |
//! | read_exclusive, upgrade, invalidate | BISnpInv | (MemWr,) BIRspI |
//!
//! The requester of a BISnp in the directory is the port as well, and there is no second protocol here either: the
//! home's table says what becomes of it. Bytes that a cache of the host has changed return by a MemWr in front of the
//! BIRsp, so the device finds them in its memory. A device always shares with a reader (Cmp-S), as on the chip, so
//! that it hears of the next store.
//!
//! **Dialects.** What the two ends do serves other links that let devices cache: names, sizes and whether bytes have
//! messages of their own are a [`dialect`]'s. [`coherent_link`](super::coherent_link) has another one than CXL.
//!
//! **Time.** A message takes its slots ([`messages::Message::slots`]) of the wires, each of which
//! takes its share of a flit, and then the latencies of both ports and of the wires. The device
//! asks with as many requests as there are numbers (`requests`); the directory takes as many of an agent as
//! its `transactions` say.
//!
//! **Left out**: the boundaries of flits (slots follow each other, a message need not wait for the rest of its
//! flit, and headers of several messages do not share a slot); the arbiter between CXL.io and CXL.cache (one
//! queue in order); credits of CXL.cache (a device always takes snoops and answers, the host
//! takes as many requests as there are numbers); retries; translation (ATS). Each port of a device is a cache of its own to the directory. An
//! RdOwnNoData whose copy has been lost meanwhile gets the bytes, where a device would ask again by RdOwn. Of
//! CXL.mem: the channels' freedom to pass each other, and with it the handshake of a BISnp that meets a request
//! (BIConflict), which the order of the queue replaces; exclusive copies of clean blocks (Cmp-E to a read);
//! snoops of blocks together (BISnp\*Blk); speculative reads. Memory of a device without caches (HDM-H, type 3) is
//! no interconnect, but a part of a memory of the host: [`expander`].
//!
//! | file | what it holds |
//! | --- | --- |
//! | `dialect` | what differs between links |
//! | `flits` | the dialect of CXL |
//! | `messages` | the messages, the table of transactions, slots |
//! | `host_port` | what requests wait for, and which snoops wait for them |
//! | `memory_port` | what requests for blocks of devices wait for |
//! | `device_end` | the devices' requests, their caches' answers, registers |
//! | `device_home` | blocks of which a device is the home |
//! | `expander` | a memory behind a link of its own |
//! | `host_end` | the port as a requester of the directory, and as the home of registers and of the devices' blocks |
//! | `wires` | flits, time, order |
//! | `part` | the keys of a machine's file |

#[path = "cxl/device_end.rs"]
mod device_end;
#[path = "cxl/device_home.rs"]
mod device_home;
#[path = "cxl/dialect.rs"]
pub mod dialect;
#[path = "cxl/expander.rs"]
pub mod expander;
#[path = "cxl/flits.rs"]
mod flits;
#[path = "cxl/host_end.rs"]
mod host_end;
#[path = "cxl/host_port.rs"]
pub mod host_port;
#[path = "cxl/memory_port.rs"]
pub mod memory_port;
#[path = "cxl/messages.rs"]
pub mod messages;
#[path = "cxl/part.rs"]
pub(super) mod part;
#[path = "cxl/wires.rs"]
mod wires;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Duration, Time};
use serde::{Deserialize, Serialize};

use super::accesses::NextStep;
use super::link_packets::{PacketLog, show};
use super::{
    AddressMap, Admits, AgentPorts, Home, Interconnect, InterconnectHost, InterconnectId, InterconnectModel,
    Names, Step, Words, request,
};
use crate::directory::{Blocks, Carried, Slot, Table};
use crate::transaction::{AccessReply, AgentId, Response, SnoopReply, Transaction, TransactionTag};
use device_end::DeviceEnd;
use dialect::{Dialect, Limits, LinkStatistics};
pub use flits::{Flits, Statistics};
pub use host_port::{Evictions, HostPort, Request};
pub use memory_port::{MemoryPort, Told};
pub use messages::Opcode;
use messages::{Channel, Crossing, Message, Way};
pub use part::Keys;
use wires::{Direction, Wires};

/// A CXL link with the devices behind it.
pub type Cxl = Link<Flits>;

/// A link with the devices behind it.
#[derive(Clone, Debug)]
pub struct Link<D: Dialect> {
    names: Names,
    /// The directory, and the port as the home of registers there.
    above: (InterconnectId, AgentId),
    /// The tables of the directory.
    table: &'static Table,
    wires: Wires,
    block_bytes: u32,
    ports: AgentPorts,
    homes: AddressMap,
    state: State,
    statistics: D::Statistics,
    log: PacketLog,
}

/// What a link remembers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct State {
    down: Direction,
    up: Direction,
    port: HostPort<Slot>,
    memory: MemoryPort<Slot>,
    /// Of a link that pulls no bytes: write-backs whose blocks are here, and what other requests write.
    evicted: Evictions<Slot>,
    pushed: Vec<(u8, Range<u32>, Slot)>,
    device: DeviceEnd,
    /// The bytes in messages and at both ends.
    blocks: Blocks,
    /// Buffers for stores at the device's end that are free, and those of which the host knows later.
    free_stores: u32,
    returning: VecDeque<Time>,
    /// Accesses that wait for a buffer, or behind a store that does.
    waiting: VecDeque<Crossing>,
    /// Loads under way.
    loads: usize,
    next_step: NextStep,
}

impl<D: Dialect> Link<D> {
    /// An idle link below a port of a directory with these tables.
    pub fn new(
        names: Names,
        keys: &D::Keys,
        (on, port, table): (InterconnectId, AgentId, &'static Table),
        (ports, homes): (AgentPorts, AddressMap),
        block_bytes: usize,
    ) -> Self {
        let Limits { line, requests, stores, credits } = D::limits(keys);
        Link {
            names,
            above: (on, port),
            table,
            wires: Wires::new(&line, block_bytes),
            block_bytes: block_bytes as u32,
            ports,
            homes,
            state: State {
                down: Direction::new(Way::Down, credits),
                up: Direction::new(Way::Up, credits),
                port: HostPort::default(),
                memory: MemoryPort::default(),
                evicted: Evictions::default(),
                pushed: Vec::new(),
                device: DeviceEnd::with_numbers(requests as u8),
                blocks: Blocks::default(),
                free_stores: stores,
                returning: VecDeque::new(),
                waiting: VecDeque::new(),
                loads: 0,
                next_step: NextStep::default(),
            },
            statistics: D::Statistics::default(),
            log: PacketLog::default(),
        }
    }

    fn of<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Self {
        D::link(composition.interconnect(on)).expect("the number is that of the link")
    }

    /// The port of a device that is the home of an address.
    fn home(&self, address: u64) -> Option<AgentId> {
        match self.homes.find(address)? {
            Home::Agent(agent) => Some(agent),
            _ => None,
        }
    }

    fn is_home(&self, agent: AgentId, address: u64) -> bool {
        self.home(address) == Some(agent)
    }

    fn send_down(&mut self, now: Time, message: Message) {
        self.state.down.send::<D>(now, message, &self.wires, (&mut self.statistics, &mut self.log));
    }

    fn send_up(&mut self, now: Time, message: Message) {
        self.state.up.send::<D>(now, message, &self.wires, (&mut self.statistics, &mut self.log));
    }

    /// Sends what has waited for buffers of the other ends; whether anything has left.
    fn send_waiting(&mut self, now: Time) -> bool {
        let Link { state: State { down, up, .. }, wires, statistics, log, .. } = self;
        let has_sent = down.go_on::<D>(now, wires, (statistics, log));
        up.go_on::<D>(now, wires, (statistics, log)) || has_sent
    }

    /// A buffer of the device's end is free.
    fn free_at_device(&mut self, now: Time, channel: Channel) {
        self.state.down.release(now + self.wires.credit_latency, channel);
    }

    /// A buffer of the host's end is free.
    fn free_at_host(&mut self, now: Time, channel: Channel) {
        self.state.up.release(now + self.wires.credit_latency, channel);
    }

    /// Advances all that may advance at `now`, and schedules the next step.
    fn go_on<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        while Self::work_at_device(composition, now, on)
            || Self::work_at_host(composition, now, on)
            || Self::of(composition, on).send_waiting(now)
        {}
        let own = Self::of(composition, on);
        let upper = own.above.0;
        let wanting = own.ports.iter().map(|port| port.agent).filter(|&agent| own.state.port.wants(agent));
        for agent in wanting.collect::<Vec<_>>() {
            request(composition, now, upper, agent);
        }
        Self::schedule_next(composition, now, on);
    }

    fn schedule_next<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        Self::of(composition, on).send_waiting(now);
        let is_observed = composition.is_observed();
        let packets = Self::of(composition, on).log.take(is_observed);
        show(composition, on, packets);
        let state = &mut Self::of(composition, on).state;
        let State { down, up, device, returning, .. } = state;
        let credit = returning.front().copied();
        let times = [down.next_time(), up.next_time(), device.next_time(), credit];
        if let Some(next) = state.next_step.brought_forward(now, times) {
            composition.schedule(next, on, Step::Release);
        }
    }
}

impl<D: Dialect> InterconnectModel for Link<D> {
    const KIND: &'static str = D::KIND;
    const ADMITS: Admits = Admits { coherent_devices: true, ..Admits::NOTHING };
    const OVERLAPS: bool = true;
    const POSTS_ACCESSES: bool = true;

    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        if Self::of(composition, on).state.device.asking.ask(now, agent) {
            composition.schedule(now, on, Step::Grant);
        }
    }

    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => {
                while let Some(agent) = Self::of(composition, on).state.device.asking.next(now) {
                    Self::grant_to(composition, now, on, agent);
                }
            }
            Step::Release => {
                Self::of(composition, on).state.next_step.has_come(now);
                Self::go_on(composition, now, on);
            }
            Step::Address | Step::Forward => unreachable!("a link is no bus and no directory"),
        }
    }

    fn answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        access: (AgentId, TransactionTag),
        response: Response,
    ) {
        Self::of(composition, on).state.device.accesses.answer(at, access, response);
        composition.schedule(at, on, Step::Release);
    }

    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::take_from_device(composition, now, on, agent);
        Self::schedule_next(composition, now, on);
    }

    fn issue_for<C: InterconnectHost>(
        composition: &mut C,
        _now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) -> Option<(Transaction, bool)> {
        let port = &mut Self::of(composition, on).state.port;
        let (Request { block, .. }, kind) = port.issue(agent)?;
        Some((Transaction::block(agent, kind, block), port.wants(agent)))
    }

    fn complete_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
        response: &Response,
    ) {
        Self::grant_request(composition, now, on, transaction, response);
        Self::go_on(composition, now, on);
    }

    fn access_from_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
    ) -> AccessReply {
        Self::take_from_above(composition, now, on, transaction)
    }

    fn owns(&mut self, agent: AgentId, block: u64) -> bool {
        let owns = self.state.port.owns(agent, block);
        if owns {
            self.statistics.keep();
        }
        owns
    }

    fn forward<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        carried: Carried,
    ) {
        let own = Self::of(composition, on);
        own.state.port.snoop(agent, carried.message.block);
        own.send_down(now, Message::Snoop(agent, carried));
        Self::schedule_next(composition, now, on);
    }

    fn ask_home<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        transaction: &Transaction,
    ) -> SnoopReply {
        Self::ask_device(composition, now, on, agent, transaction)
    }

    fn resume_home<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, block: u64) {
        Self::go_on_at_home(composition, now, on, block);
    }

    fn return_home<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        transaction: Transaction,
    ) {
        Self::return_to_device(composition, now, on, agent, transaction);
    }

    fn ports(&self) -> &AgentPorts {
        &self.ports
    }

    fn name(&self) -> &'static str {
        self.names.name
    }

    /// One nanosecond: a link has no clock that its devices could see.
    fn clock(&self) -> Clock {
        Clock::with_period(Duration::from_ns(1))
    }

    fn is_idle_at(&self, now: Time) -> bool {
        let State { down, up, port, memory, device, waiting, loads, .. } = &self.state;
        let are_registers_idle = waiting.is_empty() && *loads == 0;
        down.is_idle_at(now)
            && up.is_idle_at(now)
            && port.is_idle()
            && memory.count() == 0
            && device.is_idle()
            && are_registers_idle
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        vec![(self.names.prefix, &self.statistics)]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn peek(&self, block: u64) -> Option<&[u8]> {
        self.state.blocks.peek(block)
    }

    fn poke(&mut self, address: u64, bytes: &[u8]) {
        self.state.blocks.poke(address, bytes);
    }

    fn discard(&mut self, range: &Range<u64>) {
        self.state.blocks.discard(range);
    }

    fn message(&self, transaction: &Transaction) -> Option<&'static str> {
        let home = self.home(transaction.address);
        let opcode = Opcode::of_transaction(transaction, self.block_bytes, home);
        Some(D::text(D::name_of_request(opcode, transaction.kind)))
    }

    fn describe(&self, _words: &dyn Words) -> Option<String> {
        let (requests, snoops) = self.state.port.counts();
        let counted = [
            (requests, "requests of devices at the host's port"),
            (snoops, "snoops that devices have not answered"),
            (self.state.memory.count(), "requests of the host that wait for a device's memory"),
            (self.state.device.requests(), "requests of devices that wait for a GO"),
            (self.state.waiting.len(), "accesses of processors that wait for a buffer of the device"),
            (self.state.device.held.len(), "requests of the host that devices hold"),
            (self.state.loads, "loads of processors that wait for completions"),
            (self.state.down.waiting(), "messages to devices that wait for buffers"),
            (self.state.up.waiting(), "messages to the host that wait for buffers"),
        ];
        let words = counted.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = words.map(|(count, what)| format!("{what} ({count})")).collect();
        (!words.is_empty()).then(|| format!("{}: {}", self.names.name, words.join(", ")))
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Link {
            names: _,
            above: _,
            table: _,
            wires: _,
            block_bytes: _,
            ports: _,
            homes: _,
            state,
            statistics,
            log: _,
        } = self;
        archive.value(state)?;
        archive.value(statistics)
    }
}
