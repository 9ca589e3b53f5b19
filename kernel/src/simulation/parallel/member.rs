//! A thread's part in a stretch.

use super::board::{LAG, Posted, Summary};
use super::orders::Order;
use super::wait::Waiting;
use super::{Team, WINDOWS_PER_SAMPLE};
use crate::partition::{Envelope, Partition};
use crate::simulation::group::{Group, Place};
use crate::simulation::window::{Covered, Stretch, Window};
use crate::time::{Duration, Time};

/// One thread of a team.
pub(super) struct Member<'team, 'slots, P: Partition> {
    team: &'team Team<'slots, P>,
    number: usize,
    group: Group<'slots, P>,
    /// Mail for each thread, until the window is over.
    outgoing: Vec<Vec<Envelope<P::Payload>>>,
    /// The earliest arrival of what was sent in each of the latest windows:
    /// its destinations do not know of it yet.
    sent: [Time; LAG as usize],
    /// For whom each thread has left mail.
    posted: Vec<Posted>,
}

impl<'team, 'slots, P: Partition> Member<'team, 'slots, P> {
    /// The thread with this number.
    pub fn new(team: &'team Team<'slots, P>, number: usize, threads: usize) -> Self {
        Member {
            team,
            number,
            group: Group::new(number),
            outgoing: (0..threads).map(|_| Vec::new()).collect(),
            sent: [Time::NEVER; LAG as usize],
            posted: Vec::new(),
        }
    }

    /// Simulates a stretch of the partitions whose places are with this thread;
    /// `None` if another thread has panicked.
    pub fn simulate(&mut self, order: &Order, places: &[Place]) -> Option<Covered> {
        self.group.take(self.team.slots, places);
        let covered = self.windows(&order.stretch, order.first_window)?;
        self.group.release();
        Some(covered)
    }

    fn windows(&mut self, stretch: &Stretch, first: u64) -> Option<Covered> {
        let length = Duration::from_ps(stretch.lookahead.as_ps() / LAG);
        let (mut now, mut number) = (stretch.now, first);
        self.sent = [Time::NEVER; LAG as usize];
        loop {
            let mut earliest = stretch.earliest;
            if number >= first + LAG {
                let summary = self.receive(number - LAG)?;
                earliest = summary.earliest;
                if stretch.is_over(summary.flags) {
                    break;
                }
            }
            let sampled = number % WINDOWS_PER_SAMPLE == 0;
            let Some(window) = stretch.window(earliest.max(now), length, sampled) else { break };
            if number - first == stretch.windows {
                break;
            }
            self.simulate_window(number, &window);
            (now, number) = (window.end, number + 1);
        }
        for latest in first.max((number + 1).saturating_sub(LAG))..number {
            self.receive(latest)?;
        }
        Some(Covered { now, windows: number - first })
    }

    /// Waits until all have finished a window and takes the mail they sent in it.
    fn receive(&mut self, number: u64) -> Option<Summary> {
        let Member { team, group, posted, .. } = self;
        let summary = team.board.summary(number, &team.waiting, posted)?;
        for (from, posted) in posted.iter().enumerate() {
            if from != self.number && posted.includes(self.number) {
                let mut mail = team.mail.open(from, self.number, number);
                mail.drain(..).for_each(|envelope| group.deliver(envelope));
            }
        }
        Some(summary)
    }

    fn simulate_window(&mut self, number: u64, window: &Window) {
        let Member { team, group, outgoing, .. } = self;
        let mut posted = Posted::default();
        let mut first_arrival = Time::NEVER;
        group.simulate(window, |to, envelope| {
            posted.add(to);
            first_arrival = first_arrival.min(envelope.arrival);
            outgoing[to].push(envelope);
        });
        for (to, mail) in outgoing.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            team.mail.open(self.number, to, number).append(mail);
        }
        self.sent[(number % LAG) as usize] = first_arrival;
        let earliest = self.sent.iter().copied().fold(group.earliest(), Time::min);
        team.board.publish(self.number, number, earliest, group.flags(), posted);
    }
}

/// Sees to it that nobody waits for a thread that has panicked.
struct Alarm<'team>(&'team Waiting);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
    }
}

impl<P: Partition> Member<'_, '_, P> {
    /// Follows the leader's orders until it dismisses the thread, or one panics.
    pub fn work(mut self) {
        let _alarm = Alarm(&self.team.waiting);
        let (mut seen, mut places) = (0, Vec::new());
        while let Some(order) = self.team.orders.next(&mut seen, &mut places, self.team.have_processors) {
            if self.simulate(&order, &places).is_none() {
                return;
            }
            self.team.orders.rest();
        }
    }
}
