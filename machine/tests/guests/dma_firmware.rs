//! Firmware that drives a DMA engine: a processor without caches starts copies between the
//! host's memory and its local one, waits, and is called by the engine's line.

use std::ops::ControlFlow;

use narthex_cores::linux::Program;
use narthex_kernel::simulation::{Ending, Limits, Simulation};
use narthex_kernel::{Archive, Duration, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::config::{self, Machine};
use narthex_machine::node::Node;

use crate::support::{CODE, DATA, program, request};

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
    config::load_text("inside.toml", INSIDE).unwrap_or_else(|error| panic!("{error}"))
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
    let machine = machine();
    let parse = |source: &str| Program::parse("guest", program(source)).expect("a sound program");
    let request = request("hpca98", "NI2w");
    let interface = request.interface.parse().expect("an interface");
    let blueprint = Blueprint::new(&machine.config, interface, parse(&host()), &request).with_firmware(
        "service",
        parse(&format!("li t0, {ENGINE}\n li t1, {}\n sd t1, 32(t0)\n {firmware}", WORD)),
    );
    blueprint.node(0).unwrap_or_else(|failure| panic!("{failure}"))
}

fn finish(node: Node) -> Node {
    let mut simulation = Simulation::new(vec![node], Duration::from_ns(40));
    let limits = Limits { patience: Duration::from_ns(100_000), ..Limits::default() };
    let ending = simulation.run(&limits, &mut |_, _| ControlFlow::Continue(()));
    let mut node = simulation.into_partitions().remove(0);
    assert_eq!(ending, Ending::AllFinished, "{:?}", node.failure());
    let end = node.reached();
    node.close(end);
    node
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
    let waited = document["processors"][1]["ledger_ps"]["application / interrupt"].as_u64();
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
    let whole = finish(node(&firmware(STORES))).to_json();
    let end = finish(node(&firmware(STORES))).reached().as_ps();
    for eighths in [2, 5] {
        let mut simulation = Simulation::new(vec![node(&firmware(STORES))], Duration::from_ns(40));
        let until = Time::from_ps(end / 8 * eighths);
        let limits = Limits { until, ..Limits::default() };
        assert_eq!(simulation.run(&limits, &mut |_, _| ControlFlow::Continue(())), Ending::TimeLimit);
        simulation.partitions_mut().for_each(|node| node.rest_at(until));
        let saved = Archive::save(&mut simulation).expect("it is saved");
        let mut restored = Simulation::new(vec![node(&firmware(STORES))], Duration::from_ns(40));
        Archive::restore(&saved, &mut restored).expect("it is restored");
        let limits = Limits { patience: Duration::from_ns(100_000), ..Limits::default() };
        assert_eq!(restored.run(&limits, &mut |_, _| ControlFlow::Continue(())), Ending::AllFinished);
        let mut node = restored.into_partitions().remove(0);
        let end = node.reached();
        node.close(end);
        assert_eq!(node.to_json(), whole, "at {eighths} eighths");
    }
}
