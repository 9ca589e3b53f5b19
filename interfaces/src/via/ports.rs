//! What is behind the device's addresses: doorbells and windows for programs, registers
//! for firmware.

use std::ops::Range;

use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::config::WhenFull;
use super::copies::Fields;
use super::device::{Build, Via, surroundings};
use super::doorbells::Doorbell;
use super::eager::Eager;
use super::registers::{self as register, HEADER_BYTES, REGISTERS, VIA_REGISTERS, WINDOW_BYTES};
use crate::address_names::AddressName;
use crate::half::Context;
use crate::registers::{Addresses, DEVICE_REGION, KERNEL_MEMORY, NODE_MEMORY};

/// What the firmware has written and what is used by a later store.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Latches {
    await_address: u64,
    update_address: u64,
    put_source: u64,
    put_address: u64,
    window: usize,
}

/// Whether an address of the device region is a doorbell's.
pub fn is_doorbell(address: u64) -> bool {
    Addresses::process_at(address).is_some_and(|process| {
        let page = Addresses::of_process(process).register_page();
        (page..page + PAGE_BYTES).contains(&address)
    })
}

/// What an address of the device is called.
pub fn name_of(address: u64) -> Option<AddressName> {
    if let Some(offset) = address.checked_sub(VIA_REGISTERS).filter(|&offset| offset < PAGE_BYTES) {
        let known = REGISTERS.iter().find(|(_, own, _)| *own == offset);
        return Some(AddressName::whole(known.map_or("the interface's registers", |(name, ..)| name)));
    }
    let own = Addresses::of_process(Addresses::process_at(address)?);
    if let Some(offset) = address.checked_sub(own.register_page()).filter(|&offset| offset < PAGE_BYTES) {
        let queue = if offset % 16 == 0 { "send" } else { "receive" };
        let part = Some(format!("VI {}", offset / 16));
        return Some(AddressName { name: format!("{queue} doorbell"), part });
    }
    let offset = address.checked_sub(own.window()).filter(|&offset| offset < WINDOW_BYTES)?;
    let part = Some(format!("byte {offset}"));
    Some(AddressName { name: "window into the interface's memory".into(), part })
}

/// Refuses host addresses at which there is no memory.
fn check_memory(address: u64, length: u64) -> Result<(), String> {
    let end = address.checked_add(length).ok_or_else(|| "an address beyond all memory".to_owned())?;
    let is_memory = end <= DEVICE_REGION.start
        || address >= DEVICE_REGION.end
        || [NODE_MEMORY, KERNEL_MEMORY].iter().any(|range| range.start <= address && end <= range.end);
    match is_memory {
        true => Ok(()),
        false => Err(format!("{length} bytes for the host at {address:#x}, where it has no memory")),
    }
}

impl Build {
    /// Refuses what firmware says of the interface's memory and is outside of it.
    fn check_own(&self, what: &str, start: u64, length: u64) -> Result<(), String> {
        let memory = &self.memory;
        let is_within =
            start >= memory.start && start.checked_add(length).is_some_and(|end| end <= memory.end);
        match is_within || length == 0 {
            true => Ok(()),
            false => Err(format!(
                "{what} of {length} bytes at {start:#x}, outside the interface's memory from {:#x} to {:#x}",
                memory.start, memory.end
            )),
        }
    }

    /// Refuses a put while so much is to be put that the interface's memory would not hold it.
    fn check_puts(&self, eager: &Eager, length: u64) -> Result<(), String> {
        let waiting = eager.bytes_to_put();
        match waiting.saturating_add(length) <= self.memory.end - self.memory.start {
            true => Ok(()),
            false => Err(format!(
                "a put of {length} bytes while blocks of {waiting} bytes are to be put: more than the interface's \
                 memory has; wait for STATUS to show that all is put"
            )),
        }
    }
}

impl Via {
    /// A program accesses a doorbell or its window.
    pub(super) fn access_by_host(
        &mut self,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), String> {
        let &Transaction { kind, address, size, value, .. } = transaction;
        let process = Addresses::process_at(address).expect("it is in a process's part");
        if !is_doorbell(address) {
            return self.access_window(context, process, transaction, response);
        }
        let offset = address - Addresses::of_process(process).register_page();
        if kind != Kind::UncachedStore || size != 8 {
            return Err(format!(
                "an access to the doorbell at offset {offset:#x} that is no store of eight bytes"
            ));
        }
        self.statistics.doorbells.increment();
        self.state.doorbells.ring(Doorbell::at(process, offset, value)?);
        Ok(())
    }

    fn access_window(
        &mut self,
        context: &mut Context<'_>,
        process: u8,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), String> {
        let &Transaction { kind, address, size, value, ref data, .. } = transaction;
        let place = self.state.windows[usize::from(process)];
        let place = place.ok_or("an access to the window before the interface has placed it")?;
        let here = place + (address - Addresses::of_process(process).window());
        let memory = context.local_memory.as_deref_mut().expect("checked with the machine");
        match (kind, data) {
            (Kind::UncachedLoad, _) => {
                let mut bytes = [0; 8];
                memory.read(here, &mut bytes[..size.into()]);
                response.value = u64::from_le_bytes(bytes);
            }
            (Kind::BlockLoad, _) => {
                response.data = Some(memory.read_block(here, size.into()));
            }
            (_, Some(block)) => memory.write(here, block),
            _ => memory.write(here, &value.to_le_bytes()[..size.into()]),
        }
        Ok(())
    }

    /// Firmware accesses a register.
    pub(super) fn access_by_firmware(
        &mut self,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), String> {
        let &Transaction { kind, address, size, value, .. } = transaction;
        let offset = address - VIA_REGISTERS;
        if size != 8 {
            return Err(format!("an access of {size} bytes to register {offset:#x}; registers have 8"));
        }
        match kind {
            Kind::UncachedLoad => {
                response.value = self.load(context, offset)?;
                Ok(())
            }
            _ => self.store(context, offset, value),
        }
    }

    fn load(&mut self, context: &Context<'_>, offset: u64) -> Result<u64, String> {
        let both = |low: u64, high: u64| low | high << 32;
        let config = &self.build.config;
        let state = &mut self.state;
        Ok(match offset {
            register::STATUS => state.status,
            register::SCHEME => self.build.scheme.number(),
            register::NODE => {
                let (node, nodes) = context.network.nodes();
                both(node.into(), nodes.into())
            }
            register::LIMITS => both(config.vis.into(), config.tags.into()),
            register::BLOCK => both(self.build.block_bytes, config.mtu.as_u64()),
            register::DOORBELL_SOURCE => state.doorbells.source(),
            register::DOORBELL => state.doorbells.take().ok_or("a load of DOORBELL while none waits")?,
            register::COMMAND => state.agent.next_word().ok_or("a load of COMMAND while none waits")?,
            register::RECEIVED_SLOT => state.network.received_slot(),
            register::RECEIVED_PAYLOAD => {
                state.network.take_received().ok_or("a load of RECEIVED_PAYLOAD while no packet waits")?
            }
            register::MEMORY => self.build.memory.end,
            register::PLACES => config.places.into(),
            register::DMA_ENGINE => self.build.dma_engine,
            register::LAYER => config.message_layer_cycles.into(),
            register::WHEN_FULL => (config.when_full == WhenFull::Postpone).into(),
            register::PROCESSES => state.agent.processes(),
            _ => return Err(format!("there is no register to load from at offset {offset:#x}")),
        })
    }

    fn store(&mut self, context: &mut Context<'_>, offset: u64, value: u64) -> Result<(), String> {
        let network = &mut self.state.network;
        let build = &self.build;
        match offset {
            register::SEND_HEADER => network.set_header(value),
            register::SEND_PAYLOAD => network.set_payload(value),
            register::SEND_START => {
                build.check_own("a packet's header", network.header_address(), HEADER_BYTES)?;
                build.check_own("a packet's payload", network.payload_address(), value & 0xffff_ffff)?;
                network.start(context, &build.config, value)?;
                self.statistics.sent.increment();
            }
            register::RECEIVE_BUFFER => {
                build.check_own("a slot", value, HEADER_BYTES + build.config.mtu.as_u64())?;
                network.add_slot(value)?;
            }
            register::PLACE_SELECT => network.select_place(value)?,
            register::PLACE_ADDRESS => network.set_place_address(value),
            register::PLACE_LENGTH => {
                build.check_own("the place of a message", network.place_address(), value & 0xffff_ffff)?;
                network.set_place_length(value);
            }
            register::WINDOW_SELECT => {
                self.state.registers.window = value as usize;
                let processes = self.build.processes;
                if value >= processes.into() {
                    return Err(format!("the window of process {value}; the node has {processes}"));
                }
            }
            register::WINDOW_ADDRESS => {
                build.check_own("a window", value, WINDOW_BYTES)?;
                let window = self.state.registers.window;
                self.state.windows[window] = Some(value);
            }
            _ => self.store_for_eager(context, offset, value)?,
        }
        Ok(())
    }

    /// Registers of the controller.
    fn store_for_eager(&mut self, context: &mut Context<'_>, offset: u64, value: u64) -> Result<(), String> {
        let is_tag = (register::TAG_SELECT..=register::AWAIT_LENGTH).contains(&offset);
        if is_tag && !self.build.scheme.is_eager() {
            return Err(format!("a store to register {offset:#x}: this scheme has no tags"));
        }
        let build = &self.build;
        let eager = &mut self.state.eager;
        let latches = &mut self.state.registers;
        match offset {
            register::TAG_SELECT => eager.select(value)?,
            register::TAG_HOST_START => eager.fields_mut().host.start = value,
            register::TAG_HOST_END => eager.fields_mut().host.end = value,
            register::TAG_NI_START => eager.fields_mut().copy.start = value,
            register::TAG_NI_END => eager.fields_mut().copy.end = value,
            register::TAG_CONTROL => {
                let is_valid = value & 1 != 0;
                if is_valid {
                    let Fields { host, copy } = eager.fields_mut();
                    let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
                    build.check_own("the copy of a tag", copy.start, length(copy))?;
                    check_memory(host.start, length(host))?;
                }
                eager.control(is_valid)?;
            }
            register::AWAIT_ADDRESS => latches.await_address = value,
            register::AWAIT_LENGTH => {
                let start = latches.await_address;
                build.check_own("an awaited copy", start, value)?;
                eager.await_valid(start..start + value, &mut self.eager_statistics);
            }
            register::UPDATE_ADDRESS => latches.update_address = value,
            register::UPDATE_VALUE => {
                check_memory(latches.update_address, 8)?;
                build.check_puts(eager, 8)?;
                eager.put(&mut surroundings(context), latches.update_address, &value.to_le_bytes());
            }
            register::PUT_SOURCE => latches.put_source = value,
            register::PUT_ADDRESS => latches.put_address = value,
            register::PUT_LENGTH => {
                check_memory(latches.put_address, value)?;
                build.check_own("a put", latches.put_source, value)?;
                build.check_puts(eager, value)?;
                let mut at = surroundings(context);
                let mut bytes = vec![0; value as usize];
                at.memory.read(latches.put_source, &mut bytes);
                eager.put(&mut at, latches.put_address, &bytes);
            }
            _ => return Err(format!("there is no register to store to at offset {offset:#x}")),
        }
        Ok(())
    }
}
