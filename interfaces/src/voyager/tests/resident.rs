use super::bench::Bench;
use super::{open, read, uncached, write};
use crate::description::DeviceDescription;
use crate::device_call::CallError;
use crate::voyager::device::SERVICE;
use crate::voyager::registers::{
    KIND_URGENT, POINTER_CONSUMER, POINTER_PRODUCER, POINTER_STATUS, QUEUE_CLOSED, QUEUE_NOT_DRAINED,
    QUEUE_OPEN, QueueKind, SLOT_BYTES, request,
};
use crate::voyager::tests::Queue;

const RESIDENT: QueueKind = QueueKind::Resident;

/// Process 0 of node 0 has transmit queue 0, process 1 of node 1 receive queue 2. A process has
/// eight queues, and it is rank 3: virtual destination 3 * 8 + 2.
fn pair(bench: &mut Bench) -> (Queue, Queue) {
    let from = open(bench, (0, 0), false, RESIDENT, 0);
    let to = open(bench, (1, 1), true, RESIDENT, 2);
    (from, to)
}

const DESTINATION: u64 = 3 * 8 + 2;

#[test]
fn a_message_of_four_bytes_takes_25_cycles_from_the_store_of_its_pointer_to_the_other_side() {
    let mut bench = Bench::new();
    let (from, to) = pair(&mut bench);
    write(&mut bench, 0, from.buffer, DESTINATION | 0x5a << 24, &7u32.to_le_bytes());
    bench.store(0, from.window + POINTER_PRODUCER, 1);
    // transmit_cycles 8, one cycle of SRAM for 8 bytes: the slot is free.
    bench.run_to(8);
    assert_eq!(bench.load(0, from.window + POINTER_CONSUMER), 0);
    bench.run_to(9);
    assert_eq!(bench.load(0, from.window + POINTER_CONSUMER), 1);
    // The network's 10, receive_cycles 6, one cycle of SRAM.
    bench.run_to(24);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 0);
    bench.run_to(25);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 1, to.buffer), (4 << 16 | 0x5a << 24, 7), "rank 0 sends four bytes");
}

#[test]
fn messages_of_88_bytes_leave_20_cycles_apart() {
    let mut bench = Bench::new();
    let (from, to) = pair(&mut bench);
    for slot in 0..3 {
        write(&mut bench, 0, from.buffer + slot * SLOT_BYTES, DESTINATION, &[slot as u8; 88]);
    }
    bench.store(0, from.window + POINTER_PRODUCER, 3);
    // transmit_cycles 8 and 12 cycles of SRAM for 92 bytes.
    for message in 1..=3 {
        bench.run_to(20 * message - 1);
        assert_eq!(bench.load(0, from.window + POINTER_CONSUMER), message - 1);
        bench.run_to(20 * message);
        assert_eq!(bench.load(0, from.window + POINTER_CONSUMER), message);
    }
    // The receiver takes 6 + 12 a message, less than the sender: the last has left at 48.
    bench.run_to(48 + 10 + 18 - 1);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 2);
    bench.run_to(48 + 10 + 18);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 3);
    let last = (bench.load(1, uncached(to.buffer + 2 * SLOT_BYTES + 88)), read(&mut bench, 1, to.buffer).0);
    assert_eq!(last, (0x0202_0202, 88 << 16));
}

#[test]
fn a_full_receive_queue_holds_the_network_until_a_slot_is_free() {
    let mut bench = Bench::new();
    let (from, to) = pair(&mut bench);
    for message in 0..4 {
        write(&mut bench, 0, from.buffer + message * SLOT_BYTES, DESTINATION, &[1; 4]);
    }
    bench.store(0, from.window + POINTER_PRODUCER, 4);
    bench.run_to(100);
    write(&mut bench, 0, from.buffer, DESTINATION, &[2; 4]);
    bench.store(0, from.window + POINTER_PRODUCER, 5);
    bench.run_to(1000);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 4);
    assert_eq!(bench.load(1, to.window + POINTER_STATUS), QUEUE_OPEN);
    bench.store(1, to.window + POINTER_CONSUMER, 1);
    bench.run_to(1001);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 5);
    assert_eq!(read(&mut bench, 1, to.buffer).1, 0x0202_0202);
}

/// Process 0 of node 0 sends five messages to the four slots of process 0 of node 1, of this rank.
fn overfilled(bench: &mut Bench, rank: u64) -> (Queue, Queue) {
    let from = open(bench, (0, 0), false, RESIDENT, 0);
    let to = open(bench, (1, 0), true, RESIDENT, 2);
    for message in 0..5 {
        write(bench, 0, from.buffer + message % 4 * SLOT_BYTES, rank * 8 + 2, &[1; 4]);
        bench.store(0, from.window + POINTER_PRODUCER, message + 1);
        let now = bench.cycle();
        bench.run_to(now + 50);
    }
    (from, to)
}

#[test]
fn a_call_of_another_process_leaves_a_packet_that_is_held_where_it_is() {
    let mut bench = Bench::new();
    let (_, to) = overfilled(&mut bench, 2);
    bench.call(1, 1, request::QUERY, &[]).expect("it is answered");
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 4);
    bench.store(1, to.window + POINTER_CONSUMER, 1);
    let now = bench.cycle();
    bench.run_to(now + 1);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 5);
}

#[test]
fn a_queue_that_stays_full_is_stopped_where_it_could_hold_up_another_job() {
    let limit = [("drain_limit", "1us".into()), ("physical_queues", 8.into())];
    for (mut bench, rank, status) in
        [(Bench::of_jobs(&limit), 1, QUEUE_NOT_DRAINED), (Bench::with(&limit), 2, QUEUE_OPEN)]
    {
        let (from, to) = overfilled(&mut bench, rank);
        // The fifth message was looked up at 250 at the latest; 1 us are 100 cycles.
        bench.run_to(230);
        assert_eq!(bench.load(1, to.window + POINTER_STATUS), QUEUE_OPEN);
        bench.run_to(400);
        assert_eq!(bench.load(1, to.window + POINTER_STATUS), status);
        let note = bench.device(1).queue(SERVICE).note;
        let told = note.contains(" of process 0 was stopped at ") && note.contains("drain_limit (1us)");
        assert_eq!(told, status == QUEUE_NOT_DRAINED, "{note}");
        // What comes after it for another queue is there, or waits with it.
        let other = open(&mut bench, (1, 0), true, RESIDENT, 3);
        write(&mut bench, 0, from.buffer + SLOT_BYTES, rank * 8 + 3, &[2; 4]);
        bench.store(0, from.window + POINTER_PRODUCER, 6);
        bench.run_to(500);
        let arrived = u64::from(status == QUEUE_NOT_DRAINED);
        assert_eq!(bench.load(1, other.window + POINTER_PRODUCER), arrived);
    }
}

#[test]
fn a_queue_that_is_drained_in_time_is_not_stopped() {
    let mut bench = Bench::of_jobs(&[("drain_limit", "1us".into())]);
    let (_, to) = overfilled(&mut bench, 1);
    bench.run_to(300);
    bench.store(1, to.window + POINTER_CONSUMER, 1);
    bench.run_to(1000);
    assert_eq!(bench.load(1, to.window + POINTER_STATUS), QUEUE_OPEN);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 5);
}

#[test]
fn queues_of_a_node_are_served_in_turn() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let queues = [0, 1].map(|process| open(&mut bench, (0, process), false, RESIDENT, 0));
    for queue in queues {
        for slot in 0..2 {
            write(&mut bench, 0, queue.buffer + slot * SLOT_BYTES, DESTINATION, &[0; 4]);
        }
        bench.store(0, queue.window + POINTER_PRODUCER, 2);
    }
    let mut sent = Vec::new();
    for message in 1..=4 {
        bench.run_to(9 * message);
        sent.push(queues.map(|queue| bench.load(0, queue.window + POINTER_CONSUMER)));
    }
    assert_eq!(sent, [[1, 0], [1, 1], [2, 1], [2, 2]]);
}

/// Process 1's transmit queue with the network's high priority, and the receive queue of
/// process 1 of node 1 to which its messages go.
fn urgent_pair(bench: &mut Bench) -> (Queue, Queue) {
    let kind = RESIDENT.number() | KIND_URGENT;
    let words = bench.call(0, 1, request::OPEN, &[0, kind, 4, 0, 0]).expect("it opens");
    let from = Queue { logical: words[5], window: words[6], buffer: words[7] };
    (from, open(bench, (1, 1), true, RESIDENT, 3))
}

#[test]
fn an_urgent_message_passes_one_that_waits_for_a_slot() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let (from, to) = pair(&mut bench);
    let (urgent, urgent_to) = urgent_pair(&mut bench);
    for round in [4, 5] {
        for slot in 0..4 {
            write(&mut bench, 0, from.buffer + slot * SLOT_BYTES, DESTINATION, &[1; 4]);
        }
        bench.store(0, from.window + POINTER_PRODUCER, round);
        bench.run_to(100 * (round - 3));
    }
    // The fifth message waits in the network.
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 4);
    write(&mut bench, 0, urgent.buffer, DESTINATION + 1, &[9; 4]);
    bench.store(0, urgent.window + POINTER_PRODUCER, 1);
    // transmit_cycles 8, the network's 10, receive_cycles 6, one cycle of SRAM.
    bench.run_to(200 + 24);
    assert_eq!(bench.load(1, urgent_to.window + POINTER_PRODUCER), 0);
    bench.run_to(200 + 25);
    assert_eq!(bench.load(1, urgent_to.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 1, urgent_to.buffer).1, 0x0909_0909);
    bench.store(1, to.window + POINTER_CONSUMER, 1);
    bench.run_to(240);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 5, "the other one is not lost");
}

#[test]
fn urgent_queues_are_served_before_others() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let (from, _) = pair(&mut bench);
    let (urgent, _) = urgent_pair(&mut bench);
    for queue in [from, urgent] {
        for slot in 0..2 {
            write(&mut bench, 0, queue.buffer + slot * SLOT_BYTES, DESTINATION, &[0; 4]);
        }
        bench.store(0, queue.window + POINTER_PRODUCER, 2);
    }
    let mut sent = Vec::new();
    for message in 1..=4 {
        bench.run_to(9 * message);
        sent.push([from, urgent].map(|queue| bench.load(0, queue.window + POINTER_CONSUMER)));
    }
    // The first message of the other queue had begun.
    assert_eq!(sent, [[1, 0], [1, 1], [1, 2], [2, 2]]);
}

#[test]
fn only_resident_transmit_queues_are_urgent() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    for (is_receive, kind) in [(1, RESIDENT), (0, QueueKind::NonResident), (0, QueueKind::Hybrid)] {
        let given = [is_receive, kind.number() | KIND_URGENT, 4, 0, 0x4000];
        assert_eq!(bench.call(0, 0, request::OPEN, &given), Err(CallError::Invalid));
    }
}

#[test]
fn a_closed_queue_tells_so_and_its_slots_can_be_had_again() {
    let mut bench = Bench::new();
    let (from, _) = pair(&mut bench);
    bench.call(0, 0, request::CLOSE, &[0, 0]).expect("it was open");
    assert_eq!(bench.load(0, from.window + POINTER_STATUS), QUEUE_CLOSED);
    let again = open(&mut bench, (0, 0), false, RESIDENT, 0);
    assert_eq!((again.buffer, again.logical), (from.buffer, from.logical));
    assert_eq!(bench.load(0, again.window + POINTER_STATUS), QUEUE_OPEN);
}

#[test]
fn there_are_as_many_resident_queues_as_the_firmware_leaves() {
    // Four physical queues: the firmware's own, two for hybrid queues.
    let mut bench = Bench::new();
    open(&mut bench, (0, 0), true, RESIDENT, 0);
    let given = [1, RESIDENT.number(), 4, 1, 0];
    assert!(bench.call(0, 0, request::OPEN, &given).is_err());
}

#[test]
fn a_process_finds_what_came_before_it_opened_its_first_resident_queue() {
    let mut bench = Bench::of_kind(RESIDENT, &[("physical_queues", 8.into())]);
    let from = open(&mut bench, (0, 0), false, RESIDENT, 0);
    write(&mut bench, 0, from.buffer, 3 * 8, &[6; 4]);
    bench.store(0, from.window, 1);
    bench.run_to(100);
    let to = open(&mut bench, (1, 1), true, RESIDENT, 0);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 1, to.buffer).1, 0x0606_0606);
    assert!(bench.call(1, 1, request::OPEN, &[1, RESIDENT.number(), 4, 0, 0]).is_err(), "it is open");
}
