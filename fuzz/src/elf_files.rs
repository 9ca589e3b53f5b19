//! ELF files that no linker made: segments anywhere and of any length,
//! any bytes as code, any entry; and a sound file with damage, in its debug
//! information too.
//!
//! Each is read, run on a machine of one or two nodes and, if that run ends by
//! itself, as a plain process. It must be refused with its name, or end.

use std::path::Path;

use narthex_cores::instruction::{Immediate, instructions};
use narthex_cores::linux::{Invocation, PlainProcess, Program};
use narthex_cores::{Config, Functional, InOrder, Timing};
use narthex_kernel::Time;
use narthex_machine::{Failure, RunRequest};

use crate::catalogue;
use crate::choice::Choice;
use crate::class::Class;
use crate::guest::elf::{self, EXECUTE, READ, Segment, WRITE};
use crate::instructions::values::interesting;
use crate::mutation::mutate_often;
use crate::runs::{Outcome, on_threads};

/// The class of ELF files.
pub struct ElfFiles;

/// A sound file with symbols and debug information; seeds/functions.c.
const SOUND: &[u8] = include_bytes!("../seeds/functions.elf");
/// Bytes of an ELF header and of some segments' headers, where damage matters most.
const HEADERS_BYTES: usize = 64 + 6 * 56;
/// Where segments begin, give or take a few bytes.
const PLACES: [u64; 12] = [
    0,
    0x1000,
    0x1_0000,
    0x1_1000,
    0x2_0000,
    0x20_0000,
    0x4fff_f000,
    0x5000_0000,
    0x6000_0000,
    0x3f_0000_0000,
    0x40_0000_0000,
    u64::MAX - 0xfff,
];
/// Instructions that a plain process may execute. A machine that ends by itself
/// executes fewer.
const BUDGET: Time = Time::from_ps(20_000_000_000);
/// Loops are no finding, so they need not be watched for long.
const OBSERVATIONS: u32 = 1;

impl Class for ElfFiles {
    fn ending(&self) -> &'static str {
        "elf"
    }

    fn input(&self, seed: u64) -> Vec<u8> {
        let choice = &mut Choice::from_seed(seed);
        if choice.once_in(3) {
            let mut file = SOUND.to_vec();
            let reach = if choice.once_in(2) { HEADERS_BYTES } else { file.len() };
            mutate_often(&mut file, reach, 8, choice);
            return file;
        }
        let mut file = crafted(choice);
        if choice.once_in(4) {
            mutate_often(&mut file, HEADERS_BYTES, 4, choice);
        }
        file
    }

    fn check(&self, seed: u64, file: &Path) -> Result<(), String> {
        let elf = std::fs::read(file).map_err(|error| error.to_string())?;
        let outcome = on_threads(&request_of(seed), &elf, OBSERVATIONS)?;
        match &outcome {
            Outcome::Ended(Err(failure)) if failure.exit_code == Failure::USAGE => {
                let names_file = failure.message.contains("guest");
                names_file.then_some(()).ok_or(format!("the message does not name the file: {failure}"))
            }
            Outcome::Ended(Err(failure)) if failure.exit_code == Failure::NO_PROGRESS => Ok(()),
            Outcome::Ended(_) => run_alone::<Functional>(&elf).and_then(|()| run_alone::<InOrder>(&elf)),
            Outcome::Endless => Ok(()),
        }
    }
}

/// The run of a case.
fn request_of(seed: u64) -> RunRequest {
    let choice = &mut Choice::from_seed(!seed);
    RunRequest { nodes: Some(choice.of(&[1, 1, 2])), ..catalogue::any(choice) }
}

/// Runs the file as a plain process, for as long as a machine would.
fn run_alone<T: Timing>(elf: &[u8]) -> Result<(), String> {
    let program = Program::parse("guest", elf).map_err(|error| format!("a machine takes it: {error}"))?;
    let process = PlainProcess::<T>::start(&program, &Invocation::default(), &Config::simple());
    let different = |error| format!("a machine starts it, a plain process does not: {error}");
    process.map_err(different)?.run_until(BUDGET, |_| {});
    Ok(())
}

/// A file with sound headers and anything in them.
fn crafted(choice: &mut Choice) -> Vec<u8> {
    let mut segments: Vec<Segment> = (0..=choice.below(3)).map(|_| segment(choice)).collect();
    if !choice.once_in(16) {
        segments[0].flags |= EXECUTE;
        segments[0].address = choice.of(&[0x1_0000, 0x1_0000, 0x1_0001, 0x1_0fff, 0x1_1002]);
    }
    let first = &segments[0];
    let length = first.bytes.len() as u64;
    let offset = match choice.below(8) {
        0 => length.saturating_sub(2),
        1 => length.saturating_sub(4),
        2 => choice.below(length + 4),
        3 => 1,
        _ => first.address % 2,
    };
    elf::file(first.address.wrapping_add(offset), segments)
}

fn segment(choice: &mut Choice) -> Segment {
    let bytes = code(choice);
    let length = bytes.len() as u64;
    let memory_bytes = match choice.below(12) {
        0 => length + choice.below(3),
        1 => length + 4096,
        2 => length + (1 << choice.below(64)),
        3 => choice.below(length + 1),
        4 => interesting(choice),
        _ => length,
    };
    let flags =
        if choice.once_in(4) { choice.below(8) as u32 } else { choice.of(&[READ | WRITE, READ | EXECUTE]) };
    Segment { address: choice.of(&PLACES).wrapping_add(nudge(choice)), bytes, memory_bytes, flags }
}

fn nudge(choice: &mut Choice) -> u64 {
    match choice.below(4) {
        0 => choice.below(8192),
        1 => choice.of(&[1, 2, 3, 4094, 4095, u64::MAX]),
        _ => 0,
    }
}

/// Instructions and other halfwords; the last one may be cut.
fn code(choice: &mut Choice) -> Vec<u8> {
    let mut code = Vec::new();
    for _ in 0..choice.below(60) {
        match choice.below(16) {
            0 => code.extend((choice.bits() as u32).to_le_bytes()),
            1 | 2 => code.extend((choice.bits() as u16).to_le_bytes()),
            3 => code.extend(0x73u32.to_le_bytes()),
            4 => code.extend((0x893 | (choice.below(300) as u32) << 20).to_le_bytes()), // li a7
            _ => code.extend(instruction(choice).to_le_bytes()),
        }
    }
    if choice.once_in(3) {
        code.truncate(code.len().saturating_sub(choice.of(&[1, 2, 3])));
    }
    code
}

/// A legal instruction with any operands; jumps go a short way.
fn instruction(choice: &mut Choice) -> u32 {
    let known = &instructions()[choice.below(instructions().len() as u64) as usize];
    let operands = match known.immediate {
        Immediate::B | Immediate::J => {
            known.place_immediate(choice.between(-24, 24) * 2) | choice.bits() as u32 & 0xf80
        }
        _ => choice.bits() as u32,
    };
    known.value | operands & !known.mask
}
