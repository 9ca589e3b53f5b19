//! What a machine's file may say, and what of it changes nothing.

use super::*;
use crate::traffic;

#[test]
fn a_store_buffer_has_1_to_64_entries() {
    let problems = |entries| {
        StoreBufferConfig {
            uncached_stores: UncachedStores::Posted,
            entries,
            flushed_blocks: Default::default(),
        }
        .problems()
    };
    assert_eq!((problems(1), problems(64)), (vec![], vec![]));
    for entries in [0, 65] {
        assert_eq!(problems(entries), [("entries", format!("{entries} is not from 1 to 64"))]);
    }
}

#[test]
fn posted_flushes_need_posted_stores() {
    let problems = |uncached_stores| {
        let flushed_blocks = FlushedBlocks::Posted;
        StoreBufferConfig { uncached_stores, entries: 8, flushed_blocks }.problems()
    };
    assert_eq!(problems(UncachedStores::Posted), []);
    assert_eq!(problems(UncachedStores::Blocking)[0].0, "flushed_blocks");
}

#[test]
fn the_entries_of_a_store_buffer_change_nothing_where_stores_block() {
    let idle = |uncached_stores| {
        StoreBufferConfig { uncached_stores, entries: 8, flushed_blocks: Default::default() }.without_effect()
    };
    assert_eq!(idle(UncachedStores::Posted), []);
    let why = "uncached stores block the processor (store_buffer.uncached_stores)";
    assert_eq!(idle(UncachedStores::Blocking), [("entries".to_owned(), why.to_owned())]);
}

#[test]
fn block_buffers_change_nothing_where_no_block_goes_to_a_device_or_comes_from_one() {
    let pair = block_buffers::Config::Pair { transfer_cycles: 12 };
    let idle = |config: &block_buffers::Config, of_devices| {
        let traffic = traffic::Traffic { processors: 1, caches: 1, of_devices, has_caches: true };
        config.without_effect(&traffic)
    };
    assert_eq!(idle(&pair, vec![Kind::BlockLoad]), []);
    assert_eq!(idle(&pair, vec![Kind::BlockStore]), []);
    assert_eq!(idle(&block_buffers::Config::None {}, vec![]), []);
    let why = "no device takes or gives whole blocks";
    assert_eq!(idle(&pair, vec![Kind::WriteBlock]), [("transfer_cycles".to_owned(), why.to_owned())]);
}

#[test]
fn processors_memories_that_are_made_alike_are_fixed_alike() {
    let one = bench(UncachedStores::Posted).own;
    let with_base = one.clone().with_translation(Translation::of_process(1, 0..0));
    assert!(one.config_identity() == bench(UncachedStores::Posted).own.config_identity());
    assert!(one.config_identity() != bench(UncachedStores::Blocking).own.config_identity());
    assert!(one.config_identity() != with_base.config_identity());
    assert!(one.config_identity() != one.clone().with_block_buffers(Duration::ZERO).config_identity());
}
