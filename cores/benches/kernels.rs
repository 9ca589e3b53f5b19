//! Millions of guest instructions a second: integers, floating point, pointers;
//! functional, timed, and timed with first-level caches.

mod programs;

use std::time::Duration as HostDuration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use narthex_kernel::{Duration, Time};

/// Guest instructions in one measured run, about.
const INSTRUCTIONS: u64 = 1_000_000;

fn kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("processor");
    group.throughput(Throughput::Elements(INSTRUCTIONS));
    for (timing, make) in programs::MACHINES {
        for (name, source) in programs::PROGRAMS {
            let mut machine = make(source);
            // Warm up, then find out how long this many instructions take.
            let millisecond = Duration::from_ns(1_000_000);
            machine.run(Time::ZERO + millisecond);
            let before = machine.retired();
            machine.run(machine.now() + millisecond);
            let retired = machine.retired() - before;
            let slice = Duration::from_ps(millisecond.as_ps() * INSTRUCTIONS / retired);
            group.bench_function(BenchmarkId::new(timing, name), |bencher| {
                bencher.iter(|| machine.run(machine.now() + slice));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(HostDuration::from_millis(500))
        .measurement_time(HostDuration::from_secs(2));
    targets = kernels
}
criterion_main!(benches);
