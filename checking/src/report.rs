//! What a check has found, for people and as a document.

use std::fmt;
use std::time::Instant;

use narthex_memory::check::CounterExample;
use serde::Serialize;
use serde_json::Value;

use crate::explore::Exploration;

/// The result of a check. `Display` prints it for people.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What was checked: the interface that was asked for, "I/O bridge", "shared memory".
    pub interface: String,
    /// The small form that was explored.
    pub form: String,
    /// What was left out of it, for a mutant.
    pub without: Option<String>,
    /// The entry of a table that was changed, for a mutant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// The traffics explored, up to the first that fails.
    pub explorations: Vec<Explored>,
    /// States of all of them.
    pub states: usize,
    /// Every state that can be reached has been visited.
    pub complete: bool,
    /// The properties proven; none if one is violated or states are left.
    pub proven: Vec<&'static str>,
    /// The shortest way to a violation, if there is one.
    pub counter_example: Option<CounterExample>,
    /// The time that the check took, in microseconds.
    pub elapsed_us: u64,
}

/// The exploration of one traffic.
#[derive(Clone, Debug, Serialize)]
pub struct Explored {
    /// What the program does.
    pub traffic: String,
    /// How it went.
    #[serde(flatten)]
    pub exploration: Exploration,
}

impl Report {
    /// The report of one exploration, which would prove `properties`.
    pub fn of(
        (interface, form, traffic): (&str, String, &str),
        exploration: Exploration,
        properties: &[&'static str],
        started: Instant,
    ) -> Self {
        let counter_example = exploration.counter_example.clone();
        let holds = exploration.complete && counter_example.is_none();
        Report {
            interface: interface.into(),
            form,
            without: None,
            changed: None,
            states: exploration.states,
            complete: exploration.complete,
            proven: if holds { properties.to_vec() } else { Vec::new() },
            explorations: vec![Explored { traffic: traffic.into(), exploration }],
            counter_example,
            elapsed_us: started.elapsed().as_micros() as u64,
        }
    }

    /// The report as a document, with its text for people.
    pub fn to_document(&self) -> Value {
        let mut document = serde_json::to_value(self).expect("a report is plain data");
        document["text"] = self.to_string().into();
        document
    }

    fn verdict(&self) -> &'static str {
        match (&self.counter_example, self.complete) {
            (Some(_), _) => "FAILS",
            (None, true) => "holds",
            (None, false) => "is UNDECIDED: there are more states than allowed",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = self.without.iter().map(|missing| format!(" without {missing}"));
        let changed = self.changed.iter().map(|change| format!(" with '{change}'"));
        let without: String = without.chain(changed).collect();
        writeln!(f, "{}{without} {}: {}", self.interface, self.verdict(), self.form)?;
        for Explored { traffic, exploration } in &self.explorations {
            let Exploration { states, transitions, depth, complete, .. } = exploration;
            let so_far = if *complete { "" } else { ", not all" };
            writeln!(f, "{traffic}: {states} states{so_far}, {transitions} transitions, depth {depth}")?;
        }
        writeln!(f, "{:.3} s", self.elapsed_us as f64 / 1e6)?;
        if !self.proven.is_empty() {
            writeln!(f, "proven:")?;
        }
        self.proven.iter().try_for_each(|sentence| writeln!(f, "  - {sentence}"))?;
        self.counter_example.iter().try_for_each(|example| write!(f, "{example}"))
    }
}
