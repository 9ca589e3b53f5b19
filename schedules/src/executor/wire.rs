//! What carries messages from the senders' interfaces to the receivers'.
//!
//! The executor knows what a message costs at its ends; a wire says when it arrives. That of the
//! fitted model is a latency ([`Straight`]); a network in which messages meet is [`crate::network`].

use crate::queue::Queue;

/// The executor's events.
pub(crate) type Events = Queue<Event>;

/// What happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// An operation is over.
    Over,
    /// It starts, and others wait for that.
    Started,
    /// A send has its interface.
    Launched,
    /// A message is there.
    Arrived,
    /// The receiver's interface has taken it.
    Accepted,
    /// The receiver's processor has.
    Handled,
    /// The wire has something to do; it knows what by the operation.
    Wire,
}

/// Something that happens in a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The rank.
    pub rank: u32,
    /// The operation of this rank, or of the sender.
    pub operation: u32,
    /// The sender of a message.
    pub sender: u32,
    /// What happens to it.
    pub what: What,
}

/// A message that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// Its sender.
    pub sender: u32,
    /// The send, of its sender's operations.
    pub operation: u32,
    /// Its receiver.
    pub receiver: u32,
    /// How long it is.
    pub bytes: u64,
}

impl Message {
    /// Its arrival.
    pub fn arrived(self) -> Event {
        let Message { sender, operation, receiver, .. } = self;
        Event { rank: receiver, operation, sender, what: What::Arrived }
    }
}

/// Carries messages.
pub(crate) trait Wire {
    /// A processor is engaged with a send from the first to the second of these times: at some time from the first
    /// on, the message's arrival becomes an event. `latency` is the fit's, in picoseconds. False if the wire itself
    /// lets the send be over, since it may have no room for the message.
    fn send(&mut self, message: Message, engaged: (u64, u64), latency: i64, events: &mut Events) -> bool;

    /// The receiver's processor is engaged with a message that has arrived, until `end`.
    #[inline]
    fn engaged(&mut self, _arrived: Event, _end: u64) {}

    /// An event of its own ([`What::Wire`]).
    fn take(&mut self, now: u64, event: Event, events: &mut Events);
}

/// Every message takes its latency, and none meets another.
pub(crate) struct Straight;

impl Wire for Straight {
    #[inline]
    fn send(
        &mut self,
        message: Message,
        (begin, end): (u64, u64),
        latency: i64,
        events: &mut Events,
    ) -> bool {
        events.push(end.saturating_add_signed(latency).max(begin), message.arrived());
        true
    }

    fn take(&mut self, _now: u64, _event: Event, _events: &mut Events) {}
}
