//! Accesses of each size and kind of page, what is counted, and what is given up.

use std::hash::DefaultHasher;

use super::*;

impl Bench {
    /// The transactions that a store takes.
    fn store(&mut self, address: u64, size: usize, value: u64) -> usize {
        let (outcome, turns) = self.finished(|port| port.store(address, size, value));
        assert_eq!(outcome, Outcome::Done(()));
        turns
    }

    /// The value of a load, and the transactions that it takes.
    fn load(&mut self, address: u64, size: usize) -> (u64, usize) {
        match self.finished(|port| port.load(address, size)) {
            (Outcome::Done(value), turns) => (value, turns),
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
}

fn exclusive_read(address: u64) -> Transaction {
    Transaction::block(AgentId(1), Kind::ReadExclusive, address)
}

#[test]
fn an_access_takes_as_many_blocks_as_it_touches() {
    for (offset, size, blocks) in
        [(0, 8, 1), (56, 8, 1), (57, 8, 2), (61, 4, 2), (60, 4, 1), (63, 2, 2), (63, 1, 1)]
    {
        let mut bench = bench(UncachedStores::Blocking);
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        bench.memory.write(DATA + offset, &bytes);
        let value = u64::from_le_bytes(bytes) & (u64::MAX >> (64 - 8 * size));
        assert_eq!(bench.load(DATA + offset, size), (value, blocks), "{size} bytes at {offset}");
        assert_eq!(bench.own.statistics.load_misses.get(), blocks as u64);
        assert_eq!(bench.own.statistics.store_misses.get(), 0);
    }
}

#[test]
fn a_store_across_blocks_makes_both_fast_once_it_has_looked_at_their_page() {
    let mut bench = bench(UncachedStores::Blocking);
    assert_eq!(bench.port().store(DATA + 60, 8, 1), Outcome::Wait);
    bench.bus_turn();
    assert!(!bench.port().store_hit::<4>(DATA + 60, 1), "the store has not been repeated");
    assert_eq!(bench.store(DATA + 60, 8, 1), 1);
    assert!(bench.port().store_hit::<4>(DATA + 60, 2) && bench.port().store_hit::<4>(DATA + 64, 3));
    assert_eq!(bench.load(DATA + 60, 8), (0x3_0000_0002, 0));
    assert_eq!(bench.own.statistics.store_misses.get(), 2);
}

#[test]
fn a_misaligned_access_needs_both_pages() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.pages.map(0x7000, 0x1000, PageAttributes::DATA);
    bench.pages.map(0x8000, 0x1000, PageAttributes::READ_ONLY);
    assert_eq!(bench.store(CODE - 2, 4, 0x0403_0201), 2);
    assert_eq!(bench.load(CODE, 2), (0x0403, 0));
    let load = |bench: &mut Bench, address, size| bench.port().load(address, size);
    assert_eq!(load(&mut bench, REGISTERS - 2, 4), Outcome::Fault(AccessFault::Misaligned));
    assert_eq!(load(&mut bench, REGISTERS + 1, 2), Outcome::Fault(AccessFault::Misaligned));
    assert_eq!(load(&mut bench, 0x8ffe, 4), Outcome::Fault(AccessFault::Unmapped));
    assert_eq!(load(&mut bench, 0x7ffe, 4), Outcome::Wait, "both may be read");
    assert_eq!(bench.port().store(0x7ffe, 4, 0), Outcome::Fault(AccessFault::Protected));
}

#[test]
fn uncached_accesses_are_counted_and_a_full_store_buffer_stalls() {
    let mut blocking = bench(UncachedStores::Blocking);
    assert_eq!(blocking.store(REGISTERS, 8, 1), 1);
    assert_eq!(blocking.load(REGISTERS, 8), (0x77, 1));
    let counts = |bench: &Bench| {
        let statistics = &bench.own.statistics;
        [&statistics.uncached_loads, &statistics.uncached_stores, &statistics.store_buffer_stalls]
            .map(|counter| counter.get())
    };
    assert_eq!(counts(&blocking), [1, 1, 0]);
    let mut posted = bench(UncachedStores::Posted);
    assert!(post(&mut posted, 1) && post(&mut posted, 2) && !post(&mut posted, 3));
    assert_eq!(counts(&posted), [0, 2, 1]);
}

#[test]
fn a_store_to_a_page_that_posts_none_is_waited_for_behind_those_that_were_posted() {
    let mut bench = bench(UncachedStores::Posted);
    bench.pages.map(0x7000, 0x1000, PageAttributes { stores_wait: true, ..PageAttributes::DEVICE });
    assert_eq!(bench.store(0x7000, 8, 1), 1);
    assert!(post(&mut bench, 1), "another page's is posted as before");
    assert_eq!(bench.store(0x7000, 8, 1), 2);
}

#[test]
fn memory_that_is_not_cached_is_accessed_at_its_home() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.pages.map(0x7000, 0x1000, PageAttributes { kind: PageKind::Uncached, ..PageAttributes::DATA });
    assert_eq!((bench.load(0x7000, 8), bench.store(0x7000, 8, 1)), ((0x77, 1), 1));
    assert!(bench.first_byte(0x7000).is_none());
    assert_eq!(bench.port().load_reserved(0x7000, 8), Outcome::Fault(AccessFault::Device));
}

#[test]
fn an_atomic_access_needs_a_page_that_may_be_written() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.pages.map(0x7000, 0x1000, PageAttributes::READ_ONLY);
    let fault = AccessFault::Protected;
    assert_eq!(bench.port().load_reserved(0x7000, 8), Outcome::Fault(fault));
    assert_eq!(bench.port().store_conditional(0x7000, 8, 1), Outcome::Fault(fault));
    assert_eq!(bench.port().load_for_update(0x7000, 8), Outcome::Fault(fault));
}

#[test]
fn an_atomic_update_has_the_right_to_write_before_it_loads() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.memory.write(DATA, &[4]);
    assert_eq!(bench.port().load_for_update(DATA, 8), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::ReadExclusive, true));
    assert_eq!(bench.port().load_for_update(DATA, 8), Outcome::Done(4));
    assert_eq!(bench.port().store(DATA, 8, 5), Outcome::Done(()));
    assert_eq!(bench.load(DATA, 8), (5, 0));
}

#[test]
fn a_conditional_store_succeeds_on_the_block_that_is_reserved_and_on_no_other() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.load(DATA, 8);
    bench.load(DATA + 64, 8);
    assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Done(0));
    assert_eq!(bench.port().store_conditional(DATA + 64, 8, 1), Outcome::Done(false));
    assert_eq!(bench.port().store_conditional(DATA, 8, 1), Outcome::Done(false), "the reservation is gone");
    assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Done(0));
    bench.own.snoop(&exclusive_read(DATA + 64));
    bench.own.snoop(&Transaction::block(AgentId(1), Kind::Read, DATA));
    assert_eq!(bench.port().store_conditional(DATA + 8, 8, 1), Outcome::Wait, "the block is shared by now");
    assert_eq!(bench.bus_turn(), (Kind::Upgrade, true));
    assert_eq!(bench.port().store_conditional(DATA + 8, 8, 1), Outcome::Done(true));
}

#[test]
fn a_block_that_is_evicted_goes_home_if_it_is_dirty_and_takes_its_reservation_along() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own = bench.own.with_translation(Translation::of_process(1, 0..0));
    bench.load(DATA + 64, 8);
    bench.store(DATA, 8, 6);
    assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Done(6));
    assert_eq!(bench.own.evict(DATA + 64), None, "it is clean");
    assert_eq!(bench.port().store_conditional(DATA, 8, 7), Outcome::Done(true), "another block's eviction");
    assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Done(7));
    let write_back = bench.own.evict(DATA).expect("it is dirty");
    assert_eq!((write_back.kind, write_back.address), (Kind::WriteBack, Translation::SPACE_BYTES + DATA));
    assert_eq!(write_back.data.map(|data| data.word(0)), Some(7));
    assert_eq!(bench.port().store_conditional(DATA, 8, 8), Outcome::Done(false));
}

#[test]
fn bytes_are_poked_into_a_block_that_the_data_cache_holds_and_nowhere_else() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.load(DATA, 8);
    bench.own.poke(DATA + 2, &[1, 2]);
    bench.own.poke(DATA + 64, &[9]);
    assert_eq!(bench.load(DATA, 8), (0x0201_0000, 0));
    assert_eq!(bench.own.cached_blocks().collect::<Vec<_>>(), [(DATA, State::Exclusive)]);
    assert_eq!((bench.own.block_of(DATA + 77), bench.own.data.block_bytes()), (DATA + 64, 64));
    assert_eq!(bench.own.translation(), &Translation::default());
}

#[test]
fn the_hash_of_the_state_follows_what_the_processor_holds_and_waits_for() {
    let mut bench = bench(UncachedStores::Blocking);
    let state = |bench: &Bench| {
        let mut hasher = DefaultHasher::new();
        bench.own.hash_state(&mut hasher);
        hasher.finish()
    };
    let bytes = |bench: &Bench| {
        let mut hasher = DefaultHasher::new();
        bench.own.hash_bytes(&mut hasher);
        hasher.finish()
    };
    let empty = (state(&bench), bytes(&bench));
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    let waiting = (state(&bench), bytes(&bench));
    assert!(waiting.0 != empty.0 && waiting.1 == empty.1);
    bench.bus_turn();
    let loaded = (state(&bench), bytes(&bench));
    assert!(loaded.0 != waiting.0 && loaded.1 != waiting.1);
    bench.own.poke(DATA, &[1]);
    assert!(state(&bench) != loaded.0 && bytes(&bench) != loaded.1);
}

#[test]
fn the_last_bytes_of_the_buffers_are_theirs_and_a_block_transfer_is_counted() {
    let mut bench = bench_with_block_buffers();
    let receive = BUFFERS + block_buffers::RECEIVE_BUFFER;
    assert_eq!(bench.port().store(receive + 56, 8, 0x0807), Outcome::Done(()));
    assert_eq!(bench.port().load(receive + 57, 1), Outcome::Done(8));
    assert_eq!(bench.port().load(BUFFERS + 56, 8), Outcome::Done(0), "the send buffer is another");
    assert_eq!(bench.port().load(receive + 64, 8), Outcome::Fault(AccessFault::Device));
    assert_eq!(bench.port().load(BUFFERS + block_buffers::LOAD, 8), Outcome::Fault(AccessFault::Device));
    assert_eq!(
        bench.port().store(BUFFERS + block_buffers::LOAD + 8, 8, REGISTERS),
        Outcome::Fault(AccessFault::Device)
    );
    assert_eq!(bench.own.statistics.block_transfers.get(), 0);
    assert_eq!(bench.port().store(BUFFERS + block_buffers::LOAD, 8, REGISTERS), Outcome::Wait);
    assert_eq!(bench.own.statistics.block_transfers.get(), 1);
}

#[test]
fn a_block_transfer_waits_until_posted_stores_have_left() {
    let plain = bench(UncachedStores::Posted);
    let mut bench = Bench { own: plain.own.with_block_buffers(Duration::from_ns(12)), ..plain };
    assert!(post(&mut bench, 1));
    assert_eq!(bench.port().store(BUFFERS + block_buffers::FLUSH, 8, REGISTERS + 64), Outcome::Wait);
    bench.own.end_block_move();
    assert_eq!(bench.own.block_move(), None);
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, false));
    assert_eq!(bench.bus_turn(), (Kind::BlockStore, true));
}

#[test]
fn a_store_that_has_waited_is_fast_unless_its_page_is_code() {
    for (address, is_fast) in [(DATA, true), (CODE, false)] {
        let mut bench = bench(UncachedStores::Blocking);
        assert_eq!(bench.port().store(address, 8, 1), Outcome::Wait);
        bench.bus_turn();
        assert_eq!(bench.port().store_hit::<8>(address, 1), is_fast, "{address:#x}");
    }
}

#[test]
fn a_store_whose_page_changes_while_it_waits_looks_at_it_again() {
    let mut bench = bench(UncachedStores::Blocking);
    assert_eq!(bench.port().store(DATA, 8, 1), Outcome::Wait);
    bench.own.flush(DATA..DATA + 0x1000, |_, _| {});
    bench.pages.map(DATA, 0x1000, PageAttributes::READ_ONLY);
    bench.bus_turn();
    assert!(!bench.port().store_hit::<8>(DATA, 1));
    assert_eq!(bench.port().store(DATA, 8, 1), Outcome::Fault(AccessFault::Protected));
}
