//! Firmware that drives a DMA engine: a processor without caches starts copies between the
//! host's memory and its local one, waits, and is called by the engine's line.

use narthex_kernel::Time;
use narthex_machine::config::Machine;
use narthex_machine::node::Node;

use crate::single_nodes::{blueprint, finish, go_on_from, load, node_of, parse, results};
use crate::support::{CODE, DATA};

/// The 1998 machine with the inside of a NIC: a processor of 100 MHz and its memory of one
/// cycle on a bus, which an engine joins to the host's.
const INSIDE: &str = r#"
base = "hpca98"

[node.processors.service]
core = "service_processor"
caches = []
on = "ni_bus"
runs = "firmware/service"

[node.interconnects.ni_bus]
kind = "snooping-bus"

[node.memories.ni_memory]
on = "ni_bus"
start = 0x10000
size = "4MiB"

[node.dma_engines.copy]
on = ["bus", "ni_bus"]
registers = [0x5f800000, 0x70000000]

[memories.ni_memory]
access_time = "10ns"

[dma_engines.copy]
start_time = "100ns"
block_time = "0ns"
burst = "128B"
register_access_time = "10ns"

[processors.service_processor]
clock = "100MHz"
issue_width = 1
load_use_cycles = 1
store_cycles = 1
branch_taken_cycles = 1
multiply_cycles = 5
divide_cycles = 20
float_add_cycles = 3
float_multiply_cycles = 3
float_divide_cycles = 20
float_square_root_cycles = 20
blocking_access_cycles = 0
interrupt_cycles = 8

[buses.ni_bus]
clock = "100MHz"
width = "16B"
arbitration_cycles = 1
address_cycles = 1
cache_supply_time = "10ns"

[buses.ni_bus.extra_cycles]
read = 0
read_exclusive = 0
upgrade = 0
write_back = 0
write_block = 0
read_once = 0
invalidate = 0
uncached_load = 0
uncached_store = 0
block_load = 0
block_store = 0
"#;

const ENGINE: u64 = 0x7000_0000;
const LOCAL: u64 = 0x8_0000;
/// Where the host waits for the count of copies.
const WORD: u64 = DATA + 0x2000;
const BACK: u64 = DATA + 0x1005;
const LENGTH: u64 = 203;

fn machine() -> Machine {
    load("inside.toml", INSIDE, &[])
}

/// A copy: what the registers of it get.
fn copy(source: u64, destination: u64, length: u64, flags: u64) -> String {
    let control = flags << 32 | length;
    format!(
        "li t0, {source}\n sd t0, 0(s0)\n li t0, {destination}\n sd t0, 8(s0)\n li t0, {control}\n sd t0, 16(s0)\n"
    )
}

/// Copies the host's code in, adds one to a byte of it, and copies it out; `rest` is what it
/// does until it is called, the first time and the second.
fn firmware(rest: &str) -> String {
    let (into, out) = (copy(CODE, LOCAL + 3, LENGTH, 2 | 4), copy(LOCAL + 3, BACK, LENGTH, 1 | 8));
    format!(
        "
        jal  t0, main
        sd   zero, 40(s0)            # the line is taken back
        lbu  t1, 3(s1)
        addi t1, t1, 1
        sb   t1, 3(s1)
        {out}
        li   s2, 1
        uret
    main:
        csrrw zero, 0x005, t0
        li   s0, {ENGINE}
        li   s1, {LOCAL}
        li   s2, 0
        li   t1, 0x10000
        csrrw zero, 0x004, t1
        csrrsi zero, 0x000, 1
        {into}
        {rest}"
    )
}

/// Waits for the count of both copies; reports how many bytes differ from its code.
fn host() -> String {
    let end = CODE + LENGTH;
    format!(
        "
        li   s0, {WORD}
        li   t1, 2
    wait:
        ld   t0, 0(s0)
        bne  t0, t1, wait
        li   s2, {CODE}
        li   s3, {BACK}
        li   s4, {end}
        li   s5, 0
    compare:
        lbu  t0, 0(s2)
        lbu  t1, 0(s3)
        beq  t0, t1, same
        addi s5, s5, 1
    same:
        addi s2, s2, 1
        addi s3, s3, 1
        bne  s2, s4, compare
        report differ, s5
        exit 0"
    )
}

fn node(firmware: &str) -> Node {
    let firmware = format!("li t0, {ENGINE}\n li t1, {WORD}\n sd t1, 32(t0)\n {firmware}");
    node_of(&blueprint(&machine(), &host()).with_firmware("service", parse(&firmware)))
}

const WAITS: &str = "rest: wfi\n j rest";
/// Stores to the bytes beside the copy, in its blocks, again and again until it is over.
const STORES: &str = "li t3, 77\n rest: sb t3, 2(s1)\n sb t3, 206(s1)\n addi t4, t4, 1\n beqz s2, rest\n \
                      lbu t5, 2(s1)\n bne t5, t3, wrong\n lbu t5, 206(s1)\n bne t5, t3, wrong\n done: j done\n \
                      wrong: ecall";

#[test]
fn firmware_starts_a_copy_waits_and_is_called_by_the_engine() {
    let node = finish(node(&firmware(WAITS)));
    assert_eq!(node.processes[0].reports[0].value, 1.0, "the byte that the firmware has changed");
    let document = node.to_json();
    assert_eq!(document["statistics"]["dma_copies"], 2);
    let waited = document["processors"][1]["ledger_ps"]["poll / interrupt"].as_u64();
    assert!(waited > Some(500_000), "{waited:?}");
}

/// The engine writes parts of blocks by themselves: nothing that the processor stores beside
/// them is lost.
#[test]
fn bytes_beside_a_copy_are_the_processors_own() {
    let node = finish(node(&firmware(STORES)));
    assert_eq!(node.processes[0].reports[0].value, 1.0);
    assert!(node.failure().is_none());
    assert_eq!(
        node.to_json()["statistics"]["dma_blocks_merged"],
        3,
        "the ends on the host's bus, and the word"
    );
}

#[test]
fn firmware_and_engine_go_on_from_a_checkpoint() {
    let fresh = || vec![node(&firmware(STORES))];
    let whole = finish(node(&firmware(STORES)));
    let end = whole.reached().as_ps();
    for eighths in [2, 5] {
        let until = Time::from_ps(end / 8 * eighths);
        assert_eq!(results(go_on_from(&fresh, until)), [whole.to_json()], "at {eighths} eighths");
    }
}
