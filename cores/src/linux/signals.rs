//! Signals: what a process wants at each, what its threads block, and what is due.
//!
//! ```text
//!   kill, tkill, a fault ──► is it ignored? ──► nothing
//!                            │
//!                            ├─ a thread does not block it ──► pending there ──► its handler, or the end
//!                            └─ all block it ──► pending ──► as soon as one unblocks it
//! ```
//!
//! A thread takes the signals that are due where it enters or leaves the system: a signal
//! that comes while it computes waits for its next call, one that comes while it sleeps in a
//! call ends that. So the instants are those of the program's own calls, in every run.

use serde::{Deserialize, Serialize};

/// A handler that stands for what is done if there is none.
pub(super) const DEFAULT: u64 = 0;
/// A handler that stands for nothing.
pub(super) const IGNORE: u64 = 1;
/// The last signal; the first is 1.
pub(super) const LAST_SIGNAL: u64 = 64;
/// The first signal of those that are pending as often as they were sent.
const FIRST_REAL_TIME: u64 = 32;
/// SIGKILL and SIGSTOP, which no program can block or handle.
pub(super) const UNBLOCKABLE: u64 = bit(9) | bit(19);

/// SIGCHLD, SIGCONT, SIGURG and SIGWINCH: nothing is done at them by default.
const IGNORED_BY_DEFAULT: u64 = bit(17) | bit(18) | bit(23) | bit(28);

const ON_ALTERNATE_STACK: u64 = 0x0800_0000;
const RESTARTS: u64 = 0x1000_0000;
const BLOCKS_NOT_ITSELF: u64 = 0x4000_0000;
const ONCE: u64 = 0x8000_0000;

/// A signal in a mask.
pub(super) const fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// What a program wants at a signal: `struct sigaction` of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Action {
    pub handler: u64,
    pub flags: u64,
    pub mask: u64,
}

impl Action {
    /// Whether the program has a handler.
    pub fn is_handled(&self) -> bool {
        self.handler > IGNORE
    }

    /// Whether nothing is done.
    pub fn ignores(&self, signal: u64) -> bool {
        self.handler == IGNORE || self.handler == DEFAULT && IGNORED_BY_DEFAULT & bit(signal) != 0
    }

    /// What is blocked besides while its handler is at work.
    pub fn blocks(&self, signal: u64) -> u64 {
        let own = if self.flags & BLOCKS_NOT_ITSELF == 0 { bit(signal) } else { 0 };
        (self.mask | own) & !UNBLOCKABLE
    }

    pub fn wants_alternate_stack(&self) -> bool {
        self.flags & ON_ALTERNATE_STACK != 0
    }

    pub fn restarts_calls(&self) -> bool {
        self.flags & RESTARTS != 0
    }

    pub fn is_for_once(&self) -> bool {
        self.flags & ONCE != 0
    }
}

/// A signal on its way, with the part of `siginfo` that says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Raised {
    pub signal: u64,
    /// Such as SI_USER, or SEGV_MAPERR.
    pub code: i32,
    /// The address of a fault; or the sender's process and user, and a value.
    pub details: [u64; 2],
}

/// Signals that wait, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending(Vec<Raised>);

impl Pending {
    /// A signal waits, unless it does already and is none of real time.
    pub fn add(&mut self, raised: Raised) {
        if raised.signal >= FIRST_REAL_TIME || self.set() & bit(raised.signal) == 0 {
            self.0.push(raised);
        }
    }

    /// Those that wait, as a mask.
    pub fn set(&self) -> u64 {
        self.0.iter().fold(0, |set, raised| set | bit(raised.signal))
    }

    /// The first of these signals with the lowest number.
    pub fn take(&mut self, among: u64) -> Option<Raised> {
        let meant = self.0.iter().enumerate().filter(|(_, raised)| among & bit(raised.signal) != 0);
        let (place, _) = meant.min_by_key(|(_, raised)| raised.signal)?;
        Some(self.0.remove(place))
    }

    /// A signal is ignored from now on.
    pub fn drop_all(&mut self, signal: u64) {
        self.0.retain(|raised| raised.signal != signal);
    }
}

/// The stack that handlers have that ask for one; of no bytes if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AlternateStack {
    pub base: u64,
    pub bytes: u64,
}

impl AlternateStack {
    /// Whether a stack pointer is in it.
    pub fn holds(&self, stack_pointer: u64) -> bool {
        stack_pointer > self.base && stack_pointer - self.base <= self.bytes
    }

    /// `stack_t`: base, flags, bytes.
    pub fn words(&self, is_in_use: bool) -> [u64; 3] {
        const IN_USE: u64 = 1;
        const NONE: u64 = 2;
        let flags = match (self.bytes, is_in_use) {
            (0, _) => NONE,
            (_, true) => IN_USE,
            (_, false) => 0,
        };
        [self.base, flags, self.bytes]
    }
}

/// Whether a call that ends early is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Again {
    /// In any case: it has not begun, or the program is not to know.
    Always,
    /// If the handler wants it (`SA_RESTART`).
    IfWanted,
    /// It fails with EINTR.
    Never,
}

/// A call that has ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Interrupted {
    pub again: Again,
    /// What register a0 held at its beginning.
    pub first_argument: u64,
}

/// What a call leaves to be done with the thread's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Left {
    /// Its handler returns.
    Return,
    /// It asks for another alternate stack, and for the one that it has.
    AlternateStack { wanted: Option<[u64; 3]>, former: u64 },
}

/// The signals of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThreadSignals {
    /// Those that it blocks.
    pub mask: u64,
    /// The mask that it has again after the next handler (`sigsuspend`).
    pub former_mask: Option<u64>,
    pub pending: Pending,
    pub alternate: AlternateStack,
    pub interrupted: Option<Interrupted>,
    pub left: Option<Left>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_waits_once_and_one_of_real_time_as_often_as_it_was_sent() {
        let mut pending = Pending::default();
        let raised = |signal, value| Raised { signal, code: 0, details: [0, value] };
        for value in 0..2 {
            pending.add(raised(40, value));
            pending.add(raised(10, value));
        }
        assert_eq!(pending.set(), bit(10) | bit(40));
        assert_eq!(pending.take(bit(40)), Some(raised(40, 0)));
        let rest = [(); 3].map(|()| pending.take(u64::MAX));
        assert_eq!(rest, [Some(raised(10, 0)), Some(raised(40, 1)), None]);
    }

    #[test]
    fn an_alternate_stack_is_in_use_from_its_end_down() {
        let stack = AlternateStack { base: 4096, bytes: 4096 };
        assert_eq!([4096, 4097, 8192, 8193].map(|sp| stack.holds(sp)), [false, true, true, false]);
        assert_eq!(AlternateStack::default().words(false), [0, 2, 0]);
    }
}
