//! How the leader sends the other threads to work, and learns that they rest.
//!
//! Between stretches the others spin a little, because the next one usually
//! follows at once, and then park.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};

use super::wait::ThreadWait;
use crate::simulation::group::ThreadPosition;
use crate::simulation::window::Stretch;

/// Looks for an order before a thread parks.
const SPINS: u32 = 2_000;

/// What a team is to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    /// The stretch to be simulated.
    pub stretch: Stretch,
    /// The number of its first window.
    pub first_window: u64,
}

/// The latest order.
#[derive(Debug)]
pub(super) struct Orders {
    number: AtomicU64,
    order: Mutex<Option<(Order, Vec<ThreadPosition>)>>,
    dismissed: AtomicBool,
    /// Threads that have not come to rest.
    at_work: AtomicUsize,
    others: usize,
}

impl Orders {
    /// Orders for a team of this many threads, the leader among them.
    pub fn new(threads: usize) -> Self {
        Orders {
            number: AtomicU64::new(0),
            order: Mutex::new(None),
            dismissed: AtomicBool::new(false),
            at_work: AtomicUsize::new(0),
            others: threads - 1,
        }
    }

    /// Sends the other threads to work on their partitions.
    pub fn give(&self, order: Order, places: &[ThreadPosition], workers: &[Thread]) {
        {
            let mut current = self.order.lock().expect("no thread panics with it");
            let (latest, kept) = current.get_or_insert_with(|| (order, Vec::new()));
            *latest = order;
            kept.clear();
            kept.extend_from_slice(places);
        }
        self.at_work.store(self.others, Ordering::Relaxed);
        self.number.fetch_add(1, Ordering::Release);
        workers.iter().for_each(Thread::unpark);
    }

    /// Waits for the order after number `seen`; `None` if there will be none.
    pub fn next(&self, seen: &mut u64, places: &mut Vec<ThreadPosition>, spins: bool) -> Option<Order> {
        let mut looks = if spins { SPINS } else { 0 };
        while self.number.load(Ordering::Acquire) == *seen {
            if looks > 0 {
                looks -= 1;
                std::hint::spin_loop();
            } else {
                thread::park();
            }
        }
        *seen = self.number.load(Ordering::Acquire);
        if self.dismissed.load(Ordering::Acquire) {
            return None;
        }
        let current = self.order.lock().expect("no thread panics with it");
        let (order, kept) = current.as_ref()?;
        places.clear();
        places.extend_from_slice(kept);
        Some(*order)
    }

    /// A thread has come to rest.
    pub fn rest(&self) {
        self.at_work.fetch_sub(1, Ordering::Release);
    }

    /// Waits until all have come to rest; `None` if one has panicked.
    pub fn all_rest(&self, waiting: &ThreadWait) -> Option<()> {
        waiting.until(|| self.at_work.load(Ordering::Acquire) == 0)
    }
}

/// Sends the other threads home when it is dropped, also by a panic.
pub(super) struct Dismissal<'team> {
    /// What they wait for.
    pub orders: &'team Orders,
    /// How they wait for each other.
    pub waiting: &'team ThreadWait,
    /// They.
    pub workers: &'team [Thread],
}

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.waiting.abort();
        }
        self.orders.dismissed.store(true, Ordering::Release);
        self.orders.number.fetch_add(1, Ordering::Release);
        self.workers.iter().for_each(Thread::unpark);
    }
}
