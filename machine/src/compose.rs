//! From a configuration and a program to the nodes of a machine: the one place
//! that knows which component is built from which table.

mod firmware;
mod hardware;
mod interrupts;
pub mod jobs;
mod memories;
mod nodes;
mod programs;
mod ranks;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use narthex_cores::AnyProcessor;
use narthex_cores::linux::{GivenFiles, Program};
use narthex_fabrics::faults::Faults;
use narthex_fabrics::networks::NetworkContext;
use narthex_fabrics::on_chip::OnChip;
use narthex_fabrics::switch::Switch;
use narthex_fabrics::{Frame, NetworkPort, NodeId, Placement, Relay};
use narthex_interfaces::forwarder::Forwarder;
use narthex_interfaces::interface::Interface;
use narthex_interfaces::registers::common_region;
use narthex_interfaces::sarc::Sarc;
use narthex_interfaces::{Attached, Device, DevicePort, Name};
use narthex_memory::interconnects::{Home, Interconnect, InterconnectId, MemoryId};
use narthex_memory::page_frames::PageFrames;
use narthex_memory::{AgentId, ProcessorMemory};

use crate::config::{FIRMWARE, FORWARDER, MachineConfig};
use crate::node::{HomePlace, Node, NodeOnChip, NodeProcessor, Parts, Process};
use crate::request::{Failure, JobRequest, RunRequest};
use crate::wiring::Shape;

use firmware::Firmware;
use jobs::Job;
pub use ranks::payload_beside_model;

/// Where a process runs.
#[derive(Clone, Copy, Debug)]
pub struct ProcessId {
    /// On which node.
    pub node: NodeId,
    /// As which of its processes.
    pub process: u8,
}

/// A processor about to run, with its caches.
type Running = (AnyProcessor, ProcessorMemory);

/// A device beside the network interface.
struct FurtherDevice {
    /// The interconnect of each port.
    on: Vec<String>,
    /// Its place on a network on chip.
    at: u16,
    build: Box<dyn Fn() -> Box<dyn Device>>,
}

/// What all nodes of a run share.
pub struct Blueprint<'a> {
    /// The machine, as this run has it.
    pub config: Cow<'a, MachineConfig>,
    /// The machine, with parts that this run may have not.
    whole: &'a MachineConfig,
    /// What the user calls it, for messages: a preset or a file.
    pub machine: String,
    /// Its interface, and where that is attached.
    pub interface: Attached,
    /// How many nodes it has.
    pub nodes: u32,
    /// How many of them are built: the first ones. The others are ranks of a model.
    pub built: u32,
    /// Where random streams start.
    pub seed: u64,
    /// What runs on its nodes.
    pub jobs: Vec<Job>,
    /// The frames of processes' pages.
    pub frames: PageFrames,
    /// The firmware of processors that run some, by name.
    firmware: BTreeMap<String, Firmware>,
    /// What stands in the place of the interface's model.
    hardware: Option<hardware::InPlace>,
    devices: Vec<FurtherDevice>,
    /// Variables that every program finds.
    environment: Vec<String>,
    /// Files that it finds.
    files: Arc<GivenFiles>,
}

impl<'a> Blueprint<'a> {
    /// Prepares what is shared: the program, which all processes run, is decoded once.
    pub fn new(
        config: &'a MachineConfig,
        interface: Attached,
        program: Program,
        request: &RunRequest,
    ) -> Self {
        let seed = request.seed.unwrap_or(config.machine.seed);
        let common = common_region(config.processes_per_node());
        let frames = PageFrames::new(config.operating_system().page_frames, seed, common);
        let nodes = request.nodes.unwrap_or(config.machine.nodes);
        let placement = Placement { nodes: nodes as u16, processes: config.processes_per_node() as u8 };
        let name = (&*request.program, &*request.args);
        let job = Job::new(program, name, config.program_line_bytes(), &frames, placement);
        Blueprint {
            config: config.of_run(&interface),
            whole: config,
            machine: request.machine.clone(),
            interface,
            nodes,
            built: nodes,
            seed,
            frames,
            jobs: vec![job],
            firmware: BTreeMap::new(),
            hardware: None,
            devices: Self::stated_devices(config),
            environment: Vec::new(),
            files: Arc::default(),
        }
    }

    /// The same for programs that find these variables and files.
    ///
    /// # Errors
    /// If one makes no sense.
    pub fn with_surroundings(
        self,
        surroundings: &crate::surroundings::Surroundings,
    ) -> Result<Self, Failure> {
        let environment = surroundings.environment.clone();
        Ok(Blueprint { environment, files: surroundings.given()?, ..self })
    }

    /// The same with the places of the request's first job, and with its further jobs.
    ///
    /// # Errors
    /// If there is no place for one, or a program's file cannot run.
    pub fn with_jobs_of(mut self, request: &RunRequest) -> Result<Self, Failure> {
        let placement = self.placement();
        let places = jobs::places(request, placement, self.seed)?;
        for JobRequest { program, args, elf, .. } in &request.jobs {
            let parsed = Program::parse(program, elf.as_slice()).map_err(Failure::usage)?;
            let line_bytes = self.whole.program_line_bytes();
            self.jobs.push(Job::new(parsed, (program, args), line_bytes, &self.frames, placement));
        }
        for (job, place) in self.jobs.iter_mut().zip(places) {
            job.set_place(place, placement);
        }
        Ok(self)
    }

    /// The job of a process; none if nothing runs there.
    fn job_of(&self, place: ProcessId) -> Option<&Job> {
        let process = self.placement().rank(place.node, place.process);
        self.jobs.iter().find(|job| job.ranks.rank_of(process).is_some())
    }

    /// The processes of a node.
    fn processes_of(&self, node: NodeId) -> impl Iterator<Item = ProcessId> {
        (0..self.placement().processes).map(move |process| ProcessId { node, process })
    }

    /// The program of a process. Where no job has one, that of the first is loaded, and
    /// never runs.
    fn loaded(&self, place: ProcessId) -> &Job {
        self.job_of(place).unwrap_or(&self.jobs[0])
    }

    /// The devices that the machine's file states beside the network interface.
    fn stated_devices(config: &MachineConfig) -> Vec<FurtherDevice> {
        let packet_bytes = config.messages.packet.as_u64();
        let (Some(parameters), Some(part)) = (&config.forwarder, config.node.devices.get(FORWARDER)) else {
            return Vec::new();
        };
        let parameters = parameters.clone();
        let build = Box::new(move || Box::new(Forwarder::new(&parameters, packet_bytes)) as Box<dyn Device>);
        vec![FurtherDevice { on: part.on.clone(), at: part.at.unwrap_or_default() as u16, build }]
    }

    /// Builds the node with this number, its program loaded.
    pub fn node(&self, number: u32) -> Result<Node, Failure> {
        let (config, id) = (&*self.config, NodeId(number as u16));
        let mut built = self.interfaces_of(id)?;
        built.iter().try_for_each(|interface| self.check_peers(id, &**interface))?;
        let part_bytes = built[0].layouts(0).iter().find_map(|layout| layout.part_bytes);
        let (network, interfaces) = (self.network_port(id, part_bytes), built.len());
        let engines: Vec<(Vec<String>, _)> = config.build_dma_engines().collect();
        let places = self.places_beside(&built[1..], engines.iter().map(|(on, _)| on));
        let places: Vec<&[String]> = places.iter().map(Vec::as_slice).collect();
        let usage = |problem: String| Failure::usage(format!("{}: {problem}", self.machine));
        let shape = config.shape(&self.interface, built[0].ports().len(), &places).map_err(usage)?;
        let shape = Shape { sockets: config.sockets_with_queues(&self.interface, &built), ..shape };
        built.extend(self.devices.iter().map(|device| (device.build)()));
        built.extend(engines.into_iter().map(|(_, engine)| Box::new(engine) as Box<dyn Device>));
        let devices: Vec<&dyn Device> = built.iter().map(|device| &**device).collect();
        let interconnects = shape.wire(&devices).map_err(usage)?;
        let on_chip = self.on_chip(&interconnects, &devices);
        self.check_local_memories(&shape, &devices)?;
        let lines = self.lines(&shape, &devices)?;
        let mut memories = self.memories(id, &shape);
        let mut processors = Vec::new();
        let mut processes: Vec<Process> = Vec::new();
        let per_process = config.processors_per_process() as usize;
        for ((name, part), on) in config.processor_parts().into_iter().zip(&shape.processors) {
            let ports = shape.ports_of_processor(on);
            let main = &mut memories[usize::from(ports.memory.0)].bytes;
            let agent = AgentId(processors.len() as u8);
            let latest = processes.last().filter(|latest| latest.processors.len() < per_process);
            let started = match (part.runs.strip_prefix(FIRMWARE), latest) {
                (None, Some(_)) => None,
                (None, None) => {
                    let place = ProcessId { node: id, process: processes.len() as u8 };
                    let beside = shape.beside_interface((&devices, interfaces), on, place.process);
                    Some(self.process(place, agent, &devices, &beside, main)?)
                }
                (Some(firmware), _) => {
                    let beside = [shape.registers(&devices, on), shape.homes_of_devices(&devices, on)];
                    Some(self.firmware_process(agent, (name, firmware), beside, main)?)
                }
            };
            let core = config.core_named(&part.core);
            let (processor, caches) = match started {
                Some((running, process)) => {
                    processes.push(process);
                    running
                }
                None => {
                    let process = processes.len() as u8 - 1;
                    self.further_processor(ProcessId { node: id, process }, agent, part)
                }
            };
            let process = processes.len() - 1;
            processes[process].processors.end = processors.len() + 1;
            processors.push(NodeProcessor::new(core, processor, caches, ports).of_process(process));
        }
        let node = Node::new(Parts {
            id,
            processors,
            processes,
            interconnects,
            on_chip,
            memories,
            local_memories: shape.devices.iter().map(|on| shape.local_memory_of_device(on)).collect(),
            lines,
            devices: built.into_iter().zip(shape.devices).collect(),
            further_interfaces: config.node.further_interfaces().map(|each| each.name.to_owned()).collect(),
            network,
            operating_system: config.operating_system(),
        });
        Ok(self.keeping_to_jobs(id, node))
    }

    /// The interconnects of each device beside the first interface: further interfaces, own devices and DMA
    /// engines.
    fn places_beside<'e>(
        &self,
        further: &[Box<dyn Device>],
        engines: impl Iterator<Item = &'e Vec<String>>,
    ) -> Vec<Vec<String>> {
        let further = self.config.node.further_interfaces().zip(further);
        let further = further.map(|(own, device)| vec![own.on.to_owned(); device.ports().len()]);
        further.chain(self.devices.iter().map(|device| device.on.clone())).chain(engines.cloned()).collect()
    }

    /// A node whose processes keep to the times of their jobs; those without a job are vacant.
    fn keeping_to_jobs(&self, id: NodeId, mut node: Node) -> Node {
        for place in self.processes_of(id).filter(|place| self.job_of(*place).is_none()) {
            node.leave_vacant(place.process.into());
        }
        for place in self.processes_of(id) {
            let times = self.job_of(place).map(|job| job.place.times).unwrap_or_default();
            node.keep_to(place.process.into(), times);
        }
        node
    }

    /// A node's end of the network.
    fn network_port(&self, id: NodeId, part_bytes: Option<u64>) -> NetworkPort {
        let config = &*self.config;
        let placement = self.placement();
        let flow_control = config.flow_control.build(placement);
        let network = config.network.build(id, &self.surroundings());
        let jobs = self.processes_of(id).map(|place| self.loaded(place).ranks.clone());
        let network = NetworkPort::new(id, placement, flow_control, network, self.header_bytes())
            .with_interfaces(config.interfaces_per_node())
            .with_jobs(jobs.collect());
        let network = match part_bytes {
            Some(bytes) => network.with_whole_messages(bytes),
            None => network,
        };
        let network = match &config.faults {
            Some(faults) => network.with_faults(Faults::of(faults, id)),
            None => network,
        };
        match &config.forwarder {
            Some(forwarder) => {
                network.with_relay(Relay::new(forwarder.entries as usize, placement.processes))
            }
            None => network,
        }
    }

    /// The switches of its network, if that has any.
    pub fn switches(&self) -> Vec<Switch<Frame>> {
        self.config.network.switches(&self.surroundings())
    }

    /// What its network is in.
    fn surroundings(&self) -> NetworkContext {
        let Blueprint { nodes, built, seed, .. } = *self;
        NetworkContext { nodes, in_one_partition_from: built, seed, packet_bytes: self.packet_bytes() }
    }

    /// Refuses a device that has no local memory where it needs one.
    fn check_local_memories(&self, shape: &Shape, devices: &[&dyn Device]) -> Result<(), Failure> {
        for (device, on) in devices.iter().zip(&shape.devices) {
            if device.needs_local_memory() && shape.local_memory_of_device(on).is_none() {
                let last = device.ports().pop().map_or_else(String::new, |port| port.name);
                return Err(Failure::usage(format!(
                    "{}: {last} needs a memory with a start and a size there ([node.memories])",
                    self.machine
                )));
            }
        }
        Ok(())
    }

    /// The same machine with a device beside the network interface in each node,
    /// whose ports are on these interconnects.
    pub fn with_device(mut self, on: &[&str], build: impl Fn() -> Box<dyn Device> + 'static) -> Self {
        let on = on.iter().map(|&name| name.to_owned()).collect();
        self.devices.push(FurtherDevice { on, at: 0, build: Box::new(build) });
        self
    }

    /// The network on chip that carries the messages of a node's directory, and who is where
    /// on it.
    fn on_chip(&self, interconnects: &[Interconnect], devices: &[&dyn Device]) -> Option<Box<NodeOnChip>> {
        let (on, directory) = (0..).zip(interconnects).find_map(|(number, interconnect)| {
            Some((InterconnectId(number), interconnect.as_directory()?))
        })?;
        let config = &*self.config;
        let of_interface = config.place_of_interface(&self.interface);
        let mut agents = config.places_of_processors();
        let processors = agents.len();
        let of_devices = std::iter::once(of_interface)
            .chain(config.node.further_interfaces().map(|further| further.at))
            .chain(self.devices.iter().map(|device| device.at));
        for (device, at) in devices.iter().zip(of_devices.chain(std::iter::repeat(0))) {
            let tiles = agents[..processors].to_vec();
            let place = |(port, own): (usize, DevicePort)| own.of_tile.map_or(at, |_| tiles[port]);
            agents.extend(device.ports().into_iter().enumerate().map(place));
        }
        // Bridges have the last numbers, and the interface's place.
        agents.resize(agents.len().max(directory.agents()), of_interface);
        let mut controllers = vec![0; config.node.memories.len()];
        let mut place_of = |part| match part {
            Home::Memory(MemoryId(memory)) => {
                let at = config.node.memories.values().nth(memory.into()).and_then(|part| part.at.as_ref());
                let controller = &mut controllers[usize::from(memory)];
                *controller += 1;
                at.expect("checked with the machine")[*controller - 1] as u16
            }
            Home::Agent(AgentId(agent)) => agents[usize::from(agent)],
            Home::Beyond(_) => of_interface,
        };
        let homes = directory.parts().map(|part| (part, place_of(part)));
        let homes = homes.map(|(part, at)| HomePlace { at, part }).collect();
        let network = OnChip::new(config.network_on_chip.as_ref().expect("checked with the machine"));
        let block_bytes = self.block_bytes() as usize;
        let lookup_time = config.directory.as_ref().expect("checked with the machine").lookup_time;
        let places = (agents, homes, of_interface);
        Some(Box::new(NodeOnChip::new(on, network, places, block_bytes, lookup_time)))
    }

    fn placement(&self) -> Placement {
        let processes = self.config.processes_per_node() as u8;
        Placement { nodes: self.nodes as u16, processes }
    }

    fn block_bytes(&self) -> u64 {
        self.config.block().as_u64()
    }

    fn packet_bytes(&self) -> u64 {
        self.config.messages.packet.as_u64()
    }

    fn header_bytes(&self) -> u64 {
        self.config.messages.header.as_u64()
    }

    /// The interface of a node.
    pub fn build_interface(&self) -> Result<Box<dyn Device>, Failure> {
        let built = self.config.build_interface(&self.interface);
        built.map_err(|problem| Failure::usage(format!("{}: {problem}", self.machine)))
    }

    /// All interfaces of a node, the run's first, each its model.
    pub fn build_interfaces(&self) -> Result<Vec<Box<dyn Device>>, Failure> {
        let built = self.config.build_interfaces(&self.interface);
        built.map_err(|problem| Failure::usage(format!("{}: {problem}", self.machine)))
    }

    /// What the interface of a process is called, by the process's number on its node.
    fn interface_name(&self, process: u8) -> Name {
        let further = self.config.node.further_interfaces().map(|further| further.interface.name);
        let own = usize::from(process % self.config.interfaces_per_node());
        std::iter::once(self.interface.name).chain(further).nth(own).expect("a process has an interface")
    }

    /// SARC's interface of a node, of which the tiles are to be seen.
    pub fn build_sarc(&self) -> Result<Sarc, Failure> {
        let built = self.config.build_sarc(&self.interface);
        built.map_err(|problem| Failure::usage(format!("{}: {problem}", self.machine)))
    }

    /// The interface of a node, of which the halves are to be seen.
    pub fn build_halves(&self) -> Result<Interface, Failure> {
        let built = self.config.build_halves(&self.interface);
        built.map_err(|problem| Failure::usage(format!("{}: {problem}", self.machine)))
    }
}
