//! Finds the lives of messages that a program sends by calls of a library, in the journals of the
//! two processes.
//!
//! ```text
//!   sender                                             receiver
//!   S  calls VipPostSend
//!   │    the processor
//!   A  announced: the doorbell's store
//!   │    the interface, its firmware
//!   I  injected                   network
//!   └───────────────────────────────────────────────►  R  arrived
//!                                                      │    the interface, its firmware
//!                                                      V  visible to the processor
//!                                                      │    polls that find nothing
//!                                                      N  the load begins that finds it
//!                                                      │    the processor
//!                                                      H  VipRecvDone has returned it
//! ```

use std::collections::BTreeSet;

use narthex_kernel::Time;
use narthex_machine::node::Agent;
use narthex_machine::node::probe::{Crossing, Event};
use narthex_memory::Kind;

use super::library::{Call, Deed};
use super::life::{Life, NodeHistory, RECEIVE_HALF, Way, announced, latest};

/// The lives of all messages that the first history's process sends to the second's after
/// `since`, each of them received before the next one is sent.
pub fn lives([sender, receiver]: &[NodeHistory; 2], since: Time) -> Vec<Life> {
    let sends: Vec<&Call> = latest(calls(sender, Deed::Sends).filter(|call| call.from >= since));
    let ends = sends.iter().skip(1).map(|call| call.from).chain([Time::NEVER]);
    sends.iter().zip(ends).filter_map(|(send, end)| life(sender, receiver, send, end)).collect()
}

/// The calls of a process that do that.
pub fn calls(history: &NodeHistory, deed: Deed) -> impl Iterator<Item = &Call> {
    history.calls.iter().filter(move |call| call.function.deed == deed)
}

/// The life of the message that `send` sends; the next one is sent at `next`.
fn life(sender: &NodeHistory, receiver: &NodeHistory, send: &Call, next: Time) -> Option<Life> {
    let sent = send.from;
    let gave = calls(receiver, Deed::Gives).find(|call| call.to > sent).filter(|call| call.to <= next)?;
    let handled = gave.to;
    if !receiver.has_no_other(sent, handled, calls(receiver, Deed::Gives).map(|call| call.to)) {
        return None;
    }
    let packets: Vec<(Time, u64)> =
        sender.packets_sent().filter(|&(at, _)| at >= sent && at <= handled).collect();
    let (arrived, sequence) = receiver.packets_received().rfind(|&(at, _)| at <= handled)?;
    let departures = || packets.iter().filter(|&&(_, number)| number == sequence).map(|&(at, _)| at);
    let injected = departures().next()?;
    let told = receiver
        .calls
        .iter()
        .filter(|call| call.function.deed != Deed::Sends)
        .find(|call| call.to > arrived && call.to <= handled)?;
    let seen = finding_load(receiver, told, arrived).unwrap_or(told.to);
    let visible = visible(receiver, arrived, seen);
    Some(Life {
        sent,
        left: send.to,
        announced: announced(sender, sent, send.to, injected),
        injected,
        departed: departures().rfind(|&at| at < arrived)?,
        arrived,
        visible,
        noticed: finding_load(receiver, told, visible).map_or(visible, |load| load.max(visible)),
        handled,
        sequence: Some(sequence),
        packets: packets.iter().map(|&(_, number)| number).collect::<BTreeSet<_>>().len(),
        way: Way::Calls {
            sends: send.function.name,
            tells: (told.function.name, told.to),
            gives: gave.function.name,
        },
    })
}

/// When the load began with which the call found the message, that was under way after `visible`: of
/// a call that began later its first one, for it polls once; of one that waits the last.
fn finding_load(receiver: &NodeHistory, told: &Call, visible: Time) -> Option<Time> {
    let is_load = |kind: Kind| kind.fetches_block() || matches!(kind, Kind::UncachedLoad | Kind::BlockLoad);
    let in_time = |crossing: &&Crossing| {
        is_load(crossing.kind) && crossing.released > visible && crossing.released <= told.to
    };
    let crossings = receiver.crossings(receiver.processor).map(|(crossing, _)| crossing);
    let loads = crossings.filter(in_time).map(|crossing| crossing.granted);
    match told.from > visible {
        true => loads.filter(|&granted| granted >= told.from).min(),
        false => loads.max(),
    }
}

/// The last that the interface, or its firmware, did for a packet that arrived at `arrived` before
/// the receiver's processor had `seen` it.
fn visible(receiver: &NodeHistory, arrived: Time, seen: Time) -> Time {
    let own = receiver.records.iter().filter_map(|record| match record.event {
        Event::Timer(port) if receiver.ports.contains(&port) => Some(record.at),
        Event::Crossing(crossing) => match crossing.agent {
            Agent::Port(port) if receiver.ports.contains(&port) => Some(crossing.released),
            Agent::Processor(processor)
                if receiver.firmware.contains(&processor) && record.touched[RECEIVE_HALF] =>
            {
                Some(crossing.released)
            }
            _ => None,
        },
        _ => None,
    });
    own.filter(|&at| at >= arrived && at <= seen).max().unwrap_or(arrived)
}
