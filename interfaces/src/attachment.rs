//! Where in a node an interface is attached (isca96, Section 5; hpca98, Section 6.3).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The place of an interface in its node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Attachment {
    /// On the coherent memory bus.
    #[default]
    MemoryBus,
    /// On a coherent I/O bus, behind a bridge.
    IoBus,
    /// On the processor's cache bus.
    CacheBus,
    /// In the processor's registers.
    Register,
}

impl Attachment {
    /// All places, by the names that users write.
    pub const ALL: [(Attachment, &'static str); 4] = [
        (Attachment::MemoryBus, "memory-bus"),
        (Attachment::IoBus, "io-bus"),
        (Attachment::CacheBus, "cache-bus"),
        (Attachment::Register, "register"),
    ];
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) =
            Attachment::ALL.iter().find(|(place, _)| place == self).expect("every place has a name");
        f.write_str(name)
    }
}

/// A place that is none.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("'{0}' is no place for a network interface; there are memory-bus, io-bus, cache-bus and register")]
pub struct AttachmentError(String);

impl FromStr for Attachment {
    type Err = AttachmentError;

    fn from_str(text: &str) -> Result<Self, AttachmentError> {
        let found = Attachment::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text.trim()));
        found.map(|&(place, _)| place).ok_or_else(|| AttachmentError(text.trim().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_parses_from_its_name() {
        for (place, name) in Attachment::ALL {
            assert_eq!(name.parse(), Ok(place));
            assert_eq!(place.to_string(), name);
        }
        assert!("pci".parse::<Attachment>().unwrap_err().to_string().contains("io-bus"));
    }
}
