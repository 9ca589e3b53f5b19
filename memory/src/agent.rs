//! What sits on an interconnect.
//!
//! ```text
//!   asks:     wants ─► issue ─────────────────────────► complete
//!                        │ (refused: again later)          ▲
//!   others:   refuse ─ snoop ─ snarf                       │
//!   its home: home, or at the end access ─┬────────────────┘
//!                                         └ (held) answer ─┘
//! ```
//!
//! An *agent* is a processor's memory, the port of a device, or a memory. The rules of the
//! interconnects call it, and it calls none of them: that it wants an interconnect it says when it
//! is asked. What holds the agents ([`InterconnectHost`]) hands them out by their numbers; each agent is
//! lent what it needs of the rest, such as the processor that goes on when its block is there.
//!
//! **A composition holds agents of several types**, and where every transaction passes, none of them
//! is called through a table. [`Either`] is an agent of one of two types; it is the one place that
//! asks which.
//!
//! [`InterconnectHost`]: crate::interconnects::InterconnectHost

use narthex_kernel::{Duration, Time};

use crate::interconnects::{InterconnectId, MemoryId, Refusal};
use crate::kind::Kind;
use crate::processor_memory::DirectFill;
use crate::transaction::{AccessReply, AgentId, BlockData, HomeReply, Response, SnoopReply, Transaction};

/// What sits on an interconnect. Each agent states whether it asks for one; of the rest it states what
/// it can take part in.
pub trait Agent {
    /// Whether it wants to issue a transaction on an interconnect.
    fn wants(&self, on: InterconnectId) -> bool;

    /// It was granted an interconnect: what it issues, if still anything.
    fn issue(&mut self, now: Time, on: InterconnectId) -> Option<Transaction>;

    /// Its transaction is over, and this is the answer.
    fn complete(&mut self, now: Time, on: InterconnectId, transaction: &Transaction, response: &Response);

    /// One that may refuse sees a transaction before any agent acts on it: another one's on
    /// a block, or one that accesses its registers. One that refuses a block has put the bytes into
    /// its push buffer, if it is their owner.
    fn refuse(&mut self, _now: Time, _transaction: &Transaction) -> Option<Refusal> {
        None
    }

    /// Its own transaction was refused. Whether it forms it anew when it is granted the interconnect
    /// again, where the same would be wrong by then; otherwise the interconnect repeats it.
    fn refused(&mut self, _transaction: &Transaction) -> bool {
        false
    }

    /// It sees another one's transaction on a block.
    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        unreachable!("it holds no blocks that {transaction:?} concerns")
    }

    /// Bytes have crossed an interconnect: whether its cache, which lost the block, takes them.
    fn snarf(&mut self, _transaction: &Transaction) -> bool {
        false
    }

    /// Its part as the home of a block, in a transaction for which no cache supplied the bytes.
    fn home(&mut self, _now: Time, transaction: &Transaction) -> HomeReply {
        unreachable!("it is the home of no block: {transaction:?}")
    }

    /// It is a memory, and takes bytes that a cache supplied to another.
    fn write(&mut self, address: u64, _data: &BlockData) {
        unreachable!("it is no memory: {address:#x}")
    }

    /// The time that an uncached access which begins now takes beyond the interconnect's own cycles.
    fn access_time(&mut self, _now: Time, _kind: Kind) -> Duration {
        Duration::ZERO
    }

    /// Carries out an uncached access at its end, or holds it.
    fn access(&mut self, _now: Time, transaction: &Transaction, _response: &mut Response) -> AccessReply {
        unreachable!("it has no registers: {transaction:?}")
    }

    /// The blocks that it would exchange with its memory, if that is all that it needs now;
    /// and that memory, which takes this long for each access to a block.
    fn exchange(&self) -> Option<(DirectFill, (MemoryId, Duration))> {
        None
    }

    /// It and a memory exchange blocks, in transactions that are granted and over at these instants.
    fn make_direct_fill(
        &mut self,
        _time: (Time, Time),
        _on: InterconnectId,
        _memory: MemoryId,
        _exchange: &DirectFill,
    ) {
        unreachable!("it has asked for no exchange")
    }

    /// The access to a register for which it waits, if it needs nothing else now.
    fn register_access(&self) -> Option<Transaction> {
        None
    }

    /// Its access to a register of the device whose agent is `device` has its effect, and it has the
    /// answer, at the end of the transaction: the second of the instants at which that is granted
    /// and over.
    fn make_register_access(
        &mut self,
        _time: (Time, Time),
        _on: InterconnectId,
        _device: AgentId,
        transaction: &Transaction,
    ) {
        unreachable!("it has asked for no access: {transaction:?}")
    }
}

/// An agent of one of two types.
pub enum Either<A, B> {
    /// Of the first one.
    First(A),
    /// Of the second one.
    Second(B),
}

/// Calls whichever it is.
macro_rules! either {
    ($self:expr, $agent:ident => $call:expr) => {
        match $self {
            Either::First($agent) => $call,
            Either::Second($agent) => $call,
        }
    };
}

impl<A: Agent, B: Agent> Agent for Either<A, B> {
    #[inline(always)]
    fn wants(&self, on: InterconnectId) -> bool {
        either!(self, agent => agent.wants(on))
    }

    #[inline(always)]
    fn issue(&mut self, now: Time, on: InterconnectId) -> Option<Transaction> {
        either!(self, agent => agent.issue(now, on))
    }

    #[inline(always)]
    fn complete(&mut self, now: Time, on: InterconnectId, transaction: &Transaction, response: &Response) {
        either!(self, agent => agent.complete(now, on, transaction, response));
    }

    #[inline(always)]
    fn refuse(&mut self, now: Time, transaction: &Transaction) -> Option<Refusal> {
        either!(self, agent => agent.refuse(now, transaction))
    }

    #[inline(always)]
    fn refused(&mut self, transaction: &Transaction) -> bool {
        either!(self, agent => agent.refused(transaction))
    }

    #[inline(always)]
    fn snoop(&mut self, now: Time, transaction: &Transaction) -> SnoopReply {
        either!(self, agent => agent.snoop(now, transaction))
    }

    #[inline(always)]
    fn snarf(&mut self, transaction: &Transaction) -> bool {
        either!(self, agent => agent.snarf(transaction))
    }

    #[inline(always)]
    fn home(&mut self, now: Time, transaction: &Transaction) -> HomeReply {
        either!(self, agent => agent.home(now, transaction))
    }

    #[inline(always)]
    fn write(&mut self, address: u64, data: &BlockData) {
        either!(self, agent => agent.write(address, data));
    }

    #[inline(always)]
    fn access_time(&mut self, now: Time, kind: Kind) -> Duration {
        either!(self, agent => agent.access_time(now, kind))
    }

    #[inline(always)]
    fn access(&mut self, now: Time, transaction: &Transaction, response: &mut Response) -> AccessReply {
        either!(self, agent => agent.access(now, transaction, response))
    }

    #[inline(always)]
    fn exchange(&self) -> Option<(DirectFill, (MemoryId, Duration))> {
        either!(self, agent => agent.exchange())
    }

    #[inline(always)]
    fn make_direct_fill(
        &mut self,
        time: (Time, Time),
        on: InterconnectId,
        memory: MemoryId,
        exchange: &DirectFill,
    ) {
        either!(self, agent => agent.make_direct_fill(time, on, memory, exchange));
    }

    #[inline(always)]
    fn register_access(&self) -> Option<Transaction> {
        either!(self, agent => agent.register_access())
    }

    #[inline(always)]
    fn make_register_access(
        &mut self,
        time: (Time, Time),
        on: InterconnectId,
        device: AgentId,
        transaction: &Transaction,
    ) {
        either!(self, agent => agent.make_register_access(time, on, device, transaction));
    }
}
