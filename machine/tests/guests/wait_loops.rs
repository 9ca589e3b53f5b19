//! Wait loops are computed instead of executed, and nobody can tell: not by a
//! byte of the result.

use narthex_machine::{RunRequest, run_monitored};
use proptest::prelude::*;

use crate::support::exchange::{both_ways, exchange, header, ping_pong};
use crate::support::{DATA, Guest, request, with};
use crate::{ELSEWHERE, MACHINES, machines_and_interfaces};

/// The instructions that a run computed and all that it retired, after its result
/// has been compared with that of the run that executes them all.
pub(crate) fn compared(request: &RunRequest, guest: &(impl Guest + ?Sized)) -> (u64, u64) {
    let (request, elf) = (guest.in_run(request), guest.elf());
    let measured = |execute_wait_loops| {
        // Where wait loops are executed, each step is an event, too.
        let request =
            RunRequest { execute_wait_loops, schedule_steps: execute_wait_loops, ..request.clone() };
        run_monitored(&request, &elf, &mut (), &mut |_| true).unwrap_or_else(|failure| panic!("{failure}"))
    };
    let (computed, effort) = measured(false);
    let (executed, none) = measured(true);
    let what = (&request.machine, &request.interface, &request.set, &request.args);
    assert!(computed == executed, "{what:?}\n{computed:#}\n{executed:#}");
    assert_eq!((none.skipped_instructions, none.instructions), (0, effort.instructions));
    (effort.skipped_instructions, effort.instructions)
}

/// Node 0 does `wait`, which begins with the cycles in s1 and the information page
/// in s11, then sends a message for which node 1 waits, through NI2w's registers.
fn late_message(wait: &str) -> String {
    format!(
        "
        li   s11, 0x50000000
        ld   t0, 16(s11)
        ld   s9, 40(s11)
        bnez t0, listen
        li   s10, {DATA}
        csrrs s1, 0xc00, zero
        li   s0, 30000
        {wait}
        li   a0, {header}
        sd   a0, 8(s9)
        j    over
    listen:
        ld   t0, 0(s9)
        andi t0, t0, 2
        beqz t0, listen
        ld   t0, 16(s9)
    over:
        csrrs t0, 0xc00, zero
        report cycles, t0
        exit 0",
        header = header(1, 0)
    )
}

/// The same over any interface, by the drivers.
const LATE_MESSAGE: &str = "on 0 pause 100000 send 1 8 on 1 receive 0";

#[test]
fn conversations_give_the_same_bytes_over_every_interface() {
    for (machine, interface) in machines_and_interfaces() {
        let request = request(machine, interface);
        for guest in [ping_pong(30, 64), both_ways(30, 24, 4)] {
            compared(&request, &guest);
        }
    }
}

#[test]
fn waiting_for_time_and_for_a_message_is_computed_over_every_interface() {
    for (machine, interface) in machines_and_interfaces() {
        let (skipped, all) = compared(&request(machine, interface), &exchange(LATE_MESSAGE));
        assert!(skipped * 2 > all, "{machine} {interface}: {skipped} of {all}");
    }
}

#[test]
fn waiting_is_computed_whatever_the_clocks() {
    for clocks in CLOCKS {
        let request = clocks.iter().fold(request("hpca98", "NI2w"), |request, clock| with(request, clock));
        let (skipped, all) = compared(&request, &exchange(LATE_MESSAGE));
        assert!(skipped * 2 > all, "{clocks:?}: {skipped} of {all}");
    }
}

#[test]
fn several_processes_of_a_node_and_the_last_of_them_alone_give_the_same_bytes() {
    for (machine, interface) in machines_and_interfaces().filter(|place| !ELSEWHERE.contains(place)) {
        let request = with(request(machine, interface), "machine.processors_per_node=2");
        let request = RunRequest { nodes: Some(1), ..request };
        if interface.contains("Udma") {
            continue; // takes one process a node
        }
        compared(&request, &ping_pong(10, 24));
        compared(&request, &exchange(LATE_MESSAGE));
    }
}

/// Loops that a node waits in, up to a deadline.
#[test]
fn loops_that_look_at_several_things_give_the_same_bytes() {
    let until = "csrrs t0, 0xc00, zero\n sub t0, t0, s1\n bltu t0, s0, wait";
    let status = "ld t2, 40(s11)\n beqz t2, none\n ld t1, 0(t2)\n none:";
    // Each with the part of the run that is computed at least, in percent.
    let loops = [
        (format!("wait: ld t1, 0(s10)\n {until}"), 40),
        (format!("wait: sd s10, 8(s10)\n sd zero, 8(s10)\n marker 0x4e3\n marker 0x4f0\n {until}"), 40),
        (format!("marker 0x4e3\n marker 0x4f0\n wait: ld t1, 0(s10)\n {until}"), 40),
        (format!("{status}\n wait: ld t1, 0(t2)\n {until}"), 40),
        (format!("{status}\n wait: ld t1, 0(t2)\n ld t3, 0(t2)\n sd t1, 0(s10)\n fence\n {until}"), 40),
        // These do something in each turn: only the other node waits.
        (format!("wait: ld t1, 0(s10)\n addi t1, t1, 1\n sd t1, 0(s10)\n {until}"), 0),
        (format!("wait: sd s2, 0(s10)\n xori s2, s2, 5\n mul s3, s3, s2\n addi s3, s3, 7\n {until}"), 0),
        (format!("wait: csrrs t1, 0xc00, zero\n sd t1, 0(s10)\n {until}"), 0),
    ];
    for machine in MACHINES {
        for (wait, least) in &loops {
            let (skipped, all) = compared(&request(machine, "NI2w"), &late_message(wait));
            let percent = 100 * skipped / all;
            assert!(percent >= *least, "{machine}: {percent} %\n{wait}");
        }
    }
}

/// What a random loop does in a turn, besides looking at the time.
const PARTS: [&str; 13] = [
    "ld t1, 0(s10)",
    "ld t1, 0(t4)",
    "sd t1, 8(s10)",
    "sd zero, 8(s10)",
    "addi t2, t2, 1",
    "andi t2, t2, 3",
    "add t3, t3, t1",
    "marker 0x4e3\n marker 0x4f0",
    "ld t1, 8(s10)\n addi t1, t1, 1\n sd t1, 8(s10)",
    "csrrs t5, 0xc01, zero",
    "csrrs t5, 0xc02, zero",
    "fence",
    // Twice this in a turn, and what is between two polls is the program's own.
    "nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop",
];

/// The machine's own clocks, and some whose periods are no whole picoseconds.
const CLOCKS: [&[&str]; 3] =
    [&[], &["processor.clock=140MHz", "bus.clock=35MHz"], &["processor.clock=3GHz", "bus.clock=66MHz"]];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_loops_give_the_same_bytes(
        parts in proptest::collection::vec(proptest::sample::select(&PARTS[..]), 0..6),
        place in 0usize..4,
        clocks in proptest::sample::select(&CLOCKS[..]),
    ) {
        let (machine, interface) =
            [("hpca98", "NI2w"), ("isca96", "NI2w on io-bus"), ("isca96", "NI2w"), ("isca96", "NI2w on cache-bus")][place];
        let parts = parts.join("\n");
        let wait = format!(
            "ld t4, 40(s11)\n li t1, 0\n li t2, 0\n li t3, 0\n li s0, 6000\n wait:\n {parts}\n \
             csrrs t0, 0xc00, zero\n sub t0, t0, s1\n bltu t0, s0, wait\n report one, t1\n report two, t2\n report three, t3"
        );
        let request = clocks.iter().fold(request(machine, interface), |request, clock| with(request, clock));
        compared(&request, &late_message(&wait));
    }
}
