//! D: double precision.

use super::float::*;
use crate::execute::{Boxed, instructions};
use crate::float::host::Real;
use crate::float::{Flags, Format, Rounding, exact};
use crate::timing::Class;

instructions! {
    "fld" "imm[11:0] rs1 011 fd 0000111" => |c| c.load::<8, Boxed>();
    "fsd" "imm[11:5] fs2 rs1 011 imm[4:0] 0100111" => |c| c.store::<8>();

    "fmadd.d" "fs3 01 fs2 fs1 rm fd 1000011" => |c| c.fused::<f64, false, false>();
    "fmsub.d" "fs3 01 fs2 fs1 rm fd 1000111" => |c| c.fused::<f64, false, true>();
    "fnmsub.d" "fs3 01 fs2 fs1 rm fd 1001011" => |c| c.fused::<f64, true, false>();
    "fnmadd.d" "fs3 01 fs2 fs1 rm fd 1001111" => |c| c.fused::<f64, true, true>();

    "fadd.d" "0000001 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f64, Add<f64>>();
    "fsub.d" "0000101 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f64, Subtract<f64>>();
    "fmul.d" "0001001 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f64, Multiply<f64>>();
    "fdiv.d" "0001101 fs2 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f64, Divide<f64>>();
    "fsqrt.d" "0101101 00000 fs1 rm fd 1010011" =>
        |c| c.arithmetic::<f64, SquareRoot<f64>>();

    "fsgnj.d" "0010001 fs2 fs1 000 fd 1010011" => |c| c.sign::<f64>(|_, b| b);
    "fsgnjn.d" "0010001 fs2 fs1 001 fd 1010011" => |c| c.sign::<f64>(|_, b| !b);
    "fsgnjx.d" "0010001 fs2 fs1 010 fd 1010011" => |c| c.sign::<f64>(|a, b| a ^ b);
    "fmin.d" "0010101 fs2 fs1 000 fd 1010011" => |c| c.extreme::<f64>(false);
    "fmax.d" "0010101 fs2 fs1 001 fd 1010011" => |c| c.extreme::<f64>(true);
    "feq.d" "1010001 fs2 fs1 010 rd 1010011" => |c| c.compare::<f64>(false, |a, b| a == b);
    "flt.d" "1010001 fs2 fs1 001 rd 1010011" => |c| c.compare::<f64>(true, |a, b| a < b);
    "fle.d" "1010001 fs2 fs1 000 rd 1010011" => |c| c.compare::<f64>(true, |a, b| a <= b);
    "fclass.d" "1110001 00000 fs1 001 rd 1010011" =>
        |c| c.compute(Class::FloatAdd, |a, _| classify(Format::DOUBLE, a));

    "fcvt.s.d" "0100000 00001 fs1 rm fd 1010011" => |c| c.convert::<ToSingle>();
    "fcvt.d.s" "0100001 00000 fs1 rm fd 1010011" => |c| c.convert::<ToDouble>();
    "fcvt.w.d" "1100001 00000 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f64, i32>>();
    "fcvt.wu.d" "1100001 00001 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f64, u32>>();
    "fcvt.l.d" "1100001 00010 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f64, i64>>();
    "fcvt.lu.d" "1100001 00011 fs1 rm rd 1010011" => |c| c.convert::<ToInteger<f64, u64>>();
    "fcvt.d.w" "1101001 00000 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f64, i32>>();
    "fcvt.d.wu" "1101001 00001 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f64, u32>>();
    "fcvt.d.l" "1101001 00010 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f64, i64>>();
    "fcvt.d.lu" "1101001 00011 rs1 rm fd 1010011" => |c| c.convert::<FromInteger<f64, u64>>();
    "fmv.x.d" "1110001 00000 fs1 000 rd 1010011" => |c| c.compute(Class::Integer, |a, _| a);
    "fmv.d.x" "1111001 00000 rs1 000 fd 1010011" => |c| c.compute(Class::Integer, |a, _| a);
}

/// From double to single precision.
struct ToSingle;
/// From single to double precision.
struct ToDouble;

impl Careful for ToSingle {
    const CLASS: Class = Class::FloatAdd;
    fn careful(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
        let (bits, flags) = exact::convert(Format::DOUBLE, Format::SINGLE, mode, a);
        (f32::boxed(bits), flags)
    }
}

impl Careful for ToDouble {
    const CLASS: Class = Class::FloatAdd;
    fn careful(mode: Rounding, [a, ..]: [u64; 3]) -> (u64, Flags) {
        exact::convert(Format::SINGLE, Format::DOUBLE, mode, f32::unbox(a))
    }
    const PROVES_IN_ANY_MODE: bool = true;
    #[inline(always)]
    unsafe fn proved([a, ..]: [u64; 3]) -> Option<u64> {
        let single = f32::from_register(a);
        single.is_plain().then(|| f64::from(single).to_register())
    }
}
