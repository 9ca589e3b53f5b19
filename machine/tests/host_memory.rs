//! What nodes take of the host's memory: little while they are idle, less than
//! 3 MB beyond what the guest touches when their caches are full, and never more
//! than was estimated. (Alone in its program, so that no other test changes
//! the memory of the process.)

mod support;

use std::fs;
use std::ops::ControlFlow;

use narthex_cores::linux::Program;
use narthex_kernel::simulation::{Ending, Limits, Simulation};
use narthex_machine::compose::Blueprint;
use narthex_machine::host_memory::Estimate;
use narthex_machine::node::Node;
use narthex_machine::{RunRequest, config};
use narthex_memory::main_memory::PAGE_BYTES;

use support::{program, request};

/// What an idle node of a large machine may cost the host.
const IDLE_LIMIT_BYTES: u64 = 256 << 10;
/// What any may, beyond the pages that its guest has touched.
const LIMIT_BYTES: u64 = 3_000_000;
/// What the kernel counts resident memory in, on all hosts with this file.
const HOST_PAGE_BYTES: u64 = 4096;

/// Stores into every block of 1 MiB of new memory, which is all of a cache. The
/// blocks stay there: main memory does not get them.
const FILL: &str = "
    li a0, 0; li a1, 0x100000; li a2, 3; li a3, 0x22; li a4, -1; li a5, 0; li a7, 222; ecall
    li t1, 0x100000
    add t1, t1, a0
fill:
    sd t1, 0(a0)
    addi a0, a0, 64
    bne a0, t1, fill
    exit 0
";

/// Resident memory of this process, where the host tells.
fn resident_bytes() -> Option<u64> {
    let counts = fs::read_to_string("/proc/self/statm").ok()?;
    counts.split_whitespace().nth(1)?.parse().ok().map(|pages: u64| pages * HOST_PAGE_BYTES)
}

/// A machine at the end of its run, with what each of its nodes took.
struct Measured {
    /// Kept until the end, so that no other gets memory that it gave back.
    _simulation: Simulation<Node>,
    estimate: Estimate,
    /// In bytes.
    each: u64,
    /// Bytes of touched pages among them.
    touched: u64,
}

fn measure(machine: &str, interface: &str, nodes: u32, source: &str) -> Measured {
    let before = resident_bytes().expect("it was there before");
    let machine = config::load(machine).expect("a preset");
    let request = RunRequest { nodes: Some(nodes), ..request("", interface) };
    let program = Program::parse("guest", program(source)).expect("a program");
    let name = interface.parse().expect("a name");
    let blueprint = Blueprint::new(&machine.config, name, program, &request);
    let estimate = Estimate::of(&blueprint).expect("an estimate");
    let nodes = (0..nodes).map(|number| blueprint.node(number).expect("a node")).collect();
    let mut simulation = Simulation::new(nodes, machine.config.network.lookahead());
    let ending = simulation.run(&Limits::default(), &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(ending, Ending::AllFinished);
    let growth = resident_bytes().expect("it was there before").saturating_sub(before);
    let count = simulation.partitions().count() as u64;
    let pages: u64 = simulation.partitions().map(|node| node.touched_pages() as u64).sum();
    let (each, touched) = (growth / count, pages * PAGE_BYTES / count);
    println!(
        "{interface}, {count} nodes: {} KiB a node, {} of them touched; estimated {}",
        each >> 10,
        touched >> 10,
        estimate.node_bytes >> 10
    );
    Measured { _simulation: simulation, estimate, each, touched }
}

#[test]
fn nodes_are_small_and_no_larger_than_estimated() {
    if resident_bytes().is_none() {
        eprintln!("skipped: this host has no /proc/self/statm, which tells the memory of a process");
        return;
    }
    let mut kept = Vec::new();
    for interface in ["NI2w", "CNI512Q", "CNI32Qm"] {
        let idle = measure("hpca98", interface, 1024, "exit 0");
        assert!(idle.each < IDLE_LIMIT_BYTES, "{interface}: an idle node takes {} bytes", idle.each);
        assert!(idle.each <= idle.estimate.node_bytes, "{interface}: idle nodes take more than estimated");
        let full = measure("hpca98", interface, 24, FILL);
        let own = full.each - full.touched;
        assert!(own < LIMIT_BYTES, "{interface}: a node takes {own} bytes beyond the guest's pages");
        let Measured { each, estimate, .. } = full;
        assert!(each <= estimate.node_bytes, "{interface}: a node takes {each} bytes, more than estimated");
        assert!(estimate.node_bytes < each * 3 / 2, "{interface}: a node takes only {each} of the estimate");
        kept.extend([idle, full]);
    }
}
