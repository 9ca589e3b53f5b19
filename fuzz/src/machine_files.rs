//! Machine files with damage in their text and in their structure: other keys,
//! values at their bounds and far beyond, other units, lines that are missing,
//! doubled or at another place, deep nesting.
//!
//! A file must be refused with its name and place, or the machine run to an end.

use std::path::Path;

use narthex_machine::{Failure, RunRequest, config};

use crate::catalogue;
use crate::choice::Choice;
use crate::class::Class;
use crate::guest::Guest as _;
use crate::guest::exchange::exchange;
use crate::mutation::mutate_often;
use crate::runs::{Outcome, PATIENCE, bounded};

/// The class of machine files.
pub struct MachineFiles;

/// Machines may be large and slow, which is no finding.
const OBSERVATIONS: u32 = 3;
/// The processes that exchange.c can serve.
const RANKS_LIMIT: u32 = 64;

impl Class for MachineFiles {
    fn ending(&self) -> &'static str {
        "toml"
    }

    fn input(&self, seed: u64) -> Vec<u8> {
        let choice = &mut Choice::from_seed(seed);
        let preset = choice.of(&config::preset_names());
        let mut lines: Vec<String> = match choice.below(3) {
            0 => vec![format!("base = \"{preset}\"")],
            _ => config::load(preset).expect("it is built in").to_toml().lines().map(str::to_owned).collect(),
        };
        for _ in 0..=choice.below(4) {
            change(&mut lines, choice);
        }
        let mut bytes = lines.join("\n").into_bytes();
        if choice.once_in(6) {
            let all = bytes.len();
            mutate_often(&mut bytes, all, 3, choice);
        }
        bytes
    }

    fn check(&self, seed: u64, file: &Path) -> Result<(), String> {
        let choice = &mut Choice::from_seed(!seed);
        let machine = file.display().to_string();
        let config = match config::load(&machine) {
            Ok(loaded) => loaded.config,
            Err(error) => return names_place(&error.to_string(), &machine),
        };
        let request = RunRequest {
            machine,
            nodes: if choice.once_in(2) { Some(2) } else { None },
            threads: 2,
            set: vec![PATIENCE.into()],
            ..catalogue::any(choice)
        };
        let guest = exchange(
            "on 0 repeat 3 send 1 0 receive 1 end
             on 1 repeat 3 receive 0 send 0 0 end",
        )
        .over(&request.interface);
        let is_pair = (2..=RANKS_LIMIT).contains(&request.nodes.unwrap_or(config.machine.nodes));
        match bounded(&guest.in_run(&request), &guest.elf(), OBSERVATIONS)? {
            Outcome::Ended(Err(failure)) if is_pair && failure.exit_code == Failure::GUEST => {
                Err(format!("{}: a sound program failed: {failure}", request.interface))
            }
            _ => Ok(()),
        }
    }
}

/// Whether an error names the file. A rule between two keys is told at one of
/// them, which may be the base's.
fn names_place(error: &str, file: &str) -> Result<(), String> {
    let mut bases = config::preset_names().into_iter().map(|preset| format!("{preset}.toml:"));
    let names = error.contains(file) || bases.any(|base| error.contains(&base));
    names.then_some(()).ok_or(format!("neither {file} nor its base is named: {error}"))
}

/// Values at the bounds of what parameters take, and beyond.
const VALUES: [&str; 56] = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "4096",
    "4097",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "0.5",
    "1e308",
    "inf",
    "nan",
    "true",
    "false",
    "\"\"",
    "\"0ns\"",
    "\"1ps\"",
    "\"1ns\"",
    "\"18446744073709551615ps\"",
    "\"18446744073709551615ns\"",
    "\"18446744s\"",
    "\"9000s\"",
    "\"0.1ps\"",
    "\"-1ns\"",
    "\"1e9ns\"",
    "\"1Hz\"",
    "\"1MHz\"",
    "\"1000GHz\"",
    "\"1THz\"",
    "\"0Hz\"",
    "\"333.333333MHz\"",
    "\"0B\"",
    "\"1B\"",
    "\"8B\"",
    "\"16B\"",
    "\"64B\"",
    "\"4KiB\"",
    "\"1GiB\"",
    "\"16EiB\"",
    "\"18446744073709551615B\"",
    "\"MESI\"",
    "\"none\"",
    "\"ideal\"",
    "\"merging\"",
    "\"return-to-sender\"",
    "\"sliding-window\"",
    "[]",
    "[1, [2]]",
    "{}",
    "1979-05-27",
];

/// Tables that a machine has, may have, or cannot have.
const TABLES: [&str; 8] = ["machine", "bus", "io_bus", "network", "faults", "interfaces.cni_iq", "x", "\"\""];

/// Changes the text in one place.
fn change(lines: &mut Vec<String>, choice: &mut Choice) {
    let at = choice.below(lines.len() as u64) as usize;
    let other = choice.below(lines.len() as u64) as usize;
    match choice.below(12) {
        0 if lines.len() > 1 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[other].clone()),
        2 => lines.swap(at, other),
        3 => lines.insert(at, nested(choice)),
        4 => lines.insert(at, format!("[{}]", choice.of(&TABLES))),
        5 => {
            let (letter, instead) = (choice.of(&['_', 'e', 'i', ' ']), choice.of(&["", "-", "E", "."]));
            lines[at] = lines[at].replacen(letter, instead, 1);
        }
        _ => set(lines, choice),
    }
}

/// Gives any parameter another value: a line of a whole file, or one more line
/// of a file that stands on a base.
fn set(lines: &mut Vec<String>, choice: &mut Choice) {
    let value = choice.of(&VALUES);
    let places: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].contains(" = ")).collect();
    if lines.len() < 16 {
        let parameters = config::load("isca96").expect("it is built in").sources();
        let parameter = &parameters[choice.below(parameters.len() as u64) as usize];
        lines.push(format!("{} = {value}", parameter.key));
    } else if !places.is_empty() {
        let at = choice.of(&places);
        let (key, former) = lines[at].split_once(" = ").expect("it has been looked for");
        let value = if choice.once_in(3) { other_number(former, choice) } else { value.to_owned() };
        lines[at] = format!("{key} = {value}");
    }
}

/// A text with another number in place of its first one.
fn other_number(text: &str, choice: &mut Choice) -> String {
    let Some(start) = text.find(|letter: char| letter.is_ascii_digit()) else { return text.to_owned() };
    let rest = &text[start..];
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let number: u64 = rest[..end].parse().unwrap_or(u64::MAX);
    let other = match choice.below(8) {
        0 => number.wrapping_add(1),
        1 => number.wrapping_sub(1),
        2 => number.wrapping_mul(2),
        3 => number / 2,
        4 => number.wrapping_mul(1000),
        5 => choice.below(64),
        6 => 1 << choice.below(64),
        _ => choice.bits(),
    };
    format!("{}{other}{}", &text[..start], &rest[end..])
}

/// A line that goes deep, or is long.
fn nested(choice: &mut Choice) -> String {
    let depth = 1 << choice.below(14);
    match choice.below(5) {
        0 => format!("x = {}{}", "[".repeat(depth), "]".repeat(depth)),
        1 => format!("x = {}1{}", "{ a = ".repeat(depth), " }".repeat(depth)),
        2 => format!("{}a = 1", "a.".repeat(depth)),
        3 => format!("[{}a]", "a.".repeat(depth)),
        _ => format!("machine.seed = {}", "9".repeat(depth)),
    }
}
