//! The device as its node has it: two ports, and which part serves what.
//!
//! The port on the host's bus has pointer windows, buffers and serviced space; it is the home
//! of the buffers, issues what the bus unit does, and refuses what waits for the firmware. The
//! port on the service processor's bus has the firmware's registers and is the home of both
//! SRAM banks. The hardware keeps no cached copy of SRAM coherent.
//!
//! The units share one step ([`Voyager::move_on`]): after each verb all of them go on until
//! none can.

use std::hash::Hash;
use std::ops::Range;

use narthex_fabrics::Header;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use narthex_memory::interconnects::Refusal;
use narthex_memory::{AccessReply, HomeReply, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::blocks::BlockUnits;
use super::bus_unit::BusUnit;
use super::commands::{Commands, Issuer};
use super::config::Config;
use super::layout::{DecodedAddress, Direction, Layout};
use super::ports::Latches;
use super::queues::{MISS, Queue, QueueFile};
use super::receive::ReceiveUnit;
use super::registers::{
    CACHABLE_RECEIVE_HEAD, CACHABLE_SEND_HEAD, CACHABLE_TAIL, MOST_QUEUES, MOST_SRAM, POINTER_STATUS,
    QUEUE_CLOSED, QueueKind, SOURCES, VOYAGER_MAP, VOYAGER_REGISTERS, VOYAGER_SRAM, VOYAGER_SRAM_UNCACHED,
    fact, fault,
};
use super::space::Space;
use super::sram::Sram;
use super::transmit::{LARGEST_PAYLOAD, TransmitUnit};
use crate::address_names::AddressName;
use crate::cachable_queue;
use crate::description::{self, DeviceDescription, DevicePort, Engine, LargestPacket};
use crate::device::Device;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::{Context, RegisterFault};
use crate::queue::QueueState;
use crate::registers::FIRST_POINTER;

/// The port on the bus of the application processors.
pub const HOST: usize = 0;
/// The port on the bus of the service processor.
pub const SERVICE: usize = 1;

/// The driver stores the tail pointer to announce a message.
const ANNOUNCES_TAIL: u64 = 1;

/// What a voyager device is built for.
#[derive(Clone, Debug)]
pub struct Build {
    /// How its library keeps queues.
    pub kind: QueueKind,
    /// Its parameters.
    pub config: Config,
    /// What lies where.
    pub layout: Layout,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
}

narthex_kernel::statistics! {
    /// What a voyager device did.
    pub struct Statistics {
        sent: Counter, "voyager_packets_sent", "packets", "basic messages that the transmit unit sent";
        received: Counter, "voyager_packets_received", "packets", "basic messages that came to resident queues";
        missed: Counter, "voyager_packets_missed", "packets", "basic messages that came to the miss queue";
        held: Counter, "voyager_packets_held", "packets", "packets that waited in the network for a free slot";
        dropped: Counter, "voyager_packets_dropped", "packets", "basic messages that went because their queue has an error";
        refused: Counter, "voyager_messages_refused", "messages", "messages with a wrong destination or length, which stopped their queue";
        pointer_stores: Counter, "voyager_pointer_stores", "stores", "stores to pointer windows";
        captured: Counter, "voyager_pointer_stores_captured", "stores", "those among them that the firmware had to carry out";
        retried: Counter, "voyager_accesses_retried", "accesses", "accesses of processors that wait for the firmware, each time that they were refused";
        commands: Counter, "voyager_commands", "commands", "local commands that began";
        switched_out: Counter, "voyager_queues_switched_out", "queues", "physical queues that were taken from their logical ones";
        blocks_sent: Counter, "voyager_block_packets_sent", "packets", "packets of block transfers that were sent";
        remote_writes: Counter, "voyager_remote_writes", "packets", "packets of block transfers that came to host memory";
        remote_refused: Counter, "voyager_remote_writes_refused", "packets", "those that had an address that their process has not registered";
        calls: Counter, "voyager_calls", "calls", "calls of the kernel agent";
    }
}

/// What changes in a voyager device.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub sram: Sram,
    pub queues: QueueFile,
    pub transmit: TransmitUnit,
    pub receive: ReceiveUnit,
    pub commands: Commands,
    pub bus: BusUnit,
    pub blocks: BlockUnits,
    pub space: Space,
    pub agent: Agent,
    pub latches: Latches,
    /// Physical queues that commands take away.
    pub leaving: Vec<(Direction, usize, Issuer)>,
}

/// The device; see the module's description.
#[derive(Clone, Debug)]
pub struct Voyager {
    pub(super) build: Build,
    pub(super) state: State,
    pub(super) statistics: Statistics,
}

impl Voyager {
    /// A device to which nothing has happened.
    pub fn new(build: Build) -> Self {
        let Build { config, layout, block_bytes, .. } = &build;
        let lines = u64::from(layout.processes) * layout.snooped / block_bytes;
        let mut queues = QueueFile::new(config.physical_queues, config.logical_queues);
        *queues.queue_mut(Direction::Receive, MISS) = Queue {
            is_enabled: true,
            base: layout.miss,
            headers: layout.miss_headers,
            slots: config.miss_slots as u16,
            ..Queue::default()
        };
        let mut sram = Sram::new(layout.bank_bytes());
        for direction in Direction::BOTH {
            let logical = 0..config.logical_queues;
            let shadows = logical.map(|logical| layout.shadow(direction, logical as u8));
            shadows.for_each(|shadow| sram.set_word(shadow + POINTER_STATUS, QUEUE_CLOSED));
        }
        let state = State {
            sram,
            queues,
            transmit: TransmitUnit::new(),
            receive: ReceiveUnit::default(),
            commands: Commands::new(config.command_words, config.completions, layout.processes),
            bus: BusUnit::new(*block_bytes),
            blocks: BlockUnits::new(config.channels, layout.processes),
            space: Space::new(config.captures, config.approvals, lines),
            agent: Agent::new(config.logical_queues, layout.processes),
            latches: Latches::default(),
            leaving: Vec::new(),
        };
        let mut device = Voyager { build, state, statistics: Statistics::default() };
        device.prepare();
        device
    }

    /// Lets all units go on as far as they can now.
    pub(super) fn move_on(&mut self, context: &mut Context<'_>) {
        while self.step(context) {}
    }

    fn step(&mut self, context: &mut Context<'_>) -> bool {
        let mut went_on = false;
        while let Some(done) = self.state.bus.take_done() {
            self.end_job(done, None);
            went_on = true;
        }
        went_on |= self.step_completed();
        went_on |= self.step_transmit(context);
        went_on |= self.step_receive(context);
        went_on |= self.step_block_transmit(context);
        went_on |= self.step_leaving();
        went_on |= self.step_remote();
        went_on | self.step_commands(context)
    }
}

impl Device for Voyager {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        self.build.config.register_access_time
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let done = match port {
            HOST => self.access_by_host(transaction, response),
            _ => self.access_by_firmware(context, transaction, response),
        };
        self.move_on(context);
        done.map(|()| AccessReply::Done).map_err(RegisterFault)
    }

    /// What waits for the firmware is tried again, and what is for a line that the bus unit
    /// has taken.
    fn refuse(
        &mut self,
        port: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
    ) -> Option<Refusal> {
        if port != HOST {
            return None;
        }
        let refuses = if transaction.kind.is_uncached() {
            self.refuses_uncached(transaction)
        } else {
            let line = self.build.layout.snooped_line(transaction.address, self.build.block_bytes);
            self.state.bus.has_taken(transaction.address)
                || line.is_some_and(|line| self.state.space.refuses_block(line, transaction.kind))
        };
        self.statistics.retried.add(refuses.into());
        refuses.then_some(Refusal::Retry)
    }

    /// A line that may only be read is shared, so that its reader's first store takes the bus, where the
    /// permission is checked (Section 4.1: "similar to the permission check in Typhoon or S-COMA").
    fn snoop(&mut self, port: usize, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        let is_read = port == HOST && transaction.kind == Kind::Read;
        let line = || self.build.layout.snooped_line(transaction.address, self.build.block_bytes);
        let shares = is_read && line().is_some_and(|line| self.state.space.is_read_shared(line));
        SnoopReply { shares, ..SnoopReply::default() }
    }

    fn home(&mut self, port: usize, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.home_of(port, transaction)
    }

    fn wants(&self, port: usize) -> bool {
        port == HOST && self.state.bus.wants()
    }

    fn issue(&mut self, _port: usize, context: &mut Context<'_>) -> Option<Transaction> {
        let Voyager { state, .. } = self;
        let mut bus = std::mem::replace(&mut state.bus, BusUnit::new(self.build.block_bytes));
        let issued = bus.issue(&self.state.sram, |host| self.translated(host));
        self.state.bus = bus;
        match issued {
            Ok(issued) => issued,
            Err(failed) => {
                self.end_job(failed, Some(fault::ADDRESS));
                self.move_on(context);
                None
            }
        }
    }

    fn complete(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &Response,
    ) {
        let State { bus, sram, .. } = &mut self.state;
        bus.complete(sram, transaction, response);
        self.move_on(context);
    }

    fn network(&mut self, _port: usize, context: &mut Context<'_>) {
        self.move_on(context);
    }

    fn timer(&mut self, _port: usize, context: &mut Context<'_>) {
        self.move_on(context);
    }

    fn call(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        self.statistics.calls.increment();
        let answer = self.answer_call(context, call, system);
        // The units serve all processes: what has come for the first one is the node's.
        let Context { now, network, local_memory, timers, faults, on_chip } = context;
        self.move_on(&mut Context {
            now: *now,
            network: network.of_first_process(),
            local_memory: local_memory.as_deref_mut(),
            timers,
            faults,
            on_chip,
        });
        answer
    }
}

impl DeviceDescription for Voyager {
    fn largest_packet(&self) -> Option<LargestPacket> {
        let bytes = Header::BYTES as u64 + LARGEST_PAYLOAD;
        Some(LargestPacket { bytes, because_of: "a slot of its message queues" })
    }

    fn ports(&self) -> Vec<DevicePort> {
        let Build { layout, .. } = &self.build;
        let processes = || 0..layout.processes;
        let uncached = |process| {
            layout.windows(process).into_iter().chain([
                layout.uncached_buffers(process),
                layout.serviced(process),
                layout.commands(process),
            ])
        };
        let host = DevicePort {
            name: "the interface on the host's bus".into(),
            registers: processes().flat_map(uncached).collect(),
            homes: processes().map(|process| layout.cachable_buffers(process)).collect(),
            concern: 0..u64::MAX,
            is_coherent: true,
            refuses: true,
            is_engine: true,
            ..DevicePort::default()
        };
        let both = 2 * MOST_SRAM;
        let service = DevicePort {
            name: "the interface on the service processor's bus".into(),
            registers: vec![
                VOYAGER_REGISTERS..VOYAGER_MAP + 2 * u64::from(MOST_QUEUES) * 8,
                VOYAGER_SRAM_UNCACHED..VOYAGER_SRAM_UNCACHED + both,
            ],
            homes: Vec::from_iter(Some(VOYAGER_SRAM..VOYAGER_SRAM + both)),
            concern: 0..0,
            lines: SOURCES,
            is_coherent: true,
            is_engine: true,
            ..DevicePort::default()
        };
        vec![host, service]
    }

    fn ports_beside(&self, _port: usize) -> Range<usize> {
        HOST..SERVICE + 1
    }

    fn calls_name(&self) -> Option<&'static str> {
        Some("voyager")
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(SERVICE)
    }

    fn sender(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(SERVICE)
    }

    fn layouts(&self, process: u8) -> Vec<description::Layout> {
        let Build { kind, config, layout, .. } = &self.build;
        let snooped = layout.snooped(process);
        let is_cachable = *kind == QueueKind::Cachable;
        let values = [
            ("voyager_kind", kind.number()),
            ("voyager_queues", layout.queues.into()),
            ("voyager_slots", config.slots.into()),
            ("voyager_serviced", layout.serviced(process).start),
            ("voyager_snooped", if snooped.is_empty() { 0 } else { snooped.start }),
            ("voyager_snooped_bytes", layout.snooped),
            ("voyager_channels", (config.channels / u32::from(layout.processes)).into()),
        ];
        let windows = layout.windows(process).into_iter();
        vec![description::Layout {
            facts: values.into_iter().map(|(name, value)| (fact(name), value)).collect(),
            cachable: [layout.cachable_buffers(process), snooped]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect(),
            windows: windows
                .chain([layout.uncached_buffers(process), layout.serviced(process), layout.commands(process)])
                .collect(),
            ..if is_cachable { self.cachable_layout(process) } else { description::Layout::default() }
        }]
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        self.name_at(address)
    }

    fn asserted_lines(&self, port: usize) -> u64 {
        if port == SERVICE { self.state.sources() } else { 0 }
    }

    /// Memory that programs see: lines that the bus unit has taken, and their buffers.
    fn peek(&self, address: u64) -> Option<&[u8]> {
        let buffer = || match self.build.layout.place(address) {
            Some(DecodedAddress::Sram(sram)) => Some(self.state.sram.bytes(sram, self.build.block_bytes)),
            _ => None,
        };
        self.state.bus.peek(address).or_else(buffer)
    }

    fn poke(&mut self, address: u64, bytes: &[u8]) {
        self.state.bus.poke(address, bytes);
        if let Some(DecodedAddress::Sram(sram)) = self.build.layout.place(address) {
            self.state.sram.write(sram, bytes);
        }
    }

    fn hash_state(&self, port: usize, digest: &mut Digest) {
        (port, &self.state).hash(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, port: usize) -> QueueState {
        let State { space, commands, queues, .. } = &self.state;
        if port == HOST {
            let (used, limit) = space.used();
            return QueueState::of("captured accesses", used, Some(limit))
                .with_note(space.describe().unwrap_or_default());
        }
        let miss = queues.queue(Direction::Receive, MISS);
        let state = QueueState::of("miss queue", miss.used().into(), Some(miss.slots.into()));
        let commands_of_agent = self.state.agent.waiting();
        let waits =
            format!("commands of the kernel agent that the firmware has not taken: {commands_of_agent}");
        let notes = [
            commands.describe(),
            self.full_queues(),
            self.stopped_queues(),
            (commands_of_agent > 0).then_some(waits),
        ];
        let note: Vec<String> = notes.into_iter().flatten().collect();
        state.with_note(note.join("; ")).held_for(self.state.transmit.held_for())
    }

    fn engine(&self, port: usize, _now: Time) -> Option<Engine> {
        let State { transmit, receive, bus, blocks, queues, .. } = &self.state;
        let used = |direction| queues.of(direction).iter().map(|queue| u64::from(queue.used())).sum();
        Some(match port {
            HOST => Engine { doing: bus.doing().or(blocks.doing()), messages: used(Direction::Transmit) },
            _ => Engine { doing: receive.doing().or(transmit.doing()), messages: used(Direction::Receive) },
        })
    }
}

impl Voyager {
    /// What the driver of cachable queues has to know: where they are in snooped space, and that
    /// a packet is a slot, which has one doubleword of the library's header.
    fn cachable_layout(&self, process: u8) -> description::Layout {
        let layout = &self.build.layout;
        let start = layout.snooped(process).start;
        let [tail, send_head, receive_head] =
            [CACHABLE_TAIL, CACHABLE_SEND_HEAD, CACHABLE_RECEIVE_HEAD].map(|offset| start + offset);
        let driver = cachable_queue::PROGRAMMING.driver.number;
        description::Layout {
            initial_words: [tail, send_head, receive_head].map(|pointer| (pointer, FIRST_POINTER)).to_vec(),
            entries: layout.cachable_slots(),
            overrides: vec![
                ("send_driver", driver),
                ("receive_driver", driver),
                ("send_queue", layout.cachable_queue(Direction::Transmit, process)),
                ("receive_queue", layout.cachable_queue(Direction::Receive, process)),
                ("send_tail", tail),
                ("send_head", send_head),
                ("receive_head", receive_head),
                ("header_bytes", Header::BYTES as u64),
                (cachable_queue::ANNOUNCEMENT.name, ANNOUNCES_TAIL),
            ],
            ..description::Layout::default()
        }
    }

    /// The receive queue for which a packet waits in the network, in words.
    fn full_queues(&self) -> Option<String> {
        if !self.state.receive.is_held() {
            return None;
        }
        let queues = self.state.queues.of(Direction::Receive).iter().enumerate();
        let full = queues.filter(|(_, queue)| queue.slots > 0 && (queue.is_full() || !queue.is_enabled));
        let full: Vec<String> = full
            .map(|(number, queue)| match number {
                MISS => "the miss queue".to_owned(),
                _ => format!("receive queue {}", queue.logical),
            })
            .collect();
        Some(format!("a packet waits in the network for a free slot of {}", full.join(" or ")))
    }
}

impl Archived for Voyager {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Voyager { build: _, state, statistics } = self;
        archive.value(state)?;
        archive.value(statistics)
    }
}
