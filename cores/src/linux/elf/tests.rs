use super::*;
use crate::test_elf::Image;
use object::Endianness;
use object::elf::Machine;
use proptest::prelude::*;

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
