//! What a cache keeps, gives up and answers.

use super::*;
use narthex_kernel::Archive;
use proptest::prelude::*;

fn cache(lines: usize, ways: usize) -> Cache {
    Cache::with_geometry(protocols::by_name("MOESI").unwrap(), lines, ways, 64)
}

fn fill(cache: &mut Cache, address: u64, request: Request) {
    if let Some(victim) = cache.victim_for(address) {
        cache.remove(victim.block);
    }
    let data = BlockData::from_bytes(&[(address >> 6) as u8; 64]);
    cache.fill(address, request, false, Some(&data));
}

#[test]
fn an_empty_cache_asks_for_the_block() {
    let mut cache = cache(4, 1);
    assert_eq!(cache.load_hit::<8>(0), None);
    assert_eq!(cache.access(0x40, Access::Load), Err(Request::Read));
    assert_eq!(cache.access(0x40, Access::Store), Err(Request::ReadExclusive));
}

#[test]
fn a_filled_block_is_read_at_once_and_written_after_the_silent_upgrade() {
    let mut cache = cache(4, 1);
    fill(&mut cache, 0x40, Request::Read);
    assert_eq!(cache.load_hit::<4>(0x44), Some(0x0101_0101));
    assert!(!cache.store_hit::<4>(0x44, 7), "exclusive is not modified yet");
    assert_eq!(cache.access(0x44, Access::Store), Ok(()));
    assert!(cache.store_hit::<4>(0x44, 7));
    assert_eq!(cache.load_hit::<8>(0x40), Some(0x0000_0007_0101_0101));
    assert_eq!(cache.state(0x40), State::Modified);
}

#[test]
fn a_misaligned_access_is_never_a_fast_hit() {
    let mut cache = cache(4, 1);
    fill(&mut cache, 0x40, Request::ReadExclusive);
    let _ = cache.access(0x40, Access::Store);
    assert!(cache.load_hit::<4>(0x42).is_none());
    assert!(cache.load_hit::<8>(0x7c).is_none());
    assert!(!cache.store_hit::<2>(0x41, 0));
    assert!(cache.load_hit::<1>(0x43).is_some());
}

#[test]
fn a_snooped_read_takes_the_right_to_write_away() {
    let mut cache = cache(4, 1);
    fill(&mut cache, 0x40, Request::ReadExclusive);
    let _ = cache.access(0x40, Access::Store);
    let reply = cache.snoop(Snoop::Read, 0x40);
    assert!(reply.shares && reply.supplies.is_some());
    assert!(!cache.store_hit::<8>(0x40, 1));
    assert_eq!(cache.access(0x40, Access::Store), Err(Request::Upgrade));
}

#[test]
fn a_snooped_exclusive_read_empties_the_line() {
    let mut cache = cache(4, 1);
    fill(&mut cache, 0x40, Request::ReadExclusive);
    cache.snoop(Snoop::ReadExclusive, 0x40);
    assert_eq!(cache.load_hit::<8>(0x40), None);
    assert_eq!(cache.state(0x40), State::Invalid);
    assert_eq!(cache.victim_for(0x40), None);
}

#[test]
fn the_least_recently_used_way_leaves_first() {
    let mut cache = cache(8, 4);
    for block in 0..4 {
        fill(&mut cache, block * 128, Request::Read);
    }
    cache.access(0, Access::Load).unwrap();
    assert_eq!(cache.victim_for(4 * 128).unwrap().block, 128);
}

#[test]
fn a_block_that_was_lost_is_snarfed_until_its_line_is_used_again() {
    let config = Config {
        size: Bytes::new(256),
        associativity: 1,
        block: Bytes::new(64),
        protocol: "MOESI".into(),
        snarfing: true,
    };
    let block = BlockData::from_bytes(&[9; 64]);
    let mut cache = Cache::new(&config);
    assert!(!cache.snarf(Snoop::WriteBack, 0x40, &block), "never held");
    fill(&mut cache, 0x40, Request::Read);
    assert!(!cache.snarf(Snoop::WriteBack, 0x40, &block), "held");
    cache.snoop(Snoop::ReadExclusive, 0x40);
    assert!(!cache.snarf(Snoop::WriteBack, 0x140, &block), "another block of the line");
    assert!(!cache.snarf(Snoop::ReadOnce, 0x40, &block), "not on its way to the home");
    assert!(cache.snarf(Snoop::WriteBack, 0x40, &block));
    assert_eq!((cache.state(0x40), cache.load_hit::<1>(0x40)), (State::Shared, Some(9)));
    cache.snoop(Snoop::WriteBlock, 0x40);
    fill(&mut cache, 0x140, Request::Read);
    assert!(!cache.snarf(Snoop::WriteBlock, 0x40, &block), "its line is taken");
    cache.remove(0x140);
    assert!(!cache.snarf(Snoop::WriteBlock, 0x140, &block), "given up, not lost");
}

#[test]
fn a_direct_mapped_cache_replaces_the_block_of_the_same_set() {
    let mut cache = cache(4, 1);
    fill(&mut cache, 0x40, Request::ReadExclusive);
    let _ = cache.access(0x40, Access::Store);
    assert_eq!(cache.victim_for(0x140), Some(Victim { block: 0x40, dirty: true }));
    assert_eq!(cache.victim_for(0x80), None);
}

#[test]
fn a_cache_whose_tables_contradict_each_other_is_not_read() {
    let mut whole = cache(8, 2);
    fill(&mut whole, 64, Request::ReadExclusive);
    let restored = |saved: &mut Cache| {
        let bytes = Archive::save(saved).expect("plain data");
        Archive::restore(&bytes, &mut cache(8, 2))
    };
    assert!(restored(&mut whole).is_ok());
    let damages: [fn(&mut Cache); 10] = [
        |cache| cache.tags.clear(),
        |cache| cache.ways = 0,
        |cache| cache.ways = 8,
        |cache| cache.set_mask = 7,
        |cache| cache.block_bytes = 48,
        |cache| cache.data.truncate(8),
        |cache| cache.lost = vec![0; 3],
        |cache| cache.states[3] = 5,
        |cache| cache.recency[2] = 0x11,
        |cache| cache.front[FRONT_WORDS + 2] = 1 << 40,
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let mut damaged = whole.clone();
        damage(&mut damaged);
        assert!(restored(&mut damaged).is_err(), "damage {number}");
    }
}

proptest! {
    /// The front row may only ever say what the slow way says too.
    #[test]
    fn fast_hits_agree_with_the_lines(
        ways in prop_oneof![Just(1usize), Just(2), Just(4)],
        steps in proptest::collection::vec((0u64..16, 0u8..6), 1..200),
    ) {
        let mut cache = cache(8, ways);
        for (block, step) in steps {
            let address = block * 64;
            match step {
                0 | 1 => {
                    let access = if step == 0 { Access::Load } else { Access::Store };
                    if let Err(request) = cache.access(address, access) {
                        if request == Request::Upgrade {
                            cache.fill(address, request, false, None);
                        } else {
                            fill(&mut cache, address, request);
                        }
                    }
                }
                2 => { cache.snoop(Snoop::Read, address); }
                3 => { cache.snoop(Snoop::ReadExclusive, address); }
                4 => { cache.remove(address); }
                _ => { cache.snoop(Snoop::ReadOnce, address); }
            }
            for block in 0..16u64 {
                let address = block * 64;
                let state = cache.state(address);
                if let Some(value) = cache.load_hit::<1>(address) {
                    prop_assert!(state.is_readable());
                    prop_assert_eq!(value, block);
                }
                if cache.front_bytes::<8>(address, 1).is_some() {
                    prop_assert_eq!(state, State::Modified);
                }
            }
        }
    }
}
