//! Instructions of random programs, out of the simulator's own tables.
//!
//! The patterns of [`narthex_cores::instruction`] say which bits are fixed and
//! which are operands, so that an instruction which is added there is drawn
//! here. A wrong bit in a pattern shows: the reference has tables of its own.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::LazyLock;

use narthex_cores::assemble::encode;
use narthex_cores::compressed::expand;
use narthex_cores::instruction::{Immediate, Instruction as Pattern, Registers, find, instructions};

/// A register number.
pub type Register = u32;

/// Major opcodes, by the manual's names.
pub mod opcode {
    #![allow(missing_docs, reason = "the manual says what they are")]
    pub const LOAD: u32 = 0x03;
    pub const LOAD_FP: u32 = 0x07;
    pub const MISC_MEM: u32 = 0x0f;
    pub const OP_IMM: u32 = 0x13;
    pub const AUIPC: u32 = 0x17;
    pub const OP_IMM_32: u32 = 0x1b;
    pub const STORE: u32 = 0x23;
    pub const STORE_FP: u32 = 0x27;
    pub const AMO: u32 = 0x2f;
    pub const OP: u32 = 0x33;
    pub const LUI: u32 = 0x37;
    pub const OP_32: u32 = 0x3b;
    pub const MADD: u32 = 0x43;
    pub const MSUB: u32 = 0x47;
    pub const NMSUB: u32 = 0x4b;
    pub const NMADD: u32 = 0x4f;
    pub const OP_FP: u32 = 0x53;
    pub const BRANCH: u32 = 0x63;
    pub const SYSTEM: u32 = 0x73;
}

/// A field of five bits, named by its lowest.
pub mod field {
    /// The destination.
    pub const RD: u32 = 7;
    /// The first source; the base of an access.
    pub const RS1: u32 = 15;
    /// The second source.
    pub const RS2: u32 = 20;
    /// The third source.
    pub const RS3: u32 = 27;
}

/// An instruction of two or four bytes; of two if the lowest two bits are not both 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u32);

impl Instruction {
    /// `c.nop`, over which jumps go.
    pub const FILLER: Self = Instruction(1);

    /// Of four bytes, as the assembler writes it.
    ///
    /// # Panics
    /// If the assembler does not know it.
    pub fn assembled(text: &str) -> Self {
        Instruction(encode(text).unwrap_or_else(|error| panic!("{text}: {error}")))
    }

    /// Two or four.
    pub fn bytes(self) -> usize {
        if self.0 & 3 == 3 { 4 } else { 2 }
    }

    /// Appends the instruction to a program's code.
    pub fn put(self, code: &mut Vec<u8>) {
        code.extend(&self.0.to_le_bytes()[..self.bytes()]);
    }

    /// The instruction of four bytes that this is or stands for, and its pattern.
    ///
    /// # Panics
    /// If it is none.
    pub fn expanded(self) -> (Self, &'static Pattern) {
        let bits = if self.bytes() == 4 { Some(self.0) } else { expand(self.0 as u16) };
        let known = bits.and_then(|bits| Some((Instruction(bits), find(bits)?)));
        known.unwrap_or_else(|| panic!("{:#x} is no instruction", self.0))
    }

    /// An instruction of two bytes that stands for this one.
    ///
    /// # Panics
    /// If there is none.
    pub fn compressed(self) -> Self {
        static SHORT: LazyLock<HashMap<u32, u16>> = LazyLock::new(|| {
            (0..=u16::MAX).rev().filter_map(|halfword| Some((expand(halfword)?, halfword))).collect()
        });
        let short = SHORT.get(&self.0);
        Instruction(u32::from(*short.unwrap_or_else(|| panic!("{self} has no short form"))))
    }

    /// The register number in a field.
    pub fn register(self, field: u32) -> Register {
        self.0 >> field & 31
    }

    /// The same instruction of four bytes with another register.
    #[must_use]
    pub fn with(self, field: u32, register: Register) -> Self {
        Instruction(self.0 & !(31 << field) | register << field)
    }

    /// The same instruction, of two or four bytes, with another immediate value.
    #[must_use]
    pub fn with_immediate(self, value: i64) -> Self {
        let (Instruction(bits), pattern) = self.expanded();
        let changed = Instruction(bits & !pattern.place_immediate(-1) | pattern.place_immediate(value));
        if self.bytes() == 4 { changed } else { changed.compressed() }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (long, pattern) = self.expanded();
        let short = if self.bytes() == 2 { "c." } else { "" };
        write!(f, "{:0width$x}  {short}{}", self.0, pattern.name, width = 2 * self.bytes())?;
        let fields = [
            (pattern.rd, field::RD),
            (pattern.rs1, field::RS1),
            (pattern.rs2, field::RS2),
            (pattern.rs3, field::RS3),
        ];
        for (registers, field) in fields {
            match registers {
                Some(Registers::Integer) => write!(f, " x{}", long.register(field))?,
                Some(Registers::Float) => write!(f, " f{}", long.register(field))?,
                None => {}
            }
        }
        if pattern.immediate != Immediate::None {
            write!(f, " {}", pattern.immediate_of(long.0))?;
        }
        if pattern.unsigned_rs1 {
            write!(f, " {}", long.register(field::RS1))?;
        }
        if pattern.rounds { write!(f, " rm{}", long.0 >> 12 & 7) } else { Ok(()) }
    }
}

/// The major opcode of a pattern.
pub fn opcode_of(pattern: &Pattern) -> u32 {
    pattern.value & 0x7f
}

/// The instructions of four bytes with one of these major opcodes, but for system
/// calls and the like, hints, which may mean something to a simulator, and operations on
/// cache blocks, which the reference's processor has not.
pub fn family(opcodes: &[u32]) -> Vec<&'static Pattern> {
    let may_stop = |pattern: &Pattern| {
        [opcode::OP_IMM, opcode::SYSTEM].contains(&opcode_of(pattern)) && pattern.rd.is_none()
    };
    let has_reference = |pattern: &Pattern| !pattern.name.starts_with("cbo.") && !may_stop(pattern);
    let all = instructions().iter();
    all.filter(|pattern| opcodes.contains(&opcode_of(pattern)) && has_reference(pattern)).collect()
}

/// The instructions of two bytes that stand for one of which `is_wanted` holds,
/// by form: all that have quadrant, function 3 and that instruction's name in common.
pub fn short_forms(is_wanted: impl Fn(Instruction, &Pattern) -> bool) -> Vec<Vec<Instruction>> {
    let mut forms = BTreeMap::<_, Vec<_>>::new();
    for halfword in (0..=u16::MAX).filter(|halfword| expand(*halfword).is_some()) {
        let short = Instruction(halfword.into());
        let (long, pattern) = short.expanded();
        if is_wanted(long, pattern) {
            forms.entry((halfword & 0xe003, pattern.name)).or_default().push(short);
        }
    }
    forms.into_values().collect()
}
