//! Timelines as their readers see them.

use std::collections::{BTreeMap, HashMap, HashSet};

use narthex_observation::trace::perfetto::messages::{EventType, Trace, TrackEvent, Value as Annotation};
use prost::Message as _;
use serde_json::Value;
use vcd::{Command, IdCode, Parser, ScopeItem};

/// Something that goes on in a row; instants in picoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    pub name: String,
    pub depth: usize,
    /// The name of the slice around it.
    pub around: Option<String>,
    pub begin: u64,
    pub end: u64,
}

impl Slice {
    pub fn length(&self) -> u64 {
        self.end - self.begin
    }

    /// The part of it that lies within a stretch.
    pub fn within(&self, from: u64, to: u64) -> Option<Slice> {
        let (begin, end) = (self.begin.max(from), self.end.min(to));
        (begin < end).then(|| Slice { begin, end, ..self.clone() })
    }
}

/// A row: a node's group and the row's name.
type Row = (String, String);

/// A decoded timeline in Perfetto's format.
#[derive(Default)]
pub struct Timeline {
    slices: BTreeMap<Row, Vec<Slice>>,
    numbers: BTreeMap<Row, Vec<i64>>,
    instants: BTreeMap<Row, Vec<String>>,
    begun_flows: HashSet<u64>,
    ended_flows: HashSet<u64>,
    nodes: Vec<String>,
}

/// What a reader knows while it reads.
#[derive(Default)]
struct Reader {
    rows: HashMap<u64, (String, Option<u64>, bool)>,
    event_names: HashMap<u64, String>,
    keys: HashMap<u64, String>,
    open: HashMap<u64, Vec<Slice>>,
    last: u64,
}

impl Reader {
    fn row(&self, uuid: u64) -> Row {
        let (name, parent, _) = &self.rows[&uuid];
        (self.rows[&parent.expect("a row is a node's")].0.clone(), name.clone())
    }

    /// The instant of an event, in picoseconds.
    fn instant(&self, nanoseconds: u64, event: &TrackEvent, key: &str) -> u64 {
        let rest = event.debug_annotations.iter().find_map(|annotation| {
            let is_it = self.keys[&annotation.name_iid.expect("a name")] == key;
            match annotation.value {
                Some(Annotation::Uint(rest)) if is_it => Some(rest),
                _ => None,
            }
        });
        nanoseconds * 1_000 + rest.unwrap_or(0)
    }
}

impl Timeline {
    /// Reads a whole file; what begins has to end, innermost first.
    pub fn decode(bytes: &[u8]) -> Timeline {
        let mut timeline = Timeline::default();
        let mut reader = Reader::default();
        for packet in Trace::decode(bytes).expect("a trace").packet {
            if let Some(names) = packet.interned_data {
                let new = names.event_names.into_iter();
                reader.event_names.extend(new.map(|name| (name.iid.unwrap(), name.name.unwrap())));
                let new = names.debug_annotation_names.into_iter();
                reader.keys.extend(new.map(|name| (name.iid.unwrap(), name.name.unwrap())));
            }
            if let Some(row) = packet.track_descriptor {
                let name = row.name.expect("a name");
                if name.starts_with("node ") {
                    timeline.nodes.push(name.clone());
                }
                let former =
                    reader.rows.insert(row.uuid.unwrap(), (name, row.parent_uuid, row.counter.is_some()));
                assert!(former.is_none(), "a row is described once");
            }
            if let Some(event) = packet.track_event {
                timeline.event(&mut reader, packet.timestamp.expect("an instant"), &event);
            }
        }
        assert!(reader.open.values().all(Vec::is_empty), "what begins ends");
        timeline
    }

    fn event(&mut self, reader: &mut Reader, nanoseconds: u64, event: &TrackEvent) {
        let uuid = event.track_uuid.expect("a row");
        let row = reader.row(uuid);
        let kind = event.r#type();
        let key = if kind == EventType::SliceEnd { "end_ps" } else { "begin_ps" };
        let now = reader.instant(nanoseconds, event, key);
        assert!(now >= reader.last, "time goes on");
        reader.last = now;
        assert_eq!(reader.rows[&uuid].2, kind == EventType::Counter, "numbers have rows of their own");
        let name = || reader.event_names[&event.name_iid.expect("a name")].clone();
        match kind {
            EventType::SliceBegin => {
                let name = name();
                let open = reader.open.entry(uuid).or_default();
                let around = open.last().map(|around| around.name.clone());
                open.push(Slice { name, depth: open.len(), around, begin: now, end: 0 });
            }
            EventType::SliceEnd => {
                let slice = reader.open.get_mut(&uuid).and_then(Vec::pop).expect("what ends has begun");
                assert!(slice.begin < now, "{row:?}: {slice:?} has a length");
                self.slices.entry(row).or_default().push(Slice { end: now, ..slice });
            }
            EventType::Instant => self.instants.entry(row).or_default().push(name()),
            EventType::Counter => self.numbers.entry(row).or_default().push(event.counter_value.unwrap()),
            EventType::Unspecified => panic!("an event of no kind"),
        }
        for &flow in &event.flow_ids {
            assert!(!self.ended_flows.contains(&flow), "an arrow ends once");
            self.begun_flows.insert(flow);
        }
        for flow in &event.terminating_flow_ids {
            assert!(self.begun_flows.contains(flow), "an arrow that ends has begun");
            assert!(self.ended_flows.insert(*flow), "an arrow ends once");
        }
    }

    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The names of a node's rows in which something goes on.
    pub fn rows(&self, node: usize) -> Vec<String> {
        let node = format!("node {node}");
        self.slices.keys().filter(|(of, _)| *of == node).map(|(_, name)| name.clone()).collect()
    }

    /// What goes on in a row, in the order of ends.
    pub fn slices(&self, node: usize, row: &str) -> Vec<Slice> {
        self.slices.get(&(format!("node {node}"), row.to_owned())).cloned().unwrap_or_default()
    }

    pub fn last_number(&self, node: usize, row: &str) -> i64 {
        let numbers = self.numbers.get(&(format!("node {node}"), row.to_owned()));
        *numbers.and_then(|numbers| numbers.last()).expect("the row shows a number")
    }

    /// How often something happened to packets at a node's port.
    pub fn instants(&self, node: usize, name: &str) -> u64 {
        let all = &self.instants[&(format!("node {node}"), "network port".to_owned())];
        all.iter().filter(|instant| *instant == name).count() as u64
    }

    pub fn flow_count(&self) -> usize {
        self.begun_flows.len()
    }

    /// This many arrows begin, and each ends.
    pub fn assert_flows(&self, count: usize) {
        assert_eq!((self.begun_flows.len(), self.ended_flows.len()), (count, count));
    }

    /// The processors' slices are their ledgers, to the picosecond.
    pub fn assert_ledgers(&self, document: &Value) {
        for (node, result) in document["nodes"].as_array().unwrap().iter().enumerate() {
            for (index, processor) in result["processors"].as_array().unwrap().iter().enumerate() {
                let mut ledger = BTreeMap::<String, u64>::new();
                for slice in self.slices(node, &format!("processor {index}")) {
                    if let Some(activity) = &slice.around {
                        *ledger.entry(format!("{activity} / {}", slice.name)).or_default() += slice.length();
                    }
                }
                let expected: BTreeMap<String, u64> =
                    serde_json::from_value(processor["ledger_ps"].clone()).expect("a ledger");
                assert_eq!(ledger, expected, "node {node}, processor {index}");
            }
        }
    }

    /// The buses' slices are the time for which they were occupied.
    pub fn assert_buses(&self, document: &Value) {
        for (node, result) in document["nodes"].as_array().unwrap().iter().enumerate() {
            for (bus, statistic) in BUSES {
                let shown: u64 = self.slices(node, bus).iter().map(Slice::length).sum();
                assert_eq!(shown, result["statistics"][statistic].as_u64().unwrap_or(0), "{bus}");
            }
        }
    }
}

/// Buses, and the statistics of the time for which they are occupied.
const BUSES: [(&str, &str); 3] =
    [("memory bus", "bus_occupied"), ("I/O bus", "io_bus_occupied"), ("private bus", "private_bus_occupied")];

/// Reads a whole value change dump: buses are busy as long as they were, and
/// while they are an agent has them.
pub fn assert_dump_is_sound(bytes: &[u8], document: &Value) {
    let mut parser = Parser::new(bytes);
    let header = parser.parse_header().expect("a header");
    assert_eq!(header.timescale, Some((1, vcd::TimescaleUnit::PS)));
    let mut busy_since = HashMap::<IdCode, Option<u64>>::new();
    let mut busy = HashMap::<IdCode, u64>::new();
    let mut now = None;
    for command in parser {
        match command.expect("a sound line") {
            Command::Timestamp(next) => {
                assert!(now.is_none_or(|now| now < next), "time goes on");
                now = Some(next);
            }
            Command::ChangeScalar(id, value) => {
                let since = (value == vcd::Value::V1).then_some(now.unwrap());
                if let Some(Some(before)) = busy_since.insert(id, since) {
                    *busy.entry(id).or_default() += now.unwrap() - before;
                }
            }
            _ => {}
        }
    }
    assert!(busy_since.values().all(Option::is_none), "buses are free at the end");
    for (node, result) in document["nodes"].as_array().unwrap().iter().enumerate() {
        let scope = header.find_scope(&[format!("node_{node}")]).expect("a node");
        for (bus, statistic) in BUSES {
            let name = bus.replace([' ', '/'], "_");
            let module = scope.items.iter().find_map(|item| match item {
                ScopeItem::Scope(module) if module.identifier == name => Some(module),
                _ => None,
            });
            let of = |module: &vcd::Scope| {
                let id = module.find_var("busy").expect("a signal").code;
                busy.get(&id).copied().unwrap_or(0)
            };
            assert_eq!(module.map_or(0, of), result["statistics"][statistic].as_u64().unwrap_or(0), "{bus}");
        }
    }
}
