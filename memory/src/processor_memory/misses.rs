//! Loads that are under way while their processor goes on.
//!
//! A processor whose file allows more than one miss has as many *miss registers*. A load
//! that misses takes one until its block is there:
//!
//! ```text
//!   idle ──► waiting (for the interconnect) ──► filling (the block is here, its time to come)
//!     ▲  └────── (hit of the second level) ──────►  │
//!     └─────────────────────────────────────────────┘
//! ```
//!
//! A load that waits has no value yet: the processor is told at the end
//! ([`ProcessorMemory::next_arrival`]), and knows when. A block that is *filling* is in
//! the data cache, but its accesses go the slow way, where the processor finds that
//! they have to wait for the register's time too.
//!
//! Where the interconnect allows several transactions, those of different loads are under way at
//! once, each with a tag of its own (see `in_flight.rs`), and end in any order. Loads of one block wait for
//! one transaction. A block is fetched when no other one of its set is: a set of lines has one
//! fetch under way.
//!
//! All other accesses are as ever: stores, atomics and fetches that miss are waited for. Their own
//! transactions are behind those of the loads under way, and beside them where there are tags; a
//! block that a load brings already comes for them, too. Fences, and atomics with `.rl`, wait until no load
//! is under way; other atomics, `lr` and `sc` until none of their block is. (RVWMO keeps the order of a load and an
//! atomic behind it only for one word, a release, or what the atomic needs of the load, and then the processor has
//! waited for its value.)

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ProcessorMemory;
use crate::access_tags::Tag;
use crate::protocols::Access;
use crate::transaction::TransactionTag;

/// Miss registers that a processor has at most.
pub const MOST_MISSES: usize = 32;

narthex_kernel::statistics! {
    /// What a processor with several misses did.
    pub struct Statistics {
        under_way: Counter, "loads_under_way", "accesses", "loads that missed all caches of their processor and let it go on";
        joined: Counter, "loads_joined", "accesses", "of these, loads of a block that another load was bringing already: no miss of the second level, no transaction";
        stalls: Counter, "miss_register_stalls", "accesses", "accesses that found every miss register taken by a load under way";
    }
}

/// What a miss register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Register {
    Idle,
    /// A load that the interconnect has to serve. It is claimed once the processor has
    /// gone on; until then it repeats the access.
    Waiting {
        address: u64,
        size: u8,
        claimed: bool,
        age: u64,
        /// The transaction that brings its block, while that is under way.
        brought_by: Option<TransactionTag>,
    },
    /// A block of the data cache.
    Filling {
        block: u64,
        age: u64,
    },
}

/// A load that is over: its miss register and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Arrival {
    /// The number of the register.
    pub register: u8,
    /// What it has loaded.
    pub value: u64,
}

/// A processor's miss registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MissRegisters {
    registers: Vec<Register>,
    /// Of the load that came last.
    age: u64,
    arrivals: Vec<Arrival>,
    /// Whether the processor is told of blocks that it has not claimed, too, because it looks ahead.
    tells_of_all: bool,
    /// Blocks that other agents have taken from the data cache.
    pub taken_blocks: u64,
    pub statistics: Statistics,
}

impl MissRegisters {
    fn new(count: usize) -> Self {
        MissRegisters {
            registers: vec![Register::Idle; count],
            age: 0,
            arrivals: Vec::with_capacity(count),
            tells_of_all: false,
            taken_blocks: 0,
            statistics: Statistics::default(),
        }
    }

    /// The processor is told of all blocks that have come.
    pub fn tell_of_all(&mut self) {
        self.tells_of_all = true;
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.registers.len()
    }

    /// Whether a load waits.
    pub fn any_waiting(&self) -> bool {
        self.oldest().is_some()
    }

    /// The address of the load that has waited longest.
    pub fn oldest(&self) -> Option<u64> {
        let waiting = self.registers.iter().filter_map(|register| match *register {
            Register::Waiting { address, age, .. } => Some((age, address)),
            _ => None,
        });
        waiting.min().map(|(_, address)| address)
    }

    /// The same of those whose blocks no transaction brings yet, and for which one may go beside the others.
    pub fn oldest_to_ask_for(&self, may_go: impl Fn(u64) -> bool) -> Option<u64> {
        let waiting = self.registers.iter().filter_map(|register| match *register {
            Register::Waiting { address, age, brought_by: None, .. } if may_go(address) => {
                Some((age, address))
            }
            _ => None,
        });
        waiting.min().map(|(_, address)| address)
    }

    /// A transaction brings the block of these addresses from now on.
    pub fn is_brought(&mut self, block: &Range<u64>, by: TransactionTag) {
        for own in &mut self.registers {
            if let Register::Waiting { address, brought_by, .. } = own
                && block.contains(address)
            {
                *brought_by = Some(by);
            }
        }
    }

    /// The transaction with this tag is over: it brings no block any more.
    pub fn is_over(&mut self, tag: TransactionTag) {
        for own in &mut self.registers {
            if let Register::Waiting { brought_by, .. } = own {
                brought_by.take_if(|by| *by == tag);
            }
        }
    }

    /// What decides how it goes on.
    pub fn state(&self) -> impl std::hash::Hash {
        (self.registers.clone(), self.arrivals.clone())
    }

    /// A register for another load: an idle one, or the one whose block has been
    /// filling for longest.
    fn free(&self) -> Option<usize> {
        let age = |register: &Register| match *register {
            Register::Idle => Some(0),
            Register::Filling { age, .. } => Some(age),
            Register::Waiting { .. } => None,
        };
        let ages = self.registers.iter().enumerate().filter_map(|(place, own)| Some((age(own)?, place)));
        ages.min().map(|(_, place)| place)
    }

    /// The register of a block that is filling.
    fn filling(&self, block: u64) -> Option<u8> {
        let is_it = |own: &Register| matches!(*own, Register::Filling { block: its, .. } if its == block);
        self.registers.iter().position(is_it).map(|place| place as u8)
    }

    /// The processor repeats a load that waits: from now on it knows its register.
    fn claim(&mut self, its_address: u64, its_size: u8) -> Option<u8> {
        for (place, own) in self.registers.iter_mut().enumerate() {
            if let Register::Waiting { address, size, claimed: claimed @ false, .. } = own
                && (*address, *size) == (its_address, its_size)
            {
                *claimed = true;
                return Some(place as u8);
            }
        }
        None
    }
}

impl ProcessorMemory {
    /// The same with so many misses of loads under way at a time, at least one. One: the
    /// processor waits for it.
    pub fn with_misses(self, count: usize) -> Self {
        debug_assert!((1..=MOST_MISSES).contains(&count));
        let misses = (count > 1).then(|| Box::new(MissRegisters::new(count)));
        ProcessorMemory { works_ahead: self.works_ahead || misses.is_some(), misses, ..self }
    }

    /// What its miss registers have counted, if it has some.
    pub fn miss_statistics(&self) -> Option<&Statistics> {
        self.misses.as_ref().map(|misses| &misses.statistics)
    }

    /// Whether a load is under way while the processor goes on.
    #[inline]
    pub fn has_loads_under_way(&self) -> bool {
        self.misses.as_ref().is_some_and(|misses| misses.any_waiting())
    }

    /// Whether a load is under way while the processor goes on, a store waits in the store queue, or a block is
    /// prefetched.
    #[inline]
    pub fn has_accesses_under_way(&self) -> bool {
        self.has_loads_under_way() || self.has_queued_stores() || self.has_prefetches()
    }

    /// Whether the processor may go on while a load is under way.
    #[inline]
    pub fn has_miss_registers(&self) -> bool {
        self.misses.is_some()
    }

    /// A load that was under way and is over, each once.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        let misses = self.misses.as_mut()?;
        (!misses.arrivals.is_empty()).then(|| misses.arrivals.remove(0))
    }

    /// Whether a load under way brings the block of `address` already, so that another one joins it.
    pub(super) fn is_on_its_way(&self, address: u64) -> bool {
        let block = self.block_of(address);
        let brings = |own: &Register| matches!(*own, Register::Waiting { address, .. } if self.block_of(address) == block);
        self.misses.as_ref().is_some_and(|misses| misses.registers.iter().any(brings))
    }

    /// Where several misses may be under way, the register in which the block of
    /// `address` is filling.
    pub(super) fn filling(&self, address: u64) -> Option<u8> {
        self.misses.as_ref()?.filling(self.data.block_of(address))
    }

    /// The block of a register is there: accesses to it may be fast.
    pub(super) fn filled(&mut self, register: u8) {
        let Some(misses) = &mut self.misses else { return };
        let own = &mut misses.registers[usize::from(register)];
        if let Register::Filling { block, .. } = *own {
            *own = Register::Idle;
            self.allow(block, Tag::Read);
        }
    }

    /// The processor repeats a load that is under way.
    pub(super) fn claim_load(&mut self, address: u64, size: usize) -> Option<u8> {
        self.misses.as_mut()?.claim(address, size as u8)
    }

    /// The block that a register's load has brought.
    pub fn block_of_register(&self, register: u8) -> Option<u64> {
        match self.misses.as_ref()?.registers[usize::from(register)] {
            Register::Filling { block, .. } => Some(block),
            Register::Idle | Register::Waiting { .. } => None,
        }
    }

    /// Notes that the block of `address` fills in a register that is free.
    pub(super) fn fill_register(&mut self, address: u64, register: u8) {
        let block = self.data.block_of(address);
        if let Some(misses) = &mut self.misses {
            misses.age += 1;
            misses.registers[usize::from(register)] = Register::Filling { block, age: misses.age };
        }
    }

    /// A register for a load that misses; none if each has a load that waits.
    pub(super) fn free_register(&self) -> Option<u8> {
        self.misses.as_ref()?.free().map(|place| place as u8)
    }

    /// Counts an access that found no register.
    pub(super) fn count_stall(&mut self) {
        if let Some(misses) = &mut self.misses {
            misses.statistics.stalls.increment();
        }
    }

    /// A load that misses all caches takes a register; whether the interconnect is to be
    /// asked for it.
    pub(super) fn begin_load(&mut self, address: u64, size: usize, register: u8) -> bool {
        let asked = self.is_on_its_way(address);
        let brought_by = self.in_flight.bringing(self.block_of(address));
        if let Some(misses) = &mut self.misses {
            misses.statistics.under_way.increment();
            misses.statistics.joined.add(u64::from(asked));
            misses.age += 1;
            let (size, age) = (size as u8, misses.age);
            misses.registers[usize::from(register)] =
                Register::Waiting { address, size, claimed: asked, age, brought_by };
        }
        !asked
    }

    /// Loads end whose block is in the caches by now, as this transaction is over.
    #[inline]
    pub(super) fn end_loads(&mut self, by: TransactionTag) {
        if let Some(misses) = self.misses.take() {
            self.end_loads_in(misses, by);
        }
    }

    #[inline(never)]
    fn end_loads_in(&mut self, mut misses: Box<MissRegisters>, by: TransactionTag) {
        misses.is_over(by);
        for place in 0..misses.count() {
            // What another transaction brings is not here.
            let Register::Waiting { address, size, claimed, brought_by: None, .. } = misses.registers[place]
            else {
                continue;
            };
            let mut bytes = [0; 8];
            if !self.peek_own(address, &mut bytes[..usize::from(size)]) {
                continue;
            }
            misses.registers[place] = Register::Idle;
            if !claimed && !misses.tells_of_all {
                // The processor has not gone on: it repeats the access.
                continue;
            }
            misses.arrivals.push(Arrival { register: place as u8, value: u64::from_le_bytes(bytes) });
            self.bring_for_load(address);
            if self.data.holds(address) {
                self.data.allow(address, Tag::None);
                misses.age += 1;
                let (block, age) = (self.data.block_of(address), misses.age);
                misses.registers[place] = Register::Filling { block, age };
            }
        }
        self.misses = Some(misses);
    }

    /// The data cache takes the block of a load that is over, if it is only below.
    fn bring_for_load(&mut self, address: u64) {
        if !self.data.holds(address) {
            self.bring(address, Access::Load, Tag::Read);
        }
    }
}
