//! Why nothing retires in a core with a reorder window, to the cycle.

use crate::common::{DATA, prepared, windowed};
use narthex_cores::{ReorderWindow, Stall, Stop};
use narthex_kernel::{Category, Duration, Time};

/// The cycles of a program, and those of them in which nothing retires, by cause.
fn stalls(source: &str) -> (u64, Vec<(Stall, u64)>) {
    let (mut processor, mut memory) = prepared::<ReorderWindow>(&windowed(), &format!("{source}\n ecall"));
    processor.set_x(8, DATA);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    let cycle = processor.clock().cycles(1);
    let times = processor.stalls(processor.now(), true).expect("it has a window");
    assert_eq!(processor.stalls(processor.now(), true), Some(times), "looking changes nothing");
    let all = Stall::ALL.iter().map(|&stall| (stall, times[stall.index()].as_ps() / cycle.as_ps()));
    (processor.cycles(), all.filter(|(_, cycles)| *cycles > 0).collect())
}

#[test]
fn the_oldest_instruction_keeps_all_behind_it_until_the_cycle_in_which_it_is_complete() {
    let beside = "div a0, a1, a2\n mul a3, a4, a5\n mul a3, a3, a5\n";
    assert_eq!(stalls(beside), (20, vec![(Stall::Execution, 19)]));
    // The last multiplication begins when the division is complete.
    assert_eq!(stalls(&format!("{beside} mul a7, a0, a3")), (23, vec![(Stall::Execution, 19 + 2)]));
    assert_eq!(stalls(&"add a3, a4, a5\n".repeat(16)), (4, vec![]));
}

#[test]
fn what_follows_a_mispredicted_branch_is_kept_by_it_until_it_is_dispatched() {
    // The branch of the first turn and that of the last are mispredicted.
    let turns = "li a0, 50\n turn:\n addi a0, a0, -1\n bnez a0, turn\n";
    assert_eq!(stalls(turns), (1 + 50 + 2 + 2 * 10, vec![(Stall::Mispredict, 2 * 10)]));
    let then = format!("{turns} div a1, a0, a0\n");
    assert_eq!(stalls(&then).1, [(Stall::Execution, 19), (Stall::Mispredict, 2 * 10)]);
}

#[test]
fn a_processor_without_a_thread_is_kept_by_the_system() {
    let (mut processor, mut memory) =
        prepared::<ReorderWindow>(&windowed(), "ecall\n div a0, a1, a2\n ecall");
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    let cycles = |count| processor_clock().cycles(count);
    processor.pass_until(Time::ZERO + cycles(100));
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    let end = processor.now() + cycles(7);
    let times = processor.stalls(end, false).expect("it has a window");
    let of = |stall: Stall| times[stall.index()];
    assert_eq!(of(Stall::System) + of(Stall::Execution) + cycles(1), Duration::from_ps(end.as_ps()));
    assert!(of(Stall::System) >= cycles(99 + 7), "{:?}", of(Stall::System));
}

fn processor_clock() -> narthex_kernel::Clock {
    windowed().clock.clock()
}
