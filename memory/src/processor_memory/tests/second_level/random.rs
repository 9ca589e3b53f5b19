//! Whatever happens to two levels, they are flat memory.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

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
