//! The least messaging library that a guest needs, for every interface: the
//! assembler's counterpart of guest/messaging.
//!
//! `call start` first, before `sp` changes; it sets s2 to s9 and s11, which belong to the library:
//!
//! | register | meaning |
//! | --- | --- |
//! | s2, s3 | send queue: index and sense of the next entry |
//! | s4 | send queue: copy of the head pointer, refreshed when the queue looks full |
//! | s5, s6 | receive queue: index and sense of the next entry |
//! | s7 | 1 if messages are announced by a store to the tail pointer |
//! | s8, s9 | this process's rank, and how many there are |
//! | s11 | the information page |
//!
//! `call send`: a0 the header, a1 the payload (whole doublewords are read).
//! `call receive`: waits for a packet, a0 where its payload goes; returns the
//! header in a0. Both use a1 and t0 to t6 and are marked for the ledger.

/// The library, to be put behind a program that ends before it.
pub const LIBRARY: &str = "
start:
    ld   t0, 0(sp)              # arguments; the environment is behind them
    slli t0, t0, 3
    add  t0, t0, sp
    ld   t0, 16(t0)             # NARTHEX_PAGE=0x50000000; the 16th character
    lbu  t0, 16(t0)             # tells the pages of processes 0 to 4 apart
    addi t0, t0, -48
    slli t0, t0, 24
    li   s11, 0x50000000
    add  s11, s11, t0
    ld   t1, 184(s11)
    ld   s8, 16(s11)
    mul  s8, s8, t1
    ld   t0, 176(s11)
    add  s8, s8, t0
    ld   s9, 24(s11)
    mul  s9, s9, t1
    ld   s7, 144(s11)
    li   s2, 0
    li   s3, 1
    slli s4, s3, 32
    li   s5, 0
    li   s6, 1
    ret

send:
    marker 0x4e1
    ld   t3, 32(s11)
    addi t3, t3, -2             # the driver: -1 FIFO, 0 queue, 1 block buffers, 2 DMA
    beqz t3, send_queue

    ld   t0, 40(s11)            # FIFO: wait for room in STATUS
    marker 0x4e2
send_fifo_wait:
    ld   t1, 0(t0)
    andi t1, t1, 1
    beqz t1, send_fifo_wait
    marker 0x4f0
    srli t2, a0, 16
    andi t2, t2, 0xff
    addi t3, t3, -1
    beqz t3, send_blocks
    sd   a0, 8(t0)
    bge  zero, t3, send_fifo_payload
    beqz t2, send_done
    sd   a1, 64(t0)
send_dma_wait:
    ld   t1, 64(t0)
    bnez t1, send_dma_wait
    j    send_done
send_fifo_payload:
    bge  zero, t2, send_done
    ld   t1, 0(a1)
    sd   t1, 8(t0)
    addi a1, a1, 8
    addi t2, t2, -8
    j    send_fifo_payload

send_blocks:
    ld   t3, 208(s11)           # the buffers, the FIFO's block, bytes of a block less one
    li   t4, 0x800
    add  t4, t0, t4
    ld   t5, 72(s11)
    addi t5, t5, -1
    sd   a0, 0(t3)
    li   t6, 8                  # bytes in the buffer
send_block_payload:
    bge  zero, t2, send_block_rest
    add  t1, t3, t6
    ld   t0, 0(a1)
    sd   t0, 0(t1)
    addi a1, a1, 8
    addi t2, t2, -8
    addi t6, t6, 8
    and  t6, t6, t5
    bnez t6, send_block_payload
    sd   t4, 512(t3)
    j    send_block_payload
send_block_rest:
    beqz t6, send_done
    sd   t4, 512(t3)
    j    send_done

send_queue:
    li   t2, 1                  # full: same index as the head, other sense
    slli t2, t2, 32
    slli t1, s3, 32
    or   t1, t1, s2
    xor  t1, t1, t2             # the head of a full queue
    bne  t1, s4, send_entry
    ld   t0, 128(s11)
    marker 0x4e2
send_queue_wait:
    ld   s4, 0(t0)
    beq  s4, t1, send_queue_wait
    marker 0x4f0
send_entry:
    ld   t0, 80(s11)
    ld   t1, 112(s11)           # bytes of an entry
    mul  t1, t1, s2
    add  t0, t0, t1
    sd   a0, 0(t0)
    srli t2, a0, 16
    andi t2, t2, 0xff
send_entry_payload:
    bge  zero, t2, send_advance
    ld   t1, 0(a1)
    sd   t1, 8(t0)
    addi t0, t0, 8
    addi a1, a1, 8
    addi t2, t2, -8
    j    send_entry_payload
send_advance:
    addi s2, s2, 1
    ld   t0, 88(s11)
    bne  s2, t0, send_announce
    li   s2, 0
    xori s3, s3, 1
send_announce:
    beqz s7, send_signal
    ld   t0, 120(s11)
    slli t1, s3, 32
    or   t1, t1, s2
    sd   t1, 0(t0)
    j    send_done
send_signal:
    ld   t0, 40(s11)
    li   t1, 1
    sd   t1, 24(t0)
send_done:
    marker 0x4f0
    ret

receive:
    mv   a1, a0
    ld   t3, 168(s11)
    addi t3, t3, -2
    beqz t3, receive_queue

    ld   t0, 40(s11)            # FIFO: wait for a packet in STATUS
    marker 0x4e3
receive_fifo_wait:
    ld   t1, 0(t0)
    andi t1, t1, 2
    beqz t1, receive_fifo_wait
    marker 0x4f0
    marker 0x4e4
    addi t3, t3, -1
    beqz t3, receive_blocks
    ld   a0, 16(t0)
    srli t2, a0, 16
    andi t2, t2, 0xff
    bge  zero, t3, receive_fifo_payload
    beqz t2, receive_done
    sd   a1, 72(t0)
receive_dma_wait:
    ld   t1, 72(t0)
    bnez t1, receive_dma_wait
    j    receive_done
receive_fifo_payload:
    bge  zero, t2, receive_done
    ld   t1, 16(t0)
    sd   t1, 0(a1)
    addi a1, a1, 8
    addi t2, t2, -8
    j    receive_fifo_payload

receive_blocks:
    ld   t3, 208(s11)
    li   t4, 0x800
    add  t4, t0, t4
    ld   t5, 72(s11)
    addi t5, t5, -1
    sd   t4, 520(t3)
    ld   a0, 256(t3)
    srli t2, a0, 16
    andi t2, t2, 0xff
    li   t6, 8                  # bytes taken from the buffer
receive_block_payload:
    bge  zero, t2, receive_done
    add  t1, t3, t6
    ld   t0, 256(t1)
    sd   t0, 0(a1)
    addi a1, a1, 8
    addi t2, t2, -8
    addi t6, t6, 8
    and  t6, t6, t5
    bnez t6, receive_block_payload
    bge  zero, t2, receive_done
    sd   t4, 520(t3)
    j    receive_block_payload

receive_queue:
    ld   t0, 96(s11)
    ld   t1, 112(s11)           # bytes of an entry
    mul  t1, t1, s5
    add  t0, t0, t1
    marker 0x4e3
receive_entry_wait:
    ld   a0, 0(t0)              # valid: the bit is this pass's sense
    srli t1, a0, 63
    bne  t1, s6, receive_entry_wait
    marker 0x4f0
    marker 0x4e4
    slli a0, a0, 1
    srli a0, a0, 1
    srli t2, a0, 16
    andi t2, t2, 0xff
receive_entry_payload:
    bge  zero, t2, receive_advance
    ld   t1, 8(t0)
    sd   t1, 0(a1)
    addi t0, t0, 8
    addi a1, a1, 8
    addi t2, t2, -8
    j    receive_entry_payload
receive_advance:
    addi s5, s5, 1
    ld   t0, 104(s11)
    bne  s5, t0, receive_consumed
    li   s5, 0
    xori s6, s6, 1
receive_consumed:
    ld   t0, 136(s11)
    slli t1, s6, 32
    or   t1, t1, s5
    sd   t1, 0(t0)
receive_done:
    marker 0x4f0
    ret
";

/// A program whose nodes 0 and 1 exchange `turns` messages of `bytes` of
/// payload in each direction, one after the other. Each message's doublewords count up from the
/// turn's number, and the receiver checks all of them. Node 0 reports the
/// cycles of all turns as `cycles`.
pub fn ping_pong(turns: u64, bytes: u64) -> String {
    let turn = "
    bnez s8, answer
    call say
    call hear
    j    next
answer:
    call hear
    call say
next:";
    conversation(turns, turn, bytes)
}

/// As [`ping_pong`], but both nodes speak at once: each is `lead` messages ahead
/// of what it has heard.
pub fn both_ways(turns: u64, bytes: u64, lead: u64) -> String {
    let turn = format!(
        "
    li   t0, {turns}
    bge  s1, t0, listen
    call say
listen:
    addi s1, s1, -{lead}
    bltz s1, ahead
    call hear
ahead:
    addi s1, s1, {lead}"
    );
    conversation(turns + lead, &turn, bytes)
}

/// A program that carries out `turn` so many times, with its number in s1.
fn conversation(turns: u64, turn: &str, bytes: u64) -> String {
    format!(
        "
    call start
    li   s0, {turns}
    li   s1, 0
    csrrs s10, cycle, zero
turn:
    bge  s1, s0, finished
    {turn}
    addi s1, s1, 1
    j    turn
finished:
    csrrs t0, cycle, zero
    sub  s10, t0, s10
    report cycles, s10
    exit 0

say:                            # payload: turn, turn + 1, ...
    mv   a6, ra
    li   a1, {data}
    li   t0, {bytes}
    mv   t1, a1
    mv   t2, s1
say_word:
    bge  zero, t0, say_send
    sd   t2, 0(t1)
    addi t1, t1, 8
    addi t2, t2, 1
    addi t0, t0, -8
    j    say_word
say_send:
    xori a0, s8, 1              # the other node
    li   t0, {length}
    or   a0, a0, t0
    call send
    jr   a6

hear:
    mv   a6, ra
    li   a0, {buffer}
    call receive
    xori t0, s8, 1
    li   t1, {length}
    or   t0, t0, t1
    bne  a0, t0, wrong
    li   t0, {bytes}
    li   t1, {buffer}
    mv   t2, s1
hear_word:
    bge  zero, t0, hear_done
    ld   t3, 0(t1)
    bne  t3, t2, wrong
    addi t1, t1, 8
    addi t2, t2, 1
    addi t0, t0, -8
    j    hear_word
hear_done:
    jr   a6
wrong:
    exit 9
{LIBRARY}",
        data = crate::guest::DATA,
        buffer = crate::guest::DATA + 0x1000,
        length = header(0, bytes),
    )
    .replace("cycle, zero", "0xc00, zero")
}

/// A header for `bytes` of payload: one packet, the only one of its message,
/// for handler 7.
pub fn header(peer: u64, bytes: u64) -> u64 {
    peer | bytes << 16 | 7 << 24 | 1 << 61
}
