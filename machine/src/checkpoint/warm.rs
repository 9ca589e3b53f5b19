//! Warm checkpoints: programs after their warm-up, to go on from over any interface.
//!
//! A [checkpoint](super) is the whole state of a run, and of use to that run alone. A warm one holds
//! what belongs to the programs: memory, registers, the books of their system calls, what they have
//! reported, where their time went. It is made where all processes have come to the same point and
//! no message is under way, so there is nothing in the interface that would be missed. A run that
//! starts from it has a machine of its own, whose clock continues that of the first. Its caches are filled with what
//! those of the first machine held, or empty, and the messaging library opens its interface again.
//!
//! [`node::warm`](crate::node::warm) takes a node's programs out and puts them in.

use std::path::Path;

use narthex_kernel::{Archive, Duration, Time};
use serde::{Deserialize, Serialize};

use super::file::{self, Problem, WARM};
use crate::compose::Blueprint;
use crate::config::Machine;
use crate::node::Node;
use crate::node::warm::WarmNode;
use crate::request::{Caches, Failure, RunRequest};
use crate::run::Written;
use crate::sha256::sha256;
use crate::surroundings::SurroundingsIdentity;

/// The source file of the messaging library, and its function that opens the interface.
const OPENS_INTERFACE: (&str, &str) = ("messages.c", "start");
const REGION: &str = "region:";
const CALL: &str = "call";

/// Where the programs of a run meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// At their first call of `narthex_checkpoint`.
    Call,
    /// Where a region of this name begins first.
    Region(String),
    /// At the first call of `narthex_checkpoint` or begin of a region that no process has come to
    /// at this instant.
    After(Time),
}

impl Point {
    /// The point that a user has written.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if text == CALL {
            return Ok(Point::Call);
        }
        match text.strip_prefix(REGION) {
            Some("") => Err(Failure::usage("--checkpoint-at region: has no name behind it")),
            Some(name) => Ok(Point::Region(name.into())),
            None => text.parse().map(|since: Duration| Point::After(Time::ZERO + since)).map_err(|error| {
                Failure::usage(format!(
                    "--checkpoint-at '{text}' is none of region:NAME, call and a simulated time: {error}"
                ))
            }),
        }
    }

    /// What it is, at the end of a sentence.
    pub fn in_words(&self) -> String {
        match self {
            Point::Call => "to its call of narthex_checkpoint".into(),
            Point::Region(name) => format!("to the begin of region '{name}'"),
            Point::After(at) => {
                format!("to the first common begin of a region or narthex_checkpoint after {at}")
            }
        }
    }
}

/// What a run must have in common with the one that made a warm checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmIdentity {
    version: String,
    program: String,
    arguments: Vec<String>,
    binary_sha256: String,
    surroundings: SurroundingsIdentity,
    nodes: u32,
    processes_per_node: u32,
    packet_bytes: u64,
    header_bytes: u64,
    /// Where its interface stood; of no weight.
    interface: String,
    /// Where its clock stands.
    at: Time,
}

impl WarmIdentity {
    /// That of a run whose clock stands at `at`.
    pub fn new(request: &RunRequest, elf: &[u8], machine: &Machine, at: Time) -> Self {
        let config = &machine.config;
        WarmIdentity {
            version: env!("CARGO_PKG_VERSION").into(),
            program: request.program.clone(),
            arguments: request.args.clone(),
            binary_sha256: sha256(elf),
            surroundings: request.surroundings.identity(),
            nodes: config.machine.nodes,
            processes_per_node: config.processes_per_node(),
            packet_bytes: config.messages.packet.as_u64(),
            header_bytes: config.messages.header.as_u64(),
            interface: request.interface.clone(),
            at,
        }
    }

    /// Why a run cannot start from a checkpoint with this identity, if it cannot.
    fn difference(&self, asked: &WarmIdentity) -> Option<String> {
        if self.version != asked.version {
            return Some(format!("it is of narthex {}, and this is narthex {}", self.version, asked.version));
        }
        let program = |of: &WarmIdentity| {
            format!("'{}'", [std::slice::from_ref(&of.program), &of.arguments[..]].concat().join(" "))
        };
        if (&self.program, &self.arguments) != (&asked.program, &asked.arguments) {
            return Some(format!("it is of program {}; the run asks for {}", program(self), program(asked)));
        }
        if self.binary_sha256 != asked.binary_sha256 {
            let name = &self.program;
            return Some(format!("program '{name}' has been changed or compiled again since it was written"));
        }
        if let Some(difference) = self.surroundings.difference(&asked.surroundings) {
            return Some(difference);
        }
        let numbers = |of: &WarmIdentity| {
            [u64::from(of.nodes), u64::from(of.processes_per_node), of.packet_bytes, of.header_bytes]
        };
        let names = ["nodes", "processes a node", "bytes a packet", "bytes a header"];
        let differs =
            names.iter().zip(numbers(self)).zip(numbers(asked)).find(|((_, one), other)| one != other);
        differs.map(|((name, there), here)| {
            format!(
                "it has {there} {name}, and the run {here}: its messaging library is laid out for {there}"
            )
        })
    }
}

/// What a warm checkpoint holds besides its identity.
#[derive(Serialize, Deserialize)]
struct State {
    nodes: Vec<WarmNode>,
    written: Written,
}

/// Refuses a run that can have no warm checkpoint.
///
/// # Errors
/// If it is one.
pub fn check(request: &RunRequest, nodes: &[Node]) -> Result<(), Failure> {
    if request.checkpoint.is_some() {
        return Err(Failure::usage(
            "a run with --checkpoint-at or --from cannot have --checkpoint-every or --resume: the one checkpoint is \
             of programs for any interface, the other of this very run",
        ));
    }
    if !request.jobs.is_empty() || request.job_nodes.is_some() {
        return Err(Failure::usage("a run of several jobs has no warm checkpoint: they meet nowhere"));
    }
    match nodes.iter().find_map(Node::is_bound_because) {
        Some(why) => Err(Failure::usage(format!("a warm checkpoint cannot be: {why}"))),
        None => Ok(()),
    }
}

/// Writes the programs of nodes, which all wait, as a checkpoint.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    path: &Path,
    identity: &WarmIdentity,
    nodes: &mut [&mut Node],
    written: &Written,
) -> Result<(), Failure> {
    let warm = nodes.iter_mut().map(|node| node.to_warm()).collect::<Result<_, _>>();
    let saved = warm.map_err(Problem::from).and_then(|nodes| {
        let mut state = State { nodes, written: written.in_order() };
        file::write(path, &WARM, identity, &mut state)
    });
    saved.map_err(|problem| {
        Failure::usage(format!("the warm checkpoint '{}' cannot be written: {problem}", path.display()))
    })
}

/// Has the nodes of a run that starts go on from the checkpoint at `path`: what was written before,
/// and where the clock stands.
///
/// # Errors
/// If it is damaged, or of something else.
pub fn start_from(
    (path, caches): (&Path, Caches),
    asked: &WarmIdentity,
    blueprint: &Blueprint<'_>,
    nodes: &mut [Node],
) -> Result<(Written, Time), Failure> {
    let refused = |problem: Problem| {
        Failure::usage(format!("the warm checkpoint '{}' cannot be used: {problem}", path.display()))
    };
    let (identity, bytes) =
        file::read::<WarmIdentity>(path, &WARM, |saved| saved.difference(asked)).map_err(refused)?;
    let mut state = State { nodes: Vec::new(), written: Written::default() };
    Archive::restore(&bytes, &mut state).map_err(|damage| refused(damage.into()))?;
    let (source, name) = OPENS_INTERFACE;
    let program = &blueprint.jobs[0].program;
    let open = program.local_function(source, name).ok_or_else(|| {
        let why = "its program is without Narthex's messaging library, or without its table of symbols, so nothing \
                   would open the interface";
        refused(Problem::Foreign(why.into()))
    })?;
    let at = identity.at;
    for (node, warm) in nodes.iter_mut().zip(state.nodes) {
        node.go_on_from(warm, open, caches, at).map_err(|damage| refused(damage.into()))?;
    }
    Ok((state.written, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_call_the_begin_of_a_region_or_a_time() {
        assert_eq!(Point::parse("call"), Ok(Point::Call));
        assert_eq!(Point::parse("region:main: 2"), Ok(Point::Region("main: 2".into())));
        assert_eq!(Point::parse("10us"), Ok(Point::After(Time::from_ps(10_000_000))));
        for (text, part) in [("region:", "no name"), ("main", "'main' is none of"), ("10", "'10' is none of")]
        {
            let refusal = Point::parse(text).expect_err("no point");
            assert!(refusal.message.contains(part), "{refusal}");
            assert_eq!(refusal.exit_code, Failure::USAGE);
        }
    }

    #[test]
    fn interfaces_may_differ_and_programs_may_not() {
        let saved = WarmIdentity {
            version: "1.2.3".into(),
            program: "em3d".into(),
            arguments: vec!["64".into()],
            binary_sha256: "12ab".into(),
            surroundings: SurroundingsIdentity::default(),
            nodes: 4,
            processes_per_node: 1,
            packet_bytes: 256,
            header_bytes: 8,
            interface: "NI2w".into(),
            at: Time::from_ps(7),
        };
        let refusal_by = |change: fn(&mut WarmIdentity)| {
            let mut asked = saved.clone();
            change(&mut asked);
            saved.difference(&asked)
        };
        assert_eq!(refusal_by(|asked| (asked.interface, asked.at) = ("CNI4".into(), Time::ZERO)), None);
        let words = |change| refusal_by(change).expect("refused");
        assert_eq!(
            words(|asked| asked.nodes = 5),
            "it has 4 nodes, and the run 5: its messaging library is laid out for 4"
        );
        assert_eq!(
            words(|asked| asked.arguments.clear()),
            "it is of program 'em3d 64'; the run asks for 'em3d'"
        );
        assert!(words(|asked| asked.binary_sha256.clear()).contains("compiled again"));
        assert!(
            words(|asked| asked.packet_bytes = 128).starts_with("it has 256 bytes a packet, and the run 128")
        );
    }
}
