//! What a model is: one half of a network interface.
//!
//! An interface has a send half and a receive half, and each is an [`InterfaceHalf`]: a
//! device on the node's bus with a few verbs. Two halves of the same model make
//! a plain interface, halves of two models a composed one; neither half knows.
//!
//! | verb | when |
//! | --- | --- |
//! | [`load`](InterfaceHalf::load), [`store`](InterfaceHalf::store) | the processor accesses a register (bus slave) |
//! | [`load_block`](InterfaceHalf::load_block), [`store_block`](InterfaceHalf::store_block) | the processor moves a block buffer |
//! | [`snoop`](InterfaceHalf::snoop) | another agent's transaction passes by (snooper) |
//! | [`home`](InterfaceHalf::home) | a block whose home this half is has to be read or written |
//! | [`wants_bus`](InterfaceHalf::wants_bus), [`issue`](InterfaceHalf::issue), [`complete`](InterfaceHalf::complete) | it moves blocks itself (bus master) |
//! | [`network`](InterfaceHalf::network) | a packet has arrived, or there is room to send |
//! | [`timer`](InterfaceHalf::timer) | an instant that it asked for has come |
//!
//! A half never calls the bus, the processor or another half. It changes its own
//! state, may use the network port that it is handed, and asks for timers. What
//! others want to know of it stands apart, in its [`HalfDescription`].

use narthex_fabrics::{Header, ProcessPort};
use narthex_kernel::{Archived, Duration, Time};
pub use narthex_memory::HomeReply;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::{BlockData, Kind, Response, SnoopReply, Transaction};

use crate::description::HalfDescription;
use crate::on_chip::Effects;

/// What a half is handed with each verb.
#[derive(Debug)]
pub struct Context<'a> {
    /// The present instant.
    pub now: Time,
    /// The node's end of the fabric, as this half's process has it.
    pub network: ProcessPort<'a>,
    /// The bytes of the local memory on the interconnect of the device's last port, if
    /// there is one: a port of the device's own to it, without transactions. What
    /// accesses take there is for the device to count.
    pub local_memory: Option<&'a mut MainMemory>,
    /// Instants at which [`InterfaceHalf::timer`] is to be called.
    pub timers: &'a mut Vec<Time>,
    /// What the program did wrong, found outside a register access.
    pub faults: &'a mut Vec<RegisterFault>,
    /// What else a device with a port in each tile asks for.
    pub on_chip: &'a mut Effects,
}

impl Context<'_> {
    /// Asks for [`InterfaceHalf::timer`] after `delay`; returns that instant.
    pub fn timer_after(&mut self, delay: Duration) -> Time {
        let at = self.now + delay;
        self.timers.push(at);
        at
    }

    /// Refuses the header of a packet with more than `payload_limit` bytes of
    /// payload, or without a receiver: the interface checks the process
    /// identifier that it names (isca96, Section 2.4).
    pub fn check(&self, header: Header, payload_limit: usize) -> Result<(), RegisterFault> {
        let bytes = header.payload_bytes();
        if bytes > payload_limit {
            let problem = format!("a packet of {bytes} payload bytes; at most {payload_limit} fit");
            return Err(RegisterFault(problem));
        }
        let checked = self.network.check(header.peer());
        checked.map_err(|problem| RegisterFault(format!("a packet to {problem}")))
    }
}

/// What makes a device send that has nothing to do so far: more with each of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trigger {
    /// An access to one of its registers, and nothing else.
    Access,
    /// A transaction of another agent on a block too. But before it sends anything because of
    /// that, it has to carry out one of its own: it reads what a processor has written.
    BlockToRead,
    /// Whatever it hears on an interconnect, or carries out there.
    Anything,
}

/// How soon a packet leaves because of what is heard on an interconnect, at least, and whether one
/// waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeToSend {
    /// The time from its cause to the packet: that of its engine, where that is not already at work.
    /// What lasts is over before: an access, a transaction of its own.
    pub time: Duration,
    /// What makes it send.
    pub cause: Trigger,
    /// It may have a packet that leaves as soon as the flow control has room.
    pub awaits_room: bool,
}

impl TimeToSend {
    /// It may send at once.
    pub const AT_ONCE: TimeToSend =
        TimeToSend { time: Duration::ZERO, cause: Trigger::Anything, awaits_room: true };
    /// It sends nothing, whatever calls it.
    pub const NONE: TimeToSend =
        TimeToSend { time: Duration::MAX, cause: Trigger::Access, awaits_room: false };

    /// Of both together.
    #[inline]
    pub fn and(self, other: TimeToSend) -> TimeToSend {
        TimeToSend {
            time: self.time.min(other.time),
            cause: self.cause.max(other.cause),
            awaits_room: self.awaits_room || other.awaits_room,
        }
    }
}

/// A processor's access to a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterAccess {
    /// Where the register is in its page.
    pub offset: u64,
    /// A load or a store.
    pub kind: Kind,
    /// What is stored.
    pub value: u64,
}

/// Why a register access is refused; ends the run as a guest fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterFault(pub String);

/// One half of a network interface: the verbs of its hardware. It is archived by
/// deriving serde's `Serialize` and `Deserialize`.
pub trait InterfaceHalf: HalfDescription + Archived + Send {
    /// The processor loads from the register at `offset`. `None`: this half has
    /// no such register. Where both halves have it, the values are joined by OR.
    fn load(&mut self, _context: &mut Context<'_>, _offset: u64) -> Option<Result<u64, RegisterFault>> {
        None
    }

    /// The processor stores to the register at `offset`.
    fn store(
        &mut self,
        _context: &mut Context<'_>,
        _offset: u64,
        _value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        None
    }

    /// Whether the register at `offset` takes stores of `bytes` bytes, beside those of doublewords.
    fn takes(&self, _offset: u64, _bytes: u16) -> bool {
        false
    }

    /// Whether an access to a register that is over at `context.now` does the same
    /// whatever comes from the network at `from` or later, and the half asks for nothing because
    /// of it; none: this half has no such register. See [`Device::independent_of_arrivals`](crate::Device::independent_of_arrivals).
    fn independent_of_arrivals(
        &self,
        _context: &Context<'_>,
        _access: RegisterAccess,
        _from: Time,
    ) -> Option<bool> {
        Some(false)
    }

    /// The processor loads the block at `offset` into a block buffer.
    fn load_block(
        &mut self,
        _context: &mut Context<'_>,
        _offset: u64,
    ) -> Option<Result<BlockData, RegisterFault>> {
        None
    }

    /// The processor stores a block buffer to the block at `offset`.
    fn store_block(
        &mut self,
        _context: &mut Context<'_>,
        _offset: u64,
        _block: &BlockData,
    ) -> Option<Result<(), RegisterFault>> {
        None
    }

    /// The time that a register access takes beyond the bus's own cycles.
    fn register_delay(&self) -> Duration;

    /// The time that a block store takes beyond the bus's own cycles.
    fn block_store_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// The time that a block load takes beyond the bus's own cycles.
    fn block_load_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Refuses another agent's transaction on a dirty block of its caches, on a bus that
    /// carries no data from cache to cache: the bytes that go home first.
    fn push(&mut self, _transaction: &Transaction) -> Option<BlockData> {
        None
    }

    /// Another agent's transaction on a block of the interface passes by: one of
    /// [`Layout::cachable`], of this half or of another. A home on a directory may say that it answers
    /// later, if its [`Layout`] says that it holds requests.
    fn snoop(&mut self, _context: &mut Context<'_>, _transaction: &Transaction) -> SnoopReply {
        SnoopReply::default()
    }

    /// A transaction on a block whose home this half is, and that no agent
    /// supplied from a cache.
    fn home(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        unreachable!("this half is the home of no block, and was asked for {:#x}", transaction.address)
    }

    /// Whether it wants to issue a transaction.
    fn wants_bus(&self) -> bool {
        false
    }

    /// The bus is granted: what to issue, if still anything.
    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        None
    }

    /// The transaction that it issued is over.
    fn complete(&mut self, _context: &mut Context<'_>, _transaction: &Transaction, _response: &Response) {}

    /// How long it sends nothing because of a call of any verb above, as it is now. Calls of the
    /// two verbs below do not count, unless it says that it sends nothing at all, for ever, or that
    /// no packet awaits room.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::AT_ONCE
    }

    /// How long it uses no interconnect because of what comes from the network, as it is now.
    /// What it does because of calls of other verbs does not count.
    fn time_to_interconnect(&self) -> Duration {
        Duration::ZERO
    }

    /// A packet has arrived, or the flow control has room that it had not before.
    fn network(&mut self, _context: &mut Context<'_>) {}

    /// An instant that this half asked for has come.
    fn timer(&mut self, _context: &mut Context<'_>) {}
}
