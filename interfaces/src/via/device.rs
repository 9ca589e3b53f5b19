//! The device as its node has it: two ports, and which part serves what.
//!
//! The port on the host's bus has doorbells and windows, and issues and snoops what the
//! controller wants of registered memory. The port on the bus of the interface's own
//! processor has the firmware's registers. The interface's memory is on that bus; the
//! network side and the controller reach it by a second port, for which no processor
//! waits.

use std::hash::Hash;
use std::ops::Range;

use narthex_fabrics::Header;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use narthex_memory::bus::DirtyOwner;
use narthex_memory::interconnects::Refusal;
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{AccessReply, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::config::Config;
use super::doorbells::Doorbells;
use super::eager::{self, ControllerContext, Eager};
use super::network::NetworkSide;
use super::ports;
use super::registers::{HEADER_BYTES, LINES, Scheme, VIA_REGISTERS, WINDOW_BYTES, fact};
use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DevicePort, Engine, LargestPacket, Layout};
use crate::device::Device;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::{Context, RegisterFault};
use crate::queue::QueueState;
use crate::registers::Addresses;

/// The port on the host's bus.
pub const HOST: usize = 0;
/// The port on the bus of the interface's own processor.
pub const NI: usize = 1;

/// What a via device is built for.
#[derive(Clone, Debug)]
pub struct Build {
    /// How data crosses.
    pub scheme: Scheme,
    /// Its parameters.
    pub config: Config,
    /// Processes of the node.
    pub processes: u8,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
    /// Where its local memory is.
    pub memory: Range<u64>,
    /// Where the registers of the DMA engine are that its firmware drives.
    pub dma_engine: u64,
}

narthex_kernel::statistics! {
    /// What a via device did, beside its controller.
    pub struct Statistics {
        doorbells: Counter, "via_doorbells", "doorbells", "doorbells that programs rang";
        refused: Counter, "via_doorbells_refused", "doorbells", "doorbells that found the FIFO full, each time that they did";
        calls: Counter, "via_calls", "calls", "calls of the kernel agent";
        sent: Counter, "via_packets_sent", "packets", "packets that the firmware sent";
        received: Counter, "via_packets_received", "packets", "packets that were received whole";
        placed: Counter, "via_packets_placed", "packets", "packets whose payload the packet-to-address table placed";
    }
}

/// What changes in a via device.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub doorbells: Doorbells,
    pub agent: Agent,
    pub network: NetworkSide,
    pub eager: Eager,
    /// Where each process's window is in the interface's memory.
    pub windows: Vec<Option<u64>>,
    pub registers: ports::Latches,
    /// The puts that the packet that arrives waits for.
    pub settles: u64,
    /// The bits of STATUS.
    pub status: u64,
}

/// The device; see the module's description.
#[derive(Clone, Debug)]
pub struct Via {
    pub(super) build: Build,
    pub(super) state: State,
    pub(super) statistics: Statistics,
    pub(super) eager_statistics: eager::Statistics,
}

/// What the controller needs of a context.
pub(super) fn surroundings<'a>(context: &'a mut Context<'_>) -> ControllerContext<'a> {
    let memory = context.local_memory.as_deref_mut().expect("checked with the machine");
    ControllerContext { now: context.now, timers: context.timers, memory }
}

impl Via {
    /// A device to which nothing has happened.
    pub fn new(build: Build) -> Self {
        let Build { scheme, config, processes, block_bytes, .. } = &build;
        let eager = Eager::new(eager::Build {
            tags: config.tags,
            block_bytes: *block_bytes,
            reaction_time: config.reaction_time,
            initialisation: config.initialisation,
            supply_time: config.memory_access_time,
            writes_home: *scheme == Scheme::EagerDmaReceive,
        });
        let network = NetworkSide::new(config);
        let mut state = State {
            doorbells: Doorbells::new(config.doorbells),
            agent: Agent::new(config, *processes),
            status: 0,
            network,
            eager,
            windows: vec![None; (*processes).into()],
            registers: ports::Latches::default(),
            settles: 0,
        };
        state.status = state.all_status();
        Via {
            state,
            build,
            statistics: Statistics::default(),
            eager_statistics: eager::Statistics::default(),
        }
    }

    /// Lets the network side go on, and looks at what there is to do.
    pub(super) fn move_on(&mut self, context: &mut Context<'_>) {
        let Via { build, state, statistics, .. } = self;
        let State { network, eager, settles, .. } = state;
        if network.look(context, eager.is_done(*settles)) {
            statistics.received.increment();
        }
        network.receive(context, &build.config, &mut |context, place, payload| {
            statistics.placed.increment();
            *settles = eager.place(&mut surroundings(context), place, payload);
        });
        self.state.status = self.state.all_status();
    }
}

impl State {
    fn all_status(&self) -> u64 {
        self.doorbells.status() | self.agent.status() | self.network.status() | self.eager.status()
    }
}

impl Device for Via {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, port: usize, kind: Kind) -> Duration {
        let Config { register_access_time, memory_access_time, .. } = self.build.config;
        match (port, kind) {
            (HOST, Kind::BlockLoad | Kind::BlockStore) => memory_access_time,
            _ => register_access_time,
        }
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let done = match port {
            HOST => self.access_by_host(context, transaction, response),
            _ => self.access_by_firmware(context, transaction, response),
        };
        self.move_on(context);
        done.map(|()| AccessReply::Done).map_err(RegisterFault)
    }

    /// A doorbell that finds the FIFO full is tried again; a block that the interface owns
    /// goes home where owners do not supply.
    fn refuse(
        &mut self,
        port: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
    ) -> Option<Refusal> {
        if port != HOST {
            return None;
        }
        if transaction.kind.is_uncached() {
            let is_doorbell = ports::is_doorbell(transaction.address);
            let refused = is_doorbell && self.state.doorbells.is_full();
            return refused.then(|| {
                self.statistics.refused.increment();
                Refusal::Retry
            });
        }
        let pushes = self.build.scheme == Scheme::DmaRetry;
        pushes.then(|| self.state.eager.push(transaction)).flatten().map(Refusal::Push)
    }

    fn snoop(&mut self, _port: usize, context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        let Via { state, eager_statistics, .. } = self;
        state.eager.snoop(&mut surroundings(context), transaction, eager_statistics)
    }

    fn wants(&self, port: usize) -> bool {
        port == HOST && self.state.eager.wants()
    }

    fn issue(&mut self, _port: usize, context: &mut Context<'_>) -> Option<Transaction> {
        let Via { state, eager_statistics, .. } = self;
        let issued = state.eager.issue(&mut surroundings(context), eager_statistics);
        self.move_on(context);
        issued
    }

    fn complete(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        _transaction: &Transaction,
        response: &Response,
    ) {
        let Via { state, eager_statistics, .. } = self;
        state.eager.complete(&mut surroundings(context), response, eager_statistics);
        self.move_on(context);
    }

    fn network(&mut self, _port: usize, context: &mut Context<'_>) {
        self.move_on(context);
    }

    fn timer(&mut self, _port: usize, context: &mut Context<'_>) {
        self.state.eager.timer(context.now);
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
        let answer = self.state.agent.call(call, system);
        self.move_on(context);
        answer
    }
}

impl DeviceDescription for Via {
    fn largest_packet(&self) -> Option<LargestPacket> {
        let bytes = Header::BYTES as u64 + HEADER_BYTES + self.build.config.mtu.as_u64();
        Some(LargestPacket { bytes, because_of: "interfaces.via.mtu" })
    }

    fn ports(&self) -> Vec<DevicePort> {
        let Build { scheme, processes, .. } = &self.build;
        let window = |process| {
            let window = Addresses::of_process(process).window();
            window..window + WINDOW_BYTES
        };
        let pages = |process| {
            let doorbells = Addresses::of_process(process).register_page();
            [doorbells..doorbells + PAGE_BYTES, window(process)]
        };
        let combines = *scheme == Scheme::ProgrammedIoCombining;
        let host = DevicePort {
            name: "the interface on the host's bus".into(),
            registers: (0..*processes).flat_map(pages).collect(),
            combinable: (0..*processes).filter(|_| combines).map(window).collect(),
            concern: 0..u64::MAX,
            is_coherent: true,
            refuses: true,
            is_engine: true,
            dirty_owner: Some(match scheme {
                Scheme::DmaRetry => DirtyOwner::RetryAndPush,
                _ => DirtyOwner::Intervene,
            }),
            hides_engines: *scheme == Scheme::DmaFlush,
            ..DevicePort::default()
        };
        let ni = DevicePort {
            name: "the interface on its processor's bus".into(),
            registers: Vec::from_iter(Some(VIA_REGISTERS..VIA_REGISTERS + PAGE_BYTES)),
            lines: LINES,
            is_engine: true,
            ..DevicePort::default()
        };
        vec![host, ni]
    }

    fn part(&self, port: usize) -> &'static str {
        if port == HOST { "interface" } else { "network side of the interface" }
    }

    fn ports_beside(&self, _port: usize) -> Range<usize> {
        HOST..NI + 1
    }

    fn needs_local_memory(&self) -> bool {
        true
    }

    fn calls_name(&self) -> Option<&'static str> {
        Some("via")
    }

    fn asserted_lines(&self, port: usize) -> u64 {
        if port == NI { self.state.status } else { 0 }
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(NI)
    }

    fn sender(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(NI)
    }

    fn too_many_peers(&self, peers: &[u32]) -> Option<String> {
        self.build.config.too_many_peers(self.build.scheme, peers)
    }

    fn layouts(&self, process: u8) -> Vec<Layout> {
        let own = Addresses::of_process(process);
        let Build { scheme, config, .. } = &self.build;
        let values = [
            ("via_scheme", scheme.number()),
            ("via_doorbells", own.register_page()),
            ("via_window", own.window()),
            ("via_mtu", config.mtu.as_u64()),
            ("via_vis", config.vis.into()),
        ];
        let facts = values.into_iter().map(|(name, value)| (fact(name), value)).collect();
        let window = own.window();
        let windows = Vec::from_iter(Some(window..window + WINDOW_BYTES));
        vec![Layout { facts, windows, ..Layout::default() }]
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        ports::name_of(address)
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.state.eager.peek(address)
    }

    fn poke(&mut self, address: u64, bytes: &[u8]) {
        self.state.eager.poke(address, bytes);
    }

    fn hash_state(&self, port: usize, digest: &mut Digest) {
        (port, &self.state).hash(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics, &self.eager_statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics, &mut self.eager_statistics]
    }

    fn queue(&self, port: usize) -> QueueState {
        let State { doorbells, agent, network, eager, .. } = &self.state;
        if port == HOST {
            let (used, limit) = doorbells.used();
            let state = QueueState::of("doorbells", used, Some(limit)).with_note(eager.describe());
            return state.held_for(network.held_for());
        }
        let ((received, slots), (commands, _)) = (network.used(), agent.used());
        let slots = format!("free slots for packets: {slots}");
        let commands = (commands > 0).then(|| format!("commands that wait for the firmware: {commands}"));
        let note: Vec<String> = std::iter::once(slots).chain(commands).collect();
        QueueState::of("received packets", received, None).with_note(note.join(", "))
    }

    fn engine(&self, port: usize, _now: Time) -> Option<Engine> {
        let State { network, eager, .. } = &self.state;
        Some(match port {
            HOST => Engine { doing: eager.doing(), messages: 0 },
            _ => Engine { doing: network.doing(), messages: network.used().0 },
        })
    }
}

impl Archived for Via {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Via { build: _, state, statistics, eager_statistics } = self;
        archive.value(state)?;
        archive.value(statistics)?;
        archive.value(eager_statistics)
    }
}
