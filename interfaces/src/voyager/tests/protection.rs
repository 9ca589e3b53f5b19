//! Wild values in everything that a program reaches: the error is its own.

use super::bench::Bench;
use super::{Queue, open, read, write};
use crate::device_call::CallError;
use crate::voyager::registers::*;

const WILD: [u64; 9] = [1, 5, 0x7fff, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, 1 << 63, u64::MAX];
const RESIDENT: QueueKind = QueueKind::Resident;

/// What process 1 of node 0 sends to process 1 of node 1 beside what process 0 does.
struct Neighbour {
    from: Queue,
    to: Queue,
    sent: u64,
}

impl Neighbour {
    fn new(bench: &mut Bench) -> Self {
        let from = open(bench, (0, 1), false, RESIDENT, 0);
        let to = open(bench, (1, 1), true, RESIDENT, 0);
        Neighbour { from, to, sent: 0 }
    }

    /// Its next message arrives, whatever else has happened.
    fn check(&mut self, bench: &mut Bench) {
        let slot = self.sent % 4 * SLOT_BYTES;
        let value = self.sent as u32 + 100;
        write(bench, 0, self.from.buffer + slot, 3 * 8, &value.to_le_bytes());
        self.sent += 1;
        bench.store(0, self.from.window + POINTER_PRODUCER, self.sent & 0xffff);
        let now = bench.cycle();
        bench.run_to(now + 300);
        assert_eq!(bench.load(1, self.to.window + POINTER_PRODUCER), self.sent & 0xffff);
        assert_eq!(read(bench, 1, self.to.buffer + slot).1, u64::from(value));
        bench.store(1, self.to.window + POINTER_CONSUMER, self.sent & 0xffff);
        assert_eq!(bench.load(0, self.from.window + POINTER_STATUS), QUEUE_OPEN);
    }
}

#[test]
fn wild_values_at_every_word_of_a_pointer_window_stop_that_queue_alone() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let mut neighbour = Neighbour::new(&mut bench);
    for is_receive in [false, true] {
        for offset in (0..4096).step_by(256).chain([0, 8, 16, 24, 0xff8]) {
            for value in WILD {
                let own = open(&mut bench, (0, 0), is_receive, RESIDENT, 5);
                bench.store(0, own.window + offset, value);
                let is_message = !is_receive && offset == POINTER_PRODUCER && value <= 4;
                let now = bench.cycle();
                bench.run_to(now + 20);
                let status = bench.load(0, own.window + POINTER_STATUS);
                let expected = if is_message { QUEUE_OPEN } else { QUEUE_BAD_POINTER };
                assert_eq!(status, expected, "offset {offset:#x}, {value:#x}");
                bench.call(0, 0, request::CLOSE, &[is_receive.into(), 5]).expect("it was open");
            }
        }
    }
    neighbour.check(&mut bench);
}

#[test]
fn parts_of_words_and_closed_queues_take_nothing() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let mut neighbour = Neighbour::new(&mut bench);
    let own = open(&mut bench, (0, 0), false, RESIDENT, 5);
    assert!(bench.store_of(0, own.window, 4, 1));
    assert_eq!(bench.load(0, own.window + POINTER_STATUS), QUEUE_BAD_POINTER);
    for windows in bench.layout().windows(0) {
        for (page, value) in windows.step_by(4096).zip(WILD.into_iter().cycle()) {
            if page != own.window {
                bench.store(0, page, value);
                assert_eq!(bench.load(0, page + POINTER_STATUS), QUEUE_CLOSED);
                assert_eq!(bench.load(0, page), 0);
            }
        }
    }
    assert_eq!(bench.firmware_load(0, VOYAGER_REGISTERS + CAPTURE), Ok(NOTHING));
    neighbour.check(&mut bench);
}

#[test]
fn wild_headers_stop_their_queue_alone_and_send_nothing() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let mut neighbour = Neighbour::new(&mut bench);
    // Four ranks of eight queues: 32 destinations; 64 entries of the table.
    let headers = [
        (32, QUEUE_BAD_DESTINATION),
        (63, QUEUE_BAD_DESTINATION),
        (64, QUEUE_BAD_DESTINATION),
        (0xffff, QUEUE_BAD_DESTINATION),
        (89 << 16, QUEUE_BAD_LENGTH),
        (127 << 16, QUEUE_BAD_LENGTH),
        (127 << 16 | 40, QUEUE_BAD_LENGTH),
        (0xff7f_ffff, QUEUE_BAD_LENGTH),
    ];
    for (header, error) in headers {
        let own = open(&mut bench, (0, 0), false, RESIDENT, 5);
        write(&mut bench, 0, own.buffer, header, &[]);
        bench.store(0, own.window, 1);
        let now = bench.cycle();
        bench.run_to(now + 100);
        assert_eq!(bench.load(0, own.window + POINTER_STATUS), error, "{header:#x}");
        assert_eq!(bench.load(0, own.window + POINTER_CONSUMER), 0);
        neighbour.check(&mut bench);
        bench.call(0, 0, request::CLOSE, &[0, 5]).expect("it was open");
    }
    assert_eq!(bench.firmware_load(1, VOYAGER_REGISTERS + STATUS), Ok(0), "nothing came to the firmware");
}

#[test]
fn a_translation_to_a_node_that_is_not_there_stops_the_queue_that_uses_it() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let mut neighbour = Neighbour::new(&mut bench);
    let own = open(&mut bench, (0, 0), false, RESIDENT, 5);
    let table = VOYAGER_SRAM_UNCACHED + bench.layout().translation(0);
    for node in [2, 3, 0xffff] {
        bench.firmware_store(0, table + 16 * 8, 1 << 63 | node).expect("it is SRAM");
        write(&mut bench, 0, own.buffer, 16, &[1; 4]);
        bench.store(0, own.window, 1);
        let now = bench.cycle();
        bench.run_to(now + 100);
        assert_eq!(bench.load(0, own.window + POINTER_STATUS), QUEUE_BAD_DESTINATION, "node {node}");
        neighbour.check(&mut bench);
        bench.call(0, 0, request::CLOSE, &[0, 5]).expect("it was open");
        open(&mut bench, (0, 0), false, RESIDENT, 5);
    }
}

#[test]
fn the_firmwares_bit_of_a_header_is_not_a_programs() {
    let mut bench = Bench::new();
    let from = open(&mut bench, (0, 0), false, RESIDENT, 0);
    let to = open(&mut bench, (1, 1), true, RESIDENT, 2);
    write(&mut bench, 0, from.buffer, (3 * 8 + 2) | 1 << 23, &[1; 4]);
    bench.store(0, from.window, 1);
    bench.run_to(100);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 1);
    assert_eq!(read(&mut bench, 1, to.buffer).0, 4 << 16);
}

#[test]
fn a_receive_queue_with_an_error_blocks_no_other() {
    let mut bench = Bench::with(&[("physical_queues", 8.into())]);
    let from = open(&mut bench, (0, 0), false, RESIDENT, 0);
    let to = open(&mut bench, (1, 0), true, RESIDENT, 0);
    let mut neighbour = Neighbour::new(&mut bench);
    bench.store(1, to.window + POINTER_CONSUMER, 3);
    assert_eq!(bench.load(1, to.window + POINTER_STATUS), QUEUE_BAD_POINTER);
    for message in 0..4 {
        write(&mut bench, 0, from.buffer + message * SLOT_BYTES, 2 * 8, &[0; 8]);
    }
    bench.store(0, from.window, 4);
    let now = bench.cycle();
    bench.run_to(now + 200);
    neighbour.check(&mut bench);
    assert_eq!(bench.load(1, to.window + POINTER_PRODUCER), 0);
}

#[test]
fn wild_requests_of_the_kernel_agent_are_errors() {
    let mut bench = Bench::new();
    let refused = [
        (request::OPEN, vec![2, 1, 4, 0, 0], CallError::Invalid),
        (request::OPEN, vec![0, 0, 4, 0, 0], CallError::Invalid),
        (request::OPEN, vec![0, 4, 4, 0, 0], CallError::Invalid),
        (request::OPEN, vec![0, 1, 3, 0, 0], CallError::Invalid),
        (request::OPEN, vec![0, 1, 0, 0, 0], CallError::Invalid),
        (request::OPEN, vec![0, 1, 1 << 15, 0, 0], CallError::Invalid),
        (request::OPEN, vec![0, 1, 4, 8, 0], CallError::Invalid),
        (request::OPEN, vec![0, 1, 4, u64::MAX, 0], CallError::Invalid),
        (request::OPEN, vec![0, 1, 1 << 12, 0, 0], CallError::NoMemory),
        (request::OPEN, vec![0, 2, 4, 0, 0x4008], CallError::Invalid),
        (request::OPEN, vec![0, 2, 4, 0, 0xffff_f000], CallError::BadAddress),
        (request::CLOSE, vec![0, 0], CallError::Absent),
        (request::CLOSE, vec![0, 9], CallError::Invalid),
        (request::DMA_REGISTER, vec![0, 0], CallError::Invalid),
        (request::DMA_REGISTER, vec![u64::MAX, 2], CallError::Invalid),
        (request::DMA_REGISTER, vec![0xffff_f000, 8], CallError::BadAddress),
        (request::CHANNEL_SET, vec![4, 1, 0, 0], CallError::Invalid),
        (request::CHANNEL_SET, vec![0, 1, 8, 0], CallError::Invalid),
        (request::CHANNEL_CLEAR, vec![4], CallError::Invalid),
        (request::CHANNEL_SET, vec![0, 1 << 32, 0, 0], CallError::Invalid),
        (0, vec![], CallError::UnknownRequest),
        (99, vec![], CallError::UnknownRequest),
    ];
    for (request, given, error) in refused {
        assert_eq!(bench.call(0, 0, request, &given), Err(error), "{request} {given:x?}");
    }
    open(&mut bench, (0, 0), false, RESIDENT, 0);
    assert_eq!(bench.call(0, 0, request::OPEN, &[0, 1, 4, 0, 0]), Err(CallError::Busy));
    assert_eq!(bench.call(0, 1, request::CLOSE, &[0, 0]), Err(CallError::Absent), "it is another's");
}

#[test]
fn serviced_and_snooped_space_of_one_process_are_not_anothers() {
    let bench = Bench::new();
    let layout = bench.layout();
    let mut parts: Vec<_> = (0..2)
        .flat_map(|process| {
            let windows = layout.windows(process).into_iter();
            windows.chain([
                layout.cachable_buffers(process),
                layout.uncached_buffers(process),
                layout.serviced(process),
                layout.snooped(process),
            ])
        })
        .collect();
    parts.sort_by_key(|part| part.start);
    assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert!(layout.buffers_of(0).end <= layout.buffers_of(1).start);
    assert!(layout.buffers_of(0).start >= layout.firmware_a.end);
}
