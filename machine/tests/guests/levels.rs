//! Machines whose processors have two levels of caches: exact times, data, results
//! that do not depend on how they were computed.

use narthex_machine::RunRequest;
use proptest::prelude::*;
use proptest::sample::select;

use crate::coherence::{checksum, checksumming, prefetching, step};
use crate::reorder::windowed;
use crate::support::exchange::ping_pong;
use crate::support::{
    DATA, NAMES, failure, fixed_hpca98, reported, reported_word, result, run_guest, statistic, with,
};
use crate::{checkpoints, wait_loops};

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/two-levels.toml");

/// Two nodes of the machine with two levels.
fn two_levels(interface: &str) -> RunRequest {
    RunRequest { machine: MACHINE.into(), ..fixed_hpca98(interface) }
}

fn alone(settings: &[&str]) -> RunRequest {
    let one = RunRequest { nodes: Some(1), ..two_levels("NI2w") };
    settings.iter().fold(one, |request, setting| with(request, setting))
}

/// An instruction cache of 1 KiB above the second level.
const INSTRUCTION_CACHE: [&str; 6] = [
    "instruction_cache.kind=cache",
    "instruction_cache.size=1KiB",
    "instruction_cache.associativity=1",
    "instruction_cache.block=64B",
    "instruction_cache.protocol=MOESI",
    "instruction_cache.snarfing=false",
];

/// Cycles from a load that has just waited for its block, at E, to where the next
/// instruction may issue behind these. The first one that accesses memory does so at
/// E + 1. Before, `prepare` has been executed.
fn cycles(settings: &[&str], prepare: &str, instructions: &str) -> i64 {
    // A processor that goes on waits for the value, and E is a cycle later.
    let needed = if settings.contains(&MISSES) { "add a0, a0, a0" } else { "" };
    let source = format!(
        "
        li   s2, {DATA}
        li   s3, {waited}
        {prepare}
        ld   a0, 0(s3)
        {needed}
        csrrs s0, 0xc00, zero
        {instructions}
        csrrs s1, 0xc00, zero
        sub  s1, s1, s0
        report cycles, s1
        exit 0
    ",
        waited = DATA + 0x8000
    );
    reported(&result(&alone(settings), &source), 0, "cycles")
}

/// The second level has the block at s2, the data cache its first part.
const BELOW: &str = "ld a0, 0(s2)";
/// One access at a time.
const ONE_AT_A_TIME: &str = "second_level_cache.port=one-at-a-time";

#[test]
fn a_load_that_hits_the_second_level_is_ready_its_latency_after_a_hit() {
    assert_eq!(cycles(&[], BELOW, "ld a1, 8(s2)\n add a1, a1, a1"), 2);
    assert_eq!(cycles(&[], BELOW, "ld a1, 32(s2)\n add a1, a1, a1"), 12);
    assert_eq!(
        cycles(&["second_level_cache.latency_cycles=25"], BELOW, "ld a1, 32(s2)\n add a1, a1, a1"),
        27
    );
}

#[test]
fn instructions_that_need_nothing_of_it_go_on() {
    let nops = "nop\n".repeat(8);
    for load in ["ld a1, 8(s2)", "ld a1, 32(s2)"] {
        assert_eq!(cycles(&[], BELOW, &format!("{load}\n{nops}")), 5, "{load}");
    }
}

#[test]
fn the_data_cache_is_taken_until_its_block_has_come() {
    assert_eq!(cycles(&[], BELOW, "ld a1, 32(s2)\n ld a2, 64(s2)\n add a2, a2, a2"), 22);
    assert_eq!(cycles(&[], BELOW, "sd a0, 32(s2)\n ld a2, 0(s2)\n add a2, a2, a2"), 12, "behind a store");
}

#[test]
fn a_dirty_block_that_leaves_takes_the_port_of_the_second_level_besides() {
    // Two ways, of which the third block of a set replaces the first. It comes at once;
    // the next access to the second level waits for what was written back.
    let two = "ld a1, 1024(s2)\n ld a2, 96(s2)\n add a2, a2, a2";
    let prepared =
        |access: &str| format!("ld a0, 1024(s2)\n ld a0, 64(s2)\n {access} a0, 0(s2)\n {access} a0, 512(s2)");
    assert_eq!(cycles(&[ONE_AT_A_TIME], &prepared("ld"), two), 22);
    assert_eq!(cycles(&[ONE_AT_A_TIME], &prepared("sd"), two), 32);
    assert_eq!(cycles(&[], &prepared("sd"), two), 22, "a pipelined one has taken it by then");
}

#[test]
fn a_miss_of_both_levels_takes_the_look_into_the_second_besides() {
    // 1 arbitration + 1 address + 4 data = 6 bus cycles of 4 ns, 120 ns of memory and
    // 10 cycles of the second level: 154 behind the bus's next edge. E is 10 cycles
    // behind one, so that is at E + 2.
    assert_eq!(cycles(&[], "", "ld a1, 0(s2)"), 156);
}

#[test]
fn a_write_through_store_waits_for_the_port_and_for_nothing_else() {
    let through = "second_level_cache.data_cache_stores=write-through";
    let prepare = "sd a0, 0(s2)\n ld a0, 0(s2)";
    let stores =
        "sd a0, 0(s2)\n sd a0, 8(s2)\n sd a0, 16(s2)\n sd a0, 24(s2)\n ld a1, 0(s2)\n add a1, a1, a1";
    assert_eq!(cycles(&[], prepare, stores), 6);
    assert_eq!(cycles(&[through], prepare, stores), 6);
    assert_eq!(cycles(&[through, ONE_AT_A_TIME], prepare, stores), 32, "the last begins at E + 31");
    let eight: String = (0..8).map(|word| format!("sd a0, {}(s2)\n", 8 * word % 32)).collect();
    let six = "second_level_cache.latency_cycles=6";
    let eight = format!("{eight} ld a1, 0(s2)\n add a1, a1, a1");
    assert_eq!(cycles(&[through, ONE_AT_A_TIME, six], prepare, &eight), 44, "the last begins at E + 43");
}

#[test]
fn a_fetch_that_hits_the_second_level_delays_the_front_end() {
    // The jump's target is in a line of its own, which loads have brought near.
    let far = format!("j far\n{} far: nop", "nop\n".repeat(64));
    let near = "li t0, 0x10100\n ld a0, 0(t0)\n ld a0, 128(t0)";
    assert_eq!(cycles(&INSTRUCTION_CACHE, near, &far), 10 + cycles(&[], near, &far));
}

/// Small blocks of instructions above large ones, as a host of 1 GHz may have them.
const LARGE_BLOCKS: [&str; 13] = [
    "data_cache.size=32KiB",
    "data_cache.protocol=MESI",
    "instruction_cache.kind=cache",
    "instruction_cache.size=32KiB",
    "instruction_cache.associativity=2",
    "instruction_cache.block=32B",
    "instruction_cache.protocol=MESI",
    "instruction_cache.snarfing=false",
    "second_level_cache.size=1MiB",
    "machine.nodes=2",
    "bus.clock=100MHz",
    "bus.width=16B",
    "second_level_cache.latency_cycles=10",
];

/// 256 bytes of code more: eight blocks of the first level, two of the second.
#[test]
fn each_small_block_of_instructions_is_fetched_once() {
    let counts = |instructions: usize| {
        let document = result(&alone(&LARGE_BLOCKS), &format!("{} exit 0", "nop\n".repeat(instructions)));
        ["fetch_misses", "second_level_hits", "second_level_misses"].map(|name| statistic(&document, 0, name))
    };
    let (short, long) = (counts(64), counts(128));
    assert_eq!([0, 1, 2].map(|place| long[place] - short[place]), [8, 6, 2]);
}

#[test]
fn programs_run_on_small_blocks_above_large_ones_however_they_are_computed() {
    for interface in ["NI2w", "CNI32Qm"] {
        let request =
            LARGE_BLOCKS.iter().fold(two_levels(interface), |request, setting| with(request, setting));
        let one = run_guest(&request, &ping_pong(4, 200)).expect("it runs");
        let others = [
            RunRequest { threads: 2, ..request.clone() },
            RunRequest { execute_wait_loops: true, ..request },
        ];
        assert!(others.iter().all(|other| run_guest(other, &ping_pong(4, 200)).expect("it runs") == one));
    }
}

#[test]
fn statistics_tell_what_each_level_served() {
    let source =
        format!("li s2, {DATA}\n ld a0, 0(s2)\n ld a0, 32(s2)\n ld a0, 40(s2)\n sd a0, 64(s2)\n exit 0");
    let document = result(&alone(&[]), &source);
    let count = |name| statistic(&document, 0, name);
    assert_eq!([count("load_misses"), count("store_misses")], [2, 1]);
    assert_eq!([count("second_level_hits"), count("second_level_misses")], [2, 1]);
    let one_level = run_guest(&crate::support::alone("hpca98"), &*source).expect("it runs");
    assert!(one_level["nodes"][0]["statistics"].get("second_level_hits").is_none());
}

#[test]
fn a_load_that_joins_one_under_way_is_no_miss_of_the_second_level() {
    let source = format!(
        "li s2, {DATA}\n ld a0, 0(s2)\n ld a1, 8(s2)\n ld a2, 256(s2)\n add a0, a0, a1\n add a0, a0, a2\n exit 0"
    );
    let counts = |misses| {
        let document = result(&alone(&[&format!("processor.misses={misses}")]), &source);
        ["load_misses", "second_level_misses", "bus_reads"].map(|name| statistic(&document, 0, name))
    };
    let joined = |misses| {
        let document = result(&alone(&[&format!("processor.misses={misses}")]), &source);
        statistic(&document, 0, "loads_joined")
    };
    let ([loads, misses, reads], [loads_of_four, misses_of_four, reads_of_four]) = (counts(1), counts(4));
    assert_eq!((loads_of_four, joined(4)), (loads + 1, 1), "the second load has missed, too");
    assert_eq!((misses_of_four, reads_of_four), (misses, reads));
}

/// The machine of one level with a third in front of its memory: a direct-mapped cache of
/// 1 KiB above 16 KiB in 28 ns.
fn with_third_level(name: &str, more: &str) -> RunRequest {
    let text = format!(
        "base = \"hpca98\"\n[data_cache]\nsize = \"1KiB\"\n[node.memories.main_memory]\n\
         cache = \"third_level_cache\"\n[third_level_cache]\nsize = \"16KiB\"\nassociativity = 4\n\
         access_time = \"28ns\"\n{more}"
    );
    let path = std::env::temp_dir().join(format!("narthex-{}-third-{name}.toml", std::process::id()));
    std::fs::write(&path, text).expect("room for a file");
    RunRequest { machine: path.display().to_string(), nodes: Some(1), ..fixed_hpca98("NI2w") }
}

#[test]
fn a_third_level_serves_what_its_memory_has_served_before() {
    use crate::timing::{assert_costs, measure};
    let third = with_third_level("times", "");
    // 4 bus cycles, the third level's 28 ns, and memory's 120 ns where it lacks the block.
    assert_costs(&third, 4, "", "ld a0, 0(s2)", 16 + 28 + 120);
    let evicted = "addi s2, s2, 64\n ld a0, 0(s2)\n ld a0, 1024(s2)";
    assert_costs(&third, 4, evicted, "ld a0, 0(s2)", 16 + 28);
    // A dirty victim goes there first.
    let dirty = "addi s2, s2, 64\n ld a0, 1024(s2)\n sd a0, 0(s2)";
    assert_costs(&third, 4, dirty, "ld a0, 1024(s2)", 2 * (16 + 28));
    let (_, document) = measure(&third, dirty, "ld a0, 1024(s2)", 0);
    let counted =
        ["third_level_hits", "third_level_misses", "third_level_written", "third_level_written_back"];
    // Besides both there are the stack, the information page and the block of the edge.
    assert_eq!(counted.map(|name| statistic(&document, 0, name)), [1, 5, 1, 0]);
}

#[test]
fn a_third_level_changes_no_byte_and_rests_in_a_checkpoint() {
    let third = RunRequest { nodes: Some(2), ..with_third_level("messages", "") };
    let run = |threads| run_guest(&RunRequest { threads, ..third.clone() }, &ping_pong(20, 200)).unwrap();
    assert_eq!(run(1), run(2));
    checkpoints::check(&third, &ping_pong(10, 64));
    wait_loops::compared(&third, &ping_pong(20, 56));
}

#[test]
fn a_third_level_in_front_of_nothing_is_refused_with_file_and_key() {
    let refused = |name: &str, more: &str, setting: &str| {
        failure(&with(with_third_level(name, more), setting), "exit 0").to_string()
    };
    assert!(
        refused("word", "", "node.memories.main_memory.cache=third_level")
            .contains("did you mean `third_level_cache`")
    );
    assert!(
        refused("size", "", "third_level_cache.size=100B")
            .contains("third_level_cache.size: 100B does not give")
    );
    let local = "[node.memories.sram]\non = \"bus\"\nstart = 0x5f000000\nsize = \"64KiB\"\ncache = \
                 \"third_level_cache\"\n[memories.sram]\naccess_time = \"8ns\"";
    assert!(
        refused("local", local, "machine.seed=1").contains("a memory with a range of addresses has no cache")
    );
}

#[test]
fn levels_that_do_not_fit_are_refused_with_file_and_key() {
    for (setting, key, reason) in [
        ("second_level_cache.block=16B", "second_level_cache.block", "no multiple of the block of 32B"),
        ("second_level_cache.size=512B", "second_level_cache.size", "is smaller than data_cache.size, 1KiB"),
        (
            "second_level_cache.associativity=17",
            "second_level_cache.associativity",
            "expected a whole number from 1 to 16",
        ),
        (
            "second_level_cache.latency_cycles=0",
            "second_level_cache.latency_cycles",
            "expected a whole number from 1 to 1000",
        ),
        (
            "second_level_cache.inclusion=non-inclusive",
            "second_level_cache.inclusion",
            "needs one block size",
        ),
        ("processor.misses=33", "processor.misses", "expected a whole number from 1 to 32"),
        ("second_level_cache.port=\"pipeline\"", "second_level_cache.port", "one-at-a-time"),
        (
            "node.processors.host.caches=[\"data_cache\", \"instruction_cache\"]",
            "second_level_cache",
            "describes a cache that no processor has",
        ),
        (
            "node.processors.host.caches=[\"data_cache\", \"second_level_cache\"]",
            "node.processors.host.caches",
            "is not allowed; expected",
        ),
    ] {
        let failure = failure(&alone(&[setting]), "exit 0");
        let text = failure.to_string();
        assert!(text.contains(key) && text.contains(reason), "{setting}: {text}");
        assert_eq!(failure.exit_code, 2, "{setting}");
    }
}

/// One level, and two loads under way at most.
fn two_misses() -> RunRequest {
    with(RunRequest { nodes: Some(1), ..fixed_hpca98("NI2w") }, "processor.misses=2")
}

/// As [`cycles`], on one level; E is at an edge of the bus.
fn cycles_with_two_misses(instructions: &str) -> (i64, serde_json::Value) {
    let source = format!(
        "
        li   s2, {DATA}
        li   s3, {waited}
        ld   a0, 0(s3)
        add  a0, a0, a0
        csrrs s0, 0xc00, zero
        {instructions}
        csrrs s1, 0xc00, zero
        sub  s1, s1, s0
        report cycles, s1
        exit 0
    ",
        waited = DATA + 0x8000
    );
    let document = result(&two_misses(), &source);
    (reported(&document, 0, "cycles"), document)
}

#[test]
fn a_processor_goes_on_while_a_load_is_under_way_until_it_needs_the_value() {
    // The load waited for was used in the cycle behind its end, E - 1. This one issues
    // there, too, and has the bus at E + 3, an edge, for 136 ns; its value can be used a
    // cycle later.
    let nops = "nop\n".repeat(200);
    let (without, _) = cycles_with_two_misses(&nops);
    let (free, _) = cycles_with_two_misses(&format!("ld a1, 0(s2)\n{nops}"));
    assert!(free <= without + 1, "{free} and {without}");
    let (needed, _) = cycles_with_two_misses("ld a1, 0(s2)\n add a2, a1, a1");
    let (hidden, _) = cycles_with_two_misses(&format!("ld a1, 0(s2)\n{nops} add a2, a1, a1"));
    assert_eq!((needed, hidden), (140, 140), "what is executed meanwhile takes no time");
    let (overwritten, _) = cycles_with_two_misses("ld a1, 0(s2)\n li a1, 3");
    assert_eq!(overwritten, 139, "a register is overwritten when its value has come, not before");
}

#[test]
fn two_loads_are_under_way_and_a_third_waits_for_a_register() {
    let two = "ld a1, 0(s2)\n ld a2, 64(s2)";
    let (issued, document) = cycles_with_two_misses(two);
    assert!(issued < 10, "{issued}");
    assert_eq!(statistic(&document, 0, "miss_register_stalls"), 0);
    let (first, _) = cycles_with_two_misses(&format!("{two}\n add a3, a1, a1"));
    let (second, _) = cycles_with_two_misses(&format!("{two}\n add a3, a2, a2"));
    assert_eq!((first, second), (140, 276), "the bus carries one after the other");
    let (third, document) = cycles_with_two_misses(&format!("{two}\n ld a3, 128(s2)"));
    assert_eq!((third, statistic(&document, 0, "miss_register_stalls")), (139, 1));
    let (same, document) = cycles_with_two_misses("ld a1, 0(s2)\n lbu a2, 9(s2)\n add a3, a2, a2");
    assert_eq!((same, statistic(&document, 0, "bus_reads")), (140, 2), "one transaction serves both");
}

#[test]
fn a_store_a_fence_and_a_system_call_come_behind_loads_under_way() {
    let (store, _) = cycles_with_two_misses("ld a1, 0(s2)\n sd zero, 0(s2)");
    assert_eq!(store, 139, "the store finds the block that the load has fetched");
    let (fence, _) = cycles_with_two_misses("ld a1, 0(s2)\n ld a2, 64(s2)\n fence");
    assert_eq!(fence, 275);
    let source = format!("li s2, {DATA}\n li t0, 77\n sd t0, 0(s2)\n ld a0, 128(s2)\n li a7, 93\n ecall");
    assert_eq!(
        run_guest(&two_misses(), &*source).expect("a0 is 0 by then")["nodes"][0]["processors"][0]["exit_code"],
        0
    );
}

#[test]
fn a_handler_of_a_fault_sees_what_loads_under_way_bring() {
    let source = format!(
        "li s10, {DATA}
        call over
        ld t0, 176(a2)\n addi t0, t0, 4\n sd t0, 176(a2)     # behind the instruction
        ld t0, 288(a2)\n sd t0, 8(s10)                        # a4 in the frame
        ret
        over:
        sd ra, 64(s10)\n li a0, 11\n addi a1, s10, 64\n li a2, 0\n li a3, 8\n li a7, 134\n ecall
        li s2, {NAMES}
        ld a4, 0(s2)
        ld a5, 16(zero)
        ld t0, 8(s10)
        sub t0, t0, a4\n sltu t1, zero, a4
        report difference, t0\n report loaded, t1
        exit 0"
    );
    let document = run_guest(&two_misses(), &*source).expect("it ends");
    assert_eq!((reported(&document, 0, "difference"), reported(&document, 0, "loaded")), (0, 1));
}

/// Several loads under way above a second level.
const MISSES: &str = "processor.misses=4";

#[test]
fn a_block_on_its_way_from_the_second_level_is_waited_for_by_each_of_its_loads() {
    let both = "ld a1, 32(s2)\n ld a2, 40(s2)\n add a2, a2, a2";
    assert_eq!(cycles(&[MISSES], "ld a0, 0(s2)\n add a0, a0, a0", both), 12);
    let two = "ld a1, 32(s2)\n ld a2, 64(s2)\n add a2, a2, a2";
    assert_eq!(cycles(&[MISSES], "ld a0, 0(s2)\n add a0, a0, a0", two), 13, "the second a cycle later");
    assert_eq!(cycles(&[MISSES, ONE_AT_A_TIME], "ld a0, 0(s2)\n add a0, a0, a0", two), 22);
}

#[test]
fn messages_arrive_over_two_levels_whatever_computes_them() {
    for (interface, misses) in
        [("NI16w", "1"), ("CNI4", "4"), ("CNI512Q", "1"), ("CNI512Q", "2"), ("CNI32Qm", "8")]
    {
        let blocks = with(two_levels(interface), "second_level_cache.block=64B");
        let blocks = with(blocks, &format!("processor.misses={misses}"));
        let blocks =
            with(blocks, &format!("machine.processors_per_node={}", if misses == "2" { 2 } else { 1 }));
        let request = INSTRUCTION_CACHE.iter().fold(blocks, |request, setting| with(request, setting));
        let document = result(&request, &ping_pong(60, 64));
        assert_eq!(statistic(&document, 1, "packets_delivered") % 60, 0, "{interface}");
        let threads = RunRequest { threads: 2, ..request.clone() };
        let same = run_guest(&threads, &ping_pong(60, 64)).expect("it runs");
        assert_eq!(document["nodes"], same["nodes"], "{interface}");
        checkpoints::check(&request, &ping_pong(12, 200));
        wait_loops::compared(&request, &ping_pong(20, 56));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_read_returns_the_last_write_through_two_small_levels(
        steps in proptest::collection::vec(step(), 1..80),
        protocol in select(vec!["MOESI", "MESI", "MSI"]),
        blocks in select(vec![(16, 128), (32, 64), (64, 64)]),
        stores in select(vec!["write-back", "write-through"]),
        ways in select(vec![1, 4]),
        (misses, overlaps) in select(vec![(1, false), (2, false), (8, false), (2, true), (8, true)]),
        prefetcher in select(vec!["", "next-line", "stream"]),
    ) {
        let mut settings = vec![
            "data_cache.size=256B".to_owned(),
            format!("data_cache.block={}B", blocks.0),
            "data_cache.associativity=1".to_owned(),
            format!("data_cache.protocol={protocol}"),
            "second_level_cache.size=1KiB".to_owned(),
            format!("second_level_cache.block={}B", blocks.1),
            format!("second_level_cache.associativity={ways}"),
            format!("second_level_cache.data_cache_stores={stores}"),
            format!("processor.misses={misses}"),
            "bus.width=16B".to_owned(),
        ];
        settings.extend(prefetching("second_level_cache", prefetcher));
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let request = if overlaps { windowed(alone(&settings)) } else { alone(&settings) };
        let document = result(&request, &checksumming(&steps));
        prop_assert_eq!(reported_word(&document, 0, "checksum"), checksum(&steps));
    }
}

/// DRAM of four banks whose rows have 256 bytes.
const DRAM: &str = "channels = 1\ninterleave = \"64B\"\nbanks = 4\nrow = \"256B\"\nrow_policy = \"open\"\n\
    activate_time = \"14ns\"\nprecharge_time = \"14ns\"\ncolumn_time = \"16ns\"\nrow_active_time = \"32ns\"\n\
    write_recovery_time = \"15ns\"\nburst_time = \"4ns\"\nrefresh_interval = \"1ms\"\nrefresh_time = \"350ns\"\n\
    write_queue = 8\n";

/// The machine of one level with this DRAM behind a controller of 20 ns.
fn with_dram(name: &str, more: &str) -> RunRequest {
    let text =
        format!("base = \"hpca98\"\n[main_memory]\naccess_time = \"20ns\"\n[main_memory.dram]\n{DRAM}{more}");
    let path = std::env::temp_dir().join(format!("narthex-{}-dram-{name}.toml", std::process::id()));
    std::fs::write(&path, text).expect("room for a file");
    RunRequest { machine: path.display().to_string(), nodes: Some(1), ..fixed_hpca98("NI2w") }
}

#[test]
fn a_block_of_dram_takes_less_where_its_row_is_open() {
    use crate::timing::{assert_costs, measure};
    let dram = with_dram("times", "");
    // 4 bus cycles, the controller's 20 ns, and the row's part; the block before is at s3.
    assert_costs(&dram, 4, "", "ld a0, 64(s3)", 16 + 20 + 16);
    let another_row = "addi s2, s2, 256\n ld a0, 1024(s2)";
    assert_costs(&dram, 4, another_row, "ld a0, 0(s2)", 16 + 20 + 14 + 14 + 16);
    let counts = |instruction| {
        let (_, document) = measure(&dram, another_row, instruction, 0);
        ["dram_row_hits", "dram_row_conflicts"].map(|name| statistic(&document, 0, name))
    };
    let ([hits, conflicts], of_own_row) = (counts("ld a0, 0(s2)"), counts("ld a0, 1088(s2)"));
    assert_eq!(of_own_row, [hits + 1, conflicts - 1]);
}

#[test]
fn dram_changes_no_byte_and_rests_in_a_checkpoint() {
    for more in [
        "",
        "[node.memories.main_memory]\ncache = \"third_level_cache\"\n[third_level_cache]\nsize = \"16KiB\"\nassociativity = 4\naccess_time = \"28ns\"",
    ] {
        let dram = RunRequest { nodes: Some(2), ..with_dram("messages", more) };
        let run = |threads| run_guest(&RunRequest { threads, ..dram.clone() }, &ping_pong(20, 200)).unwrap();
        assert_eq!(run(1), run(2));
        checkpoints::check(&dram, &ping_pong(10, 64));
        wait_loops::compared(&dram, &ping_pong(20, 56));
    }
}

#[test]
fn dram_that_cannot_be_is_refused_with_file_and_key() {
    let refused = |name: &str, more: &str, setting: &str| {
        failure(&with(with_dram(name, more), setting), "exit 0").to_string()
    };
    assert!(
        refused("banks", "", "main_memory.dram.banks=3")
            .contains("main_memory.dram.banks: 3 is not a power of two from 1 to 1024")
    );
    let local = "[node.memories.sram]\non = \"bus\"\nstart = 0x5f000000\nsize = \"64KiB\"\n[memories.sram]\n\
                 access_time = \"8ns\"\n";
    assert!(
        refused("local", &format!("{local}[memories.sram.dram]\n{DRAM}"), "machine.seed=1")
            .contains("a memory with a range of addresses has no DRAM")
    );
}
