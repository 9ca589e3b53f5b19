//! The messages of a directory that a processor waits for: a transaction's way from its tile to
//! the home, perhaps to another cache, and back.
//!
//! ```text
//!   tile ──request──► home ──forward──► cache that has it ──data──► tile
//!   └────────────────────── the transaction ──────────────────────────┘
//! ```
//!
//! Several messages may be under way for one transaction (acknowledgements of caches that give
//! their copies up). The way is that of the last message that the tile waited for, followed
//! back: it came from a place where the last message before it had come, and so on. Of several
//! alike that are under way to one place, the one that left last is taken for the one that came last.

use narthex_kernel::Time;
use narthex_machine::node::Agent;
use narthex_machine::node::probe::{Crossing, Event, Message};
use narthex_memory::directory::Lane;

use super::journal::Record;

/// What a stretch of the way is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stretch {
    /// A message is under way.
    Message,
    /// The home has it.
    Home,
    /// Another cache has it.
    Cache,
}

/// A stretch of a transaction's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Its begin.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// What it is.
    pub stretch: Stretch,
}

/// The transactions of an end's processor on a directory, and their messages.
#[derive(Debug, Default)]
pub struct DirectoryWaits {
    /// In the order of their grants.
    crossings: Vec<Crossing>,
    /// In the order of time.
    messages: Vec<(Time, Message)>,
}

/// Most transactions of a processor that are under way at once.
const UNDER_WAY: usize = 8;

impl DirectoryWaits {
    /// Those of a processor.
    pub fn new(records: &[Record], processor: Agent) -> Self {
        let mut waits = DirectoryWaits::default();
        for record in records {
            match record.event {
                Event::Message(message) if message.agent == processor => {
                    waits.messages.push((record.at, message));
                }
                Event::Crossing(crossing) if crossing.agent == processor => waits.crossings.push(crossing),
                _ => {}
            }
        }
        if waits.messages.is_empty() {
            waits.crossings.clear();
        }
        waits.crossings.sort_by_key(|crossing| crossing.granted);
        waits
    }

    /// The transactions that are under way between two instants.
    pub fn between(&self, from: Time, to: Time) -> impl Iterator<Item = &Crossing> {
        let end = self.crossings.partition_point(|crossing| crossing.granted < to);
        let begin =
            self.crossings.partition_point(|crossing| crossing.granted < from).saturating_sub(UNDER_WAY);
        self.crossings[begin.min(end)..end].iter().filter(move |crossing| crossing.released > from)
    }

    /// The messages of a transaction.
    pub fn messages(&self, crossing: &Crossing) -> impl Iterator<Item = (Time, &Message)> {
        let Crossing { address, granted, released, bus, .. } = *crossing;
        let begin = self.messages.partition_point(|&(at, _)| at < granted);
        let end = self.messages.partition_point(|&(at, _)| at <= released);
        let own = move |message: &Message| (message.address, message.bus) == (address, bus);
        self.messages[begin..end.max(begin)].iter().filter(move |(_, it)| own(it)).map(|(at, it)| (*at, it))
    }
}

/// A transaction's way, from its request to its last answer without gaps; empty if its
/// interconnect is no directory.
pub fn way(waits: &DirectoryWaits, crossing: &Crossing) -> Vec<Hop> {
    let all: Vec<(Time, &Message)> = waits.messages(crossing).collect();
    let Some(tile) =
        all.iter().find(|(_, message)| message.lane == Lane::Request).map(|(_, it)| it.places[0])
    else {
        return Vec::new();
    };
    let is_answer = |it: &Message| it.is_there && it.lane == Lane::Response && it.places[1] == tile;
    let mut way = Vec::new();
    let mut reached = all.iter().rposition(|(_, message)| is_answer(message));
    while let Some(arrival) = reached {
        let (arrived, message) = all[arrival];
        let Some(departure) = all[..arrival].iter().rposition(|(_, it)| is_departure(it, message)) else {
            break;
        };
        let (left, message) = all[departure];
        way.push(Hop { from: left, to: arrived, stretch: Stretch::Message });
        if message.lane == Lane::Request {
            break;
        }
        let came_to = |it: &Message| it.is_there && it.places[1] == message.places[0];
        reached = all[..departure].iter().rposition(|(_, it)| came_to(it));
        if let Some((came, before)) = reached.map(|before| all[before]) {
            let stretch = if before.lane == Lane::Forward { Stretch::Cache } else { Stretch::Home };
            way.push(Hop { from: came, to: left, stretch });
        }
    }
    way.reverse();
    way
}

/// Whether a message leaves, which may be the one that `arrival` tells of at its place. A message
/// that is at its place does not say from where it has come.
fn is_departure(message: &Message, arrival: &Message) -> bool {
    let Message { lane, name, places: [_, to], .. } = *arrival;
    !message.is_there && (message.lane, message.name, message.places[1]) == (lane, name, to)
}

#[cfg(test)]
mod tests {
    use narthex_memory::Kind;

    use super::*;

    const TILE: Agent = Agent::Processor(3);
    const BLOCK: u64 = 0x40;

    fn message(at: u64, (lane, name): (Lane, &'static str), places: [u16; 2], is_there: bool) -> Record {
        let message = Message { bus: "directory", agent: TILE, address: BLOCK, lane, name, places, is_there };
        Record { at: Time::from_ps(at), event: Event::Message(message), touched: [false; 2] }
    }

    fn crossing(granted: u64, released: u64) -> Record {
        let crossing = Crossing {
            bus: "directory",
            overlaps: true,
            granted: Time::from_ps(granted),
            released: Time::from_ps(released),
            cycles: 0,
            agent: TILE,
            kind: Kind::ReadExclusive,
            address: BLOCK,
            supplier: None,
            is_prefetch: false,
            message: None,
        };
        Record { at: crossing.granted, event: Event::Crossing(crossing), touched: [false; 2] }
    }

    /// Tile 3 asks its home at place 5, which asks the owner at place 7 and a sharer at place 8. The
    /// owner's data come last.
    #[test]
    fn the_way_of_a_transaction_leads_over_the_home_and_the_cache_that_answers_last() {
        let request = (Lane::Request, "read_exclusive");
        let forward = (Lane::Forward, "read_exclusive");
        let records = [
            crossing(10, 100),
            message(12, request, [3, 5], false),
            message(20, request, [5, 5], true),
            message(26, forward, [5, 8], false),
            message(26, forward, [5, 7], false),
            message(31, forward, [8, 8], true),
            message(33, (Lane::Response, "acknowledgement"), [8, 3], false),
            message(40, forward, [7, 7], true),
            message(44, (Lane::Response, "acknowledgement"), [3, 3], true),
            message(55, (Lane::Response, "data"), [7, 3], false),
            message(90, (Lane::Response, "data"), [3, 3], true),
        ];
        let waits = DirectoryWaits::new(&records, TILE);
        let all: Vec<&Crossing> = waits.between(Time::from_ps(0), Time::from_ps(200)).collect();
        let way: Vec<_> =
            way(&waits, all[0]).iter().map(|hop| (hop.from.as_ps(), hop.to.as_ps(), hop.stretch)).collect();
        assert_eq!(
            way,
            [
                (12, 20, Stretch::Message),
                (20, 26, Stretch::Home),
                (26, 40, Stretch::Message),
                (40, 55, Stretch::Cache),
                (55, 90, Stretch::Message),
            ]
        );
    }
}
