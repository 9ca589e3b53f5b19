//! From a configuration and a program to the nodes of a machine: the one place
//! that knows which component is built from which table.

use std::sync::Arc;

use narthex_cores::linux::{Invocation, Program, Protection, SystemCalls, start};
use narthex_cores::{Code, InOrder, Processor};
use narthex_fabrics::{NetworkPort, NodeId};
use narthex_interfaces::Attached;
use narthex_interfaces::interface::{Interface, Node as InterfaceNode};
use narthex_interfaces::registers::{
    Addresses, INFORMATION_FIELDS, INFORMATION_PAGE, INFORMATION_VERSION, MAGIC, RECEIVE_HEAD, RECEIVE_QUEUE,
    REGISTER_PAGE, SEND_HEAD, SEND_QUEUE, SEND_TAIL,
};
use narthex_interfaces::side::Layout;
use narthex_kernel::Clock;
use narthex_memory::bus::Bus;
use narthex_memory::main_memory::{Image, MainMemory, PAGE_BYTES};
use narthex_memory::pages::{PageAttributes, PageTable};
use narthex_memory::{AgentId, Kind, ProcessorMemory, protocols};

use crate::config::{InstructionCache, MachineConfig};
use crate::node::memory::NodeMemory;
use crate::node::{Node, Parts};
use crate::request::{Failure, RunRequest};

/// What all nodes of a run share.
pub struct Blueprint<'a> {
    /// The machine.
    pub config: &'a MachineConfig,
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
        let segments = || program.segments().iter();
        let executable = segments().filter(|segment| segment.protection.execute);
        let code = Code::from_segments(executable.map(|segment| (segment.address, &*segment.bytes)));
        let image = Image::new(segments().map(|segment| (segment.address, &*segment.bytes)));
        let arguments = std::iter::once(request.program.clone()).chain(request.args.iter().cloned());
        Blueprint {
            config,
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
        let network = NetworkPort::new(
            id,
            self.nodes as usize,
            config.flow_control.build(id, self.nodes as usize),
            config.network.build(),
        );
        let mut pages = PageTable::default();
        let mut main = MainMemory::with_image(self.image.clone());
        let layouts = interface.layouts();
        self.map_devices(number, &layouts, &mut pages, &mut main);
        let mut memory = self.processor_memory();
        let mut processor = Processor::<InOrder>::new(&config.processor, self.code.clone());
        let mut calls = self.load_program(number, &mut pages, &mut main, &mut processor, &mut memory)?;
        for range in layouts.iter().flat_map(|layout| &layout.cachable) {
            calls.space_mut().reserve_device(range.start, range.end - range.start, Protection::READ_WRITE);
        }
        let bus_clock = Clock::with_period(config.bus.clock.period());
        Ok(Node::new(Parts {
            id,
            processors: vec![(processor, memory)],
            bus: Bus::new(&config.bus, self.block_bytes() as usize),
            private_bus: self.private_bus(),
            arbitration_time: bus_clock.cycles(u64::from(config.bus.arbitration_cycles)),
            main,
            memory_access_time: config.main_memory.access_time,
            pages,
            block_bytes: self.block_bytes(),
            interface,
            network,
            program: self.program.clone(),
            calls,
        }))
    }

    fn block_bytes(&self) -> u64 {
        self.config.block().as_u64()
    }

    fn packet_bytes(&self) -> u64 {
        self.config.messages.packet.as_u64()
    }

    fn build_interface(&self) -> Result<Interface, Failure> {
        let (config, Attached { name, attachment }) = (self.config, self.interface);
        let protocol = protocols::by_name(&config.data_cache.protocol).expect("checked with the machine");
        let node = InterfaceNode {
            sections: &config.interfaces_at(attachment),
            agents: [AgentId(1), AgentId(2)],
            addresses: Addresses::of_process(0),
            attachment,
            protocol,
            block_bytes: self.block_bytes(),
            packet_bytes: self.packet_bytes(),
        };
        let interface = Interface::build(name, &node).map_err(Failure::usage)?;
        match config.lacks(attachment) {
            None => Ok(interface),
            Some(lack) => Err(Failure::usage(format!("{lack}, which '{}' needs", self.interface))),
        }
    }

    /// The processor's own bus to its interface, where that is on none of the others.
    fn private_bus(&self) -> Option<Bus> {
        let path = self.config.private_path(self.interface.attachment)?;
        let clock = Clock::with_period(self.config.processor.period());
        Some(Bus::with_occupancy(clock, |kind| {
            u64::from(match kind {
                Kind::UncachedLoad => path.uncached_load_cycles,
                Kind::UncachedStore => path.uncached_store_cycles,
                _ => 0,
            })
        }))
    }

    fn processor_memory(&self) -> ProcessorMemory {
        let config = self.config;
        let instructions = match &config.instruction_cache {
            InstructionCache::Ideal {} => None,
            InstructionCache::Cache(cache) => Some(cache),
        };
        let supply_time = config.bus.cache_supply_time;
        ProcessorMemory::new(AgentId(0), &config.data_cache, instructions, &config.store_buffer, supply_time)
    }

    /// Makes information page, registers, pointers and queues accessible.
    fn map_devices(&self, number: u32, layouts: &[Layout; 2], pages: &mut PageTable, main: &mut MainMemory) {
        pages.map(INFORMATION_PAGE, PAGE_BYTES, PageAttributes::READ_ONLY);
        pages.map(REGISTER_PAGE, PAGE_BYTES, PageAttributes::DEVICE);
        for (place, field) in self.information(number, layouts).into_iter().enumerate() {
            main.write(INFORMATION_PAGE + 8 * place as u64, &field.to_le_bytes());
        }
        for layout in layouts {
            for range in &layout.cachable {
                pages.map(range.start, range.end - range.start, PageAttributes::DATA);
            }
            for &(address, word) in &layout.initial_words {
                main.write(address, &word.to_le_bytes());
            }
        }
    }

    /// The fields of the information page, in the order of
    /// [`INFORMATION_FIELDS`].
    fn information(&self, number: u32, [send, receive]: &[Layout; 2]) -> [u64; INFORMATION_FIELDS.len()] {
        let packet = self.packet_bytes();
        let header = self.config.messages.header.as_u64();
        [
            MAGIC,
            INFORMATION_VERSION,
            u64::from(number),
            u64::from(self.nodes),
            send.driver as u64,
            REGISTER_PAGE,
            packet,
            header,
            packet - header,
            self.block_bytes(),
            SEND_QUEUE,
            send.entries,
            RECEIVE_QUEUE,
            receive.entries,
            packet,
            SEND_TAIL,
            SEND_HEAD,
            RECEIVE_HEAD,
            u64::from(send.cachable_message_ready),
            u64::from(receive.overflows_to_memory),
            self.seed,
            receive.driver as u64,
        ]
    }

    fn load_program(
        &self,
        number: u32,
        pages: &mut PageTable,
        main: &mut MainMemory,
        processor: &mut Processor<InOrder>,
        memory: &mut ProcessorMemory,
    ) -> Result<SystemCalls, Failure> {
        let seed = self.seed ^ u64::from(number) << 32;
        let invocation = Invocation {
            arguments: self.arguments.clone(),
            environment: vec!["NARTHEX=1".into(), format!("NARTHEX_NODE={number}")],
            seed,
        };
        let caches = std::slice::from_mut(memory);
        let mut loader = NodeMemory { caches, main, pages, block_bytes: self.block_bytes(), interface: None };
        let started = start(&self.program, &invocation, &mut loader).map_err(Failure::usage)?;
        processor.set_pc(started.program_counter);
        processor.set_x(2, started.stack_pointer);
        let mut calls = SystemCalls::for_process(started.space, seed);
        let space = calls.space_mut();
        space.reserve_device(INFORMATION_PAGE, PAGE_BYTES, Protection::READ);
        space.reserve_device(REGISTER_PAGE, PAGE_BYTES, Protection::READ_WRITE);
        Ok(calls)
    }
}
