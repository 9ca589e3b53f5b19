//! A thread's part in a stretch.

use super::board::Posted;
use super::orders::Order;
use super::wait::ThreadWait;
use super::{Team, WINDOWS_PER_SAMPLE};
use crate::partition::{Envelope, Partition};
use crate::simulation::group::{Group, ThreadPosition};
use crate::simulation::window::{Covered, Departures, Summary, Window};
use crate::time::Time;

/// One thread of a team. What it writes shares no cache line with what others read.
#[repr(align(128))]
pub(super) struct Member<'team, 'slots, P: Partition> {
    team: &'team Team<'slots, P>,
    number: usize,
    group: Group<'slots, P>,
    /// Mail for each thread, until the window is over.
    outgoing: Vec<Vec<Envelope<P::Payload>>>,
    /// For whom each thread has left mail.
    posted: Vec<Posted>,
}

impl<'team, 'slots, P: Partition> Member<'team, 'slots, P> {
    /// The thread with this number.
    pub fn new(team: &'team Team<'slots, P>, number: usize, threads: usize) -> Self {
        Member {
            team,
            number,
            group: Group::new(number, team.first_tier),
            outgoing: (0..threads).map(|_| Vec::new()).collect(),
            posted: Vec::new(),
        }
    }

    /// Simulates a stretch of the partitions whose places are with this thread;
    /// `None` if another thread has panicked.
    pub fn simulate(&mut self, order: &Order, places: &[ThreadPosition]) -> Option<Covered> {
        self.group.take(self.team.slots, places);
        let mut number = order.first_window;
        let covered = order.stretch.simulate(|window| {
            self.simulate_window(number, window);
            number += 1;
            self.receive(number - 1)
        })?;
        self.group.release();
        Some(covered)
    }

    fn simulate_window(&mut self, number: u64, window: &Window) {
        let Member { team, group, outgoing, .. } = self;
        let mut posted = Posted::default();
        let first_tier = team.first_tier;
        let mut first_arrivals = [Time::NEVER; 2];
        let mut heard = Departures::NONE;
        group.simulate(window, number.is_multiple_of(WINDOWS_PER_SAMPLE), |to, envelope| {
            posted.add(to);
            let first = &mut first_arrivals[usize::from(envelope.destination >= first_tier)];
            *first = envelope.arrival.min(*first);
            if envelope.destination < first_tier {
                heard = heard.and(envelope.arrival, envelope.destination as u32);
            }
            outgoing[to].push(envelope);
        });
        for (to, mail) in outgoing.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            team.mail.open(self.number, to, number).append(mail);
        }
        let Summary { earliest, unfinished, departures, reached, flags } = group.summary();
        // What was sent has not reached its destinations, which cannot speak for it.
        let earliest = std::array::from_fn(|tier| earliest[tier].min(first_arrivals[tier]));
        let departures = departures.joined(heard);
        let summary = Summary { earliest, unfinished, departures, reached, flags };
        team.board.publish(self.number, number, summary, posted);
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
}

/// Makes sure that no thread waits for one that has panicked.
struct Alarm<'team>(&'team ThreadWait);

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
