//! One packet from node 0 to node 1 over each interface: what arrives, and the
//! exact instant at which the receiver sees it.

use serde_json::Value;

use crate::support::messages::header;
use crate::support::{reported, reported_word, request, result};

const WORD: u64 = 0x1122_3344_5566_7788;

/// What all programs of this file begin with: s10 is this node, s11 the
/// information page, and a delay of `turns` loops on node 0 moves the packet
/// against the receiver's polls.
fn prologue(turns: u64) -> String {
    format!("
        li   s11, 0x50000000
        ld   s10, 16(s11)
        li   a0, {header}
        li   a1, {WORD}
        li   t6, {turns}
        bnez s10, receiver
    delay:
        addi t6, t6, -1
        bnez t6, delay
    ", header = header(1, 8))
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

#[test]
fn a_packet_through_fifo_registers_is_seen_by_the_first_poll_that_ends_296_ns_later() {
    for turns in DELAYS {
        let document = result(&request("hpca98", "NI2w"), &format!("
            {prologue}
            ld   s11, 40(s11)
            sd   a0, 8(s11)
            sd   a1, 8(s11)
            csrrs s1, 0xc00, zero
            report sent, s1
            exit 0
        receiver:
            ld   s11, 40(s11)
            ld   t1, 0(s11)
            csrrs s1, 0xc00, zero
        wait:
            ld   t1, 0(s11)
            csrrs s2, 0xc00, zero
            andi t1, t1, 2
            beqz t1, wait
            ld   s3, 16(s11)
            ld   s4, 16(s11)
            {EPILOGUE}
        ", prologue = prologue(turns)));
        assert_right_packet(&document);
        let [sent, first, seen] = times(&document);
        // The last store is over at `sent`; 16 ns to the network, 40 ns through it,
        // 240 ns into the receive FIFO.
        let visible = sent + 16 + 40 + 240;
        // A poll's value is that of its end. The next one: the load's value 1 cycle
        // later, the branch 1 after that, its target 2 later: 4 ns, an edge of the
        // bus, where the load takes 92 ns.
        let period = 4 + 92;
        // The first look is followed by the next after 1 cycle, at the edge after that.
        let polls = (visible - first + period - 1) / period;
        assert_eq!(seen, first + polls * period, "after a delay of {turns} turns");
    }
}

/// The times that sender and receiver report, in cycles of 1 ns.
fn times(document: &Value) -> [i64; 3] {
    [reported(document, 0, "sent"), reported(document, 1, "first"), reported(document, 1, "seen")]
}

/// Sends a packet through cachable queues. `sent` is when the header's store is
/// over, the first of the three stores.
fn through_queues(interface: &str, turns: u64) -> Value {
    let document = result(&request("hpca98", interface), &format!("
        {prologue}
        ld   s3, 80(s11)            # send queue
        ld   s4, 120(s11)           # its tail pointer
        li   t1, 0x100000001        # one message, in the first pass
        sd   a0, 0(s3)
        csrrs s1, 0xc00, zero
        sd   a1, 8(s3)
        sd   t1, 0(s4)
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
    ", prologue = prologue(turns)));
    assert_right_packet(&document);
    document
}

/// From the end of the header's store to the packet's deposit, which is the
/// same for both interfaces with queues.
const STORE_TO_DEPOSIT: i64 = {
    // The payload's store hits in the next cycle, the tail pointer's misses in the
    // one after that and gets the bus at the edge 4 ns after the header's: 4 bus
    // cycles and 120 ns of main memory.
    let tail_store = 4 + 136;
    // The interface reads the tail pointer, then the message's block, both from
    // the processor's cache: 4 bus cycles and 12 ns each.
    let reads = 28 + 28;
    // The send engine, the network, the receive engine.
    let engines = 40 + 40 + 40;
    // The receiver has a copy of the entry's block, which has to go: 4 bus cycles.
    // The receiver notices at once (it polls every 4 ns) and asks for the block.
    let invalidation = 16;
    tail_store + reads + engines + invalidation
};

#[test]
fn a_packet_through_queues_of_the_interface_is_seen_after_468_ns() {
    for turns in DELAYS {
        let [sent, _, seen] = times(&through_queues("CNI512Q", turns));
        // The block comes from the interface's memory: 4 bus cycles and 120 ns.
        assert_eq!(seen - sent, STORE_TO_DEPOSIT + 136);
    }
    assert_eq!(STORE_TO_DEPOSIT + 136, 468);
}

#[test]
fn a_packet_through_cached_queues_of_main_memory_is_seen_after_408_ns() {
    for turns in DELAYS {
        let [sent, _, seen] = times(&through_queues("CNI32Qm", turns));
        // The block comes from the interface's cache: 4 bus cycles and 60 ns.
        assert_eq!(seen - sent, STORE_TO_DEPOSIT + 76);
    }
    assert_eq!(STORE_TO_DEPOSIT + 76, 408);
}
