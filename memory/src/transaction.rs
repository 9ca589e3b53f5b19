//! What crosses a node's coherent interconnect: transactions, and the answers
//! of those who see them.
//!
//! A bus, a bridge and a directory all carry the same transactions, so that a
//! cache or a network interface need not know which of them it is attached to.
//! An *agent* is anybody with a place on the interconnect: a processor's data
//! cache, its instruction cache, a network interface. Main memory is not an
//! agent: it never asks, it is the home of every address that no device claims.

use narthex_kernel::{Category, Duration};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocols::Snoop;

/// The largest coherence block that the simulator supports, in bytes.
pub const LARGEST_BLOCK_BYTES: usize = 256;

/// The place of an agent on its node's interconnect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AgentId(pub u8);

/// The bytes of one coherence block, on the heap: transactions and answers are
/// handed on many times, and most of them carry no block.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BlockData(Box<[u8]>);

impl BlockData {
    /// A block of `length` zero bytes.
    pub fn zeroed(length: usize) -> Self {
        assert!(length <= LARGEST_BLOCK_BYTES, "a block of {length} bytes is too large");
        BlockData(vec![0; length].into())
    }

    /// A block with these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        BlockData(bytes.into())
    }

    /// The little-endian 64-bit word at `offset`, a multiple of eight.
    pub fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self[offset..offset + 8].try_into().expect("eight bytes"))
    }

    /// Replaces the little-endian 64-bit word at `offset`.
    pub fn set_word(&mut self, offset: usize, value: u64) {
        self[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }
}

impl std::ops::Deref for BlockData {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::ops::DerefMut for BlockData {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Serialize for BlockData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self)
    }
}

impl<'de> Deserialize<'de> for BlockData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        match bytes.len() {
            0..=LARGEST_BLOCK_BYTES => Ok(BlockData::from_bytes(bytes)),
            length => Err(D::Error::invalid_length(length, &"at most the largest block")),
        }
    }
}

impl std::fmt::Debug for BlockData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "block of {} bytes", self.len())
    }
}

/// The kinds of transaction. Block transactions name the first byte of their
/// block; uncached ones an aligned address in a device page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// A cache fetches a block to read it.
    Read,
    /// A cache fetches a block to write it; every other copy goes.
    ReadExclusive,
    /// A cache that holds the block may write it; every other copy goes.
    /// Address only.
    Upgrade,
    /// A cache returns a dirty block to its home.
    WriteBack,
    /// A device replaces a whole block in its home; every cached copy goes.
    WriteBlock,
    /// A device reads a block's current bytes and keeps no copy.
    ReadOnce,
    /// A device that is a block's home has new bytes for it and makes every
    /// cached copy go. Address only.
    Invalidate,
    /// A processor loads from a device register.
    UncachedLoad,
    /// A processor stores to a device register.
    UncachedStore,
    /// A processor loads a whole block from a device into its block buffer.
    BlockLoad,
    /// A processor stores a whole block from its block buffer to a device.
    BlockStore,
}

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
    /// Every kind, in the order of [`Kind::index`].
    pub const ALL: [Kind; 11] = [
        Kind::Read,
        Kind::ReadExclusive,
        Kind::Upgrade,
        Kind::WriteBack,
        Kind::WriteBlock,
        Kind::ReadOnce,
        Kind::Invalidate,
        Kind::UncachedLoad,
        Kind::UncachedStore,
        Kind::BlockLoad,
        Kind::BlockStore,
    ];

    /// The place of this kind in [`Kind::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in reports and machine files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::ReadExclusive => "read_exclusive",
            Kind::Upgrade => "upgrade",
            Kind::WriteBack => "write_back",
            Kind::WriteBlock => "write_block",
            Kind::ReadOnce => "read_once",
            Kind::Invalidate => "invalidate",
            Kind::UncachedLoad => "uncached_load",
            Kind::UncachedStore => "uncached_store",
            Kind::BlockLoad => "block_load",
            Kind::BlockStore => "block_store",
        }
    }

    /// What a cache that snoops this transaction looks up in its protocol;
    /// none for accesses that cannot be cached.
    pub const fn snoop(self) -> Option<Snoop> {
        match self {
            Kind::Read => Some(Snoop::Read),
            Kind::ReadExclusive => Some(Snoop::ReadExclusive),
            Kind::Upgrade => Some(Snoop::Upgrade),
            Kind::WriteBack => Some(Snoop::WriteBack),
            // The old bytes are dead in both: the whole block is new.
            Kind::WriteBlock | Kind::Invalidate => Some(Snoop::WriteBlock),
            Kind::ReadOnce => Some(Snoop::ReadOnce),
            Kind::UncachedLoad | Kind::UncachedStore | Kind::BlockLoad | Kind::BlockStore => None,
        }
    }

    /// Whether it accesses a device rather than a block.
    pub const fn is_uncached(self) -> bool {
        self.snoop().is_none()
    }

    /// Whether no data cross with it.
    pub const fn is_address_only(self) -> bool {
        matches!(self, Kind::Upgrade | Kind::Invalidate)
    }

    /// Whether its issuer waits for no answer, so that a bridge can buffer it:
    /// "writes and coherent invalidations" (isca96, Section 4.1).
    pub const fn is_posted(self) -> bool {
        self.is_address_only() || self.carries_block() || matches!(self, Kind::UncachedStore)
    }

    /// Whether the transaction asks somebody for a block's bytes.
    pub const fn fetches_block(self) -> bool {
        matches!(self, Kind::Read | Kind::ReadExclusive | Kind::ReadOnce)
    }

    /// Whether the transaction carries a block's bytes to its home or to a device.
    pub const fn carries_block(self) -> bool {
        matches!(self, Kind::WriteBack | Kind::WriteBlock | Kind::BlockStore)
    }
}

/// One transaction, as the agent that was granted the interconnect issues it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Transaction {
    /// Who issued it.
    pub agent: AgentId,
    /// What it does.
    pub kind: Kind,
    /// Address in the node's memory: of the block, or of the device register.
    pub address: u64,
    /// Bytes accessed, for uncached accesses.
    pub size: u8,
    /// The value stored, for uncached stores.
    pub value: u64,
    /// The bytes carried, where [`Kind::carries_block`].
    pub data: Option<BlockData>,
}

impl Transaction {
    /// A block transaction that carries no bytes with its request.
    pub fn block(agent: AgentId, kind: Kind, address: u64) -> Self {
        Transaction { agent, kind, address, size: 0, value: 0, data: None }
    }

    /// A block transaction that carries the block to its home.
    pub fn carrying(agent: AgentId, kind: Kind, address: u64, data: BlockData) -> Self {
        Transaction { data: Some(data), ..Self::block(agent, kind, address) }
    }

    /// An uncached access of `size` bytes.
    pub fn uncached(agent: AgentId, kind: Kind, address: u64, size: u8, value: u64) -> Self {
        Transaction { size, value, ..Self::block(agent, kind, address) }
    }
}

/// What a snooping agent answers to another agent's transaction.
#[derive(Clone, Debug, Default)]
pub struct SnoopReply {
    /// It keeps a copy.
    pub shares: bool,
    /// It delivers the block instead of its home, after `delay`.
    pub supplies: Option<BlockData>,
    /// The home takes the supplied bytes too.
    pub updates_home: bool,
    /// The time that its memory needs to supply the block.
    pub delay: Duration,
}

/// How a transaction ended, as its issuer learns it.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Response {
    /// The block's bytes, for transactions that fetch one.
    pub data: Option<BlockData>,
    /// The value of an uncached load.
    pub value: u64,
    /// Somebody else keeps a copy of the block.
    pub shared: bool,
}
