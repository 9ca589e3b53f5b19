//! When runs of a schedule begin, as nodes and the model agree upon it.
//!
//! ```text
//!   nodes        ready ─►                            ready ─►
//!   conductor             begin at T ─► ... the model is through, all ready ─► begin at T', or end
//! ```
//!
//! A node says that it is ready when it has nothing left to do; the one of the model's ranks that conducts
//! tells all nodes when the next run begins, once the ranks of the model are through as well.

use narthex_kernel::{Duration, Time};

/// From the decision to the begin: for the messages that tell it (START_DELAY_NS of the program `goal`).
const START_DELAY: Duration = Duration::from_ns(20_000);
/// More for each node, since one rank tells all of them.
const DELAY_OF_NODE: Duration = Duration::from_ns(1_000);
const PS_PER_NS: u64 = 1_000;

/// Agrees with the nodes.
#[derive(Debug)]
pub(super) struct Conductor {
    nodes: u32,
    ready: u32,
    runs: u32,
    begun: u32,
    /// When the last run began.
    pub begin: Time,
    /// When nodes and model had nothing left to do.
    pub over_at: Option<Time>,
}

impl Conductor {
    pub fn new(nodes: u32, runs: u32) -> Self {
        Conductor { nodes, ready: 0, runs, begun: 0, begin: Time::ZERO, over_at: None }
    }

    /// A node is ready.
    pub fn node_is_ready(&mut self) {
        self.ready += 1;
    }

    /// Runs that have begun.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    /// Whether the next run may begin, or all are over, if the model `is_through`.
    pub fn is_due(&self, is_through: bool) -> bool {
        self.ready == self.nodes && (is_through || self.begun == 0)
    }

    /// When it begins, at a whole nanosecond, which is what nodes can wait for; none if all are over.
    pub fn decide(&mut self, now: Time) -> Option<Time> {
        self.ready = 0;
        if self.begun == self.runs {
            self.over_at = Some(now);
            return None;
        }
        self.begun += 1;
        let at = now + START_DELAY + DELAY_OF_NODE * u64::from(self.nodes);
        self.begin = Time::from_ps(at.as_ps().next_multiple_of(PS_PER_NS));
        Some(self.begin)
    }
}
