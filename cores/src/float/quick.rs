//! Proofs that the host's result is exact, so that no flag is raised and the
//! rounding mode does not matter.
//!
//! Used while the guest's inexact flag is not set yet, which may be for ever in
//! a program that computes with small integers. Each function gives the result
//! if it can prove it exact with a few operations, and nothing otherwise.

use super::host::Real;
use super::{Format, Rounding};

/// a + b, exact if the error that Knuth's two-sum computes is zero. Where the
/// two-sum itself goes wrong (overflow), the error is not zero.
pub(crate) fn add<F: Real>(mode: Rounding, a: F, b: F) -> Option<F> {
    let sum = a + b;
    if sum.is_plain() {
        let b_part = sum - a;
        let error_a = a - (sum - b_part);
        let error_b = b - b_part;
        let exact = is_zero(error_a) && is_zero(error_b);
        return exact.then_some(sum);
    }
    // Zero is exact; only its sign depends on the rounding mode.
    (is_zero(sum) && mode != Rounding::Down).then_some(sum)
}

/// a * b, exact if the product of the significands, without the zeros at its
/// end, fits into a significand.
pub(crate) fn multiply<F: Real>(a: F, b: F) -> Option<F> {
    let product = a * b;
    if product.is_plain() && is_normal(a) && is_normal(b) {
        return product_is_exact(F::FORMAT, a.low_bits(), b.low_bits()).then_some(product);
    }
    let has_zero = is_zero(a) || is_zero(b);
    (has_zero && is_zero(product)).then_some(product)
}

/// a / b, exact if multiplying back is exact and gives a.
pub(crate) fn divide<F: Real>(a: F, b: F) -> Option<F> {
    let quotient = a / b;
    let provable = quotient.is_plain() && a.is_plain() && is_normal(b);
    (provable && multiply(quotient, b) == Some(a)).then_some(quotient)
}

/// The square root of a, exact if its square is exactly a.
pub(crate) fn square_root<F: Real>(a: F) -> Option<F> {
    let root = a.root();
    (a.is_plain() && root.is_plain() && multiply(root, root) == Some(a)).then_some(root)
}

/// a * b + c, exact if both steps are.
pub(crate) fn multiply_add<F: Real>(mode: Rounding, a: F, b: F, c: F) -> Option<F> {
    add(mode, multiply(a, b)?, c)
}

/// The integer that a number is, or is cut to when rounding towards zero, and
/// whether something was cut off.
pub(crate) fn to_integer<F: Real>(mode: Rounding, a: F) -> Option<(i64, bool)> {
    let whole = a.truncated();
    if whole.unsigned_abs() >= 1 << F::FORMAT.fraction_bits {
        return None;
    }
    let exact = F::from_small(whole) == a;
    let is_number = a.partial_cmp(&a).is_some();
    (is_number && (exact || mode == Rounding::TowardZero)).then_some((whole, !exact))
}

fn is_zero<F: Real>(value: F) -> bool {
    value.low_bits() & (F::FORMAT.sign_bit() - 1) == 0
}

fn is_normal<F: Real>(value: F) -> bool {
    let exponent = value.low_bits() & F::FORMAT.infinity();
    exponent != 0 && exponent != F::FORMAT.infinity()
}

/// Whether the product of two normal numbers has no more bits than one.
fn product_is_exact(format: Format, a: u64, b: u64) -> bool {
    let hidden = 1 << format.fraction_bits;
    let a = a & (hidden - 1) | hidden;
    let b = b & (hidden - 1) | hidden;
    let zeros = a.trailing_zeros() + b.trailing_zeros();
    let product = u128::from(a) * u128::from(b);
    let bits = 128 - product.leading_zeros();
    bits - zeros <= format.fraction_bits + 1
}

#[cfg(test)]
mod tests {
    use super::super::{Flags, exact};
    use super::*;
    use proptest::prelude::*;

    fn agrees(quick: Option<f64>, exact: exact::Rounded) -> bool {
        quick.is_none_or(|value| (value.to_bits(), Flags::NONE) == exact)
    }

    fn doubles() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            any::<i16>().prop_map(|small| f64::from(small) / 64.0),
            any::<i64>().prop_map(|large| large as f64),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn what_is_proved_exact_is_exact(a in doubles(), b in doubles(), c in doubles()) {
            let (x, y, z) = (a.to_bits(), b.to_bits(), c.to_bits());
            let format = Format::DOUBLE;
            for mode in [Rounding::NearestEven, Rounding::Down, Rounding::Up] {
                prop_assert!(agrees(add(mode, a, b), exact::add(format, mode, x, y)));
                prop_assert!(agrees(multiply(a, b), exact::multiply(format, mode, x, y)));
                prop_assert!(agrees(divide(a, b), exact::divide(format, mode, x, y)));
                prop_assert!(agrees(square_root(a), exact::square_root(format, mode, x)));
                prop_assert!(agrees(
                    multiply_add(mode, a, b, c),
                    exact::multiply_add(format, mode, x, y, z),
                ));
            }
        }
    }

    #[test]
    fn small_integers_are_proved_exact() {
        assert_eq!(add(Rounding::NearestEven, 3.0, 4.0), Some(7.0));
        assert_eq!(multiply(3.0, 4.0), Some(12.0));
        assert_eq!(divide(12.0, 4.0), Some(3.0));
        assert_eq!(square_root(49.0f32), Some(7.0));
        assert_eq!(divide(1.0, 3.0), None);
    }
}
