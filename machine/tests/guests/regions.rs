//! Regions: the ledger, the statistics and the messages of a stretch of a run.

use serde_json::Value;

use crate::machines_and_interfaces;
use crate::support::exchange::{Exchange, exchange, header};
use crate::support::{request, result, statistic};

const LAST: u64 = 1 << 61;

/// Node 0 sends a message before a region, in it three of 16 bytes on their way
/// and one of two packets, and one more behind it; node 1 takes all of them. A
/// message counts when the interface hands it to the network, so the sender
/// pauses in front of an edge.
fn sender_and_receiver() -> Exchange {
    let first_packet = header(1, 16) & !LAST;
    let last_packet = header(1, 16) | (16 / 4) << 40;
    exchange(format!(
        "begin main
         on 0 send 1 8 pause 9000
         begin inside repeat 3 send 1 16 end
         send-header {first_packet} send-header {last_packet} pause 9000 finish inside
         send 1 8 pause 9000 finish main
         on 1 repeat 7 receive 0 end finish main begin endless"
    ))
}

fn region<'a>(document: &'a Value, node: u64, name: &str) -> &'a Value {
    let regions = document["regions"].as_array().expect("a list");
    let found = regions.iter().find(|region| region["node"] == node && region["name"] == name);
    found.unwrap_or_else(|| panic!("node {node} has no region {name}: {regions:?}"))
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key}: {value}"))
}

fn sizes(counted: &Value) -> Vec<(u64, u64)> {
    let list = counted["message_sizes"].as_array().expect("a list");
    list.iter().map(|entry| (number(entry, "bytes"), number(entry, "messages"))).collect()
}

fn documents() -> impl Iterator<Item = (&'static str, &'static str, Value)> {
    machines_and_interfaces().map(|(machine, interface)| {
        (machine, interface, result(&request(machine, interface), &sender_and_receiver()))
    })
}

#[test]
fn a_regions_ledger_adds_up_to_its_length() {
    for (machine, interface, document) in documents() {
        for (node, name) in [(0, "main"), (0, "inside"), (1, "main")] {
            let region = region(&document, node, name);
            let ledger = region["ledger_ps"].as_object().expect("categories");
            let sum: u64 = ledger.values().map(|time| time.as_u64().expect("a time")).sum();
            let length = number(region, "end_ps") - number(region, "begin_ps");
            assert_eq!(sum, length, "{name} of node {node} over {interface} of {machine}: {ledger:?}");
            assert!(length > 0);
        }
    }
}

#[test]
fn a_region_that_does_not_end_has_counted_nothing() {
    let document = result(&request("hpca98", "CNI32Qm"), &sender_and_receiver());
    let endless = region(&document, 1, "endless");
    assert_eq!((&endless["end_ps"], &endless["ledger_ps"]), (&Value::Null, &Value::Null));
}

#[test]
fn messages_count_once_by_size_and_in_their_region() {
    for (machine, interface, document) in documents() {
        // A larger header's further bytes count as payload on their way.
        let two_packets = 8 + 16 + 16;
        let inside = region(&document, 0, "inside");
        assert_eq!(sizes(inside), [(24, 3), (two_packets, 1)], "{interface} of {machine}");
        let all = [(16, 2), (24, 3), (two_packets, 1)];
        assert_eq!(sizes(&document), all);
        assert_eq!(sizes(&document["nodes"][0]), all);
        assert_eq!(sizes(&document["nodes"][1]), []);
        assert_eq!(statistic(&document, 0, "messages_sent"), 6);
        assert_eq!(number(&inside["statistics"], "messages_sent"), 4);
    }
}

#[test]
fn a_regions_statistics_are_those_of_its_stretch() {
    for (machine, interface, document) in documents() {
        let context = format!("{interface} of {machine}");
        let (outer, inner) =
            (&region(&document, 0, "main")["statistics"], &region(&document, 0, "inside")["statistics"]);
        let whole = document["nodes"][0]["statistics"].as_object().expect("statistics");
        let counters = whole.iter().filter_map(|(name, value)| Some((name, value.as_u64()?)));
        for (name, value) in counters {
            assert!(
                number(inner, name) <= number(outer, name) && number(outer, name) <= value,
                "{name}, {context}"
            );
        }
        assert_eq!(number(inner, "packets_sent"), 5, "{context}");
        assert_eq!(number(outer, "packets_sent"), 7, "{context}");
    }
}

/// A transaction has a kind, and the time of all kinds is the bus's, but for what
/// a bridge holds it.
#[test]
fn the_time_of_a_bus_is_divided_by_kind() {
    for (machine, interface, document) in documents() {
        let statistics = &document["nodes"][1]["statistics"];
        let kinds = statistics["bus_occupied_by_kind"].as_object().expect("kinds");
        let sum: u64 = kinds.values().map(|time| time.as_u64().expect("a time")).sum();
        let total = number(statistics, "bus_occupied");
        let held = interface.contains("io-bus");
        assert!(if held { sum <= total } else { sum == total }, "{interface} of {machine}: {kinds:?}");
    }
}

#[test]
fn blocks_of_the_interface_are_counted_by_where_they_come_from() {
    let supplied = |interface: &str| {
        let document = result(&request("hpca98", interface), &sender_and_receiver());
        let count = |name| statistic(&document, 1, name);
        (count("interface_blocks_from_memory"), count("interface_blocks_from_interface"))
    };
    assert_eq!(supplied("NI2w"), (0, 0), "no queue");
    assert!(matches!(supplied("CNI0Qm"), (7.., 0)), "queues in main memory");
    assert!(matches!(supplied("CNI512Q"), (_, 7..)), "queues in the interface's memory");
    assert!(matches!(supplied("CNI32Qm"), (_, 7..)), "queues in the interface's cache");
}
