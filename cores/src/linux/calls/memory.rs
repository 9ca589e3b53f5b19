//! Calls about the process's address space.

use super::answer::{CallResult, EFAULT, EINVAL, ENODEV};
use super::{Answer, Call, done};
use crate::linux::address_space::{Resized, Wanted};
use crate::linux::{GuestMemory, Protection};

impl<M: GuestMemory> Call<'_, M> {
    pub(super) fn set_break(&mut self) -> CallResult {
        let before = self.calls.space.program_break();
        let after = self.calls.space.set_break(self.memory, self.a[0]);
        CallResult::from(after as i64).over(before.abs_diff(after))
    }

    pub(super) fn unmap(&mut self) -> Answer {
        self.calls.space.unmap(self.memory, self.a[0], self.a[1])?;
        Ok(CallResult::from(0).over(self.a[1]))
    }

    /// Anonymous memory, or a copy of a file.
    pub(super) fn map(&mut self) -> Answer {
        const FIXED: u64 = 0x10;
        const ANONYMOUS: u64 = 0x20;
        const FIXED_IF_FREE: u64 = 0x10_0000;
        const SHARED: u64 = 1;
        const WRITES: u64 = 2;
        let [address, length, protection, flags, descriptor, offset] = self.a;
        let contents = match flags & (ANONYMOUS | SHARED) {
            0 | SHARED if protection & WRITES != 0 && flags & SHARED != 0 => {
                let text = "the program maps a file to write it through memory, which is not simulated: it gets ENODEV";
                return Ok(self.notice(ENODEV, text.into()));
            }
            0 | SHARED => self.mapped_bytes(descriptor, offset, length)?,
            _ => Vec::new(),
        };
        let wanted = match (flags & FIXED != 0, flags & FIXED_IF_FREE != 0) {
            (_, true) => Wanted::ExactlyIfFree(address),
            (true, false) => Wanted::Exactly(address),
            (false, false) => Wanted::Anywhere,
        };
        let address = self.calls.space.map(self.memory, wanted, length, protection_of(protection))?;
        self.memory.write(address, &contents).map_err(|_| EFAULT)?;
        Ok(CallResult::from(address as i64).over(length))
    }

    /// A mapping has another size, and where it may move, another address if it must.
    pub(super) fn resize(&mut self) -> Answer {
        const MAY_MOVE: u64 = 1;
        const EXACTLY: u64 = 2;
        let [address, before, after, flags, wanted, _] = self.a;
        let place = match flags {
            0 => Resized::InPlace,
            MAY_MOVE => Resized::Anywhere,
            flags if flags == MAY_MOVE | EXACTLY => Resized::Exactly(wanted),
            _ => return Err(EINVAL),
        };
        let address = self.calls.space.resize(self.memory, address, before, after, place)?;
        Ok(CallResult::from(address as i64).over(before.max(after)))
    }

    pub(super) fn protect(&mut self) -> Answer {
        let protection = protection_of(self.a[2]);
        self.calls.space.protect(self.memory, self.a[0], self.a[1], protection)?;
        Ok(CallResult::from(0).over(self.a[1]))
    }

    pub(super) fn advise(&mut self) -> Answer {
        const DONT_NEED: u64 = 4;
        if self.a[2] != DONT_NEED {
            return done(());
        }
        self.calls.space.discard(self.memory, self.a[0], self.a[1])?;
        Ok(CallResult::from(0).over(self.a[1]))
    }

    /// As Linux does, for all addresses, whichever range the program names.
    pub(super) fn flush_instructions(&mut self) -> Answer {
        const OWN_THREAD: u64 = 1;
        if self.a[2] & !OWN_THREAD != 0 {
            return Err(EINVAL);
        }
        self.memory.forget_code(self.a[2] & OWN_THREAD == 0);
        done(())
    }
}

/// Pages that may be written may be read too, as on Linux.
fn protection_of(bits: u64) -> Protection {
    Protection { read: bits & 3 != 0, write: bits & 2 != 0, execute: bits & 4 != 0 }
}
