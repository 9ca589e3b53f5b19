//! What the lanes of a switch's inputs hold, where their senders do not count it: which parcels are let
//! in, and which senders are stopped ([`crate::backpressure`]).

use narthex_kernel::{Archive, Archived, Damage, Time};
use serde::{Deserialize, Serialize};

use super::queues::Slot;
use crate::backpressure::{self, Backpressure};
use crate::link::Sender;
use crate::parcel::Credit;

/// A lane of an input.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Lane {
    bytes: u32,
    /// Those of parcels that are leaving, and when the last byte of each has left.
    leaving: Vec<(Time, u32)>,
    /// Its sender was stopped.
    is_stopped: bool,
    /// Parcels that found no room.
    pub dropped: u64,
    /// How often its sender was stopped.
    pub pauses: u64,
}

impl Lane {
    /// What has left at `now` makes room for what comes then.
    fn settle(&mut self, now: Time) {
        let Lane { bytes, leaving, .. } = self;
        leaving.retain(|&(left, of)| {
            let is_there = left > now;
            *bytes -= if is_there { 0 } else { of };
            is_there
        });
    }
}

/// All lanes of all inputs.
#[derive(Debug)]
pub(super) struct Held {
    rule: backpressure::Config,
    buffer_bytes: u32,
    /// By number ([`super::Queues::index`]).
    pub lanes: Vec<Lane>,
}

impl Held {
    pub fn new(rule: &backpressure::Config, buffer_bytes: u32, slots: usize) -> Self {
        Held { rule: rule.clone(), buffer_bytes, lanes: vec![Lane::default(); slots] }
    }

    /// Whether parcels may be lost.
    pub fn loses(&self) -> bool {
        self.rule.loses()
    }

    /// Whether a parcel of this many bytes is let into a lane; it is there from now on.
    pub fn admits(&mut self, now: Time, index: usize, bytes: u32) -> bool {
        let lane = &mut self.lanes[index];
        lane.settle(now);
        let is_admitted = self.rule.admits(lane.bytes, bytes, self.buffer_bytes);
        match is_admitted {
            true => lane.bytes += bytes,
            false => lane.dropped += 1,
        }
        // A pause's headroom was checked when the machine was loaded (`Backpressure::least_buffer`).
        debug_assert!(lane.bytes <= self.buffer_bytes, "the headroom of a pause was too small");
        is_admitted
    }

    /// What the sender of a lane is told that holds more now; `port` is its own.
    pub fn stop(&mut self, index: usize, slot: Slot, port: u16) -> Option<Credit> {
        let lane = &mut self.lanes[index];
        let stops = !lane.is_stopped && self.rule.stops(lane.bytes);
        lane.is_stopped |= stops;
        lane.pauses += u64::from(stops);
        stops.then_some(Credit { port, lane: slot.lane, bytes: 0 })
    }

    /// The last byte of a parcel leaves a lane at `left`: whether its sender may be told something
    /// then.
    pub fn leave(&mut self, index: usize, bytes: u32, left: Time) -> bool {
        self.lanes[index].leaving.push((left, bytes));
        !self.rule.loses()
    }

    /// It has left: what the sender of the lane is told.
    pub fn go_on(&mut self, now: Time, index: usize, slot: Slot, port: u16) -> Option<Credit> {
        let lane = &mut self.lanes[index];
        lane.settle(now);
        let goes_on = lane.is_stopped && self.rule.lets_go_on(lane.bytes);
        lane.is_stopped &= !goes_on;
        goes_on.then_some(Credit { port, lane: slot.lane, bytes: Sender::ANY })
    }
}

impl Archived for Held {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Held { rule: _, buffer_bytes: _, lanes } = self;
        archive.each(lanes.iter_mut())
    }
}
