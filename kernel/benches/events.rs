//! What an event costs the host: one is taken from the queue and a new one goes
//! in, a little later, so that as many wait as before. Nodes have a few.

use std::hint::black_box;
use std::time::Duration as HostDuration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use narthex_kernel::random::Stream;
use narthex_kernel::{Duration, EventQueue, Time};

/// Events that are taken in one measured turn.
const EVENTS: usize = 10_000;
/// Events are scheduled at most so much later.
const SPREAD: Duration = Duration::from_ns(100);

/// Delays without a pattern, the same in every run.
fn delays() -> Vec<Duration> {
    let mut random = Stream::new(1, "delays");
    (0..EVENTS).map(|_| Duration::from_ps(random.below(SPREAD.as_ps()))).collect()
}

fn events(criterion: &mut Criterion) {
    let delays = delays();
    let mut group = criterion.benchmark_group("event queue");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for waiting in [1, 4, 16, 64, 1024] {
        let mut queue = EventQueue::new();
        queue.extend(delays.iter().cycle().take(waiting).map(|&delay| (Time::ZERO + delay, 0u64)));
        group.bench_function(BenchmarkId::new("waiting", waiting), |bencher| {
            bencher.iter(|| {
                for &delay in &delays {
                    let (now, event) =
                        queue.pop_before(Time::NEVER).expect("one goes in for each that comes out");
                    queue.schedule(now + delay, black_box(event));
                }
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(HostDuration::from_millis(300))
        .measurement_time(HostDuration::from_secs(1));
    targets = events
}
criterion_main!(benches);
