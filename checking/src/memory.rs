//! A memory on an interconnect whose accesses take no time.

use narthex_kernel::{Duration, Time};
use narthex_memory::agent::Agent;
use narthex_memory::interconnects::InterconnectId;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::{BlockData, HomeReply, Response, Transaction};

/// Where the bytes of a memory are.
pub trait Bytes {
    /// The block of `length` bytes at `address`.
    fn block(&self, address: u64, length: usize) -> BlockData;

    /// Replaces the bytes at `address`.
    fn replace(&mut self, address: u64, bytes: &[u8]);
}

impl Bytes for MainMemory {
    fn block(&self, address: u64, length: usize) -> BlockData {
        self.read_block(address, length)
    }

    fn replace(&mut self, address: u64, bytes: &[u8]) {
        self.write(address, bytes);
    }
}

/// Its only block.
impl Bytes for BlockData {
    fn block(&self, _address: u64, _length: usize) -> BlockData {
        self.clone()
    }

    fn replace(&mut self, _address: u64, bytes: &[u8]) {
        *self = BlockData::from_bytes(bytes);
    }
}

/// A memory: the home of blocks.
pub struct Memory<'a, B> {
    /// Its bytes.
    pub bytes: &'a mut B,
    /// Bytes in a block.
    pub block_bytes: usize,
}

/// It answers, and never asks.
impl<B: Bytes> Agent for Memory<'_, B> {
    fn wants(&self, _on: InterconnectId) -> bool {
        false
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        None
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, _: &Response) {
        unreachable!("a memory has issued nothing: {transaction:?}")
    }

    fn home(&mut self, _now: Time, transaction: &Transaction) -> HomeReply {
        if let Some(data) = &transaction.data {
            self.bytes.replace(transaction.address, data);
        }
        let fetches = transaction.kind.fetches_block();
        let data = fetches.then(|| self.bytes.block(transaction.address, self.block_bytes));
        HomeReply { data, delay: Duration::ZERO }
    }

    fn write(&mut self, address: u64, data: &BlockData) {
        self.bytes.replace(address, data);
    }
}
