//! Without a lookahead a window is an instant, and may be repeated.

use super::gossip::{Gossip, Log, NODES};
use super::*;

fn run(threads: usize) -> (Ending, Vec<Log>) {
    let silent = |node| Gossip { latency: Duration::ZERO, ..Gossip::new(node) };
    let partitions = (0..NODES).map(silent).collect();
    let mut simulation = Simulation::new(partitions, Duration::ZERO).with_threads(Threads::Exactly(threads));
    assert_eq!(simulation.thread_count(), 1);
    let ending = simulation.run(&Limits::default(), &mut go_on);
    (ending, simulation.into_partitions().into_iter().map(|partition| partition.log).collect())
}

#[test]
fn messages_that_take_no_time_arrive_at_the_instant_of_sending() {
    let (ending, logs) = run(1);
    assert_eq!(ending, Ending::AllFinished);
    let talks: usize = logs.iter().flatten().filter(|(_, word)| word.is_none()).count();
    let heard = logs.iter().flatten().count() - talks;
    assert!(heard > talks, "all that was said was heard, and some of it passed on");
    assert!(logs.iter().all(|log| log.is_sorted_by_key(|&(at, _)| at)));
}

#[test]
fn runs_without_a_lookahead_are_the_same_and_on_one_thread() {
    assert_eq!(run(1), run(1));
    assert_eq!(run(16), run(1));
}

#[test]
fn an_observer_never_sees_an_instant_that_is_not_over() {
    let silent = |node| Gossip { latency: Duration::ZERO, ..Gossip::new(node) };
    let mut simulation = Simulation::new((0..NODES).map(silent).collect(), Duration::ZERO);
    let limits = Limits { windows_per_observation: 1, ..Limits::default() };
    let mut observations = 0;
    simulation.run(&limits, &mut |now, partitions| {
        observations += 1;
        assert!(partitions.iter().all(|partition| partition.next_time().is_none_or(|next| next >= now)));
        ControlFlow::Continue(())
    });
    assert!(observations > 10);
}

/// Two partitions that return a ball at once.
struct Wall {
    other: usize,
    balls: crate::EventQueue<()>,
}

impl Partition for Wall {
    type Payload = ();

    fn next_time(&self) -> Option<Time> {
        self.balls.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<()>) {
        while let Some((now, ball)) = self.balls.pop_before(outbox.until()) {
            outbox.send(now, self.other, ball);
        }
    }

    fn deliver(&mut self, ball: Envelope<()>) {
        self.balls.receive(ball, |()| ());
    }

    fn status(&self) -> Status {
        Status::Running
    }

    fn progress(&self) -> u64 {
        0
    }
}

#[test]
fn an_endless_exchange_at_one_instant_is_a_livelock() {
    let wall = |other| Wall { other, balls: crate::EventQueue::new() };
    let mut walls = vec![wall(1), wall(0)];
    let since = Time::from_ps(77);
    walls[0].balls.schedule(since, ());
    let ending = Simulation::new(walls, Duration::ZERO).run(&Limits::default(), &mut go_on);
    let Ending::NoProgress(Stall::Livelock { since: found }) = ending else { panic!("{ending:?}") };
    assert_eq!(found.saturating_since(since), Duration::from_ps(1));
}
