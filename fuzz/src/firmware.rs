//! Firmware and programs that do to devices what no driver does: stores of plausible and of wild
//! values to each register that firmware is told of, of VIA, Voyager and DMA engines, and to the
//! command buffers, counters and queues of SARC, which programs have.
//!
//! A case is two sources in the assembler's notation, `host:` and `firmware:`; the latter is empty
//! for SARC. Both are short and do not loop, and the host's waits for the firmware's and exits: the
//! run must end, with an exit, with a fault that names the place, or with a report that nothing moves.

use std::path::Path;

use narthex_interfaces::programming::Register;
use narthex_interfaces::registers::{Addresses, NODE_MEMORY};
use narthex_interfaces::sarc::registers as sarc;
use narthex_interfaces::via::registers::{REGISTERS as VIA, VIA_REGISTERS};
use narthex_interfaces::voyager::registers::{
    POLL, POLL_ENTRY, POLL_MASK, QUEUE_REGISTERS, QUEUE_STATE_BYTES, REGISTERS as VOYAGER, VOYAGER_MAP,
    VOYAGER_QUEUES, VOYAGER_REGISTERS, VOYAGER_SRAM, VOYAGER_SRAM_UNCACHED,
};
use narthex_machine::{FirmwareFile, RunRequest};

use crate::choice::Choice;
use crate::class::Class;
use crate::guest::{DATA, program, request, with};
use crate::runs::{Outcome, PATIENCE, now_and_then_on_threads};

/// The class of accesses of firmware, and of programs to SARC's lines.
pub struct Firmware;

/// Most accesses of a source, less one.
const MOST_ACCESSES: u64 = 60;
/// Such a run takes milliseconds; one that is looked at as often has no end.
const OBSERVATIONS: u32 = 200;
/// What begins the firmware's part of a case.
const DIVIDER: &str = "firmware:\n";
/// The registers of the DMA engine of the machine `edt` at its firmware.
const DMA_REGISTERS: u64 = 0x7000_3000;
/// Those that it stores to. The engine has the node's addresses, and of both of its memories.
const DMA: [(&str, u64); 6] =
    [("SOURCE", 0), ("DMA_HOST", 8), ("DMA_LENGTH", 16), ("LIST", 24), ("COMPLETION", 32), ("STATUS", 40)];
/// Physical queues of a direction of the machine `voyager`.
const PHYSICAL: u64 = 16;
/// Lines of a tile that a case uses.
const LINES: u64 = 8;

/// Whose registers a case accesses.
#[derive(Clone, Copy, PartialEq)]
enum Device {
    Via(&'static str),
    Voyager(&'static str),
    Sarc(&'static str),
}

const DEVICES: [Device; 8] = [
    Device::Via("EDT"),
    Device::Via("EDT+DmaReceive"),
    Device::Via("CCDMA-retry"),
    Device::Via("PIO"),
    Device::Voyager("Voyager-resident"),
    Device::Voyager("Voyager-nonresident"),
    Device::Sarc("sarc-prototype"),
    Device::Sarc("sarc-chip"),
];

impl Class for Firmware {
    fn ending(&self) -> &'static str {
        "s"
    }

    fn input(&self, seed: u64) -> Vec<u8> {
        let choice = &mut Choice::from_seed(seed);
        let (host, firmware) = match device_of(seed) {
            Device::Sarc(_) => (sarc_program(choice), String::new()),
            device => (host_program(device, choice), firmware_of(device, choice)),
        };
        format!("host:\n{host}{DIVIDER}{firmware}").into_bytes()
    }

    fn check(&self, seed: u64, file: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let sources = text.strip_prefix("host:\n").and_then(|text| text.split_once(DIVIDER));
        let (host, firmware) = sources.ok_or("expected host: and firmware:")?;
        let request = request_of(seed, firmware);
        match now_and_then_on_threads(seed, &request, &program(host), OBSERVATIONS) {
            Ok(Outcome::Ended(_)) => Ok(()),
            Ok(Outcome::Endless) => Err(format!("the run does not end: {} {text}", request.interface)),
            Err(error) => Err(format!("{error}\n{} {text}", request.interface)),
        }
    }
}

fn device_of(seed: u64) -> Device {
    Choice::from_seed(!seed).of(&DEVICES)
}

/// The run of a case.
fn request_of(seed: u64, firmware: &str) -> RunRequest {
    let given = |name: &str, mut request: RunRequest| {
        let file = FirmwareFile { file: "firmware.elf".into(), elf: program(firmware) };
        request.firmware.insert(name.into(), file);
        request
    };
    let request = match device_of(seed) {
        Device::Via(interface) => given("via", request("edt", interface)),
        Device::Voyager(interface) => given("voyager", request("voyager", interface)),
        Device::Sarc("sarc-chip") => {
            with(RunRequest { nodes: None, ..request("sarc-chip", "SARC") }, "machine.nodes=1")
        }
        Device::Sarc(machine) => RunRequest { nodes: Some(1), ..request(machine, "SARC") },
    };
    with(request, PATIENCE)
}

/// A load or a store at an address that a register holds, or a number.
fn access(address: &str, value: &str, loads: bool, choice: &mut Choice) -> String {
    let [load, store] = match choice.once_in(200) {
        true => choice.of(&[["lw", "sw"], ["lb", "sb"], ["lh", "sh"]]),
        false => ["ld", "sd"],
    };
    match loads {
        true => format!("{address} {load} t1, 0(t0)\n"),
        false => format!("{address} {value} {store} t1, 0(t0)\n"),
    }
}

/// Turns of a loop that waits.
fn pause(turns: u64, label: usize) -> String {
    format!("li t0, {turns}\n pause{label}: addi t0, t0, -1\n bnez t0, pause{label}\n")
}

/// Steps, of which some wait for what came of those before.
fn steps(choice: &mut Choice, mut one: impl FnMut(&mut Choice) -> String) -> String {
    let mut text = String::new();
    for label in 0..=choice.below(MOST_ACCESSES) as usize {
        text += &one(choice);
        if choice.once_in(6) {
            text += &pause(1 + choice.below(200), label);
        }
    }
    text
}

/// Rings doorbells, if there are some, and exits after the firmware has done its part.
fn host_program(device: Device, choice: &mut Choice) -> String {
    let doorbells = Addresses::of_process(0).register_page();
    let rings = match (device, choice.once_in(2)) {
        (Device::Via(_), true) => steps(choice, |choice| {
            let address = format!("li t0, {}\n", doorbells + 8 * choice.below(64));
            let value = format!("li t1, {}\n", any_value(choice));
            access(&address, &value, false, choice)
        }),
        _ => String::new(),
    };
    format!("{rings}{} exit 0\n", pause(20_000, 1_000))
}

/// Accesses to the registers of a device, and then rest.
fn firmware_of(device: Device, choice: &mut Choice) -> String {
    // With many wild values a run ends at the first; with none it gets far.
    let wild_in = choice.of(&[2, 6, 30, u64::MAX]);
    let steps = steps(choice, |choice| {
        if matches!(device, Device::Voyager(_)) && choice.once_in(8) {
            return look();
        }
        let (name, address, meaning) = match device {
            Device::Via(_) if choice.once_in(6) => {
                let (name, offset) = choice.of(&DMA);
                (name, DMA_REGISTERS + offset, "store")
            }
            Device::Via(_) => moved(choice.of(VIA), VIA_REGISTERS),
            _ => voyager_register(choice),
        };
        let is_wild = choice.below(wild_in) == 0;
        let loads = meaning.starts_with("load") != (is_wild && choice.once_in(8));
        let value = if is_wild { any_value(choice) } else { plausible(name, choice) };
        access(&format!("li t0, {address}\n"), &format!("li t1, {value}\n"), loads, choice)
    });
    format!("{steps} rest: j rest\n")
}

/// Voyager's OnePoll, which looks at all sources.
fn look() -> String {
    let [mask, poll, entry] = [POLL_MASK, POLL, POLL_ENTRY].map(|offset| VOYAGER_REGISTERS + offset);
    format!(
        "li t0, {mask}\n li t1, -1\n sd t1, 0(t0)\n li t0, {poll}\n ld t1, 0(t0)\n li t0, {entry}\n ld t1, 0(t0)\n"
    )
}

fn moved((name, offset, meaning): Register, base: u64) -> Register {
    (name, base + offset, meaning)
}

fn voyager_register(choice: &mut Choice) -> Register {
    // Mostly the first ones of each direction, so that several words of one are stored.
    let queue = if choice.once_in(8) {
        choice.below(2 * PHYSICAL)
    } else {
        choice.of(&[0, 1, PHYSICAL, PHYSICAL + 1])
    };
    match choice.below(8) {
        0..4 => moved(choice.of(VOYAGER), VOYAGER_REGISTERS),
        4..7 => moved(choice.of(QUEUE_REGISTERS), VOYAGER_QUEUES + queue * QUEUE_STATE_BYTES),
        _ if choice.once_in(4) => ("MAP", VOYAGER_MAP + 8 * choice.below(64), "load"),
        _ => {
            let bank = choice.of(&[VOYAGER_SRAM, VOYAGER_SRAM_UNCACHED]);
            ("SRAM", bank + 8 * choice.below(0x1000), choice.of(&["load", "store"]))
        }
    }
}

/// A value such as a driver stores to the register of this name.
fn plausible(name: &str, choice: &mut Choice) -> u64 {
    let own_memory = |choice: &mut Choice| 0x2_0000 + 128 * choice.below(0x1000);
    let command = |choice: &mut Choice| match choice.below(3) {
        0 => {
            choice.below(0x13)
                | choice.of(&[0, 0x100, 0x200, 0x400])
                | choice.below(4) << 24
                | choice.below(64) << 37
        }
        1 => DATA + 64 * choice.below(64),
        _ => choice.below(2) | choice.below(8) << 16,
    };
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&["COMMAND_0", "COMMAND_1", "SRAM"]) {
        command(choice)
    } else if ends(&["HOST_START", "PUT_ADDRESS", "UPDATE_ADDRESS", "DMA_HOST"]) {
        DATA + 128 * choice.below(64)
    } else if ends(&["HOST_END"]) {
        DATA + 128 * (64 + choice.below(64))
    } else if ends(&["NI_END"]) {
        0x2_0000 + 128 * (0x1000 + choice.below(64))
    } else if ends(&[
        "LENGTH", "START", "SELECT", "CONTROL", "SLOTS", "PRODUCER", "CONSUMER", "ADVANCE", "MASK",
    ]) {
        choice.of(&[0, 1, 2, 3, 4, 8, 64, 128, 256, 1024, 1 << 32, 1 << 32 | 64, 0x101, 0xffff])
    } else if ends(&["BASE"]) {
        0x4000 + 96 * choice.below(64)
    } else {
        own_memory(choice)
    }
}

/// A value that can mean something to a device, or none that can.
fn any_value(choice: &mut Choice) -> u64 {
    let upper = if choice.once_in(3) { choice.below(8) << 32 } else { 0 };
    match choice.below(12) {
        0 => choice.bits(),
        1 => choice.bits() >> choice.below(64),
        8..12 => choice.of(&[0, 1, u64::MAX, u64::MAX >> 1, 1 << 63, 1 << 45, 1 << 36, 0xffff_ffff]),
        // The interface's memory, and beyond its end.
        3 | 4 => 0x1_0000 + 128 * choice.below(0x1_0000),
        // The host's: the program's pages, those of the node.
        5 => (DATA + 128 * choice.below(64)) | upper,
        6 => NODE_MEMORY.start + 8 * choice.below(1024),
        7 => (1 << choice.below(12)) | upper,
        _ => choice.below(256) | upper,
    }
}

/// A program of each tile: the kernel agent gives it lines, at s4, which it marks, and whose words
/// and those of other tiles' lines it loads and stores.
fn sarc_program(choice: &mut Choice) -> String {
    let open = format!(
        "li s1, {DATA}\n li t0, 0x7665642f\n sw t0, 0(s1)\n li t0, 0x7261732f\n sw t0, 4(s1)\n li t0, 0x63\n \
         sw t0, 8(s1)\n li a0, -100\n mv a1, s1\n li a2, 2\n li a7, 56\n ecall\n mv s0, a0\n \
         li t0, {}\n ld s3, 0(t0)\n sd s3, 0(s1)\n li t0, {LINES}\n sd t0, 8(s1)\n li t0, 1\n sd t0, 16(s1)\n \
         mv a0, s0\n li a1, {}\n mv a2, s1\n li a7, 29\n ecall\n ld s4, 24(s1)\n \
         li t1, 0xfffff\n and t2, s4, t1\n sub s5, s4, t2\n srli t2, t2, 2\n add s5, s5, t2\n li t2, {}\n add s5, s5, t2\n",
        sarc::REGISTERS,
        sarc::request::ALLOCATE,
        sarc::STATE
    );
    let wild_in = choice.of(&[4, 20, 100, u64::MAX]);
    let steps = steps(choice, |choice| {
        if choice.below(wild_in) == 0 {
            let address = format!("li t0, {}\n", sarc_address(choice));
            let value = format!("li t1, {}\n", any_value(choice));
            return access(&address, &value, choice.once_in(3), choice);
        }
        if choice.once_in(4) {
            let mark = format!("li t0, {}\n add t0, t0, s5\n", sarc::STATE_BYTES * choice.below(LINES));
            return access(&mark, &format!("li t1, {}\n", choice.below(6)), false, choice);
        }
        let value = match choice.below(4) {
            0 => line(choice, "t1"),
            1 => format!("li t1, {}\n", choice.below(5) | choice.of(&[8, 16, 64, 256, 1 << 16]) << 8),
            2 => format!(
                "li t1, {}\n",
                choice.of(&[1, 2, 8]) | (1 << choice.below(8)) << sarc::queue::ITEMS_SHIFT
            ),
            _ => format!("li t1, {}\n", choice.of(&[0, 1, 2, u64::MAX, 1 << 63])),
        };
        access(&line(choice, "t0"), &value, choice.once_in(4), choice)
    });
    format!("{open}{steps}{} exit 0\n", pause(2_000, 1_000))
}

/// The address of a word of its own lines, or of another tile's at the same place.
fn line(choice: &mut Choice, into: &str) -> String {
    let tile = if choice.once_in(3) { choice.below(4) * sarc::WINDOW_BYTES } else { 0 };
    let word = choice.below(LINES) * sarc::LINE_BYTES + 8 * choice.of(&[0, 0, 0, 1, 2, 3, 4, 5, 6, 7]);
    format!("li {into}, {tile}\n xor {into}, {into}, s4\n addi {into}, {into}, {word}\n")
}

fn sarc_address(choice: &mut Choice) -> u64 {
    let window = sarc::WINDOW + choice.below(4) * sarc::WINDOW_BYTES;
    match choice.below(13) {
        0..6 => window + 8 * choice.below(1 << 12),
        6..9 => window + sarc::STATE + 8 * choice.below(1 << 10),
        9 => sarc::REGISTERS + 8 * choice.below(16),
        10 => sarc::LOCK_BOX + 8 * choice.below(64),
        11 => sarc::REGIONS.start + 8 * choice.below(1 << 12),
        _ => sarc::DRAM + 8 * choice.below(1 << 14),
    }
}
