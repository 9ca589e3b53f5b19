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
    let input =
        |byte_ns| InputStatistics { parcels: 1, most_bytes: 64, byte_ns, ..InputStatistics::default() };
    assert_eq!(inputs, [input(64 * 64), input(64 * 128), InputStatistics::default()]);
}

/// What waited at each input of the only switch.
fn inputs(bench: &Bench, orders: &[(u16, Order)]) -> (Vec<Arrived>, Vec<InputStatistics>) {
    let mut simulation = bench.simulation(orders, None);
    finish(&mut simulation);
    let switches = simulation.partitions().filter_map(|part| match part {
        Part::Switch(switch) => Some(switch.inputs(at(10_000)).map(|(_, input)| input).collect::<Vec<_>>()),
        Part::Node(_) => None,
    });
    let inputs = switches.flatten().collect();
    (arrived(&mut simulation).concat(), inputs)
}

#[test]
fn a_parcel_alone_takes_as_long_through_output_queues_whatever_the_speed_up() {
    for (speed_up, switching) in [(1, Switching::VirtualCutThrough), (4, Switching::StoreAndForward)] {
        let mut bench = Bench::row(3);
        bench.switches.switching = switching;
        let expected = bench.run(&[(0, order(100, 2, 1))], None);
        bench.switches.output_queues = Some(OutputQueues { buffer: Bytes::new(64), speed_up });
        bench.switches.input_ways = Some(1);
        assert_eq!(bench.run(&[(0, order(100, 2, 1))], None), expected);
    }
}

#[test]
fn an_input_with_one_way_sends_its_next_parcel_when_the_one_before_has_left() {
    let orders = [(1, order(0, 3, 1)), (0, order(1, 3, 2)), (0, order(1, 2, 3))];
    let mut bench = Bench::crossbar(4);
    bench.switches.queues = QueueKind::ByOutput;
    // Parcel 2 waits for 1 until 114 and leaves until 178; 3 comes at 1 + 64 + 50.
    assert_eq!(bench.run(&orders, None)[2], [(at(115 + 20 + 64), 0, 3)]);
    bench.switches.input_ways = Some(1);
    assert_eq!(bench.run(&orders, None)[2], [(at(178 + 20 + 64), 0, 3)]);
    bench.switches.input_ways = Some(2);
    assert_eq!(bench.run(&orders, None)[2], [(at(115 + 20 + 64), 0, 3)]);
}

#[test]
fn a_faster_crossbar_frees_an_input_before_the_link_is() {
    let orders = [(0, order(0, 3, 1)), (1, order(0, 3, 2)), (1, order(0, 2, 3))];
    let times = |output_queues| {
        let mut bench = Bench::crossbar(4);
        bench.switches.output_queues = output_queues;
        let arrived = bench.run(&orders, None);
        assert_eq!(arrived[3], [(at(50 + 84), 0, 1), (at(114 + 84), 1, 2)]);
        arrived[2][0].0
    };
    let queues = |speed_up| Some(OutputQueues { buffer: Bytes::new(128), speed_up });
    // Parcel 2 crosses from 114 on, when the last byte of 1 has come: in 64 ns, or in 32.
    assert_eq!([None, queues(1), queues(2)].map(times), [at(178 + 84), at(178 + 84), at(146 + 84)]);
}

#[test]
fn a_full_output_queue_holds_back_what_is_before_the_crossbar() {
    let orders = [(0, order(0, 3, 1)), (1, order(0, 3, 2)), (2, order(0, 3, 3)), (2, order(0, 2, 4))];
    let mut bench = Bench::crossbar(4);
    bench.switches.output_queues = Some(OutputQueues { buffer: Bytes::new(64), speed_up: 2 });
    // 2 crosses when 1 has left the queue at 114, and 3 when 2 has at 178, until 210.
    assert_eq!(bench.run(&orders, None)[2], [(at(210 + 84), 2, 4)]);
}

/// Two nodes send to a third: what of the first comes at 50, 114, 178 ns, and of the second 10 later.
fn two_to_one(first: u32, second: u32) -> Vec<(u16, Order)> {
    let of = |from: u16, start, count: u32| {
        (0..count).map(move |name| (from, order(start, 2, 10 * u32::from(from) + name)))
    };
    of(0, 0, first).chain(of(1, 10, second)).collect()
}

#[test]
fn a_parcel_that_finds_no_room_is_dropped_and_the_next_one_finds_some() {
    let mut bench = Bench::crossbar(3);
    bench.switches.buffer = Bytes::new(64);
    bench.switches.backpressure = backpressure::Config::Drop(backpressure::drop::Config {});
    let (arrived, inputs) = inputs(&bench, &two_to_one(3, 3));
    // 1 comes at 114, as 0 has left. The link to the node has credits: 10 leaves at 134 + 50, until
    // 248, and 11 finds it at 124, 12 at 188. 2 finds 1 at 178, which leaves 134 later than 10.
    assert_eq!(arrived, [(at(134), 0, 0), (at(268), 1, 10), (at(402), 0, 1)]);
    assert_eq!(inputs.iter().map(|input| input.dropped).collect::<Vec<_>>(), [Some(1), Some(2), Some(0)]);
    assert_eq!(inputs[0].pauses, None);
}

#[test]
fn a_sender_that_is_paused_goes_on_when_the_lane_has_emptied() {
    let mut bench = Bench::crossbar(3);
    bench.switches.buffer = Bytes::new(512);
    let (above, below) = (Bytes::new(64), Bytes::new(0));
    bench.switches.backpressure = backpressure::Config::Pause(backpressure::pause::Config { above, below });
    let (arrived, inputs) = inputs(&bench, &two_to_one(1, 4));
    // The lane holds two at 124; its node hears it at 174, and has begun the third at 138. That
    // has left at 306, the node hears it at 356.
    let expected = [(134, 0, 0), (198, 1, 10), (262, 1, 11), (326, 1, 12), (356 + 50 + 84, 1, 13)];
    assert_eq!(arrived, expected.map(|(when, from, name)| (at(when), from, name)));
    assert_eq!(inputs.iter().map(|input| input.pauses).collect::<Vec<_>>(), [Some(0), Some(1), Some(0)]);
}

#[test]
fn parcels_are_marked_that_come_to_an_output_for_which_much_waits() {
    let marked = |above, all_above, percent| {
        let mut bench = Bench::crossbar(3);
        let (above, all_above) = (Bytes::new(above), Bytes::new(all_above));
        bench.switches.marking = Some(Marking { above, all_above, percent });
        let (arrived, inputs) = inputs(&bench, &two_to_one(2, 2));
        assert_eq!(arrived.len(), 4);
        inputs.iter().map(|input| input.marked.expect("they mark")).collect::<Vec<_>>()
    };
    // 64 bytes wait as parcel 1 comes at 114, and as parcel 11 does at 124.
    assert_eq!(marked(32, 32, 0), [1, 1, 0]);
    assert_eq!(marked(64, 64, 0), [0, 0, 0]);
    assert_eq!(marked(0, 64, 100), [1, 1, 0]);
    assert_eq!(marked(0, 64, 0), [0, 0, 0]);
}
