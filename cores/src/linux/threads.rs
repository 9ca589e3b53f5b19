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

use super::signals::{Again, Interrupted, ThreadSignals};
use serde::{Deserialize, Serialize};

/// The number of a process and of its first thread.
pub(super) const PROCESS: i64 = 1000;

/// Any of the sleepers of a word: FUTEX_BITSET_MATCH_ANY.
pub(super) const ANY: u32 = u32::MAX;

/// No wake of a word, but that of a futex with priority inheritance that it locks.
pub(super) const LOCK: u32 = 0;

/// What a thread's name takes, with a zero byte.
pub(super) const NAME_BYTES: usize = 16;

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
    /// Interrupts of devices for which no thread has waited yet, a bit for each vector.
    interrupts: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Thread {
    number: i64,
    /// The word that becomes zero at its end; 0 is none.
    cleared_at_exit: u64,
    signals: ThreadSignals,
    /// What the program calls it.
    name: [u8; NAME_BYTES],
    /// The processors that it wants to run on, if it has said so.
    affinity: Option<u64>,
}

impl Thread {
    fn new(number: i64, signals: ThreadSignals, name: [u8; NAME_BYTES]) -> Self {
        Thread { number, cleared_at_exit: 0, signals, name, affinity: None }
    }
}

/// What a sleeper waits for, besides its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Awaited {
    /// Its time alone, or a signal.
    Nothing,
    /// A wake of a word, of those with one of the bits; with none: that of a lock's owner ([`LOCK`]).
    Word { word: u64, bits: u32 },
    /// Bytes or room in a pipe.
    Pipe(u64),
    /// A device's interrupt by this vector.
    Interrupt(u8),
}

impl Awaited {
    /// Whether its sleeper is told when its time is over before.
    pub fn may_come_in_time(self) -> bool {
        matches!(self, Awaited::Word { .. } | Awaited::Interrupt(_))
    }
}

/// A thread that sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Sleeper {
    pub place: usize,
    pub awaited: Awaited,
    /// When it goes on in any case, in nanoseconds.
    pub until_ns: Option<u64>,
    /// Where the time goes that is left if a signal comes before; 0 is nowhere.
    pub remaining_at: u64,
    /// What a signal makes of its call.
    pub interrupted: Interrupted,
}

impl Sleeper {
    /// The word that it waits for.
    fn word(&self) -> Option<u64> {
        match self.awaited {
            Awaited::Word { word, .. } => Some(word),
            Awaited::Nothing | Awaited::Pipe(_) | Awaited::Interrupt(_) => None,
        }
    }
}

impl Threads {
    /// A process with its first thread, on so many processors.
    pub fn on(processors: usize) -> Self {
        let mut places: Vec<Option<Thread>> = (0..processors).map(|_| None).collect();
        places[0] = Some(Thread::new(PROCESS, ThreadSignals::default(), [0; NAME_BYTES]));
        Threads { places, sleepers: Vec::new(), latest: PROCESS, exit_code: None, interrupts: 0 }
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

    /// The place of the thread that the program knows by this number.
    pub fn place_of(&self, number: u64) -> Option<usize> {
        let is_meant = |thread: &Thread| thread.number as u64 == number;
        self.places.iter().position(|place| place.as_ref().is_some_and(is_meant))
    }

    /// The places that have a thread.
    pub fn taken(&self) -> impl Iterator<Item = usize> {
        self.places.iter().enumerate().filter(|(_, thread)| thread.is_some()).map(|(place, _)| place)
    }

    /// The signals of a thread, if there is one at the place.
    pub fn signals(&self, place: usize) -> Option<&ThreadSignals> {
        self.places[place].as_ref().map(|thread| &thread.signals)
    }

    /// The same, to change them.
    pub fn signals_mut(&mut self, place: usize) -> Option<&mut ThreadSignals> {
        self.places[place].as_mut().map(|thread| &mut thread.signals)
    }

    /// What the program calls a thread that there is.
    pub fn name_mut(&mut self, place: usize) -> Option<&mut [u8; NAME_BYTES]> {
        self.places[place].as_mut().map(|thread| &mut thread.name)
    }

    /// The processors that a thread wants.
    pub fn affinity_mut(&mut self, place: usize) -> Option<&mut Option<u64>> {
        self.places[place].as_mut().map(|thread| &mut thread.affinity)
    }

    /// Starts a thread at the first free place: that, and its number. It blocks the signals,
    /// and has the name, of the one at `parent`.
    pub fn start(&mut self, parent: usize) -> Option<(usize, i64)> {
        let place = self.places.iter().position(Option::is_none)?;
        let of_parent = self.places[parent].as_ref();
        let mask = of_parent.map_or(0, |thread| thread.signals.mask);
        let name = of_parent.map_or([0; NAME_BYTES], |thread| thread.name);
        self.latest += 1;
        let signals = ThreadSignals { mask, ..ThreadSignals::default() };
        self.places[place] = Some(Thread::new(self.latest, signals, name));
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
    pub fn sleep(&mut self, sleeper: Sleeper) {
        self.sleepers.push(sleeper);
    }

    /// The first sleeper that waits for the lock at a word goes on: its place, and whether
    /// others wait still.
    pub fn wake_for_lock(&mut self, word: u64) -> Option<(usize, bool)> {
        let waits = |sleeper: &Sleeper| sleeper.awaited == Awaited::Word { word, bits: LOCK };
        let asleep = self.sleepers.iter().position(waits)?;
        let place = self.sleepers.remove(asleep).place;
        Some((place, self.sleepers.iter().any(waits)))
    }

    /// A thread's sleep ends before its time, if it sleeps.
    pub fn interrupt(&mut self, place: usize) -> Option<Sleeper> {
        let asleep = self.sleepers.iter().position(|sleeper| sleeper.place == place)?;
        let sleeper = self.sleepers.remove(asleep);
        self.signals_mut(place)?.interrupted = Some(sleeper.interrupted);
        Some(sleeper)
    }

    /// Those that wait for a pipe go on, to make their calls again: their places.
    pub fn wake_for_pipe(&mut self, pipe: u64) -> Vec<usize> {
        let (woken, others): (Vec<_>, Vec<_>) =
            self.sleepers.iter().partition(|sleeper| sleeper.awaited == Awaited::Pipe(pipe));
        self.sleepers = others;
        for sleeper in &woken {
            self.repeat(sleeper.place, sleeper.interrupted.first_argument);
        }
        woken.iter().map(|sleeper| sleeper.place).collect()
    }

    /// A thread's call is to be made again as soon as it has its registers.
    pub fn repeat(&mut self, place: usize, first_argument: u64) {
        if let Some(signals) = self.signals_mut(place) {
            signals.interrupted = Some(Interrupted { again: Again::Always, first_argument });
        }
    }

    /// Wakes up to `most` of those that wait for a word: their places.
    pub fn wake(&mut self, word: u64, bits: u32, most: u64) -> Vec<usize> {
        let mut woken = Vec::new();
        self.sleepers.retain(|sleeper| {
            let is_awaited = matches!(sleeper.awaited, Awaited::Word { word: awaited, bits: wakes }
                if awaited == word && wakes & bits != 0);
            let is_meant = is_awaited && (woken.len() as u64) < most;
            if is_meant {
                woken.push(sleeper.place);
            }
            !is_meant
        });
        woken
    }

    /// Lets up to `most` of those that wait for a word wait for another one: how many.
    pub fn requeue(&mut self, from: u64, to: u64, most: u64) -> u64 {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let words = self.sleepers.iter_mut().filter_map(|sleeper| match &mut sleeper.awaited {
            Awaited::Word { word, bits } if *word == from && *bits != LOCK => Some(word),
            _ => None,
        });
        let mut moved = 0;
        for word in words.take(most) {
            *word = to;
            moved += 1;
        }
        moved
    }

    /// A device interrupts: the first thread that waits for it goes on, if one does.
    pub fn interrupt_of_device(&mut self, vector: u8) -> Option<usize> {
        let is_awaited = |sleeper: &Sleeper| sleeper.awaited == Awaited::Interrupt(vector);
        let Some(asleep) = self.sleepers.iter().position(is_awaited) else {
            self.interrupts |= 1 << vector;
            return None;
        };
        Some(self.sleepers.remove(asleep).place)
    }

    /// Whether a device has interrupted since this was last asked or waited for.
    pub fn take_interrupt(&mut self, vector: u8) -> bool {
        let has_come = self.interrupts >> vector & 1 == 1;
        self.interrupts &= !(1 << vector);
        has_come
    }

    /// The interrupt for which a thread sleeps, if it does.
    pub fn awaited_interrupt(&self, place: usize) -> Option<u8> {
        match self.sleepers.iter().find(|sleeper| sleeper.place == place)?.awaited {
            Awaited::Interrupt(vector) => Some(vector),
            _ => None,
        }
    }

    /// The time of a sleeper is over: whether it waited for something else, in vain.
    pub fn time_is_over(&mut self, place: usize) -> bool {
        let asleep = self.sleepers.iter().position(|sleeper| sleeper.place == place);
        asleep.is_some_and(|asleep| self.sleepers.remove(asleep).awaited.may_come_in_time())
    }

    /// Whether a thread sleeps until a signal comes, or a byte in a pipe.
    pub fn sleeps_for_ever(&self, place: usize) -> bool {
        let is_meant = |sleeper: &Sleeper| sleeper.place == place;
        self.sleepers.iter().any(|sleeper| is_meant(sleeper) && sleeper.word().or(sleeper.until_ns).is_none())
    }

    /// The word for which a thread sleeps, if it does.
    pub fn awaited_word(&self, place: usize) -> Option<u64> {
        self.sleepers.iter().find(|sleeper| sleeper.place == place)?.word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asleep(place: usize, word: Option<u64>, bits: u32) -> Sleeper {
        let interrupted = Interrupted { again: Again::IfWanted, first_argument: 0 };
        let awaited = word.map_or(Awaited::Nothing, |word| Awaited::Word { word, bits });
        Sleeper { place, awaited, until_ns: None, remaining_at: 0, interrupted }
    }

    #[test]
    fn a_wake_takes_those_first_that_fell_asleep_first() {
        let mut threads = Threads::on(4);
        for place in [2, 0, 3, 1] {
            threads.sleep(asleep(place, Some(if place == 0 { 8 } else { 4 }), ANY));
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
        assert_eq!(threads.start(0), Some((1, PROCESS + 1)));
        assert_eq!(threads.start(0), None);
        threads.clear_at_exit(0, 64);
        assert_eq!(threads.exit(0, 7), Ok(64));
        assert_eq!(threads.start(0), Some((0, PROCESS + 2)), "a place that is free again");
        assert_eq!(threads.exit(1, 1), Ok(0));
        assert_eq!(threads.exit(0, 2), Err(7));
    }

    #[test]
    fn a_lock_goes_to_those_that_wait_for_it_and_other_wakes_pass_them_by() {
        let mut threads = Threads::on(3);
        for place in [2, 0] {
            threads.sleep(asleep(place, Some(4), LOCK));
        }
        assert!(threads.wake(4, ANY, 9).is_empty());
        assert_eq!(threads.requeue(4, 8, 9), 0);
        assert_eq!([(); 3].map(|()| threads.wake_for_lock(4)), [Some((2, true)), Some((0, false)), None]);
    }

    #[test]
    fn one_whose_time_is_over_is_woken_no_more() {
        let mut threads = Threads::on(2);
        threads.sleep(asleep(0, Some(4), ANY));
        threads.sleep(asleep(1, None, ANY));
        assert!(threads.time_is_over(0));
        assert!(!threads.time_is_over(1));
        assert!(threads.wake(4, ANY, 9).is_empty());
    }
}
