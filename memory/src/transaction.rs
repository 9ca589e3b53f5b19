//! What crosses a node's coherent interconnect: transactions, and the answers
//! of those who see them.
//!
//! A bus, a bridge and a directory all carry the same transactions, so that a
//! cache or a network interface need not know which of them it is attached to.
//! An *agent* is what has a place on the interconnect: a processor's data
//! cache, its instruction cache, a network interface. Main memory is not an
//! agent: it never asks, it is the home of every address that no device claims.

use std::cell::RefCell;

use narthex_kernel::Duration;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kind::Kind;

/// The largest coherence block that the simulator supports, in bytes.
pub const LARGEST_BLOCK_BYTES: usize = 256;

/// The most bytes that one transaction carries: the largest payload of a PCIe packet.
pub const LARGEST_TRANSFER_BYTES: usize = 4096;

/// The place of an agent on its node's interconnect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AgentId(pub u8);

/// Which of the transactions that its agent has under way a transaction is: each of them has
/// another one. An agent with one at a time needs none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TransactionTag(pub u8);

/// The bytes of one coherence block, or of what a link carries, on the heap: transactions and answers are
/// handed on many times, and most of them carry no block.
#[derive(PartialEq, Eq, Hash)]
pub struct BlockData(Box<[u8]>);

/// Spare blocks that a thread keeps at most. Few are under way at a time.
const MOST_SPARES: usize = 16;

thread_local! {
    /// Blocks that are not used any more: the next ones take their storage, so that
    /// a transaction allocates nothing. A machine has blocks of one length.
    static SPARES: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for BlockData {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.0);
        // A thread that ends has no spares any more: the block just goes.
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < MOST_SPARES {
                spares.push(bytes);
            }
        });
    }
}

impl Clone for BlockData {
    fn clone(&self) -> Self {
        Self::from_bytes(self)
    }
}

impl BlockData {
    /// A block of `length` zero bytes.
    pub fn zeroed(length: usize) -> Self {
        Self::filled_by(length, |bytes| bytes.fill(0))
    }

    /// A block with these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::filled_by(bytes.len(), |block| copy_block(block, bytes))
    }

    /// A block of `length` bytes, each of which `fill` writes.
    #[inline]
    pub(crate) fn filled_by(length: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        assert!(length <= LARGEST_TRANSFER_BYTES, "a block of {length} bytes is too large");
        let spare = SPARES.try_with(|spares| spares.borrow_mut().pop()).ok().flatten();
        let mut bytes = spare.filter(|spare| spare.len() == length).unwrap_or_else(|| vec![0; length].into());
        fill(&mut bytes);
        BlockData(bytes)
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
            0..=LARGEST_TRANSFER_BYTES => Ok(BlockData::from_bytes(bytes)),
            length => Err(D::Error::invalid_length(length, &"at most the largest transfer")),
        }
    }
}

impl std::fmt::Debug for BlockData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "block of {} bytes", self.len())
    }
}

/// Copies a block of bytes, in line where it has the usual length.
#[inline(always)]
pub(crate) fn copy_block(target: &mut [u8], source: &[u8]) {
    match (<&mut [u8; 64]>::try_from(&mut *target), <&[u8; 64]>::try_from(source)) {
        (Ok(target), Ok(source)) => *target = *source,
        _ => target.copy_from_slice(source),
    }
}

/// One transaction, as the agent that was granted the interconnect issues it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Transaction {
    /// Who issued it.
    pub agent: AgentId,
    /// Which one of that agent's.
    pub tag: TransactionTag,
    /// What it does.
    pub kind: Kind,
    /// Address in the node's memory: of the block, or of the device register.
    pub address: u64,
    /// Bytes accessed, for uncached accesses, and carried, where it carries a block.
    pub size: u16,
    /// The value stored, for uncached stores of a word.
    pub value: u64,
    /// The bytes carried, where [`Kind::carries_block`].
    pub data: Option<BlockData>,
    /// Its relaxed ordering, an attribute that a PCIe link knows: a write may pass older writes, and the
    /// completions of a read may.
    pub relaxed: bool,
}

impl Transaction {
    /// A block transaction that carries no bytes with its request.
    pub fn block(agent: AgentId, kind: Kind, address: u64) -> Self {
        let tag = TransactionTag::default();
        Transaction { agent, tag, kind, address, size: 0, value: 0, data: None, relaxed: false }
    }

    /// One that carries a block to its home, or bytes to a device.
    pub fn carrying(agent: AgentId, kind: Kind, address: u64, data: BlockData) -> Self {
        Transaction { size: data.len() as u16, data: Some(data), ..Self::block(agent, kind, address) }
    }

    /// An uncached access to a word of `size` bytes.
    pub fn uncached(agent: AgentId, kind: Kind, address: u64, size: u8, value: u64) -> Self {
        Transaction { size: size.into(), value, ..Self::block(agent, kind, address) }
    }

    /// A load of `size` bytes from a device, up to [`LARGEST_BLOCK_BYTES`].
    pub fn block_load(agent: AgentId, address: u64, size: usize) -> Self {
        Transaction { size: size as u16, ..Self::block(agent, Kind::BlockLoad, address) }
    }

    /// Bytes of data that cross with it, on a machine with blocks of `block_bytes`.
    pub fn data_bytes(&self, block_bytes: usize) -> u64 {
        self.kind.data_bytes(block_bytes).unwrap_or(self.size.into())
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
    /// It is the block's home on a directory, and answers later: what asks waits until the agent lets
    /// the home go on ([`Directory::resume`](crate::interconnects::directory::Directory::resume)).
    pub later: bool,
}

/// The home's part in a transaction on one of its blocks.
#[derive(Clone, Debug, Default)]
pub struct HomeReply {
    /// The block's bytes, where the transaction fetches them.
    pub data: Option<BlockData>,
    /// The time that the home's memory takes.
    pub delay: Duration,
}

/// What comes of an uncached access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessReply {
    /// It has had its effect, and its answer is there.
    Done,
    /// What it accesses holds it, and answers later ([`answer`](crate::interconnects::answer)). A bus is
    /// its own until then.
    Held,
}

/// How a transaction ended, as its issuer learns it.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Response {
    /// The block's bytes, for transactions that fetch one.
    pub data: Option<BlockData>,
    /// The value of an uncached load.
    pub value: u64,
    /// Another agent keeps a copy of the block.
    pub shared: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use narthex_kernel::Archive;

    #[test]
    fn a_block_is_read_and_written_by_its_words() {
        let mut block = BlockData::zeroed(24);
        assert_eq!((block.len(), format!("{block:?}")), (24, "block of 24 bytes".to_owned()));
        block.set_word(8, 0x0807_0605_0403_0201);
        assert_eq!(block[7..17], [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
        assert_eq!([0, 8, 16].map(|offset| block.word(offset)), [0, 0x0807_0605_0403_0201, 0]);
        block[16] = 9;
        assert_eq!(block.word(16), 9);
    }

    #[test]
    fn a_block_that_is_too_large_is_not_read_from_an_archive() {
        let saved = |length: usize| {
            let bytes = Archive::save(&mut BlockData(vec![7; length].into())).expect("plain data");
            let mut read = BlockData::zeroed(0);
            Archive::restore(&bytes, &mut read).map(|()| read.to_vec())
        };
        assert_eq!(saved(LARGEST_TRANSFER_BYTES).ok(), Some(vec![7; LARGEST_TRANSFER_BYTES]));
        assert!(saved(LARGEST_TRANSFER_BYTES + 1).is_err());
    }

    #[test]
    #[should_panic(expected = "a block of 4097 bytes is too large")]
    fn no_block_is_larger_than_the_largest() {
        assert_eq!(BlockData::zeroed(4096).len(), 4096);
        BlockData::zeroed(4097);
    }

    #[test]
    fn a_transaction_has_what_its_kind_needs() {
        let agent = AgentId(3);
        let data = BlockData::from_bytes(&[7; 64]);
        let plain = Transaction::block(agent, Kind::Read, 0x40);
        let tag = TransactionTag(0);
        let expected = Transaction {
            agent,
            tag,
            kind: Kind::Read,
            address: 0x40,
            size: 0,
            value: 0,
            data: None,
            relaxed: false,
        };
        assert_eq!(plain, expected);
        let carrying = Transaction::carrying(agent, Kind::Read, 0x40, data.clone());
        assert_eq!(carrying, Transaction { data: Some(data), size: 64, ..expected.clone() });
        let uncached = Transaction::uncached(agent, Kind::Read, 0x40, 4, 9);
        assert_eq!(uncached, Transaction { size: 4, value: 9, ..expected });
    }

    #[test]
    fn a_transaction_moves_as_many_bytes_of_a_device_as_it_says_whatever_a_block_has() {
        for size in [16, 32, 128, LARGEST_BLOCK_BYTES] {
            let data = BlockData::zeroed(size);
            let store = Transaction::carrying(AgentId(0), Kind::BlockStore, 0, data);
            let load = Transaction::block_load(AgentId(0), 0, size);
            assert_eq!([store.data_bytes(64), load.data_bytes(64)], [size as u64; 2]);
        }
        let word = Transaction::uncached(AgentId(0), Kind::UncachedLoad, 0, 4, 0);
        let block = Transaction::block(AgentId(0), Kind::Read, 0);
        assert_eq!([word.data_bytes(64), block.data_bytes(64)], [8, 64]);
    }
}
