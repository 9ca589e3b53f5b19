//! Traps: a program handles the accesses that its tags refuse, and firmware the
//! interrupts of its devices. One set of registers serves both.
//!
//! ```text
//!   load  ──► refused by its block's tag
//!                │ fault_cycles                     handler (at utvec)
//!                └─────────────────────────────────► gets the block, sets its tag
//!   load again ◄──────────────────────────────────── uret
//!
//!   line  ──► asserted by a device, and enabled
//!                │ interrupt_cycles                 handler (at utvec)
//!                └─────────────────────────────────► serves the device, whose line falls
//!   next instruction ◄────────────────────────────── uret
//! ```
//!
//! The registers are those of RISC-V's extension "N" for user-level interrupts:
//! where the program goes on (`uepc`), why the handler was called (`ucause`), and
//! for a refused access its address (`utval`: where it lies in two blocks, the
//! first byte in the block that refuses).
//!
//! | `ucause` | |
//! | --- | --- |
//! | 5, 7 | a load was refused; a store or an atomic was |
//! | 2^63 + 16 + line | a device asserts this line; causes from 16 on are a platform's own |
//!
//! **Enabling.** `ustatus` has bit 0 (UIE: interrupts are enabled) and bit 4 (UPIE: they
//! were before the trap). A trap moves the first into the second and clears it;
//! `uret` moves it back. `uie` and `uip` have bit 16 + line for each line: enabled,
//! and asserted now. `uip` follows the lines and cannot be written. Of several lines
//! the one with the lowest number is handled first.
//!
//! **Nesting.** There is one handler, no mode and no stack of traps. A handler that has
//! saved the registers may set UIE itself, and then another interrupt comes in between.
//! Before that, and before `uret`, a refused access is a mistake of the handler, which
//! sets the tag of a block before it touches it.
//!
//! The processor's loop takes a trap, outside of the threaded handlers, so
//! that instructions know nothing of it.

use std::fmt;

use narthex_memory::port::AccessFault;
use serde::{Deserialize, Serialize};

use crate::stop::{Fault, FaultKind, Unhandled};

/// Lines that a processor can have: as many bits as its registers have for them.
pub const INTERRUPT_LINES: u32 = 48;

/// The cause of line 0, and its place in `uie` and `uip`.
const FIRST_LINE: u32 = 16;
/// What the cause of an interrupt has, and that of a refused access lacks.
const INTERRUPT: u64 = 1 << 63;
/// UIE in `ustatus`.
const ENABLED: u64 = 1;
/// UPIE in `ustatus`.
const WAS_ENABLED: u64 = 1 << 4;

/// What a handler was called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trapped {
    /// An access to this address was refused.
    Access(u64),
    /// A device asserts this line.
    Interrupt(u32),
}

impl fmt::Display for Trapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trapped::Access(address) => write!(f, "the access to {address:#x}"),
            Trapped::Interrupt(line) => write!(f, "the interrupt of line {line}"),
        }
    }
}

/// The registers of user-level traps.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct TrapRegisters {
    /// Where the handler is; zero: there is none.
    pub utvec: u64,
    /// For the handler's use.
    pub uscratch: u64,
    /// Where the program goes on.
    pub uepc: u64,
    /// Why the handler was called.
    pub ucause: u64,
    /// The address that was refused.
    pub utval: u64,
    /// Lines that the program enables.
    enabled_lines: u64,
    /// Lines that devices assert.
    asserted_lines: u64,
    is_enabled: bool,
    was_enabled: bool,
    /// Whether two registers were the network's when the trap was taken.
    pub was_mapped: bool,
    /// What the handler is at work for, while the registers tell of it.
    handling: Option<Trapped>,
}

impl TrapRegisters {
    /// `ustatus`.
    pub fn ustatus(&self) -> u64 {
        u64::from(self.is_enabled) * ENABLED + u64::from(self.was_enabled) * WAS_ENABLED
    }

    /// Writes `ustatus`. Who enables interrupts needs the registers no more.
    pub fn set_ustatus(&mut self, value: u64) {
        self.is_enabled = value & ENABLED != 0;
        self.was_enabled = value & WAS_ENABLED != 0;
        self.handling = self.handling.filter(|_| !self.is_enabled);
    }

    /// `uie`.
    pub fn uie(&self) -> u64 {
        self.enabled_lines << FIRST_LINE
    }

    /// Writes `uie`.
    pub fn set_uie(&mut self, value: u64) {
        self.enabled_lines = value >> FIRST_LINE;
    }

    /// `uip`.
    pub fn uip(&self) -> u64 {
        self.asserted_lines << FIRST_LINE
    }

    /// Devices assert these lines now, and no others.
    pub fn assert_lines(&mut self, lines: u64) {
        self.asserted_lines = lines;
    }

    /// The lines that are asserted.
    pub fn asserted_lines(&self) -> u64 {
        self.asserted_lines
    }

    /// Whether a line is asserted for which the program would be called, or for which it
    /// waits: whether interrupts are enabled does not matter for waiting.
    pub fn has_awaited(&self) -> bool {
        self.asserted_lines & self.enabled_lines != 0
    }

    /// Whether an interrupt is to be taken.
    pub fn is_due(&self) -> bool {
        self.is_enabled && self.has_awaited()
    }

    /// Takes the trap for an access that the instruction at `pc` made; otherwise
    /// the fault as it ends the run. Faults of other kinds are not taken.
    pub fn take(&mut self, fault: Fault, pc: u64) -> Result<(), Fault> {
        let (store, ucause, block, tag) = match fault.kind {
            FaultKind::Load(AccessFault::Tag(block, tag)) => (false, 5, block, tag),
            FaultKind::Store(AccessFault::Tag(block, tag)) => (true, 7, block, tag),
            _ => return Err(fault),
        };
        let address = fault.address.max(block);
        let unhandled = match self.handling {
            Some(first) => Some(Unhandled::Nested(first)),
            None => (self.utvec == 0).then_some(Unhandled::NoHandler),
        };
        if let Some(why) = unhandled {
            return Err(Fault { kind: FaultKind::Tag { store, block, tag, why }, address, ..fault });
        }
        self.enter(pc, ucause, address, Trapped::Access(address));
        Ok(())
    }

    /// Takes the interrupt that is due, before the instruction at `pc`; otherwise the
    /// line that no handler serves.
    pub fn take_interrupt(&mut self, pc: u64) -> Result<(), u32> {
        let line = (self.asserted_lines & self.enabled_lines).trailing_zeros();
        if self.utvec == 0 {
            return Err(line);
        }
        self.enter(pc, INTERRUPT + u64::from(FIRST_LINE + line), 0, Trapped::Interrupt(line));
        Ok(())
    }

    fn enter(&mut self, pc: u64, cause: u64, value: u64, handling: Trapped) {
        (self.uepc, self.ucause, self.utval) = (pc, cause, value);
        (self.was_enabled, self.is_enabled) = (self.is_enabled, false);
        self.handling = Some(handling);
    }

    /// The handler returns: where to.
    pub fn leave(&mut self) -> u64 {
        self.handling = None;
        (self.is_enabled, self.was_enabled) = (self.was_enabled, true);
        self.uepc
    }
}
