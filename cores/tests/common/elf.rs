//! ELF files for tests: sound ones, and those that are to be refused.

#![allow(dead_code, reason = "each test program uses a part of it")]

use object::elf::{self, FileFlags, FileType, Machine, ProgramFlags, ProgramType};
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, Sym, Writer};
use object::{Endianness, write::StringId};

/// A segment may be executed.
pub const EXECUTE: u32 = 1;
/// A segment may be written.
pub const WRITE: u32 = 2;
/// A segment may be read.
pub const READ: u32 = 4;

/// Segments of [`file`] begin at multiples of this in the file.
const PAGE_BYTES: u64 = 4096;

/// A part of a program's memory.
#[derive(Clone)]
pub struct Segment {
    /// Where it begins.
    pub address: u64,
    /// What it holds at first.
    pub bytes: Vec<u8>,
    /// How long it is; what is left is zero.
    pub memory_bytes: u64,
    /// [`READ`], [`WRITE`], [`EXECUTE`], added up.
    pub flags: u32,
}

/// What an ELF file says; tests change it to see the file refused.
pub struct Image {
    /// The order of bytes.
    pub endian: Endianness,
    /// Whether it is for 64 bits.
    pub is_64: bool,
    /// For which processor.
    pub machine: Machine,
    /// A program, a library, an object.
    pub kind: FileType,
    /// The processor's own flags: compressed instructions, floats in registers.
    pub flags: u32,
    /// Where the program begins.
    pub entry: u64,
    /// What is loaded.
    pub segments: Vec<Segment>,
    /// Segments begin at multiples of this in the file.
    pub alignment: u64,
    /// The path of a dynamic linker.
    pub interpreter: Option<&'static str>,
    /// Names, addresses and sizes.
    pub symbols: Vec<(&'static str, u64, u64)>,
}

/// A static 64-bit RISC-V program that begins at `entry`.
pub fn file(entry: u64, segments: impl Into<Vec<Segment>>) -> Vec<u8> {
    Image::program(entry, segments).build()
}

impl Image {
    /// A static 64-bit RISC-V program that begins at `entry`.
    pub fn program(entry: u64, segments: impl Into<Vec<Segment>>) -> Self {
        Image {
            endian: Endianness::Little,
            is_64: true,
            machine: elf::EM_RISCV,
            kind: elf::ET_EXEC,
            flags: 5,
            entry,
            segments: segments.into(),
            alignment: PAGE_BYTES,
            interpreter: None,
            symbols: Vec::new(),
        }
    }

    /// A program of one instruction and some data, with two functions.
    pub fn sound() -> Self {
        let bytes = 0x73u32.to_le_bytes().repeat(4);
        let code = Segment { address: 0x1_0000, flags: READ | EXECUTE, bytes, memory_bytes: 16 };
        let bytes = vec![1, 2, 3];
        let data = Segment { address: 0x2_0004, flags: READ | WRITE, bytes, memory_bytes: 0x1234 };
        let symbols = vec![("_start", 0x1_0000, 8), ("label", 0x1_0008, 0), ("$x", 0x1_000c, 0)];
        Image { alignment: 16, symbols, ..Image::program(0x1_0000, [code, data]) }
    }

    /// The file.
    pub fn build(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(self.endian, self.is_64, &mut bytes);
        let names: Vec<StringId> =
            self.symbols.iter().map(|(name, ..)| writer.add_string(name.as_bytes())).collect();
        writer.reserve_file_header();
        let segments = self.all_segments();
        writer.reserve_program_headers(segments.len() as u32);
        let reserve =
            |(_, segment): &(_, Segment)| writer.reserve(segment.bytes.len() as u64, self.alignment);
        let offsets: Vec<u64> = segments.iter().map(reserve).collect();
        let _null = writer.reserve_null_section_index();
        let section = writer.reserve_section_index();
        let text = writer.add_section_name(b".text");
        for _ in &names {
            writer.reserve_symbol_index(Some(section));
        }
        writer.reserve_symtab_section_index();
        writer.reserve_strtab_section_index();
        writer.reserve_shstrtab_section_index();
        writer.reserve_symtab();
        writer.reserve_strtab().expect("short names");
        writer.reserve_shstrtab().expect("short names");
        writer.reserve_section_headers();

        writer.write_file_header(&self.header()).expect("a header");
        writer.write_align_program_headers();
        for ((kind, segment), offset) in segments.iter().zip(&offsets) {
            writer.write_program_header(&self.program_header(*kind, segment, *offset));
        }
        for ((_, segment), offset) in segments.iter().zip(&offsets) {
            writer.pad_until(*offset);
            writer.write(&segment.bytes);
        }
        writer.write_null_symbol();
        for (name, (_, address, size)) in names.iter().zip(&self.symbols) {
            let name = writer.string_offset(Some(*name));
            writer.write_symbol(&symbol(name, section.0, *address, *size));
        }
        writer.write_strtab();
        writer.write_shstrtab();
        writer.write_null_section_header();
        let text = writer.section_name_offset(Some(text));
        writer.write_section_header(&text_section(text, &self.segments[0], offsets[0]));
        writer.write_symtab_section_header(1);
        writer.write_strtab_section_header();
        writer.write_shstrtab_section_header();
        bytes
    }

    /// What is loaded, and what names the dynamic linker.
    fn all_segments(&self) -> Vec<(ProgramType, Segment)> {
        let interpreter = self.interpreter.map(|path| {
            let (bytes, memory_bytes) = (path.as_bytes().to_vec(), path.len() as u64);
            (elf::PT_INTERP, Segment { address: 0x100, flags: READ, bytes, memory_bytes })
        });
        let loaded = self.segments.iter().map(|segment| (elf::PT_LOAD, segment.clone()));
        loaded.chain(interpreter).collect()
    }

    fn header(&self) -> FileHeader {
        FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: self.kind,
            e_machine: self.machine,
            e_entry: self.entry,
            e_flags: FileFlags(self.flags),
        }
    }

    fn program_header(&self, p_type: ProgramType, segment: &Segment, offset: u64) -> ProgramHeader {
        ProgramHeader {
            p_type,
            p_flags: ProgramFlags(segment.flags),
            p_offset: offset,
            p_vaddr: segment.address,
            p_paddr: segment.address,
            p_filesz: segment.bytes.len() as u64,
            p_memsz: segment.memory_bytes,
            p_align: self.alignment,
        }
    }
}

/// A function where a size is given, else a label.
fn symbol(st_name: u32, section: u32, st_value: u64, st_size: u64) -> Sym {
    let st_info = elf::SymbolInfo((1 << 4) | if st_size > 0 { elf::STT_FUNC.0 } else { 0 });
    let st_other = elf::SymbolOther(0);
    Sym {
        section: Some(section),
        st_name,
        st_info,
        st_other,
        st_shndx: elf::SymbolSection(0),
        st_value,
        st_size,
    }
}

fn text_section(sh_name: u32, code: &Segment, sh_offset: u64) -> SectionHeader {
    SectionHeader {
        sh_name,
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SHF_ALLOC | elf::SHF_EXECINSTR,
        sh_addr: code.address,
        sh_offset,
        sh_size: code.bytes.len() as u64,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 4,
        sh_entsize: 0,
    }
}
