//! What instructions do, one extension after the other.

use crate::common::{float_result, run, run_to_fault};
use narthex_cores::FaultKind;

const INVALID: u32 = 16;
const DIVIDE_BY_ZERO: u32 = 8;
const OVERFLOW: u32 = 4;
const UNDERFLOW: u32 = 2;
const INEXACT: u32 = 1;

#[test]
fn writes_to_x0_have_no_effect() {
    let processor = run("li a0, 5\n addi zero, a0, 1\n jal zero, next\n next: mv a1, zero");
    assert_eq!((processor.x(0), processor.x(11)), (0, 0));
}

#[test]
fn words_are_sign_extended() {
    let processor = run("
        li a0, 0x7fffffff
        addiw a1, a0, 1
        addw a2, a0, a0
        sllw a3, a0, a0
        li a4, -1
        srliw a5, a4, 4
        sraiw a6, a4, 4
        sltu a7, zero, a4
    ");
    let sign_extended = |value: i32| value as u64;
    assert_eq!(processor.x(11), sign_extended(i32::MIN));
    assert_eq!(processor.x(12), sign_extended(-2));
    assert_eq!(processor.x(13), sign_extended(i32::MIN));
    assert_eq!(processor.x(15), 0x0fff_ffff);
    assert_eq!(processor.x(16), u64::MAX);
    assert_eq!(processor.x(17), 1);
}

#[test]
fn constants_are_built_from_their_parts() {
    let value = 0x1234_5678_9abc_def0u64;
    assert_eq!(run("li a0, 0x123456789abcdef0").x(10), value);
    assert_eq!(run("li a0, 0xfffffffffffff800").x(10), 0xffff_ffff_ffff_f800);
    assert_eq!(run("nop\n auipc a0, 1").x(10), 0x1_0004 + 0x1000);
}

#[test]
fn loads_extend_as_their_names_say() {
    let processor = run("
        li s0, 0x100000
        li a0, 0x8182838485868788
        sd a0, 0(s0)
        lb a1, 0(s0)
        lbu a2, 0(s0)
        lh a3, 0(s0)
        lhu a4, 0(s0)
        lw a5, 0(s0)
        lwu a6, 0(s0)
        ld a7, 1(s0)
    ");
    assert_eq!(processor.x(11), 0xffff_ffff_ffff_ff88);
    assert_eq!(processor.x(12), 0x88);
    assert_eq!(processor.x(13), 0xffff_ffff_ffff_8788);
    assert_eq!(processor.x(14), 0x8788);
    assert_eq!(processor.x(15), 0xffff_ffff_8586_8788);
    assert_eq!(processor.x(16), 0x8586_8788);
    assert_eq!(processor.x(17), 0x0081_8283_8485_8687);
}

#[test]
fn calls_return_behind_the_call() {
    let processor = run("
        li a0, 1
        call double
        call double
        j end
    double:
        add a0, a0, a0
        ret
    end:
        nop
    ");
    assert_eq!(processor.x(10), 4);
}

#[test]
fn a_register_jump_may_link_to_its_own_base() {
    let processor = run("auipc a0, 0\n jalr a0, 12(a0)\n nop\n nop");
    assert_eq!(processor.x(10), 0x1_0008);
}

#[test]
fn division_by_zero_and_overflow_give_the_values_of_the_manual() {
    let processor = run("
        li a0, -9223372036854775808
        li a1, -1
        div a2, a0, a1
        rem a3, a0, a1
        div a4, a0, zero
        rem a5, a0, zero
        divu a6, a0, zero
        divw a7, a1, zero
        remuw s2, a1, zero
        mulhsu s3, a1, a1
        mulhu s4, a1, a1
        mulh s5, a1, a1
    ");
    let lowest = i64::MIN as u64;
    let expected = [lowest, 0, u64::MAX, lowest, u64::MAX, u64::MAX];
    assert_eq!([12, 13, 14, 15, 16, 17].map(|n| processor.x(n)), expected);
    assert_eq!([18, 19, 20, 21].map(|n| processor.x(n)), [u64::MAX, u64::MAX, u64::MAX - 1, 0]);
}

#[test]
fn an_atomic_returns_the_old_value_and_stores_the_new_one() {
    let processor = run("
        li s0, 0x100000
        li a0, -5
        sd a0, 0(s0)
        li a1, 3
        amoadd.d a2, a1, (s0)
        amomax.w a3, a1, (s0)
        amominu.d a4, a1, (s0)
        amoswap.w a5, a0, (s0)
        ld a6, 0(s0)
    ");
    let expected = [-5i64, -2, 0xffff_ffff_0000_0003u64 as i64, 3].map(|value| value as u64);
    assert_eq!([12, 13, 14, 15].map(|n| processor.x(n)), expected);
    assert_eq!(processor.x(16), 0x0000_0000_ffff_fffb);
}

#[test]
fn a_store_conditional_succeeds_once_for_a_reservation() {
    let processor = run("
        li s0, 0x100000
        li a0, 7
        lr.d a1, (s0)
        sc.d a2, a0, (s0)
        sc.d a3, a0, (s0)
        ld a4, 0(s0)
    ");
    assert_eq!([11, 12, 13, 14].map(|n| processor.x(n)), [0, 0, 1, 7]);
}

#[test]
fn a_misaligned_atomic_is_a_fault() {
    let (processor, fault) = run_to_fault("li s0, 0x100004\n amoadd.d a0, a0, (s0)");
    assert_eq!(
        fault.to_string(),
        "store to 0x100004 at 0x10004: the address is not a multiple of the size"
            .replace("0x10004", &format!("{:#x}", processor.pc()))
    );
}

#[test]
fn the_counters_count_and_cannot_be_written() {
    let processor = run("nop\n nop\n csrrs a0, 0xc02, zero\n csrrs a1, 0xc00, zero");
    assert_eq!((processor.x(10), processor.x(11)), (2, 3));
    assert_eq!(run_to_fault("csrrw a0, 0xc00, a0").1.kind, FaultKind::IllegalInstruction);
}

#[test]
fn the_parts_of_fcsr_are_its_own_registers() {
    let processor = run("
        csrrwi zero, 1, 17
        csrrwi zero, 2, 3
        csrrs a0, 3, zero
        csrrci a1, 1, 1
        csrrs a2, 3, zero
    ");
    assert_eq!([10, 11, 12].map(|n| processor.x(n)), [0x71, 0x11, 0x70]);
}

#[test]
fn exact_results_raise_nothing_and_inexact_ones_do() {
    assert_eq!(float_result("fadd.d fa0, fa0, fa1", 1.5, 2.25), (3.75, 0));
    assert_eq!(float_result("fadd.d fa0, fa0, fa1", 0.1, 0.2), (0.1 + 0.2, INEXACT));
    assert_eq!(float_result("fmul.d fa0, fa0, fa1", 3.0, 0.0), (0.0, 0));
    assert_eq!(float_result("fdiv.d fa0, fa0, fa1", 1.0, 3.0), (1.0 / 3.0, INEXACT));
    assert_eq!(float_result("fdiv.d fa0, fa0, fa1", 1.0, 0.0), (f64::INFINITY, DIVIDE_BY_ZERO));
    assert_eq!(float_result("fsqrt.d fa0, fa0", 2.25, 0.0), (1.5, 0));
    let (infinity, flags) = float_result("fmul.d fa0, fa0, fa1", 1e300, 1e300);
    assert_eq!((infinity, flags), (f64::INFINITY, OVERFLOW | INEXACT));
    let (tiny, flags) = float_result("fmul.d fa0, fa0, fa1", 1e-200, 1e-200);
    assert_eq!((tiny, flags), (0.0, UNDERFLOW | INEXACT));
}

#[test]
fn every_rounding_mode_rounds_its_way() {
    for (mode, expected) in [("rne", 2), ("rtz", 2), ("rdn", 2), ("rup", 3), ("rmm", 3)] {
        let program = format!("fcvt.l.d a0, fa0, {mode}\n fcvt.d.l fa0, a0");
        assert_eq!(float_result(&program, 2.5, 0.0), (f64::from(expected), INEXACT), "{mode}");
    }
    // Dynamic: upwards.
    let program = "csrrwi zero, 2, 3\n fadd.d fa0, fa0, fa1";
    let (sum, flags) = float_result(program, 1.0, 1e-30);
    assert_eq!((sum, flags & 31), (1.0 + f64::EPSILON, INEXACT));
}

#[test]
fn a_rounding_mode_that_does_not_exist_is_illegal() {
    let (_, fault) = run_to_fault("csrrwi zero, 2, 5\n fadd.d fa0, fa0, fa1");
    assert_eq!(fault.kind, FaultKind::IllegalInstruction);
    assert_eq!((fault.pc, fault.bits), (0x1_0004, 0x02b5_7553));
}

#[test]
fn nan_results_are_canonical() {
    let (nan, flags) = float_result("fsub.d fa0, fa0, fa1", f64::INFINITY, f64::INFINITY);
    assert_eq!((nan.to_bits(), flags), (0x7ff8_0000_0000_0000, INVALID));
    let negative_nan = f64::from_bits(0xfff8_0000_0000_0123);
    let (nan, flags) = float_result("fadd.d fa0, fa0, fa1", negative_nan, 1.0);
    assert_eq!((nan.to_bits(), flags), (0x7ff8_0000_0000_0000, 0));
}

#[test]
fn the_smaller_of_two_zeros_is_negative_and_a_nan_is_left_out() {
    let (least, _) = float_result("fmin.d fa0, fa0, fa1", 0.0, -0.0);
    assert!(least.is_sign_negative());
    let (most, _) = float_result("fmax.d fa0, fa0, fa1", -0.0, 0.0);
    assert!(most.is_sign_positive());
    assert_eq!(float_result("fmax.d fa0, fa0, fa1", f64::NAN, 1.0), (1.0, 0));
}

#[test]
fn a_single_in_a_register_is_preceded_by_ones() {
    let processor = run("li a0, 0x3fc00000\n fmv.w.x fa0, a0\n fadd.s fa1, fa0, fa0");
    assert_eq!(processor.f(10), 0xffff_ffff_3fc0_0000);
    assert_eq!(processor.f(11), 0xffff_ffff_4040_0000);
    // A double is no single: it counts as NaN.
    let processor = run("li a0, 1\n fcvt.d.l fa0, a0\n fadd.s fa1, fa0, fa0\n fclass.s a1, fa0");
    assert_eq!((processor.f(11), processor.x(11)), (0xffff_ffff_7fc0_0000, 1 << 9));
}

#[test]
fn a_fused_multiply_add_rounds_once() {
    let a = 1.0 + f64::EPSILON;
    let program = "fmul.d fa2, fa0, fa1\n fmsub.d fa0, fa0, fa1, fa2";
    let (error, _) = float_result(program, a, a);
    assert_eq!(error, f64::EPSILON * f64::EPSILON);
    let program = "fnmadd.d fa0, fa0, fa1, fa1";
    assert_eq!(float_result(program, 2.0, 3.0), (-9.0, 0));
}

#[test]
fn comparisons_with_nan_are_false_and_signal_as_the_manual_says() {
    let program = "feq.d a0, fa0, fa1\n fcvt.d.l fa0, a0";
    assert_eq!(float_result(program, f64::NAN, 1.0), (0.0, 0));
    let program = "flt.d a0, fa0, fa1\n fcvt.d.l fa0, a0";
    assert_eq!(float_result(program, f64::NAN, 1.0), (0.0, INVALID));
    assert_eq!(float_result(program, 0.5, 1.0), (1.0, 0));
}

#[test]
fn conversions_saturate() {
    let program = "fcvt.wu.d a0, fa0, rtz\n fcvt.d.l fa0, a0";
    assert_eq!(float_result(program, -1.0, 0.0), (0.0, INVALID));
    assert_eq!(float_result(program, 1e20, 0.0), (-1.0, INVALID));
    assert_eq!(float_result(program, -0.5, 0.0), (0.0, INEXACT));
}

#[test]
fn compressed_instructions_take_two_bytes() {
    // c.li a0, 21; c.add a0, a0; c.jalr a0 would leave; c.j over a halfword.
    let processor = run(".half 0x4555\n .half 0x952a\n .half 0xa011\n .half 0\n nop");
    assert_eq!(processor.x(10), 42);
    assert_eq!(processor.pc(), 0x1_0010);
}

#[test]
fn an_illegal_instruction_is_named_with_its_bits() {
    let (_, fault) = run_to_fault("nop\n .word 0xffffffff");
    assert_eq!(fault.to_string(), "illegal instruction 0xffffffff at 0x10004");
    let (_, fault) = run_to_fault(".half 0\n .half 1");
    assert_eq!(fault.to_string(), "illegal instruction 0x0 at 0x10000");
    assert_eq!(run_to_fault("ebreak").1.kind, FaultKind::Breakpoint);
}

#[test]
fn an_access_to_nothing_is_a_fault_at_the_instruction() {
    let (processor, fault) = run_to_fault("li a0, 8\n nop\n ld a1, 8(a0)");
    assert_eq!(fault.to_string(), "load from 0x10 at 0x10008: no memory is mapped there");
    assert_eq!(processor.pc(), 0x1_0008);
}

#[test]
fn a_jump_to_nothing_is_a_fault_there() {
    let (processor, fault) = run_to_fault("li a0, 0x400\n jr a0");
    assert_eq!(fault.to_string(), "instruction fetch from 0x400: no memory is mapped there");
    assert_eq!(processor.pc(), 0x400);
}
