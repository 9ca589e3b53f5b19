//! Scratchpad of the own tile and of others: loads, stores, roles, the state window, registers,
//! the lock box.

use serde_json::json;

use super::bench::{Bench, window};
use crate::device_call::CallError;
use crate::on_chip::End;
use crate::sarc::registers::{
    DRAM, LOCK_BOX, REGISTERS, Role, STATE, WINDOW, operation, register, request, state,
};

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
fn a_remote_store_waits_four_cycles_and_takes_ten_out_eight_over_the_network_and_ten_in() {
    let mut bench = Bench::new();
    let there = bench.allocate(2, 1);
    bench.store(0, there + 8, 0x1234);
    assert_eq!(bench.load(0, REGISTERS + register::STORES), 1);
    assert_eq!((bench.sent.len(), bench.load(2, there + 8)), (0, 0));
    bench.rest();
    assert_eq!(bench.sent, [(4 + 10, End::Tile(0), End::Tile(2), 1, 8)]);
    assert_eq!((bench.cycle(), bench.load(2, there + 8)), (4 + 10 + 8 + 10, 0x1234));
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
fn stores_that_follow_each_other_in_a_line_leave_together() {
    let mut bench = Bench::new();
    let there = bench.allocate(1, 2);
    for word in 0..10 {
        bench.store(0, there + 8 * word, word + 1);
    }
    assert_eq!(bench.load(0, REGISTERS + register::JOBS), 1, "the other line waits");
    bench.rest();
    let left: Vec<(u64, u16)> = bench.sent.iter().map(|&(at, .., bytes)| (at, bytes)).collect();
    assert_eq!(
        left,
        [(10, 64), (10 + 10, 16)],
        "a line leaves at once, and the engine takes ten cycles for it"
    );
    assert_eq!((0..10).map(|word| bench.load(1, there + 8 * word)).sum::<u64>(), 55);
    let mut single = Bench::with(&[("store_combining", json!({ "kind": "none" }))], 1);
    let there = single.allocate(1, 1);
    single.store_words(0, there, &[1, 2, 3]);
    single.rest();
    assert_eq!(single.sent.len(), 3);
}

#[test]
fn a_lone_store_waits_for_the_next_one_and_goes_before_all_else_of_its_processor() {
    let mut bench = Bench::new();
    let (there, here) = (bench.allocate(1, 4), bench.line(0, Role::CommandBuffer));
    bench.store(0, there, 1);
    bench.rest();
    assert_eq!(bench.sent[0].0, 4 + 10, "four cycles in the buffer");
    let left = |bench: &Bench| bench.sent.iter().map(|&(.., bytes)| bytes).collect::<Vec<_>>();
    bench.store(0, there + 64, 1);
    bench.store(0, there + 64, 2);
    assert_eq!(left(&bench), [8, 8], "no word is overwritten: it may be an item or a count");
    for (word, value) in [(1, there + 128), (2, 0), (3, 7), (0, 8 << 8 | operation::MESSAGE)] {
        bench.store(0, here + 8 * word, value);
    }
    bench.rest();
    assert_eq!(bench.sent.len(), 4, "the second store, then the message");
    assert_eq!(bench.bytes(there + 64, 8), 2_u64.to_le_bytes());
    assert_eq!(bench.load(0, REGISTERS + register::STORES), 0);
}

#[test]
fn a_packet_has_the_port_for_its_bytes_and_the_processor_waits_behind_it() {
    let mut bench = Bench::new();
    let there = bench.allocate(1, 2);
    let time = |bench: &mut Bench, now| {
        use crate::device::Device;
        bench.now += narthex_kernel::Duration::from_ns(now);
        bench.load(1, there + 64);
        bench.device.access_time(1, narthex_memory::Kind::UncachedLoad).as_ps() / 1_000
    };
    assert_eq!(time(&mut bench, 0), 10);
    bench.store_words(0, there, &[1, 2, 3, 4, 5, 6, 7, 8]);
    bench.rest();
    assert_eq!(time(&mut bench, 3), 10 + 8 - 3, "64 bytes at 8 a cycle");
    assert_eq!(time(&mut bench, 5), 10);
}

#[test]
fn a_packet_that_leaves_waits_for_the_port_of_one_that_comes() {
    let mut bench = Bench::new();
    let (here, there, command) =
        (bench.allocate(0, 2), bench.allocate(1, 2), bench.line(0, Role::CommandBuffer));
    bench.store_words(1, here, &[1, 2, 3, 4, 5, 6, 7, 8]);
    bench.rest();
    let comes = bench.cycle();
    let first = bench.sent.len();
    for (word, value) in [(1, there), (2, 0), (3, here + 64), (0, 64 << 8 | operation::COPY)] {
        bench.store(0, command + 8 * word, value);
    }
    bench.rest();
    let waits = 8 - 2;
    assert_eq!(
        bench.sent[first].0,
        comes + waits + 10,
        "the header is made while the packet that came is written"
    );
}

#[test]
fn a_store_that_finds_the_job_list_full_waits_for_room() {
    let mut bench = Bench::with(&[("store_combining", json!({ "kind": "none" }))], 1);
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
fn the_lock_box_gives_a_lock_to_one_and_its_bus_carries_one_access_at_a_time() {
    let mut bench = Bench::new();
    let lock = LOCK_BOX + 8;
    assert_eq!(bench.load(0, lock), 1);
    assert_eq!(bench.load(1, lock), 0);
    assert_eq!(bench.load(1, lock + 8), 1, "another lock");
    let time = |bench: &Bench| {
        use crate::device::Device;
        bench.device.access_time(0, narthex_memory::Kind::UncachedLoad).as_ps() / 1_000
    };
    assert_eq!(time(&bench), 2 * 15 + 20, "the bus carries two before it at this instant");
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
