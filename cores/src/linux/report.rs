//! What the author of a guest program reads when it faults.
//!
//! The report answers, in this order: what happened, where in the program, what
//! the address is that was accessed, and what the registers held. Functions
//! come from the program's symbols and lines from its debug information, where
//! it has them (`-g`).

use super::address_space::AddressSpace;
use super::elf::Program;
use super::privileged::use_of_privilege;
use crate::assemble::{FLOAT_NAMES, INTEGER_NAMES};
use crate::stop::{Fault, FaultKind};
use std::fmt;

const COLUMNS: usize = 4;

/// A guest's fault with all that explains it; its `Display` is the report.
#[derive(Debug)]
pub struct FaultReport<'a> {
    /// Which processor of which node.
    pub who: &'a str,
    /// What happened.
    pub fault: Fault,
    /// The addresses behind the calls that led there, innermost first.
    pub calls: &'a [u64],
    /// The integer registers, x0 first.
    pub integers: &'a [u64; 32],
    /// The bits of the floating-point registers.
    pub floats: &'a [u64; 32],
    /// The program that ran.
    pub program: &'a Program,
    /// Its address space.
    pub space: &'a AddressSpace,
    /// What the address is, if it is another process's.
    pub owner: Option<String>,
    /// Why the handler that the program has for it could not begin.
    pub unhandled: Option<String>,
}

impl fmt::Display for FaultReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.who, self.fault)?;
        writeln!(f, "  program     {}", self.program.name())?;
        let pc = self.fault.pc;
        writeln!(f, "  at          {}", self.location(pc, pc))?;
        for &call in self.calls {
            // The line that called is that of the instruction before.
            writeln!(f, "  called from {}", self.location(call, call.wrapping_sub(1)))?;
        }
        if let Some(explanation) = self.explanation() {
            writeln!(f, "  {explanation}")?;
        }
        if let Some(unhandled) = &self.unhandled {
            writeln!(f, "  {unhandled}")?;
        }
        write_registers(f, self.integers, self.floats)
    }
}

impl FaultReport<'_> {
    /// The address, its function and the line of source of `instruction`, as
    /// far as known.
    fn location(&self, address: u64, instruction: u64) -> String {
        let mut text = format!("{address:#x}");
        if let Some((name, offset)) = self.program.symbol(address) {
            text += &format!(" {name}+{offset:#x}");
        }
        if let Some(line) = self.program.source_line(instruction) {
            text += &format!(" ({line})");
        }
        text
    }

    /// What helps to understand this kind of fault.
    fn explanation(&self) -> Option<String> {
        match self.fault.kind {
            FaultKind::IllegalInstruction => {
                let bits = self.fault.bits;
                Some(match use_of_privilege(bits) {
                    Some(does) => format!(
                        "instruction {bits:#010x} {does}: programs are Linux programs in user mode (compile with \
                         `narthex cc`), and firmware has the registers of docs/firmware.md"
                    ),
                    None => format!(
                        "instruction {bits:#010x}; processors execute RV64GC: compile with \
                         -mcpu=generic_rv64+m+a+f+d+c, as `narthex cc` does"
                    ),
                })
            }
            FaultKind::Breakpoint => Some("the program stopped itself: a failed assertion, or undefined behaviour that the compiler traps".into()),
            FaultKind::Interrupt(_) => {
                Some("the line is enabled in uie, and interrupts are in ustatus: store the handler's address to utvec first".into())
            }
            FaultKind::Fetch(_)
            | FaultKind::Load(_)
            | FaultKind::Store(_)
            | FaultKind::Tag { .. }
            | FaultKind::TagChange(_) => {
                let address = self.fault.address;
                Some(match &self.owner {
                    Some(owner) => format!("address     {address:#x} belongs to {owner}"),
                    None => format!("address     {address:#x} {}", self.space.place(address)),
                })
            }
        }
    }
}

/// Writes what the integer registers hold, and the floating-point ones unless
/// all of them are zero.
pub fn write_registers(text: &mut impl fmt::Write, integers: &[u64; 32], floats: &[u64; 32]) -> fmt::Result {
    write_file(text, &INTEGER_NAMES, integers)?;
    if floats.iter().any(|value| *value != 0) {
        write_file(text, &FLOAT_NAMES, floats)?;
    }
    Ok(())
}

fn write_file(text: &mut impl fmt::Write, names: &[&str; 32], values: &[u64; 32]) -> fmt::Result {
    for row in 0..32 / COLUMNS {
        let cell = |column: usize| {
            let index = row * COLUMNS + column;
            format!("{:>4} {:016x}", names[index], values[index])
        };
        let cells: Vec<String> = (0..COLUMNS).map(cell).collect();
        writeln!(text, "  {}", cells.join("  "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::start::{Invocation, start};
    use super::super::test_memory::TestMemory;
    use super::*;
    use crate::test_elf::Image;
    use narthex_memory::port::AccessFault;

    fn report(fault: Fault, floats: [u64; 32]) -> String {
        let program = Program::parse("prog", Image::sound().build()).expect("sound");
        let started = start(&program, &Invocation::default(), &mut TestMemory::default()).expect("it starts");
        let mut integers = [0; 32];
        (integers[1], integers[10]) = (0x1_0008, 0xdead_beef);
        let space = &started.space;
        FaultReport {
            who: "node 3, processor 0",
            fault,
            calls: &[0x1_0008],
            integers: &integers,
            floats: &floats,
            program: &program,
            space,
            owner: None,
            unhandled: Some("the program has a handler for SIGSEGV, but the thread blocks it".into()),
        }
        .to_string()
    }

    #[test]
    fn a_bad_load_is_located_explained_and_shown_with_the_registers() {
        let kind = FaultKind::Load(AccessFault::Unmapped);
        let text = report(Fault { kind, pc: 0x1_0004, address: 0x10, bits: 0x0005_3503 }, [0; 32]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "node 3, processor 0: load from 0x10 at 0x10004: no memory is mapped there");
        assert_eq!(lines[2], "  at          0x10004 _start+0x4");
        assert_eq!(lines[3], "  called from 0x10008 label+0x0");
        assert_eq!(lines[4], "  address     0x10 in the first page: a null pointer?");
        let row =
            "    s0 0000000000000000    s1 0000000000000000    a0 00000000deadbeef    a1 0000000000000000";
        assert_eq!(lines[5], "  the program has a handler for SIGSEGV, but the thread blocks it");
        assert_eq!(lines[8], row);
        assert_eq!(lines.len(), 14);
    }

    #[test]
    fn floats_are_shown_only_when_one_is_not_zero() {
        let fault = Fault { kind: FaultKind::Breakpoint, pc: 0x1_0004, address: 0x1_0004, bits: 0x9002 };
        let mut floats = [0; 32];
        floats[10] = 1.5f64.to_bits();
        let text = report(fault, floats);
        assert!(text.contains("fa0 3ff8000000000000"), "{text}");
        assert!(!report(fault, [0; 32]).contains("fa0"));
    }

    #[test]
    fn an_illegal_instruction_comes_with_the_compiler_flags_that_avoid_it() {
        let fault =
            Fault { kind: FaultKind::IllegalInstruction, pc: 0x1_0000, address: 0x1_0000, bits: 0x5700_7057 };
        let text = report(fault, [0; 32]);
        assert!(text.contains("instruction 0x57007057; processors execute RV64GC"), "{text}");
        let text = report(Fault { bits: 0xf140_2573, ..fault }, [0; 32]);
        assert!(text.contains("instruction 0xf1402573 reads the machine-mode register mhartid: "), "{text}");
    }
}
