//! Block transfers of the kernel agent: memory that programs register, room in SRAM that blocks are
//! staged in, transfers by the block units, and the channels that count their packets.

use narthex_fabrics::{Header, Rank};
use narthex_memory::main_memory::PAGE_BYTES;

use super::{CHUNK_BYTES, MOST_BYTES, Words};
use crate::device_call::{CallError, OperatingSystem};
use crate::half::Context;
use crate::voyager::blocks::NO_CHANNEL;
use crate::voyager::commands::{Acknowledge, BlockTransmit, Command, HostAddress, Operation};
use crate::voyager::device::Voyager;
use crate::voyager::registers::{BLOCK_PACKET_BYTES, NOTHING, method, request};

impl Voyager {
    pub(super) fn register(
        &mut self,
        process: u8,
        words: &Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let [address, length, ..] = *words;
        address.checked_add(length).filter(|_| length > 0).ok_or(CallError::Invalid)?;
        let frames = system.pin(address, length)?;
        self.state.blocks.register(process, address, &frames);
        self.state.agent.registered.push((process, address, length));
        Ok(())
    }

    pub(super) fn deregister(
        &mut self,
        process: u8,
        words: &Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let range = (process, words[0], words[1]);
        let registered = &mut self.state.agent.registered;
        let place = registered.iter().position(|&own| own == range).ok_or(CallError::Invalid)?;
        registered.remove(place);
        self.state.blocks.deregister(process, words[0], words[1]);
        system.unpin(words[0], words[1])
    }

    /// Who is told, of a request that names one of the process's receive queues.
    pub(super) fn told(&self, process: u8, own: u64, value: u32) -> Result<Option<Acknowledge>, CallError> {
        if own == NOTHING {
            return Ok(None);
        }
        let (_, queue) = self.named(process, 1, own)?;
        Ok(Some(Acknowledge { queue: Some(queue), value }))
    }

    pub(super) fn transfer(
        &mut self,
        context: &mut Context<'_>,
        process: u8,
        words: &Words,
    ) -> Result<(), CallError> {
        let [method, rank, from, to, bytes, channel, own, _] = *words;
        let place =
            u16::try_from(rank).ok().and_then(|rank| self.place_of(context.network.job(), Rank(rank)));
        let (node, there) = place.ok_or(CallError::Invalid)?;
        let each = u64::from(self.channels_of_process());
        let ends = |address: u64| address.checked_add(bytes).is_some_and(|end| end < 1 << 48);
        let is_known = channel < each || channel == NOTHING;
        if !is_known || !ends(from) || !ends(to) || !(1..=MOST_BYTES).contains(&bytes) {
            return Err(CallError::Invalid);
        }
        let acknowledge = self.told(process, own, 0)?;
        let channel = if channel == NOTHING { NO_CHANNEL } else { (u64::from(there) * each + channel) as u8 };
        let frame = self.one_piece(process, from, bytes)?;
        match method {
            method::HARDWARE => {}
            method::FIRMWARE | method::FIRMWARE_SENDS => {
                self.check_room()?;
                let frame = frame.ok_or(CallError::NoMemory)?;
                let told = acknowledge.and_then(|acknowledge| acknowledge.queue).map_or(NOTHING, u64::from);
                let channel = if channel == NO_CHANNEL { NOTHING } else { channel.into() };
                let place = u64::from(node) | u64::from(there) << 16;
                let rest = [method, place, frame, to, bytes, channel, told];
                self.state.agent.command(process, request::DMA, &rest);
                context.network.count_message(Header::BYTES as u64 + bytes);
                return Ok(());
            }
            _ => return Err(CallError::Invalid),
        }
        if self.state.commands.waiting_of_system() > 0 {
            return Err(CallError::Again);
        }
        let to = BlockTransmit {
            sram: 0,
            bytes: 0,
            node,
            process: there,
            address: to,
            channel,
            is_chained: true,
            is_last: false,
            acknowledge,
            told: acknowledge.and_then(|acknowledge| acknowledge.queue),
        };
        self.command_transfer(HostAddress { address: from, process: Some(process) }, to, bytes);
        context.network.count_message(Header::BYTES as u64 + bytes);
        Ok(())
    }

    /// The node's address of a range that a process has registered; none if that is in several
    /// pieces.
    fn one_piece(&self, process: u8, address: u64, bytes: u64) -> Result<Option<u64>, CallError> {
        let pages = address / PAGE_BYTES..=(address + bytes - 1) / PAGE_BYTES;
        let frames = pages.map(|page| self.state.blocks.translate(process, page * PAGE_BYTES));
        let frames = frames.collect::<Option<Vec<u64>>>().ok_or(CallError::BadAddress)?;
        let is_one = frames.windows(2).all(|pair| pair[1] == pair[0] + PAGE_BYTES);
        Ok(is_one.then_some(frames[0] + address % PAGE_BYTES))
    }

    /// The commands of a transfer by hardware: parts of it, in both halves of the transfers'
    /// room in SRAM in turn.
    fn command_transfer(&mut self, from: HostAddress, to: BlockTransmit, bytes: u64) {
        let room = self.build.layout.transfers;
        let mut done = 0;
        // A part is read when the one before the last has left: transfers go on with the other half.
        loop {
            let half = self.state.agent.half;
            self.state.agent.half = 1 - half;
            let here = to.address + done;
            let part = (CHUNK_BYTES - here % CHUNK_BYTES).min(bytes - done);
            let sram = room + half * CHUNK_BYTES;
            let host = HostAddress { address: from.address + done, ..from };
            let is_last = done + part == bytes;
            let commands = [
                Operation::BlockRead { host, sram, bytes: part },
                Operation::BlockTransmit(BlockTransmit {
                    sram,
                    bytes: part,
                    address: here,
                    acknowledge: to.acknowledge.filter(|_| is_last),
                    is_last: is_last && to.told.is_some(),
                    ..to
                }),
            ];
            commands.into_iter().for_each(|operation| {
                self.state.commands.push_system(Command::of_system(operation));
            });
            done += part;
            if is_last {
                return;
            }
        }
    }

    /// A process gets room in SRAM for the blocks of its commands.
    pub(super) fn stage(&mut self, process: u8, words: &mut Words) -> Result<(), CallError> {
        let [bytes, ..] = *words;
        if bytes == 0 || !bytes.is_multiple_of(BLOCK_PACKET_BYTES) {
            return Err(CallError::Invalid);
        }
        if self.state.agent.staging[usize::from(process)].is_some() {
            return Err(CallError::Busy);
        }
        if bytes > self.build.layout.buffer_bytes {
            return Err(CallError::NoMemory);
        }
        let at = self.allocate(process, bytes)?;
        self.state.agent.staging[usize::from(process)] = Some((at, bytes));
        let layout = &self.build.layout;
        words[5] = at - layout.buffers_of(process).start;
        words[6] = layout.commands(process).start;
        words[7] = layout.cachable_buffers(process).start + words[5];
        Ok(())
    }

    /// Channels of a process.
    pub(in crate::voyager) fn channels_of_process(&self) -> u32 {
        self.build.config.channels / u32::from(self.build.layout.processes)
    }

    pub(super) fn set_channel(&mut self, process: u8, words: &Words) -> Result<(), CallError> {
        let [channel, count, own, value, ..] = *words;
        let each = self.channels_of_process();
        if channel >= each.into() || count > u32::MAX.into() || value > u32::MAX.into() {
            return Err(CallError::Invalid);
        }
        let acknowledge = self.told(process, own, value as u32)?.ok_or(CallError::Invalid)?;
        let channel = u32::from(process) * each + channel as u32;
        let due = self.state.blocks.set_channel(channel as u8, count as u32, acknowledge);
        due.into_iter().for_each(|due| self.acknowledge(due));
        Ok(())
    }

    /// A channel of a process is not set any more.
    pub(super) fn clear_channel(&mut self, process: u8, words: &Words) -> Result<(), CallError> {
        let each = self.channels_of_process();
        if words[0] >= each.into() {
            return Err(CallError::Invalid);
        }
        self.state.blocks.clear_channel((u32::from(process) * each + words[0] as u32) as u8);
        Ok(())
    }
}
