//! What the caches of a warm checkpoint held, and how those of another machine are filled with it.
//!
//! Before its program goes on, the last accesses of each processor ([`HeldBlock`]) are replayed,
//! without time and without counting them. Their transactions cross no interconnect: the caches of
//! other processors with the same memory are snooped one after the other, and then the memory
//! answers. A cache with a newer block gives it to the memory and keeps a clean copy, as on a bus
//! whose owner pushes; every protocol allows that. The memory has the newest bytes in any case,
//! because a warm checkpoint consists of these.
//!
//! Only blocks of programs are filled, not those of the old interface's queues, whose addresses are
//! the devices'.

use narthex_interfaces::registers::NODE_MEMORY;
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::processor_memory::{HeldBlock, LastAccess, Traffic};
use narthex_memory::translation::Translation;
use narthex_memory::{ProcessorMemory, Response};
use serde::{Deserialize, Serialize};

use super::memory::HasCaches;
use super::{Node, NodeProcessor, Process};

/// What is cached of a process's memory, by its own addresses, the least recently used blocks first.
#[derive(Serialize, Deserialize)]
pub struct CachedBlocks {
    /// What the caches of its processor hold.
    held: Vec<HeldBlock>,
    /// What the cache in front of the memory holds.
    third_level: Vec<HeldBlock>,
}

impl Node {
    /// What is cached of a process's memory.
    pub(super) fn cached_blocks(&self, process: usize) -> CachedBlocks {
        let unit = &self.processors[self.processes[process].processors.start];
        let home = &self.memories[usize::from(unit.home().0)];
        let translation = unit.memory.translation();
        let held = unit.memory.held_blocks().into_iter();
        let third_level = home.third_levels().flat_map(|cache| cache.blocks_by_age());
        let third_level = third_level.filter_map(|(place, is_dirty)| {
            let last = if is_dirty { LastAccess::Store } else { LastAccess::Load };
            Some(HeldBlock { address: translation.to_process(place)?, bytes: home.block_bytes as u16, last })
        });
        let is_of_program = |block: &HeldBlock| is_of_program(translation, block.address);
        CachedBlocks {
            held: held.filter(is_of_program).collect(),
            third_level: third_level.filter(is_of_program).collect(),
        }
    }

    /// Fills the empty caches with what was cached of each process's memory.
    pub(super) fn fill_caches(&mut self, of_processes: &[CachedBlocks]) {
        let Node { processors, processes, memories, .. } = self;
        for (process, cached) in processes.iter().zip(of_processes) {
            let index = process.processors.start;
            let home = &mut memories[usize::from(processors[index].home().0)];
            cached.fill(process, processors, home);
        }
        for unit in processors.iter_mut() {
            unit.memory.sums(&mut |sum| *sum = 0);
        }
    }
}

impl CachedBlocks {
    fn fill(&self, process: &Process, processors: &mut [NodeProcessor], home: &mut HomeMemory) {
        let (before, own) = processors.split_at_mut(process.processors.start);
        let (own, behind) = own.split_first_mut().expect("a process has a processor");
        let (translation, traffic, place) =
            (own.memory.translation().clone(), own.ports.caches.1, own.home());
        for block in &self.third_level {
            home.use_third_level(translation.to_node(block.address), block.last == LastAccess::Store);
        }
        for block in &self.held {
            let Some(page) = process.pages.lookup(block.address) else { continue };
            own.memory.replay(block, page, |own| {
                let others = before.iter_mut().chain(&mut *behind).filter(|other| other.home() == place);
                carry(own, traffic, others.map(HasCaches::memory), home);
            });
        }
    }
}

/// Whether a block is in the memory of the process with this translation, or in the memory that its
/// node shares.
fn is_of_program(translation: &Translation, address: u64) -> bool {
    !translation.is_common(address) || NODE_MEMORY.contains(&address)
}

/// Carries out the transaction that a processor's caches need next, if they need one.
fn carry<'a>(
    own: &mut ProcessorMemory,
    traffic: Traffic,
    others: impl Iterator<Item = &'a mut ProcessorMemory>,
    home: &mut HomeMemory,
) {
    let Some(transaction) = own.issue(traffic) else { return };
    let mut response = Response::default();
    if own.is_coherent() {
        for other in others {
            if let Some(pushed) = other.push(&transaction) {
                home.bytes.write(transaction.address, &pushed);
            }
            response.shared |= other.snoop(&transaction).shares;
        }
    }
    response.data = home.answer_functionally(&transaction);
    own.complete(&transaction, &response);
}
