//! Random programs over all of RV64GC.
//!
//! Items are drawn by kind, each block with its own preferences, so that some
//! programs are dense in floats and others in atomics or two-byte
//! instructions. Whatever is drawn is legal and stays inside scratch memory;
//! everything else is left to chance: registers (also as their own sources),
//! rounding modes, alignments, values.

use crate::choice::Choice;
use crate::instructions::encode::{self, Instruction, Register, addi, compressed};
use crate::instructions::program::{
    self, Block, FCSR, FFLAGS, FRM, Item, JumpKind, MOST_POOL_OFFSET, Program,
};

/// Loops in a program.
const BLOCKS: usize = 12;
/// The middle of scratch memory; see the frame's registers in [`crate::program`].
const SCRATCH: Register = 3;
const STACK: Register = 2;
const POOL: Register = 4;

/// Rounding modes: the five, and the one in frm.
const ROUNDING: [u32; 6] = [0, 1, 2, 3, 4, 7];

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

/// x8 to x15 or f8 to f15.
fn short(choice: &mut Choice) -> Register {
    8 + choice.below(8) as Register
}

fn rounding(choice: &mut Choice) -> u32 {
    choice.of(&ROUNDING)
}

fn one(instruction: Instruction) -> Item {
    Item::Plain(vec![instruction])
}

// Integers.

fn integer(choice: &mut Choice) -> Item {
    let entry = choice.of(&encode::REGISTER);
    one(encode::register(entry, target(choice), source(choice), source(choice)))
}

fn integer_immediate(choice: &mut Choice) -> Item {
    let rd = target(choice);
    one(match choice.below(8) {
        0 => encode::upper(choice.once_in(2), rd, choice.bits() as u32),
        1..4 => {
            let entry = choice.of(&encode::SHIFT);
            encode::shift(entry, rd, source(choice), choice.below(entry.4))
        }
        4 if choice.once_in(4) => encode::fence(choice.once_in(2)),
        _ => {
            encode::immediate(choice.of(&encode::IMMEDIATE), rd, source(choice), choice.between(-2048, 2047))
        }
    })
}

/// A value from the pool, mostly at its place and sometimes across two.
fn pool_offset(choice: &mut Choice) -> i64 {
    let slip = if choice.once_in(16) { choice.between(0, 7) } else { 0 };
    8 * choice.between(0, 254) + slip
}

fn refresh_integer(choice: &mut Choice) -> Item {
    let entry = if choice.once_in(4) { choice.of(&encode::LOAD[..7]) } else { encode::LOAD[3] };
    one(encode::load(entry, target(choice), POOL, pool_offset(choice)))
}

fn refresh_float(choice: &mut Choice) -> Item {
    let entry = if choice.once_in(4) { encode::LOAD[7] } else { encode::LOAD[8] };
    one(encode::load(entry, source(choice), POOL, pool_offset(choice)))
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
    code.push(match choice.once_in(2) {
        true => {
            let entry = choice.of(&encode::LOAD);
            let rd = if entry.3 { source(choice) } else { target(choice) };
            encode::load(entry, rd, base, offset)
        }
        false => encode::store(choice.of(&encode::STORE), source(choice), base, offset),
    });
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
    let double = choice.once_in(2);
    let (address, base) = aligned(choice, double);
    let (name, function) = choice.of(&encode::ATOMIC);
    let order = choice.below(4) as u32;
    let operation = encode::atomic(name, function, double, order, target(choice), source(choice), base);
    Item::Plain(vec![address, operation])
}

/// LR and SC to the same or to different places, or only one of them.
fn reserved(choice: &mut Choice) -> Item {
    let double = choice.once_in(2);
    let order = choice.below(4) as u32;
    let mut code = Vec::new();
    let (address, base) = aligned(choice, double);
    let scratch_register = if base == 6 { 7 } else { 6 };
    code.push(address);
    if !choice.once_in(8) {
        let loaded = if choice.once_in(8) { 0 } else { scratch_register };
        code.push(encode::atomic("lr", encode::LOAD_RESERVED, double, order, loaded, 0, base));
    }
    if choice.once_in(2) {
        let entry = choice.of(&encode::REGISTER);
        code.push(encode::register(entry, scratch_register, source(choice), scratch_register));
    }
    if choice.once_in(8) {
        code.push(addi(base, base, choice.of(&[8, -8, 64, 256])));
    }
    let (rd, rs2) = (target(choice), source(choice));
    code.push(encode::atomic("sc", encode::STORE_CONDITIONAL, double, order, rd, rs2, base));
    Item::Plain(code)
}

// Floats.

/// Reads and writes of fflags, frm and fcsr. A group ends with a rounding mode
/// that exists, because instructions that use another are illegal.
fn status(choice: &mut Choice) -> Item {
    let (rd, entry) = (target(choice), choice.of(&encode::STATUS));
    match choice.below(4) {
        0 | 1 => one(encode::status(entry, rd, FFLAGS, source(choice))),
        2 => one(encode::status(encode::STATUS[3], rd, FRM, choice.below(5) as u32)),
        _ => {
            let number = choice.of(&[FRM, FCSR]);
            let valid = encode::status(encode::STATUS[3], target(choice), FRM, choice.below(5) as u32);
            Item::Plain(vec![encode::status(entry, rd, number, source(choice)), valid])
        }
    }
}

fn float(choice: &mut Choice) -> Item {
    let (entry, size) = (choice.of(&encode::FLOAT), choice.of(&encode::SIZES));
    let to_integer = matches!(
        entry.2,
        encode::Shape::Compare(_) | encode::Shape::ToInteger(_) | encode::Shape::Inspect(_)
    );
    let rd = if to_integer { target(choice) } else { source(choice) };
    one(encode::float(entry, size, rd, source(choice), source(choice), rounding(choice)))
}

fn fused(choice: &mut Choice) -> Item {
    let (entry, size) = (choice.of(&encode::FUSED), choice.of(&encode::SIZES));
    let from = [source(choice), source(choice), source(choice)];
    one(encode::fused(entry, size, source(choice), from, rounding(choice)))
}

// Two-byte instructions.

fn small(choice: &mut Choice) -> Item {
    let six_bits = choice.between(-32, 31);
    let nonzero = if six_bits == 0 { 1 } else { six_bits };
    let distance = 1 + choice.below(63);
    one(match choice.below(10) {
        0 => compressed::immediate(0, target(choice), six_bits),
        1 => compressed::immediate(1, holder(choice), six_bits),
        2 => compressed::immediate(2, target(choice), six_bits),
        3 => compressed::immediate(3, target(choice), nonzero),
        4 => compressed::small_immediate(choice.below(2) as u32, short(choice), distance as i64),
        5 => compressed::small_immediate(2, short(choice), six_bits),
        6 | 7 => compressed::small_register(choice.below(6) as u32, short(choice), short(choice)),
        8 => compressed::shift_left(target(choice), distance as u32),
        _ => compressed::register(choice.once_in(2), target(choice), 1 + choice.below(31) as Register),
    })
}

fn small_memory(choice: &mut Choice) -> Item {
    let (loads, stores) = compressed::SMALL.split_at(3);
    let is_load = choice.once_in(2);
    let entry = if is_load { choice.of(loads) } else { choice.of(stores) };
    let double = entry.2;
    let place = choice.below(32) as u32 * if double { 8 } else { 4 };
    match choice.below(4) {
        0 => stack_pointer(choice),
        1 => {
            let base = short(choice);
            let address = addi(base, SCRATCH, choice.between(-2048, 1700));
            Item::Plain(vec![address, compressed::memory(entry, short(choice), base, place)])
        }
        _ if is_load => {
            let rd = if entry.3 == 'f' { source(choice) } else { holder(choice) };
            one(compressed::stack_load(entry, rd, place * (1 + u32::from(choice.once_in(2)))))
        }
        _ => one(compressed::stack_store(entry, source(choice), place * (1 + u32::from(choice.once_in(2))))),
    }
}

/// Moves the stack pointer, shows where it is, and moves it back.
fn stack_pointer(choice: &mut Choice) -> Item {
    if choice.once_in(2) {
        return one(compressed::add_to_stack_pointer(short(choice), 4 * (1 + choice.below(255) as u32)));
    }
    let offset = 16 * choice.between(-32, 31);
    let offset = if offset == 0 { 16 } else { offset };
    Item::Plain(vec![
        compressed::move_stack_pointer(offset),
        compressed::register(false, holder(choice), STACK),
        addi(STACK, STACK, -offset),
    ])
}

// Jumps.

fn jump(choice: &mut Choice) -> Item {
    let over = choice.below(5) as usize;
    Item::Jump { kind: jump_kind(choice), over }
}

fn jump_kind(choice: &mut Choice) -> JumpKind {
    match choice.below(10) {
        0..5 => JumpKind::Branch(choice.of(&encode::BRANCH), source(choice), source(choice)),
        5 => JumpKind::Jump(target(choice)),
        6 => JumpKind::Register { link: target(choice), base: holder(choice), odd: choice.once_in(2) },
        7 => JumpKind::CompressedJump,
        8 => JumpKind::CompressedBranch(choice.once_in(2), short(choice)),
        _ => JumpKind::CompressedRegister(choice.once_in(2), holder(choice)),
    }
}

/// Filler of any length that a jump of this kind reaches over; short ones are
/// as likely as long ones.
fn filler(kind: JumpKind, choice: &mut Choice) -> Vec<Instruction> {
    /// What stands beside the filler, at most.
    const BESIDE_BYTES: u64 = 20;
    let long = if choice.once_in(8) { 200_000 } else { 6000 };
    let most = (kind.reach() as u64 - BESIDE_BYTES).min(long) >> choice.below(8);
    vec![compressed::filler(); choice.below(most / 2 + 1) as usize]
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
    let skip = |over: i64| encode::jump(0, SKIP_BYTES + over);
    let kind = jump_kind(choice);
    let gap = filler(kind, choice);
    let mut code = program::jump(kind, 0);
    let over = bytes(&code) + SKIP_BYTES + bytes(&gap);
    code = program::jump(kind, over);
    code.push(skip(bytes(&gap)));
    code.extend(gap);

    let kind = jump_kind(choice);
    let gap = filler(kind, choice);
    let entry = choice.of(&encode::REGISTER);
    let first = encode::register(entry, target(choice), source(choice), source(choice));
    let back = bytes(std::slice::from_ref(&first)) + SKIP_BYTES + bytes(&gap);
    let jump_back = program::jump(kind, -back);
    code.push(skip(back));
    code.extend([first, skip(bytes(&gap) + bytes(&jump_back))]);
    code.extend(gap);
    code.extend(jump_back);
    Item::Plain(code)
}
