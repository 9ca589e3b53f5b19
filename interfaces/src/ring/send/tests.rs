//! Packets leave whole and in order, whatever the order in which reads are answered.

use narthex_fabrics::flow_control::{self, return_to_sender};
use narthex_fabrics::networks::{self, ideal};
use narthex_fabrics::{Frame, NetworkPort, NodeId, Placement};
use proptest::prelude::*;

use super::super::RingMemory;
use super::super::descriptors::DESCRIPTOR_BYTES;
use super::*;
use crate::on_chip::Effects;

const START: u64 = 0x1000;
const ENTRIES: u64 = 16;
const BUFFER_BYTES: u64 = 256;
const BLOCK_BYTES: usize = 64;
const PREFETCH: u64 = 12;
const ENGINE_TIME: Duration = Duration::from_ns(40);

/// A send half with its memory, its end of the network, and what it has under way.
struct Bench {
    half: RingSend,
    port: NetworkPort,
    memory: Vec<u8>,
    now: Time,
    under_way: Vec<Transaction>,
    sent: Vec<Vec<u8>>,
}

impl Bench {
    fn new(reads: u8) -> Self {
        let flow = flow_control::Config::ReturnToSender(return_to_sender::Config {
            buffers: return_to_sender::Buffers::Infinite,
            retry_delay: Duration::from_ns(80),
            retries: return_to_sender::Retries::Independent,
        });
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(40) });
        let around =
            networks::NetworkContext { nodes: 2, in_one_partition_from: 2, seed: 0, packet_bytes: 256 };
        let placement = Placement { nodes: 2, processes: 1 };
        let (flow, network) = (flow.build(placement), network.build(NodeId(0), &around));
        let memory = RingMemory { start: START, entries: ENTRIES, buffer_bytes: BUFFER_BYTES, tail_bytes: 0 };
        let bytes = (memory.range().end - START) as usize;
        let parts = Parts {
            agent: AgentId(1),
            memory,
            block_bytes: BLOCK_BYTES as u64,
            prefetch: PREFETCH,
            thresholds: 0,
            register_delay: Duration::ZERO,
            engine_time: ENGINE_TIME,
            relaxed_payload: false,
            tail_copy: None,
        };
        Bench {
            half: RingSend::new(parts, reads),
            port: NetworkPort::new(NodeId(0), placement, flow, network, Header::BYTES as u64),
            memory: vec![0; bytes],
            now: Time::ZERO,
            under_way: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut RingSend, &mut Context<'_>) -> R) -> R {
        let (timers, faults, on_chip) = (&mut Vec::new(), &mut Vec::new(), &mut Effects::default());
        let network = self.port.of_process(0);
        let mut context = Context { now: self.now, network, local_memory: None, timers, faults, on_chip };
        let result = call(&mut self.half, &mut context);
        assert_eq!(faults, &[]);
        self.port.end_step();
        let sent = &mut self.sent;
        let show = |frame: &Frame, _| {
            if let Frame::Data(packet) = frame {
                sent.push(packet.payload.clone());
            }
        };
        self.port.departures(self.now, show, |_| {});
        result
    }

    fn store(&mut self, register: usize, value: u64) {
        let stored = self.call(|half, context| half.store(context, SEND_REGISTERS[register].1, value));
        stored.expect("it has the register").expect("a sound value");
    }

    /// Describes packets with these payloads, each fourth of which asks for a report.
    fn describe(&mut self, payloads: &[Vec<u8>]) {
        for (number, payload) in payloads.iter().enumerate() {
            let at = (ENTRIES * DESCRIPTOR_BYTES + number as u64 * BUFFER_BYTES) as usize;
            let length = payload.len() + Header::BYTES;
            let report = if number % 4 == 3 { REPORT } else { 0 };
            let words = [START + at as u64, length as u64 | report, 1 | (payload.len() as u64) << 16];
            let place = number * DESCRIPTOR_BYTES as usize;
            for (at, word) in [place, place + 8, at].into_iter().zip(words) {
                self.memory[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            self.memory[at + 8..at + length].copy_from_slice(payload);
        }
        self.store(0, START);
        self.store(1, ENTRIES);
        self.store(3, payloads.len() as u64);
    }

    /// Issues a transaction, has one of those under way answered, or lets time go on, as is drawn; whether any
    /// was possible.
    fn step(&mut self, choice: u8) -> bool {
        let choice = usize::from(choice);
        if self.half.wants_bus() && (choice.is_multiple_of(2) || self.under_way.is_empty()) {
            let issued = self.call(|half, context| half.issue(context)).expect("it wants to");
            assert!(self.under_way.iter().all(|other| other.tag != issued.tag));
            self.under_way.push(issued);
            return true;
        }
        if self.under_way.is_empty() {
            self.now += ENGINE_TIME;
            self.call(|half, context| half.timer(context));
            return self.half.wants_bus() || self.half.leaving.is_some();
        }
        let transaction = self.under_way.remove(choice / 2 % self.under_way.len());
        let at = (transaction.address - START) as usize;
        let block = &mut self.memory[at..at + BLOCK_BYTES];
        let mut response = Response::default();
        match &transaction.data {
            Some(data) => block.copy_from_slice(data),
            None => response.data = Some(BlockData::from_bytes(block)),
        }
        self.call(|half, context| half.complete(context, &transaction, &response));
        true
    }
}

proptest! {
    #[test]
    fn packets_leave_whole_and_in_order_whatever_the_order_of_the_answers(
        lengths in proptest::collection::vec(0usize..=248, 1..16), reads in 1u8..9, choices: [u8; 32],
    ) {
        let payload = |(number, length)| (0..length).map(|byte: usize| (number * 31 + byte) as u8).collect();
        let payloads: Vec<Vec<u8>> = lengths.into_iter().enumerate().map(payload).collect();
        let mut bench = Bench::new(reads);
        bench.describe(&payloads);
        let mut most = 0;
        for round in 0..1000 {
            if !bench.step(choices[round % choices.len()]) {
                break;
            }
            most = most.max(bench.under_way.len());
        }
        prop_assert!(most <= usize::from(reads));
        prop_assert_eq!(&bench.sent, &payloads);
        let is_done = |number: usize| bench.memory[number * DESCRIPTOR_BYTES as usize + 12] == 1;
        let reported = (3..payloads.len()).step_by(4).all(is_done);
        prop_assert!(reported, "each report has come");
    }
}

/// A packet of four blocks is asked for at once, and the next block of descriptors beside it.
#[test]
fn blocks_of_a_packet_and_descriptors_are_under_way_together() {
    let mut bench = Bench::new(6);
    bench.describe(&vec![vec![7; 248]; 6]);
    let issue = |bench: &mut Bench| {
        while bench.half.wants_bus() {
            bench.step(0);
        }
        bench.under_way.iter().map(|transaction| transaction.address - START).collect::<Vec<u64>>()
    };
    let buffer = ENTRIES * DESCRIPTOR_BYTES;
    assert_eq!(issue(&mut bench), [0, 64]);
    bench.step(1);
    // The second block of descriptors has the place that is left.
    let blocks = [64, buffer, buffer + 64, buffer + 128, buffer + 192, buffer + 256];
    assert_eq!(issue(&mut bench), blocks);
}
