//! A processor's memory with a bus that carries one transaction at a time.

mod accesses;
mod at_once;
mod held_blocks;
mod instructions;
mod parameters;
mod paths;
pub(super) mod second_level;
mod several;
mod tagged_memory;

use super::*;
use crate::kind::Kind;
use crate::pages::{PageAttributes, PageKind};
use crate::port::{AccessFault, Outcome, Port};
use crate::transaction::{BlockData, Response};

const DATA: u64 = 0x1000;
const CODE: u64 = 0x2000;
pub(super) const REGISTERS: u64 = 0x3000;
const BUFFERS: u64 = 0x4000;

pub(super) struct Bench {
    pub(super) own: ProcessorMemory,
    pub(super) pages: PageTable,
    pub(super) memory: MainMemory,
}

pub(super) fn data_config() -> cache::Config {
    cache::Config {
        size: "1KiB".parse().unwrap(),
        associativity: 1,
        block: "64B".parse().unwrap(),
        protocol: "MOESI".into(),
        snarfing: false,
        prefetcher: None,
    }
}

pub(super) fn bench(uncached_stores: UncachedStores) -> Bench {
    let data = data_config();
    let store_buffer = StoreBufferConfig { uncached_stores, entries: 2, flushed_blocks: Default::default() };
    let mut pages = PageTable::default();
    pages.map(DATA, 0x1000, PageAttributes::DATA);
    pages.map(CODE, 0x1000, PageAttributes { executable: true, ..PageAttributes::DATA });
    pages.map(REGISTERS, 0x1000, PageAttributes::DEVICE);
    pages.map(BUFFERS, 0x1000, PageAttributes::BLOCK_BUFFERS);
    let own = ProcessorMemory::new(AgentId(0), &data, Some(&data), &store_buffer, Duration::from_ns(12));
    Bench { own, pages, memory: MainMemory::default() }
}

impl Bench {
    pub(super) fn port(&mut self) -> ProcessorPort<'_> {
        self.own.port(&self.pages, &mut self.memory)
    }

    /// The byte at an address of the node, if the caches of data have it.
    fn first_byte(&self, address: u64) -> Option<u8> {
        let mut byte = [0];
        self.own.peek(address, &mut byte).then_some(byte[0])
    }

    /// Carries out the transaction that is wanted; its kind, and whether
    /// the processor was woken by it.
    pub(super) fn bus_turn(&mut self) -> (Kind, bool) {
        assert!(self.own.wants(Traffic::All));
        let transaction = self.own.issue(Traffic::All).expect("a transaction");
        if let Some(data) = &transaction.data {
            self.memory.write(transaction.address, data);
        }
        let data = transaction.kind.fetches_block().then(|| self.memory.read_block(transaction.address, 64));
        let response = Response { data, value: 0x77, shared: false };
        (transaction.kind, self.own.complete(&transaction, &response))
    }

    /// Repeats an access until it does not wait any more, as a processor does; its
    /// outcome, and the transactions that it took.
    fn finished<T>(&mut self, access: impl Fn(&mut ProcessorPort<'_>) -> Outcome<T>) -> (Outcome<T>, usize) {
        // Two blocks, each with a write-back.
        for turns in 0..=4 {
            match access(&mut self.port()) {
                Outcome::Wait => drop(self.bus_turn()),
                outcome => return (outcome, turns),
            }
        }
        panic!("an access that goes on waiting")
    }

    fn outcome<T>(&mut self, access: impl Fn(&mut ProcessorPort<'_>) -> Outcome<T>) -> Outcome<T> {
        self.finished(access).0
    }
}

#[test]
fn a_missing_load_waits_for_its_block_and_then_finishes() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.memory.write(DATA + 8, &[42]);
    assert_eq!(bench.port().load_hit::<8>(DATA + 8), None);
    assert_eq!(bench.port().load(DATA + 8, 8), Outcome::Wait);
    assert_eq!(bench.own.wait_reason(), Some(WaitReason::DataMiss));
    assert_eq!(bench.bus_turn(), (Kind::Read, true));
    assert_eq!(bench.port().load(DATA + 8, 8), Outcome::Done(42));
    assert_eq!(bench.port().load_hit::<8>(DATA + 8), Some(42));
}

#[test]
fn a_store_over_a_dirty_block_writes_that_back_first() {
    let mut bench = bench(UncachedStores::Blocking);
    assert_eq!(bench.port().store(DATA, 8, 1), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::ReadExclusive, true));
    assert_eq!(bench.port().store(DATA, 8, 1), Outcome::Done(()));
    assert_eq!(bench.port().store(DATA + 0x400, 8, 2), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::WriteBack, false));
    assert_eq!(bench.memory.read_block(DATA, 64).word(0), 1);
    assert_eq!(bench.bus_turn(), (Kind::ReadExclusive, true));
}

#[test]
fn an_upgrade_that_lost_its_block_meanwhile_fetches_it_again() {
    let mut bench = bench(UncachedStores::Blocking);
    let _ = bench.port().load(DATA, 8);
    bench.bus_turn();
    let read = Transaction::block(AgentId(1), Kind::Read, DATA);
    assert!(bench.own.snoop(&read).shares);
    assert_eq!(bench.port().store(DATA, 8, 5), Outcome::Wait);
    // Before the bus is granted for the upgrade, another agent writes.
    bench.own.snoop(&Transaction::block(AgentId(1), Kind::ReadExclusive, DATA));
    assert_eq!(bench.bus_turn(), (Kind::ReadExclusive, true));
}

#[test]
fn a_misaligned_store_across_two_blocks_gets_both() {
    let mut bench = bench(UncachedStores::Blocking);
    let stored = bench.finished(|port| port.store(DATA + 60, 8, 0x0807_0605_0403_0201));
    assert_eq!(stored, (Outcome::Done(()), 2));
    assert_eq!(bench.port().load(DATA + 60, 8), Outcome::Done(0x0807_0605_0403_0201));
    assert_eq!(bench.port().load(DATA + 64, 4), Outcome::Done(0x0807_0605));
}

#[test]
fn a_blocking_uncached_access_is_done_when_it_is_repeated() {
    let mut bench = bench(UncachedStores::Blocking);
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::UncachedLoad, true));
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Done(0x77));
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait, "the next load is another access");
    bench.bus_turn();
    let _ = bench.port().load(REGISTERS, 8);
    assert_eq!(bench.port().store(REGISTERS + 8, 8, 3), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, true));
    assert_eq!(bench.port().store(REGISTERS + 8, 8, 3), Outcome::Done(()));
}

/// A store that is to be posted: the processor repeats it at once.
fn post(bench: &mut Bench, value: u64) -> bool {
    let first = bench.port().store(REGISTERS, 8, value);
    assert_eq!(first, Outcome::Wait);
    bench.own.wait_reason().is_none() && bench.port().store(REGISTERS, 8, value) == Outcome::Done(())
}

#[test]
fn posted_stores_leave_in_order_and_a_full_buffer_waits() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 1) && post(&mut bench, 2));
    assert!(!post(&mut bench, 3), "two entries hold two stores");
    assert_eq!(bench.own.wait_reason(), Some(WaitReason::StoreBuffer));
    let transaction = bench.own.issue(Traffic::All).unwrap();
    assert_eq!((transaction.kind, transaction.value), (Kind::UncachedStore, 1));
    let response = Response { data: None, value: 0, shared: false };
    assert!(bench.own.complete(&transaction, &response), "there is room again");
    assert!(post(&mut bench, 3));
}

#[test]
fn an_uncached_load_and_a_fence_wait_until_posted_stores_have_left() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 1));
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, false));
    assert_eq!(bench.bus_turn(), (Kind::UncachedLoad, true));
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Done(0x77));
    assert!(post(&mut bench, 2));
    assert_eq!(bench.port().fence(), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, true));
    assert_eq!(bench.port().fence(), Outcome::Done(()));
}

#[test]
fn a_reservation_dies_with_its_block() {
    let mut bench = bench(UncachedStores::Blocking);
    let _ = bench.port().load_reserved(DATA, 8);
    bench.bus_turn();
    assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Done(0));
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Done(true));
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Done(false), "it is used up");
    let _ = bench.port().load_reserved(DATA, 8);
    bench.own.snoop(&Transaction::block(AgentId(1), Kind::ReadExclusive, DATA));
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Done(false));
}

/// A bench whose block is reserved, and shared with another agent.
fn reserved() -> Bench {
    let mut bench = bench(UncachedStores::Blocking);
    let _ = bench.port().load_reserved(DATA, 8);
    bench.bus_turn();
    assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Done(0));
    assert!(bench.own.snoop(&Transaction::block(AgentId(1), Kind::Read, DATA)).shares);
    bench
}

#[test]
fn a_store_whose_reservation_is_lost_while_it_waits_fetches_nothing() {
    let mut bench = reserved();
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Wait);
    assert!(bench.own.wants(Traffic::All));
    bench.own.snoop(&Transaction::block(AgentId(1), Kind::Upgrade, DATA));
    assert_eq!(bench.own.issue(Traffic::All).map(|transaction| transaction.kind), None);
    assert_eq!(bench.own.wait_reason(), None, "the processor goes on");
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Done(false));
    let mut bench = reserved();
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::Upgrade, true));
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Done(true));
}

#[test]
fn what_the_system_writes_ends_a_reservation() {
    let mut bench = reserved();
    bench.own.poke(DATA + 8, &[1]);
    assert_eq!(bench.port().store_conditional(DATA, 8, 9), Outcome::Done(false));
    assert_eq!(bench.port().load(DATA + 8, 1), Outcome::Done(1));
}

#[test]
fn a_block_whose_upgrade_is_under_way_is_not_flushed() {
    let mut bench = reserved();
    bench.memory.write(DATA, &[7]);
    bench.own.poke(DATA, &[7]);
    assert_eq!(bench.port().store(DATA + 8, 1, 5), Outcome::Wait);
    let upgrade = bench.own.issue(Traffic::All).expect("an upgrade");
    bench.own.flush(DATA..DATA + 4096, |_, _| panic!("nothing is dirty"));
    assert!(bench.own.complete(&upgrade, &Response::default()));
    assert_eq!(bench.port().load(DATA, 1), Outcome::Done(7), "its bytes are there");
}

#[test]
fn atomics_are_refused_on_device_pages_and_when_misaligned() {
    let mut bench = bench(UncachedStores::Blocking);
    assert_eq!(bench.port().load_for_update(REGISTERS, 8), Outcome::Fault(AccessFault::Device));
    assert_eq!(bench.port().load_reserved(DATA + 4, 8), Outcome::Fault(AccessFault::Misaligned));
    assert_eq!(bench.port().load(REGISTERS + 4, 8), Outcome::Fault(AccessFault::Misaligned));
    assert_eq!(bench.port().load(0x9000, 8), Outcome::Fault(AccessFault::Unmapped));
}

#[test]
fn every_store_to_a_page_of_code_goes_the_slow_way_and_is_in_memory_at_once() {
    let mut bench = bench(UncachedStores::Blocking);
    let _ = bench.port().store(CODE, 4, 0x13);
    bench.bus_turn();
    for value in [0x13, 0x33] {
        assert!(!bench.port().store_hit::<4>(CODE, value));
        assert_eq!(bench.port().store(CODE, 4, value), Outcome::Done(()));
        let mut bytes = [0; 4];
        bench.memory.read(CODE, &mut bytes);
        assert_eq!(u64::from(u32::from_le_bytes(bytes)), value);
        assert_eq!(bench.port().code(CODE), Ok(value as u32));
    }
}

#[test]
fn a_block_that_the_cache_owns_is_supplied_after_its_time() {
    let mut bench = bench(UncachedStores::Blocking);
    let _ = bench.port().store(DATA, 8, 6);
    bench.bus_turn();
    let _ = bench.port().store(DATA, 8, 6);
    let reply = bench.own.snoop(&Transaction::block(AgentId(1), Kind::Read, DATA));
    assert_eq!(reply.supplies.map(|data: BlockData| data.word(0)), Some(6));
    assert_eq!(reply.delay, Duration::from_ns(12));
}

#[test]
fn a_process_with_a_base_asks_for_its_own_part_of_the_node_and_hears_of_nothing_else() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own = bench.own.with_translation(Translation::of_process(1, CODE..CODE + 0x1000));
    let physical = Translation::SPACE_BYTES + DATA;
    bench.memory.write(physical, &[42]);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::Read, true));
    assert_eq!(bench.port().load(DATA, 8), Outcome::Done(42));
    assert_eq!(bench.port().load(CODE + 64, 8), Outcome::Wait);
    bench.bus_turn();
    let snooped = |bench: &mut Bench, address| {
        bench.own.snoop(&Transaction::block(AgentId(7), Kind::Read, address)).shares
    };
    assert!(snooped(&mut bench, physical) && snooped(&mut bench, CODE + 64), "its own, and what is common");
    assert!(!snooped(&mut bench, DATA), "another process's");
    assert_eq!(bench.first_byte(physical), Some(42));
    assert!(bench.first_byte(DATA).is_none());
}

#[test]
fn a_process_with_a_base_writes_back_to_its_own_part_of_the_node() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own = bench.own.with_translation(Translation::of_process(1, 0..0));
    assert_eq!(bench.port().store(DATA, 8, 42), Outcome::Wait);
    bench.bus_turn();
    assert_eq!(bench.port().store(DATA, 8, 42), Outcome::Done(()));
    assert_eq!(bench.port().load(CODE, 8), Outcome::Wait, "a block in the same line of the cache");
    assert_eq!(bench.bus_turn(), (Kind::WriteBack, false));
    assert_eq!(bench.memory.read_block(Translation::SPACE_BYTES + DATA, 8).word(0), 42);
}

fn bench_with_block_buffers() -> Bench {
    let plain = bench(UncachedStores::Blocking);
    Bench { own: plain.own.with_block_buffers(Duration::from_ns(12)), ..plain }
}

#[test]
fn a_block_buffer_is_composed_without_the_bus_and_flushed_by_one_transaction() {
    let mut bench = bench_with_block_buffers();
    let (send, flush) = (BUFFERS + block_buffers::SEND_BUFFER, BUFFERS + block_buffers::FLUSH);
    assert_eq!(bench.port().store(send + 56, 8, 5), Outcome::Done(()));
    assert_eq!(bench.port().load(send + 56, 2), Outcome::Done(5));
    assert_eq!(bench.port().store(flush, 8, REGISTERS + 64), Outcome::Wait);
    assert_eq!(bench.own.block_move(), Some(Duration::from_ns(12)));
    assert!(!bench.own.wants(Traffic::All), "the block is not at the pins yet");
    bench.own.end_block_move();
    let transaction = bench.own.issue(Traffic::All).expect("a transaction");
    assert_eq!((transaction.kind, transaction.address), (Kind::BlockStore, REGISTERS + 64));
    assert_eq!(transaction.data.as_ref().map(|block| block.word(56)), Some(5));
    assert!(bench.own.complete(&transaction, &Response { data: None, value: 0, shared: false }));
    assert_eq!(bench.port().store(flush, 8, REGISTERS + 64), Outcome::Done(()));
}

#[test]
fn a_block_load_fills_the_receive_buffer() {
    let mut bench = bench_with_block_buffers();
    let load = BUFFERS + block_buffers::LOAD;
    assert_eq!(bench.port().store(load, 8, REGISTERS), Outcome::Wait);
    bench.own.end_block_move();
    let transaction = bench.own.issue(Traffic::All).expect("a transaction");
    assert_eq!(transaction.kind, Kind::BlockLoad);
    let data = BlockData::from_bytes(&[9; 64]);
    assert!(bench.own.complete(&transaction, &Response { data: Some(data), value: 0, shared: false }));
    assert_eq!(bench.port().store(load, 8, REGISTERS), Outcome::Done(()));
    assert_eq!(
        bench.port().load(BUFFERS + block_buffers::RECEIVE_BUFFER + 60, 4),
        Outcome::Done(0x0909_0909)
    );
}

#[test]
fn block_buffers_are_refused_where_there_are_none_and_outside_them() {
    let mut without = bench(UncachedStores::Blocking);
    let mut with = bench_with_block_buffers();
    let flush = BUFFERS + block_buffers::FLUSH;
    let fault = Outcome::Fault(AccessFault::Device);
    assert_eq!(without.port().store(BUFFERS, 8, 1), fault);
    assert_eq!(without.port().store(flush, 8, REGISTERS), fault);
    assert_eq!(with.port().store(BUFFERS + 64, 8, 1), fault, "a buffer has the block's 64 bytes");
    assert_eq!(with.port().load(flush, 8), Outcome::Fault(AccessFault::Device), "it is written only");
    assert_eq!(with.port().store(flush, 4, REGISTERS), fault);
    for no_block_of_a_device in [DATA, REGISTERS + 8, 0x9000] {
        assert_eq!(with.port().store(flush, 8, no_block_of_a_device), fault);
    }
}

#[test]
fn a_process_with_a_base_writes_a_replaced_block_back_to_its_own_part() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own = bench.own.with_translation(Translation::of_process(1, CODE..CODE + 0x1000));
    let conflicting = DATA + 0x1_0000;
    bench.pages.map(conflicting, 0x1000, PageAttributes::DATA);
    assert_eq!(bench.port().store(DATA, 8, 42), Outcome::Wait);
    bench.bus_turn();
    assert_eq!(bench.port().store(DATA, 8, 42), Outcome::Done(()));
    assert_eq!(bench.port().load(conflicting, 8), Outcome::Wait);
    let write_back = bench.own.issue(Traffic::All).expect("a transaction");
    assert_eq!((write_back.kind, write_back.address), (Kind::WriteBack, Translation::SPACE_BYTES + DATA));
}
