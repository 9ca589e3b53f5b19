//! Counters: a store adds, and zero is told.

use super::bench::Bench;
use crate::sarc::registers::Role;

#[test]
fn a_counter_adds_and_tells_up_to_four_addresses_when_it_comes_to_zero() {
    let mut bench = Bench::new();
    let counter = bench.line(0, Role::Counter);
    let flags: Vec<u64> = (0..4).map(|tile| bench.allocate(tile, 1)).collect();
    bench.store(0, counter + 8, 3u64.wrapping_neg());
    bench.store(0, counter + 16, 0xabc);
    for (own, &flag) in flags.iter().enumerate().take(3) {
        bench.store(0, counter + 32 + 8 * own as u64, flag);
    }
    bench.store(0, counter, 3u64.wrapping_neg());
    bench.store(0, counter, 1);
    bench.store(2, counter, 1);
    bench.rest();
    assert_eq!((bench.load(0, counter) as i64, bench.bytes(flags[0], 1)), (-1, vec![0]));
    bench.store(3, counter, 1);
    bench.rest();
    assert_eq!(bench.load(0, counter) as i64, -3, "it is reset");
    let told: Vec<u64> =
        flags.iter().enumerate().map(|(tile, &flag)| bench.load(tile as u16, flag)).collect();
    assert_eq!(told, [0xabc, 0xabc, 0xabc, 0]);
}

#[test]
fn a_counter_tells_another_counter() {
    let mut bench = Bench::new();
    let (leaf, root, flag) =
        (bench.line(0, Role::Counter), bench.line(1, Role::Counter), bench.allocate(2, 1));
    bench.store_words(0, leaf + 8, &[0, 1]);
    bench.store(0, leaf + 32, root);
    bench.store_words(1, root + 8, &[0, 7]);
    bench.store(1, root + 32, flag);
    bench.store(1, root, 1u64.wrapping_neg());
    bench.store(0, leaf, 1u64.wrapping_neg());
    bench.store(0, leaf, 1);
    bench.rest();
    assert_eq!((bench.load(1, root), bench.load(2, flag)), (0, 7));
    assert_eq!(bench.cycle(), 2 * 28, "a notification after the other");
}

#[test]
fn a_counter_that_is_to_tell_what_does_not_exist_is_refused() {
    let mut bench = Bench::new();
    let counter = bench.line(0, Role::Counter);
    let problem = bench.try_store(0, counter + 32, 0x1234_5678).unwrap_err();
    assert!(problem.contains("line 0 of tile 0 (a counter"), "{problem}");
    assert!(problem.contains("nothing is at 0x12345678 that could be told"), "{problem}");
    let line = bench.allocate(0, 1);
    bench.store(0, line + 40, 4);
    let problem = bench.try_store(0, Bench::state_of(line), Role::Counter as u64).unwrap_err();
    assert!(problem.contains("nothing is at 0x4 that could be told"), "{problem}");
    assert_eq!(bench.load(0, Bench::state_of(line)) & 0xff, Role::Scratchpad as u64, "it is what it was");
}
