//! The instruction set: one file an extension.
//!
//! To add an instruction, add a line to its extension's file: name, encoding
//! and meaning. To add an extension, add a file and its name to the list below.
//! Where two instructions match the same bits, the first one listed wins.

mod atomic;
mod cache_blocks;
mod csr;
mod double;
mod float;
mod integer;
mod internal;
mod multiply;
mod system;

use narthex_memory::Port;

use crate::decode::SHORT;
use crate::execute::{Handler, empty_table, place};
use crate::timing::Timing;

pub(crate) use csr::COUNTERS;
pub(crate) use internal::{FAR_BRANCH, FAR_JUMP, ILLEGAL, LEAVE, UNDECODED, illegal};

/// The number of the first real instruction; below are the operations that
/// stand for no instruction.
pub(crate) const FIRST_NUMBER: u16 = internal::COUNT;

macro_rules! extensions {
    ($($extension:ident),*) => {
        /// Names and encodings of all instructions.
        pub(crate) fn patterns() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
            [$($extension::PATTERNS),*].into_iter().flatten()
        }

        const ALL_PATTERNS: &[&[(&str, &str)]] = &[$($extension::PATTERNS),*];

        /// The handlers of all instructions, in both lengths.
        pub(crate) const fn handlers<P: Port, T: Timing>() -> [Handler<P, T>; 1024] {
            let mut table = empty_table::<P, T>();
            let number = place(&mut table, 0, &internal::handlers::<P, T>());
            $(let number = place(&mut table, number, &$extension::handlers::<P, T>());)*
            assert!(number <= 256);
            table
        }
    };
}

extensions!(system, integer, multiply, atomic, cache_blocks, csr, float, double);

/// The number of the instruction with this name.
pub(crate) const fn number_of(name: &str) -> u16 {
    let (mut extension, mut number) = (0, FIRST_NUMBER);
    loop {
        let mut index = 0;
        while index < ALL_PATTERNS[extension].len() {
            if is_same(ALL_PATTERNS[extension][index].0, name) {
                return number;
            }
            (index, number) = (index + 1, number + 1);
        }
        extension += 1;
    }
}

/// The kind of an instruction, which decides what a processor does that looks ahead without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only computes.
    Compute,
    Load,
    Store,
    /// A branch with a condition.
    Branch,
    Jump,
    Atomic,
    /// Anything else, internal operations included.
    Other,
}

/// The kinds of all instructions, by number.
const KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Other; 256];
    let (mut extension, mut number) = (0, FIRST_NUMBER as usize);
    while extension < ALL_PATTERNS.len() {
        let mut index = 0;
        while index < ALL_PATTERNS[extension].len() {
            kinds[number] = kind_by(ALL_PATTERNS[extension][index].1.as_bytes());
            (index, number) = (index + 1, number + 1);
        }
        extension += 1;
    }
    kinds[number_of("marker") as usize] = Kind::Other;
    kinds
};

/// The kind by the opcode, the last seven bits of an encoding.
const fn kind_by(pattern: &[u8]) -> Kind {
    let (mut opcode, mut index) = (0, pattern.len() - 7);
    while index < pattern.len() {
        opcode = opcode << 1 | (pattern[index] == b'1') as u8;
        index += 1;
    }
    match opcode {
        0b000_0011 | 0b000_0111 => Kind::Load,
        0b010_0011 | 0b010_0111 => Kind::Store,
        0b110_0011 => Kind::Branch,
        0b110_0111 | 0b110_1111 => Kind::Jump,
        0b010_1111 => Kind::Atomic,
        0b000_1111 | 0b111_0011 => Kind::Other,
        _ => Kind::Compute,
    }
}

/// The kind of the operation with this code.
pub(crate) fn kind_of(code: u16) -> Kind {
    KINDS[usize::from(code & (SHORT - 1))]
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}
