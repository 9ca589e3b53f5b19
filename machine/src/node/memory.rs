//! A process's memory as the loader and the system calls see it: coherent,
//! functional, without time. Where nothing keeps the caches coherent, a call reads what its own
//! processor would, and writes for all.

use std::ops::Range;

use narthex_cores::linux::{GuestMemory, Protection};
use narthex_memory::interconnects::{Interconnect, MemoryId};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::pages::{PageAttributes, PageKind, PageTable};
use narthex_memory::port::AccessFault;
use narthex_memory::{ProcessorMemory, Tag};

use narthex_interfaces::Device;

use super::NodeProcessor;

/// The parts of a node that hold a process's bytes. `C` finds the caches: a
/// node that runs has them in its processors, one that is being built beside it.
pub struct NodeMemory<'a, C> {
    pub caches: &'a mut [C],
    /// The place among the caches of the process's own.
    pub own: usize,
    pub main: &'a mut MainMemory,
    pub pages: &'a mut PageTable,
    pub block_bytes: u64,
    /// The node's devices, in two parts, which may hold newer bytes of their queues.
    pub devices: [&'a mut [Box<dyn Device>]; 2],
    /// Its interconnects: a bridge may hold yet newer ones.
    pub interconnects: &'a mut [Interconnect],
}

/// Something that has a processor's caches.
pub trait HasCaches {
    /// The caches.
    fn memory(&mut self) -> &mut ProcessorMemory;

    /// The memory whose blocks they hold.
    fn home(&self) -> MemoryId;
}

impl HasCaches for ProcessorMemory {
    fn memory(&mut self) -> &mut ProcessorMemory {
        self
    }

    fn home(&self) -> MemoryId {
        MemoryId(0)
    }
}

impl HasCaches for NodeProcessor {
    fn memory(&mut self) -> &mut ProcessorMemory {
        &mut self.memory
    }

    fn home(&self) -> MemoryId {
        self.ports.memory
    }
}

impl<C: HasCaches> NodeMemory<'_, C> {
    /// Where an address of the process lies in the node.
    pub fn translated(&mut self, address: u64) -> u64 {
        self.caches[self.own].memory().translation().to_node(address)
    }

    /// The caches that hold blocks of the process's memory.
    fn caches(&mut self) -> impl Iterator<Item = &mut ProcessorMemory> {
        let home = self.caches[self.own].home();
        self.caches.iter_mut().filter(move |owner| owner.home() == home).map(HasCaches::memory)
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
            if matches!(page.kind, PageKind::Device | PageKind::Combining | PageKind::BlockBuffers) {
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

    /// Sends home what the process's caches hold of the range, and empties their
    /// lines. The range is the process's own: what it has in common with others
    /// stays mapped. `stays_code`: what is executable in it remains so.
    fn flush(&mut self, address: u64, length: u64, stays_code: bool) {
        let had_code = self.pages.within(address, length).any(|page| page.executable);
        self.of_process(|memory, main| {
            memory.forget_instructions();
            if had_code && !stays_code {
                memory.code_removed();
            }
            memory.flush(address..address + length, |place, data| main.write(place, data));
        });
    }

    /// What is done to the caches of each of the process's processors.
    fn of_process(&mut self, mut step: impl FnMut(&mut ProcessorMemory, &mut MainMemory)) {
        let own = &mut self.caches[self.own];
        let (home, translation) = (own.home(), own.memory().translation().clone());
        for cache in self.caches.iter_mut().filter(|cache| cache.home() == home) {
            let memory = cache.memory();
            if *memory.translation() == translation {
                step(memory, self.main);
            }
        }
    }
}

impl<C: HasCaches> GuestMemory for NodeMemory<'_, C> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), AccessFault> {
        self.blocks(address, bytes.len(), |node, here, range| {
            let (block, start) = (here - here % node.block_bytes, (here % node.block_bytes) as usize);
            let target = &mut bytes[range];
            let own = node.caches[node.own].memory();
            let is_coherent = own.is_coherent();
            if own.peek(here, target) || is_coherent && node.caches().any(|memory| memory.peek(here, target))
            {
                return Ok(());
            }
            let crossing = node.interconnects.iter().find_map(|interconnect| interconnect.peek(block));
            match crossing.or_else(|| {
                node.devices.iter().flat_map(|devices| devices.iter()).find_map(|device| device.peek(block))
            }) {
                Some(held) => target.copy_from_slice(&held[start..start + target.len()]),
                None => node.main.read(here, target),
            }
            Ok(())
        })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault> {
        self.blocks(address, bytes.len(), |node, here, range| {
            node.main.write(here, &bytes[range.clone()]);
            node.caches().for_each(|memory| memory.poke(here, &bytes[range.clone()]));
            node.interconnects.iter_mut().for_each(|on| on.poke(here, &bytes[range.clone()]));
            let devices = node.devices.iter_mut().flat_map(|devices| devices.iter_mut());
            devices.for_each(|device| device.poke(here, &bytes[range.clone()]));
            Ok(())
        })
    }

    fn map(&mut self, address: u64, length: u64, protection: Protection) {
        if self.pages.within(address, length).next().is_some() {
            self.flush(address, length, protection.execute);
        }
        let attributes = PageAttributes {
            kind: self.caches[self.own].memory().page_kind(),
            readable: protection.read,
            writable: protection.write,
            executable: protection.execute,
            stores_wait: false,
        };
        self.pages.map(address, length, attributes);
    }

    fn unmap(&mut self, address: u64, length: u64) {
        self.flush(address, length, false);
        self.pages.unmap(address, length);
        let translation = self.caches[self.own].memory().translation();
        for (place, bytes) in translation.parts(address..address + length) {
            self.main.discard(place, bytes);
            self.interconnects.iter_mut().for_each(|on| on.discard(&(place..place + bytes)));
        }
    }

    fn forget_code(&mut self, everywhere: bool) {
        let fence = |memory: &mut ProcessorMemory| {
            memory.forget_instructions();
            memory.code_removed();
        };
        match everywhere {
            true => self.of_process(|memory, _| fence(memory)),
            false => fence(self.caches[self.own].memory()),
        }
    }

    fn tag(&mut self, range: Range<u64>, block_bytes: u64) -> bool {
        self.caches[self.own].memory().tag_memory(range, block_bytes)
    }

    fn bytes_tagged(&mut self, address: u64, limit: u64, needed: Tag) -> u64 {
        let tags = self.caches[self.own].memory().tags();
        tags.map_or(limit, |tags| tags.allowed_bytes(address, limit, needed))
    }
}
