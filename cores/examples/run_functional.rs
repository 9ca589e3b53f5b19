//! Runs a static RISC-V Linux program on one processor, functionally.
//!
//! ```text
//! cargo run --release -p narthex-cores --example run_functional -- PROGRAM [ARGUMENTS...]
//! ```
//!
//! Prints what the program prints, then how many instructions it executed and
//! how fast, and ends with the program's exit code (1 if it failed).

use narthex_cores::linux::{Effect, End, Invocation, OutputStream, PlainProcess, Program};
use narthex_cores::{Config, Functional};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.first() else {
        eprintln!("usage: run_functional PROGRAM [ARGUMENTS...]");
        return ExitCode::from(2);
    };
    match load(path) {
        Ok(program) => run(&program, arguments),
        Err(message) => failure(2, &message),
    }
}

fn load(path: &str) -> Result<Program, String> {
    let file = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    Program::parse(path, file).map_err(|error| error.to_string())
}

fn run(program: &Program, arguments: Vec<String>) -> ExitCode {
    let invocation = Invocation { arguments, ..Invocation::default() };
    let started = PlainProcess::<Functional>::start(program, &invocation, &Config::simple());
    let mut process = match started {
        Ok(process) => process,
        Err(error) => return failure(2, &error.to_string()),
    };
    let begin = Instant::now();
    let end = process.run(show);
    let seconds = begin.elapsed().as_secs_f64();
    let millions = process.retired() as f64 / 1e6;
    eprintln!("{millions:.3} million instructions, {:.0} million a second", millions / seconds);
    match end {
        End::Exit(code) => ExitCode::from(code),
        End::Killed(signal) => failure(1, &format!("the program ended by {signal}")),
        End::Failed(message) => failure(1, &message),
        End::Fault(fault) => failure(1, &process.report(fault)),
        End::Stuck | End::Horizon => failure(1, "the processor waits forever"),
    }
}

fn failure(code: u8, message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(code)
}

/// Passes output on. A failure is ignored: it cannot be reported either.
fn show(effect: &Effect) {
    let _ = match effect {
        Effect::Output { stream: OutputStream::Output, bytes } => std::io::stdout().write_all(bytes),
        Effect::Output { stream: OutputStream::Error, bytes } => std::io::stderr().write_all(bytes),
        Effect::Notice(text) => writeln!(std::io::stderr(), "note: {text}"),
        Effect::Narthex(call) => writeln!(std::io::stderr(), "{call:?}"),
        Effect::Output { stream: OutputStream::Firmware, .. }
        | Effect::Exit(_)
        | Effect::Interrupt(_)
        | Effect::Killed { .. }
        | Effect::Device { .. }
        | Effect::Start(_)
        | Effect::ExitThread { .. }
        | Effect::Sleep { .. }
        | Effect::Wake(_) => Ok(()),
    };
}
