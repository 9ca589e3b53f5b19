//! Tagged memory: what tags forbid is refused on every way to it, what they
//! allow is as fast and as right as ordinary memory.

use proptest::prelude::*;

use super::*;
use crate::access_tags::{Tag, TagError};

/// A page of tagged memory, between two pages of ordinary memory.
const TAGGED: u64 = 0x1_0000;

fn tagged_bench(block_bytes: u64) -> Bench {
    let mut bench = bench(UncachedStores::Blocking);
    bench.pages.map(TAGGED - 0x1000, 0x3000, PageAttributes::DATA);
    assert!(bench.own.tag_memory(TAGGED..TAGGED + 0x1000, block_bytes));
    bench
}

fn refused<T>(block: u64, tag: Tag) -> Outcome<T> {
    Outcome::Fault(AccessFault::Tag(block, tag))
}

impl Bench {
    fn set_tag(&mut self, block: u64, tag: Tag) {
        self.port().set_tag(block, tag as u64).expect("a block of tagged memory");
    }
}

#[test]
fn an_access_that_a_tag_forbids_is_refused_before_its_block_is_fetched() {
    let mut bench = tagged_bench(64);
    assert_eq!(bench.port().load(TAGGED, 8), refused(TAGGED, Tag::None));
    assert_eq!(bench.port().load_reserved(TAGGED, 8), refused(TAGGED, Tag::None));
    bench.set_tag(TAGGED, Tag::Read);
    assert_eq!(bench.port().store(TAGGED, 8, 1), refused(TAGGED, Tag::Read));
    assert_eq!(bench.port().store_conditional(TAGGED, 8, 1), refused(TAGGED, Tag::Read));
    assert_eq!(bench.port().load_for_update(TAGGED, 8), refused(TAGGED, Tag::Read));
    assert!(!bench.own.wants(Traffic::All));
    let statistics = &bench.own.statistics;
    assert_eq!(statistics.tag_read_faults.get(), 2);
    assert_eq!(statistics.tag_write_faults.get(), 3);
    assert_eq!(statistics.tag_changes.get(), 1);
}

#[test]
fn a_line_that_a_tag_closes_does_not_hit_any_more_and_does_again_when_it_opens() {
    let mut bench = tagged_bench(64);
    bench.set_tag(TAGGED, Tag::Write);
    assert_eq!(bench.outcome(|port| port.store(TAGGED, 8, 7)), Outcome::Done(()));
    assert!(bench.port().store_hit::<8>(TAGGED, 8));
    bench.set_tag(TAGGED, Tag::Read);
    assert!(!bench.port().store_hit::<8>(TAGGED, 9));
    assert_eq!(bench.port().load_hit::<8>(TAGGED), Some(8));
    bench.set_tag(TAGGED, Tag::None);
    assert_eq!(bench.port().load_hit::<8>(TAGGED), None);
    bench.set_tag(TAGGED, Tag::Write);
    assert_eq!(bench.port().load_hit::<8>(TAGGED), Some(8));
    assert!(bench.port().store_hit::<8>(TAGGED, 10));
}

#[test]
fn a_tag_change_leaves_the_most_recent_line_the_most_recent() {
    let mut bench = tagged_bench(1024);
    bench.own.data = Cache::with_geometry(crate::protocols::by_name("MOESI").unwrap(), 16, 2, 64);
    bench.set_tag(TAGGED, Tag::Read);
    let (older, newer, next) = (TAGGED, TAGGED - 0x1000, TAGGED - 0xe00);
    for address in [older, newer] {
        assert_eq!(bench.outcome(|port| port.load(address, 8)), Outcome::Done(0));
    }
    bench.set_tag(TAGGED, Tag::None);
    assert_eq!(bench.port().load_hit::<8>(newer), Some(0));
    assert_eq!(bench.outcome(|port| port.load(next, 8)), Outcome::Done(0));
    assert!(bench.first_byte(older).is_none() && bench.first_byte(newer).is_some());
}

#[test]
fn a_block_that_is_snarfed_into_closed_memory_does_not_hit() {
    let mut bench = tagged_bench(64);
    let config = cache::Config { snarfing: true, ..data_config() };
    bench.own.data = Cache::new(&config);
    bench.set_tag(TAGGED, Tag::Read);
    assert_eq!(bench.outcome(|port| port.load(TAGGED, 8)), Outcome::Done(0));
    bench.own.snoop(&Transaction::block(AgentId(1), Kind::ReadExclusive, TAGGED));
    bench.set_tag(TAGGED, Tag::None);
    let data = BlockData::from_bytes(&[5; 64]);
    bench.own.snarf(&Transaction::carrying(AgentId(1), Kind::WriteBack, TAGGED, data));
    assert!(bench.first_byte(TAGGED).is_some(), "the block was taken in");
    assert_eq!(bench.port().load_hit::<8>(TAGGED), None);
    bench.set_tag(TAGGED, Tag::Read);
    assert_eq!(bench.port().load_hit::<1>(TAGGED), Some(5));
}

#[test]
fn a_reservation_does_not_survive_a_change_of_tags() {
    let mut bench = tagged_bench(64);
    bench.set_tag(TAGGED, Tag::Write);
    assert_eq!(bench.outcome(|port| port.load_reserved(TAGGED, 8)), Outcome::Done(0));
    bench.set_tag(TAGGED, Tag::None);
    bench.set_tag(TAGGED, Tag::Write);
    assert_eq!(bench.outcome(|port| port.store_conditional(TAGGED, 8, 1)), Outcome::Done(false));
}

#[test]
fn a_tag_is_changed_by_number_and_only_where_there_are_tags() {
    let mut plain = bench(UncachedStores::Blocking);
    assert_eq!(plain.port().tag_block_bytes(), 0);
    assert_eq!(plain.port().set_tag(DATA, 1), Err(TagError::NoMemory));
    let mut bench = tagged_bench(128);
    assert_eq!(bench.port().tag_block_bytes(), 128);
    assert_eq!(bench.port().set_tag(TAGGED, 3), Err(TagError::UnknownTag(3)));
    assert_eq!(bench.port().set_tag(TAGGED + 64, 1), Err(TagError::Misaligned(128)));
    assert!(!bench.own.tag_memory(0x8000..0x9000, 64), "there is one tagged memory");
    assert_eq!(bench.port().tag_block_bytes(), 128);
}

/// What happens next; addresses count from the page before the tagged one.
#[derive(Clone, Debug)]
enum Step {
    SetTag { place: u64, tag: Tag },
    Load { address: u64, size: usize },
    Store { address: u64, size: usize, value: u64 },
    DirectFill { address: u64, value: u64 },
    Snoop { address: u64, exclusive: bool },
}

/// Around the two bounds and two places that share the cache's lines.
fn address() -> impl Strategy<Value = u64> {
    let span = 0x900u64;
    prop_oneof![0xfc0..0xfc0 + span, 0x1f00..0x1f00 + 0x140u64]
}

fn step() -> impl Strategy<Value = Step> {
    let size = || (0u32..4).prop_map(|log| 1usize << log);
    let tag = prop_oneof![Just(Tag::None), Just(Tag::Read), Just(Tag::Write)];
    prop_oneof![
        3 => (0u64..0x1000, tag).prop_map(|(place, tag)| Step::SetTag { place, tag }),
        3 => (address(), size()).prop_map(|(address, size)| Step::Load { address, size }),
        3 => (address(), size(), any::<u64>())
            .prop_map(|(address, size, value)| Step::Store { address, size, value }),
        1 => (address(), any::<u64>()).prop_map(|(address, value)| Step::DirectFill { address, value }),
        1 => (address(), any::<bool>())
            .prop_map(|(address, exclusive)| Step::Snoop { address, exclusive }),
    ]
}

/// The obvious way: a tag for each block and every byte by itself.
struct Model {
    bytes: Vec<u8>,
    tags: Vec<Tag>,
    block_bytes: usize,
}

const BASE: u64 = TAGGED - 0x1000;

impl Model {
    fn value(&self, address: u64, size: usize) -> u64 {
        let bytes = &self.bytes[address as usize..][..size];
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    fn store(&mut self, address: u64, size: usize, value: u64) {
        self.bytes[address as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    /// The first block, by its address, whose tag is less than needed.
    fn refusing(&self, address: u64, size: usize, needed: Tag) -> Option<AccessFault> {
        (address as usize..address as usize + size).find_map(|byte| {
            let place = byte.checked_sub(0x1000).filter(|&place| place < 0x1000)?;
            let block = place / self.block_bytes;
            let tag = self.tags[block];
            (tag < needed).then(|| AccessFault::Tag(TAGGED + (block * self.block_bytes) as u64, tag))
        })
    }

    /// Whether the whole line of the cache around an aligned access allows it.
    fn line_allows(&self, address: u64, needed: Tag) -> bool {
        self.refusing(address & !63, 64, needed).is_none()
    }
}

fn load_hit(port: &mut ProcessorPort<'_>, address: u64, size: usize) -> Option<u64> {
    match size {
        1 => port.load_hit::<1>(address),
        2 => port.load_hit::<2>(address),
        4 => port.load_hit::<4>(address),
        _ => port.load_hit::<8>(address),
    }
}

fn store_hit(port: &mut ProcessorPort<'_>, address: u64, size: usize, value: u64) -> bool {
    match size {
        1 => port.store_hit::<1>(address, value),
        2 => port.store_hit::<2>(address, value),
        4 => port.store_hit::<4>(address, value),
        _ => port.store_hit::<8>(address, value),
    }
}

fn take(bench: &mut Bench, model: &mut Model, step: &Step) -> Result<(), TestCaseError> {
    match *step {
        Step::SetTag { place, tag } => {
            let block = place as usize / model.block_bytes;
            model.tags[block] = tag;
            bench.set_tag(TAGGED + (block * model.block_bytes) as u64, tag);
        }
        Step::Load { address, size } => {
            let refusing = model.refusing(address, size, Tag::Read);
            let fast = load_hit(&mut bench.port(), BASE + address, size);
            let outcome = match fast {
                Some(value) => Outcome::Done(value),
                None => bench.outcome(|port| port.load(BASE + address, size)),
            };
            let expected = refusing.map_or(Outcome::Done(model.value(address, size)), Outcome::Fault);
            prop_assert_eq!(outcome, expected, "fast: {}", fast.is_some());
            if address % size as u64 == 0 && model.line_allows(address, Tag::Read) {
                let again = load_hit(&mut bench.port(), BASE + address, size);
                prop_assert_eq!(again, Some(model.value(address, size)), "an allowed load hits");
            }
        }
        Step::Store { address, size, value } => {
            let refusing = model.refusing(address, size, Tag::Write);
            let fast = store_hit(&mut bench.port(), BASE + address, size, value);
            let outcome = match fast {
                true => Outcome::Done(()),
                false => bench.outcome(|port| port.store(BASE + address, size, value)),
            };
            prop_assert_eq!(outcome, refusing.map_or(Outcome::Done(()), Outcome::Fault), "fast: {}", fast);
            if refusing.is_none() {
                model.store(address, size, value);
            }
            if address % size as u64 == 0 && model.line_allows(address, Tag::Write) {
                prop_assert!(
                    store_hit(&mut bench.port(), BASE + address, size, value),
                    "an allowed store hits"
                );
            }
        }
        Step::DirectFill { address, value } => {
            let address = address & !7;
            let refusing = model.refusing(address, 8, Tag::Write);
            let outcome = bench.outcome(|port| port.load_for_update(BASE + address, 8));
            let expected = refusing.map_or(Outcome::Done(model.value(address, 8)), Outcome::Fault);
            prop_assert_eq!(outcome, expected);
            if refusing.is_none() {
                prop_assert_eq!(bench.port().store(BASE + address, 8, value), Outcome::Done(()));
                model.store(address, 8, value);
            }
        }
        Step::Snoop { address, exclusive } => {
            let kind = if exclusive { Kind::ReadExclusive } else { Kind::Read };
            let block = (BASE + address) & !63;
            let reply = bench.own.snoop(&Transaction::block(AgentId(1), kind, block));
            // The other agent's copy goes home at once, unchanged.
            if let Some(data) = reply.supplies {
                bench.memory.write(block, &data);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_access_has_the_right_value_or_is_refused_by_the_right_block(
        steps in proptest::collection::vec(step(), 1..120),
        block_log in 4u32..=10,
        ways in prop_oneof![Just(1usize), Just(4)],
        tag in prop_oneof![Just(Tag::None), Just(Tag::Read), Just(Tag::Write)],
    ) {
        let block_bytes = 1usize << block_log;
        let mut bench = tagged_bench(block_bytes as u64);
        bench.own.data = Cache::with_geometry(crate::protocols::by_name("MOESI").unwrap(), 16, ways, 64);
        let blocks = 0x1000 / block_bytes;
        let mut model = Model { bytes: vec![0; 0x3000], tags: vec![tag; blocks], block_bytes };
        for block in 0..blocks {
            bench.set_tag(TAGGED + (block * block_bytes) as u64, tag);
        }
        for step in &steps {
            take(&mut bench, &mut model, step)?;
        }
    }
}
