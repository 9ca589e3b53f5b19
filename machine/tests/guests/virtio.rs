//! Split virtqueues: what a packet costs, what passes through them, and what is refused.

use crate::support::exchange::{all_to_one, both_ways};
use crate::support::{failure, fixed_hpca98, request, result, statistic, with};
use crate::timing::measure;
use narthex_machine::{Failure, RunRequest};

/// Where the interface is.
pub const VIRTIO: [(&str, &str); 4] =
    [("hpca98", "Virtio"), ("isca96", "Virtio"), ("isca96", "Virtio on io-bus"), ("chip", "Virtio")];

/// Names both queues, of 64 descriptors, makes a receive buffer available, describes a packet to this node whose
/// header is t4 and which has t5 bytes, and waits until the device rests.
const PREPARED: &str = "
    li   t0, 0xa00
    add  s9, s4, t0
    li   t0, 64
    li   t1, 0x400              # behind 64 descriptors: the available ring
    li   t2, 0x4c0              # and the used ring
    li   t3, 0x1000             # and buffers
    sd   t0, 0x40(s9)           # VIRTIO_RECEIVE_SIZE, _DESCRIPTORS, _DRIVER, _DEVICE, _ENABLE
    sd   s7, 0x48(s9)
    add  a3, s7, t1
    sd   a3, 0x50(s9)
    add  s10, s7, t2
    sd   s10, 0x58(s9)
    li   t6, 1                  # and the number of the send queue
    sd   t6, 0x60(s9)
    sd   t0, 0x00(s9)           # VIRTIO_SEND_SIZE and so on
    sd   s8, 0x08(s9)
    add  a4, s8, t1
    sd   a4, 0x10(s9)
    add  a5, s8, t2
    sd   a5, 0x18(s9)
    sd   t6, 0x20(s9)
    add  t0, s7, t3
    sd   t0, 0(s7)
    li   t0, 0x200000100        # VIRTQ_DESC_F_WRITE, 256 bytes
    sd   t0, 8(s7)
    sh   t6, 2(a3)
    sh   zero, 0x70(s9)         # VIRTIO_RECEIVE_NOTIFY
    add  t3, s8, t3
    sd   t4, 0(t3)
    sd   t4, 64(t3)
    sd   t3, 0(s8)
    sd   t5, 8(s8)
    sh   t6, 2(a4)
    lhu  a0, 2(s10)
    li   t0, 1000
waiting:
    addi t0, t0, -1
    bnez t0, waiting";

/// A packet of 64 bytes to node 0.
const BYTES_64: &str = "li t4, 0x400000\n li t5, 72\n";

/// The kick, and polls of the used index.
const SEND: &str = "
    sh   t6, 0x30(s9)           # VIRTIO_SEND_NOTIFY
poll:
    lhu  a0, 2(s10)
    beqz a0, poll";

#[test]
fn a_packet_of_64_bytes_takes_five_reads_one_after_the_other_and_four_writes() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("Virtio") };
    let (cycles, document) = measure(&request, &format!("{BYTES_64}{PREPARED}"), SEND, 0);
    // The kick is over 96 ns behind E. Index, entry, descriptor and the two blocks of header and payload come from
    // the processor's cache, one after the other, and the index once more, 28 ns each; then the device writes where
    // it wants the next kick. Meanwhile the engines have worked, and the network has carried.
    let (read, to_memory) = (28, 16 + 120);
    let armed = 96 + 6 * read + to_memory;
    // The receive half's two blocks of the buffer and one of the used ring take turns with what the send half
    // still has to do: its used ring, and the last look. The processor's read of the used ring follows.
    let arrived = armed + 3 * to_memory + (to_memory + read) + to_memory;
    // Then comes the branch, a cycle.
    assert_eq!(cycles, arrived + 1);
    let counts =
        ["send_index_reads", "send_descriptors_fetched", "send_used_updates", "receive_used_updates"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [3, 1, 1, 1]);
}

#[test]
fn messages_pass_through_virtqueues_on_each_machine_and_of_each_process() {
    for (machine, interface) in VIRTIO {
        let run = request(machine, interface);
        // More than a queue has, so that both go round and used descriptors are awaited.
        let document = result(&run, &both_ways(600, 64, 3).over(interface));
        assert_eq!(statistic(&document, 1, "messages_deposited"), 600, "{machine} {interface}");
        if machine == "hpca98" {
            let run = with(run, "machine.processors_per_node=2");
            let run = with(run, "interfaces.virtio.event_index=false");
            result(&RunRequest { nodes: Some(2), ..run }, &both_ways(100, 240, 2).over(interface));
        }
    }
}

#[test]
fn a_packet_without_a_buffer_waits_in_the_flow_control() {
    let run = with(request("hpca98", "Virtio"), "interfaces.virtio.receive_ring=64");
    let document = result(&RunRequest { nodes: Some(5), ..run }, &all_to_one().over("Virtio"));
    assert!(statistic(&document, 0, "packets_without_descriptor") > 0);
    assert_eq!(statistic(&document, 0, "messages_deposited"), 240);
}

#[test]
fn what_a_program_stores_or_describes_wrongly_ends_it_with_register_or_descriptor_and_value() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "Virtio") };
    for (wrong, told) in [
        ("li t0, 7\n sh t0, 0x30(s9)", "VIRTIO_SEND_NOTIFY is stored with 7; there is no such queue here"),
        ("sw t6, 0x30(s9)", "an access of 4 bytes"),
        ("li t0, 48\n sd t0, 0(s9)", "VIRTIO_SEND_SIZE is stored with 0x30; the queue is in use"),
        ("sd t6, 0x28(s9)", "the machine's file says what they are"),
        (
            "li t0, 66\n sh t0, 2(a4)\n sh t6, 0x30(s9)",
            "its index 66 is 66 ahead of the device, which has 0 of the",
        ),
        ("sd s4, 0(s8)\n sh t6, 0x30(s9)", "its buffer of 72 bytes is at 0x50001000"),
        ("sd t6, 8(s8)\n sh t6, 0x30(s9)", "a packet of 1 bytes; it has 8 to 256"),
        ("li t0, 73\n sd t0, 8(s8)\n sh t6, 0x30(s9)", "says 64 bytes of payload"),
        (
            "li t0, 0x100000048\n sd t0, 8(s8)\n sh t6, 0x30(s9)",
            "has more than the queue's 64 descriptors: it loops",
        ),
    ] {
        let program = format!(
            "
            li   s4, 0x50000000
            ld   s7, 96(s4)
            ld   s8, 80(s4)
            ld   s4, 40(s4)
            {BYTES_64}
            {PREPARED}
            {wrong}
            li   t0, 20000
        still:
            addi t0, t0, -1
            bnez t0, still
            exit 0"
        );
        let Failure { exit_code, message, .. } = failure(&request, &program);
        assert_eq!(exit_code, Failure::GUEST, "{message}");
        assert!(message.contains(told), "{told} is not in {message}");
    }
}
