//! The smallest ELF file that the loader takes: a header and segments.

/// A segment may be executed.
pub const EXECUTE: u32 = 1;
/// A segment may be written.
pub const WRITE: u32 = 2;
/// A segment may be read.
pub const READ: u32 = 4;

/// A part of the program's memory.
pub struct Segment {
    /// Where it begins; a multiple of [`PAGE`].
    pub address: u64,
    /// What it holds at first.
    pub bytes: Vec<u8>,
    /// How long it is; what is left is zero.
    pub memory_bytes: u64,
    /// [`READ`], [`WRITE`], [`EXECUTE`], added up.
    pub flags: u32,
}

/// Segments begin at multiples of this, in the file and in memory.
pub const PAGE: usize = 4096;
const HEADER_BYTES: u16 = 64;
const SEGMENT_HEADER_BYTES: u16 = 56;

/// Where the header says whether the file is for 32 or 64 bits.
pub const CLASS: usize = 4;

/// A static 64-bit RISC-V program that begins at `entry`.
pub fn file(entry: u64, segments: &[Segment]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut put = |bytes: &[u8]| file.extend(bytes);
    // ELF, 64-bit, little-endian, version 1, no particular system.
    put(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    put(&2u16.to_le_bytes()); // a program
    put(&243u16.to_le_bytes()); // for RISC-V
    put(&1u32.to_le_bytes());
    for place in [entry, u64::from(HEADER_BYTES), 0] {
        put(&place.to_le_bytes());
    }
    put(&5u32.to_le_bytes()); // compressed instructions, doubles in registers
    for value in [HEADER_BYTES, SEGMENT_HEADER_BYTES, segments.len() as u16, 64, 0, 0] {
        put(&value.to_le_bytes());
    }
    let mut offset = PAGE;
    for segment in segments {
        put(&1u32.to_le_bytes()); // to be loaded
        put(&segment.flags.to_le_bytes());
        let length = segment.bytes.len() as u64;
        for value in
            [offset as u64, segment.address, segment.address, length, segment.memory_bytes, PAGE as u64]
        {
            put(&value.to_le_bytes());
        }
        offset += segment.bytes.len().next_multiple_of(PAGE);
    }
    for segment in segments {
        file.resize(file.len().next_multiple_of(PAGE), 0);
        file.extend(&segment.bytes);
    }
    file
}
