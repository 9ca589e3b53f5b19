//! F: single precision, and what single and double precision have in common.

use std::marker::PhantomData;

use narthex_memory::Port;

use super::integer::word;
use crate::execute::{Boxed, Context, Core, Table, instructions};
use crate::float::host::Real;
use crate::float::{Flags, Format, HostRounds, Rounding, exact, quick};
use crate::operation::{Cursor, Operation};
use crate::stop::FaultKind;
use crate::timing::{Class, Timing, Unit};

instructions! {
    "flw" "imm[11:0] rs1 010 fd 0000111" => |c| c.load::<4, Boxed>();
    "fsw" "imm[11:5] fs2 rs1 010 imm[4:0] 0100111" => |c| c.store::<4>();

    "fmadd.s" "fs3 00 fs2 fs1 rm fd 1000011" => |c| c.fused::<f32, false, false>();
    "fmsub.s" "fs3 00 fs2 fs1 rm fd 1000111" => |c| c.fused::<f32, false, true>();
    "fnmsub.s" "fs3 00 fs2 fs1 rm fd 1001011" => |c| c.fused::<f32, true, false>();
    "fnmadd.s" "fs3 00 fs2 fs1 rm fd 1001111" => |c| c.fused::<f32, true, true>();

    "fadd.s" "0000000 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32, Add<f32>>();
    "fsub.s" "0000100 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32, Subtract<f32>>();
    "fmul.s" "0001000 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32, Multiply<f32>>();
    "fdiv.s" "0001100 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32, Divide<f32>>();
    "fsqrt.s" "0101100 00000 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32, SquareRoot<f32>>();

    "fsgnj.s" "0010000 fs2 fs1 000 fd 1010011" => |c| c.sign::<f32>(|_, b| b);
    "fsgnjn.s" "0010000 fs2 fs1 001 fd 1010011" => |c| c.sign::<f32>(|_, b| !b);
    "fsgnjx.s" "0010000 fs2 fs1 010 fd 1010011" => |c| c.sign::<f32>(|a, b| a ^ b);
    "fmin.s" "0010100 fs2 fs1 000 fd 1010011" => |c| c.extreme::<f32>(false);
    "fmax.s" "0010100 fs2 fs1 001 fd 1010011" => |c| c.extreme::<f32>(true);
    "feq.s" "1010000 fs2 fs1 010 rd 1010011" => |c| c.compare::<f32>(false, |a, b| a == b);
    "flt.s" "1010000 fs2 fs1 001 rd 1010011" => |c| c.compare::<f32>(true, |a, b| a < b);
    "fle.s" "1010000 fs2 fs1 000 rd 1010011" => |c| c.compare::<f32>(true, |a, b| a <= b);
    "fclass.s" "1110000 00000 fs1 001 rd 1010011" =>
        |c| c.compute(Class::FloatAdd, |a, _| classify(Format::SINGLE, f32::unbox(a)));

    "fcvt.w.s" "1100000 00000 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f32, i32>>();
    "fcvt.wu.s" "1100000 00001 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f32, u32>>();
    "fcvt.l.s" "1100000 00010 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f32, i64>>();
    "fcvt.lu.s" "1100000 00011 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f32, u64>>();
    "fcvt.s.w" "1101000 00000 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f32, i32>>();
    "fcvt.s.wu" "1101000 00001 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f32, u32>>();
    "fcvt.s.l" "1101000 00010 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f32, i64>>();
    "fcvt.s.lu" "1101000 00011 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f32, u64>>();
    "fmv.x.w" "1110000 00000 fs1 000 rd 1010011" =>
        |c| c.compute(Class::Integer, |a, _| word(a as u32));
    "fmv.w.x" "1111000 00000 rs1 000 fd 1010011" =>
        |c| c.compute(Class::Integer, |a, _| f32::boxed(a & 0xffff_ffff));
}

/// What an instruction computes, when it cannot be left to the host.
pub(super) trait Careful {
    /// How long it takes.
    const CLASS: Class;
    /// The contents of rd and the flags raised, from the contents of rs1, rs2
    /// and rs3.
    fn careful(mode: Rounding, operands: [u64; 3]) -> (u64, Flags);
    /// Whether what is proved does not take the host's rounding to nearest.
    const PROVES_IN_ANY_MODE: bool = false;
    /// The contents of rd if the host's result is proved exact.
    ///
    /// # Safety
    /// The host has a fused multiply-add, or this proves in any mode.
    #[inline(always)]
    unsafe fn proved(_operands: [u64; 3]) -> Option<u64> {
        None
    }
    /// The contents of rd where the mode is to cut off what is no integer, and no flag but inexact is
    /// raised.
    #[inline(always)]
    fn cut_off(_operands: [u64; 3]) -> Option<u64> {
        None
    }
}

/// Arithmetic that the host has too.
pub(super) trait Arithmetic<F>: Careful {
    /// The host's result, rounded to nearest.
    fn host(a: F, b: F) -> F;
}

/// The result that was proved exact, or the one that integers compute.
fn prove<F: Real>(quick: Option<F>, careful: impl FnOnce() -> exact::Rounded) -> exact::Rounded {
    match quick {
        Some(result) => (result.to_register(), Flags::NONE),
        None => {
            let (bits, flags) = careful();
            (F::boxed(bits), flags)
        }
    }
}

/// Declares arithmetic: its class, the host's way, the proofs that a plain result and a zero of the
/// host's are exact, the same for any result, and the way with integers.
macro_rules! arithmetic {
    ($($name:ident $class:ident $host:expr, $is_exact:expr, $zero_is_exact:expr, $quick:expr, $exact:expr;)*) => {$(
        pub(super) struct $name<F>(PhantomData<F>);

        impl<F: Real> Careful for $name<F> {
            const CLASS: Class = Class::$class;
            fn careful(mode: Rounding, [a, b, _]: [u64; 3]) -> (u64, Flags) {
                let (a, b) = (F::unbox(a), F::unbox(b));
                prove($quick(mode, F::from_low_bits(a), F::from_low_bits(b)), || {
                    $exact(F::FORMAT, mode, a, b)
                })
            }
            #[inline(always)]
            unsafe fn proved([a, b, _]: [u64; 3]) -> Option<u64> {
                let [a, b] = [a, b].map(F::from_register);
                let result = $host(a, b);
                let is_exact = match result.is_plain() {
                    true => $is_exact(a, b, result),
                    false => quick::is_zero(result) && $zero_is_exact(a, b),
                };
                is_exact.then(|| result.to_register())
            }
        }

        impl<F: Real> Arithmetic<F> for $name<F> {
            #[inline(always)]
            fn host(a: F, b: F) -> F {
                $host(a, b)
            }
        }
    )*};
}

arithmetic! {
    Add FloatAdd |a, b| a + b, quick::sum_is_exact, |_, _| true, quick::add, exact::add;
    Subtract FloatAdd |a, b| a - b, |a, b: F, result| quick::sum_is_exact(a, -b, result), |_, _| true,
        |mode, a, b: F| quick::add(mode, a, -b), exact::subtract;
    Multiply FloatMultiply |a, b| a * b, |a, b, _| quick::product_is_exact(a, b),
        quick::has_zero, |_, a, b| quick::multiply(a, b), exact::multiply;
    Divide FloatDivide |a, b| a / b, quick::quotient_is_exact, |a, _| quick::is_zero(a),
        |_, a, b| quick::divide(a, b), exact::divide;
    SquareRoot FloatSquareRoot |a: F, _| a.root(), |a, _, root| quick::root_is_exact(a, root), |_, _| true,
        |_, a, _| quick::square_root(a), |format, mode, a, _| exact::square_root(format, mode, a);
}

/// ±(a * b) ± c
struct Fused<F, const NEGATE_PRODUCT: bool, const NEGATE_ADDEND: bool>(PhantomData<F>);

impl<F: Real, const NEGATE_PRODUCT: bool, const NEGATE_ADDEND: bool> Careful
    for Fused<F, NEGATE_PRODUCT, NEGATE_ADDEND>
{
    const CLASS: Class = Class::FloatMultiply;
    fn careful(mode: Rounding, operands: [u64; 3]) -> (u64, Flags) {
        let [a, b, c] = operands.map(F::unbox);
        let sign = F::FORMAT.sign_bit();
        let a = if NEGATE_PRODUCT { a ^ sign } else { a };
        let c = if NEGATE_ADDEND { c ^ sign } else { c };
        let [x, y, z] = [a, b, c].map(F::from_low_bits);
        prove(quick::multiply_add(mode, x, y, z), || exact::multiply_add(F::FORMAT, mode, a, b, c))
    }
    #[inline(always)]
    unsafe fn proved(operands: [u64; 3]) -> Option<u64> {
        let [a, b, c] = operands.map(F::from_register);
        let a = if NEGATE_PRODUCT { -a } else { a };
        let c = if NEGATE_ADDEND { -c } else { c };
        // SAFETY: the caller's.
        let (result, is_exact) = unsafe { (a.fused(b, c), quick::fused_is_exact(a, b, c)) };
        (result.is_plain() && is_exact).then(|| result.to_register())
    }
}

/// From floating point to integers.
pub(super) struct ToInteger<F, I>(PhantomData<(F, I)>);
/// From integers to floating point.
pub(super) struct FromInteger<F, I>(PhantomData<(F, I)>);

/// The integers that instructions convert.
pub(super) trait Integer: Into<i128> {
    const LEAST: i128;
    const MOST: i128;
    /// The lowest bits of a register.
    fn from_register(register: u64) -> Self;
    /// The register that holds a value within the bounds.
    fn to_register(value: i128) -> u64;
}

macro_rules! integer {
    ($($type:ty, $extended:ty;)*) => {$(
        impl Integer for $type {
            const LEAST: i128 = <$type>::MIN as i128;
            const MOST: i128 = <$type>::MAX as i128;
            fn from_register(register: u64) -> Self {
                register as $type
            }
            fn to_register(value: i128) -> u64 {
                value as $extended as u64
            }
        }
    )*};
}

// Words are sign-extended in registers, unsigned ones too.
integer! {
    i32, i32;
    u32, i32;
    i64, i64;
    u64, u64;
}

impl<F: Real, I: Integer> Careful for ToInteger<F, I> {
    const CLASS: Class = Class::FloatAdd;
    fn careful(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
        let a = F::unbox(a);
        let (value, flags) = match quick::to_integer(mode, F::from_low_bits(a)) {
            Some((value, inexact)) if (I::LEAST..=I::MOST).contains(&value.into()) => {
                (value.into(), Flags::INEXACT.when(inexact))
            }
            _ => exact::to_integer(F::FORMAT, mode, a, I::LEAST, I::MOST),
        };
        (I::to_register(value), flags)
    }
    const PROVES_IN_ANY_MODE: bool = true;
    #[inline(always)]
    unsafe fn proved([a, ..]: [u64; 3]) -> Option<u64> {
        let a = F::from_register(a);
        let whole = a.truncated();
        let is_small = whole.unsigned_abs() < 1 << F::FORMAT.fraction_bits;
        let is_exact = is_small && F::from_small(whole) == a;
        (is_exact && (I::LEAST..=I::MOST).contains(&whole.into())).then(|| I::to_register(whole.into()))
    }
    #[inline(always)]
    fn cut_off([a, ..]: [u64; 3]) -> Option<u64> {
        let a = F::from_register(a);
        let whole = a.truncated();
        let is_small = whole.unsigned_abs() < 1 << F::FORMAT.fraction_bits;
        // A NaN saturates to zero.
        let is_cut = is_small && (whole != 0 || a.partial_cmp(&a).is_some());
        (is_cut && (I::LEAST..=I::MOST).contains(&whole.into())).then(|| I::to_register(whole.into()))
    }
}

impl<F: Real, I: Integer> Careful for FromInteger<F, I> {
    const CLASS: Class = Class::FloatAdd;
    fn careful(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
        let value: i128 = I::from_register(a).into();
        let small = value.unsigned_abs() < 1 << F::FORMAT.fraction_bits;
        prove(small.then(|| F::from_small(value as i64)), || exact::from_integer(F::FORMAT, mode, value))
    }
    const PROVES_IN_ANY_MODE: bool = true;
    #[inline(always)]
    unsafe fn proved([a, ..]: [u64; 3]) -> Option<u64> {
        let value: i128 = I::from_register(a).into();
        let small = value.unsigned_abs() < 1 << F::FORMAT.fraction_bits;
        small.then(|| F::from_small(value as i64).to_register())
    }
}

/// The class of a number as one of ten bits (fclass).
pub(super) fn classify(format: Format, bits: u64) -> u64 {
    let negative = bits & format.sign_bit() != 0;
    let magnitude = bits & (format.sign_bit() - 1);
    let class = if magnitude > format.infinity() {
        let quiet = bits & (1 << (format.fraction_bits - 1)) != 0;
        return 1 << (8 + u64::from(quiet));
    } else if magnitude == format.infinity() {
        0
    } else if magnitude >> format.fraction_bits != 0 {
        1
    } else if magnitude != 0 {
        2
    } else {
        3
    };
    1 << if negative { class } else { 7 - class }
}

/// Whether the bits are a NaN that signals when it is used.
fn is_signaling(format: Format, bits: u64) -> bool {
    classify(format, bits) == 1 << 8
}

fn is_nan(format: Format, bits: u64) -> bool {
    classify(format, bits) >= 1 << 8
}

/// The smaller or larger of two numbers; a NaN counts only if both are.
fn extreme<F: Real>(maximum: bool, a: u64, b: u64) -> (u64, Flags) {
    let format = F::FORMAT;
    let signaling = is_signaling(format, a) || is_signaling(format, b);
    let result = match (is_nan(format, a), is_nan(format, b)) {
        (true, true) => format.canonical_nan(),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let (x, y) = (F::from_low_bits(a), F::from_low_bits(b));
            // Of two zeros, the negative one is the smaller.
            let a_is_less = x < y || x == y && a & format.sign_bit() != 0;
            if a_is_less != maximum { a } else { b }
        }
    };
    (F::boxed(result), Flags::INVALID.when(signaling))
}

/// The rounding mode of an instruction that rounds towards zero.
const TOWARD_ZERO: u8 = 1;

/// Computes by the host if it can prove the result exact, or that it raises no new flag, else with
/// care, then goes on. `at` is the slot at which it issues; with a window, at which it has its turn.
#[inline(never)]
fn carefully<P: Port, T: Timing, const LENGTH: usize, C: Careful>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut P,
    at: u64,
    count: u64,
    table: &Table<P, T>,
) {
    let Operation { rd, rs1, rs2, rs3, rm, .. } = cursor.get();
    let is_mode_of_its_own = rm <= 4;
    let may_prove =
        core.host_fuses[rm as usize] != HostRounds::No || C::PROVES_IN_ANY_MODE && is_mode_of_its_own;
    let cuts_off = rm == TOWARD_ZERO && core.fcsr & Flags::INEXACT.bits() != 0;
    let operands = [rs1, rs2, rs3].map(|register| core.registers[register as usize]);
    // SAFETY: `host_fuses` says so only if the host has the instruction; else it proves in any mode.
    let proved = may_prove.then(|| unsafe { C::proved(operands) }).flatten();
    match proved.or_else(|| cuts_off.then(|| C::cut_off(operands)).flatten()) {
        Some(result) => core.registers[rd as usize] = result,
        None if compute_carefully::<T, C>(core, cursor) => {}
        None => return core.save(cursor, at, count),
    }
    let began = core.timing.window().map_or(at, |window| window.began);
    core.timing.produce(rd, began, C::CLASS);
    let context = Context::<P, T, LENGTH> { core, cursor, port, t: at, count, table };
    context.retire(began)
}

/// Writes rd and raises flags. False if the rounding mode is none, which makes
/// the instruction illegal.
#[cold]
#[inline(never)]
fn compute_carefully<T: Timing, C: Careful>(core: &mut Core<T>, cursor: Cursor) -> bool {
    let Operation { rd, rs1, rs2, rs3, rm, .. } = cursor.get();
    let Some(mode) = Rounding::select(rm, core.fcsr) else {
        core.fault(FaultKind::IllegalInstruction, core.pc_of(cursor));
        return false;
    };
    let operands = [rs1, rs2, rs3].map(|register| core.registers[register as usize]);
    let (result, flags) = C::careful(mode, operands);
    core.registers[rd as usize] = result;
    core.raise(flags);
    true
}

/// A comparison with a NaN is invalid if it signals, or always (flt, fle).
#[cold]
#[inline(never)]
fn compare_nan<T: Timing>(core: &mut Core<T>, format: Format, signals: bool, a: u64, b: u64) {
    let invalid = signals || is_signaling(format, a) || is_signaling(format, b);
    core.raise(Flags::INVALID.when(invalid));
}

impl<P: Port, T: Timing, const LENGTH: usize> Context<'_, P, T, LENGTH> {
    /// fd = fs1 op fs2, by the host if that is surely right.
    #[inline(always)]
    pub(super) fn arithmetic<F: Real, A: Arithmetic<F>>(self) {
        let Operation { rd, rs1, rs2, rm, .. } = self.cursor.get();
        let mut at = self.issue(rs1, rs2);
        if matches!(A::CLASS, Class::FloatDivide | Class::FloatSquareRoot) {
            at = self.core.timing.free(at, Unit::Divider);
            self.core.timing.occupy(Unit::Divider, at, A::CLASS);
        }
        if self.core.host_rounds[rm as usize] == HostRounds::Freely {
            let a = F::from_register(self.register(rs1));
            let b = F::from_register(self.register(rs2));
            let result = A::host(a, b);
            if result.is_plain() {
                return self.finish(at, rd, A::CLASS, result.to_register());
            }
        }
        self.carefully::<A>(at)
    }

    /// fd = ±(fs1 * fs2) ± fs3
    #[inline(always)]
    pub(super) fn fused<F: Real, const NEGATE_PRODUCT: bool, const NEGATE_ADDEND: bool>(self) {
        let Operation { rd, rs1, rs2, rs3, rm, .. } = self.cursor.get();
        let at = self.core.timing.ready(self.issue(rs1, rs2), rs3);
        if self.core.host_fuses[rm as usize] == HostRounds::Freely {
            let a = F::from_register(self.register(rs1));
            let b = F::from_register(self.register(rs2));
            let c = F::from_register(self.register(rs3));
            let a = if NEGATE_PRODUCT { -a } else { a };
            let c = if NEGATE_ADDEND { -c } else { c };
            // SAFETY: it says so only if the host has the instruction.
            let result = unsafe { a.fused(b, c) };
            if result.is_plain() {
                return self.finish(at, rd, Class::FloatMultiply, result.to_register());
            }
        }
        self.carefully::<Fused<F, NEGATE_PRODUCT, NEGATE_ADDEND>>(at)
    }

    /// Computes without the host's rounding.
    #[inline(always)]
    fn carefully<C: Careful>(self, at: u64) {
        let turn = T::made_at(self.t, at);
        if let Some(window) = self.core.timing.window() {
            window.began = at;
        }
        carefully::<P, T, LENGTH, C>(self.core, self.cursor, self.port, turn, self.count, self.table)
    }

    /// rd = fs1 in another format.
    #[inline(always)]
    pub(super) fn convert<C: Careful>(self) {
        let at = self.issue_one(self.cursor.get().rs1);
        self.carefully::<C>(at)
    }

    /// fd = fs1 with a sign made of both signs.
    #[inline(always)]
    pub(super) fn sign<F: Real>(self, sign: impl FnOnce(u64, u64) -> u64) {
        self.compute(Class::Integer, |a, b| {
            let (a, b) = (F::unbox(a), F::unbox(b));
            let mask = F::FORMAT.sign_bit();
            F::boxed(a & !mask | sign(a, b) & mask)
        });
    }

    /// fd = the smaller or larger of fs1 and fs2
    #[inline(always)]
    pub(super) fn extreme<F: Real>(self, maximum: bool) {
        let Operation { rd, rs1, rs2, .. } = self.cursor.get();
        let at = self.issue(rs1, rs2);
        let (a, b) = (F::unbox(self.register(rs1)), F::unbox(self.register(rs2)));
        let (result, flags) = extreme::<F>(maximum, a, b);
        self.core.raise(flags);
        self.finish(at, rd, Class::FloatAdd, result);
    }

    /// rd = whether fs1 compares to fs2
    #[inline(always)]
    pub(super) fn compare<F: Real>(self, signals: bool, holds: impl FnOnce(F, F) -> bool) {
        let Operation { rd, rs1, rs2, .. } = self.cursor.get();
        let at = self.issue(rs1, rs2);
        let (a, b) = (F::unbox(self.register(rs1)), F::unbox(self.register(rs2)));
        let (x, y) = (F::from_low_bits(a), F::from_low_bits(b));
        if x.partial_cmp(&y).is_none() {
            compare_nan(self.core, F::FORMAT, signals, a, b);
        }
        self.finish(at, rd, Class::FloatAdd, u64::from(holds(x, y)));
    }
}

#[cfg(test)]
#[path = "float/tests.rs"]
mod tests;
