//! Runs about so many guest instructions of a measured program, so that a tool
//! can count host instructions for each guest instruction:
//!
//! ```text
//! cargo build --release --example kernel_instructions
//! valgrind --tool=callgrind target/release/examples/kernel_instructions timed float 10000000
//! ```
//!
//! Run it with two counts and take the difference, to leave out the start.

#[allow(dead_code)]
#[path = "../benches/programs.rs"]
mod programs;

use std::time::Instant;

use narthex_cores::{Functional, InOrder, Stop, Timing};
use narthex_kernel::{Duration, Time};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [timing, program, count] = arguments.as_slice() else {
        eprintln!("usage: kernel_instructions functional|timed integer|float|pointers COUNT");
        std::process::exit(2);
    };
    let (Some((_, source)), Ok(count)) =
        (programs::PROGRAMS.iter().find(|(name, _)| name == program), count.parse())
    else {
        eprintln!("kernel_instructions: {program} is no program, or {count} is no number");
        std::process::exit(2);
    };
    match timing.as_str() {
        "timed" => run::<InOrder>(source, count),
        _ => run::<Functional>(source, count),
    }
}

fn run<T: Timing>(source: &str, count: u64) {
    let mut memory = programs::flat_memory();
    let mut processor = programs::processor::<T>(source);
    let start = Instant::now();
    while processor.retired() < count {
        let until = processor.now() + Duration::from_ns(100_000);
        assert_eq!(processor.run(&mut memory, until), Stop::Horizon);
    }
    let seconds = start.elapsed().as_secs_f64();
    let retired = processor.retired();
    println!(
        "{retired} instructions, {} cycles, {:.0} million instructions a second",
        processor.cycles(),
        retired as f64 / seconds / 1e6
    );
    assert!(processor.now() > Time::ZERO);
}
