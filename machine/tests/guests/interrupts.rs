//! Interrupts of a node: a device on two buses calls the firmware of a processor that
//! waits for it, on the machine of [`crate::two_buses`].

use narthex_cores::linux::Program;
use narthex_kernel::simulation::Ending;
use narthex_kernel::{Duration, Time};
use narthex_machine::activity::Occupation;
use narthex_machine::compose::Blueprint;
use narthex_machine::config::Machine;
use narthex_machine::node::Node;
use narthex_machine::node::probe::Event;
use narthex_memory::Kind;

use crate::listener::Listener;
use crate::single_nodes::{go_on_from, reported, results, simulate};
use crate::support::{program, request};
use crate::two_buses::{FIRMWARE_REGISTERS, HOST_REGISTERS, SharedRegisters, machine, nodes_with};

/// From a line to the handler's first instruction, at 250 MHz.
const INTERRUPT_CYCLES: u64 = 8;
const CYCLE: Duration = Duration::from_ns(4);

fn with_interrupts() -> Machine {
    machine(&[&format!("processors.service_processor.interrupt_cycles={INTERRUPT_CYCLES}")])
}

fn nodes(host: &str, firmware: &str, count: u32) -> Vec<Node> {
    nodes_with(&with_interrupts(), host, firmware, count, |ports| SharedRegisters::new(ports).with_lines())
}

/// Computes for a while, stores a number, which asserts line 0, and waits for the answer.
fn asking() -> String {
    format!(
        "
        li   s0, {}
        li   t0, 100
    compute:
        addi t0, t0, -1
        bnez t0, compute
        li   t0, 41
        sd   t0, 0(s0)
    wait:
        ld   t1, 8(s0)
        beqz t1, wait
        ld   t2, 16(s0)
        report answer, t1
        report handled_at, t2
        exit 0",
        HOST_REGISTERS[0]
    )
}

/// Waits for interrupts of line 0. Its handler tells when it began, and answers.
fn serving() -> String {
    format!(
        "
        jal  t0, main
        csrrs t1, 0xc01, zero
        sd   t1, 16(s0)
        ld   t2, 0(s0)
        addi t2, t2, 1
        sd   zero, 0(s0)
        sd   t2, 8(s0)
        uret
    main:
        csrrw zero, 0x005, t0
        li   s0, {FIRMWARE_REGISTERS}
        li   t1, 0x10000
        csrrw zero, 0x004, t1
        csrrsi zero, 0x000, 1
    rest:
        wfi
        j    rest"
    )
}

#[test]
fn a_handler_begins_the_stated_cycles_after_the_store_that_asserts_its_line_has_crossed() {
    let mut nodes = nodes(&asking(), &serving(), 1);
    nodes[0].attach(Box::<Listener>::default());
    let (ending, mut nodes) = simulate(nodes, 1);
    assert_eq!(ending, Ending::AllFinished);
    let events = nodes[0].detach::<Listener>().expect("it is attached").events;
    let line = events.iter().find_map(|(_, event)| match event {
        Event::Crossing(crossing)
            if (crossing.kind, crossing.address) == (Kind::UncachedStore, HOST_REGISTERS[0]) =>
        {
            Some(crossing.released)
        }
        _ => None,
    });
    let line = line.expect("the host stores");
    let edge = Time::from_ps(line.as_ps().next_multiple_of(CYCLE.as_ps()));
    let begin = (edge + CYCLE * INTERRUPT_CYCLES).as_ps() / 1_000;
    assert_eq!(
        reported(&nodes[0], 0),
        [("answer".to_owned(), 42.0), ("handled_at".to_owned(), begin as f64)]
    );
    let executes_from = events.iter().find_map(|&(at, event)| match event {
        Event::Booking { processor: 1, occupation: Occupation::Execute, .. } if at >= line => Some(at),
        _ => None,
    });
    assert_eq!(executes_from, Some(line), "it waits up to the line");
    let end = nodes[0].reached();
    nodes[0].close(end);
    let document = nodes[0].to_json();
    let ledger = &document["processors"][1]["ledger_ps"];
    assert!(ledger["poll / interrupt"].as_u64() >= Some(100_000), "{ledger}");
    let sum: u64 = ledger.as_object().expect("a table").values().filter_map(|time| time.as_u64()).sum();
    assert_eq!(sum, end.as_ps());
}

#[test]
fn a_host_that_waits_is_computed_while_its_firmware_waits() {
    let polling = "li t6, 20000
    poll:
        ld t5, 24(s0)
        csrrs t4, 0xc01, zero
        bltu t4, t6, poll
        sd t0, 0(s0)";
    let polling = asking().replace("sd   t0, 0(s0)", polling);
    let run = |executed: bool| {
        let mut nodes = nodes(&polling, &serving(), 1);
        if executed {
            nodes.iter_mut().for_each(Node::execute_wait_loops);
        }
        let (ending, mut nodes) = simulate(nodes, 1);
        assert_eq!(ending, Ending::AllFinished);
        let end = nodes[0].reached();
        nodes[0].close(end);
        (nodes[0].skipped_instructions(), nodes[0].to_json())
    };
    let ((computed, results), (none, executed)) = (run(false), run(true));
    assert_eq!(results, executed);
    assert!(computed > 300, "{computed}");
    assert_eq!(none, 0);
}

#[test]
fn interrupts_are_the_same_on_any_number_of_threads_and_from_any_checkpoint() {
    let fresh = || nodes(&asking(), &serving(), 2);
    let whole = |threads| {
        let (ending, nodes) = simulate(fresh(), threads);
        assert_eq!(ending, Ending::AllFinished);
        results(nodes)
    };
    let alone = whole(1);
    assert_eq!(whole(2), alone);
    // While the firmware waits, while its handler runs, and behind that.
    for nanoseconds in [80, 320, 400, 440, 480, 560] {
        let until = Time::ZERO + Duration::from_ns(nanoseconds);
        assert_eq!(results(go_on_from(&fresh, until)), alone, "at {nanoseconds} ns");
    }
}

#[test]
fn an_interrupt_that_no_handler_takes_ends_the_run_and_says_where() {
    let firmware = serving().replace("csrrw zero, 0x005, t0", "nop");
    let (ending, nodes) = simulate(nodes(&asking(), &firmware, 1), 1);
    assert!(matches!(ending, Ending::Stopped { .. }), "{ending:?}");
    let (index, _, ended) = nodes[0].failure().expect("a failure");
    let text = format!("{ended:?}");
    assert_eq!(index, 1);
    for part in [
        "node 0, firmware on processor 1: interrupt of line 0 before",
        "no handler is installed (utvec is 0)",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn firmware_that_waits_for_a_line_which_it_does_not_enable_is_explained() {
    let firmware = serving().replace("li   t1, 0x10000", "li   t1, 0x40000");
    let (ending, mut nodes) = simulate(nodes(&asking(), &firmware, 1), 1);
    assert!(matches!(ending, Ending::NoProgress(_)), "{ending:?}");
    let stuck = nodes[0].stuck();
    let waits_for = stuck.firmware[0].waits_for.as_deref();
    assert_eq!(waits_for, Some("an interrupt; line 0 is asserted, and not enabled in uie"));
    assert_eq!(stuck.firmware[0].place, "node 0, firmware on processor 1");
}

#[test]
fn a_device_with_lines_to_a_core_without_interrupts_is_refused() {
    let machine = machine(&[]);
    let request = request("two-buses.toml", "NI2w");
    let guest = Program::parse("guest", program("exit 0")).expect("a sound program");
    let ports = [(0, HOST_REGISTERS[0]), (0, FIRMWARE_REGISTERS)];
    let refused = |on: &[&str]| {
        let interface = request.interface.parse().expect("an interface");
        let blueprint = Blueprint::new(&machine.config, interface, guest.clone(), &request)
            .with_firmware("service", guest.clone())
            .with_device(on, move || Box::new(SharedRegisters::new(&ports).with_lines()));
        blueprint.node(0).map(drop).unwrap_err().to_string()
    };
    let text = refused(&["bus", "service_bus"]);
    let key = "node.processors.service.core: \"service_processor\" has no interrupt_cycles";
    assert!(text.contains(key), "{text}");
    let text = refused(&["service_bus", "bus"]);
    assert!(
        text.contains("has interrupt lines to the memory bus, where no processor runs firmware"),
        "{text}"
    );
}
