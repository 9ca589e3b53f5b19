//! Two general registers that are a network interface's: `x30` receives, `x31` sends.
//!
//! ```text
//!   csrsi netmap, 1     the registers are the network's
//!   mv    x31, a0       pushes eight bytes            ──► store to SEND    ┐ of the register page
//!   mv    a1, x30       pops eight bytes              ──► load of RECEIVE  ┘ that netmap names
//!   csrci netmap, 1     they are ordinary registers again
//! ```
//!
//! So programs reach the network in the nanoPU (Ibanez et al., OSDI 2021): reading `netRX` pops the
//! next word of a message, writing `netTX` pushes one. There a thread that uses them is compiled with
//! both registers reserved. Here only the driver is, and it says for how long: outside of it all code
//! keeps its registers.
//!
//! **netmap** (0x801, a register of the simulator's own, as `tag` is) holds the address of the
//! interface's register page, and in its lowest bits
//!
//! | bit | |
//! | --- | --- |
//! | 0 | the registers are the network's |
//! | 1 | they were, before the trap |
//!
//! A trap moves the first into the second and clears it, so that a handler has its registers; `uret`
//! moves it back. A handler that lets other traps come between saves netmap with the registers.
//!
//! **Decoding.** While the registers are the network's, code is decoded anew, into operations that no
//! handler tells from other loads and stores: a move from `x30` becomes a load, one to `x31` a store,
//! at the interface's registers. They cross the processor's own path to the interface, and take what
//! `[register_file]` says. So no other instruction of any program costs the host more.
//!
//! **What is simplified.** Moves alone reach the network. In the nanoPU any instruction may name the
//! registers; one that does here, and is no move, is an illegal instruction.

use crate::extensions::{ILLEGAL, number_of};
use crate::instruction::{Instruction, Registers};
use crate::operation::Operation;

/// Where the register file has the address of the network's registers, for the operations below.
pub(crate) const NETWORK: u8 = 65;

/// netmap: the registers are the network's.
pub(crate) const IS_MAPPED: u64 = 1;
/// netmap: they were before the trap.
pub(crate) const WAS_MAPPED: u64 = 2;

/// The register whose reads pop.
const NET_RX: u8 = 30;
/// The register whose writes push.
const NET_TX: u8 = 31;

/// Where an interface has the register that takes what is pushed, in its register page.
pub const SEND_OFFSET: u64 = 0x08;
/// Where it has the register that gives what is popped.
pub const RECEIVE_OFFSET: u64 = 0x10;

/// The operation for an instruction while the registers are the network's; `ordinary` is the
/// operation that it is else.
pub(crate) fn mapped(instruction: &Instruction, ordinary: Operation) -> Operation {
    const LOAD: u16 = number_of("ld");
    const STORE: u16 = number_of("sd");
    let is_network = |register| matches!(register, NET_RX | NET_TX);
    let third = instruction.rs3 == Some(Registers::Integer) && is_network(ordinary.rs3);
    if !third && ![ordinary.rd, ordinary.rs1, ordinary.rs2].into_iter().any(is_network) {
        return ordinary;
    }
    let bare = Operation { rs1: NETWORK, ..Operation::bare(ILLEGAL) };
    match (ordinary.rd, moved(ordinary)) {
        (rd, Some(NET_RX)) if !is_network(rd) => {
            Operation { code: LOAD, rd, immediate: RECEIVE_OFFSET as i64, ..bare }
        }
        (NET_TX, Some(source)) if !is_network(source) => {
            Operation { code: STORE, rs2: source, immediate: SEND_OFFSET as i64, ..bare }
        }
        _ => Operation::bare(ILLEGAL),
    }
}

/// The register that a move copies, if the operation is one.
fn moved(operation: Operation) -> Option<u8> {
    const ADD: u16 = number_of("add");
    const ADD_IMMEDIATE: u16 = number_of("addi");
    match operation {
        Operation { code: ADD_IMMEDIATE, rs1, immediate: 0, .. } => Some(rs1),
        // What `c.mv` expands to.
        Operation { code: ADD, rs1: 0, rs2, .. } => Some(rs2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::linux::{GuestMemory, Protection};
    use narthex_kernel::{Archive, Time};

    use crate::{Code, Config, FlatMemory, Functional, Processor, Stop, assemble};

    const PAGE: u64 = 0x4000;

    fn run(program: &str) -> (Processor<Functional>, FlatMemory, Stop) {
        let code = assemble::assemble(0x1000, program).unwrap();
        let mut memory = FlatMemory::new();
        memory.map(0x1000, 0x4000, Protection { read: true, write: true, execute: true });
        memory.write(0x1000, &code).unwrap();
        memory.write(PAGE + super::RECEIVE_OFFSET, &77u64.to_le_bytes()).unwrap();
        let mut processor = Processor::new(&Config::simple(), Code::new(0x1000, &code).into());
        processor.set_pc(0x1000);
        processor.set_x(5, PAGE);
        processor.set_x(6, 42);
        let stop = processor.run(&mut memory, Time::NEVER);
        (processor, memory, stop)
    }

    fn sent(memory: &mut FlatMemory) -> u64 {
        let mut bytes = [0; 8];
        memory.read(PAGE + super::SEND_OFFSET, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn moves_reach_the_network_while_it_has_the_registers_and_no_longer() {
        let (processor, mut memory, stop) = run("csrrw zero, 0x801, t0
             addi t5, zero, 1
             addi t6, zero, 2
             csrrsi a2, 0x801, 1
             addi a0, t5, 0
             addi t6, t1, 0
             csrrci a3, 0x801, 1
             addi a1, t5, 0
             ecall");
        assert_eq!(stop, Stop::SystemCall);
        assert_eq!((processor.x(10), sent(&mut memory)), (77, 42));
        assert_eq!((processor.x(11), processor.x(30), processor.x(31)), (1, 1, 2));
        assert_eq!((processor.x(12), processor.x(13)), (PAGE, PAGE + 1));
        assert_eq!(processor.retired(), 9);
    }

    #[test]
    fn an_instruction_that_is_no_move_is_illegal_there() {
        for wrong in ["add a0, a0, t5", "addi t6, t5, 0", "addi t5, a0, 0", "addi a0, t6, 0", "ld t6, 0(t0)"]
        {
            let (processor, ..) = run(&format!("csrrw zero, 0x801, t0\n csrrsi zero, 0x801, 1\n {wrong}"));
            assert_eq!((processor.pc(), processor.retired()), (0x1008, 2), "{wrong}");
        }
        // The number of a CSR instruction is no register.
        assert_eq!(run("csrrsi zero, 0x801, 1\n csrrsi zero, 0x003, 31\n ecall").2, Stop::SystemCall);
    }

    #[test]
    fn a_checkpoint_has_whose_the_registers_are() {
        let (mut processor, mut memory, _) = run("csrrw zero, 0x801, t0
             csrrsi zero, 0x801, 1
             ecall
             addi a0, t5, 0
             ecall");
        let bytes = Archive::save(&mut processor).unwrap();
        let mut other = Processor::new(&Config::simple(), Code::empty().into());
        Archive::restore(&bytes, &mut other).unwrap();
        for processor in [&mut processor, &mut other] {
            assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
            assert_eq!(processor.x(10), 77);
        }
    }

    #[test]
    fn a_handler_has_its_registers() {
        // A handler's return without a trap shows what uret does alone.
        let (processor, ..) = run("addi t0, t0, 2
             csrrw zero, 0x801, t0
             auipc a0, 0
             addi a0, a0, 16
             csrrw zero, 0x041, a0
             uret
             csrrs a1, 0x801, zero
             ecall");
        assert_eq!(processor.x(11), PAGE + 1);
    }
}
