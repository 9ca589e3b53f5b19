//! Finds hand-overs in the journals of two tiles: what one of them does, and the other waits for.
//!
//! A tile has a word, or a lock, from the instant at which its wait for it is over, as the
//! program's markers of synchronisation say. A hand-over lasts from there until the wait of the
//! other tile is over. So the hand-overs of a word that two tiles store to each other in turn are
//! all of the time, and those of a lock that two tiles take in turn are, too.
//!
//! ```text
//!   tile 0                                            tile 1
//!   S  its wait is over                               waits
//!   │    the processor: what it does with the word or under the lock, and its store
//!   A  announced: the last transaction before the packet, or of the release
//!   │    the interface
//!   I  injected                   network
//!   └──────────────────────────────────────────────►  R  arrived
//!                                                     │    the interface: lines that act
//!                                                     V  visible to the processor
//!                                                     │    polls that find nothing
//!                                                     N  the load begins that ends the wait
//!                                                     │    the processor
//!                                                     H  the wait is over
//! ```
//!
//! A lock in coherent memory or in the lock box needs no packet: A, I, R and V are one instant, the
//! end of the last transaction of the release.

use narthex_kernel::Time;
use narthex_machine::activity::Activity;
use narthex_machine::node::Agent;
use narthex_machine::node::probe::{Crossing, Event, Packet};
use narthex_memory::Kind;

use super::life::{Life, NodeHistory, Way, announced, latest, visible};

/// All hand-overs from the first history's tile to the second's that begin after `since`, while
/// the second one waits.
pub fn hand_overs([giver, taker]: &[NodeHistory; 2], since: Time) -> Vec<Life> {
    let starts: Vec<Time> = latest(giver.waits_over().filter(|&at| at > since));
    let ends = starts.iter().skip(1).copied().chain([Time::NEVER]);
    starts.iter().zip(ends).filter_map(|(&start, end)| hand_over(giver, taker, start, end)).collect()
}

/// The hand-over that begins when the wait of `giver` is over at `sent`; its next wait is over
/// at `next`.
fn hand_over(giver: &NodeHistory, taker: &NodeHistory, sent: Time, next: Time) -> Option<Life> {
    let handled = taker.waits_over().find(|&at| at > sent).filter(|&at| at <= next)?;
    let left = giver
        .bookings
        .iter()
        .find(|booking| booking.from > sent && booking.activity == Activity::Synchronisation)?;
    let left = left.from;
    let life = match by_packet(giver, taker, (sent, left, handled)) {
        Some(life) => life,
        None => by_memory(giver, taker, (sent, left, handled))?,
    };
    taker.waits_at(life.announced).then_some(life)
}

/// A hand-over whose last step from tile to tile is a packet.
fn by_packet(giver: &NodeHistory, taker: &NodeHistory, (sent, left, handled): Instants) -> Option<Life> {
    let during = |at: Time| at >= sent && at <= handled;
    let packets = giver.packets_sent().filter(|&(at, _)| during(at)).count();
    let (arrived, sequence) = taker.packets_received().rfind(|&(at, _)| during(at))?;
    let (injected, _) = giver.packets_sent().find(|&(at, number)| number == sequence && during(at))?;
    let seen = last_load(taker, arrived, handled).map_or(handled, |load| load.granted);
    let visible = visible(taker, arrived, seen).max(last_own(taker, arrived, seen));
    Some(Life {
        sent,
        left,
        announced: announced(giver, sent, left, injected),
        injected,
        departed: injected,
        arrived,
        visible,
        noticed: last_load(taker, visible, handled).map_or(visible, |load| load.granted.max(visible)),
        handled,
        sequence: Some(sequence),
        packets,
        way: Way::Wait,
    })
}

/// The last packet that comes to the taker after `arrived` and until its processor has `seen` what it
/// waits for: an acknowledgement that a counter counts, and the counter's own word.
fn last_own(taker: &NodeHistory, arrived: Time, seen: Time) -> Time {
    let own = taker.records.iter().filter_map(|record| match record.event {
        Event::Packet(Packet { is_there: true, to: Some(to), .. })
            if Agent::Processor(to) == taker.processor =>
        {
            Some(record.at)
        }
        _ => None,
    });
    own.filter(|&at| at >= arrived && at <= seen).max().unwrap_or(arrived)
}

/// A hand-over by memory, or the lock box, alone.
fn by_memory(giver: &NodeHistory, taker: &NodeHistory, (sent, left, handled): Instants) -> Option<Life> {
    let of_release = |crossing: &&Crossing| {
        crossing.granted >= sent && crossing.granted < left && crossing.released <= handled
    };
    let crossings = giver.crossings(giver.processor).map(|(crossing, _)| crossing);
    let last = crossings.filter(of_release).map(|crossing| crossing.released).max();
    // A release that hits the giver's cache crosses nothing: it is over when the taker's load begins.
    let hit = || last_load(taker, sent, handled).map(|load| load.granted.max(sent));
    let released = last.or_else(hit)?;
    Some(Life {
        sent,
        left,
        announced: released,
        injected: released,
        departed: released,
        arrived: released,
        visible: released,
        noticed: last_load(taker, released, handled).map_or(released, |load| load.granted.max(released)),
        handled,
        sequence: None,
        packets: 0,
        way: Way::Wait,
    })
}

/// The begin of a hand-over, when its giver waits again, and its end.
type Instants = (Time, Time, Time);

/// The last transaction that brings the processor something before `handled`, and is not over
/// at `visible`.
fn last_load(taker: &NodeHistory, visible: Time, handled: Time) -> Option<&Crossing> {
    let loads = taker.crossings(taker.processor).map(|(crossing, _)| crossing);
    let in_time = |crossing: &&Crossing| {
        crossing.kind != Kind::UncachedStore && crossing.released > visible && crossing.released <= handled
    };
    loads.filter(in_time).max_by_key(|crossing| crossing.granted)
}
