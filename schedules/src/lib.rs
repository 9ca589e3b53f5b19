//! Communication schedules: what each rank of a parallel program sends, receives and computes, and
//! what has to be over before.
//!
//! A detailed machine executes instructions and is worth its price for tens of nodes. A schedule
//! keeps only the messages and the pauses between them, so it runs on a detailed machine and on a
//! fitted model of one with a hundred thousand ranks alike. The format is GOAL (Hoefler, Siebert and
//! Lumsdaine, "Group Operation Assembly Language", ICPP 2009), as LogGOPSim reads it (Hoefler,
//! Schneider and Lumsdaine, "LogGOPSim", HPDC 2010).
//!
//! Reading order: [`schedule`] (what is in memory), [`text`] and [`binary`] (its two formats),
//! [`pairs`] (does every send have its receive), [`collectives`] and [`patterns`] (schedules that
//! are generated), [`parameters`] (LogGOPS), [`executor`] with its [`queue`] and [`blocked`] (the
//! model), [`network`] (where messages meet), [`within`] (the model beside detailed nodes), `timeline` (what
//! is drawn of the model), `traces` with [`chakra`] (traces of machine-learning programs) and
//! [`liballprof`] (traces of MPI programs), [`request`] (what Python calls).

pub mod binary;
pub mod blocked;
pub mod chakra;
pub mod collectives;
pub mod executor;
pub mod liballprof;
pub mod network;
pub mod pairs;
pub mod parameters;
pub mod patterns;
pub mod queue;
pub mod request;
pub mod schedule;
pub mod source;
pub mod text;
mod timeline;
mod traces;
pub mod within;

use std::fmt;

/// Why a schedule cannot be read, written or executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, where, and what is allowed.
    pub message: String,
    /// Whether the schedule waits for itself, rather than being wrong to begin with.
    pub is_no_progress: bool,
}

impl Problem {
    /// Something is wrong with what was given.
    pub fn new(message: impl Into<String>) -> Self {
        Problem { message: message.into(), is_no_progress: false }
    }

    /// The ranks wait for each other.
    pub fn no_progress(message: impl Into<String>) -> Self {
        Problem { message: message.into(), is_no_progress: true }
    }

    /// The same in a file or a rank.
    pub fn within(self, place: impl fmt::Display) -> Self {
        Problem { message: format!("{place}: {}", self.message), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// A sentence's end that names what is allowed, and what was probably meant.
pub(crate) fn allowed(word: &str, names: &[&str]) -> String {
    let distance = |known: &&&str| strsim::damerau_levenshtein(&known.to_lowercase(), &word.to_lowercase());
    let near = names.iter().min_by_key(distance).filter(|known| distance(known) <= 2.max(word.len() / 3));
    let hint = near.map(|known| format!("; did you mean {known}?")).unwrap_or_default();
    format!("allowed are {}{hint}", names.join(", "))
}
