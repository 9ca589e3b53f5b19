//! Interfaces in the lines of second-level caches, in whole machines: accesses to the cycle, what
//! is refused, two chips, checkpoints and threads.
//!
//! On the prototype a cycle is 13.3 ns. A packet takes 5 cycles out of its tile, 6 and its bytes
//! over the crossbar, 8 a cycle with the header, and 5 into the other tile.

use narthex_machine::RunRequest;

use crate::checkpoints::check;
use crate::support::{DATA, failure, reported, request, result, run_guest, statistic, with};

/// A guest that opens /dev/sarc as s0, with the tile in s3 and the first window in s9.
fn guest(body: &str) -> String {
    format!(
        "
        li s1, {DATA}
        li t0, 0x7665642f               # /dev
        sw t0, 0(s1)
        li t0, 0x7261732f               # /sar
        sw t0, 4(s1)
        li t0, 0x63                     # c
        sw t0, 8(s1)
        li a0, -100
        mv a1, s1
        li a2, 2
        li a7, 56
        ecall
        mv s0, a0
        li s2, 0x11
        slli s2, s2, 32                 # registers
        li s9, 0x10
        slli s9, s9, 32
        ld s3, 0(s2)
        {body}
        exit 0"
    )
}

/// A request of the kernel agent with these doublewords.
fn call(number: u64, words: &[&str]) -> String {
    let store = |(place, word): (usize, &&str)| {
        let source = if word.starts_with(char::is_numeric) {
            format!("li t0, {word}")
        } else {
            format!("mv t0, {word}")
        };
        format!("{source}\n sd t0, {}(s1)\n", 8 * place)
    };
    let stores: String = words.iter().enumerate().map(store).collect();
    format!("{stores} mv a0, s0\n li a1, {number}\n mv a2, s1\n li a7, 29\n ecall\n")
}

/// Allocates so many lines that all processes share, as register `into`.
fn allocate(lines: &str, into: &str) -> String {
    format!("{} ld {into}, 24(s1)\n", call(1, &["s3", lines, "1"]))
}

/// Marks the line in a register as this role: its state is at 0x80000 + its offset / 4.
fn mark(line: &str, role: u64) -> String {
    format!(
        "li t1, 0xfffff\n and t2, {line}, t1\n sub t3, {line}, t2\n srli t2, t2, 2\n add t3, t3, t2\n li t2, 0x80000\n \
         add t3, t3, t2\n li t2, {role}\n sd t2, 0(t3)\n"
    )
}

/// Cycles of an access into a register, beyond one that hits.
fn measured(access: &str, into: &str) -> String {
    format!(
        "csrrs t4, 0xc00, zero\n {access}\n add t6, t5, t5\n csrrs t6, 0xc00, zero\n sub {into}, t6, t4\n"
    )
}

fn prototype() -> RunRequest {
    RunRequest { nodes: Some(1), ..request("sarc-prototype", "SARC") }
}

/// Register `into` gets the address of the first line of tile `tile`.
fn window(tile: u64, into: &str) -> String {
    format!("li {into}, {tile}\n slli {into}, {into}, 20\n add {into}, {into}, s9\n")
}

#[test]
fn a_load_of_the_own_scratchpad_takes_6_cycles_and_one_of_another_tile_37() {
    let body = format!(
        "{} {} li s8, 300\n later: addi s8, s8, -1\n bnez s8, later\n li s8, 2\n warm: {} {} addi s8, s8, -1\n \
         bnez s8, warm\n bnez s3, rest\n report own, s6\n report other, s7\n rest:",
        allocate("1", "s4"),
        window(3, "s5"),
        measured("ld t5, 0(s4)", "s6"),
        measured("ld t5, 0(s5)", "s7"),
    );
    let document = result(&prototype(), &guest(&body));
    let [own, other] = ["own", "other"].map(|name| reported(&document, 0, name));
    // A read request has 24 bytes, three cycles of the crossbar, and its answer 16.
    assert_eq!(other - own, (5 + 6 + 3 + 5) + (5 + 6 + 2 + 5) - 6);
    assert_eq!(statistic(&document, 0, "sarc_remote_loads"), 2 * 3, "three tiles load from another");
}

#[test]
fn a_store_to_the_lock_box_stops_its_processor_for_the_access_and_one_to_scratchpad_does_not() {
    let body = format!(
        "{} bnez s3, rest\n li s5, 0x110\n slli s5, s5, 8\n addi s5, s5, 1\n slli s5, s5, 20\n li s8, 2\n \
         warm: {} {} addi s8, s8, -1\n bnez s8, warm\n report posted, s6\n report waited, s7\n rest:",
        allocate("1", "s4"),
        measured("sd zero, 0(s4)", "s6"),
        measured("sd zero, 0(s5)", "s7"),
    );
    let [posted, waited] =
        ["posted", "waited"].map(|name| reported(&result(&prototype(), &guest(&body)), 0, name));
    assert_eq!(waited - posted, 11);
}

/// Tile 0 polls its scratchpad; tile 1 stores to it, `store` to the address in s5.
fn pair(store: &str) -> String {
    format!(
        "{} {} bnez s3, other\n poll: ld t0, 0(s4)\n beqz t0, poll\n csrrs t1, 0xc00, zero\n report at, t1\n j end\n \
         other: li t0, 1\n bne s3, t0, end\n li s8, 300\n later: addi s8, s8, -1\n bnez s8, later\n {store} end:",
        allocate("1", "s4"),
        window(0, "s5"),
    )
}

#[test]
fn a_remote_store_is_seen_by_a_tile_that_polls_its_own_scratchpad() {
    let document = result(&prototype(), &guest(&pair("li t0, 5\n sd t0, 0(s5)\n")));
    assert!(reported(&document, 0, "at") > 0);
    assert_eq!(statistic(&document, 0, "sarc_remote_stores"), 1);
    assert_eq!(document["nodes"][0]["statistics"]["sarc_packets"]["write"], 1);
}

/// The same of a line that the first level may keep.
fn allocate_selected(lines: &str, into: &str) -> String {
    format!("{} ld {into}, 24(s1)\n", call(1, &["s3", lines, "3"]))
}

#[test]
fn a_line_that_is_selected_hits_the_first_level_until_a_remote_store_arrives() {
    let body = format!(
        "{} {} {} bnez s3, other\n li s8, 3\n warm: {} {} addi s8, s8, -1\n bnez s8, warm\n \
         report hit, s6\n report below, s7\n poll: ld t0, 0(s4)\n beqz t0, poll\n report value, t0\n \
         sd zero, 8(s4)\n ld t0, 0(s4)\n report kept, t0\n j end\n \
         other: li t0, 1\n bne s3, t0, end\n li s8, 3000\n later: addi s8, s8, -1\n bnez s8, later\n \
         li t0, 5\n sd t0, 0(s10)\n end:",
        allocate_selected("1", "s4"),
        allocate("1", "s5"),
        window(0, "s10"),
        measured("ld t5, 0(s4)", "s6"),
        measured("ld t5, 0(s5)", "s7"),
    );
    let document = result(&prototype(), &guest(&body));
    let [hit, below] = ["hit", "below"].map(|name| reported(&document, 0, name));
    assert_eq!(below - hit, 6, "the second level's latency");
    assert_eq!([reported(&document, 0, "value"), reported(&document, 0, "kept")], [5, 5]);
    let [fills, losses] = ["sarc_first_level_fills", "sarc_first_level_losses"];
    assert_eq!([fills, losses].map(|name| statistic(&document, 0, name)), [2, 1]);
    let executed = with(prototype(), "interfaces.sarc.first_level=false");
    let without = result(&executed, &guest(&body));
    assert_eq!(reported(&without, 0, "hit"), below, "without it each load goes below");
    let halves = result(&with(prototype(), "data_cache.block=32B"), &guest(&body));
    let values = ["hit", "value", "kept"].map(|name| reported(&halves, 0, name));
    assert_eq!(values, [hit, 5, 5], "a line in two blocks of the first level");
}

#[test]
fn what_the_hardware_refuses_is_told_with_the_line_and_the_instruction() {
    for (body, part) in [
        (mark("s9", 3), "line 0 of tile 0 (a line of the cache at 0x1000000000)"),
        ("ld t0, 64(s9)\n".to_owned(), "line 1 of tile 0 (a line of the cache"),
        (
            format!("{} {} li t0, 3\n sd t0, 24(s4)\n", allocate("2", "s4"), mark("s4", 4)),
            "an item of 3 words is not allowed",
        ),
        (
            format!("{} {} li t0, 0x999\n sd t0, 32(s4)\n", allocate("1", "s4"), mark("s4", 3)),
            "nothing is at 0x999 that could be told",
        ),
        (
            "li t1, 0x128\n slli t1, t1, 28\n ld t0, 0(t1)\n".to_owned(),
            "no address region of the tile covers 0x1280000000",
        ),
        (
            format!(
                "{} {} li t0, 0x8001\n sd t0, 0(s4)\n sd s4, 8(s4)\n sd zero, 16(s4)\n sd s4, 24(s4)\n",
                allocate("1", "s4"),
                mark("s4", 2)
            ),
            "the destination of its command: line 1 of tile 0 (a line of the cache",
        ),
    ] {
        let body = format!("bnez s3, rest\n {body} ld t0, 0(s2)\n rest:");
        let failed = failure(&prototype(), &guest(&body));
        let text = failed.to_string();
        assert_eq!(failed.exit_code, 1, "{text}");
        assert!(text.contains(part), "{text}");
        assert!(text.contains("node 0, process 0"), "{text}");
    }
}

#[test]
fn more_scratchpad_than_the_ways_allow_is_no_memory() {
    let body = format!("{} report error, a0\n", call(1, &["s3", "769", "0"]));
    let document = result(&prototype(), &guest(&body));
    assert_eq!(reported(&document, 0, "error"), -12, "three of four ways are 768 lines");
}

/// All tiles take a token from a queue of tile 0, three times, and put it back.
fn lock() -> String {
    format!(
        "{} {} bnez s3, wait\n {} li t0, 1\n slli t1, t0, 21\n or t0, t0, t1\n sd t0, 24(s4)\n li t0, 7\n \
         sd t0, 0(s4)\n j go\n wait: li s8, 3000\n later: addi s8, s8, -1\n bnez s8, later\n \
         go: li s8, 3\n turn: ld s6, 0(s5)\n csrrs s7, 0xc00, zero\n sd s6, 0(s5)\n addi s8, s8, -1\n \
         bnez s8, turn\n report token, s6\n report at, s7\n",
        allocate("5", "s4"),
        window(0, "s5"),
        mark("s4", 5),
    )
}

#[test]
fn a_lock_of_a_queue_with_several_readers_is_handed_over_by_loads_that_wait() {
    let document = result(&prototype(), &guest(&lock()));
    assert_eq!(reported(&document, 0, "token"), 7);
}

#[test]
fn a_run_over_scratchpads_goes_on_from_a_checkpoint_of_any_instant() {
    // Of two chips that do not know of each other.
    check(&request("sarc-prototype", "SARC"), &guest(&lock()));
    check(&request("sarc-chip", "SARC"), &guest(&lock()));
}

#[test]
fn a_tile_that_waits_for_ever_is_told_what_it_waits_for() {
    let body = format!(
        "{} bnez s3, rest\n {} li t0, 1\n slli t1, t0, 19\n or t0, t0, t1\n sd t0, 24(s4)\n ld t0, 0(s4)\n rest:",
        allocate("2", "s4"),
        mark("s4", 5)
    );
    let failed = failure(&prototype(), &guest(&body));
    assert_eq!(failed.exit_code, 3);
}

/// Two chips: tile 0 of chip 1 stores to the scratchpad of tile 0 of chip 0.
#[test]
fn a_store_reaches_a_tile_of_another_chip_the_same_with_any_number_of_threads() {
    let body = format!(
        "{} {} ld s8, 8(s2)\n bnez s3, end\n bnez s8, other\n poll: ld t0, 0(s4)\n beqz t0, poll\n \
         csrrs t1, 0xc00, zero\n report at, t1\n report value, t0\n j end\n other: li s8, 300\n later: addi s8, s8, -1\n \
         bnez s8, later\n li t0, 5\n sd t0, 0(s5)\n drained: ld t0, 88(s2)\n bnez t0, drained\n end:",
        allocate("1", "s4"),
        window(0, "s5"),
    );
    let two = with(RunRequest { nodes: Some(2), ..prototype() }, "interfaces.sarc.chips=2");
    let run = |threads| run_guest(&RunRequest { threads, ..two.clone() }, &guest(&body)).expect("it runs");
    let one = run(1);
    assert_eq!(reported(&one, 0, "value"), 5);
    assert_eq!(one.to_string(), run(2).to_string());
    let packets = |node| statistic(&one, node, "sarc_off_chip_packets");
    assert_eq!([packets(0), packets(1)], [1, 1], "the store, and that it is there");
}

/// Two chips: tile 0 of chip 1 copies two lines into the scratchpad of tile 0 of chip 0, and its
/// counter is zero once all of it is there.
#[test]
fn a_copy_reaches_a_tile_of_another_chip_and_is_acknowledged_over_the_way_back() {
    let body = format!(
        "{}{} ld s8, 8(s2)\n bnez s3, end\n bnez s8, other\n poll: ld t0, 120(s4)\n beqz t0, poll\n \
         ld t1, 0(s4)\n report first, t1\n report last, t0\n j end\n other: li s8, 300\n \
         later: addi s8, s8, -1\n bnez s8, later\n {}{}{} li t0, 7\n sd t0, 0(s4)\n li t0, 9\n sd t0, 120(s4)\n \
         li t0, -128\n sd t0, 0(s7)\n sd s5, 8(s6)\n sd s7, 16(s6)\n sd s4, 24(s6)\n li t0, 0x8001\n sd t0, 0(s6)\n \
         written: ld t0, 0(s7)\n bnez t0, written\n report acknowledged, t0\n end:",
        allocate("2", "s4"),
        window(0, "s5"),
        allocate("2", "s6"),
        mark("s6", 2),
        format_args!("addi s7, s6, 64\n {}", mark("s7", 3)),
    );
    let two = with(RunRequest { nodes: Some(2), ..prototype() }, "interfaces.sarc.chips=2");
    let run = |threads| run_guest(&RunRequest { threads, ..two.clone() }, &guest(&body)).expect("it runs");
    let one = run(1);
    assert_eq!([reported(&one, 0, "first"), reported(&one, 0, "last")], [7, 9]);
    assert_eq!(reported(&one, 1, "acknowledged"), 0);
    assert_eq!(one.to_string(), run(2).to_string());
    let packets = |node| statistic(&one, node, "sarc_off_chip_packets");
    assert_eq!([packets(0), packets(1)], [2, 2], "two acknowledgements, and two packets");
}
