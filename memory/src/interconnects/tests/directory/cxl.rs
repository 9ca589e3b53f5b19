//! Timed scenarios of a CXL link whose port is on a directory, litmus tests of its order, and walks of a device
//! that caches.
//!
//! The link has 16 lanes of 8 GT/s: a slot of a flit of 68 bytes takes 17 x 8 x 130 / 128 / 128 ns, 1.079 ns. A
//! message takes 40 ns after its slots. A home looks up for 2 ns, memory takes 50, a message on the chip 10.

pub(super) mod memory;

use super::super::super::cxl::{Cxl, Keys};
use super::super::super::directory::{Directory, Homes};
use super::*;
use crate::directory::{Table, protocols};
use narthex_kernel::statistics::Value;

/// What a slot takes, in picoseconds.
const SLOT: u64 = 1_080;

/// What a message takes after its slots, in nanoseconds.
const WAY: u64 = 40;

fn keys() -> Keys {
    Keys {
        behind: "chip".into(),
        generation: 3,
        lanes: 16,
        flit: "68B".parse().unwrap(),
        requests: 8,
        stores: 2,
        host_port_latency: Duration::from_ns(20),
        link_latency: Duration::from_ns(5),
        device_port_latency: Duration::from_ns(15),
    }
}

/// The directory of a chip, and the port on it; the agents behind a link, and their addresses.
type Above = (InterconnectId, AgentId, &'static Table);
type Devices = (AgentPorts, AddressMap);

/// A chip whose device is behind such a link.
fn chip_of(settings: Settings, keys: &Keys) -> Chip {
    chip_behind(settings, |names, above, devices| Cxl::new(names, keys, above, devices, BLOCK_BYTES).into())
}

/// The first two processors, and the device, are behind such a link.
fn linked(settings: Settings, keys: &Keys) -> Chip {
    linked_behind(settings, |names, above, devices| Cxl::new(names, keys, above, devices, BLOCK_BYTES).into())
}

/// A chip whose device is behind a link that lets it cache.
pub(super) fn chip_behind(
    settings: Settings,
    link: impl FnOnce(Names, Above, Devices) -> Interconnect,
) -> Chip {
    let mut chip = Chip::with(settings);
    let (on, device, behind) = (InterconnectId(0), chip.device_id(), InterconnectId(1));
    let port = AgentId::of_bridge(behind);
    // Registers are reached over CXL.io, the device's blocks over CXL.mem.
    let addresses = |of_registers| {
        let mut map = AddressMap::default();
        map.add(REGISTERS..REGISTERS + 0x1000, of_registers).unwrap();
        map.add(DEVICE_BLOCK..DEVICE_BLOCK + 0x1000, Home::Agent(device)).unwrap();
        map
    };
    let ports = (0..device.0).map(|number| AgentPort::of_processor(AgentId(number)));
    let own =
        [AgentPort::of_device(device, 0..0), AgentPort { holds: true, ..AgentPort::of_device(port, 0..0) }];
    let ports = AgentPorts::new(ports.chain(own).collect());
    let interleaved = (0..settings.memories).map(MemoryId).collect();
    let homes = Homes { ranges: addresses(Home::Agent(port)), interleaved, tiles: None };
    let table = protocols::by_name(settings.protocol).unwrap();
    let names = |name| Names { name, prefix: "" };
    let directory = Directory::new(names("chip"), &settings_config(&settings), table, ports, homes);
    let ports = AgentPorts::new(vec![AgentPort::of_device(device, 0..0)]);
    let devices = (ports, addresses(Home::Agent(device)));
    let link = link(names("link"), (on, port, table), devices);
    chip.interconnects = vec![directory.with_links(vec![(device, behind)]).into(), link];
    chip
}

fn chip(processors: usize) -> Chip {
    chip_of(Settings { transactions: 64, ..Settings::of("MESI", processors) }, &keys())
}

/// The first two processors, and the device, are behind a link.
pub(super) fn linked_behind(
    settings: Settings,
    link: impl Fn(Names, Above, Devices) -> Interconnect,
) -> Chip {
    let mut chip = chip_behind(settings, &link);
    chip.linked = 2;
    let (on, behind) = (InterconnectId(0), InterconnectId(1));
    let device = chip.device_id();
    let port = AgentId::of_bridge(behind);
    let agents: Vec<AgentId> = (0..2).map(AgentId).chain([device]).collect();
    let ports = AgentPorts::new(agents.iter().map(|&agent| AgentPort::of_processor(agent)).collect());
    let table = protocols::by_name(settings.protocol).unwrap();
    let names = Names { name: "link", prefix: "" };
    let link = link(names, (on, port, table), (ports, AddressMap::default()));
    let Interconnect::Directory(directory) = chip.interconnects.swap_remove(0) else {
        unreachable!("it is one")
    };
    let links = agents.into_iter().map(|agent| (agent, behind)).collect();
    chip.interconnects = vec![directory.with_links(links).into(), link];
    chip
}

/// Snoops that waited in the port.
fn kept(chip: &Chip) -> u64 {
    let mut found = 0;
    let (_, set) = chip.interconnects[1].statistics()[0];
    set.visit(&mut |description, value| {
        if let ("snoops_kept", Value::Number(number)) = (description.name, value) {
            found = number;
        }
    });
    found
}

/// A time in whole nanoseconds, of messages that take so many slots and ways, and of what is beside them.
fn after(slots: &[u64], ways: u64, rest: u64) -> u64 {
    (slots.iter().sum::<u64>() * SLOT + (ways * WAY + rest) * 1_000) / 1_000
}

/// How many messages of this name have crossed.
pub(super) fn messages(chip: &Chip, opcode: &str) -> u64 {
    let mut found = 0;
    let (_, set) = chip.interconnects[1].statistics()[0];
    set.visit(&mut |description, value| {
        if let ("messages", Value::Counts(counts)) = (description.name, value) {
            found = counts.iter().find(|(name, _)| name == opcode).map_or(0, |(_, count)| *count);
        }
    });
    found
}

pub(super) fn transaction(chip: &Chip, kind: Kind, address: u64) -> Transaction {
    Transaction::block(chip.device_id(), kind, address)
}

pub(super) fn write(chip: &Chip, kind: Kind, address: u64, value: u8) -> Transaction {
    Transaction::carrying(chip.device_id(), kind, address, BlockData::from_bytes(&[value; BLOCK_BYTES]))
}

#[test]
fn a_read_is_a_request_a_read_of_the_home_and_a_go_with_data() {
    for (kind, request, go) in [(Kind::ReadOnce, "RdCurr", "ReadData"), (Kind::Read, "RdAny", "GO")] {
        let mut chip = chip(1);
        chip.memories[0].bytes.write(BLOCK, &[7; 8]);
        chip.device(0, transaction(&chip, kind, BLOCK));
        chip.run();
        // The request has a slot; the directory grants at its next cycle, home and memory take 10 + 2 + 50 + 10,
        // and the answer has a slot for headers and four for data.
        let asked = after(&[1], 1, 0) + 1;
        assert_eq!(chip.of_device, [(asked + 72 + after(&[5], 1, 0), Some(7))]);
        assert_eq!([messages(&chip, request), messages(&chip, go)], [1, 1]);
        assert!(chip.interconnects[1].is_idle_at(Time::from_ps(1_000_000)));
    }
}

#[test]
fn a_store_of_the_host_takes_the_copy_of_a_device_over_the_link() {
    let mut chip = chip(1);
    chip.device(0, transaction(&chip, Kind::ReadExclusive, BLOCK));
    chip.run();
    chip.heard.clear();
    chip.begin(1_000, 0, Store(BLOCK, 5));
    chip.run();
    // To the home, to the port, SnpInv and RspIHit over the link, to the home, memory, to the processor.
    let there = 1_000 + 10 + 2 + 10;
    let back = there + after(&[1, 1], 2, 0);
    assert_eq!(chip.finished, [done(back + 10 + 2 + 50 + 10, 0, 5)]);
    assert_eq!(chip.heard, [Kind::ReadExclusive]);
    assert_eq!([messages(&chip, "SnpInv"), messages(&chip, "RspIHit")], [1, 1]);
}

#[test]
fn a_block_that_a_device_replaces_is_granted_pulled_and_home() {
    let mut chip = chip(1);
    chip.begin(0, 0, Store(BLOCK, 5));
    chip.run();
    let device_writes = write(&chip, Kind::WriteBlock, BLOCK, 7);
    chip.device(1_000, device_writes);
    chip.run();
    // The home takes the processor's copy away, which acknowledges to the port: 10 + 2 + 10 + 10.
    let asked = 1_000 + after(&[1], 1, 0) + 1;
    assert_eq!(chip.of_device, [(asked + 32 + after(&[1], 1, 0), None)], "it is over with the GO");
    assert_eq!(["ItoMWr", "GO_WritePull", "Data"].map(|name| messages(&chip, name)), [1, 1, 1]);
    chip.begin(3_000, 0, Load(BLOCK));
    chip.run();
    assert_eq!(chip.finished.last().unwrap().value, 0x0707_0707_0707_0707);
}

#[test]
fn a_part_of_a_block_leaves_the_rest_as_it_was() {
    let mut chip = chip(1);
    chip.begin(0, 0, Store(BLOCK, 5));
    chip.run();
    let part = BlockData::from_bytes(&[7; 8]);
    chip.device(1_000, Transaction::carrying(chip.device_id(), Kind::WriteBlock, BLOCK + 8, part));
    chip.run();
    chip.begin(2_000, 0, Load(BLOCK));
    chip.run();
    chip.begin(3_000, 0, Load(BLOCK + 8));
    chip.run();
    let values: Vec<u64> = chip.finished.iter().map(|own| own.value).collect();
    assert_eq!(values, [5, 5, 0x0707_0707_0707_0707]);
    assert_eq!(messages(&chip, "WrInv"), 1);
}

#[test]
fn a_load_takes_a_request_the_device_and_a_completion_and_a_store_is_over_when_there_is_a_buffer() {
    let mut chip = chip(1);
    chip.begin(0, 0, Load(REGISTERS));
    chip.run();
    // A request of 24 bytes has two slots, a completion of 20 and 8 also; the device takes 30 ns.
    let there = 10 + after(&[2], 1, 30);
    assert_eq!(chip.accessed, [there]);
    assert_eq!(chip.finished, [done(10 + after(&[2, 2], 2, 30) + 10, 0, REGISTER_VALUE)]);
    chip.finished.clear();
    chip.begin(1_000, 0, Store(REGISTERS, 1));
    chip.begin(1_021, 0, Store(REGISTERS, 2));
    chip.begin(1_042, 0, Store(REGISTERS, 3));
    chip.run();
    // The third one waits until the first one is done, and the port knows.
    let first_done = 1_000 + 10 + after(&[2], 1, 30) + 5;
    assert_eq!(chip.finished, [done(1_020, 0, 1), done(1_041, 0, 2), done(first_done + 10, 0, 3)]);
}

/// The device writes data, waits for the GO, and writes a flag: a processor that sees the flag sees the data.
#[test]
fn who_sees_a_flag_of_a_device_sees_its_data() {
    let (data, flag) = (BLOCK, BLOCK + BLOCK_BYTES as u64);
    for seed in 0..60 {
        let settings = Settings { seed: Some(seed), transactions: 64, ..Settings::of("MESI", 1) };
        let mut chip = chip_of(settings, &keys());
        chip.begin(0, 0, Load(data));
        let first = write(&chip, Kind::WriteBlock, data, 7);
        chip.device(1_000, first);
        let (mut now, mut has_flag) = (1_000, false);
        while chip.finished.last().is_none_or(|own| own.value == 0) {
            now += 1;
            chip.run_until(now);
            if chip.processors[0].doing.is_none() {
                chip.begin(now + 1, 0, Load(flag));
            }
            if !has_flag && chip.of_device.len() == 1 {
                has_flag = true;
                let second = write(&chip, Kind::WriteBlock, flag, 7);
                chip.device(now + 1, second);
            }
        }
        chip.run();
        chip.begin(now + 1_000, 0, Load(data));
        chip.run();
        assert_eq!(chip.finished.last().unwrap().value, 0x0707_0707_0707_0707, "seed {seed}");
    }
}

/// A processor writes data, then a doorbell; the device that hears it reads the data.
#[test]
fn a_doorbell_comes_behind_its_data() {
    for seed in 0..40 {
        let settings = Settings { seed: Some(seed), transactions: 64, ..Settings::of("MESI", 2) };
        let mut chip = chip_of(settings, &keys());
        chip.on_access = Some(transaction(&chip, Kind::ReadOnce, BLOCK));
        chip.begin(0, 1, Load(BLOCK));
        chip.begin(300, 0, Store(BLOCK, 5));
        let mut now = 300;
        while chip.finished.len() < 2 {
            now += 1;
            chip.run_until(now);
        }
        chip.begin(now, 0, Store(REGISTERS, 1));
        chip.run();
        assert_eq!((chip.of_device.len(), chip.of_device[0].1), (1, Some(5)), "seed {seed}");
    }
}

/// Two caches and a device are behind the link, three caches on the chip: write-backs cross snoops, and
/// every load is compared with one flat memory.
#[test]
fn caches_behind_a_link_agree_with_flat_memory() {
    let (mut checked, mut counts) = (0, [0; 4]);
    for (number, name) in protocols::coherent().into_iter().cycle().take(24).enumerate() {
        let seed = number as u64;
        let settings = Settings {
            transactions: 1 + (seed % 4) as u32,
            hold_ns: 30 * (seed % 2),
            seed: Some(seed),
            ..Settings::of(name, walks::PROCESSORS)
        };
        let keys = Keys { requests: 1 + (seed % 5) as u32, ..keys() };
        let (chip, own) = walks::checked_walk(linked(settings, &keys), settings, 1_500);
        checked += own;
        for own in &chip.interconnects {
            assert!(own.is_idle_at(Time::NEVER), "{name}, {seed}: {:?}", own.describe());
        }
        let names = ["DirtyEvict", "RspIFwdM", "RspSFwdM", "GO_WritePull"];
        (0..4).for_each(|place| counts[place] += messages(&chip, names[place]));
        counts[3] += kept(&chip);
    }
    assert!(checked > 10_000 && counts.iter().all(|&count| count > 100), "{checked}, {counts:?}");
}
