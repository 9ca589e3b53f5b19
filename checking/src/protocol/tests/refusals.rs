//! Tables on a bus whose owners refuse and push.

use super::*;

fn refusing(protocol: &Protocol) -> Report {
    check(protocol, &[Scope { refusing: true, ..Scope::PLAIN }])
}

fn refusing_and_snarfing(protocol: &Protocol) -> Report {
    check(protocol, &[Scope { refusing: true, snarfing: true, ..Scope::PLAIN }])
}

fn with_push(name: &str, snoop: Snoop, next: Option<State>) -> Protocol {
    let mut protocol = shipped(name);
    protocol.push[State::Modified as usize][snoop as usize] = next;
    protocol
}

#[test]
fn every_protocol_holds_where_owners_refuse() {
    for (name, plain, snarfing) in [
        ("MOESI", (777, 3885), (2145, 9903)),
        ("MESI", (777, 3885), (2145, 9903)),
        ("MESI-OneRead", (777, 3885), (2145, 9903)),
        ("MSI", (729, 3525), (2094, 9516)),
    ] {
        let sizes = [refusing(&shipped(name)), refusing_and_snarfing(&shipped(name))].map(|report| {
            assert_holds(&report);
            assert_eq!(report.proven, PROPERTIES);
            sizes(&report)
        });
        assert_eq!(sizes, [plain, snarfing], "{name}");
    }
    let four = Scope { caches: 4, refusing: true, ..Scope::PLAIN };
    protocols::coherent().into_iter().for_each(|name| assert_holds(&check(&shipped(name), &[four])));
}

#[test]
fn an_owner_that_stays_modified_is_refused_to_others_for_ever() {
    let report = refusing(&with_push("MESI", Snoop::Read, Some(State::Modified)));
    let example = report.counter_example.expect("the livelock is found");
    assert_eq!(example.violated, NO_IDLE_CIRCLE);
    let circle = [
        "the bus grants cache A: Read; cache B was modified, refuses it and is modified",
        "the bus carries version 2 home from cache B",
        "the same again from step 6 on, for ever",
    ];
    assert!(example.to_string().contains("refuses it"), "{example}");
    assert_eq!(example.steps[example.steps.len() - 3..], circle, "{example}");
}

/// What a cell of `push` may hold instead: a copy that is given up or kept clean. A
/// copy that another one may snarf beside it must be shared.
#[test]
fn every_other_state_after_a_push_is_found_or_harmless() {
    for name in protocols::coherent() {
        for snoop in [Snoop::Read, Snoop::ReadExclusive, Snoop::ReadOnce] {
            let states = shipped(name).states;
            for next in states.iter().map(|&state| Some(state)).chain([None]) {
                let broken = with_push(name, snoop, next);
                let is_clean = |state| matches!(state, State::Invalid | State::Shared);
                let holds = holds(&refusing(&broken)) && holds(&refusing_and_snarfing(&broken));
                assert_eq!(holds, next.is_some_and(is_clean), "{name}: {next:?} after {snoop:?}");
            }
        }
    }
}

#[test]
fn an_owner_that_supplies_although_the_bus_carries_nothing_from_it_is_found() {
    for snoop in [Snoop::Read, Snoop::ReadExclusive, Snoop::ReadOnce] {
        let example = refusing(&with_push("MESI", snoop, None)).counter_example.expect("it is found");
        assert_eq!(example.violated, ONE_SUPPLIER);
    }
}
