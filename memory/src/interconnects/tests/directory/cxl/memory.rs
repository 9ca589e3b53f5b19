//! Timed scenarios of a device behind the link that is the home of blocks, litmus tests, and a walk against flat
//! memory. The device's memory takes 30 ns.

use std::collections::BTreeMap;

use narthex_kernel::random::Stream;

use super::*;

/// A processor has changed the device's block.
fn changed() -> Chip {
    let mut chip = chip(1);
    chip.begin(0, 0, Store(DEVICE_BLOCK, 7));
    chip.run();
    chip.clear();
    chip.heard.clear();
    chip
}

#[test]
fn a_load_that_misses_takes_a_request_the_devices_memory_and_a_completion_with_data() {
    let mut chip = chip(1);
    chip.begin(0, 0, Load(DEVICE_BLOCK));
    chip.run();
    // 10 to the port, a slot there, 30; a slot of Cmp-S and five of MemData; 2 to look up, and 10.
    assert_eq!(chip.finished, [done(after(&[1, 1, 5], 2, 10 + 30 + 2 + 10), 0, DEVICE_VALUE)]);
    assert_eq!(["MemRdData", "Cmp-S", "MemData"].map(|name| messages(&chip, name)), [1; 3]);
    assert!(chip.interconnects.iter().all(|own| own.is_idle_at(Time::from_ps(1_000_000))));
    // The device shares, so that it hears of the store: the right alone crosses.
    chip.clear();
    chip.begin(1_000, 0, Store(DEVICE_BLOCK, 7));
    chip.run();
    assert_eq!(chip.finished, [done(1_000 + after(&[1, 1], 2, 10 + 2 + 10), 0, 7)]);
    assert_eq!((messages(&chip, "MemInv"), messages(&chip, "Cmp-E")), (1, 1));
    assert_eq!(chip.heard, [Kind::Read, Kind::Upgrade]);
}

#[test]
fn a_device_takes_the_hosts_copy_away_before_it_writes_its_block() {
    let mut chip = changed();
    chip.device(1_000, transaction(&chip, Kind::Invalidate, DEVICE_BLOCK));
    chip.run();
    // The directory grants at its next cycle: to the home, looked up, to the copy, and its acknowledgement.
    let asked = 1_000 + after(&[1], 1, 0) + 1;
    assert_eq!(chip.of_device, [(asked + 10 + 2 + 10 + 10 + after(&[1], 1, 0), None)]);
    assert_eq!(["BISnpInv", "BIRspI", "RwD MemWr"].map(|name| messages(&chip, name)), [1, 1, 0]);
}

#[test]
fn a_device_reads_its_block_back_by_a_write_of_the_host_and_an_answer_behind_it() {
    for protocol in ["MSI", "MESI", "MOESI"] {
        let settings = Settings { transactions: 64, ..Settings::of(protocol, 1) };
        let mut chip = chip_of(settings, &keys());
        chip.begin(0, 0, Store(DEVICE_BLOCK, 7));
        chip.run();
        chip.clear();
        chip.device(1_000, transaction(&chip, Kind::Read, DEVICE_BLOCK));
        chip.run();
        // As above, 5 to supply; five slots of data and one behind them.
        let asked = 1_000 + after(&[1], 1, 0) + 1;
        let over = asked + 10 + 2 + 10 + 5 + 10 + after(&[5, 1], 1, 0);
        assert_eq!(chip.of_device, [(over, Some(7))], "{protocol}");
        let counts = ["BISnpData", "RwD MemWr", "BIRspS", "Cmp"].map(|name| messages(&chip, name));
        assert_eq!(counts, [1; 4], "{protocol}");
        // Both have the bytes, and the next store tells the device.
        chip.begin(2_000, 0, Store(DEVICE_BLOCK, 8));
        chip.run();
        assert_eq!(messages(&chip, "MemInv"), 1, "{protocol}");
    }
}

#[test]
fn a_block_that_returns_keeps_no_processor_and_is_there_before_the_next_read() {
    let mut chip = changed();
    chip.begin(1_000, 0, Flush(DEVICE_BLOCK));
    chip.begin(1_001, 0, Load(DEVICE_BLOCK));
    chip.run();
    // The read waits at its requester until the home has the block: 10, 2, 10; the five slots of the write have left
    // 8 ns before it comes to the port.
    let read = 1_000 + 10 + 2 + 10 + after(&[1, 1, 5], 2, 10 + 30 + 2 + 10);
    assert_eq!(chip.finished, [done(1_000, 0, 0), done(read, 0, 7)]);
    assert_eq!(["RwD MemWr", "Cmp", "MemRdData"].map(|name| messages(&chip, name)), [1; 3]);
}

#[test]
fn caches_of_the_host_pass_a_changed_block_on_without_the_device() {
    let mut chip = chip(2);
    chip.begin(0, 0, Store(DEVICE_BLOCK, 7));
    chip.run();
    chip.clear();
    chip.heard.clear();
    chip.begin(1_000, 1, Store(DEVICE_BLOCK, 8));
    chip.run();
    assert_eq!(chip.finished, [done(1_000 + 10 + 2 + 10 + 5 + 10, 1, 8)]);
    assert_eq!(chip.heard, []);
}

/// A request of the host and a snoop of the device for one block cross: the device answers from what it has, and its
/// snoop takes the copy away that the answer has given.
#[test]
fn a_request_and_a_snoop_that_cross_are_handled_one_after_the_other() {
    let mut chip = chip(1);
    chip.begin(0, 0, Load(DEVICE_BLOCK));
    chip.device(20, transaction(&chip, Kind::Invalidate, DEVICE_BLOCK));
    chip.run_until(70);
    chip.save_and_restore();
    chip.run();
    assert_eq!(chip.finished, [done(after(&[1, 1, 5], 2, 10 + 30 + 2 + 10), 0, DEVICE_VALUE)]);
    assert_eq!(chip.directory().entry(DEVICE_BLOCK).holders(), Holders::Nobody);
    assert!(!chip.processors[0].memory.peek(DEVICE_BLOCK, &mut [0; 8]));
}

/// The device writes its block: at once if no cache may have a copy; otherwise copies go first.
fn device_writes(chip: &mut Chip, now: u64, block: u64, byte: u8) -> bool {
    let own = chip.own_blocks.entry(block).or_default();
    let is_over = !own.may_be_cached;
    if is_over {
        own.write(byte);
    } else {
        chip.writes = Some(byte);
        let invalidate = transaction(chip, Kind::Invalidate, block);
        chip.device(now, invalidate);
    }
    is_over
}

/// The device reads its block back if a cache has changed it, and waits for that: its first byte.
fn device_reads(chip: &mut Chip, now: &mut u64, block: u64) -> u8 {
    if !chip.own_blocks[&block].is_latest {
        let over = chip.of_device.len() + 1;
        let read = transaction(chip, Kind::Read, block);
        chip.device(*now, read);
        while chip.of_device.len() < over {
            *now += 1;
            chip.run_until(*now);
        }
    }
    chip.own_blocks[&block].bytes[0]
}

/// One side writes data, then a flag; the other one that sees the flag sees the data.
#[test]
fn who_sees_a_flag_sees_the_data_both_ways() {
    let (data, flag) = (DEVICE_BLOCK, DEVICE_BLOCK + BLOCK_BYTES as u64);
    for seed in 0..30 {
        let settings = Settings { seed: Some(seed), transactions: 64, ..Settings::of("MOESI", 2) };
        let mut chip = chip_of(settings, &keys());
        chip.begin(0, 0, Load(data));
        chip.begin(0, 1, Load(flag));
        chip.run();
        // The device writes, while a processor polls.
        assert!(!device_writes(&mut chip, 1_000, data, 9));
        let mut now = 1_000;
        while chip.finished.last().is_none_or(|own| own.value != 0x0909_0909_0909_0909) {
            now += 1;
            chip.run_until(now);
            if chip.of_device.len() == 1 && chip.writes.is_none() && chip.own_blocks[&flag].bytes[0] != 9 {
                device_writes(&mut chip, now, flag, 9);
            }
            if chip.processors[1].doing.is_none() {
                chip.begin(now + 1, 1, Load(flag));
            }
        }
        chip.begin(now + 1, 0, Load(data));
        chip.run();
        assert_eq!(chip.finished.last().unwrap().value, 0x0909_0909_0909_0909, "seed {seed}");
        // A processor writes, while the device polls.
        now += 2_000;
        chip.begin(now, 0, Store(data, 5));
        let mut is_flagged = false;
        while device_reads(&mut chip, &mut now, flag) != 5 {
            now += 1 + seed;
            chip.run_until(now);
            if !is_flagged && chip.processors[0].doing.is_none() {
                is_flagged = true;
                chip.begin(now + 1, 0, Store(flag, 5));
            }
        }
        assert_eq!(device_reads(&mut chip, &mut now, data), 5, "seed {seed}");
    }
}

#[test]
fn caches_and_a_home_behind_a_link_agree_with_flat_memory() {
    let (checked, written) = agrees_with_flat_memory(12, |settings, _| chip_of(settings, &keys()));
    assert!(checked > 2_000 && written > 300, "{checked}, {written}");
}

/// Three processors and the device read and write a few of its blocks: what each finds is the last that was written.
/// How many loads and writes of the device that were.
pub(in super::super) fn agrees_with_flat_memory(
    walks: usize,
    behind: impl Fn(Settings, u64) -> Chip,
) -> (u64, u64) {
    let word = |byte: u8| u64::from_le_bytes([byte; 8]);
    let (mut checked, mut written) = (0, 0);
    for (number, protocol) in protocols::coherent().into_iter().cycle().take(walks).enumerate() {
        let seed = number as u64;
        let settings = Settings { seed: Some(seed), hold_ns: 30 * (seed % 2), ..Settings::of(protocol, 3) };
        let mut chip = behind(settings, seed);
        let mut random = Stream::new(seed, "accesses");
        let mut flat: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut begun, mut writes_to, mut now) = ([None; 3], None, 0);
        for turn in 0..3_000 {
            now += 1 + random.below(40);
            chip.run_until(now - 1);
            for Finished { processor, value, .. } in std::mem::take(&mut chip.finished) {
                if processor == WRITER {
                    flat.insert(writes_to.take().expect("the device writes"), word(value as u8));
                    written += 1;
                    continue;
                }
                match begun[processor].take().expect("it was begun") {
                    Store(address, value) => drop(flat.insert(address, value)),
                    Load(address) => {
                        let last = flat.get(&address).copied().unwrap_or(DEVICE_VALUE);
                        assert_eq!(value, last, "{protocol}, seed {seed}");
                        checked += 1;
                    }
                    _ => unreachable!("a walk loads and stores"),
                }
            }
            let block = DEVICE_BLOCK + random.below(3) * BLOCK_BYTES as u64;
            let processor = random.below(5) as usize;
            if processor < 3 && begun[processor].is_none() {
                let what = if random.below(2) == 0 { Load(block) } else { Store(block, turn) };
                begun[processor] = Some(what);
                chip.begin(now, processor, what);
            } else if processor == 3 && writes_to.is_none() {
                match device_writes(&mut chip, now, block, turn as u8) {
                    true => drop(flat.insert(block, word(turn as u8))),
                    false => writes_to = Some(block),
                }
            } else if processor == 4 && writes_to.is_none() && begun == [None; 3] {
                let last = flat.get(&block).copied().unwrap_or(DEVICE_VALUE);
                if chip.own_blocks.contains_key(&block) {
                    assert_eq!(
                        device_reads(&mut chip, &mut now, block),
                        last as u8,
                        "{protocol}, seed {seed}"
                    );
                }
            }
            if random.below(50) == 0 {
                chip.save_and_restore();
            }
        }
    }
    (checked, written)
}
