//! Copies of any size and alignment over a network whose packets overtake each other, against a
//! plain copy.

use narthex_kernel::Duration;
use narthex_kernel::random::Stream;
use proptest::prelude::*;

use super::bench::Bench;
use crate::sarc::registers::{DRAM, Role, operation, request};

/// Where a copy's bytes are.
#[derive(Clone, Copy, Debug)]
enum At {
    Own,
    Other,
    Dram,
}

fn place() -> impl Strategy<Value = At> {
    prop_oneof![Just(At::Own), Just(At::Other), Just(At::Dram)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn packets_that_overtake_each_other_end_in_place_and_are_counted_right(
        (from, to) in (place(), place()),
        (first, second) in (0..128u64, 0..128u64),
        bytes in 1..3000u64,
        seed: u64,
    ) {
        let mut bench = Bench::new();
        let mut random = Stream::new(seed, "on-chip network");
        bench.network_time = Box::new(move |_| Duration::from_ns(1 + random.next_u64() % 500));
        bench.call(0, request::DRAM_ALLOCATE, &[16384, request::SHARED]).expect("there is room");
        let areas = [bench.allocate(0, 50), bench.allocate(0, 50)];
        let others = [bench.allocate(1, 50), bench.allocate(1, 50)];
        let at = |at, own: usize, offset| match at {
            At::Own => areas[own] + offset,
            At::Other => others[own] + offset,
            At::Dram => DRAM + own as u64 * 8192 + 3000 + offset,
        };
        let (from, to) = (at(from, 0, first), at(to, 1, second));
        let data: Vec<u8> = (0..bytes).map(|byte| (byte * 7 + 3) as u8).collect();
        bench.set_bytes(from, &data);
        let (command, counter) = (bench.line(0, Role::CommandBuffer), bench.line(0, Role::Counter));
        let flag = bench.allocate(0, 1);
        bench.store_words(0, counter + 8, &[0, 1]);
        bench.store(0, counter + 32, flag);
        bench.store(0, counter, bytes.wrapping_neg());
        bench.store_words(0, command, &[operation::COPY | bytes << 8, to, counter, from]);
        while bench.bytes(flag, 1) == [0] {
            prop_assert!(bench.happen(), "the counter never came to zero");
        }
        prop_assert_eq!(bench.bytes(to, data.len()), data.clone(), "it is complete when it is told");
        bench.rest();
        prop_assert_eq!(&bench.faults, &[]);
        let around = [bench.bytes(to - 1, 1), bench.bytes(to + bytes, 1)].concat();
        prop_assert!(around == [0, 0] || second == 0, "nothing beside it was written");
    }
}
