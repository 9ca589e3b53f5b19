//! What each interconnect implements: [`InterconnectModel`].
//!
//! Most of it has an answer that holds for an interconnect without the thing that is asked for: without a
//! bridge, without early answers, without bytes of its own. So a new kind states what it does, and no more.

use std::hash::Hasher;
use std::ops::Range;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Duration, Time};

use super::{
    Admits, AgentPorts, Answer, Home, Interconnect, InterconnectHost, InterconnectId, Refused, Step,
    directory, snooping_bus,
};
use crate::bridge::Bridge;
use crate::directory::Carried;
use crate::transaction::{AccessReply, AgentId, Response, SnoopReply, Transaction, TransactionTag};

/// What a description calls agents and addresses.
pub trait Words {
    /// An agent.
    fn agent(&self, agent: AgentId) -> String;

    /// A block or a register.
    fn place(&self, address: u64) -> String;
}

/// By their numbers.
pub struct Numbers;

impl Words for Numbers {
    fn agent(&self, agent: AgentId) -> String {
        format!("agent {}", agent.0)
    }

    fn place(&self, address: u64) -> String {
        format!("{address:#x}")
    }
}

/// What an interconnect is: its rules, and what its node asks of it.
///
/// Of the rules, those without `self` may reach every part of the composition.
pub trait InterconnectModel: Sized {
    /// What a machine's file calls it: its file's name with hyphens.
    const KIND: &'static str;

    /// What may sit on it.
    const ADMITS: Admits;

    /// Whether an agent that has issued a transaction waits for the home of its block, rather than for
    /// what answers on the interconnect.
    const ASKS_HOMES: bool = false;

    /// Whether transactions of several agents are under way on it at once.
    const OVERLAPS: bool = false;

    /// Whether it posts accesses to registers: they may be under way while no agent waits for them.
    const POSTS_ACCESSES: bool = false;

    /// Why a device's transaction with an address at which its program has no memory is refused.
    const UNOWNED: &'static str = "hpca98, Section 2.2.1: user-level DMA takes authentic addresses only";

    /// Asks for the interconnect in the name of an agent that wants it.
    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId);

    /// The same where the composition is doing nothing else: what is over before anything
    /// else happens may be done at once.
    fn ask_alone<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::ask(composition, now, on, agent);
    }

    /// Lets a step happen.
    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step);

    /// An agent's access, which is held, is answered, and over at `at` or at the next edge.
    /// What holds it answers it in another verb than [`Agent::access`].
    fn answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        access: (AgentId, TransactionTag),
        response: Response,
    );

    /// The same for a bridge on it, before all agents that wait.
    fn ask_first<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, bridge: AgentId) {
        Self::ask(composition, now, on, bridge);
    }

    /// The bridge on it to `behind` goes on with the interconnect, which it has kept.
    fn go_on_for_bridge<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        _behind: InterconnectId,
    ) {
        unreachable!("no bridge is here")
    }

    /// What crosses the bridge on it to `behind`, of which it was not known when that is over, is over at
    /// `at`: with this response, unless it is posted.
    fn end_crossing_at<C: InterconnectHost>(
        _composition: &mut C,
        _at: Time,
        _on: InterconnectId,
        _behind: InterconnectId,
        _response: Option<Response>,
    ) {
        unreachable!("no bridge is here")
    }

    /// Everything before `now` has happened: what was answered early and is not over yet gets
    /// its step after all, because the composition is looked at.
    fn settle<C: InterconnectHost>(_composition: &mut C, _now: Time, _on: InterconnectId) {}

    /// Grants it to an agent.
    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId);

    /// The agents to which it may be granted now, if its clock were a free choice,
    /// of those that want it; none while it is occupied. `all` are the
    /// interconnects of its composition.
    fn contenders(&self, _all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        self.ports().iter().map(|port| port.agent).filter(|&agent| wants(agent)).collect()
    }

    /// The transaction that has it, as far as agents on it know; none where several may be under way.
    fn occupant(&self) -> Option<&Transaction> {
        None
    }

    /// The agents on it.
    fn ports(&self) -> &AgentPorts;

    /// The name in reports: "memory bus".
    fn name(&self) -> &'static str;

    /// The clock in whose cycles its occupancy is counted.
    fn occupancy_clock(&self) -> Clock {
        self.clock()
    }

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

    /// The name of the message that a transaction becomes on it; none if messages have no names of their own.
    fn message(&self, _transaction: &Transaction) -> Option<&'static str> {
        None
    }

    /// What it holds, for a run that gets nowhere; none if that says nothing.
    fn describe(&self, _words: &dyn Words) -> Option<String> {
        None
    }

    /// Since when the agent had waited to which it was granted last; none if agents do not wait for it.
    fn granted_since(&self) -> Option<Time> {
        None
    }

    /// The transactions that were refused and not carried yet.
    fn refused(&self) -> &[Refused] {
        &[]
    }

    /// Itself, if it is a directory, whose messages the composition carries.
    fn as_directory(&self) -> Option<&directory::Directory> {
        None
    }

    /// Itself, if it is a bus that a processor which is alone with it may have while it runs
    /// ([`crate::processor_memory`]).
    fn as_direct_bus(&mut self) -> Option<&mut snooping_bus::SnoopingBus> {
        None
    }

    /// The cycles that an answer after this time takes on it, if it is such a bus.
    fn direct_cycles(&self, _time: Duration) -> Option<u64> {
        None
    }

    /// Feeds what decides how it goes on to `hasher`; when steps are due is the
    /// composition's.
    fn hash_state<H: Hasher>(&self, hasher: &mut H);

    /// Saves or restores its state.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage>;

    /// Whether the bridge in front of it, as an agent of the interconnect above, wants to issue there.
    fn wants_above(&self) -> bool {
        false
    }

    /// That bridge was granted the interconnect above: what it issues, if it still wants to.
    fn issue_above<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
    ) -> Option<Transaction> {
        None
    }

    /// A transaction that it has issued there is over.
    fn complete_above<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        transaction: &Transaction,
        _response: &Response,
    ) {
        unreachable!("no bridge that is an agent has issued {transaction:?}")
    }

    /// An access from above to what is behind it: it carries the access out, or holds it.
    fn access_from_above<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        transaction: &Transaction,
    ) -> AccessReply {
        unreachable!("no bridge that is an agent takes {transaction:?}")
    }

    /// The interconnect above is granted to a device behind it, whose copies that interconnect knows: what
    /// the device asks for there, and whether it wants more.
    fn issue_for<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        agent: AgentId,
    ) -> Option<(Transaction, bool)> {
        unreachable!("it lets no device cache: {agent:?}")
    }

    /// Whether it owns a block for such a device until the block returns.
    fn owns(&mut self, _agent: AgentId, _block: u64) -> bool {
        false
    }

    /// The directory above forwards something to such a device.
    fn forward<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        agent: AgentId,
        _carried: Carried,
    ) {
        unreachable!("it lets no device cache: {agent:?}")
    }

    /// A device behind it is the home of blocks, and is asked because of a request of another agent for one of
    /// them: its reply with the bytes, if the request fetches some; or that it comes later, by
    /// [`directory::Directory::resume`].
    fn ask_home<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        agent: AgentId,
        _transaction: &Transaction,
    ) -> SnoopReply {
        unreachable!("no device behind it is a home: {agent:?}")
    }

    /// Such a device goes on with a request for one of its blocks that it has held.
    fn resume_home<C: InterconnectHost>(_composition: &mut C, _now: Time, _on: InterconnectId, block: u64) {
        unreachable!("no device behind it is a home: {block:#x}")
    }

    /// Such a device gets the bytes of one of its blocks.
    fn return_home<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        agent: AgentId,
        _transaction: Transaction,
    ) {
        unreachable!("no device behind it is a home: {agent:?}")
    }

    /// The bridge in front of it that holds both interconnects at once, if it is behind such a one.
    fn bridge(&self) -> Option<&Bridge> {
        None
    }

    /// The bridge in front of it, where there is one for certain.
    fn bridge_mut(&mut self) -> &mut Bridge {
        unreachable!("no bridge is in front of it")
    }

    /// Who answers for an address behind its bridge.
    fn home_behind(&self, address: u64) -> Home {
        unreachable!("no bridge is in front of it: {address:#x}")
    }

    /// A transaction for an address behind its bridge has come there from above: after which time the
    /// bridge has it, and it is over above; none if that is said later ([`InterconnectModel::end_crossing_at`]).
    fn start_crossing<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        transaction: &Transaction,
    ) -> Option<Duration> {
        unreachable!("no bridge is in front of it: {transaction:?}")
    }

    /// The interconnect above has taken note of that.
    fn go_on_crossing<C: InterconnectHost>(_composition: &mut C, _now: Time, _on: InterconnectId) {
        unreachable!("no bridge is in front of it")
    }

    /// A read that its bridge has put above is answered there, at the instant at which it has both
    /// interconnects: when it is over above, and since when and until when it has this one.
    fn answer_from_above(&mut self, _now: Time, read: &Transaction, _answer: Answer) -> (Time, (Time, Time)) {
        unreachable!("no bridge is in front of it: {read:?}")
    }

    /// A read that its bridge has put above is over there.
    fn end_read_above<C: InterconnectHost>(
        _composition: &mut C,
        _now: Time,
        _on: InterconnectId,
        read: &Transaction,
        _response: &Response,
    ) {
        unreachable!("no bridge is in front of it: {read:?}")
    }

    /// What its bridge has put above is over there.
    fn end_above<C: InterconnectHost>(_composition: &mut C, _now: Time, _on: InterconnectId) {
        unreachable!("no bridge is in front of it")
    }
}
