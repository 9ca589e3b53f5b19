//! Timed scenarios of a coherent link whose port is on a directory, and walks of caches and of a home behind it.
//!
//! The link moves eight bytes a nanosecond, of which seven eighths carry messages: a word takes 8 / 7 ns, and a
//! block of 64 bytes nine words. A message takes 40 ns after its words. A home looks up for 2 ns, memory takes 50, a
//! message on the chip 10, the device's memory 30.

use super::super::super::coherent_link::{CoherentLink, Keys};
use super::cxl::memory::agrees_with_flat_memory;
use super::cxl::{chip_behind, linked_behind, messages, transaction, write};
use super::*;
use crate::directory::protocols;
use narthex_kernel::statistics::Value;

/// What a message takes after its words, in nanoseconds.
const WAY: u64 = 40;

fn keys() -> Keys {
    Keys {
        behind: "chip".into(),
        lanes: 8,
        lane_rate: "8GHz".parse().unwrap(),
        requests: 8,
        request_credits: 4,
        forward_credits: 4,
        response_credits: 8,
        stores: 2,
        host_port_latency: Duration::from_ns(20),
        link_latency: Duration::from_ns(5),
        device_port_latency: Duration::from_ns(15),
    }
}

fn chip_of(settings: Settings, keys: &Keys) -> Chip {
    chip_behind(settings, |names, above, devices| {
        CoherentLink::new(names, keys, above, devices, BLOCK_BYTES).into()
    })
}

fn chip(processors: usize) -> Chip {
    chip_of(Settings { transactions: 64, ..Settings::of("MESI", processors) }, &keys())
}

/// A time in whole nanoseconds, of messages that take so many words and ways, and of what is beside them.
fn after(words: &[u64], ways: u64, rest: u64) -> u64 {
    let wires: u64 = words.iter().map(|words| (words * 8_000).div_ceil(7)).sum();
    (wires + (ways * WAY + rest) * 1_000) / 1_000
}

/// For how long messages of devices have waited, in picoseconds.
fn waits_up(chip: &Chip) -> u64 {
    let mut found = 0;
    let (_, set) = chip.interconnects[1].statistics()[0];
    set.visit(&mut |description, value| {
        if let ("wait", Value::Counts(counts)) = (description.name, value) {
            found = counts.iter().find(|(way, _)| way == "up").map_or(0, |(_, time)| *time);
        }
    });
    found
}

#[test]
fn a_read_is_a_word_there_and_a_word_and_the_block_back() {
    for (kind, request) in [(Kind::ReadOnce, "RLDT"), (Kind::Read, "RLDD"), (Kind::ReadExclusive, "RLDX")] {
        let mut chip = chip(1);
        chip.memories[0].bytes.write(BLOCK, &[7; 8]);
        chip.device(0, transaction(&chip, kind, BLOCK));
        chip.run();
        // The directory grants at its next cycle, home and memory take 10 + 2 + 50 + 10.
        let asked = after(&[1], 1, 0) + 1;
        assert_eq!(chip.of_device, [(asked + 72 + after(&[9], 1, 0), Some(7))], "{kind:?}");
        assert_eq!([messages(&chip, request), messages(&chip, "PEMD")], [1, 1], "{kind:?}");
    }
}

#[test]
fn a_write_brings_its_bytes_and_is_over_with_the_answer() {
    let mut chip = chip(1);
    chip.begin(0, 0, Store(BLOCK, 5));
    chip.run();
    let device_writes = write(&chip, Kind::WriteBlock, BLOCK, 7);
    chip.device(1_000, device_writes);
    chip.run();
    // The home takes the processor's copy away, which acknowledges to the port: 10 + 2 + 10 + 10.
    let asked = 1_000 + after(&[9], 1, 0) + 1;
    assert_eq!(chip.of_device, [(asked + 32 + after(&[1], 1, 0), None)]);
    assert_eq!(["RSTT", "PEMN", "VICD"].map(|name| messages(&chip, name)), [1, 1, 0]);
    chip.begin(3_000, 0, Load(BLOCK));
    chip.run();
    assert_eq!(chip.finished.last().unwrap().value, 0x0707_0707_0707_0707);
}

/// The snoop of a load and a write-back cross: the device has no copy any more, and the port answers from the block.
#[test]
fn a_write_back_that_meets_a_snoop_supplies_the_block_from_the_port() {
    let mut chip = chip(1);
    chip.to_reads = SnoopReply::default();
    chip.device(0, transaction(&chip, Kind::ReadExclusive, BLOCK));
    chip.run();
    let returns = write(&chip, Kind::WriteBack, BLOCK, 7);
    chip.device(1_000, returns);
    chip.begin(1_001, 0, Load(BLOCK));
    chip.run();
    // To the home, to the port, FLDRS and HAKN over the link, to the processor.
    let at = 1_001 + 10 + 2 + 10 + after(&[1, 1], 2, 10);
    assert_eq!(chip.finished, [done(at, 0, 0x0707_0707_0707_0707)]);
    assert_eq!(["VICD", "FLDRS_EH", "HAKN"].map(|name| messages(&chip, name)), [1; 3]);
    assert!(chip.interconnects.iter().all(|own| own.is_idle_at(Time::from_ps(9_000_000))));
}

#[test]
fn a_load_that_the_device_holds_is_answered_when_it_goes_on() {
    let mut chip = chip(2);
    chip.to_reads.later = true;
    chip.begin(0, 0, Load(DEVICE_BLOCK));
    chip.run_until(400);
    assert_eq!((chip.heard.as_slice(), chip.finished.len()), (&[Kind::Read][..], 0));
    // Other blocks do not wait for it, the device's own among them.
    chip.device(400, transaction(&chip, Kind::ReadOnce, BLOCK));
    chip.run_until(699);
    assert_eq!(chip.of_device.len(), 1);
    chip.save_and_restore();
    chip.resume(700);
    chip.run();
    assert_eq!(chip.finished, [done(700 + after(&[9], 1, 30 + 2 + 10), 0, DEVICE_VALUE)]);
    assert_eq!([messages(&chip, "RLDD"), messages(&chip, "PSHA")], [1, 1]);
}

#[test]
fn a_held_load_keeps_its_buffer_and_other_channels_pass_the_request_that_waits_for_one() {
    let next = DEVICE_BLOCK + BLOCK_BYTES as u64;
    let keys = Keys { request_credits: 1, ..keys() };
    let mut chip = chip_of(Settings { transactions: 64, ..Settings::of("MESI", 2) }, &keys);
    chip.to_reads.later = true;
    chip.begin(0, 0, Load(DEVICE_BLOCK));
    chip.begin(1, 1, Load(next));
    chip.run_until(400);
    assert_eq!(chip.heard.len(), 1, "the second one has no buffer");
    // A response for a read of the device comes down beside it.
    chip.device(400, transaction(&chip, Kind::ReadOnce, BLOCK));
    chip.run_until(699);
    assert_eq!(chip.of_device.len(), 1);
    chip.resume(700);
    chip.run();
    // The answer leaves at 730; the credit takes 5 ns; then the second one goes there and back.
    let second = 730 + 5 + after(&[1, 9], 2, 30 + 2 + 10);
    assert_eq!(chip.finished[1], done(second, 1, DEVICE_VALUE));
}

#[test]
fn a_filled_line_comes_back_in_one_message() {
    let mut chip = chip(1);
    chip.begin(0, 0, Store(DEVICE_BLOCK, 7));
    chip.run();
    assert_eq!(["RLDX", "PEMD"].map(|name| messages(&chip, name)), [1, 1]);
    chip.device(1_000, transaction(&chip, Kind::ReadExclusive, DEVICE_BLOCK));
    chip.run();
    // To the home, looked up, to the copy, which takes 5 to supply it, and back to the port.
    let asked = 1_000 + after(&[1], 1, 0) + 1;
    assert_eq!(chip.of_device, [(asked + 10 + 2 + 10 + 5 + 10 + after(&[9], 1, 0), Some(7))]);
    assert_eq!(["FEVX_EH", "VICDHI", "VICD"].map(|name| messages(&chip, name)), [1, 1, 0]);
    assert_eq!(chip.own_blocks[&DEVICE_BLOCK].bytes[..8], 7u64.to_le_bytes());
}

/// Buffers run out in half of the walks.
#[test]
fn caches_behind_a_coherent_link_agree_with_flat_memory() {
    let (mut checked, mut waited) = (0, 0);
    for (number, name) in protocols::coherent().into_iter().cycle().take(12).enumerate() {
        let seed = number as u64;
        let settings = Settings {
            transactions: 1 + (seed % 4) as u32,
            hold_ns: 30 * (seed % 2),
            seed: Some(seed),
            ..Settings::of(name, walks::PROCESSORS)
        };
        let few = 1 + 7 * (seed % 2) as u32;
        let keys = Keys { request_credits: few, forward_credits: few, response_credits: few, ..keys() };
        let mut chip = linked_behind(settings, |names, above, devices| {
            CoherentLink::new(names, &keys, above, devices, BLOCK_BYTES).into()
        });
        chip.writes_are_seen_early = true;
        let (chip, own) = walks::checked_walk(chip, settings, 1_000);
        checked += own;
        for own in &chip.interconnects {
            assert!(own.is_idle_at(Time::NEVER), "{name}, {seed}: {:?}", own.describe());
        }
        waited += u64::from(few == 1) * waits_up(&chip);
    }
    assert!(checked > 2_000 && waited > 10_000, "{checked}, {waited}");
}

#[test]
fn caches_and_a_home_behind_a_coherent_link_agree_with_flat_memory() {
    let (checked, written) = agrees_with_flat_memory(6, |settings, seed| {
        let few = 1 + 3 * (seed % 2) as u32;
        let keys = Keys { request_credits: few, forward_credits: few, response_credits: few, ..keys() };
        chip_of(settings, &keys)
    });
    assert!(checked > 1_000 && written > 150, "{checked}, {written}");
}
