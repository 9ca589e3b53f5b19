//! The names of network interfaces, as users write them.
//!
//! ```text
//!   CNI32Qm                     a half that sends, and a half that receives, of that name
//!   (NI16w+Blkbuf)S(CNI0Qm)R    sends like NI16w+Blkbuf, receives like CNI0Qm
//! ```
//!
//! A name is open: every model reads the names of its own halves ([`Model::read`])
//! and says what it thinks of a text that is nearly one. Here the models are only
//! asked, one after the other, and halves are joined. Case does not matter; a name
//! prints as its model writes it.

use std::fmt;
use std::str::FromStr;

use strsim::damerau_levenshtein;
use thiserror::Error;

use crate::models::{MODELS, Model, sarc};
use crate::programming::Requirement;

/// What a model makes of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reading {
    /// It is the name of a half of this model.
    Half {
        /// How the name is printed, `{}` where its size stands, if it has one.
        form: &'static str,
        /// Its size, in what the model counts; 0 if it has none.
        size: u32,
    },
    /// It is well-formed, and there can be no such half.
    Refused {
        /// The name as it would be printed.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// It is nearly a name of this model: what is wrong, and what names look like.
    NearMiss(String),
    /// It has nothing to do with this model.
    Foreign,
}

impl Reading {
    /// Whether the text is this name, of a model whose halves have one name only.
    pub fn exactly(text: &str, name: &'static str) -> Self {
        match text.eq_ignore_ascii_case(name) {
            true => Reading::Half { form: name, size: 0 },
            false => Reading::Foreign,
        }
    }
}

/// The name of half an interface, or of a whole device, as its model has read it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HalfName {
    /// The model.
    pub model: &'static Model,
    /// How it is printed, `{}` where the size stands; tells a model's variants apart.
    pub form: &'static str,
    /// Its size, in what the model counts; 0 if it has none.
    pub size: u32,
}

impl HalfName {
    /// The same name with another size; none if that is no name of the model.
    pub fn with_size(self, size: u32) -> Option<Self> {
        let other: HalfName = HalfName { size, ..self }.to_string().parse().ok()?;
        (other.model == self.model && other.form == self.form).then_some(other)
    }
}

/// The name of an interface: its send half and its receive half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    /// How it sends.
    pub send: HalfName,
    /// How it receives.
    pub receive: HalfName,
}

impl Name {
    /// Whether it is SARC's, which has a part in each tile and no halves.
    pub fn is_sarc(&self) -> bool {
        self.send.model.section == sarc::MODEL.section
    }

    /// Whether one of the halves takes this.
    pub fn requires(&self, requirement: Requirement) -> bool {
        [self.send, self.receive]
            .iter()
            .any(|half| half.model.programming.requirements.contains(&requirement))
    }
}

/// A text that names no interface.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NameError {
    /// It is nearly a name.
    #[error("'{name}' is not the name of a network interface: {problem}")]
    NearMiss {
        /// The text.
        name: String,
        /// What is wrong with it, and what names look like.
        problem: String,
    },
    /// No model knows it.
    #[error(
        "'{name}' is not the name of a network interface; {nearest} ('narthex list interfaces' shows all)"
    )]
    Unknown {
        /// The text.
        name: String,
        /// The nearest existing names, as a question, or some of those that there are.
        nearest: String,
    },
    /// A model knows why there can be no such half.
    #[error("there can be no '{name}': {reason}")]
    Refused {
        /// The half.
        name: String,
        /// Why not.
        reason: &'static str,
    },
}

/// How many letters of a name that is asked about may be wrong.
const MOST_MISTAKES: usize = 3;
/// How many names are told to one that is like none.
const MOST_NAMES: usize = 5;

impl NameError {
    fn unknown(name: &str) -> Self {
        let distance = |example: &&str| damerau_levenshtein(&example.to_lowercase(), &name.to_lowercase());
        let examples = || MODELS.iter().flat_map(|model| model.examples).copied();
        let least = examples().map(|example| distance(&example)).min().unwrap_or(usize::MAX);
        let nearest: Vec<&str> = examples().filter(|example| distance(example) == least).collect();
        let nearest = match least <= MOST_MISTAKES.min(name.len().saturating_sub(1)) {
            true => format!("did you mean {}?", nearest.join(" or ")),
            false => {
                let mut known: Vec<&str> = MODELS.iter().map(|model| model.examples[0]).collect();
                known.sort_by_key(distance);
                format!("there are {} and others", known[..MOST_NAMES.min(known.len())].join(", "))
            }
        };
        NameError::Unknown { name: name.into(), nearest }
    }

    /// The same error about a composed name, of which a half is wrong.
    fn within(self, whole: &str) -> Self {
        match self {
            NameError::NearMiss { problem, .. } => NameError::NearMiss { name: whole.into(), problem },
            other => other,
        }
    }
}

impl FromStr for HalfName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (mut refused, mut near_misses) = (None, Vec::new());
        for &model in MODELS {
            match (model.read)(text) {
                Reading::Half { form, size } => return Ok(HalfName { model, form, size }),
                Reading::Refused { name, reason } => {
                    refused.get_or_insert(NameError::Refused { name, reason });
                }
                Reading::NearMiss(problem) if near_misses.contains(&problem) => {}
                Reading::NearMiss(problem) => near_misses.push(problem),
                Reading::Foreign => {}
            }
        }
        Err(match (refused, near_misses.is_empty()) {
            (Some(refused), _) => refused,
            (None, true) => NameError::unknown(text),
            (None, false) => NameError::NearMiss { name: text.into(), problem: near_misses.join("; or ") },
        })
    }
}

/// Why a whole device is no half of a composed name.
const ONE_DEVICE: &str = "what stands in it is one device, whose two directions share its memory and its \
     firmware: it has no halves to be combined with those of others";

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        if !text.starts_with('(') {
            let half = text.parse()?;
            return Ok(Name { send: half, receive: half });
        }
        let problem = |missing: &str| NameError::NearMiss {
            name: text.into(),
            problem: format!("a composed name is (A)S(B)R, such as (NI16w+Blkbuf)S(CNI0Qm)R, and {missing}"),
        };
        let lower = text.to_ascii_lowercase();
        let middle = lower.find(")s(").ok_or_else(|| problem("')S(' is missing"))?;
        if !lower.ends_with(")r") || middle + 3 > text.len() - 2 {
            return Err(problem("')R' is missing at its end"));
        }
        let half = |half: &str| -> Result<HalfName, NameError> {
            let half: HalfName = half.parse().map_err(|error: NameError| error.within(text))?;
            match half.model.makes_devices() {
                false => Ok(half),
                true => Err(NameError::Refused { name: text.into(), reason: ONE_DEVICE }),
            }
        };
        Ok(Name { send: half(&text[1..middle])?, receive: half(&text[middle + 3..text.len() - 2])? })
    }
}

impl fmt::Display for HalfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form.split_once("{}") {
            Some((before, behind)) => write!(f, "{before}{}{behind}", self.size),
            None => f.write_str(self.form),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.send == self.receive {
            write!(f, "{}", self.send)
        } else {
            write!(f, "({})S({})R", self.send, self.receive)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    #[test]
    fn every_name_of_both_papers_parses_and_prints_the_same() {
        for text in [
            "NI2w",
            "CNI4",
            "CNI16Q",
            "CNI512Q",
            "CNI16Qm",
            "NI64w+Udma",
            "NI16w+Blkbuf",
            "CNI0Qm",
            "(NI16w+Blkbuf)S(CNI0Qm)R",
            "CNI32Qm",
            "CNI32Qm+Throttle",
        ] {
            assert_eq!(name(text).to_string(), text);
            assert_eq!(name(&text.to_uppercase()), name(&text.to_lowercase()));
        }
    }

    #[test]
    fn every_example_is_a_name_of_its_own_model_and_of_no_other() {
        for model in MODELS {
            for example in model.examples {
                let is_read = |model: &&&Model| matches!((model.read)(example), Reading::Half { .. });
                let readers: Vec<&str> = MODELS.iter().filter(is_read).map(|model| model.section).collect();
                assert_eq!(readers, [model.section], "{example}");
            }
        }
    }

    #[test]
    fn a_wrong_name_says_what_is_wrong_with_it() {
        for (text, problem) in [
            ("MNI2w", "; did you mean NI2w?"),
            ("CxlNic3", "; did you mean CxlNic or CxlNic2? ('narthex list interfaces' shows all)"),
            ("Ethernet", " and others ('narthex list interfaces' shows all)"),
            ("CNIQm", "a size has to follow"),
            ("CNI32Qx", "'qx' after the size"),
            ("NI64w+Dma", "'+dma' is none of"),
            ("CNI99999999999Q", "too large"),
            ("(NI2w)S(NI2w)", "')R' is missing"),
            ("(NI2w", "')S(' is missing"),
            ("(NI2w)S(CNIQm)R", "'(NI2w)S(CNIQm)R' is not the name"),
        ] {
            let error = text.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains(text), "{error}");
        }
        let far = "Ethernet".parse::<Name>().unwrap_err().to_string();
        assert!(!far.contains("did you mean"), "{far}");
    }

    #[test]
    fn a_model_may_have_one_name_without_a_size() {
        assert_eq!(Reading::exactly("edt", "EDT"), Reading::Half { form: "EDT", size: 0 });
        assert_eq!(Reading::exactly("EDTs", "EDT"), Reading::Foreign);
    }

    #[test]
    fn a_whole_device_is_no_half_of_a_composed_name() {
        assert_eq!(name("edt").to_string(), "EDT");
        for text in ["(EDT)S(NI2w)R", "(NI2w)S(PIO)R", "(EDT)S(EDT)R"] {
            let error = text.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("no halves to be combined"), "{error}");
        }
    }

    #[test]
    fn a_size_is_changed_within_a_models_names_only() {
        let half = |text: &str| name(text).send;
        assert_eq!(half("CNI32Qm").with_size(4), Some(half("CNI4Qm")));
        assert_eq!(half("CNI32Qm").with_size(0), None, "CNI0Qm is of another model");
        assert_eq!(half("CNI0Qm").with_size(7), Some(half("CNI0Qm")), "its name has no size");
    }

    proptest! {
        #[test]
        fn what_prints_parses_back(model in 0..MODELS.len(), example in 0usize..8, size in 1u32..) {
            let examples = MODELS[model].examples;
            let half = name(examples[example % examples.len()]).send;
            let half = half.with_size(size).unwrap_or(half);
            let other = name("NI2w").send;
            let composed = (!half.model.makes_devices()).then_some(Name { send: half, receive: other });
            for name in [Some(Name { send: half, receive: half }), composed].into_iter().flatten() {
                prop_assert_eq!(name.to_string().parse::<Name>().unwrap(), name);
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = text.parse::<Name>();
        }

        #[test]
        fn nothing_that_looks_like_a_name_makes_it_panic(text in "[(]?[CNIcni]{0,3}[0-9]{0,12}[wQqm]{0,3}[+)(SRé]{0,5}") {
            let _ = text.parse::<Name>();
        }
    }
}
