//! What is settled of an access does not depend on what comes from the network meanwhile.

use narthex_fabrics::flow_control::{self, return_to_sender};
use narthex_fabrics::networks::{self, ideal};
use narthex_fabrics::{Frame, Header, NetworkPort, NodeId, Packet, Phase, Placement, Rank};
use narthex_kernel::{Duration, Time};
use narthex_memory::Kind;
use proptest::prelude::*;

use super::{RECEIVE, RECEIVE_WINDOW, ReceiveFifo, SEND, SendFifo, Times};
use crate::half::{Context, InterfaceHalf, RegisterAccess};
use crate::on_chip::Effects;
use crate::registers::STATUS;

const PLACEMENT: Placement = Placement { nodes: 2, processes: 1 };
const TIMES: Times = Times {
    register_access: Duration::from_ns(60),
    send: Duration::from_ns(20),
    receive: Duration::from_ns(100),
};

/// One node's FIFOs with its end of the network.
struct Bench {
    send: SendFifo,
    receive: ReceiveFifo,
    port: NetworkPort,
    timers: Vec<Time>,
}

/// What an access has found: its value or fault, and whether it asks for anything.
type Found = (Option<Result<u64, String>>, bool);

impl Bench {
    fn new(buffers: u32) -> Self {
        let flow = flow_control::Config::ReturnToSender(return_to_sender::Config {
            buffers: return_to_sender::Buffers::Count(buffers),
            retry_delay: Duration::from_ns(80),
            retries: return_to_sender::Retries::Independent,
        });
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(40) });
        let around =
            networks::NetworkContext { nodes: 2, in_one_partition_from: 2, seed: 0, packet_bytes: 64 };
        let (flow, network) = (flow.build(PLACEMENT), network.build(NodeId(0), &around));
        Bench {
            send: SendFifo::new(TIMES, 64),
            receive: ReceiveFifo::new(TIMES, 2),
            port: NetworkPort::new(NodeId(0), PLACEMENT, flow, network, Header::BYTES as u64),
            timers: Vec::new(),
        }
    }

    fn call<R>(
        &mut self,
        now: Time,
        call: impl FnOnce(&mut SendFifo, &mut ReceiveFifo, &mut Context<'_>) -> R,
    ) -> R {
        let Bench { send, receive, port, timers } = self;
        let (faults, on_chip) = (&mut Vec::new(), &mut Effects::default());
        let network = port.of_process(0);
        let mut context = Context { now, network, local_memory: None, timers, faults, on_chip };
        call(send, receive, &mut context)
    }

    /// Whether both halves call an access settled, of those that have the register.
    fn independent_of_arrivals(
        &mut self,
        now: Time,
        (offset, kind): (u64, Kind),
        value: u64,
        from: Time,
    ) -> bool {
        let access = RegisterAccess { offset, kind, value };
        self.call(now, |send, receive, context| {
            let both = [
                send.independent_of_arrivals(context, access, from),
                receive.independent_of_arrivals(context, access, from),
            ];
            both.contains(&Some(true)) && !both.contains(&Some(false))
        })
    }

    fn access(&mut self, now: Time, (offset, kind): (u64, Kind), value: u64) -> Found {
        let timers = self.timers.len();
        let value = self.call(now, |send, receive, context| match kind {
            Kind::UncachedLoad => match (send.load(context, offset), receive.load(context, offset)) {
                (Some(Ok(one)), Some(Ok(other))) => Some(Ok(one | other)),
                (one, other) => one.or(other).map(|value| value.map_err(|fault| fault.0)),
            },
            _ => send.store(context, offset, value).map(|stored| stored.map(|()| 0).map_err(|fault| fault.0)),
        });
        (value, self.timers.len() > timers || self.port.has_departures())
    }

    /// A packet comes, which can be seen later.
    fn arrive(&mut self, now: Time, words: usize) {
        let header = header(words);
        let payload = vec![5; 8 * words];
        let packet = Packet {
            source: Rank(1),
            destination: Rank(0),
            sequence: 0,
            is_urgent: false,
            number: 0,
            is_marked: false,
            header,
            payload,
        };
        let arrival = self.port.arrive(now, Frame::Data(Box::new(packet)), Phase::Arrival);
        if arrival.packet.is_some() {
            self.call(now, |_, receive, context| receive.network(context));
        }
        self.leave(now);
    }

    /// That of both halves and of the network port.
    fn state(&self) -> String {
        format!("{:?} {:?} {:?}", self.send, self.receive, self.port.occupancy())
    }

    /// What has to leave does.
    fn leave(&mut self, now: Time) {
        self.port.end_step();
        self.port.departures(now, |_, _| {}, |_| {});
    }
}

/// That of a message of this many words to the other node.
fn header(words: usize) -> Header {
    Header(1 | (8 * words as u64) << 16 | 1 << 61)
}

/// The time of a step.
const STEP: Duration = Duration::from_ns(50);

const ACCESSES: [(u64, Kind); 5] = [
    (STATUS, Kind::UncachedLoad),
    (SEND, Kind::UncachedStore),
    (RECEIVE, Kind::UncachedLoad),
    (RECEIVE_WINDOW, Kind::UncachedLoad),
    (0x28, Kind::UncachedLoad),
];

/// A step of a history: an access, or a packet of this many words.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access((u64, Kind), u64),
    Arrival(usize),
}

impl Bench {
    /// After steps of 50 ns each.
    fn after(buffers: u32, steps: &[Step]) -> Self {
        let mut bench = Bench::new(buffers);
        for (number, &step) in (1..).zip(steps) {
            bench.make(Time::ZERO + STEP * number, step);
        }
        bench
    }

    fn make(&mut self, now: Time, step: Step) {
        match step {
            Step::Arrival(words) => self.arrive(now, words),
            Step::Access(access, value) => {
                self.access(now, access, value);
                self.leave(now);
            }
        }
        self.call(now, |send, _, context| send.timer(context));
        self.leave(now);
    }
}

fn step() -> impl Strategy<Value = Step> {
    let access = (0..ACCESSES.len(), 1usize..4)
        .prop_map(|(place, words)| Step::Access(ACCESSES[place], header(words).0));
    prop_oneof![4 => access, 1 => (1usize..4).prop_map(Step::Arrival)]
}

proptest! {
    /// Where an access is settled, it finds and leaves the same if it is made before a packet comes as
    /// behind it, and it asks for nothing.
    #[test]
    fn a_settled_access_may_be_made_before_what_comes(
        buffers in 1u32..4,
        steps in proptest::collection::vec(step(), 0..40),
        (access, words, before_ns) in (0..ACCESSES.len(), 1usize..4, 0u64..200),
    ) {
        let from = Time::ZERO + STEP * (steps.len() as u64 + 1);
        let now = from + Duration::from_ns(before_ns);
        let (access, value) = (ACCESSES[access], header(words).0);
        let [mut ahead, mut behind] = [(); 2].map(|()| Bench::after(buffers, &steps));
        if ahead.independent_of_arrivals(now, access, value, from) {
            let (found, asks) = ahead.access(now, access, value);
            prop_assert!(found.as_ref().is_some_and(|found| found.is_ok()), "a fault");
            prop_assert!(!asks, "it asks for something");
            ahead.arrive(from, words);
            behind.arrive(from, words);
            prop_assert_eq!(&found, &behind.access(now, access, value).0);
            prop_assert_eq!(ahead.state(), behind.state());
        }
    }
}

#[test]
fn all_words_of_a_packet_are_settled_but_for_the_last() {
    let mut bench = Bench::new(2);
    let from = Time::ZERO;
    let settled_word = |bench: &mut Bench, now: u64, access: usize, word: u64| {
        bench.independent_of_arrivals(from + Duration::from_ns(now), ACCESSES[access], word, from)
    };
    let settled = |bench: &mut Bench, now: u64, access: usize| settled_word(bench, now, access, 0);
    assert!(settled(&mut bench, 99, 0), "there is room, and what comes is seen after 100 ns");
    assert!(!settled(&mut bench, 100, 0));
    assert!(!settled_word(&mut bench, 50, 1, header(0).0), "the header is the last word");
    assert!(!settled_word(&mut bench, 50, 1, header(8).0), "a fault: the packet is too long");
    let pushed = [header(2).0, 7, 7].map(|word| {
        let independent_of_arrivals = settled_word(&mut bench, 50, 1, word);
        bench.access(from, ACCESSES[1], word);
        independent_of_arrivals
    });
    assert_eq!(pushed, [true, true, false]);
    assert!(!settled(&mut bench, 50, 0), "the network says when there is room again");
    assert!(bench.send.time_to_send().awaits_room, "the packet may");
    bench.call(from + TIMES.send, |send, _, context| send.timer(context));
    assert!(!bench.send.time_to_send().awaits_room, "it has left");
    bench.arrive(from, 2);
    let now = from + TIMES.receive;
    let popped = [2, 2, 2].map(|access| {
        let independent_of_arrivals = settled(&mut bench, 100, access) && settled(&mut bench, 100, 3);
        bench.access(now, ACCESSES[access], 0);
        bench.leave(now);
        independent_of_arrivals
    });
    assert_eq!(popped, [true, true, false]);
    assert!(!settled(&mut bench, 100, 4), "there is no such register");
}
