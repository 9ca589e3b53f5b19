//! Several transactions of one processor under way.

use super::*;
use crate::prefetchers::{Config as PrefetcherConfig, next_line};
use misses::Arrival;

/// Four misses, and three transactions on blocks.
fn several() -> Bench {
    let mut bench = bench(UncachedStores::Blocking);
    bench.own = bench.own.with_misses(4).with_transactions(3);
    for number in 0..5 {
        bench.memory.write(DATA + 64 * number, &[number as u8 + 1]);
    }
    bench
}

impl Bench {
    /// A load that misses is under way: its register.
    fn begin_load(&mut self, address: u64) -> u8 {
        assert_eq!(self.port().load(address, 8), Outcome::Wait);
        match self.port().load(address, 8) {
            Outcome::UnderWay(register) => register,
            other => panic!("{other:?}"),
        }
    }

    fn issue(&mut self) -> Transaction {
        assert!(self.own.wants(Traffic::All));
        self.own.issue(Traffic::All).expect("it wants one")
    }

    /// A transaction is over: whether the processor repeats its access.
    fn answer(&mut self, transaction: &Transaction) -> bool {
        let data = Some(self.memory.read_block(transaction.address, 64));
        self.own.complete(transaction, &Response { data, value: 0, shared: false })
    }
}

#[test]
fn loads_of_different_blocks_are_under_way_at_once_and_end_in_any_order() {
    let mut bench = several();
    let first = bench.begin_load(DATA);
    let of_first = bench.issue();
    let second = bench.begin_load(DATA + 64);
    let of_second = bench.issue();
    assert_ne!(of_first.tag, of_second.tag);
    assert!(!bench.answer(&of_second));
    assert_eq!(bench.own.next_arrival(), Some(Arrival { register: second, value: 2 }));
    assert!(!bench.answer(&of_first));
    assert_eq!(bench.own.next_arrival(), Some(Arrival { register: first, value: 1 }));
    assert!(bench.own.is_at_rest() && !bench.own.has_issued());
}

#[test]
fn no_more_transactions_are_under_way_than_the_interconnect_allows() {
    let mut bench = several();
    for number in 0..3 {
        bench.begin_load(DATA + 64 * number);
        bench.issue();
    }
    bench.begin_load(DATA + 64 * 3);
    assert!(!bench.own.wants(Traffic::All));
    let mut alone = bench.own.clone().with_transactions(1);
    assert_eq!(alone.in_flight.most_blocks(), 1);
    assert!(alone.wants(Traffic::All) && alone.issue(Traffic::All).is_some() && !alone.wants(Traffic::All));
}

#[test]
fn blocks_of_one_set_are_fetched_one_after_the_other() {
    let mut bench = several();
    bench.begin_load(DATA);
    let first = bench.issue();
    bench.begin_load(DATA + 0x400);
    assert!(!bench.own.wants(Traffic::All));
    bench.answer(&first);
    assert_eq!(bench.issue().address, DATA + 0x400);
}

#[test]
fn a_load_of_a_block_that_is_prefetched_already_asks_for_nothing_and_ends_with_it() {
    let mut bench = several();
    let next_block = PrefetcherConfig::NextLine(next_line::Config { degree: 1, distance: 1 });
    bench.own = bench.own.with_prefetcher(&next_block);
    bench.begin_load(DATA);
    let first = bench.issue();
    let prefetch = bench.issue();
    assert_eq!((first.address, prefetch.address), (DATA, DATA + 64));
    let second = bench.begin_load(DATA + 64);
    assert_eq!(bench.issue().address, DATA + 2 * 64, "what the second miss prefetches");
    bench.answer(&first);
    assert_eq!(bench.own.next_arrival().map(|arrival| arrival.value), Some(1));
    assert_eq!(bench.own.next_arrival(), None, "the other block is still on its way");
    bench.answer(&prefetch);
    assert_eq!(bench.own.next_arrival(), Some(Arrival { register: second, value: 2 }));
}

#[test]
fn a_store_goes_beside_loads_of_other_blocks_and_waits_for_one_of_its_own() {
    let mut bench = several();
    bench.begin_load(DATA);
    let load = bench.issue();
    assert_eq!(bench.port().store(DATA + 64, 8, 9), Outcome::Wait);
    let store = bench.issue();
    assert_eq!(store.kind, Kind::ReadExclusive);
    assert!(bench.answer(&store), "the load is still under way");
    assert_eq!(bench.port().store(DATA + 64, 8, 9), Outcome::Done(()));
    assert_eq!(bench.port().store(DATA, 8, 9), Outcome::Wait);
    assert!(!bench.own.wants(Traffic::All), "the load brings its block");
    assert!(bench.answer(&load));
    assert_eq!(bench.own.next_arrival().map(|arrival| arrival.value), Some(1), "the load comes first");
}

#[test]
fn an_uncached_access_waits_for_the_blocks_under_way() {
    let mut bench = several();
    bench.begin_load(DATA);
    let load = bench.issue();
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    assert!(!bench.own.wants(Traffic::All));
    assert_eq!(bench.own.issue(Traffic::All), None);
    bench.answer(&load);
    assert_eq!(bench.issue().kind, Kind::UncachedLoad);
}

#[test]
fn a_block_that_passes_by_is_left_to_the_load_that_brings_it() {
    let mut bench = several();
    bench.own.data = Cache::new(&cache::Config { snarfing: true, ..data_config() });
    bench.begin_load(DATA);
    let first = bench.issue();
    bench.answer(&first);
    assert_eq!(bench.own.next_arrival().map(|arrival| arrival.value), Some(1));
    let taken_away = Transaction::block(AgentId(1), Kind::ReadExclusive, DATA);
    bench.own.snoop(&taken_away);

    let older = bench.begin_load(DATA);
    let passes_by = BlockData::from_bytes(&[5; 64]);
    assert!(!bench.own.snarf(&Transaction::carrying(AgentId(1), Kind::WriteBack, DATA, passes_by)));
    let Outcome::UnderWay(younger) = bench.port().load(DATA, 8) else { panic!("it joins the older load") };
    // Another store follows before the load is issued.
    bench.own.snoop(&taken_away);
    bench.memory.write(DATA, &[6]);
    let transaction = bench.issue();
    bench.answer(&transaction);
    let expected = [older, younger].map(|register| Some(Arrival { register, value: 6 }));
    assert_eq!([bench.own.next_arrival(), bench.own.next_arrival()], expected);
}
