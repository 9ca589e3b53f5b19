//! M: multiplication and division.
//!
//! Division never traps: by zero it gives all ones and the dividend as
//! remainder; the one quotient that overflows gives the dividend and zero.

use super::integer::word;
use crate::execute::instructions;
use crate::timing::Class;

/// The upper half of the product of two numbers.
#[inline(always)]
fn upper(product: i128) -> u64 {
    (product >> 64) as u64
}

fn divide(a: i64, b: i64) -> u64 {
    if b == 0 { u64::MAX } else { a.wrapping_div(b) as u64 }
}

fn remainder(a: i64, b: i64) -> u64 {
    if b == 0 { a as u64 } else { a.wrapping_rem(b) as u64 }
}

fn divide_word(a: i32, b: i32) -> u64 {
    if b == 0 { u64::MAX } else { a.wrapping_div(b) as u64 }
}

fn remainder_word(a: i32, b: i32) -> u64 {
    if b == 0 { a as u64 } else { a.wrapping_rem(b) as u64 }
}

instructions! {
    "mul" "0000001 rs2 rs1 000 rd 0110011" => |c| c.compute(Class::Multiply, u64::wrapping_mul);
    "mulh" "0000001 rs2 rs1 001 rd 0110011" =>
        |c| c.compute(Class::Multiply, |a, b| upper(i128::from(a as i64) * i128::from(b as i64)));
    "mulhsu" "0000001 rs2 rs1 010 rd 0110011" =>
        |c| c.compute(Class::Multiply, |a, b| upper(i128::from(a as i64) * i128::from(b)));
    "mulhu" "0000001 rs2 rs1 011 rd 0110011" =>
        |c| c.compute(Class::Multiply, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    "div" "0000001 rs2 rs1 100 rd 0110011" => |c| c.divide(|a, b| divide(a as i64, b as i64));
    "divu" "0000001 rs2 rs1 101 rd 0110011" =>
        |c| c.divide(|a, b| a.checked_div(b).unwrap_or(u64::MAX));
    "rem" "0000001 rs2 rs1 110 rd 0110011" => |c| c.divide(|a, b| remainder(a as i64, b as i64));
    "remu" "0000001 rs2 rs1 111 rd 0110011" => |c| c.divide(|a, b| a.checked_rem(b).unwrap_or(a));

    "mulw" "0000001 rs2 rs1 000 rd 0111011" =>
        |c| c.compute(Class::Multiply, |a, b| word(a.wrapping_mul(b) as u32));
    "divw" "0000001 rs2 rs1 100 rd 0111011" =>
        |c| c.divide(|a, b| divide_word(a as i32, b as i32));
    "divuw" "0000001 rs2 rs1 101 rd 0111011" =>
        |c| c.divide(|a, b| word((a as u32).checked_div(b as u32).unwrap_or(u32::MAX)));
    "remw" "0000001 rs2 rs1 110 rd 0111011" =>
        |c| c.divide(|a, b| remainder_word(a as i32, b as i32));
    "remuw" "0000001 rs2 rs1 111 rd 0111011" =>
        |c| c.divide(|a, b| word((a as u32).checked_rem(b as u32).unwrap_or(a as u32)));
}
