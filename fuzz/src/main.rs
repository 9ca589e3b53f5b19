//! `narthex-fuzz`: compares the simulator's processor with QEMU on random
//! programs, or records QEMU's outputs for the fixed set.

use narthex_fuzz::compare::{Difference, first_difference};
use narthex_fuzz::program::Program;
use narthex_fuzz::reference::{Reference, ReferenceError};
use narthex_fuzz::{generate, shrink, simulator};
use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

const HELP: &str = "\
Compares the simulator's processor with QEMU on random programs.

usage: narthex-fuzz [--instructions N] [--seed N] [--qemu FILE] [--keep FOLDER]
       narthex-fuzz --record N [--qemu FILE] > fuzz/fixed.txt

  --instructions N  stop after N instructions without a difference (default 10000000)
  --seed N          seed of the first program; the next has N + 1 (default 1)
  --qemu FILE       the reference (default: qemu-riscv64 on the PATH)
  --keep FOLDER     where a program that shows a difference is kept (default: the current one)
  --record N        print the fixed set: N seeds with the hash of QEMU's output";

struct Options {
    instructions: u64,
    seed: u64,
    qemu: Option<PathBuf>,
    keep: PathBuf,
    record: Option<u64>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => return failure(2, &message),
    };
    let reference = match Reference::find(options.qemu.clone(), &std::env::temp_dir()) {
        Ok(reference) => reference,
        Err(error) => return failure(2, &error.to_string()),
    };
    let outcome = match options.record {
        Some(count) => record(&reference, count),
        None => fuzz(&reference, &options),
    };
    outcome.unwrap_or_else(|error| failure(1, &error.to_string()))
}

fn failure(code: u8, message: &str) -> ExitCode {
    eprintln!("narthex-fuzz: {message}");
    ExitCode::from(code)
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let keep = PathBuf::from(".");
    let mut options = Options { instructions: 10_000_000, seed: 1, qemu: None, keep, record: None };
    while let Some(name) = arguments.next() {
        if name == "--help" || name == "-h" {
            return Ok(None);
        }
        let mut value = || arguments.next().ok_or(format!("{name} needs a value; see --help"));
        match name.as_str() {
            "--instructions" => options.instructions = number(&name, &value()?)?,
            "--seed" => options.seed = number(&name, &value()?)?,
            "--qemu" => options.qemu = Some(value()?.into()),
            "--keep" => options.keep = value()?.into(),
            "--record" => options.record = Some(number(&name, &value()?)?),
            _ => return Err(format!("unknown option {name:?}; see --help")),
        }
    }
    Ok(Some(options))
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{name} is {text:?}; it must be a whole number"))
}

/// Prints seeds and hashes for the fixed set.
fn record(reference: &Reference, count: u64) -> Result<ExitCode, ReferenceError> {
    for seed in 1..=count {
        let output = reference.run(&generate::program(seed).file())?;
        println!("{seed} {}", simulator::hash(&output));
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs programs until enough instructions agreed, or one did not.
fn fuzz(reference: &Reference, options: &Options) -> Result<ExitCode, ReferenceError> {
    let begin = Instant::now();
    let (mut instructions, mut seed) = (0, options.seed);
    while instructions < options.instructions {
        let program = generate::program(seed);
        match compare(reference, &program)? {
            Ok(executed) => instructions += executed,
            Err(finding) => return Ok(explain(reference, options, &program, &finding)),
        }
        seed += 1;
        eprint!("\r{} programs, {instructions} instructions", seed - options.seed);
        let _ = std::io::stderr().flush();
    }
    eprintln!();
    let programs = seed - options.seed;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{programs} programs, {instructions} instructions, no difference ({seconds:.1} s)");
    Ok(ExitCode::SUCCESS)
}

/// One of our processors that differs from the reference.
struct Finding {
    processor: &'static str,
    difference: Difference,
    /// Why the program did not end well, if it did not.
    problem: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} processor: {}", self.processor, self.difference)?;
        self.problem.iter().try_for_each(|problem| writeln!(f, "{problem}"))
    }
}

/// The number of instructions that a program executed, or what differs.
fn compare(reference: &Reference, program: &Program) -> Result<Result<u64, Finding>, ReferenceError> {
    let file = program.file();
    let theirs = reference.run(&file)?;
    let functional = simulator::run_functional(&file);
    let instructions = functional.instructions;
    for (processor, ours) in [("functional", functional), ("in-order", simulator::run_in_order(&file))] {
        if let Some(difference) = first_difference(program, &ours.output, &theirs) {
            return Ok(Err(Finding { processor, difference, problem: ours.problem }));
        }
    }
    Ok(Ok(instructions))
}

/// Shrinks a program that shows a difference, keeps it, and prints all of it.
fn explain(reference: &Reference, options: &Options, program: &Program, found: &Finding) -> ExitCode {
    println!("\nseed {}, {found}\nshrinking ...", program.seed);
    let differs = |candidate: &Program| matches!(compare(reference, candidate), Ok(Err(_)));
    let small = shrink::shrink(program, differs);
    if let Ok(Err(finding)) = compare(reference, &small) {
        println!("{finding}");
    }
    for (index, block) in small.blocks.iter().enumerate() {
        println!("block {index}, {} turns:\n{}", block.turns, small.listing(index));
    }
    let path = options.keep.join(format!("difference-{}.elf", program.seed));
    match std::fs::write(&path, small.file()) {
        Ok(()) => println!("kept as {}", path.display()),
        Err(error) => println!("cannot keep it as {}: {error}", path.display()),
    }
    ExitCode::from(1)
}
