//! What a cache keeps, gives up and answers.

mod replacement;
mod soundness;

use std::hash::DefaultHasher;

use narthex_kernel::quantity::Bytes;

use super::*;
use crate::kind::Kind;
use crate::protocols::Snoop;
use crate::traffic::Traffic;
use proptest::prelude::*;

fn config(size: u64, associativity: u32, block: u64) -> Config {
    let [size, block] = [size, block].map(Bytes::new);
    Config { size, associativity, block, protocol: "MOESI".into(), snarfing: false, prefetcher: None }
}

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
    let config = Config { snarfing: true, ..config(256, 1, 64) };
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
fn a_locked_line_takes_no_block_in_and_is_empty_once_it_is_free() {
    let mut cache = cache(4, 2);
    fill(&mut cache, 0x80, Request::Read);
    cache.lock(1);
    assert!(cache.is_locked((0, 1)) && !cache.is_locked((0, 0)));
    assert_eq!(cache.victim_for(0x100).unwrap().block, 0x80, "the other way of the set has gone");
    assert_eq!(cache.state(0), State::Invalid, "its tag matches no address");
    assert_eq!(cache.may_lock(&[0]), Err(LastWay { set: 0, ways: 2 }));
    assert_eq!(
        cache.may_lock(&[2, 3]).unwrap_err().to_string(),
        "scratchpad larger than the ways allow: set 1 has 2, and one of them must be left to cache"
    );
    cache.clear();
    cache.flush(0..0x1000, |_, _| panic!("it holds nothing"));
    assert!(cache.is_locked((0, 1)), "what forgets blocks leaves it alone");
    cache.free(1);
    fill(&mut cache, 0x80, Request::Read);
    fill(&mut cache, 0x100, Request::Read);
    assert_eq!(cache.blocks().count(), 2);
}

#[test]
fn a_locked_line_snarfs_no_block_that_it_has_lost() {
    let mut cache = Cache::new(&Config { snarfing: true, ..config(256, 2, 64) });
    fill(&mut cache, 0x80, Request::Read);
    cache.snoop(Snoop::ReadExclusive, 0x80);
    cache.lock(0);
    assert!(!cache.snarf(Snoop::WriteBack, 0x80, &BlockData::from_bytes(&[9; 64])));
    cache.free(0);
    assert!(!cache.snarf(Snoop::WriteBack, 0x80, &BlockData::from_bytes(&[9; 64])), "it was used since");
}

#[test]
fn caches_that_differ_in_a_locked_line_have_different_hashes() {
    let [one, mut other] = [cache(8, 2), cache(8, 2)];
    other.lock(3);
    let hashes = |cache: &Cache| {
        let [mut all, mut blocks] = [DefaultHasher::new(), DefaultHasher::new()];
        cache.hash(&mut all);
        cache.hash_blocks(&mut blocks);
        [all.finish(), blocks.finish()]
    };
    let (one, other) = (hashes(&one), hashes(&other));
    assert!(one.iter().zip(other).all(|(one, other)| *one != other));
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
fn every_cell_of_a_protocol_is_what_the_cache_does() {
    for protocol in protocols::names().into_iter().map(|name| protocols::by_name(name).unwrap()) {
        for &state in protocol.states() {
            let fresh = || {
                let mut cache = Cache::with_geometry(protocol, 2, 1, 64);
                if state != State::Invalid {
                    cache.place(0x40, state, Some(&BlockData::from_bytes(&[3; 64])));
                }
                cache
            };
            for (action, access) in protocol.access[state as usize].into_iter().zip(Access::ALL) {
                let mut cache = fresh();
                match action {
                    Some(AccessAction::Hit(next)) => {
                        assert_eq!((cache.access(0x40, access), cache.state(0x40)), (Ok(()), next));
                    }
                    Some(AccessAction::Ask(request)) => assert_eq!(cache.access(0x40, access), Err(request)),
                    Some(AccessAction::Drop) => assert_eq!(cache.access(0x40, access), Ok(())),
                    None => {}
                }
            }
            for (action, snoop) in protocol.snoop[state as usize].into_iter().zip(Snoop::ALL) {
                let (Some(action), mut cache) = (action, fresh()) else { continue };
                let reply = cache.snoop(snoop, 0x7f);
                assert_eq!((reply.shares, reply.updates_home), (action.shares, action.updates_home));
                assert_eq!(reply.supplies.is_some(), action.supplies, "{} {state} {snoop:?}", protocol.name);
                assert_eq!(cache.state(0x40), action.next, "{} {state} {snoop:?}", protocol.name);
            }
        }
    }
}

#[test]
fn a_line_answers_fast_what_it_is_allowed_to() {
    let mut cache = cache(4, 2);
    fill(&mut cache, 0x40, Request::ReadExclusive);
    let mut allowed = |most| {
        cache.allow(0x40, most);
        (cache.load_hit::<1>(0x40), cache.fetch_hit(0x40), cache.store_hit::<1>(0x41, 8))
    };
    assert_eq!(allowed(Tag::None), (None, false, false));
    assert_eq!(allowed(Tag::Read), (Some(1), true, false));
    assert_eq!(allowed(Tag::Write), (Some(1), true, true));
    assert_eq!(cache.load_hit::<2>(0x40), Some(0x0801));
    fill(&mut cache, 0xc0, Request::Read);
    cache.allow(0x40, Tag::None);
    assert_eq!(cache.load_hit::<1>(0xc0), Some(3), "the other way of the set is the most recent");
    assert_eq!(cache.peek(0x40).map(|block| block[1]), Some(8));
}

#[test]
fn the_block_at_address_zero_is_answered_only_while_it_is_there() {
    for (lines, ways) in [(1, 1), (4, 1), (4, 2), (4, 4)] {
        let mut cache = cache(lines, ways);
        let answers = |cache: &Cache| {
            let places = [0, 1, 8, 63];
            places.map(|place| cache.fetch_hit(place)).iter().filter(|is_hit| **is_hit).count()
        };
        assert_eq!(answers(&cache), 0, "nothing was there yet");
        assert_eq!((cache.load_hit::<8>(8), cache.store_hit::<8>(8, 0)), (None, false));
        fill(&mut cache, 0, Request::ReadExclusive);
        assert_eq!(answers(&cache), 4);
        assert_eq!((cache.load_hit::<8>(8).is_some(), cache.load_hit::<8>(4)), (true, None));
        cache.remove(0);
        assert_eq!(answers(&cache), 0, "it was removed");
        fill(&mut cache, 0, Request::Read);
        cache.clear();
        assert_eq!(answers(&cache), 0, "all was cleared");
    }
}

#[test]
fn a_cleared_cache_is_empty_and_takes_no_lost_block_in() {
    let mut cache = Cache::new(&Config { snarfing: true, ..config(256, 1, 64) });
    fill(&mut cache, 0x40, Request::Read);
    fill(&mut cache, 0x80, Request::Read);
    cache.snoop(Snoop::ReadExclusive, 0x40);
    cache.clear();
    assert_eq!(cache.blocks().count(), 0);
    assert_eq!((cache.load_hit::<1>(0x80), cache.state(0x80)), (None, State::Invalid));
    assert!(!cache.snarf(Snoop::WriteBack, 0x40, &BlockData::from_bytes(&[9; 64])));
}

#[test]
fn the_hash_of_the_blocks_leaves_out_their_order_of_use_and_that_of_the_cache_does_not() {
    let [mut one, mut other] = [cache(8, 2), cache(8, 2)];
    for (cache, blocks) in [(&mut one, [0x40, 0x140]), (&mut other, [0x140, 0x40])] {
        blocks.into_iter().for_each(|block| fill(cache, block, Request::Read));
    }
    let blocks = |cache: &Cache| {
        let mut hasher = DefaultHasher::new();
        cache.hash_blocks(&mut hasher);
        hasher.finish()
    };
    let all = |cache: &Cache| {
        let mut hasher = DefaultHasher::new();
        cache.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(blocks(&one), blocks(&other));
    assert_ne!(all(&one), all(&other));
    assert_eq!(all(&one), all(&one.clone()));
    other.write(0x47, &[77]);
    assert_ne!(blocks(&one), blocks(&other));
}

#[test]
fn parameters_that_no_cache_can_have_are_refused() {
    for (size, associativity, block) in [(32, 1, 16), (512, 4, 64), (48 << 10, 12, 64), (1 << 30, 16, 256)] {
        assert_eq!(config(size, associativity, block).problems(), []);
    }
    let problem = |config: Config| <[_; 1]>::try_from(config.problems()).expect("one problem")[0].clone();
    for block in [8, 24, 512] {
        let text = format!("{block}B is not a power of two from 16B to 256B");
        assert_eq!(problem(config(1 << 20, 1, block)), ("block", text));
    }
    for associativity in [0, 17, 32] {
        let text = format!("{associativity} is not from 1 to 16");
        assert_eq!(problem(config(1 << 20, associativity, 64)), ("associativity", text));
    }
    for (size, written) in [(256, "256B"), (768, "768B"), (2 << 30, "2GiB")] {
        let text =
            format!("{written} is not a power of two of sets of 4 blocks, from 512B (two sets) to 1GiB");
        assert_eq!(problem(config(size, 4, 64)), ("size", text));
    }
    let unknown = Config { protocol: "MOSI".into(), ..config(1024, 1, 64) };
    let text =
        "'MOSI' is unknown; there are Incoherent, MESI, MESI-OneRead, MOESI, MSI; did you mean `MOESI`?";
    assert_eq!(problem(unknown), ("protocol", text.to_owned()));
}

#[test]
fn snarfing_changes_nothing_where_no_other_agent_sends_blocks_home() {
    let traffic = |of_devices| Traffic { processors: 1, caches: 1, of_devices, has_caches: true };
    assert_eq!(config(1024, 1, 64).without_effect(&traffic(vec![Kind::WriteBlock])), []);
    let idle = config(1024, 1, 64).without_effect(&traffic(vec![Kind::ReadOnce]));
    let why = "nobody else sends blocks home, so none pass by to be taken in";
    assert_eq!(idle, [("snarfing".to_owned(), why.to_owned())]);
}

#[test]
fn a_cache_takes_the_memory_of_its_tables() {
    for (associativity, snarfing) in [(1, false), (1, true), (4, false), (4, true)] {
        let config = Config { snarfing, ..config(1024, associativity, 64) };
        let cache = Cache::new(&config);
        let sets = cache.front.len() + cache.recency.len();
        let words = [2 * sets, cache.tags.len(), cache.lost.len()];
        let bytes = [cache.states.len(), cache.allowed.len(), cache.data.len()];
        let taken = 8 * words.iter().sum::<usize>() + bytes.iter().sum::<usize>();
        assert_eq!(config.host_bytes(), taken as u64, "{associativity} ways, snarfing {snarfing}");
    }
}

proptest! {
    /// The front row may only ever say what the slow way says too.
    #[test]
    fn fast_hits_agree_with_the_lines(
        ways in prop_oneof![Just(1usize), Just(2), Just(3), Just(4)],
        steps in proptest::collection::vec((0u64..16, 0u8..6), 1..200),
    ) {
        let mut cache = cache(if ways == 3 { 6 } else { 8 }, ways);
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
