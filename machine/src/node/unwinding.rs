//! The calls that led to where a processor is, for messages about faults and hangs.
//!
//! Each function's caller is found by the program's frame tables
//! ([`narthex_cores::linux::unwind`]); where they have nothing on a function, by the frame
//! pointers that `narthex cc` has programs keep: in front of where s0 points are the
//! return address and the caller's s0.
//!
//! **Interrupted functions.** The handler of an interrupt or of a refused access says so in its frame table
//! (`.cfi_signal_frame`): the function behind it goes on at the address that it gives.
//!
//! **No stale address.** Any other return address is a frame only if a call stands in front of it. One that
//! the tables have not vouched for may be left in its register from a call that has returned: it
//! is in the function itself then, or behind a call of another function, and is not taken.

use std::sync::Arc;

use narthex_cores::linux::Program;
use narthex_cores::linux::unwind::{Caller, CallerState, FrameTables};

use super::Node;

const RA: usize = 1;
const SP: usize = 2;
const S0: usize = 8;

/// Calls that are shown, at most.
const LONGEST: usize = 12;

/// A function whose caller is sought, by frame pointers.
struct Callee<'a> {
    program: &'a Program,
    address: u64,
    registers: [u64; 32],
    is_leaf: bool,
}

impl Node {
    /// Where a processor is, and behind which calls that led there, innermost first.
    pub(super) fn call_chain(&mut self, index: usize) -> Vec<u64> {
        let program: Arc<Program> = self.program_of(index).clone();
        let tables = FrameTables::new(&program);
        let processor = &self.processors[index].processor;
        let mut registers: [u64; 32] = std::array::from_fn(|number| processor.x(number));
        let mut chain = vec![processor.pc()];
        let mut is_leaf = true;
        while chain.len() < LONGEST {
            // A return address is behind its call, which may be the last instruction of a function.
            let address = chain[chain.len() - 1] - u64::from(!is_leaf);
            let read = &mut |address| self.read_words(index, address).map(|[word, _]| word);
            let caller = match tables.caller(address, &registers, is_leaf, read) {
                Caller::Found(caller) => Some(*caller),
                Caller::None => None,
                Caller::Unknown => {
                    let callee = Callee { program: &program, address, registers, is_leaf };
                    self.caller_by_frame_pointer(index, &callee)
                }
            };
            let Some(CallerState { return_address, was_interrupted, registers: above }) = caller else {
                break;
            };
            let goes_up = above[SP] > registers[SP] || is_leaf && above[SP] == registers[SP];
            if !goes_up || !was_interrupted && call_before(&program, return_address).is_none() {
                break;
            }
            chain.push(return_address);
            (registers, is_leaf) = (above, was_interrupted);
        }
        chain
    }

    /// The caller of a function of which the tables say nothing.
    fn caller_by_frame_pointer(&mut self, index: usize, callee: &Callee<'_>) -> Option<CallerState> {
        let Callee { registers, .. } = callee;
        let (frame, stack) = (registers[S0], registers[SP]);
        let is_frame = frame > stack && frame.is_multiple_of(8);
        let saved = if is_frame { self.read_words(index, frame.wrapping_sub(16)) } else { None };
        // A leaf keeps no frame; one that it keeps has its caller in both places at first.
        let is_own = saved.is_some_and(|[_, return_address]| return_address == registers[RA]);
        if callee.is_leaf && !is_own && callee.was_called_from(registers[RA]) {
            let registers = *registers;
            return Some(CallerState { return_address: registers[RA], was_interrupted: false, registers });
        }
        let [caller_frame, return_address] = saved?;
        let mut above = *registers;
        (above[S0], above[SP]) = (caller_frame, frame);
        Some(CallerState { return_address, was_interrupted: false, registers: above })
    }
}

impl Callee<'_> {
    /// Whether the function may return to an address: a call of it stands in front.
    fn was_called_from(&self, return_address: u64) -> bool {
        let function = |address| self.program.symbol(address).map(|(_, offset)| address - offset);
        let here = function(self.address);
        let is_elsewhere = || function(return_address - 1) != here;
        match call_before(self.program, return_address) {
            None => false,
            Some(Call::ToRegister) => is_elsewhere(),
            Some(Call::To(target)) => is_elsewhere() && (function(target) == here || here.is_none()),
        }
    }
}

/// A call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    /// Of the function at this address.
    To(u64),
    /// Of one whose address is in a register.
    ToRegister,
}

/// The call that stands in front of an address, if one does.
fn call_before(program: &Program, address: u64) -> Option<Call> {
    let halfword = |at: u64| {
        let (first, bytes) =
            program.code().find(|(first, bytes)| at >= *first && at - first + 2 <= bytes.len() as u64)?;
        let place = (at - first) as usize;
        Some(u32::from(u16::from_le_bytes([bytes[place], bytes[place + 1]])))
    };
    let last = halfword(address.checked_sub(2)?)?;
    // jalr of 16 bits, which links ra.
    if last & 0xf07f == 0x9002 && last & 0xf80 != 0 {
        return Some(Call::ToRegister);
    }
    let at = address.checked_sub(4)?;
    let bits = halfword(at)? | last << 16;
    let instruction = narthex_cores::instruction::find(bits)?;
    if !matches!(bits >> 7 & 31, 1 | 5) {
        return None;
    }
    match instruction.name {
        "jal" => Some(Call::To(at.wrapping_add_signed(instruction.immediate_of(bits)))),
        "jalr" => Some(Call::ToRegister),
        _ => None,
    }
}
