//! The crossbar between the inputs and the outputs of a switch, where it is not ideal.
//!
//! ```text
//!   input ─► lane 0 ▤▤▤ ─┐ ways            speed-up ┌─ lane 0 ▤ ─┐
//!            lane 1 ▤   ─┴──────► crossbar ────────►┴─ lane 1   ─┴─► link
//! ```
//!
//! Without the keys of this file all queues of an input may send at once, and a parcel goes from its
//! queue straight to the link. `input_ways` limits how many leave an input at once (the input
//! speed-up of Dally and Towles, Section 17.2). `output_queues` puts a queue of each lane behind the crossbar,
//! which carries a parcel there `speed_up` times as fast as a link: an input is free again before the
//! link is, so fewer parcels block others (combined input and output queues; Chuang, Goel, McKeown and
//! Prabhakar, "Matching Output Queueing with a Combined Input/Output-Queued Switch", 1999).
//!
//! **Time.** Crossing takes no time for the head: a parcel that meets no other leaves as soon as
//! without output queues. Its bytes cross at the crossbar's speed, but not before they have come.

use std::collections::VecDeque;

use narthex_kernel::{Archive, Archived, Bytes, Damage, Time};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Arbitration;
use super::queues::Waiting;
use crate::link::{Sender, Timing};
use crate::parcel::Parcel;

/// Queues between the crossbar and the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputQueues {
    /// The queue of each lane of an output: at least one parcel.
    pub buffer: Bytes,
    /// How many times as fast as a link the crossbar is.
    #[schemars(range(min = 1, max = 16))]
    pub speed_up: u32,
}

/// When each input can send its next parcel into the crossbar.
#[derive(Debug)]
pub(super) struct InputWays {
    per_input: usize,
    free_at: Vec<Time>,
}

impl InputWays {
    pub fn new(ports: u16, per_input: u32) -> Self {
        let per_input = per_input as usize;
        InputWays { per_input, free_at: vec![Time::ZERO; usize::from(ports) * per_input] }
    }

    fn of(&mut self, input: u16) -> &mut [Time] {
        let first = usize::from(input) * self.per_input;
        &mut self.free_at[first..first + self.per_input]
    }

    /// When one is free.
    pub fn free_at(&self, input: u16) -> Time {
        let first = usize::from(input) * self.per_input;
        *self.free_at[first..first + self.per_input].iter().min().expect("an input has a way")
    }

    /// A parcel takes one until `left`.
    pub fn take(&mut self, input: u16, left: Time) {
        *self.of(input).iter_mut().min().expect("an input has a way") = left;
    }
}

impl Archived for InputWays {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let InputWays { per_input: _, free_at } = self;
        archive.each(free_at.iter_mut())
    }
}

/// The queues of an output.
#[derive(Debug)]
pub(super) struct Stage<C> {
    speed_up: u32,
    /// When the crossbar can bring the next parcel.
    free_at: Time,
    /// Bytes that fit into the queue of each lane.
    room: Vec<u32>,
    lanes: Vec<VecDeque<Waiting<C>>>,
    /// The lane at which turns begin.
    turn: usize,
}

impl<C> Stage<C> {
    pub fn new(config: OutputQueues, lanes: u8) -> Self {
        Stage {
            speed_up: config.speed_up,
            free_at: Time::ZERO,
            room: vec![config.buffer.as_u64() as u32; lanes.into()],
            lanes: (0..lanes).map(|_| VecDeque::new()).collect(),
            turn: 0,
        }
    }

    /// When the crossbar is free, or was.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    pub fn has_room(&self, parcel: &Parcel<C>) -> bool {
        self.room[usize::from(parcel.lane)] >= parcel.bytes
    }

    /// A parcel that has come as a whole at `whole_at` crosses from `now` on: when its last byte has left
    /// its input.
    pub fn take_in(&mut self, now: Time, timing: &Timing, waiting: Waiting<C>, whole_at: Time) -> Time {
        let bytes = waiting.parcel.bytes;
        self.room[usize::from(waiting.parcel.lane)] -= bytes;
        self.free_at = (now + timing.crossing(bytes, self.speed_up)).max(whole_at);
        self.lanes[usize::from(waiting.parcel.lane)].push_back(waiting);
        self.free_at
    }

    /// Gives the link to a parcel for which there is room behind it.
    pub fn decide(&mut self, sender: &Sender, arbitration: Arbitration) -> Option<Waiting<C>> {
        let lanes = self.lanes.len();
        let in_turn = (0..lanes).map(|step| (self.turn + step) % lanes);
        let mut best: Option<(usize, &Parcel<C>)> = None;
        for lane in in_turn {
            let Some(Waiting { parcel, .. }) = self.lanes[lane].front() else { continue };
            if !sender.has_room_for(parcel) {
                continue;
            }
            let is_better = best.is_none_or(|(best, other)| {
                parcel.priority > other.priority
                    || (parcel.priority == other.priority
                        && arbitration == Arbitration::Age
                        && (parcel.handed_over, lane) < (other.handed_over, best))
            });
            if is_better {
                best = Some((lane, parcel));
            }
        }
        let (lane, _) = best?;
        self.turn = lane + 1;
        self.lanes[lane].pop_front()
    }

    /// The last byte of a parcel has left on the link.
    pub fn has_left(&mut self, lane: u8, bytes: u32) {
        self.room[usize::from(lane)] += bytes;
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Waiting<C>> {
        self.lanes.iter().flatten()
    }
}

impl<C: Serialize + DeserializeOwned> Archived for Stage<C> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Stage { speed_up: _, free_at, room, lanes, turn } = self;
        archive.value(free_at)?;
        archive.each(room.iter_mut())?;
        archive.each(lanes.iter_mut())?;
        archive.value(turn)?;
        archive.ensure(*turn <= lanes.len(), "an output's turn is at a lane that there is not")
    }
}
