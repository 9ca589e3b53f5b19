//! Proofs that the host's result is exact, so that no flag is raised and the
//! rounding mode does not matter.
//!
//! Used while the guest's inexact flag is not set yet, which may be for ever in
//! a program that computes with small integers. Each function gives the result
//! if it can prove it exact with a few operations, and nothing otherwise.

use super::Rounding;
use super::host::Real;

/// a + b, exact if the error that Knuth's two-sum computes is zero. Where the
/// two-sum itself goes wrong (overflow), the error is not zero.
pub(crate) fn add<F: Real>(mode: Rounding, a: F, b: F) -> Option<F> {
    let sum = a + b;
    if sum.is_plain() {
        return sum_is_exact(a, b, sum).then_some(sum);
    }
    // Zero is exact; only its sign depends on the rounding mode.
    (is_zero(sum) && mode != Rounding::Down).then_some(sum)
}

/// Whether a + b, which is plain, is exact.
#[inline(always)]
pub(crate) fn sum_is_exact<F: Real>(a: F, b: F, sum: F) -> bool {
    let b_part = sum - a;
    let error_a = a - (sum - b_part);
    let error_b = b - b_part;
    is_zero(error_a) && is_zero(error_b)
}

/// Whether a * b + c, which is plain, is exact: whether the error of the product is zero, and
/// that of the sum.
///
/// # Safety
/// The host has a fused multiply-add.
#[inline(always)]
pub(crate) unsafe fn fused_is_exact<F: Real>(a: F, b: F, c: F) -> bool {
    let product = a * b;
    if is_zero(product) {
        return has_zero(a, b);
    }
    // SAFETY: the caller's.
    let error = unsafe { a.fused(b, -product) };
    has_error_in_format(product) && is_zero(error) && sum_is_exact(product, c, product + c)
}

/// Whether the error of a product is a number of the format, too: it has no bit below the last
/// places of the factors.
#[inline(always)]
fn has_error_in_format<F: Real>(product: F) -> bool {
    let format = F::FORMAT;
    let exponent = (product.low_bits() & format.infinity()) >> format.fraction_bits;
    exponent > u64::from(format.fraction_bits) + 3
}

/// a * b, exact if the product of the significands, without the zeros at its
/// end, fits into a significand.
pub(crate) fn multiply<F: Real>(a: F, b: F) -> Option<F> {
    let product = a * b;
    if product.is_plain() {
        return product_is_exact(a, b).then_some(product);
    }
    (is_zero(product) && has_zero(a, b)).then_some(product)
}

/// Whether a * b, which is plain, is exact: two normal numbers whose significands' product has
/// no more bits than one.
#[inline(always)]
pub(crate) fn product_is_exact<F: Real>(a: F, b: F) -> bool {
    let fraction_bits = F::FORMAT.fraction_bits;
    let hidden = 1 << fraction_bits;
    let [x, y] = [a, b].map(|factor| factor.low_bits() & (hidden - 1) | hidden);
    let zeros = x.trailing_zeros() + y.trailing_zeros();
    let bits = 128 - (u128::from(x) * u128::from(y)).leading_zeros();
    is_normal(a) && is_normal(b) && bits - zeros <= fraction_bits + 1
}

/// a / b, exact if multiplying back is exact and gives a.
pub(crate) fn divide<F: Real>(a: F, b: F) -> Option<F> {
    let quotient = a / b;
    (quotient.is_plain() && quotient_is_exact(a, b, quotient)).then_some(quotient)
}

/// Whether a / b, which is plain, is exact.
#[inline(always)]
pub(crate) fn quotient_is_exact<F: Real>(a: F, b: F, quotient: F) -> bool {
    a.is_plain() && is_normal(b) && quotient * b == a && product_is_exact(quotient, b)
}

/// The square root of a, exact if its square is exactly a.
pub(crate) fn square_root<F: Real>(a: F) -> Option<F> {
    let root = a.root();
    (root.is_plain() && root_is_exact(a, root)).then_some(root)
}

/// Whether the square root of a, which is plain, is exact.
#[inline(always)]
pub(crate) fn root_is_exact<F: Real>(a: F, root: F) -> bool {
    a.is_plain() && root * root == a && product_is_exact(root, root)
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

/// Whether a factor is zero: a product of zero is exact then, and otherwise an underflow.
#[inline(always)]
pub(crate) fn has_zero<F: Real>(a: F, b: F) -> bool {
    is_zero(a) || is_zero(b)
}

/// Whether it is a zero of either sign.
#[inline(always)]
pub(crate) fn is_zero<F: Real>(value: F) -> bool {
    value.low_bits() & (F::FORMAT.sign_bit() - 1) == 0
}

fn is_normal<F: Real>(value: F) -> bool {
    let exponent = value.low_bits() & F::FORMAT.infinity();
    exponent != 0 && exponent != F::FORMAT.infinity()
}

#[cfg(test)]
mod tests {
    use super::super::host::host_fuses;
    use super::super::{Flags, Format, exact};
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
            (any::<i16>(), 880..1100i32).prop_map(|(small, down)| f64::from(small) * 2f64.powi(-down)),
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50_000))]

        #[test]
        fn what_is_proved_exact_of_a_fused_result_is_exact(a in doubles(), b in doubles(), c in doubles()) {
            let fused = a.mul_add(b, c);
            // SAFETY: asked for just before.
            if host_fuses() && fused.is_plain() && unsafe { fused_is_exact(a, b, c) } {
                for mode in [Rounding::NearestEven, Rounding::Down, Rounding::Up] {
                    let [x, y, z] = [a, b, c].map(f64::to_bits);
                    let expected = exact::multiply_add(Format::DOUBLE, mode, x, y, z);
                    prop_assert_eq!((fused.to_bits(), Flags::NONE), expected);
                }
            }
        }
    }

    #[test]
    fn fused_results_of_small_integers_are_proved_exact() {
        if host_fuses() {
            // SAFETY: asked for just before.
            let prove = |a: f64, b, c| unsafe { fused_is_exact(a, b, c) };
            assert!(prove(3.0, 4.0, 5.0) && prove(0.0, 4.0, 5.0) && prove(3.0, -4.0, 0.5));
            assert!(!prove(0.1, 0.1, 1.0) && !prove(1.0 + f64::EPSILON, 1.0 + f64::EPSILON, 0.0));
            // The product's error is too small to be seen.
            assert!(!prove((1.0 + f64::EPSILON) * 2f64.powi(-1000), 1.0 + f64::EPSILON, 1.0));
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
