//! The smallest ELF file that Linux starts: a header, two segments, no sections.

/// A part of memory.
pub struct Segment {
    /// Where it begins; a multiple of the page size.
    pub address: u64,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// How long it is; the rest is zero.
    pub memory_bytes: u64,
    /// 1 execute, 2 write, 4 read, added up.
    pub flags: u32,
}

const PAGE: usize = 4096;

/// A static 64-bit RISC-V program that begins at `entry`.
pub fn file(entry: u64, segments: &[Segment]) -> Vec<u8> {
    let mut file = Vec::new();
    // Identity: ELF, 64-bit, little-endian, version 1, System V.
    file.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    half(&mut file, 2); // executable
    half(&mut file, 243); // RISC-V
    word(&mut file, 1);
    double(&mut file, entry);
    double(&mut file, 64); // the segment headers follow
    double(&mut file, 0);
    word(&mut file, 5); // compressed instructions, doubles in registers
    for value in [64, 56, segments.len() as u16, 64, 0, 0] {
        half(&mut file, value);
    }
    let mut offset = PAGE;
    for segment in segments {
        word(&mut file, 1); // load
        word(&mut file, segment.flags);
        for value in [offset as u64, segment.address, segment.address] {
            double(&mut file, value);
        }
        double(&mut file, segment.bytes.len() as u64);
        double(&mut file, segment.memory_bytes);
        double(&mut file, PAGE as u64);
        offset += segment.bytes.len().next_multiple_of(PAGE);
    }
    for segment in segments {
        file.resize(file.len().next_multiple_of(PAGE), 0);
        file.extend(&segment.bytes);
    }
    file
}

fn half(file: &mut Vec<u8>, value: u16) {
    file.extend(value.to_le_bytes());
}

fn word(file: &mut Vec<u8>, value: u32) {
    file.extend(value.to_le_bytes());
}

fn double(file: &mut Vec<u8>, value: u64) {
    file.extend(value.to_le_bytes());
}
