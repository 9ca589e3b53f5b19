//! The notation in which both studies name their interfaces (isca96, Section 3;
//! hpca98, Section 4): a help to the models that have names in it.
//!
//! ```text
//!   CNI 512 Q            NI 2 w            CNI 32 Qm + Throttle
//!   │   │   │            │  │ │
//!   │   │   └ queue      │  │ └ the size counts 4-byte words, not blocks
//!   │   └ exposed size   │  └ exposed size
//!   └ coherent           └ not coherent
//! ```
//!
//! The size is the part of the interface's queue that the processor sees. `Q`
//! says that this part is a memory queue with explicit head and tail pointers;
//! `Qm` that its home is main memory rather than the interface. `+Udma`,
//! `+Blkbuf` and `+Throttle` are the additions of the 1998 study. Case does not
//! matter; any size parses. [`crate::name`] joins halves to whole interfaces.

use std::fmt;

use crate::name::Reading;

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

/// The name of a half.
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

impl Simple {
    /// Whether it is a FIFO whose size counts words, whatever is added to it.
    pub fn is_fifo(&self) -> bool {
        !self.coherent && self.words
    }
}

/// Why additions to FIFOs are none to coherent interfaces.
pub const NOT_FOR_COHERENT: &str = "a coherent interface moves cache blocks between itself and the processor already; \
     +Udma and +Blkbuf are added to FIFOs, NI_i w (hpca98, Table 2)";

/// What names look like, for a text that is nearly one.
const NOTATION: &str = "A name is NI or CNI, a size, 'w' if the size counts words, Q or Qm for a queue with pointers, \
     and +Udma, +Blkbuf or +Throttle; or (A)S(B)R. Examples: NI2w, CNI512Q, CNI32Qm, (NI16w+Blkbuf)S(CNI0Qm)R";

/// What a model with names of this notation makes of a text. `form` answers for a
/// name with how it is printed, none if it is another model's, or why there can
/// be no such half.
pub fn read(text: &str, form: impl FnOnce(&Simple) -> Result<Option<&'static str>, &'static str>) -> Reading {
    match parse(text) {
        Ok(name) => match form(&name) {
            Ok(Some(form)) => Reading::Half { form, size: name.size },
            Ok(None) => Reading::Foreign,
            Err(reason) => Reading::Refused { name: name.to_string(), reason },
        },
        Err(Some(problem)) => Reading::NearMiss(format!("{problem}. {NOTATION}")),
        Err(None) => Reading::Foreign,
    }
}

/// A name; else what is wrong with it, unless it is none of this notation at all.
fn parse(name: &str) -> Result<Simple, Option<String>> {
    let lower = name.to_ascii_lowercase();
    let (coherent, rest) = match (lower.strip_prefix("cni"), lower.strip_prefix("ni")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return Err(None),
    };
    let (base, addition) = match rest.split_once('+') {
        None => (rest, None),
        Some((base, addition)) => (base, Some(parse_addition(addition)?)),
    };
    let digits = base.find(|c: char| !c.is_ascii_digit()).unwrap_or(base.len());
    if digits == 0 {
        return Err(Some("a size has to follow NI or CNI".into()));
    }
    let size =
        base[..digits].parse().map_err(|_| Some(format!("the size {} is too large", &base[..digits])))?;
    let (words, queue) = match &base[digits..] {
        "" => (false, Queue::None),
        "w" => (true, Queue::None),
        "q" => (false, Queue::Device),
        "qm" => (false, Queue::Memory),
        other => return Err(Some(format!("'{other}' after the size is none of w, Q and Qm"))),
    };
    Ok(Simple { coherent, size, words, queue, addition })
}

fn parse_addition(text: &str) -> Result<Addition, Option<String>> {
    ADDITIONS
        .iter()
        .find(|(_, name)| name.eq_ignore_ascii_case(text))
        .map(|&(addition, _)| addition)
        .ok_or_else(|| Some(format!("'+{text}' is none of +Udma, +Blkbuf and +Throttle")))
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
