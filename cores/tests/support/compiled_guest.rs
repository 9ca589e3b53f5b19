//! Guest programs for tests, compiled from C: by `narthex cc` of the checkout's
//! .venv, or else of the PATH.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The ELF file of guest/programs/`source`, a C file, without its debug information.
///
/// # Panics
/// With the remedy, if there is no `narthex` or it cannot compile the file.
#[allow(dead_code, reason = "not every test wants it")]
pub fn compiled_guest(source: &str) -> Vec<u8> {
    compiled_guest_for("NI2w", source)
}

/// The same with the drivers of programs for an interface, instead of those for NI2w and most others.
///
/// # Panics
/// As [`compiled_guest`].
pub fn compiled_guest_for(interface: &str, source: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = root.join("guest/programs").join(source);
    let program = std::env::temp_dir().join(format!(
        "{}{interface}-{}",
        source.replace(['/', '.'], "-"),
        std::process::id()
    ));
    let own = root.join(".venv/bin/narthex");
    let narthex = if own.exists() { own } else { PathBuf::from("narthex") };
    let done = Command::new(&narthex)
        .args(["cc", "--interface", interface])
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .args(["--", "-s"])
        .output();
    let done = done.unwrap_or_else(|error| panic!("{}: {error}; run `make setup` first", narthex.display()));
    assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
    let elf = std::fs::read(&program).expect("it has just been written");
    std::fs::remove_file(&program).expect("it is there");
    elf
}
