//! The engine of user-level DMA: one transfer between the user's memory and a
//! FIFO.
//!
//! ```text
//!   processor stores the address   Idle ──► Named
//!   processor loads                Named ──► Waiting (the bus's master changes)
//!                                  Waiting ──► Bus ──► Waiting (the interface's memory) ──► …
//!   processor loads: busy, until   … ──► Idle
//! ```
//!
//! "Users provide authentic physical addresses to the NI via a sequence of two
//! user-level instructions: an uncached store and an uncached load" (hpca98,
//! Section 2.2.1). The engine has one block in hand at a time: it moves it
//! between bus and interface, and between interface and the FIFO's memory. The
//! first bytes to be received are at the FIFO's head already.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::half::{Context, RegisterFault};

/// What a load of a transfer's register shows: it is under way.
pub const DMA_BUSY: u64 = 1;

/// What the engine's steps take.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
pub struct DmaTimes {
    /// Until the interface is the bus's master.
    pub master_change: Duration,
    /// A block between the interface and the FIFO's memory.
    pub memory_access: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Step {
    /// Nothing is under way.
    Idle,
    /// The processor has stored an address; its load starts the transfer.
    Named(u64),
    /// The bus's master changes or the FIFO's memory works, until then.
    Waiting(Time),
    /// A block is to cross the bus.
    Bus,
    /// A block crosses the bus.
    Crossing,
}

/// The part of a transfer that lies in one block.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where the block begins.
    pub block: u64,
    /// The bytes of the block.
    pub range: std::ops::Range<usize>,
}

/// One direction's engine.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct DmaEngine {
    times: DmaTimes,
    block_bytes: u64,
    step: Step,
    /// Address of the next byte, and of the one behind the last.
    next: u64,
    end: u64,
}

impl DmaEngine {
    /// An idle engine.
    pub fn new(times: DmaTimes, block_bytes: u64) -> Self {
        DmaEngine { times, block_bytes, step: Step::Idle, next: 0, end: 0 }
    }

    /// A transfer is under way.
    pub fn is_busy(&self) -> bool {
        matches!(self.step, Step::Waiting(_) | Step::Bus | Step::Crossing)
    }

    /// A block is to cross the bus.
    pub fn wants_bus(&self) -> bool {
        self.step == Step::Bus
    }

    /// The processor's store: where in memory the next transfer begins.
    pub fn name(&mut self, address: u64) -> Result<(), RegisterFault> {
        if self.is_busy() {
            return Err(RegisterFault("a DMA address is stored while a transfer is under way".into()));
        }
        self.step = Step::Named(address);
        Ok(())
    }

    /// The processor's load: starts the transfer that was named, of `bytes`
    /// bytes, and tells whether one is under way.
    pub fn load(&mut self, context: &mut Context<'_>, bytes: Option<usize>) -> Result<u64, RegisterFault> {
        if let Step::Named(address) = self.step {
            let bytes = bytes.filter(|&bytes| bytes > 0).ok_or_else(|| {
                RegisterFault("a DMA transfer is started, and the FIFO has no payload for it".into())
            })?;
            let end = address.checked_add(bytes as u64);
            self.end =
                end.ok_or_else(|| RegisterFault(format!("a DMA transfer of {bytes} bytes at {address:#x}")))?;
            self.next = address;
            self.step = Step::Waiting(context.timer_after(self.times.master_change));
        }
        Ok(if self.is_busy() { DMA_BUSY } else { 0 })
    }

    /// What it waited for is over: true once, for each time.
    pub fn is_due(&mut self, now: Time) -> bool {
        let due = matches!(self.step, Step::Waiting(until) if until <= now);
        if due {
            self.step = if self.next == self.end { Step::Idle } else { Step::Bus };
        }
        due
    }

    /// The bus is granted: the part that crosses it now, if one is to.
    pub fn cross(&mut self) -> Option<Part> {
        if self.step != Step::Bus {
            return None;
        }
        self.step = Step::Crossing;
        Some(self.part())
    }

    /// The same part is to cross the bus once more.
    pub fn cross_again(&mut self) {
        self.step = Step::Bus;
    }

    /// The part of the transfer that is next.
    pub fn part(&self) -> Part {
        let block = self.next - self.next % self.block_bytes;
        let end = self.end.min(block + self.block_bytes);
        Part { block, range: (self.next - block) as usize..(end - block) as usize }
    }

    /// The next part has crossed the bus; the FIFO's memory follows.
    pub fn advance(&mut self, context: &mut Context<'_>) {
        self.pass();
        self.step = Step::Waiting(context.timer_after(self.times.memory_access));
    }

    /// The next part has reached the user's memory; the FIFO's memory is asked
    /// for what follows, if anything does.
    pub fn deliver(&mut self, context: &mut Context<'_>) {
        self.pass();
        self.step = match self.next == self.end {
            true => Step::Idle,
            false => Step::Waiting(context.timer_after(self.times.memory_access)),
        };
    }

    fn pass(&mut self) {
        let part = self.part();
        self.next = part.block + part.range.end as u64;
    }

    /// What it does, for a timeline; none if it is idle.
    pub fn doing(&self) -> Option<&'static str> {
        match self.step {
            Step::Idle => None,
            Step::Named(_) => Some("has a DMA's address"),
            Step::Waiting(_) => Some("DMA: works"),
            Step::Bus => Some("DMA: waits for the bus"),
            Step::Crossing => Some("DMA: moves a block"),
        }
    }

    /// The state in a line.
    pub fn describe(&self) -> String {
        match self.step {
            Step::Idle => String::new(),
            Step::Named(address) => format!("DMA at {address:#x} not started"),
            Step::Waiting(_) | Step::Bus | Step::Crossing => {
                format!("DMA at {:#x} of {} bytes", self.next, self.end - self.next)
            }
        }
    }
}
