//! From an address to a line of source, by a program's DWARF debug information.
//!
//! Used for messages only, a few times a run, so nothing is kept between
//! questions: a program without debug information, or with damaged or
//! compressed information, simply has no answers.

use addr2line::Context;
use gimli::{Dwarf, EndianSlice, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};
use std::fmt;

/// A place in the program's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file's path as the compiler knew it.
    pub file: String,
    /// The line, from 1, unless the compiler made the code up by itself.
    pub line: Option<u32>,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// The line that was compiled to the instruction at `address` in the ELF `file`.
pub fn line(file: &[u8], address: u64) -> Option<SourceLine> {
    // No instruction ends behind the last address.
    address.checked_add(1)?;
    let elf = ElfFile64::<object::LittleEndian>::parse(file).ok()?;
    let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let bytes = elf.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok(EndianSlice::new(bytes.unwrap_or(&[]), LittleEndian))
    };
    let context = Context::from_dwarf(Dwarf::load(section).ok()?).ok()?;
    let location = context.find_location(address).ok()??;
    Some(SourceLine { file: location.file?.into(), line: location.line.filter(|line| *line > 0) })
}
