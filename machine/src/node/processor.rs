//! A processor of a node, with what is its own: caches, ledger, and its seats on
//! interconnects.

use narthex_cores::{Config, InOrder, Processor};
use narthex_kernel::{Duration, Ledger, Time};
use narthex_memory::ProcessorMemory;
use narthex_memory::interconnects::{InterconnectId, MemoryId};
use narthex_memory::processor_memory::Traffic;
use serde::{Deserialize, Serialize};

use crate::activity::{Activities, Activity, Occupation};

/// A processor with everything that is its own.
pub struct NodeProcessor {
    /// The processor.
    pub processor: Processor<InOrder>,
    /// Its caches and store buffer.
    pub memory: ProcessorMemory,
    /// Where its time went.
    pub ledger: Ledger<(Activity, Occupation)>,
    pub(super) activities: Activities,
    pub(super) state: State,
    pub(super) seats: ProcessorSeats,
    /// What it adds to an access for which it waits on a bus.
    pub(super) blocking_access_time: Duration,
}

/// Where a processor sits.
#[derive(Clone, Debug)]
pub struct ProcessorSeats {
    /// The interconnect of its caches, and the transactions that it carries.
    pub caches: (InterconnectId, Traffic),
    /// Its own path to a device, which carries the uncached accesses.
    pub private: Option<InterconnectId>,
    /// The memory in which its program is.
    pub memory: MemoryId,
}

impl ProcessorSeats {
    /// Those of a processor whose transactions cross one interconnect all.
    pub fn on(interconnect: InterconnectId, memory: MemoryId) -> Self {
        ProcessorSeats { caches: (interconnect, Traffic::All), private: None, memory }
    }

    /// Those of one whose uncached accesses cross a path of their own.
    pub fn with_private_path(self, path: InterconnectId) -> Self {
        ProcessorSeats { caches: (self.caches.0, Traffic::Blocks), private: Some(path), ..self }
    }

    /// The transactions that cross an interconnect.
    #[inline]
    pub fn traffic(&self, on: InterconnectId) -> Traffic {
        let (caches, traffic) = self.caches;
        if on == caches { traffic } else { Traffic::Uncached }
    }
}

/// What a processor is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum State {
    /// It executes instructions.
    Running,
    /// Its access is done: it repeats it before the next event.
    Woken,
    /// It waits for an interconnect.
    Waiting,
    /// Its process has ended.
    Exited,
}

impl NodeProcessor {
    /// A processor about to execute its first instruction.
    pub fn new(
        config: &Config,
        processor: Processor<InOrder>,
        memory: ProcessorMemory,
        seats: ProcessorSeats,
    ) -> Self {
        NodeProcessor {
            processor,
            memory,
            ledger: Ledger::new(Time::ZERO, (Activity::Application, Occupation::Execute)),
            activities: Activities::default(),
            state: State::Running,
            seats,
            blocking_access_time: config.clock.clock().cycles(config.blocking_access_cycles),
        }
    }

    /// What its ledger books now.
    pub(super) fn booked(&self) -> (Activity, Occupation) {
        let (activity, occupation) =
            (self.ledger.current() / Occupation::ALL.len(), self.ledger.current() % Occupation::ALL.len());
        (Activity::ALL[activity], Occupation::ALL[occupation])
    }

    /// Whether it has anything to do before `limit`.
    pub(super) fn is_active(&self, limit: Time) -> bool {
        match self.state {
            State::Woken => true,
            State::Running => self.processor.now() < limit,
            State::Waiting | State::Exited => false,
        }
    }
}
