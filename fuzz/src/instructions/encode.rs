//! The instruction set of RV64GC, written down a second time.
//!
//! The simulator's own decoder is made from its own tables; these are another
//! reading of the manual, so that a wrong bit in one of them shows. An
//! instruction is its bits and its text for the reader of a failure report.

use std::fmt;

/// An instruction of two or four bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its bits; compressed if the lowest two are not both 1.
    pub bits: u32,
    /// As in a listing.
    pub text: String,
}

impl Instruction {
    /// Two or four.
    pub fn bytes(&self) -> usize {
        if self.bits & 3 == 3 { 4 } else { 2 }
    }

    /// Appends the instruction to a program's code.
    pub fn put(&self, code: &mut Vec<u8>) {
        code.extend(&self.bits.to_le_bytes()[..self.bytes()]);
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$x}  {}", self.bits, self.text, width = 2 * self.bytes())
    }
}

/// A register number.
pub type Register = u32;

/// Name, function 3, function 7 and major opcode of register-register operations.
pub const REGISTER: [(&str, u32, u32, u32); 28] = [
    ("add", 0, 0x00, 0x33),
    ("sub", 0, 0x20, 0x33),
    ("sll", 1, 0x00, 0x33),
    ("slt", 2, 0x00, 0x33),
    ("sltu", 3, 0x00, 0x33),
    ("xor", 4, 0x00, 0x33),
    ("srl", 5, 0x00, 0x33),
    ("sra", 5, 0x20, 0x33),
    ("or", 6, 0x00, 0x33),
    ("and", 7, 0x00, 0x33),
    ("addw", 0, 0x00, 0x3b),
    ("subw", 0, 0x20, 0x3b),
    ("sllw", 1, 0x00, 0x3b),
    ("srlw", 5, 0x00, 0x3b),
    ("sraw", 5, 0x20, 0x3b),
    ("mul", 0, 0x01, 0x33),
    ("mulh", 1, 0x01, 0x33),
    ("mulhsu", 2, 0x01, 0x33),
    ("mulhu", 3, 0x01, 0x33),
    ("div", 4, 0x01, 0x33),
    ("divu", 5, 0x01, 0x33),
    ("rem", 6, 0x01, 0x33),
    ("remu", 7, 0x01, 0x33),
    ("mulw", 0, 0x01, 0x3b),
    ("divw", 4, 0x01, 0x3b),
    ("divuw", 5, 0x01, 0x3b),
    ("remw", 6, 0x01, 0x3b),
    ("remuw", 7, 0x01, 0x3b),
];

/// Name, function 3 and major opcode of operations with a 12-bit immediate.
pub const IMMEDIATE: [(&str, u32, u32); 7] = [
    ("addi", 0, 0x13),
    ("slti", 2, 0x13),
    ("sltiu", 3, 0x13),
    ("xori", 4, 0x13),
    ("ori", 6, 0x13),
    ("andi", 7, 0x13),
    ("addiw", 0, 0x1b),
];

/// Name, function 3, upper immediate bits, major opcode and width of shifts.
pub const SHIFT: [(&str, u32, u32, u32, u64); 6] = [
    ("slli", 1, 0x000, 0x13, 64),
    ("srli", 5, 0x000, 0x13, 64),
    ("srai", 5, 0x400, 0x13, 64),
    ("slliw", 1, 0x000, 0x1b, 32),
    ("srliw", 5, 0x000, 0x1b, 32),
    ("sraiw", 5, 0x400, 0x1b, 32),
];

/// Name, function 3, major opcode and whether the register is a float.
pub const LOAD: [(&str, u32, u32, bool); 9] = [
    ("lb", 0, 0x03, false),
    ("lh", 1, 0x03, false),
    ("lw", 2, 0x03, false),
    ("ld", 3, 0x03, false),
    ("lbu", 4, 0x03, false),
    ("lhu", 5, 0x03, false),
    ("lwu", 6, 0x03, false),
    ("flw", 2, 0x07, true),
    ("fld", 3, 0x07, true),
];

/// Name, function 3, major opcode and whether the register is a float.
pub const STORE: [(&str, u32, u32, bool); 6] = [
    ("sb", 0, 0x23, false),
    ("sh", 1, 0x23, false),
    ("sw", 2, 0x23, false),
    ("sd", 3, 0x23, false),
    ("fsw", 2, 0x27, true),
    ("fsd", 3, 0x27, true),
];

/// Name and function 3 of conditional branches.
pub const BRANCH: [(&str, u32); 6] =
    [("beq", 0), ("bne", 1), ("blt", 4), ("bge", 5), ("bltu", 6), ("bgeu", 7)];

/// Name and function 5 of atomic operations on memory.
pub const ATOMIC: [(&str, u32); 9] = [
    ("amoadd", 0x00),
    ("amoswap", 0x01),
    ("amoxor", 0x04),
    ("amoor", 0x08),
    ("amoand", 0x0c),
    ("amomin", 0x10),
    ("amomax", 0x14),
    ("amominu", 0x18),
    ("amomaxu", 0x1c),
];

/// Load-reserved, function 5.
pub const LOAD_RESERVED: u32 = 0x02;
/// Store-conditional, function 5.
pub const STORE_CONDITIONAL: u32 = 0x03;

/// Name and function 3 of accesses to control and status registers.
pub const STATUS: [(&str, u32); 6] =
    [("csrrw", 1), ("csrrs", 2), ("csrrc", 3), ("csrrwi", 5), ("csrrsi", 6), ("csrrci", 7)];

/// What the operands of a floating-point operation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// float ← float, float; rounded.
    Rounded,
    /// float ← float; rounded.
    Root,
    /// float ← float, float; function 3 says what.
    Exact(u32),
    /// integer ← float, float; function 3 says what.
    Compare(u32),
    /// integer ← float; rounded; the second register's field says what.
    ToInteger(u32),
    /// float ← integer; rounded; the second register's field says what.
    FromInteger(u32),
    /// float ← float of the other size; the second register's field says what.
    Resize(u32),
    /// integer ← float; function 3 says what.
    Inspect(u32),
    /// float ← integer, as bits.
    Bits,
}

/// Name, function 7 of the single form and shape. The double form's
/// function 7 is one higher, and its name ends in `.d` instead of `.s`.
pub const FLOAT: [(&str, u32, Shape); 25] = [
    ("fadd", 0x00, Shape::Rounded),
    ("fsub", 0x04, Shape::Rounded),
    ("fmul", 0x08, Shape::Rounded),
    ("fdiv", 0x0c, Shape::Rounded),
    ("fsqrt", 0x2c, Shape::Root),
    ("fsgnj", 0x10, Shape::Exact(0)),
    ("fsgnjn", 0x10, Shape::Exact(1)),
    ("fsgnjx", 0x10, Shape::Exact(2)),
    ("fmin", 0x14, Shape::Exact(0)),
    ("fmax", 0x14, Shape::Exact(1)),
    ("fle", 0x50, Shape::Compare(0)),
    ("flt", 0x50, Shape::Compare(1)),
    ("feq", 0x50, Shape::Compare(2)),
    ("fcvt.w", 0x60, Shape::ToInteger(0)),
    ("fcvt.wu", 0x60, Shape::ToInteger(1)),
    ("fcvt.l", 0x60, Shape::ToInteger(2)),
    ("fcvt.lu", 0x60, Shape::ToInteger(3)),
    ("fcvt.from.w", 0x68, Shape::FromInteger(0)),
    ("fcvt.from.wu", 0x68, Shape::FromInteger(1)),
    ("fcvt.from.l", 0x68, Shape::FromInteger(2)),
    ("fcvt.from.lu", 0x68, Shape::FromInteger(3)),
    ("fcvt.resize", 0x20, Shape::Resize(1)),
    ("fclass", 0x70, Shape::Inspect(1)),
    ("fmv.to.x", 0x70, Shape::Inspect(0)),
    ("fmv.from.x", 0x78, Shape::Bits),
];

/// Name and major opcode of fused multiply-adds.
pub const FUSED: [(&str, u32); 4] = [("fmadd", 0x43), ("fmsub", 0x47), ("fnmsub", 0x4b), ("fnmadd", 0x4f)];

/// The size of a float: its letter and the low bit of function 7.
pub const SIZES: [(&str, u32); 2] = [("s", 0), ("d", 1)];

/// The names of all instructions, for a test that none is forgotten.
pub fn names() -> Vec<String> {
    const OTHERS: [&str; 8] = ["lui", "auipc", "jal", "jalr", "fence", "fence.i", "c.j", "c.beqz"];
    const COMPRESSED: [&str; 27] = [
        "c.addi4spn",
        "c.fld",
        "c.lw",
        "c.ld",
        "c.fsd",
        "c.sw",
        "c.sd",
        "c.addi",
        "c.addiw",
        "c.li",
        "c.lui",
        "c.addi16sp",
        "c.srli",
        "c.srai",
        "c.andi",
        "c.sub",
        "c.xor",
        "c.or",
        "c.and",
        "c.subw",
        "c.addw",
        "c.slli",
        "c.mv",
        "c.add",
        "c.jr",
        "c.jalr",
        "c.bnez",
    ];
    let plain = OTHERS.into_iter().chain(COMPRESSED);
    let plain = plain.chain(REGISTER.map(|entry| entry.0)).chain(IMMEDIATE.map(|entry| entry.0));
    let plain = plain.chain(SHIFT.map(|entry| entry.0)).chain(LOAD.map(|entry| entry.0));
    let plain = plain.chain(STORE.map(|entry| entry.0)).chain(BRANCH.map(|entry| entry.0));
    let plain = plain.chain(STATUS.map(|entry| entry.0)).map(str::to_owned);
    let stack = compressed::SMALL.map(|entry| format!("{}sp", entry.0));
    let atomics = ATOMIC.map(|entry| entry.0).into_iter().chain(["lr", "sc"]);
    let atomics = atomics.flat_map(|name| ["w", "d"].map(|size| format!("{name}.{size}")));
    let floats = FLOAT.map(|entry| entry.0).into_iter().chain(FUSED.map(|entry| entry.0));
    let floats = floats.flat_map(|name| SIZES.map(|size| format!("{name}.{}", size.0)));
    plain.chain(stack).chain(atomics).chain(floats).collect()
}

fn instruction(bits: u32, text: String) -> Instruction {
    Instruction { bits, text }
}

fn integer(register: Register) -> String {
    format!("x{register}")
}

fn named(float: bool, register: Register) -> String {
    format!("{}{register}", if float { 'f' } else { 'x' })
}

/// The layout with three registers: function 7, rs2, rs1, function 3, rd, opcode.
fn fields(f7: u32, rs2: u32, rs1: u32, f3: u32, rd: u32, opcode: u32) -> u32 {
    f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode
}

/// A register-register operation out of [`REGISTER`].
pub fn register(entry: (&str, u32, u32, u32), rd: Register, rs1: Register, rs2: Register) -> Instruction {
    let (name, f3, f7, opcode) = entry;
    instruction(fields(f7, rs2, rs1, f3, rd, opcode), format!("{name} x{rd}, x{rs1}, x{rs2}"))
}

/// An operation out of [`IMMEDIATE`].
pub fn immediate(entry: (&str, u32, u32), rd: Register, rs1: Register, value: i64) -> Instruction {
    let (name, f3, opcode) = entry;
    let bits = (value as u32) << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
    instruction(bits, format!("{name} x{rd}, x{rs1}, {value}"))
}

/// `addi`, of which the frame of a program mostly consists.
pub fn addi(rd: Register, rs1: Register, value: i64) -> Instruction {
    immediate(IMMEDIATE[0], rd, rs1, value)
}

/// A shift out of [`SHIFT`].
pub fn shift(entry: (&str, u32, u32, u32, u64), rd: Register, rs1: Register, distance: u64) -> Instruction {
    let (name, f3, upper, opcode, _) = entry;
    let bits = (upper | distance as u32) << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
    instruction(bits, format!("{name} x{rd}, x{rs1}, {distance}"))
}

/// `lui` (or `auipc`): `upper` goes to bits 31 to 12.
pub fn upper(program_counter: bool, rd: Register, upper: u32) -> Instruction {
    let (name, opcode) = if program_counter { ("auipc", 0x17) } else { ("lui", 0x37) };
    instruction(upper << 12 | rd << 7 | opcode, format!("{name} x{rd}, {:#x}", upper & 0xf_ffff))
}

/// A load out of [`LOAD`].
pub fn load(entry: (&str, u32, u32, bool), rd: Register, base: Register, offset: i64) -> Instruction {
    let (name, f3, opcode, float) = entry;
    let bits = (offset as u32) << 20 | base << 15 | f3 << 12 | rd << 7 | opcode;
    instruction(bits, format!("{name} {}, {offset}(x{base})", named(float, rd)))
}

/// A store out of [`STORE`].
pub fn store(entry: (&str, u32, u32, bool), rs2: Register, base: Register, offset: i64) -> Instruction {
    let (name, f3, opcode, float) = entry;
    let offset_bits = offset as u32 & 0xfff;
    let bits = fields(offset_bits >> 5, rs2, base, f3, offset_bits & 0x1f, opcode);
    instruction(bits, format!("{name} {}, {offset}(x{base})", named(float, rs2)))
}

/// A branch out of [`BRANCH`] over `distance` bytes.
pub fn branch(entry: (&str, u32), rs1: Register, rs2: Register, distance: i64) -> Instruction {
    let (name, f3) = entry;
    let d = distance as u32;
    let high = (d >> 12 & 1) << 6 | d >> 5 & 0x3f;
    let low = (d >> 1 & 0xf) << 1 | d >> 11 & 1;
    instruction(fields(high, rs2, rs1, f3, low, 0x63), format!("{name} x{rs1}, x{rs2}, {distance:+}"))
}

/// `jal` over `distance` bytes.
pub fn jump(rd: Register, distance: i64) -> Instruction {
    let d = distance as u32;
    let bits = (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 | (d >> 12 & 0xff) << 12;
    instruction(bits | rd << 7 | 0x6f, format!("jal x{rd}, {distance:+}"))
}

/// `jalr`.
pub fn jump_register(rd: Register, base: Register, offset: i64) -> Instruction {
    let bits = (offset as u32) << 20 | base << 15 | rd << 7 | 0x67;
    instruction(bits, format!("jalr x{rd}, {offset}(x{base})"))
}

/// An atomic with this function 5; `order` is the acquire and release bits.
pub fn atomic(
    name: &str,
    f5: u32,
    double: bool,
    order: u32,
    rd: Register,
    rs2: Register,
    base: Register,
) -> Instruction {
    let size = if double { "d" } else { "w" };
    let bits = fields(f5 << 2 | order, rs2, base, 2 + u32::from(double), rd, 0x2f);
    instruction(bits, format!("{name}.{size} x{rd}, x{rs2}, (x{base})"))
}

/// An access out of [`STATUS`] to a control and status register; `source` is a
/// register or, for the immediate forms, a number up to 31.
pub fn status(entry: (&str, u32), rd: Register, number: u32, source: u32) -> Instruction {
    let (name, f3) = entry;
    let operand = if f3 >= 5 { source.to_string() } else { integer(source) };
    let bits = number << 20 | source << 15 | f3 << 12 | rd << 7 | 0x73;
    instruction(bits, format!("{name} x{rd}, {number:#x}, {operand}"))
}

/// A floating-point operation out of [`FLOAT`], of a size out of [`SIZES`].
/// `rounding` is used where the operation rounds.
pub fn float(
    entry: (&str, u32, Shape),
    size: (&str, u32),
    rd: Register,
    rs1: Register,
    rs2: Register,
    rounding: u32,
) -> Instruction {
    let (name, single, shape) = entry;
    let (letter, low) = size;
    let (f3, rs2_field) = match shape {
        Shape::Rounded => (rounding, rs2),
        Shape::Root => (rounding, 0),
        Shape::Exact(function) | Shape::Compare(function) => (function, rs2),
        Shape::ToInteger(kind) | Shape::FromInteger(kind) => (rounding, kind),
        // To single from double (1), to double from single (0).
        Shape::Resize(_) => (rounding, 1 - low),
        Shape::Inspect(function) => (function, 0),
        Shape::Bits => (0, 0),
    };
    let float_target = matches!(
        shape,
        Shape::Rounded
            | Shape::Root
            | Shape::Exact(_)
            | Shape::FromInteger(_)
            | Shape::Resize(_)
            | Shape::Bits
    );
    let float_source = !matches!(shape, Shape::FromInteger(_) | Shape::Bits);
    let mut text = format!("{name}.{letter} {}, {}", named(float_target, rd), named(float_source, rs1));
    if matches!(shape, Shape::Rounded | Shape::Exact(_) | Shape::Compare(_)) {
        text += &format!(", f{rs2}");
    }
    text += &format!(", rm{f3}");
    instruction(fields(single | low, rs2_field, rs1, f3, rd, 0x53), text)
}

/// A fused multiply-add out of [`FUSED`]; `from` are its three sources.
pub fn fused(
    entry: (&str, u32),
    size: (&str, u32),
    rd: Register,
    from: [Register; 3],
    rounding: u32,
) -> Instruction {
    let (name, opcode) = entry;
    let [rs1, rs2, rs3] = from;
    let bits = fields(rs3 << 2 | size.1, rs2, rs1, rounding, rd, opcode);
    instruction(bits, format!("{name}.{} f{rd}, f{rs1}, f{rs2}, f{rs3}, rm{rounding}", size.0))
}

/// A memory fence, or an instruction fence.
pub fn fence(instructions: bool) -> Instruction {
    match instructions {
        true => instruction(0x0000_100f, "fence.i".into()),
        false => instruction(0x0ff0_000f, "fence".into()),
    }
}

/// A system call.
pub fn call() -> Instruction {
    instruction(0x0000_0073, "ecall".into())
}

pub mod compressed {
    //! The two-byte instructions. "Small" registers are x8 to x15 or f8 to f15.

    use super::{Instruction, Register, instruction};

    /// Bit `from` of `value`, moved to bit `to`.
    fn bit(value: u32, from: u32, to: u32) -> u32 {
        (value >> from & 1) << to
    }

    /// Bits `low` to `high` of `value`, moved to bit `to` and up.
    fn bits(value: u32, high: u32, low: u32, to: u32) -> u32 {
        (value >> low & ((1 << (high - low + 1)) - 1)) << to
    }

    fn small(register: Register, to: u32) -> u32 {
        assert!((8..16).contains(&register), "x{register} has no short number");
        (register - 8) << to
    }

    /// `c.addi4spn`: offset a multiple of 4, from 4 to 1020.
    pub fn add_to_stack_pointer(rd: Register, offset: u32) -> Instruction {
        let o = offset;
        let immediate = bits(o, 5, 4, 11) | bits(o, 9, 6, 7) | bit(o, 2, 6) | bit(o, 3, 5);
        instruction(immediate | small(rd, 2), format!("c.addi4spn x{rd}, {offset}"))
    }

    /// `c.addi16sp`: offset a multiple of 16, not zero, from -512 to 496.
    pub fn move_stack_pointer(offset: i64) -> Instruction {
        let o = offset as u32;
        let immediate = bit(o, 9, 12) | bit(o, 4, 6) | bit(o, 6, 5) | bits(o, 8, 7, 3) | bit(o, 5, 2);
        instruction(0x6101 | immediate, format!("c.addi16sp {offset}"))
    }

    /// Name, function 3, double and float of small loads and stores; stores
    /// have function 3 of 5 and more.
    pub const SMALL: [(&str, u32, bool, char); 6] = [
        ("c.fld", 1, true, 'f'),
        ("c.lw", 2, false, 'x'),
        ("c.ld", 3, true, 'x'),
        ("c.fsd", 5, true, 'f'),
        ("c.sw", 6, false, 'x'),
        ("c.sd", 7, true, 'x'),
    ];

    /// A load or store out of [`SMALL`] between small registers; offset below
    /// 256 (or 128 for words), a multiple of the size.
    pub fn memory(
        entry: (&str, u32, bool, char),
        register: Register,
        base: Register,
        offset: u32,
    ) -> Instruction {
        let (name, f3, double, letter) = entry;
        let o = offset;
        let low = if double { bits(o, 7, 6, 5) } else { bit(o, 2, 6) | bit(o, 6, 5) };
        let all = f3 << 13 | bits(o, 5, 3, 10) | low | small(base, 7) | small(register, 2);
        instruction(all, format!("{name} {letter}{register}, {offset}(x{base})"))
    }

    /// A load out of the first three of [`SMALL`], from the stack; offset below
    /// 512 (or 256 for words).
    pub fn stack_load(entry: (&str, u32, bool, char), rd: Register, offset: u32) -> Instruction {
        let (name, f3, double, letter) = entry;
        let o = offset;
        let low =
            if double { bits(o, 4, 3, 5) | bits(o, 8, 6, 2) } else { bits(o, 4, 2, 4) | bits(o, 7, 6, 2) };
        let all = f3 << 13 | bit(o, 5, 12) | low | rd << 7 | 2;
        instruction(all, format!("{name}sp {letter}{rd}, {offset}(sp)"))
    }

    /// A store out of the last three of [`SMALL`], to the stack; offset below
    /// 512 (or 256 for words).
    pub fn stack_store(entry: (&str, u32, bool, char), rs2: Register, offset: u32) -> Instruction {
        let (name, f3, double, letter) = entry;
        let o = offset;
        let low =
            if double { bits(o, 5, 3, 10) | bits(o, 8, 6, 7) } else { bits(o, 5, 2, 9) | bits(o, 7, 6, 7) };
        instruction(f3 << 13 | low | rs2 << 2 | 2, format!("{name}sp {letter}{rs2}, {offset}(sp)"))
    }

    /// Six signed bits and a register, in quadrant 1: `c.addi`, `c.addiw`,
    /// `c.li` and `c.lui` by function 3 of 0 to 3.
    pub fn immediate(f3: u32, rd: Register, value: i64) -> Instruction {
        let name = ["c.addi", "c.addiw", "c.li", "c.lui"][f3 as usize];
        let v = value as u32;
        let all = f3 << 13 | bit(v, 5, 12) | bits(v, 4, 0, 2) | rd << 7 | 1;
        instruction(all, format!("{name} x{rd}, {value}"))
    }

    /// `c.srli` (0), `c.srai` (1) by 1 to 63, `c.andi` (2) with six signed bits.
    pub fn small_immediate(function: u32, rd: Register, value: i64) -> Instruction {
        let name = ["c.srli", "c.srai", "c.andi"][function as usize];
        let v = value as u32;
        let all = 0x8001 | function << 10 | bit(v, 5, 12) | bits(v, 4, 0, 2) | small(rd, 7);
        instruction(all, format!("{name} x{rd}, {value}"))
    }

    /// `c.sub`, `c.xor`, `c.or`, `c.and`, `c.subw`, `c.addw` by number.
    pub fn small_register(function: u32, rd: Register, rs2: Register) -> Instruction {
        let name = ["c.sub", "c.xor", "c.or", "c.and", "c.subw", "c.addw"][function as usize];
        let all = 0x8c01 | function >> 2 << 12 | (function & 3) << 5 | small(rd, 7) | small(rs2, 2);
        instruction(all, format!("{name} x{rd}, x{rs2}"))
    }

    /// `c.slli` by 1 to 63.
    pub fn shift_left(rd: Register, distance: u32) -> Instruction {
        let all = 0x0002 | bit(distance, 5, 12) | bits(distance, 4, 0, 2) | rd << 7;
        instruction(all, format!("c.slli x{rd}, {distance}"))
    }

    /// `c.mv`, or `c.add`; the source is not x0.
    pub fn register(add: bool, rd: Register, rs2: Register) -> Instruction {
        let name = if add { "c.add" } else { "c.mv" };
        instruction(0x8002 | u32::from(add) << 12 | rd << 7 | rs2 << 2, format!("{name} x{rd}, x{rs2}"))
    }

    /// `c.nop` without a text: what jumps go over.
    pub fn filler() -> Instruction {
        instruction(0x0001, String::new())
    }

    /// `c.jr`, or `c.jalr`, which links to x1.
    pub fn jump_register(link: bool, base: Register) -> Instruction {
        let name = if link { "c.jalr" } else { "c.jr" };
        instruction(0x8002 | u32::from(link) << 12 | base << 7, format!("{name} x{base}"))
    }

    /// `c.j`.
    pub fn jump(distance: i64) -> Instruction {
        let d = distance as u32;
        let immediate = bit(d, 11, 12) | bit(d, 4, 11) | bits(d, 9, 8, 9) | bit(d, 10, 8) | bit(d, 6, 7);
        let immediate = immediate | bit(d, 7, 6) | bits(d, 3, 1, 3) | bit(d, 5, 2);
        instruction(0xa001 | immediate, format!("c.j {distance:+}"))
    }

    /// `c.beqz`, or `c.bnez`.
    pub fn branch(not_zero: bool, rs1: Register, distance: i64) -> Instruction {
        let name = if not_zero { "c.bnez" } else { "c.beqz" };
        let d = distance as u32;
        let immediate =
            bit(d, 8, 12) | bits(d, 4, 3, 10) | bits(d, 7, 6, 5) | bits(d, 2, 1, 3) | bit(d, 5, 2);
        let all = 0xc001 | u32::from(not_zero) << 13 | immediate | small(rs1, 7);
        instruction(all, format!("{name} x{rs1}, {distance:+}"))
    }
}
