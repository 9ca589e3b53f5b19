//! From a program to a process: memory as Linux leaves it when it starts one.
//!
//! The segments are copied to their addresses. On the stack, the program finds
//! (from the stack pointer upward) the count of its arguments, their addresses,
//! the addresses of its environment, and the *auxiliary vector*: facts that a C
//! library needs before it can make a system call, such as where the program
//! headers are, from which it sets up thread-local storage. What the addresses
//! point to lies above:
//!
//! ```text
//! STACK_TOP ─▶ file name, arguments, environment: texts that end in a zero byte
//!              16 random bytes (the same in every run with the same seed)
//!              auxiliary vector: pairs of type and value, the last of type AT_NULL
//!              environment addresses, 0
//!              argument addresses, 0
//! sp ────────▶ argument count                          (a multiple of 16)
//! ```

use super::address_space::{AddressSpace, PAGE_BYTES, STACK_BYTES, STACK_TOP, Use, page_ceiling, page_floor};
use super::{GuestMemory, Program, Protection, fill_random};
use narthex_kernel::random::Stream;
use narthex_memory::port::AccessFault;
use std::ops::Range;
use thiserror::Error;

/// The most that arguments and environment together may take up; Linux too
/// allows a quarter of the stack.
const TEXT_LIMIT_BYTES: usize = STACK_BYTES as usize / 4;

/// The letters I, M, A, F, D and C, as Linux states a processor's extensions.
const HARDWARE_CAPABILITIES: u64 = letters(b"imafdc");

/// What a program is started with.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The arguments; the first is by custom the program's name.
    pub arguments: Vec<String>,
    /// The environment, as `NAME=value`.
    pub environment: Vec<String>,
    /// Where the bytes come from that a C library takes for random.
    pub seed: u64,
}

/// A program ready to run.
#[derive(Debug)]
pub struct Started {
    /// The address of the first instruction.
    pub program_counter: u64,
    /// What register x2 (sp) must hold; all others are zero.
    pub stack_pointer: u64,
    /// The address space, for system calls.
    pub space: AddressSpace,
}

/// Why a program cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StartError {
    /// More arguments and environment than the stack has room for.
    #[error(
        "arguments and environment take {bytes} bytes; a program can have {TEXT_LIMIT_BYTES}: pass fewer"
    )]
    TooLong {
        /// What they take.
        bytes: usize,
    },
    /// A zero byte would end the text early.
    #[error("the argument or variable {text:?} holds a zero byte, which no program can receive: remove it")]
    ZeroByte {
        /// The text.
        text: String,
    },
    /// The memory refused to take the program.
    #[error("the node's memory does not take the program at {address:#x}: {fault:?}")]
    Memory {
        /// Where.
        address: u64,
        /// Why.
        fault: AccessFault,
    },
}

/// Puts `program` and its stack into an empty `memory`.
pub fn start(
    program: &Program,
    invocation: &Invocation,
    memory: &mut impl GuestMemory,
) -> Result<Started, StartError> {
    check_texts(invocation)?;
    let mut space = AddressSpace::with_heap_at(program.heap_start());
    load(program, &mut space, memory)?;
    space.add_stack(memory);
    let stack_pointer = write_stack(program, invocation, memory)?;
    Ok(Started { program_counter: program.entry(), stack_pointer, space })
}

fn check_texts(invocation: &Invocation) -> Result<(), StartError> {
    let texts = || invocation.arguments.iter().chain(&invocation.environment);
    // Each text costs its bytes, a zero byte and an address.
    let bytes = texts().map(|text| text.len() + 9).sum();
    if bytes > TEXT_LIMIT_BYTES {
        return Err(StartError::TooLong { bytes });
    }
    match texts().find(|text| text.contains('\0')) {
        Some(text) => Err(StartError::ZeroByte { text: text.clone() }),
        None => Ok(()),
    }
}

/// Copies the segments and maps their pages. Where segments share a page, it
/// allows what either of them does.
pub(crate) fn load(
    program: &Program,
    space: &mut AddressSpace,
    memory: &mut impl GuestMemory,
) -> Result<(), StartError> {
    for (pages, protection) in page_protections(program) {
        space.add(memory, pages, protection, Use::Program);
    }
    for segment in program.segments() {
        store(memory, segment.address, &segment.bytes)?;
    }
    Ok(())
}

/// Ranges of pages with their protection, in ascending order and disjoint.
fn page_protections(program: &Program) -> Vec<(Range<u64>, Protection)> {
    let mut ranges: Vec<(Range<u64>, Protection)> = Vec::new();
    for segment in program.segments() {
        let mut pages = page_floor(segment.address)..page_ceiling(segment.end());
        let shared = ranges.last().is_some_and(|(last, _)| last.end > pages.start);
        if shared {
            let (mut last, protection) = ranges.pop().unwrap_or_default();
            let page = pages.start..pages.start + PAGE_BYTES;
            last.end = page.start;
            pages.start = page.end;
            ranges.push((last, protection));
            ranges.push((page, protection.union(segment.protection)));
        }
        ranges.push((pages, segment.protection));
    }
    ranges.retain(|(pages, _)| !pages.is_empty());
    ranges
}

fn store(memory: &mut impl GuestMemory, address: u64, bytes: &[u8]) -> Result<(), StartError> {
    memory.write(address, bytes).map_err(|fault| StartError::Memory { address, fault })
}

/// Writes the initial stack and returns the stack pointer.
fn write_stack(
    program: &Program,
    invocation: &Invocation,
    memory: &mut impl GuestMemory,
) -> Result<u64, StartError> {
    let mut texts = Texts { top: STACK_TOP };
    let file_name = texts.push(memory, program.name().as_bytes())?;
    let arguments = texts.push_all(memory, &invocation.arguments)?;
    let environment = texts.push_all(memory, &invocation.environment)?;
    let mut random = [0; 16];
    fill_random(&mut Stream::new(invocation.seed, "linux/start"), &mut random);
    let random = texts.push(memory, &random)?;

    let mut words = vec![arguments.len() as u64];
    words.extend(arguments.into_iter().chain([0]));
    words.extend(environment.into_iter().chain([0]));
    words.extend(auxiliary_vector(program, file_name, random).into_iter().flatten());
    let stack_pointer = (texts.top - 8 * words.len() as u64) / 16 * 16;
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    store(memory, stack_pointer, &bytes)?;
    Ok(stack_pointer)
}

/// Texts pile up downward from the top of the stack.
struct Texts {
    top: u64,
}

impl Texts {
    fn push(&mut self, memory: &mut impl GuestMemory, text: &[u8]) -> Result<u64, StartError> {
        self.top -= text.len() as u64 + 1;
        store(memory, self.top, text)?;
        Ok(self.top)
    }

    fn push_all(&mut self, memory: &mut impl GuestMemory, texts: &[String]) -> Result<Vec<u64>, StartError> {
        texts.iter().map(|text| self.push(memory, text.as_bytes())).collect()
    }
}

/// Pairs of type (`AT_...` in Linux' `elf.h` and `auxvec.h`) and value.
fn auxiliary_vector(program: &Program, file_name: u64, random: u64) -> [[u64; 2]; 17] {
    let headers = program.program_headers();
    [
        [3, headers.address],        // AT_PHDR
        [4, headers.entry_bytes],    // AT_PHENT
        [5, headers.count],          // AT_PHNUM
        [6, PAGE_BYTES],             // AT_PAGESZ
        [7, 0],                      // AT_BASE: there is no dynamic linker
        [8, 0],                      // AT_FLAGS
        [9, program.entry()],        // AT_ENTRY
        [11, USER],                  // AT_UID
        [12, USER],                  // AT_EUID
        [13, USER],                  // AT_GID
        [14, USER],                  // AT_EGID
        [16, HARDWARE_CAPABILITIES], // AT_HWCAP
        [17, 100],                   // AT_CLKTCK: of the `times` call
        [23, 0],                     // AT_SECURE: not privileged
        [25, random],                // AT_RANDOM
        [31, file_name],             // AT_EXECFN
        [0, 0],                      // AT_NULL
    ]
}

/// The user and group that programs run as.
const USER: u64 = 1000;

/// A bit for each letter of the alphabet.
const fn letters(names: &[u8]) -> u64 {
    let (mut bits, mut index) = (0, 0);
    while index < names.len() {
        bits |= 1 << (names[index] - b'a');
        index += 1;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::super::test_memory::TestMemory;
    use super::*;
    use crate::test_elf::{Image, Segment};

    fn invocation(arguments: &[&str], environment: &[&str]) -> Invocation {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Invocation { arguments: owned(arguments), environment: owned(environment), seed: 1 }
    }

    fn started(invocation: &Invocation) -> (TestMemory, Started) {
        let program = Program::parse("prog", Image::sound().build()).expect("sound");
        let mut memory = TestMemory::default();
        let started = start(&program, invocation, &mut memory).expect("it starts");
        (memory, started)
    }

    #[test]
    fn the_stack_holds_arguments_environment_and_auxiliary_vector() {
        let (mut memory, started) = started(&invocation(&["prog", "-n", "16"], &["HOME=/"]));
        let sp = started.stack_pointer;
        assert_eq!(sp % 16, 0);
        assert_eq!(memory.number(sp), 3);
        let texts: Vec<String> = [8, 16, 24, 40]
            .map(|offset| {
                let address = memory.number(sp + offset);
                memory.text(address)
            })
            .into();
        assert_eq!(texts, ["prog", "-n", "16", "HOME=/"]);
        assert_eq!((memory.number(sp + 32), memory.number(sp + 48)), (0, 0));
        let mut vector = sp + 56;
        let mut found = std::collections::BTreeMap::new();
        while memory.number(vector) != 0 {
            found.insert(memory.number(vector), memory.number(vector + 8));
            vector += 16;
        }
        assert_eq!(found[&6], 4096);
        assert_eq!(found[&9], started.program_counter);
        assert_eq!(found[&16], 0x112d);
        assert_ne!(memory.number(found[&25]), 0);
        assert_eq!(memory.text(found[&31]), "prog");
    }

    #[test]
    fn segments_that_share_a_page_allow_what_either_does() {
        let mut image = Image::sound();
        image.segments.push(Segment {
            address: 0x1_0000 + 0x800,
            flags: 6,
            bytes: vec![9; 16],
            memory_bytes: 0x2000,
        });
        let program = Program::parse("prog", image.build()).expect("sound");
        let mut memory = TestMemory::default();
        start(&program, &Invocation::default(), &mut memory).expect("it starts");
        let all = Protection { read: true, write: true, execute: true };
        assert_eq!(memory.protection(0x1_0000), Some(all));
        assert_eq!(memory.protection(0x1_1000), Some(Protection::READ_WRITE));
        assert_eq!(memory.number(0x1_0800), 0x0909_0909_0909_0909);
        assert_eq!(memory.number(0x1_1000), 0);
    }

    #[test]
    fn the_same_seed_gives_the_same_memory() {
        let random = |seed| {
            let (mut memory, started) = started(&Invocation { seed, ..Invocation::default() });
            let vector = started.stack_pointer + 24;
            let entry = (vector..).step_by(16).find(|at| memory.number(*at) == 25).expect("AT_RANDOM");
            let address = memory.number(entry + 8);
            memory.number(address)
        };
        assert_eq!(random(5), random(5));
        assert_ne!(random(5), random(6));
    }

    #[test]
    fn texts_that_cannot_be_passed_are_refused() {
        let program = Program::parse("prog", Image::sound().build()).expect("sound");
        let refusal = |invocation: &Invocation| {
            start(&program, invocation, &mut TestMemory::default()).expect_err("refused").to_string()
        };
        let long = "x".repeat(TEXT_LIMIT_BYTES);
        assert!(refusal(&invocation(&[&long], &[])).contains("pass fewer"));
        assert!(refusal(&invocation(&[], &["A=\0"])).contains("zero byte"));
    }
}
