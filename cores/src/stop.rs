//! Why a processor stopped, and what is wrong when it cannot go on.

use std::fmt;

use narthex_memory::port::AccessFault;
use narthex_memory::{Tag, TagError};
use serde::{Deserialize, Serialize};

use crate::traps::Trapped;

/// Why `run` came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The local time reached the instant that was asked for.
    Horizon,
    /// An access has to wait. The same instruction is executed again by the
    /// next run, after the owner has said since when with `resume_at`.
    Wait,
    /// The next instruction needs the value of a load that is under way. It is executed
    /// by the next run, after the owner has delivered the value.
    NotReady,
    /// `ecall`: a0 to a7 hold the call, the program counter is behind it.
    SystemCall,
    /// `slti x0, x0, IMM`: a mark for the time ledger. It takes no time, is not
    /// counted as retired, and the program counter is behind it.
    Marker(u16),
    /// `wfi`: no line is asserted for which the program waits. The program counter is
    /// behind it; the owner says with `pass_until` when a line is.
    WaitForInterrupt,
    /// The instruction at the program counter cannot be executed;
    /// [`Processor::fault`](crate::Processor::fault) says why.
    Fault,
}

/// An instruction that cannot be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Where the instruction is.
    pub pc: u64,
    /// The address that was accessed; the program counter where none was.
    pub address: u64,
    /// The instruction's bits (16 of them if it is compressed), zero where
    /// they cannot be read.
    pub bits: u32,
}

/// What is wrong with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// No instruction of RV64GC, or one that user mode may not execute.
    IllegalInstruction,
    /// `ebreak`: the program stopped itself.
    Breakpoint,
    /// The instruction cannot be fetched.
    Fetch(AccessFault),
    /// A load is not allowed.
    Load(AccessFault),
    /// A store or an atomic is not allowed.
    Store(AccessFault),
    /// The tag of its block refuses an access, and no handler can take that.
    Tag {
        /// A store or an atomic; otherwise a load.
        store: bool,
        /// Where the block begins.
        block: u64,
        /// Its tag.
        tag: Tag,
        /// Why no handler can.
        why: Unhandled,
    },
    /// A device asserts this line, it is enabled, and no handler can take it.
    Interrupt(u32),
    /// A tag cannot be changed.
    TagChange(TagError),
}

impl FaultKind {
    /// The signal that Linux would send.
    pub fn signal(self) -> u64 {
        match self {
            FaultKind::IllegalInstruction => 4,
            FaultKind::Breakpoint => 5,
            FaultKind::Load(AccessFault::Misaligned | AccessFault::Device)
            | FaultKind::Store(AccessFault::Misaligned | AccessFault::Device) => 7,
            _ => 11,
        }
    }
}

/// Why no handler can take an access that a tag refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unhandled {
    /// None is installed.
    NoHandler,
    /// It is at work already, for this.
    Nested(Trapped),
}

impl fmt::Display for Unhandled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unhandled::NoHandler => f.write_str("no handler is installed (utvec is 0)"),
            Unhandled::Nested(first) => {
                write!(f, "the handler has not returned yet (uret) from {first}")
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, pc, address, bits } = *self;
        match kind {
            FaultKind::IllegalInstruction => write!(f, "illegal instruction {bits:#x} at {pc:#x}"),
            FaultKind::Breakpoint => write!(f, "breakpoint (ebreak) at {pc:#x}"),
            FaultKind::Fetch(why) => {
                write!(f, "instruction fetch from {address:#x}: {}", reason(why))
            }
            FaultKind::Load(why) => {
                write!(f, "load from {address:#x} at {pc:#x}: {}", reason(why))
            }
            FaultKind::Store(why) => {
                write!(f, "store to {address:#x} at {pc:#x}: {}", reason(why))
            }
            FaultKind::Tag { store, block, tag, why } => {
                let access = if store { "store to" } else { "load from" };
                let tag = tag.as_str();
                write!(f, "{access} {address:#x} at {pc:#x}: block {block:#x} is tagged {tag}; {why}")
            }
            FaultKind::Interrupt(line) => {
                write!(f, "interrupt of line {line} before {pc:#x}: {}", Unhandled::NoHandler)
            }
            FaultKind::TagChange(why) => write!(f, "change of the tag of {address:#x} at {pc:#x}: {why}"),
        }
    }
}

impl std::error::Error for Fault {}

fn reason(fault: AccessFault) -> &'static str {
    match fault {
        AccessFault::Unmapped => "no memory is mapped there",
        AccessFault::Protected => "the page does not allow it",
        AccessFault::Misaligned => "the address is not a multiple of the size",
        AccessFault::Device => "the device refuses this access",
        AccessFault::Tag(..) => "the access tag of its block does not allow it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_what_was_accessed_and_from_where() {
        let fault =
            Fault { kind: FaultKind::Load(AccessFault::Unmapped), pc: 0x1000, address: 0x10, bits: 0x503 };
        assert_eq!(fault.to_string(), "load from 0x10 at 0x1000: no memory is mapped there");
    }
}
