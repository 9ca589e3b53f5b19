//! A program whose nodes all send to one.

use super::DATA;
use super::messages::{LIBRARY, header};

/// Nodes that send; one more receives.
pub const SENDERS: u64 = 4;
/// Messages of each.
pub const MESSAGES: u64 = 60;

/// Every node but 0 sends messages to it, each with another number; node 0 takes
/// its time, receives all and reports the sums of sources and numbers.
pub fn all_to_one_program() -> String {
    let total = SENDERS * MESSAGES;
    let words = 16;
    format!(
        "
        call start
        li   s0, {total}
        li   s1, 0
        li   s10, 0
        beqz s8, collect
        li   s0, {MESSAGES}
        li   s1, {MESSAGES}
        mul  s1, s1, s8             # this node's numbers begin here
    send_next:
        li   a1, {DATA}
        sd   s1, 0(a1)
        sd   s1, {last}(a1)
        li   a0, {header}
        call send
        addi s1, s1, 1
        addi s0, s0, -1
        bnez s0, send_next
        exit 0
    collect:
        li   t0, 3000               # until all buffers are full
    pause:
        addi t0, t0, -1
        bnez t0, pause
    receive_next:
        li   a0, {DATA}
        call receive
        slli a0, a0, 48
        srli a0, a0, 48
        add  s10, s10, a0           # sources
        li   a1, {DATA}
        ld   t0, 0(a1)
        ld   t1, {last}(a1)
        bne  t0, t1, wrong
        add  s1, s1, t0             # numbers
        addi s0, s0, -1
        bnez s0, receive_next
        report sources, s10
        report numbers, s1
        exit 0
    wrong:
        exit 9
    {LIBRARY}",
        last = 8 * (words - 1),
        header = header(0, 8 * words)
    )
}
