//! What a check of an interface has found, for people and as a document.

use std::fmt;

use serde::Serialize;

use super::explore::{CounterExample, Exploration};

/// The result of a check. `Display` prints it for people.
#[derive(Clone, Debug, Serialize)]
pub struct InterfaceReport {
    /// The interface that was asked for.
    pub interface: String,
    /// The small form that was explored.
    pub form: String,
    /// What was left out of it, for a mutant.
    pub without: Option<String>,
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

impl InterfaceReport {
    fn verdict(&self) -> &'static str {
        match (&self.counter_example, self.complete) {
            (Some(_), _) => "FAILS",
            (None, true) => "holds",
            (None, false) => "is UNDECIDED: there are more states than allowed",
        }
    }
}

impl fmt::Display for InterfaceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = self.without.iter().map(|missing| format!(" without {missing}"));
        let without: String = without.collect();
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

impl fmt::Display for CounterExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "violated: {}", self.violated)?;
        writeln!(f, "shortest counter-example:")?;
        let mut numbered = self.steps.iter().zip(1..);
        numbered.try_for_each(|(step, number)| writeln!(f, "  {number}. {step}"))
    }
}
