//! Commands that programs issue themselves (Section 3).

use narthex_memory::Kind;

use super::bench::{Bench, FRAMES};
use super::{Queue, open, read, uncached};
use crate::device_call::CallError;
use crate::voyager::registers::*;

const RESIDENT: QueueKind = QueueKind::Resident;

/// A process's command window.
fn window(bench: &Bench, process: u8) -> u64 {
    bench.layout().commands(process).start
}

/// A process of node 0 issues a command.
fn issue(bench: &mut Bench, process: u8, words: &[u64]) {
    let window = window(bench, process);
    words.iter().for_each(|&word| bench.store(0, window + COMMAND_WINDOW_ISSUE, word));
}

fn fault_of(bench: &mut Bench, process: u8) -> u64 {
    let window = window(bench, process);
    bench.load(0, window + COMMAND_WINDOW_FAULT)
}

fn run_on(bench: &mut Bench, cycles: u64) {
    let now = bench.cycle();
    bench.run_to(now + cycles);
}

/// BLOCK_READ of the process's memory to an offset in its part of SRAM.
fn block_read(sram: u64, address: u64, bytes: u64) -> [u64; 2] {
    [operation::BLOCK_READ | sram << 32, address | bytes << 48]
}

/// BLOCK_TRANSMIT to an address of a rank, counted by its channel 1.
fn block_transmit(options: u64, sram: u64, rank: u64, address: u64, bytes: u64) -> [u64; 3] {
    let first = operation::BLOCK_TRANSMIT | COMMAND_CHAINED | options;
    [first | sram << 32 | 1 << 52, address | bytes << 48, rank * 8]
}

/// That receive queue `own` gets a completion.
fn notified(own: u64) -> u64 {
    COMMAND_NOTIFY | own << 16
}

/// All processes have registered two pages, and each of node 1 waits on channel 1, for `packets`,
/// with its receive queue 0; a process of node 0 has room in SRAM, and receive queue 1.
fn prepared(packets: u64) -> (Bench, [Queue; 2], [Queue; 2]) {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let queues = [0, 1].map(|process| open(&mut bench, (1, process), true, RESIDENT, 0));
    let own = [0, 1].map(|process| open(&mut bench, (0, process), true, RESIDENT, 1));
    for process in 0..2 {
        for node in 0..2 {
            bench.call(node, process, request::DMA_REGISTER, &[0x6000, 0x2000]).expect("it is pinned");
        }
        bench.call(1, process, request::CHANNEL_SET, &[1, packets, 0, 0xabc]).expect("a channel");
        bench.call(0, process, request::STAGING, &[2048]).expect("there is room");
    }
    let bytes: Vec<u8> = (0..4096).map(|byte: u32| (byte * 7) as u8).collect();
    bench.memory(0).write(FRAMES + 0x6000, &bytes);
    (bench, queues, own)
}

/// Cycles and addresses of the transactions of a node's bus unit.
fn seen(bench: &Bench, node: usize, kind: Kind) -> Vec<(u64, u64)> {
    let own = bench.seen.iter().filter(|seen| (seen.1, seen.2) == (node, kind));
    own.map(|&(cycle, _, _, address)| (cycle, address)).collect()
}

#[test]
fn a_block_of_a_programs_commands_takes_the_cycles_of_one_that_the_kernel_agent_commands() {
    let (mut bench, [queue, _], [own, _]) = prepared(2);
    issue(&mut bench, 0, &block_read(768, 0x6000, 128));
    issue(&mut bench, 0, &block_transmit(notified(1), 768, 2, 0x6100, 128));
    // As the_kernel_agents: command_cycles 2, the lines are read; 2 more, block_transmit_cycles 4,
    // the network's 10, receive_cycles 6.
    bench.run_to(24);
    assert_eq!(seen(&bench, 0, Kind::ReadOnce), [0, 32, 64, 96].map(|line| (2, FRAMES + 0x6000 + line)));
    assert_eq!(seen(&bench, 1, Kind::WriteBlock), [(24, FRAMES + 0x6100), (24, FRAMES + 0x6120)]);
    bench.run_to(100);
    assert_eq!(bench.memory(1).at(FRAMES + 0x6100, 128), bench.memory(0).at(FRAMES + 0x6000, 128));
    assert_eq!(read(&mut bench, 1, queue.buffer), (2 | 4 << 16 | 255 << 24, 0xabc));
    assert_eq!(bench.load(0, own.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 0, own.buffer), (4 << 16 | 255 << 24, 0), "it is complete, without a fault");
}

#[test]
fn a_block_that_is_read_once_goes_to_several_receivers_one_after_the_other() {
    let (mut bench, queues, [own, _]) = prepared(1);
    issue(&mut bench, 0, &block_read(768, 0x6000, 64));
    issue(&mut bench, 0, &block_transmit(0, 768, 2, 0x6100, 64));
    issue(&mut bench, 0, &block_transmit(notified(1), 768, 3, 0x7000, 64));
    bench.run_to(200);
    assert_eq!(seen(&bench, 0, Kind::ReadOnce), [(2, FRAMES + 0x6000), (2, FRAMES + 0x6020)]);
    // The second one's packet is formed when the first one's 72 bytes have passed, 8 a cycle, and is
    // there at cycle 31. The receive unit is at the first one until 34, then at what the channel
    // tells: 6 + 1 cycles; then 6.
    let expected = [(24, 0x6100), (24, 0x6120), (47, 0x7000), (47, 0x7020)];
    assert_eq!(seen(&bench, 1, Kind::WriteBlock), expected.map(|(cycle, address)| (cycle, FRAMES + address)));
    for (queue, address) in queues.into_iter().zip([0x6100, 0x7000]) {
        assert_eq!(bench.memory(1).at(FRAMES + address, 64), bench.memory(0).at(FRAMES + 0x6000, 64));
        assert_eq!(bench.load(1, queue.window + POINTER_PRODUCER), 1);
    }
    assert_eq!(bench.load(0, own.window + POINTER_PRODUCER), 1);
}

#[test]
fn a_program_sets_its_channel_and_is_told_in_the_queue_that_it_names() {
    let (mut bench, ..) = prepared(1);
    let queue = open(&mut bench, (0, 1), true, RESIDENT, 3);
    issue(&mut bench, 1, &[operation::COUNTER_SET | 2 << 24, 1 | 3 << 8 | 77 << 32]);
    bench.run_to(50);
    assert_eq!(read(&mut bench, 0, queue.buffer), (1 | 4 << 16 | 255 << 24, 77));
    assert_eq!(fault_of(&mut bench, 1), 0);
}

#[test]
fn commands_that_a_program_may_not_issue_do_nothing_but_tell_their_fault() {
    let layout = prepared(1).0.layout();
    let beyond = layout.buffer_bytes;
    let transmit = |sram, rank, address, bytes| block_transmit(0, sram, rank, address, bytes).to_vec();
    let told = |own: u64| {
        let mut words = transmit(768, 2, 0x6000, 64);
        words[0] |= COMMAND_TOLD | own << 24;
        words
    };
    let channel = |channel: u64| {
        let mut words = transmit(768, 2, 0x6000, 64);
        words[0] = words[0] & !(0xff << 52) | channel << 52;
        words
    };
    let cases = [
        (vec![99], fault::OPERAND),
        (vec![operation::BUS_READ | 1 << 24 | 768 << 32, 0x6000], fault::OPERAND),
        (vec![operation::BUS_WRITE | COMMAND_SHORT], fault::OPERAND),
        (vec![operation::SRAM_WRITE | 8 << 24, 0], fault::OPERAND),
        (vec![operation::PERMISSION | COMMAND_SHORT], fault::OPERAND),
        (vec![operation::APPROVE, 0, 0], fault::OPERAND),
        (vec![operation::QUEUE_OUT | 1 << 25], fault::OPERAND),
        (vec![operation::TELL | 1 << 32], fault::OPERAND),
        (block_read(beyond - 32, 0x6000, 64).to_vec(), fault::SRAM),
        (block_read(768, 0x6000, 0).to_vec(), fault::SRAM),
        (block_read(768, 0x5000, 64).to_vec(), fault::ADDRESS),
        (block_read(768, 0xffff_ffff_fff0, 64).to_vec(), fault::ADDRESS),
        (transmit(beyond, 2, 0x6000, 64), fault::SRAM),
        (transmit(768, 2, 0x6000, 0), fault::SRAM),
        (transmit(768, 2, 0xffff_ffff_ffff, 64), fault::ADDRESS),
        (transmit(768, 4, 0x6000, 64), fault::DESTINATION),
        (transmit(768, 0x1fff, 0x6000, 64), fault::DESTINATION),
        (vec![operation::BLOCK_TRANSMIT | 768 << 32, 64 << 48, 1 << 16], fault::OPERAND),
        (channel(4), fault::OPERAND),
        (told(8), fault::DESTINATION),
        (vec![operation::COUNTER_SET | 4 << 24, 1], fault::OPERAND),
        (vec![operation::COUNTER_SET, 0], fault::OPERAND),
        (vec![operation::COUNTER_SET, 1 | 8 << 8], fault::DESTINATION),
    ];
    for (mut words, fault) in cases {
        let (mut bench, _, [own, _]) = prepared(1);
        // Those of a doubleword in short form have no tag of their own.
        words[0] |= notified(1);
        issue(&mut bench, 0, &words);
        bench.run_to(100);
        assert_eq!(fault_of(&mut bench, 0), fault, "{words:x?}");
        assert_eq!(bench.load(0, window(&bench, 0)), 8, "nothing waits");
        assert_eq!(seen(&bench, 1, Kind::WriteBlock), []);
        if words[0] & COMMAND_SHORT == 0 || words[0] & 0xff == operation::BLOCK_TRANSMIT {
            assert_eq!(read(&mut bench, 0, own.buffer), (4 << 16 | 255 << 24, fault), "{words:x?}");
        }
        // The process's next command is carried out, and what the other process does is not touched.
        bench.store(0, window(&bench, 0) + COMMAND_WINDOW_FAULT, 0);
        issue(&mut bench, 0, &[operation::NOTIFY]);
        run_on(&mut bench, 20);
        assert_eq!([0, 1].map(|process| fault_of(&mut bench, process)), [0, 0]);
        let firmwares = bench.firmware_load(0, VOYAGER_REGISTERS + FAULT);
        assert_eq!(firmwares, Ok(0), "it is not the firmware's");
    }
}

#[test]
fn a_completion_for_a_queue_that_the_process_has_not_goes_nowhere() {
    let (mut bench, ..) = prepared(1);
    issue(&mut bench, 0, &[operation::NOTIFY | notified(8)]);
    bench.run_to(50);
    assert_eq!(fault_of(&mut bench, 0), fault::DESTINATION);
}

#[test]
fn what_follows_a_read_that_fails_is_not_sent_and_anothers_is() {
    for read in [block_read(768, 0x5000, 64), block_read(1 << 19, 0x6000, 64)] {
        let (mut bench, _, [own, _]) = prepared(1);
        issue(&mut bench, 0, &read);
        issue(&mut bench, 1, &block_read(0, 0x6000, 64));
        issue(&mut bench, 0, &block_transmit(notified(1), 768, 2, 0x6100, 64));
        issue(&mut bench, 1, &block_transmit(0, 0, 3, 0x7000, 64));
        bench.run_to(200);
        let written: Vec<u64> = seen(&bench, 1, Kind::WriteBlock).iter().map(|seen| seen.1).collect();
        assert_eq!(written, [FRAMES + 0x7000, FRAMES + 0x7020]);
        assert_eq!([0, 1].map(|process| fault_of(&mut bench, process)), [fault::ADDRESS, 0]);
        assert_eq!(bench.load(0, own.window + POINTER_PRODUCER), 1);
        assert_eq!(super::read(&mut bench, 0, own.buffer).1, fault::ADDRESS);
    }
}

#[test]
fn a_full_queue_makes_further_stores_wait_and_half_a_command_does_nothing() {
    let (mut bench, ..) = prepared(1);
    let window = window(&bench, 0);
    // One is decoded at once; the others wait.
    issue(&mut bench, 0, &[operation::NOTIFY; 9]);
    assert_eq!(bench.load(0, window), 0);
    assert!(!bench.store_of(0, window, 8, operation::NOTIFY));
    bench.run_to(2);
    assert!(bench.store_of(0, window, 8, operation::BLOCK_TRANSMIT | 768 << 32));
    bench.run_to(100);
    assert_eq!((bench.load(0, window), fault_of(&mut bench, 0)), (7, 0));
}

#[test]
fn parts_of_doublewords_and_other_places_of_the_window_are_faults() {
    for (offset, size) in [(COMMAND_WINDOW_ISSUE, 4), (COMMAND_WINDOW_FAULT, 4), (16, 8), (0xff8, 8)] {
        let (mut bench, ..) = prepared(1);
        let window = window(&bench, 0);
        assert!(bench.store_of(0, window + offset, size, 14));
        assert_eq!(fault_of(&mut bench, 0), fault::OPERAND, "{offset:#x}");
    }
}

#[test]
fn processes_have_the_units_in_turn() {
    let (mut bench, ..) = prepared(9);
    for (process, to) in [(0, 0x6100), (0, 0x6140), (1, 0x7100), (1, 0x7140)] {
        issue(&mut bench, process, &block_transmit(0, 768, 2, to, 64));
    }
    bench.run_to(200);
    let written: Vec<(u64, u64)> = seen(&bench, 1, Kind::WriteBlock).into_iter().step_by(2).collect();
    // The receive unit has a packet of 76 bytes with its header each 6 + 10 cycles.
    let expected = [(22, 0x6100), (38, 0x7100), (54, 0x6140), (70, 0x7140)];
    assert_eq!(written, expected.map(|(cycle, address)| (cycle, FRAMES + address)));
}

#[test]
fn a_program_whose_queue_is_full_of_completions_waits_and_others_do_not() {
    let (mut bench, _, [_, other]) = prepared(1);
    for _ in 0..16 {
        issue(&mut bench, 0, &[operation::NOTIFY | notified(1)]);
        run_on(&mut bench, 20);
    }
    // Four are in the queue, eight wait for it (completions), one is decoded, three are in words.
    assert_eq!(bench.load(0, window(&bench, 0)), 5);
    issue(&mut bench, 1, &[operation::COUNTER_SET | 2 << 24, 1 | 2 << 8 | 5 << 32]);
    run_on(&mut bench, 20);
    assert_eq!(fault_of(&mut bench, 1), 0);
    assert_eq!(bench.load(0, window(&bench, 1)), 8, "it is carried out");
    assert_eq!(bench.load(0, other.window + POINTER_PRODUCER), 0);
}

#[test]
fn of_a_multicasts_receivers_the_one_that_has_not_registered_is_named() {
    let (mut bench, _, [own, _]) = prepared(9);
    bench.call(1, 1, request::DMA_DEREGISTER, &[0x6000, 0x2000]).expect("it was registered");
    issue(&mut bench, 0, &block_read(768, 0x6000, 64));
    for rank in [3, 2] {
        issue(&mut bench, 0, &block_transmit(COMMAND_TOLD | 1 << 24, 768, rank, 0x6100, 64));
        run_on(&mut bench, 60);
    }
    issue(&mut bench, 0, &block_read(768, 0x6000, 64));
    for rank in [2, 3] {
        let options = COMMAND_TOLD | COMMAND_LAST | 1 << 24;
        issue(&mut bench, 0, &block_transmit(options, 768, rank, 0x6140, 64));
        run_on(&mut bench, 60);
    }
    assert_eq!(bench.load(0, own.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 0, own.buffer), (3 | 4 << 16 | 254 << 24, fault::ADDRESS));
}

#[test]
fn room_for_blocks_is_taken_once_beside_the_processs_queues() {
    let mut bench = Bench::new();
    let queue = open(&mut bench, (0, 0), true, RESIDENT, 1);
    for (bytes, error) in [(0, CallError::Invalid), (100, CallError::Invalid), (1 << 40, CallError::NoMemory)]
    {
        assert_eq!(bench.call(0, 0, request::STAGING, &[bytes]), Err(error));
    }
    let words = bench.call(0, 0, request::STAGING, &[2048]).expect("there is room");
    assert_eq!(words[5..], [384, window(&bench, 0), queue.buffer + 384], "behind four slots");
    assert_eq!(bench.call(0, 0, request::STAGING, &[64]), Err(CallError::Busy));
    let next = open(&mut bench, (0, 0), false, QueueKind::Hybrid, 1);
    assert_eq!(next.buffer, queue.buffer + 384 + 2048);
    bench.store(0, uncached(words[7]), 5);
    assert_eq!(bench.load(0, uncached(words[7])), 5);
}
