//! An interface behind a CXL link: what an access takes, messages between nodes, what copies cost, and what is
//! refused. The rules of the link are tested beside them.

use narthex_interfaces::registers::{Addresses, STATUS};
use narthex_machine::{RunRequest, config};

use crate::support::exchange::ping_pong;
use crate::support::{failure, request, result, statistic};

pub const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/cxl.toml");

/// What a message takes beside its slots, in picoseconds.
const WAY: u64 = 35_000;

/// What a slot takes: 17 bytes of 32 a nanosecond, encoded.
const SLOT: f64 = 17.0 / (32.0 * 128.0 / 130.0) * 1_000.0;

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
fn a_load_takes_the_messages_on_the_chip_and_two_of_two_slots_on_the_link() {
    let link = 2 * WAY + (4.0 * SLOT) as u64;
    assert_eq!(status(MACHINE) - status("chip"), link.next_multiple_of(1_000));
}

/// The names of what carried five messages of 200 bytes there and back.
#[test]
fn interfaces_with_copies_and_without_exchange_messages() {
    let none: [&str; 0] = [];
    for (interface, crosses, does_not) in [
        ("NI2w", &["MemRd", "CplD", "MemWr"][..], &["RdCurr", "RdAny", "SnpInv"][..]),
        ("CNI0Qm", &["RdCurr", "ItoMWr", "GO_WritePull", "Data"], &["RdAny", "RdOwnNoData", "SnpInv"]),
        ("CNI32Qm", &["RdAny", "RdOwnNoData", "GO", "SnpData", "RspSFwdM"], &["ItoMWr"]),
        ("Ring", &["RdCurr", "ItoMWr", "Data"], &none),
        ("Virtio", &["RdCurr", "Data"], &none),
        ("CxlNic", &["RdCurr", "RdOwn", "SnpInv", "RspIFwdM", "ItoMWr"], &["RdAny", "RdOwnNoData"]),
        (
            "CxlNic2",
            &["Req MemRd", "MemData", "Cmp-E", "RwD MemWr", "ItoMWr"],
            &["RdCurr", "RdAny", "SnpInv"],
        ),
        ("CNI4", &["BISnpInv", "BISnpData", "BIRspS", "MemRdData", "MemInv", "MemWr"], &["RdAny", "SnpInv"]),
        ("CNI512Q", &["BISnpData", "RwD MemWr", "MemData", "Cmp-S", "Cmp-E"], &["RdOwnNoData", "SnpInv"]),
        ("CoherentRing", &["RdAny", "SnpInv", "MemRdData", "MemData", "Cmp-S"], &["RwD MemWr", "BISnpData"]),
    ] {
        let documents = [1, 2].map(|threads| {
            let request = RunRequest { threads, nodes: Some(2), ..request(MACHINE, interface) };
            result(&request, &ping_pong(5, 200).over(interface))
        });
        assert_eq!(documents[0].to_string(), documents[1].to_string(), "{interface}");
        assert_eq!(statistic(&documents[0], 0, "packets_delivered"), 5, "{interface}");
        let messages = &documents[0]["nodes"][0]["statistics"]["cxl_messages"];
        let count = |name: &str| messages[name].as_u64().unwrap_or_default();
        assert!(crosses.iter().all(|name| count(name) >= 5), "{interface}: {messages}");
        assert!(does_not.iter().all(|name| count(name) == 0), "{interface}: {messages}");
        assert_eq!(count("GO_WritePull"), count("Data"), "{interface}: {messages}");
    }
}

/// What a message of two blocks each way has crossed at a node, in the first lap of the queues.
#[test]
fn a_message_of_64_bytes_over_cni512q_is_read_back_from_the_hosts_cache() {
    let messages = |turns| {
        let request = RunRequest { nodes: Some(2), ..request(MACHINE, "CNI512Q") };
        result(&request, &ping_pong(turns, 64))["nodes"][0]["statistics"]["cxl_messages"].clone()
    };
    let (few, many) = (messages(4), messages(8));
    let names = ["MemWr", "MemRdData", "Req MemRd", "MemInv", "RwD MemWr", "BISnpData", "BISnpInv"];
    let each = names.map(|name| {
        let count = |messages: &serde_json::Value| messages[name].as_u64().unwrap_or_default();
        (count(&many) - count(&few)) / 4
    });
    // The processor writes two blocks, which the interface reads back; it reads two, of which it had polled the
    // first one, so that this copy had to go.
    assert_eq!(each, [1, 2, 2, 0, 2, 2, 1]);
}

#[test]
fn what_no_link_carries_is_refused_with_its_key() {
    let machine = config::load(MACHINE).expect("it loads");
    for (key, value, says) in [
        ("lanes", "3", "3 is not allowed; expected 1, 2, 4, 8 or 16"),
        ("generation", "2", "generation"),
        ("generation", "6", "expected 256B with generation = 6"),
        ("flit", "64B", "64B is not allowed; expected 68B or 256B"),
        ("requests", "0", "requests"),
        ("stores", "257", "stores"),
        ("lane", "4", "did you mean `lanes`?"),
    ] {
        let refused = machine.with_settings(&[format!("node.interconnects.cxl.{key}={value}")]);
        let refused = refused.map(drop).unwrap_err().to_string();
        assert!(refused.contains(says) && refused.contains("node.interconnects.cxl"), "{key}: {refused}");
    }
    let incoherent =
        ["data_cache", "instruction_cache"].map(|cache| format!("{cache}.protocol=\"Incoherent\""));
    let refused = machine.with_settings(&incoherent).map(drop).unwrap_err().to_string();
    assert!(refused.contains("data_cache.protocol") && refused.contains("MESI"), "{refused}");
}

#[test]
fn what_has_no_home_that_knows_its_copies_is_refused() {
    let refused = failure(&request(MACHINE, "PioCoherent"), &ping_pong(1, 8)).to_string();
    assert!(refused.contains("holds loads of its blocks") && refused.contains("CNI512Q"), "{refused}");
    let link = std::fs::read_to_string(MACHINE).expect("it is there");
    let on_a_bus = link.replace("base = \"chip\"", "base = \"hpca98\"").replace("\"directory\"", "\"bus\"");
    let refused = config::load_text("bus.toml", &on_a_bus).map(drop).unwrap_err().to_string();
    assert!(refused.contains("CXL ports, which need a home that knows the copies"), "{refused}");
    assert!(refused.contains("\"directory\""), "{refused}");
}
