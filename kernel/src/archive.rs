//! Archives: a simulation's whole state as bytes, and back.
//!
//! One verb serves both directions, so that saving and restoring cannot drift
//! apart: [`Archived::archive`] hands each part of the state to an [`Archive`],
//! which writes it down or replaces it by what was written.
//!
//! ```text
//!   saving      state ──► archive(&mut Saving) ─────► bytes
//!   restoring   bytes ──► archive(&mut Restoring) ──► state of one built anew
//! ```
//!
//! **Plain data** derives serde's `Serialize` and `Deserialize` and is
//! [`Archived`] by that. Its bytes are postcard's: fields in the order of their
//! declaration, nothing about their names.
//!
//! **What shares or refers** (the program's code, a protocol's table) and what
//! stands behind a trait is built anew from the configuration and filled in
//! place. It takes itself apart without `..`, so that a field which is forgotten
//! is an error of the compiler:
//!
//! ```
//! use std::sync::Arc;
//! use narthex_kernel::archive::{Archive, Archived, Damage};
//!
//! struct Counter { table: Arc<[u64]>, count: u64, marks: Vec<u64> }
//!
//! impl Archived for Counter {
//!     fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
//!         let Counter { table: _, count, marks } = self;
//!         archive.value(count)?;
//!         archive.value(marks)
//!     }
//! }
//!
//! let fresh = || Counter { table: [1, 2].into(), count: 0, marks: Vec::new() };
//! let mut counter = Counter { count: 7, marks: vec![3, 4], ..fresh() };
//! let bytes = Archive::save(&mut counter)?;
//! let mut other = fresh();
//! Archive::restore(&bytes, &mut other)?;
//! assert_eq!((other.count, other.marks), (7, vec![3, 4]));
//! # Ok::<(), Damage>(())
//! ```
//!
//! The same state gives the same bytes, so they also tell whether two
//! simulations are in the same state.
//!
//! **What is read is not believed.** Bytes that were not written by a simulation
//! may say anything. Plain data on whose lengths, indices or sums code relies is
//! [`checked_when_read!`](crate::checked_when_read); what must fit to something
//! else is checked where both are known, by [`Archive::ensure`].

use std::io::{self, Write};

pub use serde::de::Error as DeserializeError;
pub use serde::{Deserialize, Deserializer, Serialize, Serializer};

use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why bytes are not the state that they should be.
#[derive(Debug, Error)]
pub enum Damage {
    /// The archive cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// A value cannot be read.
    #[error("a value cannot be read: {0}")]
    Value(#[from] postcard::Error),
    /// There are more or fewer of something than the machine has.
    #[error("it has {saved} of what the machine has {built} of")]
    Count {
        /// In the archive.
        saved: usize,
        /// In what was built.
        built: usize,
    },
    /// Parts of the state do not fit to each other, or to the machine.
    #[error("{0}")]
    Contradiction(&'static str),
    /// The archive goes on behind the state's end.
    #[error("{0} bytes are left over")]
    LeftOver(usize),
}

/// State that is saved and restored in place.
pub trait Archived {
    /// Hands every part of the state to `archive`, which saves or replaces it.
    ///
    /// # Errors
    /// If the archive holds something else. The state is of no use then.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage>;
}

impl<T: Serialize + DeserializeOwned> Archived for T {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        archive.value(self)
    }
}

/// Bytes that a state is written to, or read from.
pub struct Archive<'a>(Direction<'a>);

enum Direction<'a> {
    Saving {
        writer: &'a mut dyn Write,
        /// One value's bytes.
        value: Vec<u8>,
    },
    Restoring(&'a [u8]),
}

impl Archive<'_> {
    /// Writes a state's bytes. It stays as it is.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(state: &mut (impl Archived + ?Sized), writer: &mut dyn Write) -> Result<(), Damage> {
        state.archive(&mut Archive(Direction::Saving { writer, value: Vec::new() }))
    }

    /// The bytes of a state.
    ///
    /// # Errors
    /// Only if a part cannot be written at all.
    pub fn save(state: &mut (impl Archived + ?Sized)) -> Result<Vec<u8>, Damage> {
        let mut bytes = Vec::new();
        Archive::write(state, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills in a state from its bytes, all of them.
    ///
    /// # Errors
    /// If they are not those of such a state.
    pub fn restore(bytes: &[u8], state: &mut (impl Archived + ?Sized)) -> Result<(), Damage> {
        let mut archive = Archive(Direction::Restoring(bytes));
        state.archive(&mut archive)?;
        match archive.0 {
            Direction::Restoring([]) => Ok(()),
            Direction::Restoring(rest) => Err(Damage::LeftOver(rest.len())),
            Direction::Saving { .. } => unreachable!("an archive keeps its direction"),
        }
    }

    /// Saves plain data, or replaces it.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Result<(), Damage> {
        match &mut self.0 {
            Direction::Saving { writer, value: bytes } => {
                bytes.clear();
                *bytes = postcard::to_extend(value, std::mem::take(bytes))?;
                writer.write_all(bytes)?;
            }
            Direction::Restoring(bytes) => (*value, *bytes) = postcard::take_from_bytes(bytes)?,
        }
        Ok(())
    }

    /// Saves or replaces this many bytes, as they are.
    ///
    /// # Errors
    /// If the archive has fewer.
    pub fn bytes(&mut self, bytes: &mut [u8]) -> Result<(), Damage> {
        match &mut self.0 {
            Direction::Saving { writer, .. } => writer.write_all(bytes)?,
            Direction::Restoring(saved) => {
                let end = postcard::Error::DeserializeUnexpectedEnd;
                let (taken, rest) = saved.split_at_checked(bytes.len()).ok_or(end)?;
                bytes.copy_from_slice(taken);
                *saved = rest;
            }
        }
        Ok(())
    }

    /// Refuses a state in which something does not hold that has to: parts that do
    /// not fit to each other, or to the machine that was built.
    ///
    /// # Errors
    /// If it does not hold, with `what` is wrong.
    pub fn ensure(&self, holds: bool, what: &'static str) -> Result<(), Damage> {
        if holds { Ok(()) } else { Err(Damage::Contradiction(what)) }
    }

    /// Saves or fills in each of the things of which a machine has a fixed number.
    ///
    /// # Errors
    /// If the archive has another number of them, or as they have.
    pub fn each<'t, T: Archived + 't>(
        &mut self,
        items: impl IntoIterator<Item = &'t mut T, IntoIter: ExactSizeIterator>,
    ) -> Result<(), Damage> {
        let mut items = items.into_iter();
        let built = items.len();
        let mut saved = built;
        self.value(&mut saved)?;
        if saved != built {
            return Err(Damage::Count { saved, built });
        }
        items.try_for_each(|item| item.archive(self))
    }
}

/// Serde for plain data that derives it with `#[serde(remote = "Self")]`: what is
/// read must satisfy its `is_sound`, else it is no such value.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// #[serde(remote = "Self")]
/// struct Part { whole: Vec<u64>, position: usize }
///
/// impl Part {
///     fn is_sound(&self) -> bool { self.position < self.whole.len() }
/// }
///
/// narthex_kernel::checked_when_read!(Part);
/// assert!(serde_json::from_str::<Part>(r#"{ "whole": [1, 2], "position": 1 }"#).is_ok());
/// assert!(serde_json::from_str::<Part>(r#"{ "whole": [1, 2], "position": 2 }"#).is_err());
/// ```
#[macro_export]
macro_rules! checked_when_read {
    ($type:ty $(, $generic:ident: $bound:path)?) => {
        impl$(<$generic: $bound>)? $crate::archive::Serialize for $type {
            fn serialize<S: $crate::archive::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$type>::serialize(self, serializer)
            }
        }

        impl<'de $(, $generic: $bound)?> $crate::archive::Deserialize<'de> for $type {
            fn deserialize<D: $crate::archive::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = <$type>::deserialize(deserializer)?;
                let problem = || <D::Error as $crate::archive::DeserializeError>::custom("it contradicts itself");
                if read.is_sound() { Ok(read) } else { Err(problem()) }
            }
        }
    };
}

/// For fields that are arrays of any length, which serde has up to 32 only:
/// `#[serde(with = "narthex_kernel::archive::array")]`.
pub mod array {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the elements and how many there are.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T, S, const LENGTH: usize>(array: &[T; LENGTH], serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Serialize,
        S: Serializer,
    {
        array.as_slice().serialize(serializer)
    }

    /// Reads as many elements as the array has.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn deserialize<'de, T, D, const LENGTH: usize>(deserializer: D) -> Result<[T; LENGTH], D::Error>
    where
        T: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let elements = Vec::deserialize(deserializer)?;
        elements.try_into().map_err(|elements: Vec<T>| {
            D::Error::invalid_length(elements.len(), &format!("{LENGTH} elements").as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    struct Plain {
        name: String,
        #[serde(with = "array")]
        words: [u64; 40],
        maybe: Option<i16>,
    }

    fn plain() -> Plain {
        Plain { name: "bus".into(), words: std::array::from_fn(|word| word as u64), maybe: Some(-3) }
    }

    #[test]
    fn plain_data_comes_back_as_it_was() {
        let bytes = Archive::save(&mut plain()).unwrap();
        let mut other = Plain { name: String::new(), words: [0; 40], maybe: None };
        Archive::restore(&bytes, &mut other).unwrap();
        assert_eq!(other, plain());
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_damaged() {
        let mut bytes = Archive::save(&mut plain()).unwrap();
        for length in 0..bytes.len() {
            assert!(Archive::restore(&bytes[..length], &mut plain()).is_err(), "{length} bytes");
        }
        bytes.push(0);
        assert!(matches!(Archive::restore(&bytes, &mut plain()), Err(Damage::LeftOver(1))));
    }

    #[test]
    fn another_number_of_parts_is_damage() {
        struct Parts(Vec<u64>);
        impl Archived for Parts {
            fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
                archive.each(&mut self.0)
            }
        }
        let bytes = Archive::save(&mut Parts(vec![1, 2])).unwrap();
        let damage = Archive::restore(&bytes, &mut Parts(vec![0; 3]));
        assert!(matches!(damage, Err(Damage::Count { saved: 2, built: 3 })));
    }
}
