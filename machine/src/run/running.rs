//! The simulation as it advances, interrupted for reports, checkpoints and monitors.

use std::ops::ControlFlow;
use std::time::{Duration as HostDuration, Instant};

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::simulation::{Ending, Limits, Simulation};
use narthex_kernel::{Archive, Archived, Damage, Time};
use narthex_schedules::within::Ranks;

use super::monitor::Monitor;
use super::progress::Progress;
use super::work::any_program_works;
use super::written::Written;
use crate::checkpoint::Keeper;
use crate::node::{Node, refused};
use crate::partition::{Part, apart};

/// How often a run reports to its caller, and looks for a shortage of memory.
const REPORT_EVERY: HostDuration = HostDuration::from_millis(100);
/// It does so earlier when programs have touched this many more pages: 16 MiB.
const REPORT_PAGES: usize = 4_096;

/// A run that is over.
pub(super) struct Closed {
    /// Its nodes, their ledgers closed.
    pub nodes: Vec<Node>,
    /// The switches of its network.
    pub switches: Vec<Switch<Frame>>,
    /// The ranks of a model beside them.
    pub ranks: Option<Ranks>,
    /// When it ended.
    pub end: Time,
    /// What was written.
    pub written: Written,
}

/// A run that goes on: all that a checkpoint holds.
pub struct Running {
    simulation: Simulation<Part>,
    written: Written,
}

impl Archived for Running {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Running { simulation, written } = self;
        archive.value(written)?;
        simulation.archive(archive)
    }
}

impl Running {
    /// A run whose programs have written nothing yet.
    pub fn new(simulation: Simulation<Part>) -> Self {
        Running::behind(simulation, Written::default())
    }

    /// A run whose programs have written something before it begins.
    pub fn behind(simulation: Simulation<Part>, written: Written) -> Self {
        Running { simulation, written }
    }

    /// Its nodes, and what their programs have written.
    pub(super) fn nodes_and_written(&mut self) -> (Vec<&mut Node>, &Written) {
        (self.simulation.partitions_mut().filter_map(Part::node_mut).collect(), &self.written)
    }

    /// Its programs meet at the first point that none of them has come to yet.
    pub(super) fn meet_behind_all(&mut self) {
        let (mut nodes, _) = self.nodes_and_written();
        let next = nodes.iter().map(|node| node.points_passed()).max().unwrap_or(0);
        nodes.iter_mut().for_each(|node| node.meet_at(next));
    }

    /// Goes on until there is an ending, with a checkpoint whenever one is due
    /// and one more when the observer ends the run.
    pub(super) fn run(
        &mut self,
        limits: &Limits,
        mut keeper: Option<&mut Keeper>,
        monitor: &mut dyn Monitor,
        observer: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> Ending {
        let mut last = Instant::now();
        let mut touched = 0;
        self.stop(monitor);
        loop {
            let mut goes_on = true;
            let Running { simulation, written } = self;
            let mut look = |now, parts: &mut [&mut Part]| {
                let mut nodes: Vec<&mut Node> = parts.iter_mut().filter_map(|part| part.node_mut()).collect();
                written.collect(nodes.iter_mut().map(|node| &mut **node), observer);
                let pages = nodes.iter().map(|node| node.touched_pages()).sum::<usize>();
                if last.elapsed() >= REPORT_EVERY || pages >= touched + REPORT_PAGES {
                    (last, touched) = (Instant::now(), pages);
                    let standing = || nodes.iter().map(|node| node.standing(now)).collect();
                    goes_on = observer(Progress::Time(now)) && observer(Progress::Standing(&standing));
                }
                let is_due = keeper.as_ref().is_some_and(|keeper| keeper.is_due());
                if goes_on && !is_due {
                    return ControlFlow::Continue(());
                }
                nodes.iter_mut().for_each(|node| node.rest_at(now));
                refused::disperse(&mut nodes, now);
                ControlFlow::Break(())
            };
            let until = monitor.next_stop(simulation.now()).min(limits.until);
            let mut ending = simulation.run(&Limits { until, ..*limits }, &mut look);
            let works = matches!(ending, Ending::NoProgress(_)) && any_program_works(simulation);
            if works {
                simulation.be_patient();
            }
            if works || ending == Ending::TimeLimit {
                let now = simulation.now();
                let mut parts: Vec<&mut Part> = simulation.partitions_mut().collect();
                let interrupted = look(now, &mut parts).is_break();
                if ending == Ending::TimeLimit {
                    self.stop(monitor);
                }
                if ending == Ending::TimeLimit && until == limits.until {
                    return self.simulation.stopped().unwrap_or(ending);
                }
                if !interrupted {
                    continue;
                }
                ending = Ending::Interrupted;
            }
            let (Ending::Interrupted, Some(keeper)) = (ending, &mut keeper) else { return ending };
            match keeper.save(self) {
                Some(problem) => drop(observer(Progress::Warning(&problem))),
                None if !goes_on => drop(observer(Progress::Notice(&keeper.remedy()))),
                None => {}
            }
            if !goes_on {
                return ending;
            }
        }
    }

    /// The monitor looks at the nodes and the switches.
    fn stop(&mut self, monitor: &mut dyn Monitor) {
        let now = self.simulation.now();
        let (mut nodes, mut switches) = (Vec::new(), Vec::new());
        for part in self.simulation.partitions_mut() {
            match part {
                Part::Node(node) => nodes.push(&mut **node),
                Part::Switch(switch) => switches.push(&**switch),
                Part::Ranks(_) => {}
            }
        }
        refused::disperse(&mut nodes, now);
        monitor.stop(now, &mut nodes, &switches);
        if nodes.iter().any(|node| node.is_observed()) {
            nodes.iter_mut().for_each(|node| node.execute_attempts());
        }
    }

    /// Windows in which nodes have advanced.
    pub(super) fn windows(&self) -> u64 {
        self.simulation.windows()
    }

    /// The run is over: at `met_at`, if its programs met for a warm checkpoint.
    pub(super) fn close(
        self,
        ending: &Ending,
        met_at: Option<Time>,
        observer: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> Closed {
        observer(Progress::Over);
        let Running { simulation, mut written } = self;
        let stopped_at = met_at.unwrap_or(simulation.now());
        let (mut nodes, switches, ranks) = apart(simulation.into_partitions());
        // Where one has stopped the others come to the same instant; one that is alone is at its end.
        let is_halted = match ending {
            Ending::AllFinished => false,
            // The run was found without progress long after that; nothing happened in between.
            _ if met_at.is_some() => false,
            Ending::Stopped { .. } => nodes.len() + switches.len() + usize::from(ranks.is_some()) > 1,
            _ => true,
        };
        nodes.iter_mut().for_each(|node| match is_halted {
            true => node.rest_at(stopped_at),
            false => node.end_waiting(stopped_at),
        });
        refused::disperse(&mut nodes.iter_mut().collect::<Vec<_>>(), stopped_at);
        written.collect(nodes.iter_mut(), observer);
        let latest = || nodes.iter().map(Node::reached).max().unwrap_or(Time::ZERO);
        let end = if is_halted { stopped_at } else { latest().max(met_at.unwrap_or(Time::ZERO)) };
        nodes.iter_mut().for_each(|node| node.close(end));
        Closed { nodes, switches, ranks, end, written }
    }
}
