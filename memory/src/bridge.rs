//! The bridge between a node's memory bus and its I/O bus (isca96, Section 4.1).
//!
//! ```text
//!   processors, main memory                    devices
//!   ──────────────┬── memory bus          ────────┬── I/O bus
//!                 │                               │
//!                 ├── read: holds both buses ─────┤
//!                 ├── down: writes, upgrades ────►┤
//!                 └◄─ up: writes, invalidations ──┘
//! ```
//!
//! "The bridge buffers writes and coherent invalidations, but blocks on reads.
//! When transactions are simultaneously initiated on the two buses, the I/O
//! bridge NACKs the I/O bus transaction to prevent deadlock. Fairness is
//! preserved by ensuring that the next I/O bus transaction succeeds."
//!
//! Only transactions for addresses behind the bridge cross it downwards; those
//! of devices all cross it upwards, because a processor may cache their blocks.
//!
//! **Order.** What crosses in one direction stays in order. A processor's
//! transaction for the I/O side begins when nothing is in the upward buffer:
//! the bridge comes first on the memory bus as long as there is. So a processor
//! that has read a device sees every invalidation from before that, which the
//! handshake of cachable device registers relies on (isca96, Section 2.1). A
//! device's transaction begins when nothing is in the downward buffer, likewise.
//!
//! **Refusal.** As long as a processor's transaction is on the memory bus and
//! still needs the I/O bus or a place in the buffer, a device's transaction that
//! has not passed the bridge is refused. The bridge keeps it for its device,
//! which puts it on the bus again. That is no worse than to issue it anew: a
//! device behind a bridge caches nothing (isca96, Section 2.3), so that it only
//! reads blocks and makes them go, which is right at any later instant.
//!
//! **Fairness.** After a refusal the bridge takes the memory bus next, and keeps
//! it until a device's transaction has passed.
//!
//! The bridge has no clock. It says what it wants and what is next; who owns the
//! buses says when: [`Timing`] has the times.

mod config;
mod steps;
mod timing;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::transaction::{AgentId, Transaction};

pub use config::Config;
pub use steps::{End, OnMemory, Start, Turn};
pub use timing::{Answerer, Timing};

narthex_kernel::statistics! {
    /// What crossed a bridge.
    pub struct Statistics {
        reads: Counter, "bridge_reads", "transactions", "processors' reads that held both buses";
        posted_down: Counter, "bridge_writes_down", "transactions", "processors' writes and invalidations that were buffered";
        posted_up: Counter, "bridge_writes_up", "transactions", "devices' writes and invalidations that were buffered";
        refusals: Counter, "bridge_nacks", "transactions", "devices' transactions that were refused because a processor's crossed";
        stalls: Counter, "bridge_stalls", "transactions", "writes and invalidations that found the buffer full";
    }
}

/// A processor's transaction for the I/O side that is on the memory bus.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Downward {
    transaction: Transaction,
    stage: DownwardStage,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum DownwardStage {
    /// A write crosses the memory bus.
    Posting,
    /// A write holds the memory bus until there is room for it.
    Stalled,
    /// A read's address crosses the memory bus.
    Addressing,
    /// A read waits for the I/O bus.
    Waiting,
    /// A read is on both buses.
    Reading,
}

/// A device's transaction that is on the I/O bus.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Upward {
    transaction: Transaction,
    stage: UpwardStage,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum UpwardStage {
    /// It has not passed the bridge.
    Asking,
    /// It is a write, and there is no room for it.
    Stalled,
    /// It is a read, and has both buses.
    Reading,
    /// It will have to be put on the bus again.
    Refused,
}

/// What the bridge has the memory bus for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Holding {
    Write,
    Read,
    /// For the next transaction of a device.
    Reserved,
}

/// A bridge: what it holds, and who has which bus through it.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Bridge {
    downward_entries: usize,
    upward_entries: usize,
    is_fair: bool,
    /// On the way to the I/O bus, oldest first.
    down: VecDeque<Transaction>,
    /// On the way to the memory bus, oldest first.
    up: VecDeque<Transaction>,
    downward: Option<Downward>,
    upward: Option<Upward>,
    holding: Option<Holding>,
    /// Refused ones, that their devices put on the bus again.
    refused: Vec<Transaction>,
    /// A device's transaction was refused, and none has passed since.
    owes: bool,
    /// What crossed so far.
    pub statistics: Statistics,
}

impl Bridge {
    /// An empty bridge.
    pub fn new(config: &Config) -> Self {
        Bridge {
            downward_entries: config.downward_entries as usize,
            upward_entries: config.upward_entries as usize,
            is_fair: true,
            down: VecDeque::new(),
            up: VecDeque::new(),
            downward: None,
            upward: None,
            holding: None,
            refused: Vec::new(),
            owes: false,
            statistics: Statistics::default(),
        }
    }

    /// The same bridge without its fairness: what a checker shows to starve.
    pub fn unfair(self) -> Self {
        Bridge { is_fair: false, ..self }
    }

    /// A processor's transaction for the I/O side is granted the memory bus.
    pub fn start(&mut self, transaction: Transaction) -> Start {
        debug_assert!(self.downward.is_none() && self.up.is_empty());
        self.refuse();
        let (stage, start) = match transaction.kind.is_posted() {
            true if self.down.len() < self.downward_entries => (DownwardStage::Posting, Start::Posts),
            true => {
                self.statistics.stalls.increment();
                (DownwardStage::Stalled, Start::Stalls)
            }
            false => (DownwardStage::Addressing, Start::Reads),
        };
        self.downward = Some(Downward { transaction, stage });
        start
    }

    /// Refuses the device's transaction on the I/O bus, if it has not passed.
    fn refuse(&mut self) {
        let passing =
            |upward: &&mut Upward| matches!(upward.stage, UpwardStage::Asking | UpwardStage::Stalled);
        if let Some(upward) = self.upward.as_mut().filter(passing) {
            upward.stage = UpwardStage::Refused;
            self.owes = self.is_fair;
            self.statistics.refusals.increment();
        }
    }

    /// Whether a processor's transaction may come to it now. Where several do, they wait for each other,
    /// and for what is on its way up; and for the device whose turn it is.
    pub fn admits_processors(&self) -> bool {
        self.downward.is_none() && self.up.is_empty() && !self.owes
    }

    /// The processor's transaction on the memory bus.
    pub fn crossing(&self) -> Option<&Transaction> {
        self.downward.as_ref().map(|downward| &downward.transaction)
    }

    /// A processor's write has crossed the memory bus.
    pub fn post(&mut self) {
        debug_assert!(self.is_downward(DownwardStage::Posting));
        self.down.extend(self.downward.take().map(|downward| downward.transaction));
        self.statistics.posted_down.increment();
    }

    /// The address of a processor's read has arrived at the bridge.
    pub fn read_arrives(&mut self) {
        debug_assert!(self.is_downward(DownwardStage::Addressing));
        self.advance_downward(DownwardStage::Waiting);
        self.statistics.reads.increment();
    }

    fn is_downward(&self, stage: DownwardStage) -> bool {
        self.downward.as_ref().is_some_and(|downward| downward.stage == stage)
    }

    fn advance_downward(&mut self, stage: DownwardStage) {
        if let Some(downward) = &mut self.downward {
            downward.stage = stage;
        }
    }

    /// Whether the bridge needs the I/O bus; it comes before the devices.
    pub fn wants_io(&self) -> bool {
        !self.down.is_empty() || self.is_downward(DownwardStage::Waiting)
    }

    /// The bridge has the I/O bus: what crosses it. [`Bridge::io_over`] follows.
    pub fn next_on_io(&mut self) -> Option<Transaction> {
        if let Some(oldest) = self.down.front() {
            return Some(oldest.clone());
        }
        if !self.is_downward(DownwardStage::Waiting) {
            return None;
        }
        self.advance_downward(DownwardStage::Reading);
        self.downward.as_ref().map(|downward| downward.transaction.clone())
    }

    /// What crossed the I/O bus for the bridge is over. True: there is room for
    /// the write that has waited on the memory bus, which crosses it now.
    pub fn io_over(&mut self) -> bool {
        if self.is_downward(DownwardStage::Reading) {
            self.downward = None;
            return false;
        }
        self.down.pop_front();
        let makes_room = self.is_downward(DownwardStage::Stalled);
        if makes_room {
            self.advance_downward(DownwardStage::Posting);
        }
        makes_room
    }

    /// Whether a device may have the I/O bus. After a refusal it waits until it
    /// would not be refused again.
    pub fn admits_devices(&self) -> bool {
        !(self.owes && self.downward.is_some())
    }

    /// Whether this device has to put a transaction on the bus again.
    pub fn has_refused(&self, agent: AgentId) -> bool {
        self.refused.iter().any(|transaction| transaction.agent == agent)
    }

    /// The transaction that this device has to put on the bus again.
    pub fn take_refused(&mut self, agent: AgentId) -> Option<Transaction> {
        let place = self.refused.iter().position(|transaction| transaction.agent == agent)?;
        Some(self.refused.remove(place))
    }

    /// A device has the I/O bus and puts its transaction on it. False: it is
    /// refused at its address.
    pub fn device_starts(&mut self, transaction: Transaction) -> bool {
        debug_assert!(self.upward.is_none() && self.down.is_empty());
        self.upward = Some(Upward { transaction, stage: UpwardStage::Asking });
        if self.downward.is_some() {
            self.refuse();
        }
        !self.is_refused()
    }

    /// Whether the device's transaction on the I/O bus is refused.
    pub fn is_refused(&self) -> bool {
        self.upward.as_ref().is_some_and(|upward| upward.stage == UpwardStage::Refused)
    }

    /// A device's tenure of the I/O bus is over, if the bridge says so too.
    pub fn device_ends(&mut self) -> End {
        let Upward { transaction, stage } = self.upward.take().expect("a device has the I/O bus");
        match stage {
            UpwardStage::Refused => {
                self.refused.push(transaction);
                End::Refused
            }
            UpwardStage::Reading => End::Read,
            UpwardStage::Asking | UpwardStage::Stalled if self.up.len() < self.upward_entries => {
                self.up.push_back(transaction);
                self.owes = false;
                self.statistics.posted_up.increment();
                End::Buffered
            }
            UpwardStage::Asking | UpwardStage::Stalled => {
                self.upward = Some(Upward { transaction, stage: UpwardStage::Stalled });
                self.statistics.stalls.increment();
                End::Stalled
            }
        }
    }

    /// Whether and how the bridge asks for the memory bus.
    pub fn wants_memory(&self) -> Option<Turn> {
        if self.holding.is_some() {
            None
        } else if !self.up.is_empty() || self.owes {
            Some(Turn::First)
        } else {
            self.is_read_asking().then_some(Turn::InOrder)
        }
    }

    /// Whether the bridge has the memory bus, for a transaction of a device or to
    /// keep it for one.
    pub fn has_memory(&self) -> bool {
        self.holding.is_some()
    }

    fn is_read_asking(&self) -> bool {
        let asks =
            |upward: &Upward| upward.stage == UpwardStage::Asking && !upward.transaction.kind.is_posted();
        self.upward.as_ref().is_some_and(asks)
    }

    /// The bridge has the memory bus, newly or still: what it does with it.
    /// After a write or a read, [`Bridge::memory_over`] follows.
    pub fn next_on_memory(&mut self) -> OnMemory {
        let (holding, next) = if let Some(oldest) = self.up.front() {
            (Some(Holding::Write), OnMemory::Write(oldest.clone()))
        } else if self.is_read_asking()
            && let Some(read) = &mut self.upward
        {
            read.stage = UpwardStage::Reading;
            let transaction = read.transaction.clone();
            self.owes = false;
            (Some(Holding::Read), OnMemory::Read(transaction))
        } else if self.owes {
            (Some(Holding::Reserved), OnMemory::Keep)
        } else {
            (None, OnMemory::Nothing)
        };
        self.holding = holding;
        next
    }

    /// Whether the bridge keeps the memory bus for a device, which may go on.
    pub fn keeps_memory(&self) -> bool {
        self.holding == Some(Holding::Reserved)
    }

    /// The bridge's part on the memory bus is over. True: there is room for the
    /// device's write that has waited on the I/O bus.
    pub fn memory_over(&mut self) -> bool {
        if self.holding.take() != Some(Holding::Write) {
            return false;
        }
        self.up.pop_front();
        self.upward.as_ref().is_some_and(|upward| upward.stage == UpwardStage::Stalled)
    }

    /// The newest bytes of a block on their way to a device. Functional, for
    /// system calls and debuggers.
    pub fn peek(&self, block: u64) -> Option<&[u8]> {
        let crossing = self.downward.iter().map(|downward| &downward.transaction);
        let newest_first = crossing.chain(self.down.iter().rev());
        newest_first
            .filter(|transaction| transaction.address == block)
            .find_map(|transaction| transaction.data.as_deref())
    }

    /// What the bridge holds, for a run that gets nowhere.
    pub fn describe(&self) -> String {
        let (down, up) = (self.down.len(), self.up.len());
        let on_memory = if self.downward.is_some() { ", a processor's access crosses it" } else { "" };
        let on_io = match &self.upward {
            Some(Upward { stage: UpwardStage::Refused, .. }) => ", a device's transaction is refused",
            Some(_) => ", a device's transaction crosses it",
            None => "",
        };
        format!("bridge: {down} writes on their way to the I/O bus, {up} to the memory bus{on_memory}{on_io}")
    }
}

#[cfg(test)]
mod tests;
