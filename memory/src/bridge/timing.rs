//! What a transaction that crosses the bridge takes on each bus.
//!
//! ```text
//!                 memory bus                       I/O bus
//!   read          address, bridge │ │ last data    │ all of its own, device │
//!   write         all of its own, bridge           all of its own, device
//!   invalidation  all of its own                   all of its own
//!
//!   device reads  all of its own, supplier         address │ supplier │ data
//! ```
//!
//! A processor's read holds both buses. The block's data flow through the
//! bridge as they come, so that of the two buses' data cycles only the slower
//! one's count, and the last of the faster. A write and an invalidation are
//! whole on one bus, then on the other. A device's read of a block that the
//! memory bus's side supplies has its address on both buses at once.
//!
//! Cycles of a bus are its own; the time of the agent or memory that answers is rounded up to
//! whole cycles of the bus that it is on. Transactions begin at an edge of the
//! memory bus, whose clock the bridge has, on the I/O bus too: nothing is lost
//! between the two clocks.

use narthex_kernel::quantity::{Bytes, Frequency};
use narthex_kernel::{Clock, Duration, Time};

use crate::bus::{self, Phases};
use crate::kind::Kind;
use crate::transaction::Transaction;

use super::Config;

/// The times of both buses and of the bridge between them.
#[derive(Clone, Debug)]
pub struct Timing {
    memory: Side,
    io: Side,
    access_time: Duration,
}

/// One of the buses.
#[derive(Clone, Debug)]
struct Side {
    clock: Clock,
    /// Bytes that cross in one data cycle; none if the bytes of a transaction take no time of their own.
    width: Option<u64>,
    phases: [Phases; Kind::ALL.len()],
}

impl Side {
    fn new((clock, width): (Frequency, Bytes), phases: impl Fn(Kind) -> Phases) -> Self {
        Side { clock: clock.clock(), width: Some(width.as_u64()), phases: Kind::ALL.map(phases) }
    }

    /// One on which the bridge takes no time: its messages do, on their way to it.
    fn of_messages(clock: Clock) -> Self {
        Side { clock, width: None, phases: Kind::ALL.map(|_| Phases::NONE) }
    }

    /// Those of a transaction, which may say how many bytes it moves.
    fn phases_of(&self, transaction: &Transaction) -> Phases {
        self.phases(transaction.kind).of(transaction, self.width)
    }

    fn phases(&self, kind: Kind) -> Phases {
        self.phases[kind.index()]
    }

    fn cycles(&self, cycles: u64) -> Duration {
        self.clock.cycles(cycles)
    }

    /// Arbitration and address.
    fn address(&self, kind: Kind) -> Duration {
        let phases = self.phases(kind);
        self.cycles(phases.arbitration + phases.address)
    }

    fn total(&self, kind: Kind) -> Duration {
        self.cycles(self.phases(kind).total())
    }

    fn total_of(&self, transaction: &Transaction) -> Duration {
        self.cycles(self.phases_of(transaction).total())
    }

    /// A component's time in whole cycles.
    fn whole(&self, time: Duration) -> Duration {
        self.cycles(self.clock.cycles_that_cover(time))
    }
}

/// Who answers a device's read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answerer {
    /// A cache or the memory on the memory bus, after this time.
    OnMemoryBus(Duration),
    /// A device on the I/O bus, after this time.
    OnIoBus(Duration),
}

impl Timing {
    /// The times between a memory bus and an I/O bus.
    pub fn new(memory: &bus::Config, io: &Config, block_bytes: usize) -> Self {
        let memory = Side::new((memory.clock, memory.width), |kind| memory.phases(kind, block_bytes));
        let io_side = Side::new((io.clock, io.width), |kind| io.phases(kind, block_bytes));
        Self::between(memory, io_side, io)
    }

    /// Those behind an interconnect that carries messages, whose transactions begin at the edges of this
    /// clock.
    pub fn behind_messages(clock: Clock, io: &Config, block_bytes: usize) -> Self {
        let io_side = Side::new((io.clock, io.width), |kind| io.phases(kind, block_bytes));
        Self::between(Side::of_messages(clock), io_side, io)
    }

    fn between(memory: Side, io: Side, config: &Config) -> Self {
        let access_time = memory.whole(config.bridge_access_time);
        Timing { memory, io, access_time }
    }

    /// The clock at whose edges transactions begin, on both buses.
    pub fn clock(&self) -> Clock {
        self.memory.clock
    }

    /// The clock of the I/O bus, in which its occupancy is counted.
    pub fn io_clock(&self) -> Clock {
        self.io.clock
    }

    /// From a read's beginning until the bridge asks for the I/O bus.
    pub fn until_read_crosses(&self, kind: Kind) -> Duration {
        self.memory.address(kind) + self.access_time
    }

    /// From a read's data at the bridge to its end on the memory bus.
    pub fn answer(&self, transaction: &Transaction) -> Duration {
        let phases = self.memory.phases_of(transaction);
        self.memory.cycles(phases.extra + phases.data.min(1))
    }

    /// What a transaction that the bridge buffers takes on the memory bus.
    pub fn posting(&self, transaction: &Transaction) -> Duration {
        let bridge = if transaction.kind.is_address_only() { Duration::ZERO } else { self.access_time };
        self.memory.total_of(transaction) + bridge
    }

    /// What a transaction takes on the I/O bus; `device` answers it.
    pub fn on_io(&self, transaction: &Transaction, device: Duration) -> Duration {
        self.io.total_of(transaction) + self.io.whole(device)
    }

    /// How long a transaction that the bridge refuses takes on the I/O bus.
    pub fn refusal(&self, kind: Kind) -> Duration {
        self.io.address(kind)
    }

    /// When a device's read is over on the I/O bus, which it has since `io`, if the interconnect above has
    /// answered it at `answered`.
    pub fn end_of_read(&self, kind: Kind, answered: Time, io: Time) -> Time {
        let phases = self.io.phases(kind);
        answered.max(io + self.io.address(kind)) + self.io.cycles(phases.extra + phases.data)
    }

    /// When a device's read is over on the memory bus, and when on the I/O bus.
    /// It has the one since `memory`, the other since `io`.
    pub fn device_read(&self, kind: Kind, memory: Time, io: Time, answerer: Answerer) -> (Time, Time) {
        let addressed = (memory + self.memory.address(kind)).max(io + self.io.address(kind));
        let phases = self.io.phases(kind);
        let data = self.io.cycles(phases.extra + phases.data);
        match answerer {
            Answerer::OnMemoryBus(delay) => {
                let delay = self.memory.whole(delay);
                (memory + self.memory.total(kind) + delay, addressed + delay + data)
            }
            // On the memory bus only the caches look for the address.
            Answerer::OnIoBus(delay) => {
                let looked_up = memory + self.memory.total(Kind::Invalidate);
                (looked_up, addressed + self.io.whole(delay) + data)
            }
        }
    }
}
