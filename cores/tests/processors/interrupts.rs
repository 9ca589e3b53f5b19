//! Interrupts and waiting for them, to the cycle: when a handler begins, what it
//! sees, what is masked meanwhile, and what no handler can take.

use crate::common::{DATA, TEXT, prepared};
use narthex_cores::{Config, FaultKind, FlatMemory, Functional, InOrder, Processor, Stop, Timing};
use narthex_kernel::Time;
use proptest::prelude::*;

/// From the place where the processor stops to the handler's first instruction.
const CYCLES: u64 = 6;

/// A program with a handler that notes the clock (s2), uepc (s3), ucause (s4) and
/// ustatus (s5), counts (s6), and asks its device by `ecall` to let the line fall.
fn handled(main: &str) -> String {
    format!(
        "
        jal   t0, main
        csrrs s2, 0xc00, zero
        csrrs s3, 0x041, zero
        csrrs s4, 0x042, zero
        csrrs s5, 0x000, zero
        addi  s6, s6, 1
        ecall
        uret
    main:
        csrrw zero, 0x005, t0
        li    t1, 0x10000            # line 0
        csrrs zero, 0x004, t1
        csrrsi zero, 0x000, 1
        {main}
    "
    )
}

struct Bench<T> {
    processor: Processor<T>,
    memory: FlatMemory,
}

impl<T: Timing> Bench<T> {
    fn new(config: &Config, source: &str) -> Self {
        let (mut processor, memory) = prepared::<T>(config, source);
        processor.set_x(9, DATA);
        Bench { processor: processor.with_interrupts(CYCLES), memory }
    }

    fn run(&mut self, until_ns: u64) -> Stop {
        self.processor.run(&mut self.memory, Time::from_ps(1_000 * until_ns))
    }
}

fn bench(main: &str) -> Bench<InOrder> {
    Bench::new(&Config::simple(), &handled(main))
}

/// Computes, and stores now and then.
const BUSY: &str = "
    loop:
        addi a0, a0, 1
        addi a1, a1, 1
        addi a2, a2, 1
        sd   a0, 0(s1)
        addi a3, a3, 1
        j    loop";

#[test]
fn a_handler_begins_the_stated_cycles_after_the_first_place_where_the_processor_can_stop() {
    let mut bench = bench(BUSY);
    assert_eq!(bench.run(100), Stop::Horizon);
    // It stops at the store or at the head of the loop.
    let stopped = bench.processor.cycles();
    let pc = bench.processor.pc();
    bench.processor.assert_lines(1);
    assert_eq!(bench.run(1_000), Stop::SystemCall);
    assert_eq!(bench.processor.x(18), stopped + CYCLES);
    assert_eq!(bench.processor.x(19), pc, "uepc is the instruction that comes next");
    assert_eq!(bench.processor.x(20), 1 << 63 | 16, "the cause is line 0's");
    assert_eq!(bench.processor.x(21), 1 << 4, "masked, and enabled before");
    bench.processor.assert_lines(0);
    assert_eq!(bench.run(1_000), Stop::Horizon);
    assert_eq!(bench.processor.x(22), 1);
}

/// What a run shows whose line is asserted at `at_ns`, and which is interrupted by
/// horizons every `piece_ns`.
fn interrupted<T: Timing>(width: u64, at_ns: u64, piece_ns: u64) -> (Vec<u64>, u64, u64) {
    let config = Config { issue_width: width, branch_taken_cycles: 2, ..Config::simple() };
    let mut bench = Bench::<T>::new(&config, &handled(BUSY));
    let mut now = 0;
    while now < at_ns {
        now = at_ns.min(now + piece_ns);
        assert_eq!(bench.run(now), Stop::Horizon);
    }
    bench.processor.assert_lines(1);
    loop {
        now += piece_ns;
        match bench.run(now) {
            Stop::Horizon => {}
            stop => {
                assert_eq!(stop, Stop::SystemCall);
                let registers = (0..32).map(|number| bench.processor.x(number)).collect();
                return (registers, bench.processor.cycles(), bench.processor.retired());
            }
        }
    }
}

proptest! {
    #[test]
    fn where_an_interrupt_is_taken_does_not_depend_on_where_the_processor_has_stopped_before(
        at_ns in 20u64..200, piece_ns in 1u64..60, wide: bool
    ) {
        let width = if wide { 2 } else { 1 };
        prop_assert_eq!(interrupted::<InOrder>(width, at_ns, piece_ns), interrupted::<InOrder>(width, at_ns, at_ns));
    }
}

#[test]
fn a_functional_processor_takes_interrupts_at_branches() {
    let (registers, ..) = interrupted::<Functional>(1, 50, 50);
    assert_eq!((registers[20], registers[22]), (1 << 63 | 16, 1));
}

#[test]
fn a_line_that_stays_asserted_interrupts_again_behind_uret() {
    let mut bench = bench("loop: j loop");
    bench.processor.assert_lines(1);
    for times in 1..4 {
        assert_eq!(bench.run(1_000), Stop::SystemCall);
        assert_eq!(bench.processor.x(22), times);
        assert_eq!(bench.processor.x(19), TEXT + 52, "the loop's instruction, not the handler's");
    }
}

#[test]
fn nothing_interrupts_a_handler_before_it_allows_that() {
    let source = |inner: &str| {
        format!(
            "
            jal   t0, main
            addi  s6, s6, 1
            bne   s6, s7, return         # the first time:
            csrrs s3, 0x041, zero
            {inner}
            addi  s8, s8, 1
            csrrw zero, 0x041, s3
        return:
            ecall
            uret
        main:
            csrrw zero, 0x005, t0
            addi  s7, zero, 1
            li    t1, 0x30000            # lines 0 and 1
            csrrs zero, 0x004, t1
            csrrsi zero, 0x000, 1
        loop:
            j     loop"
        )
    };
    for (inner, before) in [("nop", 1), ("csrrsi zero, 0x000, 1", 2)] {
        let mut bench = Bench::<InOrder>::new(&Config::simple(), &source(inner));
        assert_eq!(bench.run(50), Stop::Horizon);
        bench.processor.assert_lines(2);
        assert_eq!(bench.run(1_000), Stop::SystemCall);
        assert_eq!((bench.processor.x(22), bench.processor.x(24)), (before, 2 - before), "{inner}");
    }
}

#[test]
fn an_interrupt_that_is_asserted_when_it_is_enabled_is_taken_before_the_next_instruction() {
    let mut bench = bench("addi a0, zero, 1\n ecall");
    bench.processor.assert_lines(1);
    assert_eq!(bench.run(1_000), Stop::SystemCall);
    assert_eq!((bench.processor.x(22), bench.processor.x(10)), (1, 0));
    // Enabled in cycle 5 (jal, csrrw, lui, addiw, csrrs and csrrsi from cycle 0 on).
    assert_eq!(bench.processor.x(18), 6 + CYCLES);
}

#[test]
fn of_two_lines_the_lower_one_comes_first() {
    let mut bench = bench("li t1, -1\n csrrw zero, 0x004, t1\n loop: j loop");
    assert_eq!(bench.run(50), Stop::Horizon);
    bench.processor.assert_lines(1 << 47 | 1 << 5);
    assert_eq!(bench.run(1_000), Stop::SystemCall);
    assert_eq!(bench.processor.x(20), 1 << 63 | 21);
}

#[test]
fn a_processor_that_waits_goes_on_when_an_enabled_line_is_asserted() {
    let mut bench = bench("wfi\n addi a0, zero, 1\n loop: j loop");
    assert_eq!(bench.run(1_000), Stop::WaitForInterrupt);
    assert_eq!(bench.processor.cycles(), 7);
    bench.processor.assert_lines(2);
    assert!(!bench.processor.has_awaited_interrupt(), "line 1 is not enabled");
    bench.processor.assert_lines(1);
    assert!(bench.processor.has_awaited_interrupt());
    bench.processor.pass_until(Time::from_ps(99_500));
    assert_eq!(bench.run(1_000), Stop::SystemCall);
    assert_eq!(bench.processor.x(18), 100 + CYCLES, "from the first cycle behind the line");
    assert_eq!(bench.processor.x(10), 0, "before what is behind wfi");
    bench.processor.assert_lines(0);
    assert_eq!(bench.run(1_000), Stop::Horizon);
    assert_eq!(bench.processor.x(10), 1);
}

#[test]
fn waiting_ends_without_a_handler_where_interrupts_are_masked() {
    let mut bench = bench("csrrci zero, 0x000, 1\n wfi\n csrrs a0, 0x044, zero\n wfi\n ecall");
    assert_eq!(bench.run(1_000), Stop::WaitForInterrupt);
    bench.processor.assert_lines(1);
    bench.processor.pass_until(Time::from_ps(50_000));
    assert_eq!(bench.run(1_000), Stop::SystemCall, "the second wfi finds the line asserted");
    assert_eq!((bench.processor.x(10), bench.processor.x(22)), (1 << 16, 0));
    assert_eq!(bench.processor.cycles(), 53);
}

#[test]
fn an_interrupt_without_a_handler_is_a_fault_that_names_its_line() {
    let source = "li t1, 0x80000\n csrrs zero, 0x004, t1\n csrrsi zero, 0x000, 1\n loop: j loop";
    let mut bench = Bench::<InOrder>::new(&Config::simple(), source);
    assert_eq!(bench.run(50), Stop::Horizon);
    bench.processor.assert_lines(1 << 3);
    assert_eq!(bench.run(1_000), Stop::Fault);
    let fault = bench.processor.fault();
    assert_eq!(fault.kind, FaultKind::Interrupt(3));
    assert_eq!(fault.to_string(), "interrupt of line 3 before 0x10010: no handler is installed (utvec is 0)");
}

#[test]
fn a_core_without_interrupts_knows_none_of_their_instructions() {
    for source in ["wfi", "csrrs a0, 0x000, zero", "csrrs a0, 0x004, zero", "csrrs a0, 0x044, zero"] {
        let (mut processor, mut memory) = prepared::<InOrder>(&Config::simple(), source);
        assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::Fault, "{source}");
        assert_eq!(processor.fault().kind, FaultKind::IllegalInstruction, "{source}");
    }
}
