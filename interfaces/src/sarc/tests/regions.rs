//! Address regions: what they translate, what they refuse, what they cost.

use serde_json::json;

use super::bench::{Bench, window};
use crate::device_call::CallError;
use crate::sarc::registers::{DRAM, LOCK_BOX, REGION_BYTES, REGIONS, Role, operation, request};

/// Where the tests' region is.
const HERE: u64 = REGIONS.start + 5 * REGION_BYTES;
const BOTH: u64 = request::LOADS | request::STORES;

/// A program of a tile defines a region of a page.
fn define(bench: &mut Bench, tile: u16, start: u64, place: u64, permissions: u64) -> Result<(), CallError> {
    let words = [start, REGION_BYTES, place, permissions];
    bench.call(tile, request::DEFINE_REGION, &words).map(|_| ())
}

/// A chip with a line of tile 1, which tile 0 has in a region with these permissions.
fn with_region(permissions: u64) -> (Bench, u64) {
    let mut bench = Bench::new();
    let line = bench.allocate(1, 1);
    define(&mut bench, 0, HERE, line, permissions).expect("there is room");
    (bench, line)
}

#[test]
fn an_access_by_a_region_reaches_its_place_in_the_same_time() {
    let [own, region] = [false, true].map(|by_region| {
        let (mut bench, line) = with_region(BOTH);
        let at = if by_region { HERE } else { line };
        bench.store(0, at + 16, 5);
        bench.rest();
        let stored = bench.cycle();
        assert_eq!(bench.try_load(0, at + 16), Ok(None), "it is remote");
        bench.rest();
        assert_eq!(bench.load(1, line + 16), 5);
        (stored, bench.answers.clone())
    });
    assert_eq!(own.0, 4 + 10 + 8 + 10);
    assert_eq!(own, region);
    let mut bench = Bench::new();
    let line = bench.allocate(0, 1);
    define(&mut bench, 0, HERE, line, BOTH).unwrap();
    bench.store(0, HERE + 8, 6);
    assert_eq!(bench.try_load(0, HERE + 8), Ok(Some(6)), "it is in the own tile");
    assert_eq!(bench.sent, []);
}

#[test]
fn the_addresses_of_commands_and_counters_are_translated_by_the_table_of_their_tile() {
    let mut bench = Bench::new();
    let (from, to) = (bench.allocate(0, 1), bench.allocate(1, 1));
    let (command, counter) = (bench.line(0, Role::CommandBuffer), bench.line(0, Role::Counter));
    bench.store(0, from, 77);
    for (number, place) in [from, to, counter].into_iter().enumerate() {
        let start = REGIONS.start + number as u64 * REGION_BYTES;
        define(&mut bench, 0, start, place - place % REGION_BYTES, BOTH).unwrap();
    }
    let [from_here, to_here, here] = [from, to, counter]
        .map(|place| place % REGION_BYTES)
        .into_iter()
        .zip((REGIONS.start..).step_by(REGION_BYTES as usize))
        .map(|(offset, start)| start + offset)
        .collect::<Vec<_>>()[..]
    else {
        unreachable!("three are mapped")
    };
    bench.store(0, here + 16, 9);
    bench.store(0, here + 32, to_here + 8);
    bench.store(0, here, 8u64.wrapping_neg());
    bench.store_words(0, command, &[operation::COPY | 8 << 8, to_here, here, from_here]);
    bench.rest();
    assert_eq!([bench.load(1, to), bench.load(1, to + 8)], [77, 9], "the copy, and that it is there");
}

#[test]
fn what_no_region_covers_is_refused_with_the_nearest() {
    let (mut bench, line) = with_region(BOTH);
    let beyond = HERE + REGION_BYTES;
    for problem in [bench.try_load(0, beyond).unwrap_err(), bench.try_store(0, beyond, 1).unwrap_err()] {
        let parts = [
            "no address region of the tile covers 0x1280006000",
            "nearest is the address region 0x1280005000 to 0x1280005fff (scratchpads of chip 0)",
        ];
        assert!(parts.iter().all(|part| problem.contains(part)), "{problem}");
    }
    assert!(bench.try_load(1, HERE).unwrap_err().contains("no address region"), "it is another process's");
    let command = bench.line(0, Role::CommandBuffer);
    bench.store_words(0, command, &[operation::COPY | 128 << 8, line, 0]);
    let problem = bench.try_store(0, command + 24, beyond - 64).unwrap_err();
    assert!(problem.contains("the destination of its command: line 1 of tile 1"), "{problem}");
    bench.mark(0, command, Role::CommandBuffer);
    bench.store_words(0, command, &[operation::COPY | 64 << 8, line, 0]);
    let problem = bench.try_store(0, command + 24, beyond - 8).unwrap_err();
    let part =
        "the source of its command: 64 bytes at 0x1280005ff8 reach beyond the address region 0x1280005000";
    assert!(problem.contains(part), "{problem}");
}

#[test]
fn a_region_refuses_what_its_permissions_do_not_name() {
    let (mut bench, line) = with_region(request::LOADS);
    let problem = bench.try_store(0, HERE, 1).unwrap_err();
    let part = "(scratchpads of chip 0) allows loads alone, and this is a store at 0x1280005000";
    assert!(problem.contains(part), "{problem}");
    assert_eq!(bench.load(0, HERE), 0);
    let command = bench.line(0, Role::CommandBuffer);
    bench.store_words(0, command, &[operation::STORE | 8 << 8, HERE, 0]);
    let problem = bench.try_store(0, command + 24, 1).unwrap_err();
    assert!(problem.contains("the destination of its command: the address region"), "{problem}");
    let (mut bench, _) = with_region(request::STORES);
    bench.store(0, HERE, 1);
    let problem = bench.try_load(0, HERE).unwrap_err();
    assert!(problem.contains("allows stores alone, and this is a load at"), "{problem}");
    let command = bench.line(0, Role::CommandBuffer);
    bench.store_words(0, command, &[operation::READ | 8 << 8, line, 0]);
    let problem = bench.try_store(0, command + 24, HERE).unwrap_err();
    assert!(problem.contains("the source of its command: the address region"), "{problem}");
}

#[test]
fn a_counter_that_tells_an_address_of_no_region_is_refused_when_it_comes_to_zero() {
    let (mut bench, _) = with_region(BOTH);
    let counter = bench.line(0, Role::Counter);
    bench.store(0, counter + 32, HERE);
    bench.store(0, counter, 1u64.wrapping_neg());
    bench.call(0, request::REMOVE_REGION, &[HERE]).unwrap();
    let problem = bench.try_store(0, counter, 1).unwrap_err();
    assert!(problem.contains("line 0 of tile 0 (a counter"), "{problem}");
    assert!(problem.contains("no address region of the tile covers 0x1280005000"), "{problem}");
}

#[test]
fn a_region_that_moves_to_another_tile_takes_its_accesses_along() {
    let (mut bench, first) = with_region(BOTH);
    let second = bench.allocate(2, 1);
    bench.store(0, HERE, 1);
    bench.rest();
    define(&mut bench, 0, HERE, second, BOTH).expect("it is in the place of the first");
    bench.store(0, HERE, 2);
    bench.rest();
    assert_eq!([bench.load(1, first), bench.load(2, second)], [1, 2]);
}

#[test]
fn all_tiles_of_a_process_have_its_regions() {
    let mut bench = Bench::with(&[], 2);
    let line = bench.allocate(0, 1);
    define(&mut bench, 0, HERE, line, BOTH).unwrap();
    bench.store(1, HERE, 3);
    bench.rest();
    assert_eq!(bench.load(0, HERE), 3);
    assert!(bench.try_load(2, HERE).is_err());
}

#[test]
fn the_table_refuses_regions_that_cannot_be() {
    let entries = json!({ "entries": 5, "lookup_cycles": 0, "write_cycles": 3 });
    let mut bench = Bench::with(&[("region_table", entries)], 1);
    let line = bench.allocate(0, 1);
    let [start, bytes] = [HERE, REGION_BYTES];
    for (words, error) in [
        ([start + 8, bytes, line, BOTH], CallError::Invalid),
        ([start, bytes + 8, line, BOTH], CallError::Invalid),
        ([start, 0, line, BOTH], CallError::Invalid),
        ([start, bytes, line + 64, BOTH], CallError::Invalid),
        ([start, bytes, line, 0], CallError::Invalid),
        ([start, bytes, line, 4], CallError::Invalid),
        ([start, bytes, LOCK_BOX, BOTH], CallError::Invalid),
        ([start, bytes, REGIONS.start, BOTH], CallError::BadAddress),
        ([REGIONS.end, bytes, line, BOTH], CallError::BadAddress),
        ([u64::MAX - bytes + 1, bytes, line, BOTH], CallError::BadAddress),
        ([start, 1 << 27, line + bytes, BOTH], CallError::BadAddress),
        ([window(1), bytes, line, BOTH], CallError::Busy),
        ([DRAM - bytes, 2 * bytes, line, BOTH], CallError::Busy),
    ] {
        assert_eq!(bench.call(0, request::DEFINE_REGION, &words), Err(error), "{words:x?}");
    }
    assert_eq!(bench.call(0, request::REMOVE_REGION, &[start]), Err(CallError::Absent));
    define(&mut bench, 0, start, line, BOTH).expect("four are there, and room for one");
    assert_eq!(define(&mut bench, 0, start + bytes, line, BOTH), Err(CallError::NoMemory));
    bench.call(0, request::REMOVE_REGION, &[start]).unwrap();
    define(&mut bench, 0, start + bytes, line, BOTH).expect("there is room again");
}

#[test]
fn lines_with_a_second_address_are_not_in_the_first_level() {
    let mut bench = Bench::with(&[("first_level", true.into())], 1);
    let flags = request::SHARED | request::FIRST_LEVEL;
    let line = bench.call(1, request::ALLOCATE, &[1, 1, flags]).unwrap()[3];
    let changes = |bench: &mut Bench, tile: u16, address| {
        bench.load(tile, address);
        std::mem::take(&mut bench.first_level)
    };
    assert_eq!(changes(&mut bench, 1, line), [(0, 1, line, true)]);
    define(&mut bench, 1, HERE, line, BOTH).unwrap();
    assert_eq!(std::mem::take(&mut bench.first_level), [(0, 1, line, false)], "it was there");
    assert_eq!(changes(&mut bench, 1, HERE), []);
    assert_eq!(changes(&mut bench, 1, line), []);
    bench.call(1, request::REMOVE_REGION, &[HERE]).unwrap();
    assert_eq!(changes(&mut bench, 1, line), [(0, 1, line, true)]);
}

#[test]
fn a_look_up_that_takes_cycles_delays_the_packets_of_tiles_alone() {
    let sent = |lookup_cycles: u32| {
        let table = json!({ "entries": 16, "lookup_cycles": lookup_cycles, "write_cycles": 3 });
        let mut bench = Bench::with(&[("region_table", table)], 1);
        let (own, other) = (bench.allocate(0, 1), bench.allocate(1, 1));
        bench.load(0, own);
        assert_eq!(bench.now.as_ps(), 0);
        bench.store(0, other, 1);
        bench.rest();
        (bench.sent[0].0, bench.cycle())
    };
    assert_eq!([sent(0), sent(3)], [(4 + 10, 32), (4 + 10 + 3, 35)]);
}

#[test]
fn a_table_has_room_for_the_regions_with_which_programs_start() {
    let mut section = (crate::models::sarc::MODEL.sample)();
    let mut check = |entries: u32, lookup_cycles: u32| {
        section["chips"] = 2.into();
        section["region_table"] =
            json!({ "entries": entries, "lookup_cycles": lookup_cycles, "write_cycles": 3 });
        let config: crate::sarc::config::Config = serde_json::from_value(section.clone()).unwrap();
        let chip = crate::interface::Chip {
            tiles: 4,
            tiles_of_process: 1,
            second_level: Some((1 << 14, 4)),
            controllers: 1,
        };
        config.check(&chip, 64).map_err(|problem| (problem.key, problem.problem))
    };
    assert_eq!(check(6, 1000), Ok(()));
    let (key, problem) = check(5, 0).unwrap_err();
    assert_eq!(key, "region_table.entries");
    assert_eq!(problem, "5 is not from 6, the regions with which programs start, to 65536");
    assert_eq!(check(6, 1001).unwrap_err().0, "region_table.lookup_cycles");
}
