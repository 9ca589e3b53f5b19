//! What happens at the homes of a directory.

use std::ops::Range;

use narthex_kernel::{Duration, Time};

use super::super::{
    AddressMap, Home as Part, InterconnectHost, InterconnectId, MemoryId, Supplier, ask_home, at_home,
    resume_home, return_home,
};
use super::Directory;
use crate::agent::Agent;
use crate::directory::{Body, Carried, Endpoint, HomeId, HomePort, Lane, Message, QueuedRequest, Slot};
use crate::kind::Kind;
use crate::transaction::{AgentId, BlockData, HomeReply, SnoopReply, Transaction};
use crate::translation::Translation;

/// Who answers for which address.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    /// Ranges of devices and of memories with addresses of their own.
    pub ranges: AddressMap,
    /// The memories that share all other addresses.
    pub interleaved: Vec<MemoryId>,
    /// A device with a part in each tile.
    pub tiles: Option<Tiles>,
}

/// A device that has a part in each tile: processors reach it there, without a message.
#[derive(Clone, Debug)]
pub struct Tiles {
    /// Its addresses, the same in each process's space.
    pub addresses: Range<u64>,
    /// The port in the tile of the first processor; the others follow.
    pub first_port: AgentId,
}

impl Tiles {
    /// The port behind which a processor finds an address.
    #[inline]
    pub(super) fn port(&self, processor: AgentId, address: u64) -> Option<AgentId> {
        let of_process = address % Translation::SPACE_BYTES;
        self.addresses.contains(&of_process).then(|| AgentId(self.first_port.0 + processor.0))
    }
}

impl Directory {
    /// The home of an address that is in no range, of those that share these: in the address's socket.
    pub(super) fn sharing_home(&self, address: u64) -> Option<usize> {
        let (socket, sockets) = match &self.sockets {
            None => (0, 1),
            Some(sockets) => (sockets.of_home(address), sockets.count()),
        };
        let homes = self.interleaved / sockets;
        let within = (address / self.limits.interleave.as_u64()).checked_rem(homes as u64)?;
        Some(socket * homes + within as usize)
    }

    pub(super) fn at_home<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        id: HomeId,
        carried: Carried,
    ) {
        let block = carried.message.block;
        let home = &mut Self::of(composition, on).homes[usize::from(id.0)];
        let is_request = carried.message.body.lane() == Lane::Request;
        if is_request && (home.entry(block).is_busy() || home.holds(block)) {
            home.waiting.push(QueuedRequest { since: now, carried });
            Self::of(composition, on).state.statistics.blocked.increment();
            return;
        }
        Self::work_on(composition, now, on, id, carried);
    }

    /// The agent that is the home of a block goes on with the request that it has held; nothing happens if
    /// it holds none. It is told of it once more.
    pub fn resume<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, block: u64) {
        let own = Self::of(composition, on);
        if let Part::Agent(agent) = own.part_of(block)
            && let Some(link) = own.link_of(agent)
        {
            return resume_home(composition, now, link, block);
        }
        Self::go_on_with_held(composition, now, on, block);
    }

    /// The same once the answer of an agent behind a link has come.
    pub(in super::super) fn go_on_with_held<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        block: u64,
    ) {
        let own = Self::of(composition, on);
        let id = own.home_of(block);
        let home = &mut own.homes[usize::from(id.0)];
        if home.holds(block)
            && let Some(QueuedRequest { carried, .. }) = home.next_waiting(block)
        {
            Self::work_on(composition, now, on, id, carried);
        }
    }

    /// A home works on a message, and then on what has waited for it.
    fn work_on<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        id: HomeId,
        carried: Carried,
    ) {
        let block = carried.message.block;
        let mut next = carried;
        while Self::work(composition, now, on, id, next) {
            let own = Self::of(composition, on);
            let Some(QueuedRequest { since, carried }) = own.homes[usize::from(id.0)].next_waiting(block)
            else {
                break;
            };
            own.state.statistics.blocked_time.add(now - since);
            next = carried;
        }
    }

    /// A home does what its table says about a message, unless its agent holds it; whether it has time for
    /// the block's next request then.
    fn work<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        id: HomeId,
        carried: Carried,
    ) -> bool {
        let Carried { message, hops } = carried;
        let part = Self::of(composition, on).homes[usize::from(id.0)].part;
        let SnoopReply { shares: agent_shares, later, supplies: fetched, .. } = match part {
            Part::Agent(agent) => Self::tell_home(composition, now, (on, id), agent, &message),
            Part::Memory(_) | Part::Beyond(_) => UNTOLD,
        };
        let own = Self::of(composition, on);
        if later {
            let waiting = &mut own.homes[usize::from(id.0)].waiting;
            waiting.insert(0, QueuedRequest { since: now, carried });
            return false;
        }
        let (table, lookup_time) = (own.table, own.limits.lookup_time);
        let home = &mut own.homes[usize::from(id.0)];
        let at = home.look_up(now, lookup_time);
        let mut entry = home.entry(message.block);
        let hops = hops + 1;
        let mut port = Port { part, composition, on, id, now, at, hops, message, agent_shares, fetched };
        if let Err(unexpected) = entry.receive(table, message, &mut port) {
            panic!("{}: {unexpected}; coherence has been broken before", table.stable.name);
        }
        Self::of(composition, on).homes[usize::from(id.0)].set_entry(message.block, entry);
        !entry.is_busy()
    }
}

/// What is known where no agent is told of a request.
const UNTOLD: SnoopReply =
    SnoopReply { shares: true, supplies: None, updates_home: false, delay: Duration::ZERO, later: false };

impl Directory {
    /// Tells the agent that is a block's home of a request of another one, and gives its reply. Its part of the
    /// directory is in it, so it is told of all requests in the order in which the home works on them. One
    /// behind a link is asked only for what the directory's own caches cannot decide, and replies later.
    #[inline(never)]
    fn tell_home<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        (on, id): (InterconnectId, HomeId),
        agent: AgentId,
        message: &Message<Slot>,
    ) -> SnoopReply {
        let Body::Request { kind, .. } = message.body else { return UNTOLD };
        if agent == message.requester {
            return UNTOLD;
        }
        let own = Self::of(composition, on);
        let mut transaction = Transaction::block(message.requester, kind, message.block);
        let Some(link) = own.link_of(agent) else {
            return composition.agent(agent).snoop(now, &transaction);
        };
        let asks =
            own.homes[usize::from(id.0)].entry(message.block).asks_home(message.requester, kind, agent);
        let Some(kind) = asks else { return UNTOLD };
        transaction.kind = kind;
        ask_home(composition, now, link, agent, &transaction)
    }
}

/// What a home works with while it handles a message.
struct Port<'a, C> {
    composition: &'a mut C,
    on: InterconnectId,
    id: HomeId,
    part: Part,
    now: Time,
    /// When what it sends leaves.
    at: Time,
    hops: u8,
    message: Message<Slot>,
    /// Whether the agent that is the home keeps a copy.
    agent_shares: bool,
    /// The bytes that it has replied with, if it is behind a link.
    fetched: Option<BlockData>,
}

impl<C: InterconnectHost> Port<'_, C> {
    /// A memory moves one block at a time.
    fn wait_for_memory(&mut self) {
        if let Part::Memory(_) = self.part {
            let own = Directory::of(self.composition, self.on);
            let block_time = own.limits.block_time;
            self.at = own.homes[usize::from(self.id.0)].take_memory(self.at, block_time);
        }
    }

    /// The link in front of the agent that is the home.
    fn link(&mut self) -> Option<(InterconnectId, AgentId)> {
        let agent = self.agent()?;
        Directory::of(self.composition, self.on).link_of(agent).map(|link| (link, agent))
    }

    /// The block's bytes, from the home's memory. A home behind a link has sent them with its reply; what it
    /// asks for itself it has, and gets an empty block.
    fn read(&mut self, transaction: &Transaction) -> BlockData {
        match self.link() {
            None => self.home(transaction).data.expect("a home has its blocks"),
            Some((_, agent)) if agent == transaction.agent => BlockData::zeroed(0),
            Some(_) => self.fetched.take().expect("an owner of a linked home's block has changed it"),
        }
    }

    /// The home does its part. A device acts on what it is told when that has come; its look-up and
    /// its memory's time are those of the answer.
    fn home(&mut self, transaction: &Transaction) -> HomeReply {
        let at = if let Part::Agent(_) = self.part { self.now } else { self.at };
        let reply = at_home(self.composition, self.part).home(at, transaction);
        self.at += reply.delay;
        reply
    }
}

impl<C: InterconnectHost> HomePort<Slot> for Port<'_, C> {
    fn fetch(&mut self, requester: AgentId, kind: Kind) -> Slot {
        let block = self.message.block;
        let transaction = Transaction::block(requester, kind, block);
        self.wait_for_memory();
        let data = self.read(&transaction);
        let supplier = match self.part {
            Part::Memory(memory) => Supplier::Memory(memory),
            Part::Agent(agent) => Supplier::Agent(agent),
            Part::Beyond(_) => unreachable!("no bridge is on a directory"),
        };
        self.composition.supplied(&transaction, Some(supplier));
        let is_newest = kind != Kind::ReadOnce && !data.is_empty();
        Directory::of(self.composition, self.on).state.blocks.keep(block, data, is_newest)
    }

    fn take(&mut self, from: AgentId, kind: Kind, slot: Slot) {
        let blocks = &mut Directory::of(self.composition, self.on).state.blocks;
        let data = match kind {
            // Its requester keeps it until it knows that it is here.
            Kind::WriteBack => {
                blocks.outdate(slot);
                blocks.get(slot).clone()
            }
            _ => blocks.take(slot),
        };
        // What an owner sends along is a block that returns, whatever it answers.
        let kind = if kind == Kind::WriteBlock { kind } else { Kind::WriteBack };
        let transaction = Transaction::carrying(from, kind, self.message.block, data);
        self.wait_for_memory();
        match self.link() {
            None => drop(self.home(&transaction)),
            // It gets what it has asked for itself with the answer.
            Some((_, agent)) if agent == self.message.requester => {}
            Some((link, agent)) => return_home(self.composition, self.now, link, agent, transaction),
        }
    }

    fn agent(&self) -> Option<AgentId> {
        if let Part::Agent(agent) = self.part { Some(agent) } else { None }
    }

    fn agent_shares(&self) -> bool {
        self.agent_shares
    }

    fn send(&mut self, to: Endpoint, message: Message<Slot>) {
        let way = (Endpoint::Home(self.id), to);
        Directory::send(self.composition, self.at, self.on, way, Carried { message, hops: self.hops });
    }
}
