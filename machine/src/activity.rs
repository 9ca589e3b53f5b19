//! What a processor's time is divided into: the rows and columns of the ledger.
//!
//! The guest says what it is doing by markers, instructions that take no time
//! (guest/runtime); the node knows what the processor is waiting for. At any
//! instant a processor is in one activity and one occupation; while it waits for
//! a transaction, it also waits for one [`Resource`], so that waits are booked by
//! the ledger itself and add up to its occupations.

use narthex_kernel::{Category, Ledger, Time, categories};
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

/// The activities that are open, innermost last.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Activities {
    open: Vec<Activity>,
}

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

    /// Applies the marker of a hint that a program executes at `now`, and books the time from then
    /// on: the marker, if the hint is one. An error says what the program did wrong; nothing changes.
    #[inline]
    pub fn book(
        &mut self,
        ledger: &mut Ledger<(Activity, Spent)>,
        now: Time,
        hint: u16,
    ) -> Result<Option<Marker>, &'static str> {
        let Some(marker) = Marker::decode(hint) else { return Ok(None) };
        self.apply(marker)?;
        ledger.switch(now, (self.current(), Occupation::Execute.into()));
        Ok(Some(marker))
    }

    /// Applies a marker. Errors say what the program did wrong.
    fn apply(&mut self, marker: Marker) -> Result<(), &'static str> {
        match marker {
            Marker::Enter(_) if self.open.len() == Self::DEEPEST => {
                Err("more than 64 activities are open: a marker that leaves one is missing")
            }
            Marker::Enter(activity) => {
                self.open.push(activity);
                Ok(())
            }
            Marker::Leave => {
                self.open.pop().map(|_| ()).ok_or("a marker leaves an activity, but none is open")
            }
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

    #[test]
    fn leaving_what_was_never_entered_is_refused() {
        assert!(Activities::default().apply(Marker::Leave).is_err());
    }
}
