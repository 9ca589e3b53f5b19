//! A processor of firmware without caches, over a local memory: exact times, what crosses
//! its bus, and what is refused. The machine is that of [`crate::two_buses`], whose service
//! processor has a cycle of 4 ns.

use narthex_cores::FETCH_BLOCK_BYTES as LINE_BYTES;
use narthex_cores::assemble::assemble;
use narthex_cores::linux::Program;
use narthex_kernel::simulation::Ending;
use narthex_machine::compose::Blueprint;
use narthex_machine::config;
use narthex_machine::node::Node;
use narthex_machine::node::probe::Event;

use crate::listener::Listener;
use crate::single_nodes::simulate;
use crate::support::{CODE, program, request};
use crate::two_buses::{FIRMWARE_REGISTERS, HOST_REGISTERS, SharedRegisters, TWO_BUSES, machine, nodes_with};

/// No caches, and 4 MiB from 0x10000 on.
const WITHOUT_CACHES: [&str; 3] = [
    "node.processors.service.caches=[]",
    "node.memories.service_memory.start=65536",
    "node.memories.service_memory.size=4MiB",
];

/// Where the firmware has its data.
const LOCAL: u64 = 0x8_0000;

fn settings<'a>(access_time: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    WITHOUT_CACHES.into_iter().chain([access_time]).chain(more.iter().copied()).collect()
}

/// Runs firmware until it has stored to register 0; what that is then.
fn node(settings: &[&str], firmware: &str) -> Node {
    let host = format!(
        "li s0, {}\n wait: ld t0, 0(s0)\n beqz t0, wait\n report cycles, t0\n exit 0",
        HOST_REGISTERS[0]
    );
    let mut nodes = nodes_with(&machine(settings), &host, firmware, 1, SharedRegisters::new);
    nodes[0].attach(Box::<Listener>::default());
    let (ending, mut nodes) = simulate(nodes, 1);
    assert_eq!(ending, Ending::AllFinished, "{:?}", nodes[0].failure());
    nodes.remove(0)
}

/// The cycles that instructions take, in a line of code of their own.
fn cycles(access_time: &str, instructions: &str) -> f64 {
    let start = format!("li s0, {FIRMWARE_REGISTERS}\n li s1, {LOCAL}\n");
    let bytes = assemble(CODE, &start).expect("sound code").len() as u64;
    let padding = "nop\n".repeat((LINE_BYTES - bytes % LINE_BYTES) as usize / 4);
    let firmware = format!(
        "{start}{padding} csrrs s2, 0xc00, zero\n {instructions}\n csrrs s3, 0xc00, zero\n \
         sub s4, s3, s2\n sd s4, 0(s0)\n rest: j rest"
    );
    let access_time = format!("memories.service_memory.access_time={access_time}");
    let node = node(&settings(&access_time, &[]), &firmware);
    node.processes[0].reports[0].value
}

#[test]
fn loads_and_stores_take_the_memorys_access_time_one_after_the_other() {
    let loads = "ld t1, 0(s1)\n ld t2, 8(s1)\n ld t3, 16(s1)";
    let used = format!("{loads}\n add t3, t3, t3");
    let stores = "sd t1, 0(s1)\n sd t2, 8(s1)\n sd t3, 16(s1)\n ld t1, 0(s1)\n add t1, t1, t1";
    let measured = |time: &str| [loads, &used, stores].map(|instructions| cycles(time, instructions));
    assert_eq!(measured("4ns"), [4.0, 5.0, 6.0]);
    assert_eq!(measured("1ns"), [4.0, 5.0, 6.0], "no access takes less than a cycle");
    // Three cycles an access.
    assert_eq!(measured("12ns"), [7.0, 11.0, 14.0]);
    assert_eq!(measured("9ns"), measured("12ns"));
}

#[test]
fn a_line_of_code_takes_what_an_access_takes_beyond_one_cycle() {
    let straight = vec!["addi t0, t0, 1"; 64].join("\n");
    assert_eq!(cycles("4ns", &straight), 65.0);
    // Four more lines of 16 instructions, two cycles each.
    assert_eq!(cycles("12ns", &straight), 73.0);
}

/// Its loads, stores and fetches are in no event and in no transaction.
#[test]
fn only_registers_are_reached_over_the_bus() {
    let firmware = format!(
        "li s0, {FIRMWARE_REGISTERS}\n li s1, {LOCAL}\n li t0, 1000\n turn: sd t0, 0(s1)\n ld t1, 0(s1)\n \
         addi s1, s1, 64\n addi t0, t0, -1\n bnez t0, turn\n sd t1, 0(s0)\n rest: j rest"
    );
    let mut node = node(&settings("memories.service_memory.access_time=12ns", &[]), &firmware);
    let listener = node.detach::<Listener>().expect("it is attached");
    let on_bus = |event: &&Event| matches!(event, Event::Crossing(crossing) if crossing.bus == "service bus");
    assert_eq!(listener.events.iter().map(|(_, event)| event).filter(on_bus).count(), 1);
    assert_eq!(node.processes[0].reports[0].value, 1.0);
}

#[test]
fn a_processor_that_cannot_do_without_caches_is_refused_with_its_key() {
    let more = |keys: &str| format!("{TWO_BUSES}\n{keys}");
    let service = "\n[node.processors.more]\ncore = \"processor\"\ncaches = [\"data_cache\", \
                   \"instruction_cache\"]\non = \"service_bus\"\nruns = \"firmware/x\"\n";
    let shared = "\n[node.memories.service_memory]\non = [\"bus\", \"service_bus\"]\nstart = 0x5f000000\n\
                  size = \"1MiB\"\n[memories.service_memory]\nports = \"single\"\n";
    let no_range = "node.processors.service.caches=[]";
    for (text, settings, key, reason) in [
        (
            more(""),
            vec!["node.processors.host.caches=[]"],
            "node.processors.host.caches",
            "[] is not allowed",
        ),
        (more(""), vec![no_range], "node.processors.service.caches", "service_memory has no start and size"),
        (
            more(service),
            settings("memories.service_memory.access_time=4ns", &[]),
            "service.caches",
            "more is on",
        ),
        (
            TWO_BUSES
                .replace("\n[node.memories.service_memory]\non = \"service_bus\"\n", "\n")
                .replace("[memories.service_memory]", shared),
            vec![no_range],
            "node.processors.service.caches",
            "memories.service_memory.ports is \"single\"",
        ),
    ] {
        let machine = config::load_text("wrong.toml", &text);
        let refused = machine.and_then(|machine| machine.with_settings(&settings)).map(drop);
        let text = refused.expect_err(reason).to_string();
        assert!(text.contains(key) && text.contains(reason), "{text}");
    }
}

#[test]
fn a_device_that_takes_part_in_coherence_is_refused_beside_it() {
    let machine = machine(&settings("memories.service_memory.access_time=4ns", &[]));
    let request = request("two-buses.toml", "NI2w");
    let guest = || Program::parse("guest", program("exit 0")).expect("a sound program");
    let interface = request.interface.parse().expect("an interface");
    let refused = Blueprint::new(&machine.config, interface, guest(), &request)
        .with_firmware("service", guest())
        .with_device(&["service_bus"], || Box::new(SharedRegisters::coherent(&[(0, FIRMWARE_REGISTERS)])))
        .node(0);
    let text = refused.map(drop).expect_err("it is refused").to_string();
    assert!(
        text.contains("takes part in coherence on the service bus, whose processor has no caches"),
        "{text}"
    );
}
