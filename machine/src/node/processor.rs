//! A processor of a node, with what is its own: caches, ledger, and its ports on
//! interconnects.

use narthex_cores::{AnyProcessor, Config};
use narthex_kernel::{Category, Clock, Duration, Ledger, Time};
use narthex_memory::ProcessorMemory;
use narthex_memory::interconnects::{InterconnectId, MemoryId};
use narthex_memory::processor_memory::{DirectFills, Traffic};
use serde::{Deserialize, Serialize};

use super::stalls::Sources;
use super::waiting::WaitLoop;
use crate::activity::{Activities, Activity, Occupation, Resource, Spent};

/// A processor with everything that is its own.
pub struct NodeProcessor {
    /// The processor.
    pub processor: AnyProcessor,
    /// Its caches and store buffer.
    pub memory: ProcessorMemory,
    /// Where its time went.
    pub ledger: Ledger<(Activity, Spent)>,
    /// What answers the transaction that it has issued last.
    pub(super) answerer: Resource,
    /// From where the blocks of its loads came, if it has a window.
    pub(super) sources: Option<Box<Sources>>,
    /// When its ledger was closed at the run's end: why nothing had retired, by cause.
    pub(super) closed_stalls: Vec<Duration>,
    pub(super) activities: Activities,
    pub(super) state: State,
    /// How often its threads have fallen asleep.
    pub(super) sleeps: u64,
    /// The place among the node's of the process whose threads it runs.
    pub(super) process: usize,
    pub(super) ports: ProcessorPorts,
    /// What it adds to an access for which it waits on a bus.
    pub(super) blocking_access_time: Duration,
    /// What it adds to a miss besides: the look into its second-level cache.
    pub(super) look_up_time: Duration,
    /// The clocks at whose edges its interconnects are granted.
    pub(super) grant_clocks: Vec<Clock>,
    /// After a grant, no other part notices its transaction sooner.
    pub(super) notice_delay: Duration,
    /// What its exchanges with memory and accesses to registers take, if it may be alone with its bus.
    pub(super) exchanges: Option<DirectFills>,
    /// What is known about the loop in which its program waits.
    pub(super) waiting: WaitLoop,
    /// How long it had polled when the run was found without progress.
    pub(super) polled_before: Option<Duration>,
    /// The instruction before which it has paused for probes, if it has not gone on since.
    pub(super) paused_at: Option<u64>,
}

/// Where a processor sits.
#[derive(Clone, Debug)]
pub struct ProcessorPorts {
    /// The interconnect of its caches, and the transactions that it carries.
    pub caches: (InterconnectId, Traffic),
    /// Its own path to a device, which carries the uncached accesses.
    pub private: Option<InterconnectId>,
    /// The memory in which its program is.
    pub memory: MemoryId,
}

impl ProcessorPorts {
    /// Those of a processor whose transactions cross one interconnect all.
    pub fn on(interconnect: InterconnectId, memory: MemoryId) -> Self {
        ProcessorPorts { caches: (interconnect, Traffic::All), private: None, memory }
    }

    /// Those of one whose uncached accesses cross a path of their own.
    pub fn with_private_path(self, path: InterconnectId) -> Self {
        ProcessorPorts { caches: (self.caches.0, Traffic::Blocks), private: Some(path), ..self }
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
    /// Its thread calls the system, which answers when all other processors have come
    /// to that instant; or it has faulted, and its process ends then.
    Calling,
    /// Its thread sleeps in a system call.
    Sleeping,
    /// No thread has it.
    Vacant,
    /// It waits for an interrupt.
    Idle,
    /// Its process has ended.
    Exited,
}

impl NodeProcessor {
    /// A processor about to execute its first instruction.
    pub fn new(
        config: &Config,
        processor: AnyProcessor,
        memory: ProcessorMemory,
        ports: ProcessorPorts,
    ) -> Self {
        let look_up_time = config.clock.clock().cycles(memory.look_up_cycles().into());
        NodeProcessor {
            processor,
            memory,
            ledger: Ledger::new(Time::ZERO, (Activity::Application, Occupation::Execute.into())),
            answerer: Resource::Permission,
            closed_stalls: Vec::new(),
            sources: config.window.is_some().then(Box::default),
            activities: Activities::default(),
            state: State::Running,
            sleeps: 0,
            process: 0,
            ports,
            blocking_access_time: config.clock.clock().cycles(config.blocking_access_cycles),
            look_up_time,
            grant_clocks: Vec::new(),
            notice_delay: Duration::ZERO,
            exchanges: None,
            waiting: WaitLoop::default(),
            polled_before: None,
            paused_at: None,
        }
    }

    /// The same for threads of the process with this place among the node's.
    pub fn of_process(self, process: usize) -> Self {
        NodeProcessor { process, ..self }
    }

    /// It has no thread yet.
    pub(super) fn leave_vacant(&mut self) {
        self.state = State::Vacant;
        self.ledger.switch(Time::ZERO, (Activity::Idle, Occupation::Execute.into()));
    }

    /// When another processor could hear, at the earliest, of what it asks for from now on.
    pub(super) fn earliest_effect(&self) -> Time {
        let now = self.processor.now();
        let edges = self.grant_clocks.iter().map(|clock| clock.edge_at_or_after(now));
        edges.min().unwrap_or(now) + self.notice_delay
    }

    /// What its ledger books now.
    pub(super) fn booked(&self) -> (Activity, Spent) {
        let (activity, spent) = (self.ledger.current() / Spent::COUNT, self.ledger.current() % Spent::COUNT);
        (Activity::of_index(activity), Spent::of_index(spent))
    }

    /// An occupation that begins now, with what it waits for.
    #[inline]
    pub(super) fn begins(&self, occupation: Occupation) -> Spent {
        let resource = occupation.is_transaction().then(|| self.awaited());
        Spent { occupation, resource }
    }

    /// For what it waits, where a transaction keeps it.
    fn awaited(&self) -> Resource {
        match self.memory.has_issued() {
            // What the interconnect carries is not what it waits for.
            true if self.memory.waits_behind_prefetches() => Resource::Interconnect,
            true => self.answerer,
            // Its block buffers take a block from a device, or give it one.
            false if self.memory.block_move().is_some() => Resource::Interface,
            false => Resource::Interconnect,
        }
    }

    /// If a transaction keeps it, it waits for something else from `at` on. Where it has run ahead of
    /// that instant, from its own one on.
    #[inline]
    pub(super) fn awaits_another(&mut self, at: Time) {
        if self.state == State::Waiting {
            self.awaits_from(at, self.awaited());
        }
    }

    /// The same for this resource.
    #[inline]
    pub(super) fn awaits_from(&mut self, at: Time, resource: Resource) {
        if let (activity, spent @ Spent { resource: Some(_), .. }) = self.booked() {
            let at = at.max(self.ledger.booked_until());
            self.ledger.switch(at, (activity, Spent { resource: Some(resource), ..spent }));
        }
    }

    /// What it has issued just now is answered by this resource.
    #[inline]
    pub(super) fn is_answered_by(&mut self, resource: Resource) {
        self.answerer = resource;
        if let (State::Waiting, (activity, spent @ Spent { resource: Some(_), .. })) =
            (self.state, self.booked())
        {
            self.ledger.correct((activity, Spent { resource: Some(resource), ..spent }));
        }
    }

    /// When it does something by itself.
    #[inline]
    pub(super) fn next_time(&self) -> Time {
        if self.waiting.is_asleep() {
            return self.waiting.wakes_at(self.processor.now()).expect("it is asleep");
        }
        match self.state {
            State::Running | State::Woken | State::Calling => self.processor.now(),
            _ => Time::NEVER,
        }
    }

    /// Whether it has anything to do before `limit`.
    #[inline]
    pub(super) fn is_active(&self, limit: Time) -> bool {
        match self.state {
            State::Woken => true,
            State::Running => self.processor.now() < limit && !self.waiting.is_asleep(),
            State::Waiting | State::Calling | State::Sleeping => false,
            State::Vacant | State::Idle | State::Exited => false,
        }
    }
}
