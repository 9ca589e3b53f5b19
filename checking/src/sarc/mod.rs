//! SARC's cache-integrated interface in every interleaving: each kind of line that is sensitive to
//! events with its engine, copies whose packets overtake each other, and its packets beside the
//! directory's messages on one network.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`scenarios`] | what the tiles' programs do with which lines |
//! | [`program`] | their steps, and what each has to find |
//! | [`world`] | the simulator's own device, and packets that arrive in any order |
//! | [`traces`] | paths of them, for the lock-step of RTL with the model |
//! | [`network`] | lanes with buffers that have ends |

mod network;
mod program;
mod scenarios;
pub mod traces;
mod world;

use narthex_interfaces::sarc::rules;
use narthex_machine::request::Failure;

use crate::explore::NO_TRAP;
use crate::report::{Check, Report, rule_of};
use network::Network;
use program::Running;
use world::DeviceContext;

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
    let rule = without.map(|name| rule_of("SARC", &all_rules(), name)).transpose()?;
    let of_device = match rule {
        Some(Rule::Device(rule)) => Some(rule),
        _ => None,
    };
    let of_network = match rule {
        Some(Rule::Network(rule)) => Some(rule),
        _ => None,
    };
    let form = "two or three tiles, job lists of one entry, packets in any order";
    let mut check = Check::of(name, form, limit, observe);
    for scenario in scenarios::all() {
        let traffic = scenario.name;
        let around = DeviceContext::new();
        let mut running = Running { scenario, without: of_device, around, records: false };
        check.explore(traffic, &mut running);
    }
    check.explore("coherence beside it on one network", &mut Network { without: of_network });
    Ok(check.finish(&PROPERTIES).without(without))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{assert_holds, assert_missed};

    fn report(without: Option<&str>) -> Report {
        check("SARC", without, 2_000_000, &mut |_| true).expect("a rule")
    }

    #[test]
    fn every_interleaving_keeps_what_lines_promise() {
        let found = report(None);
        assert_holds(&found);
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
        let missed = [
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
        ];
        assert_missed(&missed, |rule| report(Some(rule)));
        assert_eq!(missed.len(), all_rules().len());
    }
}
