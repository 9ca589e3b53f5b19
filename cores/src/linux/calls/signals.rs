//! Signals: what a program asks to be done at one, and its signals to itself.
//!
//! Nothing from outside sends signals, and handlers are never run: a signal whose default is
//! to end the process ends the run, also where the program has a handler for it. What it has
//! asked to be ignored is ignored.

use super::answer::{EINVAL, ESRCH, Effect};
use super::{Answer, Call, CallResult, GuestMemory, PROCESS, done};
use crate::linux::numbers::signal_name;

pub(super) const IGNORE: u64 = 1;
const LAST_SIGNAL: u64 = 64;

impl<M: GuestMemory> Call<'_, M> {
    /// What is to be done at a signal, and what was to be done before: each a handler, or
    /// 0 for the default and 1 for nothing, before flags and a mask.
    pub(super) fn signal_action(&mut self) -> Answer {
        const KILL: u64 = 9;
        const STOP: u64 = 19;
        let [signal, action, former, ..] = self.a;
        if !(1..=LAST_SIGNAL).contains(&signal) {
            return Err(EINVAL);
        }
        let wanted = if action == 0 { None } else { Some(self.word(action)?) };
        if wanted.is_some() && (signal == KILL || signal == STOP) {
            return Err(EINVAL);
        }
        if former != 0 {
            self.put_words(former, &[self.calls.action(signal), 0, 0])?;
        }
        let Some(handler) = wanted else { return done(()) };
        self.calls.actions.insert(signal, handler);
        let text = format!(
            "the program installs a handler for {}, but handlers are never run",
            signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
        );
        Ok(if handler > IGNORE { self.told(0, text) } else { CallResult::from(0) })
    }

    /// A signal to the process itself: one that is to be ignored does nothing, every other
    /// ends it.
    pub(super) fn signal(&self, process: u64, signal: u64) -> Answer {
        const IGNORED: [u64; 4] = [17, 18, 23, 28];
        if process != 0 && process != PROCESS as u64 && !self.calls.threads.has(process) {
            return Err(ESRCH);
        }
        if signal > LAST_SIGNAL {
            return Err(EINVAL);
        }
        let action = self.calls.action(signal);
        if signal == 0 || action == IGNORE || IGNORED.contains(&signal) {
            return done(());
        }
        let name = signal_name(signal).unwrap_or("a signal");
        Ok(Effect::Killed { signal, name, has_handler: self.calls.has_handler(signal) }.into())
    }
}
