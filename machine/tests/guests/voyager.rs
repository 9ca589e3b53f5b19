//! A message between resident queues of the preset `voyager`, from one program's pointer to the
//! other's, to the cycle; its firmware has nothing to do.

use narthex_machine::{FirmwareFile, RunRequest};

use crate::support::{DATA, program, reported, request, result, statistic};

/// The words of a request that opens queue 0 of a direction, resident, with 32 slots; its
/// window is in s6 then, its buffer in s7. The path of the device is behind the request.
fn open_queue(is_receive: u64) -> String {
    format!(
        "
        li   s2, {DATA}
        li   t0, 0x796f762f7665642f # /dev/voy
        sd   t0, 64(s2)
        li   t0, 0x72656761         # ager
        sd   t0, 72(s2)
        li   a0, -100
        addi a1, s2, 64
        li   a2, 2
        li   a3, 0
        li   a7, 56                 # openat
        ecall
        li   t0, {is_receive}
        sd   t0, 0(s2)
        li   t0, 1
        sd   t0, 8(s2)
        li   t0, 32
        sd   t0, 16(s2)
        li   a1, 1
        mv   a2, s2
        li   a7, 29                 # ioctl
        ecall
        ld   s6, 48(s2)
        ld   s7, 56(s2)
        "
    )
}

/// Node 0 sends a message of four bytes, node 1 polls its queue's producer.
fn message() -> String {
    let (transmit, receive) = (open_queue(0), open_queue(1));
    format!(
        "
        li   s4, 0x50000000
        ld   s5, 16(s4)             # this node
        bnez s5, receiver
        {transmit}
        li   t0, 0x700040100        # to rank 1, queue 0; four bytes: 7
        sd   t0, 0(s7)
        cbo.flush (s7)
        li   t0, 1
        csrrs s0, 0xc00, zero
        sd   t0, 0(s6)
        csrrs s1, 0xc00, zero
        sub  s1, s1, s0
        report stored, s0
        report store, s1
        exit 0
    receiver:
        {receive}
    poll:
        ld   t0, 0(s6)
        beqz t0, poll
        csrrs s0, 0xc00, zero
        ld   s1, 0(s7)
        csrrs s3, 0xc00, zero
        sub  s3, s3, s0
        srli s1, s1, 32
        report seen, s0
        report read, s3
        report payload, s1
        exit 0
        "
    )
}

fn voyager() -> RunRequest {
    let mut request = request("voyager", "Voyager-resident");
    let file = FirmwareFile { file: "rest".into(), elf: program("rest: j rest") };
    request.firmware.insert("voyager".into(), file);
    request
}

/// The line that was flushed takes five clocks of the bus, the pointer four, the transmit unit
/// eight, 12 bytes of a link 80 ns and a switch 180 ns, the receive unit six and its SRAM one:
/// 132 cycles of 140 MHz. The rest are edges of clocks, the poll that is under way, and the
/// receiver's next instructions, which come from memory, as they do before its message is read.
#[test]
fn a_message_of_four_bytes_is_seen_187_cycles_after_its_pointer_was_stored() {
    let document = result(&voyager(), &message());
    let [stored, store] = ["stored", "store"].map(|name| reported(&document, 0, name));
    let [seen, read, payload] = ["seen", "read", "payload"].map(|name| reported(&document, 1, name));
    assert_eq!((payload, store, read, seen - stored), (7, 1, 59, 187), "a posted store takes a cycle");
    let packets = ["voyager_packets_sent", "voyager_packets_received"];
    assert_eq!([0, 1].map(|node| statistic(&document, node, packets[node])), [1, 1]);
}
