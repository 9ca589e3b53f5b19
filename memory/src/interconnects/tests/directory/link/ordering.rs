//! Litmus tests of the ordering attributes, in both directions, with an IOMMU whose page walks take a microsecond.
//!
//! Data are in a page that the IOTLB does not have, and the flag in one that it has: what may pass does.

use super::*;

const DATA: u64 = BLOCK;
const FLAG: u64 = UNCACHED;
/// When the device begins to write, in nanoseconds: the walk to the flag's page is over.
const BEGIN: u64 = 5_000;

fn with_iommu(writes_ahead: Option<u32>) -> Keys {
    let page = "4KiB".parse().unwrap();
    let iommu =
        IommuConfig { page, entries: 2, ways: 2, walks: 2, levels: 1, level_time: Duration::from_ns(1_000) };
    Keys { writes_ahead, iommu: Some(Box::new(iommu)), ..keys() }
}

/// A chip whose IOTLB has the flag's page.
fn warm_chip(keys: &Keys, seed: Option<u64>) -> Chip {
    let mut chip = chip(1, keys, seed);
    chip.device(0, write(&chip, FLAG + 0x800, 64));
    chip.run_until(BEGIN - 1_000);
    chip
}

fn relaxed(transaction: Transaction) -> Transaction {
    Transaction { relaxed: true, ..transaction }
}

/// The nanosecond at which each of these bytes is in memory.
fn times<const N: usize>(chip: &mut Chip, addresses: [u64; N]) -> [u64; N] {
    let (mut times, mut now) = ([0; N], BEGIN);
    while times.contains(&0) {
        chip.run_until(now);
        for (time, address) in times.iter_mut().zip(addresses) {
            *time = if *time == 0 && byte(chip, address) == 7 { now } else { *time };
        }
        now += 1;
    }
    chip.run();
    assert!(chip.interconnects[1].is_idle_at(Time::from_ps(20_000_000)));
    times
}

#[test]
fn a_relaxed_write_passes_one_that_waits_for_a_page_walk_and_a_strict_one_waits_behind_it() {
    let times_of = |are_relaxed: [bool; 2]| {
        let mut chip = warm_chip(&with_iommu(None), None);
        for (address, is_relaxed) in [DATA, FLAG].into_iter().zip(are_relaxed) {
            chip.device(BEGIN, Transaction { relaxed: is_relaxed, ..write(&chip, address, 64) });
        }
        times(&mut chip, [DATA, FLAG])
    };
    // 24 + 64 bytes, the way, a message to the home; the second write is 88 ns later on the wires.
    let (first, second) = (BEGIN + 88 + 150 + 10, BEGIN + 2 * 88 + 150 + 10);
    let walked = first + 1_000;
    // A strict one begins when the one before is over: 2, 50 and 10 ns later, and a message.
    assert_eq!(times_of([false, false]), [walked, walked + 72]);
    assert_eq!(times_of([true, false]), [walked, walked + 72]);
    assert_eq!(times_of([true, true]), [walked, second]);
    assert_eq!(times_of([false, true]), [walked, second]);
}

/// Whether a processor that has seen the flag sees old data.
fn flag_without_data(chip: &mut Chip, are_relaxed: [bool; 2]) -> bool {
    chip.begin(BEGIN - 500, 0, Load(DATA));
    for (address, is_relaxed) in [DATA, FLAG].into_iter().zip(are_relaxed) {
        chip.device(BEGIN, Transaction { relaxed: is_relaxed, ..write(chip, address, 64) });
    }
    chip.run_until(BEGIN + 300);
    chip.save_and_restore();
    let mut now = BEGIN + 300;
    while chip.finished.last().unwrap().value == 0 {
        let asked = chip.finished.len();
        chip.begin(now, 0, Load(FLAG));
        while chip.finished.len() == asked {
            now += 1;
            chip.run_until(now);
        }
    }
    chip.begin(now, 0, Load(DATA));
    chip.run();
    chip.finished.last().unwrap().value == 0
}

#[test]
fn a_flag_shows_itself_without_its_data_only_if_it_is_relaxed_too() {
    for (seed, ahead) in (0..10).flat_map(|seed| [(seed, None), (seed, Some(4))]) {
        let seen = [[false, false], [true, false], [true, true]].map(|are_relaxed| {
            flag_without_data(&mut warm_chip(&with_iommu(ahead), Some(seed)), are_relaxed)
        });
        assert_eq!(seen, [false, false, true], "seed {seed}, {ahead:?}");
    }
}

#[test]
fn relaxed_writes_are_under_way_together() {
    let last_of = |is_relaxed: bool| {
        let mut chip = chip(1, &Keys { generation: 6, ..keys() }, None);
        for block in 0..16 {
            let write = write(&chip, 0x2000 + block * 64, 64);
            chip.device(BEGIN, Transaction { relaxed: is_relaxed, ..write });
        }
        times(&mut chip, [0x2000 + 15 * 64])[0] - BEGIN
    };
    // One by one each takes 72 ns and 2 at the home for the one before; together they come as the link brings
    // them, 88 bytes at 29.5 a nanosecond, and then a message.
    assert_eq!((last_of(false), last_of(true)), (1_271, 48 + 150 + 10));
}

/// Whatever passes, memory ends as if the writes had come one after the other.
#[test]
fn writes_of_parts_of_blocks_leave_the_bytes_of_the_last_one() {
    for (seed, ahead) in (0..20).flat_map(|seed| [(seed, None), (seed, Some(3))]) {
        let mut chip = chip(1, &with_iommu(ahead), Some(seed));
        let mut random = narthex_kernel::random::Stream::new(seed, "writes");
        let mut expected = [0; 0x400];
        for value in 1..40 {
            // The second page begins in the middle.
            let start = random.below(0x380) as usize;
            let bytes = 1 + random.below(0x80) as usize;
            let data = BlockData::from_bytes(&vec![value; bytes]);
            let address = 0x2e00 + start as u64;
            let write = Transaction::carrying(chip.device_id(), Kind::WriteBlock, address, data);
            chip.device(0, Transaction { relaxed: random.below(3) > 0, ..write });
            expected[start..start + bytes].fill(value);
        }
        chip.run();
        let found: Vec<u8> = (0..0x400).map(|offset| byte(&chip, 0x2e00 + offset)).collect();
        assert!(found == expected, "seed {seed}, {ahead:?}");
        assert!(chip.interconnects.iter().all(|own| own.is_idle_at(Time::from_ps(90_000_000))));
    }
}

#[test]
fn a_relaxed_completion_passes_a_store_that_waits_for_credits() {
    let times_of = |is_relaxed| {
        let few = ReceiveBuffers { posted_headers: 1, ..keys().endpoint_credits };
        let mut chip = chip(1, &Keys { endpoint_credits: few, ..keys() }, None);
        chip.begin(100, 0, Store(REGISTERS, 1));
        chip.begin(121, 0, Store(REGISTERS, 2));
        chip.device(0, Transaction { relaxed: is_relaxed, ..read(&chip, 0, BLOCK, 0) });
        chip.run();
        (chip.of_device[0].0, chip.accessed[1])
    };
    // The data are there at 246, the first store's credit at 327.
    assert_eq!(times_of(false), (327 + 32 + 84 + 150, 327 + 32 + 150 + 30));
    // The completion has the wires for three nanoseconds more.
    assert_eq!(times_of(true), (246 + 84 + 150, 246 + 84 + 32 + 150 + 30));
}

#[test]
fn a_completion_stays_behind_a_store_that_takes_the_devices_time() {
    let times_of = |is_relaxed| {
        let mut chip = chip(1, &keys(), None);
        chip.begin(204, 0, Store(REGISTERS, 1));
        chip.device(0, Transaction { relaxed: is_relaxed, ..read(&chip, 0, BLOCK, 8) });
        chip.run();
        (chip.of_device[0].0, chip.accessed[0])
    };
    // The store is off the wires at 246, when the data are there: 8 bytes and a header behind it.
    let stored = 246 + 150 + 30;
    assert_eq!(times_of(false), (stored, stored));
    assert_eq!(times_of(true), (246 + 28 + 150, stored));
}

/// The processor stores a descriptor to the device, then a flag to memory, which the device polls: a store is
/// over for its processor on the wires, and nothing passes it there. So this holds for relaxed reads as well.
#[test]
fn a_device_that_reads_a_flag_has_the_descriptor_that_was_stored_before() {
    for (seed, is_relaxed) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let few = ReceiveBuffers { posted_headers: 1, ..keys().endpoint_credits };
        let mut chip = chip(2, &Keys { endpoint_credits: few, ..keys() }, Some(seed));
        chip.begin(0, 1, Store(REGISTERS, 1));
        chip.begin(30, 0, Store(REGISTERS, 2));
        (0..20).for_each(|turn| {
            chip.device(turn * 60, Transaction { relaxed: is_relaxed, ..read(&chip, turn as u8, BLOCK, 0) });
        });
        let mut now = 0;
        while !chip.finished.iter().any(|done| done.processor == 0) {
            now += 1;
            chip.run_until(now);
        }
        chip.begin(now, 0, Store(BLOCK, 5));
        chip.run();
        let seen =
            chip.of_device.iter().find(|(_, value)| *value == Some(5)).expect("the last ones are late");
        // The device takes 30 ns for what has come: a relaxed completion may pass it there.
        let is_there = chip.accessed[1] - if is_relaxed { 30 } else { 0 };
        assert!(is_there <= seen.0, "seed {seed}, {is_relaxed}");
    }
}

#[test]
fn with_id_based_ordering_a_port_waits_for_no_write_of_another_one() {
    let times_of = |id_based_ordering, other: u8| {
        let mut chip = warm_chip(&Keys { id_based_ordering, ..with_iommu(None) }, None);
        chip.ports = 2;
        let other = AgentId(chip.device_id().0 + other);
        chip.memories[0].bytes.write(FLAG + 64, &[3; 64]);
        chip.device(BEGIN, write(&chip, DATA, 64));
        chip.device(BEGIN, Transaction { agent: other, ..write(&chip, FLAG, 64) });
        chip.device(BEGIN, Transaction { agent: other, ..read(&chip, 0, FLAG + 64, 0) });
        let [data, flag] = times(&mut chip, [DATA, FLAG]);
        assert_eq!(data, BEGIN + 88 + 150 + 1_000 + 10);
        (flag - BEGIN, chip.of_device.last().unwrap().0 - BEGIN)
    };
    // The home looks up for 2 ns that a write is done before it looks up the read.
    let strict = (88 + 150 + 1_000 + 72 + 10, 88 + 150 + 1_000 + 2 * 74 + 72 + 84 + 150);
    assert_eq!(times_of(None, 1), strict);
    assert_eq!(times_of(Some(true), 0), strict);
    // The read still waits until the write before it, of its own port, is over.
    assert_eq!(times_of(Some(true), 1), (2 * 88 + 150 + 10, 2 * 88 + 150 + 74 + 72 + 84 + 150));
}

#[test]
fn a_relaxed_read_stays_behind_a_relaxed_write() {
    let mut chip = warm_chip(&with_iommu(None), None);
    chip.device(BEGIN, relaxed(write(&chip, DATA, 64)));
    chip.device(BEGIN, relaxed(read(&chip, 0, DATA, 0)));
    chip.run();
    // The home looks up that the write is done, for 2 ns, before it looks up the read.
    let there = BEGIN + 88 + 150 + 1_000 + 72 + 2 + 72 + 84 + 150;
    assert_eq!(chip.of_device.last(), Some(&(there, Some(7))));
}
