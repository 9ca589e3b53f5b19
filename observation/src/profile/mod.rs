//! Where a program's time goes: by the path of calls, the line of source and the ledger's
//! categories, to the picosecond.
//!
//! ```text
//!   Probe::executes, jumped ──► CallStack ──► place: path of calls and row of code
//!   Probe::record(Booking)  ───────────────► category: activity and occupation
//!                                                │
//!   Recorder, one a node: time of each place in each category
//!                                                │ at the end: debug information
//!   Document: frames (function, file, line), stacks of them, rows ──► pprof, tables, pictures
//! ```
//!
//! **Exact.** At any instant a processor is at one place and in one category, so each
//! picosecond belongs to one row of the document. Categories change where the
//! ledger's do ([`narthex_kernel::ledger`]), so the rows of a category add up to its entry
//! there: of the whole run, or of a region to the ledger of that region.
//!
//! **Whose time it is.** An instruction has the time from the end of the one before to its own
//! issue, and what it waits for: a stall belongs to the instruction that needs the value.
//! Time in a system call belongs to the function that calls the system. A processor without a
//! thread, or whose program has ended, is in no function: its stack is empty. What was inlined has
//! frames of its own, as the debug information tells.
//!
//! **No change of the result.** The recorder listens. A node that it follows executes one
//! instruction at a time and wait loops too, which gives the same result, later.

mod document;
mod pprof;
mod recorder;

use std::sync::Arc;

use narthex_kernel::Time;
use narthex_machine::node::Node;
use serde::Deserialize;
use serde_json::Value;

use crate::calls::CodeMap;
use document::Builder;
use recorder::Recorder;

pub use document::Document;
pub use pprof::encode;

/// A profile that is to be made.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileRequest {
    /// The region whose time is divided, by its name; without, the whole run's is.
    #[serde(default)]
    pub region: Option<String>,
}

/// Makes the profile of a run.
pub struct Profiler {
    region: Option<String>,
    code: Vec<Vec<Arc<CodeMap>>>,
}

impl Profiler {
    /// What makes the profile that is asked for.
    pub fn new(request: &ProfileRequest) -> Self {
        Profiler { region: request.region.clone(), code: Vec::new() }
    }

    /// The nodes stand at `now`, the begin of the run: from here on they are listened to.
    pub fn stop(&mut self, now: Time, nodes: &mut [&mut Node]) {
        if !self.code.is_empty() {
            return;
        }
        self.code = CodeMap::of_nodes(nodes, true);
        for (node, code) in nodes.iter_mut().zip(&self.code) {
            node.attach_at(now, Box::new(Recorder::new(self.region.as_deref(), code)));
        }
    }

    /// The run is over: the entry `profile` of its document.
    pub fn finish(self, nodes: &mut [Node]) -> Value {
        let mut document = Builder::new(self.region);
        for (number, node) in nodes.iter_mut().enumerate() {
            let Some(mut recorder) = node.detach::<Recorder>() else { continue };
            for (processor, recorded) in recorder.processors.iter_mut().enumerate() {
                recorded.settle(node.booked_until(processor));
                document.add((number, processor), node.runs_firmware(processor), recorded);
            }
        }
        document.build()
    }
}
