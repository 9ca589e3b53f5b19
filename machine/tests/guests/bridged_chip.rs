//! An I/O bus behind a bridge on a directory: what an access takes, and messages through an interface
//! there. The order of accesses is tested beside the rules.

use narthex_interfaces::registers::{Addresses, STATUS};
use narthex_machine::RunRequest;

use crate::support::exchange::ping_pong;
use crate::support::{failure, request, result, statistic, with};

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/bridged-chip.toml");

/// What a load of the interface's status takes, in nanoseconds.
fn status(interface: &str) -> u64 {
    let request = RunRequest { nodes: Some(1), ..request(MACHINE, interface) };
    let address = Addresses::of_process(0).register_page() + STATUS;
    let time = |loads: usize| {
        let guest = format!("li s0, {address}\n{}exit 0", " ld t0, 0(s0)\n".repeat(loads));
        result(&request, &guest)["simulated_ps"].as_u64().expect("it ends") / 1_000
    };
    (time(24) - time(16)) / 8
}

#[test]
fn a_load_takes_the_messages_the_bridge_and_the_bus() {
    // Beyond the messages and the register's time: the bridge's 20 ns, and three cycles of 10 ns.
    assert_eq!(status("NI2w on io-bus") - status("NI2w"), 20 + 30);
}

#[test]
fn interfaces_behind_the_bridge_exchange_messages_between_chips() {
    for model in ["NI2w", "CNI0Qm", "Ring"] {
        let interface = format!("{model} on io-bus");
        let documents = [1, 2].map(|threads| {
            let request = RunRequest { threads, ..request(MACHINE, &interface) };
            result(&request, &ping_pong(5, 200).over(model))
        });
        assert_eq!(documents[0].to_string(), documents[1].to_string());
        let counted = |name| statistic(&documents[0], 0, name);
        let [loads, stores] = [counted("processor_uncached_loads"), counted("processor_uncached_stores")];
        assert_eq!([counted("bridge_reads"), counted("io_bus_uncached_loads")], [loads; 2]);
        assert_eq!([counted("bridge_writes_down"), counted("io_bus_uncached_stores")], [stores; 2]);
        // What the interface writes by itself.
        let written = counted("io_bus_block_writes");
        assert_eq!((counted("bridge_writes_up"), written > 0), (written, model != "NI2w"), "{model}");
    }
}

#[test]
fn what_a_directory_does_not_tell_is_needed_behind_a_bridge_on_it_too() {
    let refused = failure(&request(MACHINE, "CNI512Q on io-bus"), &ping_pong(1, 8)).to_string();
    assert!(refused.contains("forwards nothing to a device behind a bridge"), "{refused}");
    let nested = with(request(MACHINE, "NI2w on io-bus"), "node.interconnects.io_bus.behind=io_bus");
    assert!(failure(&nested, &ping_pong(1, 8)).to_string().contains("bridges in a circle have no end"));
}
