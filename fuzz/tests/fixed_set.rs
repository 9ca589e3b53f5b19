//! The fixed set: programs whose outputs QEMU computed when `fixed.txt` was
//! recorded (`narthex-fuzz instructions --record`), so that no QEMU is needed here.

use narthex_fuzz::instructions::{encode, generate, simulator};
use std::collections::BTreeSet;

const FIXED: &str = include_str!("../fixed.txt");

fn fixed_set() -> impl Iterator<Item = (u64, &'static str)> {
    FIXED.lines().map(|line| {
        let (seed, hash) = line.split_once(' ').expect("seed and hash");
        (seed.parse().expect("a seed"), hash)
    })
}

#[test]
fn every_program_of_the_fixed_set_leaves_what_it_leaves_on_qemu() {
    for (seed, expected) in fixed_set() {
        let file = generate::program(seed).file();
        for run in [simulator::run_functional(&file), simulator::run_in_order(&file)] {
            assert_eq!(run.problem, None, "seed {seed}");
            let found = simulator::hash(&run.output);
            assert_eq!(found, expected, "seed {seed}: run `narthex-fuzz instructions --seed {seed}`");
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
    let mut found = BTreeSet::new();
    for (seed, _) in fixed_set() {
        let program = generate::program(seed);
        for block in 0..program.blocks.len() {
            let listing = program.listing(block);
            let names = listing.lines().filter_map(|line| line.split_whitespace().nth(1));
            found.extend(names.map(str::to_owned));
        }
    }
    let missing: Vec<String> = encode::names().into_iter().filter(|name| !found.contains(name)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_fixed_set_executes_a_million_instructions_or_more() {
    let instructions: u64 = fixed_set()
        .map(|(seed, _)| simulator::run_functional(&generate::program(seed).file()).instructions)
        .sum();
    assert!(instructions >= 1_000_000, "{instructions}");
}
