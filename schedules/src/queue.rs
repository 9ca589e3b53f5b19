//! The executor's queue of events: a radix heap.
//!
//! Simulated time never goes back, so an event's place depends on the highest bit in which its time
//! differs from the last time that was taken (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster Algorithms
//! for the Shortest Path Problem", 1990). An event moves at most once for each bit, from one array to
//! the end of another: memory is read in order even with a million events, where a binary heap
//! jumps. Events of the same time stay in the order in which they were put in, since each move
//! keeps the order of an array, so a run is deterministic.

const BUCKETS: usize = 65;

/// Events in order of time, and those of one time in order of arrival.
#[derive(Debug)]
pub struct Queue<E> {
    last: u64,
    /// Of those at `last`: how many are taken.
    taken: usize,
    /// The time of the next event, once it was asked for.
    next: Option<u64>,
    buckets: [Vec<(u64, E)>; BUCKETS],
    spare: Vec<(u64, E)>,
}

impl<E: Copy> Default for Queue<E> {
    fn default() -> Self {
        Queue {
            last: 0,
            taken: 0,
            next: None,
            buckets: std::array::from_fn(|_| Vec::new()),
            spare: Vec::new(),
        }
    }
}

impl<E: Copy> Queue<E> {
    /// Puts an event in; its time is not before that of the last one taken.
    #[inline]
    pub fn push(&mut self, time: u64, event: E) {
        debug_assert!(time >= self.last, "time goes forward");
        if let Some(next) = &mut self.next {
            *next = time.min(*next);
        }
        self.buckets[bucket(time, self.last)].push((time, event));
    }

    /// The time of the next event. Unlike [`Queue::pop`] it leaves room for earlier ones.
    pub fn next_time(&mut self) -> Option<u64> {
        if self.taken < self.buckets[0].len() {
            return Some(self.last);
        }
        if self.next.is_none() {
            let first = self.buckets[1..].iter().find(|bucket| !bucket.is_empty())?;
            self.next = first.iter().map(|entry| entry.0).min();
        }
        self.next
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.next = None;
        if self.taken == self.buckets[0].len() {
            self.refill()?;
        }
        self.taken += 1;
        Some(self.buckets[0][self.taken - 1])
    }

    /// Lets the earliest events be the first bucket.
    fn refill(&mut self) -> Option<()> {
        self.buckets[0].clear();
        self.taken = 0;
        let first = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
        std::mem::swap(&mut self.spare, &mut self.buckets[first]);
        self.last = self.spare.iter().map(|entry| entry.0).min()?;
        for entry in self.spare.drain(..) {
            self.buckets[bucket(entry.0, self.last)].push(entry);
        }
        Some(())
    }
}

#[inline]
fn bucket(time: u64, last: u64) -> usize {
    (u64::BITS - (time ^ last).leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A stable sort is the reference.
        #[test]
        fn events_come_in_order_of_time_then_of_arrival(delays in proptest::collection::vec((0u64..40, any::<bool>()), 0..300)) {
            let mut queue = Queue::default();
            let mut reference = std::collections::BTreeSet::new();
            let mut now = 0;
            for (number, (delay, takes)) in delays.into_iter().enumerate() {
                queue.push(now + delay, number);
                reference.insert((now + delay, number));
                if takes {
                    prop_assert_eq!(queue.next_time(), reference.first().map(|first| first.0));
                    let first = reference.pop_first();
                    prop_assert_eq!(queue.pop(), first);
                    now = first.unwrap().0;
                }
            }
            prop_assert!(std::iter::from_fn(|| queue.pop()).eq(reference));
        }
    }
}
