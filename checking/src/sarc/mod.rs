//! SARC's cache-integrated interface in every interleaving: each kind of line that is sensitive to
//! events with its engine, copies whose packets overtake each other, and its packets beside the
//! directory's messages on one network.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`scenarios`] | what the tiles' programs do with which lines |
//! | [`program`] | their steps, and what each has to find |
//! | [`world`] | the simulator's own device, and packets that arrive in any order |
//! | [`network`] | lanes with buffers that have ends |

mod network;
mod program;
mod scenarios;
mod world;

use std::time::Instant;

use narthex_interfaces::sarc::rules;
use narthex_machine::request::Failure;

use crate::explore::{Exploration, NO_TRAP, System, explore};
use crate::report::{Explored, Report};
use network::Network;
use program::Running;
use world::Surroundings;

/// Commands, counters and queues do what the programs ask.
pub const RESULT: &str = "each command is carried out once, with its own words";
/// Counters.
pub const PHASES: &str = "nobody passes a counter before all that it counts have arrived";
/// Single-reader queues.
pub const ITEMS: &str = "each item of a queue is read once, unchanged";
/// Multiple-reader queues.
pub const EXCLUSIVE: &str = "one reader at a time has the token of a multiple-reader queue";
/// Copies.
pub const COMPLETE: &str = "a copy is in place when its counter says so, in whatever order its packets come";
/// The hardware raises no error.
pub const REFUSED: &str = "the hardware refuses nothing of programs that keep to its rules";

const PROPERTIES: [&str; 7] = [RESULT, PHASES, ITEMS, EXCLUSIVE, COMPLETE, REFUSED, NO_TRAP];

/// A rule that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Device(rules::Rule),
    Network(network::Rule),
}

/// The rules, by the names that users write.
fn all_rules() -> Vec<(Rule, &'static str)> {
    let device = rules::Rule::ALL.map(|(rule, name)| (Rule::Device(rule), name));
    device.into_iter().chain(network::Rule::ALL.map(|(rule, name)| (Rule::Network(rule), name))).collect()
}

/// The rule of this name.
fn rule(name: &str) -> Result<Rule, Failure> {
    let rules = all_rules();
    let found = rules.iter().find(|(_, known)| known.eq_ignore_ascii_case(name.trim()));
    found.map(|&(rule, _)| rule).ok_or_else(|| {
        let known: Vec<&str> = rules.iter().map(|&(_, known)| known).collect();
        let hint = crate::nearest(name, &known);
        let hint = hint.map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"));
        let known = known.join(", ");
        Failure::usage(format!("'{name}' is no rule of SARC that can be left out; there are {known}{hint}"))
    })
}

/// Explores every interleaving, without a rule if one is named; `limit` states at most of
/// each scenario.
///
/// # Errors
/// If there is no such rule.
pub fn check(
    name: &str,
    without: Option<&str>,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Report, Failure> {
    let started = Instant::now();
    let rule = without.map(rule).transpose()?;
    let of_device = match rule {
        Some(Rule::Device(rule)) => Some(rule),
        _ => None,
    };
    let of_network = match rule {
        Some(Rule::Network(rule)) => Some(rule),
        _ => None,
    };
    let mut explored: Vec<Explored> = Vec::new();
    for scenario in scenarios::all() {
        let traffic = scenario.name;
        let mut running = Running { scenario, without: of_device, around: Surroundings::new() };
        if !one(&mut explored, traffic, &mut running, limit, observe) {
            break;
        }
    }
    if explored.iter().all(|own| own.exploration.counter_example.is_none()) {
        let mut network = Network { without: of_network };
        one(&mut explored, "coherence beside it on one network", &mut network, limit, observe);
    }
    let counter_example = explored.iter().find_map(|own| own.exploration.counter_example.clone());
    let complete = explored.iter().all(|own| own.exploration.complete);
    Ok(Report {
        interface: name.into(),
        form: "two or three tiles, job lists of one entry, packets in any order".into(),
        without: without.map(str::to_owned),
        changed: None,
        states: explored.iter().map(|own| own.exploration.states).sum(),
        complete,
        proven: if complete && counter_example.is_none() { PROPERTIES.to_vec() } else { Vec::new() },
        explorations: explored,
        counter_example,
        elapsed_us: started.elapsed().as_micros() as u64,
    })
}

/// Explores one system; whether it holds.
fn one(
    explored: &mut Vec<Explored>,
    traffic: &str,
    system: &mut impl System,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> bool {
    let before: usize = explored.iter().map(|own| own.exploration.states).sum();
    let exploration: Exploration = explore(system, limit, &mut |states| observe(before + states));
    let holds = exploration.counter_example.is_none() && exploration.complete;
    explored.push(Explored { traffic: traffic.into(), exploration });
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(without: Option<&str>) -> Report {
        check("SARC", without, 2_000_000, &mut |_| true).expect("a rule")
    }

    #[test]
    fn every_interleaving_keeps_what_lines_promise() {
        let found = report(None);
        assert!(found.complete && found.counter_example.is_none(), "{found}");
        let states: Vec<_> =
            found.explorations.iter().map(|own| (own.traffic.as_str(), own.exploration.states)).collect();
        let expected = [
            ("command buffers", 601),
            ("counters", 407),
            ("changes of roles", 66),
            ("a single-reader queue", 7_653),
            ("a multiple-reader queue", 22_335),
            ("copies", 918),
            ("coherence beside it on one network", 36_157),
        ];
        assert_eq!(states, expected);
    }

    #[test]
    fn each_rule_that_is_left_out_is_missed() {
        for (name, violated) in [
            ("launching-when-complete", REFUSED),
            ("pending-while-queued", RESULT),
            ("resetting", NO_TRAP),
            ("notifying-all", NO_TRAP),
            ("clearing-the-tag", NO_TRAP),
            ("counting-twice-round", REFUSED),
            ("matching", EXCLUSIVE),
            ("acknowledging-what-is-written", COMPLETE),
            ("acknowledging-sizes", NO_TRAP),
            ("clearing-the-first-level", NO_TRAP),
            ("three-lanes", NO_TRAP),
            ("taking-responses", NO_TRAP),
        ] {
            let found = report(Some(name));
            let example = found.counter_example.unwrap_or_else(|| panic!("{name} is not missed"));
            assert_eq!(example.violated, violated, "{name}: {:#?}", example.steps);
        }
        assert_eq!(all_rules().len(), 12);
    }

    #[test]
    fn a_rule_that_is_none_is_told_those_that_are() {
        let refusal = rule("resting").map(|_| ()).expect_err("no rule").to_string();
        assert!(refusal.contains("did you mean resetting?"), "{refusal}");
    }
}
