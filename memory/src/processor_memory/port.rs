//! The port that a processor sees: it turns accesses into hits, waits and faults.

use narthex_kernel::Time;

use crate::access_tags::{AccessTags, Tag, TagError};
use crate::kind::Kind;
use crate::main_memory::{MainMemory, PAGE_BYTES};
use crate::pages::{PageAttributes, PageKind, PageTable};
use crate::port::{AccessFault, CacheBlockOperation, LowerLevelLatency, Outcome, Port, PortResult};
use crate::protocols::Access;

use super::block_buffers::transfer_at;
use super::direct_bus::DirectBus;
use super::second_level::Obtained;
use super::store_queue::Awaited;
use super::write_combining::Posted;
use super::{Pending, ProcessorMemory, Uncached};

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

    /// Makes every block of a cachable access present with the right to
    /// `access` it, and says how late that is; the first one for which the
    /// interconnect must be asked becomes pending.
    fn acquire<T>(
        &mut self,
        address: u64,
        size: usize,
        access: Access,
    ) -> Result<Option<LowerLevelLatency>, Outcome<T>> {
        let mut late = None;
        let last = address.wrapping_add(size as u64 - 1);
        for part in [address, last] {
            if self.own.data.access(part, access).is_err() {
                late = LowerLevelLatency::join(late, self.obtain(part, access, Tag::Read)?);
            }
            if self.own.data.block_of(address) == self.own.data.block_of(last) {
                break;
            }
        }
        Ok(late)
    }

    /// The data cache does not allow an access: it gets the block from the second
    /// level, or the access becomes pending, after which the next ones may be fast up to
    /// `most` by their page.
    fn obtain<T>(
        &mut self,
        address: u64,
        access: Access,
        most: Tag,
    ) -> Result<Option<LowerLevelLatency>, Outcome<T>> {
        let obtained = match self.own.second {
            None => Obtained::Missing,
            Some(_) => self.own.obtain(address, access),
        };
        if obtained == Obtained::AtOnce {
            return Ok(None);
        }
        match access {
            Access::Load => self.own.statistics.load_misses.increment(),
            _ => self.own.statistics.store_misses.increment(),
        }
        match obtained {
            Obtained::Late(late) => Ok(Some(late)),
            _ => {
                self.own.train(address);
                Err(self.wait(Pending::Data { address, access, most }))
            }
        }
    }

    /// Reads up to eight present bytes, across a block boundary if need be.
    fn gather(&self, address: u64, size: usize) -> u64 {
        let mut bytes = [0; 8];
        let (first, _) = self.split(address, size);
        self.own.data.read(address, &mut bytes[..first]);
        if first < size {
            self.own.data.read(address.wrapping_add(first as u64), &mut bytes[first..size]);
        }
        u64::from_le_bytes(bytes)
    }

    /// How many bytes of an access lie in its first block, and in the next.
    pub(super) fn split(&self, address: u64, size: usize) -> (usize, usize) {
        let room = self.own.data.bytes_to_end_of_block(address);
        (room.min(size), size.saturating_sub(room))
    }

    fn cachable_load(&mut self, address: u64, size: usize, access: Access) -> Outcome<u64> {
        if let Some(stop) = self.own.note_use(address) {
            return stop;
        }
        if let Some(outcome) = self.load_queued(address, size) {
            return outcome;
        }
        if self.own.misses.is_some() && access == Access::Load && self.split(address, size).0 == size {
            return self.load_under_way(address, size);
        }
        match self.acquire(address, size, access) {
            Ok(late) => Outcome::finished(self.gather(address, size), late),
            Err(outcome) => outcome,
        }
    }

    /// What a load finds whose bytes the data cache has.
    pub(super) fn value_at_hand(&self, address: u64, size: usize) -> Outcome<u64> {
        let value = self.gather(address, size);
        match self.own.filling(address) {
            Some(register) => Outcome::Filling(value, register),
            None => Outcome::Done(value),
        }
    }

    /// A load of a processor that goes on while it is under way.
    fn load_under_way(&mut self, address: u64, size: usize) -> Outcome<u64> {
        if let Some(register) = self.own.claim_load(address, size) {
            return Outcome::UnderWay(register);
        }
        if self.own.data.access(address, Access::Load).is_ok() {
            return self.value_at_hand(address, size);
        }
        let Some(register) = self.own.free_register() else {
            self.own.count_stall();
            return self.wait(Pending::MissRegister);
        };
        self.fill_or_begin(address, size, register)
    }

    /// A load that misses the data cache takes a register.
    pub(super) fn fill_or_begin(&mut self, address: u64, size: usize, register: u8) -> Outcome<u64> {
        self.own.statistics.load_misses.increment();
        let obtained = match self.own.is_on_its_way(address) {
            true => Obtained::Missing,
            false => self.own.obtain(address, Access::Load),
        };
        if obtained == Obtained::Missing {
            self.own.train(address);
            if self.own.is_kept_below(address) {
                return self.wait(Pending::Data { address, access: Access::Load, most: Tag::Read });
            }
        }
        match obtained {
            Obtained::Late(late) => {
                self.own.data.allow(address, Tag::None);
                self.own.fill_register(address, register);
                Outcome::Late(
                    self.gather(address, size),
                    LowerLevelLatency { register: Some(register), ..late },
                )
            }
            _ if self.own.begin_load(address, size, register) => Outcome::Wait,
            _ => Outcome::UnderWay(register),
        }
    }

    fn uncached_load(&mut self, address: u64, size: usize) -> Outcome<u64> {
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
    fn block_buffer_load(&mut self, address: u64, size: usize) -> Outcome<u64> {
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
    fn block_buffer_store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
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

    /// Stores into blocks that may be written.
    fn finish_store(&mut self, page: PageAttributes, address: u64, size: usize, value: u64) {
        let most = Self::most_fast(page);
        let bytes = value.to_le_bytes();
        let (first, _) = self.split(address, size);
        self.store_part(address, &bytes[..first], most);
        if first < size {
            self.store_part(address.wrapping_add(first as u64), &bytes[first..size], most);
        }
    }

    /// The store of bytes in one block: most stores that are not fast.
    #[inline(always)]
    pub(super) fn store_in_block(&mut self, page: PageAttributes, address: u64, bytes: &[u8]) -> Outcome<()> {
        let filling = self.own.filling(address);
        let most = match filling {
            None => self.own.most_allowed(address, Self::most_fast(page)),
            Some(_) => Tag::None,
        };
        let mut late = None;
        if self.own.data.store(address, bytes, most).is_err() {
            late = match self.store_below(page, address, bytes, most) {
                Ok(late) => late,
                Err(outcome) => return outcome,
            };
        }
        self.own.allow_below(address, most);
        if page.executable {
            self.show_code(address, bytes);
        }
        match filling {
            Some(register) if late.is_none() => Outcome::Filling((), register),
            _ => Outcome::finished((), late),
        }
    }

    /// The same where the data cache does not allow it.
    fn store_below<T>(
        &mut self,
        page: PageAttributes,
        address: u64,
        bytes: &[u8],
        most: Tag,
    ) -> Result<Option<LowerLevelLatency>, Outcome<T>> {
        // A block that is filling stays slow.
        let by_page = if most == Tag::None { Tag::Read } else { Self::most_fast(page) };
        if self.own.is_written_through() {
            let late = self.own.store_through(address, bytes);
            let pending = Pending::Data { address, access: Access::Store, most: by_page };
            return late.map(Some).ok_or_else(|| self.wait(pending));
        }
        let late = self.obtain(address, Access::Store, by_page)?;
        self.own.data.store(address, bytes, most).expect("the data cache has got the right");
        Ok(late)
    }

    /// Each store to a page of code goes the slow way, so that it is counted.
    pub(super) fn most_fast(page: PageAttributes) -> Tag {
        if page.executable { Tag::Read } else { Tag::Write }
    }

    /// Stores into one block, to which the next accesses may be fast up to `most`.
    fn store_part(&mut self, address: u64, bytes: &[u8], most: Tag) {
        let most = self.own.most_allowed(address, most);
        self.own.data.write_allowing(address, bytes, most);
        self.own.write_through(address, bytes);
        if self.pages.lookup(address).is_some_and(|page| page.executable) {
            self.show_code(address, bytes);
        }
    }

    /// Bytes of a page of code are in memory at once, where any processor that decodes them finds
    /// them, whichever has the block: fetches have tags and times, and no bytes of their own.
    #[cold]
    fn show_code(&mut self, address: u64, bytes: &[u8]) {
        self.memory.write(self.own.translation.to_node(address), bytes);
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
