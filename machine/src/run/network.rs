//! What a network of switches saw, and a network on chip, as parts of a run's document.

use narthex_fabrics::switch::Switch;
use narthex_fabrics::terminal::{self, Terminal};
use narthex_fabrics::{Frame, link};
use narthex_kernel::Time;
use serde::Serialize;
use serde_json::{Value, json};

use crate::node::Node;

/// The entry `network` of a run's document; none over a network without switches.
pub fn document(nodes: &[Node], switches: &[Switch<Frame>], end: Time) -> Option<Value> {
    let terminals: Vec<&Terminal<Frame>> = nodes.iter().filter_map(Node::terminal).collect();
    if terminals.is_empty() {
        return None;
    }
    let mut total = terminal::Statistics::default();
    terminals.iter().for_each(|terminal| total.merge(terminal.statistics()));
    let injections = terminals
        .iter()
        .enumerate()
        .map(|(node, terminal)| link_json(format!("node {node}"), terminal.switch_name(), terminal.link()));
    let between = switches.iter().flat_map(|switch| {
        switch.links().map(move |(to, statistics)| link_json(switch.name(), to, statistics))
    });
    let queues = switches.iter().flat_map(|switch| {
        switch
            .inputs(end)
            .map(move |(from, input)| with_counts(json!({ "switch": switch.name(), "from": from }), input))
    });
    let described = [terminal::Statistics::describe(), link::Statistics::describe()].concat();
    Some(json!({
        "switches": switches.len(),
        "statistics": total.reported(),
        "described": described,
        "links": injections.chain(between).collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
        "bytes_from": terminals.iter().map(|terminal| terminal.bytes_from()).collect::<Vec<_>>(),
    }))
}

/// The entry `network_on_chip` of a run's document: what each link carried on all nodes
/// together; none without one.
pub fn on_chip_document(nodes: &[Node]) -> Option<Value> {
    let first = nodes.first()?.network_on_chip()?;
    let mut links: Vec<(String, String, link::Statistics)> =
        first.links().map(|(from, to, _)| (from, to, link::Statistics::default())).collect();
    for network in nodes.iter().filter_map(Node::network_on_chip) {
        for ((.., total), (.., own)) in links.iter_mut().zip(network.links()) {
            total.merge(own);
        }
    }
    Some(json!({
        "nodes": nodes.len(),
        "lanes": first.lanes(),
        "described": link::Statistics::describe(),
        "links": links.into_iter().map(|(from, to, own)| link_json(from, to, &own)).collect::<Vec<_>>(),
    }))
}

fn link_json(from: String, to: String, statistics: &link::Statistics) -> Value {
    with_counts(json!({ "from": from, "to": to }), statistics.reported())
}

/// An entry with what was counted for it.
fn with_counts(mut document: Value, counts: impl Serialize) -> Value {
    let counts = serde_json::to_value(counts).expect("counts are plain data");
    if let (Some(document), Value::Object(counts)) = (document.as_object_mut(), counts) {
        document.extend(counts);
    }
    document
}
