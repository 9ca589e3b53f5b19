//! Floating point: the host's arithmetic where it is surely right, integers
//! where it is not.
//!
//! The guest's doubles are the host's. IEEE 754 fixes what `a + b` is when
//! rounding to nearest, so the host's result is the guest's, unless it is a
//! NaN, infinite, tiny or zero; [`host`] recognises plain results with one
//! comparison. What the host does not tell is whether the result was exact.
//! But flags are sticky: once the guest's *inexact* flag is set, a plain result
//! raises nothing new, and the processor takes the short way ([`HostRounds`]). Until then
//! [`quick`] proves results exact, and [`exact`] computes everything else: any
//! rounding mode, any flag, with integers of 128 bits and nothing of the host.

pub(crate) mod exact;
pub(crate) mod host;
pub(crate) mod quick;

use std::ops::BitOr;

/// The exception flags of fcsr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(u32);

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const INEXACT: Flags = Flags(1);
    pub const UNDERFLOW: Flags = Flags(2);
    pub const OVERFLOW: Flags = Flags(4);
    pub const DIVIDE_BY_ZERO: Flags = Flags(8);
    pub const INVALID: Flags = Flags(16);

    /// As they are in fcsr.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// These flags if `condition` holds.
    pub fn when(self, condition: bool) -> Flags {
        if condition { self } else { Flags::NONE }
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Whether the host may compute for an instruction, by the rounding mode and the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostRounds {
    /// No: another rounding mode, or none.
    No,
    /// To nearest, but the inexact flag is not set: only where the result is proved exact.
    IfExact,
    /// To nearest, and the inexact flag is set: any plain result.
    Freely,
}

/// How a result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    NearestEven,
    /// Towards zero.
    TowardZero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// To nearest, ties away from zero.
    NearestAway,
}

impl Rounding {
    /// The mode that an instruction's `rm` and fcsr select, if there is one.
    pub fn select(rm: u8, fcsr: u32) -> Option<Rounding> {
        let mode = if rm == 7 { fcsr >> 5 } else { u32::from(rm) };
        match mode {
            0 => Some(Rounding::NearestEven),
            1 => Some(Rounding::TowardZero),
            2 => Some(Rounding::Down),
            3 => Some(Rounding::Up),
            4 => Some(Rounding::NearestAway),
            _ => None,
        }
    }
}

/// A binary interchange format of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Stored bits of the significand.
    pub fraction_bits: u32,
    /// Bits of the exponent.
    pub exponent_bits: u32,
}

impl Format {
    pub const SINGLE: Format = Format { fraction_bits: 23, exponent_bits: 8 };
    pub const DOUBLE: Format = Format { fraction_bits: 52, exponent_bits: 11 };

    pub const fn sign_bit(self) -> u64 {
        1 << (self.fraction_bits + self.exponent_bits)
    }

    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The NaN that every invalid operation gives.
    pub const fn canonical_nan(self) -> u64 {
        self.infinity() | 1 << (self.fraction_bits - 1)
    }

    /// The exponent of the last place of subnormal numbers.
    pub const fn least_exponent(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1)) - self.fraction_bits as i32
    }
}
