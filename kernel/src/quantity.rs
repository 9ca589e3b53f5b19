//! Quantities with units, as people write them in configuration files.
//!
//! A bare `120` in a machine's file means nothing until one has read the
//! simulator; `"120ns"` means the same to every reader. So configuration holds
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
//! assert_eq!(clock.clock().cycles(1), Duration::from_ns(4));
//! assert_eq!(line.as_u64(), 64);
//! # Ok::<(), narthex_kernel::QuantityError>(())
//! ```
//!
//! Inside, each is a whole number of its smallest unit (picoseconds, hertz,
//! bytes): reading is exact, with integers only, and a value that is not whole
//! or does not fit is refused, never rounded. What is printed reads back as the
//! same value.
//!
//! Here are the tables of units and the types; `quantity/family.rs` has the
//! behaviour that all of them share.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::{Clock, Duration};
use family::{Family, Unit};

pub(crate) use family::in_largest_unit;
pub use family::{Flaw, QuantityError};

mod family;

/// The units of time.
pub(crate) const TIME_UNITS: &[Unit] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

const FREQUENCY_UNITS: &[Unit] = &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];

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

static TIME: Family = Family { name: "a time", example: "120ns", smallest: "picoseconds", units: TIME_UNITS };
static FREQUENCY: Family =
    Family { name: "a frequency", example: "250MHz", smallest: "hertz", units: FREQUENCY_UNITS };
static BYTES: Family = Family { name: "a size", example: "64KiB", smallest: "bytes", units: BYTE_UNITS };

/// A number of cycles a second, from 1Hz to 1000GHz: what fits whole hertz and
/// has a period of at least a picosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(u64);

const PICOSECONDS_IN_A_SECOND: u64 = 1_000_000_000_000;

impl Frequency {
    /// Of which a period is one picosecond.
    pub const HIGHEST: Frequency = Frequency(PICOSECONDS_IN_A_SECOND);

    /// A frequency in hertz, unless it is zero or above 1000GHz.
    pub fn from_hz(hertz: u64) -> Option<Self> {
        (1..=Self::HIGHEST.0).contains(&hertz).then_some(Frequency(hertz))
    }

    /// Cycles a second.
    pub const fn as_hz(self) -> u64 {
        self.0
    }

    /// A clock that has exactly this frequency.
    pub fn clock(self) -> Clock {
        Clock::with_cycles_in(self.0, Duration::from_ps(PICOSECONDS_IN_A_SECOND))
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
        let divides = |unit: &&Unit| unit.1.is_power_of_two() && self.0.is_multiple_of(unit.1);
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
        Err(E::custom(self.family.error(&number.to_string(), Flaw::NoUnit)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        Err(E::custom(self.family.error(&number.to_string(), Flaw::NoUnit)))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        Err(E::custom(self.family.error(&number.to_string(), Flaw::NoUnit)))
    }
}

/// Makes a type a string in files and schemas, and a number in archives.
macro_rules! written_as_string {
    ($type:ident, $family:expr, $number:path, $from_number:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() {
                    true => serializer.collect_str(self),
                    false => serializer.serialize_u64($number(*self)),
                }
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return u64::deserialize(deserializer).map($from_number);
                }
                let value = std::marker::PhantomData;
                deserializer.deserialize_any(QuantityVisitor { family: &$family, value })
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

written_as_string!(Duration, TIME, Duration::as_ps, Duration::from_ps);
written_as_string!(Frequency, FREQUENCY, Frequency::as_hz, Frequency);
written_as_string!(Bytes, BYTES, Bytes::as_u64, Bytes);

#[cfg(test)]
mod tests;
