//! The activities that are open, and polling.
//!
//! **A program that waits polls again and again.** What it executes between an empty poll and
//! the next one, the poll's own first and last instructions and the loop around it, is no work: it
//! belongs to polling. Whether a program polls again is known only when it does. So the time
//! behind an empty poll is the program's own at first, and is booked again where it polls:
//!
//! ```text
//!   markers    ENTER(poll)   LEAVE            ENTER(poll)   LEAVE
//!              ├── nothing ──┤  a few         ├── a packet ─┤
//!              │   begins    │  instructions  │             │
//!   booked     │ poll        │ poll           │ poll ...    │ application
//! ```
//!
//! An empty poll is one inside of which no other activity begins: it has taken nothing in and sent
//! nothing. Few are [`FEW_INSTRUCTIONS`]; a program that executes more has done something in
//! between, and so has one that has called the system or begun another activity.

use narthex_kernel::{Category, Duration, Ledger, Time};
use serde::{Deserialize, Serialize};

use super::{Activity, Marker, Occupation, Spent};

/// So many instructions behind an empty poll, up to the next one's marker, are those of waiting. The
/// messaging library's own are 13, a loop around it has few more.
pub const FEW_INSTRUCTIONS: u64 = 32;

/// The activities that are open.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Activities {
    /// Innermost last.
    open: Vec<Activity>,
    polling: Polling,
    /// The end of the last empty poll; it means something behind that only.
    empty_poll: EmptyPoll,
}

/// How far a program is that looks for messages.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
enum Polling {
    /// It does something else.
    #[default]
    No,
    /// It polls, and nothing has begun in this poll.
    Inside,
    /// An empty poll is over.
    Behind,
}

/// The end of an empty poll.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
struct EmptyPoll {
    /// Instructions that had been retired.
    retired: u64,
    /// Time that had been booked, on whatever.
    elapsed: Duration,
    /// What was booked on the program's own work, by what it was spent on.
    booked: Box<[Duration]>,
}

impl Default for EmptyPoll {
    fn default() -> Self {
        let booked = vec![Duration::ZERO; Spent::COUNT].into();
        EmptyPoll { retired: 0, elapsed: Duration::ZERO, booked }
    }
}

impl EmptyPoll {
    /// What separates this and the present; of that and the present, this again.
    fn apart(&self, ledger: &Ledger<(Activity, Spent)>, retired: u64) -> EmptyPoll {
        let row = ledger.row(Activity::Application).iter();
        EmptyPoll {
            retired: retired - self.retired,
            elapsed: ledger.elapsed() - self.elapsed,
            booked: row.zip(&self.booked).map(|(now, before)| *now - *before).collect(),
        }
    }

    /// It ends at the ledger's instant.
    #[inline]
    fn is_now(&mut self, ledger: &Ledger<(Activity, Spent)>, retired: u64) {
        self.retired = retired;
        self.elapsed = ledger.elapsed();
        self.booked.copy_from_slice(ledger.row(Activity::Application));
    }

    /// Books what came behind it as polling: of instructions alone, at once.
    #[inline]
    fn belongs_to_polling(&self, ledger: &mut Ledger<(Activity, Spent)>) {
        let executed = |activity| (activity, Spent::from(Occupation::Execute));
        let from = executed(Activity::Application);
        let time = ledger.total(from) - self.booked[from.1.index()];
        match time == ledger.elapsed() - self.elapsed {
            true => ledger.move_time(time, from, executed(Activity::Poll)),
            false => ledger.move_since(&self.booked, Activity::Application, Activity::Poll),
        }
    }
}

/// Where a program is behind an empty poll, to go on from there later ([`Activities::behind`]).
#[derive(Debug)]
pub struct Behind(EmptyPoll);

impl Activities {
    /// More open activities than this are a mistake of the program.
    const DEEPEST: usize = 64;

    /// The innermost activity.
    pub fn current(&self) -> Activity {
        self.open.last().copied().unwrap_or(Activity::Application)
    }

    /// Whether this activity is open, whatever has begun inside it.
    pub fn is_within(&self, activity: Activity) -> bool {
        self.open.contains(&activity)
    }

    /// Whether the time that passes now belongs to polling if the program polls next; it has
    /// retired so many instructions.
    #[inline]
    pub fn may_poll_again(&self, retired: u64) -> bool {
        self.polling == Polling::Behind && retired - self.empty_poll.retired <= FEW_INSTRUCTIONS
    }

    /// An empty poll is forgotten if the program, with so many instructions retired, is not behind it
    /// any more.
    pub fn forget_old_poll(&mut self, retired: u64) {
        if !self.may_poll_again(retired) {
            self.empty_poll = EmptyPoll::default();
            if self.polling == Polling::Behind {
                self.polling = Polling::No;
            }
        }
    }

    /// Whether they may be those of a processor with this ledger, which has retired so many
    /// instructions.
    pub fn belong_to(&self, ledger: &Ledger<(Activity, Spent)>, retired: u64) -> bool {
        let EmptyPoll { retired: before, elapsed, booked } = &self.empty_poll;
        let row = ledger.row(Activity::Application);
        let is_earlier = *before <= retired && *elapsed <= ledger.elapsed();
        is_earlier && booked.len() == row.len() && booked.iter().zip(row).all(|(before, now)| before <= now)
    }

    /// The program does something that is no waiting for messages.
    pub fn end_polling(&mut self) {
        self.polling = Polling::No;
    }

    /// Applies the marker of a hint that a program executes at `now`, with so many instructions
    /// `retired`, and books the time from then on: the marker, if the hint is one. An error says
    /// what the program did wrong; nothing changes.
    #[inline]
    pub fn book(
        &mut self,
        ledger: &mut Ledger<(Activity, Spent)>,
        now: Time,
        retired: u64,
        hint: u16,
    ) -> Result<Option<Marker>, &'static str> {
        let Some(marker) = Marker::decode(hint) else { return Ok(None) };
        let left = self.apply(marker)?;
        ledger.switch(now, (self.current(), Occupation::Execute.into()));
        self.polling = match (marker, left) {
            (Marker::Enter(Activity::Poll), _) => {
                if self.may_poll_again(retired) {
                    self.empty_poll.belongs_to_polling(ledger);
                }
                Polling::Inside
            }
            (_, Some(Activity::Poll))
                if self.polling == Polling::Inside && self.current() == Activity::Application =>
            {
                self.empty_poll.is_now(ledger, retired);
                Polling::Behind
            }
            _ => Polling::No,
        };
        Ok(Some(marker))
    }

    /// The same without what only counts on: two that are alike at two instants go on alike, but
    /// for the time between.
    pub fn without_counts(&self, ledger: &Ledger<(Activity, Spent)>, now: Time, retired: u64) -> Activities {
        let mut all = self.clone();
        all.forget_old_poll(retired);
        if all.polling == Polling::Behind {
            all.empty_poll = self.empty_poll.apart(ledger, retired);
            // What is not booked yet, in whatever category that is.
            let since = now.saturating_since(ledger.booked_until());
            all.empty_poll.elapsed += since;
            all.empty_poll.booked[0] += since;
        }
        all
    }

    /// Where the program is behind an empty poll, before turns of its loop are computed; nothing
    /// if it polls no more.
    pub fn behind(&mut self, ledger: &Ledger<(Activity, Spent)>, retired: u64) -> Option<Behind> {
        self.forget_old_poll(retired);
        (self.polling == Polling::Behind).then(|| Behind(self.empty_poll.apart(ledger, retired)))
    }

    /// There it is again after the turns.
    pub fn go_on(&mut self, Behind(apart): Behind, ledger: &Ledger<(Activity, Spent)>, retired: u64) {
        self.empty_poll = apart.apart(ledger, retired);
    }

    /// Applies a marker: what it leaves. Errors say what the program did wrong.
    fn apply(&mut self, marker: Marker) -> Result<Option<Activity>, &'static str> {
        match marker {
            Marker::Enter(_) if self.open.len() == Self::DEEPEST => {
                Err("more than 64 activities are open: a marker that leaves one is missing")
            }
            Marker::Enter(activity) => {
                self.open.push(activity);
                Ok(None)
            }
            Marker::Leave => self.open.pop().map(Some).ok_or("a marker leaves an activity, but none is open"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_nest_and_the_innermost_counts() {
        let mut activities = Activities::default();
        for immediate in [0x4e3, 0x4e4, 0x4e0] {
            activities.apply(Marker::decode(immediate).unwrap()).unwrap();
        }
        assert_eq!(activities.current(), Activity::Application);
        activities.apply(Marker::decode(0x4f0).unwrap()).unwrap();
        assert_eq!(activities.current(), Activity::Receive);
    }

    const ENTER_POLL: u16 = 0x4e3;
    const ENTER_RECEIVE: u16 = 0x4e4;
    const LEAVE: u16 = 0x4f0;

    /// Time in picoseconds of application and of polling after markers: hint, instant, instructions
    /// retired by then.
    fn booked(markers: &[(u16, u64, u64)]) -> [u64; 2] {
        let mut ledger = Ledger::new(Time::ZERO, (Activity::Application, Occupation::Execute.into()));
        let mut activities = Activities::default();
        for &(hint, at, retired) in markers {
            activities.book(&mut ledger, Time::from_ps(at), retired, hint).unwrap();
        }
        [Activity::Application, Activity::Poll].map(|activity| ledger.total_of_first(activity).as_ps())
    }

    #[test]
    fn what_lies_between_an_empty_poll_and_the_next_one_is_polling() {
        let polls = [(ENTER_POLL, 100, 10), (LEAVE, 130, 20), (ENTER_POLL, 150, 52), (LEAVE, 180, 60)];
        assert_eq!(booked(&polls), [100, 80]);
    }

    #[test]
    fn more_than_a_few_instructions_between_two_polls_are_the_programs_own() {
        let polls = [(ENTER_POLL, 100, 10), (LEAVE, 130, 20), (ENTER_POLL, 150, 53), (LEAVE, 180, 60)];
        assert_eq!(booked(&polls), [120, 60]);
    }

    #[test]
    fn what_follows_a_poll_that_took_a_message_in_is_the_programs_own() {
        let polls = [
            (ENTER_POLL, 100, 10),
            (ENTER_RECEIVE, 110, 12),
            (LEAVE, 120, 14),
            (LEAVE, 130, 20),
            (ENTER_POLL, 150, 30),
        ];
        assert_eq!(booked(&polls), [120, 20]);
    }

    #[test]
    fn another_activity_behind_an_empty_poll_ends_polling() {
        let polls = [
            (ENTER_POLL, 100, 10),
            (LEAVE, 130, 12),
            (0x4e1, 140, 14),
            (LEAVE, 145, 16),
            (ENTER_POLL, 150, 18),
        ];
        assert_eq!(booked(&polls), [115, 30]);
    }

    #[test]
    fn a_poll_inside_another_activity_leaves_that_its_time() {
        let polls = [
            (0x4e6, 50, 5),
            (ENTER_POLL, 100, 10),
            (LEAVE, 130, 12),
            (ENTER_POLL, 140, 14),
            (LEAVE, 160, 16),
            (LEAVE, 170, 18),
        ];
        assert_eq!(booked(&polls), [50, 50]);
    }

    #[test]
    fn leaving_what_was_never_entered_is_refused() {
        assert!(Activities::default().apply(Marker::Leave).is_err());
    }
}
