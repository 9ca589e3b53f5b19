//! Queues that programs open, and close. A resident queue is set up here; of the others the firmware
//! is told.

use narthex_memory::main_memory::PAGE_BYTES;

use super::{Opened, Words};
use crate::device_call::{CallError, OperatingSystem};
use crate::voyager::device::Voyager;
use crate::voyager::layout::{Direction, Layout};
use crate::voyager::queues::Queue;
use crate::voyager::registers::{
    KIND_STORES, KIND_URGENT, POINTER_STATUS, POINTER_STORES, QUEUE_CLOSED, QUEUE_CLOSING, QUEUE_OPEN,
    QueueKind, SLOT_BYTES, request,
};

impl Voyager {
    pub(super) fn open(
        &mut self,
        process: u8,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let [is_receive, kind, slots, own, buffer, ..] = *words;
        let (direction, logical) = self.named(process, is_receive, own)?;
        let (is_urgent, has_stores) = (kind & KIND_URGENT != 0, kind & KIND_STORES != 0);
        let kind = QueueKind::of(kind & !(KIND_URGENT | KIND_STORES)).ok_or(CallError::Invalid)?;
        // The firmware's queue of commands has one order for all that it sends.
        if is_urgent && (direction, kind) != (Direction::Transmit, QueueKind::Resident) {
            return Err(CallError::Invalid);
        }
        // Hardware does not have stores captured, and the bus unit puts them into SRAM alone.
        if has_stores && (direction, kind) != (Direction::Transmit, QueueKind::Hybrid) {
            return Err(CallError::Invalid);
        }
        if !slots.is_power_of_two() || slots > 1 << 14 {
            return Err(CallError::Invalid);
        }
        self.check_room()?;
        let bytes = slots * SLOT_BYTES;
        let before = self.state.agent.opened[direction as usize][usize::from(logical)];
        let at = match before {
            Some(Opened {
                is_prepared: true, kind: QueueKind::Resident, buffer, bytes: prepared, ..
            }) if kind == QueueKind::Resident && prepared == bytes => {
                let queues = &mut self.state.agent.opened[direction as usize];
                queues[usize::from(logical)] = before.map(|own| Opened { is_prepared: false, ..own });
                buffer
            }
            Some(_) => return Err(CallError::Busy),
            None => self.open_anew(direction, logical, kind, (buffer, bytes), system)?,
        };
        let shadow = self.build.layout.shadow(direction, logical);
        self.state.sram.set_word(shadow + POINTER_STORES, has_stores.into());
        if has_stores {
            self.state.space.approved_stores |= 1 << process;
        }
        if let Some(physical) = self.state.queues.resident(direction, logical) {
            self.state.queues.queue_mut(direction, physical).is_urgent = is_urgent;
        }
        let layout = &self.build.layout;
        words[5] = logical.into();
        words[6] = layout.window(direction, logical);
        words[7] = match kind {
            QueueKind::NonResident => buffer,
            _ => layout.cachable_buffers(process).start + (at - layout.buffers_of(process).start),
        };
        Ok(())
    }

    /// Opens a queue that is not open: where its buffer is.
    fn open_anew(
        &mut self,
        direction: Direction,
        logical: u8,
        kind: QueueKind,
        (buffer, bytes): (u64, u64),
        system: &mut dyn OperatingSystem,
    ) -> Result<u64, CallError> {
        let process = self.build.layout.owner(logical);
        let slots = bytes / SLOT_BYTES;
        let (at, physical) = match kind {
            QueueKind::NonResident => (self.pin_buffer(buffer, bytes, system)?, None),
            QueueKind::Hybrid => (self.allocate(process, bytes)?, None),
            QueueKind::Resident => {
                let at = self.allocate(process, bytes)?;
                (at, Some(self.take_physical(direction, logical, at, slots as u16)?))
            }
            QueueKind::Cachable => return Err(CallError::Invalid),
        };
        let shadow = self.build.layout.shadow(direction, logical);
        for (word, value) in [0, 0, QUEUE_CLOSED].into_iter().enumerate() {
            self.state.sram.set_word(shadow + word as u64 * 8, value);
        }
        if physical.is_none() {
            let about = direction as u64 | u64::from(logical) << 8 | kind.number() << 16 | slots << 32;
            self.state.agent.command(process, request::OPEN, &[about, at]);
        }
        let is_pinned = kind == QueueKind::NonResident;
        let opened = Opened {
            kind,
            buffer: if is_pinned { buffer } else { at },
            bytes,
            physical,
            is_prepared: false,
            is_closing: false,
        };
        self.state.agent.opened[direction as usize][usize::from(logical)] = Some(opened);
        Ok(at)
    }

    /// Where the library's queues are resident, a process's first receive queue is there before
    /// the process has asked for it, as if a launcher of jobs had opened it: others may have
    /// started already and send to it.
    pub(in crate::voyager) fn prepare(&mut self) {
        match self.build.kind {
            QueueKind::Resident => self.prepare_resident(),
            QueueKind::Cachable => self.prepare_cachable(),
            QueueKind::NonResident | QueueKind::Hybrid => {}
        }
    }

    /// Cachable queues need no call at all: the firmware learns of them as if they were opened.
    fn prepare_cachable(&mut self) {
        let slots = self.build.layout.cachable_slots();
        for process in 0..self.build.layout.processes {
            let logical = self.build.layout.logical(process, 0);
            for direction in Direction::BOTH {
                let kind = QueueKind::Cachable;
                let about = direction as u64 | u64::from(logical) << 8 | kind.number() << 16 | slots << 32;
                let buffer = self.build.layout.cachable_queue(direction, process);
                let snooped = self.build.layout.snooped(process).start;
                self.state.agent.command(process, request::OPEN, &[about, buffer, snooped]);
                let opened = Opened {
                    kind,
                    buffer,
                    bytes: slots * SLOT_BYTES,
                    physical: None,
                    is_prepared: true,
                    is_closing: false,
                };
                self.state.agent.opened[direction as usize][usize::from(logical)] = Some(opened);
            }
        }
    }

    fn prepare_resident(&mut self) {
        let slots = self.build.config.slots;
        for process in 0..self.build.layout.processes {
            let logical = self.build.layout.logical(process, 0);
            let bytes = u64::from(slots) * SLOT_BYTES;
            let at = self.allocate(process, bytes).expect("the configuration was checked");
            let physical = self
                .take_physical(Direction::Receive, logical, at, slots as u16)
                .expect("the configuration was checked");
            let opened = Opened {
                kind: QueueKind::Resident,
                buffer: at,
                bytes,
                physical: Some(physical),
                is_prepared: true,
                is_closing: false,
            };
            self.state.agent.opened[Direction::Receive as usize][usize::from(logical)] = Some(opened);
        }
    }

    /// Pins the buffer of a non-resident queue, which has one address of the node.
    fn pin_buffer(
        &mut self,
        buffer: u64,
        bytes: u64,
        system: &mut dyn OperatingSystem,
    ) -> Result<u64, CallError> {
        if !buffer.is_multiple_of(PAGE_BYTES) {
            return Err(CallError::Invalid);
        }
        let frames = system.pin(buffer, bytes)?;
        if frames.windows(2).any(|pair| pair[1] != pair[0] + PAGE_BYTES) {
            system.unpin(buffer, bytes)?;
            return Err(CallError::NoMemory);
        }
        Ok(frames[0])
    }

    /// The first free part of a process's SRAM.
    pub(super) fn allocate(&self, process: u8, bytes: u64) -> Result<u64, CallError> {
        let part = self.build.layout.buffers_of(process);
        let mut start = part.start;
        for (used, length) in self.state.agent.used_sram(process, self.build.layout.queues) {
            if start + bytes <= used {
                break;
            }
            start = used + length;
        }
        if start + bytes <= part.end { Ok(start) } else { Err(CallError::NoMemory) }
    }

    /// Bytes of a process's SRAM that none of its queues has.
    pub(super) fn sram_left(&self, process: u8) -> u64 {
        let Layout { queues, buffer_bytes, .. } = self.build.layout;
        let used: u64 = self.state.agent.used_sram(process, queues).iter().map(|(_, bytes)| bytes).sum();
        buffer_bytes - used
    }

    /// A physical queue that is not the firmware's works for a logical one from now on.
    fn take_physical(
        &mut self,
        direction: Direction,
        logical: u8,
        base: u64,
        slots: u16,
    ) -> Result<usize, CallError> {
        let config = &self.build.config;
        let queues = &mut self.state.queues;
        let mut physical = 1..(config.physical_queues - config.hybrid_queues) as usize;
        let physical =
            physical.find(|&place| queues.is_unused(direction, place)).ok_or(CallError::NoMemory)?;
        let process = self.build.layout.owner(logical);
        *queues.queue_mut(direction, physical) =
            Queue { is_enabled: true, logical, process, base, slots, error: QUEUE_OPEN, ..Queue::default() };
        queues.map(direction, logical, physical);
        Ok(physical)
    }

    /// Closes a queue. One that is the firmware's work is closed when the firmware says so by its
    /// status: until then commands for its buffer may be under way, and its pages stay pinned.
    pub(super) fn close(&mut self, process: u8, words: &Words) -> Result<(), CallError> {
        let (direction, logical) = self.named(process, words[0], words[1])?;
        let status = self.build.layout.shadow(direction, logical) + POINTER_STATUS;
        let own = &mut self.state.agent.opened[direction as usize][usize::from(logical)];
        match *own {
            None | Some(Opened { is_closing: true, .. }) => Err(CallError::Absent),
            Some(Opened { kind: QueueKind::Cachable, .. }) => Err(CallError::Invalid),
            Some(Opened { physical: Some(physical), .. }) => {
                *own = None;
                self.state.queues.leave(direction, physical);
                self.state.sram.set_word(status, QUEUE_CLOSED);
                Ok(())
            }
            Some(opened) => {
                self.check_room()?;
                let closing = Opened { is_closing: true, ..opened };
                self.state.agent.opened[direction as usize][usize::from(logical)] = Some(closing);
                self.state.agent.command(process, request::CLOSE, &[words[0] | u64::from(logical) << 8]);
                self.state.sram.set_word(status, QUEUE_CLOSING);
                Ok(())
            }
        }
    }

    /// Queues of a process that the firmware has closed are gone, and their pages unpinned.
    pub(super) fn end_closing(
        &mut self,
        process: u8,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let Voyager { build, state, .. } = self;
        let queues = usize::from(build.layout.queues);
        for direction in Direction::BOTH {
            for logical in usize::from(process) * queues..(usize::from(process) + 1) * queues {
                let own = &mut state.agent.opened[direction as usize][logical];
                let status = build.layout.shadow(direction, logical as u8) + POINTER_STATUS;
                let is_closed = |own: &mut Opened| own.is_closing && state.sram.word(status) == QUEUE_CLOSED;
                if let Some(Opened { kind: QueueKind::NonResident, buffer, bytes, .. }) =
                    own.take_if(is_closed)
                {
                    system.unpin(buffer, bytes)?;
                }
            }
        }
        Ok(())
    }
}
