//! The device as its node has it: a port in each tile, and which part serves what.
//!
//! A processor's accesses to any address of [`ADDRESSES`](super::registers::ADDRESSES) come to the port of
//! its own tile. What is in the tile is done there; for all else the tile's interface sends
//! packets, and a load waits for its answer.

use std::collections::VecDeque;
use std::hash::Hash;

use narthex_fabrics::Header;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::{AccessReply, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::combining::CombiningBuffer;
use super::config::Config;
use super::events::Effect;
use super::jobs;
use super::lines::Lines;
use super::messages::{Message, PacketKind};
use super::regions::RegionTable;
use super::registers::{ADDRESSES, LINE_BYTES, LOCK_BOX, REGION_BYTES};
use super::space::{Space, Spot, split};
use crate::address_names::AddressName;
use crate::description::{self, DeviceDescription, DevicePort, Engine, LargestPacket};
use crate::device::Device;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::{Context, RegisterFault};
use crate::interface::Chip;
use crate::on_chip::End;
use crate::queue::QueueState;

/// What a device is built for.
#[derive(Clone, Debug)]
pub struct Build {
    /// Its parameters.
    pub config: Config,
    /// The tiles.
    pub chip: Chip,
    /// A queue without room returns what comes to it, and its sender tries again: an extension
    /// that the paper names (Section 2.1) and does not have.
    pub returns_when_full: bool,
}

narthex_kernel::statistics! {
    /// What a cache-integrated interface did.
    pub struct Statistics {
        local: Counter, "sarc_local_accesses", "accesses", "accesses of processors to their own tile's scratchpad, state and registers";
        stores: Counter, "sarc_remote_stores", "stores", "stores of processors to other tiles and to DRAM";
        combined: Counter, "sarc_stores_combined", "stores", "those among them that joined one in the combining buffer";
        loads: Counter, "sarc_remote_loads", "loads", "loads of processors from other tiles and from DRAM";
        commands: Counter, "sarc_commands", "commands", "commands that were complete";
        waited: Counter, "sarc_jobs_waited", "jobs", "commands and accesses that found the job list full";
        packets: Tally<PacketKind>, "sarc_packets", "packets", "packets that left, by kind";
        bytes: Counter, "sarc_packet_bytes", "bytes", "bytes in them behind the network's header";
        off_chip: Counter, "sarc_off_chip_packets", "packets", "packets that left for other chips";
        notifications: Counter, "sarc_notifications", "words", "words that counters sent when they came to zero";
        first_level_fills: Counter, "sarc_first_level_fills", "lines", "lines of scratchpad that first levels took";
        first_level_losses: Counter, "sarc_first_level_losses", "lines", "those that changed while a first level may have had them";
        port_waits: Counter, "sarc_port_waits", "accesses", "accesses of processors to their own tile that waited for a packet at the second level's port";
        locks: Counter, "sarc_lock_accesses", "accesses", "accesses to the lock box";
        calls: Counter, "sarc_calls", "calls", "calls of the kernel agent";
    }
}

/// A tile's part.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Tile {
    pub regions: RegionTable,
    pub lines: Lines,
    pub engine: jobs::Engine,
    pub combining: CombiningBuffer,
    /// Until when a packet has the second level's port.
    pub port_busy_until: Time,
    /// Packets of remote stores that have not arrived.
    pub stores_under_way: u32,
}

impl Tile {
    /// What its interface has still to send.
    pub fn jobs(&self) -> usize {
        self.engine.jobs() + usize::from(self.combining.holds())
    }
}

/// Packets that are under way, by number.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct PacketsInFlight<T> {
    packets: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for PacketsInFlight<T> {
    fn default() -> Self {
        PacketsInFlight { packets: Vec::new(), free: Vec::new() }
    }
}

impl<T> PacketsInFlight<T> {
    /// Keeps a packet; by which number.
    pub fn keep(&mut self, packet: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.packets[number as usize] = Some(packet);
            return number;
        }
        self.packets.push(Some(packet));
        self.packets.len() as u32 - 1
    }

    /// Takes it out again.
    pub fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.packets[number as usize].take().expect("a packet is under way")
    }

    pub fn get(&self, number: u32) -> &T {
        self.packets[number as usize].as_ref().expect("a packet is under way")
    }

    pub fn get_mut(&mut self, number: u32) -> &mut T {
        self.packets[number as usize].as_mut().expect("a packet is under way")
    }

    pub fn count(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

/// What changes in a device, but for its DRAM.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub tiles: Vec<Tile>,
    pub controllers: Vec<jobs::Engine>,
    pub under_way: PacketsInFlight<Message>,
    /// Packets to other chips for which the network has no room.
    pub leaving: VecDeque<Message>,
    /// Locks that are taken.
    pub locks: Vec<bool>,
    pub lock_box_busy_until: Time,
    pub agent: Agent,
    /// What the last access of a processor took.
    pub answer_time: Duration,
}

/// The device; see the module's description.
#[derive(Clone, Debug)]
pub struct Sarc {
    pub(super) build: Build,
    pub(super) space: Space,
    /// The number of its chip, which its node has.
    pub(super) chip: u16,
    pub(super) state: State,
    pub(super) dram: MainMemory,
    pub(super) statistics: Statistics,
    /// Room for what an access leads to.
    pub(super) effects: Vec<Effect>,
}

impl Sarc {
    /// A device to which nothing has happened.
    pub fn new(build: Build) -> Self {
        let Build { config, chip, .. } = &build;
        let (l2_bytes, _) = chip.second_level.expect("checked with the parameters");
        let tile = Tile {
            regions: RegionTable::at_start(config),
            lines: Lines::new(l2_bytes),
            engine: jobs::Engine::default(),
            combining: CombiningBuffer::default(),
            port_busy_until: Time::ZERO,
            stores_under_way: 0,
        };
        let space = Space {
            tiles: chip.tiles,
            l2_bytes,
            locks: config.locks.into(),
            dram_bytes: config.dram.as_u64(),
        };
        let state = State {
            tiles: vec![tile; chip.tiles.into()],
            controllers: vec![jobs::Engine::default(); chip.controllers.into()],
            under_way: PacketsInFlight::default(),
            leaving: VecDeque::new(),
            locks: vec![false; config.locks as usize],
            lock_box_busy_until: Time::ZERO,
            agent: Agent::default(),
            answer_time: Duration::ZERO,
        };
        Sarc {
            space,
            chip: 0,
            state,
            dram: MainMemory::default(),
            statistics: Statistics::default(),
            effects: Vec::new(),
            build,
        }
    }

    /// The engine at an end.
    pub(super) fn engine(&mut self, at: End) -> &mut jobs::Engine {
        match at {
            End::Tile(tile) => &mut self.state.tiles[usize::from(tile)].engine,
            End::Controller(own) => &mut self.state.controllers[usize::from(own)],
            End::Gateway => unreachable!("the way off the chip has no engine"),
        }
    }

    /// Bytes at an address of the chip, for tests and checkers.
    ///
    /// # Panics
    /// If none are there.
    pub fn peek_bytes(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        match self.space.at(address) {
            Some(Spot::Line(_, tile, offset)) => {
                bytes.copy_from_slice(self.state.tiles[usize::from(tile)].lines.bytes(offset, length));
            }
            Some(Spot::Dram(_, offset)) => self.dram.read(offset, &mut bytes),
            other => panic!("there are no bytes at {other:?}"),
        }
        bytes
    }

    /// Replaces bytes at an address of the chip, for tests and checkers.
    ///
    /// # Panics
    /// If none are there.
    pub fn poke_bytes(&mut self, address: u64, bytes: &[u8]) {
        match self.space.at(address) {
            Some(Spot::Line(_, tile, offset)) => {
                let lines = &mut self.state.tiles[usize::from(tile)].lines;
                lines.bytes_mut(offset, bytes.len()).copy_from_slice(bytes);
            }
            Some(Spot::Dram(_, offset)) => self.dram.write(offset, bytes),
            other => panic!("there are no bytes at {other:?}"),
        }
    }

    /// Which of the chip's processes the tile is of.
    fn process_of(&self, tile: u16) -> u8 {
        (tile / self.build.chip.tiles_of_process) as u8
    }
}

impl Device for Sarc {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        let config = &self.build.config;
        config.first_level.then(|| config.cycles(config.out_cycles) + config.cycles(config.in_cycles))
    }

    /// Of the access that was made last.
    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        self.state.answer_time
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let done = self.access_of(context, port as u16, transaction, response);
        done.map_err(RegisterFault)
    }

    fn timer(&mut self, port: usize, context: &mut Context<'_>) {
        self.let_stores_leave(context, port as u16);
        self.step(context, End::Tile(port as u16));
        if port == 0 {
            (0..self.build.chip.controllers).for_each(|own| self.step(context, End::Controller(own)));
        }
    }

    fn network(&mut self, _port: usize, context: &mut Context<'_>) {
        self.enter_chip(context);
        self.let_leave(context);
    }

    fn packet(&mut self, to: End, context: &mut Context<'_>, content: u32) {
        self.receive(context, to, content);
    }

    fn call(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        self.statistics.calls.increment();
        self.know_chip(context);
        self.answer_call(context, call, system)
    }
}

impl DeviceDescription for Sarc {
    /// What goes to other chips. On chip, buffers have no end.
    fn largest_packet(&self) -> Option<LargestPacket> {
        let bytes = Header::BYTES as u64 + Message::largest_bytes();
        let packet = LargestPacket { bytes, because_of: "a line with its addresses, for another chip" };
        (self.build.config.chips > 1).then_some(packet)
    }

    fn ports(&self) -> Vec<DevicePort> {
        let port = |tile| DevicePort {
            process: self.process_of(tile),
            name: format!("the interface of tile {tile}"),
            is_engine: true,
            of_tile: Some(ADDRESSES),
            holds: true,
            ..DevicePort::default()
        };
        (0..self.build.chip.tiles).map(port).collect()
    }

    fn part(&self, _port: usize) -> &'static str {
        "network interface in the second level"
    }

    fn calls_name(&self) -> Option<&'static str> {
        Some("sarc")
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        Some(usize::from(process) * usize::from(self.build.chip.tiles_of_process))
    }

    fn sender(&self, process: u8) -> Option<usize> {
        self.receiver(process)
    }

    fn layouts(&self, _process: u8) -> Vec<description::Layout> {
        // What no region covers is an access to the interface, too, which refuses it.
        let lock_box = LOCK_BOX..LOCK_BOX + REGION_BYTES;
        let around = [ADDRESSES.start..lock_box.start, lock_box.end..ADDRESSES.end];
        vec![description::Layout {
            windows: around.into_iter().chain([lock_box.clone()]).collect(),
            // It is on an OPB, which posts nothing: a MicroBlaze waits for the end of its store.
            waiting_windows: vec![lock_box],
            transactions: vec![Kind::UncachedLoad, Kind::UncachedStore],
            ..description::Layout::default()
        }]
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        let (process, address) = split(address);
        let (name, part) = match self.space.at(self.place_of(process, address).ok()?)? {
            Spot::Line(_, tile, offset) => {
                let line = (offset / LINE_BYTES) as usize;
                let role = self.state.tiles[usize::from(tile)].lines.state(line).role.name();
                (format!("{role} of tile {tile}"), Some(format!("line {line}")))
            }
            Spot::State(_, tile, line, _) => (format!("state of tile {tile}"), Some(format!("line {line}"))),
            Spot::Register(offset) => (format!("register {offset:#x} of the tile"), None),
            Spot::Lock(lock) => ("lock box".into(), Some(format!("lock {lock}"))),
            Spot::Dram(..) => ("non-cacheable DRAM".into(), None),
        };
        Some(AddressName { name, part })
    }

    fn packet_name(&self, content: u32) -> &'static str {
        self.state.under_way.get(content).body.kind().as_str()
    }

    fn engine(&self, port: usize, _now: Time) -> Option<Engine> {
        let jobs = self.state.tiles[port].jobs();
        Some(Engine { doing: (jobs > 0).then_some("sends packets"), messages: jobs as u64 })
    }

    fn hash_state(&self, port: usize, digest: &mut Digest) {
        self.state.tiles[port].hash(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, port: usize) -> QueueState {
        let jobs = self.state.tiles[port].jobs() as u64;
        let under_way = self.state.under_way.count();
        let note = if under_way > 0 { format!("{under_way} packets under way") } else { String::new() };
        QueueState::of("job list", jobs, None).with_note(note)
    }
}

impl Archived for Sarc {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Sarc { build: _, space: _, chip, state, dram, statistics, effects: _ } = self;
        let tiles = state.tiles.len();
        archive.value(chip)?;
        archive.value(state)?;
        archive.ensure(state.tiles.len() == tiles, "an interface has other tiles than the machine's")?;
        dram.archive(archive)?;
        archive.value(statistics)
    }
}
