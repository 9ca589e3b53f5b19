//! Calls that ask for time, randomness or facts about the machine.

use super::answer::EINVAL;
use super::{Answer, Call, done};
use crate::linux::address_space::{MEMORY_LIMIT_BYTES, STACK_BYTES};
use crate::linux::{GuestMemory, Protection, fill_random};

/// The most random bytes that one call gives.
const RANDOM_LIMIT_BYTES: u64 = 1 << 20;

impl<M: GuestMemory> Call<'_, M> {
    /// All clocks show simulated time, which began at zero in 1970.
    pub(super) fn clock(&mut self) -> Answer {
        if self.a[0] > 7 {
            return Err(EINVAL);
        }
        self.put_words(self.a[1], &[self.now_ns / 1_000_000_000, self.now_ns % 1_000_000_000])
    }

    pub(super) fn clock_resolution(&mut self) -> Answer {
        match (self.a[0], self.a[1]) {
            (8.., _) => Err(EINVAL),
            (_, 0) => done(()),
            (_, address) => self.put_words(address, &[0, 1]),
        }
    }

    pub(super) fn time_of_day(&mut self) -> Answer {
        let microseconds = self.now_ns / 1_000;
        self.put_words(self.a[0], &[microseconds / 1_000_000, microseconds % 1_000_000])
    }

    /// A process's processors are its own all the time, so it has used all the time that there
    /// was, in user mode; its children, of which it has none, have used none.
    pub(super) fn resource_usage(&mut self) -> Answer {
        const WORDS: usize = 18;
        let used_ns = match self.a[0] as i32 {
            0 | 1 => self.now_ns,
            -1 => 0,
            _ => return Err(EINVAL),
        };
        let mut words = [0; WORDS];
        (words[0], words[1]) = (used_ns / 1_000_000_000, used_ns / 1_000 % 1_000_000);
        self.put_words(self.a[1], &words)
    }

    /// The same in ticks of 1/100 s; the value is the time since the machine's start.
    pub(super) fn process_times(&mut self) -> Answer {
        const TICK_NS: u64 = 10_000_000;
        let ticks = self.now_ns / TICK_NS;
        if self.a[0] != 0 {
            self.put_words(self.a[0], &[ticks, 0, 0, 0])?;
        }
        Ok((ticks as i64).into())
    }

    pub(super) fn random(&mut self) -> Answer {
        let length = self.a[1].min(RANDOM_LIMIT_BYTES);
        self.check(self.a[0], length, Protection { write: true, ..Protection::NONE })?;
        let mut bytes = vec![0; length as usize];
        fill_random(&mut self.calls.randomness, &mut bytes);
        self.put(self.a[0], &bytes)?;
        Ok((length as i64).into())
    }

    pub(super) fn system_name(&mut self) -> Answer {
        const FIELD_BYTES: usize = 65;
        const FIELDS: [&str; 6] = ["Linux", "narthex", "6.1.0", "#1", "riscv64", "(none)"];
        let mut bytes = [0; 6 * FIELD_BYTES];
        for (field, text) in bytes.chunks_mut(FIELD_BYTES).zip(FIELDS) {
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        self.put(self.a[0], &bytes).and_then(done)
    }

    pub(super) fn system_information(&mut self) -> Answer {
        let mut words = [0; 14];
        words[0] = self.now_ns / 1_000_000_000;
        (words[4], words[5]) = (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES);
        (words[10], words[13]) = (1, 1); // one process; sizes are in bytes
        self.put_words(self.a[0], &words)
    }

    /// The stack is limited, nothing else is; limits cannot be changed.
    pub(super) fn limits(&mut self) -> Answer {
        const STACK: u64 = 3;
        let limit = if self.a[1] == STACK { STACK_BYTES } else { u64::MAX };
        if self.a[3] == 0 { done(()) } else { self.put_words(self.a[3], &[limit, limit]) }
    }
}
