//! Why a program's file is refused, with the remedy.

use super::{DEVICE_END, DEVICE_START, SEGMENTS_LIMIT_BYTES};
use thiserror::Error;

/// Why a file cannot run, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {problem}")]
pub struct ElfError {
    /// The file's name as the user gave it.
    pub file: String,
    /// What is wrong with it.
    pub problem: ElfProblem,
}

/// Why a file cannot run, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ElfProblem {
    /// Nothing in it.
    #[error("the file is empty: build the program again")]
    Empty,
    /// Another kind of file.
    #[error(
        "not an ELF program (it begins with {first_bytes}): build one from your sources with `narthex cc`"
    )]
    NotElf {
        /// Its first bytes in hexadecimal.
        first_bytes: String,
    },
    /// The file ends before something that it announces.
    #[error("truncated: {what} would end at byte {end} but the file has {length}: copy or build it again")]
    Truncated {
        /// What is missing.
        what: String,
        /// Where it should end.
        end: u64,
        /// How long the file is.
        length: u64,
    },
    /// Built for another processor.
    #[error("built for {machine}, not for RISC-V: compile it with `narthex cc`")]
    OtherMachine {
        /// The processor's name, or its number in the file.
        machine: String,
    },
    /// Built for 32-bit RISC-V.
    #[error("a 32-bit program; the nodes' processors are 64-bit: compile it for riscv64 (`narthex cc` does)")]
    ThirtyTwoBit,
    /// Built for a big-endian processor.
    #[error(
        "a big-endian program; RISC-V processors here are little-endian: compile it for riscv64 (`narthex cc` does)"
    )]
    BigEndian,
    /// Built for RV64E, which has half of the registers.
    #[error("built for the embedded register set (RV64E): compile it with -mabi=lp64d")]
    EmbeddedRegisters,
    /// An object file, a library or a core dump.
    #[error("{kind}, not a program: {remedy}")]
    NotAProgram {
        /// What it is.
        kind: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Needs shared libraries.
    #[error("dynamically linked (it needs {needs}): link with -static")]
    Dynamic {
        /// The loader or table that it relies on.
        needs: String,
    },
    /// A static program that may be placed anywhere, or a shared library.
    #[error("position-independent, so it has no address of its own: link with -static -no-pie")]
    PositionIndependent,
    /// Nothing to load at all.
    #[error("no loadable segment: link it as a program, for example with `narthex cc`")]
    NoSegment,
    /// Nothing that may be executed.
    #[error("no executable segment: check the linker script's program headers")]
    NoExecutableSegment,
    /// The first instruction is nowhere.
    #[error(
        "the entry point {entry:#x} lies in no executable segment: define _start, or check the linker script's ENTRY"
    )]
    EntryOutside {
        /// The address in the file's header.
        entry: u64,
    },
    /// The first instruction is at an odd address.
    #[error(
        "the entry point {entry:#x} is odd; instructions begin at even addresses: check the linker script's ENTRY"
    )]
    EntryOdd {
        /// The address in the file's header.
        entry: u64,
    },
    /// A segment where none can be.
    #[error(
        "segment {index} occupies {start:#x} to {end:#x}; programs may use {lowest:#x} to {highest:#x}: change the link address (-Ttext-segment or --image-base)"
    )]
    OutOfRange {
        /// Which program header.
        index: usize,
        /// Its first address.
        start: u64,
        /// The address behind its last.
        end: u128,
        /// The lowest address allowed.
        lowest: u64,
        /// The address behind the highest allowed.
        highest: u64,
    },
    /// A segment where the devices are.
    #[error(
        "segment {index} occupies {start:#x} to {end:#x}, which overlaps the device region {DEVICE_START:#x} to {DEVICE_END:#x}: change the link address (-Ttext-segment or --image-base)"
    )]
    OverlapsDevices {
        /// Which program header.
        index: usize,
        /// Its first address.
        start: u64,
        /// The address behind its last.
        end: u64,
    },
    /// Two segments in one place.
    #[error("segments {first} and {second} overlap at {address:#x}: check the linker script")]
    OverlappingSegments {
        /// The program header of one.
        first: usize,
        /// The program header of the other.
        second: usize,
        /// Where both are.
        address: u64,
    },
    /// More memory than a node can have.
    #[error(
        "segment {index} wants {bytes} bytes of memory; all together may have {SEGMENTS_LIMIT_BYTES}: make static arrays smaller or allocate them at run time"
    )]
    TooLarge {
        /// Which program header.
        index: usize,
        /// The size it states.
        bytes: u64,
    },
    /// A file that contradicts itself.
    #[error("damaged: {what}: build the program again")]
    Damaged {
        /// The contradiction.
        what: String,
    },
}
