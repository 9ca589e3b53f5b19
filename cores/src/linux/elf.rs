//! Reading a guest program's file: statically linked 64-bit RISC-V ELF.
//!
//! An ELF file describes a program twice. *Program headers* say which parts of
//! the file ("segments") belong at which addresses; they are all that is needed
//! to run it. *Section headers* serve tools: through them come the names of
//! functions and the source lines. A file may lack the second and still runs.
//!
//! The reader is strict about what it needs and says what is wrong with a file
//! and what to do about it; it trusts nothing in the file and cannot panic. It
//! is lenient about the rest: a damaged symbol table costs the names, no more.

mod problem;

pub use problem::{ElfError, ElfProblem};

use super::Protection;
use super::address_space::{
    DEVICE_END, DEVICE_START, MMAP_START, PAGE_BYTES, overlaps, page_ceiling, page_floor,
};
use super::source::{self, SourceLine};
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _, Sym as _};
use object::{LittleEndian, Object as _, ObjectSymbol as _, SymbolKind};
use std::sync::Arc;

/// The most memory that one segment, or all of them together, may ask for.
pub const SEGMENTS_LIMIT_BYTES: u64 = 1 << 30;

/// A program that can run: checked, and independent of any node.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    file: Arc<[u8]>,
    segments: Vec<Segment>,
    entry: u64,
    program_headers: ProgramHeaders,
    symbols: Vec<Symbol>,
}

/// A part of a program's memory that is filled from its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins; need not be the beginning of a page.
    pub address: u64,
    /// What the file says is there.
    pub bytes: Vec<u8>,
    /// How long it is; what lies beyond `bytes` is zero.
    pub memory_bytes: u64,
    /// What the program may do with it.
    pub protection: Protection,
}

impl Segment {
    /// The address behind the last byte.
    pub fn end(&self) -> u64 {
        self.address + self.memory_bytes
    }

    /// Whether `address` lies in the segment.
    pub fn contains(&self, address: u64) -> bool {
        (self.address..self.end()).contains(&address)
    }
}

/// The table of program headers, which C libraries read at their start to find
/// their thread-local storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramHeaders {
    /// Where they are in the guest's memory; zero when no segment holds them.
    pub address: u64,
    /// How many there are.
    pub count: u64,
    /// The size of each.
    pub entry_bytes: u64,
}

#[derive(Clone, Debug)]
struct Symbol {
    address: u64,
    /// Zero when the file does not say, as for labels in assembly.
    bytes: u64,
    name: String,
}

impl Program {
    /// Reads and checks the program in `file`. `name` is for messages.
    pub fn parse(name: impl Into<String>, file: impl Into<Arc<[u8]>>) -> Result<Self, ElfError> {
        Self::parse_for(check_place, name.into(), file.into())
    }

    /// The same for firmware, whose addresses are those of its own memory.
    pub fn parse_firmware(name: impl Into<String>, file: impl Into<Arc<[u8]>>) -> Result<Self, ElfError> {
        Self::parse_for(check_end, name.into(), file.into())
    }

    fn parse_for(check_place: PlaceCheck, name: String, file: Arc<[u8]>) -> Result<Self, ElfError> {
        match Reader::open(&file, check_place).and_then(Reader::read) {
            Ok(Parts { segments, entry, program_headers }) => {
                let symbols = symbols(&file);
                Ok(Program { name, file, segments, entry, program_headers, symbols })
            }
            Err(problem) => Err(ElfError { file: name, problem }),
        }
    }

    /// The file's name as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the whole file.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// The parts of memory to fill, in ascending order of address.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The bytes of the executable segments, with their addresses: what can be
    /// decoded before the program starts.
    pub fn code(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let executable = self.segments.iter().filter(|segment| segment.protection.execute);
        executable.map(|segment| (segment.address, &*segment.bytes))
    }

    /// The address of the first instruction.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The first page behind the program, where its heap begins.
    pub fn heap_start(&self) -> u64 {
        page_ceiling(self.segments.last().map_or(0, Segment::end))
    }

    /// The program headers as the guest finds them.
    pub fn program_headers(&self) -> ProgramHeaders {
        self.program_headers
    }

    /// The function that holds `address`, and how far into it that is.
    pub fn symbol(&self, address: u64) -> Option<(&str, u64)> {
        let behind = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = &self.symbols[behind.checked_sub(1)?];
        let offset = address - symbol.address;
        let inside = if symbol.bytes > 0 { offset < symbol.bytes } else { self.holds(address) };
        inside.then_some((symbol.name.as_str(), offset))
    }

    /// Where its functions and code labels begin, and end if the file says so: in no order.
    pub fn function_bounds(&self) -> impl Iterator<Item = u64> {
        let sized = |symbol: &&Symbol| symbol.bytes > 0;
        let ends =
            self.symbols.iter().filter(sized).map(|symbol| symbol.address.saturating_add(symbol.bytes));
        self.symbols.iter().map(|symbol| symbol.address).chain(ends)
    }

    /// The address that the file gives a name, of whatever it is. Reads its symbols each time;
    /// meant for checks before a run.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        let elf = ElfFile64::<LittleEndian>::parse(&*self.file).ok()?;
        elf.symbol_by_name(name).map(|symbol| symbol.address())
    }

    /// The address of a function that one source file alone knows (`static` in C). None if the file
    /// does not tell, or tells of several.
    pub fn local_function(&self, source: &str, name: &str) -> Option<u64> {
        let elf = ElfFile64::<LittleEndian>::parse(&*self.file).ok()?;
        let mut is_inside = false;
        let mut found = Vec::new();
        for symbol in elf.symbols() {
            match symbol.kind() {
                SymbolKind::File => is_inside = symbol.name() == Ok(source),
                SymbolKind::Text if is_inside && symbol.is_local() && symbol.name() == Ok(name) => {
                    found.push(symbol.address());
                }
                _ => {}
            }
        }
        match found[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The line of source that was compiled to the instruction at `address`.
    /// Reads the file's debug information each time; meant for messages.
    pub fn source_line(&self, address: u64) -> Option<SourceLine> {
        if self.holds(address) { source::line(&self.file, address) } else { None }
    }

    fn holds(&self, address: u64) -> bool {
        self.segments.iter().any(|segment| segment.contains(address))
    }
}

type Header = FileHeader64<LittleEndian>;
type SegmentHeader = ProgramHeader64<LittleEndian>;

/// What of a file is needed to run it.
struct Parts {
    segments: Vec<Segment>,
    entry: u64,
    program_headers: ProgramHeaders,
}

/// Whether a segment, by its number, start and length, can be where it is.
type PlaceCheck = fn(usize, u64, u64) -> Result<(), ElfProblem>;

/// A file whose header is sound.
struct Reader<'a> {
    file: &'a [u8],
    check_place: PlaceCheck,
    header: &'a Header,
    segment_headers: &'a [SegmentHeader],
}

impl<'a> Reader<'a> {
    fn open(file: &'a [u8], check_place: PlaceCheck) -> Result<Self, ElfProblem> {
        check_identity(file)?;
        let header = Header::parse(file).map_err(damaged)?;
        let (count, at) = (header.e_phnum.get(LittleEndian), header.e_phoff.get(LittleEndian));
        check_inside(file, "the table of program headers", at, u64::from(count) * SEGMENT_HEADER_BYTES)?;
        let (count, at) = (header.e_shnum.get(LittleEndian), header.e_shoff.get(LittleEndian));
        check_inside(file, "the table of section headers", at, u64::from(count) * SECTION_HEADER_BYTES)?;
        let segment_headers = header.program_headers(LittleEndian, file).map_err(damaged)?;
        Ok(Reader { file, check_place, header, segment_headers })
    }

    fn read(self) -> Result<Parts, ElfProblem> {
        self.check_kind()?;
        let segments = self.segments()?;
        let entry = self.header.e_entry.get(LittleEndian);
        check_entry(entry, &segments)?;
        let program_headers = self.program_headers_in_memory();
        Ok(Parts { segments, entry, program_headers })
    }

    /// Refuses what is not a program with addresses of its own.
    fn check_kind(&self) -> Result<(), ElfProblem> {
        let not_a_program = |kind, remedy| Err(ElfProblem::NotAProgram { kind, remedy });
        let interpreter = self.interpreter();
        match (self.header.e_type.get(LittleEndian), interpreter) {
            (elf::ET_REL, _) => not_a_program("an object file", "link it, for example with `narthex cc`"),
            (elf::ET_CORE, _) => not_a_program("a core dump", "give the program itself"),
            (elf::ET_EXEC | elf::ET_DYN, Some(needs)) => Err(ElfProblem::Dynamic { needs }),
            (elf::ET_DYN, None) => Err(ElfProblem::PositionIndependent),
            (elf::ET_EXEC, None) if self.has(elf::PT_DYNAMIC) => {
                Err(ElfProblem::Dynamic { needs: "its dynamic section resolved".into() })
            }
            (elf::ET_EXEC, None) => Ok(()),
            _ => not_a_program("an unknown kind of ELF file", "link it as a program with `narthex cc`"),
        }?;
        let embedded = self.header.e_flags.get(LittleEndian) & elf::EF_RISCV_RVE != elf::FileFlags(0);
        if embedded { Err(ElfProblem::EmbeddedRegisters) } else { Ok(()) }
    }

    /// The path of the dynamic linker that the file asks for.
    fn interpreter(&self) -> Option<String> {
        let header =
            self.segment_headers.iter().find(|header| header.p_type(LittleEndian) == elf::PT_INTERP)?;
        let path = header.data(LittleEndian, self.file).unwrap_or(b"a dynamic linker");
        let path = path.strip_suffix(&[0]).unwrap_or(path);
        Some(String::from_utf8_lossy(&path[..path.len().min(200)]).into_owned())
    }

    fn has(&self, kind: elf::ProgramType) -> bool {
        self.segment_headers.iter().any(|header| header.p_type(LittleEndian) == kind)
    }

    /// The loadable segments in ascending order, each and together checked.
    fn segments(&self) -> Result<Vec<Segment>, ElfProblem> {
        let mut segments = Vec::new();
        let mut budget = SEGMENTS_LIMIT_BYTES;
        for (index, header) in self.segment_headers.iter().enumerate() {
            let bytes = header.p_memsz(LittleEndian);
            if header.p_type(LittleEndian) != elf::PT_LOAD || bytes == 0 {
                continue;
            }
            budget = budget.checked_sub(bytes).ok_or(ElfProblem::TooLarge { index, bytes })?;
            segments.push((index, self.segment(index, header)?));
        }
        segments.sort_by_key(|(_, segment)| segment.address);
        for pair in segments.windows(2) {
            check_apart(&pair[0], &pair[1])?;
        }
        match segments.iter().any(|(_, segment)| segment.protection.execute) {
            true => Ok(segments.into_iter().map(|(_, segment)| segment).collect()),
            false if segments.is_empty() => Err(ElfProblem::NoSegment),
            false => Err(ElfProblem::NoExecutableSegment),
        }
    }

    fn segment(&self, index: usize, header: &SegmentHeader) -> Result<Segment, ElfProblem> {
        let (address, memory_bytes) = (header.p_vaddr(LittleEndian), header.p_memsz(LittleEndian));
        let (offset, file_bytes) = header.file_range(LittleEndian);
        if file_bytes > memory_bytes {
            let what = format!(
                "segment {index} is longer in the file ({file_bytes} bytes) than in memory ({memory_bytes})"
            );
            return Err(ElfProblem::Damaged { what });
        }
        check_inside(self.file, &format!("segment {index}"), offset, file_bytes)?;
        (self.check_place)(index, address, memory_bytes)?;
        // Where the file has no bytes for it, its place in the file means nothing.
        let rest = self.file.get(offset as usize..).unwrap_or_default();
        let bytes = rest[..file_bytes as usize].to_vec();
        let flags = header.p_flags(LittleEndian);
        let has = |flag| flags & flag == flag;
        let protection = Protection { read: has(elf::PF_R), write: has(elf::PF_W), execute: has(elf::PF_X) };
        Ok(Segment { address, bytes, memory_bytes, protection })
    }

    fn program_headers_in_memory(&self) -> ProgramHeaders {
        ProgramHeaders {
            address: self.program_header_address().unwrap_or(0),
            count: self.segment_headers.len() as u64,
            entry_bytes: SEGMENT_HEADER_BYTES,
        }
    }

    /// Where the segment that holds the table puts it.
    fn program_header_address(&self) -> Option<u64> {
        let table = self.header.e_phoff.get(LittleEndian);
        let bytes = self.segment_headers.len() as u64 * SEGMENT_HEADER_BYTES;
        self.segment_headers.iter().find_map(|header| {
            let (offset, length) = header.file_range(LittleEndian);
            let into = table.checked_sub(offset)?;
            let inside = header.p_type(LittleEndian) == elf::PT_LOAD && into + bytes <= length;
            inside.then(|| header.p_vaddr(LittleEndian) + into)
        })
    }
}

const HEADER_BYTES: u64 = size_of::<Header>() as u64;
const SEGMENT_HEADER_BYTES: u64 = size_of::<SegmentHeader>() as u64;
const SECTION_HEADER_BYTES: u64 = size_of::<elf::SectionHeader64<LittleEndian>>() as u64;

/// Refuses everything whose first bytes are not those of a little-endian,
/// 64-bit RISC-V file, the most telling difference first.
fn check_identity(file: &[u8]) -> Result<(), ElfProblem> {
    if file.is_empty() {
        return Err(ElfProblem::Empty);
    }
    if !file.starts_with(&elf::ELFMAG) {
        let first: Vec<String> = file.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        return Err(ElfProblem::NotElf { first_bytes: first.join(" ") });
    }
    check_inside(file, "the file header", 0, HEADER_BYTES)?;
    let big_endian = file[5] == elf::ELFDATA2MSB.0;
    let machine = [file[18], file[19]];
    let machine = if big_endian { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    if machine != elf::EM_RISCV.0 {
        return Err(ElfProblem::OtherMachine { machine: machine_name(machine) });
    }
    if big_endian {
        return Err(ElfProblem::BigEndian);
    }
    if file[4] == elf::ELFCLASS32.0 { Err(ElfProblem::ThirtyTwoBit) } else { Ok(()) }
}

fn machine_name(machine: u16) -> String {
    const NAMES: [(elf::Machine, &str); 10] = [
        (elf::EM_386, "32-bit x86"),
        (elf::EM_X86_64, "x86-64"),
        (elf::EM_ARM, "32-bit ARM"),
        (elf::EM_AARCH64, "AArch64"),
        (elf::EM_LOONGARCH, "LoongArch"),
        (elf::EM_MIPS, "MIPS"),
        (elf::EM_PPC64, "64-bit PowerPC"),
        (elf::EM_S390, "IBM S/390"),
        (elf::EM_SPARCV9, "64-bit SPARC"),
        (elf::EM_BPF, "BPF"),
    ];
    let known = NAMES.iter().find(|(number, _)| number.0 == machine);
    known.map_or_else(|| format!("ELF machine number {machine}"), |(_, name)| (*name).into())
}

fn check_inside(file: &[u8], what: &str, offset: u64, bytes: u64) -> Result<(), ElfProblem> {
    let length = file.len() as u64;
    let end = offset.saturating_add(bytes);
    if bytes == 0 || end <= length {
        return Ok(());
    }
    Err(ElfProblem::Truncated { what: what.into(), end, length })
}

/// Refuses segments below the first page, among the devices, or so high that
/// the heap would meet mapped memory.
fn check_place(index: usize, start: u64, bytes: u64) -> Result<(), ElfProblem> {
    let end = u128::from(start) + u128::from(bytes);
    let (lowest, highest) = (PAGE_BYTES, MMAP_START);
    if start < lowest || end > u128::from(highest) {
        return Err(ElfProblem::OutOfRange { index, start, end, lowest, highest });
    }
    let end = start + bytes;
    let pages = page_floor(start)..page_ceiling(end);
    if overlaps(&pages, &(DEVICE_START..DEVICE_END)) {
        return Err(ElfProblem::OverlapsDevices { index, start, end });
    }
    Ok(())
}

/// Refuses segments of firmware behind the last address.
fn check_end(index: usize, start: u64, bytes: u64) -> Result<(), ElfProblem> {
    let (end, highest) = (u128::from(start) + u128::from(bytes), 1 << 62);
    if end > u128::from(highest) {
        return Err(ElfProblem::OutOfRange { index, start, end, lowest: 0, highest });
    }
    Ok(())
}

fn check_apart(low: &(usize, Segment), high: &(usize, Segment)) -> Result<(), ElfProblem> {
    let address = high.1.address;
    if low.1.end() <= address {
        return Ok(());
    }
    let (first, second) = (low.0.min(high.0), low.0.max(high.0));
    Err(ElfProblem::OverlappingSegments { first, second, address })
}

fn check_entry(entry: u64, segments: &[Segment]) -> Result<(), ElfProblem> {
    let executable = |segment: &Segment| segment.protection.execute && segment.contains(entry);
    if !segments.iter().any(executable) {
        return Err(ElfProblem::EntryOutside { entry });
    }
    if entry % 2 == 1 { Err(ElfProblem::EntryOdd { entry }) } else { Ok(()) }
}

fn damaged(error: object::read::Error) -> ElfProblem {
    ElfProblem::Damaged { what: error.to_string() }
}

/// The functions and code labels of the file in ascending order of address,
/// one name for each address.
fn symbols(file: &[u8]) -> Vec<Symbol> {
    let Ok(elf) = ElfFile64::<LittleEndian>::parse(file) else {
        return Vec::new();
    };
    let mut found: Vec<(bool, Symbol)> = elf.symbols().filter_map(|symbol| code_symbol(&symbol)).collect();
    // Functions stand before bare labels at the same address, and so win.
    found.sort_by_key(|(label, symbol)| (symbol.address, *label));
    found.dedup_by_key(|(_, symbol)| symbol.address);
    found.into_iter().map(|(_, symbol)| symbol).collect()
}

/// The symbol if it names code, and whether it is a mere label.
fn code_symbol<'a>(symbol: &object::read::elf::ElfSymbol64<'a, '_, LittleEndian>) -> Option<(bool, Symbol)> {
    let label = match symbol.kind() {
        SymbolKind::Text => false,
        SymbolKind::Label | SymbolKind::Unknown if symbol.section_index().is_some() => true,
        _ => return None,
    };
    let name = symbol.name().ok()?;
    // `$x` and `.L` mark places for tools, not functions.
    if name.is_empty() || name.starts_with('$') || name.starts_with(".L") {
        return None;
    }
    let bytes = symbol.elf_symbol().st_size(LittleEndian);
    Some((label, Symbol { address: symbol.address(), bytes, name: name.into() }))
}

#[cfg(test)]
mod tests;
