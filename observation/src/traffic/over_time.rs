//! The network in intervals of one length ([`Intervals`]): how long links were busy, how much waited in
//! queues, how much of the room behind links was taken, and what was sent again.
//!
//! A link counts a parcel's bytes while it carries them. A queue counts those of a parcel that leaves
//! from the instant at which it begins, up to its last byte, so an interval can have some of the next one's.

use narthex_fabrics::Frame;
use narthex_fabrics::intervals::{Intervals, Track};
use narthex_fabrics::link::Sender;
use narthex_fabrics::switch::Switch;
use narthex_kernel::{Duration, Time};
use narthex_machine::node::Node;
use serde_json::{Value, json};

/// Of a link.
#[derive(Debug)]
struct Link {
    from: String,
    to: String,
    busy_ps: Track,
    /// Bytes of the room behind it that are taken; none where its sender does not count it.
    taken_bytes: Track,
}

/// Of an input of a switch.
#[derive(Debug)]
struct Queue {
    from: String,
    switch: String,
    byte_ns: Track,
}

/// Of a node.
#[derive(Debug, Default)]
struct OfNode {
    returned: Track,
    sent_again: Track,
    waiting_bytes: Track,
}

/// The network of a run in intervals.
pub struct OverTime {
    intervals: Intervals,
    links: Vec<Link>,
    queues: Vec<Queue>,
    nodes: Vec<OfNode>,
}

impl OverTime {
    /// In intervals of this length.
    pub fn new(interval: Duration) -> Self {
        let intervals = Intervals::new(interval);
        OverTime { intervals, links: Vec::new(), queues: Vec::new(), nodes: Vec::new() }
    }

    /// When the interval that is under way ends.
    pub fn next_look(&self) -> Time {
        self.intervals.next_look()
    }

    /// The run has come to `now`, at the end of an interval or within it.
    pub fn stop(&mut self, now: Time, nodes: &[&mut Node], switches: &[&Switch<Frame>]) {
        if now == self.next_look() {
            self.look(now, nodes, switches);
        }
    }

    fn look(&mut self, now: Time, nodes: &[&mut Node], switches: &[&Switch<Frame>]) {
        if self.intervals.count() == 0 {
            self.name(nodes, switches);
        }
        let of_nodes = nodes.iter().filter_map(|node| node.terminal());
        let buffer_bytes = of_nodes.clone().next().map_or(0, |terminal| terminal.buffer_bytes());
        let senders = of_nodes.map(|terminal| terminal.sender());
        let senders = senders.chain(switches.iter().flat_map(|switch| switch.senders()));
        for (link, sender) in self.links.iter_mut().zip(senders) {
            link.look(now, sender, buffer_bytes);
        }
        let inputs = switches.iter().flat_map(|switch| switch.inputs(now));
        for (queue, (_, input)) in self.queues.iter_mut().zip(inputs) {
            queue.byte_ns.count(input.byte_ns);
        }
        self.nodes.iter_mut().zip(nodes).for_each(|(own, node)| own.look(node));
        if self.intervals.end(now) {
            self.join();
        }
    }

    /// The first look finds out what there is.
    fn name(&mut self, nodes: &[&mut Node], switches: &[&Switch<Frame>]) {
        self.nodes = nodes.iter().map(|_| OfNode::default()).collect();
        let terminals = nodes.iter().enumerate().filter_map(|(node, own)| Some((node, own.terminal()?)));
        let of_nodes = terminals.map(|(node, terminal)| (format!("node {node}"), terminal.switch_name()));
        let of_switches =
            switches.iter().flat_map(|switch| switch.links().map(|(to, _)| (switch.name(), to)));
        let link = |(from, to)| Link { from, to, busy_ps: Track::default(), taken_bytes: Track::default() };
        self.links = of_nodes.chain(of_switches).map(link).collect();
        let queues = switches.iter().flat_map(|switch| {
            switch.inputs(Time::ZERO).map(|(from, _)| Queue {
                from,
                switch: switch.name(),
                byte_ns: Track::default(),
            })
        });
        self.queues = queues.collect();
    }

    fn join(&mut self) {
        for Link { busy_ps, taken_bytes, .. } in &mut self.links {
            busy_ps.join();
            taken_bytes.join_latest();
        }
        self.queues.iter_mut().for_each(|queue| queue.byte_ns.join());
        for OfNode { returned, sent_again, waiting_bytes } in &mut self.nodes {
            returned.join();
            sent_again.join();
            waiting_bytes.join_latest();
        }
    }

    /// The run is over at `end`: the entry `over_time`, of what did anything.
    pub fn finish(mut self, end: Time, nodes: &[&mut Node], switches: &[&Switch<Frame>]) -> Value {
        if self.intervals.has_rest(end) {
            self.look(end, nodes, switches);
        }
        let lengths_ps = self.intervals.lengths_ps(end);
        let links = self.links.iter().filter(|link| !link.busy_ps.is_empty());
        let queues = self.queues.iter().filter(|queue| !queue.byte_ns.is_empty());
        json!({
            "interval_ps": self.intervals.length().as_ps(),
            "links": links.map(|link| link.to_json(&lengths_ps)).collect::<Vec<_>>(),
            "queues": queues.map(|queue| queue.to_json(&lengths_ps)).collect::<Vec<_>>(),
            "nodes": self.nodes.iter().enumerate().map(|(node, own)| own.to_json(node)).collect::<Vec<_>>(),
        })
    }
}

impl Link {
    fn look(&mut self, now: Time, sender: &Sender, buffer_bytes: u32) {
        self.busy_ps.count(sender.busy_before(now).as_ps());
        self.taken_bytes.note(if sender.counts_room() { sender.used_bytes(buffer_bytes) } else { 0 });
    }

    fn to_json(&self, lengths_ps: &[u64]) -> Value {
        json!({
            "from": self.from,
            "to": self.to,
            "busy": self.busy_ps.over(lengths_ps.iter().map(|&ps| ps as f64)),
            "taken_bytes": self.taken_bytes.amounts(),
        })
    }
}

impl Queue {
    fn to_json(&self, lengths_ps: &[u64]) -> Value {
        json!({
            "from": self.from,
            "switch": self.switch,
            "bytes": self.byte_ns.over(lengths_ps.iter().map(|&ps| ps as f64 / 1e3)),
        })
    }
}

impl OfNode {
    fn look(&mut self, node: &Node) {
        self.returned.count(node.flow_control().returned.get());
        self.sent_again.count(node.flow_control().retried.get());
        self.waiting_bytes.note(node.terminal().map_or(0, |terminal| terminal.queued_bytes()));
    }

    fn to_json(&self, node: usize) -> Value {
        json!({
            "node": node,
            "returned": self.returned.amounts(),
            "sent_again": self.sent_again.amounts(),
            "waiting_bytes": self.waiting_bytes.amounts(),
        })
    }
}
