//! A random program: its parts, and the frame that makes it reveal its state.
//!
//! A program is a sequence of *blocks*. A block is a loop whose body is made of
//! random *items*; at the end of each turn the frame stores all registers and
//! the floating-point status into a log, as a *record*, clears the exception
//! flags and moves on in the pool of interesting values from which the body
//! loads. At its end the program writes the log and its scratch memory to
//! standard output. Two processors that differ anywhere thus differ in some
//! record, and the first one that differs tells block and turn.
//!
//! Five registers belong to the frame; the body reads but never writes them:
//!
//! | register | holds |
//! | --- | --- |
//! | x2 | scratch memory, 512 bytes from its beginning, for stack instructions |
//! | x3 | the middle of scratch memory |
//! | x4 | the place in the pool of values |
//! | x30 | turns left |
//! | x31 | where the next record goes |

use crate::choice::Choice;
use crate::guest::elf::{self, Segment};
use crate::instructions::encode::{self, Instruction, Register, addi, compressed};
use crate::instructions::values::interesting;
use std::fmt::Write as _;

const CODE: u64 = 0x1_0000;
const POOL: u64 = 0x20_0000;
const POOL_VALUES: usize = 1024;
const SCRATCH: u64 = POOL + 8 * POOL_VALUES as u64;
const LOG: u64 = 0x30_0000;

/// The size of scratch memory. Items reach 2048 bytes to either side of its
/// middle, and a store there may stick out by up to seven.
const SCRATCH_BYTES: usize = 4096 + 16;
/// How far beyond a block's beginning in the pool its items reach.
const POOL_REACH: u64 = 2048;
/// By how much the place in the pool moves on after a turn.
const POOL_STEP: i64 = 24;

/// The most turns of a block.
pub const MOST_TURNS: u64 = 64;
/// The most bytes into the pool at which a block begins.
pub const MOST_POOL_OFFSET: u64 = 8 * POOL_VALUES as u64 - POOL_REACH - 8 - MOST_TURNS * POOL_STEP as u64;

/// What a record holds: x1 to x31, f0 to f31, fcsr.
pub const RECORD_BYTES: usize = 8 * (31 + 32 + 1);

const POOL_POINTER: Register = 4;
const TURNS: Register = 30;
const RECORD: Register = 31;

/// What a body is made of: a group of instructions that belong together, or a
/// jump over some of the items that follow.
#[derive(Clone, Debug)]
pub enum Item {
    /// Instructions that are executed one after the other.
    Plain(Vec<Instruction>),
    /// A jump to the item behind the next `over`, or to the end of the body, or
    /// as far as this kind of jump reaches.
    Jump {
        /// How.
        kind: JumpKind,
        /// Over how many items.
        over: usize,
    },
}

/// The ways to jump.
#[derive(Clone, Copy, Debug)]
pub enum JumpKind {
    /// A conditional branch, an entry of [`encode::BRANCH`].
    Branch((&'static str, u32), Register, Register),
    /// `jal`.
    Jump(Register),
    /// `jalr` to an address in the last register; `odd` adds one to it, which
    /// the instruction has to ignore.
    Register {
        /// Receives the return address.
        link: Register,
        /// Holds the address.
        base: Register,
        /// Whether to add one.
        odd: bool,
    },
    /// `c.j`.
    CompressedJump,
    /// `c.beqz`, or `c.bnez` if true.
    CompressedBranch(bool, Register),
    /// `c.jr`, or `c.jalr` if true, to an address in the register.
    CompressedRegister(bool, Register),
}

impl JumpKind {
    /// Over how many bytes it can jump forward.
    pub fn reach(self) -> i64 {
        match self {
            JumpKind::Branch(..) => 4094,
            JumpKind::Jump(_) => 0xf_fffe,
            JumpKind::Register { .. } | JumpKind::CompressedRegister(..) | JumpKind::CompressedJump => 2046,
            JumpKind::CompressedBranch(..) => 254,
        }
    }
}

/// A loop.
#[derive(Clone, Debug)]
pub struct Block {
    /// How often the body is executed.
    pub turns: u64,
    /// Where in the pool of values it begins, in bytes.
    pub pool_offset: u64,
    /// The body.
    pub items: Vec<Item>,
}

/// A whole program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where the pool and the first contents of memory come from.
    pub seed: u64,
    /// The loops, one after the other.
    pub blocks: Vec<Block>,
}

impl Program {
    /// The program as an ELF file.
    pub fn file(&self) -> Vec<u8> {
        let mut choice = Choice::from_seed(self.seed ^ 0x6d65_6d6f_7279);
        let pool = (0..POOL_VALUES).flat_map(|_| interesting(&mut choice).to_le_bytes());
        let mut data: Vec<u8> = pool.collect();
        data.extend((0..SCRATCH_BYTES / 8).flat_map(|_| interesting(&mut choice).to_le_bytes()));
        let code = self.code();
        let segments = [
            Segment { address: CODE, memory_bytes: code.len() as u64, bytes: code, flags: 5 },
            Segment { address: POOL, memory_bytes: data.len() as u64, bytes: data, flags: 6 },
            Segment { address: LOG, memory_bytes: self.log_bytes().max(8) as u64, bytes: vec![], flags: 6 },
        ];
        elf::file(CODE, &segments)
    }

    /// How many bytes of records the program writes.
    pub fn log_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.turns as usize * RECORD_BYTES).sum()
    }

    /// How many bytes the program writes in all.
    pub fn output_bytes(&self) -> usize {
        self.log_bytes() + SCRATCH_BYTES
    }

    /// The block and turn whose record holds byte `offset` of the output, or
    /// nothing for scratch memory.
    pub fn place(&self, offset: usize) -> Option<(usize, usize)> {
        let mut record = offset / RECORD_BYTES;
        for (index, block) in self.blocks.iter().enumerate() {
            if record < block.turns as usize {
                return Some((index, record));
            }
            record -= block.turns as usize;
        }
        None
    }

    /// The instructions of a block's body as a listing.
    pub fn listing(&self, block: usize) -> String {
        let mut text = String::new();
        for instruction in assemble(&self.blocks[block].items) {
            // Filler has no text.
            if !instruction.text.is_empty() {
                let _ = writeln!(text, "    {instruction}");
            }
        }
        text
    }

    fn code(&self) -> Vec<u8> {
        let mut code = Vec::new();
        put(&mut code, &prologue());
        for block in &self.blocks {
            put_block(&mut code, block);
        }
        put(&mut code, &epilogue(self.log_bytes() as i64));
        code
    }
}

fn put(code: &mut Vec<u8>, instructions: &[Instruction]) {
    for instruction in instructions {
        instruction.put(code);
    }
}

fn put_block(code: &mut Vec<u8>, block: &Block) {
    put(code, &[addi(TURNS, 0, block.turns as i64)]);
    put(code, &constant(POOL_POINTER, (POOL + block.pool_offset) as i64));
    let turn = code.len();
    put(code, &assemble(&block.items));
    put(code, &checkpoint());
    put(code, &[addi(POOL_POINTER, POOL_POINTER, POOL_STEP), addi(TURNS, TURNS, -1)]);
    // The body may be longer than a branch reaches.
    put(code, &[encode::branch(encode::BRANCH[0], TURNS, 0, 8)]);
    let back = turn as i64 - code.len() as i64;
    put(code, &[encode::jump(0, back)]);
}

/// A 32-bit number into a register. The upper part is rounded because the
/// lower is signed.
fn constant(rd: Register, value: i64) -> [Instruction; 2] {
    let upper = (value + 0x800) >> 12;
    [encode::upper(false, rd, upper as u32), addi(rd, rd, value - (upper << 12))]
}

const LOAD_DOUBLEWORD: (&str, u32, u32, bool) = encode::LOAD[3];
const LOAD_FLOAT: (&str, u32, u32, bool) = encode::LOAD[8];
const STORE_DOUBLEWORD: (&str, u32, u32, bool) = encode::STORE[3];
const STORE_FLOAT: (&str, u32, u32, bool) = encode::STORE[5];
/// Numbers of the floating-point status registers.
pub const FFLAGS: u32 = 1;
/// The rounding mode.
pub const FRM: u32 = 2;
/// Both.
pub const FCSR: u32 = 3;

/// Fills all registers.
fn prologue() -> Vec<Instruction> {
    let mut code = Vec::new();
    code.extend(constant(POOL_POINTER, POOL as i64));
    code.extend((5..30).map(|rd| encode::load(LOAD_DOUBLEWORD, rd, POOL_POINTER, 8 * i64::from(rd))));
    code.push(encode::load(LOAD_DOUBLEWORD, 1, POOL_POINTER, 8));
    code.extend((0..32).map(|rd| encode::load(LOAD_FLOAT, rd, POOL_POINTER, 256 + 8 * i64::from(rd))));
    code.extend(constant(2, SCRATCH as i64 + 512));
    code.extend(constant(3, SCRATCH as i64 + 2048));
    code.extend(constant(RECORD, LOG as i64));
    code.push(encode::status(encode::STATUS[3], 0, FCSR, 0));
    code
}

/// Stores a record. x5 is overwritten by the status it stores.
fn checkpoint() -> Vec<Instruction> {
    let mut code = Vec::new();
    code.extend((1..32).map(|rs2| encode::store(STORE_DOUBLEWORD, rs2, RECORD, 8 * i64::from(rs2 - 1))));
    code.extend((0..32).map(|rs2| encode::store(STORE_FLOAT, rs2, RECORD, 8 * (31 + i64::from(rs2)))));
    code.push(encode::status(encode::STATUS[1], 5, FCSR, 0));
    code.push(encode::store(STORE_DOUBLEWORD, 5, RECORD, 8 * 63));
    code.push(encode::status(encode::STATUS[3], 0, FFLAGS, 0));
    code.push(addi(RECORD, RECORD, RECORD_BYTES as i64));
    code
}

/// Writes log and scratch memory, and exits.
fn epilogue(log_bytes: i64) -> Vec<Instruction> {
    let mut code = write_all(LOG as i64, log_bytes);
    code.extend(write_all(SCRATCH as i64, SCRATCH_BYTES as i64));
    code.extend([addi(10, 0, 0), addi(17, 0, 93), encode::call()]);
    code
}

/// Calls `write` until all is written; exits with code 1 when it fails.
fn write_all(address: i64, bytes: i64) -> Vec<Instruction> {
    let mut code = Vec::new();
    code.extend(constant(11, address));
    code.extend(constant(12, bytes));
    code.push(addi(17, 0, 64));
    code.extend([
        encode::branch(encode::BRANCH[0], 12, 0, 44),
        addi(10, 0, 1),
        encode::call(),
        encode::branch(encode::BRANCH[2], 0, 10, 16), // 0 < written
        addi(10, 0, 1),
        addi(17, 0, 93),
        encode::call(),
        encode::register(encode::REGISTER[0], 11, 11, 10),
        encode::register(encode::REGISTER[1], 12, 12, 10),
        encode::jump(0, -36),
        addi(0, 0, 0),
    ]);
    code
}

/// The instructions of a body, with the jumps' distances filled in.
fn assemble(items: &[Item]) -> Vec<Instruction> {
    let mut starts = vec![0];
    for item in items {
        starts.push(starts[starts.len() - 1] + item_bytes(item));
    }
    let mut code = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Plain(instructions) => code.extend(instructions.iter().cloned()),
            Item::Jump { kind, over } => {
                let last = (index + 1 + over).min(items.len());
                let distances = starts[index + 1..=last].iter().map(|start| (start - starts[index]) as i64);
                let distance = distances.take_while(|distance| *distance <= kind.reach()).last();
                // The next item is always in reach.
                code.extend(jump(*kind, distance.unwrap_or_default()));
            }
        }
    }
    code
}

fn item_bytes(item: &Item) -> usize {
    match item {
        Item::Plain(instructions) => instructions.iter().map(Instruction::bytes).sum(),
        // The distance does not change the length.
        Item::Jump { kind, .. } => jump(*kind, 16).iter().map(Instruction::bytes).sum(),
    }
}

/// A jump over `distance` bytes, counted from its first instruction.
pub fn jump(kind: JumpKind, distance: i64) -> Vec<Instruction> {
    match kind {
        JumpKind::Branch(entry, rs1, rs2) => vec![encode::branch(entry, rs1, rs2, distance)],
        JumpKind::Jump(link) => vec![encode::jump(link, distance)],
        JumpKind::Register { link, base, odd } => {
            let here = encode::upper(true, base, 0);
            vec![here, encode::jump_register(link, base, distance + i64::from(odd))]
        }
        JumpKind::CompressedJump => vec![compressed::jump(distance)],
        JumpKind::CompressedBranch(not_zero, rs1) => vec![compressed::branch(not_zero, rs1, distance)],
        JumpKind::CompressedRegister(link, base) => {
            let here = encode::upper(true, base, 0);
            vec![here, addi(base, base, distance), compressed::jump_register(link, base)]
        }
    }
}
