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
use crate::instructions::instruction::{Instruction, Register};
use crate::instructions::values::interesting;
use narthex_cores::assemble::assemble;
use narthex_cores::instruction::Immediate;
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

/// Numbers of status registers: the exception flags, and all of the status.
const FFLAGS: u32 = 1;
const FCSR: u32 = 3;

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
    /// A branch or jump that states its distance, of two or four bytes.
    Direct(Instruction),
    /// `jalr` to an address in a register; `odd` adds one to it, which the
    /// instruction has to ignore.
    Register {
        /// Receives the return address.
        link: Register,
        /// Holds the address.
        base: Register,
        /// Whether to add one.
        odd: bool,
    },
    /// `c.jr` to an address in a register, or `c.jalr`.
    CompressedRegister {
        /// x0, or x1 for `c.jalr`.
        link: Register,
        /// Holds the address.
        base: Register,
    },
}

impl JumpKind {
    /// Over how many bytes it can jump forward.
    pub fn reach(self) -> i64 {
        match self {
            JumpKind::Direct(jump) => match (jump.bytes(), jump.expanded().1.immediate) {
                (2, Immediate::B) => 254,
                (2, _) => 2046,
                (_, Immediate::B) => 4094,
                _ => 0xf_fffe,
            },
            JumpKind::Register { .. } | JumpKind::CompressedRegister { .. } => 2046,
        }
    }

    /// A jump over `distance` bytes, counted from its first instruction.
    pub fn code(self, distance: i64) -> Vec<Instruction> {
        let from_here = |base, jump| vec![Instruction::assembled(&format!("auipc x{base}, 0")), jump];
        match self {
            JumpKind::Direct(jump) => vec![jump.with_immediate(distance)],
            JumpKind::Register { link, base, odd } => {
                let offset = distance + i64::from(odd);
                from_here(base, Instruction::assembled(&format!("jalr x{link}, {offset}(x{base})")))
            }
            JumpKind::CompressedRegister { link, base } => {
                let add = Instruction::assembled(&format!("addi x{base}, x{base}, {distance}"));
                let jump = Instruction::assembled(&format!("jalr x{link}, 0(x{base})"));
                [from_here(base, add), vec![jump.compressed()]].concat()
            }
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

    /// The instructions of a block's body.
    pub fn body(&self, block: usize) -> Vec<Instruction> {
        assembled(&self.blocks[block].items)
    }

    /// The same as a listing.
    pub fn listing(&self, block: usize) -> String {
        let mut text = String::new();
        for instruction in self.body(block) {
            if instruction != Instruction::FILLER {
                let _ = writeln!(text, "    {instruction}");
            }
        }
        text
    }

    /// All instructions: the frame's and the bodies'.
    pub fn code(&self) -> Vec<u8> {
        let mut code = frame(&prologue());
        for block in &self.blocks {
            put_block(&mut code, block);
        }
        code.extend(frame(&write_all(LOG, self.log_bytes())));
        code.extend(frame(&write_all(SCRATCH, SCRATCH_BYTES)));
        code.extend(frame("li x10, 0\n li x17, 93\n ecall"));
        code
    }
}

/// A part of the frame, which may stand anywhere.
fn frame(source: &str) -> Vec<u8> {
    assemble(0, source).expect("a sound frame")
}

fn put_block(code: &mut Vec<u8>, block: &Block) {
    let place = POOL + block.pool_offset;
    code.extend(frame(&format!("li x{TURNS}, {}\n li x{POOL_POINTER}, {place}", block.turns)));
    let turn = code.len();
    for instruction in assembled(&block.items) {
        instruction.put(code);
    }
    code.extend(frame(&checkpoint()));
    // The body may be longer than a branch reaches.
    let back = turn as i64 - code.len() as i64 - 4;
    code.extend(frame(&format!("beq x{TURNS}, x0, 8\n jal x0, {back}")));
}

/// The lines that `line` makes of each register.
fn lines(registers: impl IntoIterator<Item = Register>, line: impl Fn(Register) -> String) -> String {
    registers.into_iter().map(|register| line(register) + "\n").collect()
}

/// Fills all registers.
fn prologue() -> String {
    let integers = lines((5..30).chain([1]), |rd| format!("ld x{rd}, {}(x{POOL_POINTER})", 8 * rd));
    let floats = lines(0..32, |rd| format!("fld f{rd}, {}(x{POOL_POINTER})", 256 + 8 * rd));
    let places = [(2, SCRATCH + 512), (3, SCRATCH + 2048), (RECORD, LOG)];
    let places = places.map(|(rd, place)| format!("li x{rd}, {place}")).join("\n");
    format!("li x{POOL_POINTER}, {POOL}\n {integers} {floats} {places}\n csrrwi x0, {FCSR}, 0")
}

/// Stores a record and moves on. x5 is overwritten by the status that is stored.
fn checkpoint() -> String {
    let integers = lines(1..32, |rs2| format!("sd x{rs2}, {}(x{RECORD})", 8 * (rs2 - 1)));
    let floats = lines(0..32, |rs2| format!("fsd f{rs2}, {}(x{RECORD})", 8 * (31 + rs2)));
    format!(
        "{integers} {floats}
        csrrs x5, {FCSR}, x0
        sd x5, {}(x{RECORD})
        csrrwi x0, {FFLAGS}, 0
        addi x{RECORD}, x{RECORD}, {RECORD_BYTES}
        addi x{POOL_POINTER}, x{POOL_POINTER}, {POOL_STEP}
        addi x{TURNS}, x{TURNS}, -1",
        8 * 63
    )
}

/// Calls `write` until all is written; exits with code 1 when it fails.
fn write_all(address: u64, bytes: usize) -> String {
    format!(
        "li x11, {address}
        li x12, {bytes}
    again:
        beqz x12, done
        li x10, 1
        li x17, 64
        ecall
        blt x0, x10, written
        li x10, 1
        li x17, 93
        ecall
    written:
        add x11, x11, x10
        sub x12, x12, x10
        j again
    done:"
    )
}

/// The instructions of a body, with the jumps' distances filled in.
fn assembled(items: &[Item]) -> Vec<Instruction> {
    let mut starts = vec![0];
    for item in items {
        starts.push(starts[starts.len() - 1] + item_bytes(item));
    }
    let mut code = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Plain(instructions) => code.extend(instructions),
            Item::Jump { kind, over } => {
                let last = (index + 1 + over).min(items.len());
                let distances = starts[index + 1..=last].iter().map(|start| (start - starts[index]) as i64);
                let distance = distances.take_while(|distance| *distance <= kind.reach()).last();
                // The next item is always in reach.
                code.extend(kind.code(distance.unwrap_or_default()));
            }
        }
    }
    code
}

fn item_bytes(item: &Item) -> usize {
    match item {
        Item::Plain(instructions) => instructions.iter().map(|instruction| instruction.bytes()).sum(),
        // The distance does not change the length.
        Item::Jump { kind, .. } => kind.code(16).iter().map(|instruction| instruction.bytes()).sum(),
    }
}
