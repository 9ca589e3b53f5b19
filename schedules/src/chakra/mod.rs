//! Execution traces of MLCommons Chakra: what a machine-learning program computes and communicates.
//!
//! A rank's trace is a file `NAME.RANK.et`: protobuf messages, each behind its length, first the
//! metadata and then the nodes (schema/protobuf/et_def.proto of Chakra, version 0.0.4). A node waits
//! for those that it names as data or control dependencies.
//!
//! - A **computation** and a memory access last as long as the trace says.
//! - A **send** and a **receive** have `comm_size`, `comm_tag`, and `comm_dst` or `comm_src`.
//! - A **collective** has `comm_type` and `comm_size`, the bytes of the rank's own input: Chakra's converter of
//!   PyTorch traces multiplies the shapes of a node's inputs (`get_comm_size`), and ASTRA-sim divides it by the
//!   number of ranks for an all-to-all and does not for an all-gather (Ring.cc). It is done by the algorithms of
//!   [`crate::collectives`], chosen by size.
//! - A collective of some ranks names its **group** (`pg_name`). Who is in it stands in NAME.json beside the
//!   traces, as ASTRA-sim has it: `{"0": [0, 1], "1": [2, 3]}`. A rank's n-th collective in a group meets the
//!   others' n-th there.

mod groups;
#[cfg(test)]
mod tests;

use std::path::Path;

use prost::Message;
use rustc_hash::FxHashMap;

use crate::Problem;
use crate::collectives::{Algorithm, Part};
use crate::schedule::{Kind, Operation, RankBuilder, Schedule};
use crate::traces::{self, COLLECTIVE_TAG};

use groups::Groups;

/// What a trace's file is called at its end.
pub const ENDING: &str = "et";
/// The newest version of the schema that is read.
const NEWEST: [u32; 3] = [0, 0, 4];

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    control: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    data: Vec<u64>,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(oneof = "Value", tags = "7, 9, 11, 13, 15, 17, 19, 21, 27, 28, 29")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(string, tag = "29")]
    Text(String),
}

#[derive(Clone, PartialEq, Message)]
struct Bools {
    #[prost(bool, repeated, tag = "1")]
    values: Vec<bool>,
}

/// Reads the traces of all ranks; `file` is that of any of them.
///
/// # Errors
/// If a rank's file is missing, damaged or of a newer schema: file and node are named.
pub fn load(file: &str) -> Result<Schedule, Problem> {
    let groups = Groups::beside(Path::new(file))?;
    traces::load(file, "NAME.RANK.et, as step.0.et", |bytes, rank, ranks| {
        read_rank(bytes, (rank, ranks), &groups)
    })
}

fn read_rank(mut bytes: &[u8], (rank, ranks): (u32, u32), groups: &Groups) -> Result<RankBuilder, Problem> {
    let length = bytes.len();
    let cut =
        |rest: &[u8]| Problem::new(format!("is cut or damaged at byte {} of {length}", length - rest.len()));
    let metadata = Metadata::decode_length_delimited(&mut bytes).map_err(|_| cut(bytes))?;
    check_version(&metadata.version)?;
    let mut trace =
        Trace { builder: RankBuilder::default(), rank, ranks, groups, collectives: FxHashMap::default() };
    let (mut nodes, mut places) = (vec![], FxHashMap::default());
    while !bytes.is_empty() {
        let node = Node::decode_length_delimited(&mut bytes).map_err(|_| cut(bytes))?;
        let place = trace.add(&node).map_err(|problem| problem.within(node.title()))?;
        if places.insert(node.id, place).is_some() {
            return Err(Problem::new(format!("{} stands twice", node.title())));
        }
        nodes.push(node);
    }
    for node in &nodes {
        let (begin, _) = places[&node.id];
        for earlier in node.control.iter().chain(&node.data) {
            let (_, end) = places.get(earlier).ok_or_else(|| {
                Problem::new(format!("{} waits for node {earlier}, which is not in the trace", node.title()))
            })?;
            trace.builder.require(begin, *end);
        }
    }
    trace.builder.dependencies.sort_unstable();
    trace.builder.dependencies.dedup();
    Ok(trace.builder)
}

fn check_version(version: &str) -> Result<(), Problem> {
    let parts: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
    match parts {
        Some(parts) if parts.len() == 3 && parts[..] <= NEWEST[..] => Ok(()),
        Some(parts) if parts.len() == 3 => Err(Problem::new(format!(
            "is of schema {version}; the newest that is read is 0.0.4: convert the trace with an older Chakra"
        ))),
        _ => Err(Problem::new(format!("states schema '{version}'; expected a version such as 0.0.4"))),
    }
}

impl Node {
    fn title(&self) -> String {
        format!("node {} ({})", self.id, self.name)
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.attributes.iter().find(|each| each.name == name).and_then(|each| each.value.as_ref())
    }

    fn whole(&self, name: &str, most: u64) -> Result<u64, Problem> {
        let value = self.value(name).and_then(|value| match value {
            Value::Int32(value) | Value::Sint32(value) => u64::try_from(*value).ok(),
            Value::Int64(value) | Value::Sint64(value) => u64::try_from(*value).ok(),
            Value::Uint32(value) | Value::Fixed32(value) => Some(u64::from(*value)),
            Value::Uint64(value) | Value::Fixed64(value) => Some(*value),
            Value::Bool(_) | Value::Bools(_) | Value::Text(_) => None,
        });
        value.filter(|value| *value <= most).ok_or_else(|| {
            Problem::new(format!("its attribute '{name}' is missing or no whole number from 0 to {most}"))
        })
    }
}

struct Trace<'a> {
    builder: RankBuilder,
    rank: u32,
    ranks: u32,
    groups: &'a Groups,
    /// How many there have been in each group.
    collectives: FxHashMap<u32, u32>,
}

impl Trace<'_> {
    /// Adds a node's operations; returns the first, which waits for other nodes, and the last.
    fn add(&mut self, node: &Node) -> Result<(u32, u32), Problem> {
        let most_rank = u64::from(self.ranks - 1);
        let most_tag = u64::from(COLLECTIVE_TAG - 1);
        let single = match node.kind {
            0 | 1 => self.calculate(0),
            2..=4 => self.computation(node)?,
            5 | 6 => {
                let (kind, key) =
                    if node.kind == 5 { (Kind::Send, "comm_dst") } else { (Kind::Receive, "comm_src") };
                let (peer, size) = (node.whole(key, most_rank)? as u32, node.whole("comm_size", 1 << 60)?);
                let has_tag = node.value("comm_tag").is_some();
                let tag = if has_tag { node.whole("comm_tag", most_tag)? as u32 } else { 0 };
                self.builder.add(Operation { size, tag, kind, cpu: 0, nic: 0 }, peer)
            }
            7 => return self.collective(node),
            other => {
                return Err(Problem::new(format!(
                    "is of type {other}, which a newer schema has; read are types 0 to 7 (invalid, metadata, memory, \
                     computation, send, receive, collective)"
                )));
            }
        };
        Ok((single, single))
    }

    fn calculate(&mut self, nanoseconds: u64) -> u32 {
        self.builder.add(Operation { size: nanoseconds, tag: 0, kind: Kind::Calculate, cpu: 0, nic: 0 }, 0)
    }

    fn computation(&mut self, node: &Node) -> Result<u32, Problem> {
        if node.duration_micros == 0 && node.whole("num_ops", u64::MAX).is_ok_and(|count| count > 0) {
            return Err(Problem::new(
                "has num_ops and no duration: how long that takes depends on a processor that the trace does not state",
            ));
        }
        Ok(self.calculate(node.duration_micros.saturating_mul(1_000)))
    }

    fn collective(&mut self, node: &Node) -> Result<(u32, u32), Problem> {
        let name = match node.value("pg_name") {
            Some(Value::Text(name)) => name,
            _ => "",
        };
        let (group, members) = self.groups.find(name, self.ranks)?;
        if let Some(Value::Bools(involved)) = node.value("involved_dim")
            && group == 0
            && involved.values.contains(&false)
        {
            return Err(Problem::new(
                "is a collective of some dimensions only (involved_dim), and of no group (pg_name)",
            ));
        }
        let own = members.iter().position(|member| *member == self.rank).ok_or_else(|| {
            Problem::new(format!("is a collective of the group '{name}', in which rank {} is not", self.rank))
        })?;
        let (count, bytes) = (members.len() as u32, node.whole("comm_size", 1 << 60)?);
        let (algorithm, bytes) = algorithm(node.whole("comm_type", 9)?, bytes, count);
        let begin = self.calculate(0);
        let number = self.collectives.entry(group).or_default();
        let all_groups = self.groups.members.len() as u32 + 1;
        let tag = traces::collective_tag(number.wrapping_mul(all_groups).wrapping_add(group));
        *number += 1;
        let mut part = Part {
            rank: &mut self.builder,
            member: &|place| members[place as usize],
            own: own as u32,
            members: count,
            tag,
            calculation_ns: 0,
            last: vec![begin],
        };
        part.write(algorithm, bytes);
        let last = part.last;
        let end = self.calculate(0);
        last.iter().for_each(|&earlier| self.builder.require(end, earlier));
        Ok((begin, end))
    }
}

/// How a collective is done, and on how many bytes.
fn algorithm(kind: u64, bytes: u64, ranks: u32) -> (Algorithm, u64) {
    let each = bytes.div_ceil(u64::from(ranks));
    match kind {
        0 => (Algorithm::all_reduce(bytes), bytes),
        1 => (Algorithm::ReduceBinomial, bytes),
        2 => (Algorithm::AllGatherRing, bytes),
        3 => (Algorithm::GatherLinear, bytes),
        4 => (Algorithm::ScatterLinear, bytes),
        5 => (Algorithm::BroadcastBinomial, bytes),
        6 => (Algorithm::all_to_all(each), each),
        7 | 8 => (Algorithm::ReduceScatterRing, bytes),
        _ => (Algorithm::BarrierDissemination, 1),
    }
}
