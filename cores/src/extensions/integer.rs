//! I: the base integer instructions of RV64.

use crate::execute::{Signed, Unsigned, instructions};
use crate::timing::Class;

/// The result of a 32-bit instruction, sign-extended as all words are.
#[inline(always)]
pub(super) fn word(value: u32) -> u64 {
    value as i32 as u64
}

instructions! {
    "lui" "imm[31:12] rd 0110111" => |c| c.constant();
    "auipc" "imm[31:12] rd 0010111" => |c| c.constant();

    "jal" "imm[20|10:1|11|19:12] rd 1101111" => |c| c.jump();
    "jalr" "imm[11:0] rs1 000 rd 1100111" => |c| c.jump_to_register();
    "beq" "imm[12|10:5] rs2 rs1 000 imm[4:1|11] 1100011" => |c| c.branch(|a, b| a == b);
    "bne" "imm[12|10:5] rs2 rs1 001 imm[4:1|11] 1100011" => |c| c.branch(|a, b| a != b);
    "blt" "imm[12|10:5] rs2 rs1 100 imm[4:1|11] 1100011" =>
        |c| c.branch(|a, b| (a as i64) < b as i64);
    "bge" "imm[12|10:5] rs2 rs1 101 imm[4:1|11] 1100011" =>
        |c| c.branch(|a, b| a as i64 >= b as i64);
    "bltu" "imm[12|10:5] rs2 rs1 110 imm[4:1|11] 1100011" => |c| c.branch(|a, b| a < b);
    "bgeu" "imm[12|10:5] rs2 rs1 111 imm[4:1|11] 1100011" => |c| c.branch(|a, b| a >= b);

    "lb" "imm[11:0] rs1 000 rd 0000011" => |c| c.load::<1, Signed>();
    "lh" "imm[11:0] rs1 001 rd 0000011" => |c| c.load::<2, Signed>();
    "lw" "imm[11:0] rs1 010 rd 0000011" => |c| c.load::<4, Signed>();
    "ld" "imm[11:0] rs1 011 rd 0000011" => |c| c.load::<8, Unsigned>();
    "lbu" "imm[11:0] rs1 100 rd 0000011" => |c| c.load::<1, Unsigned>();
    "lhu" "imm[11:0] rs1 101 rd 0000011" => |c| c.load::<2, Unsigned>();
    "lwu" "imm[11:0] rs1 110 rd 0000011" => |c| c.load::<4, Unsigned>();
    "sb" "imm[11:5] rs2 rs1 000 imm[4:0] 0100011" => |c| c.store::<1>();
    "sh" "imm[11:5] rs2 rs1 001 imm[4:0] 0100011" => |c| c.store::<2>();
    "sw" "imm[11:5] rs2 rs1 010 imm[4:0] 0100011" => |c| c.store::<4>();
    "sd" "imm[11:5] rs2 rs1 011 imm[4:0] 0100011" => |c| c.store::<8>();

    "addi" "imm[11:0] rs1 000 rd 0010011" => |c| c.compute_immediate(u64::wrapping_add);
    "slti" "imm[11:0] rs1 010 rd 0010011" =>
        |c| c.compute_immediate(|a, b| ((a as i64) < b as i64).into());
    "sltiu" "imm[11:0] rs1 011 rd 0010011" => |c| c.compute_immediate(|a, b| (a < b).into());
    "xori" "imm[11:0] rs1 100 rd 0010011" => |c| c.compute_immediate(|a, b| a ^ b);
    "ori" "imm[11:0] rs1 110 rd 0010011" => |c| c.compute_immediate(|a, b| a | b);
    "andi" "imm[11:0] rs1 111 rd 0010011" => |c| c.compute_immediate(|a, b| a & b);
    "slli" "000000 shamt[5:0] rs1 001 rd 0010011" =>
        |c| c.compute_immediate(|a, b| a << (b & 63));
    "srli" "000000 shamt[5:0] rs1 101 rd 0010011" =>
        |c| c.compute_immediate(|a, b| a >> (b & 63));
    "srai" "010000 shamt[5:0] rs1 101 rd 0010011" =>
        |c| c.compute_immediate(|a, b| (a as i64 >> (b & 63)) as u64);

    "add" "0000000 rs2 rs1 000 rd 0110011" => |c| c.compute(Class::Integer, u64::wrapping_add);
    "sub" "0100000 rs2 rs1 000 rd 0110011" => |c| c.compute(Class::Integer, u64::wrapping_sub);
    "sll" "0000000 rs2 rs1 001 rd 0110011" => |c| c.compute(Class::Integer, |a, b| a << (b & 63));
    "slt" "0000000 rs2 rs1 010 rd 0110011" =>
        |c| c.compute(Class::Integer, |a, b| ((a as i64) < b as i64).into());
    "sltu" "0000000 rs2 rs1 011 rd 0110011" =>
        |c| c.compute(Class::Integer, |a, b| (a < b).into());
    "xor" "0000000 rs2 rs1 100 rd 0110011" => |c| c.compute(Class::Integer, |a, b| a ^ b);
    "srl" "0000000 rs2 rs1 101 rd 0110011" => |c| c.compute(Class::Integer, |a, b| a >> (b & 63));
    "sra" "0100000 rs2 rs1 101 rd 0110011" =>
        |c| c.compute(Class::Integer, |a, b| (a as i64 >> (b & 63)) as u64);
    "or" "0000000 rs2 rs1 110 rd 0110011" => |c| c.compute(Class::Integer, |a, b| a | b);
    "and" "0000000 rs2 rs1 111 rd 0110011" => |c| c.compute(Class::Integer, |a, b| a & b);

    "addiw" "imm[11:0] rs1 000 rd 0011011" =>
        |c| c.compute_immediate(|a, b| word(a.wrapping_add(b) as u32));
    "slliw" "0000000 shamt[4:0] rs1 001 rd 0011011" =>
        |c| c.compute_immediate(|a, b| word((a as u32) << (b & 31)));
    "srliw" "0000000 shamt[4:0] rs1 101 rd 0011011" =>
        |c| c.compute_immediate(|a, b| word(a as u32 >> (b & 31)));
    "sraiw" "0100000 shamt[4:0] rs1 101 rd 0011011" =>
        |c| c.compute_immediate(|a, b| (a as i32 >> (b & 31)) as u64);
    "addw" "0000000 rs2 rs1 000 rd 0111011" =>
        |c| c.compute(Class::Integer, |a, b| word(a.wrapping_add(b) as u32));
    "subw" "0100000 rs2 rs1 000 rd 0111011" =>
        |c| c.compute(Class::Integer, |a, b| word(a.wrapping_sub(b) as u32));
    "sllw" "0000000 rs2 rs1 001 rd 0111011" =>
        |c| c.compute(Class::Integer, |a, b| word((a as u32) << (b & 31)));
    "srlw" "0000000 rs2 rs1 101 rd 0111011" =>
        |c| c.compute(Class::Integer, |a, b| word(a as u32 >> (b & 31)));
    "sraw" "0100000 rs2 rs1 101 rd 0111011" =>
        |c| c.compute(Class::Integer, |a, b| (a as i32 >> (b & 31)) as u64);
}
