//! The interface in the register file: what its instructions take, what passes through it, what is refused.

use narthex_machine::{Failure, RunRequest};

use crate::process_threads::{END, several, threads};
use crate::reorder::windowed;
use crate::support::exchange::{MESSAGES, SENDERS, all_to_one, both_ways};
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

/// A microsecond, and the pops of a packet.
const POPS_LATER: &str = "
    li   a1, 500
later:
    addi a1, a1, -1
    bnez a1, later
    addi a0, t5, 0
    addi a0, t5, 0";

#[test]
fn the_next_message_is_ready_in_the_cycle_after_the_last_word() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("RegisterFile") };
    let prepare = format!("{MAPPED}{PUSHES}{PUSHES}{ARRIVES}{POPS_LATER}");
    assert_costs(&request, 1, &prepare, "addi a0, t5, 0", 1);
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
fn each_processor_of_a_chip_has_a_path_to_the_queues_of_its_process() {
    let chip = RunRequest { nodes: Some(1), ..request("chip", "RegisterFile") };
    let own = with(with(chip, "machine.processors_per_process=1"), "flow_control.buffers=16");
    let document = result(&own, &both_ways(20, 60, 3).over("RegisterFile"));
    assert_eq!(statistic(&document, 0, "doublewords_sent"), 16 * 20 * 9);
    // A cycle each, and none waits for another processor's.
    let accesses = ["uncached_loads", "uncached_stores"]
        .map(|kind| statistic(&document, 0, &format!("private_bus_{kind}")));
    assert_eq!(statistic(&document, 0, "private_bus_occupied"), accesses.iter().sum::<u64>() * 1_000);
}

#[test]
fn a_thread_begins_with_the_registers_of_its_process_and_sends_from_its_own_processor() {
    let run = RunRequest { interface: "RegisterFile".into(), ..several("chip", 2) };
    let threads = threads(2);
    let program = format!(
        "li s4, 0x50000000
        ld s4, 40(s4)
        csrrw zero, 0x801, s4
        {threads}
        li t4, 0x80000
        beqz s8, poll
        csrrsi zero, 0x801, 1
        {PUSHES}
        csrrci zero, 0x801, 1
        beqz zero, end
        {ARRIVES}
        csrrsi zero, 0x801, 1
        addi a0, t5, 0
        addi s0, t5, 0
        csrrci zero, 0x801, 1
        beq s0, t4, end
        exit 1
    end: {END}"
    );
    let document = result(&run, &program[..]);
    assert_eq!(statistic(&document, 0, "doublewords_received"), 2);
}

#[test]
fn where_receivers_pull_many_senders_to_one_have_packets_trimmed_and_lose_none() {
    let pulling = "flow_control={kind=\"pull\", window=4, buffers=4}";
    let run = RunRequest { nodes: Some(5), ..with(request("hpca98", "RegisterFile"), pulling) };
    let guest = all_to_one().over("RegisterFile");
    let way =
        |schedule_steps, threads| result(&RunRequest { schedule_steps, threads, ..run.clone() }, &guest);
    let document = way(false, 1);
    let of_senders = |name| (1..5).map(|node| statistic(&document, node, name)).sum::<u64>();
    assert_eq!(statistic(&document, 0, "packets_delivered"), SENDERS * MESSAGES);
    let trimmed = of_senders("packets_returned");
    assert!(trimmed > 0 && of_senders("packets_retried") == trimmed);
    assert!(document == way(true, 1) && document == way(false, 2), "steps or threads change a result");
}

/// hpca98 with two contexts, whose core takes this many cycles to its handler.
fn two_contexts(interrupt_cycles: u32) -> RunRequest {
    let run = RunRequest { nodes: Some(1), ..fixed_hpca98("RegisterFile") };
    let run = with(run, "register_file.interfaces.register_file.contexts=2");
    with(run, &format!("processor.interrupt_cycles={interrupt_cycles}"))
}

/// Context 1 has the messages of handler 5 and the higher priority; this node sends it one, and waits. Its handler
/// takes the context that the interface chooses, pops the message, says that it is done, and takes context 0 again.
const INTERRUPTED: &str = "
    li   s4, 0x50000000
    ld   s4, 40(s4)
    csrrw zero, 0x801, s4
    li   s1, 0x5080000
    jal  t0, begin
handler:
    ld   s2, 0x20(s4)
    sd   s2, 0x18(s4)
    ld   s3, 0(s4)
    csrrsi zero, 0x801, 1
    addi s5, t5, 0
    addi s6, t5, 0
    csrrci zero, 0x801, 1
    ld   s7, 0x20(s4)
    sd   zero, 0x38(s4)
    ld   s8, 0x20(s4)
    sd   s8, 0x18(s4)
    ld   s9, 0x18(s4)
    slli s2, s2, 1
    add  s2, s2, s7
    add  s2, s2, s8
    add  s2, s2, s9
    addi s2, s2, -3
    bnez s2, wrong
    bne  s6, s1, wrong
    exit 0
wrong:
    exit 1
begin:
    csrrw zero, 0x005, t0
    li   t0, 0x105
    sd   t0, 0x28(s4)
    li   t0, 0x100
    sd   t0, 0x30(s4)
    lui  t0, 16
    csrrs zero, 0x004, t0
    csrrsi zero, 0x000, 1
    csrrsi zero, 0x801, 1
    addi t6, s1, 0
    addi t6, s1, 0
    csrrci zero, 0x801, 1
wait:
    beqz zero, wait";

#[test]
fn a_message_of_a_higher_priority_interrupts_and_is_popped_by_its_context() {
    let document = result(&two_contexts(5), INTERRUPTED);
    assert_eq!(statistic(&document, 0, "context_switches"), 2);
    assert_eq!(statistic(&document, 0, "doublewords_received"), 2);
    let elapsed = |document: &serde_json::Value| document["simulated_ps"].as_u64().expect("a time");
    let later = result(&two_contexts(25), INTERRUPTED);
    assert_eq!(elapsed(&later), elapsed(&document) + 20_000);
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
        (with(two_contexts(5), "register_file.interfaces.register_file.contexts=9"), "from 2 to 8"),
        (with(run.clone(), "register_file.interfaces.register_file.contexts=2"), "no interrupt_cycles"),
        (with(run.clone(), "register_file.interfaces.register_file.message_time=\"1us\""), "state contexts"),
        (
            RunRequest {
                nodes: Some(1),
                ..with(request("chip", "RegisterFile"), "register_file.interfaces.register_file.contexts=2")
            },
            "processors_per_process: 16 processors share",
        ),
        (with(run, "register_file.interfaces.register_file.transmit_packets=0"), "transmit_packets"),
    ] {
        let message = told(&run, "exit 0");
        assert!(message.contains(reason), "{reason} is not in {message}");
    }
}
