//! Descriptor rings: what a packet costs, what passes through them, and what is refused.

use crate::RINGS;
use crate::support::exchange::{all_to_one, both_ways, exchange};
use crate::support::{failure, fixed_hpca98, request, result, statistic, with};
use crate::timing::measure;
use narthex_machine::{Failure, RunRequest};

/// Names both rings, of 64 descriptors, hands over a block of receive buffers, describes a packet
/// to this node whose header is t4 and which has t5 bytes, and waits until the receive descriptors have been
/// read.
pub const PREPARED: &str = "
    li   t0, 64
    sd   s7, 0xc0(s4)           # RECEIVE_RING, RECEIVE_RING_SIZE
    sd   t0, 0xc8(s4)
    sd   s8, 0x80(s4)           # SEND_RING, SEND_RING_SIZE
    sd   t0, 0x88(s4)
    li   t1, 0x2000             # behind 512 descriptors: buffers
    add  t2, s7, t1
    sd   t2, 0(s7)
    sd   t2, 16(s7)
    sd   t2, 32(s7)
    sd   t2, 48(s7)
    li   t0, 4
    sd   t0, 0xd8(s4)           # RECEIVE_RING_TAIL
    add  t3, s8, t1
    sd   t4, 0(t3)
    sd   t4, 64(t3)
    sd   t4, 128(t3)
    sd   t4, 192(t3)
    sd   t3, 0(s8)
    sd   t5, 8(s8)
    li   a2, 0x100000000        # DESCRIPTOR_DONE
    li   t6, 1000
waiting:
    addi t6, t6, -1
    bnez t6, waiting
    li   t6, 1";

/// A packet of 64 bytes to node 0.
const BYTES_64: &str = "li t4, 0x400000\n li t5, 72\n";

/// The doorbell, and polls of the receive descriptor until it is done.
pub const SEND: &str = "
    sd   t6, 0x98(s4)           # SEND_RING_TAIL
poll:
    ld   a0, 8(s7)
    and  a0, a0, a2
    beqz a0, poll";

#[test]
fn a_packet_of_64_bytes_takes_three_reads_three_writes_and_two_engines() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("Ring") };
    let (cycles, document) = measure(&request, &format!("{BYTES_64}{PREPARED}"), SEND, 0);
    // The store is over 96 ns behind E. Then a block of descriptors and the two of header and
    // payload come from the processor's cache, 28 ns each; the engine works, the network carries, and
    // the other engine works. Two blocks of the buffer and one of descriptors go to memory, 16 + 120
    // ns each, and from there the last one comes back.
    let to_memory = 16 + 120;
    let arrived = 96 + 3 * 28 + 40 + 40 + 40 + 3 * to_memory + to_memory;
    // Then come `and` and the branch, a cycle each.
    assert_eq!(cycles, arrived + 2);
    let counts = ["bus_single_reads", "bus_block_writes", "send_doorbells", "send_descriptors_fetched"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [4, 3, 1, 1]);
    assert_eq!(statistic(&document, 0, "receive_descriptors_fetched"), 4);
}

#[test]
fn messages_pass_through_the_rings_of_each_place_and_of_each_process() {
    let on_chip = ("chip", "Ring");
    for (machine, interface) in RINGS.into_iter().chain([on_chip]) {
        let run = request(machine, interface);
        // More than a ring has, so that both go round and reports are awaited.
        let document = result(&run, &both_ways(600, 64, 3).over_ring());
        assert_eq!(statistic(&document, 1, "messages_deposited"), 600, "{machine} {interface}");
        assert!(statistic(&document, 1, "send_descriptor_write_backs") > 0, "{machine} {interface}");
        if machine != on_chip.0 {
            let run = with(run, "machine.processors_per_node=2");
            result(&RunRequest { nodes: Some(2), ..run.clone() }, &both_ways(100, 240, 2).over_ring());
            result(&RunRequest { nodes: Some(5), ..run }, &all_to_one_of_two().over_ring());
        }
    }
}

/// As `all_to_one`, on nodes of two processes.
fn all_to_one_of_two() -> crate::support::exchange::Exchange {
    exchange("on others repeat 20 send 0 128 end on 0 pause 10000 repeat 180 receive any end")
}

/// Of a ring of 64 whose receiver is late the driver has handed over 32 buffers: two batches of 12,
/// and 8 that wait for more until their time is over. The flow control holds what comes behind them.
#[test]
fn a_packet_without_a_descriptor_waits_in_the_flow_control() {
    let settings = ["receive_ring=64", "write_back_batch=12", "write_back_time=20us"];
    let run = settings
        .iter()
        .fold(request("hpca98", "Ring"), |run, setting| with(run, &format!("interfaces.ring.{setting}")));
    let document = result(&RunRequest { nodes: Some(5), ..run }, &all_to_one().over_ring());
    assert!(statistic(&document, 0, "packets_without_descriptor") > 0);
    assert_eq!(statistic(&document, 0, "messages_deposited"), 240);
    let batches = ["receive_write_back_batches", "receive_write_back_timeouts"];
    let [all, late] = batches.map(|name| statistic(&document, 0, name));
    assert!(0 < late && late < all, "{late} of {all} batches are late");
}

#[test]
fn what_a_program_stores_or_describes_wrongly_ends_it_with_register_or_descriptor_and_value() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "Ring") };
    for (wrong, told) in [
        ("li t0, 64\n sd t0, 0xd8(s4)", "RECEIVE_RING_TAIL is stored with 64, beyond the ring"),
        ("li t0, 6\n sd t0, 0xd8(s4)", "in multiples of 4"),
        ("li t0, 48\n sd t0, 0x88(s4)", "SEND_RING_SIZE is stored with 48"),
        ("sd t6, 0x90(s4)", "SEND_RING_HEAD is stored with 1; the interface alone moves the head"),
        ("sd s2, 0(s8)\n sd t6, 0x98(s4)", "its buffer of 72 bytes is at 0x100000"),
        ("sd t6, 8(s8)\n sd t6, 0x98(s4)", "a packet of 1 bytes; it has 8 to 256"),
        ("li t0, 73\n sd t0, 8(s8)\n sd t6, 0x98(s4)", "says 64 bytes of payload"),
        ("li t0, 0x8000048\n sd t0, 8(s8)\n sd t6, 0x98(s4)", "only the last descriptor of a block"),
    ] {
        let program = format!(
            "
            li   s2, 0x100000
            li   s4, 0x50000000
            ld   s7, 96(s4)
            ld   s8, 80(s4)
            ld   s4, 40(s4)
            {BYTES_64}
            {PREPARED}
            {wrong}
            li   t0, 10000
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
