//! What a window of the simulation costs on the host when there is little to
//! do: it must stay well below what simulating 40 ns of a node costs.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration as HostDuration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use narthex_kernel::simulation::Threads;
use narthex_kernel::{Duration, Envelope, EventQueue, Limits, Outbox, Partition, Simulation, Status, Time};

const LOOKAHEAD: Duration = Duration::from_ns(40);
/// Many, because starting a thread takes as long as hundreds of them.
const WINDOWS: u64 = 200_000;

/// Ticks in every window, or waits for what others send and answers it.
struct Node {
    index: usize,
    nodes: usize,
    answers: bool,
    turns: u64,
    events: EventQueue<()>,
}

impl Partition for Node {
    type Payload = [u64; 4];

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<[u64; 4]>) {
        while let Some((now, ())) = self.events.pop_before(outbox.until()) {
            self.turns += 1;
            if self.answers {
                let destination = (self.index + 1) % self.nodes;
                outbox.send(now + LOOKAHEAD, destination, [self.turns; 4]);
            } else {
                self.events.schedule(now + LOOKAHEAD, ());
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<[u64; 4]>) {
        black_box(envelope.payload);
        self.events.receive(envelope, |_| ());
    }

    fn status(&self) -> Status {
        Status::Running
    }

    fn progress(&self) -> u64 {
        self.turns
    }
}

/// `busy` of `nodes` nodes tick, or pass tokens when they answer.
fn machine(nodes: usize, busy: usize, answers: bool) -> Simulation<Node> {
    let node = |index| {
        let mut events = EventQueue::new();
        if index < busy {
            events.schedule(Time::ZERO, ());
        }
        Node { index, nodes, answers, turns: 0, events }
    };
    Simulation::new((0..nodes).map(node).collect(), LOOKAHEAD)
}

fn windows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("window");
    group.throughput(Throughput::Elements(WINDOWS));
    let cases = [
        ("one of 16 nodes has an event", 16, 1, false, 1),
        ("each of 16 nodes has an event", 16, 16, false, 1),
        ("each of 16 nodes has an event, 2 threads", 16, 16, false, 2),
        ("one of 16 nodes sends an envelope", 16, 1, true, 1),
        ("each of 16 nodes sends an envelope", 16, 16, true, 1),
        ("each of 16 nodes sends an envelope, 2 threads", 16, 16, true, 2),
        ("one of 2 nodes has an event", 2, 1, false, 1),
        ("each of 2 nodes has an event, 2 threads", 2, 2, false, 2),
    ];
    for (name, nodes, busy, answers, threads) in cases {
        let mut simulation = machine(nodes, busy, answers).with_threads(Threads::Exactly(threads));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let until = simulation.now() + LOOKAHEAD * WINDOWS;
                let limits = Limits { until, ..Limits::default() };
                black_box(simulation.run(&limits, &mut |_, _| ControlFlow::Continue(())))
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
    targets = windows
}
criterion_main!(benches);
