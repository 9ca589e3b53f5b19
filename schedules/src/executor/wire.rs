//! What carries messages from the senders' interfaces to the receivers'.
//!
//! The executor knows what a message costs at its ends; a wire says when it arrives. That of the
//! fitted model is a latency ([`Line`]); a network in which messages meet is [`crate::network`].

use crate::parameters::Line;
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
    /// A processor is engaged with a send from `begin` to `end`: at some time from `begin` on, the message's
    /// arrival becomes an event.
    fn send(&mut self, message: Message, begin: u64, end: u64, events: &mut Events);

    /// An event of its own ([`What::Wire`]).
    fn take(&mut self, now: u64, event: Event, events: &mut Events);
}

/// Every message takes the time that its size says, and none meets another.
impl Wire for Line {
    #[inline]
    fn send(&mut self, message: Message, begin: u64, end: u64, events: &mut Events) {
        let arrival = end.saturating_add_signed(self.at_ps(message.bytes)).max(begin);
        events.push(arrival, message.arrived());
    }

    fn take(&mut self, _now: u64, _event: Event, _events: &mut Events) {}
}
