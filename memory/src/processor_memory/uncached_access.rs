//! Accesses to pages that are not cached: each is made of its device, or its memory, in the order of the
//! program, and block buffers move blocks.

use crate::kind::Kind;
use crate::main_memory::PAGE_BYTES;
use crate::pages::{PageAttributes, PageKind};
use crate::port::{AccessFault, Outcome};

use super::block_buffers::transfer_at;
use super::store_queue::Awaited;
use super::write_combining::Posted;
use super::{Pending, ProcessorPort, Uncached};

impl ProcessorPort<'_> {
    pub(super) fn uncached_load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        let pending = Pending::UncachedLoad(Uncached { address, size: size as u8, value: 0 });
        if let Some(value) = self.own.take_finished(pending) {
            self.own.open_scratchpad_line(address);
            return Outcome::Done(value);
        }
        if let Some(outcome) = self.load_scratchpad(address, size) {
            return outcome;
        }
        if let Some(wait) = self.drain(Awaited::Empty, |own| own.uncached.increment()) {
            return wait;
        }
        self.own.statistics.uncached_loads.increment();
        self.own.close_buffers_for(Kind::UncachedLoad, address);
        self.wait(pending)
    }

    /// A store that is not cached: posted, or waited for where the page or the machine posts none.
    pub(super) fn uncached_store(
        &mut self,
        page: PageAttributes,
        address: u64,
        size: usize,
        value: u64,
    ) -> Outcome<()> {
        let store = Uncached { address, size: size as u8, value };
        let pending = Pending::UncachedStore(store);
        if self.own.take_finished(pending).is_some() {
            return Outcome::Done(());
        }
        if let Some(wait) = self.drain(Awaited::Empty, |own| own.uncached.increment()) {
            return wait;
        }
        self.own.store_through_to_scratchpad(address, &value.to_le_bytes()[..size]);
        self.own.close_buffers_for(Kind::UncachedStore, address);
        if self.own.posted_limit > 0 && !page.stores_wait {
            if self.own.store_buffer.len() >= self.own.posted_limit {
                self.own.statistics.store_buffer_stalls.increment();
                return self.wait(Pending::Drain { below: self.own.posted_limit });
            }
            self.own.statistics.uncached_stores.increment();
            self.own.store_buffer.push_back(Posted::word(store));
            // The processor stops for no time, so that the node asks for the bus
            // at this instant, and finds the store done when it repeats it.
            self.own.finished = Some((pending, 0));
            return Outcome::Wait;
        }
        self.own.statistics.uncached_stores.increment();
        self.wait(pending)
    }

    /// A load from the page of block buffers.
    pub(super) fn block_buffer_load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        let mut value = [0; 8];
        match self.block_buffer_bytes(address, size) {
            None => Outcome::Fault(AccessFault::Device),
            Some(bytes) => {
                value[..size].copy_from_slice(bytes);
                Outcome::Done(u64::from_le_bytes(value))
            }
        }
    }

    /// A store to the page of block buffers: into one of them, or of the device's
    /// address to or from which a block is to be moved.
    pub(super) fn block_buffer_store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        if let (Some(kind), 8) = (transfer_at(address % PAGE_BYTES), size) {
            return self.block_transfer(kind, value);
        }
        match self.block_buffer_bytes(address, size) {
            None => Outcome::Fault(AccessFault::Device),
            Some(bytes) => {
                bytes.copy_from_slice(&value.to_le_bytes()[..size]);
                Outcome::Done(())
            }
        }
    }

    fn block_buffer_bytes(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        self.own.block_buffers.as_mut()?.bytes(address % PAGE_BYTES, size)
    }

    fn block_transfer(&mut self, kind: Kind, address: u64) -> Outcome<()> {
        let pending = Pending::Block { kind, address };
        if self.own.take_finished(pending).is_some() {
            return Outcome::Done(());
        }
        if let Some(wait) = self.drain(Awaited::Empty, |own| own.uncached.increment()) {
            return wait;
        }
        let is_device = self.pages.lookup(address).is_some_and(|page| page.kind == PageKind::Device);
        match &mut self.own.block_buffers {
            Some(buffers) if is_device && self.own.data.block_of(address) == address => {
                buffers.moving = true;
                self.own.statistics.block_transfers.increment();
                self.own.close_buffers_for(kind, address);
                self.wait(pending)
            }
            _ => Outcome::Fault(AccessFault::Device),
        }
    }
}
