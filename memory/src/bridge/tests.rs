use narthex_kernel::quantity::Bytes;
use narthex_kernel::{Duration, Time};

use super::*;
use crate::bus::ExtraCycles;
use crate::kind::Kind;
use crate::transaction::BlockData;

/// The 1996 study's I/O bus: 50 MHz, 64 bits, two entries each way.
fn config() -> Config {
    Config {
        clock: "50MHz".parse().unwrap(),
        width: Bytes::new(8),
        arbitration_cycles: 1,
        address_cycles: 1,
        extra_cycles: extra_cycles(1, 0),
        bridge_access_time: Duration::from_ns(30),
        downward_entries: 2,
        upward_entries: 2,
    }
}

fn extra_cycles(address_only: u32, uncached_load: u32) -> ExtraCycles {
    ExtraCycles {
        read: 0,
        read_exclusive: 0,
        upgrade: address_only,
        write_back: 0,
        write_block: 0,
        read_once: 0,
        invalidate: address_only,
        uncached_load,
        uncached_store: 0,
        block_load: 0,
        block_store: 0,
    }
}

/// Its memory bus: 100 MHz, 64 bits.
fn timing() -> Timing {
    let memory = crate::bus::Config {
        clock: "100MHz".parse().unwrap(),
        width: Bytes::new(8),
        arbitration_cycles: 1,
        address_cycles: 1,
        extra_cycles: extra_cycles(1, 8),
        cache_supply_time: Duration::from_ns(110),
        dirty_owner: Default::default(),
        retry_cycles: None,
    };
    Timing::new(&memory, &config(), 64)
}

const PROCESSOR: AgentId = AgentId(0);
const DEVICE: AgentId = AgentId(1);
const OTHER_DEVICE: AgentId = AgentId(2);

fn store(value: u64) -> Transaction {
    Transaction::uncached(PROCESSOR, Kind::UncachedStore, 0x1000, 8, value)
}

fn plain(kind: Kind) -> Transaction {
    Transaction::block(AgentId(0), kind, 0)
}

fn load() -> Transaction {
    Transaction::uncached(PROCESSOR, Kind::UncachedLoad, 0x1000, 8, 0)
}

fn read(agent: AgentId) -> Transaction {
    Transaction::block(agent, Kind::Read, 0x2000)
}

fn invalidate(block: u64) -> Transaction {
    Transaction::block(DEVICE, Kind::Invalidate, block)
}

/// A device's write gets as far as the bridge's buffer.
fn buffer(bridge: &mut Bridge, transaction: Transaction) {
    assert!(bridge.device_starts(transaction.clone()));
    assert_eq!(bridge.device_ends(), End::Buffered);
}

fn ns(time: Duration) -> u64 {
    assert_eq!(time.as_ps() % 1_000, 0);
    time.as_ps() / 1_000
}

fn at(nanoseconds: u64) -> Time {
    Time::ZERO + Duration::from_ns(nanoseconds)
}

#[test]
fn the_parts_on_both_buses_add_up_to_table_2() {
    // Processor cycles of 5 ns; the register needs 30 ns, the memory of the
    // interface and the processor's cache 110 ns.
    let timing = timing();
    let (register, memory) = (Duration::from_ns(30), Duration::from_ns(110));
    let whole_read = |kind, device| {
        let read = plain(kind);
        ns(timing.until_read_crosses(kind)) + ns(timing.on_io(&read, device)) + ns(timing.answer(&read))
    };
    assert_eq!(whole_read(Kind::UncachedLoad, register), 48 * 5);
    assert_eq!(whole_read(Kind::Read, memory), 76 * 5);
    assert_eq!(ns(timing.posting(&store(0))), 12 * 5);
    assert_eq!(ns(timing.on_io(&store(0), register)), 20 * 5);
    let (on_memory, on_io) = timing.device_read(Kind::Read, at(0), at(0), Answerer::OnMemoryBus(memory));
    assert_eq!((on_memory, on_io), (at(42 * 5), at(62 * 5)));
}

#[test]
fn an_invalidation_takes_6_processor_cycles_on_the_memory_bus_and_12_on_the_io_bus() {
    for kind in [Kind::Upgrade, Kind::Invalidate] {
        assert_eq!(ns(timing().posting(&plain(kind))), 6 * 5);
        assert_eq!(ns(timing().on_io(&plain(kind), Duration::ZERO)), 12 * 5);
    }
}

#[test]
fn bytes_of_a_device_take_the_data_cycles_of_each_bus() {
    let bytes = |size| {
        let store = Transaction::carrying(AgentId(0), Kind::BlockStore, 0, BlockData::zeroed(size));
        (ns(timing().posting(&store)), ns(timing().on_io(&store, Duration::ZERO)))
    };
    let of_words = (bytes(8).0, bytes(8).1);
    assert_eq!(bytes(128), (of_words.0 + 15 * 10, of_words.1 + 15 * 20), "8 bytes in 10 ns and in 20 ns");
}

#[test]
fn a_device_that_waits_for_the_memory_bus_has_sent_its_address_meanwhile() {
    // The addresses cross at once: 20 ns on the memory bus end no later than 40
    // ns on the I/O bus if it begins up to 20 ns later.
    let supplier = Answerer::OnMemoryBus(Duration::from_ns(110));
    for (begin, end) in [(20, 310), (30, 320), (200, 490)] {
        let (_, on_io) = timing().device_read(Kind::Read, at(begin), at(0), supplier);
        assert_eq!(on_io, at(end), "the memory bus is granted at {begin} ns");
    }
    // A block that the device has itself: the caches only look, and 64 bytes
    // come from the device, 6 and 8 cycles of 20 ns behind the address.
    let itself = Answerer::OnIoBus(Duration::from_ns(110));
    assert_eq!(timing().device_read(Kind::Read, at(0), at(0), itself), (at(30), at(40 + 120 + 160)));
}

#[test]
fn a_write_is_buffered_and_a_read_waits_until_it_has_crossed() {
    let mut bridge = Bridge::new(&config());
    assert_eq!(bridge.start(store(7)), Start::Posts);
    bridge.post();
    assert_eq!(bridge.start(load()), Start::Reads);
    bridge.read_arrives();
    assert!(bridge.wants_io());
    assert_eq!(bridge.next_on_io(), Some(store(7)));
    bridge.io_over();
    assert_eq!(bridge.next_on_io(), Some(load()));
    bridge.io_over();
    assert!(!bridge.wants_io());
}

#[test]
fn a_write_that_finds_the_buffer_full_holds_the_memory_bus_until_there_is_room() {
    let mut bridge = Bridge::new(&config());
    for value in 0..2 {
        assert_eq!(bridge.start(store(value)), Start::Posts);
        bridge.post();
    }
    assert_eq!(bridge.start(store(2)), Start::Stalls);
    assert_eq!(bridge.next_on_io(), Some(store(0)));
    assert!(bridge.io_over(), "the third may cross the memory bus now");
    bridge.post();
    for value in 1..3 {
        assert_eq!(bridge.next_on_io(), Some(store(value)));
        assert!(!bridge.io_over());
    }
    assert_eq!(bridge.statistics.stalls.get(), 1);
}

#[test]
fn a_device_that_finds_the_buffer_full_holds_the_io_bus_until_there_is_room() {
    let mut bridge = Bridge::new(&config());
    buffer(&mut bridge, invalidate(0));
    buffer(&mut bridge, invalidate(64));
    assert!(bridge.device_starts(invalidate(128)));
    assert_eq!(bridge.device_ends(), End::Stalled);
    assert_eq!(bridge.wants_memory(), Some(Turn::First));
    assert_eq!(bridge.next_on_memory(), OnMemory::Write(invalidate(0)));
    assert!(bridge.memory_over(), "the third fits now");
    assert_eq!(bridge.device_ends(), End::Buffered);
    assert_eq!(bridge.next_on_memory(), OnMemory::Write(invalidate(64)));
    bridge.memory_over();
    assert_eq!(bridge.next_on_memory(), OnMemory::Write(invalidate(128)));
}

#[test]
fn invalidations_come_before_a_processors_next_access() {
    let mut bridge = Bridge::new(&config());
    assert_eq!(bridge.wants_memory(), None);
    buffer(&mut bridge, invalidate(0));
    assert_eq!(bridge.wants_memory(), Some(Turn::First), "before every processor");
    assert_eq!(bridge.next_on_memory(), OnMemory::Write(invalidate(0)));
    assert_eq!(bridge.wants_memory(), None, "it has the bus");
    bridge.memory_over();
    assert_eq!(bridge.wants_memory(), None);
}

#[test]
fn a_devices_read_takes_its_turn_on_the_memory_bus_behind_what_it_wrote() {
    let mut bridge = Bridge::new(&config());
    buffer(&mut bridge, invalidate(0));
    assert!(bridge.device_starts(read(DEVICE)));
    assert_eq!(bridge.next_on_memory(), OnMemory::Write(invalidate(0)));
    bridge.memory_over();
    assert_eq!(bridge.wants_memory(), Some(Turn::InOrder));
    assert_eq!(bridge.next_on_memory(), OnMemory::Read(read(DEVICE)));
    bridge.memory_over();
    assert_eq!(bridge.device_ends(), End::Read);
    assert_eq!(bridge.next_on_memory(), OnMemory::Nothing);
}

#[test]
fn when_both_sides_start_at_once_the_io_bus_is_refused() {
    for begins_first in [PROCESSOR, DEVICE] {
        let mut bridge = Bridge::new(&config());
        if begins_first == PROCESSOR {
            bridge.start(load());
            assert!(!bridge.device_starts(read(DEVICE)));
        } else {
            assert!(bridge.device_starts(read(DEVICE)));
            bridge.start(load());
            assert!(bridge.is_refused());
        }
        assert_eq!(bridge.device_ends(), End::Refused);
        assert!(bridge.has_refused(DEVICE) && !bridge.has_refused(OTHER_DEVICE));
        bridge.read_arrives();
        assert_eq!(bridge.next_on_io(), Some(load()), "the processor goes on");
        assert_eq!(bridge.statistics.refusals.get(), 1);
        bridge.io_over();
        assert_eq!(bridge.take_refused(DEVICE), Some(read(DEVICE)), "and then the device, again");
        assert!(!bridge.has_refused(DEVICE));
    }
}

#[test]
fn what_is_in_the_buffer_or_on_both_buses_is_not_refused() {
    let mut bridge = Bridge::new(&config());
    assert!(bridge.device_starts(read(DEVICE)));
    assert_eq!(bridge.next_on_memory(), OnMemory::Read(read(DEVICE)));
    bridge.memory_over();
    bridge.start(store(1));
    assert_eq!(bridge.device_ends(), End::Read, "its data still cross the I/O bus");
}

#[test]
fn a_write_that_waits_for_room_is_refused_like_any_other() {
    let mut bridge = Bridge::new(&config());
    buffer(&mut bridge, invalidate(0));
    buffer(&mut bridge, invalidate(64));
    assert!(bridge.device_starts(invalidate(128)));
    assert_eq!(bridge.device_ends(), End::Stalled);
    for _ in 0..2 {
        assert!(matches!(bridge.next_on_memory(), OnMemory::Write(_)));
        bridge.memory_over();
    }
    bridge.start(load());
    assert_eq!(bridge.device_ends(), End::Refused);
}

/// A processor that never pauses: each time the device has the I/O bus, it has
/// begun another load. How many of the device's attempts are refused in ten.
fn refused_in_ten(mut bridge: Bridge) -> u32 {
    let mut refused = 0;
    for _ in 0..10 {
        // The memory bus goes to the bridge if it comes first.
        if bridge.wants_memory() == Some(Turn::First) {
            assert_eq!(bridge.next_on_memory(), OnMemory::Keep);
        } else {
            bridge.start(load());
        }
        let transaction = bridge.take_refused(DEVICE).unwrap_or(read(DEVICE));
        if bridge.device_starts(transaction.clone()) {
            assert!(bridge.keeps_memory());
            assert_eq!(bridge.next_on_memory(), OnMemory::Read(transaction));
            bridge.memory_over();
            assert_eq!(bridge.device_ends(), End::Read);
            continue;
        }
        refused += 1;
        assert_eq!(bridge.device_ends(), End::Refused);
        bridge.read_arrives();
        assert_eq!(bridge.next_on_io(), Some(load()));
        bridge.io_over();
    }
    refused
}

#[test]
fn after_a_refusal_the_next_transaction_of_a_device_succeeds() {
    assert_eq!(refused_in_ten(Bridge::new(&config())), 5);
}

#[test]
fn without_fairness_a_device_starves() {
    assert_eq!(refused_in_ten(Bridge::new(&config()).unfair()), 10);
}

#[test]
fn after_a_refusal_devices_wait_until_they_would_not_be_refused_again() {
    let mut bridge = Bridge::new(&config());
    assert_eq!(bridge.start(store(1)), Start::Posts);
    assert!(!bridge.device_starts(invalidate(0)));
    assert_eq!(bridge.device_ends(), End::Refused);
    assert!(!bridge.admits_devices(), "the store is still on the memory bus");
    bridge.post();
    assert!(bridge.admits_devices());
}

#[test]
fn a_block_on_its_way_to_a_device_is_found() {
    let mut bridge = Bridge::new(&config());
    let block = |byte| BlockData::from_bytes(&[byte; 64]);
    let write_back = |byte| Transaction::carrying(PROCESSOR, Kind::WriteBack, 0x2000, block(byte));
    assert_eq!(bridge.peek(0x2000), None);
    bridge.start(write_back(1));
    assert_eq!(bridge.peek(0x2000), Some(&block(1)[..]));
    bridge.post();
    bridge.start(write_back(2));
    assert_eq!(bridge.peek(0x2000), Some(&block(2)[..]), "the newest");
    assert_eq!(bridge.peek(0x2040), None);
}

#[test]
fn a_bridge_without_buffers_is_refused() {
    let broken = Config { downward_entries: 0, upward_entries: 65, width: Bytes::new(3), ..config() };
    let keys: Vec<_> = broken.problems().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["width", "downward_entries", "upward_entries"]);
}
