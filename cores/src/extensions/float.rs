//! F: single precision, and what single and double precision have in common.

use narthex_memory::Port;

use super::integer::word;
use crate::execute::{Boxed, Context, Core, instructions};
use crate::float::host::Real;
use crate::float::{Flags, Format, Rounding, exact, quick};
use crate::operation::Operation;
use crate::stop::FaultKind;
use crate::timing::{Class, Timing, Unit};

instructions! {
    "flw" "imm[11:0] rs1 010 fd 0000111" => |c| c.load::<4, Boxed>();
    "fsw" "imm[11:5] fs2 rs1 010 imm[4:0] 0100111" => |c| c.store::<4>();

    "fmadd.s" "fs3 00 fs2 fs1 rm fd 1000011" => |c| c.fused::<f32>(false, false);
    "fmsub.s" "fs3 00 fs2 fs1 rm fd 1000111" => |c| c.fused::<f32>(false, true);
    "fnmsub.s" "fs3 00 fs2 fs1 rm fd 1001011" => |c| c.fused::<f32>(true, false);
    "fnmadd.s" "fs3 00 fs2 fs1 rm fd 1001111" => |c| c.fused::<f32>(true, true);

    "fadd.s" "0000000 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32>(Class::FloatAdd, |a, b| a + b, add::<f32>);
    "fsub.s" "0000100 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32>(Class::FloatAdd, |a, b| a - b, subtract::<f32>);
    "fmul.s" "0001000 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32>(Class::FloatMultiply, |a, b| a * b, multiply::<f32>);
    "fdiv.s" "0001100 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32>(Class::FloatDivide, |a, b| a / b, divide::<f32>);
    "fsqrt.s" "0101100 00000 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f32>(Class::FloatSquareRoot, |a, _| a.root(), square_root::<f32>);

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

    "fcvt.w.s" "1100000 00000 fs1 rm rd 1010011" => |c| c.convert(to_word::<f32>);
    "fcvt.wu.s" "1100000 00001 fs1 rm rd 1010011" => |c| c.convert(to_unsigned_word::<f32>);
    "fcvt.l.s" "1100000 00010 fs1 rm rd 1010011" => |c| c.convert(to_long::<f32>);
    "fcvt.lu.s" "1100000 00011 fs1 rm rd 1010011" => |c| c.convert(to_unsigned_long::<f32>);
    "fcvt.s.w" "1101000 00000 rs1 rm fd 1010011" => |c| c.convert(from_word::<f32>);
    "fcvt.s.wu" "1101000 00001 rs1 rm fd 1010011" => |c| c.convert(from_unsigned_word::<f32>);
    "fcvt.s.l" "1101000 00010 rs1 rm fd 1010011" => |c| c.convert(from_long::<f32>);
    "fcvt.s.lu" "1101000 00011 rs1 rm fd 1010011" => |c| c.convert(from_unsigned_long::<f32>);
    "fmv.x.w" "1110000 00000 fs1 000 rd 1010011" =>
        |c| c.compute(Class::Integer, |a, _| word(a as u32));
    "fmv.w.x" "1111000 00000 rs1 000 fd 1010011" =>
        |c| c.compute(Class::Integer, |a, _| f32::boxed(a & 0xffff_ffff));
}

/// An operation on registers that cannot be left to the host.
pub(super) type Careful = fn(Rounding, [u64; 3]) -> (u64, Flags);

/// Puts a result of the format into a register.
fn boxed<F: Real>((bits, flags): exact::Rounded) -> exact::Rounded {
    (F::boxed(bits), flags)
}

/// The result that was proved exact, or the one that integers compute.
fn prove<F: Real>(quick: Option<F>, careful: impl FnOnce() -> exact::Rounded) -> exact::Rounded {
    match quick {
        Some(result) => (result.to_register(), Flags::NONE),
        None => boxed::<F>(careful()),
    }
}

pub(super) fn add<F: Real>(mode: Rounding, [a, b, _]: [u64; 3]) -> exact::Rounded {
    let (a, b) = (F::unbox(a), F::unbox(b));
    prove(quick::add(mode, F::from_low_bits(a), F::from_low_bits(b)), || {
        exact::add(F::FORMAT, mode, a, b)
    })
}

pub(super) fn subtract<F: Real>(mode: Rounding, [a, b, _]: [u64; 3]) -> exact::Rounded {
    let (a, b) = (F::unbox(a), F::unbox(b));
    prove(quick::add(mode, F::from_low_bits(a), -F::from_low_bits(b)), || {
        exact::subtract(F::FORMAT, mode, a, b)
    })
}

pub(super) fn multiply<F: Real>(mode: Rounding, [a, b, _]: [u64; 3]) -> exact::Rounded {
    let (a, b) = (F::unbox(a), F::unbox(b));
    prove(quick::multiply(F::from_low_bits(a), F::from_low_bits(b)), || {
        exact::multiply(F::FORMAT, mode, a, b)
    })
}

pub(super) fn divide<F: Real>(mode: Rounding, [a, b, _]: [u64; 3]) -> exact::Rounded {
    let (a, b) = (F::unbox(a), F::unbox(b));
    prove(quick::divide(F::from_low_bits(a), F::from_low_bits(b)), || {
        exact::divide(F::FORMAT, mode, a, b)
    })
}

pub(super) fn square_root<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> exact::Rounded {
    let a = F::unbox(a);
    prove(quick::square_root(F::from_low_bits(a)), || exact::square_root(F::FORMAT, mode, a))
}

/// The registers hold the factors and the addend, with their signs applied.
fn multiply_add<F: Real>(mode: Rounding, operands: [u64; 3]) -> exact::Rounded {
    let [a, b, c] = operands.map(F::unbox);
    let [x, y, z] = [a, b, c].map(F::from_low_bits);
    prove(quick::multiply_add(mode, x, y, z), || exact::multiply_add(F::FORMAT, mode, a, b, c))
}

fn to_integer<F: Real>(mode: Rounding, a: u64, least: i128, most: i128) -> (i128, Flags) {
    exact::to_integer(F::FORMAT, mode, F::unbox(a), least, most)
}

pub(super) fn to_word<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    let (value, flags) = to_integer::<F>(mode, a, i32::MIN.into(), i32::MAX.into());
    (value as u64, flags)
}

pub(super) fn to_unsigned_word<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    let (value, flags) = to_integer::<F>(mode, a, 0, u32::MAX.into());
    (word(value as u32), flags)
}

pub(super) fn to_long<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    let (value, flags) = to_integer::<F>(mode, a, i64::MIN.into(), i64::MAX.into());
    (value as u64, flags)
}

pub(super) fn to_unsigned_long<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    let (value, flags) = to_integer::<F>(mode, a, 0, u64::MAX.into());
    (value as u64, flags)
}

fn from_integer<F: Real>(mode: Rounding, value: i128) -> (u64, Flags) {
    boxed::<F>(exact::from_integer(F::FORMAT, mode, value))
}

pub(super) fn from_word<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    from_integer::<F>(mode, (a as i32).into())
}

pub(super) fn from_unsigned_word<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    from_integer::<F>(mode, (a as u32).into())
}

pub(super) fn from_long<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    from_integer::<F>(mode, (a as i64).into())
}

pub(super) fn from_unsigned_long<F: Real>(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
    from_integer::<F>(mode, a.into())
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

/// Computes with care: writes rd and raises flags. False if the rounding mode
/// is none, which makes the instruction illegal.
#[inline(never)]
fn carefully<T: Timing>(
    core: &mut Core<T>,
    operation: Operation,
    operands: [u64; 3],
    careful: Careful,
) -> bool {
    let Some(mode) = Rounding::select(operation.rm, core.fcsr) else {
        core.fault(FaultKind::IllegalInstruction, 0);
        return false;
    };
    let (result, flags) = careful(mode, operands);
    core.registers[operation.rd as usize] = result;
    core.raise(flags);
    true
}

/// The same with a negated factor or addend.
#[inline(never)]
fn carefully_fused<F: Real, T: Timing>(
    core: &mut Core<T>,
    operation: Operation,
    negate_product: bool,
    negate_addend: bool,
) -> bool {
    let operand = |index: u8, negate: bool| {
        let bits = F::unbox(core.registers[index as usize]);
        F::boxed(if negate { bits ^ F::FORMAT.sign_bit() } else { bits })
    };
    let operands = [
        operand(operation.rs1, negate_product),
        operand(operation.rs2, false),
        operand(operation.rs3, negate_addend),
    ];
    carefully(core, operation, operands, multiply_add::<F>)
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
    pub(super) fn arithmetic<F: Real>(
        self,
        class: Class,
        host: impl FnOnce(F, F) -> F,
        careful: Careful,
    ) {
        let operation = self.cursor.get();
        let Operation { rd, rs1, rs2, rm, .. } = operation;
        let mut at = self.issue(rs1, rs2);
        if matches!(class, Class::FloatDivide | Class::FloatSquareRoot) {
            at = self.core.timing.free(at, Unit::Divider);
            self.core.timing.occupy(Unit::Divider, at, class);
        }
        let (a, b) = (self.register(rs1), self.register(rs2));
        let result = host(F::from_register(a), F::from_register(b));
        if self.core.host_rounds[rm as usize] && result.is_plain() {
            return self.finish(at, rd, class, result.to_register());
        }
        if !carefully(self.core, operation, [a, b, 0], careful) {
            return self.stop_here(at);
        }
        self.core.timing.produce(rd, at, class);
        self.retire(at);
    }

    /// fd = ±(fs1 * fs2) ± fs3
    #[inline(always)]
    pub(super) fn fused<F: Real>(self, negate_product: bool, negate_addend: bool) {
        let operation = self.cursor.get();
        let Operation { rd, rs1, rs2, rs3, rm, .. } = operation;
        let at = self.core.timing.ready(self.issue(rs1, rs2), rs3);
        if self.core.host_rounds[rm as usize] {
            let signed = |value: F, negate: bool| if negate { -value } else { value };
            let a = signed(F::from_register(self.register(rs1)), negate_product);
            let c = signed(F::from_register(self.register(rs3)), negate_addend);
            let result = a.fused(F::from_register(self.register(rs2)), c);
            if result.is_plain() {
                return self.finish(at, rd, Class::FloatMultiply, result.to_register());
            }
        }
        if !carefully_fused::<F, T>(self.core, operation, negate_product, negate_addend) {
            return self.stop_here(at);
        }
        self.core.timing.produce(rd, at, Class::FloatMultiply);
        self.retire(at);
    }

    /// rd = fs1 in another format.
    #[inline(always)]
    pub(super) fn convert(self, careful: Careful) {
        let operation = self.cursor.get();
        let at = self.issue_one(operation.rs1);
        let operands = [self.register(operation.rs1), 0, 0];
        if !carefully(self.core, operation, operands, careful) {
            return self.stop_here(at);
        }
        self.core.timing.produce(operation.rd, at, Class::FloatAdd);
        self.retire(at);
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
