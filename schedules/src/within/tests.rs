use narthex_fabrics::flow_control;
use narthex_fabrics::networks;
use narthex_fabrics::{Phase, Placement, Rank};

use super::packets::{SentMessage, handlers};
use super::*;
use crate::executor::execute;
use crate::text;

const LATENCY: Duration = Duration::from_ns(40);
const BEGIN_NS: u64 = 21_000; // START_DELAY and DELAY_OF_NODE, from 0 on but for the message's way

const fn line(first_ns: f64) -> Line {
    Line { first_ns, per_byte_ns: 0.0 }
}

const PARAMETERS: Parameters = Parameters {
    latency: line(300.0),
    send_overhead: line(50.0),
    receive_overhead: line(20.0),
    gap: line(60.0),
    eager_bytes: u64::MAX,
    calculation_scale: 1.0,
};

/// Rank 0 is a node, of which there is the port alone; ranks 1 and 2 are the model's.
struct Bench {
    ranks: Ranks,
    node: NetworkPort,
    format: Format,
    /// Frames on their way to the node, and when it tries again.
    coming: Vec<(Time, Option<(Frame, Phase)>)>,
    /// Packets that the node's port has taken in, and when.
    arrived: Vec<Time>,
    outboxes: [Outbox<Mail<Frame>>; 2],
    now: Time,
    takes: bool,
}

impl Bench {
    fn new(schedule: &str, buffers: u32, receive_entries: u64) -> Self {
        let placement = Placement { nodes: 3, processes: 1 };
        let flow: flow_control::Config = serde_json::from_value(json!({
            "kind": "return-to-sender", "buffers": buffers, "retry_delay": "80ns", "retries": "independent",
        }))
        .unwrap();
        let network: networks::Config =
            serde_json::from_value(json!({ "kind": "ideal", "latency": "40ns" })).unwrap();
        let around =
            networks::NetworkContext { nodes: 3, in_one_partition_from: 1, seed: 0, packet_bytes: 64 };
        let port =
            |own| NetworkPort::new(own, placement, flow.build(placement), network.build(own, &around), 8);
        let request = Request {
            schedule: String::new(),
            detailed: vec![0],
            parameters: PARAMETERS,
            departure: line(40.0),
            runs: 1,
        };
        let schedule = text::read(schedule.as_bytes()).unwrap();
        let around = EndParameters {
            packet_bytes: 64,
            header_bytes: 8,
            latency: LATENCY,
            send_entries: 0,
            receive_entries,
        };
        let mut bench = Bench {
            ranks: Ranks::new(&request, schedule, &around, Job::whole(placement), port).unwrap(),
            node: port(NodeId(0)),
            format: Format::new(64, 8),
            coming: Vec::new(),
            arrived: Vec::new(),
            outboxes: [Outbox::new(0), Outbox::new(1)],
            now: Time::ZERO,
            takes: true,
        };
        bench.send(1, handlers::CONDUCT, 0, 8);
        bench
    }

    /// The node sends a message to a rank.
    fn send(&mut self, to: u16, handler: u8, tag: u8, bytes: u64) {
        let content = [tag, 0, 0, 0, 0, 0, 0, 0];
        let sent = SentMessage { to: Rank(to), handler, number: 0, content, bytes };
        for place in 0..self.format.packets(bytes) {
            let (header, payload) = self.format.packet(&sent, place);
            self.node.of_process(0).send(header, payload);
        }
        self.depart();
    }

    fn depart(&mut self) {
        let [outbox, _] = &mut self.outboxes;
        let calls = self.node.departures(self.now, |_, _| {}, |(at, to, mail)| outbox.send(at, to, mail));
        self.coming.extend(calls.retry_at.map(|at| (at, None)));
        self.outboxes[0].drain().for_each(|envelope| self.ranks.deliver(envelope));
    }

    /// Goes on until then, in windows.
    fn run_until(&mut self, end_ns: u64, window: Duration) {
        let end = Time::ZERO + Duration::from_ns(end_ns);
        while self.now < end {
            let until = self.now + window;
            self.outboxes[1] = self.outboxes[1].clone().with_end(until);
            self.ranks.advance(&mut self.outboxes[1]);
            for Envelope { arrival, payload, .. } in self.outboxes[1].drain() {
                let Mail::Direct(frame, phase) = payload else { panic!("no switches") };
                self.coming.push((arrival, Some((frame, phase))));
            }
            self.coming.sort_by_key(|(at, _)| *at);
            while self.coming.first().is_some_and(|(at, _)| *at < until) {
                let (at, frame) = self.coming.remove(0);
                self.now = at;
                self.step(frame);
                self.coming.sort_by_key(|(at, _)| *at);
            }
            self.now = until;
        }
    }

    fn step(&mut self, frame: Option<(Frame, Phase)>) {
        match frame {
            None => self.node.retry(self.now),
            Some((frame, phase)) => {
                if self.node.arrive(self.now, frame, phase).packet.is_some() {
                    self.arrived.push(self.now);
                }
            }
        }
        if self.takes {
            self.node.of_process(0).take();
        }
        self.depart();
    }

    fn finish_ns(&self) -> Vec<u64> {
        self.ranks.entry().finish_ps.iter().map(|at| at / 1_000).collect()
    }

    /// Packets of the schedule at the node: when, after the begin.
    fn arrived_ns(&self) -> Vec<u64> {
        let begin = self.ranks.ends.conductor.begin;
        let of_schedule = self.arrived.iter().filter(|at| **at > begin);
        of_schedule.map(|at| (*at - begin).as_ps() / 1_000).collect()
    }
}

#[test]
fn ranks_that_hear_of_no_node_do_what_they_do_in_the_model_alone_in_whatever_windows() {
    let schedule = "num_ranks 3\nrank 0 {\n}\nrank 1 {\nl1: calc 100\nl2: send 8b to 2\nl3: send 8b to 2\nl4: recv 8b from 2\nl2 requires l1\n}\nrank 2 {\nl1: recv 8b from 1\nl2: send 8b to 1\nl3: recv 8b from 1\nl2 requires l1\n}\n";
    let alone = execute(&text::read(schedule.as_bytes()).unwrap(), &PARAMETERS, &mut |_, _| true).unwrap();
    for window_ns in [1, 7, 40] {
        let mut bench = Bench::new(schedule, 8, 0);
        bench.run_until(BEGIN_NS + 2_000, Duration::from_ns(window_ns));
        let finish: Vec<u64> = alone.finish_ps[1..].iter().map(|at| at / 1_000).collect();
        assert_eq!(bench.finish_ns(), finish, "windows of {window_ns} ns");
    }
}

#[test]
fn a_message_to_a_node_leaves_as_packets_and_is_sent_again_when_it_finds_no_buffer() {
    let schedule = "num_ranks 3\nrank 0 {\nrecv 8b from 1\nrecv 8b from 1\n}\nrank 1 {\nsend 8b to 0\nsend 8b to 0\n}\nrank 2 {\n}\n";
    let mut bench = Bench::new(schedule, 1, 0);
    bench.run_until(BEGIN_NS - 1_000, LATENCY);
    bench.takes = false;
    bench.run_until(BEGIN_NS + 400, LATENCY);
    // The second, due at 100 ns, waits until the first is acknowledged, and finds no buffer at 160.
    assert_eq!(bench.arrived_ns(), [40 + 40]);
    bench.takes = true;
    bench.node.of_process(0).take();
    bench.run_until(BEGIN_NS + 1_000, LATENCY);
    assert_eq!(bench.arrived_ns().len(), 2);
    // Its send, through at 110 ns, is over when it has its buffer.
    assert_eq!(bench.finish_ns()[0], 120);
    let told = bench.ranks.entry().flow_control;
    assert!(told["packets_returned"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn a_message_of_a_node_takes_what_the_model_says_and_keeps_its_buffer_as_the_interface_does() {
    let rank_0: String = (0..2).map(|tag| format!("send 8b to 1 tag {tag}\n")).collect();
    let rank_1 = "recv 8b from 0 tag 0\nrecv 8b from 0 tag 1\n";
    let schedule = format!("num_ranks 3\nrank 0 {{\n{rank_0}}}\nrank 1 {{\n{rank_1}}}\nrank 2 {{\n}}\n");
    let apart = |receive_entries| {
        let mut bench = Bench::new(&schedule, 1, receive_entries);
        bench.run_until(BEGIN_NS + 200, LATENCY);
        let sent = bench.now;
        (0..2).for_each(|tag| bench.send(1, handlers::MESSAGE, tag, 8));
        bench.run_until(BEGIN_NS + 2_000, LATENCY);
        // o_s + L less departure and network lie between the packet's arrival and o_r.
        let first =
            (sent - bench.ranks.ends.conductor.begin).as_ps() / 1_000 + 40 + (50 + 300 - 40 - 40) + 20;
        bench.finish_ns()[0] - first
    };
    assert_eq!(apart(4), 60, "a gap");
    // The only buffer is free when the first message is handled, 330 ns after both were sent. The second one
    // comes at 40, 200 and 360 ns.
    assert_eq!(apart(0), 320);
}
