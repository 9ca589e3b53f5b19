//! The threads of a process: which there are, and which of them sleep.
//!
//! A thread has a processor of its own from its start to its end, so nothing is
//! scheduled here. Threads are known by their *place*: the number of their
//! processor among those of the process. The first thread has place 0.
//!
//! ```text
//!   clone ──► runs ──► futex wait, nanosleep ──► sleeps ──► futex wake, or its time is over ──► runs
//!              └─────► exit ──► its place is free for the next clone
//! ```
//!
//! Sleepers stand in one line, in the order in which they fell asleep: a wake takes
//! the first ones that wait for its word.

use serde::{Deserialize, Serialize};

/// The number of a process and of its first thread.
pub(super) const PROCESS: i64 = 1000;

/// Any of the sleepers of a word: FUTEX_BITSET_MATCH_ANY.
pub(super) const ANY: u32 = u32::MAX;

/// The threads of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Threads {
    /// By place; none where a processor has no thread.
    places: Vec<Option<Thread>>,
    /// In the order in which they fell asleep.
    sleepers: Vec<Sleeper>,
    /// The number of the thread that started last.
    latest: i64,
    /// What the first thread has exited with, if it has.
    exit_code: Option<u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Thread {
    number: i64,
    /// The word that becomes zero at its end; 0 is none.
    cleared_at_exit: u64,
}

/// A thread that sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Sleeper {
    place: usize,
    /// The word whose wake it waits for; none: for a time alone.
    word: Option<u64>,
    /// Which wakes of that word.
    bits: u32,
}

impl Threads {
    /// A process with its first thread, on so many processors.
    pub fn on(processors: usize) -> Self {
        let mut places: Vec<Option<Thread>> = (0..processors).map(|_| None).collect();
        places[0] = Some(Thread { number: PROCESS, cleared_at_exit: 0 });
        Threads { places, sleepers: Vec::new(), latest: PROCESS, exit_code: None }
    }

    /// How many threads the process can have at a time.
    pub fn most(&self) -> usize {
        self.places.len()
    }

    /// How many threads it has.
    pub fn count(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// The number that the program knows a thread by.
    pub fn number(&self, place: usize) -> i64 {
        self.places[place].as_ref().map_or(PROCESS, |thread| thread.number)
    }

    /// Whether the program knows a thread by this number.
    pub fn has(&self, number: u64) -> bool {
        self.places.iter().flatten().any(|thread| thread.number as u64 == number)
    }

    /// Starts a thread at the first free place: that, and its number.
    pub fn start(&mut self) -> Option<(usize, i64)> {
        let place = self.places.iter().position(Option::is_none)?;
        self.latest += 1;
        self.places[place] = Some(Thread { number: self.latest, cleared_at_exit: 0 });
        Some((place, self.latest))
    }

    /// A thread wants this word to become zero at its end.
    pub fn clear_at_exit(&mut self, place: usize, address: u64) {
        if let Some(thread) = &mut self.places[place] {
            thread.cleared_at_exit = address;
        }
    }

    /// A thread ends: the word that is to become zero. None: it was the last one,
    /// and its process ends with the code of the first.
    pub fn exit(&mut self, place: usize, code: u8) -> Result<u64, u8> {
        if self.number(place) == PROCESS {
            self.exit_code = Some(code);
        }
        let thread = self.places[place].take();
        if self.count() == 0 {
            return Err(self.exit_code.unwrap_or(code));
        }
        Ok(thread.map_or(0, |thread| thread.cleared_at_exit))
    }

    /// A thread falls asleep.
    pub fn sleep(&mut self, place: usize, word: Option<u64>, bits: u32) {
        self.sleepers.push(Sleeper { place, word, bits });
    }

    /// Wakes up to `most` of those that wait for a word: their places.
    pub fn wake(&mut self, word: u64, bits: u32, most: u64) -> Vec<usize> {
        let mut woken = Vec::new();
        self.sleepers.retain(|sleeper| {
            let is_meant =
                sleeper.word == Some(word) && sleeper.bits & bits != 0 && (woken.len() as u64) < most;
            if is_meant {
                woken.push(sleeper.place);
            }
            !is_meant
        });
        woken
    }

    /// Lets up to `most` of those that wait for a word wait for another one: how many.
    pub fn requeue(&mut self, from: u64, to: u64, most: u64) -> u64 {
        let all = self.sleepers.iter_mut().filter(|sleeper| sleeper.word == Some(from));
        let mut moved = 0;
        for sleeper in all.take(usize::try_from(most).unwrap_or(usize::MAX)) {
            sleeper.word = Some(to);
            moved += 1;
        }
        moved
    }

    /// The time of a sleeper is over: whether it waited for a word, in vain.
    pub fn time_is_over(&mut self, place: usize) -> bool {
        let asleep = self.sleepers.iter().position(|sleeper| sleeper.place == place);
        asleep.is_some_and(|asleep| self.sleepers.remove(asleep).word.is_some())
    }

    /// The word for which a thread sleeps, if it does.
    pub fn awaited_word(&self, place: usize) -> Option<u64> {
        self.sleepers.iter().find(|sleeper| sleeper.place == place)?.word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_takes_those_first_that_fell_asleep_first() {
        let mut threads = Threads::on(4);
        for place in [2, 0, 3, 1] {
            threads.sleep(place, Some(if place == 0 { 8 } else { 4 }), ANY);
        }
        assert_eq!(threads.wake(4, ANY, 2), [2, 3]);
        assert_eq!(threads.wake(4, ANY, 2), [1]);
        assert_eq!(threads.awaited_word(0), Some(8));
        assert_eq!(threads.requeue(8, 4, 1), 1);
        assert!(threads.wake(8, ANY, 9).is_empty());
        assert_eq!(threads.wake(4, ANY, 9), [0]);
    }

    #[test]
    fn the_process_ends_with_its_last_thread_and_the_code_of_its_first() {
        let mut threads = Threads::on(2);
        assert_eq!(threads.start(), Some((1, PROCESS + 1)));
        assert_eq!(threads.start(), None);
        threads.clear_at_exit(0, 64);
        assert_eq!(threads.exit(0, 7), Ok(64));
        assert_eq!(threads.start(), Some((0, PROCESS + 2)), "a place that is free again");
        assert_eq!(threads.exit(1, 1), Ok(0));
        assert_eq!(threads.exit(0, 2), Err(7));
    }

    #[test]
    fn one_whose_time_is_over_is_woken_no_more() {
        let mut threads = Threads::on(2);
        threads.sleep(0, Some(4), ANY);
        threads.sleep(1, None, ANY);
        assert!(threads.time_is_over(0));
        assert!(!threads.time_is_over(1));
        assert!(threads.wake(4, ANY, 9).is_empty());
    }
}
