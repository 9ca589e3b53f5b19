//! A node that is checked, and everything that can happen in it.
//!
//! ```text
//!   Guest: program, private memory ── cache, store buffer ─┐
//!                                                          ├─ interconnects: those of the machine,
//!   Interface: send half ── environment: has room          │  granted to the agents that ask, in
//!              receive half ── environment: packets arrive ┘  any order
//! ```
//!
//! Nothing has a duration. Each half has a clock that moves only so that an
//! instant it asked for comes after everything that it has done so far; when it
//! comes is one more choice.

use std::collections::VecDeque;

use narthex_interfaces::{Context, Interface, on_chip};
use narthex_kernel::digest::Digest;
use narthex_kernel::{Duration, Time};
use narthex_machine::node::ProcessorPorts;
use narthex_memory::AgentId;
use narthex_memory::interconnects::InterconnectId;
use narthex_memory::protocols::State;

use super::environment::Environment;
use super::processor::{Guest, ProcessorState};
use super::under_way::Messages;
use crate::clock::{Choice, Interconnects};

/// The processor's number among the agents.
pub const PROCESSOR: AgentId = AgentId(0);

/// The half of the interface with this number among the agents; none if that is
/// the processor.
pub fn half_of(agent: AgentId) -> Option<usize> {
    usize::from(agent.0).checked_sub(1)
}

/// Something that can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The processor makes its next access.
    Step,
    /// Something happens at an interconnect.
    Interconnect(Choice),
    /// A message of a directory arrives, by its number among those under way.
    Message(usize),
    /// The first instant that a half waits for comes.
    Timer(usize),
    /// The network has room for one more packet.
    Room,
    /// A packet arrives.
    Arrival,
    /// The processor's cache gives up this block, for one that conflicts with it.
    Evict(u64),
}

/// A half's clock.
#[derive(Clone, Debug, Default)]
pub struct SideClock {
    /// Its present instant.
    pub now: Time,
    /// The instants that it waits for, in their order.
    pub awaited: VecDeque<Time>,
}

impl SideClock {
    /// Something happens at the half: an instant after everything before.
    pub fn tick(&mut self) -> Time {
        self.now += Duration::from_ps(1);
        self.now
    }

    /// The first awaited instant comes.
    pub fn come(&mut self) {
        self.now = self.awaited.pop_front().expect("an instant is awaited").max(self.now);
    }

    /// The half asks for these instants.
    pub fn await_all(&mut self, instants: impl IntoIterator<Item = Time>) {
        self.awaited.extend(instants);
        self.awaited.make_contiguous().sort_unstable();
    }
}

/// A state of the node.
#[derive(Clone, Debug)]
pub struct World {
    /// The program and its processor.
    pub guest: Guest,
    /// The interface.
    pub interface: Interface,
    /// The clocks of its halves.
    pub clocks: [SideClock; 2],
    /// What is between all these.
    pub interconnects: Interconnects,
    /// What a directory among them has sent.
    pub messages: Messages,
    /// The network.
    pub network: Environment,
    /// Messages that the program has received, each of which was right.
    pub received: u64,
    /// Blocks that the processor's cache has lost to conflicts so far.
    pub evicted: u32,
}

/// How many messages are sent and received.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// By the program.
    pub sends: u64,
    /// By the program, from the network.
    pub receives: u64,
}

impl World {
    /// A state's digest.
    pub fn digest(&self) -> u128 {
        use std::hash::Hash;
        let mut digest = Digest::default();
        self.guest.hash_state(&mut digest);
        for (half, clock) in self.interface.halves.iter().zip(&self.clocks) {
            let awaited: Vec<Time> = clock.awaited.iter().copied().collect();
            digest.at(clock.now, &awaited);
            awaited.hash(&mut digest);
            half.hash_state(&mut digest);
        }
        self.interconnects.hash_state(&mut digest);
        (&self.messages, &self.network, self.received, self.evicted).hash(&mut digest);
        digest.value()
    }

    /// Whether everything has been sent and received.
    pub fn is_final(&self, numbers: Numbers) -> bool {
        self.guest.doing == ProcessorState::Exited
            && self.network.taken == numbers.sends
            && self.received == numbers.receives
    }

    /// Everything that can happen; `ports` are the processor's.
    pub fn events(&self, ports: &ProcessorPorts, numbers: Numbers, most_evictions: u32) -> Vec<Event> {
        let mut events = Vec::new();
        let is_ready = self.guest.doing == ProcessorState::Ready;
        if is_ready {
            events.push(Event::Step);
        }
        let choices = self.interconnects.choices(|agent, on| self.wants(ports, agent, on));
        events.extend(choices.into_iter().map(Event::Interconnect));
        events.extend((0..self.messages.count()).map(Event::Message));
        let waits = |half: &usize| !self.clocks[*half].awaited.is_empty();
        events.extend([0, 1].into_iter().filter(waits).map(Event::Timer));
        if self.network.can_make_room(numbers.sends) {
            events.push(Event::Room);
        }
        if self.network.can_arrive(numbers.receives) {
            events.push(Event::Arrival);
        }
        if self.evicted < most_evictions {
            events.extend(self.evictions(ports).map(Event::Evict));
        }
        events
    }

    /// The blocks that the cache may lose now. The loss of a dirty one is a
    /// transaction that every agent sees, and may come whenever the processor runs
    /// and can have the bus. That of a clean one is not seen until the block is used
    /// again, here or by the interface: it comes just before, which leaves out
    /// nothing that could be noticed.
    fn evictions(&self, ports: &ProcessorPorts) -> impl Iterator<Item = u64> {
        let bus = ports.caches.0;
        let underway = self.interconnects.get(bus).occupant().map(|transaction| transaction.address);
        let may_write_back =
            self.guest.doing == ProcessorState::Ready && self.interconnects.admits(bus, PROCESSOR);
        let wanted = self.wanted_blocks(bus);
        let may_go = move |&(block, state): &(u64, State)| match state.is_dirty() {
            true => may_write_back,
            false => wanted.contains(&block) && underway != Some(block),
        };
        self.guest.caches.cached_blocks().filter(may_go).map(|(block, _)| block)
    }

    /// The blocks of the next access, of the next transactions, and of those on
    /// their way to the processor's bus.
    fn wanted_blocks(&self, bus: InterconnectId) -> Vec<u64> {
        let block_of = |address| self.guest.caches.block_of(address);
        let mut wanted: Vec<u64> = self.guest.next.map(block_of).into_iter().collect();
        let elsewhere = self.interconnects.occupants().filter(|&(on, _)| on != bus);
        wanted.extend(elsewhere.map(|(_, transaction)| transaction.address));
        let is_occupied = self.interconnects.get(bus).occupant().is_some();
        for (half, clock) in self.interface.halves.iter().zip(&self.clocks) {
            if !is_occupied && half.wants_bus() {
                let mut port = self.network.port();
                let mut context = Context {
                    now: clock.now,
                    network: port.of_process(0),
                    local_memory: None,
                    timers: &mut Vec::new(),
                    faults: &mut Vec::new(),
                    on_chip: &mut on_chip::Effects::default(),
                };
                wanted.extend(half.duplicate().issue(&mut context).map(|transaction| transaction.address));
            }
        }
        wanted
    }

    /// Whether an agent wants to issue a transaction on an interconnect; `ports`
    /// are the processor's.
    pub fn wants(&self, ports: &ProcessorPorts, agent: AgentId, on: InterconnectId) -> bool {
        match half_of(agent) {
            None => self.guest.caches.wants(ports.traffic(on)),
            Some(half) => self.interface.halves[half].wants_bus(),
        }
    }

    /// The state in words.
    pub fn describe(&self) -> String {
        let doing = match (self.guest.doing, self.guest.caches.wait_reason()) {
            (ProcessorState::Exited, _) => "the program has ended".to_owned(),
            (_, Some(reason)) => format!("the processor waits ({reason:?})"),
            _ => "the processor runs".into(),
        };
        let halves: Vec<String> = self.interface.halves.iter().map(|half| half.queue().to_string()).collect();
        format!(
            "{doing}; {}{}; the network has taken {} messages, the program has received {}",
            halves.join("; "),
            self.interconnects.describe(),
            self.network.taken,
            self.received
        )
    }
}
