//! When blocks are prefetched, and what becomes of them.

use super::super::tests::{Bench, REGISTERS, bench};
use super::*;
use crate::kind::Kind;
use crate::port::Port;
use crate::prefetchers::{Config, next_line};
use crate::processor_memory::{Traffic, UncachedStores};
use crate::transaction::{AgentId, Response};
use crate::translation::Translation;

const DATA: u64 = 0x1000;

fn with_next_line(degree: u32, transactions: usize) -> Bench {
    let mut bench = bench(UncachedStores::Posted);
    let config = Config::NextLine(next_line::Config { degree, distance: 1 });
    bench.own = bench.own.with_prefetcher(&config).with_transactions(transactions);
    bench
}

impl Bench {
    fn asks(&mut self) -> Option<Transaction> {
        self.own.wants(Traffic::All).then(|| self.own.issue(Traffic::All).expect("it wants one"))
    }

    fn comes(&mut self, transaction: &Transaction) -> bool {
        let data = transaction.kind.fetches_block().then(|| self.memory.read_block(transaction.address, 64));
        self.own.complete(transaction, &Response { data, value: 0, shared: false })
    }

    /// The transaction that it asks for is carried out: its kind and address.
    fn carries(&mut self) -> Option<(Kind, u64)> {
        let transaction = self.asks()?;
        self.comes(&transaction);
        Some((transaction.kind, transaction.address))
    }

    /// A load that misses, and what is prefetched for it then.
    fn misses(&mut self, address: u64) -> Vec<u64> {
        assert_eq!(self.port().load(address, 8), Outcome::Wait);
        assert_eq!(self.carries(), Some((Kind::Read, address & !63)), "what is waited for goes first");
        assert!(matches!(self.port().load(address, 8), Outcome::Done(_)));
        std::iter::from_fn(|| self.carries()).map(|(_, block)| block).collect()
    }

    /// Of prefetches: issued, useful, late, useless.
    fn fates(&self) -> [u64; 4] {
        let Statistics { issued, useful, late, useless } =
            self.own.prefetch_statistics().expect("it has one");
        [issued, useful, late, useless].map(|count| count.get())
    }
}

#[test]
fn a_miss_prefetches_the_next_block_and_its_first_use_the_one_behind() {
    let mut bench = with_next_line(1, 1);
    bench.memory.write(DATA + 64, &[7]);
    assert_eq!(bench.misses(DATA), [DATA + 64]);
    assert_eq!(bench.port().load_hit::<8>(DATA + 64), None, "the first use is noticed");
    assert_eq!(bench.port().load(DATA + 64, 8), Outcome::Wait);
    assert_eq!(bench.own.wait_reason(), None, "the processor stops for no time");
    let next = bench.asks().expect("the one behind");
    assert_eq!((next.kind, next.address), (Kind::Read, DATA + 128));
    assert_eq!(bench.port().load(DATA + 64, 8), Outcome::Done(7));
    assert_eq!(bench.port().load_hit::<8>(DATA + 64), Some(7), "the next ones are fast");
    assert!(!bench.comes(&next));
    assert_eq!(bench.fates(), [2, 1, 0, 0]);
    assert_eq!(bench.own.statistics.load_misses.get(), 1);
}

#[test]
fn an_access_to_a_block_that_is_being_prefetched_waits_for_it_and_finds_it_late() {
    let mut bench = with_next_line(1, 1);
    assert_eq!(bench.port().store(DATA, 8, 1), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::ReadExclusive, DATA)));
    let prefetch = bench.asks().expect("the next one");
    assert!(bench.own.is_prefetch(prefetch.tag) && bench.own.has_accesses_under_way());
    assert_eq!(bench.port().load(DATA + 64, 8), Outcome::Wait);
    assert!(!bench.own.waits_behind_prefetches(), "it brings what is waited for");
    assert!(bench.comes(&prefetch), "the processor goes on");
    assert_eq!(bench.port().load(DATA + 64, 8), Outcome::Done(0));
    assert_eq!(bench.fates(), [1, 0, 1, 0]);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA + 128)), "it trains as a miss does");
}

#[test]
fn a_prefetched_block_that_leaves_unused_is_useless_whatever_takes_it() {
    let mut bench = with_next_line(1, 1);
    assert_eq!(bench.misses(DATA), [DATA + 64]);
    let _ = bench.own.snoop(&Transaction::block(AgentId(1), Kind::ReadExclusive, DATA + 64));
    assert_eq!(bench.fates(), [1, 0, 0, 1]);
    assert_eq!(bench.misses(DATA + 0x100), [DATA + 0x140]);
    // The block at 0x540 conflicts with it.
    assert_eq!(bench.misses(DATA + 0x540), [DATA + 0x580]);
    assert_eq!(bench.fates(), [3, 0, 0, 2]);
    assert_eq!(bench.misses(DATA + 0xf00), [DATA + 0xf40]);
    bench.own.flush(DATA..DATA + 0x1000, |_, _| {});
    assert_eq!(bench.fates(), [4, 0, 0, 4]);
}

#[test]
fn nothing_is_prefetched_from_another_page_nor_from_the_devices_region() {
    let mut bench = with_next_line(4, 1);
    assert_eq!(bench.misses(DATA + 0xf80), [DATA + 0xfc0]);
    assert_eq!(
        bench.misses(DATA + 0xfc0 - 0x400),
        (1..=4).map(|next| DATA + 0xbc0 + 64 * next).collect::<Vec<_>>()
    );
    let mut bench = with_next_line(4, 1);
    bench.own = bench.own.with_translation(Translation::of_process(0, DATA..DATA + 0x1000));
    assert_eq!(bench.misses(DATA), Vec::<u64>::new());
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::UncachedLoad, REGISTERS)));
    assert_eq!(bench.carries(), None);
}

#[test]
fn what_is_posted_and_what_the_processor_waits_for_go_before_a_prefetch() {
    let mut bench = with_next_line(2, 1);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA)));
    assert!(matches!(bench.port().load(DATA, 8), Outcome::Done(_)));
    assert_eq!(bench.port().store(REGISTERS, 8, 1), Outcome::Wait);
    assert_eq!(bench.port().store(REGISTERS, 8, 1), Outcome::Done(()));
    assert_eq!(bench.carries(), Some((Kind::UncachedStore, REGISTERS)));
    assert_eq!(bench.port().load(DATA + 0x200, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA + 0x200)));
    let rest: Vec<_> = std::iter::from_fn(|| bench.carries()).map(|(_, block)| block - DATA).collect();
    assert_eq!(rest, [0x40, 0x80, 0x240, 0x280]);
}

#[test]
fn several_blocks_are_prefetched_at_a_time_where_the_interconnect_has_tags_for_them() {
    let mut bench = with_next_line(3, 2);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA)));
    let (first, second) = (bench.asks().unwrap(), bench.asks().unwrap());
    assert_eq!([first.address, second.address], [DATA + 64, DATA + 128]);
    assert!(!bench.own.wants(Traffic::All), "it has two");
    assert_eq!(bench.port().load(DATA + 0x200, 8), Outcome::Wait);
    assert!(bench.own.waits_behind_prefetches());
    bench.comes(&second);
    assert_eq!(bench.asks().map(|read| read.address), Some(DATA + 0x200));
}

#[test]
fn a_dirty_block_that_makes_room_goes_home_first() {
    let mut bench = with_next_line(1, 1);
    assert_eq!(bench.port().store(DATA + 64, 8, 5), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::ReadExclusive, DATA + 64)));
    assert_eq!(bench.port().store(DATA + 64, 8, 5), Outcome::Done(()));
    while bench.carries().is_some() {}
    assert_eq!(bench.port().load(DATA + 0x400, 8), Outcome::Wait);
    let all: Vec<_> = std::iter::from_fn(|| bench.carries()).collect();
    let (read, back, next) = (DATA + 0x400, DATA + 64, DATA + 0x440);
    assert_eq!(all, [(Kind::Read, read), (Kind::WriteBack, back), (Kind::Read, next)]);
}

#[test]
fn a_store_to_an_unused_block_that_others_share_uses_it_and_asks_for_the_right() {
    let mut bench = with_next_line(1, 1);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA)));
    let prefetch = bench.asks().unwrap();
    let data = Some(bench.memory.read_block(DATA + 64, 64));
    assert!(!bench.own.complete(&prefetch, &Response { data, value: 0, shared: true }));
    assert_eq!(bench.port().store(DATA + 64, 8, 3), Outcome::Wait, "it trains");
    assert_eq!(bench.port().store(DATA + 64, 8, 3), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Upgrade, DATA + 64)));
    assert_eq!(bench.port().store(DATA + 64, 8, 3), Outcome::Done(()));
    assert_eq!(bench.fates(), [1, 1, 0, 0]);
}

#[test]
fn a_block_whose_page_has_gone_meanwhile_is_dropped_when_it_comes() {
    let mut bench = with_next_line(2, 1);
    bench.memory.write(DATA + 64, &[9]);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA)));
    let prefetch = bench.asks().unwrap();
    bench.own.flush(DATA..DATA + 0x1000, |_, _| {});
    assert!(!bench.comes(&prefetch));
    assert!(!bench.own.peek(DATA + 64, &mut [0]), "no cache has it");
    assert_eq!((bench.carries(), bench.fates()), (None, [1, 0, 0, 1]));
}

#[test]
fn a_prefetch_that_is_refused_is_not_asked_for_again() {
    let mut bench = with_next_line(1, 1);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA)));
    let prefetch = bench.asks().unwrap();
    assert!(bench.own.refused(&prefetch));
    assert_eq!((bench.carries(), bench.fates()), (None, [0; 4]));
    assert!(bench.own.is_at_rest());
}

#[test]
fn a_prefetcher_of_the_second_level_brings_blocks_to_it_alone() {
    let mut bench = super::super::tests::second_level::two_levels();
    bench.own = bench.own.with_prefetcher(&Config::NextLine(next_line::Config { degree: 1, distance: 1 }));
    assert_eq!(bench.port().load(DATA, 8), Outcome::Wait);
    let block = bench.own.block_of(DATA + 128) - DATA;
    let fetch = |bench: &mut Bench| {
        let transaction = bench.asks()?;
        let data = Some(bench.memory.read_block(transaction.address, block as usize));
        bench.own.complete(&transaction, &Response { data, value: 0, shared: false });
        Some(transaction.address - DATA)
    };
    assert_eq!((fetch(&mut bench), fetch(&mut bench)), (Some(0), Some(block)));
    assert!(bench.own.coherent_cache().holds(DATA + block) && !bench.own.data.holds(DATA + block));
    assert_eq!(bench.port().load_late::<8>(DATA + block), None, "the first use is noticed");
    assert_eq!(bench.port().load(DATA + block, 8), Outcome::Wait);
    assert_eq!(fetch(&mut bench), Some(2 * block));
    assert!(matches!(bench.port().load(DATA + block, 8), Outcome::Late(0, _)));
    assert_eq!(bench.fates(), [2, 1, 0, 0]);
}

#[test]
fn no_prefetch_takes_the_place_of_a_block_that_is_reserved() {
    let mut bench = with_next_line(1, 1);
    assert_eq!(bench.port().load(DATA + 0x400, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA + 0x400)));
    // The block at 0x440, asked for, has the set of the one at 0x40.
    assert_eq!(bench.port().load_reserved(DATA + 64, 8), Outcome::Wait);
    assert_eq!(bench.carries(), Some((Kind::Read, DATA + 64)));
    assert_eq!(bench.port().load_reserved(DATA + 64, 8), Outcome::Done(0));
    assert_eq!((bench.carries(), bench.carries()), (Some((Kind::Read, DATA + 128)), None));
    assert_eq!(bench.misses(DATA + 0x800), Vec::<u64>::new(), "nor one that is asked for later");
    assert_eq!(bench.port().store_conditional(DATA + 64, 8, 1), Outcome::Done(true));
    assert_eq!(bench.misses(DATA + 0xc00), [DATA + 64, DATA + 0xc40], "it goes home, dirty as it is");
}
