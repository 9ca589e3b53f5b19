//! The receive engine of a coherent interface.
//!
//! ```text
//!   packet ──► room in the queue? ──► preparation ──► last block … first block ──► tail + 1
//!                  │ no: read the head pointer;          each: make the processor's
//!                  ▼     still no: wait for it to change copy go, then new bytes
//! ```
//!
//! **Order.** The block with the header, and so the message valid bit, is
//! deposited last: once the receiver sees the bit, the whole message is there.
//!
//! **Overflow** (hpca98, Section 4), for interfaces that cache a queue of main
//! memory: if the line that a block needs holds a *dead* message, one that the
//! processor has consumed, the old block is dropped without a write-back; a
//! comparison with the head decides, and the head is read again first, because
//! the copy is lazy. If it holds a message that is still to be read, the
//! newcomer bypasses the cache and goes straight to main memory, so that the
//! messages at the head of the queue stay in the fast cache.
//!
//! **Empty entries.** Dropping a dead block leaves older bytes in main memory,
//! perhaps those of two passes ago, whose valid bit has the sense that the
//! receiver now waits for. So while an entry is empty the interface itself
//! answers a fetch of its first block, with a header that is not valid. (The
//! paper does not say how it avoids this; a processor that lost its copy of the
//! block to a cache conflict would otherwise receive an old message again.)

use narthex_fabrics::{Header, Packet};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

use super::copies::Copies;
use super::pointers::Pointers;
use super::{Parts, QueueShape};
use crate::registers::{Addresses, FIRST_POINTER};
use crate::side::{Context, Driver, HomeReply, Layout, Side};

narthex_kernel::statistics! {
    /// What a receive engine did.
    pub struct Statistics {
        messages: Counter, "messages_deposited", "messages", "messages put into the receive queue";
        bypassed: Counter, "messages_bypassed", "messages", "messages written to main memory because the cache was full of unread ones";
        dead_drops: Counter, "dead_blocks_dropped", "blocks", "blocks of consumed messages dropped without a write-back";
        head_reads: Counter, "head_reads", "blocks", "reads of the head pointer from the processor's cache";
        queue_full: Counter, "receive_queue_full", "times", "packets that found the receive queue full";
        empty_polls: Counter, "empty_polls", "blocks", "fetches of an empty entry that the interface answered";
    }
}

/// What the engine has on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Job {
    /// The head pointer.
    Head,
    /// The processor's copy of a block has to go.
    Invalidate { address: u64 },
    /// A block goes to main memory.
    Bypass,
}

/// A packet on its way into the queue.
#[derive(Clone, Hash, Debug)]
struct Deposit {
    packet: Packet,
    /// When the engine has looked at it.
    ready: Time,
    /// Where it goes, once decided.
    to_memory: Option<bool>,
    /// Blocks that are still to be deposited, the last of them next.
    blocks_left: u64,
}

/// The receive half of a coherent interface with queues.
#[derive(Clone, Hash, Debug)]
pub struct CachableQueueReceive {
    agent: AgentId,
    addresses: Addresses,
    queue: QueueShape,
    copies: Copies,
    pointers: Pointers,
    register_delay: Duration,
    /// From a packet's arrival to its first block on the bus.
    preparation_time: Duration,
    /// Messages deposited so far.
    tail: u64,
    /// Messages known to be consumed: never ahead of the processor's head.
    head: u64,
    /// The head has to be read before the engine can go on.
    wants_head: bool,
    /// The head was read and the queue is full: wait until it changes.
    full: bool,
    deposit: Option<Deposit>,
    job: Option<Job>,
    statistics: Statistics,
}

impl CachableQueueReceive {
    /// An engine with an empty queue. `write_time` is the time until a packet is
    /// in the interface's memory; its blocks follow each other without a gap, so
    /// it counts once a message.
    pub fn new(parts: Parts, write_time: Duration) -> Self {
        CachableQueueReceive {
            agent: parts.agent,
            addresses: parts.addresses,
            queue: parts.queue,
            copies: parts.copies,
            pointers: parts.pointers,
            register_delay: parts.register_delay,
            preparation_time: parts.engine_time + write_time,
            tail: 0,
            head: 0,
            wants_head: false,
            full: false,
            deposit: None,
            job: None,
            statistics: Statistics::default(),
        }
    }

    /// Goes on as far as possible without the bus.
    fn advance(&mut self, context: &mut Context<'_>) {
        while self.job.is_none() && self.step(context) {}
    }

    /// One step; false when something has to happen first.
    fn step(&mut self, context: &mut Context<'_>) -> bool {
        if self.wants_head {
            return self.try_head();
        }
        let Some(deposit) = &mut self.deposit else {
            return self.accept(context);
        };
        if deposit.ready > context.now {
            return false;
        }
        if deposit.blocks_left == 0 {
            self.deposit = None;
            self.tail += 1;
            self.statistics.messages.increment();
            return true;
        }
        match deposit.to_memory {
            None => self.choose_place(),
            Some(true) => false,
            Some(false) => self.deposit_block(),
        }
    }

    /// Takes the next packet if the queue has an entry for it.
    fn accept(&mut self, context: &mut Context<'_>) -> bool {
        if self.full || context.network.front().is_none() {
            return false;
        }
        if self.tail - self.head == self.queue.entries {
            self.statistics.queue_full.increment();
            self.wants_head = true;
            return true;
        }
        let packet = context.network.take().expect("a packet waits");
        let bytes = (Header::BYTES + packet.payload.len()) as u64;
        let ready = context.timer_after(self.preparation_time);
        let blocks_left = bytes.div_ceil(self.queue.block_bytes);
        self.deposit = Some(Deposit { packet, ready, to_memory: None, blocks_left });
        true
    }

    /// Looks at the head pointer if that needs no transaction.
    fn try_head(&mut self) -> bool {
        let Ok(pointer) = self.pointers.load(self.addresses.receive_head()) else {
            return false;
        };
        self.head = self.queue.message(pointer, self.head);
        self.wants_head = false;
        self.full = self.tail - self.head == self.queue.entries;
        if let Some(deposit) = &mut self.deposit
            && deposit.to_memory.is_none()
        {
            // With the newest head, an unread message in the way is a reason to bypass.
            let blocks = deposit.blocks_left;
            let occupied = (0..blocks).any(|block| self.unread_victim(block));
            let deposit = self.deposit.as_mut().expect("just seen");
            deposit.to_memory = Some(occupied);
            if occupied {
                self.statistics.bypassed.increment();
            }
        }
        true
    }

    /// Decides between cache and main memory for the whole message.
    fn choose_place(&mut self) -> bool {
        let blocks = self.deposit.as_ref().expect("a deposit is under way").blocks_left;
        if (0..blocks).any(|block| self.unread_victim(block)) {
            self.wants_head = true;
        } else {
            self.deposit.as_mut().expect("just seen").to_memory = Some(false);
        }
        true
    }

    /// Whether a block of the new message would replace one of a message that
    /// is not known to be consumed.
    fn unread_victim(&self, block: u64) -> bool {
        let address = self.queue.block(self.tail, block);
        self.copies.victim_for(address).is_some_and(|victim| self.is_unread(victim.block))
    }

    /// Whether the entry of this address holds a message that is not known to
    /// be consumed.
    fn is_unread(&self, address: u64) -> bool {
        let (entry, _) = self.queue.place(address).expect("only the queue's blocks are cached");
        let behind_head = (entry + self.queue.entries - self.head % self.queue.entries) % self.queue.entries;
        behind_head < self.tail - self.head
    }

    /// Puts the next block into the interface's own copies.
    fn deposit_block(&mut self) -> bool {
        let address = self.next_block();
        if self.copies.must_invalidate(address) {
            return false;
        }
        self.produce(address);
        true
    }

    fn produce(&mut self, address: u64) {
        if let Some(victim) = self.copies.victim_for(address) {
            self.copies.drop_block(victim.block);
            self.statistics.dead_drops.increment();
        }
        let data = self.block_bytes();
        self.copies.produce(address, &data);
        self.block_done();
    }

    fn block_done(&mut self) {
        self.deposit.as_mut().expect("a deposit is under way").blocks_left -= 1;
    }

    /// The address of the next block to be deposited.
    fn next_block(&self) -> u64 {
        let deposit = self.deposit.as_ref().expect("a deposit is under way");
        self.queue.block(self.tail, deposit.blocks_left - 1)
    }

    /// The bytes of the next block to be deposited: part of header and payload.
    fn block_bytes(&self) -> BlockData {
        let deposit = self.deposit.as_ref().expect("a deposit is under way");
        let packet = &deposit.packet;
        let header = packet.header.with_peer(packet.source).with_sense(self.queue.sense(self.tail));
        let size = self.queue.block_bytes as usize;
        let start = (deposit.blocks_left as usize - 1) * size;
        let mut block = BlockData::zeroed(size);
        let payload = if start == 0 {
            block.set_word(0, header.0);
            &mut block[Header::BYTES..]
        } else {
            &mut block[..]
        };
        let from = &packet.payload[start.saturating_sub(Header::BYTES)..];
        let count = from.len().min(payload.len());
        payload[..count].copy_from_slice(&from[..count]);
        block
    }

    /// What the engine needs the bus for. While a packet is being looked at, its
    /// place is undecided and nothing is.
    fn next_job(&self) -> Option<Job> {
        if self.wants_head {
            return Some(Job::Head);
        }
        let deposit = self.deposit.as_ref()?;
        if deposit.blocks_left == 0 {
            return None;
        }
        match deposit.to_memory? {
            true => Some(Job::Bypass),
            false => {
                let address = self.next_block();
                self.copies.must_invalidate(address).then_some(Job::Invalidate { address })
            }
        }
    }

    /// The answer to a fetch of an empty entry's first block, where main memory
    /// may hold an old message.
    fn empty_entry(&self, transaction: &Transaction) -> Option<SnoopReply> {
        let Copies::Cache { access_time, .. } = &self.copies else {
            return None;
        };
        let (entry, block) = self.queue.place(transaction.address)?;
        if block != 0 || !transaction.kind.fetches_block() || self.is_unread(transaction.address) {
            return None;
        }
        let ahead = (entry + self.queue.entries - self.tail % self.queue.entries) % self.queue.entries;
        let awaited = self.queue.sense(self.tail + ahead);
        let mut data = BlockData::zeroed(self.queue.block_bytes as usize);
        data.set_word(0, Header::default().with_sense(!awaited).0);
        Some(SnoopReply { supplies: Some(data), delay: *access_time, ..SnoopReply::default() })
    }
}

impl Side for CachableQueueReceive {
    fn layout(&self) -> Layout {
        Layout {
            driver: Driver::CachableQueue,
            cachable: vec![self.queue.range(), self.addresses.pointers()],
            home: self.copies.is_home().then(|| self.queue.range()),
            initial_words: vec![(self.addresses.receive_head(), FIRST_POINTER)],
            entries: self.queue.entries,
            cachable_message_ready: false,
            overflows_to_memory: !self.copies.is_home(),
        }
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    fn snoop(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        let writes = matches!(transaction.kind, Kind::Upgrade | Kind::ReadExclusive);
        if writes && transaction.address == self.addresses.receive_head() && self.full {
            self.full = false;
            self.wants_head = true;
        }
        let pointers = self.pointers.snoop(transaction);
        let copies = self.copies.snoop(transaction);
        self.advance(context);
        if transaction.address == self.addresses.receive_head() {
            // Never exclusive: the interface has to see the next store.
            return SnoopReply { shares: transaction.kind == Kind::Read, ..pointers };
        }
        if copies.supplies.is_none()
            && let Some(reply) = self.empty_entry(transaction)
        {
            self.statistics.empty_polls.increment();
            return reply;
        }
        copies
    }

    fn home(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.copies.serve(transaction)
    }

    fn peek(&self, address: u64) -> Option<BlockData> {
        match self.queue.place(address) {
            Some(_) => self.copies.latest(address),
            None => self.pointers.peek(address),
        }
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_job().is_some()
    }

    fn issue(&mut self, context: &mut Context<'_>) -> Option<Transaction> {
        self.advance(context);
        let job = self.next_job()?;
        let transaction = match job {
            Job::Head => {
                let head = self.addresses.receive_head();
                Transaction::block(self.agent, self.pointers.load(head).err()?, head)
            }
            Job::Invalidate { address } => Transaction::block(self.agent, Kind::Invalidate, address),
            Job::Bypass => {
                let data = self.block_bytes();
                Transaction::carrying(self.agent, Kind::WriteBlock, self.next_block(), data)
            }
        };
        self.job = Some(job);
        Some(transaction)
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        match self.job.take().expect("a job is on the bus") {
            Job::Head => {
                self.pointers.complete(transaction, response);
                self.statistics.head_reads.increment();
            }
            Job::Invalidate { address } => self.produce(address),
            Job::Bypass => {
                self.copies.drop_block(transaction.address);
                self.block_done();
            }
        }
        self.advance(context);
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn describe(&self) -> String {
        let known = self.tail - self.head;
        let full = if self.full { ", and the interface waits for the processor to consume one" } else { "" };
        format!("receive queue: at most {known} of {} entries hold unread messages{full}", self.queue.entries)
    }
}
