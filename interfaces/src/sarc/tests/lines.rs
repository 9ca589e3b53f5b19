//! Scratchpad of the own tile and of others: loads, stores, roles, the state window, registers,
//! the lock box.

use super::bench::{Bench, window};
use crate::device_call::CallError;
use crate::on_chip::End;
use crate::sarc::registers::{DRAM, LOCK_BOX, REGISTERS, Role, STATE, WINDOW, register, request, state};

#[test]
fn lines_are_allocated_one_behind_the_other_and_are_zero_and_locked() {
    let mut bench = Bench::new();
    let (first, second) = (bench.allocate(1, 3), bench.allocate(1, 2));
    assert_eq!((first, second), (window(1), window(1) + 3 * 64));
    assert_eq!(bench.system.locked.len(), 5);
    assert_eq!(bench.system.locked[4], (1, (4, 0)), "line 4 is set 4 of way 0");
    assert_eq!(bench.load(1, second), 0);
    let shown = bench.load(1, window(1) + STATE);
    let expected = Role::Scratchpad as u64 | state::LOCKED | state::SHARED | 1 << state::OWNER_SHIFT;
    assert_eq!(shown, expected);
    assert_eq!(bench.load(1, Bench::state_of(second + 2 * 64)), Role::Cache as u64);
    bench.store(1, first + 8, 7);
    bench.call(1, request::FREE, &[first, 3]).unwrap();
    assert_eq!(bench.system.locked.len(), 2);
    assert_eq!(bench.allocate(1, 1), first);
    assert_eq!(bench.load(1, first + 8), 0, "it begins with zeros again");
}

#[test]
fn one_way_of_the_cache_is_never_scratchpad() {
    let mut bench = Bench::new();
    let all = (1 << 14) / 64;
    let ask = |bench: &mut Bench, lines| bench.call(0, request::ALLOCATE, &[0, lines, 0]).err();
    assert_eq!(ask(&mut bench, all - all / 4 + 1), Some(CallError::NoMemory));
    assert_eq!(ask(&mut bench, all - all / 4), None);
    assert_eq!(ask(&mut bench, 1), Some(CallError::NoMemory));
    assert_eq!(bench.call(0, request::ALLOCATE, &[1, 1, 0]), Err(CallError::Invalid), "another's tile");
    assert_eq!(bench.call(0, request::ALLOCATE, &[0, 0, 0]), Err(CallError::Invalid));
    assert_eq!(bench.call(0, request::FREE, &[window(0) + 8, 1]), Err(CallError::BadAddress));
    assert_eq!(bench.call(1, request::FREE, &[window(0), 1]), Err(CallError::BadAddress), "not its own");
}

#[test]
fn a_remote_store_takes_ten_cycles_out_eight_over_the_network_and_ten_in() {
    let mut bench = Bench::new();
    let there = bench.allocate(2, 1);
    bench.store(0, there + 8, 0x1234);
    assert_eq!(bench.load(0, REGISTERS + register::STORES), 1);
    assert_eq!(bench.sent, [(10, End::Tile(0), End::Tile(2), 1, 8)]);
    assert_eq!(bench.load(2, there + 8), 0);
    bench.rest();
    assert_eq!((bench.cycle(), bench.load(2, there + 8)), (10 + 8 + 10, 0x1234));
    assert_eq!(bench.load(0, REGISTERS + register::STORES), 0);
}

#[test]
fn a_remote_load_is_answered_after_both_ways() {
    let mut bench = Bench::new();
    let there = bench.allocate(3, 1);
    bench.store(3, there, 99);
    assert_eq!(bench.try_load(1, there), Ok(None), "it waits");
    bench.rest();
    assert_eq!(bench.answers, [(2 * (10 + 8 + 10), 1, 99)]);
    let lanes: Vec<u8> = bench.sent.iter().map(|&(_, _, _, lane, _)| lane).collect();
    assert_eq!(lanes, [0, 1]);
}

#[test]
fn stores_to_a_line_that_wait_for_their_turn_leave_together() {
    let mut bench = Bench::new();
    let there = bench.allocate(1, 2);
    for word in 0..10 {
        bench.store(0, there + 8 * word, word + 1);
    }
    bench.rest();
    let bytes: Vec<u16> = bench.sent.iter().map(|&(.., bytes)| bytes).collect();
    assert_eq!(bytes, [8, 56, 16], "the first left at once; the next line has a packet of its own");
    assert_eq!((0..10).map(|word| bench.load(1, there + 8 * word)).sum::<u64>(), 55);
    let mut single = Bench::with(&[("combines_stores", false.into())], 1);
    let there = single.allocate(1, 1);
    single.store_words(0, there, &[1, 2, 3]);
    single.rest();
    assert_eq!(single.sent.len(), 3);
}

#[test]
fn a_store_that_finds_the_job_list_full_waits_for_room() {
    let mut bench = Bench::with(&[("combines_stores", false.into())], 1);
    let there = bench.allocate(1, 2);
    // One leaves, four wait in the list, and the processor waits with the sixth.
    bench.store_words(0, there, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(bench.answers, []);
    assert_eq!(bench.load(0, REGISTERS + register::JOBS), 5);
    bench.rest();
    assert_eq!(bench.answers, [(3, 0, 0)], "two cycles for a packet and one for its bytes");
    assert_eq!(bench.load(1, there + 40), 6);
}

#[test]
fn registers_show_the_chip_and_cannot_be_stored() {
    let mut bench = Bench::with(&[], 2);
    for (offset, expected) in [
        (register::TILE, 3),
        (register::CHIP, 0),
        (register::TILES, 4),
        (register::CHIPS, 1),
        (register::TILES_OF_PROCESS, 2),
        (register::L2_BYTES, 1 << 14),
        (register::WAYS, 4),
        (register::LOCKS, 16),
        (register::DRAM_BYTES, 1 << 20),
    ] {
        assert_eq!(bench.load(3, REGISTERS + offset), expected, "{offset:#x}");
    }
    bench.now += narthex_kernel::Duration::from_ns(42);
    assert_eq!(bench.load(0, REGISTERS + register::CYCLES), 42);
    assert!(bench.try_store(0, REGISTERS, 1).unwrap_err().contains("can only be loaded"));
    assert!(bench.try_load(0, REGISTERS + 0x800).unwrap_err().contains("no register at 0x800"));
}

#[test]
fn the_lock_box_gives_a_lock_to_one_and_makes_one_access_at_a_time() {
    let mut bench = Bench::new();
    let lock = LOCK_BOX + 8;
    assert_eq!(bench.load(0, lock), 1);
    assert_eq!(bench.load(1, lock), 0);
    assert_eq!(bench.load(1, lock + 8), 1, "another lock");
    let time = |bench: &Bench| {
        use crate::device::Device;
        bench.device.access_time(0, narthex_memory::Kind::UncachedLoad).as_ps() / 1_000
    };
    assert_eq!(time(&bench), 3 * 20, "it is the third one at this instant");
    bench.store(0, lock, 0);
    assert_eq!(bench.load(1, lock), 1);
    assert!(bench.try_load(0, LOCK_BOX + 16 * 8).unwrap_err().contains("nothing is at"));
}

#[test]
fn dram_is_allocated_in_pages_and_reached_by_words() {
    let mut bench = Bench::new();
    let ask = |bench: &mut Bench, bytes| bench.call(0, request::DRAM_ALLOCATE, &[bytes, request::SHARED]);
    assert_eq!(ask(&mut bench, 100).unwrap()[2], DRAM);
    assert_eq!(ask(&mut bench, 8192).unwrap()[2], DRAM + 4096);
    assert_eq!(ask(&mut bench, 1 << 20), Err(CallError::NoMemory));
    bench.store(1, DRAM + 4096, 5);
    bench.rest();
    assert_eq!(bench.load(2, DRAM + 4096), 5);
    let (_, _, to, ..) = bench.sent[0];
    assert_eq!(to, End::Controller(1), "pages take turns");
    assert!(bench.try_load(2, DRAM + 3 * 4096).unwrap_err().contains("nobody has allocated the DRAM"));
    assert!(bench.try_load(2, WINDOW + 4 * (1 << 20)).unwrap_err().contains("nothing is at"));
}
