//! Programs that do to their interface what no driver does: loads and stores of
//! any width and value anywhere in the device's region, headers that name no
//! node or more bytes than there are, after good packets too.
//!
//! The programs are short and bounded, so the run must end: with an exit, with
//! a fault of the guest, or with a report that nothing moves.

use std::fmt::Write as _;
use std::path::Path;

use narthex_interfaces::programming;
use narthex_interfaces::registers::{Addresses, NODE_MEMORY};
use narthex_machine::RunRequest;

use crate::catalogue;
use crate::choice::Choice;
use crate::class::Class;
use crate::guest::{DATA, program};
use crate::instructions::values::interesting;
use crate::messages::{LIBRARY, header};
use crate::runs::{Outcome, on_threads};

/// The class of accesses to devices.
pub struct Registers;

/// Most steps of a program.
const MOST_STEPS: u64 = 40;
/// Such a program needs milliseconds; a run that is looked at as often has no end.
const OBSERVATIONS: u32 = 200;

impl Class for Registers {
    fn ending(&self) -> &'static str {
        "elf"
    }

    fn input(&self, seed: u64) -> Vec<u8> {
        program(&source(seed))
    }

    fn check(&self, seed: u64, file: &Path) -> Result<(), String> {
        let elf = std::fs::read(file).map_err(|error| error.to_string())?;
        let request = request_of(seed);
        let described =
            || format!("{} {:?}, the program:\n{}", described(&request), request.set, own_part(seed));
        match on_threads(&request, &elf, OBSERVATIONS) {
            Ok(Outcome::Ended(_)) => Ok(()),
            Ok(Outcome::Endless) => Err(format!("the run does not end: {}", described())),
            Err(text) => Err(format!("{text}\n{}", described())),
        }
    }
}

fn described(request: &RunRequest) -> String {
    format!("-m {} -i '{}'", request.machine, request.interface)
}

/// The run of a case.
fn request_of(seed: u64) -> RunRequest {
    let choice = &mut Choice::from_seed(!seed);
    catalogue::varied(catalogue::any(choice), choice)
}

/// The program of a case, with the library behind it.
fn source(seed: u64) -> String {
    format!("{}\n{LIBRARY}", own_part(seed))
}

/// Node 0 and the others do different things.
fn own_part(seed: u64) -> String {
    let choice = &mut Choice::from_seed(seed);
    let mut text = String::from("call start\nbnez s8, other\n");
    steps(&mut text, 0, choice);
    text.push_str("other:\n");
    steps(&mut text, MOST_STEPS, choice);
    text
}

fn steps(text: &mut String, first: u64, choice: &mut Choice) {
    for number in first..=first + choice.below(MOST_STEPS) {
        step(text, number, choice).expect("text grows");
    }
    text.push_str("exit 0\n");
}

/// One step; labels in it have its number.
fn step(text: &mut String, number: u64, choice: &mut Choice) -> std::fmt::Result {
    match choice.below(20) {
        0..4 => {
            let name = choice.of(&["lb", "lbu", "lh", "lhu", "lw", "lwu", "ld", "ld", "ld"]);
            writeln!(text, "li t0, {}\n{name} t1, 0(t0)", address(choice))
        }
        4..9 => {
            let name = choice.of(&["sb", "sh", "sw", "sd", "sd", "sd", "sd"]);
            writeln!(text, "li t0, {}\nli t1, {}\n{name} t1, 0(t0)", address(choice), value(choice))
        }
        9 => {
            let name = choice.of(&["amoadd.d", "amoswap.d", "amoor.w", "sc.d", "sc.w"]);
            writeln!(text, "li t0, {}\nli t1, {}\n{name} t2, t1, (t0)", address(choice), value(choice))
        }
        10 => writeln!(text, "li t0, {}\nlr.d t1, (t0)", address(choice)),
        11 => writeln!(text, "fence"),
        12 | 13 => writeln!(
            text,
            "li t0, {}\ndelay{number}: addi t0, t0, -1\nbnez t0, delay{number}",
            1 + (choice.bits() >> (52 + choice.below(12)))
        ),
        // The peer's number is this process's with the lowest bit changed.
        14..17 => writeln!(
            text,
            "xori a0, s8, 1\nli t0, {}\nor a0, a0, t0\nli a1, {DATA}\ncall send",
            header(0, choice.below(32) * 8)
        ),
        17 => writeln!(text, "li a0, {}\nli a1, {DATA}\ncall send", any_header(choice)),
        18 => writeln!(text, "li a0, {}\ncall receive", DATA + 0x1000),
        // The queue's next entry, as the library would write it, and nothing more.
        _ => writeln!(
            text,
            "ld t0, 80(s11)\nld t1, 112(s11)\nmul t1, t1, s2\nadd t0, t0, t1\nli t1, {}\nsd t1, 0(t0)",
            any_header(choice)
        ),
    }
}

/// An address that has to do with the interface, or none that has.
fn address(choice: &mut Choice) -> u64 {
    let own = Addresses::of_process(if choice.once_in(8) { 1 } else { 0 });
    let entry = 64 * choice.below(64);
    let place = match choice.below(16) {
        0..4 => own.register_page() + choice.of(&programming::registers()).1,
        4 => own.register_page() + choice.below(4096),
        5 => own.information_page() + choice.below(4096),
        6 | 7 => choice.of(&[own.send_tail(), own.send_head(), own.receive_head()]),
        8 => own.pointers().start + choice.below(4096),
        9 | 10 => own.send_queue() + entry,
        11 | 12 => own.receive_queue() + entry,
        13 => own.block_buffers() + 8 * choice.below(128),
        14 => NODE_MEMORY.start + choice.below(NODE_MEMORY.end - NODE_MEMORY.start),
        _ => own.information_page() + choice.below(1 << 25),
    };
    match choice.below(8) {
        0 => place + choice.below(16),
        1 => place,
        _ => place & !7,
    }
}

/// A value that means something to an interface, or none that does.
fn value(choice: &mut Choice) -> u64 {
    match choice.below(8) {
        0 | 1 => any_header(choice),
        2 | 3 => choice.below(2) << 32 | choice.bits() >> (54 + choice.below(10)), // a queue's pointer
        4 => address(choice),
        5 => DATA + choice.below(0x1_0000),
        6 => choice.below(4),
        _ => interesting(choice),
    }
}

/// A header; most have something wrong with them.
fn any_header(choice: &mut Choice) -> u64 {
    let peer = choice.of(&[0, 1, 1, 2, 3, 999, 0x7fff, 0xffff]);
    let bytes = choice.of(&[0, 1, 7, 8, 96, 200, 248, 249, 255]);
    let rest = if choice.once_in(3) { interesting(choice) & !0xff_ffff } else { 0 };
    header(peer, bytes) | rest | choice.below(2) << 63
}
