//! Programs that do to their interface what no driver does: loads and stores of
//! any width and value anywhere in the device's region, headers that name no
//! node or more bytes than there are, after good packets too. A case is a list of
//! steps of guest/programs/tests/exchange.c.
//!
//! The programs are short and bounded, so the run must end: with an exit, with
//! a fault of the guest, or with a report that nothing moves.

use std::path::Path;

use narthex_interfaces::declarations;
use narthex_interfaces::registers::{Addresses, NODE_MEMORY};
use narthex_machine::RunRequest;

use crate::catalogue;
use crate::choice::Choice;
use crate::class::Class;
use crate::guest::Guest as _;
use crate::guest::exchange::{exchange, header};
use crate::instructions::values::interesting;
use crate::runs::{Outcome, now_and_then_on_threads};

/// The class of accesses to devices.
pub struct Registers;

/// Most steps of a process, less one.
const MOST_STEPS: u64 = 40;
/// Bytes of a queue's entry on the machines that are built in.
const ENTRY_BYTES: u64 = 256;
/// Such a program needs milliseconds; a run that is looked at as often has no end.
const OBSERVATIONS: u32 = 200;

impl Class for Registers {
    fn ending(&self) -> &'static str {
        "steps"
    }

    fn input(&self, seed: u64) -> Vec<u8> {
        source(seed).into_bytes()
    }

    fn check(&self, seed: u64, file: &Path) -> Result<(), String> {
        let source = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let request = request_of(seed);
        let guest = exchange(&*source).over(&request.interface);
        let request = guest.in_run(&request);
        let described = || {
            let RunRequest { machine, interface, set, .. } = &request;
            format!("-m {machine} -i '{interface}' {set:?}, the steps:\n{source}")
        };
        match now_and_then_on_threads(seed, &request, &guest.elf(), OBSERVATIONS) {
            Ok(Outcome::Ended(_)) => Ok(()),
            Ok(Outcome::Endless) => Err(format!("the run does not end: {}", described())),
            Err(text) => Err(format!("{text}\n{}", described())),
        }
    }
}

/// The run of a case.
fn request_of(seed: u64) -> RunRequest {
    let choice = &mut Choice::from_seed(!seed);
    catalogue::varied(catalogue::any(choice), choice)
}

/// The steps of a case: node 0 and the others do different things.
fn source(seed: u64) -> String {
    let choice = &mut Choice::from_seed(seed);
    let mut text = String::new();
    for who in ["0", "others"] {
        text += &format!("on {who}\n");
        let mut sent = 0;
        for _ in 0..=choice.below(MOST_STEPS) {
            text += &step(&mut sent, choice);
            text.push('\n');
        }
    }
    text
}

/// One step, of a process that has sent this many packets.
fn step(sent: &mut u64, choice: &mut Choice) -> String {
    let execute = |instructions: &[&str], address, choice: &mut Choice| {
        format!("execute {} {address} {}", choice.of(instructions), value(choice))
    };
    match choice.below(20) {
        0..4 => execute(&["lb", "lh", "lw", "ld", "ld"], address(choice), choice),
        4..9 => execute(&["sb", "sh", "sw", "sd", "sd", "sd", "sd"], address(choice), choice),
        9 => execute(&["amoadd.d", "amoswap.d", "amoor.w", "sc.d", "sc.w"], address(choice), choice),
        10 => execute(&["lr.d"], address(choice), choice),
        11 => execute(&["fence"], 0, choice),
        12 | 13 => format!("pause {}", 1 + (choice.bits() >> (52 + choice.below(12)))),
        14..17 => {
            *sent += 1;
            format!("send ^1 {}", choice.below(32) * 8)
        }
        17 => {
            *sent += 1;
            format!("send-header {}", any_header(choice))
        }
        18 => "take".to_owned(),
        // The queue's next entry, as a driver would write it, and nothing more.
        _ => {
            let entry = Addresses::of_process(0).send_queue() + ENTRY_BYTES * *sent;
            format!("execute sd {entry} {}", any_header(choice))
        }
    }
}

/// An address that has to do with the interface, or none that has.
fn address(choice: &mut Choice) -> u64 {
    let own = Addresses::of_process(if choice.once_in(8) { 1 } else { 0 });
    let entry = 64 * choice.below(64);
    let place = match choice.below(16) {
        0..4 => own.register_page() + choice.of(&declarations::registers()).1,
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

/// A value that means something to an interface, or none that does; or the
/// address of some of the program's memory.
fn value(choice: &mut Choice) -> String {
    let number = match choice.below(8) {
        0 | 1 => any_header(choice),
        2 | 3 => choice.below(2) << 32 | choice.bits() >> (54 + choice.below(10)), // a queue's pointer
        4 => address(choice),
        5 => return format!("@{}", choice.below(0x1_0000)),
        6 => choice.below(4),
        _ => interesting(choice),
    };
    number.to_string()
}

/// A header; most have something wrong with them.
fn any_header(choice: &mut Choice) -> u64 {
    let peer = choice.of(&[0, 1, 1, 2, 3, 999, 0x7fff, 0xffff]);
    let bytes = choice.of(&[0, 1, 7, 8, 96, 200, 248, 249, 255]);
    let rest = if choice.once_in(3) { interesting(choice) & !0xff_ffff } else { 0 };
    header(peer, bytes) | rest | choice.below(2) << 63
}
