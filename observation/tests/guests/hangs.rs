//! A run that makes no progress ends with exit code 3 and says who waits
//! for whom.

use std::ops::ControlFlow;

use narthex_cores::linux::Program;
use narthex_fabrics::networks;
use narthex_interfaces::address_names::AddressName;
use narthex_interfaces::{Context, Device, DeviceDescription, DevicePort, QueueState, RegisterFault};
use narthex_kernel::digest::Digest;
use narthex_kernel::simulation::{Ending, Limits, Simulation};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Bytes, Damage, Duration, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::{Failure, Halt, RunRequest, config};
use narthex_memory::interconnects::Refusal;
use narthex_memory::{AccessReply, Kind, Response, Transaction};
use narthex_observation::hang::Hang;
use serde_json::Value;

use crate::failure;
use crate::support::exchange::{Exchange, both_ways, exchange};
use crate::support::machines::{INTERFACES, MACHINES, machines_and_interfaces};
use crate::support::{Guest, program, request, with};

/// The failure of a run that gets stuck, found out soon after all queues are full.
fn stuck(request: RunRequest, guest: &Exchange) -> Failure {
    let request = with(request, "machine.time_without_progress=400us");
    let failure = failure(&request, None, guest);
    assert_eq!(failure.exit_code, Failure::NO_PROGRESS, "{failure}");
    failure
}

fn explanation(machine: &str, interface: &str, guest: &Exchange) -> String {
    stuck(request(machine, interface), guest).message
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// Longer than any run here lasts.
const FOR_EVER: u64 = 1 << 40;

/// Node 0 sends to node 1 for ever, which does something else.
fn sender_and(other: &str) -> Exchange {
    exchange(format!("on 0 repeat {FOR_EVER} send 1 8 end on 1 {other}"))
}

/// Node 1 takes no messages.
fn absent_receiver() -> Exchange {
    sender_and("stand-still")
}

/// Two nodes that send to each other for ever and never receive.
fn senders() -> Exchange {
    sender_and(&format!("repeat {FOR_EVER} send 0 8 end"))
}

/// Node 0 sends twice and ends; node 1 waits for three messages.
fn too_few() -> Exchange {
    exchange("on 0 send 1 8 send 1 8 on 1 repeat 3 receive 0 end")
}

/// Two threads of each node, the second of which sleeps for ever, as the first does then.
#[test]
fn threads_that_all_sleep_are_named_with_the_word_that_they_wait_for() {
    let source = "
        li a0, 0x50f00
        li a1, 0
        li a2, 0
        li a3, 0
        li a4, 0
        li a7, 220
        ecall
        li s0, 0x100000
        beqz a0, sleep
        addi s0, s0, 64
    sleep:
        mv a0, s0
        li a1, 128
        li a2, 0
        li a3, 0
        li a7, 98
        ecall
        j sleep";
    let request = with(request("hpca98", "NI2w"), "machine.processors_per_node=2");
    let request = with(request, "machine.processors_per_process=2");
    let Failure { exit_code, message: text, document } = failure(&request, None, source);
    assert_eq!(exit_code, Failure::NO_PROGRESS, "{text}");
    assert_says(
        &text,
        &[
            "no progress: all threads sleep (deadlock)",
            "node 0 waits for one of its threads to wake another",
            "all 2 threads sleep, and none is left that could wake another",
            "node 1, thread 1000 on processor 0: in the activity 'application', asleep until another thread wakes it at 0x100040",
            "node 1, thread 1001 on processor 1: in the activity 'application', asleep until another thread wakes it at 0x100000",
        ],
    );
    let wait = &document.expect("an explanation")["hang"]["waits"][0];
    assert_eq!(
        (&wait["waits_for"], wait["threads"].as_array().map(Vec::len)),
        (&"another thread".into(), Some(1))
    );
}

#[test]
fn a_node_that_polls_for_what_is_not_sent_waits_for_a_message() {
    for machine in MACHINES {
        for interface in INTERFACES {
            let text = explanation(machine, interface, &exchange("on 1 receive any"));
            assert!(
                text.starts_with(
                    "no progress: what still runs waits for a message, and none is on its way, \
                     and node 0 has ended (deadlock)\n"
                ),
                "{text}"
            );
            assert_says(
                &text,
                &[
                    "  node 0 has ended with exit code 0 at ",
                    "  node 1 waits for a message\n",
                    "    no message is on its way to it, and who should send one is not known\n",
                    "  node 1: in the activity 'poll'",
                    "\n  network: 0 frames on their way",
                ],
            );
        }
    }
}

#[test]
fn two_senders_that_do_not_receive_wait_for_each_other() {
    for interface in INTERFACES {
        let text = explanation("hpca98", interface, &senders());
        assert!(
            text.starts_with(
                "no progress: node 0 and node 1 wait for each other, and packets are sent again and again \
                 (livelock)\n"
            ),
            "{text}"
        );
        assert_says(
            &text,
            &[
                "who waits for whom:\n  node 0 -> node 1 -> node 0\n  node 0 waits for room to send\n",
                "    -> node 1: 8 of 8 outgoing buffers hold packets to it; 8 are refused by node 1, which has no \
                 free buffer, and sent again and again\n",
                "  node 1: flow control: 8 of 8 outgoing buffers in use, 8 of 8 incoming ones; ",
            ],
        );
        let text = explanation("isca96", interface, &senders());
        assert!(
            text.starts_with("no progress: node 0 and node 1 wait for each other (deadlock)\n"),
            "{text}"
        );
        assert_says(
            &text,
            &[
                "    -> node 0: 4 of 4 packets of its window are unacknowledged; 4 wait at node 0 to be taken\n",
                "  node 0: flow control: 4 of 4 packets to node 1 unacknowledged; 4 arrived and not taken\n",
            ],
        );
    }
}

#[test]
fn a_receiver_that_never_polls_is_the_end_of_the_chain() {
    for interface in INTERFACES {
        let text = explanation("hpca98", interface, &absent_receiver());
        let first = "no progress: node 0 waits for node 1, which takes no messages, and packets are sent again \
                     and again (livelock)\n";
        assert!(text.starts_with(first), "{text}");
        assert_says(
            &text,
            &[
                "who waits for whom:\n  node 0 -> node 1\n",
                "  node 1 waits for nothing that the machine knows\n",
                " packets have arrived that it does not take\n",
                "  node 0: in the activity 'wait to send'",
            ],
        );
    }
}

#[test]
fn packets_that_a_program_has_not_taken_are_counted_in_queues_of_any_kind() {
    let guest = exchange("on 0 repeat 3 send 1 8 end on 1 receive 0 stand-still");
    for (machine, interface) in machines_and_interfaces() {
        let text = explanation(machine, interface, &guest);
        assert!(
            text.contains("    2 packets have arrived that it does not take\n"),
            "{machine} {interface}: {text}"
        );
    }
}

#[test]
fn a_receiver_that_has_ended_is_the_end_of_the_chain() {
    let text = explanation("isca96", "NI2w", &sender_and(""));
    assert!(
        text.starts_with("no progress: node 0 waits for node 1, whose program has ended (deadlock)\n"),
        "{text}"
    );
}

#[test]
fn a_lost_acknowledgement_keeps_its_senders_buffer() {
    let lost = "acknowledgement 3 from node 1 to node 0";
    let receiver = format!("repeat {FOR_EVER} receive 0 end");
    for interface in INTERFACES {
        let request = with(request("hpca98", interface), "flow_control.buffers=1");
        let request = with(request, &format!("faults.lose=[\"{lost}\"]"));
        let text = stuck(request, &sender_and(&receiver)).message;
        let first = format!(
            "no progress: node 0 waits for node 1, which waits for a message; {lost} was lost (deadlock)\n"
        );
        assert!(text.starts_with(&first), "{text}");
        assert_says(
            &text,
            &[
                "    -> node 1: 1 of 1 outgoing buffers hold packets to it; 1 was accepted, but its \
                 acknowledgement was lost\n",
                &format!("  node 1: lost on purpose (faults.lose): {lost}\n"),
            ],
        );
    }
}

#[test]
fn a_lost_packet_is_what_its_receiver_waits_for() {
    let lost = "packet 2 from node 0 to node 1";
    for machine in MACHINES {
        let request = with(request(machine, "NI2w"), &format!("faults.lose=[\"{lost}\"]"));
        let text = stuck(request, &too_few()).message;
        let first = format!(
            "no progress: node 1 waits for node 0, whose program has ended; {lost} was lost (deadlock)\n"
        );
        assert!(text.starts_with(&first), "{text}");
        assert_says(&text, &["    -> node 0: 1 packet from node 0 did not come: 1 was lost on its way\n"]);
    }
}

#[test]
fn waiting_for_ever_is_reported_whether_loops_are_computed_or_executed() {
    let guest = exchange("receive any");
    for (machine, interface) in machines_and_interfaces() {
        for execute_wait_loops in [false, true] {
            let request = with(request(machine, interface), "machine.time_without_progress=100us");
            let request = RunRequest { execute_wait_loops, ..request };
            let Failure { exit_code, message, .. } = failure(&request, None, &guest);
            assert_eq!(exit_code, Failure::NO_PROGRESS, "{message}");
            assert!(message.contains("waits for a message"), "{machine} {interface}: {message}");
        }
    }
}

#[test]
fn an_interface_of_the_guides_reader_tells_of_its_queue() {
    const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../interfaces/examples/models/ni_i.toml");
    let request = with(request(MACHINE, "NI4"), "flow_control.buffers=1");
    let text = stuck(request, &both_ways(40, 64, 4)).message;
    assert_says(&text, &["send FIFO: 1 of 1 entries in use, the flow control holds"]);
}

#[test]
fn an_explanation_is_the_same_on_any_threads_and_with_wait_loops_executed() {
    for (machine, interface, guest) in [
        ("hpca98", "NI2w", senders()),
        ("hpca98", "CNI0Qm", absent_receiver()),
        ("isca96", "CNI512Q", absent_receiver()),
        ("isca96", "NI2w", too_few()),
    ] {
        let request = request(machine, interface);
        let alone = stuck(request.clone(), &guest);
        for (threads, execute_wait_loops) in [(2, false), (1, true), (2, true)] {
            let request = RunRequest { threads, execute_wait_loops, ..request.clone() };
            assert_eq!(stuck(request, &guest), alone, "{machine} {interface}");
        }
    }
}

#[test]
fn the_document_has_the_explanation_for_tools() {
    let failure = stuck(request("hpca98", "NI2w"), &senders());
    let document = failure.document.expect("a document");
    assert_eq!(document["ending"], "no progress");
    let hang = &document["hang"];
    assert_eq!((&hang["kind"], &hang["circle"]), (&"livelock".into(), &serde_json::json!([0, 1, 0])));
    let wait = &hang["waits"][1];
    assert_eq!((&wait["rank"], &wait["waits_for"]), (&1.into(), &"room to send".into()));
    assert_eq!(wait["links"][0]["to"], 0);
    let node = &hang["nodes"][0];
    assert_eq!(node["flow_control"]["outstanding"][0]["packets"], 8);
    assert_eq!(node["queues"][1]["used"], 8);
    assert!(failure.message.contains(hang["summary"].as_str().unwrap()));
    assert!(document["simulated_ps"] == hang["at_ps"] && hang["since_ps"].as_u64() > Some(0));
    assert!(document["nodes"].as_array().is_some_and(|nodes: &Vec<Value>| nodes.len() == 2));
}

/// A device that refuses every access to its registers.
#[derive(Clone)]
struct Refusing;

impl Archived for Refusing {
    fn archive(&mut self, _archive: &mut Archive<'_>) -> Result<(), Damage> {
        Ok(())
    }
}

impl Device for Refusing {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        Duration::ZERO
    }

    fn access(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        _transaction: &Transaction,
        _response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        unreachable!("every access is refused")
    }

    fn refuse(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        _transaction: &Transaction,
    ) -> Option<Refusal> {
        Some(Refusal::Retry)
    }
}

impl DeviceDescription for Refusing {
    fn ports(&self) -> Vec<DevicePort> {
        let name = "the serviced space".to_owned();
        let registers = std::iter::once(0x5f80_0000..0x5f80_1000).collect();
        vec![DevicePort { name, registers, refuses: true, ..DevicePort::default() }]
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        (0x5f80_0000..0x5f80_1000).contains(&address).then(|| AddressName::whole("serviced space"))
    }

    fn hash_state(&self, _port: usize, _digest: &mut Digest) {}

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        Vec::new()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        Vec::new()
    }

    fn queue(&self, _port: usize) -> QueueState {
        QueueState::of("serviced space", 0, None)
    }
}

fn refused_for_ever(settings: &[&str]) -> Result<Vec<Node>, String> {
    let machine = config::load("hpca98").and_then(|machine| machine.with_settings(settings));
    let machine = machine.map_err(|error| error.to_string())?;
    let elf = program("li s0, 0x5f800000\n ld t0, 8(s0)\n exit 0");
    let guest = Program::parse("guest", elf).expect("a sound program");
    let interface = "NI2w".parse().expect("an interface");
    let request = request("hpca98", "NI2w");
    let blueprint = Blueprint::new(&machine.config, interface, guest, &request)
        .with_device(&["bus"], || Box::new(Refusing));
    let node = blueprint.node(0).map_err(|failure| failure.to_string())?;
    let mut simulation = Simulation::new(vec![node], Duration::from_ns(40));
    let limits = Limits { patience: Duration::from_ns(20_000), ..Limits::default() };
    let ending = simulation.run(&limits, &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(ending, Ending::NoProgress(_)), "{ending:?}");
    Ok(simulation.into_partitions())
}

#[test]
fn a_transaction_that_is_refused_for_ever_is_a_livelock_between_two_that_are_named() {
    let mut nodes = refused_for_ever(&["bus.retry_cycles=3"]).expect("it is wired");
    let text = Hang::of(&mut nodes, &[], Halt::NoProgress, Time::from_ps(20_000_000)).explanation();
    assert_says(
        &text.text,
        &[
            "the serviced space refuses processor 0, which loads serviced space",
            "again and again (livelock)",
            "waits for an answer to its memory access",
            "times by the serviced space, and is tried again",
        ],
    );
    assert_eq!(text.document["nodes"][0]["refused"][0]["by"], "the serviced space");
    assert!(text.document["nodes"][0]["refused"][0]["times"].as_u64() > Some(1_000));
    let refused = refused_for_ever(&[]).map(drop).expect_err("it does not say what a refusal takes");
    assert_says(&refused, &["the serviced space may refuse", "does not state retry_cycles"]);
}

/// The checks of a machine refuse such a network.
#[test]
fn a_packet_that_no_buffer_takes_is_told_first() {
    let mut machine = config::load("cluster").expect("a preset");
    let networks::Config::Switched(network) = &mut machine.config.network else { panic!("it has switches") };
    network.switches.buffer = Bytes::new(64);
    let guest = exchange("on 0 send 1 200 receive any on 1 receive any");
    let request = guest.in_run(&request("cluster", "NI2w"));
    let program = Program::parse("guest", &*guest.elf()).expect("a sound program");
    let interface = "NI2w".parse().expect("an interface");
    let blueprint = Blueprint::new(&machine.config, interface, program, &request);
    let nodes: Vec<Node> = (0..2).map(|number| blueprint.node(number).expect("a node")).collect();
    // Nothing comes to a switch.
    let mut simulation = Simulation::new(nodes, Duration::from_ns(40));
    let limits = Limits { patience: Duration::from_ns(400_000), ..Limits::default() };
    let ending = simulation.run(&limits, &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(ending, Ending::NoProgress(_)), "{ending:?}");
    let mut nodes = simulation.into_partitions();
    let explanation = Hang::of(&mut nodes, &[], Halt::NoProgress, Time::from_ps(800_000_000)).explanation();
    assert_says(
        &explanation.text,
        &[
            "no progress: the packet from node 0 to node 1 has 208 bytes and waits at node 0 for a buffer of 64, \
             which it never fits into (deadlock)\n",
            " for room, which there never is, behind lane 0 of the link to switch 0 of level 0\n",
        ],
    );
    let held = &explanation.document["nodes"][0]["held"][0];
    assert_eq!((&held["bytes"], &held["buffer_bytes"]), (&208.into(), &64.into()));
}

#[test]
fn a_packet_that_is_stuck_in_a_switch_is_named_with_the_link_that_it_needs() {
    let request = with(request("cluster", "NI2w"), "flow_control={kind=\"none\"}");
    let Failure { message, document, .. } = stuck(request, &absent_receiver());
    assert_says(
        &message,
        &[
            "no progress: node 0 waits for node 1, which takes no messages (deadlock)\n",
            "packets to it wait in the network\n",
            "  switch 0 of level 0: the packet from node 0 to node 1 waits since ",
            " for room behind lane 0 of the link to node 1\n",
            "  node 1: flow control: none; ",
        ],
    );
    let document = document.expect("a document");
    let held = document["hang"]["nodes"][0]["held"].as_array().expect("packets are held");
    let place = |entry: &Value| entry["at"].as_str().expect("a text").to_owned();
    let in_switch = held.iter().filter(|entry| place(entry) == "switch 0 of level 0").count();
    assert!(in_switch > 0 && in_switch < held.len(), "in the switch, and before the node's link: {held:?}");
    assert_eq!(held[0]["lacks_room"], true);
}
