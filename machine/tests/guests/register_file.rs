//! The interface in the register file: what its instructions take, what passes through it, what is refused.

use narthex_machine::{Failure, RunRequest};

use crate::reorder::windowed;
use crate::support::exchange::{all_to_one, both_ways};
use crate::support::{failure, fixed_hpca98, request, result, statistic, with};
use crate::timing::assert_costs;

/// A packet of one word to this node, with the registers mapped.
const MAPPED: &str = "
    li   t4, 0x80000
    csrrw zero, 0x801, s4
    csrrsi zero, 0x801, 1";

/// Header and word.
const PUSHES: &str = "
    addi t6, t4, 0
    addi t6, t4, 0";

/// Polls of the status register until a packet has come.
const ARRIVES: &str = "
poll:
    ld   a0, 0(s4)
    andi a0, a0, 2
    beqz a0, poll";

#[test]
fn a_push_and_a_pop_take_the_cycle_of_the_processors_path() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("RegisterFile") };
    assert_costs(&request, 1, MAPPED, "addi t6, t4, 0", 1);
    assert_costs(&request, 1, &format!("{MAPPED}{PUSHES}{ARRIVES}"), "addi a0, t5, 0", 1);
}

#[test]
fn messages_pass_through_the_registers_on_cores_in_order_and_with_a_window() {
    let plain = || request("hpca98", "RegisterFile");
    let short = with(plain(), "register_file.interfaces.register_file.transmit_packets=1");
    for run in [plain(), short, windowed(with(plain(), "processor.misses=4"))] {
        let document = result(&run, &both_ways(100, 60, 3).over("RegisterFile"));
        assert!(statistic(&document, 1, "doublewords_received") >= 100 * (1 + 8));
    }
    let run = RunRequest { nodes: Some(5), ..request("hpca98", "RegisterFile") };
    let document = result(&run, &all_to_one().over("RegisterFile"));
    assert!(statistic(&document, 0, "doublewords_received") >= 240);
}

#[test]
fn what_a_program_or_a_machine_asks_wrongly_is_refused() {
    let told = |run: &RunRequest, program: &str| failure(run, program).message;
    let run = RunRequest { nodes: Some(1), ..request("hpca98", "RegisterFile") };
    for (wrong, reason) in [
        ("addi a0, t5, 0", "while STATUS shows no packet"),
        ("add  a0, t5, a0", "illegal instruction"),
        ("li t4, 0x80063\n addi t6, t4, 0", "99"),
    ] {
        let program = format!("li s4, 0x50000000\n ld s4, 40(s4)\n {MAPPED}\n {wrong}\n li t0, 999\n exit 0");
        let Failure { exit_code, message, .. } = failure(&run, &program);
        assert_eq!(exit_code, Failure::GUEST, "{message}");
        assert!(message.to_lowercase().contains(&reason.to_lowercase()), "{reason} is not in {message}");
    }
    for (run, reason) in [
        (
            request("hpca98", "RegisterFile on memory-bus"),
            "no [interfaces.register_file], which 'RegisterFile' needs",
        ),
        (request("isca96", "RegisterFile"), "no [interfaces.register_file], which 'RegisterFile' needs"),
        (with(run, "register_file.interfaces.register_file.transmit_packets=0"), "transmit_packets"),
    ] {
        let message = told(&run, "exit 0");
        assert!(message.contains(reason), "{reason} is not in {message}");
    }
}
