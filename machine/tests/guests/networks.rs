//! Machines on networks of switches: packets that meet, from a machine's file.

use std::fs;

use narthex_machine::{CheckpointRequest, Failure, Progress, RunRequest, network_load, run};

use crate::support::exchange::{both_ways, exchange, ping_pong};
use crate::support::{Guest, failure, program, request, result, run_guest, statistic, with};

/// Every topology for 16 nodes, with the lanes that two priorities need there.
const TOPOLOGIES: [(&str, u32); 5] = [
    ("{kind=\"crossbar\", ports=16}", 2),
    ("{kind=\"mesh\", dimensions=[2, 4, 2]}", 2),
    ("{kind=\"torus\", dimensions=[4, 4]}", 4),
    ("{kind=\"fat-tree\", arity=2, levels=4, ascent=\"random\"}", 2),
    (
        "{kind=\"dragonfly\", nodes_per_switch=2, switches_per_group=2, global_links_per_switch=2, groups=4}",
        4,
    ),
];

const FLOW_CONTROLS: [&str; 3] = [
    "flow_control={kind=\"none\"}",
    "flow_control={kind=\"sliding-window\", window=4}",
    "flow_control={kind=\"return-to-sender\", buffers=2, retry_delay=\"80ns\", retries=\"independent\"}",
];

fn cluster(interface: &str) -> RunRequest {
    RunRequest { nodes: Some(16), ..request("cluster", interface) }
}

fn on(request: RunRequest, (topology, lanes): (&str, u32)) -> RunRequest {
    let request = with(request, &format!("network.topology={topology}"));
    with(request, &format!("network.links.lanes={lanes}"))
}

fn refusal(settings: &[&str]) -> String {
    let request = settings.iter().fold(cluster("NI2w"), |request, setting| with(request, setting));
    let Failure { exit_code, message, .. } = failure(&request, "exit 0");
    assert_eq!(exit_code, Failure::USAGE, "{message}");
    message
}

#[test]
fn a_packet_takes_the_time_that_links_switches_and_its_bytes_add_up_to() {
    // Nodes 0 and 1 are at one switch. Header and payload are 8 + 24 bytes, 8 cycles of 10 ns; an
    // acknowledgement is 8 bytes.
    let document = result(&cluster("NI2w"), &exchange("on 0 send 1 24 on 1 receive 0"));
    let latency = &document["network"]["statistics"]["network_latency"];
    let [packet, acknowledgement] = [80, 20].map(|bytes_ns: u64| (2 * 4 + 8 + bytes_ns) * 1_000);
    assert_eq!(latency["count"], 2);
    assert_eq!(latency["maximum"], packet);
    assert_eq!(latency["minimum"], acknowledgement);
    let links = document["network"]["links"].as_array().expect("links");
    let from_node = &links[0];
    assert_eq!(
        (&from_node["from"], &from_node["parcels"], &from_node["bytes"]),
        (&"node 0".into(), &1.into(), &32.into())
    );
    assert_eq!(document["network"]["bytes_from"][1][0], 32);
}

#[test]
fn an_ideal_network_has_no_such_entry() {
    let document = result(&request("hpca98", "NI2w"), &ping_pong(1, 8));
    assert!(document.get("network").is_none());
}

#[test]
fn nothing_is_lost_on_any_topology_with_any_flow_control_and_threads_change_nothing() {
    let guest = exchange("repeat 4 send ^1 64 send ^2 200 receive ^1 receive ^2 end");
    for topology in TOPOLOGIES {
        for (threads, flow_control) in (2..).zip(FLOW_CONTROLS) {
            let request = with(on(cluster("CNI32Qm"), topology), flow_control);
            let document = result(&request, &guest);
            let delivered: u64 = (0..16).map(|node| statistic(&document, node, "packets_delivered")).sum();
            assert_eq!(delivered, 16 * 8, "{topology:?} {flow_control}");
            let on_threads = result(&RunRequest { threads, ..request }, &guest);
            assert!(on_threads == document, "{topology:?} {flow_control} on {threads} threads");
        }
    }
}

#[test]
fn a_run_goes_on_from_a_checkpoint_with_packets_in_switches() {
    let guest = both_ways(40, 240, 3);
    let file = std::env::temp_dir().join(format!("narthex-network-{}.checkpoint", std::process::id()));
    let request = cluster("NI2w");
    let whole = result(&request, &guest);
    let checkpoint = |resume| Some(CheckpointRequest { file: file.clone(), every: None, resume });
    let _ = fs::remove_file(&file);
    let interrupted = RunRequest { checkpoint: checkpoint(false), ..guest.in_run(&request) };
    let stopped = run(&interrupted, &guest.elf(), &mut |progress| !matches!(progress, Progress::Time(_)));
    match stopped {
        // The run was over before the first report; then there is nothing to go on from.
        Ok(document) => assert_eq!(document["nodes"], whole["nodes"]),
        Err(_) => {
            let resumed = result(&RunRequest { checkpoint: checkpoint(true), ..request }, &guest);
            assert_eq!((&resumed["nodes"], &resumed["network"]), (&whole["nodes"], &whole["network"]));
        }
    }
    let _ = fs::remove_file(&file);
}

#[test]
fn without_flow_control_a_receiver_that_takes_nothing_fills_the_network_up_to_the_sender() {
    let request = with(cluster("NI2w"), FLOW_CONTROLS[0]);
    let request = with(request, "machine.time_without_progress=100us");
    let guest = exchange("on 0 repeat 1000 send 4 64 end on 4 stand-still");
    let failure = run_guest(&request, &guest).expect_err("node 4 takes nothing");
    assert_eq!(failure.exit_code, Failure::NO_PROGRESS, "{failure}");
    let document = failure.document.expect("a document");
    let links = document["network"]["links"].as_array().expect("links");
    let carried = |from: &str, to: &str| {
        let link = links.iter().find(|link| link["from"] == from && link["to"] == to);
        link.expect("there is such a link")["parcels"].as_u64().expect("a count")
    };
    // 512 bytes behind each link are seven packets of 72; the last link delivers what it can.
    let [last, up, first] = [
        carried("switch 1 of level 0", "node 4"),
        carried("switch 0 of level 0", "switch 0 of level 1"),
        carried("node 0", "switch 0 of level 0"),
    ];
    assert_eq!((last, up, first), (7, 7 + 2 * 7, 7 + 3 * 7));
}

#[test]
fn a_network_that_does_not_fit_is_refused_with_its_key() {
    for (settings, says) in [
        (
            &["network.topology.levels=1"][..],
            &["network.topology.levels", "room for 4 nodes", "machine has 16"][..],
        ),
        (
            &["network.topology={kind=\"mesh\", dimensions=[3, 5]}"],
            &["network.topology.dimensions", "room for 15 nodes"],
        ),
        (&["network.links.lanes=1"], &["network.links.lanes", "1 is fewer than the 2 priorities"]),
        (&["network.links.lanes=3"], &["network.links.lanes", "3 is not a multiple"]),
        (
            &["network.topology={kind=\"torus\", dimensions=[4, 4]}", "network.links.lanes=6"],
            &["network.links.lanes", "multiple of the 2"],
        ),
        (&["network.switches.buffer=128B"], &["network.switches.buffer", "smaller than a packet of 256B"]),
        (&["network.links.latency=0ns"], &["network.links.latency", "lookahead"]),
        (&["network.topology.arity=1"], &["network.topology.arity", "1"]),
        (&["network.topology.arty=4"], &["network.topology.arty", "arity"]),
        (&["network.topology.kind=hypercube"], &["network.topology.kind", "fat-tree"]),
    ] {
        let message = refusal(settings);
        assert!(says.iter().all(|part| message.contains(part)), "{says:?}: {message}");
    }
}

#[test]
fn a_circle_of_lanes_is_refused_and_printed() {
    let message = refusal(&["network.topology={kind=\"torus\", dimensions=[8, 2]}"]);
    assert!(message.contains("network.links.lanes: 2 for 2 priorities is too few"), "{message}");
    assert!(
        message.contains("The circle: switch (0, 0) to switch (1, 0), lane 0; switch (1, 0) to"),
        "{message}"
    );
}

#[test]
fn fewer_nodes_than_places_leave_the_rest_of_a_network_empty() {
    let document = result(&request("cluster", "CNI512Q"), &ping_pong(5, 64));
    assert_eq!(document["network"]["switches"], 8);
}

#[test]
fn an_ideal_network_has_no_load_to_measure() {
    let request = |machine: &str| {
        let text = format!(
            r#"{{"machine": "{machine}", "nodes": null, "pattern": "uniform", "loads_permille": [100], "packet_bytes": 64,
                "warm_up_cycles": 100, "measured_cycles": 1000, "seed": null, "threads": 1}}"#
        );
        serde_json::from_str(&text).expect("a request")
    };
    let failure = network_load(&request("hpca98"), &mut |_, _| true).expect_err("it is ideal");
    assert!(failure.message.contains("network.kind is \"ideal\""), "{failure}");
    let measured = network_load(&request("cluster"), &mut |_, _| true).expect("it has switches");
    assert!(measured["points"][0]["accepted"].as_f64().expect("a share") > 0.08);
}

#[test]
fn programs_that_do_not_speak_end_as_on_an_ideal_network() {
    let elf = program("li t0, 1000\n again: addi t0, t0, -1\n bnez t0, again\n exit 0");
    let ends = ["hpca98", "cluster"].map(|machine| {
        let document = run(&request(machine, "NI2w"), &elf, &mut |_| true).expect("it runs");
        document["simulated_ps"].clone()
    });
    assert_eq!(ends[0], ends[1]);
}
