//! The hang explainer: why a run makes no progress, and which process waits for
//! which.
//!
//! ```text
//!   kernel: no message, no system call ──► does a program work? ──yes──► go on
//!           for time_without_progress       ([`work`])
//!                                              │ no
//!                                              ▼
//!   nodes: facts ([`narthex_machine::node::stuck`]) ──► waits ──► circle or chains ──► text, JSON
//!                                            ([`waits`])  ([`chains`])       ([`text`])
//! ```
//!
//! The explanation says only what the machine's state shows. A processor that
//! waits for room waits for the holders of the packets that it has sent, and the
//! flow control knows them. Which node should send the message that a processor
//! waits for is not known, unless a packet to it is stuck on its way.
//!
//! The run ends at an instant that depends neither on threads nor on whether wait
//! loops are computed, with all nodes brought up to it. The same holds for all
//! words and numbers.

mod chains;
mod packets;
mod text;
mod waits;

use narthex_fabrics::switch::Switch;
use narthex_fabrics::{Frame, Rank};
use narthex_kernel::Time;
use narthex_machine::node::Node;
use narthex_machine::node::stuck::{FrameInFlight, HeldFrame, StuckNode, StuckProcess, StuckThread};
use narthex_machine::{Explanation, Halt};
use serde_json::{Value, json};

use chains::Chains;
use waits::Wait;

/// A run that makes no progress, or may not go on.
pub struct Hang {
    halt: Halt,
    /// When it was stopped.
    at: Time,
    /// When something got further last.
    since: Time,
    nodes: Vec<StuckNode>,
    /// What each process waits for, by rank.
    waits: Vec<Wait>,
    chains: Chains,
}

/// What kind of hang it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing is under way.
    Deadlock,
    /// Packets go to and fro and none is delivered, or a transaction is refused again
    /// and again.
    Livelock,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Deadlock => "deadlock",
            Kind::Livelock => "livelock",
        }
    }
}

impl Hang {
    /// How these nodes and the switches between them stand, which rest at the instant `at`.
    pub fn of(nodes: &mut [Node], switches: &[Switch<Frame>], halt: Halt, at: Time) -> Self {
        let mut nodes: Vec<StuckNode> = nodes.iter_mut().map(Node::stuck).collect();
        // What is in switches has come further, and tells more, than what has not left.
        let before_links: Vec<Vec<HeldFrame>> =
            nodes.iter_mut().map(|node| std::mem::take(&mut node.held)).collect();
        for switch in switches {
            for stuck in switch.stuck() {
                nodes[usize::from(stuck.parcel.source.0)].held.push(HeldFrame::in_switch(&stuck));
            }
            for parcel in switch.under_way() {
                nodes[usize::from(parcel.destination.0)].under_way.push(FrameInFlight::from(&parcel.cargo));
            }
        }
        for (node, held) in nodes.iter_mut().zip(before_links) {
            node.held.extend(held);
        }
        let waits = waits::of(&nodes);
        let chains = Chains::of(&waits);
        let since = nodes.iter().map(|node| node.progressed_at).max().unwrap_or(Time::ZERO);
        Hang { halt, at, since, nodes, waits, chains }
    }

    fn kind(&self) -> Kind {
        let moves = |node: &StuckNode| {
            !node.under_way.is_empty() || node.flow.returned() > 0 || !node.refused.is_empty()
        };
        if self.nodes.iter().any(moves) { Kind::Livelock } else { Kind::Deadlock }
    }

    fn processes(&self) -> impl Iterator<Item = &StuckProcess> {
        self.nodes.iter().flat_map(|node| &node.processes)
    }

    /// What a process is called.
    fn name(&self, rank: Rank) -> String {
        self.nodes[0].flow.placement.name(rank)
    }

    /// The explanation for people and for tools.
    pub fn explanation(&self) -> Explanation {
        Explanation { text: self.to_string(), document: self.to_json() }
    }

    /// The explanation for tools; docs/hangs.md says what each field means.
    pub fn to_json(&self) -> Value {
        let names = |chain: &Vec<Rank>| chain.iter().map(|rank| rank.0).collect::<Vec<_>>();
        let mut document = json!({
            "at_ps": self.at.as_ps(),
            "since_ps": self.since.as_ps(),
            "circle": self.chains.circle.as_ref().map(names),
            "chains": self.chains.others.iter().map(names).collect::<Vec<_>>(),
            "waits": self.waits.iter().zip(self.processes()).map(|(wait, process)| self.wait_json(wait, process)).collect::<Vec<_>>(),
            "nodes": self.nodes.iter().enumerate().map(node_json).collect::<Vec<_>>(),
        });
        if self.halt == Halt::NoProgress {
            document["kind"] = self.kind().as_str().into();
            document["summary"] = self.summary().into();
        }
        document
    }

    fn wait_json(&self, wait: &Wait, process: &StuckProcess) -> Value {
        let links: Vec<Value> =
            wait.links.iter().map(|link| json!({ "to": link.to.0, "why": link.why })).collect();
        json!({
            "rank": process.rank.0,
            "place": process.place,
            "waits_for": wait.what.as_str(),
            "detail": wait.detail,
            "links": links,
            "activity": process.threads[0].activity.as_str(),
            "access": process.threads[0].access,
            "calls": process.threads[0].calls,
            "threads": process.threads.iter().skip(1).map(thread_json).collect::<Vec<_>>(),
        })
    }
}

/// A thread of a process beside its first.
fn thread_json(thread: &StuckThread) -> Value {
    json!({
        "place": thread.place,
        "activity": thread.activity.as_str(),
        "access": thread.access,
        "calls": thread.calls,
    })
}

fn node_json((number, node): (usize, &StuckNode)) -> Value {
    let queues: Vec<Value> = node
        .processes
        .iter()
        .flat_map(|process| [(process, &process.send), (process, &process.receive)])
        .map(|(process, queue)| {
            let mut value = serde_json::to_value(queue).expect("plain data");
            value["rank"] = process.rank.0.into();
            value["held_for"] = queue.held_for.map(|rank| rank.0).into();
            value
        })
        .collect();
    let mut document = json!({
        "node": number,
        "queues": queues,
        "flow_control": {
            "limit": node.flow.limit,
            "outstanding": node.flow.outstanding,
            "arrived": node.flow.arrived,
            "came_back": node.flow.came_back,
            "sent_again": node.flow.sent_again,
        },
        "under_way": node.under_way,
        "lost": node.lost,
        "bridge": node.bridge,
        "refused": node.refused,
    });
    if !node.held.is_empty() {
        document["held"] = json!(node.held);
    }
    if !node.firmware.is_empty() {
        document["firmware"] = json!(node.firmware);
    }
    document
}
