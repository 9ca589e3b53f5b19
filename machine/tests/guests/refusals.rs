//! A bus whose owners refuse and push, and a device that refuses: in whole machines.

use crate::support::{IDENTITY, assert_ledgers_add_up, reported_by, request, result, statistic, with};

/// A run on a bus whose owners refuse, which takes three cycles.
fn refusing(interface: &str) -> narthex_machine::RunRequest {
    let request = with(request("isca96", interface), "bus.dirty_owner=retry-and-push");
    with(with(request, "bus.retry_cycles=3"), "machine.processors_per_node=2")
}

/// The first process of a node writes a block, the second reads it and answers in the
/// same block, fifty times.
fn turns() -> String {
    format!(
        "{IDENTITY}
        li   s0, 0x5e020000          # the node's memory
        ld   t0, 176(s11)            # the process's number in its node
        li   s1, 0
        li   s2, 50
    turn:
        slli t1, s1, 1
        add  t1, t1, t0
    wait:
        ld   t2, 0(s0)
        bne  t2, t1, wait
        addi t1, t1, 1
        sd   t1, 8(s0)
        sd   t1, 0(s0)
        addi s1, s1, 1
        blt  s1, s2, turn
        report turns, s1
        exit 0"
    )
}

#[test]
fn two_processors_hand_a_block_to_and_fro_by_pushes() {
    let document = result(&refusing("NI2w"), &turns());
    assert_eq!(reported_by(&document, (0, 1), "turns"), 50);
    assert_ledgers_add_up(&document);
    let [refused, pushes, reads] =
        ["bus_refused", "bus_pushes", "bus_reads"].map(|name| statistic(&document, 0, name));
    assert!(refused >= 99 && refused == pushes, "{refused} refusals, {pushes} pushes");
    assert!(reads >= 99, "{reads}");
    assert_eq!(statistic(&document, 0, "bus_refused_time"), refused * 30_000, "three cycles of 10 ns each");
}
