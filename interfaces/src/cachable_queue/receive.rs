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
//! **Overflow**, for interfaces that cache a queue of main memory: the two
//! policies are those of [`Overflow`]. To tell dead messages from unread ones the
//! engine compares with the head, and reads the head again before it believes that
//! a message is unread, because its copy is lazy. Messages are read in order, and a
//! snooping interface sees how far the processor has fetched: what nobody has
//! fetched is unread, and [`Overflow::BypassUnfetched`] takes no look then.
//!
//! **Empty entries.** Dropping a dead block leaves older bytes in main memory,
//! perhaps those of two passes ago, whose valid bit has the sense that the
//! receiver now waits for. So while an entry is empty the interface itself
//! answers a fetch of its first block, with a header that is not valid. (The
//! paper does not say how it avoids this; a processor that lost its copy of the
//! block to a cache conflict would otherwise receive an old message again.)
//! Where every block is written back, or written to memory at once, memory has
//! the entry of the pass before, which is not valid, and no answer is needed.
//!
//! **Waiting.** An engine without room leaves packets in the flow control's
//! buffers. A store to the head, which takes the engine's copy away, tells it that
//! there is room; but it would read the head for each message so, and waits for
//! more: as messages are read in order, a fetch of the first block of a message
//! says how far the processor is ([`Room`]); one that the processor's cache took in
//! on its way to memory counts as fetched. So the head costs two reads a pass
//! ("lazy pointers", isca96, Section 2.2), more often where the queue is small. An
//! interface that sees no transactions reads the head again and again, with a pause.
//! `hearing.rs` has what the interface is told on a bus and on a directory.

mod hearing;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::copies::Copies;
use super::deposit::{Deposit, Destination, Overflow};
use super::pointers::Pointers;
use super::protocol_rule::ProtocolRule;
use super::unread::{Knowledge, Room, Unread};
use super::{OVERFLOWS, Parts, QueueShape};
use crate::attachment::Hearing;
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, TimeToSend};
use crate::queue::QueueState;
use crate::registers::Addresses;

narthex_kernel::statistics! {
    /// What a receive engine did.
    pub struct Statistics {
        messages: Counter, "messages_deposited", "messages", "messages put into the receive queue";
        bypassed: Counter, "messages_bypassed", "messages", "messages written to main memory because the cache was full of unread ones";
        dead_drops: Counter, "dead_blocks_dropped", "blocks", "blocks of consumed messages dropped without a write-back";
        written_back: Counter, "queue_blocks_written_back", "blocks", "blocks of the receive queue written back to make room";
        head_reads: Counter, "head_reads", "blocks", "reads of the head pointer from the processor's cache";
        queue_full: Counter, "receive_queue_full", "times", "packets that found the receive queue full";
        empty_polls: Counter, "empty_polls", "blocks", "fetches of an empty entry that the interface answered";
    }
}

/// What the engine has on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    /// The head pointer.
    Head,
    /// A block that is in the way returns to main memory.
    WriteBack { victim: u64 },
    /// The processor's copy of a block has to go.
    Invalidate { address: u64 },
    /// A block goes to main memory.
    Write,
}

/// The receive half of a coherent interface with queues.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct CachableQueueReceive {
    agent: AgentId,
    hearing: Hearing,
    addresses: Addresses,
    queue: QueueShape,
    copies: Copies,
    overflow: Overflow,
    /// How long a full engine waits before it looks again if it cannot see the
    /// head change.
    pause: Duration,
    unread: Unread,
    pointers: Pointers,
    register_delay: Duration,
    /// From a packet's arrival to its first block on the bus.
    preparation_time: Duration,
    /// The head has to be read before the engine can go on.
    wants_head: bool,
    /// The head was read and the queue is full: wait until it changes.
    full: bool,
    /// When a full engine that does not see changes reads the head again.
    look_again: Option<Time>,
    deposit: Option<Deposit>,
    job: Option<Job>,
    /// The rule that a model checker has left out.
    left_out: Option<ProtocolRule>,
    statistics: Statistics,
}

impl CachableQueueReceive {
    /// An engine with an empty queue. `deposit_time` is the time until a packet is
    /// in the interface's memory; its blocks follow each other without a gap, so
    /// it counts once a message.
    pub fn new(parts: Parts, deposit_time: Duration, overflow: Overflow, room: Room) -> Self {
        CachableQueueReceive {
            agent: parts.agent,
            hearing: parts.hearing,
            addresses: parts.addresses,
            queue: parts.queue,
            copies: parts.copies,
            overflow,
            pause: room.pause,
            unread: Unread::none(parts.queue, room),
            pointers: parts.pointers,
            register_delay: parts.register_delay,
            preparation_time: parts.engine_time + deposit_time,
            wants_head: false,
            full: false,
            look_again: None,
            deposit: None,
            job: None,
            left_out: None,
            statistics: Statistics::default(),
        }
    }

    /// Whether its policies need this rule.
    fn has_rule(&self, rule: ProtocolRule) -> bool {
        let bypasses = matches!(self.copies, Copies::Cache { .. }) && self.overflow.bypasses();
        match rule {
            ProtocolRule::SenseReverse | ProtocolRule::HeaderLast => true,
            ProtocolRule::Invalidation => self.copies.are_coherent(),
            ProtocolRule::DeadMessages | ProtocolRule::EmptyEntries => bypasses,
        }
    }

    fn follows(&self, rule: ProtocolRule) -> bool {
        self.left_out != Some(rule)
    }

    /// Goes on as far as possible without the bus.
    fn advance(&mut self, context: &mut Context<'_>) {
        while self.job.is_none() && self.step(context) {}
    }

    /// One step; false when something has to happen first.
    fn step(&mut self, context: &mut Context<'_>) -> bool {
        if self.wants_head {
            return self.try_head(context);
        }
        let Some(deposit) = &self.deposit else {
            return self.accept(context);
        };
        if deposit.ready > context.now {
            return false;
        }
        if deposit.blocks_left == 0 {
            self.deposit = None;
            self.unread.add();
            self.statistics.messages.increment();
            return true;
        }
        match deposit.place {
            None => self.choose_place(),
            Some(Destination::Memory) => false,
            Some(Destination::Own) => self.deposit_block(),
        }
    }

    /// Takes the next packet if the queue has an entry for it.
    fn accept(&mut self, context: &mut Context<'_>) -> bool {
        if self.full || context.network.front().is_none() {
            return false;
        }
        if self.unread.is_full() {
            self.statistics.queue_full.increment();
            self.wants_head = true;
            return true;
        }
        let packet = context.network.take().expect("a packet waits");
        let ready = context.timer_after(self.preparation_time);
        self.deposit =
            Some(Deposit::new(packet, ready, self.queue.block_bytes, self.follows(ProtocolRule::HeaderLast)));
        true
    }

    /// Looks at the head pointer if that needs no transaction.
    fn try_head(&mut self, context: &mut Context<'_>) -> bool {
        let Ok(pointer) = self.pointers.load(self.addresses.receive_head()) else {
            return false;
        };
        self.unread.see_head(pointer);
        self.wants_head = false;
        if self.deposit.as_ref().is_some_and(|deposit| deposit.place.is_none()) {
            // With the newest head, an unread message in the way is a reason to bypass.
            let is_unread = self.victims() > Knowledge::Consumed;
            self.set_place(if is_unread { Destination::Memory } else { Destination::Own });
            return true;
        }
        self.full = self.unread.is_full();
        if self.full && !self.pointers.are_coherent() {
            self.look_again = Some(context.timer_after(self.pause));
        }
        true
    }

    /// Decides between the interface's own copies and main memory for the whole
    /// message.
    fn choose_place(&mut self) -> bool {
        match (&self.copies, self.overflow) {
            (Copies::Passing { .. }, _) => self.set_place(Destination::Memory),
            (Copies::Cache { .. }, overflow) if overflow.bypasses() => match self.victims() {
                Knowledge::Consumed => self.set_place(Destination::Own),
                Knowledge::Unread if overflow == Overflow::BypassUnfetched => {
                    self.set_place(Destination::Memory);
                }
                Knowledge::Unread | Knowledge::PerhapsConsumed => self.wants_head = true,
            },
            _ => self.set_place(Destination::Own),
        }
        true
    }

    fn set_place(&mut self, place: Destination) {
        if place == Destination::Memory && self.copies.are_coherent() {
            self.statistics.bypassed.increment();
        }
        self.deposit.as_mut().expect("a deposit is under way").place = Some(place);
    }

    /// What is known of the messages whose blocks the new one would replace: of the one
    /// that is the most certain to be unread.
    fn victims(&self) -> Knowledge {
        if !self.follows(ProtocolRule::DeadMessages) {
            return Knowledge::Consumed;
        }
        let blocks = self.deposit.as_ref().expect("a deposit is under way").blocks_left;
        let victims =
            (0..blocks).map(|block| self.copies.victim_for(self.queue.block(self.unread.next(), block)));
        let known = victims.flatten().map(|victim| self.unread.knowledge_of(victim.block));
        known.max().unwrap_or(Knowledge::Consumed)
    }

    /// Puts the next block into the interface's own copies.
    fn deposit_block(&mut self) -> bool {
        let address = self.next_block();
        if self.written_back_first(address).is_some() || self.must_invalidate(address) {
            return false;
        }
        self.produce(address);
        true
    }

    /// The block in the way of `address` that has to go to main memory.
    fn written_back_first(&self, address: u64) -> Option<u64> {
        let victim = self.copies.victim_for(address)?;
        (self.overflow == Overflow::WriteBack && victim.dirty).then_some(victim.block)
    }

    fn must_invalidate(&self, address: u64) -> bool {
        self.follows(ProtocolRule::Invalidation) && self.copies.must_invalidate(address)
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
        self.queue.block(self.unread.next(), deposit.next_place())
    }

    /// The bytes of the next block to be deposited.
    fn block_bytes(&self) -> BlockData {
        let deposit = self.deposit.as_ref().expect("a deposit is under way");
        let sense = self.queue.sense(self.unread.next()) || !self.follows(ProtocolRule::SenseReverse);
        deposit.next_block(sense)
    }

    /// What the engine needs the bus for. While a packet is being looked at, its
    /// place is undecided and nothing is.
    fn next_job(&self) -> Option<Job> {
        if self.wants_head {
            return Some(Job::Head);
        }
        let deposit = self.deposit.as_ref().filter(|deposit| deposit.blocks_left > 0)?;
        if deposit.place? == Destination::Memory {
            return Some(Job::Write);
        }
        let address = self.next_block();
        match self.written_back_first(address) {
            Some(victim) => Some(Job::WriteBack { victim }),
            None => self.must_invalidate(address).then_some(Job::Invalidate { address }),
        }
    }
}

impl InterfaceHalf for CachableQueueReceive {
    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        self.pointers.push(transaction).or_else(|| self.copies.push(transaction))
    }

    fn snoop(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        if !self.copies.are_coherent() {
            return SnoopReply::default();
        }
        let pointers = self.pointers.snoop(transaction);
        let copies = self.copies.snoop(transaction);
        self.unread.observe(transaction);
        self.look_again_if_moved();
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
        let pointer = self.pointers.serve(transaction);
        pointer.unwrap_or_else(|| self.copies.serve(transaction))
    }

    /// A packet for which there seems to be no room makes it read the head.
    fn time_to_interconnect(&self) -> Duration {
        if self.unread.is_full() { Duration::ZERO } else { self.preparation_time }
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
            Job::WriteBack { victim } => {
                let data = self.copies.latest(victim).expect("a victim is present");
                Transaction::carrying(self.agent, Kind::WriteBack, victim, BlockData::from_bytes(data))
            }
            Job::Write => {
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
            Job::WriteBack { victim } => {
                self.copies.drop_block(victim);
                self.statistics.written_back.increment();
            }
            Job::Write => {
                self.copies.drop_block(transaction.address);
                if response.shared {
                    self.unread.observe_taken(transaction.address);
                }
                self.block_done();
            }
        }
        self.advance(context);
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        if self.look_again.is_some_and(|at| at <= context.now) {
            self.look_again = None;
            self.full = false;
            self.wants_head = true;
        }
        self.advance(context);
    }
}

impl HalfDescription for CachableQueueReceive {
    fn layout(&self) -> Layout {
        let pointers = [("receive queue's head", self.addresses.receive_head())];
        let parts = (&self.copies, &self.pointers, &self.addresses);
        Layout {
            facts: vec![(OVERFLOWS, u64::from(!self.copies.is_home() && self.unread.may_fill_queue()))],
            transactions: [self.copies.deposits(), self.pointers.transactions()].concat(),
            written_by_interface: vec![self.queue.range()],
            ..self.queue.layout("receive queue", &pointers, parts)
        }
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        match self.queue.place(address) {
            Some(_) => self.copies.latest(address),
            None => self.pointers.peek(address),
        }
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        let rules = ProtocolRule::ALL.into_iter().filter(|&rule| self.has_rule(rule));
        rules.map(ProtocolRule::name).collect()
    }

    fn leave_out(&mut self, name: &str) -> bool {
        let rules = ProtocolRule::ALL.into_iter();
        self.left_out = rules.filter(|&rule| self.has_rule(rule)).find(|rule| rule.name() == name);
        self.left_out.is_some()
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let queue = QueueState::of("receive queue", self.unread.most(), Some(self.queue.entries));
        let note = if self.full { "the interface waits until the processor takes one" } else { "" };
        let head = Some(self.unread.lazy_head(self.addresses.receive_head()));
        QueueState { is_bound: !self.full, head, ..queue }.with_note(note)
    }

    fn engine(&self, _now: Time) -> Option<Engine> {
        let doing = match self.job {
            Some(Job::Head) => Some("reads the head"),
            Some(Job::WriteBack { .. }) => Some("writes a block back"),
            Some(Job::Invalidate { .. }) => Some("takes the processor's copy away"),
            Some(Job::Write) => Some("writes a block to memory"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None if self.deposit.is_some() => Some("prepares a message"),
            None => self.full.then_some("waits for room in the queue"),
        };
        Some(Engine { doing, messages: self.unread.most() })
    }
}
