//! StarT-Voyager in every interleaving: pointer windows against the units, physical queues
//! that are lent and taken away under traffic, and accesses that the firmware answers.
//!
//! | module | what is explored |
//! | --- | --- |
//! | [`transmit`] | a program that sends, the transmit unit, firmware that switches |
//! | [`receive`] | packets that arrive, the receive unit, the miss queue, firmware that switches, a program that reads |
//! | [`approval`] | processors that access serviced space, firmware that answers and needs their bus |
//!
//! The queue state files and the approval registers are the simulator's own code; the
//! firmware is what guest/firmware/voyager does, step by step.

pub mod approval;
pub mod receive;
pub mod transmit;

use std::time::Instant;

use narthex_interfaces::voyager::{queues, space};
use narthex_machine::request::Failure;

use crate::explore::{Exploration, NO_TRAP, System, explore};
use crate::report::{Explored, Report};

/// Messages arrive as they were sent.
pub const IN_ORDER: &str = "no message is lost, duplicated, overwritten or overtaken";
/// A unit works within its queue.
pub const WITHIN: &str = "no unit works on a queue that has more slots in use than it has";
/// Accesses are answered.
pub const ANSWERED_ONCE: &str = "each access to serviced space is answered exactly once, with its own answer";

const PROPERTIES: [&str; 4] = [IN_ORDER, WITHIN, ANSWERED_ONCE, NO_TRAP];

/// A rule that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Queues(queues::Rule),
    Space(space::Rule),
    /// The bus is free while an access waits.
    Retry,
}

/// The rules, by the names that users write.
fn rules() -> Vec<(Rule, &'static str)> {
    let queues = queues::Rule::ALL.map(|(rule, name)| (Rule::Queues(rule), name));
    let space = space::Rule::ALL.map(|(rule, name)| (Rule::Space(rule), name));
    queues.into_iter().chain(space).chain([(Rule::Retry, "retrying")]).collect()
}

/// The rule of this name.
fn rule(name: &str) -> Result<Rule, Failure> {
    let rules = rules();
    let found = rules.iter().find(|(_, known)| known.eq_ignore_ascii_case(name.trim()));
    found.map(|&(rule, _)| rule).ok_or_else(|| {
        let known: Vec<&str> = rules.iter().map(|&(_, known)| known).collect();
        let nearest = crate::nearest(name, &known);
        let hint = nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"));
        Failure::usage(format!(
            "'{name}' is no rule of StarT-Voyager that can be left out; there are {}{hint}",
            known.join(", ")
        ))
    })
}

/// Explores one kind of traffic, and tells an observer how many states it has found.
type Exploring<'a> = dyn FnMut(&mut dyn FnMut(usize) -> bool) -> Exploration + 'a;

/// Explores every interleaving, without a rule if one is named; `limit` states at most of
/// each system.
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
    let of_queues = match rule {
        Some(Rule::Queues(rule)) => Some(rule),
        _ => None,
    };
    let of_space = match rule {
        Some(Rule::Space(rule)) => Some(rule),
        _ => None,
    };
    let transmit = transmit::Transmitting { without: of_queues };
    let receive = receive::Receiving { without: of_queues };
    let approval = approval::Approving { without: of_space, holds_bus: rule == Some(Rule::Retry) };
    let mut explored = Vec::new();
    let mut one = |traffic: &str, run: &mut Exploring<'_>| {
        let before: usize = explored.iter().map(|own: &Explored| own.exploration.states).sum();
        let failed = explored.iter().any(|own: &Explored| own.exploration.counter_example.is_some());
        if !failed {
            let exploration = run(&mut |states| observe(before + states));
            explored.push(Explored { traffic: traffic.into(), exploration });
        }
    };
    one("sending", &mut |observe| run(transmit.clone(), limit, observe));
    one("receiving", &mut |observe| run(receive.clone(), limit, observe));
    one("accesses to serviced space", &mut |observe| run(approval.clone(), limit, observe));
    let counter_example = explored.iter().find_map(|own| own.exploration.counter_example.clone());
    let complete = explored.iter().all(|own| own.exploration.complete);
    let form = format!(
        "a queue of {} slots, {} messages each way, up to {} switches, {} accesses of two processors",
        transmit::SLOTS,
        transmit::MESSAGES,
        transmit::SWITCHES,
        approval::ACCESSES
    );
    Ok(Report {
        interface: name.into(),
        form,
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

fn run(mut system: impl System, limit: usize, observe: &mut dyn FnMut(usize) -> bool) -> Exploration {
    explore(&mut system, limit, observe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(without: Option<&str>) -> Report {
        check("Voyager-hybrid", without, 2_000_000, &mut |_| true).expect("a rule")
    }

    #[test]
    fn every_interleaving_delivers_each_message_and_answers_each_access_once() {
        let found = report(None);
        assert!(found.complete && found.counter_example.is_none(), "{found}");
        assert_eq!(found.explorations.len(), 3);
        assert!(found.explorations.iter().all(|own| own.exploration.states > 100), "{found}");
    }

    #[test]
    fn each_rule_that_is_left_out_is_missed() {
        for (name, violated) in [
            ("waiting-for-the-unit", IN_ORDER),
            ("never-back", WITHIN),
            ("holding-while-disabled", IN_ORDER),
            ("mapping-when-quiet", IN_ORDER),
            ("following-the-diverted", IN_ORDER),
            ("checking-pointers", WITHIN),
            ("capturing-once", ANSWERED_ONCE),
            ("matching-addresses", ANSWERED_ONCE),
            ("using-once", ANSWERED_ONCE),
            ("retrying", NO_TRAP),
        ] {
            let found = report(Some(name));
            let example = found.counter_example.unwrap_or_else(|| panic!("{name} is not missed"));
            assert_eq!(example.violated, violated, "{name}: {:#?}", example.steps);
        }
        assert_eq!(rules().len(), 10);
    }

    #[test]
    fn a_rule_that_is_none_is_told_those_that_are() {
        let refusal = rule("never-bak").map(|_| ()).expect_err("no rule").to_string();
        assert!(refusal.contains("did you mean never-back?"), "{refusal}");
    }
}
