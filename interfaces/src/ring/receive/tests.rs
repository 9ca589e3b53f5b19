//! What memory shows of a packet behind a link whose writes pass each other as their attributes let them.

use narthex_fabrics::flow_control::{self, return_to_sender};
use narthex_fabrics::networks::{self, ideal};
use narthex_fabrics::{Frame, NetworkPort, NodeId, Phase, Placement, Rank};

use super::super::RingMemory;
use super::super::descriptors::DESCRIPTOR_BYTES;
use super::*;
use crate::description::HalfDescription;
use crate::on_chip::Effects;
use crate::ring::RECEIVE_REGISTERS;
use crate::ring::interrupts::RingInterrupt;

const START: u64 = 0x1000;
const ENTRIES: u64 = 16;
const BUFFERS: u64 = START + ENTRIES * DESCRIPTOR_BYTES;
const BUFFER_BYTES: u64 = 256;
const BLOCK_BYTES: usize = 64;

fn port() -> NetworkPort {
    let flow = flow_control::Config::ReturnToSender(return_to_sender::Config {
        buffers: return_to_sender::Buffers::Infinite,
        retry_delay: Duration::from_ns(80),
        retries: return_to_sender::Retries::Independent,
    });
    let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(40) });
    let around = networks::NetworkContext { nodes: 2, in_one_partition_from: 2, seed: 0, packet_bytes: 256 };
    let placement = Placement { nodes: 2, processes: 1 };
    let (flow, network) = (flow.build(placement), network.build(NodeId(0), &around));
    NetworkPort::new(NodeId(0), placement, flow, network, Header::BYTES as u64)
}

fn call<R>(
    (half, port): (&mut RingReceive, &mut NetworkPort),
    call: impl FnOnce(&mut RingReceive, &mut Context<'_>) -> R,
) -> R {
    let (timers, faults, on_chip) = (&mut Vec::new(), &mut Vec::new(), &mut Effects::default());
    let (now, network) = (Time::ZERO, port.of_process(0));
    let mut context = Context { now, network, local_memory: None, timers, faults, on_chip };
    let result = call(half, &mut context);
    assert_eq!(faults, &[]);
    port.end_step();
    result
}

/// What the half writes for a packet of three blocks, in its order.
fn writes(relaxed_payload: bool, left_out: Option<&str>) -> Vec<Transaction> {
    let memory = RingMemory { start: START, entries: ENTRIES, buffer_bytes: BUFFER_BYTES, tail_bytes: 0 };
    let parts = Parts {
        agent: AgentId(1),
        memory,
        block_bytes: BLOCK_BYTES as u64,
        prefetch: 8,
        thresholds: 4,
        register_delay: Duration::ZERO,
        engine_time: Duration::ZERO,
        relaxed_payload,
        tail_copy: None,
    };
    let mut half =
        RingReceive::new(parts, WriteBack { batch: 1, time: Duration::ZERO }, &RingInterrupt::new(None), 1);
    assert!(left_out.is_none_or(|rule| half.protocol_rules().contains(&rule) && half.leave_out(rule)));
    let mut port = port();
    for (register, value) in [(0, START), (1, ENTRIES), (3, 4)] {
        let offset = RECEIVE_REGISTERS[register].1;
        call((&mut half, &mut port), |half, context| half.store(context, offset, value).unwrap().unwrap());
    }
    let packet = narthex_fabrics::Packet::new(Rank(1), Rank(0), Header::default(), vec![9; 150]);
    port.arrive(Time::ZERO, Frame::Data(Box::new(packet)), Phase::Arrival);
    let mut writes = Vec::new();
    call((&mut half, &mut port), |half, context| half.network(context));
    while half.wants_bus() || half.deposit.is_some() {
        if !half.wants_bus() {
            call((&mut half, &mut port), |half, context| half.timer(context));
            continue;
        }
        let issued = call((&mut half, &mut port), |half, context| half.issue(context)).expect("it wants to");
        let descriptors = (0..4).flat_map(|number: u64| [BUFFERS + number * BUFFER_BYTES, 0]);
        let descriptors: Vec<u8> = descriptors.flat_map(u64::to_le_bytes).collect();
        let data = issued.kind.fetches_block().then(|| BlockData::from_bytes(&descriptors));
        let response = Response { data, ..Response::default() };
        call((&mut half, &mut port), |half, context| half.complete(context, &issued, &response));
        writes.extend(issued.kind.carries_block().then_some(issued));
    }
    writes
}

/// Whether memory may have these writes in an order in which the descriptor is done before the packet is there: a
/// relaxed write may come before older ones.
fn may_be_done_too_early(writes: &[Transaction]) -> bool {
    let is_of_ring = |write: &Transaction| write.address < BUFFERS;
    let may_come = |place: usize| place == 0 || writes[place].relaxed;
    (0..writes.len()).filter(|&place| may_come(place)).any(|place| {
        let mut rest = writes.to_vec();
        let next = rest.remove(place);
        is_of_ring(&next) && rest.iter().any(|write| !is_of_ring(write)) || may_be_done_too_early(&rest)
    })
}

#[test]
fn a_relaxed_descriptor_may_be_done_before_its_relaxed_packet_is_there_and_a_strict_one_never() {
    let of = |relaxed_payload, left_out| {
        let writes = writes(relaxed_payload, left_out);
        let places: Vec<(u64, bool)> = writes.iter().map(|write| (write.address, write.relaxed)).collect();
        (places, may_be_done_too_early(&writes))
    };
    let order = |payload, descriptor| {
        let blocks = (0..3).map(|block| (BUFFERS + block * 64, payload));
        blocks.chain([(START, descriptor)]).collect::<Vec<_>>()
    };
    assert_eq!(of(false, None), (order(false, false), false));
    assert_eq!(of(true, None), (order(true, false), false));
    assert_eq!(of(true, Some(STRICT_DESCRIPTORS)), (order(true, true), true));
}
