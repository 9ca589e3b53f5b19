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
use schemars::JsonSchema;
use serde::Serialize;

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
    pub fn finish(mut self, end: Time, nodes: &[&mut Node], switches: &[&Switch<Frame>]) -> OverTimeEntry {
        if self.intervals.has_rest(end) {
            self.look(end, nodes, switches);
        }
        let lengths_ps = self.intervals.lengths_ps(end);
        let links = self.links.iter().filter(|link| !link.busy_ps.is_empty());
        let queues = self.queues.iter().filter(|queue| !queue.byte_ns.is_empty());
        OverTimeEntry {
            interval_ps: self.intervals.length().as_ps(),
            links: links.map(|link| link.entry(&lengths_ps)).collect(),
            queues: queues.map(|queue| queue.entry(&lengths_ps)).collect(),
            nodes: self.nodes.iter().enumerate().map(|(node, own)| own.entry(node)).collect(),
        }
    }
}

impl Link {
    fn look(&mut self, now: Time, sender: &Sender, buffer_bytes: u32) {
        self.busy_ps.count(sender.busy_before(now).as_ps());
        self.taken_bytes.note(if sender.counts_room() { sender.used_bytes(buffer_bytes) } else { 0 });
    }

    fn entry(&self, lengths_ps: &[u64]) -> LinkEntry {
        LinkEntry {
            from: self.from.clone(),
            to: self.to.clone(),
            busy: self.busy_ps.over(lengths_ps.iter().map(|&ps| ps as f64)),
            taken_bytes: self.taken_bytes.amounts().to_vec(),
        }
    }
}

impl Queue {
    fn entry(&self, lengths_ps: &[u64]) -> QueueEntry {
        QueueEntry {
            from: self.from.clone(),
            switch: self.switch.clone(),
            bytes: self.byte_ns.over(lengths_ps.iter().map(|&ps| ps as f64 / 1e3)),
        }
    }
}

impl OfNode {
    fn look(&mut self, node: &Node) {
        self.returned.count(node.flow_control().returned.get());
        self.sent_again.count(node.flow_control().retried.get());
        self.waiting_bytes.note(node.terminal().map_or(0, |terminal| terminal.queued_bytes()));
    }

    fn entry(&self, node: usize) -> NodeEntry {
        NodeEntry {
            node,
            returned: self.returned.amounts().to_vec(),
            sent_again: self.sent_again.amounts().to_vec(),
            waiting_bytes: self.waiting_bytes.amounts().to_vec(),
        }
    }
}

/// What the network did in each interval; links and queues that did nothing are left out.
#[derive(Serialize, JsonSchema)]
pub struct OverTimeEntry {
    /// The length of all but the last.
    #[schemars(range(min = 1))]
    interval_ps: u64,
    links: Vec<LinkEntry>,
    queues: Vec<QueueEntry>,
    nodes: Vec<NodeEntry>,
}

/// A link in each interval.
#[derive(Serialize, JsonSchema)]
struct LinkEntry {
    from: String,
    to: String,
    /// The share of it for which the link was busy.
    busy: Vec<f64>,
    /// Bytes of the room behind it that are taken at its end.
    taken_bytes: Vec<u64>,
}

/// An input of a switch in each interval.
#[derive(Serialize, JsonSchema)]
struct QueueEntry {
    from: String,
    switch: String,
    /// The bytes that wait, in the mean.
    bytes: Vec<f64>,
}

/// A node in each interval.
#[derive(Serialize, JsonSchema)]
struct NodeEntry {
    node: usize,
    /// Packets that came back.
    returned: Vec<u64>,
    /// Packets that were sent again.
    sent_again: Vec<u64>,
    /// Bytes that wait for its link at the end.
    waiting_bytes: Vec<u64>,
}
