//! Gossiping partitions: many ties, random destinations, everything logged.
//! However a window is scheduled, every partition must see the same.

use super::*;
use crate::queue::EventQueue;
use crate::random::Stream;

const LOOKAHEAD: Duration = Duration::from_ns(40);
const NODES: usize = 7;
const TALKS: u64 = 300;

/// Tells a random other partition something at random multiples of 10 ns, so
/// that many envelopes arrive at the same instant, and passes on some of what it hears.
struct Gossip {
    events: EventQueue<Option<u64>>,
    random: Stream,
    talks: u64,
    log: Vec<(Time, Option<u64>)>,
}

impl Gossip {
    fn new(node: usize) -> Self {
        let mut events = EventQueue::new();
        events.schedule(Time::ZERO, None);
        let random = Stream::new(1, &format!("node {node}"));
        Gossip { events, random, talks: 0, log: Vec::new() }
    }

    fn tell(&mut self, now: Time, word: u64, outbox: &mut Outbox<u64>) {
        let destination = self.random.below(NODES as u64) as usize;
        let delay = Duration::from_ns(10 * self.random.below(4));
        outbox.send(now + LOOKAHEAD + delay, destination, word);
    }
}

impl Partition for Gossip {
    type Payload = u64;

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, until: Time, outbox: &mut Outbox<u64>) {
        while let Some((now, word)) = self.events.pop_before(until) {
            self.log.push((now, word));
            match word {
                Some(word) if word % 3 == 0 => self.tell(now, word / 3, outbox),
                Some(_) => {}
                None if self.talks == TALKS => {}
                None => {
                    self.talks += 1;
                    let word = 1 + self.random.below(1_000);
                    self.tell(now, word, outbox);
                    let pause = Duration::from_ns(10 * (1 + self.random.below(9)));
                    self.events.schedule(now + pause, None);
                }
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<u64>) {
        self.events.receive(envelope, Some);
    }

    fn status(&self) -> Status {
        if self.talks == TALKS && self.events.is_empty() { Status::Finished } else { Status::Running }
    }

    fn progress(&self) -> u64 {
        self.log.len() as u64
    }
}

impl Archived for Gossip {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Gossip { events, random, talks, log } = self;
        events.archive(archive)?;
        random.archive(archive)?;
        archive.value(talks)?;
        archive.value(log)
    }
}

type Logs = Vec<Vec<(Time, Option<u64>)>>;

/// Builds the partitions in the given order, runs windows with `window`, and
/// returns what each partition saw.
fn logs(order: [usize; NODES], mut window: impl FnMut(&mut Simulation<Gossip>, Time)) -> Logs {
    let mut partitions: Vec<_> = order.into_iter().map(|node| (node, Gossip::new(node))).collect();
    partitions.sort_by_key(|partition| partition.0);
    let partitions = partitions.into_iter().map(|partition| partition.1).collect();
    let mut simulation = Simulation::new(partitions, LOOKAHEAD);
    while let Some(start) = simulation.earliest() {
        window(&mut simulation, start + LOOKAHEAD);
    }
    simulation.into_partitions().into_iter().map(|partition| partition.log).collect()
}

const IN_ORDER: [usize; NODES] = [0, 1, 2, 3, 4, 5, 6];

fn reference() -> Logs {
    logs(IN_ORDER, |simulation, end| {
        simulation.window(end);
    })
}

#[test]
fn gossip_makes_ties_or_the_tests_below_would_prove_nothing() {
    let logs = reference();
    let ties = logs.iter().flat_map(|log| log.windows(2)).filter(|pair| pair[0].0 == pair[1].0);
    assert!(ties.count() > 200);
    assert!(logs.iter().all(|log| log.len() > TALKS as usize));
}

#[test]
fn two_runs_are_the_same_bit_for_bit() {
    assert_eq!(reference(), reference());
}

#[test]
fn the_order_of_construction_does_not_matter() {
    let permuted = logs([4, 2, 6, 0, 5, 1, 3], |simulation, end| {
        simulation.window(end);
    });
    assert_eq!(permuted, reference());
}

#[test]
fn the_order_in_which_partitions_advance_does_not_matter() {
    let mut turn = 0;
    let shuffled = logs(IN_ORDER, |simulation, end| {
        turn += 1;
        for index in (0..NODES).map(|step| (turn + 3 * step) % NODES) {
            simulation.advance(index, end);
        }
        simulation.deliver();
    });
    assert_eq!(shuffled, reference());
}

#[test]
fn windows_on_threads_see_what_serial_windows_see() {
    let threaded = logs(IN_ORDER, |simulation, end| {
        std::thread::scope(|threads| {
            for (partition, outbox) in simulation.partitions.iter_mut().zip(&mut simulation.outboxes) {
                threads.spawn(move || {
                    outbox.open_window(end);
                    partition.advance(end, outbox);
                });
            }
        });
        for (index, partition) in simulation.partitions.iter().enumerate() {
            simulation.next_times[index] = due(partition);
            simulation.outboxes[index].move_to(&mut simulation.mail);
        }
        simulation.deliver();
    });
    assert_eq!(threaded, reference());
}

#[test]
fn run_is_those_windows() {
    let mut simulation = Simulation::new((0..NODES).map(Gossip::new).collect(), LOOKAHEAD);
    let ending = simulation.run(&Limits::default(), &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(ending, Ending::AllFinished);
    let seen: Logs = simulation.into_partitions().into_iter().map(|partition| partition.log).collect();
    assert_eq!(seen, reference());
}

#[test]
fn it_does_not_matter_where_windows_end() {
    let mut turn = 0;
    let shorter = logs(IN_ORDER, |simulation, end| {
        turn += 1;
        let earlier = 5_000 * (turn % 8);
        simulation.window(Time::from_ps(end.as_ps() - earlier));
    });
    assert_eq!(shorter, reference());
}

#[test]
fn a_simulation_goes_on_from_its_archive_as_if_nothing_had_happened() {
    let fresh = || Simulation::new(IN_ORDER.map(Gossip::new).into(), LOOKAHEAD);
    let mut random = Stream::new(5, "when to archive");
    let restored = logs(IN_ORDER, |simulation, end| {
        simulation.window(end);
        if random.below(5) == 0 {
            let bytes = Archive::save(simulation).unwrap();
            let mut other = fresh();
            Archive::restore(&bytes, &mut other).unwrap();
            assert_eq!(Archive::save(&mut other).unwrap(), bytes);
            *simulation = other;
        }
    });
    assert_eq!(restored, reference());
}
