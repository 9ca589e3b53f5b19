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

use narthex_interfaces::voyager::{queues, space};
use narthex_machine::request::Failure;

use crate::explore::NO_TRAP;
use crate::report::{Check, Report, rule_of};

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
    let rule = without.map(|name| rule_of("StarT-Voyager", &rules(), name)).transpose()?;
    let of_queues = match rule {
        Some(Rule::Queues(rule)) => Some(rule),
        _ => None,
    };
    let of_space = match rule {
        Some(Rule::Space(rule)) => Some(rule),
        _ => None,
    };
    let form = format!(
        "a queue of {} slots, {} messages each way, up to {} switches, {} accesses of two processors",
        transmit::SLOTS,
        transmit::MESSAGES,
        transmit::SWITCHES,
        approval::ACCESSES
    );
    let mut check = Check::of(name, form, limit, observe);
    check.explore("sending", &mut transmit::Transmitting { without: of_queues });
    check.explore("receiving", &mut receive::Receiving { without: of_queues });
    let mut approval = approval::Approving { without: of_space, holds_bus: rule == Some(Rule::Retry) };
    check.explore("accesses to serviced space", &mut approval);
    Ok(check.finish(&PROPERTIES).without(without))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{assert_holds, assert_missed};

    fn report(without: Option<&str>) -> Report {
        check("Voyager-hybrid", without, 2_000_000, &mut |_| true).expect("a rule")
    }

    #[test]
    fn every_interleaving_delivers_each_message_and_answers_each_access_once() {
        let found = report(None);
        assert_holds(&found);
        assert_eq!(found.explorations.len(), 3);
        assert!(found.explorations.iter().all(|own| own.exploration.states > 100), "{found}");
    }

    #[test]
    fn each_rule_that_is_left_out_is_missed() {
        let missed = [
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
        ];
        assert_missed(&missed, |rule| report(Some(rule)));
        assert_eq!(missed.len(), rules().len());
    }
}
