//! The machine of guest/examples/forwarder.toml: programs exchange messages over any
//! interface, and firmware moves every packet between it and the network.

use narthex_machine::{FirmwareFile, RunRequest, run};
use serde_json::Value;

use crate::support::elf::{EXECUTE, READ, Segment, file};
use crate::support::exchange::{both_ways, ping_pong};
use crate::support::{Guest, request};

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../guest/examples/forwarder.toml");
/// Where its firmware's memory begins.
const START: u64 = 0x1_0000;

/// Forwards what can be forwarded, and then does `otherwise`.
fn forwarding(otherwise: &str) -> Vec<u8> {
    let move_packet = |from: u64, to: u64, name: &str| {
        format!(
            "
            ld   t3, {from}(s0)          # process
            sd   t3, {to}(s0)
            ld   t3, {from}(s0)          # header
            sd   t3, {to}(s0)
            srli t4, t3, 16
            andi t4, t4, 255
            addi t4, t4, 7
            srli t4, t4, 3
        {name}:
            beqz t4, look
            ld   t3, {from}(s0)
            sd   t3, {to}(s0)
            addi t4, t4, -1
            j    {name}"
        )
    };
    let source = format!(
        "
            li   s0, 0x70000000
        look:
            ld   t0, 0(s0)
            andi t1, t0, 5               # from the host, and room in the network
            li   t2, 5
            bne  t1, t2, network
            {}
        network:
            andi t1, t0, 10              # from the network, and room in the host
            li   t2, 10
            bne  t1, t2, nothing
            {}
        nothing:
            {otherwise}
            j    look",
        move_packet(0x08, 0x20, "to_network"),
        move_packet(0x18, 0x10, "to_host"),
    );
    let code = narthex_cores::assemble::assemble(START, &source).expect("sound firmware");
    let memory_bytes = code.len() as u64;
    file(START, &[Segment { address: START, memory_bytes, bytes: code, flags: READ | EXECUTE }])
}

/// Looks again at once.
const POLLS: &str = "nop";
/// Waits for a packet, or for room where one waits.
const WAITS: &str = "
            andi t1, t0, 3
            slli t2, t1, 2
            xori t1, t1, 3
            or   t1, t1, t2
            slli t1, t1, 16
            csrrw zero, 0x004, t1
            wfi";

fn request_over(interface: &str, otherwise: &str, settings: &[&str]) -> RunRequest {
    let mut request = request(MACHINE, interface);
    let elf = forwarding(otherwise);
    request.firmware.insert("forwarder".into(), FirmwareFile { file: "forwarding".into(), elf });
    request.set.extend(settings.iter().map(|&setting| setting.to_owned()));
    request
}

fn result(request: &RunRequest, guest: &impl Guest) -> Value {
    run(&guest.in_run(request), &guest.elf(), &mut |_| true).unwrap_or_else(|failure| panic!("{failure}"))
}

fn counted(document: &Value, name: &str) -> u64 {
    let nodes = document["nodes"].as_array().expect("nodes");
    nodes.iter().map(|node| node["statistics"][name].as_u64().expect(name)).sum()
}

#[test]
fn every_packet_of_every_interface_goes_through_the_firmware() {
    let interfaces =
        ["NI2w", "NI16w+Blkbuf", "NI64w+Udma", "CNI4", "CNI0Qm", "CNI512Q", "CNI32Qm", "CNI32Qm+Throttle"];
    for interface in interfaces {
        for otherwise in [POLLS, WAITS] {
            let document = result(&request_over(interface, otherwise, &[]), &both_ways(12, 100, 6));
            let sent = counted(&document, "messages_sent");
            let forwarded =
                ["forwarded_to_network", "forwarded_to_host"].map(|name| counted(&document, name));
            assert!(sent >= 24, "{interface}");
            assert_eq!(forwarded, [sent; 2], "{interface}");
        }
    }
}

/// A memory of 8 ns takes two cycles of the service processor.
#[test]
fn firmware_forwards_without_caches_and_takes_the_same_time_however_it_is_run() {
    let settings = ["node.processors.service.caches=[]", "memories.service_memory.access_time=8ns"];
    for otherwise in [POLLS, WAITS] {
        let request = request_over("CNI32Qm", otherwise, &settings);
        let one = result(&request, &both_ways(12, 100, 6));
        assert_eq!(counted(&one, "forwarded_to_network"), counted(&one, "messages_sent"));
        assert_eq!(counted(&one, "service_bus_reads"), 0);
        let others = [
            RunRequest { threads: 2, ..request.clone() },
            RunRequest { execute_wait_loops: true, ..request },
        ];
        assert!(others.iter().all(|other| result(other, &both_ways(12, 100, 6)) == one));
    }
}

#[test]
fn processes_of_a_node_share_the_firmware_and_get_each_its_own_packets() {
    for settings in
        [&["machine.processors_per_node=2"][..], &["machine.processors_per_node=2", "flow_control.buffers=2"]]
    {
        let document = result(&request_over("NI2w", WAITS, settings), &both_ways(8, 40, 3));
        assert_eq!(document["nodes"][0]["processors"].as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn runs_with_firmware_are_the_same_on_any_number_of_threads_and_with_computed_waits() {
    for otherwise in [POLLS, WAITS] {
        let request = request_over("CNI32Qm", otherwise, &[]);
        let one = result(&request, &ping_pong(6, 200));
        let others = [
            RunRequest { threads: 2, ..request.clone() },
            RunRequest { execute_wait_loops: true, ..request },
        ];
        assert!(others.iter().all(|other| result(other, &ping_pong(6, 200)) == one));
    }
}

#[test]
fn a_packet_that_the_firmware_writes_wrongly_ends_the_run_with_the_firmwares_place() {
    let source = "li s0, 0x70000000\n li t0, 9\n sd t0, 0x20(s0)\n rest: j rest";
    let code = narthex_cores::assemble::assemble(START, source).expect("sound");
    let memory_bytes = code.len() as u64;
    let elf = file(START, &[Segment { address: START, memory_bytes, bytes: code, flags: READ | EXECUTE }]);
    let mut request = request_over("NI2w", POLLS, &[]);
    request.firmware.insert("forwarder".into(), FirmwareFile { file: "wrong".into(), elf });
    let guest = ping_pong(2, 8);
    let failure = run(&guest.in_run(&request), &guest.elf(), &mut |_| true).expect_err("it is wrong");
    let message = failure.message;
    assert!(message.contains("firmware on processor 1: a packet of process 9; the node has 1"), "{message}");
}

#[test]
fn a_forwarder_without_parameters_or_place_is_refused_with_its_key() {
    for (setting, key) in [
        ("forwarder.entries=0", "forwarder.entries"),
        ("node.devices.forwarder.on=[\"buss\"]", "node.devices.forwarder.on"),
        ("node.devices.forwarder.on=[]", "node.devices.forwarder.on"),
        ("node.devices.forwarder.on=[\"bus\"]", "interrupt lines to the memory bus"),
    ] {
        let request = request_over("NI2w", POLLS, &[setting]);
        let guest = ping_pong(1, 8);
        let failure = run(&guest.in_run(&request), &guest.elf(), &mut |_| true).expect_err(setting);
        assert!(failure.message.contains(key), "{failure}");
    }
}
