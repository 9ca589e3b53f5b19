//! Which of an interface's traffic has the attribute of relaxed ordering on a PCIe link.
//!
//! A relaxed write may pass older writes on its way to memory, and the completions of a relaxed read may pass the
//! processor's stores (PCI Express Base Specification 6.0, Section 2.4.1). Real controllers let their drivers choose it by
//! kind of traffic: Intel's 82599 has a bit each for descriptors, for payload, and for what is written back, of which the
//! last has to be strict (82599 datasheet, DCA_RXCTRL and DCA_TXCTRL). Here, too, only payload of which a
//! descriptor or a completion tells may be relaxed: those are strict, and do not pass the payload in front of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::models::Problem;

/// The value of the key `relaxed_ordering`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelaxedOrdering {
    /// Nothing.
    #[default]
    None,
    /// The payload of messages, where a descriptor or a completion tells of it.
    Payload,
}

impl RelaxedOrdering {
    /// Whether it is the default.
    pub fn is_none(&self) -> bool {
        *self == RelaxedOrdering::None
    }

    /// Whether payload is relaxed; `is_known` where the interface is behind a link that knows the attribute.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn of_payload(self, is_known: bool) -> Result<bool, Problem> {
        match self {
            RelaxedOrdering::Payload if !is_known => Problem::refuse(
                "relaxed_ordering",
                "\"payload\" is not allowed: it is an attribute of packets on a PCIe link, and the interface is behind \
                 none; expected \"none\""
                    .to_owned(),
            ),
            _ => Ok(self == RelaxedOrdering::Payload),
        }
    }
}
