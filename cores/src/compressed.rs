//! C: each 16-bit instruction stands for one 32-bit instruction.
//!
//! The manual's tables of quadrants 0, 1 and 2, in their order; the variable
//! `h` is the halfword. Reserved encodings are no instruction; hints (such as a
//! `c.li` to x0) expand to what they say, which has no effect.

/// x1, which `c.jalr` links to.
const RA: u32 = 1;
/// x2, the base of stack-pointer-relative accesses.
const SP: u32 = 2;

const LOAD: u32 = 0x03;
const LOAD_FLOAT: u32 = 0x07;
const IMMEDIATE: u32 = 0x13;
const IMMEDIATE_WORD: u32 = 0x1b;
const STORE: u32 = 0x23;
const STORE_FLOAT: u32 = 0x27;
const REGISTER: u32 = 0x33;
const LUI: u32 = 0x37;
const REGISTER_WORD: u32 = 0x3b;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const EBREAK: u32 = 0x0010_0073;

/// The 32-bit instruction that a compressed one stands for, if it is one.
pub fn expand(halfword: u16) -> Option<u32> {
    let h = u32::from(halfword);
    match h & 3 {
        0 => quadrant_0(h),
        1 => quadrant_1(h),
        2 => quadrant_2(h),
        _ => None,
    }
}

/// Register-relative loads and stores, and addresses on the stack.
fn quadrant_0(h: u32) -> Option<u32> {
    let (rd, rs1) = (short(h, 2), short(h, 7));
    let word = bits(h, 5, 1) << 6 | bits(h, 10, 3) << 3 | bits(h, 6, 1) << 2;
    let double = bits(h, 5, 2) << 6 | bits(h, 10, 3) << 3;
    match h >> 13 {
        0b000 => {
            let offset = bits(h, 7, 4) << 6 | bits(h, 11, 2) << 4 | bits(h, 5, 1) << 3 | bits(h, 6, 1) << 2;
            (offset != 0).then(|| i_type(offset, SP, 0, rd, IMMEDIATE))
        }
        0b001 => Some(i_type(double, rs1, 3, rd, LOAD_FLOAT)),
        0b010 => Some(i_type(word, rs1, 2, rd, LOAD)),
        0b011 => Some(i_type(double, rs1, 3, rd, LOAD)),
        0b101 => Some(s_type(double, rd, rs1, 3, STORE_FLOAT)),
        0b110 => Some(s_type(word, rd, rs1, 2, STORE)),
        0b111 => Some(s_type(double, rd, rs1, 3, STORE)),
        _ => None,
    }
}

/// Arithmetic with immediates and between registers, jumps and branches.
fn quadrant_1(h: u32) -> Option<u32> {
    let rd = bits(h, 7, 5);
    let immediate = sign(bits(h, 12, 1) << 5 | bits(h, 2, 5), 6);
    match h >> 13 {
        0b000 => Some(i_type(immediate, rd, 0, rd, IMMEDIATE)),
        0b001 => (rd != 0).then(|| i_type(immediate, rd, 0, rd, IMMEDIATE_WORD)),
        0b010 => Some(i_type(immediate, 0, 0, rd, IMMEDIATE)),
        0b011 if rd == SP => add_to_stack_pointer(h),
        0b011 => (immediate != 0).then_some(immediate << 12 | rd << 7 | LUI),
        0b100 => arithmetic(h),
        0b101 => Some(j_type(jump_distance(h), 0)),
        0b110 => Some(b_type(branch_distance(h), short(h, 7), 0)),
        _ => Some(b_type(branch_distance(h), short(h, 7), 1)),
    }
}

fn add_to_stack_pointer(h: u32) -> Option<u32> {
    let immediate = bits(h, 12, 1) << 9
        | bits(h, 3, 2) << 7
        | bits(h, 5, 1) << 6
        | bits(h, 2, 1) << 5
        | bits(h, 6, 1) << 4;
    (immediate != 0).then(|| i_type(sign(immediate, 10), SP, 0, SP, IMMEDIATE))
}

/// `c.srli` to `c.addw`: the registers x8 to x15.
fn arithmetic(h: u32) -> Option<u32> {
    let (rd, rs2) = (short(h, 7), short(h, 2));
    let shift = bits(h, 12, 1) << 5 | bits(h, 2, 5);
    let subtract = 0x20 << 25;
    match (bits(h, 10, 2), bits(h, 12, 1), bits(h, 5, 2)) {
        (0b00, ..) => Some(i_type(shift, rd, 5, rd, IMMEDIATE)),
        (0b01, ..) => Some(i_type(shift | 0x400, rd, 5, rd, IMMEDIATE)),
        (0b10, ..) => Some(i_type(sign(shift, 6), rd, 7, rd, IMMEDIATE)),
        (_, 0, 0b00) => Some(r_type(rs2, rd, 0, rd, REGISTER) | subtract),
        (_, 0, 0b01) => Some(r_type(rs2, rd, 4, rd, REGISTER)),
        (_, 0, 0b10) => Some(r_type(rs2, rd, 6, rd, REGISTER)),
        (_, 0, _) => Some(r_type(rs2, rd, 7, rd, REGISTER)),
        (_, _, 0b00) => Some(r_type(rs2, rd, 0, rd, REGISTER_WORD) | subtract),
        (_, _, 0b01) => Some(r_type(rs2, rd, 0, rd, REGISTER_WORD)),
        _ => None,
    }
}

/// Accesses relative to the stack pointer, moves and register jumps.
fn quadrant_2(h: u32) -> Option<u32> {
    let (rd, rs2) = (bits(h, 7, 5), bits(h, 2, 5));
    let shift = bits(h, 12, 1) << 5 | bits(h, 2, 5);
    let load_word = bits(h, 2, 2) << 6 | bits(h, 12, 1) << 5 | bits(h, 4, 3) << 2;
    let load_double = bits(h, 2, 3) << 6 | bits(h, 12, 1) << 5 | bits(h, 5, 2) << 3;
    let store_word = bits(h, 7, 2) << 6 | bits(h, 9, 4) << 2;
    let store_double = bits(h, 7, 3) << 6 | bits(h, 10, 3) << 3;
    match h >> 13 {
        0b000 => Some(i_type(shift, rd, 1, rd, IMMEDIATE)),
        0b001 => Some(i_type(load_double, SP, 3, rd, LOAD_FLOAT)),
        0b010 => (rd != 0).then(|| i_type(load_word, SP, 2, rd, LOAD)),
        0b011 => (rd != 0).then(|| i_type(load_double, SP, 3, rd, LOAD)),
        0b100 => moves_and_jumps(bits(h, 12, 1), rd, rs2),
        0b101 => Some(s_type(store_double, rs2, SP, 3, STORE_FLOAT)),
        0b110 => Some(s_type(store_word, rs2, SP, 2, STORE)),
        _ => Some(s_type(store_double, rs2, SP, 3, STORE)),
    }
}

fn moves_and_jumps(add_or_link: u32, rd: u32, rs2: u32) -> Option<u32> {
    match (add_or_link, rd, rs2) {
        (0, 0, 0) => None,
        (0, rs1, 0) => Some(i_type(0, rs1, 0, 0, JALR)),
        (0, rd, rs2) => Some(r_type(rs2, 0, 0, rd, REGISTER)),
        (_, 0, 0) => Some(EBREAK),
        (_, rs1, 0) => Some(i_type(0, rs1, 0, RA, JALR)),
        (_, rd, rs2) => Some(r_type(rs2, rd, 0, rd, REGISTER)),
    }
}

fn jump_distance(h: u32) -> u32 {
    let distance = bits(h, 12, 1) << 11
        | bits(h, 8, 1) << 10
        | bits(h, 9, 2) << 8
        | bits(h, 6, 1) << 7
        | bits(h, 7, 1) << 6
        | bits(h, 2, 1) << 5
        | bits(h, 11, 1) << 4
        | bits(h, 3, 3) << 1;
    sign(distance, 12)
}

fn branch_distance(h: u32) -> u32 {
    let distance = bits(h, 12, 1) << 8
        | bits(h, 5, 2) << 6
        | bits(h, 2, 1) << 5
        | bits(h, 10, 2) << 3
        | bits(h, 3, 2) << 1;
    sign(distance, 9)
}

/// `width` bits of `h` from bit `low` on.
fn bits(h: u32, low: u32, width: u32) -> u32 {
    (h >> low) & ((1 << width) - 1)
}

/// One of the eight registers x8 to x15 (f8 to f15).
fn short(h: u32, low: u32) -> u32 {
    8 + bits(h, low, 3)
}

/// Sign-extends a value of `width` bits.
fn sign(value: u32, width: u32) -> u32 {
    ((value << (32 - width)) as i32 >> (32 - width)) as u32
}

fn r_type(rs2: u32, rs1: u32, function: u32, rd: u32, opcode: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | function << 12 | rd << 7 | opcode
}

fn i_type(immediate: u32, rs1: u32, function: u32, rd: u32, opcode: u32) -> u32 {
    immediate << 20 | rs1 << 15 | function << 12 | rd << 7 | opcode
}

fn s_type(immediate: u32, rs2: u32, rs1: u32, function: u32, opcode: u32) -> u32 {
    bits(immediate, 5, 7) << 25 | rs2 << 20 | rs1 << 15 | function << 12 | bits(immediate, 0, 5) << 7 | opcode
}

/// A branch that compares `rs1` with x0.
fn b_type(distance: u32, rs1: u32, function: u32) -> u32 {
    bits(distance, 12, 1) << 31
        | bits(distance, 5, 6) << 25
        | rs1 << 15
        | function << 12
        | bits(distance, 1, 4) << 8
        | bits(distance, 11, 1) << 7
        | BRANCH
}

fn j_type(distance: u32, rd: u32) -> u32 {
    bits(distance, 20, 1) << 31
        | bits(distance, 1, 10) << 21
        | bits(distance, 11, 1) << 20
        | bits(distance, 12, 8) << 12
        | rd << 7
        | JAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::encode;
    use crate::instruction::find;

    fn stands_for(halfword: u16, text: &str) {
        let expanded = expand(halfword).unwrap_or_else(|| panic!("{halfword:#x} is {text}"));
        let expected = encode(text).unwrap();
        assert_eq!(expanded, expected, "{halfword:#06x}: {expanded:#010x}, not {text}");
    }

    #[test]
    fn each_compressed_instruction_stands_for_the_long_one_of_the_manual() {
        stands_for(0x0808, "addi a0, sp, 16");
        stands_for(0x4108, "lw a0, 0(a0)");
        stands_for(0x6510, "ld a2, 8(a0)");
        stands_for(0x2510, "fld fa2, 8(a0)");
        stands_for(0xc10c, "sw a1, 0(a0)");
        stands_for(0xe50c, "sd a1, 8(a0)");
        stands_for(0xa50c, "fsd fa1, 8(a0)");
        stands_for(0x0001, "addi zero, zero, 0");
        stands_for(0x157d, "addi a0, a0, -1");
        stands_for(0x2505, "addiw a0, a0, 1");
        stands_for(0x4505, "addi a0, zero, 1");
        stands_for(0x7139, "addi sp, sp, -64");
        stands_for(0x6505, "lui a0, 1");
        stands_for(0x8105, "srli a0, a0, 1");
        stands_for(0x8505, "srai a0, a0, 1");
        stands_for(0x8905, "andi a0, a0, 1");
        stands_for(0x8d0d, "sub a0, a0, a1");
        stands_for(0x8d2d, "xor a0, a0, a1");
        stands_for(0x8d4d, "or a0, a0, a1");
        stands_for(0x8d6d, "and a0, a0, a1");
        stands_for(0x9d0d, "subw a0, a0, a1");
        stands_for(0x9d2d, "addw a0, a0, a1");
        stands_for(0xbffd, "jal zero, -2");
        stands_for(0xdd7d, "beq a0, zero, -2");
        stands_for(0xfd7d, "bne a0, zero, -2");
        stands_for(0x0506, "slli a0, a0, 1");
        stands_for(0x4502, "lw a0, 0(sp)");
        stands_for(0x6522, "ld a0, 8(sp)");
        stands_for(0x2522, "fld fa0, 8(sp)");
        stands_for(0x8082, "jalr zero, 0(ra)");
        stands_for(0x852e, "add a0, zero, a1");
        stands_for(0x9002, "ebreak");
        stands_for(0x9502, "jalr ra, 0(a0)");
        stands_for(0x952e, "add a0, a0, a1");
        stands_for(0xc02a, "sw a0, 0(sp)");
        stands_for(0xe42a, "sd a0, 8(sp)");
        stands_for(0xa42a, "fsd fa0, 8(sp)");
    }

    #[test]
    fn reserved_encodings_are_no_instructions() {
        for reserved in [0x0000, 0x8000, 0x2001, 0x6101, 0x6081, 0x4002, 0x6002, 0x8002, 0x9c41] {
            assert_eq!(expand(reserved), None, "{reserved:#06x}");
        }
    }

    #[test]
    fn every_expansion_is_an_instruction() {
        for halfword in 0..=u16::MAX {
            if let Some(bits) = expand(halfword) {
                assert!(find(bits).is_some(), "{halfword:#06x} expands to {bits:#010x}");
            }
        }
    }
}
