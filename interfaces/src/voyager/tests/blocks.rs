use super::bench::{Bench, FRAMES};
use super::{open, read};
use crate::device_call::CallError;
use crate::voyager::registers::*;
use narthex_memory::Kind;

const NONE: u64 = NOTHING;

/// Both nodes' process 0 has registered a page, and process 0 of node 1 waits on channel 1
/// with its receive queue 0.
fn prepared(packets: u64) -> (Bench, super::Queue) {
    let mut bench = Bench::new();
    let queue = open(&mut bench, (1, 0), true, QueueKind::Resident, 0);
    for node in 0..2 {
        bench.call(node, 0, request::DMA_REGISTER, &[0x6000, 0x2000]).expect("it is pinned");
    }
    bench.call(1, 0, request::CHANNEL_SET, &[1, packets, 0, 0xabc]).expect("a channel");
    let bytes: Vec<u8> = (0..4096).map(|byte: u32| (byte * 7) as u8).collect();
    bench.memory(0).write(FRAMES + 0x6000, &bytes);
    (bench, queue)
}

/// The writes of node 1's bus unit.
fn written(bench: &Bench) -> Vec<(Kind, u64)> {
    bench.seen.iter().filter(|seen| seen.1 == 1).map(|seen| (seen.2, seen.3)).collect()
}

#[test]
fn a_block_of_128_bytes_crosses_in_two_packets_and_the_channel_tells() {
    let (mut bench, queue) = prepared(2);
    let given = [method::HARDWARE, 2, 0x6000, 0x6100, 128, 1, NONE];
    bench.call(0, 0, request::DMA, &given).expect("it begins");
    // command_cycles 2: the lines are read; 2 more: the packets. block_transmit_cycles 4, then 9 of
    // SRAM for 72 bytes; the network's 10; receive_cycles 6: at the bus unit.
    bench.run_to(23);
    assert_eq!(written(&bench), []);
    bench.run_to(24);
    assert_eq!(written(&bench), [(Kind::WriteBlock, FRAMES + 0x6100), (Kind::WriteBlock, FRAMES + 0x6120)]);
    assert_eq!(bench.load(1, queue.window + POINTER_PRODUCER), 0);
    bench.run_to(100);
    assert_eq!(bench.memory(1).at(FRAMES + 0x6100, 128), bench.memory(0).at(FRAMES + 0x6000, 128));
    assert_eq!(bench.load(1, queue.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 1, queue.buffer), (2 | 4 << 16 | 255 << 24, 0xabc));
}

#[test]
fn a_block_between_any_two_addresses_leaves_what_is_beside_it() {
    // From byte 5 to byte 61 of a line: packets end at multiples of 64, so there are three.
    let (mut bench, queue) = prepared(3);
    bench.memory(1).write(FRAMES + 0x6100, &[0xee; 256]);
    let given = [method::HARDWARE, 2, 0x6005, 0x613d, 100, 1, NONE];
    bench.call(0, 0, request::DMA, &given).expect("it begins");
    bench.run_to(1000);
    assert_eq!(bench.memory(1).at(FRAMES + 0x613d, 100), bench.memory(0).at(FRAMES + 0x6005, 100));
    for beside in [FRAMES + 0x613c, FRAMES + 0x613d + 100] {
        assert_eq!(bench.memory(1).at(beside, 1), [0xee]);
    }
    assert_eq!(bench.load(1, queue.window + POINTER_PRODUCER), 1);
}

#[test]
fn a_large_block_passes_through_both_halves_of_its_room_and_the_sender_is_told() {
    let (mut bench, queue) = prepared(64);
    let own = open(&mut bench, (0, 0), true, QueueKind::Resident, 1);
    let given = [method::HARDWARE, 2, 0x6000, 0x7000, 4096, 1, 1];
    bench.call(0, 0, request::DMA, &given).expect("it begins");
    bench.run_to(5000);
    assert_eq!(bench.memory(1).at(FRAMES + 0x7000, 4096), bench.memory(0).at(FRAMES + 0x6000, 4096));
    assert_eq!(bench.load(1, queue.window + POINTER_PRODUCER), 1);
    assert_eq!(bench.load(0, own.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 0, own.buffer), (4 << 16 | 255 << 24, 0));
}

#[test]
fn a_channel_that_is_set_after_its_packets_have_come_tells_at_once() {
    let (mut bench, queue) = prepared(3);
    for to in [0x6100, 0x6140] {
        let given = [method::HARDWARE, 2, 0x6000, to, 64, 2, NONE];
        bench.call(0, 0, request::DMA, &given).expect("it begins");
        let now = bench.cycle();
        bench.run_to(now + 200);
    }
    assert_eq!(bench.load(1, queue.window + POINTER_PRODUCER), 0);
    bench.call(1, 0, request::CHANNEL_SET, &[2, 2, 0, 5]).expect("a channel");
    let now = bench.cycle();
    bench.run_to(now + 20);
    assert_eq!(read(&mut bench, 1, queue.buffer).1, 5);
}

#[test]
fn a_channel_that_is_taken_back_counts_from_the_beginning_when_it_is_set_again() {
    let (mut bench, queue) = prepared(7);
    bench.call(1, 0, request::CHANNEL_CLEAR, &[1]).expect("it was set");
    bench.call(1, 0, request::CHANNEL_SET, &[1, 1, 0, 6]).expect("a channel");
    bench.call(0, 0, request::DMA, &[method::HARDWARE, 2, 0x6000, 0x6100, 64, 1, NONE]).expect("it begins");
    let now = bench.cycle();
    bench.run_to(now + 200);
    assert_eq!(read(&mut bench, 1, queue.buffer).1, 6);
}

#[test]
fn a_block_for_memory_that_is_not_registered_goes_nowhere_and_is_counted() {
    let (mut bench, queue) = prepared(1);
    for to in [0x5000, 0x8000, 0x7fff_f000] {
        let given = [method::HARDWARE, 2, 0x6000, to, 64, 1, NONE];
        bench.call(0, 0, request::DMA, &given).expect("the sender cannot know");
        let now = bench.cycle();
        bench.run_to(now + 200);
    }
    assert_eq!(written(&bench), []);
    assert_eq!(bench.load(1, queue.window + POINTER_PRODUCER), 0);
    let reported = format!("{:?}", bench.device(1).statistics.remote_refused);
    assert!(reported.contains('3'), "{reported}");
}

/// What a refused transfer's sender reads, of rank 2's memory: its header, and why.
const REFUSED: (u64, u64) = (2 | 4 << 16 | 254 << 24, fault::ADDRESS);

#[test]
fn a_sender_is_told_once_that_its_blocks_receiver_has_not_registered_a_part() {
    // Of 2048 bytes the last page is not registered; the next block is for registered memory.
    let (mut bench, _) = prepared(1);
    let own = open(&mut bench, (0, 0), true, QueueKind::Resident, 1);
    for (to, bytes) in [(0x7c00, 2048), (0x6000, 64), (0x5000, 64)] {
        bench.call(0, 0, request::DMA, &[method::HARDWARE, 2, 0x6000, to, bytes, 1, 1]).expect("it begins");
        let now = bench.cycle();
        bench.run_to(now + 3000);
    }
    let left = (4 << 16 | 255 << 24, 0);
    let messages: Vec<(u64, u64)> =
        (0..5).map(|slot| read(&mut bench, 0, own.buffer + slot % 4 * 96)).collect();
    // Four slots: the fifth message waits in the network, in front of no slot.
    assert_eq!(messages[..4], [left, REFUSED, left, left]);
    bench.store(0, own.window + POINTER_CONSUMER, 4);
    let now = bench.cycle();
    bench.run_to(now + 100);
    assert_eq!(bench.load(0, own.window + POINTER_PRODUCER), 5);
    assert_eq!(read(&mut bench, 0, own.buffer), REFUSED);
}

#[test]
fn a_transfer_that_cannot_be_is_refused() {
    let (mut bench, _) = prepared(1);
    for (given, error) in [
        ([0, 9, 0x6000, 0x6000, 64, 1, NONE], CallError::Invalid),
        ([3, 2, 0x6000, 0x6000, 64, 1, NONE], CallError::Invalid),
        ([0, 2, 0x6000, 0x6000, 0, 1, NONE], CallError::Invalid),
        ([0, 2, 0x6000, 0x6000, u64::MAX, 1, NONE], CallError::Invalid),
        ([0, 2, 0x6000, u64::MAX - 3, 64, 1, NONE], CallError::Invalid),
        ([0, 2, 0x6000, 0x6000, 64, 4, NONE], CallError::Invalid),
        ([0, 2, 0x6000, 0x6000, 64, 1, 8], CallError::Invalid),
        ([0, 2, 0x5ff0, 0x6000, 64, 1, NONE], CallError::BadAddress),
        ([0, 2, 0x7fff, 0x6000, 2, 1, NONE], CallError::BadAddress),
    ] {
        assert_eq!(bench.call(0, 0, request::DMA, &given), Err(error), "{given:x?}");
    }
    bench.call(0, 0, request::DMA_DEREGISTER, &[0x6000, 0x2000]).expect("it was registered");
    let given = [0, 2, 0x6000, 0x6000, 64, 1, NONE];
    assert_eq!(bench.call(0, 0, request::DMA, &given), Err(CallError::BadAddress));
    assert_eq!(bench.call(0, 0, request::DMA_DEREGISTER, &[0x6000, 0x2000]), Err(CallError::Invalid));
}

#[test]
fn firmware_that_transfers_a_block_is_told_all_about_it() {
    let (mut bench, _) = prepared(1);
    let given = [method::FIRMWARE_SENDS, 2, 0x6010, 0x6100, 64, 1, NONE];
    bench.call(0, 0, request::DMA, &given).expect("it begins");
    let words: Vec<u64> =
        (0..8).map(|_| bench.firmware_load(0, VOYAGER_REGISTERS + AGENT).expect("a register")).collect();
    assert_eq!(words, [request::DMA, method::FIRMWARE_SENDS, 1, FRAMES + 0x6010, 0x6100, 64, 1, NONE]);
}
