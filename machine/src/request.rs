//! What a run is asked to do, and what comes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use narthex_interfaces::sarc::rtl::Parameters;
use narthex_interfaces::{Attached, Attachment};
use narthex_kernel::{Duration, Frequency, Threads};
use narthex_schedules::within;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sha256::sha256;
use crate::surroundings::Surroundings;
use thiserror::Error;

/// A run: which program, on which machine, over which interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The program's name, for messages and results.
    pub program: String,
    /// Its arguments, without its name.
    #[serde(default)]
    pub args: Vec<String>,
    /// A preset's name or the path of a machine's file.
    pub machine: String,
    /// The interface, in the taxonomy's notation, and where it is attached:
    /// "NI2w on io-bus"; on the memory bus if not said.
    pub interface: String,
    /// How many nodes; as many as the machine's file says if not given.
    #[serde(default)]
    pub nodes: Option<u32>,
    /// Changes to the machine: "bus.clock=125MHz".
    #[serde(default)]
    pub set: Vec<String>,
    /// Host threads that the run may use: as far as there are processors and
    /// nodes, and as they pay. They change no result.
    #[serde(default = "one")]
    pub threads: u32,
    /// The seed of the random streams; the machine's own if not given.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Executes wait loops instruction by instruction; otherwise their turns are
    /// computed, with the same result.
    #[serde(default)]
    pub execute_wait_loops: bool,
    /// Makes an event of each step of an interconnect; otherwise transactions that nothing
    /// can come between are carried at once, with the same result. For tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schedule_steps: bool,
    /// The firmware of processors that run some, by the names that the machine's file
    /// gives it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub firmware: BTreeMap<String, FirmwareFile>,
    /// The hardware that stands in the place of the interface's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareRequest>,
    /// The nodes on which the program has its processes, one on each: "0-7", "3" or "all"; all
    /// processes of the machine run it if there are neither these nor further jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_nodes: Option<String>,
    /// Further jobs of the run, each with a process on each of its nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobRequest>,
    /// The ranks of a schedule that a fitted model executes in the place of nodes, of which there are as
    /// many as ranks; only the others are built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<within::Request>,
    /// What its programs find around them.
    #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// Where the run's checkpoints are; none are made without.
    #[serde(default)]
    pub checkpoint: Option<CheckpointRequest>,
    /// The warm checkpoint that the run makes, or from which it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<WarmRequest>,
    /// The simulated time ("10ms") at which the run stops, if it has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// This computer's time ("60s") after which it stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// A further job of a run: another program beside the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// The program's name, for messages and results.
    pub program: String,
    /// Its arguments, without its name.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its nodes: "0-7", or "3"; all of them if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// The bytes of its ELF file; in hexadecimal digits where a request is text.
    #[serde(with = "hex::serde")]
    pub elf: Vec<u8>,
}

/// An ELF file with firmware. It comes with the request as a whole, so that the request
/// can be carried out anywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirmwareFile {
    /// What messages call it.
    pub file: String,
    /// Its bytes; in hexadecimal digits where a request is text.
    #[serde(with = "hex::serde")]
    pub elf: Vec<u8>,
}

/// Compiled hardware that stands in the place of an interface's model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareRequest {
    /// What users call it: "NI2w@rtl".
    pub name: String,
    /// The shared object that `narthex.cosimulation` has compiled.
    pub library: PathBuf,
    /// The hash of its sources.
    pub sha256: String,
    /// Its clock; none where the machine's file states that of the model.
    #[serde(default)]
    pub clock: Option<Frequency>,
    /// What it was built with, if it is a tile of SARC's chip.
    #[serde(default)]
    pub tile: Option<Parameters>,
    /// The VCD file that its signals on one node are written to. It changes no result.
    #[serde(default)]
    pub waves: Option<PathBuf>,
    /// That node.
    #[serde(default)]
    pub waves_node: u32,
}

/// The checkpoints of a run. They never change what comes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointRequest {
    /// The file that has the last one.
    pub file: PathBuf,
    /// Host time from one to the next ("30s"); if not given, there is one only
    /// when the run is interrupted.
    #[serde(default)]
    pub every: Option<String>,
    /// Whether the run goes on from the file, if it is there.
    #[serde(default)]
    pub resume: bool,
}

/// A warm checkpoint: of programs alone, so that they go on over any interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum WarmRequest {
    /// The run ends with one.
    Write {
        /// Where it is written.
        file: PathBuf,
        /// Where its programs are then: "call", "region:NAME" or a simulated time ("10ms").
        at: String,
    },
    /// The run starts from one.
    From {
        /// Where it is.
        file: PathBuf,
        /// The hash of its bytes, as results name it; not looked at where there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
        /// What caches hold then.
        #[serde(default)]
        caches: Caches,
    },
}

/// What the caches of a run hold that starts from a warm checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Caches {
    /// What those of the checkpoint's run held, as far as it fits.
    #[default]
    Filled,
    /// Nothing.
    Cold,
}

impl CheckpointRequest {
    /// Whether the run goes on from a file that is there.
    pub fn is_resumed(&self) -> bool {
        self.resume && self.file.exists()
    }
}

fn one() -> u32 {
    1
}

/// More host threads are taken for a mistake.
const MOST_THREADS: u32 = 1_024;

impl RunRequest {
    /// The hashes of its firmware, by name.
    pub fn firmware_sha256(&self) -> BTreeMap<String, String> {
        self.firmware.iter().map(|(name, given)| (name.clone(), sha256(&given.elf))).collect()
    }

    /// What results call its interface: its place, and the hardware in it, are part of the name.
    pub fn interface_name(&self, interface: &Attached) -> String {
        match (&self.hardware, interface.attachment) {
            (None, _) => interface.to_string(),
            (Some(hardware), Attachment::MemoryBus) => hardware.name.clone(),
            (Some(hardware), elsewhere) => format!("{} on {elsewhere}", hardware.name),
        }
    }

    /// The host threads that are asked for.
    ///
    /// # Errors
    /// If there are none, or absurdly many.
    pub fn threads(&self) -> Result<Threads, Failure> {
        threads(self.threads)
    }
}

/// This many host threads, at most.
///
/// # Errors
/// If there are none, or absurdly many.
pub fn threads(count: u32) -> Result<Threads, Failure> {
    match count {
        1..=MOST_THREADS => Ok(Threads::UpTo(count as usize)),
        wrong => Err(Failure::usage(format!("threads is {wrong}; expected 1 to {MOST_THREADS}"))),
    }
}

/// A simulated time that is not zero, of the option with this name.
///
/// # Errors
/// If it is none.
pub fn interval(name: &str, text: &str) -> Result<Duration, Failure> {
    let problem = match text.parse::<Duration>() {
        Ok(time) if !time.is_zero() => return Ok(time),
        Ok(_) => format!("{text} is no interval; expected a time such as 10us"),
        Err(problem) => problem.to_string(),
    };
    Err(Failure::usage(format!("{name}: {problem}")))
}

/// A run that gave no result, with the exit code of the command line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Failure {
    /// 1: the guest failed; 2: wrong usage or configuration; 3: no progress.
    pub exit_code: i32,
    /// What happened, where, and what to do.
    pub message: String,
    /// The document of a run that got as far as that: what a result has, and why
    /// there is none.
    pub document: Option<Box<Value>>,
}

impl Failure {
    /// The guest failed.
    pub const GUEST: i32 = 1;
    /// Wrong usage or configuration.
    pub const USAGE: i32 = 2;
    /// No progress: deadlock or livelock.
    pub const NO_PROGRESS: i32 = 3;

    /// Wrong usage or configuration.
    pub fn usage(message: impl ToString) -> Self {
        Failure { exit_code: Self::USAGE, message: message.to_string(), document: None }
    }

    /// The machine got nowhere.
    pub fn no_progress(message: impl ToString) -> Self {
        Failure { exit_code: Self::NO_PROGRESS, message: message.to_string(), document: None }
    }

    /// The guest failed.
    pub fn guest(message: impl ToString) -> Self {
        Failure { exit_code: Self::GUEST, message: message.to_string(), document: None }
    }
}
