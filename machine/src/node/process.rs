//! A process: the program on one or several of a node's processors, with what is its
//! own.
//!
//! Every processor of a node runs a thread of one process, or none, and all processes
//! run the same program. A process has its own addresses (isca96, Section 2.3 translates them
//! by base and bounds), its own books of system calls, and its own end; the node
//! has ended when all of its processes have.

use narthex_cores::linux::{OutputStream, Program, SystemCalls};
use narthex_kernel::Time;
use narthex_memory::pages::PageTable;
use serde::{Deserialize, Serialize};

use std::ops::Range;
use std::sync::Arc;

use super::regions::Regions;

/// What a process has besides its processors.
#[derive(Debug)]
pub struct Process {
    /// What runs.
    pub program: Arc<Program>,
    /// Its processors; a thread's place is its processor's among them.
    pub processors: Range<usize>,
    /// What is below it.
    pub personality: Personality,
    /// Which addresses it may use.
    pub pages: PageTable,
    /// The state of its system calls.
    pub calls: SystemCalls,
    /// Figures that it reported.
    pub reports: Vec<Report>,
    /// Named stretches of time that it marked.
    pub regions: Regions,
    /// How it ended, and when.
    pub ended: Option<(Time, Ended)>,
}

impl Process {
    /// A process that has done nothing yet.
    pub fn new(
        program: Arc<Program>,
        personality: Personality,
        pages: PageTable,
        calls: SystemCalls,
    ) -> Self {
        let (reports, regions) = (Vec::new(), Regions::default());
        Process { program, processors: 0..1, personality, pages, calls, reports, regions, ended: None }
    }

    /// The same on the processor of the node with this number.
    pub fn with_first_processor(self, first: usize) -> Self {
        Process { processors: first..first + 1, ..self }
    }

    /// Whether it has ended otherwise than well, and when.
    pub fn failure(&self) -> Option<(Time, &Ended)> {
        match &self.ended {
            None | Some((_, Ended::Exited(0) | Ended::Stopped)) => None,
            Some((at, ended)) => Some((*at, ended)),
        }
    }
}

/// What a process finds below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Personality {
    /// Linux: it has system calls, and its end is the run's.
    Linux,
    /// Nothing: firmware, which never ends.
    Bare,
}

/// How a process ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ended {
    /// It exited with this code.
    Exited(u8),
    /// The time of its job was over.
    Stopped,
    /// It did something wrong; the text says what, where, and in which state.
    Failed(String),
    /// Its node came to an instant that does not end; the text says why.
    Endless(String),
}

/// Something that a program wrote.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Output {
    /// When.
    pub at: Time,
    /// Which of the node's processes wrote it.
    pub process: usize,
    /// To which stream.
    pub stream: OutputStream,
    /// What.
    pub bytes: Vec<u8>,
}

/// A figure that a program reported.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// What was measured.
    pub name: String,
    /// How much.
    pub value: f64,
    /// In which unit.
    pub unit: String,
}
