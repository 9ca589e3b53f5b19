//! What a network of switches saw, and a network on chip, as parts of a run's document.

use narthex_fabrics::switch::Switch;
use narthex_fabrics::terminal::{self, Terminal};
use narthex_fabrics::{Frame, link};
use narthex_kernel::Time;
use serde_json::json;

use super::document::{LinkEntry, NetworkEntry, OnChipEntry, QueueEntry};
use crate::node::Node;

/// The entry `network` of a run's document; none over a network without switches.
pub fn entry(nodes: &[Node], switches: &[Switch<Frame>], end: Time) -> Option<NetworkEntry> {
    let terminals: Vec<&Terminal<Frame>> = nodes.iter().filter_map(Node::terminal).collect();
    if terminals.is_empty() {
        return None;
    }
    let mut total = terminal::Statistics::default();
    terminals.iter().for_each(|terminal| total.merge(terminal.statistics()));
    let injections = terminals
        .iter()
        .enumerate()
        .map(|(node, terminal)| link_entry(format!("node {node}"), terminal.switch_name(), terminal.link()));
    let between = switches.iter().flat_map(|switch| {
        switch.links().map(move |(to, statistics)| link_entry(switch.name(), to, statistics))
    });
    let queues = switches.iter().flat_map(|switch| {
        switch.inputs(end).map(move |(from, waited)| QueueEntry { switch: switch.name(), from, waited })
    });
    Some(NetworkEntry {
        switches: switches.len(),
        statistics: json!(total.reported()),
        described: [terminal::Statistics::describe(), link::Statistics::describe()].concat(),
        links: injections.chain(between).collect(),
        queues: queues.collect(),
        bytes_from: terminals.iter().map(|terminal| terminal.bytes_from().to_vec()).collect(),
    })
}

/// The entry `network_on_chip` of a run's document: what each link carried on all nodes
/// together; none without one.
pub fn on_chip_entry(nodes: &[Node]) -> Option<OnChipEntry> {
    let first = nodes.first()?.network_on_chip()?;
    let mut links: Vec<(String, String, link::Statistics)> =
        first.links().map(|(from, to, _)| (from, to, link::Statistics::default())).collect();
    for network in nodes.iter().filter_map(Node::network_on_chip) {
        for ((.., total), (.., own)) in links.iter_mut().zip(network.links()) {
            total.merge(own);
        }
    }
    Some(OnChipEntry {
        nodes: nodes.len(),
        lanes: first.lanes(),
        described: link::Statistics::describe(),
        links: links.into_iter().map(|(from, to, own)| link_entry(from, to, &own)).collect(),
    })
}

fn link_entry(from: String, to: String, statistics: &link::Statistics) -> LinkEntry {
    LinkEntry { from, to, carried: json!(statistics.reported()) }
}
