//! What partitions foresee changes nothing but how often they are called.

use super::super::window::FURTHEST;
use super::delayed::Delayed;
use super::gossip::Fate;
use super::*;
use crate::partition::{Envelope, Outbox, Partition};
use crate::queue::EventQueue;

/// Of each partition: the first is heard the soonest.
const FORESIGHTS: [u64; NODES] = [0, 15, 40, 70, 90, 200, 5];

/// Gossips whose words take longer by what they foresee, and which may say so.
fn gossips(fates: [Fate; NODES], foresees: bool) -> Vec<Delayed<Gossip>> {
    let gossip = |(node, fate): (usize, Fate)| {
        let longer = Duration::from_ns(FORESIGHTS[node]);
        let foresight = if foresees { longer } else { Duration::ZERO };
        let gossip = Gossip { fate, foresight, latency: LOOKAHEAD + longer, ..Gossip::new(node) };
        Delayed::new(gossip, node)
    };
    fates.into_iter().enumerate().map(gossip).collect()
}

/// How a run ends, when, after how many windows, and what its partitions have seen.
fn run(
    (fates, foresees): ([Fate; NODES], bool),
    threads: Threads,
    limits: &Limits,
) -> (Ending, Time, u64, Vec<Log>) {
    let mut simulation = Simulation::new(gossips(fates, foresees), LOOKAHEAD).with_threads(threads);
    let ending = simulation.run(limits, &mut go_on);
    let (now, windows) = (simulation.now(), simulation.windows());
    let logs = simulation.into_partitions().into_iter().map(|delayed| delayed.partition.log).collect();
    (ending, now, windows, logs)
}

const ALONE: Threads = Threads::UpTo(1);

#[test]
fn what_is_foreseen_saves_windows_and_changes_nothing_else() {
    let limits = Limits::default();
    let (ending, now, windows, logs) = run(([Fate::Finish; NODES], false), ALONE, &limits);
    assert_eq!(ending, Ending::AllFinished);
    for threads in [ALONE, Threads::Exactly(2), Threads::Exactly(3)] {
        for windows_per_observation in [1, 2, 7, 256] {
            let limits = Limits { windows_per_observation, ..limits };
            let foreseen = run(([Fate::Finish; NODES], true), threads, &limits);
            assert!((foreseen.0, foreseen.1, &foreseen.3) == (ending, now, &logs), "{threads:?}, {limits:?}");
            assert!(windows_per_observation < 256 || foreseen.2 < windows, "{} windows", foreseen.2);
        }
    }
}

/// Some have much less to say than others.
fn unequal() -> Vec<Gossip> {
    let talks = [0, TALKS - 5, TALKS - 100, 0, TALKS - 10, TALKS / 2, TALKS - 1];
    let gossip = |(node, talks): (usize, u64)| {
        let foresight = Duration::from_ns(FORESIGHTS[node]);
        Gossip { talks, foresight, latency: LOOKAHEAD + foresight, ..Gossip::new(node) }
    };
    talks.into_iter().enumerate().map(gossip).collect()
}

#[test]
fn those_that_have_finished_wait_for_the_others_wherever_the_run_is_saved() {
    let mut whole = Simulation::new(unequal(), LOOKAHEAD);
    assert_eq!(whole.run(&Limits::default(), &mut go_on), Ending::AllFinished);
    let end = whole.now();
    let logs: Vec<Log> = whole.into_partitions().into_iter().map(|gossip| gossip.log).collect();
    for windows_per_observation in 1..12 {
        let limits = Limits { windows_per_observation, ..Limits::default() };
        let mut simulation = Simulation::new(unequal(), LOOKAHEAD);
        while simulation.run(&limits, &mut |_, _| ControlFlow::Break(())) == Ending::Interrupted {
            let now = simulation.now();
            assert!(simulation.partitions().all(|gossip| gossip.last < now), "nothing later has happened");
            assert!(simulation.partitions().all(|gossip| gossip.next_time().is_none_or(|next| next >= now)));
            let bytes = Archive::save(&mut simulation).unwrap();
            simulation = Simulation::new(unequal(), LOOKAHEAD);
            Archive::restore(&bytes, &mut simulation).unwrap();
        }
        assert_eq!(simulation.now(), end);
        assert!(simulation.into_partitions().into_iter().map(|gossip| gossip.log).eq(logs.iter().cloned()));
    }
}

#[test]
fn at_a_time_limit_everything_before_it_has_happened_and_nothing_later() {
    for until in [1, 39, 40, 41, 1_000, 3_333].map(|until| Time::from_ps(until * 1_000)) {
        let limits = Limits { until, ..Limits::default() };
        let [plain, foreseen] =
            [false, true].map(|foresees| run(([Fate::Finish; NODES], foresees), ALONE, &limits));
        assert_eq!((plain.0, plain.1), (Ending::TimeLimit, until));
        assert!((foreseen.0, foreseen.1, foreseen.3) == (plain.0, plain.1, plain.3), "until {until}");
    }
}

#[test]
fn the_first_that_stops_is_found_and_all_rest_at_one_instant_however_far_the_others_were() {
    for talks in 20..40 {
        let mut fates = [Fate::Finish; NODES];
        (fates[3], fates[5]) = (Fate::Stop(100), Fate::Stop(60 + 2 * talks));
        let [plain, foreseen] =
            [false, true].map(|foresees| run((fates, foresees), ALONE, &Limits::default()));
        let Ending::Stopped { at, .. } = plain.0 else { panic!("it ended as {:?}", plain.0) };
        assert_eq!(plain.1, at + FURTHEST);
        assert!((foreseen.0, foreseen.1, foreseen.3) == (plain.0, plain.1, plain.3), "{talks} talks");
    }
}

#[test]
fn a_partition_of_which_no_other_one_wants_anything_has_windows_for_itself() {
    let fates = std::array::from_fn(|node| if node == 4 { Fate::Idle(0) } else { Fate::FallSilent(0) });
    let limits = Limits { until: Time::from_ps(50_000_000), ..Limits::default() };
    let (ending, _, windows, _) = run((fates, true), ALONE, &limits);
    assert_eq!(ending, Ending::TimeLimit);
    assert!(windows < 12, "{windows} windows of at most 10 us for 50 us");
}

/// Has finished with its first event, and leaves the rest of that window; later ones are words
/// for the other.
struct Leaver {
    events: EventQueue<u64>,
    seen: Vec<(u64, u64)>,
    number: usize,
}

impl Partition for Leaver {
    type Payload = u64;

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<u64>) {
        let had_finished = self.seen.iter().any(|&(_, word)| word == 0);
        while let Some((now, word)) = self.events.pop_before(outbox.until()) {
            self.seen.push((now.as_ps() / 1_000, word));
            match word {
                0 if !had_finished => return,
                1 => outbox.send(now + LOOKAHEAD, 1 - self.number, 2),
                _ => {}
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<u64>) {
        self.events.receive(envelope, |word| word);
    }

    fn status(&self) -> Status {
        match self.seen.iter().find(|&&(_, word)| word == 0) {
            Some(&(at, _)) => Status::Finished { at: Time::ZERO + Duration::from_ns(at) },
            None => Status::Running,
        }
    }

    fn progress(&self) -> u64 {
        self.seen.len() as u64
    }
}

#[test]
fn what_leaves_a_partition_that_has_finished_is_heard_in_time_wherever_the_run_is_looked_at() {
    for windows_per_observation in [1, 2, 256] {
        let leaver = |(number, own): (usize, &[(u64, u64)])| {
            let mut events = EventQueue::new();
            own.iter().for_each(|&(at, word)| events.schedule(Time::ZERO + Duration::from_ns(at), word));
            Leaver { events, seen: Vec::new(), number }
        };
        let leavers = [&[(10, 0), (15, 1)][..], &[(100, 0)]].into_iter().enumerate().map(leaver).collect();
        let mut simulation = Simulation::new(leavers, LOOKAHEAD);
        let limits = Limits { windows_per_observation, ..Limits::default() };
        assert_eq!(simulation.run(&limits, &mut go_on), Ending::AllFinished);
        let seen: Vec<_> = simulation.into_partitions().into_iter().map(|leaver| leaver.seen).collect();
        assert_eq!(seen, [vec![(10, 0), (15, 1)], vec![(55, 2), (100, 0)]]);
    }
}

#[test]
#[should_panic(expected = "or it foresaw that nothing leaves so soon")]
fn a_partition_that_foresees_too_much_is_told() {
    let mut gossips = gossips([Fate::Finish; NODES], true);
    gossips[2].partition.foresight = Duration::from_ns(41);
    Simulation::new(gossips, LOOKAHEAD).run(&Limits::default(), &mut go_on);
}
