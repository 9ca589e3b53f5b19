//! One message's life from a real run, and where its time went.
//!
//! The run is the round trip that the papers measure, over two nodes, with a
//! journal on each ([`journal`]). The message is the request of node 0 to
//! node 1 of one measured round: from the marker with which the messaging
//! library begins to send it to the one with which its handler starts. Seven
//! instants on the *critical path* divide its latency:
//!
//! ```text
//!   node 0                                            node 1
//!   S  the library begins to send
//!   │    the processor: software, blocks, uncached accesses, ...
//!   A  announced
//!   │    the interface: bus, engine
//!   I  injected                   network
//!   └──────────────────────────────────────────────►  R  arrived, a buffer found
//!                                                     │    the interface: bus, engine
//!                                                     V  visible to the processor
//!                                                     │    polls that find nothing
//!                                                     │    the processor: software, blocks, ...
//!                                                     H  the handler starts
//! ```
//!
//! Nothing in this knows a driver or a model; each instant is defined by what
//! the node sees:
//!
//! - **Announced** is the end of the last transaction of the sender's processor
//!   before the injection that changed the state of the send half. Loads of a
//!   status register change nothing; the store of a packet's last doubleword, a
//!   message-ready signal, or a load that starts a transfer do.
//! - **Injected** and **arrived** are those of the packet that arrives last: of
//!   a message of several packets it ends the wait for all. A packet that came
//!   back to its sender adds the time from its first to its last departure.
//! - **Visible** is the last thing that the receive half did by itself, a timer
//!   or a transaction of its own, between the arrival and the instant at which
//!   the library knows of the packet, and not while the processor was at work on
//!   an earlier packet: then it is the processor that the message waits for.
//! - From there on the receiver's time is on the path, whatever packet of the
//!   message it works on. Polls that find nothing are a part of their own.
//!
//! While one stretch is on the path, everything else goes on *beside* it: blocks
//! that the interface reads ahead while the processor composes the rest, polls
//! that find nothing, acknowledgements. The parts are booked in a [`Ledger`], so
//! they add up to the latency to the picosecond or the program stops.
//!
//! Beside messages, transfers between tiles of a chip and hand-overs of locks are explained
//! ([`subject`]): what one tile does, and another waits for ([`hand_over`]).
//!
//! A poll loop meets a message at any phase, so a single life is one of many.
//! The round trip's program pauses between rounds for times drawn from the
//! run's seed; the life that is shown is the one with the median latency, and
//! the mean of the parts over all rounds stands beside it.

mod hand_over;
mod journal;
mod life;
mod path;
mod rows;
mod subject;

use std::collections::BTreeMap;

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::{Ledger, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::config::{self, MachineConfig};
use narthex_machine::node::Node;
use narthex_machine::run::{Explanation, Finished, Halt, Monitor, Progress, SCHEMA_VERSION, simulate};
use narthex_machine::sha256::sha256;
use narthex_machine::{Failure, FirmwareFile, HardwareRequest, RunRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::hang::Hang;
use journal::Journal;
use life::{Life, NodeHistory};
use path::Part;
use rows::AddressNames;
pub use subject::Subject;

/// Which message is to be explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// A preset's name or the path of a machine's file.
    pub machine: String,
    /// The interface, in the taxonomy's notation.
    pub interface: String,
    /// What of it.
    #[serde(default)]
    pub of: Subject,
    /// Bytes of payload; [`DEFAULT_BYTES`] if not given to what has a size.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Changes to the machine: "bus.clock=125MHz".
    #[serde(default)]
    pub set: Vec<String>,
    /// The seed of the random streams; the machine's own if not given.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The firmware of processors that run some, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub firmware: BTreeMap<String, FirmwareFile>,
    /// The hardware that stands in the place of the interface's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareRequest>,
}

/// Of what has a size.
const DEFAULT_BYTES: u64 = 64;
/// Longer messages are refused: their tables would fill books.
const MOST_BYTES: u64 = 65_536;
/// Packets until caches and queues are warm: more than a lap of a queue of 128 messages.
const WARM_UP_PACKETS: u64 = 150;
/// Packets, about, in the measured rounds.
const MEASURED_PACKETS: u64 = 64;
/// Fewest rounds, whatever the size.
const FEWEST_ROUNDS: u64 = 4;
/// Most records that a node's journal keeps.
const JOURNAL_LIMIT: usize = 1 << 20;

/// Runs round trips and explains a message; `elf` is the guest [`PROGRAM`].
/// `observer` sees the simulated time several times a second and returns false to
/// end the run early.
///
/// # Errors
/// With the exit codes of the command line.
pub fn explain(
    request: &ExplainRequest,
    elf: &[u8],
    observer: &mut dyn FnMut(Time) -> bool,
) -> Result<Value, Failure> {
    let bytes = bytes(request)?;
    let machine = machine(request)?;
    let in_tiles = has_tiles(request, &machine);
    let (subject, payload) = (request.of, bytes.unwrap_or(0));
    if subject.is_hand_over() && !in_tiles {
        let problem = format!(
            "one {subject} is explained between the tiles of a chip, and '{}' on {} has no tiles with an interface: \
             take SARC on sarc-prototype or sarc-chip",
            request.interface, request.machine
        );
        return Err(Failure::usage(problem));
    }
    if let Some(problem) = subject.refused_by(&machine).filter(|_| in_tiles) {
        return Err(Failure::usage(problem));
    }
    let packets = payload.div_ceil(machine.payload_bytes()).max(1);
    let rounds = (MEASURED_PACKETS / packets).max(FEWEST_ROUNDS);
    let warm_up = (WARM_UP_PACKETS / packets).max(FEWEST_ROUNDS);
    let args = match subject {
        Subject::Message => [payload, rounds, warm_up].map(|number| number.to_string()).into(),
        _ => subject.arguments(payload),
    };
    let skip = if subject.is_hand_over() { 0 } else { warm_up * packets };
    let mut document = explain_subject(subject, &request.run(args, in_tiles), elf, skip, observer)?;
    document["of"] = json!(subject);
    if let Some(bytes) = bytes {
        document["bytes"] = json!(bytes);
    }
    Ok(document)
}

/// The bytes that are asked for, of what has a size.
fn bytes(request: &ExplainRequest) -> Result<Option<u64>, Failure> {
    let ExplainRequest { of, bytes, .. } = request;
    match bytes {
        Some(bytes) if !of.has_size() => Err(Failure::usage(format!(
            "one {of} has no size that could be chosen: leave out the {bytes} bytes"
        ))),
        Some(bytes) if *bytes > MOST_BYTES => Err(Failure::usage(format!(
            "one {of} of {bytes} bytes is too long to be explained; at most {MOST_BYTES} are"
        ))),
        Some(0) if *of == Subject::Rdma => Err(Failure::usage("an RDMA copy has at least one byte")),
        None if of.has_size() => Ok(Some(DEFAULT_BYTES)),
        given => Ok(*given),
    }
}

/// Explains a message from node 0 to node 1 of any program, once that node has
/// sent `skip` packets.
///
/// # Errors
/// With the exit codes of the command line, also if there is no such message.
pub fn explain_run(
    request: &RunRequest,
    elf: &[u8],
    skip: u64,
    observer: &mut dyn FnMut(Time) -> bool,
) -> Result<Value, Failure> {
    explain_subject(Subject::Message, request, elf, skip, observer)
}

fn explain_subject(
    subject: Subject,
    request: &RunRequest,
    elf: &[u8],
    skip: u64,
    observer: &mut dyn FnMut(Time) -> bool,
) -> Result<Value, Failure> {
    let mut finished = simulate(request, elf, &mut Journals { skip }, &mut |progress| match progress {
        Progress::Time(now) => observer(now),
        _ => true,
    })?;
    let since = measured_since(&finished.nodes[0], subject.region());
    let histories = match &mut finished.nodes[..] {
        [chip] => NodeHistory::of_tiles(chip),
        nodes => [0, 1].map(|number| NodeHistory::new(&mut nodes[number])),
    };
    let mut lives: Vec<Life> = match subject {
        Subject::Message => life::lives(&histories, since),
        _ => {
            let all = hand_over::hand_overs(&histories, since);
            let warm_up = subject::WARM_UP.min(all.len() / 2);
            all.into_iter().skip(warm_up).collect()
        }
    };
    lives.sort_by_key(|life| (life.latency(), life.sent));
    let Some(median) = lives.get(lives.len().saturating_sub(1) / 2) else {
        let problem = format!(
            "'{}' has no {subject} that goes from {} 0 to 1 and that could be explained",
            request.program,
            ends(&finished)
        );
        return Err(Failure::guest(problem));
    };
    Ok(document(request, elf, &finished, &histories, &lives, median))
}

fn machine(request: &ExplainRequest) -> Result<MachineConfig, Failure> {
    let changed = config::load(&request.machine).and_then(|machine| machine.with_settings(&request.set));
    Ok(changed.map_err(Failure::usage)?.config)
}

/// Whether the interface has a part in each tile of a node: its messages go from tile to tile.
fn has_tiles(request: &ExplainRequest, machine: &MachineConfig) -> bool {
    let built = request.interface.parse().ok().and_then(|name| machine.build_interface(&name).ok());
    built.is_some_and(|device| device.seats().iter().any(|seat| seat.of_tile.is_some()))
}

impl ExplainRequest {
    /// The run in which it is looked for.
    fn run(&self, args: Vec<String>, in_tiles: bool) -> RunRequest {
        RunRequest {
            program: self.of.program().into(),
            args,
            machine: self.machine.clone(),
            interface: self.interface.clone(),
            nodes: Some(if in_tiles { 1 } else { 2 }),
            set: self.set.clone(),
            threads: 1,
            seed: self.seed,
            execute_wait_loops: true,
            schedule_steps: false,
            job_nodes: None,
            jobs: Vec::new(),
            firmware: self.firmware.clone(),
            hardware: self.hardware.clone(),
            checkpoint: None,
            until: None,
            timeout: None,
        }
    }
}

/// Keeps a journal on each node, once it has sent `skip` packets.
struct Journals {
    skip: u64,
}

impl Monitor for Journals {
    fn start(&mut self, _: &Blueprint<'_>, nodes: &mut [Node]) -> Result<(), Failure> {
        nodes.iter_mut().for_each(|node| node.attach(Box::new(Journal::new(self.skip, JOURNAL_LIMIT))));
        Ok(())
    }

    fn explain(
        &mut self,
        halt: Halt,
        at: Time,
        nodes: &mut [Node],
        switches: &[Switch<Frame>],
    ) -> Option<Explanation> {
        Some(Hang::of(nodes, switches, halt, at).explanation())
    }
}

/// The instant from which the program measures.
fn measured_since(node: &Node, name: &str) -> Time {
    node.processes[0]
        .regions
        .iter()
        .find(|region| region.name == name)
        .map_or(Time::ZERO, |region| region.begin)
}

/// What sends and receives: nodes, or tiles of one.
fn ends(finished: &Finished) -> &'static str {
    if finished.nodes.len() == 1 { "tile" } else { "node" }
}

fn document(
    request: &RunRequest,
    elf: &[u8],
    finished: &Finished,
    histories: &[NodeHistory; 2],
    lives: &[Life],
    life: &Life,
) -> Value {
    let words = AddressNames { nodes: &finished.nodes };
    let segments = path::segments(life, histories);
    let mean = lives.iter().map(|life| path::ledger(&path::segments(life, histories))).collect::<Vec<_>>();
    json!({
        "schema": SCHEMA_VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "program": request.program,
        "arguments": request.args,
        "binary_sha256": sha256(elf),
        "interface": request.interface_name(&finished.interface),
        "machine": finished.machine.resolved(),
        "ends": ends(finished),
        "packets": life.packets,
        "latency_ps": life.latency().as_ps(),
        "sent_at_ps": life.sent.as_ps(),
        "rounds": summary(lives),
        "instants": life.instants(),
        "transactions": rows::rows(life, histories, &segments, &words),
        "breakdown": breakdown(&path::ledger(&segments), &mean),
    })
}

/// The latencies of all rounds.
fn summary(lives: &[Life]) -> Value {
    let latencies: Vec<u64> = lives.iter().map(|life| life.latency().as_ps()).collect();
    json!({
        "count": lives.len(),
        "total_ps": latencies.iter().sum::<u64>(),
        "minimum_ps": latencies.iter().min(),
        "maximum_ps": latencies.iter().max(),
    })
}

/// Every part that occurs, with its time in the life that is shown and in all rounds.
fn breakdown(shown: &Ledger<Part>, all: &[Ledger<Part>]) -> Vec<Value> {
    let of = |&part: &Part| {
        let total: u64 = all.iter().map(|ledger| ledger.total(part).as_ps()).sum();
        json!({ "part": part.as_str(), "time_ps": shown.total(part).as_ps(), "rounds_total_ps": total })
    };
    let parts = Part::ALL.iter().map(of);
    parts.filter(|entry| entry["rounds_total_ps"] != 0).collect()
}
