//! Checkpoints of real runs with damage: anywhere in the file; and, with a
//! checksum that is right again, in its header, in its compressed bytes, and in
//! the state itself, where only the simulator's own checks are left.
//!
//! A file must be refused with its name, or resumed to an end.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use narthex_cores::linux::Program;
use narthex_kernel::simulation::Limits;
use narthex_kernel::{Archive, Archived, Damage, Duration};
use narthex_machine::checkpoint::file;
use narthex_machine::checkpoint::identity::Identity;
use narthex_machine::compose::Blueprint;
use narthex_machine::partition::{Part, simulation};
use narthex_machine::run::Running;
use narthex_machine::{CheckpointRequest, Failure, RunRequest, config};
use sha2::{Digest as _, Sha256};

use crate::catalogue;
use crate::choice::Choice;
use crate::class::Class;
use crate::guest::exchange::{Exchange, both_ways, exchange, ping_pong};
use crate::guest::{Guest as _, with};
use crate::instructions::values::interesting;
use crate::mutation::{mutate, mutate_often};
use crate::runs::{Outcome, now_and_then_on_threads};

/// The class of checkpoints.
pub struct Checkpoints {
    scratch: PathBuf,
}

/// A state may say that programs have far to go.
const OBSERVATIONS: u32 = 2;
/// Windows after which a run has ended, more or less.
const WINDOWS: u64 = 600;
/// Bytes of a checksum.
const DIGEST_BYTES: usize = 32;

impl Checkpoints {
    /// With files in `scratch`.
    pub fn new(scratch: &Path) -> Self {
        Checkpoints { scratch: scratch.to_owned() }
    }
}

impl Class for Checkpoints {
    fn ending(&self) -> &'static str {
        "checkpoint"
    }

    fn input(&self, seed: u64) -> Vec<u8> {
        let choice = &mut Choice::from_seed(seed);
        let run = Run::of(seed);
        let mut state = run.state(choice.below(WINDOWS));
        let kind = choice.below(12);
        if kind > 2 {
            damage(&mut state, || run.state(choice.clone().below(WINDOWS)), &mut choice.clone());
        }
        let written = file::write_to(Vec::new(), &file::EXACT, &run.identity(), &mut Raw(state));
        let mut bytes = written.expect("memory takes everything");
        let header = bytes.iter().position(|&byte| byte == b'{').unwrap_or(0);
        let body = bytes[header..].iter().position(|&byte| byte == b'\n').unwrap_or(0) + header;
        let all = bytes.len();
        match kind {
            0 => mutate_often(&mut bytes, all, 3, choice),
            1 => signed_again(&mut bytes, |bytes| mutate_often(bytes, body, 3, choice)),
            2 => signed_again(&mut bytes, |bytes| {
                let at = body + choice.below((bytes.len() - body) as u64) as usize;
                mutate(bytes, at, choice);
            }),
            _ => {}
        }
        bytes
    }

    fn check(&self, seed: u64, input: &Path) -> Result<(), String> {
        let run = Run::of(seed);
        // A run that is interrupted replaces its checkpoint.
        let file = self.scratch.join("resumed.checkpoint");
        fs::copy(input, &file).map_err(|error| error.to_string())?;
        let checkpoint = CheckpointRequest { file: file.clone(), every: None, resume: true };
        let request = RunRequest { checkpoint: Some(checkpoint), ..run.request.clone() };
        let outcome = now_and_then_on_threads(seed, &request, &run.guest.elf(), OBSERVATIONS);
        match outcome.map_err(|text| format!("{} {}: {text}", request.machine, request.interface))? {
            Outcome::Ended(Err(failure)) if failure.exit_code == Failure::USAGE => {
                let names_file = failure.message.contains(&file.display().to_string());
                names_file.then_some(()).ok_or(format!("the message does not name the file: {failure}"))
            }
            _ => Ok(()),
        }
    }
}

/// A run of which checkpoints are made.
struct Run {
    request: RunRequest,
    guest: Exchange,
}

impl Run {
    /// The run of a case.
    fn of(seed: u64) -> Self {
        let choice = &mut Choice::from_seed(!seed);
        let request = catalogue::varied(catalogue::any(choice), choice);
        let bytes = choice.below(31) * 8;
        let guest = if choice.once_in(2) { ping_pong(6, bytes) } else { both_ways(6, bytes, 2) };
        let guest = guest.over(&request.interface);
        let small = with(RunRequest { nodes: None, ..request }, "machine.nodes=2");
        // Not every machine's number of ways divides 4 KiB.
        let small = with(with(small, "data_cache.size=4KiB"), "data_cache.associativity=1");
        Run { request: guest.in_run(&small), guest }
    }

    fn machine(&self) -> config::Machine {
        let machine = config::load(&self.request.machine);
        machine.and_then(|machine| machine.with_settings(&self.request.set)).expect("a sound machine")
    }

    fn identity(&self) -> Identity {
        let interface: narthex_interfaces::Attached = self.request.interface.parse().expect("a name");
        Identity::new(&self.request, &self.guest.elf(), interface, self.machine().resolved())
    }

    /// The state after this many windows, or at the end.
    fn state(&self, windows: u64) -> Vec<u8> {
        let machine = self.machine();
        let interface = self.request.interface.parse().expect("a name");
        let program = Program::parse("guest", &*self.guest.elf()).expect("a sound program");
        let blueprint = Blueprint::new(&machine.config, interface, program, &self.request);
        let nodes = (0..blueprint.nodes).map(|number| blueprint.node(number).expect("a sound machine"));
        let network = &machine.config.network;
        let mut simulation = simulation(nodes.collect(), blueprint.switches(), None, network);
        let limits = Limits {
            windows_per_observation: windows as u32,
            patience: Duration::from_ns(1_000_000),
            ..Limits::default()
        };
        simulation.run(&limits, &mut |_, _| ControlFlow::Break(()));
        let now = simulation.now();
        simulation.partitions_mut().filter_map(Part::node_mut).for_each(|node| node.rest_at(now));
        Archive::save(&mut Running::new(simulation)).expect("a state can be saved")
    }
}

/// A state's bytes as they are.
struct Raw(Vec<u8>);

impl Archived for Raw {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        archive.bytes(&mut self.0)
    }
}

/// Changes a file, and makes its checksum right.
fn signed_again(bytes: &mut Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) {
    bytes.truncate(bytes.len() - DIGEST_BYTES);
    change(bytes);
    let digest = Sha256::digest(&*bytes);
    bytes.extend(&digest[..]);
}

/// Damages a state in some places; `other` is another state of the same run.
fn damage(state: &mut Vec<u8>, other: impl Fn() -> Vec<u8>, choice: &mut Choice) {
    for _ in 0..=choice.below(4) {
        let at = place(state, choice);
        match choice.below(8) {
            0..4 => replace_number(state, at, choice),
            4 => {
                let other = other();
                let end = (at + 1 + choice.below(64) as usize).min(other.len()).min(state.len()).max(at);
                if let Some(piece) = other.get(at..end) {
                    state[at..end].copy_from_slice(piece);
                }
            }
            _ => mutate(state, at, choice),
        }
    }
}

/// Any byte where something is written; most of a state is memory that is zero,
/// cache lines that are all alike, and the program, whose damage is its own.
fn place(state: &[u8], choice: &mut Choice) -> usize {
    let piece = |at: usize| state.get(at..at + PIECE);
    let repeats = |at: usize| (1..=PIECE).any(|period| at >= period && piece(at - period) == piece(at));
    let is_program = |at: usize| piece(at).is_some_and(|piece| PIECES_OF_PROGRAM.contains(piece));
    let places = std::iter::repeat_with(|| choice.below(state.len() as u64) as usize);
    places.take(1000).find(|&at| !repeats(at) && !is_program(at)).unwrap_or(0)
}

/// Bytes by which [`place`] compares.
const PIECE: usize = 16;

static PIECES_OF_PROGRAM: LazyLock<HashSet<Vec<u8>>> =
    LazyLock::new(|| exchange("").elf().windows(PIECE).map(<[u8]>::to_vec).collect());

/// Puts another number of variable length in place of the one at `at`: postcard
/// writes lengths, indices and the variants of enumerations so.
fn replace_number(state: &mut Vec<u8>, at: usize, choice: &mut Choice) {
    let length = state[at..].iter().take_while(|&&byte| byte >= 0x80).count() + 1;
    let end = (at + length).min(state.len());
    let mut number = match choice.below(4) {
        0 => interesting(choice),
        1 => choice.bits() >> choice.below(64),
        _ => choice.below(260),
    };
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    state.splice(at..end, bytes);
}
