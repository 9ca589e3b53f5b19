//! Any number of threads, held up at random, gives the bits of one.

use super::delayed::Delayed;
use super::gossip::{Fate, Gossip, LOOKAHEAD, Log, NODES};
use super::*;

/// One thread, fewer than partitions, as many, and more than any host of these tests has.
const THREADS: [usize; 4] = [1, 2, 3, 16];

/// Everything that a run shows.
#[derive(Debug, PartialEq)]
struct Outcome {
    endings: Vec<Ending>,
    now: Time,
    windows: u64,
    logs: Vec<Log>,
}

fn simulation(fates: [Fate; NODES], threads: usize) -> Simulation<Delayed<Gossip>> {
    let partition = |(node, fate)| {
        // Work differs tenfold, so that partitions move between threads.
        let effort = if node < 2 { 2_000 } else { 200 };
        Delayed::new(Gossip { fate, effort, ..Gossip::new(node) }, node + 100 * threads)
    };
    let partitions = fates.into_iter().enumerate().map(partition).collect();
    Simulation::new(partitions, LOOKAHEAD).with_threads(Threads::Exactly(threads))
}

fn outcome(endings: Vec<Ending>, simulation: Simulation<Delayed<Gossip>>) -> Outcome {
    let (now, windows) = (simulation.now(), simulation.windows());
    let partitions = simulation.into_partitions();
    let logs = partitions.into_iter().map(|delayed| delayed.partition.log).collect();
    Outcome { endings, now, windows, logs }
}

/// A run is the same with any number of threads; tells how it ended.
fn assert_same(fates: [Fate; NODES], limits: &Limits) -> Outcome {
    let run = |threads| {
        let mut simulation = simulation(fates, threads);
        let ending = simulation.run(limits, &mut go_on);
        outcome(vec![ending], simulation)
    };
    let alone = run(1);
    for threads in THREADS {
        assert!(run(threads) == alone, "{threads} threads");
    }
    alone
}

const FINISH: [Fate; NODES] = [Fate::Finish; NODES];

/// All finish but one.
fn but(partition: usize, fate: Fate) -> [Fate; NODES] {
    let mut fates = FINISH;
    fates[partition] = fate;
    fates
}

#[test]
fn the_threads_that_were_asked_for_are_there_but_no_more_than_partitions() {
    let count = |threads| simulation(FINISH, threads).thread_count();
    assert_eq!(THREADS.map(count), [1, 2, 3, NODES]);
    let up_to = |threads| simulation(FINISH, 1).with_threads(Threads::UpTo(threads)).thread_count();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!((up_to(1), up_to(1_000)), (1, NODES.min(processors)));
}

#[test]
fn finished_runs_are_the_same() {
    let alone = assert_same(FINISH, &Limits::default());
    assert!(alone.endings == [Ending::AllFinished] && alone.logs == reference());
}

#[test]
fn threads_that_are_used_only_where_they_pay_change_nothing() {
    let mut simulation = simulation(FINISH, 1).with_threads(Threads::UpTo(2));
    let ending = simulation.run(&Limits { windows_per_observation: 3, ..Limits::default() }, &mut go_on);
    let outcome = outcome(vec![ending], simulation);
    assert!(outcome.endings == [Ending::AllFinished] && outcome.logs == reference());
}

#[test]
fn the_first_that_stops_and_what_the_others_do_then_are_the_same() {
    let mut fates = but(5, Fate::Stop(100));
    fates[2] = Fate::Stop(101);
    let alone = assert_same(fates, &Limits::default());
    assert!(matches!(alone.endings[..], [Ending::Stopped { .. }]));
}

#[test]
fn a_deadlock_is_the_same() {
    let alone = assert_same(but(3, Fate::FallSilent(50)), &Limits::default());
    assert_eq!(alone.endings, [Ending::NoProgress(Stall::Deadlock)]);
}

#[test]
fn a_livelock_is_the_same() {
    let limits = Limits { patience: Duration::from_ns(1_234), ..Limits::default() };
    let alone = assert_same(but(6, Fate::Idle(200)), &limits);
    assert!(matches!(alone.endings[..], [Ending::NoProgress(Stall::Livelock { .. })]), "{:?}", alone.endings);
}

#[test]
fn a_run_in_pieces_is_the_same() {
    let in_pieces = |threads| {
        let mut simulation = simulation(FINISH, threads);
        let mut endings = Vec::new();
        while endings.last() != Some(&Ending::AllFinished) {
            let until = simulation.now() + Duration::from_ns(2_345);
            endings.push(simulation.run(&Limits { until, ..Limits::default() }, &mut go_on));
        }
        outcome(endings, simulation)
    };
    let alone = in_pieces(1);
    assert!(alone.endings.len() > 4);
    assert!(alone.logs == reference());
    for threads in THREADS {
        assert!(in_pieces(threads) == alone, "{threads} threads");
    }
}

#[test]
fn a_run_that_is_interrupted_everywhere_is_the_same() {
    for threads in THREADS {
        let mut simulation = simulation(FINISH, threads);
        let limits = Limits { windows_per_observation: 25, ..Limits::default() };
        let mut interrupt = |now, partitions: &mut [&mut Delayed<Gossip>]| {
            assert_eq!(partitions.len(), NODES);
            let log = |delayed: &&mut Delayed<Gossip>| delayed.partition.log.last().copied();
            assert!(partitions.iter().filter_map(log).all(|(at, _)| at < now));
            ControlFlow::Break(())
        };
        let mut pieces = 0;
        while simulation.run(&limits, &mut interrupt) == Ending::Interrupted {
            pieces += 1;
        }
        let outcome = outcome(vec![], simulation);
        assert!(pieces > 4 && outcome.logs == reference(), "{threads} threads");
    }
}

#[test]
fn a_panic_on_any_thread_ends_the_run() {
    for threads in THREADS {
        for partition in [0, 6] {
            let mut simulation = simulation(but(partition, Fate::Panic(40)), threads);
            let run = std::panic::AssertUnwindSafe(|| simulation.run(&Limits::default(), &mut go_on));
            let panic = std::panic::catch_unwind(run).expect_err("it panics");
            assert_eq!(panic.downcast_ref(), Some(&"a partition's panic"), "{threads} threads");
        }
    }
}

#[test]
fn a_panic_of_the_observer_ends_the_run() {
    let mut simulation = simulation(FINISH, 3);
    let limits = Limits { windows_per_observation: 25, ..Limits::default() };
    let run =
        std::panic::AssertUnwindSafe(|| simulation.run(&limits, &mut |_, _| panic!("an observer's panic")));
    let panic = std::panic::catch_unwind(run).expect_err("it panics");
    assert_eq!(panic.downcast_ref(), Some(&"an observer's panic"));
}
