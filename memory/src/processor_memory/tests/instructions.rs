//! Instruction fetches, and what becomes of code that is decoded already.

use super::*;

/// Fetches the block at `address` into the instruction cache.
fn fetched(bench: &mut Bench, address: u64) {
    assert_eq!(bench.port().fetch(address), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::Read, true));
    assert_eq!(bench.port().fetch(address), Outcome::Done(()));
}

#[test]
fn a_fetch_that_misses_waits_for_its_block_and_replaces_another() {
    let mut bench = bench(UncachedStores::Blocking);
    assert!(!bench.port().fetch_hit(CODE));
    fetched(&mut bench, CODE + 4);
    assert!(bench.port().fetch_hit(CODE) && !bench.port().fetch_hit(CODE + 64));
    assert!(bench.first_byte(CODE).is_none(), "the data cache is left alone");
    fetched(&mut bench, CODE + 0x400);
    assert!(bench.port().fetch_hit(CODE + 0x400) && !bench.port().fetch_hit(CODE));
    assert_eq!(bench.own.statistics.fetch_misses.get(), 2);
}

#[test]
fn a_fetch_from_a_page_without_code_is_refused() {
    let mut bench = bench(UncachedStores::Blocking);
    assert_eq!(bench.port().fetch(DATA), Outcome::Fault(AccessFault::Protected));
    assert_eq!(bench.port().fetch(0x9000), Outcome::Fault(AccessFault::Unmapped));
    assert_eq!(bench.port().code(DATA), Err(AccessFault::Protected));
}

#[test]
fn ideal_fetches_take_no_transaction() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own.instructions = None;
    assert!(bench.port().fetch_hit(CODE));
    assert_eq!(bench.port().fetch(CODE), Outcome::Done(()));
    assert!(bench.own.is_at_rest());
}

#[test]
fn a_fence_empties_the_instruction_cache_and_a_new_program_drops_decoded_code_too() {
    let mut bench = bench(UncachedStores::Blocking);
    fetched(&mut bench, CODE);
    assert_eq!(bench.port().fence_instructions(), Outcome::Done(()));
    assert!(!bench.port().fetch_hit(CODE));
    fetched(&mut bench, CODE);
    bench.own.forget_instructions();
    assert!(!bench.port().fetch_hit(CODE));
    assert_eq!(bench.port().code_removals(), 0);
    bench.own.code_removed();
    bench.own.code_removed();
    assert_eq!(bench.port().code_removals(), 2);
}

#[test]
fn every_store_to_code_is_in_memory_at_once_and_none_to_data() {
    let mut bench = bench(UncachedStores::Blocking);
    for (address, in_memory) in [(CODE, [7, 8]), (CODE + 0x3f, [7, 8]), (DATA, [0, 0])] {
        assert_eq!(bench.outcome(|port| port.store(address, 2, 0x0807)), Outcome::Done(()));
        let mut bytes = [0; 2];
        bench.memory.read(address, &mut bytes);
        assert_eq!(bytes, in_memory, "{address:#x}");
    }
}

#[test]
fn code_is_read_from_the_data_cache_or_memory_up_to_the_end_of_its_pages() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.memory.write(CODE + 0xffc, &[1, 2, 3, 4]);
    assert_eq!(bench.port().code(CODE + 0xffc), Ok(0x0403_0201));
    assert_eq!(bench.port().code(CODE + 0xffe), Ok(0x0403), "two bytes are mapped");
    assert_eq!(bench.outcome(|port| port.store(CODE + 0xffd, 1, 9)), Outcome::Done(()));
    assert_eq!(bench.port().code(CODE + 0xffc), Ok(0x0403_0901));
}

#[test]
fn a_block_that_only_the_instruction_cache_holds_is_shared() {
    let mut bench = bench(UncachedStores::Blocking);
    fetched(&mut bench, CODE);
    let read = |address| Transaction::block(AgentId(1), Kind::Read, address);
    assert!(bench.own.snoop(&read(CODE)).shares);
    assert!(!bench.own.snoop(&read(CODE + 64)).shares);
    bench.own.snoop(&Transaction::block(AgentId(1), Kind::ReadExclusive, CODE));
    assert!(!bench.port().fetch_hit(CODE));
}

#[test]
fn both_caches_snarf_a_block_that_both_have_lost() {
    let mut bench = bench(UncachedStores::Blocking);
    let config = cache::Config { snarfing: true, ..data_config() };
    bench.own.data = Cache::new(&config);
    bench.own.instructions = Some(Cache::new(&config));
    let _ = bench.port().load(CODE, 8);
    bench.bus_turn();
    fetched(&mut bench, CODE);
    fetched(&mut bench, CODE + 64);
    for block in [CODE, CODE + 64] {
        bench.own.snoop(&Transaction::block(AgentId(1), Kind::ReadExclusive, block));
        let data = BlockData::from_bytes(&[5; 64]);
        bench.own.snarf(&Transaction::carrying(AgentId(1), Kind::WriteBack, block, data));
    }
    assert!(bench.port().fetch_hit(CODE) && bench.port().fetch_hit(CODE + 64));
    assert_eq!(bench.port().load_hit::<1>(CODE), Some(5));
    assert_eq!(bench.own.statistics.snarfed.get(), 3, "the data cache had one of the two");
}
