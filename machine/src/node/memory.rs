//! A process's memory as the loader and the system calls see it: coherent,
//! functional, without time.

use std::ops::Range;

use narthex_cores::linux::{GuestMemory, Protection};
use narthex_memory::bridge::Bridge;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::pages::{PageAttributes, PageKind, PageTable};
use narthex_memory::port::AccessFault;
use narthex_memory::{ProcessorMemory, Tag};

use narthex_interfaces::Interface;

use super::Unit;

/// The parts of a node that hold a process's bytes. `C` finds the caches: a
/// node that runs has them in its units, one that is being built beside it.
pub struct NodeMemory<'a, C> {
    pub caches: &'a mut [C],
    /// The place among the caches of the process's own.
    pub own: usize,
    pub main: &'a mut MainMemory,
    pub pages: &'a mut PageTable,
    pub block_bytes: u64,
    /// The node's interface, which may hold newer bytes of its queues.
    pub interface: Option<&'a Interface>,
    /// The bridge to it, which may hold yet newer ones.
    pub bridge: Option<&'a Bridge>,
}

/// Something that has a processor's caches.
pub trait HasCaches {
    /// The caches.
    fn memory(&mut self) -> &mut ProcessorMemory;
}

impl HasCaches for ProcessorMemory {
    fn memory(&mut self) -> &mut ProcessorMemory {
        self
    }
}

impl HasCaches for Unit {
    fn memory(&mut self) -> &mut ProcessorMemory {
        &mut self.memory
    }
}

impl<C: HasCaches> NodeMemory<'_, C> {
    /// Where an address of the process lies in the node.
    fn translated(&mut self, address: u64) -> u64 {
        self.caches[self.own].memory().translation().to_node(address)
    }

    /// Calls `step` for each part of the range that lies in one block, with the
    /// part's address in the node and its range in the caller's bytes.
    fn blocks(
        &mut self,
        address: u64,
        length: usize,
        mut step: impl FnMut(&mut Self, u64, Range<usize>) -> Result<(), AccessFault>,
    ) -> Result<(), AccessFault> {
        let mut done = 0;
        while done < length {
            let here = address.checked_add(done as u64).ok_or(AccessFault::Unmapped)?;
            let page = self.pages.lookup(here).ok_or(AccessFault::Unmapped)?;
            if matches!(page.kind, PageKind::Device | PageKind::BlockBuffers) {
                return Err(AccessFault::Device);
            }
            let room = (self.block_bytes - here % self.block_bytes) as usize;
            let count = room.min(length - done);
            let place = self.translated(here);
            step(self, place, done..done + count)?;
            done += count;
        }
        Ok(())
    }

    /// Sends home what the process's cache holds of the range, and empties its
    /// lines. The range is the process's own: what it has in common with others
    /// stays mapped. `stays_code`: what is executable in it remains so.
    fn flush(&mut self, address: u64, length: u64, stays_code: bool) {
        let had_code = self.pages.within(address, length).any(|page| page.executable);
        let memory = self.caches[self.own].memory();
        let (main, translation) = (&mut *self.main, memory.translation().clone());
        memory.forget_instructions();
        if had_code && !stays_code {
            memory.code_removed();
        }
        memory
            .data_cache()
            .flush(address..address + length, |block, data| main.write(translation.to_node(block), data));
    }
}

impl<C: HasCaches> GuestMemory for NodeMemory<'_, C> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), AccessFault> {
        self.blocks(address, bytes.len(), |node, here, range| {
            let cached = node.caches.iter_mut().find_map(|owner| owner.memory().peek(here));
            let held = || {
                let block = here - here % node.block_bytes;
                let crossing = node.bridge.and_then(|bridge| bridge.peek(block));
                if crossing.is_some() {
                    return crossing;
                }
                node.interface?.sides.iter().find_map(|side| side.peek(block))
            };
            match cached.or_else(held) {
                Some(block) => {
                    let start = (here % node.block_bytes) as usize;
                    bytes[range.clone()].copy_from_slice(&block[start..start + range.len()]);
                }
                None => node.main.read(here, &mut bytes[range]),
            }
            Ok(())
        })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault> {
        self.blocks(address, bytes.len(), |node, here, range| {
            node.main.write(here, &bytes[range.clone()]);
            for owner in node.caches.iter_mut() {
                owner.memory().poke(here, &bytes[range.clone()]);
            }
            Ok(())
        })
    }

    fn map(&mut self, address: u64, length: u64, protection: Protection) {
        if self.pages.within(address, length).next().is_some() {
            self.flush(address, length, protection.execute);
        }
        let attributes = PageAttributes {
            kind: PageKind::Cachable,
            readable: protection.read,
            writable: protection.write,
            executable: protection.execute,
        };
        self.pages.map(address, length, attributes);
    }

    fn unmap(&mut self, address: u64, length: u64) {
        self.flush(address, length, false);
        self.pages.unmap(address, length);
        let place = self.translated(address);
        self.main.discard(place, length);
    }

    fn tag(&mut self, range: Range<u64>, block_bytes: u64) -> bool {
        self.caches[self.own].memory().tag_memory(range, block_bytes)
    }

    fn bytes_tagged(&mut self, address: u64, limit: u64, needed: Tag) -> u64 {
        let tags = self.caches[self.own].memory().tags();
        tags.map_or(limit, |tags| tags.allowed_bytes(address, limit, needed))
    }
}
