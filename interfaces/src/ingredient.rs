//! The rules of the coherent interfaces that can be left out.
//!
//! Every one of them is there because something goes wrong without it. The model
//! checker leaves one out and shows what; nobody else does.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A rule that an interface follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ingredient {
    /// The valid bit of a deposited message alternates from pass to pass
    /// (isca96, Section 2.2).
    SenseReverse,
    /// A message's first block, which has its valid bit, is deposited last.
    HeaderLast,
    /// The processor's old copy of a block goes before it gets new bytes.
    Invalidation,
    /// Only blocks of consumed messages are replaced in the interface's cache
    /// (hpca98, Section 4).
    DeadMessages,
    /// While an entry is empty, the interface answers a fetch of its first block.
    EmptyEntries,
}

impl Ingredient {
    /// Every rule, by the name that users write.
    pub const ALL: [(Ingredient, &str); 5] = [
        (Ingredient::SenseReverse, "sense-reverse"),
        (Ingredient::HeaderLast, "header-last"),
        (Ingredient::Invalidation, "invalidation"),
        (Ingredient::DeadMessages, "dead-messages"),
        (Ingredient::EmptyEntries, "empty-entries"),
    ];
}

impl fmt::Display for Ingredient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = Ingredient::ALL.iter().find(|(rule, _)| rule == self).expect("every rule has a name");
        f.write_str(name)
    }
}

/// A name that no rule has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("'{0}' is no rule of an interface; there are {names}{nearest}", names = names(), nearest = nearest(.0))]
pub struct IngredientError(String);

fn names() -> String {
    Ingredient::ALL.map(|(_, name)| name).join(", ")
}

fn nearest(wanted: &str) -> String {
    let distance = |name: &str| strsim::damerau_levenshtein(name, wanted);
    let nearest = Ingredient::ALL.map(|(_, name)| name).into_iter().min_by_key(|name| distance(name));
    nearest
        .filter(|name| distance(name) <= 4)
        .map(|name| format!("; did you mean {name}?"))
        .unwrap_or_default()
}

impl FromStr for Ingredient {
    type Err = IngredientError;

    fn from_str(text: &str) -> Result<Self, IngredientError> {
        let found = Ingredient::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text.trim()));
        found.map(|&(rule, _)| rule).ok_or_else(|| IngredientError(text.trim().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_parses_from_its_name_and_a_typing_error_is_helped() {
        for (rule, name) in Ingredient::ALL {
            assert_eq!((name.parse(), rule.to_string()), (Ok(rule), name.to_owned()));
        }
        let error = "sense-revers".parse::<Ingredient>().unwrap_err().to_string();
        assert!(error.contains("did you mean sense-reverse?"), "{error}");
    }
}
