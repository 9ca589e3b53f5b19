//! What a processor's time is divided into: the rows and columns of the ledger.
//!
//! The guest says what it is doing by markers, instructions that take no time
//! (guest/runtime); the node knows what the processor is waiting for. At any
//! instant a processor is in one activity and one occupation; while it waits for
//! a transaction, it also waits for one [`Resource`], so that waits are booked by
//! the ledger itself and add up to its occupations.
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

use narthex_kernel::{Category, Duration, Ledger, Time, categories};
use narthex_memory::processor_memory::WaitReason;
use serde::{Deserialize, Serialize};

categories! {
    /// What the program is doing, as its markers say.
    pub enum Activity {
        /// The program's own work.
        Application = "application",
        /// Sending a message: overhead of the messaging library.
        Send = "send",
        /// Waiting for room in the interface or the flow control.
        WaitToSend = "wait to send",
        /// Looking for messages and finding none.
        Poll = "poll",
        /// Taking a message in: overhead of the messaging library.
        Receive = "receive",
        /// Moving messages out of the interface into user memory.
        Buffering = "buffering",
        /// Waiting for other nodes.
        Synchronisation = "synchronisation",
        /// Fetching blocks of shared memory, and giving them away.
        SharedMemory = "shared memory",
        /// Firmware starts a DMA engine.
        DmaSetup = "DMA set-up",
        /// Firmware serves the interrupt at the end of a DMA engine's copy.
        DmaInterrupt = "DMA interrupt",
        /// Firmware finds out what an event asks for.
        Dispatch = "dispatch",
        /// Firmware takes up an operation that it had suspended.
        Resume = "resume",
        /// Firmware has a message fetched that is to be sent.
        Marshal = "marshal",
        /// Firmware translates a message's destination and has it sent.
        Launch = "translate and launch",
        /// Firmware has an arrived message brought to its queue.
        Demultiplex = "demultiplex",
        /// Firmware frees the buffer of an arrived message and shows it in its queue.
        FreeBuffer = "free buffer",
        /// Firmware takes note that a program has taken messages from its queue.
        Release = "release",
        /// The program has ended on this node.
        Exited = "exited",
        /// No thread has the processor.
        Idle = "idle",
    }
}

categories! {
    /// What the processor is doing meanwhile.
    pub enum Occupation {
        /// Executing instructions.
        Execute = "execute",
        /// Waiting for a block of data.
        DataMiss = "data miss",
        /// Waiting for a block of instructions.
        InstructionMiss = "instruction miss",
        /// Waiting for a device register.
        Uncached = "uncached access",
        /// Waiting for the store buffer to drain.
        StoreBuffer = "store buffer",
        /// Its thread sleeps in a system call.
        Asleep = "asleep",
        /// In the operating system.
        SystemCall = "system call",
        /// Waiting for an interrupt.
        Interrupt = "interrupt",
    }
}

categories! {
    /// For what a processor waits while a transaction keeps it.
    pub enum Resource {
        /// The interconnect is another agent's, or its clock has no edge yet.
        Interconnect = "interconnect",
        /// Other caches give the right to write: the transaction carries no bytes.
        Permission = "right to write",
        /// A memory answers, or takes the dirty block that has to leave before.
        Memory = "main memory",
        /// Another agent's cache supplies the block.
        Cache = "another cache",
        /// A device answers.
        Interface = "interface",
        /// The home of a block on a directory answers, and those that it asks.
        Home = "directory's home",
        /// An agent has refused the transaction, which is tried again.
        Retry = "retry",
    }
}

/// What a processor's time is spent in: an occupation and, while a transaction keeps it,
/// the resource for which it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spent {
    /// What it is doing.
    pub occupation: Occupation,
    /// For what it waits.
    pub resource: Option<Resource>,
}

impl Spent {
    /// The one with this index as a category.
    pub fn of_index(index: usize) -> Spent {
        match index.checked_sub(Occupation::COUNT) {
            None => Spent { occupation: Occupation::ALL[index], resource: None },
            Some(wait) => Spent {
                occupation: Occupation::TRANSACTIONS[wait / Resource::COUNT],
                resource: Some(Resource::ALL[wait % Resource::COUNT]),
            },
        }
    }
}

impl From<Occupation> for Spent {
    /// Without a resource.
    fn from(occupation: Occupation) -> Self {
        Spent { occupation, resource: None }
    }
}

impl Category for Spent {
    const COUNT: usize = Occupation::COUNT + Occupation::TRANSACTIONS.len() * Resource::COUNT;

    #[inline]
    fn index(self) -> usize {
        let Spent { occupation, resource } = self;
        let kept_by = |resource: Resource| {
            let wait = occupation.index() - Occupation::TRANSACTIONS[0].index();
            Occupation::COUNT + wait * Resource::COUNT + resource.index()
        };
        resource.map_or(occupation.index(), kept_by)
    }

    fn name(index: usize) -> String {
        match Spent::of_index(index) {
            Spent { occupation, resource: None } => occupation.as_str().to_owned(),
            Spent { occupation, resource: Some(resource) } => {
                format!("{} / {}", occupation.as_str(), resource.as_str())
            }
        }
    }
}

impl Occupation {
    /// Those in which a transaction keeps a processor, in the order of their indices.
    pub const TRANSACTIONS: [Occupation; 4] =
        [Occupation::DataMiss, Occupation::InstructionMiss, Occupation::Uncached, Occupation::StoreBuffer];

    /// Whether a transaction keeps the processor.
    #[inline]
    pub fn is_transaction(self) -> bool {
        Self::TRANSACTIONS.contains(&self)
    }
}

impl From<Option<WaitReason>> for Occupation {
    fn from(reason: Option<WaitReason>) -> Self {
        match reason {
            None => Occupation::Execute,
            Some(WaitReason::DataMiss) => Occupation::DataMiss,
            Some(WaitReason::InstructionMiss) => Occupation::InstructionMiss,
            Some(WaitReason::Uncached) => Occupation::Uncached,
            Some(WaitReason::StoreBuffer) => Occupation::StoreBuffer,
        }
    }
}

/// What a marker instruction says (guest/runtime).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// An activity begins inside the present one.
    Enter(Activity),
    /// The innermost activity ends.
    Leave,
}

impl Marker {
    const ENTER: u16 = 0x4e0;
    const LEAVE: u16 = 0x4f0;

    /// The meaning of `slti x0, x0, immediate`; none for another hint.
    pub fn decode(immediate: u16) -> Option<Marker> {
        if immediate == Self::LEAVE {
            return Some(Marker::Leave);
        }
        // A guest cannot say that it has exited.
        let guest = &Activity::ALL[..Activity::Exited as usize];
        let number = immediate.checked_sub(Self::ENTER)?;
        let activity = number - u16::from(immediate > Self::LEAVE);
        guest.get(activity as usize).map(|&activity| Marker::Enter(activity))
    }
}

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

    #[test]
    fn activities_are_numbered_around_the_marker_that_leaves_one() {
        assert_eq!(Marker::decode(0x4ef), Some(Marker::Enter(Activity::FreeBuffer)));
        assert_eq!(Marker::decode(0x4f0), Some(Marker::Leave));
        assert_eq!(Marker::decode(0x4f1), Some(Marker::Enter(Activity::Release)));
    }

    #[test]
    fn each_wait_for_a_resource_has_a_category_of_its_own() {
        let all: Vec<Spent> = (0..Spent::COUNT).map(Spent::of_index).collect();
        assert!(all.iter().map(|spent| spent.index()).eq(0..Spent::COUNT));
        assert_eq!(Spent::name(Occupation::Uncached.index()), "uncached access");
        let wait = Spent { occupation: Occupation::StoreBuffer, resource: Some(Resource::Retry) };
        assert_eq!((wait.index() + 1, &*Spent::name(wait.index())), (Spent::COUNT, "store buffer / retry"));
    }

    #[test]
    fn other_hints_and_exited_are_no_markers() {
        assert_eq!(Marker::decode(0x4f2), None);
        assert_eq!(Marker::decode(0x123), None);
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
