use super::*;
use proptest::prelude::*;

fn registers() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<i16>().prop_map(|small| (f64::from(small) / 64.0).to_bits()),
        any::<i64>().prop_map(|large| (large as f64 / 16.0).to_bits()),
        (any::<i16>(), 880..1100i32)
            .prop_map(|(small, down)| (f64::from(small) * 2f64.powi(-down)).to_bits()),
        prop_oneof![Just(0f64), Just(-0.0), Just(f64::INFINITY), Just(f64::NAN), Just(0.75), Just(-0.75)]
            .prop_map(f64::to_bits),
    ]
}

/// What is proved is what care gives, to nearest, and raises nothing.
fn check_proved<C: Careful>(operands: [u64; 3]) {
    // SAFETY: arithmetic of two operands needs no instruction that a host may lack.
    if let Some(result) = unsafe { C::proved(operands) } {
        assert_eq!(C::careful(Rounding::NearestEven, operands), (result, Flags::NONE), "{operands:x?}");
    }
}

/// What is cut off is what care gives towards zero, and raises nothing but inexact.
fn check_cut_off<F: Real, I: Integer>(operands: [u64; 3]) {
    if let Some(result) = ToInteger::<F, I>::cut_off(operands) {
        let (expected, flags) = ToInteger::<F, I>::careful(Rounding::TowardZero, operands);
        assert_eq!((result, flags.bits() & !Flags::INEXACT.bits()), (expected, 0), "{operands:x?}");
    }
}

fn check<F: Real>(operands: [u64; 3]) {
    check_proved::<Add<F>>(operands);
    check_proved::<Subtract<F>>(operands);
    check_proved::<Multiply<F>>(operands);
    check_proved::<Divide<F>>(operands);
    check_proved::<SquareRoot<F>>(operands);
    check_cut_off::<F, i32>(operands);
    check_cut_off::<F, u32>(operands);
    check_cut_off::<F, i64>(operands);
    check_cut_off::<F, u64>(operands);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn results_of_the_host_that_are_proved_are_those_of_care(a in registers(), b in registers()) {
        check::<f64>([a, b, 0]);
        let single = |register| f32::boxed((f64::from_bits(register) as f32).to_bits().into());
        check::<f32>([single(a), single(b), 0]);
    }
}

#[test]
fn zeros_are_proved_and_fractions_cut_off() {
    let [zero, one, half] = [0f64, 1.0, -2.5].map(f64::to_bits);
    // SAFETY: as above.
    let proved =
        unsafe { [Multiply::<f64>::proved([zero, half, 0]), Subtract::<f64>::proved([one, one, 0])] };
    assert_eq!(proved, [Some((-0f64).to_bits()), Some(zero)]);
    assert_eq!(ToInteger::<f64, i64>::cut_off([half, 0, 0]), Some(-2i64 as u64));
    assert_eq!(ToInteger::<f64, u64>::cut_off([half, 0, 0]), None, "below all unsigned integers");
}
