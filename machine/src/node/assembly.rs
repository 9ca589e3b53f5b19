//! A node from its parts.
//!
//! Each part is built from its table before ([`crate::compose`]). Here they learn of each other what
//! does not change any more: which agents sit where, at which clocks processors are granted
//! interconnects, what a processor that is alone with its bus may do by itself, and how far
//! the node foresees.

use std::collections::VecDeque;

use narthex_fabrics::{NetworkPort, NodeId};
use narthex_interfaces::Device;
use narthex_interfaces::registers::Addresses;
use narthex_kernel::{EventQueue, Time};
use narthex_memory::AgentId;
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::{self, Interconnect, InterconnectId, MemoryId};
use narthex_memory::pages::PageKind;
use narthex_memory::processor_memory::DirectFills;

use super::devices::DeviceRequests;
use super::held::HeldAccesses;
use super::horizons::Horizons;
use super::interconnect_host::PortPlace;
use super::probe::ProbePort;
use super::processors::Processors;
use super::send_lookahead::SendLookahead;
use super::{
    InterruptLines, Node, NodeOnChip, NodeProcessor, Process, ProcessorPorts, counts, endless, requests,
    waiting,
};
use crate::config::operating_system;

/// What a node is made of.
pub struct Parts {
    /// Its number.
    pub id: NodeId,
    /// Its processors. Their numbers are those of their agents.
    pub processors: Vec<NodeProcessor>,
    /// What runs on them.
    pub processes: Vec<Process>,
    /// Its interconnects, by their numbers.
    pub interconnects: Vec<Interconnect>,
    /// Its memories, by their numbers.
    pub memories: Vec<HomeMemory>,
    /// For each device the memory of which it has a port of its own, if any.
    pub local_memories: Vec<Option<MemoryId>>,
    /// Its devices, and on which interconnect each of their ports is. The network
    /// interfaces come first. Their agents follow the processors'.
    pub devices: Vec<(Box<dyn Device>, Vec<InterconnectId>)>,
    /// The names of its network interfaces but the first, which the run chooses.
    pub further_interfaces: Vec<String>,
    /// What system calls take.
    pub operating_system: operating_system::Config,
    /// Which devices assert which interrupt lines of its processors.
    pub lines: Vec<InterruptLines>,
    /// Its network on chip, where it has a directory.
    pub on_chip: Option<Box<NodeOnChip>>,
    /// Its end of the fabric.
    pub network: NetworkPort,
}

impl Node {
    /// A node at time zero, its processes about to execute their first instruction.
    pub fn new(parts: Parts) -> Self {
        let Parts { mut processors, processes, .. } = parts;
        for (index, unit) in processors.iter_mut().enumerate() {
            learn_of_interconnects(unit, &parts.interconnects);
            if processes[unit.process].processors.start != index {
                unit.leave_vacant();
            }
        }
        if let ([unit], None) = (&mut processors[..], &parts.on_chip) {
            // A device with a memory of its own, or interrupts, is the node's to call.
            let accesses_registers =
                parts.lines.is_empty() && parts.local_memories.iter().all(Option::is_none);
            unit.exchanges = direct_fills_of(unit, &parts.interconnects, &parts.memories, accesses_registers);
        }
        let devices = || parts.devices.iter().map(|(device, _)| &**device);
        let tiles_lookahead = parts.on_chip.as_ref().and_then(|own| own.lookahead_of(&processors, devices()));
        let (ports, first_ports) = ports_of(&parts.devices, processors.len());
        let devices: Vec<_> = parts.devices.into_iter().map(|(device, _)| device).collect();
        let is_alone = processors.len() == 1 && parts.lines.is_empty();
        let send_lookahead =
            SendLookahead::new(&devices, &parts.interconnects, (parts.on_chip.is_some(), is_alone));
        let mut node = Node {
            id: parts.id,
            events: EventQueue::new(),
            processors: Processors::new(processors),
            processes,
            interconnects: parts.interconnects,
            on_chip: parts.on_chip,
            tiles_lookahead,
            memories: parts.memories,
            local_memories: parts.local_memories,
            devices,
            further_interfaces: parts.further_interfaces,
            ports,
            first_ports,
            lines: parts.lines,
            network: parts.network,
            operating_system: parts.operating_system,
            output: VecDeque::new(),
            departures: Vec::new(),
            sent_to_itself: 0,
            device_requests: DeviceRequests::default(),
            held: HeldAccesses::default(),
            statistics: counts::Statistics::default(),
            progress: 0,
            progressed_at: Time::ZERO,
            executes_wait_loops: false,
            schedules_steps: false,
            horizons: Horizons::default(),
            send_lookahead,
            unfinished: None,
            sleepers: waiting::Sleepers::NONE,
            may_watch_bus: false,
            callers: 0,
            skipped_instructions: 0,
            instant: endless::Instant::default(),
            requests: requests::Requests::default(),
            turns: Vec::new(),
            meeting: None,
            probe: ProbePort::default(),
        };
        node.ask_for_ports();
        node
    }

    /// Asks for the interconnects that its devices need from the beginning.
    fn ask_for_ports(&mut self) {
        for PortPlace { agent, on, device, port, .. } in self.ports.clone() {
            if self.devices[device].wants(port) {
                interconnects::request(self, Time::ZERO, on, agent);
            }
        }
    }
}

/// When a processor is granted interconnects, and how long nobody notices what it does there.
fn learn_of_interconnects(unit: &mut NodeProcessor, interconnects: &[Interconnect]) {
    let on = [Some(unit.ports.caches.0), unit.ports.private].into_iter().flatten();
    unit.grant_clocks = on.map(|on| interconnects[usize::from(on.0)].clock()).collect();
    // Without caches it has uncached accesses alone, which nobody snoops.
    if unit.memory.page_kind() == PageKind::Local && unit.ports.private.is_none() {
        unit.notice_delay = interconnects[usize::from(unit.ports.caches.0.0)].shortest_access();
    }
}

/// The ports of devices on their interconnects, whose agents follow those of so many processors; and
/// the place of each device's first one.
fn ports_of(
    devices: &[(Box<dyn Device>, Vec<InterconnectId>)],
    processors: usize,
) -> (Vec<PortPlace>, Vec<usize>) {
    let (mut ports, mut first_ports) = (Vec::new(), Vec::new());
    for (device, (own, on)) in devices.iter().enumerate() {
        first_ports.push(ports.len());
        for (port, (own, &on)) in own.ports().iter().zip(on).enumerate() {
            let agent = AgentId((processors + ports.len()) as u8);
            let (process, is_engine) = (own.process, own.is_engine);
            ports.push(PortPlace { agent, on, device, port, process, is_engine });
        }
    }
    (ports, first_ports)
}

/// What exchanges and accesses to registers of the only processor of a node take, if it may be alone
/// with its bus.
fn direct_fills_of(
    unit: &NodeProcessor,
    interconnects: &[Interconnect],
    memories: &[HomeMemory],
    accesses_registers: bool,
) -> Option<DirectFills> {
    let ProcessorPorts { caches: (on, _), private: None, memory } = unit.ports else { return None };
    let interconnect = &interconnects[usize::from(on.0)];
    let time = memories[usize::from(memory.0)].fixed_time()?;
    Some(DirectFills {
        agent: AgentId(0),
        memory: (memory, interconnect.direct_cycles(time)?),
        own_part: unit.blocking_access_time + unit.look_up_time,
        register_part: accesses_registers.then_some(unit.blocking_access_time),
        shortest_access: interconnect.shortest_access(),
        is_counted: Addresses::carries_messages,
    })
}
