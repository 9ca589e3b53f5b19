//! Following a program: what a processor executes, told instruction by instruction.
//!
//! [`Processor::run`](crate::Processor::run) tells nobody anything, and pays nothing for
//! it: telling is part of another instance of the same code, which comes back from the
//! threaded handlers after each instruction
//! ([`Processor::run_followed`](crate::Processor::run_followed)). Both do the same to the
//! processor.
//!
//! A follower hears where the processor is before each instruction, and of those jumps
//! that calls are made of. Which they are is what the RISC-V manual recommends to
//! predictors of return addresses ("Unconditional Jumps"): a jump that links x1 or x5 is a
//! call, one to an address in x1 or x5 a return, and one that does both is a return and a
//! call.

use narthex_kernel::Time;

use crate::decode::SHORT;
use crate::extensions::{FAR_JUMP, number_of};
use crate::operation::{Operation, SINK};

const JAL: u16 = number_of("jal");
const JALR: u16 = number_of("jalr");
const URET: u16 = number_of("uret");

/// A jump of which calls are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jump {
    /// A function was called, which is to return to this address.
    Call(u64),
    /// A function returned.
    Return,
    /// A handler was called for an interrupt or for a refused access; it is to return to this
    /// address.
    Trap(u64),
    /// A handler returned (`uret`).
    TrapReturn,
}

/// Hears what a processor executes.
pub trait Follower {
    /// Whether it hears anything.
    const LISTENS: bool;

    /// The instruction at `pc` is executed next; it may issue at `at` at the earliest. An
    /// instruction that waits is told of again when it goes on.
    fn executes(&mut self, at: Time, pc: u64);

    /// The processor has jumped to `target`; its stack pointer is `stack` there, and `result` what
    /// a function that has returned gives (register a0).
    fn jumped(&mut self, jump: Jump, target: u64, stack: u64, result: u64);

    /// Whether the processor is to stop before it executes the instruction at `pc`, to which it has
    /// come: as at its horizon, and what it does when it goes on is the same.
    fn pauses_at(&mut self, _pc: u64) -> bool {
        false
    }
}

/// The follower that hears nothing.
impl Follower for () {
    const LISTENS: bool = false;

    fn executes(&mut self, _: Time, _: u64) {}

    fn jumped(&mut self, _: Jump, _: u64, _: u64, _: u64) {}
}

/// The jumps as which an operation, executed at `pc`, counts when the processor is at `next` behind
/// it: none, one, or a return and a call.
#[inline]
pub(crate) fn jumps(operation: Operation, pc: u64, next: u64) -> [Option<Jump>; 2] {
    let Operation { code, rd, rs1, .. } = operation;
    let behind = pc.wrapping_add(if code & SHORT == 0 { 4 } else { 2 });
    let number = code & 0xff;
    if number == URET {
        return [Some(Jump::TrapReturn), None];
    }
    if next == behind || !matches!(number, JAL | JALR | FAR_JUMP) {
        return [None, None];
    }
    let is_link = |register: u8| register == 1 || register == 5;
    let calls = is_link(rd);
    let returns = number == JALR && is_link(rs1) && if calls { rd != rs1 } else { rd == SINK };
    [returns.then_some(Jump::Return), calls.then_some(Jump::Call(behind))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Config, FlatMemory, Functional, InOrder, Processor, Stop, assemble};

    #[derive(Default)]
    struct Heard {
        executed: Vec<(u64, u64)>,
        jumps: Vec<(Jump, u64, u64)>,
    }

    impl Follower for Heard {
        const LISTENS: bool = true;

        fn executes(&mut self, at: Time, pc: u64) {
            self.executed.push((at.as_ps(), pc));
        }

        fn jumped(&mut self, jump: Jump, target: u64, _: u64, result: u64) {
            self.jumps.push((jump, target, result));
        }
    }

    const PROGRAM: &str = "
        addi a0, zero, 3
        jal ra, 12
        addi t1, t1, 1
        ecall
        addi a0, a0, -1
        bne a0, zero, -4
        jalr zero, 0(ra)";

    #[test]
    fn a_follower_hears_each_instruction_and_the_jumps_that_calls_are_made_of() {
        let code = assemble::assemble(0x1000, PROGRAM).unwrap();
        let mut processor = Processor::<Functional>::new(&Config::simple(), Code::new(0x1000, &code).into());
        processor.set_pc(0x1000);
        let mut heard = Heard::default();
        let stop = processor.run_followed(&mut FlatMemory::new(), Time::NEVER, &mut heard);
        assert_eq!(stop, Stop::SystemCall);
        let places: Vec<u64> = heard.executed.iter().map(|(_, pc)| pc - 0x1000).collect();
        assert_eq!(places, [0, 4, 16, 20, 16, 20, 16, 20, 24, 8, 12]);
        assert_eq!(heard.jumps, [(Jump::Call(0x1008), 0x1010, 3), (Jump::Return, 0x1008, 0)]);
    }

    #[test]
    fn a_processor_that_is_followed_does_the_same_at_the_same_times() {
        let code = assemble::assemble(0x1000, PROGRAM).unwrap();
        let start = || {
            let mut processor = Processor::<InOrder>::new(&Config::simple(), Code::new(0x1000, &code).into());
            processor.set_pc(0x1000);
            processor
        };
        let (mut alone, mut followed) = (start(), start());
        alone.run(&mut FlatMemory::new(), Time::NEVER);
        let mut heard = Heard::default();
        followed.run_followed(&mut FlatMemory::new(), Time::NEVER, &mut heard);
        assert_eq!((alone.now(), alone.retired()), (followed.now(), followed.retired()));
        assert_eq!(alone.registers(), followed.registers());
        assert!(heard.executed.is_sorted_by_key(|(at, _)| *at));
    }
}
