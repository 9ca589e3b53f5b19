//! Cachable device registers: what crosses them, when, and the handshake.

use crate::support::exchange::header;
use crate::support::{failure, fixed_hpca98, reported, result, statistic};
use narthex_machine::Failure;

/// What both nodes begin with: s3 and s4 are the send and receive registers, s5
/// the uncached ones. Node 0 goes on, node 1 is the receiver.
const PROLOGUE: &str = "
    li   s11, 0x50000000
    ld   s10, 16(s11)
    ld   s3, 80(s11)
    ld   s4, 96(s11)
    ld   s5, 40(s11)
    bnez s10, receiver
";

#[test]
fn a_packet_is_shown_after_its_blocks_have_crossed_and_seen_by_the_next_poll() {
    for turns in [200, 201, 202, 205, 211, 218, 227, 240] {
        let document = result(
            &fixed_hpca98("CNI4"),
            &format!(
                "
            {PROLOGUE}
            li   t6, {turns}
        delay:
            addi t6, t6, -1
            bnez t6, delay
            li   a0, {header}
            li   t6, 7
            sd   a0, 0(s3)
            sd   t6, 8(s3)
            sd   a0, 24(s5)             # MESSAGE_READY
            csrrs s1, 0xc00, zero
            report sent, s1
            exit 0
        receiver:
            ld   s6, 0(s5)
            csrrs s1, 0xc00, zero
        wait:
            ld   s6, 0(s5)
            csrrs s2, 0xc00, zero
            andi t1, s6, 2
            beqz t1, wait
            ld   s6, 8(s4)              # a block whose home is the interface
            csrrs s7, 0xc00, zero
            report first, s1
            report seen, s2
            report read, s7
            report payload, s6
            exit 0
        ",
                header = header(1, 8)
            ),
        );
        let [sent, first, seen, read] = [(0, "sent"), (1, "first"), (1, "seen"), (1, "read")]
            .map(|(node, name)| reported(&document, node, name));
        // The interface reads the block from the processor's cache, 28 ns; 40 ns of
        // the send engine, 40 of the network, 40 of the receive engine, 60 of its memory.
        let visible = sent + 28 + 40 + 40 + 40 + 60;
        // As through a FIFO: a poll takes 92 ns, and the next follows 4 ns later.
        let period = 4 + 92;
        let polls = (visible - first + period - 1) / period;
        assert_eq!(seen, first + polls * period, "after a delay of {turns} turns");
        // Value, branch, load: at the next edge of the bus; then 4 bus cycles and 60 ns.
        assert_eq!(read, seen + 4 + 76, "after a delay of {turns} turns");
        assert_eq!(reported(&document, 1, "payload"), 7);
    }
}

#[test]
fn the_next_packet_is_shown_only_after_the_old_copies_are_gone() {
    let document = result(
        &fixed_hpca98("CNI4"),
        &format!(
            "
        {PROLOGUE}
        li   s6, 2                  # two packets, with payloads 2 and 1
        li   a0, {header}
    next:
        ld   t0, 0(s5)              # until the interface has read the one before
        andi t0, t0, 1
        beqz t0, next
        sd   a0, 0(s3)
        sd   s6, 8(s3)
        sd   a0, 24(s5)
        addi s6, s6, -1
        bnez s6, next
        exit 0
    receiver:
        li   t6, 2000               # until both have arrived
    delay:
        addi t6, t6, -1
        bnez t6, delay
        ld   s6, 0(s5)
        ld   s7, 8(s4)              # the first
        sd   zero, 32(s5)           # CLEAR
        csrrs s1, 0xc00, zero
    wait:
        ld   s6, 0(s5)
        csrrs s2, 0xc00, zero
        andi t1, s6, 2
        beqz t1, wait
        ld   s8, 8(s4)              # the second
        sub  s2, s2, s1
        report handshake, s2
        report first, s7
        report second, s8
        exit 0
    ",
            header = header(1, 8)
        ),
    );
    // The invalidation, 4 bus cycles, comes before the first poll, which ends 108 ns
    // after the clear. The next packet is in the registers 40 + 60 ns after the
    // invalidation, 116 ns after the clear, so the second poll sees it.
    assert_eq!(reported(&document, 1, "handshake"), 16 + 92 + 4 + 92);
    assert_eq!([reported(&document, 1, "first"), reported(&document, 1, "second")], [2, 1]);
    assert_eq!(statistic(&document, 1, "register_invalidations"), 1, "the second was not cleared");
}

#[test]
fn all_blocks_but_the_last_are_read_while_the_processor_writes() {
    let document = result(
        &fixed_hpca98("CNI4"),
        &format!(
            "
        {PROLOGUE}
        li   a0, {header}
        sd   a0, 0(s3)
        sd   a0, 64(s3)
        sd   a0, 128(s3)
        sd   a0, 192(s3)
        sd   a0, 24(s5)
        exit 0
    receiver:
        ld   s6, 0(s5)
        andi t1, s6, 2
        beqz t1, receiver
        exit 0
    ",
            header = header(1, 248)
        ),
    );
    assert_eq!(statistic(&document, 0, "blocks_read_early"), 3);
    assert_eq!(statistic(&document, 0, "blocks_read_late"), 1);
}

#[test]
fn what_the_registers_do_not_allow_is_refused_with_a_reason() {
    for (interface, reason) in [
        (
            "CNI3",
            "CNI3: it would show 3 blocks of a message of 4 blocks; the size divides the message: 1, 2, 4",
        ),
        ("CNI0", "the size divides the message: 1, 2, 4"),
        ("CNI4 on cache-bus", "coherence is usually not an option on cache buses"),
    ] {
        let Failure { exit_code, message, .. } = failure(&fixed_hpca98(interface), "exit 0");
        assert_eq!(exit_code, Failure::USAGE, "{message}");
        assert!(message.contains(reason), "{message}");
    }
    // The other node never receives, so that the registers stay full some day.
    let announce_without_looking =
        format!("li a0, {}\n sd a0, 0(s3)\n more:\n sd zero, 24(s5)\n j more", header(1, 0));
    for (access, reason) in [
        ("sd zero, 32(s5)", "a store to CLEAR while STATUS shows no message"),
        (&announce_without_looking, "a store to MESSAGE_READY while STATUS shows no room"),
    ] {
        let program = format!("{PROLOGUE}\n {access}\n receiver:\n exit 0");
        let Failure { exit_code, message, .. } = failure(&fixed_hpca98("CNI4"), &program);
        assert_eq!(exit_code, Failure::GUEST, "{message}");
        assert!(message.contains(reason), "{message}");
    }
}
