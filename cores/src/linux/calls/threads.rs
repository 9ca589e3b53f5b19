//! The calls of threads: their start and end, and how they sleep and wake each other.

use super::answer::{EAGAIN, EINVAL, ENOSYS, ETIMEDOUT, Effect, Error, NewThread};
use super::{Answer, Call, CallResult, GuestMemory, done};
use crate::linux::threads::ANY;

const NANOSECONDS: u64 = 1_000_000_000;

impl<M: GuestMemory> Call<'_, M> {
    /// A thread of this process; one of another one is not to be had.
    pub(super) fn start_thread(&mut self) -> Answer {
        const SAME_MEMORY: u64 = 0x100;
        const THREAD: u64 = 0x1_0000;
        const SET_POINTER: u64 = 0x8_0000;
        const SET_NUMBER: u64 = 0x10_0000;
        const CLEAR_NUMBER: u64 = 0x20_0000;
        const SET_NUMBER_THERE: u64 = 0x100_0000;
        let [flags, stack, parents_number, pointer, own_number, _] = self.a;
        if flags & (SAME_MEMORY | THREAD) != SAME_MEMORY | THREAD {
            let text = "the program starts a process, but a node has none but its own: it gets ENOSYS";
            return Ok(self.notice(ENOSYS, text.into()));
        }
        if self.calls.space.has_shared() {
            let text =
                "the program starts a thread, but a process with tagged memory has one: it gets EAGAIN";
            return Ok(self.notice(EAGAIN, text.into()));
        }
        let Some((place, number)) = self.calls.threads.start() else {
            let text = self.no_processor();
            return Ok(self.notice(EAGAIN, text));
        };
        let is_set = |flag| flags & flag != 0;
        if is_set(CLEAR_NUMBER) {
            self.calls.threads.clear_at_exit(place, own_number);
        }
        for (flag, address) in [(SET_NUMBER, parents_number), (SET_NUMBER_THERE, own_number)] {
            if is_set(flag) {
                self.put(address, &(number as u32).to_le_bytes())?;
            }
        }
        let thread_pointer = is_set(SET_POINTER).then_some(pointer);
        let effect = Effect::Start(NewThread { place, stack, thread_pointer });
        Ok(CallResult { value: number, ..CallResult::from(effect) })
    }

    /// Why no thread can be started.
    fn no_processor(&self) -> String {
        match self.calls.threads.most() {
            1 => "the program starts a thread, but its process has one processor \
                  (machine.processors_per_process): it gets EAGAIN"
                .into(),
            most => format!(
                "the program starts a thread while it has {most}, and its process has {most} processors, one \
                 for each thread (machine.processors_per_process): it gets EAGAIN"
            ),
        }
    }

    pub(super) fn exit_thread(&mut self) -> Answer {
        let word = match self.calls.threads.exit(self.caller, self.a[0] as u8) {
            Err(code) => return Ok(Effect::Exit(code).into()),
            Ok(word) => word,
        };
        let mut woken = Vec::new();
        // A word that cannot be written is the program's own affair, as on Linux.
        if word != 0 && self.put(word, &[0; 4]).is_ok() {
            woken = self.calls.threads.wake(word, ANY, 1);
        }
        Ok(Effect::ExitThread { woken }.into())
    }

    pub(super) fn futex(&mut self) -> Answer {
        const COMMAND: u64 = 0x7f;
        let [word, operation, count, other_count, other, last] = self.a;
        if word % 4 != 0 {
            return Err(EINVAL);
        }
        let count = u64::from(count as u32);
        match operation & COMMAND {
            0 => self.wait_for(word, ANY, false),
            9 if last as u32 == 0 => Err(EINVAL),
            9 => self.wait_for(word, last as u32, true),
            1 => Ok(self.wake(word, ANY, count)),
            10 => Ok(self.wake(word, last as u32, count)),
            3 => Ok(self.wake_and_requeue((word, other), (count, other_count)).0),
            4 => {
                self.expect(word, last)?;
                let (result, moved) = self.wake_and_requeue((word, other), (count, other_count));
                Ok(CallResult { value: result.value + moved as i64, ..result })
            }
            other => Ok(self.no_futex(other)),
        }
    }

    fn no_futex(&mut self, operation: u64) -> CallResult {
        let what = match operation {
            6..=8 | 11..=13 => " (priority inheritance)",
            _ => "",
        };
        let text =
            format!("operation {operation} of a futex{what} is not simulated: the program gets ENOSYS");
        self.notice(ENOSYS, text)
    }

    /// EAGAIN if the word has another value.
    fn expect(&mut self, word: u64, value: u64) -> Result<(), Error> {
        let found = self.bytes(word, 4)?;
        if found == (value as u32).to_le_bytes() { Ok(()) } else { Err(EAGAIN) }
    }

    /// The caller sleeps while the word has the value, until a time if it gives one.
    fn wait_for(&mut self, word: u64, bits: u32, is_absolute: bool) -> Answer {
        self.expect(word, self.a[2])?;
        let until_ns = match (self.a[3], is_absolute) {
            (0, _) => None,
            (address, true) => Some(self.time_at(address)?),
            (address, false) => Some(self.now_ns.saturating_add(self.time_at(address)?)),
        };
        self.sleep(Some(word), bits, until_ns)
    }

    pub(super) fn sleep_for_time(&mut self) -> Answer {
        let until_ns = self.now_ns.saturating_add(self.time_at(self.a[0])?);
        self.sleep(None, ANY, Some(until_ns))
    }

    /// The same by a clock; all of them show the same time.
    pub(super) fn sleep_by_clock(&mut self) -> Answer {
        const ABSOLUTE: u64 = 1;
        let base_ns = if self.a[1] & ABSOLUTE == 0 { self.now_ns } else { 0 };
        let until_ns = base_ns.saturating_add(self.time_at(self.a[2])?);
        self.sleep(None, ANY, Some(until_ns))
    }

    fn sleep(&mut self, word: Option<u64>, bits: u32, until_ns: Option<u64>) -> Answer {
        if until_ns.is_some_and(|until_ns| until_ns <= self.now_ns) {
            return if word.is_some() { Err(ETIMEDOUT) } else { done(()) };
        }
        self.calls.threads.sleep(self.caller, word, bits);
        Ok(Effect::Sleep { until_ns }.into())
    }

    fn wake(&mut self, word: u64, bits: u32, most: u64) -> CallResult {
        woken(self.calls.threads.wake(word, bits, most))
    }

    /// Wakes some of a word's sleepers and lets others wait for another word: how
    /// many of these.
    fn wake_and_requeue(&mut self, (from, to): (u64, u64), (wakes, moves): (u64, u64)) -> (CallResult, u64) {
        let result = woken(self.calls.threads.wake(from, ANY, wakes));
        (result, self.calls.threads.requeue(from, to, u64::from(moves as u32)))
    }

    /// The nanoseconds that a `timespec` says.
    fn time_at(&mut self, address: u64) -> Result<u64, Error> {
        let (seconds, nanoseconds) = (self.word(address)?, self.word(address.wrapping_add(8))?);
        if nanoseconds >= NANOSECONDS || (seconds as i64) < 0 {
            return Err(EINVAL);
        }
        Ok(seconds.saturating_mul(NANOSECONDS).saturating_add(nanoseconds))
    }
}

/// How many were woken, and who.
fn woken(places: Vec<usize>) -> CallResult {
    let value = places.len() as i64;
    CallResult { effect: (value > 0).then_some(Effect::Wake(places)), ..CallResult::from(value) }
}
