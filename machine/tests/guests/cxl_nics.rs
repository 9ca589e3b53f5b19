//! NICs that are made for CXL, with watched tails (type 1) and with memory that the host caches (type 2): what a
//! packet costs, what passes through them, and what is refused.

use crate::cxl;
use crate::pcie;
use crate::rings::PREPARED;
use crate::support::exchange::{all_to_one, both_ways, ping_pong};
use crate::support::{failure, fixed_hpca98, request, result, statistic, with};
use crate::timing::measure;
use narthex_machine::{Failure, RunRequest};

/// Where the interface is.
const CXL_NICS: [(&str, &str); 4] =
    [("hpca98", "CxlNic"), ("isca96", "CxlNic"), ("chip", "CxlNic"), (cxl::MACHINE, "CxlNic")];

/// As for `Ring`, but the receive ring's tail is stored to memory, behind 512 descriptors and buffers; s10
/// is where the send ring's is.
fn prepared() -> String {
    let tails = "li t1, 0x22000\n add s10, s8, t1\n add t1, t1, s7\n sd t0, 0(t1)";
    PREPARED.replace("sd   t0, 0xd8(s4)", tails).replace("add  t3, s8, t1", "li t1, 0x2000\n add t3, s8, t1")
}

/// The tail, and polls of the receive descriptor until it is done.
const SEND: &str = "
    sd   t6, 0(s10)
poll:
    ld   a0, 8(s7)
    and  a0, a0, a2
    beqz a0, poll";

#[test]
fn a_packet_of_64_bytes_takes_the_tail_there_and_back_instead_of_a_doorbell() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("CxlNic") };
    let packet = "li t4, 0x400000\n li t5, 72\n";
    let (cycles, document) = measure(&request, &format!("{packet}{}", prepared()), SEND, 0);
    // The store takes the tail's block from the interface: 4 ns behind E, and address, data and the cache's 60 ns.
    // The interface takes it back from the processor's cache, 28 ns; all else is as over `Ring`.
    let tail = 4 + (16 + 60) + 28;
    let to_memory = 16 + 120;
    let arrived = tail + 3 * 28 + 40 + 40 + 40 + 3 * to_memory + to_memory;
    assert_eq!(cycles, arrived + 2);
    let counts = ["bus_single_reads", "bus_block_writes", "send_doorbells", "send_descriptors_fetched"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [4, 3, 1, 1]);
    assert_eq!(statistic(&document, 0, "bus_uncached_stores"), 4);
}

#[test]
fn messages_pass_through_rings_with_watched_tails_in_each_place_and_of_each_process() {
    for (machine, interface) in CXL_NICS {
        let run = request(machine, interface);
        // Several laps of both rings.
        let document = result(&run, &both_ways(600, 64, 3).over(interface));
        assert_eq!(statistic(&document, 1, "messages_deposited"), 600, "{machine}");
        assert!(statistic(&document, 1, "send_descriptor_write_backs") > 0, "{machine}");
        if machine == "hpca98" {
            result(&RunRequest { nodes: Some(5), ..run.clone() }, &all_to_one().over(interface));
            let run = with(run, "machine.processors_per_node=2");
            result(&RunRequest { nodes: Some(2), ..run }, &both_ways(100, 240, 2).over(interface));
        }
    }
}

/// What a message of 64 bytes each way crosses at a node, by the names of the CXL messages.
fn crossings<const COUNT: usize>(interface: &str, names: [&str; COUNT]) -> [u64; COUNT] {
    let messages = |turns| {
        let request = RunRequest { nodes: Some(2), ..request(cxl::MACHINE, interface) };
        result(&request, &ping_pong(turns, 64).over(interface))["nodes"][0]["statistics"]["cxl_messages"]
            .clone()
    };
    let (few, many) = (messages(4), messages(8));
    names.map(|name| {
        let count = |messages: &serde_json::Value| messages[name].as_u64().unwrap_or_default();
        (count(&many) - count(&few)) / 4
    })
}

/// No store to a register crosses the link but for places and sizes, and each message takes one SnpInv of a tail.
#[test]
fn behind_cxl_a_message_takes_no_mmio() {
    assert_eq!(crossings("CxlNic", ["MemWr", "RdOwn", "SnpInv", "RspIFwdM", "ItoMWr"]), [0, 1, 1, 1, 3]);
}

/// Two blocks are taken to be written, come home, and are pushed; nothing is read or snooped.
#[test]
fn a_packet_that_is_flushed_comes_home_and_is_not_read() {
    let names = ["MemWr", "Req MemRd", "RwD MemWr", "ItoMWr", "BISnpData", "RdCurr", "SnpInv"];
    assert_eq!(crossings("CxlNic2", names), [0, 2, 2, 2, 0, 0, 0]);
}

/// A packet of 64 bytes of which the processor has both blocks, the header to be stored last: the flushes, and
/// polls of the receive queue.
#[test]
fn a_packet_of_64_bytes_takes_two_blocks_home_two_engines_and_two_writes() {
    let request = RunRequest { nodes: Some(1), ..fixed_hpca98("CxlNic2") };
    let prepare = "
        sd   zero, 8(s8)
        sd   zero, 64(s8)
        ld   a0, 0(s7)
        addi s9, s8, 64
        li   t4, 0xa000000000400000
        li   t6, 1000
    waiting:
        addi t6, t6, -1
        bnez t6, waiting";
    let send = "
        sd   t4, 0(s8)
        cbo.flush (s9)
        cbo.flush (s8)
    poll:
        ld   a0, 0(s7)
        beqz a0, poll";
    let (cycles, document) = measure(&request, prepare, send, 0);
    // The first flush is granted 4 ns behind E: address, data, and the memory's 60 ns. The second one's block comes to
    // its home a bus cycle after that. Then an engine, the network, an engine; two blocks go to memory, 16 + 120 ns
    // each, and from there the header comes back; then the branch.
    let announced = 4 + (16 + 60) + 4;
    let to_memory = 16 + 120;
    assert_eq!(cycles, announced + 40 + 40 + 40 + 2 * to_memory + to_memory + 1);
    let counts = ["bus_write_backs", "bus_block_writes", "messages_injected", "blocks_read_late"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [2, 2, 1, 0]);
}

/// Where the device is the home of blocks: on a bus, behind a coherent I/O bus, on a directory, behind CXL.
#[test]
fn messages_pass_through_a_nic_with_memory_in_each_place() {
    for (machine, interface) in [
        ("hpca98", "CxlNic2"),
        ("isca96", "CxlNic2"),
        ("isca96", "CxlNic2 on io-bus"),
        ("chip", "CxlNic2"),
        (cxl::MACHINE, "CxlNic2"),
    ] {
        let run = request(machine, interface);
        // Several laps of both queues.
        let document = result(&run, &both_ways(400, 64, 3).over(interface));
        assert_eq!(statistic(&document, 1, "messages_deposited"), 400, "{machine}");
        if machine == "hpca98" {
            result(&RunRequest { nodes: Some(5), ..run.clone() }, &all_to_one().over(interface));
            let run = with(run, "machine.processors_per_node=2");
            result(&RunRequest { nodes: Some(2), ..run }, &both_ways(100, 240, 2).over(interface));
        }
    }
}

#[test]
fn memory_that_no_host_can_cache_is_refused_behind_pcie() {
    let refused = failure(&request(pcie::MACHINE, "CxlNic2"), &ping_pong(1, 8).over("CxlNic2")).to_string();
    assert!(refused.contains("'CxlNic2' keeps copies of blocks, or is the home of some"), "{refused}");
}

#[test]
fn a_wrong_tail_ends_the_program_with_its_place_and_value() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "CxlNic") };
    for (wrong, told) in [
        (
            "sd t6, 0x98(s4)",
            "SEND_RING_TAIL is stored with 1; the interface reads the ring's tail in memory, at 0x",
        ),
        ("li t6, 64\n sd t6, 0(s10)", "is 64, beyond the ring, whose descriptors are 0 to 63"),
        ("li t6, -1\n sd t6, 0(s10)", "beyond the ring"),
        ("li t1, 0x22000\n add t1, t1, s7\n li t6, 6\n sd t6, 0(t1)", "in multiples of 4"),
    ] {
        let program = format!(
            "
            li   s4, 0x50000000
            ld   s7, 96(s4)
            ld   s8, 80(s4)
            ld   s4, 40(s4)
            li   t4, 0x400000
            li   t5, 72
            {}
            {wrong}
            li   t0, 10000
        still:
            addi t0, t0, -1
            bnez t0, still
            exit 0",
            prepared()
        );
        let Failure { exit_code, message, .. } = failure(&request, &program);
        assert_eq!(exit_code, Failure::GUEST, "{message}");
        assert!(message.contains("the ring's tail") && message.contains(told), "{message}");
    }
}
