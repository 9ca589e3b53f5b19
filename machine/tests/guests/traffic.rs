//! Many messages under pressure: few buffers, many senders, a node of its own.

use crate::support::exchange::{SENDERS, all_to_one, both_ways, exchange, ping_pong};
use crate::support::{failure, request, result, statistic, with};
use crate::{interfaces_of_1998, machines_and_interfaces};
use narthex_machine::{Failure, RunRequest};

/// Runs [`all_to_one`], whose node 0 checks that it gets every message once.
fn run_all_to_one(request: RunRequest) -> serde_json::Value {
    let request = RunRequest { nodes: Some(SENDERS as u32 + 1), ..request };
    result(&request, &all_to_one())
}

#[test]
fn four_senders_lose_nothing_at_one_receiver() {
    for (machine, interface) in machines_and_interfaces() {
        run_all_to_one(request(machine, interface));
    }
}

#[test]
fn messages_in_both_directions_at_once_arrive() {
    for (machine, interface) in machines_and_interfaces() {
        for (bytes, lead) in [(8, 1), (64, 3), (240, 2)] {
            let document = result(&request(machine, interface), &both_ways(200, bytes, lead));
            for node in 0..2 {
                let delivered = statistic(&document, node, "packets_delivered");
                assert_eq!(delivered, 200, "{machine} {interface}, node {node}");
            }
        }
    }
}

#[test]
fn a_single_buffer_returns_packets_and_loses_none() {
    for interface in interfaces_of_1998() {
        let document = run_all_to_one(with(request("hpca98", interface), "flow_control.buffers=1"));
        let returned: u64 =
            (1..=SENDERS as usize).map(|node| statistic(&document, node, "packets_returned")).sum();
        let retried: u64 =
            (1..=SENDERS as usize).map(|node| statistic(&document, node, "packets_retried")).sum();
        assert!(returned > 0, "{interface}: the receiver pauses, so that its buffer is full");
        assert_eq!(returned, retried, "{interface}: each returned packet is sent again");
    }
}

/// Attempts of packets that were refused are computed, or frames: the senders compete for a
/// buffer in the same order, however many threads there are.
#[test]
fn a_refused_packet_is_accepted_at_the_same_instant_whether_its_attempts_are_frames_or_not() {
    for interface in interfaces_of_1998() {
        for buffers in [1, 2] {
            let run = with(request("hpca98", interface), &format!("flow_control.buffers={buffers}"));
            let ways = [(false, 1), (true, 1), (false, 2)].map(|(schedule_steps, threads)| {
                run_all_to_one(RunRequest { schedule_steps, threads, ..run.clone() })
            });
            assert!(ways[0] == ways[1], "{interface}: frames change a result");
            assert!(ways[0] == ways[2], "{interface}: threads change a result");
        }
    }
}

#[test]
fn a_window_of_one_packet_and_the_smallest_queues_are_enough() {
    for interface in ["NI2w", "CNI4Q", "CNI4Qm"] {
        run_all_to_one(with(request("isca96", interface), "flow_control.window=1"));
    }
}

#[test]
fn infinite_buffers_return_nothing() {
    for interface in interfaces_of_1998() {
        let document = run_all_to_one(with(request("hpca98", interface), "flow_control.buffers=infinite"));
        assert_eq!(statistic(&document, 1, "packets_returned"), 0);
    }
}

#[test]
fn a_node_receives_what_it_sends_to_itself() {
    for (machine, interface) in machines_and_interfaces() {
        let request = RunRequest { nodes: Some(1), ..request(machine, interface) };
        let document = result(&request, &exchange("repeat 200 send 0 8 receive 0 end"));
        assert_eq!(statistic(&document, 0, "packets_delivered"), 200);
    }
}

#[test]
fn a_bad_message_is_reported_even_if_its_sender_has_ended_meanwhile() {
    for interface in ["CNI512Q", "CNI32Qm"] {
        let guest = exchange("on 0 send 5 8 on 1 pause 30000");
        let Failure { exit_code, message, .. } = failure(&request("hpca98", interface), &guest);
        assert_eq!(exit_code, Failure::GUEST);
        assert!(
            message.contains("node 0") && message.contains("to node 5, which does not exist"),
            "{message}"
        );
    }
}

/// Ping-pong on a machine with changes; the program checks every word.
fn assert_delivers(settings: &[&str]) {
    assert_delivers_with_blocks(64, settings);
}

/// The same with blocks of another size, which is that of a block buffer and of a
/// cachable register.
fn assert_delivers_with_blocks(bytes: u64, settings: &[&str]) {
    for (machine, interface) in machines_and_interfaces() {
        let interface = interface.replace("NI16w+Blkbuf", &format!("NI{}w+Blkbuf", bytes / 4));
        let interface = if interface == "CNI4" { "CNI1" } else { &interface };
        let request =
            settings.iter().fold(request(machine, interface), |request, setting| with(request, setting));
        let document = result(&request, &ping_pong(300, 56));
        assert_eq!(statistic(&document, 0, "packets_delivered"), 300, "{machine} {interface} {settings:?}");
    }
}

#[test]
fn messages_arrive_whatever_the_size_of_a_block() {
    for block in [16, 32, 128, 256] {
        let size = format!("data_cache.block={block}B");
        assert_delivers_with_blocks(block, &[&size, "bus.width=8B"]);
    }
}

#[test]
fn messages_arrive_whatever_the_size_of_a_packet() {
    for packet in [64, 128] {
        let packet = format!("messages.packet={packet}B");
        assert_delivers(&[&packet, "messages.header=8B"]);
    }
}

#[test]
fn messages_arrive_with_an_instruction_cache_that_misses() {
    assert_delivers(&[
        "instruction_cache.kind=cache",
        "instruction_cache.size=128B",
        "instruction_cache.associativity=1",
        "instruction_cache.block=64B",
        "instruction_cache.protocol=MOESI",
        "instruction_cache.snarfing=false",
    ]);
}

#[test]
fn messages_arrive_whatever_the_clocks() {
    assert_delivers(&["processor.clock=400MHz", "bus.clock=77MHz", "network.latency=1ns"]);
}
