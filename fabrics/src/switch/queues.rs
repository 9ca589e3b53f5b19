//! The buffers of a switch's inputs, and the queues in them.

use std::collections::VecDeque;

use narthex_kernel::{Archive, Archived, Damage, Time};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::QueueKind;
use crate::parcel::Parcel;

/// A lane of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Slot {
    /// The input.
    pub input: u16,
    /// The lane in its buffer.
    pub lane: u8,
}

/// A parcel in a queue. Its lane is the one that it is to take next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waiting<C> {
    /// The parcel.
    pub parcel: Parcel<C>,
    /// The output that it needs.
    pub output: u16,
    /// Since when it may leave: it is at the head, and the one before it has left.
    pub since: Time,
    /// When it came.
    pub came: Time,
}

/// What waited in the buffers of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputStatistics {
    /// Parcels that came.
    pub parcels: u64,
    /// The largest number of bytes that a lane's buffer held.
    pub most_bytes: u64,
    /// Bytes times the nanoseconds for which they were there, all lanes together.
    pub byte_ns: u64,
    /// Parcels that found no room and were lost, where switches drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// How often its senders were stopped, where switches pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<u64>,
    /// Parcels that were marked, where switches mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<u64>,
}

/// How full a lane's buffer is, and was.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Occupancy {
    parcels: u64,
    bytes: u32,
    most_bytes: u32,
    /// Bytes times picoseconds up to `until`; those of parcels that leave are counted ahead.
    byte_ps: i128,
    until: Time,
}

impl Occupancy {
    /// Lets time pass to `now`.
    fn pass(&mut self, now: Time) {
        self.byte_ps += i128::from(self.bytes) * i128::from(now.saturating_since(self.until).as_ps());
        self.until = self.until.max(now);
    }
}

/// Parcels that leave one after the other. Mostly one waits alone: so the first is beside the others,
/// where the host finds it with its queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Queue<C> {
    first: Option<Waiting<C>>,
    behind: VecDeque<Waiting<C>>,
    /// When the last byte of the parcel that left last has left, or will have.
    left: Time,
}

impl<C> Queue<C> {
    fn new() -> Self {
        Queue { first: None, behind: VecDeque::new(), left: Time::ZERO }
    }

    fn waiting(&self) -> impl Iterator<Item = &Waiting<C>> {
        self.first.iter().chain(&self.behind)
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Waiting<C>> {
        let first = self.first.take();
        if !self.behind.is_empty() {
            self.first = self.behind.pop_front();
        }
        first
    }
}

/// All queues of a switch.
pub struct Queues<C> {
    lanes: usize,
    /// Queues of a lane: one, or one for each output.
    per_lane: usize,
    queues: Vec<Queue<C>>,
    occupancies: Vec<Occupancy>,
}

impl<C> Queues<C> {
    pub(super) fn new(ports: u16, lanes: u8, kind: QueueKind) -> Self {
        let per_lane = match kind {
            QueueKind::Single => 1,
            QueueKind::ByOutput => usize::from(ports),
        };
        let slots = usize::from(ports) * usize::from(lanes);
        Queues {
            lanes: lanes.into(),
            per_lane,
            queues: (0..slots * per_lane).map(|_| Queue::new()).collect(),
            occupancies: vec![Occupancy::default(); slots],
        }
    }

    /// The number of a lane of an input.
    #[inline]
    pub(super) fn index(&self, slot: Slot) -> usize {
        usize::from(slot.input) * self.lanes + usize::from(slot.lane)
    }

    /// The lane of an input with this number.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Slot {
        Slot { input: (index / self.lanes) as u16, lane: (index % self.lanes) as u8 }
    }

    #[inline]
    fn queue(&self, index: usize, output: u16) -> usize {
        index * self.per_lane + if self.per_lane == 1 { 0 } else { usize::from(output) }
    }

    /// The parcel of a lane's buffer that is next for an output.
    #[inline]
    pub(super) fn head(&self, index: usize, output: u16) -> &Waiting<C> {
        self.queues[self.queue(index, output)].first.as_ref().expect("a candidate waits")
    }

    /// Puts a parcel into its queue. If it is at the head, says when it may ask for its
    /// output.
    pub(super) fn push(&mut self, now: Time, slot: Slot, output: u16, parcel: Parcel<C>) -> Option<Time> {
        let index = self.index(slot);
        let occupancy = &mut self.occupancies[index];
        occupancy.pass(now);
        occupancy.parcels += 1;
        occupancy.bytes += parcel.bytes;
        occupancy.most_bytes = occupancy.most_bytes.max(occupancy.bytes);
        let queue = self.queue(index, output);
        let queue = &mut self.queues[queue];
        let since = now.max(queue.left);
        let waiting = Waiting { parcel, output, since, came: now };
        if queue.first.is_some() {
            queue.behind.push_back(waiting);
            return None;
        }
        queue.first = Some(waiting);
        Some(since)
    }

    /// Takes the parcel of a lane's buffer that is next for an output.
    pub(super) fn pop(&mut self, slot: Slot, output: u16) -> Waiting<C> {
        let queue = self.queue(self.index(slot), output);
        self.queues[queue].pop().expect("a candidate waits")
    }

    /// The bytes of a parcel leave a buffer from `now` until `left`. The one behind it is
    /// at the head then: when it may ask, and for which output.
    pub(super) fn leave(
        &mut self,
        (slot, output): (Slot, u16),
        bytes: u32,
        now: Time,
        left: Time,
    ) -> Option<(Time, u16)> {
        let index = self.index(slot);
        let occupancy = &mut self.occupancies[index];
        occupancy.pass(now);
        occupancy.bytes -= bytes;
        occupancy.byte_ps += i128::from(bytes) * i128::from((left - now).as_ps());
        let queue = self.queue(index, output);
        let queue = &mut self.queues[queue];
        queue.left = left;
        let next = queue.first.as_mut()?;
        next.since = next.since.max(left);
        Some((next.since, next.output))
    }

    pub(super) fn statistics(&self, port: usize, end: Time) -> InputStatistics {
        let mut sum = InputStatistics::default();
        for occupancy in &self.occupancies[port * self.lanes..(port + 1) * self.lanes] {
            let mut occupancy = *occupancy;
            occupancy.pass(end);
            sum.parcels += occupancy.parcels;
            sum.most_bytes = sum.most_bytes.max(occupancy.most_bytes.into());
            sum.byte_ns += (occupancy.byte_ps / 1_000) as u64;
        }
        sum
    }

    /// All parcels, with the lane of an input in which each is.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Slot, &Waiting<C>)> {
        let queues = self.queues.iter().enumerate();
        queues.flat_map(|(number, queue)| {
            let slot = self.slot(number / self.per_lane);
            queue.waiting().map(move |waiting| (slot, waiting))
        })
    }

    /// The lanes of inputs with a parcel at the head of a queue, and its output.
    pub(super) fn heads(&self) -> impl Iterator<Item = (usize, u16)> {
        let queues = self.queues.iter().enumerate();
        queues.filter_map(|(number, queue)| Some((number / self.per_lane, queue.first.as_ref()?.output)))
    }

    pub(super) fn parcels(&self) -> impl Iterator<Item = &Parcel<C>> {
        self.queues.iter().flat_map(Queue::waiting).map(|waiting| &waiting.parcel)
    }
}

impl<C: Serialize + DeserializeOwned> Archived for Queues<C> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Queues { lanes, per_lane: _, queues, occupancies } = self;
        let ports = occupancies.len() / *lanes;
        archive.each(queues.iter_mut())?;
        archive.each(occupancies.iter_mut())?;
        let is_whole = |queue: &Queue<C>| queue.first.is_some() || queue.behind.is_empty();
        archive.ensure(queues.iter().all(is_whole), "a queue has no first parcel")?;
        let mut waiting = queues.iter().flat_map(Queue::waiting);
        let outputs = waiting.all(|waiting| usize::from(waiting.output) < ports);
        archive.ensure(outputs, "a parcel waits for an output that its switch has not")
    }
}
