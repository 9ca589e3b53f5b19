//! Interconnects: what carries transactions between the agents of a node.
//!
//! ```text
//!   agents:  processors' memories    seats of devices    bridges
//!                  │                      │                 │
//!            ──────┴──────────────────────┴─────────────────┴──── interconnect
//!                                 │
//!                             memories (homes of addresses; they never ask)
//! ```
//!
//! An *agent* asks for an interconnect, issues a transaction when it is granted,
//! snoops those of others, answers those on blocks whose home it is, and gets the
//! response at the end. An *interconnect* decides who is granted, who snoops, who
//! answers, and how long that takes. Neither calls the other: what holds both, a
//! [`Composition`], lets the rules of the interconnect reach them. A node of a
//! run is a composition; so are the node that the model checker explores, whose
//! clock is a free choice, and the one of the conformance suite, whose clock
//! stands still. All of them therefore run the rules that are written here, once.
//!
//! What happens at an interconnect is a [`Step`] at an instant, which the rules
//! ask their composition to schedule. The rules are functions of the composition
//! rather than methods of the interconnect, because a step may concern a second
//! interconnect: a bridge holds two buses at once.
//!
//! **A new interconnect is one file in this folder**: a type of the file's name
//! that implements [`Rules`]. The build script finds it and adds it to
//! [`Interconnect`]. Start from `private_path.rs`, the smallest.

mod address_map;
mod carrying;
mod refusals;
mod seats;

use std::hash::Hash;
use std::hash::Hasher;
use std::ops::Range;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Clock, Damage, Duration, Place as EventPlace, Time};
use serde::{Deserialize, Serialize};

use crate::directory::{Carried, Place};
use crate::kind::Kind;
use crate::processor_memory::Exchange;
use crate::transaction::{AgentId, BlockData, HomeReply, Response, SnoopReply, Transaction};

pub use address_map::{AddressMap, Home, Overlap};
pub use refusals::{Refusal, Refused};
pub use seats::{Seat, Seats};

pub(crate) use carrying::{
    Answer, Snooped, Underway, access, block_transaction, complete, home, snarf, snoop,
};

include!(concat!(env!("OUT_DIR"), "/interconnects.rs"));

/// The number of an interconnect in its composition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct InterconnectId(pub u8);

/// The number of a memory in its composition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MemoryId(pub u8);

/// What can happen at an interconnect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Step {
    /// It is granted to an agent.
    Grant,
    /// The transaction on it is over.
    Release,
    /// The address of a read has come to its bridge.
    Address,
    /// A cache answers what it was forwarded while it held the block.
    Forward,
}

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

    /// An agent and a memory exchange blocks, in transactions that are over at `now`.
    fn make_exchange(
        &mut self,
        _now: Time,
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
    /// and the agent its answer, at `now`: the end of the transaction.
    fn make_register_access(
        &mut self,
        _now: Time,
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

/// What reports call an interconnect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names {
    /// Itself: "memory bus".
    pub name: &'static str,
    /// In front of the names of its statistics: "io_"; empty for a node's first one.
    pub prefix: &'static str,
}

/// What an interconnect is: its rules, and what its node asks of it.
///
/// Of the rules, those without `self` may reach every part of the composition.
pub trait Rules: Sized {
    /// What a machine's file calls it.
    const KIND: &'static str;

    /// Asks for the interconnect in the name of an agent that wants it.
    fn ask<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId);

    /// The same where the composition is doing nothing else: what is over before anything
    /// else happens may be done at once.
    fn ask_alone<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::ask(composition, now, on, agent);
    }

    /// Lets a step happen.
    fn happen<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, step: Step);

    /// Everything before `now` has happened: what was answered early and is not over yet gets
    /// its step after all, because the composition is looked at.
    fn settle<C: Composition>(_composition: &mut C, _now: Time, _on: InterconnectId) {}

    /// Grants it to an agent.
    fn grant_to<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId);

    /// The agents to which it may be granted now, if its clock were a free choice,
    /// of those that want it; none while it is occupied. `all` are the
    /// interconnects of its composition.
    fn contenders(&self, all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId>;

    /// The transaction that has it, as far as agents on it know.
    fn occupant(&self) -> Option<&Transaction>;

    /// The agents on it.
    fn seats(&self) -> &Seats;

    /// The name in reports: "memory bus".
    fn name(&self) -> &'static str;

    /// The clock in whose cycles its occupancy is counted.
    fn occupancy_clock(&self) -> Clock;

    /// The clock at whose edges it is granted.
    fn clock(&self) -> Clock;

    /// Whether no agent has it at `now`, or waits for it.
    fn is_idle_at(&self, now: Time) -> bool;

    /// The time from the grant of an uncached access to the first instant at which any part
    /// but its agent may notice it.
    fn shortest_access(&self) -> Duration {
        Duration::ZERO
    }

    /// From the grant of any transaction on a block to its end, at least.
    fn shortest_block_transaction(&self) -> Duration {
        Duration::ZERO
    }

    /// Its statistics, each with what is put in front of its names.
    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)>;

    /// The same, to add what was computed instead of simulated.
    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet>;

    /// The newest bytes of a block that are on their way. Functional, for system
    /// calls and debuggers.
    fn peek(&self, _block: u64) -> Option<&[u8]> {
        None
    }

    /// Replaces bytes at an address, inside a block that is on its way. Functional:
    /// the caller sees to all other copies.
    fn poke(&mut self, _address: u64, _bytes: &[u8]) {}

    /// The pages in this range are gone: what is on its way home is zeros, as their memory is.
    fn discard(&mut self, _range: &Range<u64>) {}

    /// What it holds, for a run that gets nowhere; none if that says nothing.
    fn describe(&self) -> Option<String> {
        None
    }

    /// The transactions that were refused and not carried yet.
    fn refused(&self) -> &[Refused] {
        &[]
    }

    /// Feeds what decides how it goes on to `hasher`; when steps are due is the
    /// composition's.
    fn hash_state<H: Hasher>(&self, hasher: &mut H);

    /// Saves or restores its state.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage>;
}

/// Declares the enumeration of the interconnects that the build script found.
macro_rules! interconnects {
    ($($file:ident :: $name:ident),*) => {
        /// An interconnect of any kind.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "a node has few of them, and each step looks at one")]
        pub enum Interconnect {
            $(#[doc = concat!("See [`", stringify!($file), "`].")] $name($file::$name),)*
        }

        $(impl From<$file::$name> for Interconnect {
            fn from(interconnect: $file::$name) -> Self {
                Interconnect::$name(interconnect)
            }
        })*

        impl Interconnect {
            /// Every kind, by what a machine's file calls it.
            pub const KINDS: &'static [&'static str] = &[$($file::$name::KIND),*];

            /// What a machine's file calls it.
            pub fn kind(&self) -> &'static str {
                match self { $(Interconnect::$name(_) => $file::$name::KIND,)* }
            }

            /// The agents on it.
            #[inline]
            pub fn seats(&self) -> &Seats {
                match self { $(Interconnect::$name(own) => own.seats(),)* }
            }

            /// The agents to which it may be granted now, if its clock were a free
            /// choice, of those that want it; none while it is occupied. `all` are
            /// the interconnects of its composition.
            pub fn contenders(&self, all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
                match self { $(Interconnect::$name(own) => own.contenders(all, wants),)* }
            }

            /// The transaction that has it, as far as agents on it know.
            pub fn occupant(&self) -> Option<&Transaction> {
                match self { $(Interconnect::$name(own) => own.occupant(),)* }
            }

            /// The name in reports: "memory bus".
            pub fn name(&self) -> &'static str {
                match self { $(Interconnect::$name(own) => own.name(),)* }
            }

            /// The clock in whose cycles its occupancy is counted.
            pub fn occupancy_clock(&self) -> Clock {
                match self { $(Interconnect::$name(own) => own.occupancy_clock(),)* }
            }

            /// The clock at whose edges it is granted.
            pub fn clock(&self) -> Clock {
                match self { $(Interconnect::$name(own) => own.clock(),)* }
            }

            /// Whether no agent has it at `now`, or waits for it.
            pub fn is_idle_at(&self, now: Time) -> bool {
                match self { $(Interconnect::$name(own) => own.is_idle_at(now),)* }
            }

            /// The time from the grant of an uncached access to the first instant at which any
            /// part but its agent may notice it.
            pub fn shortest_access(&self) -> Duration {
                match self { $(Interconnect::$name(own) => own.shortest_access(),)* }
            }

            /// From the grant of any transaction on a block to its end, at least.
            pub fn shortest_block_transaction(&self) -> Duration {
                match self { $(Interconnect::$name(own) => own.shortest_block_transaction(),)* }
            }

            /// Its statistics, each with what is put in front of its names.
            pub fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
                match self { $(Interconnect::$name(own) => own.statistics(),)* }
            }

            /// The same, to add what was computed instead of simulated.
            pub fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
                match self { $(Interconnect::$name(own) => own.statistics_mut(),)* }
            }

            /// The newest bytes of a block that are on their way.
            pub fn peek(&self, block: u64) -> Option<&[u8]> {
                match self { $(Interconnect::$name(own) => own.peek(block),)* }
            }

            /// Replaces bytes at an address, inside a block that is on its way.
            pub fn poke(&mut self, address: u64, bytes: &[u8]) {
                match self { $(Interconnect::$name(own) => own.poke(address, bytes),)* }
            }

            /// The pages in this range are gone.
            pub fn discard(&mut self, range: &Range<u64>) {
                match self { $(Interconnect::$name(own) => own.discard(range),)* }
            }

            /// The transactions that were refused and not carried yet.
            pub fn refused(&self) -> &[Refused] {
                match self { $(Interconnect::$name(own) => own.refused(),)* }
            }

            /// What it holds, for a run that gets nowhere; none if that says nothing.
            pub fn describe(&self) -> Option<String> {
                match self { $(Interconnect::$name(own) => own.describe(),)* }
            }

            /// Feeds what decides how it goes on to `hasher`.
            pub fn hash_state<H: Hasher>(&self, hasher: &mut H) {
                match self { $(Interconnect::$name(own) => own.hash_state(hasher),)* }
            }
        }

        impl Archived for Interconnect {
            fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
                match self { $(Interconnect::$name(own) => own.archive(archive),)* }
            }
        }

        /// Asks for an interconnect in an agent's name, if that needs it.
        #[inline]
        pub fn ask<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
            if composition.wants(agent, on) {
                request(composition, now, on, agent);
            }
        }

        /// Asks for an interconnect in the name of an agent that needs it.
        #[inline]
        pub fn request<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::ask(composition, now, on, agent),)*
            }
        }

        /// The same where the composition is doing nothing else: what is over before anything
        /// else happens may be done at once.
        #[inline]
        pub fn request_alone<C: Composition>(
            composition: &mut C, now: Time, on: InterconnectId, agent: AgentId,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::ask_alone(composition, now, on, agent),)*
            }
        }

        /// Lets a step of an interconnect happen.
        pub fn happen<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::happen(composition, now, on, step),)*
            }
        }

        /// Everything before `now` has happened, and the composition is looked at: what was
        /// answered early and is not over yet gets its step.
        pub fn settle<C: Composition>(composition: &mut C, now: Time, on: InterconnectId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::settle(composition, now, on),)*
            }
        }

        /// Grants an interconnect to an agent: to one of its contenders.
        pub fn grant_to<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::grant_to(composition, now, on, agent),)*
            }
        }
    };
}
found!();

#[cfg(test)]
mod tests;
