//! The calls of signals: what a program wants at one, what it blocks, and its signals to
//! itself. Nothing from outside sends any.

use super::answer::{EAGAIN, EFAULT, EINVAL, ENOMEM, EPERM, ESRCH, Effect, Error};
use super::{Answer, Call, GuestMemory, PROCESS, USER, done};
use crate::linux::numbers::signal_name;
use crate::linux::signals::{
    Action, Again, AlternateStack, IGNORE, Interrupted, LAST_SIGNAL, Left, Raised, ThreadSignals,
    UNBLOCKABLE, bit,
};
use crate::linux::threads::Awaited;

/// `SI_USER`: kill sent it.
const BY_KILL: i32 = 0;
/// `SI_TKILL`: tkill or tgkill did.
const BY_THREAD: i32 = -6;

impl<M: GuestMemory> Call<'_, M> {
    /// What is to be done at a signal, and what was to be done before.
    pub(super) fn signal_action(&mut self) -> Answer {
        let [signal, action, former, ..] = self.a;
        if !(1..=LAST_SIGNAL).contains(&signal) {
            return Err(EINVAL);
        }
        let wanted = match action {
            0 => None,
            address => {
                let [handler, flags, mask] = self.words(address)?;
                Some(Action { handler, flags, mask: mask & !UNBLOCKABLE })
            }
        };
        if wanted.is_some() && UNBLOCKABLE & bit(signal) != 0 {
            return Err(EINVAL);
        }
        if former != 0 {
            let Action { handler, flags, mask } = self.calls.action(signal);
            self.put_words(former, &[handler, flags, mask])?;
        }
        let Some(action) = wanted else { return done(()) };
        if action.is_handled() {
            self.calls.space.add_trampoline(self.memory)?;
        }
        if action.ignores(signal) {
            self.calls.drop_pending(signal);
        }
        self.calls.actions.insert(signal, action);
        done(())
    }

    /// What the thread blocks from now on, and what it blocked.
    pub(super) fn signal_mask(&mut self) -> Answer {
        const BLOCK: u64 = 0;
        const UNBLOCK: u64 = 1;
        const SET: u64 = 2;
        let [how, set, former, bytes, ..] = self.a;
        if bytes != 8 {
            return Err(EINVAL);
        }
        let set = if set == 0 { None } else { Some(self.word(set)?) };
        let before = self.own_signals().mask;
        let mask = match (set, how) {
            (None, _) => before,
            (Some(set), BLOCK) => before | set,
            (Some(set), UNBLOCK) => before & !set,
            (Some(set), SET) => set,
            _ => return Err(EINVAL),
        };
        if former != 0 {
            self.put_words(former, &[before])?;
        }
        self.own_signals().mask = mask & !UNBLOCKABLE;
        done(())
    }

    /// The blocked signals that wait.
    pub(super) fn pending_signals(&mut self) -> Answer {
        let own = self.own_signals();
        let (waiting, mask) = (own.pending.set(), own.mask);
        self.put_words(self.a[0], &[(waiting | self.calls.pending.set()) & mask])
    }

    /// The thread sleeps until a signal comes that it does not block meanwhile.
    pub(super) fn suspend(&mut self) -> Answer {
        let mask = self.word(self.a[0])? & !UNBLOCKABLE;
        let own = self.own_signals();
        own.former_mask = Some(std::mem::replace(&mut own.mask, mask));
        self.pause()
    }

    /// It sleeps until any signal comes.
    pub(super) fn pause(&mut self) -> Answer {
        if self.calls.signal_is_due(self.caller) {
            let interrupted = Interrupted { again: Again::Never, first_argument: 0 };
            self.own_signals().interrupted = Some(interrupted);
            return done(());
        }
        self.sleep(Awaited::Nothing, None, Again::Never, 0)
    }

    /// It takes a signal that it blocks, and waits for one if none is there and it gives no time.
    pub(super) fn take_signal(&mut self) -> Answer {
        let [set, information, time, ..] = self.a;
        let set = self.word(set)?;
        let waiting = self.own_signals().pending.take(set).or_else(|| self.calls.pending.take(set));
        if let Some(raised) = waiting {
            if information != 0 {
                let words =
                    [raised.signal, u64::from(raised.code as u32), raised.details[0], raised.details[1]];
                self.put(information, &[0; 128])?;
                self.put_words(information, &words)?;
            }
            return Ok((raised.signal as i64).into());
        }
        if time != 0 && self.time_at(time)? == 0 {
            return Err(EAGAIN);
        }
        let text = "the program waits for a signal (sigwait, sigtimedwait), which is only simulated for one that \
                    is pending: it gets EAGAIN";
        Ok(self.notice(EAGAIN, text.into()))
    }

    /// Its alternate stack; whether it is in use shows the stack pointer, so
    /// [`Call::change_alternate_stack`] does the rest.
    pub(super) fn alternate_stack(&mut self) -> Answer {
        let [wanted, former, ..] = self.a;
        let wanted = if wanted == 0 { None } else { Some(self.words(wanted)?) };
        self.own_signals().left = Some(Left::AlternateStack { wanted, former });
        done(())
    }

    /// The rest of the call: what it returns.
    pub(super) fn change_alternate_stack(
        &mut self,
        stack_pointer: u64,
        wanted: Option<[u64; 3]>,
        former: u64,
    ) -> Result<(), Error> {
        const NONE: u64 = 2;
        const LEAST_BYTES: u64 = 2048;
        let before = self.own_signals().alternate;
        let is_in_use = before.holds(stack_pointer);
        if former != 0 {
            self.put_words(former, &before.words(is_in_use))?;
        }
        let Some([base, flags, bytes]) = wanted else { return Ok(()) };
        let flags = flags & 0xffff_ffff;
        self.own_signals().alternate = match flags {
            _ if is_in_use => return Err(EPERM),
            NONE => AlternateStack::default(),
            0 | 1 if bytes < LEAST_BYTES => return Err(ENOMEM),
            0 | 1 => AlternateStack { base, bytes },
            _ => return Err(EINVAL),
        };
        Ok(())
    }

    pub(super) fn kill(&mut self) -> Answer {
        let [process, signal, ..] = self.a;
        if process != 0 && process != PROCESS as u64 {
            return Err(ESRCH);
        }
        self.raise(None, signal, BY_KILL, PROCESS as u64 | (USER as u64) << 32, 0)
    }

    /// A signal to a thread.
    pub(super) fn kill_thread(&mut self, thread: u64, signal: u64) -> Answer {
        let place = self.calls.threads.place_of(thread).ok_or(ESRCH)?;
        self.raise(Some(place), signal, BY_THREAD, PROCESS as u64 | (USER as u64) << 32, 0)
    }

    /// One with a value (`sigqueue`).
    pub(super) fn queue_signal(&mut self) -> Answer {
        let [process, signal, information, ..] = self.a;
        if process != PROCESS as u64 {
            return Err(ESRCH);
        }
        let [_, code, sender, value] = self.words(information)?;
        self.raise(None, signal, code as u32 as i32, sender, value)
    }

    /// A signal to the thread at a place, or to the process: one that is to be ignored does
    /// nothing; one whose default is to end the process ends it, if it is not blocked.
    pub(super) fn raise(
        &mut self,
        place: Option<usize>,
        signal: u64,
        code: i32,
        sender: u64,
        value: u64,
    ) -> Answer {
        if signal > LAST_SIGNAL {
            return Err(EINVAL);
        }
        if signal == 0 {
            return done(());
        }
        let raised = Raised { signal, code, details: [sender, value] };
        let takes = |calls: &super::SystemCalls, place| !calls.blocks(place, signal);
        let place = place.or_else(|| {
            let others = self.calls.threads.taken();
            std::iter::once(self.caller).chain(others).find(|&place| takes(self.calls, place))
        });
        let is_blocked = place.is_none_or(|place| !takes(self.calls, place));
        let action = self.calls.action(signal);
        match (is_blocked, place) {
            (false, _) if action.ignores(signal) => return done(()),
            (false, _) if !action.is_handled() => return Ok(killed(signal).into()),
            (_, None) => self.calls.pending.add(raised),
            (_, Some(place)) => self.signals_of(place).pending.add(raised),
        }
        match place.filter(|_| !is_blocked) {
            Some(place) => self.interrupt(place),
            None => done(()),
        }
    }

    /// A thread's sleep ends, if it sleeps: for a signal.
    fn interrupt(&mut self, place: usize) -> Answer {
        let Some(sleeper) = self.calls.threads.interrupt(place) else { return done(()) };
        if let (Some(until_ns), address @ 1..) = (sleeper.until_ns, sleeper.remaining_at) {
            let left_ns = until_ns.saturating_sub(self.now_ns);
            // A place that cannot be written is the program's own affair.
            let _ = self.put_words(address, &[left_ns / 1_000_000_000, left_ns % 1_000_000_000]);
        }
        Ok(Effect::Interrupt(vec![place]).into())
    }

    /// The signals of the thread that calls.
    pub(super) fn own_signals(&mut self) -> &mut ThreadSignals {
        self.signals_of(self.caller)
    }

    fn signals_of(&mut self, place: usize) -> &mut ThreadSignals {
        self.calls.threads.signals_mut(place).expect("there is a thread at the place")
    }

    /// Words that the program hands over.
    fn words<const COUNT: usize>(&mut self, address: u64) -> Result<[u64; COUNT], Error> {
        let mut words = [0; COUNT];
        for (index, word) in words.iter_mut().enumerate() {
            *word = self.word(address.checked_add(8 * index as u64).ok_or(EFAULT)?)?;
        }
        Ok(words)
    }
}

/// The end of a program by a signal's default.
pub(super) fn killed(signal: u64) -> Effect {
    Effect::Killed { signal, name: signal_name(signal).unwrap_or("a signal") }
}

impl super::SystemCalls {
    /// What the program wants at a signal.
    pub(super) fn action(&self, signal: u64) -> Action {
        self.actions.get(&signal).copied().unwrap_or_default()
    }

    /// Whether a thread blocks a signal.
    pub(super) fn blocks(&self, place: usize, signal: u64) -> bool {
        self.threads.signals(place).is_none_or(|own| own.mask & bit(signal) != 0)
    }

    /// The signals that a thread takes as soon as it can.
    pub(super) fn due_signals(&self, place: usize) -> u64 {
        let due = |own: &ThreadSignals| (own.pending.set() | self.pending.set()) & !own.mask;
        self.threads.signals(place).map_or(0, due)
    }

    /// Whether there is one.
    pub(super) fn signal_is_due(&self, place: usize) -> bool {
        self.due_signals(place) != 0
    }

    /// A signal that waits does so no more.
    fn drop_pending(&mut self, signal: u64) {
        self.pending.drop_all(signal);
        for place in 0..self.threads.most() {
            if let Some(own) = self.threads.signals_mut(place) {
                own.pending.drop_all(signal);
            }
        }
    }

    /// Whether a signal is ignored by the program's own wish.
    pub(super) fn is_ignored(&self, signal: u64) -> bool {
        self.action(signal).handler == IGNORE
    }
}
