//! Random programs that must leave behind, to the last bit, what they leave on
//! an independent implementation.
//!
//! Reading order: [`generate`] draws a [`program`] out of every [`instruction`]
//! that the simulator knows and [`values`] on which implementations differ.
//! [`simulator`] and [`mod@reference`] (QEMU in user mode) run its file;
//! [`compare`] finds the first record that differs, and [`shrink`] removes
//! whatever is not needed for the difference.
//!
//! A fixed set, `fixed.txt`, holds hashes of programs and of what they write on
//! the reference, so that `cargo test` repeats the comparison without QEMU. A
//! wrong bit in a pattern of the simulator changes the programs.

pub mod compare;
pub mod generate;
pub mod instruction;
pub mod program;
pub mod reference;
pub mod shrink;
pub mod simulator;
pub mod values;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::class::Class;
use compare::first_difference;
use program::Program;
use reference::{Reference, ReferenceError};

/// The class of random programs.
pub struct Instructions {
    reference: Reference,
}

impl Instructions {
    /// Compares with QEMU at `qemu`, or else with the one that is installed.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(qemu: Option<PathBuf>, scratch: &Path) -> Result<Self, ReferenceError> {
        Ok(Instructions { reference: Reference::find(qemu, scratch)? })
    }

    /// A line of the fixed set: the seed, and the hashes of the program's code
    /// and of QEMU's output.
    ///
    /// # Errors
    /// If QEMU gives none.
    pub fn record(&self, seed: u64) -> Result<String, ReferenceError> {
        let program = generate::program(seed);
        let output = self.reference.run(&program.file())?;
        Ok(format!("{seed} {} {}", simulator::hash(&program.code()), simulator::hash(&output)))
    }

    /// What differs, if anything does.
    fn compare(&self, program: &Program) -> Result<Option<String>, ReferenceError> {
        let file = program.file();
        let theirs = self.reference.run(&file)?;
        let runs = [
            ("functional", simulator::run_functional(&file)),
            ("in-order", simulator::run_in_order(&file)),
            ("overlapping", simulator::run_with_window(&file)),
        ];
        let found = runs.into_iter().find_map(|(processor, ours)| {
            let difference = first_difference(program, &ours.output, &theirs)?;
            let problem = ours.problem.map(|problem| format!("\n{problem}")).unwrap_or_default();
            Some(format!("{processor} processor: {difference}{problem}"))
        });
        Ok(found)
    }

    /// Shrinks a program that shows a difference into `file`, and describes what is left.
    fn explain(&self, program: &Program, file: &Path) -> Result<String, String> {
        let small = shrink::shrink(program, |candidate| matches!(self.compare(candidate), Ok(Some(_))));
        std::fs::write(file, small.file()).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut text = self.compare(&small).ok().flatten().unwrap_or_default();
        for (index, block) in small.blocks.iter().enumerate() {
            let _ = write!(text, "\nblock {index}, {} turns:\n{}", block.turns, small.listing(index));
        }
        Ok(text)
    }
}

impl Class for Instructions {
    fn ending(&self) -> &'static str {
        "elf"
    }

    fn input(&self, seed: u64) -> Vec<u8> {
        generate::program(seed).file()
    }

    fn check(&self, seed: u64, file: &Path) -> Result<(), String> {
        let program = generate::program(seed);
        match self.compare(&program).map_err(|error| error.to_string())? {
            None => Ok(()),
            Some(_) => Err(self.explain(&program, file)?),
        }
    }
}
