//! Networks under load against Dally and Towles, Principles and Practices of
//! Interconnection Networks (2004): latency without load and throughput at
//! saturation follow from topology and routes alone, so nothing here can be tuned.
//!
//! The formulas take flow control to be perfect. So switches here have a queue for
//! each output and large buffers, and the oldest packet goes first; what smaller
//! switches lose is shown by the experiment.

use std::collections::BTreeMap;

use narthex_kernel::{Bytes, Duration};

use super::*;
use crate::packet::NodeId;
use crate::switch::{self, Arbitration, QueueKind, Routes, Switching};
use crate::topologies::{self, dragonfly, fat_tree, hyperx, mesh, torus};

const SIDE: u32 = 8;
const NODES: u32 = SIDE * SIDE;
const PACKET_BYTES: u32 = 64;

fn network(topology: topologies::Config, lanes: u32) -> switched::Config {
    switched::Config {
        topology,
        links: link::Config {
            width: Bytes::new(4),
            clock: "250MHz".parse().expect("a frequency"),
            latency: Duration::from_ns(4),
            lanes,
            kinds: BTreeMap::new(),
        },
        switches: switch::Config {
            switching: Switching::VirtualCutThrough,
            delay: Duration::from_ns(8),
            buffer: Bytes::new(2048),
            queues: QueueKind::ByOutput,
            arbitration: Arbitration::Age,
            input_ways: None,
            output_queues: None,
            backpressure: Default::default(),
            marking: None,
        },
        priorities: switched::Priorities { packets: 0, acknowledgements: 0, returned_packets: 0 },
        routes: Routes::Minimal,
    }
}

fn mesh() -> switched::Config {
    network(topologies::Config::Mesh(mesh::Config { dimensions: vec![SIDE, SIDE] }), 1)
}

fn torus() -> switched::Config {
    network(topologies::Config::Torus(torus::Config { dimensions: vec![SIDE, SIDE] }), 2)
}

fn tree() -> switched::Config {
    let ascent = topologies::Choice::Random;
    network(topologies::Config::FatTree(fat_tree::Config { arity: 4, levels: 3, up: vec![], ascent }), 1)
}

fn measured(
    network: &switched::Config,
    pattern: Pattern,
    permille: u32,
    measured_cycles: u64,
) -> Measurement {
    let load = Load {
        pattern,
        demand: Demand::Permille(permille),
        packet_bytes: PACKET_BYTES,
        warm_up_cycles: 3_000,
        measured_cycles,
        seed: 1,
        interval: None,
    };
    assert_eq!(load.problems(NODES, network), []);
    load.measure(network, NODES, Threads::UpTo(1), &mut |_| true).expect("nobody ends it")
}

fn assert_within_a_tenth(measured: f64, expected: f64, what: &str) {
    assert!((measured / expected - 1.0).abs() < 0.1, "{what}: measured {measured}, expected {expected}");
}

/// Zero-load latency: T0 = H tr + D / v + L / b (Section 3.3), where the links to the
/// first switch and from the last count too.
fn zero_load_ns(average_hops: f64) -> f64 {
    let routers = average_hops + 1.0;
    routers * 8.0 + (routers + 1.0) * 4.0 + 64.0
}

#[test]
fn latency_without_load_is_that_of_the_average_distance() {
    // Section 5.2: n k / 3 hops in a mesh and n k / 4 in a torus, of even k, on average; as
    // many under transpose traffic, whose rows and columns are as far apart.
    let side = f64::from(SIDE);
    for (network, hops) in [(mesh(), 2.0 * side / 3.0), (torus(), 2.0 * side / 4.0)] {
        for pattern in [Pattern::Uniform, Pattern::Transpose] {
            let mean =
                measured(&network, pattern.clone(), 10, 6_000).latency.counted().mean().expect("packets")
                    / 1000.0;
            assert_within_a_tenth(mean, zero_load_ns(hops), &format!("{pattern:?}"));
        }
    }
}

#[test]
fn throughput_under_uniform_traffic_is_that_of_the_bisection() {
    // Section 3.3: 2 b B / N, with B = 2 k links in the bisection of a k-ary 2-mesh and
    // 4 k in that of a torus, both ways counted (Section 5.2): 4 b / k and 8 b / k.
    let side = f64::from(SIDE);
    for (network, ideal) in [(mesh(), 4.0 / side), (torus(), 8.0 / side)] {
        let found = measured(&network, Pattern::Uniform, 1000, 6_000);
        assert_within_a_tenth(found.accepted, ideal, "uniform");
    }
}

#[test]
fn throughput_under_transpose_traffic_is_that_of_the_busiest_link() {
    // b / gamma (Section 3.3). Along row 0 all k - 1 other nodes send to the left; in a torus
    // those of half a ring go each way, k / 2 with the one from opposite.
    let side = f64::from(SIDE);
    for (network, load) in [(mesh(), side - 1.0), (torus(), side / 2.0)] {
        let found = measured(&network, Pattern::Transpose, 500, 60_000);
        assert_within_a_tenth(found.accepted_least, 1.0 / load, "transpose");
    }
}

#[test]
fn a_fat_tree_has_full_bisection_whatever_the_permutation() {
    for pattern in [Pattern::Uniform, Pattern::Transpose, Pattern::Neighbour] {
        let found = measured(&tree(), pattern.clone(), 1000, 6_000);
        assert_within_a_tenth(found.accepted, 1.0, &format!("{pattern:?}"));
    }
}

#[test]
fn a_tornado_takes_as_many_links_of_a_ring_as_it_goes_around() {
    // k / 2 - 1 = 3 links in one direction of each dimension, while the other stands idle.
    let found = measured(&torus(), Pattern::Tornado, 500, 20_000);
    assert_within_a_tenth(found.accepted_least, 1.0 / 3.0, "tornado");
}

/// A network with the lanes that these routes need.
fn by(routes: Routes, network: switched::Config) -> switched::Config {
    let lanes = u32::from(routes.lanes(network.links.lanes as u8));
    switched::Config { links: link::Config { lanes, ..network.links }, routes, ..network }
}

#[test]
fn detours_give_a_tornado_half_of_what_uniform_traffic_gets() {
    // Each of the two halves of a detour is uniform traffic (Section 9.1).
    let torus = by(Routes::Valiant, torus());
    let found = measured(&torus, Pattern::Tornado, 700, 20_000);
    assert_within_a_tenth(found.accepted, 8.0 / f64::from(SIDE) / 2.0, "tornado");
    let found = measured(&torus, Pattern::Uniform, 1000, 6_000);
    assert_within_a_tenth(found.accepted, 8.0 / f64::from(SIDE) / 2.0, "uniform");
}

#[test]
fn a_switch_that_sees_what_waits_makes_detours_only_where_they_help() {
    let torus = by(Routes::Ugal, torus());
    let tornado = measured(&torus, Pattern::Tornado, 700, 20_000).accepted;
    assert!(tornado > 1.15 / 3.0, "{tornado}: more than the shortest ways carry");
    let uniform = measured(&torus, Pattern::Uniform, 1000, 6_000).accepted;
    assert!(uniform > 0.8, "{uniform}: as much as without detours");
}

#[test]
fn what_a_group_tells_gives_its_worst_pattern_what_detours_give_and_uniform_traffic_all() {
    let dragonfly = dragonfly::Config {
        nodes_per_switch: 2,
        switches_per_group: 4,
        global_links_per_switch: 2,
        groups: 8,
    };
    let network = by(Routes::UgalG, network(topologies::Config::Dragonfly(dragonfly), 2));
    // Shortest ways share one global link, 1 / 8; of all detours 471 MB/s of 1,000 come of the formula.
    let worst = measured(&network, Pattern::NextGroup, 600, 10_000).accepted;
    assert_within_a_tenth(worst, 0.471, "next group");
    let uniform = measured(&network, Pattern::Uniform, 1000, 6_000).accepted;
    assert!(uniform > 0.85, "{uniform}: as much as without detours");
}

#[test]
fn adaptive_routes_carry_what_any_shortest_ways_carry() {
    // A tornado goes three links in one direction of each dimension whatever the way, so all links
    // of that direction carry as much; uniform traffic crosses the bisection whatever the way.
    let torus = by(Routes::Adaptive, torus());
    let tornado = measured(&torus, Pattern::Tornado, 500, 20_000);
    assert_within_a_tenth(tornado.accepted, 1.0 / 3.0, "tornado");
    let mesh = by(Routes::Adaptive, mesh());
    let uniform = measured(&mesh, Pattern::Uniform, 1000, 6_000);
    assert_within_a_tenth(uniform.accepted, 4.0 / f64::from(SIDE), "uniform");
    // By the order of dimensions it is 1 / 7.
    let transpose = measured(&mesh, Pattern::Transpose, 500, 20_000);
    assert!(transpose.accepted > 1.5 / 7.0, "{}: more than by dimensions", transpose.accepted);
}

#[test]
fn adaptive_routes_of_a_hyperx_use_both_orders_of_its_dimensions() {
    // Switch (i, 0) sends from its four nodes to switch (0, i): by dimensions all to switch (0, 0)
    // of the row, over one link each, and from there over one each.
    let hyperx = hyperx::Config { dimensions: vec![4, 4], nodes_per_switch: 4 };
    let swap = |node: u32| {
        let (switch, slot) = (node / 4, node % 4);
        (switch % 4 * 4 + switch / 4) * 4 + slot
    };
    let pattern = Pattern::Permutation((0..NODES).map(swap).collect());
    let plain = network(topologies::Config::Hyperx(hyperx), 1);
    // Switches (i, i) send to themselves what they make.
    let mean = |shared: f64| (4.0 * 0.9 + 12.0 * shared) / 16.0;
    let ordered = measured(&plain, pattern.clone(), 900, 20_000).accepted;
    assert_within_a_tenth(ordered, mean(1.0 / 4.0), "one link for four nodes");
    let adaptive = measured(&by(Routes::Adaptive, plain), pattern, 900, 20_000).accepted;
    assert_within_a_tenth(adaptive, mean(2.0 / 4.0), "two links for four nodes");
}

#[test]
fn a_tapered_tree_carries_what_its_ports_up_carry() {
    // 4 nodes of a switch send 60 of 64 packets up, over 2 links, and the levels above carry that.
    let ascent = topologies::Choice::Random;
    let tapered = fat_tree::Config { arity: 4, levels: 3, up: vec![2, 4], ascent };
    let network = network(topologies::Config::FatTree(tapered), 1);
    let found = measured(&network, Pattern::Uniform, 1000, 6_000);
    assert_within_a_tenth(found.accepted, 2.0 / (4.0 * 60.0 / 64.0), "uniform");
}

#[test]
fn a_load_slightly_beyond_saturation_has_no_latency() {
    // The bisection of the mesh carries half a link's bandwidth from each node.
    let beyond = measured(&mesh(), Pattern::Uniform, 515, 4_000);
    assert_eq!((beyond.verdict, beyond.latency.count(), beyond.spread), (Verdict::Saturated, 0, None));
    assert!(beyond.accepted > 0.95 * beyond.offered, "{} of {}", beyond.accepted, beyond.offered);
    let below = measured(&mesh(), Pattern::Uniform, 400, 4_000);
    assert_eq!((below.verdict, below.latency.count()), (Verdict::Steady, below.packets));
    assert!(below.spread < Some(0.05) && below.saturated_nodes.is_empty());
}

#[test]
fn nodes_that_saturate_before_others_are_named() {
    // Row 0 sends to column 0: its last link carries what its 7 other nodes send, 1.2 of a link.
    // So do the rows' other ends; the nodes on the diagonal send to themselves.
    let found = measured(&mesh(), Pattern::Transpose, 170, 4_000);
    assert_eq!(found.verdict, Verdict::Saturated);
    let named = &found.saturated_nodes;
    assert!((1..NODES as usize / 2).contains(&named.len()), "{named:?}");
    assert!(named.iter().all(|node| node % 9 != 0), "{named:?}");
}

#[test]
fn a_load_without_a_packet_is_neither_steady_nor_saturated() {
    let load = Load {
        pattern: Pattern::Uniform,
        demand: Demand::Permille(1),
        packet_bytes: PACKET_BYTES,
        warm_up_cycles: 0,
        measured_cycles: 2,
        seed: 1,
        interval: None,
    };
    let found = load.measure(&mesh(), 2, Threads::UpTo(1), &mut |_| true).expect("nobody ends it");
    assert_eq!((found.verdict, found.packets, found.latency.counted().mean()), (Verdict::NotSteady, 0, None));
}

#[test]
fn a_load_of_a_whole_link_has_no_latency_even_if_it_is_carried() {
    let found = measured(&tree(), Pattern::Neighbour, 1000, 1_000);
    assert_eq!((found.verdict, found.window_cycles), (Verdict::Saturated, (3_000, 1_000)));
    assert!(found.accepted > 0.9, "{}", found.accepted);
}

#[test]
fn a_measurement_is_the_same_on_any_number_of_threads() {
    let load = Load {
        pattern: Pattern::HotSpot,
        demand: Demand::Permille(60),
        packet_bytes: PACKET_BYTES,
        warm_up_cycles: 500,
        measured_cycles: 250,
        seed: 3,
        interval: None,
    };
    let [alone, two, three] = [1, 2, 3].map(|threads| {
        let measured = load.measure(&torus(), NODES, Threads::Exactly(threads), &mut |_| true);
        let Measurement { latency, accepted, end, events, .. } = measured.expect("nobody ends it");
        (latency, accepted.to_bits(), end, events)
    });
    assert_eq!(alone, two);
    assert_eq!(alone, three);
}

#[test]
fn a_load_that_cannot_be_is_refused_with_its_key() {
    let load = Load {
        pattern: Pattern::Transpose,
        demand: Demand::Permille(1001),
        packet_bytes: 4096,
        warm_up_cycles: 0,
        measured_cycles: 0,
        seed: 1,
        interval: None,
    };
    let keys: Vec<&str> = load.problems(63, &mesh()).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["pattern", "load", "packet_bytes", "cycles"]);
}

/// With one request at a time and nobody else there, a reply comes after twice the latency without
/// load: by Little's law (Dally and Towles, Section 24.2) what a node sends follows.
#[test]
fn a_closed_loop_of_one_request_takes_turns_with_its_reply() {
    let network = mesh();
    let far: Vec<u32> = (0..NODES).map(|own| if own == 0 { NODES - 1 } else { own }).collect();
    let load = Load {
        pattern: Pattern::Permutation(far.clone()),
        demand: Demand::Outstanding(1),
        packet_bytes: PACKET_BYTES,
        warm_up_cycles: 3_000,
        measured_cycles: 20_000,
        seed: 1,
        interval: None,
    };
    let measured = load.measure(&network, NODES, Threads::UpTo(1), &mut |_| true).expect("it ends");
    let plan = network.plan(NODES);
    let (there, own) = (plan.zero_load(NodeId(0), NodeId(63), PACKET_BYTES), |node: u16| {
        plan.zero_load(NodeId(node), NodeId(node), PACKET_BYTES)
    });
    assert_eq!(measured.verdict, Verdict::Steady);
    // A reply may find one packet of node 63's own loop on its link.
    let longest = there + plan.timings.of_nodes().serialization(PACKET_BYTES);
    let largest = measured.latency.counted().maximum().expect("packets came");
    assert!((there.as_ps()..=longest.as_ps()).contains(&largest), "{largest}");
    // Node 63 has its own loop beside the replies to node 0.
    let rate = |round: Duration| 1.0 / round.as_ps() as f64;
    let each = (1..NODES as u16 - 1).map(|node| rate(own(node))).sum::<f64>();
    let serialization = plan.timings.of_nodes().serialization(PACKET_BYTES).as_ps() as f64;
    let least = serialization * (each + rate(there)) / f64::from(NODES);
    assert!((0.99 * least..1.03 * least).contains(&measured.accepted), "{least}: {}", measured.accepted);
    let two = Load { demand: Demand::Outstanding(2), ..load };
    let twice = two.measure(&network, NODES, Threads::UpTo(1), &mut |_| true).expect("it ends");
    // Never more than a link carries.
    assert!((measured.accepted + 0.1..=1.0).contains(&twice.accepted), "{}", twice.accepted);
}

#[test]
fn intervals_of_a_load_have_all_that_links_were_busy_with_on_any_number_of_threads() {
    let load = Load {
        pattern: Pattern::Uniform,
        demand: Demand::Permille(300),
        packet_bytes: PACKET_BYTES,
        warm_up_cycles: 500,
        measured_cycles: 500,
        seed: 1,
        interval: Some(Duration::from_ns(250)),
    };
    let alone = Load { interval: None, ..load.clone() };
    let [plain, one, two] = [(&alone, 1), (&load, 1), (&load, 2)].map(|(load, threads)| {
        load.measure(&mesh(), NODES, Threads::Exactly(threads), &mut |_| true).expect("nobody ends it")
    });
    assert_eq!(
        (plain.end, plain.events, plain.latency.counted()),
        (one.end, one.events, one.latency.counted())
    );
    let tracks = |measured: &Measurement| {
        let (intervals, links) = measured.over_time.clone().expect("it was asked for");
        (intervals.lengths_ps(measured.end), links.iter().map(|link| link.amounts().to_vec()).collect())
    };
    let (lengths_ps, links): (Vec<u64>, Vec<Vec<u64>>) = tracks(&one);
    assert_eq!((&lengths_ps, &links), (&tracks(&two).0, &tracks(&two).1));
    assert_eq!(lengths_ps.iter().sum::<u64>(), one.end.as_ps());
    for (link, (_, _, statistics)) in links.iter().zip(&one.links) {
        let sum = link.iter().sum::<u64>();
        let busy = statistics.busy.get().as_ps();
        assert!((busy - 64_000..=busy).contains(&sum) || busy < 64_000, "{sum} of {busy}");
        assert!(link.iter().zip(&lengths_ps).all(|(busy, length)| busy <= length), "{link:?}");
    }
}
