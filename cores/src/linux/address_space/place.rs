//! What an address is, in words for a message.

use super::STACK_BYTES;
use crate::linux::Protection;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// What a region is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Use {
    /// Segments of the program's file.
    Program,
    /// What brk has allocated.
    Heap,
    /// What mmap has allocated.
    Mapping,
    /// The stack.
    Stack,
    /// Shared memory, whose blocks have access tags.
    Shared,
    /// The page to which handlers of signals return.
    Trampoline,
    /// Memory and registers of devices, put there by the machine.
    Devices,
}

impl Use {
    /// Whether no call takes such a region away, or changes it.
    pub(super) fn stays(self) -> bool {
        matches!(self, Use::Devices | Use::Shared | Use::Trampoline)
    }

    /// How much of the memory that a program may have mapped a part of such a region takes.
    pub(super) fn memory_bytes(self, part: &Range<u64>) -> u64 {
        if self == Use::Devices { 0 } else { part.end - part.start }
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Use::Program => "the program",
            Use::Heap => "the heap",
            Use::Mapping => "an mmap region",
            Use::Stack => "the stack",
            Use::Shared => "the shared memory",
            Use::Trampoline => "the page to which signal handlers return",
            Use::Devices => "the devices",
        })
    }
}

/// What an address is, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// Mapped, for this purpose and with this protection.
    Inside(Use, Protection),
    /// In the first page, which is never mapped.
    NearNull,
    /// A little below the stack.
    BelowStack,
    /// In the device region, where this machine has no device.
    NoDevice,
    /// Not mapped, and near nothing that could explain it.
    Nowhere,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressKind::Inside(purpose, protection) => {
                write!(f, "in {purpose} ({})", permissions(*protection))
            }
            AddressKind::NearNull => f.write_str("in the first page: a null pointer?"),
            AddressKind::BelowStack => write!(
                f,
                "below the stack of {} MiB: endless recursion or a huge local array?",
                STACK_BYTES >> 20
            ),
            AddressKind::NoDevice => f.write_str("in the device region, but no device is there"),
            AddressKind::Nowhere => f.write_str("not mapped"),
        }
    }
}

fn permissions(protection: Protection) -> String {
    let names = [(protection.read, "read"), (protection.write, "write"), (protection.execute, "execute")];
    let allowed: Vec<&str> = names.iter().filter(|(allowed, _)| *allowed).map(|(_, name)| *name).collect();
    match allowed.len() {
        0 => "no access".into(),
        3 => "read, write and execute".into(),
        _ => format!("{} only", allowed.join(" and ")),
    }
}
