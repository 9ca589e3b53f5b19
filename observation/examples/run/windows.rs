//! What the nodes do in each window, and what several threads could make of it: by count,
//! so that it is the same on a busy host, and for more threads than that has.
//!
//! A node's work in a window is its guest instructions, its events, and that it was called at
//! all, each at a price in host instructions ([`Prices`]). Threads meet after each window, so a
//! window takes as long as the thread with the most work in it. The sum of these is given for
//! each number of threads: where a node stays with one thread, as it does, and where the nodes
//! of each window are divided anew. What meeting costs is in neither: the count of windows tells.
//! Sums of two runs may be subtracted, so that what is before a program's main part is left out.
//!
//! Windows are counted from multiples of the network's lookahead on, and as long as that; those
//! of a run follow from what its nodes foresee, and are longer.

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::{Duration, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::{Failure, Monitor};
use serde_json::{Value, json};

/// Host instructions, from callgrind's counts of whole programs (docs/performance.md).
struct Prices {
    instruction: u64,
    event: u64,
    window: u64,
}

const PRICES: Prices = Prices { instruction: 45, event: 1_000, window: 850 };

/// Numbers of threads that are looked at.
const THREADS: [usize; 4] = [2, 4, 8, 16];

/// What a node has done so far.
#[derive(Clone, Copy, Default)]
struct Done {
    instructions: u64,
    events: u64,
}

impl Done {
    fn of(node: &Node) -> Self {
        Done { instructions: node.retired() - node.skipped_instructions(), events: node.events() }
    }
}

/// Counts the work of each node in each window.
#[derive(Default)]
pub struct Windows {
    length: Duration,
    done: Vec<Done>,
    /// Of each window in which anything was done, that of each node.
    work: Vec<Vec<u32>>,
    /// How often a node was called, and how often nothing happened to it but instructions.
    calls: u64,
    eventless: u64,
}

impl Monitor for Windows {
    fn start(&mut self, blueprint: &Blueprint<'_>, nodes: &mut [Node]) -> Result<(), Failure> {
        self.length = blueprint.config.network.lookahead();
        self.done = vec![Done::default(); nodes.len()];
        Ok(())
    }

    fn next_stop(&self, now: Time) -> Time {
        let windows = now.as_ps() / self.length.as_ps();
        Time::from_ps((windows + 1) * self.length.as_ps())
    }

    fn stop(&mut self, _now: Time, nodes: &mut [&mut Node], _switches: &[&Switch<Frame>]) {
        let mut works = Vec::with_capacity(nodes.len());
        for (node, before) in nodes.iter().zip(&mut self.done) {
            let done = Done::of(node);
            let instructions = done.instructions - before.instructions;
            let events = done.events - before.events;
            *before = done;
            let is_called = instructions + events > 0;
            self.calls += u64::from(is_called);
            self.eventless += u64::from(is_called && events == 0);
            let work = instructions * PRICES.instruction + events * PRICES.event;
            works.push((work + u64::from(is_called) * PRICES.window) as u32);
        }
        if works.iter().any(|&work| work > 0) {
            self.work.push(works);
        }
    }
}

impl Windows {
    /// What was found.
    pub fn found(&self) -> Value {
        let nodes = self.done.len();
        let of_nodes: Vec<u64> =
            (0..nodes).map(|node| self.work.iter().map(|works| u64::from(works[node])).sum()).collect();
        let paths = THREADS.iter().filter(|&&threads| threads <= nodes).map(|&threads| {
            let places = divided(&of_nodes, threads);
            let fixed = self.work.iter().map(|works| longest(works, &places, threads));
            let anew = self.work.iter().map(|works| longest(works, &divided(works, threads), threads));
            json!({ "threads": threads, "fixed": fixed.sum::<u64>(), "anew": anew.sum::<u64>() })
        });
        json!({
            "windows": self.work.len(),
            "work": of_nodes.iter().sum::<u64>(),
            "calls": self.calls,
            "eventless_calls": self.eventless,
            "eventless_work": self.eventless * PRICES.window,
            "paths": paths.collect::<Vec<_>>(),
        })
    }
}

/// The work of the thread that has most.
fn longest(works: &[u32], places: &[usize], threads: usize) -> u64 {
    let mut sums = [0; THREADS[THREADS.len() - 1]];
    for (&work, &thread) in works.iter().zip(places) {
        sums[thread] += u64::from(work);
    }
    sums[..threads].iter().copied().max().unwrap_or(0)
}

/// The thread of each node: the heaviest first, each to the thread with the least work.
fn divided<W: Copy + Ord + Into<u64>>(works: &[W], threads: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..works.len()).collect();
    order.sort_by_key(|&node| std::cmp::Reverse(works[node]));
    let (mut sums, mut places) = (vec![0u64; threads], vec![0; works.len()]);
    for node in order {
        let thread = (0..threads).min_by_key(|&thread| sums[thread]).unwrap_or(0);
        sums[thread] += works[node].into();
        places[node] = thread;
    }
    places
}
