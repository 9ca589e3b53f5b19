//! Linux user mode: what a guest program finds around it.
//!
//! A guest is an ordinary statically linked RISC-V Linux program. No kernel is
//! simulated: the simulator itself plays its part, as far as C, C++ and Rust
//! runtimes need one. Read the files in the order of a program's life:
//!
//! 1. [`elf`] reads the program's file and refuses, with a remedy, what cannot run;
//! 2. [`address_space`] records what the program's memory is used for;
//! 3. [`mod@start`] puts the program, its arguments and its stack into memory;
//! 4. [`files`] are what it was given to read, and what it writes;
//! 5. [`calls`] answers its system calls ([`numbers`] names them), those of its
//!    threads too (`threads`), and runs the handlers of its `signals`, with a frame of its
//!    registers (`context`);
//! 6. [`report`] tells its author what went wrong, with [`source`] lines.
//!
//! [`plain`] puts them together for one processor without caches.
//!
//! Nothing here stores a byte of guest memory or knows a cache: all of it works
//! over [`GuestMemory`], which a plain array or a coherent memory system with
//! caches can implement. Everything is functional: it takes no simulated time
//! unless the caller charges some.

pub mod address_space;
pub mod calls;
mod context;
pub mod elf;
pub mod files;
pub mod numbers;
pub mod plain;
mod privileged;
pub mod report;
mod signals;
pub mod source;
pub mod start;
mod threads;
pub mod unwind;

pub use address_space::{AddressKind, AddressSpace, DEVICE_END, DEVICE_START, PAGE_BYTES};
pub use calls::{CallResult, Effect, NarthexCall, NewThread, OutputStream, SystemCalls, changes_nothing};
pub use context::Context;
pub use elf::{ElfError, ElfProblem, Program, Segment};
pub use files::{GivenFiles, Written};
pub use numbers::{is_firmwares, is_simulators};
pub use plain::{End, PlainProcess};
pub use report::{FaultReport, write_registers};
pub use source::{SourceFrame, SourceLine, SourceMap, readable};
pub use start::{Invocation, StartError, Started, start};

use narthex_kernel::random::Stream;
use narthex_memory::Tag;
use narthex_memory::port::AccessFault;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The memory of a node as system calls and the loader see it.
///
/// Accesses are coherent (they see what every cache holds), functional (they
/// take no simulated time) and privileged: they fail where no page is mapped,
/// but do not look at its protection. What a *guest* may do with a page is
/// checked by [`AddressSpace`] before system calls touch it on its behalf.
pub trait GuestMemory {
    /// Fills `bytes` from `address`. On a fault, `bytes` may be partly filled.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), AccessFault>;

    /// Stores `bytes` at `address`. On a fault, some may have been stored.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault>;

    /// Gives the pages of the range this protection. Pages that were mapped
    /// keep their contents; others read as zero and take up host memory only
    /// once they are touched. Address and length are whole pages.
    fn map(&mut self, address: u64, length: u64, protection: Protection);

    /// Takes the pages of the range away. Their contents are lost: mapped
    /// again, they read as zero. Address and length are whole pages.
    fn unmap(&mut self, address: u64, length: u64);

    /// Decoded instructions are forgotten, so that what is written by now is what executes: by the
    /// calling thread, or `everywhere`, by all threads of the process.
    fn forget_code(&mut self, everywhere: bool);

    /// Gives the blocks of `block_bytes` in the range, which is not mapped yet,
    /// access tags, all of them `none`. False if that cannot be: the range is not
    /// whole pages or empty, the block none that can have a tag, a part of the
    /// memory has tags already, or this memory knows no tags, as plain memory.
    fn tag(&mut self, _range: Range<u64>, _block_bytes: u64) -> bool {
        false
    }

    /// How many of the bytes from `address` on, up to `limit`, access tags let
    /// the program load from (`needed` is `Read`) or store to (`Write`).
    fn bytes_tagged(&mut self, _address: u64, limit: u64, _needed: Tag) -> u64 {
        limit
    }
}

/// What a guest may do with a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protection {
    /// Loads are allowed.
    pub read: bool,
    /// Stores are allowed.
    pub write: bool,
    /// Instructions may be fetched.
    pub execute: bool,
}

impl Protection {
    /// No access at all.
    pub const NONE: Protection = Protection { read: false, write: false, execute: false };
    /// Loads only.
    pub const READ: Protection = Protection { read: true, ..Protection::NONE };
    /// Loads and stores, the protection of data.
    pub const READ_WRITE: Protection = Protection { write: true, ..Protection::READ };
    /// Loads and instruction fetches, the protection of code.
    pub const READ_EXECUTE: Protection = Protection { execute: true, ..Protection::READ };

    /// Everything that either of the two allows.
    pub fn union(self, other: Protection) -> Protection {
        Protection {
            read: self.read || other.read,
            write: self.write || other.write,
            execute: self.execute || other.execute,
        }
    }

    /// Whether everything that `needed` asks for is allowed.
    pub fn allows(self, needed: Protection) -> bool {
        self.union(needed) == self
    }
}

/// Fills `bytes` with what a guest takes for random; the same in every run
/// with the same seed.
pub(crate) fn fill_random(stream: &mut Stream, bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&stream.next_u64().to_le_bytes()[..chunk.len()]);
    }
}

#[cfg(test)]
pub(crate) mod test_memory;
