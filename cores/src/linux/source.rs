//! From an address to a line of source, by a program's DWARF debug information.
//!
//! Messages ask a few times a run ([`Program::source_line`]), so nothing is kept between
//! their questions; who asks for much keeps a [`SourceMap`]. A program without debug
//! information, or with damaged or compressed information, simply has no answers.

use super::elf::Program;
use addr2line::{Context, Location, demangle_auto};
use gimli::{Dwarf, EndianSlice, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

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

/// A function in which an address lies, or which was inlined there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// Its name, as its programmer wrote it; none if the file does not tell.
    pub function: Option<String>,
    /// Where in it the address is, or the call of what was inlined.
    pub line: Option<SourceLine>,
}

/// The debug information of a program, read once.
pub struct SourceMap<'a> {
    program: &'a Program,
    context: Option<Context<EndianSlice<'a, LittleEndian>>>,
}

impl<'a> SourceMap<'a> {
    /// That of a program, which may have none.
    pub fn new(program: &'a Program) -> Self {
        SourceMap { program, context: context(program.file()) }
    }

    /// Where in a range code begins that was compiled from another line than what is before it,
    /// or from none: ascending addresses.
    pub fn line_starts(&self, range: Range<u64>) -> Vec<u64> {
        let found = self
            .context
            .iter()
            .filter_map(|context| context.find_location_range(range.start, range.end).ok());
        let mut all: Vec<_> = found.flatten().collect();
        all.sort_by_key(|(start, ..)| *start);
        let mut starts = Vec::new();
        let mut before = None;
        for (start, length, location) in all {
            let line = (location.file, location.line);
            if before != Some((start, line)) {
                starts.extend([before.map_or(start, |(end, _)| end), start]);
            }
            before = Some((start + length, line));
        }
        starts.extend(before.map(|(end, _)| end));
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// What is at an address, innermost first: what was inlined there, and last the function
    /// itself, by its symbol.
    pub fn frames(&self, address: u64) -> Vec<SourceFrame> {
        let mut frames = self.inlined(address).unwrap_or_default();
        let function = self.program.symbol(address).map(|(name, _)| readable(name.into()));
        match frames.last_mut() {
            Some(outermost) => outermost.function = function.or(outermost.function.take()),
            None => frames.push(SourceFrame { function, line: None }),
        }
        frames
    }

    fn inlined(&self, address: u64) -> Option<Vec<SourceFrame>> {
        // No instruction ends behind the last address.
        address.checked_add(1)?;
        let mut found = self.context.as_ref()?.find_frames(address).skip_all_loads().ok()?;
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let function = frame.function.and_then(|name| name.demangle().map(Cow::into_owned).ok());
            frames.push(SourceFrame { function, line: frame.location.and_then(source_line) });
        }
        Some(frames)
    }
}

/// The line that was compiled to the instruction at `address` in the ELF `file`.
pub fn line(file: &[u8], address: u64) -> Option<SourceLine> {
    // No instruction ends behind the last address.
    address.checked_add(1)?;
    source_line(context(file)?.find_location(address).ok()??)
}

/// A function's name as its programmer wrote it, in C++ and Rust too.
pub fn readable(symbol: Cow<'_, str>) -> String {
    demangle_auto(symbol, None).into_owned()
}

fn source_line(location: Location<'_>) -> Option<SourceLine> {
    Some(SourceLine { file: location.file?.into(), line: location.line.filter(|line| *line > 0) })
}

fn context(file: &[u8]) -> Option<Context<EndianSlice<'_, LittleEndian>>> {
    let elf = ElfFile64::<object::LittleEndian>::parse(file).ok()?;
    let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let bytes = elf.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok(EndianSlice::new(bytes.unwrap_or(&[]), LittleEndian))
    };
    Context::from_dwarf(Dwarf::load(section).ok()?).ok()
}
