//! The rules of the receive engine that can be left out.
//!
//! Every one of them is there because something goes wrong without it. A model
//! checker leaves one out and shows what; nothing else does.

use serde::{Deserialize, Serialize};

/// A rule that the engine follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ProtocolRule {
    /// The valid bit of a deposited message alternates from pass to pass
    /// (isca96, Section 2.2).
    SenseReverse,
    /// A message's first block, which has its valid bit, is deposited last.
    HeaderLast,
    /// The processor's old copy of a block goes before it gets new bytes.
    Invalidation,
    /// Only blocks of consumed messages are replaced in the interface's cache
    /// (hpca98, Section 4).
    DeadMessages,
    /// While an entry is empty, the interface answers a fetch of its first block.
    EmptyEntries,
}

impl ProtocolRule {
    /// Every rule.
    pub const ALL: [ProtocolRule; 5] = [
        ProtocolRule::SenseReverse,
        ProtocolRule::HeaderLast,
        ProtocolRule::Invalidation,
        ProtocolRule::DeadMessages,
        ProtocolRule::EmptyEntries,
    ];

    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            ProtocolRule::SenseReverse => "sense-reverse",
            ProtocolRule::HeaderLast => "header-last",
            ProtocolRule::Invalidation => "invalidation",
            ProtocolRule::DeadMessages => "dead-messages",
            ProtocolRule::EmptyEntries => "empty-entries",
        }
    }
}
