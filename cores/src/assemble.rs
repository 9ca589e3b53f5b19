//! A small assembler for tests and benches.
//!
//! It reads the usual notation, one instruction a line, with labels
//! (`name:`), comments (`#`), ABI or plain register names, decimal or hex
//! numbers, and these pseudo-instructions: `nop`, `li`, `mv`, `not`, `neg`, `j`,
//! `jr`, `call`, `ret`, `beqz`, `bnez`, `bltz`, `bgez`. Every instruction takes
//! 32 bits. Floating-point instructions take a rounding mode as last operand
//! (`rne rtz rdn rup rmm`, else dynamic). Data are `.word NUMBER` (32 bits) and
//! `.half NUMBER` (16 bits, to place compressed instructions).
//!
//! ```
//! let code = narthex_cores::assemble::assemble(0x1000, "
//!     li   a0, 10
//! loop:
//!     addi a0, a0, -1
//!     bnez a0, loop
//!     ecall
//! ").unwrap();
//! assert_eq!(code.len(), 16);
//! ```

use std::collections::HashMap;

use crate::instruction::{Immediate, Instruction, Registers, instructions};

/// A line that is no instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct AssembleError {
    /// The line's number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// The names of the integer registers in the calling convention.
pub(crate) const INTEGER_NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6",
    "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];
/// The names of the floating-point registers in the calling convention.
pub(crate) const FLOAT_NAMES: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4",
    "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8",
    "ft9", "ft10", "ft11",
];

/// Assembles a program for the address `base`.
pub fn assemble(base: u64, source: &str) -> Result<Vec<u8>, AssembleError> {
    let mut labels = HashMap::new();
    let mut statements = Vec::new();
    let mut pc = base;
    for (line, text) in (1..).zip(source.lines()) {
        let mut text = text.split('#').next().unwrap_or("").trim();
        while let Some((label, rest)) = text.split_once(':') {
            labels.insert(label.trim(), pc);
            text = rest.trim();
        }
        for statement in expand(text) {
            let bytes = if statement.starts_with(".half") { 2 } else { 4 };
            statements.push((line, pc, statement));
            pc += bytes;
        }
    }
    let mut code = Vec::new();
    for (line, pc, statement) in &statements {
        let bytes =
            statement_bytes(statement, *pc, &labels).map_err(|what| AssembleError { line: *line, what })?;
        code.extend(bytes);
    }
    Ok(code)
}

/// The bits of one instruction, without labels.
pub fn encode(text: &str) -> Result<u32, AssembleError> {
    instruction_bits(text, 0, &HashMap::new()).map_err(|what| AssembleError { line: 1, what })
}

/// The number of a register by its ABI name (`a0`, `fa0`) or plain name (`x10`,
/// `f10`).
pub fn register(name: &str) -> Option<(Registers, u32)> {
    let place = |names: &[&str]| names.iter().position(|known| *known == name);
    let plain = |letter| name.strip_prefix(letter)?.parse().ok().filter(|&number| number < 32);
    let numbered = |letter: char, registers| Some((registers, plain(letter)?));
    place(&INTEGER_NAMES)
        .map(|number| (Registers::Integer, number as u32))
        .or_else(|| place(&FLOAT_NAMES).map(|number| (Registers::Float, number as u32)))
        .or_else(|| numbered('x', Registers::Integer))
        .or_else(|| numbered('f', Registers::Float))
}

/// The instructions that a statement stands for.
fn expand(text: &str) -> Vec<String> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let operands: Vec<&str> = rest.split(',').map(str::trim).collect();
    let one = |text: String| vec![text];
    match (name, operands.as_slice()) {
        ("", _) => Vec::new(),
        ("nop", _) => one("addi zero, zero, 0".into()),
        ("ret", _) => one("jalr zero, 0(ra)".into()),
        ("j", [target]) => one(format!("jal zero, {target}")),
        ("call", [target]) => one(format!("jal ra, {target}")),
        ("jr", [register]) => one(format!("jalr zero, 0({register})")),
        ("mv", [to, from]) => one(format!("addi {to}, {from}, 0")),
        ("not", [to, from]) => one(format!("xori {to}, {from}, -1")),
        ("neg", [to, from]) => one(format!("sub {to}, zero, {from}")),
        ("beqz", [register, target]) => one(format!("beq {register}, zero, {target}")),
        ("bnez", [register, target]) => one(format!("bne {register}, zero, {target}")),
        ("bltz", [register, target]) => one(format!("blt {register}, zero, {target}")),
        ("bgez", [register, target]) => one(format!("bge {register}, zero, {target}")),
        ("li", [register, value]) => match number(value) {
            Some(value) => load_immediate(register, value),
            None => one(text.into()),
        },
        _ => one(text.into()),
    }
}

/// Builds any 64-bit constant: twelve bits at a time from the top.
fn load_immediate(register: &str, value: i64) -> Vec<String> {
    if (-2048..2048).contains(&value) {
        return vec![format!("addi {register}, zero, {value}")];
    }
    let low = value << 52 >> 52;
    let rest = value.wrapping_sub(low);
    if let Ok(upper) = i32::try_from(rest) {
        let upper = upper as u32 >> 12;
        return vec![format!("lui {register}, {upper}"), format!("addiw {register}, {register}, {low}")];
    }
    let mut program = load_immediate(register, rest >> 12);
    program.push(format!("slli {register}, {register}, 12"));
    program.push(format!("addi {register}, {register}, {low}"));
    program
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    let value = magnitude as i64;
    Some(if negative { value.wrapping_neg() } else { value })
}

fn statement_bytes(text: &str, pc: u64, labels: &HashMap<&str, u64>) -> Result<Vec<u8>, String> {
    let data = |value: &str| number(value.trim()).ok_or(format!("{value} is no number"));
    if let Some(value) = text.strip_prefix(".word") {
        return Ok((data(value)? as u32).to_le_bytes().into());
    }
    if let Some(value) = text.strip_prefix(".half") {
        return Ok((data(value)? as u16).to_le_bytes().into());
    }
    Ok(instruction_bits(text, pc, labels)?.to_le_bytes().into())
}

fn instruction_bits(text: &str, pc: u64, labels: &HashMap<&str, u64>) -> Result<u32, String> {
    let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (base, order) = without_order(name);
    let instruction = instructions()
        .iter()
        .find(|instruction| instruction.name == base && (order == 0 || instruction.is_ordered))
        .ok_or(format!("there is no instruction {name}"))?;
    // `8(a0)` is the two operands 8 and a0.
    let operands = operands.replace('(', ",").replace(')', "");
    let mut operands = operands.split(',').map(str::trim).filter(|operand| !operand.is_empty()).peekable();
    let mut bits = instruction.value | order << 25;
    for place in places(instruction) {
        let Some(operand) = operands.next() else {
            return Err(format!("{name} needs another operand"));
        };
        bits |= place_bits(instruction, place, operand, pc, labels)?;
    }
    if instruction.rounds {
        bits |= operands.next().map_or(Ok(7), rounding_mode)? << 12;
    }
    match operands.next() {
        Some(operand) => Err(format!("{operand} is one operand too many for {name}")),
        None => Ok(bits),
    }
}

/// The name of an atomic instruction without `.aq` and `.rl`, and their bits.
fn without_order(name: &str) -> (&str, u32) {
    let orders = [(".aqrl", 3), (".aq", 2), (".rl", 1)];
    let stripped = orders.into_iter().find_map(|(suffix, bits)| Some((name.strip_suffix(suffix)?, bits)));
    stripped.unwrap_or((name, 0))
}

/// What an operand says.
#[derive(Clone, Copy)]
enum OperandField {
    Register(Registers, u32),
    Immediate,
    UnsignedOperand,
}

/// The places of an instruction's operands, in the order of the notation.
fn places(instruction: &Instruction) -> Vec<OperandField> {
    let register = |registers: Option<Registers>, low| registers.map(|r| OperandField::Register(r, low));
    let rd = register(instruction.rd, 7);
    let rs1 = register(instruction.rs1, 15);
    let rs2 = register(instruction.rs2, 20);
    let rs3 = register(instruction.rs3, 27);
    let immediate = (instruction.immediate != Immediate::None).then_some(OperandField::Immediate);
    let accesses_memory = matches!(instruction.value & 0x7f, 0x03 | 0x07 | 0x67);
    let is_csr = instruction.immediate == Immediate::Csr;
    let order = match instruction.immediate {
        Immediate::S => vec![rs2, immediate, rs1],
        Immediate::I if accesses_memory => vec![rd, immediate, rs1],
        Immediate::Csr if instruction.unsigned_rs1 => {
            vec![rd, immediate, Some(OperandField::UnsignedOperand)]
        }
        Immediate::Csr => vec![rd, immediate, rs1],
        _ if instruction.value & 0x7f == 0x2f => vec![rd, rs2, rs1],
        _ => vec![rd, rs1, rs2, rs3, immediate],
    };
    debug_assert!(!is_csr || order.len() == 3);
    order.into_iter().flatten().collect()
}

fn place_bits(
    instruction: &Instruction,
    place: OperandField,
    operand: &str,
    pc: u64,
    labels: &HashMap<&str, u64>,
) -> Result<u32, String> {
    match place {
        OperandField::Register(registers, low) => match register(operand) {
            Some((kind, number)) if kind == registers => Ok(number << low),
            _ => Err(format!("{operand} is no register for {}", instruction.name)),
        },
        OperandField::UnsignedOperand => match number(operand) {
            Some(value @ 0..=31) => Ok((value as u32) << 15),
            _ => Err(format!("{operand} is not between 0 and 31")),
        },
        OperandField::Immediate => {
            let value = match labels.get(operand) {
                Some(target) => target.wrapping_sub(pc) as i64,
                None => number(operand).ok_or(format!("there is no label or number {operand}"))?,
            };
            let value = if instruction.immediate == Immediate::U { value << 12 } else { value };
            let bits = instruction.place_immediate(value);
            let read_back = instruction.immediate_of(bits | instruction.value);
            if read_back as i32 != value as i32 {
                return Err(format!("{operand} does not fit into {}", instruction.name));
            }
            Ok(bits)
        }
    }
}

fn rounding_mode(name: &str) -> Result<u32, String> {
    match name {
        "rne" => Ok(0),
        "rtz" => Ok(1),
        "rdn" => Ok(2),
        "rup" => Ok(3),
        "rmm" => Ok(4),
        "dyn" => Ok(7),
        _ => Err(format!("{name} is no rounding mode")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_encoded_as_the_manual_says() {
        assert_eq!(encode("addi a0, a1, -1"), Ok(0xfff5_8513));
        assert_eq!(encode("add x10, x11, x12"), Ok(0x00c5_8533));
        assert_eq!(encode("sd ra, 8(sp)"), Ok(0x0011_3423));
        assert_eq!(encode("lui a0, 0x12345"), Ok(0x1234_5537));
        assert_eq!(encode("fadd.d fa0, fa1, fa2"), Ok(0x02c5_f553));
        assert_eq!(encode("fcvt.w.d a0, fa0, rtz"), Ok(0xc205_1553));
        assert_eq!(encode("amoadd.d a0, a1, (a2)"), Ok(0x00b6_352f));
        assert_eq!(encode("csrrs a0, 0xc00, zero"), Ok(0xc000_2573));
        assert_eq!(encode("fmadd.d fa0, fa1, fa2, fa3"), Ok(0x6ac5_f543));
    }

    #[test]
    fn labels_are_distances() {
        let code = assemble(0x1000, "loop: nop\n bnez a0, loop\n j end\n end: ecall").unwrap();
        assert_eq!(code[4..8], 0xfe05_1ee3u32.to_le_bytes());
        assert_eq!(code[8..12], 0x0040_006fu32.to_le_bytes());
    }

    #[test]
    fn an_error_names_the_line_and_what_is_wrong() {
        let error = assemble(0, "nop\n addi a0, a0, 5000").unwrap_err();
        assert_eq!(error.to_string(), "line 2: 5000 does not fit into addi");
        assert!(encode("frobnicate").unwrap_err().what.contains("no instruction frobnicate"));
        assert!(encode("add a0, fa0, a1").unwrap_err().what.contains("fa0 is no register"));
        assert!(encode("addi a0, a0").unwrap_err().what.contains("another operand"));
    }
}
