use std::collections::VecDeque;

use narthex_kernel::{Archive, Duration};

use super::*;
use crate::faults;
use crate::flow_control::{self, return_to_sender};
use crate::networks::{self, NetworkContext, ideal};
use crate::parcel::Mail;

/// A frame on its way, with when and where it arrives.
type Departure = (Time, NodeId, Frame);

const LATENCY: Duration = Duration::from_ns(40);
const RETRY: Duration = Duration::from_ns(80);
/// Two nodes of two processes: ranks 0 and 1 are node 0's, 2 and 3 node 1's.
const PLACEMENT: Placement = Placement { nodes: 2, processes: 2 };

/// A node's port with this many buffers on each side.
fn port(own: u16, placement: Placement, buffers: u32) -> NetworkPort {
    let buffers = return_to_sender::Buffers::Count(buffers);
    let retries = return_to_sender::Retries::Independent;
    let flow = flow_control::Config::ReturnToSender(return_to_sender::Config {
        buffers,
        retry_delay: RETRY,
        retries,
    });
    let network = networks::Config::Ideal(ideal::Config { latency: LATENCY });
    let around = NetworkContext {
        nodes: placement.nodes.into(),
        in_one_partition_from: placement.nodes.into(),
        seed: 0,
        packet_bytes: 64,
    };
    let network = network.build(NodeId(own), &around);
    NetworkPort::new(NodeId(own), placement, flow.build(placement), network, Header::BYTES as u64)
}

/// A packet of eight bytes to a process, the only one of its message.
fn packet(destination: u16) -> (Header, Vec<u8>) {
    (Header(u64::from(destination) | 8 << 16 | 1 << 61), vec![7; 8])
}

fn at(nanoseconds: u64) -> Time {
    Time::from_ps(nanoseconds * 1_000)
}

/// What leaves now, and when to retry.
fn leaving(port: &mut NetworkPort, now: Time) -> (VecDeque<Departure>, Option<Time>) {
    let mut departures = VecDeque::new();
    let send = |sending: Sending<Frame>| match sending {
        (arrival, node, Mail::Direct(frame, _)) => {
            departures.push_back((arrival, NodeId(node as u16), frame))
        }
        other => panic!("{other:?} over an ideal network"),
    };
    let calls = port.departures(now, |_, _| {}, send);
    assert_eq!((calls.depart_at, calls.room), (None, false));
    (departures, calls.retry_at)
}

#[test]
fn a_packet_arrives_after_the_latency_and_waits_for_its_process_alone() {
    let [mut here, mut there] = [0, 1].map(|own| port(own, PLACEMENT, 2));
    let (header, payload) = packet(3);
    here.of_process(1).send(header, payload.clone());
    let (mut departures, retry_at) = leaving(&mut here, at(10));
    assert_eq!((departures.len(), retry_at), (1, None));
    let (arrival, node, frame) = departures.pop_front().unwrap();
    assert_eq!((arrival, node, frame.kind()), (at(50), NodeId(1), crate::FrameKind::Packet));
    let Arrival { packet, room } = there.arrive(arrival, frame, Phase::Own);
    assert_eq!((packet, room, there.changes()), (Some(1), false, 1));
    assert_eq!((there.waiting(0), there.waiting(1)), (0, 1));
    let mut other = there.of_process(0);
    assert!(other.front().is_none() && other.take().is_none() && other.waiting() == 0);
    let mut process = there.of_process(1);
    assert_eq!((process.own(), process.process(), process.waiting()), (Rank(3), 1, 1));
    let front = process.front().expect("it waits").clone();
    assert_eq!((front.source, front.destination, front.sequence), (Rank(1), Rank(3), 0));
    assert_eq!(*process.take().expect("the same"), front);
    assert_eq!((front.payload, there.waiting(1), there.changes()), (payload, 0, 3));
}

#[test]
fn an_acknowledgement_makes_room_again() {
    let one_process = Placement { nodes: 2, processes: 1 };
    let [mut here, mut there] = [0, 1].map(|own| port(own, one_process, 1));
    let (header, payload) = packet(1);
    assert!(here.has_room(0) && here.of_process(0).has_room() && here.of_process(0).can_send(Rank(1)));
    here.of_process(0).send(header, payload);
    assert!(!here.has_room(0) && !here.of_process(0).has_room() && !here.of_process(0).can_send(Rank(1)));
    assert_eq!(here.occupancy(), Occupancy { unacknowledged: 1, returned: 0, waiting: 0 });
    let (_, _, frame) = leaving(&mut here, at(0)).0.pop_front().expect("the packet");
    there.arrive(at(40), frame, Phase::Own);
    let (mut acknowledgements, _) = leaving(&mut there, at(40));
    let (arrival, node, frame) = acknowledgements.pop_front().expect("an acknowledgement");
    assert_eq!((arrival, node), (at(80), NodeId(0)));
    assert_eq!(here.arrive(arrival, frame, Phase::Own), Arrival { packet: None, room: true });
    assert!(here.has_room(0));
    assert_eq!(here.occupancy(), Occupancy::default());
}

#[test]
fn a_packet_that_finds_no_buffer_is_sent_again_after_the_delay() {
    let one_process = Placement { nodes: 2, processes: 1 };
    let mut here = port(0, one_process, 2);
    let mut there = port(1, one_process, 1);
    for _ in 0..2 {
        let (header, payload) = packet(1);
        here.of_process(0).send(header, payload);
    }
    let (packets, _) = leaving(&mut here, at(0));
    for (arrival, _, frame) in packets {
        there.arrive(arrival, frame, Phase::Own);
    }
    let (answers, _) = leaving(&mut there, at(40));
    let kinds: Vec<_> = answers.iter().map(|(_, _, frame)| frame.kind().name()).collect();
    assert_eq!(kinds, ["acknowledgement", "returned packet"]);
    for (arrival, _, frame) in answers {
        here.arrive(arrival, frame, Phase::Own);
    }
    let (departures, retry_at) = leaving(&mut here, at(80));
    assert_eq!((departures.len(), retry_at), (0, Some(at(160))));
    let changes = here.changes();
    here.retry(at(160));
    assert!(here.changes() > changes);
    let (again, _) = leaving(&mut here, at(160));
    let summary = again[0].2.summary();
    assert_eq!((again.len(), summary.sequence, again[0].0), (1, 1, at(200)));
}

#[test]
fn the_port_counts_what_its_processes_send() {
    let mut here = port(0, PLACEMENT, 4);
    assert_eq!((here.last_sender(), here.message_sizes().total()), (0, 0));
    for process in [1, 0, 1] {
        let before = here.changes();
        let (header, payload) = packet(2);
        here.of_process(process).send(header, payload);
        assert_eq!(here.last_sender(), process);
        assert!(here.changes() > before);
    }
    let (departures, _) = leaving(&mut here, at(0));
    let sent: Vec<_> = departures.iter().map(|(_, _, frame)| frame.summary()).collect();
    let sources: Vec<_> = sent.iter().map(|sent| (sent.source.0, sent.sequence)).collect();
    assert_eq!(sources, [(1, 0), (0, 1), (1, 2)]);
    assert_eq!(here.message_sizes().iter().collect::<Vec<_>>(), [(16, 3)]);
    assert_eq!(here.statistics().sent.get(), 3);
    assert_eq!(here.state().unacknowledged(), 3);
}

#[test]
fn a_rank_that_no_process_has_is_refused_with_those_that_there_are() {
    let check = |placement, rank| port(0, placement, 2).of_process(0).check(Rank(rank));
    assert_eq!(check(PLACEMENT, 3), Ok(()));
    let problem = check(PLACEMENT, 4).unwrap_err();
    assert_eq!(problem, "rank 4, which does not exist: 2 nodes of 2 processes have the ranks 0 to 3");
    let problem = check(Placement { nodes: 3, processes: 1 }, 3).unwrap_err();
    assert_eq!(problem, "node 3, which does not exist: nodes are 0 to 2");
    assert_eq!(port(0, PLACEMENT, 2).of_process(0).name(Rank(9)), "rank 9");
}

/// Process 0 of both nodes is one job, process 1 of both another.
fn port_of_jobs(own: u16) -> NetworkPort {
    let job = |process| Job::even(Rank(process), 2, 2);
    port(own, PLACEMENT, 2).with_jobs(vec![job(0), job(1)])
}

#[test]
fn a_process_sends_to_the_ranks_of_its_job_and_receives_from_them() {
    let [mut here, mut there] = [0, 1].map(port_of_jobs);
    let (header, payload) = packet(1);
    assert!(here.of_process(1).can_send(Rank(1)));
    here.of_process(1).send(header, payload);
    let (mut departures, _) = leaving(&mut here, at(0));
    let (arrival, node, frame) = departures.pop_front().expect("a packet");
    assert_eq!(node, NodeId(1));
    there.arrive(arrival, frame, Phase::Own);
    assert_eq!(there.of_process(0).waiting(), 0, "the other job's process gets nothing");
    let packet = there.of_process(1).take().expect("it has arrived");
    assert_eq!((packet.source, packet.destination), (Rank(1), Rank(3)));
    assert_eq!(packet.header.peer(), Rank(0), "the sender's rank in the job");
}

#[test]
fn a_process_cannot_name_one_of_another_job() {
    let mut port = port_of_jobs(0);
    let process = port.of_process(0);
    let problem = process.check(Rank(2)).unwrap_err();
    assert_eq!(problem, "rank 2, which does not exist: its job has the ranks 0 to 1");
    assert!(!process.can_send(Rank(2)) && !process.can_send(Rank(u16::MAX)));
    assert!(process.can_send_to(Rank(3)), "a device may");
}

#[test]
fn a_frame_that_is_to_be_lost_does_not_leave() {
    let lose = vec!["packet 2 from node 0 to node 1".parse().expect("a frame")];
    let config = faults::Config { lose };
    let mut here = port(0, PLACEMENT, 4).with_faults(Faults::of(&config, NodeId(0)));
    for _ in 0..3 {
        let (header, payload) = packet(2);
        here.of_process(0).send(header, payload);
    }
    let (departures, _) = leaving(&mut here, at(0));
    let sequences: Vec<_> = departures.iter().map(|(_, _, frame)| frame.summary().sequence).collect();
    assert_eq!(sequences, [0, 2]);
    assert_eq!(here.lost(), config.lose);
}

#[test]
fn a_port_that_is_restored_goes_on_as_the_one_that_was_saved() {
    let mut saved = port(0, PLACEMENT, 4);
    let (header, payload) = packet(2);
    saved.of_process(1).send(header, payload.clone());
    let bytes = Archive::save(&mut saved).expect("it can be saved");
    let mut restored = port(0, PLACEMENT, 4);
    Archive::restore(&bytes, &mut restored).expect("the same machine's");
    for port in [&mut saved, &mut restored] {
        assert_eq!((port.last_sender(), port.message_sizes().total()), (1, 1));
        port.of_process(0).send(header, payload.clone());
    }
    assert_eq!(leaving(&mut saved, at(5)), leaving(&mut restored, at(5)));
    assert_eq!(format!("{saved:?}"), format!("{restored:?}"));
    assert!(format!("{saved:?}").starts_with("network port of NodeId(0): "));
}
