//! Copies of any size and alignment over a network whose packets overtake each other, against a
//! plain copy.

use std::cell::RefCell;
use std::rc::Rc;

use narthex_fabrics::on_chip::OnChip;
use narthex_kernel::Duration;
use narthex_kernel::random::Stream;
use proptest::prelude::*;

use super::bench::Bench;
use crate::on_chip::End;
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
        bench.network_time = Box::new(move |_, _| Duration::from_ns(1 + random.next_u64() % 500));
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

/// Where the four tiles are on a mesh of two columns and three rows.
const PLACES: [u16; 4] = [0, 1, 5, 3];

/// A mesh whose packets have adaptive routes.
fn mesh() -> OnChip {
    let config = serde_json::json!({
        "topology": { "kind": "mesh", "dimensions": [2, 3] },
        "width": "4B", "clock": "1GHz", "hop_time": "3ns", "lanes": 3, "header": "8B",
        "packet_routes": "adaptive",
    });
    OnChip::new(&serde_json::from_value(config).expect("a sound section"))
}

/// The second half of the packets from tile 0 to tile 3 go around those of tile 1, which leave
/// through tile 3's place for tile 2's.
#[test]
fn a_copy_over_adaptive_routes_is_in_place_when_its_counter_says_so() {
    let mut bench = Bench::new();
    let mesh = Rc::new(RefCell::new(mesh()));
    let network = Rc::clone(&mesh);
    bench.network_time = Box::new(move |leaves, packet| {
        let place = |end| if let End::Tile(tile) = end { PLACES[usize::from(tile)] } else { 4 };
        let places = (place(packet.from), place(packet.to));
        let lane = usize::from(packet.lane);
        network.borrow_mut().send_packet(leaves, places, lane, packet.data_bytes.into()) - leaves
    });
    const BYTES: u64 = 40 * 64;
    let data: Vec<u8> = (0..BYTES).map(|byte| (byte * 7 + byte / 256) as u8).collect();
    let copies: Vec<(u64, u64)> = [(1, 2), (0, 3)]
        .map(|(from, to)| {
            let (source, target) = (bench.allocate(from, 40), bench.allocate(to, 40));
            bench.set_bytes(source, &data);
            let (command, counter) = (bench.line(from, Role::CommandBuffer), bench.line(from, Role::Counter));
            let flag = bench.allocate(from, 1);
            bench.store_words(from, counter + 8, &[0, 1]);
            bench.store(from, counter + 32, flag);
            bench.store(from, counter, BYTES.wrapping_neg());
            bench.store_words(from, command, &[operation::COPY | BYTES << 8, target, counter, source]);
            (target, flag)
        })
        .to_vec();
    for (target, flag) in copies {
        while bench.bytes(flag, 1) == [0] {
            assert!(bench.happen(), "the counter never came to zero");
        }
        assert_eq!(bench.bytes(target, data.len()), data, "it is complete when it is told");
    }
    bench.rest();
    assert_eq!(bench.faults, []);
    assert!(mesh.borrow().statistics().overtaken.get() > 0, "packets overtook each other");
}
