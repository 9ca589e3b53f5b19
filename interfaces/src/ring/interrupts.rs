//! When an interface with descriptor rings interrupts its driver.
//!
//! ```text
//!   driver:    polls, finds nothing ─► enables ─► looks again ─► waits ─► polls
//!   interface:                            │  a descriptor is written back,
//!                                         └─ and moderation allows it ─► message, and is disabled
//! ```
//!
//! The driver enables the interrupt by a store to a register; a message disables it, so that a driver
//! that polls is not interrupted (auto-mask and auto-clear of the Intel 82599 10 GbE Controller
//! Datasheet, Section 7.3.1). Only descriptors that are written back while it is enabled count: an edge,
//! no level. A descriptor that was written back between the driver's last poll and its store announces
//! nothing, so the driver looks again. As its store is posted, it has to read the register first:
//! otherwise it looks while the store is under way.
//!
//! Moderation (Section 7.3.2): a message leaves a time after the one before at the earliest, or as soon
//! as a number of packets are there. After a pause the first packet is announced at once.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::half::{Context, RegisterFault};
use crate::programming::Register;

/// The register of the receive ring's interrupt.
pub const INTERRUPT_REGISTERS: [Register; 1] = [(
    "RECEIVE_RING_INTERRUPT",
    0xe8,
    "store: 1 enables one interrupt, 0 disables it; load: the same, and 2 where the machine has it",
)];
/// What the driver stores to enable it, and loads if it is enabled.
pub const ENABLED: u64 = 1;
/// What the driver loads where there is one.
pub const PRESENT: u64 = 2;

/// How an interrupt is held back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Moderation {
    /// The least time from one message to the next.
    pub time: Duration,
    /// With so many packets it does not wait for that time.
    pub packets: u64,
}

/// The interrupt of a receive ring.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub struct RingInterrupt {
    /// None where the driver polls always.
    moderation: Option<Moderation>,
    is_enabled: bool,
    /// Packets whose descriptors were written back while it was enabled.
    packets: u64,
    /// When the next message may leave without so many packets.
    free_at: Time,
    /// The message is to leave.
    is_due: bool,
}

impl RingInterrupt {
    /// One that is disabled.
    pub fn new(moderation: Option<Moderation>) -> Self {
        RingInterrupt { moderation, ..RingInterrupt::default() }
    }

    /// Whether the driver may wait for it.
    pub fn is_present(&self) -> bool {
        self.moderation.is_some()
    }

    /// Whether the driver may wait for it, but has not enabled it.
    pub fn is_masked(&self) -> bool {
        self.is_present() && !self.is_enabled
    }

    /// Whether its message is to leave.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// What the driver loads.
    pub fn load(&self) -> u64 {
        let present = if self.is_present() { PRESENT } else { 0 };
        present | u64::from(self.is_enabled)
    }

    /// The driver enables or disables it.
    ///
    /// # Errors
    /// Which values are allowed.
    pub fn store(&mut self, value: u64) -> Result<(), RegisterFault> {
        let name = INTERRUPT_REGISTERS[0].0;
        match value {
            0 | ENABLED if self.is_present() => {
                (self.is_enabled, self.packets, self.is_due) = (value == ENABLED, 0, false);
                Ok(())
            }
            0 | ENABLED => Err(RegisterFault(format!(
                "{name} is stored with {value}; the machine's driver polls (interfaces.ring.notify)"
            ))),
            _ => Err(RegisterFault(format!("{name} is stored with {value:#x}; expected 0 or {ENABLED}"))),
        }
    }

    /// Descriptors of so many packets were written back.
    pub fn written_back(&mut self, context: &mut Context<'_>, packets: u64) {
        let Some(moderation) = self.moderation.filter(|_| self.is_enabled) else { return };
        let is_first = self.packets == 0;
        self.packets += packets;
        if self.packets >= moderation.packets || self.free_at <= context.now {
            self.is_due = true;
        } else if is_first {
            context.timers.push(self.free_at);
        }
    }

    /// An instant has come that may be the one up to which a message was held back; whether it was.
    pub fn look_at_time(&mut self, now: Time) -> bool {
        let was_held = self.is_enabled && self.packets > 0 && !self.is_due && self.free_at <= now;
        self.is_due |= was_held;
        was_held
    }

    /// The message leaves.
    pub fn leave(&mut self, now: Time) {
        let time = self.moderation.expect("there is an interrupt").time;
        self.free_at = now + time;
        (self.is_enabled, self.packets, self.is_due) = (false, 0, false);
    }
}
