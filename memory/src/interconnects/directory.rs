//! A directory's requesters and homes, and the messages between them.
//!
//! ```text
//!   agent wants ── granted at the clock's edge: request ──► home: looks up, waits its turn, answers or forwards
//!      agent gets it ◄── response ◄── home's memory, or the owner ◄─ forward ─┘
//! ```
//!
//! [`crate::directory`] says what is sent when; here are its time, its queues and its
//! agents. What carries the messages is the composition's affair
//! ([`InterconnectHost::carry`]): a network on chip, or a checker that lets them overtake each
//! other. They come back by [`Directory::arrive`].
//!
//! **A requester** has several transactions of different blocks under way. One of a block
//! that is still on its way home waits for that to be over; its agent need not, for a
//! write-back is over for the agent as soon as the requester has it. An uncached
//! access waits for the write-backs of its agent, so that it finds memory as the agent
//! left it. An agent keeps no copy of what it sends home (as `cbo.clean` would).
//!
//! **A home** looks messages up one after the other, each in `lookup_time`. Its memory takes its
//! own time after that, and is taken by a block for `block_time`: that is its bandwidth.
//! It works on one transaction of a block at a time; of those that wait the oldest is next.
//! Memories may share the blocks among them, by address; a device or another memory is the
//! home of its own addresses. The agent of a block's home may have copies of it like any
//! other. It is told of each request of others for its blocks ([`Agent::snoop`]) when the home begins
//! to work on it, because that part of the directory is in it. It acts at once; the time of the look-up and
//! of its memory is part of the answer. It may hold a request of another agent instead
//! ([`SnoopReply::later`](crate::SnoopReply::later)): until it goes on with it ([`Directory::resume`]), this
//! request and others of the block wait. Transactions on other blocks go on, the agent's own among them.
//!
//! **Holding.** A cache that has just got the right to write a block keeps it for
//! `hold_time`: what is forwarded to it meanwhile is answered then. So an LR and SC in a
//! loop, or a few stores, are not torn apart for ever by others that do the same.
//!
//! **A root complex** owns a block from its request until it has written it, and returns it then. It
//! snoops nothing: what is forwarded to it meanwhile waits, and the block on its way home answers.
//!
//! Agents are told of a transaction only if they have a copy, or are the home: one that listens to all
//! of them, or refuses some, needs a bus.
//!
//! **Behind a link that lets devices cache** are agents whose requesters are here: see `links.rs`.
//!
//! **A bridge** to another interconnect is a requester, and the home of the addresses behind it; see
//! `bridges.rs`.

#[path = "directory/bridges.rs"]
mod bridges;
#[path = "directory/config.rs"]
mod config;
#[path = "directory/homes.rs"]
mod homes;
#[path = "directory/links.rs"]
mod links;
#[path = "directory/part.rs"]
mod part;
#[path = "directory/requesters.rs"]
mod requesters;

use std::hash::{Hash, Hasher};
use std::ops::Range;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Time};
use serde::{Deserialize, Serialize};

use super::{
    AddressMap, Admits, AgentPorts, Home as Part, Interconnect, InterconnectHost, InterconnectId,
    InterconnectModel, Names, Observation, Step, Words, issue_for,
};
use crate::agent::Agent;
use crate::directory::{
    Blocks, Body, Carried, Endpoint, Entry, Home, HomeId, Hops, Lane, Requester, SavedHome, Table,
};
use crate::kind::Kind;
use crate::sockets::Sockets;
use crate::transaction::{AgentId, Response, TransactionTag};
use bridges::BridgePort;
pub use config::Config;
pub use homes::{Homes, Tiles};
pub use part::Keys;

narthex_kernel::statistics! {
    /// What crossed a directory.
    pub struct Statistics {
        messages: Tally<Lane>, "directory_messages", "messages", "messages between requesters and homes, by lane";
        transactions: Tally<Kind>, "directory_transactions", "transactions", "transactions that were begun, by kind";
        hops: Tally<Hops>, "directory_hops", "transactions", "transactions of blocks by the messages that they took one after the other";
        blocked: Counter, "directory_blocked", "requests", "requests that waited at their home for another transaction of the block";
        blocked_time: TimeTotal, "directory_blocked_time", "ps", "time for which they waited";
        held: Counter, "directory_held", "messages", "forwards that a cache answered later, because it had just got the block";
    }
}

/// What a directory remembers, but for its homes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    requesters: Vec<Requester>,
    /// Agents that will be granted, and when.
    asked: Vec<(Time, AgentId)>,
    blocks: Blocks,
    /// What caches will answer when they hold the block no longer.
    delayed: Vec<(Time, AgentId, Carried)>,
    /// What root complexes will answer when they return the block.
    awaited: Vec<(AgentId, Carried)>,
    /// The ports of bridges.
    bridges: Vec<BridgePort>,
    pub statistics: Statistics,
}

/// A directory with its agents and homes.
#[derive(Clone, Debug)]
pub struct Directory {
    names: Names,
    table: &'static Table,
    clock: Clock,
    limits: Config,
    ports: AgentPorts,
    ranges: AddressMap,
    /// How many of the homes share the addresses that are in no range.
    interleaved: usize,
    /// Where these are in several sockets, the first ones in the first socket.
    sockets: Option<Sockets>,
    tiles: Option<Tiles>,
    /// Its agents behind links, with the links.
    links: Vec<(AgentId, InterconnectId)>,
    /// Those of its agents that own blocks only until they have written them, and snoop none.
    writers: Vec<AgentId>,
    homes: Vec<Home>,
    pub(super) state: State,
}

impl Directory {
    /// One that knows of no copies yet.
    pub fn new(
        names: Names,
        config: &Config,
        table: &'static Table,
        ports: AgentPorts,
        homes: Homes,
    ) -> Self {
        let Homes { ranges, interleaved, tiles } = homes;
        let mut parts: Vec<Part> = interleaved.iter().map(|&memory| Part::Memory(memory)).collect();
        for part in ranges.of_ranges() {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        let agents = ports.iter().map(|port| usize::from(port.agent.0) + 1).max().unwrap_or(0);
        let writers = ports.iter().filter(|port| port.holds && port.concern.is_empty());
        let writers = writers.map(|port| port.agent).collect();
        Directory {
            names,
            table,
            clock: config.clock.clock(),
            limits: config.clone(),
            ports,
            ranges,
            interleaved: interleaved.len(),
            sockets: None,
            tiles,
            links: Vec::new(),
            writers,
            homes: parts.into_iter().map(Home::new).collect(),
            state: State { requesters: vec![Requester::default(); agents], ..State::default() },
        }
    }

    /// The same with bridges on it to these interconnects: their places among the agents.
    pub fn with_bridges(mut self, bridges: &[(AgentId, InterconnectId)]) -> Self {
        let agents = bridges.iter().map(|(agent, _)| usize::from(agent.0) + 1).max().unwrap_or(0);
        let requesters = &mut self.state.requesters;
        requesters.resize_with(requesters.len().max(agents), Requester::default);
        self.state.bridges = bridges.iter().map(|&(agent, behind)| BridgePort::new(agent, behind)).collect();
        self
    }

    /// The same with the homes that share addresses in several sockets.
    pub fn with_sockets(self, sockets: Option<Sockets>) -> Self {
        Directory { sockets, ..self }
    }

    /// How many agents may be on it: their numbers are below.
    pub fn agents(&self) -> usize {
        self.state.requesters.len()
    }

    /// The home of an address.
    pub fn home_of(&self, address: u64) -> HomeId {
        let place = match self.ranges.find(address) {
            Some(part) => self.homes.iter().position(|home| home.part == part),
            None => self.sharing_home(address),
        };
        HomeId(place.unwrap_or_else(|| panic!("nothing answers for the address {address:#x}")) as u8)
    }

    /// What its homes are, by their numbers.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.homes.iter().map(|home| home.part)
    }

    /// What answers for an address: a memory or a device.
    pub fn part_of(&self, address: u64) -> Part {
        self.homes[usize::from(self.home_of(address).0)].part
    }

    /// What is known of a block.
    pub fn entry(&self, block: u64) -> Entry {
        self.homes[usize::from(self.home_of(block).0)].entry(block)
    }

    /// Whether a processor finds an address in its own tile.
    fn is_in_tile(&self, processor: AgentId, address: u64) -> bool {
        self.tiles.as_ref().is_some_and(|tiles| tiles.port(processor, address).is_some())
    }

    /// The directory, where one is known to be.
    pub(super) fn of<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Self {
        match composition.interconnect(on) {
            Interconnect::Directory(directory) => directory,
            other => unreachable!("{} is not a directory", other.name()),
        }
    }

    /// Takes the next agent that is granted by now: in the order of time and number, whatever
    /// the order in which they have asked.
    fn next_asked(&mut self, now: Time) -> Option<AgentId> {
        let asked = &mut self.state.asked;
        let due = asked.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let (place, _) = due.min_by_key(|(_, asked)| **asked)?;
        Some(asked.remove(place).1)
    }

    fn requester(&mut self, agent: AgentId) -> &mut Requester {
        &mut self.state.requesters[usize::from(agent.0)]
    }

    /// A message has come to its place.
    pub fn arrive<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        to: Endpoint,
        carried: Carried,
    ) {
        match (to, carried.message.body) {
            (Endpoint::Home(home), Body::Access { tag, .. }) => {
                let access = (carried.message.requester, tag);
                let part = Self::of(composition, on).homes[usize::from(home.0)].part;
                if let Part::Beyond(behind) = part {
                    return Self::come_to_bridge(composition, now, on, behind, access);
                }
                if let Some(time) = Self::serve_access(composition, now, on, access, part) {
                    Self::send_answer(composition, now + time, on, access);
                }
            }
            (Endpoint::Home(home), _) => Self::at_home(composition, now, on, home, carried),
            (Endpoint::Requester(agent), Body::Forward { .. }) => {
                Self::forwarded(composition, now, on, agent, carried);
            }
            (Endpoint::Requester(agent), Body::Answer { tag, .. }) => {
                let place = Self::of(composition, on).requester(agent).access(tag);
                Self::end(composition, now, on, (agent, place));
            }
            (Endpoint::Requester(agent), _) => Self::responded(composition, now, on, agent, carried),
        }
    }

    fn send<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        (from, to): (Endpoint, Endpoint),
        carried: Carried,
    ) {
        let statistics = &mut Self::of(composition, on).state.statistics;
        statistics.messages.increment(carried.message.body.lane());
        composition.carry(at, on, from, to, carried);
    }
}

impl InterconnectModel for Directory {
    const KIND: &'static str = "directory";
    const ADMITS: Admits = Admits {
        caches: true,
        bridges: true,
        root_complexes: true,
        coherent_devices: true,
        tiles: true,
        ..Admits::NOTHING
    };
    const ASKS_HOMES: bool = true;
    const OVERLAPS: bool = true;

    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        let own = Self::of(composition, on);
        if own.state.asked.iter().any(|(_, asked)| *asked == agent) {
            return;
        }
        let at = own.clock.edge_at_or_after(now);
        own.state.asked.push((at, agent));
        composition.schedule(at, on, Step::Grant);
    }

    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => {
                while let Some(agent) = Self::of(composition, on).next_asked(now) {
                    Self::grant_to(composition, now, on, agent);
                }
            }
            Step::Forward => {
                while let Some(place) =
                    Self::of(composition, on).state.delayed.iter().position(|(at, ..)| *at <= now)
                {
                    let (_, agent, carried) = Self::of(composition, on).state.delayed.remove(place);
                    Self::answer_or_await(composition, now, on, agent, carried);
                }
            }
            Step::Release => Self::end_crossings(composition, now, on),
            Step::Address => unreachable!("a directory is no bus"),
        }
    }

    fn go_on_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
    ) {
        Self::carry_for_bridge(composition, now, on, behind);
    }

    fn end_crossing_at<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        behind: InterconnectId,
        response: Option<Response>,
    ) {
        let own = Self::of(composition, on);
        let port = own.bridge_port(behind);
        port.ends_at = Some(at);
        let (agent, tag) = port.crossing.expect("something crosses the bridge");
        if let Some(response) = response {
            let requester = own.requester(agent);
            let place = requester.access(tag);
            requester.underway[place].response = response;
        }
        composition.schedule(at, on, Step::Release);
    }

    fn answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        (agent, tag): (AgentId, TransactionTag),
        response: Response,
    ) {
        let requester = Self::of(composition, on).requester(agent);
        let place = requester.access(tag);
        requester.underway[place].response = response;
        Self::send_answer(composition, at, on, (agent, tag));
    }

    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        let own = Self::of(composition, on);
        own.state.asked.retain(|&(_, asked)| asked != agent);
        let most = own.limits.transactions as usize;
        let requester = own.requester(agent);
        if requester.underway.len() >= most {
            requester.waits = true;
            return;
        }
        if let Some(behind) = own.behind(agent) {
            return Self::carry_for_bridge(composition, now, on, behind);
        }
        let link = own.link_of(agent);
        let issued = match link {
            Some(link) => issue_for(composition, now, link, agent),
            None => composition.agent(agent).issue(now, on).map(|issued| (issued, false)),
        };
        let Some((transaction, wants_more)) = issued else {
            return composition.observe(now, on, Observation::UnusedGrant(agent));
        };
        Self::begin(composition, now, on, transaction);
        if wants_more || link.is_none() && composition.agent(agent).wants(on) {
            let next = Self::of(composition, on).clock.after(now, 1);
            Self::ask(composition, next, on, agent);
        }
    }

    fn contenders(&self, all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        let has_room = |agent: AgentId| {
            self.state.requesters[usize::from(agent.0)].underway.len() < self.limits.transactions as usize
        };
        let agents = self.ports.iter().map(|port| port.agent).filter(|&agent| wants(agent));
        agents.chain(self.bridges_that_want(all)).filter(|&agent| has_room(agent)).collect()
    }

    /// Many may be under way.
    fn as_directory(&self) -> Option<&Directory> {
        Some(self)
    }

    #[inline]
    fn ports(&self) -> &AgentPorts {
        &self.ports
    }

    fn name(&self) -> &'static str {
        self.names.name
    }

    fn occupancy_clock(&self) -> Clock {
        self.clock
    }

    fn clock(&self) -> Clock {
        self.clock
    }

    fn is_idle_at(&self, _now: Time) -> bool {
        self.state.asked.is_empty()
            && self.state.requesters.iter().all(|requester| requester.underway.is_empty())
            && self.homes.iter().all(|home| home.is_at_rest())
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        vec![(self.names.prefix, &self.state.statistics)]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.state.statistics]
    }

    fn peek(&self, block: u64) -> Option<&[u8]> {
        self.state.blocks.peek(block)
    }

    fn poke(&mut self, address: u64, bytes: &[u8]) {
        self.state.blocks.poke(address, bytes);
    }

    fn discard(&mut self, range: &Range<u64>) {
        self.state.blocks.discard(range);
    }

    fn describe(&self, words: &dyn Words) -> Option<String> {
        let busy = self.homes.iter().flat_map(Home::busy).map(|(block, entry)| {
            let (state, agent) = entry.waits().expect("it is busy");
            let (place, agent) = (words.place(block), words.agent(agent));
            format!("the home of {place} is {state:?} and waits on a transaction of {agent}")
        });
        let held = self.homes.iter().flat_map(Home::held).map(|(block, agent)| {
            format!("the home of {} holds a request of {}", words.place(block), words.agent(agent))
        });
        let all: Vec<String> = busy.chain(held).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        let State { requesters, asked, blocks, delayed, awaited, bridges, statistics: _ } = &self.state;
        (requesters, asked, blocks, delayed, awaited, bridges).hash(hasher);
        self.homes.iter().for_each(|home| home.state().hash(hasher));
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Directory {
            names: _,
            table: _,
            clock: _,
            limits: _,
            ports: _,
            ranges: _,
            interleaved: _,
            sockets: _,
            tiles: _,
            links: _,
            writers: _,
            homes,
            state,
        } = self;
        let agents = state.requesters.len();
        archive.value(state)?;
        archive
            .ensure(state.requesters.len() == agents, "a directory has other agents than the machine's")?;
        let mut saved: Vec<SavedHome> = homes.iter().map(Home::saved).collect();
        archive.value(&mut saved)?;
        archive.ensure(saved.len() == homes.len(), "a directory has other homes than the machine's")?;
        homes.iter_mut().zip(saved).for_each(|(home, saved)| home.restore(saved));
        Ok(())
    }
}
