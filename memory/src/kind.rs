//! The kinds of transaction: one table of all that is known of each.
//!
//! | column | what derives from it |
//! | --- | --- |
//! | kind, name | [`Kind`], its name in reports and machine files, the key of its extra cycles |
//! | what it is | the documentation of both |
//! | moves | data cycles; whether a block is fetched or carried; whether a bridge can buffer it |
//! | caches see | what a cache that snoops it looks up in its protocol; none for accesses that cannot be cached |
//! | counter | the statistic of a bus that counts it, and its meaning |
//! | in words | what its agent does, for the life of a message |
//!
//! A kind is added by a row here, and by the agent that issues it.

use narthex_kernel::Category;
use serde::{Deserialize, Serialize};

use crate::protocols::Snoop;

/// Hands the rows of the table to another macro.
macro_rules! transaction_kinds {
    ($for_each:ident) => {
        $for_each! {
            Read, read, "A cache fetches a block to read it.",
                BlockIn, Some(Snoop::Read),
                reads, "bus_reads", "blocks fetched to be read", "reads {}";
            ReadExclusive, read_exclusive, "A cache fetches a block to write it.",
                BlockIn, Some(Snoop::ReadExclusive),
                exclusive_reads, "bus_exclusive_reads", "blocks fetched to be written", "reads {} to write it";
            Upgrade, upgrade, "A cache makes other copies go; address only.",
                Nothing, Some(Snoop::Upgrade),
                upgrades, "bus_upgrades", "permissions to write a block that was held already",
                "asks to write {}";
            WriteBack, write_back, "A dirty block returns to its home.",
                BlockOut, Some(Snoop::WriteBack),
                write_backs, "bus_write_backs", "dirty blocks returned to their home", "returns {}";
            // The old bytes are dead in every cache: the whole block is new.
            WriteBlock, write_block, "A device replaces a block in its home.",
                BlockOut, Some(Snoop::WriteBlock),
                block_writes, "bus_block_writes", "whole blocks that a device wrote to their home", "writes {}";
            ReadOnce, read_once, "A device reads a block without keeping it.",
                BlockIn, Some(Snoop::ReadOnce),
                single_reads, "bus_single_reads", "blocks that a device read without keeping them",
                "reads {} without a copy";
            Invalidate, invalidate, "A block's home makes cached copies go; address only.",
                Nothing, Some(Snoop::WriteBlock),
                invalidations, "bus_invalidations", "blocks whose home made cached copies go", "invalidates {}";
            UncachedLoad, uncached_load, "A processor loads from a device register.",
                WordIn, None,
                uncached_loads, "bus_uncached_loads", "loads from device registers", "loads {}";
            UncachedStore, uncached_store, "A processor stores to a device register.",
                WordOut, None,
                uncached_stores, "bus_uncached_stores", "stores to device registers", "stores to {}";
            BlockLoad, block_load, "A processor loads a block from a device into its block buffer.",
                BytesIn, None,
                block_loads, "bus_block_loads", "blocks loaded from a device into a block buffer",
                "loads a block from {}";
            BlockStore, block_store, "A processor stores a block from its block buffer to a device.",
                BytesOut, None,
                block_stores, "bus_block_stores", "blocks stored from a block buffer to a device",
                "stores a block to {}";
        }
    };
}

pub(crate) use transaction_kinds;

/// What a transaction moves, as its agent sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moves {
    /// Only an address crosses.
    Nothing,
    /// A register's value comes to the agent.
    WordIn,
    /// A value goes to a register.
    WordOut,
    /// A block's bytes come to the agent.
    BlockIn,
    /// A block's bytes go to its home.
    BlockOut,
    /// As many bytes of a device as the transaction says come to the agent.
    BytesIn,
    /// As many as it says go to a device.
    BytesOut,
}

macro_rules! declare_kinds {
    ($(
        $kind:ident, $name:ident, $what:literal, $moves:ident, $snoop:expr,
        $field:ident, $statistic:literal, $counted:literal, $words:literal;
    )*) => {
        /// The kinds of transaction. Block transactions name the first byte of their
        /// block; uncached ones an aligned address in a device page.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum Kind {
            $(#[doc = $what] $kind,)*
        }

        impl Kind {
            /// Every kind, in the order of [`Kind::index`].
            pub const ALL: [Kind; [$(Kind::$kind),*].len()] = [$(Kind::$kind),*];

            // The table's columns: each transaction looks up some of them, often.
            const NAMES: [&str; Kind::ALL.len()] = [$(stringify!($name)),*];
            const MOVES: [Moves; Kind::ALL.len()] = [$(Moves::$moves),*];
            const SNOOPS: [Option<Snoop>; Kind::ALL.len()] = [$($snoop),*];
            const WORDS: [&str; Kind::ALL.len()] = [$($words),*];
        }
    };
}

transaction_kinds!(declare_kinds);

/// Time and transactions are counted by kind.
impl Category for Kind {
    const COUNT: usize = Kind::ALL.len();

    fn index(self) -> usize {
        Kind::index(self)
    }

    fn name(index: usize) -> String {
        Kind::ALL[index].name().to_owned()
    }
}

impl Kind {
    /// The place of this kind in [`Kind::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    const fn moves(self) -> Moves {
        Self::MOVES[self as usize]
    }

    /// The name in reports and machine files.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// What a cache that snoops this transaction looks up in its protocol;
    /// none for accesses that cannot be cached.
    pub const fn snoop(self) -> Option<Snoop> {
        Self::SNOOPS[self as usize]
    }

    /// Whether it accesses a device rather than a block.
    pub const fn is_uncached(self) -> bool {
        self.snoop().is_none()
    }

    /// Whether no data cross with it.
    pub const fn is_address_only(self) -> bool {
        matches!(self.moves(), Moves::Nothing)
    }

    /// Whether its issuer waits for no answer, so that a bridge can buffer it:
    /// "writes and coherent invalidations" (isca96, Section 4.1).
    pub const fn is_posted(self) -> bool {
        matches!(self.moves(), Moves::Nothing | Moves::WordOut | Moves::BlockOut | Moves::BytesOut)
    }

    /// Whether the transaction asks for the bytes of a block that can be cached.
    pub const fn fetches_block(self) -> bool {
        matches!(self.moves(), Moves::BlockIn)
    }

    /// Whether the transaction carries a block's bytes to its home or to a device.
    pub const fn carries_block(self) -> bool {
        matches!(self.moves(), Moves::BlockOut | Moves::BytesOut)
    }

    /// Whether each transaction says how many bytes it moves.
    pub const fn states_bytes(self) -> bool {
        matches!(self.moves(), Moves::BytesIn | Moves::BytesOut)
    }

    /// Bytes of data that cross with it, on a machine with blocks of `block_bytes`; none if
    /// [each transaction says so](Kind::states_bytes).
    pub const fn data_bytes(self, block_bytes: usize) -> Option<u64> {
        match self.moves() {
            Moves::Nothing => Some(0),
            Moves::WordIn | Moves::WordOut => Some(8),
            Moves::BlockIn | Moves::BlockOut => Some(block_bytes as u64),
            Moves::BytesIn | Moves::BytesOut => None,
        }
    }

    /// What its agent does to `place`, in words.
    pub fn in_words(self, place: &str) -> String {
        Self::WORDS[self as usize].replace("{}", place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds for which a rule holds.
    fn those(rule: impl Fn(Kind) -> bool) -> Vec<&'static str> {
        Kind::ALL.into_iter().filter(|&kind| rule(kind)).map(Kind::name).collect()
    }

    #[test]
    fn each_kind_is_counted_in_its_own_place() {
        let places: Vec<usize> = Kind::ALL.into_iter().map(Category::index).collect();
        assert_eq!(places, Vec::from_iter(0..<Kind as Category>::COUNT));
    }

    #[test]
    fn what_a_kind_moves_decides_who_has_the_bytes() {
        assert_eq!(those(Kind::fetches_block), ["read", "read_exclusive", "read_once"]);
        assert_eq!(those(Kind::carries_block), ["write_back", "write_block", "block_store"]);
        assert_eq!(those(Kind::is_address_only), ["upgrade", "invalidate"]);
        assert_eq!(those(|kind| kind.data_bytes(64) == Some(8)), ["uncached_load", "uncached_store"]);
        assert_eq!(those(|kind| kind.data_bytes(64) == Some(0)), ["upgrade", "invalidate"]);
        assert_eq!(those(Kind::states_bytes), ["block_load", "block_store"]);
    }

    #[test]
    fn uncached_accesses_are_seen_by_no_cache_and_posted_ones_wait_for_no_answer() {
        let uncached = ["uncached_load", "uncached_store", "block_load", "block_store"];
        assert_eq!(those(Kind::is_uncached), uncached);
        let posted = ["upgrade", "write_back", "write_block", "invalidate", "uncached_store", "block_store"];
        assert_eq!(those(Kind::is_posted), posted);
    }

    #[test]
    fn a_kind_in_words_names_its_place() {
        assert_eq!(Kind::ReadExclusive.in_words("block 2"), "reads block 2 to write it");
        assert!(Kind::ALL.into_iter().all(|kind| kind.in_words("X").matches('X').count() == 1));
    }
}
