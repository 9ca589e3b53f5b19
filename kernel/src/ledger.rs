//! The time ledger: where each picosecond went.
//!
//! Profilers sample or count what they know about, and what they do not know
//! about disappears. A [`Ledger`] cannot lose time: at any instant it is in
//! exactly one category, [`switch`](Ledger::switch) closes one and opens the
//! next, and the totals therefore add up to the elapsed time to the picosecond,
//! which [`close`](Ledger::close) asserts.
//!
//! Categories are declared with [`categories!`](crate::categories). A pair of
//! categories is a category too, so that one ledger can answer two questions at
//! once: what was the program doing (its activity), and what was the processor
//! doing meanwhile (its occupation)?
//!
//! ```
//! use narthex_kernel::{Ledger, Time, Duration, categories};
//!
//! categories! {
//!     /// What the program is doing.
//!     pub enum Activity { Application = "application", Send = "send" }
//! }
//! categories! {
//!     /// What the processor is doing meanwhile.
//!     pub enum Occupation { Execute = "execute", Miss = "cache miss" }
//! }
//!
//! let start = (Activity::Application, Occupation::Execute);
//! let mut ledger = Ledger::new(Time::ZERO, start);
//! ledger.switch(Time::from_ps(700), (Activity::Send, Occupation::Execute));
//! ledger.switch(Time::from_ps(900), (Activity::Send, Occupation::Miss));
//! ledger.close(Time::from_ps(1_000));
//! assert_eq!(ledger.total_of_first(Activity::Send), Duration::from_ps(300));
//! assert_eq!(ledger.total_of_second(Occupation::Execute), Duration::from_ps(900));
//! assert_eq!(ledger.elapsed(), Duration::from_ps(1_000));
//! ```

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Time};

/// A finite set of names, of which one applies at any instant.
pub trait Category: Copy {
    /// How many there are.
    const COUNT: usize;

    /// Which one this is, below `COUNT`.
    fn index(self) -> usize;

    /// The name in reports of the category with this index.
    fn name(index: usize) -> String;
}

/// A pair is a category: its cells are the product of the two sets.
impl<A: Category, B: Category> Category for (A, B) {
    const COUNT: usize = A::COUNT * B::COUNT;

    #[inline]
    fn index(self) -> usize {
        self.0.index() * B::COUNT + self.1.index()
    }

    fn name(index: usize) -> String {
        format!("{} / {}", A::name(index / B::COUNT), B::name(index % B::COUNT))
    }
}

/// Declares an enumeration as a [`Category`](crate::Category): each member
/// with its name in reports. It also has `ALL` and `NAMES`, in order.
#[macro_export]
macro_rules! categories {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$member_attribute:meta])* $member:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[derive($crate::statistics::Serialize, $crate::statistics::Deserialize)]
        $visibility enum $type {
            $(
                $(#[$member_attribute])*
                #[doc = concat!("In reports: \"", $name, "\".")]
                $member,
            )+
        }

        #[allow(dead_code)]
        impl $type {
            /// Every category, in the order of their indices.
            pub const ALL: &'static [Self] = &[$(Self::$member),+];
            /// Their names in reports, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its name in reports.
            pub const fn as_str(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl $crate::Category for $type {
            const COUNT: usize = Self::ALL.len();

            #[inline]
            fn index(self) -> usize {
                self as usize
            }

            fn name(index: usize) -> String {
                Self::NAMES[index].to_owned()
            }
        }
    };
}

/// Divides a stretch of time among categories, without gap or overlap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "", remote = "Self")]
pub struct Ledger<C> {
    opened: Time,
    since: Time,
    current: usize,
    totals: Box<[Duration]>,
    categories: PhantomData<C>,
}

crate::checked_when_read!(Ledger<C>, C: Category);

/// What a [`Ledger`] books in each of many equal turns; nothing if no category
/// ends in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerTurn {
    length: Duration,
    /// By the index of a category: of many, a turn is in few.
    booked: Box<[(usize, Duration)]>,
}

impl<C: Category> Ledger<C> {
    /// Opens the ledger in `category`.
    pub fn new(now: Time, category: C) -> Self {
        Ledger {
            opened: now,
            since: now,
            current: category.index(),
            totals: vec![Duration::ZERO; C::COUNT].into(),
            categories: PhantomData,
        }
    }

    /// From `now` on, time belongs to `category`.
    ///
    /// # Panics
    /// If `now` is before the previous switch: time would be counted twice.
    #[inline]
    pub fn switch(&mut self, now: Time, category: C) {
        self.settle(now);
        self.current = category.index();
    }

    /// The time since the last switch belongs to another category than was thought then, as
    /// does the time from now on.
    #[inline]
    pub fn correct(&mut self, category: C) {
        self.current = category.index();
    }

    /// Of the time since the last switch, so much belonged to another category.
    #[inline]
    pub fn book_within(&mut self, category: C, duration: Duration) {
        self.totals[category.index()] += duration;
        self.since += duration;
    }

    /// So much of what was booked on `from` belongs to `to`.
    #[inline]
    pub fn move_time(&mut self, time: Duration, from: C, to: C) {
        self.totals[from.index()] -= time;
        self.totals[to.index()] += time;
    }

    /// Adds the time up to `now`; the totals are then complete. The ledger
    /// stays open in the same category, so a run can be resumed.
    ///
    /// # Panics
    /// If the totals do not add up to the elapsed time.
    pub fn close(&mut self, now: Time) {
        self.settle(now);
        assert_eq!(self.booked(), Some(self.elapsed()), "the ledger lost time");
    }

    /// The sum of the totals, unless it is no time at all.
    fn booked(&self) -> Option<Duration> {
        let mut totals = self.totals.iter();
        let sum = totals.try_fold(0, |sum: u64, total| sum.checked_add(total.as_ps()));
        sum.map(Duration::from_ps)
    }

    fn is_sound(&self) -> bool {
        let fits = self.totals.len() == C::COUNT && self.current < C::COUNT && self.opened <= self.since;
        fits && self.booked() == Some(self.elapsed())
    }

    /// The time booked so far, from the opening to the last switch or close.
    pub fn elapsed(&self) -> Duration {
        self.since - self.opened
    }

    /// The index of the category to which time belongs since [`Ledger::booked_until`].
    pub fn current(&self) -> usize {
        self.current
    }

    /// The instant up to which time is booked.
    pub fn booked_until(&self) -> Time {
        self.since
    }

    /// The time booked on `category`.
    pub fn total(&self, category: C) -> Duration {
        self.totals[category.index()]
    }

    /// The time booked on each category, in the order of their indices.
    pub fn booked_by_category(&self) -> &[Duration] {
        &self.totals
    }

    /// Every category's name and total, in the order of their indices.
    pub fn totals(&self) -> impl Iterator<Item = (String, Duration)> {
        self.totals.iter().enumerate().map(|(index, &total)| (C::name(index), total))
    }

    /// What is booked in a turn of `length` that began when the ledger was as
    /// `earlier` and is over now: the turn is repeated by [`Ledger::repeat`]. None
    /// if the category is not the same at both ends.
    pub fn turn_since(&self, earlier: &Self, length: Duration) -> Option<LedgerTurn> {
        if self.current != earlier.current {
            return None;
        }
        if self.since == earlier.since {
            return Some(LedgerTurn::default());
        }
        let totals = self.totals.iter().zip(&earlier.totals).enumerate();
        // What was not booked yet when the turn began, and what is not booked now.
        let grown = |(index, (&now, &before))| match index == self.current {
            true => (index, now - before + length - (self.since - earlier.since)),
            false => (index, now - before),
        };
        let booked = totals.map(grown).filter(|(_, time)| !time.is_zero()).collect();
        Some(LedgerTurn { length, booked })
    }

    /// The turn happens `times` more times.
    pub fn repeat(&mut self, turn: &LedgerTurn, times: u64) {
        for &(index, booked) in &turn.booked {
            self.totals[index] += booked * times;
        }
        self.since += turn.length * times;
    }

    #[inline]
    fn settle(&mut self, now: Time) {
        assert!(now >= self.since, "the ledger is at {} and cannot go back to {now}", self.since);
        self.totals[self.current] += now - self.since;
        self.since = now;
    }
}

impl<A: Category, B: Category> Ledger<(A, B)> {
    /// The time booked on `first`, by the second category.
    #[inline]
    pub fn row(&self, first: A) -> &[Duration] {
        let row = first.index() * B::COUNT;
        &self.totals[row..row + B::COUNT]
    }

    /// What was booked on `from` since its row was `earlier` belongs to `to`.
    pub fn move_since(&mut self, earlier: &[Duration], from: A, to: A) {
        let (from, to) = (from.index() * B::COUNT, to.index() * B::COUNT);
        for (second, &before) in earlier.iter().enumerate() {
            let moved = self.totals[from + second] - before;
            self.totals[from + second] = before;
            self.totals[to + second] += moved;
        }
    }

    /// The time booked on `first`, whatever the second category was.
    pub fn total_of_first(&self, first: A) -> Duration {
        self.row(first).iter().copied().sum()
    }

    /// The time booked on `second`, whatever the first category was.
    pub fn total_of_second(&self, second: B) -> Duration {
        self.totals.iter().skip(second.index()).step_by(B::COUNT).copied().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    categories! {
        /// What a tester is doing.
        pub enum Test { Think = "think", Type = "type", Wait = "wait" }
    }
    categories! {
        /// Where.
        pub enum Place { Desk = "desk", Train = "train" }
    }

    fn at(picoseconds: u64) -> Time {
        Time::from_ps(picoseconds)
    }

    #[test]
    fn a_pair_has_a_name_and_a_cell_of_its_own() {
        assert_eq!(<(Test, Place)>::COUNT, 6);
        let indices = Test::ALL.iter().flat_map(|&t| Place::ALL.iter().map(move |&p| (t, p).index()));
        assert!(indices.eq(0..6));
        assert_eq!(<(Test, Place)>::name((Test::Wait, Place::Train).index()), "wait / train");
    }

    #[test]
    fn a_ledger_that_lost_time_or_categories_is_not_read() {
        let mut ledger = Ledger::new(at(0), Test::Think);
        ledger.switch(at(50), Test::Type);
        let read = |ledger: &Ledger<Test>| {
            let bytes = postcard::to_stdvec(ledger).expect("plain data");
            postcard::from_bytes::<Ledger<Test>>(&bytes)
        };
        assert_eq!(read(&ledger), Ok(ledger.clone()));
        let damages: [fn(&mut Ledger<Test>); 5] = [
            |ledger| ledger.totals[1] = Duration::from_ps(1),
            |ledger| ledger.totals = vec![Duration::from_ps(50)].into(),
            |ledger| ledger.current = 3,
            |ledger| ledger.opened = at(51),
            |ledger| ledger.totals.fill(Duration::MAX),
        ];
        for damage in damages {
            let mut damaged = ledger.clone();
            damage(&mut damaged);
            assert!(read(&damaged).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn a_category_that_is_corrected_gets_the_time_since_the_switch_to_it() {
        let mut ledger = Ledger::new(at(0), Test::Think);
        ledger.switch(at(3), Test::Type);
        ledger.correct(Test::Wait);
        ledger.close(at(10));
        assert_eq!(ledger.booked_by_category(), [3, 0, 7].map(Duration::from_ps));
    }

    #[test]
    #[should_panic(expected = "cannot go back")]
    fn going_back_in_time_is_refused() {
        let mut ledger = Ledger::new(at(5), Test::Think);
        ledger.switch(at(4), Test::Type);
    }

    /// Books turns of think 3, type 4, think 2; the first begins inside a thought.
    fn turns(ledger: &mut Ledger<Test>, begin: u64, count: u64) {
        for turn in 0..count {
            ledger.switch(at(begin + 9 * turn + 3), Test::Type);
            ledger.switch(at(begin + 9 * turn + 7), Test::Think);
        }
    }

    #[test]
    fn repeated_turns_are_booked_as_if_they_happened() {
        let mut ledger = Ledger::new(at(0), Test::Think);
        let before = ledger.clone();
        turns(&mut ledger, 1, 1);
        // The turn begins at 1 and is over at 10.
        let turn = ledger.turn_since(&before, Duration::from_ps(9)).unwrap();
        let mut long = ledger.clone();
        ledger.repeat(&turn, 5);
        turns(&mut long, 10, 5);
        assert_eq!(ledger, long);
        ledger.close(at(64));
    }

    #[test]
    fn a_turn_in_one_category_books_nothing_and_one_that_ends_in_another_is_none() {
        let mut ledger = Ledger::new(at(0), Test::Think);
        let before = ledger.clone();
        let turn = ledger.turn_since(&before, Duration::from_ps(9)).unwrap();
        ledger.repeat(&turn, 5);
        assert_eq!(ledger, before);
        ledger.switch(at(5), Test::Type);
        assert_eq!(ledger.turn_since(&before, Duration::from_ps(9)), None);
    }

    #[test]
    fn what_was_booked_on_a_row_since_an_instant_can_belong_to_another_one() {
        let mut ledger = Ledger::new(at(0), (Test::Think, Place::Desk));
        ledger.switch(at(3), (Test::Think, Place::Train));
        ledger.switch(at(7), (Test::Think, Place::Desk));
        let earlier = ledger.row(Test::Think).to_vec();
        ledger.switch(at(12), (Test::Think, Place::Train));
        ledger.close(at(14));
        ledger.move_since(&earlier, Test::Think, Test::Wait);
        let rows = [Test::Think, Test::Wait].map(|test| ledger.row(test).to_vec());
        assert_eq!(rows, [[3, 4].map(Duration::from_ps), [5, 2].map(Duration::from_ps)]);
        ledger.close(at(15));
    }

    proptest! {
        #[test]
        fn totals_add_up_to_the_elapsed_time_however_it_is_divided(
            steps in proptest::collection::vec((0u64..1_000, 0usize..3, 0usize..2), 0..100),
        ) {
            let mut now = at(123);
            let mut ledger = Ledger::new(now, (Test::Think, Place::Desk));
            for (step, test, place) in steps {
                now += Duration::from_ps(step);
                ledger.switch(now, (Test::ALL[test], Place::ALL[place]));
            }
            ledger.close(now);
            let cells: Duration = ledger.totals().map(|(_, total)| total).sum();
            let rows: Duration = Test::ALL.iter().map(|&t| ledger.total_of_first(t)).sum();
            let columns: Duration = Place::ALL.iter().map(|&p| ledger.total_of_second(p)).sum();
            prop_assert_eq!([cells, rows, columns], [now - at(123); 3]);
        }
    }
}
