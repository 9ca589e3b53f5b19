//! The simulator's side of the comparison.

use narthex_cores::linux::{Effect, End, Invocation, PlainProcess, Program};
use narthex_cores::{
    Config, Functional, InOrder, PredictorConfig, PredictorKind, ReorderWindow, Timing, WindowConfig,
};
use sha2::{Digest as _, Sha256};

/// What a program left behind.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What it wrote.
    pub output: Vec<u8>,
    /// How many instructions it executed.
    pub instructions: u64,
    /// Why it did not end well, if it did not.
    pub problem: Option<String>,
}

/// Runs the program in `file` on a functional processor.
pub fn run_functional(file: &[u8]) -> Run {
    run::<Functional>(file, &Config::simple())
}

/// Runs the program in `file` on a dual-issue in-order processor, whose
/// instructions are executed by other code.
pub fn run_in_order(file: &[u8]) -> Run {
    let config = Config { issue_width: 2, multiply_cycles: 3, divide_cycles: 20, ..Config::simple() };
    run::<InOrder>(file, &config)
}

/// Runs the program in `file` on a processor whose instructions overlap.
pub fn run_with_window(file: &[u8]) -> Run {
    let predictor = PredictorConfig { kind: PredictorKind::Gshare, entries: 64 };
    let window = WindowConfig {
        entries: 16,
        load_queue: 4,
        store_queue: 4,
        mispredict_cycles: 10,
        mmio_loads_serialise: true,
        predictor,
    };
    let config = Config { issue_width: 2, misses: Some(4), window: Some(window), ..Config::simple() };
    run::<ReorderWindow>(file, &config)
}

fn run<T: Timing>(file: &[u8], config: &Config) -> Run {
    let failed = |problem: String| Run { problem: Some(problem), ..Run::default() };
    let program = match Program::parse("the random program", file) {
        Ok(program) => program,
        Err(error) => return failed(error.to_string()),
    };
    let mut process = match PlainProcess::<T>::start(&program, &Invocation::default(), config) {
        Ok(process) => process,
        Err(error) => return failed(error.to_string()),
    };
    let mut output = Vec::new();
    let end = process.run(|effect| {
        if let Effect::Output { bytes, .. } = effect {
            output.extend(bytes);
        }
    });
    let problem = match end {
        End::Exit(0) => None,
        End::Fault(fault) => Some(process.report(fault)),
        end => Some(format!("the program ended with {end:?}")),
    };
    Run { output, instructions: process.retired(), problem }
}

/// The SHA-256 of a program's code, or of an output, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
