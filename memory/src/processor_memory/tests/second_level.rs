//! A second level between a processor's caches and the interconnect.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::access_tags::Tag;
use crate::port::LowerLevelLatency;
use crate::processor_memory::second_level::{CachePort, Config, Inclusion, Obtained, Stores};
use crate::protocols::Access;

const LATENCY: u32 = 10;

pub(in crate::processor_memory) fn second_config() -> Config {
    Config {
        size: "2KiB".parse().unwrap(),
        associativity: 1,
        block: "128B".parse().unwrap(),
        latency_cycles: LATENCY,
        port: CachePort::Pipelined,
        inclusion: Inclusion::Inclusive,
        data_cache_stores: Stores::WriteBack,
        prefetcher: None,
    }
}

/// A direct-mapped data cache of four blocks of 32 bytes above 2 KiB in blocks of 128.
pub(super) fn first_config() -> cache::Config {
    cache::Config { size: "128B".parse().unwrap(), block: "32B".parse().unwrap(), ..data_config() }
}

pub(super) fn levels(first: &cache::Config, second: &Config) -> Bench {
    let plain = bench(UncachedStores::Blocking);
    let store_buffer = StoreBufferConfig {
        uncached_stores: UncachedStores::Blocking,
        entries: 2,
        flushed_blocks: Default::default(),
    };
    let own = ProcessorMemory::new(AgentId(0), first, Some(first), &store_buffer, Duration::from_ns(12));
    Bench { own: own.with_second_level(second, first), ..plain }
}

pub(in crate::processor_memory) fn two_levels() -> Bench {
    levels(&first_config(), &second_config())
}

pub(super) fn late(port_cycles: u32) -> LowerLevelLatency {
    LowerLevelLatency { cycles: LATENCY, port_cycles, register: None }
}

impl Bench {
    /// As [`Bench::bus_turn`], with the blocks of the second level.
    fn turn_below(&mut self) -> Option<Kind> {
        let transaction = self.own.issue(Traffic::All)?;
        if let Some(data) = &transaction.data {
            self.memory.write(transaction.address, data);
        }
        let bytes = self.second().cache.block_bytes();
        let data =
            transaction.kind.fetches_block().then(|| self.memory.read_block(transaction.address, bytes));
        self.own.complete(&transaction, &Response { data, value: 0, shared: false });
        Some(transaction.kind)
    }

    pub(super) fn second(&self) -> &second_level::SecondLevel {
        self.own.second.as_ref().expect("there is one")
    }

    /// Repeats an access, each time that its processor is woken, until it does not wait
    /// any more; what went over the bus.
    pub(super) fn kinds<T>(
        &mut self,
        access: impl Fn(&mut ProcessorPort<'_>) -> Outcome<T>,
    ) -> (Outcome<T>, Vec<Kind>) {
        let mut kinds = Vec::new();
        loop {
            match access(&mut self.port()) {
                Outcome::Wait => {
                    while self.own.pending.is_some() {
                        kinds.extend(self.turn_below());
                        assert!(kinds.len() < 10, "an access that goes on waiting");
                    }
                }
                outcome => return (outcome, kinds),
            }
        }
    }

    /// Another agent's transaction on the block at `address`; its bytes, if the
    /// processor's caches supply them.
    pub(super) fn snooped(&mut self, kind: Kind, address: u64) -> Option<BlockData> {
        let data = BlockData::from_bytes(&[0; 128]);
        let transaction = match kind {
            Kind::WriteBlock => Transaction::carrying(AgentId(1), kind, address, data),
            _ => Transaction::block(AgentId(1), kind, address),
        };
        let reply = self.own.snoop(&transaction);
        if let (Some(data), true) = (&reply.supplies, reply.updates_home) {
            self.memory.write(address, data);
        }
        reply.supplies
    }
}

#[test]
fn a_block_that_only_the_second_level_has_is_served_without_the_bus_and_late() {
    let mut bench = two_levels();
    bench.memory.write(DATA + 40, &[7]);
    assert_eq!(bench.kinds(|port| port.load(DATA, 8)), (Outcome::Done(0), vec![Kind::Read]));
    assert_eq!(bench.port().load(DATA + 40, 8), Outcome::Late(7, late(1)), "another part of its block");
    assert_eq!(bench.port().load_hit::<8>(DATA + 40), Some(7), "the data cache has it from then on");
    assert_eq!(bench.second().statistics.hits.get(), 1);
    assert_eq!(bench.own.statistics.load_misses.get(), 2);
}

#[test]
fn an_instruction_fetch_is_served_by_the_second_level_that_a_load_has_filled() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.load(CODE, 8));
    assert_eq!(bench.port().fetch(CODE + 64), Outcome::Late((), late(1)));
    assert_eq!(bench.port().fetch(CODE + 64), Outcome::Done(()));
    assert!(bench.port().fetch_hit(CODE + 64));
}

#[test]
fn a_dirty_block_of_the_data_cache_goes_into_the_second_level_and_takes_its_port_twice() {
    let mut bench = two_levels();
    let stored = bench.kinds(|port| port.store(DATA, 8, 5));
    assert_eq!(stored, (Outcome::Done(()), vec![Kind::ReadExclusive]));
    let _ = bench.kinds(|port| port.load(DATA + 128, 8));
    assert_eq!(bench.second().statistics.written_back.get(), 1, "both use one line");
    assert_eq!(bench.port().store(DATA, 8, 6), Outcome::Late((), late(1)));
    assert_eq!(bench.port().load(DATA + 128, 8), Outcome::Late(0, late(2)), "the block and a write-back");
    assert_eq!(bench.port().load(DATA, 8), Outcome::Late(6, late(1)));
    assert_eq!(bench.memory.read_block(DATA, 8).word(0), 0, "home is told when the second level is full");
}

#[test]
fn one_access_at_a_time_takes_the_port_for_as_long_as_it_takes() {
    let mut bench = levels(&first_config(), &Config { port: CachePort::OneAtATime, ..second_config() });
    let _ = bench.kinds(|port| port.load(DATA, 8));
    assert_eq!(bench.port().load(DATA + 32, 8), Outcome::Late(0, late(LATENCY)));
}

#[test]
fn a_replaced_block_of_an_inclusive_second_level_takes_those_above_with_it() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.store(DATA, 8, 5));
    let _ = bench.kinds(|port| port.store(DATA + 96, 8, 6));
    let _ = bench.kinds(|port| port.fetch(DATA + 64));
    // DATA and DATA + 2 KiB use one line of the second level.
    let fetched = bench.kinds(|port| port.load(DATA + 0x800 + 32, 8));
    assert_eq!(fetched, (Outcome::Done(0), vec![Kind::WriteBack, Kind::Read]));
    assert_eq!(bench.memory.read_block(DATA, 128).word(0), 5, "what the data cache had written went home");
    assert_eq!(bench.memory.read_block(DATA, 128).word(96), 6);
    assert_eq!(bench.port().load_hit::<8>(DATA), None, "though its line was not needed");
    assert_eq!(bench.second().statistics.inclusion_victims.get(), 2);
}

#[test]
fn a_line_that_is_locked_sends_its_block_home_and_takes_those_above_with_it() {
    let mut bench = levels(&first_config(), &Config { associativity: 2, ..second_config() });
    let _ = bench.kinds(|port| port.store(CODE + 96, 8, 6));
    let _ = bench.kinds(|port| port.fetch(CODE));
    let _ = bench.kinds(|port| port.load(CODE + 128, 8));
    assert_eq!(bench.own.second_level_geometry(), Some([8, 2, 128]));
    assert_eq!(bench.own.lock_lines(&[(0, 0), (1, 0), (2, 1)]), Ok(1), "one of three is dirty");
    assert!(bench.own.wants(Traffic::Blocks) && bench.own.is_locking() && !bench.own.is_locked((0, 0)));
    assert_eq!(bench.port().load_hit::<8>(CODE + 96), Some(6), "until the bus is granted");
    assert_eq!(bench.turn_below(), Some(Kind::WriteBack));
    assert_eq!(bench.memory.read_block(CODE, 128).word(96), 6);
    assert_eq!(bench.turn_below(), None, "the other two take no transaction");
    assert!(!bench.own.is_locking() && !bench.own.wants(Traffic::All) && bench.own.is_at_rest());
    assert!([(0, 0), (1, 0), (2, 1)].into_iter().all(|line| bench.own.is_locked(line)));
    assert_eq!(bench.port().load_hit::<8>(CODE + 96), None);
    assert!(!bench.port().fetch_hit(CODE), "instructions of the block have gone, too");
    assert_eq!(bench.second().statistics.inclusion_victims.get(), 3);
}

#[test]
fn a_grant_for_blocks_that_locks_a_line_without_a_transaction_issues_no_uncached_access() {
    let mut bench = levels(&first_config(), &Config { associativity: 2, ..second_config() });
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    assert_eq!(bench.own.lock_lines(&[(0, 0)]), Ok(0));
    assert_eq!(bench.own.issue(Traffic::Blocks), None);
    assert!(!bench.own.is_locking() && !bench.own.wants(Traffic::Blocks));
    let load = bench.own.issue(Traffic::Uncached).expect("it has a path of its own");
    assert_eq!(load.kind, Kind::UncachedLoad);
}

#[test]
fn a_set_keeps_its_last_line_and_then_nothing_is_locked() {
    let mut bench = levels(&first_config(), &Config { associativity: 2, ..second_config() });
    assert_eq!(bench.own.lock_lines(&[(3, 0), (4, 0), (4, 1)]).unwrap_err().set, 4);
    assert!(!bench.own.is_locking());
    assert_eq!(bench.own.lock_lines(&[(4, 0)]), Ok(0));
    assert_eq!(bench.own.lock_lines(&[(4, 0)]), Ok(0), "it is to be locked already");
    assert_eq!(bench.own.lock_lines(&[(4, 1)]).unwrap_err().set, 4, "one that waits counts");
    bench.own.free_lines(&[(4, 0)]);
    assert_eq!(bench.own.lock_lines(&[(4, 1)]), Ok(0));
    assert_eq!(bench.turn_below(), None);
    assert!(bench.own.is_locked((4, 1)) && !bench.own.is_locked((4, 0)));
}

#[test]
fn a_replaced_block_of_a_non_inclusive_second_level_stays_above() {
    let first =
        cache::Config { size: "512B".parse().unwrap(), block: "128B".parse().unwrap(), ..data_config() };
    let second =
        Config { size: "256B".parse().unwrap(), inclusion: Inclusion::NonInclusive, ..second_config() };
    let mut bench = levels(&first, &second);
    let _ = bench.kinds(|port| port.store(DATA, 8, 5));
    // DATA and DATA + 256 use one line of the second level, and two of the data cache.
    assert_eq!(bench.kinds(|port| port.load(DATA + 256, 8)).1, [Kind::Read]);
    assert_eq!(bench.port().load_hit::<8>(DATA), Some(5));
    assert!(!bench.second().cache.holds(DATA));
    assert_eq!(bench.first_byte(DATA), Some(5));
    // It leaves the data cache for one that has its line in the second level, too: it
    // goes home before that comes up.
    let fetched = bench.kinds(|port| port.load(DATA + 512, 8));
    assert_eq!(fetched, (Outcome::Done(0), vec![Kind::Read, Kind::WriteBack]));
    let supplied = bench.snooped(Kind::Read, DATA).map(|data| data.word(0));
    let home = bench.memory.read_block(DATA, 128).word(0);
    assert_eq!(supplied.or(Some(home)), Some(5), "the newest bytes are somewhere");
}

/// Of a processor with several misses, too: the load that could be under way waits for the write-back.
#[test]
fn a_load_waits_until_a_dirty_block_that_has_no_place_below_has_gone_home() {
    let first =
        cache::Config { size: "512B".parse().unwrap(), block: "128B".parse().unwrap(), ..data_config() };
    let second =
        Config { size: "256B".parse().unwrap(), inclusion: Inclusion::NonInclusive, ..second_config() };
    let mut bench = levels(&first, &second);
    bench.own = bench.own.with_misses(2);
    let _ = bench.kinds(|port| port.store(DATA, 8, 5));
    assert_eq!(bench.kinds(|port| port.load(DATA + 512, 8)), (Outcome::UnderWay(0), vec![]));
    assert_eq!(bench.turn_below(), Some(Kind::Read));
    assert_eq!(bench.own.next_arrival().map(|arrival| arrival.value), Some(0));
    // The block is in the second level, in whose line for DATA it is.
    let loaded = bench.kinds(|port| port.load(DATA + 512, 8));
    assert_eq!(loaded, (Outcome::Done(0), vec![Kind::WriteBack]));
    assert_eq!(bench.memory.read_block(DATA, 128).word(0), 5);
}

#[test]
fn a_snoop_takes_a_dirty_block_of_the_data_cache_through_the_second_level() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.store(DATA, 8, 5));
    let _ = bench.kinds(|port| port.store(DATA + 32, 8, 6));
    let supplied = bench.snooped(Kind::Read, DATA).expect("it is the owner");
    assert_eq!((supplied.len(), supplied.word(0), supplied.word(32)), (128, 5, 6));
    assert_eq!(bench.second().statistics.collected.get(), 2);
    assert!(!bench.port().store_hit::<8>(DATA, 1), "the right to write is gone above, too");
    assert_eq!(bench.kinds(|port| port.store(DATA, 8, 7)), (Outcome::Done(()), vec![Kind::Upgrade]));
    assert_eq!(bench.snooped(Kind::ReadExclusive, DATA).expect("again").word(0), 7);
    assert_eq!(bench.port().load_hit::<8>(DATA), None);
}

#[test]
fn the_first_store_to_a_block_that_nobody_else_has_takes_no_time() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.load(DATA, 8));
    assert_eq!(bench.port().store(DATA, 8, 5), Outcome::Done(()));
    assert!(bench.port().store_hit::<8>(DATA + 8, 6));
    assert_eq!(bench.second().cache.state(DATA), State::Modified, "what a snoop has to find");
}

#[test]
fn a_load_that_is_served_late_leaves_a_block_that_was_stored_to_since_as_it_is() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.store(DATA, 8, 5));
    assert_eq!(bench.own.bring(DATA, Access::Load, Tag::Read), Obtained::AtOnce);
    assert_eq!(bench.own.data.state(DATA), State::Modified);
    assert_eq!(bench.snooped(Kind::Read, DATA).expect("the owner").word(0), 5);
}

#[test]
fn a_write_through_store_goes_to_the_second_level_and_brings_no_block_in() {
    let second = Config { data_cache_stores: Stores::WriteThrough, ..second_config() };
    let mut bench = levels(&first_config(), &second);
    let through = Outcome::Late((), LowerLevelLatency { cycles: 0, port_cycles: 1, register: None });
    assert_eq!(bench.kinds(|port| port.store(DATA, 8, 5)), (through, vec![Kind::ReadExclusive]));
    assert_eq!(bench.port().load_hit::<8>(DATA), None);
    assert_eq!(bench.port().load(DATA, 8), Outcome::Late(5, late(1)));
    assert!(!bench.port().store_hit::<8>(DATA, 6));
    assert_eq!(bench.port().store(DATA, 8, 6), through);
    assert_eq!(bench.port().load_hit::<8>(DATA), Some(6), "a copy above is written, too");
    assert_eq!(bench.snooped(Kind::Read, DATA).expect("the owner").word(0), 6);
    assert_eq!(bench.second().statistics.stored.get(), 2);
}

#[test]
fn a_reservation_lasts_as_long_as_one_of_the_caches_has_its_block() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.load_reserved(DATA, 8));
    let _ = bench.kinds(|port| port.load(DATA + 128, 8));
    assert_eq!(bench.port().load_hit::<8>(DATA), None, "it has left the data cache");
    assert!(matches!(bench.port().store_conditional(DATA, 8, 9), Outcome::Late(true, _)));
    let _ = bench.kinds(|port| port.load_reserved(DATA + 32, 8));
    bench.snooped(Kind::ReadExclusive, DATA);
    assert_eq!(bench.port().store_conditional(DATA + 32, 8, 9), Outcome::Done(false));
}

#[test]
fn a_cache_block_operation_is_on_the_block_of_the_interconnect_at_every_level() {
    use crate::port::CacheBlockOperation::{Clean, Flush, Zero};
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.store(DATA + 96, 8, 6));
    let operated =
        |bench: &mut Bench, operation| bench.kinds(|port| Port::operate_on_block(port, DATA, operation)).1;
    assert_eq!(operated(&mut bench, Clean), [Kind::WriteBack]);
    assert_eq!(bench.memory.read_block(DATA, 128).word(96), 6, "the data cache's bytes went home");
    assert_eq!(operated(&mut bench, Clean), []);
    assert_eq!(bench.port().store(DATA + 96, 8, 7), Outcome::Done(()), "it is still alone");
    assert_eq!(operated(&mut bench, Flush), [Kind::WriteBack]);
    assert_eq!((bench.first_byte(DATA + 96), bench.memory.read_block(DATA, 128).word(96)), (None, 7));
    assert_eq!(operated(&mut bench, Zero), [Kind::ReadExclusive]);
    assert_eq!(bench.snooped(Kind::Read, DATA).expect("the owner")[..], [0; 128]);
}

#[test]
fn an_owner_that_refuses_pushes_what_the_data_cache_has_written() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.store(DATA + 32, 8, 6));
    let read = Transaction::block(AgentId(1), Kind::Read, DATA);
    assert_eq!(bench.own.push(&read).expect("it is dirty").word(32), 6);
    assert!(!bench.port().store_hit::<8>(DATA + 32, 7), "the right to write is gone above, too");
    assert!(bench.own.push(&read).is_none(), "the second time it answers");
}

#[test]
fn what_the_system_reads_and_writes_is_found_at_every_level() {
    let mut bench = two_levels();
    let _ = bench.kinds(|port| port.store(DATA + 28, 4, 0x0403_0201));
    let mut bytes = [0; 8];
    assert!(bench.own.peek(DATA + 28, &mut bytes));
    assert_eq!(bytes, [1, 2, 3, 4, 0, 0, 0, 0], "the first half is newer above");
    bench.own.poke(DATA + 28, &[9; 8]);
    assert_eq!(bench.kinds(|port| port.load(DATA + 32, 4)).0, Outcome::Late(0x0909_0909, late(1)));
    let mut written = Vec::new();
    bench.own.flush(DATA..DATA + 0x1000, |block, data| {
        written.push((block, data.len()));
    });
    assert_eq!(written, [(DATA, 128), (DATA, 32)], "older bytes come first");
    assert!(!bench.own.peek(DATA + 28, &mut bytes));
}

#[test]
fn levels_that_do_not_fit_are_refused() {
    let first = first_config();
    let problems = |change: fn(&mut Config)| {
        let mut config = second_config();
        change(&mut config);
        let found = config.problems(&first, &[("data_cache", &first)]);
        found.into_iter().map(|(key, message)| format!("{key}: {message}")).collect::<Vec<_>>()
    };
    assert_eq!(problems(|_| {}), Vec::<String>::new());
    assert_eq!(
        problems(|config| config.block = "16B".parse().unwrap()),
        ["block: 16B is no multiple of the block of 32B (data_cache.block)"]
    );
    assert_eq!(
        problems(|config| {
            config.size = "64B".parse().unwrap();
            config.block = "32B".parse().unwrap();
        }),
        ["size: 64B is smaller than data_cache.size, 128B, which an inclusive cache holds, too"]
    );
    assert_eq!(problems(|config| config.latency_cycles = 0), ["latency_cycles: 0 is not from 1 to 1000"]);
    assert_eq!(
        problems(|config| config.associativity = 3),
        ["size: 2KiB is not a power of two of sets of 3 blocks, from 768B (two sets) to 1GiB"]
    );
    let refused = problems(|config| config.inclusion = Inclusion::NonInclusive);
    assert!(refused[0].starts_with("inclusion: \"non-inclusive\" needs one block size"), "{refused:?}");
    let refused = problems(|config| {
        config.inclusion = Inclusion::NonInclusive;
        config.block = "32B".parse().unwrap();
        config.data_cache_stores = Stores::WriteThrough;
    });
    assert!(refused[0].starts_with("data_cache_stores: \"write-through\" needs"), "{refused:?}");
}

/// What happens to a processor's memory, at a byte of a small memory.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Store(usize, u64),
    Update(usize, u64),
    Reserve(usize),
    Fetch,
    Snoop(Kind),
    /// A device replaces a block.
    Replace(u8),
    /// The bus is granted while a load waits, after another agent's transaction.
    Interrupted(Kind),
    /// A line of the second level is locked, at once or when the bus is granted next.
    Lock(usize, bool),
    Free(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let kinds = || select(vec![Kind::Read, Kind::ReadExclusive, Kind::ReadOnce]);
    prop_oneof![
        4 => (0..4usize).prop_map(|shift| Step::Load(1 << shift)),
        4 => ((0..4usize), any::<u64>()).prop_map(|(shift, value)| Step::Store(1 << shift, value)),
        1 => (2..4usize, any::<u64>()).prop_map(|(shift, value)| Step::Update(1 << shift, value)),
        1 => (2..4usize).prop_map(|shift| Step::Reserve(1 << shift)),
        1 => Just(Step::Fetch),
        2 => kinds().prop_map(Step::Snoop),
        1 => any::<u8>().prop_map(Step::Replace),
        1 => kinds().prop_map(Step::Interrupted),
        1 => (0..16usize, any::<bool>()).prop_map(|(line, at_once)| Step::Lock(line, at_once)),
        1 => (0..16usize).prop_map(Step::Free),
    ]
}

/// The bytes that all of it is about: twice the largest second level.
const BYTES: u64 = 0x1000;

fn little_endian(memory: &[u8], offset: usize, size: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&memory[offset..offset + size]);
    u64::from_le_bytes(bytes)
}

/// One step on levels and on flat memory; what they read has to agree.
fn check_step(bench: &mut Bench, flat: &mut [u8], place: u64, step: Step) -> Result<(), TestCaseError> {
    let block_bytes = bench.second().cache.block_bytes() as u64;
    let aligned = |size: usize| (place & !(size as u64 - 1)).min(BYTES - 8);
    let block = DATA + place / block_bytes * block_bytes;
    let value_of = |outcome| match outcome {
        Outcome::Done(value) | Outcome::Late(value, _) => value,
        other => panic!("{other:?}"),
    };
    match step {
        Step::Load(size) => {
            let at = place.min(BYTES - 8);
            let loaded = bench.kinds(|port| port.load(DATA + at, size)).0;
            prop_assert_eq!(value_of(loaded), little_endian(flat, at as usize, size));
        }
        Step::Store(size, value) => {
            let at = place.min(BYTES - 8);
            let _ = bench.kinds(|port| port.store(DATA + at, size, value & (u64::MAX >> (64 - 8 * size))));
            flat[at as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        Step::Update(size, value) => {
            let at = aligned(size);
            let old = value_of(bench.kinds(|port| port.load_for_update(DATA + at, size)).0);
            prop_assert_eq!(old, little_endian(flat, at as usize, size));
            let stored = bench.port().store(DATA + at, size, value & (u64::MAX >> (64 - 8 * size)));
            prop_assert!(matches!(stored, Outcome::Done(()) | Outcome::Late(..)), "certain to be done");
            flat[at as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        Step::Reserve(size) => {
            let at = aligned(size);
            let old = value_of(bench.kinds(|port| port.load_reserved(DATA + at, size)).0);
            prop_assert_eq!(old, little_endian(flat, at as usize, size));
            let (outcome, _) = bench.kinds(|port| port.store_conditional(DATA + at, size, !old & 0xff));
            if matches!(outcome, Outcome::Done(true) | Outcome::Late(true, _)) {
                flat[at as usize..][..size].copy_from_slice(&(!old & 0xff).to_le_bytes()[..size]);
            }
        }
        Step::Fetch => {
            let _ = bench.kinds(|port| port.fetch(DATA + place));
        }
        Step::Snoop(kind) => check_snoop(bench, flat, kind, block)?,
        Step::Replace(byte) => {
            bench.snooped(Kind::WriteBlock, block);
            bench.memory.write(block, &vec![byte; block_bytes as usize]);
            flat[(block - DATA) as usize..][..block_bytes as usize].fill(byte);
        }
        Step::Interrupted(kind) => {
            let at = aligned(8);
            if bench.port().store(DATA + at, 8, 1) == Outcome::Wait {
                check_snoop(bench, flat, kind, block)?;
            }
            let _ = bench.kinds(|port| port.store(DATA + at, 8, 1));
            flat[at as usize..][..8].copy_from_slice(&1u64.to_le_bytes());
        }
        Step::Lock(line, at_once) => check_lock(bench, line, at_once)?,
        Step::Free(line) => {
            let place = place_of(bench, line);
            bench.own.free_lines(&[place]);
            prop_assert!(!bench.own.is_locked(place));
        }
    }
    Ok(())
}

/// The set and way of a line.
fn place_of(bench: &Bench, line: usize) -> (usize, usize) {
    let [sets, ways, _] = bench.own.second_level_geometry().expect("there is a second level");
    (line % sets, line / sets % ways)
}

/// A line is locked unless it is the last one of its set.
fn check_lock(bench: &mut Bench, line: usize, at_once: bool) -> Result<(), TestCaseError> {
    let (set, way) = place_of(bench, line);
    let ways = bench.second().cache.ways();
    let is_taken = |bench: &Bench, way| {
        bench.own.is_locked((set, way)) || bench.second().to_lock.contains(&(set * ways + way))
    };
    let is_last = (0..ways).all(|other| other == way || is_taken(bench, other));
    let locked = bench.own.lock_lines(&[(set, way)]);
    prop_assert_eq!(locked.is_err(), is_last && !is_taken(bench, way) || ways == 1);
    while at_once && bench.own.is_locking() {
        prop_assert!(bench.own.wants(Traffic::All));
        bench.turn_below();
    }
    prop_assert!(!at_once || locked.is_err() || bench.own.is_locked((set, way)));
    Ok(())
}

/// Another agent sees the newest bytes of a block; if it is to write, it writes
/// nothing here, but takes the dirty ones home in the end.
fn check_snoop(bench: &mut Bench, flat: &[u8], kind: Kind, block: u64) -> Result<(), TestCaseError> {
    let bytes = bench.second().cache.block_bytes();
    let supplied = bench.snooped(kind, block);
    let seen = supplied.unwrap_or_else(|| bench.memory.read_block(block, bytes));
    prop_assert_eq!(&*seen, &flat[(block - DATA) as usize..][..bytes]);
    if kind == Kind::ReadExclusive {
        bench.memory.write(block, &seen);
    }
    Ok(())
}

/// What holds between the levels at any time.
fn check_inclusion(bench: &Bench, inclusive: bool) -> Result<(), TestCaseError> {
    let second = &bench.second().cache;
    for block in bench.own.data.blocks() {
        prop_assert!(!inclusive || second.holds(block), "{block:#x} is above alone");
        if second.holds(block) && bench.own.data.state(block) == State::Modified {
            prop_assert_eq!(second.state(block), State::Modified);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn two_levels_are_flat_memory_to_the_processor_and_to_others(
        steps in proptest::collection::vec((0..BYTES, step()), 1..150),
        protocol in select(vec!["MOESI", "MESI", "MSI"]),
        (first_ways, second_ways) in (select(vec![1, 2]), select(vec![1, 2, 4])),
        (blocks, inclusion, stores) in select(vec![
            ((16, 128), Inclusion::Inclusive, Stores::WriteBack),
            ((32, 64), Inclusion::Inclusive, Stores::WriteBack),
            ((32, 64), Inclusion::Inclusive, Stores::WriteThrough),
            ((64, 64), Inclusion::NonInclusive, Stores::WriteBack),
        ]),
    ) {
        let size = |bytes: u64| narthex_kernel::quantity::Bytes::new(bytes);
        let first = cache::Config {
            size: size(256),
            associativity: first_ways,
            block: size(blocks.0),
            protocol: protocol.into(),
            snarfing: false,
            prefetcher: None,
        };
        let second = Config {
            size: size(1024),
            associativity: second_ways,
            block: size(blocks.1),
            inclusion,
            data_cache_stores: stores,
            prefetcher: None,
            ..second_config()
        };
        let mut bench = levels(&first, &second);
        bench.pages.map(DATA, BYTES, PageAttributes { executable: true, ..PageAttributes::DATA });
        let mut flat = vec![0; BYTES as usize];
        for (place, step) in steps {
            check_step(&mut bench, &mut flat, place, step)?;
            check_inclusion(&bench, inclusion == Inclusion::Inclusive)?;
        }
        for block in (0..BYTES).step_by(blocks.1 as usize) {
            check_snoop(&mut bench, &flat, Kind::ReadOnce, DATA + block)?;
        }
    }
}
