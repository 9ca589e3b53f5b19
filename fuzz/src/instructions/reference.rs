//! The independent implementation: QEMU's user mode.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use thiserror::Error;

/// Names under which QEMU is installed.
const NAMES: [&str; 2] = ["qemu-riscv64", "qemu-riscv64-static"];

/// Why the reference gave no output.
#[derive(Debug, Error)]
pub enum ReferenceError {
    /// It is not installed.
    #[error(
        "qemu-riscv64 is not on the PATH: install Debian's package qemu-user (`make fuzz` unpacks one without root), or name the file with --qemu"
    )]
    Missing,
    /// A file could not be written, or the reference not be started.
    #[error("{path}: {error}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The program did not end well: a mistake of the generator.
    #[error("the reference ended with {status}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
    },
}

/// QEMU, and a place for the programs that it runs.
#[derive(Clone, Debug)]
pub struct Reference {
    qemu: PathBuf,
    program: PathBuf,
}

impl Reference {
    /// QEMU at `path`, or else the one that is installed. Programs are written
    /// to a file in `folder`.
    pub fn find(path: Option<PathBuf>, folder: &Path) -> Result<Self, ReferenceError> {
        let search: OsString = std::env::var_os("PATH").unwrap_or_default();
        let installed = || {
            let folders = std::env::split_paths(&search);
            let candidates = folders.flat_map(|folder| NAMES.map(|name| folder.join(name)));
            candidates.into_iter().find(|candidate| candidate.is_file())
        };
        let qemu = path.or_else(installed).ok_or(ReferenceError::Missing)?;
        let program = folder.join(format!("narthex-fuzz-{}.elf", std::process::id()));
        Ok(Reference { qemu, program })
    }

    /// What the program in `file` writes to standard output.
    pub fn run(&self, file: &[u8]) -> Result<Vec<u8>, ReferenceError> {
        self.write_program(file).map_err(|error| self.file_error(&self.program, error))?;
        let output = Command::new(&self.qemu).arg(&self.program).output();
        let output = output.map_err(|error| self.file_error(&self.qemu, error))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(ReferenceError::Failed { status: output.status }),
        }
    }

    fn write_program(&self, file: &[u8]) -> std::io::Result<()> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o755);
        options.open(&self.program)?.write_all(file)
    }

    fn file_error(&self, path: &Path, error: std::io::Error) -> ReferenceError {
        ReferenceError::File { path: path.to_owned(), error }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // Nothing is lost if the file stays in the temporary folder.
        let _ = std::fs::remove_file(&self.program);
    }
}
