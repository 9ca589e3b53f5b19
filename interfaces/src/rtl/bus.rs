//! The bus port of hardware in a FIFO's place: by it the design is a master of its interconnect.
//!
//! ```text
//!   bus_valid, bus_write, bus_address, bus_bytes ─► Asked ─► wants, issue ─► UnderWay ─► complete
//!   bus_data, a doubleword a cycle, of a write  ─► Filling ─┘                              │
//!   bus_reply_*, a doubleword a cycle  ◄──────────────────────────────────── Replying ◄────┘
//! ```
//!
//! A request is for some bytes of one block, one request at a time. Those of a read come from whatever
//! copy of the block is the latest (`read_once`). A whole block is written as such (`write_block`). Of
//! one that is written in part the port takes a copy as a cache would (`read_exclusive`), puts the bytes
//! in and returns it (`write_back`); in between it answers others' requests for the block.
//!
//! A request may be taken in a cycle ahead of the node's time. It asks for the interconnect at the
//! instant of its edge, by the port of its process that is called then; that port answers for the block
//! until the request is over.

use std::hash::Hash;

use narthex_kernel::digest::Digest;
use narthex_kernel::{Archive, Archived, Damage, Time};
use narthex_memory::cache::Cache;
use narthex_memory::protocols::Request;
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::ports::BusPorts;
use super::simulation::Simulation;
use crate::half::RegisterFault;
use crate::interface::Place;

/// What a bus port issues.
pub const TRANSACTIONS: [Kind; 4] = [Kind::ReadOnce, Kind::WriteBlock, Kind::ReadExclusive, Kind::WriteBack];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum PortState {
    Idle,
    /// The rest of a write's doublewords are to come.
    Filling,
    /// The interconnect is asked for from this instant on.
    Asked(Time),
    /// The interconnect is asked for.
    Wanting,
    UnderWay,
    /// The reply is offered to the design.
    Replying,
}

#[derive(Hash, Debug, Serialize, Deserialize)]
struct State {
    stage: PortState,
    /// Who asks: the port of the device.
    port: usize,
    is_write: bool,
    address: u64,
    length: usize,
    /// What is written or was read.
    bytes: Vec<u8>,
    /// Doublewords of the reply that were taken.
    taken: usize,
    /// The block of which a part is written, while it is here.
    merged: Cache,
    /// The part's bytes have been put into that block.
    is_merged: bool,
}

/// The bus port of a process's hardware.
pub(super) struct BusPort {
    ports: BusPorts,
    place: Place,
    state: State,
}

impl BusPort {
    /// The port of a process whose first port is `port`.
    pub fn new(ports: BusPorts, place: Place, port: usize) -> Self {
        let state = State {
            stage: PortState::Idle,
            port,
            is_write: false,
            address: 0,
            length: 0,
            bytes: Vec::with_capacity(place.block_bytes),
            taken: 0,
            merged: Cache::with_geometry(place.protocol, 1, 1, place.block_bytes),
            is_merged: false,
        };
        BusPort { ports, place, state }
    }

    /// Sets the port's inputs.
    pub fn offer(&self, simulation: &mut Simulation) {
        let BusPort { ports, state, .. } = self;
        simulation.set(ports.bus_ready, matches!(state.stage, PortState::Idle | PortState::Filling).into());
        let reply = (state.stage == PortState::Replying).then(|| state.reply());
        simulation.set(ports.bus_reply_valid, reply.is_some().into());
        let (data, is_last) = reply.unwrap_or_default();
        simulation.set(ports.bus_reply_data, data);
        simulation.set(ports.bus_reply_last, is_last.into());
    }

    /// What moves in a cycle whose rising edge is at `edge`. Whether a request is whole with it.
    ///
    /// # Errors
    /// If the request is none.
    pub fn cycle(&mut self, simulation: &Simulation, edge: Time) -> Result<bool, RegisterFault> {
        let BusPort { ports, state, place } = self;
        match state.stage {
            PortState::Idle | PortState::Filling if simulation.is_set(ports.bus_valid) => {
                if state.stage == PortState::Idle {
                    let bytes = simulation.get(ports.bus_bytes);
                    state.begin(simulation.get(ports.bus_address), bytes, place.block_bytes)?;
                    state.is_write = simulation.is_set(ports.bus_write);
                }
                Ok(state.take(simulation.get(ports.bus_data), edge))
            }
            PortState::Replying if simulation.is_set(ports.bus_reply_ready) => {
                state.taken += 1;
                if state.taken == state.reply_words() {
                    state.stage = PortState::Idle;
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// It is `now`, and `port` is called.
    pub fn advance(&mut self, now: Time, port: usize) {
        if matches!(self.state.stage, PortState::Asked(at) if at <= now) {
            self.state.stage = PortState::Wanting;
            self.state.port = port;
        }
    }

    /// When a request that was taken ahead of time asks for the interconnect.
    pub fn asks_at(&self) -> Option<Time> {
        match self.state.stage {
            PortState::Asked(at) => Some(at),
            _ => None,
        }
    }

    /// Whether this port wants to issue a transaction.
    pub fn wants(&self, port: usize) -> bool {
        self.state.stage == PortState::Wanting && self.state.port == port
    }

    /// The port is granted its interconnect. None if a block that was to be returned is another
    /// agent's by now, with the bytes that were put into it: then the request is over.
    pub fn issue(&mut self) -> Option<Transaction> {
        let BusPort { place, state, .. } = self;
        state.issue(AgentId(place.first_agent.0 + state.port as u8), place.block_bytes)
    }

    /// What it issued is over.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) {
        self.state.complete(transaction, response);
    }

    /// Another agent's transaction passes by a port.
    pub fn snoop(&mut self, port: usize, transaction: &Transaction) -> SnoopReply {
        if port == self.state.port { self.state.snoop(transaction) } else { SnoopReply::default() }
    }

    /// The same on a bus that carries no data from cache to cache.
    pub fn push(&mut self, port: usize, transaction: &Transaction) -> Option<BlockData> {
        let snoop = transaction.kind.snoop().filter(|_| port == self.state.port)?;
        self.state.merged.push(snoop, transaction.address)
    }

    /// The block of which it writes a part, if it is this one and here.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        self.state.merged.peek(address)
    }

    /// What it is at, in words; nothing if it is idle.
    pub fn describe(&self) -> String {
        let State { stage, is_write, address, length, bytes, taken, .. } = &self.state;
        let what = match stage {
            PortState::Idle => return String::new(),
            PortState::Filling => format!("has {} bytes of it", bytes.len()),
            PortState::Asked(_) | PortState::Wanting => "waits for the interconnect".into(),
            PortState::UnderWay => "is under way".into(),
            PortState::Replying => format!("has been answered, and {taken} doublewords of that are taken"),
        };
        let verb = if *is_write { "write" } else { "read" };
        format!("its {verb} of {length} bytes at {address:#x} {what}")
    }

    /// Feeds all that determines what follows.
    pub fn hash(&self, digest: &mut Digest) {
        self.state.hash(digest);
    }
}

impl State {
    /// A request for bytes at an address.
    fn begin(&mut self, address: u64, bytes: u64, block_bytes: usize) -> Result<(), RegisterFault> {
        let left = block_bytes as u64 - address % block_bytes as u64;
        if !(1..=left).contains(&bytes) {
            return Err(RegisterFault(format!(
                "the hardware's bus_bytes asks for {bytes} bytes at {address:#x}; a request is for bytes of one \
                 block of {block_bytes}: 1 to {left} there"
            )));
        }
        (self.address, self.length, self.taken) = (address, bytes as usize, 0);
        self.bytes.clear();
        Ok(())
    }

    /// The request, or a doubleword of a write: whether it is whole.
    fn take(&mut self, data: u64, edge: Time) -> bool {
        if self.is_write {
            let left = (self.length - self.bytes.len()).min(8);
            self.bytes.extend_from_slice(&data.to_le_bytes()[..left]);
        }
        let is_whole = !self.is_write || self.bytes.len() == self.length;
        self.stage = if is_whole { PortState::Asked(edge) } else { PortState::Filling };
        is_whole
    }

    /// Its next transaction; none if the block that was to be returned is not here any more.
    fn issue(&mut self, agent: AgentId, block_bytes: usize) -> Option<Transaction> {
        let block = self.block(block_bytes);
        self.stage = PortState::UnderWay;
        if self.is_merged {
            self.is_merged = false;
            let Some(data) = self.merged.remove(block) else {
                self.stage = PortState::Replying;
                return None;
            };
            return Some(Transaction::carrying(agent, Kind::WriteBack, block, data));
        }
        Some(match self.is_write {
            false => Transaction::block(agent, Kind::ReadOnce, block),
            true if self.length == block_bytes => {
                Transaction::carrying(agent, Kind::WriteBlock, block, BlockData::from_bytes(&self.bytes))
            }
            true => Transaction::block(agent, Kind::ReadExclusive, block),
        })
    }

    fn complete(&mut self, transaction: &Transaction, response: &Response) {
        let State { stage, bytes, address, length, merged, is_merged, .. } = self;
        let begin = (*address - transaction.address) as usize;
        let range = begin..begin + *length;
        *stage = PortState::Replying;
        match (transaction.kind, &response.data) {
            (Kind::ReadOnce, Some(block)) => bytes.extend_from_slice(&block[range]),
            (Kind::ReadExclusive, Some(block)) => {
                let mut block = block.clone();
                block[range].copy_from_slice(bytes);
                merged.fill(transaction.address, Request::ReadExclusive, response.shared, Some(&block));
                *is_merged = true;
                *stage = PortState::Wanting;
            }
            _ => {}
        }
    }

    fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        let snoop = transaction.kind.snoop();
        snoop.map_or_else(SnoopReply::default, |snoop| self.merged.snoop(snoop, transaction.address))
    }

    fn block(&self, block_bytes: usize) -> u64 {
        self.address - self.address % block_bytes as u64
    }

    /// Doublewords of the reply: those of a read, or the word that a write is over.
    fn reply_words(&self) -> usize {
        if self.is_write { 1 } else { self.length.div_ceil(8) }
    }

    /// The reply's next doubleword, and whether it is the last.
    fn reply(&self) -> (u64, bool) {
        let is_last = self.taken + 1 == self.reply_words();
        if self.is_write {
            return (0, is_last);
        }
        let mut bytes = [0; 8];
        let rest = &self.bytes[self.taken * 8..];
        let length = rest.len().min(8);
        bytes[..length].copy_from_slice(&rest[..length]);
        (u64::from_le_bytes(bytes), is_last)
    }
}

impl Archived for BusPort {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let BusPort { ports: _, place, state } = self;
        archive.value(state)?;
        let State { stage, address, length, bytes, taken, .. } = state;
        let left = place.block_bytes - *address as usize % place.block_bytes;
        let is_sound = *length <= left && bytes.len() <= *length;
        let is_whole =
            *stage != PortState::Replying || state.is_write || bytes.len() == *length && *taken * 8 < *length;
        archive.ensure(is_sound && is_whole, "a request of the hardware's bus port is none")
    }
}

#[cfg(test)]
mod tests {
    use narthex_memory::protocols;

    use super::*;

    fn state() -> State {
        State {
            stage: PortState::Idle,
            port: 0,
            is_write: false,
            address: 0,
            length: 0,
            bytes: Vec::new(),
            taken: 0,
            merged: Cache::with_geometry(protocols::by_name("MOESI").expect("it is built in"), 1, 1, 64),
            is_merged: false,
        }
    }

    #[test]
    fn a_request_is_for_bytes_of_one_block() {
        let mut state = state();
        assert_eq!(state.begin(0x1038, 8, 64), Ok(()));
        let refused = state.begin(0x1038, 9, 64).expect_err("it goes beyond the block").0;
        assert!(refused.contains("bus_bytes asks for 9 bytes at 0x1038"), "{refused}");
        assert!(refused.ends_with("one block of 64: 1 to 8 there"), "{refused}");
        assert!(state.begin(0x1000, 0, 64).is_err());
    }

    #[test]
    fn a_write_is_whole_with_its_last_doubleword() {
        let mut state = State { is_write: true, ..state() };
        state.begin(0x1000, 11, 64).expect("a sound request");
        assert!(!state.take(0x0807_0605_0403_0201, Time::ZERO));
        assert_eq!(state.stage, PortState::Filling);
        assert!(state.take(0xffff_ffff_ff0b_0a09, Time::ZERO));
        assert_eq!(state.bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!((state.stage, state.reply()), (PortState::Asked(Time::ZERO), (0, true)));
    }

    #[test]
    fn what_was_read_is_offered_from_its_first_byte_on() {
        let mut state = state();
        state.begin(0x1003, 9, 64).expect("a sound request");
        assert!(state.take(0, Time::ZERO));
        state.bytes.extend([1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(state.reply(), (0x0807_0605_0403_0201, false));
        state.taken = 1;
        assert_eq!(state.reply(), (9, true));
    }

    /// A write of bytes 0x77 at 0x1008, taken and granted.
    fn write(length: usize) -> (State, Transaction) {
        let mut state = State { is_write: true, ..state() };
        let address = if length == 64 { 0x1000 } else { 0x1008 };
        state.begin(address, length as u64, 64).expect("a sound request");
        while !state.take(0x7777_7777_7777_7777, Time::ZERO) {}
        let issued = state.issue(AGENT, 64).expect("a transaction");
        (state, issued)
    }

    const AGENT: AgentId = AgentId(1);
    const OTHER: AgentId = AgentId(0);

    fn fetched() -> Response {
        Response { data: Some(BlockData::from_bytes(&[0x11; 64])), ..Response::default() }
    }

    #[test]
    fn a_whole_block_is_written_at_once() {
        let (mut state, issued) = write(64);
        let block = BlockData::from_bytes(&[0x77; 64]);
        assert_eq!(issued, Transaction::carrying(AGENT, Kind::WriteBlock, 0x1000, block));
        state.complete(&issued, &Response::default());
        assert_eq!(state.stage, PortState::Replying);
    }

    #[test]
    fn a_part_is_put_into_a_copy_of_its_block_which_goes_back() {
        let (mut state, issued) = write(16);
        assert_eq!(issued, Transaction::block(AGENT, Kind::ReadExclusive, 0x1000));
        state.complete(&issued, &fetched());
        assert_eq!(state.stage, PortState::Wanting);
        let returned = state.issue(AGENT, 64).expect("the block goes back");
        let block = [[0x11; 8], [0x77; 8], [0x77; 8], [0x11; 8]].concat();
        let block = [&block[..], &[0x11; 32]].concat();
        let expected = Transaction::carrying(AGENT, Kind::WriteBack, 0x1000, BlockData::from_bytes(&block));
        assert_eq!(returned, expected);
        state.complete(&returned, &Response::default());
        assert_eq!((state.stage, state.reply()), (PortState::Replying, (0, true)));
    }

    #[test]
    fn a_block_that_another_agent_takes_over_has_the_part_in_it_and_does_not_go_back() {
        let (mut state, issued) = write(16);
        state.complete(&issued, &fetched());
        let taken = state.snoop(&Transaction::block(OTHER, Kind::ReadExclusive, 0x1000));
        assert_eq!(taken.supplies.expect("it has the latest copy")[6..10], [0x11, 0x11, 0x77, 0x77]);
        assert_eq!(state.issue(AGENT, 64), None);
        assert_eq!((state.stage, state.is_merged), (PortState::Replying, false));
        assert!(state.snoop(&Transaction::block(OTHER, Kind::Read, 0x1000)).supplies.is_none());
    }
}
