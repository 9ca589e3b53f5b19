use super::*;
use object::elf::{FileFlags, FileType, Machine, ProgramFlags};
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, Sym, Writer};
use object::{Endianness, write::StringId};
use proptest::prelude::*;

/// An ELF file to be: what tests change to see it refused.
pub(crate) struct Image {
    pub(crate) endian: Endianness,
    pub(crate) is_64: bool,
    pub(crate) machine: Machine,
    pub(crate) kind: FileType,
    pub(crate) flags: u32,
    pub(crate) entry: u64,
    pub(crate) segments: Vec<ImageSegment>,
    pub(crate) interpreter: Option<&'static str>,
    pub(crate) symbols: Vec<(&'static str, u64, u64)>,
}

pub(crate) struct ImageSegment {
    pub(crate) address: u64,
    pub(crate) flags: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) memory_bytes: u64,
}

impl Image {
    /// A program of one instruction and some data, with two functions.
    pub(crate) fn sound() -> Self {
        let code = ImageSegment {
            address: 0x1_0000,
            flags: 5,
            bytes: 0x73u32.to_le_bytes().repeat(4),
            memory_bytes: 16,
        };
        let data = ImageSegment { address: 0x2_0004, flags: 6, bytes: vec![1, 2, 3], memory_bytes: 0x1234 };
        Image {
            endian: Endianness::Little,
            is_64: true,
            machine: elf::EM_RISCV,
            kind: elf::ET_EXEC,
            flags: 5,
            entry: 0x1_0000,
            segments: vec![code, data],
            interpreter: None,
            symbols: vec![("_start", 0x1_0000, 8), ("label", 0x1_0008, 0), ("$x", 0x1_000c, 0)],
        }
    }

    /// The file.
    pub(crate) fn build(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(self.endian, self.is_64, &mut bytes);
        let names: Vec<StringId> =
            self.symbols.iter().map(|(name, ..)| writer.add_string(name.as_bytes())).collect();
        writer.reserve_file_header();
        let count = self.segments.len() + usize::from(self.interpreter.is_some());
        writer.reserve_program_headers(count as u32);
        let offsets: Vec<u64> =
            self.segments.iter().map(|segment| writer.reserve(segment.bytes.len() as u64, 16)).collect();
        let interpreter = self.interpreter.map(|path| (path, writer.reserve(path.len() as u64, 1)));
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
        for (segment, offset) in self.segments.iter().zip(&offsets) {
            writer.write_program_header(&program_header(segment, *offset));
        }
        if let Some((path, offset)) = interpreter {
            let bytes = path.as_bytes().to_vec();
            let segment = ImageSegment { address: 0x100, flags: 4, memory_bytes: bytes.len() as u64, bytes };
            writer.write_program_header(&ProgramHeader {
                p_type: elf::PT_INTERP,
                ..program_header(&segment, offset)
            });
        }
        for (segment, offset) in self.segments.iter().zip(&offsets) {
            writer.pad_until(*offset);
            writer.write(&segment.bytes);
        }
        if let Some((path, offset)) = interpreter {
            writer.pad_until(offset);
            writer.write(path.as_bytes());
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
}

fn program_header(segment: &ImageSegment, offset: u64) -> ProgramHeader {
    ProgramHeader {
        p_type: elf::PT_LOAD,
        p_flags: ProgramFlags(segment.flags),
        p_offset: offset,
        p_vaddr: segment.address,
        p_paddr: segment.address,
        p_filesz: segment.bytes.len() as u64,
        p_memsz: segment.memory_bytes,
        p_align: 16,
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

fn text_section(sh_name: u32, code: &ImageSegment, sh_offset: u64) -> SectionHeader {
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

/// The message with which the image is refused after `change`.
fn refusal(change: impl FnOnce(&mut Image)) -> String {
    let mut image = Image::sound();
    change(&mut image);
    refusal_of(image.build())
}

fn refusal_of(file: Vec<u8>) -> String {
    Program::parse("prog", file).expect_err("the file is refused").to_string()
}

#[test]
fn a_sound_program_is_read_in_full() {
    let program = Program::parse("prog", Image::sound().build()).expect("sound");
    assert_eq!(program.entry(), 0x1_0000);
    assert_eq!(program.segments().len(), 2);
    assert_eq!(program.segments()[0].protection, Protection::READ_EXECUTE);
    assert_eq!(program.segments()[1].bytes, [1, 2, 3]);
    assert_eq!(program.segments()[1].memory_bytes, 0x1234);
    assert_eq!(program.heap_start(), 0x2_2000);
    assert_eq!(program.program_headers().count, 2);
}

#[test]
fn an_address_has_the_name_of_the_function_around_it() {
    let program = Program::parse("prog", Image::sound().build()).expect("sound");
    assert_eq!(program.symbol(0x1_0004), Some(("_start", 4)));
    assert_eq!(program.symbol(0x1_000c), Some(("label", 4)));
    assert_eq!(program.symbol(0xffff), None);
    assert_eq!(program.symbol(0x1_0010), None);
    assert_eq!(program.source_line(0x1_0004), None);
}

#[test]
fn other_kinds_of_file_are_refused_with_a_remedy() {
    assert_eq!(refusal_of(vec![]), "prog: the file is empty: build the program again");
    let script = refusal_of(b"#!/bin/sh".to_vec());
    assert!(script.contains("not an ELF program (it begins with 23 21 2f 62)"), "{script}");
    assert!(refusal(|image| image.kind = elf::ET_REL).contains("an object file, not a program: link it"));
    assert!(refusal(|image| image.kind = elf::ET_CORE).contains("a core dump"));
    assert!(refusal(|image| image.kind = elf::ET_DYN).contains("link with -static -no-pie"));
}

#[test]
fn programs_for_other_machines_are_refused_by_name() {
    assert!(refusal(|image| image.machine = elf::EM_X86_64).contains("built for x86-64, not for RISC-V"));
    assert!(refusal(|image| image.machine = Machine(9999)).contains("ELF machine number 9999"));
    assert!(refusal(|image| image.is_64 = false).contains("a 32-bit program"));
    assert!(refusal(|image| image.endian = Endianness::Big).contains("a big-endian program"));
    assert!(refusal(|image| image.flags = 0xd).contains("RV64E"));
}

#[test]
fn a_dynamically_linked_program_is_refused_with_the_remedy() {
    let message = refusal(|image| image.interpreter = Some("/lib/ld-linux-riscv64-lp64d.so.1"));
    let expected = "prog: dynamically linked (it needs /lib/ld-linux-riscv64-lp64d.so.1): link with -static";
    assert_eq!(message, expected);
}

#[test]
fn a_program_that_ends_early_is_refused_wherever_it_ends() {
    let file = Image::sound().build();
    for length in 1..file.len() {
        let message = refusal_of(file[..length].to_vec());
        assert!(message.contains("truncated") || length < 4, "{length}: {message}");
    }
}

#[test]
fn segments_in_wrong_places_are_refused() {
    let at = |address| refusal(|image| image.segments[1].address = address);
    assert!(at(0x1_0008).contains("segments 0 and 1 overlap at 0x10008"));
    assert!(at(0x10).contains("programs may use 0x1000 to 0x20000c0000"));
    assert!(at(0x4fff_f000).contains("overlaps the device region 0x50000000 to 0x60000000"));
    assert!(at(0x5fff_fff0).contains("overlaps the device region"));
    assert!(at(u64::MAX).contains("segment 1 occupies"));
    let huge = refusal(|image| image.segments[1].memory_bytes = 1 << 40);
    assert!(huge.contains("segment 1 wants 1099511627776 bytes"), "{huge}");
}

#[test]
fn a_program_above_the_devices_runs_too() {
    let mut image = Image::sound();
    (image.segments[0].address, image.entry) = (0x8000_0000, 0x8000_0000);
    image.segments[1].address = 0x8000_1000;
    let program = Program::parse("prog", image.build()).expect("sound");
    assert_eq!(program.heap_start(), 0x8000_3000);
}

#[test]
fn a_program_without_a_sensible_beginning_is_refused() {
    assert!(
        refusal(|image| image.entry = 0x2_0004)
            .contains("the entry point 0x20004 lies in no executable segment")
    );
    assert!(refusal(|image| image.entry = 0x1_0001).contains("is odd"));
    assert!(refusal(|image| image.segments[0].flags = 4).contains("no executable segment"));
    assert!(
        refusal(|image| image.segments.iter_mut().for_each(|segment| segment.memory_bytes = 0))
            .contains("no loadable segment")
    );
}

proptest! {
    #[test]
    fn no_damage_to_a_file_makes_the_reader_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        length in any::<prop::sample::Index>(),
        truncated in any::<bool>(),
    ) {
        let mut file = Image::sound().build();
        for (place, value) in flips {
            let place = place.index(file.len());
            file[place] = value;
        }
        if truncated {
            file.truncate(length.index(file.len()));
        }
        if let Ok(program) = Program::parse("prog", file) {
            let _ = (program.symbol(0x1_0004), program.source_line(0x1_0004));
            prop_assert!(program.segments().iter().all(|segment| segment.memory_bytes <= SEGMENTS_LIMIT_BYTES));
        }
    }
}
