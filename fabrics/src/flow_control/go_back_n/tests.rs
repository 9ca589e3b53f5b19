//! What go back N sends, and when, for what arrives and what does not.

use super::*;
use crate::congestion::{congestion_window, dcqcn};

const HERE: Rank = Rank(0);
const THERE: Rank = Rank(1);

fn end(buffers: u32, congestion: Option<congestion::Config>) -> GoBackN {
    let config = Config { window: 8, buffers, timeout: Duration::from_ns(1_000), congestion };
    GoBackN::new(&config, Placement { nodes: 2, processes: 1 })
}

fn at(nanoseconds: u64) -> Time {
    Time::from_ps(nanoseconds * 1_000)
}

/// Hands over packets of 8 + 92 bytes.
fn hand_over(sender: &mut GoBackN, count: u64) {
    for sequence in 0..count {
        let (source, destination, header) = (HERE, THERE, Header(0));
        let packet = Packet {
            source,
            destination,
            sequence,
            is_urgent: false,
            number: 0,
            is_marked: false,
            header,
            payload: vec![0; 92],
        };
        sender.send(Box::new(packet), &mut Emitted::default());
    }
}

/// The packets that leave at an instant, and when it wants to be called.
fn leaving(end: &mut GoBackN, now: Time) -> (Vec<Frame>, Option<Time>) {
    let mut emitted = Emitted::default();
    end.departs(now, &mut emitted);
    (emitted.frames.into_iter().map(|(_, frame)| frame).collect(), emitted.retry_at)
}

fn numbers(frames: &[Frame]) -> Vec<u64> {
    let number = |frame: &Frame| match frame {
        Frame::Data(packet) => packet.number,
        other => panic!("{other:?}"),
    };
    frames.iter().map(number).collect()
}

/// What a receiver answers to a frame.
fn answers(end: &mut GoBackN, now: Time, frame: Frame) -> Vec<Frame> {
    let mut emitted = Emitted::default();
    end.arrive(now, frame, &mut emitted);
    emitted.frames.into_iter().map(|(_, frame)| frame).collect()
}

fn acknowledgement(next: u64) -> Frame {
    Frame::Acknowledgement { from: THERE, to: HERE, sequence: next }
}

fn notice(next: u64, notice: Notice) -> Frame {
    Frame::Notice { from: THERE, to: HERE, next, notice }
}

fn marked(frame: &Frame) -> Frame {
    let Frame::Data(packet) = frame else { panic!("it is a packet") };
    Frame::Data(Box::new(Packet { is_marked: true, ..(**packet).clone() }))
}

#[test]
fn a_gap_is_told_once_and_all_from_it_on_is_sent_again() {
    let (mut sender, mut receiver) = (end(8, None), end(8, None));
    hand_over(&mut sender, 4);
    let (frames, call) = leaving(&mut sender, at(0));
    assert_eq!((numbers(&frames), call), (vec![0, 1, 2, 3], Some(at(1_000))));
    // Packet 1 is lost.
    let told: Vec<Frame> =
        [0, 2, 3].into_iter().flat_map(|lost| answers(&mut receiver, at(40), frames[lost].clone())).collect();
    assert_eq!(told, [acknowledgement(1), notice(1, Notice::Missing)]);
    told.into_iter().for_each(|frame| assert_eq!(answers(&mut sender, at(80), frame), []));
    let (again, _) = leaving(&mut sender, at(80));
    assert_eq!((numbers(&again), sender.statistics().retried.get()), (vec![1, 2, 3], 3));
    let told: Vec<Frame> =
        again.into_iter().flat_map(|frame| answers(&mut receiver, at(120), frame)).collect();
    assert_eq!(told, [2, 3, 4].map(acknowledgement));
    assert_eq!(
        receiver.waiting(THERE).iter().map(|packet| packet.sequence).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
}

#[test]
fn what_nothing_tells_of_is_sent_again_after_the_timeout_and_taken_once() {
    let (mut sender, mut receiver) = (end(8, None), end(8, None));
    hand_over(&mut sender, 1);
    let (frames, _) = leaving(&mut sender, at(0));
    // The acknowledgement is lost.
    assert_eq!(answers(&mut receiver, at(40), frames[0].clone()), [acknowledgement(1)]);
    sender.retry(at(1_000), &mut Emitted::default());
    let (again, call) = leaving(&mut sender, at(1_000));
    assert_eq!((again.clone(), call), (frames, Some(at(2_000))));
    assert_eq!(answers(&mut receiver, at(1_040), again[0].clone()), [acknowledgement(1)]);
    assert_eq!(receiver.waiting(THERE).len(), 1);
    answers(&mut sender, at(1_080), acknowledgement(1));
    assert_eq!(leaving(&mut sender, at(1_080)), (vec![], None));
    assert_eq!(sender.occupancy(), Occupancy::default());
}

#[test]
fn a_packet_without_a_buffer_is_dropped_and_comes_again() {
    let (mut sender, mut receiver) = (end(8, None), end(1, None));
    hand_over(&mut sender, 2);
    let (frames, _) = leaving(&mut sender, at(0));
    let told: Vec<Frame> =
        frames.into_iter().flat_map(|frame| answers(&mut receiver, at(40), frame)).collect();
    assert_eq!(told, [acknowledgement(1)]);
    answers(&mut sender, at(80), acknowledgement(1));
    assert!(receiver.take(THERE, &mut Emitted::default()).is_some());
    sender.retry(at(1_000), &mut Emitted::default());
    assert_eq!(leaving(&mut sender, at(1_000)).0, [], "the acknowledgement has set the clock anew");
    sender.retry(at(1_080), &mut Emitted::default());
    let (again, _) = leaving(&mut sender, at(1_080));
    assert_eq!(answers(&mut receiver, at(1_120), again[0].clone()), [acknowledgement(2)]);
}

#[test]
fn a_rate_spaces_packets_and_a_marked_one_halves_it() {
    let rate = dcqcn::Config {
        line_rate_mb_s: 1_000,
        step_mb_s: 10,
        inverse_weight: 256,
        notification_time: Duration::from_ns(500),
        alpha_time: Duration::from_ns(55_000),
        increase_time: Duration::from_ns(55_000),
    };
    let [mut sender, mut receiver] = [0, 1].map(|_| end(8, Some(congestion::Config::Dcqcn(rate.clone()))));
    hand_over(&mut sender, 3);
    let (first, call) = leaving(&mut sender, at(0));
    assert_eq!((numbers(&first), call), (vec![0], Some(at(100))), "100 bytes at 1,000 MB/s");
    sender.retry(at(100), &mut Emitted::default());
    let (second, _) = leaving(&mut sender, at(100));
    let told = answers(&mut receiver, at(100), marked(&first[0]));
    assert_eq!(told, [notice(0, Notice::Congestion), acknowledgement(1)]);
    let again = answers(&mut receiver, at(200), marked(&second[0]));
    assert_eq!(again, [acknowledgement(2)], "no sooner than 500 ns later");
    told.into_iter().for_each(|frame| assert_eq!(answers(&mut sender, at(150), frame), []));
    sender.retry(at(200), &mut Emitted::default());
    let (third, _) = leaving(&mut sender, at(200));
    assert_eq!(numbers(&third), [2]);
    hand_over(&mut sender, 1);
    assert_eq!(leaving(&mut sender, at(200)), (vec![], Some(at(400))), "at half the rate");
}

#[test]
fn a_congestion_window_lets_packets_out_with_acknowledgements() {
    let window = congestion_window::Config { first: 2, inverse_weight: 16 };
    let [mut sender, mut receiver] =
        [0, 1].map(|_| end(8, Some(congestion::Config::CongestionWindow(window.clone()))));
    hand_over(&mut sender, 6);
    let (frames, _) = leaving(&mut sender, at(0));
    assert_eq!(numbers(&frames), [0, 1]);
    assert_eq!(answers(&mut receiver, at(40), marked(&frames[0])), [notice(1, Notice::Marked)]);
    answers(&mut sender, at(80), acknowledgement(1));
    assert_eq!(numbers(&leaving(&mut sender, at(80)).0), [2]);
    answers(&mut sender, at(90), acknowledgement(2));
    assert_eq!(numbers(&leaving(&mut sender, at(90)).0), [3, 4], "the window has grown to three");
}

#[test]
fn numbers_that_let_nothing_through_are_refused() {
    let config = Config { window: 0, buffers: 0, timeout: Duration::ZERO, congestion: None };
    let keys: Vec<&str> = config.problems().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["window", "buffers", "timeout"]);
}
