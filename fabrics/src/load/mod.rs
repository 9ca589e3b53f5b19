//! Networks alone, under synthetic load: what a network carries, and how long it
//! takes, without processors or interfaces.
//!
//! Each node is a source of its own that does not listen: it hands over a packet at
//! each cycle of its link with the same probability, however many wait (open loop),
//! and takes what arrives at once. A measurement has three parts (Dally and Towles,
//! Principles and Practices of Interconnection Networks, Chapter 23):
//!
//! ```text
//!   0 ── warm-up ──► measured ──────────► until the measured packets have arrived
//!                    throughput: bytes    sources go on, so that they do
//!                    that arrive          not get through more easily
//! ```
//!
//! Latency counts from the instant at which a packet is made, not from that at which
//! the link takes it. Where the network is saturated the packets that wait become
//! more and more; then what it accepts is its throughput, and latency means nothing.

mod patterns;
mod source;

use std::ops::ControlFlow;
use std::sync::Arc;

use narthex_kernel::simulation::{Ending, Limits, Simulation, Threads};
use narthex_kernel::statistics::{Histogram, Statistic};
use narthex_kernel::{Duration, Time};
use serde::Deserialize;

use crate::link;
use crate::networks::switched;
use crate::switch::{Plan, Switch};
use crate::topologies::Topology;

pub use patterns::Pattern;
use source::{Part, Schedule, Source};

/// Measurements are given up when the packets of the measured part have not arrived
/// after so many times its length.
const PATIENCE: u64 = 10;

/// The most packets' cycles that a measurement may have: a few minutes of the host.
const MOST_CYCLES: u64 = 100_000_000;

/// A network under load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// The share of its link that each node wants to use, in thousandths.
    pub permille: u32,
    /// Bytes of each packet, all that links carry for it.
    pub packet_bytes: u32,
    /// Cycles of the links before measuring.
    pub warm_up_cycles: u64,
    /// Cycles that are measured.
    pub measured_cycles: u64,
    /// Where random streams start.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The share of its link that a node wanted to use: what sources made while it was
    /// measured.
    pub offered: f64,
    /// The share of its link over which a node received while it was measured, on average.
    pub accepted: f64,
    /// The same of the node that received least. Where each node is sent as much, it is the
    /// throughput that every flow gets (Dally and Towles, Chapter 23), less what chance
    /// takes from one of them in a short time.
    pub accepted_least: f64,
    /// The latencies of the measured packets, in picoseconds; of those that have arrived.
    pub latency: Histogram,
    /// Not all measured packets have arrived: the network is saturated.
    pub is_saturated: bool,
    /// The links: whence, whereto, and what each carried in the whole run.
    pub links: Vec<(String, String, link::Statistics)>,
    /// When the run ended.
    pub end: Time,
    /// Events of all partitions.
    pub events: u64,
}

impl Load {
    /// What is wrong with it, for a network of this many nodes.
    pub fn problems(&self, nodes: u32, buffer_bytes: u32) -> Vec<(&'static str, String)> {
        let mut problems = self.pattern.problems(nodes);
        if !(1..=1000).contains(&self.permille) {
            problems.push(("load", format!("{} thousandths are not from 1 to 1000", self.permille)));
        }
        if self.packet_bytes == 0 || self.packet_bytes > buffer_bytes {
            let message = format!(
                "{}B is not from 1B to the buffer of {buffer_bytes}B (network.switches.buffer)",
                self.packet_bytes
            );
            problems.push(("packet_bytes", message));
        }
        if self.measured_cycles == 0
            || self.measured_cycles > MOST_CYCLES
            || self.warm_up_cycles > MOST_CYCLES
        {
            problems.push(("cycles", format!("expected from 1 to {MOST_CYCLES} cycles")));
        }
        problems
    }

    /// Lets a network carry the load. `observer` is told the simulated time now and
    /// then, and ends the run by returning false; then there is no measurement.
    pub fn measure(
        &self,
        network: &switched::Config,
        nodes: u32,
        threads: Threads,
        observer: &mut dyn FnMut(Time) -> bool,
    ) -> Option<Measurement> {
        let plan = Arc::new(network.plan(nodes));
        let cycle = network.links.clock.clock();
        let [begin, end, last] = [
            self.warm_up_cycles,
            self.warm_up_cycles + self.measured_cycles,
            self.warm_up_cycles + (1 + PATIENCE) * self.measured_cycles,
        ]
        .map(|cycles| Time::ZERO + cycle.cycles(cycles));
        let schedule = Arc::new(Schedule::new(self, &plan, cycle, nodes, [begin, end, last]));
        let mut simulation = self.simulation(&plan, &schedule).with_threads(threads);
        let mut goes_on = true;
        let mut until = end;
        while goes_on {
            let limits = Limits { until, ..Limits::default() };
            let ending = simulation.run(&limits, &mut |now, _| {
                goes_on &= observer(now);
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            let outstanding: i64 = sources(&mut simulation).map(Source::outstanding).sum();
            let is_over = outstanding == 0 || simulation.now() >= last;
            if is_over || matches!(ending, Ending::NoProgress(_)) {
                break;
            }
            until = until + (end - begin) / 10 + Duration::from_ps(1);
        }
        goes_on.then(|| self.result(&mut simulation, &schedule))
    }

    fn simulation(&self, plan: &Arc<Plan>, schedule: &Arc<Schedule>) -> Simulation<Part> {
        let sources = (0..plan.nodes)
            .map(|node| Part::Source(Box::new(Source::new(node as u16, plan, schedule, self.seed))));
        let switches =
            (0..plan.topology.switches()).map(|number| Part::Switch(Box::new(Switch::new(number, plan))));
        Simulation::new(sources.chain(switches).collect(), plan.timing.lookahead(self.packet_bytes))
    }

    fn result(&self, simulation: &mut Simulation<Part>, schedule: &Schedule) -> Measurement {
        let end = simulation.now();
        let nodes = sources(simulation).count() as f64;
        let mut latency = Histogram::default();
        let (mut made, mut arrived, mut missing) = (0, 0, 0);
        let mut least = u64::MAX;
        for source in sources(simulation) {
            latency.merge(&source.latency);
            made += source.made_while_measured;
            arrived += source.arrived_while_measured;
            least = least.min(source.arrived_while_measured);
            missing += source.outstanding();
        }
        let busy = schedule.serialization.as_ps() as f64;
        let [begin, measured_end, _] = schedule.parts;
        let share = |packets: u64| packets as f64 * busy / ((measured_end - begin).as_ps() as f64 * nodes);
        let mut links = Vec::new();
        let mut events = 0;
        for part in simulation.partitions() {
            match part {
                Part::Source(source) => {
                    let terminal = &source.terminal;
                    links.push((source.name(), terminal.switch_name(), terminal.link().clone()));
                    events += source.events.taken();
                }
                Part::Switch(switch) => {
                    links.extend(switch.links().map(|(to, link)| (switch.name(), to, link.clone())));
                    events += switch.events();
                }
            }
        }
        let (offered, accepted) = (share(made), share(arrived));
        let accepted_least = share(least) * nodes;
        Measurement {
            offered,
            accepted,
            accepted_least,
            latency,
            is_saturated: missing > 0,
            links,
            end,
            events,
        }
    }
}

fn sources(simulation: &mut Simulation<Part>) -> impl Iterator<Item = &Source> {
    simulation.partitions().filter_map(|part| match part {
        Part::Source(source) => Some(&**source),
        Part::Switch(_) => None,
    })
}

#[cfg(test)]
mod tests;
