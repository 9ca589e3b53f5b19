//! What holds the parts of a node: how the rules of an interconnect reach its agents and memories,
//! and what they let an observer see.

use narthex_kernel::{Duration, Place as EventPlace, Time};

use super::{Interconnect, InterconnectId, MemoryId, Refusal, Step};
use crate::directory::{Carried, Place};
use crate::kind::Kind;
use crate::processor_memory::Exchange;
use crate::transaction::{AgentId, BlockData, HomeReply, Response, SnoopReply, Transaction};

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
    /// A bridge keeps the interconnect for a device.
    Kept,
    /// It was taken or kept, and is free again without a transaction.
    Released,
    /// An agent was granted it, and issued nothing.
    GrantedInVain(AgentId),
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
pub trait Composition {
    /// An interconnect of the node.
    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect;

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

    /// Whether an agent wants to issue a transaction on an interconnect.
    fn wants(&self, agent: AgentId, on: InterconnectId) -> bool;

    /// An agent was granted an interconnect: what it issues, if still anything.
    fn issue(&mut self, now: Time, agent: AgentId, on: InterconnectId) -> Option<Transaction>;

    /// An agent that may refuse sees a transaction before any agent acts on it:
    /// another one's on a block, or one that accesses its registers. One that refuses
    /// a block has put the bytes into its push buffer, if it is their owner.
    fn refuse(&mut self, _now: Time, _agent: AgentId, _transaction: &Transaction) -> Option<Refusal> {
        None
    }

    /// The transaction of an agent was refused. Whether the agent forms it anew when
    /// it is granted the interconnect again, where the same would be wrong by then;
    /// otherwise the interconnect repeats it.
    fn refused(&mut self, _agent: AgentId, _transaction: &Transaction) -> bool {
        false
    }

    /// An agent sees another one's transaction on a block.
    fn snoop(&mut self, now: Time, agent: AgentId, transaction: &Transaction) -> SnoopReply;

    /// The part of a block's home, an agent, in a transaction for which no cache
    /// supplied the bytes.
    fn home(&mut self, now: Time, agent: AgentId, transaction: &Transaction) -> HomeReply;

    /// The same where the home is a memory.
    fn memory(&mut self, now: Time, memory: MemoryId, transaction: &Transaction) -> HomeReply;

    /// The time of an uncached access to a memory that begins now.
    fn memory_access_time(&mut self, _now: Time, _memory: MemoryId) -> Duration {
        unreachable!("no memory is uncached")
    }

    /// Carries out an uncached access to a memory at its end.
    fn access_memory(&mut self, _memory: MemoryId, _transaction: &Transaction, _response: &mut Response) {
        unreachable!("no memory is uncached")
    }

    /// The blocks that an agent would exchange with its memory, if that is all that it needs
    /// now; and that memory, which takes this long for each access to a block.
    fn exchange(&self, _agent: AgentId) -> Option<(Exchange, (MemoryId, Duration))> {
        None
    }

    /// An agent and a memory exchange blocks, in transactions that are granted and over at these instants.
    fn make_exchange(
        &mut self,
        _time: (Time, Time),
        _on: InterconnectId,
        agent: AgentId,
        _memory: MemoryId,
        _exchange: &Exchange,
    ) {
        unreachable!("{agent:?} has asked for no exchange")
    }

    /// The access to a register for which an agent waits, if it needs nothing else now.
    fn register_access(&self, _agent: AgentId) -> Option<Transaction> {
        None
    }

    /// An agent's access to a register of the device whose seat is `device` has its effect,
    /// and the agent its answer, at the end of the transaction: the second of the instants at which it
    /// is granted and over.
    fn make_register_access(
        &mut self,
        _time: (Time, Time),
        _on: InterconnectId,
        _device: AgentId,
        transaction: &Transaction,
    ) {
        unreachable!("{:?} has asked for no access", transaction.agent)
    }

    /// A memory takes bytes that a cache supplied to another.
    fn write_memory(&mut self, memory: MemoryId, address: u64, data: &BlockData);

    /// The time that an uncached access takes beyond the interconnect's own
    /// cycles; `agent` is the seat of the device.
    fn access_time(&self, _agent: AgentId, _kind: Kind) -> Duration {
        Duration::ZERO
    }

    /// Carries out an uncached access at its end; `agent` is the seat of the device.
    fn access(&mut self, now: Time, agent: AgentId, transaction: &Transaction, response: &mut Response);

    /// Carries out an uncached access to the device in the processor's own tile, whose seat is
    /// `agent`: after which time its answer is there; none if the device answers later
    /// ([`directory::Directory::answer`]).
    fn access_tile(
        &mut self,
        _now: Time,
        agent: AgentId,
        _transaction: &Transaction,
        _response: &mut Response,
    ) -> Option<Duration> {
        unreachable!("no device has a part in each tile, as {agent:?} would be")
    }

    /// Bytes have crossed an interconnect: whether the agent's cache, which lost
    /// the block, takes them.
    fn snarf(&mut self, _agent: AgentId, _transaction: &Transaction) -> bool {
        false
    }

    /// A message leaves a requester or a home of a directory at `at`, which is not before
    /// now. Once it has come to its place, [`directory::Directory::arrive`] takes it. No
    /// order is asked of messages.
    fn carry(&mut self, _at: Time, _on: InterconnectId, _from: Place, _to: Place, _carried: Carried) {
        unreachable!("no directory is here")
    }

    /// The transaction of an agent is over, and this is the answer.
    fn complete(
        &mut self,
        now: Time,
        agent: AgentId,
        on: InterconnectId,
        transaction: &Transaction,
        response: &Response,
    );

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
