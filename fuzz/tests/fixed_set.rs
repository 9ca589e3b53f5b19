//! The fixed set: programs whose outputs QEMU computed when `fixed.txt` was
//! recorded (`narthex-fuzz instructions --record`), so that no QEMU is needed here.

use narthex_cores::instruction::instructions;
use narthex_fuzz::instructions::instruction::{Instruction, short_forms};
use narthex_fuzz::instructions::{generate, simulator};
use std::collections::HashSet;

const FIXED: &str = include_str!("../fixed.txt");

/// Seeds, and hashes of the programs' code and of their outputs.
fn fixed_set() -> impl Iterator<Item = (u64, &'static str, &'static str)> {
    FIXED.lines().map(|line| {
        let mut words = line.split(' ');
        let seed = words.next().and_then(|seed| seed.parse().ok()).expect("a seed");
        (seed, words.next().expect("a hash"), words.next().expect("a hash"))
    })
}

#[test]
fn every_program_of_the_fixed_set_leaves_what_it_leaves_on_qemu() {
    for (seed, code, output) in fixed_set() {
        let program = generate::program(seed);
        assert_eq!(simulator::hash(&program.code()), code, "seed {seed}: another program, record it anew");
        let file = program.file();
        for run in [simulator::run_functional, simulator::run_in_order, simulator::run_with_window] {
            let run = run(&file);
            assert_eq!(run.problem, None, "seed {seed}");
            let found = simulator::hash(&run.output);
            assert_eq!(found, output, "seed {seed}: run `narthex-fuzz instructions --seed {seed}`");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_program() {
    assert_eq!(generate::program(7).file(), generate::program(7).file());
    assert_ne!(generate::program(7).file(), generate::program(8).file());
}

#[test]
fn the_fixed_set_holds_every_instruction() {
    /// They end a program, belong to the simulator, or are not in the reference's processor.
    const ELSEWHERE: [&str; 9] =
        ["ecall", "ebreak", "uret", "marker", "wfi", "cbo.inval", "cbo.clean", "cbo.flush", "cbo.zero"];
    let programs: Vec<_> = fixed_set().map(|(seed, ..)| generate::program(seed)).collect();
    let bodies =
        programs.iter().flat_map(|program| (0..program.blocks.len()).map(|block| program.body(block)));
    let found: HashSet<u32> = bodies.flatten().map(|Instruction(bits)| bits).collect();
    let long = found.iter().copied().map(Instruction).filter(|instruction| instruction.bytes() == 4);
    let long: HashSet<&str> = long.map(|instruction| instruction.expanded().1.name).collect();
    let names = instructions().iter().map(|pattern| pattern.name);
    let missing: Vec<_> = names.filter(|name| !long.contains(name) && !ELSEWHERE.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    let mut forms = short_forms(|_, pattern| !ELSEWHERE.contains(&pattern.name));
    forms.retain(|form| !form.iter().any(|Instruction(bits)| found.contains(bits)));
    assert_eq!(forms, Vec::<Vec<Instruction>>::new());
}

#[test]
fn the_fixed_set_executes_a_million_instructions_or_more() {
    let instructions: u64 = fixed_set()
        .map(|(seed, ..)| simulator::run_functional(&generate::program(seed).file()).instructions)
        .sum();
    assert!(instructions >= 1_000_000, "{instructions}");
}
