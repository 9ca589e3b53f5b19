//! What is behind the device's addresses: pointer windows, buffers and serviced space for
//! programs; registers, states of queues and memories for firmware.

use narthex_kernel::Duration;
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{BlockData, HomeReply, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::device::{HOST, State, Voyager};
use super::layout::{DecodedAddress, Direction};
use super::queues;
use super::registers::{
    self as register, APPROVE_TO_SRAM, MOST_SRAM, NOTHING, QUEUE_REGISTERS, QUEUE_STATE_BYTES, REGISTERS,
    SHADOW_BYTES, SOURCE_ACKNOWLEDGE, SOURCE_AGENT, SOURCE_CAPTURE, SOURCE_COMPLETION, SOURCE_RECEIVE,
    VOYAGER_MAP, VOYAGER_QUEUES, VOYAGER_REGISTERS, VOYAGER_SRAM, VOYAGER_SRAM_UNCACHED,
};
use super::space::{Access, serviced_offset, window_offset};
use crate::address_names::AddressName;
use crate::half::Context;

const DOUBLEWORD: u64 = 8;

/// What the firmware has stored and what is used by a later access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Latches {
    /// The sources that OnePoll looks at.
    mask: u64,
    /// The source that POLL showed last.
    shown: Option<u32>,
    approve: u64,
}

fn no_register(offset: u64) -> String {
    format!("there is no register to load from at offset {offset:#x}")
}

/// Something behind the firmware's addresses.
enum Behind {
    Register(u64),
    Queue(Direction, usize, u64),
    Map(Direction, u8),
    Sram(u64),
}

impl State {
    /// Which sources have an entry, by bit.
    pub fn sources(&self) -> u64 {
        let entries = [
            (SOURCE_COMPLETION, self.commands.has_completion()),
            (SOURCE_ACKNOWLEDGE, self.blocks.has_acknowledgement()),
            (SOURCE_CAPTURE, self.space.has_capture()),
            (SOURCE_AGENT, self.agent.waiting() > 0),
        ];
        let fixed = entries.into_iter().map(|(source, has)| u64::from(has) << source);
        let queues = self.queues.of(Direction::Receive).iter().rev();
        let queues = queues.fold(0, |all, queue| all << 1 | u64::from(queue.seen != queue.producer));
        fixed.fold(queues << SOURCE_RECEIVE, |all, one| all | one)
    }

    /// OnePoll's first doubleword: the first source that has an entry.
    fn poll(&mut self) -> u64 {
        let wanted = self.sources() & self.latches.mask;
        self.latches.shown = (wanted != 0).then(|| wanted.trailing_zeros());
        let Some(source) = self.latches.shown else { return NOTHING };
        match source.checked_sub(SOURCE_RECEIVE) {
            None => source.into(),
            Some(physical) => {
                let queue = self.queues.queue(Direction::Receive, physical as usize);
                u64::from(source) | u64::from(queue.seen) << 16 | u64::from(queue.producer) << 32
            }
        }
    }

    /// Its second one: the entry.
    fn poll_entry(&mut self) -> Result<u64, String> {
        Ok(match self.latches.shown.take() {
            None => NOTHING,
            Some(SOURCE_COMPLETION) => self.commands.take_completion(),
            Some(SOURCE_ACKNOWLEDGE) => self.blocks.take_acknowledgement(),
            Some(SOURCE_CAPTURE) => self.space.take_capture(),
            Some(SOURCE_AGENT) => self.agent.next_word(),
            Some(source) => {
                let physical = (source - SOURCE_RECEIVE) as usize;
                // Firmware may look at a queue that it has not enabled.
                self.check_slots(Direction::Receive, physical)?;
                let queue = self.queues.queue_mut(Direction::Receive, physical);
                if queue.seen == queue.producer {
                    return Ok(NOTHING);
                }
                let address = queue.header(queue.seen).unwrap_or(queue.slot(queue.seen));
                queue.seen = queue.seen.wrapping_add(1);
                self.sram.word(address)
            }
        })
    }

    /// Refuses a queue whose slots or header doublewords are not in SRAM.
    fn check_slots(&self, direction: Direction, physical: usize) -> Result<(), String> {
        let queue = self.queues.queue(direction, physical);
        let last = queue.slots.wrapping_sub(1);
        let is_sound = queue.slots.is_power_of_two()
            && self.sram.has(queue.slot(last), register::SLOT_BYTES)
            && queue.header(last).is_none_or(|header| self.sram.has(header, 8));
        match is_sound {
            true => Ok(()),
            false => Err(format!(
                "physical {} queue {physical} is used with {} slots at SRAM address {:#x} and their headers at {:#x}: \
                 expected slots, a power of two, and headers (0: none) within a bank of the SRAM",
                direction.name(),
                queue.slots,
                queue.base,
                queue.headers
            )),
        }
    }
}

impl Voyager {
    /// A program accesses a pointer window, its buffers uncached, or serviced space.
    pub(super) fn access_by_host(
        &mut self,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), String> {
        let &Transaction { kind, address, size, value, .. } = transaction;
        let value = (kind == Kind::UncachedStore).then_some(value);
        let place = self.build.layout.place(address);
        match place.ok_or_else(|| format!("an access to {address:#x}, where the interface has nothing"))? {
            DecodedAddress::Sram(sram) => self.access_sram(sram, transaction, response)?,
            DecodedAddress::Serviced(process, offset) => {
                let offset = serviced_offset(process, offset & !7);
                let approved = self.state.space.carry(Access { process, offset, value });
                match value {
                    None => response.value = approved,
                    Some(value) => self.land_store(offset, (size, value), approved),
                }
            }
            DecodedAddress::Commands(process, offset) => match value {
                None => response.value = self.load_command_window(process, offset),
                Some(value) => self.store_command(process, offset, size, value),
            },
            DecodedAddress::Window(direction, logical, offset) => match value {
                None => response.value = self.load_pointer(direction, logical, offset),
                Some(value) => {
                    // A part of a doubleword is no pointer's place.
                    let offset = if size == 8 { offset } else { PAGE_BYTES - 8 };
                    self.store_pointer(direction, logical, offset, value);
                }
            },
        }
        Ok(())
    }

    /// The doubleword of a store to serviced space goes where its approval says (Section 4.1: the sP
    /// determines "the destination for bus writes"), and the firmware learns that it is there.
    fn land_store(&mut self, offset: u64, (size, value): (u16, u64), approved: u64) {
        if approved & APPROVE_TO_SRAM == 0 {
            return;
        }
        let State { sram, space, commands, .. } = &mut self.state;
        let to = approved & u64::from(u32::MAX);
        let is_sram = sram.has(to, DOUBLEWORD);
        let is_there = is_sram && u64::from(size) == DOUBLEWORD;
        if is_there {
            sram.write(to, &value.to_le_bytes());
        }
        if !is_sram {
            commands.fault = register::fault::SRAM;
        }
        space.capture_carried(offset, is_there);
    }

    fn store_pointer(&mut self, direction: Direction, logical: u8, offset: u64, value: u64) {
        self.statistics.pointer_stores.increment();
        let State { queues, space, agent, .. } = &mut self.state;
        if !queues.store(direction, logical, offset, value) && agent.has_open(direction, logical) {
            self.statistics.captured.increment();
            space.capture_store(window_offset(direction, logical, offset), value);
        }
    }

    /// Hardware answers for a resident queue, the shadow words for others.
    fn load_pointer(&self, direction: Direction, logical: u8, offset: u64) -> u64 {
        let State { queues, sram, .. } = &self.state;
        let shadow = self.build.layout.shadow(direction, logical);
        match queues.load(direction, logical, offset) {
            Some(value) => value,
            None if offset.is_multiple_of(8) && offset < SHADOW_BYTES => sram.word(shadow + offset),
            None => queues::closed(offset),
        }
    }

    fn access_sram(
        &mut self,
        sram: u64,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), String> {
        let &Transaction { kind, size, value, .. } = transaction;
        let length = u64::from(size);
        if !self.state.sram.has(sram, length) {
            return Err(format!("an access to SRAM address {sram:#x}, beyond the banks"));
        }
        match kind {
            Kind::UncachedLoad => {
                let mut bytes = [0; 8];
                bytes[..length as usize].copy_from_slice(self.state.sram.bytes(sram, length));
                response.value = u64::from_le_bytes(bytes);
            }
            Kind::UncachedStore => self.state.sram.write(sram, &value.to_le_bytes()[..length as usize]),
            _ => return Err("block buffers do not reach the SRAM".into()),
        }
        Ok(())
    }

    /// Whether the bus unit refuses a processor's access to a pointer window or to serviced
    /// space.
    pub(super) fn refuses_uncached(&mut self, transaction: &Transaction) -> bool {
        let &Transaction { kind, address, size, value, .. } = transaction;
        let is_store = kind == Kind::UncachedStore;
        match self.build.layout.place(address) {
            Some(DecodedAddress::Serviced(process, offset)) => {
                let offset = serviced_offset(process, offset & !7);
                self.state.space.refuses(Access { process, offset, value: is_store.then_some(value) })
            }
            Some(DecodedAddress::Window(direction, logical, _)) => {
                let is_resident = self.state.queues.resident(direction, logical).is_some();
                is_store && !is_resident && self.state.space.is_full()
            }
            Some(DecodedAddress::Commands(process, offset)) => {
                is_store && self.refuses_command(process, offset, size)
            }
            Some(DecodedAddress::Sram(_)) | None => false,
        }
    }

    /// A transaction on a line of SRAM, whose home the device is.
    pub(super) fn home_of(&mut self, port: usize, transaction: &Transaction) -> HomeReply {
        let Transaction { kind, address, data, .. } = transaction;
        let sram = match port {
            HOST => match self.build.layout.place(*address) {
                Some(DecodedAddress::Sram(sram)) => sram,
                _ => unreachable!("the device is the home of its SRAM"),
            },
            _ => address - VOYAGER_SRAM,
        };
        let delay = self.build.config.memory_access_time;
        let line = self.build.block_bytes;
        let is_there = self.state.sram.has(sram, line);
        match data {
            Some(data) if kind.carries_block() && is_there => self.state.sram.write(sram, data),
            _ => {}
        }
        let read = || match is_there {
            true => BlockData::from_bytes(self.state.sram.bytes(sram, line)),
            false => BlockData::zeroed(line as usize),
        };
        HomeReply { data: kind.fetches_block().then(read), delay }
    }

    /// What a firmware address is.
    fn behind(&self, address: u64) -> Option<Behind> {
        if let Some(offset) = address.checked_sub(VOYAGER_SRAM_UNCACHED) {
            return (offset < 2 * MOST_SRAM).then_some(Behind::Sram(offset));
        }
        let logical = self.state.queues.logical_queues() as u64;
        if let Some(place) = address.checked_sub(VOYAGER_MAP).map(|offset| offset / 8) {
            let direction = Direction::of(place >= logical);
            return (place < 2 * logical).then_some(Behind::Map(direction, (place % logical) as u8));
        }
        if let Some(offset) = address.checked_sub(VOYAGER_QUEUES) {
            let physical = u64::from(self.build.config.physical_queues);
            let place = offset / QUEUE_STATE_BYTES;
            let direction = Direction::of(place >= physical);
            let queue = Behind::Queue(direction, (place % physical) as usize, offset % QUEUE_STATE_BYTES);
            return (place < 2 * physical).then_some(queue);
        }
        address.checked_sub(VOYAGER_REGISTERS).map(Behind::Register)
    }

    /// Firmware accesses a register, a queue's state, the map, or SRAM.
    pub(super) fn access_by_firmware(
        &mut self,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), String> {
        let &Transaction { kind, address, size, value, .. } = transaction;
        let behind = self.behind(address).ok_or_else(|| format!("there is nothing at {address:#x}"))?;
        let is_load = kind == Kind::UncachedLoad;
        match behind {
            Behind::Sram(sram) => self.access_sram(sram, transaction, response),
            _ if size != 8 => {
                Err(format!("an access of {size} bytes to the register at {address:#x}; registers have 8"))
            }
            Behind::Register(offset) if is_load => {
                if offset == register::TRANSLATION {
                    self.fill_prepared_translations(context);
                }
                self.load_register(context, offset).map(|value| response.value = value)
            }
            Behind::Register(offset) => self.store_register(offset, value),
            Behind::Map(direction, logical) if is_load => {
                let physical = self.state.queues.resident(direction, logical);
                response.value = physical.map_or(NOTHING, |physical| physical as u64);
                Ok(())
            }
            Behind::Queue(direction, physical, offset) if is_load => {
                let value = self.state.queues.word(direction, physical, offset);
                value
                    .map(|value| response.value = value)
                    .ok_or_else(|| format!("a queue's state has no word to load at offset {offset:#x}"))
            }
            Behind::Queue(direction, physical, offset) => {
                self.check_freed(direction, physical, offset, value)?;
                match self.state.queues.set_word(direction, physical, offset, value) {
                    true => self.check_queue(direction, physical),
                    false => Err(format!("a queue's state has no word to store at offset {offset:#x}")),
                }
            }
            Behind::Map(..) => Err("a store to the map, which MAP_SET and QUEUE_OUT change".into()),
        }
    }

    /// Refuses to free slots of the firmware's receive queue that are not in use: they were
    /// freed before.
    fn check_freed(
        &self,
        direction: Direction,
        physical: usize,
        offset: u64,
        value: u64,
    ) -> Result<(), String> {
        let queue = self.state.queues.queue(direction, physical);
        let is_freed = direction == Direction::Receive && queue.is_enabled && offset == register::CONSUMER;
        let (used, freed) = (queue.used(), (value as u16).wrapping_sub(queue.consumer));
        match is_freed && freed > used {
            false => Ok(()),
            true => Err(format!(
                "a store of {value} to the consumer of physical receive queue {physical}, which is {} with {used} \
                 slots in use: it frees slots that are not in use, or were freed before",
                queue.consumer
            )),
        }
    }

    /// Refuses a queue of a process or a logical queue that does not exist, and an enabled one with
    /// slots that are not in SRAM, before its unit finds out.
    pub(super) fn check_queue(&self, direction: Direction, physical: usize) -> Result<(), String> {
        let State { queues, .. } = &self.state;
        let queue = queues.queue(direction, physical);
        let (processes, logical) = (self.build.layout.processes, queues.logical_queues());
        if queue.process >= processes || usize::from(queue.logical) >= logical {
            return Err(format!(
                "physical {} queue {physical} is for logical queue {} of process {}; there are {logical} logical \
                 queues and {processes} processes",
                direction.name(),
                queue.logical,
                queue.process
            ));
        }
        if queue.is_enabled { self.state.check_slots(direction, physical) } else { Ok(()) }
    }

    fn load_register(&mut self, context: &Context<'_>, offset: u64) -> Result<u64, String> {
        let both = |low: u64, high: u64| low | high << 32;
        let layout = &self.build.layout;
        let config = &self.build.config;
        let state = &mut self.state;
        Ok(match offset {
            register::STATUS => state.sources(),
            register::NODE => {
                let (node, nodes) = context.network.nodes();
                both(node.into(), nodes.into()) | u64::from(layout.processes) << 48
            }
            register::LIMITS => {
                u64::from(config.logical_queues)
                    | u64::from(config.physical_queues) << 16
                    | u64::from(config.hybrid_queues) << 32
                    | u64::from(layout.queues) << 48
            }
            register::POLL => state.poll(),
            register::POLL_ENTRY => state.poll_entry()?,
            register::CAPTURE => state.space.take_capture(),
            register::COMPLETION => state.commands.take_completion(),
            register::ACKNOWLEDGE => state.blocks.take_acknowledgement(),
            register::AGENT => state.agent.next_word(),
            register::COMMAND_ROOM => both(state.commands.room(0) as u64, state.commands.room(1) as u64),
            register::FREE_A => both(layout.firmware_a.start, layout.firmware_a.end),
            register::FREE_B => both(layout.firmware_b.start, layout.firmware_b.end),
            register::MISS => both(layout.miss, layout.miss_headers),
            register::MISS_SLOTS => config.miss_slots.into(),
            register::TRANSLATION => both(layout.translation(0), layout.destinations),
            register::SNOOPED_LINES => layout.snooped / self.build.block_bytes,
            register::FAULT => state.commands.fault,
            register::POLICY => config.hybrid_policy as u64,
            register::STATED_MARSHAL_CYCLES => config.stated_marshal_cycles.into(),
            register::STATED_LAUNCH_CYCLES => config.stated_launch_cycles.into(),
            register::STATED_DEMULTIPLEX_CYCLES => config.stated_demultiplex_cycles.into(),
            register::STATED_FREE_BUFFER_CYCLES => config.stated_free_buffer_cycles.into(),
            register::STATED_RELEASE_CYCLES => config.stated_release_cycles.into(),
            register::DRAIN_LIMIT => {
                let limit = self.drain_limit(context);
                limit.map_or(NOTHING, |limit| limit.as_ps() / Duration::from_ns(1).as_ps())
            }
            register::SNOOPED_START.. => {
                let process = (offset - register::SNOOPED_START) / DOUBLEWORD;
                let is_there = offset.is_multiple_of(DOUBLEWORD) && process < layout.processes.into();
                match is_there {
                    true => layout.snooped(process as u8).start,
                    false => return Err(no_register(offset)),
                }
            }
            _ => return Err(no_register(offset)),
        })
    }

    fn store_register(&mut self, offset: u64, value: u64) -> Result<(), String> {
        let state = &mut self.state;
        match offset {
            register::POLL_MASK => state.latches.mask = value,
            register::COMMAND_0 => state.commands.push(0, value)?,
            register::COMMAND_1 => state.commands.push(1, value)?,
            register::APPROVE_ADDRESS => state.latches.approve = value,
            register::APPROVE_VALUE => state.space.approve(state.latches.approve, value)?,
            register::SERVICED_STORES => state.space.approved_stores = value,
            _ => return Err(format!("there is no register to store to at offset {offset:#x}")),
        }
        Ok(())
    }

    /// What an address of the device is called.
    pub(super) fn name_at(&self, address: u64) -> Option<AddressName> {
        let part = |name: &str, part: String| AddressName { name: name.into(), part: Some(part) };
        match self.build.layout.place(address) {
            Some(DecodedAddress::Window(direction, logical, offset)) => {
                let pointer = match offset {
                    register::POINTER_PRODUCER => "producer",
                    register::POINTER_CONSUMER => "consumer",
                    _ => "status",
                };
                let queue = format!("{} queue {logical}", direction.name());
                return Some(part(&format!("{pointer} of a queue"), queue));
            }
            Some(DecodedAddress::Sram(sram)) => return Some(part("SRAM bank A", format!("byte {sram:#x}"))),
            Some(DecodedAddress::Serviced(_, offset)) => {
                return Some(part("serviced space", format!("byte {offset:#x}")));
            }
            Some(DecodedAddress::Commands(process, offset)) => {
                let word = match offset {
                    register::COMMAND_WINDOW_ISSUE => "next doubleword",
                    register::COMMAND_WINDOW_FAULT => "fault",
                    _ => "no word",
                };
                return Some(part(word, format!("command window of process {process}")));
            }
            None => {}
        }
        if let Some(offset) = address.checked_sub(VOYAGER_SRAM).filter(|offset| *offset < 2 * MOST_SRAM) {
            return Some(part("SRAM", format!("byte {offset:#x}")));
        }
        let known = |list: &[(&'static str, u64, &str)], offset| {
            list.iter().find(|(_, own, _)| *own == offset).map_or("a register", |(name, ..)| name)
        };
        Some(match self.behind(address)? {
            Behind::Register(offset) if offset < PAGE_BYTES => AddressName::whole(known(REGISTERS, offset)),
            Behind::Register(_) => return None,
            Behind::Queue(direction, physical, offset) => {
                let queue = format!("physical {} queue {physical}", direction.name());
                part(known(QUEUE_REGISTERS, offset), queue)
            }
            Behind::Map(direction, logical) => part("map", format!("{} queue {logical}", direction.name())),
            Behind::Sram(sram) => part("SRAM", format!("byte {sram:#x}")),
        })
    }
}
