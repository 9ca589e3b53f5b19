//! What single accesses cost, to the cycle.
//!
//! Each scenario measures one instruction:
//!
//! ```text
//!   ld a0, (block)        # a miss: over at a bus edge, E
//!   csrrs s0, cycle       # in the same cycle as the load's second try: E
//!   nop × padding         # two a cycle
//!   the instruction       # asks for the bus, which is granted at an edge
//!   csrrs s1, cycle       # in the cycle in which the instruction is done
//! ```
//!
//! The memory port takes one access a cycle, so the instruction issues in the
//! cycle after E at the earliest, and `padding` half cycles later. From there
//! the bus is granted at its next edge, and the rest is the transaction's cost.

use serde_json::Value;

use crate::support::{DATA, bare_isca96, failure, fixed_hpca98, reported, request, result, statistic, with};
use narthex_machine::RunRequest;

/// Guests address a block of their own to get to a bus edge.
const ALIGNING_BLOCK: u64 = DATA + 0x8000;

/// A processor cycle of the 1998 machine is 1 ns and its bus cycle 4 of them; on
/// the 1996 machine they are 5 ns and 2. Both issue two instructions a cycle.
const SLOTS_PER_CYCLE: u64 = 2;

/// The header of a packet of eight bytes to node 0.
const ONE_WORD_TO_NODE_0: u64 = 0x80000;

/// Runs `prepare`, then measures `instruction` behind `padding` nops. Gives the
/// cycles from E to its end, and the results.
pub fn measure(request: &RunRequest, prepare: &str, instruction: &str, padding: u64) -> (u64, Value) {
    let nops = "nop\n".repeat(padding as usize);
    let document = result(
        request,
        &format!(
            "
        li   s2, {DATA}
        li   s3, {ALIGNING_BLOCK}
        li   s4, 0x50000000
        ld   s5, 16(s4)             # this node
        bnez s5, over
        ld   s6, 120(s4)            # the tail pointer of the send queue
        ld   s7, 96(s4)             # the receive queue
        ld   s8, 80(s4)             # the send queue
        ld   s4, 40(s4)             # the registers
        {prepare}
        ld   a0, 0(s3)
        csrrs s0, 0xc00, zero
        {nops}
        {instruction}
        csrrs s1, 0xc00, zero
        sub  s1, s1, s0
        report cycles, s1
    over:
        exit 0
    "
        ),
    );
    (reported(&document, 0, "cycles") as u64, document)
}

/// Checks an instruction's cost for every phase against the bus.
pub fn assert_costs(
    request: &RunRequest,
    cycles_per_bus_cycle: u64,
    prepare: &str,
    instruction: &str,
    cost: u64,
) {
    for padding in 0..=2 * cycles_per_bus_cycle * SLOTS_PER_CYCLE {
        // The slot of cycle E in which the instruction issues, then the bus's edge.
        let issued = SLOTS_PER_CYCLE + padding;
        let granted = issued.next_multiple_of(cycles_per_bus_cycle * SLOTS_PER_CYCLE) / SLOTS_PER_CYCLE;
        let (measured, _) = measure(request, prepare, instruction, padding);
        assert_eq!(measured, granted + cost, "{instruction} behind {padding} nops");
    }
}

fn hpca98() -> RunRequest {
    RunRequest { nodes: Some(1), ..fixed_hpca98("NI2w") }
}

fn assert_takes(prepare: &str, instruction: &str, cost_ns: u64) {
    assert_costs(&hpca98(), 4, prepare, instruction, cost_ns);
}

#[test]
fn an_uncached_load_of_status_takes_92_ns() {
    // 1 arbitration + 1 address + 1 data + 5 extra = 8 bus cycles of 4 ns = 32 ns;
    // the register needs 60 ns (Table 3).
    assert_takes("", "ld a0, 0(s4)", 92);
}

#[test]
fn an_uncached_store_takes_92_ns_because_the_processor_waits_for_it() {
    // As an uncached load: 8 bus cycles and 60 ns. The header is of a packet to
    // this node itself, whose payload follows later.
    assert_takes("li a1, 0x80000", "sd a1, 8(s4)", 92);
}

#[test]
fn a_load_miss_that_memory_serves_takes_136_ns() {
    // 1 arbitration + 1 address + 2 data = 4 bus cycles of 4 ns = 16 ns; main
    // memory needs 120 ns (Table 3).
    assert_takes("", "ld a0, 0(s2)", 136);
}

#[test]
fn a_bus_of_35_mhz_has_exactly_four_cycles_of_a_processor_of_140_mhz() {
    // Neither has a period in whole picoseconds. Memory's 120 ns are 5 bus cycles,
    // the register's 60 ns are 3: 4 + 5 and 8 + 3 bus cycles.
    let request = with(with(hpca98(), "processor.clock=140MHz"), "bus.clock=35MHz");
    assert_costs(&request, 4, "", "ld a0, 0(s2)", 4 * (4 + 5));
    assert_costs(&request, 4, "", "ld a0, 0(s4)", 4 * (8 + 3));
}

#[test]
fn a_store_miss_takes_as_long_as_a_load_miss() {
    assert_takes("", "sd a0, 0(s2)", 136);
}

#[test]
fn an_atomic_on_an_absent_block_takes_one_miss() {
    assert_takes("", "amoadd.d a0, a1, (s2)", 136);
}

#[test]
fn a_load_across_two_absent_blocks_takes_two_misses() {
    // The second miss follows the first without a pause: 136 + 136.
    assert_takes("addi s2, s2, 60", "ld a0, 0(s2)", 272);
}

#[test]
fn a_clean_victim_costs_nothing_and_a_dirty_one_is_written_back_first() {
    // A cache of 1 KiB: DATA and DATA + 1 KiB use the same line. The write-back
    // takes the same 4 bus cycles and 120 ns as the read after it.
    let small = with(hpca98(), "data_cache.size=1KiB");
    let aligning_elsewhere = "addi s2, s2, 64\n";
    assert_costs(&small, 4, &format!("{aligning_elsewhere} ld a0, 0(s2)"), "ld a0, 1024(s2)", 136);
    assert_costs(&small, 4, &format!("{aligning_elsewhere} sd a0, 0(s2)"), "ld a0, 1024(s2)", 272);
    let (_, document) = measure(&small, &format!("{aligning_elsewhere} sd a0, 0(s2)"), "ld a0, 1024(s2)", 0);
    assert_eq!(statistic(&document, 0, "bus_write_backs"), 1);
}

#[test]
fn two_consecutive_misses_are_one_cycle_of_alignment_apart() {
    // The first is over at an edge; the second asks a cycle later and waits for
    // the next edge: 4 + 136 + 4 + 136, the first 4 as in every scenario.
    let (measured, _) = measure(&hpca98(), "", "ld a0, 0(s2)\n ld a1, 64(s2)", 0);
    assert_eq!(measured, 4 + 136 + 4 + 136);
}

#[test]
fn a_silent_step_from_exclusive_to_modified_takes_no_time() {
    // Nobody else had the block when it was read: the store is a hit.
    let (measured, document) = measure(&hpca98(), "ld a0, 0(s2)", "sd a0, 0(s2)", 0);
    assert_eq!(measured, 1, "the store issues in the next cycle");
    assert_eq!(statistic(&document, 0, "bus_upgrades"), 0);
}

#[test]
fn without_an_exclusive_state_the_first_store_needs_an_upgrade() {
    for (protocol, cycles) in [("MOESI", 1), ("MESI", 1), ("MSI", 4 + 16)] {
        let request = with(hpca98(), &format!("data_cache.protocol={protocol}"));
        let (measured, _) = measure(&request, "ld a0, 0(s2)", "sd a0, 0(s2)", 0);
        assert_eq!(measured, cycles, "{protocol}");
    }
}

/// Interfaces with queues, which share the tail pointer with the processor.
fn coherent(interface: &str) -> RunRequest {
    let section = if interface.ends_with('m') { "cni_iqm" } else { "cni_iq" };
    with(fixed_hpca98(interface), &format!("interfaces.{section}.message_ready=cachable-store"))
}

#[test]
fn an_upgrade_of_a_shared_block_takes_16_ns() {
    // 1 arbitration + 1 address + 2 extra = 4 bus cycles of 4 ns. The interface
    // always shares the tail pointer, so the load leaves it shared; storing the
    // value that it has announces no message.
    assert_costs(&coherent("CNI512Q"), 4, "ld a1, 0(s6)", "sd a1, 0(s6)", 16);
}

#[test]
fn a_block_from_a_cache_of_the_interface_takes_76_ns() {
    // 4 bus cycles and the 60 ns of the interface's memory (Table 3): a look at an
    // empty entry of the receive queue, which the interface answers.
    assert_costs(&coherent("CNI32Qm"), 4, "", "ld a0, 0(s7)", 76);
}

#[test]
fn a_block_whose_home_is_the_interface_takes_136_ns() {
    // CNI512Q's memory is as slow as main memory (Table 3, note a).
    assert_costs(&coherent("CNI512Q"), 4, "", "ld a0, 0(s7)", 136);
}

#[test]
fn a_block_from_the_processors_cache_to_the_interface_takes_28_ns() {
    // After the store to the tail pointer (an upgrade, 16 ns) the interface reads
    // that from the processor's cache: 4 bus cycles and 12 ns. The processor's
    // next miss waits for it: 4 + 16, then 28, then 136.
    let (measured, _) = measure(&coherent("CNI512Q"), "ld a1, 0(s6)", "sd a1, 0(s6)\n ld a0, 0(s2)", 0);
    assert_eq!(measured, 4 + 16 + 28 + 136);
}

/// The block buffers in a2, the address of the interface's block in a3.
const BLOCK_BUFFERS: &str = "li a2, 0x50008000\n li a3, 0x50001800\n";

#[test]
fn a_flush_of_the_send_block_buffer_takes_12_cycles_a_transaction_and_its_time_at_the_interface() {
    // 12 processor cycles (Section 6.1.1), then 1 arbitration + 1 address + 2
    // data = 4 bus cycles of 4 ns; no more, unless the interface takes time.
    let blkbuf = RunRequest { nodes: Some(1), ..fixed_hpca98("NI16w+Blkbuf") };
    let compose = format!("{BLOCK_BUFFERS} li a1, 0x80000\n sd a1, 0(a2)");
    assert_costs(&blkbuf, 4, &compose, "sd a3, 512(a2)", 12 + 16);
    let slower = with(blkbuf.clone(), "interfaces.ni_iw_blkbuf.block_store_time=60ns");
    assert_costs(&slower, 4, &compose, "sd a3, 512(a2)", 12 + 76);
    let (_, document) = measure(&blkbuf, &compose, "sd a3, 512(a2)", 0);
    assert_eq!(statistic(&document, 0, "bus_block_stores"), 1);
    assert_eq!(statistic(&document, 0, "bus_uncached_stores"), 0);
}

#[test]
fn a_load_of_the_receive_block_buffer_takes_the_interfaces_memory_too() {
    // 60 ns (Table 3).
    let blkbuf = RunRequest { nodes: Some(1), ..fixed_hpca98("NI16w+Blkbuf") };
    let send_to_itself = format!(
        "{BLOCK_BUFFERS}
        li   a1, 0x80000
        sd   a1, 0(a2)
        sd   a3, 512(a2)
    wait:
        ld   a0, 0(s4)
        andi a0, a0, 2
        beqz a0, wait"
    );
    assert_costs(&blkbuf, 4, &send_to_itself, "sd a3, 520(a2)", 12 + 76);
    // What was loaded is there, and costs what a hit costs.
    let read = format!("{send_to_itself}\n sd a3, 520(a2)");
    let (_, document) = measure(&blkbuf, &read, "ld a0, 256(a2)\n report header, a0", 0);
    assert_eq!(reported(&document, 0, "header"), 0x80000);
    assert_eq!(statistic(&document, 0, "bus_block_loads"), 1);
}

#[test]
fn accesses_to_a_block_buffer_take_what_a_hit_takes() {
    let blkbuf = RunRequest { nodes: Some(1), ..fixed_hpca98("NI16w+Blkbuf") };
    for (in_buffer, in_cache) in [("sd a0, 8(a2)", "sd a0, 0(s3)"), ("ld a0, 8(a2)", "ld a0, 0(s3)")] {
        let cost = |instruction| measure(&blkbuf, BLOCK_BUFFERS, instruction, 0).0;
        assert_eq!(cost(in_buffer), cost(in_cache));
    }
}

#[test]
fn the_accesses_of_the_1996_machine_take_what_its_table_2_says() {
    // In processor cycles of 5 ns; the bus has two of them.
    assert_costs(&bare_isca96("NI2w"), 2, "", "ld a0, 0(s4)", 28);
    assert_costs(&bare_isca96("NI2w"), 2, "", "ld a0, 0(s2)", 42);
    assert_costs(&bare_isca96("CNI512Q"), 2, "", "ld a0, 0(s7)", 42);
    assert_costs(&bare_isca96("CNI16Qm"), 2, "", "ld a0, 0(s7)", 42);
}

#[test]
fn the_processor_adds_its_own_cycles_to_an_access_that_it_waits_for() {
    let with_8 = |interface| with(request("isca96", interface), "processor.blocking_access_cycles=8");
    assert_costs(&with_8("CNI512Q"), 2, "", "ld a0, 0(s7)", 42 + 8);
    let request = with_8("NI2w");
    assert_costs(&request, 2, "", "ld a0, 0(s4)", 28 + 8);
    assert_costs(&request, 2, "", "ld a0, 0(s2)", 42 + 8);
    // Each of two misses.
    assert_costs(&request, 2, "addi s2, s2, 60", "ld a0, 0(s2)", 2 * (42 + 8));
    // A load waits behind a posted store, which adds nothing.
    assert_costs(&request, 2, "li a1, 0x80000", "sd a1, 8(s4)\n ld a0, 0(s4)", 12 + 28 + 8);
    // The bus is free meanwhile: it is occupied by the alignment's miss and the load.
    let (_, document) = measure(&request, "", "ld a0, 0(s4)", 0);
    let (_, bare) = measure(&bare_isca96("NI2w"), "", "ld a0, 0(s4)", 0);
    assert_eq!(statistic(&document, 0, "bus_occupied"), statistic(&bare, 0, "bus_occupied"));
}

#[test]
fn a_posted_store_takes_a_cycle_and_its_transaction_12() {
    // The 1996 machine posts uncached stores. The store issues a cycle after E
    // and the next access a cycle later, which is an edge of the bus; the store
    // was granted at the same edge, one request earlier: 2 + 12 + 42.
    let header = "li a1, 0x80000";
    let (measured, _) = measure(&bare_isca96("NI2w"), header, "sd a1, 8(s4)", 0);
    assert_eq!(measured, 1);
    let (measured, _) = measure(&bare_isca96("NI2w"), header, "sd a1, 8(s4)\n ld a0, 0(s2)", 0);
    assert_eq!(measured, 2 + 12 + 42);
}

/// Loads from each block of 16 KiB, three times, and stores to each second one.
fn misses() -> String {
    format!(
        "
        li   s0, {DATA}
        li   s1, 3
        li   t4, 0x4000
    turn:
        li   t0, 0
    next:
        add  t1, s0, t0
        ld   t2, 0(t1)
        andi t3, t0, 64
        bnez t3, clean
        sd   t0, 8(t1)
    clean:
        addi t0, t0, 32
        blt  t0, t4, next
        addi s1, s1, -1
        bnez s1, turn
        exit 0"
    )
}

/// A node that is alone with its memory exchanges blocks with it and schedules nothing; the
/// transactions of its bus come to the same.
#[test]
fn an_exchange_with_memory_is_the_same_as_the_transactions_that_it_stands_for() {
    for (machine, interface) in [("hpca98", "CNI32Qm"), ("isca96", "CNI512Q"), ("isca96", "CNI16Qm")] {
        let run = RunRequest { nodes: Some(1), ..with(request(machine, interface), "data_cache.size=4KiB") };
        let ways = [false, true].map(|schedule_steps| {
            let run = RunRequest { schedule_steps, ..run.clone() };
            result(&run, &misses())
        });
        let (blocks, dirty) =
            (statistic(&ways[0], 0, "load_misses"), statistic(&ways[0], 0, "bus_write_backs"));
        assert!(blocks >= 3 * 128 && dirty >= 2 * 128, "{machine}: {blocks} misses, {dirty} write-backs");
        assert!(ways[0] == ways[1], "{machine}, {interface}\n{:#}\n{:#}", ways[0], ways[1]);
    }
}

/// Sends itself 20 words, one after the other: it polls until each is there. Reports their sum.
fn words_to_itself() -> String {
    format!(
        "
        li   s0, 0x50000000
        ld   s0, 40(s0)
        li   s1, 20
        li   s2, {ONE_WORD_TO_NODE_0}
    turn:
        sd   s2, 8(s0)
        sd   s1, 8(s0)
    poll:
        ld   t0, 0(s0)
        andi t0, t0, 2
        beqz t0, poll
        ld   t0, 16(s0)
        ld   t1, 16(s0)
        add  s3, s3, t1
        addi s1, s1, -1
        bnez s1, turn
        report sum, s3
        exit 0"
    )
}

/// A node whose processor is alone with the interface's registers accesses them in one go.
/// Frames, acknowledgements and posted stores come between some of the accesses.
#[test]
fn an_access_to_a_register_in_one_go_is_the_same_as_its_transaction() {
    for (machine, set) in [
        ("hpca98", "data_cache.size=4KiB"),
        ("hpca98", "processor.blocking_access_cycles=3"),
        ("hpca98", "store_buffer.uncached_stores=posted"),
        ("isca96", "data_cache.size=4KiB"),
        ("isca96", "store_buffer.uncached_stores=blocking"),
    ] {
        let run = RunRequest { nodes: Some(1), ..with(request(machine, "NI2w"), set) };
        let ways = [false, true].map(|schedule_steps| {
            let run = RunRequest { schedule_steps, ..run.clone() };
            result(&run, &words_to_itself())
        });
        assert_eq!(reported(&ways[0], 0, "sum"), 210);
        let count = |name| statistic(&ways[0], 0, name);
        assert!(count("bus_uncached_loads") >= 60 && count("bus_uncached_stores") == 40, "{machine}, {set}");
        assert!(ways[0] == ways[1], "{machine}, {set}\n{:#}\n{:#}", ways[0], ways[1]);
    }
}

/// A register that refuses an access ends the program before the instruction, at the end of the access.
#[test]
fn an_access_that_a_register_refuses_is_told_the_same_in_one_go_and_as_a_transaction() {
    let program = "li s0, 0x50000000\n ld s0, 40(s0)\n ld t0, 0(s0)\n ld t1, 16(s0)\n exit 0";
    let run = RunRequest { nodes: Some(1), ..request("hpca98", "NI2w") };
    let ways = [false, true].map(|schedule_steps| {
        let run = RunRequest { schedule_steps, ..run.clone() };
        let failure = failure(&run, program);
        (failure.exit_code, failure.to_string())
    });
    assert!(ways[0].1.contains("a read of the receive FIFO while STATUS shows no packet"));
    assert_eq!(ways[0], ways[1]);
}
