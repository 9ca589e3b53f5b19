//! Command buffers: what launches them, and what transfers do.

use super::bench::Bench;
use crate::on_chip::End;
use crate::sarc::registers::{DRAM, Role, operation, request};

fn first(operation: u64, bytes: u64) -> u64 {
    operation | bytes << 8
}

#[test]
fn a_command_leaves_when_all_its_words_are_stored_in_whatever_order() {
    let orders: [[usize; 4]; 4] = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]];
    for order in orders {
        let mut bench = Bench::new();
        let (command, there) = (bench.line(0, Role::CommandBuffer), bench.allocate(1, 1));
        let words = [first(operation::STORE, 8), there, 0, 77];
        for (done, place) in order.into_iter().enumerate() {
            assert_eq!(bench.load(0, command), u64::from(done > 0), "it is pending once a word is stored");
            assert_eq!(bench.sent, []);
            bench.store(0, command + 8 * place as u64, words[place]);
        }
        assert_eq!(bench.load(0, command), 0, "it has gone to the job list");
        bench.rest();
        assert_eq!(bench.load(1, there), 77);
    }
}

#[test]
fn a_message_needs_as_many_words_as_its_bytes_say() {
    let mut bench = Bench::new();
    let (command, there) = (bench.line(0, Role::CommandBuffer), bench.allocate(1, 1));
    bench.store_words(0, command, &[first(operation::MESSAGE, 40), there, 0, 1, 2, 3, 4]);
    assert_eq!(bench.sent, []);
    bench.store(0, command + 56, 5);
    bench.rest();
    assert_eq!(bench.sent, [(10, End::Tile(0), End::Tile(1), 1, 40)]);
    assert_eq!((0..5).map(|word| bench.load(1, there + 8 * word)).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_word_that_is_stored_twice_for_one_command_is_refused() {
    let mut bench = Bench::new();
    let command = bench.line(0, Role::CommandBuffer);
    bench.store(0, command + 8, 1);
    let problem = bench.try_store(0, command + 8, 1).unwrap_err();
    assert!(problem.contains("line 0 of tile 0 (a command buffer at 0x1000000000)"), "{problem}");
    assert!(problem.contains("word 1 is stored twice"), "{problem}");
}

#[test]
fn commands_that_cannot_be_are_refused_when_they_are_complete() {
    for (word, part) in [
        (first(9, 8), "there is no operation 9"),
        (first(operation::COPY, 0), "COPY of 0 bytes is not allowed; expected 1 to 65536"),
        (first(operation::COPY, 65537), "COPY of 65537 bytes"),
        (first(operation::MESSAGE, 12), "MESSAGE of 12 bytes"),
        (first(operation::MESSAGE, 48), "expected 8 to 40"),
        (first(operation::STORE, 16), "STORE of 16 bytes"),
        (first(operation::READ, 65), "READ of 65 bytes"),
    ] {
        let mut bench = Bench::new();
        let command = bench.line(0, Role::CommandBuffer);
        let problem = bench.try_store(0, command, word).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    }
}

/// Copies so many bytes, and the cycle at which the last of them and its acknowledgement came.
fn copy(bench: &mut Bench, (from, to): (u64, u64), bytes: u64) -> u64 {
    let (command, counter) = (bench.line(0, Role::CommandBuffer), bench.line(0, Role::Counter));
    bench.store(0, counter, bytes.wrapping_neg());
    bench.store(0, counter + 8, 1);
    bench.store_words(0, command, &[first(operation::COPY, bytes), to, counter, from]);
    bench.rest();
    assert_eq!(bench.load(0, counter), 1, "it has come to zero, and is what it is reset to");
    bench.cycle()
}

#[test]
fn a_copy_is_acknowledged_packet_by_packet_to_a_counter() {
    let mut bench = Bench::new();
    let (from, to) = (bench.allocate(0, 4), bench.allocate(1, 5));
    let data: Vec<u8> = (0..200).collect();
    bench.set_bytes(from + 3, &data);
    let end = copy(&mut bench, (from + 3, to + 61), 200);
    assert_eq!(bench.bytes(to + 61, 200), data);
    let writes: Vec<u16> = bench.sent.iter().filter(|sent| sent.3 == 1).map(|&(.., bytes)| bytes).collect();
    assert_eq!(writes, [3 + 8, 64 + 8, 64 + 8, 64 + 8, 5 + 8], "they end with the destination's lines");
    // The last one leaves behind 2 + 2 and three times 2 + 9 cycles; its acknowledgement takes 28.
    assert_eq!(end, 4 + 3 * 11 + 28 + 28);
}

#[test]
fn a_copy_from_another_tile_is_one_read_request_that_comes_back_in_writes() {
    let mut bench = Bench::new();
    let (from, to) = (bench.allocate(3, 2), bench.allocate(0, 2));
    let data: Vec<u8> = (0..128).collect();
    bench.set_bytes(from, &data);
    copy(&mut bench, (from, to), 128);
    assert_eq!(bench.bytes(to, 128), data);
    let reads = bench.sent.iter().filter(|sent| sent.3 == 0).count();
    assert_eq!(reads, 1);
}

#[test]
fn a_copy_to_and_from_dram_goes_to_the_controllers_of_its_pages() {
    let mut bench = Bench::new();
    bench.call(0, request::DRAM_ALLOCATE, &[8192, 0]).unwrap();
    let from = bench.allocate(0, 4);
    let data: Vec<u8> = (0..256).map(|byte| byte as u8).collect();
    bench.set_bytes(from, &data);
    copy(&mut bench, (from, DRAM + 4096 - 100), 256);
    assert_eq!(bench.bytes(DRAM + 4096 - 100, 256), data);
    let to = bench.allocate(0, 4);
    copy(&mut bench, (DRAM + 4096 - 100, to), 256);
    assert_eq!(bench.bytes(to, 256), data);
    let controllers: Vec<End> =
        bench.sent.iter().filter(|sent| sent.3 == 0).map(|&(_, _, to, ..)| to).collect();
    assert_eq!(controllers, [End::Controller(0), End::Controller(1)]);
}

#[test]
fn a_short_transfer_does_not_wait_for_the_end_of_a_long_one() {
    let mut bench = Bench::new();
    let (from, to) = (bench.allocate(0, 40), bench.allocate(1, 41));
    let (long, short) = (bench.line(0, Role::CommandBuffer), bench.line(0, Role::CommandBuffer));
    bench.store_words(0, long, &[first(operation::COPY, 40 * 64), to, 0, from]);
    bench.store_words(0, short, &[first(operation::STORE, 8), to + 40 * 64, 0, 5]);
    while bench.bytes(to + 40 * 64, 1) == [0] {
        assert!(bench.happen());
    }
    assert_eq!(bench.cycle(), 2 * (2 + 8) + 28, "it is the third packet: the second was made at once");
}

#[test]
fn a_command_that_finds_the_list_full_waits_in_its_line() {
    let mut bench = Bench::new();
    let there = bench.allocate(1, 1);
    let commands: Vec<u64> = (0..6).map(|_| bench.line(0, Role::CommandBuffer)).collect();
    for (own, &command) in commands.iter().enumerate() {
        let word = first(operation::STORE, 8);
        bench.store_words(0, command, &[word, there + 8 * own as u64, 0, own as u64 + 1]);
    }
    let pending: Vec<u64> = commands.iter().map(|&command| bench.load(0, command)).collect();
    assert_eq!(pending, [0, 0, 0, 0, 0, 1], "one has left, and four are in the list");
    let problem = bench.try_store(0, commands[5], 0).unwrap_err();
    assert!(problem.contains("while its command waits for the job list"), "{problem}");
    bench.rest();
    assert_eq!(bench.load(0, commands[5]), 0);
    assert_eq!(bench.load(1, there + 40), 6);
    let list = serde_json::json!({ "kind": "linked-lines", "link_cycles": 3 });
    let mut linked = Bench::with(&[("job_list", list)], 1);
    let there = linked.allocate(1, 1);
    for own in 0..6 {
        let command = linked.line(0, Role::CommandBuffer);
        linked.store_words(0, command, &[first(operation::STORE, 8), there + 8 * own, 0, 1]);
        assert_eq!(linked.load(0, command), 0, "lines that are linked have no end");
    }
    linked.rest();
    assert_eq!(linked.cycle(), 5 * (2 + 3 + 1) + 28);
}

#[test]
fn a_read_of_a_counter_is_answered_with_its_value() {
    let mut bench = Bench::new();
    let (command, there) = (bench.line(0, Role::CommandBuffer), bench.allocate(0, 1));
    let counter = bench.line(1, Role::Counter);
    bench.store(1, counter, 5);
    bench.store_words(0, command, &[first(operation::READ, 8), there, 0, counter]);
    bench.rest();
    assert_eq!(bench.load(0, there), 5);
}

#[test]
fn a_copy_of_a_counter_that_is_not_of_whole_words_is_refused_however_long_it_is() {
    for (bytes, is_refused) in [(8, false), (13, true), (64, false), (115, true), (120, false)] {
        let mut bench = Bench::new();
        let (command, there) = (bench.line(0, Role::CommandBuffer), bench.allocate(1, 2));
        let counter = bench.line(0, Role::Counter);
        bench.allocate(0, 1);
        bench.store_words(0, command, &[first(operation::COPY, bytes), there, 0, counter]);
        bench.rest();
        let problems: Vec<&str> = bench.faults.iter().map(|(_, problem)| &**problem).collect();
        assert_eq!(problems.len(), usize::from(is_refused), "{bytes} bytes: {problems:?}");
        assert!(
            problems.iter().all(|problem| problem.contains("which has words of 8 bytes")),
            "{problems:?}"
        );
    }
}
