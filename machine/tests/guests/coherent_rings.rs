//! Rings of buffers in coherent memory: what a packet costs, what passes through them, and what is refused.

use crate::support::exchange::{all_to_one, both_ways};
use crate::support::{failure, fixed_hpca98, request, result, statistic, with};
use crate::timing::measure;
use narthex_machine::{Failure, RunRequest};

/// Where the interface is.
pub const COHERENT_RINGS: [(&str, &str); 3] =
    [("hpca98", "CoherentRing"), ("isca96", "CoherentRing"), ("chip", "CoherentRing")];

/// Writes a packet to this node with header t4 to the first of 64 send buffers, and all of its
/// descriptor but the word with length t5 and flag; looks at the receive ring; and waits until the
/// interface has read the descriptor's block again.
const PREPARED: &str = "
    li   t0, 0x400              # behind 64 descriptors: buffers
    add  t3, s8, t0
    sd   t4, 0(t3)
    sd   t4, 64(t3)
    sd   t3, 0(s8)
    li   t0, 0x4400             # behind 64 buffers: the ring that the interface writes
    add  s9, s7, t0
    ld   t0, 8(s9)
    li   a2, 0x100000000        # BUFFER_DESCRIPTOR_READY
    or   t5, t5, a2
    li   t6, 1000
waiting:
    addi t6, t6, -1
    bnez t6, waiting";

/// The flag, and polls of the receive ring.
const SEND: &str = "
    sd   t5, 8(s8)
poll:
    ld   a0, 8(s9)
    and  a0, a0, a2
    beqz a0, poll";

#[test]
fn a_packet_of_64_bytes_takes_three_reads_three_invalidations_and_two_engines() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("CoherentRing") };
    let (cycles, document) = measure(&request, &format!("li t4, 0x400000\n li t5, 72\n{PREPARED}"), SEND, 0);
    // The processor's store has its bus cycle 4 ns behind E, and takes the interface's copy away. The
    // descriptor's block and the two of header and payload come from the processor's cache, 28 ns each;
    // the engine works, the network carries, and the other engine works. Whatever copies of the buffer's
    // blocks there are go, then the processor's copy of the receive ring, which comes back from the
    // interface's memory: address and data 16 ns, and 60 ns.
    let arrived = 4 + 16 + 3 * 28 + 40 + 40 + 40 + 2 * 16 + 16 + (16 + 60);
    // Then come `and` and the branch, a cycle each.
    assert_eq!(cycles, arrived + 2);
    let counts = ["messages_injected", "messages_deposited", "send_buffer_reads", "receive_invalidations"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [1, 1, 2, 3]);
}

#[test]
fn messages_pass_through_coherent_rings_on_each_machine_and_of_each_process() {
    for (machine, interface) in COHERENT_RINGS {
        let run = request(machine, interface);
        // Several laps of both rings.
        let document = result(&run, &both_ways(600, 64, 3).over(interface));
        assert_eq!(statistic(&document, 1, "messages_deposited"), 600, "{machine}");
        assert!(statistic(&document, 1, "send_buffers_returned") > 500, "{machine}");
        if machine != "chip" {
            let run = with(run, "machine.processors_per_node=2");
            result(&RunRequest { nodes: Some(2), ..run }, &both_ways(100, 240, 2).over(interface));
        }
    }
}

/// The buffers of a receiver that is late are all full: the flow control holds what comes behind them.
#[test]
fn a_packet_without_a_buffer_waits_in_the_flow_control() {
    let run = with(request("hpca98", "CoherentRing"), "interfaces.coherent_ring.receive_buffers=16");
    let document = result(&RunRequest { nodes: Some(5), ..run }, &all_to_one().over("CoherentRing"));
    assert!(statistic(&document, 0, "packets_without_buffer") > 0);
    assert_eq!(statistic(&document, 0, "messages_deposited"), 240);
}

/// A cache smaller than a packet writes blocks back; the processor finds them in memory.
#[test]
fn a_small_cache_of_the_interface_writes_buffers_back() {
    let run = with(request("hpca98", "CoherentRing"), "interfaces.coherent_ring.cache_blocks=2");
    let document = result(&run, &both_ways(100, 240, 3).over("CoherentRing"));
    assert!(statistic(&document, 1, "receive_buffer_blocks_written_back") > 100);
}

#[test]
fn a_wrong_descriptor_ends_the_program_with_ring_place_and_value() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "CoherentRing") };
    for (wrong, told) in [
        ("li t5, 7", "descriptor 0 of the ring at 0x510b3000: a packet of 7 bytes; it has 8 to 256"),
        ("li t5, 257", "a packet of 257 bytes"),
        ("li t5, 73", "says 64 bytes of payload"),
        ("addi t3, t3, 64", "there is no buffer at 0x510b3440; buffers of 256 bytes lie from 0x510b3400 to"),
        ("li t3, 0", "there is no buffer at 0x0"),
    ] {
        let program = format!(
            "
            li   s4, 0x50000000
            ld   s7, 96(s4)
            ld   s8, 80(s4)
            li   t4, 0x400000
            li   t5, 72
            {PREPARED}
            {wrong}
            li   a2, 0x100000000
            or   t5, t5, a2
            sd   t3, 0(s8)
            sd   t5, 8(s8)
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
