//! What an instruction does to a turn that is observed: from its place in the
//! instruction set, known before it is executed.

use std::sync::LazyLock;

use narthex_memory::Port;

use super::Observation;
use super::growth::{Comparison, Growing, Growth};
use crate::extensions::{COUNTERS, FAR_BRANCH, FAR_JUMP, FIRST_NUMBER};
use crate::instruction::{Instruction, instructions};
use crate::network_registers::NETWORK;
use crate::operation::{Operation, SINK};

/// What an instruction will have done once it is executed.
pub(super) struct Effect {
    rd: u8,
    growth: u64,
    /// Its load does not hit the most recently used line of its set.
    pub misses: bool,
}

impl Effect {
    /// Nothing but time.
    const NONE: Effect = Effect { rd: SINK, growth: 0, misses: false };

    /// A result that grows so.
    fn result(operation: &Operation, growth: u64) -> Option<Effect> {
        Some(Effect { rd: operation.rd, growth, ..Effect::NONE })
    }

    /// The instruction is executed.
    pub fn apply(&self, growth: &mut Growth) {
        growth.set(self.rd, self.growth);
    }
}

/// What kinds of instructions there are, for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Load {
        bytes: u8,
    },
    Store {
        bytes: u8,
    },
    Branch(Comparison),
    Compare(Comparison),
    CompareImmediate(Comparison),
    Add,
    AddImmediate,
    Subtract,
    ShiftLeft,
    ReadRegister,
    /// Its result follows from its registers.
    Compute,
    /// A marker, or a fence.
    Nothing,
    /// A turn with it cannot be known.
    Unknown,
}

/// Major opcodes whose instructions only compute, in registers: OP-IMM, AUIPC,
/// OP-IMM-32, OP, LUI, OP-32, fused multiply-add, OP-FP.
const COMPUTING: [u32; 11] = [0x13, 0x17, 0x1b, 0x33, 0x37, 0x3b, 0x43, 0x47, 0x4b, 0x4f, 0x53];

impl Kind {
    fn of(instruction: &Instruction) -> Kind {
        let bytes = || match instruction.name.trim_start_matches('f').as_bytes()[1] {
            b'b' => 1,
            b'h' => 2,
            b'w' => 4,
            _ => 8,
        };
        match (instruction.name, instruction.value & 0x7f) {
            ("beq" | "bne", _) => Kind::Branch(Comparison::Equal),
            ("blt" | "bge", _) => Kind::Branch(Comparison::Less),
            ("bltu" | "bgeu", _) => Kind::Branch(Comparison::LessUnsigned),
            ("slt", _) => Kind::Compare(Comparison::Less),
            ("sltu", _) => Kind::Compare(Comparison::LessUnsigned),
            ("slti", _) => Kind::CompareImmediate(Comparison::Less),
            ("sltiu", _) => Kind::CompareImmediate(Comparison::LessUnsigned),
            ("add", _) => Kind::Add,
            ("addi", _) => Kind::AddImmediate,
            ("sub", _) => Kind::Subtract,
            ("slli", _) => Kind::ShiftLeft,
            ("csrrs", _) => Kind::ReadRegister,
            ("marker" | "fence", _) => Kind::Nothing,
            ("jal" | "jalr", _) => Kind::Compute,
            (_, 0x03 | 0x07) => Kind::Load { bytes: bytes() },
            (_, 0x23 | 0x27) => Kind::Store { bytes: bytes() },
            (_, opcode) if COMPUTING.contains(&opcode) => Kind::Compute,
            _ => Kind::Unknown,
        }
    }

    fn of_operation(operation: &Operation) -> Kind {
        static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| instructions().iter().map(Kind::of).collect());
        match operation.code & 0xff {
            FAR_BRANCH => Kind::Branch(match operation.rm >> 1 {
                0 => Comparison::Equal,
                2 => Comparison::Less,
                _ => Comparison::LessUnsigned,
            }),
            FAR_JUMP => Kind::Compute,
            number => match number.checked_sub(FIRST_NUMBER) {
                Some(place) => KINDS[usize::from(place)],
                None => Kind::Unknown,
            },
        }
    }
}

/// What `operation` will do to the turn; none if the turn cannot be known.
pub(super) fn foresee<P: Port>(
    turn: &mut Observation,
    operation: &Operation,
    registers: &[u64; SINK as usize],
    port: &mut P,
) -> Option<Effect> {
    let Operation { rs1, rs2, rs3, immediate, .. } = *operation;
    if rs1 == NETWORK {
        return None;
    }
    let growing = |register: u8| (registers[register as usize], turn.growth.of(register));
    let address = registers[rs1 as usize].wrapping_add_signed(immediate);
    let (first, second) = (growing(rs1), growing(rs2));
    let immediate = (immediate as u64, 0);
    let kind = Kind::of_operation(operation);
    match kind {
        Kind::Load { bytes } if first.1 == 0 => {
            turn.use_at(address);
            turn.use_at(address.wrapping_add(u64::from(bytes) - 1));
            let misses = load_hit(port, address, bytes).is_none();
            Some(Effect { rd: operation.rd, growth: 0, misses })
        }
        Kind::Store { bytes } if first.1 == 0 && second.1 == 0 => {
            turn.note_store(port, address, bytes).then_some(Effect::NONE)
        }
        Kind::Branch(comparison) => turn.compare(comparison, first, second).then_some(Effect::NONE),
        Kind::Compare(comparison) => turn.result_of(operation, comparison, first, second),
        Kind::CompareImmediate(comparison) => turn.result_of(operation, comparison, first, immediate),
        Kind::Add => Effect::result(operation, first.1.wrapping_add(second.1)),
        Kind::AddImmediate => Effect::result(operation, first.1),
        Kind::Subtract => Effect::result(operation, first.1.wrapping_sub(second.1)),
        Kind::ShiftLeft => Effect::result(operation, first.1 << (immediate.0 & 63)),
        Kind::ReadRegister if rs1 == 0 => turn.read_counter(operation),
        Kind::Compute if [rs1, rs2, rs3].iter().all(|&source| turn.growth.of(source) == 0) => {
            Effect::result(operation, 0)
        }
        Kind::Nothing => Some(Effect::NONE),
        _ => None,
    }
}

impl Observation {
    /// A comparison decides where the program goes on. False where the very next
    /// turn goes another way.
    fn compare(&mut self, comparison: Comparison, first: Growing, second: Growing) -> bool {
        self.limit = self.limit.min(comparison.turns_alike(first, second));
        self.limit > 0
    }

    /// The result of a comparison.
    fn result_of(
        &mut self,
        operation: &Operation,
        comparison: Comparison,
        first: Growing,
        second: Growing,
    ) -> Option<Effect> {
        self.compare(comparison, first, second).then(|| Effect::result(operation, 0))?
    }

    /// A read of the counter of cycles, nanoseconds or instructions. In the first
    /// turn it is not yet known by how much it grows.
    fn read_counter(&mut self, operation: &Operation) -> Option<Effect> {
        self.counted = true;
        let place = COUNTERS.iter().position(|&counter| counter == operation.immediate)?;
        let growth = self.counters.map_or(Some(0), |counters| counters[place]);
        Effect::result(operation, growth?)
    }

    /// Notes what the word held that is stored to; false if the store does not
    /// hit a line that may be written.
    fn note_store<P: Port>(&mut self, port: &mut P, address: u64, bytes: u8) -> bool {
        self.use_at(address);
        let word = address & !7;
        let (Some(value), Some(old)) = (port.load_hit::<8>(word), load_hit(port, address, bytes)) else {
            return false;
        };
        if !self.stored.iter().any(|&(stored, _)| stored == word) {
            self.stored.push((word, value));
        }
        // Storing what is there already tells whether a store would hit.
        match bytes {
            1 => port.store_hit::<1>(address, old),
            2 => port.store_hit::<2>(address, old),
            4 => port.store_hit::<4>(address, old),
            _ => port.store_hit::<8>(address, old),
        }
    }
}

fn load_hit<P: Port>(port: &mut P, address: u64, bytes: u8) -> Option<u64> {
    match bytes {
        1 => port.load_hit::<1>(address),
        2 => port.load_hit::<2>(address),
        4 => port.load_hit::<4>(address),
        _ => port.load_hit::<8>(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_that_may_leave_the_registers_is_known_as_such() {
        let kind = |name: &str| Kind::of(instructions().iter().find(|one| one.name == name).expect(name));
        assert_eq!(kind("lbu"), Kind::Load { bytes: 1 });
        assert_eq!(kind("flw"), Kind::Load { bytes: 4 });
        assert_eq!(kind("fld"), Kind::Load { bytes: 8 });
        assert_eq!(kind("sh"), Kind::Store { bytes: 2 });
        assert_eq!(kind("fsd"), Kind::Store { bytes: 8 });
        assert_eq!(kind("fence"), Kind::Nothing);
        for name in
            ["ecall", "ebreak", "uret", "wfi", "fence.i", "lr.d", "sc.w", "amoadd.d", "csrrw", "csrrsi"]
        {
            assert_eq!(kind(name), Kind::Unknown, "{name}");
        }
        let memory = |one: &&Instruction| matches!(Kind::of(one), Kind::Load { .. } | Kind::Store { .. });
        assert_eq!(instructions().iter().filter(memory).count(), 15, "eleven of integers, four of floats");
    }
}
