//! Random programs over all of RV64GC.
//!
//! Items are drawn by kind, each block with its own preferences, so that some
//! programs are dense in floats and others in atomics or two-byte
//! instructions. Whatever is drawn is legal and stays inside scratch memory;
//! everything else is left to chance: registers (also as their own sources),
//! rounding modes, alignments, values.

use std::sync::LazyLock;

use narthex_cores::instruction::{Instruction as Pattern, Registers};

use crate::choice::Choice;
use crate::instructions::instruction::{
    Instruction, Register, family, field, opcode, opcode_of, short_forms,
};
use crate::instructions::program::{Block, Item, JumpKind, MOST_POOL_OFFSET, Program};

/// Loops in a program.
const BLOCKS: usize = 12;
/// The middle of scratch memory; see the frame's registers in [`crate::program`].
const SCRATCH: Register = 3;
const STACK: Register = 2;
const POOL: Register = 4;

/// Numbers of the floating-point status registers.
const FFLAGS: i64 = 1;
const FRM: i64 = 2;
const FCSR: i64 = 3;

type Kind = fn(&mut Choice) -> Item;

/// The kinds of items; a block has a weight for each.
const KINDS: [Kind; 14] = [
    integer,
    integer_immediate,
    refresh_integer,
    refresh_float,
    memory,
    atomic,
    reserved,
    status,
    float,
    fused,
    small,
    small_memory,
    jump,
    far_jumps,
];

/// Preferences of blocks, in the order of [`KINDS`].
const PREFERENCES: [[u64; 14]; 5] = [
    [6, 5, 3, 3, 6, 2, 1, 2, 8, 3, 6, 3, 3, 1],  // a bit of all
    [12, 8, 6, 0, 2, 0, 0, 0, 0, 0, 6, 1, 3, 1], // integers
    [1, 1, 2, 8, 1, 0, 0, 3, 20, 8, 0, 0, 1, 0], // floats
    [2, 2, 3, 1, 8, 6, 4, 0, 0, 0, 2, 6, 2, 1],  // memory
    [1, 1, 2, 1, 1, 0, 0, 1, 2, 0, 20, 8, 6, 3], // two-byte instructions
];

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut choice = Choice::from_seed(seed);
    let blocks = (0..BLOCKS).map(|_| block(&mut choice)).collect();
    Program { seed, blocks }
}

fn block(choice: &mut Choice) -> Block {
    let weights = choice.of(&PREFERENCES);
    let items = 30 + choice.below(60);
    Block {
        turns: 16 + choice.below(48),
        pool_offset: choice.below(MOST_POOL_OFFSET / 8) * 8,
        items: (0..items).map(|_| item(choice, &weights)).collect(),
    }
}

fn item(choice: &mut Choice, weights: &[u64; 14]) -> Item {
    let mut ticket = choice.below(weights.iter().sum());
    for (kind, weight) in KINDS.iter().zip(weights) {
        if ticket < *weight {
            return kind(choice);
        }
        ticket -= weight;
    }
    integer(choice)
}

// Registers.

/// Any integer register: as a source, everything goes.
fn source(choice: &mut Choice) -> Register {
    choice.below(32) as Register
}

/// A register that a body may write, including x0.
fn target(choice: &mut Choice) -> Register {
    if choice.once_in(26) { choice.below(2) as Register } else { 5 + choice.below(25) as Register }
}

/// A register that a body may write and that then holds what was written.
fn holder(choice: &mut Choice) -> Register {
    5 + choice.below(25) as Register
}

/// x8 to x15.
fn short(choice: &mut Choice) -> Register {
    8 + choice.below(8) as Register
}

/// The rounding modes: the five, and the one in frm.
const ROUNDING: [u32; 6] = [0, 1, 2, 3, 4, 7];

/// An instruction with any operands, of which a body may write the destination.
fn any(choice: &mut Choice, pattern: &Pattern) -> Instruction {
    let mut bits = pattern.value | choice.bits() as u32 & !pattern.mask;
    if pattern.rounds {
        bits = bits & !(7 << 12) | choice.of(&ROUNDING) << 12;
    }
    match pattern.rd {
        Some(Registers::Integer) => Instruction(bits).with(field::RD, target(choice)),
        _ => Instruction(bits),
    }
}

/// Any instruction with one of these major opcodes.
fn any_of(choice: &mut Choice, opcodes: &[u32]) -> Instruction {
    let pattern = choice.of(&family(opcodes));
    any(choice, pattern)
}

fn assembled(text: impl AsRef<str>) -> Instruction {
    Instruction::assembled(text.as_ref())
}

fn addi(rd: Register, rs1: Register, value: i64) -> Instruction {
    assembled(format!("addi x{rd}, x{rs1}, {value}"))
}

fn one(instruction: Instruction) -> Item {
    Item::Plain(vec![instruction])
}

// Integers.

fn integer(choice: &mut Choice) -> Item {
    one(any_of(choice, &[opcode::OP, opcode::OP_32]))
}

fn integer_immediate(choice: &mut Choice) -> Item {
    one(match choice.once_in(32) {
        true => any_of(choice, &[opcode::MISC_MEM]),
        false => any_of(choice, &[opcode::OP_IMM, opcode::OP_IMM_32, opcode::LUI, opcode::AUIPC]),
    })
}

/// A value from the pool, mostly at its place and sometimes across two.
fn pool_offset(choice: &mut Choice) -> i64 {
    let slip = if choice.once_in(16) { choice.between(0, 7) } else { 0 };
    8 * choice.between(0, 254) + slip
}

fn refresh_integer(choice: &mut Choice) -> Item {
    let load = if choice.once_in(4) { any_of(choice, &[opcode::LOAD]) } else { assembled("ld x0, 0(x0)") };
    let place = load.with(field::RD, target(choice)).with(field::RS1, POOL);
    one(place.with_immediate(pool_offset(choice)))
}

fn refresh_float(choice: &mut Choice) -> Item {
    let name = if choice.once_in(4) { "flw" } else { "fld" };
    one(assembled(format!("{name} f{}, {}(x{POOL})", source(choice), pool_offset(choice))))
}

// Memory.

/// A base register set to scratch memory, and an offset that stays inside.
fn scratch(choice: &mut Choice) -> (Vec<Instruction>, Register, i64) {
    let place = choice.between(-2048, 2047);
    if choice.once_in(3) {
        return (vec![], SCRATCH, place);
    }
    let offset = choice.between((place - 2047).max(-2048), (place + 2048).min(2047));
    let base = holder(choice);
    (vec![addi(base, SCRATCH, place - offset)], base, offset)
}

fn memory(choice: &mut Choice) -> Item {
    let (mut code, base, offset) = scratch(choice);
    let opcodes = choice.of(&[[opcode::LOAD, opcode::LOAD_FP], [opcode::STORE, opcode::STORE_FP]]);
    code.push(any_of(choice, &opcodes).with(field::RS1, base).with_immediate(offset));
    Item::Plain(code)
}

/// A base register with an aligned address in scratch memory. Few different
/// ones, so that the same places are used again.
fn aligned(choice: &mut Choice, double: bool) -> (Instruction, Register) {
    let base = holder(choice);
    let step = if double { 8 } else { 4 };
    (addi(base, SCRATCH, step * choice.between(-16, 15)), base)
}

fn atomic(choice: &mut Choice) -> Item {
    let operations = family(&[opcode::AMO]).into_iter().filter(|pattern| pattern.name.starts_with("amo"));
    let operation = choice.of(&operations.collect::<Vec<_>>());
    let (address, base) = aligned(choice, operation.name.ends_with(".d"));
    Item::Plain(vec![address, any(choice, operation).with(field::RS1, base)])
}

/// LR and SC to the same or to different places, or only one of them.
fn reserved(choice: &mut Choice) -> Item {
    const ORDER: u32 = 25;
    let double = choice.once_in(2);
    let size = if double { "d" } else { "w" };
    let order = choice.below(4) as u32;
    let ordered = |text: String| Instruction(assembled(text).0 | order << ORDER);
    let mut code = Vec::new();
    let (address, base) = aligned(choice, double);
    let scratch_register = if base == 6 { 7 } else { 6 };
    code.push(address);
    if !choice.once_in(8) {
        let loaded = if choice.once_in(8) { 0 } else { scratch_register };
        code.push(ordered(format!("lr.{size} x{loaded}, (x{base})")));
    }
    if choice.once_in(2) {
        let changed = any_of(choice, &[opcode::OP, opcode::OP_32]);
        code.push(changed.with(field::RD, scratch_register).with(field::RS2, scratch_register));
    }
    if choice.once_in(8) {
        code.push(addi(base, base, choice.of(&[8, -8, 64, 256])));
    }
    let (rd, rs2) = (target(choice), source(choice));
    code.push(ordered(format!("sc.{size} x{rd}, x{rs2}, (x{base})")));
    Item::Plain(code)
}

// Floats.

/// Reads and writes of fflags, frm and fcsr. A group ends with a rounding mode
/// that exists, because instructions that use another are illegal.
fn status(choice: &mut Choice) -> Item {
    let number = choice.of(&[FFLAGS, FFLAGS, FRM, FCSR]);
    let access = any_of(choice, &[opcode::SYSTEM]).with_immediate(number);
    let valid = assembled(format!("csrrwi x{}, {FRM}, {}", target(choice), choice.below(5)));
    if number == FFLAGS { one(access) } else { Item::Plain(vec![access, valid]) }
}

fn float(choice: &mut Choice) -> Item {
    one(any_of(choice, &[opcode::OP_FP]))
}

fn fused(choice: &mut Choice) -> Item {
    one(any_of(choice, &[opcode::MADD, opcode::MSUB, opcode::NMSUB, opcode::NMADD]))
}

// Two-byte instructions.

/// Short forms that leave the frame's registers alone.
fn forms(is_wanted: impl Fn(Instruction, &Pattern) -> bool) -> Vec<Vec<Instruction>> {
    short_forms(|long, pattern| {
        let may_write = matches!(long.register(field::RD), 0 | 1 | 5..=29);
        (may_write || pattern.rd != Some(Registers::Integer)) && is_wanted(long, pattern)
    })
}

fn of_form(choice: &mut Choice, forms: &[Vec<Instruction>]) -> Instruction {
    let form = &forms[choice.below(forms.len() as u64) as usize];
    choice.of(form)
}

fn small(choice: &mut Choice) -> Item {
    use opcode::{LUI, OP, OP_32, OP_IMM, OP_IMM_32};
    static FORMS: LazyLock<Vec<Vec<Instruction>>> = LazyLock::new(|| {
        forms(|_, pattern| [LUI, OP, OP_32, OP_IMM, OP_IMM_32].contains(&opcode_of(pattern)))
    });
    one(of_form(choice, &FORMS))
}

fn small_memory(choice: &mut Choice) -> Item {
    use opcode::{LOAD, LOAD_FP, STORE, STORE_FP};
    static FORMS: LazyLock<Vec<Vec<Instruction>>> =
        LazyLock::new(|| forms(|_, pattern| [LOAD, LOAD_FP, STORE, STORE_FP].contains(&opcode_of(pattern))));
    if choice.once_in(8) {
        return stack_pointer(choice);
    }
    let access = of_form(choice, &FORMS);
    match access.expanded().0.register(field::RS1) {
        STACK => one(access),
        base => Item::Plain(vec![addi(base, SCRATCH, choice.between(-2048, 1700)), access]),
    }
}

/// Moves the stack pointer, shows where it is, and moves it back.
fn stack_pointer(choice: &mut Choice) -> Item {
    static FORMS: LazyLock<Vec<Vec<Instruction>>> = LazyLock::new(|| {
        let moves =
            |long: Instruction| [field::RD, field::RS1].map(|field| long.register(field)) == [STACK; 2];
        short_forms(|long, pattern| pattern.name == "addi" && moves(long))
    });
    let there = of_form(choice, &FORMS);
    let (long, pattern) = there.expanded();
    let shown = assembled(format!("add x{}, x0, x{STACK}", holder(choice))).compressed();
    Item::Plain(vec![there, shown, long.with_immediate(-pattern.immediate_of(long.0))])
}

// Jumps.

fn jump(choice: &mut Choice) -> Item {
    let over = choice.below(5) as usize;
    Item::Jump { kind: jump_kind(choice), over }
}

fn jump_kind(choice: &mut Choice) -> JumpKind {
    match choice.below(10) {
        0..5 => JumpKind::Direct(any_of(choice, &[opcode::BRANCH])),
        5 => JumpKind::Direct(assembled("jal x0, 0").with(field::RD, target(choice))),
        6 => JumpKind::Register { link: target(choice), base: holder(choice), odd: choice.once_in(2) },
        7 => JumpKind::Direct(assembled("jal x0, 0").compressed()),
        8 => {
            let name = choice.of(&["beq", "bne"]);
            JumpKind::Direct(assembled(format!("{name} x{}, x0, 0", short(choice))).compressed())
        }
        _ => JumpKind::CompressedRegister { link: choice.below(2) as Register, base: holder(choice) },
    }
}

/// Filler of any length that a jump of this kind reaches over; short ones are
/// as likely as long ones.
fn filler(kind: JumpKind, choice: &mut Choice) -> Vec<Instruction> {
    /// What stands beside the filler, at most.
    const BESIDE_BYTES: u64 = 20;
    let long = if choice.once_in(8) { 200_000 } else { 6000 };
    let most = (kind.reach() as u64 - BESIDE_BYTES).min(long) >> choice.below(8);
    vec![Instruction::FILLER; choice.below(most / 2 + 1) as usize]
}

fn bytes(code: &[Instruction]) -> i64 {
    code.iter().map(|instruction| instruction.bytes() as i64).sum()
}

/// A jump forward over filler, and one backward over filler:
///
/// ```text
///         jump to second      taken or not
///         jal  second
///         filler
/// second: jal  third
/// first:  an instruction
///         jal  end
///         filler
/// third:  jump to first       taken or not
/// end:
/// ```
fn far_jumps(choice: &mut Choice) -> Item {
    const SKIP_BYTES: i64 = 4;
    let skip = |over: i64| assembled(format!("jal x0, {}", SKIP_BYTES + over));
    let kind = jump_kind(choice);
    let gap = filler(kind, choice);
    let mut code = kind.code(0);
    let over = bytes(&code) + SKIP_BYTES + bytes(&gap);
    code = kind.code(over);
    code.push(skip(bytes(&gap)));
    code.extend(gap);

    let kind = jump_kind(choice);
    let gap = filler(kind, choice);
    let first = any_of(choice, &[opcode::OP, opcode::OP_32]);
    let back = bytes(&[first]) + SKIP_BYTES + bytes(&gap);
    let jump_back = kind.code(-back);
    code.push(skip(back));
    code.extend([first, skip(bytes(&gap) + bytes(&jump_back))]);
    code.extend(gap);
    code.extend(jump_back);
    Item::Plain(code)
}
