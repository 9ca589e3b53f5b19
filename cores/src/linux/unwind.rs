//! From a function to its caller, by a program's frame tables: `.eh_frame`, which compilers write
//! also without debug information, and `.debug_frame`.
//!
//! A table says for each instruction of a function where the caller's stack pointer was
//! and where the registers are kept that the function has saved (DWARF 5, Section 6.4). So a chain of
//! calls is found in code without frame pointers too, and at any instruction.

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EndianSlice, LittleEndian, Register, RegisterRule,
    UnwindContext, UnwindSection,
};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};

use super::elf::Program;

/// The number of the return address register.
const RA: u16 = 1;
/// The number of the stack pointer.
const SP: u16 = 2;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The frame tables of a program.
pub struct FrameTables<'a> {
    bases: BaseAddresses,
    eh_frame: Option<EhFrame<Slice<'a>>>,
    debug_frame: Option<DebugFrame<Slice<'a>>>,
}

/// The state of a caller, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallerState {
    /// The address behind the call; that of the instruction itself, if it was interrupted.
    pub return_address: u64,
    /// Whether it has called nothing, and an interrupt or a refused access came.
    pub was_interrupted: bool,
    /// Its integer registers; those that a function need not keep are as they were.
    pub registers: [u64; 32],
}

/// What the tables say of an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Caller {
    /// They have nothing on it.
    Unknown,
    /// Its function was called from nowhere, or what it has saved cannot be read.
    None,
    /// Its function's caller.
    Found(Box<CallerState>),
}

impl<'a> FrameTables<'a> {
    /// Those of a program, which may have none.
    pub fn new(program: &'a Program) -> Self {
        let elf = ElfFile64::<object::LittleEndian>::parse(program.file()).ok();
        let section = |name: &str| elf.as_ref()?.section_by_name(name);
        let bytes = |name: &str| section(name).and_then(|section| section.data().ok());
        let address = |name: &str| section(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(address(".eh_frame_hdr"))
            .set_eh_frame(address(".eh_frame"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        let eh_frame = bytes(".eh_frame").map(|bytes| {
            let mut table = EhFrame::new(bytes, LittleEndian);
            table.set_address_size(8);
            table
        });
        let debug_frame = bytes(".debug_frame").map(|bytes| {
            let mut table = DebugFrame::new(bytes, LittleEndian);
            table.set_address_size(8);
            table
        });
        FrameTables { bases, eh_frame, debug_frame }
    }

    /// The caller of the function in which `address` is. `is_leaf` says whether that has called nothing:
    /// only then the return address may still be in its register. `read` gives the
    /// doubleword at an address of the program's memory.
    pub fn caller(
        &self,
        address: u64,
        registers: &[u64; 32],
        is_leaf: bool,
        read: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Caller {
        let frame = Frame { bases: &self.bases, address, registers, is_leaf };
        let found = self.eh_frame.as_ref().map_or(Caller::Unknown, |table| frame.caller(table, read));
        match (found, &self.debug_frame) {
            (Caller::Unknown, Some(table)) => frame.caller(table, read),
            (found, _) => found,
        }
    }
}

/// A function whose caller is sought.
struct Frame<'a> {
    bases: &'a BaseAddresses,
    address: u64,
    registers: &'a [u64; 32],
    is_leaf: bool,
}

impl Frame<'_> {
    fn caller<'a, S: UnwindSection<Slice<'a>>>(
        &self,
        table: &S,
        read: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Caller {
        let mut context = UnwindContext::new();
        let Ok(entry) = table.fde_for_address(self.bases, self.address, S::cie_from_offset) else {
            return Caller::Unknown;
        };
        let Ok(row) = entry.unwind_info_for_address(table, self.bases, &mut context, self.address) else {
            return Caller::Unknown;
        };
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return Caller::None };
        let Some(base) = self.registers.get(usize::from(register.0)) else { return Caller::None };
        let stack = base.wrapping_add_signed(offset);
        let mut registers = *self.registers;
        registers[usize::from(SP)] = stack;
        let mut return_address = self.is_leaf.then_some(self.registers[usize::from(RA)]);
        for (Register(number), rule) in row.registers() {
            if usize::from(*number) >= registers.len() {
                continue;
            }
            let value = match *rule {
                RegisterRule::Offset(offset) => read(stack.wrapping_add_signed(offset)),
                RegisterRule::ValOffset(offset) => Some(stack.wrapping_add_signed(offset)),
                RegisterRule::Register(Register(other)) => self.registers.get(usize::from(other)).copied(),
                RegisterRule::SameValue => continue,
                _ => None,
            };
            if let Some(value) = value {
                registers[usize::from(*number)] = value;
            }
            if *number == RA {
                return_address = value;
            }
        }
        match return_address {
            Some(return_address) if return_address != 0 => {
                let was_interrupted = entry.is_signal_trampoline();
                Caller::Found(CallerState { return_address, was_interrupted, registers }.into())
            }
            _ => Caller::None,
        }
    }
}
