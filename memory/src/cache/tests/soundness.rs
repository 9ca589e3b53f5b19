//! What is read from an archive as a cache, and what is refused.

use super::*;
use narthex_kernel::Archive;

/// Whether a cache of eight lines in sets of two is read back once it has been changed so.
fn is_read(change: impl FnOnce(&mut Cache)) -> bool {
    let mut saved = cache(8, 2);
    // Both ways of set 1, so that its order of use is not the first one.
    fill(&mut saved, 0x40, Request::ReadExclusive);
    fill(&mut saved, 0x140, Request::Read);
    change(&mut saved);
    let bytes = Archive::save(&mut saved).expect("plain data");
    Archive::restore(&bytes, &mut cache(8, 2)).is_ok()
}

/// Gives every table the length that this geometry needs.
fn reshape(cache: &mut Cache, sets: usize, ways: usize, lines: usize, block_bytes: usize) {
    *cache = Cache {
        ways,
        block_bytes,
        block_shift: block_bytes.trailing_zeros(),
        rows: RowPlaces::new(sets, block_bytes),
        compared: !(block_bytes as u64 - 1) | 7,
        place_mask: (sets * block_bytes) as u64 - 1,
        front: silent_rows(sets),
        recency: vec![cache.recency[0]; sets],
        tags: vec![0; lines],
        states: vec![0; lines],
        allowed: vec![0; lines],
        data: vec![0; lines * block_bytes].into(),
        ..cache.clone()
    };
}

#[test]
fn a_cache_whose_tables_agree_is_read() {
    assert!(is_read(|_| {}));
    assert!(is_read(|cache| cache.lost = vec![0; 8]));
    assert!(is_read(|cache| cache.lock(0)));
    assert!(is_read(|cache| reshape(cache, 8, 2, 16, 32)));
    assert!(is_read(|cache| *cache = Cache::with_geometry(cache.protocol, 4, 1, 64)));
    assert!(is_read(|cache| *cache = Cache::with_geometry(cache.protocol, 32, 16, 64)));
}

#[test]
fn a_cache_whose_tables_contradict_each_other_is_not_read() {
    let damages: [fn(&mut Cache); 29] = [
        |cache| cache.tags.clear(),
        |cache| cache.ways = 0,
        |cache| cache.ways = 8,
        |cache| cache.rows = RowPlaces::new(8, 64),
        |cache| cache.block_bytes = 48,
        |cache| cache.front = cache.front[..3].into(),
        |cache| cache.recency.truncate(3),
        |cache| cache.place_mask += 1,
        |cache| cache.lost = vec![0; 3],
        |cache| cache.states.push(0),
        |cache| cache.allowed.clear(),
        |cache| cache.data = cache.data[..8].into(),
        |cache| cache.states[3] = 5,
        |cache| cache.recency[2].order = 0x11,
        |cache| cache.recency[2].order = 0x22,
        |cache| cache.recency[2].parts = 0x11,
        |cache| cache.recency[2].parts = 0x01,
        |cache| cache.compared = !63,
        |cache| cache.front[0][0] = 0,
        |cache| cache.front[1][0] += 256,
        |cache| cache.front[1][0] += 4,
        |cache| cache.tags[2] += 4,
        |cache| cache.tags[2] += 64,
        |cache| cache.front[2][0] = cache.front[1][0],
        |cache| (0..2).for_each(|line| cache.lock(line)),
        // Tables that agree, of a geometry that no cache has.
        |cache| reshape(cache, 1, 32, 32, 64),
        |cache| reshape(cache, 2, 2, 5, 64),
        |cache| reshape(cache, 3, 2, 6, 64),
        |cache| reshape(cache, 4, 2, 8, 48),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        assert!(!is_read(damage), "damage {number}");
    }
}

#[test]
fn caches_of_one_geometry_differ_in_nothing_that_lasts() {
    let moesi = cache(8, 2);
    assert_eq!(moesi.geometry(), cache(8, 2).geometry());
    for other in [cache(16, 2), cache(8, 4), Cache::with_geometry(moesi.protocol, 8, 2, 32)] {
        assert_ne!(moesi.geometry(), other.geometry());
    }
    let config = config(512, 2, 64);
    assert_eq!(moesi.geometry(), Cache::new(&config).geometry());
    assert_ne!(moesi.geometry(), Cache::new(&Config { snarfing: true, ..config.clone() }).geometry());
    assert_ne!(moesi.geometry(), Cache::new(&Config { protocol: "MSI".into(), ..config }).geometry());
}
