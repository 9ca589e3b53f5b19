//! A chip of a few tiles: programs that access lines, the interfaces' engines, and packets that
//! arrive in any order.
//!
//! The device is the simulator's own. Its time stands still: an engine that has made a packet is
//! busy until the event that lets it go on, so that each order of engines, packets and
//! processors is tried.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use narthex_fabrics::networks::{self, ideal};
use narthex_fabrics::{NetworkPort, NodeId, Placement, flow_control};
use narthex_interfaces::Device;
use narthex_interfaces::half::{Context, RegisterFault};
use narthex_interfaces::interface::Chip;
use narthex_interfaces::on_chip::{Effects, End, FirstLevel};
use narthex_interfaces::sarc::config::Config;
use narthex_interfaces::sarc::lockstep::{Access, Stimulus};
use narthex_interfaces::sarc::messages::Body;
use narthex_interfaces::sarc::registers::{CHIP_BYTES, LINE_BYTES, Role, STATE, STATE_BYTES, WINDOW_BYTES};
use narthex_interfaces::sarc::rules::Rule;
use narthex_interfaces::sarc::space::address_of;
use narthex_interfaces::sarc::{Build, Sarc};
use narthex_kernel::digest::Digest;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AccessReply, AgentId, BlockData, Kind, Response, Transaction};
use serde_json::json;

use super::program::{Op, Scenario, Thread};

/// The instant at which everything happens.
const NOW: Time = Time::from_ps(1);

/// Lines of each tile's scratchpad.
pub const LINES: usize = 8;

/// A packet on its way: where to, and by what the device knows it.
#[derive(Clone, Copy, Debug)]
pub struct PacketInFlight {
    to: End,
    content: u32,
}

/// A state of the chip and its programs.
#[derive(Clone, Debug)]
pub struct World {
    pub device: Sarc,
    pub packets: Vec<PacketInFlight>,
    pub threads: Vec<Thread>,
    /// Stores of each thread that it counted as its arrivals.
    pub arrived: Vec<u8>,
    /// Which thread has the lock.
    pub holder: Option<usize>,
    /// Lines of scratchpad in the tiles' first levels.
    above: BTreeMap<u64, BlockData>,
    /// What the hardware refused.
    pub refused: Option<String>,
    /// What has happened to the tiles, if that is recorded; not a part of the state.
    pub happened: Option<Vec<(u16, Stimulus)>>,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A thread makes an access, of several stores this one.
    Access(usize, usize),
    /// A tile's engine makes its next packet.
    Engine(usize),
    /// A packet arrives.
    Arrive(usize),
}

/// What stays the same: a context for the device's verbs.
#[derive(Debug)]
pub struct DeviceContext {
    port: NetworkPort,
}

impl DeviceContext {
    pub fn new() -> Self {
        let placement = Placement { nodes: 1, processes: 1 };
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(1) });
        let around =
            networks::NetworkContext { nodes: 1, in_one_partition_from: 1, seed: 0, packet_bytes: 96 };
        let flow = flow_control::Config::None(flow_control::none::Config {}).build(placement);
        let port = NetworkPort::new(NodeId(0), placement, flow, network.build(NodeId(0), &around), 8);
        DeviceContext { port }
    }
}

/// The address of a tile's line.
pub fn line(tile: u16, number: u64) -> u64 {
    address_of(0, tile, number * LINE_BYTES)
}

/// The tile in whose window an address is.
fn tile_of(address: u64) -> usize {
    (address / WINDOW_BYTES % (CHIP_BYTES / WINDOW_BYTES)) as usize
}

/// A store that marks a tile's line.
pub fn marking(tile: u16, number: u64, role: Role) -> (u64, u64) {
    (address_of(0, tile, STATE + number * STATE_BYTES), role as u64)
}

fn device(tiles: u16, without: Option<Rule>) -> Sarc {
    let parameters = json!({
        "clock": "1GHz", "first_level": true, "load_cycles": 1, "store_cycles": 1, "out_cycles": 1, "in_cycles": 1,
        "packet_cycles": 1, "width": "8B", "job_list": { "kind": "fifo", "entries": 1 },
        "store_combining": { "kind": "none" }, "locks": 0, "lock_cycles": 1, "lock_bus_cycles": 1, "dram": "0B",
        "region_table": { "entries": 3, "lookup_cycles": 0, "write_cycles": 0 }, "dram_access_time": "1ns", "dram_line_time": "1ns", "chips": 1,
    });
    let config: Config = serde_json::from_value(parameters).expect("sound parameters");
    let chip = Chip { tiles, tiles_of_process: tiles, second_level: Some((1 << 10, 2)), controllers: 1 };
    let mut device = Sarc::new(Build { config, chip, returns_when_full: false });
    if let Some(rule) = without {
        device = device.without(rule);
    }
    (0..tiles).for_each(|tile| device.take_lines(tile, LINES));
    device
}

impl World {
    /// Nothing has happened, but for what the scenario prepares.
    pub fn first(
        scenario: &Scenario,
        without: Option<Rule>,
        around: &mut DeviceContext,
        records: bool,
    ) -> Self {
        let tiles = scenario.programs.len();
        let mut world = World {
            device: device(tiles as u16, without),
            packets: Vec::new(),
            threads: vec![Thread::default(); tiles],
            arrived: vec![0; tiles],
            holder: None,
            above: BTreeMap::new(),
            refused: None,
            happened: records.then(Vec::new),
        };
        for &(address, value) in &scenario.before {
            world.access(around, tile_of(address), Kind::UncachedStore, address, value);
        }
        for (address, bytes) in &scenario.bytes {
            world.device.poke_bytes(*address, bytes);
            for (at, &byte) in (*address..).zip(bytes) {
                world.record(tile_of(at) as u16, Stimulus::store(at, 1, byte.into()));
            }
        }
        world
    }

    fn record(&mut self, tile: u16, stimulus: Stimulus) {
        self.happened.iter_mut().for_each(|happened| happened.push((tile, stimulus)));
    }

    fn with_device<R>(
        &mut self,
        around: &mut DeviceContext,
        call: impl FnOnce(&mut Sarc, &mut Context<'_>) -> R,
    ) -> R {
        let (mut timers, mut faults, mut effects) = (Vec::new(), Vec::new(), Effects::default());
        let mut context = Context {
            now: NOW,
            network: around.port.of_process(0),
            local_memory: None,
            timers: &mut timers,
            faults: &mut faults,
            on_chip: &mut effects,
        };
        let result = call(&mut self.device, &mut context);
        let packets = effects.packets.into_iter().map(|(_, packet)| packet);
        self.packets.extend(packets.map(|packet| PacketInFlight { to: packet.to, content: packet.content }));
        for (tile, value, _) in effects.answers {
            self.threads[usize::from(tile)].answered = Some(value);
        }
        for (_, line, change) in effects.first_level {
            match change {
                FirstLevel::Takes(bytes) => self.above.insert(line, bytes),
                FirstLevel::Loses(_) => self.above.remove(&line),
            };
        }
        if let Some((_, RegisterFault(problem))) = effects.faults.into_iter().next() {
            self.refused.get_or_insert(problem);
        }
        result
    }

    /// A thread's access: its value, if that is there at once.
    pub fn access(
        &mut self,
        around: &mut DeviceContext,
        thread: usize,
        kind: Kind,
        address: u64,
        value: u64,
    ) -> Option<u64> {
        let offset = (address % LINE_BYTES) as usize;
        let is_own = tile_of(address) == thread;
        if let Some(bytes) = self.above.get_mut(&(address - offset as u64)).filter(|_| is_own) {
            match kind {
                Kind::UncachedLoad => return Some(bytes.word(offset)),
                // It goes through to the device.
                _ => bytes.set_word(offset, value),
            }
        }
        let access = Access { is_load: kind == Kind::UncachedLoad, address, size: 8, value };
        self.record(thread as u16, Stimulus::Access(access));
        let transaction = Transaction::uncached(AgentId(thread as u8), kind, address, 8, value);
        let mut response = Response::default();
        let done = self.with_device(around, |device, context| {
            device.access(thread, context, &transaction, &mut response)
        });
        match done {
            Ok(AccessReply::Held) => return None,
            Ok(AccessReply::Done) => {}
            Err(RegisterFault(problem)) => {
                self.refused.get_or_insert(problem);
            }
        }
        Some(response.value)
    }

    /// An engine goes on.
    pub fn let_engine_go(&mut self, around: &mut DeviceContext, tile: usize) {
        self.with_device(around, |device, context| device.let_go(context, End::Tile(tile as u16)));
    }

    /// A packet arrives.
    pub fn arrive(&mut self, around: &mut DeviceContext, place: usize) {
        let PacketInFlight { to, content } = self.packets.remove(place);
        if let End::Tile(tile) = to {
            self.record(tile, Stimulus::Arrives(*self.device.message(content)));
        }
        self.with_device(around, |device, context| device.packet(to, context, content));
    }

    /// A packet, in words.
    pub fn in_words(&self, place: usize) -> String {
        let PacketInFlight { to, content } = self.packets[place];
        match self.device.message(content).body {
            Body::Write { to, bytes, .. } => format!("{:x?} at {to:#x}", bytes.as_slice()),
            Body::Acknowledgement { to, bytes } => format!("{bytes} bytes are acknowledged at {to:#x}"),
            other => format!("{:?} for {to:?}", other.kind()),
        }
    }

    /// What can happen.
    pub fn events(&self, scenario: &Scenario) -> Vec<Event> {
        let mut events = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let op = scenario.programs[number].get(thread.at);
            match op {
                Some(Op { stores, .. }) if !thread.waits && !stores.is_empty() => {
                    let left = (0..stores.len()).filter(|place| thread.stored & 1 << place == 0);
                    events.extend(left.map(|place| Event::Access(number, place)));
                }
                Some(_) if !thread.waits => events.push(Event::Access(number, 0)),
                _ => {}
            }
            if self.device.is_at_work(number as u16) {
                events.push(Event::Engine(number));
            }
        }
        events.extend((0..self.packets.len()).map(Event::Arrive));
        events
    }

    /// Whether all programs are over, and nothing is under way.
    pub fn is_quiet(&self, scenario: &Scenario) -> bool {
        let is_over = |(thread, program): (&Thread, &Vec<Op>)| thread.at == program.len();
        self.packets.is_empty()
            && self.threads.iter().zip(&scenario.programs).all(is_over)
            && (0..self.threads.len()).all(|tile| self.device.jobs(tile as u16) == 0)
    }

    /// The same for two states that differ in the numbers of packets alone.
    pub fn digest(&self) -> u128 {
        let packet = |own: &PacketInFlight| Digest::of(&(own.to, self.device.message(own.content)));
        let mut packets: Vec<u128> = self.packets.iter().map(packet).collect();
        packets.sort_unstable();
        let above: Vec<(u64, &[u8])> = self.above.iter().map(|(&line, bytes)| (line, &bytes[..])).collect();
        Digest::of(&(Tiles(&self.device), packets, &self.threads, &self.arrived, self.holder, above))
    }
}

struct Tiles<'a>(&'a Sarc);

impl Hash for Tiles<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_tiles(hasher);
    }
}
