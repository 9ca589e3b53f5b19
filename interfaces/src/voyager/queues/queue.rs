//! A physical queue: its state, and what stores and loads of its pointers do.

use serde::{Deserialize, Serialize};

use crate::voyager::layout::Direction;
use crate::voyager::registers::{
    self as register, POINTER_CONSUMER, POINTER_PRODUCER, POINTER_STATUS, QUEUE_BAD_POINTER, QUEUE_OPEN,
    SLOT_BYTES,
};

/// A physical queue's state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Queue {
    /// Its unit works on it.
    pub is_enabled: bool,
    /// Packets go to the miss queue when it is full.
    pub diverts: bool,
    /// Its messages have the network's high priority.
    pub is_urgent: bool,
    /// One has: all later ones go there, too, until CONTROL is written.
    pub has_diverted: bool,
    /// The logical queue.
    pub logical: u8,
    /// Whose it is.
    pub process: u8,
    /// Where its slots are.
    pub base: u64,
    /// Where its header doublewords are; 0 if it has none.
    pub headers: u64,
    /// Its slots, a power of two.
    pub slots: u16,
    /// Slots filled.
    pub producer: u16,
    /// Slots freed.
    pub consumer: u16,
    /// Slots that POLL_ENTRY has shown.
    pub seen: u16,
    /// A VOYAGER_STATUS number.
    pub error: u64,
    /// It is to be taken from its logical queue.
    pub(in crate::voyager) is_leaving: bool,
}

impl Queue {
    /// Slots in use.
    pub fn used(&self) -> u16 {
        self.producer.wrapping_sub(self.consumer)
    }

    /// Whether no slot is free.
    pub fn is_full(&self) -> bool {
        self.used() >= self.slots
    }

    /// The place of the slot to which a pointer points.
    pub fn place(&self, pointer: u16) -> u64 {
        u64::from(pointer & self.slots.wrapping_sub(1))
    }

    /// The SRAM address of that slot.
    pub fn slot(&self, pointer: u16) -> u64 {
        self.base + self.place(pointer) * SLOT_BYTES
    }

    /// The SRAM address of its header doubleword, if it has one.
    pub fn header(&self, pointer: u16) -> Option<u64> {
        (self.headers != 0).then(|| self.headers + self.place(pointer) * 8)
    }

    pub(super) fn is_working(&self) -> bool {
        self.is_enabled && !self.is_leaving && self.error == QUEUE_OPEN
    }

    /// A program stores a pointer of it.
    pub(super) fn store(&mut self, direction: Direction, offset: u64, value: u64) {
        let pointer = u16::try_from(value).ok();
        let step = |from: u16| pointer.map(|pointer| pointer.wrapping_sub(from));
        match (direction, offset) {
            (Direction::Transmit, POINTER_PRODUCER) => match step(self.consumer) {
                Some(used) if used <= self.slots && used >= self.used() => self.producer = value as u16,
                _ => self.error = QUEUE_BAD_POINTER,
            },
            (Direction::Receive, POINTER_CONSUMER) => match step(self.consumer) {
                Some(freed) if freed <= self.used() => self.consume(value as u16),
                _ => self.error = QUEUE_BAD_POINTER,
            },
            _ => self.error = QUEUE_BAD_POINTER,
        }
    }

    /// Its consumer moves; what is freed has been seen.
    pub(super) fn consume(&mut self, consumer: u16) {
        let seen = self.seen.wrapping_sub(self.consumer);
        if consumer.wrapping_sub(self.consumer) > seen {
            self.seen = consumer;
        }
        self.consumer = consumer;
    }

    pub(super) fn load(&self, offset: u64) -> u64 {
        match offset {
            POINTER_PRODUCER => self.producer.into(),
            POINTER_CONSUMER => self.consumer.into(),
            POINTER_STATUS => self.error,
            _ => register::NOTHING,
        }
    }
}
