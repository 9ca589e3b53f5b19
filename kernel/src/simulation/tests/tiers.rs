//! Partitions in tiers, with their longer windows, see what they see without.

use super::*;
use crate::queue::EventQueue;

const TALKERS: usize = 6;
const RELAYS: usize = 3;
const TALKS: u64 = 200;
const TO_RELAY: Duration = Duration::from_ns(12);
const BETWEEN_RELAYS: Duration = Duration::from_ns(15);
const TO_TALKER: Duration = Duration::from_ns(24);
const SHORTEST: Duration = Duration::from_ns(12);

/// A talker tells a relay something now and then; a relay passes it on to another relay
/// or to a talker. Who does what when is logged.
struct Station {
    number: usize,
    events: EventQueue<Option<u64>>,
    random: Stream,
    talks: u64,
    last: Time,
    log: Log,
}

impl Station {
    fn new(number: usize) -> Self {
        let mut events = EventQueue::new();
        if number < TALKERS {
            events.schedule(Time::ZERO, None);
        }
        let random = Stream::new(1, &format!("station {number}"));
        Station { number, events, random, talks: 0, last: Time::ZERO, log: Vec::new() }
    }

    fn is_relay(&self) -> bool {
        self.number >= TALKERS
    }

    fn relay(&mut self) -> usize {
        TALKERS + self.random.below(RELAYS as u64) as usize
    }

    fn talk(&mut self, now: Time, outbox: &mut Outbox<u64>) {
        if self.talks < TALKS {
            self.talks += 1;
            let (relay, word) = (self.relay(), self.random.below(4));
            outbox.send(now + TO_RELAY, relay, word);
            self.events.schedule(now + Duration::from_ns(3 * (1 + self.random.below(30))), None);
        }
    }

    /// A word has come to a relay: it counts the relays before it comes to a talker.
    fn pass_on(&mut self, now: Time, word: u64, outbox: &mut Outbox<u64>) {
        let relay = self.relay();
        if word == 0 || relay == self.number {
            outbox.send(now + TO_TALKER, self.random.below(TALKERS as u64) as usize, word);
        } else {
            outbox.send(now + BETWEEN_RELAYS, relay, word - 1);
        }
    }
}

impl Partition for Station {
    type Payload = u64;

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<u64>) {
        while let Some((now, word)) = self.events.pop_before(outbox.until()) {
            self.log.push((now, word));
            match word {
                None => {
                    self.last = now;
                    self.talk(now, outbox);
                    if self.talks == TALKS {
                        return;
                    }
                }
                Some(word) if self.is_relay() => self.pass_on(now, word, outbox),
                Some(_) => {}
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<u64>) {
        self.events.receive(envelope, Some);
    }

    fn status(&self) -> Status {
        match self.talks {
            _ if self.is_relay() => Status::Finished { at: Time::ZERO },
            TALKS => Status::Finished { at: self.last },
            _ => Status::Running,
        }
    }

    fn progress(&self) -> u64 {
        self.talks
    }
}

fn stations(lookahead: Duration) -> Simulation<Station> {
    Simulation::new((0..TALKERS + RELAYS).map(Station::new).collect(), lookahead)
}

const TIERS: Tiers =
    Tiers { first: TALKERS, to_second: TO_RELAY, to_first: TO_TALKER, within_second: BETWEEN_RELAYS };

fn outcome(mut simulation: Simulation<Station>) -> (Ending, Time, Vec<Log>) {
    let ending = simulation.run(&Limits::default(), &mut go_on);
    let now = simulation.now();
    (ending, now, simulation.into_partitions().into_iter().map(|station| station.log).collect())
}

#[test]
fn partitions_in_tiers_see_what_they_see_without_on_any_number_of_threads() {
    let without = outcome(stations(SHORTEST));
    assert_eq!(without.0, Ending::AllFinished);
    assert!(without.2.iter().all(|log| log.len() > TALKS as usize));
    for threads in [1, 2, 3, 9] {
        let simulation = stations(SHORTEST).with_tiers(TIERS).with_threads(Threads::Exactly(threads));
        assert!(outcome(simulation) == without, "{threads} threads");
    }
}

#[test]
fn the_first_tier_has_windows_as_long_as_the_way_from_one_to_another() {
    let heard = [Time::from_ps(100_000), Time::from_ps(107_000)];
    let window = TIERS.first_window(heard, Time::NEVER);
    assert_eq!(window.end, heard[1] + TO_TALKER, "a relay speaks before a talker that it has heard");
    let silent = TIERS.first_window([heard[0], Time::NEVER], Time::NEVER);
    assert_eq!(silent.end, heard[0] + TO_RELAY + TO_TALKER);
    assert_eq!(silent.first_arrivals, [silent.end, heard[0] + TO_RELAY]);
    assert_eq!(TIERS.second_window(heard[1], window.end).end, heard[1] + BETWEEN_RELAYS);
}

#[test]
#[should_panic(expected = "sooner than its tier can hear of it")]
fn what_would_arrive_in_a_window_of_its_tier_is_refused() {
    let wrong = Tiers { to_first: TO_TALKER + TO_TALKER, ..TIERS };
    stations(SHORTEST).with_tiers(wrong).run(&Limits::default(), &mut go_on);
}
