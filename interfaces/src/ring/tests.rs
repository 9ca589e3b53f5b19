use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const START: u64 = 0x1000;
const SIZE: u64 = 16;
const OF_BLOCK: u64 = 4;

fn memory() -> RingMemory {
    RingMemory { start: START, entries: SIZE, buffer_bytes: 256, tail_bytes: 0 }
}

fn ring(prefetch: u64) -> Ring {
    let mut ring = Ring::new(memory(), 64, prefetch, 0, None);
    ring.store(RingRegister::Base, START, false).unwrap();
    ring.store(RingRegister::Size, SIZE, false).unwrap();
    ring
}

#[test]
fn registers_refuse_what_is_no_ring_and_what_is_beyond_it() {
    let refusal = |register, value, whole_blocks| ring(8).store(register, value, whole_blocks).unwrap_err();
    for (register, value, told) in [
        (RingRegister::Base, START + 16, "0x1010; a ring begins with a block of 64 bytes"),
        (RingRegister::Base, 0x8000_0000, "the process's memory for it"),
        (RingRegister::Size, 12, "12 descriptors; a power of two from 4"),
        (RingRegister::Size, 1 << 20, "a power of two"),
        (RingRegister::Head, 1, "1; the interface alone moves the head"),
        (RingRegister::Tail, 16, "16, beyond the ring, whose descriptors are 0 to 15"),
        (RingRegister::Tail, u64::MAX, "beyond the ring"),
    ] {
        let refusal = refusal(register, value, false);
        assert!(refusal.contains(told), "{refusal}");
    }
    assert!(refusal(RingRegister::Tail, 6, true).contains("in multiples of 4"));
    let unnamed = Ring::new(memory(), 64, 8, 0, None).store(RingRegister::Tail, 1, false).unwrap_err();
    assert!(unnamed.contains("before the ring's place"), "{unnamed}");
    let mut used = ring(8);
    used.store(RingRegister::Tail, 4, false).unwrap();
    assert!(used.store(RingRegister::Size, 32, false).unwrap_err().contains("in use"));
}

#[test]
fn a_block_of_which_nothing_is_to_be_reported_is_not_written_back() {
    let mut ring = ring(8);
    ring.store(RingRegister::Tail, 8, false).unwrap();
    for controls in [[0; 4], [0, 0, 0, REPORT]] {
        let fetch = ring.next_fetch().expect("a block");
        ring.ask(fetch);
        ring.take_in(fetch, &block(0, controls));
        for control in controls {
            ring.finish(control | DONE);
            ring.drop_unreported();
        }
    }
    assert!(ring.has_done_block());
    let (address, written, until) = ring.block_to_write();
    assert_eq!((address, until), (START + 64, 8));
    assert_eq!(written.word(56), REPORT | DONE);
}

/// Descriptors with these controls, and addresses from `first` on.
fn block(first: u64, controls: [u64; 4]) -> BlockData {
    let mut block = BlockData::zeroed(64);
    for (place, control) in controls.into_iter().enumerate() {
        block.set_word(16 * place, first + place as u64);
        block.set_word(16 * place + 8, control);
    }
    block
}

proptest! {
    /// A driver and an interface share a ring in any order of steps: the interface gets each
    /// descriptor once, in order, never more than it has room for, and what it writes back changes no
    /// descriptor that the driver has.
    #[test]
    fn every_descriptor_passes_once_and_in_order(
        steps in proptest::collection::vec(0u8..7, 1..600), prefetch in 4u64..20, whole_blocks: bool,
    ) {
        let mut ring = ring(prefetch);
        let mut memory = vec![Descriptor { address: 0, control: 0 }; SIZE as usize];
        let (mut given, mut read, mut fetching) = (0, 0, VecDeque::new());
        let unit = if whole_blocks { OF_BLOCK } else { 1 };
        for step in steps {
            match step {
                // The driver hands over what it can describe, and reads what it can see.
                0 if given + unit - read < SIZE => {
                    for number in given..given + unit {
                        memory[(number % SIZE) as usize] = Descriptor { address: number, control: REPORT };
                    }
                    given += unit;
                    ring.store(RingRegister::Tail, given % SIZE, whole_blocks).unwrap();
                }
                1 => {
                    // Of a send ring the driver has a block back when its last descriptor is reported.
                    let all = if whole_blocks { 1 } else { OF_BLOCK };
                    let last = memory[((read + all - 1) % SIZE) as usize];
                    if read + all <= given && last.control & DONE != 0 {
                        read += all;
                    }
                }
                2 => if let Some(fetch) = ring.next_fetch() {
                    ring.ask(fetch);
                    let first = ((fetch.address - START) / DESCRIPTOR_BYTES) as usize;
                    let mut block = BlockData::zeroed(64);
                    for (place, descriptor) in memory[first..first + 4].iter().enumerate() {
                        block.set_word(16 * place, descriptor.address);
                        block.set_word(16 * place + 8, descriptor.control);
                    }
                    fetching.push_back((fetch, block));
                },
                3 => if let Some((fetch, block)) = fetching.pop_front() { ring.take_in(fetch, &block) },
                // The one that was asked for last comes first.
                6 => if let Some((fetch, block)) = fetching.pop_back() { ring.take_in(fetch, &block) },
                4 => if let Some(descriptor) = ring.descriptor(ring.done()) {
                    prop_assert_eq!(descriptor, Descriptor { address: ring.done(), control: REPORT });
                    ring.finish(REPORT | DONE);
                },
                5 if ring.has_done_block() || whole_blocks && ring.unwritten() > 0 => {
                    let (address, block, until) = ring.block_to_write();
                    let first = (address - START) / DESCRIPTOR_BYTES;
                    for place in 0..OF_BLOCK {
                        let (at, old) = (16 * place as usize, memory[(first + place) as usize]);
                        let new = Descriptor { address: block.word(at), control: block.word(at + 8) };
                        prop_assert_eq!(new.address, old.address, "a descriptor that the driver has changes");
                        memory[(first + place) as usize] = new;
                    }
                    ring.mark_written(until);
                }
                _ => {}
            }
            prop_assert!(ring.held.len() as u64 <= prefetch + OF_BLOCK + SIZE);
            prop_assert!(ring.asked - ring.done <= prefetch);
            prop_assert!(read <= ring.done() && ring.done() <= given);
        }
    }
}
