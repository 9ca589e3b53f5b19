//! A third level alone, in front of a memory that takes 120 ns.

use narthex_kernel::quantity::Bytes;

use super::*;
use crate::memory_array::MemoryArray;

fn memory() -> MemoryArrays {
    let access_time = Duration::from_ns(120);
    MemoryArrays::new(MemoryArray::Fixed { access_time, taken_until: Time::ZERO }, None, None)
}

/// Two sets of two blocks of 64 bytes, in 30 ns.
fn small() -> ThirdLevel {
    let config = of(256, 2);
    assert_eq!(config.problems(Bytes::new(64)), []);
    ThirdLevel::new(&config, 64)
}

fn of(bytes: u64, associativity: u32) -> Config {
    let (size, access_time) = (Bytes::new(bytes), Duration::from_ns(30));
    Config { size, associativity, slices: None, access_time, fill: None, replacement: None, ddio: None }
}

const PROCESSOR: AgentId = AgentId(0);
const DEVICE: AgentId = AgentId(200);

fn at(nanoseconds: u64) -> Time {
    Time::ZERO + Duration::from_ns(nanoseconds)
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_ps() / 1_000
}

#[test]
fn a_block_takes_the_memorys_time_once_and_then_the_caches() {
    let (mut cache, mut memory) = (small(), memory());
    let mut read = |now, address| nanoseconds(cache.read(at(now), address, PROCESSOR, &mut memory));
    assert_eq!([read(0, 0x1000), read(200, 0x1020), read(300, 0x1040)], [150, 30, 150]);
    assert_eq!((cache.statistics.hits.get(), cache.statistics.misses.get()), (1, 2));
}

#[test]
fn the_least_recently_used_block_of_a_set_is_replaced() {
    let (mut cache, mut memory) = (small(), memory());
    // All in set 0, which has two lines.
    for (step, address) in [0x0, 0x80, 0x0, 0x100].into_iter().enumerate() {
        cache.read(at(1_000 * step as u64), address, PROCESSOR, &mut memory);
    }
    let mut read =
        |cache: &mut ThirdLevel, address| nanoseconds(cache.read(at(9_000), address, PROCESSOR, &mut memory));
    assert_eq!(read(&mut cache, 0x0), 30, "it was used again");
    assert_eq!(read(&mut cache, 0x80), 150);
}

#[test]
fn a_dirty_block_goes_to_the_memory_behind_the_read_that_replaces_it() {
    let (mut cache, mut memory) = (small(), memory());
    assert_eq!(nanoseconds(cache.write(at(0), (0x0, true), PROCESSOR, &mut memory)), 30);
    cache.write(at(100), (0x80, true), PROCESSOR, &mut memory);
    assert_eq!(nanoseconds(cache.read(at(1_000), 0x100, PROCESSOR, &mut memory)), 150, "not its own");
    // The memory is taken until 1000 + 30 + 120 + 120.
    assert_eq!(nanoseconds(cache.read(at(1_200), 0x40, PROCESSOR, &mut memory)), 70 + 120);
    assert_eq!(cache.statistics.written_back.get(), 1);
    assert_eq!(
        nanoseconds(cache.read(at(1_201), 0x100, PROCESSOR, &mut memory)),
        30,
        "a hit waits for nothing"
    );
}

#[test]
fn its_lines_take_the_memory_that_was_estimated() {
    for ways in [1, 2, 16] {
        let config = of(64 * 1024, ways);
        let (mut cache, mut memory) = (ThirdLevel::new(&config, 64), memory());
        for address in (0..64 * 1024).step_by(64) {
            cache.read(at(0), address, PROCESSOR, &mut memory);
        }
        let lines: usize = cache.sets.iter().map(|set| set.capacity() * size_of::<Line>()).sum();
        let taken = lines + cache.sets.len() * size_of::<Vec<Line>>();
        assert_eq!(config.host_bytes(Bytes::new(64)), taken as u64, "{ways} ways");
    }
}

#[test]
fn parts_of_real_sizes_have_slices_with_a_power_of_two_of_sets() {
    let problems = |size: u64, associativity, slices| {
        Config { slices: Some(slices), ..of(size, associativity) }.problems(Bytes::new(64))
    };
    const MIB: u64 = 1 << 20;
    assert_eq!(problems(15 * MIB, 20, 6), [], "Xeon E5-2630");
    assert_eq!(problems(75 * MIB / 2, 15, 20), [], "37.5 MiB");
    assert_eq!(problems(60 * MIB, 15, 32), [], "Xeon Platinum 8462Y+");
    let (key, message) = problems(15 * MIB, 20, 1).remove(0);
    assert_eq!(key, "size");
    assert!(message.ends_with("the nearest are 10MiB and 20MiB"), "{message}");
}

#[test]
fn with_random_replacement_a_cycle_of_more_blocks_than_ways_hits_at_times() {
    let hits = |replacement| {
        let config = Config { replacement: Some(replacement), ..of(64 * 32, 16) };
        let (mut cache, mut memory) = (ThirdLevel::new(&config, 64), memory());
        // 20 blocks of one set of 16 ways, again and again.
        for block in (0..100).flat_map(|_| (0..20).map(|number| number * 128)) {
            cache.read(at(0), block, PROCESSOR, &mut memory);
        }
        cache.statistics.hits.get()
    };
    assert_eq!(hits(Replacement::LeastRecentlyUsed), 0);
    // Of a cycle r times as long as the ways, m miss where m = 1 - exp(-r m): 37 % of 2,000.
    let random = hits(Replacement::Random);
    assert!((1_100..1_400).contains(&random), "{random} hits");
}

#[test]
fn what_a_second_level_gives_up_comes_here_and_what_it_reads_does_not() {
    let config = Config { fill: Some(Fill::Victims), ..of(256, 2) };
    let (mut cache, mut memory) = (ThirdLevel::new(&config, 64), memory());
    let mut read =
        |cache: &mut ThirdLevel, now| nanoseconds(cache.read(at(now), 0x1000, PROCESSOR, &mut memory));
    assert_eq!([read(&mut cache, 0), read(&mut cache, 1_000)], [150, 150]);
    let mut other = self::memory();
    cache.write(at(2_000), (0x1000, false), PROCESSOR, &mut other);
    assert_eq!(read(&mut cache, 3_000), 30);
    assert_eq!(cache.blocks_by_age().collect::<Vec<_>>(), [(0x1000, false)], "the memory has its bytes");
}

/// Two sets of four ways, of which devices have `ways`.
fn with_ddio(ways: u32) -> ThirdLevel {
    let ddio = ddio::Config { ways, requesters: vec!["pcie".into()] };
    ThirdLevel::new(&of(512, 4), 64).with_ddio(&ddio, [DEVICE].into_iter().collect())
}

#[test]
fn devices_push_each_others_blocks_out_of_their_ways_and_no_others() {
    let (mut cache, mut memory) = (with_ddio(1), memory());
    for address in [0x0, 0x80, 0x100] {
        cache.read(at(0), address, PROCESSOR, &mut memory);
    }
    let mut write = |cache: &mut ThirdLevel, now, address| {
        nanoseconds(cache.write(at(now), (address, true), DEVICE, &mut memory))
    };
    assert_eq!(write(&mut cache, 1_000, 0x80), 30, "a hit, in a processor's way");
    assert_eq!([write(&mut cache, 2_000, 0x200), write(&mut cache, 3_000, 0x280)], [30, 30]);
    let blocks: Vec<_> = cache.blocks_by_age().collect();
    assert_eq!(blocks, [(0x0, false), (0x100, false), (0x80, true), (0x280, true)]);
    let counted = cache.ddio_statistics().expect("it has ways for devices");
    let counts = [&counted.hits, &counted.allocations, &counted.evictions, &counted.memory_bytes];
    assert_eq!(counts.map(|count| count.get()), [1, 2, 1, 64]);
    // The memory takes the evicted block until 3000 + 30 + 120.
    let read = cache.read(at(3_050), 0x300, PROCESSOR, &mut memory);
    assert_eq!(nanoseconds(read), 100 + 120, "behind the evicted block");
}

#[test]
fn what_a_device_reads_stays_where_it_is() {
    let (mut cache, mut memory) = (with_ddio(2), memory());
    let mut read = |cache: &mut ThirdLevel, now, by| nanoseconds(cache.read(at(now), 0x40, by, &mut memory));
    assert_eq!([read(&mut cache, 0, DEVICE), read(&mut cache, 500, DEVICE)], [150, 150]);
    assert_eq!([read(&mut cache, 1_000, PROCESSOR), read(&mut cache, 1_500, DEVICE)], [150, 30]);
    let counted = cache.ddio_statistics().expect("it has ways for devices");
    assert_eq!((counted.read_hits.get(), counted.memory_bytes.get()), (1, 128));
}

#[test]
fn with_no_ways_a_devices_block_goes_to_the_memory() {
    let (mut cache, mut memory) = (with_ddio(0), memory());
    assert_eq!(nanoseconds(cache.write(at(0), (0x40, true), DEVICE, &mut memory)), 30 + 120);
    assert_eq!(cache.blocks_by_age().count(), 0);
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let ddio = ddio::Config { ways: 34, requesters: vec![] };
    let config = Config {
        associativity: 33,
        slices: Some(0),
        access_time: Duration::ZERO,
        ddio: Some(ddio),
        ..of(192, 1)
    };
    let keys: Vec<_> = config.problems(Bytes::new(64)).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["associativity", "slices", "access_time", "ddio.ways", "ddio.requesters"]);
}
