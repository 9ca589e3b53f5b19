//! Block transfers: the block bus operation unit and the block transmit unit at the sender,
//! the remote command queue and the channel counters at the receiver (Section 3).
//!
//! ```text
//!   BLOCK_READ:      host memory ── lines ──► SRAM
//!                                               │ chained: as soon as a packet's lines are there
//!   BLOCK_TRANSMIT:                             └── 64 bytes and a bus command ──► network
//!   remote command queue:   network ──► bus unit ──► host memory, and the channel counts
//! ```
//!
//! Addresses are those of processes at both ends: each device translates its own, and refuses
//! what the process has not registered. A channel counter may count before it is set: it is at
//! zero when all packets that it was set for have come, from however many senders.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use narthex_fabrics::Rank;
use narthex_kernel::Time;
use narthex_memory::main_memory::PAGE_BYTES;
use serde::{Deserialize, Serialize};

use super::bus_unit::{self, Job, Moves};
use super::commands::{Acknowledge, BlockTransmit, HostAddress, Issuer};
use super::device::Voyager;
use super::receive::REFUSAL;
use super::registers::{BLOCK_PACKET_BYTES, NOTHING, fault};
use super::transmit::Outgoing;
use super::wire::{ADDRESS_BYTES, BlockDestination, Label};
use crate::half::Context;

/// The channel of packets that none counts.
pub const NO_CHANNEL: u8 = 255;

/// Whence a packet of a block transfer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The first process of the node that sends.
    pub sender: Rank,
    /// Whose memory it goes to.
    pub process: u8,
    /// The sender's logical receive queue that is told if it may not go there.
    pub told: Option<u8>,
    /// It is the last one of its transfer.
    pub is_last: bool,
}

/// A packet of a block transfer that has arrived.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RemoteWrite {
    /// Whence it is.
    pub from: Origin,
    /// The channel that counts it.
    pub channel: u8,
    /// The process's address.
    pub address: u64,
    /// What goes there.
    pub data: Vec<u8>,
}

/// What the block transmit unit is at.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum TransmitState {
    /// The next packet's bytes are not there yet.
    Waits,
    /// It forms a packet until then.
    Forms(Time),
    /// The packet waits for the link.
    Held(Outgoing),
    /// Its bytes pass until then.
    Passes(Time),
}

/// The command of the block transmit unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Transmitting {
    command: BlockTransmit,
    issuer: Issuer,
    sent: u64,
    stage: TransmitState,
}

impl Transmitting {
    /// Bytes of the next packet: up to a multiple of 64 at the destination.
    fn next_bytes(&self) -> u64 {
        let here = self.command.address + self.sent;
        (BLOCK_PACKET_BYTES - here % BLOCK_PACKET_BYTES).min(self.command.bytes - self.sent)
    }
}

/// A channel counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct Channel {
    /// Packets that it waits for, less those that came before it was set.
    count: i64,
    /// Who is told at zero; none: it is not set.
    acknowledge: Option<Acknowledge>,
}

/// The block units, the remote command queue, the channels, and the translation of processes'
/// addresses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BlockUnits {
    /// The queue of the BLOCK_READ that is under way, and how many of its bytes are in SRAM.
    reading: Option<(usize, u64)>,
    /// Queues whose last BLOCK_READ failed, by bit.
    failed_reads: u32,
    transmitting: Option<Transmitting>,
    /// Packets that wait for the bus unit.
    pub remote: VecDeque<RemoteWrite>,
    /// That of the packet which the bus unit writes.
    writing: Option<Origin>,
    /// Senders of transfers of which a packet was refused, the process here, and the sender's queue.
    refused: BTreeSet<(Rank, u8, u8)>,
    channels: Vec<Channel>,
    acknowledgements: VecDeque<u64>,
    /// Frames of pages that processes have registered, and how often.
    pages: Vec<BTreeMap<u64, (u64, u32)>>,
}

impl BlockUnits {
    /// Idle units with so many channels, for so many processes.
    pub fn new(channels: u32, processes: u8) -> Self {
        BlockUnits {
            reading: None,
            failed_reads: 0,
            transmitting: None,
            remote: VecDeque::new(),
            writing: None,
            refused: BTreeSet::new(),
            channels: vec![Channel::default(); channels as usize],
            acknowledgements: VecDeque::new(),
            pages: vec![BTreeMap::new(); processes.into()],
        }
    }

    /// Whether the remote command queue takes one more packet.
    pub fn has_room(&self, limit: u32) -> bool {
        self.remote.len() < limit as usize
    }

    /// Whether the block transmit unit takes a command.
    pub fn can_transmit(&self) -> bool {
        self.transmitting.is_none()
    }

    /// It takes one.
    pub fn transmit(&mut self, command: BlockTransmit, issuer: Issuer) {
        self.transmitting = Some(Transmitting { command, issuer, sent: 0, stage: TransmitState::Waits });
    }

    /// Whether a BLOCK_READ of a queue may begin: no transfer has still to learn that the one
    /// before failed.
    pub fn can_read(&self, queue: usize) -> bool {
        let follows = |own: &Transmitting| own.issuer.queue == queue && own.command.is_chained;
        !self.has_failed(queue) || !self.transmitting.as_ref().is_some_and(follows)
    }

    /// Whether the last BLOCK_READ of a queue failed.
    fn has_failed(&self, queue: usize) -> bool {
        self.failed_reads >> queue & 1 != 0
    }

    /// A BLOCK_READ begins. All bytes of the one before are there.
    pub fn begin_read(&mut self, queue: usize) {
        if let Some(own) = self.transmitting.as_mut().filter(|own| own.issuer.queue == queue) {
            own.command.is_chained = false;
        }
        self.reading = Some((queue, 0));
        self.failed_reads &= !(1 << queue);
    }

    /// That of a queue is over, or cannot begin.
    pub fn end_read(&mut self, queue: usize, failed: bool) {
        self.reading.take_if(|(reader, _)| *reader == queue);
        self.failed_reads = self.failed_reads & !(1 << queue) | u32::from(failed) << queue;
    }

    /// Sets a channel; what becomes due.
    pub fn set_channel(&mut self, channel: u8, count: u32, acknowledge: Acknowledge) -> Option<Acknowledge> {
        let own = &mut self.channels[usize::from(channel)];
        own.count += i64::from(count);
        own.acknowledge = Some(acknowledge);
        self.due(channel)
    }

    /// A channel is as if it had never been set.
    pub fn clear_channel(&mut self, channel: u8) {
        self.channels[usize::from(channel)] = Channel::default();
    }

    /// Whether there is such a channel.
    pub fn has_channel(&self, channel: u8) -> bool {
        usize::from(channel) < self.channels.len()
    }

    /// Packets are in memory; what becomes due.
    pub fn count(&mut self, channel: u8, packets: u32) -> Option<Acknowledge> {
        self.channels.get_mut(usize::from(channel))?.count -= i64::from(packets);
        self.due(channel)
    }

    fn due(&mut self, channel: u8) -> Option<Acknowledge> {
        let own = &mut self.channels[usize::from(channel)];
        own.acknowledge.take_if(|_| own.count == 0)
    }

    /// The firmware is told.
    pub fn tell_firmware(&mut self, value: u32) {
        self.acknowledgements.push_back(value.into());
    }

    /// Whether the acknowledge queue has an entry.
    pub fn has_acknowledgement(&self) -> bool {
        !self.acknowledgements.is_empty()
    }

    /// The oldest acknowledgement, which is gone then.
    pub fn take_acknowledgement(&mut self) -> u64 {
        self.acknowledgements.pop_front().unwrap_or(NOTHING)
    }

    /// A process's pages may be reached from `address` on.
    pub fn register(&mut self, process: u8, address: u64, frames: &[u64]) {
        for (page, &frame) in (address / PAGE_BYTES..).zip(frames) {
            self.pages[usize::from(process)].entry(page).or_insert((frame, 0)).1 += 1;
        }
    }

    /// The pages of a range may not be reached any more, if they were registered no other way.
    pub fn deregister(&mut self, process: u8, address: u64, length: u64) {
        let pages = &mut self.pages[usize::from(process)];
        for page in address / PAGE_BYTES..=(address + length - 1) / PAGE_BYTES {
            if let Some((_, count)) = pages.get_mut(&page) {
                *count -= 1;
                if *count == 0 {
                    pages.remove(&page);
                }
            }
        }
    }

    /// The node's address of one of a process.
    pub fn translate(&self, process: u8, address: u64) -> Option<u64> {
        let (frame, _) = self.pages.get(usize::from(process))?.get(&(address / PAGE_BYTES))?;
        Some(frame + address % PAGE_BYTES)
    }

    /// A packet was written, or refused: its origin, if a refused transfer ends with it.
    fn end_write(&mut self, is_refused: bool) -> Option<(Origin, u8)> {
        let from = self.writing.take()?;
        let told = from.told?;
        let transfer = (from.sender, from.process, told);
        if is_refused {
            self.refused.insert(transfer);
        }
        (from.is_last && self.refused.remove(&transfer)).then_some((from, told))
    }

    /// What the block transmit unit is at.
    pub fn doing(&self) -> Option<&'static str> {
        self.transmitting.as_ref().map(|own| match own.stage {
            TransmitState::Waits => "waits for a block's bytes",
            TransmitState::Held(_) => "waits for the network with a block",
            TransmitState::Forms(_) | TransmitState::Passes(_) => "sends a block",
        })
    }
}

impl Voyager {
    /// Who is told of a count or a transfer gets it.
    pub(super) fn acknowledge(&mut self, acknowledge: Acknowledge) {
        match acknowledge.queue {
            None => self.state.blocks.tell_firmware(acknowledge.value),
            Some(_) => self.state.receive.tell(acknowledge),
        }
    }

    /// The next packet of the remote command queue goes to the bus unit; whether one did.
    pub(super) fn step_remote(&mut self) -> bool {
        let state = &mut self.state;
        if !state.bus.is_free(bus_unit::REMOTE) {
            return false;
        }
        let Some(RemoteWrite { from, channel, address, data }) = state.blocks.remote.pop_front() else {
            return false;
        };
        state.blocks.writing = Some(from);
        let host = HostAddress { address, process: Some(from.process) };
        let bytes = data.len() as u64;
        let job = Job { issuer: None, moves: Moves::Data, host, bytes, done: 0, data, channel };
        state.bus.give(bus_unit::REMOTE, job);
        true
    }

    /// A job of the bus unit is over, or cannot go on.
    pub(super) fn end_job(&mut self, (place, job): (usize, Job), failure: Option<u64>) {
        if let Some(issuer) = job.issuer {
            self.state.commands.complete(issuer, failure);
        }
        if place == bus_unit::REMOTE
            && let Some((from, told)) = self.state.blocks.end_write(failure.is_some())
        {
            self.refuse_transfer(from, told);
        }
        match place {
            bus_unit::BLOCK_READ => {
                let queue = job.issuer.expect("it is a command's").queue;
                self.state.blocks.end_read(queue, failure.is_some());
            }
            bus_unit::REMOTE if failure.is_some() => self.statistics.remote_refused.increment(),
            bus_unit::REMOTE => {
                self.statistics.remote_writes.increment();
                let due = self.state.blocks.count(job.channel, 1);
                due.into_iter().for_each(|due| self.acknowledge(due));
            }
            _ => {}
        }
    }

    /// The sender of a block is told that its receiver has not registered what it goes to: a
    /// message to the queue that was to be told of its end.
    fn refuse_transfer(&mut self, from: Origin, told: u8) {
        let payload = (fault::ADDRESS as u32).to_le_bytes().to_vec();
        let label = Label {
            bytes: payload.len() as u8,
            user: REFUSAL,
            queue: told,
            source: self.state.agent.rank_of(from.process),
            ..Label::default()
        };
        self.state.transmit.tell(Outgoing { rank: from.sender, is_urgent: false, label, payload });
    }

    /// Lets the block transmit unit go on; whether it did.
    pub(super) fn step_block_transmit(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(job) = self.state.bus.job(bus_unit::BLOCK_READ) {
            let (done, queue) = (job.done, job.issuer.expect("it is a command's").queue);
            self.state.blocks.reading = Some((queue, done));
        }
        let clock = self.build.config.clock.clock();
        let begin = clock.edge_at_or_after(context.now);
        let Some(mut own) = self.state.blocks.transmitting.take() else { return false };
        let bytes = own.next_bytes();
        let mut went_on = true;
        match &mut own.stage {
            TransmitState::Waits if own.sent == own.command.bytes => {
                self.end_block_transmit(&own, None);
                return true;
            }
            TransmitState::Waits
                if own.command.is_chained && self.state.blocks.has_failed(own.issuer.queue) =>
            {
                self.end_block_transmit(&own, Some(fault::ADDRESS));
                return true;
            }
            TransmitState::Waits => {
                let follows =
                    |(reader, _): &(usize, u64)| own.command.is_chained && *reader == own.issuer.queue;
                let there = self.state.blocks.reading.filter(follows);
                went_on = there.is_none_or(|(_, there)| own.sent + bytes <= there);
                if went_on {
                    let until = clock.after(begin, self.build.config.block_transmit_cycles.into());
                    context.timers.push(until);
                    own.stage = TransmitState::Forms(until);
                }
            }
            TransmitState::Forms(until) if *until <= context.now => {
                own.stage = TransmitState::Held(self.block_packet(context, &own));
            }
            TransmitState::Held(outgoing) => {
                went_on = outgoing.leave(context);
                if went_on {
                    self.statistics.blocks_sent.increment();
                    let cycles = self.build.config.sram_cycles(ADDRESS_BYTES + bytes);
                    let until = clock.after(begin, cycles);
                    context.timers.push(until);
                    own.stage = TransmitState::Passes(until);
                }
            }
            TransmitState::Passes(until) if *until <= context.now => {
                own.sent += bytes;
                own.stage = TransmitState::Waits;
            }
            TransmitState::Forms(_) | TransmitState::Passes(_) => went_on = false,
        }
        self.state.blocks.transmitting = Some(own);
        went_on
    }

    fn end_block_transmit(&mut self, own: &Transmitting, failure: Option<u64>) {
        self.state.commands.complete(own.issuer, failure);
        own.command.acknowledge.into_iter().for_each(|due| self.acknowledge(due));
    }

    fn block_packet(&self, context: &Context<'_>, own: &Transmitting) -> Outgoing {
        let BlockTransmit { sram, node, process, address, channel, told, is_last, .. } = own.command;
        let bytes = own.next_bytes();
        let is_last = is_last && own.sent + bytes == own.command.bytes;
        let place = BlockDestination { address: address + own.sent, told, is_last };
        let mut payload = place.bits().to_le_bytes().to_vec();
        payload.extend(self.state.sram.bytes(sram + own.sent, bytes));
        let label =
            Label { is_command: true, bytes: bytes as u8, user: channel, queue: process, ..Label::default() };
        let rank = context.network.rank_on(node.into()).expect("it was checked");
        Outgoing { rank, is_urgent: false, label, payload }
    }
}
