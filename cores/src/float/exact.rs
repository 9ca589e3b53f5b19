//! Floating-point arithmetic with integers: every rounding mode, every flag.
//!
//! A number is unpacked into sign, exponent and an integer significand of up to
//! 128 bits; the operation is done exactly, or with a last bit that says "and a
//! little more" (sticky); and [`round`] packs the result, once. Operands and
//! results are bits of the format, not yet boxed.

use super::{Flags, Format, Rounding};

/// A result and the flags it raises.
pub(crate) type Rounded = (u64, Flags);

/// A finite number other than zero: significand times two to the exponent.
#[derive(Clone, Copy, Debug)]
struct Number {
    negative: bool,
    exponent: i32,
    significand: u128,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Nan { signaling: bool },
    Infinity { negative: bool },
    Zero { negative: bool },
    Finite(Number),
}

impl Value {
    fn unpack(format: Format, bits: u64) -> Value {
        let negative = bits & format.sign_bit() != 0;
        let fraction = bits & ((1 << format.fraction_bits) - 1);
        let exponent = (bits & format.infinity()) >> format.fraction_bits;
        let hidden = 1u64 << format.fraction_bits;
        match (exponent, fraction) {
            (0, 0) => Value::Zero { negative },
            (0, _) => Value::finite(negative, format.least_exponent(), fraction.into()),
            _ if exponent << format.fraction_bits != format.infinity() => Value::finite(
                negative,
                format.least_exponent() + exponent as i32 - 1,
                (fraction | hidden).into(),
            ),
            (_, 0) => Value::Infinity { negative },
            _ => Value::Nan { signaling: fraction & (hidden >> 1) == 0 },
        }
    }

    fn finite(negative: bool, exponent: i32, significand: u128) -> Value {
        Value::Finite(Number { negative, exponent, significand })
    }

    fn negative(self) -> bool {
        match self {
            Value::Nan { .. } => false,
            Value::Infinity { negative } | Value::Zero { negative } => negative,
            Value::Finite(number) => number.negative,
        }
    }

    fn is_nan(self) -> bool {
        matches!(self, Value::Nan { .. })
    }

    fn is_signaling(self) -> bool {
        matches!(self, Value::Nan { signaling: true })
    }
}

fn invalid(format: Format) -> Rounded {
    (format.canonical_nan(), Flags::INVALID)
}

/// What an operation with a NaN among its operands gives.
fn nan(format: Format, operands: &[Value]) -> Rounded {
    let signaling = operands.iter().any(|operand| operand.is_signaling());
    (format.canonical_nan(), Flags::INVALID.when(signaling))
}

fn infinity(format: Format, negative: bool) -> Rounded {
    (signed(format, negative, format.infinity()), Flags::NONE)
}

fn zero(format: Format, negative: bool) -> Rounded {
    (signed(format, negative, 0), Flags::NONE)
}

fn signed(format: Format, negative: bool, magnitude: u64) -> u64 {
    if negative { magnitude | format.sign_bit() } else { magnitude }
}

/// a + b
pub(crate) fn add(format: Format, mode: Rounding, a: u64, b: u64) -> Rounded {
    sum(format, mode, Value::unpack(format, a), Value::unpack(format, b))
}

/// a - b
pub(crate) fn subtract(format: Format, mode: Rounding, a: u64, b: u64) -> Rounded {
    add(format, mode, a, b ^ format.sign_bit())
}

/// a * b
pub(crate) fn multiply(format: Format, mode: Rounding, a: u64, b: u64) -> Rounded {
    let (a, b) = (Value::unpack(format, a), Value::unpack(format, b));
    if a.is_nan() || b.is_nan() {
        return nan(format, &[a, b]);
    }
    match product(a, b) {
        Some(Value::Finite(number)) => round(format, mode, number),
        Some(Value::Zero { negative }) => zero(format, negative),
        Some(value) => infinity(format, value.negative()),
        None => invalid(format),
    }
}

/// a * b + c, rounded once
pub(crate) fn multiply_add(format: Format, mode: Rounding, a: u64, b: u64, c: u64) -> Rounded {
    let [a, b, c] = [a, b, c].map(|bits| Value::unpack(format, bits));
    let product = if a.is_nan() || b.is_nan() { Some(a) } else { product(a, b) };
    match product {
        // Infinity times zero is invalid even when a quiet NaN is added.
        None => invalid(format),
        Some(_) if a.is_nan() || b.is_nan() || c.is_nan() => nan(format, &[a, b, c]),
        Some(product) => sum(format, mode, product, c),
    }
}

/// The exact product of two values that are not NaN; none if it is invalid.
fn product(a: Value, b: Value) -> Option<Value> {
    let negative = a.negative() != b.negative();
    match (a, b) {
        (Value::Infinity { .. }, Value::Zero { .. }) | (Value::Zero { .. }, Value::Infinity { .. }) => None,
        (Value::Infinity { .. }, _) | (_, Value::Infinity { .. }) => Some(Value::Infinity { negative }),
        (Value::Finite(a), Value::Finite(b)) => {
            let significand = a.significand * b.significand;
            Some(Value::finite(negative, a.exponent + b.exponent, significand))
        }
        _ => Some(Value::Zero { negative }),
    }
}

fn sum(format: Format, mode: Rounding, a: Value, b: Value) -> Rounded {
    match (a, b) {
        (Value::Nan { .. }, _) | (_, Value::Nan { .. }) => nan(format, &[a, b]),
        (Value::Infinity { negative: x }, Value::Infinity { negative: y }) if x != y => invalid(format),
        (Value::Infinity { negative }, _) | (_, Value::Infinity { negative }) => infinity(format, negative),
        (Value::Zero { negative: x }, Value::Zero { negative: y }) => {
            zero(format, if x == y { x } else { mode == Rounding::Down })
        }
        (Value::Zero { .. }, Value::Finite(number)) | (Value::Finite(number), Value::Zero { .. }) => {
            round(format, mode, number)
        }
        (Value::Finite(a), Value::Finite(b)) => sum_of_numbers(format, mode, a, b),
    }
}

/// Aligns both numbers below bit 126 and adds or subtracts. What the smaller
/// one loses is kept as a sticky bit, far below the last place of the result:
/// where many bits cancel, the exponents differ by at most one and nothing was
/// lost.
fn sum_of_numbers(format: Format, mode: Rounding, a: Number, b: Number) -> Rounded {
    let (a, b) = (aligned(a), aligned(b));
    let (large, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let distance = (large.exponent - small.exponent) as u32;
    let addend = shift_with_sticky(small.significand, distance);
    let (negative, significand) = if large.negative == small.negative {
        (large.negative, large.significand + addend)
    } else if large.significand >= addend {
        (large.negative, large.significand - addend)
    } else {
        (small.negative, addend - large.significand)
    };
    if significand == 0 {
        return zero(format, mode == Rounding::Down);
    }
    round(format, mode, Number { negative, exponent: large.exponent, significand })
}

/// The same number with its highest bit at bit 125.
fn aligned(number: Number) -> Number {
    let shift = number.significand.leading_zeros() as i32 - 2;
    let exponent = number.exponent - shift;
    Number { exponent, significand: number.significand << shift, ..number }
}

fn shift_with_sticky(significand: u128, distance: u32) -> u128 {
    if distance >= 128 {
        return 1;
    }
    let lost = significand & ((1 << distance) - 1) != 0;
    significand >> distance | u128::from(lost)
}

/// a / b
pub(crate) fn divide(format: Format, mode: Rounding, a: u64, b: u64) -> Rounded {
    let (a, b) = (Value::unpack(format, a), Value::unpack(format, b));
    let negative = a.negative() != b.negative();
    match (a, b) {
        _ if a.is_nan() || b.is_nan() => nan(format, &[a, b]),
        (Value::Infinity { .. }, Value::Infinity { .. }) | (Value::Zero { .. }, Value::Zero { .. }) => {
            invalid(format)
        }
        (Value::Infinity { .. }, _) => infinity(format, negative),
        (_, Value::Zero { .. }) => (infinity(format, negative).0, Flags::DIVIDE_BY_ZERO),
        (Value::Finite(a), Value::Finite(b)) => round(format, mode, quotient(negative, a, b)),
        _ => zero(format, negative),
    }
}

/// The quotient to at least 66 bits, the last of them sticky.
fn quotient(negative: bool, a: Number, b: Number) -> Number {
    let a = aligned(a);
    let quotient = a.significand / b.significand;
    let lost = !a.significand.is_multiple_of(b.significand);
    // The dividend has 126 bits and the divisor at most 53: 73 bits remain, one
    // of which may be given to the sticky bit.
    let significand = quotient << 1 | u128::from(lost);
    Number { negative, exponent: a.exponent - b.exponent - 1, significand }
}

/// The square root of a
pub(crate) fn square_root(format: Format, mode: Rounding, a: u64) -> Rounded {
    match Value::unpack(format, a) {
        value @ Value::Nan { .. } => nan(format, &[value]),
        Value::Zero { negative } => zero(format, negative),
        Value::Infinity { negative: false } => infinity(format, false),
        Value::Finite(number) if !number.negative => {
            let a = aligned(number);
            // The exponent must be even to be halved.
            let odd = a.exponent & 1;
            let radicand = a.significand << odd;
            let root = radicand.isqrt();
            let lost = root * root != radicand;
            let significand = root << 1 | u128::from(lost);
            let exponent = (a.exponent - odd) / 2 - 1;
            round(format, mode, Number { negative: false, exponent, significand })
        }
        _ => invalid(format),
    }
}

/// The integer `value` as a floating-point number
pub(crate) fn from_integer(format: Format, mode: Rounding, value: i128) -> Rounded {
    if value == 0 {
        return zero(format, false);
    }
    let significand = value.unsigned_abs();
    round(format, mode, Number { negative: value < 0, exponent: 0, significand })
}

/// `a` as an integer of at least `least` and at most `most`. What is outside,
/// and NaN, is invalid and gives the nearest bound (the upper one for NaN).
pub(crate) fn to_integer(format: Format, mode: Rounding, a: u64, least: i128, most: i128) -> (i128, Flags) {
    let (value, inexact) = match Value::unpack(format, a) {
        Value::Nan { .. } | Value::Infinity { negative: false } => return (most, Flags::INVALID),
        Value::Infinity { negative: true } => return (least, Flags::INVALID),
        Value::Zero { .. } => return (0, Flags::NONE),
        Value::Finite(number) => integer_part(mode, number),
    };
    if value < least {
        (least, Flags::INVALID)
    } else if value > most {
        (most, Flags::INVALID)
    } else {
        (value, Flags::INEXACT.when(inexact))
    }
}

/// A number rounded to an integer, and whether that changed it. Beyond two to
/// the 100 any integer of the right sign will do.
fn integer_part(mode: Rounding, number: Number) -> (i128, bool) {
    let Number { negative, exponent, significand } = number;
    let (magnitude, inexact) = if exponent > 64 {
        (1 << 100, false)
    } else if exponent >= 0 {
        (significand << exponent, false)
    } else {
        shift_rounding(significand, exponent.unsigned_abs(), negative, mode)
    };
    let magnitude = magnitude as i128;
    (if negative { -magnitude } else { magnitude }, inexact)
}

/// A number of the format `from` in the format `to`
pub(crate) fn convert(from: Format, to: Format, mode: Rounding, a: u64) -> Rounded {
    match Value::unpack(from, a) {
        value @ Value::Nan { .. } => nan(to, &[value]),
        Value::Infinity { negative } => infinity(to, negative),
        Value::Zero { negative } => zero(to, negative),
        Value::Finite(number) => round(to, mode, number),
    }
}

/// Packs a number into a format, with the flags that this raises. Tininess is
/// detected after rounding, as RISC-V demands.
fn round(format: Format, mode: Rounding, number: Number) -> Rounded {
    let Number { negative, exponent, significand } = number;
    let precision = format.fraction_bits + 1;
    let bits = 128 - significand.leading_zeros() as i32;
    let normal_last_place = exponent + bits - precision as i32;
    let last_place = normal_last_place.max(format.least_exponent());
    let (kept, inexact) = to_last_place(number, last_place, mode);
    let offset = (last_place - format.least_exponent()) as u64;
    let magnitude = (offset << format.fraction_bits) + kept as u64;
    if magnitude >= format.infinity() {
        return overflow(format, mode, negative);
    }
    let tiny = normal_last_place < format.least_exponent()
        && !becomes_normal(format, mode, number, normal_last_place);
    let flags = Flags::INEXACT.when(inexact) | Flags::UNDERFLOW.when(inexact && tiny);
    (signed(format, negative, magnitude), flags)
}

/// Whether a number below the normal ones would be rounded up to the smallest
/// of them if the exponent had no bound.
fn becomes_normal(format: Format, mode: Rounding, number: Number, last_place: i32) -> bool {
    let (kept, _) = to_last_place(number, last_place, mode);
    last_place + 1 == format.least_exponent() && kept >> (format.fraction_bits + 1) != 0
}

/// The significand in units of two to the `last_place`.
fn to_last_place(number: Number, last_place: i32, mode: Rounding) -> (u128, bool) {
    let Number { negative, exponent, significand } = number;
    let shift = last_place - exponent;
    if shift <= 0 {
        return (significand << -shift, false);
    }
    shift_rounding(significand, shift as u32, negative, mode)
}

fn shift_rounding(significand: u128, shift: u32, negative: bool, mode: Rounding) -> (u128, bool) {
    // Everything below two bits behind the last place is sticky.
    let (kept, rest) = match shift {
        0 => return (significand, false),
        1..=127 => (significand >> shift, significand << (128 - shift)),
        128 => (0, significand),
        _ => (0, 1),
    };
    let half = 1 << 127;
    let up = match mode {
        Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
        Rounding::NearestAway => rest >= half,
        Rounding::TowardZero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    (kept + u128::from(up), rest != 0)
}

fn overflow(format: Format, mode: Rounding, negative: bool) -> Rounded {
    let to_infinity = match mode {
        Rounding::NearestEven | Rounding::NearestAway => true,
        Rounding::TowardZero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
    };
    let magnitude = format.infinity() - u64::from(!to_infinity);
    (signed(format, negative, magnitude), Flags::OVERFLOW | Flags::INEXACT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEAREST: Rounding = Rounding::NearestEven;

    /// Any bits, but exponents near each other often.
    fn doubles() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            any::<u64>().prop_map(|bits| f64::from_bits(bits & !(0x7f0 << 52) | 0x3f0 << 52)),
            any::<u64>().prop_map(|bits| f64::from_bits(bits & !(0x7ff << 52))),
            any::<i16>().prop_map(f64::from),
        ]
    }

    fn same(ours: Rounded, host: f64) -> bool {
        ours.0 == if host.is_nan() { Format::DOUBLE.canonical_nan() } else { host.to_bits() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn doubles_rounded_to_nearest_agree_with_the_host(
            a in doubles(), b in doubles(), c in doubles()
        ) {
            let (x, y, z) = (a.to_bits(), b.to_bits(), c.to_bits());
            prop_assert!(same(add(Format::DOUBLE, NEAREST, x, y), a + b));
            prop_assert!(same(subtract(Format::DOUBLE, NEAREST, x, y), a - b));
            prop_assert!(same(multiply(Format::DOUBLE, NEAREST, x, y), a * b));
            prop_assert!(same(divide(Format::DOUBLE, NEAREST, x, y), a / b));
            prop_assert!(same(square_root(Format::DOUBLE, NEAREST, x), a.sqrt()));
            prop_assert!(same(multiply_add(Format::DOUBLE, NEAREST, x, y, z), a.mul_add(b, c)));
        }

        #[test]
        fn conversions_agree_with_the_host(a in doubles(), integer: i64) {
            let single = convert(Format::DOUBLE, Format::SINGLE, NEAREST, a.to_bits()).0;
            prop_assert!(a.is_nan() || single == u64::from((a as f32).to_bits()));
            let real = from_integer(Format::DOUBLE, NEAREST, integer.into());
            prop_assert!(same(real, integer as f64));
            let (back, _) = to_integer(
                Format::DOUBLE, Rounding::TowardZero, a.to_bits(), i64::MIN.into(), i64::MAX.into(),
            );
            prop_assert!(a.is_nan() || back == i128::from(a as i64));
        }
    }

    #[test]
    fn the_directed_modes_enclose_an_inexact_result() {
        let (one, three) = (1f64.to_bits(), 3f64.to_bits());
        let third = |mode| divide(Format::DOUBLE, mode, one, three);
        assert_eq!(third(Rounding::Down).0 + 1, third(Rounding::Up).0);
        assert_eq!(third(Rounding::Down), third(Rounding::TowardZero));
        assert_eq!(third(Rounding::Up).1, Flags::INEXACT);
    }

    #[test]
    fn tininess_is_detected_after_rounding() {
        let smallest_normal = f64::MIN_POSITIVE;
        let below_one = 1.0 - f64::EPSILON / 2.0;
        let (x, y) = (smallest_normal.to_bits(), below_one.to_bits());
        // Rounds to the smallest normal number, but to 53 bits it is below it.
        let result = multiply(Format::DOUBLE, NEAREST, x, y);
        assert_eq!(result, (x, Flags::INEXACT | Flags::UNDERFLOW));
    }

    #[test]
    fn invalid_operations_give_the_canonical_nan() {
        let (inf, zero) = (f64::INFINITY.to_bits(), 0f64.to_bits());
        let quiet = Format::DOUBLE.canonical_nan();
        let expected = (quiet, Flags::INVALID);
        assert_eq!(subtract(Format::DOUBLE, NEAREST, inf, inf), expected);
        assert_eq!(multiply(Format::DOUBLE, NEAREST, inf, zero), expected);
        assert_eq!(multiply_add(Format::DOUBLE, NEAREST, inf, zero, quiet), expected);
        assert_eq!(square_root(Format::DOUBLE, NEAREST, (-1f64).to_bits()), expected);
    }

    #[test]
    fn integers_out_of_range_saturate_without_the_inexact_flag() {
        let huge = 1e30f64.to_bits();
        let word = |bits| to_integer(Format::DOUBLE, NEAREST, bits, i32::MIN.into(), i32::MAX.into());
        assert_eq!(word(huge), (i32::MAX.into(), Flags::INVALID));
        assert_eq!(word((-1e30f64).to_bits()), (i32::MIN.into(), Flags::INVALID));
        assert_eq!(word(0.5f64.to_bits()), (0, Flags::INEXACT));
        assert_eq!(word(1.5f64.to_bits()), (2, Flags::INEXACT));
    }
}
