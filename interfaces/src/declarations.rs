//! What all models declare of how they are programmed ([`crate::programming`]), each thing once.
//!
//! This module stands above the models, and [`crate::information`] and [`crate::headers`] above it: a
//! model needs none of them.

use crate::models::MODELS;
use crate::programming::{Programming, Register};

/// Each way of programming that a model has, once, in the order of their drivers' numbers.
pub fn programmings() -> Vec<&'static Programming> {
    let mut all: Vec<&'static Programming> = MODELS.iter().map(|model| model.programming).collect();
    all.sort_by_key(|programming| programming.driver.number);
    all.dedup();
    all
}

/// Each of the things that the ways of programming have, once.
pub(crate) fn gathered<T: Copy + PartialEq + 'static>(part: impl Fn(&Programming) -> &'static [T]) -> Vec<T> {
    let mut gathered = Vec::new();
    for &each in programmings().into_iter().flat_map(part) {
        if !gathered.contains(&each) {
            gathered.push(each);
        }
    }
    gathered
}

/// The registers of all models, by their offsets.
pub fn registers() -> Vec<Register> {
    let lists = gathered(|programming| programming.registers);
    let mut registers: Vec<Register> = lists.into_iter().flatten().copied().collect();
    registers.sort_by_key(|&(name, offset, _)| (offset, name));
    registers.dedup();
    registers
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn is_once<T: Ord>(names: impl IntoIterator<Item = T>) -> bool {
        let names: Vec<T> = names.into_iter().collect();
        let count = names.len();
        names.into_iter().collect::<BTreeSet<T>>().len() == count
    }

    #[test]
    fn a_drivers_name_and_number_are_its_own_and_its_file_is_there() {
        assert!(is_once(programmings().iter().map(|programming| programming.driver.name)));
        assert!(is_once(programmings().iter().map(|programming| programming.driver.number)));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../guest/messaging");
        for programming in programmings() {
            let file = format!("{folder}/driver_{}.c", programming.driver.name);
            assert!(std::path::Path::new(&file).exists(), "there is no {file}");
        }
    }

    #[test]
    fn a_name_means_one_thing_to_all_models() {
        assert!(is_once(registers().iter().map(|(name, ..)| name)));
        assert!(is_once(gathered(|programming| programming.constants).iter().map(|(name, ..)| name)));
        assert!(is_once(gathered(|programming| programming.facts).iter().map(|fact| fact.name)));
    }
}
