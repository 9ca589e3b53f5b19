//! When the instructions of a core with a reorder window begin, to the cycle.

use crate::common::{DATA, prepared, windowed};
use narthex_cores::{Config, PredictorConfig, PredictorKind, ReorderWindow, Stop, WindowConfig};
use narthex_kernel::Time;

fn changed(change: impl FnOnce(&mut WindowConfig)) -> Config {
    let mut config = windowed();
    change(config.window.as_mut().expect("it has a window"));
    config
}

/// The cycle at whose start all of a program is complete.
fn cycles(config: &Config, source: &str) -> u64 {
    let (mut processor, mut memory) = prepared::<ReorderWindow>(config, &format!("{source}\n ecall"));
    processor.set_x(8, DATA);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    processor.cycles()
}

#[test]
fn a_chain_takes_the_sum_of_its_latencies_and_what_is_independent_four_a_cycle() {
    assert_eq!(cycles(&windowed(), &"add a0, a0, a1\n".repeat(12)), 12);
    assert_eq!(cycles(&windowed(), &"mul a0, a0, a1\n".repeat(8)), 8 * 3);
    // Two cycles of four; the last begins in cycle 1.
    assert_eq!(cycles(&windowed(), &"mul a0, a1, a1\n".repeat(8)), 1 + 3);
}

#[test]
fn a_late_result_delays_those_alone_that_need_it() {
    let beside = "div a0, a1, a2\n mul a3, a4, a5\n mul a3, a3, a5\n add a6, a3, a3";
    assert_eq!(cycles(&windowed(), beside), 20);
    assert_eq!(cycles(&windowed(), &format!("{beside}\n mul a7, a0, a6")), 20 + 3);
}

#[test]
fn what_is_too_far_behind_the_oldest_instruction_waits_for_it() {
    let program = format!("div a0, a1, a2\n {}", "add a3, a4, a5\n".repeat(8));
    assert_eq!(cycles(&windowed(), &program), 20);
    // Three beside the division; five behind it, four and one a cycle.
    assert_eq!(cycles(&changed(|window| window.entries = 4), &program), 20 + 2);
}

#[test]
fn loads_and_stores_have_queues_of_their_own() {
    let loads = format!("div a0, a1, a2\n {}", "ld a3, 0(s0)\n".repeat(4));
    assert_eq!(cycles(&windowed(), &loads), 20);
    // The third and the fourth load are dispatched in cycle 20.
    assert_eq!(cycles(&changed(|window| window.load_queue = 2), &loads), 20 + 4);
    let stores = format!("div a0, a1, a2\n {}", "sd a3, 0(s0)\n".repeat(4));
    assert_eq!(cycles(&changed(|window| window.store_queue = 2), &stores), 20 + 1);
}

#[test]
fn behind_a_full_queue_only_what_needs_an_entry_of_it_waits() {
    let one = |config: &mut WindowConfig| (config.load_queue, config.store_queue) = (1, 1);
    let full = "div a0, a1, a2\n ld a3, 0(s0)\n sd a3, 8(s0)\n mul a4, a5, a5\n";
    assert_eq!(cycles(&changed(one), full), 20);
    // The load is dispatched when the division and the load before it have left, the rest behind it.
    assert_eq!(cycles(&changed(one), &format!("{full} ld a6, 16(s0)\n mul a7, a5, a5")), 20 + 4);
    assert_eq!(cycles(&changed(one), &format!("{full} ld a6, 16(s0)\n mul a7, a6, a5")), 20 + 4 + 3);
    assert_eq!(cycles(&changed(one), &format!("{full} sd a5, 16(s0)\n mul a7, a5, a5")), 20 + 3);
}

#[test]
fn a_load_waits_for_the_store_whose_word_it_reads() {
    let through = "div a0, a1, a2\n sd a0, 0(s0)\n ld a3, 0(s0)\n mul a4, a3, a3";
    assert_eq!(cycles(&windowed(), through), 20 + 1 + 4 + 3);
    let beside = "div a0, a1, a2\n sd a0, 0(s0)\n ld a3, 8(s0)\n mul a4, a3, a3";
    assert_eq!(cycles(&windowed(), beside), 20 + 1);
}

#[test]
fn a_copy_of_64_bytes_overlaps_its_words() {
    let copy: String =
        (0..8).map(|word| format!("ld a0, {0}(s0)\n sd a0, {1}(s0)\n", 8 * word, 8 * word + 512)).collect();
    // 16 instructions in 4 cycles; the last load begins in cycle 3, its store 4 cycles later.
    assert_eq!(cycles(&windowed(), &copy), 3 + 4 + 1);
}

#[test]
fn a_loop_is_predicted_wrongly_when_it_begins_and_when_it_ends() {
    let turns = |penalty: u64| {
        let config = changed(|window| window.mispredict_cycles = penalty);
        cycles(&config, "li a0, 50\n turn:\n addi a0, a0, -1\n bnez a0, turn\n")
    };
    assert_eq!(turns(20) - turns(10), 2 * 10);
    // `li` and the 50 decrements, the cycle of the branch in which the first turn ends, and that of
    // the last.
    assert_eq!(turns(0), 1 + 50 + 2);
}

#[test]
fn history_predicts_what_alternates() {
    let alternates = "li a0, 200\n turn:\n andi a1, a0, 1\n beqz a1, even\n nop\n even:\n addi a0, a0, -1\n bnez a0, turn\n";
    let wrong = |kind| {
        let of = |penalty| {
            let predictor = PredictorConfig { kind, entries: 256 };
            let config =
                changed(|window| (window.mispredict_cycles, window.predictor) = (penalty, predictor));
            cycles(&config, alternates)
        };
        (of(110) - of(10)) / 100
    };
    assert_eq!(wrong(PredictorKind::Bimodal), 202);
    assert!(wrong(PredictorKind::Gshare) < 30, "{}", wrong(PredictorKind::Gshare));
}

#[test]
fn a_jump_to_a_register_is_predicted_to_go_where_it_went_last_and_a_return_always() {
    let of = |penalty: u64, jump: &str| {
        let config = changed(|window| window.mispredict_cycles = penalty);
        let program = format!(
            "li a0, 8\n turn:\n jal ra, called\n addi a0, a0, -1\n bnez a0, turn\n j end\n called:\n {jump}\n end:\n"
        );
        cycles(&config, &program)
    };
    let wrong = |jump| (of(110, jump) - of(10, jump)) / 100;
    assert_eq!(wrong("jalr zero, 0(ra)"), 2, "those of the loop");
    assert_eq!(wrong("mv t0, ra\n jalr zero, 0(t0)"), 2 + 1);
}

#[test]
fn a_counter_is_read_when_all_before_it_is_complete() {
    let program = "div a0, a1, a2\n csrrs a3, 0xc00, zero\n ecall";
    let (mut processor, mut memory) = prepared::<ReorderWindow>(&windowed(), program);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    assert_eq!(processor.x(13), 20);
}

#[test]
fn a_window_that_cannot_be_is_refused_with_key_value_and_what_is_allowed() {
    let refused = |config: Config| config.validate().expect_err("it is refused").to_string();
    let window = |change: fn(&mut WindowConfig)| refused(changed(change));
    assert_eq!(window(|own| own.entries = 3), "window.entries is 3: allowed are 4 (the issue_width) to 512");
    assert_eq!(window(|own| own.entries = 0), "window.entries is 0: allowed are 4 (the issue_width) to 512");
    assert_eq!(window(|own| own.load_queue = 0), "window.load_queue is 0: allowed are 1 to 256");
    assert_eq!(window(|own| own.store_queue = 257), "window.store_queue is 257: allowed are 1 to 256");
    assert_eq!(
        window(|own| own.predictor.entries = 100),
        "window.predictor.entries is 100: allowed are powers of two from 2 to 65536"
    );
    assert_eq!(
        window(|own| own.mispredict_cycles = 1001),
        "window.mispredict_cycles is 1001: allowed are 0 to 1000"
    );
    assert_eq!(
        refused(Config { misses: None, ..windowed() }),
        "misses is 1: allowed are 2 to 32 with a window, whose loads overlap"
    );
    assert_eq!(refused(Config { misses: Some(33), ..windowed() }), "misses is 33: allowed are 1 to 32");
    assert_eq!(
        refused(Config { interrupt_cycles: Some(5), ..windowed() }),
        "interrupt_cycles is 5: allowed are none, as a core with a window has no interrupts"
    );
}
