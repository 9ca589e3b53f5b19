//! Several processes a node: each has its memory and its queues to itself, all
//! share the interface, the network port and the node's memory.

use narthex_machine::{Failure, RunRequest};

use crate::support::exchange::{Exchange, both_ways, exchange, ping_pong};
use crate::support::{
    DATA, IDENTITY, failure, fixed_hpca98, reported_by, request, result, run_guest, statistic, with,
};
use crate::{INTERFACES, MACHINES};

/// Where a process finds the address of the node's memory.
const NODE_MEMORY: &str = "ld   s10, 192(s11)";

/// A run on so many nodes of so many processes.
fn several(machine: &str, interface: &str, nodes: u32, processes: u32) -> RunRequest {
    let request = RunRequest { nodes: Some(nodes), ..request(machine, interface) };
    with(request, &format!("machine.processors_per_node={processes}"))
}

/// Every interface on every machine.
fn each(mut check: impl FnMut(&str, &str)) {
    for machine in MACHINES {
        for interface in INTERFACES {
            check(machine, interface);
        }
    }
}

/// The processes of a machine in the order of their ranks, as (node, process).
fn ranks(nodes: u64, processes: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..nodes).flat_map(move |node| (0..processes).map(move |process| (node, process)))
}

#[test]
fn what_a_process_writes_at_an_address_no_other_sees() {
    let document = result(
        &with(several("hpca98", "NI2w", 2, 3), "data_cache.size=1KiB"),
        &format!(
            "
        {IDENTITY}
        li   s0, {DATA}
        ld   s1, 0(s0)              # nobody has written
        sd   s8, 0(s0)
        li   t0, 1000               # until all of them have
    wait:
        addi t0, t0, -1
        bnez t0, wait
        li   t0, {conflict}         # and their caches have lost the block
        sd   s8, 0(t0)
        ld   s2, 0(s0)
        report before, s1
        report after, s2
        exit 0",
            conflict = DATA + 0x8000,
        ),
    );
    for (rank, place) in ranks(2, 3).enumerate() {
        assert_eq!(reported_by(&document, place, "before"), 0);
        assert_eq!(reported_by(&document, place, "after"), rank as i64);
    }
}

/// Every rank of so many sends one packet to every rank, itself included, and
/// receives one each time.
fn all_to_all(ranks: u32) -> Exchange {
    exchange((0..ranks).map(|distance| format!("send +{distance} 8 receive any ")).collect::<String>())
}

#[test]
fn a_packet_reaches_only_the_process_that_it_names() {
    each(|machine, interface| {
        for (nodes, processes) in [(1, 2), (2, 2), (2, 3)] {
            let count = nodes * processes;
            let document = result(&several(machine, interface, nodes, processes), &all_to_all(count));
            for node in 0..nodes as usize {
                let delivered = statistic(&document, node, "packets_delivered");
                assert_eq!(delivered, u64::from(processes * count), "{machine} {interface}, node {node}");
            }
        }
    });
}

#[test]
fn a_local_partner_gets_the_same_packets_as_a_remote_one() {
    each(|machine, interface| {
        // The program checks every word, in order.
        let source = ping_pong(150, 64);
        let local = result(&several(machine, interface, 1, 2), &source);
        let remote = result(&request(machine, interface), &source);
        let sent =
            |document, nodes| (0..nodes).map(|node| statistic(document, node, "packets_sent")).sum::<u64>();
        assert_eq!(sent(&local, 1), sent(&remote, 2), "{machine} {interface}: through the same port");
        assert_eq!(statistic(&local, 0, "packets_delivered"), 300);
    });
}

/// Rank 0 sends a packet to `receiver`, so that caches have the code, and after a
/// delay another one; the time from before it
/// is sent to when the receiver, which polls, has it.
fn one_way_ns(interface: &str, receiver: u64, turns: u64) -> i64 {
    let guest = exchange(format!(
        "on 0 send {receiver} 8 pause {turns} report time send {receiver} 8
         on {receiver} receive 0 receive 0 report time"
    ));
    let document = result(&with(fixed_hpca98(interface), "machine.processors_per_node=2"), &guest);
    reported_by(&document, (receiver / 2, receiver % 2), "time") - reported_by(&document, (0, 0), "time")
}

#[test]
fn a_local_packet_takes_no_less_than_a_remote_one_because_both_ends_share_the_bus() {
    for interface in INTERFACES {
        for turns in [2000, 2001, 2003, 2007] {
            let [local, remote] = [1, 2].map(|receiver| one_way_ns(interface, receiver, turns));
            assert!(local >= remote, "{interface}: {local} ns, {remote} ns");
        }
    }
}

#[test]
fn two_runs_with_several_processes_are_the_same() {
    each(|machine, interface| {
        let request = several(machine, interface, 2, 3);
        let documents = [(); 2].map(|()| run_guest(&request, &all_to_all(6)).expect("it runs").to_string());
        assert!(documents[0] == documents[1], "{machine} {interface}");
    });
}

/// Every process adds 1 to a counter in the node's memory `times` times, by the
/// instructions `step` (the counter's address is in s10); then all wait for the
/// final count.
fn counting(times: u64, step: &str) -> String {
    format!(
        "
        {IDENTITY}
        {NODE_MEMORY}
        li   s0, {times}
        ld   s1, 184(s11)
        mul  s1, s1, s0
    more:
        {step}
        addi s0, s0, -1
        bnez s0, more
    wait:
        ld   t0, 0(s10)
        bne  t0, s1, wait
        report count, t0
        exit 0"
    )
}

#[test]
fn no_increment_of_a_shared_counter_is_lost() {
    let by_atomics = "li t1, 1\n amoadd.d zero, t1, (s10)";
    let by_reservations = "retry: lr.d t0, (s10)\n addi t0, t0, 1\n sc.d t1, t0, (s10)\n bnez t1, retry";
    for machine in MACHINES {
        for step in [by_atomics, by_reservations] {
            let step = step.replace("retry: ", "retry:\n");
            let document = result(&several(machine, "NI2w", 1, 3), &counting(500, &step));
            for place in ranks(1, 3) {
                assert_eq!(reported_by(&document, place, "count"), 1500, "{machine}");
            }
        }
    }
}

#[test]
fn a_flag_in_the_nodes_memory_is_seen_after_the_data_that_it_announces() {
    for machine in MACHINES {
        let document = result(
            &several(machine, "NI2w", 1, 2),
            &format!(
                "
            {IDENTITY}
            {NODE_MEMORY}
            li   s0, 0              # the value in both, this turn
            li   s1, 500
        turn:
            addi s0, s0, 1
            bnez s8, reader
            sd   s0, 0(s10)         # data
            sd   s0, 256(s10)       # flag
        answered:
            ld   t0, 512(s10)
            bne  t0, s0, answered
            j    next
        reader:
            ld   t0, 256(s10)
            bne  t0, s0, reader
            ld   t0, 0(s10)
            bne  t0, s0, wrong
            sd   s0, 512(s10)
        next:
            bne  s0, s1, turn
            report turns, s0
            exit 0
        wrong:
            exit 9"
            ),
        );
        assert_eq!(reported_by(&document, (0, 1), "turns"), 500, "{machine}");
        // A turn moves three blocks, and none of them through main memory for long.
        assert!(statistic(&document, 0, "bus_reads") >= 1500);
    }
}

/// Process 0 of node 0 does something wrong at an address in s0 while process 1
/// ends well.
fn wrong_at(address: u64, instruction: &str) -> String {
    let source = format!(
        "
        {IDENTITY}
        bnez s8, well
        li   s0, {address}
        {instruction}
    well:
        exit 0"
    );
    let Failure { exit_code, message, .. } = failure(&several("hpca98", "CNI32Qm", 1, 2), &source);
    assert_eq!(exit_code, Failure::GUEST, "{message}");
    assert!(message.starts_with("node 0, process 0 (rank 0): "), "{message}");
    message
}

#[test]
fn a_process_that_touches_anothers_part_of_the_interface_faults_and_is_told_whose_it_is() {
    use narthex_interfaces::registers::Addresses;
    let other = Addresses::of_process(1);
    for (address, instruction, owner) in [
        (other.register_page(), "ld t0, 0(s0)", "process 1's registers"),
        (other.register_page() + 8, "sd t0, 0(s0)", "process 1's registers"),
        (other.send_tail(), "sd t0, 0(s0)", "process 1's queue pointers"),
        (other.receive_head(), "ld t0, 0(s0)", "process 1's queue pointers"),
        (other.send_queue() + 512, "sd t0, 0(s0)", "process 1's send queue"),
        (other.receive_queue(), "ld t0, 0(s0)", "process 1's receive queue"),
        (other.information_page(), "ld t0, 0(s0)", "process 1's information page"),
    ] {
        let text = wrong_at(address, instruction);
        assert!(text.contains(&format!("{address:#x} belongs to {owner}")), "{text}");
    }
    // There is no process 2 here.
    let text = wrong_at(Addresses::of_process(2).receive_queue(), "ld t0, 0(s0)");
    assert!(text.contains("no device is there"), "{text}");
}

#[test]
fn a_packet_to_a_rank_that_does_not_exist_names_it_and_those_that_do() {
    for interface in INTERFACES {
        let guest = exchange("on 3 send 4 8 receive any");
        let Failure { message, .. } = failure(&several("hpca98", interface, 2, 2), &guest);
        for part in ["node 1, process 1 (rank 3): ", "to rank 4, which does not exist", "ranks 0 to 3"] {
            assert!(message.contains(part), "{part:?} is not in {message}");
        }
    }
}

#[test]
fn a_process_that_does_not_receive_is_in_nobody_elses_way() {
    each(|machine, interface| {
        // Rank 1 floods rank 3 with more than any queue holds, which sleeps; ranks 0 and 2
        // exchange messages meanwhile.
        let steps = "
            on 0 repeat 40 send 2 8 receive 2 end report exchanged
            on 2 repeat 40 receive 0 send 0 8 end report exchanged
            on 1 repeat 300 send 3 8 end
            on 3 pause 3000000 report awake repeat 300 receive any end";
        let document = result(&several(machine, interface, 2, 2), &exchange(steps));
        let awake = reported_by(&document, (1, 1), "awake");
        for node in [0, 1] {
            let exchanged = reported_by(&document, (node, 0), "exchanged");
            assert!(exchanged < awake, "{machine} {interface}: {exchanged} ns, {awake} ns");
        }
    });
}

#[test]
fn a_run_ends_when_the_last_process_of_the_last_node_has() {
    let document = result(
        &several("hpca98", "NI2w", 2, 2),
        &format!(
            "{IDENTITY} addi t0, s8, 1\n slli t0, t0, 10\nwait: addi t0, t0, -1\n bnez t0, wait\n exit 0"
        )
        .replace("wait: ", "wait:\n"),
    );
    let processors = document["nodes"][1]["processors"].as_array().expect("a list");
    assert_eq!(processors.len(), 2);
    assert!(processors.iter().all(|processor| processor["exit_code"] == 0));
    assert!(processors[1]["ledger_ps"].get("exited / execute").is_none(), "{processors:?}");
}

#[test]
fn an_exit_code_names_the_process() {
    let source = format!("{IDENTITY} addi t0, s8, -3\n bnez t0, well\n exit 5\nwell:\n exit 0");
    let Failure { message, .. } = failure(&several("hpca98", "NI2w", 2, 2), &source);
    assert!(
        message.starts_with("node 1, process 1 (rank 3): the program ended with exit code 5"),
        "{message}"
    );
}

#[test]
fn numbers_of_processes_that_cannot_be_are_refused() {
    for (settings, parts) in [
        (&["machine.processors_per_node=33"][..], ["33 is not allowed", "from 1 to 32"]),
        (&["machine.processors_per_node=0"], ["0 is not allowed", "from 1 to 128"]),
        (
            &["machine.processors_per_node=3", "flow_control.buffers=2"],
            ["flow_control.buffers", "2 are fewer than the 3 processes"],
        ),
    ] {
        let request =
            settings.iter().fold(request("hpca98", "NI2w"), |request, setting| with(request, setting));
        let Failure { exit_code, message, .. } = failure(&request, "exit 0");
        assert_eq!(exit_code, Failure::USAGE);
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in {message}");
        }
    }
}

#[test]
fn each_processor_reaches_its_process_interface_over_a_path_of_its_own() {
    for (machine, interface) in [("isca96", "NI2w on cache-bus"), ("hpca98", "NI2w on register")] {
        let document = result(&several(machine, interface, 2, 2), &both_ways(6, 60, 2));
        for node in [0, 1] {
            // Two processes: header and payload of each message cross their process's path.
            assert_eq!(statistic(&document, node, "doublewords_sent"), 2 * 6 * 9);
        }
    }
}
