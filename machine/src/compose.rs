//! From a configuration and a program to the nodes of a machine: the one place
//! that knows which component is built from which table.

use std::ops::Range;
use std::sync::Arc;

use narthex_cores::linux::{Invocation, Program, Protection, SystemCalls, start};
use narthex_cores::{Code, InOrder, Processor};
use narthex_fabrics::faults::Faults;
use narthex_fabrics::{NetworkPort, NodeId, PacketFormat, Placement};
use narthex_interfaces::Attached;
use narthex_interfaces::interface::Interface;
use narthex_interfaces::registers::{
    Addresses, DEVICE_REGION, INFORMATION_FIELDS, INFORMATION_VERSION, MAGIC, NODE_MEMORY,
};
use narthex_interfaces::side::Layout;
use narthex_kernel::Clock;
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::{InterconnectId, MemoryId};
use narthex_memory::main_memory::{Image, MainMemory, PAGE_BYTES};
use narthex_memory::pages::{PageAttributes, PageTable};
use narthex_memory::processor_memory::block_buffers;
use narthex_memory::translation::Translation;
use narthex_memory::{AgentId, ProcessorMemory};

use crate::config::{InstructionCache, MachineConfig};
use crate::node::memory::NodeMemory;
use crate::node::{Node, NodeProcessor, Parts, Process, ProcessorSeats};
use crate::request::{Failure, RunRequest};

/// Where a process runs.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// On which node.
    pub node: NodeId,
    /// As which of its processes.
    pub process: u8,
}

/// What all nodes of a run share.
pub struct Blueprint<'a> {
    /// The machine.
    pub config: &'a MachineConfig,
    /// What the user calls it, for messages: a preset or a file.
    pub machine: String,
    /// Its interface, and where that is attached.
    pub interface: Attached,
    /// How many nodes it has.
    pub nodes: u32,
    /// Where random streams start.
    pub seed: u64,
    /// The program that every node runs.
    pub program: Arc<Program>,
    /// Its decoded instructions.
    pub code: Arc<Code>,
    /// Its bytes.
    pub image: Arc<Image>,
    /// Its arguments, the name first.
    pub arguments: Vec<String>,
}

impl<'a> Blueprint<'a> {
    /// Prepares what is shared: the program is decoded once.
    pub fn new(
        config: &'a MachineConfig,
        interface: Attached,
        program: Program,
        request: &RunRequest,
    ) -> Self {
        let code = Code::from_segments(program.code());
        let segments = program.segments().iter();
        let image = Image::new(segments.map(|segment| (segment.address, &*segment.bytes)));
        let arguments = std::iter::once(request.program.clone()).chain(request.args.iter().cloned());
        Blueprint {
            config,
            machine: request.machine.clone(),
            interface,
            nodes: request.nodes.unwrap_or(config.machine.nodes),
            seed: request.seed.unwrap_or(config.machine.seed),
            code: Arc::new(code),
            image: Arc::new(image),
            arguments: arguments.collect(),
            program: Arc::new(program),
        }
    }

    /// Builds the node with this number, its program loaded.
    pub fn node(&self, number: u32) -> Result<Node, Failure> {
        let config = self.config;
        let id = NodeId(number as u16);
        let interface = self.build_interface()?;
        let placement = self.placement();
        let flow_control = config.flow_control.build(placement);
        let network =
            NetworkPort::new(id, placement, flow_control, config.network.build(), self.packet_format());
        let network = match &config.faults {
            Some(faults) => network.with_faults(Faults::of(faults, id)),
            None => network,
        };
        let mut memory = HomeMemory {
            bytes: MainMemory::with_image(self.image.clone()),
            access_time: config.main_memory.access_time,
            block_bytes: self.block_bytes(),
        };
        let shape = config.shape(self.interface.attachment, &interface);
        let wired = shape.wire(&[&interface]);
        let interconnects =
            wired.map_err(|problem| Failure::usage(format!("{}: {problem}", self.machine)))?;
        let processors = (0..placement.processes)
            .map(|process| {
                let place = Place { node: id, process };
                let (processor, caches, process) = self.process(place, &interface, &mut memory.bytes)?;
                Ok((NodeProcessor::new(processor, caches, self.seats()), process))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let bus_clock = Clock::with_period(config.bus.clock.period());
        let [on] = <[_; 1]>::try_from(shape.devices).expect("a node has one device");
        Ok(Node::new(Parts {
            id,
            processors,
            interconnects,
            memories: vec![memory],
            devices: vec![(Box::new(interface), on)],
            network,
            blocking_access_time: config.processor.period() * config.processor.blocking_access_cycles,
            stagger: bus_clock.cycles(u64::from(config.bus.arbitration_cycles)),
            program: self.program.clone(),
        }))
    }

    /// Where the processors of a node sit.
    pub fn seats(&self) -> ProcessorSeats {
        let seats = ProcessorSeats::on(InterconnectId(0), MemoryId(0));
        match self.config.private_path(self.interface.attachment) {
            Some(_) => seats.with_private_path(InterconnectId(1)),
            None => seats,
        }
    }

    /// A process about to start, with its processor; what it needs is in memory.
    fn process(
        &self,
        place: Place,
        interface: &Interface,
        main: &mut MainMemory,
    ) -> Result<(Processor<InOrder>, ProcessorMemory, Process), Failure> {
        let layouts = interface.layouts(place.process);
        let mut pages = PageTable::default();
        let devices = self.map_devices(place, &layouts, &mut pages, main);
        let mut memory = self.processor_memory(place.process);
        let mut processor = Processor::<InOrder>::new(&self.config.processor, self.code.clone())
            .with_access_control(&self.config.access_control);
        let mut calls = self.load_program(place, &mut pages, main, &mut processor, &mut memory)?;
        for (range, protection) in devices {
            calls.space_mut().reserve_device(range.start, range.end - range.start, protection);
        }
        Ok((processor, memory, Process::new(pages, calls)))
    }

    fn placement(&self) -> Placement {
        let processes = self.config.machine.processors_per_node as u8;
        Placement { nodes: self.nodes as u16, processes }
    }

    fn block_bytes(&self) -> u64 {
        self.config.block().as_u64()
    }

    fn packet_bytes(&self) -> u64 {
        self.config.messages.packet.as_u64()
    }

    fn packet_format(&self) -> PacketFormat {
        let header_bytes = self.config.messages.header.as_u64();
        PacketFormat { packet_bytes: self.packet_bytes(), header_bytes }
    }

    /// The interface of a node.
    pub fn build_interface(&self) -> Result<Interface, Failure> {
        let built = self.config.build_interface(&self.interface);
        built.map_err(|problem| Failure::usage(format!("{}: {problem}", self.machine)))
    }

    /// The caches and the store buffer of a process's processor.
    pub fn processor_memory(&self, process: u8) -> ProcessorMemory {
        let config = self.config;
        let instructions = match &config.instruction_cache {
            InstructionCache::Ideal {} => None,
            InstructionCache::Cache(cache) => Some(cache),
        };
        let supply_time = config.bus.cache_supply_time;
        let agent = AgentId(process);
        let memory =
            ProcessorMemory::new(agent, &config.data_cache, instructions, &config.store_buffer, supply_time)
                .with_translation(Translation::of_process(process, DEVICE_REGION));
        match config.block_buffers {
            block_buffers::Config::None {} => memory,
            block_buffers::Config::Pair { transfer_cycles } => {
                let clock = Clock::with_period(config.processor.period());
                memory.with_block_buffers(clock.cycles(u64::from(transfer_cycles)))
            }
        }
    }

    /// Makes a process's information page, registers, pointers and queues and
    /// the node's memory accessible to it; what system calls may do with each.
    pub fn map_devices(
        &self,
        place: Place,
        layouts: &[Layout; 2],
        pages: &mut PageTable,
        main: &mut MainMemory,
    ) -> Vec<(Range<u64>, Protection)> {
        let addresses = Addresses::of_process(place.process);
        let page = |start| start..start + PAGE_BYTES;
        let mut devices = vec![
            (page(addresses.information_page()), PageAttributes::READ_ONLY),
            (page(addresses.register_page()), PageAttributes::DEVICE),
            (NODE_MEMORY, PageAttributes::DATA),
        ];
        if self.config.has_block_buffers() {
            devices.push((page(addresses.block_buffers()), PageAttributes::BLOCK_BUFFERS));
        }
        for layout in layouts {
            devices.extend(layout.cachable.iter().map(|range| (range.clone(), PageAttributes::DATA)));
            for &(address, word) in &layout.initial_words {
                main.write(address, &word.to_le_bytes());
            }
        }
        for (index, field) in self.information(place, layouts).into_iter().enumerate() {
            main.write(addresses.information_page() + 8 * index as u64, &field.to_le_bytes());
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

    /// The fields of the information page, in the order of
    /// [`INFORMATION_FIELDS`].
    fn information(&self, place: Place, [send, receive]: &[Layout; 2]) -> [u64; INFORMATION_FIELDS.len()] {
        let addresses = Addresses::of_process(place.process);
        let packet = self.packet_bytes();
        let header = self.config.messages.header.as_u64();
        [
            MAGIC,
            INFORMATION_VERSION,
            u64::from(place.node.0),
            u64::from(self.nodes),
            send.driver as u64,
            addresses.register_page(),
            packet,
            header,
            self.config.payload_bytes(),
            self.block_bytes(),
            addresses.send_queue(),
            send.entries,
            addresses.receive_queue(),
            receive.entries,
            packet,
            addresses.send_tail(),
            addresses.send_head(),
            addresses.receive_head(),
            u64::from(send.cachable_message_ready),
            u64::from(receive.overflows_to_memory),
            self.seed,
            receive.driver as u64,
            u64::from(place.process),
            u64::from(self.placement().processes),
            NODE_MEMORY.start,
            NODE_MEMORY.end - NODE_MEMORY.start,
            addresses.block_buffers(),
            send.dma_above.max(receive.dma_above),
        ]
    }

    /// What a process's program is started with.
    pub fn invocation(&self, place: Place) -> Invocation {
        let rank = self.placement().rank(place.node, place.process);
        let page = Addresses::of_process(place.process).information_page();
        Invocation {
            arguments: self.arguments.clone(),
            environment: vec![format!("NARTHEX_PAGE={page:#x}")],
            seed: self.seed ^ u64::from(rank.0) << 32,
        }
    }

    fn load_program(
        &self,
        place: Place,
        pages: &mut PageTable,
        main: &mut MainMemory,
        processor: &mut Processor<InOrder>,
        memory: &mut ProcessorMemory,
    ) -> Result<SystemCalls, Failure> {
        let invocation = self.invocation(place);
        let caches = std::slice::from_mut(memory);
        let block_bytes = self.block_bytes();
        let mut loader =
            NodeMemory { caches, own: 0, main, pages, block_bytes, devices: &[], interconnects: &[] };
        let started = start(&self.program, &invocation, &mut loader).map_err(Failure::usage)?;
        processor.set_pc(started.program_counter);
        processor.set_x(2, started.stack_pointer);
        Ok(SystemCalls::for_process(started.space, invocation.seed))
    }
}
