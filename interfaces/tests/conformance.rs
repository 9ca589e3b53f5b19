//! The conformance suite: what every model has to keep, whatever its timing.
//!
//! Two nodes with one model's interface each exchange messages. Between them is
//! a real flow control and the ideal network; the processors are reduced to a
//! coherent cache and the steps of the messaging library's drivers. What happens
//! next is drawn at random: a processor's step, a half's turn on the bus, time
//! going on. Whatever is drawn, every message arrives once, whole and (where
//! the flow control keeps order) in order; a receiver that does not receive
//! holds its sender back instead of losing messages; and all comes to rest.
//!
//! Every model of the registry is tried with every flow control: a new model is
//! tested by being there.

mod node;

use narthex_fabrics::flow_control::{self, return_to_sender, sliding_window};
use narthex_interfaces::Attachment;
use narthex_interfaces::models::MODELS;
use narthex_interfaces::rules;
use narthex_kernel::Duration;
use node::{Message, Node, Variant};
use proptest::prelude::*;

fn flow_controls() -> Vec<(flow_control::Config, bool)> {
    let return_to_sender = |buffers| {
        let retry_delay = Duration::from_ns(40);
        flow_control::Config::ReturnToSender(return_to_sender::Config { buffers, retry_delay })
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

/// Every model's examples, the smallest member of each family too, so that
/// queues fill and wrap, half of one with half of another, each family at the
/// addresses of another process than the first, and what else a model's section
/// may say.
fn interfaces() -> impl Iterator<Item = Variant> {
    let small = ["CNI1", "CNI2", "CNI4Q", "CNI8Q", "CNI4Qm", "CNI4Qm+Throttle", "CNI8Qm+Throttle"];
    let composed = [
        "(NI16w+Blkbuf)S(CNI4Qm)R",
        "(CNI4Q)S(NI16w+Blkbuf)R",
        "(NI2w)S(NI16w+Blkbuf)R",
        "(CNI4Qm)S(NI8w)R",
        "(NI64w+Udma)S(CNI4Q)R",
        "(NI2w)S(CNI2)R",
        "(NI16w+Blkbuf)S(CNI0Qm)R",
    ];
    let examples = MODELS.iter().flat_map(|model| model.examples).copied();
    let write_back = Some(("when_full", "write-back"));
    let written_back = ["CNI4Qm", "CNI16Qm"];
    let behind_bridge = ["CNI2", "CNI4Q", "CNI16Q", "CNI0Qm"];
    let is_shared = |name: &&str| rules::check(&name.parse().unwrap(), 3).is_ok();
    let of_another = MODELS.iter().map(|model| model.examples[0]).filter(is_shared);
    examples
        .chain(small)
        .chain(composed)
        .map(Variant::plain)
        .chain(written_back.map(|name| Variant { setting: write_back, ..Variant::plain(name) }))
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
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for &(choice, detail) in choices {
        match choice {
            0 | 1 => {
                let next = message(sent.len() as u64, usize::from(detail) % 249);
                if nodes[0].try_send(1, &next) {
                    sent.push(next);
                }
            }
            2 => received.extend(nodes[1].try_receive()),
            3 => nodes[usize::from(detail) % 2].evict(detail),
            _ => step(&mut nodes, usize::from(detail)),
        }
    }
    // Enough steps for everything that is under way to come to rest.
    for round in 0..200_000usize {
        received.extend(nodes[1].try_receive());
        step(&mut nodes, round);
        if received.len() == sent.len() && nodes.iter().all(Node::is_idle) {
            break;
        }
    }
    if received.len() != sent.len() {
        // What is stuck where, for whoever reads the failure.
        nodes.iter().for_each(|node| println!("{}", node.describe()));
    }
    (sent, received)
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
            let mut sent = 0;
            for round in 0..60_000u64 {
                sent += u64::from(nodes[0].try_send(1, &message(sent, 8)));
                step(&mut nodes, round as usize);
            }
            let last = sent;
            for round in 0..2_000 {
                sent += u64::from(nodes[0].try_send(1, &message(sent, 8)));
                step(&mut nodes, round);
            }
            assert_eq!(sent, last, "{interface:?} with {flow:?} never held its sender back");
            let mut received = 0;
            for round in 0..400_000 {
                received += u64::from(nodes[1].try_receive().is_some());
                step(&mut nodes, round);
                if received == sent {
                    break;
                }
            }
            assert_eq!(received, sent, "{interface:?} with {flow:?}");
        }
    }
}

#[test]
fn the_same_steps_give_the_same_run() {
    let choices: Vec<(u8, u8)> = (0..3_000u32).map(|n| ((n * 7 % 6) as u8, (n * 13 % 251) as u8)).collect();
    for interface in interfaces() {
        let flow = &flow_controls()[3].0;
        assert_eq!(play(interface, flow, &choices), play(interface, flow, &choices));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

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
