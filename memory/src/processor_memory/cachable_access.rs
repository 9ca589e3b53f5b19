//! Accesses to cachable pages: what the data cache has, what it gets from the level below, and what waits
//! for the interconnect.

use crate::access_tags::Tag;
use crate::pages::PageAttributes;
use crate::port::{LowerLevelLatency, Outcome};
use crate::protocols::Access;

use super::second_level::Obtained;
use super::{Pending, ProcessorPort};

impl ProcessorPort<'_> {
    /// Makes every block of a cachable access present with the right to
    /// `access` it, and says how late that is; the first one for which the
    /// interconnect must be asked becomes pending.
    pub(super) fn acquire<T>(
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
    pub(super) fn gather(&self, address: u64, size: usize) -> u64 {
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

    pub(super) fn cachable_load(&mut self, address: u64, size: usize, access: Access) -> Outcome<u64> {
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

    /// Stores into blocks that may be written.
    pub(super) fn finish_store(&mut self, page: PageAttributes, address: u64, size: usize, value: u64) {
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
    pub(super) fn show_code(&mut self, address: u64, bytes: &[u8]) {
        self.memory.write(self.own.translation.to_node(address), bytes);
    }
}
