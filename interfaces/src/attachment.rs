//! Where in a node an interface is attached (isca96, Section 5; hpca98, Section 6.3).
//!
//! ```text
//!   processor ─── registers ── register
//!       │
//!       ├──────── cache bus ── cache-bus
//!     cache
//!       │
//!   ────┴──┬───── memory bus ─ memory-bus
//!        bridge
//!   ───────┴───── I/O bus ──── io-bus
//! ```
//!
//! A run chooses an interface and its place together: `NI2w on cache-bus`, or
//! `NI2w@cache-bus`. An interface of which no place is said is on the memory bus; one that cannot be
//! there is in the first place of [`Attachment::ALL`] where it can.
//!
//! Hardware may stand in the place of its model ([`crate::rtl`]): `NI2w@rtl`, or a folder, as in
//! `NI2w@./mine on cache-bus`. To the machine it is the same choice; which hardware it is the run's
//! request says.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::name::{Name, NameError};

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

    /// Where an interface is of which no place is said.
    pub fn usual(name: &Name) -> Attachment {
        let allows =
            |place| [name.send, name.receive].iter().all(|half| (half.model.attaches)(place).is_ok());
        let first = Attachment::ALL.iter().find(|&&(place, _)| allows(place));
        first.map_or(Attachment::MemoryBus, |&(place, _)| place)
    }
}

/// The transactions of others of which a coherent interface is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Hearing {
    /// All of them: it snoops a bus.
    #[default]
    All,
    /// Those on blocks that it holds, or of which it is the home: a directory tells it of these.
    Held,
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
#[error(
    "'{place}' is no place for a network interface; there are memory-bus, io-bus, cache-bus and register, and @rtl \
     or @./FOLDER for hardware in a model's place{nearest}"
)]
pub struct AttachmentError {
    place: String,
    /// The nearest place, as a question, or nothing.
    nearest: String,
}

impl AttachmentError {
    fn of(place: &str) -> Self {
        let wanted = place.to_lowercase();
        let names = Attachment::ALL.iter().map(|&(_, name)| name);
        let nearest = names
            .chain(["rtl"])
            .map(|name| (strsim::jaro_winkler(name, &wanted), name))
            .filter(|&(closeness, _)| closeness >= 0.75)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"));
        AttachmentError { place: place.into(), nearest }
    }
}

impl FromStr for Attachment {
    type Err = AttachmentError;

    fn from_str(text: &str) -> Result<Self, AttachmentError> {
        let found = Attachment::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text.trim()));
        found.map(|&(place, _)| place).ok_or_else(|| AttachmentError::of(text.trim()))
    }
}

/// An interface and its place in a node, as a run chooses them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Attached {
    /// Which interface.
    pub name: Name,
    /// Where.
    pub attachment: Attachment,
    /// Whether hardware stands in the place of its model.
    pub is_hardware: bool,
}

/// A choice that is none: its interface or its place is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AttachedError {
    /// No interface has the name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The place does not exist.
    #[error("'{choice}': {problem}")]
    Attachment {
        /// The whole choice.
        choice: String,
        /// What is wrong with its place.
        problem: AttachmentError,
    },
}

impl FromStr for Attached {
    type Err = AttachedError;

    fn from_str(text: &str) -> Result<Self, AttachedError> {
        let (model, named) = hardware(text);
        let is_hardware = named.is_some();
        let Some((name, place)) = split(&model) else {
            let name: Name = model.parse()?;
            return Ok(Attached { name, attachment: Attachment::usual(&name), is_hardware });
        };
        let attachment = place
            .parse()
            .map_err(|problem| AttachedError::Attachment { choice: text.trim().into(), problem })?;
        Ok(Attached { name: name.parse()?, attachment, is_hardware })
    }
}

/// A choice without the hardware that it names, and that hardware: `rtl` or a folder, which has a
/// slash or begins with a dot.
pub fn hardware(text: &str) -> (Cow<'_, str>, Option<&str>) {
    let Some((name, behind)) = text.split_once('@') else { return (text.into(), None) };
    let place = behind.to_ascii_lowercase().rfind(" on ").unwrap_or(behind.len());
    let (hardware, place) = behind.split_at(place);
    let hardware = hardware.trim();
    match hardware.eq_ignore_ascii_case("rtl") || hardware.contains('/') || hardware.starts_with('.') {
        true => (format!("{name}{place}").into(), Some(hardware)),
        false => (text.into(), None),
    }
}

/// The name in front of `@` or of the word `on`, and the place behind it.
fn split(text: &str) -> Option<(&str, &str)> {
    if let Some(parts) = text.split_once('@') {
        return Some(parts);
    }
    let on = text.char_indices().find(|&(start, _)| {
        let word = text.get(start..start + 4);
        word.is_some_and(|word| word.eq_ignore_ascii_case(" on "))
    });
    on.map(|(start, _)| (&text[..start], &text[start + 4..]))
}

impl fmt::Display for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attachment {
            usual if usual == Attachment::usual(&self.name) => write!(f, "{}", self.name),
            elsewhere => write!(f, "{} on {elsewhere}", self.name),
        }
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

    #[test]
    fn an_interface_and_its_place_print_as_they_are_written() {
        assert_eq!("registerfile".parse::<Attached>().unwrap().attachment, Attachment::Register);
        for text in [
            "NI2w",
            "RegisterFile",
            "NI2w on io-bus",
            "(NI16w+Blkbuf)S(CNI0Qm)R on cache-bus",
            "CNI4 on register",
        ] {
            assert_eq!(text.parse::<Attached>().unwrap().to_string(), text);
        }
        for text in ["ni2w@cache-bus", " NI2W  ON  Cache-Bus ", "NI2w @ cache-bus"] {
            assert_eq!(text.parse::<Attached>().unwrap().to_string(), "NI2w on cache-bus");
        }
        assert_eq!("CNI512Q on memory-bus".parse::<Attached>().unwrap().to_string(), "CNI512Q");
    }

    #[test]
    fn hardware_in_a_models_place_is_told_apart_from_a_place() {
        for (text, model, named) in [
            ("NI2w@rtl", "NI2w", Some("rtl")),
            ("NI2w@RTL on io-bus", "NI2w on io-bus", Some("RTL")),
            ("NI2w@./mine on Cache-Bus", "NI2w on cache-bus", Some("./mine")),
            ("NI2w@on on /ni.toml", "NI2w on on on /ni.toml", None),
            ("NI2w@/of/mine", "NI2w", Some("/of/mine")),
            ("NI2w@io-bus", "NI2w on io-bus", None),
        ] {
            assert_eq!(hardware(text).1, named, "{text}");
            if let Ok(attached) = text.parse::<Attached>() {
                assert_eq!((attached.to_string(), attached.is_hardware), (model.into(), named.is_some()));
            }
        }
        let error = "NI2w@rtlx".parse::<Attached>().unwrap_err().to_string();
        assert!(
            error.contains("@rtl or @./FOLDER for hardware in a model's place; did you mean rtl?"),
            "{error}"
        );
    }

    #[test]
    fn a_wrong_choice_says_what_is_wrong_and_what_was_probably_meant() {
        for (text, problem) in [
            ("NI2w on io_bus", "'NI2w on io_bus': 'io_bus' is no place"),
            ("NI2w on io_bus", "did you mean io-bus?"),
            ("NI2w@registers", "did you mean register?"),
            ("NI2w on ", "'' is no place for a network interface; there are memory-bus"),
            ("NIC on io-bus", "'NIC' is not the name of a network interface"),
            ("on io-bus", "'on io-bus' is not the name"),
        ] {
            let error = text.parse::<Attached>().unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        assert!(!"NI2w on pci".parse::<Attached>().unwrap_err().to_string().contains("did you mean"));
    }
}
