//! Quantities with units, as people write them in configuration files.
//!
//! A bare `120` in a machine's file means nothing until one has read the
//! simulator; `"120ns"` means something to everybody. So configuration holds
//! [`Duration`], [`Frequency`] and [`Bytes`], and each of them is written as a
//! decimal number directly followed by a unit:
//!
//! ```
//! use narthex_kernel::{Bytes, Duration, Frequency};
//!
//! let latency: Duration = "1.5us".parse()?;
//! let clock: Frequency = "250MHz".parse()?;
//! let line: Bytes = "64B".parse()?;
//! assert_eq!(latency, Duration::from_ns(1_500));
//! assert_eq!(clock.period(), Duration::from_ns(4));
//! assert_eq!(line.as_u64(), 64);
//! # Ok::<(), narthex_kernel::QuantityError>(())
//! ```
//!
//! Inside, each is a whole number of its smallest unit (picoseconds, hertz,
//! bytes): reading is exact, with integers only, and a value that is not whole
//! or does not fit is refused, never rounded. What is printed reads back as the
//! same value. The one place that rounds is [`Frequency::period`].
//!
//! A [`Family`] is the table of units of one kind of quantity; everything else
//! in this file is behaviour that all families share.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::{Clock, Duration};

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

/// The units of time.
pub const TIME_UNITS: &[Unit] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
];

const FREQUENCY_UNITS: &[Unit] = &[
    ("Hz", 1),
    ("kHz", 1_000),
    ("MHz", 1_000_000),
    ("GHz", 1_000_000_000),
];

/// Binary sizes and, for what is sold in powers of ten, decimal ones.
const BYTE_UNITS: &[Unit] = &[
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

static TIME: Family = Family {
    name: "a time",
    example: "120ns",
    smallest: "picoseconds",
    units: TIME_UNITS,
};
static FREQUENCY: Family = Family {
    name: "a frequency",
    example: "250MHz",
    smallest: "hertz",
    units: FREQUENCY_UNITS,
};
static BYTES: Family = Family {
    name: "a size",
    example: "64KiB",
    smallest: "bytes",
    units: BYTE_UNITS,
};

impl fmt::Display for Family {
    /// What is allowed, to complete an error message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: Vec<&str> = self.units.iter().map(|unit| unit.0).collect();
        write!(
            f,
            "{} such as {}; units: {}",
            self.name,
            self.example,
            units.join(", ")
        )
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
    fn error(&'static self, value: &str, flaw: Flaw) -> QuantityError {
        let nearest = match flaw {
            Flaw::UnknownUnit => self.nearest_unit(split(value).1),
            _ => None,
        };
        QuantityError {
            value: value.to_owned(),
            flaw,
            nearest,
            family: self,
        }
    }

    /// Reads a number and a unit as a whole number of the smallest unit.
    fn parse(&'static self, text: &str) -> Result<u64, QuantityError> {
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
    fn nearest_unit(&self, wrong: &str) -> Option<&'static str> {
        let wrong = wrong.to_lowercase();
        let slips = |unit: &str| strsim::damerau_levenshtein(&wrong, &unit.to_lowercase());
        let units = || self.units.iter().map(|unit| unit.0);
        let closest = units().min_by_key(|unit| (slips(unit), usize::MAX - unit.len()));
        closest.filter(|unit| slips(unit) <= 1).or_else(|| {
            units()
                .rev()
                .find(|unit| wrong.starts_with(&unit.to_lowercase()))
        })
    }

    /// The schema of a value of this family, for editors.
    fn schema(&self) -> Schema {
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
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
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
        Some((_, fraction)) if fraction.is_empty() => return Err(ScaleError::NoNumber),
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
        if product % 10 != 0 {
            return None;
        }
        carry = product / 10;
    }
    Some(carry)
}

/// `value` in the largest unit of which there is at least one, exactly.
pub(crate) fn in_largest_unit(value: u64, units: &[Unit]) -> String {
    let fits = |unit: &&Unit| value >= unit.1;
    let &(name, size) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    let digits = size.ilog10() as usize;
    let decimals = format!("{:0digits$}", value % size);
    match decimals.trim_end_matches('0') {
        "" => format!("{}{name}", value / size),
        decimals => format!("{}.{decimals}{name}", value / size),
    }
}

/// A number of cycles a second, from 1Hz to 1000GHz: what fits whole hertz and
/// has a period of at least a picosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(u64);

const HIGHEST_HZ: u64 = 1_000_000_000_000;

impl Frequency {
    /// A frequency in hertz, unless it is zero or above 1000GHz.
    pub fn from_hz(hertz: u64) -> Option<Self> {
        (1..=HIGHEST_HZ)
            .contains(&hertz)
            .then_some(Frequency(hertz))
    }

    /// Cycles a second.
    pub const fn as_hz(self) -> u64 {
        self.0
    }

    /// The time of one cycle, rounded to the nearest picosecond: "333MHz" has
    /// a period of 3003ps.
    pub const fn period(self) -> Duration {
        Duration::from_ps((HIGHEST_HZ + self.0 / 2) / self.0)
    }

    /// A clock with this frequency's (rounded) period.
    pub fn clock(self) -> Clock {
        Clock::with_period(self.period())
    }
}

/// A number of bytes: the size of a line, a cache, a memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Bytes(count)
    }

    /// How many bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How many bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

impl FromStr for Duration {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        TIME.parse(text).map(Duration::from_ps)
    }
}

impl FromStr for Frequency {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let hertz = FREQUENCY.parse(text)?;
        Frequency::from_hz(hertz).ok_or_else(|| FREQUENCY.error(text, Flaw::OutOfRange))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BYTES.parse(text).map(Bytes)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_largest_unit(self.0, FREQUENCY_UNITS))
    }
}

impl fmt::Display for Bytes {
    /// In the largest binary unit of which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |unit: &&Unit| unit.1.is_power_of_two() && self.0 % unit.1 == 0;
        match BYTE_UNITS.iter().rev().find(divides) {
            Some((name, size)) if self.0 > 0 => write!(f, "{}{name}", self.0 / size),
            _ => write!(f, "{}B", self.0),
        }
    }
}

impl fmt::Debug for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Reads a string with `FromStr`; a bare number is told that it has no unit.
struct QuantityVisitor<T> {
    family: &'static Family,
    value: std::marker::PhantomData<T>,
}

impl<T: FromStr<Err = QuantityError>> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, as a string", self.family)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        Err(E::custom(
            self.family.error(&number.to_string(), Flaw::NoUnit),
        ))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        Err(E::custom(
            self.family.error(&number.to_string(), Flaw::NoUnit),
        ))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        Err(E::custom(
            self.family.error(&number.to_string(), Flaw::NoUnit),
        ))
    }
}

/// Makes a type a string in files and schemas.
macro_rules! written_as_string {
    ($type:ident, $family:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = std::marker::PhantomData;
                deserializer.deserialize_any(QuantityVisitor {
                    family: &$family,
                    value,
                })
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $family.schema()
            }
        }
    };
}

written_as_string!(Duration, TIME);
written_as_string!(Frequency, FREQUENCY);
written_as_string!(Bytes, BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error<T: FromStr<Err = QuantityError> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn people_may_write_fractions_as_long_as_the_value_is_whole() {
        assert_eq!("40ps".parse(), Ok(Duration::from_ps(40)));
        assert_eq!("1.5us".parse(), Ok(Duration::from_ns(1_500)));
        assert_eq!(" 2 ms ".parse(), Ok(Duration::from_ns(2_000_000)));
        assert_eq!("1.50KiB".parse(), Ok(Bytes::new(1_536)));
        assert_eq!("1KB".parse(), Ok(Bytes::new(1_000)));
        assert_eq!(
            "0.000000000931322574615478515625GiB".parse(),
            Ok(Bytes::new(1))
        );
        assert_eq!(
            "0.2ps".parse::<Duration>().unwrap_err().flaw,
            Flaw::NotWhole("picoseconds")
        );
        let endless = format!("1.{}s", "3".repeat(100));
        assert_eq!(
            endless.parse::<Duration>().unwrap_err().flaw,
            Flaw::NotWhole("picoseconds")
        );
    }

    #[test]
    fn a_period_is_rounded_to_the_nearest_picosecond() {
        let period = |text: &str| text.parse::<Frequency>().unwrap().period().as_ps();
        assert_eq!(period("250MHz"), 4_000);
        assert_eq!(period("333MHz"), 3_003);
        assert_eq!(period("35MHz"), 28_571);
        assert_eq!(period("66.666667MHz"), 15_000);
        assert_eq!(period("1000GHz"), 1);
        assert_eq!(period("1Hz"), 1_000_000_000_000);
    }

    #[test]
    fn an_error_names_the_value_what_is_allowed_and_the_nearest_unit() {
        assert_eq!(
            error::<Duration>("120sn"),
            "\"120sn\" has an unknown unit; expected a time such as 120ns; \
             units: ps, ns, us, ms, s (did you mean ns?)"
        );
        assert_eq!(
            error::<Bytes>("64"),
            "\"64\" has no unit; expected a size such as 64KiB; \
             units: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB"
        );
        let nearest = |unit| FREQUENCY.nearest_unit(unit).or(TIME.nearest_unit(unit));
        assert_eq!(nearest("mhz"), Some("MHz"));
        assert_eq!(nearest("nsec"), Some("ns"));
        assert_eq!(nearest("bananas"), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(
            "99999999s".parse::<Duration>().unwrap_err().flaw,
            Flaw::TooLarge
        );
        assert_eq!(
            "18446744073709551616B".parse::<Bytes>().unwrap_err().flaw,
            Flaw::TooLarge
        );
        assert_eq!("18446744073709551615B".parse(), Ok(Bytes::new(u64::MAX)));
        assert_eq!(
            "18446744.073709551616s"
                .parse::<Duration>()
                .unwrap_err()
                .flaw,
            Flaw::TooLarge
        );
        assert_eq!(
            "0Hz".parse::<Frequency>().unwrap_err().flaw,
            Flaw::OutOfRange
        );
        assert_eq!(
            "1001GHz".parse::<Frequency>().unwrap_err().flaw,
            Flaw::OutOfRange
        );
    }

    #[test]
    fn a_bare_number_in_a_file_is_told_to_have_a_unit() {
        let error = serde_json::from_str::<Duration>("120")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("\"120\" has no unit; expected a time such as 120ns"),
            "{error}"
        );
        let error = serde_json::from_str::<Duration>("true")
            .unwrap_err()
            .to_string();
        assert!(error.contains("expected a time such as 120ns"), "{error}");
    }

    #[test]
    fn the_schema_states_units_for_editors() {
        let schema = schemars::schema_for!(Frequency);
        assert_eq!(schema.get("type").unwrap(), "string");
        assert!(
            schema
                .get("pattern")
                .unwrap()
                .as_str()
                .unwrap()
                .contains("(Hz|kHz|MHz|GHz)")
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let duration = Duration::from_ps(value);
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
            let bytes = Bytes::new(value);
            prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
            if let Some(frequency) = Frequency::from_hz(value) {
                prop_assert_eq!(frequency.to_string().parse(), Ok(frequency));
            }
            let json = serde_json::to_string(&duration).unwrap();
            prop_assert_eq!(serde_json::from_str::<Duration>(&json).unwrap(), duration);
        }

        #[test]
        fn garbage_is_an_error_and_never_a_panic(text in ".{0,40}", near in "[0-9.]{0,30}[a-zA-Zµ]{0,4}") {
            for text in [&text, &near] {
                let _ = (text.parse::<Duration>(), text.parse::<Frequency>(), text.parse::<Bytes>());
            }
        }
    }
}
