//! Memories of a range of addresses, on one interconnect or on two: in whole machines.

use narthex_kernel::Time;
use narthex_machine::compose::Blueprint;
use narthex_machine::config::{self, Machine};
use narthex_machine::node::Node;
use narthex_machine::node::probe::Event;
use narthex_memory::Kind;

use crate::listener::Listener;
use crate::single_nodes::{blueprint, finish, load, node_of, parse};
use crate::two_buses::{FIRMWARE_REGISTERS, HOST_REGISTERS, SharedRegisters};

/// The 1998 machine with a second processor on a bus of its own, and a memory on both
/// buses, of 250 MHz each: an uncached access takes nine cycles of 4 ns, and the
/// memory's time.
const SHARED: &str = r#"
base = "hpca98"

[node.processors.service]
core = "processor"
caches = ["data_cache", "instruction_cache"]
on = "service_bus"
runs = "firmware/service"

[node.interconnects.service_bus]
kind = "snooping-bus"

[node.memories.service_memory]
on = "service_bus"

[node.memories.sram]
on = ["bus", "service_bus"]
start = 0x5f000000
size = "64KiB"

[memories.service_memory]
access_time = "60ns"

[memories.sram]
access_time = "40ns"
ports = "dual"

[bus]
arbitration_cycles = 1
address_cycles = 1
extra_cycles.uncached_load = 6
extra_cycles.uncached_store = 6

[buses.service_bus]
clock = "250MHz"
width = "32B"
arbitration_cycles = 1
address_cycles = 1
cache_supply_time = "12ns"

[buses.service_bus.extra_cycles]
read = 0
read_exclusive = 0
upgrade = 0
write_back = 0
write_block = 0
read_once = 0
invalidate = 0
uncached_load = 6
uncached_store = 6
block_load = 0
block_store = 0
"#;

fn machine(settings: &[&str]) -> Machine {
    load("shared.toml", SHARED, settings)
}

fn with_firmware<'a>(machine: &'a Machine, host: &str, firmware: &str) -> Blueprint<'a> {
    blueprint(machine, host).with_firmware("service", parse(firmware))
}

/// Both write a word to the memory and read it back; the firmware's is the host's twice.
fn run(machine: &Machine) -> Node {
    let access = |offset: u64, end: &str| {
        format!(
            "li s0, {}\n li t0, {}\n sd t0, 0(s0)\n lw t1, 0(s0)\n {end}",
            0x5f00_0000 + offset,
            40 + offset
        )
    };
    let host = access(0, "ld t2, 8(s0)\n report both, t2\n exit 0");
    let mut node = node_of(&with_firmware(machine, &host, &access(8, "rest: j rest")));
    node.attach(Box::<Listener>::default());
    finish(node)
}

/// The uncached accesses of a bus: kind, begin and end in nanoseconds.
fn accesses(listener: &Listener, bus: &str) -> Vec<(Kind, u64, u64)> {
    let nanoseconds = |time: Time| time.as_ps() / 1_000;
    let on_bus = listener.events.iter().filter_map(|(_, event)| match event {
        Event::Crossing(crossing) if crossing.bus == bus && crossing.kind.is_uncached() => Some(*crossing),
        _ => None,
    });
    on_bus.map(|one| (one.kind, nanoseconds(one.granted), nanoseconds(one.released))).collect()
}

#[test]
fn a_memory_with_two_ports_answers_two_buses_at_once_and_one_with_one_port_does_not() {
    let times = |ports: &str| {
        let mut node = run(&machine(&[&format!("memories.sram.ports={ports}")]));
        assert_eq!(node.processes[0].reports[0].value, 48.0, "the host sees what the firmware has written");
        let listener = node.detach::<Listener>().expect("it is attached");
        ["memory bus", "service bus"].map(|bus| accesses(&listener, bus)[..2].to_vec())
    };
    let (store, load) = (Kind::UncachedStore, Kind::UncachedLoad);
    let [host, firmware] = times("dual");
    // Each takes nine cycles and ten of the memory.
    assert_eq!(host.iter().map(|access| access.2 - access.1).collect::<Vec<_>>(), [76, 76]);
    assert_eq!((host[0].0, host[1].0), (store, load));
    assert_eq!(host, firmware, "they do the same at the same time");
    let [host, firmware] = times("single");
    let lengths = |all: &[(Kind, u64, u64)]| all.iter().map(|access| access.2 - access.1).collect::<Vec<_>>();
    // Both stores begin at once: the second one waits for 40 ns.
    assert_eq!(lengths(&host)[0] + lengths(&firmware)[0], 76 + 116);
}

fn refused(settings: &[&str], change: &str) -> String {
    let text = format!("{SHARED}\n{change}");
    let machine = config::load_text("shared.toml", &text).and_then(|machine| machine.with_settings(settings));
    machine.map(drop).expect_err("it is refused").to_string()
}

#[test]
fn a_memory_without_a_range_or_ports_is_refused_on_two_interconnects() {
    let extra =
        |keys: &str| format!("[node.memories.extra]\n{keys}\n[memories.extra]\naccess_time = \"9ns\"");
    for (change, key, reason) in [
        (
            extra("on = [\"bus\", \"service_bus\"]"),
            "node.memories.extra.on",
            "the memory has no start and size",
        ),
        (
            extra("on = [\"bus\", \"service_bus\"]\nstart = 0x5f100000\nsize = \"4KiB\""),
            "memories.extra.ports",
            "has \"single\" or \"dual\"",
        ),
        (
            extra("on = \"bus\"\nstart = 0x5f100000"),
            "node.memories.extra.size",
            "a memory with a start has one",
        ),
        (
            extra("on = \"bus\"\nstart = 0x5f100100\nsize = \"4KiB\""),
            "node.memories.extra",
            "multiples of 4096",
        ),
        (extra("on = \"bus\"\nstart = 0x100000\nsize = \"4KiB\""), "node.memories.extra.start", "0x5f000000"),
    ] {
        let text = refused(&[], &change);
        assert!(text.contains(key) && text.contains(reason), "{text}");
    }
    let text = refused(&["memories.service_memory.ports=dual"], "");
    assert!(text.contains("is for a memory on two interconnects"), "{text}");
}

#[test]
fn two_memories_at_the_same_addresses_are_refused() {
    let text = format!(
        "{SHARED}\n[node.memories.extra]\non = \"bus\"\nstart = 0x5f008000\nsize = \"64KiB\"\n\
         [memories.extra]\naccess_time = \"9ns\""
    );
    let machine = load("shared.toml", &text, &[]);
    let text =
        with_firmware(&machine, "exit 0", "exit 0").node(0).map(drop).expect_err("it is refused").to_string();
    assert!(text.contains("both answer for the addresses 0x5f008000 to 0x5f010000"), "{text}");
}

/// A device whose last port is on the bus of the memory reads and writes its bytes, and
/// no transaction crosses that bus.
#[test]
fn a_device_has_a_port_of_its_own_to_the_local_memory_beside_its_last_port() {
    let host = format!(
        "li s0, {}\n li s1, 0x5f000100\n li t0, 41\n sd t0, 16(s0)\n ld t1, 16(s1)\n li t0, 7\n \
         sd t0, 24(s1)\n ld t2, 24(s0)\n report written, t1\n report read, t2\n exit 0",
        HOST_REGISTERS[0]
    );
    let registers = || {
        SharedRegisters::new(&[(0, HOST_REGISTERS[0]), (0, FIRMWARE_REGISTERS)]).in_local_memory(0x5f00_0100)
    };
    let machine = machine(&[]);
    let blueprint = with_firmware(&machine, &host, "rest: j rest");
    let mut node = node_of(&blueprint.with_device(&["bus", "service_bus"], move || Box::new(registers())));
    node.attach(Box::<Listener>::default());
    let mut node = finish(node);
    let reports: Vec<f64> = node.processes[0].reports.iter().map(|report| report.value).collect();
    assert_eq!(reports, [41.0, 7.0]);
    let listener = node.detach::<Listener>().expect("it is attached");
    assert_eq!(accesses(&listener, "service bus"), []);
}
