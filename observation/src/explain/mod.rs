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
//! ([`subject`]): what one tile does, and another waits for ([`hand_over`]); and messages that a
//! program sends by a library of the interface's own ([`call_lives`]): from the call that sends to
//! the return of the one that gives the message ([`library`]).
//!
//! A life goes between two processes ([`ends`]): the first of node 0 and the first of node 1 where
//! nothing else is asked for. Where a directory serves a processor's transactions, what it
//! waits for is cut at each message's departure and arrival ([`hops`]).
//!
//! The run may be any program's: then one of its own messages is explained.
//!
//! A poll loop meets a message at any phase, so a single life is one of many.
//! The round trip's program pauses between rounds for times drawn from the
//! run's seed; the life that is shown is the one with the median latency, and
//! the mean of the parts over all rounds stands beside it.

mod call_lives;
mod document;
mod ends;
mod hand_over;
mod hops;
mod journal;
mod library;
mod life;
mod monitor;
mod path;
mod rows;
mod subject;

use std::collections::BTreeMap;

use narthex_interfaces::Device;
use narthex_kernel::Time;
use narthex_machine::config::{self, MachineConfig};
use narthex_machine::run::{Progress, simulate};
use narthex_machine::{Failure, FirmwareFile, HardwareRequest, RunRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use document::ExplanationDocument;
use document::document;
use ends::{Chosen, Ends};
use library::Deed;
use life::{Life, NodeHistory};
use monitor::{Journals, measured_since};
pub use subject::Subject;

/// Which message is to be explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// A preset's name or the path of a machine's file.
    pub machine: String,
    /// The interface, in the taxonomy's notation.
    pub interface: String,
    /// What of it; a message if not given, or the first of what the program does.
    #[serde(default)]
    pub of: Option<Subject>,
    /// The program whose message is explained; the one that does nothing else if not given.
    #[serde(default)]
    pub program: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// On how many nodes it runs; as many as the machine's file says if not given.
    #[serde(default)]
    pub nodes: Option<u32>,
    /// The process, or the tile, that sends.
    #[serde(default)]
    pub from: Option<u32>,
    /// The one that receives.
    #[serde(default)]
    pub to: Option<u32>,
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
/// Packets until caches and queues are warm: more than a lap of a queue of 128 messages.
const WARM_UP_PACKETS: u64 = 150;
/// Packets, about, in the measured rounds.
const MEASURED_PACKETS: u64 = 64;
/// Fewest rounds, whatever the size.
const FEWEST_ROUNDS: u64 = 4;
/// Most records that a node's journal keeps.
const JOURNAL_LIMIT: usize = 1 << 20;
/// Most of a program's own run.
const JOURNAL_LIMIT_OF_PROGRAM: usize = 1 << 18;

/// Explains a message: of round trips, or of the program that the request names; `elf` is that
/// guest. `observer` sees the simulated time several times a second and returns false to
/// end the run early.
///
/// # Errors
/// With the exit codes of the command line.
pub fn explain(
    request: &ExplainRequest,
    elf: &[u8],
    observer: &mut dyn FnMut(Time) -> bool,
) -> Result<Value, Failure> {
    let machine = changed(&request.machine, &request.set)?;
    let device = device(request, &machine);
    let in_tiles = has_tiles(device.as_deref());
    if request.program.is_some() {
        return explain_program(request, device.as_deref(), elf, observer);
    }
    let subject = request.of.unwrap_or_default();
    let bytes = bytes(request, subject)?;
    let chosen = request.chosen();
    if let Some(problem) = refusal(request, subject, &machine, device.as_deref()) {
        return Err(Failure::usage(problem));
    }
    let payload = bytes.unwrap_or(0);
    let packets = payload.div_ceil(machine.payload_bytes()).max(1);
    let rounds = (MEASURED_PACKETS / packets).max(FEWEST_ROUNDS);
    let warm_up = (WARM_UP_PACKETS / packets).max(FEWEST_ROUNDS);
    let next = if in_tiles { 1 } else { machine.processes_per_node() as usize };
    let [from, to] = chosen.numbers(next);
    let args = match subject {
        Subject::Message => [payload, rounds, warm_up, from.max(to) as u64].map(|it| it.to_string()).into(),
        _ => subject.arguments(payload, &request.interface, to),
    };
    let skip = if subject == Subject::Message { warm_up * packets } else { 0 };
    let nodes = if in_tiles { 1 } else { from.max(to) / next + 1 };
    let asked = JournalScope { chosen, skip, limit: JOURNAL_LIMIT };
    let run = request.run(subject.program(), args, Some(nodes.max(if in_tiles { 1 } else { 2 }) as u32));
    let document = explain_subjects(&[subject], &run, elf, asked, observer)?;
    Ok(ExplanationDocument { bytes, ..document }.to_value())
}

/// What a program may send over an interface by calls of the interface's own library, by the names
/// of subjects; empty if the interface has no such library.
///
/// # Errors
/// If there is no such machine.
pub fn own_subjects(machine: &str, set: &[String], interface: &str) -> Result<Vec<&'static str>, Failure> {
    let machine = changed(machine, set)?;
    let device = interface.parse().ok().and_then(|name| machine.build_interface(&name).ok());
    let subjects = Subject::of_program(device.as_ref().and_then(|device| device.calls_name()));
    Ok(subjects
        .iter()
        .filter(|&&subject| subject != Subject::Message)
        .map(|subject| subject.name())
        .collect())
}

/// Explains what the program of the request sends by itself.
fn explain_program(
    request: &ExplainRequest,
    device: Option<&dyn Device>,
    elf: &[u8],
    observer: &mut dyn FnMut(Time) -> bool,
) -> Result<Value, Failure> {
    if request.bytes.is_some() {
        return Err(Failure::usage(
            "a program's messages have the sizes that it gives them: leave out the bytes",
        ));
    }
    let mut subjects = Subject::of_program(device.and_then(|device| device.calls_name()));
    let only;
    if let Some(of) = request.of {
        let Some(&known) = subjects.iter().find(|&&each| each == of) else {
            let known: Vec<&str> = subjects.iter().map(|each| each.name()).collect();
            let problem =
                format!("of a program over '{}' a life can be of {}", request.interface, known.join(", "));
            return Err(Failure::usage(problem));
        };
        only = [known];
        subjects = &only;
    }
    let program = request.program.as_deref().unwrap_or_default();
    let run = request.run(program, request.args.clone(), request.nodes);
    let asked = JournalScope { chosen: request.chosen(), skip: 0, limit: JOURNAL_LIMIT_OF_PROGRAM };
    let document = explain_subjects(subjects, &run, elf, asked, observer)?;
    Ok(ExplanationDocument { of_program: true, ..document }.to_value())
}

/// Why there is none of a subject, if so.
fn refusal(
    request: &ExplainRequest,
    subject: Subject,
    machine: &MachineConfig,
    device: Option<&dyn Device>,
) -> Option<String> {
    let (interface, name) = (&request.interface, &request.machine);
    let in_tiles = has_tiles(device);
    if subject == Subject::HandOver {
        return Some("a hand-over is a program's: name the program".into());
    }
    if subject.is_hand_over() && !in_tiles {
        return Some(format!(
            "one {subject} is explained between the tiles of a chip, and '{interface}' on {name} has no tiles \
             with an interface: take SARC on sarc-prototype or sarc-chip"
        ));
    }
    if let Some((_, opened)) = subject.library()
        && let Some(device) = device
    {
        let [family, others] = match subject {
            Subject::Via => ["the Virtual Interface Architecture", "EDT on edt"],
            _ => ["StarT-Voyager with queues of that kind", "Voyager-resident on voyager"],
        };
        let is_other = subject == Subject::VoyagerQueue && subject::queues_of(interface).is_none();
        if device.calls_name() != Some(opened) || is_other {
            return Some(format!(
                "one {subject} needs an interface of {family}, and '{interface}' on {name} is none: \
                 take one such as {others}"
            ));
        }
        if machine.processes_per_node() > 1 {
            return Some(format!(
                "'{}' has one process on each of two nodes, and {name} has {} on each: name a program of your own",
                subject.program(),
                machine.processes_per_node()
            ));
        }
    }
    let chosen = request.chosen();
    let [from, to] = chosen.numbers(if in_tiles { 1 } else { machine.processes_per_node() as usize });
    let is_chosen = chosen != Chosen::default();
    let is_free = match subject {
        Subject::Message => true,
        Subject::RemoteStore | Subject::Rdma => from == 0,
        _ => subject.library().is_some() && from.max(to) == 1,
    };
    if is_chosen && !is_free {
        return Some(format!("'{}' says by itself between what one {subject} goes", subject.program()));
    }
    if from.min(to) != 0 {
        return Some(format!(
            "the round trips are between rank 0 and another one, and {from} and {to} are given: name a program"
        ));
    }
    if in_tiles { subject.refused_by(machine) } else { None }
}

/// The bytes that are asked for, of what has a size.
fn bytes(request: &ExplainRequest, of: Subject) -> Result<Option<u64>, Failure> {
    let (allowed, unit) = of.sizes();
    match request.bytes {
        Some(bytes) if !of.has_size() => Err(Failure::usage(format!(
            "one {of} has no size that could be chosen: leave out the {bytes} bytes"
        ))),
        Some(bytes) if bytes > *allowed.end() => Err(Failure::usage(format!(
            "one {of} of {bytes} bytes is too long to be explained; at most {} are",
            allowed.end()
        ))),
        Some(bytes) if bytes < *allowed.start() || bytes % unit != 0 => Err(Failure::usage(match unit {
            1 => format!("one {of} has at least one byte"),
            _ => format!("one {of} has whole words of {unit} bytes, at least one, not {bytes} bytes"),
        })),
        None if of.has_size() => Ok(Some(DEFAULT_BYTES)),
        given => Ok(given),
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
    let asked = JournalScope { chosen: Chosen::default(), skip, limit: JOURNAL_LIMIT };
    explain_subjects(&[Subject::Message], request, elf, asked, observer).map(|document| document.to_value())
}

/// Between what, and when.
#[derive(Clone, Copy)]
struct JournalScope {
    chosen: Chosen,
    /// Packets that leave a node before its journal begins.
    skip: u64,
    /// Most records that a journal keeps.
    limit: usize,
}

/// Explains the first of the subjects that the run has.
fn explain_subjects(
    subjects: &[Subject],
    request: &RunRequest,
    elf: &[u8],
    asked: JournalScope,
    observer: &mut dyn FnMut(Time) -> bool,
) -> Result<ExplanationDocument, Failure> {
    let library = subjects.iter().find_map(|subject| subject.library()).map(|(library, _)| library);
    let of_tiles = subjects.iter().all(|subject| subject.is_of_tiles());
    let mut journals = Journals { asked, library, of_tiles, ends: None };
    let mut finished = simulate(request, elf, &mut journals, &mut |progress| match progress {
        Progress::Time(now) => observer(now),
        _ => true,
    })?;
    let ends = journals.ends.expect("a run has ends");
    let histories = NodeHistory::of(&mut finished.nodes, &ends);
    for &subject in subjects {
        let since = measured_since(&finished.nodes[0], subject.region());
        let mut lives = lives(subject, &histories, since);
        lives.sort_by_key(|life| (life.latency(), life.sent));
        if let Some(median) = lives.get(lives.len().saturating_sub(1) / 2) {
            let life = (median, subject.name());
            return Ok(document(request, elf, &finished, (&histories, &ends), &lives, life));
        }
    }
    Err(Failure::guest(nothing_found(subjects, &request.program, &histories, &ends)))
}

/// All lives of a subject.
fn lives(subject: Subject, histories: &[NodeHistory; 2], since: Time) -> Vec<Life> {
    match subject {
        Subject::Message => life::lives(histories, since),
        _ if subject.library().is_some() => call_lives::lives(histories, since),
        _ => {
            let all = hand_over::hand_overs(histories, since);
            let warm_up = subject::WARM_UP.min(all.len() / 2);
            all.into_iter().skip(warm_up).collect()
        }
    }
}

/// Why no life is shown.
fn nothing_found(subjects: &[Subject], program: &str, histories: &[NodeHistory; 2], ends: &Ends) -> String {
    let what: Vec<String> = subjects.iter().map(Subject::to_string).collect();
    let [from, to] = ends.each.each_ref().map(|end| end.rank.0);
    let kind = if ends.are_tiles { "tile" } else { "rank" };
    let packets = histories[0].packets_sent().count();
    let sent: usize = subjects.iter().map(|&subject| sent(subject, &histories[0])).sum();
    let reason = match (packets, sent) {
        (0, _) => "nothing goes that way".to_owned(),
        (_, 0) => "what goes that way belongs to something else, such as a barrier".to_owned(),
        _ => {
            format!(
                "of {sent} that it sent none was received there, by a handler or a call, before the next one \
             was sent or others' messages came"
            )
        }
    };
    format!(
        "'{program}' has no {} from {kind} {from} to {to} that could be explained: {reason}",
        what.join(" or ")
    )
}

/// How many of a subject a process has begun to send, to whomever.
fn sent(subject: Subject, sender: &NodeHistory) -> usize {
    match subject {
        Subject::Message => life::sends(sender).count(),
        _ if subject.library().is_some() => call_lives::calls(sender, Deed::Sends).count(),
        _ => sender.waits_over().count(),
    }
}

/// A machine with changes.
fn changed(machine: &str, set: &[String]) -> Result<MachineConfig, Failure> {
    let changed = config::load(machine).and_then(|machine| machine.with_settings(set));
    Ok(changed.map_err(Failure::usage)?.config)
}

/// The interface that the request names; none if the machine cannot have it.
fn device(request: &ExplainRequest, machine: &MachineConfig) -> Option<Box<dyn Device>> {
    request.interface.parse().ok().and_then(|name| machine.build_interface(&name).ok())
}

/// Whether an interface has a part in each tile of a node: its messages go from tile to tile.
fn has_tiles(device: Option<&dyn Device>) -> bool {
    device.is_some_and(|device| device.ports().iter().any(|port| port.of_tile.is_some()))
}

impl ExplainRequest {
    /// The ends that it names.
    fn chosen(&self) -> Chosen {
        let [from, to] = [self.from, self.to].map(|number| number.map(|number| number as usize));
        Chosen { from, to }
    }

    /// The run in which it is looked for.
    fn run(&self, program: &str, args: Vec<String>, nodes: Option<u32>) -> RunRequest {
        RunRequest {
            program: program.into(),
            args,
            machine: self.machine.clone(),
            interface: self.interface.clone(),
            nodes,
            set: self.set.clone(),
            threads: 1,
            seed: self.seed,
            execute_wait_loops: true,
            schedule_steps: false,
            job_nodes: None,
            model: None,
            jobs: Vec::new(),
            surroundings: Default::default(),
            firmware: self.firmware.clone(),
            hardware: self.hardware.clone(),
            checkpoint: None,
            warm: None,
            until: None,
            timeout: None,
        }
    }
}
