//! Interfaces beside the memory bus: what an access costs there, what it
//! leaves alone, and which places are refused.

use crate::support::exchange::ping_pong;
use crate::support::{bare_isca96, failure, request, result, statistic, with};
use crate::timing::{assert_costs, measure};
use narthex_machine::{Failure, RunRequest};

/// Places that a preset has beside its memory bus.
const PRIVATE: [(&str, &str); 2] = [("isca96", "NI2w on cache-bus"), ("hpca98", "NI2w on register")];

fn alone_isca96(interface: &str) -> RunRequest {
    RunRequest { nodes: Some(1), ..bare_isca96(interface) }
}

#[test]
fn an_access_on_the_cache_bus_takes_what_table_2_says() {
    // Four processor cycles; the cache bus has the processor's clock.
    assert_costs(&alone_isca96("NI2w on cache-bus"), 1, "", "ld a0, 0(s4)", 4);
    let blocking = with(alone_isca96("NI2w on cache-bus"), "store_buffer.uncached_stores=blocking");
    assert_costs(&blocking, 1, "li a1, 0x80000", "sd a1, 8(s4)", 4);
}

#[test]
fn an_access_to_the_register_file_takes_a_single_cycle() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "NI2w on register") };
    assert_costs(&request, 1, "", "ld a0, 0(s4)", 1);
    assert_costs(&request, 1, "li a1, 0x80000", "sd a1, 8(s4)", 1);
}

#[test]
fn an_access_behind_the_bridge_takes_what_table_2_says() {
    // In processor cycles, the memory bus's part included.
    assert_costs(&alone_isca96("NI2w on io-bus"), 2, "", "ld a0, 0(s4)", 48);
    assert_costs(&alone_isca96("CNI512Q on io-bus"), 2, "", "ld a0, 0(s7)", 76);
    assert_costs(&alone_isca96("NI2w on io-bus"), 2, "", "ld a0, 0(s2)", 42);
}

#[test]
fn a_store_behind_the_bridge_holds_the_memory_bus_for_12_cycles_and_the_io_bus_for_20() {
    let blocking = with(alone_isca96("NI2w on io-bus"), "store_buffer.uncached_stores=blocking");
    assert_costs(&blocking, 2, "li a1, 0x80000", "sd a1, 8(s4)", 12);
    // The load's address comes to the bridge 12 + 10 cycles behind the grant of
    // the store, which is over after 12 + 20; then 20 on the I/O bus, and 18 for
    // the answer on the memory bus.
    let (measured, document) =
        measure(&alone_isca96("NI2w on io-bus"), "li a1, 0x80000", "sd a1, 8(s4)\n ld a0, 0(s4)", 0);
    assert_eq!(measured, 2 + 32 + 20 + 18);
    assert_eq!(statistic(&document, 0, "io_bus_occupied"), 2 * 20 * 5_000);
}

#[test]
fn a_block_from_the_processors_cache_to_a_device_takes_62_cycles() {
    // The processor fetches the first block of the send queue to write it (64
    // of its 76 cycles are on the I/O bus), announces a message to this node
    // itself (20), and the interface reads the block.
    let send = "
        sd   a1, 0(s8)
        li   t0, 1
        sd   t0, 24(s4)
        li   t1, 400
    pause:
        addi t1, t1, -1
        bnez t1, pause";
    let (_, document) = measure(&alone_isca96("CNI512Q on io-bus"), "li a1, 0x80000", send, 0);
    assert_eq!(statistic(&document, 0, "io_bus_reads"), 1);
    assert_eq!(statistic(&document, 0, "io_bus_occupied"), (64 + 20 + 62) * 5_000);
}

#[test]
fn messages_cross_the_io_bus() {
    let document = result(&request("isca96", "NI2w on io-bus"), &ping_pong(50, 8));
    assert_eq!(statistic(&document, 0, "packets_delivered"), 50);
    assert!(statistic(&document, 0, "io_bus_uncached_loads") > 100);
    assert_eq!(
        statistic(&document, 0, "io_bus_uncached_stores"),
        statistic(&document, 0, "bus_uncached_stores")
    );
}

#[test]
fn the_processor_adds_its_cycles_behind_the_bridge_and_none_on_its_own_bus() {
    let slow = |interface| with(alone_isca96(interface), "processor.blocking_access_cycles=8");
    assert_costs(&slow("NI2w on io-bus"), 2, "", "ld a0, 0(s4)", 48 + 8);
    assert_costs(&slow("NI2w on cache-bus"), 1, "", "ld a0, 0(s4)", 4);
}

#[test]
fn posted_stores_drain_at_the_rate_of_the_cache_bus() {
    // Eight posted stores, one a cycle, the first granted at once; the load
    // waits for the last: 1 + 8 * 4, and 4 of its own.
    let stores = "sd a1, 8(s4)\n".repeat(8);
    let header = format!("li a1, {}", 56 << 16);
    let request = alone_isca96("NI2w on cache-bus");
    let (measured, _) = measure(&request, &header, &format!("{stores} ld a0, 0(s4)"), 0);
    assert_eq!(measured, 1 + 8 * 4 + 4);
}

#[test]
fn a_miss_does_not_wait_for_stores_that_drain_on_the_cache_bus() {
    // The miss is granted at the first edge of the memory bus behind it, though
    // seven stores are still in the buffer.
    let stores = "sd a1, 8(s4)\n".repeat(8);
    let header = format!("li a1, {}", 56 << 16);
    let request = alone_isca96("NI2w on cache-bus");
    let (measured, _) = measure(&request, &header, &format!("{stores} ld a0, 0(s2)"), 0);
    assert_eq!(measured, 10 + 42);
}

#[test]
fn messages_beside_the_memory_bus_leave_it_alone() {
    for (machine, interface) in PRIVATE {
        let document = result(&request(machine, interface), &ping_pong(50, 8));
        assert_eq!(document["interface"], interface);
        assert_eq!(statistic(&document, 0, "bus_uncached_loads"), 0);
        assert_eq!(statistic(&document, 0, "bus_uncached_stores"), 0);
        assert!(statistic(&document, 0, "private_bus_uncached_loads") > 100);
        assert_eq!(statistic(&document, 0, "packets_delivered"), 50);
    }
}

#[test]
fn a_place_that_does_not_fit_is_refused_before_the_run() {
    for (machine, interface, reason) in [
        (
            "hpca98",
            "NI2w on cache-bus",
            "hpca98: the machine's file has no [cache_bus], which 'NI2w on cache-bus' needs",
        ),
        ("isca96", "NI2w on register", "the machine's file has no [register_file]"),
        (
            "isca96",
            "CNI16Qm on io-bus",
            "'CNI16Qm' cannot be attached to io-bus: its queues have main memory",
        ),
        ("isca96", "CNI16Qm on io-bus", "(isca96, Section 2.3)"),
        ("isca96", "CNI512Q on cache-bus", "coherence is usually not an option on cache buses"),
        ("hpca98", "CNI32Qm on register", "cannot be attached to register"),
        ("isca96", "NI2w on cash-bus", "did you mean cache-bus?"),
    ] {
        let Failure { exit_code, message, .. } = failure(&request(machine, interface), "exit 0");
        assert_eq!(exit_code, Failure::USAGE);
        assert!(message.contains(reason), "{machine} {interface}: {message}");
    }
}

#[test]
fn an_interface_that_cannot_be_on_a_path_is_no_section_of_it() {
    let section = "cache_bus.interfaces.cni_iq.";
    let settings = [
        "memory_access_time=1ns",
        "register_access_time=1ns",
        "engine_time=1ns",
        "deposit_time=1ns",
        "message_ready=uncached-store",
    ];
    let request = settings
        .iter()
        .fold(request("isca96", "NI2w"), |request, setting| with(request, &format!("{section}{setting}")));
    let Failure { message, .. } = failure(&request, "exit 0");
    assert!(
        message.contains("cache_bus.interfaces.cni_iq: no CNI_i Q can be attached to cache-bus"),
        "{message}"
    );
}
