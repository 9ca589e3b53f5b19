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
use super::messages::{Message, Opcode, SLOT_BYTES, Way};
use super::part::{Flit, Physical};

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
    pub fn new(keys: &Physical, block_bytes: usize) -> Self {
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

    /// Counts a message of so many slots with so many bytes of data, and tells for how long it takes the wires.
    fn carry(
        &self,
        way: Way,
        opcode: Opcode,
        (slots, payload): (u32, u32),
        statistics: &mut Statistics,
    ) -> Duration {
        let time = self.time(slots);
        let payload = u64::from(payload);
        statistics.messages.increment(opcode);
        statistics.slots.add(way, slots.into());
        statistics.payload.add(way, payload);
        statistics.overhead.add(way, self.bytes(slots).saturating_sub(payload));
        statistics.busy.add(way, time.as_ps());
        time
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
        let size = (message.slots(wires.block_bytes), message.data_bytes(wires.block_bytes));
        let time = wires.carry(self.way, message.opcode(), size, statistics);
        let start = self.free_at.max(now);
        self.free_at = start + time;
        log.note(|| message.on_wires(self.way, (start, self.free_at), wires));
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

/// One direction whose messages are known before they leave, and not in their order: a memory's answers, whose
/// times are computed with the requests. A message takes the first time that is free long enough.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    way: Way,
    /// When it is taken: in order, and no two of them touch.
    pub taken: VecDeque<(Time, Time)>,
}

impl Calendar {
    /// An idle one.
    pub fn new(way: Way) -> Self {
        Calendar { way, taken: VecDeque::new() }
    }

    /// A message that may leave at `now`, with so many bytes of data: when it is at the other end.
    pub fn send(
        &mut self,
        now: Time,
        (opcode, payload): (Opcode, u32),
        wires: &Wires,
        statistics: &mut Statistics,
    ) -> Time {
        let slots = 1 + payload.div_ceil(SLOT_BYTES);
        let time = wires.carry(self.way, opcode, (slots, payload), statistics);
        let start = self.take(now, time);
        statistics.wait.add(self.way, (start - now).as_ps());
        start + time + wires.latency
    }

    /// Forgets what was over before.
    pub fn forget(&mut self, before: Time) {
        while self.taken.front().is_some_and(|&(_, end)| end < before) {
            self.taken.pop_front();
        }
    }

    /// Takes the wires for so long, at `now` or later: from when on.
    fn take(&mut self, now: Time, time: Duration) -> Time {
        let mut place = self.taken.partition_point(|&(_, end)| end <= now);
        let mut start = now;
        while let Some(&(begin, end)) = self.taken.get(place).filter(|(begin, _)| *begin < start + time) {
            start = end.max(begin);
            place += 1;
        }
        let end = start + time;
        let joins = |of: Option<&(Time, Time)>, at: fn(&(Time, Time)) -> Time, own| {
            of.is_some_and(|of| at(of) == own)
        };
        let joins_former = place > 0 && joins(self.taken.get(place - 1), |of| of.1, start);
        match (joins_former, joins(self.taken.get(place), |of| of.0, end)) {
            (true, true) => {
                let (_, last) = self.taken.remove(place).expect("it is there");
                self.taken[place - 1].1 = last;
            }
            (true, false) => self.taken[place - 1].1 = end,
            (false, true) => self.taken[place].0 = start,
            (false, false) => self.taken.insert(place, (start, end)),
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_takes_the_first_gap_that_is_long_enough() {
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let mut way = Calendar::new(Way::Up);
        let mut take = |from, time| way.take(at(from), Duration::from_ns(time));
        assert_eq!(take(100, 10), at(100), "a write-back behind a read that is not over");
        assert_eq!([take(10, 5), take(12, 5)], [at(10), at(15)], "what is before it does not wait for it");
        assert_eq!(
            [take(90, 20), take(92, 8)],
            [at(110), at(92)],
            "one is too long for the gap, and one fits"
        );
        assert_eq!(way.taken, [(at(10), at(20)), (at(92), at(130))]);
        way.forget(at(50));
        assert_eq!(way.taken.len(), 1);
    }
}
