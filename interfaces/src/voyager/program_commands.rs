//! Commands of programs: "The host processor sets up the Block Bus Operations unit, the Block
//! Transmit unit, and initializes the DMA Channel Counters with commands issued to the Local
//! Command queues" (Section 3).
//!
//! ```text
//!   store to a command window ── the process's queue ── a whole command ── checked ──► its unit
//!                                  └─ full: tried again               └─ wrong: its fault is kept
//! ```
//!
//! Each process has a queue, and a page for it. It may issue BLOCK_READ, BLOCK_TRANSMIT,
//! COUNTER_SET and COMPLETE, in the doublewords of the firmware's commands. They name nothing
//! but what is the process's, so that a wrong one harms no other ("full protection", Section 1):
//!
//! | the firmware's | a program's |
//! | --- | --- |
//! | SRAM address | offset in the process's part of bank A |
//! | process of a host address | the process itself, in what it has registered |
//! | node, process | virtual destination: the node and the process that have this queue (Section 2, "Queue Translation") |
//! | channel | of that process, or its own |
//! | logical receive queue | receive queue k of the process |
//! | tag of the completion | receive queue k: gets a message with the fault, 0 for none ("all these commands include acknowledgement options") |
//!
//! One BLOCK_READ may be followed by several BLOCK_TRANSMITs: a multicast (Section 3). The first
//! one is chained to the read; the others find all bytes in SRAM.
//!
//! How deep a queue is the paper does not say: as deep as one of the firmware's
//! (`command_words`), and its commands take the same `command_cycles`.

use narthex_fabrics::Header;

use super::blocks::NO_CHANNEL;
use super::commands::{
    Acknowledge, BlockTransmit, Completed, HostAddress, Issuer, Operation, process_of, queue_of,
};
use super::device::Voyager;
use super::layout::ENTRY_BYTES;
use super::registers::{COMMAND_WINDOW_FAULT, COMMAND_WINDOW_ISSUE, NOTHING, fault};
use super::transmit::ENTRY_VALID;
use crate::half::Context;

/// Bytes of the stores of commands.
const DOUBLEWORD: u16 = 8;

impl Voyager {
    /// Whether a program's store to its command window has to wait for room.
    pub(super) fn refuses_command(&self, process: u8, offset: u64, size: u16) -> bool {
        is_command(offset, size) && self.state.commands.room(queue_of(process)) == 0
    }

    /// A program stores to its command window.
    pub(super) fn store_command(&mut self, process: u8, offset: u64, size: u16, value: u64) {
        let (commands, queue) = (&mut self.state.commands, queue_of(process));
        if offset == COMMAND_WINDOW_FAULT && size == DOUBLEWORD {
            commands.clear_fault(process);
        } else if !is_command(offset, size) || commands.push(queue, value).is_err() {
            commands.fail(queue, fault::OPERAND);
        }
    }

    /// A program loads from its command window.
    pub(super) fn load_command_window(&self, process: u8, offset: u64) -> u64 {
        match offset {
            COMMAND_WINDOW_ISSUE => self.state.commands.room(queue_of(process)) as u64,
            COMMAND_WINDOW_FAULT => self.state.commands.fault_of(process),
            _ => NOTHING,
        }
    }

    /// Whether a command may begin: of a process's queue, one that notifies waits while as many of
    /// the process's messages wait for the receive unit as completions may for the firmware.
    pub(super) fn may_notify(&self, issuer: Issuer) -> bool {
        let limit = self.build.config.completions as usize;
        match (process_of(issuer.queue), issuer.notify) {
            (Some(process), Some(_)) => {
                let layout = &self.build.layout;
                self.state.receive.untold(|queue| layout.owner(queue) == process) < limit
            }
            _ => true,
        }
    }

    /// A command as the units understand it: that of a program names what is the process's.
    ///
    /// # Errors
    /// The fault of a program's command that it may not issue.
    pub(super) fn resolved(
        &self,
        context: &Context<'_>,
        operation: Operation,
        issuer: Issuer,
    ) -> Result<Operation, u64> {
        let Some(process) = process_of(issuer.queue) else { return Ok(operation) };
        if let Some(own) = issuer.notify {
            self.own_queue(process, own)?;
        }
        match operation {
            Operation::BlockRead { host, sram, bytes } => {
                let host = HostAddress { process: Some(process), ..host };
                Ok(Operation::BlockRead { host, sram: self.own_sram(process, sram, bytes)?, bytes })
            }
            Operation::BlockTransmit(command) => {
                self.resolved_transmit(context, process, command).map(Operation::BlockTransmit)
            }
            Operation::CounterSet { channel, count, acknowledge } => {
                let own = acknowledge.queue.ok_or(fault::OPERAND)?;
                let acknowledge = Acknowledge { queue: Some(self.own_queue(process, own)?), ..acknowledge };
                let channel = self.channel_of(process, channel)?;
                Ok(Operation::CounterSet { channel, count, acknowledge })
            }
            Operation::Complete => Ok(Operation::Complete),
            _ => Err(fault::OPERAND),
        }
    }

    fn resolved_transmit(
        &self,
        context: &Context<'_>,
        process: u8,
        command: BlockTransmit,
    ) -> Result<BlockTransmit, u64> {
        // The destination takes the whole doubleword's lowest part; nothing else stands there.
        if command.process != 0 {
            return Err(fault::OPERAND);
        }
        let (node, there) = self.destination(context, process, command.node)?;
        Ok(BlockTransmit {
            sram: self.own_sram(process, command.sram, command.bytes)?,
            node,
            process: there,
            channel: match command.channel {
                NO_CHANNEL => NO_CHANNEL,
                channel => self.channel_of(there, channel)?,
            },
            told: command.told.map(|own| self.own_queue(process, own)).transpose()?,
            ..command
        })
    }

    /// The node and the process that have a virtual destination's queue.
    fn destination(&self, context: &Context<'_>, process: u8, number: u16) -> Result<(u16, u8), u64> {
        let layout = &self.build.layout;
        let number = u64::from(number);
        let entry = match number < layout.destinations {
            true => self.state.sram.word(layout.translation(process) + number * ENTRY_BYTES),
            false => 0,
        };
        let (node, logical) = (entry as u16, (entry >> 16) as u8);
        let is_there = entry & ENTRY_VALID != 0 && context.network.rank_on(node.into()).is_some();
        is_there.then(|| (node, layout.owner(logical))).ok_or(fault::DESTINATION)
    }

    /// The SRAM address of an offset in a process's part.
    fn own_sram(&self, process: u8, offset: u64, bytes: u64) -> Result<u64, u64> {
        let layout = &self.build.layout;
        let is_own = bytes > 0 && offset + bytes <= layout.buffer_bytes;
        is_own.then(|| layout.buffers_of(process).start + offset).ok_or(fault::SRAM)
    }

    /// The node's number of a process's receive queue.
    fn own_queue(&self, process: u8, own: u8) -> Result<u8, u64> {
        let layout = &self.build.layout;
        (u16::from(own) < layout.queues).then(|| layout.logical(process, own)).ok_or(fault::DESTINATION)
    }

    /// The node's number of a process's channel: nodes are alike.
    fn channel_of(&self, process: u8, channel: u8) -> Result<u8, u64> {
        let each = self.channels_of_process();
        let is_own = u32::from(channel) < each;
        is_own.then(|| (u32::from(process) * each) as u8 + channel).ok_or(fault::OPERAND)
    }

    /// A program's block begins to leave: the network counts it as a message.
    pub(super) fn count_block(&self, context: &mut Context<'_>, operation: Operation, issuer: Issuer) {
        if let (Operation::BlockTransmit(command), Some(_)) = (operation, process_of(issuer.queue)) {
            context.network.count_message(Header::BYTES as u64 + command.bytes);
        }
    }

    /// Programs are told what commands of theirs are complete; whether one was.
    pub(super) fn step_completed(&mut self) -> bool {
        let Some(Completed { process, queue, fault }) = self.state.commands.take_completed() else {
            return false;
        };
        // A queue that the process has not is a fault which its window shows.
        if let Ok(logical) = self.own_queue(process, queue) {
            self.state.receive.tell(Acknowledge { queue: Some(logical), value: fault as u32 });
        }
        true
    }
}

/// Whether a store to a command window is the next doubleword of a command.
fn is_command(offset: u64, size: u16) -> bool {
    offset == COMMAND_WINDOW_ISSUE && size == DOUBLEWORD
}
