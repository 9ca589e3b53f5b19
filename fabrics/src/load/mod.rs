//! Networks alone, under synthetic load: what a network carries, and how long it
//! takes, without processors or interfaces.
//!
//! Each node is a source that hands over packets and takes what arrives at once. In an open
//! loop it does not listen: it makes a packet at each cycle of its link with the same
//! probability, however many wait. In a closed loop each packet is a request that its receiver
//! answers with a reply as long, and a source has the same number of requests without a reply at
//! any time: it slows down with the network, as processors do that wait (Dally and Towles,
//! Section 24.2), and there is no load beyond what the network carries. A measurement has three parts (Dally and Towles,
//! Principles and Practices of Interconnection Networks, Chapter 23):
//!
//! ```text
//!   0 ── warm-up ──► window ───► window ───────► until the packets of the last one have arrived
//!                    throughput: bytes that arrive in it      sources go on, so that they do
//!                                                             not get through more easily
//! ```
//!
//! Latency counts from the instant at which a packet is made, not from that at which
//! the link takes it. It is measured in windows, each twice as long as the one before and
//! so with a longer warm-up, until one shows a steady state or that the network is
//! saturated ([`steadiness`]). Then packets at the sources become more and more; what the
//! network accepts is its throughput, and there is no latency.

mod over_time;
mod patterns;
mod source;
mod steadiness;
mod windows;

use std::ops::ControlFlow;
use std::sync::Arc;

use narthex_kernel::simulation::{Ending, Limits, Simulation, Threads};
use narthex_kernel::{Duration, Time};
use serde::Deserialize;

use crate::intervals::{Intervals, Track};
use crate::latencies::{Detail, Latencies};
use crate::link;
use crate::networks::{Parameters, switched};
use crate::switch::{Plan, Switch};
use crate::topologies::Topology;

use over_time::OverTime;
pub use patterns::Pattern;
use source::{Part, Quarter, Schedule, Source};
pub use steadiness::Verdict;
use steadiness::{drift, spread, verdict};
pub use windows::QUARTERS;
use windows::Windows;

/// Windows at most, so that the last is 32 times as long as the first.
pub const MOST_WINDOWS: u32 = 6;

/// The load that takes all of a link. What comes at random instants then waits ever longer,
/// even where the network carries all of it: a queue has a mean only below.
const ALL_PERMILLE: u32 = 1000;

/// The most packets' cycles that a measurement may have: a few minutes of the host.
const MOST_CYCLES: u64 = 100_000_000;

/// A network under load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// How much they send.
    pub demand: Demand,
    /// Bytes of each packet, all that links carry for it.
    pub packet_bytes: u32,
    /// Cycles of the links before measuring.
    pub warm_up_cycles: u64,
    /// Cycles of the first window that is measured; each next one has twice as many.
    pub measured_cycles: u64,
    /// Where random streams start.
    pub seed: u64,
    /// Links are looked at in intervals of this length, if there is one.
    #[serde(default)]
    pub interval: Option<Duration>,
}

/// What decides when a node makes packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// In an open loop: the share of its link that each node wants to use, in thousandths.
    Permille(u32),
    /// In a closed loop: the requests of each node that have no reply.
    Outstanding(u32),
}

/// Requests without a reply that a node may have, at most.
const MOST_OUTSTANDING: u32 = 1024;

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
    /// What the last window showed.
    pub verdict: Verdict,
    /// The latencies of the packets that were made in it, in picoseconds; none where the
    /// network is saturated.
    pub latency: Latencies,
    /// Mean latencies of those that were made in each quarter of it, in picoseconds.
    pub quarters: [Option<f64>; QUARTERS],
    /// Half of the range of these, as a share of the mean.
    pub spread: Option<f64>,
    /// The nodes whose own backlogs grow in a saturated network. None may, where all
    /// together do.
    pub saturated_nodes: Vec<u16>,
    /// Packets that were made in the window.
    pub packets: u64,
    /// Cycles before the window, and its cycles.
    pub window_cycles: (u64, u64),
    /// The links: whence, whereto, and what each carried in the whole run.
    pub links: Vec<(String, String, link::Statistics)>,
    /// For how many picoseconds of each interval each of them was busy, if that was asked for.
    pub over_time: Option<(Intervals, Vec<Track>)>,
    /// When the run ended.
    pub end: Time,
    /// Events of all partitions.
    pub events: u64,
}

impl Load {
    /// What is wrong with it, for a network of this many nodes.
    pub fn problems(&self, nodes: u32, network: &switched::Config) -> Vec<(&'static str, String)> {
        let buffer_bytes = network.switches.buffer.as_u64() as u32;
        let mut problems = self.pattern.problems(nodes, &network.topology);
        match self.demand {
            Demand::Permille(wrong) if !(1..=ALL_PERMILLE).contains(&wrong) => {
                problems.push(("load", format!("{wrong} thousandths are not from 1 to 1000")));
            }
            Demand::Outstanding(wrong) if !(1..=MOST_OUTSTANDING).contains(&wrong) => {
                let message = format!("{wrong} requests are not from 1 to {MOST_OUTSTANDING}");
                problems.push(("outstanding", message));
            }
            _ => {}
        }
        problems.extend(network.loss_without_repair());
        if self.packet_bytes == 0 || self.packet_bytes > buffer_bytes {
            let message = format!(
                "{}B is not from 1B to the buffer of {buffer_bytes}B (network.switches.buffer)",
                self.packet_bytes
            );
            problems.push(("packet_bytes", message));
        } else if let Some((key, message)) = network.packet_problem(self.packet_bytes.into(), "packet_bytes")
        {
            problems.push(("packet_bytes", format!("network.{key}: {message}")));
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
        let windows = Windows {
            begin: Time::ZERO + cycle.cycles(self.warm_up_cycles),
            first: cycle.cycles(self.measured_cycles),
            count: MOST_WINDOWS,
        };
        let schedule = Arc::new(Schedule::new(self, &plan, cycle, nodes, windows));
        let mut simulation = self.simulation(&plan, &schedule).with_threads(threads);
        let mut before = None;
        let mut watch = Watch { over_time: self.interval.map(OverTime::new), observer };
        for window in 0.. {
            let mut measured = self.window(&mut simulation, &schedule, (window, before), &mut watch)?;
            before = measured.latency.counted().mean().filter(|_| measured.spread.is_some());
            if measured.verdict != Verdict::NotSteady || window + 1 == MOST_WINDOWS {
                measured.over_time = watch.over_time.map(|over_time| over_time.finish(&mut simulation));
                return Some(measured);
            }
        }
        unreachable!("the last window returns")
    }

    /// Measures in a window, behind one with a mean latency; none if the observer has ended it.
    fn window(
        &self,
        simulation: &mut Simulation<Part>,
        schedule: &Schedule,
        (window, before): (u32, Option<f64>),
        watch: &mut Watch<'_>,
    ) -> Option<Measurement> {
        let (end, length) = (schedule.windows.begin(window + 1), schedule.windows.length(window));
        let is_last = window + 1 == MOST_WINDOWS;
        let takes_all = self.demand == Demand::Permille(ALL_PERMILLE);
        let mut stands = watch.run_until(simulation, end)?;
        sources(simulation).for_each(|source| source.note_backlog(end));
        let backlogs: Vec<_> = sources(simulation).map(|source| source.backlog(window)).collect();
        // Packets of a saturated network are not waited for.
        let mut until = end;
        while verdict(&backlogs, [None, None], is_last) != Verdict::Saturated
            && !stands
            && !takes_all
            && until < end + length
            && has_outstanding(simulation, window)
        {
            until = until + length / 10 + Duration::from_ps(1);
            stands = watch.run_until(simulation, until)?;
        }
        let mut measured = self.result(simulation, schedule, window);
        let differences = [measured.spread, drift(before, measured.latency.counted().mean())];
        measured.verdict = verdict(&backlogs, differences, is_last);
        let waits_for_ever = (stands || is_last) && has_outstanding(simulation, window);
        if takes_all || waits_for_ever {
            measured.verdict = Verdict::Saturated;
        }
        if measured.verdict == Verdict::Saturated {
            let nodes = (0..).zip(&backlogs).filter(|(_, backlog)| backlog.grows());
            measured.saturated_nodes = nodes.map(|(node, _)| node).collect();
            measured.latency = Latencies::new(Detail::Percentiles);
            (measured.quarters, measured.spread) = Default::default();
        }
        Some(measured)
    }

    fn simulation(&self, plan: &Arc<Plan>, schedule: &Arc<Schedule>) -> Simulation<Part> {
        let sources = (0..plan.nodes)
            .map(|node| Part::Source(Box::new(Source::new(node as u16, plan, schedule, self.seed))));
        let switches =
            (0..plan.topology.switches()).map(|number| Part::Switch(Box::new(Switch::new(number, plan))));
        Simulation::new(sources.chain(switches).collect(), plan.timings.lookahead(self.packet_bytes))
    }

    fn result(&self, simulation: &mut Simulation<Part>, schedule: &Schedule, window: u32) -> Measurement {
        let end = simulation.now();
        let nodes = sources(simulation).count() as f64;
        let mut latency = Latencies::new(Detail::Percentiles);
        let mut all = [Quarter::default(); QUARTERS];
        let mut least = u64::MAX;
        for source in sources(simulation) {
            latency.merge(&source.latencies[window as usize]);
            let own = &source.quarters[Windows::quarters(window)];
            all.iter_mut().zip(own).for_each(|(all, own)| all.add(own));
            least = least.min(own.iter().map(|quarter| quarter.arrived).sum());
        }
        let packets = all.iter().map(|quarter| quarter.made).sum();
        let arrived = all.iter().map(|quarter| quarter.arrived).sum();
        let busy = schedule.serialization.as_ps() as f64;
        let length = schedule.windows.length(window).as_ps() as f64;
        let share = |packets: u64| packets as f64 * busy / (length * nodes);
        let quarters = all.map(|quarter| quarter.mean_latency_ps());
        let is_whole = latency.count() == packets;
        let (links, events) = links(simulation);
        Measurement {
            offered: share(packets),
            accepted: share(arrived),
            accepted_least: share(least) * nodes,
            verdict: Verdict::NotSteady,
            spread: latency.counted().mean().filter(|_| is_whole).and_then(|mean| spread(&quarters, mean)),
            latency,
            quarters,
            saturated_nodes: Vec::new(),
            packets,
            window_cycles: (
                self.warm_up_cycles + self.measured_cycles * ((1 << window) - 1),
                self.measured_cycles << window,
            ),
            links,
            over_time: None,
            end,
            events,
        }
    }
}

/// What each link has carried, and the events of all partitions.
fn links(simulation: &mut Simulation<Part>) -> (Vec<(String, String, link::Statistics)>, u64) {
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
    (links, events)
}

/// What looks at a network while it is measured.
struct Watch<'a> {
    over_time: Option<OverTime>,
    observer: &'a mut dyn FnMut(Time) -> bool,
}

impl Watch<'_> {
    /// Lets the network carry on until an instant. Returns whether it stands still, or none if the
    /// observer has ended it.
    fn run_until(&mut self, simulation: &mut Simulation<Part>, until: Time) -> Option<bool> {
        loop {
            let look = self.over_time.as_ref().map_or(Time::NEVER, OverTime::next_look);
            let stands = run_until(simulation, until.min(look), self.observer)?;
            if let Some(over_time) = &mut self.over_time
                && !stands
                && look <= until
            {
                over_time.look(look, simulation);
            }
            if stands || look > until {
                return Some(stands);
            }
        }
    }
}

/// Lets the network carry on until an instant. Returns whether it stands still, or none if
/// the observer has ended it.
fn run_until(
    simulation: &mut Simulation<Part>,
    until: Time,
    observer: &mut dyn FnMut(Time) -> bool,
) -> Option<bool> {
    let mut goes_on = true;
    let ending = simulation.run(&Limits { until, ..Limits::default() }, &mut |now, _| {
        goes_on &= observer(now);
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    goes_on.then_some(matches!(ending, Ending::NoProgress(_)))
}

fn has_outstanding(simulation: &mut Simulation<Part>, window: u32) -> bool {
    sources(simulation).map(|source| source.outstanding(window)).sum::<i64>() > 0
}

fn sources(simulation: &mut Simulation<Part>) -> impl Iterator<Item = &mut Source> {
    simulation.partitions_mut().filter_map(|part| match part {
        Part::Source(source) => Some(&mut **source),
        Part::Switch(_) => None,
    })
}

#[cfg(test)]
mod tests;
