//! A composition of processors' memories, a device and memories on a directory, whose
//! messages all take the same time, or times that a seed decides.

mod agents;

use std::collections::BTreeMap;

pub(super) use agents::{OwnBlock, WRITER};
use narthex_kernel::random::Stream;
use narthex_kernel::{Archive, EventQueue};

use super::super::super::bridged_bus::BridgedBus;
use super::super::super::directory::{Config, Directory, Homes, Statistics};
use super::super::bench::io_bus;
use super::*;
use crate::agent::{Agent, Either};
use crate::bridge::{Bridge, Timing};
use crate::cache;
use crate::directory::{Carried, Endpoint, Hops, protocols};
use crate::home_memory::HomeMemory;
use crate::main_memory::MainMemory;
use crate::pages::{PageAttributes, PageKind, PageTable};
use crate::port::{CacheBlockOperation, Outcome, Port};
use crate::processor_memory::{ProcessorMemory, ProcessorPort, StoreBufferConfig, Traffic};

pub(super) const BLOCK_BYTES: usize = 64;
pub(super) const BLOCK: u64 = 0x1000;
/// A block this much farther takes the same line.
pub(super) const CONFLICT: u64 = 0x80;
pub(super) const UNCACHED: u64 = 0x8000;
/// Blocks whose home is the device, and its registers.
pub(super) const DEVICE_BLOCK: u64 = 0x1_0000;
pub(super) const REGISTERS: u64 = 0x2_0000;
pub(super) const DEVICE_VALUE: u64 = 0x0404_0404_0404_0404;
pub(super) const REGISTER_VALUE: u64 = 77;
/// What a store-conditional that fails returns here.
pub(super) const FAILED: u64 = u64::MAX;

const ON: InterconnectId = InterconnectId(0);

/// What a processor does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Do {
    Load(u64),
    Store(u64, u64),
    LoadReserved(u64),
    StoreConditional(u64, u64),
    /// Adds to a word.
    Add(u64, u64),
    /// Sends a block home.
    Flush(u64),
    /// The same, and might keep it.
    Clean(u64),
}
pub(super) use Do::*;

/// An access that is over: what it loaded or stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Finished {
    pub at: u64,
    pub processor: usize,
    pub value: u64,
}

pub(super) struct Unit {
    pub memory: ProcessorMemory,
    pub doing: Option<Do>,
    is_waiting: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub protocol: &'static str,
    pub processors: usize,
    pub memories: u8,
    pub transactions: u32,
    pub hold_ns: u64,
    pub stores: UncachedStores,
    /// Messages take from 1 to this many nanoseconds; none: 10.
    pub seed: Option<u64>,
}

impl Settings {
    pub(super) fn of(protocol: &'static str, processors: usize) -> Self {
        let stores = UncachedStores::Blocking;
        Settings { protocol, processors, memories: 1, transactions: 4, hold_ns: 0, stores, seed: None }
    }
}

pub(super) fn settings_config(settings: &Settings) -> Config {
    Config {
        clock: "1GHz".parse().unwrap(),
        transactions: settings.transactions,
        lookup_time: Duration::from_ns(2),
        block_time: Duration::ZERO,
        cache_supply_time: Duration::from_ns(5),
        hold_time: Duration::from_ns(settings.hold_ns),
        interleave: "64B".parse().unwrap(),
    }
}

#[derive(Clone)]
enum BenchEvent {
    Step(InterconnectId, Step),
    Arrive(Endpoint, Carried),
    Begin(usize, Do),
    Device(Transaction),
}

/// Something that a walk wants to know at once.
pub(super) trait Watch {
    /// An access is done at this instant, with what it loaded or stored.
    fn done(&mut self, what: Do, value: u64);
    /// A transaction of the device begins.
    fn begins(&mut self, transaction: &Transaction);
    /// It is over.
    fn ends(&mut self, transaction: &Transaction, data: Option<&BlockData>);
}

pub(super) struct Chip {
    pub interconnects: Vec<Interconnect>,
    pub memories: Vec<HomeMemory>,
    pub processors: Vec<Unit>,
    pub finished: Vec<Finished>,
    /// When a transaction of the device was over, and the first byte that it got.
    pub of_device: Vec<(u64, Option<u8>)>,
    /// Its interrupts: when, and by which vector.
    pub interrupts: Vec<(u64, u8)>,
    /// What the device has heard of.
    pub heard: Vec<Kind>,
    /// What it replies to reads of its blocks.
    pub to_reads: SnoopReply,
    /// Blocks of which it is the home.
    pub own_blocks: BTreeMap<u64, OwnBlock>,
    /// What it writes to its block when the copies are gone.
    pub writes: Option<u8>,
    /// When its register was accessed.
    pub accessed: Vec<u64>,
    /// What it issues because of the next access.
    pub on_access: Option<Transaction>,
    /// Whether the device holds accesses to its register.
    pub holds: bool,
    pub watch: Option<Box<dyn Watch>>,
    /// How many ports the device has; all do what it does.
    pub ports: usize,
    /// How many processors, the first ones, are behind a link.
    pub linked: usize,
    /// Whether others see what the device writes before it knows that the write is over.
    pub writes_are_seen_early: bool,
    script: Vec<Transaction>,
    due: EventQueue<BenchEvent>,
    random: Option<Stream>,
    pages: PageTable,
    behind: MainMemory,
    now: Time,
}

fn at_ns(nanoseconds: u64) -> Time {
    Time::ZERO + Duration::from_ns(nanoseconds)
}

fn processor(number: usize, settings: &Settings) -> Unit {
    let data = cache::Config {
        size: "128B".parse().unwrap(),
        associativity: 1,
        block: "64B".parse().unwrap(),
        protocol: settings.protocol.into(),
        snarfing: false,
        prefetcher: None,
    };
    let buffer = StoreBufferConfig {
        uncached_stores: settings.stores,
        entries: 2,
        flushed_blocks: Default::default(),
    };
    let agent = AgentId(number as u8);
    let memory = ProcessorMemory::new(agent, &data, None, &buffer, Duration::from_ns(5));
    Unit { memory, doing: None, is_waiting: false }
}

impl Chip {
    pub(super) fn new(protocol: &'static str, processors: usize) -> Self {
        Self::with(Settings::of(protocol, processors))
    }

    pub(super) fn with(settings: Settings) -> Self {
        let device = AgentId(settings.processors as u8);
        let ports = (0..device.0).map(|number| AgentPort::of_processor(AgentId(number)));
        let ports = AgentPorts::new(ports.chain([AgentPort::of_device(device, 0..0)]).collect());
        let mut ranges = AddressMap::default();
        for range in [DEVICE_BLOCK..DEVICE_BLOCK + 0x1000, REGISTERS..REGISTERS + 0x1000] {
            ranges.add(range, Home::Agent(device)).unwrap();
        }
        let interleaved = (0..settings.memories).map(MemoryId).collect();
        let homes = Homes { ranges, interleaved, tiles: None };
        let names = Names { name: "chip", prefix: "" };
        let table = protocols::by_name(settings.protocol).unwrap();
        let directory = Directory::new(names, &settings_config(&settings), table, ports, homes);
        let memory = HomeMemory::new(MainMemory::default(), Duration::from_ns(50), BLOCK_BYTES as u64);
        let mut pages = PageTable::default();
        pages.map(BLOCK, 0x1000, PageAttributes::DATA);
        pages.map(UNCACHED, 0x1000, PageAttributes { kind: PageKind::Uncached, ..PageAttributes::DATA });
        pages.map(DEVICE_BLOCK, 0x1000, PageAttributes::DATA);
        pages.map(REGISTERS, 0x1000, PageAttributes::DEVICE);
        Chip {
            interconnects: vec![directory.into()],
            memories: vec![memory; settings.memories.into()],
            processors: (0..settings.processors).map(|number| processor(number, &settings)).collect(),
            finished: Vec::new(),
            of_device: Vec::new(),
            interrupts: Vec::new(),
            heard: Vec::new(),
            to_reads: SnoopReply { shares: true, ..SnoopReply::default() },
            own_blocks: BTreeMap::new(),
            writes: None,
            accessed: Vec::new(),
            on_access: None,
            holds: false,
            watch: None,
            ports: 1,
            linked: 0,
            writes_are_seen_early: false,
            script: Vec::new(),
            due: EventQueue::new(),
            random: settings.seed.map(|seed| Stream::new(seed, "messages")),
            pages,
            behind: MainMemory::default(),
            now: Time::ZERO,
        }
    }

    /// The device's registers are on an I/O bus, behind a bridge on the directory.
    pub(super) fn with_a_bridge(processors: usize) -> Self {
        let mut chip = Self::new("MESI", processors);
        let (device, bridge, behind) = (chip.device_id(), AgentId(u8::MAX), InterconnectId(1));
        let registers = |home| {
            let mut map = AddressMap::default();
            map.add(REGISTERS..REGISTERS + 0x1000, home).unwrap();
            map
        };
        let ports =
            AgentPorts::new((0..device.0).map(|number| AgentPort::of_processor(AgentId(number))).collect());
        let homes =
            Homes { ranges: registers(Home::Beyond(behind)), interleaved: vec![MemoryId(0)], tiles: None };
        let settings = settings_config(&Settings::of("MESI", processors));
        let table = protocols::by_name("MESI").unwrap();
        let names = |name| Names { name, prefix: "" };
        let directory = Directory::new(names("chip"), &settings, table, ports, homes);
        let timing = Timing::behind_messages(settings.clock.clock(), &io_bus(), BLOCK_BYTES);
        let ports = AgentPorts::new(vec![AgentPort::of_device(device, 0..0)]);
        let parts = (Bridge::new(&io_bus()), timing);
        let bus =
            BridgedBus::new(names("I/O bus"), (ON, bridge), parts, ports, registers(Home::Agent(device)));
        chip.interconnects = vec![directory.with_bridges(&[(bridge, behind)]).into(), bus.into()];
        chip
    }

    /// Where the device is.
    fn device_on(&self) -> InterconnectId {
        InterconnectId(self.interconnects.len() as u8 - 1)
    }

    /// Where a processor is.
    fn place_of(&self, processor: usize) -> InterconnectId {
        InterconnectId(u8::from(processor < self.linked))
    }

    pub(super) fn directory(&self) -> &Directory {
        match &self.interconnects[0] {
            Interconnect::Directory(directory) => directory,
            _ => unreachable!("it is the only one"),
        }
    }

    pub(super) fn statistics(&self) -> &Statistics {
        &self.directory().state.statistics
    }

    /// Messages by lane.
    pub(super) fn messages(&self) -> [u64; 3] {
        let messages = &self.statistics().messages;
        [Lane::Request, Lane::Forward, Lane::Response].map(|lane| messages.get(lane))
    }

    /// How many transactions took two, three and four messages.
    pub(super) fn hops(&self) -> [u64; 3] {
        [Hops::Two, Hops::Three, Hops::Four].map(|hops| self.statistics().hops.get(hops))
    }

    /// Forgets what was counted and finished.
    pub(super) fn clear(&mut self) {
        self.finished.clear();
        match &mut self.interconnects[0] {
            Interconnect::Directory(directory) => directory.state.statistics = Statistics::default(),
            _ => unreachable!("it is the only one"),
        }
    }

    pub(super) fn device_id(&self) -> AgentId {
        AgentId(self.processors.len() as u8)
    }

    /// A processor makes an access from this nanosecond on.
    pub(super) fn begin(&mut self, at: u64, processor: usize, what: Do) {
        self.due.schedule(at_ns(at), BenchEvent::Begin(processor, what));
    }

    /// The device wants to issue this.
    pub(super) fn device(&mut self, at: u64, transaction: Transaction) {
        self.due.schedule(at_ns(at), BenchEvent::Device(transaction));
    }

    /// From this nanosecond on the device goes on with the read of its block that it has held.
    pub(super) fn resume(&mut self, at: u64) {
        self.to_reads.later = false;
        Directory::resume(self, at_ns(at), ON, DEVICE_BLOCK);
    }

    pub(super) fn run(&mut self) {
        self.run_before(Time::NEVER);
    }

    /// Lets everything happen up to this nanosecond.
    pub(super) fn run_until(&mut self, at: u64) {
        self.run_before(at_ns(at + 1));
    }

    fn run_before(&mut self, end: Time) {
        while let Some((now, happening)) = self.due.pop_before(end) {
            self.now = now;
            match happening {
                BenchEvent::Step(on, step) => happen(self, now, on, step),
                BenchEvent::Arrive(to, carried) => Directory::arrive(self, now, ON, to, carried),
                BenchEvent::Begin(processor, what) => {
                    assert_eq!(self.processors[processor].doing, None, "at {now:?}");
                    self.processors[processor].doing = Some(what);
                    self.attempt(processor, now);
                }
                BenchEvent::Device(transaction) => {
                    self.script.push(transaction);
                    ask(self, now, self.device_on(), self.device_id());
                }
            }
        }
    }

    /// The directory and the caches go through an archive.
    pub(super) fn save_and_restore(&mut self) {
        for place in 0..self.interconnects.len() {
            self.save_and_restore_one(place);
        }
    }

    fn save_and_restore_one(&mut self, place: usize) {
        let saved = Archive::save(&mut self.interconnects[place]).unwrap();
        let hash = |interconnect: &Interconnect| {
            let mut digest = narthex_kernel::digest::Digest::default();
            interconnect.hash_state(&mut digest);
            digest.value()
        };
        let before = hash(&self.interconnects[place]);
        let is_idle = self.interconnects[place].is_idle_at(self.now);
        Archive::restore(&saved, &mut self.interconnects[place]).unwrap();
        assert_eq!(hash(&self.interconnects[place]), before);
        assert_eq!(self.interconnects[place].is_idle_at(self.now), is_idle);
    }

    /// A processor makes its access, or goes on waiting.
    fn attempt(&mut self, index: usize, now: Time) {
        let Unit { memory, doing, is_waiting } = &mut self.processors[index];
        let Some(what) = *doing else { return };
        let mut port = memory.port(&self.pages, &mut self.behind);
        let outcome = Self::perform(&mut port, what);
        match outcome {
            Outcome::Wait => *is_waiting = true,
            Outcome::Done(value) => {
                (*doing, *is_waiting) = (None, false);
                let at = now.as_ps() / 1_000;
                self.finished.push(Finished { at, processor: index, value });
                if let Some(watch) = &mut self.watch {
                    watch.done(what, value);
                }
            }
            other => panic!("{what:?} ends as {other:?}"),
        }
        // A store into the store buffer waits for no time.
        let is_posted =
            self.processors[index].is_waiting && self.processors[index].memory.wait_reason().is_none();
        ask(self, now, self.place_of(index), AgentId(index as u8));
        if is_posted {
            self.attempt(index, now);
        }
    }

    fn perform(port: &mut ProcessorPort<'_>, what: Do) -> Outcome<u64> {
        let stored = |outcome: Outcome<()>, value: u64| match outcome {
            Outcome::Done(()) => Outcome::Done(value),
            Outcome::Wait => Outcome::Wait,
            other => panic!("a store ends as {other:?}"),
        };
        match what {
            Load(address) => port.load(address, 8),
            Store(address, value) => {
                let outcome = port.store(address, 8, value);
                stored(outcome, value)
            }
            LoadReserved(address) => port.load_reserved(address, 8),
            StoreConditional(address, value) => match port.store_conditional(address, 8, value) {
                Outcome::Done(true) => Outcome::Done(value),
                Outcome::Done(false) => Outcome::Done(FAILED),
                _ => Outcome::Wait,
            },
            Add(address, value) => match port.load_for_update(address, 8) {
                Outcome::Done(before) => {
                    let sum = before.wrapping_add(value);
                    assert_eq!(
                        port.store(address, 8, sum),
                        Outcome::Done(()),
                        "the right came with the load"
                    );
                    Outcome::Done(sum)
                }
                other => other,
            },
            Flush(address) => {
                let outcome = port.operate_on_block(address, CacheBlockOperation::Flush);
                stored(outcome, 0)
            }
            Clean(address) => {
                let outcome = port.operate_on_block(address, CacheBlockOperation::Clean);
                stored(outcome, 0)
            }
        }
    }
}
