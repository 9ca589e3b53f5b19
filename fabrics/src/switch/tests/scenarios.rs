//! Exact times: what parcels take alone, and what they do to each other.

use super::*;

#[test]
fn a_parcel_through_three_switches_takes_four_links_three_delays_and_its_bytes_once() {
    let arrived = Bench::row(3).run(&[(0, order(100, 2, 1))], None);
    assert_eq!(arrived[2], [(at(100 + 4 * 20 + 3 * 30 + 64), 0, 1)]);
    let bench = Bench::row(3);
    assert_eq!(bench.plan().zero_load(NodeId(0), NodeId(2), 64), Duration::from_ns(4 * 20 + 3 * 30 + 64));
}

#[test]
fn a_parcel_that_is_stored_in_three_switches_takes_its_bytes_four_times() {
    let mut bench = Bench::row(3);
    bench.switches.switching = Switching::StoreAndForward;
    let arrived = bench.run(&[(0, order(100, 2, 1))], None);
    assert_eq!(arrived[2], [(at(100 + 4 * 20 + 3 * 30 + 4 * 64), 0, 1)]);
}

#[test]
fn a_parcel_from_a_narrow_link_goes_on_when_a_wider_one_will_not_run_out_of_its_bytes() {
    let mut bench = Bench::row(3);
    let narrow = link::Kind { width: Some(Bytes::new(2)), latency: Some(Duration::from_ns(5)) };
    bench.kinds.insert("node".into(), narrow);
    let arrived = bench.run(&[(0, order(100, 2, 1))], None);
    let (links, delays) = (5 + 2 * 20 + 5, 3 * 30);
    // The node's link takes 128 ns for the bytes, the others 64.
    assert_eq!(arrived[2], [(at(100 + links + delays + (128 - 64) + 128), 0, 1)]);
    let alone = bench.plan().zero_load(NodeId(0), NodeId(2), 64);
    assert_eq!(alone, Duration::from_ns(links + delays + 64 + 128));
}

#[test]
fn a_parcel_to_its_own_node_goes_through_its_switch() {
    let arrived = Bench::row(3).run(&[(1, order(0, 1, 1))], None);
    assert_eq!(arrived[1], [(at(2 * 20 + 30 + 64), 1, 1)]);
}

#[test]
fn of_two_parcels_that_meet_the_second_waits_for_the_bytes_of_the_first() {
    let arrived = Bench::crossbar(3).run(&[(0, order(0, 2, 1)), (1, order(10, 2, 2))], None);
    let first = 2 * 20 + 30 + 64;
    assert_eq!(arrived[2], [(at(first), 0, 1), (at(first + 64), 1, 2)]);
}

#[test]
fn inputs_take_turns_and_with_age_the_oldest_parcel_goes_first() {
    // Input 0's first parcel holds the link while four more come.
    let orders = [
        (0, order(0, 3, 1)),
        (0, order(1, 3, 2)),
        (1, order(20, 3, 3)),
        (2, order(10, 3, 4)),
        (2, order(11, 3, 5)),
    ];
    let names =
        |bench: &Bench| bench.run(&orders, None)[3].iter().map(|arrived| arrived.2).collect::<Vec<_>>();
    let mut bench = Bench::crossbar(4);
    assert_eq!(names(&bench), [1, 3, 4, 2, 5]);
    bench.switches.arbitration = Arbitration::Age;
    assert_eq!(names(&bench), [1, 2, 4, 5, 3], "2 comes when the first has left");
}

#[test]
fn a_parcel_of_a_higher_priority_overtakes_at_each_link_and_interrupts_none() {
    let mut bench = Bench::row(2);
    (bench.lanes, bench.priorities) = (2, 2);
    let urgent = Order { priority: 1, ..order(10, 1, 9) };
    let arrived = bench.run(&[(0, order(0, 1, 1)), (0, order(1, 1, 2)), (0, urgent)], None);
    let first = 3 * 20 + 2 * 30 + 64;
    assert_eq!(arrived[1], [(at(first), 0, 1), (at(first + 64), 0, 9), (at(first + 128), 0, 2)]);
}

#[test]
fn a_full_queue_holds_back_its_upstream_and_goes_on_when_a_credit_has_come_back() {
    // Two parcels fill the buffer behind a link. Node 1 gives no room back before 1000 ns.
    let orders: Vec<(u16, Order)> = (0..6).map(|name| (0, order(0, 1, name))).collect();
    let bench = Bench::row(2);
    let arrived = bench.run(&orders, Some((1, at(1_000))));
    let first = 3 * 20 + 2 * 30 + 64;
    assert_eq!(arrived[1][..2], [(at(first), 0, 0), (at(first + 64), 0, 1)]);
    // The credit takes 20 + 30 ns to the switch, which sends the third; its place is free
    // 64 ns later, and so on upstream.
    assert_eq!(arrived[1][2], (at(1_000 + 50 + 20 + 64), 0, 2));
    assert_eq!(arrived[1].len(), 6);
    let mut simulation = bench.simulation(&orders, Some((1, Time::from_ps(u64::MAX / 4))));
    let until = Limits { until: at(5_000), ..Limits::default() };
    simulation.run(&until, &mut |_, _| std::ops::ControlFlow::Continue(()));
    let held = simulation.partitions().map(|part| match part {
        Part::Node(node) => node.terminal.waiting().count(),
        Part::Switch(switch) => switch.stuck().filter(|stuck| stuck.lacks_room || switch.number == 1).count(),
    });
    assert_eq!(held.collect::<Vec<_>>(), [0, 0, 2, 2], "two wait in each switch, two have arrived");
}

#[test]
fn a_stuck_parcel_says_where_it_is_and_what_it_needs() {
    let orders: Vec<(u16, Order)> = (0..5).map(|name| (0, order(0, 1, name))).collect();
    let mut simulation = Bench::row(2).simulation(&orders, Some((1, Time::from_ps(u64::MAX / 4))));
    let until = Limits { until: at(5_000), ..Limits::default() };
    simulation.run(&until, &mut |_, _| std::ops::ControlFlow::Continue(()));
    let stuck: Vec<(String, String, bool, u32)> = simulation
        .partitions()
        .filter_map(|part| if let Part::Switch(switch) = part { Some(switch) } else { None })
        .flat_map(|switch| switch.stuck())
        .map(|stuck| (stuck.at, stuck.needs, stuck.lacks_room, stuck.parcel.cargo))
        .collect();
    let (first, second) = ("switch (0, 0)".to_owned(), "switch (1, 0)".to_owned());
    assert_eq!(
        stuck,
        [
            (first, second.clone(), true, 4),
            (second.clone(), "node 1".into(), true, 2),
            (second, "node 1".into(), true, 3),
        ]
    );
}

#[test]
fn a_parcel_at_the_head_blocks_others_in_a_single_queue_and_not_in_queues_by_output() {
    // 1 fills node 2's link; 2 waits for it before 3, which is for the idle node 3.
    let orders = [(1, order(0, 2, 1)), (0, order(1, 2, 2)), (0, order(2, 3, 3))];
    let mut bench = Bench::crossbar(4);
    let start = 20 + 30;
    assert_eq!(bench.run(&orders, None)[3], [(at(start + 64 + 64 + 20 + 64), 0, 3)], "after 2 has left");
    bench.switches.queues = QueueKind::ByOutput;
    assert_eq!(bench.run(&orders, None)[3], [(at(1 + 64 + start + 20 + 64), 0, 3)], "when it has come");
}

#[test]
fn links_and_inputs_count_what_passes() {
    let bench = Bench::crossbar(3);
    let mut simulation = bench.simulation(&[(0, order(0, 2, 1)), (1, order(0, 2, 2))], None);
    finish(&mut simulation);
    let switch = simulation.partitions().find_map(|part| match part {
        Part::Switch(switch) => Some(switch),
        Part::Node(_) => None,
    });
    let switch = switch.expect("there is one");
    let (name, link) = switch.links().nth(2).expect("it has three links");
    assert_eq!((name.as_str(), link.parcels.get(), link.bytes.get()), ("node 2", 2, 128));
    assert_eq!((link.busy.get(), link.waited.get()), (Duration::from_ns(128), Duration::from_ns(64)));
    let inputs: Vec<InputStatistics> = switch.inputs(at(1_000)).map(|(_, input)| input).collect();
    let input = |byte_ns| InputStatistics { parcels: 1, most_bytes: 64, byte_ns };
    assert_eq!(inputs, [input(64 * 64), input(64 * 128), InputStatistics::default()]);
}
