//! A processor without caches over a local memory, as a NIC's own processor may be.
//!
//! Its loads, stores and fetches are made at once, on the memory's bytes: no transaction
//! crosses a bus, because the processor has a port of the memory to itself. What else
//! writes these bytes does so in events of the node, which the processor never passes.
//!
//! **Time.** An access takes the memory's access time in whole cycles, and the next one
//! begins when it is over. In one cycle it takes what a hit in a data cache takes. A load's
//! value comes as much later than that of a hit as the access takes beyond one cycle, and a
//! fetch delays its instruction by as much. One fetch brings a line of code, which the
//! processor keeps until it fetches another one, so code from a memory of one cycle costs
//! nothing more.
//!
//! **Atomics** are made at once, too. A reservation lasts until the processor uses it, or
//! another agent's transaction on a block crosses the bus. There is nothing that a cache
//! could write back or drop, and `cbo.zero` stores a whole block, eight bytes an access.
//!
//! The data cache that the processor has by its type stays empty, and its instruction cache
//! is the line that was fetched last, without bytes.

use serde::{Deserialize, Serialize};

use super::{ProcessorMemory, ProcessorPort};
use crate::cache::Cache;
use crate::pages::PageKind;
use crate::port::{LowerLevelLatency, Outcome};
use crate::protocols::State;

/// Bytes of the widest access.
const WORD_BYTES: usize = 8;

/// What an access to the local memory takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LocalMemory {
    /// In cycles of the processor, at least one.
    access_cycles: u32,
}

impl LocalMemory {
    /// How late so many accesses in a row are, compared with a hit.
    pub fn late(self, accesses: u32) -> Option<LowerLevelLatency> {
        let port_cycles = accesses * self.access_cycles;
        let late = LowerLevelLatency { cycles: port_cycles - 1, port_cycles, register: None };
        (late.cycles > 0).then_some(late)
    }
}

impl ProcessorMemory {
    /// The same without caches, for a processor whose local memory takes so many of its
    /// cycles (at least one) for an access. `block_bytes` is the bus's coherence block.
    pub fn with_local_memory(self, access_cycles: u32, block_bytes: u64, line_bytes: u64) -> Self {
        let place = |bytes: u64| Cache::with_geometry(self.data.protocol(), 1, 1, bytes as usize);
        let data = place(block_bytes);
        // Without an instruction cache every fetch is done at once.
        let instructions = (access_cycles > 1).then(|| place(line_bytes));
        let local = Some(LocalMemory { access_cycles });
        ProcessorMemory { data, instructions, second: None, misses: None, local, ..self }
    }

    /// How accesses to the pages of its memory are carried out.
    pub fn page_kind(&self) -> PageKind {
        if self.local.is_some() { PageKind::Local } else { PageKind::Cachable }
    }
}

impl ProcessorPort<'_> {
    /// An access to the local memory is finished.
    fn local<T>(&self, value: T, accesses: u32) -> Outcome<T> {
        Outcome::finished(value, self.own.local.and_then(|local| local.late(accesses)))
    }

    /// A fetch of another line than the last one.
    pub(super) fn local_fetch(&mut self, address: u64) -> Outcome<()> {
        if let Some(line) = &mut self.own.instructions {
            line.make_room(address);
            line.place(address, State::Shared, None);
        }
        self.local((), 1)
    }

    pub(super) fn local_load(&self, address: u64, size: usize) -> Outcome<u64> {
        let mut bytes = [0; WORD_BYTES];
        self.memory.read(self.own.translation.to_node(address), &mut bytes[..size]);
        self.local(u64::from_le_bytes(bytes), 1)
    }

    pub(super) fn local_store(&mut self, address: u64, bytes: &[u8]) -> Outcome<()> {
        self.memory.write(self.own.translation.to_node(address), bytes);
        self.local((), bytes.len().div_ceil(WORD_BYTES) as u32)
    }
}

#[cfg(test)]
mod tests;
