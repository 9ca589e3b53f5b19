//! The shipped tables hold; broken ones are found, but for those that are listed with a
//! reason.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use mutants::Mutant;
use protocols::coherent;

fn table(name: &str) -> &'static Table {
    protocols::by_name(name).expect("a shipped protocol")
}

fn explored(table: &Table, scopes: &[Scope]) -> Report {
    check(table, scopes, 2_000_000, &mut |_| true)
}

/// States and transitions of one scope.
fn size_of(name: &str, scope: Scope) -> (usize, usize) {
    let report = explored(table(name), &[scope]);
    assert_eq!(report.proven, PROPERTIES, "{report}");
    let exploration = &report.explorations[0].exploration;
    (exploration.states, exploration.transitions)
}

#[test]
fn every_protocol_holds_whatever_order_the_messages_of_one_block_come_in() {
    let sizes = coherent().into_iter().map(|name| (name, size_of(name, Scope::ALL[0])));
    let expected = [("MESI", (24_825, 91_132)), ("MOESI", (31_647, 114_446)), ("MSI", (22_751, 83_084))];
    assert_eq!(sizes.collect::<Vec<_>>(), expected);
}

#[test]
fn every_protocol_holds_where_two_blocks_compete_for_a_line() {
    let scope =
        Scope { caches: 2, blocks: 2, device: false, every_order: false, at_once: false, link: Link::None };
    let sizes = coherent().into_iter().map(|name| (name, size_of(name, scope).0));
    assert_eq!(sizes.collect::<Vec<_>>(), [("MESI", 7_670), ("MOESI", 9_118), ("MSI", 6_638)]);
}

#[test]
fn every_protocol_holds_where_a_cache_asks_for_two_blocks_at_once() {
    let sizes = coherent().into_iter().map(|name| (name, size_of(name, Scope::ALL[3]).0));
    assert_eq!(sizes.collect::<Vec<_>>(), [("MESI", 54_112), ("MOESI", 80_392), ("MSI", 47_696)]);
}

#[test]
fn every_protocol_holds_behind_a_link_and_none_behind_one_whose_snoops_pass_a_go() {
    let scope = Scope::LINKS[0];
    let sizes = coherent().into_iter().map(|name| (name, size_of(name, scope).0));
    assert_eq!(sizes.collect::<Vec<_>>(), [("MESI", 108_034), ("MOESI", 118_138), ("MSI", 101_437)]);
    for name in coherent() {
        let passing = Scope { link: Link::SnoopsPass, ..scope };
        let example = explored(table(name), &[passing]).counter_example.expect("it is found");
        assert!(
            [ONE_WRITER, NO_NEVER, LAST, KNOWN].contains(&example.violated),
            "{name}: {}",
            example.violated
        );
        let passes =
            |step: &String| step.contains("the snoop of cache C") && step.contains("comes to the device");
        assert!(example.steps.iter().any(passes), "{name}: {:?}", example.steps);
    }
}

#[test]
fn every_protocol_holds_with_a_home_behind_a_link_and_none_where_a_request_passes_another_message() {
    let scope = Scope::MEMORY[0];
    let sizes = coherent().into_iter().map(|name| (name, size_of(name, scope).0));
    assert_eq!(sizes.collect::<Vec<_>>(), [("MESI", 17_255), ("MOESI", 18_735), ("MSI", 17_255)]);
    for name in coherent() {
        let passing = Scope { link: Link::RequestsPass, ..scope };
        let example = explored(table(name), &[passing]).counter_example.expect("it is found");
        // A read passes the write that brings its block home.
        assert_eq!(example.violated, LAST, "{name}");
        let last = &example.steps[example.steps.len() - 2..];
        assert!(last[0].starts_with("HomeAnswer(Some(Old)) comes to the port"), "{name}: {last:?}");
        assert!(last[1].ends_with("finds an old value"), "{name}: {last:?}");
    }
}

#[test]
fn every_protocol_holds_behind_a_coherent_link_whose_responses_pass() {
    let scopes = [Scope::COHERENT[0], Scope::COHERENT[2]];
    let sizes = coherent().into_iter().map(|name| (name, scopes.map(|scope| size_of(name, scope).0)));
    let expected = [("MESI", [62_639, 17_436]), ("MOESI", [74_452, 18_679]), ("MSI", [58_713, 17_436])];
    assert_eq!(sizes.collect::<Vec<_>>(), expected);
}

/// Half a minute each: `make directory-mutants`.
#[test]
#[ignore = "takes minutes"]
fn every_protocol_holds_in_all_scopes() {
    for name in coherent() {
        let report = explored(table(name), &Scope::ALL);
        println!("{report}");
        assert_eq!(report.proven, PROPERTIES);
        let states = report.explorations.iter().map(|own| format!(" {} |", own.exploration.states));
        let row = format!("| `{name}` |{}", states.collect::<String>());
        assert!(include_str!("../../../docs/coherence.md").contains(&row), "the guide's table has {row}");
        let sizes = [Scope::LINKS, Scope::MEMORY].map(|scopes| scopes.map(|scope| size_of(name, scope).0));
        println!("behind a link, and with a home there: {sizes:?}");
    }
}

/// What is left out where the order of messages makes no difference finds the same.
#[test]
fn messages_that_come_at_once_hide_nothing() {
    let all = |every_order| Scope { every_order, ..Scope::SMALL[1] };
    let mutants = mutants::of(table("MOESI"));
    for mutant in mutants.iter().step_by(7) {
        let [every, soon] = [true, false].map(|every| explored(&mutant.table, &[all(every)]));
        assert_eq!(every.counter_example.is_some(), soon.counter_example.is_some(), "{}", mutant.name);
    }
}

/// The changes of a protocol's tables that are listed as harmless.
fn listed(name: &str) -> BTreeSet<String> {
    let lines =
        include_str!("harmless.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let of_protocol = lines.filter_map(|line| {
        let (names, change) = line.split_once("  ").expect("protocols, two blanks, a change");
        names.split(' ').any(|listed| listed == name).then(|| change.trim().to_owned())
    });
    of_protocol.collect()
}

/// Tries every so-manieth entry in all ways; those that hold although they are changed.
fn harmless(name: &str, first: usize, step: usize) -> (usize, BTreeSet<String>, BTreeSet<String>) {
    let mutants = mutants::of(table(name));
    let mut entries: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    mutants.iter().for_each(|mutant| entries.entry(mutant.entry()).or_default().push(mutant));
    let (mut tried, mut found, mut expected) = (0, BTreeSet::new(), BTreeSet::new());
    let listed = listed(name);
    for changes in entries.values().skip(first).step_by(step) {
        for mutant in changes {
            tried += 1;
            expected.extend(listed.get(&mutant.name).cloned());
            let report = check(&mutant.table, &Scope::SMALL, 300_000, &mut |_| true);
            if report.counter_example.is_none() {
                assert!(report.complete, "{name}: {} has too many states", mutant.name);
                found.insert(mutant.name.clone());
                // An entry that nobody misses is not used, whatever it says.
                if mutant.name.ends_with(": never") {
                    break;
                }
            }
        }
    }
    (tried, found, expected)
}

#[test]
fn changes_of_some_entries_are_caught_or_listed_with_a_reason() {
    for (number, name) in coherent().into_iter().enumerate() {
        let (tried, found, expected) = harmless(name, 5 * number, 23);
        assert!(tried > 20, "{name}: {tried}");
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn changes_of_any_entry_are_caught_or_listed_with_a_reason() {
    for name in coherent() {
        let (tried, found, expected) = harmless(name, 0, 1);
        println!("{name}: {tried} changes, {} harmless", found.len());
        for missing in found.difference(&expected) {
            println!("{name}: '{missing}' holds, and is not listed");
        }
        for caught in expected.difference(&found) {
            println!("{name}: '{caught}' is listed, and does not hold");
        }
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_lost_withdrawal_is_told_as_a_story() {
    let report = check_named("mesi", Some("requests Sharers Upgrade: - withdraws"), 100_000, &mut |_| true);
    let example = report.expect("there is such a change").counter_example.expect("it is found");
    assert_eq!(example.violated, ONE_WRITER);
    let last = example.steps.last().expect("a step");
    assert!(last.contains("'permission' for block 0 to cache") && last.contains("is modified"), "{last}");
}

#[test]
fn names_that_there_are_not_are_refused_with_the_nearest() {
    let told = |name, change| check_named(name, change, 1, &mut |_| true).unwrap_err().to_string();
    let change = Some("requests Sharers Read: - gives_share");
    assert!(told("msi", change).contains("did you mean 'requests Sharers Read: - gives_shared'?"));
    assert!(told("moesy", None).contains("did you mean MOESI?"));
}
