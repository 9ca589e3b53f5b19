//! The names of network interfaces (isca96, Section 3; hpca98, Section 4).
//!
//! ```text
//!   CNI 512 Q            NI 2 w            CNI 32 Qm + Throttle
//!   │   │   │            │  │ │            (NI16w+Blkbuf)S(CNI0Qm)R
//!   │   │   └ queue      │  │ └ the size counts 4-byte words, not blocks
//!   │   └ exposed size   │  └ exposed size
//!   └ coherent           └ not coherent
//! ```
//!
//! The size is the part of the interface's queue that the processor sees. `Q`
//! says that this part is a memory queue with explicit head and tail pointers;
//! `Qm` that its home is main memory rather than the interface. `+Udma`,
//! `+Blkbuf` and `+Throttle` are the additions of the 1998 study. `(A)S(B)R`
//! sends like A and receives like B. Case does not matter; any size parses.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How the exposed part of the queue is managed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Queue {
    /// Part or all of one message; no pointers.
    None,
    /// A queue with pointers whose home is the interface.
    Device,
    /// A queue with pointers whose home is main memory.
    Memory,
}

/// What the 1998 study adds to a base interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Addition {
    /// User-level DMA.
    Udma,
    /// Block buffers in the processor.
    Blkbuf,
    /// The sender is held back to the receiver's rate.
    Throttle,
}

const ADDITIONS: [(Addition, &str); 3] =
    [(Addition::Udma, "Udma"), (Addition::Blkbuf, "Blkbuf"), (Addition::Throttle, "Throttle")];

/// An interface that sends and receives alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Simple {
    /// A coherent interface: CNI rather than NI.
    pub coherent: bool,
    /// The exposed size, in blocks or words.
    pub size: u32,
    /// The size counts 4-byte words.
    pub words: bool,
    /// How the exposed part is managed.
    pub queue: Queue,
    /// What is added to it.
    pub addition: Option<Addition>,
}

/// The name of an interface: its send half and its receive half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    /// How it sends.
    pub send: Simple,
    /// How it receives.
    pub receive: Simple,
}

/// A name that is none.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "'{name}' is not the name of a network interface: {problem}. A name is NI or CNI, a size, \
     'w' if the size counts words, Q or Qm for a queue with pointers, and +Udma, +Blkbuf or \
     +Throttle; or (A)S(B)R. Examples: NI2w, CNI512Q, CNI32Qm, (NI16w+Blkbuf)S(CNI0Qm)R"
)]
pub struct NameError {
    name: String,
    problem: String,
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        parse(name.trim()).map_err(|problem| NameError { name: name.trim().into(), problem })
    }
}

fn parse(name: &str) -> Result<Name, String> {
    if !name.starts_with('(') {
        let simple = parse_simple(name)?;
        return Ok(Name { send: simple, receive: simple });
    }
    let lower = name.to_ascii_lowercase();
    let middle = lower.find(")s(").ok_or("a composed name is (A)S(B)R, and ')S(' is missing")?;
    if !lower.ends_with(")r") || middle + 3 > name.len() - 2 {
        return Err("a composed name is (A)S(B)R, and ')R' is missing at its end".into());
    }
    Ok(Name {
        send: parse_simple(&name[1..middle])?,
        receive: parse_simple(&name[middle + 3..name.len() - 2])?,
    })
}

fn parse_simple(name: &str) -> Result<Simple, String> {
    let lower = name.to_ascii_lowercase();
    let (coherent, rest) = match (lower.strip_prefix("cni"), lower.strip_prefix("ni")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return Err("it begins with neither NI nor CNI".into()),
    };
    let (base, addition) = match rest.split_once('+') {
        None => (rest, None),
        Some((base, addition)) => (base, Some(parse_addition(addition)?)),
    };
    let digits = base.find(|c: char| !c.is_ascii_digit()).unwrap_or(base.len());
    if digits == 0 {
        return Err("a size has to follow NI or CNI".into());
    }
    let size = base[..digits].parse().map_err(|_| format!("the size {} is too large", &base[..digits]))?;
    let (words, queue) = match &base[digits..] {
        "" => (false, Queue::None),
        "w" => (true, Queue::None),
        "q" => (false, Queue::Device),
        "qm" => (false, Queue::Memory),
        other => return Err(format!("'{other}' after the size is none of w, Q and Qm")),
    };
    Ok(Simple { coherent, size, words, queue, addition })
}

fn parse_addition(text: &str) -> Result<Addition, String> {
    ADDITIONS
        .iter()
        .find(|(_, name)| name.eq_ignore_ascii_case(text))
        .map(|&(addition, _)| addition)
        .ok_or_else(|| format!("'+{text}' is none of +Udma, +Blkbuf and +Throttle"))
}

impl fmt::Display for Simple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.coherent { "CNI" } else { "NI" };
        let unit = if self.words { "w" } else { "" };
        let queue = match self.queue {
            Queue::None => "",
            Queue::Device => "Q",
            Queue::Memory => "Qm",
        };
        write!(f, "{family}{}{unit}{queue}", self.size)?;
        match ADDITIONS.iter().find(|&&(addition, _)| Some(addition) == self.addition) {
            Some((_, name)) => write!(f, "+{name}"),
            None => Ok(()),
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
            "NI128Q",
        ] {
            assert_eq!(name(text).to_string(), text);
            assert_eq!(name(&text.to_uppercase()), name(&text.to_lowercase()));
        }
    }

    #[test]
    fn a_wrong_name_says_what_is_wrong_with_it() {
        for (text, problem) in [
            ("MNI2w", "neither NI nor CNI"),
            ("CNIQm", "a size has to follow"),
            ("CNI32Qx", "'qx' after the size"),
            ("NI64w+Dma", "'+dma' is none of"),
            ("CNI99999999999Q", "too large"),
            ("(NI2w)S(NI2w)", "')R' is missing"),
            ("(NI2w", "')S(' is missing"),
        ] {
            let error = text.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains(text), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_prints_parses_back(
            coherent: bool, size: u32, words: bool, queue in 0..3, addition in 0usize..4,
        ) {
            let queue = [Queue::None, Queue::Device, Queue::Memory][if words { 0 } else { queue as usize }];
            let addition = ADDITIONS.get(addition).map(|&(addition, _)| addition);
            let simple = Simple { coherent, size, words, queue, addition };
            let other = name("NI2w").send;
            for name in [Name { send: simple, receive: simple }, Name { send: simple, receive: other }] {
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
