//! Where programs' time goes by function and line: profiles add up to the ledger, and neither the
//! result nor the profile depends on who watches or on how many threads.

use std::collections::BTreeMap;

use narthex_machine::RunRequest;
use narthex_observation::profile::{Document, ProfileRequest};
use narthex_observation::{Observed, run};
use serde_json::Value;

use crate::support::exchange::{Exchange, SENDERS, all_to_one, ping_pong};
use crate::support::machines::machines_and_interfaces;
use crate::support::{Guest, request, run_guest};

/// The result of a run with a profile, of a region if one is named.
fn profiled(request: &RunRequest, guest: &(impl Guest + ?Sized), region: Option<&str>) -> Value {
    let profile = ProfileRequest { region: region.map(str::to_owned) };
    let observed = Observed { profile: Some(&profile), ..Observed::default() };
    run(&guest.in_run(request), observed, &guest.elf(), &mut |_| true).expect("it runs")
}

fn profile_of(document: &Value) -> Document {
    serde_json::from_value(document["profile"].clone()).expect("it has one")
}

type Ledger = BTreeMap<String, u64>;

/// What a profile's rows of a processor add up to, by category.
fn sums(profile: &Document, node: usize, processor: usize) -> Ledger {
    let mut sums = Ledger::new();
    for (of_node, of_processor, _, activity, occupation, time_ps) in &profile.rows {
        if (*of_node, *of_processor) == (node, processor) {
            *sums.entry(format!("{activity} / {occupation}")).or_default() += time_ps;
        }
    }
    sums
}

fn ledger(document: &Value) -> Ledger {
    serde_json::from_value(document["ledger_ps"].clone()).expect("it is one")
}

/// Asserts that the profile has the ledger of each processor.
fn assert_adds_up(document: &Value, what: &str) {
    let profile = profile_of(document);
    for (number, node) in document["nodes"].as_array().unwrap().iter().enumerate() {
        for (processor, of) in node["processors"].as_array().unwrap().iter().enumerate() {
            assert_eq!(sums(&profile, number, processor), ledger(of), "{what}, node {number}.{processor}");
        }
    }
}

#[test]
fn a_profile_adds_up_to_the_ledger_and_the_result_is_the_same() {
    let guest: Exchange = ping_pong(6, 200);
    for (machine, interface) in machines_and_interfaces() {
        let request = request(machine, interface);
        let mut document = profiled(&request, &guest, None);
        assert_adds_up(&document, &format!("{machine} {interface}"));
        assert!(!profile_of(&document).stacks.is_empty());
        document.as_object_mut().unwrap().remove("profile");
        assert_eq!(document, run_guest(&request, &guest).unwrap(), "{machine} {interface}");
    }
}

#[test]
fn two_threads_profile_as_one_does() {
    let request = RunRequest { nodes: Some(SENDERS as u32 + 1), ..request("hpca98", "NI2w") };
    let alone = profiled(&request, &all_to_one(), None);
    let together = profiled(&RunRequest { threads: 2, ..request }, &all_to_one(), None);
    assert_eq!(alone["profile"], together["profile"]);
    assert_adds_up(&together, "two threads");
}

/// A function that is called twice in a region, and once outside of it.
const CALLS: &str = "
    jal ra, work
    region_begin main
    jal ra, work
    jal ra, work
    region_end main
    exit 0
work:
    addi t0, zero, 50
    lui t1, 0x100
again:
    lw t2, 0(t1)
    addi t1, t1, 64
    addi t0, t0, -1
    bne t0, zero, again
    jalr zero, 0(ra)";

#[test]
fn the_profile_of_a_region_adds_up_to_the_ledger_of_that_region() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "NI2w") };
    let document = profiled(&request, CALLS, Some("main"));
    let region = &document["regions"][0];
    assert_eq!(sums(&profile_of(&document), 0, 0), ledger(region));
    let missing = profiled(&request, CALLS, Some("other"));
    assert!(profile_of(&missing).rows.is_empty());
}

#[test]
fn a_function_that_is_called_is_below_its_caller_on_the_stack() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "NI2w") };
    let profile = profile_of(&profiled(&request, CALLS, None));
    let depth = |stack: Option<usize>| std::iter::successors(stack, |&at| profile.stacks[at].0).count();
    let time_at = |wanted: usize| -> u64 {
        profile.rows.iter().filter(|row| depth(row.2) == wanted).map(|row| row.5).sum()
    };
    assert!(time_at(2) > time_at(1), "most of the time is spent in the function");
    assert_eq!(time_at(3), 0);
}
