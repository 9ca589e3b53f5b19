//! Gossiping partitions: many ties, random destinations, everything logged.

use crate::archive::{Archive, Archived, Damage};
use crate::partition::{Envelope, Outbox, Partition, Status};
use crate::queue::EventQueue;
use crate::random::Stream;
use crate::time::{Duration, Time};

pub const LOOKAHEAD: Duration = Duration::from_ns(40);
pub const NODES: usize = 7;
pub const TALKS: u64 = 300;

/// What a partition does after its last talk, or in the middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// It has finished when it has nothing to say any more.
    Finish,
    /// It stops after this many talks.
    Stop(u64),
    /// It falls silent after this many talks and never finishes.
    FallSilent(u64),
    /// It goes on with what is no progress after this many talks.
    Idle(u64),
    /// It panics after this many talks.
    Panic(u64),
}

pub type Log = Vec<(Time, Option<u64>)>;

/// Tells a random other partition something at random multiples of 10 ns, so
/// that many envelopes arrive at the same instant, and passes on some of what it hears.
pub struct Gossip {
    pub fate: Fate,
    /// The smallest time until what it says is heard.
    pub latency: Duration,
    /// So long it foresees that nothing leaves.
    pub foresight: Duration,
    /// Turns of a loop that each event costs the host.
    pub effort: u64,
    pub log: Log,
    pub events: EventQueue<Option<u64>>,
    pub random: Stream,
    pub talks: u64,
    pub last: Time,
    pub stopped: bool,
}

impl Gossip {
    pub fn new(node: usize) -> Self {
        let mut events = EventQueue::new();
        events.schedule(Time::ZERO, None);
        Gossip {
            fate: Fate::Finish,
            latency: LOOKAHEAD,
            foresight: Duration::ZERO,
            effort: 0,
            log: Vec::new(),
            events,
            random: Stream::new(1, &format!("node {node}")),
            talks: 0,
            last: Time::ZERO,
            stopped: false,
        }
    }

    fn tell(&mut self, now: Time, word: u64, outbox: &mut Outbox<u64>) {
        let destination = self.random.below(NODES as u64) as usize;
        let delay = Duration::from_ns(10 * self.random.below(4));
        outbox.send(now + self.latency + delay, destination, word);
    }

    fn talk(&mut self, now: Time, outbox: &mut Outbox<u64>) {
        let idles = match self.fate {
            Fate::Stop(talks) if talks == self.talks => {
                self.stopped = true;
                return;
            }
            Fate::Panic(talks) if talks == self.talks => panic!("a partition's panic"),
            Fate::FallSilent(talks) if talks == self.talks => return,
            Fate::Idle(talks) => talks == self.talks,
            _ => false,
        };
        if self.talks == TALKS {
            return;
        }
        if !idles {
            self.talks += 1;
            let word = 1 + self.random.below(1_000);
            self.tell(now, word, outbox);
        }
        let pause = Duration::from_ns(10 * (1 + self.random.below(9)));
        self.events.schedule(now + pause, None);
    }
}

impl Partition for Gossip {
    type Payload = u64;

    fn next_time(&self) -> Option<Time> {
        self.events.next_time().filter(|_| !self.stopped)
    }

    fn earliest_departure(&self) -> Time {
        self.next_time().unwrap_or(Time::NEVER).saturating_add(self.foresight)
    }

    fn advance(&mut self, outbox: &mut Outbox<u64>) {
        while !self.stopped
            && let Some((now, word)) = self.events.pop_before(outbox.until())
        {
            (0..self.effort).for_each(|turn| {
                std::hint::black_box(turn);
            });
            self.last = now;
            self.log.push((now, word));
            match word {
                Some(word) if word % 3 == 0 => self.tell(now, word / 3, outbox),
                Some(_) => {}
                None => self.talk(now, outbox),
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<u64>) {
        self.events.receive(envelope, Some);
    }

    fn status(&self) -> Status {
        match self.talks {
            _ if self.stopped => Status::Stopped { at: self.last },
            TALKS if self.events.is_empty() => Status::Finished { at: self.last },
            _ => Status::Running,
        }
    }

    fn progress(&self) -> u64 {
        self.talks
    }
}

impl Archived for Gossip {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Gossip {
            fate: _,
            latency: _,
            foresight: _,
            effort: _,
            log,
            events,
            random,
            talks,
            last,
            stopped,
        } = self;
        events.archive(archive)?;
        random.archive(archive)?;
        archive.value(talks)?;
        archive.value(last)?;
        archive.value(stopped)?;
        archive.value(log)
    }
}
