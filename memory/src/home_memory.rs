//! A memory on an interconnect: the home of the blocks that no device claims.

use narthex_kernel::{Archive, Archived, Damage, Duration};

use crate::main_memory::MainMemory;
use crate::transaction::{HomeReply, Transaction};

/// Bytes, and how long they take.
#[derive(Clone, Debug)]
pub struct HomeMemory {
    /// The bytes.
    pub bytes: MainMemory,
    /// Time from the address to the block's first bytes.
    pub access_time: Duration,
    /// Bytes in a coherence block.
    pub block_bytes: u64,
}

impl HomeMemory {
    /// The memory's part in a transaction for which no cache supplied the bytes.
    #[inline]
    pub fn answer(&mut self, transaction: &Transaction) -> HomeReply {
        if let Some(data) = &transaction.data {
            self.bytes.write(transaction.address, data);
        }
        let fetches = transaction.kind.fetches_block();
        let data = fetches.then(|| self.bytes.read_block(transaction.address, self.block_bytes as usize));
        let moves_block = data.is_some() || transaction.data.is_some();
        HomeReply { data, delay: if moves_block { self.access_time } else { Duration::ZERO } }
    }
}

impl Archived for HomeMemory {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let HomeMemory { bytes, access_time: _, block_bytes: _ } = self;
        bytes.archive(archive)
    }
}
