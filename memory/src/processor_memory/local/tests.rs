//! Loads, stores, fetches and atomics of a processor without caches, and their time.

use super::*;
use crate::cache;
use crate::kind::Kind;
use crate::main_memory::MainMemory;
use crate::pages::PageAttributes;
use crate::pages::PageTable;
use crate::port::{AccessFault, CacheBlockOperation, Port};
use crate::processor_memory::{StoreBufferConfig, UncachedStores};
use crate::transaction::{AgentId, Transaction};
use narthex_kernel::Duration;

const MEMORY: u64 = 0x1_0000;
const REGISTERS: u64 = 0x7000_0000;

struct Bench {
    own: ProcessorMemory,
    pages: PageTable,
    memory: MainMemory,
}

impl Bench {
    fn new(access_cycles: u32) -> Self {
        let data = cache::Config {
            size: "1KiB".parse().unwrap(),
            associativity: 1,
            block: "32B".parse().unwrap(),
            protocol: "MESI".into(),
            snarfing: false,
        };
        let store_buffer = StoreBufferConfig {
            uncached_stores: UncachedStores::Blocking,
            entries: 1,
            flushed_blocks: Default::default(),
        };
        let own = ProcessorMemory::new(AgentId(0), &data, Some(&data), &store_buffer, Duration::ZERO)
            .with_local_memory(access_cycles, 128, 64);
        let local = PageAttributes { kind: own.page_kind(), executable: true, ..PageAttributes::DATA };
        let mut pages = PageTable::default();
        pages.map(MEMORY, 0x2000, local);
        pages.map(REGISTERS, 0x1000, PageAttributes::DEVICE);
        Bench { own, pages, memory: MainMemory::default() }
    }

    fn port(&mut self) -> ProcessorPort<'_> {
        self.own.port(&self.pages, &mut self.memory)
    }
}

fn late(cycles: u32, port_cycles: u32) -> LowerLevelLatency {
    LowerLevelLatency { cycles, port_cycles, register: None }
}

#[test]
fn accesses_to_a_memory_of_one_cycle_are_done_at_once_and_ask_for_no_bus() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.port().store(MEMORY + 0xffd, 8, 0x8877_6655_4433_2211), Outcome::Done(()));
    assert_eq!(bench.port().load(MEMORY + 0xffe, 2), Outcome::Done(0x3322), "at any alignment");
    assert!(bench.port().fetch_hit(MEMORY + 64));
    assert!(bench.own.is_at_rest());
    let mut bytes = [0; 8];
    bench.memory.read(MEMORY + 0xffd, &mut bytes);
    assert_eq!(bytes, 0x8877_6655_4433_2211u64.to_le_bytes(), "the bytes are the memory's own");
}

#[test]
fn an_access_is_as_late_as_it_takes_beyond_one_cycle_and_the_next_one_follows_it() {
    let mut bench = Bench::new(3);
    assert_eq!(bench.port().store(MEMORY, 4, 5), Outcome::Late((), late(2, 3)));
    assert_eq!(bench.port().load(MEMORY, 4), Outcome::Late(5, late(2, 3)));
    assert!(!bench.port().fetch_hit(MEMORY));
    assert_eq!(bench.port().fetch(MEMORY), Outcome::Late((), late(2, 3)));
    assert!(bench.port().fetch_hit(MEMORY + 60), "the line is kept");
    assert_eq!(bench.port().fetch(MEMORY + 64), Outcome::Late((), late(2, 3)));
    assert!(!bench.port().fetch_hit(MEMORY), "until another one is fetched");
    assert_eq!(bench.port().fence_instructions(), Outcome::Done(()));
    assert!(!bench.port().fetch_hit(MEMORY + 64), "or it is forgotten");
    assert_eq!(bench.port().fetch(REGISTERS), Outcome::Fault(AccessFault::Protected));
}

#[test]
fn what_others_write_is_read_and_code_that_is_written_is_decoded_anew() {
    let mut bench = Bench::new(1);
    bench.memory.write(MEMORY, &[9]);
    assert_eq!(bench.port().load(MEMORY, 1), Outcome::Done(9));
    assert_eq!(bench.port().store(MEMORY, 4, 0x13), Outcome::Done(()));
    assert_eq!(bench.port().code(MEMORY), Ok(0x13));
}

#[test]
fn atomics_are_made_at_once_and_another_agents_transaction_ends_a_reservation() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.port().load_for_update(MEMORY, 8), Outcome::Done(0));
    assert_eq!(bench.port().load_reserved(MEMORY, 8), Outcome::Done(0));
    assert_eq!(bench.port().store_conditional(MEMORY, 8, 4), Outcome::Done(true));
    assert_eq!(bench.port().store_conditional(MEMORY, 8, 5), Outcome::Done(false), "it is used up");
    assert_eq!(bench.port().load_reserved(MEMORY, 8), Outcome::Done(4));
    let write = Transaction::block(AgentId(1), Kind::WriteBlock, MEMORY);
    assert_eq!(bench.own.snoop(&write).supplies, None);
    assert_eq!(bench.port().store_conditional(MEMORY, 8, 5), Outcome::Done(false));
    assert_eq!(bench.port().load_reserved(MEMORY + 4, 8), Outcome::Fault(AccessFault::Misaligned));
}

#[test]
fn there_is_nothing_to_clean_and_zeros_are_stored_word_by_word() {
    let mut bench = Bench::new(2);
    for operation in [CacheBlockOperation::Clean, CacheBlockOperation::Flush, CacheBlockOperation::Invalidate]
    {
        let _ = bench.port().store(MEMORY + 130, 1, 7);
        assert_eq!(Port::operate_on_block(&mut bench.port(), MEMORY + 130, operation), Outcome::Done(()));
        assert_eq!(bench.port().load(MEMORY + 130, 1), Outcome::Late(7, late(1, 2)));
    }
    let _ = bench.port().store(MEMORY + 256, 1, 8);
    let zeroed = Port::operate_on_block(&mut bench.port(), MEMORY + 130, CacheBlockOperation::Zero);
    assert_eq!(zeroed, Outcome::Late((), late(31, 32)), "16 words of two cycles");
    assert_eq!(bench.port().load(MEMORY + 130, 1), Outcome::Late(0, late(1, 2)));
    assert_eq!(bench.port().load(MEMORY + 256, 1), Outcome::Late(8, late(1, 2)), "the next block stays");
}

#[test]
fn registers_stay_uncached() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    assert!(bench.own.wants(crate::processor_memory::Traffic::All));
}
