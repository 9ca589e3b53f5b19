//! The calls of threads: their start and end, and how they sleep and wake each other.

use super::answer::{EAGAIN, EDEADLK, EINVAL, ENOSYS, EPERM, ESRCH, ETIMEDOUT, Effect, Error, NewThread};
use super::{Answer, Call, CallResult, GuestMemory, done};
use crate::linux::signals::{Again, Interrupted};
use crate::linux::threads::{ANY, Awaited, LOCK, Sleeper};

use narthex_memory::interrupt::Interrupt;

const NANOSECONDS: u64 = 1_000_000_000;

/// The parts of a word with priority inheritance: FUTEX_TID_MASK and FUTEX_WAITERS.
const OWNER: u32 = 0x3fff_ffff;
const HAS_WAITERS: u32 = 0x8000_0000;

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
        let Some((place, number)) = self.calls.threads.start(self.caller) else {
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

    /// A thread stays on its processor, whichever it wants: told once, if it wants another.
    pub(super) fn set_affinity(&mut self) -> Answer {
        let [thread, bytes, mask, ..] = self.a;
        let place = self.thread_or_own(thread)?;
        let mask = self.bytes(mask, bytes.min(8))?;
        let mask = mask.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let most = self.calls.threads.most();
        let mask = mask & u64::MAX >> (64 - most.min(64));
        if mask == 0 {
            return Err(EINVAL);
        }
        *self.calls.threads.affinity_mut(place).ok_or(ESRCH)? = Some(mask);
        if mask >> place.min(63) & 1 == 1 {
            return done(());
        }
        let text = format!(
            "the program wants thread {} to run on another processor than its own, number {place} of its {most}: \
             each thread stays on the processor on which it has started",
            self.calls.threads.number(place)
        );
        Ok(self.told(0, text))
    }

    /// The processors that a thread may run on: what it has asked for, or all of its process's.
    pub(super) fn affinity(&mut self) -> Answer {
        let place = self.thread_or_own(self.a[0])?;
        if self.a[1] < 8 {
            return Err(EINVAL);
        }
        let all = u64::MAX >> (64 - self.calls.threads.most().min(64));
        let mask = self.calls.threads.affinity_mut(place).and_then(|mask| *mask).unwrap_or(all);
        self.put_words(self.a[2], &[mask])?;
        Ok(8.into())
    }

    /// The place of the thread with this number; 0 is the caller.
    fn thread_or_own(&self, number: u64) -> Result<usize, Error> {
        match number {
            0 => Ok(self.caller),
            number => self.calls.threads.place_of(number).ok_or(ESRCH),
        }
    }

    /// The processor that the thread has, and the only group of processors.
    pub(super) fn processor_number(&mut self) -> Answer {
        for (address, number) in [(self.a[0], self.caller as u32), (self.a[1], 0)] {
            if address != 0 {
                self.put(address, &number.to_le_bytes())?;
            }
        }
        done(())
    }

    /// The name of a thread, and what a process says of itself that changes nothing here.
    pub(super) fn control_process(&mut self) -> Answer {
        const SIGNAL_OF_PARENT: u64 = 1;
        const IS_DUMPABLE: u64 = 3;
        const SET_DUMPABLE: u64 = 4;
        const SET_NAME: u64 = 15;
        const NAME: u64 = 16;
        const NO_NEW_PRIVILEGES: u64 = 38;
        const NAME_OF_MAPPING: u64 = 0x5356_4d41;
        let [option, address, ..] = self.a;
        match option {
            SET_NAME => {
                let text = self.text(address)?;
                let name = self.calls.threads.name_mut(self.caller).ok_or(ESRCH)?;
                *name = Default::default();
                let room = name.len() - 1;
                let bytes = &text.as_bytes()[..text.len().min(room)];
                name[..bytes.len()].copy_from_slice(bytes);
                done(())
            }
            NAME => {
                let name = *self.calls.threads.name_mut(self.caller).ok_or(ESRCH)?;
                self.put(address, &name).and_then(done)
            }
            SIGNAL_OF_PARENT | SET_DUMPABLE | NO_NEW_PRIVILEGES => done(()),
            IS_DUMPABLE => Ok(1.into()),
            NAME_OF_MAPPING => Err(EINVAL),
            other => {
                let text = format!("option {other} of prctl is not simulated: the program gets EINVAL");
                Ok(self.notice(EINVAL, text))
            }
        }
    }

    /// A thread that calls the system is behind the accesses of all others, and caches are coherent: there
    /// is nothing to do for any barrier.
    pub(super) fn barrier_of_memory(&mut self) -> Answer {
        const QUERY: u64 = 0;
        const GLOBAL: u64 = 1;
        const GLOBAL_EXPEDITED: u64 = 2;
        const REGISTER_GLOBAL: u64 = 4;
        const EXPEDITED: u64 = 8;
        const REGISTER: u64 = 16;
        const ALL: u64 = GLOBAL | GLOBAL_EXPEDITED | REGISTER_GLOBAL | EXPEDITED | REGISTER;
        match (self.a[0], self.a[1]) {
            (QUERY, 0) => Ok((ALL as i64).into()),
            (command, 0) if command.is_power_of_two() && command & ALL != 0 => done(()),
            _ => Err(EINVAL),
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
            6 | 13 => self.lock(word),
            7 => self.unlock(word),
            8 => self.try_lock(word),
            other => Ok(self.no_futex(other)),
        }
    }

    fn no_futex(&mut self, operation: u64) -> CallResult {
        let what = match operation {
            11 | 12 => " (requeue with priority inheritance)",
            _ => "",
        };
        let text =
            format!("operation {operation} of a futex{what} is not simulated: the program gets ENOSYS");
        self.notice(ENOSYS, text)
    }

    // Futexes with priority inheritance: the word holds the owner's number, so that the system can
    // hand the lock on. Threads have no priorities here, and the first that waits has it next.

    /// The caller has the lock, now or when it is handed on, until a time if it gives one.
    fn lock(&mut self, word: u64) -> Answer {
        if self.try_lock(word).is_ok() {
            return done(());
        }
        let value = self.owner_of(word)?;
        let owner = u64::from(value & OWNER);
        if owner == self.calls.threads.number(self.caller) as u64 {
            return Err(EDEADLK);
        }
        if !self.calls.threads.has(owner) {
            return Err(ESRCH);
        }
        let until_ns = if self.a[3] == 0 { None } else { Some(self.time_at(self.a[3])?) };
        self.put(word, &(value | HAS_WAITERS).to_le_bytes())?;
        self.sleep(Awaited::Word { word, bits: LOCK }, until_ns, Again::Always, 0)
    }

    fn try_lock(&mut self, word: u64) -> Answer {
        if self.owner_of(word)? & OWNER != 0 {
            return Err(EAGAIN);
        }
        let number = self.calls.threads.number(self.caller) as u32;
        self.put(word, &number.to_le_bytes()).and_then(done)
    }

    fn unlock(&mut self, word: u64) -> Answer {
        if u64::from(self.owner_of(word)? & OWNER) != self.calls.threads.number(self.caller) as u64 {
            return Err(EPERM);
        }
        let Some((next, others_wait)) = self.calls.threads.wake_for_lock(word) else {
            return self.put(word, &[0; 4]).and_then(done);
        };
        let waiters = if others_wait { HAS_WAITERS } else { 0 };
        let value = self.calls.threads.number(next) as u32 | waiters;
        self.put(word, &value.to_le_bytes())?;
        Ok(Effect::Wake(vec![next]).into())
    }

    fn owner_of(&mut self, word: u64) -> Result<u32, Error> {
        let bytes = self.bytes(word, 4)?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
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
        let again = if until_ns.is_none() { Again::IfWanted } else { Again::Never };
        self.sleep(Awaited::Word { word, bits }, until_ns, again, 0)
    }

    pub(super) fn sleep_for_time(&mut self) -> Answer {
        let until_ns = self.now_ns.saturating_add(self.time_at(self.a[0])?);
        self.sleep(Awaited::Nothing, Some(until_ns), Again::Never, self.a[1])
    }

    /// The same by a clock; all of them show the same time.
    pub(super) fn sleep_by_clock(&mut self) -> Answer {
        const ABSOLUTE: u64 = 1;
        let (base_ns, remaining_at) =
            if self.a[1] & ABSOLUTE == 0 { (self.now_ns, self.a[3]) } else { (0, 0) };
        let until_ns = base_ns.saturating_add(self.time_at(self.a[2])?);
        self.sleep(Awaited::Nothing, Some(until_ns), Again::Never, remaining_at)
    }

    /// The caller sleeps until a device interrupts it by this vector, or until a time. One that has come since
    /// the last wait ends it at once.
    pub(super) fn wait_for_interrupt(&mut self) -> Answer {
        let [vector, until_ns, ..] = self.a;
        if vector >= Interrupt::VECTORS.into() {
            return Err(EINVAL);
        }
        let vector = vector as u8;
        if self.calls.threads.take_interrupt(vector) {
            return done(());
        }
        let until_ns = (until_ns < u64::MAX).then_some(until_ns);
        self.sleep(Awaited::Interrupt(vector), until_ns, Again::Never, 0)
    }

    /// The caller sleeps until what it waits for comes, or until a time.
    pub(super) fn sleep(
        &mut self,
        awaited: Awaited,
        until_ns: Option<u64>,
        again: Again,
        remaining_at: u64,
    ) -> Answer {
        if until_ns.is_some_and(|until_ns| until_ns <= self.now_ns) {
            return if awaited.may_come_in_time() { Err(ETIMEDOUT) } else { done(()) };
        }
        let interrupted = Interrupted { again, first_argument: self.a[0] };
        let place = self.caller;
        self.calls.threads.sleep(Sleeper { place, awaited, until_ns, remaining_at, interrupted });
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
    pub(super) fn time_at(&mut self, address: u64) -> Result<u64, Error> {
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
