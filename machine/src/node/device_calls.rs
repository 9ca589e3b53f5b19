//! Calls of devices by programs, and what the operating system does for them.

use narthex_cores::linux::address_space::Refusal;
use narthex_cores::linux::{AddressSpace, GuestMemory, Protection};
use narthex_interfaces::device_call::{CallError, DeviceCall, OperatingSystem};
use narthex_kernel::{Duration, Time};
use narthex_memory::interconnects::MemoryId;

use super::memory::NodeMemory;
use super::process::Process;
use super::{Node, NodeProcessor};

/// The operating system of one process while a device answers its call.
struct SystemOfProcess<'a> {
    memory: NodeMemory<'a, NodeProcessor>,
    space: &'a mut AddressSpace,
    pinned_limit: u64,
    /// Pages that were pinned and unpinned.
    pages: u64,
    /// What the call takes beside.
    time: Duration,
}

impl SystemOfProcess<'_> {
    fn check(&self, address: u64, length: usize, needed: Protection) -> Result<(), CallError> {
        let is_allowed = self.space.allows(address, length as u64, needed);
        if is_allowed { Ok(()) } else { Err(CallError::BadAddress) }
    }
}

impl OperatingSystem for SystemOfProcess<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        self.check(address, bytes.len(), Protection::READ)?;
        self.memory.read(address, bytes).map_err(|_| CallError::BadAddress)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CallError> {
        self.check(address, bytes.len(), Protection { write: true, ..Protection::NONE })?;
        self.memory.write(address, bytes).map_err(|_| CallError::BadAddress)
    }

    fn pin(&mut self, address: u64, length: u64) -> Result<Vec<u64>, CallError> {
        let pages = self.space.pin(address, length, self.pinned_limit).map_err(|refusal| match refusal {
            Refusal::NoMemory => CallError::NoMemory,
            _ => CallError::BadAddress,
        })?;
        self.pages += pages.len() as u64;
        Ok(pages.into_iter().map(|page| self.memory.translated(page)).collect())
    }

    fn unpin(&mut self, address: u64, length: u64) -> Result<(), CallError> {
        self.pages += self.space.unpin(address, length).map_err(|_| CallError::Invalid)?;
        Ok(())
    }

    fn write_kernel(&mut self, address: u64, bytes: &[u8]) {
        self.memory.main.write(address, bytes);
    }

    fn take_time(&mut self, time: Duration) {
        self.time += time;
    }

    fn lock_lines(&mut self, processor: usize, lines: &[(usize, usize)]) -> Result<(), CallError> {
        let locked = self.memory.caches[processor].memory.lock_lines(lines);
        locked.map(|_| ()).map_err(|_| CallError::NoMemory)
    }

    fn free_lines(&mut self, processor: usize, lines: &[(usize, usize)]) {
        self.memory.caches[processor].memory.free_lines(lines);
    }
}

impl Node {
    /// The process on a processor calls the device at this place among those that
    /// programs can open. What its call returns, and the time that it takes.
    pub(super) fn call_device(
        &mut self,
        now: Time,
        index: usize,
        place: usize,
        (request, argument): (u64, u64),
    ) -> (i64, Duration) {
        let process = self.processors[index].process as u8;
        let mut callable =
            (0..self.devices.len()).filter(|&device| self.devices[device].calls_name().is_some());
        let device = callable.nth(place).expect("the program has opened it");
        let ports = self.devices[device].ports();
        let port = ports.iter().position(|port| port.process == process).unwrap_or(0);
        self.stop_watching_buses();
        let Node {
            processors, processes, memories, devices, interconnects, network, device_requests, ..
        } = self;
        let home = usize::from(processors[index].ports.memory.0);
        let (home, local_memory) = match self.local_memories[device] {
            None => (&mut memories[home], None),
            Some(MemoryId(local)) => {
                let both = memories.get_disjoint_mut([home, local.into()]);
                let [home, local] = both.expect("no local memory is a program's");
                (home, Some(&mut local.bytes))
            }
        };
        let Process { pages, calls, .. } = &mut processes[usize::from(process)];
        let (before, rest) = devices.split_at_mut(device);
        let (called, behind) = rest.split_first_mut().expect("it is one of the devices");
        let mut system = SystemOfProcess {
            memory: NodeMemory {
                caches: processors,
                own: index,
                main: &mut home.bytes,
                pages,
                block_bytes: home.block_bytes,
                devices: [before, behind],
                interconnects,
            },
            space: calls.space_mut(),
            pinned_limit: self.operating_system.pinned_pages,
            pages: 0,
            time: Duration::ZERO,
        };
        let mut context = device_requests.context(now, network.of_process(process), local_memory);
        let call = DeviceCall { process, request, argument };
        let answer = called.call(port, &mut context, &call, &mut system);
        let time = self.operating_system.page_time * system.pages + system.time;
        self.carry_out_for_port(now, self.port_of(device, port));
        // Blocks that are newer than memory go home before their lines are locked.
        let own = self.processes[usize::from(process)].processors.clone();
        for index in own.filter(|&index| self.processors[index].memory.is_locking()).collect::<Vec<_>>() {
            self.ask_for_processor(index, now);
        }
        (answer.unwrap_or_else(|error| -error.number()), time)
    }
}
