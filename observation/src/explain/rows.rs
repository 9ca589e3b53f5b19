//! The table of what happened during a message's life.

use narthex_fabrics::{FrameKind, FrameSummary};
use narthex_kernel::Time;
use narthex_machine::node::probe::{Crossing, Event, Message, OnLink, Packet, Refused, Supplier};
use narthex_machine::node::{Agent, Node};
use narthex_memory::directory::Lane;
use narthex_memory::interconnects::LinkPacket;
use schemars::JsonSchema;
use serde::Serialize;

use super::ends::Ends;
use super::hops;
use super::life::{Life, NodeHistory, Role, Way};
use super::path::Segment;

/// Within a block, of which several packets may have parts.
const BLOCK: u64 = 63;

/// Finds words for addresses and agents.
pub struct AddressNames<'a> {
    /// Whose addresses.
    pub nodes: &'a [Node],
    /// Between what the life goes.
    pub ends: &'a Ends,
}

impl AddressNames<'_> {
    /// The node on which an end is.
    fn node(&self, place: usize) -> &Node {
        &self.nodes[self.ends.each[place].node]
    }

    /// What an agent of an end's node is called there.
    fn agent(&self, place: usize, history: &NodeHistory, agent: Agent) -> &'static str {
        let node = self.node(place);
        let is_of_another = |port: usize| {
            let process = self.ends.each[place].process;
            let own = [false, true].map(|receives| node.interface_ports(process, receives));
            node.is_of_interface(port) && !own.iter().any(|ports| ports.contains(&port))
        };
        match agent {
            _ if history.role(agent) == Role::Processor => "processor",
            Agent::Processor(index) if !node.runs_firmware(index) => "another processor",
            Agent::Port(port) if is_of_another(port) => "interface of another process",
            _ => node.name_of_agent(agent),
        }
    }
}

/// Where a transaction's bytes come from or go to, if it moves a block.
fn data(crossing: &Crossing) -> Option<String> {
    let other = match crossing.supplier? {
        Supplier::MainMemory => "main memory",
        Supplier::Agent(Agent::Processor(_)) => "cache",
        Supplier::Agent(Agent::Port(_) | Agent::Bridge) => "interface",
    };
    let direction = if crossing.kind.carries_block() { "to" } else { "from" };
    Some(format!("{direction} {other}"))
}

/// A row of the table, as the document has it. What a row has nothing to say of is left out.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RowEntry {
    /// Who does it.
    pub agent: &'static str,
    /// What happens, with numbers and addresses.
    pub what: String,
    /// The same without those.
    pub deed: String,
    /// The kind of transaction, frame or packet.
    pub kind: String,
    /// What its address belongs to, or between which places of a chip it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Where a block comes from, or goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The interconnect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<&'static str>,
    /// For how many cycles it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// The same in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_on_bus_ps: Option<u64>,
    /// The part of the latency that waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// Whether an agent refuses it; only where one does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// When, from the begin of the life on.
    pub time_ps: i64,
    /// The end at which it happens.
    #[schemars(extend("enum" = [0, 1]))]
    pub node: usize,
    /// Whether the life waits for it.
    pub critical: bool,
}

/// A row with its instant, by which rows are in order.
struct Row {
    at: Time,
    entry: RowEntry,
}

/// What happened at both nodes, in the order of time.
pub fn rows(
    life: &Life,
    histories: &[NodeHistory; 2],
    segments: &[Segment],
    words: &AddressNames<'_>,
) -> Vec<RowEntry> {
    let mut rows = landmarks(life);
    for (node, history) in histories.iter().enumerate() {
        for record in &history.records {
            let row = match &record.event {
                Event::Crossing(crossing) => transaction(life, (node, history), crossing, segments, words),
                Event::Refused(refused) => refusal(life, (node, history), refused, segments, words),
                Event::Departure(note, _) => frame(life, (node, history), record.at, note, "departs"),
                Event::Arrival(note, _) => frame(life, (node, history), record.at, note, "arrives"),
                Event::Packet(packet) => own_packet(life, (node, history), record.at, packet),
                Event::OnLink(on_link) => link_packet(life, (node, history), on_link, segments, words),
                _ => None,
            };
            rows.extend(row);
        }
        rows.extend(directory_messages(life, (node, history), segments));
    }
    // A transaction stands before its packets.
    rows.sort_by_key(|row| (row.at, row.entry.node, row.entry.agent == "link"));
    let from_begin = |at: Time| at.as_ps() as i64 - life.sent.as_ps() as i64;
    rows.into_iter().map(|Row { at, entry }| RowEntry { time_ps: from_begin(at), ..entry }).collect()
}

fn landmarks(life: &Life) -> Vec<Row> {
    let program = |at, node, what: &str| {
        let (what, kind) = (what.to_owned(), "program".to_owned());
        let entry = RowEntry {
            agent: "program",
            deed: what.clone(),
            what,
            kind,
            node,
            critical: true,
            ..RowEntry::default()
        };
        Row { at, entry }
    };
    let (sends, receives) = match life.way {
        Way::Messaging => ("begins to send".into(), "starts the handler".into()),
        Way::Wait => ("its wait is over".to_owned(), "its wait is over".to_owned()),
        Way::Calls { sends, gives, .. } => (format!("calls {sends}"), format!("{gives} has returned it")),
    };
    let noticed = match life.way {
        Way::Messaging => Some(program(life.noticed, 1, "finds the packet")),
        Way::Calls { tells: (tells, at), gives, .. } if tells != gives => {
            Some(program(at, 1, &format!("{tells} has told of it")))
        }
        _ => None,
    };
    let ends = [program(life.sent, 0, &sends), program(life.handled, 1, &receives)];
    ends.into_iter().chain(noticed).collect()
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
    let role = history.role(crossing.agent);
    let own = segments.iter().filter(|segment| segment.part.worker() == Some((node, role)));
    let part =
        own.filter(|segment| !overlap(segment).is_zero()).max_by_key(overlap).map(|segment| segment.part);
    let place = words.node(node).place_of(crossing.address);
    let entry = RowEntry {
        agent: words.agent(node, history, crossing.agent),
        what: crossing.in_words(&place.to_string()),
        deed: crossing.in_words(&place.name),
        kind: crossing.name().into(),
        place: Some(place.name),
        address: Some(crossing.address),
        data: data(crossing),
        bus: Some(crossing.bus),
        cycles: Some(crossing.cycles),
        time_on_bus_ps: Some((crossing.released - crossing.granted).as_ps()),
        part: part.map(|part| part.as_str()),
        node,
        critical: part.is_some(),
        ..RowEntry::default()
    };
    Some(Row { at: crossing.granted, entry })
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
    let refuses = format!(", which the {} refuses", words.agent(node, history, refused.by));
    row.entry.what += &refuses;
    row.entry.deed += &refuses;
    row.entry.refused = true;
    Some(row)
}

/// A packet on a link, while a transaction there is on the path or beside it. It is on the path itself if it is of
/// such a transaction's blocks.
fn link_packet(
    life: &Life,
    (node, history): (usize, &NodeHistory),
    &OnLink { bus, packet }: &OnLink,
    segments: &[Segment],
    words: &AddressNames<'_>,
) -> Option<Row> {
    let LinkPacket { is_down, name, wires: (at, _), arrival, data_bytes, address, tag } = packet;
    if at < life.sent || at > life.handled {
        return None;
    }
    let of_crossing = |crossing: &Crossing| {
        let is_its = address.is_none_or(|own| own & !BLOCK == crossing.address & !BLOCK);
        crossing.bus == bus && is_its && crossing.granted <= at && at <= crossing.released
    };
    let crossings = history.records.iter().filter_map(|record| match &record.event {
        Event::Crossing(crossing) if of_crossing(crossing) => Some(crossing),
        _ => None,
    });
    let mut rows = crossings.filter_map(|own| transaction(life, (node, history), own, segments, words));
    let critical = rows.any(|row| row.entry.critical);
    let place = address.map(|address| words.node(node).place_of(address));
    let to = if is_down { "to the device" } else { "to the host" };
    let tag = tag.map_or(String::new(), |tag| format!(", tag {tag}"));
    let of = place.as_ref().map_or(String::new(), |place| format!(" of {place}"));
    let bytes = if data_bytes > 0 { format!(", {data_bytes} bytes") } else { String::new() };
    let time = arrival - at;
    let entry = RowEntry {
        agent: "link",
        what: format!("{name} {to}{of}{bytes}{tag}"),
        deed: format!("{name} {to}"),
        kind: "link packet".into(),
        place: place.map(|place| place.name),
        address,
        bus: Some(bus),
        cycles: Some(time.as_ps() / 1_000),
        time_on_bus_ps: Some(time.as_ps()),
        node,
        critical,
        ..RowEntry::default()
    };
    Some(Row { at, entry })
}

/// A packet between tiles that carries no bytes from one end to the other: what answers them,
/// asks for them, or stays at a tile. The last that come before the receiver's processor can see
/// anything are on the path.
fn own_packet(life: &Life, (node, history): (usize, &NodeHistory), at: Time, packet: &Packet) -> Option<Row> {
    let is_own = |tile: usize| Agent::Processor(tile) == history.processor;
    let own = if packet.is_there { packet.to.is_some_and(is_own) } else { is_own(packet.port) };
    if !own || at < life.sent || at > life.handled {
        return None;
    }
    let verb = if packet.is_there { "arrives" } else { "departs" };
    let deed = format!("{} {verb}", packet.name);
    let what = format!("{} {} {verb}", packet.name, packet.number);
    let critical = node == 1 && life.way == Way::Wait && at > life.arrived && at <= life.visible;
    let kind = packet.name.to_string();
    let entry = RowEntry { agent: "network", what, deed, kind, node, critical, ..RowEntry::default() };
    Some(Row { at, entry })
}

/// A frame of the network that belongs to the life.
fn frame(
    life: &Life,
    (node, history): (usize, &NodeHistory),
    at: Time,
    note: &FrameSummary,
    verb: &str,
) -> Option<Row> {
    if at < life.sent || at > life.handled {
        return None;
    }
    let what = match note.kind {
        FrameKind::Packet => format!("packet {} ({} bytes) {verb}", note.sequence, note.payload_bytes),
        FrameKind::ReturnedPacket => format!("packet {}, returned, {verb}", note.sequence),
        FrameKind::Acknowledgement => format!("acknowledgement of packet {} {verb}", note.sequence),
        FrameKind::Notice => format!("notice about packet {} of its stream {verb}", note.sequence),
    };
    let kind = note.kind.name();
    let critical =
        note.kind == FrameKind::Packet && Some(note.sequence) == life.sequence && history.is_of_ends(note);
    let deed = format!("{kind} {verb}");
    let entry =
        RowEntry { agent: "network", what, deed, kind: kind.into(), node, critical, ..RowEntry::default() };
    Some(Row { at, entry })
}

/// The messages of a directory for which the processor of an end waits during the life: what goes
/// from its tile to a block's home, to another cache, and back.
fn directory_messages(life: &Life, (node, history): (usize, &NodeHistory), segments: &[Segment]) -> Vec<Row> {
    let waits = &history.directory;
    let mut rows = Vec::new();
    for crossing in waits.between(life.sent, life.handled) {
        let way = hops::way(waits, crossing);
        for (at, message) in waits.messages(crossing) {
            let in_life = at >= life.sent && at <= life.handled;
            let is_hop = way.iter().any(|hop| hop.from == at || hop.to == at);
            let is_waited_for = segments.iter().any(|segment| {
                segment.part.worker() == Some((node, Role::Processor))
                    && segment.from <= at
                    && segment.to >= at
            });
            if in_life {
                rows.push(directory_message(node, at, message, is_hop && is_waited_for));
            }
        }
    }
    rows
}

fn directory_message(node: usize, at: Time, message: &Message, critical: bool) -> Row {
    let Message { lane, name, places: [from, to], is_there, bus, .. } = *message;
    let what = match lane {
        Lane::Request => "request",
        Lane::Forward => "forward",
        Lane::Response => "response",
    };
    let name = name.replace('_', " ");
    let (deed, place) = match is_there {
        false => (format!("{what} '{name}' leaves"), format!("place {from} for place {to}")),
        true => (format!("{what} '{name}' is at"), format!("place {to}")),
    };
    let entry = RowEntry {
        agent: "directory",
        what: format!("{deed} {place}"),
        deed,
        kind: format!("directory {what}"),
        place: Some(place),
        bus: Some(bus),
        node,
        critical,
        ..RowEntry::default()
    };
    Row { at, entry }
}
