//! The port that a processor sees: it turns accesses into hits, waits and faults.

use narthex_kernel::Time;

use crate::access_tags::{AccessTags, Tag, TagError};
use crate::main_memory::MainMemory;
use crate::pages::{PageAttributes, PageKind, PageTable};
use crate::port::{AccessFault, CacheBlockOperation, LowerLevelLatency, Outcome, Port, PortResult};
use crate::protocols::Access;

use super::direct_bus::DirectBus;
use super::second_level::Obtained;
use super::store_queue::Awaited;
use super::{Pending, ProcessorMemory};

/// A processor's view of its node's memory while it runs.
#[derive(Debug)]
pub struct ProcessorPort<'a> {
    pub(super) own: &'a mut ProcessorMemory,
    pub(super) pages: &'a PageTable,
    pub(super) memory: &'a mut MainMemory,
    /// The processor is alone with its bus.
    pub alone: Option<DirectBus<'a>>,
}

impl ProcessorPort<'_> {
    /// The processor's memory.
    pub fn own(&self) -> &ProcessorMemory {
        self.own
    }

    pub(super) fn wait<T>(&mut self, pending: Pending) -> Outcome<T> {
        self.own.pending = Some(pending);
        Outcome::Wait
    }

    /// The page of an access that must not cross a page of another kind; its
    /// tags have been looked at too. Inlined: each access that is not fast asks.
    #[inline(always)]
    fn page(&mut self, address: u64, size: usize, needed: Tag) -> Result<PageAttributes, AccessFault> {
        let page = self.check_page(address, needed)?;
        if !address.is_multiple_of(size as u64) {
            let last = self.check_page(address.wrapping_add(size as u64 - 1), needed)?;
            if !page.kind.is_memory() || page.kind != last.kind {
                return Err(AccessFault::Misaligned);
            }
        }
        self.check_tags(address, size, needed)?;
        Ok(page)
    }

    pub(super) fn check_page(&self, address: u64, needed: Tag) -> Result<PageAttributes, AccessFault> {
        match needed {
            Tag::Write => self.pages.check_store(address),
            Tag::Read | Tag::None => self.pages.check_load(address),
        }
    }

    /// Refuses, and counts, what the tag of a block forbids.
    pub(super) fn check_tags(&mut self, address: u64, size: usize, needed: Tag) -> Result<(), AccessFault> {
        let refusing = self.own.tags().and_then(|tags| tags.refusing(address, size as u64, needed));
        let Some((block, tag)) = refusing else { return Ok(()) };
        match needed {
            Tag::Write => self.own.statistics.tag_write_faults.increment(),
            Tag::Read | Tag::None => self.own.statistics.tag_read_faults.increment(),
        }
        Err(AccessFault::Tag(block, tag))
    }

    /// Checks an atomic access: aligned, cachable, allowed.
    fn atomic(&mut self, address: u64, size: usize, needed: Tag) -> Result<PageAttributes, AccessFault> {
        if !address.is_multiple_of(size as u64) {
            return Err(AccessFault::Misaligned);
        }
        let page = self.pages.check_store(address)?;
        match page.kind {
            PageKind::Cachable => self.check_tags(address, size, needed).map(|()| page),
            PageKind::Local => Ok(page),
            PageKind::Uncached | PageKind::Device | PageKind::BlockBuffers | PageKind::Combining => {
                Err(AccessFault::Device)
            }
        }
    }
}

impl Port for ProcessorPort<'_> {
    #[inline(always)]
    fn serve(
        &mut self,
        address: u64,
        size: usize,
        access: Access,
        value: u64,
        now: impl FnOnce() -> Time,
    ) -> PortResult {
        if self.alone.is_none() {
            return PortResult::No;
        }
        let needed = if access == Access::Load { Tag::Read } else { Tag::Write };
        let Ok(page) = self.check_page(address, needed) else { return PortResult::No };
        match page.kind {
            PageKind::Cachable => {
                self.serve_alone(page, (address, size, access), now).map_or(PortResult::No, PortResult::Block)
            }
            PageKind::Device => {
                self.access_register_alone((address, size, access), value, now).unwrap_or(PortResult::No)
            }
            _ => PortResult::No,
        }
    }

    #[inline(always)]
    fn load_hit<const SIZE: usize>(&mut self, address: u64) -> Option<u64> {
        self.own.data.load_hit::<SIZE>(address)
    }

    #[inline(always)]
    fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        self.own.data.store_hit::<SIZE>(address, value)
    }

    #[inline(always)]
    fn load_late<const SIZE: usize>(&mut self, address: u64) -> Option<(u64, LowerLevelLatency)> {
        let (place, late) = self.own.obtain_at_once::<SIZE>(address, Access::Load)?;
        self.own.statistics.load_misses.increment();
        Some((self.own.data.value_at::<SIZE>(place), late))
    }

    #[inline(always)]
    fn store_late<const SIZE: usize>(&mut self, address: u64, value: u64) -> Option<LowerLevelLatency> {
        let (place, late) = self.own.obtain_at_once::<SIZE>(address, Access::Store)?;
        self.own.statistics.store_misses.increment();
        self.own.data.set_value_at::<SIZE>(place, value);
        Some(late)
    }

    #[inline(always)]
    fn fetch_hit(&mut self, address: u64) -> bool {
        match &self.own.instructions {
            None => true,
            Some(cache) => cache.fetch_hit(address),
        }
    }

    #[cold]
    fn load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        match self.page(address, size, Tag::Read) {
            Err(fault) => Outcome::Fault(fault),
            Ok(page) if page.kind == PageKind::Cachable => self.cachable_load(address, size, Access::Load),
            Ok(page) if page.kind == PageKind::Local => self.local_load(address, size),
            Ok(page) if page.kind == PageKind::BlockBuffers => self.block_buffer_load(address, size),
            Ok(_) => self.uncached_load(address, size),
        }
    }

    #[cold]
    fn store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        let page = match self.page(address, size, Tag::Write) {
            Err(fault) => return Outcome::Fault(fault),
            Ok(page) => page,
        };
        match page.kind {
            PageKind::Cachable => {}
            PageKind::Local => return self.local_store(address, &value.to_le_bytes()[..size]),
            PageKind::BlockBuffers => return self.block_buffer_store(address, size, value),
            PageKind::Combining => return self.combine_store(page, address, size, value),
            PageKind::Uncached | PageKind::Device => return self.uncached_store(page, address, size, value),
        }
        if let Some(stop) = self.own.note_use(address) {
            return stop;
        }
        if self.split(address, size).0 == size {
            return self.store_cached(page, address, size, value);
        }
        if let Some(wait) = self.drain(Awaited::Empty, |own| own.overlaps.increment()) {
            return wait;
        }
        match self.acquire(address, size, Access::Store) {
            Err(outcome) => outcome,
            Ok(late) => {
                self.finish_store(page, address, size, value);
                Outcome::finished((), late)
            }
        }
    }

    #[cold]
    fn fetch(&mut self, address: u64) -> Outcome<()> {
        if let Err(fault) = self.pages.check_fetch(address) {
            return Outcome::Fault(fault);
        }
        let Some(cache) = &mut self.own.instructions else {
            return Outcome::Done(());
        };
        if cache.access(address, Access::Load).is_ok() {
            return Outcome::Done(());
        }
        if self.own.local.is_some() {
            return self.local_fetch(address);
        }
        if self.own.second.is_some()
            && let Some(stop) = self.own.note_use(address)
        {
            return stop;
        }
        self.own.statistics.fetch_misses.increment();
        match self.own.obtain_instructions(address) {
            Obtained::Late(late) => Outcome::Late((), late),
            _ => self.wait(Pending::Instructions { address }),
        }
    }

    fn code(&mut self, address: u64) -> Result<u32, AccessFault> {
        self.pages.check_fetch(address)?;
        let mut bytes = [0; 4];
        for (offset, byte) in bytes.iter_mut().enumerate() {
            let here = address.wrapping_add(offset as u64);
            if self.pages.check_fetch(here).is_err() {
                break;
            }
            let mut one = [0];
            if !self.own.peek_own(here, &mut one) {
                self.memory.read(self.own.translation.to_node(here), &mut one);
            }
            *byte = one[0];
        }
        Ok(u32::from_le_bytes(bytes))
    }

    #[cold]
    fn load_reserved(&mut self, address: u64, size: usize) -> Outcome<u64> {
        let page = match self.atomic(address, size, Tag::Read) {
            Err(fault) => return Outcome::Fault(fault),
            Ok(page) => page,
        };
        if let Some(wait) = self.order_atomic(address) {
            return wait;
        }
        let outcome = match page.kind {
            PageKind::Local => self.local_load(address, size),
            _ => match self.acquire(address, size, Access::Load) {
                Ok(late) => Outcome::finished(self.gather(address, size), late),
                Err(outcome) => outcome,
            },
        };
        if let Outcome::Done(_) | Outcome::Late(..) = outcome {
            self.own.reservation = Some(self.own.data.block_of(address));
            self.own.keep_reserved(address);
        }
        outcome
    }

    #[cold]
    fn store_conditional(&mut self, address: u64, size: usize, value: u64) -> Outcome<bool> {
        let page = match self.atomic(address, size, Tag::Write) {
            Err(fault) => return Outcome::Fault(fault),
            Ok(page) => page,
        };
        if let Some(wait) = self.order_atomic(address) {
            return wait;
        }
        if self.own.reservation != Some(self.own.data.block_of(address)) {
            self.own.reservation = None;
            return Outcome::Done(false);
        }
        if page.kind == PageKind::Local {
            self.own.reservation = None;
            return self.local_store(address, &value.to_le_bytes()[..size]).map(|()| true);
        }
        match self.acquire(address, size, Access::Store) {
            Err(Outcome::<()>::Fault(fault)) => Outcome::Fault(fault),
            Err(_) => self.wait(Pending::Conditional { address }),
            Ok(late) => {
                self.own.reservation = None;
                self.finish_store(page, address, size, value);
                Outcome::finished(true, late)
            }
        }
    }

    #[cold]
    fn load_for_update(&mut self, address: u64, size: usize) -> Outcome<u64> {
        let page = match self.atomic(address, size, Tag::Write) {
            Err(fault) => return Outcome::Fault(fault),
            Ok(page) => page,
        };
        if let Some(wait) = self.order_atomic(address) {
            return wait;
        }
        match page.kind {
            PageKind::Local => self.local_load(address, size),
            _ => self.cachable_load(address, size, Access::Store),
        }
    }

    #[cold]
    fn bring(&mut self, address: u64, size: usize) -> Outcome<u64> {
        self.bring_ahead(address, size)
    }

    fn taken_blocks(&self) -> u64 {
        self.own.taken_blocks()
    }

    fn is_at_hand(&self, address: u64, size: usize) -> bool {
        self.split(address, size).0 == size && self.own.data.holds(address)
    }

    fn is_uncached(&self, address: u64) -> bool {
        self.pages.lookup(address).is_some_and(|page| !page.kind.is_memory())
    }

    #[cold]
    fn filled(&mut self, register: u8) {
        self.own.filled(register);
    }

    #[cold]
    fn operate_on_block(&mut self, address: u64, operation: CacheBlockOperation) -> Outcome<()> {
        ProcessorPort::operate_on_block(self, address, operation)
    }

    fn release(&mut self) -> Outcome<()> {
        if self.own.has_loads_under_way() {
            return self.wait(Pending::Loads);
        }
        self.drain(Awaited::Empty, |own| own.atomics.increment()).unwrap_or(Outcome::Done(()))
    }

    fn drain_stores(&mut self) -> Outcome<()> {
        self.drain(Awaited::Empty, |own| own.fences.increment()).unwrap_or(Outcome::Done(()))
    }

    fn fence(&mut self) -> Outcome<()> {
        if self.own.has_loads_under_way() {
            return self.wait(Pending::Loads);
        }
        if let Some(wait) = self.drain(Awaited::Empty, |own| own.fences.increment()) {
            return wait;
        }
        self.own.close_buffers_for_fence();
        if self.own.store_buffer.is_empty() {
            return Outcome::Done(());
        }
        self.wait(Pending::Drain { below: 1 })
    }

    fn fence_instructions(&mut self) -> Outcome<()> {
        if let Some(cache) = &mut self.own.instructions {
            cache.clear();
        }
        Outcome::Done(())
    }

    #[inline]
    fn code_removals(&self) -> u64 {
        self.own.code_removals
    }

    fn tag_block_bytes(&self) -> u64 {
        self.own.tags().map_or(0, AccessTags::block_bytes)
    }

    #[cold]
    fn set_tag(&mut self, block: u64, number: u64) -> Result<(), TagError> {
        self.own.set_tag(block, number)
    }
}
