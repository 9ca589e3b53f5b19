//! A chip of tiles whose caches a directory keeps coherent: single accesses to the cycle,
//! threads over the tiles, and what cannot be on it.
//!
//! The chip is the preset: a mesh of 4 x 4 with 3 ns a hop, on which a message of 8 bytes takes
//! a link for 1 ns and one with a block for 5 ns. A message passes one switch more than it goes
//! hops. The homes of four blocks that follow each other are at the places 0, 3, 12 and 15. A
//! home looks up in 3 ns, and memory takes 60 ns. A tile adds the 10 cycles of its second
//! level to each of its misses.

use narthex_interfaces::registers::Addresses;
use narthex_machine::RunRequest;

use crate::process_threads::{END, compared, program, several, threads};
use crate::support::exchange::ping_pong;
use crate::support::{DATA, alone, failure, reported, request, result, statistic, with};

/// A message of a header, and one with a block, between places so many hops apart.
pub const fn message(hops: u64) -> u64 {
    3 * (hops + 1) + 1
}
pub const fn block(hops: u64) -> u64 {
    3 * (hops + 1) + 5
}
pub const LOOKUP: u64 = 3;
pub const MEMORY: u64 = 60;
pub const SECOND_LEVEL: u64 = 10;
/// Time of a cache to supply a block.
const SUPPLY: u64 = 10;

/// Lines that put the cycles of an access to (s2), beyond those of one that hits, into s3.
pub fn measured(access: &str) -> String {
    let timed = |place: &str, into: &str| {
        format!(
            "mul t2, t2, t2\n add t2, t2, t2\n csrrs t0, 0xc00, zero\n {access}, {place}\n add a1, a0, a0\n csrrs t1, 0xc00, zero\n sub {into}, t1, t0\n"
        )
    };
    format!("{access}, 512(s10)\n {} {} sub s3, s3, s4\n", timed("512(s10)", "s4"), timed("0(s2)", "s3"))
}

#[test]
fn a_read_miss_takes_the_way_to_its_home_and_back_the_look_up_and_memory() {
    // In the second pass the code is in the instruction cache.
    let home = |number: u64| format!("{} report home{number}, s3\n addi s2, s2, 64\n", measured("ld a0"));
    let homes: String = (0..4).map(home).collect();
    let first = DATA + 0x1000;
    let guest = format!(
        "li s10, {DATA}\n li s2, {first}\n li s0, 2\n pass:\n {homes} addi s0, s0, -1\n bnez s0, pass\n exit 0"
    );
    let document = result(&alone("chip"), &guest);
    let seen = [0, 1, 2, 3].map(|home| reported(&document, 0, &format!("home{home}")) as u64);
    let expected = [0, 3, 3, 6].map(|hops| message(hops) + LOOKUP + MEMORY + block(hops) + SECOND_LEVEL);
    assert_eq!(seen, expected);
    assert_eq!(statistic(&document, 0, "on_chip_waited"), 0, "nobody else is there");
}

/// The cycles of these accesses, to blocks that no cache has, with eight misses.
fn cycles_of(accesses: &str) -> u64 {
    let guest = format!(
        "li s10, {DATA}\n li s2, {first}\n li s0, 2\n pass:\n csrrs s3, 0xc00, zero\n {accesses}\n fence\n \
         csrrs s4, 0xc00, zero\n sub s4, s4, s3\n addi s2, s2, 1024\n addi s0, s0, -1\n bnez s0, pass\n \
         report cycles, s4\n exit 0",
        first = DATA + 0x1000
    );
    let several = ["processor.misses=8", "directory.transactions=8"];
    let request = several.iter().fold(alone("chip"), |request, setting| with(request, setting));
    reported(&result(&request, &guest), 0, "cycles") as u64
}

#[test]
fn misses_of_different_blocks_are_under_way_at_once() {
    let load = |number: u64| format!("ld a{number}, {}(s2)\n", 64 * number);
    let (one, eight) = (cycles_of(&load(0)), cycles_of(&(0..8).map(load).collect::<String>()));
    let farthest = message(6) + LOOKUP + MEMORY + block(6) + SECOND_LEVEL;
    // Two blocks of each home: the second one of a home waits for its memory, for 5 ns at most.
    assert!(eight < farthest + 7 * 5, "{eight} for eight, {one} for one");
    assert!(eight > one);
    let store = "sd zero, 64(s2)";
    let (stored, both) = (cycles_of(store), cycles_of(&format!("{}{store}", load(0))));
    assert!(both < stored + 5, "a store that misses does not wait for a load: {both}, and {stored} alone");
}

/// All threads wait for each other at the word `offset` after s6.
fn meet_at(offset: u64) -> String {
    format!(
        "addi t1, s6, {offset}\n li t0, 1\n amoadd.d t0, t0, (t1)\n met{offset}:\n ld t0, 0(t1)\n \
         bne t0, s9, met{offset}\n"
    )
}

/// What an access of the first of three threads takes, beyond a hit, after all of them have
/// prepared a block, whose home is at the place 15. In the second round, which counts, its
/// code is in the cache; the pause lets the others come to rest.
fn after_others(prepare: &str, access: &str) -> u64 {
    let guest = format!(
        "{}
        li   s0, 2
        addi s6, s10, 1024
        li   s2, {}
    round:
        {prepare}
        {}
        bnez s8, done
        li   t0, 1000
    pause:
        addi t0, t0, -1
        bnez t0, pause
        {}
    done:
        {}
        addi s6, s6, 512
        addi s2, s2, 256
        addi s0, s0, -1
        bnez s0, round
        bnez s8, end
        report cycles, s3
    end:
        {END}",
        threads(3),
        DATA + 0x1000 + 3 * 64,
        meet_at(0),
        measured(access),
        meet_at(64),
    );
    let (document, ..) = compared(&several("chip", 16), &guest);
    reported(&document, 0, "cycles") as u64
}

#[test]
fn a_dirty_block_comes_from_its_owner_by_a_forward_of_its_home() {
    let owner_writes = "li t0, 1\n bne s8, t0, clean\n sd s8, 0(s2)\n clean:";
    // From place 0 to 15, on to the owner at 1, and back to 0.
    let expected = message(6) + LOOKUP + message(5) + SUPPLY + block(1) + SECOND_LEVEL;
    assert_eq!(after_others(owner_writes, "ld a0"), expected);
}

#[test]
fn a_write_of_a_shared_block_waits_for_the_acknowledgements_of_all_sharers() {
    // The forward to place 2 waits 1 ns for the one to place 1, and its acknowledgement is the
    // last to come, after the home's permission.
    let (to_1, to_2) = (message(5) + message(1), 1 + message(4) + message(2));
    assert!(to_2 > to_1 && to_2 > message(6));
    let expected = message(6) + LOOKUP + to_2 + SECOND_LEVEL;
    assert_eq!(after_others("ld t0, 0(s2)", "sd s8"), expected);
}

/// Tiles on 128 places count to the same word; so do those of other topologies.
#[test]
fn threads_of_all_tiles_lose_no_increment_on_any_topology() {
    let shapes: [(u32, &[&str]); 4] = [
        (16, &[]),
        (128, &["network_on_chip.topology.dimensions=[16, 8]"]),
        (
            16,
            &[
                "network_on_chip.topology={kind=\"torus\", dimensions=[4, 4]}",
                "data_cache.protocol=MOESI",
                "instruction_cache.protocol=MOESI",
            ],
        ),
        (4, &["data_cache.protocol=MSI", "instruction_cache.protocol=MSI"]),
    ];
    for (tiles, settings) in shapes {
        let request = settings.iter().fold(several("chip", tiles), |request, setting| with(request, setting));
        let work =
            "li s0, 20\n more:\n li t0, 1\n amoadd.d zero, t0, (s10)\n addi s0, s0, -1\n bnez s0, more";
        let guest = program(tiles, work, "ld t0, 0(s10)\n report count, t0");
        let document = result(&request, &guest);
        assert_eq!(reported(&document, 0, "count"), 20 * i64::from(tiles), "{settings:?}");
    }
}

/// Two chips exchange messages over interfaces, most of which keep copies or are homes.
#[test]
fn interfaces_exchange_messages_between_chips() {
    for interface in ["NI16w+Blkbuf", "CNI0Qm", "CNI4", "CNI512Q", "CNI32Qm", "(CNI4)S(CNI32Qm)R"] {
        let documents = [1, 2].map(|threads| {
            let request = RunRequest { threads, ..request("chip", interface) };
            result(&request, &ping_pong(5, 200)).to_string()
        });
        assert!(documents[0] == documents[1], "{interface}");
    }
}

/// The interface is at place 1, a hop from the tile, and so are its home and its requests. Its
/// memory takes 120 ns.
#[test]
fn a_tile_gets_blocks_of_the_interface_from_it_and_upgrades_them_there() {
    let queue = Addresses::of_process(0).receive_queue();
    let request = RunRequest { interface: "CNI512Q".into(), ..alone("chip") };
    let cycles = |prepare: &str, access: &str| {
        let guest = format!(
            "li s10, {DATA}\n li s2, {queue}\n li s0, 2\n pass:\n {prepare}\n {}\n addi s2, s2, 64\n \
             addi s0, s0, -1\n bnez s0, pass\n report cycles, s3\n exit 0",
            measured(access)
        );
        reported(&result(&request, &guest), 0, "cycles") as u64
    };
    let read = message(1) + LOOKUP + 120 + block(1) + SECOND_LEVEL;
    assert_eq!(cycles("", "ld a0"), read);
    // It got a copy without the right to write, though no other cache has the block.
    let upgrade = message(1) + LOOKUP + message(1) + SECOND_LEVEL;
    assert_eq!(cycles("ld t0, 0(s2)", "sd s8"), upgrade);
}

#[test]
fn what_needs_a_bus_or_has_no_place_is_refused_before_the_run() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("NI2w", &["data_cache.snarfing=true"], "data_cache.snarfing: true is not allowed"),
        (
            "NI2w",
            &["second_level_cache.inclusion=non-inclusive"],
            "second_level_cache.inclusion: \"non-inclusive\"",
        ),
        ("NI2w", &["network_on_chip.lanes=2"], "network_on_chip.lanes: 2 is not from 3"),
        (
            "NI2w",
            &["network_on_chip.topology.dimensions=[4, 3]"],
            "network_on_chip.topology.dimensions: leaves room for 12 tiles",
        ),
        (
            "NI2w",
            &["node.memories.main_memory.at=[0, 16]"],
            "node.memories.main_memory.at: 16 is not below 16",
        ),
        (
            "NI2w",
            &["node.memories.main_memory.at=[0, 0]"],
            "node.memories.main_memory.at: names the place 0 twice",
        ),
        ("NI2w", &["node.processors.host.at=[0, 1]"], "node.processors.host.at: names 2 places"),
        (
            "NI2w",
            &["directory.interleave=32B"],
            "directory.interleave: 32B is no multiple of the block of 64B",
        ),
        ("NI2w", &["directory.transactions=65"], "directory.transactions"),
        ("NI2w", &["processor.misses=5"], "processor.misses: 5 is more than directory.transactions, 4"),
    ];
    for (interface, settings, expected) in cases {
        let request =
            settings.iter().fold(request("chip", interface), |request, setting| with(request, setting));
        let failure = failure(&request, "exit 0");
        assert_eq!(failure.exit_code, 2, "{settings:?}");
        assert!(failure.to_string().contains(expected), "{interface} {settings:?}: {failure}");
    }
    let on_a_bus = failure(&with(alone("smp"), "node.interface.at=1"), "exit 0").to_string();
    assert!(on_a_bus.contains("node.interface.at: has no meaning on \"bus\""), "{on_a_bus}");
}

/// Two threads without coherence. The first one stores a value and a flag, and writes the
/// flag's block back; the second, which has read both before, reads the flag anew until it is
/// set, and then the value. `written` and `read` are what is done about the value's block.
fn handed_over(written: &str, read: &str) -> i64 {
    let guest = format!(
        "{}
        addi s1, s10, 1024        # the value, and the flag in a block of its own
        addi s2, s10, 1280
        ld   s3, 0(s1)
        bnez s8, reader
        li   t0, 1000             # until the other one has read the value
    pause:
        addi t0, t0, -1
        bnez t0, pause
        li   t0, 7
        sd   t0, 0(s1)
        {written}
        sd   t0, 0(s2)
        cbo.flush (s2)
        li   t0, 100000           # until the other one has reported
    wait:
        addi t0, t0, -1
        bnez t0, wait
        j    end
    reader:
        cbo.flush (s2)
        ld   t0, 0(s2)
        beqz t0, reader
        {read}
        ld   s3, 0(s1)
        report value, s3
    end:
        {END}",
        threads(2),
    );
    let request = ["data_cache", "instruction_cache"]
        .iter()
        .fold(several("chip", 2), |request, cache| with(request, &format!("{cache}.protocol=Incoherent")));
    let (document, ..) = compared(&request, &guest);
    assert_eq!(statistic(&document, 0, "directory_blocked"), 0, "no home works on a transaction");
    reported(&document, 0, "value")
}

#[test]
fn without_coherence_a_missing_flush_reads_stale_bytes_and_flushes_on_both_sides_mend_it() {
    let flush = "cbo.flush (s1)";
    assert_eq!(handed_over("", ""), 0);
    assert_eq!(handed_over(flush, ""), 0, "the reader has its old copy");
    assert_eq!(handed_over("", flush), 0, "the writer has the new one");
    assert_eq!(handed_over(flush, flush), 7);
    assert_eq!(handed_over("cbo.clean (s1)", flush), 7);
}

#[test]
fn caches_without_coherence_are_refused_on_a_bus_and_under_a_device_that_needs_it() {
    let incoherent = |request: RunRequest| {
        with(with(request, "data_cache.protocol=Incoherent"), "instruction_cache.protocol=Incoherent")
    };
    let cases = [
        (incoherent(alone("smp")), "data_cache.protocol: \"Incoherent\" is for caches on a directory"),
        (incoherent(request("chip", "CNI0Qm")), "takes part in coherence, which data_cache.protocol"),
    ];
    for (request, expected) in cases {
        let failure = failure(&request, "exit 0");
        assert_eq!(failure.exit_code, 2);
        assert!(failure.to_string().contains(expected), "{failure}");
    }
}
