//! Several network interfaces a node: processes take them in turn, each with buffers of its own for
//! flow control, and are served there as by the only interface of a node.

use narthex_machine::{Failure, RunRequest};

use crate::support::exchange::{Exchange, exchange};
use crate::support::{failure, reported_by, request, result, statistic, with};

/// The same run with processes, and a further interface that is called so.
fn beside(request: RunRequest, processes: u32, name: &str, (interface, on): (&str, &str)) -> RunRequest {
    let request = with(request, &format!("machine.processors_per_node={processes}"));
    let request = with(request, &format!("node.devices.{name}.interface={interface}"));
    with(request, &format!("node.devices.{name}.on=[\"{on}\"]"))
}

/// Turns of an exchange.
const TURNS: i64 = 40;

/// Two processes exchange messages alone, once all are ready.
fn between(one: u8, other: u8) -> Exchange {
    exchange(format!(
        "on {one} pause 100000 report begun repeat {TURNS} send {other} 100 receive {other} end report ended
         on {other} repeat {TURNS} receive {one} send {one} 100 end"
    ))
}

/// What a turn takes the second processes of two nodes, in nanoseconds.
fn turn(request: &RunRequest) -> i64 {
    let document = result(request, &between(1, 3));
    (reported_by(&document, (0, 1), "ended") - reported_by(&document, (0, 1), "begun")) / TURNS
}

#[test]
fn a_process_at_the_second_interface_is_served_as_by_the_only_one() {
    for (machine, first, second, on, alone) in [
        ("hpca98", "NI2w", "CNI512Q", "bus", "CNI512Q"),
        ("hpca98", "CNI32Qm", "NI16w+Blkbuf", "bus", "NI16w+Blkbuf"),
        ("isca96", "CNI16Q", "NI2w", "io_bus", "NI2w on io-bus"),
        ("isca96", "NI2w", "CNI512Q", "io_bus", "CNI512Q on io-bus"),
    ] {
        let several = beside(request(machine, first), 2, "second", (second, on));
        let only = with(request(machine, alone), "machine.processors_per_node=2");
        let (own, expected) = (turn(&several), turn(&only));
        // Polls fall on other edges of the bus.
        assert!(
            (own - expected).abs() * 100 <= expected,
            "{second} on {on} beside {first}: {own} ns, alone {expected} ns"
        );
    }
}

/// Both processes of node 0 send to their partners on node 1, which take their time.
fn streams() -> Exchange {
    exchange(
        "on 0 repeat 120 send 2 64 end
         on 1 repeat 120 send 3 64 end
         on 2 repeat 120 receive 0 end report received
         on 3 repeat 120 receive 1 end report received",
    )
}

#[test]
fn two_interfaces_give_two_processes_the_bandwidth_that_one_has_for_one_process() {
    // A round trip of the network is what bounds a sender with few buffers.
    let slow = |request| with(with(request, "network.latency=2us"), "flow_control.buffers=2");
    let time = |request: RunRequest| result(&request, &streams())["simulated_ps"].as_u64().expect("it ends");
    let one = time(with(slow(request("hpca98", "CNI512Q")), "machine.processors_per_node=2"));
    let two = time(beside(slow(request("hpca98", "CNI512Q")), 2, "second", ("CNI512Q", "bus")));
    assert!(two * 17 < one * 10, "{two} ps over two interfaces, {one} ps over one");
    // Where buffers are no bound, the same processes over the same halves take the same time.
    let infinite = |request| with(request, "flow_control.buffers=infinite");
    let one = time(with(infinite(request("hpca98", "CNI512Q")), "machine.processors_per_node=2"));
    let two = time(beside(infinite(request("hpca98", "CNI512Q")), 2, "second", ("CNI512Q", "bus")));
    assert_eq!(two, one);
}

#[test]
fn every_process_reaches_every_other_over_interfaces_of_several_kinds() {
    let all = exchange((0..6).map(|distance| format!("send +{distance} 8 receive any ")).collect::<String>());
    let documents = [1, 2].map(|threads| {
        let first = RunRequest { threads, ..request("isca96", "CNI16Q") };
        let three = beside(beside(first, 3, "b", ("NI2w", "bus")), 3, "c", ("CNI512Q", "io_bus"));
        result(&three, &all)
    });
    assert_eq!(documents[0].to_string(), documents[1].to_string());
    for node in [0, 1] {
        assert_eq!(statistic(&documents[0], node, "packets_delivered"), 18);
        // Two words of a packet that is sent, and two of one that is received, for each of six.
        assert_eq!(statistic(&documents[0], node, "b_doublewords_sent"), 12);
        assert_eq!(statistic(&documents[0], node, "c_messages_deposited"), 6);
    }
}

#[test]
fn an_interface_in_the_registers_is_reached_by_the_processors_whose_processes_have_it() {
    let run = beside(request("hpca98", "NI2w on register"), 2, "second", ("NI2w", "bus"));
    let document = result(&run, &exchange("repeat 3 send +1 8 end repeat 3 receive any end"));
    for name in ["private_bus_uncached_stores", "bus_uncached_stores"] {
        assert!(statistic(&document, 0, name) >= 2 * 3, "{name}");
    }
}

#[test]
fn what_is_refused_is_named_with_its_key_and_reason() {
    let two = |machine, first, interface, on| beside(request(machine, first), 2, "second", (interface, on));
    for (request, parts) in [
        (two("hpca98", "NI2w", "CNI512Q", "buss"), ["node.devices.second.on", "did you mean `bus`?"]),
        (two("hpca98", "NI2w", "CNI512Q", "register_file"), ["node.devices.second.on", "expected \"bus\""]),
        (
            two("hpca98", "NI2w", "NI3x", "bus"),
            ["node.devices.second.interface", "'NI3x' is not the name of a network interface"],
        ),
        (two("hpca98", "NI2w", "EDT", "bus"), ["node.devices.second.interface", "one device for all"]),
        (two("edt", "EDT", "NI2w", "bus"), ["'EDT' is one device", "node.devices.second"]),
        (two("cluster", "NI2w", "NI2w", "bus"), ["network.kind", "one link a node"]),
        (
            beside(request("hpca98", "NI2w"), 1, "second", ("NI2w", "bus")),
            ["node.devices.second", "expected machine.processors_per_node = 2"],
        ),
        (
            beside(request("isca96", "NI2w"), 2, "io_bus", ("NI2w", "bus")),
            ["node.devices.io_bus", "an interconnect's name"],
        ),
        // Its addresses are those of one process, wherever the others are.
        (two("hpca98", "NI2w", "NI64w+Udma", "bus"), ["node.devices.second", "NI64w+Udma"]),
        (two("isca96", "NI2w", "CNI16Qm", "io_bus"), ["node.devices.second", "CNI16Qm"]),
    ] {
        let Failure { exit_code, message, .. } = failure(&request, "exit 0");
        assert_eq!(exit_code, Failure::USAGE);
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in {message}");
        }
    }
}
