//! Stores that wait, what loads see of them, and in which order they leave.

use super::super::tests::{Bench, REGISTERS, bench};
use super::*;
use crate::kind::Kind;
use crate::port::Port;
use crate::processor_memory::{Traffic, UncachedStores, WaitReason};
use crate::transaction::{AgentId, Response};

const DATA: u64 = 0x1000;
const OTHER: u64 = DATA + 64;

fn queued(entries: u32, drain_order: DrainOrder) -> Bench {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own = bench.own.with_store_queue(&Config { entries, drain_order }).with_transactions(3);
    bench
}

impl Bench {
    /// A store that its caches cannot take: the processor goes on at once.
    fn queue(&mut self, address: u64, size: usize, value: u64) {
        assert_eq!(self.port().store(address, size, value), Outcome::Wait);
        assert_eq!(self.own.wait_reason(), None);
        assert_eq!(self.port().store(address, size, value), Outcome::Done(()));
    }

    fn ask(&mut self) -> Transaction {
        assert!(self.own.wants(Traffic::All));
        self.own.issue(Traffic::All).expect("it wants one")
    }

    /// A transaction is over: whether the processor repeats its access.
    fn end(&mut self, transaction: &Transaction) -> bool {
        let data = transaction.kind.fetches_block().then(|| self.memory.read_block(transaction.address, 64));
        self.own.complete(transaction, &Response { data, value: 0, shared: false })
    }

    fn seen(&mut self, address: u64) -> Option<u64> {
        let reply = self.own.snoop(&Transaction::block(AgentId(1), Kind::Read, address));
        reply.supplies.map(|block| block.word(0))
    }

    fn counts(&self) -> &Statistics {
        self.own.store_queue_statistics().expect("it has a queue")
    }
}

#[test]
fn a_store_that_misses_waits_in_the_queue_and_loads_get_its_bytes_from_there() {
    let mut bench = queued(4, DrainOrder::InOrder);
    bench.queue(DATA + 8, 8, 0x0807_0605_0403_0201);
    assert_eq!(bench.port().load(DATA + 8, 8), Outcome::Done(0x0807_0605_0403_0201));
    assert_eq!(bench.port().load(DATA + 10, 2), Outcome::Done(0x0403));
    assert_eq!(bench.seen(DATA), None, "others do not see it");
    let store = bench.ask();
    assert_eq!((store.kind, store.address), (Kind::ReadExclusive, DATA));
    assert!(!bench.end(&store) && bench.own.is_at_rest());
    assert_eq!(bench.port().load_hit::<8>(DATA + 8), Some(0x0807_0605_0403_0201));
    let Statistics { queued, forwarded, most, .. } = bench.counts();
    assert_eq!((queued.get(), forwarded.get(), most.get()), (1, 2, 1));
    assert_eq!(bench.own.statistics.store_misses.get(), 1);
}

#[test]
fn the_youngest_store_is_forwarded() {
    let mut bench = queued(4, DrainOrder::OutOfOrder);
    bench.queue(DATA, 8, 1);
    assert_eq!(bench.port().store(DATA, 8, 2), Outcome::Done(()), "its block is asked for already");
    assert_eq!(bench.port().load(DATA, 8), Outcome::Done(2));
    let store = bench.ask();
    bench.end(&store);
    assert_eq!(bench.port().load_hit::<8>(DATA), Some(2));
}

#[test]
fn a_load_of_bytes_that_are_not_all_in_one_store_waits_until_that_has_left() {
    let mut bench = queued(4, DrainOrder::OutOfOrder);
    bench.memory.write(DATA, &[9; 8]);
    bench.queue(DATA, 1, 1);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.own.wait_reason(), Some(WaitReason::StoreBuffer));
    let store = bench.ask();
    assert!(bench.end(&store));
    assert_eq!(bench.port().load(DATA, 8), Outcome::Done(0x0909_0909_0909_0901));
    assert_eq!(bench.counts().overlaps.get(), 1);
}

#[test]
fn a_load_of_other_bytes_of_the_block_does_not_let_later_ones_pass_the_store_by() {
    let mut bench = queued(4, DrainOrder::OutOfOrder);
    bench.queue(DATA, 8, 5);
    assert_eq!(bench.port().load(DATA + 8, 8), Outcome::Wait);
    let load = bench.ask();
    assert_eq!(load.kind, Kind::Read, "loads overtake stores");
    let data = Some(bench.memory.read_block(DATA, 64));
    assert!(bench.own.complete(&load, &Response { data, value: 0, shared: true }));
    assert_eq!(bench.port().load(DATA + 8, 8), Outcome::Done(0));
    assert_eq!(bench.port().load_hit::<8>(DATA), None);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Done(5));
    assert_eq!(bench.ask().kind, Kind::Upgrade);
}

#[test]
fn in_order_a_store_that_would_hit_waits_behind_one_that_misses() {
    for (order, seen) in [(DrainOrder::InOrder, 1), (DrainOrder::OutOfOrder, 2)] {
        let mut bench = queued(4, order);
        bench.queue(OTHER, 8, 1);
        let store = bench.ask();
        bench.end(&store);
        assert_eq!(bench.port().store(OTHER, 8, 1), Outcome::Done(()));
        assert!(bench.port().store_hit::<8>(OTHER, 1));
        bench.queue(DATA, 8, 3);
        if !bench.port().store_hit::<8>(OTHER, 2) {
            assert_eq!(bench.port().store(OTHER, 8, 2), Outcome::Done(()));
        }
        assert_eq!(bench.port().load(OTHER, 8), Outcome::Done(2), "{order:?}");
        assert_eq!(bench.own.data.peek(OTHER).map(|block| block[0]), Some(seen), "{order:?}");
        let store = bench.ask();
        bench.end(&store);
        assert!(bench.own.is_at_rest());
        assert_eq!(bench.port().load_hit::<8>(OTHER), Some(2), "{order:?}");
    }
}

#[test]
fn out_of_order_several_blocks_are_asked_for_and_leave_as_they_come() {
    let mut bench = queued(4, DrainOrder::OutOfOrder);
    bench.queue(DATA, 8, 1);
    let first = bench.ask();
    bench.queue(OTHER, 8, 2);
    let second = bench.ask();
    assert_ne!(first.tag, second.tag);
    bench.end(&second);
    assert_eq!((bench.seen(DATA), bench.seen(OTHER)), (None, Some(2)));
    bench.end(&first);
    assert_eq!(bench.seen(DATA), Some(1));

    let mut bench = queued(4, DrainOrder::InOrder);
    bench.queue(DATA, 8, 1);
    let _ = bench.ask();
    assert_eq!(bench.port().store(OTHER, 8, 2), Outcome::Done(()));
    assert!(!bench.own.wants(Traffic::All), "in order one block is asked for at a time");
}

#[test]
fn fences_uncached_accesses_calls_and_a_full_queue_wait_until_stores_have_left() {
    type Access = fn(&mut ProcessorPort<'_>) -> bool;
    type Count = fn(&Statistics) -> u64;
    let accesses: [(Access, Count); 6] = [
        (|port| port.fence() == Outcome::Wait, |own| own.fences.get()),
        (|port| port.drain_stores() == Outcome::Wait, |own| own.fences.get()),
        (|port| port.release() == Outcome::Wait, |own| own.atomics.get()),
        (|port| port.load(REGISTERS, 8) == Outcome::Wait, |own| own.uncached.get()),
        (|port| port.store(REGISTERS, 8, 1) == Outcome::Wait, |own| own.uncached.get()),
        (|port| port.store(OTHER, 8, 1) == Outcome::Wait, |own| own.full.get()),
    ];
    for (number, (access, count)) in accesses.into_iter().enumerate() {
        let mut bench = queued(1, DrainOrder::OutOfOrder);
        bench.queue(DATA, 8, 1);
        assert!(access(&mut bench.port()), "access {number}");
        assert_eq!(bench.own.wait_reason(), Some(WaitReason::StoreBuffer), "access {number}");
        assert_eq!(count(bench.counts()), 1, "access {number}");
        let store = bench.ask();
        assert_eq!(store.kind, Kind::ReadExclusive, "access {number}");
        assert!(bench.end(&store), "access {number}");
    }
}

#[test]
fn an_atomic_waits_for_stores_to_its_block_and_in_order_for_all() {
    for (order, waits) in [(DrainOrder::InOrder, true), (DrainOrder::OutOfOrder, false)] {
        let mut bench = queued(4, order);
        bench.queue(DATA, 8, 1);
        assert_eq!(bench.port().load_for_update(OTHER, 8), Outcome::Wait);
        let is_drain = bench.own.wait_reason() == Some(WaitReason::StoreBuffer);
        assert_eq!(is_drain, waits, "{order:?}");
        let mut bench = queued(4, order);
        bench.queue(DATA, 8, 1);
        assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Wait);
        assert_eq!(bench.own.wait_reason(), Some(WaitReason::StoreBuffer), "{order:?}");
        let store = bench.ask();
        assert!(bench.end(&store));
        assert_eq!(bench.port().load_reserved(DATA, 8), Outcome::Done(1));
        assert_eq!(bench.counts().atomics.get(), 1);
    }
}

#[test]
fn a_store_that_loses_its_block_before_the_grant_asks_for_it_again() {
    let mut bench = queued(4, DrainOrder::InOrder);
    bench.queue(DATA, 8, 1);
    let store = bench.ask();
    assert!(bench.own.refused(&store));
    let again = bench.ask();
    bench.end(&again);
    assert_eq!(bench.seen(DATA), Some(1));
    assert_eq!(bench.own.statistics.store_misses.get(), 1);
}

#[test]
fn stores_that_many_transactions_have_overtaken_go_first() {
    let mut bench = queued(4, DrainOrder::InOrder);
    bench.queue(DATA, 8, 1);
    let mut before = 0;
    loop {
        // Two blocks of one set, by turns.
        let address = OTHER + 1024 * (before % 2);
        assert_eq!(bench.port().load(address, 8), Outcome::Wait);
        let transaction = bench.ask();
        if transaction.kind == Kind::ReadExclusive {
            break;
        }
        assert!(bench.end(&transaction));
        assert_eq!(bench.port().load(address, 8), Outcome::Done(0));
        before += 1;
    }
    assert_eq!(before, u64::from(MOST_OVERTAKING));
}

#[test]
fn stores_to_code_are_waited_for_behind_the_queue() {
    let mut bench = queued(4, DrainOrder::OutOfOrder);
    bench.queue(DATA, 8, 1);
    assert_eq!(bench.port().store(0x2000, 8, 1), Outcome::Wait);
    assert_eq!(bench.own.wait_reason(), Some(WaitReason::StoreBuffer));
    let store = bench.ask();
    assert!(bench.end(&store));
    assert_eq!(bench.port().store(0x2000, 8, 1), Outcome::Wait);
    assert_eq!(bench.own.wait_reason(), Some(WaitReason::DataMiss));
}
