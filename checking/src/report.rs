//! What a check has found, for people and as a document.

use std::fmt;
use std::time::Instant;

use narthex_machine::Failure;
use narthex_machine::run::document::schema_of;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

use crate::explore::{CounterExample, Exploration, System, explore};

/// The result of a check. `Display` prints it for people.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    #[schemars(length(min = 1))]
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

/// The JSON Schema of a check's document.
pub fn layout() -> Schema {
    schema_of::<Report>()
}

/// The exploration of one traffic.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Explored {
    /// What the program does.
    pub traffic: String,
    /// How it went.
    #[serde(flatten)]
    pub exploration: Exploration,
}

/// A check under way: one exploration after another, until one fails.
pub struct Check<'a> {
    report: Report,
    started: Instant,
    limit: usize,
    observe: &'a mut dyn FnMut(usize) -> bool,
}

impl<'a> Check<'a> {
    /// A check of `what` in this form, up to `limit` states of each exploration. `observe`
    /// gets now and then how many states there are, and may end it by answering false.
    pub fn of(
        what: &str,
        form: impl Into<String>,
        limit: usize,
        observe: &'a mut dyn FnMut(usize) -> bool,
    ) -> Self {
        let report = Report {
            interface: what.into(),
            form: form.into(),
            without: None,
            changed: None,
            explorations: Vec::new(),
            states: 0,
            complete: true,
            proven: Vec::new(),
            counter_example: None,
            elapsed_us: 0,
        };
        Check { report, started: Instant::now(), limit, observe }
    }

    /// Explores a system, unless one before it has failed.
    pub fn explore(&mut self, traffic: impl Into<String>, system: &mut impl System) {
        let report = &mut self.report;
        if report.counter_example.is_some() {
            return;
        }
        let before = report.states;
        let exploration = explore(system, self.limit, &mut |states| (self.observe)(before + states));
        report.states += exploration.states;
        report.complete &= exploration.complete;
        report.counter_example = exploration.counter_example.clone();
        report.explorations.push(Explored { traffic: traffic.into(), exploration });
    }

    /// What has been found; these properties are proven if nothing failed and nothing is
    /// left.
    pub fn finish(self, properties: &[&'static str]) -> Report {
        let Check { mut report, started, .. } = self;
        if report.complete && report.counter_example.is_none() {
            report.proven = properties.to_vec();
        }
        report.elapsed_us = started.elapsed().as_micros() as u64;
        report
    }
}

impl Report {
    /// The same, of what lacks a rule.
    pub fn without(self, rule: Option<&str>) -> Self {
        Report { without: rule.map(str::to_owned), ..self }
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

/// The rule of this name that can be left out of what `owner` checks.
///
/// # Errors
/// If there is none; those that are, and the nearest one, are named.
pub(crate) fn rule_of<R: Copy>(owner: &str, rules: &[(R, &'static str)], name: &str) -> Result<R, Failure> {
    let found = rules.iter().find(|(_, known)| known.eq_ignore_ascii_case(name.trim()));
    found.map(|&(rule, _)| rule).ok_or_else(|| {
        let known: Vec<&str> = rules.iter().map(|&(_, known)| known).collect();
        let hint = crate::nearest(name, &known).map(|nearest| format!("; did you mean {nearest}?"));
        let (known, hint) = (known.join(", "), hint.unwrap_or_default());
        Failure::usage(format!(
            "'{name}' is no rule of {owner} that can be left out; there are {known}{hint}"
        ))
    })
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Each of these rules, left out, is found out by the property beside it.
    pub fn assert_missed(rules: &[(&str, &'static str)], check: impl Fn(&str) -> Report) {
        for &(rule, violated) in rules {
            let found = check(rule);
            assert_eq!(found.without.as_deref(), Some(rule));
            let example = found.counter_example.unwrap_or_else(|| panic!("{rule} is not missed"));
            assert_eq!(example.violated, violated, "{rule}: {:#?}", example.steps);
            let is_words = |step: &String| !step.starts_with(char::is_uppercase);
            assert!(example.steps.iter().all(is_words), "names of code: {:#?}", example.steps);
        }
    }

    /// Everything has been visited, and nothing is violated.
    pub fn assert_holds(found: &Report) {
        assert!(found.complete && found.counter_example.is_none(), "{found}");
        assert!(!found.proven.is_empty(), "{found}");
    }

    #[test]
    fn a_rule_that_is_none_is_told_those_that_are() {
        let rules = [(1, "resetting"), (2, "status-bits"), (3, "never-back")];
        assert_eq!(rule_of("SARC", &rules, " Resetting ").expect("a rule"), 1);
        for (wrong, right) in
            [("resting", "resetting"), ("status-bit", "status-bits"), ("never-bak", "never-back")]
        {
            let refusal = rule_of("SARC", &rules, wrong).expect_err("no rule").to_string();
            assert!(refusal.contains("no rule of SARC"), "{refusal}");
            assert!(refusal.ends_with(&format!("; did you mean {right}?")), "{refusal}");
        }
    }
}
