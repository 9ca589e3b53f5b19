//! What watches a run from outside: a timeline, the life of a message, the explanation of a hang.

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::Time;
use serde_json::Value;

use super::progress::Progress;
use crate::compose::Blueprint;
use crate::node::Node;
use crate::request::Failure;

/// Watches the nodes of a run, and the switches between them, at instants of its choice. It never changes what
/// comes of the run.
///
/// A run needs none: `()` is the monitor that does nothing.
pub trait Monitor {
    /// The nodes are built and are about to start.
    ///
    /// # Errors
    /// If the monitor cannot do what its user asks for; then there is no run.
    fn start(&mut self, _blueprint: &Blueprint<'_>, _nodes: &mut [Node]) -> Result<(), Failure> {
        Ok(())
    }

    /// The instant after `now` at which [`Monitor::stop`] is to be called next.
    fn next_stop(&self, _now: Time) -> Time {
        Time::NEVER
    }

    /// Everything before `now` has happened, and nothing after it. The run stops
    /// at its begin, and at each instant that the monitor asks for.
    fn stop(&mut self, _now: Time, _nodes: &mut [&mut Node], _switches: &[&Switch<Frame>]) {}

    /// The run is over at the instant `end`, also if it fails; `report` takes what
    /// its user should know.
    fn end(
        &mut self,
        _end: Time,
        _nodes: &mut [Node],
        _switches: &[Switch<Frame>],
        _report: &mut dyn FnMut(Progress<'_>) -> bool,
    ) {
    }

    /// How the nodes and the switches between them stand, which rest at the instant `at`
    /// and have not ended.
    fn explain(
        &mut self,
        _halt: Halt,
        _at: Time,
        _nodes: &mut [Node],
        _switches: &[Switch<Frame>],
    ) -> Option<Explanation> {
        None
    }
}

impl Monitor for () {}

/// Why a run was stopped before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// It makes no progress.
    NoProgress,
    /// It may not go on any longer.
    Limit,
}

/// How a run stands that was stopped before its end.
pub struct Explanation {
    /// For people.
    pub text: String,
    /// For tools: the entry `hang` of the run's document, or `state` at a limit.
    pub document: Value,
}
