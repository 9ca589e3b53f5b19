//! Queue pairs: what a message costs, what passes through them, and what a wild doorbell comes to.

use crate::support::exchange::{all_to_one, both_ways, exchange};
use crate::support::{failure, fixed_hpca98, request, result, statistic, with};
use crate::timing::measure;
use narthex_machine::{Failure, RunRequest};

/// Machines and places whose messages the tests send.
pub const PLACES: [(&str, &str); 4] =
    [("hpca98", "Verbs"), ("isca96", "Verbs"), ("isca96", "Verbs on io-bus"), ("chip", "Verbs")];

/// A request of the driver in the kernel: number and words.
pub fn call(request: u64, words: &[&str]) -> String {
    let stores: String = words
        .iter()
        .enumerate()
        .map(|(place, word)| {
            // A place in the program's memory is an offset from s2.
            let load = match word.strip_prefix('@') {
                Some(offset) => format!("li t0, {offset}\n add t0, t0, s2"),
                None => format!("li t0, {word}"),
            };
            format!("{load}\n sd t0, {}(s2)\n", 8 * place)
        })
        .collect();
    format!("{stores} mv a0, s9\n li a1, {request}\n mv a2, s2\n li a7, 29\n ecall\n")
}

/// A queue pair that is connected to itself, with a receive of 64 bytes posted. Send queue, receives
/// and completions are at s3, s10 and s11; the payload is 0x5000 behind s2.
pub fn prepared() -> String {
    prepared_with(
        "1",
        [
            call(13, &["0x40", "1"]),                                         // to INIT
            call(12, &["0x40", "0", "0x40", "0", "4096", "0", "10000", "0"]), // to RTR
            call(13, &["0x40", "3", "0", "0", "7", "7", "0"]),                // to RTS
        ],
    )
}

/// A queue pair with these flags, in the states of these calls.
fn prepared_with(flags: &str, states: [String; 3]) -> String {
    let calls = [
        call(2, &[]),                                           // protection domain 1
        call(4, &["@0x5000", "0x2000", "1", "1"]),              // key 0x101
        call(6, &["@0x3000", "2", "@0x4000"]),                  // completion queue 1
        call(8, &["@0x2000", "2", "0", "@0x4040", "1"]),        // receive queue 1
        call(10, &["@0x1000", "2", "1", "1", "1", "1", flags]), // queue pair 0x40
        states.concat(),
    ];
    format!(
        "
        mv   s8, s3
        li   t0, 0x7265762f7665642f  # /dev/ver
        li   t1, 0x7362              # bs
        sd   t0, 128(s2)
        sd   t1, 136(s2)
        li   a0, -100
        addi a1, s2, 128
        li   a2, 2
        li   a3, 0
        li   a7, 56
        ecall
        mv   s9, a0
        {}
        li   t0, 0x1000
        add  s3, s2, t0
        add  s10, s3, t0
        add  s11, s10, t0
        add  t1, s11, t0            # records
        add  t2, t1, t0             # payload
        add  t3, t2, t0
        li   t0, 0xf1f1f1f1f1f1f1f1
        sd   t0, 56(s11)
        li   t0, 0x10100000040
        sd   t0, 0(s10)
        sd   t3, 8(s10)
        li   t0, 1
        sd   t0, 64(t1)
        sd   t0, 0(t2)
        sd   t0, 8(t2)",
        calls.concat()
    )
}

/// The doorbell of the request whose control segment begins with t6, and polls of the completion.
const SEND: &str = "
    sd   t6, 0x100(s4)          # VERBS_DOORBELL
poll:
    lbu  a0, 63(s11)
    andi a0, a0, 1
    bnez a0, poll";

#[test]
fn a_message_of_64_bytes_takes_four_reads_two_writes_and_two_engines() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("Verbs") };
    let gather = "
        li   t6, 0x40020000000a     # send, two segments, queue pair 0x40
        sd   t6, 0(s3)
        sd   zero, 8(s3)
        li   t0, 0x10100000040
        sd   t0, 16(s3)
        sd   t2, 24(s3)
        mv   s3, s8";
    let (cycles, document) = measure(&request, &format!("{}{gather}", prepared()), SEND, 0);
    // The store is over 96 ns behind E. Request and payload come from the processor's cache, 28 ns
    // each; the engine works, the network carries, and the other engine works. It reads how many
    // receives are posted, and the receive, from the cache. Payload and completion go to memory, 16 +
    // 120 ns each, and from there the completion comes back.
    let to_memory = 16 + 120;
    let arrived = 96 + 2 * 28 + 40 + 40 + 40 + 2 * 28 + 2 * to_memory + to_memory;
    // Then come `andi` and the branch, a cycle each.
    assert_eq!(cycles, arrived + 2);
    let counts = ["bus_single_reads", "bus_block_writes", "verbs_doorbells", "verbs_completions"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [4, 2, 1, 1]);
    assert_eq!(statistic(&document, 0, "verbs_acknowledgements_sent"), 1);
}

/// The payload comes with the request, and goes with the completion.
#[test]
fn a_message_of_24_bytes_inline_takes_a_read_and_a_write_less() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("Verbs") };
    let inline = "
        li   t6, 0x40030000000a     # send, three segments, queue pair 0x40
        sd   t6, 0(s3)
        sd   zero, 8(s3)
        li   t0, 0x0102030480000018
        sd   t0, 16(s3)
        mv   s3, s8";
    let (cycles, document) = measure(&request, &format!("{}{inline}", prepared()), SEND, 0);
    let to_memory = 16 + 120;
    assert_eq!(cycles, 96 + 28 + 40 + 40 + 40 + 2 * 28 + to_memory + to_memory + 2);
    assert_eq!(statistic(&document, 0, "verbs_scattered"), 1);
}

/// Its address takes a block more of the request, and the 40 bytes before the payload put that into parts of two blocks.
#[test]
fn a_datagram_of_64_bytes_takes_three_reads_and_a_write_more_than_a_message_and_no_acknowledgement() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("Verbs") };
    let states = ["1", "2", "3"].map(|state| call(13, &["0x40", state, "7"])); // queue key 7
    let gather = "
        li   t6, 0x40050000000a     # send, five segments, queue pair 0x40
        sd   t6, 0(s3)
        sd   zero, 8(s3)
        li   t0, 7
        sd   t0, 16(s3)             # queue key
        li   t0, 0x40
        sd   t0, 24(s3)             # of queue pair 0x40 of process 0
        li   t0, 0x10100000040
        sd   t0, 64(s3)
        sd   t2, 72(s3)
        li   t0, 0x10100000080      # receive of 128 bytes
        sd   t0, 0(s10)
        mv   s3, s8";
    let (cycles, document) = measure(&request, &format!("{}{gather}", prepared_with("4", states)), SEND, 0);
    let to_memory = 16 + 120;
    // The rest of both blocks is read from memory first.
    let arrived = 96 + 3 * 28 + 40 + 40 + 40 + 2 * 28 + 2 * to_memory + 3 * to_memory + to_memory;
    assert_eq!(cycles, arrived + 2);
    let counts = ["bus_single_reads", "bus_block_writes", "verbs_completions", "verbs_acknowledgements_sent"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [7, 3, 1, 0]);
}

#[test]
fn messages_pass_through_queue_pairs_of_each_place_and_of_each_process() {
    for (machine, interface) in PLACES {
        let run = request(machine, interface);
        // More than the queues have, so that all of them go round.
        let document = result(&run, &both_ways(300, 64, 3).over(interface));
        assert!(statistic(&document, 1, "verbs_packets_received") >= 300, "{machine} {interface}");
        if machine != "chip" {
            let run = with(run, "machine.processors_per_node=2");
            result(&RunRequest { nodes: Some(2), ..run.clone() }, &both_ways(100, 240, 2).over(interface));
            let all_to_one =
                exchange("on others repeat 20 send 0 128 end on 0 pause 10000 repeat 180 receive any end");
            result(&RunRequest { nodes: Some(5), ..run }, &all_to_one.over(interface));
        }
    }
}

/// Four senders fill the buffers of one receiver that is late: they are told, and send again.
#[test]
fn a_receiver_without_a_buffer_is_sent_to_again() {
    let run = RunRequest { nodes: Some(5), ..request("hpca98", "Verbs") };
    let document = result(&run, &all_to_one().over("Verbs"));
    assert!(statistic(&document, 0, "verbs_receivers_not_ready") > 0);
    assert!(statistic(&document, 1, "verbs_gone_back") > 0);
    assert_eq!(statistic(&document, 0, "verbs_packets_received"), 240);
}

/// The request in memory has two blocks, and the doorbell tells of one: local QP operation error.
#[test]
fn a_request_with_more_segments_than_were_posted_fails() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "Verbs") };
    let program = format!(
        "li s2, 0x100000\n li s4, 0x50000000\n ld s4, 40(s4)\n {}
        li   t6, 0x40050000000a     # send, five segments, queue pair 0x40
        sd   t6, 0(s3)
        sd   zero, 8(s3)
        li   t6, 0x40020000000a
        fence
        {SEND}
        lbu  a0, 46(s11)
        addi a0, a0, -2
        sltu a0, zero, a0
        li   a7, 93
        ecall",
        prepared()
    );
    result(&request, &program);
}

#[test]
fn a_wild_doorbell_ends_the_program_with_its_queue_pair() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "Verbs") };
    for (doorbell, told) in [
        ("0x41020000000a", "a doorbell of queue pair 0x41, which the process does not have"),
        ("0x400200000a0a", "basic block 10 of a send queue of 4, 0 of which are in use"),
        ("-1", "a doorbell of queue pair 0xffffff"),
    ] {
        let program = format!(
            "li s2, 0x100000\n li s4, 0x50000000\n ld s4, 40(s4)\n {}\n li t6, {doorbell}\n sd t6, 0x100(s4)\n exit 0",
            prepared()
        );
        let Failure { exit_code, message, .. } = failure(&request, &program);
        assert_eq!(exit_code, Failure::GUEST, "{message}");
        assert!(message.contains(told), "{told} is not in {message}");
    }
}
