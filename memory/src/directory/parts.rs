//! The sides of a directory with what they keep: requesters with their transactions, and
//! homes with their blocks.

use std::hash::{BuildHasher, BuildHasherDefault};

use narthex_kernel::{Duration, Time};
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};

use super::blocks::Slot;
use super::home::Entry;
use super::message::Carried;
use super::requester::BlockRequest;
use crate::interconnects::Home as Part;
use crate::kind::Kind;
use crate::transaction::{AgentId, Response, Transaction, TransactionTag};

/// A transaction of an agent.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct DirectoryTransaction {
    pub transaction: Transaction,
    pub since: Time,
    /// None: it is uncached.
    pub asked: Option<BlockRequest<Slot>>,
    /// The bytes that go home with its request.
    pub slot: Option<Slot>,
    pub is_sent: bool,
    /// What an uncached access has got.
    pub response: Response,
    /// The most messages, one after the other, of which it has heard.
    pub hops: u8,
}

/// An agent's side.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Requester {
    /// The oldest first.
    pub underway: Vec<DirectoryTransaction>,
    /// How many of these have not been sent.
    unsent: usize,
    /// Blocks that it holds against others, and until when.
    pub held: Vec<(u64, Time)>,
    /// It wants more than may be under way.
    pub waits: bool,
}

impl Requester {
    /// The place of a block's transaction that has asked its home.
    pub fn asking(&self, block: u64) -> Option<usize> {
        let is_it = |own: &DirectoryTransaction| {
            own.transaction.address == block && own.asked.is_some() && own.is_sent
        };
        self.underway.iter().position(is_it)
    }

    /// The place of an uncached access.
    pub fn access(&self, tag: TransactionTag) -> usize {
        let is_it = |own: &DirectoryTransaction| own.asked.is_none() && own.transaction.tag == tag;
        let place = self.underway.iter().position(is_it);
        place.expect("the access is under way")
    }

    /// A transaction begins.
    pub fn begin(&mut self, transaction: DirectoryTransaction) {
        self.unsent += 1;
        self.underway.push(transaction);
    }

    /// The one at this place is sent.
    pub fn send(&mut self, place: usize) -> &DirectoryTransaction {
        self.unsent -= 1;
        self.underway[place].is_sent = true;
        &self.underway[place]
    }

    /// The place of a transaction that has not been sent and that no older one keeps: one
    /// of the same block, or of an uncached access any write-back.
    pub fn next_to_send(&self) -> Option<usize> {
        if self.unsent == 0 {
            return None;
        }
        let is_kept = |place: usize| {
            let own = &self.underway[place].transaction;
            self.underway[..place].iter().any(|older| match own.kind.is_uncached() {
                true => older.transaction.kind == Kind::WriteBack,
                false => !older.transaction.kind.is_uncached() && older.transaction.address == own.address,
            })
        };
        (0..self.underway.len()).find(|&place| !self.underway[place].is_sent && !is_kept(place))
    }

    /// Until when it holds a block against others.
    pub fn holds_until(&mut self, now: Time, block: u64) -> Option<Time> {
        self.held.retain(|(_, until)| *until > now);
        self.held.iter().find(|(held, _)| *held == block).map(|(_, until)| *until)
    }
}

/// A request that waits until its home has done with another one of its block.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct QueuedRequest {
    pub since: Time,
    pub carried: Carried,
}

/// A home: who answers for its blocks, and what is known of them.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub part: Part,
    entries: FxHashMap<u64, Entry>,
    /// How many of them are busy.
    busy: usize,
    /// The one that has waited longest first.
    pub waiting: Vec<QueuedRequest>,
    /// Until when it looks a message up.
    looks_up_until: Time,
    /// Until when its memory is taken.
    memory_taken_until: Time,
}

impl Home {
    /// Of blocks that nobody has.
    pub fn new(part: Part) -> Self {
        Home {
            part,
            entries: FxHashMap::default(),
            busy: 0,
            waiting: Vec::new(),
            looks_up_until: Time::ZERO,
            memory_taken_until: Time::ZERO,
        }
    }

    /// When a message that has come now has been looked up, after those before it.
    pub fn look_up(&mut self, now: Time, lookup_time: Duration) -> Time {
        self.looks_up_until = self.looks_up_until.max(now) + lookup_time;
        self.looks_up_until
    }

    /// From when on its memory, which a block takes for `block_time`, moves one that it could
    /// move from `at` on.
    pub fn take_memory(&mut self, at: Time, block_time: Duration) -> Time {
        let begin = self.memory_taken_until.max(at);
        self.memory_taken_until = begin + block_time;
        begin
    }

    /// What is known of a block.
    pub fn entry(&self, block: u64) -> Entry {
        self.entries.get(&block).copied().unwrap_or_default()
    }

    /// What is known of it from now on.
    pub fn set_entry(&mut self, block: u64, entry: Entry) {
        self.busy += usize::from(entry.is_busy());
        let before = match entry.is_blank() {
            true => self.entries.remove(&block),
            false => self.entries.insert(block, entry),
        };
        self.busy -= usize::from(before.is_some_and(|before| before.is_busy()));
    }

    /// The blocks on which it works, in the order of their addresses.
    pub fn busy(&self) -> Vec<(u64, Entry)> {
        let mut busy: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.is_busy())
            .map(|(&block, &entry)| (block, entry))
            .collect();
        busy.sort_unstable_by_key(|(block, _)| *block);
        busy
    }

    /// The request for a block that has waited longest.
    pub fn next_waiting(&mut self, block: u64) -> Option<QueuedRequest> {
        let place = self.waiting.iter().position(|own| own.carried.message.block == block)?;
        Some(self.waiting.remove(place))
    }

    /// Whether its agent holds a request for a block: it waits, and the home works on no other one.
    pub fn holds(&self, block: u64) -> bool {
        let waits = || self.waiting.iter().any(|own| own.carried.message.block == block);
        !self.waiting.is_empty() && !self.entry(block).is_busy() && waits()
    }

    /// The blocks for which its agent holds a request, and whose that is.
    pub fn held(&self) -> impl Iterator<Item = (u64, AgentId)> {
        let messages = self.waiting.iter().map(|own| own.carried.message);
        messages.filter(|message| self.holds(message.block)).map(|message| (message.block, message.requester))
    }

    /// Whether nothing is under way here.
    pub fn is_at_rest(&self) -> bool {
        self.busy == 0 && self.waiting.is_empty()
    }

    /// A number for all entries, whatever their order, and what waits.
    pub fn state(&self) -> impl std::hash::Hash {
        let entries = self.entries.iter().fold(0, |sum, (&block, entry)| sum ^ digest(block, entry));
        (entries, self.waiting.iter().map(|own| own.carried).collect::<Vec<_>>())
    }

    /// What of it changes, in an order that its history does not decide.
    pub fn saved(&self) -> SavedHome {
        let mut entries: Vec<_> = self.entries.iter().map(|(&block, &entry)| (block, entry)).collect();
        entries.sort_unstable_by_key(|(block, _)| *block);
        let taken_until = (self.looks_up_until, self.memory_taken_until);
        SavedHome { entries, waiting: self.waiting.clone(), taken_until }
    }

    /// Takes up what was saved.
    pub fn restore(&mut self, saved: SavedHome) {
        let (looks_up_until, memory_taken_until) = saved.taken_until;
        *self = Home { waiting: saved.waiting, looks_up_until, memory_taken_until, ..Home::new(self.part) };
        saved.entries.into_iter().for_each(|(block, entry)| self.set_entry(block, entry));
    }
}

/// A number for what is known of a block.
fn digest(block: u64, entry: &Entry) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one((block, entry.words()))
}

/// A home in a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedHome {
    entries: Vec<(u64, Entry)>,
    waiting: Vec<QueuedRequest>,
    /// Until when it looks a message up, and its memory moves a block.
    taken_until: (Time, Time),
}
