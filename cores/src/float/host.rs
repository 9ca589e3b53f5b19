//! The host's floating-point numbers as the guest's.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Format;

/// A floating-point type of the host that has a guest's format.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Its format.
    const FORMAT: Format;

    /// The number with these bits (of the format).
    fn from_low_bits(bits: u64) -> Self;
    /// Its bits.
    fn low_bits(self) -> u64;
    /// The bits of the number in a register. A single that is not boxed (upper
    /// bits all ones) counts as a NaN.
    fn unbox(register: u64) -> u64;
    /// The register that holds these bits.
    fn boxed(bits: u64) -> u64;
    /// Its square root.
    fn root(self) -> Self;
    /// self * b + c, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;

    /// The number in a register.
    #[inline(always)]
    fn from_register(register: u64) -> Self {
        Self::from_low_bits(Self::unbox(register))
    }

    /// The register that holds the number.
    #[inline(always)]
    fn to_register(self) -> u64 {
        Self::boxed(self.low_bits())
    }

    /// Whether it is neither NaN, infinite, zero, subnormal nor next to the
    /// subnormal numbers: as a result rounded to nearest, it then raises no
    /// flag but inexact.
    #[inline(always)]
    fn is_plain(self) -> bool {
        // Drop the sign, then the exponent must be at least 2 and not the last.
        let format = Self::FORMAT;
        let magnitude = self.low_bits() & (format.sign_bit() - 1);
        let least = 2 << format.fraction_bits;
        magnitude.wrapping_sub(least) < format.infinity() - least
    }
}

impl Real for f64 {
    const FORMAT: Format = Format::DOUBLE;

    #[inline(always)]
    fn from_low_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn low_bits(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn unbox(register: u64) -> u64 {
        register
    }
    #[inline(always)]
    fn boxed(bits: u64) -> u64 {
        bits
    }
    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
}

impl Real for f32 {
    const FORMAT: Format = Format::SINGLE;

    #[inline(always)]
    fn from_low_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn low_bits(self) -> u64 {
        self.to_bits().into()
    }
    #[inline(always)]
    fn unbox(register: u64) -> u64 {
        if register >= 0xffff_ffff_0000_0000 {
            register & 0xffff_ffff
        } else {
            Self::FORMAT.canonical_nan()
        }
    }
    #[inline(always)]
    fn boxed(bits: u64) -> u64 {
        bits | 0xffff_ffff_0000_0000
    }
    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_those_that_can_only_be_inexact() {
        for plain in [1.0, -3.5, 1e300, f64::MAX, 2.0 * f64::MIN_POSITIVE] {
            assert!(plain.is_plain(), "{plain}");
        }
        for special in [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 5e-324] {
            assert!(!special.is_plain(), "{special}");
        }
        assert!(1f32.is_plain() && !f32::NEG_INFINITY.is_plain() && !1e-40f32.is_plain());
    }

    #[test]
    fn a_single_that_is_not_boxed_is_a_nan() {
        assert!(f32::from_register(1f32.to_bits().into()).is_nan());
        assert_eq!(f32::from_register(1f32.to_register()), 1.0);
    }
}
