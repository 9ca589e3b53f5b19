//! Who may use what, and lines that are swapped.

use super::bench::{Bench, window};
use crate::device_call::CallError;
use crate::sarc::registers::{DRAM, Role, operation, request};

/// Lines of a tile that are its process's alone.
fn private(bench: &mut Bench, tile: u16, lines: u64) -> u64 {
    bench.call(tile, request::ALLOCATE, &[tile.into(), lines, 0]).expect("there is room")[3]
}

#[test]
fn lines_of_another_process_are_refused_unless_they_are_shared() {
    let mut bench = Bench::new();
    let own = private(&mut bench, 1, 1);
    for problem in [bench.try_load(0, own).unwrap_err(), bench.try_store(0, own, 1).unwrap_err()] {
        let name = "line 0 of tile 1 (a scratchpad line at 0x1000100000)";
        assert!(problem.contains(name) && problem.contains("belongs to process 1"), "{problem}");
    }
    let mut threads = Bench::with(&[], 2);
    let own = private(&mut threads, 1, 1);
    threads.store(0, own, 5);
    threads.rest();
    assert_eq!(threads.load(1, own), 5, "both tiles are of one process");
    assert!(threads.try_load(2, own).is_err());
}

#[test]
fn a_command_is_refused_that_names_what_its_process_may_not_use() {
    let store = operation::STORE | 8 << 8;
    let copy = |bytes: u64| operation::COPY | bytes << 8;
    let mut bench = Bench::new();
    let (alien, shared) = (private(&mut bench, 1, 1), bench.allocate(1, 2));
    let command = bench.line(0, Role::CommandBuffer);
    for (words, part) in [
        ([store, alien, 0, 1], "the destination of its command: line 0 of tile 1"),
        ([store, shared, alien, 1], "the acknowledgement of its command: line 0 of tile 1"),
        ([copy(64), shared, 0, alien], "the source of its command: line 0 of tile 1"),
        ([copy(192), shared, 0, shared], "line 3 of tile 1 (a line of the cache"),
        ([copy(1 << 16), shared, 0, shared], "nothing is at 0x100011003f"),
        ([store, 0x1000, 0, 1], "no address region of the tile covers 0x1000; the nearest"),
        ([store, DRAM, 0, 1], "nobody has allocated the DRAM at 0x1200000000"),
    ] {
        let refused =
            (command..).step_by(8).zip(words).find_map(|(at, word)| bench.try_store(0, at, word).err());
        let problem = refused.unwrap_or_else(|| panic!("{part}"));
        assert!(
            problem.contains(part) && problem.contains("line 0 of tile 0 (a command buffer"),
            "{problem}"
        );
        bench.mark(0, command, Role::CommandBuffer);
    }
}

#[test]
fn a_role_on_a_line_of_the_cache_is_refused() {
    let mut bench = Bench::new();
    let problem = bench.try_store(0, Bench::state_of(window(0) + 640), Role::Counter as u64).unwrap_err();
    assert!(problem.contains("line 10 of tile 0 (a line of the cache"), "{problem}");
    assert!(problem.contains("which may be newer than memory"), "{problem}");
    let line = bench.allocate(0, 1);
    let mark = |bench: &mut Bench, role| bench.try_store(0, Bench::state_of(line), role).unwrap_err();
    assert!(mark(&mut bench, 0).contains("goes back to the cache by the system"));
    assert!(mark(&mut bench, 9).contains("there is no role 9"));
    assert!(bench.try_store(1, Bench::state_of(line), 1).unwrap_err().contains("by its own tile"));
}

#[test]
fn lines_are_swapped_out_and_in_while_others_go_on() {
    let mut bench = Bench::new();
    const BUFFER: u64 = 0x8000;
    let counter = bench.line(0, Role::Counter);
    let data = bench.allocate(0, 1);
    let others = bench.line(1, Role::Counter);
    bench.store(0, counter, 5u64.wrapping_neg());
    bench.store(0, counter + 16, 9);
    bench.store(0, data + 24, 77);
    bench.call(0, request::SWAP_OUT, &[counter, 2, BUFFER]).unwrap();
    assert_eq!(bench.system.locked.len(), 1);
    // Another region takes the lines meanwhile, and another tile counts.
    let meanwhile = bench.allocate(0, 2);
    assert_eq!(meanwhile, counter);
    bench.store(0, meanwhile + 24, 1);
    bench.store(2, others, 3);
    bench.rest();
    assert_eq!(bench.call(0, request::SWAP_IN, &[counter, 2, BUFFER]), Err(CallError::Busy));
    bench.call(0, request::FREE, &[meanwhile, 2]).unwrap();
    bench.call(0, request::SWAP_IN, &[counter, 2, BUFFER]).unwrap();
    assert_eq!((bench.load(0, counter) as i64, bench.load(0, counter + 16)), (-5, 9));
    assert_eq!((bench.load(0, data + 24), bench.load(1, others)), (77, 3));
    bench.store(3, counter, 1);
    bench.rest();
    assert_eq!(bench.load(0, counter) as i64, -4, "it is a counter again, and shared");
}

#[test]
fn a_packet_that_comes_to_a_line_that_is_gone_is_its_senders_fault() {
    let mut bench = Bench::new();
    let line = bench.allocate(1, 1);
    bench.store(0, line, 1);
    bench.call(1, request::FREE, &[line, 1]).unwrap();
    bench.rest();
    let [(tile, problem)] = &bench.faults[..] else { panic!("{:?}", bench.faults) };
    assert_eq!(*tile, 0);
    assert!(problem.contains("nobody has allocated it"), "{problem}");
}
