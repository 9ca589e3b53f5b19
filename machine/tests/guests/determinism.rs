//! The same run gives the same bytes, and every picosecond is accounted for.

use std::ops::ControlFlow;

use narthex_cores::linux::Program;
use narthex_kernel::simulation::{Ending, Limits, Simulation};
use narthex_machine::compose::Blueprint;
use narthex_machine::config;
use narthex_machine::node::Node;

use crate::machines_and_interfaces;
use crate::support::exchange::ping_pong;
use crate::support::{Guest, assert_ledgers_add_up, request, result, run_guest};

/// More messages than a queue has entries, so that senses are reversed.
const TURNS: u64 = 150;

fn each_run(mut check: impl FnMut(&str, &str)) {
    for (machine, interface) in machines_and_interfaces() {
        check(machine, interface);
    }
}

#[test]
fn the_same_run_gives_a_result_document_of_the_same_bytes() {
    let guest = ping_pong(TURNS, 64);
    each_run(|machine, interface| {
        let request = request(machine, interface);
        let documents = [(); 2].map(|()| run_guest(&request, &guest).expect("it runs").to_string());
        assert!(documents[0] == documents[1], "{machine} {interface}");
    });
}

#[test]
fn the_order_in_which_nodes_are_built_changes_nothing() {
    each_run(|machine, interface| {
        let forward = nodes_of(machine, interface, [0, 1]);
        let backward = nodes_of(machine, interface, [1, 0]);
        assert!(forward == backward, "{machine} {interface}");
    });
}

/// What the nodes say at the end of a run for which they were built in this order.
fn nodes_of(machine: &str, interface: &str, order: [u32; 2]) -> Vec<String> {
    let machine = config::load(machine).expect("a preset");
    let guest = ping_pong(TURNS, 64);
    let request = guest.in_run(&request("", interface));
    let name = interface.parse().expect("a name");
    let program = Program::parse("guest", &*guest.elf()).expect("a program");
    let blueprint = Blueprint::new(&machine.config, name, program, &request);
    let mut built = order.map(|number| (number, blueprint.node(number).expect("a node")));
    built.sort_by_key(|&(number, _)| number);
    let nodes = built.into_iter().map(|(_, node)| node).collect();
    let mut simulation = Simulation::new(nodes, machine.config.network.lookahead());
    let ending = simulation.run(&Limits::default(), &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(ending, Ending::AllFinished);
    let mut nodes = simulation.into_partitions();
    let end = nodes.iter().map(Node::reached).max().expect("two nodes");
    nodes.iter_mut().for_each(|node| node.close(end));
    nodes.iter().map(|node| node.to_json().to_string()).collect()
}

#[test]
fn the_ledger_of_every_processor_adds_up_to_the_simulated_time() {
    each_run(|machine, interface| {
        for bytes in [0, 8, 64, 248] {
            // Adds up the ledgers, as every run of these tests does.
            result(&request(machine, interface), &ping_pong(10, bytes));
        }
    });
}

#[test]
#[should_panic(expected = "node 0")]
fn a_ledger_that_lacks_a_picosecond_is_noticed() {
    let mut document = result(&request("hpca98", "NI2w"), &ping_pong(1, 8));
    let simulated = document["simulated_ps"].as_u64().expect("a time");
    document["simulated_ps"] = (simulated + 1).into();
    assert_ledgers_add_up(&document);
}
