use narthex_kernel::{Duration, Time};
use proptest::prelude::*;

use super::*;
use crate::assemble::assemble;
use crate::linux::{GuestMemory, Protection};
use crate::{Code, Config, FlatMemory};

const TEXT: u64 = 0x1_0000;
const DATA: u64 = 0x10_0000;

type Machine = (Processor<InOrder>, FlatMemory);

/// Writes reads of counters in the assembler's notation.
fn with_counters(source: &str) -> String {
    let number = |name: &str| ["rdcycle", "rdtime", "rdinstret"].iter().position(|&counter| counter == name);
    let line = |line: &str| {
        let (label, code) = line.rsplit_once(": ").unwrap_or(("", line));
        match code.trim().split_once(' ').and_then(|(name, rd)| Some((number(name)?, rd))) {
            Some((number, rd)) if label.is_empty() => format!("csrrs {rd}, {}, zero", 0xc00 + number),
            Some((number, rd)) => format!("{label}: csrrs {rd}, {}, zero", 0xc00 + number),
            None => line.to_owned(),
        }
    };
    source.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A processor with two slots a cycle before the first instruction of `source`.
fn machine(source: &str) -> Machine {
    let config = Config { issue_width: 2, load_use_cycles: 2, branch_taken_cycles: 1, ..Config::simple() };
    let code = assemble(TEXT, &with_counters(source)).expect("a sound program");
    let mut memory = FlatMemory::with_range(DATA, 0x1_0000);
    memory.map(TEXT, 0x1000, Protection { read: true, write: false, execute: true });
    memory.write(TEXT, &code).expect("mapped");
    let mut processor = Processor::new(&config, Code::new(TEXT, &code).into());
    processor.set_pc(TEXT);
    processor.set_x(8, DATA);
    // What is used becomes what was used lately.
    for _ in 0..30 {
        processor.step(&mut memory);
    }
    (processor, memory)
}

/// The turn of the loop that the processor is in.
fn turn((processor, memory): &mut Machine) -> Option<Turn> {
    let mut observation = Observation::new(processor, 500, Grain::of([processor.clock()].into_iter()));
    loop {
        match observation.step(processor, memory, Time::NEVER) {
            (_, Verdict::Turned(turn)) => return Some(*turn),
            (_, Verdict::Futile) => return None,
            (stop, _) => assert!(matches!(stop, None | Some(Stop::Marker(_))), "{stop:?}"),
        }
    }
}

/// Everything that a program could tell of a processor.
fn state(processor: &Processor<InOrder>) -> (u64, [u64; 64], Time, u64) {
    (processor.pc(), *processor.registers(), processor.now(), processor.retired())
}

/// Executes `turns` turns instruction by instruction.
fn execute((processor, memory): &mut Machine, turn: &Turn, turns: u64) {
    let end = processor.retired() + turn.instructions() * turns;
    while processor.retired() < end {
        processor.step(memory);
    }
}

/// Observes a turn, computes others, and executes as many: no difference.
fn assert_same(source: &str, most: u64) -> Option<Turn> {
    let (mut computed, mut executed) = (machine(source), machine(source));
    let turn = turn(&mut computed)?;
    while executed.0.retired() < computed.0.retired() {
        executed.0.step(&mut executed.1);
    }
    assert_eq!(state(&computed.0), state(&executed.0), "before anything is computed");
    let turns = turn.limit().min(most);
    computed.0.repeat(&turn, turns);
    execute(&mut executed, &turn, turns);
    for _ in 0..60 {
        assert_eq!(state(&computed.0), state(&executed.0), "{source}: after {turns} turns");
        computed.0.step(&mut computed.1);
        executed.0.step(&mut executed.1);
    }
    Some(turn)
}

#[test]
fn a_loop_on_a_flag_turns_for_ever() {
    let turn = assert_same("wait: ld a0, 0(s0)\n beqz a0, wait\n ecall", 1_000).expect("a turn");
    // The load issues in cycle 0, the branch in cycle 2, its target in cycle 4.
    assert_eq!((turn.duration(), turn.instructions()), (Duration::from_ns(4), 2));
    assert_eq!((turn.limit(), turn.grows()), (u64::MAX, false));
}

#[test]
fn a_jump_to_itself_is_a_turn() {
    let turn = assert_same("wait: j wait", 10).expect("a turn");
    assert_eq!((turn.duration(), turn.instructions()), (Duration::from_ns(2), 1));
}

#[test]
fn a_deadline_limits_the_turns() {
    let source = "rdcycle s1\n li s2, 9000\n wait: rdcycle a0\n sub a0, a0, s1\n bltu a0, s2, wait\n ecall";
    let turn = assert_same(source, u64::MAX).expect("a turn");
    assert!(turn.grows() && (1_000..9_000).contains(&turn.limit()), "{turn:?}");
}

#[test]
fn a_count_of_turns_limits_them_and_reads_of_all_counters_grow() {
    for counter in ["cycle", "time", "instret"] {
        let source = format!(
            "li s2, 5000\n wait: rd{counter} a0\n slli a1, a0, 3\n add a1, a1, a0\n addi s1, s1, 1\n \
             blt s1, s2, wait\n ecall"
        );
        let turn = assert_same(&source, u64::MAX).expect(counter);
        assert!((4_900..5_000).contains(&turn.limit()), "{turn:?}");
    }
}

#[test]
fn stores_of_what_is_there_or_that_are_taken_back_are_allowed() {
    assert!(assert_same("wait: sd s0, 0(s0)\n ld a0, 0(s0)\n bnez a0, wait", 100).is_some());
    let taken_back = "wait: sd s0, 8(s0)\n sw zero, 8(s0)\n sw zero, 12(s0)\n j wait";
    assert!(assert_same(taken_back, 100).is_some());
}

#[test]
fn subroutines_that_are_called_twice_in_a_turn_are_followed() {
    let source = "wait: call look\n call look\n j wait\n look: ld a0, 0(s0)\n ret";
    let turn = assert_same(source, 100).expect("a turn");
    assert_eq!(turn.instructions(), 7);
}

#[test]
fn what_only_looks_like_a_wait_loop_is_none() {
    for source in [
        "wait: ld a0, 0(s0)\n addi a0, a0, 1\n sd a0, 0(s0)\n j wait",
        "wait: rdcycle a0\n sd a0, 0(s0)\n j wait",
        "wait: rdcycle a0\n xori a0, a0, 1\n j wait",
        "li a2, 5\n wait: addi a1, a1, 3\n ld a0, 0(s0)\n mul a1, a1, a2\n j wait",
        "wait: amoadd.d zero, zero, (s0)\n j wait",
        // What is popped comes from the network.
        "csrrw zero, 0x801, s0\n csrrsi zero, 0x801, 1\n wait: addi a0, t5, 0\n beqz a0, wait",
        "mv s1, s0\n wait: ld a0, 0(s1)\n addi s1, s1, 8\n beqz a0, wait",
    ] {
        assert_eq!(assert_same(source, 100), None, "{source}");
    }
}

#[test]
fn an_observation_does_not_pass_the_horizon() {
    let (mut processor, mut memory) = machine("wait: ld a0, 0(s0)\n beqz a0, wait");
    let until = processor.now() + Duration::from_ns(1);
    let mut observation = Observation::new(&processor, 100, Grain::of([processor.clock()].into_iter()));
    let stops = std::iter::repeat_with(|| observation.step(&mut processor, &mut memory, until).0);
    assert_eq!(stops.take(20).last(), Some(Some(Stop::Horizon)));
    assert!(processor.now() < until + Duration::from_ns(5));
}

/// Instructions of random loops: some make a turn of them, some do not.
const INSTRUCTIONS: [&str; 20] = [
    "ld a0, 0(s0)",
    "lw a1, 8(s0)",
    "sd a0, 0(s0)",
    "sd a1, 16(s0)",
    "sb zero, 16(s0)",
    "sw a2, 24(s0)",
    "add a1, a1, a0",
    "sub a2, a2, a1",
    "addi s2, s2, 3",
    "addi a3, a3, -1",
    "rdcycle a3",
    "rdtime a4",
    "rdinstret a5",
    "sub a3, a3, a4",
    "sltu a5, a3, s3",
    "mul a4, a2, a2",
    "slli a2, a1, 1",
    "mv a1, a3",
    "bltu s2, s3, next",
    "blt a3, a4, next",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_loops_are_computed_as_they_are_executed(
        body in proptest::collection::vec(proptest::sample::select(&INSTRUCTIONS[..]), 1..7),
        turns in 1u64..300,
    ) {
        let body = body.iter().enumerate().map(|(place, instruction)| {
            let label = format!("next{place}");
            match instruction.contains("next") {
                true => format!("{}\n {label}: ", instruction.replace("next", &label)),
                false => format!("{instruction}\n "),
            }
        });
        let source = format!("li s3, 4000\n wait: {}j wait", body.collect::<String>());
        assert_same(&source, turns);
    }
}
