//! What caches hold, and other caches that come to hold it.

use super::second_level::{levels, second_config, two_levels};
use super::*;
use crate::processor_memory::second_level::{Config, Inclusion};

const FAR: u64 = 0x400; // a block of the same set of the direct-mapped cache

impl Bench {
    /// Makes an access, with what it needs of the bus.
    fn make(&mut self, last: LastAccess, address: u64) {
        let held = HeldBlock { address, bytes: 8, last };
        self.replay(&[held]);
    }

    /// Makes accesses again; how many transactions that takes.
    fn replay(&mut self, held: &[HeldBlock]) -> usize {
        let Bench { own, pages, memory } = self;
        let mut transactions = 0;
        for block in held {
            let page = pages.lookup(block.address).expect("a page");
            own.replay(block, page, |own| {
                let Some(transaction) = own.issue(Traffic::All) else { return };
                transactions += 1;
                if let Some(data) = &transaction.data {
                    memory.write(transaction.address, data);
                }
                let bytes = own.block_bytes();
                let data =
                    transaction.kind.fetches_block().then(|| memory.read_block(transaction.address, bytes));
                own.complete(&transaction, &Response { data, ..Response::default() });
            });
        }
        assert!(self.own.is_at_rest());
        transactions
    }
}

fn with_ways(ways: u32) -> Bench {
    let plain = bench(UncachedStores::Blocking);
    let config = cache::Config { associativity: ways, ..data_config() };
    let store_buffer = StoreBufferConfig {
        uncached_stores: UncachedStores::Blocking,
        entries: 2,
        flushed_blocks: Default::default(),
    };
    let own = ProcessorMemory::new(AgentId(0), &config, Some(&config), &store_buffer, Duration::from_ns(12));
    Bench { own, ..plain }
}

#[test]
fn caches_hold_again_what_they_held_in_the_same_states_and_order() {
    let mut before = with_ways(2);
    for (last, address) in [
        (LastAccess::Store, DATA),
        (LastAccess::Load, DATA + FAR),
        (LastAccess::Load, DATA + 0x40),
        (LastAccess::Fetch, CODE),
        (LastAccess::Store, DATA),
    ] {
        before.make(last, address);
    }
    let held = before.own.held_blocks();
    let mut after = with_ways(2);
    assert_eq!(after.replay(&held), 4);
    assert_eq!(after.own.held_blocks(), held);
    assert_eq!(
        [DATA, DATA + FAR].map(|block| after.own.data.state(block)),
        [State::Modified, State::Exclusive]
    );
    assert_eq!(after.port().load_hit::<8>(DATA), Some(0), "the most recently used block of its set");
    assert_eq!(after.port().fetch(CODE), Outcome::Done(()));
    assert_eq!(after.replay(&held), 0, "all of it is there");
}

#[test]
fn of_more_blocks_than_a_set_has_room_for_those_stay_that_were_used_last() {
    let mut before = with_ways(4);
    for address in [DATA + 2 * FAR, DATA + FAR, DATA] {
        before.make(LastAccess::Store, address);
    }
    let mut after = with_ways(1);
    assert_eq!(after.replay(&before.own.held_blocks()), 5, "three blocks and two write-backs");
    assert_eq!(after.own.cached_blocks().collect::<Vec<_>>(), [(DATA, State::Modified)]);
}

#[test]
fn two_levels_and_blocks_of_another_size_hold_what_one_cache_held() {
    let mut before = bench(UncachedStores::Blocking);
    before.make(LastAccess::Load, DATA + 0x80);
    before.make(LastAccess::Store, DATA);
    before.make(LastAccess::Fetch, CODE + 0x140);
    let held = before.own.held_blocks();
    let inclusion = Inclusion::NonInclusive;
    let same_blocks = cache::Config { block: "32B".parse().unwrap(), ..data_config() };
    let non_inclusive = Config { inclusion, block: "32B".parse().unwrap(), ..second_config() };
    for (mut after, transactions) in [(two_levels(), 3), (levels(&same_blocks, &non_inclusive), 6)] {
        assert_eq!(after.replay(&held), transactions, "blocks of 64 bytes in blocks of 128 and of 32");
        assert_eq!([0, 0x20].map(|part| after.own.block_state(DATA + part)), [State::Modified; 2]);
        assert!(after.second().cache.holds(CODE + 0x140));
        let mut back = bench(UncachedStores::Blocking);
        back.replay(&after.own.held_blocks());
        assert_eq!(back.own.data.state(DATA), State::Modified);
        assert!(back.own.data.holds(DATA + 0x80));
    }
}

#[test]
fn what_a_page_does_not_allow_and_what_no_cache_may_hold_is_left_out() {
    let mut bench = bench(UncachedStores::Blocking);
    bench.pages.map(DATA, 0x1000, PageAttributes::READ_ONLY);
    let left_out = [(LastAccess::Store, DATA), (LastAccess::Fetch, DATA), (LastAccess::Load, REGISTERS)];
    let held = left_out.map(|(last, address)| HeldBlock { address, bytes: 64, last });
    assert_eq!(bench.replay(&held), 0);
}
