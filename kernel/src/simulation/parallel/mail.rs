//! Mail between threads: a box for each sender, receiver and window of the ring.
//!
//! The reports say when a box belongs to its sender and when to its receiver, so
//! its lock is always free; it is there to show the compiler, and costs as much
//! as the cache line that moves anyway. A box without mail is not touched.

use std::sync::{Mutex, MutexGuard};

use super::board::RING;
use crate::partition::Envelope;

type Mailbox<P> = Mutex<Vec<Envelope<P>>>;

/// All boxes.
#[derive(Debug)]
pub(super) struct Mail<P> {
    threads: usize,
    boxes: Vec<[Mailbox<P>; RING]>,
}

impl<P> Mail<P> {
    /// Boxes for this many threads.
    pub fn new(threads: usize) -> Self {
        let boxes = (0..threads * threads).map(|_| std::array::from_fn(|_| Mutex::default())).collect();
        Mail { threads, boxes }
    }

    /// The box from one thread to another for a window.
    pub fn open(&self, from: usize, to: usize, window: u64) -> MutexGuard<'_, Vec<Envelope<P>>> {
        let mailbox = &self.boxes[from * self.threads + to][window as usize % RING];
        mailbox.try_lock().expect("a box belongs to one thread at a time")
    }
}
