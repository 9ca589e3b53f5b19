//! An idle node is small: simulated machines may have thousands of them. (Alone
//! in its program, so that no other test changes the memory of the process.)

mod support;

use std::fs;
use std::ops::ControlFlow;

use narthex_cores::linux::Program;
use narthex_kernel::simulation::{Ending, Limits, Simulation};
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::{RunRequest, config};

use support::{program, request};

const NODES: u32 = 64;
/// What an idle node may cost the host.
const LIMIT_BYTES: u64 = 2 << 20;
/// What the kernel counts resident memory in, on all hosts with this file.
const HOST_PAGE_BYTES: u64 = 4096;

/// Resident memory of this process, where the host tells.
fn resident_bytes() -> Option<u64> {
    let counts = fs::read_to_string("/proc/self/statm").ok()?;
    counts.split_whitespace().nth(1)?.parse().ok().map(|pages: u64| pages * HOST_PAGE_BYTES)
}

#[test]
fn a_node_whose_program_ends_at_once_takes_less_than_2_mib() {
    if resident_bytes().is_none() {
        eprintln!("skipped: this host has no /proc/self/statm, which tells the memory of a process");
        return;
    }
    // All are kept until the end, so that none gets memory that another gave back.
    let mut kept = Vec::new();
    for interface in ["NI2w", "CNI512Q", "CNI32Qm"] {
        let before = resident_bytes().expect("it was there before");
        kept.push(idle_nodes(interface));
        let growth = resident_bytes().expect("it was there before").saturating_sub(before);
        let each = growth / u64::from(NODES);
        println!("{interface}: {} KiB a node", each >> 10);
        assert!(each < LIMIT_BYTES, "{interface}: an idle node takes {each} bytes");
    }
}

/// The machine at the end of a run in which every program ended at once.
fn idle_nodes(interface: &str) -> Simulation<Node> {
    let machine = config::load("hpca98").expect("a preset");
    let request = RunRequest { nodes: Some(NODES), ..request("hpca98", interface) };
    let program = Program::parse("guest", program("exit 0")).expect("a program");
    let name = interface.parse().expect("a name");
    let blueprint = Blueprint::new(&machine.config, name, program, &request);
    let nodes = (0..NODES).map(|number| blueprint.node(number).expect("a node")).collect();
    let mut simulation = Simulation::new(nodes, machine.config.network.build().smallest_latency());
    let ending = simulation.run(&Limits::default(), &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(ending, Ending::AllFinished);
    simulation
}
