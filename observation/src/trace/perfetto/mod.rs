//! A timeline in Perfetto's native format: a stream of small protocol buffers,
//! each packet of which stands for itself, so that what has been written is a
//! whole trace at any instant.
//!
//! ```text
//!   machine ─┬─ node 0 ─┬─ processor 0, firmware  activity ⊃ occupation
//!            │          ├─ memory bus, ...        transactions
//!            │          ├─ send half, receive half, or what else its interface has
//!            │          ├─ network port           packets, joined by arrows
//!            │          └─ messages in the send half, ...     numbers
//!            └─ node 1 ─── ...
//! ```
//!
//! **Time.** Perfetto counts whole nanoseconds. An instant that is none is
//! written as the nanosecond in which it lies, and what is left as the
//! annotation `begin_ps` or `end_ps` (1 to 999 picoseconds): so nothing is lost,
//! and order and nesting stay as they are.
//!
//! **Size.** Names are interned: after the first use they are small numbers.

pub mod messages;

use std::collections::HashMap;
use std::io::{self, Write};

use narthex_kernel::Time;
use narthex_machine::node::AgentNames;

use super::format::{Format, Frame};
use super::rows::{Detail, Label, Row, Step};
use messages::{
    ChildOrdering, CounterDescriptor, DebugAnnotation, EventType, InternedData, Name, Trace, TracePacket,
    TrackDescriptor, TrackEvent, Value,
};

/// The number of the group that holds all nodes.
const MACHINE: u64 = 1;
/// The only writer's number.
const SEQUENCE: u32 = 1;

/// Writes a timeline in Perfetto's format.
pub struct Perfetto<W: Write> {
    writer: W,
    buffer: Vec<u8>,
    names: AgentNames,
    /// The numbers of nodes' groups and of rows that have been described.
    nodes: HashMap<usize, u64>,
    rows: HashMap<Row, u64>,
    event_names: HashMap<String, u64>,
    keys: HashMap<&'static str, u64>,
    texts: HashMap<String, u64>,
    /// Names that the next packet introduces.
    new_names: InternedData,
    events: u64,
    /// It is full when it has so many.
    most_events: u64,
}

impl<W: Write> Perfetto<W> {
    /// A trace of a machine of this name, whose nodes call their agents so; it is full when it
    /// has `most_events`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(writer: W, machine: &str, names: AgentNames, most_events: u64) -> io::Result<Self> {
        let mut trace = Perfetto {
            writer,
            buffer: Vec::new(),
            names,
            nodes: HashMap::new(),
            rows: HashMap::new(),
            event_names: HashMap::new(),
            keys: HashMap::new(),
            texts: HashMap::new(),
            new_names: InternedData::default(),
            events: 0,
            most_events,
        };
        let machine = TrackDescriptor {
            uuid: Some(MACHINE),
            name: Some(machine.to_owned()),
            child_ordering: Some(ChildOrdering::Explicit.into()),
            ..TrackDescriptor::default()
        };
        trace.describe(machine, TracePacket::INCREMENTAL_STATE_CLEARED)?;
        Ok(trace)
    }

    fn put(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.buffer.clear();
        Trace::append(packet, &mut self.buffer);
        self.writer.write_all(&self.buffer)
    }

    fn describe(&mut self, descriptor: TrackDescriptor, flags: u32) -> io::Result<()> {
        self.put(&TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(flags | TracePacket::NEEDS_INCREMENTAL_STATE),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        })
    }

    /// The number of the next group or row.
    fn next_uuid(&self) -> u64 {
        MACHINE + 1 + (self.nodes.len() + self.rows.len()) as u64
    }

    /// The number of a row, which is described before its first use.
    fn row(&mut self, row: Row) -> io::Result<u64> {
        if let Some(&uuid) = self.rows.get(&row) {
            return Ok(uuid);
        }
        let parent = self.node(row.node)?;
        let uuid = self.next_uuid();
        self.rows.insert(row, uuid);
        let unit_name = Some(if row.track.counts_messages() { "messages" } else { "packets" }.to_owned());
        let counter = row.track.is_number().then_some(CounterDescriptor { unit_name });
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(row.track.name(&self.names)),
            parent_uuid: Some(parent),
            counter,
            sibling_order_rank: Some(row.track.rank()),
            description: Some(row.track.description().to_owned()),
            ..TrackDescriptor::default()
        };
        self.describe(descriptor, 0)?;
        Ok(uuid)
    }

    /// The number of a node's group.
    fn node(&mut self, node: usize) -> io::Result<u64> {
        if let Some(&uuid) = self.nodes.get(&node) {
            return Ok(uuid);
        }
        let uuid = self.next_uuid();
        self.nodes.insert(node, uuid);
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(format!("node {node}")),
            parent_uuid: Some(MACHINE),
            child_ordering: Some(ChildOrdering::Explicit.into()),
            sibling_order_rank: Some(node as i32),
            ..TrackDescriptor::default()
        };
        self.describe(descriptor, 0)?;
        Ok(uuid)
    }

    fn event_name(&mut self, name: &str) -> u64 {
        match self.event_names.get(name) {
            Some(&iid) => iid,
            None => intern(&mut self.event_names, name.to_owned(), name, &mut self.new_names.event_names),
        }
    }

    fn annotation(&mut self, key: &'static str, detail: Detail) -> DebugAnnotation {
        let name = intern(&mut self.keys, key, key, &mut self.new_names.debug_annotation_names);
        let value = match detail {
            Detail::Number(number) => Value::Uint(number),
            Detail::Address(address) => Value::Pointer(address),
            Detail::Text(text) => {
                let new = &mut self.new_names.debug_annotation_string_values;
                Value::StringIid(match self.texts.get(&text) {
                    Some(&iid) => iid,
                    None => intern(&mut self.texts, text.clone(), &text, new),
                })
            }
        };
        DebugAnnotation { name_iid: Some(name), value: Some(value) }
    }

    /// Writes an event at an instant; the picoseconds that it is past its
    /// nanosecond are annotated by `key`.
    fn event(
        &mut self,
        at: Time,
        row: Row,
        kind: EventType,
        key: &'static str,
        mut event: TrackEvent,
    ) -> io::Result<()> {
        self.events += 1;
        event.track_uuid = Some(self.row(row)?);
        event.r#type = Some(kind.into());
        let rest = at.as_ps() % 1_000;
        if rest > 0 {
            let annotation = self.annotation(key, Detail::Number(rest));
            event.debug_annotations.push(annotation);
        }
        let new_names = std::mem::take(&mut self.new_names);
        self.put(&TracePacket {
            timestamp: Some(at.as_ps() / 1_000),
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(TracePacket::NEEDS_INCREMENTAL_STATE),
            track_event: Some(event),
            interned_data: (new_names != InternedData::default()).then_some(new_names),
            track_descriptor: None,
        })
    }

    fn annotations(&mut self, details: Vec<(&'static str, Detail)>) -> Vec<DebugAnnotation> {
        details.into_iter().map(|(key, detail)| self.annotation(key, detail)).collect()
    }
}

/// The number of a name; a new one is added to what has to be introduced.
fn intern<K: std::hash::Hash + Eq>(
    known: &mut HashMap<K, u64>,
    key: K,
    name: &str,
    new: &mut Vec<Name>,
) -> u64 {
    let next = known.len() as u64 + 1;
    *known.entry(key).or_insert_with(|| {
        new.push(Name { iid: Some(next), name: Some(name.to_owned()) });
        next
    })
}

const BEGIN_PS: &str = "begin_ps";
const END_PS: &str = "end_ps";

impl<W: Write + Send> Format for Perfetto<W> {
    fn begin(&mut self, at: Time, row: Row, label: &Label) -> io::Result<()> {
        let debug_annotations = self.annotations(label.details(&self.names));
        let name_iid = Some(self.event_name(label.name()));
        let event = TrackEvent { debug_annotations, name_iid, ..TrackEvent::default() };
        self.event(at, row, EventType::SliceBegin, BEGIN_PS, event)
    }

    fn end(&mut self, at: Time, row: Row) -> io::Result<()> {
        self.event(at, row, EventType::SliceEnd, END_PS, TrackEvent::default())
    }

    fn number(&mut self, at: Time, row: Row, value: u64) -> io::Result<()> {
        let event = TrackEvent { counter_value: Some(value as i64), ..TrackEvent::default() };
        self.event(at, row, EventType::Counter, BEGIN_PS, event)
    }

    fn packet(&mut self, at: Time, row: Row, step: Step, frame: &Frame) -> io::Result<()> {
        let debug_annotations = self.annotations(frame.details());
        let flow: Vec<u64> = frame.flow.into_iter().collect();
        let (flow_ids, terminating_flow_ids) =
            if step.is_last() { (Vec::new(), flow) } else { (flow, Vec::new()) };
        let name_iid = Some(self.event_name(step.name()));
        let event = TrackEvent {
            debug_annotations,
            name_iid,
            flow_ids,
            terminating_flow_ids,
            ..TrackEvent::default()
        };
        self.event(at, row, EventType::Instant, BEGIN_PS, event)
    }

    fn is_full(&self) -> bool {
        self.events >= self.most_events
    }

    fn cut(&mut self, at: Time) -> io::Result<()> {
        let machine = TrackDescriptor {
            uuid: Some(MACHINE),
            description: Some(format!(
                "The run goes on after {at}, where its timeline has {} events.",
                self.events
            )),
            ..TrackDescriptor::default()
        };
        self.describe(machine, 0)
    }

    fn finish(&mut self, _at: Time) -> io::Result<()> {
        self.writer.flush()
    }
}
