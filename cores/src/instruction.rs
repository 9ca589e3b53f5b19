//! Instructions as the RISC-V manual draws them.
//!
//! An extension declares each instruction with its name and its encoding in
//! the notation of the manual's instruction tables, from bit 31 down to bit 0:
//!
//! ```text
//! add   0000000 rs2 rs1 000 rd 0110011
//! addi  imm[11:0] rs1 000 rd 0010011
//! beq   imm[12|10:5] rs2 rs1 000 imm[4:1|11] 1100011
//! ```
//!
//! `0`, `1` are fixed bits, `-` are bits that do not matter; `rd rs1 rs2` name
//! integer registers, `fd fs1 fs2 fs3` floating-point registers, `rm` is a
//! rounding mode, `order` the bits `aq` and `rl`. From this text come the decoder, the assembler of the tests
//! and the generators of random programs, so none of them can disagree.

use std::sync::LazyLock;

use crate::extensions;
use crate::operation::{FLOAT_REGISTERS, SINK};

/// Which registers a field names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// x0 to x31.
    Integer,
    /// f0 to f31.
    Float,
}

/// How the bits of an immediate value are scattered over the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Immediate {
    /// None.
    None,
    /// Twelve bits, signed.
    I,
    /// Twelve bits, signed, around the destination's place.
    S,
    /// Thirteen bits, signed, even: a branch's distance.
    B,
    /// The upper twenty of 32 bits.
    U,
    /// Twenty-one bits, signed, even: a jump's distance.
    J,
    /// Six bits: a shift distance.
    Shift,
    /// Five bits: a shift distance for words.
    ShiftWord,
    /// Twelve bits: the number of a control and status register.
    Csr,
}

/// One instruction of the instruction set.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The manual's name.
    pub name: &'static str,
    /// The bits that are fixed.
    pub mask: u32,
    /// The values of the fixed bits.
    pub value: u32,
    /// Destination register, bits 11 to 7.
    pub rd: Option<Registers>,
    /// First source register, bits 19 to 15.
    pub rs1: Option<Registers>,
    /// Second source register, bits 24 to 20.
    pub rs2: Option<Registers>,
    /// Third source register, bits 31 to 27.
    pub rs3: Option<Registers>,
    /// Whether bits 19 to 15 are an unsigned immediate (CSR instructions).
    pub unsigned_rs1: bool,
    /// Whether bits 14 to 12 are a rounding mode.
    pub rounds: bool,
    /// Whether bits 26 and 25 are `aq` and `rl`.
    pub is_ordered: bool,
    /// The immediate value.
    pub immediate: Immediate,
    /// Its index into the tables of handlers.
    pub(crate) number: u16,
}

impl Instruction {
    /// Reads the manual's notation.
    ///
    /// # Panics
    /// If `pattern` is not of that notation: it is part of the program, and a
    /// test reads every one.
    fn parse(name: &'static str, pattern: &str, number: u16) -> Self {
        let mut instruction = Instruction {
            name,
            mask: 0,
            value: 0,
            rd: None,
            rs1: None,
            rs2: None,
            rs3: None,
            unsigned_rs1: false,
            rounds: false,
            is_ordered: false,
            immediate: Immediate::None,
            number,
        };
        let mut low = 32;
        for field in pattern.split(' ') {
            low -= instruction.field(field, low);
        }
        assert_eq!(low, 0, "{name}: {pattern} does not describe 32 bits");
        instruction
    }

    /// Takes in one field that ends below bit `high`, and returns its width.
    fn field(&mut self, field: &str, high: u32) -> u32 {
        let (width, immediate) = match field {
            "rd" => (5, self.register(|i| &mut i.rd, Registers::Integer)),
            "rs1" => (5, self.register(|i| &mut i.rs1, Registers::Integer)),
            "rs2" => (5, self.register(|i| &mut i.rs2, Registers::Integer)),
            "fd" => (5, self.register(|i| &mut i.rd, Registers::Float)),
            "fs1" => (5, self.register(|i| &mut i.rs1, Registers::Float)),
            "fs2" => (5, self.register(|i| &mut i.rs2, Registers::Float)),
            "fs3" => (5, self.register(|i| &mut i.rs3, Registers::Float)),
            "rm" => {
                self.rounds = true;
                (3, Immediate::None)
            }
            "order" => {
                self.is_ordered = true;
                (2, Immediate::None)
            }
            "zimm[4:0]" => {
                self.unsigned_rs1 = true;
                (5, Immediate::None)
            }
            "csr" => (12, Immediate::Csr),
            "shamt[5:0]" => (6, Immediate::Shift),
            "shamt[4:0]" => (5, Immediate::ShiftWord),
            "imm[11:0]" => (12, Immediate::I),
            "imm[11:5]" => (7, Immediate::S),
            "imm[4:0]" | "imm[4:1|11]" => (5, Immediate::None),
            "imm[12|10:5]" => (7, Immediate::B),
            "imm[31:12]" => (20, Immediate::U),
            "imm[20|10:1|11|19:12]" => (20, Immediate::J),
            bits => (self.fixed_bits(bits, high), Immediate::None),
        };
        if immediate != Immediate::None {
            self.immediate = immediate;
        }
        width
    }

    fn register(
        &mut self,
        operand: fn(&mut Self) -> &mut Option<Registers>,
        registers: Registers,
    ) -> Immediate {
        *operand(self) = Some(registers);
        Immediate::None
    }

    fn fixed_bits(&mut self, bits: &str, high: u32) -> u32 {
        for (place, bit) in (0..high).rev().zip(bits.chars()) {
            match bit {
                '0' => self.mask |= 1 << place,
                '1' => {
                    self.mask |= 1 << place;
                    self.value |= 1 << place;
                }
                '-' => {}
                other => panic!("{}: {other} in {bits} is no bit", self.name),
            }
        }
        bits.len() as u32
    }

    /// Whether `bits` are this instruction.
    pub fn matches(&self, bits: u32) -> bool {
        bits & self.mask == self.value
    }

    /// The immediate value in `bits`.
    pub fn immediate_of(&self, bits: u32) -> i64 {
        let signed = bits as i32;
        let field = |low: u32, width: u32| ((bits >> low) & ((1 << width) - 1)) as i32;
        let value = match self.immediate {
            Immediate::None if self.unsigned_rs1 => field(15, 5),
            Immediate::None if self.is_ordered => field(25, 2),
            Immediate::None => 0,
            Immediate::I => signed >> 20,
            Immediate::S => (signed >> 25 << 5) | field(7, 5),
            Immediate::B => (signed >> 31 << 12) | field(7, 1) << 11 | field(25, 6) << 5 | field(8, 4) << 1,
            Immediate::U => signed & !0xfff,
            Immediate::J => {
                (signed >> 31 << 20) | field(12, 8) << 12 | field(20, 1) << 11 | field(21, 10) << 1
            }
            Immediate::Shift => field(20, 6),
            Immediate::ShiftWord => field(20, 5),
            Immediate::Csr => field(20, 12),
        };
        i64::from(value)
    }

    /// The bits of `value` at the places of this instruction's immediate. What
    /// does not fit is cut off.
    pub fn place_immediate(&self, value: i64) -> u32 {
        let value = value as u32;
        let field = |low: u32, width: u32| (value >> low) & ((1 << width) - 1);
        match self.immediate {
            Immediate::None => 0,
            Immediate::I | Immediate::Csr => field(0, 12) << 20,
            Immediate::S => field(5, 7) << 25 | field(0, 5) << 7,
            Immediate::B => field(12, 1) << 31 | field(5, 6) << 25 | field(1, 4) << 8 | field(11, 1) << 7,
            Immediate::U => value & !0xfff,
            Immediate::J => field(20, 1) << 31 | field(1, 10) << 21 | field(11, 1) << 20 | field(12, 8) << 12,
            Immediate::Shift => field(0, 6) << 20,
            Immediate::ShiftWord => field(0, 5) << 20,
        }
    }

    /// The register-file index of the destination; writes to x0 go to the sink.
    pub(crate) fn destination(&self, bits: u32) -> u8 {
        let number = (bits >> 7 & 31) as u8;
        match self.rd {
            Some(Registers::Integer) if number == 0 => SINK,
            Some(Registers::Integer) => number,
            Some(Registers::Float) => FLOAT_REGISTERS + number,
            None => SINK,
        }
    }

    /// The register-file index of a source in the field that starts at `low`;
    /// x0, which is always ready, where there is none.
    pub(crate) fn source(registers: Option<Registers>, bits: u32, low: u32) -> u8 {
        let number = (bits >> low & 31) as u8;
        match registers {
            Some(Registers::Integer) => number,
            Some(Registers::Float) => FLOAT_REGISTERS + number,
            None => 0,
        }
    }
}

/// Every instruction, in order of its number.
pub fn instructions() -> &'static [Instruction] {
    &SET.all
}

/// The instruction that `bits` (32 of them) are, if they are one.
pub fn find(bits: u32) -> Option<&'static Instruction> {
    SET.by_opcode[(bits & 0x7f) as usize]
        .iter()
        .map(|&index| &SET.all[index])
        .find(|instruction| instruction.matches(bits))
}

struct InstructionSet {
    all: Vec<Instruction>,
    /// Indices by major opcode (the lowest seven bits).
    by_opcode: Vec<Vec<usize>>,
}

static SET: LazyLock<InstructionSet> = LazyLock::new(|| {
    let all: Vec<_> = (extensions::FIRST_NUMBER..)
        .zip(extensions::patterns())
        .map(|(number, &(name, pattern))| Instruction::parse(name, pattern, number))
        .collect();
    let mut by_opcode = vec![Vec::new(); 128];
    for (index, instruction) in all.iter().enumerate() {
        by_opcode[(instruction.value & 0x7f) as usize].push(index);
    }
    InstructionSet { all, by_opcode }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instruction_is_found_by_its_own_bits() {
        for instruction in instructions() {
            let found = find(instruction.value).expect(instruction.name);
            let marker = instruction.name == "slti" && found.name == "marker";
            assert!(found.name == instruction.name || marker, "{}", instruction.name);
        }
    }

    #[test]
    fn an_immediate_is_read_back_as_it_was_placed() {
        for instruction in instructions() {
            let bits = instruction.place_immediate(-2048) | instruction.value;
            let expected = match instruction.immediate {
                Immediate::None => 0,
                Immediate::I | Immediate::S | Immediate::B | Immediate::J => -2048,
                Immediate::U => -4096,
                Immediate::Shift | Immediate::ShiftWord => 0,
                Immediate::Csr => 2048,
            };
            assert_eq!(instruction.immediate_of(bits), expected, "{}", instruction.name);
        }
    }
}
