//! One packet from node 0 to node 1 over each interface: what arrives, and the
//! exact instant at which the receiver sees it.

use serde_json::Value;

use crate::support::exchange::header;
use crate::support::{fixed_hpca98, reported, reported_word, result, with};

const WORD: u64 = 0x1122_3344_5566_7788;

/// What all programs of this file begin with: s10 is this node, s11 the
/// information page, and a delay of `turns` loops on node 0 moves the packet
/// against the receiver's polls.
fn prologue(turns: u64) -> String {
    format!(
        "
        li   s11, 0x50000000
        ld   s10, 16(s11)
        li   a0, {header}
        li   a1, {WORD}
        li   t6, {turns}
        bnez s10, receiver
    delay:
        addi t6, t6, -1
        bnez t6, delay
    ",
        header = header(1, 8)
    )
}

/// What all programs end with: the receiver has the time of its first look in
/// s1, of the one that found the packet in s2, and header and payload in s3, s4.
const EPILOGUE: &str = "
    report first, s1
    report seen, s2
    report header, s3
    report_word payload, s4
    exit 0
";

fn assert_right_packet(document: &Value) {
    let expected = header(0, 8) as i64;
    assert_eq!(reported(document, 1, "header"), expected, "the peer is the source now");
    assert_eq!(reported_word(document, 1, "payload"), WORD);
}

/// Phases of the packet against the receiver's polls, in turns of the delay.
const DELAYS: [u64; 8] = [200, 201, 202, 205, 211, 218, 227, 240];

/// Sends a packet through a FIFO by the instructions `send`, in any phase against
/// the receiver's polls; `receive` loads its header and payload.
fn assert_polled(interface: &str, send: &str, receive: &str) {
    for turns in DELAYS {
        let document = result(
            &fixed_hpca98(interface),
            &format!(
                "
            {prologue}
            ld   s11, 40(s11)
            {blocks}
            {send}
            csrrs s1, 0xc00, zero
            report sent, s1
            exit 0
        receiver:
            ld   s11, 40(s11)
            {blocks}
            ld   t1, 0(s11)
            csrrs s1, 0xc00, zero
        wait:
            ld   t1, 0(s11)
            csrrs s2, 0xc00, zero
            andi t1, t1, 2
            beqz t1, wait
            {receive}
            {EPILOGUE}
        ",
                prologue = prologue(turns),
                blocks = "li s8, 0x50001800\n li s9, 0x50008000" // the FIFO's block, the block buffers
            ),
        );
        assert_right_packet(&document);
        let [sent, first, seen] = times(&document);
        // The last store is over at `sent`; 16 ns to the network, 40 ns through it,
        // five accesses of 60 ns into the receive FIFO and to its head.
        let visible = sent + 16 + 40 + 300;
        // A poll's value is that of its end. The next one: the load's value 1 cycle
        // later, the branch 1 after that, its target 2 later: 4 ns, an edge of the
        // bus, where the load takes 92 ns.
        let period = 4 + 92;
        // The first look is followed by the next after 1 cycle, at the edge after that.
        let polls = (visible - first + period - 1) / period;
        assert_eq!(seen, first + polls * period, "after a delay of {turns} turns");
    }
}

#[test]
fn a_packet_through_fifo_registers_is_seen_by_the_first_poll_that_ends_356_ns_later() {
    let send = "sd a0, 8(s11)\n sd a1, 8(s11)";
    let receive = "ld s3, 16(s11)\n ld s4, 16(s11)";
    assert_polled("NI2w", send, receive);
    assert_polled("NI64w+Udma", send, receive);
    // A window shows both before they are popped.
    assert_polled("NI4w", send, &format!("ld s3, 256(s11)\n ld s4, 264(s11)\n {receive}"));
}

#[test]
fn a_packet_through_block_buffers_is_seen_as_soon_after_its_flush() {
    assert_polled(
        "NI16w+Blkbuf",
        "sd a0, 0(s9)\n sd a1, 8(s9)\n sd s8, 512(s9)",
        "sd s8, 520(s9)\n ld s3, 256(s9)\n ld s4, 264(s9)",
    );
}

/// The times that sender and receiver report, in cycles of 1 ns.
fn times(document: &Value) -> [i64; 3] {
    [reported(document, 0, "sent"), reported(document, 1, "first"), reported(document, 1, "seen")]
}

/// How a packet is announced that goes through cachable queues.
#[derive(Clone, Copy)]
enum Ready {
    CachableStore,
    UncachedStore,
}

/// Sends a packet through cachable queues; gives the time from the end of the
/// header's store to when the receiver sees it.
fn through_queues(interface: &str, ready: Ready, turns: u64) -> i64 {
    let (kind, announcement) = match ready {
        Ready::CachableStore => ("cachable-store", "sd t1, 0(s4)"),
        Ready::UncachedStore => ("uncached-store", "sd t2, 24(s5)"),
    };
    let request = ["cni_iq", "cni_iqm"].iter().fold(fixed_hpca98(interface), |request, section| {
        with(request, &format!("interfaces.{section}.message_ready={kind}"))
    });
    let document = result(
        &request,
        &format!(
            "
        {prologue}
        ld   s3, 80(s11)            # send queue
        ld   s4, 120(s11)           # its tail pointer
        ld   s5, 40(s11)            # registers
        li   t1, 0x100000001        # one message, in the first pass
        li   t2, 1
        sd   a0, 0(s3)
        csrrs s1, 0xc00, zero
        sd   a1, 8(s3)
        {announcement}
        report sent, s1
        exit 0
    receiver:
        ld   s11, 96(s11)           # receive queue
        ld   s3, 0(s11)
        csrrs s1, 0xc00, zero
    wait:
        ld   s3, 0(s11)
        csrrs s2, 0xc00, zero
        srli t1, s3, 63             # the message valid bit
        beqz t1, wait
        ld   s4, 8(s11)
        slli s3, s3, 1
        srli s3, s3, 1
        {EPILOGUE}
    ",
            prologue = prologue(turns)
        ),
    );
    assert_right_packet(&document);
    let [sent, _, seen] = times(&document);
    seen - sent
}

/// The payload's store hits in the cycle after the header's; the store that
/// announces the message follows in the one after that and gets the bus at the
/// edge 4 ns after the header's end.
const TO_ANNOUNCEMENT: i64 = 4;
/// An uncached store is over after 8 bus cycles and 60 ns.
const UNCACHED_STORE: i64 = 92;
/// A cachable store to the tail pointer misses: 4 bus cycles and 120 ns of main
/// memory. Then the interface reads the pointer from the processor's cache: 4 bus
/// cycles and 12 ns.
const CACHABLE_STORE: i64 = 136 + 28;
/// The interface reads the message's block from the processor's cache, the send
/// engine works on it, it crosses the network, the receive engine works on it.
const TO_RECEIVER: i64 = 28 + 40 + 40 + 40;
/// The receiver has a copy of the entry's block, which has to go: 4 bus cycles.
/// It notices at once (it polls every 4 ns) and asks for the block.
const INVALIDATION: i64 = 16;

/// Checks every phase of the packet against the receiver's polls: it makes no
/// difference, because polls of a cached entry do not use the bus.
fn assert_seen_after(interface: &str, memory_ns: i64) {
    // The packet is written into the interface's memory, and read from it over
    // the bus in 4 bus cycles more.
    let memory = memory_ns + 16 + memory_ns;
    let rest = TO_RECEIVER + INVALIDATION + memory;
    for turns in DELAYS {
        let [uncached, cachable] =
            [Ready::UncachedStore, Ready::CachableStore].map(|ready| through_queues(interface, ready, turns));
        assert_eq!(uncached, TO_ANNOUNCEMENT + UNCACHED_STORE + rest, "{interface}, uncached store");
        assert_eq!(cachable, TO_ANNOUNCEMENT + CACHABLE_STORE + rest, "{interface}, cachable store");
    }
}

#[test]
fn a_packet_through_queues_of_the_interface_takes_its_memorys_time_twice() {
    // Its memory is as slow as main memory (Table 3, note a).
    assert_seen_after("CNI512Q", 120);
}

#[test]
fn a_packet_through_cached_queues_of_main_memory_takes_the_caches_time_twice() {
    assert_seen_after("CNI32Qm", 60);
}

#[test]
fn a_packet_through_uncached_queues_of_main_memory_takes_its_time_twice() {
    // Nothing is invalidated: the write to memory, 4 bus cycles and 120 ns, takes
    // the receiver's copy away, and its next poll, at once, takes as long again.
    for turns in DELAYS {
        let seen = through_queues("CNI0Qm", Ready::UncachedStore, turns);
        assert_eq!(seen, TO_ANNOUNCEMENT + UNCACHED_STORE + TO_RECEIVER + 136 + 136);
    }
}

#[test]
fn a_system_call_sees_a_message_that_only_the_interface_holds() {
    for interface in ["CNI512Q", "CNI32Qm", "CNI0Qm"] {
        let text = u64::from_le_bytes(*b"narthex\n");
        let document = result(
            &fixed_hpca98(interface),
            &format!(
                "
            li   s11, 0x50000000
            ld   s10, 16(s11)
            bnez s10, receiver
            ld   t0, 80(s11)        # send queue
            ld   t1, 40(s11)        # registers
            li   a0, {header}
            li   a1, {text}
            sd   a0, 0(t0)
            sd   a1, 8(t0)
            li   t2, 1
            sd   t2, 24(t1)
            exit 0
        receiver:
            li   t6, 5000           # long enough for the message to arrive
        delay:
            addi t6, t6, -1
            bnez t6, delay
            li   a7, 64             # write(1, the entry's payload, 8), never loaded before
            li   a0, 1
            ld   a1, 96(s11)
            addi a1, a1, 8
            li   a2, 8
            ecall
            exit 0
        ",
                header = header(1, 8) | 1 << 63, // valid
            ),
        );
        assert_eq!(document["output"][0]["text"], "narthex\n", "{interface}");
    }
}
