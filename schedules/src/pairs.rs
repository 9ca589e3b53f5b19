//! Does every send have its receive?
//!
//! The sum of a hash over a rank's incoming messages, less that over its receives, is zero if they are the
//! same, in whatever order: two words a rank instead of a table of all messages. Only if a sum is
//! not zero is a table made, for the rank concerned, and the message named. Receives of any
//! peer or any tag are left to the execution, which finds out as well.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::Problem;
use crate::schedule::{ANY, Kind, Schedule};

/// Whose message, and with which tag.
type Key = (u32, u32);

/// Refuses a schedule with a send or a receive that has no counterpart.
///
/// # Errors
/// Names the first one, with rank and label.
pub fn check(schedule: &Schedule) -> Result<(), Problem> {
    let mut sums = vec![0u64; schedule.ranks() as usize];
    let mut is_open = vec![false; sums.len()];
    for rank in 0..schedule.ranks() {
        for (operation, &peer) in schedule.shape(rank).operations().iter().zip(schedule.peers(rank)) {
            match operation.kind {
                Kind::Send => {
                    let sum = &mut sums[peer as usize];
                    *sum = sum.wrapping_add(hash((rank, operation.tag)));
                }
                Kind::Receive if peer == ANY || operation.tag == ANY => is_open[rank as usize] = true,
                Kind::Receive => {
                    let sum = &mut sums[rank as usize];
                    *sum = sum.wrapping_sub(hash((peer, operation.tag)));
                }
                Kind::Calculate => {}
            }
        }
    }
    let wrong = (0..).zip(&sums).find(|(rank, sum)| **sum != 0 && !is_open[*rank as usize]);
    wrong.map_or(Ok(()), |(rank, _)| Err(explain(schedule, rank)))
}

fn hash(key: Key) -> u64 {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    // Its bits are mixed again: sums of the plain products would cancel.
    let mut mixed = hasher.finish();
    for _ in 0..2 {
        mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    mixed ^ mixed >> 32
}

/// The operations with a key of one rank that have no counterpart are the last of them.
fn explain(schedule: &Schedule, receiver: u32) -> Problem {
    let mut left: FxHashMap<Key, (i64, u32)> = FxHashMap::default();
    let peers = schedule.peers(receiver);
    for (index, operation) in (0..).zip(schedule.shape(receiver).operations()) {
        if operation.kind == Kind::Receive {
            let entry = left.entry((peers[index as usize], operation.tag)).or_default();
            *entry = (entry.0 - 1, index);
        }
    }
    for sender in 0..schedule.ranks() {
        let peers = schedule.peers(sender);
        for (index, operation) in (0..).zip(schedule.shape(sender).operations()) {
            if operation.kind == Kind::Send && peers[index as usize] == receiver {
                let entry = left.entry((sender, operation.tag)).or_default();
                let last = if entry.0 >= 0 { index } else { entry.1 };
                *entry = (entry.0 + 1, last);
            }
        }
    }
    let wrong = left.into_iter().filter(|(_, (count, _))| *count != 0).min();
    let Some(((sender, tag), (count, index))) = wrong else {
        return Problem::new(format!("rank {receiver} receives other messages than it is sent"));
    };
    let times = if count.abs() > 1 { format!(" ({} of them)", count.abs()) } else { String::new() };
    Problem::new(if count < 0 {
        let label = schedule.label(receiver, index);
        format!(
            "rank {receiver}, {label}: a receive without a send: rank {sender} sends it no message with tag {tag} for it{times}"
        )
    } else {
        let label = schedule.label(sender, index);
        format!(
            "rank {sender}, {label}: a send without a receive: rank {receiver} does not receive this message with tag {tag}{times}"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::text;

    fn problem(first: &str, second: &str) -> Option<String> {
        let text = format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n");
        super::check(&text::read(text.as_bytes()).unwrap()).err().map(|problem| problem.message)
    }

    #[test]
    fn a_message_without_its_other_side_is_named_with_rank_and_label() {
        assert_eq!(problem("send 4b to 1 tag 2", "recv 4b from 0 tag 2"), None);
        let told = problem("send 4b to 1 tag 2", "a: recv 4b from 0 tag 2\nb: recv 4b from 0 tag 3").unwrap();
        assert!(told.starts_with("rank 1, b: a receive without a send: rank 0"), "{told}");
        let told = problem("a: send 4b to 1 tag 2\nb: send 4b to 1 tag 2", "recv 4b from 0 tag 2").unwrap();
        assert!(told.starts_with("rank 0, b: a send without a receive: rank 1"), "{told}");
        assert_eq!(problem("send 4b to 1 tag 2", "recv 4b from 4294967295 tag 2"), None);
    }
}
