//! The processes of programs: what each finds in its memory when it starts.

use std::ops::Range;

use narthex_cores::AnyProcessor;
use narthex_cores::linux::{Invocation, Protection, SystemCalls, start};
use narthex_cores::network_registers::{RECEIVE_OFFSET, SEND_OFFSET};
use narthex_fabrics::{NodeId, Rank};
use narthex_interfaces::Device;
use narthex_interfaces::description::Layout;
use narthex_interfaces::fifo;
use narthex_interfaces::information::InformationPage;
use narthex_interfaces::models::{MODELS, Model};
use narthex_interfaces::registers::{Addresses, NODE_MEMORY};
use narthex_memory::main_memory::{MainMemory, PAGE_BYTES};
use narthex_memory::pages::{PageAttributes, PageTable};
use narthex_memory::{AgentId, ProcessorMemory};

use super::jobs::{Job, JobPlacement};
use super::{Blueprint, ProcessId, Running};
use crate::config::ProcessorPart;
use crate::node::memory::NodeMemory;
use crate::node::{Personality, Process};
use crate::request::Failure;

// A core whose registers are the network's accesses those of the interface without knowing it.
const _: () = assert!(SEND_OFFSET == fifo::SEND && RECEIVE_OFFSET == fifo::RECEIVE);

impl Blueprint<'_> {
    /// A process about to start, with its first processor; what it needs is in memory. The
    /// network interfaces are the first of the devices; what else the process accesses
    /// uncached is `beside`.
    pub(super) fn process(
        &self,
        place: ProcessId,
        agent: AgentId,
        devices: &[&dyn Device],
        beside: &[Range<u64>],
        main: &mut MainMemory,
    ) -> Result<(Running, Process), Failure> {
        let own = usize::from(place.process % self.config.interfaces_per_node());
        let layouts = devices[own].layouts(place.process);
        let mut pages = PageTable::default();
        let mut mapped = self.map_devices(place, &layouts, &mut pages, main);
        for range in beside {
            pages.map(range.start, range.end - range.start, PageAttributes::DEVICE);
            mapped.push((range.clone(), Protection::READ_WRITE));
        }
        let combinable = devices.iter().flat_map(|device| device.ports()).flat_map(|port| port.combinable);
        for range in combinable.filter(|_| self.config.write_combining.is_some()) {
            if pages.lookup(range.start) == Some(PageAttributes::DEVICE) {
                pages.map(range.start, range.end - range.start, PageAttributes::COMBINING);
            }
        }
        let (mut processor, mut memory) = self.further_processor(place, agent, self.config.node.host().1);
        let mut calls = self.load_program(place, &mut pages, main, &mut processor, &mut memory)?;
        for (range, protection) in mapped {
            calls.space_mut().reserve_device(range.start, range.end - range.start, protection);
        }
        let names = devices.iter().filter_map(|device| device.calls_name()).map(str::to_owned);
        let calls = calls
            .with_devices(names.collect())
            .with_absent_devices(self.absent_devices())
            .with_files(self.files.clone())
            .with_processors(self.config.processors_per_process() as usize);
        let process = Process::new(self.loaded(place).program.clone(), Personality::Linux, pages, calls)
            .with_first_processor(agent.0.into());
        Ok(((processor, memory), process))
    }

    /// Refuses jobs of more processes than the messages of a node can go to.
    pub(super) fn check_peers(&self, node: NodeId, interface: &dyn Device) -> Result<(), Failure> {
        let jobs = self.processes_of(node).filter_map(|place| self.job_of(place));
        let peers: Vec<u32> = jobs.map(|job| u32::from(job.ranks.ranks()) - 1).collect();
        match interface.too_many_peers(&peers) {
            Some(problem) => Err(Failure::usage(format!("{}: {problem}", self.machine))),
            None => Ok(()),
        }
    }

    /// The devices that programs open with other interfaces, under their sections' names, and
    /// what is said to one that opens them here.
    fn absent_devices(&self) -> Vec<(String, String)> {
        let others = MODELS.iter().filter(|model| model.makes_devices());
        let absent = |model: &&Model| {
            let (interface, examples) = (&self.interface, model.examples.join(", "));
            let reason = format!("which is a device of {examples}; the interface is {interface}");
            (model.section.to_owned(), reason)
        };
        others.map(absent).collect()
    }

    /// A processor of a process of a program, on which nothing runs yet.
    pub(super) fn further_processor(
        &self,
        place: ProcessId,
        agent: AgentId,
        part: &ProcessorPart,
    ) -> Running {
        let code = self.loaded(place).code.clone();
        let core = self.config.core_named(&part.core);
        let mut processor = AnyProcessor::new(core, code).with_access_control(&self.config.access_control);
        if let Some(cycles) = core.interrupt_cycles {
            processor = processor.with_interrupts(cycles);
        }
        (processor, self.memory_of(place.process, agent, part))
    }

    /// Makes a process's information page, registers, pointers and queues and
    /// the node's memory accessible to it; what system calls may do with each.
    pub fn map_devices(
        &self,
        place: ProcessId,
        layouts: &[Layout],
        pages: &mut PageTable,
        main: &mut MainMemory,
    ) -> Vec<(Range<u64>, Protection)> {
        let addresses = Addresses::of_process(place.process);
        let page = |start| start..start + PAGE_BYTES;
        let mut devices = vec![
            (page(addresses.information_page()), PageAttributes::READ_ONLY),
            (page(addresses.register_page()), PageAttributes::DEVICE),
        ];
        // Processes of different jobs share nothing.
        if self.loaded(place).place.processes.len() == usize::from(self.placement().processes) {
            devices.push((NODE_MEMORY, PageAttributes::DATA));
        }
        if self.config.has_block_buffers() {
            devices.push((page(addresses.block_buffers()), PageAttributes::BLOCK_BUFFERS));
        }
        for layout in layouts {
            devices.extend(layout.cachable.iter().map(|range| (range.clone(), PageAttributes::DATA)));
            devices.extend(layout.windows.iter().map(|range| {
                let stores_wait = layout.waiting_windows.contains(range);
                (range.clone(), PageAttributes { stores_wait, ..PageAttributes::DEVICE })
            }));
            for &(address, word) in &layout.initial_words {
                main.write(address, &word.to_le_bytes());
            }
        }
        for (index, word) in self.information(place, layouts).words().iter().enumerate() {
            main.write(addresses.information_page() + 8 * index as u64, &word.to_le_bytes());
        }
        for (range, attributes) in &devices {
            pages.map(range.start, range.end - range.start, *attributes);
        }
        let protection = |attributes: PageAttributes| match attributes.writable {
            true => Protection::READ_WRITE,
            false => Protection::READ,
        };
        devices.into_iter().map(|(range, attributes)| (range, protection(attributes))).collect()
    }

    /// What the information page tells a process.
    fn information(&self, place: ProcessId, layouts: &[Layout]) -> InformationPage {
        let Job { place: JobPlacement { nodes, processes, .. }, ranks, .. } = self.loaded(place);
        let rank = ranks.rank_of(self.placement().rank(place.node, place.process)).unwrap_or(Rank(0));
        let overrides: Vec<(&str, u64)> =
            layouts.iter().flat_map(|layout| layout.overrides.iter().copied()).collect();
        let name = self.interface_name(place.process);
        let page = InformationPage::of_interface(&name, place.process, layouts).with(&[
            ("node", u64::from(rank.0) / processes.len() as u64),
            ("nodes", nodes.len() as u64),
            ("process", u64::from(place.process.saturating_sub(processes.start))),
            ("packet_bytes", self.packet_bytes()),
            ("header_bytes", self.config.messages.header.as_u64()),
            ("payload_bytes", self.config.payload_bytes()),
            ("block_bytes", self.block_bytes()),
            ("entry_bytes", self.packet_bytes()),
            ("seed", self.seed),
            ("processes", processes.len() as u64),
            ("colours_bytes", self.config.data_cache.colours_bytes()),
        ]);
        page.with(&overrides)
    }

    /// What a process's program is started with.
    pub fn invocation(&self, place: ProcessId) -> Invocation {
        let rank = self.placement().rank(place.node, place.process);
        let page = Addresses::of_process(place.process).information_page();
        Invocation {
            arguments: self.loaded(place).arguments.clone(),
            environment: std::iter::once(format!("NARTHEX_PAGE={page:#x}"))
                .chain(self.environment.iter().cloned())
                .collect(),
            seed: self.seed ^ u64::from(rank.0) << 32,
        }
    }

    fn load_program(
        &self,
        place: ProcessId,
        pages: &mut PageTable,
        main: &mut MainMemory,
        processor: &mut AnyProcessor,
        memory: &mut ProcessorMemory,
    ) -> Result<SystemCalls, Failure> {
        let invocation = self.invocation(place);
        let caches = std::slice::from_mut(memory);
        let block_bytes = self.block_bytes();
        let mut loader = NodeMemory {
            caches,
            own: 0,
            main,
            pages,
            block_bytes,
            devices: [&mut [], &mut []],
            interconnects: &mut [],
        };
        let program = &self.loaded(place).program;
        let started = start(program, &invocation, &mut loader).map_err(Failure::usage)?;
        processor.set_pc(started.program_counter);
        processor.set_x(2, started.stack_pointer);
        Ok(SystemCalls::for_process(started.space, invocation.seed))
    }
}
