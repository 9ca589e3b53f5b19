//! The receive unit: writes packets that have arrived to the slots of physical queues, one
//! at a time, and hands remote commands to their queue.
//!
//! ```text
//!   a packet is there ── receive_cycles ── its queue is looked up ── its bytes pass ── the producer moves
//!                                            └─ held while that is full: it stays in the network
//! ```
//!
//! A queue that stays full must not hold up other jobs for ever: it is stopped once its packet has
//! waited for `drain_limit`, and what comes for it is lost. The paper says nothing of this.
//!
//! Acknowledgements for programs come as messages of the node's own, before those of the
//! network. An urgent packet passes one that is held.

use std::collections::VecDeque;

use narthex_fabrics::Rank;
use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::blocks::{Origin, RemoteWrite};
use super::commands::Acknowledge;
use super::device::Voyager;
use super::layout::Direction;
use super::queues::{MISS, Queue, Target};
use super::registers::{QUEUE_NOT_DRAINED, SLOT_BYTES, SLOT_HEADER_BYTES};
use super::wire::{ADDRESS_BYTES, BlockDestination, Label};
use crate::half::Context;

/// The user's byte of a message that says why a block transfer has failed.
pub const REFUSAL: u8 = 254;

/// The user's byte of an acknowledgement.
pub const ACKNOWLEDGEMENT: u8 = 255;

/// Where a packet of a block transfer has its address in a slot of the miss queue, so that its
/// data begin with a line.
const BLOCK_ADDRESS: usize = 24;

/// What the unit is at.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Work {
    /// It looks the packet's queue up until then.
    Matches(Time),
    /// The packet waits for a slot, and whether it is urgent.
    Held { is_urgent: bool },
    /// Its bytes pass to a queue, or away, until then.
    Passes(Option<usize>, Time),
}

/// A queue that was stopped because it stayed full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Stopped {
    process: u8,
    queue: u8,
    at: Time,
}

/// The receive unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct ReceiveUnit {
    work: Option<Work>,
    /// The physical queue that is full while a packet waits for it, and since when.
    full: Option<(usize, Time)>,
    /// Programs' queues that it has stopped because they stayed full.
    stopped: Vec<Stopped>,
    /// Acknowledgements for programs.
    own: VecDeque<Acknowledge>,
}

impl ReceiveUnit {
    /// A program is told that something is done.
    pub fn tell(&mut self, acknowledge: Acknowledge) {
        self.own.push_back(acknowledge);
    }

    /// How many of them for certain logical queues wait.
    pub fn untold(&self, is_for: impl Fn(u8) -> bool) -> usize {
        self.own.iter().filter(|own| own.queue.is_some_and(&is_for)).count()
    }

    /// What it is at.
    pub fn doing(&self) -> Option<&'static str> {
        self.work.as_ref().map(|work| match work {
            Work::Matches(_) => "looks a packet up",
            Work::Held { .. } => "waits for a free slot",
            Work::Passes(..) => "receives a packet",
        })
    }

    /// Whether its packet waits for a slot.
    pub fn is_held(&self) -> bool {
        matches!(self.work, Some(Work::Held { .. }))
    }
}

impl Voyager {
    /// The packet that is next: an acknowledgement, or the network's oldest one.
    fn next_label(&self, context: &Context<'_>) -> Option<Label> {
        match self.state.receive.own.front() {
            Some(own) => Some(self.label_of(*own)),
            None => context.network.front().map(|packet| Label::of(packet.header)),
        }
    }

    /// Whether it has the network's high priority.
    fn next_is_urgent(&self, context: &Context<'_>) -> bool {
        self.state.receive.own.is_empty() && context.network.front().is_some_and(|packet| packet.is_urgent)
    }

    fn label_of(&self, own: Acknowledge) -> Label {
        let queue = own.queue.expect("it is for a program");
        let source = self.state.agent.rank_of(self.build.layout.owner(queue));
        Label { bytes: 4, user: ACKNOWLEDGEMENT, queue, source, ..Label::default() }
    }

    /// Takes it.
    fn take_payload(&mut self, context: &mut Context<'_>) -> Vec<u8> {
        match self.state.receive.own.pop_front() {
            Some(own) => own.value.to_le_bytes().to_vec(),
            None => context.network.take().expect("it has just been seen").payload,
        }
    }

    /// Lets the receive unit go on; whether it did.
    pub(super) fn step_receive(&mut self, context: &mut Context<'_>) -> bool {
        let clock = self.build.config.clock.clock();
        match self.state.receive.work {
            Some(Work::Held { is_urgent: false }) if self.next_is_urgent(context) => {
                self.state.receive.work = None;
                true
            }
            None => {
                if self.next_label(context).is_none() {
                    return false;
                }
                let begin = clock.edge_at_or_after(context.now);
                let until = clock.after(begin, self.build.config.receive_cycles.into());
                context.timers.push(until);
                self.state.receive.work = Some(Work::Matches(until));
                true
            }
            Some(Work::Matches(until)) if until > context.now => false,
            Some(Work::Matches(_) | Work::Held { .. }) => self.place(context),
            Some(Work::Passes(_, until)) if until > context.now => false,
            Some(Work::Passes(queue, _)) => {
                if let Some(queue) = queue {
                    self.state.queues.received(queue);
                }
                self.state.receive.work = None;
                true
            }
        }
    }

    /// Puts the next packet where it belongs, if there is room; whether anything changed.
    fn place(&mut self, context: &mut Context<'_>) -> bool {
        let label = self.next_label(context).expect("a packet is there");
        let target = match label.is_command {
            true if self.state.blocks.has_room(self.build.config.remote_commands) => Target::Dropped,
            true => Target::Held,
            false if label.is_firmware => self.state.queues.target_of_firmware(),
            false => self.state.queues.target(label.queue),
        };
        if target == Target::Held {
            if !label.is_command && self.stop_undrained(context, label) {
                return true;
            }
            let was_held = self.state.receive.is_held();
            let is_urgent = self.next_is_urgent(context);
            self.state.receive.work = Some(Work::Held { is_urgent });
            self.statistics.held.add(u64::from(!was_held));
            return !was_held;
        }
        self.state.receive.full.take_if(|(full, _)| target == Target::Queue(*full));
        let sender = context.network.front().map(|packet| packet.source);
        let payload = self.take_payload(context);
        let bytes = SLOT_HEADER_BYTES + payload.len() as u64;
        let queue = match target {
            Target::Queue(queue) => {
                self.write_slot(queue, label, &payload);
                Some(queue)
            }
            _ if label.is_command => {
                self.take_command(label, sender.expect("a command comes from the network"), payload);
                None
            }
            _ => {
                self.statistics.dropped.increment();
                None
            }
        };
        let clock = self.build.config.clock.clock();
        let begin = clock.edge_at_or_after(context.now);
        let until = clock.after(begin, self.build.config.sram_cycles(bytes));
        context.timers.push(until);
        self.state.receive.work = Some(Work::Passes(queue, until));
        true
    }

    /// For how long a full queue may hold up others: for ever, if it can hold up none but those of
    /// its own job.
    pub(super) fn drain_limit(&self, context: &Context<'_>) -> Option<Duration> {
        context.network.shares_machine().then_some(self.build.config.drain_limit)
    }

    /// Stops the program's queue for which a packet waits, if it has been full for too long; whether
    /// it did. The firmware does the same with those that it serves.
    fn stop_undrained(&mut self, context: &mut Context<'_>, label: Label) -> bool {
        let queues = &self.state.queues;
        let physical = queues.resident(Direction::Receive, label.queue);
        let is_full = |&physical: &usize| queues.queue(Direction::Receive, physical).is_full();
        let Some(physical) = physical.filter(is_full).filter(|_| !label.is_firmware) else { return false };
        let Some(limit) = self.drain_limit(context) else { return false };
        match self.state.receive.full {
            Some((full, since)) if full == physical => {
                let is_over = since + limit <= context.now;
                if is_over {
                    let Queue { process, logical, .. } = *queues.queue(Direction::Receive, physical);
                    let stopped = Stopped { process, queue: logical, at: context.now };
                    self.state.receive.full = None;
                    self.state
                        .receive
                        .stopped
                        .retain(|other| (other.process, other.queue) != (process, logical));
                    self.state.receive.stopped.push(stopped);
                    self.state.queues.fail(Direction::Receive, physical, QUEUE_NOT_DRAINED);
                }
                is_over
            }
            _ => {
                self.state.receive.full = Some((physical, context.now));
                context.timers.push(context.now + limit);
                false
            }
        }
    }

    /// The queues that were stopped like this and still are, in words.
    pub(super) fn stopped_queues(&self) -> Option<String> {
        let queues = self.state.queues.of(Direction::Receive);
        let is_stopped = |stopped: &&Stopped| {
            queues.iter().any(|queue| {
                queue.error == QUEUE_NOT_DRAINED
                    && (queue.process, queue.logical) == (stopped.process, stopped.queue)
            })
        };
        let told =
            self.state.receive.stopped.iter().filter(is_stopped).map(|Stopped { process, queue, at }| {
                format!(
                    "receive queue {queue} of process {process} was stopped at {at}: it stayed full for \
                 interfaces.voyager.drain_limit ({})",
                    self.build.config.drain_limit
                )
            });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn write_slot(&mut self, physical: usize, label: Label, payload: &[u8]) {
        let statistics = &mut self.statistics;
        let counter = if physical == MISS { &mut statistics.missed } else { &mut statistics.received };
        counter.increment();
        self.state.queues.begin(Direction::Receive, physical);
        let queue = self.state.queues.queue(Direction::Receive, physical);
        let (slot, header) = (queue.slot(queue.producer), queue.header(queue.producer));
        let sram = &mut self.state.sram;
        let mut bytes = Vec::with_capacity(SLOT_BYTES as usize);
        bytes.extend(label.slot_header().to_le_bytes());
        if label.is_firmware {
            bytes.resize(BLOCK_ADDRESS, 0);
        }
        bytes.extend(payload);
        sram.write(slot, &bytes);
        if let Some(header) = header {
            sram.set_word(header, u64::from(label.slot_header()) | u64::from(label.queue) << 32);
        }
    }

    /// A remote command goes to its queue.
    fn take_command(&mut self, label: Label, sender: Rank, payload: Vec<u8>) {
        let (place, data) = payload.split_at(ADDRESS_BYTES as usize);
        let place = BlockDestination::of(u64::from_le_bytes(place.try_into().expect("eight bytes")));
        self.state.blocks.remote.push_back(RemoteWrite {
            from: Origin { sender, process: label.queue, told: place.told, is_last: place.is_last },
            channel: label.user,
            address: place.address,
            data: data.to_vec(),
        });
    }
}
