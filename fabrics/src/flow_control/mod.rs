//! Flow control: which packets may be in flight. One scheme a file; the build
//! script finds them.
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
//!
//! **Processes.** The processes of a node share its flow control. What has
//! arrived waits in a line for each process, so that a packet which its process
//! does not take blocks no other process; and no scheme lets one process use up
//! what another needs to send or receive at all (windows are each process's
//! own; shared buffers are shared but for one a process).
//!
//! **Interfaces.** Where a node has several interfaces, its processes take them in turn, and
//! only those at one interface share its buffers ([`FlowControl::share_among`]).

mod state;

use std::collections::VecDeque;

use narthex_kernel::{Archived, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::{Frame, Packet, Placement, Rank};
use crate::port::RetryCount;

pub use state::{Arrived, Limit, Outstanding, State};

include!(concat!(env!("OUT_DIR"), "/flow_control.rs"));

/// The parameters of a scheme.
trait Parameters {
    /// The rules that they break, as (key, what is wrong) pairs.
    fn problems(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The rules that they break on nodes with this many processes at an interface.
    fn problems_for(&self, _processes: u32) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Whether it sends again what the network has lost.
    fn repairs(&self) -> bool {
        false
    }

    /// Whether its buffers may hold whole messages ([`FlowControl::put_messages_together`]).
    fn puts_messages_together(&self) -> bool {
        false
    }

    /// Those that change nothing, as (key, why) pairs.
    fn without_effect(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The flow control of one node.
    fn build(&self, placement: Placement) -> Box<dyn FlowControl>;
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        self.chosen().problems()
    }

    /// The rules that the parameters break on nodes with this many processes at an interface.
    pub fn problems_for(&self, processes: u32) -> Vec<(&'static str, String)> {
        self.chosen().problems_for(processes)
    }

    /// Whether it sends again what the network has lost.
    pub fn repairs(&self) -> bool {
        self.chosen().repairs()
    }

    /// Whether its buffers may hold whole messages ([`FlowControl::put_messages_together`]).
    pub fn puts_messages_together(&self) -> bool {
        self.chosen().puts_messages_together()
    }

    /// The parameters that change nothing, as (key, why) pairs.
    pub fn without_effect(&self) -> Vec<(String, String)> {
        self.chosen().without_effect()
    }

    /// The flow control of one node.
    pub fn build(&self, placement: Placement) -> Box<dyn FlowControl> {
        self.chosen().build(placement)
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
        waited_to_retry: TimeTotal, "packets_waited_to_retry", "ps", "time that they waited from their return until they were sent again";
    }
}

/// What a step of a flow control wants done: frames for the network, and an
/// instant at which it wants to be called.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Emitted {
    /// Frames to inject now, with where they go.
    pub frames: Vec<(Rank, Frame)>,
    /// When to call [`FlowControl::retry`].
    pub retry_at: Option<Time>,
}

/// What the arrival of a frame means for the interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// A packet waits to be taken by this one of the node's processes.
    pub packet: Option<u8>,
    /// There may be room for sending that there was not before.
    pub room: bool,
}

/// How full a node's flow control is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Packets that were sent and not acknowledged: in flight, or came back.
    pub unacknowledged: u64,
    /// Those among them that are to be sent again, and what waits behind them.
    pub returned: u64,
    /// Packets that have arrived and that the interface has not taken.
    pub waiting: u64,
}

/// A flow control scheme at one node.
pub trait FlowControl: Archived + Send {
    /// The node's processes take this many interfaces in turn, and what processes share is
    /// shared at each of them. Said before anything is sent.
    fn share_among(&mut self, _interfaces: u8) {}

    /// The packets of a message that hardware puts together ([`Header::is_of_whole_message`](crate::Header)) are
    /// handed over as one, and each of the receiver's buffers holds a message; `part_bytes` is the payload of a full
    /// packet. Said before anything is sent, where [`Config::puts_messages_together`].
    fn put_messages_together(&mut self, _part_bytes: u64) {
        unreachable!("the machine is checked before")
    }

    /// Whether `own`, a process of this node, may hand over a packet to
    /// `destination` now.
    fn can_send(&self, own: Rank, destination: Rank) -> bool;

    /// Whether `own` has a free buffer for some destination: all that a sender
    /// can know before it names one.
    fn has_room(&self, own: Rank) -> bool;

    /// Takes a packet; [`FlowControl::can_send`] has said yes.
    fn send(&mut self, packet: Box<Packet>, emitted: &mut Emitted);

    /// A frame has arrived.
    fn arrive(&mut self, now: Time, frame: Frame, emitted: &mut Emitted) -> Arrival;

    /// The packets that have arrived for `own` and have not been taken, oldest first.
    fn waiting(&self, own: Rank) -> &VecDeque<Box<Packet>>;

    /// Takes the packet behind this many older ones that wait for `own`, and frees its buffer.
    fn take_at(&mut self, own: Rank, place: usize, emitted: &mut Emitted) -> Option<Box<Packet>>;

    /// Takes the oldest packet that waits for `own`.
    fn take(&mut self, own: Rank, emitted: &mut Emitted) -> Option<Box<Packet>> {
        self.take_at(own, 0, emitted)
    }

    /// The instant that was asked for has come.
    fn retry(&mut self, now: Time, emitted: &mut Emitted);

    /// Emits what leaves by itself at `now`, behind all else of a step; it may ask for a call then.
    fn departs(&mut self, _now: Time, _emitted: &mut Emitted) {}

    /// Whether [`FlowControl::departs`] has anything to do.
    fn has_departures(&self) -> bool {
        false
    }

    /// Whether packets may leave because others are acknowledged.
    fn sends_when_acknowledged(&self) -> bool {
        false
    }

    /// Whether a frame leaves when a packet is taken.
    fn answers_when_taken(&self) -> bool {
        false
    }

    /// Whether a packet keeps its place in the buffer of the node's link until it is taken.
    fn keeps_places(&self) -> bool {
        false
    }

    /// After this time a packet that came back is sent again, if each is by itself: whatever
    /// others there are. None where others decide it, or where none comes back.
    fn retry_delay(&self) -> Option<Duration> {
        None
    }

    /// Whether a packet for `own`, a process of this node, would be accepted now.
    fn can_accept(&self, _own: Rank) -> bool {
        true
    }

    /// A packet of this node has been back since this instant; its return is counted.
    fn wait_to_retry(&mut self, _since: Time, packet: Box<Packet>, _emitted: &mut Emitted) {
        unreachable!("no packet comes back under this scheme: {packet:?}")
    }

    /// Packets of this node have come back and were sent again without its being told.
    fn count_rounds(&mut self, _rounds: RetryCount) {}

    /// Counts so far.
    fn statistics(&self) -> &Statistics;

    /// How full it is.
    fn occupancy(&self) -> Occupancy;

    /// What it holds, for the explanation of a run without progress.
    fn state(&self) -> State;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion;
    use crate::packet::{Header, NodeId};
    use proptest::prelude::*;

    fn schemes() -> Vec<Config> {
        vec![
            Config::SlidingWindow(sliding_window::Config { window: 1 }),
            Config::SlidingWindow(sliding_window::Config { window: 4 }),
            return_to_sender(return_to_sender::Buffers::Count(1)),
            return_to_sender(return_to_sender::Buffers::Count(3)),
            return_to_sender(return_to_sender::Buffers::Infinite),
            in_sequence(return_to_sender::Buffers::Count(3)),
            Config::None(none::Config {}),
            Config::Pull(pull::Config { window: 1, buffers: 1 }),
            Config::Pull(pull::Config { window: 4, buffers: 2 }),
            go_back_n(None),
            go_back_n(Some(congestion::Config::CongestionWindow(congestion::congestion_window::Config {
                first: 1,
                inverse_weight: 16,
            }))),
        ]
    }

    fn return_to_sender(buffers: return_to_sender::Buffers) -> Config {
        let retries = return_to_sender::Retries::Independent;
        let retry_delay = Duration::from_ns(10);
        Config::ReturnToSender(return_to_sender::Config { buffers, retry_delay, retries })
    }

    fn go_back_n(congestion: Option<congestion::Config>) -> Config {
        let timeout = Duration::from_ns(50);
        Config::GoBackN(go_back_n::Config { window: 4, buffers: 3, timeout, congestion })
    }

    fn in_sequence(buffers: return_to_sender::Buffers) -> Config {
        let retries = return_to_sender::Retries::InSequence;
        let retry_delay = Duration::from_ns(10);
        Config::ReturnToSender(return_to_sender::Config { buffers, retry_delay, retries })
    }

    fn packet(source: u16, destination: u16, sequence: u64) -> Box<Packet> {
        Box::new(Packet {
            source: Rank(source),
            destination: Rank(destination),
            sequence,
            is_urgent: false,
            number: 0,
            is_marked: false,
            header: Header(0),
            payload: vec![sequence as u8; 3],
        })
    }

    #[test]
    fn each_scheme_answers_for_its_own_parameters() {
        let buffers = return_to_sender(return_to_sender::Buffers::Count(0));
        let window = Config::SlidingWindow(sliding_window::Config { window: 0 });
        let keys = |problems: Vec<(&'static str, String)>| problems.into_iter().map(|(key, _)| key).collect();
        let keys: [Vec<_>; 2] = [buffers.problems(), window.problems()].map(keys);
        assert_eq!(keys, [["buffers"], ["window"]]);
        let shared = return_to_sender(return_to_sender::Buffers::Count(1));
        let several = return_to_sender(return_to_sender::Buffers::Count(2));
        assert_eq!((shared.problems_for(2)[0].0, window.problems_for(2)), ("buffers", vec![]));
        let infinite = return_to_sender(return_to_sender::Buffers::Infinite);
        assert_eq!(infinite.without_effect()[0].0, "retry_delay");
        assert_eq!((several.without_effect(), window.without_effect()), (vec![], vec![]));
    }

    proptest! {
        /// Whatever the order of sends, takes and arrivals between two nodes of
        /// one process or two: nothing is lost, nothing comes twice or to the
        /// wrong process, and all comes to rest.
        #[test]
        fn every_packet_arrives_exactly_once(choices in proptest::collection::vec(0u8..7, 1..300)) {
            for (config, processes) in schemes().into_iter().flat_map(|config| [(config.clone(), 1), (config, 2)]) {
                if !config.problems_for(processes.into()).is_empty() {
                    continue;
                }
                let placement = Placement { nodes: 2, processes };
                let mut nodes = [config.build(placement), config.build(placement)];
                let mut wires: [VecDeque<Frame>; 2] = Default::default();
                let mut retries: [Option<Time>; 2] = [None; 2];
                let (mut sent, mut taken) = (0u64, Vec::new());
                let drain = std::iter::repeat_n([2u8, 3, 4, 1, 6], 600).flatten();
                for (step, choice) in choices.iter().copied().chain(drain).enumerate() {
                    let now = Time::from_ps(step as u64 * 1000);
                    let mut emitted = Emitted::default();
                    let mut acting = 0;
                    // Packets go from a process of node 0 to its like on node 1.
                    let process = if choice < 5 { 0 } else { processes - 1 };
                    let (from, to) = (placement.rank(NodeId(0), process), placement.rank(NodeId(1), process));
                    match choice {
                        0 | 5 if nodes[0].can_send(from, to) => {
                            nodes[0].send(packet(from.0, to.0, sent), &mut emitted);
                            sent += 1;
                        }
                        1 | 6 => {
                            acting = 1;
                            let packet = nodes[1].take(to, &mut emitted);
                            prop_assert!(packet.iter().all(|packet| packet.destination == to));
                            taken.extend(packet.map(|p| p.sequence));
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
                    nodes[acting].departs(now, &mut emitted);
                    for (destination, frame) in emitted.frames {
                        wires[usize::from(placement.node(destination).0)].push_back(frame);
                    }
                    retries[acting] = retries[acting].into_iter().chain(emitted.retry_at).min();
                }
                taken.sort_unstable();
                prop_assert_eq!(taken, (0..sent).collect::<Vec<_>>(), "{:?}", config);
                prop_assert!(nodes[0].can_send(Rank(0), Rank(u16::from(processes))));
            }
        }

        /// However many packets of one process wait at both ends, another
        /// process's get through.
        #[test]
        fn a_process_that_takes_nothing_blocks_no_other(count in 1usize..40) {
            for config in schemes().into_iter().filter(|config| config.problems_for(2).is_empty()) {
                let placement = Placement { nodes: 2, processes: 2 };
                let [mut sender, mut receiver] = [config.build(placement), config.build(placement)];
                let mut emitted = Emitted::default();
                for sequence in 0..count as u64 {
                    if sender.can_send(Rank(0), Rank(2)) {
                        sender.send(packet(0, 2, sequence), &mut emitted);
                    }
                }
                prop_assert!(sender.has_room(Rank(1)) && sender.can_send(Rank(1), Rank(3)));
                sender.send(packet(1, 3, 99), &mut emitted);
                sender.departs(Time::ZERO, &mut emitted);
                for (_, frame) in emitted.frames.drain(..) {
                    receiver.arrive(Time::ZERO, frame, &mut Emitted::default());
                }
                let taken = receiver.take(Rank(3), &mut Emitted::default());
                prop_assert_eq!(taken.map(|packet| packet.sequence), Some(99), "{:?}", config);
            }
        }
    }
}
