//! Why nothing retires: the time of a core with a window, by cause.
//!
//! In a cycle in which no instruction leaves the window, the oldest one is not complete, and the cycle
//! belongs to what keeps that one. Where it follows a mispredicted branch, the time until it is dispatched is the
//! branch's. So each cycle has one cause, and with the cycles in which anything retires they add up to the run
//! (Eyerman et al., "A Performance Counter Architecture for Computing Accurate CPI Components", ASPLOS 2006, count
//! the same way at dispatch).
//!
//! ```text
//!   instruction   n-1 complete            n complete
//!                  │◄──── the cause of n ────►│ busy │
//!   frontier ──────┘                                 └── frontier
//! ```
//!
//! Instructions whose result comes late note their cause when they are executed; what has none is kept by its
//! operands and its own latency. The window's account ([`super::scoreboard`]) calls here when an instruction
//! leaves behind a cycle in which none did. Nothing here changes when an instruction begins.

use narthex_kernel::{Archive, Archived, Category, Damage, categories};
use narthex_memory::processor_memory::WaitReason;
use narthex_memory::processor_memory::misses::MOST_MISSES;
use serde::{Deserialize, Serialize};

use super::config::MOST_ENTRIES;
use super::scoreboard::Scoreboard;
use crate::extensions::Kind;

categories! {
    /// What keeps the oldest instruction of a window.
    pub enum Stall {
        /// Its operands and its latency, hits of the first level included.
        Execution = "execution",
        /// A branch before it was mispredicted: it has not been dispatched.
        Mispredict = "mispredicted branch",
        /// Its line of code is not in the first level.
        Fetch = "instruction fetch",
        /// A load that the second level answers.
        SecondLevel = "load, second level",
        /// A load that the last level answers.
        LastLevel = "load, last level",
        /// A load that memory answers.
        Memory = "load, memory",
        /// A load that last level or memory of another socket answers.
        OtherSocket = "load, other socket",
        /// A load that the cache of another processor answers.
        OtherCache = "load, another cache",
        /// A load of a block that a device answers.
        Device = "load, device",
        /// A load whose answer has not come yet when the account is looked at, or came by another access.
        Load = "load, other",
        /// A load that found all miss registers (MSHRs) taken.
        MissRegisters = "miss registers full",
        /// A store, without a queue for it, or that the second level takes.
        Store = "store",
        /// The store queue or buffer: it is full, or has to drain before.
        StoreBuffer = "store buffer full",
        /// A load from a register of a device.
        MmioRead = "MMIO read",
        /// A store to a register of a device that is not posted yet.
        MmioWrite = "MMIO write",
        /// A fence, or an operation on a cache block.
        Fence = "fence",
        /// An atomic access.
        Atomic = "atomic",
        /// A system call; the thread sleeps, or there is none.
        System = "system call or no thread",
    }
}

impl Stall {
    /// What an instruction of this kind waits for that has to be executed again.
    pub(crate) fn of(reason: WaitReason, kind: Kind) -> Stall {
        match (reason, kind) {
            (WaitReason::InstructionMiss, _) => Stall::Fetch,
            (_, Kind::Atomic) => Stall::Atomic,
            (_, Kind::Other) => Stall::Fence,
            (WaitReason::StoreBuffer, _) => Stall::StoreBuffer,
            (WaitReason::Uncached, Kind::Store) => Stall::MmioWrite,
            (WaitReason::Uncached, _) => Stall::MmioRead,
            (WaitReason::DataMiss, Kind::Store) => Stall::Store,
            (WaitReason::DataMiss, _) => Stall::MissRegisters,
        }
    }
}

/// What keeps an instruction.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Mark {
    number: u64,
    /// Until when something else does: a mispredicted branch before it, or the system.
    first: (Stall, u64),
    stall: Stall,
}

impl Mark {
    fn new(number: u64) -> Self {
        Mark { number, first: (Stall::Execution, 0), stall: Stall::Execution }
    }
}

/// Slots in which nothing retired, by cause.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    slots: [u64; Stall::COUNT],
    /// A ring, by the numbers of instructions.
    marks: Box<[Mark; MOST_ENTRIES as usize]>,
    /// What brings, or brought, the block of each miss register.
    pub of_blocks: [Stall; MOST_MISSES],
    /// Up to where the account was closed.
    closed: u64,
    /// What is executed ahead leaves no trace.
    pub is_ahead: bool,
}

/// Where the mark of an instruction is.
fn place(number: u64) -> usize {
    number as usize & (MOST_ENTRIES as usize - 1)
}

impl Stalls {
    pub fn new() -> Self {
        Stalls {
            slots: [0; Stall::COUNT],
            marks: Box::new([Mark::new(u64::MAX); MOST_ENTRIES as usize]),
            of_blocks: [Stall::Load; MOST_MISSES],
            closed: 0,
            is_ahead: false,
        }
    }

    fn mark_of(&mut self, number: u64) -> &mut Mark {
        let mark = &mut self.marks[place(number)];
        if mark.number != number {
            *mark = Mark::new(number);
        }
        mark
    }

    /// Instruction `number` is kept by this.
    pub fn mark(&mut self, number: u64, stall: Stall) {
        if !self.is_ahead {
            self.mark_of(number).stall = stall;
        }
    }

    /// Whether something else than this is known to keep it.
    pub fn waits_for_another(&mut self, number: u64, stall: Stall) -> bool {
        ![Stall::Execution, stall].contains(&self.mark_of(number).stall)
    }

    /// Instruction `number` is kept by this until `slot`, if nothing else is known to keep it.
    pub fn mark_until(&mut self, number: u64, stall: Stall, slot: u64) {
        if !self.is_ahead && !self.waits_for_another(number, Stall::Execution) {
            self.mark_of(number).first = (stall, slot);
        }
    }

    /// Nothing retired from `from` to `to`, because instruction `number` was not complete.
    pub fn book(&mut self, number: u64, from: u64, to: u64) {
        let from = from.max(self.closed);
        if self.is_ahead || from >= to {
            return;
        }
        let mark = &self.marks[place(number)];
        if mark.number != number {
            self.slots[Stall::Execution.index()] += to - from;
            return;
        }
        let (first, until) = mark.first;
        let until = until.clamp(from, to);
        self.slots[first.index()] += until - from;
        self.slots[mark.stall.index()] += to - until;
    }
}

impl Scoreboard {
    /// Books the time up to `now`, also of instructions that are in the window, and of the next one.
    pub fn close_stalls(&mut self, now: u64) -> &[u64] {
        let mut from = self.frontier;
        for number in self.oldest..self.next {
            if from >= now {
                break;
            }
            let completed = self.completed[Self::place(number)];
            self.stalls.book(number, from, completed.saturating_sub(self.width).min(now));
            from = from.max(completed);
        }
        self.stalls.book(self.next, from, now);
        self.stalls.closed = self.stalls.closed.max(now);
        &self.stalls.slots
    }
}

impl Archived for Stalls {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Stalls { slots, marks, of_blocks, closed, is_ahead: _ } = self;
        archive.value(slots)?;
        archive.each(&mut marks[..])?;
        archive.value(of_blocks)?;
        archive.value(closed)
    }
}
