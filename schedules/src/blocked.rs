//! Why a schedule does not end: from an operation to what it waits for, until the path is a circle
//! or ends at a message that nobody sends.

use crate::Problem;
use crate::executor::OVER;
use crate::schedule::{ANY, Kind, Schedule};

/// The most steps of a path that are told.
const MOST_TOLD: usize = 12;

/// Explains; `waits_for` has for each operation how many others it still waits for.
pub(crate) fn explain(schedule: &Schedule, waits_for: &[u32]) -> Problem {
    let is_left = |rank: u32, operation: u32| waits_for[schedule.first(rank) + operation as usize] != OVER;
    let operations = |rank: u32| 0..schedule.shape(rank).operations().len() as u32;
    let left = waits_for.iter().filter(|waits| **waits != OVER).count();
    let first = (0..schedule.ranks())
        .find_map(|rank| operations(rank).find(|each| is_left(rank, *each)).map(|each| (rank, each)));
    let mut path = vec![];
    let mut next = first;
    let mut end = "which nobody sends";
    while let Some(place) = next {
        if path.contains(&place) {
            end = "and so on: the ranks wait for each other";
            break;
        }
        path.push(place);
        let (rank, operation) = place;
        let required = schedule.shape(rank).dependencies().iter();
        let mut required = required.filter(|each| each.later == operation).map(|each| each.earlier);
        next = required.find(|each| is_left(rank, *each)).map(|each| (rank, each));
        if next.is_none() && schedule.operation(rank, operation).kind == Kind::Receive {
            let (peer, tag) = (schedule.peer(rank, operation), schedule.operation(rank, operation).tag);
            let fits = |sender: u32, sent: u32| {
                let other = schedule.operation(sender, sent);
                other.kind == Kind::Send
                    && schedule.peer(sender, sent) == rank
                    && (other.tag == tag || tag == ANY)
                    && is_left(sender, sent)
            };
            let senders = if peer == ANY { 0..schedule.ranks() } else { peer..peer + 1 };
            next = senders.into_iter().find_map(|sender| {
                operations(sender).find(|sent| fits(sender, *sent)).map(|sent| (sender, sent))
            });
        }
    }
    let told: Vec<String> =
        path.iter().take(MOST_TOLD).map(|&(rank, operation)| describe(schedule, rank, operation)).collect();
    let more = path.len().saturating_sub(MOST_TOLD);
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    Problem::no_progress(format!(
        "the schedule does not end: {left} of {} operations are never over: {}{more}, {end}",
        schedule.operations(),
        told.join(", which waits for ")
    ))
}

fn describe(schedule: &Schedule, rank: u32, operation: u32) -> String {
    let own = schedule.operation(rank, operation);
    let what = match own.kind {
        Kind::Send => format!("send {}b to {}", own.size, schedule.peer(rank, operation)),
        Kind::Receive => format!("recv {}b from {}", own.size, schedule.peer(rank, operation)),
        Kind::Calculate => format!("calc {}", own.size),
    };
    let tag = if own.tag == 0 { String::new() } else { format!(" tag {}", own.tag) };
    format!("rank {rank}, {} ({what}{tag})", schedule.label(rank, operation))
}
