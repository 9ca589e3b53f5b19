//! From the bits of an instruction to the operation that is executed.
//!
//! Decoding happens once for each halfword of code, so it looks instructions up
//! in a table; see [`instruction`](crate::instruction). A compressed
//! instruction is expanded to the 32-bit instruction that it stands for, and
//! executed by that one's handler for two bytes.

use std::ops::Range;

use crate::compressed;
use crate::extensions::{FAR_BRANCH, FAR_JUMP, ILLEGAL, LEAVE};
use crate::instruction::{Immediate, Instruction, find};
use crate::network_registers;
use crate::operation::Operation;

/// Added to the number of a handler for the 32-bit form of an instruction.
pub(crate) const LONG: u16 = 0;
/// Added to the number of a handler for the compressed form.
pub(crate) const SHORT: u16 = 256;
/// Added to a handler's number where the instruction enters another line of the
/// instruction cache.
pub(crate) const ENTERS_LINE: u16 = 512;

/// Decodes the instruction at `pc` whose bits (the upper half is ignored if it
/// is compressed) are `bits`. `block` are the addresses of the block that the
/// operation will be part of, and lines have `line_bytes`.
pub(crate) fn decode(bits: u32, pc: u64, block: &Range<u64>, line_bytes: u64) -> Operation {
    decode_as(bits, pc, block, line_bytes, |_, operation| operation)
}

/// The same while two registers are the network's.
pub(crate) fn decode_mapped(bits: u32, pc: u64, block: &Range<u64>, line_bytes: u64) -> Operation {
    decode_as(bits, pc, block, line_bytes, network_registers::mapped)
}

/// The same, where `meaning` says what an instruction's ordinary operation becomes.
fn decode_as(
    bits: u32,
    pc: u64,
    block: &Range<u64>,
    line_bytes: u64,
    meaning: fn(&Instruction, Operation) -> Operation,
) -> Operation {
    let compressed = bits & 3 != 3;
    let long = if compressed { compressed::expand(bits as u16) } else { Some(bits) };
    let mut operation = match long.and_then(|bits| find(bits).map(|found| (found, bits))) {
        Some((instruction, bits)) => meaning(instruction, operation(instruction, bits, pc, block)),
        None => Operation::bare(ILLEGAL),
    };
    operation.code += if compressed { SHORT } else { LONG };
    let length = if compressed { 2 } else { 4 };
    if operation.code != LEAVE && enters_line(pc, length, line_bytes) {
        operation.code += ENTERS_LINE;
    }
    operation
}

/// Whether an instruction that is reached in a straight line is the first to
/// need its line of the instruction cache.
fn enters_line(pc: u64, length: u64, line_bytes: u64) -> bool {
    let offset = pc % line_bytes;
    offset == 0 || offset + length > line_bytes
}

fn operation(instruction: &Instruction, bits: u32, pc: u64, block: &Range<u64>) -> Operation {
    let mut operation = Operation {
        code: instruction.number,
        rd: instruction.destination(bits),
        rs1: Instruction::source(instruction.rs1, bits, 15),
        rs2: Instruction::source(instruction.rs2, bits, 20),
        rs3: Instruction::source(instruction.rs3, bits, 27),
        rm: (bits >> 12 & 7) as u8,
        immediate: instruction.immediate_of(bits),
    };
    if instruction.unsigned_rs1 {
        operation.rs3 = (bits >> 15 & 31) as u8;
    }
    match instruction.immediate {
        Immediate::B => relative(&mut operation, FAR_BRANCH, pc, block),
        Immediate::J => relative(&mut operation, FAR_JUMP, pc, block),
        Immediate::U if instruction.name == "auipc" => {
            operation.immediate = operation.immediate.wrapping_add_unsigned(pc);
        }
        _ if instruction.rounds && matches!(operation.rm, 5 | 6) => {
            operation = Operation::bare(ILLEGAL);
        }
        _ => {}
    }
    operation
}

/// Turns a distance in bytes of code into one in bytes of operations, or the
/// branch into a far one if its target is outside the block.
fn relative(operation: &mut Operation, far: u16, pc: u64, block: &Range<u64>) {
    let target = pc.wrapping_add_signed(operation.immediate);
    if block.contains(&target) {
        operation.immediate *= 8;
    } else {
        operation.code = far;
        operation.immediate = target as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn any_bits_decode_without_a_panic(bits: u32, halfword in 0..0x800u64) {
            let pc = 0x1000 + 2 * halfword;
            let operation = decode(bits, pc, &(0x1000..0x2000), 64);
            prop_assert!(operation.code < 1024);
        }

        #[test]
        fn a_compressed_instruction_decodes_as_the_one_it_stands_for(halfword: u16) {
            if let Some(bits) = compressed::expand(halfword) {
                let block = 0..0x10_0000;
                let short = decode(halfword.into(), 0x8_0010, &block, 64);
                let long = decode(bits, 0x8_0010, &block, 64);
                prop_assert_eq!(short, Operation { code: long.code + SHORT, ..long });
            }
        }
    }

    #[test]
    fn a_branch_out_of_the_block_becomes_a_far_one() {
        let jump_4k = 0x0000_106f;
        let inside = decode(jump_4k, 0x1004, &(0x1000..0x4000), 64);
        assert_eq!(inside.immediate, 4096 * 8);
        let outside = decode(jump_4k, 0x1004, &(0x1000..0x2000), 64);
        assert_eq!((outside.code, outside.immediate), (FAR_JUMP, 0x2004));
    }

    #[test]
    fn an_instruction_that_straddles_two_lines_enters_the_second() {
        assert!(enters_line(0x1000, 4, 64));
        assert!(!enters_line(0x1002, 4, 64));
        assert!(enters_line(0x103e, 4, 64));
        assert!(!enters_line(0x103e, 2, 64));
        assert!(!enters_line(0x1020, 4, 64));
        assert!(enters_line(0x1020, 4, 32));
        assert!(enters_line(0x101e, 4, 32));
    }
}
