//! User-level traps: a program handles the accesses that its tags refuse.
//!
//! ```text
//!   load  ──► refused by its block's tag
//!                │ fault_cycles                     handler (at utvec)
//!                └─────────────────────────────────► gets the block, sets its tag
//!   load again ◄──────────────────────────────────── uret
//! ```
//!
//! The registers are those of RISC-V's extension "N" for user-level interrupts:
//! where the instruction is (`uepc`), what it did (`ucause`: 5 a load, 7 a store
//! or an atomic), and to which address (`utval`: where it lies in two blocks, the
//! first byte in the block that refuses). There is one handler, no mode and no
//! stack of traps: a second refusal before `uret` is a mistake of the handler,
//! which sets the tag of a block before it touches it.
//!
//! The processor's loop takes the trap, outside of the threaded handlers, so
//! that instructions know nothing of it.

use narthex_memory::port::AccessFault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stop::{Fault, FaultKind, Unhandled};

/// The largest value that is believed: more is a typing error.
const MOST_CYCLES: u64 = 1_000;

/// What access tags cost a processor, in its own cycles. An access that its tag
/// allows costs nothing more than it does without tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessControl {
    /// From an access that a tag refuses to the first instruction of the handler.
    pub fault_cycles: u64,
    /// For how long the change of a tag occupies the memory port.
    pub tag_change_cycles: u64,
}

impl AccessControl {
    /// The least that is possible: one cycle each.
    pub fn simple() -> Self {
        AccessControl { fault_cycles: 1, tag_change_cycles: 1 }
    }

    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        [("fault_cycles", self.fault_cycles), ("tag_change_cycles", self.tag_change_cycles)]
            .into_iter()
            .filter(|(_, cycles)| !(1..=MOST_CYCLES).contains(cycles))
            .map(|(key, cycles)| (key, format!("{cycles} is not from 1 to {MOST_CYCLES}")))
            .collect()
    }
}

/// The registers of user-level traps.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct TrapRegisters {
    /// Where the handler is; zero: there is none.
    pub utvec: u64,
    /// For the handler's use.
    pub uscratch: u64,
    /// The instruction that was refused.
    pub uepc: u64,
    /// What it did.
    pub ucause: u64,
    /// To which address.
    pub utval: u64,
    /// The address of the refusal whose handler has not returned yet.
    handling: Option<u64>,
}

impl TrapRegisters {
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
        (self.uepc, self.ucause, self.utval) = (pc, ucause, address);
        self.handling = Some(address);
        Ok(())
    }

    /// The handler returns: where to.
    pub fn leave(&mut self) -> u64 {
        self.handling = None;
        self.uepc
    }
}
