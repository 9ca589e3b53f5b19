//! A receive queue of a process: its ring, when its descriptors are written back, and its interrupt.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::{Job, WriteBack};
use crate::half::{Context, RegisterFault};
use crate::ring::descriptors::Ring;
use crate::ring::interrupts::{INTERRUPT_REGISTERS, RingInterrupt};
use crate::ring::{RECEIVE_REGISTERS, ring_register, store_to_register};
use crate::vectors::Vectors;

const INTERRUPT: u64 = INTERRUPT_REGISTERS[0].1;
const VECTOR: u64 = INTERRUPT_REGISTERS[1].1;

/// A receive queue.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct ReceiveQueue {
    pub(super) ring: Ring,
    pub(super) interrupt: RingInterrupt,
    /// By which its message leaves.
    pub(super) vector: u8,
    /// Until when a descriptor that is done waits for others.
    pub(super) waits_until: Option<Time>,
    /// Whether descriptors are being written back, until none that is done is left.
    pub(super) writes_back: bool,
}

impl ReceiveQueue {
    /// One without descriptors.
    pub fn new(ring: Ring, interrupt: RingInterrupt, vector: u8) -> Self {
        ReceiveQueue { ring, interrupt, vector, waits_until: None, writes_back: false }
    }

    /// What the driver loads from a register, by its offset in queue 0.
    pub fn load(&self, offset: u64) -> Option<u64> {
        match offset {
            INTERRUPT => Some(self.interrupt.load()),
            VECTOR => Some(self.vector.into()),
            _ => ring_register(&RECEIVE_REGISTERS, offset).map(|(_, register)| self.ring.load(register)),
        }
    }

    /// The driver stores to a register, by its offset in queue 0: whether it is a doorbell, and what is wrong
    /// with it.
    pub fn store(
        &mut self,
        offset: u64,
        value: u64,
        vectors: &Vectors,
    ) -> Option<(bool, Result<(), RegisterFault>)> {
        match offset {
            INTERRUPT => Some((false, self.interrupt.store(value))),
            VECTOR => Some((false, self.store_vector(value, vectors))),
            _ => store_to_register(&mut self.ring, &RECEIVE_REGISTERS, (offset, value), true),
        }
    }

    fn store_vector(&mut self, value: u64, vectors: &Vectors) -> Result<(), RegisterFault> {
        if !vectors.has(value) {
            let name = INTERRUPT_REGISTERS[1].0;
            return Err(RegisterFault(format!(
                "{name} is stored with {value}; expected one of the process's vectors, one for each receive queue where \
                 the machine has interrupts (interfaces.ring.notify)"
            )));
        }
        self.vector = value as u8;
        Ok(())
    }

    /// The next descriptor is done, and has this control. Whether that begins a write-back.
    pub fn finish(&mut self, context: &mut Context<'_>, control: u64, rule: WriteBack) -> bool {
        self.ring.finish(control);
        if self.ring.unwritten() >= rule.batch || rule.time == Duration::ZERO {
            return self.begin_to_write_back();
        }
        if self.waits_until.is_none() && !self.writes_back {
            self.waits_until = Some(context.timer_after(rule.time));
        }
        false
    }

    /// An instant has come: whether the first descriptor that is done waits no longer, and whether a write-back begins.
    pub fn look_at_time(&mut self, now: Time) -> (bool, bool) {
        let is_late = self.waits_until.is_some_and(|at| at <= now);
        (is_late, is_late && self.begin_to_write_back())
    }

    fn begin_to_write_back(&mut self) -> bool {
        let begins = !self.writes_back;
        (self.writes_back, self.waits_until) = (true, None);
        begins
    }

    /// A block of descriptors has been written back, up to this number.
    pub fn written_back(&mut self, context: &mut Context<'_>, until: u64) {
        let before = self.ring.unwritten();
        self.ring.mark_written(until);
        let packets = before - self.ring.unwritten();
        context.timers.extend(self.interrupt.written_back(context.now, packets));
        self.writes_back = self.ring.unwritten() > 0;
    }

    /// Its driver made a mistake: it receives no more.
    pub fn give_up(&mut self) {
        self.ring.give_up();
        self.writes_back = false;
    }

    /// The write-back that it wants, as queue `own`.
    pub fn write_back(&self, own: u8) -> Option<Job> {
        self.writes_back.then(|| Job::WriteBack { queue: own, until: self.ring.block_to_write().2 })
    }

    /// The read that it wants, as queue `own`.
    pub fn read(&self, own: u8) -> Option<Job> {
        let fetch = self.ring.next_fetch().map(|fetch| Job::Descriptors { queue: own, fetch });
        fetch.or_else(|| self.ring.tail_to_read().map(Job::Tail))
    }
}
