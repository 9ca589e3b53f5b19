//! The fuzzers' short forms: the first cases of each class.

use std::path::PathBuf;
use std::process::Command;

/// Runs this many cases of a class; the failure says what was found.
fn check(class: &str, cases: u64) {
    let keep = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_narthex-fuzz"));
    command.args([class, "--cases", &cases.to_string(), "--keep"]).arg(keep);
    let output = command.output().expect("it was built");
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{out}{error}");
    assert!(out.starts_with(&format!("{class}: {cases} cases, no finding")), "{out}{error}");
}

#[test]
fn elf_files_are_refused_or_run_to_an_end() {
    check("elf", 150);
}

#[test]
fn machine_files_are_refused_with_their_name_or_run_to_an_end() {
    check("machines", 300);
}

#[test]
fn accesses_to_devices_leave_runs_that_end() {
    check("registers", 150);
}

#[test]
fn accesses_of_firmware_to_its_device_leave_runs_that_end() {
    check("firmware", 100);
}

#[test]
fn checkpoints_are_refused_or_resumed_to_an_end() {
    check("checkpoints", 100);
}
