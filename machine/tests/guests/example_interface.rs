//! Interfaces that a user adds, in a machine: that of docs/add-an-interface.md, as the page's reader has
//! it, and the one that `narthex new interface` begins with.

use crate::support::exchange::{both_ways, ping_pong};
use crate::support::{failure, request, result, statistic, with};

/// The 1998 machine, and a section for the interface.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../interfaces/examples/models/ni_i.toml");

/// What `narthex new interface` writes.
const STARTER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../python/narthex/starters/interface/starter.toml");

#[test]
fn a_new_interface_that_is_unchanged_takes_the_time_of_the_one_that_it_copies() {
    for bytes in [8, 64, 240] {
        let [new, copied] =
            ["Starter", "NI2w"].map(|name| result(&request(STARTER, name), &ping_pong(20, bytes)));
        assert_eq!(new["simulated_ps"], copied["simulated_ps"], "{bytes} bytes");
    }
}

#[test]
fn every_message_of_a_program_passes_through_the_guides_interface() {
    let document = result(&request(MACHINE, "NI16"), &ping_pong(20, 64));
    for node in [0, 1] {
        assert_eq!(statistic(&document, node, "packets_read"), 20);
    }
}

/// Both nodes send four messages before they receive one, with one buffer a
/// node to receive them: where four fit in the interface, both go on.
#[test]
fn a_node_that_sends_ahead_needs_room_for_what_the_flow_control_holds_back() {
    let request = |interface| with(request(MACHINE, interface), "flow_control.buffers=1");
    let program = both_ways(40, 64, 4);
    let document = result(&request("NI16"), &program);
    assert!(statistic(&document, 0, "packets_held_back") > 0);
    let stuck = failure(&request("NI4"), &program);
    assert_eq!(stuck.exit_code, 3, "{stuck}");
}
