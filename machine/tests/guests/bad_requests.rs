//! A request that cannot be carried out fails before the first instruction,
//! with exit code 2 and a message that names the thing and the remedy.

use narthex_machine::{Failure, RunRequest};

use crate::support::elf::{self, EXECUTE, READ, Segment, WRITE};
use crate::support::{CODE, alone, failure, program, request, run_guest, with};

/// The message of a request that is refused.
fn refusal(request: &RunRequest) -> String {
    usage(failure(request, "exit 0"))
}

fn refusal_of_file(elf: &[u8]) -> String {
    usage(run_guest(&alone("hpca98"), elf).expect_err("the file is refused"))
}

fn usage(failure: Failure) -> String {
    assert_eq!(failure.exit_code, Failure::USAGE, "{failure}");
    failure.message
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn an_unknown_machine_is_answered_with_the_nearest_and_the_list() {
    assert_says(&refusal(&alone("hpca89")), &["hpca89", "hpca98", "isca96"]);
}

#[test]
fn an_unknown_interface_is_answered_with_the_nearest() {
    assert_says(&refusal(&request("hpca98", "CNI32Qn")), &["CNI32Qn", "CNI32Qm"]);
    assert_says(&refusal(&request("hpca98", "CNI512")), &["CNI512", "did you mean CNI512Q?"]);
    assert_says(&refusal(&request("hpca98", "ethernet")), &["ethernet", "and others"]);
    assert_says(&refusal(&request("hpca98", "")), &["''", "and others"]);
}

#[test]
fn an_interface_of_a_size_that_cannot_be_names_the_sizes_that_can() {
    assert_says(&refusal(&request("hpca98", "CNI2Q")), &["CNI2Q", "at least 4 blocks"]);
    assert_says(&refusal(&request("hpca98", "CNI2Qm")), &["CNI2Qm", "from 4"]);
    assert_says(&refusal(&request("hpca98", "CNI6Q")), &["CNI6Q", "does not divide"]);
    assert_says(&refusal(&request("hpca98", "CNI24Qm")), &["CNI24Qm", "a power of two"]);
    assert_says(&refusal(&request("hpca98", "CNI4294967292Q")), &["CNI4294967292Q", "at most"]);
    for size in [0, 3, 66] {
        let name = format!("NI{size}w");
        assert_says(&refusal(&request("hpca98", &name)), &[&name, "an even number from 2 to 64"]);
    }
    assert_says(&refusal(&request("hpca98", "NI32w+Blkbuf")), &["NI32w+Blkbuf", "the size is 16"]);
}

#[test]
fn a_combination_that_the_papers_do_not_allow_is_refused_with_their_reason() {
    for (name, reason) in [
        ("(NI2w)S(CNI32Qm+Throttle)R", "both halves have it or neither has"),
        ("CNI0Qm+Throttle", "there is none here"),
        ("CNI512Q+Udma", "added to FIFOs"),
        ("NI128Q", "takes a CNI"),
    ] {
        assert_says(&refusal(&request("hpca98", name)), &["there can be no", reason]);
    }
    let shared = with(request("hpca98", "NI64w+Udma"), "machine.processors_per_node=2");
    assert_says(&refusal(&shared), &["NI64w+Udma", "Section 2.2.1", "processors_per_node = 1"]);
    for name in ["NI16w+Blkbuf", "NI64w+Udma"] {
        let elsewhere = request("hpca98", &format!("{name} on cache-bus"));
        assert_says(&refusal(&elsewhere), &[name, "cannot be attached to cache-bus", "whole blocks"]);
    }
    let behind_a_bridge = request("hpca98", "NI64w+Udma on io-bus");
    assert_says(&refusal(&behind_a_bridge), &["cannot be attached to io-bus", "isca96, Section 2.3"]);
}

#[test]
fn block_buffers_need_a_processor_that_has_them() {
    let without = with(request("hpca98", "NI16w+Blkbuf"), "block_buffers={kind=\"none\"}");
    assert_says(&refusal(&without), &["NI16w+Blkbuf", "no block buffers", "block_buffers.kind"]);
    assert_says(&refusal(&request("isca96", "NI16w+Blkbuf")), &["no [interfaces.ni_iw_blkbuf]"]);
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest() {
    assert_says(&refusal(&with(alone("hpca98"), "bus.clok=125MHz")), &["bus.clok", "clock"]);
    assert_says(&refusal(&with(alone("hpca98"), "buss.clock=125MHz")), &["buss", "bus"]);
    assert_says(&refusal(&with(alone("hpca98"), "interfaces.cni_iq.engine=1ns")), &["engine", "engine_time"]);
    assert_says(&refusal(&with(alone("hpca98"), "bus.clock")), &["bus.clock", "="]);
}

#[test]
fn a_value_out_of_range_is_shown_with_what_is_allowed() {
    assert_says(
        &refusal(&with(alone("hpca98"), "processor.issue_width=3")),
        &["processor.issue_width", "3", "1, 2 or 4"],
    );
    assert_says(
        &refusal(&with(alone("hpca98"), "data_cache.size=1000B")),
        &["data_cache.size", "power of two"],
    );
    assert_says(
        &refusal(&with(alone("hpca98"), "data_cache.protocol=MOSI")),
        &["data_cache.protocol", "MOSI", "MOESI"],
    );
    assert_says(
        &refusal(&with(alone("hpca98"), "flow_control.buffers=0")),
        &["flow_control.buffers", "1 and more"],
    );
    assert_says(
        &refusal(&with(alone("hpca98"), "interfaces.cni_iqm.receive_queue_blocks=2")),
        &["interfaces.cni_iqm.receive_queue_blocks", "at least 4 blocks"],
    );
}

#[test]
fn numbers_with_which_no_sum_could_be_formed_are_refused_at_their_key() {
    assert_says(&refusal(&with(alone("hpca98"), "network.latency=1001s")), &["network.latency", "1000s"]);
    assert_says(&refusal(&with(alone("hpca98"), "bus.clock=999Hz")), &["bus.clock", "at least 1kHz"]);
    for setting in ["bus.arbitration_cycles=1000001", "bus.arbitration_cycles=4294967296"] {
        assert_says(&refusal(&with(alone("hpca98"), setting)), &["bus.arbitration_cycles", "to 1000000"]);
    }
    let window = with(alone("isca96"), "flow_control.window=4294967296");
    assert_says(&refusal(&window), &["--set", "flow_control.window", "to 1000000"]);
}

#[test]
fn a_wrong_unit_is_answered_with_the_right_ones() {
    assert_says(&refusal(&with(alone("hpca98"), "bus.clock=125ns")), &["bus.clock", "125ns", "MHz"]);
    assert_says(&refusal(&with(alone("hpca98"), "network.latency=40")), &["network.latency", "40", "ns"]);
    assert_says(
        &refusal(&with(alone("hpca98"), "data_cache.size=1MHz")),
        &["data_cache.size", "1MHz", "KiB"],
    );
}

#[test]
fn a_machine_has_between_one_and_4096_nodes() {
    for nodes in [0, 4097, u32::MAX] {
        let request = RunRequest { nodes: Some(nodes), ..alone("hpca98") };
        assert_says(&refusal(&request), &["machine.nodes", &nodes.to_string(), "1 to 4096"]);
    }
}

#[test]
fn a_file_that_is_no_whole_program_for_rv64_is_refused() {
    let whole = program("exit 0");
    assert_says(&refusal_of_file(&[]), &["guest", "the file is empty"]);
    assert_says(&refusal_of_file(b"#!/bin/sh\n"), &["guest", "not an ELF program"]);
    let mut narrow = whole.clone();
    narrow[4] = 1; // the class: 32 bits
    assert_says(&refusal_of_file(&narrow), &["guest", "32-bit"]);
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused_or_lacks_nothing() {
    let whole = program("exit 0");
    for length in (0..whole.len()).step_by(61) {
        match run_guest(&alone("hpca98"), &whole[..length]) {
            Err(failure) => assert_says(&usage(failure), &["guest"]),
            Ok(_) => panic!("{length} of {} bytes ran", whole.len()),
        }
    }
}

#[test]
fn a_segment_over_the_devices_addresses_is_refused() {
    let code = vec![0; 8];
    for (address, memory_bytes) in
        [(0x5000_0000, 64), (0x4fff_f000, 0x1001), (0x5fff_f000, 64), (0x4800_0000, 0x1800_0000)]
    {
        let file = elf::file(
            CODE,
            &[
                Segment { address: CODE, memory_bytes: 8, bytes: code.clone(), flags: READ | EXECUTE },
                Segment { address, memory_bytes, bytes: Vec::new(), flags: READ | WRITE },
            ],
        );
        assert_says(&refusal_of_file(&file), &["guest", &format!("{address:#x}"), "0x50000000"]);
    }
}

#[test]
fn no_threads_and_absurdly_many_are_refused_with_what_is_allowed() {
    for threads in [0, 1_025, u32::MAX] {
        let request = RunRequest { threads, ..alone("hpca98") };
        assert_says(&refusal(&request), &["threads", &threads.to_string(), "1 to 1024"]);
    }
}
