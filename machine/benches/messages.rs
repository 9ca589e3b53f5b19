//! What a simulated message costs the host, over each interface; what a window
//! of the simulation costs; what it takes to start a machine.
//!
//! ```text
//! cargo bench -p narthex-machine --bench messages
//! ```
//!
//! The guest is the ping-pong of the tests, without its start-up: a run of
//! `FEW` turns is measured beside one of `MANY`, and the difference is what the
//! messages cost. Criterion's "elements" are messages.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use narthex_machine::RunRequest;
use support::exchange::ping_pong;
use support::{Guest, request, run_guest};

/// Round trips of a short and of a long run.
const FEW: u64 = 10;
const MANY: u64 = 1010;

/// How long a run takes.
fn time_of(request: &RunRequest, guest: &(impl Guest + ?Sized)) -> Duration {
    let begin = Instant::now();
    black_box(run_guest(request, guest).expect("the program is sound"));
    begin.elapsed()
}

/// Messages of 64 bytes a second, in both directions.
fn messages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ping-pong of 64 bytes");
    group.throughput(Throughput::Elements(2 * (MANY - FEW)));
    let [few, many] = [FEW, MANY].map(|turns| ping_pong(turns, 64));
    for interface in ["NI2w", "CNI512Q", "CNI32Qm"] {
        let request = request("hpca98", interface);
        group.bench_function(BenchmarkId::from_parameter(interface), |bencher| {
            bencher.iter_custom(|count| {
                let long: Duration = (0..count).map(|_| time_of(&request, &many)).sum();
                let short: Duration = (0..count).map(|_| time_of(&request, &few)).sum();
                long.saturating_sub(short)
            });
        });
    }
    group.finish();
}

/// Simulated windows a second on nodes that only compute, of the fabric's 40 ns
/// each: what is left of the processor's speed.
fn windows(criterion: &mut Criterion) {
    const WINDOWS: u64 = 2_000;
    // A turn takes 3 cycles of 1 ns: two instructions at once, the branch, its target.
    let busy = format!(
        "
        li   t0, {}
    turn:
        add  t1, t1, t0
        addi t0, t0, -1
        bnez t0, turn
        exit 0
    ",
        WINDOWS * 40 / 3
    );
    let mut group = criterion.benchmark_group("busy window of 40 ns");
    group.throughput(Throughput::Elements(WINDOWS));
    for nodes in [2, 16] {
        let request = RunRequest { nodes: Some(nodes), ..request("hpca98", "NI2w") };
        group.bench_function(BenchmarkId::new("nodes", nodes), |bencher| {
            bencher.iter(|| time_of(&request, &busy));
        });
    }
    group.finish();
}

/// A machine of 16 nodes whose programs end at once.
fn start_up(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("start-up of 16 nodes");
    for interface in ["NI2w", "CNI512Q", "CNI32Qm"] {
        let request = RunRequest { nodes: Some(16), ..request("hpca98", interface) };
        group.bench_function(BenchmarkId::from_parameter(interface), |bencher| {
            bencher.iter(|| time_of(&request, "exit 0"));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    // The machine is timed by many runs anyway: a few samples are enough.
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = messages, windows, start_up
}
criterion_main!(benches);
