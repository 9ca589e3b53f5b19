//! The event queue: what will happen, in the order in which it will.
//!
//! At one instant, what arrives from other partitions comes first, in the order
//! of (source, sequence); then come the partition's own events, in the order in
//! which they went in. Without such a rule the heap's internal shape would
//! decide, and a change somewhere else in the model would change the result
//! here. With it a run is a function of its inputs, and it does not matter in
//! which window an envelope was handed over.
//!
//! The rest waits in a heap, but the earliest event often beside it: what is
//! scheduled as the next thing to happen, as the steps of a transaction that has
//! its bus for itself are, comes and goes without touching the heap. The heap
//! keeps its storage, so a queue in a steady state allocates nothing.
//!
//! ```
//! use narthex_kernel::{EventQueue, Time};
//!
//! let mut queue = EventQueue::new();
//! queue.schedule(Time::from_ps(20), "grant");
//! queue.schedule(Time::from_ps(10), "request");
//! queue.schedule(Time::from_ps(20), "snoop");
//! let until = Time::from_ps(30);
//! let order: Vec<_> = std::iter::from_fn(|| queue.pop_before(until)).map(|e| e.1).collect();
//! assert_eq!(order, ["request", "grant", "snoop"]);
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::archive::{Archive, Archived, Damage};
use crate::partition::Envelope;
use crate::time::Time;

/// Bits of a rank that hold an envelope's sequence number; its source is above.
const SEQUENCE_BITS: u32 = 40;
/// Ranks of own events begin here, above those of all arrivals.
const FIRST_OWN_RANK: u64 = 1 << 63;
/// From the rank of an own event to the next one's, with room between for [`EventQueue::place_before`].
const OWN_RANKS_APART: u64 = 1 << 20;

/// Events ordered by time, then arrivals before own events.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    /// The time of the earliest event; never, if there is none.
    next: Time,
    /// If there is one, it comes before all in the heap.
    first: Option<Entry<E>>,
    heap: BinaryHeap<Reverse<Entry<E>>>,
    /// The next own event's place among them; archiving counts from zero again.
    scheduled: u64,
    /// How many events have been taken.
    taken: u64,
    /// The time and the rank of the event that was taken last.
    last: (Time, u64),
}

/// A place in the order of a queue's own events, kept for one that may be scheduled later as
/// if it had been scheduled then. Archiving gives places anew: none may be kept meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace(u64);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry<E> {
    time: Time,
    /// Its place among the events of the instant.
    rank: u64,
    event: E,
}

impl<E> Entry<E> {
    fn key(&self) -> (Time, u64) {
        (self.time, self.rank)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue {
            next: Time::NEVER,
            first: None,
            heap: BinaryHeap::new(),
            scheduled: 0,
            taken: 0,
            last: (Time::ZERO, 0),
        }
    }
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `event` happen at `time`, after everything already scheduled then.
    #[inline]
    pub fn schedule(&mut self, time: Time, event: E) {
        let place = self.keep_place();
        self.schedule_in(place, time, event);
    }

    /// Keeps the place that an event would have which is scheduled now.
    #[inline]
    pub fn keep_place(&mut self) -> EventPlace {
        let rank = own_rank(self.scheduled);
        self.scheduled += 1;
        EventPlace(rank)
    }

    /// A place before this one, and behind all others before it. If places were made before the
    /// same one already, `behind` is the last of them that the new one is to follow. None if there
    /// is no room left, which may be after 20 of them ([`EventQueue::make_room_before`]).
    pub fn place_before(
        &self,
        EventPlace(rank): EventPlace,
        behind: Option<EventPlace>,
    ) -> Option<EventPlace> {
        let least = rank - OWN_RANKS_APART;
        let behind = behind.map_or(least, |EventPlace(behind)| behind.max(least));
        (rank - behind > 1).then_some(EventPlace(behind + (rank - behind) / 2))
    }

    /// Moves the places that were made before the same one as `place`, or before it, so that there is
    /// as much room between any two of them; their events, which wait, keep their order. `places`
    /// are all of them, in order, and are none elsewhere; others among them stay.
    #[cold]
    pub fn make_room_before<'a>(
        &mut self,
        EventPlace(rank): EventPlace,
        places: impl Iterator<Item = &'a mut EventPlace>,
    ) {
        let end = rank.next_multiple_of(OWN_RANKS_APART);
        let start = end - OWN_RANKS_APART;
        let mut moved: Vec<&mut EventPlace> =
            places.filter(|EventPlace(own)| (start + 1..end).contains(own)).collect();
        let apart = OWN_RANKS_APART / (moved.len() as u64 + 1);
        let new = |own: u64| {
            let number = moved.binary_search_by_key(&own, |EventPlace(rank)| *rank).ok()?;
            Some(start + (number as u64 + 1) * apart)
        };
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        let waiting = entries.iter_mut().map(|Reverse(entry)| entry).chain(&mut self.first);
        waiting.for_each(|entry| entry.rank = new(entry.rank).unwrap_or(entry.rank));
        self.heap = entries.into();
        (1..).zip(&mut moved).for_each(|(number, place)| place.0 = start + number * apart);
    }

    /// Lets `event` happen at `time`, in a place that was kept for it.
    #[inline]
    pub fn schedule_in(&mut self, EventPlace(rank): EventPlace, time: Time, event: E) {
        self.insert(Entry { time, rank, event });
    }

    /// Whether an event at `time`, in this place, would have come before the one that was
    /// taken last.
    #[inline]
    pub fn has_passed(&self, time: Time, EventPlace(rank): EventPlace) -> bool {
        (time, rank) < self.last
    }

    #[inline(always)]
    fn insert(&mut self, entry: Entry<E>) {
        let is_next = entry.time < self.next || self.first.as_ref().is_some_and(|first| entry < *first);
        let later = if is_next {
            self.next = entry.time;
            self.first.replace(entry)
        } else {
            Some(entry)
        };
        if let Some(later) = later {
            self.heap.push(Reverse(later));
        }
    }

    /// Lets what an envelope carries arrive, as the event that `event` makes of it.
    pub fn receive<P>(&mut self, envelope: Envelope<P>, event: impl FnOnce(P) -> E) {
        let Envelope { arrival, source, sequence, payload, .. } = envelope;
        debug_assert!((source as u64) < FIRST_OWN_RANK >> SEQUENCE_BITS && sequence >> SEQUENCE_BITS == 0);
        let rank = (source as u64) << SEQUENCE_BITS | sequence;
        self.insert(Entry { time: arrival, rank, event: event(payload) });
    }

    /// Keeps the waiting events for which `keep` says so.
    pub fn retain(&mut self, keep: impl Fn(&E) -> bool) {
        self.heap.extend(self.first.take().map(Reverse));
        self.heap.retain(|Reverse(entry)| keep(&entry.event));
        self.find_next();
    }

    /// The time of the earliest event. One at [`Time::NEVER`] does not happen.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        (self.next < Time::NEVER).then_some(self.next)
    }

    /// The same as an instant: never, if there is none.
    #[inline]
    pub fn next_instant(&self) -> Time {
        self.next
    }

    /// So many events have happened that would have been the next, and were not scheduled for
    /// that.
    #[inline]
    pub fn pass(&mut self, events: u64) {
        self.taken += events;
    }

    /// Takes the earliest event, if it happens strictly before `until`.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<(Time, E)> {
        if self.next >= until {
            return None;
        }
        self.taken += 1;
        let entry = self.first.take().or_else(|| self.heap.pop().map(|Reverse(entry)| entry))?;
        self.find_next();
        self.last = entry.key();
        Some((entry.time, entry.event))
    }

    /// All events are in the heap.
    #[inline]
    fn find_next(&mut self) {
        self.next = self.heap.peek().map_or(Time::NEVER, |Reverse(entry)| entry.time);
    }

    /// How many events have been taken from it; no part of what is archived.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// How many events are waiting.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.heap.len()
    }

    /// Whether nothing is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The waiting events in no particular order, for explanations of hangs.
    pub fn iter(&self) -> impl Iterator<Item = (Time, &E)> {
        let waiting = self.first.iter().chain(self.heap.iter().map(|Reverse(entry)| entry));
        waiting.map(|entry| (entry.time, &entry.event))
    }
}

/// The rank of the own event with this number.
fn own_rank(number: u64) -> u64 {
    FIRST_OWN_RANK + (number + 1) * OWN_RANKS_APART
}

/// The events in their order. The heap's shape and the number of events that
/// have been have no part in it: queues that will do the same have one archive.
impl<E: Serialize + DeserializeOwned> Archived for EventQueue<E> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let EventQueue { next: _, first, heap, scheduled, taken: _, last: _ } = self;
        heap.extend(first.take().map(Reverse));
        let mut entries = std::mem::take(heap).into_sorted_vec();
        *scheduled = 0;
        for Reverse(entry) in entries.iter_mut().rev().filter(|Reverse(entry)| entry.rank >= FIRST_OWN_RANK) {
            entry.rank = own_rank(*scheduled);
            *scheduled += 1;
        }
        archive.value(&mut entries)?;
        *heap = entries.into();
        archive.value(scheduled)?;
        self.find_next();
        Ok(())
    }
}

impl<E> Extend<(Time, E)> for EventQueue<E> {
    /// Schedules each of the events, in order.
    fn extend<I: IntoIterator<Item = (Time, E)>>(&mut self, events: I) {
        events.into_iter().for_each(|(time, event)| self.schedule(time, event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_event_at_the_horizon_stays() {
        let mut queue = EventQueue::new();
        queue.schedule(Time::from_ps(5), ());
        assert_eq!(queue.pop_before(Time::from_ps(5)), None);
        assert_eq!(queue.next_time(), Some(Time::from_ps(5)));
        assert_eq!(queue.taken(), 0);
        assert_eq!(queue.pop_before(Time::from_ps(6)), Some((Time::from_ps(5), ())));
        assert!(queue.is_empty());
    }

    #[test]
    fn queues_that_will_do_the_same_have_one_archive() {
        let (early, late) = (Time::from_ps(5), Time::from_ps(7));
        let (mut fresh, mut used) = (EventQueue::new(), EventQueue::new());
        fresh.extend([(early, 'a'), (late, 'b'), (late, 'c')]);
        used.extend([(Time::ZERO, 'x'), (late, 'b'), (early, 'a'), (late, 'c')]);
        used.pop_before(early);
        let saved = Archive::save(&mut fresh).unwrap();
        assert_eq!(Archive::save(&mut used).unwrap(), saved);
        let mut restored = EventQueue::new();
        Archive::restore(&saved, &mut restored).unwrap();
        restored.schedule(late, 'd');
        let order = std::iter::from_fn(|| restored.pop_before(Time::NEVER)).map(|entry| entry.1);
        assert_eq!(String::from_iter(order), "abcd");
    }

    #[test]
    fn an_event_is_scheduled_before_others_that_were_scheduled_sooner() {
        let at = Time::from_ps(5);
        let mut queue = EventQueue::new();
        queue.schedule(at, 'a');
        let (c, f) = (queue.keep_place(), queue.keep_place());
        queue.schedule_in(f, at, 'f');
        queue.schedule_in(c, at, 'c');
        let e = queue.place_before(f, Some(c)).unwrap();
        queue.schedule_in(e, at, 'e');
        let d = queue.place_before(e, Some(c)).unwrap();
        queue.schedule_in(d, at, 'd');
        let b = queue.place_before(c, None).unwrap();
        queue.schedule_in(b, at, 'b');
        let order = std::iter::from_fn(|| queue.pop_before(Time::NEVER)).map(|entry| entry.1);
        assert_eq!(String::from_iter(order), "abcdef");
    }

    #[test]
    fn any_number_of_events_is_scheduled_before_the_same_one_in_any_order() {
        for backwards in [true, false] {
            let mut queue = EventQueue::new();
            let at = Time::from_ps(5);
            let mut places = vec![queue.keep_place()];
            queue.schedule_in(places[0], at, 1_000);
            for number in 0..200 {
                let position = if backwards { 0 } else { places.len() - 1 };
                let made = |queue: &EventQueue<u32>, places: &[EventPlace]| {
                    let sooner = position.checked_sub(1).map(|sooner| places[sooner]);
                    queue.place_before(places[position], sooner)
                };
                let place = made(&queue, &places).unwrap_or_else(|| {
                    queue.make_room_before(places[position], places.iter_mut());
                    made(&queue, &places).expect("there is room now")
                });
                places.insert(position, place);
                queue.schedule_in(place, at, if backwards { 200 - number } else { number });
            }
            let order: Vec<u32> =
                std::iter::from_fn(|| queue.pop_before(Time::from_ps(9))).map(|event| event.1).collect();
            assert!(order.is_sorted() && order.len() == 201, "{order:?}");
        }
    }

    #[test]
    fn arrivals_come_before_own_events_by_source_then_sequence() {
        let mut queue = EventQueue::new();
        let arrival = Time::from_ps(5);
        queue.schedule(arrival, (9, 9));
        for (source, sequence) in [(1, 0), (0, 7), (0, 3)] {
            let envelope =
                Envelope { arrival, source, sequence, destination: 0, payload: (source, sequence) };
            queue.receive(envelope, |payload| payload);
        }
        let order: Vec<_> =
            std::iter::from_fn(|| queue.pop_before(Time::NEVER)).map(|entry| entry.1).collect();
        assert_eq!(order, [(0, 3), (0, 7), (1, 0), (9, 9)]);
        assert_eq!(queue.taken(), 4);
    }

    #[test]
    fn a_steady_state_allocates_nothing() {
        let mut queue = EventQueue::new();
        for time in 0..64 {
            queue.schedule(Time::from_ps(time), time);
        }
        let capacity = queue.heap.capacity();
        for time in 64..10_000 {
            queue.pop_before(Time::NEVER).unwrap();
            queue.schedule(Time::from_ps(time), time);
        }
        assert_eq!(queue.heap.capacity(), capacity);
    }

    proptest! {
        /// What is scheduled between other events comes out in the same order as
        /// what was there before.
        #[test]
        fn events_that_are_scheduled_meanwhile_find_their_place(
            steps in proptest::collection::vec((0u64..6, any::<bool>(), any::<bool>()), 0..200),
        ) {
            let mut queue = EventQueue::new();
            let mut reference = std::collections::BTreeMap::new();
            let mut now = 0;
            for (sequence, (delay, arrives, takes)) in (0..).zip(steps) {
                let arrival = Time::from_ps(now + delay);
                if arrives {
                    let envelope =
                        Envelope { arrival, source: 0, sequence, destination: 0, payload: sequence };
                    queue.receive(envelope, |payload| payload);
                } else {
                    queue.schedule(arrival, sequence);
                }
                reference.insert((arrival, !arrives, sequence), sequence);
                let first = reference.keys().next().copied();
                prop_assert_eq!(queue.next_time(), first.map(|(time, ..)| time));
                if takes && let Some(first) = first {
                    reference.remove(&first);
                    prop_assert_eq!(queue.pop_before(Time::NEVER), Some((first.0, first.2)));
                    now = first.0.as_ps();
                }
                prop_assert_eq!(queue.len(), reference.len());
            }
        }

        /// Few distinct times make many ties; the stable sort is the reference.
        #[test]
        fn events_come_out_as_a_stable_sort_would_put_them(
            times in proptest::collection::vec(0u64..16, 0..200),
            horizons in proptest::collection::vec(0u64..18, 0..8),
        ) {
            let mut queue = EventQueue::new();
            let mut reference: Vec<(Time, usize)> =
                times.iter().map(|&time| Time::from_ps(time)).zip(0..).collect();
            for &(time, event) in &reference {
                queue.schedule(time, event);
            }
            reference.sort_by_key(|entry| entry.0);
            let mut popped = Vec::new();
            for horizon in horizons.into_iter().chain([u64::MAX]).map(Time::from_ps) {
                while let Some(entry) = queue.pop_before(horizon) {
                    prop_assert!(entry.0 < horizon);
                    popped.push(entry);
                }
                prop_assert!(queue.next_time().is_none_or(|next| next >= horizon));
            }
            prop_assert_eq!(popped, reference);
        }
    }
}
