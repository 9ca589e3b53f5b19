//! A memory on an interconnect: the home of the blocks that no device claims, or of a
//! range of addresses, as a NIC's local memory is.
//!
//! A local memory may be on two interconnects. With two ports each of them has its own,
//! and neither knows of the other; with one port an access waits until the one before it
//! is over, from wherever that came.

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::dram::Dram;
use crate::interconnects::InterconnectId;
use crate::interconnects::cxl::expander::Expander;
use crate::kind::Kind;
use crate::main_memory::MainMemory;
use crate::memory_array::{MemoryArray, MemoryArrays};
use crate::memory_uses::{MemoryUse, UseLog};
use crate::sockets::SocketLinks;
use crate::third_level::ThirdLevel;
use crate::transaction::{AccessReply, BlockData, HomeReply, Response, Transaction};

/// The ports of a memory that is on two interconnects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ports {
    /// One for both: an access waits until the one before it is over.
    Single,
    /// One for each.
    Dual,
}

/// Bytes, and how long they take.
#[derive(Clone, Debug)]
pub struct HomeMemory {
    /// The bytes.
    pub bytes: MainMemory,
    /// Time from the address to the block's first bytes.
    access_time: Duration,
    /// Bytes in a coherence block.
    pub block_bytes: u64,
    /// Until when its only port is taken; none where no other interconnect shares it.
    busy_until: Option<Time>,
    /// What its blocks meet, where not all take the same time.
    levels: Option<Box<Levels>>,
}

/// From where a memory delivered a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockSource {
    /// The cache in front of it.
    LastLevel,
    /// Its array.
    Memory,
    /// The array of another socket than that of its cache.
    OtherSocket,
}

/// What the blocks of a memory meet.
#[derive(Clone, Debug)]
struct Levels {
    /// The cache in front of it, with a part for each socket; none: it has no cache.
    third_levels: Vec<ThirdLevel>,
    arrays: MemoryArrays,
}

impl HomeMemory {
    /// A memory with these bytes whose blocks all take `access_time`.
    pub fn new(bytes: MainMemory, access_time: Duration, block_bytes: u64) -> Self {
        HomeMemory { bytes, access_time, block_bytes, busy_until: None, levels: None }
    }

    /// The same with one port for two interconnects.
    pub fn with_single_port(self) -> Self {
        HomeMemory { busy_until: Some(Time::ZERO), ..self }
    }

    /// The same with a cache in front of it, or DRAM behind its controller, or both, in each of
    /// several sockets where there are links between such, and with a part behind a CXL link.
    pub fn with_levels(
        self,
        third_level: Option<ThirdLevel>,
        dram: Option<Dram>,
        links: Option<SocketLinks>,
        expander: Option<Expander>,
    ) -> Self {
        let access_time = self.access_time;
        let has_own = third_level.is_some() || dram.is_some() || links.is_some();
        let has_levels = has_own || expander.is_some();
        let sockets = links.as_ref().map_or(1, |links| links.sockets.count());
        let array = match dram {
            None if has_own => MemoryArray::Fixed { access_time, taken_until: Time::ZERO },
            // What is behind a link changes nothing for the other blocks.
            dram => MemoryArray::flat_or(access_time, dram),
        };
        let levels = Levels {
            third_levels: third_level.into_iter().flat_map(|cache| vec![cache; sockets]).collect(),
            arrays: MemoryArrays::new(array, links, expander),
        };
        HomeMemory { levels: has_levels.then(|| Box::new(levels)), ..self }
    }

    /// The memory's part in a transaction for which no cache supplied the bytes.
    #[inline(always)]
    pub fn answer(&mut self, now: Time, transaction: &Transaction) -> HomeReply {
        let is_newer = self.levels.is_some() && self.lacks(transaction);
        if let Some(data) = &transaction.data {
            self.bytes.write(transaction.address, data);
        }
        let fetches = transaction.kind.fetches_block();
        let data = fetches.then(|| self.bytes.read_block(transaction.address, self.block_bytes as usize));
        let moves_block = data.is_some() || transaction.data.is_some();
        let delay = match &mut self.levels {
            _ if !moves_block => Duration::ZERO,
            None => self.time(now),
            Some(levels) => levels.time(now, transaction, is_newer),
        };
        HomeReply { data, delay }
    }

    /// Whether a block that comes is newer than the one here. Where second levels hand down blocks that
    /// they have not changed, the bytes tell.
    fn lacks(&self, transaction: &Transaction) -> bool {
        let Some(data) = &transaction.data else { return false };
        let takes_victims = self.third_levels().next().is_some_and(ThirdLevel::takes_victims);
        let may_be_unchanged = takes_victims && transaction.kind == Kind::WriteBack;
        !may_be_unchanged || self.bytes.read_block(transaction.address, data.len())[..] != data[..]
    }

    /// The memory's part in a transaction, without time and without counting it.
    pub fn answer_functionally(&mut self, transaction: &Transaction) -> Option<BlockData> {
        if let Some(data) = &transaction.data {
            self.bytes.write(transaction.address, data);
        }
        let fetches = transaction.kind.fetches_block();
        let data = fetches.then(|| self.bytes.read_block(transaction.address, self.block_bytes as usize));
        if data.is_some() || transaction.data.is_some() {
            self.use_third_level(transaction.address, transaction.data.is_some());
        }
        data
    }

    /// Uses a block in the cache in front of it, if there is one, without time.
    pub fn use_third_level(&mut self, address: u64, is_written: bool) {
        let Some(levels) = &mut self.levels else { return };
        let socket = levels.arrays.home_socket(address);
        if let Some(cache) = levels.third_levels.get_mut(socket) {
            cache.use_functionally(address, is_written);
        }
    }

    /// The cache in front of it: its part in each socket.
    pub fn third_levels(&self) -> impl Iterator<Item = &ThirdLevel> {
        self.levels.iter().flat_map(|levels| &levels.third_levels)
    }

    /// From now on it is observed, or not any more.
    pub fn observe(&mut self, is_observed: bool) {
        self.logs().for_each(|(_, log)| log.switch(is_observed));
    }

    /// Where it is observed, what was in use since this was asked last.
    pub fn take_uses(&mut self) -> Vec<MemoryUse> {
        let mut all = Vec::new();
        self.logs().for_each(|(socket, log)| log.take(socket, &mut all));
        all
    }

    fn logs(&mut self) -> impl Iterator<Item = (usize, &mut UseLog)> {
        self.levels.iter_mut().flat_map(|levels| {
            let caches = levels.third_levels.iter_mut().map(|cache| &mut cache.uses).enumerate();
            caches.chain(levels.arrays.logs())
        })
    }

    /// From where it has just delivered this block.
    pub fn last_source(&self, address: u64) -> BlockSource {
        self.levels.as_ref().map_or(BlockSource::Memory, |levels| levels.last_source(address))
    }

    /// The socket of a block's home.
    pub fn home_socket(&self, address: u64) -> usize {
        self.levels.as_ref().map_or(0, |levels| levels.arrays.home_socket(address))
    }

    /// The time of each access to a block, if all take the same.
    #[inline]
    pub fn fixed_time(&self) -> Option<Duration> {
        let is_fixed = self.busy_until.is_none() && self.levels.is_none();
        is_fixed.then_some(self.access_time)
    }

    /// What its cache and its DRAM have counted, and what is behind a CXL link, with the front of its names.
    pub fn statistics(&self) -> impl Iterator<Item = (&'static str, &dyn StatisticSet)> {
        self.levels.iter().flat_map(|levels| {
            let third = levels.third_levels.iter().flat_map(|cache| {
                let ddio = cache.ddio_statistics().map(|ddio| ddio as &dyn StatisticSet);
                std::iter::once(&cache.statistics as &dyn StatisticSet).chain(ddio)
            });
            let drams = levels.arrays.drams().map(|dram| &dram.statistics as &dyn StatisticSet);
            let expanders = levels.arrays.expanders().flat_map(Expander::statistics);
            third.chain(drams).map(|set| ("", set)).chain(expanders.map(|set| ("cxl_memory_", set)))
        })
    }

    /// The time of an access that begins at `now`, until its port is free included.
    #[inline]
    pub fn time(&mut self, now: Time) -> Duration {
        match &mut self.busy_until {
            None => self.access_time,
            Some(busy_until) => {
                *busy_until = now.max(*busy_until) + self.access_time;
                *busy_until - now
            }
        }
    }

    /// Carries out an access that no cache sees, at its end.
    pub fn access(&mut self, transaction: &Transaction, response: &mut Response) {
        let &Transaction { kind, address, size, value, .. } = transaction;
        match (kind, &transaction.data) {
            (Kind::BlockLoad, _) => response.data = Some(self.bytes.read_block(address, size.into())),
            (_, Some(data)) => self.bytes.write(address, data),
            (Kind::UncachedLoad, _) => {
                let mut word = [0; 8];
                self.bytes.read(address, &mut word[..size.into()]);
                response.value = u64::from_le_bytes(word);
            }
            _ => self.bytes.write(address, &value.to_le_bytes()[..size.into()]),
        }
    }
}

impl Levels {
    fn last_source(&self, address: u64) -> BlockSource {
        match self.third_levels.get(self.arrays.home_socket(address)) {
            Some(cache) if cache.last_was_hit => BlockSource::LastLevel,
            _ if self.arrays.is_elsewhere(address) => BlockSource::OtherSocket,
            _ => BlockSource::Memory,
        }
    }

    /// The time of a transaction on a block.
    #[inline(never)]
    fn time(&mut self, now: Time, transaction: &Transaction, is_newer: bool) -> Duration {
        let &Transaction { address, agent, .. } = transaction;
        let is_write = transaction.data.is_some();
        let socket = self.arrays.home_socket(address);
        match self.third_levels.get_mut(socket) {
            Some(cache) if is_write => cache.write(now, (address, is_newer), agent, &mut self.arrays),
            Some(cache) => cache.read(now, address, agent, &mut self.arrays),
            None if is_write => self.arrays.write(now, address) - now,
            None => self.arrays.read(now, address) - now,
        }
    }
}

/// A memory answers, and never asks.
impl Agent for &mut HomeMemory {
    fn wants(&self, _on: InterconnectId) -> bool {
        false
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        None
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, _: &Response) {
        unreachable!("a memory has issued nothing: {transaction:?}")
    }

    #[inline(always)]
    fn home(&mut self, now: Time, transaction: &Transaction) -> HomeReply {
        self.answer(now, transaction)
    }

    fn write(&mut self, address: u64, data: &BlockData) {
        self.bytes.write(address, data);
    }

    fn access_time(&mut self, now: Time, _kind: Kind) -> Duration {
        self.time(now)
    }

    fn access(&mut self, _now: Time, transaction: &Transaction, response: &mut Response) -> AccessReply {
        HomeMemory::access(self, transaction, response);
        AccessReply::Done
    }
}

impl Archived for HomeMemory {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let HomeMemory { bytes, access_time: _, block_bytes: _, busy_until, levels } = self;
        bytes.archive(archive)?;
        archive.value(busy_until)?;
        let Some(levels) = levels else { return Ok(()) };
        levels.arrays.archive(archive)?;
        levels.third_levels.iter_mut().try_for_each(|cache| cache.archive(archive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::{AgentId, BlockData};

    fn memory(busy_until: Option<Time>) -> HomeMemory {
        HomeMemory { busy_until, ..HomeMemory::new(MainMemory::default(), Duration::from_ns(10), 64) }
    }

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Duration::from_ns(nanoseconds)
    }

    #[test]
    fn accesses_to_one_port_follow_each_other_and_to_two_do_not() {
        let read = Transaction::block(AgentId(0), Kind::ReadOnce, 0x40);
        let times = |mut memory: HomeMemory| {
            [20, 24, 29, 60].map(|now| memory.answer(at(now), &read).delay.as_ps() / 1_000)
        };
        assert_eq!(times(memory(None)), [10, 10, 10, 10]);
        assert_eq!(times(memory(Some(Time::ZERO))), [10, 16, 21, 10]);
        let mut idle = memory(Some(at(50)));
        let upgrade = Transaction::block(AgentId(0), Kind::Upgrade, 0x40);
        assert_eq!(idle.answer(at(40), &upgrade).delay, Duration::ZERO, "no bytes move");
        assert_eq!(idle.time(at(40)), Duration::from_ns(20));
    }

    #[test]
    fn words_of_any_size_and_blocks_are_read_and_written_uncached() {
        let mut memory = memory(None);
        let mut access = |kind, address, size, value| {
            let mut response = Response::default();
            let transaction = Transaction::uncached(AgentId(0), kind, address, size, value);
            memory.access(&transaction, &mut response);
            (response.value, response.data.map(|block| block.to_vec()))
        };
        access(Kind::UncachedStore, 0x40, 8, 0x8877_6655_4433_2211);
        access(Kind::UncachedStore, 0x41, 1, 0xabcd);
        assert_eq!(access(Kind::UncachedLoad, 0x40, 4, 0).0, 0x4433_cd11);
        assert_eq!(access(Kind::UncachedLoad, 0x46, 2, 0).0, 0x8877);
        let block = access(Kind::BlockLoad, 0x40, 16, 0).1;
        let word = [0x11, 0xcd, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
        assert_eq!(block, Some([word, [0; 8]].concat()), "as many bytes as it says");
        let data = BlockData::from_bytes(&[9; 64]);
        let store = Transaction::carrying(AgentId(0), Kind::BlockStore, 0x80, data);
        memory.access(&store, &mut Response::default());
        assert_eq!(memory.bytes.read_block(0x80, 64)[63], 9);
    }
}
