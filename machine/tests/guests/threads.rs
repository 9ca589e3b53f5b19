//! Host threads change nothing: no picosecond, no statistic, no byte of a guest's
//! memory, nothing that a probe is told. Here threads are real, more than processors too,
//! and are held up at random.

#[path = "../../../kernel/src/simulation/tests/delayed.rs"]
mod delayed;

use std::ops::ControlFlow;

use narthex_cores::linux::Program;
use narthex_kernel::archive::Archive;
use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::random::Stream;
use narthex_kernel::simulation::{Ending, Limits, Simulation, Threads};
use narthex_kernel::{Duration, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::{Progress, RunRequest, config, run};

use crate::listener::Listener;
use crate::machines_and_interfaces;
use crate::support::exchange::{Exchange, both_ways, exchange, ping_pong};
use crate::support::{Guest, assert_ledgers_add_up, failure, request, result, run_guest, with};
use delayed::Delayed;

const THREADS: [usize; 2] = [2, 16];
/// Pairs of nodes exchange messages; some pairs are divided among threads.
const NODES: u32 = 6;

/// All that there is of a run: each node's archive, statistics and probe.
#[derive(PartialEq)]
struct Everything {
    archives: Vec<Vec<u8>>,
    statistics: Vec<String>,
    probes: Vec<Listener>,
}

fn nodes(request: &RunRequest, elf: &[u8]) -> (Vec<Node>, Duration) {
    let machine = config::load(&request.machine).expect("a preset");
    let name = request.interface.parse().expect("a name");
    let program = Program::parse("guest", elf).expect("a program");
    let blueprint = Blueprint::new(&machine.config, name, program, request);
    let nodes = (0..NODES).map(|number| blueprint.node(number).expect("a node")).collect();
    (nodes, machine.config.network.lookahead())
}

fn everything(request: &RunRequest, elf: &[u8], threads: usize, probes: bool) -> Everything {
    let (nodes, lookahead) = nodes(request, elf);
    let delayed = |(number, mut node): (usize, Node)| {
        if probes {
            node.attach(Box::<Listener>::default());
        }
        Delayed::new(node, number + 100 * threads)
    };
    let nodes = nodes.into_iter().enumerate().map(delayed).collect();
    let mut simulation = Simulation::new(nodes, lookahead).with_threads(Threads::Exactly(threads));
    let ending = simulation.run(&Limits::default(), &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(ending, Ending::AllFinished);
    let mut nodes: Vec<Node> = simulation.into_partitions().into_iter().map(|node| node.partition).collect();
    let end = nodes.iter().map(Node::reached).max().expect("there are nodes");
    let archives = nodes.iter_mut().map(|node| Archive::save(node).expect("it can be saved")).collect();
    nodes.iter_mut().for_each(|node| node.close(end));
    let statistics = nodes.iter().map(|node| node.to_json().to_string()).collect();
    let probes = nodes.iter_mut().filter_map(Node::detach).collect();
    Everything { archives, statistics, probes }
}

fn of_nodes(machine: &str, interface: &str) -> RunRequest {
    RunRequest { nodes: Some(NODES), ..request(machine, interface) }
}

fn assert_same(probes: bool, guest: &Exchange) {
    for (machine, interface) in machines_and_interfaces() {
        let (request, elf) = (guest.in_run(&of_nodes(machine, interface)), guest.elf());
        let alone = everything(&request, &elf, 1, probes);
        assert!(alone.probes.iter().all(|probe| probe.events.len() > 50 && probe.looks.len() > 50));
        for threads in THREADS {
            let Everything { archives, statistics, probes } = everything(&request, &elf, threads, probes);
            let same = [archives == alone.archives, statistics == alone.statistics, probes == alone.probes];
            assert_eq!(same, [true; 3], "{machine} {interface}, {threads} threads");
        }
    }
}

#[test]
fn nodes_and_their_memory_are_the_same_byte_for_byte() {
    assert_same(false, &both_ways(10, 248, 3));
}

#[test]
fn probes_are_told_and_shown_the_same() {
    assert_same(true, &ping_pong(6, 24));
}

#[test]
fn documents_are_the_same_byte_for_byte() {
    let guest = ping_pong(50, 64);
    for (machine, interface) in machines_and_interfaces() {
        let document = |threads| {
            let request = RunRequest { threads, ..of_nodes(machine, interface) };
            run_guest(&request, &guest).expect("it runs").to_string()
        };
        let alone = document(1);
        assert!([2, 16].map(document).iter().all(|other| *other == alone), "{machine} {interface}");
    }
}

#[test]
fn failures_read_the_same() {
    // Node 0 is told nothing and waits; another program ends with a code.
    let of_threads = |threads| {
        let request = RunRequest { threads, ..of_nodes("hpca98", "CNI32Qm") };
        with(request, "machine.time_without_progress=20us")
    };
    let waits = |threads| failure(&of_threads(threads), &exchange("receive any"));
    let ends = |threads| failure(&of_threads(threads), "exit 3");
    assert_eq!((waits(1).exit_code, ends(1).exit_code), (3, 1));
    assert_eq!((waits(2), ends(2)), (waits(1), ends(1)));
}

/// What nodes 0 to 5 have done when one of them ends the run, in the middle of what the others do.
#[test]
fn a_run_that_a_program_ends_leaves_the_same_counts() {
    let last_words = [
        ("hpca98", "CNI32Qm", "execute ld 0x40000000 0", "no memory is mapped there"),
        ("isca96", "CNI0Qm on memory-bus", "execute ld 0x40000000 0", "no memory is mapped there"),
        ("hpca98", "NI2w", "send-header 0x7fff", "node 2"),
        ("hpca98", "CNI512Q", "receive any receive any receive 5", "node 2"),
    ];
    for (machine, interface, words, part) in last_words {
        let guest = exchange(format!(
            "on 2 repeat 12 send ^1 64 receive ^1 end {words}
             on 3 repeat 12 receive ^1 send ^1 64 end repeat 9 send ^1 8 end
             on even repeat 300 send ^1 64 receive ^1 end on odd repeat 300 receive ^1 send ^1 64 end"
        ));
        let fails = |threads| failure(&RunRequest { threads, ..of_nodes(machine, interface) }, &guest);
        let alone = fails(1);
        assert!(alone.message.contains(part), "{interface}: {alone}");
        let document = alone.document.as_ref().expect("what was counted");
        assert_eq!(document["ending"], "failed");
        assert_ledgers_add_up(document);
        for threads in [2, 3] {
            assert!(fails(threads) == alone, "{interface}, {threads} threads");
        }
        let stepwise = RunRequest { schedule_steps: true, ..of_nodes(machine, interface) };
        assert!(failure(&stepwise, &guest) == alone, "{interface}, all steps are events");
    }
}

#[test]
fn messages_that_take_no_time_work_and_take_the_same_time_in_every_run() {
    for interface in ["NI2w", "CNI32Qm"] {
        let request = with(of_nodes("hpca98", interface), "network.latency=0ns");
        let guest = ping_pong(50, 64);
        let mut notices = Vec::new();
        let mut document = |threads| {
            let request = RunRequest { threads, ..request.clone() };
            let observer = &mut |progress: Progress<'_>| {
                if let Progress::Notice(text) = progress {
                    notices.push(text.to_owned());
                }
                true
            };
            run(&guest.in_run(&request), &guest.elf(), observer).expect("it runs").to_string()
        };
        let alone = document(1);
        assert!(document(1) == alone && document(4) == alone, "{interface}");
        assert!(notices.iter().all(|text| text.contains("network.latency") && text.contains("one thread")));
        assert!(notices[2].ends_with("instead of 4"), "{notices:?}");
        let slow = result(&with(of_nodes("hpca98", interface), "network.latency=400ns"), &guest);
        let fast = result(&request, &guest);
        assert!(fast["simulated_ps"].as_u64() < slow["simulated_ps"].as_u64());
    }
}
