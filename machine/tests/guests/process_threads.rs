//! Threads of one process over the processors of a node: they share its memory, sleep
//! and wake each other, and nobody can tell which of their wait loops are computed.

use narthex_machine::{Failure, RunRequest, run_monitored};
use proptest::prelude::*;

use crate::support::{
    DATA, Guest, alone, assert_ledgers_add_up, failure, fixed_hpca98, reported, request, result, with,
};

/// One node of `machine` whose process has so many processors.
pub fn several(machine: &str, processors: u32) -> RunRequest {
    of_several(alone(machine), processors)
}

fn of_several(request: RunRequest, processors: u32) -> RunRequest {
    let request = with(request, &format!("machine.processors_per_node={processors}"));
    with(request, &format!("machine.processors_per_process={processors}"))
}

/// What a process of so many threads begins with: each has its number from 0 up in s8,
/// how many there are in s9, and the process's data at s10. A page of stack belongs to
/// each.
pub fn threads(count: u32) -> String {
    format!(
        "
        li   s9, {count}
        li   s10, {DATA}
        li   s8, {count}
    start:
        addi s8, s8, -1
        beqz s8, started
        li   a0, 0x50f00          # a thread that shares all
        slli a1, s8, 12
        add  a1, a1, s10
        li   a2, 0
        li   a3, 0
        li   a4, 0
        li   a7, 220
        ecall
        bnez a0, start
    started:
    "
    )
}

/// The thread's end, and in the first one that of the process.
pub const END: &str = "
    bnez s8, leave
    li   a0, 0
    li   a7, 94
    ecall
    leave:
    li   a0, 0
    li   a7, 93
    ecall
";

/// All threads wait until all of them are here, at the word `offset` of the data.
fn meet(offset: u64, label: &str) -> String {
    format!(
        "
        addi t1, s10, {offset}
        li   t0, 1
        amoadd.d t0, t0, (t1)
    {label}:
        ld   t0, 0(t1)
        bne  t0, s9, {label}"
    )
}

/// Threads that each do `work` and meet, and the first then does `last`.
pub fn program(count: u32, work: &str, last: &str) -> String {
    format!("{}\n {work}\n {}\n bnez s8, end\n {last}\n end:\n {END}", threads(count), meet(256, "met"))
}

/// The result, and the instructions that were computed and all of them, after the
/// result has been compared with that of the run that executes all.
pub fn compared(request: &RunRequest, guest: &(impl Guest + ?Sized)) -> (serde_json::Value, u64, u64) {
    let (request, elf) = (guest.in_run(request), guest.elf());
    let measured = |execute_wait_loops| {
        let request = RunRequest { execute_wait_loops, ..request.clone() };
        run_monitored(&request, &elf, &mut (), &mut |_| true).unwrap_or_else(|failure| panic!("{failure}"))
    };
    let (computed, effort) = measured(false);
    let (executed, _) = measured(true);
    assert!(computed == executed, "{request:?}\n{computed:#}\n{executed:#}");
    (computed, effort.skipped_instructions, effort.instructions)
}

const COUNT_UP: [&str; 2] = [
    "li t0, 1\n amoadd.d zero, t0, (s10)",
    "again: lr.d t0, (s10)\n addi t0, t0, 1\n sc.d t1, t0, (s10)\n bnez t1, again",
];

#[test]
fn no_increment_of_several_threads_is_lost_however_many_contend() {
    for machine in ["hpca98", "isca96", "chip"] {
        for (step, count) in COUNT_UP.into_iter().zip([7, 7]) {
            let work = format!("li s0, 50\n more:\n {step}\n addi s0, s0, -1\n bnez s0, more");
            let guest = program(count, &work, "ld t0, 0(s10)\n report count, t0");
            let (document, ..) = compared(&several(machine, count), &guest);
            assert_eq!(reported(&document, 0, "count"), 50 * i64::from(count), "{machine}: {step}");
        }
    }
}

/// A flag is never seen before what was written ahead of it.
#[test]
fn a_message_is_there_when_its_flag_is() {
    let work = "
        li   s0, 0
        li   s1, 200
    turn:
        addi s0, s0, 1
        bnez s8, reader
        sd   s0, 0(s10)
        fence
        sd   s0, 64(s10)
    answered:
        ld   t0, 128(s10)
        bne  t0, s0, answered
        j    next
    reader:
        ld   t0, 64(s10)
        bne  t0, s0, reader
        fence
        ld   t0, 0(s10)
        bne  t0, s0, wrong
        sd   s0, 128(s10)
    next:
        bne  s0, s1, turn
        j    well
    wrong:
        exit 9
    well:";
    for machine in ["hpca98", "isca96", "chip"] {
        compared(&several(machine, 2), &program(2, work, ""));
    }
}

/// The first thread turns in place while the second computes: its turns cost nothing.
#[test]
fn a_thread_that_waits_holds_nobody_back_and_is_computed() {
    let work = "
        beqz s8, well
        li   s0, 20000
    work:
        addi s0, s0, -1
        mul  s1, s0, s0
        bnez s0, work
    well:";
    let (_, skipped, all) = compared(&several("hpca98", 2), &program(2, work, ""));
    let executed = all - skipped;
    assert!((60_000..62_000).contains(&executed), "{executed} of {all}");
}

/// A store by another thread is seen in the turn in which its transaction is.
#[test]
fn a_waiting_thread_sees_a_store_after_the_time_of_its_transactions() {
    // The first thread's loop loads in every second cycle. The second thread's store takes
    // the block at a bus edge (4 cycles: arbitration, address, 2 of an upgrade); the first
    // one fetches it again from the other's cache (4 cycles and 12 ns) once that is over.
    let work = "
        bnez s8, writer
    wait:
        ld   t0, 0(s10)
        beqz t0, wait
        csrrs s0, 0xc01, zero
        j    well
    writer:
        ld   t0, 0(s10)
        li   t2, 4000
    pause:
        addi t2, t2, -1
        bnez t2, pause
        li   t0, 1
        csrrs s0, 0xc01, zero
        sd   t0, 0(s10)
        sd   s0, 64(s10)
    well:";
    let last = "ld t0, 64(s10)\n sub s0, s0, t0\n report delay, s0";
    let request = of_several(RunRequest { nodes: Some(1), ..fixed_hpca98("NI2w") }, 2);
    let (document, skipped, _) = compared(&request, &program(2, work, last));
    assert!(skipped > 5_000);
    // Up to the edge 2 ns, 16 ns of upgrade, 28 of the read, and the loads around it.
    let delay = reported(&document, 0, "delay");
    assert!((44..56).contains(&delay), "{delay} ns");
}

/// The system call `futex` on the word at `offset` of the data.
fn futex(operation: u32, offset: u64, value: u64, timeout: &str) -> String {
    format!("addi a0, s10, {offset}\n li a1, {operation}\n li a2, {value}\n {timeout}\n li a7, 98\n ecall")
}

#[test]
fn a_thread_sleeps_until_another_wakes_it_and_its_time_is_synchronisation() {
    let work = format!(
        "
        bnez s8, waker
        csrrs s0, 0xc01, zero
        {}
        csrrs s1, 0xc01, zero
        sub  s0, s1, s0
        report slept, s0
        j    well
    waker:
        li   t2, 10000
    pause:
        addi t2, t2, -1
        bnez t2, pause
        {}
        sd   a0, 64(s10)
    well:",
        futex(128, 0, 0, "li a3, 0"),
        futex(129, 0, 1, ""),
    );
    let last = "ld t0, 64(s10)\n report woken, t0";
    let (document, ..) = compared(&several("hpca98", 2), &program(2, &work, last));
    assert_ledgers_add_up(&document);
    assert_eq!(reported(&document, 0, "woken"), 1);
    let slept = reported(&document, 0, "slept");
    assert!(slept > 10_000, "{slept} ns");
    let ledger = &document["nodes"][0]["processors"][0]["ledger_ps"];
    let asleep = ledger["synchronisation / asleep"].as_i64().expect("it has slept");
    assert!((slept * 1_000 - asleep).abs() < 10_000, "{asleep} ps of {slept} ns");
}

#[test]
fn a_sleep_ends_at_its_time_to_the_nanosecond() {
    let work = format!(
        "
        li   t0, 5000
        sd   t0, 72(s10)
        csrrs s0, 0xc01, zero
        {}
        csrrs s1, 0xc01, zero
        sub  s0, s1, s0
        report slept, s0
        report value, a0",
        futex(128, 0, 0, "addi a3, s10, 64"),
    );
    for processors in [1, 2] {
        // The value is kept over the first report's system call.
        let work = work
            .replace("report slept, s0", "mv s2, a0\n report slept, s0")
            .replace("value, a0", "value, s2");
        let (document, ..) = compared(&several("hpca98", processors), &program(1, &work, ""));
        assert_eq!(reported(&document, 0, "value"), -110, "ETIMEDOUT");
        let slept = reported(&document, 0, "slept");
        assert!((5_000..5_030).contains(&slept), "{slept} ns");
    }
}

#[test]
fn more_threads_than_processors_are_refused_and_the_machine_is_named() {
    let source = "
        li a0, 0x50f00; li a1, 0; li a2, 0; li a3, 0; li a4, 0; li a7, 220; ecall
        mv s0, a0
        report value, s0
        exit 0"
        .replace(';', "\n");
    let document = result(&several("hpca98", 1), &source);
    assert_eq!(reported(&document, 0, "value"), -11, "EAGAIN");
    let output = document["output"].to_string();
    assert!(output.contains("one processor (machine.processors_per_process)"), "{output}");
}

#[test]
fn a_fault_names_the_thread_and_its_processor() {
    let guest = program(3, "li t0, 2\n bne s8, t0, well\n ld t0, 8(zero)\n well:", "");
    let Failure { message, .. } = failure(&several("hpca98", 3), &guest);
    assert!(message.starts_with("node 0, thread 1001 on processor 1: load from 0x8"), "{message}");
}

#[test]
fn processors_that_do_not_divide_among_processes_are_refused() {
    let request = with(several("hpca98", 3), "machine.processors_per_process=2");
    let Failure { exit_code, message, .. } = failure(&request, "exit 0");
    assert_eq!(exit_code, Failure::USAGE);
    for part in ["machine.processors_per_process", "2 does not divide the 3 processors"] {
        assert!(message.contains(part), "{message}");
    }
}

/// Each of two nodes' threads count and meet, whatever the host's threads.
#[test]
fn threads_of_several_nodes_give_the_same_bytes_on_any_number_of_host_threads() {
    let work = format!("li s0, 20\n more:\n {}\n addi s0, s0, -1\n bnez s0, more", COUNT_UP[1]);
    let guest = program(4, &work, "ld t0, 0(s10)\n report count, t0");
    for (machine, interface) in [("isca96", "CNI512Q"), ("chip", "NI2w")] {
        let documents = [1, 2].map(|threads| {
            let request = of_several(RunRequest { threads, ..request(machine, interface) }, 4);
            result(&request, &guest).to_string()
        });
        assert!(documents[0] == documents[1], "{machine}");
    }
}

/// What a thread does in a round, of its own and with the others.
const PARTS: [&str; 10] = [
    "li t0, 1\n amoadd.d zero, t0, (s10)",
    "ld t1, 0(s10)",
    "sd s8, 64(s10)",
    "ld t1, 64(s10)\n add t2, t2, t1",
    "ld t1, 4096(s10)",
    "sd s0, 128(s10)",
    "fence",
    "marker 0x4e6\n marker 0x4f0",
    "li t3, 300\n pause: addi t3, t3, -1\n bnez t3, pause",
    "csrrs t3, 0xc00, zero\n again: csrrs t4, 0xc00, zero\n sub t4, t4, t3\n li t5, 900\n bltu t4, t5, again",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The thread whose turn it is in a round does its part; the others wait for it.
    #[test]
    fn random_rounds_of_threads_give_the_same_bytes(
        parts in proptest::collection::vec(proptest::sample::select(&PARTS[..]), 1..6),
        count in 2u32..5,
        machine in proptest::sample::select(&["hpca98", "isca96", "chip"][..]),
    ) {
        let mut work = String::from("li t2, 0\n li s1, 0\n");
        for (round, part) in parts.iter().enumerate() {
            let part = part.replace("pause", &format!("pause{round}")).replace("again", &format!("again{round}"))
                .replace("4096(s10)", "2000(s10)");
            work += &format!(
                "li s1, {round}\n li t0, {}\n bne s8, t0, wait{round}\n {part}\n addi t0, s1, 1\n sd t0, 192(s10)\n \
                 wait{round}:\n ld t0, 192(s10)\n bgeu s1, t0, wait{round}\n",
                round as u32 % count
            );
        }
        compared(&several(machine, count), &program(count, &work, "ld t0, 0(s10)\n report count, t0"));
    }
}

/// The first of two threads faults on each node while the second one computes. How long windows are
/// follows from the network's latency, which nothing else feels here.
#[test]
fn a_thread_that_faults_ends_its_process_where_its_other_threads_have_come_too() {
    let guest = format!(
        "{}\n bnez s8, compute\n li t1, 1001\n later: addi t1, t1, -1\n bnez t1, later\n ld t0, 0(zero)\n \
         compute: addi s7, s7, 1\n mul s6, s7, s7\n j compute",
        threads(2)
    );
    let counts = |latency: &str| {
        let request = of_several(RunRequest { nodes: Some(2), ..request("hpca98", "NI2w") }, 2);
        let failed = failure(&with(request, &format!("network.latency={latency}")), &guest);
        assert!(failed.message.contains("node 0, thread 1000 on processor 0: load from 0x0"), "{failed}");
        let document = failed.document.expect("what was counted");
        assert_ledgers_add_up(&document);
        (document["simulated_ps"].clone(), document["nodes"].clone())
    };
    let short = counts("7ns");
    assert!(["30ns", "100ns", "1us"].map(counts).iter().all(|other| *other == short));
}
