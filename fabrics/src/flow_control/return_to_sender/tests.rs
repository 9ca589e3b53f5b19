//! What return to sender accepts, returns and tries again, and when.

use super::*;
use crate::flow_control::Arrived;
use crate::packet::Header;

/// One end of two nodes with this many processes.
fn node(buffers: Buffers, processes: u8) -> ReturnToSender {
    ReturnToSender::new(&config(buffers, 40), Placement { nodes: 2, processes })
}

/// Buffers that send packets again by themselves.
fn config(buffers: Buffers, delay_ns: u64) -> Config {
    Config { buffers, retry_delay: Duration::from_ns(delay_ns), retries: Retries::Independent }
}

fn at(nanoseconds: u64) -> Time {
    Time::from_ps(nanoseconds * 1_000)
}

fn packet(source: u16, destination: u16, sequence: u64) -> Box<Packet> {
    let (source, destination) = (Rank(source), Rank(destination));
    Box::new(Packet {
        source,
        destination,
        sequence,
        is_urgent: false,
        number: 0,
        is_marked: false,
        header: Header(0),
        payload: vec![],
    })
}

#[test]
fn a_packet_without_a_buffer_returns_and_is_tried_again_after_the_delay() {
    let (mut sender, mut receiver) = (node(Buffers::Count(2), 1), node(Buffers::Count(1), 1));
    let mut emitted = Emitted::default();
    sender.send(packet(0, 1, 0), &mut emitted);
    sender.send(packet(0, 1, 1), &mut emitted);
    assert!(!sender.has_room(Rank(0)));
    let mut answers = Emitted::default();
    for (_, frame) in emitted.frames.drain(..) {
        receiver.arrive(at(40), frame, &mut answers);
    }
    let acknowledgement = Frame::Acknowledgement { from: Rank(1), to: Rank(0), sequence: 0 };
    assert_eq!(answers.frames, [(Rank(0), acknowledgement), (Rank(0), Frame::Returned(packet(0, 1, 1)))]);
    for (_, frame) in answers.frames.drain(..) {
        sender.arrive(at(80), frame, &mut emitted);
    }
    assert!(sender.has_room(Rank(0)), "the acknowledged packet's buffer is free");
    assert_eq!(emitted.retry_at, Some(at(120)));
    sender.retry(at(120), &mut emitted);
    assert_eq!(emitted.frames, [(Rank(1), Frame::Data(packet(0, 1, 1)))]);
}

#[test]
fn infinite_buffers_never_return_a_packet() {
    let mut receiver = node(Buffers::Infinite, 1);
    let mut emitted = Emitted::default();
    for sequence in 0..10_000 {
        let arrival = receiver.arrive(Time::ZERO, Frame::Data(packet(0, 1, sequence)), &mut emitted);
        assert_eq!(arrival.packet, Some(0));
    }
}

#[test]
fn a_process_can_take_all_buffers_but_one_for_each_other() {
    let mut receiver = node(Buffers::Count(4), 3);
    let mut emitted = Emitted::default();
    let mut arrives = |destination, sequence| {
        receiver.arrive(Time::ZERO, Frame::Data(packet(0, destination, sequence)), &mut emitted).packet
    };
    assert_eq!([arrives(3, 0), arrives(3, 1), arrives(3, 2)], [Some(0), Some(0), None]);
    assert_eq!([arrives(4, 3), arrives(4, 4)], [Some(1), None]);
    assert_eq!([arrives(5, 5), arrives(5, 6)], [Some(2), None]);
}

#[test]
fn a_returned_packet_is_retried_at_its_own_time_and_the_next_retry_is_asked_for() {
    let mut sender = node(Buffers::Count(4), 1);
    let mut emitted = Emitted::default();
    for (nanoseconds, sequence) in [(100, 0), (100, 1), (130, 2)] {
        sender.send(packet(0, 1, sequence), &mut emitted);
        sender.arrive(at(nanoseconds), Frame::Returned(packet(0, 1, sequence)), &mut emitted);
    }
    assert_eq!(emitted.retry_at.take(), Some(at(140)));
    assert_eq!(sender.occupancy(), Occupancy { unacknowledged: 3, returned: 3, waiting: 0 });
    emitted.frames.clear();
    sender.retry(at(140), &mut emitted);
    let again = |sequence| (Rank(1), Frame::Data(packet(0, 1, sequence)));
    assert_eq!(emitted.frames, [again(0), again(1)]);
    assert_eq!(emitted.retry_at.take(), Some(at(170)));
    assert_eq!(sender.occupancy(), Occupancy { unacknowledged: 3, returned: 1, waiting: 0 });
    sender.retry(at(170), &mut emitted);
    assert_eq!((emitted.frames.len(), emitted.retry_at), (3, None));
    assert_eq!(sender.statistics().retried.get(), 3);
}

/// The packets that a node with four buffers sends: it sends 0, 1 and 2 to process 2
/// and 3 to process 3; 1 comes back at 100 ns, 0 at 130; then it sends 4 to process 2.
/// Retries are at 140, 170 and 210 ns.
fn sent_by(retries: Retries) -> Vec<(u64, Vec<u64>)> {
    let placement = Placement { nodes: 4, processes: 1 };
    let mut sender = ReturnToSender::new(&Config { retries, ..config(Buffers::Count(5), 40) }, placement);
    let mut steps = Vec::new();
    let mut emitted = Emitted::default();
    let mut note = |nanoseconds, emitted: &mut Emitted| {
        let sequence = |(_, frame): (Rank, Frame)| frame.summary().sequence;
        steps.push((nanoseconds, emitted.frames.drain(..).map(sequence).collect()));
    };
    for (destination, sequence) in [(2, 0), (2, 1), (2, 2), (3, 3)] {
        sender.send(packet(0, destination, sequence), &mut emitted);
    }
    note(0, &mut emitted);
    for (nanoseconds, sequence) in [(100, 1), (130, 0)] {
        sender.arrive(at(nanoseconds), Frame::Returned(packet(0, 2, sequence)), &mut emitted);
    }
    sender.send(packet(0, 2, 4), &mut emitted);
    note(130, &mut emitted);
    while let Some(retry) = emitted.retry_at.take() {
        sender.retry(retry, &mut emitted);
        note(retry.as_ps() / 1_000, &mut emitted);
    }
    assert_eq!((sender.statistics().retried.get(), sender.occupancy().returned), (2, 0));
    steps
}

#[test]
fn independent_buffers_send_again_in_the_order_of_return_and_fresh_packets_pass() {
    let steps = [(0, vec![0, 1, 2, 3]), (130, vec![4]), (140, vec![1]), (170, vec![0])];
    assert_eq!(sent_by(Retries::Independent), steps);
}

#[test]
fn in_sequence_nothing_passes_a_packet_for_the_same_destination() {
    // 1 was due at 140, but 0 came back as well and is due at 170.
    let steps = [(0, vec![0, 1, 2, 3]), (130, vec![]), (140, vec![]), (170, vec![0, 1, 4])];
    assert_eq!(sent_by(Retries::InSequence), steps);
}

#[test]
fn in_sequence_packets_for_other_destinations_and_from_other_processes_do_not_wait() {
    let config = Config { retries: Retries::InSequence, ..config(Buffers::Count(8), 40) };
    let mut sender = ReturnToSender::new(&config, Placement { nodes: 3, processes: 2 });
    let mut emitted = Emitted::default();
    sender.send(packet(0, 2, 0), &mut emitted);
    sender.arrive(at(100), Frame::Returned(packet(0, 2, 0)), &mut emitted);
    emitted.frames.clear();
    for (source, destination, sequence) in [(0, 3, 1), (1, 2, 2), (0, 4, 3), (0, 2, 4)] {
        sender.send(packet(source, destination, sequence), &mut emitted);
    }
    let sent: Vec<u64> = emitted.frames.iter().map(|(_, frame)| frame.summary().sequence).collect();
    assert_eq!(sent, [1, 2, 3]);
    assert_eq!(sender.occupancy(), Occupancy { unacknowledged: 5, returned: 2, waiting: 0 });
}

#[test]
fn the_state_tells_which_packets_hold_buffers_at_both_ends() {
    let (mut sender, mut receiver) = (node(Buffers::Count(4), 2), node(Buffers::Count(4), 2));
    let mut emitted = Emitted::default();
    for (source, destination, sequence) in [(0, 2, 0), (1, 2, 1), (1, 2, 2), (0, 3, 3)] {
        sender.send(packet(source, destination, sequence), &mut emitted);
    }
    sender.arrive(at(0), Frame::Returned(packet(1, 2, 2)), &mut emitted);
    let acknowledgement = Frame::Acknowledgement { from: Rank(3), to: Rank(0), sequence: 3 };
    sender.arrive(at(0), acknowledgement, &mut emitted);
    let outstanding = |source, packets, returned| Outstanding {
        source: Rank(source),
        destination: Rank(2),
        packets,
        returned,
    };
    assert_eq!(sender.state().outstanding, [outstanding(0, 1, 0), outstanding(1, 2, 1)]);
    assert_eq!(
        sender.state().to_string(),
        "3 of 4 outgoing buffers in use, 0 of 4 incoming ones; \
         1 packets came back, 0 were sent again, 1 wait to be"
    );
    for sequence in [1, 2] {
        receiver.arrive(at(0), Frame::Data(packet(1, 2, sequence)), &mut emitted);
    }
    assert_eq!(receiver.occupancy(), Occupancy { unacknowledged: 0, returned: 0, waiting: 2 });
    let arrived = Arrived { source: Rank(1), destination: Rank(2), packets: 2 };
    assert_eq!((receiver.state().arrived, receiver.state().returned()), (vec![arrived], 0));
    assert_eq!(node(Buffers::Count(4), 1).state().limit, Limit::Buffers(Some(4)));
    let infinite = node(Buffers::Infinite, 1).state();
    assert_eq!(infinite.limit, Limit::Buffers(None));
    assert!(infinite.to_string().starts_with("0 of infinitely many outgoing buffers in use, "));
}

#[test]
fn parameters_that_would_let_no_packet_through_are_refused() {
    let problems = |buffers, nanoseconds| config(buffers, nanoseconds).problems();
    assert_eq!(problems(Buffers::Count(1), 1), []);
    let no_buffers = "0 would let no packet through; allowed are 1 and more, and \"infinite\"";
    assert_eq!(problems(Buffers::Count(0), 1), [("buffers", no_buffers.to_owned())]);
    let no_delay = "0ps would fill the network with retries; it has to be longer";
    assert_eq!(problems(Buffers::Infinite, 0), [("retry_delay", no_delay.to_owned())]);
}

#[test]
fn how_packets_are_sent_again_changes_nothing_where_none_returns_or_none_could_pass() {
    let idle = |buffers| config(buffers, 40).without_effect();
    assert_eq!(idle(Buffers::Count(2)), []);
    let why = "no packet returns where buffers are infinite (flow_control.buffers)".to_owned();
    assert_eq!(
        idle(Buffers::Infinite),
        [("retry_delay".to_owned(), why.clone()), ("retries".to_owned(), why)]
    );
    let why = "one buffer holds no second packet that could pass (flow_control.buffers)";
    assert_eq!(idle(Buffers::Count(1)), [("retries".to_owned(), why.to_owned())]);
}

#[test]
fn fewer_buffers_than_processes_are_refused() {
    let problems = |buffers, processes| config(buffers, 40).problems_for(processes);
    assert_eq!(problems(Buffers::Count(2), 2), []);
    assert_eq!(problems(Buffers::Infinite, 7), []);
    let problem = "2 are fewer than the 3 processes of an interface (machine.processors_per_node), \
                   and each needs one that no other can take";
    assert_eq!(problems(Buffers::Count(2), 3), [("buffers", problem.to_owned())]);
}

#[test]
fn buffers_read_as_a_count_or_the_word_infinite() {
    #[derive(Deserialize)]
    struct Holder {
        buffers: Buffers,
    }
    let read = |text: &str| serde_json::from_str::<Holder>(text).map(|holder| holder.buffers);
    let written = |buffers: Buffers| serde_json::to_string(&buffers).expect("a word or a count");
    assert_eq!([Buffers::Count(8), Buffers::Infinite].map(written), ["8", "\"infinite\""]);
    assert_eq!(read(r#"{"buffers": 8}"#).unwrap(), Buffers::Count(8));
    assert_eq!(read(r#"{"buffers": "infinite"}"#).unwrap(), Buffers::Infinite);
    assert!(read(r#"{"buffers": "many"}"#).is_err());
}

#[test]
fn processes_at_different_interfaces_share_no_buffers() {
    let mut sender = node(Buffers::Count(2), 4);
    sender.share_among(2);
    let mut emitted = Emitted::default();
    sender.send(packet(0, 4, 0), &mut emitted);
    let has_room = |sender: &ReturnToSender| [0, 1, 2, 3].map(|rank| sender.has_room(Rank(rank)));
    assert_eq!(has_room(&sender), [false, true, true, true], "one is left to rank 2, at the same interface");
    sender.send(packet(1, 5, 1), &mut emitted);
    assert_eq!(has_room(&sender), [false, false, true, true]);
    let limit = sender.state().limit;
    assert!(matches!(limit, crate::flow_control::Limit::Buffers(Some(4))), "{limit:?}: of both");
}
