//! How the head of a command queue begins: which unit has it, and what is checked before.

use narthex_memory::translation::Translation;

use super::bus_unit::{self, Job, Moves};
use super::commands::{HostAddress, Issuer, Operation, SYSTEM};
use super::device::{State, Voyager};
use super::layout::Direction;
use super::registers::{SLOT_BYTES, fault};
use super::transmit::Direct;
use super::wire::BlockDestination;
use crate::half::Context;
use crate::registers::{DEVICE_REGION, KERNEL_MEMORY, NODE_MEMORY};

/// The end of the node's addresses: its processes' spaces follow each other.
const LAST_ADDRESS: u64 = 8 * Translation::SPACE_BYTES;

/// What became of a command.
enum Begun {
    /// Its unit is at another one.
    Waits,
    /// Its unit is at it.
    UnderWay,
    /// It is over.
    Done(Result<(), u64>),
}

impl Voyager {
    /// Lets the command queues go on; whether one did.
    pub(super) fn step_commands(&mut self, context: &mut Context<'_>) -> bool {
        let clock = self.build.config.clock.clock();
        let mut went_on = false;
        let (count, first) = (self.state.commands.count(), self.state.commands.first());
        for place in 0..count {
            let queue = match place.checked_sub(SYSTEM) {
                None => place,
                Some(place) => SYSTEM + (place + first) % (count - SYSTEM),
            };
            if self.state.commands.is_idle(queue) {
                continue;
            }
            let begin = clock.edge_at_or_after(context.now);
            let ready = clock.after(begin, self.build.config.command_cycles.into());
            if self.state.commands.decode(queue, ready) {
                context.timers.push(ready);
            }
            let Some((operation, issuer)) = self.state.commands.ready(queue, context.now) else { continue };
            if !self.may_notify(issuer) {
                continue;
            }
            let begun = match self.resolved(context, operation, issuer) {
                Ok(operation) => self.begin(context, operation, issuer),
                Err(fault) => self.refuse_command(operation, issuer, fault),
            };
            match begun {
                Begun::Waits => continue,
                Begun::UnderWay => {
                    self.count_block(context, operation, issuer);
                    self.state.commands.begin(issuer);
                }
                Begun::Done(result) => {
                    self.state.commands.begin(issuer);
                    self.state.commands.complete(issuer, result.err());
                }
            }
            self.statistics.commands.increment();
            went_on = true;
        }
        went_on
    }

    /// A program's command that it may not issue is over. What is chained to a BLOCK_READ learns of
    /// it, after the one before.
    fn refuse_command(&mut self, operation: Operation, issuer: Issuer, fault: u64) -> Begun {
        let State { bus, blocks, .. } = &mut self.state;
        if let Operation::BlockRead { .. } = operation {
            if !bus.is_free(bus_unit::BLOCK_READ) || !blocks.can_read(issuer.queue) {
                return Begun::Waits;
            }
            blocks.end_read(issuer.queue, true);
        }
        Begun::Done(Err(fault))
    }

    fn begin(&mut self, context: &Context<'_>, operation: Operation, issuer: Issuer) -> Begun {
        match operation {
            Operation::BusRead { host, sram, bytes } => {
                self.move_bytes(issuer.queue, issuer, host, Moves::ToSram(sram), (sram, bytes))
            }
            Operation::BusWrite { host, sram, bytes } => {
                self.move_bytes(issuer.queue, issuer, host, Moves::ToHost(sram), (sram, bytes))
            }
            Operation::BusFlush { host, bytes } => {
                self.move_bytes(issuer.queue, issuer, host, Moves::Flush, (0, bytes))
            }
            Operation::BlockRead { host, sram, bytes } if self.state.blocks.can_read(issuer.queue) => {
                let begun =
                    self.move_bytes(bus_unit::BLOCK_READ, issuer, host, Moves::ToSram(sram), (sram, bytes));
                match begun {
                    Begun::UnderWay => self.state.blocks.begin_read(issuer.queue),
                    Begun::Done(_) => self.state.blocks.end_read(issuer.queue, true),
                    Begun::Waits => {}
                }
                begun
            }
            Operation::BlockTransmit(command) if self.state.blocks.can_transmit() => {
                let nodes = context.network.nodes().1;
                if command.node >= nodes || command.process >= self.build.layout.processes {
                    return Begun::Done(Err(fault::DESTINATION));
                }
                if !self.state.sram.has(command.sram, command.bytes) {
                    return Begun::Done(Err(fault::SRAM));
                }
                if command.address + command.bytes > BlockDestination::ADDRESSES {
                    return Begun::Done(Err(fault::ADDRESS));
                }
                self.state.blocks.transmit(command, issuer);
                Begun::UnderWay
            }
            Operation::Transmit { sram, node, queue, process }
                if self.state.transmit.is_free(issuer.queue) =>
            {
                if !self.state.sram.has(sram, SLOT_BYTES) || !sram.is_multiple_of(8) {
                    return Begun::Done(Err(fault::SRAM));
                }
                self.state.transmit.send(Direct { issuer, is_block: false, sram, queue, node, process });
                Begun::UnderWay
            }
            Operation::Packet { sram, node, process, sender }
                if self.state.transmit.is_free(issuer.queue) =>
            {
                if !self.state.sram.has(sram, SLOT_BYTES) {
                    return Begun::Done(Err(fault::SRAM));
                }
                let direct = Direct { issuer, is_block: true, sram, queue: process, node, process: sender };
                self.state.transmit.send(direct);
                Begun::UnderWay
            }
            Operation::MapSet { direction, .. } if !self.state.queues.can_map(direction) => Begun::Waits,
            Operation::QueueOut { direction, physical } => self.take_away(issuer, direction, physical),
            Operation::BlockRead { .. }
            | Operation::BlockTransmit(_)
            | Operation::Transmit { .. }
            | Operation::Packet { .. } => Begun::Waits,
            other => Begun::Done(self.execute(other)),
        }
    }

    /// A job for the bus unit, if its place is free.
    fn move_bytes(
        &mut self,
        place: usize,
        issuer: Issuer,
        host: HostAddress,
        moves: Moves,
        (sram, bytes): (u64, u64),
    ) -> Begun {
        if !self.state.bus.is_free(place) {
            return Begun::Waits;
        }
        if !self.state.sram.has(sram, bytes) {
            return Begun::Done(Err(fault::SRAM));
        }
        let job = Job { issuer: Some(issuer), moves, host, bytes, done: 0, data: Vec::new(), channel: 0 };
        self.state.bus.give(place, job);
        Begun::UnderWay
    }

    fn take_away(&mut self, issuer: Issuer, direction: Direction, physical: usize) -> Begun {
        if physical == 0 || physical >= self.build.config.physical_queues as usize {
            return Begun::Done(Err(fault::DESTINATION));
        }
        if self.state.leaving.iter().any(|(there, queue, _)| (*there, *queue) == (direction, physical)) {
            return Begun::Waits;
        }
        self.state.queues.leave(direction, physical);
        self.state.leaving.push((direction, physical, issuer));
        Begun::UnderWay
    }

    /// What takes no unit's time.
    fn execute(&mut self, operation: Operation) -> Result<(), u64> {
        let block_bytes = self.build.block_bytes;
        let State { sram, queues, space, blocks, .. } = &mut self.state;
        let has_queue = |physical: usize| physical < queues.of(Direction::Receive).len();
        match operation {
            Operation::SramWrite { sram: to, bytes: bytes @ (4 | 8), value } if sram.has(to, bytes) => {
                sram.write(to, &value.to_le_bytes()[..bytes as usize]);
            }
            Operation::SramWrite { bytes: 4 | 8, .. } => return Err(fault::SRAM),
            Operation::Copy { from, to, bytes } if sram.has(from, bytes) && sram.has(to, bytes) => {
                let copied = sram.bytes(from, bytes).to_vec();
                sram.write(to, &copied);
            }
            Operation::Copy { .. } => return Err(fault::SRAM),
            Operation::CounterSet { channel, count, acknowledge } if blocks.has_channel(channel) => {
                let known =
                    acknowledge.queue.is_none_or(|queue| usize::from(queue) < queues.logical_queues());
                if !known {
                    return Err(fault::DESTINATION);
                }
                let due = blocks.set_channel(channel, count, acknowledge);
                due.into_iter().for_each(|due| self.acknowledge(due));
            }
            Operation::Tell(acknowledge) => {
                let queue = acknowledge.queue.map_or(usize::MAX, usize::from);
                if queue >= queues.logical_queues() {
                    return Err(fault::DESTINATION);
                }
                self.acknowledge(acknowledge);
            }
            Operation::Count { channel, packets } if blocks.has_channel(channel) => {
                let due = blocks.count(channel, packets);
                due.into_iter().for_each(|due| self.acknowledge(due));
            }
            Operation::QueueSet { direction, physical, offset, value } if has_queue(physical) => {
                let before = *queues.queue(direction, physical);
                let is_word = queues.set_word(direction, physical, offset, value);
                if !is_word || self.check_queue(direction, physical).is_err() {
                    *self.state.queues.queue_mut(direction, physical) = before;
                    return Err(fault::OPERAND);
                }
            }
            Operation::MapSet { direction, physical, logical }
                if has_queue(physical) && usize::from(logical) < queues.logical_queues() =>
            {
                queues.map(direction, logical, physical);
            }
            Operation::Permission { permission: permission @ 0..=2, lines, host } => {
                let first = self.build.layout.snooped_line(host, block_bytes).ok_or(fault::ADDRESS)?;
                if !space.permit(first, lines, permission) {
                    return Err(fault::ADDRESS);
                }
            }
            Operation::Approve { offset, value } => {
                space.approve(offset, value).map_err(|_| fault::OPERAND)?;
            }
            Operation::Complete => {}
            _ => return Err(fault::OPERAND),
        }
        Ok(())
    }

    /// Physical queues that their units have left are handed back; whether one was.
    pub(super) fn step_leaving(&mut self) -> bool {
        let Some(left) = self.state.queues.next_left() else { return false };
        let super::queues::Left { physical, direction, queue } = left;
        let shadow = self.build.layout.shadow(direction, queue.logical);
        let is_open = self.state.agent.has_open(direction, queue.logical);
        let status = if is_open { queue.error } else { super::registers::QUEUE_CLOSED };
        let words = [queue.producer.into(), queue.consumer.into(), status];
        for (address, word) in (shadow..).step_by(8).zip(words) {
            self.state.sram.set_word(address, word);
        }
        let is_this =
            |(there, number, _): &(Direction, usize, Issuer)| (*there, *number) == (direction, physical);
        if let Some(place) = self.state.leaving.iter().position(is_this) {
            let (.., issuer) = self.state.leaving.remove(place);
            self.state.commands.complete(issuer, None);
        }
        self.statistics.switched_out.increment();
        true
    }

    /// The node's address that the bus unit uses: a process's as it has registered it, the
    /// node's own where there is memory.
    pub(super) fn translated(&self, HostAddress { address, process }: HostAddress) -> Option<u64> {
        if let Some(process) = process {
            return self.state.blocks.translate(process, address);
        }
        let is_snooped = self.build.layout.snooped_line(address, self.build.block_bytes).is_some();
        let shared = [NODE_MEMORY, KERNEL_MEMORY];
        let is_memory = !DEVICE_REGION.contains(&address)
            || is_snooped
            || shared.iter().any(|range| range.contains(&address));
        (is_memory && address < LAST_ADDRESS).then_some(address)
    }
}
