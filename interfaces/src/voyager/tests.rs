//! Timed scenarios of whole devices. A cycle is one of the devices' clock; transmit_cycles are
//! 8, receive_cycles 6, command_cycles 2, block_transmit_cycles 4, the network takes 10.

mod bench;
mod blocks;
mod commands;
mod firmware;
mod protection;
mod resident;

use bench::Bench;

use super::registers::{QueueKind, request};

/// A queue that a program has opened.
#[derive(Clone, Copy)]
struct Queue {
    logical: u64,
    window: u64,
    buffer: u64,
}

/// Process `process` of a node opens its queue `own`, with four slots.
fn open(
    bench: &mut Bench,
    (node, process): (usize, u8),
    is_receive: bool,
    kind: QueueKind,
    own: u64,
) -> Queue {
    let given = [u64::from(is_receive), kind.number(), 4, own, 0x4000];
    let words = bench.call(node, process, request::OPEN, &given).expect("it opens");
    Queue { logical: words[5], window: words[6], buffer: words[7] }
}

/// A program writes a message to a slot of its buffer.
fn write(bench: &mut Bench, node: usize, slot: u64, destination: u64, payload: &[u8]) {
    let header = destination | (payload.len() as u64) << 16;
    let mut bytes = header.to_le_bytes()[..4].to_vec();
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    for (address, word) in (slot..).step_by(8).zip(bytes.chunks(8)) {
        bench.store(node, uncached(address), u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
}

/// The uncached address of a byte of a cachable buffer.
fn uncached(address: u64) -> u64 {
    address + super::registers::UNCACHED_BUFFERS - super::registers::BUFFERS
}

/// The header and the first doubleword's payload of a received slot.
fn read(bench: &mut Bench, node: usize, slot: u64) -> (u64, u64) {
    let word = bench.load(node, uncached(slot));
    (word & 0xffff_ffff, word >> 32)
}
