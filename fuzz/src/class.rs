//! A class of input: how a case of it is made, and what must come of it.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::checkpoints::Checkpoints;
use crate::elf_files::ElfFiles;
use crate::firmware::Firmware;
use crate::guest::Guest as _;
use crate::guest::exchange::exchange;
use crate::instructions::Instructions;
use crate::instructions::reference::ReferenceError;
use crate::machine_files::MachineFiles;
use crate::registers::Registers;

/// A class of input.
pub trait Class {
    /// The ending of a file with such input.
    fn ending(&self) -> &'static str;

    /// The input of the case with this seed, the same at any time.
    fn input(&self, seed: u64) -> Vec<u8>;

    /// Carries out the case whose input is in `file`.
    ///
    /// # Errors
    /// What went wrong. `file` may have been replaced by a smaller one that
    /// shows the same.
    fn check(&self, seed: u64, file: &Path) -> Result<(), String>;
}

/// The names of the classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Name {
    /// Random programs: the processor computes what QEMU computes.
    Instructions,
    /// Crafted and damaged ELF files: they are refused or run to an end.
    Elf,
    /// Damaged machine files: they are refused with file and key, or run to an end.
    Machines,
    /// Random accesses to registers, queues and pointers of every interface: the run ends.
    Registers,
    /// Firmware with random accesses to its device, and programs to SARC's lines: the run ends.
    Firmware,
    /// Damaged checkpoints: they are refused or resumed to an end.
    Checkpoints,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("none is skipped").get_name())
    }
}

impl Name {
    /// The class. It finds QEMU at `qemu`, or where it is installed, compiles the
    /// program that its cases run, and keeps files in `scratch`.
    ///
    /// # Errors
    /// If QEMU is needed and is not there.
    ///
    /// # Panics
    /// If a program is needed and cannot be compiled.
    pub fn open(self, qemu: Option<PathBuf>, scratch: &Path) -> Result<Box<dyn Class>, ReferenceError> {
        if matches!(self, Name::Machines | Name::Registers | Name::Checkpoints) {
            exchange("").elf();
        }
        Ok(match self {
            Name::Instructions => Box::new(Instructions::open(qemu, scratch)?),
            Name::Elf => Box::new(ElfFiles),
            Name::Machines => Box::new(MachineFiles),
            Name::Registers => Box::new(Registers),
            Name::Firmware => Box::new(Firmware),
            Name::Checkpoints => Box::new(Checkpoints::new(scratch)),
        })
    }
}
