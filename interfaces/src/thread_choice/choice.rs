//! Which context runs next: priorities, and the time that each has spent on its message.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

/// A thread's context, as the choice sees it.
#[derive(Clone, Default, Hash, Debug, Serialize, Deserialize)]
struct Context {
    priority: u8,
    /// Its thread has popped the first word of a message, and is not done with it.
    is_at_message: bool,
    /// What its thread has spent on the message before it was interrupted.
    spent: Duration,
    /// That was more than is allowed.
    is_late: bool,
}

/// The contexts of a process, and the one that runs.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// What a thread may spend on a message before others come first.
    message_time: Option<Duration>,
    contexts: Vec<Context>,
    running: usize,
    /// When the running one began, or began its message.
    since: Time,
}

impl Choice {
    /// Of so many contexts, all of the highest priority; the first one runs.
    pub fn new(contexts: usize, message_time: Option<Duration>) -> Self {
        Choice { message_time, contexts: vec![Context::default(); contexts], running: 0, since: Time::ZERO }
    }

    /// How many contexts there are.
    pub fn contexts(&self) -> usize {
        self.contexts.len()
    }

    /// The context that runs.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Sets a priority.
    pub fn set_priority(&mut self, context: usize, priority: u8) {
        self.contexts[context].priority = priority;
    }

    /// The processor runs this context from now on; when its time for its message is over, if that is bounded.
    pub fn run(&mut self, context: usize, now: Time) -> Option<Duration> {
        let before = &mut self.contexts[self.running];
        before.spent += now - self.since;
        (self.running, self.since) = (context, now);
        self.time_left()
    }

    /// The running context begins a message; when its time for it is over, if that is bounded.
    pub fn begin_message(&mut self, now: Time) -> Option<Duration> {
        self.end_message();
        self.contexts[self.running].is_at_message = true;
        self.since = now;
        self.time_left()
    }

    /// The running context is done with its message.
    pub fn end_message(&mut self) {
        let Context { priority, .. } = self.contexts[self.running];
        self.contexts[self.running] = Context { priority, ..Context::default() };
    }

    /// The time of the running context may be over: whether it is, and was not before.
    pub fn look_at_time(&mut self, now: Time) -> bool {
        let running = &mut self.contexts[self.running];
        let spent = running.spent + (now - self.since);
        let is_over = running.is_at_message && self.message_time.is_some_and(|time| spent >= time);
        is_over && !std::mem::replace(&mut running.is_late, is_over)
    }

    fn time_left(&self) -> Option<Duration> {
        let Context { is_at_message, is_late, spent, .. } = self.contexts[self.running];
        let bound = self.message_time.filter(|_| is_at_message && !is_late)?;
        Some(if bound > spent { bound - spent } else { Duration::ZERO })
    }

    /// The context that is to run, where these have a message waiting.
    pub fn next(&self, has_message: impl Fn(usize) -> bool) -> usize {
        let is_ready =
            |&context: &usize| context == 0 || self.contexts[context].is_at_message || has_message(context);
        let ready = (0..self.contexts.len()).filter(is_ready);
        let first = ready.min_by_key(|&context| (self.rank(context), context != self.running));
        first.expect("context 0 is ready")
    }

    /// The lower, the sooner a context runs.
    fn rank(&self, context: usize) -> (bool, u8) {
        let Context { priority, is_late, .. } = self.contexts[context];
        (is_late, priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ps(ns * 1_000)
    }

    #[test]
    fn the_ready_context_of_the_highest_priority_runs_and_equals_do_not_interrupt() {
        let mut choice = Choice::new(4, None);
        [3, 2, 0, 2]
            .into_iter()
            .enumerate()
            .for_each(|(context, priority)| choice.set_priority(context, priority));
        assert_eq!(choice.next(|_| false), 0, "context 0 is always ready");
        assert_eq!(choice.next(|context| context == 1), 1);
        choice.run(1, at(0));
        assert_eq!(choice.next(|_| false), 0, "one without a message gives way");
        assert_eq!(choice.begin_message(at(0)), None);
        assert_eq!(choice.next(|context| context == 3), 1);
        assert_eq!(choice.next(|context| context == 2), 2);
        choice.run(2, at(10));
        assert_eq!(choice.next(|_| false), 1, "it is at a message still");
    }

    #[test]
    fn one_that_has_spent_its_time_is_behind_all_others_until_it_is_done() {
        let mut choice = Choice::new(2, Some(Duration::from_ns(100)));
        choice.set_priority(0, 3);
        choice.run(1, at(0));
        assert_eq!(choice.begin_message(at(0)), Some(Duration::from_ns(100)));
        assert!(!choice.look_at_time(at(60)));
        assert_eq!(choice.next(|_| true), 1);
        // What it waits for does not count.
        assert_eq!(choice.run(0, at(60)), None);
        assert_eq!(choice.run(1, at(500)), Some(Duration::from_ns(40)));
        assert!(!choice.look_at_time(at(539)));
        assert_eq!(choice.next(|_| true), 1);
        assert!(choice.look_at_time(at(540)) && !choice.look_at_time(at(541)));
        assert_eq!(choice.next(|_| false), 0);
        choice.end_message();
        assert_eq!(choice.next(|_| true), 1);
    }
}
