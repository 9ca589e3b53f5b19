use super::*;
use crate::packet::Header;

const OWN: Rank = Rank(0);

/// The receiver, node 0, whose buffer holds two packets, and two senders with a window of three.
fn ends() -> [Pull; 3] {
    let placement = Placement { nodes: 3, processes: 1 };
    [0; 3].map(|_| Pull::new(&Config { window: 3, buffers: 2 }, placement))
}

/// A packet to the receiver.
fn packet(source: u16, sequence: u64) -> Box<Packet> {
    Packet { sequence, ..Packet::new(Rank(source), OWN, Header(0), vec![sequence as u8; 8]) }.into()
}

/// What all frames between the ends come to, in the order in which they leave.
fn carry(ends: &mut [Pull; 3], mut emitted: Emitted) -> Vec<String> {
    let mut story = Vec::new();
    while !emitted.frames.is_empty() {
        let (to, frame) = emitted.frames.remove(0);
        let from = frame.from().0;
        story.push(match &frame {
            Frame::Data(packet) => format!("{from}: packet {}", packet.number),
            Frame::Acknowledgement { sequence, .. } => format!("has {sequence} of {}", to.0),
            Frame::Notice { next, notice, .. } => format!("{from}: {notice:?} {next} to {}", to.0),
            Frame::Returned(_) => unreachable!(),
        });
        ends[usize::from(to.0)].arrive(Time::ZERO, frame, &mut emitted);
    }
    story
}

fn send(ends: &mut [Pull; 3], source: u16, sequence: u64) -> Vec<String> {
    let mut emitted = Emitted::default();
    ends[usize::from(source)].send(packet(source, sequence), &mut emitted);
    carry(ends, emitted)
}

fn take(ends: &mut [Pull; 3]) -> (Option<u64>, Vec<String>) {
    let mut emitted = Emitted::default();
    let taken = ends[0].take(OWN, &mut emitted).map(|packet| packet.sequence);
    (taken, carry(ends, emitted))
}

#[test]
fn a_packet_without_a_place_is_trimmed_and_pulled_when_there_is_one() {
    let mut ends = ends();
    assert_eq!(send(&mut ends, 1, 10), ["1: packet 0", "has 0 of 1"]);
    assert_eq!(send(&mut ends, 1, 11), ["1: packet 1", "has 1 of 1"]);
    assert_eq!(send(&mut ends, 1, 12), ["1: packet 2", "0: Trimmed 2 to 1"]);
    assert_eq!(send(&mut ends, 2, 20), ["2: packet 0", "0: Trimmed 0 to 2"]);
    // Behind a trimmed packet a header goes alone.
    assert_eq!(send(&mut ends, 1, 13), ["1: Waits 3 to 0"]);
    assert_eq!(ends[1].occupancy(), Occupancy { unacknowledged: 2, returned: 2, waiting: 0 });
    for (taken, story) in [
        (10, vec!["0: Pull 2 to 1", "1: packet 2", "has 2 of 1"]),
        (11, vec!["0: Pull 0 to 2", "2: packet 0", "has 0 of 2"]),
        (12, vec!["0: Pull 3 to 1", "1: packet 3", "has 3 of 1"]),
        (20, vec![]),
        (13, vec![]),
    ] {
        assert_eq!(take(&mut ends), (Some(taken), story.into_iter().map(str::to_owned).collect()));
    }
    let counts = |end: &Pull| (end.statistics.returned.get(), end.statistics.retried.get());
    assert_eq!((counts(&ends[1]), counts(&ends[2])), ((1, 1), (1, 1)));
}

#[test]
fn a_sender_keeps_a_window_of_packets() {
    let mut ends = ends();
    (0..5).for_each(|sequence| drop(send(&mut ends, 1, sequence)));
    assert!(!ends[1].can_send(Rank(1), OWN));
    assert!(ends[1].can_send(Rank(1), Rank(2)), "windows are separate");
    take(&mut ends);
    assert!(ends[1].can_send(Rank(1), OWN));
}

#[test]
fn packets_out_of_order_come_to_their_places_and_a_full_buffer_of_them_lets_the_missing_one_in() {
    let mut ends = ends();
    let [receiver, ..] = &mut ends;
    let numbered = |number| Frame::Data(Box::new(Packet { number, ..*packet(1, number) }));
    let mut emitted = Emitted::default();
    for number in [2, 1] {
        assert_eq!(receiver.arrive(Time::ZERO, numbered(number), &mut emitted), Arrival::default());
    }
    emitted = Emitted::default();
    receiver.arrive(Time::ZERO, numbered(0), &mut emitted);
    let notices = [Notice::Trimmed, Notice::Pull];
    let told = notices.map(|notice| (Rank(1), Frame::Notice { from: OWN, to: Rank(1), next: 0, notice }));
    assert_eq!(emitted.frames, told);
    let arrival = receiver.arrive(Time::ZERO, numbered(0), &mut emitted);
    assert_eq!(arrival, Arrival { packet: Some(0), room: false });
    assert!(receiver.waiting(OWN).iter().map(|packet| packet.number).eq(0..3));
}
