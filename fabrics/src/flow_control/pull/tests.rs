use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

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
    assert_eq!(send(&mut ends, 1, 13), ["1: Waits { behind: 0 } 3 to 0"]);
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

const PART_BYTES: u64 = 8;

/// Ends with so many buffers, which hold messages.
fn together(buffers: u32) -> [Pull; 3] {
    let placement = Placement { nodes: 3, processes: 1 };
    [0; 3].map(|_| {
        let mut end = Pull::new(&Config { window: 2, buffers }, placement);
        end.put_messages_together(PART_BYTES);
        end
    })
}

/// The packets of a message of so many bytes to the receiver.
fn parts(source: u16, bytes: usize) -> impl Iterator<Item = Box<Packet>> {
    (0..bytes).step_by(PART_BYTES as usize).map(move |place| {
        let end = bytes.min(place + PART_BYTES as usize);
        let header = Header(0).with_sense(true).of_part(place, end - place, end == bytes);
        let payload = (place..end).map(|byte| byte as u8 + source as u8).collect();
        Box::new(Packet::new(Rank(source), OWN, header, payload))
    })
}

/// Bytes of the messages of the two senders.
const MESSAGES: [&[usize]; 2] = [&[20, 8], &[12]];

/// All that two senders have under way to a receiver with one buffer, and what is still to be sent and taken.
struct Course {
    ends: [Pull; 3],
    wires: BTreeMap<(u16, u16, bool), VecDeque<Frame>>,
    unsent: [VecDeque<Box<Packet>>; 2],
    taken: Vec<(u16, usize)>,
}

impl Course {
    fn new() -> Self {
        let packets = |source: u16| {
            MESSAGES[usize::from(source) - 1].iter().flat_map(move |&bytes| parts(source, bytes))
        };
        let unsent = [1, 2].map(|source| packets(source).collect());
        Course { ends: together(1), wires: BTreeMap::new(), unsent, taken: Vec::new() }
    }

    /// The same after these choices.
    fn after(choices: &[usize]) -> Self {
        let mut course = Course::new();
        for &choice in choices {
            let choices = course.choices();
            course.make(choices[choice]);
        }
        course
    }

    /// What can happen next: a sender sends, the receiver takes, or a wire's oldest frame arrives. Notices and
    /// acknowledgements have wires of their own.
    fn choices(&self) -> Vec<Choice> {
        let sends = [1, 2].into_iter().filter(|&source| {
            !self.unsent[usize::from(source) - 1].is_empty()
                && self.ends[usize::from(source)].can_send(Rank(source), OWN)
        });
        let takes = (!self.ends[0].waiting(OWN).is_empty()).then_some(Choice::Take);
        let wires = self.wires.iter().filter(|(_, frames)| !frames.is_empty());
        sends.map(Choice::Send).chain(takes).chain(wires.map(|(&wire, _)| Choice::Arrive(wire))).collect()
    }

    fn make(&mut self, choice: Choice) {
        let mut emitted = Emitted::default();
        let from = match choice {
            Choice::Send(source) => {
                let packet = self.unsent[usize::from(source) - 1].pop_front().unwrap();
                self.ends[usize::from(source)].send(packet, &mut emitted);
                source
            }
            Choice::Take => {
                let message = self.ends[0].take(OWN, &mut emitted).unwrap();
                assert!(
                    message
                        .payload
                        .iter()
                        .zip(0..)
                        .all(|(&byte, place)| byte == place + message.source.0 as u8)
                );
                assert_eq!(message.header.message_bytes(), message.payload.len());
                self.taken.push((message.source.0, message.payload.len()));
                0
            }
            Choice::Arrive(wire) => {
                let frame = self.wires.get_mut(&wire).unwrap().pop_front().unwrap();
                self.ends[usize::from(wire.1)].arrive(Time::ZERO, frame, &mut emitted);
                wire.1
            }
        };
        for (to, frame) in emitted.frames {
            let wire = (from, to.0, matches!(frame, Frame::Data(_)));
            self.wires.entry(wire).or_default().push_back(frame);
        }
    }

    /// A digest of its state, but for what was counted.
    fn state(&mut self) -> u64 {
        self.wires.retain(|_, frames| !frames.is_empty());
        let ends =
            self.ends.iter().map(|end| format!("{:?}{:?}{:?}", end.sending, end.receiving, end.buffers));
        let state = format!("{}{:?}{:?}{:?}", ends.collect::<String>(), self.wires, self.unsent, self.taken);
        BuildHasherDefault::<DefaultHasher>::default().hash_one(state)
    }
}

#[derive(Clone, Copy)]
enum Choice {
    Send(u16),
    Take,
    Arrive((u16, u16, bool)),
}

#[test]
fn with_one_buffer_every_course_of_messages_of_two_senders_ends_with_all_taken_whole_and_in_order() {
    let (mut seen, mut open) = (HashSet::new(), vec![Vec::new()]);
    let mut ends = 0;
    while let Some(course) = open.pop() {
        let mut reached = Course::after(&course);
        if !seen.insert(reached.state()) {
            continue;
        }
        let choices = reached.choices().len();
        open.extend((0..choices).map(|choice| course.iter().copied().chain([choice]).collect::<Vec<_>>()));
        if choices == 0 {
            ends += 1;
            for (source, messages) in (1..).zip(MESSAGES) {
                let own = reached.taken.iter().filter(|(from, _)| *from == source).map(|(_, bytes)| bytes);
                assert!(own.eq(messages), "{:?} after {course:?}", reached.taken);
            }
        }
    }
    assert!(ends > 1 && seen.len() > 1_000, "{} states, {ends} ends", seen.len());
}

#[test]
fn a_message_without_a_buffer_waits_and_one_with_it_is_never_trimmed_again() {
    let mut ends = together(1);
    let send_part = |ends: &mut [Pull; 3], packet: Box<Packet>| {
        let (source, mut emitted) = (usize::from(packet.source.0), Emitted::default());
        ends[source].send(packet, &mut emitted);
        carry(ends, emitted)
    };
    let [first, second, last] = parts(1, 20).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(send_part(&mut ends, first), ["1: packet 0", "has 0 of 1"]);
    let other = parts(2, 16);
    let stories: Vec<_> = other.map(|packet| send_part(&mut ends, packet)).collect();
    assert_eq!(stories, [vec!["2: packet 0", "0: Trimmed 0 to 2"], vec!["2: Waits { behind: 1 } 1 to 0"]]);
    assert_eq!(send_part(&mut ends, second), ["1: packet 1", "has 1 of 1"]);
    assert!(ends[0].waiting(OWN).is_empty());
    assert_eq!(send_part(&mut ends, last), ["1: packet 2", "has 2 of 1"]);
    let pulled =
        ["0: Pull 0 to 2", "0: Pull 1 to 2", "2: packet 0", "2: packet 1", "has 0 of 2", "has 1 of 2"];
    assert_eq!(take(&mut ends).1, pulled);
    assert_eq!(ends[0].waiting(OWN)[0].payload.len(), 16);
    assert_eq!(ends[0].statistics.delivered.get(), 3);
}
