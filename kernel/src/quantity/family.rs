//! What all quantities share: a table of units, exact reading, exact printing,
//! and errors that help.

use std::fmt;

use schemars::{Schema, json_schema};

/// A unit: its name and how many of the family's smallest unit it is.
pub type Unit = (&'static str, u64);

/// One kind of quantity: what it is called, an example, and its units.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// With its article: "a time".
    pub name: &'static str,
    /// A value that would be accepted: "120ns".
    pub example: &'static str,
    /// The smallest unit in the plural: "picoseconds".
    pub smallest: &'static str,
    /// All units, from small to large; the first is the smallest.
    pub units: &'static [Unit],
}

impl fmt::Display for Family {
    /// What is allowed, to complete an error message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: Vec<&str> = self.units.iter().map(|unit| unit.0).collect();
        write!(f, "{} such as {}; units: {}", self.name, self.example, units.join(", "))
    }
}

/// Why a text is not a quantity: the value, what is wrong, what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} {flaw}; expected {family}{}", suggestion(.nearest))]
pub struct QuantityError {
    /// The text that was refused.
    pub value: String,
    /// What is wrong with it.
    pub flaw: Flaw,
    /// The unit that was probably meant.
    pub nearest: Option<&'static str>,
    family: &'static Family,
}

/// What can be wrong with a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There is no decimal number at the start.
    #[error("does not start with a number")]
    NoNumber,
    /// There is a number and nothing else.
    #[error("has no unit")]
    NoUnit,
    /// The unit is none of the family's.
    #[error("has an unknown unit")]
    UnknownUnit,
    /// Finer than the smallest unit.
    #[error("is not a whole number of {0}")]
    NotWhole(&'static str),
    /// More than 2^64 - 1 of the smallest unit.
    #[error("is too large")]
    TooLarge,
    /// A frequency of zero, or above the picosecond's.
    #[error("is outside the range from 1Hz to 1000GHz")]
    OutOfRange,
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map_or(String::new(), |unit| format!(" (did you mean {unit}?)"))
}

impl Family {
    pub fn error(&'static self, value: &str, flaw: Flaw) -> QuantityError {
        let nearest = match flaw {
            Flaw::UnknownUnit => self.nearest_unit(split(value).1),
            _ => None,
        };
        QuantityError { value: value.to_owned(), flaw, nearest, family: self }
    }

    /// Reads a number and a unit as a whole number of the smallest unit.
    pub fn parse(&'static self, text: &str) -> Result<u64, QuantityError> {
        let text = text.trim();
        let (number, unit) = split(text);
        let flaw = match (number.is_empty(), unit.is_empty()) {
            (true, _) => Flaw::NoNumber,
            (_, true) => Flaw::NoUnit,
            _ => match self.units.iter().find(|known| known.0 == unit) {
                None => Flaw::UnknownUnit,
                Some(&(_, size)) => match scale(number, size) {
                    Ok(value) => return Ok(value),
                    Err(ScaleError::NoNumber) => Flaw::NoNumber,
                    Err(ScaleError::NotWhole) => Flaw::NotWhole(self.smallest),
                    Err(ScaleError::TooLarge) => Flaw::TooLarge,
                },
            },
        };
        Err(self.error(text, flaw))
    }

    /// The unit that `wrong` was probably meant to be: one slip away but for
    /// the case of its letters, or abbreviated ("nsec").
    pub fn nearest_unit(&self, wrong: &str) -> Option<&'static str> {
        let wrong = wrong.to_lowercase();
        let slips = |unit: &str| strsim::damerau_levenshtein(&wrong, &unit.to_lowercase());
        let units = || self.units.iter().map(|unit| unit.0);
        let closest = units().min_by_key(|unit| (slips(unit), usize::MAX - unit.len()));
        closest
            .filter(|unit| slips(unit) <= 1)
            .or_else(|| units().rev().find(|unit| wrong.starts_with(&unit.to_lowercase())))
    }

    /// The schema of a value of this family, for editors.
    pub fn schema(&self) -> Schema {
        let units: Vec<&str> = self.units.iter().map(|unit| unit.0).collect();
        json_schema!({
            "type": "string",
            "description": self.to_string(),
            "pattern": format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", units.join("|")),
            "examples": [self.example],
        })
    }
}

/// The number in front and the unit behind it.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

enum ScaleError {
    NoNumber,
    NotWhole,
    TooLarge,
}

/// `number` (digits, perhaps with a fraction) times `size`, exactly.
fn scale(number: &str, size: u64) -> Result<u64, ScaleError> {
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return Err(ScaleError::NoNumber),
        Some(parts) => parts,
        None => (number, ""),
    };
    if whole.is_empty() || fraction.contains('.') {
        return Err(ScaleError::NoNumber);
    }
    let whole: u64 = whole.parse().map_err(|_| ScaleError::TooLarge)?;
    let whole = whole.checked_mul(size).ok_or(ScaleError::TooLarge)?;
    let part = scale_fraction(fraction.trim_end_matches('0'), size).ok_or(ScaleError::NotWhole)?;
    whole.checked_add(part).ok_or(ScaleError::TooLarge)
}

/// `0.fraction` times `size`, if that is a whole number: written
/// multiplication from the last digit to the first, in which every digit of
/// the product behind the point must be zero and the carry is what is in front.
fn scale_fraction(fraction: &str, size: u64) -> Option<u64> {
    let mut carry = 0;
    for digit in fraction.bytes().rev() {
        let product = u64::from(digit - b'0') * size + carry;
        if !product.is_multiple_of(10) {
            return None;
        }
        carry = product / 10;
    }
    Some(carry)
}

/// `value` in the largest unit of which there is at least one, exactly.
pub fn in_largest_unit(value: u64, units: &[Unit]) -> String {
    let fits = |unit: &&Unit| value >= unit.1;
    let &(name, size) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    let digits = size.ilog10() as usize;
    let decimals = format!("{:0digits$}", value % size);
    match decimals.trim_end_matches('0') {
        "" => format!("{}{name}", value / size),
        decimals => format!("{}.{decimals}{name}", value / size),
    }
}
