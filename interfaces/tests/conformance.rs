//! The conformance suite: what every model has to keep, whatever its timing.
//!
//! Two nodes with one model's interface each exchange messages. Between them is
//! a real flow control and the ideal network; the processors run the messaging
//! library's drivers, compiled, over a coherent cache. What happens next is drawn at
//! random: a few accesses of a processor, a half's turn on the bus, time going on,
//! the loss of a block from a cache. Whatever is drawn, every message arrives once, whole and (where
//! the flow control keeps order) in order; a receiver that does not receive
//! holds its sender back instead of losing messages; and all comes to rest.
//!
//! Every model of the registry is tried with every flow control: a new model is
//! tested by being there. If `NARTHEX_HARDWARE` of the environment names a compiled design
//! (`narthex hardware build`), that is tried in the place of NI2w, or of what
//! `NARTHEX_HARDWARE_MODEL` names, and nothing else.

mod node;

use std::sync::OnceLock;

use narthex_fabrics::flow_control::{self, return_to_sender, sliding_window};
use narthex_interfaces::Attachment;
use narthex_interfaces::models::MODELS;
use narthex_interfaces::rtl::Hardware;
use narthex_interfaces::rtl::simulation::Design;
use narthex_interfaces::rules;
use narthex_kernel::{Clock, Duration};
use node::{LONGEST_PAYLOAD, Message, Node, Variant};
use proptest::prelude::*;

fn flow_controls() -> Vec<(flow_control::Config, bool)> {
    let return_to_sender = |buffers| {
        let retry_delay = Duration::from_ns(40);
        let retries = return_to_sender::Retries::Independent;
        flow_control::Config::ReturnToSender(return_to_sender::Config { buffers, retry_delay, retries })
    };
    let window = |window| flow_control::Config::SlidingWindow(sliding_window::Config { window });
    vec![
        (window(1), true),
        (window(4), true),
        (return_to_sender(return_to_sender::Buffers::Infinite), true),
        (return_to_sender(return_to_sender::Buffers::Count(8)), false),
        (return_to_sender(return_to_sender::Buffers::Count(1)), false),
    ]
}

/// The hardware that is tried in a model's place, with a clock of 250 MHz, and that model.
fn hardware() -> Option<&'static (String, Hardware)> {
    static LOADED: OnceLock<Option<(String, Hardware)>> = OnceLock::new();
    let load = || {
        let file = std::env::var_os("NARTHEX_HARDWARE")?;
        let design = Design::load(file.as_ref()).expect("a compiled design");
        let clock = Clock::with_period(Duration::from_ns(4));
        let model = std::env::var("NARTHEX_HARDWARE_MODEL").unwrap_or_else(|_| "NI2w".into());
        let name = format!("{model}@rtl");
        Some((model, Hardware { name, design, clock: Some(clock), tile: None }))
    };
    LOADED.get_or_init(load).as_ref()
}

/// What is tried: the models, or the hardware that the environment names.
fn interfaces() -> Box<dyn Iterator<Item = Variant>> {
    match hardware() {
        None => Box::new(models()),
        Some((model, hardware)) => {
            Box::new(std::iter::once(Variant { hardware: Some(hardware), ..Variant::plain(model) }))
        }
    }
}

/// Every model's examples, the smallest member of each family too, so that
/// queues fill and wrap, half of one with half of another, each family at the
/// addresses of another process than the first, and what else a model's section
/// may say.
fn models() -> impl Iterator<Item = Variant> {
    let small = ["CNI1", "CNI2", "CNI4Q", "CNI8Q", "CNI4Qm", "CNI4Qm+Throttle", "CNI8Qm+Throttle"];
    let composed = [
        "(NI16w+Blkbuf)S(CNI4Qm)R",
        "(CNI4Q)S(NI16w+Blkbuf)R",
        "(NI2w)S(NI16w+Blkbuf)R",
        "(CNI4Qm)S(NI8w)R",
        "(NI64w+Udma)S(CNI4Q)R",
        "(NI2w)S(CNI2)R",
        "(NI16w+Blkbuf)S(CNI0Qm)R",
        "(Ring)S(CNI4Q)R",
        "(NI2w)S(Ring)R",
        "(CoherentRing)S(CNI4Q)R",
        "(Ring)S(CoherentRing)R",
        "(PioCoherent)S(CNI4Q)R",
        "(NI2w)S(PioCoherent)R",
        "(Ring)S(Virtio)R",
        "(CxlNic)S(Ring)R",
        "(CxlNic2)S(CNI4Q)R",
    ];
    let pairs = || MODELS.iter().filter(|model| !model.makes_devices());
    let examples = pairs().flat_map(|model| model.examples).copied();
    let write_back = Some(("when_full", "write-back"));
    let bypassed = Some(("when_full", "bypass-unfetched"));
    let written_back = ["CNI4Qm", "CNI16Qm"];
    let on_directory = [
        ("CNI2", "MESI"),
        ("CNI4Q", "MESI"),
        ("CNI4Qm", "MESI"),
        ("CNI4Qm", "MOESI"),
        ("CoherentRing", "MESI"),
        ("CxlNic", "MOESI"),
        ("CxlNic2", "MESI"),
        ("PioCoherent", "MOESI"),
    ];
    let behind_bridge = ["CNI2", "CNI4Q", "CNI16Q", "CNI0Qm", "CxlNic2", "Ring", "Virtio"];
    let is_shared = |name: &&str| rules::check(&name.parse().unwrap(), 3).is_ok();
    let of_another = pairs().map(|model| model.examples[0]).filter(is_shared);
    examples
        .chain(small)
        .chain(composed)
        .map(Variant::plain)
        .chain(written_back.map(|name| Variant { setting: write_back, ..Variant::plain(name) }))
        .chain(written_back.map(|name| Variant { setting: bypassed, ..Variant::plain(name) }))
        .chain(
            on_directory
                .map(|(name, protocol)| Variant { directory: Some(protocol), ..Variant::plain(name) }),
        )
        .chain(behind_bridge.map(|name| Variant { attachment: Attachment::IoBus, ..Variant::plain(name) }))
        .chain(of_another.map(|name| Variant { process: 2, ..Variant::plain(name) }))
}

/// A message whose bytes tell its number apart.
fn message(number: u64, length: usize) -> Message {
    let payload = (0..length).map(|byte| (number as usize * 31 + byte) as u8).collect();
    Message { handler: number as u8, payload }
}

/// Plays `choices` on two nodes, then lets the receiver drain everything.
/// Returns what was sent and what was received.
fn play(
    interface: Variant,
    flow: &flow_control::Config,
    choices: &[(u8, u8)],
) -> (Vec<Message>, Vec<Message>) {
    let mut nodes = [Node::new(interface, flow, 0), Node::new(interface, flow, 1)];
    // A processor's accesses take no time here: hardware, a cycle of which each takes, catches up. Else
    // the instants at which it asks for the bus would be ever further ahead.
    let turns = if interface.hardware.is_some() { 200 } else { 1 };
    for &(choice, detail) in choices {
        match choice {
            0 | 1 => {
                send(&mut nodes[0], usize::from(detail) % (LONGEST_PAYLOAD as usize + 1), accesses(detail))
            }
            2 => receive(&mut nodes[1], accesses(detail)),
            3 => nodes[usize::from(detail) % 2].evict(detail),
            _ => (0..turns).for_each(|_| step(&mut nodes, usize::from(detail))),
        }
    }
    // Enough steps for everything that is under way to come to rest.
    for round in 0..200_000usize {
        nodes[0].run(MANY);
        receive(&mut nodes[1], MANY);
        (0..turns).for_each(|turn| step(&mut nodes, round + turn));
        if nodes[1].received.len() == nodes[0].sent.len() && nodes.iter().all(Node::is_idle) {
            break;
        }
    }
    if nodes[1].received.len() != nodes[0].sent.len() {
        // What is stuck where, for the reader of the failure.
        nodes.iter().for_each(|node| println!("{}", node.describe()));
    }
    let [mut sender, mut receiver] = nodes;
    (std::mem::take(&mut sender.sent), std::mem::take(&mut receiver.received))
}

/// Accesses with which a processor does all that it can without another's help.
const MANY: u32 = 64;

/// How many accesses a processor makes before something else may happen.
fn accesses(detail: u8) -> u32 {
    [1, 4, 16, MANY][usize::from(detail >> 6)]
}

/// The program goes on sending, or begins with its next message.
fn send(node: &mut Node, length: usize, accesses: u32) {
    node.order_to_send(1, &message(node.sent.len() as u64, length));
    node.run(accesses);
}

/// The program goes on receiving, or looks for the next message.
fn receive(node: &mut Node, accesses: u32) {
    node.order_to_receive();
    node.run(accesses);
}

/// Lets one thing happen: a half's turn on a bus, or time going on.
fn step(nodes: &mut [Node; 2], choice: usize) {
    let side = choice / 2 % 2;
    if !nodes[choice % 2].bus_turn(side) {
        Node::pass_time(nodes);
    }
}

#[test]
fn a_receiver_that_never_receives_holds_its_sender_back() {
    for interface in interfaces() {
        for (flow, _) in flow_controls() {
            if flow == flow_controls()[2].0 || !interface.goes_with(&flow) {
                continue; // infinite buffers are never full
            }
            let mut nodes = [Node::new(interface, &flow, 0), Node::new(interface, &flow, 1)];
            let try_to_send = |nodes: &mut [Node; 2], rounds| {
                for round in 0..rounds {
                    send(&mut nodes[0], 8, MANY);
                    step(nodes, round);
                }
                nodes[0].sent.len()
            };
            let last = try_to_send(&mut nodes, 20_000);
            let sent = try_to_send(&mut nodes, 2_000);
            assert_eq!(sent, last, "{interface:?} with {flow:?} never held its sender back");
            for round in 0..400_000 {
                nodes[0].run(MANY);
                receive(&mut nodes[1], MANY);
                step(&mut nodes, round);
                if nodes[1].received.len() == nodes[0].sent.len() {
                    break;
                }
            }
            assert_eq!(nodes[1].received.len(), nodes[0].sent.len(), "{interface:?} with {flow:?}");
        }
    }
}

#[test]
fn the_same_steps_give_the_same_run() {
    let choices: Vec<(u8, u8)> = (0..3_000u32).map(|n| ((n * 7 % 6) as u8, (n * 13 % 251) as u8)).collect();
    for interface in interfaces() {
        let flow = &flow_controls()[3].0;
        let (sent, received) = play(interface, flow, &choices);
        assert!(sent.len() > 20, "{interface:?}: only {} messages were sent", sent.len());
        assert_eq!(play(interface, flow, &choices), (sent, received));
    }
}

/// What observers see of the send half of one node and the receive half of the
/// other, while two messages go from one to the other, the second of which waits for
/// the window that the first one fills: each line once it differs from the one
/// before, and at last what both halves have counted.
fn story(name: &'static str) -> String {
    let flow = &flow_controls()[0].0;
    let mut nodes = [0, 1].map(|number| Node::new(Variant::plain(name), flow, number));
    let mut story = format!("# {name}\n");
    let mut before = [String::new(), String::new()];
    let mut see = |nodes: &[Node; 2]| {
        let now = [format!("sends: {}", nodes[0].seen(0)), format!("receives: {}", nodes[1].seen(1))];
        let news = now.iter().zip(&before).filter(|(now, before)| now != before);
        news.for_each(|(now, _)| story += &format!("{now}\n"));
        before = now;
    };
    for round in 0..4_000 {
        if nodes[0].sent.len() < 2 {
            send(&mut nodes[0], 72, 1);
        }
        if round >= 400 {
            receive(&mut nodes[1], 1);
        }
        see(&nodes);
        step(&mut nodes, round);
        see(&nodes);
    }
    assert_eq!(nodes[0].sent, nodes[1].received);
    story + &format!("sent: {}\nreceived: {}\n", nodes[0].counted(0), nodes[1].counted(1))
}

#[test]
fn observers_see_messages_pass_through_each_engine() {
    let names =
        ["NI2w", "NI16w+Blkbuf", "NI16w+Udma", "CNI4", "CNI4Q", "CNI4Qm", "CNI0Qm", "Ring", "CoherentRing"];
    let found: String = names.map(story).concat();
    let expected = include_str!("stories.txt");
    assert!(found == expected, "stories.txt has another text than this:\n{found}");
}

/// 60 random plays, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let standard = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => standard,
        None => ProptestConfig { cases: 60, ..standard },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_message_arrives_once_and_whole(
        choices in proptest::collection::vec((0u8..9, any::<u8>()), 1..1200),
    ) {
        for interface in interfaces() {
            for (flow, keeps_order) in flow_controls() {
                if !interface.goes_with(&flow) {
                    continue;
                }
                let (mut sent, mut received) = play(interface, &flow, &choices);
                if !keeps_order {
                    sent.sort();
                    received.sort();
                }
                let (sent_count, received_count) = (sent.len(), received.len());
                let different = sent.iter().zip(&received).position(|(sent, received)| sent != received);
                prop_assert!(
                    sent == received,
                    "{interface:?} with {flow:?}: {sent_count} were sent, {received_count} received, first difference at {different:?}"
                );
            }
        }
    }
}
