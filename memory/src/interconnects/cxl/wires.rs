//! One direction of a CXL link: its flits, and the messages in them, in order.
//!
//! ```text
//!   send ─► slots of flits (one message after the other) ── both ports, wires ──► the other end
//! ```
//!
//! All messages of a direction stay in order. The specification orders less: it promises that
//! a snoop stays behind a GO for its block, and lets channels pass each other otherwise. Nothing here waits for
//! a buffer of the other end but stores to registers, so one queue excludes no progress.

use std::collections::VecDeque;

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::super::link_packets::PacketLog;
use super::super::pcie::link::flit_byte;
use super::Statistics;
use super::messages::{Message, Way};
use super::part::{Flit, Keys};

/// The time of messages, in either direction.
#[derive(Clone, Debug)]
pub(super) struct Wires {
    /// The time of a slot in picoseconds, times `divisor`.
    picoseconds: u64,
    divisor: u64,
    flit: Flit,
    /// From the end of a message on the wires until the other end works on it.
    pub latency: Duration,
    /// From when a buffer is free at one end until the other one knows.
    pub credit_latency: Duration,
    pub block_bytes: u32,
}

impl Wires {
    /// Those of a machine's file.
    pub fn new(keys: &Keys, block_bytes: usize) -> Self {
        let (picoseconds, rate) = flit_byte(keys.generation);
        let flit = keys.flit_format().expect("checked with the machine");
        Wires {
            picoseconds: picoseconds * flit.bytes,
            divisor: rate * u64::from(keys.lanes) * flit.slots,
            flit,
            latency: keys.host_port_latency + keys.link_latency + keys.device_port_latency,
            credit_latency: keys.link_latency,
            block_bytes: block_bytes as u32,
        }
    }

    /// The bytes that so many slots take of flits.
    fn bytes(&self, slots: u32) -> u64 {
        (u64::from(slots) * self.flit.bytes).div_ceil(self.flit.slots)
    }

    /// The time of so many slots, in whole picoseconds.
    fn time(&self, slots: u32) -> Duration {
        Duration::from_ps((u64::from(slots) * self.picoseconds).div_ceil(self.divisor))
    }
}

/// One direction.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Direction {
    way: Way,
    /// When the last message is off the wires.
    free_at: Time,
    /// Messages, with the times at which they reach the other end.
    under_way: VecDeque<(Time, Message)>,
}

impl Direction {
    /// An idle one.
    pub fn new(way: Way) -> Self {
        Direction { way, free_at: Time::ZERO, under_way: VecDeque::new() }
    }

    /// A message crosses behind those that were sent before.
    pub fn send(
        &mut self,
        now: Time,
        message: Message,
        wires: &Wires,
        (statistics, log): (&mut Statistics, &mut PacketLog),
    ) {
        let slots = message.slots(wires.block_bytes);
        let time = wires.time(slots);
        let start = self.free_at.max(now);
        self.free_at = start + time;
        let taken = (start, self.free_at);
        log.note(|| message.on_wires(self.way, taken, wires));
        statistics.messages.increment(message.opcode());
        statistics.slots.add(self.way, slots.into());
        let payload = u64::from(message.data_bytes(wires.block_bytes));
        statistics.payload.add(self.way, payload);
        statistics.overhead.add(self.way, wires.bytes(slots).saturating_sub(payload));
        statistics.busy.add(self.way, time.as_ps());
        statistics.wait.add(self.way, (start - now).as_ps());
        self.under_way.push_back((self.free_at + wires.latency, message));
    }

    /// The next message that has come to the other end by now.
    pub fn arrive(&mut self, now: Time) -> Option<Message> {
        let is_there = self.under_way.front().is_some_and(|(at, _)| *at <= now);
        is_there.then(|| self.under_way.pop_front()).flatten().map(|(_, message)| message)
    }

    /// When the next one comes.
    pub fn next_time(&self) -> Option<Time> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// Whether it is empty at `now`.
    pub fn is_idle_at(&self, now: Time) -> bool {
        self.under_way.is_empty() && self.free_at <= now
    }
}
