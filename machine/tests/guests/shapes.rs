//! Nodes of other shapes than those of the studies: two buses with a processor and
//! a memory each, one device on both, and firmware that moves a message.

use narthex_kernel::simulation::Ending;
use narthex_kernel::{Archive, Duration, Time};
use narthex_machine::config::{self, Machine};
use narthex_machine::node::Node;
use narthex_machine::node::probe::Event;

use crate::listener::Listener;
use crate::single_nodes::{blueprint, finish, go_on_from, load, node_of, parse, reported, results, simulate};
use crate::support::request;
use crate::two_buses::{FIRMWARE_REGISTERS, HOST_REGISTERS, SharedRegisters, TWO_BUSES, machine, nodes_with};

/// Nodes with shared registers on both buses.
fn nodes(machine: &Machine, source: &str, firmware: &str, count: u32) -> Vec<Node> {
    nodes_with(machine, source, firmware, count, SharedRegisters::new)
}

/// Stores a number, and waits for the answer.
fn asking() -> String {
    let registers = HOST_REGISTERS[0];
    format!(
        "
        li s0, {registers}
        li t0, 41
        sd t0, 0(s0)
    wait:
        ld t1, 8(s0)
        beqz t1, wait
        report answer, t1
        exit 0"
    )
}

/// Waits for a number, keeps it in its memory over many blocks, and answers with
/// the sum of what it finds there, one more.
fn answering() -> String {
    format!(
        "
        li s0, {FIRMWARE_REGISTERS}
        li s1, 0x100000
    wait:
        ld t0, 0(s0)
        beqz t0, wait
        mv t2, s1
        li t3, 100
    keep:
        sd t0, 0(t2)
        addi t2, t2, 64
        addi t3, t3, -1
        bnez t3, keep
        ld t1, 640(s1)
        addi t1, t1, 1
        sd t1, 8(s0)
    rest:
        j rest"
    )
}

#[test]
fn firmware_on_a_bus_of_its_own_answers_through_a_device_on_both_buses() {
    let machine = machine(&[]);
    let (ending, mut nodes) = simulate(nodes(&machine, &asking(), &answering(), 2), 1);
    assert_eq!(ending, Ending::AllFinished);
    for node in &mut nodes {
        assert_eq!(reported(node, 0), [("answer".to_owned(), 42.0)]);
        let end = node.reached();
        node.close(end);
        let document = node.to_json();
        let statistics = &document["statistics"];
        // The firmware's blocks cross its own bus, and no other.
        assert!(statistics["service_bus_exclusive_reads"].as_u64() >= Some(100), "{statistics}");
        assert!(statistics["bus_exclusive_reads"].as_u64() < Some(100), "{statistics}");
        assert_eq!(statistics["shared_register_stores"], 2);
        assert_eq!(document["processors"].as_array().map(Vec::len), Some(2));
    }
}

/// The host's and the firmware's addresses are the same numbers in two memories.
#[test]
fn two_memories_have_each_its_own_bytes() {
    let host = format!(
        "
        li s0, {}
        li s1, 0x100000
        li t0, 7
        sd t0, 640(s1)
        li t0, 41
        sd t0, 0(s0)
    wait:
        ld t1, 8(s0)
        beqz t1, wait
        ld t2, 640(s1)
        report mine, t2
        report answer, t1
        exit 0",
        HOST_REGISTERS[0]
    );
    let (ending, nodes) = simulate(nodes(&machine(&[]), &host, &answering(), 1), 1);
    assert_eq!(ending, Ending::AllFinished);
    assert_eq!(reported(&nodes[0], 0), [("mine".to_owned(), 7.0), ("answer".to_owned(), 42.0)]);
}

/// Process 0 sends eight words one after the other, process 1 adds them up: register
/// 0 of the first host is full when it is not zero, register 2 of the second.
fn moving() -> String {
    format!(
        "
        ld   t0, 0(sp)               # behind the arguments: NARTHEX_PAGE=0x50000000,
        slli t0, t0, 3               # whose 16th character tells the processes apart
        add  t0, t0, sp
        ld   t0, 16(t0)
        lbu  t0, 16(t0)
        addi t0, t0, -48
        li   s1, 8
        bnez t0, receiver
        li   s0, {}
    send:
        ld   t1, 0(s0)
        bnez t1, send
        sd   s1, 0(s0)
        addi s1, s1, -1
        bnez s1, send
        exit 0
    receiver:
        li   s0, {}
        li   s2, 0
    receive:
        ld   t1, 16(s0)
        beqz t1, receive
        add  s2, s2, t1
        sd   zero, 16(s0)
        addi s1, s1, -1
        bnez s1, receive
        report sum, s2
        exit 0",
        HOST_REGISTERS[0], HOST_REGISTERS[1],
    )
}

/// Moves each word through its own memory.
fn carrying() -> String {
    format!(
        "
        li   s0, {FIRMWARE_REGISTERS}
        li   s1, 0x100000
    full:
        ld   t0, 0(s0)
        beqz t0, full
        sd   t0, 0(s1)
        sd   zero, 0(s0)
        addi s1, s1, 64
    empty:
        ld   t1, 16(s0)
        bnez t1, empty
        ld   t0, -64(s1)
        sd   t0, 16(s0)
        j    full"
    )
}

#[test]
fn firmware_moves_a_message_from_one_host_to_the_other() {
    let machine = machine(&["machine.processors_per_node=2"]);
    let (ending, nodes) = simulate(nodes(&machine, &moving(), &carrying(), 1), 1);
    assert_eq!(ending, Ending::AllFinished);
    assert_eq!(reported(&nodes[0], 1), [("sum".to_owned(), 36.0)]);
}

#[test]
fn nodes_of_any_shape_are_the_same_on_any_number_of_threads() {
    let machine = machine(&["machine.processors_per_node=2"]);
    let all = |threads| {
        let (ending, mut nodes) = simulate(nodes(&machine, &moving(), &carrying(), 3), threads);
        assert_eq!(ending, Ending::AllFinished);
        let end = nodes.iter().map(Node::reached).max().expect("there are nodes");
        nodes.iter_mut().for_each(|node| node.rest_at(end));
        let archives: Vec<_> =
            nodes.iter_mut().map(|node| Archive::save(node).expect("it is saved")).collect();
        (archives, results(nodes))
    };
    let alone = all(1);
    for threads in [2, 3] {
        assert!(all(threads) == alone, "{threads} threads");
    }
}

#[test]
fn a_node_of_any_shape_goes_on_from_a_checkpoint() {
    let machine = machine(&["machine.processors_per_node=2"]);
    let fresh = || nodes(&machine, &moving(), &carrying(), 1);
    let (ending, ended) = simulate(fresh(), 1);
    assert_eq!(ending, Ending::AllFinished);
    let whole = results(ended);
    for nanoseconds in [120, 800, 2_400] {
        let until = Time::ZERO + Duration::from_ns(nanoseconds);
        assert_eq!(results(go_on_from(&fresh, until)), whole, "at {nanoseconds} ns");
    }
}

#[test]
fn a_probe_is_told_which_bus_of_a_node_a_transaction_crosses() {
    let mut nodes = nodes(&machine(&[]), &asking(), &answering(), 1);
    nodes[0].attach(Box::<Listener>::default());
    assert_eq!(nodes[0].buses(), ["memory bus", "service bus"]);
    let (_, mut nodes) = simulate(nodes, 1);
    let listener = nodes[0].detach::<Listener>().expect("it is attached");
    let crossed = |bus: &str| {
        let is_on = |event: &Event| matches!(event, Event::Crossing(crossing) if crossing.bus == bus);
        listener.events.iter().filter(|(_, event)| is_on(event)).count()
    };
    assert!(crossed("memory bus") > 0 && crossed("service bus") > 100);
}

#[test]
fn firmware_that_calls_a_system_is_told_where() {
    let (ending, nodes) = simulate(nodes(&machine(&[]), &asking(), "exit 0", 1), 1);
    assert!(matches!(ending, Ending::Stopped { .. }), "{ending:?}");
    let (index, _, ended) = nodes[0].failure().expect("a failure");
    let text = format!("{ended:?}");
    assert_eq!(index, 1);
    assert!(text.contains("firmware on processor 1"), "{text}");
    assert!(text.contains("there is none on its processor"), "{text}");
}

#[test]
fn firmware_that_is_not_given_is_asked_for() {
    let machine = machine(&[]);
    let refused = blueprint(&machine, "exit 0").node(0);
    let text = refused.map(drop).unwrap_err().to_string();
    assert!(
        text.contains("node.processors.service.runs: runs firmware \"service\", which is not given"),
        "{text}"
    );
}

#[test]
fn a_program_reaches_a_further_device_behind_a_bridge() {
    let machine = load("bridged.toml", "base = \"isca96\"", &[]);
    let [registers, _] = HOST_REGISTERS;
    let guest =
        format!("li s0, {registers}\n li t0, 42\n sd t0, 0(s0)\n ld t1, 0(s0)\n report read, t1\n exit 0");
    let blueprint = blueprint(&machine, &guest)
        .with_device(&["io_bus"], move || Box::new(SharedRegisters::new(&[(0, registers)])));
    let node = finish(node_of(&blueprint));
    assert_eq!(reported(&node, 0), [("read".to_owned(), 42.0)]);
    assert_eq!(node.buses(), ["memory bus", "I/O bus"]);
}

#[test]
fn a_device_with_more_ports_than_places_is_refused() {
    let machine = machine(&[]);
    let ports = [(0, HOST_REGISTERS[0]), (0, FIRMWARE_REGISTERS)];
    let refused = blueprint(&machine, "exit 0")
        .with_firmware("service", parse("exit 0"))
        .with_device(&["bus"], move || Box::new(SharedRegisters::new(&ports)))
        .node(0);
    let text = refused.map(drop).unwrap_err().to_string();
    assert!(text.contains("its device has 2 ports, and 1 of them are placed"), "{text}");
}

/// What is wrong with a shape, by its key.
fn refused(change: &str) -> String {
    let text = format!("{TWO_BUSES}\n{change}");
    match config::load_text("wrong.toml", &text) {
        Ok(_) => panic!("it is accepted: {change}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_be_wired_is_refused_with_file_key_and_reason() {
    for (change, key, reason) in [
        ("[node.interface]\non = [\"buss\"]", "node.interface.on", "there is no interconnect \"buss\""),
        ("[node.interface]\non = [\"buss\"]", "node.interface.on", "did you mean `bus`?"),
        (
            "[node.memories.more]\non = \"bus\"\n[memories.more]\naccess_time = \"60ns\"",
            "node.memories.more.on",
            "has a memory at every address already: main_memory",
        ),
        (
            "[node.interconnects.further]\nkind = \"snooping-bus\"",
            "node.interconnects.further",
            "the machine's file has no [buses.further]",
        ),
        (
            "[node.interconnects.io_bus]\nkind = \"bridged-bus\"\nbehind = \"io_bus\"",
            "node.interconnects.io_bus.behind",
            "bridges in a circle have no end",
        ),
        (
            "[node.interconnects.io_bus]\nkind = \"bridged-bus\"\nbehind = \"register_file\"",
            "node.interconnects.io_bus.behind",
            "is of kind \"private-path\", and bridges are on \"directory\" or \"snooping-bus\"",
        ),
        (
            "[node.memories.far]\non = \"register_file\"\n[memories.far]\naccess_time = \"60ns\"",
            "node.memories.far.on",
            "is of kind \"private-path\", and memories are on \"directory\" or \"snooping-bus\"",
        ),
        (
            "[node.processors.more]\ncore = \"procesor\"\ncaches = [\"data_cache\", \"instruction_cache\"]\n\
             on = \"bus\"\nruns = \"firmware/x\"",
            "node.processors.more.core",
            "did you mean `processor`?",
        ),
        (
            "[node.processors.more]\ncore = \"processor\"\ncaches = [\"data_cache\", \"instruction_cache\"]\n\
             on = \"register_file\"\nruns = \"program\"",
            "node.processors",
            "2 of its parts run the program; expected one",
        ),
        (
            "[node.interface]\non = [\"service_bus\"]",
            "node.interface.on",
            "the bus of the program's processors",
        ),
        ("[node.interface]\non = []", "node.interface.on", "expected [\"bus\"]"),
        ("[buses.idle]\nclock = \"125MHz\"", "buses.idle.width", "is missing"),
    ] {
        let text = refused(change);
        assert!(text.contains("wrong.toml") && text.contains(key) && text.contains(reason), "{text}");
    }
}

#[test]
fn a_coherent_interface_is_refused_on_a_private_path() {
    let error = crate::support::failure(&request("hpca98", "CNI512Q on register"), "exit 0").to_string();
    assert!(error.contains("coherence"), "{error}");
}
