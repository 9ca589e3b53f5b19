//! What holds whatever is sent: nothing is lost, doubled or out of order, and neither
//! threads nor checkpoints change anything.

use proptest::prelude::*;

use super::*;
use crate::topologies::{Choice, dragonfly, fat_tree, hyperx, torus};

fn topology(number: usize) -> topologies::Config {
    match number {
        0 => topologies::Config::Crossbar(crossbar::Config { ports: 6 }),
        1 => topologies::Config::Mesh(mesh::Config { dimensions: vec![3, 3] }),
        2 => topologies::Config::Torus(torus::Config { dimensions: vec![4, 3] }),
        3 => tree(Choice::Deterministic),
        4 => tree(Choice::Random),
        5 => tree(Choice::ByFlow),
        6 => tree(Choice::Adaptive),
        7 => groups(5),
        8 => groups(3),
        _ => topologies::Config::Hyperx(hyperx::Config { dimensions: vec![3, 2], nodes_per_switch: 2 }),
    }
}

fn groups(groups: u32) -> topologies::Config {
    topologies::Config::Dragonfly(dragonfly::Config {
        nodes_per_switch: 1,
        switches_per_group: 2,
        global_links_per_switch: 2,
        groups,
    })
}

fn tree(ascent: Choice) -> topologies::Config {
    topologies::Config::FatTree(fat_tree::Config { arity: 2, levels: 3, up: vec![], ascent })
}

/// Routes of this number that the switches may have.
fn routes(number: usize, bench: &Bench) -> Routes {
    let may_choose = bench.topology.knows_nearer() && bench.switches.backpressure.counts_room();
    match number {
        0 => Routes::Valiant,
        1 => Routes::Ugal,
        2 => Routes::UgalG,
        3 if may_choose => Routes::Adaptive,
        _ => Routes::Minimal,
    }
}

fn bench(
    (kind, route): (usize, usize),
    (is_stored, by_output, by_age, is_further): (bool, bool, bool, bool),
) -> Bench {
    let mut bench = Bench::new(topology(kind));
    if is_further {
        bench.switches.input_ways = Some(if by_output { 1 } else { 2 });
        bench.switches.output_queues = Some(OutputQueues { buffer: Bytes::new(128), speed_up: 2 });
        bench.switches.marking =
            Some(Marking { above: Bytes::new(64), all_above: Bytes::new(256), percent: 50 });
    }
    if is_further && is_stored {
        let (above, below) = (Bytes::new(128), Bytes::new(64));
        bench.switches.backpressure =
            backpressure::Config::Pause(backpressure::pause::Config { above, below });
        bench.switches.buffer = Bytes::new(1024);
    }
    bench.routes = routes(route, &bench);
    let lanes = bench.routes.lanes(bench.topology.route_lanes());
    (bench.priorities, bench.lanes) = (2, 2 * u32::from(lanes));
    bench.switches.switching =
        if is_stored { Switching::StoreAndForward } else { Switching::VirtualCutThrough };
    bench.switches.queues = if by_output { QueueKind::ByOutput } else { QueueKind::Single };
    if by_age {
        let narrow = link::Kind { width: Some(Bytes::new(2)), latency: Some(Duration::from_ns(35)) };
        bench.kinds.insert("node".into(), narrow);
    }
    bench.switches.arbitration = if by_age { Arbitration::Age } else { Arbitration::RoundRobin };
    bench
}

type Sent = (u16, u16, u64, u32, u8);

fn orders(nodes: u32, sent: &[Sent]) -> Vec<(u16, Order)> {
    let place = |node: u16| node % nodes as u16;
    let order = |(name, &(from, to, time, bytes, priority)): (u32, &Sent)| {
        (place(from), Order { at: at(time), to: place(to), bytes, priority, name })
    };
    (0..).zip(sent).map(order).collect()
}

fn some_traffic() -> impl Strategy<Value = Vec<Sent>> {
    // Two thirds of the parcels are for three nodes: queues become full.
    let to = prop_oneof![0u16..3, 0u16..3, 0u16..16];
    proptest::collection::vec((0u16..16, to, 0u64..400, 8u32..=128, 0u8..2), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_is_lost_or_doubled_and_a_route_keeps_the_order_of_each_priority(
        sent in some_traffic(), kind in (0usize..10, 0usize..5), modes in any::<(bool, bool, bool, bool)>(),
    ) {
        let bench = bench(kind, modes);
        let orders = orders(bench.nodes, &sent);
        let (plan, arrived) = (bench.plan(), bench.run(&orders, None));
        let mut names: Vec<u32> = arrived.iter().flatten().map(|arrived| arrived.2).collect();
        names.sort_unstable();
        prop_assert_eq!(names, (0..sent.len() as u32).collect::<Vec<_>>());
        for (node, all) in arrived.iter().enumerate() {
            for &(when, from, name) in all {
                let (source, order) = orders[name as usize];
                prop_assert_eq!((source, usize::from(order.to)), (from, node));
                let alone = plan.zero_load(NodeId(from), NodeId(order.to), order.bytes);
                prop_assert!(when >= order.at + alone);
            }
            if bench.routes != Routes::Minimal
                || !matches!(bench.topology.choice(), Choice::Deterministic | Choice::ByFlow)
            {
                continue;
            }
            // Handed over earlier, or at the same instant and named before.
            let key = |name: u32| (orders[name as usize].1.at, name);
            for (position, later) in all.iter().enumerate() {
                let one = |name: u32| (orders[name as usize].0, orders[name as usize].1.priority);
                let before = all[..position].iter().filter(|earlier| one(earlier.2) == one(later.2));
                prop_assert!(before.into_iter().all(|earlier| key(earlier.2) < key(later.2)));
            }
        }
    }

    #[test]
    fn threads_and_checkpoints_with_parcels_in_flight_change_nothing(
        sent in some_traffic(), kind in (0usize..10, 0usize..5), modes in any::<(bool, bool, bool, bool)>(), pause in 50u64..800,
    ) {
        let bench = bench(kind, modes);
        let orders = orders(bench.nodes, &sent);
        let expected = bench.run(&orders, None);
        for threads in [2, 3] {
            let mut simulation = bench.simulation(&orders, None).with_threads(Threads::Exactly(threads));
            finish(&mut simulation);
            prop_assert_eq!(&arrived(&mut simulation), &expected, "{} threads", threads);
        }
        let mut simulation = bench.simulation(&orders, None);
        let until = Limits { until: at(pause), ..Limits::default() };
        simulation.run(&until, &mut |_, _| std::ops::ControlFlow::Continue(()));
        let saved = Archive::save(&mut simulation).expect("it can be saved");
        let mut restored = bench.simulation(&[], None);
        Archive::restore(&saved, &mut restored).expect("it is what was saved");
        prop_assert_eq!(Archive::save(&mut restored).expect("it can be saved"), saved);
        finish(&mut restored);
        prop_assert_eq!(&arrived(&mut restored), &expected);
    }
}
