//! Copies against a plain copy, with agents beside that own and write other bytes.

use super::*;
use narthex_memory::protocols;
use proptest::prelude::*;

const BLOCK_BYTES: usize = 64;
const MEMORY_BYTES: u64 = 512;

fn engine(burst_bytes: usize) -> DmaEngine {
    let port = |name: &str| Port {
        name: name.to_owned(),
        reach: std::iter::once(0..MEMORY_BYTES).collect(),
        has_byte_enables: false,
    };
    DmaEngine::new(Build {
        name: "copy".into(),
        start_time: Duration::from_ns(10),
        block_time: Duration::from_ns(3),
        burst_bytes,
        block_bytes: BLOCK_BYTES,
        protocol: protocols::by_name("MESI").expect("a protocol"),
        ports: vec![port("first bus"), port("second bus")],
    })
}

/// Two memories with an engine between them, and when it is to be called.
struct Bench {
    engine: DmaEngine,
    memories: [Vec<u8>; 2],
    now: Time,
    timers: Vec<Time>,
    /// What crossed: port, kind, address.
    crossed: Vec<(usize, Kind, u64)>,
}

impl Bench {
    fn new(burst_bytes: usize) -> Self {
        let bytes = |seed: u64| (0..MEMORY_BYTES).map(|place| (place * 7 + seed) as u8).collect();
        let memories = [bytes(1), bytes(100)];
        let engine = engine(burst_bytes);
        Bench { engine, memories, now: Time::ZERO, timers: Vec::new(), crossed: Vec::new() }
    }

    fn start(&mut self, descriptor: Descriptor) -> Result<(), String> {
        self.engine.start(self.now, descriptor, &mut self.timers)
    }

    /// A transaction of a port, if it wants one; false if not.
    fn cross(&mut self, port: usize) -> bool {
        self.try_cross(port).expect("a sound descriptor")
    }

    fn try_cross(&mut self, port: usize) -> Result<bool, String> {
        if !self.engine.wants(port) {
            return Ok(false);
        }
        let Some(transaction) = self.engine.issue(self.now, port, &mut self.timers) else { return Ok(true) };
        self.crossed.push((port, transaction.kind, transaction.address));
        let start = transaction.address as usize;
        if let Some(data) = &transaction.data {
            self.memories[port][start..start + data.len()].copy_from_slice(data);
        }
        let start = start - start % BLOCK_BYTES;
        let block = &mut self.memories[port][start..start + BLOCK_BYTES];
        let data = transaction.kind.fetches_block().then(|| BlockData::from_bytes(block));
        let response = Response { data, ..Response::default() };
        self.engine.complete(self.now, port, &response, &mut self.timers).map(|()| true)
    }

    /// The next instant comes.
    fn tick(&mut self) -> bool {
        self.timers.sort_unstable();
        if self.timers.is_empty() {
            return false;
        }
        self.now = self.timers.remove(0).max(self.now);
        self.engine.timer(self.now).expect("a sound list");
        true
    }

    /// A descriptor in the second memory.
    fn put(&mut self, place: u64, words: [u64; 4]) {
        for (word, bytes) in words.iter().zip(self.memories[1][place as usize..].chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Another agent writes a byte, as a cache does: it takes the block over first.
    fn write(&mut self, port: usize, address: u64, value: u8) {
        let block = address - address % BLOCK_BYTES as u64;
        let seen = Transaction::block(AgentId(9), Kind::ReadExclusive, block);
        let reply = self.engine.snoop(port, &seen);
        if let Some(data) = reply.supplies {
            self.memories[port][block as usize..][..BLOCK_BYTES].copy_from_slice(&data);
        }
        self.memories[port][address as usize] = value;
    }

    /// Until it is idle; `first` says which port is served first.
    fn run(&mut self, first: usize) {
        for _ in 0..10_000 {
            if !self.cross(first) && !self.cross(1 - first) && !self.tick() {
                assert!(!self.engine.is_busy(), "{}", self.engine.describe());
                return;
            }
        }
        panic!("it does not end: {}", self.engine.describe());
    }
}

#[test]
fn whole_blocks_are_written_and_parts_are_merged() {
    let mut bench = Bench::new(BLOCK_BYTES);
    let flags = DESTINATION_PORT;
    bench.start(Descriptor { source: 0, destination: 60, length: 72, flags, next: 0 }).expect("sound");
    bench.run(0);
    let kinds: Vec<(usize, Kind, u64)> = bench.crossed.clone();
    let expected = [
        (0, Kind::ReadOnce, 0),
        (1, Kind::ReadExclusive, 0),
        (1, Kind::WriteBack, 0),
        (0, Kind::ReadOnce, 64),
        (1, Kind::WriteBlock, 64),
        (1, Kind::ReadExclusive, 128),
        (1, Kind::WriteBack, 128),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(bench.engine.completed(), 1);
}

#[test]
fn parts_are_written_by_themselves_where_it_has_byte_enables() {
    let mut bench = Bench::new(BLOCK_BYTES);
    bench.engine.build.ports[1].has_byte_enables = true;
    let mut expected = bench.memories[1].clone();
    expected[60..132].copy_from_slice(&bench.memories[0][..72]);
    let flags = DESTINATION_PORT;
    bench.start(Descriptor { source: 0, destination: 60, length: 72, flags, next: 0 }).expect("sound");
    bench.run(0);
    let written: Vec<_> = bench.crossed.iter().filter(|(port, ..)| *port == 1).copied().collect();
    let write = |address| (1, Kind::WriteBlock, address);
    assert_eq!(written, [write(60), write(64), write(128)]);
    assert!(bench.memories[1] == expected);
}

#[test]
fn what_is_beyond_its_memory_is_refused_by_engine_descriptor_and_address() {
    let mut bench = Bench::new(BLOCK_BYTES);
    let refused = |bench: &mut Bench, descriptor| bench.start(descriptor).expect_err("it is refused");
    let copy = Descriptor { source: 0, destination: 500, length: 20, flags: DESTINATION_PORT, next: 0 };
    assert_eq!(
        refused(&mut bench, copy),
        "DMA engine copy: descriptor 0 writes to 0x1f4, 20 bytes, which is beyond the memory on the second bus"
    );
    let text = refused(&mut bench, Descriptor { source: u64::MAX, length: 2, ..Descriptor::default() });
    assert!(text.contains("reads from 0xffffffffffffffff, 2 bytes"), "{text}");
    assert!(bench.engine.start_list(0x10).expect_err("no multiple").contains("no multiple of 32"));
    assert!(!bench.engine.is_busy());
    bench.start(Descriptor { length: 1, ..Descriptor::default() }).expect("sound");
    let text = refused(&mut bench, Descriptor::default());
    assert_eq!(text, "DMA engine copy is started while it is busy");
}

#[test]
fn a_list_is_copied_one_after_the_other_reported_and_told_by_the_interrupt_line() {
    let mut bench = Bench::new(BLOCK_BYTES);
    bench.put(448, [8, 200, 5 | u64::from(WORD) << 32, 480 | 1]);
    bench.put(480, [16, 208, u64::from(INTERRUPT) << 32 | 3, 0]);
    bench.engine.state.completion = 256;
    bench.engine.start_list(448 | 1).expect("sound");
    let mut expected = bench.memories[0].clone();
    expected.copy_within(8..13, 200);
    expected.copy_within(16..19, 208);
    expected[256..264].copy_from_slice(&1u64.to_le_bytes());
    bench.run(1);
    assert!(bench.memories[0] == expected);
    assert_eq!((bench.engine.completed(), bench.engine.state.interrupt), (2, true));
}

/// Two descriptors lead to a circle of three.
fn circle() -> Bench {
    let mut bench = Bench::new(BLOCK_BYTES);
    let next = [(0, 32), (32, 64), (64, 96), (96, 128), (128, 64)];
    for (place, next) in next {
        bench.put(256 + place, [0, 8, 8, (256 + next) | 1]);
    }
    bench.engine.start_list(256 | 1).expect("sound");
    bench
}

#[test]
fn a_list_that_goes_in_a_circle_is_refused_and_named() {
    let mut bench = circle();
    let refused = loop {
        match bench.try_cross(1).and_then(|crossed| Ok(crossed || bench.try_cross(0)?)) {
            Ok(crossed) => assert!(crossed || bench.tick(), "{}", bench.engine.describe()),
            Err(problem) => break problem,
        }
        assert!(bench.engine.completed() < 20);
    };
    assert!(refused.starts_with("DMA engine copy: its list goes in a circle: descriptor "), "{refused}");
    assert!(refused.contains(" again; end the list by a next of 0"), "{refused}");
}

#[test]
fn a_list_that_is_changed_where_it_comes_back_goes_on() {
    let mut bench = circle();
    for length in 9.. {
        // Each descriptor of the circle says something else each time.
        [64, 96, 128].into_iter().for_each(|place| bench.memories[1][256 + place as usize + 16] = length);
        if bench.engine.completed() > 12 {
            bench.memories[1][256 + 128 + 24..256 + 128 + 32].fill(0);
            return bench.run(1);
        }
        let _ = bench.cross(1) || bench.cross(0) || bench.tick();
    }
}

proptest! {
    #[test]
    fn a_copy_of_any_alignment_is_a_plain_copy_beside_what_others_write(
        source in 0..300u64, destination in 0..300u64, length in 0..200u32, flags in 0..4u32,
        burst in prop::sample::select(vec![64usize, 128, 256]), first in 0..2usize,
        writes in prop::collection::vec((0..512u64, any::<u8>(), 0..8usize), 0..12),
    ) {
        let mut bench = Bench::new(burst);
        let descriptor = Descriptor { source, destination, length, flags, next: 0 };
        let (from, to) = (descriptor.source_port(), descriptor.destination_port());
        let end = |start: u64| start + u64::from(length);
        // What overlaps in one memory has no order; others write beside the copy.
        prop_assume!(from != to || end(source) <= destination || end(destination) <= source);
        let mut expected = bench.memories.clone();
        let copied = expected[from][source as usize..end(source) as usize].to_vec();
        expected[to][destination as usize..end(destination) as usize].copy_from_slice(&copied);
        bench.start(descriptor).expect("sound");
        for (address, value, turns) in writes {
            let is_copied = (destination..end(destination)).contains(&address);
            let is_read = from == to && (source..end(source)).contains(&address);
            if !is_copied && !is_read {
                bench.write(to, address, value);
                expected[to][address as usize] = value;
            }
            for _ in 0..turns {
                let _ = bench.cross(first) || bench.cross(1 - first) || bench.tick();
            }
        }
        bench.run(first);
        prop_assert!(bench.memories == expected);
    }
}
