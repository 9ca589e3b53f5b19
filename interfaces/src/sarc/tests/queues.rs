//! Queues: with a single reader, and with several.

use super::bench::Bench;
use crate::sarc::registers::{Role, operation};

/// A queue of a tile.
fn queue(bench: &mut Bench, tile: u16, role: Role, words: u64, items: u64) -> u64 {
    let line = bench.allocate(tile, 1 + (words * items).div_ceil(8));
    bench.mark(tile, line, role);
    bench.store(tile, line + 24, words | items << 16);
    line
}

const SINGLE: Role = Role::SingleReaderQueue;
const MULTIPLE: Role = Role::MultipleReaderQueue;

#[test]
fn writers_append_items_and_the_reader_moves_the_head() {
    let mut bench = Bench::new();
    let queue = queue(&mut bench, 0, SINGLE, 2, 4);
    for turn in 0..5u64 {
        let commands: Vec<u64> = (0..3).map(|_| bench.line(1, Role::CommandBuffer)).collect();
        for (own, command) in commands.into_iter().enumerate() {
            let word = 10 * turn + own as u64;
            bench.store_words(1, command, &[operation::MESSAGE | 16 << 8, queue, 0, word, word + 100]);
        }
        bench.rest();
        let (tail, head) = (bench.load(0, queue + 8), bench.load(0, queue + 16));
        assert_eq!((tail, head), ((3 * turn + 3) % 8, 3 * turn % 8), "they count to twice the items");
        for own in 0..3 {
            let item = queue + 64 + (3 * turn + own) % 4 * 16;
            assert_eq!(
                [0, 8].map(|word| bench.load(0, item + word)),
                [10 * turn + own, 10 * turn + own + 100]
            );
        }
        bench.store(0, queue + 16, tail);
    }
}

#[test]
fn a_full_queue_takes_nothing_and_says_whose_fault_it_is() {
    let mut bench = Bench::new();
    let queue = queue(&mut bench, 0, SINGLE, 1, 2);
    bench.store(0, queue, 1);
    bench.store(0, queue, 2);
    let problem = bench.try_store(0, queue, 3).unwrap_err();
    assert!(problem.contains("it is full: 2 items wait in it"), "{problem}");
    bench.store(3, queue, 4);
    bench.rest();
    let [(tile, problem)] = &bench.faults[..] else { panic!("{:?}", bench.faults) };
    assert_eq!(*tile, 3);
    assert!(problem.contains("line 0 of tile 0 (a single-reader queue"), "{problem}");
}

#[test]
fn shapes_pointers_and_items_that_cannot_be_are_refused() {
    let mut bench = Bench::new();
    let line = bench.allocate(0, 3);
    bench.mark(0, line, SINGLE);
    for (shape, part) in [
        (3 | 4 << 16, "an item of 3 words is not allowed"),
        (16 | 1 << 16, "an item of 16 words"),
        (4 | 6 << 16, "6 items are not allowed; expected a power of two"),
        (8 | 4 << 16, "take the lines 1 to 4, and line 3 is no scratchpad line of its owner"),
    ] {
        let problem = bench.try_store(0, line + 24, shape).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    }
    assert!(bench.try_store(0, line, 1).unwrap_err().contains("it has no shape"));
    bench.store(0, line + 24, 8 | 2 << 16);
    for (place, value, part) in [
        (8, 1, "its tail is the hardware's"),
        (16, 1, "its head cannot go from 0 to 1"),
        (16, 4, "its head cannot go from 0 to 4"),
    ] {
        let problem = bench.try_store(0, line + place, value).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    }
    assert!(bench.try_load(0, line).unwrap_err().contains("where items are written"));
}

#[test]
fn a_load_of_a_queue_with_several_readers_waits_for_an_item() {
    let mut bench = Bench::new();
    let queue = queue(&mut bench, 0, MULTIPLE, 1, 8);
    for tile in [2, 0, 1] {
        assert_eq!(bench.try_load(tile, queue), Ok(None));
        bench.rest();
    }
    assert_eq!(bench.load(0, queue + 8) as i64, -3, "three readers wait");
    let start = bench.cycle();
    bench.store(3, queue, 7);
    bench.store(0, queue, 8);
    bench.rest();
    let answers: Vec<(u64, u16, u64)> =
        bench.answers.iter().map(|&(at, tile, value)| (at - start, tile, value)).collect();
    assert_eq!(
        answers,
        [(28, 2, 8), (4 + 28 + 10, 0, 7)],
        "the store of its own tile comes first; its own reader has it a load later"
    );
    bench.store(0, queue, 9);
    bench.rest();
    bench.store(0, queue, 10);
    assert_eq!(bench.load(0, queue + 8), 1);
    assert_eq!(bench.load(0, queue), 10, "an item waits: it is there at once");
}

#[test]
fn a_read_of_an_empty_queue_is_answered_later_to_its_address() {
    let mut bench = Bench::new();
    let queue = queue(&mut bench, 0, MULTIPLE, 2, 2);
    let (command, there) = (bench.line(1, Role::CommandBuffer), bench.allocate(1, 1));
    let counter = bench.line(1, Role::Counter);
    bench.store(1, counter + 8, 5);
    bench.store(1, counter, 16u64.wrapping_neg());
    bench.store_words(1, command, &[operation::READ | 16 << 8, there, counter, queue]);
    bench.rest();
    assert_eq!(bench.load(1, there), 0);
    let item = bench.line(2, Role::CommandBuffer);
    bench.store_words(2, item, &[operation::MESSAGE | 16 << 8, queue, 0, 3, 4]);
    bench.rest();
    assert_eq!([0, 8].map(|word| bench.load(1, there + word)), [3, 4]);
    assert_eq!(bench.load(1, counter), 5, "it is acknowledged with its size");
}

#[test]
fn a_read_of_a_queue_of_the_own_tile_takes_an_item_too() {
    let mut bench = Bench::new();
    let queue = queue(&mut bench, 0, MULTIPLE, 1, 2);
    let (command, there) = (bench.line(0, Role::CommandBuffer), bench.allocate(0, 1));
    bench.store(0, queue, 7);
    bench.store_words(0, command, &[operation::READ | 8 << 8, there, 0, queue]);
    let launched = bench.cycle();
    bench.rest();
    assert_eq!(bench.cycle() - launched, 30, "the job's two cycles and one packet, with the item");
    assert_eq!(bench.load(0, there), 7);
    assert_eq!(bench.load(0, queue + 8), 0, "the item has gone");
}

#[test]
fn a_lock_is_a_queue_with_a_token() {
    let mut bench = Bench::new();
    let lock = queue(&mut bench, 0, MULTIPLE, 1, 4);
    bench.store(0, lock, 1);
    let mut holds = Vec::new();
    for tile in 0..4 {
        let answer = bench.try_load(tile, lock).unwrap();
        bench.rest();
        holds.extend(answer.map(|_| tile));
        holds.extend(bench.answers.drain(..).map(|(_, tile, _)| tile));
    }
    assert_eq!(holds, [0]);
    for tile in 0..3 {
        bench.store(tile, lock, 1);
        bench.rest();
        let next: Vec<u16> = bench.answers.drain(..).map(|(_, tile, _)| tile).collect();
        assert_eq!(next, [tile + 1], "they come in the order in which they have asked");
    }
}

#[test]
fn a_full_queue_that_returns_messages_gets_them_when_it_has_room() {
    let mut bench = Bench::of(&[], 1, true);
    let queue = queue(&mut bench, 0, SINGLE, 1, 2);
    bench.store_words(0, queue, &[1]);
    bench.store(0, queue, 2);
    bench.store(3, queue, 3);
    for _ in 0..40 {
        assert!(bench.happen(), "it is sent again and again");
    }
    bench.store(0, queue + 16, 1);
    bench.rest();
    assert_eq!((bench.load(0, queue + 8), bench.load(0, queue + 64)), (3, 3));
    assert_eq!(bench.faults, []);
}
