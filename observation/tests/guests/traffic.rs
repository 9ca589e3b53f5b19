//! Who talks to whom: counts agree with the result's own, and neither the result nor the
//! counts depend on who watches or on how many threads.

use narthex_machine::RunRequest;
use narthex_observation::{Observed, run};
use serde_json::Value;

use crate::support::exchange::{Exchange, SENDERS, all_to_one, ping_pong};
use crate::support::machines::machines_and_interfaces;
use crate::support::{Guest, request, run_guest, with};

/// The result of a run with its traffic.
fn watched(request: &RunRequest, guest: &Exchange) -> Value {
    let observed = Observed { traffic: true, ..Observed::default() };
    run(&guest.in_run(request), observed, &guest.elf(), &mut |_| true).expect("it runs")
}

/// The sum of the nodes' statistic.
fn counted(document: &Value, name: &str) -> u64 {
    let nodes = document["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["statistics"][name].as_u64().unwrap_or(0)).sum()
}

/// The sum of a number of all pairs.
fn of_pairs(document: &Value, name: &str) -> u64 {
    document["traffic"]["pairs"].as_array().unwrap().iter().map(|pair| pair[name].as_u64().unwrap()).sum()
}

/// What a series adds up to over the run.
fn integral(document: &Value, node: usize, kind: &str, name: &str) -> f64 {
    let series = &document["traffic"]["series"];
    let width = series["bin_ps"].as_u64().unwrap() as f64;
    let end = document["simulated_ps"].as_u64().unwrap() as f64;
    let is_it = |row: &&Value| row["node"] == node && row["kind"] == kind && row["name"] == name;
    let row = series["rows"].as_array().unwrap().iter().find(is_it).expect("there is such a series");
    let means = row["means"].as_array().unwrap().iter().enumerate();
    means.map(|(bin, mean)| mean.as_f64().unwrap() * width.min(end - bin as f64 * width)).sum()
}

#[test]
fn pairs_and_series_add_up_to_what_was_counted_and_the_result_is_the_same() {
    let guest = ping_pong(12, 200);
    for (machine, interface) in machines_and_interfaces() {
        let request = request(machine, interface);
        let mut document = watched(&request, &guest);
        assert_eq!(of_pairs(&document, "messages"), counted(&document, "messages_sent"), "{interface}");
        let end = document["simulated_ps"].as_u64().unwrap() as f64;
        for (bus, statistic) in [("memory bus", "bus_occupied"), ("I/O bus", "io_bus_occupied")] {
            let occupied = document["nodes"][0]["statistics"][statistic].as_u64().unwrap_or(0);
            if occupied > 0 {
                let shown = integral(&document, 0, "bus", bus);
                assert!((shown - occupied as f64).abs() < 1e-3 * end, "{machine} {interface} {bus}");
            }
        }
        document.as_object_mut().unwrap().remove("traffic");
        assert_eq!(document, run_guest(&request, &guest).unwrap(), "{machine} {interface}");
    }
}

#[test]
fn packets_that_come_back_take_longer_and_count_once() {
    let request = with(request("hpca98", "NI2w"), "flow_control.buffers=1");
    let request = RunRequest { nodes: Some(SENDERS as u32 + 1), ..request };
    let document = watched(&request, &all_to_one());
    assert!(counted(&document, "packets_returned") > 0);
    assert_eq!(of_pairs(&document, "packets"), counted(&document, "packets_sent"));
    let pairs = document["traffic"]["pairs"].as_array().unwrap();
    assert!(pairs.iter().any(|pair| pair["packet_latency_ps"]["maximum"].as_u64().unwrap() > 100_000));
}

#[test]
fn traffic_is_the_same_on_any_number_of_threads() {
    let request = RunRequest { nodes: Some(SENDERS as u32 + 1), ..request("hpca98", "CNI32Qm") };
    let several = RunRequest { threads: 3, ..request.clone() };
    assert_eq!(watched(&request, &all_to_one()), watched(&several, &all_to_one()));
}
