//! Flow control: which packets may be in flight. One scheme a file.
//!
//! A scheme sits between a node's interface and the network, on both sides: it
//! says whether a packet may be sent, keeps what has arrived until the
//! interface takes it, and answers frames with frames. It is independent of the
//! network and of the interface, and any scheme goes with any of them.
//!
//! ```text
//!   interface ── send ──►┌──────────────┐── Data ──────────────► ┌──────────────┐── front, take ──► interface
//!                        │ flow control │◄─ Acknowledgement ──── │ flow control │
//!                        └──────────────┘◄─ Returned ─────────── └──────────────┘
//! ```

pub mod return_to_sender;
pub mod sliding_window;

use std::collections::VecDeque;

use narthex_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::{Frame, NodeId, Packet};

/// The flow control of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Config {
    /// A packet that finds no buffer returns to its sender (hpca98).
    ReturnToSender(return_to_sender::Config),
    /// A number of unacknowledged packets for each destination (isca96).
    SlidingWindow(sliding_window::Config),
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        match self {
            Config::ReturnToSender(config) => config.problems(),
            Config::SlidingWindow(config) => config.problems(),
        }
    }

    /// The flow control of one node among `nodes`.
    pub fn build(&self, own: NodeId, nodes: usize) -> Box<dyn FlowControl> {
        match self {
            Config::ReturnToSender(config) => Box::new(return_to_sender::ReturnToSender::new(config, own)),
            Config::SlidingWindow(config) => Box::new(sliding_window::SlidingWindow::new(config, own, nodes)),
        }
    }
}

narthex_kernel::statistics! {
    /// What a node's flow control did.
    pub struct Statistics {
        sent: Counter, "packets_sent", "packets", "packets that the interface handed over";
        accepted: Counter, "packets_accepted", "packets", "packets that found a buffer on arrival";
        delivered: Counter, "packets_delivered", "packets", "packets that the interface took";
        returned: Counter, "packets_returned", "packets", "packets that came back because the receiver had no buffer";
        retried: Counter, "packets_retried", "packets", "packets that were sent again after they came back";
    }
}

/// What a step of a flow control wants done: frames for the network, and an
/// instant at which it wants to be called.
#[derive(Debug, Default)]
pub struct Emitted {
    /// Frames to inject now, with where they go.
    pub frames: Vec<(NodeId, Frame)>,
    /// When to call [`FlowControl::retry`].
    pub retry_at: Option<Time>,
}

/// What the arrival of a frame means for the interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// A packet waits to be taken.
    pub packet: bool,
    /// There may be room for sending that there was not before.
    pub room: bool,
}

/// A flow control scheme at one node.
pub trait FlowControl: Send {
    /// Whether a packet to `destination` may be handed over now.
    fn can_send(&self, destination: NodeId) -> bool;

    /// Whether there is a free buffer for some destination: all that a sender
    /// can know before it names one.
    fn has_room(&self) -> bool;

    /// Takes a packet; [`FlowControl::can_send`] has said yes.
    fn send(&mut self, packet: Packet, emitted: &mut Emitted);

    /// A frame has arrived.
    fn arrive(&mut self, now: Time, frame: Frame, emitted: &mut Emitted) -> Arrival;

    /// The packets that have arrived and have not been taken, oldest first.
    fn waiting(&self) -> &VecDeque<Packet>;

    /// Takes the oldest waiting packet and frees its buffer.
    fn take(&mut self, emitted: &mut Emitted) -> Option<Packet>;

    /// The instant that was asked for has come.
    fn retry(&mut self, now: Time, emitted: &mut Emitted);

    /// Counts so far.
    fn statistics(&self) -> &Statistics;

    /// The state in a line, for the explanation of a run without progress.
    fn describe(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use narthex_kernel::Duration;
    use proptest::prelude::*;

    fn schemes() -> Vec<Config> {
        vec![
            Config::SlidingWindow(sliding_window::Config { window: 1 }),
            Config::SlidingWindow(sliding_window::Config { window: 4 }),
            return_to_sender(return_to_sender::Buffers::Count(1)),
            return_to_sender(return_to_sender::Buffers::Count(3)),
            return_to_sender(return_to_sender::Buffers::Infinite),
        ]
    }

    fn return_to_sender(buffers: return_to_sender::Buffers) -> Config {
        let retry_delay = Duration::from_ns(10);
        Config::ReturnToSender(return_to_sender::Config { buffers, retry_delay })
    }

    fn packet(source: u16, destination: u16, sequence: u64) -> Packet {
        Packet {
            source: NodeId(source),
            destination: NodeId(destination),
            sequence,
            header: Header(0),
            payload: vec![sequence as u8; 3],
        }
    }

    proptest! {
        /// Whatever the order of sends, takes and arrivals between two nodes:
        /// nothing is lost, nothing comes twice, and all comes to rest.
        #[test]
        fn every_packet_arrives_exactly_once(choices in proptest::collection::vec(0u8..5, 1..300)) {
            for config in schemes() {
                let mut nodes = [config.build(NodeId(0), 2), config.build(NodeId(1), 2)];
                let mut wires: [VecDeque<Frame>; 2] = Default::default();
                let mut retries: [Option<Time>; 2] = [None; 2];
                let (mut sent, mut taken) = (0u64, Vec::new());
                let drain = std::iter::repeat_n([2u8, 3, 4, 1], 400).flatten();
                for (step, choice) in choices.iter().copied().chain(drain).enumerate() {
                    let now = Time::from_ps(step as u64 * 1000);
                    let mut emitted = Emitted::default();
                    let mut acting = 0;
                    match choice {
                        0 if nodes[0].can_send(NodeId(1)) => {
                            nodes[0].send(packet(0, 1, sent), &mut emitted);
                            sent += 1;
                        }
                        1 => {
                            acting = 1;
                            taken.extend(nodes[1].take(&mut emitted).map(|p| p.sequence));
                        }
                        2 | 3 => {
                            acting = usize::from(choice) - 2;
                            if let Some(frame) = wires[acting].pop_front() {
                                nodes[acting].arrive(now, frame, &mut emitted);
                            }
                        }
                        4 if retries[0].is_some_and(|at| at <= now) => {
                            retries[0] = None;
                            nodes[0].retry(now, &mut emitted);
                        }
                        _ => {}
                    }
                    for (destination, frame) in emitted.frames {
                        wires[destination.0 as usize].push_back(frame);
                    }
                    retries[acting] = retries[acting].or(emitted.retry_at);
                }
                taken.sort_unstable();
                prop_assert_eq!(taken, (0..sent).collect::<Vec<_>>(), "{:?}", config);
                prop_assert!(nodes[0].can_send(NodeId(1)));
            }
        }
    }
}
