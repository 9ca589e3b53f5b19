//! What holds the parts of a node: it hands its agents, memories and interconnects out by their
//! numbers to the rules of an interconnect, keeps the clock for them, and sees what an observer may.

use narthex_kernel::{EventPlace, Time};

use super::{Interconnect, InterconnectId, LinkPacket, MemoryId, Step};
use crate::agent::Agent;
use crate::directory::{Carried, Endpoint};
use crate::interrupt::Interrupt;
use crate::transaction::{AgentId, Transaction};

/// The agent or memory that delivered a block's bytes, or takes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supplier {
    /// A cache, or a device from its own memory.
    Agent(AgentId),
    /// A memory.
    Memory(MemoryId),
}

/// What the rules let an observer see. It changes nothing.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// A transaction has an interconnect from one instant to another.
    Crossing {
        /// When it was granted, and when it is free again.
        time: (Time, Time),
        /// What crosses.
        transaction: &'a Transaction,
        /// Who delivers the bytes, where bytes move.
        supplier: Option<Supplier>,
    },
    /// A transaction takes an interconnect, for how long is not known yet: a
    /// crossing that began then tells, or [`Observation::Released`].
    Held(&'a Transaction),
    /// A packet takes the wires of a link.
    Packet(LinkPacket),
    /// A bridge keeps the interconnect for a device.
    Kept,
    /// It was taken or kept, and is free again without a transaction.
    Released,
    /// An agent was granted it, and issued nothing.
    UnusedGrant(AgentId),
    /// A transaction has an interconnect from one instant to another, and is not
    /// carried, because an agent refuses it.
    Refused {
        /// When it was granted, and when it is free again.
        time: (Time, Time),
        /// What does not cross.
        transaction: &'a Transaction,
        /// Who refuses.
        by: AgentId,
    },
}

/// What holds the parts of a node, and lets the rules of an interconnect reach
/// them.
pub trait InterconnectHost {
    /// An agent that asks for interconnects, with what it is lent.
    type Agent<'a>: Agent
    where
        Self: 'a;

    /// A memory, with what it is lent.
    type Memory<'a>: Agent
    where
        Self: 'a;

    /// An interconnect of the node.
    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect;

    /// An agent of the node. This is where its type is found out.
    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_>;

    /// A memory of the node.
    fn memory(&mut self, memory: MemoryId) -> Self::Memory<'_>;

    /// Lets a step of an interconnect happen at `at`.
    fn schedule(&mut self, at: Time, on: InterconnectId, step: Step);

    /// Whether nothing else happens before a step that is due at `now`, so that its
    /// interconnect may take it as soon as it has done all the rest. Agents then
    /// have no turn between.
    fn comes_next(&self, _now: Time) -> bool {
        false
    }

    /// Whether nothing but the interconnect that asks has a turn up to a step that is due at
    /// `at`, that instant included, so that it may take the step without scheduling it.
    fn is_free_before(&self, _at: Time) -> bool {
        false
    }

    /// An interconnect takes such a step, which is due at `at`.
    fn pass(&mut self, _at: Time) {}

    /// Whether the agent of a transaction that is over at `at`, and whose answer is known, may
    /// have it already: it does nothing sooner with it, nothing else does anything to it until
    /// then, and it needs nothing else of the interconnect. Others may meanwhile ask for the
    /// interconnect.
    fn may_answer_early(&self, _agent: AgentId, _at: Time) -> bool {
        false
    }

    /// Keeps the place that a step would have which is scheduled now.
    fn keep_place(&mut self) -> EventPlace {
        unreachable!("no agent is answered early")
    }

    /// Lets a step happen at `at`, in the place that was kept for it.
    fn schedule_in(&mut self, _place: EventPlace, _at: Time, _on: InterconnectId, _step: Step) {
        unreachable!("no agent is answered early")
    }

    /// Whether such a step would be over: all that happens now comes after it.
    fn has_passed(&self, _at: Time, _place: EventPlace) -> bool {
        unreachable!("no agent is answered early")
    }

    /// A message leaves a requester or a home of a directory at `at`, which is not before
    /// now. Once it has come to its place, [`directory::Directory::arrive`] takes it. No
    /// order is asked of messages.
    fn carry(&mut self, _at: Time, _on: InterconnectId, _from: Endpoint, _to: Endpoint, _carried: Carried) {
        unreachable!("no directory is here")
    }

    /// A device's message that interrupts a processor has come to the host, behind everything that the
    /// device wrote before: it takes effect at `at`.
    fn interrupt(&mut self, _at: Time, _device: AgentId, _message: Interrupt) {
        unreachable!("no interconnect here carries interrupts")
    }

    /// A block transaction was answered by this supplier. For counts.
    fn supplied(&mut self, _transaction: &Transaction, _supplier: Option<Supplier>) {}

    /// Whether anything observes the interconnects.
    fn is_observed(&self) -> bool {
        false
    }

    /// Takes note of what happens at an interconnect.
    fn observe(&mut self, _at: Time, _on: InterconnectId, _seen: Observation<'_>) {}

    /// Two agents supply the block of a transaction, of which one alone may own it:
    /// an error of a protocol's table or of a device.
    fn two_owners(&mut self, transaction: &Transaction) {
        debug_assert!(false, "two owners of {:#x}", transaction.address);
    }
}
