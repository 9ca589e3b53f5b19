//! A modelled rank's end of the network.
//!
//! ```text
//!   send ──► queue ▤▤▤ ──► port: flow control, network ──► nodes
//!   o_r  ◄── queue ▤▤▤ ◄── port                        ◄──
//! ```
//!
//! The port is that of a node: the same flow control, with the same buffers, that acknowledges, returns
//! and repeats. Before and behind it stands what the interface has: a queue with so many entries, or
//! none, where the flow control's buffers are the limit (a FIFO).
//!
//! - **To send**, a packet needs room in the flow control. Without, it waits in the queue, and all that
//!   follow wait behind it. A send whose last packet has no place in the queue is not over before it
//!   has one; what the rank sends next comes a gap later.
//! - **To receive**, packets are taken out of the flow control a gap apart as long as the queue has an
//!   entry, which is free again when the processor has handled the message. Without a queue the
//!   processor takes a message's last packet itself, when it has handled it; those before come a gap
//!   apart.

use std::collections::VecDeque;

use narthex_fabrics::flow_control::Statistics;
use narthex_fabrics::port::{Calls, NetworkPort};
use narthex_fabrics::{Frame, Phase, Sending};
use narthex_kernel::Time;

use super::Settings;
use super::packets::{Partial, Received, SentMessage};

/// A message that leaves, packet by packet.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    sent: SentMessage,
    /// Packets that have gone.
    gone: u32,
    /// The next one goes no sooner.
    not_before: Time,
}

/// What a packet that waits to be taken is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WaitingPacket {
    /// A message that is not whole by it.
    Part,
    /// One that is.
    Whole,
    /// What no processor of the model handles.
    Control,
}

/// A rank's end.
pub(super) struct End {
    pub port: NetworkPort,
    outgoing: VecDeque<Outgoing>,
    /// Packets of messages that were to be sent, and those that have gone.
    queued: u64,
    gone: u64,
    /// The next packet has no room.
    is_blocked: bool,
    /// Sends that are not over, with the number of their last packet.
    held: VecDeque<(u64, u32)>,
    next_number: u8,
    incoming: VecDeque<WaitingPacket>,
    /// Whole messages of which the last packet was taken, and those that were handled.
    taken: u64,
    handled: u64,
    /// The next packet is taken no sooner.
    takes_at: Time,
    partial: Partial,
}

impl End {
    pub fn new(port: NetworkPort) -> Self {
        End {
            port,
            outgoing: VecDeque::new(),
            queued: 0,
            gone: 0,
            is_blocked: false,
            held: VecDeque::new(),
            next_number: 0,
            incoming: VecDeque::new(),
            taken: 0,
            handled: 0,
            takes_at: Time::ZERO,
            partial: Partial::default(),
        }
    }

    /// A message is to leave, its first packet not before an instant; returns the number of its last packet.
    pub fn enqueue(&mut self, settings: &Settings, sent: SentMessage, not_before: Time) -> u64 {
        let number = self.next_number;
        let packets = settings.format.packets(sent.bytes);
        if packets > 1 {
            self.next_number = number.wrapping_add(1);
        }
        self.outgoing.push_back(Outgoing { sent: SentMessage { number, ..sent }, gone: 0, not_before });
        self.queued += u64::from(packets);
        self.queued
    }

    /// Lets packets go for which it is time and for which there is room; says when to call again.
    pub fn send(&mut self, settings: &Settings, now: Time) -> Option<Time> {
        self.is_blocked = false;
        while let Some(first) = self.outgoing.front_mut() {
            let Outgoing { sent, gone, not_before } = *first;
            if not_before > now {
                return Some(not_before);
            }
            let mut port = self.port.of_process(0);
            if !port.can_send(sent.to) {
                self.is_blocked = true;
                return None;
            }
            let (header, payload) = settings.format.packet(&sent, gone);
            port.send(header, payload);
            self.gone += 1;
            if gone + 1 < settings.format.packets(sent.bytes) {
                *first = Outgoing { gone: gone + 1, not_before: now + settings.spacing, ..*first };
                continue;
            }
            self.outgoing.pop_front();
            if let Some(next) = self.outgoing.front_mut().filter(|_| now > not_before) {
                next.not_before = next.not_before.max(now + settings.gap(next.sent.bytes));
            }
        }
        None
    }

    /// The processor is through with a send; whether that is over, or is held until there is room.
    pub fn ends(&mut self, settings: &Settings, operation: u32, last_packet: u64) -> bool {
        let is_over = !self.is_blocked || last_packet <= self.gone + settings.send_entries;
        if !is_over {
            self.held.push_back((last_packet, operation));
        }
        is_over
    }

    /// A send that was held and is over now.
    pub fn release(&mut self, settings: &Settings) -> Option<u32> {
        let (last_packet, operation) = *self.held.front()?;
        (last_packet <= self.gone + settings.send_entries).then(|| self.held.pop_front())?;
        Some(operation)
    }

    /// A frame has come; whether there may be room.
    pub fn arrive(&mut self, now: Time, frame: Frame, phase: Phase) -> bool {
        self.port.arrive(now, frame, phase).room
    }

    /// The next packet that has come and was not looked at: none, or the message that is whole by it, if any.
    pub fn look(
        &mut self,
        settings: &Settings,
        is_control: impl FnOnce(&Received) -> bool,
    ) -> Option<Option<Received>> {
        let port = self.port.of_process(0);
        let packet = port.at(self.incoming.len())?;
        let message = self.partial.add(&settings.format, packet);
        self.incoming.push_back(match &message {
            None => WaitingPacket::Part,
            Some(message) if is_control(message) => WaitingPacket::Control,
            Some(_) => WaitingPacket::Whole,
        });
        Some(message)
    }

    /// The processor has handled a message.
    pub fn handled(&mut self) {
        self.handled += 1;
    }

    /// Takes packets out of the flow control; says when to call again.
    pub fn take(&mut self, settings: &Settings, now: Time) -> Option<Time> {
        while let Some(&first) = self.incoming.front() {
            let is_by_processor = first == WaitingPacket::Whole && settings.receive_entries == 0;
            if first == WaitingPacket::Whole && self.taken >= self.handled + settings.receive_entries {
                return None;
            }
            if first != WaitingPacket::Control && !is_by_processor {
                if self.takes_at > now {
                    return Some(self.takes_at);
                }
                let bytes = self.port.of_process(0).front().map_or(0, |packet| packet.payload.len() as u64);
                self.takes_at = now + settings.gap(bytes);
            }
            self.port.of_process(0).take();
            self.incoming.pop_front();
            self.taken += u64::from(first == WaitingPacket::Whole);
        }
        None
    }

    /// What leaves after a step.
    pub fn depart(&mut self, now: Time, send: impl FnMut(Sending<Frame>)) -> Calls {
        self.port.departures(now, |_, _| {}, send)
    }

    /// What its flow control did.
    pub fn statistics(&self) -> &Statistics {
        self.port.statistics()
    }
}
