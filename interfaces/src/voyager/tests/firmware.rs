use super::bench::{Bench, FRAMES};
use super::{Queue, open, read, write};
use crate::device_call::CallError;
use crate::voyager::layout::Direction;
use crate::voyager::registers::*;
use narthex_memory::Kind;

const COMMAND: u64 = VOYAGER_REGISTERS + COMMAND_0;

fn register(bench: &mut Bench, node: usize, offset: u64) -> u64 {
    bench.firmware_load(node, VOYAGER_REGISTERS + offset).expect("there is such a register")
}

fn command(bench: &mut Bench, node: usize, words: &[u64]) {
    for &word in words {
        bench.firmware_store(node, COMMAND, word).expect("room");
    }
}

/// Both loads of OnePoll.
fn poll(bench: &mut Bench, node: usize) -> (u64, u64) {
    bench.firmware_store(node, VOYAGER_REGISTERS + POLL_MASK, u64::MAX).expect("a register");
    (register(bench, node, POLL), register(bench, node, POLL_ENTRY))
}

/// A program has opened a non-resident queue, of which the firmware has heard.
fn non_resident(bench: &mut Bench, node: usize, is_receive: bool) -> Queue {
    let queue = open(bench, (node, 0), is_receive, QueueKind::NonResident, 3);
    let words: Vec<u64> = (0..8).map(|_| register(bench, node, AGENT)).collect();
    let about = u64::from(is_receive) | queue.logical << 8 | 2 << 16 | 4 << 32;
    assert_eq!(words[..3], [request::OPEN, about, FRAMES + 0x4000]);
    queue
}

#[test]
fn a_store_to_a_non_resident_queue_is_captured_and_loads_show_its_shadow_words() {
    let mut bench = Bench::new();
    let queue = non_resident(&mut bench, 0, false);
    assert_eq!(poll(&mut bench, 0), (NOTHING, NOTHING));
    bench.store(0, queue.window + POINTER_PRODUCER, 2);
    assert_eq!(poll(&mut bench, 0), (u64::from(SOURCE_CAPTURE), captured::STORE << 56 | 3 << 12 << 32 | 2));
    assert_eq!(poll(&mut bench, 0), (NOTHING, NOTHING), "it is gone");
    assert_eq!(bench.load(0, queue.window + POINTER_STATUS), QUEUE_CLOSED, "the firmware has not opened it");
    let shadow = bench.layout().shadow(Direction::Transmit, queue.logical as u8);
    for (offset, value) in [(POINTER_CONSUMER, 1), (POINTER_STATUS, QUEUE_OPEN)] {
        command(&mut bench, 0, &[operation::SRAM_WRITE | 8 << 24 | (shadow + offset) << 32, value]);
        let now = bench.cycle();
        bench.run_to(now + 1);
        assert_ne!(bench.load(0, queue.window + offset), value, "command_cycles are 2");
        bench.run_to(now + 2);
        assert_eq!(bench.load(0, queue.window + offset), value);
    }
}

#[test]
fn a_full_capture_queue_makes_further_stores_wait() {
    let mut bench = Bench::new();
    let queue = non_resident(&mut bench, 0, false);
    (0..4).for_each(|_| bench.store(0, queue.window, 1));
    assert!(!bench.store_of(0, queue.window, 8, 2));
    assert_eq!(register(&mut bench, 0, CAPTURE) as u32, 1);
    assert!(bench.store_of(0, queue.window, 8, 2));
}

#[test]
fn firmware_reads_a_message_from_host_memory_and_sends_it() {
    let mut bench = Bench::new();
    let to = open(&mut bench, (1, 1), true, QueueKind::Resident, 2);
    let staging = register(&mut bench, 0, FREE_A) & 0xffff_ffff;
    let mut slot = [7; 96];
    slot[..4].copy_from_slice(&(5 | 12u32 << 16).to_le_bytes());
    bench.memory(0).write(FRAMES + 0x4000, &slot);
    command(&mut bench, 0, &[operation::BUS_READ | 3 << 24 | staging << 32, FRAMES + 0x4000]);
    let notified = operation::TRANSMIT | COMMAND_NOTIFY | COMMAND_ORDERED | 0x21 << 16;
    command(&mut bench, 0, &[notified | staging << 32, 1 | to.logical << 16]);
    // The read begins after command_cycles 2, the transmit after 2 more; then 8, and 2 of SRAM.
    bench.run_to(13);
    assert_eq!(
        bench.seen.iter().map(|seen| (seen.0, seen.3)).collect::<Vec<_>>(),
        [(2, FRAMES + 0x4000), (2, FRAMES + 0x4020), (2, FRAMES + 0x4040)]
    );
    assert_eq!(register(&mut bench, 0, COMPLETION), NOTHING);
    bench.run_to(14);
    assert_eq!(poll(&mut bench, 0), (u64::from(SOURCE_COMPLETION), 0x21));
    bench.run_to(100);
    assert_eq!(read(&mut bench, 1, to.buffer), (12 << 16, 0x0707_0707));
}

#[test]
fn a_packet_for_a_queue_that_is_not_resident_comes_to_the_miss_queue_in_two_parts() {
    let mut bench = Bench::new();
    let from = open(&mut bench, (0, 0), false, QueueKind::Resident, 0);
    let to = non_resident(&mut bench, 1, true);
    write(&mut bench, 0, from.buffer, 2 * 8 + 3, &[9; 20]);
    bench.store(0, from.window, 1);
    bench.run_to(100);
    let (slots, headers) = {
        let miss = register(&mut bench, 1, MISS);
        (miss & 0xffff_ffff, miss >> 32)
    };
    let header = 20 << 16 | to.logical << 32;
    assert_eq!(poll(&mut bench, 1), (u64::from(SOURCE_RECEIVE) | 1 << 32, header));
    assert_eq!(poll(&mut bench, 1), (NOTHING, NOTHING), "it was shown");
    let at = |bench: &mut Bench, sram| bench.firmware_load(1, VOYAGER_SRAM_UNCACHED + sram).expect("SRAM");
    assert_eq!((at(&mut bench, headers), at(&mut bench, slots)), (header, 20 << 16 | 0x0909_0909 << 32));
    // Its four slots are free again when the consumer has moved.
    let state = VOYAGER_QUEUES + 4 * QUEUE_STATE_BYTES;
    assert_eq!(bench.firmware_load(1, state + PRODUCER), Ok(1));
    bench.firmware_store(1, state + CONSUMER, 1).expect("a word");
    assert_eq!(register(&mut bench, 1, STATUS) & 1 << SOURCE_RECEIVE, 0);
}

#[test]
fn a_hybrid_queue_is_switched_in_and_out_between_two_of_its_messages() {
    let mut bench = Bench::new();
    let to = open(&mut bench, (1, 1), true, QueueKind::Resident, 2);
    let queue = open(&mut bench, (0, 0), false, QueueKind::Hybrid, 1);
    let sram = bench.layout().buffers_of(0).start;
    bench.store(0, queue.window, 1);
    assert_eq!(register(&mut bench, 0, CAPTURE) as u32, 1, "the firmware's work");
    let set = |offset: u64| operation::QUEUE_SET | 3 << 25 | offset << 32;
    for words in [[set(BASE), sram], [set(SLOTS), 4], [set(PRODUCER), 0], [set(CONSUMER), 0]] {
        command(&mut bench, 0, &words);
        let now = bench.cycle();
        bench.run_to(now + 2);
    }
    write(&mut bench, 0, queue.buffer, 3 * 8 + 2, &[1; 4]);
    command(&mut bench, 0, &[set(CONTROL), CONTROL_ENABLED | queue.logical << 8]);
    command(&mut bench, 0, &[operation::MAP_SET | 3 << 25 | queue.logical << 32]);
    command(&mut bench, 0, &[set(ADVANCE), 1]);
    let now = bench.cycle();
    bench.run_to(now + 7);
    assert_eq!(bench.firmware_load(0, VOYAGER_MAP + queue.logical * 8), Ok(3));
    write(&mut bench, 0, queue.buffer + SLOT_BYTES, 3 * 8 + 2, &[2; 4]);
    bench.store(0, queue.window, 2);
    assert_eq!(register(&mut bench, 0, CAPTURE), NOTHING, "hardware has it");
    // The unit is at the first message when the queue is taken away.
    command(&mut bench, 0, &[operation::QUEUE_OUT | COMMAND_NOTIFY | 3 << 25 | 9 << 16]);
    bench.run_to(now + 200);
    assert_eq!(register(&mut bench, 0, COMPLETION), 9);
    assert_eq!([0, 8].map(|offset| bench.load(0, queue.window + offset)), [2, 1]);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 1);
    bench.store(0, queue.window, 3);
    assert_eq!(register(&mut bench, 0, CAPTURE) as u32, 3);
    assert_eq!(bench.firmware_load(0, VOYAGER_MAP + queue.logical * 8), Ok(NOTHING));
}

#[test]
fn a_load_of_serviced_space_waits_for_the_answer_of_the_firmware() {
    let mut bench = Bench::new();
    let address = bench.layout().serviced(1).start + 0x18;
    assert_eq!((bench.try_load(0, address), bench.try_load(0, address)), (None, None));
    let offset = 1 << 21 | 1 << 12 | 0x18;
    assert_eq!(register(&mut bench, 0, CAPTURE), captured::LOAD << 56 | offset << 32);
    assert_eq!(register(&mut bench, 0, CAPTURE), NOTHING, "it is captured once");
    command(&mut bench, 0, &[operation::APPROVE, offset, 77]);
    bench.run_to(1);
    assert_eq!(bench.try_load(0, address), None);
    bench.run_to(2);
    assert_eq!(bench.try_load(0, address), Some(77));
    assert_eq!(bench.try_load(0, address), None, "the next one is another access");
}

/// A program has stores to serviced space wait: where those of its transmit queue 3 are, and their
/// offset.
fn with_stores(settings: &[(&str, serde_json::Value)]) -> (Bench, u64, u64) {
    let mut bench = Bench::with(settings);
    let kind = QueueKind::Hybrid.number() | KIND_STORES;
    let words = bench.call(0, 1, request::OPEN, &[0, kind, 4, 3, 0]).expect("it opens");
    assert_eq!(bench.load(0, words[6] + POINTER_STORES), 1);
    let address = bench.layout().serviced(1).start + 0x18;
    (bench, address, 1 << 21 | 1 << 12 | 0x18)
}

#[test]
fn a_store_to_serviced_space_goes_where_the_firmware_says_and_the_firmware_is_told() {
    let (mut bench, address, offset) = with_stores(&[]);
    let staging = register(&mut bench, 0, FREE_A) & 0xffff_ffff;
    let value = 0x1234_5678_9abc_def0;
    assert!(!bench.store_of(0, address, 8, value));
    assert!(!bench.store_of(0, address, 8, value));
    assert_eq!(register(&mut bench, 0, CAPTURE) >> 32, (captured::WAITING_STORE << 56 | offset << 32) >> 32);
    assert_eq!(register(&mut bench, 0, CAPTURE), NOTHING, "it is captured once");
    command(&mut bench, 0, &[operation::APPROVE, offset, APPROVE_TO_SRAM | (staging + 8)]);
    bench.run_to(1);
    assert!(!bench.store_of(0, address, 8, value), "command_cycles are 2");
    bench.run_to(2);
    assert!(bench.store_of(0, address, 8, value));
    let carried = captured::WAITING_STORE << 56 | (offset | captured::CARRIED) << 32;
    assert_eq!(register(&mut bench, 0, CAPTURE), carried);
    assert_eq!(bench.firmware_load(0, VOYAGER_SRAM_UNCACHED + staging + 8), Ok(value));
    assert!(!bench.store_of(0, address, 8, 1), "the next one is another access");
}

#[test]
fn a_store_that_is_approved_waits_until_the_firmware_can_be_told() {
    let (mut bench, address, offset) = with_stores(&[("captures", 1.into())]);
    assert!(!bench.store_of(0, address, 8, 7));
    bench.firmware_store(0, VOYAGER_REGISTERS + APPROVE_ADDRESS, offset).expect("a register");
    bench.firmware_store(0, VOYAGER_REGISTERS + APPROVE_VALUE, APPROVE_TO_SRAM).expect("a register");
    assert!(!bench.store_of(0, address, 8, 7), "what was captured first is still in the queue");
    register(&mut bench, 0, CAPTURE);
    assert!(bench.store_of(0, address, 8, 7));
}

#[test]
fn a_store_in_part_or_to_no_destination_or_beyond_the_sram_writes_nothing() {
    for (value, size, told, wrong) in
        [(0, 8, false, 0), (APPROVE_TO_SRAM, 4, true, 0), (APPROVE_TO_SRAM | 0x7_fffc, 8, true, fault::SRAM)]
    {
        let (mut bench, address, offset) = with_stores(&[]);
        assert!(!bench.store_of(0, address, size, 7));
        register(&mut bench, 0, CAPTURE);
        command(&mut bench, 0, &[operation::APPROVE, offset, value]);
        bench.run_to(2);
        assert!(bench.store_of(0, address, size, 7));
        let nowhere = captured::CARRIED | captured::CARRIED_NOWHERE;
        let carried = captured::WAITING_STORE << 56 | (offset | nowhere) << 32;
        assert_eq!(register(&mut bench, 0, CAPTURE), if told { carried } else { NOTHING });
        assert_eq!(register(&mut bench, 0, FAULT), wrong);
        assert_eq!(bench.firmware_load(0, VOYAGER_SRAM_UNCACHED), Ok(0));
    }
}

#[test]
fn stores_of_other_processes_are_posted_and_only_hybrid_transmit_queues_have_some() {
    let (mut bench, ..) = with_stores(&[]);
    let hybrid = open(&mut bench, (0, 1), false, QueueKind::Hybrid, 5);
    assert_eq!(bench.load(0, hybrid.window + POINTER_STORES), 0);
    let other = bench.layout().serviced(0).start;
    assert!(bench.store_of(0, other, 8, 7));
    assert_eq!(register(&mut bench, 0, CAPTURE), captured::STORE << 56 | 1 << 21 << 32 | 7);
    for (is_receive, kind) in [(1, QueueKind::Hybrid), (0, QueueKind::Resident), (0, QueueKind::NonResident)]
    {
        let given = [is_receive, kind.number() | KIND_STORES, 4, 4, 0x4000];
        assert_eq!(bench.call(0, 1, request::OPEN, &given), Err(CallError::Invalid));
    }
}

#[test]
fn a_line_of_snooped_space_waits_for_its_permission() {
    let mut bench = Bench::new();
    let line = bench.layout().snooped(0).start + 64;
    assert!(!bench.refuses(0, Kind::ReadExclusive, line));
    command(&mut bench, 0, &[operation::PERMISSION | 1 << 32, line]);
    bench.run_to(2);
    assert!(bench.refuses(0, Kind::Read, line) && !bench.refuses(0, Kind::Read, line + 32));
    assert_eq!(register(&mut bench, 0, CAPTURE), captured::SNOOPED_READ << 56 | 2 << 32);
    command(&mut bench, 0, &[operation::PERMISSION | permission::READ << 24 | 1 << 32, line]);
    bench.run_to(4);
    assert!(!bench.refuses(0, Kind::Read, line) && bench.refuses(0, Kind::Upgrade, line));
}

/// Else its reader had it exclusively, and would write it without the bus.
#[test]
fn a_line_that_may_only_be_read_is_read_shared() {
    let mut bench = Bench::new();
    let line = bench.layout().snooped(1).start + 64;
    assert_eq!(register(&mut bench, 0, SNOOPED_START + 8), line - 64);
    assert!(!bench.shares(0, line));
    command(&mut bench, 0, &[operation::PERMISSION | permission::READ << 24 | 1 << 32, line]);
    bench.run_to(2);
    assert!(bench.shares(0, line) && !bench.shares(0, line + 32) && !bench.shares(0, 0x1000));
}

#[test]
fn a_command_that_cannot_be_completes_with_its_fault() {
    let cases: [(&[u64], u64); 9] = [
        (&[99], fault::OPERAND),
        (&[operation::SRAM_WRITE | 8 << 24 | 0x7_fff0 << 32, 0], fault::SRAM),
        (&[operation::SRAM_WRITE | 3 << 24, 0], fault::OPERAND),
        (&[operation::BUS_READ | 1 << 24 | 0xf_fff0 << 32, 0], fault::SRAM),
        (&[operation::BUS_READ | 1 << 24, 0x5000_0000], fault::ADDRESS),
        (&[operation::BUS_WRITE | 1 << 24, 0x4000 | 1 << 48], fault::ADDRESS),
        (&[operation::TRANSMIT, 2], fault::DESTINATION),
        (&[operation::PERMISSION | 3 << 24 | 1 << 32, 0], fault::OPERAND),
        (&[operation::QUEUE_SET | 9 << 25, 0], fault::OPERAND),
    ];
    for (words, fault) in cases {
        let mut bench = Bench::new();
        let mut words = words.to_vec();
        words[0] |= COMMAND_NOTIFY | 3 << 16;
        command(&mut bench, 0, &words);
        bench.run_to(40);
        assert_eq!(register(&mut bench, 0, COMPLETION), 3 | fault << 32, "{words:x?}");
        assert_eq!(register(&mut bench, 0, FAULT), fault);
    }
}

#[test]
fn what_firmware_does_wrong_at_a_register_is_told() {
    let mut bench = Bench::new();
    let mut refused = |address, value| bench.firmware_store(0, address, value).expect_err("it is wrong");
    let state = VOYAGER_QUEUES + QUEUE_STATE_BYTES;
    for (address, value, problem) in [
        (VOYAGER_REGISTERS, 0, "no register to store to at offset 0x0"),
        (VOYAGER_MAP, 1, "MAP_SET"),
        (state + 0x38, 0, "offset 0x38"),
        (state + CONTROL, 1, "physical transmit queue 1 is used with 0 slots"),
        (VOYAGER_SRAM_UNCACHED + 0x7_fff8, 1, "beyond the banks"),
    ] {
        let told = refused(address, value);
        assert!(told.contains(problem), "{told}");
    }
    for offset in [0xff8, SNOOPED_START + 16, SNOOPED_START + 4] {
        assert!(bench.firmware_load(0, VOYAGER_REGISTERS + offset).is_err(), "two processes");
    }
}

/// OnePoll shows what a receive queue has that is not enabled, too.
#[test]
fn the_names_of_a_queue_are_checked_at_the_store_and_its_slots_before_they_are_read() {
    let mut bench = Bench::new();
    let physical = bench.firmware_load(0, VOYAGER_REGISTERS + LIMITS).expect("it is there") >> 16 & 0xffff;
    let state = VOYAGER_QUEUES + (physical + 1) * QUEUE_STATE_BYTES;
    for names in [0xff << 8, 7 << 16] {
        let told = bench.firmware_store(0, state + CONTROL, names).expect_err("there is no such");
        assert!(told.contains("physical receive queue 1 is for logical queue"), "{told}");
        bench.firmware_store(0, state + CONTROL, 0).expect("it is there");
    }
    let shown = |bench: &mut Bench, base, slots| {
        for (word, value) in [(BASE, base), (SLOTS, slots), (PRODUCER, 1), (CONSUMER, 0)] {
            bench.firmware_store(0, state + word, value).expect("the queue is not enabled");
        }
        bench.firmware_store(0, VOYAGER_REGISTERS + POLL_MASK, u64::MAX).expect("it is there");
        let source = bench.firmware_load(0, VOYAGER_REGISTERS + POLL).expect("it is there");
        assert_eq!(source & 0xffff, u64::from(SOURCE_RECEIVE) + 1);
        bench.firmware_load(0, VOYAGER_REGISTERS + POLL_ENTRY)
    };
    for (base, slots) in [(0x7_f000, 4), (0, 0), (0, 3), (0x1000 | 0xf_f000 << 32, 4)] {
        let told = shown(&mut bench, base, slots).expect_err("it has no such slots");
        assert!(told.contains("physical receive queue 1 is used with"), "{told}");
    }
    assert_eq!(shown(&mut bench, 0x1000, 4), Ok(0));
}

#[test]
fn firmware_frees_no_slot_twice() {
    let mut bench = Bench::new();
    let from = open(&mut bench, (0, 0), false, QueueKind::Resident, 0);
    for slot in 0..2 {
        write(&mut bench, 0, from.buffer + slot * SLOT_BYTES, 2 * 8 + 3, &[1, 2, 3, 4]);
    }
    bench.store(0, from.window + POINTER_PRODUCER, 2);
    bench.run_to(200);
    let miss = VOYAGER_QUEUES + u64::from(4 * QUEUE_STATE_BYTES as u32) + CONSUMER;
    bench.firmware_store(1, miss, 1).expect("a slot is in use");
    bench.firmware_store(1, miss, 2).expect("another one is");
    for freed in [3, 1] {
        let problem = bench.firmware_store(1, miss, freed).unwrap_err();
        assert!(
            problem.contains("which is 2 with 0 slots in use") && problem.contains("freed before"),
            "{problem}"
        );
    }
}

#[test]
fn a_queue_of_the_firmware_is_closed_and_unpinned_when_the_firmware_says_so() {
    let mut bench = Bench::new();
    let queue = open(&mut bench, (0, 0), true, QueueKind::NonResident, 1);
    let query = |bench: &mut Bench| {
        bench.call(0, 0, request::QUERY, &[]).expect("it is allowed");
        bench.memory(0).pinned.len()
    };
    bench.call(0, 0, request::CLOSE, &[1, 1]).expect("it is open");
    assert_eq!(bench.load(0, queue.window + POINTER_STATUS), QUEUE_CLOSING);
    assert_eq!(bench.call(0, 0, request::CLOSE, &[1, 1]), Err(CallError::Absent));
    assert_eq!(bench.call(0, 0, request::OPEN, &[1, 2, 4, 1, 0x4000]), Err(CallError::Busy));
    assert_eq!(query(&mut bench), 1);
    let shadow = VOYAGER_SRAM_UNCACHED + bench.layout().shadow(Direction::Receive, queue.logical as u8);
    bench.firmware_store(0, shadow + POINTER_STATUS, QUEUE_CLOSED).expect("SRAM");
    assert_eq!(query(&mut bench), 0);
    bench.call(0, 0, request::OPEN, &[1, 2, 4, 1, 0x4000]).expect("it is closed");
}

#[test]
fn cachable_queues_are_there_before_their_programs_ask_for_anything() {
    let mut bench = Bench::of_kind(QueueKind::Cachable, &[]);
    let layout = bench.layout();
    let slots = layout.cachable_slots();
    assert_eq!(slots, 16, "4 KiB of snooped space");
    let translation = register(&mut bench, 1, TRANSLATION) & 0xffff_ffff;
    let rank_3 = VOYAGER_SRAM_UNCACHED + translation + 3 * 8 * 8;
    assert_eq!(bench.firmware_load(1, rank_3), Ok(1 << 63 | 1 | 8 << 16), "process 1 of node 1");
    for process in 0..2 {
        for direction in Direction::BOTH {
            let about = direction as u64 | (u64::from(process) * 8) << 8 | 4 << 16 | slots << 32;
            let words: Vec<u64> = (0..8).map(|_| register(&mut bench, 1, AGENT)).collect();
            let queue = layout.cachable_queue(direction, process);
            let snooped = layout.snooped(process);
            assert_eq!(words[..4], [request::OPEN | u64::from(process) << 32, about, queue, snooped.start]);
            assert!(queue + slots * SLOT_BYTES <= snooped.end);
        }
    }
    let given = [1, QueueKind::Cachable.number(), 4, 1, 0];
    assert_eq!(bench.call(1, 0, request::OPEN, &given), Err(CallError::Invalid));
    assert_eq!(bench.call(1, 0, request::CLOSE, &[1, 0]), Err(CallError::Invalid));
    assert_eq!(bench.call(1, 0, request::OPEN, &[1, 2, 4, 0, 0x4000]), Err(CallError::Busy));
}

#[test]
fn a_line_is_flushed_and_its_permission_changed_by_commands_of_a_doubleword() {
    let mut bench = Bench::new();
    let line = bench.layout().snooped(0).start + 64;
    let short = |operation: u64| operation | COMMAND_SHORT | (line / 32) << 32;
    command(&mut bench, 0, &[short(operation::PERMISSION) | permission::READ << 17]);
    bench.run_to(10);
    assert!(bench.refuses(0, Kind::ReadExclusive, line) && !bench.refuses(0, Kind::Read, line));
    assert!(!bench.refuses(0, Kind::ReadExclusive, line + 32));
    command(&mut bench, 0, &[short(operation::BUS_FLUSH)]);
    bench.run_to(20);
    let seen: Vec<(Kind, u64)> = bench.seen.iter().map(|seen| (seen.2, seen.3)).collect();
    assert_eq!(seen, [(Kind::ReadExclusive, line), (Kind::WriteBack, line)]);
}

#[test]
fn a_packet_that_firmware_makes_goes_to_memory_or_to_the_miss_queue() {
    for to_firmware in [0, VOYAGER_TO_FIRMWARE] {
        let mut bench = Bench::new();
        bench.call(1, 1, request::DMA_REGISTER, &[0x6000, 0x1000]).expect("it is pinned");
        let staging = register(&mut bench, 0, FREE_A) & 0xffff_ffff;
        let staging = staging.next_multiple_of(32);
        let sram = VOYAGER_SRAM_UNCACHED + staging;
        let lines = [(0, 0x6020), (8, 24 | 9 << 8 | to_firmware), (32, 0x1111), (48, 0x3333)];
        for (offset, word) in lines {
            bench.firmware_store(0, sram + offset, word).expect("SRAM");
        }
        command(&mut bench, 0, &[operation::PACKET | (staging / 32) << 17 | 1 << 32 | 1 << 48]);
        bench.run_to(100);
        if to_firmware == 0 {
            let expected = [0x1111u64, 0, 0x3333].map(u64::to_le_bytes).concat();
            assert_eq!(bench.memory(1).at(FRAMES + 0x6020, 24), expected);
        } else {
            let header = 24 << 16 | 1 << 23 | 9 << 24 | 1 << 32;
            assert_eq!(poll(&mut bench, 1), (u64::from(SOURCE_RECEIVE) | 1 << 32, header));
            let slot = VOYAGER_SRAM_UNCACHED + (register(&mut bench, 1, MISS) & 0xffff_ffff);
            let words = [24, 32, 48].map(|offset| bench.firmware_load(1, slot + offset).expect("SRAM"));
            assert_eq!(words, [0x6020, 0x1111, 0x3333]);
        }
    }
}

/// As the C header's VOYAGER_PACKET_TO_FIRMWARE.
const VOYAGER_TO_FIRMWARE: u64 = 1 << 16;

#[test]
fn firmware_counts_for_a_channel_and_tells_a_program() {
    let mut bench = Bench::new();
    let queue = open(&mut bench, (0, 0), true, QueueKind::Resident, 0);
    bench.call(0, 0, request::CHANNEL_SET, &[1, 3, 0, 5]).expect("a channel");
    command(&mut bench, 0, &[operation::COUNT | 1 << 32 | 2 << 40, operation::COUNT | 1 << 32 | 1 << 40]);
    command(&mut bench, 0, &[operation::TELL | queue.logical << 32 | 6 << 40]);
    bench.run_to(100);
    assert_eq!(bench.load(0, queue.window + POINTER_PRODUCER), 2);
    assert_eq!([0, 96].map(|slot| read(&mut bench, 0, queue.buffer + slot).1), [5, 6]);
}
