//! The numbers that random programs compute with: mostly those at which
//! implementations differ.

use crate::choice::Choice;

/// Values at the boundaries of integers and of their parts.
const INTEGERS: [u64; 22] = [
    0,
    1,
    2,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    (1 << 63) - 1,
    (1 << 63) + 1,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    (1 << 32) - 1,
    0xffff_ffff_8000_0000,
    0xffff_ffff_7fff_ffff,
    0x7fff,
    0x8000,
    0xff,
    0x80,
    63,
    64,
    0x5555_5555_5555_5555,
    0xaaaa_aaaa_aaaa_aaaa,
];

/// Doubles: zeros, ones, the ends of the subnormal, normal and integer ranges,
/// infinities, quiet and signalling NaNs.
const DOUBLES: [u64; 28] = [
    0x0000_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x7ffc_dead_beef_0001,
    0x41df_ffff_ffc0_0000, // 2^31 - 1
    0x41e0_0000_0000_0000, // 2^31
    0x41ef_ffff_ffe0_0000, // 2^32 - 1
    0x41f0_0000_0000_0000, // 2^32
    0x43e0_0000_0000_0000, // 2^63
    0x43df_ffff_ffff_ffff,
    0x43f0_0000_0000_0000, // 2^64
    0x380f_ffff_ffff_ffff, // rounds to the smallest normal single
    0x36a0_0000_0000_0000, // the smallest single
    0x3690_0000_0000_0000, // half of it
    0x47ef_ffff_e000_0000, // the largest single
    0x47ef_ffff_f000_0000, // rounds beyond it
];

/// The same for singles.
const SINGLES: [u32; 24] = [
    0x0000_0000,
    0x3f80_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0x3f00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0x7fe1_2345,
    0x4eff_ffff, // just below 2^31
    0x4f00_0000, // 2^31
    0x4f7f_ffff, // just below 2^32
    0x4f80_0000, // 2^32
    0x5eff_ffff, // just below 2^63
    0x5f00_0000, // 2^63
    0x5f80_0000, // 2^64
    0x3380_0000, // 2^-24
];

/// The tag in the upper half of a register that holds a single.
const BOX: u64 = 0xffff_ffff_0000_0000;

/// A value that is an interesting integer, double or single.
pub fn interesting(choice: &mut Choice) -> u64 {
    match choice.below(12) {
        0 => choice.bits(),
        1 => choice.bits() >> choice.below(64),
        2 => ((choice.bits() as i64) >> choice.below(64)) as u64,
        3 | 4 => choice.of(&INTEGERS).wrapping_add(choice.below(3)).wrapping_sub(1),
        5 | 6 => choice.of(&DOUBLES) | sign(choice),
        7 => double_near_one(choice),
        8 | 9 => BOX | u64::from(choice.of(&SINGLES)) | sign(choice) >> 32,
        10 => BOX | single_near_one(choice),
        // A single in a register that does not say so: to be taken for NaN.
        _ => u64::from(choice.of(&SINGLES)) | choice.below(2) << 40,
    }
}

fn sign(choice: &mut Choice) -> u64 {
    choice.below(2) << 63
}

/// Any fraction, and an exponent so near to zero that sums cancel and products
/// stay finite.
fn double_near_one(choice: &mut Choice) -> u64 {
    let exponent = (1023 + choice.between(-70, 70)) as u64;
    sign(choice) | exponent << 52 | choice.bits() >> 12
}

fn single_near_one(choice: &mut Choice) -> u64 {
    let exponent = (127 + choice.between(-40, 40)) as u64;
    sign(choice) >> 32 | exponent << 23 | choice.bits() >> 41
}
