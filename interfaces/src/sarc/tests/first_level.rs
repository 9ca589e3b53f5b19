//! Lines of scratchpad in the first level: which it takes, and what clears them, when.

use super::bench::Bench;
use crate::sarc::registers::{Role, command, operation, queue, request};

/// A chip whose first levels keep what is selected, and a selected line of tile 1.
fn with_line() -> (Bench, u64) {
    let mut bench = Bench::with(&[("first_level", true.into())], 1);
    let line = selected(&mut bench, 1, 1);
    (bench, line)
}

fn selected(bench: &mut Bench, tile: u16, lines: u64) -> u64 {
    let flags = request::SHARED | request::FIRST_LEVEL;
    bench.call(tile, request::ALLOCATE, &[tile.into(), lines, flags]).expect("there is room")[3]
}

/// What first levels took and lost since the last time.
fn changes(bench: &mut Bench) -> Vec<(u64, u16, u64, bool)> {
    std::mem::take(&mut bench.first_level)
}

#[test]
fn a_load_takes_a_selected_line_along_and_a_remote_store_clears_it_when_it_arrives() {
    let (mut bench, line) = with_line();
    bench.load(1, line + 8);
    assert_eq!(changes(&mut bench), [(0, 1, line, true)]);
    bench.store(0, line + 16, 5);
    assert_eq!(changes(&mut bench), [], "it is on its way");
    bench.rest();
    assert_eq!(changes(&mut bench), [(4 + 10 + 8 + 10, 1, line, false)]);
    bench.store(0, line + 24, 6);
    bench.rest();
    assert_eq!(changes(&mut bench), [], "nothing is there any more");
}

#[test]
fn a_store_of_the_own_processor_leaves_the_line_above() {
    let (mut bench, line) = with_line();
    bench.load(1, line);
    bench.store(1, line + 8, 5);
    assert_eq!(changes(&mut bench), [(0, 1, line, true)]);
    assert_eq!(bench.bytes(line + 8, 1), [5], "it went through");
}

#[test]
fn what_is_not_selected_or_sensitive_to_events_stays_below() {
    let (mut bench, line) = with_line();
    let plain = bench.allocate(1, 1);
    bench.load(1, plain);
    bench.mark(1, line, Role::Counter);
    bench.load(1, line);
    assert_eq!(changes(&mut bench), []);
    let mut without = Bench::new();
    let line = selected(&mut without, 1, 1);
    without.load(1, line);
    assert_eq!(changes(&mut without), [], "the hardware has no such first level");
}

#[test]
fn an_item_that_comes_to_a_queue_clears_the_line_in_which_it_is_put() {
    let (mut bench, _) = with_line();
    let at = selected(&mut bench, 1, 2);
    bench.mark(1, at, Role::SingleReaderQueue);
    bench.store(1, at + 8 * queue::SHAPE as u64, 1 | 4 << queue::ITEMS_SHIFT);
    bench.load(1, at + 64);
    changes(&mut bench);
    bench.store(0, at, 7);
    bench.rest();
    assert_eq!(changes(&mut bench), [(4 + 28, 1, at + 64, false)]);
}

#[test]
fn each_packet_of_a_copy_clears_its_lines() {
    let (mut bench, _) = with_line();
    let to = selected(&mut bench, 2, 3);
    let from = selected(&mut bench, 1, 3);
    let buffer = bench.line(1, Role::CommandBuffer);
    for line in 0..3 {
        bench.load(2, to + 64 * line);
    }
    changes(&mut bench);
    let word = |own: usize| buffer + 8 * own as u64;
    bench.store(1, word(command::DESTINATION), to);
    bench.store(1, word(command::ACKNOWLEDGEMENT), 0);
    bench.store(1, word(command::SOURCE), from);
    bench.store(1, word(command::OPERATION), operation::COPY | 128 << 8);
    bench.rest();
    let lost: Vec<_> =
        changes(&mut bench).iter().map(|&(_, tile, line, takes)| (tile, line, takes)).collect();
    assert_eq!(lost, [(2, to, false), (2, to + 64, false)]);
}

#[test]
fn a_new_role_and_the_end_of_its_allocation_clear_a_line() {
    let (mut bench, line) = with_line();
    bench.load(1, line);
    bench.mark(1, line, Role::Counter);
    bench.mark(1, line, Role::Scratchpad);
    bench.load(1, line);
    bench.call(1, request::FREE, &[line, 1]).unwrap();
    let taken: Vec<bool> = changes(&mut bench).iter().map(|change| change.3).collect();
    assert_eq!(taken, [true, false, true, false]);
}
