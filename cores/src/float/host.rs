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
    /// self * b + c, rounded once, by one instruction of the host.
    ///
    /// # Safety
    /// The host has that instruction: see [`host_fuses`].
    unsafe fn fused(self, b: Self, c: Self) -> Self;
    /// An integer below two to the [`Format::fraction_bits`].
    fn from_small(value: i64) -> Self;
    /// The integer part; saturates.
    fn truncated(self) -> i64;

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

    /// Whether it is neither NaN, infinite, zero, subnormal nor near the
    /// subnormal numbers: as a result rounded to nearest, it then raises no
    /// flag but inexact.
    #[inline(always)]
    fn is_plain(self) -> bool {
        // Exponents 0, 1, 2 and the last one become 1, 2, 3 and 0.
        let format = Self::FORMAT;
        let next_exponent = (self.low_bits() >> format.fraction_bits) as u32 + 1;
        next_exponent & ((1 << format.exponent_bits) - 4) != 0
    }
}

/// Whether the host multiplies and adds in one instruction. For hosts that do
/// not, integers do.
pub(crate) fn host_fuses() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

/// The instruction of that name. The compiler uses it by itself only where it
/// may assume that every host has it.
macro_rules! fused_by_host {
    ($instruction:literal, $a:expr, $b:expr, $c:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            let mut result = $a;
            // SAFETY: the caller knows that the host has the instruction, which
            // computes on registers.
            unsafe {
                std::arch::asm!(
                    concat!($instruction, " {}, {}, {}"),
                    inout(xmm_reg) result,
                    in(xmm_reg) $b,
                    in(xmm_reg) $c,
                    options(pure, nomem, nostack),
                );
            }
            result
        }
        #[cfg(not(target_arch = "x86_64"))]
        $a.mul_add($b, $c)
    }};
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
    unsafe fn fused(self, b: Self, c: Self) -> Self {
        fused_by_host!("vfmadd213sd", self, b, c)
    }
    #[inline(always)]
    fn from_small(value: i64) -> Self {
        value as f64
    }
    #[inline(always)]
    fn truncated(self) -> i64 {
        self as i64
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
        if register >= 0xffff_ffff_0000_0000 { register & 0xffff_ffff } else { Self::FORMAT.canonical_nan() }
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
    unsafe fn fused(self, b: Self, c: Self) -> Self {
        fused_by_host!("vfmadd213ss", self, b, c)
    }
    #[inline(always)]
    fn from_small(value: i64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn truncated(self) -> i64 {
        self as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_those_that_can_only_be_inexact() {
        for plain in [1.0, -3.5, 1e300, f64::MAX, 4.0 * f64::MIN_POSITIVE] {
            assert!(plain.is_plain(), "{plain}");
        }
        for special in [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 5e-324] {
            assert!(!special.is_plain(), "{special}");
        }
        assert!(1f32.is_plain() && !f32::NEG_INFINITY.is_plain() && !1e-40f32.is_plain());
    }

    #[test]
    fn the_instruction_computes_what_the_library_does() {
        if host_fuses() {
            // SAFETY: the host has the instruction.
            let (double, single) = unsafe { ((1.0 + f64::EPSILON).fused(3.0, -3.0), 3f32.fused(5.0, 7.0)) };
            assert_eq!((double, single), (3.0 * f64::EPSILON, 22.0));
        }
    }

    #[test]
    fn a_single_that_is_not_boxed_is_a_nan() {
        assert!(f32::from_register(1f32.to_bits().into()).is_nan());
        assert_eq!(f32::from_register(1f32.to_register()), 1.0);
    }
}
