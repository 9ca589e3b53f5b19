//! An interface behind a PCIe link: what an access takes, messages between nodes, and what is refused. The
//! rules of the link are tested beside them.

use narthex_interfaces::registers::{Addresses, STATUS};
use narthex_machine::{RunRequest, config};

use crate::support::exchange::ping_pong;
use crate::support::{failure, request, result, statistic};

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/pcie.toml");

/// What a load of the interface's status takes, in picoseconds.
fn status(machine: &str) -> u64 {
    let request = RunRequest { nodes: Some(1), ..request(machine, "NI2w") };
    let address = Addresses::of_process(0).register_page() + STATUS;
    let time = |loads: usize| {
        let guest = format!("li s0, {address}\n{}exit 0", " ld t0, 0(s0)\n".repeat(loads));
        result(&request, &guest)["simulated_ps"].as_u64().expect("it ends")
    };
    (time(24) - time(16)) / 8
}

#[test]
fn a_load_takes_the_messages_two_packets_and_the_register() {
    // Beyond what it takes on the chip: twice 205 ns, and 24 and 28 bytes at 7.56 bytes a nanosecond, until
    // the processor's next cycle.
    let packets = [24.0, 28.0].map(|bytes| bytes / (8.0 * 128.0 / 130.0 * 0.96) * 1_000.0);
    let link = 2 * 205_000 + packets.iter().sum::<f64>() as u64;
    assert_eq!(status(MACHINE) - status("chip"), link.next_multiple_of(1_000));
}

#[test]
fn interfaces_behind_a_link_exchange_messages() {
    for interface in ["NI2w", "NI16w+Blkbuf", "CNI0Qm"] {
        let documents = [1, 2].map(|threads| {
            let request = RunRequest { threads, nodes: Some(2), ..request(MACHINE, interface) };
            result(&request, &ping_pong(5, 200))
        });
        assert_eq!(documents[0].to_string(), documents[1].to_string(), "{interface}");
        assert_eq!(statistic(&documents[0], 0, "packets_delivered"), 5, "{interface}");
        let packets = &documents[0]["nodes"][0]["statistics"]["pcie_packets"];
        let loads = packets["memory_read_down"].as_u64().unwrap();
        assert_eq!(loads, packets["completion_up"].as_u64().unwrap(), "{interface}");
        let reads = packets["memory_read_up"].as_u64().unwrap_or_default();
        assert_eq!(reads > 0, interface == "CNI0Qm", "{interface}");
    }
}

#[test]
fn what_no_link_carries_is_refused_with_its_key() {
    let machine = config::load(MACHINE).expect("it loads");
    for (key, value, says) in [
        ("max_payload", "8KiB", "expected 128B, 256B"),
        ("max_payload", "192B", "expected 128B, 256B"),
        ("max_read_request", "64B", "expected 128B"),
        ("lanes", "3", "3 is not allowed; expected 1, 2, 4, 8, 12 or 16"),
        ("generation", "7", "generation"),
        ("read_completion_boundary", "32B", "expected 64B or 128B"),
        ("ecrc", "8B", "expected 0B or 4B"),
        ("link_layer_share", "0.9", "link_layer_share"),
        ("tags", "257", "expected 1 to 256, what the field of generation 3 holds"),
        ("endpoint_credits.posted_headers", "0", "posted_headers"),
        ("root_complex_credits.posted_data", "15", "expected 16 or more"),
        ("lane", "4", "did you mean `lanes`?"),
    ] {
        let refused = machine.with_settings(&[format!("node.interconnects.pcie.{key}={value}")]);
        let refused = refused.map(drop).unwrap_err().to_string();
        assert!(refused.contains(says) && refused.contains(key), "{key}: {refused}");
    }
    let refused = machine.with_settings(&["node.processors.host.on=pcie"]).map(drop).unwrap_err();
    assert!(refused.to_string().contains("is of kind \"pcie\""), "{refused}");
}

#[test]
fn a_link_tells_nobody_of_others_transactions_and_needs_a_host_that_goes_on() {
    let refused = failure(&request(MACHINE, "CNI512Q"), &ping_pong(1, 8)).to_string();
    assert!(refused.contains("keeps copies of blocks, or is the home of some"), "{refused}");
    let link = std::fs::read_to_string(MACHINE).expect("it is there");
    let on_a_bus = link.replace("base = \"chip\"", "base = \"hpca98\"").replace("\"directory\"", "\"bus\"");
    let refused = config::load_text("bus.toml", &on_a_bus).map(drop).unwrap_err().to_string();
    assert!(
        refused
            .contains("root complexes, whose answers may wait for writes of devices, are on \"directory\""),
        "{refused}"
    );
}
