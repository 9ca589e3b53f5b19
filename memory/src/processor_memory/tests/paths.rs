//! Which transaction a processor wants, on which interconnect, and when it wants none.

use std::hash::{DefaultHasher, Hasher};

use super::*;
use crate::transaction::TransactionTag;

/// What is wanted of all transactions, of those on blocks and of uncached accesses.
fn wants(own: &ProcessorMemory) -> [bool; 3] {
    [Traffic::All, Traffic::Blocks, Traffic::Uncached].map(|traffic| own.wants(traffic))
}

fn nothing() -> Response {
    Response { data: None, value: 0, shared: false }
}

fn block(bench: &Bench, address: u64) -> Response {
    Response { data: Some(bench.memory.read_block(address, 64)), ..nothing() }
}

#[test]
fn a_miss_overtakes_a_posted_store_on_a_path_of_its_own() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 7));
    assert_eq!(wants(&bench.own), [true, false, true]);
    assert_eq!(bench.own.issue(Traffic::Blocks), None);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(wants(&bench.own), [true; 3]);
    let store = bench.own.issue(Traffic::Uncached).expect("the posted store");
    assert_eq!((store.kind, store.address, store.size, store.value), (Kind::UncachedStore, REGISTERS, 8, 7));
    assert_eq!(wants(&bench.own), [false, true, false]);
    let read = bench.own.issue(Traffic::Blocks).expect("the miss");
    assert_eq!(read, Transaction::block(AgentId(0), Kind::Read, DATA));
    assert_eq!(wants(&bench.own), [false; 3]);
    assert_ne!(read.tag, store.tag, "their answers are told apart");
    let response = block(&bench, DATA);
    assert!(bench.own.complete(&read, &response));
    assert!(!bench.own.complete(&store, &nothing()), "no access waits for it");
    assert!(bench.own.is_at_rest());
}

#[test]
fn a_fetch_overtakes_a_posted_store_on_a_path_of_its_own() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 7));
    assert_eq!(bench.port().fetch(CODE), Outcome::Wait);
    assert_eq!(wants(&bench.own), [true; 3]);
    assert_eq!(bench.own.issue(Traffic::Uncached).map(|store| store.kind), Some(Kind::UncachedStore));
    assert_eq!(bench.own.issue(Traffic::Blocks).map(|fetch| fetch.kind), Some(Kind::Read));
}

#[test]
fn a_shared_interconnect_carries_one_transaction_at_a_time() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 7));
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    let read = bench.own.issue(Traffic::All).expect("the miss comes first");
    assert_eq!(read.kind, Kind::Read);
    assert_eq!(wants(&bench.own), [false, false, true]);
    let response = block(&bench, DATA);
    bench.own.complete(&read, &response);
    let store = bench.own.issue(Traffic::All).expect("then the posted store");
    assert_eq!(bench.port().load(DATA + 64, 8), Outcome::Wait);
    assert_eq!(wants(&bench.own), [false, true, false]);
    bench.own.complete(&store, &nothing());
    assert_eq!(wants(&bench.own), [true, true, false]);
}

#[test]
fn a_processor_is_at_rest_when_nothing_waits_and_nothing_is_under_way() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(bench.own.is_at_rest());
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert!(!bench.own.is_at_rest(), "a miss waits");
    bench.bus_turn();
    assert!(bench.own.is_at_rest());
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    bench.bus_turn();
    assert!(!bench.own.is_at_rest(), "the load has yet to be repeated");
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Done(0x77));
    assert!(bench.own.is_at_rest());
    assert!(post(&mut bench, 1));
    assert!(!bench.own.is_at_rest(), "a store is posted");
    bench.bus_turn();
    assert!(bench.own.is_at_rest());
}

#[test]
fn a_fence_waits_for_the_last_of_the_posted_stores() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 1) && post(&mut bench, 2));
    assert_eq!(bench.port().fence(), Outcome::Wait);
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, false));
    assert_eq!(bench.own.wait_reason(), Some(WaitReason::StoreBuffer));
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, true));
    assert_eq!((bench.own.wait_reason(), bench.port().fence()), (None, Outcome::Done(())));
}

#[test]
fn a_processor_says_what_it_waits_for_and_at_which_address() {
    let waits = |own: &ProcessorMemory| (own.wait_reason(), own.pending_address());
    let mut bench = bench_with_block_buffers();
    assert_eq!(waits(&bench.own), (None, None));
    assert_eq!(bench.port().store(DATA + 3, 1, 0), Outcome::Wait);
    assert_eq!(waits(&bench.own), (Some(WaitReason::DataMiss), Some(DATA + 3)));
    bench.bus_turn();
    assert_eq!(bench.port().fetch(CODE + 6), Outcome::Wait);
    assert_eq!(waits(&bench.own), (Some(WaitReason::InstructionMiss), Some(CODE + 6)));
    bench.bus_turn();
    let uncached = |address| (Some(WaitReason::Uncached), Some(address));
    assert_eq!(bench.port().load(REGISTERS + 4, 4), Outcome::Wait);
    assert_eq!(waits(&bench.own), uncached(REGISTERS + 4));
    bench.bus_turn();
    let _ = bench.port().load(REGISTERS + 4, 4);
    assert_eq!(bench.port().store(REGISTERS + 2, 2, 0), Outcome::Wait);
    assert_eq!(waits(&bench.own), uncached(REGISTERS + 2));
    bench.bus_turn();
    let _ = bench.port().store(REGISTERS + 2, 2, 0);
    assert_eq!(bench.port().store(BUFFERS + block_buffers::LOAD, 8, REGISTERS + 64), Outcome::Wait);
    assert_eq!(waits(&bench.own), uncached(REGISTERS + 64));
}

#[test]
fn a_fence_waits_for_no_address() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 1));
    let _ = bench.port().fence();
    assert_eq!(bench.own.pending_address(), None);
}

#[test]
fn a_block_that_was_snarfed_while_its_load_waited_is_not_fetched() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own.data = Cache::new(&cache::Config { snarfing: true, ..data_config() });
    let _ = bench.port().load(DATA, 8);
    bench.bus_turn();
    bench.own.snoop(&Transaction::block(AgentId(1), Kind::ReadExclusive, DATA));
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    let data = BlockData::from_bytes(&[5; 64]);
    bench.own.snarf(&Transaction::carrying(AgentId(1), Kind::WriteBack, DATA, data));
    assert_eq!(bench.own.issue(Traffic::All), None);
    assert!(bench.own.is_at_rest());
    assert_eq!(bench.port().load(DATA, 1), Outcome::Done(5));
    assert_eq!(bench.own.statistics.snarfed.get(), 1);
}

#[test]
fn a_processor_that_always_misses_sends_its_posted_store_at_last() {
    let mut bench = bench(UncachedStores::Posted);
    assert!(post(&mut bench, 7));
    let mut kinds = Vec::new();
    for turn in 0..20 {
        assert_eq!(bench.port().load(DATA + 64 * (turn % 2), 8), Outcome::Wait);
        let issued = bench.own.issue(Traffic::All).expect("it misses");
        kinds.push(issued.kind);
        let response = block(&bench, issued.address);
        bench.own.complete(&issued, &response);
        bench.own.evict(issued.address);
    }
    let overtaking = kinds.iter().take_while(|&&kind| kind == Kind::Read).count();
    assert_eq!((overtaking, kinds[overtaking]), (16, Kind::UncachedStore));
    assert!(kinds[overtaking + 1..].iter().all(|&kind| kind == Kind::Read), "once");
}

#[test]
fn an_access_to_a_register_is_told_and_ended_as_its_transaction_is() {
    type Access = fn(&mut ProcessorPort<'_>) -> Outcome<u64>;
    let accesses: [(Access, u64); 2] =
        [(|port| port.load(REGISTERS + 8, 4), 0x77), (|port| port.store(REGISTERS + 8, 4, 5).map(|()| 0), 0)];
    for (access, value) in accesses {
        let [mut in_one_go, mut issued] = [(); 2].map(|()| bench(UncachedStores::Blocking));
        for bench in [&mut in_one_go, &mut issued] {
            assert_eq!(access(&mut bench.port()), Outcome::Wait);
        }
        let response = Response { value: 0x77, ..nothing() };
        let transaction = issued.own.issue(Traffic::All).expect("the access");
        assert_eq!(in_one_go.own.register_access(), Some(transaction.clone()));
        assert_eq!(issued.own.register_access(), None, "it is under way");
        assert!(issued.own.complete(&transaction, &response));
        in_one_go.own.end_register_access(&response);
        let state = |bench: &Bench| {
            let mut hasher = DefaultHasher::new();
            bench.own.hash_state(&mut hasher);
            hasher.finish()
        };
        assert_eq!(state(&in_one_go), state(&issued));
        assert_eq!(access(&mut in_one_go.port()), Outcome::Done(value));
        assert!(in_one_go.own.is_at_rest());
    }
}

#[test]
fn an_access_to_a_register_is_not_told_before_a_posted_store_nor_a_miss() {
    let mut bench = bench(UncachedStores::Posted);
    assert_eq!(bench.own.register_access(), None);
    assert!(post(&mut bench, 7));
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    assert_eq!(bench.own.register_access(), None);
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, false));
    let load = Transaction::uncached(AgentId(0), Kind::UncachedLoad, REGISTERS, 8, 0);
    let load = Transaction { tag: TransactionTag(1), ..load };
    assert_eq!(bench.own.register_access(), Some(load));
    bench.own.end_register_access(&Response { value: 3, ..nothing() });
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Done(3));
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.own.register_access(), None, "a block is missing");
}
