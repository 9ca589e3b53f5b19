//! Windows on several threads.
//!
//! ```text
//!               window 4    window 5    window 6
//!   thread 0   |-#--#-->...|--#---#-->|---#---->
//!   thread 1   |-###----->|####-##->..|-->
//!                        report     report
//! ```
//!
//! Each thread simulates a [`Group`] of the partitions. At a window's end it
//! posts what its partitions have sent to others' ([`mail`]), reports how far it is
//! ([`board`]), and waits for the reports of all. From these every thread
//! computes the next window and takes its mail. In this there is no lock that
//! any thread waits for, no allocation and no system call; a report takes some tens
//! of nanoseconds from core to core. The windows are those of one thread.
//!
//! **The end of a stretch** is computed from the reports too: all threads see it
//! at the same window. They wait until all are there, take the last mail and
//! give their partitions back to the thread that runs the simulation. That one
//! looks at all of them, moves partitions between threads if their work differs
//! ([`balance`]), and orders the next stretch, or simulates it by itself where
//! threads do not pay ([`pace`]).

mod balance;
mod board;
mod mail;
mod member;
mod orders;
mod pace;
mod wait;

use std::panic::resume_unwind;
use std::thread::{self, Thread};

use super::Threads;
use super::control::Engine;
use super::group::{Group, Slots};
use super::window::{Covered, Stretch};
use crate::partition::Partition;
use crate::time::Duration;
use balance::Balance;
use board::Board;
use mail::Mail;
use member::Member;
use orders::{Dismissal, Order, Orders};
use pace::{Pace, Way};
use wait::ThreadWait;

/// Windows of which one is timed, to know how much work each partition makes.
/// The two tiers take turns, often in a pattern: a prime number meets both.
const WINDOWS_PER_SAMPLE: u64 = 17;

/// How many threads a run of this many partitions really has.
pub(super) fn thread_count(threads: Threads, partitions: usize, lookahead: Duration) -> usize {
    let wanted = match threads {
        Threads::UpTo(threads) => threads.min(processors()),
        Threads::Exactly(threads) => threads,
    };
    // Without a lookahead, partitions hear from each other within an instant.
    if lookahead.is_zero() { 1 } else { wanted.clamp(1, partitions.max(1)) }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// What the threads of a run share. All read it while they wait, so it has cache
/// lines of its own: next to it on the stack is what the leader writes.
#[repr(align(128))]
struct Team<'slots, P: Partition> {
    slots: &'slots Slots<P>,
    /// How many partitions are of the first tier.
    first_tier: usize,
    board: Board,
    mail: Mail<P::Payload>,
    waiting: ThreadWait,
    orders: Orders,
    /// Each thread can have a processor of its own.
    have_processors: bool,
}

/// Lets `run` simulate stretches with a team of threads; its result, unless one
/// of them panics: then that panic goes on here.
pub(super) fn with_team<'slots, P: Partition, R>(
    (slots, first_tier): (&'slots Slots<P>, usize),
    (threads, count): (Threads, usize),
    run: impl FnOnce(&mut Engine<'_, 'slots, P>) -> Option<R>,
) -> R {
    let have_processors = count <= processors();
    let team = Team {
        slots,
        first_tier,
        board: Board::new(count),
        mail: Mail::new(count),
        waiting: ThreadWait::new(have_processors),
        orders: Orders::new(count),
        have_processors,
    };
    thread::scope(|scope| {
        let team = &team;
        let worker = |number| scope.spawn(move || Member::new(team, number, count).work());
        let workers: Vec<_> = (1..count).map(worker).collect();
        let handles: Vec<Thread> = workers.iter().map(|worker| worker.thread().clone()).collect();
        let result = {
            let _dismissal = Dismissal { orders: &team.orders, waiting: &team.waiting, workers: &handles };
            let always_together = matches!(threads, Threads::Exactly(_));
            let mut leader = Leader::new(team, &handles);
            let mut pace = Pace::new(always_together);
            run(&mut |all, stretch| {
                pace.simulate(stretch, |way| match way {
                    Way::Alone => all.simulate_stretch(stretch),
                    Way::Together => leader.simulate(all, stretch),
                })
            })
        };
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        result.expect("without a result a thread has panicked")
    })
}

/// The thread that runs the simulation, and simulates a part of it like the others.
struct Leader<'team, 'slots, P: Partition> {
    team: &'team Team<'slots, P>,
    workers: &'team [Thread],
    member: Member<'team, 'slots, P>,
    balance: Balance,
    next_window: u64,
}

impl<'team, 'slots, P: Partition> Leader<'team, 'slots, P> {
    fn new(team: &'team Team<'slots, P>, workers: &'team [Thread]) -> Self {
        let threads = workers.len() + 1;
        let member = Member::new(team, 0, threads);
        Leader { team, workers, member, balance: Balance::new(threads, team.slots.len()), next_window: 0 }
    }

    /// Simulates a stretch on all threads; `None` if one has panicked.
    fn simulate(&mut self, all: &mut Group<'slots, P>, stretch: &Stretch) -> Option<Covered> {
        if self.balance.is_due() {
            let work: Vec<u64> = all.slots().map(|slot| std::mem::take(&mut slot.work)).collect();
            self.balance.divide(&work);
        }
        all.release();
        let order = Order { stretch: *stretch, first_window: self.next_window };
        self.team.orders.give(order, self.balance.places(), self.workers);
        let covered = self.member.simulate(&order, self.balance.places())?;
        self.team.orders.all_rest(&self.team.waiting)?;
        self.next_window += covered.windows;
        all.take_all(self.team.slots);
        Some(covered)
    }
}
