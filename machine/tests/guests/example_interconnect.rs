//! An interconnect that a user adds: that of docs/add-an-interconnect.md, from one file outside of the
//! library's sources, under the caches and the interface of the 1998 machine.

use narthex_machine::RunRequest;
use narthex_machine::config;
use narthex_memory::interconnects::Part;

use crate::support::exchange::ping_pong;
use crate::support::{DATA, request, result, statistic, with};

/// The 1998 machine with the page's bus.
const MACHINE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../memory/examples/interconnects/time_slots.toml");

/// What each of some misses takes beyond the one before, in picoseconds.
fn miss(slot_cycles: u32) -> u64 {
    let slots = format!("node.interconnects.bus.slot_cycles={slot_cycles}");
    let request = RunRequest { nodes: Some(1), ..with(request(MACHINE, "NI2w"), &slots) };
    let guest = |misses: usize| {
        let misses = " ld t0, 0(s0)\n add s0, s0, t0\n addi s0, s0, 64\n".repeat(misses);
        format!("li s0, {DATA}\n{misses}exit 0")
    };
    let time = |misses| result(&request, &guest(misses))["simulated_ps"].as_u64().expect("it ends");
    (time(24) - time(16)) / 8
}

/// A processor and the two halves of the interface are on the bus: the processor's turn comes after
/// three slots.
#[test]
fn a_miss_begins_at_the_processors_next_slot() {
    for slot_cycles in [7, 11] {
        let turn_ps = 3 * u64::from(slot_cycles) * 4_000;
        assert_eq!(miss(slot_cycles) % turn_ps, 0, "{slot_cycles}");
    }
}

#[test]
fn every_message_of_a_program_crosses_an_interconnect_of_the_users_own() {
    for interface in ["NI2w", "CNI32Qm"] {
        let documents = [1, 2].map(|threads| {
            let request = RunRequest { threads, ..request(MACHINE, interface) };
            result(&request, &ping_pong(10, 64))
        });
        assert_eq!(documents[0].to_string(), documents[1].to_string(), "{interface}");
        assert!(statistic(&documents[0], 0, "bus_occupied") > 0);
    }
}

#[test]
fn an_interconnect_is_known_by_its_files_name_and_its_keys_are_checked() {
    let kinds: Vec<&str> = Part::KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [
            "bridged-bus",
            "coherent-link",
            "cxl",
            "directory",
            "pcie",
            "private-path",
            "snooping-bus",
            "time-slots"
        ]
    );
    let machine = config::load(MACHINE).expect("it loads");
    let refused = |settings: &[&str]| machine.with_settings(settings).map(drop).unwrap_err().to_string();
    let error = refused(&["node.interconnects.bus.kind=time-slot"]);
    assert!(error.contains("did you mean `time-slots`?"), "{error}");
    let error = refused(&["node.interconnects.bus.slot_cycle=3"]);
    assert!(error.contains("did you mean `slot_cycles`?"), "{error}");
    assert!(refused(&["node.interconnects.bus.slot_cycles=0"]).contains("slot_cycles"));
    let back = refused(&["node.interconnects.bus.kind=snooping-bus"]);
    assert!(
        back.contains("node.interconnects.bus: has no parameters: the machine's file has no [bus]"),
        "{back}"
    );
}
