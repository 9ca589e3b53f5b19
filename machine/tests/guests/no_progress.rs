//! A run in which nobody gets anywhere ends with exit code 3 and says who waits
//! for what.

use narthex_machine::Failure;

use crate::support::messages::{LIBRARY, header};
use crate::support::{DATA, failure, request, with};
use crate::{INTERFACES, MACHINES};

/// The explanation of a run that gets stuck, found out soon.
fn explanation(machine: &str, interface: &str, source: &str) -> String {
    let request = with(request(machine, interface), "machine.time_without_progress=100us");
    let Failure { exit_code, message } = failure(&request, source);
    assert_eq!(exit_code, Failure::NO_PROGRESS, "{message}");
    message
}

#[test]
fn a_node_that_polls_for_what_nobody_sends_is_named_with_its_activity() {
    for machine in MACHINES {
        for interface in INTERFACES {
            let text = explanation(
                machine,
                interface,
                &format!(
                    "
                call start
                beqz s8, over
                li   a0, {DATA}
                call receive
            over:
                exit 0
            {LIBRARY}"
                ),
            );
            assert!(text.starts_with("no progress: nothing can ever happen again"), "{text}");
            assert!(text.contains("node 0, processor 0: its program has ended"), "{text}");
            assert!(text.contains("in the activity 'poll'"), "{text}");
            assert!(text.contains("receive queue: at most 0") || text.contains("receive FIFO: 0"), "{text}");
        }
    }
}

#[test]
fn a_sender_whose_receiver_never_takes_anything_is_named_with_its_activity() {
    for machine in MACHINES {
        for interface in INTERFACES {
            let text = explanation(
                machine,
                interface,
                &format!(
                    "
                call start
                bnez s8, over
                li   s0, 1000
            more:
                li   a0, {header}
                li   a1, {DATA}
                call send
                addi s0, s0, -1
                bnez s0, more
            over:
                exit 0
            {LIBRARY}",
                    header = header(1, 8)
                ),
            );
            assert!(text.contains("node 0, processor 0: "), "{text}");
            assert!(text.contains("in the activity 'wait to send'"), "{text}");
            assert!(text.contains("node 1, processor 0: its program has ended"), "{text}");
            assert!(text.contains("flow control: "), "{text}");
        }
    }
}

#[test]
fn a_program_that_computes_for_longer_than_the_patience_is_left_alone() {
    let request = with(request("hpca98", "NI2w"), "machine.time_without_progress=10us");
    crate::support::result(
        &request,
        "
        li   t0, 20000
    busy:
        addi t0, t0, -1
        bnez t0, busy
        exit 0
    ",
    );
}
