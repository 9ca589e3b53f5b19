//! An interface behind a PCIe link: what an access takes, messages between nodes, and what is refused. The
//! rules of the link are tested beside them.

use narthex_interfaces::registers::{Addresses, STATUS};
use narthex_machine::{Failure, RunRequest, config};

use crate::rings;
use crate::support::exchange::ping_pong;
use crate::support::{failure, request, result, statistic, with};
use crate::timing::measure;

pub const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/pcie.toml");

/// What a packet takes beside its time on the wires, in picoseconds.
const WAY: u64 = 205_000;

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

/// What so many bytes take on the wires, 7.56 a nanosecond, in picoseconds.
fn wires(bytes: f64) -> f64 {
    bytes / (8.0 * 128.0 / 130.0 * 0.96) * 1_000.0
}

/// Of a packet of 248 bytes the descriptor is read, then its four blocks, which have one home here.
#[test]
fn with_several_reads_the_blocks_of_a_packet_wait_for_the_way_together() {
    let prepared = format!("li t4, 0xf80000\n li t5, 256\n{}", rings::PREPARED);
    let cycles = [1, 8].map(|reads| {
        let request = RunRequest { nodes: Some(1), ..request(MACHINE, "Ring") };
        let request = with(request, "directory.interleave=4KiB");
        measure(&with(request, &format!("interfaces.ring.reads={reads}")), &prepared, rings::SEND, 0).0
    });
    // The root complex, at place 1, asks the home at place 3, which looks the block up for 3 ns and asks the
    // cache at place 0, which supplies it in 10. A message takes 3 ns for each switch and link, and a
    // nanosecond for each 16 bytes: 5 for a block.
    let message = |hops: u64, flits: u64| 3_000 * (hops + 1) + 1_000 * flits;
    let on_chip = message(2, 1) + 3_000 + message(3, 1) + 10_000 + message(1, 5);
    let [request, completion] = [24.0, 84.0].map(|bytes| wires(bytes) as u64);
    // A request leaves when the completion before has come, and waits for the directory's next cycle.
    let one_read = (WAY + request + on_chip + WAY + completion).next_multiple_of(1_000);
    // Of those under way together the completions of three follow the first one's on the wires.
    let saved = 3 * one_read - 3 * completion;
    assert_eq!(cycles[0] - cycles[1], saved / 1_000);
}

#[test]
fn a_load_takes_the_messages_two_packets_and_the_register() {
    // Beyond what it takes on the chip: twice the way, and 24 and 28 bytes on the wires, until the processor's
    // next cycle.
    let packets = [24.0, 28.0].map(wires);
    let link = 2 * WAY + packets.iter().sum::<f64>() as u64;
    assert_eq!(status(MACHINE) - status("chip"), link.next_multiple_of(1_000));
}

#[test]
fn interfaces_behind_a_link_exchange_messages() {
    for interface in ["NI2w", "NI16w+Blkbuf", "CNI0Qm", "Ring", "Virtio"] {
        let documents = [1, 2].map(|threads| {
            let request = RunRequest { threads, nodes: Some(2), ..request(MACHINE, interface) };
            result(&request, &ping_pong(5, 200).over(interface))
        });
        assert_eq!(documents[0].to_string(), documents[1].to_string(), "{interface}");
        assert_eq!(statistic(&documents[0], 0, "packets_delivered"), 5, "{interface}");
        let packets = &documents[0]["nodes"][0]["statistics"]["pcie_packets"];
        let loads = packets["memory_read_down"].as_u64().unwrap();
        assert_eq!(loads, packets["completion_up"].as_u64().unwrap(), "{interface}");
        let reads = packets["memory_read_up"].as_u64().unwrap_or_default();
        assert_eq!(reads > 0, ["CNI0Qm", "Ring", "Virtio"].contains(&interface), "{interface}");
    }
}

/// Its IOTLB has one page, so that packets and descriptors wait for walks, of which there may be four.
#[test]
fn packets_with_relaxed_ordering_are_there_when_their_descriptors_are_done() {
    let iommu = "{ page = \"4KiB\", entries = 1, ways = 1, walks = 4, levels = 1, level_time = \"330ns\" }";
    let of = |ordering: &str| {
        let request = RunRequest { nodes: Some(2), ..request(MACHINE, "Ring") };
        let request = with(request, &format!("node.interconnects.pcie.iommu={iommu}"));
        let request = with(request, &format!("interfaces.ring.relaxed_ordering={ordering}"));
        result(&request, &ping_pong(5, 200).over("Ring"))
    };
    let (strict, relaxed) = (of("none"), of("payload"));
    assert_eq!(statistic(&relaxed, 0, "packets_delivered"), 5);
    let time = |document: &serde_json::Value| document["simulated_ps"].as_u64().expect("it ends");
    assert!(time(&relaxed) < time(&strict), "{} {}", time(&relaxed), time(&strict));
}

#[test]
fn relaxed_ordering_is_refused_where_no_link_knows_it() {
    for (machine, value, says) in [
        ("chip", "payload", "\"payload\" is not allowed: it is an attribute of packets on a PCIe link"),
        (MACHINE, "all", "payload"),
    ] {
        let setting = format!("interfaces.ring.relaxed_ordering={value}");
        let refused = failure(&with(request(machine, "Ring"), &setting), "exit 0").to_string();
        assert!(refused.contains("relaxed_ordering") && refused.contains(says), "{machine}: {refused}");
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

/// A read and a write of pcie-bench's card, by its command path and by its DMA engine.
#[test]
fn an_address_at_which_the_program_has_no_memory_ends_the_run_as_an_unsupported_request() {
    let request = RunRequest { nodes: Some(1), ..request("host-snb", "PcieBench") };
    let registers = Addresses::of_process(0).register_page();
    for (address, test, verb) in
        [(0x200_0000_0000, 0, "read"), (0x200_0000_0000, 0x13, "write"), (registers, 3, "write")]
    {
        let guest = format!(
            "li s4, {registers}
            li t0, {address}
            li t1, 1
            li t2, 64
            li t3, {test}
            sd t0, 0x00(s4)         # BENCH_WINDOW
            sd t1, 0x08(s4)         # BENCH_UNITS
            sd t2, 0x10(s4)         # BENCH_UNIT
            sd t2, 0x20(s4)         # BENCH_SIZE
            sd t1, 0x30(s4)         # BENCH_COUNT
            sd t3, 0x38(s4)         # BENCH_START
            poll: ld t0, 0x40(s4)   # BENCH_LEFT
            bnez t0, poll
            exit 0"
        );
        let refused = failure(&request, &guest);
        assert_eq!(refused.exit_code, Failure::GUEST, "{refused}");
        for says in [verb, &format!("{address:#x}"), "unsupported request", "node 0"] {
            assert!(refused.message.contains(says), "{says} is not in {refused}");
        }
    }
}

#[test]
fn a_link_tells_nobody_of_others_transactions_and_needs_a_host_that_goes_on() {
    let refused = failure(&request(MACHINE, "CNI512Q"), &ping_pong(1, 8)).to_string();
    assert!(refused.contains("keeps copies of blocks, or is the home of some"), "{refused}");
    for place in ["Ring", "Ring on io-bus"] {
        let several = with(request("isca96", place), "interfaces.ring.reads=2");
        let refused = failure(&several, "exit 0").to_string();
        assert!(refused.contains("interfaces.ring.reads: 2 reads under way; a bus carries one"), "{refused}");
    }
    let link = std::fs::read_to_string(MACHINE).expect("it is there");
    let on_a_bus = link.replace("base = \"chip\"", "base = \"hpca98\"").replace("\"directory\"", "\"bus\"");
    let refused = config::load_text("bus.toml", &on_a_bus).map(drop).unwrap_err().to_string();
    assert!(
        refused
            .contains("root complexes, whose answers may wait for writes of devices, are on \"directory\""),
        "{refused}"
    );
}
