//! Millions of guest instructions a second: integers, floating point, pointers;
//! functional, timed, and timed with first-level caches.

mod programs;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use narthex_kernel::{Duration, Time};

/// Guest instructions in one measured run, about.
const INSTRUCTIONS: u64 = 1_000_000;

fn kernels(criterion: &mut Criterion) {
    for (machine, make) in programs::MACHINES {
        let mut group = criterion.benchmark_group(machine);
        group.sample_size(20);
        for (name, source) in programs::PROGRAMS {
            let mut machine = make(source);
            // Warm up, then find out how long so many instructions take.
            let millisecond = Duration::from_ns(1_000_000);
            machine.run(Time::ZERO + millisecond);
            let before = machine.retired();
            machine.run(machine.now() + millisecond);
            let retired = machine.retired() - before;
            let slice = Duration::from_ps(millisecond.as_ps() * INSTRUCTIONS / retired);
            group.throughput(Throughput::Elements(INSTRUCTIONS));
            group.bench_function(name, |bencher| {
                bencher.iter(|| machine.run(machine.now() + slice));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
