//! The transmit unit: sends messages of physical queues, and slots that firmware names by
//! TRANSMIT commands, one packet at a time, in turn.
//!
//! ```text
//!   a message waits ── transmit_cycles ── the packet leaves ── its bytes pass ── the slot is free
//!                      select, read, translate   └─ held while the link has no room
//! ```
//!
//! Queues with the network's high priority go first, and go on while a packet of the others
//! is held: a packet of each priority can be.
//!
//! The link is slower than the SRAM, so a packet is handed over when its header is known, and
//! its bytes follow at the SRAM's rate.

use std::collections::VecDeque;

use narthex_fabrics::{Header, Rank};
use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::commands::Issuer;
use super::device::{State, Voyager};
use super::layout::{Direction, ENTRY_BYTES};
use super::registers::{
    BLOCK_PACKET_BYTES, MOST_PAYLOAD, QUEUE_BAD_DESTINATION, QUEUE_BAD_LENGTH, SLOT_HEADER_BYTES, fault,
};
use super::wire::{ADDRESS_BYTES, Label};
use crate::half::Context;

/// Where the data of a packet of a block transfer begin, in the lines that PACKET names.
const PACKET_DATA: u64 = 32;

/// Of a translation's entry: it is valid.
pub const ENTRY_VALID: u64 = 1 << 63;

/// A slot that firmware has sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Direct {
    /// Whose command it is.
    pub issuer: Issuer,
    /// It is a packet of a block transfer.
    pub is_block: bool,
    /// The slot's SRAM address.
    pub sram: u64,
    /// The logical receive queue; of a block transfer the process there.
    pub queue: u8,
    /// The node.
    pub node: u16,
    /// Which of the node's processes sends.
    pub process: u8,
}

/// A packet that is ready to leave.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Outgoing {
    /// To which rank the network carries it.
    pub rank: Rank,
    /// It has the network's high priority.
    pub is_urgent: bool,
    /// Its header.
    pub label: Label,
    /// What it carries.
    pub payload: Vec<u8>,
}

impl Outgoing {
    /// Hands it over, if the network takes it.
    pub fn leave(&mut self, context: &mut Context<'_>) -> bool {
        let (network, rank, header) = (&mut context.network, self.rank, self.label.header());
        match self.is_urgent {
            true if network.can_send_urgent_to(rank) => {
                network.send_urgent(rank, header, std::mem::take(&mut self.payload));
                true
            }
            false if network.can_send_to(rank) => {
                network.send_unrecorded(rank, header, std::mem::take(&mut self.payload));
                true
            }
            _ => false,
        }
    }
}

/// Where the unit reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum From {
    Queue(usize),
    Command(Direct),
    Refusal,
}

/// What the unit is at.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Work {
    /// It selects, reads and translates until then.
    Begins(From, Time),
    /// The packet's bytes pass until then.
    Passes(From, Time),
}

/// The transmit unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TransmitUnit {
    work: Option<Work>,
    /// Packets that wait for the link: an urgent one, and another one.
    held: [Option<(From, Outgoing)>; 2],
    /// Slots that firmware sends, by command queue.
    direct: [Option<Direct>; 2],
    /// What senders of blocks are told.
    refusals: VecDeque<Outgoing>,
    /// The queue that was served last.
    last: usize,
    /// A command queue was served last.
    had_command: bool,
}

impl TransmitUnit {
    /// An idle unit.
    pub fn new() -> Self {
        TransmitUnit {
            work: None,
            held: [None, None],
            direct: [None; 2],
            refusals: VecDeque::new(),
            last: 0,
            had_command: false,
        }
    }

    /// Whether a command queue may name a slot.
    pub fn is_free(&self, queue: usize) -> bool {
        self.direct[queue].is_none()
    }

    /// A command queue names a slot.
    pub fn send(&mut self, direct: Direct) {
        self.direct[direct.issuer.queue] = Some(direct);
    }

    /// A sender of blocks is told something.
    pub fn tell(&mut self, outgoing: Outgoing) {
        self.refusals.push_back(outgoing);
    }

    /// For whom the network holds its packet back.
    pub fn held_for(&self) -> Option<Rank> {
        self.held.iter().flatten().map(|(_, outgoing)| outgoing.rank).next()
    }

    /// What it is at.
    pub fn doing(&self) -> Option<&'static str> {
        match self.work {
            Some(Work::Begins(..)) => Some("reads a message"),
            Some(Work::Passes(..)) => Some("sends a packet"),
            None => self.held_for().map(|_| "waits for the network"),
        }
    }
}

impl Default for TransmitUnit {
    fn default() -> Self {
        TransmitUnit::new()
    }
}

impl State {
    /// What the transmit unit serves next: urgent queues, then commands and other queues in turn.
    fn next_to_send(&mut self) -> Option<From> {
        let TransmitUnit { held: [urgent, other], direct: commands, refusals, last, had_command, .. } =
            &mut self.transmit;
        let first = self.queues.next_to_transmit(*last, true).filter(|_| urgent.is_none());
        if first.is_none() && other.is_some() {
            return None;
        }
        if first.is_none() && !refusals.is_empty() {
            return Some(From::Refusal);
        }
        let queue = first.or_else(|| self.queues.next_to_transmit(*last, false));
        let command = commands.iter().position(Option::is_some).filter(|_| first.is_none());
        match (command, queue) {
            (Some(command), _) if queue.is_none() || !*had_command => {
                *had_command = true;
                commands[command].take().map(From::Command)
            }
            (_, Some(queue)) => {
                (*last, *had_command) = (queue, false);
                self.queues.begin(Direction::Transmit, queue);
                Some(From::Queue(queue))
            }
            _ => None,
        }
    }
}

impl Voyager {
    /// Lets the transmit unit go on; whether it did.
    pub(super) fn step_transmit(&mut self, context: &mut Context<'_>) -> bool {
        match self.state.transmit.work {
            None => {
                if self.launch(context, 0) || self.launch(context, 1) {
                    return true;
                }
                let Some(from) = self.state.next_to_send() else { return false };
                let clock = self.build.config.clock.clock();
                let begin = clock.edge_at_or_after(context.now);
                let until = clock.after(begin, self.build.config.transmit_cycles.into());
                context.timers.push(until);
                self.state.transmit.work = Some(Work::Begins(from, until));
                true
            }
            Some(Work::Begins(_, until) | Work::Passes(_, until)) if until > context.now => false,
            Some(Work::Begins(from, _)) => {
                self.state.transmit.work = None;
                if let Some(outgoing) = self.read(context, from) {
                    let place = usize::from(!outgoing.is_urgent);
                    self.state.transmit.held[place] = Some((from, outgoing));
                }
                true
            }
            Some(Work::Passes(from, _)) => {
                self.state.transmit.work = None;
                match from {
                    From::Queue(queue) => self.state.queues.transmitted(queue),
                    From::Command(direct) => self.state.commands.complete(direct.issuer, None),
                    From::Refusal => {}
                }
                true
            }
        }
    }

    /// A packet that waits for the link leaves; false if none does.
    fn launch(&mut self, context: &mut Context<'_>, place: usize) -> bool {
        let held = &mut self.state.transmit.held[place];
        let Some((from, outgoing)) = held else { return false };
        let (from, bytes) = (*from, outgoing.payload.len() as u64);
        let is_block = outgoing.label.is_command || outgoing.label.is_firmware;
        if !outgoing.leave(context) {
            return false;
        }
        *held = None;
        self.statistics.sent.increment();
        if !is_block {
            context.network.count_message(Header::BYTES as u64 + bytes);
        }
        let clock = self.build.config.clock.clock();
        let begin = clock.edge_at_or_after(context.now);
        let until = clock.after(begin, self.build.config.sram_cycles(SLOT_HEADER_BYTES + bytes));
        context.timers.push(until);
        self.state.transmit.work = Some(Work::Passes(from, until));
        true
    }

    /// The packet of a message; none if it is wrong, which its sender is told.
    fn read(&mut self, context: &Context<'_>, from: From) -> Option<Outgoing> {
        let State { queues, sram, commands, .. } = &mut self.state;
        match from {
            From::Queue(place) => {
                let queue = queues.queue(Direction::Transmit, place);
                let (process, is_urgent) = (queue.process, queue.is_urgent);
                let slot = queue.slot(queue.consumer);
                let header = sram.word(slot) as u32;
                let bytes = u64::from(header >> 16 & 0x7f);
                let entry = self.build.layout.translation(process) + u64::from(header & 0xffff) * ENTRY_BYTES;
                let is_entry = u64::from(header & 0xffff) < self.build.layout.destinations;
                let entry = if is_entry { sram.word(entry) } else { 0 };
                let is_there = context.network.rank_on(entry & 0xffff).is_some();
                let error = match (bytes > MOST_PAYLOAD, entry & ENTRY_VALID != 0 && is_there) {
                    (true, _) => QUEUE_BAD_LENGTH,
                    (_, false) => QUEUE_BAD_DESTINATION,
                    (false, true) => {
                        let outgoing = self.outgoing(context, slot, entry, process);
                        return Some(Outgoing { is_urgent, ..outgoing });
                    }
                };
                queues.fail(Direction::Transmit, place, error);
                self.statistics.refused.increment();
                None
            }
            From::Refusal => self.state.transmit.refusals.pop_front(),
            From::Command(direct) if direct.is_block => self.read_packet(context, direct),
            From::Command(direct) => {
                let Direct { issuer, sram: slot, queue, node, process, .. } = direct;
                let bytes = u64::from(sram.word(slot) as u32 >> 16 & 0x7f);
                let nodes = context.network.nodes().1;
                if bytes > MOST_PAYLOAD || node >= nodes || process >= self.build.layout.processes {
                    commands.complete(issuer, Some(fault::DESTINATION));
                    return None;
                }
                let entry = u64::from(node) | u64::from(queue) << 16;
                Some(self.outgoing(context, slot, entry, process))
            }
        }
    }

    /// A packet of a block transfer that firmware has made: three lines, of which the first
    /// one says what it is.
    fn read_packet(&mut self, context: &Context<'_>, direct: Direct) -> Option<Outgoing> {
        let Direct { issuer, sram: lines, queue: process, node, process: sender, .. } = direct;
        let State { sram, commands, agent, .. } = &mut self.state;
        let control = sram.word(lines + 8);
        let bytes = control & 0xff;
        let processes = self.build.layout.processes;
        let is_known = node < context.network.nodes().1 && process < processes && sender < processes;
        if !is_known || bytes > BLOCK_PACKET_BYTES {
            commands.complete(issuer, Some(fault::DESTINATION));
            return None;
        }
        let is_firmware = control >> 16 & 1 != 0;
        let label = Label {
            is_command: !is_firmware,
            is_firmware,
            bytes: bytes as u8,
            user: (control >> 8) as u8,
            queue: process,
            source: agent.rank_of(sender),
        };
        let mut payload = sram.bytes(lines, ADDRESS_BYTES).to_vec();
        payload.extend(sram.bytes(lines + PACKET_DATA, bytes));
        let rank = context.network.rank_on(node.into()).expect("it has been checked");
        Some(Outgoing { rank, is_urgent: false, label, payload })
    }

    /// The packet of a slot for a translated destination.
    fn outgoing(&self, context: &Context<'_>, slot: u64, entry: u64, process: u8) -> Outgoing {
        let header = self.state.sram.word(slot) as u32;
        let bytes = (header >> 16 & 0x7f) as u8;
        let label = Label {
            is_command: false,
            is_firmware: false,
            bytes,
            user: (header >> 24) as u8,
            queue: (entry >> 16) as u8,
            source: self.state.agent.rank_of(process),
        };
        let rank = context.network.rank_on(entry & 0xffff).expect("it has been checked");
        let payload = self.state.sram.bytes(slot + SLOT_HEADER_BYTES, bytes.into()).to_vec();
        Outgoing { rank, is_urgent: false, label, payload }
    }
}

/// Most bytes that a packet's payload has.
pub const LARGEST_PAYLOAD: u64 = MOST_PAYLOAD;

// A packet of a block transfer is none larger than a basic message.
const _: () = assert!(ADDRESS_BYTES + BLOCK_PACKET_BYTES <= LARGEST_PAYLOAD);
