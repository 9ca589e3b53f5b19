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
use narthex_memory::interconnects::{Interconnect, InterconnectId, MemoryId};
use narthex_memory::pages::PageKind;
use narthex_memory::processor_memory::Exchanges;

use super::composition::SeatPlace;
use super::devices::Asked;
use super::foresight::Foresight;
use super::held::HeldAccesses;
use super::horizons::Horizons;
use super::probe::ProbePort;
use super::{
    Lines, Node, NodeOnChip, NodeProcessor, Process, ProcessorSeats, counts, endless, requests, waiting,
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
    /// Its devices, and on which interconnect each of their seats is. The network
    /// interface comes first. Their agents follow the processors'.
    pub devices: Vec<(Box<dyn Device>, Vec<InterconnectId>)>,
    /// What system calls take.
    pub operating_system: operating_system::Config,
    /// Which devices assert which interrupt lines of its processors.
    pub lines: Vec<Lines>,
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
            unit.exchanges = exchanges_of(unit, &parts.interconnects, &parts.memories, accesses_registers);
        }
        let devices = || parts.devices.iter().map(|(device, _)| &**device);
        let tiles_lookahead = parts.on_chip.as_ref().and_then(|own| own.lookahead_of(&processors, devices()));
        let (seats, first_seats) = seats_of(&parts.devices, processors.len());
        let devices: Vec<_> = parts.devices.into_iter().map(|(device, _)| device).collect();
        let is_alone = processors.len() == 1 && parts.lines.is_empty();
        let foresight = Foresight::new(&devices, &parts.interconnects, (parts.on_chip.is_some(), is_alone));
        Node {
            id: parts.id,
            events: EventQueue::new(),
            processors,
            processes,
            interconnects: parts.interconnects,
            on_chip: parts.on_chip,
            tiles_lookahead,
            memories: parts.memories,
            local_memories: parts.local_memories,
            devices,
            seats,
            first_seats,
            lines: parts.lines,
            network: parts.network,
            operating_system: parts.operating_system,
            output: VecDeque::new(),
            departures: Vec::new(),
            sent_to_itself: 0,
            asked: Asked::default(),
            held: HeldAccesses::default(),
            statistics: counts::Statistics::default(),
            progress: 0,
            progressed_at: Time::ZERO,
            executes_wait_loops: false,
            schedules_steps: false,
            horizons: Horizons::default(),
            foresight,
            unfinished: None,
            sleepers: waiting::Sleepers::NONE,
            may_watch_bus: false,
            callers: 0,
            skipped_instructions: 0,
            instant: endless::Instant::default(),
            requests: requests::Requests::default(),
            meeting: None,
            probe: ProbePort::default(),
        }
    }
}

/// When a processor is granted interconnects, and how long nobody notices what it does there.
fn learn_of_interconnects(unit: &mut NodeProcessor, interconnects: &[Interconnect]) {
    let on = [Some(unit.seats.caches.0), unit.seats.private].into_iter().flatten();
    unit.grant_clocks = on.map(|on| interconnects[usize::from(on.0)].clock()).collect();
    // Without caches it has uncached accesses alone, which nobody snoops.
    if unit.memory.page_kind() == PageKind::Local && unit.seats.private.is_none() {
        unit.unnoticed = interconnects[usize::from(unit.seats.caches.0.0)].shortest_access();
    }
}

/// The seats of devices on their interconnects, whose agents follow those of so many processors; and
/// the place of each device's first one.
fn seats_of(
    devices: &[(Box<dyn Device>, Vec<InterconnectId>)],
    processors: usize,
) -> (Vec<SeatPlace>, Vec<usize>) {
    let (mut seats, mut first_seats) = (Vec::new(), Vec::new());
    for (device, (own, on)) in devices.iter().enumerate() {
        first_seats.push(seats.len());
        for (seat, (own, &on)) in own.seats().iter().zip(on).enumerate() {
            let agent = AgentId((processors + seats.len()) as u8);
            let (process, is_engine) = (own.process, own.is_engine);
            seats.push(SeatPlace { agent, on, device, seat, process, is_engine });
        }
    }
    (seats, first_seats)
}

/// What exchanges and accesses to registers of the only processor of a node take, if it may be alone
/// with its bus.
fn exchanges_of(
    unit: &NodeProcessor,
    interconnects: &[Interconnect],
    memories: &[HomeMemory],
    accesses_registers: bool,
) -> Option<Exchanges> {
    let ProcessorSeats { caches: (on, _), private: None, memory } = unit.seats else { return None };
    let interconnect = &interconnects[usize::from(on.0)];
    let time = memories[usize::from(memory.0)].fixed_time()?;
    Some(Exchanges {
        agent: AgentId(0),
        memory: (memory, interconnect.direct_cycles(time)?),
        own_part: unit.blocking_access_time + unit.look_up_time,
        register_part: accesses_registers.then_some(unit.blocking_access_time),
        shortest_access: interconnect.shortest_access(),
        is_counted: Addresses::carries_messages,
    })
}
