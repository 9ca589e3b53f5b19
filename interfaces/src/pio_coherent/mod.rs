//! Lines of a coherent interface whose loads it holds: [`send`] and [`receive`] are the two halves, and
//! [`crate::models::pio_coherent`] says how they are programmed.
//!
//! Each half has two lines, which take turns. A *line* is a *control block*, which has the packet's
//! header and the beginning of its payload, and *overflow blocks* for the rest. A load of the control
//! block that is next is what tells the interface that the other one is done.
//!
//! **A load is held by the home.** The interface is told of the request for its block, and answers that it
//! is later ([`SnoopReply::later`](narthex_memory::SnoopReply::later)); when it has an answer, it lets the
//! directory go on ([`Effects::resumed`](crate::on_chip::Effects::resumed)). Requests for this block wait
//! behind it, the interface's own among them. So a half holds no load of a block while it still needs a
//! transaction on that block: it would wait for itself.

pub mod receive;
pub mod send;

use std::ops::Range;

use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind};
use serde::{Deserialize, Serialize};

use crate::address_names::{Region, RegionParts};
use crate::cachable_queue::device_memory::DeviceMemory;
use crate::description::Layout;
use crate::half::Context;

/// Lines of a half.
pub const LINES: usize = 2;
/// The control word of a send line that the processor may fill. No header is equal: that of a packet
/// without bytes is the last one of its message.
pub const LINE_IS_FREE: u64 = 1;

/// What a half is made of.
#[derive(Debug)]
pub struct Parts {
    /// Its place on the interconnect.
    pub agent: AgentId,
    /// Its lines, in memory of the interface.
    pub lines: Lines,
    /// The engine's work on a packet.
    pub engine_time: Duration,
    /// The longest time for which it holds a load.
    pub time_out: Duration,
}

/// The two lines of a half, whose home the interface is.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Lines {
    memory: DeviceMemory,
    line_bytes: u64,
}

impl Lines {
    /// Empty lines of these bytes, a multiple of a block's, behind each other.
    pub fn new(start: u64, line_bytes: u64, block_bytes: u64, access_time: Duration) -> Self {
        let range = start..start + LINES as u64 * line_bytes;
        Lines { memory: DeviceMemory::new(range, block_bytes as usize, access_time), line_bytes }
    }

    /// The address of a line's control block.
    fn control(&self, line: usize) -> u64 {
        self.memory.range().start + line as u64 * self.line_bytes
    }

    /// The line whose control block this is; none if it is an overflow block.
    fn line_of_control(&self, block: u64) -> Option<usize> {
        (0..LINES).find(|&line| self.control(line) == block)
    }

    /// All blocks of a line, its control block first.
    fn blocks(&self, line: usize) -> impl Iterator<Item = u64> + use<> {
        let Range { start, end } = self.control(line)..self.control(line) + self.line_bytes;
        (start..end).step_by(self.memory.block_bytes())
    }

    /// A block of a line of which a processor may have a copy.
    fn copied_block(&self, line: usize) -> Option<u64> {
        self.blocks(line).find(|&block| self.memory.must_invalidate(block))
    }

    /// Gives a line's first blocks these bytes. No processor has a copy of them.
    fn write(&mut self, line: usize, bytes: &[u8]) {
        let size = self.memory.block_bytes();
        for (address, part) in self.blocks(line).zip(bytes.chunks(size)) {
            let mut block = BlockData::zeroed(size);
            block[..part.len()].copy_from_slice(part);
            self.memory.produce(address, &block);
        }
    }

    fn layout(&self, name: &'static str, transactions: &[Kind]) -> Layout {
        let range = self.memory.range();
        Layout {
            cachable: vec![range.clone()],
            home: vec![range.clone()],
            holds: true,
            entries: LINES as u64,
            regions: vec![Region { name, addresses: range, parts: RegionParts::Entries(self.line_bytes) }],
            transactions: transactions.to_vec(),
            ..Layout::default()
        }
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        if self.memory.range().contains(&address) { self.memory.latest(address) } else { None }
    }
}

/// A load that is held, or none, and its time-out.
///
/// At most one instant is awaited: one that an earlier load has asked for is waited for first.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Hold {
    time_out: Duration,
    since: Option<Time>,
    deadline: Time,
    alarm: Option<Time>,
}

impl Hold {
    fn new(time_out: Duration) -> Self {
        Hold { time_out, since: None, deadline: Time::ZERO, alarm: None }
    }

    fn is_active(&self) -> bool {
        self.since.is_some()
    }

    /// A load is held from now on.
    fn begin(&mut self, context: &mut Context<'_>) {
        self.since = Some(context.now);
        self.deadline = context.now + self.time_out;
        self.arm(context);
    }

    fn arm(&mut self, context: &mut Context<'_>) {
        if self.alarm.is_none() {
            context.timers.push(self.deadline);
            self.alarm = Some(self.deadline);
        }
    }

    /// An instant has come: whether the load has been held for long enough.
    fn is_timed_out(&mut self, context: &mut Context<'_>) -> bool {
        self.alarm.take_if(|at| *at <= context.now);
        let is_over = self.is_active() && self.deadline <= context.now;
        if self.is_active() && !is_over {
            self.arm(context);
        }
        is_over
    }

    /// The load is answered: for how long it was held.
    fn end(&mut self, now: Time) -> Option<Duration> {
        self.since.take().map(|since| now - since)
    }
}
