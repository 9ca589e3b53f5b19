//! The handlers' last calls must be jumps: a call for each of millions of
//! instructions would need gigabytes of stack.

use crate::common::prepared;
use narthex_cores::{Config, Functional, InOrder, Stop, Timing};
use narthex_kernel::Time;

/// Every kind of handler in a loop: arithmetic, accesses that hit and miss the
/// fast path, atomics, floats that the host computes and that it does not,
/// jumps, calls, fences.
const PROGRAM: &str = "
    li   s0, 0x100000
    li   s1, 2000000
    li   a3, 3
    fcvt.d.l fa3, a3
    fcvt.s.l ft3, a3
loop:
    ld   a0, 0(s0)
    addi a0, a0, 1
    sd   a0, 0(s0)
    lw   a1, 9(s0)
    sw   a1, 9(s0)
    amoadd.d a2, a0, (s0)
    lr.w a2, (s0)
    sc.w a2, a2, (s0)
    mul  a2, a0, a3
    div  a2, a2, a3
    fcvt.d.l fa0, a0
    fadd.d fa1, fa0, fa3
    fdiv.d fa1, fa1, fa3
    fmadd.d fa2, fa1, fa0, fa3
    fsub.d fa4, fa0, fa0
    fadd.d fa4, fa0, fa3, rup
    fmin.d fa5, fa4, fa0
    flt.d a4, fa5, fa4
    fadd.s ft0, ft3, ft3
    call function
    fence
    csrrs a5, 0xc02, zero
    addi s1, s1, -1
    bnez s1, loop
    ecall
function:
    .half 0x8082
    .half 0x0001
";

/// Runs more than 50 million instructions with 256 KiB of stack.
fn run_with_little_stack<T: Timing + 'static>() {
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let run = || {
        let (mut processor, mut memory) = prepared::<T>(&Config::simple(), PROGRAM);
        assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
        processor.retired()
    };
    let retired = thread.spawn(run).unwrap().join().unwrap();
    assert_eq!(retired, 5 + 2 + 2_000_000 * 25 + 1);
}

#[test]
fn functional_handlers_jump() {
    run_with_little_stack::<Functional>();
}

#[test]
fn timed_handlers_jump() {
    run_with_little_stack::<InOrder>();
}
