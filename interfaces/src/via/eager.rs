//! The controller of Eager Data Transfer: it watches writes to registered memory, fetches
//! what was written, and gives the host what was received (Section 4).
//!
//! ```text
//!                      host writes (Upgrade, ReadExclusive seen)
//!               ┌───────────────────────────────────────────────┐
//!               ▼                                               │
//!     Invalid ──┬── after reaction_time: Read ──────────────► Shared ◄─┐
//!               │                                               │      │ Read seen:
//!               └── put: Invalidate or ReadExclusive ─► Modified│      │ supplies, home is updated
//!                                                          ▲ └──┼──────┘
//!                                                          └────┘ put: Upgrade
//! ```
//!
//! **Host to interface.** A registered block that the host writes becomes Invalid here;
//! after `reaction_time` the controller fetches it with a bus read, which leaves both with
//! a shared copy, so that the next write is seen again. The host must not get a block
//! exclusively: it would write it silently. So the controller asserts the shared line for
//! every registered block, also where its copy is not valid: a write that it did not see
//! would be fetched only when the firmware awaits the block.
//!
//! **Status bits.** A doorbell may overtake fetches. Firmware awaits the blocks that it is
//! going to read: those that are not valid are fetched at once, and STATUS shows when each
//! of them has been valid since.
//!
//! **Interface to host.** A *put* stores bytes at host addresses. Coherent receive: the
//! controller acquires each block first, which makes the host's copies go, and keeps it
//! Modified until the host reads it. DMA-like receive: it writes each block home. A block
//! of which only a part is put and that is not valid here is read exclusively and merged.
//! Blocks without a tag (answers on command pages) are merged and written home.
//!
//! The bus carries one transaction at a time from its snoop to its answer, so a block
//! changes its state here when its transaction is over. Nothing here knows a node: the
//! simulator and the model checker run the same code.

mod puts;
mod transactions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use narthex_kernel::{Duration, Time};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::protocols::Snoop;
use narthex_memory::{BlockData, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::config::Initialisation;
use super::copies::{Copies, CopyState, Fields};
use super::registers::{AWAITED, INITIALISED, UPDATED};
use puts::Put;

narthex_kernel::statistics! {
    /// What the controller did.
    pub struct Statistics {
        fetched: Counter, "via_blocks_fetched", "blocks", "registered blocks that the interface fetched after a write";
        overtaken: Counter, "via_blocks_awaited", "blocks", "blocks that were not valid yet when the firmware awaited them";
        rewritten: Counter, "via_writes_seen", "transactions", "transactions that made a block of a copy invalid";
        supplied: Counter, "via_blocks_supplied", "blocks", "received blocks that the interface supplied to the host";
        acquired: Counter, "via_blocks_acquired", "blocks", "blocks that the interface made its own to put bytes into them";
        written: Counter, "via_blocks_written", "blocks", "blocks that the interface wrote home";
        initialised: Counter, "via_blocks_initialised", "blocks", "blocks that became the interface's to watch when they were registered";
    }
}

/// A rule of the protocol that a model checker can leave out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Rule {
    /// The shared line is asserted for every registered block.
    AssertingShared,
    /// Firmware waits for the status bits of what it reads.
    StatusBits,
    /// The host's copies go before bytes are put into a block.
    InvalidatingFirst,
}

impl Rule {
    /// Each rule by its name.
    pub const ALL: [(Rule, &'static str); 3] = [
        (Rule::AssertingShared, "asserting-shared"),
        (Rule::StatusBits, "status-bits"),
        (Rule::InvalidatingFirst, "invalidating-first"),
    ];
}

/// When and where a step of the controller happens.
pub struct ControllerContext<'a> {
    /// The present instant.
    pub now: Time,
    /// Instants at which the controller wants to be called.
    pub timers: &'a mut Vec<Time>,
    /// The interface's memory.
    pub memory: &'a mut MainMemory,
}

/// How the controller is built.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Build {
    /// How many tags it has.
    pub tags: u32,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
    /// Time from a write to its fetch.
    pub reaction_time: Duration,
    /// How a registered region becomes its to watch.
    pub initialisation: Initialisation,
    /// Time to supply a block from the interface's memory.
    pub supply_time: Duration,
    /// Received blocks are written home.
    pub writes_home: bool,
}

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Purpose {
    /// A block that was written.
    Fetch,
    /// The oldest put: to own its block.
    Acquire,
    /// The oldest put: its block goes home whole.
    Write,
    /// The oldest put, or a sweep: a block that is owned goes home.
    Return,
    /// A sweep: a block of a new tag is read, or taken from the caches.
    Initialise,
}

/// Why the blocks of a tag are gone through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Sweep {
    /// It is new.
    Begin,
    /// It ends.
    End,
}

/// The controller.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Eager {
    build: Build,
    copies: Copies,
    /// The tag that is changed, and its fields as they are written.
    selected: usize,
    fields: Fields,
    /// Writes that were seen, with when their blocks are fetched; the next one first.
    reacting: VecDeque<(Time, u64)>,
    /// Blocks to be fetched now.
    ready: VecDeque<u64>,
    puts: VecDeque<Put>,
    /// Puts so far, and those among them that are done.
    put_number: u64,
    puts_done: u64,
    /// Tags whose blocks are gone through, and how far.
    sweeps: VecDeque<(Sweep, usize, u64)>,
    /// Fetches since the last block of a tag had its turn, while tags are gone through.
    fetches_in_a_row: u32,
    under_way: Option<(Purpose, u64)>,
    /// Blocks that the interface owns: their bytes.
    modified: BTreeMap<u64, BlockData>,
    /// Blocks that the firmware waits for.
    awaited: BTreeSet<u64>,
    left_out: Option<Rule>,
}

impl Eager {
    /// A controller without a valid tag.
    pub fn new(build: Build) -> Self {
        Eager {
            copies: Copies::new(build.tags, build.block_bytes),
            build,
            selected: 0,
            fields: Fields::default(),
            reacting: VecDeque::new(),
            ready: VecDeque::new(),
            puts: VecDeque::new(),
            put_number: 0,
            puts_done: 0,
            sweeps: VecDeque::new(),
            fetches_in_a_row: 0,
            under_way: None,
            modified: BTreeMap::new(),
            awaited: BTreeSet::new(),
            left_out: None,
        }
    }

    /// The same without a rule, for a model checker.
    pub fn without(self, rule: Rule) -> Self {
        Eager { left_out: Some(rule), ..self }
    }

    fn follows(&self, rule: Rule) -> bool {
        self.left_out != Some(rule)
    }

    fn block_of(&self, address: u64) -> u64 {
        address - address % self.build.block_bytes
    }

    /// Its bits of STATUS.
    pub fn status(&self) -> u64 {
        let bit = |bit, is_set| if is_set { bit } else { 0 };
        bit(AWAITED, self.awaited.is_empty() || !self.follows(Rule::StatusBits))
            | bit(UPDATED, self.puts.is_empty())
            | bit(INITIALISED, self.sweeps.is_empty())
    }

    /// How many tags are valid, and how many there are.
    pub fn used(&self) -> (u64, u64) {
        (self.copies.used() as u64, self.copies.count() as u64)
    }

    /// The tag that is changed from now on.
    ///
    /// # Errors
    /// If there is no such tag.
    pub fn select(&mut self, tag: u64) -> Result<(), String> {
        if tag >= self.copies.count() as u64 {
            return Err(format!("tag {tag}; there are {}", self.copies.count()));
        }
        self.selected = tag as usize;
        self.fields = self.copies.fields(self.selected).cloned().unwrap_or_default();
        Ok(())
    }

    /// The fields of the selected tag, which hold when it becomes valid.
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }

    /// The access bit of the selected tag.
    ///
    /// # Errors
    /// What is wrong with its fields.
    pub fn control(&mut self, is_valid: bool) -> Result<(), String> {
        let tag = self.selected;
        if self.sweeps.iter().any(|&(_, other, _)| other == tag) {
            return Err(format!("tag {tag} changes while it is initialised (STATUS)"));
        }
        match is_valid {
            true => {
                self.copies.begin(tag, self.fields.clone())?;
                self.sweeps.push_back((Sweep::Begin, tag, self.fields.host.start));
            }
            false => match self.copies.fields(tag) {
                Some(fields) => self.sweeps.push_back((Sweep::End, tag, fields.host.start)),
                None => return Err(format!("tag {tag} ends and is not valid")),
            },
        }
        self.skip_swept();
        Ok(())
    }

    /// Goes past the blocks of sweeps with which there is nothing to do.
    fn skip_swept(&mut self) {
        while let Some(&(sweep, tag, next)) = self.sweeps.front() {
            let end = self.copies.fields(tag).map_or(0, |fields| fields.host.end);
            let has_work = |address: &u64| match (sweep, self.copies.block(*address)) {
                (Sweep::Begin, _) => true,
                (Sweep::End, block) => block.is_some_and(|block| block.state == CopyState::Modified),
            };
            let mut rest = (next..end).step_by(self.build.block_bytes as usize);
            match rest.find(has_work) {
                Some(address) => {
                    self.sweeps[0].2 = address;
                    return;
                }
                None if sweep == Sweep::End => self.forget(tag),
                None => {}
            }
            self.sweeps.pop_front();
        }
    }

    /// A tag has ended.
    fn forget(&mut self, tag: usize) {
        let host = self.copies.fields(tag).map(|fields| fields.host.clone()).unwrap_or_default();
        self.copies.end(tag);
        self.reacting.retain(|(_, block)| !host.contains(block));
        self.ready.retain(|block| !host.contains(block));
        self.awaited.retain(|block| !host.contains(block));
    }

    /// The firmware is going to read these bytes of copies.
    pub fn await_valid(&mut self, copy: Range<u64>, statistics: &mut Statistics) {
        for address in self.copies.blocks_within(copy) {
            let block = self.copies.block_mut(address).expect("it is a copy");
            if block.state != CopyState::Invalid {
                continue;
            }
            block.is_due = true;
            statistics.overtaken.increment();
            self.awaited.insert(address);
            self.reacting.retain(|&(_, other)| other != address);
            if !self.ready.contains(&address) && self.under_way != Some((Purpose::Fetch, address)) {
                self.ready.push_back(address);
            }
        }
    }

    /// An instant that it asked for has come.
    pub fn timer(&mut self, now: Time) {
        let due = self.reacting.partition_point(|(at, _)| *at <= now);
        self.ready.extend(self.reacting.drain(..due).map(|(_, block)| block));
    }

    /// Another agent's transaction passes by.
    pub fn snoop(
        &mut self,
        at: &mut ControllerContext<'_>,
        transaction: &Transaction,
        statistics: &mut Statistics,
    ) -> SnoopReply {
        let Some(snoop) = transaction.kind.snoop() else { return SnoopReply::default() };
        let address = transaction.address;
        let block = self.copies.block(address);
        let owns = self.modified.contains_key(&address);
        if block.is_none() && !owns {
            return SnoopReply::default();
        }
        let takes = matches!(snoop, Snoop::ReadExclusive | Snoop::Upgrade | Snoop::WriteBlock);
        let reply = match snoop {
            Snoop::WriteBack => return SnoopReply::default(),
            Snoop::Read | Snoop::ReadOnce | Snoop::ReadExclusive if owns => {
                statistics.supplied.increment();
                SnoopReply {
                    later: false,
                    shares: !takes,
                    supplies: self.modified.get(&address).cloned(),
                    updates_home: snoop == Snoop::Read,
                    delay: self.build.supply_time,
                }
            }
            Snoop::Read | Snoop::ReadOnce => {
                SnoopReply { shares: self.follows(Rule::AssertingShared), ..SnoopReply::default() }
            }
            _ => SnoopReply::default(),
        };
        if takes || snoop == Snoop::Read {
            self.modified.remove(&address);
        }
        if let Some(block) = self.copies.block_mut(address) {
            match snoop {
                Snoop::Read if owns => block.state = CopyState::Shared,
                _ if takes => self.written(at, address, statistics),
                _ => {}
            }
        }
        reply
    }

    /// The host writes a block, whose fetch follows.
    fn written(&mut self, at: &mut ControllerContext<'_>, address: u64, statistics: &mut Statistics) {
        let block = self.copies.block_mut(address).expect("it is a copy");
        let was_due = std::mem::replace(&mut block.is_due, true);
        block.state = CopyState::Invalid;
        statistics.rewritten.increment();
        if was_due {
            return;
        }
        let due = at.now + self.build.reaction_time;
        self.reacting.push_back((due, address));
        at.timers.push(due);
    }

    /// Another agent's transaction on a block that the interface owns, on a bus that carries
    /// no data from cache to cache: the bytes that go home first.
    pub fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        let snoop = transaction.kind.snoop()?;
        matches!(snoop, Snoop::Read | Snoop::ReadExclusive | Snoop::ReadOnce)
            .then(|| self.modified.remove(&transaction.address))
            .flatten()
    }

    /// The bytes of a block that the interface owns.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        self.modified.get(&address).map(|data| &**data)
    }

    /// The operating system has written to memory, past the bus.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        let block = self.block_of(address);
        if let Some(data) = self.modified.get_mut(&block) {
            let start = (address - block) as usize;
            data[start..start + bytes.len()].copy_from_slice(bytes);
        } else if let Some(block) = self.copies.block_mut(block) {
            block.state = CopyState::Invalid;
        }
    }

    /// Bytes of the blocks that are still to be put.
    pub fn bytes_to_put(&self) -> u64 {
        self.puts.len() as u64 * self.build.block_bytes
    }

    /// Whether a write was seen whose reaction time is not over.
    pub fn is_reacting(&self) -> bool {
        !self.reacting.is_empty()
    }

    /// What it is at, in a few words.
    pub fn doing(&self) -> Option<&'static str> {
        match (self.under_way, self.puts.is_empty(), self.ready.is_empty(), self.sweeps.is_empty()) {
            (Some((Purpose::Fetch, _)), ..) | (None, true, false, _) => Some("fetches a block"),
            (Some((Purpose::Initialise, _)), ..) | (None, true, true, false) => Some("goes through a tag"),
            (Some((Purpose::Return | Purpose::Write, _)), ..) => Some("writes a block home"),
            (Some((Purpose::Acquire, _)), ..) | (None, false, ..) => Some("acquires a block"),
            (None, true, true, true) => self.reacting.front().map(|_| "waits before a fetch"),
        }
    }

    /// What it holds, in words.
    pub fn describe(&self) -> String {
        let parts = [
            (self.awaited.len(), "awaited"),
            (self.reacting.len() + self.ready.len(), "to be fetched"),
            (self.puts.len(), "to be put"),
            (self.modified.len(), "modified here"),
        ];
        let told = parts.iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("blocks {what}: {count}")).collect::<Vec<_>>().join(", ")
    }

    /// The state of the copy of a block, for tests and checkers.
    pub fn state_of(&self, address: u64) -> Option<CopyState> {
        self.copies.block(address).map(|block| block.state)
    }
}

#[cfg(test)]
mod tests;
