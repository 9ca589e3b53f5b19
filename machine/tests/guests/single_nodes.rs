//! Nodes of machines in a test's own text, without a network between them.

use std::ops::ControlFlow;

use narthex_cores::linux::Program;
use narthex_kernel::simulation::{Ending, Limits, Simulation, Threads};
use narthex_kernel::{Archive, Duration, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::config::{self, Machine};
use narthex_machine::node::Node;
use serde_json::Value;

use crate::support::{program, request};

/// Ten cycles of most of their buses.
const LOOKAHEAD: Duration = Duration::from_ns(40);
/// Without progress for this time, a run ends.
const PATIENCE: Duration = Duration::from_ns(1_000_000);

/// A machine in the text of a file, with settings.
pub fn load(file: &str, text: &str, settings: &[&str]) -> Machine {
    config::load_text(file, text)
        .and_then(|machine| machine.with_settings(settings))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A program, or firmware, in the assembler's notation.
pub fn parse(source: &str) -> Program {
    Program::parse("guest", program(source)).expect("a sound program")
}

/// A machine over NI2w whose host runs `source`.
pub fn blueprint<'a>(machine: &'a Machine, source: &str) -> Blueprint<'a> {
    let request = request("two-buses.toml", "NI2w");
    let interface = request.interface.parse().expect("an interface");
    Blueprint::new(&machine.config, interface, parse(source), &request)
}

/// Its first node.
pub fn node_of(blueprint: &Blueprint<'_>) -> Node {
    blueprint.node(0).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Runs nodes to their end.
pub fn simulate(nodes: Vec<Node>, threads: usize) -> (Ending, Vec<Node>) {
    run(Simulation::new(nodes, LOOKAHEAD).with_threads(Threads::Exactly(threads)))
}

/// Runs a node whose programs have to end, and closes its accounts.
pub fn finish(node: Node) -> Node {
    let (ending, mut nodes) = simulate(vec![node], 1);
    let mut node = nodes.remove(0);
    assert_eq!(ending, Ending::AllFinished, "{:?}", node.failure());
    let end = node.reached();
    node.close(end);
    node
}

/// Runs nodes until an instant, saves them, restores others from that, and runs those to their
/// end, which all programs have to reach.
pub fn go_on_from(fresh: &impl Fn() -> Vec<Node>, until: Time) -> Vec<Node> {
    let mut simulation = Simulation::new(fresh(), LOOKAHEAD);
    let limits = Limits { until, ..Limits::default() };
    assert_eq!(simulation.run(&limits, &mut |_, _| ControlFlow::Continue(())), Ending::TimeLimit);
    simulation.partitions_mut().for_each(|node| node.rest_at(until));
    let saved = Archive::save(&mut simulation).expect("it is saved");
    let mut restored = Simulation::new(fresh(), LOOKAHEAD);
    Archive::restore(&saved, &mut restored).expect("it is restored");
    let (ending, nodes) = run(restored);
    assert_eq!(ending, Ending::AllFinished);
    nodes
}

/// The results of nodes that have ended.
pub fn results(mut nodes: Vec<Node>) -> Vec<Value> {
    let end = nodes.iter().map(Node::reached).max().expect("there are nodes");
    nodes.iter_mut().for_each(|node| node.close(end));
    nodes.iter().map(Node::to_json).collect()
}

/// What a process reported, in order.
pub fn reported(node: &Node, process: usize) -> Vec<(String, f64)> {
    node.processes[process].reports.iter().map(|report| (report.name.clone(), report.value)).collect()
}

fn run(mut simulation: Simulation<Node>) -> (Ending, Vec<Node>) {
    let limits = Limits { patience: PATIENCE, ..Limits::default() };
    let ending = simulation.run(&limits, &mut |_, _| ControlFlow::Continue(()));
    (ending, simulation.into_partitions())
}
