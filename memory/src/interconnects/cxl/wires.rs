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
use super::Statistics;
use super::dialect::{Dialect, Line, LinkStatistics, Taken};
use super::messages::{Channel, Message, Opcode, SLOT_BYTES, Way};
use super::part::Flit;

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
    pub fn new(line: &Line, block_bytes: usize) -> Self {
        let &Line { byte: (picoseconds, divisor), flit, latency, credit_latency } = line;
        Wires {
            picoseconds: picoseconds * flit.bytes,
            divisor: divisor * flit.slots,
            flit,
            latency,
            credit_latency,
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
    fn carry<S: LinkStatistics>(
        &self,
        way: Way,
        name: S::Name,
        (units, payload): (u32, u32),
        statistics: &mut S,
    ) -> Duration {
        let time = self.time(units);
        let payload = u64::from(payload);
        let overhead = self.bytes(units).saturating_sub(payload);
        statistics.carry(way, name, Taken { units, payload, overhead, time });
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
    /// Buffers of the other end that are free, by channel; none if there are always some.
    credits: Option<[u32; 3]>,
    /// Those of which this end knows later.
    returning: VecDeque<(Time, Channel)>,
    /// Messages that wait for a buffer, or behind one that does, since when.
    waiting: VecDeque<(Time, Message)>,
}

impl Direction {
    /// An idle one.
    pub fn new(way: Way, credits: Option<[u32; 3]>) -> Self {
        Direction {
            way,
            free_at: Time::ZERO,
            under_way: VecDeque::new(),
            credits,
            returning: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// A message crosses behind those that were sent before and have left.
    pub fn send<D: Dialect>(
        &mut self,
        now: Time,
        message: Message,
        wires: &Wires,
        of_link: (&mut D::Statistics, &mut PacketLog),
    ) {
        self.learn_of_credits(now);
        if self.must_wait(&message, self.waiting.len()) {
            return self.waiting.push_back((now, message));
        }
        self.transmit::<D>(now, (now, message), wires, of_link);
    }

    /// Whether a message has to wait for a buffer, or for one of the first `older` messages that wait.
    fn must_wait(&self, message: &Message, older: usize) -> bool {
        let Some(credits) = &self.credits else { return false };
        let Some(channel) = message.channel() else { return false };
        let keeps = |(_, older): &(Time, Message)| {
            let is_behind = older.channel() == Some(Channel::Response) && older.block() == message.block();
            older.channel() == Some(channel) || is_behind
        };
        credits[channel as usize] == 0 || self.waiting.iter().take(older).any(keeps)
    }

    fn transmit<D: Dialect>(
        &mut self,
        now: Time,
        (since, message): (Time, Message),
        wires: &Wires,
        (statistics, log): (&mut D::Statistics, &mut PacketLog),
    ) {
        if let (Some(credits), Some(channel)) = (&mut self.credits, message.channel()) {
            credits[channel as usize] -= 1;
        }
        let size = (D::units(&message, wires.block_bytes), message.data_bytes(wires.block_bytes));
        let name = D::name(&message);
        let time = wires.carry(self.way, name, size, statistics);
        let start = self.free_at.max(now);
        self.free_at = start + time;
        log.note(|| message.on_wires(D::text(name), self.way, (start, self.free_at), wires));
        statistics.wait(self.way, start - since);
        self.under_way.push_back((self.free_at + wires.latency, message));
    }

    /// The other end has a buffer of a channel free, of which this end knows at `at`.
    pub fn release(&mut self, at: Time, channel: Channel) {
        if self.credits.is_some() {
            self.returning.push_back((at, channel));
        }
    }

    fn learn_of_credits(&mut self, now: Time) {
        let Some(credits) = &mut self.credits else { return };
        while let Some(&(at, channel)) = self.returning.front()
            && at <= now
        {
            self.returning.pop_front();
            credits[channel as usize] += 1;
        }
    }

    /// Sends what may go with the buffers that are known to be free by now; whether anything has left.
    pub fn go_on<D: Dialect>(
        &mut self,
        now: Time,
        wires: &Wires,
        (statistics, log): (&mut D::Statistics, &mut PacketLog),
    ) -> bool {
        self.learn_of_credits(now);
        let (mut place, mut has_sent) = (0, false);
        while place < self.waiting.len() {
            if self.must_wait(&self.waiting[place].1, place) {
                place += 1;
                continue;
            }
            let message = self.waiting.remove(place).expect("it waits");
            self.transmit::<D>(now, message, wires, (statistics, log));
            has_sent = true;
        }
        has_sent
    }

    /// Messages that wait for buffers.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next message that has come to the other end by now.
    pub fn arrive(&mut self, now: Time) -> Option<Message> {
        let is_there = self.under_way.front().is_some_and(|(at, _)| *at <= now);
        is_there.then(|| self.under_way.pop_front()).flatten().map(|(_, message)| message)
    }

    /// When the next one comes.
    pub fn next_time(&self) -> Option<Time> {
        let arrives = self.under_way.front().map(|(at, _)| *at);
        let returns = self.returning.front().map(|(at, _)| *at).filter(|_| !self.waiting.is_empty());
        arrives.into_iter().chain(returns).min()
    }

    /// Whether it is empty at `now`.
    pub fn is_idle_at(&self, now: Time) -> bool {
        self.under_way.is_empty() && self.waiting.is_empty() && self.free_at <= now
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
        LinkStatistics::wait(statistics, self.way, start - now);
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
