//! What tests and benches of whole machines share: guest programs, and runs of them.
//!
//! A guest that exchanges messages does it by the drivers of every program: see
//! [`exchange`]. Any other is written in the notation of [`narthex_cores::assemble`], with a few
//! more lines:
//!
//! | line | meaning |
//! | --- | --- |
//! | `report NAME, REGISTER` | reports the register's integer, up to 53 bits, under that name |
//! | `report_word NAME, REGISTER` | reports all 64 bits; see [`reported_word`] |
//! | `region_begin NAME`, `region_end NAME` | marks a region |
//! | `exit CODE` | ends the program |
//!
//! They are system calls and use a0 to a3, a7 and fa0. The code begins at
//! [`CODE`], writable data at [`DATA`], data that may only be read at [`NAMES`].

#![allow(dead_code, reason = "each test program uses a part of it")]

#[path = "../../../cores/tests/common/elf.rs"]
pub mod elf;
pub mod exchange;
pub mod machines;

use std::borrow::Cow;

use narthex_cores::assemble::assemble;
use narthex_machine::{Failure, RunRequest, run};
use serde_json::Value;

use elf::{EXECUTE, READ, Segment, WRITE};

/// Where the program's instructions are.
pub const CODE: u64 = 0x1_0000;
/// 64 KiB that the program may write, zero at first.
pub const DATA: u64 = 0x10_0000;
/// The names of what the program reports; read-only.
pub const NAMES: u64 = 0x20_0000;

/// Bytes at [`DATA`].
const DATA_BYTES: u64 = 0x1_0000;
/// Linux's number of the system call that ends the program.
const EXIT: u64 = 93;
/// Narthex's number of the system call that reports a figure.
const REPORT: u64 = 0x4e00;
/// Narthex's number of the system call that marks a region.
const REGION: u64 = 0x4e02;

/// What the nodes of a run execute.
pub trait Guest {
    /// The ELF file.
    fn elf(&self) -> Cow<'_, [u8]>;

    /// Its arguments.
    fn arguments(&self) -> Vec<String> {
        Vec::new()
    }

    /// The same run with this guest's arguments.
    fn in_run(&self, request: &RunRequest) -> RunRequest {
        RunRequest { args: self.arguments(), ..request.clone() }
    }
}

/// A program in the assembler's notation.
impl Guest for str {
    fn elf(&self) -> Cow<'_, [u8]> {
        Cow::Owned(program(self))
    }
}

impl Guest for String {
    fn elf(&self) -> Cow<'_, [u8]> {
        self.as_str().elf()
    }
}

/// An ELF file.
impl Guest for [u8] {
    fn elf(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self)
    }
}

/// What a program in the assembler's notation begins with that is to know its
/// process: its rank in s8, how many there are in s9, its information page in s11.
pub const IDENTITY: &str = "
    ld   t0, 0(sp)              # arguments; the environment is behind them
    slli t0, t0, 3
    add  t0, t0, sp
    ld   t0, 16(t0)             # NARTHEX_PAGE=0x50000000; the 16th character
    lbu  t0, 16(t0)             # tells the pages of processes 0 to 4 apart
    addi t0, t0, -48
    slli t0, t0, 24
    li   s11, 0x50000000
    add  s11, s11, t0
    ld   t1, 184(s11)
    ld   s8, 16(s11)
    mul  s8, s8, t1
    ld   t0, 176(s11)
    add  s8, s8, t0
    ld   s9, 24(s11)
    mul  s9, s9, t1
";

/// An ELF file with the program.
pub fn program(source: &str) -> Vec<u8> {
    let mut names = vec![0];
    let lines: Vec<String> = source.lines().map(|line| expand(line, &mut names)).collect();
    let code = assemble(CODE, &lines.join("\n")).expect("a sound program");
    elf::file(
        CODE,
        &[
            Segment { address: CODE, memory_bytes: code.len() as u64, bytes: code, flags: READ | EXECUTE },
            Segment { address: DATA, memory_bytes: DATA_BYTES, bytes: Vec::new(), flags: READ | WRITE },
            Segment { address: NAMES, memory_bytes: names.len() as u64, bytes: names, flags: READ },
        ],
    )
}

/// Writes the lines that the assembler does not know as those that it does.
fn expand(line: &str, names: &mut Vec<u8>) -> String {
    let code = line.split('#').next().unwrap_or("").trim();
    let operands = |rest: &str| {
        let (name, register) = rest.split_once(',').expect("a name and a register");
        (name.trim().to_owned(), register.trim().to_owned())
    };
    match code.split_once(' ') {
        Some(("exit", code)) => format!("li a0, {}; li a7, {EXIT}; ecall", code.trim()),
        Some(("report", rest)) => {
            let (name, register) = operands(rest);
            report(&name, &register, names)
        }
        Some(("region_begin", name)) => region(name, 1, names),
        Some(("region_end", name)) => region(name, 0, names),
        Some(("report_word", rest)) => {
            let (name, register) = operands(rest);
            let upper = report(&format!("{name}.upper"), "a3", names);
            let lower = report(&format!("{name}.lower"), "a3", names);
            format!("srli a3, {register}, 32; {upper}; slli a3, {register}, 32; srli a3, a3, 32; {lower}")
        }
        _ => code.to_owned(),
    }
    .replace(';', "\n")
}

/// The address of a name.
fn place(name: &str, names: &mut Vec<u8>) -> u64 {
    let address = NAMES + names.len() as u64;
    names.extend(name.trim().as_bytes());
    names.push(0);
    address
}

/// The system call that marks an edge of a region.
fn region(name: &str, edge: u64, names: &mut Vec<u8>) -> String {
    format!("li a0, {}; li a1, {edge}; li a7, {REGION}; ecall", place(name, names))
}

/// The system call that reports a register's integer.
fn report(name: &str, register: &str, names: &mut Vec<u8>) -> String {
    let address = place(name, names);
    format!(
        "fcvt.d.l fa0, {register}; fmv.x.d a1, fa0; li a0, {address}; li a2, {NAMES}; li a7, {REPORT}; ecall"
    )
}

/// A run of two nodes of `machine` over `interface`.
pub fn request(machine: &str, interface: &str) -> RunRequest {
    RunRequest {
        program: "guest".into(),
        args: Vec::new(),
        machine: machine.into(),
        interface: interface.into(),
        nodes: Some(2),
        set: Vec::new(),
        threads: 1,
        seed: None,
        execute_wait_loops: false,
        schedule_steps: false,
        job_nodes: None,
        model: None,
        jobs: Vec::new(),
        surroundings: Default::default(),
        firmware: Default::default(),
        hardware: None,
        checkpoint: None,
        warm: None,
        until: None,
        timeout: None,
    }
}

/// The same run with a change to the machine.
pub fn with(mut request: RunRequest, setting: &str) -> RunRequest {
    request.set.push(setting.into());
    request
}

/// The parameters that tests of exact times count with, as far as the papers do
/// not state them: an assumption may change, what follows from it may not.
const ASSUMED: [&str; 27] = [
    "processor.store_cycles=1",
    "processor.load_use_cycles=1",
    "bus.arbitration_cycles=1",
    "bus.address_cycles=1",
    "bus.cache_supply_time=12ns",
    "bus.extra_cycles.upgrade=2",
    "bus.extra_cycles.invalidate=2",
    "bus.extra_cycles.uncached_load=5",
    "bus.extra_cycles.uncached_store=5",
    "bus.extra_cycles.block_load=0",
    "bus.extra_cycles.block_store=0",
    "store_buffer.uncached_stores=blocking",
    "interfaces.ni_iw.send_time=16ns",
    "interfaces.ni_iw.receive_time=60ns",
    "interfaces.ni_iw.deposit_time=60ns",
    "interfaces.ni_iw_blkbuf.send_time=16ns",
    "interfaces.ni_iw_blkbuf.receive_time=60ns",
    "interfaces.ni_iw_blkbuf.deposit_time=60ns",
    "interfaces.ni_iw_udma.send_time=16ns",
    "interfaces.ni_iw_udma.receive_time=60ns",
    "interfaces.ni_iw_udma.deposit_time=60ns",
    "interfaces.ni_iw_udma.master_change_time=44ns",
    "interfaces.cni_iq.engine_time=40ns",
    "interfaces.cni_iq.register_access_time=60ns",
    "interfaces.cni_iqm.engine_time=40ns",
    "interfaces.cni_0qm.engine_time=40ns",
    "interfaces.cni_i.engine_time=40ns",
];

/// A run of two nodes of the 1998 machine with parameters that do not change.
pub fn fixed_hpca98(interface: &str) -> RunRequest {
    ASSUMED.iter().fold(request("hpca98", interface), |request, setting| with(request, setting))
}

/// A run of two nodes of the 1996 machine whose processor adds nothing to an
/// access, so that bus cycles remain.
pub fn bare_isca96(interface: &str) -> RunRequest {
    with(request("isca96", interface), "processor.blocking_access_cycles=0")
}

/// One node of `machine`, for what needs no messages.
pub fn alone(machine: &str) -> RunRequest {
    RunRequest { nodes: Some(1), ..request(machine, "NI2w") }
}

/// The result of a run; its ledgers have been added up.
pub fn result(request: &RunRequest, guest: &(impl Guest + ?Sized)) -> Value {
    let document = run_guest(request, guest)
        .unwrap_or_else(|failure| panic!("exit code {}: {failure}", failure.exit_code));
    assert_ledgers_add_up(&document);
    document
}

/// The failure of a run.
pub fn failure(request: &RunRequest, guest: &(impl Guest + ?Sized)) -> Failure {
    match run_guest(request, guest) {
        Err(failure) => failure,
        Ok(document) => panic!("the run was to fail, and ended with {document:#}"),
    }
}

/// Runs a guest.
pub fn run_guest(request: &RunRequest, guest: &(impl Guest + ?Sized)) -> Result<Value, Failure> {
    run(&guest.in_run(request), &guest.elf(), &mut |_| true)
}

/// The integer that a node reported last under a name.
pub fn reported(document: &Value, node: u64, name: &str) -> i64 {
    reported_by(document, (node, 0), name)
}

/// The integer that a process, named by node and number, reported last under a name.
pub fn reported_by(document: &Value, (node, process): (u64, u64), name: &str) -> i64 {
    let reports = document["reports"].as_array().expect("a list");
    let is_wanted =
        |report: &&Value| report["node"] == node && report["process"] == process && report["name"] == name;
    let report = reports.iter().rev().find(is_wanted);
    let report = report.unwrap_or_else(|| {
        panic!("node {node}, process {process} reports no {name}: {}", document["reports"])
    });
    report["value"].as_f64().expect("a number") as i64
}

/// The 64 bits that a node reported last under a name.
pub fn reported_word(document: &Value, node: u64, name: &str) -> u64 {
    let half = |half: &str| reported(document, node, &format!("{name}.{half}")) as u64;
    half("upper") << 32 | half("lower")
}

/// A statistic of a node.
pub fn statistic(document: &Value, node: usize, name: &str) -> u64 {
    let statistics = &document["nodes"][node]["statistics"];
    statistics[name].as_u64().unwrap_or_else(|| panic!("there is no statistic {name}: {statistics}"))
}

/// Every processor's time is accounted for, to the picosecond.
pub fn assert_ledgers_add_up(document: &Value) {
    let simulated = document["simulated_ps"].as_u64().expect("a time");
    for node in document["nodes"].as_array().expect("a list") {
        for processor in node["processors"].as_array().expect("a list") {
            let ledger = processor["ledger_ps"].as_object().expect("categories");
            let sum: u64 = ledger.values().map(|time| time.as_u64().expect("a time")).sum();
            assert_eq!(sum, simulated, "node {}: {ledger:?}", node["node"]);
        }
    }
}
