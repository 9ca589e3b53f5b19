//! Firmware: a program on a processor without an operating system.
//!
//! Its file is an ELF program like any other ([`Program::parse_firmware`]), whose
//! segments say where it lies in the memory of its processor. It starts at the file's
//! entry with all registers zero, sets its own stack up, and reaches devices at their
//! addresses. Devices call it by interrupts ([`crate::traps`]), for which it waits with
//! `wfi`. There is nothing that it could call but what tells the user something
//! ([`is_firmwares`](crate::linux::is_firmwares)): another system call ends the run.

use crate::linux::address_space::AddressSpace;
use crate::linux::start::load;
use crate::linux::{GuestMemory, Program, StartError, Started};

/// Puts the firmware's segments into memory. What is called its address space has
/// nothing in it but these.
///
/// # Errors
/// If a segment does not fit.
pub fn start(program: &Program, memory: &mut impl GuestMemory) -> Result<Started, StartError> {
    let mut space = AddressSpace::with_heap_at(program.heap_start());
    load(program, &mut space, memory)?;
    Ok(Started { program_counter: program.entry(), stack_pointer: 0, space })
}
