//! What a device asks of the network on chip and of its processors beside what every device
//! asks: a device with a port in each tile sends packets between them. Any device may hold an
//! access of a processor, and answer it later.
//!
//! ```text
//!   processor ── access ──► port of its tile ── packet ──► network on chip ──► another port
//!       ▲                        │
//!       └──── answer, later ─────┘
//! ```

use narthex_kernel::Duration;
use narthex_memory::BlockData;
use serde::{Deserialize, Serialize};

use crate::half::RegisterFault;

/// Where a packet comes from or goes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum End {
    /// The port of a tile.
    Tile(u16),
    /// A controller of the program's memory, by its number among those that share it.
    Controller(u16),
    /// The device's own place, that of the way off the chip.
    Gateway,
}

/// Lanes of a device's packets: one never waits for one of a lane above.
pub mod lane {
    /// Read requests, which lead to writes.
    pub const READ: u8 = 0;
    /// Writes, which lead to acknowledgements.
    pub const WRITE: u8 = 1;
    /// Acknowledgements, which are taken at any time.
    pub const ACKNOWLEDGEMENT: u8 = 2;
}

/// A packet between two places of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Packet {
    /// Where it comes from.
    pub from: End,
    /// Where it goes to.
    pub to: End,
    /// Its lane.
    pub lane: u8,
    /// Bytes that it carries behind the network's header.
    pub data_bytes: u16,
    /// By what the device knows it.
    pub content: u32,
    /// The time from its arrival to [`Device::packet`](crate::Device::packet).
    pub settles_after: Duration,
}

impl Packet {
    /// Whether the machine gets further when it leaves. What is acknowledged has been written, and so is
    /// what goes to a memory; requests and answers are those of loads, which a tile may repeat for
    /// ever.
    #[inline]
    pub fn is_progress(&self) -> bool {
        let is_written = self.lane == lane::WRITE && matches!(self.to, End::Controller(_));
        self.lane == lane::ACKNOWLEDGEMENT || is_written
    }
}

/// What happens to a line of a tile's scratchpad in the first level above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FirstLevel {
    /// It takes the line, of which its processor loads.
    Takes(BlockData),
    /// It loses the line of so many bytes, which has changed below.
    Loses(usize),
}

/// What a device asks in a verb.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Packets, and after which time each leaves.
    pub packets: Vec<(Duration, Packet)>,
    /// AgentPorts that answer the oldest access that they hold, the value, and after which time its agent
    /// has it.
    pub answers: Vec<(u16, u64, Duration)>,
    /// Blocks whose home the device is on a directory, and that go on with the request that it has held
    /// ([`SnoopReply::later`](narthex_memory::SnoopReply::later)).
    pub resumed: Vec<u64>,
    /// Tiles whose first level takes or loses a line of their scratchpad, and its address.
    pub first_level: Vec<(u16, u64, FirstLevel)>,
    /// Tiles whose second level's port is busy for so long, beside their processor's accesses.
    pub busy_ports: Vec<(u16, Duration)>,
    /// What a tile's processor did wrong, found when its access was over.
    pub faults: Vec<(u16, RegisterFault)>,
}

impl Effects {
    /// Whether nothing is asked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
            && self.answers.is_empty()
            && self.resumed.is_empty()
            && self.first_level.is_empty()
            && self.busy_ports.is_empty()
            && self.faults.is_empty()
    }
}
