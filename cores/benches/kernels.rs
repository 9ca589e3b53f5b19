//! Millions of guest instructions a second, functional and timed.

#[allow(dead_code)]
mod programs;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use narthex_cores::{Functional, InOrder, Stop, Timing};
use narthex_kernel::{Duration, Time};

/// Guest instructions in one measured run, about.
const INSTRUCTIONS: u64 = 1_000_000;

fn run_programs<T: Timing>(criterion: &mut Criterion, timing: &str) {
    let mut group = criterion.benchmark_group(timing);
    group.sample_size(20);
    for (name, source) in programs::PROGRAMS {
        let mut memory = programs::flat_memory();
        let mut processor = programs::processor::<T>(source);
        // Warm up, and find out how long so many instructions take.
        processor.run(&mut memory, Time::from_ps(1_000 * INSTRUCTIONS));
        let cycles = 1_000 * INSTRUCTIONS * INSTRUCTIONS / processor.retired();
        let slice = Duration::from_ps(cycles);
        group.throughput(Throughput::Elements(INSTRUCTIONS));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let until = processor.now() + slice;
                assert_eq!(processor.run(&mut memory, until), Stop::Horizon);
            });
        });
    }
    group.finish();
}

fn functional(criterion: &mut Criterion) {
    run_programs::<Functional>(criterion, "functional");
}

fn timed(criterion: &mut Criterion) {
    run_programs::<InOrder>(criterion, "timed, dual issue");
}

criterion_group!(benches, functional, timed);
criterion_main!(benches);
