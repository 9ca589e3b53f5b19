//! Two processors on a bus whose blocks are operated on.

use super::*;
use crate::cache;
use crate::main_memory::MainMemory;
use crate::pages::{PageAttributes, PageTable};
use crate::port::Port;
use crate::processor_memory::{FlushedBlocks, StoreBufferConfig, Traffic, UncachedStores};
use crate::protocols::{self, Protocol};
use crate::transaction::{AgentId, Response};
use CacheBlockOperation::{Clean, Flush, Invalidate, Zero};
use narthex_kernel::Duration;

const DATA: u64 = 0x1000;
const REGISTERS: u64 = 0x3000;
const ROM: u64 = 0x4000;

struct Bus {
    caches: Vec<ProcessorMemory>,
    pages: PageTable,
    memory: MainMemory,
    /// What has crossed the bus.
    crossed: Vec<Kind>,
}

impl Bus {
    fn new(protocol: &'static Protocol, is_firmware: bool) -> Self {
        Bus::with_buffer(
            protocol,
            is_firmware,
            &StoreBufferConfig {
                uncached_stores: UncachedStores::Blocking,
                entries: 1,
                flushed_blocks: FlushedBlocks::Blocking,
            },
        )
    }

    /// Processors that post uncached stores and flushed blocks, two at a time.
    fn posting() -> Self {
        let stores = StoreBufferConfig {
            uncached_stores: UncachedStores::Posted,
            entries: 2,
            flushed_blocks: FlushedBlocks::Posted,
        };
        Bus::with_buffer(protocols::by_name("MESI").unwrap(), false, &stores)
    }

    fn with_buffer(protocol: &'static Protocol, is_firmware: bool, stores: &StoreBufferConfig) -> Self {
        let data = cache::Config {
            size: "1KiB".parse().unwrap(),
            associativity: 2,
            block: "64B".parse().unwrap(),
            protocol: protocol.name.into(),
            snarfing: false,
            prefetcher: None,
        };
        let mut pages = PageTable::default();
        pages.map(DATA, 0x1000, PageAttributes::DATA);
        pages.map(REGISTERS, 0x1000, PageAttributes::DEVICE);
        pages.map(ROM, 0x1000, PageAttributes::READ_ONLY);
        let own = |agent| {
            let own = ProcessorMemory::new(AgentId(agent), &data, None, stores, Duration::ZERO);
            if is_firmware { own.with_invalidation() } else { own }
        };
        let mut memory = MainMemory::default();
        memory.write(DATA, &[1; 128]);
        Bus { caches: vec![own(0), own(1)], pages, memory, crossed: Vec::new() }
    }

    /// The transaction that a processor wants, with the other one snooping.
    fn turn(&mut self, own: usize) {
        let Some(transaction) = self.caches[own].issue(Traffic::All) else { return };
        let reply = self.caches[1 - own].snoop(&transaction);
        self.crossed.push(transaction.kind);
        if let Some(data) = &transaction.data {
            self.memory.write(transaction.address, data);
        }
        if let (Some(data), true) = (&reply.supplies, reply.updates_home) {
            self.memory.write(transaction.address, data);
        }
        let of_memory = || self.memory.read_block(transaction.address, 64);
        let data = transaction.kind.fetches_block().then(|| reply.supplies.unwrap_or_else(of_memory));
        let response = Response { data, value: 0, shared: reply.shares };
        self.caches[own].complete(&transaction, &response);
    }

    /// Repeats an access until it does not wait any more.
    fn access<V>(&mut self, own: usize, access: impl Fn(&mut ProcessorPort<'_>) -> Outcome<V>) -> Outcome<V> {
        for _ in 0..6 {
            match access(&mut self.caches[own].port(&self.pages, &mut self.memory)) {
                Outcome::Wait => self.turn(own),
                outcome => return outcome,
            }
        }
        panic!("an access that goes on waiting");
    }

    fn store(&mut self, own: usize, value: u64) {
        assert_eq!(self.access(own, |port| port.store(DATA, 8, value)), Outcome::Done(()));
    }

    fn load(&mut self, own: usize) -> u64 {
        match self.access(own, |port| port.load(DATA, 8)) {
            Outcome::Done(value) => value,
            other => panic!("{other:?}"),
        }
    }

    fn operate(&mut self, own: usize, operation: CacheBlockOperation) -> Vec<Kind> {
        self.crossed.clear();
        let done = self.access(own, |port| Port::operate_on_block(port, DATA + 17, operation));
        assert_eq!(done, Outcome::Done(()));
        self.crossed.clone()
    }

    /// Flushes a block and stores to a register; nothing has crossed the bus by then.
    fn post_flush_and_store(&mut self, block: u64) {
        let Bus { caches, pages, memory, .. } = self;
        let mut port = caches[0].port(pages, memory);
        assert_eq!(Port::operate_on_block(&mut port, block, Flush), Outcome::Wait, "for no time");
        assert_eq!(port.own.wait_reason(), None);
        assert_eq!(Port::operate_on_block(&mut port, block, Flush), Outcome::Done(()));
        assert_eq!(port.store(REGISTERS, 8, 5), Outcome::Wait);
        assert_eq!(port.store(REGISTERS, 8, 5), Outcome::Done(()));
    }

    fn states(&self) -> [State; 2] {
        [0, 1].map(|own: usize| self.caches[own].data.state(DATA))
    }

    fn in_memory(&self) -> u64 {
        self.memory.read_block(DATA, 64).word(0)
    }
}

#[test]
fn a_posted_flush_leaves_before_later_stores_while_its_processor_goes_on() {
    let mut bus = Bus::posting();
    bus.store(0, 7);
    bus.crossed.clear();
    bus.post_flush_and_store(DATA);
    assert_eq!((bus.in_memory(), bus.crossed.len()), (OLD, 0));
    bus.turn(0);
    assert_eq!((bus.in_memory(), bus.states()), (7, [State::Invalid; 2]));
    bus.turn(0);
    assert_eq!(bus.crossed, [Kind::WriteBack, Kind::UncachedStore]);
    assert!(bus.caches[0].is_at_rest());
}

#[test]
fn a_posted_flush_is_over_when_another_cache_has_taken_the_block() {
    let mut bus = Bus::posting();
    bus.store(0, 7);
    bus.post_flush_and_store(DATA);
    bus.store(1, 8);
    bus.crossed.clear();
    bus.turn(0);
    assert_eq!((bus.crossed.clone(), bus.load(1)), (vec![Kind::UncachedStore], 8));
    assert!(bus.caches[0].is_at_rest());
}

#[test]
fn a_fence_waits_for_posted_flushes_and_a_full_buffer_for_the_flush() {
    let mut bus = Bus::posting();
    bus.store(0, 7);
    bus.post_flush_and_store(DATA);
    assert_eq!(bus.access(0, |port| port.fence()), Outcome::Done(()));
    assert_eq!((bus.in_memory(), bus.caches[0].is_at_rest()), (7, true));
    bus.store(0, 9);
    bus.post_flush_and_store(DATA);
    let next = DATA + 64;
    assert_eq!(bus.access(0, |port| port.store(next, 8, 1)), Outcome::Done(()));
    let Bus { caches, pages, memory, .. } = &mut bus;
    let waits = Port::operate_on_block(&mut caches[0].port(pages, memory), next, Flush);
    assert_eq!((waits, caches[0].wait_reason().is_some()), (Outcome::Wait, true));
}

const OLD: u64 = 0x0101_0101_0101_0101;

fn each_protocol() -> impl Iterator<Item = &'static Protocol> {
    ["MSI", "MESI", "MOESI"].into_iter().map(|name| protocols::by_name(name).expect("it is built in"))
}

#[test]
fn a_block_that_was_written_reaches_memory_in_one_transaction() {
    for protocol in each_protocol() {
        let mut bus = Bus::new(protocol, false);
        bus.store(0, 7);
        assert_eq!(bus.in_memory(), OLD);
        assert_eq!(bus.operate(0, Clean), [Kind::WriteBack], "{}", protocol.name);
        assert_eq!((bus.in_memory(), bus.load(0)), (7, 7));
        assert!(!bus.states()[0].is_dirty() && bus.states()[0].is_readable());
        bus.store(0, 8);
        assert_eq!(bus.operate(0, Flush), [Kind::WriteBack]);
        assert_eq!((bus.in_memory(), bus.states()[0]), (8, State::Invalid));
        assert_eq!(bus.load(1), 8);
    }
}

#[test]
fn a_block_of_another_cache_reaches_memory_too() {
    for protocol in each_protocol() {
        for (operation, left) in [(Clean, true), (Flush, false)] {
            for is_shared in [false, true] {
                let mut bus = Bus::new(protocol, false);
                bus.store(1, 9);
                if is_shared {
                    assert_eq!(bus.load(0), 9);
                }
                bus.operate(0, operation);
                let name = protocol.name;
                assert_eq!(bus.in_memory(), 9, "{operation:?} {name} {is_shared}");
                assert_eq!(bus.states().map(State::is_readable), [left, false], "{operation:?} {name}");
                assert_eq!(bus.load(1), 9);
            }
        }
    }
}

#[test]
fn a_clean_block_that_no_other_cache_has_takes_no_transaction() {
    let mut bus = Bus::new(protocols::by_name("MESI").unwrap(), true);
    for (operation, left) in
        [(Clean, State::Exclusive), (Flush, State::Invalid), (Invalidate, State::Invalid)]
    {
        assert_eq!(bus.load(0), OLD);
        assert_eq!(bus.operate(0, operation), []);
        assert_eq!(bus.states()[0], left);
    }
}

#[test]
fn firmware_that_invalidates_a_block_loses_what_was_written_to_it_and_a_program_does_not() {
    for protocol in each_protocol() {
        for (is_firmware, value) in [(true, OLD), (false, 7)] {
            for writer in [0, 1] {
                let mut bus = Bus::new(protocol, is_firmware);
                bus.store(writer, 7);
                bus.operate(0, Invalidate);
                assert_eq!(bus.states(), [State::Invalid; 2], "{} {is_firmware}", protocol.name);
                assert_eq!([bus.in_memory(), bus.load(0), bus.load(1)], [value; 3]);
            }
        }
    }
}

#[test]
fn a_zeroed_block_is_zeros_for_all_and_memory_has_it_when_it_is_flushed() {
    let mut bus = Bus::new(protocols::by_name("MOESI").unwrap(), false);
    bus.store(1, 7);
    assert_eq!(bus.operate(0, Zero), [Kind::ReadExclusive]);
    assert_eq!((bus.states(), bus.in_memory()), ([State::Modified, State::Invalid], OLD));
    assert_eq!((bus.load(1), bus.load(0)), (0, 0));
    bus.operate(1, Flush);
    assert_eq!(bus.memory.read_block(DATA, 64)[..], [0; 64]);
    assert_eq!(bus.memory.read_block(DATA + 64, 64)[..], [1; 64], "and no byte beside it");
}

#[test]
fn pages_that_no_cache_holds_have_nothing_to_write_back_and_cannot_be_zeroed() {
    let mut bus = Bus::new(protocols::by_name("MESI").unwrap(), true);
    let mut at = |address, operation| bus.access(0, |port| Port::operate_on_block(port, address, operation));
    for operation in [Clean, Flush, Invalidate] {
        assert_eq!(at(REGISTERS, operation), Outcome::Done(()));
        assert_eq!(at(0x9000, operation), Outcome::Fault(AccessFault::Unmapped));
        assert_eq!(at(ROM, operation), Outcome::Done(()), "what can be read can be written back");
    }
    assert_eq!(at(REGISTERS, Zero), Outcome::Fault(AccessFault::Device));
    assert_eq!(at(ROM, Zero), Outcome::Fault(AccessFault::Protected));
    assert_eq!(at(0x9000, Zero), Outcome::Fault(AccessFault::Unmapped));
}
