//! What every interconnect does with a transaction that it carries: the others snoop
//! it, its home or an owner answers, and its agent gets the answer.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::{Home, InterconnectHost, InterconnectId, Supplier};
use crate::agent::{Agent, Either};
use crate::kind::Kind;
use crate::transaction::{
    AccessReply, AgentId, BlockData, HomeReply, Response, SnoopReply, Transaction, TransactionTag,
};

/// A transaction that has an interconnect, and the answer that its agent will get.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct CarriedTransaction {
    pub transaction: Transaction,
    pub response: Response,
    /// Since when its access is held; it is over as soon as it is answered.
    pub held_since: Option<Time>,
}

impl CarriedTransaction {
    /// A transaction and its answer.
    #[inline(always)]
    pub fn answered(transaction: Transaction, response: Response) -> Self {
        CarriedTransaction { transaction, response, held_since: None }
    }

    /// A transaction whose answer is known later.
    pub fn unanswered(transaction: Transaction) -> Self {
        Self::answered(transaction, Response::default())
    }

    /// Its access, which is held, is answered.
    pub fn answer(&mut self, (agent, tag): (AgentId, TransactionTag), response: Response) {
        let Transaction { agent: own, tag: own_tag, .. } = self.transaction;
        assert!(self.held_since.is_some() && (own, own_tag) == (agent, tag), "the access is not held");
        self.response = response;
    }

    /// The bytes of the block at an address that its agent will get.
    pub fn peek(&self, block: u64) -> Option<&[u8]> {
        self.response.data.as_deref().filter(|_| self.transaction.address == block)
    }

    /// Replaces bytes of what its agent, or one that snarfs, will get.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        let CarriedTransaction { transaction, response, .. } = self;
        for data in [&mut response.data, &mut transaction.data].into_iter().flatten() {
            let offset = address.wrapping_sub(transaction.address) as usize;
            if let Some(target) = data.get_mut(offset..offset.wrapping_add(bytes.len())) {
                target.copy_from_slice(bytes);
            }
        }
    }
}

/// What comes of a transaction.
pub struct Answer {
    /// What its agent gets.
    pub response: Response,
    /// The time that the agent or memory takes that answers.
    pub delay: Duration,
    /// Who that is, where bytes move.
    pub supplier: Option<Supplier>,
}

impl Answer {
    /// An answer without bytes yet, after this time.
    pub fn after(delay: Duration) -> Self {
        Answer { response: Response::default(), delay, supplier: None }
    }
}

/// The joined replies of the agents that snooped, and which of them supplies.
#[derive(Default)]
pub(crate) struct Snooped {
    pub reply: SnoopReply,
    pub owner: Option<AgentId>,
}

impl Snooped {
    fn join(&mut self, agent: AgentId, reply: SnoopReply) {
        let shares = self.reply.shares | reply.shares;
        if reply.supplies.is_some() {
            self.reply = reply;
            self.owner = Some(agent);
        }
        self.reply.shares = shares;
    }
}

/// The agents of an interconnect snoop, but for the one that issued.
#[inline(always)]
pub(crate) fn snoop<C: InterconnectHost>(
    composition: &mut C,
    now: Time,
    on: InterconnectId,
    transaction: &Transaction,
    snooped: &mut Snooped,
) {
    let mut next = 0;
    while let Some((place, agent)) = composition.interconnect(on).ports().concerned(next, transaction) {
        next = place + 1;
        let reply = composition.agent(agent).snoop(now, transaction);
        if reply.supplies.is_some() && snooped.owner.is_some() {
            composition.two_owners(transaction);
        }
        snooped.join(agent, reply);
    }
}

/// The home of an address, where that is no bridge's.
#[inline(always)]
pub(crate) fn at_home<C: InterconnectHost>(
    composition: &mut C,
    home: Home,
) -> Either<C::Agent<'_>, C::Memory<'_>> {
    match home {
        Home::Agent(agent) => Either::First(composition.agent(agent)),
        Home::Memory(memory) => Either::Second(composition.memory(memory)),
        Home::Beyond(_) => unreachable!("a bridge is the home of no address"),
    }
}

/// A home takes bytes that a cache supplied to another.
fn write_home<C: InterconnectHost>(
    composition: &mut C,
    now: Time,
    home: Home,
    address: u64,
    data: &BlockData,
) {
    match at_home(composition, home) {
        Either::First(mut device) => {
            let Home::Agent(agent) = home else { unreachable!("it is an agent") };
            let write = Transaction::carrying(agent, Kind::WriteBack, address, data.clone());
            device.home(now, &write);
        }
        Either::Second(mut memory) => memory.write(address, data),
    }
}

/// A transaction on a block is shown to the agents of these interconnects, and
/// answered by the one that owns it, or by its home.
// Inlined, as what it calls, so that a bus hands transaction and answer on without
// moving them.
#[inline(always)]
pub(crate) fn block_transaction<C: InterconnectHost>(
    composition: &mut C,
    now: Time,
    seen_on: &[InterconnectId],
    block_home: Home,
    transaction: &Transaction,
) -> Answer {
    let mut snooped = Snooped::default();
    for &on in seen_on {
        snoop(composition, now, on, transaction, &mut snooped);
    }
    let Snooped { reply, owner } = snooped;
    if let (Some(data), true) = (&reply.supplies, reply.updates_home) {
        write_home(composition, now, block_home, transaction.address, data);
    }
    let HomeReply { data, delay } = match reply.supplies {
        Some(data) => HomeReply { data: Some(data), delay: reply.delay },
        None => at_home(composition, block_home).home(now, transaction),
    };
    let moves_block = !transaction.kind.is_address_only();
    let of_home = || match block_home {
        Home::Memory(memory) => Supplier::Memory(memory),
        Home::Agent(agent) => Supplier::Agent(agent),
        Home::Beyond(_) => unreachable!("a bridge is the home of no block"),
    };
    let supplier = owner.map(Supplier::Agent).or_else(|| moves_block.then(of_home));
    composition.supplied(transaction, supplier);
    Answer { response: Response { data, value: 0, shared: reply.shares }, delay, supplier }
}

/// A transaction is over on an interconnect: an uncached access has its effect,
/// caches may take the bytes, and the agent gets the answer, which says so. If the access is held,
/// the transaction is not over.
#[inline(always)]
pub(crate) fn complete<C: InterconnectHost>(
    composition: &mut C,
    now: Time,
    on: InterconnectId,
    mut underway: CarriedTransaction,
    device: Home,
) -> Option<CarriedTransaction> {
    if access(composition, now, device, &mut underway) == AccessReply::Held {
        return Some(underway);
    }
    let CarriedTransaction { transaction, mut response, .. } = underway;
    response.shared |= snarf(composition, on, &transaction);
    composition.agent(transaction.agent).complete(now, on, &transaction, &response);
    None
}

/// Caches may take the bytes that a transaction has carried; whether one did.
#[inline(always)]
pub(crate) fn snarf<C: InterconnectHost>(
    composition: &mut C,
    on: InterconnectId,
    transaction: &Transaction,
) -> bool {
    let (mut next, mut is_taken) = (0, false);
    if transaction.kind.carries_block() {
        while let Some((place, agent)) = composition.interconnect(on).ports().snarfing(next, transaction) {
            next = place + 1;
            is_taken |= composition.agent(agent).snarf(transaction);
        }
    }
    is_taken
}

/// Carries out an uncached access, if the transaction is one that has not been held.
pub(crate) fn access<C: InterconnectHost>(
    composition: &mut C,
    now: Time,
    device: Home,
    underway: &mut CarriedTransaction,
) -> AccessReply {
    let CarriedTransaction { transaction, response, held_since } = underway;
    if !transaction.kind.is_uncached() || held_since.is_some() {
        return AccessReply::Done;
    }
    let reply = at_home(composition, device).access(now, transaction, response);
    if reply == AccessReply::Held {
        *held_since = Some(now);
    }
    reply
}
