//! What is explained, and the run in which it happens.
//!
//! Beside messages these are transfers from tile to tile of a chip, locks that go from tile to tile,
//! and messages that a program sends by a library of the interface's own: each by a program that does
//! nothing else, over and over.

use std::fmt;
use std::ops::RangeInclusive;

use narthex_machine::config::MachineConfig;
use narthex_memory::protocols;
use serde::{Deserialize, Serialize};

use super::library::{self, Library};

/// What is explained.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A message of the messaging library.
    #[default]
    Message,
    /// A store to another tile's scratchpad.
    RemoteStore,
    /// A copy between scratchpads, whose acknowledgements a counter of the receiver counts.
    Rdma,
    /// A lock over a multiple-reader queue of tile 0.
    QueueLock,
    /// A lock of the lock box.
    LockBox,
    /// A lock in coherent memory.
    TestAndSetLock,
    /// A lock in coherent memory.
    TicketLock,
    /// A lock in coherent memory.
    McsLock,
    /// A message that a program sends by VIPL.
    Via,
    /// A message that a program sends through a queue of its own of StarT-Voyager.
    VoyagerQueue,
    /// What a program's tile does, and another one waits for.
    HandOver,
}

/// Hand-overs of a run until caches are warm.
pub const WARM_UP: usize = 16;
/// Hand-overs that are measured.
const MEASURED: usize = 64;
/// The tiles between which a lock or a transfer goes.
const TILES: usize = 2;

impl Subject {
    /// All of them.
    const ALL: [Subject; 10] = [
        Subject::Message,
        Subject::RemoteStore,
        Subject::Rdma,
        Subject::QueueLock,
        Subject::LockBox,
        Subject::TestAndSetLock,
        Subject::TicketLock,
        Subject::McsLock,
        Subject::Via,
        Subject::VoyagerQueue,
    ];

    /// Why there is none on a chip with this machine's tiles, with what would change that and
    /// what there is.
    pub fn refused_by(self, machine: &MachineConfig) -> Option<String> {
        let problem = self.lack(machine)?;
        let others = Subject::ALL.into_iter().filter(|other| other.library().is_none());
        let others = others.filter(|other| other.lack(machine).is_none());
        let others: Vec<&str> = others.map(Subject::name).collect();
        Some(match others[..] {
            [] => problem,
            _ => format!("{problem}; with the machine as it is, --of can be {}", others.join(", ")),
        })
    }

    fn lack(self, machine: &MachineConfig) -> Option<String> {
        let tiles = machine.machine.processors_per_node;
        let of_process = machine.processors_per_process();
        let protocol = &machine.data_cache.protocol;
        let is_coherent = protocols::by_name(protocol).is_some_and(protocols::Protocol::is_coherent);
        let locks =
            machine.interfaces.get("sarc").map_or(0, |section| section["locks"].as_u64().unwrap_or(0));
        let name = &machine.machine.name;
        if (tiles as usize) < TILES {
            return Some(format!(
                "one {self} goes from one tile to another, and {name} has one \
                 (machine.processors_per_node = {tiles}): set {TILES} or more"
            ));
        }
        match self {
            Subject::LockBox if locks == 0 => Some(format!(
                "{name} has no lock box (interfaces.sarc.locks = 0): take --machine sarc-prototype, or set \
                 interfaces.sarc.locks"
            )),
            Subject::TestAndSetLock | Subject::TicketLock | Subject::McsLock if !is_coherent => {
                Some(format!(
                    "the {self} is in memory that the tiles' caches keep coherent, and those of {name} keep none \
                 (data_cache.protocol = {protocol:?}): take --machine sarc-chip with \
                 --set machine.processors_per_process=16"
                ))
            }
            Subject::TestAndSetLock | Subject::TicketLock | Subject::McsLock
                if (of_process as usize) < TILES =>
            {
                Some(format!(
                    "the {self} is in memory that the tiles share, and a process of {name} has one tile \
                     (machine.processors_per_process = 1): add --set machine.processors_per_process={tiles}"
                ))
            }
            _ => None,
        }
    }

    /// What a request calls it.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Message => "message",
            Subject::RemoteStore => "remote-store",
            Subject::Rdma => "rdma",
            Subject::QueueLock => "queue-lock",
            Subject::LockBox => "lock-box",
            Subject::TestAndSetLock => "test-and-set-lock",
            Subject::TicketLock => "ticket-lock",
            Subject::McsLock => "mcs-lock",
            Subject::Via => "via",
            Subject::VoyagerQueue => "voyager-queue",
            Subject::HandOver => "hand-over",
        }
    }

    /// Whether it ends the wait of a tile and is not a message.
    pub fn is_hand_over(self) -> bool {
        self != Subject::Message && self.library().is_none()
    }

    /// Whether it goes from tile to tile by their numbers, and not from process to process.
    pub fn is_of_tiles(self) -> bool {
        self.is_hand_over()
    }

    /// The library whose calls send it, and the name under which programs open its device; none of
    /// what has markers.
    pub fn library(self) -> Option<(Library, &'static str)> {
        match self {
            Subject::Via => Some((library::VIPL, "via")),
            Subject::VoyagerQueue => Some((library::VOYAGER, "voyager")),
            _ => None,
        }
    }

    /// What a program may send by itself over an interface that it opens by this name, and what
    /// else it may; the first that a run has is explained.
    pub fn of_program(device: Option<&str>) -> &'static [Subject] {
        match device {
            Some("via") => &[Subject::Via, Subject::Message],
            Some("voyager") => &[Subject::VoyagerQueue, Subject::Message],
            Some("sarc") => &[Subject::Message, Subject::HandOver],
            _ => &[Subject::Message],
        }
    }

    /// Whether it has a size.
    pub fn has_size(self) -> bool {
        matches!(self, Subject::Message | Subject::Rdma | Subject::Via | Subject::VoyagerQueue)
    }

    /// Bytes of payload that the guest's messages can have, and of what they are a multiple.
    pub fn sizes(self) -> (RangeInclusive<u64>, u64) {
        match self {
            Subject::Via => (4..=32_768, 4),
            Subject::VoyagerQueue => (4..=88, 4),
            Subject::Rdma => (1..=65_536, 1),
            _ => (0..=65_536, 1),
        }
    }

    /// The guest that does it.
    pub fn program(self) -> &'static str {
        match self {
            Subject::Message | Subject::HandOver => "roundtrip",
            Subject::Via => "via-latency",
            Subject::VoyagerQueue => "voyager-latency",
            Subject::RemoteStore | Subject::Rdma => "sarc-remote-store",
            _ => "sarc-locks",
        }
    }

    /// The region in which that guest measures.
    pub fn region(self) -> &'static str {
        match self {
            Subject::Message | Subject::Via | Subject::VoyagerQueue => "round trips",
            Subject::RemoteStore | Subject::Rdma => "transfers",
            _ => "locks",
        }
    }

    /// The arguments of the guest of a hand-over.
    pub fn arguments(self, bytes: u64, interface: &str, to: usize) -> Vec<String> {
        let [times, tiles, other] = [WARM_UP + MEASURED, TILES, to].map(|number| number.to_string());
        let [measured, warm_up] = [MEASURED, WARM_UP].map(|number| number.to_string());
        let lock = |kind: &str| vec![kind.to_owned(), tiles.clone(), times.clone()];
        match self {
            Subject::Message | Subject::HandOver => Vec::new(),
            Subject::Via => vec![bytes.to_string(), measured, warm_up],
            Subject::VoyagerQueue => {
                let kind = queues_of(interface).unwrap_or("resident").to_owned();
                vec![kind.clone(), kind, bytes.to_string(), measured, warm_up]
            }
            Subject::RemoteStore => vec!["store".into(), other, times],
            Subject::Rdma => vec!["transfer".into(), other, times, bytes.to_string()],
            Subject::QueueLock => lock("queue"),
            Subject::LockBox => lock("box"),
            Subject::TestAndSetLock => lock("test-and-set"),
            Subject::TicketLock => lock("ticket"),
            Subject::McsLock => lock("mcs"),
        }
    }
}

/// The kind of queues of which an interface of StarT-Voyager has its name; none if it is called
/// after something else.
pub fn queues_of(interface: &str) -> Option<&'static str> {
    let kind = interface.split_once('-')?.1;
    ["resident", "nonresident", "hybrid"].into_iter().find(|known| kind.eq_ignore_ascii_case(known))
}

impl fmt::Display for Subject {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Subject::Message => "message",
            Subject::RemoteStore => "remote store",
            Subject::Rdma => "RDMA copy",
            Subject::QueueLock => "queue lock",
            Subject::LockBox => "lock of the lock box",
            Subject::TestAndSetLock => "test-and-set lock",
            Subject::TicketLock => "ticket lock",
            Subject::McsLock => "MCS lock",
            Subject::Via => "VIA message",
            Subject::VoyagerQueue => "queue message",
            Subject::HandOver => "hand-over",
        })
    }
}
