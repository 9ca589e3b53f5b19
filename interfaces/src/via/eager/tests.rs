//! The controller on the simulator's own bus with a host's cache: sentences with cycles.
//!
//! The bus is that of the machine edt: 100 MHz, 16 bytes wide, blocks of 128 bytes. An
//! address-only transaction takes 4 cycles (40 ns), a block from a cache 10 cycles and
//! 20 ns (120 ns), one from main memory 10 cycles and 60 ns (160 ns).

mod turns;

use super::*;
use narthex_memory::agent::{Agent, Either};
use narthex_memory::bus::{Bus, Config};
use narthex_memory::cache::Cache;
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::interconnects::{
    self, AddressMap, AgentPort, AgentPorts, Home, Interconnect, InterconnectHost, InterconnectId, MemoryId,
    Names, Step,
};
use narthex_memory::protocols::{self, Access, Request, State};
use narthex_memory::{AgentId, Kind, Response};
use serde_json::json;

const HOST: AgentId = AgentId(0);
const NI: AgentId = AgentId(1);
const BUS: InterconnectId = InterconnectId(0);
const BLOCK: u64 = 128;
/// A registered page, and its copy.
const PAGE: u64 = 0x4000;
const COPY: u64 = 0x10_0000;

/// A host with one cache, and the controller, on a bus.
struct Bench {
    bus: Interconnect,
    steps: Vec<(Time, Step)>,
    timers: Vec<Time>,
    now: Time,
    cache: Cache,
    main: HomeMemory,
    /// What the host waits for.
    wish: Option<(Access, u64)>,
    eager: Eager,
    copies: MainMemory,
    statistics: Statistics,
    /// What crossed: kind, offset in the page, nanosecond at which it was granted.
    crossed: Vec<(Kind, u64, u64)>,
}

fn bus() -> Interconnect {
    let config: Config = serde_json::from_value(json!({
        "clock": "100MHz", "width": "16B", "arbitration_cycles": 1, "address_cycles": 1,
        "cache_supply_time": "20ns",
        "extra_cycles": {
            "read": 0, "read_exclusive": 0, "upgrade": 2, "write_back": 0, "write_block": 0, "read_once": 0,
            "invalidate": 2, "uncached_load": 2, "uncached_store": 1, "block_load": 0, "block_store": 0
        },
    }))
    .expect("a sound bus");
    let ports = vec![AgentPort::of_processor(HOST), AgentPort::of_device(NI, 0..u64::MAX)];
    let homes = AddressMap::default().with_rest(Home::Memory(MemoryId(0)));
    let names = Names { name: "memory bus", prefix: "" };
    SnoopingBus::new(names, Bus::new(&config, BLOCK as usize), AgentPorts::new(ports), homes).into()
}

impl Bench {
    /// A page that is registered and read in, with nothing of it in the cache.
    fn new(reaction_ns: u64, writes_home: bool) -> Self {
        let eager = Eager::new(Build {
            tags: 2,
            block_bytes: BLOCK,
            reaction_time: Duration::from_ns(reaction_ns),
            initialisation: Initialisation::BusRead,
            supply_time: Duration::from_ns(10),
            writes_home,
        });
        let mut bench = Bench::with(eager);
        bench.register();
        bench.run_until(Time::from_ps(1_000_000_000));
        bench.crossed.clear();
        bench
    }

    fn with(eager: Eager) -> Self {
        let main = HomeMemory::new(MainMemory::default(), Duration::from_ns(60), BLOCK);
        let protocol = protocols::by_name("MESI").expect("a protocol");
        Bench {
            bus: bus(),
            steps: Vec::new(),
            timers: Vec::new(),
            now: Time::ZERO,
            cache: Cache::with_geometry(protocol, 64, 2, BLOCK as usize),
            main,
            wish: None,
            eager,
            copies: MainMemory::default(),
            statistics: Statistics::default(),
            crossed: Vec::new(),
        }
    }

    fn register(&mut self) {
        *self.eager.fields_mut() = Fields { host: PAGE..PAGE + 0x1000, copy: COPY..COPY + 0x1000 };
        self.eager.control(true).expect("a sound tag");
        interconnects::ask(self, self.now, BUS, NI);
    }

    fn with_eager<R>(
        &mut self,
        call: impl FnOnce(&mut Eager, &mut ControllerContext<'_>, &mut Statistics) -> R,
    ) -> R {
        let Bench { eager, timers, copies, statistics, now, .. } = self;
        let result = call(eager, &mut ControllerContext { now: *now, timers, memory: copies }, statistics);
        interconnects::ask(self, self.now, BUS, NI);
        result
    }

    /// The next thing that is due before `limit`; false if there is none.
    fn step(&mut self, limit: Time) -> bool {
        let step = self.steps.iter().map(|&(at, _)| at).min().unwrap_or(Time::NEVER);
        let timer = self.timers.iter().copied().min().unwrap_or(Time::NEVER);
        let next = step.min(timer);
        if next >= limit {
            if limit < Time::NEVER {
                self.now = self.now.max(limit);
            }
            return false;
        }
        self.now = next;
        if timer <= step {
            self.timers.retain(|&at| at > timer);
            self.with_eager(|eager, at, _| eager.timer(at.now));
        } else {
            let place = self.steps.iter().position(|&(at, _)| at == step).expect("it is the first");
            let (_, step) = self.steps.remove(place);
            interconnects::happen(self, next, BUS, step);
        }
        true
    }

    fn run_until(&mut self, limit: Time) {
        while self.step(limit) {}
    }

    /// Until nothing is to come, and to the next edge of the bus.
    fn settle(&mut self) {
        while self.step(Time::NEVER) {}
        self.now = Time::from_ps(self.now.as_ps().next_multiple_of(10_000));
    }

    fn acquire(&mut self, address: u64, access: Access) {
        while let Err(_request) = self.cache.access(address, access) {
            self.wish = Some((access, address));
            interconnects::request(self, self.now, BUS, HOST);
            while self.wish.is_some() {
                assert!(self.step(Time::NEVER), "the host waits for ever");
            }
        }
    }

    /// The host stores a doubleword; a nanosecond passes.
    fn store(&mut self, offset: u64, value: u64) {
        self.acquire(PAGE + offset, Access::Store);
        self.cache.write(PAGE + offset, &value.to_le_bytes());
        self.run_until(self.now + Duration::from_ns(1));
    }

    fn load(&mut self, offset: u64) -> u64 {
        self.acquire(PAGE + offset, Access::Load);
        let mut bytes = [0; 8];
        self.cache.read(PAGE + offset, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn copy(&self, offset: u64) -> u64 {
        let mut bytes = [0; 8];
        self.copies.read(COPY + offset, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn home(&self, offset: u64) -> u64 {
        let mut bytes = [0; 8];
        self.main.bytes.read(PAGE + offset, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn states(&self, offset: u64) -> (State, CopyState) {
        let block = (PAGE + offset) / BLOCK * BLOCK;
        (self.cache.state(block), self.eager.state_of(block).expect("it is registered"))
    }

    fn kinds(&self) -> Vec<Kind> {
        self.crossed.iter().map(|&(kind, ..)| kind).collect()
    }

    /// Bytes arrive for this offset.
    fn receive(&mut self, offset: u64, bytes: &[u8]) {
        self.with_eager(|eager, at, _| eager.place(at, COPY + offset, bytes));
        self.settle();
    }

    /// Notes what crosses the bus.
    fn crosses(&mut self, now: Time, transaction: &Transaction) {
        let offset = transaction.address.wrapping_sub(PAGE);
        self.crossed.push((transaction.kind, offset, now.as_ps() / 1000));
    }

    /// The host has read the whole page.
    fn warmed(mut self) -> Self {
        (0..0x1000).step_by(BLOCK as usize).for_each(|offset| _ = self.load(offset));
        self.settle();
        self.crossed.clear();
        self
    }
}

/// The host's cache.
struct Host<'a>(&'a mut Bench);

impl Agent for Host<'_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.wish.is_some()
    }

    fn issue(&mut self, now: Time, _on: InterconnectId) -> Option<Transaction> {
        let (access, address) = self.0.wish?;
        let kind = match self.0.cache.access(address, access) {
            Ok(_) => None,
            Err(Request::Read) => Some(Kind::Read),
            Err(Request::ReadExclusive) => Some(Kind::ReadExclusive),
            Err(_) => Some(Kind::Upgrade),
        };
        if kind.is_none() {
            self.0.wish = None;
        }
        let transaction = Transaction::block(HOST, kind?, address / BLOCK * BLOCK);
        self.0.crosses(now, &transaction);
        Some(transaction)
    }

    fn snoop(&mut self, now: Time, transaction: &Transaction) -> SnoopReply {
        self.0.now = now;
        let snoop = transaction.kind.snoop().expect("a block transaction");
        let reply = self.0.cache.snoop(snoop, transaction.address);
        SnoopReply { delay: Duration::from_ns(20), ..reply }
    }

    fn complete(&mut self, now: Time, _: InterconnectId, transaction: &Transaction, response: &Response) {
        self.0.now = now;
        let request = match transaction.kind {
            Kind::Read => Request::Read,
            Kind::ReadExclusive => Request::ReadExclusive,
            _ => Request::Upgrade,
        };
        self.0.wish = None;
        self.0.cache.fill(transaction.address, request, response.shared, response.data.as_ref());
    }
}

/// The controller of Eager Data Transfer.
struct Controller<'a>(&'a mut Bench);

impl Agent for Controller<'_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.eager.wants()
    }

    fn issue(&mut self, now: Time, _on: InterconnectId) -> Option<Transaction> {
        let Bench { eager, timers, copies, statistics, .. } = &mut *self.0;
        let mut issued = eager.issue(&mut ControllerContext { now, timers, memory: copies }, statistics)?;
        issued.agent = NI;
        self.0.crosses(now, &issued);
        Some(issued)
    }

    fn snoop(&mut self, now: Time, transaction: &Transaction) -> SnoopReply {
        self.0.now = now;
        self.0.with_eager(|eager, at, statistics| eager.snoop(at, transaction, statistics))
    }

    fn complete(&mut self, now: Time, _: InterconnectId, _: &Transaction, response: &Response) {
        self.0.now = now;
        self.0.with_eager(|eager, at, statistics| eager.complete(at, response, statistics));
    }
}

impl InterconnectHost for Bench {
    type Agent<'a> = Either<Host<'a>, Controller<'a>>;
    type Memory<'a> = &'a mut HomeMemory;

    fn interconnect(&mut self, _on: InterconnectId) -> &mut Interconnect {
        &mut self.bus
    }

    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        match agent {
            HOST => Either::First(Host(self)),
            _ => Either::Second(Controller(self)),
        }
    }

    fn memory(&mut self, _memory: MemoryId) -> &mut HomeMemory {
        &mut self.main
    }

    fn schedule(&mut self, at: Time, _on: InterconnectId, step: Step) {
        self.steps.push((at, step));
    }
}

#[test]
fn a_page_that_is_registered_is_read_in_block_by_block() {
    let mut bench = Bench::with(Bench::new(0, false).eager);
    bench.eager = Eager::new(bench.eager.build);
    bench.main.bytes.write(PAGE + 0x80, &7u64.to_le_bytes());
    bench.register();
    assert_eq!(bench.eager.status() & INITIALISED, 0);
    bench.settle();
    assert_eq!(bench.kinds(), [Kind::Read; 32]);
    assert_eq!((bench.crossed[1].2 - bench.crossed[0].2, bench.copy(0x80)), (160, 7), "from main memory");
    assert_eq!(bench.eager.status() & INITIALISED, INITIALISED);
}

#[test]
fn a_write_to_a_shared_block_is_an_invalidation_then_a_fetch_after_the_reaction_time() {
    let mut bench = Bench::new(200, false).warmed();
    assert_eq!(bench.states(0), (State::Shared, CopyState::Shared), "the host gets no block exclusively");
    let start = bench.now.as_ps() / 1000;
    bench.store(0, 5);
    assert_eq!(bench.states(0), (State::Modified, CopyState::Invalid));
    bench.settle();
    assert_eq!(bench.crossed, [(Kind::Upgrade, 0, start), (Kind::Read, 0, start + 200)]);
    assert_eq!((bench.states(0), bench.copy(0)), ((State::Shared, CopyState::Shared), 5));
    assert_eq!(bench.home(0), 5, "memory takes what the cache supplies");
}

#[test]
fn a_block_written_word_after_word_crosses_once_where_the_reaction_time_suffices() {
    let mut bench = Bench::new(200, false).warmed();
    (0..1024).step_by(8).for_each(|offset| bench.store(offset, offset + 1));
    bench.settle();
    let upgrades = bench.kinds().iter().filter(|kind| **kind == Kind::Upgrade).count();
    let reads = bench.kinds().iter().filter(|kind| **kind == Kind::Read).count();
    assert_eq!((upgrades, reads), (8, 8), "two transactions a block");
    assert!((0..1024).step_by(8).all(|offset| bench.copy(offset) == offset + 1));
}

#[test]
fn without_a_reaction_time_each_write_that_comes_late_is_two_transactions_more() {
    let mut bench = Bench::new(0, false).warmed();
    for offset in (0..128).step_by(8) {
        bench.store(offset, offset + 1);
        bench.settle();
    }
    assert_eq!(bench.crossed.len(), 2 * 16);
}

#[test]
fn a_stride_of_one_block_costs_two_transactions_for_each_word() {
    let mut bench = Bench::new(200, false).warmed();
    let (blocks, words) = (8, 4);
    for word in 0..words {
        for block in 0..blocks {
            bench.store(block * BLOCK + word * 8, word + 1);
        }
    }
    bench.settle();
    assert_eq!(bench.crossed.len() as u64, 2 * blocks * words, "2BW (Section 5)");
    assert!((0..blocks).all(|block| bench.copy(block * BLOCK + 24) == 4));
}

#[test]
fn a_write_during_a_fetch_waits_for_it_and_makes_the_copy_invalid_again() {
    let mut bench = Bench::new(40, false).warmed();
    let start = bench.now.as_ps() / 1000;
    bench.store(0, 1);
    // The fetch is granted at 40 ns and over at 160 ns; the second write comes between.
    bench.run_until(Time::from_ps((start + 60) * 1000));
    bench.store(8, 2);
    bench.settle();
    let granted: Vec<_> = bench.crossed.iter().map(|&(kind, _, at)| (kind, at - start)).collect();
    assert_eq!(granted, [(Kind::Upgrade, 0), (Kind::Read, 40), (Kind::Upgrade, 160), (Kind::Read, 200)]);
    assert_eq!((bench.copy(0), bench.copy(8)), (1, 2));
}

#[test]
fn a_doorbell_that_overtakes_a_fetch_finds_the_status_bit_and_the_block_is_fetched_at_once() {
    let mut bench = Bench::new(10_000, false).warmed();
    let start = bench.now.as_ps() / 1000;
    bench.store(0, 9);
    assert_ne!(bench.copy(0), 9, "what the firmware would read");
    bench.with_eager(|eager, _, statistics| eager.await_valid(COPY..COPY + 64, statistics));
    assert_eq!(bench.eager.status() & AWAITED, 0);
    bench.settle();
    assert_eq!(bench.crossed[1], (Kind::Read, 0, start + 50), "the next edge, not after 10 us");
    assert_eq!((bench.eager.status() & AWAITED, bench.copy(0)), (AWAITED, 9));
    assert_eq!(bench.crossed.len(), 2, "the fetch that waited is not made again");
}

#[test]
fn coherent_receive_invalidates_owns_and_supplies_when_the_host_reads() {
    let mut bench = Bench::new(200, false).warmed();
    let start = bench.now.as_ps() / 1000;
    bench.receive(0, &[3; 256]);
    assert_eq!(bench.crossed, [(Kind::Upgrade, 0, start), (Kind::Upgrade, 128, start + 40)]);
    assert_eq!((bench.states(0), bench.home(0)), ((State::Invalid, CopyState::Modified), 0));
    let read = bench.now.as_ps() / 1000;
    assert_eq!(bench.load(0), 0x0303_0303_0303_0303);
    assert_eq!(bench.now.as_ps() / 1000 - read, 110, "ten cycles, and 10 ns of the interface's memory");
    assert_eq!((bench.states(0), bench.home(0)), ((State::Shared, CopyState::Shared), 0x0303_0303_0303_0303));
    assert_eq!(bench.statistics.supplied.get(), 1);
}

#[test]
fn a_part_of_a_block_that_is_not_valid_is_read_first_so_that_no_write_beside_it_is_lost() {
    let mut bench = Bench::new(10_000, false).warmed();
    bench.store(8, 7);
    bench.receive(0, &[3; 8]);
    assert_eq!(bench.kinds(), [Kind::Upgrade, Kind::ReadExclusive]);
    assert_eq!((bench.load(0), bench.load(8)), (0x0303_0303_0303_0303, 7));
}

#[test]
fn dma_like_receive_writes_home_and_leaves_both_without_a_dirty_block() {
    let mut bench = Bench::new(200, true).warmed();
    let start = bench.now.as_ps() / 1000;
    bench.receive(0, &[3; 128]);
    assert_eq!(bench.crossed, [(Kind::WriteBlock, 0, start)]);
    assert_eq!(
        (bench.states(0), bench.home(0)),
        ((State::Invalid, CopyState::Shared), 0x0303_0303_0303_0303)
    );
    bench.store(200, 7);
    bench.receive(192, &[4; 8]);
    let kinds = bench.kinds();
    assert_eq!(kinds[1..], [Kind::Upgrade, Kind::ReadExclusive, Kind::WriteBack], "its fetch was not due");
    assert_eq!((bench.load(192), bench.load(200)), (0x0404_0404_0404_0404, 7));
}

#[test]
fn bytes_without_a_tag_are_merged_and_written_home() {
    let mut bench = Bench::new(200, false);
    bench.with_eager(|eager, at, _| eager.put(at, PAGE + 0x2008, &6u64.to_le_bytes()));
    bench.settle();
    assert_eq!((bench.kinds(), bench.home(0x2008)), (vec![Kind::ReadExclusive, Kind::WriteBack], 6));
    assert_eq!(bench.eager.status() & UPDATED, UPDATED);
}

#[test]
fn a_tag_that_ends_returns_what_the_interface_owns() {
    let mut bench = Bench::new(200, false).warmed();
    bench.receive(0, &[3; 128]);
    bench.eager.control(false).expect("it is valid");
    bench.with_eager(|_, _, _| ());
    bench.settle();
    assert_eq!((bench.home(0), bench.eager.used().0), (0x0303_0303_0303_0303, 0));
    assert_eq!(bench.kinds(), [Kind::Upgrade, Kind::WriteBack]);
}

#[test]
fn initialisation_by_invalidation_takes_newer_bytes_home() {
    let build = Build { initialisation: Initialisation::Invalidate, ..Bench::new(0, false).eager.build };
    let mut bench = Bench::with(Eager::new(build));
    bench.store(0, 4);
    bench.crossed.clear();
    bench.register();
    bench.settle();
    assert_eq!(bench.kinds()[..2], [Kind::ReadExclusive, Kind::WriteBack]);
    assert_eq!((bench.home(0), bench.crossed.len()), (4, 64));
    assert_eq!(bench.states(0), (State::Invalid, CopyState::Invalid));
    bench.with_eager(|eager, _, statistics| eager.await_valid(COPY..COPY + 8, statistics));
    bench.settle();
    assert_eq!(bench.copy(0), 4, "a block that is not valid is fetched when it is needed");
}

#[test]
fn without_asserting_shared_a_silent_write_is_never_seen() {
    let build = Bench::new(0, false).eager.build;
    let mut bench = Bench::with(Eager::new(Build { initialisation: Initialisation::Invalidate, ..build }));
    bench.eager = bench.eager.clone().without(Rule::AssertingShared);
    bench.register();
    bench.settle();
    assert_eq!(bench.load(0), 0);
    assert_eq!(bench.states(0).0, State::Exclusive);
    bench.store(0, 5);
    bench.settle();
    assert_eq!((bench.eager.status() & AWAITED, bench.copy(0)), (AWAITED, 0));
}
