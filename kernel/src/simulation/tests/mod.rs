//! However windows are scheduled, every partition must see the same.

mod alone;
mod delayed;
mod foresight;
mod gossip;
mod instants;
mod order;
mod threads;
mod tiers;

use std::ops::ControlFlow;

use super::tiers::Members;
use super::window::Window;
use super::*;
use crate::partition::{Envelope, Outbox, Status};
use crate::random::Stream;
use gossip::{Gossip, LOOKAHEAD, Log, NODES, TALKS};

/// Simulates windows one by one, each with `simulate`, until nothing is left.
fn logs(order: [usize; NODES], mut simulate: impl FnMut(&mut Group<'_, Gossip>, Time)) -> Vec<Log> {
    let mut partitions: Vec<_> = order.into_iter().map(|node| (node, Gossip::new(node))).collect();
    partitions.sort_by_key(|partition| partition.0);
    let partitions = partitions.into_iter().map(|partition| partition.1).collect();
    let simulation = Simulation::new(partitions, LOOKAHEAD);
    let mut all = Group::new(0, NODES);
    all.take_all(&simulation.slots);
    while all.earliest() < Time::NEVER {
        let start = all.earliest();
        simulate(&mut all, start);
    }
    drop(all);
    simulation.into_partitions().into_iter().map(|partition| partition.log).collect()
}

fn simulate(all: &mut Group<'_, Gossip>, start: Time, end: Time) {
    let window = Window {
        members: Members::All,
        end,
        ahead_until: end,
        is_complete: true,
        first_arrivals: [start + LOOKAHEAD; 2],
        latency: LOOKAHEAD,
        first: None,
        finished_end: Time::NEVER,
    };
    all.simulate(&window, false, |_, _| unreachable!("all partitions are here"));
}

const IN_ORDER: [usize; NODES] = [0, 1, 2, 3, 4, 5, 6];

fn reference() -> Vec<Log> {
    logs(IN_ORDER, |all, start| simulate(all, start, start + LOOKAHEAD))
}

fn go_on<P>(_: Time, _: &mut [&mut P]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn gossip_makes_ties_or_the_tests_below_would_prove_nothing() {
    let logs = reference();
    let ties = logs.iter().flat_map(|log| log.windows(2)).filter(|pair| pair[0].0 == pair[1].0);
    assert!(ties.count() > 200);
    assert!(logs.iter().all(|log| log.len() > TALKS as usize));
}

#[test]
fn two_runs_are_the_same_bit_for_bit() {
    assert_eq!(reference(), reference());
}

#[test]
fn the_order_of_construction_does_not_matter() {
    let permuted = logs([4, 2, 6, 0, 5, 1, 3], |all, start| simulate(all, start, start + LOOKAHEAD));
    assert_eq!(permuted, reference());
}

#[test]
fn it_does_not_matter_where_windows_end() {
    let mut turn = 0;
    let shorter = logs(IN_ORDER, |all, start| {
        turn += 1;
        let length = LOOKAHEAD.as_ps() - 5_000 * (turn % 8);
        simulate(all, start, start + Duration::from_ps(length));
    });
    assert_eq!(shorter, reference());
}

#[test]
fn run_is_those_windows() {
    let mut simulation = Simulation::new((0..NODES).map(Gossip::new).collect(), LOOKAHEAD);
    assert_eq!(simulation.run(&Limits::default(), &mut go_on), Ending::AllFinished);
    let seen: Vec<Log> = simulation.into_partitions().into_iter().map(|partition| partition.log).collect();
    assert_eq!(seen, reference());
}

/// A simulation that is archived every now and then, and goes on elsewhere.
fn restored(threads: Threads) -> Vec<Log> {
    let fresh = || Simulation::new(IN_ORDER.map(Gossip::new).into(), LOOKAHEAD).with_threads(threads);
    let mut random = Stream::new(5, "when to archive");
    let mut simulation = fresh();
    let mut pieces = 0;
    loop {
        let windows_per_observation = 1 + random.below(20) as u32;
        let limits = Limits { windows_per_observation, ..Limits::default() };
        if simulation.run(&limits, &mut |_, _| ControlFlow::Break(())) == Ending::AllFinished {
            break;
        }
        pieces += 1;
        let bytes = Archive::save(&mut simulation).unwrap();
        simulation = fresh();
        Archive::restore(&bytes, &mut simulation).unwrap();
        assert_eq!(Archive::save(&mut simulation).unwrap(), bytes);
    }
    assert!(pieces > 10);
    simulation.into_partitions().into_iter().map(|partition| partition.log).collect()
}

#[test]
fn a_state_whose_partitions_are_behind_its_time_is_refused() {
    let fresh = || Simulation::new(IN_ORDER.map(Gossip::new).into(), LOOKAHEAD);
    let refusal = |now| {
        let mut simulation = fresh();
        simulation.control.now = Time::from_ps(now);
        let mut bytes = Vec::new();
        let _ = Archive::write(&mut simulation, &mut bytes);
        Archive::restore(&bytes, &mut fresh()).err().map(|damage| damage.to_string())
    };
    assert_eq!(refusal(0), None);
    assert_eq!(refusal(1 << 60).as_deref(), Some("a node has still to do what is long over"));
}

#[test]
fn a_simulation_goes_on_from_its_archive_as_if_nothing_had_happened() {
    assert!(restored(Threads::UpTo(1)) == reference());
    assert!(restored(Threads::Exactly(3)) == reference());
}
