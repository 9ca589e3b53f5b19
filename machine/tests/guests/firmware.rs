//! Firmware as a run is given it: where it must lie, what it may use, and what a result
//! and a checkpoint keep of it. The machine is that of [`crate::two_buses`].

use std::path::{Path, PathBuf};

use narthex_machine::checkpoint::identity::Identity;
use narthex_machine::{Failure, FirmwareFile, RunRequest, run};
use serde_json::Value;

use crate::support::elf::{EXECUTE, READ, Segment, WRITE, file};
use crate::support::{DATA, program, request};
use crate::two_buses::TWO_BUSES;

/// 64 KiB from 0x10000 on.
const MEMORY: [&str; 2] =
    ["node.memories.service_memory.start=65536", "node.memories.service_memory.size=64KiB"];

/// A machine's file that is gone afterwards.
struct MachineFile(PathBuf);

impl MachineFile {
    fn new(name: &str) -> Self {
        let file = std::env::temp_dir().join(format!("narthex-{}-{name}.toml", std::process::id()));
        std::fs::write(&file, TWO_BUSES).expect("it can be written");
        MachineFile(file)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for MachineFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn assembled(address: u64, source: &str) -> Vec<u8> {
    let code = narthex_cores::assemble::assemble(address, source).expect("sound firmware");
    let memory_bytes = code.len() as u64;
    file(address, &[Segment { address, memory_bytes, bytes: code, flags: READ | EXECUTE }])
}

fn request_with(machine: &MachineFile, settings: &[&str], firmware: &[(&str, Vec<u8>)]) -> RunRequest {
    let mut request = request(machine.path().to_str().expect("a name"), "NI2w");
    request.set.extend(settings.iter().map(|&setting| setting.to_owned()));
    let given = |(name, elf): &(&str, Vec<u8>)| {
        ((*name).to_owned(), FirmwareFile { file: "forward.elf".into(), elf: elf.clone() })
    };
    request.firmware = firmware.iter().map(given).collect();
    request
}

fn result(request: &RunRequest, host: &str) -> Result<Value, Failure> {
    run(request, &program(host), &mut |_| true)
}

const REST: &str = "rest: j rest";

#[test]
fn a_run_is_given_firmware_and_its_result_keeps_its_hash() {
    let machine = MachineFile::new("given");
    let elf = assembled(0x1_0000, REST);
    let request = request_with(&machine, &MEMORY, &[("service", elf.clone())]);
    let document = result(&request, "exit 0").expect("it runs");
    assert_eq!(document["firmware_sha256"]["service"], narthex_machine::sha256::sha256(&elf));
    assert_eq!(document["nodes"][0]["processors"].as_array().map(Vec::len), Some(2));
    let text = serde_json::to_string(&request).expect("plain data");
    assert_eq!(serde_json::from_str::<RunRequest>(&text).expect("it is read"), request);
}

#[test]
fn firmware_may_use_all_of_its_memory_and_nothing_else() {
    let machine = MachineFile::new("memory");
    let used = |address: u64, settings: &[&str]| {
        let source = format!("li s0, {address}\n sd s0, 0(s0)\n ld s1, 0(s0)\n {REST}");
        let request = request_with(&machine, settings, &[("service", assembled(0x1_0000, &source))]);
        // The host goes on for longer than that takes.
        let host = "li t0, 1000\n wait: addi t0, t0, -1\n bnez t0, wait\n exit 0";
        result(&request, host).map(drop).map_err(|failure| failure.message)
    };
    assert_eq!(used(0x1_fff8, &MEMORY), Ok(()));
    let behind = used(0x2_0000, &MEMORY).expect_err("there is no memory");
    assert!(behind.contains("firmware on processor 1: store to 0x20000"), "{behind}");
    let unstated = used(0x1_fff8, &[]).expect_err("only its segments");
    assert!(unstated.contains("no memory is mapped there"), "{unstated}");
}

#[test]
fn firmware_that_is_wrong_for_its_machine_is_refused_with_file_and_key() {
    let machine = MachineFile::new("wrong");
    let refused = |settings: &[&str], firmware: &[(&str, Vec<u8>)]| {
        let failure = result(&request_with(&machine, settings, firmware), "exit 0").expect_err("wrong");
        assert_eq!(failure.exit_code, Failure::USAGE);
        failure.message
    };
    let sound = || assembled(0x1_0000, REST);
    let large = |address| {
        let bytes = narthex_cores::assemble::assemble(address, REST).expect("sound");
        file(address, &[Segment { address, bytes, memory_bytes: 0x2_0000, flags: READ | WRITE | EXECUTE }])
    };
    let runs = "node.processors.service.runs: ";
    for (message, parts) in [
        (
            refused(&MEMORY, &[]),
            [runs, "runs firmware \"service\", which is not given", "--firmware service=FILE"],
        ),
        (
            refused(&MEMORY, &[("servise", sound())]),
            ["firmware \"servise\" is given to", "its processors run service", "did you mean `service`?"],
        ),
        (
            refused(&MEMORY, &[("service", large(0x1_0000))]),
            [
                runs,
                "'forward.elf' has a segment from 0x10000 to 0x30000, which is too large for its memory",
                "0x10000 to 0x20000 (65536 bytes)",
            ],
        ),
        (
            refused(&MEMORY, &[("service", assembled(0x4000, REST))]),
            [runs, "which does not lie in its memory", "node.memories.service_memory"],
        ),
        (
            refused(&["node.processors.service.on=bus"], &[("service", sound())]),
            [runs, "where the node's processes are", "0x10000000000 or higher"],
        ),
        (
            refused(
                &MEMORY,
                &[(
                    "service",
                    file(
                        0,
                        &[Segment {
                            address: 0x1_0000,
                            bytes: vec![0; 8],
                            memory_bytes: 8,
                            flags: READ | EXECUTE,
                        }],
                    ),
                )],
            ),
            ["forward.elf", "the entry point 0x0 lies in no executable segment", "_start"],
        ),
        (refused(&MEMORY, &[("service", b"no ELF".to_vec())]), ["forward.elf", "6e 6f 20 45", ""]),
    ] {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn a_memory_of_firmware_has_whole_pages_and_that_of_programs_no_bounds() {
    let machine = MachineFile::new("pages");
    for (setting, key) in [
        ("node.memories.service_memory.size=100", "node.memories.service_memory.size"),
        ("node.memories.service_memory.start=65536", "node.memories.service_memory.size"),
        ("node.memories.main_memory.size=1MiB", "node.memories.main_memory.size"),
    ] {
        let request = request_with(&machine, &[setting], &[]);
        let failure = result(&request, "exit 0").expect_err("wrong").message;
        assert!(failure.contains(key), "{failure}");
    }
}

#[test]
fn a_checkpoint_is_not_resumed_with_other_firmware() {
    let machine = MachineFile::new("checkpoint");
    let identity = |firmware: &[(&str, Vec<u8>)]| {
        Identity::new(
            &request_with(&machine, &[], firmware),
            &program("exit 0"),
            "NI2w".parse().expect("an interface"),
            Value::Null,
        )
    };
    let one = identity(&[("service", assembled(0x1_0000, REST))]);
    assert_eq!(one.difference(&one.clone()), None);
    for other in [identity(&[("service", assembled(0x1_0000, "nop"))]), identity(&[])] {
        let difference = one.difference(&other);
        assert_eq!(
            difference.as_deref(),
            Some("firmware 'service' is another than that with which it was written")
        );
        assert_eq!(other.difference(&one), difference);
    }
}

/// A block that is flushed crosses the bus at 250 MHz: from its next edge 4 ns of
/// arbitration, 4 ns of address, 8 ns of data over 32 bytes, and the memory's 120 ns.
#[test]
fn a_flush_takes_a_write_back_on_the_bus_to_the_cycle() {
    let host = |operation: &str| {
        format!(
            "
            li s1, {DATA}
            sd s1, 0(s1)
            csrrs t0, 0xc00, zero
            {operation}
            csrrs t1, 0xc00, zero
            sub t2, t1, t0
            report cycles, t2
            exit 0"
        )
    };
    let measured = |operation: &str| {
        let document =
            run(&request("hpca98", "NI2w"), &program(&host(operation)), &mut |_| true).expect("it runs");
        let crossed = document["nodes"][0]["statistics"]["bus_write_backs"].as_u64();
        (crate::support::reported(&document, 0, "cycles"), crossed)
    };
    assert_eq!(measured("cbo.flush (s1)"), (140, Some(1)));
    assert_eq!(measured("cbo.zero (s1)"), (2, Some(0)));
}

/// Firmware that makes a simulator's call with `a0` to `a2`, in the assembler's notation, and then
/// does nothing. Its texts lie at 0x10200.
fn calling(calls: &[(u64, [u64; 3])]) -> Vec<u8> {
    let call = |&(number, [a0, a1, a2]): &(u64, [u64; 3])| {
        format!("li a0, {a0}\n li a1, {a1}\n li a2, {a2}\n li a7, {number}\n ecall\n")
    };
    let code: String = calls.iter().map(call).collect();
    let code = narthex_cores::assemble::assemble(0x1_0000, &format!("{code} {REST}"));
    let mut bytes = code.expect("sound firmware");
    assert!(bytes.len() <= 0x200);
    bytes.resize(0x200, 0);
    bytes.extend(b"packets\0each\0idle\0hello\n");
    let memory_bytes = bytes.len() as u64;
    file(0x1_0000, &[Segment { address: 0x1_0000, memory_bytes, bytes, flags: READ | EXECUTE }])
}

const PACKETS: u64 = 0x1_0200;
const EACH: u64 = 0x1_0208;
const IDLE: u64 = 0x1_020d;
const HELLO: u64 = 0x1_0212;
const WRITE_CALL: u64 = 64;
const REGION_CALL: u64 = 0x4e02;
const COUNT_CALL: u64 = 0x4e04;

fn with_calls(name: &str, calls: &[(u64, [u64; 3])]) -> Result<Value, Failure> {
    let machine = MachineFile::new(name);
    let request = request_with(&machine, &MEMORY, &[("service", calling(calls))]);
    let host = "li t0, 3000\n before: addi t0, t0, -1\n bnez t0, before
                region_begin main\n li t0, 1000\n wait: addi t0, t0, -1\n bnez t0, wait\n region_end main\n exit 0";
    result(&request, host)
}

#[test]
fn firmware_reports_numbers_marks_regions_and_writes_in_no_time() {
    let calls = [
        (COUNT_CALL, [PACKETS, 1 << 40, EACH]),
        (REGION_CALL, [IDLE, 1, 0]),
        (WRITE_CALL, [1, HELLO, 6]),
        (REGION_CALL, [IDLE, 0, 0]),
    ];
    let document = with_calls("tells", &calls).expect("it runs");
    let report = &document["reports"][0];
    assert_eq!((&report["name"], &report["unit"]), (&"packets".into(), &"each".into()));
    assert_eq!((report["value"].as_f64(), &report["firmware"]), (Some((1u64 << 40) as f64), &true.into()));
    let output = &document["output"][0];
    assert_eq!((&output["stream"], &output["text"]), (&"firmware".into(), &"hello\n".into()));
    let regions = document["regions"].as_array().expect("a list");
    let region = regions.iter().find(|region| region["name"] == "idle").expect("the firmware's");
    assert_eq!((&region["processor"], &region["firmware"]), (&1.into(), &true.into()));
    let length = region["end_ps"].as_u64().unwrap() - region["begin_ps"].as_u64().unwrap();
    assert_eq!(
        region["ledger_ps"]["application / execute"].as_u64().unwrap_or(0)
            + region["ledger_ps"]["application / instruction miss"].as_u64().unwrap_or(0),
        length
    );
}

#[test]
fn a_programs_region_has_the_time_of_the_nodes_firmware() {
    let document = with_calls("region", &[]).expect("it runs");
    let region = &document["regions"][0];
    let length = region["end_ps"].as_u64().unwrap() - region["begin_ps"].as_u64().unwrap();
    let firmware = &region["firmware_processors"][0];
    assert_eq!(firmware["processor"], 1);
    let ledger = firmware["ledger_ps"].as_object().expect("categories");
    let time: u64 = ledger.values().map(|time| time.as_u64().expect("a time")).sum();
    // Up to the end of an instruction.
    assert!(time.abs_diff(length) < 10_000, "{time} of {length}");
    assert!(ledger.keys().all(|category| category.starts_with("application")), "{ledger:?}");
}

#[test]
fn firmware_that_tells_something_wrong_ends_the_run_with_its_place() {
    let failures = [
        ((REGION_CALL, [IDLE, 0, 0]), "the region \"idle\" ends, but has not begun"),
        ((COUNT_CALL, [0x9_0000, 1, EACH]), "firmware hands over a text that is not in its memory"),
        ((WRITE_CALL, [7, HELLO, 6]), "or no stream"),
        ((93, [0, 0, 0]), "firmware calls a system, and there is none on its processor"),
    ];
    for (number, (call, message)) in failures.into_iter().enumerate() {
        let failure = with_calls(&format!("wrong-{number}"), &[call]).expect_err(message);
        assert!(failure.message.contains(message), "{failure}");
        assert!(failure.message.contains("node 0, firmware on processor 1"), "{failure}");
    }
}
