//! Timed scenarios of a PCIe link whose root complex is on a directory, and litmus tests of its order.
//!
//! The link has four lanes of the first generation, so that a byte takes a nanosecond: a request of
//! 24 bytes 24 ns besides its data, a completion 20. A packet takes 150 ns after that, a credit 5 ns.
//! The device takes 30 ns for an access.

mod ordering;

use super::super::super::directory::{Directory, Homes};
use super::super::super::pcie::{IommuConfig, Keys, Pcie, ReceiveBuffers};
use super::*;
use crate::directory::protocols;
use crate::interrupt::Interrupt;
use narthex_kernel::statistics::Value;

fn keys() -> Keys {
    let buffers = ReceiveBuffers {
        posted_headers: 200,
        posted_data: 800,
        non_posted_headers: 64,
        completion_headers: 200,
        completion_data: 800,
    };
    Keys {
        behind: "chip".into(),
        generation: 1,
        lanes: 4,
        max_payload: "256B".parse().unwrap(),
        max_read_request: "512B".parse().unwrap(),
        read_completion_boundary: "64B".parse().unwrap(),
        completion_size: None,
        request_header: "24B".parse().unwrap(),
        completion_header: "20B".parse().unwrap(),
        ecrc: "0B".parse().unwrap(),
        link_layer_share: 0.0,
        tags: 64,
        writes_ahead: None,
        id_based_ordering: None,
        iommu: None,
        root_complex_credits: buffers.clone(),
        endpoint_credits: buffers,
        root_complex_latency: Duration::from_ns(100),
        host_time: None,
        link_latency: Duration::from_ns(5),
        switch_latency: Duration::ZERO,
        endpoint_latency: Duration::from_ns(45),
    }
}

/// A chip whose device is behind such a link.
fn chip(processors: usize, keys: &Keys, seed: Option<u64>) -> Chip {
    let settings = Settings { transactions: 64, seed, ..Settings::of("MESI", processors) };
    let mut chip = Chip::with(settings);
    let (on, device, behind) = (InterconnectId(0), chip.device_id(), InterconnectId(1));
    let root_complex = AgentId::of_bridge(behind);
    let registers = |home| {
        let mut map = AddressMap::default();
        map.add(REGISTERS..REGISTERS + 0x1000, home).unwrap();
        map
    };
    let ports = (0..device.0).map(|number| AgentPort::of_processor(AgentId(number)));
    let port = AgentPort { holds: true, ..AgentPort::of_device(root_complex, 0..0) };
    let ports = AgentPorts::new(ports.chain([port]).collect());
    let ranges = registers(Home::Agent(root_complex));
    let homes = Homes { ranges, interleaved: vec![MemoryId(0)], tiles: None };
    let table = protocols::by_name("MESI").unwrap();
    let names = |name| Names { name, prefix: "" };
    let directory = Directory::new(names("chip"), &settings_config(&settings), table, ports, homes);
    let ports = AgentPorts::new(vec![AgentPort::of_device(device, 0..0)]);
    let devices = (ports, registers(Home::Agent(device)));
    let link = Pcie::new(names("link"), keys, (on, root_complex), devices, BLOCK_BYTES);
    chip.interconnects = vec![directory.into(), link.into()];
    chip
}

/// A read of the device, with a tag of its own.
fn read(chip: &Chip, tag: u8, address: u64, bytes: u16) -> Transaction {
    let read = Transaction::block(chip.device_id(), Kind::ReadOnce, address);
    Transaction { tag: TransactionTag(tag), size: bytes, ..read }
}

/// A write of the device of this many bytes, all of them 7.
fn write(chip: &Chip, address: u64, bytes: usize) -> Transaction {
    Transaction::carrying(chip.device_id(), Kind::WriteBlock, address, BlockData::from_bytes(&vec![7; bytes]))
}

/// A statistic of the link: a number, or the one of a direction or of a kind of packet.
fn counted(chip: &Chip, name: &str, of: &str) -> u64 {
    let mut found = None;
    let (_, set) = chip.interconnects[1].statistics()[0];
    set.visit(&mut |description, value| {
        if description.name == name {
            found = Some(value);
        }
    });
    match found.expect("it is counted") {
        Value::Number(number) => number,
        Value::Counts(counts) => counts.iter().find(|(kind, _)| kind == of).map_or(0, |(_, count)| *count),
        other => unreachable!("{other:?}"),
    }
}

fn byte(chip: &Chip, address: u64) -> u8 {
    let mut byte = [0];
    chip.memories[0].bytes.read(address, &mut byte);
    byte[0]
}

#[test]
fn a_store_is_over_when_the_link_has_taken_it_and_at_the_device_a_packet_later() {
    let mut chip = chip(1, &keys(), None);
    chip.begin(0, 0, Store(REGISTERS, 1));
    chip.run();
    // A message to the root complex, 24 + 8 bytes, the way, the device.
    assert_eq!(chip.accessed, [10 + 32 + 150 + 30]);
    assert_eq!(chip.finished, [done(10 + 10, 0, 1)]);
    assert!(chip.interconnects[1].is_idle_at(Time::from_ps(1_000_000)));
}

#[test]
fn a_load_takes_a_request_the_device_and_a_completion() {
    let mut chip = chip(1, &keys(), None);
    chip.begin(0, 0, Load(REGISTERS));
    chip.run();
    let there = 10 + 24 + 150 + 30;
    assert_eq!(chip.accessed, [there]);
    assert_eq!(chip.finished, [done(there + (20 + 8) + 150 + 10, 0, REGISTER_VALUE)]);
}

#[test]
fn a_load_that_the_device_holds_is_answered_when_it_answers() {
    let mut chip = chip(1, &keys(), None);
    chip.holds = true;
    chip.begin(0, 0, Load(REGISTERS));
    chip.run();
    assert_eq!((chip.accessed.len(), chip.finished.len()), (1, 0));
    assert_eq!(
        chip.interconnects[1].describe().as_deref(),
        Some("link: loads of processors that wait for completions (1)")
    );
    let response = Response { value: 5, ..Response::default() };
    answer(&mut chip, Time::from_ps(500_000), InterconnectId(1), (AgentId(0), TransactionTag(1)), response);
    chip.run();
    assert_eq!(chip.finished, [done(500 + 28 + 150 + 10, 0, 5)]);
}

#[test]
fn a_device_reads_a_block_with_a_request_and_a_completion() {
    let mut chip = chip(1, &keys(), None);
    chip.memories[0].bytes.write(BLOCK, &[3; 64]);
    chip.device(0, read(&chip, 0, BLOCK, 0));
    chip.run();
    // The request is at the root complex; the directory answers in 72 ns; 20 + 64 bytes come back.
    assert_eq!(chip.of_device, [(24 + 150 + 72 + 84 + 150, Some(3))]);
}

#[test]
fn a_device_reads_what_a_cache_has_changed() {
    let mut chip = chip(1, &keys(), None);
    chip.begin(0, 0, Store(BLOCK, 9));
    chip.device(500, read(&chip, 0, BLOCK, 0));
    chip.run();
    assert_eq!(chip.of_device[0].1, Some(9));
}

#[test]
fn a_read_of_4_kib_is_split_into_requests_and_completions_that_fill_the_link() {
    for (boundary, completions, first) in [(64, 64, 72), (128, 32, 74)] {
        let boundary = format!("{boundary}B").parse().unwrap();
        let keys = Keys { read_completion_boundary: boundary, ..keys() };
        let mut chip = chip(1, &keys, None);
        chip.memories[0].bytes.write(0x2000, &[3; 4096]);
        chip.device(0, read(&chip, 0, 0x2000, 4096));
        chip.run();
        // Blocks come each 2 ns, sooner than they cross the link: from the first completion on it is busy.
        let bytes = 4096 + completions * 20;
        assert_eq!(chip.of_device, [(24 + 150 + first + bytes + 150, Some(3))]);
        assert_eq!(counted(&chip, "packets", "memory_read_up"), 8);
        assert_eq!(counted(&chip, "packets", "completion_down"), completions);
        assert_eq!(counted(&chip, "payload", "down"), 4096);
        assert_eq!(counted(&chip, "overhead", "up"), 8 * 24);
    }
}

#[test]
fn a_write_is_over_for_its_device_at_once_and_in_memory_behind_the_link() {
    let mut chip = chip(1, &keys(), None);
    chip.device(0, write(&chip, BLOCK, 64));
    let there = 24 + 64 + 150 + 10;
    chip.run_until(there - 1);
    assert_eq!((chip.of_device.as_slice(), byte(&chip, BLOCK)), (&[(0, None)][..], 0));
    chip.run_until(there);
    assert_eq!(byte(&chip, BLOCK), 7);
}

#[test]
fn a_write_of_4_kib_is_split_by_the_largest_payload_and_written_block_by_block() {
    let mut chip = chip(1, &keys(), None);
    chip.device(0, write(&chip, 0x2000, 4096));
    chip.run();
    assert_eq!(counted(&chip, "packets", "memory_write_up"), 16);
    assert!((0..4096).all(|offset| byte(&chip, 0x2000 + offset) == 7));
}

/// One block is written by a processor before, and only in its cache.
#[test]
fn a_write_of_parts_of_two_blocks_crosses_once_and_leaves_the_rest_as_it_was() {
    let mut chip = chip(1, &keys(), None);
    chip.memories[0].bytes.write(BLOCK, &[3; 128]);
    chip.begin(0, 0, Store(BLOCK, 9));
    chip.device(500, write(&chip, BLOCK + 60, 8));
    chip.run();
    let bytes: Vec<u8> = [0, 59, 60, 67, 68].map(|offset| byte(&chip, BLOCK + offset)).into();
    assert_eq!(bytes, [9, 3, 7, 7, 3]);
    assert_eq!(counted(&chip, "packets", "memory_write_up"), 1);
    assert_eq!(counted(&chip, "payload", "up"), 8);
    assert!(chip.interconnects[1].is_idle_at(Time::from_ps(9_000_000)));
}

#[test]
fn a_stream_of_writes_has_the_rate_that_headers_and_the_link_layer_leave() {
    let keys = Keys { link_layer_share: 0.04, ..keys() };
    let mut chip = chip(1, &keys, None);
    for block in 0..100 {
        chip.device(0, write(&chip, 0x2000 + block * 64, 64));
    }
    // 64 of 88 bytes at 0.96 bytes a nanosecond, each packet rounded up to a picosecond.
    let last = (100.0f64 * 88.0 / 0.96).ceil() as u64 + 150 + 10;
    chip.run_until(last - 1);
    assert_eq!(byte(&chip, 0x2000 + 99 * 64), 0);
    chip.run_until(last + 1);
    assert_eq!(byte(&chip, 0x2000 + 99 * 64), 7);
}

#[test]
fn a_store_without_a_credit_waits_until_the_device_has_taken_the_one_before() {
    let few = ReceiveBuffers { posted_headers: 1, ..keys().endpoint_credits };
    let mut chip = chip(1, &Keys { endpoint_credits: few, ..keys() }, None);
    chip.begin(0, 0, Store(REGISTERS, 1));
    chip.begin(21, 0, Store(REGISTERS, 2));
    chip.run_until(200);
    let waits = chip.interconnects[1].describe().unwrap();
    let words = "writes to the device that wait for credits (1; the oldest of 0x20000 since 31ns, which needs 1 of \
                 header and 1 of data, where 0 and 799 are free)";
    assert!(waits.contains(words), "{waits}");
    chip.run();
    // The first one is done at 222, and known to be 5 ns later.
    assert_eq!(chip.finished, [done(20, 0, 1), done(227 + 10, 0, 2)]);
    assert_eq!(counted(&chip, "credit_wait", "down"), (227 - 31) * 1_000);
}

#[test]
fn an_interrupt_is_a_packet_of_four_bytes_that_comes_when_older_writes_are_in_memory() {
    let alone = |host_time| {
        let mut chip = chip(1, &Keys { host_time, ..keys() }, None);
        chip.device(0, Interrupt { vector: 3 }.message(chip.device_id()));
        chip.run();
        assert_eq!((counted(&chip, "payload", "up"), counted(&chip, "overhead", "up")), (4, 24));
        // For its device it is over when the link has taken it.
        assert_eq!(chip.of_device, [(0, None)]);
        assert!(chip.interconnects[1].is_idle_at(Time::from_ps(9_000_000)));
        chip.interrupts
    };
    assert_eq!(alone(None), [(24 + 4 + 150, 3)]);
    assert_eq!(alone(Some(Duration::from_ns(20))), [(24 + 4 + 150 + 20, 3)]);
    // Of each block that is written in part the rest is fetched: the packets come sooner than they are written.
    let mut chip = chip(1, &keys(), None);
    let blocks = [0, 64, 128, 192].map(|offset| BLOCK + offset);
    blocks.into_iter().for_each(|block| chip.device(0, write(&chip, block, 8)));
    chip.device(0, Interrupt { vector: 0 }.message(chip.device_id()));
    let mut now = 4 * (24 + 8) + (24 + 4) + 150;
    chip.run_until(now);
    assert_eq!((chip.interrupts.len(), byte(&chip, blocks[3])), (0, 0), "it is there, and waits");
    while chip.interrupts.is_empty() {
        assert!(now < 2_000, "it never comes");
        now += 1;
        chip.run_until(now);
    }
    // The last one is on its way to its home, which gives nobody an older one.
    chip.begin(now, 0, Load(blocks[3]));
    chip.run();
    assert_eq!(chip.finished[0].value, 0x0707_0707_0707_0707);
}

#[test]
fn a_read_without_a_tag_waits_for_one() {
    let mut chip = chip(1, &Keys { tags: 1, ..keys() }, None);
    chip.device(0, read(&chip, 0, BLOCK, 0));
    chip.device(0, read(&chip, 1, BLOCK + 64, 0));
    chip.run();
    let ends: Vec<u64> = chip.of_device.iter().map(|(at, _)| *at).collect();
    assert_eq!(ends, [480, 960]);
    assert_eq!(counted(&chip, "tag_wait", ""), 480_000);
}

/// A completion does not pass a write: the processor sees what the device wrote before it answered.
#[test]
fn a_load_brings_what_the_device_has_written_before() {
    let mut chip = chip(1, &keys(), None);
    chip.begin(0, 0, Load(BLOCK));
    chip.begin(100, 0, Load(REGISTERS));
    // The device answers at 314.
    chip.device(313, write(&chip, BLOCK, 64));
    chip.run();
    // The write is at the root complex at 551, and over when the processor's copy is gone: 10 + 2 +
    // 10 + 10 ns later. The answer came behind it, at 579.
    let answered = chip.finished[1].at;
    assert!(answered >= 583 + 10, "{answered}");
    chip.begin(answered, 0, Load(BLOCK));
    chip.run();
    assert_eq!(chip.finished[2].value, 0x0707_0707_0707_0707);
}

/// The device writes data, then a flag; a processor that sees the flag sees the data.
#[test]
fn a_flag_comes_behind_its_data() {
    [None, Some(4)].into_iter().for_each(flag_comes_behind_data);
}

fn flag_comes_behind_data(writes_ahead: Option<u32>) {
    let mut seen = 0;
    for seed in 0..40 {
        for delay in (0..400).step_by(25) {
            let mut chip = chip(1, &Keys { writes_ahead, ..keys() }, Some(seed));
            let (data, flag) = (BLOCK, BLOCK + 0x40);
            chip.begin(0, 0, Load(data));
            chip.begin(300, 0, Load(flag));
            chip.device(600, write(&chip, data, 64));
            chip.device(600, write(&chip, flag, 64));
            chip.begin(800 + delay, 0, Load(flag));
            let mut now = 800 + delay;
            while chip.finished.len() < 3 {
                now += 1;
                chip.run_until(now);
            }
            chip.begin(now, 0, Load(data));
            chip.run();
            if chip.finished[2].value != 0 {
                seen += 1;
                assert_ne!(chip.finished[3].value, 0, "seed {seed}, {delay}");
            }
        }
    }
    assert!((40..600).contains(&seen), "the flag was seen {seen} times of 640");
}

/// A processor writes data, then a doorbell; the device that hears it reads the data.
#[test]
fn a_doorbell_comes_behind_its_data() {
    for seed in 0..40 {
        let mut chip = chip(2, &keys(), Some(seed));
        chip.on_access = Some(read(&chip, 0, BLOCK, 0));
        chip.begin(0, 1, Load(BLOCK));
        chip.begin(300, 0, Store(BLOCK, 5));
        let mut now = 300;
        while chip.finished.len() < 2 {
            now += 1;
            chip.run_until(now);
        }
        chip.begin(now, 0, Store(REGISTERS, 1));
        chip.run();
        assert_eq!(chip.of_device.len(), 1);
        assert_eq!(chip.of_device[0].1, Some(5), "seed {seed}");
    }
}

#[test]
fn what_is_on_the_link_goes_on_after_it_was_saved() {
    let mut whole = chip(1, &keys(), None);
    let mut saved = chip(1, &keys(), None);
    for chip in [&mut whole, &mut saved] {
        chip.memories[0].bytes.write(0x2000, &[3; 4096]);
        chip.device(0, read(chip, 0, 0x2000, 4096));
        chip.run_until(1_000);
    }
    let bytes = narthex_kernel::Archive::save(&mut saved.interconnects[1]).unwrap();
    let mut restored = chip(1, &keys(), None).interconnects.pop().unwrap();
    narthex_kernel::Archive::restore(&bytes, &mut restored).unwrap();
    saved.interconnects[1] = restored;
    for chip in [&mut whole, &mut saved] {
        chip.run();
    }
    assert_eq!(whole.of_device, saved.of_device);
    assert_eq!(counted(&whole, "busy", "down"), counted(&saved, "busy", "down"));
}

#[test]
fn a_device_reads_and_writes_parts_of_blocks_with_packets_of_their_bytes() {
    let mut chip = chip(1, &keys(), None);
    chip.memories[0].bytes.write(0x2000, &[3; 192]);
    chip.device(0, read(&chip, 0, 0x2038, 8));
    chip.run();
    // A request, the directory's 72 ns, a completion of 20 + 8 bytes.
    assert_eq!(chip.of_device, [(24 + 150 + 72 + 28 + 150, Some(3))]);
    // 100 bytes over three blocks: the first and the last one are fetched and returned.
    chip.device(1_000, write(&chip, 0x203c, 100));
    chip.run();
    let written = |offset: u64| (0x3c..0x3c + 100).contains(&offset);
    assert!((0..192).all(|offset| byte(&chip, 0x2000 + offset) == if written(offset) { 7 } else { 3 }));
    assert_eq!(counted(&chip, "payload", "up"), 100);
    assert!(chip.interconnects[0].is_idle_at(Time::from_ps(10_000_000)));
}

#[test]
fn a_part_of_a_block_is_written_beside_what_a_cache_has_changed_in_it() {
    for (ahead, at) in [None, Some(4)].into_iter().flat_map(|ahead| (560..720).map(move |at| (ahead, at))) {
        let mut chip = chip(2, &Keys { writes_ahead: ahead, ..keys() }, None);
        chip.begin(0, 0, Store(BLOCK + 8, 9));
        chip.device(400, write(&chip, BLOCK, 8));
        // At one of these instants the root complex has the block.
        chip.begin(at, 1, Load(BLOCK + 8));
        chip.run();
        let last = chip.finished.last().unwrap();
        assert_eq!((last.processor, last.value), (1, 9), "{ahead:?}, {at}");
        assert_eq!(byte(&chip, BLOCK), 7, "{ahead:?}, {at}");
    }
}

#[test]
fn blocks_of_writes_are_obtained_ahead_and_written_in_order() {
    let last_of = |ahead| {
        let mut chip = chip(1, &Keys { writes_ahead: ahead, generation: 6, ..keys() }, None);
        (0..16).for_each(|block| chip.device(0, write(&chip, 0x2000 + block * 64, 64)));
        let mut time = 150;
        while byte(&chip, 0x2000 + 15 * 64) == 0 {
            assert!(
                (1..16).all(|block| byte(&chip, 0x2000 + block * 64) <= byte(&chip, 0x1fc0 + block * 64))
            );
            time += 1;
            chip.run_until(time);
        }
        chip.run();
        time
    };
    let (one_by_one, ahead) = (last_of(None), last_of(Some(16)));
    // One by one each takes a request, a permission and the home's time for the processor's next one.
    assert_eq!((one_by_one, ahead), (1_271, 254));
}

/// A read behind a write takes the root complex's time twice: for the write, and then for itself.
#[test]
fn a_read_waits_in_the_root_complex_until_the_write_before_it_has_its_block() {
    let mut chip = chip(1, &Keys { host_time: Some(Duration::from_ns(100)), ..keys() }, None);
    chip.device(0, write(&chip, 0x2000, 8));
    chip.device(0, read(&chip, 1, 0x2000, 8));
    chip.run();
    // Each has 100 ns and the directory's 72; the block is back before the read asks for it.
    assert_eq!(chip.of_device[1], (24 + 8 + 150 + 100 + 72 + 100 + 72 + 28 + 150, Some(7)));
}

#[test]
fn a_read_whose_page_is_known_passes_one_that_waits_for_a_page_walk() {
    let page = "4KiB".parse().unwrap();
    let level_time = Duration::from_ns(250);
    let iommu = IommuConfig { page, entries: 2, ways: 2, walks: 1, levels: 2, level_time };
    let mut chip = chip(1, &Keys { iommu: Some(Box::new(iommu)), ..keys() }, None);
    chip.device(0, read(&chip, 0, 0x2000, 8));
    chip.run_until(1_000);
    chip.device(1_000, read(&chip, 1, 0x3000, 8));
    chip.device(1_000, read(&chip, 2, 0x2040, 8));
    chip.run_until(1_300);
    let waits = chip.interconnects[1].describe().unwrap();
    assert!(waits.contains("reads of devices that wait for the root complex or a page walk (1)"), "{waits}");
    chip.run();
    let ends: Vec<u64> = chip.of_device.iter().map(|(at, _)| *at).collect();
    let one = 24 + 150 + 72 + 28 + 150;
    assert_eq!(ends, [one + 500, 1_000 + 24 + one, 1_000 + one + 500]);
}
