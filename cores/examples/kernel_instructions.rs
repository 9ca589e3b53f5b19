//! Runs about the given number of guest instructions of a measured program, so that a tool
//! can count host instructions for each guest instruction:
//!
//! ```text
//! cargo build --release -p narthex-cores --example kernel_instructions
//! valgrind --tool=callgrind target/release/examples/kernel_instructions cached float 10000000
//! ```
//!
//! Run it with two counts and take the difference, to leave out the start.

#[path = "../benches/programs.rs"]
mod programs;

use std::process::ExitCode;
use std::time::Instant;

use narthex_kernel::Duration;

const USAGE: &str = "usage: kernel_instructions functional|timed|cached integer|float|pointers COUNT, or \
                     kernel_instructions levels near|far|far-stores COUNT";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((make, source, count)) = selection(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut machine = make(source);
    let start = Instant::now();
    while machine.retired() < count {
        machine.run(machine.now() + Duration::from_ns(100_000));
    }
    let (seconds, retired) = (start.elapsed().as_secs_f64(), machine.retired());
    let speed = retired as f64 / seconds / 1e6;
    println!("{retired} instructions, {}, {speed:.0} million instructions a second", machine.now());
    ExitCode::SUCCESS
}

fn selection(arguments: &[String]) -> Option<(programs::Make, &'static str, u64)> {
    let [machine, program, count] = arguments else { return None };
    let count = count.parse().ok()?;
    let named = |(name, source): &(&str, &'static str)| (name == program).then_some(*source);
    if machine == programs::LEVELS.0 {
        return Some((programs::LEVELS.1, programs::WALKS.iter().find_map(named)?, count));
    }
    let (_, make) = programs::MACHINES.into_iter().find(|(name, _)| name == machine)?;
    Some((make, programs::PROGRAMS.iter().find_map(named)?, count))
}
