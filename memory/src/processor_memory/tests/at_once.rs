//! What the second level gives without a look at the page is what it gives with one.

use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;
use proptest::sample::select;

use super::second_level::{first_config, late, levels, second_config, two_levels};
use super::*;
use crate::processor_memory::second_level::{Config, Inclusion, Stores};

/// The data cache has lost the block at DATA to its neighbour, and the second level has both.
fn below(bench: &mut Bench) {
    let _ = bench.kinds(|port| port.load(DATA, 8));
    let _ = bench.kinds(|port| port.load(DATA + 128, 8));
}

#[test]
fn a_load_whose_page_was_looked_at_is_served_by_the_second_level_at_once() {
    let mut bench = two_levels();
    bench.memory.write(DATA + 8, &[7]);
    assert_eq!(bench.port().load_late::<8>(DATA + 8), None, "nothing has it");
    below(&mut bench);
    assert_eq!(bench.port().load_late::<8>(DATA + 8), Some((7, late(1))));
    assert_eq!(bench.port().load_hit::<8>(DATA + 8), Some(7));
    assert_eq!(bench.port().load_late::<8>(DATA + 8), None, "the data cache has it");
    assert_eq!(bench.port().load_late::<4>(DATA + 130), None, "not aligned");
    assert_eq!((bench.second().statistics.hits.get(), bench.own.statistics.load_misses.get()), (1, 3));
}

#[test]
fn a_store_is_served_at_once_where_the_second_level_may_be_written() {
    let mut bench = two_levels();
    below(&mut bench);
    assert_eq!(bench.port().store_late::<8>(DATA, 5), None, "no store to the page was looked at");
    let _ = bench.kinds(|port| port.store(DATA, 8, 5));
    let _ = bench.kinds(|port| port.store(DATA + 128, 8, 6));
    assert_eq!(bench.port().store_late::<8>(DATA, 7), Some(late(2)), "a dirty block went down");
    assert!(bench.port().store_hit::<8>(DATA + 8, 8));
    assert_eq!(bench.port().load_late::<8>(DATA + 128), Some((6, late(2))));
    assert_eq!(bench.snooped(Kind::Read, DATA).expect("the owner").word(0), 7);
    let _ = bench.port().load_late::<8>(DATA);
    let _ = bench.port().load_late::<8>(DATA + 128);
    assert_eq!(bench.port().store_late::<8>(DATA, 9), None, "another cache has a copy");
}

#[test]
fn a_block_that_was_fetched_is_not_loaded_or_stored_to_without_a_look() {
    let mut bench = two_levels();
    bench.pages.map(
        CODE,
        0x1000,
        PageAttributes { readable: false, executable: true, ..PageAttributes::DATA },
    );
    let _ = bench.kinds(|port| port.fetch(CODE));
    assert_eq!(bench.port().load_late::<8>(CODE), None);
    assert_eq!(bench.port().load(CODE, 8), Outcome::Fault(AccessFault::Protected));
    let _ = bench.kinds(|port| port.store(CODE, 8, 1));
    let _ = bench.kinds(|port| port.store(CODE + 128, 8, 1));
    assert_eq!(bench.port().store_late::<8>(CODE, 2), None, "each store to code is counted");
}

#[test]
fn tags_of_memory_are_always_looked_at() {
    let mut bench = two_levels();
    assert!(bench.own.tag_memory(DATA..DATA + 0x1000, 32));
    bench.port().set_tag(DATA, 1).unwrap();
    bench.port().set_tag(DATA + 128, 1).unwrap();
    below(&mut bench);
    let _ = bench.kinds(|port| port.load(DATA, 8));
    let _ = bench.kinds(|port| port.load(DATA + 128, 8));
    assert_eq!(bench.port().load_late::<8>(DATA), None);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u64),
    Store(u64, u64),
    Fetch(u64),
    Snoop(u64, Kind),
}

/// Aligned accesses to the pages at DATA and CODE.
fn step() -> impl Strategy<Value = Step> {
    let address = || (0u64..0x2000).prop_map(|place| DATA + place / 8 * 8);
    prop_oneof![
        4 => address().prop_map(Step::Load),
        4 => (address(), 1..100u64).prop_map(|(address, value)| Step::Store(address, value)),
        1 => address().prop_map(Step::Fetch),
        1 => (address(), select(vec![Kind::Read, Kind::ReadExclusive]))
            .prop_map(|(address, kind)| Step::Snoop(address & !127, kind)),
    ]
}

/// What came of a step, and what the caches are then.
fn take(bench: &mut Bench, step: Step, at_once: bool) -> (String, u64) {
    let come = match step {
        Step::Load(address) => {
            let outcome = bench.kinds(|port| match port.load_hit::<8>(address) {
                Some(value) if at_once => Outcome::Done(value),
                None if at_once => match port.load_late::<8>(address) {
                    Some((value, late)) => Outcome::Late(value, late),
                    None => port.load(address, 8),
                },
                _ => port.load(address, 8),
            });
            format!("{outcome:?}")
        }
        Step::Store(address, value) => {
            let outcome = bench.kinds(|port| match at_once && port.store_hit::<8>(address, value) {
                true => Outcome::Done(()),
                false if at_once => match port.store_late::<8>(address, value) {
                    Some(late) => Outcome::Late((), late),
                    None => port.store(address, 8, value),
                },
                false => port.store(address, 8, value),
            });
            format!("{outcome:?}")
        }
        Step::Fetch(address) => format!("{:?}", bench.kinds(|port| port.fetch(address))),
        Step::Snoop(address, kind) => format!("{:?}", bench.snooped(kind, address)),
    };
    let mut hasher = DefaultHasher::new();
    (&bench.own.data, &bench.own.instructions, &bench.second().cache).hash(&mut hasher);
    (format!("{come} {:?} {:?}", bench.second().statistics, bench.own.statistics), hasher.finish())
}

proptest! {
    #[test]
    fn the_second_level_gives_at_once_what_it_gives_otherwise(
        steps in proptest::collection::vec(step(), 1..150),
        (first_ways, second_ways) in (select(vec![1, 2]), select(vec![1, 2, 4])),
        (block, inclusion, stores) in select(vec![
            (32, Inclusion::Inclusive, Stores::WriteBack),
            (32, Inclusion::Inclusive, Stores::WriteThrough),
            (128, Inclusion::NonInclusive, Stores::WriteBack),
        ]),
    ) {
        let size = |bytes: u64| narthex_kernel::quantity::Bytes::new(bytes);
        let first = cache::Config {
            size: size(8 * block), associativity: first_ways, block: size(block), ..first_config()
        };
        let second = Config { associativity: second_ways, inclusion, data_cache_stores: stores, ..second_config() };
        let [mut slow, mut at_once] = [levels(&first, &second), levels(&first, &second)];
        for step in steps {
            prop_assert_eq!(take(&mut slow, step, false), take(&mut at_once, step, true), "{:?}", step);
        }
    }
}
