//! What leaves the buffers, when, and as what.

use super::*;
use crate::cache;
use crate::main_memory::MainMemory;
use crate::pages::{PageAttributes, PageTable};
use crate::port::Port;
use crate::processor_memory::{StoreBufferConfig, Traffic, UncachedStores};
use crate::transaction::Response;
use narthex_kernel::Duration;

const WINDOW: u64 = 0x5e00_0000;
const REGISTERS: u64 = 0x5e10_0000;

struct Bench {
    own: ProcessorMemory,
    pages: PageTable,
    memory: MainMemory,
}

impl Bench {
    fn new(buffers: u32, uncached_stores: UncachedStores) -> Self {
        let flush = vec![Flush::Full, Flush::Fence, Flush::UncachedLoad, Flush::UncachedStore];
        Bench::with_rules(buffers, uncached_stores, (flush, None))
    }

    fn with_rules(
        buffers: u32,
        uncached_stores: UncachedStores,
        (flush, flush_time): (Vec<Flush>, Option<Duration>),
    ) -> Self {
        let data = cache::Config {
            size: "1KiB".parse().unwrap(),
            associativity: 1,
            block: "64B".parse().unwrap(),
            protocol: "MESI".into(),
            snarfing: false,
            prefetcher: None,
        };
        let store_buffer =
            StoreBufferConfig { uncached_stores, entries: 4, flushed_blocks: Default::default() };
        let config = Config { buffers, block: "32B".parse().unwrap(), flush, flush_time };
        let own = ProcessorMemory::new(AgentId(0), &data, None, &store_buffer, Duration::ZERO)
            .with_write_combining(&config);
        let mut pages = PageTable::default();
        pages.map(WINDOW, 0x1000, PageAttributes::COMBINING);
        pages.map(REGISTERS, 0x1000, PageAttributes::DEVICE);
        Bench { own, pages, memory: MainMemory::default() }
    }

    fn port(&mut self) -> ProcessorPort<'_> {
        self.own.port(&self.pages, &mut self.memory)
    }

    /// A store that waits for no bus.
    fn store(&mut self, address: u64, size: usize, value: u64) {
        let first = self.port().store(address, size, value);
        assert!(first == Outcome::Done(()) || self.own.wait_reason().is_none(), "it waits");
        assert!(first == Outcome::Done(()) || self.port().store(address, size, value) == Outcome::Done(()));
    }

    /// The next transaction crosses: its kind, address, size and value, or bytes.
    fn cross(&mut self) -> Option<(Kind, u64, u16, u64)> {
        let transaction = self.own.issue(Traffic::All)?;
        self.own.complete(&transaction, &Response::default());
        let value = transaction.data.as_ref().map_or(transaction.value, |data| data.word(8));
        Some((transaction.kind, transaction.address, transaction.size, value))
    }
}

#[test]
fn a_full_buffer_leaves_as_one_block_store_and_the_processor_goes_on() {
    let mut bench = Bench::new(2, UncachedStores::Blocking);
    for place in [0, 24, 8] {
        bench.store(WINDOW + place, 8, place + 1);
        assert!(!bench.own.wants(Traffic::All), "nothing leaves yet");
    }
    bench.store(WINDOW + 16, 8, 17);
    assert!(bench.own.wants(Traffic::All));
    assert_eq!(bench.cross(), Some((Kind::BlockStore, WINDOW, 32, 9)));
    assert!(bench.own.is_at_rest());
}

#[test]
fn a_partial_buffer_leaves_at_a_fence_as_aligned_pieces() {
    let mut bench = Bench::new(2, UncachedStores::Blocking);
    bench.store(WINDOW + 2, 2, 0x0403);
    bench.store(WINDOW + 4, 4, 0x0807_0605);
    bench.store(WINDOW + 16, 8, 9);
    assert_eq!(bench.port().fence(), Outcome::Wait);
    let store = |offset, size, value| Some((Kind::UncachedStore, WINDOW + offset, size, value));
    assert_eq!(bench.cross(), store(2, 2, 0x0403));
    assert_eq!(bench.cross(), store(4, 4, 0x0807_0605));
    assert_eq!(bench.cross(), store(16, 8, 9));
    assert_eq!(bench.port().fence(), Outcome::Done(()));
    assert_eq!(bench.cross(), None);
}

#[test]
fn another_uncached_access_comes_behind_what_the_buffers_hold() {
    for posts in [UncachedStores::Blocking, UncachedStores::Posted] {
        let mut bench = Bench::new(4, posts);
        bench.store(WINDOW + 64, 8, 1);
        bench.store(WINDOW, 8, 2);
        assert_eq!(bench.port().store(REGISTERS, 8, 3), Outcome::Wait, "the doorbell");
        let crossed: Vec<_> =
            std::iter::from_fn(|| bench.cross()).map(|(_, address, _, _)| address).collect();
        assert_eq!(crossed, [WINDOW + 64, WINDOW, REGISTERS], "{posts:?}");
        let mut bench = Bench::new(4, posts);
        bench.store(WINDOW, 8, 2);
        assert_eq!(bench.port().load(WINDOW, 8), Outcome::Wait);
        let kinds: Vec<_> = std::iter::from_fn(|| bench.cross()).map(|(kind, ..)| kind).collect();
        assert_eq!(kinds, [Kind::UncachedStore, Kind::UncachedLoad], "{posts:?}");
    }
}

#[test]
fn a_store_that_finds_no_buffer_closes_the_oldest_and_waits_until_that_is_free() {
    let mut bench = Bench::new(2, UncachedStores::Blocking);
    bench.store(WINDOW, 8, 1);
    bench.store(WINDOW + 16, 8, 2);
    bench.store(WINDOW + 32, 8, 3);
    assert_eq!(bench.port().store(WINDOW + 64, 8, 4), Outcome::Wait);
    assert_eq!(bench.cross(), Some((Kind::UncachedStore, WINDOW, 8, 1)));
    assert!(bench.own.wait_reason().is_some(), "half of it is there");
    assert_eq!(bench.cross(), Some((Kind::UncachedStore, WINDOW + 16, 8, 2)));
    assert_eq!(bench.own.wait_reason(), None);
    bench.store(WINDOW + 64, 8, 4);
    assert_eq!(bench.cross(), None, "the others stay open");
}

#[test]
fn stores_without_buffers_are_single_ones() {
    let mut bench = Bench::new(1, UncachedStores::Blocking);
    bench.own.combining = None;
    assert_eq!(bench.port().store(WINDOW, 8, 1), Outcome::Wait);
    assert_eq!(bench.cross(), Some((Kind::UncachedStore, WINDOW, 8, 1)));
}

/// What crosses of a half-filled buffer, and of a full one, after `cause`, under a rule and `fence`.
fn crosses(rules: &[Flush], cause: impl FnOnce(&mut Bench)) -> Vec<(Kind, u64)> {
    let time = rules.contains(&Flush::Time).then_some(Duration::from_ns(100));
    let mut bench = Bench::with_rules(4, UncachedStores::Posted, (rules.to_vec(), time));
    bench.store(WINDOW, 8, 1);
    (0..4).for_each(|word| bench.store(WINDOW + 32 + 8 * word, 8, word));
    cause(&mut bench);
    std::iter::from_fn(|| bench.cross()).map(|(kind, address, ..)| (kind, address - WINDOW)).collect()
}

#[test]
fn each_rule_closes_what_it_says_and_nothing_else() {
    let (part, full) = ((Kind::UncachedStore, 0), (Kind::BlockStore, 32));
    let fence = |bench: &mut Bench| {
        let _ = bench.port().fence();
    };
    let load = |bench: &mut Bench| {
        let _ = bench.port().load(REGISTERS, 8);
    };
    let store = |bench: &mut Bench| {
        let _ = bench.port().store(REGISTERS, 8, 9);
    };
    let nothing = |_: &mut Bench| {};
    let register = REGISTERS - WINDOW;
    assert_eq!(crosses(&[Flush::Full, Flush::Fence], nothing), [full]);
    assert_eq!(crosses(&[Flush::Fence], nothing), [], "a full buffer may stay open");
    assert_eq!(crosses(&[Flush::Fence], fence), [part, full]);
    assert_eq!(crosses(&[Flush::Fence], load), [(Kind::UncachedLoad, register)], "the load overtakes them");
    assert_eq!(crosses(&[Flush::Fence], store), [(Kind::UncachedStore, register)]);
    assert_eq!(crosses(&[Flush::UncachedLoad], fence), []);
    assert_eq!(crosses(&[Flush::UncachedLoad], load), [part, full, (Kind::UncachedLoad, register)]);
    assert_eq!(crosses(&[Flush::UncachedStore], load), [(Kind::UncachedLoad, register)]);
    assert_eq!(crosses(&[Flush::UncachedStore], store), [part, full, (Kind::UncachedStore, register)]);
}

#[test]
fn a_load_finds_what_the_processor_has_stored_to_its_block_under_every_rule() {
    let load = |bench: &mut Bench| {
        let _ = bench.port().load(WINDOW + 8, 8);
    };
    let crossed = crosses(&[Flush::Fence], load);
    assert_eq!(crossed, [(Kind::UncachedStore, 0), (Kind::UncachedLoad, 8)], "the other one stays open");
}

#[test]
fn a_buffer_is_due_its_time_after_it_was_opened() {
    let (rules, time) = (vec![Flush::Time], Some(Duration::from_ns(100)));
    let mut bench = Bench::with_rules(4, UncachedStores::Posted, (rules, time));
    let at = |nanoseconds: u64| Time::from_ps(nanoseconds * 1_000);
    bench.store(WINDOW, 8, 1);
    assert_eq!(bench.own.buffer_due(at(10)), Some(at(110)));
    bench.store(WINDOW + 8, 8, 2);
    assert_eq!(bench.own.buffer_due(at(20)), None, "it is open already");
    bench.store(WINDOW + 32, 8, 3);
    assert_eq!(bench.own.buffer_due(at(50)), Some(at(150)));
    bench.own.close_due_buffers(at(110));
    let crossed: Vec<_> = std::iter::from_fn(|| bench.cross()).map(|(_, address, ..)| address).collect();
    assert_eq!(crossed, [WINDOW, WINDOW + 8]);
    bench.own.close_due_buffers(at(150));
    assert_eq!(bench.cross(), Some((Kind::UncachedStore, WINDOW + 32, 8, 3)));
}

#[test]
fn rules_that_contradict_each_other_are_refused() {
    let problems = |flush: &[Flush], flush_time| {
        let config = Config { buffers: 1, block: "32B".parse().unwrap(), flush: flush.to_vec(), flush_time };
        config.problems().into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    let time = Some(Duration::from_ns(1));
    assert_eq!(problems(&[Flush::Fence], None), [""; 0]);
    assert_eq!(problems(&[Flush::Time], time), [""; 0]);
    assert_eq!(problems(&[Flush::Full], None), ["flush"]);
    assert_eq!(problems(&[], None), ["flush"]);
    assert_eq!(problems(&[Flush::Fence, Flush::Fence], None), ["flush"]);
    assert_eq!(problems(&[Flush::Time], None), ["flush_time"]);
    assert_eq!(problems(&[Flush::Fence], time), ["flush_time"]);
    assert_eq!(problems(&[Flush::Time], Some(Duration::ZERO)), ["flush_time"]);
}
