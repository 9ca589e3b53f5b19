//! What a processor's time is divided into: the rows and columns of the ledger.
//!
//! The guest says what it is doing by markers, instructions that take no time
//! (guest/runtime); the node knows what the processor is waiting for. At any
//! instant a processor is in one activity and one occupation; while it waits for
//! a transaction, it also waits for one [`Resource`], so that waits are booked by
//! the ledger itself and add up to its occupations.
//!
//! Activities are those of every program, and those that models of interfaces declare of their
//! firmware ([`FirmwareActivity`](narthex_interfaces::programming::FirmwareActivity)).
//!
//! | module | what it has |
//! | --- | --- |
//! | [`spent`] | occupations, and what processors wait for |
//! | [`polling`] | the activities that are open, and the time between two polls |

mod polling;
mod spent;

use narthex_interfaces::declarations::{FIRMWARE_ACTIVITIES, FIRMWARE_ACTIVITIES_BY_NUMBER};
use narthex_interfaces::programming::FirmwareActivity;
use narthex_kernel::Category;
use serde::{Deserialize, Serialize};

pub use polling::{Activities, Behind, FEW_INSTRUCTIONS};
pub use spent::{Occupation, Resource, Spent};

/// What the program is doing, as its markers say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub enum Activity {
    /// The program's own work.
    Application,
    /// Sending a message: overhead of the messaging library.
    Send,
    /// Waiting for room in the interface or the flow control.
    WaitToSend,
    /// Looking for messages and finding none.
    Poll,
    /// Taking a message in: overhead of the messaging library.
    Receive,
    /// Moving messages out of the interface into user memory.
    Buffering,
    /// Waiting for other nodes.
    Synchronisation,
    /// Fetching blocks of shared memory, and giving them away.
    SharedMemory,
    /// A phase of firmware.
    Firmware(OfFirmware),
    /// The program has ended on this node.
    Exited,
    /// No thread has the processor.
    Idle,
}

/// Which activity of firmware.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OfFirmware(u8);

impl OfFirmware {
    /// How many models declare.
    const COUNT: usize = FIRMWARE_ACTIVITIES.count_ones() as usize;

    /// The one that markers say by this number; none if no model declares it.
    fn of_number(number: u32) -> Option<OfFirmware> {
        let bit = 1u32.checked_shl(number).filter(|bit| FIRMWARE_ACTIVITIES & bit != 0)?;
        Some(OfFirmware((FIRMWARE_ACTIVITIES & (bit - 1)).count_ones() as u8))
    }
}

impl Activity {
    /// Those of every program, by the numbers by which markers say them, with their names in reports.
    const OF_PROGRAMS: [(Activity, &'static str); FirmwareActivity::FIRST_NUMBER as usize] = [
        (Activity::Application, "application"),
        (Activity::Send, "send"),
        (Activity::WaitToSend, "wait to send"),
        (Activity::Poll, "poll"),
        (Activity::Receive, "receive"),
        (Activity::Buffering, "buffering"),
        (Activity::Synchronisation, "synchronisation"),
        (Activity::SharedMemory, "shared memory"),
    ];
    const EXITED: usize = Self::OF_PROGRAMS.len() + OfFirmware::COUNT;

    /// Each of them, in the order of their indices.
    pub fn all() -> impl Iterator<Item = Activity> {
        (0..Self::COUNT).map(Activity::of_index)
    }

    /// The one with this index as a category.
    ///
    /// # Panics
    /// If none has it.
    pub fn of_index(index: usize) -> Activity {
        let further = [Activity::Exited, Activity::Idle];
        match index.checked_sub(Self::EXITED) {
            Some(index) => further[index],
            None => match index.checked_sub(Self::OF_PROGRAMS.len()) {
                Some(index) => Activity::Firmware(OfFirmware(index as u8)),
                None => Self::OF_PROGRAMS[index].0,
            },
        }
    }

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Activity::Firmware(OfFirmware(index)) => FIRMWARE_ACTIVITIES_BY_NUMBER[usize::from(index)].name,
            Activity::Exited => "exited",
            Activity::Idle => "idle",
            own => Self::OF_PROGRAMS[own.index()].1,
        }
    }
}

impl Category for Activity {
    const COUNT: usize = Self::EXITED + 2;

    #[inline]
    fn index(self) -> usize {
        match self {
            Activity::Application => 0,
            Activity::Send => 1,
            Activity::WaitToSend => 2,
            Activity::Poll => 3,
            Activity::Receive => 4,
            Activity::Buffering => 5,
            Activity::Synchronisation => 6,
            Activity::SharedMemory => 7,
            Activity::Firmware(OfFirmware(index)) => Self::OF_PROGRAMS.len() + usize::from(index),
            Activity::Exited => Self::EXITED,
            Activity::Idle => Self::EXITED + 1,
        }
    }

    fn name(index: usize) -> String {
        Activity::of_index(index).as_str().to_owned()
    }
}

impl From<Activity> for usize {
    fn from(activity: Activity) -> usize {
        activity.index()
    }
}

impl TryFrom<usize> for Activity {
    type Error = String;

    fn try_from(index: usize) -> Result<Self, String> {
        match index < Self::COUNT {
            true => Ok(Activity::of_index(index)),
            false => Err(format!("there is no activity {index}")),
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

    /// The meaning of `slti x0, x0, immediate`; none for another hint.
    pub fn decode(immediate: u16) -> Option<Marker> {
        let number = u32::from(immediate.checked_sub(Self::ENTER)?);
        if number == FirmwareActivity::LEAVE {
            return Some(Marker::Leave);
        }
        let of_programs = Activity::OF_PROGRAMS.get(number as usize).map(|&(activity, _)| activity);
        of_programs.or_else(|| OfFirmware::of_number(number).map(Activity::Firmware)).map(Marker::Enter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_are_numbered_around_the_marker_that_leaves_one() {
        let name = |immediate| match Marker::decode(immediate) {
            Some(Marker::Enter(activity)) => activity.as_str(),
            other => panic!("{other:?}"),
        };
        assert_eq!([0x4e0, 0x4e7, 0x4e8].map(name), ["application", "shared memory", "DMA set-up"]);
        assert_eq!(name(0x4ef), "free buffer");
        assert_eq!(Marker::decode(0x4f0), Some(Marker::Leave));
        assert_eq!(name(0x4f1), "release");
    }

    #[test]
    fn other_hints_are_no_markers() {
        for hint in [0x123, 0x4df, 0x4f2, 0x4ff, 0x500, 0x7ff] {
            assert_eq!(Marker::decode(hint), None);
        }
    }

    #[test]
    fn each_activity_is_read_as_it_was_written_and_no_other() {
        for activity in Activity::all() {
            let text = serde_json::to_string(&activity).unwrap();
            assert_eq!(serde_json::from_str::<Activity>(&text).unwrap(), activity);
        }
        assert_eq!(Activity::all().last().map(Activity::as_str), Some("idle"));
        assert!(serde_json::from_str::<Activity>(&Activity::COUNT.to_string()).is_err());
    }
}
