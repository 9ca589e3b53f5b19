//! A bridge between the memory bus and the I/O bus.

use super::*;

#[test]
fn a_store_leaves_the_memory_bus_when_the_bridge_has_it() {
    let mut bench = Bench::behind_a_bridge();
    bench.script(PROCESSOR, store(PROCESSOR));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    // Three cycles of each bus, one bus after the other; the device's 30 ns are two.
    assert_eq!(bench.crossings, [(BUS, Kind::UncachedStore, 0, 30), (SECOND, Kind::UncachedStore, 30, 130)]);
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::UncachedStore, false, None)), Some(30));
    assert_eq!(bench.when(Seen::Accessed(Kind::UncachedStore)), Some(130));
}

#[test]
fn a_load_holds_both_buses_until_the_device_has_answered() {
    let mut bench = Bench::behind_a_bridge();
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    // The address takes two cycles; then the I/O bus's three and the device's two;
    // then one cycle of data.
    assert_eq!(bench.crossings, [(SECOND, Kind::UncachedLoad, 20, 120), (BUS, Kind::UncachedLoad, 0, 130)]);
    assert_eq!(bench.when(Seen::Accessed(Kind::UncachedLoad)), Some(120));
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::UncachedLoad, false, None)), Some(130));
}

#[test]
fn a_read_of_a_devices_block_is_seen_on_both_buses_when_it_has_both() {
    let mut bench = Bench::behind_a_bridge();
    bench.script(PROCESSOR, read(PROCESSOR, HOME));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    assert_eq!(bench.when(Seen::Snooped(OTHER, Kind::Read)), Some(20));
    assert_eq!(bench.when(Seen::Snooped(DEVICE, Kind::Read)), Some(20));
    // Ten cycles of 20 ns, and two for the device; one more cycle above.
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::Read, false, Some(9))), Some(270));
}

#[test]
fn a_devices_read_of_main_memory_has_both_buses() {
    let mut bench = Bench::behind_a_bridge();
    bench.memory.bytes.write(BLOCK, &[3; BLOCK_BYTES]);
    bench.script(DEVICE, Transaction::block(DEVICE, Kind::ReadOnce, BLOCK));
    bench.ask_at(0, &[DEVICE]);
    bench.run();
    // Above: ten cycles and memory's time. Below: two cycles, that time, eight cycles.
    assert_eq!(bench.crossings, [(BUS, Kind::ReadOnce, 0, 200), (SECOND, Kind::ReadOnce, 0, 300)]);
    assert_eq!(bench.when(Seen::Snooped(PROCESSOR, Kind::ReadOnce)), Some(0));
    assert_eq!(bench.when(Seen::Completed(DEVICE, Kind::ReadOnce, false, Some(3))), Some(300));
    assert_eq!(bench.suppliers, [Some(Supplier::Memory(MEMORY))]);
}

#[test]
fn a_devices_invalidation_is_seen_above_after_it_has_left_its_bus() {
    let mut bench = Bench::behind_a_bridge();
    bench.script(DEVICE, Transaction::block(DEVICE, Kind::Invalidate, HOME));
    bench.ask_at(0, &[DEVICE]);
    bench.run();
    assert_eq!(bench.crossings, [(SECOND, Kind::Invalidate, 0, 40), (BUS, Kind::Invalidate, 40, 60)]);
    assert_eq!(bench.when(Seen::Completed(DEVICE, Kind::Invalidate, false, None)), Some(40));
    assert_eq!(bench.when(Seen::Snooped(PROCESSOR, Kind::Invalidate)), Some(40));
}

#[test]
fn a_device_whose_write_is_refused_goes_first_once_the_processors_has_crossed() {
    let mut bench = Bench::behind_a_bridge();
    let block = BlockData::from_bytes(&[8; BLOCK_BYTES]);
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.script(DEVICE, Transaction::carrying(DEVICE, Kind::WriteBlock, BLOCK, block));
    bench.ask_at(0, &[PROCESSOR]);
    bench.ask_at(0, &[DEVICE]);
    bench.run();
    assert_eq!(bench.when(Seen::Released), Some(40), "it has the bus for its address, in vain");
    assert!(bench.when(Seen::Kept).is_some(), "the bridge keeps the memory bus for it");
    let kinds: Vec<Kind> = bench.crossings.iter().filter(|of| of.0 == SECOND).map(|of| of.1).collect();
    assert_eq!(kinds, [Kind::UncachedLoad, Kind::WriteBlock, Kind::UncachedLoad]);
    assert_eq!(bench.memory.bytes.read_block(BLOCK, BLOCK_BYTES)[0], 8);
    assert_eq!(counted(&bench.interconnects[1], "bridge_nacks"), 1);
}

#[test]
fn a_second_store_waits_until_the_bridge_has_room() {
    let mut bench = Bench::behind_a_bridge();
    for _ in 0..3 {
        bench.script(PROCESSOR, store(PROCESSOR));
    }
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    let above: Vec<(u64, u64)> =
        bench.crossings.iter().filter(|of| of.0 == BUS).map(|of| (of.2, of.3)).collect();
    // The first keeps its place until it has crossed the I/O bus, from 30 to 130; then
    // the second crosses the memory bus, and the I/O bus from 160 to 260.
    assert_eq!(above, [(0, 30), (30, 160), (160, 290)]);
}

#[test]
fn no_agent_contends_for_a_bus_that_the_bridge_has() {
    let mut bench = Bench::behind_a_bridge();
    let contenders = |bench: &Bench, on: usize| {
        let all = bench.interconnects.clone();
        all[on].contenders(&all, |_| true)
    };
    assert_eq!(contenders(&bench, 0), [PROCESSOR, OTHER]);
    assert_eq!(contenders(&bench, 1), [DEVICE]);
    bench.script(DEVICE, Transaction::block(DEVICE, Kind::ReadOnce, BLOCK));
    bench.ask_at(0, &[DEVICE]);
    let step = |bench: &mut Bench| {
        let (now, (on, step)) = bench.due.pop_before(Time::NEVER).expect("a step");
        happen(bench, now, on, step);
    };
    step(&mut bench);
    assert_eq!(contenders(&bench, 0), [PROCESSOR, OTHER, BRIDGE], "the device's read asks for both");
    step(&mut bench);
    assert!(contenders(&bench, 0).is_empty() && contenders(&bench, 1).is_empty());
    bench.run();
    assert_eq!(contenders(&bench, 0), [PROCESSOR, OTHER]);
}
