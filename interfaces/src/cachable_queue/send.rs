//! The send engine of a coherent interface.
//!
//! ```text
//!   message ready ──► read the missing blocks of the entry ──► engine_time ──► inject
//!        ▲                     ▲                                                 │
//!   uncached store,       blocks read before: virtual polling            head := head + 1
//!   or the tail seen
//!   by coherence, or
//!   the header's block
//!   comes home
//! ```
//!
//! *Virtual polling* (isca96, Sections 2.1 and 3): a request for the right to
//! write block i of a message, i > 0, says that the processor is done with block
//! i-1; the engine reads that one while the processor composes the next. A block
//! that is written again after it was read is read again. There is none where a message is announced by
//! the valid bit of its header ([`Announcement::ValidBit`]): the processor flushes what it has written, so
//! that blocks come home by themselves. Those that have not are read, in whatever order they come.
//!
//! On a directory the home of a queue is told of all these requests. An interface that caches a queue
//! of main memory is told of requests for blocks that it still has from the pass before. It reads the
//! other blocks later, when the message is announced. To be told of a store to the tail it needs a
//! copy of it, so it reads the tail at the beginning, and again after each store.

mod message;

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::copies::Copies;
use super::pointers::Pointers;
use super::{ANNOUNCEMENT, Announcement, Parts, QueueShape};
use crate::attachment::Hearing;
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, RegisterFault, TimeToSend, Trigger};
use crate::queue::QueueState;
use crate::registers::{Addresses, MESSAGE_READY};
use message::Whole;

/// The rule that can be left out: a block of a message that has not come home is read.
const READ_BACK: &str = "read-back";

narthex_kernel::statistics! {
    /// What a send engine did.
    pub struct Statistics {
        messages: Counter, "messages_injected", "messages", "messages taken from the send queue and injected";
        early_reads: Counter, "blocks_read_early", "blocks", "blocks read by virtual polling, before the message was announced";
        late_reads: Counter, "blocks_read_late", "blocks", "blocks read after the message was announced";
        tail_reads: Counter, "tail_reads", "blocks", "reads of the tail pointer from the processor's cache";
    }
}

/// What the engine has on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    /// A block of a message.
    Block { address: u64, early: bool },
    /// The tail pointer.
    Tail,
    /// The head pointer, or the right to write it: all messages before `shown`.
    Head { shown: u64 },
}

/// The send half of a coherent interface with queues.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct CachableQueueSend {
    agent: AgentId,
    addresses: Addresses,
    queue: QueueShape,
    copies: Copies,
    pointers: Pointers,
    register_delay: Duration,
    engine_time: Duration,
    message_ready: Announcement,
    /// Messages announced so far.
    announced: u64,
    /// Messages injected so far.
    injected: u64,
    /// The processor has written the tail since it was last read.
    tail_is_stale: bool,
    /// Messages that the head pointer shows as injected.
    head_shown: u64,
    /// After this many messages the head pointer is written again.
    head_lag: u64,
    /// A finished block to read before its message is announced.
    early: Option<u64>,
    /// When the engine is done with the whole message that it has read.
    engine_done: Option<Time>,
    job: Option<Job>,
    /// The header of the message at the head, while it is known that the interface has all of it.
    #[serde(skip)]
    whole: Whole,
    /// Whether [`READ_BACK`] is left out.
    takes_old_bytes: bool,
    statistics: Statistics,
}

impl CachableQueueSend {
    /// Kinds of the transactions that it issues or takes.
    fn transactions(&self) -> Vec<Kind> {
        let ready = (self.message_ready == Announcement::UncachedStore).then_some(Kind::UncachedStore);
        let own = ready.into_iter().chain([self.copies.fetch()]);
        own.chain(self.pointers.transactions().iter().copied()).collect()
    }

    /// An engine with nothing to send; messages are announced as `message_ready` says.
    pub fn new(parts: Parts, message_ready: impl Into<Announcement>) -> Self {
        let message_ready = message_ready.into();
        // A pointer that is not cached costs a write to memory, so it waits for
        // half a queue: a processor that finds the queue full has announced more.
        let head_lag = if parts.pointers.are_coherent() { 1 } else { parts.queue.entries.div_ceil(2) };
        CachableQueueSend {
            agent: parts.agent,
            addresses: parts.addresses,
            queue: parts.queue,
            copies: parts.copies,
            pointers: parts.pointers,
            register_delay: parts.register_delay,
            engine_time: parts.engine_time,
            message_ready,
            announced: 0,
            injected: 0,
            // It needs a copy to be told of the first store to the tail.
            tail_is_stale: message_ready == Announcement::CachableStore && parts.hearing == Hearing::Held,
            head_shown: 0,
            head_lag,
            early: None,
            engine_done: None,
            job: None,
            whole: Whole::default(),
            takes_old_bytes: false,
            statistics: Statistics::default(),
        }
    }

    /// Counts the messages whose headers have come home.
    fn count_valid(&mut self) {
        while self.announced - self.injected < self.queue.entries
            && let Some(block) = self.copies.latest(self.queue.block(self.announced, 0))
            && Header::of(block).sense() == self.queue.sense(self.announced)
        {
            self.announced += 1;
        }
    }

    /// The most urgent thing to do on the bus.
    fn next_job(&self) -> Option<Job> {
        // Even while the engine works: an early read may have replaced a block.
        if self.announced > self.injected
            && let Err(address) = self.message()
        {
            return Some(Job::Block { address, early: false });
        }
        if self.tail_is_stale {
            return Some(Job::Tail);
        }
        if let Some(address) = self.early
            && self.copies.latest(address).is_none()
        {
            return Some(Job::Block { address, early: true });
        }
        let shown = self.injected;
        (shown - self.head_shown >= self.head_lag).then_some(Job::Head { shown })
    }

    /// Goes on as far as possible without the bus.
    fn advance(&mut self, context: &mut Context<'_>) {
        if self.announced == self.injected {
            return;
        }
        let Ok(header) = self.message() else {
            return;
        };
        if let Err(fault) = context.check(header, self.queue.entry_bytes as usize - Header::BYTES) {
            context.faults.push(fault);
            // Nothing more is sent for this process, and nothing more is wanted.
            self.injected = self.announced;
            self.whole = Whole::default();
            self.try_head();
            return;
        }
        match self.engine_done {
            None => self.engine_done = Some(context.timer_after(self.engine_time)),
            Some(done) if done <= context.now && context.network.can_send(header.peer()) => {
                context.network.send(header.with_sense(false), self.payload(header));
                self.statistics.messages.increment();
                self.injected += 1;
                self.engine_done = None;
                self.copies.release();
                self.whole = Whole::default();
                self.try_head();
                self.advance(context);
            }
            Some(_) => {}
        }
    }

    /// Writes the head pointer if that needs no transaction.
    fn try_head(&mut self) {
        if self.pointers.store(self.addresses.send_head(), self.queue.pointer(self.injected)).is_ok() {
            self.head_shown = self.injected;
        }
    }

    /// Looks at the tail pointer if that needs no transaction.
    fn try_tail(&mut self) {
        if let Ok(pointer) = self.pointers.load(self.addresses.send_tail()) {
            self.announced = self.queue.message(pointer, self.announced);
            self.tail_is_stale = false;
        }
    }

    /// Sees the processor ask for the right to write a block of the queue.
    fn observe_write(&mut self, address: u64) {
        if self.message_ready == Announcement::ValidBit {
            return;
        }
        if self.message_ready == Announcement::CachableStore && address == self.addresses.send_tail() {
            self.tail_is_stale = true;
        }
        if self.early == Some(address) {
            self.early = None;
        }
        if let Some((_, block)) = self.queue.place(address)
            && block > 0
        {
            self.early = Some(address - self.queue.block_bytes);
        }
    }
}

impl InterfaceHalf for CachableQueueSend {
    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        if offset != MESSAGE_READY {
            return None;
        }
        let instead = match self.message_ready {
            Announcement::UncachedStore => None,
            Announcement::CachableStore => Some("a store to the tail pointer on this machine"),
            Announcement::ValidBit => Some("the valid bit of their headers"),
        };
        if let Some(instead) = instead {
            return Some(Err(RegisterFault(format!("messages are announced by {instead}"))));
        }
        if value > self.queue.entries - (self.announced - self.injected) {
            let problem = format!("{value} more messages are announced than the send queue holds");
            return Some(Err(RegisterFault(problem)));
        }
        self.announced += value;
        self.advance(context);
        Some(Ok(()))
    }

    /// While it knows of no message, it is told by a store to a register, or reads the tail first. One
    /// that it has prepared leaves with the engine's time, or when there is room, and the next one
    /// after that; but if it has lost some of its blocks again meanwhile, with the last of them.
    fn time_to_send(&self) -> TimeToSend {
        let awaits_room = self.engine_done.is_some();
        let is_prepared = awaits_room && self.message().is_ok();
        let time = if awaits_room && !is_prepared { Duration::ZERO } else { self.engine_time };
        let cause = match self.message_ready {
            _ if self.announced != self.injected && !is_prepared => Trigger::Anything,
            Announcement::UncachedStore => Trigger::Access,
            Announcement::ValidBit => Trigger::Anything,
            Announcement::CachableStore if self.tail_is_stale || self.job.is_some() => Trigger::Anything,
            Announcement::CachableStore => Trigger::BlockToRead,
        };
        TimeToSend { time, cause, awaits_room }
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        self.whole = Whole::default();
        self.pointers.push(transaction).or_else(|| self.copies.push(transaction))
    }

    fn snoop(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        if !self.copies.are_coherent() {
            return SnoopReply::default();
        }
        let pointers = self.pointers.snoop(transaction);
        let copies = self.copies.snoop(transaction);
        if transaction.kind != Kind::Read {
            self.whole = Whole::default();
        }
        if matches!(transaction.kind, Kind::Upgrade | Kind::ReadExclusive) {
            self.observe_write(transaction.address);
        }
        if transaction.address == self.addresses.send_tail() {
            // Never exclusive: the interface has to see the next store.
            return SnoopReply { shares: transaction.kind == Kind::Read, ..pointers };
        }
        if transaction.address == self.addresses.send_head() { pointers } else { copies }
    }

    fn home(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.whole = Whole::default();
        let pointer = self.pointers.serve(transaction);
        let reply = pointer.unwrap_or_else(|| self.copies.serve(transaction));
        // A write-back may have brought what the engine waits for.
        match self.message_ready {
            Announcement::ValidBit => self.count_valid(),
            _ if self.tail_is_stale => self.try_tail(),
            _ => {}
        }
        self.advance(context);
        reply
    }

    /// When a packet has left that waits, the engine goes on with the next.
    fn time_to_interconnect(&self) -> Duration {
        if self.engine_done.is_some() { Duration::ZERO } else { Duration::MAX }
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_job().is_some()
    }

    fn issue(&mut self, context: &mut Context<'_>) -> Option<Transaction> {
        let job = self.next_job()?;
        // A pointer that needs no transaction any more is looked at or written
        // here: a job that stays wanted would be granted the bus for ever.
        let transaction = match job {
            Job::Block { address, .. } => Transaction::block(self.agent, self.copies.fetch(), address),
            Job::Tail => {
                let tail = self.addresses.send_tail();
                let Err(kind) = self.pointers.load(tail) else {
                    self.try_tail();
                    self.advance(context);
                    return None;
                };
                Transaction::block(self.agent, kind, tail)
            }
            Job::Head { shown } => {
                let (head, pointer) = (self.addresses.send_head(), self.queue.pointer(shown));
                let Err(kind) = self.pointers.store(head, pointer) else {
                    self.head_shown = shown;
                    return None;
                };
                self.pointers.store_transaction(self.agent, kind, head, pointer)
            }
        };
        self.job = Some(job);
        Some(transaction)
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        match self.job.take().expect("a job is on the bus") {
            Job::Block { address, early } => {
                let data = response.data.as_ref().expect("a read brings data");
                self.copies.take_in(address, response.shared, data);
                self.whole = Whole::default();
                if early {
                    self.statistics.early_reads.increment();
                } else {
                    self.statistics.late_reads.increment();
                }
                if self.early == Some(address) {
                    self.early = None;
                }
            }
            Job::Tail => {
                self.pointers.complete(transaction, response);
                self.statistics.tail_reads.increment();
                self.try_tail();
            }
            Job::Head { shown } => {
                self.pointers.complete(transaction, response);
                self.head_shown = shown;
                self.try_head();
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
}

impl HalfDescription for CachableQueueSend {
    fn layout(&self) -> Layout {
        let pointers = [
            ("send queue's tail", self.addresses.send_tail()),
            ("send queue's head", self.addresses.send_head()),
        ];
        let pointers = if self.message_ready == Announcement::ValidBit { &pointers[1..] } else { &pointers };
        let parts = (&self.copies, &self.pointers, &self.addresses);
        let written = self.addresses.send_head()..self.addresses.receive_head();
        let facts = match self.message_ready {
            Announcement::ValidBit => Vec::new(),
            ready => vec![(ANNOUNCEMENT, u64::from(ready == Announcement::CachableStore))],
        };
        Layout {
            facts,
            transactions: self.transactions(),
            written_by_interface: vec![written],
            ..self.queue.layout("send queue", pointers, parts)
        }
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        match self.queue.place(address) {
            Some(_) => self.copies.latest(address),
            None => self.pointers.peek(address),
        }
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        (self.message_ready == Announcement::ValidBit).then_some(READ_BACK).into_iter().collect()
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.takes_old_bytes = self.protocol_rules().contains(&rule);
        self.takes_old_bytes
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let held = self.announced - self.injected;
        let is_blocked = held > 0 && self.engine_done.is_some() && self.job.is_none();
        let header = self.message().ok().filter(|_| is_blocked);
        QueueState::of("send queue", held, Some(self.queue.entries)).held_for(header.map(Header::peer))
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match self.job {
            Some(Job::Block { early: true, .. }) => Some("reads a block early"),
            Some(Job::Block { .. }) => Some("reads a block"),
            Some(Job::Tail) => Some("reads the tail"),
            Some(Job::Head { .. }) => Some("writes the head"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None if self.announced == self.injected => None,
            None if self.engine_done.is_some_and(|done| done > now) => Some("prepares a packet"),
            None => Some("waits for the flow control"),
        };
        Some(Engine { doing, messages: self.announced - self.injected })
    }
}
