//! The table of what happened during a message's life.

use narthex_fabrics::{FrameKind, FrameSummary};
use narthex_kernel::Time;
use narthex_machine::node::probe::{Crossing, Event, Packet, Refused, Supplier};
use narthex_machine::node::{Agent, Node};
use serde_json::{Value, json};

use super::life::{Life, NodeHistory, PROCESSOR};
use super::path::Segment;

/// Finds words for addresses.
pub struct AddressNames<'a> {
    /// Whose addresses.
    pub nodes: &'a [Node],
}

impl AddressNames<'_> {
    /// A node by its place among the histories; the tiles of a chip are on one.
    fn node(&self, place: usize) -> &Node {
        &self.nodes[place.min(self.nodes.len() - 1)]
    }
}

/// Where a transaction's bytes come from or go to, if it moves a block.
fn data(crossing: &Crossing) -> Option<String> {
    let other = match crossing.supplier? {
        Supplier::MainMemory => "main memory",
        Supplier::Agent(Agent::Processor(_)) => "cache",
        Supplier::Agent(Agent::Seat(_)) => "interface",
    };
    let direction = if crossing.kind.carries_block() { "to" } else { "from" };
    Some(format!("{direction} {other}"))
}

/// A row of the table; times in ps from the begin of the life on.
struct Row {
    at: Time,
    node: usize,
    critical: bool,
    value: Value,
}

/// What happened at both nodes, in the order of time.
pub fn rows(
    life: &Life,
    histories: &[NodeHistory; 2],
    segments: &[Segment],
    words: &AddressNames<'_>,
) -> Vec<Value> {
    let mut rows = landmarks(life);
    for (node, history) in histories.iter().enumerate() {
        for record in &history.records {
            let row = match &record.event {
                Event::Crossing(crossing) => transaction(life, (node, history), crossing, segments, words),
                Event::Refused(refused) => refusal(life, (node, history), refused, segments, words),
                Event::Departure(note, _) => frame(life, node, record.at, note, "departs"),
                Event::Arrival(note, _) => frame(life, node, record.at, note, "arrives"),
                Event::Packet(packet) => own_packet(life, node, record.at, packet),
                _ => None,
            };
            rows.extend(row);
        }
    }
    rows.sort_by_key(|row| (row.at, row.node));
    let finish = |row: Row| {
        let mut value = row.value;
        value["time_ps"] = json!(row.at.as_ps() as i64 - life.sent.as_ps() as i64);
        value["node"] = json!(row.node);
        value["critical"] = json!(row.critical);
        value
    };
    rows.into_iter().map(finish).collect()
}

fn landmarks(life: &Life) -> Vec<Row> {
    let program = |at, node, what: &str| Row {
        at,
        node,
        critical: true,
        value: json!({ "agent": "program", "what": what, "deed": what, "kind": "program" }),
    };
    if life.ends_wait {
        return vec![program(life.sent, 0, "its wait is over"), program(life.handled, 1, "its wait is over")];
    }
    vec![
        program(life.sent, 0, "begins to send"),
        program(life.noticed, 1, "finds the packet"),
        program(life.handled, 1, "starts the handler"),
    ]
}

/// A transaction that overlaps the life.
fn transaction(
    life: &Life,
    (node, history): (usize, &NodeHistory),
    crossing: &Crossing,
    segments: &[Segment],
    words: &AddressNames<'_>,
) -> Option<Row> {
    if crossing.released <= life.sent || crossing.granted >= life.handled {
        return None;
    }
    let overlap = |segment: &&Segment| {
        crossing.released.min(segment.to).saturating_since(crossing.granted.max(segment.from))
    };
    let agent = if crossing.agent == history.processor { PROCESSOR } else { crossing.agent };
    let own = segments.iter().filter(|segment| segment.part.worker() == Some((node, agent)));
    let part =
        own.filter(|segment| !overlap(segment).is_zero()).max_by_key(overlap).map(|segment| segment.part);
    let place = words.node(node).place_of(crossing.address);
    Some(Row {
        at: crossing.granted,
        node,
        critical: part.is_some(),
        value: json!({
            "agent": words.node(node).name_of_agent(agent),
            "what": crossing.kind.in_words(&place.to_string()),
            "deed": crossing.kind.in_words(&place.name),
            "kind": crossing.kind.name(),
            "place": place.name,
            "address": crossing.address,
            "data": data(crossing),
            "bus": crossing.bus,
            "cycles": crossing.cycles,
            "time_on_bus_ps": (crossing.released - crossing.granted).as_ps(),
            "part": part.map(|part| part.as_str()),
        }),
    })
}

/// A transaction that overlaps the life and that an agent refuses.
fn refusal(
    life: &Life,
    (node, history): (usize, &NodeHistory),
    refused: &Refused,
    segments: &[Segment],
    words: &AddressNames<'_>,
) -> Option<Row> {
    let mut row = transaction(life, (node, history), &refused.crossing, segments, words)?;
    for key in ["what", "deed"] {
        let words = format!(
            "{}, which the {} refuses",
            row.value[key].as_str()?,
            words.node(node).name_of_agent(refused.by)
        );
        row.value[key] = words.into();
    }
    row.value["refused"] = true.into();
    Some(row)
}

/// A packet between tiles that carries no bytes from one end to the other: what answers them,
/// asks for them, or stays at a tile. The last that come before the receiver's processor can see
/// anything are on the path.
fn own_packet(life: &Life, node: usize, at: Time, packet: &Packet) -> Option<Row> {
    let own = if packet.is_there { packet.to == Some(node) } else { packet.seat == node };
    if !own || at < life.sent || at > life.handled {
        return None;
    }
    let verb = if packet.is_there { "arrives" } else { "departs" };
    let deed = format!("{} {verb}", packet.name);
    let what = format!("{} {} {verb}", packet.name, packet.number);
    let critical = node == 1 && life.ends_wait && at > life.arrived && at <= life.visible;
    let value = json!({ "agent": "network", "what": what, "deed": deed, "kind": packet.name });
    Some(Row { at, node, critical, value })
}

/// A frame of the network that belongs to the life.
fn frame(life: &Life, node: usize, at: Time, note: &FrameSummary, verb: &str) -> Option<Row> {
    if at < life.sent || at > life.handled {
        return None;
    }
    let what = match note.kind {
        FrameKind::Packet => format!("packet {} ({} bytes) {verb}", note.sequence, note.payload_bytes),
        FrameKind::ReturnedPacket => format!("packet {}, returned, {verb}", note.sequence),
        FrameKind::Acknowledgement => format!("acknowledgement of packet {} {verb}", note.sequence),
    };
    let kind = note.kind.name();
    let last = note.kind == FrameKind::Packet && Some(note.sequence) == life.sequence && note.source.0 == 0;
    let deed = format!("{kind} {verb}");
    let value = json!({ "agent": "network", "what": what, "deed": deed, "kind": kind });
    Some(Row { at, node, critical: last, value })
}
